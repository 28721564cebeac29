#include "base64.h"

#include <stdint.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* One more than the six bits of each character; 0 for every other byte. */
static const unsigned char sextet[256] = {
	['A'] = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
	['a'] = 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52,
	['0'] = 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, ['+'] = 63, ['/'] = 64,
};

/* The six bits of a character; above 63 when it is not of the alphabet. */
static inline uint32_t bits_of(unsigned char c)
{
	return sextet[c] - 1u;
}

bool base64_decode(const char *text, size_t len, unsigned char *out, size_t *out_len)
{
	const unsigned char *in = (const unsigned char *)text;
	unsigned char *at = out;

	if (len % 4)
		return false;
	size_t padding = len && text[len - 1] == '=' ? (text[len - 2] == '=' ? 2 : 1) : 0;
	size_t whole = len / 4 - (padding ? 1 : 0);
	for (size_t i = 0; i < whole; i++, in += 4, at += 3) {
		uint32_t a = bits_of(in[0]), b = bits_of(in[1]), c = bits_of(in[2]), d = bits_of(in[3]);
		if ((a | b | c | d) > 63)
			return false;
		uint32_t bits = a << 18 | b << 12 | c << 6 | d;
		at[0] = (unsigned char)(bits >> 16);
		at[1] = (unsigned char)(bits >> 8);
		at[2] = (unsigned char)bits;
	}
	if (padding) {
		uint32_t a = bits_of(in[0]), b = bits_of(in[1]), c = padding == 2 ? 0 : bits_of(in[2]);
		uint32_t bits = a << 18 | b << 12 | c << 6;
		/* Bits beyond the last byte must be zero, so that each text has one spelling. */
		if ((a | b | c) > 63 || (bits & (padding == 2 ? 0xffff : 0xff)))
			return false;
		*at++ = (unsigned char)(bits >> 16);
		if (padding == 1)
			*at++ = (unsigned char)(bits >> 8);
	}
	*out_len = (size_t)(at - out);
	return true;
}

char *base64_encode(const void *data, size_t bytes, char *out)
{
	const unsigned char *in = data;

	for (; bytes >= 3; bytes -= 3, in += 3, out += 4) {
		uint32_t bits = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8 | in[2];
		out[0] = alphabet[bits >> 18];
		out[1] = alphabet[bits >> 12 & 63];
		out[2] = alphabet[bits >> 6 & 63];
		out[3] = alphabet[bits & 63];
	}
	if (bytes) {
		uint32_t bits = (uint32_t)in[0] << 16 | (bytes == 2 ? (uint32_t)in[1] << 8 : 0);
		out[0] = alphabet[bits >> 18];
		out[1] = alphabet[bits >> 12 & 63];
		out[2] = bytes == 2 ? alphabet[bits >> 6 & 63] : '=';
		out[3] = '=';
		out += 4;
	}
	return out;
}
