/* The pool: every chunk once, several callers at once, inline when there is nothing to share. */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/pool.h"
#include "tests/support/suite.h"

enum { CHUNKS = 1000, CALLERS = 6, ROUNDS = 300 };

struct tally {
	atomic_uint seen[CHUNKS];
};

static void count(void *context, size_t chunk)
{
	struct tally *tally = context;
	atomic_fetch_add(&tally->seen[chunk], 1);
}

START_TEST(every_chunk_runs_once)
{
	for (unsigned threads = 1; threads <= 8; threads++) {
		struct nc_pool *pool = nc_pool_create(threads);
		ck_assert_uint_eq(nc_pool_threads(pool), threads);
		for (size_t chunks = 0; chunks <= CHUNKS; chunks += chunks / 3 + 1) {
			struct tally *tally = calloc(1, sizeof *tally);
			nc_pool_run(pool, count, tally, chunks);
			for (size_t i = 0; i < CHUNKS; i++)
				ck_assert_uint_eq(tally->seen[i], i < chunks);
			free(tally);
		}
		nc_pool_destroy(pool);
	}
	struct tally *tally = calloc(1, sizeof *tally);
	nc_pool_run(NULL, count, tally, 3);
	ck_assert_uint_eq(tally->seen[2], 1);
	ck_assert_uint_eq(nc_pool_threads(NULL), 1);
	free(tally);
}
END_TEST

static void *call(void *argument)
{
	struct nc_pool *pool = argument;
	long missed = 0;
	for (int round = 0; round < ROUNDS; round++) {
		struct tally tally = {0};
		size_t chunks = 1 + (size_t)round % 17;
		nc_pool_run(pool, count, &tally, chunks);
		for (size_t i = 0; i < chunks; i++)
			missed += tally.seen[i] != 1;
	}
	return (void *)missed;
}

START_TEST(several_callers_at_once)
{
	for (unsigned threads = 2; threads <= 4; threads++) {
		struct nc_pool *pool = nc_pool_create(threads);
		pthread_t callers[CALLERS];
		for (int i = 0; i < CALLERS; i++)
			ck_assert_int_eq(pthread_create(&callers[i], NULL, call, pool), 0);
		for (int i = 0; i < CALLERS; i++) {
			void *missed;
			pthread_join(callers[i], &missed);
			ck_assert_ptr_null(missed);
		}
		nc_pool_destroy(pool);
	}
}
END_TEST

static pthread_t last_thread;

static void remember_thread(void *context, size_t chunk)
{
	(void)context, (void)chunk;
	last_thread = pthread_self();
}

START_TEST(one_chunk_stays_on_its_caller)
{
	struct nc_pool *pool = nc_pool_create(4);
	for (int i = 0; i < 100; i++) {
		nc_pool_run(pool, remember_thread, NULL, 1);
		ck_assert(pthread_equal(last_thread, pthread_self()));
	}
	nc_pool_destroy(pool);
}
END_TEST

TEST_MAIN(every_chunk_runs_once, several_callers_at_once, one_chunk_stays_on_its_caller)
