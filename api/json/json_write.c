#include "json_write.h"

#include "json_number.h"

#include <math.h>
#include <string.h>

enum { FIRST_BUFFER = 2048 };

struct writer writer_start(struct nc_arena *arena, bool pretty)
{
	return (struct writer){.arena = arena, .pretty = pretty};
}

static bool grow(struct writer *out, size_t bytes)
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

bool writer_reserve(struct writer *out, size_t bytes)
{
	return !out->failed && (bytes <= (size_t)(out->end - out->at) || grow(out, bytes));
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

static void line_break(struct writer *out)
{
	size_t indent = 2 * (size_t)out->depth;
	if (!writer_reserve(out, indent + 1))
		return;
	*out->at = '\n';
	memset(out->at + 1, ' ', indent);
	out->at += indent + 1;
}

void write_before_value(struct writer *out)
{
	if (out->after_key) {
		out->after_key = false;
	} else {
		if (out->comma)
			write_raw(out, ",", 1);
		if (out->pretty && out->depth)
			line_break(out);
	}
	out->comma = true;
}

void write_open(struct writer *out, char open)
{
	write_before_value(out);
	write_raw(out, &open, 1);
	out->depth++;
	out->comma = false;
}

void write_close(struct writer *out, char close)
{
	out->depth--;
	if (out->pretty && out->comma)
		line_break(out);
	write_raw(out, &close, 1);
	out->comma = true;
}

void write_key_n(struct writer *out, const char *key, size_t len)
{
	write_before_value(out);
	if (!writer_reserve(out, len + 4))
		return;
	*out->at++ = '"';
	memcpy(out->at, key, len);
	out->at += len;
	memcpy(out->at, "\": ", 3);
	out->at += out->pretty ? 3 : 2;
	out->after_key = true;
}

void write_string_n(struct writer *out, const char *text, size_t len)
{
	static const char hex[] = "0123456789abcdef";

	write_before_value(out);
	if (!writer_reserve(out, len < (size_t)-1 / 8 ? 6 * len + 2 : (size_t)-1))
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
	if (!isfinite(value)) {
		write_null(out);
		return;
	}
	write_before_value(out);
	write_number_raw(out, value);
}

void write_number_raw(struct writer *out, double value)
{
	if (writer_reserve(out, JSON_FLOAT64_MAX))
		out->at = json_write_float64(out->at, value);
}

static void raw_size(struct writer *out, size_t value)
{
	char digits[20];
	size_t n = sizeof digits;
	do
		digits[--n] = (char)('0' + value % 10);
	while (value /= 10);
	write_raw(out, digits + n, sizeof digits - n);
}

void write_size(struct writer *out, size_t value)
{
	write_before_value(out);
	raw_size(out, value);
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
	write_before_value(out);
	write_raw(out, json, strlen(json));
}

void write_sizes(struct writer *out, const size_t *values, size_t count)
{
	write_before_value(out);
	write_raw(out, "[", 1);
	for (size_t i = 0; i < count; i++) {
		if (i)
			write_raw(out, ",", 1);
		raw_size(out, values[i]);
	}
	write_raw(out, "]", 1);
}
