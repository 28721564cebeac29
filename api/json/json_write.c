#include "json_write.h"

#include "json_number.h"

#include <math.h>
#include <string.h>

enum { FIRST_BUFFER = 2048 };

struct writer writer_start(struct nc_arena *arena, bool pretty)
{
	return (struct writer){.arena = arena, .pretty = pretty};
}

bool writer_grow(struct writer *out, size_t bytes)
{
	size_t used = (size_t)(out->at - out->base);
	size_t capacity = 2 * used + FIRST_BUFFER;
	if (bytes > capacity - used)
		capacity = bytes < (size_t)-1 - used ? used + bytes : (size_t)-1;
	char *base = nc_arena_alloc(out->arena, capacity);
	if (!base) {
		out->failed = true;
		return false;
	}
	if (used)
		memcpy(base, out->base, used);
	out->base = base;
	out->at = base + used;
	out->end = base + capacity;
	return true;
}

void writer_finish(struct writer *out)
{
	if (out->base)
		nc_arena_trim(out->arena, out->base, (size_t)(out->at - out->base));
	out->end = out->at;
}

void write_raw(struct writer *out, const char *bytes, size_t len)
{
	if (len == 0 || !writer_reserve(out, len))
		return;
	memcpy(out->at, bytes, len);
	out->at += len;
}

static void line_break(struct writer *out, size_t indent)
{
	*out->at = '\n';
	memset(out->at + 1, ' ', indent);
	out->at += indent + 1;
}

/* The comma, line break and indentation that belong before a value, and room for its `bytes`. */
static bool begin_value(struct writer *out, size_t bytes)
{
	size_t indent = out->pretty ? 2 * (size_t)out->depth : 0, all;

	if (__builtin_add_overflow(bytes, indent + 2, &all) || !writer_reserve(out, all)) {
		out->failed = true;
		return false;
	}
	if (out->after_key) {
		out->after_key = false;
	} else {
		if (out->comma)
			*out->at++ = ',';
		if (indent)
			line_break(out, indent);
	}
	out->comma = true;
	return true;
}

void write_before_value(struct writer *out)
{
	begin_value(out, 0);
}

void write_open(struct writer *out, char open)
{
	if (begin_value(out, 1))
		*out->at++ = open;
	out->depth++;
	out->comma = false;
}

void write_close(struct writer *out, char close)
{
	size_t indent = 2 * (size_t)--out->depth;
	if (!writer_reserve(out, indent + 2))
		return;
	if (out->pretty && out->comma)
		line_break(out, indent);
	*out->at++ = close;
	out->comma = true;
}

void write_key_n(struct writer *out, const char *key, size_t len)
{
	if (!begin_value(out, len + 4))
		return;
	*out->at++ = '"';
	memcpy(out->at, key, len);
	out->at += len;
	memcpy(out->at, "\": ", 3);
	out->at += out->pretty ? 3 : 2;
	out->after_key = true;
}

void write_name(struct writer *out, const char *name)
{
	size_t len = strlen(name);
	if (!begin_value(out, len + 2))
		return;
	*out->at++ = '"';
	memcpy(out->at, name, len);
	out->at += len;
	*out->at++ = '"';
}

void write_string_n(struct writer *out, const char *text, size_t len)
{
	static const char hex[] = "0123456789abcdef";

	if (!begin_value(out, len < (size_t)-1 / 8 ? 6 * len + 2 : (size_t)-1))
		return;
	char *at = out->at;
	*at++ = '"';
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c == '"' || c == '\\') {
			*at++ = '\\';
			*at++ = (char)c;
		} else if (c < 0x20 || c == 0x7f) {
			memcpy(at, "\\u00", 4);
			at[4] = hex[c >> 4];
			at[5] = hex[c & 15];
			at += 6;
		} else {
			*at++ = (char)c;
		}
	}
	*at++ = '"';
	out->at = at;
}

void write_number(struct writer *out, double value)
{
	if (!isfinite(value))
		write_null(out);
	else if (begin_value(out, JSON_FLOAT64_MAX))
		out->at = json_write_float64(out->at, value);
}

void write_number_raw(struct writer *out, double value)
{
	if (writer_reserve(out, JSON_FLOAT64_MAX))
		out->at = json_write_float64(out->at, value);
}

enum { SIZE_DIGITS = 20 };

/* There is room for SIZE_DIGITS. */
static void put_size(struct writer *out, size_t value)
{
	char digits[SIZE_DIGITS];
	size_t n = sizeof digits;
	do
		digits[--n] = (char)('0' + value % 10);
	while (value /= 10);
	memcpy(out->at, digits + n, sizeof digits - n);
	out->at += sizeof digits - n;
}

void write_size_raw(struct writer *out, size_t value)
{
	if (writer_reserve(out, SIZE_DIGITS))
		put_size(out, value);
}

void write_size(struct writer *out, size_t value)
{
	if (begin_value(out, SIZE_DIGITS))
		put_size(out, value);
}

void write_bool(struct writer *out, bool value)
{
	write_json(out, value ? "true" : "false");
}

void write_null(struct writer *out)
{
	write_json(out, "null");
}

void write_json(struct writer *out, const char *json)
{
	size_t len = strlen(json);
	if (!begin_value(out, len))
		return;
	memcpy(out->at, json, len);
	out->at += len;
}

void write_sizes(struct writer *out, const size_t *values, size_t count)
{
	if (!begin_value(out, 2 + (SIZE_DIGITS + 1) * count))
		return;
	*out->at++ = '[';
	for (size_t i = 0; i < count; i++) {
		if (i)
			*out->at++ = ',';
		put_size(out, values[i]);
	}
	*out->at++ = ']';
}
