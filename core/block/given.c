/* A sublayer that the caller linearized: F(h) = output + J·(h − h0), h0 its input in this very call. */
#include "function.h"

#include "matrix.h"

static size_t given_tape(const struct nc_block *block, const struct nc_sublayer *sublayer)
{
	(void)block;
	(void)sublayer;
	return 0;
}

static size_t given_work(const struct nc_block *block, const struct nc_sublayer *sublayer, size_t sweeps)
{
	(void)sublayer;
	(void)sweeps;
	return size_times(size_times(block->batch, block->length), block->width);
}

/* y += x·Jᵀ, or y = x·J for the backward direction; a diagonal is the same in both. */
static void apply_jacobian(struct step *step, bool backward, size_t rows, const double *x, double *y)
{
	const struct nc_given *given = &step->sublayer->given;
	size_t d = step->block->width;

	if (given->diagonal) {
		for (size_t i = 0; i < rows; i++)
			for (size_t j = 0; j < d; j++) {
				double term = given->jacobian[j] * x[i * d + j];

				y[i * d + j] = backward ? term : y[i * d + j] + term;
			}
		return;
	}
	struct nc_product product = {.m = rows,
	                             .n = d,
	                             .k = d,
	                             .a = x,
	                             .a_row = d,
	                             .a_col = 1,
	                             .b = given->jacobian,
	                             .b_row = backward ? d : 1,
	                             .b_col = backward ? 1 : d,
	                             .c = y,
	                             .c_row = d,
	                             .c_col = 1,
	                             .accumulate = !backward};

	nc_multiply(&product, step->pool);
}

static enum nc_status given_forward(struct step *step, const double *x, double *y, double *tape)
{
	size_t count = step->rows * step->block->width, mark = nc_arena_mark(step->arena);
	double *offset;

	(void)tape;
	memcpy(y, step->sublayer->given.output, count * sizeof(*y));
	if (!step->origin) /* h = h0 */
		return NC_OK;
	offset = nc_arena_array(step->arena, count, sizeof(*offset));
	if (!offset)
		return NC_NO_MEMORY;
	for (size_t i = 0; i < count; i++)
		offset[i] = x[i] - step->origin[i];
	apply_jacobian(step, false, step->rows, offset, y);
	nc_arena_rewind(step->arena, mark);
	return NC_OK;
}

static enum nc_status given_backward(struct step *step, const double *x, const double *tape, size_t sweeps,
                                     const double *dy, double *dx)
{
	(void)x;
	(void)tape; /* y = output + J·(h − h0) */
	apply_jacobian(step, true, sweeps * step->rows, dy, dx);
	return NC_OK;
}

const struct function nc_function_given = {given_tape, given_work, given_forward, given_backward};
