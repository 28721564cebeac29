/*
 * Rounding at its hardest: numbers of 1 to 800 digits, exact midpoints between neighbours of every dtype with a digit more or
 * less at their far end, the table of powers of ten against GMP, and node's printing where node is installed.
 */
#include "api/json/json_number.h"
#include "api/json/powers_of_ten.h"
#include "tests/support/suite.h"

#include <gmp.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t state = 0x9e3779b97f4a7c15;

static uint64_t next(void)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return state * 0x2545f4914f6cdd1d;
}

/* By MPFR: one rounding to the dtype's precision and range, subnormals included. */
static double nearest(const char *text, enum nc_dtype dtype)
{
	static const struct {
		int bits, min, max;
	} of[NC_DTYPE_COUNT] = {{53, -1073, 1024}, {24, -148, 128}, {8, -132, 128}, {11, -23, 16}};
	mpfr_t x;
	mpfr_init2(x, of[dtype].bits);
	mpfr_set_emin(of[dtype].min);
	mpfr_set_emax(of[dtype].max);
	int inexact = mpfr_strtofr(x, text, NULL, 10, MPFR_RNDN);
	mpfr_subnormalize(x, mpfr_check_range(x, inexact, MPFR_RNDN), MPFR_RNDN);
	double value = mpfr_get_d(x, MPFR_RNDN);
	mpfr_clear(x);
	mpfr_set_emin(mpfr_get_emin_min());
	mpfr_set_emax(mpfr_get_emax_max());
	return value;
}

static void check(const char *text, enum nc_dtype dtype)
{
	double expected = nearest(text, dtype), value;
	union {
		double wide;
		float narrow;
	} listed;
	const char *end = text + strlen(text), *after;
	size_t count;
	enum json_number_status status = json_read_number(text, end, dtype, &value, &after);
	enum json_number_status list_status = json_read_list(text, end, dtype, &listed, 1, &count, &after);
	double got = dtype == NC_FLOAT64 ? listed.wide : (double)listed.narrow;
	if (isinf(expected)) {
		ck_assert_msg(status == JSON_NUMBER_RANGE && list_status == JSON_NUMBER_RANGE, "%s", text);
		return;
	}
	ck_assert_msg(status == JSON_NUMBER_OK && value == expected, "%s %s: %a, not %a", nc_dtype_name(dtype), text, value,
	              expected);
	ck_assert_msg(list_status == JSON_NUMBER_OK && got == expected, "%s %s in a list: %a, not %a", nc_dtype_name(dtype),
	              text, got, expected);
}

START_TEST(every_length)
{
	char text[900];
	for (int length = 1; length <= 800; length++)
		for (int form = 0; form < 8; form++) {
			char *p = text;
			for (int i = 0; i < length; i++) {
				int digit = form & 4 ? (int)(next() % 10) : form & 2 ? 9 : i == length - 1;
				*p++ = (char)('0' + (i ? digit : digit ? digit : 1));
				if (i == 0 && (form & 1) && length > 1)
					*p++ = '.';
			}
			*p = 0;
			if (form & 1)
				sprintf(p, "e%d", (int)(next() % 600) - 300);
			for (int dtype = 0; dtype < NC_DTYPE_COUNT; dtype++)
				check(text, (enum nc_dtype)dtype);
		}
}
END_TEST

/* The exact decimal of significand 2^exponent, then the same with its last digit moved by one, and with one far behind. */
static void check_around(uint64_t significand, int exponent, enum nc_dtype dtype)
{
	static char text[4000];
	mpfr_t x;
	mpfr_init2(x, 64);
	mpfr_set_uj(x, significand, MPFR_RNDN);
	mpfr_mul_2si(x, x, exponent, MPFR_RNDN);
	int decimals = exponent < 0 ? -exponent : 0; /* exact with so many */
	int length = mpfr_snprintf(text, 2000, "%.*Rf", decimals, x);
	mpfr_clear(x);
	check(text, dtype);
	char last = text[length - 1];
	if (decimals && last > '0') {
		text[length - 1]--;
		check(text, dtype);
		text[length - 1] = last;
	}
	if (!decimals)
		strcpy(text + length++, ".");
	size_t zeros = next() % 900;
	memset(text + length, '0', zeros);
	strcpy(text + (size_t)length + zeros, "1");
	check(text, dtype);
}

START_TEST(midpoints)
{
	for (int round = 0; round < 3000; round++)
		for (int d = 0; d < NC_DTYPE_COUNT; d++) {
			enum nc_dtype dtype = (enum nc_dtype)d;
			int bits = nc_dtype_mantissa_bits(dtype);
			int least = (int[]){-1074, -149, -133, -24}[d], most = (int[]){971, 104, 120, 5}[d];
			uint64_t significand = next() >> (64 - bits);
			if (round % 3)
				significand |= UINT64_C(1) << (bits - 1);
			if (round % 16 == 0)
				significand = (UINT64_C(1) << bits) - 1;
			int exponent = round % 5 == 0   ? least
			               : round % 7 == 0 ? most
			                                : least + (int)(next() % (uint64_t)(most - least + 1));
			if (dtype == NC_FLOAT64 && round % 4)
				exponent = -60 + (int)(next() % 70);
			check_around(2 * significand + 1, exponent - 1, dtype);
			/* just beside the midpoint of a narrow dtype, as near as a double can be: the traps of rounding twice */
			if (dtype != NC_FLOAT64) {
				int shift = 53 - bits - 1;
				check_around(((2 * significand + 1) << shift) + 1, exponent - 1 - shift, dtype);
				check_around(((2 * significand + 1) << shift) - 1, exponent - 1 - shift, dtype);
			}
		}
}
END_TEST

START_TEST(powers)
{
	mpz_t power, high, low;
	mpz_inits(power, high, low, NULL);
	for (int q = POWER_OF_TEN_MIN; q <= POWER_OF_TEN_MAX; q++) {
		mpz_ui_pow_ui(power, 10, (unsigned long)labs(q));
		long bits = (long)mpz_sizeinbase(power, 2);
		if (q < 0) { /* floor(2^(bits + 127) / 10^-q) has 128 bits, or one more where 10^-q is a power of two: for none */
			mpz_set_ui(high, 1);
			mpz_mul_2exp(high, high, (mp_bitcnt_t)bits + 127);
			mpz_fdiv_q(power, high, power);
			ck_assert_int_eq(power_of_ten_exponent(q), -(int)bits);
		} else {
			ck_assert_int_eq(power_of_ten_exponent(q), (int)bits - 1);
			if (bits > 128)
				mpz_fdiv_q_2exp(power, power, (mp_bitcnt_t)(bits - 128));
			else
				mpz_mul_2exp(power, power, (mp_bitcnt_t)(128 - bits));
		}
		ck_assert_uint_eq(mpz_sizeinbase(power, 2), 128);
		mpz_fdiv_q_2exp(high, power, 64);
		mpz_fdiv_r_2exp(low, power, 64);
		ck_assert_uint_eq(powers_of_ten[q - POWER_OF_TEN_MIN].high, mpz_get_ui(high));
		ck_assert_uint_eq(powers_of_ten[q - POWER_OF_TEN_MIN].low, mpz_get_ui(low));
	}
	mpz_clears(power, high, low, NULL);
}
END_TEST

START_TEST(as_node_prints)
{
	enum { COUNT = 20000 };
	static double values[COUNT];
	static char out[JSON_FLOAT64_MAX], line[64];
	if (system("command -v node >/dev/null 2>&1") != 0) {
		printf("skipped: node is not installed\n");
		return;
	}
	char name[] = "/tmp/json_number_XXXXXX", command[200];
	int file = mkstemp(name);
	ck_assert_int_ge(file, 0);
	for (size_t i = 0; i < COUNT; i++)
		do {
			uint64_t bits = next();
			memcpy(&values[i], &bits, sizeof bits);
			if (i % 3 == 0)
				values[i] = (double)((int64_t)bits >> (bits & 63)) / (double[]){1, 10, 1000, 1e6, 1e9, 1e20}[i % 6];
		} while (!isfinite(values[i]));
	ck_assert(write(file, values, sizeof values) == (ssize_t)sizeof values);
	close(file);
	snprintf(command, sizeof command,
	         "node -e 'const b=require(\"fs\").readFileSync(\"%s\");"
	         "for(let i=0;i<b.length;i+=8)console.log(String(b.readDoubleLE(i)))'", name);
	FILE *node = popen(command, "r");
	ck_assert_ptr_nonnull(node);
	for (size_t i = 0; i < COUNT; i++) {
		ck_assert_ptr_nonnull(fgets(line, sizeof line, node));
		line[strcspn(line, "\n")] = 0;
		*json_write_float64(out, values[i]) = 0;
		ck_assert_str_eq(out, values[i] == 0 && signbit(values[i]) ? "-0.0" : line);
	}
	pclose(node);
	unlink(name);
}
END_TEST

TEST_MAIN(every_length, midpoints, powers, as_node_prints)
