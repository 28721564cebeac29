/* Rotary position embedding: pairs of a head turned by (position + t)·theta^(−2i/head_dim). */
#include "function.h"

#include <sleef.h>

void nc_rotation_table(const struct nc_attention *attention, size_t length, double *cosine, double *sine)
{
	size_t half = attention->head_dim / 2;

	for (size_t i = 0; i < half; i++) {
		double exponent = -2.0 * (double)i / (double)attention->head_dim;
		double frequency = Sleef_cinz_powd1_u10purec(attention->theta, exponent);

		for (size_t t = 0; t < length; t++) {
			Sleef_double_2 pair =
			    Sleef_cinz_sincosd1_u10purec((attention->position + (double)t) * frequency);

			sine[t * half + i] = pair.x;
			cosine[t * half + i] = pair.y;
		}
	}
}

void nc_rotate(const struct rotation *rotation, size_t rows, size_t heads, bool inverse, double *x)
{
	size_t half = rotation->half, apart = rotation->style == NC_ROPE_HALF ? half : 1;
	size_t next = rotation->style == NC_ROPE_HALF ? 1 : 2;

	for (size_t row = 0; row < rows; row++) {
		const double *cosine = rotation->cosine + row % rotation->length * half;
		const double *sine = rotation->sine + row % rotation->length * half;

		for (size_t head = 0; head < heads; head++, x += 2 * half)
			for (size_t i = 0; i < half; i++) {
				double *p = x + i * next, a = p[0], b = p[apart];
				double s = inverse ? -sine[i] : sine[i];

				p[0] = a * cosine[i] - b * s;
				p[apart] = a * s + b * cosine[i];
			}
	}
}
