/* Norms of long vectors that neither overflow nor underflow on the way. */
#ifndef NORMCORE_MAGNITUDE_H
#define NORMCORE_MAGNITUDE_H

#include <stddef.h>

struct magnitude {
	double max;  /* the largest |x_i|, 0 for none; NaN where any is NaN */
	double norm; /* √Σ x²: an infinity only where the norm itself is beyond float64 */
	double rms;  /* √(Σ x²/count) */
};

struct magnitude nc_magnitude(const double *x, size_t count);

#endif
