#include "command.h"

#include "processors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] = "usage: normd call PATH [FILE] or normd diagnose FILE (\"-\" is standard input; flags may follow)";

static bool is_flag(const char *word)
{
	return word[0] == '-' && word[1];
}

int command_words(int argc, char **argv)
{
	if (argc < 2 || (strcmp(argv[1], "call") != 0 && strcmp(argv[1], "diagnose") != 0))
		return 0;
	int words = 1;
	while (words + 1 < argc && !is_flag(argv[words + 1]))
		words++;
	return words;
}

static int fail(const char *what, const char *why)
{
	fprintf(stderr, why ? "normd: %s: %s\n" : "normd: %s\n", what, why);
	return 2;
}

/* Reads at most `most` bytes and one more, by which the api sees that the body is too large. */
static bool read_body(const char *name, size_t most, struct nc_arena *arena, char **body, size_t *len)
{
	FILE *file = strcmp(name, "-") == 0 ? stdin : fopen(name, "rb");
	if (!file)
		return false;
	*len = 0;
	*body = nc_arena_alloc(arena, most + 1);
	if (!*body)
		errno = ENOMEM;
	while (*body && *len <= most) {
		size_t got = fread(*body + *len, 1, most + 1 - *len, file);
		*len += got;
		if (!got)
			break;
	}
	bool good = *body && !ferror(file);
	if (file != stdin)
		fclose(file);
	if (good)
		nc_arena_trim(arena, *body, *len);
	return good;
}

static int answer(const struct config *config, const char *path, const char *file, struct nc_arena *arena, struct api *api)
{
	static const char query[] = "?pretty=1";
	size_t path_len = strlen(path), query_len = sizeof query - 1;
	bool pretty = path_len > query_len && strcmp(path + path_len - query_len, query) == 0;
	char *bare = nc_arena_alloc(arena, path_len + 1), *body = NULL;
	size_t body_len = 0;
	if (!bare)
		return fail("out of memory", NULL);
	memcpy(bare, path, path_len + 1);
	if (pretty)
		bare[path_len - query_len] = 0;
	if (file && !read_body(file, config->max_body, arena, &body, &body_len))
		return fail(file, strerror(errno));

	struct api_request request = {
		.method = file ? "POST" : "GET", .path = bare, .pretty = pretty, .request_id = "command-line",
		.body = body, .body_len = body_len, .arena = arena,
	};
	struct api_answer got = {0};
	if (api_admit(api, &request, &got))
		api_call(api, &request, &got);
	fwrite(got.body, 1, got.body_len, stdout);
	if (got.body_len && got.body[got.body_len - 1] != '\n')
		putchar('\n');
	if (fflush(stdout) != 0)
		return fail("standard output", strerror(errno));
	return got.status >= 400;
}

int command_run(const struct config *config, int words, char **argv)
{
	bool diagnose = strcmp(argv[1], "diagnose") == 0;
	if (words < 2 || words > (diagnose ? 2 : 3))
		return fail(usage, NULL);
	const char *path = diagnose ? "/diagnose" : argv[2], *file = diagnose ? argv[2] : words > 2 ? argv[3] : NULL;
	unsigned threads = config->threads ? (unsigned)config->threads : processors_available();
	struct api_setting settings[CONFIG_ROWS];
	struct api_config limits = {
		.max_body = config->max_body, .max_elements = config->max_elements, .max_jacobian = config->max_jacobian,
		.max_answer = config->max_answer, .threads = threads, .settings = settings,
		.setting_count = config_settings(config, settings),
	};
	struct nc_pool *pool = nc_pool_create(threads);
	struct api *api = pool ? api_create(&limits, pool) : NULL;
	struct nc_arena *arena = nc_arena_create(config_arena_bytes(config));
	int status = api && arena ? answer(config, path, file, arena, api) : fail("out of memory", NULL);
	if (arena)
		nc_arena_destroy(arena);
	api_destroy(api);
	nc_pool_destroy(pool);
	return status;
}
