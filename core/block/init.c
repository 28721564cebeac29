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
 *     orthogonal       gain · Q: orthonormal rows or columns, the fewer of the two, of N(0, 1) made orthonormal
 */
#include "init.h"

#include "function.h"
#include "orthogonal.h"

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

/* What draw makes of N(0, 1): orthonormal rows or columns, the fewer of the two, times gain. */
static enum nc_status make_orthogonal(double gain, size_t rows, size_t cols, double *out, struct nc_pool *pool,
                                      struct nc_arena *arena)
{
	size_t count = rows * cols, mark = nc_arena_mark(arena);
	bool tall = rows > cols;
	double *q = tall ? nc_arena_array(arena, count, sizeof(*q)) : out; /* the columns, as rows of a copy */
	enum nc_status status;

	if (!q)
		return NC_NO_MEMORY;
	for (size_t i = 0; tall && i < count; i++)
		q[i % cols * rows + i / cols] = out[i];
	status = nc_orthonormalize(q, tall ? cols : rows, tall ? rows : cols, pool, arena);
	for (size_t i = 0; tall && i < count; i++)
		out[i] = q[i % cols * rows + i / cols];
	for (size_t i = 0; i < count; i++)
		out[i] *= gain;
	nc_arena_rewind(arena, mark);
	return status;
}

static void draw(const struct nc_init *init, size_t layer, size_t sublayer, enum nc_slot slot, size_t rows, size_t cols,
                 double *out)
{
	uint64_t stream = (uint64_t)layer << 32 | (uint64_t)sublayer << 8 | (uint64_t)slot;
	double scale = scale_of(init, rows, cols);

	if (init->scheme == NC_SCHEME_XAVIER_UNIFORM)
		kernels()->draw_uniform(init->seed, stream, scale, out, rows * cols);
	else
		kernels()->draw_normal(init->seed, stream, scale, out, rows * cols);
}

enum nc_status nc_init_matrix(const struct nc_init *init, size_t layer, size_t sublayer, enum nc_slot slot, size_t rows,
                              size_t cols, double *out, struct nc_pool *pool, struct nc_arena *arena)
{
	draw(init, layer, sublayer, slot, rows, cols, out);
	return init->scheme == NC_SCHEME_ORTHOGONAL ? make_orthogonal(init->gain, rows, cols, out, pool, arena) : NC_OK;
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
		draw(job->init, layer, job->sublayer, job->matrix[i].slot, job->matrix[i].rows, job->matrix[i].cols,
		     job->matrix[i].out + layer * job->matrix[i].rows * job->matrix[i].cols);
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
		nc_pool_run(pool, draw_layer, &job, block->depth);
		for (size_t layer = 0; layer < block->depth && s->init.scheme == NC_SCHEME_ORTHOGONAL; layer++)
			for (size_t m = 0; m < job.matrices; m++) {
				size_t rows = job.matrix[m].rows, cols = job.matrix[m].cols;

				if (make_orthogonal(s->init.gain, rows, cols, job.matrix[m].out + layer * rows * cols,
				                    pool, arena) != NC_OK)
					return NC_NO_MEMORY;
			}
	}
	return NC_OK;
}
