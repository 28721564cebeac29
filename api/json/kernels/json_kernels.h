/* The inner loops of the number codec (json_kernels.def), compiled once per instruction set; json_number.c picks. */
#ifndef API_KERNELS_JSON_KERNELS_H
#define API_KERNELS_JSON_KERNELS_H

#include "api/json/json_number.h"
#include "core/isa.h"

struct json_kernels {
#define JSON_KERNEL(result, name, arguments) result(*name) arguments;
#include "json_kernels.def"
#undef JSON_KERNEL
};

/* The table of one instruction set, NULL unless nc_isa_supported. */
const struct json_kernels *json_kernels_of(enum nc_isa isa);

/* The table that is in use. */
const struct json_kernels *json_kernels(void);

/* json_read_list with a table of the caller's choice. */
enum json_number_status json_read_list_by(const struct json_kernels *kernels, const char *text, const char *end,
                                          enum nc_dtype dtype, void *out, size_t capacity, size_t *count,
                                          const char **after);

extern const struct json_kernels json_kernels_scalar, json_kernels_sse2, json_kernels_avx2, json_kernels_avx512,
	json_kernels_neon;

#endif
