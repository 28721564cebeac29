/* Bodies on the wire: in pieces, in chunks, pipelined, too large, cut short, and heads that try to smuggle. */
#include "tests/support/daemon.h"
#include "tests/support/wire.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FLAGS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* {"x":[0.5,1.25,…]} of about `bytes` bytes; the caller frees it. */
static char *body_of(size_t bytes)
{
	char *text = malloc(bytes + 64), *end = text;
	end += sprintf(end, "{\"x\":[");
	for (unsigned i = 0; (size_t)(end - text) < bytes; i++)
		end += sprintf(end, "%s%u.%u", i ? "," : "", i % 97 + 1, i % 10);
	strcpy(end, "]}");
	return text;
}

/* Sends body in chunks of `size` bytes with the last chunk. */
static void send_chunks(int fd, const char *body, size_t length, size_t size)
{
	for (size_t at = 0; at < length; at += size) {
		size_t n = length - at < size ? length - at : size;
		wire_print(fd, "%zx\r\n", n);
		wire_send(fd, body + at, n);
		wire_send(fd, "\r\n", 2);
	}
	wire_print(fd, "0\r\n\r\n");
}

static void assert_same(struct reply *reply, const struct reply *expected)
{
	ck_assert_int_eq(reply->status, 200);
	ck_assert_uint_eq(reply->body_len, expected->body_len);
	ck_assert_mem_eq(reply->body, expected->body, expected->body_len);
	reply_free(reply);
}

START_TEST(test_pieces_of_every_size)
{
	struct daemon daemon;
	daemon_start(&daemon, NULL);
	/* small ones are computed by the thread that reads them, large ones by the workers */
	static const size_t sizes[] = {11, 3000, 100 << 10, 700 << 10};
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		char *body = body_of(sizes[s]);
		size_t length = strlen(body);
		struct reply whole = wire_once(daemon.port, "POST", "/rmsnorm", "", body);
		ck_assert_int_eq(whole.status, 200);
		static const size_t pieces[] = {1, 100, 16 << 10, 16384 + 1};
		int fd = wire_connect(daemon.port);
		for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
			if (length / pieces[p] > 4000)
				continue;
			wire_print(fd, "POST /rmsnorm HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n", length);
			for (size_t at = 0; at < length; at += pieces[p])
				wire_send(fd, body + at, length - at < pieces[p] ? length - at : pieces[p]);
			struct reply reply = wire_read(fd, false);
			assert_same(&reply, &whole);
			wire_print(fd, "POST /rmsnorm HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
			send_chunks(fd, body, length, pieces[p]);
			reply = wire_read(fd, false);
			assert_same(&reply, &whole);
		}
		/* the head byte by byte, too */
		char head[128];
		int n = snprintf(head, sizeof head, "POST /rmsnorm HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n", length);
		for (int i = 0; i < n; i++)
			wire_send(fd, head + i, 1);
		wire_send(fd, body, length);
		struct reply reply = wire_read(fd, false);
		assert_same(&reply, &whole);
		close(fd);
		reply_free(&whole);
		free(body);
	}
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
}
END_TEST

START_TEST(test_pipelined_requests_are_answered_in_order)
{
	enum { COUNT = 60 };
	struct daemon daemon;
	daemon_start(&daemon, NULL);
	char *large = body_of(300 << 10);
	struct reply expected[2] = {wire_once(daemon.port, "POST", "/rmsnorm", "", "{\"x\":[3,4]}"),
	                            wire_once(daemon.port, "POST", "/rmsnorm", "", large)};
	int fd = wire_connect(daemon.port);
	/* a large one among small ones, all sent before the first answer is read */
	for (int i = 0; i < COUNT; i++) {
		const char *body = i == COUNT / 2 ? large : "{\"x\":[3,4]}";
		wire_print(fd, "POST /rmsnorm HTTP/1.1\r\nHost: h\r\nX-Request-Id: n%d\r\nContent-Length: %zu\r\n\r\n%s", i, strlen(body), body);
	}
	for (int i = 0; i < COUNT; i++) {
		char id[16];
		snprintf(id, sizeof id, "n%d", i);
		struct reply reply = wire_read(fd, false);
		ck_assert_str_eq(reply_header(&reply, "X-Request-Id"), id);
		assert_same(&reply, &expected[i == COUNT / 2]);
	}
	close(fd);
	reply_free(&expected[0]);
	reply_free(&expected[1]);
	free(large);
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
}
END_TEST

START_TEST(test_expect_continue)
{
	struct daemon daemon;
	daemon_start(&daemon, FLAGS("--max-body=1MiB"));
	int fd = wire_connect(daemon.port);
	double begun = seconds_now();
	wire_print(fd, "POST /rmsnorm HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n");
	char line[32] = "";
	for (size_t n = 0; n < 25; n++)
		ck_assert_int_eq(read(fd, line + n, 1), 1);
	ck_assert_str_eq(line, "HTTP/1.1 100 Continue\r\n\r\n");
	wire_send(fd, "{\"x\":[3,4]}", 11);
	struct reply reply = wire_read(fd, false);
	ck_assert_int_eq(reply.status, 200);
	ck_assert(seconds_now() - begun < 0.9); /* nobody waited for curl's second: a generous bound for two round trips */
	reply_free(&reply);

	/* a client that asks first is told without having sent a byte of it */
	wire_print(fd, "POST /rmsnorm HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2000000\r\n\r\n");
	reply = wire_read(fd, false);
	ck_assert_int_eq(reply.status, 413);
	ck_assert_int_eq(reply.interim, 0);
	reply_free(&reply);
	ck_assert(wire_closed(fd));
	close(fd);
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
}
END_TEST

START_TEST(test_too_large_bodies)
{
	enum { LIMIT = 1 << 20 };
	struct daemon daemon;
	daemon_start(&daemon, FLAGS("--max-body=1MiB"));
	/* told from Content-Length: nothing of the body was sent */
	int fd = wire_connect(daemon.port);
	wire_print(fd, "POST /rmsnorm HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", LIMIT + 1);
	struct reply reply = wire_read(fd, false);
	ck_assert_int_eq(reply.status, 413);
	ck_assert_ptr_nonnull(strstr(reply.body, "--max-body"));
	reply_free(&reply);
	close(fd);

	/* a client that sends all of it before it reads still gets the answer, not a reset */
	char *body = body_of(24u << 20);
	for (int i = 0; i < 4; i++) {
		fd = wire_connect(daemon.port);
		wire_print(fd, "POST /rmsnorm HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n", strlen(body));
		ck_assert_msg(wire_send(fd, body, strlen(body)), "the connection was reset while the body was sent");
		reply = wire_read(fd, false);
		ck_assert_int_eq(reply.status, 413);
		reply_free(&reply);
		close(fd);
	}

	/* exactly the limit is fine */
	memset(body, ' ', LIMIT);
	memcpy(body, "{\"x\":[3,4]}", 11);
	body[LIMIT] = '\0';
	reply = wire_once(daemon.port, "POST", "/rmsnorm", "", body);
	ck_assert_int_eq(reply.status, 200);
	reply_free(&reply);
	fd = wire_connect(daemon.port);
	wire_print(fd, "POST /rmsnorm HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
	send_chunks(fd, body, LIMIT, 100000);
	reply = wire_read(fd, false);
	ck_assert_int_eq(reply.status, 200);
	reply_free(&reply);

	/* in chunks: one byte more is discarded and answered; without end it is cut off */
	wire_print(fd, "POST /rmsnorm HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
	body[LIMIT] = ' ';
	send_chunks(fd, body, LIMIT + 1, 100000);
	reply = wire_read(fd, false);
	ck_assert_int_eq(reply.status, 413);
	ck_assert_ptr_nonnull(strstr(reply.body, "--max-body"));
	reply_free(&reply);
	close(fd);
	fd = wire_connect(daemon.port);
	wire_print(fd, "POST /rmsnorm HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
	for (int i = 0; i < 40; i++) {
		if (!wire_print(fd, "%x\r\n", LIMIT) || !wire_send(fd, body, LIMIT) || !wire_send(fd, "\r\n", 2))
			break;
		ck_assert_int_lt(i, 30);
	}
	close(fd);
	free(body);
	reply = wire_once(daemon.port, "GET", "/healthz", "", NULL);
	ck_assert_int_eq(reply.status, 200);
	reply_free(&reply);
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
}
END_TEST

START_TEST(test_smuggling_is_refused_and_the_connection_closed)
{
	static const char *const heads[] = {
		"Host: h\r\nContent-Length: 11\r\nContent-Length: 11\r\n",
		"Host: h\r\nContent-Length: 0\r\nContent-Length: 44\r\n",
		"Host: h\r\nContent-Length: 44\r\nContent-Length: 0\r\n",
		"Host: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n",
		"Host: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n",
		"Host: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
		"Host: h\r\nTransfer-Encoding: gzip, chunked\r\n",
		"Host: h\r\nTransfer-Encoding: identity\r\n",
		"Host: h\r\nTransfer-Encoding : chunked\r\nContent-Length: 0\r\n",
		"Host: h\r\nContent-Length : 0\r\n",
		"Host: h\r\nHost: i\r\nContent-Length: 0\r\n",
		"Content-Length: 0\r\n",
	};
	struct daemon daemon;
	daemon_start(&daemon, NULL);
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		int fd = wire_connect(daemon.port);
		wire_print(fd, "POST /rmsnorm HTTP/1.1\r\n%s\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: h\r\n\r\n", heads[i]);
		struct reply reply = wire_read(fd, false);
		ck_assert_msg(reply.status == 400, "head %zu: %d", i, reply.status);
		ck_assert_str_eq(reply_header(&reply, "Content-Type"), "application/problem+json");
		ck_assert_str_eq(reply_header(&reply, "Connection"), "close");
		reply_free(&reply);
		ck_assert_msg(wire_closed(fd), "head %zu: the connection stays open, or more was answered", i);
		close(fd);
	}
	/* what libmicrohttpd itself refuses is refused, too, and harms nobody */
	static const char *const broken[] = {
		"Host: h\r\nContent-Length: abc\r\n",
		"Host: h\r\nContent-Length: -1\r\n",
		"Host: h\r\nContent-Length: 99999999999999999999999\r\n",
		"Host: h\r\nContent-Length: 5, 5\r\n",
		"Host: h\r\nno colon\r\n",
	};
	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
		int fd = wire_connect(daemon.port);
		wire_print(fd, "POST /rmsnorm HTTP/1.1\r\n%s\r\n", broken[i]);
		struct reply reply = wire_read(fd, false);
		ck_assert_msg(reply.status == 400 || reply.status == 413, "head %zu: %d", i, reply.status);
		reply_free(&reply);
		close(fd);
	}
	/* a head larger than any is wanted */
	int fd = wire_connect(daemon.port);
	char *long_head = malloc(200001);
	memset(long_head, 'a', 200000);
	long_head[200000] = '\0';
	wire_print(fd, "GET /healthz HTTP/1.1\r\nHost: h\r\nX: %s\r\n\r\n", long_head);
	struct reply reply = wire_read(fd, false);
	ck_assert_msg(reply.status == 431 || reply.status == 0, "%d", reply.status);
	reply_free(&reply);
	close(fd);
	free(long_head);
	reply = wire_once(daemon.port, "POST", "/rmsnorm", "", "{\"x\":[3,4]}");
	ck_assert_int_eq(reply.status, 200);
	reply_free(&reply);
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
}
END_TEST

START_TEST(test_clients_that_leave)
{
	enum { COUNT = 300 };
	struct daemon daemon;
	daemon_start(&daemon, NULL);
	char *body = body_of(400 << 10);
	for (int i = 0; i < COUNT; i++) {
		int fd = wire_connect(daemon.port);
		wire_print(fd, "POST /rmsnorm HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n", strlen(body));
		/* before the body, in its middle, or while it is computed and answered */
		wire_send(fd, body, i % 3 * strlen(body) / 2);
		close(fd);
	}
	struct reply reply = wire_once(daemon.port, "POST", "/rmsnorm", "", "{\"x\":[3,4]}");
	ck_assert_int_eq(reply.status, 200);
	reply_free(&reply);
	ck_assert(daemon_logs(&daemon, "aborted"));
	free(body);
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
}
END_TEST

START_TEST(test_noise_harms_nobody)
{
	enum { ROUNDS = 400, LENGTH = 600 };
	static const char *const starts[] = {"", "GET ", "POST /rmsnorm HTTP/1.1\r\n", "POST /rmsnorm HTTP/1.1\r\nHost: h\r\n",
	                                     "POST /rmsnorm HTTP/1.1\r\nHost: h\r\nContent-Length: 300\r\n\r\n",
	                                     "POST /rmsnorm HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"};
	struct daemon daemon;
	daemon_start(&daemon, FLAGS("--log=none"));
	unsigned state = 1;
	for (int i = 0; i < ROUNDS; i++) {
		char noise[LENGTH];
		for (int k = 0; k < LENGTH; k++) {
			state = state * 1664525u + 1013904223u;
			noise[k] = state >> 29 ? (char)(state >> 20) : "\r\n\r\n: 09"[state >> 20 & 7];
		}
		int fd = wire_connect(daemon.port);
		const char *start = starts[(size_t)i % (sizeof starts / sizeof *starts)];
		wire_send(fd, start, strlen(start));
		wire_send(fd, noise, sizeof noise);
		close(fd);
	}
	struct reply reply = wire_once(daemon.port, "POST", "/rmsnorm", "", "{\"x\":[3,4]}");
	ck_assert_int_eq(reply.status, 200);
	reply_free(&reply);
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
}
END_TEST

TEST_MAIN(test_pieces_of_every_size, test_pipelined_requests_are_answered_in_order, test_expect_continue, test_too_large_bodies,
          test_smuggling_is_refused_and_the_connection_closed, test_clients_that_leave, test_noise_harms_nobody)
