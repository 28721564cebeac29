/* Which axes may have been normalized together, and where their rows lie in x. */
#include "evidence.h"

#include <string.h>

/* Beyond so many features only the declared axes are tried: their rows are the whole of a very large tensor. */
static const size_t most_features = (size_t)1 << 22;

/* Memory of all layouts together: so much for each element of x, and what small ones always have. */
static const size_t bytes_each = 48, bytes_always = (size_t)4 << 20;

/* One axis of an enumeration: so many steps, each so far in x and in gain and bias. */
struct walk {
	size_t steps, x, param;
};

/* Lists the offsets of a row-major walk over axes. */
static void list_offsets(const struct walk *axes, unsigned count, uint32_t *x, uint32_t *param)
{
	size_t done = 1;
	x[0] = param[0] = 0;
	for (unsigned a = count; a-- > 0;) { /* the last axis runs fastest: repeat what is listed for each step of the next */
		for (size_t s = axes[a].steps; s-- > 0;)
			for (size_t i = 0; i < done; i++) {
				x[s * done + i] = (uint32_t)(x[i] + s * axes[a].x);
				param[s * done + i] = (uint32_t)(param[i] + s * axes[a].param);
			}
		done *= axes[a].steps;
	}
}

static bool same_axes(const struct nc_diagnose_axes *a, const struct nc_diagnose_axes *b)
{
	return a->groups == b->groups && a->axis_count == b->axis_count &&
	       (a->kind == NC_AXES_OTHER_ALONG) == (b->kind == NC_AXES_OTHER_ALONG) &&
	       memcmp(a->axes, b->axes, a->axis_count * sizeof *a->axes) == 0;
}

struct builder {
	struct evidence *evidence;
	struct nc_arena *arena;
	const struct nc_diagnose_axes *declared;
	size_t stride[NC_REQUEST_RANK], param_stride[NC_REQUEST_RANK];
	size_t bytes;             /* of the layouts so far */
};

/* Adds a layout unless it is there already, normalizes nothing, or there is no room. */
static enum nc_status add(struct builder *b, struct nc_diagnose_axes axes)
{
	struct nc_diagnosis *diagnosis = b->evidence->diagnosis;
	const struct nc_tensor *x = b->evidence->x;
	unsigned n = diagnosis->layout_count;
	for (unsigned i = 0; i < n; i++)
		if (same_axes(&diagnosis->layout[i], &axes))
			return NC_OK;
	axes.features = 1;
	for (unsigned a = 0; a < axes.axis_count; a++)
		axes.features *= x->shape[axes.axes[a]];
	axes.features /= axes.groups;
	axes.rows = x->count / axes.features;
	size_t bytes = (axes.rows + axes.features) * 2 * sizeof(uint32_t) + axes.rows * (sizeof(struct evidence_row) + sizeof(double));
	bool room = b->bytes + bytes <= bytes_each * x->count + bytes_always;
	if (n == NC_LAYOUTS || (n > 0 && (axes.features < 2 || axes.features > most_features || !room)))
		return NC_OK;
	b->bytes += bytes;

	struct evidence_layout *layout = &b->evidence->layout[n];
	layout->row_offset = nc_arena_array(b->arena, axes.rows, sizeof *layout->row_offset);
	layout->row_param = nc_arena_array(b->arena, axes.rows, sizeof *layout->row_param);
	layout->feature_offset = nc_arena_array(b->arena, axes.features, sizeof *layout->feature_offset);
	layout->feature_param = nc_arena_array(b->arena, axes.features, sizeof *layout->feature_param);
	if (!layout->row_offset || !layout->row_param || !layout->feature_offset || !layout->feature_param)
		return NC_NO_MEMORY;

	struct walk rows[NC_REQUEST_RANK + 1], features[NC_REQUEST_RANK];
	unsigned row_axes = 0, feature_axes = 0;
	for (unsigned a = 0; a < x->rank; a++) {
		struct walk walk = {x->shape[a], b->stride[a], b->param_stride[a]};
		if (axes.kind == NC_AXES_OTHER_ALONG) /* the gain runs along the axis that was normalized */
			walk.param = a == axes.axes[0];
		bool normalized = feature_axes < axes.axis_count && axes.axes[feature_axes] == a;
		if (normalized)
			features[feature_axes++] = walk;
		else
			rows[row_axes++] = walk;
	}
	struct walk *last = &features[feature_axes - 1];
	if (axes.groups > 1) {
		last->steps /= axes.groups;
		rows[row_axes++] = (struct walk){axes.groups, last->steps * last->x, last->steps * last->param};
	}
	list_offsets(rows, row_axes, layout->row_offset, layout->row_param);
	list_offsets(features, feature_axes, layout->feature_offset, layout->feature_param);
	diagnosis->layout[n] = axes;
	diagnosis->layout_count++;
	return NC_OK;
}

/* Groups of the last declared axis: few of them, or of the size of an attention head. */
static enum nc_status add_groups(struct builder *b)
{
	static const size_t head_sizes[] = {32, 64, 80, 96, 128, 256};
	size_t length = b->evidence->x->shape[b->declared->axes[b->declared->axis_count - 1]];
	struct nc_diagnose_axes axes = *b->declared;
	axes.kind = NC_AXES_GROUPS;
	for (size_t h = 0; h < sizeof head_sizes / sizeof *head_sizes; h++)
		if (length % head_sizes[h] == 0 && length > head_sizes[h]) {
			axes.groups = length / head_sizes[h];
			enum nc_status status = add(b, axes);
			if (status != NC_OK)
				return status;
		}
	for (axes.groups = 2; axes.groups <= 64 && axes.groups <= length / 2; axes.groups++)
		if (length % axes.groups == 0) {
			enum nc_status status = add(b, axes);
			if (status != NC_OK)
				return status;
		}
	return NC_OK;
}

static enum nc_status add_axis_sets(struct builder *b, bool along)
{
	const struct nc_tensor *x = b->evidence->x;
	enum nc_status status = NC_OK;
	struct nc_diagnose_axes axes = {.kind = NC_AXES_OTHER, .axis_count = 1, .groups = 1};
	for (unsigned a = x->rank; a-- > 0 && status == NC_OK;) {
		axes.axes[0] = a;
		axes.kind = NC_AXES_OTHER;
		status = add(b, axes);
		axes.kind = NC_AXES_OTHER_ALONG;
		if (status == NC_OK && along && a != b->declared->axes[0] && x->shape[a] == x->shape[b->declared->axes[0]])
			status = add(b, axes);
	}
	axes.kind = NC_AXES_SEVERAL;
	for (unsigned first = x->rank; first-- > 0 && status == NC_OK;) { /* from an axis to the last */
		axes.axis_count = x->rank - first;
		for (unsigned a = first; a < x->rank; a++)
			axes.axes[a - first] = a;
		status = add(b, axes);
	}
	if (x->rank > 1 && status == NC_OK) { /* all but the last, as batch norm */
		axes.axis_count = x->rank - 1;
		for (unsigned a = 0; a < axes.axis_count; a++)
			axes.axes[a] = a;
		status = add(b, axes);
	}
	return status;
}

enum nc_status evidence_layouts(struct evidence *evidence, const struct nc_diagnose_call *call, struct nc_arena *arena)
{
	const struct nc_tensor *x = call->x;
	struct nc_diagnose_axes declared = {.kind = NC_AXES_DECLARED, .axis_count = call->axis_count, .groups = 1};
	memcpy(declared.axes, call->axes, call->axis_count * sizeof *call->axes);
	struct builder b = {.evidence = evidence, .arena = arena, .declared = &declared};
	size_t stride = 1;
	for (unsigned a = x->rank; a-- > 0;) {
		b.stride[a] = stride;
		stride *= x->shape[a];
	}
	stride = 1;
	for (unsigned a = declared.axis_count; a-- > 0;) {
		b.param_stride[declared.axes[a]] = stride;
		stride *= x->shape[declared.axes[a]];
	}
	evidence->param_count = stride;
	evidence->diagnosis->layout_count = 0;
	bool elementwise = (call->gain && call->gain->rank) || (call->bias && call->bias->rank);
	enum nc_status status = add(&b, declared);
	if (status == NC_OK)
		status = add_axis_sets(&b, elementwise && declared.axis_count == 1);
	if (status == NC_OK)
		status = add_groups(&b);
	return status;
}
