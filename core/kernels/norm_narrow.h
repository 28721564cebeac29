/*
 * Norms of float32, bfloat16 and float16 rows in float64: the square of a float32 is exact there.
 *
 * Three stages a row, each one pass: the means; the centred sums, about a mean μ₀ that is rounded to float32 so that
 * x − μ₀ is exact, with δ = μ − μ₀ what the rounding left; the outputs. Stages of neighbouring rows are interleaved:
 * while one row's root is computed the next row's sums are running.
 */
#ifndef KERNELS_NORM_NARROW_H
#define KERNELS_NORM_NARROW_H

#include "core/norm_job.h"
#include "pairs.h"
#include "rounding.h"
#include "simd.h"

/* Sums are taken over at most this many features in lanes, then compensated. */
enum { NARROW_CHUNK = 4096 };

enum narrow_gain { NARROW_GAIN_NONE, NARROW_GAIN_FLOAT, NARROW_GAIN_ANY };

/* What is constant over a run of rows. The first three are compile-time constants of each variant. */
struct narrow {
	bool layer, projects; /* LayerNorm; u is there */
	enum narrow_gain gain;
	bool direct;          /* outputs are float32, and x̂ is not rounded: the processor's conversion rounds */
	bool coarse;          /* outputs are narrower than float32 */
	const struct norm_job *job;
	struct rounding output, xhat;
	size_t n;
};

struct narrow_row {
	const float *x, *u;
	const double *sum;         /* the row's, in place of x; only with NARROW_GAIN_ANY */
	size_t param;              /* offset of this row's part of gain and bias */
	double mean, delta, mean_u; /* μ₀, δ, ū */
	double m, r, inverse, k;   /* k = Σ (u − ū) c / (n s r) */
	bool good, doubtful;
};

/*
 * The statements for i = from, from + 16, …: pairs of whole blocks for two banks of sums, then what is left, in the
 * second bank. `bank` is a constant, and so is `count` in whole blocks.
 */
#define NARROW_SUMS(from, to, ...) \
	do { \
		size_t i = (from); \
		for (; i + 2 * LANES <= (to); i += LANES) { \
			{ \
				enum { bank = 0, count = LANES }; \
				__VA_ARGS__ \
			} \
			i += LANES; \
			{ \
				enum { bank = 1, count = LANES }; \
				__VA_ARGS__ \
			} \
		} \
		for (; i < (to); i += LANES) { \
			enum { bank = 1 }; \
			const unsigned count = (to)-i < LANES ? (unsigned)((to)-i) : LANES; \
			__VA_ARGS__ \
		} \
	} while (0)

/* total + x, the error kept. */
struct narrow_sum {
	double high, low;
};

INLINE void narrow_add(struct narrow_sum *sum, double x)
{
	double s = sum->high + x, b = s - sum->high;

	sum->low += (sum->high - (s - b)) + (x - b);
	sum->high = s;
}

INLINE f64x16 narrow_param(const struct norm_param *param, size_t at, unsigned count)
{
	return param->narrow ? f64_load_f32(param->narrow + at, count) : f64_load(param->values + at, count);
}

INLINE f64x16 narrow_gained(const struct narrow *a, f64x16 v, size_t at, unsigned count)
{
	if (a->gain == NARROW_GAIN_NONE)
		return v;
	if (a->gain == NARROW_GAIN_ANY && !a->job->gain.narrow && !a->job->gain.values)
		return v;
	if (a->gain == NARROW_GAIN_FLOAT)
		return f64_mul(v, f64_load_f32(a->job->gain.narrow + at, count));
	return f64_mul(v, narrow_param(&a->job->gain, at, count));
}

/* u_i, multiplied by the gain for a vjp. */
INLINE f64x16 narrow_u(const struct narrow *a, const struct narrow_row *row, size_t i, unsigned count)
{
	f64x16 u = f64_load_f32(row->u + i, count);

	return a->job->gained ? narrow_gained(a, u, row->param + i, count) : u;
}

INLINE f64x16 narrow_x(const struct narrow *a, const struct narrow_row *row, size_t i, unsigned count)
{
	if (a->gain == NARROW_GAIN_ANY && row->sum)
		return f64_load(row->sum + i, count);
	return f64_load_f32(row->x + i, count);
}

/* First stage: μ₀ and ū. */
INLINE void narrow_means(const struct narrow *a, struct narrow_row *row)
{
	struct narrow_sum x_sum = {0, 0}, u_sum = {0, 0};

	if (!a->layer)
		return;
	for (size_t from = 0; from < a->n; from += NARROW_CHUNK) {
		size_t to = a->n - from < NARROW_CHUNK ? a->n : from + NARROW_CHUNK;
		f64x16 x[2] = {f64_set(0), f64_set(0)}, u[2] = {f64_set(0), f64_set(0)};

		NARROW_SUMS(from, to, {
			x[bank] = f64_add(x[bank], narrow_x(a, row, i, count));
			if (a->projects)
				u[bank] = f64_add(u[bank], narrow_u(a, row, i, count));
		});
		narrow_add(&x_sum, f64_sum(f64_add(x[0], x[1])));
		if (a->projects)
			narrow_add(&u_sum, f64_sum(f64_add(u[0], u[1])));
	}
	row->mean = (double)(float)((x_sum.high + x_sum.low) / (double)a->n);
	row->mean_u = (u_sum.high + u_sum.low) / (double)a->n;
}

/* x − μ₀, zero beyond count. */
INLINE f64x16 narrow_difference(const struct narrow *a, const struct narrow_row *row, size_t i, unsigned count)
{
	f64x16 x = narrow_x(a, row, i, count);

	return a->layer ? f64_zero_beyond(f64_sub(x, f64_set(row->mean)), count) : x;
}

/*
 * Whether r has few bits. An output of float32 can be an exact tie only if r is rational, which is to say that r or n r
 * has few bits or that r is an epsilon; then the last bit of float64 is one too few.
 */
INLINE bool row_is_round(double r)
{
	int64_t bits;

	memcpy(&bits, &r, sizeof(bits));
	return !(bits & 0xffffff);
}

/* Second stage: the centred sums, and all that follows from them. */
INLINE void narrow_centred(const struct narrow *a, struct narrow_row *row)
{
	const struct nc_norm_spec *spec = a->job->spec;
	struct narrow_sum d_sum = {0, 0}, square_sum = {0, 0}, cross_sum = {0, 0};
	double n = (double)a->n;

	for (size_t from = 0; from < a->n; from += NARROW_CHUNK) {
		size_t to = a->n - from < NARROW_CHUNK ? a->n : from + NARROW_CHUNK;
		f64x16 zero = f64_set(0), d[2] = {zero, zero}, square[2] = {zero, zero}, cross[2] = {zero, zero};

		NARROW_SUMS(from, to, {
			f64x16 c = narrow_difference(a, row, i, count);

			if (a->layer || (a->gain == NARROW_GAIN_ANY && row->sum)) {
				d[bank] = f64_add(d[bank], c);
				square[bank] = f64_add(square[bank], f64_mul(c, c));
			} else {
				square[bank] = f64_add_exact_product(c, c, square[bank]);
			}
			if (a->projects) {
				f64x16 u = narrow_u(a, row, i, count);

				if (a->layer)
					u = f64_sub(u, f64_set(row->mean_u));
				cross[bank] = f64_add(cross[bank], f64_mul(u, c));
			}
		});
		narrow_add(&square_sum, f64_sum(f64_add(square[0], square[1])));
		if (a->layer)
			narrow_add(&d_sum, f64_sum(f64_add(d[0], d[1])));
		if (a->projects)
			narrow_add(&cross_sum, f64_sum(f64_add(cross[0], cross[1])));
	}

	double square = square_sum.high + square_sum.low, cross = cross_sum.high + cross_sum.low;
	double delta = a->layer ? (d_sum.high + d_sum.low) / n : 0;
	double m = a->layer ? square / n - delta * delta : square / n;
	double root = sqrt(spec->placement == NC_INSIDE_SQRT ? m + spec->epsilon : m), r = root;
	bool curved = m != 0;

	if (spec->placement == NC_OUTSIDE_SQRT)
		r = root + spec->epsilon;
	if (spec->placement == NC_CLAMP && root <= spec->epsilon) {
		r = spec->epsilon;
		curved = false;
	}
	row->delta = delta;
	row->m = m;
	row->doubtful = !a->coarse && (row_is_round(r) || row_is_round(r * n) || (spec->placement == NC_CLAMP && r == spec->epsilon));
	row->r = r;
	row->inverse = 1 / r;
	if (a->projects)
		row->k = curved ? cross / (n * root * r) : 0;
	/* A sum of squares is finite when every element is; u must be finite too. m = 0 without an epsilon: no value. */
	row->good = isfinite(square) && (!a->projects || isfinite(cross)) && (m > 0 || spec->epsilon > 0);
}

INLINE f64x16 narrow_centre(const struct narrow *a, const struct narrow_row *row, size_t i, unsigned count)
{
	f64x16 x = narrow_x(a, row, i, count);

	return a->layer ? f64_sub(f64_sub(x, f64_set(row->mean)), f64_set(row->delta)) : x;
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

/* x̂ as the gain multiplies it. */
INLINE f64x16 narrow_xhat(const struct narrow *a, const struct narrow_row *row, size_t i, unsigned count)
{
	f64x16 xhat = narrow_over_r(a, row, narrow_centre(a, row, i, count));

	return a->direct || a->job->spec->xhat_dtype == NC_FLOAT64 ? xhat : f64_round(xhat, a->xhat);
}

/*
 * Rounds and stores. Where few bits are kept, exact ties are no accident, and a lane whose rounding is not certain sets
 * doubt; float32 leaves that to row_is_round, and some 10^-8 of its roundings are off.
 */
INLINE void narrow_store(const struct narrow *a, i64x16 *doubt, float *p, f64x16 v, unsigned count)
{
	if (!a->direct) {
		/* 0 is never halfway, so that lanes beyond count are made 0 */
		if (a->coarse)
			*doubt = i64_or(*doubt, f64_doubtful(f64_zero_beyond(v, count), a->output, NORM_ERROR));
		v = f64_round(v, a->output);
	}
	f64_store_f32(p, v, count);
}

/* y_i = g_i (x_i − μ) / r + b_i: the gain first, so that g x is exact. */
INLINE void narrow_forward(const struct narrow *a, const struct narrow_row *row, i64x16 *doubt, float *y)
{
	const struct norm_job *job = a->job;
	bool biased = job->bias.narrow || job->bias.values, first = a->direct || job->spec->xhat_dtype == NC_FLOAT64;
	f64x16 inverse = f64_set(row->inverse);

	if (a->direct && !biased) {
		ROW_BLOCKS(a->n, {
			f64x16 v = narrow_gained(a, narrow_centre(a, row, i, count), row->param + i, count);

			narrow_store(a, doubt, y + i, f64_mul(v, inverse), count);
		});
		return;
	}
	ROW_BLOCKS(a->n, {
		f64x16 v;

		if (first)
			v = narrow_over_r(a, row, narrow_gained(a, narrow_centre(a, row, i, count), row->param + i, count));
		else {
			v = f64_zero_beyond(narrow_over_r(a, row, narrow_centre(a, row, i, count)), count);
			*doubt = i64_or(*doubt, f64_doubtful(v, a->xhat, NORM_ERROR));
			v = narrow_gained(a, f64_round(v, a->xhat), row->param + i, count);
		}
		if (biased)
			v = f64_add(v, narrow_param(&job->bias, row->param + i, count));
		narrow_store(a, doubt, y + i, v, count);
	});
}

/* (P u)_i = (u_i − ū − c_i k) / r, for a jvp times g_i. */
INLINE void narrow_project(const struct narrow *a, const struct narrow_row *row, i64x16 *doubt, float *out, double *vjp)
{
	f64x16 k = f64_set(row->k), mean_u = f64_set(row->mean_u);

	ROW_BLOCKS(a->n, {
		f64x16 u = narrow_u(a, row, i, count);

		if (a->layer)
			u = f64_sub(u, mean_u);
		u = narrow_over_r(a, row, f64_sub(u, f64_mul(narrow_centre(a, row, i, count), k)));
		if (!a->job->gained)
			u = narrow_gained(a, u, row->param + i, count);
		if (a->gain == NARROW_GAIN_ANY && vjp)
			f64_store(vjp + i, u, count);
		else
			narrow_store(a, doubt, out + i, u, count);
	});
}

/* sum += u, or = u; the errors stand `apart` numbers behind: sums of float32 are exact ties as often as not. */
INLINE void narrow_gather(double *sum, size_t apart, f64x16 u, bool set, unsigned count)
{
	struct pair16 s = {u, f64_set(0)};

	if (!set) {
		s = pair16_sum(f64_load(sum, count), u);
		s.low = f64_add(s.low, f64_load(sum + apart, count));
	}
	f64_store(sum, s.high, count);
	f64_store(sum + apart, s.low, count);
}

/* dgain += dy ⊙ x̂, dbias += dy; set instead in the first row of a block. */
INLINE void narrow_params(const struct narrow *a, const struct narrow_row *row, double *dgain, double *dbias, bool first)
{
	ROW_BLOCKS(a->n, {
		f64x16 u = f64_load_f32(row->u + i, count), product;

		if (dgain) {
			product = f64_mul(u, narrow_xhat(a, row, i, count));
			f64_store(dgain + i, first ? product : f64_add(f64_load(dgain + i, count), product), count);
		}
		if (dbias)
			narrow_gather(dbias + i, a->job->period * a->n, u, first, count);
	});
}

/* Stats are float32 whatever the dtype. */
INLINE void narrow_finish(const struct norm_job *job, const struct narrow_row *row, size_t index)
{
	if (job->divisor)
		((float *)job->divisor)[index] = (float)row->r;
	if (job->mean)
		((float *)job->mean)[index] = (float)(row->mean + row->delta);
	if (job->variance)
		((float *)job->variance)[index] = (float)row->m;
}

/* Third stage: every output of one row. */
INLINE void narrow_outputs(const struct narrow *a, const struct narrow_row *row, size_t index)
{
	const struct norm_job *job = a->job;
	size_t start = index * a->n, block = index / (NORM_JOB_BLOCK * job->period), part = index % job->period * a->n;
	size_t params = job->period * a->n;
	bool first = index % (NORM_JOB_BLOCK * job->period) < job->period;

	if (!row->good || job->slow[index] == NORM_JOB_LEFT) {
		job->slow[index] = NORM_JOB_LEFT;
		return;
	}
	i64x16 doubt = i64_set(0);

	narrow_finish(job, row, index);
	if (job->xhat)
		ROW_BLOCKS(a->n, {
			narrow_store(a, &doubt, (float *)job->xhat + start + i, narrow_xhat(a, row, i, count), count);
		});
	if (a->projects) {
		if (job->vjp)
			narrow_project(a, row, &doubt, NULL, job->vjp + (index - job->base) * a->n);
		else if (job->projected)
			narrow_project(a, row, &doubt, (float *)job->projected + start, NULL);
		if (job->dgain || job->dbias)
			narrow_params(a, row, job->dgain ? job->dgain + block * params + part : NULL,
			              job->dbias ? job->dbias + block * 2 * params + part : NULL, first);
	}
	if (job->y)
		narrow_forward(a, row, &doubt, (float *)job->y + start);
	if (row->doubtful || (!a->direct && i64_any(doubt)))
		job->slow[index] = NORM_JOB_DOUBTFUL;
}

INLINE struct narrow_row narrow_begin(const struct narrow *a, size_t index)
{
	const struct norm_job *job = a->job;

	return (struct narrow_row){
		.x = job->sum ? NULL : (const float *)job->x + index * a->n,
		.sum = job->sum ? job->sum + (index - job->base) * a->n : NULL,
		.u = a->projects ? (const float *)job->u + index * a->n : NULL,
		.param = index % job->period * a->n,
	};
}

/* The pipeline: means of row i+2, centred sums of row i+1, outputs of row i. */
INLINE void narrow_rows(struct narrow a, size_t first, size_t end)
{
	struct narrow_row ahead = {0}, next = {0}, row = {0};

	for (size_t i = first; i < end + 2; i++) {
		row = next;
		next = ahead;
		if (i > first && i <= end)
			narrow_centred(&a, &next);
		if (i < end) {
			ahead = narrow_begin(&a, i);
			narrow_means(&a, &ahead);
		}
		if (i >= first + 2)
			narrow_outputs(&a, &row, i - 2);
	}
}

/*
 * Narrow registers get one body that looks at its flags as it goes: the bits are the same, and the compiler's time is
 * spent where the speed is.
 */
#if WIDTH <= 2
#define NARROW_VARIANT(suffix, is_layer, has_u, gain_kind, is_direct)
#else
#define NARROW_VARIANT(suffix, is_layer, has_u, gain_kind, is_direct) \
	static __attribute__((noinline)) void narrow_##suffix(const struct narrow *a, size_t first, size_t end) \
	{ \
		struct narrow variant = *a; \
\
		variant.layer = is_layer; \
		variant.projects = has_u; \
		variant.gain = gain_kind; \
		variant.direct = is_direct; \
		narrow_rows(variant, first, end); \
	}
#endif
#define NARROW_VARIANTS(suffix, is_layer, has_u) \
	NARROW_VARIANT(suffix##_plain, is_layer, has_u, NARROW_GAIN_NONE, true) \
	NARROW_VARIANT(suffix##_float, is_layer, has_u, NARROW_GAIN_FLOAT, true) \
	NARROW_VARIANT(suffix##_any, is_layer, has_u, NARROW_GAIN_ANY, false)
NARROW_VARIANTS(rms, false, false)
NARROW_VARIANTS(rms_vjp, false, true)
NARROW_VARIANTS(layer, true, false)
NARROW_VARIANTS(layer_vjp, true, true)

static void norm_narrow(const struct norm_job *job, size_t first, size_t end)
{
	const struct nc_norm_spec *spec = job->spec;
	bool direct = spec->dtype == NC_FLOAT32 && spec->xhat_dtype == NC_FLOAT64 && !job->gain.values && !job->sum && !job->vjp;
	struct narrow a = {
		.layer = spec->kind == NC_LAYERNORM,
		.projects = job->u,
		.gain = !direct ? NARROW_GAIN_ANY : job->gain.narrow ? NARROW_GAIN_FLOAT : NARROW_GAIN_NONE,
		.direct = direct,
		.coarse = spec->dtype != NC_FLOAT32,
		.job = job,
		.output = rounding_to(spec->dtype),
		.xhat = rounding_to(spec->xhat_dtype),
		.n = job->features,
	};

	if (first >= end)
		return;
#if WIDTH <= 2
	narrow_rows(a, first, end);
#else
#define NARROW_ROW(suffix) \
	{ \
		narrow_##suffix##_plain, narrow_##suffix##_float, narrow_##suffix##_any \
	}
	static void (*const variants[2][2][3])(const struct narrow *, size_t, size_t) = {
		{NARROW_ROW(rms), NARROW_ROW(rms_vjp)}, {NARROW_ROW(layer), NARROW_ROW(layer_vjp)}};
	variants[a.layer][a.projects][a.gain](&a, first, end);
#endif
}

#endif
