/* How many numbers a stretch of text can hold, for whoever splits it: plain loops that compilers turn into vectors. */
#ifndef API_KERNELS_COUNT_H
#define API_KERNELS_COUNT_H

#include <stddef.h>
#include <stdint.h>

static const char *count_commas(const char *text, const char *end, size_t *commas)
{
	enum { LANES = 64, BLOCKS = 255 }; /* so many that no count of eight bits overflows */
	const uint8_t *at = (const uint8_t *)text, *last = (const uint8_t *)end;
	size_t n = 0;

	while (last - at >= LANES) {
		uint8_t counts[LANES] = {0}, foreign[LANES] = {0}, any = 0;
		const uint8_t *begin = at;
		size_t blocks = (size_t)(last - at) / LANES < BLOCKS ? (size_t)(last - at) / LANES : BLOCKS;
		for (size_t b = 0; b < blocks; b++, at += LANES) {
			for (size_t i = 0; i < LANES; i++) {
				counts[i] = (uint8_t)(counts[i] + (at[i] == ','));
				foreign[i] |= (uint8_t)((at[i] == ':') | (at[i] == '{') | (at[i] == '}'));
			}
		}
		for (size_t i = 0; i < LANES; i++)
			any |= foreign[i];
		if (any) {
			at = begin;
			break;
		}
		for (size_t i = 0; i < LANES; i++)
			n += counts[i];
	}
	for (; at < last && *at != ':' && *at != '{' && *at != '}'; at++)
		n += *at == ',';
	*commas = n;
	return (const char *)at;
}

#endif
