/*
 * The quick scan for the fields that decide how numbers are read.
 *
 * It goes from string to string, counting only the braces between them: three memchr over each stretch of numbers.
 * On malformed text it may find anything; the strict pass refuses that text afterwards.
 */
#include "json_lift.h"
#include "json_text.h"

/* Occurrences of c, which are few. */
static int count(const char *at, const char *end, char c)
{
	int n = 0;
	while ((at = memchr(at, c, (size_t)(end - at)))) {
		n++;
		at++;
	}
	return n;
}

static bool parse_dtype(const char *at, size_t len, enum nc_dtype *dtype)
{
	for (int i = 0; i < NC_DTYPE_COUNT; i++)
		if (json_is(at, len, nc_dtype_name((enum nc_dtype)i))) {
			*dtype = (enum nc_dtype)i;
			return true;
		}
	return false;
}

struct lift_options lift_peek(const char *text, size_t len)
{
	const char *at = text, *end = text + len;
	struct lift_options options = {.dtype = NC_FLOAT64};
	enum nc_dtype x_dtype = NC_FLOAT64;
	bool dtype_given = false, param_given = false, in_x = false, x_base64 = false;
	int depth = 0;

	while (at < end) {
		const char *quote = memchr(at, '"', (size_t)(end - at));
		if (!quote)
			break;
		depth += count(at, quote, '{') - count(at, quote, '}');
		const char *key = quote + 1, *key_end = json_string_end(key, end);
		if (!key_end)
			break;
		size_t key_len = (size_t)(key_end - key);
		at = json_skip_space(key_end + 1, end);
		if (depth > 2 || depth < 1 || at == end || *at != ':')
			continue;
		at = json_skip_space(at + 1, end);
		const char *value = NULL, *value_end = NULL;
		if (at < end && *at == '"') {
			value = at + 1;
			value_end = json_string_end(value, end);
			if (!value_end)
				break;
			at = value_end + 1;
		}
		size_t value_len = (size_t)(value_end - value);
		if (depth == 1)
			in_x = json_is(key, key_len, "x");
		if (in_x && depth == 2) {
			x_base64 |= json_is(key, key_len, "base64");
			if (value && json_is(key, key_len, "dtype"))
				parse_dtype(value, value_len, &x_dtype);
		} else if (depth == 1 && value) {
			if (json_is(key, key_len, "dtype"))
				dtype_given |= parse_dtype(value, value_len, &options.dtype);
			else if (json_is(key, key_len, "param_dtype"))
				param_given |= parse_dtype(value, value_len, &options.param_dtype);
			else if (json_is(key, key_len, "nonfinite"))
				options.strings = json_is(value, value_len, "string");
		}
	}
	if (!dtype_given && x_base64)
		options.dtype = x_dtype;
	if (!param_given)
		options.param_dtype = options.dtype;
	return options;
}
