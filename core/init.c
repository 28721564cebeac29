/*
 * Seeded weights, the same bits on every machine.
 *
 * Numbers come from Threefry-2x64-20 (core/kernels/draw.h) with key (seed, 0). Element e of a matrix, row-major, is
 * number e of the stream  layer·2^32 + sublayer·2^8 + slot,  slot the place of the parameter in slot.def.
 *
 *     normal           std·gain · N(0, 1)
 *     xavier_normal    gain·√(2/(in + out)) · N(0, 1)
 *     xavier_uniform   gain·√(6/(in + out)) · U(−1, 1)
 *     kaiming_normal   gain/√in · N(0, 1)
 *     orthogonal       gain · Q: orthonormal rows or columns, the fewer of the two, by Gram–Schmidt (twice) on N(0, 1)
 */
#include "init.h"

#include "function.h"

#include <math.h>

static double scale_of(const struct nc_init *init, size_t rows, size_t cols)
{
	double in = (double)cols, out = (double)rows;

	switch (init->scheme) {
	case NC_SCHEME_NORMAL:
		return init->std * init->gain;
	case NC_SCHEME_XAVIER_NORMAL:
		return init->gain * sqrt(2 / (in + out));
	case NC_SCHEME_XAVIER_UNIFORM:
		return init->gain * sqrt(6 / (in + out));
	case NC_SCHEME_KAIMING_NORMAL:
		return init->gain / sqrt(in);
	default:
		return 1;
	}
}

enum { SUMS = 8 };

static double dot(const double *a, const double *b, size_t count)
{
	double sum[SUMS] = {0}, total = 0;
	size_t i = 0;

	for (; i + SUMS <= count; i += SUMS)
		for (size_t j = 0; j < SUMS; j++)
			sum[j] += a[i + j] * b[i + j];
	for (; i < count; i++)
		sum[0] += a[i] * b[i];
	for (size_t j = 0; j < SUMS; j++)
		total += sum[j];
	return total;
}

/* Makes the `vectors` rows of q, each of `length` >= vectors numbers, orthonormal. */
static void orthonormalize(double *q, size_t vectors, size_t length)
{
	for (size_t i = 0; i < vectors; i++) {
		double *own = q + i * length, inverse;

		for (size_t j = 0; j < 2 * i; j++) {
			const double *other = q + j % i * length;
			double along = dot(own, other, length);

			for (size_t l = 0; l < length; l++)
				own[l] -= along * other[l];
		}
		inverse = 1 / sqrt(dot(own, own, length));
		for (size_t l = 0; l < length; l++)
			own[l] *= inverse;
	}
}

enum nc_status nc_init_matrix(const struct nc_init *init, size_t layer, size_t sublayer, enum nc_slot slot, size_t rows,
                              size_t cols, double *out, struct nc_arena *arena)
{
	uint64_t stream = (uint64_t)layer << 32 | (uint64_t)sublayer << 8 | (uint64_t)slot;
	size_t count = rows * cols, mark;
	double *q;

	if (init->scheme == NC_SCHEME_XAVIER_UNIFORM) {
		kernels()->draw_uniform(init->seed, stream, scale_of(init, rows, cols), out, count);
		return NC_OK;
	}
	kernels()->draw_normal(init->seed, stream, scale_of(init, rows, cols), out, count);
	if (init->scheme != NC_SCHEME_ORTHOGONAL)
		return NC_OK;

	if (rows <= cols) {
		orthonormalize(out, rows, cols);
	} else { /* the columns, as rows of a copy */
		mark = nc_arena_mark(arena);
		q = nc_arena_array(arena, count, sizeof(*q));
		if (!q)
			return NC_NO_MEMORY;
		for (size_t i = 0; i < rows; i++)
			for (size_t j = 0; j < cols; j++)
				q[j * rows + i] = out[i * cols + j];
		orthonormalize(q, cols, rows);
		for (size_t i = 0; i < rows; i++)
			for (size_t j = 0; j < cols; j++)
				out[i * cols + j] = q[j * rows + i];
		nc_arena_rewind(arena, mark);
	}
	for (size_t i = 0; i < count; i++)
		out[i] *= init->gain;
	return NC_OK;
}

enum { MATRICES = 8 }; /* more than any F has */

/* The matrices of one sublayer, drawn layer by layer over the pool. */
struct draw_job {
	const struct nc_init *init;
	size_t sublayer, matrices;
	struct {
		enum nc_slot slot;
		size_t rows, cols;
		double *out;
	} matrix[MATRICES];
};

static void draw_layer(void *context, size_t layer)
{
	const struct draw_job *job = context;

	for (size_t i = 0; i < job->matrices; i++)
		nc_init_matrix(job->init, layer, job->sublayer, job->matrix[i].slot, job->matrix[i].rows,
		               job->matrix[i].cols,
		               job->matrix[i].out + layer * job->matrix[i].rows * job->matrix[i].cols, NULL);
}

enum nc_status nc_block_init(struct nc_block *block, struct nc_pool *pool, struct nc_arena *arena)
{
	for (size_t i = 0; i < block->sublayer_count; i++) {
		struct nc_sublayer *s = block->sublayers + i;
		struct draw_job job = {.init = &s->init, .sublayer = i};

		if (s->init.scheme == NC_SCHEME_NONE)
			continue;
		for (int slot = 0; slot < NC_SLOT_COUNT; slot++) {
			size_t shape[2], count;
			double *value;

			if (!nc_slot_required(s, (enum nc_slot)slot))
				continue;
			nc_slot_shape(block, s, (enum nc_slot)slot, shape);
			count = size_times(shape[0], shape[1]);
			value = nc_arena_array(arena, size_times(count, block->depth), sizeof(*value));
			if (!value)
				return NC_NO_MEMORY;
			s->weight[slot] = (struct nc_weight){.value = value, .count = count, .value_step = count};
			job.matrix[job.matrices].slot = (enum nc_slot)slot;
			job.matrix[job.matrices].rows = shape[0];
			job.matrix[job.matrices].cols = shape[1];
			job.matrix[job.matrices++].out = value;
		}
		if (s->init.scheme != NC_SCHEME_ORTHOGONAL) {
			nc_pool_run(pool, draw_layer, &job, block->depth);
			continue;
		}
		for (size_t layer = 0; layer < block->depth; layer++)
			for (size_t m = 0; m < job.matrices; m++)
				if (nc_init_matrix(job.init, layer, i, job.matrix[m].slot, job.matrix[m].rows,
				                   job.matrix[m].cols,
				                   job.matrix[m].out + layer * job.matrix[m].rows * job.matrix[m].cols,
				                   arena) != NC_OK)
					return NC_NO_MEMORY;
	}
	return NC_OK;
}
