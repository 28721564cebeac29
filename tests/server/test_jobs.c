/* The bounded queue of large requests, and the store of exchanges. */
#include "server/exchange.h"
#include "server/jobs.h"
#include "tests/support/suite.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct counted {
	struct job job;
	struct jobs *jobs;
};

static atomic_int ran;

static void run(struct job *job)
{
	struct jobs *jobs = ((struct counted *)job)->jobs;
	ran++;
	jobs_release(jobs);
}

START_TEST(test_places_bound_what_is_admitted)
{
	enum { PLACES = 3, JOBS = 2000 };
	struct jobs *jobs = jobs_create(2, PLACES);
	ck_assert_ptr_nonnull(jobs);
	for (int i = 0; i < PLACES; i++)
		ck_assert(jobs_reserve(jobs));
	ck_assert(jobs_full(jobs));
	ck_assert(!jobs_reserve(jobs));
	jobs_release(jobs);
	ck_assert(!jobs_full(jobs));
	ck_assert(jobs_reserve(jobs));
	for (int i = 0; i < PLACES; i++)
		jobs_release(jobs);

	static struct counted counted[JOBS];
	ran = 0;
	for (int i = 0; i < JOBS; i++) {
		while (!jobs_reserve(jobs))
			sched_yield();
		counted[i] = (struct counted){{.run = run}, jobs};
		jobs_submit(jobs, &counted[i].job);
	}
	jobs_destroy(jobs); /* runs what waits */
	ck_assert_int_eq(ran, JOBS);
}
END_TEST

START_TEST(test_exchanges_are_reused_and_clean)
{
	struct exchanges *exchanges = exchanges_create(64 << 20, 16 << 20);
	ck_assert_ptr_nonnull(exchanges);
	struct exchange *first = exchanges_take(exchanges), *second = exchanges_take(exchanges);
	ck_assert_ptr_nonnull(first);
	ck_assert_ptr_nonnull(second);
	ck_assert_ptr_ne(first, second);
	strcpy(first->id, "id");
	first->close = first->place = true;
	char *memory = nc_arena_alloc(first->arena, 1000);
	ck_assert_ptr_nonnull(memory);
	exchanges_give(exchanges, second);
	exchanges_give(exchanges, first);
	struct exchange *again = exchanges_take(exchanges);
	ck_assert_ptr_eq(again, first); /* the latest first */
	ck_assert_str_eq(again->id, "");
	ck_assert(!again->close && !again->place);
	ck_assert_ptr_eq(nc_arena_alloc(again->arena, 1000), memory);
	exchanges_give(exchanges, again);
	exchanges_destroy(exchanges);
}
END_TEST

START_TEST(test_idle_exchanges_hold_no_more_than_told)
{
	enum { COUNT = 4 };
	const size_t keep = 16 << 20;
	struct exchanges *exchanges = exchanges_create(64 << 20, keep);
	struct exchange *taken[COUNT];
	for (int i = 0; i < COUNT; i++) {
		taken[i] = exchanges_take(exchanges);
		ck_assert_ptr_nonnull(nc_arena_alloc(taken[i]->arena, 12 << 20));
	}
	for (int i = 0; i < COUNT; i++)
		exchanges_give(exchanges, taken[i]);
	size_t held = 0, small = 0;
	for (int i = 0; i < COUNT; i++) {
		taken[i] = exchanges_take(exchanges);
		size_t touched = nc_arena_touched(taken[i]->arena);
		held += touched;
		small += touched <= 4 << 20;
	}
	ck_assert_uint_le(held, keep + COUNT * (2u << 20));
	ck_assert_uint_ge(small, 3); /* the first took 12 MiB of the 16, the next what was left */
	for (int i = 0; i < COUNT; i++)
		exchanges_give(exchanges, taken[i]);
	exchanges_destroy(exchanges);
}
END_TEST

TEST_MAIN(test_places_bound_what_is_admitted, test_exchanges_are_reused_and_clean, test_idle_exchanges_hold_no_more_than_told)
