#include "decimal.h"
#include "decimal_fast.h"

#include <math.h>

struct format {
	int bits, min_exponent, max_exponent;
};

static const struct format formats[] = {
#define DTYPE(NAME, text, wire_bytes, mantissa_bits, min_exponent, max_finite) \
	{mantissa_bits, min_exponent, 1 - (min_exponent)},
#include "core/dtype.def"
#undef DTYPE
};

/* significand 2^exponent: bits of one candidate, before and after the rounding. */
struct binary {
	uint64_t floor;
	int exponent;
	bool up; /* whether the rounding goes to floor + 1 */
};

static int leading_zeros(u128 x)
{
	uint64_t high = (uint64_t)(x >> 64);
	return high ? __builtin_clzll(high) : 64 + __builtin_clzll((uint64_t)x);
}

/* x 2^exponent (x not 0), or a value between it and (x + 1) 2^exponent when `more`, rounded to the format. */
static struct binary round_binary(u128 x, int exponent, bool more, const struct format *format)
{
	int zeros = leading_zeros(x);
	int top = exponent + 127 - zeros; /* the value lies in [2^top, 2^(top + 1)) */
	int bits = format->bits;
	if (top < format->min_exponent)
		bits -= format->min_exponent - top;
	if (bits < 0)
		return (struct binary){0, format->min_exponent - format->bits + 1, false};
	int drop = 128 - bits;
	u128 normal = x << zeros;
	uint64_t floor = drop == 128 ? 0 : (uint64_t)(normal >> drop);
	u128 half = (u128)1 << (drop - 1), rest = drop == 128 ? normal : normal & ((half << 1) - 1);
	bool up = rest > half || (rest == half && (more || (floor & 1)));
	return (struct binary){floor, top + 1 - bits, up};
}

static double power_of_two(int exponent)
{
	return double_of_bits((uint64_t)(exponent + 1023) << 52);
}

static double assemble(struct binary b, const struct format *format)
{
	uint64_t significand = b.floor + b.up;
	int width = 64 - __builtin_clzll(significand | 1);
	if (significand && b.exponent + width - 1 > format->max_exponent)
		return INFINITY;
	if (b.exponent < -1022)
		return (double)significand * power_of_two(b.exponent + 64) * power_of_two(-64);
	return (double)significand * power_of_two(b.exponent);
}

/*
 * The 64-bit mantissa times the 128-bit power of ten, kept to 128 bits, together with a bound from above: where both round
 * to the same value that is the answer, else big integers decide.
 */
double decimal_round(const struct decimal *d, enum nc_dtype dtype)
{
	const struct format *format = &formats[dtype];
	if (d->mantissa == 0 || d->exponent < POWER_OF_TEN_MIN)
		return 0;
	if (d->exponent > 308)
		return INFINITY;
	int q = (int)d->exponent;
	double value;
	if (!d->truncated && decimal_fast_float64(d->mantissa, q, &value) && narrow_from_float64(value, dtype, &value))
		return value;
	const struct power_of_ten *power = &powers_of_ten[q - POWER_OF_TEN_MIN];
	int zeros = __builtin_clzll(d->mantissa);
	uint64_t w = d->mantissa << zeros;
	u128 low = (u128)w * power->low;
	u128 x = (u128)w * power->high + (low >> 64);
	int exponent = power_of_ten_exponent(q) - 127 - zeros + 64;
	bool exact = q >= 0 && q <= POWER_OF_TEN_EXACT_MAX && !d->truncated;
	struct binary lower = round_binary(x, exponent, !exact || (uint64_t)low, format);
	if (exact)
		return assemble(lower, format);
	/* What the product leaves out: w times less than a unit of the power; one more unit of an incomplete mantissa. */
	u128 last = x + 1;
	if (d->truncated)
		last += ((u128)power->high << zeros) + 2;
	if (last < x)
		last = ~(u128)0;
	struct binary upper = round_binary(last, exponent, true, format);
	if (upper.exponent != lower.exponent || upper.floor + upper.up != lower.floor + lower.up) {
		int order = decimal_compare(d, lower.floor * 2 + 1, lower.exponent - 1);
		lower.up = order > 0 || (order == 0 && (lower.floor & 1));
	}
	return assemble(lower, format);
}
