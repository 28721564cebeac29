#include "shortest.h"
#include "powers_of_ten.h"

/*
 * Schubfach (Giulietti, "The Schubfach way to render doubles"): of the decimals that round to c 2^q, at most one is a
 * multiple of 10^(k + 1), where 10^k is the largest power of ten not above the width of the rounding interval; without it,
 * the nearer of the two multiples of 10^k beside the value. lower_closer: c is the least of its binade, so that the interval
 * reaches down half as far.
 */
struct problem {
	uint64_t c;
	int q, k;
	bool lower_closer;
};

static struct problem problem_of(uint64_t fraction, int exponent, int fraction_bits, int bias)
{
	bool normal = exponent > 0, lower_closer = fraction == 0 && exponent > 1;
	int q = (normal ? exponent : 1) - bias - fraction_bits;
	return (struct problem){
		.c = fraction | (uint64_t)normal << fraction_bits,
		.q = q,
		.k = (q * 1262611 - (lower_closer ? 524031 : 0)) >> 22, /* floor(log10(2^q)), or of 3/4 2^q */
		.lower_closer = lower_closer,
	};
}

/* floor(x g / 2^128), its last bit set when the quotient is not exact (but for errors of g in the last place). */
static uint64_t multiply_to_odd(const struct power_of_ten *g, uint64_t x)
{
	u128 low = (u128)g->low * x;
	u128 y = (u128)g->high * x + (low >> 64);
	return (uint64_t)(y >> 64) | ((uint64_t)y > 1);
}

/* The algorithm as published: exact, in quarters of 10^k. */
static __attribute__((noinline)) struct shortest exact(struct problem p)
{
	int h = p.q + power_of_ten_exponent(-p.k) + 1;
	struct power_of_ten g = powers_of_ten[-p.k - POWER_OF_TEN_MIN];
	if (p.k > 0 || -p.k > POWER_OF_TEN_EXACT_MAX) { /* rounded up */
		g.low++;
		g.high += g.low == 0;
	}
	uint64_t odd = p.c & 1;
	uint64_t lower = multiply_to_odd(&g, (4 * p.c - 2 + p.lower_closer) << h) + odd;
	uint64_t value = multiply_to_odd(&g, (4 * p.c) << h);
	uint64_t upper = multiply_to_odd(&g, (4 * p.c + 2) << h) - odd;
	uint64_t s = value / 4, tens = s / 10 * 10;
	bool below = lower <= 4 * tens, above = 4 * tens + 40 <= upper;
	if (below != above)
		return (struct shortest){tens + 10 * above, p.k};
	below = lower <= 4 * s, above = 4 * s + 4 <= upper;
	if (below != above)
		return (struct shortest){s + above, p.k};
	uint64_t middle = 4 * s + 2;
	bool up = value > middle || (value == middle && (s & 1));
	return (struct shortest){s + up, p.k};
}

/*
 * The same by one product: V = c 2^q 10^-k in fixed point, H the half width of the interval. The multiples of ten beside V
 * lie in it if t = V mod 10 <= H, or 10 - t <= H. s + fraction 2^-59 is below V by less than two units, half below H by less
 * than one; comparisons within that error are left to the exact way.
 */
static inline struct shortest decide(struct problem p, uint64_t s, uint64_t fraction, uint64_t half)
{
	uint64_t tens = s / 10 * 10, t = (s - tens) << 59 | fraction, down = p.lower_closer ? half / 2 : half;
	int64_t in_down = (int64_t)(down - t), in_up = (int64_t)(half - (UINT64_C(10) << 59) + t);
	int64_t beyond = (int64_t)(fraction - (UINT64_C(1) << 58)), one_in_down = (int64_t)(down - fraction);
	bool unsure = (uint64_t)in_down < 2 || (uint64_t)in_up + 2 <= 2 || (uint64_t)beyond + 2 <= 2 ||
	              (p.lower_closer && (uint64_t)one_in_down < 2);
	if (__builtin_expect(unsure, 0))
		return exact(p);
	/* Which of these it is depends on the last bits: nothing to branch on, so sign bits are made masks. */
	uint64_t up = (uint64_t)(-beyond >> 63) | (-(uint64_t)p.lower_closer & (uint64_t)(one_in_down >> 63));
	uint64_t ten_up = (uint64_t)(-in_up >> 63), ten = (uint64_t)(-in_down >> 63) | ten_up;
	uint64_t rounded_tens = tens + (10 & ten_up), rounded = s - up;
	return (struct shortest){rounded ^ ((rounded ^ rounded_tens) & ten), p.k};
}

static inline struct shortest shortest(struct problem p)
{
	const struct power_of_ten *g = &powers_of_ten[-p.k - POWER_OF_TEN_MIN];
	int shift = p.q + power_of_ten_exponent(-p.k); /* 2^q 10^-k = g 2^(shift - 127), from 1 to 13.3 */
	uint64_t c = p.c << shift;
	u128 v = (u128)c * g->high + ((u128)c * g->low >> 64); /* in 2^-63 */
	return decide(p, (uint64_t)(v >> 63), (uint64_t)v << 1 >> 5, g->high >> (5 - shift));
}

struct shortest shortest_float64(uint64_t bits)
{
	return shortest(problem_of(bits & ((UINT64_C(1) << 52) - 1), (int)(bits >> 52 & 2047), 52, 1023));
}

struct shortest shortest_float32(uint32_t bits)
{
	return shortest(problem_of(bits & ((UINT32_C(1) << 23) - 1), (int)(bits >> 23 & 255), 23, 127));
}
