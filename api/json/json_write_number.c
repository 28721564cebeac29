#include "json_number.h"
#include "json_put.h"
#include "shortest.h"

#include <string.h>

/* Seventeen digits as characters, from the first one on, never '0' (the lowest byte of first), to the last, which may be. */
struct digits {
	uint64_t first, second;
	char last;
	int count; /* up to the last that is not '0' */
	int point; /* digits in front of the point; negative: zeros behind it */
};

static const uint64_t powers_of_10[18] = {
	1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000, 1000000000000,
	10000000000000, 100000000000000, 1000000000000000, 10000000000000000, 100000000000000000,
};

static const uint64_t zeros = UINT64_C(0x3030303030303030);

/* The eight digits of n < 10^8 as bytes, the first one lowest: halves, again and again. */
static inline uint64_t split_digits(uint64_t n)
{
	n = n / 10000 | n % 10000 << 32;
	uint64_t high = n * 10486 >> 20 & UINT64_C(0x0000007f0000007f); /* of 100 */
	n = high | (n - high * 100) << 16;
	high = n * 103 >> 10 & UINT64_C(0x000f000f000f000f); /* of 10 */
	return high | (n - high * 10) << 8;
}

/* Decimal digits of n > 0. */
static inline int width_of(uint64_t n)
{
	int width = (64 - __builtin_clzll(n)) * 1233 >> 12;
	return width + (n >= powers_of_10[width]);
}

static inline struct digits digits_17(struct shortest s)
{
	int width = width_of(s.digits);
	uint64_t n = s.digits * powers_of_10[17 - width], low = n % 1000000000;
	uint64_t first = split_digits(n / 1000000000), second = split_digits(low / 10), last = low % 10;
	int count = 8 - (__builtin_clzll(first) >> 3), more = 16 - (__builtin_clzll(second | 1) >> 3);
	count = second ? more : count;
	count = last ? 17 : count;
	return (struct digits){first | zeros, second | zeros, (char)('0' + last), count, width + s.exponent};
}

static inline struct digits digits_9(struct shortest s)
{
	int width = width_of(s.digits);
	uint32_t n = (uint32_t)(s.digits * powers_of_10[9 - width]), last = n % 10;
	uint64_t first = split_digits(n / 10);
	int count = last ? 9 : 8 - (__builtin_clzll(first) >> 3);
	return (struct digits){first | zeros, last | zeros, '0', count, width + s.exponent};
}

static char *put_exponent(char *out, int exponent)
{
	*out++ = 'e';
	*out++ = exponent < 0 ? '-' : '+';
	int size = exponent < 0 ? -exponent : exponent;
	if (size >= 100)
		*out++ = (char)('0' + size / 100);
	if (size >= 10)
		*out++ = (char)('0' + size / 10 % 10);
	*out++ = (char)('0' + size % 10);
	return out;
}

/* Digits, with a point among them if there are more than `point`, else with zeros up to it; point > 0. */
static char *put_pointed(char *out, const struct digits *d, int point)
{
	char text[24];
	memcpy(text, &d->first, 8);
	memcpy(text + 8, &d->second, 8);
	text[16] = d->last;
	memset(text + 17, '0', 7);
	memcpy(out, text, 24);
	if (d->count <= point)
		return out + point;
	out[point] = '.';
	memcpy(out + point + 1, text + point, (size_t)(d->count - point));
	return out + d->count + 1;
}

/* The forms of ECMAScript's Number::toString. */
static inline __attribute__((always_inline)) char *put_decimal(char *out, struct digits d)
{
	int point = d.point;
	if (point > 21 || point < -5)
		return put_exponent(put_pointed(out, &d, 1), point - 1);
	if (point > 7)
		return put_pointed(out, &d, point);
	/* 0.000ddd and d.ddd by the same stores: on which side of 1 a value lies is no thing to branch on. */
	bool small = point <= 0;
	uint64_t before = (UINT64_C(1) << 8 * (small ? 0 : point)) - 1;
	uint64_t pointed = (d.first & before) | (before + 1) * '.' | (d.first & ~before) << 8;
	uint64_t start = small ? d.first : pointed;
	int at = small ? 2 - point : 0, length = d.count > point ? d.count + 1 : point;
	memcpy(out, "0.000000", 8);
	memcpy(out + at, &start, 8);
	out[at + 8] = (char)(d.first >> 56);
	memcpy(out + at + 9 - small, &d.second, 8);
	out[at + 17 - small] = d.last;
	return out + (small ? at + d.count : length);
}

static char *put_zero(char *out, bool negative)
{
	memcpy(out, negative ? "-0.0" : "0", negative ? 4 : 1);
	return out + (negative ? 4 : 1);
}

char *json_put_float64(char *out, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	bool negative = bits >> 63;
	bits &= UINT64_MAX >> 1;
	if (bits == 0)
		return put_zero(out, negative);
	*out = '-';
	return put_decimal(out + negative, digits_17(shortest_float64(bits)));
}

char *json_put_float32(char *out, float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	bool negative = bits >> 31;
	bits &= UINT32_MAX >> 1;
	if (bits == 0)
		return put_zero(out, negative);
	*out = '-';
	return put_decimal(out + negative, digits_9(shortest_float32(bits)));
}

static char *copy_number(char *out, const char *text, const char *end)
{
	memcpy(out, text, (size_t)(end - text));
	return out + (end - text);
}

char *json_write_float64(char *out, double value)
{
	char text[32];
	return copy_number(out, text, json_put_float64(text, value));
}

char *json_write_float32(char *out, float value)
{
	char text[32];
	return copy_number(out, text, json_put_float32(text, value));
}
