/*
 * Norms of float64 rows in pairs of float64 (pairs.h): about 106 bits, rounded once at the end.
 *
 * Passes over a row: the range and the sums; where they are needed the sums about μ; the outputs. A row whose
 * magnitudes leave the range in which pairs keep their bits is marked and left to wide arithmetic (norm_wide.h).
 */
#ifndef KERNELS_NORM_PAIRS_H
#define KERNELS_NORM_PAIRS_H

#include "pairs_outputs.h"
#include "params.h"

/* Sums gather their errors over at most this many features before they are carried on. */
enum { PAIRS_CHUNK = 512 };

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

INLINE double pairs_most(const struct pairs_range *range)
{
	double most = 0, lanes[LANES];

	f64_store(lanes, range->most, LANES);
	for (int i = 0; i < LANES; i++)
		most = lanes[i] > most ? lanes[i] : most;
	return most;
}

/* Sums over a row or a part of it; those of LayerNorm's squares and products are about μ and ū, or not yet. */
struct pairs_sums {
	struct pair x, u, square, cross;
	double most;   /* the largest magnitude, where that is asked for */
	bool in_range;
};

INLINE void pairs_merge(struct pairs_sums *sums, const struct pairs_sums *part)
{
	sums->x = pair_add(sums->x, part->x);
	sums->u = pair_add(sums->u, part->u);
	sums->square = pair_add(sums->square, part->square);
	sums->cross = pair_add(sums->cross, part->cross);
	sums->most = part->most > sums->most ? part->most : sums->most;
	sums->in_range = sums->in_range && part->in_range;
}

/* First pass: the range of x and u, and their sums; of products for RMSNorm alone. */
INLINE struct pairs_sums pairs_take(const struct pairs *a, const struct pairs_row *row, size_t from, size_t to)
{
	struct pairs_range range = {f64_set(0), f64_set(1)};
	struct pairs_sum sum_x = pairs_zero(), sum_u = pairs_zero(), square = pairs_zero(), cross = pairs_zero();

	COLUMN_BLOCKS(from, to, {
		struct pair16 x = pairs_x(row, i, count);

		pairs_see(&range, x.high);
		pairs_add(&square, pairs_square(x, row->x_low), i);
		if (a->layer)
			pairs_add(&sum_x, x, i);
		if (a->projects) {
			struct pair16 u = pairs_u(a, row, i, count);

			pairs_see(&range, f64_load(row->u + i, count));
			if (a->layer)
				pairs_add(&sum_u, u, i);
			else
				pairs_add(&cross, row->x_low ? pair16_mul(u, x) : pairs_times(u, true, x.high), i);
		}
	});
	return (struct pairs_sums){
		.x = a->layer ? pairs_total(&sum_x) : (struct pair){0, 0},
		.u = a->layer && a->projects ? pairs_total(&sum_u) : (struct pair){0, 0},
		.square = pairs_total(&square),
		.cross = a->projects && !a->layer ? pairs_total(&cross) : (struct pair){0, 0},
		.most = a->layer && a->job->spec->epsilon == 0 ? pairs_most(&range) : 0,
		.in_range = pairs_in_range(&range),
	};
}

/* Second pass, LayerNorm's alone: sums about μ and ū of what is wanted. */
INLINE struct pairs_sums pairs_take_centred(const struct pairs *a, const struct pairs_row *row, size_t from, size_t to)
{
	struct pairs_sum square = pairs_zero(), cross = pairs_zero();

	if (row->cancels)
		COLUMN_BLOCKS(from, to, { pairs_add(&square, pairs_square(pairs_offset(a, row, i, count), true), i); });
	if (a->projects)
		COLUMN_BLOCKS(from, to, {
			struct pair16 u = pairs_minus(pairs_u(a, row, i, count), pair16_set(row->mean_u)), c = pairs_centre(a, row, i, count);
			struct pair16 p = pair16_product(u.high, c.high);

			p.low = f64_add(p.low, f64_add(f64_mul(u.high, c.low), f64_mul(u.low, c.high)));
			pairs_add(&cross, p, i);
		});
	return (struct pairs_sums){.square = pairs_total(&square), .cross = pairs_total(&cross), .in_range = true};
}

INLINE struct pairs_sums pairs_part(const struct pairs *a, const struct pairs_row *row, size_t part)
{
	size_t from = part * NORM_JOB_PART, to = norm_job_part_end(a->n, part);

	return a->layer && row->centred ? pairs_take_centred(a, row, from, to) : pairs_take(a, row, from, to);
}

/* Whether √m <= ε. */
INLINE bool pairs_clamped(struct pair root, double epsilon)
{
	return root.high < epsilon || (root.high == epsilon && root.low <= 0);
}

/* Without an epsilon a row of equal values has no value: whether they are equal to the last bit is for wide arithmetic to say. */
INLINE bool pairs_has_value(const struct pairs *a, struct pair m, double most)
{
	if (a->job->spec->epsilon == 0 && !(m.high > 0x1p-90 * NORM_JOB_LEAST))
		return false;
	return !(a->layer && a->job->spec->epsilon == 0) || m.high > 0x1p-90 * most * most;
}

/* μ, ū and m = Σ x²/n − μ²; false where that cancels more than one bit, or products are wanted: then sums are taken about μ. */
INLINE bool pairs_moments(const struct pairs *a, struct pairs_row *row, const struct pairs_sums *sums)
{
	struct pair n = {(double)a->n, 0};

	if (!row->centred || row->cancels)
		row->m = pair_div(sums->square, n);
	if (!a->layer || row->centred)
		return true;
	row->mean = pair_div(sums->x, n);
	if (a->projects)
		row->mean_u = pair_div(sums->u, n);
	struct pair square = pair_mul(row->mean, row->mean), m = pair_add(row->m, pair_neg(square));
	row->cancels = !(square.high <= m.high);
	row->centred = true;
	row->most = sums->most;
	if (!row->cancels)
		row->m = m;
	return !row->cancels && !a->projects;
}

/* All that follows from the sums, unless others are wanted first: false. */
INLINE bool pairs_settle(const struct pairs *a, struct pairs_row *row, const struct pairs_sums *sums)
{
	const struct nc_norm_spec *spec = a->job->spec;
	struct pair n = {(double)a->n, 0}, epsilon = {spec->epsilon, 0}, root;

	row->good = sums->in_range;
	if (row->good && !pairs_moments(a, row, sums))
		return false;
	row->settled = true;
	if (!row->good)
		return true;
	bool curved = row->m.high != 0;
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
	row->k = a->projects && curved ? pair_div(sums->cross, pair_mul(n, pair_mul(root, row->r))) : (struct pair){0, 0};
	row->good = isfinite(row->m.high) && (!a->projects || isfinite(sums->cross.high)) && pairs_has_value(a, row->m, row->most);
	return true;
}

/* What a settled row leaves beside its outputs; a row that has none here is marked. */
INLINE void pairs_note(const struct pairs *a, struct pairs_row *row, size_t index)
{
	const struct norm_job *job = a->job;

	if (!row->good)
		job->slow[index] = NORM_JOB_LEFT;
	row->good = job->slow[index] != NORM_JOB_LEFT;
	if (!row->good)
		return;
	if (job->divisor)
		((double *)job->divisor)[index] = row->r.high;
	if (job->mean)
		((double *)job->mean)[index] = row->mean.high;
	if (job->variance)
		((double *)job->variance)[index] = row->m.high;
}

INLINE struct pairs_row pairs_begin(const struct pairs *a, size_t index, size_t group, size_t end)
{
	const struct norm_job *job = a->job;
	size_t based = (index - job->base) * a->n;
	const double *x = job->sum ? job->sum + based : (const double *)job->x + index * a->n;

	return (struct pairs_row){
		.begun = true,
		.x = x,
		.x_low = job->sum ? job->sum_low + based : NULL,
		.u = a->projects ? (const double *)job->u + index * a->n : NULL,
		.ahead = index + group < end ? x + group * a->n : NULL,
		.param = index % job->period * a->n,
	};
}

#define FAMILY pairs
#include "norm_stages.h"
#undef FAMILY

INLINE void pairs_rows(struct pairs a, size_t first, size_t end)
{
	for (size_t index = first; index < end; index++) {
		struct pairs_row row = pairs_start(&a, index, 1, end);

		if (row.good)
			pairs_outputs(&a, &row, index, a.from, a.to);
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

static int norm_pairs(const struct norm_job *job, struct norm_task task)
{
	struct pairs a = pairs_of(job);

	if (task.stage == NORM_SETTLE)
		return pairs_settle_all(&a, task.first, task.end);
	pairs_aim(&a, task);
#if WIDTH > 2
	static void (*const variants[2][2])(const struct pairs *, size_t, size_t) = {
		{pairs_rms, pairs_rms_vjp}, {pairs_layer, pairs_layer_vjp}};
	variants[a.layer][a.projects](&a, task.first, task.end);
#else
	pairs_rows(a, task.first, task.end);
#endif
	return 0;
}

#endif
