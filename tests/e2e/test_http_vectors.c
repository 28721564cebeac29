/* The golden cases over HTTP, against the real daemon, all on one connection. */
#include "tests/support/daemon.h"
#include "tests/support/suite.h"
#include "tests/support/vectors.h"
#include "tests/support/wire.h"

#include <string.h>
#include <unistd.h>

static bool has_blocks;

static int post(void *context, const char *path, const char *request, json_t **answer)
{
	struct reply reply = wire_call(*(int *)context, "POST", path, "", request);
	int status = reply.status;
	*answer = json_loadb(reply.body ? reply.body : "", reply.body_len, JSON_DECODE_INT_AS_REAL | JSON_REJECT_DUPLICATES, NULL);
	reply_free(&reply);
	return status;
}

static bool is_served(const json_t *one)
{
	return has_blocks || strcmp(json_string_value(json_object_get(one, "endpoint")), "/block/grad") != 0;
}

static void run(const char *file, int least)
{
	struct daemon daemon;
	daemon_start(&daemon, NULL);
	int fd = wire_connect(daemon.port), failed;
	struct reply reply = wire_call(fd, "OPTIONS", "/block/grad", "", NULL);
	has_blocks = reply.status < 300;
	reply_free(&reply);
	int ran = vectors_run(file, is_served, post, &fd, &failed);
	ck_assert_int_ge(ran, least);
	ck_assert_int_eq(failed, 0);
	close(fd);
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
}

START_TEST(test_lessons)
{
	run("tests/vectors/lessons.json", 8);
}
END_TEST

START_TEST(test_norms)
{
	run("tests/vectors/norms.json", 84);
}
END_TEST

START_TEST(test_residuals)
{
	run("tests/vectors/residuals.json", 6);
}
END_TEST

TEST_MAIN(test_lessons, test_norms, test_residuals)
