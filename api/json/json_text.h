/* The smallest steps over JSON text. None reads at or past end. */
#ifndef API_JSON_TEXT_H
#define API_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool json_is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* json_skip_space by the kernel that is in use: for stretches that pay the call. */
const char *json_skip_long_space(const char *at, const char *end);

/* The first byte that is no white space, or end. */
static inline const char *json_skip_space(const char *at, const char *end)
{
	for (int n = 0; at < end && json_is_space(*at); at++)
		if (++n == 16)
			return json_skip_long_space(at, end);
	return at;
}

/* at points behind the opening quote; returns the closing quote, or NULL when there is none. */
static inline const char *json_string_end(const char *at, const char *end)
{
	while ((at = memchr(at, '"', (size_t)(end - at)))) {
		const char *back = at;
		while (back[-1] == '\\') /* stops at the opening quote at the latest */
			back--;
		if ((at - back) % 2 == 0)
			return at;
		at++;
	}
	return NULL;
}

static inline bool json_starts_number(char c)
{
	return c == '-' || (c >= '0' && c <= '9');
}

/* Whether the bytes at..at+len are the word. */
static inline bool json_is(const char *at, size_t len, const char *word)
{
	return len == strlen(word) && memcmp(at, word, len) == 0;
}

#endif
