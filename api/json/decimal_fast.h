/* Decimals whose rounding one 64 x 128-bit product decides: nearly all of them. */
#ifndef API_DECIMAL_FAST_H
#define API_DECIMAL_FAST_H

#include "core/dtype.h"
#include "powers_of_ten.h"

#include <string.h>

static inline uint64_t double_bits(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	return bits;
}

static inline double double_of_bits(uint64_t bits)
{
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

/*
 * mantissa 10^q, mantissa not 0 and q one of the table's, rounded to the nearest double, ties to even: Lemire, "Number
 * parsing at a gigabyte per second" (arXiv 2101.11408), with the whole product. False when the product, too small by less
 * than two units of its last place, does not decide, or the result is not a normal number.
 */
static inline bool decimal_fast_float64(uint64_t mantissa, int q, double *value)
{
	const struct power_of_ten *power = &powers_of_ten[q - POWER_OF_TEN_MIN];
	int zeros = __builtin_clzll(mantissa);
	uint64_t w = mantissa << zeros;
	u128 low = (u128)w * power->low;
	u128 x = (u128)w * power->high + (low >> 64);
	uint64_t high = (uint64_t)(x >> 64), rest_low = (uint64_t)x;
	int drop = 10 + (int)(high >> 63);
	uint64_t significand = high >> drop, half = UINT64_C(1) << (drop - 1), rest = high & (2 * half - 1);
	bool exact = q >= 0 && q <= POWER_OF_TEN_EXACT_MAX && (uint64_t)low == 0 && rest_low == 0;
	significand += rest > half || (rest == half && (!exact || (significand & 1)));
	int biased = power_of_ten_exponent(q) - zeros + drop + 1076; /* x = significand 2^(biased - 1075) */
	*value = double_of_bits(((uint64_t)(biased - 1) << 52) + significand);
	return rest_low < UINT64_MAX - 1 && biased > 0 && biased < 2046;
}

/*
 * The nearest double of a decimal to the nearest of a narrower dtype. False for what rounding twice can spoil, a double
 * halfway between two of them, and outside the normal numbers.
 */
static inline bool narrow_from_float64(double value, enum nc_dtype dtype, double *narrow)
{
	if (dtype == NC_FLOAT64) {
		*narrow = value;
		return true;
	}
	const int drop = dtype == NC_FLOAT32 ? 29 : dtype == NC_BFLOAT16 ? 45 : 42;
	const double least = dtype == NC_FLOAT16 ? 0x1p-14 : 0x1p-126;
	const double most = dtype == NC_FLOAT32 ? 0x1.fffffep127 : dtype == NC_BFLOAT16 ? 0x1.fep127 : 65504;
	uint64_t bits = double_bits(value), half = UINT64_C(1) << (drop - 1);
	*narrow = double_of_bits((bits + half) >> drop << drop);
	return (bits & (2 * half - 1)) != half && value >= least && *narrow <= most;
}

#endif
