/* No fast reader: the scalar one reads all, number by number. */
#ifndef API_KERNELS_READ_PLAIN_H
#define API_KERNELS_READ_PLAIN_H

#include "api/json/json_scan.h"

static const char *read_list(const char *text, const char *end, enum nc_dtype dtype, void *out, size_t capacity,
                             size_t *count, bool *complete)
{
	const char *after;
	*complete = false;
	while (!*complete && *count < capacity) {
		if (json_read_step(text, end, dtype, out, capacity, count, &after, complete) != JSON_NUMBER_OK)
			break;
		text = after;
	}
	return text;
}

#endif
