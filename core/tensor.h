/* A dense row-major tensor: what every layer hands to the next. */
#ifndef NORMCORE_TENSOR_H
#define NORMCORE_TENSOR_H

#include "dtype.h"
#include "public.h"

NC_PUBLIC_BEGIN

/* A request has rank 8 at most; a Jacobian appends two axes and groups one more. */
enum { NC_REQUEST_RANK = 8, NC_MAX_RANK = 12 };

struct nc_tensor {
	enum nc_dtype dtype;
	unsigned rank;              /* 0: one number */
	size_t shape[NC_MAX_RANK];  /* shape[0..rank-1], row-major */
	size_t count;               /* product of shape; 1 for rank 0 */
	void *data;                 /* count elements of nc_dtype_storage_bytes(dtype), 64-byte aligned; owned by an arena */
};

/* Element i as a double (exact). */
static inline double nc_tensor_get(const struct nc_tensor *t, size_t i)
{
	return t->dtype == NC_FLOAT64 ? ((const double *)t->data)[i] : (double)((const float *)t->data)[i];
}

/* Sets element i to value, which must lie on the dtype's grid already (see nc_dtype_round). */
static inline void nc_tensor_set(struct nc_tensor *t, size_t i, double value)
{
	if (t->dtype == NC_FLOAT64)
		((double *)t->data)[i] = value;
	else
		((float *)t->data)[i] = (float)value;
}

NC_PUBLIC_END

#endif
