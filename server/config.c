#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum kind { TEXT, COUNT, BYTES, SECONDS, SWITCH };

static const struct row {
	size_t offset;
	enum kind kind;
	const char *name, *flag, *standard;
	uint64_t least, most;
	const char *unit, *argument, *help;
} rows[CONFIG_ROWS] = {
#define SETTING(field, kind, flag, standard, least, most, unit, argument, help)                                        \
	{offsetof(struct config, field), kind, #field, flag, standard, least, most, unit, argument, help},
#include "config.def"
#undef SETTING
};

static bool fail(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fail(char *error, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(error, CONFIG_ERROR_MAX, format, arguments);
	va_end(arguments);
	return false;
}

/* Digits, then for BYTES one of these, for SECONDS an s; false for anything else and for what overflows. */
static bool parse_number(enum kind kind, const char *text, uint64_t *value)
{
	static const struct {
		const char *suffix;
		unsigned shift;
	} sizes[] = {{"", 0}, {"B", 0}, {"K", 10}, {"KiB", 10}, {"M", 20}, {"MiB", 20}, {"G", 30}, {"GiB", 30}};

	if (!isdigit((unsigned char)*text))
		return false;
	char *end;
	errno = 0;
	*value = strtoull(text, &end, 10);
	if (errno)
		return false;
	if (kind == SECONDS && strcmp(end, "s") == 0)
		return true;
	if (kind != BYTES)
		return *end == '\0';
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		if (strcmp(end, sizes[i].suffix) != 0)
			continue;
		if (*value > UINT64_MAX >> sizes[i].shift)
			return false;
		*value <<= sizes[i].shift;
		return true;
	}
	return false;
}

static bool parse_switch(const char *text, uint64_t *value)
{
	static const char *const words[][2] = {{"0", "1"}, {"false", "true"}, {"no", "yes"}, {"off", "on"}};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		for (unsigned v = 0; v < 2; v++) {
			if (strcmp(text, words[i][v]) == 0) {
				*value = v;
				return true;
			}
		}
	}
	return false;
}

/* Whether text is one of the words of "a|b|c". */
static bool is_choice(const char *choices, const char *text)
{
	size_t length = strlen(text);
	for (const char *word = choices;; word++) {
		const char *bar = strchrnul(word, '|');
		if ((size_t)(bar - word) == length && memcmp(word, text, length) == 0)
			return true;
		if (!*bar)
			return false;
		word = bar;
	}
}

/* Sets one row from text; `source` is the flag or variable that an error names. */
static bool set(struct config *config, const struct row *row, const char *source, const char *text, char *error)
{
	void *field = (char *)config + row->offset;
	uint64_t value;
	switch (row->kind) {
	case TEXT:
		if (strchr(row->argument, '|') && !is_choice(row->argument, text))
			return fail(error, "%s: \"%s\" is not one of %s", source, text, row->argument);
		*(const char **)field = text;
		return true;
	case SWITCH:
		if (!parse_switch(text, &value))
			return fail(error, "%s: \"%s\" is neither 0 nor 1", source, text);
		*(bool *)field = value;
		return true;
	case COUNT:
	case BYTES:
	case SECONDS:
		if (!parse_number(row->kind, text, &value))
			return fail(error, "%s: \"%s\" is not a whole number%s", source, text,
			            row->kind == BYTES ? " of bytes, K, KiB, M, MiB, G or GiB" : "");
		if (value < row->least || value > row->most)
			return fail(error, "%s: %s is not between %llu and %llu %s", source, text,
			            (unsigned long long)row->least, (unsigned long long)row->most, row->unit);
		*(size_t *)field = value;
		return true;
	}
	return false;
}

/* NORMD_MAX_BODY of --max-body. */
static void twin_of(const struct row *row, char name[64])
{
	size_t n = (size_t)snprintf(name, 64, "NORMD_%s", row->flag + 2);
	for (size_t i = 0; i < n; i++)
		name[i] = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);
}

/* A flag given again adds to a list of origins; the first on the command line replaces the environment's. */
static bool add_origin(struct config *config, bool first, const char *text, char *error)
{
	if (first)
		return set(config, &rows[CONFIG_ROW_cors_origin], "--cors-origin", text, error);
	char *joined;
	if (asprintf(&joined, "%s,%s", config->cors_origin, text) < 0)
		return fail(error, "--cors-origin: out of memory");
	free(config->joined);
	config->cors_origin = config->joined = joined;
	return true;
}

/* The first line of --api-key-file. */
static bool read_key(struct config *config, char *error)
{
	const char *path = config->api_key_file;
	if (!*path)
		return true;
	if (*config->api_key)
		return fail(error, "--api-key and --api-key-file: give one of them");
	FILE *file = fopen(path, "re");
	size_t size = 0;
	ssize_t length = file ? getline(&config->key, &size, file) : -1;
	int cause = errno;
	if (file)
		fclose(file);
	if (!file)
		return fail(error, "--api-key-file: %s: %s", path, strerror(cause));
	while (length > 0 && isspace((unsigned char)config->key[length - 1]))
		config->key[--length] = '\0';
	if (length <= 0)
		return fail(error, "--api-key-file: %s: its first line holds no key", path);
	config->api_key = config->key;
	return true;
}

static bool read_environment(struct config *config, const char *const *env, char *error)
{
	for (size_t i = 0; i < CONFIG_ROWS; i++) {
		char name[64];
		twin_of(&rows[i], name);
		size_t length = strlen(name);
		for (const char *const *e = env; *e; e++) {
			if (strncmp(*e, name, length) == 0 && (*e)[length] == '=' &&
			    !set(config, &rows[i], name, *e + length + 1, error))
				return false;
		}
	}
	return true;
}

static bool read_flags(struct config *config, int argc, const char *const *argv, char *error)
{
	bool first_origin = true;
	for (int i = 1; i < argc; i++) {
		const char *flag = argv[i];
		if (strcmp(flag, "--help") == 0 || strcmp(flag, "-h") == 0) {
			config->help = true;
			continue;
		}
		if (strcmp(flag, "--version") == 0) {
			config->version = true;
			continue;
		}
		size_t length = strcspn(flag, "=");
		const struct row *row = NULL;
		for (size_t r = 0; r < CONFIG_ROWS; r++) {
			if (strlen(rows[r].flag) == length && memcmp(rows[r].flag, flag, length) == 0)
				row = &rows[r];
		}
		if (!row)
			return fail(error, "%.*s is no flag of normd; normd --help lists them", (int)length, flag);
		const char *text = flag[length] ? flag + length + 1 : row->kind == SWITCH ? "1" : argv[++i];
		if (!text)
			return fail(error, "%s needs a value: %s", row->flag, row->argument);
		if (row == &rows[CONFIG_ROW_cors_origin]) {
			if (!add_origin(config, first_origin, text, error))
				return false;
			first_origin = false;
		} else if (!set(config, row, row->flag, text, error)) {
			return false;
		}
	}
	return true;
}

bool config_read(struct config *config, int argc, const char *const *argv, const char *const *env,
                 char error[CONFIG_ERROR_MAX])
{
	memset(config, 0, sizeof *config);
	for (size_t i = 0; i < CONFIG_ROWS; i++) {
		if (!set(config, &rows[i], rows[i].flag, rows[i].standard, error))
			return false;
	}
	return read_environment(config, env, error) && read_flags(config, argc, argv, error) && read_key(config, error);
}

void config_free(struct config *config)
{
	free(config->joined);
	free(config->key);
	config->joined = config->key = NULL;
}

size_t config_settings(const struct config *config, struct api_setting settings[CONFIG_ROWS])
{
	size_t count = 0;
	for (size_t i = 0; i < CONFIG_ROWS; i++) {
		if (rows[i].kind == TEXT || rows[i].kind == SWITCH)
			continue;
		settings[count++] = (struct api_setting){
			.name = rows[i].name,
			.flag = rows[i].flag,
			.unit = rows[i].unit,
			.value = (double)*(const size_t *)((const char *)config + rows[i].offset),
		};
	}
	return count;
}

size_t config_arena_bytes(const struct config *config)
{
	return 4 * config->max_body + 128 * config->max_elements + 4 * config->max_answer + ((size_t)64 << 20);
}

void config_help(FILE *out)
{
	fputs("normd computes RMSNorm, LayerNorm, residual additions and residual blocks over HTTP.\n\n"
	      "  normd [FLAG]...           run the daemon until SIGTERM or SIGINT\n"
	      "  normd healthcheck         exit status 0 when the daemon at --listen answers, else 1\n"
	      "  normd call PATH [FILE]    answer one request without a socket: the JSON of FILE (-: standard input), or a GET;\n"
	      "                            exit status 1 when the answer is an error\n"
	      "  normd diagnose FILE       the same as normd call /diagnose FILE\n\n",
	      out);
	for (size_t i = 0; i < CONFIG_ROWS; i++) {
		char name[64];
		twin_of(&rows[i], name);
		fprintf(out, "  %s%s%s\n        %s\n        %s", rows[i].flag, *rows[i].argument ? " " : "", rows[i].argument,
		        rows[i].help, name);
		if (*rows[i].standard && rows[i].kind != SWITCH)
			fprintf(out, ", default %s", rows[i].standard);
		fputs("\n", out);
	}
	fputs("  --help, --version\n\n"
	      "Flags win over the environment. SIZE is a number of bytes, or with K, KiB, M, MiB, G, GiB.\n",
	      out);
}
