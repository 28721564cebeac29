#include "wide.h"

#include <math.h>
#include <string.h>

static const wide_bits TOP = (wide_bits)1 << 127;

static struct wide special(enum wide_kind kind, bool negative)
{
	return (struct wide){.kind = kind, .negative = negative};
}

static int leading_zeros(wide_bits m)
{
	uint64_t high = (uint64_t)(m >> 64);

	return high ? __builtin_clzll(high) : 64 + __builtin_clzll((uint64_t)m);
}

/* ± mantissa · 2^(exponent − 127) for a mantissa that may have leading zeros. */
static struct wide normalized(wide_bits mantissa, int exponent, bool negative)
{
	if (!mantissa)
		return special(WIDE_ZERO, false);
	int shift = leading_zeros(mantissa);
	return (struct wide){mantissa << shift, exponent - shift, WIDE_FINITE, negative};
}

struct wide wide_from(double x)
{
	int exponent;

	if (isnan(x))
		return special(WIDE_NAN, false);
	if (isinf(x))
		return special(WIDE_INFINITE, x < 0);
	if (x == 0)
		return special(WIDE_ZERO, signbit(x));
	double fraction = frexp(fabs(x), &exponent); /* in [1/2, 1) */
	return (struct wide){(wide_bits)(uint64_t)(fraction * 0x1p64) << 64, exponent - 1, WIDE_FINITE, x < 0};
}

struct wide wide_from_count(uint64_t n)
{
	return normalized(n, 127, false);
}

double wide_round(struct wide a, enum nc_dtype dtype)
{
	double sign = a.negative ? -1 : 1;

	switch (a.kind) {
	case WIDE_ZERO:
		return sign * 0.0;
	case WIDE_INFINITE:
		return sign * (double)INFINITY;
	case WIDE_NAN:
		return (double)NAN;
	case WIDE_FINITE:
		break;
	}

	/* The unit of the last place, 2^unit, and the bits of the mantissa that lie below it. */
	int least = nc_dtype_min_exponent(dtype), exponent = a.exponent > least ? a.exponent : least;
	int unit = exponent - nc_dtype_mantissa_bits(dtype) + 1;
	int below = 127 - (a.exponent - unit);
	if (below > 128)
		return sign * 0.0;
	wide_bits kept = below < 128 ? a.mantissa >> below : 0;
	wide_bits rest = a.mantissa << (128 - below); /* below is at least 75 */
	if (rest > TOP || (rest == TOP && (kept & 1)))
		kept++;
	double value = a.exponent > 1100 ? (double)INFINITY : ldexp((double)(uint64_t)kept, unit);
	if (value > nc_dtype_max(dtype))
		value = (double)INFINITY;
	return sign * value;
}

struct wide wide_neg(struct wide a)
{
	a.negative = !a.negative;
	return a;
}

struct wide wide_add(struct wide a, struct wide b)
{
	if (a.kind == WIDE_NAN || b.kind == WIDE_NAN)
		return special(WIDE_NAN, false);
	if (a.kind == WIDE_INFINITE || b.kind == WIDE_INFINITE) {
		if (a.kind == b.kind && a.negative != b.negative)
			return special(WIDE_NAN, false);
		return a.kind == WIDE_INFINITE ? a : b;
	}
	if (a.kind == WIDE_ZERO && b.kind == WIDE_ZERO)
		return special(WIDE_ZERO, a.negative && b.negative);
	if (a.kind == WIDE_ZERO)
		return b;
	if (b.kind == WIDE_ZERO)
		return a;

	if (a.exponent < b.exponent || (a.exponent == b.exponent && a.mantissa < b.mantissa)) {
		struct wide t = a;

		a = b;
		b = t;
	}
	int shift = a.exponent - b.exponent;
	if (shift > 127)
		return a;
	wide_bits small = b.mantissa >> shift;
	if (a.negative != b.negative)
		return normalized(a.mantissa - small, a.exponent, a.negative);
	wide_bits total = a.mantissa + small;
	if (total < small)
		return (struct wide){total >> 1 | TOP, a.exponent + 1, WIDE_FINITE, a.negative};
	return (struct wide){total, a.exponent, WIDE_FINITE, a.negative};
}

struct wide wide_sub(struct wide a, struct wide b)
{
	return wide_add(a, wide_neg(b));
}

struct wide wide_mul(struct wide a, struct wide b)
{
	bool negative = a.negative != b.negative;

	if (a.kind == WIDE_NAN || b.kind == WIDE_NAN)
		return special(WIDE_NAN, false);
	if (a.kind == WIDE_INFINITE || b.kind == WIDE_INFINITE)
		return a.kind == WIDE_ZERO || b.kind == WIDE_ZERO ? special(WIDE_NAN, false) : special(WIDE_INFINITE, negative);
	if (a.kind == WIDE_ZERO || b.kind == WIDE_ZERO)
		return special(WIDE_ZERO, negative);

	uint64_t ah = (uint64_t)(a.mantissa >> 64), al = (uint64_t)a.mantissa;
	uint64_t bh = (uint64_t)(b.mantissa >> 64), bl = (uint64_t)b.mantissa;
	wide_bits low = (wide_bits)al * bl, cross1 = (wide_bits)ah * bl, cross2 = (wide_bits)al * bh;
	wide_bits middle = (low >> 64) + (uint64_t)cross1 + (uint64_t)cross2;
	wide_bits high = (wide_bits)ah * bh + (cross1 >> 64) + (cross2 >> 64) + (middle >> 64);

	/* The product of two numbers in [2^127, 2^128) lies in [2^254, 2^256); `high` is its upper half. */
	if (high & TOP)
		return (struct wide){high, a.exponent + b.exponent + 1, WIDE_FINITE, negative};
	return (struct wide){high << 1 | (middle >> 63 & 1), a.exponent + b.exponent, WIDE_FINITE, negative};
}

/* One digit of base 2^64 of the quotient (rest·2^64)/divisor, rest < divisor; rest becomes the remainder (Knuth, D). */
static uint64_t quotient_digit(wide_bits *rest, wide_bits divisor)
{
	uint64_t dh = (uint64_t)(divisor >> 64), dl = (uint64_t)divisor;
	wide_bits guess = (uint64_t)(*rest >> 64) >= dh ? (wide_bits)UINT64_MAX : *rest / dh;
	wide_bits over = *rest - guess * dh; /* guess·divisor = guess·dh·2^64 + guess·dl; at most 2 too large */

	while (!(over >> 64) && guess * dl > over << 64) {
		guess--;
		over += dh;
	}
	*rest = (over << 64) - guess * dl;
	return (uint64_t)guess;
}

struct wide wide_div(struct wide a, struct wide b)
{
	bool negative = a.negative != b.negative;

	if (a.kind == WIDE_NAN || b.kind == WIDE_NAN || (a.kind == b.kind && a.kind != WIDE_FINITE))
		return special(WIDE_NAN, false);
	if (a.kind == WIDE_INFINITE || b.kind == WIDE_ZERO)
		return special(WIDE_INFINITE, negative);
	if (a.kind == WIDE_ZERO || b.kind == WIDE_INFINITE)
		return special(WIDE_ZERO, negative);

	/* Digits after the point; the one before it is 1 for a larger numerator. */
	bool large = a.mantissa >= b.mantissa;
	wide_bits rest = large ? a.mantissa - b.mantissa : a.mantissa;
	uint64_t high = quotient_digit(&rest, b.mantissa), low = quotient_digit(&rest, b.mantissa);
	wide_bits quotient = (wide_bits)high << 64 | low;
	if (large)
		return (struct wide){quotient >> 1 | TOP, a.exponent - b.exponent, WIDE_FINITE, negative};
	return normalized(quotient, a.exponent - b.exponent - 1, negative);
}

/* a with its mantissa rounded to 120 bits: what is a root in no more bits comes out exact. */
static struct wide rounded_to_120(struct wide a)
{
	wide_bits half = (wide_bits)1 << 7, mantissa = a.mantissa + half;

	if (mantissa < half)
		return (struct wide){TOP, a.exponent + 1, WIDE_FINITE, a.negative};
	a.mantissa = mantissa & ~(2 * half - 1);
	return a;
}

struct wide wide_sqrt(struct wide a)
{
	if (a.kind == WIDE_NAN || a.kind == WIDE_ZERO)
		return a;
	if (a.negative)
		return special(WIDE_NAN, false);
	if (a.kind == WIDE_INFINITE)
		return a;

	/* A root of 53 bits, then two Newton steps r ← (r + a/r)/2. */
	int even = a.exponent & ~1;
	double head = (double)(uint64_t)(a.mantissa >> 64) * (a.exponent & 1 ? 0x1p-62 : 0x1p-63); /* in [1, 4) */
	struct wide root = wide_from(sqrt(head));
	root.exponent += even / 2;
	for (int i = 0; i < 2; i++) {
		root = wide_add(root, wide_div(a, root));
		root.exponent--;
	}
	return rounded_to_120(root);
}

bool wide_less_equal(struct wide a, struct wide b)
{
	struct wide difference = wide_sub(b, a);

	if (a.kind == WIDE_INFINITE && b.kind == WIDE_INFINITE)
		return a.negative || !b.negative;
	return difference.kind != WIDE_NAN && (difference.kind == WIDE_ZERO || !difference.negative);
}
