/*
 * The outputs of norm_pairs.h for the columns [from, to) of one row, whose sums are known.
 *
 * Results that only products and one last addition follow are not renormalised: their low parts are within some units of
 * 2^-53 of the terms that S of the promise counts, so that what is dropped is below 2^-104·S.
 */
#ifndef KERNELS_PAIRS_OUTPUTS_H
#define KERNELS_PAIRS_OUTPUTS_H

#include "core/norm_job.h"
#include "pairs.h"
#include "rounding.h"
#include "simd.h"

/* What is constant over a run of rows. The first two are compile-time constants of each variant. */
struct pairs {
	bool layer, projects; /* LayerNorm; u is there */
	const struct norm_job *job;
	struct rounding xhat; /* used unless x̂ stays as it is */
	size_t n;
	enum norm_stage stage; /* NORM_ROWS, or one of a part: */
	size_t part, from, to; /* the columns of the outputs */
};

struct pairs_row {
	const double *x, *x_low, *u;      /* x_low: of an unrounded sum, or NULL */
	const double *ahead;              /* x of the next row, where there is one */
	size_t param;                     /* offset of this row's part of gain and bias */
	struct pair mean, mean_u, m, r, inverse, k; /* k = Σ (u − ū) c / (n s r) */
	struct pair root; /* s, or 0 where the term c_i c_j / (n s r²) is not there */
	double most;              /* the largest magnitude of x */
	bool centred, cancels;    /* the sums that are wanted are about μ and ū; those of the squares too */
	bool begun, settled;      /* where it stands is known; all of these are */
	bool good;                /* the row is for pairs */
};

INLINE struct pair16 pairs_plain(f64x16 v)
{
	return (struct pair16){v, f64_set(0)};
}

/* u_i, multiplied by the gain for a vjp. */
INLINE struct pair16 pairs_u(const struct pairs *a, const struct pairs_row *row, size_t i, unsigned count)
{
	f64x16 u = f64_load(row->u + i, count);

	if (!a->job->gained || !a->job->gain.values)
		return pairs_plain(u);
	return pair16_product(u, f64_load(a->job->gain.values + row->param + i, count));
}

INLINE struct pair16 pairs_x(const struct pairs_row *row, size_t i, unsigned count)
{
	return (struct pair16){f64_load(row->x + i, count), row->x_low ? f64_load(row->x_low + i, count) : f64_set(0)};
}

/* c_i = x_i − μ, zero beyond count, x_i for RMSNorm; its parts may overlap. */
INLINE struct pair16 pairs_offset(const struct pairs *a, const struct pairs_row *row, size_t i, unsigned count)
{
	struct pair16 c = pairs_x(row, i, count), s;

	if (!a->layer)
		return c;
	s = pair16_sum(c.high, f64_set(-row->mean.high));
	s.low = f64_add(s.low, row->x_low ? f64_sub(c.low, f64_set(row->mean.low)) : f64_set(-row->mean.low));
	return (struct pair16){f64_zero_beyond(s.high, count), f64_zero_beyond(s.low, count)};
}

/* The same as a pair: where c is small beside μ, what the product of two low parts would add counts. */
INLINE struct pair16 pairs_centre(const struct pairs *a, const struct pairs_row *row, size_t i, unsigned count)
{
	struct pair16 c = pairs_offset(a, row, i, count);

	return a->layer ? pair16_renormal(c.high, c.low) : c;
}

/* a·b, the parts of the product overlapping; `low` is false where a has none. */
INLINE struct pair16 pairs_times(struct pair16 a, bool low, f64x16 b)
{
	struct pair16 p = pair16_product(a.high, b);

	if (low)
		p.low = f64_add(p.low, f64_mul(a.low, b));
	return p;
}

INLINE struct pair16 pairs_times_pair(struct pair16 a, bool low, struct pair b)
{
	struct pair16 p = pair16_product(a.high, f64_set(b.high));
	f64x16 cross = f64_mul(a.high, f64_set(b.low));

	if (low)
		cross = f64_add(cross, f64_mul(a.low, f64_set(b.high)));
	p.low = f64_add(p.low, cross);
	return p;
}

/* a − b, the parts of the difference overlapping. */
INLINE struct pair16 pairs_minus(struct pair16 a, struct pair16 b)
{
	struct pair16 s = pair16_sum(a.high, f64_sub(f64_set(-0.0), b.high));

	s.low = f64_add(s.low, f64_sub(a.low, b.low));
	return s;
}

/* x̂ as the gain multiplies it; its parts may overlap. */
INLINE struct pair16 pairs_xhat(const struct pairs *a, const struct pairs_row *row, size_t i, unsigned count)
{
	struct pair16 xhat = pairs_times_pair(pairs_offset(a, row, i, count), a->layer || row->x_low, row->inverse);

	if (a->job->spec->xhat_dtype == NC_FLOAT64)
		return xhat;
	xhat = pair16_renormal(xhat.high, xhat.low);
	return pairs_plain(f64_round(round_to_odd(xhat.high, xhat.low), a->xhat));
}

/* Fetches what the next row will read. */
INLINE void pairs_fetch(const double *ahead, size_t i)
{
	if (ahead) {
		__builtin_prefetch(ahead + i, 0, 2);
		__builtin_prefetch(ahead + i + LANES / 2, 0, 2);
	}
}

/* v, or where v is 0 a zero with the sign of `like`. */
INLINE f64x16 pairs_signed(f64x16 v, f64x16 like)
{
	return f64_or(v, f64_and(f64_and(like, i64_set(INT64_MIN)), f64_equal(v, f64_set(0))));
}

/* y_i = g_i x̂_i + b_i */
INLINE void pairs_forward(const struct pairs *a, const struct pairs_row *row, size_t from, size_t to, double *y)
{
	const double *gain = a->job->gain.values, *bias = a->job->bias.values;
	bool plain = a->job->spec->xhat_dtype == NC_FLOAT64;

	COLUMN_BLOCKS(from, to, {
		struct pair16 v = plain ? pairs_offset(a, row, i, count) : pairs_xhat(a, row, i, count);
		bool low = plain && (a->layer || row->x_low);

		pairs_fetch(row->ahead, i);
		if (gain)
			v = pairs_times(v, low, f64_load(gain + row->param + i, count));
		if (plain)
			v = pairs_times_pair(v, low || gain, row->inverse);
		if (bias) {
			struct pair16 s = pair16_sum(v.high, f64_load(bias + row->param + i, count));

			f64_store(y + i, f64_add(s.high, f64_add(s.low, v.low)), count);
		} else {
			f64_store(y + i, pairs_signed(f64_add(v.high, v.low), v.high), count);
		}
	});
}

/* (P u)_i = (u_i − ū − c_i k) / r, for a jvp times g_i. */
INLINE void pairs_project(const struct pairs *a, const struct pairs_row *row, size_t from, size_t to, double *out, double *low)
{
	const double *gain = a->job->gained ? NULL : a->job->gain.values;

	COLUMN_BLOCKS(from, to, {
		struct pair16 u = pairs_u(a, row, i, count), c = pairs_centre(a, row, i, count);

		if (a->layer)
			u = pairs_minus(u, pair16_set(row->mean_u));
		u = pairs_minus(u, pairs_times_pair(c, a->layer || row->x_low, row->k));
		u = pairs_times_pair(u, true, row->inverse);
		if (gain)
			u = pairs_times(u, true, f64_load(gain + row->param + i, count));
		u = pair16_renormal(u.high, u.low);
		f64_store(out + i, u.high, count);
		if (low)
			f64_store(low + i, u.low, count);
	});
}

/* sum += v, or = v; the low parts stand `apart` numbers behind. */
INLINE void pairs_gather(double *sum, size_t apart, struct pair16 v, bool set, unsigned count)
{
	if (!set)
		v = pair16_add((struct pair16){f64_load(sum, count), f64_load(sum + apart, count)}, v);
	f64_store(sum, v.high, count);
	f64_store(sum + apart, v.low, count);
}

/* dgain += dy ⊙ x̂, dbias += dy; set instead in the first row of a block. */
INLINE void pairs_params(const struct pairs *a, const struct pairs_row *row, size_t from, size_t to, size_t sums, bool first)
{
	const struct norm_job *job = a->job;
	size_t apart = job->period * a->n;

	COLUMN_BLOCKS(from, to, {
		f64x16 u = f64_load(row->u + i, count);

		if (job->dgain)
			pairs_gather(job->dgain + sums + i, apart, pairs_times(pairs_xhat(a, row, i, count), true, u), first, count);
		if (job->dbias)
			pairs_gather(job->dbias + sums + i, apart, pairs_plain(u), first, count);
	});
}

/* Every output of the columns [from, to) of one row. */
INLINE void pairs_outputs(const struct pairs *a, const struct pairs_row *row, size_t index, size_t from, size_t to)
{
	const struct norm_job *job = a->job;
	size_t start = index * a->n, rows = NORM_JOB_BLOCK * job->period;
	size_t sums = (index / rows * 2 * job->period + index % job->period) * a->n;

	if (job->xhat)
		COLUMN_BLOCKS(from, to, {
			struct pair16 xhat = pairs_xhat(a, row, i, count);
			f64x16 like = pairs_offset(a, row, i, count).high;

			f64_store((double *)job->xhat + start + i, pairs_signed(f64_add(xhat.high, xhat.low), like), count);
		});
	if (a->projects) {
		size_t based = (index - job->base) * a->n;

		if (job->vjp)
			pairs_project(a, row, from, to, job->vjp + based, job->vjp_low + based);
		else if (job->projected)
			pairs_project(a, row, from, to, (double *)job->projected + start, NULL);
		if (job->dgain || job->dbias)
			pairs_params(a, row, from, to, sums, index % rows < job->period);
	}
	if (job->y)
		pairs_forward(a, row, from, to, (double *)job->y + start);
}

#endif
