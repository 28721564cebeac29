/*
 * Once warm, a request takes nothing from the heap and touches no page that was not touched before; and an answer does not
 * depend on the number of threads.
 */
#include "tests/support/api_client.h"
#include "tests/support/sanitized.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#if !SANITIZED
/* Every allocation of the program comes by here, whatever library asks for it. */
static atomic_size_t allocations;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
	allocations++;
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	allocations++;
	return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	allocations++;
	return __libc_realloc(old, size);
}
#endif

static const char *const paths[] = {"/rmsnorm", "/layernorm", "/rmsnorm", "/residual"};
static const char *const fields[] = {
	"\"dtype\":\"float32\"",
	"\"gain\":2,\"nonfinite\":\"string\"",
	"\"dtype\":\"bfloat16\",\"format\":\"base64\",\"normalized\":true",
	"\"skip_scale\":0.5,\"dtype\":\"float32\",\"format\":\"flat\"",
};
enum { KINDS = sizeof paths / sizeof *paths };

/* A request of rows × features numbers; the caller frees it. */
static char *request_text(int kind, size_t rows, size_t features)
{
	static const char *const names[] = {"x", "update"};
	char *text = malloc(2 * rows * (features * 16 + 3) + 256), *at = text + sprintf(text, "{%s", fields[kind]);
	for (int tensor = 0; tensor < 1 + (strcmp(paths[kind], "/residual") == 0); tensor++) {
		at += sprintf(at, ",\"%s\":", names[tensor]);
		for (size_t i = 0; i < rows * features; i++) {
			at = stpcpy(at, i == 0 ? "[[" : i % features ? "," : "],[");
			at += sprintf(at, "%.9g", sin((double)i * (tensor + 1) + 0.5));
		}
		at = stpcpy(at, "]]");
	}
	stpcpy(at, "}");
	return text;
}

START_TEST(nothing_from_the_heap_and_no_new_page)
{
#if !SANITIZED
	static const size_t rows[] = {1, 1, 64, 256};
	static const size_t features[] = {4, 4096, 1024, 512};
	enum { WARM = 12, TURNS = 20, FEW = TURNS / 2 }; /* less than a page a turn: what the system does beside us */
	struct nc_pool *pool = nc_pool_create(2);
	struct client *client = client_open_with(&client_limits, pool);

	for (size_t size = 0; size < sizeof rows / sizeof *rows; size++) {
		for (int kind = 0; kind < KINDS; kind++) {
			char *text = request_text(kind, rows[size], features[size]);
			struct api_request request = {.method = "POST", .path = paths[kind], .request_id = "id", .body = text,
			                              .body_len = strlen(text), .arena = client->arena};
			struct api_answer answer;
			struct rusage before, after;
			size_t allocated = 0;
			int failed = 0;
			for (int turn = 0; turn < WARM + TURNS; turn++) {
				if (turn == WARM) {
					getrusage(RUSAGE_SELF, &before);
					allocated = allocations;
				}
				nc_arena_reset(client->arena, (size_t)1 << 30);
				failed += !api_admit(client->api, &request, &answer) || api_may_be_long(client->api, &request);
				api_call(client->api, &request, &answer);
				failed += answer.status != 200;
			}
			allocated = allocations - allocated;
			getrusage(RUSAGE_SELF, &after);
			ck_assert_int_eq(failed, 0); /* not within the loop: Check's own assertions allocate */
			ck_assert_uint_eq(allocated, 0);
			/* A thread that had no share so far may touch its own stack. */
			ck_assert_int_le(after.ru_minflt - before.ru_minflt, FEW);
			free(text);
		}
	}
	client_close(client);
	nc_pool_destroy(pool);
#endif
}
END_TEST

START_TEST(same_bytes_for_every_number_of_threads)
{
	static const size_t rows[] = {1, 50, 10000};
	static const size_t features[] = {4096, 777, 3};

	for (int kind = 0; kind < KINDS; kind++) {
		for (size_t size = 0; size < sizeof rows / sizeof *rows; size++) {
			char *text = request_text(kind, rows[size], features[size]), *want = NULL;
			size_t want_len = 0;
			for (unsigned threads = 1; threads <= 8; threads += threads < 2 ? 1 : 6) {
				struct nc_pool *pool = nc_pool_create(threads);
				struct client *client = client_open_with(&client_limits, pool);
				ck_assert_int_eq(client_post(client, paths[kind], text), 200);
				if (!want) {
					want_len = client->answer.body_len;
					want = malloc(want_len);
					memcpy(want, client->answer.body, want_len);
				}
				ck_assert_uint_eq(client->answer.body_len, want_len);
				ck_assert_mem_eq(client->answer.body, want, want_len);
				client_close(client);
				nc_pool_destroy(pool);
			}
			free(text);
			free(want);
		}
	}
}
END_TEST

/* The same element is named by every number of threads, whatever is wrong with it. */
START_TEST(same_errors_for_every_number_of_threads)
{
	enum { ROWS = 200, FEATURES = 400 };
	static const char *const wrong[] = {"1e60", "null", "\"NaN\"", "[1]", "NaN", "1.", "01", "]", "1,2"};
	char *good = request_text(0, ROWS, FEATURES), *text = malloc(strlen(good) + 64);

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		for (int place = 0; place < 3; place++) {
			const char *comma = good + strlen(good) * (size_t)(2 * place + 1) / 6;
			comma = strchr(comma, ',');
			const char *next = comma + 1 + strspn(comma + 1, "-.e0123456789");
			sprintf(text, "%.*s%s%s", (int)(comma + 1 - good), good, wrong[i], next);
			char *want = NULL;
			size_t want_len = 0;
			for (unsigned threads = 1; threads <= 8; threads += 7) {
				struct nc_pool *pool = nc_pool_create(threads);
				struct client *client = client_open_with(&client_limits, pool);
				ck_assert_int_ge(client_post(client, "/rmsnorm", text), 400);
				if (!want) {
					want_len = client->answer.body_len;
					want = malloc(want_len);
					memcpy(want, client->answer.body, want_len);
				}
				ck_assert_uint_eq(client->answer.body_len, want_len);
				ck_assert_mem_eq(client->answer.body, want, want_len);
				client_close(client);
				nc_pool_destroy(pool);
			}
			free(want);
		}
	}
	free(good);
	free(text);
}
END_TEST

TEST_MAIN(nothing_from_the_heap_and_no_new_page, same_bytes_for_every_number_of_threads, same_errors_for_every_number_of_threads)
