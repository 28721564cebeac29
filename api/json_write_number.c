#include "json_number.h"
#include "shortest.h"

#include <string.h>

static char *write_digits(char *out, uint64_t digits, int count)
{
	for (int i = count - 1; i >= 0; i--) {
		out[i] = (char)('0' + digits % 10);
		digits /= 10;
	}
	return out + count;
}

static char *write_zeros(char *out, int count)
{
	memset(out, '0', (size_t)count);
	return out + count;
}

/* ECMAScript's Number::toString: n is where the point stands, counted from the first digit. */
static char *write_decimal(char *out, struct shortest s)
{
	char text[20] = {0};
	while (s.digits % 10 == 0) {
		s.digits /= 10;
		s.exponent++;
	}
	int count = 0;
	for (uint64_t rest = s.digits; rest; rest /= 10)
		count++;
	write_digits(text, s.digits, count);
	int n = count + s.exponent;
	if (n > 21 || n < -5) {
		*out++ = text[0];
		if (count > 1)
			*out++ = '.';
		memcpy(out, text + 1, (size_t)count - 1);
		out += count - 1;
		*out++ = 'e';
		*out++ = n > 0 ? '+' : '-';
		int e = n > 0 ? n - 1 : 1 - n;
		return write_digits(out, (uint64_t)e, e < 10 ? 1 : e < 100 ? 2 : 3);
	}
	if (n <= 0) {
		memcpy(out, "0.", 2);
		out = write_zeros(out + 2, -n);
		memcpy(out, text, (size_t)count);
		return out + count;
	}
	int whole = n < count ? n : count;
	memcpy(out, text, (size_t)whole);
	out = write_zeros(out + whole, n - whole);
	if (whole < count)
		*out++ = '.';
	memcpy(out, text + whole, (size_t)(count - whole));
	return out + count - whole;
}

static char *write_zero(char *out, bool negative)
{
	memcpy(out, negative ? "-0.0" : "0", negative ? 4 : 1);
	return out + (negative ? 4 : 1);
}

char *json_write_float64(char *out, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	bool negative = bits >> 63;
	bits &= UINT64_MAX >> 1;
	if (bits == 0)
		return write_zero(out, negative);
	*out = '-';
	return write_decimal(out + negative, shortest_float64(bits));
}

char *json_write_float32(char *out, float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	bool negative = bits >> 31;
	bits &= UINT32_MAX >> 1;
	if (bits == 0)
		return write_zero(out, negative);
	*out = '-';
	return write_decimal(out + negative, shortest_float32(bits));
}
