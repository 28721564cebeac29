/* Softmax of one row, forward and backward, and weighted sums of rows. */
#ifndef KERNELS_SOFTMAX_H
#define KERNELS_SOFTMAX_H

#include "elementary.h"

/* Lanes beyond count are filled with `other`. */
INLINE f64x16 load_or(const double *p, unsigned count, double other)
{
	return count == LANES ? f64_load(p, LANES)
	                      : f64_select(i64_lanes_below(count), f64_load(p, count), f64_set(other));
}

INLINE double largest(f64x16 a)
{
	double t[LANES];

	memcpy(t, &a, sizeof(t));
	for (int half = LANES / 2; half; half /= 2)
		for (int i = 0; i < half; i++)
			t[i] = t[i] < t[i + half] ? t[i + half] : t[i];
	return t[0];
}

#define BLOCKS(count, body)                                                                                            \
	{                                                                                                              \
		size_t i = 0;                                                                                          \
                                                                                                                       \
		for (; i + LANES <= (count); i += LANES) {                                                             \
			enum { lanes = LANES };                                                                        \
			body                                                                                           \
		}                                                                                                      \
		if (i < (count)) {                                                                                     \
			unsigned lanes = (unsigned)((count)-i);                                                        \
			body                                                                                           \
		}                                                                                                      \
	}

/* p_i = e^(s_i − max s) / Σ e^(s_j − max s), in place. */
static void softmax(double *s, size_t count)
{
	f64x16 top = f64_set(-INFINITY), total = f64_set(0), shift, scale;

	BLOCKS(count, top = f64_max(top, load_or(s + i, lanes, -INFINITY));)
	shift = f64_set(largest(top));
	BLOCKS(count, f64x16 e = f64_exp(f64_sub(load_or(s + i, lanes, -INFINITY), shift)); total = f64_add(total, e);
	       f64_store(s + i, e, lanes);)
	scale = f64_set(f64_sum(total));
	BLOCKS(count, f64_store(s + i, f64_div(f64_load(s + i, lanes), scale), lanes);)
}

/* p = softmax(s)  →  ds_i = p_i (dp_i − Σ p_j dp_j); ds may be dp. */
static void softmax_vjp(const double *p, const double *dp, double *ds, size_t count)
{
	f64x16 total = f64_set(0), mean;

	BLOCKS(count, total = f64_add(total, f64_mul(f64_load(p + i, lanes), f64_load(dp + i, lanes)));)
	mean = f64_set(f64_sum(total));
	BLOCKS(count,
	       f64_store(ds + i, f64_mul(f64_load(p + i, lanes), f64_sub(f64_load(dp + i, lanes), mean)), lanes);)
}

/* y_i = s·a_i + u·b_i; y may be a or b. A NULL a leaves its term out. */
static void combine(double s, const double *a, double u, const double *b, double *y, size_t count)
{
	f64x16 fs = f64_set(s), fu = f64_set(u);

	if (a)
		BLOCKS(count,
		       f64_store(y + i,
		                 f64_add(f64_mul(fs, f64_load(a + i, lanes)), f64_mul(fu, f64_load(b + i, lanes))),
		                 lanes);)
	else
		BLOCKS(count, f64_store(y + i, f64_mul(fu, f64_load(b + i, lanes)), lanes);)
}

/* y_i = a_i b_i; y may be a or b. */
static void multiply(const double *a, const double *b, double *y, size_t count)
{
	BLOCKS(count, f64_store(y + i, f64_mul(f64_load(a + i, lanes), f64_load(b + i, lanes)), lanes);)
}

#endif
