/* float64 rounded once to a narrower dtype, to nearest, ties to even, subnormals included. */
#ifndef KERNELS_ROUNDING_H
#define KERNELS_ROUNDING_H

#include "core/dtype.h"
#include "simd.h"

/*
 * Adding 1.5 · 2^(e + 53 − p) to a number of exponent e makes the addition itself round to p bits; below the smallest
 * normal exponent the unit stays. Valid for magnitudes below 2^970.
 */
struct rounding {
	double least; /* the smallest normal value */
	double magic; /* 1.5 · 2^(53 − p) */
	double max;
	double half;  /* half a unit of the last place of 1: 2^-p */
};

/* 2^exponent, a normal number; ldexp takes longer than a short row. */
INLINE double power_of_two(int exponent)
{
	uint64_t bits = (uint64_t)(exponent + 1023) << 52;
	double power;

	memcpy(&power, &bits, sizeof(power));
	return power;
}

INLINE struct rounding rounding_to(enum nc_dtype dtype)
{
	int bits = nc_dtype_mantissa_bits(dtype);

	return (struct rounding){power_of_two(nc_dtype_min_exponent(dtype)), 1.5 * power_of_two(53 - bits), nc_dtype_max(dtype),
	                         power_of_two(-bits)};
}

INLINE f64x16 f64_round(f64x16 a, struct rounding to)
{
	f64x16 power = f64_and(a, i64_set(0x7ff0000000000000)), sign = f64_and(a, i64_set(INT64_MIN));
	f64x16 magic = f64_mul(f64_max(power, f64_set(to.least)), f64_set(to.magic));
	f64x16 rounded = f64_abs(f64_sub(f64_add(a, magic), magic));

	rounded = f64_select(f64_less_equal(rounded, f64_set(to.max)), rounded, f64_set((double)INFINITY));
	return f64_or(rounded, sign);
}

/* Relative error that no value of bfloat16 or float16 reaches before it is rounded, its terms not cancelling much. */
#define NORM_ERROR 0x1p-45

/*
 * Lanes whose rounding the errors of a are enough to change: those within `error`·|a| of halfway between two values of
 * the dtype. Halfway itself is among them, since it may be exact or not.
 */
INLINE i64x16 f64_doubtful(f64x16 a, struct rounding to, double error)
{
	f64x16 power = f64_max(f64_and(a, i64_set(0x7ff0000000000000)), f64_set(to.least));
	f64x16 magic = f64_mul(power, f64_set(to.magic)), rounded = f64_sub(f64_add(a, magic), magic);
	f64x16 off = f64_sub(f64_abs(f64_sub(a, rounded)), f64_mul(power, f64_set(to.half)));

	return f64_less_equal(f64_abs(off), f64_mul(f64_abs(a), f64_set(error)));
}

#endif
