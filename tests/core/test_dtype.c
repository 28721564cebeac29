/* Rounding to each dtype and its wire form, against exhaustive or independent references. */
#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "tests/support/suite.h"

/* value rounded by MPFR to a format of p bits and smallest exponent emin, overflow to infinity. */
static double mpfr_rounded(double value, enum nc_dtype dtype)
{
	static const int emin[] = {-1022, -126, -126, -14}; /* IEEE 754, and bfloat16 as the upper half of float32 */
	static const int bits[] = {53, 24, 8, 11};
	mpfr_t x;
	mpfr_init2(x, 53);
	mpfr_set_d(x, value, MPFR_RNDN);
	mpfr_exp_t lowest = mpfr_get_emin(), highest = mpfr_get_emax();
	mpfr_t y;
	mpfr_init2(y, bits[dtype]);
	mpfr_set_emin(emin[dtype] - bits[dtype] + 2); /* of the smallest subnormal, in MPFR's 0.1xxx form */
	mpfr_set_emax(dtype == NC_FLOAT16 ? 16 : dtype == NC_FLOAT64 ? 1024 : 128);
	int inexact = mpfr_set(y, x, MPFR_RNDN);
	inexact = mpfr_check_range(y, inexact, MPFR_RNDN);
	mpfr_subnormalize(y, inexact, MPFR_RNDN);
	double result = mpfr_get_d(y, MPFR_RNDN);
	mpfr_set_emin(lowest);
	mpfr_set_emax(highest);
	mpfr_clears(x, y, NULL);
	return result;
}

static void rounds_as_mpfr(enum nc_dtype dtype, double value)
{
	double got = nc_dtype_round(dtype, value), want = mpfr_rounded(value, dtype);
	ck_assert_msg(memcmp(&got, &want, sizeof got) == 0, "%s of %a: %a not %a", nc_dtype_name(dtype), value, got, want);
}

START_TEST(rounding_is_to_nearest_even_once)
{
	srand48(1);
	for (int d = 0; d < NC_DTYPE_COUNT; d++) {
		enum nc_dtype dtype = (enum nc_dtype)d;
		for (int i = 0; i < 200000; i++) {
			double v = ldexp(drand48() - 0.5, (int)(lrand48() % 320) - 160);
			rounds_as_mpfr(dtype, v);
			/* exactly between two values of the dtype, and a hair to each side */
			double tie = nc_dtype_round(dtype, v);
			if (!isfinite(tie) || tie == 0 || dtype == NC_FLOAT64)
				continue;
			double unit = ldexp(1, ilogb(tie) - nc_dtype_mantissa_bits(dtype));
			rounds_as_mpfr(dtype, tie + unit);
			rounds_as_mpfr(dtype, nextafter(tie + unit, INFINITY));
			rounds_as_mpfr(dtype, nextafter(tie + unit, -INFINITY));
		}
		rounds_as_mpfr(dtype, nc_dtype_max(dtype));
		for (int e = -1074; e < 1024; e++) {
			rounds_as_mpfr(dtype, ldexp(1, e));
			rounds_as_mpfr(dtype, -ldexp(1.5, e));
		}
		ck_assert(isnan(nc_dtype_round(dtype, NAN)));
		ck_assert(nc_dtype_round(dtype, -INFINITY) == -INFINITY);
		ck_assert(signbit(nc_dtype_round(dtype, -0.0)));
	}
	ck_assert(isinf(nc_dtype_round(NC_FLOAT16, 65520)));
	ck_assert_double_eq(nc_dtype_round(NC_FLOAT16, 65519.99), 65504);
}
END_TEST

START_TEST(sixteen_bit_wire_forms_round_trip)
{
	for (int d = NC_BFLOAT16; d <= NC_FLOAT16; d++)
		for (unsigned bits = 0; bits < 65536; bits++) {
			unsigned char wire[3] = {0, (unsigned char)bits, (unsigned char)(bits >> 8)}, back[2];
			float value;
			nc_dtype_from_wire((enum nc_dtype)d, wire + 1, 1, &value); /* at an odd address */
			ck_assert(isnan(value) || nc_dtype_round((enum nc_dtype)d, value) == value);
			nc_dtype_to_wire((enum nc_dtype)d, &value, 1, back);
			if (!isnan(value))
				ck_assert_mem_eq(back, wire + 1, 2);
		}
	float half;
	nc_dtype_from_wire(NC_FLOAT16, "\x01\x00", 1, &half);
	ck_assert(half == 0x1p-24f);
	nc_dtype_from_wire(NC_FLOAT16, "\x00\xbc", 1, &half);
	ck_assert(half == -1.0f);
	nc_dtype_from_wire(NC_BFLOAT16, "\x80\x3f", 1, &half);
	ck_assert(half == 1.0f);
}
END_TEST

START_TEST(names_and_sizes)
{
	enum nc_dtype dtype;
	static const size_t wire[] = {8, 4, 2, 2};
	for (int d = 0; d < NC_DTYPE_COUNT; d++) {
		ck_assert(nc_dtype_parse(nc_dtype_name((enum nc_dtype)d), &dtype) && (int)dtype == d);
		ck_assert_uint_eq(nc_dtype_wire_bytes(dtype), wire[d]);
		ck_assert_double_eq(nc_dtype_machine_epsilon(dtype), d ? 0x1p-23 : 0x1p-52);
	}
	ck_assert(!nc_dtype_parse("float", &dtype));
	ck_assert(!nc_dtype_parse("", &dtype));
}
END_TEST

TEST_MAIN(rounding_is_to_nearest_even_once, sixteen_bit_wire_forms_round_trip, names_and_sizes)
