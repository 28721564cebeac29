/* The figures of a comparison. */
#include "core/compare.h"
#include "tests/support/suite.h"

#include <math.h>

static struct nc_comparison compare(enum nc_dtype dtype, void *got, void *want, size_t count, double rtol, double atol)
{
	struct nc_tensor a = {.dtype = dtype, .rank = 1, .shape = {count}, .count = count, .data = got}, b = a;

	b.data = want;
	return nc_compare(&a, &b, rtol, atol);
}

START_TEST(equal)
{
	double x[] = {1, -0.0, NAN, INFINITY}, y[] = {1, 0.0, NAN, INFINITY};
	struct nc_comparison c = compare(NC_FLOAT64, x, y, 4, 0, 0);

	ck_assert(c.allclose && c.max_abs == 0 && c.max_rel == 0 && c.max_ulp == 0 && c.argmax == 0);
}
END_TEST

START_TEST(empty)
{
	ck_assert(compare(NC_FLOAT32, NULL, NULL, 0, 0, 0).allclose);
}
END_TEST

START_TEST(figures)
{
	double got[] = {1, 2 + 0x1p-50, -4.5}, want[] = {1, 2, -4};
	struct nc_comparison c = compare(NC_FLOAT64, got, want, 3, 0.125, 0);

	ck_assert(c.max_abs == 0.5 && c.argmax == 2 && c.max_rel == 0.125 && c.max_ulp == 0.5 / 0x1p-50 && c.allclose);
	c = compare(NC_FLOAT64, got, want, 3, 0.1, 0.09);
	ck_assert(!c.allclose);
	c = compare(NC_FLOAT64, got, want, 3, 0.1, 0.11);
	ck_assert(c.allclose);
}
END_TEST

START_TEST(units_are_those_of_the_dtype)
{
	float got[] = {1 + 0x1p-7f}, want[] = {1};
	double tiny[] = {5e-324}, zero[] = {0};
	float half_tiny[] = {0x1p-24f}, half_zero[] = {0};

	ck_assert(compare(NC_BFLOAT16, got, want, 1, 0, 0).max_ulp == 1);
	ck_assert(compare(NC_FLOAT16, got, want, 1, 0, 0).max_ulp == 8);
	ck_assert(compare(NC_FLOAT32, got, want, 1, 0, 0).max_ulp == 65536);
	ck_assert(compare(NC_FLOAT64, tiny, zero, 1, 0, 0).max_ulp == 1);
	ck_assert(compare(NC_FLOAT16, half_tiny, half_zero, 1, 0, 0).max_ulp == 1);
}
END_TEST

START_TEST(nonfinite)
{
	double values[][2] = {{NAN, 1}, {1, NAN}, {INFINITY, 1}, {1, INFINITY}, {INFINITY, -INFINITY}, {NAN, INFINITY}};

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		struct nc_comparison c = compare(NC_FLOAT64, &values[i][0], &values[i][1], 1, 1, 1);

		ck_assert(!c.allclose && isinf(c.max_abs) && isinf(c.max_rel) && isinf(c.max_ulp));
	}
}
END_TEST

START_TEST(zero_reference)
{
	double got[] = {0, 1e-9}, want[] = {0, 0};
	struct nc_comparison c = compare(NC_FLOAT64, got, want, 2, 0, 1e-8);

	ck_assert(c.allclose && isinf(c.max_rel) && c.max_abs == 1e-9 && c.argmax == 1);
}
END_TEST

TEST_MAIN(equal, empty, figures, units_are_those_of_the_dtype, nonfinite, zero_reference)
