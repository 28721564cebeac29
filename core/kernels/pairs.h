/*
 * Pairs of float64, high + low with high = fl(high + low): about 106 bits (Dekker 1971; Hida, Li and Bailey 2001).
 *
 * Sums are within 2^-105 of the magnitudes added, products and quotients within 2^-103, for magnitudes in 2^-900 … 2^900.
 * Products are exact by a fused multiply-add where there is one and by Dekker's split where not: the same bits.
 */
#ifndef KERNELS_PAIRS_H
#define KERNELS_PAIRS_H

#include "simd.h"

struct pair {
	double high, low;
};

struct pair16 {
	f64x16 high, low;
};

/* --- one pair ---------------------------------------------------------------------------------------------------- */

/* |a| >= |b|, or a is 0 */
INLINE struct pair pair_renormal(double a, double b)
{
	double s = a + b;

	return (struct pair){s, b - (s - a)};
}

INLINE struct pair pair_sum(double a, double b)
{
	double s = a + b, t = s - a;

	return (struct pair){s, (a - (s - t)) + (b - t)};
}

INLINE struct pair pair_product(double a, double b)
{
	double p = a * b;
#if defined(__FMA__) || defined(__aarch64__)
	return (struct pair){p, __builtin_fma(a, b, -p)};
#else
	double ta = a * 0x1.0000002p27, tb = b * 0x1.0000002p27;
	double ah = ta - (ta - a), bh = tb - (tb - b), al = a - ah, bl = b - bh;

	return (struct pair){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
#endif
}

INLINE struct pair pair_add(struct pair a, struct pair b)
{
	struct pair s = pair_sum(a.high, b.high);

	return pair_renormal(s.high, s.low + (a.low + b.low));
}

INLINE struct pair pair_neg(struct pair a)
{
	return (struct pair){-a.high, -a.low};
}

INLINE struct pair pair_mul(struct pair a, struct pair b)
{
	struct pair p = pair_product(a.high, b.high);

	return pair_renormal(p.high, p.low + (a.high * b.low + a.low * b.high));
}

INLINE struct pair pair_div(struct pair a, struct pair b)
{
	double q = a.high / b.high;
	struct pair p = pair_product(q, b.high);
	double rest = ((a.high - p.high) - p.low) + a.low - q * b.low;

	return pair_renormal(q, rest / b.high);
}

INLINE struct pair pair_sqrt(struct pair a)
{
	double s = sqrt(a.high);
	struct pair p = pair_product(s, s);

	if (s == 0)
		return (struct pair){0, 0};
	return pair_renormal(s, (((a.high - p.high) - p.low) + a.low) / (2 * s));
}

/* --- sixteen ----------------------------------------------------------------------------------------------------- */

INLINE struct pair16 pair16_set(struct pair a)
{
	return (struct pair16){f64_set(a.high), f64_set(a.low)};
}

INLINE struct pair16 pair16_renormal(f64x16 a, f64x16 b)
{
	f64x16 s = f64_add(a, b);

	return (struct pair16){s, f64_sub(b, f64_sub(s, a))};
}

INLINE struct pair16 pair16_sum(f64x16 a, f64x16 b)
{
	f64x16 s = f64_add(a, b), t = f64_sub(s, a);

	return (struct pair16){s, f64_add(f64_sub(a, f64_sub(s, t)), f64_sub(b, t))};
}

INLINE struct pair16 pair16_product(f64x16 a, f64x16 b)
{
	f64x16 p = f64_mul(a, b);

	return (struct pair16){p, f64_product_error(a, b, p)};
}

INLINE struct pair16 pair16_add(struct pair16 a, struct pair16 b)
{
	struct pair16 s = pair16_sum(a.high, b.high);

	return pair16_renormal(s.high, f64_add(s.low, f64_add(a.low, b.low)));
}

INLINE struct pair16 pair16_sub(struct pair16 a, struct pair16 b)
{
	f64x16 zero = f64_set(-0.0);
	struct pair16 s = pair16_sum(a.high, f64_sub(zero, b.high));

	return pair16_renormal(s.high, f64_add(s.low, f64_sub(a.low, b.low)));
}

INLINE struct pair16 pair16_mul(struct pair16 a, struct pair16 b)
{
	struct pair16 p = pair16_product(a.high, b.high);
	f64x16 cross = f64_add(f64_mul(a.high, b.low), f64_mul(a.low, b.high));

	return pair16_renormal(p.high, f64_add(p.low, cross));
}

INLINE struct pair16 pair16_scale(struct pair16 a, f64x16 b)
{
	struct pair16 p = pair16_product(a.high, b);

	return pair16_renormal(p.high, f64_add(p.low, f64_mul(a.low, b)));
}

/*
 * A running sum: errors are gathered in `low` and not carried on. Good for some tens of additions; then it is added to
 * another by pair16_add.
 */
INLINE void pair16_accumulate(struct pair16 *sum, struct pair16 x)
{
	struct pair16 s = pair16_sum(sum->high, x.high);

	sum->high = s.high;
	sum->low = f64_add(sum->low, f64_add(s.low, x.low));
}

/*
 * high + low made ready for one rounding to fewer bits: when low is not 0 the last bit of high is made odd, on low's
 * side (Boldo and Melquiond 2008).
 */
INLINE f64x16 round_to_odd(f64x16 high, f64x16 low)
{
	i64x16 exact = f64_equal(low, f64_set(0));
	f64x16 r;

	EACH(vi64 bits = BITS(high.v[k]); vi64 even = (bits & 1) - 1; vi64 step = ((bits ^ BITS(low.v[k])) >> 63) | 1;
	     r.v[k] = UNBITS(bits + (step & even & ~exact.v[k]));)
	return r;
}

/* The lanes' sum, in the tree of f64_sum. */
INLINE struct pair pair16_total(struct pair16 a)
{
	double high[LANES], low[LANES];

	f64_store(high, a.high, LANES);
	f64_store(low, a.low, LANES);
	for (int half = LANES / 2; half; half /= 2)
		for (int i = 0; i < half; i++) {
			struct pair s = pair_add((struct pair){high[i], low[i]}, (struct pair){high[i + half], low[i + half]});

			high[i] = s.high;
			low[i] = s.low;
		}
	return (struct pair){high[0], low[0]};
}

#endif
