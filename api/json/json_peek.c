/*
 * The quick scan for the fields that decide how numbers are read.
 *
 * They mostly stand before the first array or behind the last one, so that is where it looks first. If there is no dtype it goes
 * through all of the body, from string to string, counting only the braces between them. On malformed text it may find
 * anything; the strict pass refuses that text afterwards. What it overlooks costs time and nothing else: numbers are then
 * read again as what they are.
 */
#include "json_lift.h"
#include "json_text.h"

struct scan {
	struct lift_options options;
	enum nc_dtype x_dtype;
	bool dtype_given, param_given, in_x, x_base64;
	int depth;    /* braces open */
};

/* Opening braces less closing ones. */
static int braces(const char *at, const char *end)
{
	int n = 0;
	for (const char *p = at; (p = memchr(p, '{', (size_t)(end - p))); p++)
		n++;
	for (const char *p = at; (p = memchr(p, '}', (size_t)(end - p))); p++)
		n--;
	return n;
}

/* The next quote, or end; the braces on the way are counted. */
static const char *next_string(struct scan *scan, const char *at, const char *end)
{
	enum { BLOCK = 16 << 10 }; /* stays in the nearest cache from one search to the next */

	while (at < end) {
		const char *stop = end - at > BLOCK ? at + BLOCK : end, *quote = memchr(at, '"', (size_t)(stop - at));
		scan->depth += braces(at, quote ? quote : stop);
		if (quote)
			return quote;
		at = stop;
	}
	return end;
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

static void note(struct scan *scan, const char *key, size_t key_len, const char *value, size_t value_len)
{
	struct lift_options *options = &scan->options;

	if (scan->depth == 1)
		scan->in_x = json_is(key, key_len, "x");
	if (scan->in_x && scan->depth == 2) {
		scan->x_base64 |= json_is(key, key_len, "base64");
		if (value && json_is(key, key_len, "dtype"))
			parse_dtype(value, value_len, &scan->x_dtype);
	} else if (scan->depth == 1 && value) {
		if (json_is(key, key_len, "dtype"))
			scan->dtype_given |= parse_dtype(value, value_len, &options->dtype);
		else if (json_is(key, key_len, "param_dtype"))
			scan->param_given |= parse_dtype(value, value_len, &options->param_dtype);
		else if (json_is(key, key_len, "nonfinite"))
			options->strings = json_is(value, value_len, "string");
	}
}

static void scan_stretch(struct scan *scan, const char *at, const char *end)
{
	while ((at = next_string(scan, at, end)) < end) {
		const char *key = at + 1, *key_end = json_string_end(key, end), *value = NULL, *value_end = NULL;
		if (!key_end)
			return;
		at = json_skip_space(key_end + 1, end);
		if (scan->depth > 2 || scan->depth < 1 || at == end || *at != ':')
			continue;
		at = json_skip_space(at + 1, end);
		if (at < end && *at == '"') {
			value = at + 1;
			value_end = json_string_end(value, end);
			if (!value_end)
				return;
			at = value_end + 1;
		}
		note(scan, key, (size_t)(key_end - key), value, (size_t)(value_end - value));
	}
}

struct lift_options lift_peek(const char *text, size_t len)
{
	const char *end = text + len, *first = len ? memchr(text, '[', len) : NULL, *last = first ? memrchr(first, ']', (size_t)(end - first)) : NULL;
	const struct scan none = {.options.dtype = NC_FLOAT64, .x_dtype = NC_FLOAT64};
	struct scan scan = none;

	if (last) {
		scan_stretch(&scan, text, first);
		scan.depth = -braces(last, end);
		scan_stretch(&scan, last, end);
	}
	if (!scan.dtype_given && !scan.x_base64) {
		scan = none;
		scan_stretch(&scan, text, end);
	}
	if (!scan.dtype_given && scan.x_base64)
		scan.options.dtype = scan.x_dtype;
	if (!scan.param_given)
		scan.options.param_dtype = scan.options.dtype;
	return scan.options;
}
