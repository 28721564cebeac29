#include "magnitude.h"

#include <math.h>

enum { SUMS = 8 };

struct magnitude nc_magnitude(const double *x, size_t count)
{
	double max = 0, sum[SUMS] = {0}, total = 0;
	int exponent;

	for (size_t i = 0; i < count; i++) {
		double a = fabs(x[i]);

		if (!(a <= max)) /* also where a is NaN; once max is NaN it stays */
			max = a;
	}
	if (max == 0 || !isfinite(max)) {
		for (size_t i = 0; i < count; i++)
			if (isnan(x[i]))
				max = x[i];
		return (struct magnitude){fabs(max), fabs(max), fabs(max)};
	}

	frexp(max, &exponent);
	/* In two factors: 2^-exponent alone may be beyond float64. */
	double half = ldexp(1, -exponent / 2), rest = ldexp(1, -exponent - -exponent / 2);

	for (size_t i = 0; i < count; i++) {
		double a = x[i] * half * rest;

		sum[i % SUMS] += a * a;
	}
	for (int i = 0; i < SUMS; i++)
		total += sum[i];
	return (struct magnitude){max, ldexp(sqrt(total), exponent), ldexp(sqrt(total / (double)count), exponent)};
}
