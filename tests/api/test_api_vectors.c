/* The golden cases, without a socket. */
#include "tests/support/api_client.h"
#include "tests/support/suite.h"
#include "tests/support/vectors.h"

#include <string.h>

static int post(void *context, const char *path, const char *request, json_t **answer)
{
	struct client *client = context;
	int status = client_post(client, path, request);
	*answer = json_incref(client->json);
	return status;
}

/* Cases of endpoints that have their own test. */
static bool is_no_block(const json_t *one)
{
	return strcmp(json_string_value(json_object_get(one, "endpoint")), "/block/grad") != 0;
}

static void run(const char *file, int least)
{
	struct client *client = client_open();
	int failed, ran = vectors_run(file, is_no_block, post, client, &failed);
	ck_assert_int_ge(ran, least);
	ck_assert_int_eq(failed, 0);
	client_close(client);
}

START_TEST(lessons)
{
	run("tests/vectors/lessons.json", 8);
}
END_TEST

START_TEST(norms)
{
	run("tests/vectors/norms.json", 84);
}
END_TEST

START_TEST(residuals)
{
	run("tests/vectors/residuals.json", 6);
}
END_TEST

/* The comparison itself can fail. */
START_TEST(comparison_tells)
{
	json_t *a = json_loads("[[1,2],[3,4]]", JSON_DECODE_INT_AS_REAL, NULL), *b = json_loads("[[1,2],[3,4.0000001]]", JSON_DECODE_INT_AS_REAL, NULL);
	json_t *c = json_loads("[1,2,3,4]", JSON_DECODE_INT_AS_REAL, NULL), *null = json_null();
	ck_assert_ptr_null(vectors_compare(a, a, 0, 0, false));
	ck_assert_ptr_nonnull(vectors_compare(a, b, 1e-9, 0, false));
	ck_assert_ptr_null(vectors_compare(a, b, 1e-7, 0, false));
	ck_assert_ptr_nonnull(vectors_compare(a, c, 1, 0, false));
	ck_assert_ptr_nonnull(vectors_compare(NULL, c, 1, 0, false));
	ck_assert_ptr_nonnull(vectors_compare(a, null, 1, 0, false));
	ck_assert_ptr_null(vectors_compare(null, null, 0, 0, false));
	json_decref(a);
	json_decref(b);
	json_decref(c);
}
END_TEST

TEST_MAIN(lessons, norms, residuals, comparison_tells)
