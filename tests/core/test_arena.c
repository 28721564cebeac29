/* The arena: alignment, limits, trimming, rewinding, and pages that are kept. */
#include <check.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/arena.h"
#include "tests/support/suite.h"

static long page_faults(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

START_TEST(blocks_are_aligned_and_apart)
{
	struct nc_arena *arena = nc_arena_create(1 << 20);
	char *before = NULL;
	for (size_t bytes = 0; bytes < 300; bytes++) {
		char *block = nc_arena_alloc(arena, bytes);
		ck_assert_uint_eq((uintptr_t)block % NC_ALIGN, 0);
		ck_assert(before == NULL || block >= before + (bytes ? bytes - 1 : 0));
		memset(block, 1, bytes);
		before = block;
	}
	nc_arena_destroy(arena);
}
END_TEST

START_TEST(capacity_is_a_limit)
{
	struct nc_arena *arena = nc_arena_create(4 << 20);
	size_t left = nc_arena_left(arena);
	ck_assert_uint_ge(left, (4 << 20) - 2 * NC_ALIGN);
	ck_assert_ptr_null(nc_arena_alloc(arena, (4 << 20) + 1));
	ck_assert_ptr_null(nc_arena_alloc(arena, SIZE_MAX));
	ck_assert_ptr_null(nc_arena_array(arena, SIZE_MAX / 2, 4));
	ck_assert_ptr_null(nc_arena_zero(arena, SIZE_MAX / 2, 4));
	ck_assert_ptr_nonnull(nc_arena_alloc(arena, left / NC_ALIGN * NC_ALIGN));
	ck_assert_ptr_null(nc_arena_alloc(arena, NC_ALIGN));
	ck_assert_ptr_null(nc_arena_create(SIZE_MAX));
	nc_arena_destroy(arena);
}
END_TEST

START_TEST(trim_and_rewind_give_back)
{
	struct nc_arena *arena = nc_arena_create(4 << 20);
	size_t mark = nc_arena_mark(arena);
	char *first = nc_arena_alloc(arena, 1 << 20);
	nc_arena_trim(arena, first, 100);
	char *second = nc_arena_alloc(arena, 10);
	ck_assert_int_lt(second - first, 1000);
	nc_arena_trim(arena, first, 10); /* no longer the latest: no effect */
	ck_assert((char *)nc_arena_alloc(arena, 1) > second);
	nc_arena_rewind(arena, mark);
	ck_assert_ptr_eq(nc_arena_alloc(arena, 1), first);
	nc_arena_destroy(arena);
}
END_TEST

START_TEST(zeroed_even_when_reused)
{
	struct nc_arena *arena = nc_arena_create(4 << 20);
	memset(nc_arena_alloc(arena, 4096), 7, 4096);
	nc_arena_reset(arena, 1 << 20);
	const char *block = nc_arena_zero(arena, 512, 8);
	for (int i = 0; i < 4096; i++)
		ck_assert_int_eq(block[i], 0);
	nc_arena_destroy(arena);
}
END_TEST

START_TEST(a_second_request_touches_no_new_page)
{
	enum { BYTES = 32 << 20 };
	struct nc_arena *arena = nc_arena_create(1 << 30);
	memset(nc_arena_alloc(arena, BYTES), 1, BYTES);
	nc_arena_reset(arena, 64 << 20);
	long before = page_faults();
	memset(nc_arena_alloc(arena, BYTES), 2, BYTES);
	ck_assert_int_le(page_faults() - before, 2);

	nc_arena_reset(arena, 0); /* and with nothing kept it does: the count can fail */
	before = page_faults();
	memset(nc_arena_alloc(arena, BYTES), 3, BYTES);
	ck_assert_int_gt(page_faults() - before, 2);
	nc_arena_destroy(arena);
}
END_TEST

/* A request that has only begun must not hold a huge page: a thousand of them would be 2 GiB. */
START_TEST(a_small_request_takes_small_pages)
{
	enum { WINDOW = 2 << 20 };
	struct nc_arena *arena = nc_arena_create(64 << 20);
	unsigned char *block = nc_arena_alloc(arena, 100), resident[WINDOW / 4096];
	size_t page = (size_t)sysconf(_SC_PAGESIZE), count = 0;

	ck_assert_uint_ge(page, 4096);
	block[0] = 1;
	ck_assert_int_eq(mincore((void *)((uintptr_t)block / page * page), WINDOW, resident), 0);
	for (size_t i = 0; i < WINDOW / page; i++)
		count += resident[i] & 1;
	ck_assert_uint_ge(count, 1);
	ck_assert_uint_le(count, 16);
	nc_arena_destroy(arena);
}
END_TEST

TEST_MAIN(blocks_are_aligned_and_apart, capacity_is_a_limit, trim_and_rewind_give_back, zeroed_even_when_reused,
          a_second_request_touches_no_new_page, a_small_request_takes_small_pages)
