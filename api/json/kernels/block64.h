/* 64 bytes at a time with SSE2, AVX2 or NEON: comparisons to bit masks, bit i for byte i. Their width is known here alone. */
#ifndef API_KERNELS_BLOCK64_H
#define API_KERNELS_BLOCK64_H

#include <stdint.h>

#if defined(__AVX2__)

#include <immintrin.h>

typedef __m256i bytes;
enum { VECTORS = 2 };

static inline bytes load_bytes(const void *p)
{
	return _mm256_loadu_si256(p);
}

static inline bytes all_bytes(char c)
{
	return _mm256_set1_epi8(c);
}

static inline bytes equal_bytes(bytes a, bytes b)
{
	return _mm256_cmpeq_epi8(a, b);
}

static inline bytes less_or_equal(bytes a, bytes b)
{
	return _mm256_cmpeq_epi8(_mm256_min_epu8(a, b), a);
}

static inline bytes subtract_bytes(bytes a, bytes b)
{
	return _mm256_sub_epi8(a, b);
}

static inline uint64_t mask_of(const bytes v[VECTORS])
{
	return (uint32_t)_mm256_movemask_epi8(v[0]) | (uint64_t)(uint32_t)_mm256_movemask_epi8(v[1]) << 32;
}

static inline uint32_t mask_16_equal(const char *p, char c)
{
	return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)p), _mm_set1_epi8(c)));
}

static inline uint32_t mask_32_equal(const char *p, char c)
{
	return (uint32_t)_mm256_movemask_epi8(equal_bytes(load_bytes(p), all_bytes(c)));
}

#elif defined(__SSE2__)

#include <emmintrin.h>

typedef __m128i bytes;
enum { VECTORS = 4 };

static inline bytes load_bytes(const void *p)
{
	return _mm_loadu_si128(p);
}

static inline bytes all_bytes(char c)
{
	return _mm_set1_epi8(c);
}

static inline bytes equal_bytes(bytes a, bytes b)
{
	return _mm_cmpeq_epi8(a, b);
}

static inline bytes less_or_equal(bytes a, bytes b)
{
	return _mm_cmpeq_epi8(_mm_min_epu8(a, b), a);
}

static inline bytes subtract_bytes(bytes a, bytes b)
{
	return _mm_sub_epi8(a, b);
}

static inline uint64_t mask_of(const bytes v[VECTORS])
{
	uint64_t mask = 0;
	for (int i = 0; i < VECTORS; i++)
		mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(v[i]) << (16 * i);
	return mask;
}

static inline uint32_t mask_16_equal(const char *p, char c)
{
	return (uint32_t)_mm_movemask_epi8(equal_bytes(load_bytes(p), all_bytes(c)));
}

static inline uint32_t mask_32_equal(const char *p, char c)
{
	return mask_16_equal(p, c) | mask_16_equal(p + 16, c) << 16;
}

#elif defined(__ARM_NEON)

#include <arm_neon.h>

typedef uint8x16_t bytes;
enum { VECTORS = 4 };

static inline bytes load_bytes(const void *p)
{
	return vld1q_u8(p);
}

static inline bytes all_bytes(char c)
{
	return vdupq_n_u8((uint8_t)c);
}

static inline bytes equal_bytes(bytes a, bytes b)
{
	return vceqq_u8(a, b);
}

static inline bytes less_or_equal(bytes a, bytes b)
{
	return vcleq_u8(a, b);
}

static inline bytes subtract_bytes(bytes a, bytes b)
{
	return vsubq_u8(a, b);
}

static inline uint64_t mask_of(const bytes v[VECTORS])
{
	static const uint8_t places[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
	const bytes bit = vld1q_u8(places);
	bytes low = vpaddq_u8(vandq_u8(v[0], bit), vandq_u8(v[1], bit));
	bytes high = vpaddq_u8(vandq_u8(v[2], bit), vandq_u8(v[3], bit));
	bytes sums = vpaddq_u8(low, high);
	return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)), 0);
}

static inline uint32_t mask_32_equal(const char *p, char c)
{
	bytes none = vdupq_n_u8(0);
	bytes v[VECTORS] = {equal_bytes(load_bytes(p), all_bytes(c)), equal_bytes(load_bytes(p + 16), all_bytes(c)), none, none};
	return (uint32_t)mask_of(v);
}

static inline uint32_t mask_16_equal(const char *p, char c)
{
	bytes none = vdupq_n_u8(0);
	bytes v[VECTORS] = {equal_bytes(load_bytes(p), all_bytes(c)), none, none, none};
	return (uint32_t)mask_of(v);
}

#endif

/* mask_16_equal, mask_32_equal: which of that many bytes at p are c. */

struct block {
	bytes vector[VECTORS];
};

static inline struct block load_block(const char *p)
{
	struct block b;
	for (int i = 0; i < VECTORS; i++)
		b.vector[i] = load_bytes(p + i * (64 / VECTORS));
	return b;
}

static inline uint64_t bytes_equal(const struct block *b, char c)
{
	bytes v[VECTORS];
	for (int i = 0; i < VECTORS; i++)
		v[i] = equal_bytes(b->vector[i], all_bytes(c));
	return mask_of(v);
}

/* Bytes from `first` to `last`. */
static inline uint64_t bytes_within(const struct block *b, char first, char last)
{
	bytes v[VECTORS];
	for (int i = 0; i < VECTORS; i++)
		v[i] = less_or_equal(subtract_bytes(b->vector[i], all_bytes(first)), all_bytes((char)(last - first)));
	return mask_of(v);
}

#endif
