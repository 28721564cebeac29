/* What is said before a body is read, what goes around an answer, and the paths that take no body. */
#include "tests/support/api_client.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static const char body[] = "{\"x\":[3,4]}";

static int post_as(struct client *client, const char *type, const char *encoding)
{
	client->request.content_type = type;
	client->request.content_encoding = encoding;
	return client_post(client, "/rmsnorm", body);
}

START_TEST(content_types)
{
	static const char *const good[] = {NULL, "", "application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8",
	                                   " application/json ", "application/vnd.api+json", "application/ld+json; profile=x",
	                                   "application/x-www-form-urlencoded", "application/x-www-form-urlencoded; charset=utf-8"};
	static const char *const bad[] = {"text/plain", "application/octet-stream", "multipart/form-data; boundary=x", "application/jsonx",
	                                  "application", "+json", "text/html", "application/xml"};
	struct client *client = client_open();
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		ck_assert_msg(post_as(client, good[i], NULL) == 200, "%s", good[i] ? good[i] : "none");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(post_as(client, bad[i], NULL) == 415, "%s", bad[i]);
	ck_assert_int_eq(post_as(client, NULL, "identity"), 200);
	ck_assert_int_eq(post_as(client, NULL, ""), 200);
	ck_assert_int_eq(post_as(client, NULL, "gzip"), 415);
	ck_assert_str_eq(client_text(client, "type"), "urn:normd:problem:unsupported_media_type");
	client_close(client);
}
END_TEST

START_TEST(methods)
{
	struct client *client = client_open();
	ck_assert_int_eq(client_get(client, "/rmsnorm"), 405);
	ck_assert_str_eq(client_header(client, "Allow"), "POST, OPTIONS");
	ck_assert_ptr_null(client_at(client, "errors"));
	ck_assert_int_eq(client_call(client, "PUT", "/rmsnorm", body, sizeof body - 1), 405);
	ck_assert_int_eq(client_call(client, "post", "/rmsnorm", body, sizeof body - 1), 405);
	ck_assert_int_eq(client_post(client, "/version", body), 405);
	ck_assert_str_eq(client_header(client, "Allow"), "GET, HEAD, OPTIONS");
	ck_assert_int_eq(client_call(client, "OPTIONS", "/rmsnorm", NULL, 0), 204);
	ck_assert_str_eq(client_header(client, "Allow"), "POST, OPTIONS");
	ck_assert_uint_eq(client->answer.body_len, 0);
	ck_assert_int_eq(client_call(client, "OPTIONS", "/healthz", NULL, 0), 204);
	ck_assert_str_eq(client_header(client, "Allow"), "GET, HEAD, OPTIONS");
	ck_assert_int_eq(client_call(client, "OPTIONS", "/nothing", NULL, 0), 404);
	client_close(client);
}
END_TEST

START_TEST(head_is_get)
{
	static const char *const paths[] = {"/", "/version", "/conventions", "/healthz", "/readyz", "/openapi.json"};
	struct client *client = client_open();
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		ck_assert_int_eq(client_get(client, paths[i]), 200);
		size_t len = client->answer.body_len;
		ck_assert_int_eq(client_call(client, "HEAD", paths[i], NULL, 0), 200);
		ck_assert_uint_eq(client->answer.body_len, len);
	}
	client_close(client);
}
END_TEST

START_TEST(paths)
{
	struct client *client = client_open();
	ck_assert_int_eq(client_post(client, "/rmsnrom", body), 404);
	ck_assert_ptr_nonnull(strstr(client_text(client, "detail"), "/rmsnorm"));
	ck_assert_int_eq(client_get(client, "/rmsnorm/"), 404);
	ck_assert_int_eq(client_get(client, ""), 404);
	ck_assert_int_eq(client_get(client, "/favicon.ico"), 404);
	ck_assert_str_eq(client_text(client, "instance"), "test-id");
	client_close(client);
}
END_TEST

START_TEST(admission_comes_before_the_body)
{
	struct client *client = client_open();
	struct api_request request = client->request;
	struct api_answer answer;
	request.arena = client->arena;
	request.method = "POST";
	request.path = "/rmsnorm";
	request.body_len = client->config.max_body;
	ck_assert(api_admit(client->api, &request, &answer));
	request.body_len++;
	ck_assert(!api_admit(client->api, &request, &answer));
	ck_assert_int_eq(answer.status, 413);
	ck_assert_ptr_nonnull(memmem(answer.body, answer.body_len, "--max-body", 10));
	request.body_len = 0;
	ck_assert(api_admit(client->api, &request, &answer));
	request.path = "/nothing";
	ck_assert(!api_admit(client->api, &request, &answer));
	ck_assert_int_eq(answer.status, 404);
	request.path = "/version";
	ck_assert(!api_admit(client->api, &request, &answer));
	ck_assert_int_eq(answer.status, 405);
	request.method = "OPTIONS";
	ck_assert(api_admit(client->api, &request, &answer));
	client_close(client);
}
END_TEST

START_TEST(refusals)
{
	static const struct {
		const char *name;
		int status;
	} rows[] = {{"bad_request", 400}, {"unauthorized", 401}, {"body_too_large", 413}, {"overloaded", 503}, {"draining", 503}, {"no such", 500}};
	struct client *client = client_open();
	struct api_request request = client->request;
	struct api_answer answer;
	request.arena = client->arena;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		api_refuse(client->api, &request, rows[i].name, "Do \"this\".", &answer);
		json_t *json = json_loadb(answer.body, answer.body_len, 0, NULL);
		ck_assert_int_eq(answer.status, rows[i].status);
		ck_assert_str_eq(json_string_value(json_object_get(json, "detail")), "Do \"this\".");
		ck_assert_str_eq(json_string_value(json_object_get(json, "instance")), "test-id");
		ck_assert_int_eq(answer.header_count > 0 && strcmp(answer.headers[0].name, "Retry-After") == 0, rows[i].status == 503);
		json_decref(json);
	}
	client_close(client);
}
END_TEST

START_TEST(readiness)
{
	struct client *client = client_open();
	ck_assert_int_eq(client_get(client, "/readyz"), 200);
	api_set_ready(client->api, false);
	ck_assert_int_eq(client_get(client, "/readyz"), 503);
	ck_assert_ptr_nonnull(client_header(client, "Retry-After"));
	ck_assert_int_eq(client_get(client, "/healthz"), 200);
	ck_assert_str_eq(client_text(client, "status"), "ok");
	api_set_ready(client->api, true);
	ck_assert_int_eq(client_get(client, "/readyz"), 200);
	client_close(client);
}
END_TEST

START_TEST(version_tells_the_limits)
{
	struct client *client = client_open();
	ck_assert_int_eq(client_get(client, "/version"), 200);
	ck_assert_str_eq(client_text(client, "version"), NORMD_VERSION);
	ck_assert(client_text(client, "kernel")[0] && client_text(client, "compiler")[0]);
	ck_assert_double_eq(client_number(client, "limits.max_body.value"), (double)client->config.max_body);
	ck_assert_str_eq(client_text(client, "limits.max_jacobian.flag"), "--max-jacobian");
	ck_assert_str_eq(client_text(client, "limits.max_answer.unit"), "bytes");
	client_close(client);
}
END_TEST

START_TEST(headers_of_an_answer)
{
	struct client *client = client_open();
	ck_assert_int_eq(client_post(client, "/rmsnorm", body), 200);
	ck_assert_str_eq(client->answer.content_type, "application/json");
	ck_assert_ptr_nonnull(client_header(client, "Normd-Kernel"));
	const char *timing = client_header(client, "Server-Timing");
	ck_assert_msg(timing && strstr(timing, "parse;dur=") && strstr(timing, "compute;dur=") && strstr(timing, "print;dur="), "%s", timing);
	ck_assert_int_eq(client_post(client, "/rmsnorm", "{"), 400);
	ck_assert_ptr_nonnull(client_header(client, "Server-Timing"));
	client_close(client);
}
END_TEST

/* Byte for byte the same, indented or not, whatever else was computed before. */
START_TEST(answers_are_a_function_of_the_request)
{
	static const char text[] = "{\"x\":[[[1,2,3],[4,5,6.5]]],\"dy\":[[[1,0,1],[0,1,0.25]]],\"jacobian\":true,\"normalized\":true}";
	static char first[8192];
	struct client *client = client_open();
	ck_assert_int_eq(client_post(client, "/layernorm", text), 200);
	size_t len = client->answer.body_len;
	ck_assert_uint_lt(len, sizeof first);
	memcpy(first, client->answer.body, len);
	json_t *flat = json_incref(client->json);
	client_post(client, "/rmsnorm", body);
	ck_assert_int_eq(client_post(client, "/layernorm", text), 200);
	ck_assert_uint_eq(client->answer.body_len, len);
	ck_assert_mem_eq(client->answer.body, first, len);

	client->request.pretty = true;
	ck_assert_int_eq(client_post(client, "/layernorm", text), 200);
	ck_assert(json_equal(client->json, flat));
	ck_assert_ptr_nonnull(memmem(client->answer.body, client->answer.body_len, "\n  \"y\": [\n    [\n      [", 23)); /* innermost rows on one line */
	ck_assert_ptr_nonnull(memmem(client->answer.body, client->answer.body_len, "\n    \"shape\": [1,2,3],\n", 22));
	ck_assert_int_eq(client->answer.body[client->answer.body_len - 1], '\n');
	json_decref(flat);
	client_close(client);
}
END_TEST

START_TEST(short_bodies_that_may_take_long)
{
	static const char *const longer[] = {"{\"x\":[1],\"jacobian\":\"dense\"}", "{\"depth\" :9}", "{\"f\":{\"init\":{}}}"};
	struct client *client = client_open();
	struct api_request request = client->request;
	for (size_t i = 0; i < sizeof longer / sizeof *longer; i++) {
		request.body = longer[i];
		request.body_len = strlen(longer[i]);
		ck_assert(api_may_be_long(client->api, &request));
	}
	request.body = body;
	request.body_len = sizeof body - 1;
	ck_assert(!api_may_be_long(client->api, &request));
	request.body = NULL;
	request.body_len = 0;
	ck_assert(!api_may_be_long(client->api, &request));
	client_close(client);
}
END_TEST

START_TEST(pages)
{
	struct client *client = client_open();
	ck_assert_int_eq(client_get(client, "/"), 200);
	ck_assert_str_eq(client->answer.content_type, "text/html; charset=utf-8");
	char *page = strndup(client->answer.body, client->answer.body_len), *at = page, *save;
	int lines = 0;
	while ((at = strstr(at, "curl localhost:8080/"))) { /* every line of it works */
		char *line = strtok_r(at, "\n", &save), *path = strchr(line, '/'), *json = strstr(line, " -d '");
		ck_assert(json && line[strlen(line) - 1] == '\'');
		*json = line[strlen(line) - 1] = 0;
		ck_assert_msg(client_post(client, path, json + 5) == 200, "%s: %s", path, json + 5);
		at = json + 5 + strlen(json + 5) + 2;
		lines++;
	}
	ck_assert_int_ge(lines, 4);
	free(page);
	client_close(client);
}
END_TEST

TEST_MAIN(content_types, methods, head_is_get, paths, admission_comes_before_the_body, refusals, readiness, version_tells_the_limits,
          headers_of_an_answer, answers_are_a_function_of_the_request, short_bodies_that_may_take_long, pages)
