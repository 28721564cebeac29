/* Sums of float64 rows. */
#ifndef KERNELS_SUM_H
#define KERNELS_SUM_H

#include "simd.h"

/* Σ x over 16 lanes, then their tree. */
static double sum(const double *x, size_t count)
{
	f64x16 total = f64_set(0);
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		total = f64_add(total, f64_load(x + i, LANES));
	if (i < count)
		total = f64_add(total, f64_load(x + i, (unsigned)(count - i)));
	return f64_sum(total);
}

#endif
