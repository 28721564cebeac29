/* The norms of a block: nc_norm over the last axis, its parameter gradients added up. */
#include "function.h"

static struct nc_param parameter(const struct step *step, enum nc_slot slot)
{
	const double *value = step_value(step, slot);

	return (struct nc_param){value, NC_FLOAT64, value ? step->sublayer->weight[slot].count : 0};
}

static enum nc_status run(struct step *step, const struct nc_block_norm *norm, const char *name,
                          struct nc_norm_call *call)
{
	enum nc_status status = nc_norm(&norm->spec, call, step->pool, step->arena);

	if (status == NC_NO_VALUE) {
		step->bad_row = call->bad_row / norm->groups;
		step->bad_norm = name;
	}
	return status;
}

enum nc_status nc_normalize_forward(struct step *step, const struct nc_block_norm *norm, const char *name, size_t rows,
                                    size_t features, enum nc_slot gain, enum nc_slot bias, const double *x, double *y)
{
	struct nc_norm_call call = {.rows = rows * norm->groups,
	                            .features = features / norm->groups,
	                            .period = norm->groups,
	                            .x = x,
	                            .gain = parameter(step, gain),
	                            .bias = parameter(step, bias),
	                            .y = y};

	return run(step, norm, name, &call);
}

/* gradient += part; a parameter that is one number for all features gets the sum. */
static void add_gradient(const struct step *step, enum nc_slot slot, size_t features, const double *part)
{
	double *gradient = step_gradient(step, slot);

	if (!gradient)
		return;
	for (size_t i = 0; i < features; i++)
		gradient[step->sublayer->weight[slot].count == 1 ? 0 : i] += part[i];
}

size_t nc_normalize_work(size_t rows, size_t features, size_t sweeps)
{
	size_t copies = sweeps > 1 ? size_times(size_times(rows, features), sweeps) : 0;

	return size_plus(copies, size_times(2, features));
}

enum nc_status nc_normalize_backward(struct step *step, const struct nc_block_norm *norm, const char *name, size_t rows,
                                     size_t features, enum nc_slot gain, enum nc_slot bias, const double *x,
                                     size_t sweeps, const double *dy, double *dx)
{
	size_t count = rows * features, mark = nc_arena_mark(step->arena);
	double *parts = nc_arena_array(step->arena, 2 * features, sizeof(*parts));
	double *copies = sweeps > 1 ? nc_arena_array(step->arena, sweeps * count, sizeof(*copies)) : NULL;
	enum nc_status status = NC_NO_MEMORY;

	if (!parts || (sweeps > 1 && !copies))
		goto done;
	for (size_t s = 0; copies && s < sweeps; s++)
		memcpy(copies + s * count, x, count * sizeof(*x));

	struct nc_norm_call call = {.rows = sweeps * rows * norm->groups,
	                            .features = features / norm->groups,
	                            .period = norm->groups,
	                            .x = copies ? copies : x,
	                            .dy = dy,
	                            .gain = parameter(step, gain),
	                            .bias = parameter(step, bias),
	                            .dx = dx,
	                            .dgain = step_gradient(step, gain) ? parts : NULL,
	                            .dbias = step_gradient(step, bias) ? parts + features : NULL};

	status = run(step, norm, name, &call);
	if (status == NC_OK) {
		add_gradient(step, gain, features, parts);
		add_gradient(step, bias, features, parts + features);
	}
done:
	nc_arena_rewind(step->arena, mark);
	return status;
}
