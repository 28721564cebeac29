/* The warm daemon touches no new page: what one request leaves, the next one uses. */
#include "tests/support/daemon.h"
#include "tests/support/sanitized.h"
#include "tests/support/suite.h"
#include "tests/support/wire.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *matrix(size_t rows, size_t features)
{
	char *text = malloc(rows * (features * 16 + 3) + 64), *at = stpcpy(text, "{\"dtype\":\"float32\",\"x\":");
	for (size_t i = 0; i < rows * features; i++) {
		at = stpcpy(at, i == 0 ? "[[" : i % features ? "," : "],[");
		at += sprintf(at, "%.9g", sin((double)i + 0.5));
	}
	stpcpy(at, "]]}");
	return text;
}

/* Page faults of the process so far that needed no disk. */
static long faults_of(const struct daemon *daemon)
{
	char path[64], text[1024] = "";
	long faults = -1;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)daemon->pid);
	FILE *file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	ck_assert_ptr_nonnull(fgets(text, sizeof text, file));
	fclose(file);
	ck_assert_int_eq(sscanf(strrchr(text, ')'), ") %*c %*d %*d %*d %*d %*d %*u %ld", &faults), 1);
	return faults;
}

static void ask(int fd, const char *body)
{
	struct reply reply = wire_call(fd, "POST", "/rmsnorm", "", body);
	ck_assert_int_eq(reply.status, 200);
	reply_free(&reply);
}

START_TEST(test_no_new_page)
{
	enum { ROUNDS = 5 };
	/* turns: warm ones, and those of a counted round */
	static const struct {
		size_t rows, features;
		int warm, turns;
	} sizes[] = {{1, 4, 200, 1000}, {1, 4096, 50, 200}, {64, 2048, 40, 40}};
	struct daemon daemon;
	daemon_start(&daemon, (const char *const[]){"--threads=2", "--poll-threads=2", "--log=none", NULL});
	int fds[] = {wire_connect(daemon.port), wire_connect(daemon.port)};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		char *body = matrix(sizes[i].rows, sizes[i].features);
		for (int turn = 0; turn < sizes[i].warm; turn++)
			ask(fds[turn % 2], body);
		/* a thread that had no share so far, or a request that found the others' arenas in use, may touch its first pages late */
		long faults = sizes[i].turns;
		for (int round = 0; round < ROUNDS && faults >= sizes[i].turns / 4; round++) {
			long before = faults_of(&daemon);
			for (int turn = 0; turn < sizes[i].turns; turn++)
				ask(fds[turn % 2], body);
			faults = faults_of(&daemon) - before;
		}
		ck_assert_msg(SANITIZED || faults < sizes[i].turns / 4, "%zux%zu: %ld page faults in %d requests", sizes[i].rows, sizes[i].features,
		              faults, sizes[i].turns);
		free(body);
	}
	close(fds[0]);
	close(fds[1]);
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
}
END_TEST

TEST_MAIN(test_no_new_page)
