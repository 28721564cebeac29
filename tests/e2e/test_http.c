/* The daemon as an HTTP server: methods, statuses, headers, keys, origins, logs, connections that are kept. */
#include "tests/support/daemon.h"
#include "tests/support/wire.h"
#include "tests/support/suite.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FLAGS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define X34 "{\"x\":[3,4]}"

/* Asserts a problem document of that status whose type ends in name, with the request's id as its instance. */
static void assert_problem(const struct reply *reply, int status, const char *name)
{
	ck_assert_int_eq(reply->status, status);
	ck_assert_str_eq(reply_header(reply, "Content-Type"), "application/problem+json");
	json_t *problem = json_loadb(reply->body, reply->body_len, JSON_REJECT_DUPLICATES, NULL);
	ck_assert_msg(problem, "not JSON: %s", reply->body);
	char type[128];
	snprintf(type, sizeof type, "urn:normd:problem:%s", name);
	ck_assert_str_eq(json_string_value(json_object_get(problem, "type")), type);
	ck_assert_int_eq(json_integer_value(json_object_get(problem, "status")), status);
	ck_assert_str_eq(json_string_value(json_object_get(problem, "instance")), reply_header(reply, "X-Request-Id"));
	ck_assert_ptr_nonnull(json_string_value(json_object_get(problem, "title")));
	ck_assert_ptr_nonnull(json_string_value(json_object_get(problem, "detail")));
	json_decref(problem);
}

static int count_of(const char *text, char c)
{
	int count = 0;
	for (; *text; text++)
		count += *text == c;
	return count;
}

START_TEST(test_methods_and_statuses)
{
	struct daemon daemon;
	daemon_start(&daemon, NULL);
	struct reply reply = wire_once(daemon.port, "POST", "/rmsnorm", "", X34);
	ck_assert_int_eq(reply.status, 200);
	ck_assert_str_eq(reply_header(&reply, "Content-Type"), "application/json");
	ck_assert_ptr_nonnull(strstr(reply.body, "\"y\""));
	ck_assert_ptr_nonnull(reply_header(&reply, "Server-Timing"));
	ck_assert_ptr_nonnull(reply_header(&reply, "Normd-Kernel"));
	reply_free(&reply);

	static const char *const paths[] = {"/", "/healthz", "/readyz", "/version"};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		struct reply got = wire_once(daemon.port, "GET", paths[i], "", NULL);
		struct reply head = wire_once(daemon.port, "HEAD", paths[i], "", NULL);
		ck_assert_int_eq(got.status, 200);
		ck_assert_int_eq(head.status, 200);
		ck_assert_uint_gt(got.body_len, 0);
		ck_assert_str_eq(reply_header(&head, "Content-Type"), reply_header(&got, "Content-Type"));
		ck_assert_str_eq(reply_header(&head, "Content-Length"), reply_header(&got, "Content-Length"));
		reply_free(&got);
		reply_free(&head);
		struct reply options = wire_once(daemon.port, "OPTIONS", paths[i], "", NULL);
		ck_assert_msg(options.status / 100 == 2, "OPTIONS %s: %d", paths[i], options.status);
		ck_assert_msg(strstr(reply_header(&options, "Allow"), "HEAD"), "%s", reply_header(&options, "Allow"));
		reply_free(&options);
		struct reply post = wire_once(daemon.port, "POST", paths[i], "", "{}");
		assert_problem(&post, 405, "method_not_allowed");
		ck_assert_msg(strstr(reply_header(&post, "Allow"), "GET"), "%s", reply_header(&post, "Allow"));
		reply_free(&post);
	}
	reply = wire_once(daemon.port, "GET", "/rmsnorm", "", NULL);
	assert_problem(&reply, 405, "method_not_allowed");
	ck_assert_msg(strstr(reply_header(&reply, "Allow"), "POST"), "%s", reply_header(&reply, "Allow"));
	reply_free(&reply);
	reply = wire_once(daemon.port, "BREW", "/rmsnorm", "", NULL);
	assert_problem(&reply, 405, "method_not_allowed");
	reply_free(&reply);
	reply = wire_once(daemon.port, "POST", "/nothing/here", "", X34);
	assert_problem(&reply, 404, "not_found");
	reply_free(&reply);
	reply = wire_once(daemon.port, "HEAD", "/nothing/here", "", NULL);
	ck_assert_int_eq(reply.status, 404);
	reply_free(&reply);

	static const char *const taken[] = {"application/json", "application/json; charset=utf-8", "application/vnd.any+json",
	                                    "application/x-www-form-urlencoded"};
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
		char header[128];
		snprintf(header, sizeof header, "Content-Type: %s\r\n", taken[i]);
		reply = wire_once(daemon.port, "POST", "/rmsnorm", header, X34);
		ck_assert_msg(reply.status == 200, "%s: %d", taken[i], reply.status);
		reply_free(&reply);
	}
	reply = wire_once(daemon.port, "POST", "/rmsnorm", "Content-Type: text/csv\r\n", X34);
	assert_problem(&reply, 415, "unsupported_media_type");
	reply_free(&reply);
	reply = wire_once(daemon.port, "POST", "/rmsnorm", "Content-Encoding: gzip\r\n", X34);
	assert_problem(&reply, 415, "unsupported_media_type");
	reply_free(&reply);

	/* the target in absolute form, which every server has to take */
	int fd = wire_connect(daemon.port);
	wire_print(fd, "GET http://localhost/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
	reply = wire_read(fd, false);
	ck_assert_int_eq(reply.status, 200);
	reply_free(&reply);
	close(fd);
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
}
END_TEST

START_TEST(test_a_connection_is_kept)
{
	enum { REQUESTS = 3000 };
	struct daemon daemon;
	daemon_start(&daemon, FLAGS("--log", "none"));
	int fd = wire_connect(daemon.port);
	struct reply first = wire_call(fd, "POST", "/rmsnorm", "", X34);
	ck_assert_int_eq(first.status, 200);
	size_t before = 0;
	for (int i = 0; i < REQUESTS; i++) {
		if (i == REQUESTS / 4)
			before = daemon_resident(&daemon);
		struct reply reply = wire_call(fd, i % 7 ? "POST" : "GET", i % 7 ? "/rmsnorm" : "/healthz", "", i % 7 ? X34 : NULL);
		ck_assert_int_eq(reply.status, 200);
		if (i % 7)
			ck_assert_str_eq(reply.body, first.body);
		reply_free(&reply);
	}
	/* no request leaves anything behind */
	ck_assert_uint_le(daemon_resident(&daemon), before + (8u << 20));

	/* a refused request without a body does not end the connection, one with an unread body does */
	struct reply reply = wire_call(fd, "GET", "/nothing", "", NULL);
	ck_assert_int_eq(reply.status, 404);
	reply_free(&reply);
	reply = wire_call(fd, "POST", "/rmsnorm", "", "{\"x\":");
	ck_assert_int_ge(reply.status, 200);
	reply_free(&reply);
	reply = wire_call(fd, "POST", "/nothing", "", X34);
	ck_assert_int_eq(reply.status, 404);
	ck_assert_str_eq(reply_header(&reply, "Connection"), "close");
	reply_free(&reply);
	ck_assert(wire_closed(fd));
	close(fd);

	/* HTTP/1.0 needs no Host, and is closed unless it asks */
	fd = wire_connect(daemon.port);
	wire_print(fd, "GET /healthz HTTP/1.0\r\n\r\n");
	reply = wire_read(fd, false);
	ck_assert_int_eq(reply.status, 200);
	reply_free(&reply);
	ck_assert(wire_closed(fd));
	close(fd);
	reply_free(&first);
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
}
END_TEST

START_TEST(test_ids_and_logs)
{
	struct daemon daemon;
	daemon_start(&daemon, FLAGS("--log=json"));
	struct reply reply = wire_once(daemon.port, "POST", "/rmsnorm", "X-Request-Id: mine-42\r\n"
	                                 "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n", X34);
	ck_assert_str_eq(reply_header(&reply, "X-Request-Id"), "mine-42");
	reply_free(&reply);
	ck_assert(daemon_logs(&daemon, "\"request_id\":\"mine-42\",\"trace_id\":\"0af7651916cd43dd8448eb211c80319c\",\"end\":\"done\"}\n"));

	/* ids that are not sane are replaced by our own, which differ */
	char made[2][64];
	for (int i = 0; i < 2; i++) {
		reply = wire_once(daemon.port, "GET", "/healthz", i ? "X-Request-Id: two words\r\n" : "", NULL);
		snprintf(made[i], sizeof made[i], "%s", reply_header(&reply, "X-Request-Id"));
		ck_assert_uint_eq(strlen(made[i]), 16);
		reply_free(&reply);
	}
	ck_assert_str_ne(made[0], made[1]);

	/* what a client sends cannot break a line: every one is a JSON object */
	reply = wire_once(daemon.port, "GET", "/x%0A%22%5C%1B%C3%A9y?a=b", "", NULL);
	ck_assert_int_eq(reply.status, 404);
	reply_free(&reply);
	ck_assert(daemon_logs(&daemon, "\"path\":\"/x%0A%22%5C%1B%C3%A9y\""));
	char *log = daemon_log(&daemon);
	int lines = 0;
	/* a line is written after its answer, perhaps by another thread than the last one's */
	for (int tries = 0; tries < 500 && (lines = count_of(log, '\n')) < 4; tries++) {
		usleep(10000);
		free(log);
		log = daemon_log(&daemon);
	}
	lines = 0;
	for (char *line = log, *end; (end = strchr(line, '\n')); line = end + 1, lines++) {
		*end = '\0';
		json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
		ck_assert_msg(json_is_object(object), "%s", line);
		json_decref(object);
	}
	ck_assert_int_eq(lines, 4);
	free(log);
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);

	daemon_start(&daemon, NULL);
	reply = wire_once(daemon.port, "POST", "/rmsnorm", "X-Request-Id: text-1\r\n", X34);
	ck_assert_int_eq(reply.status, 200);
	reply_free(&reply);
	ck_assert(daemon_logs(&daemon, "Z 200 POST /rmsnorm in=11 out="));
	ck_assert(daemon_logs(&daemon, "id=text-1 trace=- done\n"));
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);

	daemon_start(&daemon, FLAGS("--log=none"));
	reply = wire_once(daemon.port, "POST", "/rmsnorm", "", X34);
	reply_free(&reply);
	log = daemon_log(&daemon);
	ck_assert_str_eq(log, "");
	free(log);
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
}
END_TEST

START_TEST(test_keys)
{
	struct daemon daemon;
	daemon_start(&daemon, FLAGS("--api-key", "s3cret", "--cors-origin", "*"));
	static const char *const open[] = {"/healthz", "/readyz"};
	for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
		struct reply reply = wire_once(daemon.port, "GET", open[i], "", NULL);
		ck_assert_int_eq(reply.status, 200);
		reply_free(&reply);
	}
	static const struct {
		const char *headers;
		int status;
	} cases[] = {
		{"", 401},
		{"Authorization: Bearer s3cret\r\n", 200},
		{"X-API-Key: s3cret\r\n", 200},
		{"Authorization: Bearer s3cre\r\n", 401},
		{"Authorization: Basic s3cret\r\n", 401},
		{"X-API-Key: S3cret\r\n", 401},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct reply reply = wire_once(daemon.port, "POST", "/rmsnorm", cases[i].headers, X34);
		ck_assert_msg(reply.status == cases[i].status, "case %zu: %d", i, reply.status);
		if (reply.status == 401) {
			assert_problem(&reply, 401, "unauthorized");
			ck_assert_str_eq(reply_header(&reply, "WWW-Authenticate"), "Bearer");
		}
		reply_free(&reply);
	}
	/* a preflight cannot bring the key */
	struct reply reply = wire_once(daemon.port, "OPTIONS", "/rmsnorm",
	                                 "Origin: http://a\r\nAccess-Control-Request-Method: POST\r\n", NULL);
	ck_assert_int_eq(reply.status, 204);
	reply_free(&reply);
	char *log = daemon_log(&daemon);
	ck_assert_ptr_null(strstr(log, "s3cret"));
	free(log);
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
}
END_TEST

static void assert_cors(const struct reply *reply, const char *origin)
{
	const char *allowed = reply_header(reply, "Access-Control-Allow-Origin");
	if (!origin) {
		ck_assert_ptr_null(allowed);
		ck_assert_ptr_null(reply_header(reply, "Timing-Allow-Origin"));
		return;
	}
	ck_assert_msg(allowed && strcmp(allowed, origin) == 0, "%s", reply->head);
	ck_assert_str_eq(reply_header(reply, "Timing-Allow-Origin"), origin);
	const char *exposed = reply_header(reply, "Access-Control-Expose-Headers");
	static const char *const names[] = {"X-Request-Id", "Server-Timing", "Normd-Kernel", "Retry-After", "Inference-Header-Content-Length"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		ck_assert_msg(exposed && strstr(exposed, names[i]), "%s is not exposed", names[i]);
}

START_TEST(test_origins)
{
	struct daemon daemon;
	daemon_start(&daemon, FLAGS("--cors-origin", "http://a.example", "--cors-origin", "http://b.example"));
	static const struct {
		const char *method, *path, *extra, *body;
		int status;
	} cases[] = {
		{"POST", "/rmsnorm", "", X34, 200},
		{"GET", "/version", "", NULL, 200},
		{"GET", "/nothing", "", NULL, 404},
		{"GET", "/rmsnorm", "", NULL, 405},
		{"POST", "/rmsnorm", "Content-Type: text/csv\r\n", X34, 415},
		{"POST", "/rmsnorm", "Host: again\r\n", X34, 400},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		static const struct {
			const char *header, *origin;
		} origins[] = {{"", NULL}, {"Origin: http://a.example\r\n", "http://a.example"}, {"Origin: http://b.example\r\n", "http://b.example"}, {"Origin: http://c.example\r\n", NULL}};
		for (size_t o = 0; o < sizeof origins / sizeof *origins; o++) {
			char headers[256];
			snprintf(headers, sizeof headers, "%s%s", origins[o].header, cases[i].extra);
			struct reply reply = wire_once(daemon.port, cases[i].method, cases[i].path, headers, cases[i].body);
			ck_assert_msg(reply.status == cases[i].status, "case %zu: %d", i, reply.status);
			assert_cors(&reply, origins[o].origin);
			ck_assert_str_eq(reply_header(&reply, "Vary"), "Origin");
			reply_free(&reply);
		}
	}
	struct reply reply = wire_once(daemon.port, "OPTIONS", "/rmsnorm", "Origin: http://a.example\r\n"
	                                 "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type\r\n", NULL);
	ck_assert_int_eq(reply.status, 204);
	ck_assert_str_eq(reply_header(&reply, "Access-Control-Allow-Origin"), "http://a.example");
	ck_assert_ptr_nonnull(strstr(reply_header(&reply, "Access-Control-Allow-Methods"), "POST"));
	ck_assert_ptr_nonnull(strstr(reply_header(&reply, "Access-Control-Allow-Headers"), "Content-Type"));
	ck_assert_ptr_nonnull(reply_header(&reply, "Access-Control-Max-Age"));
	reply_free(&reply);
	reply = wire_once(daemon.port, "OPTIONS", "/rmsnorm",
	                    "Origin: http://c.example\r\nAccess-Control-Request-Method: POST\r\n", NULL);
	ck_assert_ptr_null(reply_header(&reply, "Access-Control-Allow-Origin"));
	ck_assert_ptr_null(reply_header(&reply, "Access-Control-Allow-Methods"));
	reply_free(&reply);
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);

	daemon_start(&daemon, NULL);
	reply = wire_once(daemon.port, "POST", "/rmsnorm", "Origin: http://a.example\r\n", X34);
	assert_cors(&reply, NULL);
	ck_assert_ptr_null(reply_header(&reply, "Vary"));
	reply_free(&reply);
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
}
END_TEST

START_TEST(test_every_limit_is_published)
{
	struct daemon daemon;
	daemon_start(&daemon, FLAGS("--max-body=5MiB", "--max-jacobian=77", "--queue", "3"));
	struct reply reply = wire_once(daemon.port, "GET", "/version", "", NULL);
	ck_assert_int_eq(reply.status, 200);
	json_t *version = json_loadb(reply.body, reply.body_len, JSON_REJECT_DUPLICATES, NULL);
	ck_assert_ptr_nonnull(version);
	json_decref(version);
	ck_assert_ptr_nonnull(strstr(reply.body, "5242880"));
	static const char *const names[] = {"max_body", "max_elements", "max_jacobian", "max_answer", "max_connections", "queue", "timeout", "keep_memory", "threads"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		ck_assert_msg(strstr(reply.body, names[i]), "/version does not tell of %s", names[i]);
	reply_free(&reply);
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
}
END_TEST

TEST_MAIN(test_methods_and_statuses, test_a_connection_is_kept, test_ids_and_logs, test_keys, test_origins, test_every_limit_is_published)
