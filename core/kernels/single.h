/*
 * 16 lanes of float32, for what float32 can do exactly: products and their errors by a fused multiply-add. Where there is
 * no such instruction the same bits come from float64, rounded to odd and then once.
 */
#ifndef KERNELS_SINGLE_H
#define KERNELS_SINGLE_H

#include "pairs.h"
#include "simd.h"

#if defined(KERNEL_ISA_avx512)
#define F32_WIDTH 16
#elif defined(KERNEL_ISA_avx2)
#define F32_WIDTH 8
#else
#define F32_WIDTH 4
#endif
enum { F32_PIECES = LANES / F32_WIDTH };

typedef float vf32 __attribute__((vector_size(4 * F32_WIDTH)));
typedef uint32_t vu32 __attribute__((vector_size(4 * F32_WIDTH)));
typedef float vf32_plain __attribute__((vector_size(4 * F32_WIDTH), aligned(4), may_alias));

typedef struct {
	vf32 v[F32_PIECES];
} f32x16;

#define EACH_F32(...) \
	for (int k = 0; k < F32_PIECES; k++) { \
		__VA_ARGS__ \
	}

INLINE f32x16 f32_set(float x)
{
	f32x16 r;

	EACH_F32(r.v[k] = x - (vf32){0};)
	return r;
}

INLINE f32x16 f32_mul(f32x16 a, f32x16 b)
{
	f32x16 r;

	EACH_F32(r.v[k] = a.v[k] * b.v[k];)
	return r;
}

INLINE f32x16 f32_load(const float *p, unsigned count)
{
	float padded[LANES] = {0};
	f32x16 r;

	if (count < LANES) {
		memcpy(padded, p, count * sizeof(*p));
		p = padded;
	}
	EACH_F32(r.v[k] = *(const vf32_plain *)(p + k * F32_WIDTH);)
	return r;
}

INLINE void f32_store(float *p, f32x16 a, unsigned count)
{
	float padded[LANES], *to = count < LANES ? padded : p;

	EACH_F32(*(vf32_plain *)(to + k * F32_WIDTH) = a.v[k];)
	if (count < LANES)
		memcpy(p, padded, count * sizeof(*p));
}

/* As f64_stream_f32. */
INLINE void f32_stream(float *p, f32x16 a)
{
#if defined(KERNEL_ISA_avx512)
	_mm512_stream_ps(p, (__m512)a.v[0]);
#elif defined(KERNEL_ISA_avx2)
	EACH_F32(_mm256_stream_ps(p + k * F32_WIDTH, (__m256)a.v[k]);)
#else
	f32_store(p, a, LANES);
#endif
}

/* a·b + c rounded once. */
INLINE f32x16 f32_fma(f32x16 a, f32x16 b, f32x16 c)
{
	f32x16 r;

#if defined(KERNEL_ISA_avx512)
	r.v[0] = (vf32)_mm512_fmadd_ps((__m512)a.v[0], (__m512)b.v[0], (__m512)c.v[0]);
#elif defined(KERNEL_ISA_avx2)
	EACH_F32(r.v[k] = (vf32)_mm256_fmadd_ps((__m256)a.v[k], (__m256)b.v[k], (__m256)c.v[k]);)
#elif defined(KERNEL_ISA_neon)
	EACH_F32(r.v[k] = (vf32)vfmaq_f32((float32x4_t)c.v[k], (float32x4_t)a.v[k], (float32x4_t)b.v[k]);)
#else
	float operands[3][LANES], result[LANES];

	f32_store(operands[0], a, LANES);
	f32_store(operands[1], b, LANES);
	f32_store(operands[2], c, LANES);
	struct pair16 sum = pair16_sum(f64_mul(f64_load_f32_whole(operands[0]), f64_load_f32_whole(operands[1])),
	                               f64_load_f32_whole(operands[2]));
	f64_store_f32_whole(result, round_to_odd(sum.high, sum.low));
	r = f32_load(result, LANES);
#endif
	return r;
}

INLINE f32x16 f32_neg(f32x16 a)
{
	f32x16 r;

	EACH_F32(r.v[k] = -a.v[k];)
	return r;
}

/* The lesser of two magnitudes, least being one; a lane of v that is 0 does not count. */
INLINE f32x16 f32_least(f32x16 least, f32x16 v)
{
	f32x16 r;

#if defined(KERNEL_ISA_avx512)
	__mmask16 counts = _mm512_test_epi32_mask((__m512i)v.v[0], _mm512_set1_epi32(INT32_MAX));

	r.v[0] = (vf32)_mm512_mask_range_ps((__m512)least.v[0], counts, (__m512)least.v[0], (__m512)v.v[0], 2 + (2 << 2));
#else
	EACH_F32(vu32 bits = (vu32)v.v[k] & INT32_MAX; vu32 lesser = (vu32)((bits - 1) < (vu32)least.v[k] - 1);
	         r.v[k] = (vf32)((bits & lesser) | ((vu32)least.v[k] & ~lesser));)
#endif
	return r;
}

INLINE float f32_least_lane(f32x16 a)
{
	float lanes[LANES], least;

	f32_store(lanes, a, LANES);
	least = lanes[0];
	for (int i = 1; i < LANES; i++)
		least = lanes[i] < least ? lanes[i] : least;
	return least;
}

#endif
