/*
 * Outputs of a few neighbouring rows at a time, of float32 with nothing rounded in between: a block of columns of each row in
 * turn, so that the parameters are read, and the sums of their gradients written, once for all of them.
 */
#ifndef KERNELS_NARROW_TOGETHER_H
#define KERNELS_NARROW_TOGETHER_H

#include "narrow_outputs.h"

/* Rows at a time: as many as the registers hold; the bits do not depend on it. */
#if WIDTH == 8
#define TOGETHER 4
#define EACH_ROW_TOGETHER(...) EACH_ROW_2(0, __VA_ARGS__) EACH_ROW_2(2, __VA_ARGS__)
#elif WIDTH == 4
#define TOGETHER 2
#define EACH_ROW_TOGETHER(...) EACH_ROW_2(0, __VA_ARGS__)
#else
#define TOGETHER 1
#define EACH_ROW_TOGETHER(...) EACH_ROW_1(0, __VA_ARGS__)
#endif
#define EACH_ROW_1(r0, ...) \
	{ \
		enum { r = r0 }; \
		__VA_ARGS__; \
	}
#define EACH_ROW_2(r0, ...) EACH_ROW_1(r0, __VA_ARGS__) EACH_ROW_1(r0 + 1, __VA_ARGS__)

/* The statements for each of `rows` rows, which is 1 or TOGETHER: r is a constant, and so are the rows' registers. */
#define EACH_ROW(rows, ...) \
	do { \
		if ((rows) == 1) { \
			EACH_ROW_1(0, __VA_ARGS__) \
		} else { \
			EACH_ROW_TOGETHER(__VA_ARGS__) \
		} \
	} while (0)

/* Rows that are one after the other and have the same parameters, those at `param`. */
struct together {
	unsigned rows;
	bool shifted; /* any of them has a K */
	size_t param;
	struct narrow_row row[TOGETHER];
};

/* x − μ of the rows' columns i and after. */
INLINE void together_centre(const struct narrow *a, const struct together *t, size_t i, unsigned count, f64x16 *c)
{
	EACH_ROW(t->rows, c[r] = f64_load_f32(t->row[r].x + i, count));
	if (!a->layer)
		return;
	if (t->shifted)
		EACH_ROW(t->rows, c[r] = f64_sub(c[r], f64_set(t->row[r].mean)));
	EACH_ROW(t->rows, c[r] = f64_sub(c[r], f64_set(t->row[r].delta)));
}

INLINE void together_store(const struct narrow *a, const struct together *t, float *p, const f64x16 *v, unsigned count)
{
	if (a->stream)
		EACH_ROW(t->rows, f64_stream_f32(p + r * a->n, v[r]));
	else
		EACH_ROW(t->rows, f64_store_f32(p + r * a->n, v[r], count));
}

INLINE void together_claim(const struct narrow *a, const struct together *t, const float *p, size_t i)
{
	if (!a->stream)
		EACH_ROW(t->rows, narrow_claim(p + r * a->n, i));
}

/* y_i = g_i (x_i − μ) / r + b_i */
INLINE void together_forward(const struct narrow *a, const struct together *t, size_t from, size_t to, float *y)
{
	const struct together known = *t; /* stores to the outputs do not change it */
	bool gained = narrow_has(&a->gain), biased = a->layer && narrow_has(&a->bias);

	COLUMN_BLOCKS(from, to, {
		f64x16 v[TOGETHER];

		/* every load before any store: a store may share the low bits of a later load's address, and would hold it up */
		together_centre(a, &known, i, count, v);
		together_claim(a, &known, y, i);
		if (gained) {
			f64x16 g = narrow_param(&a->gain, known.param + i, count);

			EACH_ROW(known.rows, v[r] = f64_mul(v[r], g));
		}
		EACH_ROW(known.rows, v[r] = f64_mul(v[r], f64_set(known.row[r].inverse)));
		if (biased) {
			f64x16 b = narrow_param(&a->bias, known.param + i, count);

			EACH_ROW(known.rows, v[r] = f64_add(v[r], b));
		}
		together_store(a, &known, y + i, v, count);
	});
}

/*
 * With a = dy/r: dx_i = g_i a_i − (c_i k/r + ū/r), dgain_i += a_i c_i, dbias_i += dy_i. `fresh`: the sums begin with these rows.
 */
INLINE void together_backward(const struct narrow *a, const struct together *t, size_t from, size_t to, struct narrow_gradients g,
                              bool fresh)
{
	const struct together known = *t;
	double slope[TOGETHER] = {0}, offset[TOGETHER] = {0};

	for (unsigned r = 0; r < known.rows; r++) {
		slope[r] = known.row[r].k * known.row[r].inverse;
		offset[r] = known.row[r].mean_u * known.row[r].inverse;
	}
	COLUMN_BLOCKS(from, to, {
		f64x16 c[TOGETHER], over[TOGETHER], zero = f64_set(0);

		together_centre(a, &known, i, count, c);
		EACH_ROW(known.rows, over[r] = f64_load_f32(known.row[r].u + i, count));
		if (g.dbias) {
			struct pair16 sum = {zero, zero};

			if (!fresh)
				sum = (struct pair16){f64_load(g.dbias + i, count), f64_load(g.dbias + g.apart + i, count)};
			EACH_ROW(known.rows, narrow_gather(&sum, over[r]));
			f64_store(g.dbias + i, sum.high, count);
			f64_store(g.dbias + g.apart + i, sum.low, count);
		}
		EACH_ROW(known.rows, over[r] = f64_mul(over[r], f64_set(known.row[r].inverse)));
		if (g.dgain) {
			f64x16 sum = fresh ? zero : f64_load(g.dgain + i, count);

			EACH_ROW(known.rows, sum = f64_add(sum, f64_mul(over[r], c[r])));
			f64_store(g.dgain + i, sum, count);
		}
		if (g.dx) {
			together_claim(a, &known, g.dx, i);
			if (narrow_has(&a->gain)) {
				f64x16 gain = narrow_param(&a->gain, known.param + i, count);

				EACH_ROW(known.rows, over[r] = f64_mul(over[r], gain));
			}
			EACH_ROW(known.rows, c[r] = f64_mul(c[r], f64_set(slope[r])));
			if (a->layer)
				EACH_ROW(known.rows, c[r] = f64_add(c[r], f64_set(offset[r])));
			EACH_ROW(known.rows, over[r] = f64_sub(over[r], c[r]));
			together_store(a, &known, g.dx + i, over, count);
		}
	});
}

/* Every output of the columns [from, to) of the rows from `start` on. */
INLINE void together_outputs(const struct narrow *a, struct together *t, size_t start, size_t from, size_t to)
{
	const struct norm_job *job = a->job;
	size_t at = start * a->n;
	i64x16 certain = i64_set(0); /* float32 leaves no doubt */

	t->param = t->row[0].param;
	t->shifted = false;
	for (unsigned r = 0; r < t->rows; r++)
		t->shifted |= t->row[r].shifted;
	if (job->xhat)
		for (unsigned r = 0; r < t->rows; r++)
			narrow_xhat_columns(a, &t->row[r], from, to, &certain, (float *)job->xhat + at + r * a->n);
	if (a->projects) {
		size_t period = job->period, params = period * a->n, block = start / (NORM_JOB_BLOCK * period) * params;

		together_backward(a, t, from, to, (struct narrow_gradients){
			.dx = job->projected ? (float *)job->projected + at : NULL,
			.dgain = job->dgain ? job->dgain + block + t->param : NULL,
			.dbias = job->dbias ? job->dbias + 2 * block + t->param : NULL,
			.apart = params,
		}, start % (NORM_JOB_BLOCK * period) < period);
	}
	if (!job->y)
		return;
	if (a->layer)
		together_forward(a, t, from, to, (float *)job->y + at);
	else
		for (unsigned r = 0; r < t->rows; r++)
			narrow_y(a, &t->row[r], from, to, &certain, (float *)job->y + at + r * a->n);
}

#endif
