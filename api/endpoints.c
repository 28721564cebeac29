/* From a request to the function that answers it, and from what that wrote to an answer. */
#include "endpoints.h"

#include "fields.h"
#include "json/json_tree.h"
#include "nearest.h"
#include "core/isa.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum method { GET, POST };

static const struct endpoint {
	enum method method;
	const char *path;
	size_t path_len;
	endpoint_fn *run;
} endpoints[] = {
#define ENDPOINT(method, path, function) {method, path, sizeof path - 1, function},
#include "endpoints.def"
#undef ENDPOINT
};
enum { ENDPOINT_COUNT = sizeof endpoints / sizeof *endpoints };

static const char *const allowed[] = {[GET] = "GET, HEAD, OPTIONS", [POST] = "POST, OPTIONS"};

struct api *api_create(const struct api_config *config, struct nc_pool *pool)
{
	struct api *api = malloc(sizeof *api);
	if (!api)
		return NULL;
	json_tree_setup();
	api->config = *config;
	api->pool = pool;
	atomic_init(&api->ready, true);
	return api;
}

void api_destroy(struct api *api)
{
	free(api);
}

void api_set_ready(struct api *api, bool ready)
{
	atomic_store(&api->ready, ready);
}

const char *call_flag(const struct call *call, const char *name)
{
	const struct api_config *config = &call->api->config;
	for (size_t i = 0; i < config->setting_count; i++)
		if (strcmp(config->settings[i].name, name) == 0)
			return config->settings[i].flag;
	return name;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void call_computed(struct call *call)
{
	call->compute_end = now();
}

static bool unknown_path(struct call *call)
{
	const char *path = call->request->path, *nearest = NULL;
	unsigned least = 0;

	for (size_t i = 1; i < ENDPOINT_COUNT; i++) {
		unsigned d = edit_distance(path, endpoints[i].path);
		if (!nearest || d < least) {
			nearest = endpoints[i].path;
			least = d;
		}
	}
	if (is_near(path, least))
		return fail(call, PROBLEM_not_found, NULL, NULL, NULL, "there is nothing at this path: did you mean %s?", nearest);
	return fail(call, PROBLEM_not_found, NULL, NULL, NULL, "there is nothing at this path: GET /openapi.json lists what there is");
}

/* Content types that JSON comes under: none at all, curl's default among them. */
static bool is_json_type(const char *type)
{
	static const char *const types[] = {"", "application/json", "application/x-www-form-urlencoded"};
	if (!type || strcmp(type, types[1]) == 0)
		return true;
	while (isspace((unsigned char)*type))
		type++;
	size_t len = strcspn(type, ";");
	while (len && isspace((unsigned char)type[len - 1]))
		len--;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (len == strlen(types[i]) && strncasecmp(type, types[i], len) == 0)
			return true;
	return len > 5 && strncasecmp(type + len - 5, "+json", 5) == 0;
}

/* All that can be said before the body is there. endpoint is NULL for OPTIONS. */
static bool admit(struct call *call, const struct endpoint **endpoint)
{
	const struct api_request *request = call->request;
	const struct endpoint *found = NULL;
	size_t path_len = strlen(request->path);

	*endpoint = NULL;
	for (size_t i = 0; i < ENDPOINT_COUNT && !found; i++)
		if (endpoints[i].path_len == path_len && memcmp(endpoints[i].path, request->path, path_len) == 0)
			found = &endpoints[i];
	if (!found)
		return unknown_path(call);
	call->allow = allowed[found->method];
	if (strcmp(request->method, "OPTIONS") == 0)
		return true;
	bool get = strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
	if (found->method == GET ? !get : strcmp(request->method, "POST") != 0)
		return fail(call, PROBLEM_method_not_allowed, NULL, NULL, NULL, "%s takes %s", request->path,
		            found->method == GET ? "GET" : "POST with a JSON body");
	*endpoint = found;
	if (get)
		return true;
	const char *encoding = request->content_encoding;
	if (encoding && *encoding && strcasecmp(encoding, "identity") != 0)
		return fail(call, PROBLEM_unsupported_media_type, NULL, NULL, NULL, "send the body without a Content-Encoding");
	if (!is_json_type(request->content_type))
		return fail(call, PROBLEM_unsupported_media_type, NULL, NULL, NULL, "send JSON with Content-Type: application/json");
	if (request->body_len > call->api->config.max_body)
		return fail(call, PROBLEM_body_too_large, NULL, NULL, NULL,
		            "a body may have %zu bytes: send less, or start the server with a larger %s", call->api->config.max_body,
		            call_flag(call, "max_body"));
	return true;
}

static bool read_body_with(struct call *call, struct lift_options options)
{
	call->lift = (struct lift){.options = options};
	call->lift.options.max_elements = call->api->config.max_elements;
	return lift_body(call) && json_tree_parse(call) && fields_read_common(call);
}

/* The body's text to numbers, tree and common fields. */
static bool read_body(struct call *call)
{
	if (call->request->body_len == 0)
		return fail_text(call, PROBLEM_bad_json, 0, "the body is empty: send a JSON object");
	struct lift_options options = lift_peek(call->request->body, call->request->body_len);
	if (!read_body_with(call, options))
		return false;
	if (call->strings == options.strings)
		return true;
	options.strings = call->strings; /* overlooked at first: arrays may begin with such a string */
	return read_body_with(call, options);
}

static void add_header(struct api_answer *answer, const char *name, const char *value)
{
	if (value && answer->header_count < API_MAX_HEADERS)
		answer->headers[answer->header_count++] = (struct api_header){name, value};
}

/* "parse;dur=0.012, compute;dur=0.003, print;dur=0.010", in milliseconds; NULL when memory is short. */
static const char *server_timing(struct call *call, double start)
{
	static const char *const names[] = {"parse;dur=", ", compute;dur=", ", print;dur="};
	double end = now(), parse = call->parse_end > 0 ? call->parse_end : end, compute = call->compute_end > 0 ? call->compute_end : parse;
	double spans[] = {parse - start, compute - parse, end - compute};
	struct writer out = writer_start(call->arena, false);

	for (size_t i = 0; i < 3; i++) {
		size_t us = (size_t)(1e6 * spans[i]);
		write_raw_text(&out, names[i]);
		write_size_raw(&out, us / 1000);
		write_raw(&out, (char[]){'.', (char)('0' + us / 100 % 10), (char)('0' + us / 10 % 10), (char)('0' + us % 10)}, 4);
	}
	write_raw(&out, "", 1);
	writer_finish(&out);
	return out.failed ? NULL : out.base;
}

/* Writes the call's problem; by what is static alone if even that does not fit. */
static void answer_problem(struct call *call, size_t mark, struct api_answer *answer)
{
	struct writer out = writer_start(call->arena, call->request->pretty);

	if (call->problem.kind == PROBLEM_out_of_memory)
		nc_arena_rewind(call->arena, mark); /* nothing of the call is needed any more */
	problem_write(&call->problem, call->request->request_id, &out);
	write_raw(&out, "\n", 1);
	writer_finish(&out);
	answer->status = problem_status(call->problem.kind);
	answer->content_type = "application/problem+json";
	answer->body = out.base;
	answer->body_len = (size_t)(out.at - out.base);
	if (out.failed) {
		answer->status = problem_status(PROBLEM_out_of_memory);
		answer->body = problem_last_resort;
		answer->body_len = strlen(problem_last_resort);
	}
	if (call->problem.kind == PROBLEM_method_not_allowed)
		add_header(answer, "Allow", call->allow);
	if (answer->status == 503)
		add_header(answer, "Retry-After", "1");
}

static struct call start_call(struct api *api, const struct api_request *request)
{
	return (struct call){.api = api, .request = request, .arena = request->arena, .status = 200, .content_type = "application/json"};
}

bool api_admit(struct api *api, const struct api_request *request, struct api_answer *answer)
{
	struct call call = start_call(api, request);
	const struct endpoint *endpoint;

	*answer = (struct api_answer){0};
	if (admit(&call, &endpoint))
		return true;
	answer_problem(&call, nc_arena_mark(request->arena), answer);
	return false;
}

bool api_may_be_long(const struct api *api, const struct api_request *request)
{
	/* Fields whose work grows faster than the text: n² for a Jacobian, a stack of layers, weights made from a seed. */
	static const char *const keys[] = {"jacobian\"", "depth\"", "init\""};
	const char *at = request->body_len ? request->body : "", *end = at + request->body_len;

	(void)api;
	while (at < end && (at = memchr(at, '"', (size_t)(end - at)))) {
		at++;
		for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
			if (at < end && *at == *keys[i] && (size_t)(end - at) >= strlen(keys[i]) && memcmp(at, keys[i], strlen(keys[i])) == 0)
				return true;
	}
	return false;
}

void api_refuse(struct api *api, const struct api_request *request, const char *name, const char *detail,
                struct api_answer *answer)
{
	struct call call = start_call(api, request);

	*answer = (struct api_answer){0};
	call.problem = (struct problem){.set = true, .kind = problem_find(name), .detail = detail};
	answer_problem(&call, nc_arena_mark(request->arena), answer);
}

void api_call(struct api *api, const struct api_request *request, struct api_answer *answer)
{
	double start = now();
	size_t mark = nc_arena_mark(request->arena);
	struct call call = start_call(api, request);
	struct writer out = writer_start(request->arena, request->pretty);
	const struct endpoint *endpoint;

	*answer = (struct api_answer){0};
	bool admitted = admit(&call, &endpoint), post = endpoint && endpoint->method == POST;
	if (admitted && !endpoint) {
		answer->status = 204;
		add_header(answer, "Allow", call.allow);
		return;
	}
	bool done = admitted && (!post || read_body(&call));
	if (done) {
		call.parse_end = now();
		done = endpoint->run(&call, &out);
	}
	if (done && !call.page) {
		write_raw(&out, "\n", 1);
		writer_finish(&out);
	}
	if (done && out.failed)
		done = fail_memory(&call);
	if (done) {
		answer->status = call.status;
		answer->content_type = call.content_type;
		answer->body = call.page ? call.page : out.base;
		answer->body_len = call.page ? call.page_len : (size_t)(out.at - out.base);
	} else {
		answer_problem(&call, mark, answer);
	}
	if (post) {
		add_header(answer, "Normd-Kernel", nc_isa_name(nc_isa_current()));
		add_header(answer, "Server-Timing", server_timing(&call, start));
	}
	if (answer->status == 503 && done)
		add_header(answer, "Retry-After", "1");
}
