/* A scanned decimal and its one rounding to a dtype: the exact, scalar half of the number reader. */
#ifndef API_DECIMAL_H
#define API_DECIMAL_H

#include "core/dtype.h"

/*
 * |value| = mantissa 10^exponent, where the mantissa holds the first 19 significant digits; where others that are not
 * all zero follow (truncated) the value is above that and below (mantissa + 1) 10^exponent.
 */
struct decimal {
	uint64_t mantissa;
	int64_t exponent;
	bool negative;
	bool truncated;
	const char *digits, *digits_end; /* the text of all digits, with a '.' among them or none */
	int64_t digits_exponent;         /* of the last of them */
};

/* |value| to nearest, ties to even, in the dtype; infinity where it overflows. */
double decimal_round(const struct decimal *d, enum nc_dtype dtype);

/*
 * Compares |value| with halves 2^exponent by big integers: negative, 0 or positive. For values that are neither 0 nor
 * beyond the doubles' range, and 0 < halves < 2^54.
 */
int decimal_compare(const struct decimal *d, uint64_t halves, int exponent);

#endif
