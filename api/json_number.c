#include "json_number.h"
#include "json_scan.h"

#include <math.h>
#include <string.h>

enum json_number_status json_read_list(const char *text, const char *end, enum nc_dtype dtype, void *out,
                                       size_t capacity, size_t *count, const char **after)
{
	*count = 0;
	return json_read_list_scalar(text, end, dtype, out, capacity, count, after);
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
	*bad = count;
	for (size_t i = 0; i < count; i++) {
		bool wide = dtype == NC_FLOAT64;
		double value = wide ? ((const double *)values)[i] : (double)((const float *)values)[i];
		if (!isfinite(value) && mode == JSON_NONFINITE_STOP) {
			*bad = i;
			return out;
		}
		if (i)
			*out++ = ',';
		if (!isfinite(value))
			out = write_nonfinite(out, value, mode);
		else
			out = wide ? json_write_float64(out, value) : json_write_float32(out, (float)value);
	}
	return out;
}
