/*
 * Norms of float32, bfloat16 and float16 rows in float64: the square of a float32 is exact there.
 *
 * Two stages a row, each one pass: the sums, of LayerNorm about a shift K that is rounded to float32, with δ = μ − K; the
 * outputs. K is 0, or near the mean for a row whose mean is large beside its deviation. Stages of neighbouring rows are
 * interleaved: while one row's root is computed another row's outputs are running.
 */
#ifndef KERNELS_NORM_NARROW_H
#define KERNELS_NORM_NARROW_H

#include "core/norm_job.h"
#include "narrow_together.h"
#include "pairs.h"
#include "rounding.h"
#include "simd.h"

/* Rows of a group at most; elements of one, which stay in the second cache; columns that are done at a time. */
enum { NARROW_ROWS = 16, NARROW_ELEMENTS = 65536, NARROW_COLUMNS = 512 };

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

/* x − K, zero beyond count. */
INLINE f64x16 narrow_difference(const struct narrow *a, const struct narrow_row *row, bool shifted, size_t i, unsigned count)
{
	f64x16 x = narrow_x(a, row, i, count);

	return shifted ? f64_zero_beyond(f64_sub(x, f64_set(row->mean)), count) : x;
}

/* u_i − u_0 for LayerNorm, zero beyond count: a u of equal values gives sums of exactly 0. */
INLINE f64x16 narrow_u_difference(const struct narrow *a, const struct narrow_row *row, f64x16 u0, size_t i, unsigned count)
{
	f64x16 u = narrow_u(a, row, i, count);

	return a->layer ? f64_zero_beyond(f64_sub(u, u0), count) : u;
}

/* Sums over a row or a part of it, d = x − K and v = u − u_0. */
struct narrow_sums {
	struct narrow_sum d, square, v, cross;
};

INLINE void narrow_take(const struct narrow *a, const struct narrow_row *row, bool shifted, size_t from, size_t to,
                        struct narrow_sums *sums)
{
	f64x16 u0 = f64_set(a->projects && a->layer ? narrow_first_u(a, row) : 0), zero = f64_set(0);

	*sums = (struct narrow_sums){{0, 0}, {0, 0}, {0, 0}, {0, 0}};
	for (size_t end; from < to; from = end) {
		f64x16 d[2] = {zero, zero}, square[2] = {zero, zero}, v[2] = {zero, zero}, cross[2] = {zero, zero};

		end = to - from < NARROW_CHUNK ? to : from + NARROW_CHUNK;
		BANKED_BLOCKS(from, end, {
			f64x16 c = narrow_difference(a, row, shifted, i, count);

			if (a->layer || a->projects)
				narrow_fetch(row->ahead, i);
			if (a->projects)
				narrow_fetch(row->ahead_u, i);
			if (a->layer)
				d[bank] = f64_add(d[bank], c);
			if (shifted || (!a->direct && row->sum))
				square[bank] = f64_add(square[bank], f64_mul(c, c));
			else
				square[bank] = f64_add_exact_product(c, c, square[bank]);
			if (a->projects) {
				f64x16 u = narrow_u_difference(a, row, u0, i, count);

				if (a->layer)
					v[bank] = f64_add(v[bank], u);
				cross[bank] = f64_add(cross[bank], f64_mul(u, c));
			}
		});
		narrow_add(&sums->square, f64_sum(f64_add(square[0], square[1])));
		if (a->layer)
			narrow_add(&sums->d, f64_sum(f64_add(d[0], d[1])));
		if (a->projects && a->layer)
			narrow_add(&sums->v, f64_sum(f64_add(v[0], v[1])));
		if (a->projects)
			narrow_add(&sums->cross, f64_sum(f64_add(cross[0], cross[1])));
	}
}

/* The sums of one part. */
INLINE struct narrow_sums narrow_part(const struct narrow *a, const struct narrow_row *row, size_t part)
{
	size_t from = part * NORM_JOB_PART, to = norm_job_part_end(a->n, part);
	struct narrow_sums sums;

	if (a->layer && row->mean != 0)
		narrow_take(a, row, true, from, to, &sums);
	else
		narrow_take(a, row, false, from, to, &sums);
	return sums;
}

INLINE void narrow_merge_one(struct narrow_sum *total, struct narrow_sum part)
{
	narrow_add(total, part.high);
	total->low += part.low;
}

INLINE void narrow_merge(struct narrow_sums *total, const struct narrow_sums *part)
{
	narrow_merge_one(&total->d, part->d);
	narrow_merge_one(&total->square, part->square);
	narrow_merge_one(&total->v, part->v);
	narrow_merge_one(&total->cross, part->cross);
}

INLINE double narrow_total(struct narrow_sum sum)
{
	return sum.high + sum.low;
}

/*
 * Whether r has few bits but for some units of the last. An output of float32 can be an exact tie only if r is rational,
 * which is to say that r or n r has few bits or that r is an epsilon; and a small epsilon beside a large row, or the rounding of
 * a decimal epsilon, whose inverse has few bits, decides a tie by less than float64 can see. Then the last bit of float64 is one
 * too few.
 */
INLINE bool row_is_round(double r)
{
	int64_t bits;

	memcpy(&bits, &r, sizeof(bits));
	return ((bits + 64) & 0xffffff) <= 128;
}

/* All that follows from the sums, but where too much of m is cancelled: then K is set, and the sums are wanted again: false. */
INLINE bool narrow_settle(const struct narrow *a, struct narrow_row *row, const struct narrow_sums *sums)
{
	const struct nc_norm_spec *spec = a->job->spec;
	double n = (double)a->n, delta = 0, m = narrow_total(sums->square) / n;

	if (a->layer) {
		delta = narrow_total(sums->d) / n;
		m -= delta * delta;
		if (delta * delta > 4 * m && row->mean == 0 && (float)delta != 0) {
			row->mean = (double)(float)delta;
			return false;
		}
	}
	row->settled = true;
	if (a->projects && a->layer)
		row->mean_u = narrow_first_u(a, row) + narrow_total(sums->v) / n;

	/* Σ (u − ū) c = Σ v d − δ Σ v */
	double square = narrow_total(sums->square), cross = narrow_total(sums->cross) - delta * narrow_total(sums->v);
	double root = sqrt(spec->placement == NC_INSIDE_SQRT ? m + spec->epsilon : m), r = root;
	bool curved = m != 0;

	if (spec->placement == NC_OUTSIDE_SQRT)
		r = root + spec->epsilon;
	if (spec->placement == NC_CLAMP && root <= spec->epsilon) {
		r = spec->epsilon;
		curved = false;
	}
	row->shifted = a->layer && row->mean != 0;
	row->delta = delta;
	row->m = m;
	row->r = r;
	row->inverse = 1 / r;
	row->doubtful = !a->coarse && (row_is_round(r) || row_is_round(row->inverse) || row_is_round(r * n) ||
	                               (spec->placement == NC_CLAMP && r == spec->epsilon));
	row->root = curved ? root : 0;
	if (a->projects)
		row->k = curved ? cross / (n * root * r) : 0;
	/* A sum of squares is finite when every element is; u must be finite too. m = 0 without an epsilon: no value. */
	row->good = isfinite(square) && (!a->projects || isfinite(cross)) && (m > 0 || spec->epsilon > 0);
	/* Unrounded sums that are equal leave a rest of m; whether they are is for wide arithmetic to say. */
	if (a->layer && !a->direct && row->sum && spec->epsilon == 0)
		row->good = row->good && m > 0x1p-80 * row->mean * row->mean;
	return true;
}

INLINE struct narrow_row narrow_begin(const struct narrow *a, size_t index, size_t group, size_t end)
{
	const struct norm_job *job = a->job;
	size_t soon = index + group < end ? index + group : index;
	const float *x = job->x, *u = a->projects ? job->u : NULL;
	const double *sum = job->sum ? job->sum + (index - job->base) * a->n : NULL;

	return (struct narrow_row){
		.begun = true,
		.x = x ? x + index * a->n : NULL,
		.sum = sum,
		.u = u ? u + index * a->n : NULL,
		.ahead = x ? (const void *)(x + soon * a->n) : sum,
		.ahead_u = u ? u + soon * a->n : NULL,
		.param = index % job->period * a->n,
	};
}

/* What a settled row leaves beside its outputs; a row that has none here is marked. */
INLINE void narrow_note(const struct narrow *a, struct narrow_row *row, size_t index)
{
	unsigned char *slow = &a->job->slow[index];

	if (!row->good)
		*slow = NORM_JOB_LEFT;
	row->good = *slow != NORM_JOB_LEFT;
	if (row->good)
		narrow_stats(a->job, row, index);
	if (row->good && row->doubtful)
		*slow = NORM_JOB_DOUBTFUL;
}

#define FAMILY narrow
#include "norm_stages.h"
#undef FAMILY

/* Forward: the outputs of a row while what was read of it is in the nearest cache. */
INLINE void narrow_one_by_one(const struct narrow *a, size_t first, size_t end)
{
	for (size_t index = first; index < end; index++) {
		struct narrow_row row = narrow_start(a, index, 1, end);

		if (!row.good)
			continue;
		narrow_columns(a, &row, index, a->from, a->to);
	}
}

/* The same for some rows at once, as many as are left and good; each else alone. */
INLINE void narrow_together(const struct narrow *a, size_t first, size_t end)
{
	struct together t;

	for (size_t start = first; start < end; start += TOGETHER) {
		unsigned count = end - start < TOGETHER ? (unsigned)(end - start) : TOGETHER, good = 0;

		for (unsigned i = 0; i < count; i++) {
			t.row[i] = narrow_start(a, start + i, TOGETHER, end);
			good += t.row[i].good;
		}
		if (good == TOGETHER && a->job->period == 1) {
			t.rows = TOGETHER;
			together_outputs(a, &t, start, a->from, a->to);
			continue;
		}
		for (unsigned i = 0; i < count; i++) {
			struct together alone = {.rows = 1, .row[0] = t.row[i]};

			if (t.row[i].good)
				together_outputs(a, &alone, start + i, a->from, a->to);
		}
	}
}

/*
 * Backward: sums of a group of rows, then their outputs, some columns at a time: the parameters and the sums of their
 * gradients stay in the nearest cache while they serve all rows.
 */
INLINE void narrow_grouped(const struct narrow *a, size_t first, size_t end)
{
	struct narrow_row rows[NARROW_ROWS];
	size_t fitting = NARROW_ELEMENTS / a->n + 1, group = fitting < NARROW_ROWS ? fitting : NARROW_ROWS;

	for (size_t start = first; start < end; start += group) {
		size_t count = end - start < group ? end - start : group;

		for (size_t i = 0; i < count; i++)
			rows[i] = narrow_start(a, start + i, group, end);
		for (size_t from = a->from; from < a->to; from += NARROW_COLUMNS)
			for (size_t i = 0; i < count; i++)
				if (rows[i].good)
					narrow_columns(a, &rows[i], start + i, from,
					               a->to - from < NARROW_COLUMNS ? a->to : from + NARROW_COLUMNS);
	}
}

INLINE void narrow_rows(struct narrow a, size_t first, size_t end)
{
	if (a.direct && (a.layer || a.projects))
		narrow_together(&a, first, end);
	else if (a.projects)
		narrow_grouped(&a, first, end);
	else
		narrow_one_by_one(&a, first, end);
}

/*
 * Narrow registers get one body that looks at its flags as it goes: the bits are the same, and the compiler's time is
 * spent where the speed is.
 */
#if WIDTH <= 2
#define NARROW_VARIANT(suffix, is_layer, has_u, is_direct)
#else
#define NARROW_VARIANT(suffix, is_layer, has_u, is_direct) \
	static __attribute__((noinline)) void narrow_##suffix(const struct narrow *a, size_t first, size_t end) \
	{ \
		struct narrow variant = *a; \
\
		variant.layer = is_layer; \
		variant.projects = has_u; \
		variant.direct = is_direct; \
		narrow_rows(variant, first, end); \
	}
#endif
#define NARROW_VARIANTS(suffix, is_layer, has_u) \
	NARROW_VARIANT(suffix##_any, is_layer, has_u, false) \
	NARROW_VARIANT(suffix##_direct, is_layer, has_u, true)
NARROW_VARIANTS(rms, false, false)
NARROW_VARIANTS(rms_vjp, false, true)
NARROW_VARIANTS(layer, true, false)
NARROW_VARIANTS(layer_vjp, true, true)

/* Whether each block of 16 columns of each row is one line of the caches; NULL is as good. */
INLINE bool narrow_lines(const void *array, size_t features)
{
	return features % LANES == 0 && (uintptr_t)array % (LANES * sizeof(float)) == 0;
}

INLINE struct narrow narrow_of(const struct norm_job *job)
{
	const struct nc_norm_spec *spec = job->spec;
	bool direct = spec->dtype == NC_FLOAT32 && spec->xhat_dtype == NC_FLOAT64 && !job->sum && !job->vjp && (!job->u || job->gained);

	return (struct narrow){
		.layer = spec->kind == NC_LAYERNORM,
		.projects = job->u,
		.direct = direct,
		.coarse = spec->dtype != NC_FLOAT32,
		.gained = job->gained,
		.raw = spec->xhat_dtype == NC_FLOAT64,
		.gain = job->gain,
		.bias = job->bias,
		.job = job,
		.output = rounding_to(spec->dtype),
		.xhat = rounding_to(spec->xhat_dtype),
		.stream = job->stream && narrow_lines(job->y, job->features) && narrow_lines(job->projected, job->features),
		.n = job->features,
	};
}

static int norm_narrow(const struct norm_job *job, struct norm_task task)
{
	struct narrow a = narrow_of(job);

	if (task.stage == NORM_SETTLE)
		return narrow_settle_all(&a, task.first, task.end);
	narrow_aim(&a, task);
	if (task.first >= task.end)
		return 0;
#if WIDTH <= 2
	narrow_rows(a, task.first, task.end);
#else
#define NARROW_ROW(suffix) \
	{ \
		narrow_##suffix##_any, narrow_##suffix##_direct \
	}
	static void (*const variants[2][2][2])(const struct narrow *, size_t, size_t) = {
		{NARROW_ROW(rms), NARROW_ROW(rms_vjp)}, {NARROW_ROW(layer), NARROW_ROW(layer_vjp)}};
	variants[a.layer][a.projects][a.direct](&a, task.first, task.end);
#endif
	if (a.stream)
		stream_end();
	return 0;
}

#endif
