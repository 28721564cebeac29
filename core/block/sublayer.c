#include "sublayer.h"

static const struct function *function_of(const struct nc_sublayer *sublayer)
{
	static const struct function *const functions[] = {
#define FUNCTION(NAME, text, table) &table,
#include "function.def"
#undef FUNCTION
	};
	return functions[sublayer->kind];
}

static bool norm_first(const struct nc_block *block)
{
	return block->placement == NC_PLACEMENT_PRE || block->placement == NC_PLACEMENT_SANDWICH;
}

static size_t count_of(const struct nc_block *block)
{
	return size_times(size_times(block->batch, block->length), block->width);
}

size_t sublayer_tape(const struct nc_block *block, const struct nc_sublayer *sublayer)
{
	size_t arrays = 1 + (size_t)norm_first(block) +
	                (block->placement == NC_PLACEMENT_SANDWICH || block->placement == NC_PLACEMENT_POST);

	return size_plus(size_times(arrays, count_of(block)), function_of(sublayer)->tape(block, sublayer));
}

size_t sublayer_work(const struct nc_block *block, const struct nc_sublayer *sublayer, size_t sweeps)
{
	size_t rows = size_times(block->batch, block->length);
	size_t own = size_times(2, size_times(sweeps, count_of(block)));

	own = size_plus(own, nc_normalize_work(rows, block->width, sweeps));
	return size_plus(own, function_of(sublayer)->work(block, sublayer, sweeps));
}

void sublayer_lay_out(const struct nc_block *block, const struct nc_sublayer *sublayer, double *memory,
                      struct tape *tape)
{
	size_t count = count_of(block);

	(void)sublayer;
	tape->out = memory;
	memory += count;
	tape->normed = tape->update = NULL;
	if (norm_first(block)) {
		tape->normed = memory;
		memory += count;
	}
	if (block->placement == NC_PLACEMENT_SANDWICH || block->placement == NC_PLACEMENT_POST) {
		tape->update = memory;
		memory += count;
	}
	tape->inner = memory;
}

const double *sublayer_input(const struct step *step, const struct tape *tape)
{
	return norm_first(step->block) ? tape->normed : tape->in;
}

static enum nc_status norm_forward(struct step *step, const double *x, double *y)
{
	return nc_normalize_forward(step, &step->sublayer->norm, "norm", step->rows, step->block->width,
	                            NC_SLOT_NORM_GAIN, NC_SLOT_NORM_BIAS, x, y);
}

static enum nc_status norm_backward(struct step *step, const double *x, size_t sweeps, const double *dy, double *dx)
{
	return nc_normalize_backward(step, &step->sublayer->norm, "norm", step->rows, step->block->width,
	                             NC_SLOT_NORM_GAIN, NC_SLOT_NORM_BIAS, x, sweeps, dy, dx);
}

enum nc_status sublayer_forward(struct step *step, const struct tape *tape)
{
	const struct nc_block *b = step->block;
	size_t count = step->rows * b->width, mark = nc_arena_mark(step->arena);
	double *sum = b->placement == NC_PLACEMENT_POST ? tape->update : tape->out;
	double *update = nc_arena_array(step->arena, count, sizeof(*update));
	double *output = b->placement == NC_PLACEMENT_SANDWICH ? tape->update : update;
	enum nc_status status = NC_NO_MEMORY;

	if (!update)
		return status;
	if (norm_first(b)) {
		status = norm_forward(step, tape->in, tape->normed);
		if (status != NC_OK)
			goto done;
	}
	status = function_of(step->sublayer)->forward(step, sublayer_input(step, tape), output, tape->inner);
	if (status == NC_OK && b->placement == NC_PLACEMENT_SANDWICH)
		status = nc_normalize_forward(step, &step->sublayer->norm_after, "norm_after", step->rows, b->width,
		                              NC_SLOT_AFTER_GAIN, NC_SLOT_AFTER_BIAS, output, update);
	if (status != NC_OK)
		goto done;
	step->kernels->combine(b->skip_scale, b->residual ? tape->in : NULL, b->update_scale, update, sum, count);
	if (b->placement == NC_PLACEMENT_POST)
		status = norm_forward(step, sum, tape->out);
done:
	nc_arena_rewind(step->arena, mark);
	return status;
}

/* identity = s·g, or zeros without a residual. */
static void scale_skip(const struct step *step, size_t count, const double *g, double *identity)
{
	if (step->block->residual)
		step->kernels->combine(0, NULL, step->block->skip_scale, g, identity, count);
	else
		memset(identity, 0, count * sizeof(*identity));
}

enum nc_status sublayer_skip(struct step *step, const struct tape *tape, size_t sweeps, const double *g,
                             double *identity)
{
	size_t count = sweeps * step->rows * step->block->width, mark = nc_arena_mark(step->arena);
	struct step alone = *step;
	enum nc_status status;
	double *n;

	if (step->block->placement != NC_PLACEMENT_POST || !step->block->residual) {
		scale_skip(step, count, g, identity);
		return NC_OK;
	}
	n = nc_arena_array(step->arena, count, sizeof(*n));
	if (!n)
		return NC_NO_MEMORY;
	alone.gradients = false;
	status = norm_backward(&alone, tape->update, sweeps, g, n);
	if (status == NC_OK)
		scale_skip(step, count, n, identity);
	nc_arena_rewind(step->arena, mark);
	return status;
}

enum nc_status sublayer_backward(struct step *step, const struct tape *tape, size_t sweeps, const double *g,
                                 double *identity, double *branch)
{
	const struct nc_block *b = step->block;
	size_t count = sweeps * step->rows * b->width, mark = nc_arena_mark(step->arena);
	double *update = nc_arena_array(step->arena, count, sizeof(*update));
	double *inner = nc_arena_array(step->arena, count, sizeof(*inner));
	enum nc_status status = NC_NO_MEMORY;

	if (!update || !inner)
		goto done;
	if (b->placement == NC_PLACEMENT_POST) { /* out = Norm(s·in + u·F(in)) */
		status = norm_backward(step, tape->update, sweeps, g, inner);
		if (status != NC_OK)
			goto done;
		g = inner;
	}
	/* sum = s·in + u·update */
	scale_skip(step, count, g, identity);
	step->kernels->combine(0, NULL, b->update_scale, g, update, count);
	if (b->placement == NC_PLACEMENT_SANDWICH) { /* update = NormAfter(F(normed)) */
		status =
		    nc_normalize_backward(step, &step->sublayer->norm_after, "norm_after", step->rows, b->width,
		                          NC_SLOT_AFTER_GAIN, NC_SLOT_AFTER_BIAS, tape->update, sweeps, update, inner);
		if (status != NC_OK)
			goto done;
		double *swap = update;

		update = inner;
		inner = swap;
	}
	/* update = F(in), or F(Norm(in)) */
	status = function_of(step->sublayer)
	             ->backward(step, sublayer_input(step, tape), tape->inner, sweeps, update,
	                        norm_first(b) ? inner : branch);
	if (status == NC_OK && norm_first(b)) /* normed = Norm(in) */
		status = norm_backward(step, tape->in, sweeps, inner, branch);
done:
	nc_arena_rewind(step->arena, mark);
	return status;
}
