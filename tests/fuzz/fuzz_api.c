/*
 * Any bytes as a request: no crash, no hang, and an answer that is JSON, the same twice.
 *
 * The first byte chooses the path and whether the answer is indented; the rest is the body.
 */
#include "api/api.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const paths[] = {
#define PATH_GET(path)
#define PATH_POST(path) path,
#define ENDPOINT(method, path, function) PATH_##method(path)
#include "api/endpoints.def"
#undef ENDPOINT
};

static void must(int condition)
{
	if (!condition)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct api *api;
	static struct nc_arena *arena;
	static const struct api_config config = {
		.max_body = 1 << 20, .max_elements = 1 << 14, .max_jacobian = 1 << 12, .max_answer = 1 << 22};

	if (!api) {
		api = api_create(&config, NULL);
		arena = nc_arena_create((size_t)1 << 28);
		must(api && arena);
	}
	if (size == 0)
		return 0;
	size_t len = size - 1;
	char *body = malloc(len ? len : 1); /* of exactly its size, for the sanitizer */
	must(body != NULL);
	memcpy(body, data + 1, len);
	struct api_request request = {
		.method = "POST",
		.path = paths[(data[0] >> 1) % (sizeof paths / sizeof *paths)],
		.pretty = data[0] & 1,
		.request_id = "fuzz",
		.body = len ? body : NULL,
		.body_len = len,
		.arena = arena,
	};
	struct api_answer answer, again;
	nc_arena_reset(arena, 1 << 22);
	(void)api_may_be_long(api, &request);
	api_call(api, &request, &answer);
	json_t *json = json_loadb(answer.body, answer.body_len, JSON_DECODE_INT_AS_REAL | JSON_REJECT_DUPLICATES, NULL);
	must(json != NULL);
	must((answer.status == 200) == (strcmp(answer.content_type, "application/json") == 0));
	must(answer.status == 200 || (answer.status >= 400 && json_object_get(json, "detail")));
	must(answer.status != 500);
	json_decref(json);
	api_call(api, &request, &again);
	must(again.status == answer.status && again.body_len == answer.body_len && memcmp(again.body, answer.body, answer.body_len) == 0);
	free(body);
	return 0;
}
