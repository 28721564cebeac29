/* How far one tensor is from another: the numbers that a kernel's author asks for. */
#ifndef NORMCORE_COMPARE_H
#define NORMCORE_COMPARE_H

#include "public.h"
#include "tensor.h"

NC_PUBLIC_BEGIN

struct nc_comparison {
	double max_abs;    /* max |got − want|; NaN against NaN and equal infinities count 0, else an infinity */
	size_t argmax;     /* row-major index of the first element where it is reached */
	double max_rel;    /* max |got − want| / |want|; 0 where both are equal, an infinity where want is 0 and got is not */
	double max_ulp;    /* max |got − want| in units of the last place of want in dtype (of its smallest one for 0) */
	bool allclose;     /* every |got − want| <= atol + rtol·|want| */
};

/* Compares two tensors of one dtype and count (any shape); an empty one is close with all figures 0. */
struct nc_comparison nc_compare(const struct nc_tensor *got, const struct nc_tensor *want, double rtol, double atol);

NC_PUBLIC_END

#endif
