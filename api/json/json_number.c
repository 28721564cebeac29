#include "json_number.h"
#include "json_scan.h"
#include "json_text.h"
#include "core/isa.h"
#include "kernels/json_kernels.h"

#include <math.h>
#include <string.h>

static const struct json_kernels *const built[NC_ISA_COUNT] = {
	[NC_ISA_SCALAR] = &json_kernels_scalar,
#ifdef __x86_64__
	[NC_ISA_SSE2] = &json_kernels_sse2,
	[NC_ISA_AVX2] = &json_kernels_avx2,
	[NC_ISA_AVX512] = &json_kernels_avx512,
#endif
#ifdef __aarch64__
	[NC_ISA_NEON] = &json_kernels_neon,
#endif
};

const struct json_kernels *json_kernels_of(enum nc_isa isa)
{
	return nc_isa_supported(isa) ? built[isa] : NULL;
}

const struct json_kernels *json_kernels(void)
{
	return built[nc_isa_current()];
}

/* The fast reader stops before whatever it does not know; the scalar one takes a step there, and says what is wrong. */
enum json_number_status json_read_list_by(const struct json_kernels *kernels, const char *text, const char *end,
                                          enum nc_dtype dtype, void *out, size_t capacity, size_t *count,
                                          const char **after)
{
	*count = 0;
	*after = text;
	for (;;) {
		bool complete = false;
		if (*count < capacity)
			*after = kernels->read_list(*after, end, dtype, out, capacity, count, &complete);
		if (complete)
			return JSON_NUMBER_OK;
		enum json_number_status status =
			json_read_step(*after, end, dtype, out, capacity, count, after, &complete);
		if (complete || status != JSON_NUMBER_OK)
			return status;
	}
}

enum json_number_status json_read_list(const char *text, const char *end, enum nc_dtype dtype, void *out,
                                       size_t capacity, size_t *count, const char **after)
{
	return json_read_list_by(json_kernels(), text, end, dtype, out, capacity, count, after);
}

const char *json_count_commas(const char *text, const char *end, size_t *commas)
{
	return json_kernels()->count_commas(text, end, commas);
}

const char *json_skip_long_space(const char *at, const char *end)
{
	return json_kernels()->skip_space(at, end);
}

static char *write_nonfinite(char *out, double value, enum json_nonfinite mode)
{
	const char *text = mode == JSON_NONFINITE_NULL ? "null"
	                   : isnan(value)              ? "\"NaN\""
	                   : value > 0                 ? "\"Infinity\""
	                                               : "\"-Infinity\"";
	size_t length = strlen(text);
	memcpy(out, text, length);
	return out + length;
}

char *json_write_list(char *out, enum nc_dtype dtype, const void *values, size_t count, enum json_nonfinite mode,
                      size_t *bad)
{
	const struct json_kernels *kernels = json_kernels();
	const double *wide = dtype == NC_FLOAT64 ? values : NULL;
	const float *narrow = dtype == NC_FLOAT64 ? NULL : values;
	char *start = out;
	size_t i = 0;

	*bad = count;
	for (;;) { /* each number with a comma behind it */
		size_t written;
		out = wide ? kernels->write_float64(out, wide + i, count - i, &written)
		           : kernels->write_float32(out, narrow + i, count - i, &written);
		i += written;
		if (i == count)
			break;
		if (mode == JSON_NONFINITE_STOP) {
			*bad = i;
			break;
		}
		out = write_nonfinite(out, wide ? wide[i] : (double)narrow[i], mode);
		*out++ = ',';
		i++;
	}
	return out > start ? out - 1 : out;
}
