/* y = W·x + b, and the sublayer that is nothing else. */
#include "function.h"

#include "matrix.h"

void nc_linear_forward(const struct step *step, size_t rows, size_t in, size_t out, enum nc_slot w, enum nc_slot b,
                       const double *x, double *y)
{
	const double *bias = step_value(step, b);
	struct nc_product forward = {.m = rows,
	                             .n = out,
	                             .k = in,
	                             .a = x,
	                             .a_row = in,
	                             .a_col = 1,
	                             .b = step_value(step, w),
	                             .b_row = 1,
	                             .b_col = in,
	                             .c = y,
	                             .c_row = out,
	                             .c_col = 1,
	                             .accumulate = bias != NULL};

	if (bias)
		for (size_t i = 0; i < rows; i++)
			memcpy(y + i * out, bias, out * sizeof(*y));
	nc_multiply(&forward, step->pool); /* y = b + x·wᵀ */
}

void nc_linear_backward(const struct step *step, size_t rows, size_t in, size_t out, enum nc_slot w, enum nc_slot b,
                        const double *x, size_t sweeps, const double *dy, double *dx, bool add)
{
	double *dw = step_gradient(step, w), *db = step_gradient(step, b);

	if (db) /* y = b + … */
		for (size_t i = 0; i < rows; i++)
			for (size_t j = 0; j < out; j++)
				db[j] += dy[i * out + j];
	if (dw) { /* y = … x·wᵀ */
		struct nc_product product = {.m = out,
		                             .n = in,
		                             .k = rows,
		                             .a = dy,
		                             .a_row = 1,
		                             .a_col = out,
		                             .b = x,
		                             .b_row = in,
		                             .b_col = 1,
		                             .c = dw,
		                             .c_row = in,
		                             .c_col = 1,
		                             .accumulate = true};

		nc_multiply(&product, step->pool);
	}
	struct nc_product back = {.m = sweeps * rows,
	                          .n = in,
	                          .k = out,
	                          .a = dy,
	                          .a_row = out,
	                          .a_col = 1,
	                          .b = step_value(step, w),
	                          .b_row = in,
	                          .b_col = 1,
	                          .c = dx,
	                          .c_row = in,
	                          .c_col = 1,
	                          .accumulate = add};

	nc_multiply(&back, step->pool);
}

static size_t linear_none(const struct nc_block *block, const struct nc_sublayer *sublayer)
{
	(void)block;
	(void)sublayer;
	return 0;
}

static size_t linear_work(const struct nc_block *block, const struct nc_sublayer *sublayer, size_t sweeps)
{
	(void)sweeps;
	return linear_none(block, sublayer);
}

static enum nc_status linear_forward(struct step *step, const double *x, double *y, double *tape)
{
	size_t d = step->block->width;

	(void)tape;
	nc_linear_forward(step, step->rows, d, d, NC_SLOT_W, NC_SLOT_B, x, y);
	return NC_OK;
}

static enum nc_status linear_backward(struct step *step, const double *x, const double *tape, size_t sweeps,
                                      const double *dy, double *dx)
{
	size_t d = step->block->width;

	(void)tape;
	nc_linear_backward(step, step->rows, d, d, NC_SLOT_W, NC_SLOT_B, x, sweeps, dy, dx, false);
	return NC_OK;
}

const struct function nc_function_linear = {linear_none, linear_work, linear_forward, linear_backward};
