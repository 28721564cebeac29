#include "shortest.h"
#include "powers_of_ten.h"

/* floor(x g / 2^128), its last bit set when the quotient is not exact (but for errors of g in the last place). */
static uint64_t multiply_to_odd(const struct power_of_ten *g, uint64_t x)
{
	u128 low = (u128)g->low * x;
	u128 y = (u128)g->high * x + (low >> 64);
	return (uint64_t)(y >> 64) | ((uint64_t)y > 1);
}

/*
 * Schubfach (Giulietti, "The Schubfach way to render doubles"): of the decimals that round to c 2^q, at most one ends a
 * digit earlier than the grid 10^k does, whose step is the largest power of ten not above the width of the rounding
 * interval; without it, the nearer of the two on the grid. lower_closer: c is the least of its binade, so that the
 * interval reaches down half as far.
 */
static struct shortest shortest_decimal(uint64_t c, int q, bool lower_closer)
{
	int k = (q * 1262611 - (lower_closer ? 524031 : 0)) >> 22; /* floor(log10(2^q)), or of 3/4 2^q */
	int h = q + power_of_ten_exponent(-k) + 1;
	struct power_of_ten g = powers_of_ten[-k - POWER_OF_TEN_MIN];
	if (k > 0 || -k > POWER_OF_TEN_EXACT_MAX) { /* rounded up */
		g.low++;
		g.high += g.low == 0;
	}
	uint64_t odd = c & 1;
	uint64_t lower = multiply_to_odd(&g, (4 * c - 2 + lower_closer) << h) + odd;
	uint64_t value = multiply_to_odd(&g, (4 * c) << h); /* in quarters of the grid's step */
	uint64_t upper = multiply_to_odd(&g, (4 * c + 2) << h) - odd;
	uint64_t s = value / 4;
	if (s >= 10) {
		uint64_t tens = s / 10;
		bool below = lower <= 40 * tens, above = 40 * tens + 40 <= upper;
		if (below != above)
			return (struct shortest){tens + above, k + 1};
	}
	bool below = lower <= 4 * s, above = 4 * s + 4 <= upper;
	if (below != above)
		return (struct shortest){s + above, k};
	uint64_t middle = 4 * s + 2;
	bool up = value > middle || (value == middle && (s & 1));
	return (struct shortest){s + up, k};
}

struct shortest shortest_float64(uint64_t bits)
{
	uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
	int exponent = (int)(bits >> 52 & 2047);
	if (exponent == 0)
		return shortest_decimal(fraction, -1074, false);
	return shortest_decimal(fraction | UINT64_C(1) << 52, exponent - 1075, fraction == 0 && exponent > 1);
}

struct shortest shortest_float32(uint32_t bits)
{
	uint32_t fraction = bits & ((UINT32_C(1) << 23) - 1);
	int exponent = (int)(bits >> 23 & 255);
	if (exponent == 0)
		return shortest_decimal(fraction, -149, false);
	return shortest_decimal(fraction | UINT32_C(1) << 23, exponent - 150, fraction == 0 && exponent > 1);
}
