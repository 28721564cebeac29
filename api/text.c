#include "text.h"

#include "json/json_number.h"

#include <math.h>
#include <string.h>

static void add_bytes(struct text *text, const char *bytes, size_t len)
{
	if (len > TEXT_MOST - 1 - text->len)
		return;
	memcpy(text->bytes + text->len, bytes, len);
	text->len += len;
}

void text_add(struct text *text, const char *part)
{
	add_bytes(text, part, strlen(part));
}

void text_add_for(struct text *text, const char *part, const char *dtype)
{
	static const char mark[] = "{dtype}";
	const char *at;
	while ((at = strstr(part, mark))) {
		add_bytes(text, part, (size_t)(at - part));
		text_add(text, dtype);
		part = at + sizeof mark - 1;
	}
	text_add(text, part);
}

void text_add_number(struct text *text, double value)
{
	char digits[JSON_FLOAT64_MAX];
	if (isfinite(value))
		add_bytes(text, digits, (size_t)(json_write_float64(digits, value) - digits));
	else
		text_add(text, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
}

void text_add_small(struct text *text, double value)
{
	char digits[JSON_FLOAT64_MAX], *end, *at = digits;
	if (!(value > 0 && value < 1e-2)) {
		text_add_number(text, value);
		return;
	}
	end = json_write_float64(digits, value);
	if (strncmp(digits, "0.", 2) != 0) { /* has an exponent already */
		add_bytes(text, digits, (size_t)(end - digits));
		return;
	}
	for (at += 2; *at == '0'; at++)
		continue;
	add_bytes(text, at, 1);
	if (end - at > 1)
		text_add(text, ".");
	add_bytes(text, at + 1, (size_t)(end - at) - 1);
	text_add(text, "e-");
	text_add_size(text, (size_t)(at - digits - 1));
}

void text_add_size(struct text *text, size_t value)
{
	text_add_number(text, (double)value);
}

void text_add_listed(struct text *text, const char *separator, const char *part)
{
	if (text->len)
		text_add(text, separator);
	text_add(text, part);
}

const char *text_keep(struct nc_arena *arena, const struct text *text)
{
	char *copy = nc_arena_alloc(arena, text->len + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text->bytes, text->len);
	copy[text->len] = 0;
	return copy;
}
