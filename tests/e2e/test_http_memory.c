/* The daemon's memory: its peak for one large request, and that a second one of the same size touches no new page. */
#include "tests/support/daemon.h"
#include "tests/support/sanitized.h"
#include "tests/support/suite.h"
#include "tests/support/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A float32 matrix of about `bytes` of text, nine digits a number; the caller frees it. */
static char *large_body(size_t bytes)
{
	char *text = malloc(bytes + 200), *end = text;
	unsigned state = 1;
	end += sprintf(end, "{\"dtype\":\"float32\",\"x\":[");
	for (unsigned r = 0; (size_t)(end - text) + 4096 * 12 < bytes; r++) {
		*end++ = r ? ',' : ' ';
		for (unsigned f = 0; f < 4096; f++) {
			state = state * 1664525u + 1013904223u;
			*end++ = f ? ',' : '[';
			memcpy(end, "0.00000000", 10);
			for (unsigned d = 9, n = state >> 4; d > 1; d--, n /= 10)
				end[d] = (char)('0' + n % 10);
			end += 10;
		}
		*end++ = ']';
	}
	strcpy(end, "]}");
	return text;
}

/* The number behind `name` in /proc/PID/status, in bytes. */
static size_t status_of(const struct daemon *daemon, const char *name)
{
	char path[64], line[256];
	size_t kilobytes = 0;
	snprintf(path, sizeof path, "/proc/%d/status", (int)daemon->pid);
	FILE *file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof line, file)) {
		if (strncmp(line, name, strlen(name)) == 0)
			sscanf(line + strlen(name), ": %zu", &kilobytes);
	}
	fclose(file);
	return kilobytes << 10;
}

/* Pages that the process has had to be given so far. */
static size_t faults_of(const struct daemon *daemon)
{
	char path[64];
	size_t faults = 0;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)daemon->pid);
	FILE *file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %zu", &faults), 1);
	fclose(file);
	return faults;
}

static void post(int fd, const char *body)
{
	struct reply reply = wire_call(fd, "POST", "/rmsnorm", "", body);
	ck_assert_msg(reply.status == 200, "%d: %.300s", reply.status, reply.body);
	reply_free(&reply);
}

START_TEST(test_peak_of_a_large_request)
{
	struct daemon daemon;
	char *body = large_body(32u << 20);
	daemon_start(&daemon, NULL);
	int fd = wire_connect(daemon.port);
	post(fd, "{\"x\":[3,4]}");
	size_t before = status_of(&daemon, "VmHWM");
	post(fd, body);
	size_t peak = status_of(&daemon, "VmHWM") - before;
	printf("a body of %zu bytes: a peak of %zu, %.2f times as much\n", strlen(body), peak, (double)peak / (double)strlen(body));
	ck_assert(SANITIZED || peak < 4 * strlen(body));
	close(fd);
	free(body);
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
}
END_TEST

START_TEST(test_the_second_request_touches_no_new_page)
{
	enum { REQUESTS = 12 };
	struct daemon daemon;
	char *body = large_body(4u << 20);
	daemon_start(&daemon, NULL);
	int fd = wire_connect(daemon.port);
	for (int i = 0; i < 4; i++)
		post(fd, body);
	size_t before = faults_of(&daemon);
	for (int i = 0; i < REQUESTS; i++)
		post(fd, body);
	size_t faults = faults_of(&daemon) - before;
	printf("%d requests of %zu bytes: %zu page faults\n", REQUESTS, strlen(body), faults);
	/* anew each time it would be a thousand pages for the body alone, or some ten huge ones for a request */
	ck_assert(SANITIZED || faults < 4 * REQUESTS);
	/* with nothing kept it is, which shows that the figure can tell */
	close(fd);
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
	daemon_start(&daemon, (const char *const[]){"--keep-memory=0", NULL});
	fd = wire_connect(daemon.port);
	for (int i = 0; i < 4; i++)
		post(fd, body);
	before = faults_of(&daemon);
	for (int i = 0; i < REQUESTS; i++)
		post(fd, body);
	faults = faults_of(&daemon) - before;
	printf("with --keep-memory=0: %zu\n", faults);
	ck_assert_uint_ge(faults, 4 * REQUESTS);
	close(fd);
	free(body);
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
}
END_TEST

TEST_MAIN(test_peak_of_a_large_request, test_the_second_request_touches_no_new_page)
