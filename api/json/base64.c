#include "base64.h"
#include "kernels/json_kernels.h"

const char base64_alphabet[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

const unsigned char base64_sextets[256] = {
	['A'] = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
	['a'] = 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52,
	['0'] = 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, ['+'] = 63, ['/'] = 64,
};

bool base64_decode(const char *text, size_t len, unsigned char *out, size_t *out_len)
{
	if (len % 4)
		return false;
	size_t padding = len && text[len - 1] == '=' ? (text[len - 2] == '=' ? 2 : 1) : 0;
	size_t whole = len - (padding ? 4 : 0);
	if (json_kernels()->decode_base64(text, whole, out) != text + whole)
		return false;
	unsigned char *at = out + whole / 4 * 3;
	if (padding) {
		const unsigned char *in = (const unsigned char *)text + whole;
		uint32_t a = base64_bits(in[0]), b = base64_bits(in[1]), c = padding == 2 ? 0 : base64_bits(in[2]);
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
	size_t rest = bytes % 3;
	const unsigned char *in = (const unsigned char *)data + (bytes - rest);

	out = json_kernels()->encode_base64(data, bytes - rest, out);
	if (rest) {
		uint32_t bits = (uint32_t)in[0] << 16 | (rest == 2 ? (uint32_t)in[1] << 8 : 0);
		out[0] = base64_alphabet[bits >> 18];
		out[1] = base64_alphabet[bits >> 12 & 63];
		out[2] = rest == 2 ? base64_alphabet[bits >> 6 & 63] : '=';
		out[3] = '=';
		out += 4;
	}
	return out;
}
