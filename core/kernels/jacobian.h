/*
 * Lines of one row's dense Jacobian, J_ij = g_i ((δ_ij − [LayerNorm] 1/n) / r − c_i c_j / (n s r²)).
 */
#ifndef KERNELS_JACOBIAN_H
#define KERNELS_JACOBIAN_H

#include "norm_narrow.h"
#include "norm_pairs.h"

/* The entries from column j on: offset − c_j·slope, times g. */
INLINE i64x16 jacobian_narrow_block(const struct narrow *a, const struct narrow_row *row, f64x16 offset, double slope, double g,
                                    size_t j, unsigned count, float *line)
{
	f64x16 v = f64_sub(offset, f64_mul(narrow_centre(a, row, j, count), f64_set(slope)));
	i64x16 doubt = i64_set(0);

	v = f64_zero_beyond(f64_mul(v, f64_set(g)), count);
	if (a->coarse) {
		doubt = f64_doubtful(v, a->output, NORM_ERROR);
		v = f64_round(v, a->output);
	}
	f64_store_f32(line + j, v, count);
	return doubt;
}

static int jacobian_narrow(const struct norm_job *job, size_t index, size_t first, size_t end, float *lines)
{
	struct narrow a = narrow_of(job);
	struct narrow_row row = narrow_begin(&a, index, 1, index);
	double n = (double)a.n, others = a.layer ? -1 / n : 0;
	i64x16 doubt = i64_set(0);

	a.projects = false;
	a.direct = false;
	narrow_centred(&a, &row, index);
	if (!row.good || row.doubtful)
		return 1;
	for (size_t at = first; at < end; at++, lines += a.n) {
		double g = 1, c[LANES], slope, unit[LANES] = {0};
		size_t block = at / LANES * LANES;
		unsigned inside = (unsigned)(a.n - block < LANES ? a.n - block : LANES);
		f64x16 offset = f64_set(others * row.inverse);

		f64_store(c, narrow_centre(&a, &row, block, inside), LANES);
		slope = row.root != 0 ? c[at - block] / (n * row.root * row.r * row.r) : 0;
		if (narrow_has(&a.gain))
			g = narrow_gain_at(&a, row.param + at);
		ROW_BLOCKS(a.n, { doubt = i64_or(doubt, jacobian_narrow_block(&a, &row, offset, slope, g, i, count, lines)); });
		for (int k = 0; k < LANES; k++)
			unit[k] = (k == (int)(at - block) ? 1 + others : others) * row.inverse;
		doubt = i64_or(doubt, jacobian_narrow_block(&a, &row, f64_load(unit, LANES), slope, g, block, inside, lines));
	}
	return i64_any(doubt);
}

INLINE void jacobian_pairs_block(const struct pairs *a, const struct pairs_row *row, struct pair16 offset, struct pair slope,
                                 double g, size_t j, unsigned count, double *line)
{
	struct pair16 v = pair16_sub(offset, pair16_mul(pairs_centre(a, row, j, count), pair16_set(slope)));

	f64_store(line + j, pair16_scale(v, f64_set(g)).high, count);
}

static int jacobian_pairs(const struct norm_job *job, size_t index, size_t first, size_t end, double *lines)
{
	struct pairs a = pairs_of(job);
	struct pairs_row row = pairs_begin(&a, index, 1, index);
	struct pair n = {(double)a.n, 0}, one = {1, 0}, others = {0, 0}, curvature = {0, 0}, diagonal;

	a.projects = false;
	pairs_centred(&a, &row, index);
	if (!row.good)
		return 1;
	if (row.root.high != 0)
		curvature = pair_div(one, pair_mul(pair_mul(n, row.root), pair_mul(row.r, row.r)));
	if (a.layer)
		others = pair_neg(pair_div(row.inverse, n));
	diagonal = pair_add(row.inverse, others);
	for (size_t at = first; at < end; at++, lines += a.n) {
		double g = a.job->gain.values ? a.job->gain.values[row.param + at] : 1, high[LANES], low[LANES];
		size_t block = at / LANES * LANES;
		unsigned inside = (unsigned)(a.n - block < LANES ? a.n - block : LANES), lane = (unsigned)(at - block);
		struct pair16 c = pairs_centre(&a, &row, block, inside), offset = pair16_set(others);

		f64_store(high, c.high, LANES);
		f64_store(low, c.low, LANES);
		struct pair slope = pair_mul((struct pair){high[lane], low[lane]}, curvature);
		ROW_BLOCKS(a.n, { jacobian_pairs_block(&a, &row, offset, slope, g, i, count, lines); });
		f64_store(high, offset.high, LANES);
		f64_store(low, offset.low, LANES);
		high[lane] = diagonal.high;
		low[lane] = diagonal.low;
		offset = (struct pair16){f64_load(high, LANES), f64_load(low, LANES)};
		jacobian_pairs_block(&a, &row, offset, slope, g, block, inside, lines);
	}
	return 0;
}

/*
 * Lines [first, end) of the Jacobian of row `index`, features numbers of the dtype's storage each. Other than 0: they are
 * for wide arithmetic.
 */
static int jacobian(const struct norm_job *job, size_t index, size_t first, size_t end, void *lines)
{
	if (job->spec->dtype == NC_FLOAT64)
		return jacobian_pairs(job, index, first, end, lines);
	return jacobian_narrow(job, index, first, end, lines);
}

/*
 * g_i / r, and the columns of left and right, which are rows of one (RMSNorm) or two (LayerNorm) numbers: −J's part of the
 * mean is (g_i / (n r)) · 1, that of the root (g_i c_i / (n s r)) · (c_j / r). All are float64 whatever the dtype: x is the
 * row as float64, and may be `diagonal`. Other than 0: they are for wide arithmetic.
 */
static int factors(const struct norm_job *job, size_t index, const double *x, double *diagonal, double *left, double *right)
{
	struct pairs a = pairs_of(job);
	struct pairs_row row = {.x = x, .param = index % job->period * job->features};
	struct pair n = {(double)a.n, 0}, mean, root = {0, 0};
	size_t rank = a.layer ? 2 : 1;

	a.projects = false;
	pairs_centred(&a, &row, index);
	if (!row.good)
		return 1;
	mean = pair_div(row.inverse, n);
	if (row.root.high != 0)
		root = pair_div(mean, row.root);
	ROW_BLOCKS(a.n, {
		struct pair16 c = pairs_offset(&a, &row, i, count), to_right = pairs_times_pair(c, a.layer, row.inverse);
		f64x16 g = f64_set(1);
		double column[3][LANES];

		if (job->gain.values)
			g = f64_load(job->gain.values + row.param + i, count);
		else if (job->gain.narrow)
			g = f64_load_f32(job->gain.narrow + row.param + i, count);
		struct pair16 over_r = pairs_times_pair(pairs_plain(g), false, row.inverse);
		struct pair16 to_mean = pairs_times_pair(pairs_plain(g), false, mean);
		struct pair16 to_root = pairs_times_pair(pairs_times(c, a.layer, g), true, root);

		f64_store(diagonal + i, f64_add(over_r.high, over_r.low), count);
		f64_store(column[0], f64_add(to_mean.high, to_mean.low), LANES);
		f64_store(column[1], f64_add(to_root.high, to_root.low), LANES);
		f64_store(column[2], f64_add(to_right.high, to_right.low), LANES);
		for (size_t k = 0; k < count; k++) {
			if (a.layer) {
				left[(i + k) * rank] = column[0][k];
				right[(i + k) * rank] = 1;
			}
			left[(i + k) * rank + rank - 1] = column[1][k];
			right[(i + k) * rank + rank - 1] = column[2][k];
		}
	});
	return 0;
}

#endif
