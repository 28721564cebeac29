/*
 * Residual sums s·a + u·b, rounded once and unrounded.
 *
 * A row that is not finite, or whose magnitudes are out of the range of exact products, is left to wide arithmetic: the
 * kernel says so by a result other than 0, and what it wrote is of no use then.
 */
#ifndef KERNELS_RESIDUAL_H
#define KERNELS_RESIDUAL_H

#include "core/norm_job.h"
#include "pairs.h"
#include "params.h"
#include "rounding.h"

INLINE f64x16 residual_load(enum nc_dtype dtype, const void *p, size_t i, unsigned count)
{
	return dtype == NC_FLOAT64 ? f64_load((const double *)p + i, count) : f64_load_f32((const float *)p + i, count);
}

/* high + low rounded once. */
INLINE void residual_store(enum nc_dtype dtype, struct rounding to, void *p, size_t i, struct pair16 v, unsigned count)
{
	f64x16 odd = round_to_odd(v.high, v.low);

	if (dtype == NC_FLOAT64)
		f64_store((double *)p + i, v.high, count);
	else
		f64_store_f32((float *)p + i, dtype == NC_FLOAT32 ? odd : f64_round(odd, to), count);
}

/* v, or where v is 0 the sign of zero that IEEE arithmetic gives. */
INLINE struct pair16 residual_signed(struct pair16 v, f64x16 ieee)
{
	v.high = f64_select(f64_equal(v.high, f64_set(0)), f64_and(ieee, i64_set(INT64_MIN)), v.high);
	return v;
}

/* All ones where a magnitude is neither 0 nor within `least` … `most`; NaN too. */
INLINE i64x16 residual_strange(f64x16 v, double least, double most)
{
	i64x16 within;

	v = f64_abs(v);
	within = i64_and(f64_less_equal(f64_set(least), v), f64_less_equal(v, f64_set(most)));
	return i64_not(i64_or(within, f64_equal(v, f64_set(0))));
}

/* s·a + u·b for general s and u. */
INLINE int residual_general(enum nc_dtype dtype, double s, const void *a, double u, const void *b, size_t n, void *out,
                            double *high, double *low)
{
	struct rounding to = rounding_to(dtype);
	double least = dtype == NC_FLOAT64 ? NORM_JOB_LEAST : 0, most = dtype == NC_FLOAT64 ? NORM_JOB_MOST : 0x1p+128;
	i64x16 strange = i64_set(0);

	ROW_BLOCKS(n, {
		f64x16 va = residual_load(dtype, a, i, count);
		struct pair16 v = pair16_product(f64_set(s), va);

		strange = i64_or(strange, residual_strange(va, least, most));
		if (b) {
			f64x16 vb = residual_load(dtype, b, i, count);
			struct pair16 w = pair16_product(f64_set(u), vb);

			strange = i64_or(strange, residual_strange(vb, least, most));
			v = residual_signed(pair16_add(v, w), f64_add(v.high, w.high));
		}
		if (out)
			residual_store(dtype, to, out, i, v, count);
		if (high)
			f64_store(high + i, v.high, count);
		if (low)
			f64_store(low + i, v.low, count);
	});
	return i64_any(strange);
}

/* a + b: one addition of the processor's rounds as it should. */
INLINE int residual_plain(enum nc_dtype dtype, const void *a, const void *b, size_t n, void *out)
{
	if (dtype == NC_FLOAT64) {
		const double *x = a, *y = b;
		double *z = out;

		for (size_t i = 0; i < n; i++)
			z[i] = x[i] + y[i];
		return not_finite_f64(z, n);
	}
	const float *x = a, *y = b;
	float *z = out;

	for (size_t i = 0; i < n; i++)
		z[i] = x[i] + y[i];
	return not_finite(z, n);
}

/* The same of float32 in float64, exact or rounded there: rounded again, to float32, it is as if rounded once. */
INLINE int residual_plain_wide(const float *a, const float *b, size_t n, float *out, double *high)
{
	f64x16 nothing = f64_set(0);

	ROW_BLOCKS(n, {
		f64x16 v = f64_add(f64_load_f32(a + i, count), f64_load_f32(b + i, count));

		nothing = f64_add(nothing, f64_sub(v, v)); /* NaN where v is not finite */
		if (out)
			f64_store_f32(out + i, v, count);
		f64_store(high + i, v, count);
	});
	return i64_any(i64_not(f64_equal(nothing, f64_set(0))));
}

/*
 * One row of n: out = s·a + u·b rounded to dtype (b NULL: s·a), and unrounded in `high` and `low`. out, high, low may
 * each be NULL; high without low is the sum rounded to float64.
 */
static int residual_sum(enum nc_dtype dtype, double s, const void *a, double u, const void *b, size_t n, void *out,
                        double *high, double *low)
{
	if (s == 1 && !b && !high) {
		memcpy(out, a, n * nc_dtype_storage_bytes(dtype));
		return 0;
	}
	if (s == 1 && u == 1 && b && !high && (dtype == NC_FLOAT64 || dtype == NC_FLOAT32))
		return residual_plain(dtype, a, b, n, out);
	if (s == 1 && u == 1 && b && !low && dtype == NC_FLOAT32)
		return residual_plain_wide(a, b, n, out, high);
	if (dtype == NC_FLOAT64)
		return residual_general(NC_FLOAT64, s, a, u, b, n, out, high, low);
	if (dtype == NC_FLOAT32)
		return residual_general(NC_FLOAT32, s, a, u, b, n, out, high, low);
	return residual_general(dtype, s, a, u, b, n, out, high, low);
}

/* high + low += a, one row of n in place; without low high += a. */
static int residual_gather(enum nc_dtype dtype, const void *a, size_t n, double *high, double *low)
{
	double least = low ? NORM_JOB_LEAST : 0, most = low ? NORM_JOB_MOST : 0x1p+128;
	i64x16 strange = i64_set(0);

	ROW_BLOCKS(n, {
		f64x16 va = residual_load(dtype, a, i, count), whole = f64_load(high + i, count), plain = f64_add(whole, va);

		strange = i64_or(strange, residual_strange(va, least, most));
		if (low) {
			struct pair16 v = {whole, f64_load(low + i, count)}, w = {va, f64_set(0)};

			v = residual_signed(pair16_add(v, w), plain);
			f64_store(high + i, v.high, count);
			f64_store(low + i, v.low, count);
		} else {
			f64_store(high + i, plain, count);
		}
	});
	return i64_any(strange);
}

/*
 * out = s·(high + low), rounded to dtype; low NULL: 0. Without low a rounding to few bits may be decided by the errors of
 * high: the result is other than 0 then.
 */
static int residual_scale(enum nc_dtype dtype, double s, const double *high, const double *low, size_t n, void *out)
{
	struct rounding to = rounding_to(dtype);
	bool coarse = dtype == NC_BFLOAT16 || dtype == NC_FLOAT16;
	i64x16 doubt = i64_set(0);

	ROW_BLOCKS(n, {
		f64x16 scale = f64_set(s), whole = f64_load(high + i, count), plain = f64_mul(whole, scale);

		if (low) {
			struct pair16 v = {whole, f64_load(low + i, count)};

			residual_store(dtype, to, out, i, residual_signed(pair16_scale(v, scale), plain), count);
		} else {
			if (coarse)
				doubt = i64_or(doubt, f64_doubtful(f64_zero_beyond(plain, count), to, NORM_ERROR));
			f64_store_f32((float *)out + i, f64_round(plain, to), count);
		}
	});
	return i64_any(doubt);
}

#endif
