#include "json_string.h"

#include <stddef.h>
#include <string.h>

/* The bytes of the UTF-8 character at `at` (Unicode 15, table 3-7), 0 when it is none. */
static size_t utf8_len(const unsigned char *at, const unsigned char *end)
{
	static const struct {
		unsigned char first, last, second_least, second_most, len;
	} rows[] = {
		{0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
		{0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
		{0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t len = rows[i].len;
		if (*at < rows[i].first || *at > rows[i].last)
			continue;
		if (len == 1)
			return 1;
		if (len > (size_t)(end - at) || at[1] < rows[i].second_least || at[1] > rows[i].second_most)
			return 0;
		for (size_t k = 2; k < len; k++)
			if (at[k] < 0x80 || at[k] > 0xbf)
				return 0;
		return len;
	}
	return 0;
}

/* The value of four hexadecimal digits at `at`, -1 when they are not there. */
static int hex4(const char *at, const char *close)
{
	int value = 0;

	if (close - at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		const char *digits = "0123456789abcdef", *digit = at[i] ? strchr(digits, at[i] | (at[i] > '9' ? 0x20 : 0)) : NULL;
		if (!digit)
			return -1;
		value = 16 * value + (int)(digit - digits);
	}
	return value;
}

/* The bytes of the escape at `at`, a backslash; 0 when it is none. */
static size_t escape_len(const char *at, const char *close, const char **what)
{
	*what = "a backslash begins an escape that JSON does not have: write \\\\ for the backslash itself";
	if (close - at < 2 || !at[1] || !strchr("\"\\/bfnrtu", at[1]))
		return 0;
	if (at[1] != 'u')
		return 2;
	int unit = hex4(at + 2, close);
	*what = "\\u needs four hexadecimal digits";
	if (unit < 0)
		return 0;
	*what = "\\u0000 cannot stand in a string";
	if (unit == 0)
		return 0;
	if (unit < 0xd800 || unit > 0xdfff)
		return 6;
	*what = "half of a surrogate pair stands alone";
	if (unit > 0xdbff || close - at < 12 || at[6] != '\\' || at[7] != 'u')
		return 0;
	unit = hex4(at + 8, close);
	return unit >= 0xdc00 && unit <= 0xdfff ? 12 : 0;
}

const char *json_string_fault(const char *at, const char *close, const char **what)
{
	while (at < close) {
		size_t len;
		if ((unsigned char)*at < 0x20) {
			*what = "a control character stands in a string: write it as an escape, such as \\n";
			return at;
		}
		if (*at == '\\') {
			len = escape_len(at, close, what);
		} else {
			len = utf8_len((const unsigned char *)at, (const unsigned char *)close);
			*what = "the text is not UTF-8";
		}
		if (len == 0)
			return at;
		at += len;
	}
	return NULL;
}
