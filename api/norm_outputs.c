#include "norm_outputs.h"

#include <string.h>

void norm_outputs_start(struct norm_outputs *plan, enum nc_dtype dtype)
{
	plan->dtype = dtype;
	plan->count = 0;
}

static void set_shape(struct nc_tensor *t, const size_t *shape, unsigned rank)
{
	t->rank = rank;
	memcpy(t->shape, shape, rank * sizeof *shape);
	t->count = shape_count(shape, rank);
}

struct output *norm_output(struct norm_outputs *plan, const char *group, const char *key, enum output_place place, size_t core)
{
	const struct nc_layout *layout = &plan->layout;
	struct output *output = &plan->outputs[plan->count];

	*output = (struct output){.group = group, .key = key, .tensor.dtype = plan->dtype};
	if (place == LIKE_X)
		set_shape(&output->tensor, layout->shape, layout->rank);
	else if (place == LIKE_PARAM)
		set_shape(&output->tensor, layout->param_shape, layout->param_rank);
	else
		set_shape(&output->tensor, layout->stats_shape, layout->stats_rank);
	plan->place[plan->count] = place;
	plan->core[plan->count] = core;
	plan->count++;
	return output;
}

void norm_output_axis(struct output *output, size_t size)
{
	output->tensor.shape[output->tensor.rank++] = size;
	output->tensor.count *= size;
}

void norm_output_stats(struct norm_outputs *plan, enum nc_norm_kind kind, size_t mean, size_t variance, size_t divisor)
{
	size_t first = plan->count;

	if (kind == NC_LAYERNORM) {
		norm_output(plan, "stats", "mean", BY_ROW, mean);
		norm_output(plan, "stats", "variance", BY_ROW, variance)->infinite_is_null = true;
	}
	norm_output(plan, "stats", kind == NC_LAYERNORM ? "std" : "rms", BY_ROW, divisor);
	for (size_t i = first; i < plan->count && plan->dtype != NC_FLOAT64; i++)
		plan->outputs[i].tensor.dtype = NC_FLOAT32;
}

bool norm_outputs_place(struct call *call, struct norm_outputs *plan, void *core)
{
	for (size_t i = 0; i < plan->count; i++) {
		struct nc_tensor *t = &plan->outputs[i].tensor;
		size_t bytes = nc_dtype_storage_bytes(t->dtype);
		bool scattered = (plan->place[i] == LIKE_X && !plan->layout.contiguous) ||
		                 (plan->place[i] == LIKE_PARAM && !plan->layout.param_contiguous);

		t->data = nc_arena_array(call->arena, t->count, bytes);
		plan->rows[i] = scattered ? nc_arena_array(call->arena, t->count, bytes) : t->data;
		if (!t->data || !plan->rows[i])
			return fail_memory(call);
		memcpy((char *)core + plan->core[i], &plan->rows[i], sizeof(void *));
	}
	return true;
}

void norm_outputs_collect(struct norm_outputs *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		struct nc_tensor *t = &plan->outputs[i].tensor;
		size_t bytes = nc_dtype_storage_bytes(t->dtype);

		if (plan->rows[i] == t->data)
			continue;
		if (plan->place[i] == LIKE_X)
			nc_layout_scatter(&plan->layout, bytes, plan->rows[i], t->data);
		else
			nc_layout_scatter_param(&plan->layout, bytes, plan->rows[i], t->data);
	}
}

bool norm_input(struct call *call, const struct nc_layout *layout, const struct tensor_field *field, const void **rows)
{
	const struct nc_tensor *t = &field->tensor;
	size_t bytes = nc_dtype_storage_bytes(t->dtype);

	*rows = field->given ? t->data : NULL;
	if (!field->given || layout->contiguous)
		return true;
	void *gathered = nc_arena_array(call->arena, t->count, bytes);
	if (!gathered)
		return fail_memory(call);
	nc_layout_gather(layout, bytes, t->data, gathered);
	*rows = gathered;
	return true;
}
