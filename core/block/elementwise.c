/* Sublayers that act on each number alone: a plain factor, or an activation. */
#include "function.h"

enum { PIECE = 4096 };

struct activation_job {
	const struct kernels *kernels;
	enum nc_activation activation;
	size_t count;
	const double *x;
	double *value, *slope;
};

static void activate_piece(void *context, size_t chunk)
{
	const struct activation_job *job = context;
	size_t first = chunk * PIECE, count = job->count - first < PIECE ? job->count - first : PIECE;

	job->kernels->activate(job->activation, count, job->x + first, job->value ? job->value + first : NULL,
	                       job->slope ? job->slope + first : NULL);
}

void nc_activate(const struct step *step, enum nc_activation activation, size_t count, const double *x, double *value,
                 double *slope)
{
	struct activation_job job = {step->kernels, activation, count, x, value, slope};

	nc_pool_run(step->pool, activate_piece, &job, count / PIECE + (count % PIECE != 0));
}

static size_t elementwise_work(const struct nc_block *block, const struct nc_sublayer *sublayer, size_t sweeps)
{
	(void)block;
	(void)sublayer;
	(void)sweeps;
	return 0;
}

static size_t scale_tape(const struct nc_block *block, const struct nc_sublayer *sublayer)
{
	return elementwise_work(block, sublayer, 1);
}

static enum nc_status scale_forward(struct step *step, const double *x, double *y, double *tape)
{
	(void)tape;
	step->kernels->combine(0, NULL, step->sublayer->factor, x, y, step->rows * step->block->width);
	return NC_OK;
}

static enum nc_status scale_backward(struct step *step, const double *x, const double *tape, size_t sweeps,
                                     const double *dy, double *dx)
{
	(void)x;
	(void)tape; /* y = factor·x */
	step->kernels->combine(0, NULL, step->sublayer->factor, dy, dx, sweeps * step->rows * step->block->width);
	return NC_OK;
}

static size_t elementwise_tape(const struct nc_block *block, const struct nc_sublayer *sublayer)
{
	(void)sublayer;
	return block->batch * block->length * block->width;
}

static enum nc_status elementwise_forward(struct step *step, const double *x, double *y, double *slope)
{
	nc_activate(step, step->sublayer->activation, step->rows * step->block->width, x, y, slope);
	return NC_OK;
}

static enum nc_status elementwise_backward(struct step *step, const double *x, const double *slope, size_t sweeps,
                                           const double *dy, double *dx)
{
	size_t count = step->rows * step->block->width;

	(void)x; /* y = act(x) */
	for (size_t s = 0; s < sweeps; s++)
		step->kernels->multiply(dy + s * count, slope, dx + s * count, count);
	return NC_OK;
}

const struct function nc_function_scale = {scale_tape, elementwise_work, scale_forward, scale_backward};
const struct function nc_function_elementwise = {elementwise_tape, elementwise_work, elementwise_forward,
                                                 elementwise_backward};
