#include "compare.h"

#include <math.h>

/* The distance of neighbours of `value` in dtype; the smallest subnormal for 0. Infinite or NaN: NaN. */
static double unit(enum nc_dtype dtype, double value)
{
	int least = nc_dtype_min_exponent(dtype), exponent = value == 0 ? least : ilogb(value);

	if (!isfinite(value))
		return (double)NAN;
	if (exponent < least)
		exponent = least;
	return ldexp(1, exponent - nc_dtype_mantissa_bits(dtype) + 1);
}

static bool same(double got, double want)
{
	return got == want || (isnan(got) && isnan(want));
}

/* |got − want|, an infinity where one of them has no distance to the other. */
static double distance(double got, double want)
{
	if (same(got, want))
		return 0;
	double d = fabs(got - want);
	return isnan(d) ? (double)INFINITY : d;
}

struct nc_comparison nc_compare(const struct nc_tensor *got, const struct nc_tensor *want, double rtol, double atol)
{
	struct nc_comparison result = {.allclose = true};

	for (size_t i = 0; i < want->count; i++) {
		double g = nc_tensor_get(got, i), w = nc_tensor_get(want, i), d = distance(g, w);

		if (d == 0)
			continue;
		if (d > result.max_abs) {
			result.max_abs = d;
			result.argmax = i;
		}
		/* Against an infinite reference only an equal value is near. */
		bool finite = isfinite(w) && isfinite(g);
		double relative = finite && w != 0 ? d / fabs(w) : (double)INFINITY;
		double ulps = finite ? d / unit(want->dtype, w) : (double)INFINITY;
		result.max_rel = relative > result.max_rel ? relative : result.max_rel;
		result.max_ulp = ulps > result.max_ulp ? ulps : result.max_ulp;
		if (!finite || !(d <= atol + rtol * fabs(w)))
			result.allclose = false;
	}
	return result;
}
