/* Kernels with a fault in one place: what /diagnose says of where and how they depart. */
#include <math.h>
#include <string.h>

#include "tests/support/norm_maker.h"
#include "tests/support/suite.h"

static struct maker base(void)
{
	return (struct maker){
		.h = {.form = NC_FORM_RMS, .value = 1e-5, .bias = NC_BIAS_NONE}, .dtype = NC_FLOAT32, .float32 = true, .order = 1,
		.rank = 2, .shape = {16, 67}, .axes = {1}, .axis_count = 1, .has_gain = true,
		.low = 0.01, .high = 3, .centre = 0.3, .seed = 5,
	};
}

static struct nc_departure departure(const struct nc_diagnose_call *call, const struct nc_hypothesis *truth)
{
	struct nc_arena *arena = nc_arena_create((size_t)1 << 30);
	struct nc_diagnosis d;
	ck_assert_int_eq(nc_diagnose(call, &d, NULL, arena), NC_OK);
	nc_arena_destroy(arena);
	ck_assert(!d.forward.match);
	/* the fault does not hide what the kernel does elsewhere */
	const struct nc_hypothesis *best = &d.forward.explanation[0].hypothesis;
	if (truth)
		ck_assert(best->form == truth->form && best->gain == truth->gain && best->value == truth->value && best->layout == 0);
	return d.forward.departure;
}


static void spoil(struct made *made, size_t row, size_t feature, double by)
{
	size_t at = row * made->y.shape[1] + feature;
	nc_tensor_set(&made->y, at, nc_dtype_round(made->y.dtype, nc_tensor_get(&made->y, at) * by + 0.01));
}

START_TEST(each_pattern_is_named)
{
	for (int kind = 0; kind < 9; kind++) {
		struct maker maker = base();
		struct made *made = make_norm(&maker);
		for (size_t r = 0; r < 16; r++)
			for (size_t j = 0; j < 67; j++) {
				bool fault = false;
				switch (kind) {
				case 0: fault = r == 7 && j == 11; break;
				case 1: fault = r == 9 && j > 3; break;
				case 2: fault = j == 30; break;
				case 3: fault = j >= 64; break;
				case 4: fault = r >= 12; break;
				case 5: fault = (r * 31 + j * 17) % 23 == 0; break;
				case 6: fault = r == 3 && j == 5; break;
				case 7: fault = true; break;
				case 8: fault = j >= 20 && j < 40 && j % 2 && (r || j != 21); break;
				}
				if (fault)
					spoil(made, r, j, kind == 7 ? 1 + 1e-4 * pow(1.5, (double)r) * sin((double)j) : 1.3);
			}
		if (kind == 6)
			nc_tensor_set(&made->y, 3 * 67 + 5, NAN);
		static const struct {
			enum nc_pattern pattern;
			size_t row, element;
		} want[] = {
			{NC_PATTERN_ELEMENT, 7, 11}, {NC_PATTERN_ROW, 9, 4},        {NC_PATTERN_COLUMN, 0, 30},   {NC_PATTERN_TAIL, 0, 64},
			{NC_PATTERN_FROM_ROW, 12, 0}, {NC_PATTERN_SCATTERED, 0, 0}, {NC_PATTERN_NONFINITE, 3, 5}, {NC_PATTERN_EVERYWHERE, 0, 0},
			{NC_PATTERN_COLUMNS, 0, 23},
		};
		struct nc_departure d = departure(&made->call, kind == 7 ? NULL : &maker.h);
		ck_assert_msg(d.pattern == want[kind].pattern, "kind %d: pattern %d", kind, d.pattern);
		ck_assert_uint_eq(d.row, want[kind].row);
		ck_assert_uint_eq(d.element, want[kind].element);
		ck_assert_uint_eq(d.at, d.row * 67 + d.element);
		ck_assert_uint_eq(d.of, made->y.count);
		if (kind == 8) {
			ck_assert_uint_eq(d.features, 10);
			ck_assert_uint_eq(d.first, 21);
			ck_assert_uint_eq(d.last, 39);
		}
		if (kind == 3)
			ck_assert_uint_eq(d.width, 4); /* 64 = ⌊67/4⌋·4 already */
	}
}
END_TEST

START_TEST(tails_of_wider_vectors_tell_their_width)
{
	static const size_t widths[][2] = {{8, 70}, {16, 77}, {32, 94}, {64, 120}};
	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
		struct maker maker = base();
		size_t width = widths[i][0], n = widths[i][1];
		maker.shape[1] = n;
		struct made *made = make_norm(&maker);
		for (size_t r = 0; r < 16; r++)
			for (size_t j = n / width * width; j < n; j++)
				spoil(made, r, j, 1.5);
		struct nc_departure d = departure(&made->call, &maker.h);
		ck_assert_int_eq(d.pattern, NC_PATTERN_TAIL);
		ck_assert_uint_eq(d.width, width);
		ck_assert_uint_eq(d.element, n / width * width);
	}
}
END_TEST

/* An approximate reciprocal root: every row by a factor of its own. */
START_TEST(a_factor_of_each_row_is_named)
{
	struct maker maker = base();
	struct made *made = make_norm(&maker);
	for (size_t r = 0; r < 16; r++)
		for (size_t j = 0; j < 67; j++) {
			size_t at = r * 67 + j;
			nc_tensor_set(&made->y, at, nc_dtype_round(NC_FLOAT32, nc_tensor_get(&made->y, at) * (1 + 2e-4 * sin(3.0 * (double)r + 1))));
		}
	struct nc_departure d = departure(&made->call, NULL);
	ck_assert_int_eq(d.pattern, NC_PATTERN_ROW_FACTOR);
	ck_assert_double_gt(d.factor, 1e-4);
	ck_assert_double_lt(d.factor, 1e-3); /* the nearest explanation may be off itself */
}
END_TEST

START_TEST(growth_with_the_row_is_named)
{
	struct maker maker = base();
	maker.shape[0] = 32;
	maker.low = 0.5;
	struct made *made = make_norm(&maker);
	for (size_t r = 0; r < 32; r++)
		for (size_t j = 0; j < 67; j++)
			nc_tensor_set(&made->y, r * 67 + j, nc_dtype_round(NC_FLOAT32, nc_tensor_get(&made->y, r * 67 + j) * (1 + 3e-3 * (double)(r + 1) * sin((double)(j * j)))));
	ck_assert_int_eq(departure(&made->call, NULL).pattern, NC_PATTERN_GROWING);
}
END_TEST

TEST_MAIN(each_pattern_is_named, tails_of_wider_vectors_tell_their_width, a_factor_of_each_row_is_named, growth_with_the_row_is_named)
