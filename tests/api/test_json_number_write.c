/* The writer: random and special values of every kind, shortest and nearest, the same text on every instruction set. */
#include "api/json/json_number.h"
#include "core/isa.h"
#include "tests/support/float32_decimal.h"
#include "tests/support/shortest_check.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = SHORTEST_CHECK_MAX };

static uint64_t state = 0x9e3779b97f4a7c15;

static uint64_t next(void)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return state * 0x2545f4914f6cdd1d;
}

static double from_bits(uint64_t bits)
{
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

/* One of many kinds: bits, subnormals, powers of two and beside them, integers, short decimals, small mantissas, zeros. */
static double draw(int kind)
{
	uint64_t r = next();
	switch (kind) {
	case 0:
		return from_bits(r & 0x800fffffffffffff); /* subnormal */
	case 1:
		return from_bits((r & 0xfff0000000000000) + (r % 5 - 2)); /* a power of two, or near it */
	case 2:
		return (double)((int64_t)r >> (r & 63));
	case 3:
		return (double)((int64_t)r >> 44) / (double[]){1, 10, 100, 1000, 1e4, 1e5, 1e6, 1e7}[r & 7];
	case 4:
		return from_bits(r & 0xffffffff00000000);
	case 5:
		return r & 1 ? 0.0 : -0.0;
	case 6:
		return (double)(float)((double)(int64_t)r * 0x1p-63); /* within 1 */
	case 7:
		return (double)((int64_t)r >> 12) * 0x1p-2; /* quarters, where ties are */
	default:
		return from_bits(r);
	}
}

static size_t fill(double *values, float *narrow, int kind)
{
	for (size_t i = 0; i < BATCH;) {
		double value = draw(kind < 0 ? (int)(next() % 12) : kind);
		uint32_t bits = (uint32_t)next();
		float small = kind == 8 ? 0 : (float)value;
		if (kind == 8)
			memcpy(&small, &bits, sizeof small);
		if (!isfinite(value) || !isfinite(small))
			value = 1.5, small = 1.5f;
		values[i] = value;
		narrow[i++] = small;
	}
	return BATCH;
}

/* How many of n random numbers are tried: an emulator (tests/run.sh) is a hundred times as slow. */
static long share(long n)
{
	return getenv("RUNNER") ? n / 50 : n;
}

START_TEST(same_everywhere)
{
	static double values[BATCH];
	static float narrow[BATCH];
	static char scalar[BATCH * JSON_FLOAT64_MAX + 64], text[BATCH * JSON_FLOAT64_MAX + 64];
	for (int round = 0; round < share(400); round++) {
		fill(values, narrow, round % 12 - 1);
		for (int wide = 0; wide < 2; wide++) {
			const void *source = wide ? (const void *)values : narrow;
			enum nc_dtype dtype = wide ? NC_FLOAT64 : NC_FLOAT32;
			size_t bad, count = round % 3 ? BATCH : (size_t)(next() % 40);
			nc_isa_select("scalar");
			size_t length = (size_t)(json_write_list(scalar, dtype, source, count, JSON_NONFINITE_STOP, &bad) -
			                         scalar);
			char *p = text;
			for (size_t i = 0; i < count; i++) {
				if (i)
					*p++ = ',';
				p = wide ? json_write_float64(p, values[i]) : json_write_float32(p, narrow[i]);
			}
			ck_assert((size_t)(p - text) == length && memcmp(text, scalar, length) == 0);
			for (int isa = 1; isa < NC_ISA_COUNT; isa++) {
				if (!nc_isa_select(nc_isa_name((enum nc_isa)isa)))
					continue;
				size_t got = (size_t)(json_write_list(text, dtype, source, count, JSON_NONFINITE_STOP, &bad) -
				                      text);
				size_t same = 0;
				while (same < length && same < got && text[same] == scalar[same])
					same++;
				ck_assert_msg(got == length && same == length, "%s %s: %.40s, not %.40s",
				              nc_isa_name((enum nc_isa)isa), nc_dtype_name(dtype), text + same - (same > 12 ? 12 : same),
				              scalar + same - (same > 12 ? 12 : same));
			}
			nc_isa_select("auto");
		}
	}
}
END_TEST

START_TEST(special_float64)
{
	static double values[BATCH];
	static float narrow[BATCH];
	for (int round = 0; round < 30; round++) {
		fill(values, narrow, round % 8);
		ck_assert(shortest_check(NC_FLOAT64, values, BATCH, false) < 0);
		ck_assert(shortest_check(NC_FLOAT32, narrow, BATCH, false) < 0);
	}
}
END_TEST

START_TEST(ten_million_random_float64)
{
	static double values[BATCH];
	for (long done = 0; done < share(10000000); done += BATCH) {
		for (size_t i = 0; i < BATCH; i++)
			do
				values[i] = from_bits(next());
			while (!isfinite(values[i]));
		ck_assert(shortest_check(NC_FLOAT64, values, BATCH, true) < 0);
	}
}
END_TEST

START_TEST(random_float32)
{
	static float values[BATCH];
	for (long round = 0; round < share(250); round++) {
		for (size_t i = 0; i < BATCH; i++) {
			uint32_t bits;
			do {
				bits = (uint32_t)(next() >> 32);
				memcpy(&values[i], &bits, sizeof bits);
			} while (!isfinite(values[i]));
		}
		ck_assert(shortest_check(NC_FLOAT32, values, BATCH, false) < 0);
	}
}
END_TEST

/* The check of all float32 values (make test-float32-all): each of its verdicts, and its arithmetic beside the C library's. */
START_TEST(exact_check)
{
	static const struct {
		float value;
		uint64_t digits;
		int exponent;
		const char *fault;
	} cases[] = {
		{0.1f, 1, -1, NULL}, {0.1f, 2, -1, "does not read back"}, {0.1f, 100000001, -9, "not shortest"},
		{1e-45f, 1, -45, NULL}, {1e-45f, 2, -45, "not nearest"}, {3.4028235e38f, 34028235, 31, NULL},
		{2097152.25f, 20971522, -1, NULL}, {2097152.25f, 20971523, -1, "not nearest"}, /* a tie: to even */
		{16777216, 16777216, 0, NULL}, {16777216, 16777217, 0, "not nearest"}, {16777218, 16777217, 0, "does not read back"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *fault = float32_decimal_fault(cases[i].value, cases[i].digits, cases[i].exponent);
		ck_assert_pstr_eq(fault, cases[i].fault);
	}
	for (long round = 0; round < share(200000); round++) {
		uint32_t bits = (uint32_t)next() & 0x7fffffff;
		float value;
		memcpy(&value, &bits, sizeof value);
		if (!isfinite(value) || value == 0)
			continue;
		char text[40];
		int exponent = (int)floor(log10(value)) - 6 - (int)(next() % 3); /* 7 to 9 digits: those beside it begin to read back too */
		uint64_t digits = (uint64_t)(value * powl(10, -exponent)) + next() % 7 - 3;
		sprintf(text, "%llue%d", (unsigned long long)digits, exponent);
		const char *fault = float32_decimal_fault(value, digits, exponent);
		ck_assert_msg((strtof(text, NULL) == value) == !(fault && strcmp(fault, "does not read back") == 0), "%a by %s: %s",
		              (double)value, text, fault ? fault : "well");
	}
}
END_TEST

static const char *written(enum nc_dtype dtype, const void *values, size_t count, enum json_nonfinite mode, size_t bad)
{
	static char out[1024];
	size_t got;
	*json_write_list(out, dtype, values, count, mode, &got) = 0;
	ck_assert_uint_eq(got, bad);
	return out;
}

START_TEST(nonfinite)
{
	const double values[] = {1, NAN, 2.5, INFINITY, -INFINITY, -0.0, 7, 8, 9, 10, -NAN};
	const float narrow[] = {NAN, .1f, -INFINITY};
	for (int isa = 0; isa < NC_ISA_COUNT; isa++) {
		if (!nc_isa_select(nc_isa_name((enum nc_isa)isa)))
			continue;
		ck_assert_str_eq(written(NC_FLOAT64, values, 11, JSON_NONFINITE_STRING, 11),
		                 "1,\"NaN\",2.5,\"Infinity\",\"-Infinity\",-0.0,7,8,9,10,\"NaN\"");
		ck_assert_str_eq(written(NC_FLOAT64, values, 11, JSON_NONFINITE_NULL, 11),
		                 "1,null,2.5,null,null,-0.0,7,8,9,10,null");
		ck_assert_str_eq(written(NC_FLOAT64, values, 11, JSON_NONFINITE_STOP, 1), "1");
		ck_assert_str_eq(written(NC_FLOAT64, values + 5, 6, JSON_NONFINITE_STOP, 5), "-0.0,7,8,9,10");
		ck_assert_str_eq(written(NC_FLOAT64, values, 0, JSON_NONFINITE_STOP, 0), "");
		ck_assert_str_eq(written(NC_FLOAT32, narrow, 3, JSON_NONFINITE_STOP, 0), "");
		ck_assert_str_eq(written(NC_BFLOAT16, narrow, 3, JSON_NONFINITE_STRING, 3), "\"NaN\",0.1,\"-Infinity\"");
	}
	nc_isa_select("auto");
}
END_TEST

TEST_MAIN(same_everywhere, special_float64, ten_million_random_float64, random_float32, exact_check, nonfinite)
