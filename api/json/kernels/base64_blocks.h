/*
 * base64 by blocks, after Muła and Lemire, "Base64 encoding and decoding at almost the speed of a memory copy" (arXiv 1910.05109) and
 * "Faster Base64 Encoding and Decoding Using AVX2 Instructions" (arXiv 1704.00605). What is less than a block, or
 * in one with a foreign byte, goes group by group, as does all where vectors look nothing up.
 */
#ifndef API_KERNELS_BASE64_BLOCKS_H
#define API_KERNELS_BASE64_BLOCKS_H

#include "api/json/base64.h"

#include <stdint.h>

#if defined(KERNEL_ISA_avx512)

#include <immintrin.h>

static inline size_t decode_blocks(const char *text, size_t len, unsigned char *out)
{
	const __m512i one = _mm512_set1_epi8(1); /* the table's entries are one too many, and 0 for what is not of the alphabet */
	const __m512i low = _mm512_sub_epi8(_mm512_loadu_si512(base64_sextets), one);
	const __m512i high = _mm512_sub_epi8(_mm512_loadu_si512(base64_sextets + 64), one);
	const __m512i pack = _mm512_set_epi32(0, 0, 0, 0, 0x3c3d3e38, 0x393a3435, 0x36303132, 0x2c2d2e28, 0x292a2425, 0x26202122,
	                                      0x1c1d1e18, 0x191a1415, 0x16101112, 0x0c0d0e08, 0x090a0405, 0x06000102);
	size_t at = 0;
	for (; len - at >= 64; at += 64, out += 48) {
		__m512i bytes = _mm512_loadu_si512(text + at), bits = _mm512_permutex2var_epi8(low, bytes, high);
		if (_mm512_movepi8_mask(_mm512_or_si512(bits, bytes)))
			break;
		bits = _mm512_madd_epi16(_mm512_maddubs_epi16(bits, _mm512_set1_epi32(0x01400140)), _mm512_set1_epi32(0x00011000));
		_mm512_mask_storeu_epi8(out, (UINT64_C(1) << 48) - 1, _mm512_permutexvar_epi8(pack, bits));
	}
	return at;
}

static inline size_t encode_blocks(const unsigned char *in, size_t bytes, char *out)
{
	const __m512i spread = _mm512_set_epi32(0x2e2f2d2e, 0x2b2c2a2b, 0x28292728, 0x25262425, 0x22232122, 0x1f201e1f, 0x1c1d1b1c,
	                                        0x191a1819, 0x16171516, 0x13141213, 0x10110f10, 0x0d0e0c0d, 0x0a0b090a, 0x07080607,
	                                        0x04050304, 0x01020001);
	const __m512i places = _mm512_set1_epi64(0x3036242a1016040a), letters = _mm512_loadu_si512(base64_alphabet);
	size_t at = 0;
	for (; bytes - at >= 48; at += 48, out += 64) {
		__m512i groups = _mm512_permutexvar_epi8(spread, _mm512_maskz_loadu_epi8((UINT64_C(1) << 48) - 1, in + at));
		_mm512_storeu_si512(out, _mm512_permutexvar_epi8(_mm512_multishift_epi64_epi8(places, groups), letters));
	}
	return at;
}

#elif defined(KERNEL_ISA_avx2)

#include <immintrin.h>

static inline __m256i both(__m128i half)
{
	return _mm256_broadcastsi128_si256(half);
}

/* Loads and stores 32 bytes for 24: as long as so many are there. */
static inline size_t decode_blocks(const char *text, size_t len, unsigned char *out)
{
	/* A bit for each kind of byte that a half excludes: of the alphabet are those of which both halves have none in common. */
	const __m256i of_low = both(_mm_setr_epi8(0x15, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x13, 0x1a, 0x1b, 0x1b,
	                                          0x1b, 0x1a));
	const __m256i of_high = both(_mm_setr_epi8(0x10, 0x10, 0x01, 0x02, 0x04, 0x08, 0x04, 0x08, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10,
	                                           0x10, 0x10));
	const __m256i offsets = both(_mm_setr_epi8(0, 16, 19, 4, -65, -65, -71, -71, 0, 0, 0, 0, 0, 0, 0, 0));
	const __m256i pack = both(_mm_setr_epi8(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1));
	const __m256i slash = _mm256_set1_epi8('/'); /* 0x2f, and so the mask of a low half too */
	size_t at = 0;
	for (; len - at >= 48; at += 32, out += 24) {
		__m256i bytes = _mm256_loadu_si256((const __m256i *)(text + at));
		__m256i high = _mm256_and_si256(_mm256_srli_epi32(bytes, 4), slash), low = _mm256_and_si256(bytes, slash);
		if (!_mm256_testz_si256(_mm256_shuffle_epi8(of_low, low), _mm256_shuffle_epi8(of_high, high)))
			break;
		__m256i offset = _mm256_shuffle_epi8(offsets, _mm256_add_epi8(_mm256_cmpeq_epi8(bytes, slash), high));
		__m256i bits = _mm256_maddubs_epi16(_mm256_add_epi8(bytes, offset), _mm256_set1_epi32(0x01400140));
		bits = _mm256_shuffle_epi8(_mm256_madd_epi16(bits, _mm256_set1_epi32(0x00011000)), pack);
		bits = _mm256_permutevar8x32_epi32(bits, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7));
		_mm256_storeu_si256((__m256i *)out, bits);
	}
	return at;
}

static inline size_t encode_blocks(const unsigned char *in, size_t bytes, char *out)
{
	const __m256i spread = both(_mm_set_epi8(10, 11, 9, 10, 7, 8, 6, 7, 4, 5, 3, 4, 1, 2, 0, 1));
	const __m256i offsets = both(_mm_setr_epi8('a' - 26, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52,
	                                           '0' - 52, '0' - 52, '+' - 62, '/' - 63, 'A', 0, 0));
	size_t at = 0;
	for (; bytes - at >= 28; at += 24, out += 32) {
		__m256i v = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(in + at)));
		v = _mm256_inserti128_si256(v, _mm_loadu_si128((const __m128i *)(in + at + 12)), 1);
		v = _mm256_shuffle_epi8(v, spread);
		__m256i first = _mm256_mulhi_epu16(_mm256_and_si256(v, _mm256_set1_epi32(0x0fc0fc00)), _mm256_set1_epi32(0x04000040));
		__m256i second = _mm256_mullo_epi16(_mm256_and_si256(v, _mm256_set1_epi32(0x003f03f0)), _mm256_set1_epi32(0x01000010));
		__m256i sextets = _mm256_or_si256(first, second);
		/* 0: small letters, 1 to 10: digits, 11, 12: the signs, 13: capitals */
		__m256i kind = _mm256_subs_epu8(sextets, _mm256_set1_epi8(51)), capital = _mm256_cmpgt_epi8(_mm256_set1_epi8(26), sextets);
		kind = _mm256_or_si256(kind, _mm256_and_si256(capital, _mm256_set1_epi8(13)));
		_mm256_storeu_si256((__m256i *)out, _mm256_add_epi8(_mm256_shuffle_epi8(offsets, kind), sextets));
	}
	return at;
}

#elif defined(KERNEL_ISA_neon)

#include <arm_neon.h>

static inline uint8x16x4_t load_table(const void *table)
{
	const uint8_t *p = table;
	return (uint8x16x4_t){{vld1q_u8(p), vld1q_u8(p + 16), vld1q_u8(p + 32), vld1q_u8(p + 48)}};
}

static inline size_t decode_blocks(const char *text, size_t len, unsigned char *out)
{
	const uint8x16x4_t low = load_table(base64_sextets), high = load_table(base64_sextets + 64);
	const uint8x16_t one = vdupq_n_u8(1), bit_6 = vdupq_n_u8(64);
	size_t at = 0;
	for (; len - at >= 64; at += 64, out += 48) {
		uint8x16x4_t c = vld4q_u8((const uint8_t *)text + at), s;
		for (int i = 0; i < 4; i++) /* a table gives 0 beyond its 64 entries */
			s.val[i] = vorrq_u8(vqtbl4q_u8(low, c.val[i]), vqtbl4q_u8(high, veorq_u8(c.val[i], bit_6)));
		if (vminvq_u8(vminq_u8(vminq_u8(s.val[0], s.val[1]), vminq_u8(s.val[2], s.val[3]))) == 0)
			break;
		for (int i = 0; i < 4; i++)
			s.val[i] = vsubq_u8(s.val[i], one);
		uint8x16x3_t three = {{
			vorrq_u8(vshlq_n_u8(s.val[0], 2), vshrq_n_u8(s.val[1], 4)),
			vorrq_u8(vshlq_n_u8(s.val[1], 4), vshrq_n_u8(s.val[2], 2)),
			vorrq_u8(vshlq_n_u8(s.val[2], 6), s.val[3]),
		}};
		vst3q_u8(out, three);
	}
	return at;
}

static inline size_t encode_blocks(const unsigned char *in, size_t bytes, char *out)
{
	const uint8x16x4_t letters = load_table(base64_alphabet);
	const uint8x16_t six = vdupq_n_u8(63);
	size_t at = 0;
	for (; bytes - at >= 48; at += 48, out += 64) {
		uint8x16x3_t b = vld3q_u8(in + at);
		uint8x16x4_t s = {{
			vshrq_n_u8(b.val[0], 2),
			vandq_u8(vorrq_u8(vshlq_n_u8(b.val[0], 4), vshrq_n_u8(b.val[1], 4)), six),
			vandq_u8(vorrq_u8(vshlq_n_u8(b.val[1], 2), vshrq_n_u8(b.val[2], 6)), six),
			vandq_u8(b.val[2], six),
		}};
		for (int i = 0; i < 4; i++)
			s.val[i] = vqtbl4q_u8(letters, s.val[i]);
		vst4q_u8((uint8_t *)out, s);
	}
	return at;
}

#else

static inline size_t decode_blocks(const char *text, size_t len, unsigned char *out)
{
	(void)text, (void)len, (void)out;
	return 0;
}

static inline size_t encode_blocks(const unsigned char *in, size_t bytes, char *out)
{
	(void)in, (void)bytes, (void)out;
	return 0;
}

#endif

static const char *decode_base64(const char *text, size_t len, unsigned char *out)
{
	size_t at = decode_blocks(text, len, out);
	const unsigned char *in = (const unsigned char *)text;

	for (out += at / 4 * 3; at < len; at += 4, out += 3) {
		uint32_t a = base64_bits(in[at]), b = base64_bits(in[at + 1]), c = base64_bits(in[at + 2]), d = base64_bits(in[at + 3]);
		if ((a | b | c | d) > 63)
			break;
		uint32_t bits = a << 18 | b << 12 | c << 6 | d;
		out[0] = (unsigned char)(bits >> 16);
		out[1] = (unsigned char)(bits >> 8);
		out[2] = (unsigned char)bits;
	}
	return text + at;
}

static char *encode_base64(const unsigned char *in, size_t bytes, char *out)
{
	size_t at = encode_blocks(in, bytes, out);

	for (out += at / 3 * 4; at < bytes; at += 3, out += 4) {
		uint32_t bits = (uint32_t)in[at] << 16 | (uint32_t)in[at + 1] << 8 | in[at + 2];
		out[0] = base64_alphabet[bits >> 18];
		out[1] = base64_alphabet[bits >> 12 & 63];
		out[2] = base64_alphabet[bits >> 6 & 63];
		out[3] = base64_alphabet[bits & 63];
	}
	return out;
}

#endif
