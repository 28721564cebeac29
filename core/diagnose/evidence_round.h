/* Rounding to a dtype's grid in a few instructions, for loops that do it for every element and hypothesis. Internal. */
#ifndef NORMCORE_EVIDENCE_ROUND_H
#define NORMCORE_EVIDENCE_ROUND_H

#include "../dtype.h"

#include <math.h>
#include <string.h>

/* As nc_dtype_round. */
static inline double evidence_round(enum nc_dtype dtype, double value)
{
	static const struct {
		double least_normal, subnormal, largest;
		unsigned shift;
	} grids[NC_DTYPE_COUNT] = {
		[NC_BFLOAT16] = {0x1p-126, 0x1.8p-81, 0x1.fep+127, 45},
		[NC_FLOAT16] = {0x1p-14, 0x1.8p28, 0x1.ffcp+15, 42},
	};
	if (dtype == NC_FLOAT64)
		return value;
	if (dtype == NC_FLOAT32)
		return (float)value;
	double size = fabs(value);
	if (size < grids[dtype].least_normal) { /* the sum's last bit weighs one subnormal unit */
		volatile double sum = value + grids[dtype].subnormal;
		return sum - grids[dtype].subnormal;
	}
	/* Adding half a unit to the bits, ties to even, carries into the exponent as rounding does. */
	unsigned shift = grids[dtype].shift;
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	bits += ((uint64_t)1 << (shift - 1)) - 1 + (bits >> shift & 1);
	bits &= ~(((uint64_t)1 << shift) - 1);
	double rounded;
	memcpy(&rounded, &bits, sizeof rounded);
	if (fabs(rounded) <= grids[dtype].largest)
		return rounded;
	return size <= 0x1.fffffffffffffp+1023 ? copysign((double)INFINITY, value) : value; /* NaN and infinities stay */
}

/* The unit of the last place of a value on the dtype's grid; of 0 the smallest one. */
static inline double evidence_ulp(enum nc_dtype dtype, double value)
{
	static const struct {
		int least_exponent, bits;
	} grids[NC_DTYPE_COUNT] = {
#define DTYPE(NAME, text, wire_bytes, mantissa_bits, min_exponent, max_finite) [NC_##NAME] = {min_exponent, mantissa_bits},
#include "../dtype.def"
#undef DTYPE
	};
	int64_t bits;
	memcpy(&bits, &value, sizeof bits);
	int64_t exponent = (bits >> 52 & 0x7ff) - 1023, least = grids[dtype].least_exponent;
	exponent = (exponent < least ? least : exponent) - (grids[dtype].bits - 1);
	if (exponent < -1022)
		return 0x1p-1074;
	bits = (exponent + 1023) << 52;
	memcpy(&value, &bits, sizeof value);
	return value;
}

#endif
