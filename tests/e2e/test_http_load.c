/* The daemon under load and at its end: long requests beside quick ones, limits, slow clients, stops. */
#include "tests/support/daemon.h"
#include "tests/support/wire.h"
#include "tests/support/suite.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define FLAGS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define X34 "{\"x\":[3,4]}"

/* A body of rows × features numbers; the caller frees it. */
static char *matrix(unsigned rows, unsigned features)
{
	char *text = malloc((size_t)rows * features * 8 + rows * 3 + 64), *end = text;
	end += sprintf(end, "{\"dtype\":\"float32\",\"x\":[");
	for (unsigned r = 0; r < rows; r++) {
		*end++ = r ? ',' : ' ';
		for (unsigned f = 0; f < features; f++) {
			*end++ = f ? ',' : '[';
			end += sprintf(end, "%u.%03u", r % 7, (r * 31 + f * 17) % 1000);
		}
		*end++ = ']';
	}
	strcpy(end, "]}");
	return text;
}

static void send_to(int fd, const char *path, const char *body)
{
	wire_print(fd, "POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n", path, strlen(body));
	wire_send(fd, body, strlen(body));
}

static bool has_answer(int fd)
{
	struct pollfd polled = {.fd = fd, .events = POLLIN};
	return poll(&polled, 1, 0) == 1;
}

/* Four long requests are sent, and quick ones are answered before any of the four is. */
static void hold_up_with(const char *path, const char *body)
{
	enum { LONG = 4, ENOUGH = 4 }; /* one that is held up is followed by none */
	struct daemon daemon;
	daemon_start(&daemon, FLAGS("--poll-threads=2", "--threads=2"));
	int fds[LONG], quick = 0, waiting = LONG;
	size_t length = strlen(body);
	for (int i = 0; i < LONG; i++) {
		fds[i] = wire_connect(daemon.port);
		wire_print(fds[i], "POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n", path, length);
		wire_send(fds[i], body, length - 1);
	}
	/* one connection for each poll thread, and health beside them */
	int asking[2] = {wire_connect(daemon.port), wire_connect(daemon.port)};
	for (int i = 0; i < LONG; i++) /* all at once, and only now */
		wire_send(fds[i], body + length - 1, 1);
	while (waiting == LONG) {
		struct reply reply = wire_call(asking[quick % 2], quick % 3 ? "POST" : "GET", quick % 3 ? "/rmsnorm" : "/healthz",
		                               "", quick % 3 ? X34 : NULL);
		ck_assert_int_eq(reply.status, 200);
		reply_free(&reply);
		quick++;
		waiting = 0;
		for (int i = 0; i < LONG; i++)
			waiting += !has_answer(fds[i]);
	}
	ck_assert_msg(quick >= ENOUGH, "only %d quick requests were answered while four long ones ran", quick);
	struct reply first = {0};
	for (int i = 0; i < LONG; i++) {
		struct reply reply = wire_read(fds[i], false);
		ck_assert_msg(reply.status == 200, "%d: %.300s", reply.status, reply.body);
		if (i == 0) {
			first = reply;
			continue;
		}
		ck_assert_uint_eq(reply.body_len, first.body_len);
		ck_assert_mem_eq(reply.body, first.body, first.body_len);
		reply_free(&reply);
	}
	reply_free(&first);
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
}

START_TEST(test_large_requests_do_not_hold_up_quick_ones)
{
	char *body = matrix(2048, 2048);
	hold_up_with("/rmsnorm", body);
	free(body);
}
END_TEST

START_TEST(test_short_requests_of_long_work_do_not_either)
{
	hold_up_with("/block/grad", "{\"x\":{\"shape\":[2,32],\"data\":[1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8,"
	             "8,7,6,5,4,3,2,1,8,7,6,5,4,3,2,1,8,7,6,5,4,3,2,1,8,7,6,5,4,3,2,1]},\"depth\":1024,\"trace\":true,"
	             "\"return\":[\"trace\"],\"block\":{\"sublayers\":[{\"norm\":{\"kind\":\"rmsnorm\"},\"f\":{\"kind\":\"mlp\","
	             "\"activation\":\"silu\",\"hidden\":128,\"gated\":true,\"init\":{\"scheme\":\"normal\",\"std\":0.02}}}]}}");
}
END_TEST

START_TEST(test_a_full_queue_is_told)
{
	struct daemon daemon;
	daemon_start(&daemon, FLAGS("--queue=2"));
	char *body = matrix(64, 512);
	int fds[2];
	struct reply reply;
	/* two large requests take both places while they arrive */
	for (int i = 0; i < 2; i++) {
		fds[i] = wire_connect(daemon.port);
		wire_print(fds[i], "POST /rmsnorm HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n", strlen(body));
		wire_send(fds[i], body, strlen(body) - 1);
	}
	for (int status = 200; status == 200;) { /* until the daemon has read both heads */
		reply = wire_once(daemon.port, "GET", "/readyz", "", NULL);
		status = reply.status;
		reply_free(&reply);
	}
	reply = wire_once(daemon.port, "POST", "/rmsnorm", "", body);
	ck_assert_int_eq(reply.status, 503);
	ck_assert_ptr_nonnull(reply_header(&reply, "Retry-After"));
	ck_assert_ptr_nonnull(strstr(reply.body, "--queue"));
	reply_free(&reply);
	/* in chunks, too; small ones and health are not concerned */
	int fd = wire_connect(daemon.port);
	wire_print(fd, "POST /rmsnorm HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n%zx\r\n%s\r\n0\r\n\r\n", strlen(body), body);
	reply = wire_read(fd, false);
	ck_assert_int_eq(reply.status, 503);
	ck_assert_ptr_nonnull(reply_header(&reply, "Retry-After"));
	reply_free(&reply);
	reply = wire_call(fd, "POST", "/rmsnorm", "", X34);
	ck_assert_int_eq(reply.status, 200);
	reply_free(&reply);
	close(fd);
	reply = wire_once(daemon.port, "GET", "/healthz", "", NULL);
	ck_assert_int_eq(reply.status, 200);
	reply_free(&reply);
	/* the two go on, and leave their places */
	for (int i = 0; i < 2; i++) {
		wire_send(fds[i], body + strlen(body) - 1, 1);
		reply = wire_read(fds[i], false);
		ck_assert_int_eq(reply.status, 200);
		reply_free(&reply);
		close(fds[i]);
	}
	for (int status = 503; status != 200;) {
		reply = wire_once(daemon.port, "POST", "/rmsnorm", "", body);
		ck_assert(reply.status == 200 || reply.status == 503);
		status = reply.status;
		reply_free(&reply);
	}
	reply = wire_once(daemon.port, "GET", "/readyz", "", NULL);
	ck_assert_int_eq(reply.status, 200);
	reply_free(&reply);
	free(body);
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
}
END_TEST

START_TEST(test_too_many_connections_are_told)
{
	enum { LIMIT = 4 };
	struct daemon daemon;
	daemon_start(&daemon, FLAGS("--max-connections=4"));
	int fds[LIMIT];
	struct reply reply;
	for (int i = 0; i < LIMIT; i++) {
		fds[i] = wire_connect(daemon.port);
		reply = wire_call(fds[i], "POST", "/rmsnorm", "", X34);
		ck_assert_int_eq(reply.status, 200);
		reply_free(&reply);
	}
	for (int i = 0; i < 20; i++) {
		reply = wire_once(daemon.port, "POST", "/rmsnorm", "", X34);
		ck_assert_int_eq(reply.status, 503);
		ck_assert_ptr_nonnull(reply_header(&reply, "Retry-After"));
		ck_assert_ptr_nonnull(strstr(reply.body, "--max-connections"));
		reply_free(&reply);
	}
	int fd = wire_connect(daemon.port);
	reply = wire_call(fd, "GET", "/healthz", "", NULL);
	ck_assert_int_eq(reply.status, 200);
	reply_free(&reply);
	reply = wire_call(fd, "GET", "/readyz", "", NULL);
	ck_assert_int_eq(reply.status, 503);
	reply_free(&reply);
	close(fd);
	/* those within the limit go on; when they have gone others come in */
	for (int i = 0; i < LIMIT; i++) {
		reply = wire_call(fds[i], "POST", "/rmsnorm", "", X34);
		ck_assert_int_eq(reply.status, 200);
		reply_free(&reply);
		close(fds[i]);
	}
	for (int status = 503; status != 200;) {
		reply = wire_once(daemon.port, "POST", "/rmsnorm", "", X34);
		ck_assert(reply.status == 200 || reply.status == 503);
		status = reply.status;
		reply_free(&reply);
	}
	/* far beyond it nobody hangs */
	int many[300];
	for (int i = 0; i < 300; i++) {
		many[i] = wire_connect(daemon.port);
		wire_print(many[i], "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
	}
	for (int i = 0; i < 300; i++) {
		reply = wire_read(many[i], false);
		ck_assert_msg(reply.status == 200 || reply.status == 0, "connection %d: %d", i, reply.status);
		reply_free(&reply);
		close(many[i]);
	}
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
}
END_TEST

START_TEST(test_slow_clients_are_cut_off)
{
	enum { CLIENTS = 4 };
	struct daemon daemon;
	daemon_start(&daemon, FLAGS("--timeout=1"));
	static const char *const starts[CLIENTS] = {
		"",
		"POST /rmsnorm HT",
		"POST /rmsnorm HTTP/1.1\r\nHost: h\r\nX: ",
		"POST /rmsnorm HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n",
	};
	int fds[CLIENTS], open = CLIENTS;
	for (int i = 0; i < CLIENTS; i++) {
		fds[i] = wire_connect(daemon.port);
		wire_print(fds[i], "%s", starts[i]);
	}
	/* they trickle a byte now and then, so that no pause is ever long */
	double begun = seconds_now();
	while (open && seconds_now() - begun < 30) {
		usleep(200000);
		for (int i = 0; i < CLIENTS; i++) {
			if (fds[i] < 0)
				continue;
			if (i)
				wire_send(fds[i], "a", 1);
			if (has_answer(fds[i])) {
				struct reply reply = wire_read(fds[i], false);
				ck_assert_int_eq(reply.status, 0); /* closed, without an answer */
				reply_free(&reply);
				close(fds[i]);
				fds[i] = -1;
				open--;
			}
		}
	}
	ck_assert_int_eq(open, 0);
	ck_assert(daemon_logs(&daemon, " timeout\n"));
	struct reply reply = wire_once(daemon.port, "POST", "/rmsnorm", "", X34);
	ck_assert_int_eq(reply.status, 200);
	reply_free(&reply);
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
}
END_TEST

START_TEST(test_a_client_may_close_its_side_and_await_the_answer)
{
	struct daemon daemon;
	daemon_start(&daemon, NULL);
	char *body = matrix(256, 1024);
	for (int i = 0; i < 2; i++) {
		int fd = wire_connect(daemon.port);
		send_to(fd, "/rmsnorm", i ? body : X34);
		shutdown(fd, SHUT_WR);
		struct reply reply = wire_read(fd, false);
		ck_assert_msg(reply.status == 200 || reply.status == 0, "%d", reply.status);
		if (i)
			ck_assert_int_eq(reply.status, 200);
		reply_free(&reply);
		close(fd);
	}
	free(body);
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
}
END_TEST

/* Stops a daemon with idle clients, one request that arrives, and one that is computed: both get their 200. */
static void stop_with(int signal)
{
	enum { IDLE = 4 };
	struct daemon daemon;
	daemon_start(&daemon, NULL);
	char *body = matrix(1024, 1024);
	int idle[IDLE];
	for (int i = 0; i < IDLE; i++) {
		idle[i] = wire_connect(daemon.port);
		struct reply reply = wire_call(idle[i], "GET", "/healthz", "", NULL);
		ck_assert_int_eq(reply.status, 200);
		reply_free(&reply);
	}
	int running = wire_connect(daemon.port), arriving = wire_connect(daemon.port);
	send_to(running, "/rmsnorm", body);
	wire_print(arriving, "POST /rmsnorm HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\n");
	char interim[25];
	for (size_t n = 0; n < sizeof interim; n++) /* "HTTP/1.1 100 Continue": its head has been read */
		ck_assert_int_eq(read(arriving, interim + n, 1), 1);
	kill(daemon.pid, signal);
	/* the draining daemon refuses new connections, and on open ones all but health */
	for (int fd = 0; fd >= 0;) {
		fd = wire_connect(daemon.port);
		if (fd >= 0)
			close(fd);
		usleep(1000);
	}
	struct reply reply = wire_call(idle[0], "POST", "/rmsnorm", "", X34);
	ck_assert_int_eq(reply.status, 503);
	ck_assert_ptr_nonnull(reply_header(&reply, "Retry-After"));
	ck_assert_str_eq(reply_header(&reply, "Connection"), "close");
	reply_free(&reply);
	reply = wire_call(idle[1], "GET", "/healthz", "", NULL);
	ck_assert_int_eq(reply.status, 200);
	reply_free(&reply);
	reply = wire_call(idle[1], "GET", "/readyz", "", NULL);
	ck_assert_int_eq(reply.status, 503);
	reply_free(&reply);

	wire_send(arriving, X34, 11);
	reply = wire_read(arriving, false);
	ck_assert_int_eq(reply.status, 200);
	reply_free(&reply);
	reply = wire_read(running, false);
	ck_assert_int_eq(reply.status, 200);
	reply_free(&reply);
	double answered = seconds_now();
	ck_assert_int_eq(daemon_wait(&daemon), 0);
	ck_assert_msg(seconds_now() - answered < 10, "the idle clients held up the end");
	for (int i = 0; i < IDLE; i++)
		close(idle[i]);
	close(running);
	close(arriving);
	free(body);
}

START_TEST(test_stops_in_order)
{
	stop_with(SIGTERM);
	stop_with(SIGINT);
}
END_TEST

/* Asks over and over, on new and on kept connections; every answer is whole, until there are none. */
static void ask_on(int port)
{
	for (int fd = -1;;) {
		if (fd < 0 && (fd = wire_connect(port)) < 0)
			_exit(0);
		struct reply reply = wire_call(fd, "POST", "/rmsnorm", "", X34);
		if (reply.status != 200 && reply.status != 503 && reply.status != 0)
			_exit(1);
		bool again = reply.status == 200 && rand() % 4;
		reply_free(&reply);
		if (!again) {
			close(fd);
			fd = -1;
		}
	}
}

/* The same with requests that libmicrohttpd refuses before we see them. */
static void ask_badly(int port)
{
	for (int fd; (fd = wire_connect(port)) >= 0; close(fd)) {
		wire_print(fd, "POST /rmsnorm HTTP/1.1\r\nHost: h\r\nContent-Length: many\r\n\r\n");
		struct reply reply = wire_read(fd, false);
		if (reply.status != 400 && reply.status != 0)
			_exit(1);
		reply_free(&reply);
	}
	_exit(0);
}

START_TEST(test_stops_under_load)
{
	enum { CLIENTS = 8, ROUNDS = 20 };
	for (int round = 0; round < ROUNDS; round++) {
		struct daemon daemon;
		daemon_start(&daemon, FLAGS("--log=none"));
		pid_t children[CLIENTS];
		for (int c = 0; c < CLIENTS; c++) {
			children[c] = fork();
			ck_assert_int_ge(children[c], 0);
			if (children[c])
				continue;
			if (c % 2)
				ask_badly(daemon.port);
			ask_on(daemon.port);
		}
		usleep(20000 + 3000 * (unsigned)round);
		ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
		for (int c = 0; c < CLIENTS; c++) {
			int status;
			ck_assert_int_eq(waitpid(children[c], &status, 0), children[c]);
			ck_assert_int_eq(status, 0);
		}
	}
}
END_TEST

TEST_MAIN(test_large_requests_do_not_hold_up_quick_ones, test_short_requests_of_long_work_do_not_either,
          test_a_full_queue_is_told, test_too_many_connections_are_told,
          test_slow_clients_are_cut_off, test_a_client_may_close_its_side_and_await_the_answer, test_stops_in_order,
          test_stops_under_load)
