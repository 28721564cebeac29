#include "layout.h"

#include <string.h>

static bool multiply(size_t a, size_t b, size_t *product)
{
	return !__builtin_mul_overflow(a, b, product);
}

enum nc_status nc_layout_init(struct nc_layout *layout, const size_t *shape, unsigned rank, const unsigned *axes,
                              unsigned axis_count, size_t groups)
{
	bool normalized[NC_MAX_RANK] = {false};

	if (rank < 1 || rank > NC_REQUEST_RANK || axis_count < 1 || axis_count > rank || groups < 1)
		return NC_INVALID;
	for (unsigned i = 0; i < axis_count; i++) {
		if (axes[i] >= rank || normalized[axes[i]] || !shape[axes[i]])
			return NC_INVALID;
		normalized[axes[i]] = true;
	}

	*layout = (struct nc_layout){.rank = rank, .axis_count = axis_count, .groups = groups};
	size_t features = 1, rows = 1, total;
	unsigned axis = 0;
	for (unsigned i = 0; i < rank; i++) {
		layout->shape[i] = shape[i];
		if (normalized[i]) {
			layout->axes[axis++] = i;
			layout->param_shape[layout->param_rank++] = shape[i];
			if (!multiply(features, shape[i], &features))
				return NC_INVALID;
		} else {
			layout->stats_shape[layout->stats_rank++] = shape[i];
			if (!multiply(rows, shape[i], &rows))
				return NC_INVALID;
		}
	}
	if (!multiply(rows, features, &total) || !multiply(rows, groups, &rows))
		return NC_INVALID;
	size_t last = layout->param_shape[layout->param_rank - 1];
	if (last % groups)
		return NC_INVALID;
	if (groups > 1)
		layout->stats_shape[layout->stats_rank++] = groups;
	layout->rows = rows;
	layout->features = features / groups;

	/* Rows lie as they are when the axes are the last ones, and groups split the only one that is longer than 1. */
	bool trailing = true;
	for (unsigned i = 0; i < axis_count; i++)
		trailing = trailing && layout->axes[i] == rank - axis_count + i;
	layout->param_contiguous = groups == 1 || features == last;
	layout->contiguous = trailing && layout->param_contiguous;
	return NC_OK;
}

/* One loop of a walk: `count` steps of `stride` elements in the tensor. */
struct loop {
	size_t count, stride;
};

/*
 * Walks the loops, the last one innermost, and copies between the strided tensor and a dense array: to dense when
 * `gather`, else back.
 */
static inline __attribute__((always_inline)) void copy_any(const struct loop *loops, unsigned depth, size_t bytes,
                                                           const char *src, char *dst, bool gather)
{
	size_t index[2 * NC_MAX_RANK] = {0}, offset = 0, dense = 0;

	for (unsigned i = 0; i < depth; i++)
		if (!loops[i].count)
			return;
	const struct loop *inner = &loops[depth - 1];
	for (;;) {
		for (size_t i = 0; i < inner->count; i++, dense++) {
			size_t at = (offset + i * inner->stride) * bytes;

			if (gather)
				memcpy(dst + dense * bytes, src + at, bytes);
			else
				memcpy(dst + at, src + dense * bytes, bytes);
		}
		unsigned d = depth - 1;
		for (;;) {
			if (d-- == 0)
				return;
			offset += loops[d].stride;
			if (++index[d] < loops[d].count)
				break;
			offset -= index[d] * loops[d].stride;
			index[d] = 0;
		}
	}
}

/* Constant sizes, so that an element is one load and one store. */
static void copy(const struct loop *loops, unsigned depth, size_t bytes, const void *src, void *dst, bool gather)
{
	if (bytes == 4 && gather)
		copy_any(loops, depth, 4, src, dst, true);
	else if (bytes == 4)
		copy_any(loops, depth, 4, src, dst, false);
	else if (gather)
		copy_any(loops, depth, 8, src, dst, true);
	else
		copy_any(loops, depth, 8, src, dst, false);
}

/* The loops that visit the features of all groups, group by group; strides are those of a tensor of these axes. */
static unsigned param_loops(const struct nc_layout *layout, const size_t *strides, struct loop *group, struct loop *loops)
{
	unsigned count = layout->axis_count;

	for (unsigned i = 0; i < count; i++)
		loops[i] = (struct loop){layout->param_shape[i], strides[i]};
	size_t per_group = loops[count - 1].count / layout->groups;
	*group = (struct loop){layout->groups, per_group * loops[count - 1].stride};
	loops[count - 1].count = per_group;
	return count;
}

static void walk(const struct nc_layout *layout, size_t bytes, const void *src, void *dst, bool gather)
{
	struct loop loops[2 * NC_MAX_RANK];
	size_t strides[NC_MAX_RANK], param_strides[NC_MAX_RANK], stride = 1;
	unsigned depth = 0, axis = 0;

	for (unsigned i = layout->rank; i-- > 0; stride *= layout->shape[i])
		strides[i] = stride;
	for (unsigned i = 0; i < layout->rank; i++) {
		if (axis < layout->axis_count && layout->axes[axis] == i)
			param_strides[axis++] = strides[i];
		else
			loops[depth++] = (struct loop){layout->shape[i], strides[i]};
	}
	depth += 1 + param_loops(layout, param_strides, &loops[depth], &loops[depth + 1]);
	copy(loops, depth, bytes, src, dst, gather);
}

static void walk_param(const struct nc_layout *layout, size_t bytes, const void *src, void *dst, bool gather)
{
	struct loop loops[2 * NC_MAX_RANK];
	size_t strides[NC_MAX_RANK], stride = 1;

	for (unsigned i = layout->axis_count; i-- > 0; stride *= layout->param_shape[i])
		strides[i] = stride;
	copy(loops, 1 + param_loops(layout, strides, &loops[0], &loops[1]), bytes, src, dst, gather);
}

void nc_layout_gather(const struct nc_layout *layout, size_t bytes, const void *src, void *dst)
{
	walk(layout, bytes, src, dst, true);
}

void nc_layout_scatter(const struct nc_layout *layout, size_t bytes, const void *src, void *dst)
{
	walk(layout, bytes, src, dst, false);
}

void nc_layout_gather_param(const struct nc_layout *layout, size_t bytes, const void *src, void *dst)
{
	walk_param(layout, bytes, src, dst, true);
}

void nc_layout_scatter_param(const struct nc_layout *layout, size_t bytes, const void *src, void *dst)
{
	walk_param(layout, bytes, src, dst, false);
}
