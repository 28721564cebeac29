/* The text of a tensor beside a plain recursion over its axes, for every form, by one thread and by many. */
#include "api/tensor_text.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const unsigned threads[] = {1, 2, 8};
enum { POOLS = sizeof threads / sizeof *threads };

static uint64_t state = 0x2545f4914f6cdd1d;

static uint64_t next(void)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return state * 0x9e3779b97f4a7c15;
}

static size_t below(size_t n)
{
	return (size_t)(next() >> 32) % n;
}

/* --- the reference --------------------------------------------------------------------------------------------------- */

static char *plain_line(const struct tensor_text *text, char *at, unsigned brackets)
{
	if (!text->pretty)
		return at;
	*at++ = '\n';
	for (unsigned i = 0; i < 2 * (text->depth + brackets); i++)
		*at++ = ' ';
	return at;
}

static char *plain_number(const struct tensor_text *text, char *at, double value)
{
	if (isfinite(value))
		return text->tensor->dtype == NC_FLOAT64 ? json_write_float64(at, value) : json_write_float32(at, (float)value);
	if (text->mode == JSON_NONFINITE_NULL)
		return stpcpy(at, "null");
	return stpcpy(at, isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
}

static char *plain(const struct tensor_text *text, char *at, unsigned axis, size_t *element)
{
	const struct nc_tensor *t = text->tensor;
	if (axis == t->rank)
		return plain_number(text, at, nc_tensor_get(t, (*element)++));
	bool lists = axis + 1 < t->rank;
	*at++ = '[';
	for (size_t i = 0; i < t->shape[axis]; i++) {
		if (i)
			*at++ = ',';
		if (lists)
			at = plain_line(text, at, axis + 1);
		at = plain(text, at, axis + 1, element);
	}
	if (lists && t->shape[axis])
		at = plain_line(text, at, axis);
	*at++ = ']';
	return at;
}

/* --- comparisons ----------------------------------------------------------------------------------------------------- */

static struct nc_pool *pools[POOLS];
static struct nc_arena *arena;

/* In each test, which is a process of its own. */
static void set_up(void)
{
	arena = nc_arena_create((size_t)64 << 20);
	for (size_t i = 0; i < POOLS; i++)
		pools[i] = nc_pool_create(threads[i]);
}

static void tear_down(void)
{
	nc_arena_destroy(arena);
	for (size_t i = 0; i < POOLS; i++)
		nc_pool_destroy(pools[i]);
}

static void fill(struct nc_tensor *t)
{
	t->count = 1;
	for (unsigned i = 0; i < t->rank; i++)
		t->count *= t->shape[i];
	t->data = malloc(8 * t->count + 1);
	for (size_t i = 0; i < t->count; i++) {
		union {
			uint32_t bits;
			float value;
		} any = {.bits = (uint32_t)next()};
		nc_tensor_set(t, i, below(8) ? (double)(float)((double)below(1 << 24) * 0x1p-20 - 8) : isfinite(any.value) ? (double)any.value : 0.5);
	}
}

/* bad: what is to be found first, or the count. */
static void expect_text(const struct tensor_text *text, size_t bad)
{
	size_t room = tensor_text_room(text), element = 0, found;
	char *want = malloc(room + 4096), *got = malloc(room);
	size_t length = (size_t)(plain(text, want, 0, &element) - want);

	ck_assert_uint_le(length + 64, room);
	for (size_t i = 0; i < POOLS; i++) {
		size_t mark = nc_arena_mark(arena);
		memset(got, 0, room);
		size_t written = (size_t)(tensor_text_write(text, pools[i], arena, got, &found) - got);
		ck_assert_uint_eq(nc_arena_mark(arena), mark);
		ck_assert_uint_eq(found, bad);
		if (bad < text->tensor->count)
			continue;
		ck_assert_uint_eq(written, length);
		ck_assert_mem_eq(got, want, length);
	}
	free(want);
	free(got);
}

START_TEST(every_shape)
{
	static const size_t sizes[] = {1, 2, 3, 5, 17, 64, 1000, 4096, 30000};
	set_up();
	for (int turn = 0; turn < 250; turn++) {
		struct nc_tensor t = {.dtype = below(2) ? NC_FLOAT64 : NC_FLOAT32, .rank = (unsigned)below(6)};
		struct tensor_text text = {.tensor = &t, .pretty = below(2), .depth = (unsigned)below(4)};
		size_t left = turn % 5 ? 3000 : 120000;
		for (unsigned i = 0; i < t.rank; i++) {
			t.shape[i] = sizes[below(9)] < left ? sizes[below(9)] : left;
			if (t.shape[i] > left)
				t.shape[i] = left;
			left /= t.shape[i];
			if (below(40) == 0)
				t.shape[i] = 0;
		}
		fill(&t);
		expect_text(&text, t.count);
		free(t.data);
	}
	struct nc_tensor deep = {.rank = NC_MAX_RANK, .shape = {1, 2, 1, 3, 1, 1, 20, 1, 1, 300, 1, 1}};
	fill(&deep);
	expect_text(&(struct tensor_text){.tensor = &deep, .pretty = true, .depth = 4}, deep.count);
	free(deep.data);
	tear_down();
}
END_TEST

/* The first element that is not finite is found wherever spans meet, and written where it may be. */
START_TEST(nonfinite)
{
	struct nc_tensor t = {.dtype = NC_FLOAT32, .rank = 2, .shape = {50, 4000}};
	set_up();
	fill(&t);
	for (int turn = 0; turn < 40; turn++) {
		size_t places[] = {below(t.count), below(t.count), below(3000) + below(2) * (t.count - 3000)}, first = t.count;
		for (size_t i = 0; i < 3; i++) {
			nc_tensor_set(&t, places[i], i ? -INFINITY : (double)NAN);
			first = places[i] < first ? places[i] : first;
		}
		expect_text(&(struct tensor_text){.tensor = &t, .mode = JSON_NONFINITE_STOP}, first);
		expect_text(&(struct tensor_text){.tensor = &t, .mode = JSON_NONFINITE_STRING}, t.count);
		expect_text(&(struct tensor_text){.tensor = &t, .mode = JSON_NONFINITE_NULL}, t.count);
		for (size_t i = 0; i < 3; i++)
			nc_tensor_set(&t, places[i], 1);
	}
	free(t.data);
	tear_down();
}
END_TEST

TEST_MAIN(every_shape, nonfinite)
