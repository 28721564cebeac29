/* The leading 128 bits of the powers of ten, rounded down: reader and writer both live on them. */
#ifndef API_POWERS_OF_TEN_H
#define API_POWERS_OF_TEN_H

#include <stdint.h>

__extension__ typedef unsigned __int128 u128;

/*
 * 10^q as s 2^(e - 127), s an integer of exactly 128 bits rounded down (exact for q from 0 to 55), e = floor(log2(10^q)).
 * From the least power that a nonzero double of twenty digits needs to the largest that the writer divides by.
 */
enum { POWER_OF_TEN_MIN = -342, POWER_OF_TEN_MAX = 324, POWER_OF_TEN_EXACT_MAX = 55 };

struct power_of_ten {
	uint64_t high, low;
};

extern const struct power_of_ten powers_of_ten[POWER_OF_TEN_MAX - POWER_OF_TEN_MIN + 1];

/* floor(log2(10^q)), for |q| up to 1650. */
static inline int power_of_ten_exponent(int q)
{
	return (q * 1741647) >> 19;
}

#endif
