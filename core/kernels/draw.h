/*
 * Seeded random numbers: Threefry-2x64-20 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) and
 * the Box–Muller transform.
 *
 * Numbers 32q + i and 32q + 16 + i of a stream (i below 16) come from the words w0, w1 of the block with counter
 * (16q + i, stream) and key (seed, 0).
 *
 *     uniform  (w >> 11)·2^-52 − 1 + 2^-53, in (−1, 1): of w0, of w1
 *     normal   √(−2 ln u)·cos(2πv), √(−2 ln u)·sin(2πv)   u = (w0 >> 11)·2^-53 + 2^-54, v = (w1 >> 11)·2^-53
 */
#ifndef KERNELS_DRAW_H
#define KERNELS_DRAW_H

#include "elementary.h"

#if WIDTH > 1
typedef uint64_t vu64 __attribute__((vector_size(8 * WIDTH)));
#else
typedef uint64_t vu64;
#endif

INLINE i64x16 i64_add(i64x16 a, i64x16 b)
{
	i64x16 r;

	EACH(r.v[k] = (vi64)((vu64)a.v[k] + (vu64)b.v[k]);)
	return r;
}

INLINE i64x16 i64_mix(i64x16 a, i64x16 b, int rotation)
{
	i64x16 r;

	EACH(vu64 x = (vu64)a.v[k]; r.v[k] = (vi64)(x << rotation | x >> (64 - rotation)) ^ b.v[k];)
	return r;
}

/* 20 rounds over 16 counters: word 0 counts up from `first`, word 1 is the stream. */
INLINE void threefry(uint64_t seed, uint64_t stream, uint64_t first, i64x16 *w0, i64x16 *w1)
{
	static const int64_t count[LANES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	const uint64_t key[3] = {seed, 0, 0x1bd11bdaa9fc1a22 ^ seed};
	i64x16 x0, x1 = i64_set((int64_t)(stream + key[1]));

	memcpy(&x0, count, sizeof(x0));
	x0 = i64_add(x0, i64_set((int64_t)(first + key[0])));
#define ROUND(rotation)                                                                                                \
	x0 = i64_add(x0, x1);                                                                                          \
	x1 = i64_mix(x1, x0, rotation);
#define INJECT(n)                                                                                                      \
	x0 = i64_add(x0, i64_set((int64_t)key[(n) % 3]));                                                              \
	x1 = i64_add(x1, i64_set((int64_t)(key[((n) + 1) % 3] + (n))));
#define FOUR_EVEN ROUND(16) ROUND(42) ROUND(12) ROUND(31)
#define FOUR_ODD ROUND(16) ROUND(32) ROUND(24) ROUND(21)
	FOUR_EVEN INJECT(1) FOUR_ODD INJECT(2) FOUR_EVEN INJECT(3) FOUR_ODD INJECT(4) FOUR_EVEN INJECT(5)
#undef ROUND
#undef INJECT
#undef FOUR_EVEN
#undef FOUR_ODD
	    *w0 = x0;
	*w1 = x1;
}

/* (w >> 11)·2^-53, exact. */
INLINE f64x16 unit(i64x16 w)
{
	f64x16 r;

	/* 52 bits under the exponent of 1 give [1, 2); the 53rd is worth 2^-53. */
	EACH(vu64 bits = (vu64)w.v[k]; vf64 head = UNBITS((vi64)(bits >> 12 | 0x3ff0000000000000u));
	     r.v[k] = (head - 1) + UNBITS((vi64)(-(bits >> 11 & 1) & 0x3ca0000000000000u));)
	return r;
}

/* The first 16 of 32 numbers, then the others; fewer at the end. */
INLINE void store_both(double *out, f64x16 a, f64x16 b, size_t count)
{
	if (count >= 2 * LANES) {
		f64_store(out, a, LANES);
		f64_store(out + LANES, b, LANES);
		return;
	}
	f64_store(out, a, count < LANES ? (unsigned)count : LANES);
	if (count > LANES)
		f64_store(out + LANES, b, (unsigned)count - LANES);
}

static void draw_uniform(uint64_t seed, uint64_t stream, double scale, double *out, size_t count)
{
	for (size_t i = 0; i < count; i += 2 * LANES) {
		i64x16 w0, w1;
		f64x16 u, v, two = f64_set(2), shift = f64_set(0x1p-53 - 1);

		threefry(seed, stream, i / 2, &w0, &w1);
		u = f64_mul(f64_set(scale), f64_add(f64_mul(two, unit(w0)), shift));
		v = f64_mul(f64_set(scale), f64_add(f64_mul(two, unit(w1)), shift));
		store_both(out + i, u, v, count - i);
	}
}

static void draw_normal(uint64_t seed, uint64_t stream, double scale, double *out, size_t count)
{
	for (size_t i = 0; i < count; i += 2 * LANES) {
		i64x16 w0, w1;
		f64x16 u, v, radius, sine, cosine;

		threefry(seed, stream, i / 2, &w0, &w1);
		u = f64_add(unit(w0), f64_set(0x1p-54));
		v = unit(w1);
		radius = f64_sqrt(f64_mul(f64_set(-2), f64_log_u35(u)));
		radius = f64_mul(f64_set(scale), radius);
		f64_sincospi_u35(f64_mul(f64_set(2), v), &sine, &cosine);
		store_both(out + i, f64_mul(radius, cosine), f64_mul(radius, sine), count - i);
	}
}

#endif
