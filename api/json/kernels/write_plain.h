/* The list writer without vectors: number by number. */
#ifndef API_KERNELS_WRITE_PLAIN_H
#define API_KERNELS_WRITE_PLAIN_H

#include "api/json/json_put.h"

#include <math.h>

static char *write_float64(char *out, const double *values, size_t count, size_t *written)
{
	size_t i = 0;
	for (; i < count && isfinite(values[i]); i++) {
		out = json_put_float64(out, values[i]);
		*out++ = ',';
	}
	*written = i;
	return out;
}

static char *write_float32(char *out, const float *values, size_t count, size_t *written)
{
	size_t i = 0;
	for (; i < count && isfinite(values[i]); i++) {
		out = json_put_float32(out, values[i]);
		*out++ = ',';
	}
	*written = i;
	return out;
}

#endif
