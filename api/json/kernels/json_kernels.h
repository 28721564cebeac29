/* The inner loops of the number codec, compiled once per instruction set; json_number.c calls those of nc_isa_current(). */
#ifndef API_KERNELS_JSON_KERNELS_H
#define API_KERNELS_JSON_KERNELS_H

#include "api/json/json_number.h"

struct json_kernels {
	/*
	 * Reads numbers of a list from text, where one is to come, to out[*count] and on, *count < capacity. Returns where the
	 * next number is to come, at text itself if there is nothing here for a fast reader, and *complete false; or, with
	 * *complete true, the byte behind the last number, which is none of a list. Of errors it knows nothing: it stops
	 * before them.
	 */
	const char *(*read_list)(const char *text, const char *end, enum nc_dtype dtype, void *out, size_t capacity,
	                         size_t *count, bool *complete);

	/*
	 * Writes finite numbers, each with a ',' behind it, until one is not finite or all are written; *written is how
	 * many. May overwrite 64 bytes behind the returned end.
	 */
	char *(*write_float64)(char *out, const double *values, size_t count, size_t *written);
	char *(*write_float32)(char *out, const float *values, size_t count, size_t *written);

	/* The first ':', '{' or '}', which no array of numbers holds, or end; *commas is the number of commas before it. */
	const char *(*count_commas)(const char *text, const char *end, size_t *commas);
};

extern const struct json_kernels json_kernels_scalar, json_kernels_sse2, json_kernels_avx2, json_kernels_avx512,
	json_kernels_neon;

#endif
