/*
 * An array read by many threads is what one thread reads: the same tensors, the same faults at the same elements, the same
 * errors at the same bytes, whatever the text, the cuts and the number of threads.
 */
#include "api/call.h"
#include "api/json/json_lift.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POOLS = 3, ROOM = 4 << 20 };

static uint64_t state = 0x9e3779b97f4a7c15;

static uint64_t next(void)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return state * 0x2545f4914f6cdd1d;
}

static size_t below(size_t n)
{
	return (size_t)(next() >> 32) % n;
}

struct lifting {
	struct api api;
	struct api_request request;
	struct nc_arena *arena;
	struct call call;
	bool done;
};

/* None, two and eight threads, each with memory of its own. */
static struct lifting liftings[POOLS];

/* In each test, which is a process of its own. */
static void set_up(void)
{
	static const unsigned threads[POOLS] = {1, 2, 8};
	for (int i = 0; i < POOLS; i++) {
		liftings[i].arena = nc_arena_create((size_t)1 << 30);
		liftings[i].api.pool = nc_pool_create(threads[i]);
		ck_assert(liftings[i].arena && liftings[i].api.pool);
	}
}

static void tear_down(void)
{
	for (int i = 0; i < POOLS; i++) {
		nc_arena_destroy(liftings[i].arena);
		nc_pool_destroy(liftings[i].api.pool);
	}
}

static void lift(struct lifting *l, const char *text, size_t len, size_t most)
{
	nc_arena_reset(l->arena, (size_t)64 << 20);
	l->request = (struct api_request){.body = text, .body_len = len, .request_id = "", .arena = l->arena};
	l->call = (struct call){.api = &l->api, .request = &l->request, .arena = l->arena};
	l->call.lift.options = lift_peek(text, len);
	l->call.lift.options.max_elements = most;
	l->call.strings = l->call.lift.options.strings;
	l->done = lift_body(&l->call);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void expect_same_value(const struct lifted *a, const struct lifted *b)
{
	ck_assert_int_eq(a->fault, b->fault);
	ck_assert_ptr_eq(a->text, b->text);
	ck_assert_uint_eq(a->tensor.rank, b->tensor.rank);
	if (a->fault) {
		ck_assert_uint_eq(a->depth, b->depth);
		ck_assert_mem_eq(a->at, b->at, a->depth * sizeof *a->at);
		ck_assert_ptr_eq(a->place, b->place);
		if (a->fault == LIFT_RAGGED) {
			ck_assert_uint_eq(a->expected, b->expected);
			ck_assert_uint_eq(a->got, b->got);
		}
	} else if (a->tensor.rank) {
		ck_assert_int_eq(a->tensor.dtype, b->tensor.dtype);
		ck_assert_uint_eq(a->tensor.count, b->tensor.count);
		ck_assert_mem_eq(a->tensor.shape, b->tensor.shape, a->tensor.rank * sizeof *a->tensor.shape);
		ck_assert_mem_eq(a->tensor.data, b->tensor.data, a->tensor.count * nc_dtype_storage_bytes(a->tensor.dtype));
	} else {
		ck_assert(a->number == b->number);
	}
}

/* Lifts the text with each pool and compares. Returns what one thread found: 0 well, 1 a fault, 2 malformed. */
static int expect_same(const char *text, size_t len, size_t most)
{
	const struct lifting *one = &liftings[0];
	int found = 0;

	for (int i = 0; i < POOLS; i++) {
		lift(&liftings[i], text, len, most);
		const struct lifting *many = &liftings[i];
		ck_assert_msg(many->done == one->done, "%s / %s, %zu %zu", many->call.problem.detail, one->call.problem.detail, many->call.problem.offset, len);
		ck_assert_int_eq(many->call.problem.kind, one->call.problem.kind);
		ck_assert_uint_eq(many->call.problem.offset, one->call.problem.offset);
		ck_assert(same_text(many->call.problem.detail, one->call.problem.detail));
		if (!one->done)
			continue;
		ck_assert_uint_eq(many->call.lift.envelope_len, one->call.lift.envelope_len);
		ck_assert_mem_eq(many->call.lift.envelope, one->call.lift.envelope, one->call.lift.envelope_len);
		ck_assert_uint_eq(many->call.lift.count, one->call.lift.count);
		ck_assert_uint_eq(many->call.lift.elements, one->call.lift.elements);
		for (size_t k = 0; k < one->call.lift.count; k++) {
			expect_same_value(&many->call.lift.values[k], &one->call.lift.values[k]);
			found |= one->call.lift.values[k].fault != LIFT_FINE;
		}
	}
	return one->done ? found : 2;
}

/* --- texts ----------------------------------------------------------------------------------------------------------- */

struct style {
	int spaces;      /* 0 none, 1 behind commas, 2 anywhere */
	int numbers;     /* 0 float32, 1 float64, 2 small integers */
	bool strings;    /* some are "NaN" and the like */
};

static char *put_space(char *at, const struct style *style, bool behind_comma)
{
	if (style->spaces == 1 && behind_comma)
		*at++ = ' ';
	while (style->spaces == 2 && below(8) == 0)
		*at++ = " \n\t\r"[below(4)];
	return at;
}

static char *put_number(char *at, const struct style *style)
{
	static const char *const words[] = {"\"NaN\"", "\"Infinity\"", "\"-Infinity\""};
	double value = ((double)(int64_t)next()) * 0x1p-62;
	if (style->strings && below(50) == 0)
		return stpcpy(at, words[below(3)]);
	return at + (style->numbers == 2 ? sprintf(at, "%d", (int)below(20) - 10)
	                                 : sprintf(at, style->numbers ? "%.17g" : "%.9g", value));
}

static char *put_array(char *at, const struct style *style, const size_t *shape, unsigned rank)
{
	*at++ = '[';
	for (size_t i = 0; i < *shape; i++) {
		if (i) {
			*at++ = ',';
			at = put_space(at, style, true);
		}
		at = put_space(at, style, false);
		at = rank > 1 ? put_array(at, style, shape + 1, rank - 1) : put_number(at, style);
		at = put_space(at, style, false);
	}
	*at++ = ']';
	return at;
}

static struct style any_style(void)
{
	return (struct style){.spaces = below(4) ? 0 : (int)below(3), .numbers = (int)below(3), .strings = below(4) == 0};
}

/* A request of one or two arrays, together of some hundred thousand bytes; *most is how many numbers it has. */
static size_t make_text(char *text, size_t *most)
{
	static const size_t inner[] = {1, 2, 3, 4, 7, 64, 1000, 4096, 20000};
	char *at = text + sprintf(text, below(2) ? "{\"dtype\":\"float32\",\"x\":" : "{\"x\":");
	struct style style = any_style();

	*most = 0;
	for (size_t arrays = 1 + below(2); arrays--;) {
		unsigned rank = 1 + (unsigned)below(4);
		size_t shape[4], total = 5000 + below(40000), count = 1;
		for (unsigned i = rank; i-- > 0;) {
			size_t left = total / count ? total / count : 1;
			shape[i] = i == 0 ? left : below(3) ? inner[below(9)] : 1 + below(left);
			if (shape[i] > left)
				shape[i] = left;
			count *= shape[i];
		}
		*most += count;
		at = put_array(at, &style, shape, rank);
		if (arrays)
			at += sprintf(at, ",\"dy\":");
	}
	at += sprintf(at, style.strings ? ",\"nonfinite\":\"string\"}" : "}");
	ck_assert_int_le(at - text, ROOM);
	return (size_t)(at - text);
}

START_TEST(well_formed)
{
	set_up();
	char *text = malloc(ROOM);
	for (int i = 0; i < 60; i++) {
		size_t most, len = make_text(text, &most);
		ck_assert_int_eq(expect_same(text, len, most), 0);
		if (i % 4 == 0)
			ck_assert_int_eq(expect_same(text, len, most - 1 - below(most)), 1);
	}
	free(text);
	tear_down();
}
END_TEST

START_TEST(damaged)
{
	set_up();
	static const char marks[] = "[],,,]]\"\"{}:0123456789.-+eE nutNI\\\n\x01\xff";
	char *text = malloc(ROOM), *original = malloc(ROOM);
	int found[3] = {0};

	for (int i = 0; i < 40; i++) {
		size_t most, len = make_text(original, &most);
		for (int j = 0; j < 6; j++) {
			memcpy(text, original, len);
			size_t now = len;
			for (size_t changes = 1 + below(2); changes--;) {
				size_t place = below(now);
				switch (below(4)) {
				case 0: /* a byte becomes another */
					text[place] = marks[below(sizeof marks - 1)];
					break;
				case 1: /* one is lost */
					memmove(text + place, text + place + 1, now - place - 1);
					now--;
					break;
				case 2: /* one comes between */
					memmove(text + place + 1, text + place, now - place);
					text[place] = marks[below(sizeof marks - 1)];
					now++;
					break;
				default: /* the text ends here, or a stretch of it stands elsewhere too */
					if (below(2))
						now = place ? place : 1;
					else
						memmove(text + below(now - place), text + place, below(now - place));
				}
			}
			found[expect_same(text, now, most)]++;
		}
	}
	ck_assert(found[1] > 10 && found[2] > 10);
	free(text);
	free(original);
	tear_down();
}
END_TEST

/* Faults next to the place where the first two parts meet, in each of the rows there. */
START_TEST(faults_at_a_cut)
{
	static const char good[] = "[3.2500000,4.5000000,5.7500000,7.5000000]";
	static const char *const wrong[] = {
		"[3.25,4.5]", "[3.25,4.5,5.75,7.,8.5]", "[3.25,4.5,5.75,1e60]", "[3.25,4.5,null,7.5]", "[3.25,4.5,5.75,[7.5]]",
		"7.5,[3.25,4.5,5.75]", "[]", "[3.25,4.5,5.75,7.5,]", "[3.25,4.5,\"NaN\",7.5]", "[3.25,\"4.5,5.75,7.5]",
		"[3.25,4.5,5.75,7.5]]", "[[3.25,4.5,5.75,7.5]",
	};
	const size_t rows = 3000, meet = 65536 / sizeof good;
	char *text = malloc(ROOM);

	set_up();
	for (size_t row = meet - 4; row < meet + 4; row++) {
		for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
			char *at = stpcpy(text, "{\"dtype\":\"float32\",\"x\":[");
			for (size_t i = 0; i < rows; i++) {
				at = stpcpy(at, i ? "," : "");
				at = stpcpy(at, i == row ? wrong[w] : good);
			}
			at = stpcpy(at, "]}");
			ck_assert_int_ne(expect_same(text, (size_t)(at - text), 4 * rows), 0);
		}
	}
	free(text);
	tear_down();
}
END_TEST

TEST_MAIN(well_formed, damaged, faults_at_a_cut)
