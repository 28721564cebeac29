/*
 * Numbers of 128 significant bits with an exponent of their own: for what float64 cannot reach.
 *
 * Each operation is within 2^-126 of the exact result (relative to the larger operand for a sum, 2^-120 for a root),
 * never overflows or underflows, and is exact when the result has no more than 120 bits. Infinities, NaN and signed
 * zeros behave as in IEEE arithmetic. Integers only, so the same bits everywhere.
 */
#ifndef NORMCORE_WIDE_H
#define NORMCORE_WIDE_H

#include "dtype.h"

__extension__ typedef unsigned __int128 wide_bits;

enum wide_kind { WIDE_ZERO, WIDE_FINITE, WIDE_INFINITE, WIDE_NAN };

struct wide {
	wide_bits mantissa; /* WIDE_FINITE: the top bit is set, and the value is ± mantissa · 2^(exponent − 127) */
	int exponent;
	enum wide_kind kind;
	bool negative;
};

struct wide wide_from(double x);
struct wide wide_from_count(uint64_t n);

/* Rounded once to dtype, subnormals included; beyond its range an infinity. */
double wide_round(struct wide a, enum nc_dtype dtype);

struct wide wide_neg(struct wide a);
struct wide wide_add(struct wide a, struct wide b);
struct wide wide_sub(struct wide a, struct wide b);
struct wide wide_mul(struct wide a, struct wide b);
struct wide wide_div(struct wide a, struct wide b);
struct wide wide_sqrt(struct wide a);

/* a <= b; false when either is NaN. */
bool wide_less_equal(struct wide a, struct wide b);

#endif
