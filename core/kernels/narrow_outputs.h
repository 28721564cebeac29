/*
 * The outputs of norm_narrow.h for the columns [from, to) of one row, whose sums are known.
 */
#ifndef KERNELS_NARROW_OUTPUTS_H
#define KERNELS_NARROW_OUTPUTS_H

#include "core/norm_job.h"
#include "pairs.h"
#include "rounding.h"
#include "simd.h"
#include "single.h"

/* Sums are taken over at most this many features in lanes, then compensated. */
enum { NARROW_CHUNK = 4096 };

/* What is constant over a run of rows. The first three are compile-time constants of each variant. */
struct narrow {
	bool layer, projects; /* LayerNorm; u is there */
	bool direct;          /* float32, nothing rounded in between: y and the vjp, with what belongs to them */
	bool coarse;          /* outputs are narrower than float32 */
	bool gained, raw;     /* the vjp; x̂ is not rounded */
	bool stream;          /* y and dx are too large for any cache, and every block of theirs is a multiple of 64 bytes */
	struct norm_param gain, bias; /* the job's */
	const struct norm_job *job;
	struct rounding output, xhat;
	size_t n;
	enum norm_stage stage; /* NORM_ROWS, or one of a part: */
	size_t part, from, to; /* the columns of the outputs */
};

struct narrow_row {
	const float *x, *u;
	const double *sum;         /* the row's, in place of x; only with NARROW_GAIN_ANY */
	size_t param;              /* offset of this row's part of gain and bias */
	const void *ahead, *ahead_u; /* rows that are wanted soon: fetched while this one is done */
	double mean, delta, mean_u; /* K, δ, ū */
	double m, r, inverse, k;   /* k = Σ (u − ū) c / (n s r) */
	double root;               /* s, or 0 where the term c_i c_j / (n s r²) is not there */
	bool shifted;              /* K is not 0 */
	bool begun, settled;       /* where it stands is known; all of these are */
	bool good, doubtful;
};

INLINE bool narrow_has(const struct norm_param *param)
{
	return param->values || param->narrow;
}

INLINE f64x16 narrow_param(const struct norm_param *param, size_t at, unsigned count)
{
	return param->values ? f64_load(param->values + at, count) : f64_load_f32(param->narrow + at, count);
}

INLINE f64x16 narrow_gained(const struct narrow *a, f64x16 v, size_t at, unsigned count)
{
	if (!narrow_has(&a->gain))
		return v;
	return f64_mul(v, narrow_param(&a->gain, at, count));
}

INLINE double narrow_gain_at(const struct narrow *a, size_t at)
{
	return a->gain.narrow ? (double)a->gain.narrow[at] : a->gain.values[at];
}

/* u_i, multiplied by the gain for a vjp. */
INLINE f64x16 narrow_u(const struct narrow *a, const struct narrow_row *row, size_t i, unsigned count)
{
	f64x16 u = f64_load_f32(row->u + i, count);

	return a->gained ? narrow_gained(a, u, row->param + i, count) : u;
}

INLINE double narrow_first_u(const struct narrow *a, const struct narrow_row *row)
{
	double u = row->u[0];

	return a->gained && narrow_has(&a->gain) ? u * narrow_gain_at(a, row->param) : u;
}

INLINE f64x16 narrow_x(const struct narrow *a, const struct narrow_row *row, size_t i, unsigned count)
{
	if (!a->direct && row->sum)
		return f64_load(row->sum + i, count);
	return f64_load_f32(row->x + i, count);
}

INLINE f64x16 narrow_centre(const struct narrow *a, const struct narrow_row *row, size_t i, unsigned count)
{
	f64x16 x = narrow_x(a, row, i, count);

	if (!a->layer)
		return x;
	return f64_sub(row->shifted ? f64_sub(x, f64_set(row->mean)) : x, f64_set(row->delta));
}

/*
 * v / r. For a dtype of few bits a true division: quotients that lie halfway between two values are common there, and
 * come out exact.
 */
INLINE f64x16 narrow_over_r(const struct narrow *a, const struct narrow_row *row, f64x16 v)
{
	if (a->direct || !a->coarse)
		return f64_mul(v, f64_set(row->inverse));
	return f64_div(v, f64_set(row->r));
}

/* x̂ as the gain multiplies it, from c = x − μ. */
INLINE f64x16 narrow_xhat(const struct narrow *a, const struct narrow_row *row, f64x16 c)
{
	f64x16 xhat = narrow_over_r(a, row, c);

	return a->direct || a->raw ? xhat : f64_round(xhat, a->xhat);
}

/*
 * Rounds and stores. Where few bits are kept, exact ties are no accident, and a lane whose rounding is not certain sets
 * doubt; float32 leaves that to row_is_round, and some 10^-8 of its roundings are off.
 */
INLINE void narrow_store(const struct narrow *a, i64x16 *doubt, float *p, f64x16 v, unsigned count)
{
	if (!a->direct && a->coarse) {
		/* 0 is never halfway, so that lanes beyond count are made 0 */
		*doubt = i64_or(*doubt, f64_doubtful(f64_zero_beyond(v, count), a->output, NORM_ERROR));
		v = f64_round(v, a->output);
	}
	f64_store_f32(p, v, count);
}

/*
 * Columns of a row that is wanted soon, at the place i of this one, on their way to the second cache: asked for in the pass that
 * leaves the memory more time, the sums but for narrow_single.
 */
INLINE void narrow_fetch(const void *ahead, size_t i)
{
	__builtin_prefetch((const float *)ahead + i, 0, 2);
}

/* The place of an output that is written soon, on its way to the nearest cache. */
INLINE void narrow_claim(const float *out, size_t i)
{
	__builtin_prefetch(out + i + 128, 1, 3);
}

/* Range in which no product of narrow_single leaves what float32 holds exactly. */
#define NARROW_LEAST 0x1p-60
#define NARROW_MOST 0x1p+60

/*
 * y_i = x_i t_i with t_i = g_i / r as the sum of two float32: some 2^-50 off, in a third of the time that conversions to
 * float64 and back take. For RMSNorm, direct, where narrow_single_fits.
 */
INLINE float narrow_single(const struct narrow *a, const struct narrow_row *row, size_t from, size_t to, float *y)
{
	bool gained = a->gain.narrow;
	const float *gain = gained ? a->gain.narrow + row->param : NULL;
	float top = (float)row->inverse;
	f32x16 high = f32_set(top), low = f32_set((float)(row->inverse - (double)top)), least[2];

	least[0] = least[1] = f32_set((float)INFINITY);
	BANKED_BLOCKS(from, to, {
		f32x16 x = f32_load(row->x + i, count), t = high, rest = low;

		narrow_fetch(row->ahead, i);
		if (!a->stream)
			narrow_claim(y, i);
		if (gained) {
			f32x16 g = f32_load(gain + i, count);

			t = f32_mul(g, high);
			rest = f32_fma(g, low, f32_fma(g, high, f32_neg(t)));
		}
		least[bank] = f32_least(least[bank], x);
		f32x16 v = f32_fma(x, t, f32_mul(x, rest));

		if (a->stream)
			f32_stream(y + i, v);
		else
			f32_store(y + i, v, count);
	});
	return f32_least_lane(f32_least(least[0], least[1]));
}

INLINE bool narrow_single_fits(const struct narrow *a, const struct narrow_row *row)
{
	double least = 1, most = 1;

	if (!a->direct || a->layer || (a->gain.values && !a->gain.narrow))
		return false;
	if (a->gain.narrow) {
		least = (double)a->gain.least;
		most = (double)a->gain.most;
	}
	return row->inverse >= NARROW_LEAST && row->inverse * least >= NARROW_LEAST && row->inverse <= NARROW_MOST &&
	       row->inverse * most <= NARROW_MOST;
}

INLINE void narrow_xhat_columns(const struct narrow *a, const struct narrow_row *row, size_t from, size_t to, i64x16 *doubt,
                                float *out)
{
	COLUMN_BLOCKS(from, to, {
		narrow_store(a, doubt, out + i, narrow_xhat(a, row, narrow_centre(a, row, i, count)), count);
	});
}

/* y_i = g_i (x_i − μ) / r + b_i: the gain first, so that g x is exact. */
INLINE void narrow_forward(const struct narrow *a, const struct narrow_row *row, size_t from, size_t to, i64x16 *doubt, float *y)
{
	bool biased = a->layer && narrow_has(&a->bias), first = a->direct || a->raw;

	COLUMN_BLOCKS(from, to, {
		f64x16 v = narrow_centre(a, row, i, count);

		if (first) {
			v = narrow_over_r(a, row, narrow_gained(a, v, row->param + i, count));
		} else {
			v = f64_zero_beyond(narrow_over_r(a, row, v), count);
			*doubt = i64_or(*doubt, f64_doubtful(v, a->xhat, NORM_ERROR));
			v = narrow_gained(a, f64_round(v, a->xhat), row->param + i, count);
		}
		if (biased)
			v = f64_add(v, narrow_param(&a->bias, row->param + i, count));
		narrow_store(a, doubt, y + i, v, count);
	});
}

/* narrow_forward, by narrow_single where that fits and no element is so small that what it wrote is not exact enough. */
INLINE void narrow_y(const struct narrow *a, const struct narrow_row *row, size_t from, size_t to, i64x16 *doubt, float *y)
{
	bool fits = narrow_single_fits(a, row);
	double least = a->gain.narrow ? (double)a->gain.least : 1;

	for (size_t end; from < to; from = end) {
		end = !fits || to - from < NARROW_CHUNK ? to : from + NARROW_CHUNK;
		if (fits && (double)narrow_single(a, row, from, end, y) * (row->inverse * least) >= 0x1p-96)
			continue;
		narrow_forward(a, row, from, end, doubt, y);
	}
}

/* Where the gradients of one row go; each may be NULL. */
struct narrow_gradients {
	float *dx;             /* or the jvp */
	double *vjp;           /* in place of dx, unrounded */
	double *dgain, *dbias; /* added to */
	size_t apart;          /* where their low parts stand, of dgain only when x̂ is rounded */
};

/* sum += v with the error kept: sums of numbers of few bits are exact ties as often as not. */
INLINE void narrow_gather(struct pair16 *sum, f64x16 v)
{
	struct pair16 s = pair16_sum(sum->high, v);

	*sum = (struct pair16){s.high, f64_add(s.low, sum->low)};
}

INLINE void narrow_gather_at(double *sum, size_t apart, f64x16 v, unsigned count)
{
	struct pair16 s = {f64_load(sum, count), f64_load(sum + apart, count)};

	narrow_gather(&s, v);
	f64_store(sum, s.high, count);
	f64_store(sum + apart, s.low, count);
}

/*
 * dx_i = (P u)_i = (u_i − ū − c_i k) / r, for a jvp times g_i; dgain_i += dy_i x̂_i; dbias_i += dy_i.
 */
INLINE void narrow_backward(const struct narrow *a, const struct narrow_row *row, size_t from, size_t to, i64x16 *doubt,
                            struct narrow_gradients g)
{
	f64x16 k = f64_set(row->k), mean_u = f64_set(row->mean_u);
	bool unrounded = g.vjp;

	COLUMN_BLOCKS(from, to, {
		f64x16 given = f64_load_f32(row->u + i, count), c = narrow_centre(a, row, i, count);

		if (g.dx) /* the next row's place: short runs of many rows are not foreseen by the processor */
			__builtin_prefetch(g.dx + a->n + i, 1, 2);
		if (g.dx || unrounded) {
			f64x16 u = a->gained ? narrow_gained(a, given, row->param + i, count) : given;

			if (a->layer)
				u = f64_sub(u, mean_u);
			u = narrow_over_r(a, row, f64_sub(u, f64_mul(c, k)));
			if (!a->gained)
				u = narrow_gained(a, u, row->param + i, count);
			if (unrounded)
				f64_store(g.vjp + i, u, count);
			else
				narrow_store(a, doubt, g.dx + i, u, count);
		}
		if (g.dgain) {
			f64x16 product = f64_mul(given, narrow_xhat(a, row, c));

			if (a->direct || a->raw)
				f64_store(g.dgain + i, f64_add(f64_load(g.dgain + i, count), product), count);
			else
				narrow_gather_at(g.dgain + i, g.apart, product, count);
		}
		if (g.dbias)
			narrow_gather_at(g.dbias + i, g.apart, given, count);
	});
}

/* Stats are float32 whatever the dtype. */
INLINE void narrow_stats(const struct norm_job *job, const struct narrow_row *row, size_t index)
{
	if (job->divisor)
		((float *)job->divisor)[index] = (float)row->r;
	if (job->mean)
		((float *)job->mean)[index] = (float)(row->mean + row->delta);
	if (job->variance)
		((float *)job->variance)[index] = (float)row->m;
}

/* Every output of the columns [from, to) of one row. */
INLINE void narrow_columns(const struct narrow *a, const struct narrow_row *row, size_t index, size_t from, size_t to)
{
	const struct narrow_row known = *row; /* stores to the outputs do not change it */
	const struct norm_job *job = a->job;
	size_t start = index * a->n, params = job->period * a->n, block = index / (NORM_JOB_BLOCK * job->period) * params;
	size_t dgain_block = a->direct || a->raw ? block : 2 * block;
	bool first = index % (NORM_JOB_BLOCK * job->period) < job->period;
	i64x16 doubt = i64_set(0);

	if (job->xhat)
		narrow_xhat_columns(a, &known, from, to, &doubt, (float *)job->xhat + start);
	if (a->projects) {
		struct narrow_gradients g = {
			.dx = job->projected ? (float *)job->projected + start : NULL,
			.vjp = job->vjp ? job->vjp + (index - job->base) * a->n : NULL,
			.dgain = job->dgain ? job->dgain + dgain_block + row->param : NULL,
			.dbias = job->dbias ? job->dbias + 2 * block + row->param : NULL,
			.apart = params,
		};

		if (g.dgain && first)
			memset(g.dgain + from, 0, (to - from) * sizeof(double));
		if (g.dgain && first && !(a->direct || a->raw))
			memset(g.dgain + params + from, 0, (to - from) * sizeof(double));
		if (g.dbias && first)
			memset(g.dbias + from, 0, (to - from) * sizeof(double));
		if (g.dbias && first)
			memset(g.dbias + params + from, 0, (to - from) * sizeof(double));
		narrow_backward(a, &known, from, to, &doubt, g);
	}
	if (job->y)
		narrow_y(a, &known, from, to, &doubt, (float *)job->y + start);
	if (!a->direct && i64_any(doubt)) /* threads may mark different parts of a row at once */
		__atomic_store_n(&job->slow[index], NORM_JOB_DOUBTFUL, __ATOMIC_RELAXED);
}

#endif
