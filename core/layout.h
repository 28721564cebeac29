/* Normalized axes in any position, and groups, as rows of contiguous features. */
#ifndef NORMCORE_LAYOUT_H
#define NORMCORE_LAYOUT_H

#include "public.h"
#include "status.h"
#include "tensor.h"

NC_PUBLIC_BEGIN

struct nc_layout {
	unsigned rank;                     /* of x */
	size_t shape[NC_MAX_RANK];
	unsigned axis_count;
	unsigned axes[NC_MAX_RANK];        /* ascending, each below rank */
	size_t groups;                     /* G >= 1 */

	size_t rows;                       /* vectors that are normalized each on its own, groups counted */
	size_t features;                   /* n of each; rows · features = count of x */
	unsigned stats_rank;               /* x's shape without the axes, then G when groups > 1 */
	size_t stats_shape[NC_MAX_RANK];
	unsigned param_rank;               /* the shape of the normalized axes */
	size_t param_shape[NC_MAX_RANK];
	bool contiguous;                   /* the rows lie in x as they are: gather and scatter would be copies */
	bool param_contiguous;             /* the same of gain and bias */
};

/*
 * Describes x of the given shape (rank 1 to NC_REQUEST_RANK) normalized over axes (distinct, in range, any order)
 * with `groups` groups, which must divide the last of the axes. NC_INVALID otherwise, or for an empty normalized axis.
 */
enum nc_status nc_layout_init(struct nc_layout *layout, const size_t *shape, unsigned rank, const unsigned *axes,
                              unsigned axis_count, size_t groups);

/* x (row-major, elements of `bytes` 4 or 8) to rows × features, and back. src and dst must not overlap. */
void nc_layout_gather(const struct nc_layout *layout, size_t bytes, const void *src, void *dst);
void nc_layout_scatter(const struct nc_layout *layout, size_t bytes, const void *src, void *dst);

/* A gain or bias in the shape of the axes to groups × features, and back. */
void nc_layout_gather_param(const struct nc_layout *layout, size_t bytes, const void *src, void *dst);
void nc_layout_scatter_param(const struct nc_layout *layout, size_t bytes, const void *src, void *dst);

NC_PUBLIC_END

#endif
