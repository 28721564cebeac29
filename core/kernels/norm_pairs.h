/*
 * Norms of float64 rows in pairs of float64 (pairs.h): about 106 bits, rounded once at the end.
 *
 * Stages of a row, a pass each: the range and the sums; where they are needed the sums about μ; the outputs. A row whose
 * magnitudes leave the range in which pairs keep their bits is marked and left to wide arithmetic (norm_wide.h).
 *
 * Results that only products and one last addition follow are not renormalised: their low parts are within some units of
 * 2^-53 of the terms that S of the promise counts, so that what is dropped is below 2^-104·S.
 */
#ifndef KERNELS_NORM_PAIRS_H
#define KERNELS_NORM_PAIRS_H

#include "core/norm_job.h"
#include "pairs.h"
#include "params.h"
#include "rounding.h"
#include "simd.h"

/* Sums gather their errors over at most this many features before they are carried on. */
enum { PAIRS_CHUNK = 512 };

/* What is constant over a run of rows. The first two are compile-time constants of each variant. */
struct pairs {
	bool layer, projects; /* LayerNorm; u is there */
	const struct norm_job *job;
	struct rounding xhat; /* used unless x̂ stays as it is */
	size_t n;
};

struct pairs_row {
	const double *x, *x_low, *u;      /* x_low: of an unrounded sum, or NULL */
	const double *ahead, *ahead_u;    /* of the next row, where there is one */
	size_t param;                     /* offset of this row's part of gain and bias */
	struct pair mean, mean_u, m, r, inverse, k; /* k = Σ (u − ū) c / (n s r) */
	struct pair root; /* s, or 0 where the term c_i c_j / (n s r²) is not there */
	bool good;
};

/* A sum over a row: `part` over a chunk, `whole` over the chunks before it. */
struct pairs_sum {
	struct pair16 whole, part;
};

INLINE struct pairs_sum pairs_zero(void)
{
	struct pair16 zero = {f64_set(0), f64_set(0)};

	return (struct pairs_sum){zero, zero};
}

INLINE void pairs_carry(struct pairs_sum *sum)
{
	sum->whole = pair16_add(sum->whole, pair16_renormal(sum->part.high, sum->part.low));
	sum->part = (struct pair16){f64_set(0), f64_set(0)};
}

INLINE void pairs_add(struct pairs_sum *sum, struct pair16 x, size_t i)
{
	pair16_accumulate(&sum->part, x);
	if ((i + LANES) % PAIRS_CHUNK == 0)
		pairs_carry(sum);
}

INLINE struct pair pairs_total(struct pairs_sum *sum)
{
	pairs_carry(sum);
	return pair16_total(sum->whole);
}

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

/* c², low parts of any size counted. */
INLINE struct pair16 pairs_square(struct pair16 c, bool low)
{
	struct pair16 p = pair16_product(c.high, c.high);

	if (low)
		p.low = f64_add(p.low, f64_mul(f64_add(f64_add(c.high, c.high), c.low), c.low));
	return p;
}

/* The largest and the smallest magnitude seen but 0. */
struct pairs_range {
	f64x16 most, least;
};

INLINE void pairs_see(struct pairs_range *range, f64x16 v)
{
	v = f64_abs(v);
	range->most = f64_max(range->most, v);
	range->least = f64_min(range->least, f64_or(v, f64_and(f64_set(1), f64_equal(v, f64_set(0)))));
}

/* A NaN is not seen here: the sums show it. */
INLINE bool pairs_in_range(const struct pairs_range *range)
{
	i64x16 over = f64_less(f64_set(NORM_JOB_MOST), range->most);
	i64x16 under = f64_less(range->least, f64_set(NORM_JOB_LEAST));

	return !i64_any(i64_or(over, under));
}

/* Sums over a row; those of LayerNorm's squares and products are about μ and ū, or not yet. */
struct pairs_sums {
	struct pairs_sum x, u, square, cross;
};

/* First stage: the range of x and u, and their sums; of products for RMSNorm alone. */
INLINE bool pairs_gather_sums(const struct pairs *a, const struct pairs_row *row, struct pairs_range *range, struct pairs_sums *sums)
{
	*range = (struct pairs_range){f64_set(0), f64_set(1)};
	*sums = (struct pairs_sums){pairs_zero(), pairs_zero(), pairs_zero(), pairs_zero()};
	ROW_BLOCKS(a->n, {
		struct pair16 x = pairs_x(row, i, count);

		pairs_see(range, x.high);
		pairs_add(&sums->square, pairs_square(x, row->x_low), i);
		if (a->layer)
			pairs_add(&sums->x, x, i);
		if (a->projects) {
			struct pair16 u = pairs_u(a, row, i, count);

			pairs_see(range, f64_load(row->u + i, count));
			if (a->layer)
				pairs_add(&sums->u, u, i);
			else
				pairs_add(&sums->cross, row->x_low ? pair16_mul(u, x) : pairs_times(u, true, x.high), i);
		}
	});
	return pairs_in_range(range);
}

/* Sums about μ and ū of what is asked for. */
INLINE void pairs_gather_centred(const struct pairs *a, const struct pairs_row *row, bool squares, bool products,
                                 struct pairs_sums *sums)
{
	sums->cross = pairs_zero();
	if (squares) {
		sums->square = pairs_zero();
		ROW_BLOCKS(a->n, { pairs_add(&sums->square, pairs_square(pairs_offset(a, row, i, count), true), i); });
	}
	if (products)
		ROW_BLOCKS(a->n, {
			struct pair16 u = pairs_minus(pairs_u(a, row, i, count), pair16_set(row->mean_u)), c = pairs_centre(a, row, i, count);
			struct pair16 p = pair16_product(u.high, c.high);

			p.low = f64_add(p.low, f64_add(f64_mul(u.high, c.low), f64_mul(u.low, c.high)));
			pairs_add(&sums->cross, p, i);
		});
}

/* Whether √m <= ε. */
INLINE bool pairs_clamped(struct pair root, double epsilon)
{
	return root.high < epsilon || (root.high == epsilon && root.low <= 0);
}

/*
 * Second stage: all that follows from the sums. m = Σ x²/n − μ² where that cancels one bit at most; else, and for the
 * products, the sums are taken anew about μ.
 */
INLINE void pairs_moments(const struct pairs *a, struct pairs_row *row, struct pairs_sums *sums)
{
	const struct nc_norm_spec *spec = a->job->spec;
	struct pair n = {(double)a->n, 0}, epsilon = {spec->epsilon, 0}, root;
	bool curved;

	row->m = pair_div(pairs_total(&sums->square), n);
	if (a->layer) {
		row->mean = pair_div(pairs_total(&sums->x), n);
		if (a->projects)
			row->mean_u = pair_div(pairs_total(&sums->u), n);
		struct pair square = pair_mul(row->mean, row->mean), m = pair_add(row->m, pair_neg(square));
		bool cancels = !(square.high <= m.high);

		pairs_gather_centred(a, row, cancels, a->projects, sums);
		row->m = cancels ? pair_div(pairs_total(&sums->square), n) : m;
	}
	curved = row->m.high != 0;
	root = pair_sqrt(spec->placement == NC_INSIDE_SQRT ? pair_add(row->m, epsilon) : row->m);
	row->r = root;
	if (spec->placement == NC_OUTSIDE_SQRT)
		row->r = pair_add(root, epsilon);
	if (spec->placement == NC_CLAMP && pairs_clamped(root, spec->epsilon)) {
		row->r = epsilon;
		curved = false;
	}
	row->root = curved ? root : (struct pair){0, 0};
	row->inverse = pair_div((struct pair){1, 0}, row->r);
	row->k = (struct pair){0, 0};
	if (a->projects) {
		struct pair sum = pairs_total(&sums->cross);

		if (curved)
			row->k = pair_div(sum, pair_mul(n, pair_mul(root, row->r)));
		row->good = isfinite(sum.high);
	}
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
INLINE void pairs_forward(const struct pairs *a, const struct pairs_row *row, double *y)
{
	const double *gain = a->job->gain.values, *bias = a->job->bias.values;
	bool plain = a->job->spec->xhat_dtype == NC_FLOAT64;

	ROW_BLOCKS(a->n, {
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
INLINE void pairs_project(const struct pairs *a, const struct pairs_row *row, double *out, double *low)
{
	const double *gain = a->job->gained ? NULL : a->job->gain.values;

	ROW_BLOCKS(a->n, {
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
INLINE void pairs_params(const struct pairs *a, const struct pairs_row *row, size_t sums, bool first)
{
	const struct norm_job *job = a->job;
	size_t apart = job->period * a->n;

	ROW_BLOCKS(a->n, {
		f64x16 u = f64_load(row->u + i, count);

		if (job->dgain)
			pairs_gather(job->dgain + sums + i, apart, pairs_times(pairs_xhat(a, row, i, count), true, u), first, count);
		if (job->dbias)
			pairs_gather(job->dbias + sums + i, apart, pairs_plain(u), first, count);
	});
}

/* Third stage: every output of one row. */
INLINE void pairs_outputs(const struct pairs *a, const struct pairs_row *row, size_t index)
{
	const struct norm_job *job = a->job;
	size_t start = index * a->n, rows = NORM_JOB_BLOCK * job->period;
	size_t sums = (index / rows * 2 * job->period + index % job->period) * a->n;

	if (job->divisor)
		((double *)job->divisor)[index] = row->r.high;
	if (job->mean)
		((double *)job->mean)[index] = row->mean.high;
	if (job->variance)
		((double *)job->variance)[index] = row->m.high;
	if (job->xhat)
		ROW_BLOCKS(a->n, {
			struct pair16 xhat = pairs_xhat(a, row, i, count);
			f64x16 like = pairs_offset(a, row, i, count).high;

			f64_store((double *)job->xhat + start + i, pairs_signed(f64_add(xhat.high, xhat.low), like), count);
		});
	if (a->projects) {
		size_t based = (index - job->base) * a->n;

		if (job->vjp)
			pairs_project(a, row, job->vjp + based, job->vjp_low + based);
		else if (job->projected)
			pairs_project(a, row, (double *)job->projected + start, NULL);
		if (job->dgain || job->dbias)
			pairs_params(a, row, sums, index % rows < job->period);
	}
	if (job->y)
		pairs_forward(a, row, (double *)job->y + start);
}

INLINE struct pairs_row pairs_begin(const struct pairs *a, size_t index)
{
	const struct norm_job *job = a->job;
	size_t based = (index - job->base) * a->n;

	return (struct pairs_row){
		.x = job->sum ? job->sum + based : (const double *)job->x + index * a->n,
		.x_low = job->sum ? job->sum_low + based : NULL,
		.u = a->projects ? (const double *)job->u + index * a->n : NULL,
		.param = index % job->period * a->n,
		.good = true,
	};
}

/* The first two stages; false: not for pairs. */
INLINE bool pairs_start(const struct pairs *a, struct pairs_row *row)
{
	struct pairs_range range;
	struct pairs_sums sums;

	if (!pairs_gather_sums(a, row, &range, &sums))
		return false;
	pairs_moments(a, row, &sums);
	/*
	 * Without an epsilon a row of equal values has no value: whether they are equal to the last bit is for wide
	 * arithmetic to say.
	 */
	if (a->job->spec->epsilon == 0 && !(row->m.high > 0x1p-90 * NORM_JOB_LEAST))
		return false;
	if (a->layer && a->job->spec->epsilon == 0) {
		double most = 0, lanes[LANES];

		f64_store(lanes, range.most, LANES);
		for (int i = 0; i < LANES; i++)
			most = lanes[i] > most ? lanes[i] : most;
		if (!(row->m.high > 0x1p-90 * most * most))
			return false;
	}
	return row->good && isfinite(row->m.high);
}

INLINE void pairs_rows(struct pairs a, size_t first, size_t end)
{
	unsigned char *slow = a.job->slow;

	for (size_t index = first; index < end; index++) {
		struct pairs_row row = pairs_begin(&a, index);

		if (index + 1 < end) {
			row.ahead = row.x + a.n;
			row.ahead_u = row.u ? row.u + a.n : NULL;
		}
		if (slow[index] == NORM_JOB_LEFT)
			continue;
		if (pairs_start(&a, &row))
			pairs_outputs(&a, &row, index);
		else
			slow[index] = NORM_JOB_LEFT;
	}
}

/* As in norm_narrow.h: variants where the registers are wide, one body that looks at its flags where they are not. */
#if WIDTH > 2
#define PAIRS_VARIANT(suffix, is_layer, has_u) \
	static __attribute__((noinline)) void pairs_##suffix(const struct pairs *a, size_t first, size_t end) \
	{ \
		struct pairs variant = *a; \
\
		variant.layer = is_layer; \
		variant.projects = has_u; \
		pairs_rows(variant, first, end); \
	}
PAIRS_VARIANT(rms, false, false)
PAIRS_VARIANT(rms_vjp, false, true)
PAIRS_VARIANT(layer, true, false)
PAIRS_VARIANT(layer_vjp, true, true)
#endif

INLINE struct pairs pairs_of(const struct norm_job *job)
{
	return (struct pairs){
		.layer = job->spec->kind == NC_LAYERNORM,
		.projects = job->u,
		.job = job,
		.xhat = rounding_to(job->spec->xhat_dtype),
		.n = job->features,
	};
}

static void norm_pairs(const struct norm_job *job, size_t first, size_t end)
{
	struct pairs a = pairs_of(job);

#if WIDTH > 2
	static void (*const variants[2][2])(const struct pairs *, size_t, size_t) = {
		{pairs_rms, pairs_rms_vjp}, {pairs_layer, pairs_layer_vjp}};
	variants[a.layer][a.projects](&a, first, end);
#else
	pairs_rows(a, first, end);
#endif
}

#endif
