/*
 * 16 virtual lanes of float64, on whatever registers there are: the only file that knows their width.
 *
 * A block of 16 doubles is held in PIECES vectors of WIDTH lanes. Each operation is one IEEE operation per lane and
 * f64_sum is one fixed tree, so that every instruction set gives the same bits. Where a fused multiply-add is used the
 * product is exact, or its exact error is what is wanted: machines without one get the same by other means.
 *
 * Loads and stores take a count of elements: 16, as a constant, is the fast case; fewer read and write only those, and
 * the lanes beyond are zero.
 */
#ifndef KERNELS_SIMD_H
#define KERNELS_SIMD_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(KERNEL_ISA_avx512) || defined(KERNEL_ISA_avx2)
#include <immintrin.h>
#elif defined(KERNEL_ISA_neon)
#include <arm_neon.h>
#endif

#include "columns.h"

#ifdef KERNEL_ISA_scalar
#define INLINE static inline __attribute__((unused)) /* 16 copies of everything are the compiler's time, for nobody's speed */
#else
#define INLINE static inline __attribute__((always_inline, unused))
#endif

#if defined(KERNEL_ISA_avx512)
#define WIDTH 8
#elif defined(KERNEL_ISA_avx2)
#define WIDTH 4
#elif defined(KERNEL_ISA_sse2) || defined(KERNEL_ISA_neon)
#define WIDTH 2
#else
#define WIDTH 1
#endif

#if WIDTH > 1
typedef double vf64 __attribute__((vector_size(8 * WIDTH)));
typedef int64_t vi64 __attribute__((vector_size(8 * WIDTH)));
typedef double vf64_any __attribute__((vector_size(8 * WIDTH), aligned(8), may_alias));
typedef float vf32_any __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));
#define BITS(v) ((vi64)(v))
#define UNBITS(v) ((vf64)(v))
#else
typedef double vf64;
typedef int64_t vi64;
typedef double vf64_any __attribute__((may_alias));
INLINE vi64 BITS(vf64 v)
{
	vi64 bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}
INLINE vf64 UNBITS(vi64 bits)
{
	vf64 v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}
#endif

/* EACH(statements): the statements for k = 0 … PIECES-1; with vectors k is a constant, so that they live in registers. */
#define EACH_1(k0, ...) \
	{ \
		enum { k = k0 }; \
		__VA_ARGS__ \
	}
#define EACH_2(k0, ...) EACH_1(k0, __VA_ARGS__) EACH_1(k0 + 1, __VA_ARGS__)
#define EACH_4(k0, ...) EACH_2(k0, __VA_ARGS__) EACH_2(k0 + 2, __VA_ARGS__)
#define EACH_8(k0, ...) EACH_4(k0, __VA_ARGS__) EACH_4(k0 + 4, __VA_ARGS__)
#if WIDTH == 8
#define PIECES 2
#define EACH(...) EACH_2(0, __VA_ARGS__)
#elif WIDTH == 4
#define PIECES 4
#define EACH(...) EACH_4(0, __VA_ARGS__)
#elif WIDTH == 2
#define PIECES 8
#define EACH(...) EACH_8(0, __VA_ARGS__)
#else
#define PIECES 16
#define EACH(...) \
	for (int k = 0; k < PIECES; k++) { \
		__VA_ARGS__ \
	}
#endif

typedef struct {
	vf64 v[PIECES];
} f64x16;

typedef struct {
	vi64 v[PIECES]; /* all ones or all zeros, or plain integers */
} i64x16;

/* --- arithmetic -------------------------------------------------------------------------------------------------- */

#define BINARY(name, operator) \
	INLINE f64x16 name(f64x16 a, f64x16 b) \
	{ \
		f64x16 r; \
\
		EACH(r.v[k] = a.v[k] operator b.v[k];) \
		return r; \
	}
BINARY(f64_add, +)
BINARY(f64_sub, -)
BINARY(f64_mul, *)
BINARY(f64_div, /)
#undef BINARY

INLINE f64x16 f64_set(double x)
{
	f64x16 r;

#if WIDTH > 1
	EACH(r.v[k] = x - (vf64){0};) /* x − 0 keeps −0 */
#else
	EACH(r.v[k] = x;)
#endif
	return r;
}

/* a·b + c where a·b is exact: with or without a fused instruction the same bits. */
INLINE f64x16 f64_add_exact_product(f64x16 a, f64x16 b, f64x16 c)
{
	f64x16 r;

#if defined(KERNEL_ISA_avx512)
	EACH(r.v[k] = (vf64)_mm512_fmadd_pd((__m512d)a.v[k], (__m512d)b.v[k], (__m512d)c.v[k]);)
#elif defined(KERNEL_ISA_avx2)
	EACH(r.v[k] = (vf64)_mm256_fmadd_pd((__m256d)a.v[k], (__m256d)b.v[k], (__m256d)c.v[k]);)
#else
	EACH(r.v[k] = a.v[k] * b.v[k] + c.v[k];)
#endif
	return r;
}

/* Dekker's split: x = high + low, 26 bits each; |x| below 2^995. */
INLINE vf64 high_half(vf64 x)
{
	vf64 t = x * 0x1.0000002p27;

	return t - (t - x);
}

/* The exact error a·b − p of p = fl(a·b), for products within 2^-900 … 2^900 or zero. */
INLINE f64x16 f64_product_error(f64x16 a, f64x16 b, f64x16 p)
{
	f64x16 r;

#if defined(KERNEL_ISA_avx512)
	EACH(r.v[k] = (vf64)_mm512_fmsub_pd((__m512d)a.v[k], (__m512d)b.v[k], (__m512d)p.v[k]);)
#elif defined(KERNEL_ISA_avx2)
	EACH(r.v[k] = (vf64)_mm256_fmsub_pd((__m256d)a.v[k], (__m256d)b.v[k], (__m256d)p.v[k]);)
#elif defined(KERNEL_ISA_neon)
	EACH(r.v[k] = (vf64)vfmaq_f64((float64x2_t)-p.v[k], (float64x2_t)a.v[k], (float64x2_t)b.v[k]);)
#else
	EACH(vf64 ah = high_half(a.v[k]); vf64 bh = high_half(b.v[k]); vf64 al = a.v[k] - ah; vf64 bl = b.v[k] - bh;
	     r.v[k] = ((ah * bh - p.v[k]) + ah * bl + al * bh) + al * bl;)
#endif
	return r;
}

/* --- bits and comparisons ---------------------------------------------------------------------------------------- */

INLINE f64x16 f64_abs(f64x16 a)
{
	f64x16 r;

	EACH(r.v[k] = UNBITS(BITS(a.v[k]) & INT64_MAX);)
	return r;
}

/* and: the bits of a that are set in mask; or: of both; select: a where the mask is all ones, b where it is zero. */
INLINE f64x16 f64_and(f64x16 a, i64x16 mask)
{
	f64x16 r;

	EACH(r.v[k] = UNBITS(BITS(a.v[k]) & mask.v[k]);)
	return r;
}

INLINE f64x16 f64_or(f64x16 a, f64x16 b)
{
	f64x16 r;

	EACH(r.v[k] = UNBITS(BITS(a.v[k]) | BITS(b.v[k]));)
	return r;
}

INLINE f64x16 f64_select(i64x16 mask, f64x16 a, f64x16 b)
{
	f64x16 r;

	EACH(r.v[k] = UNBITS((BITS(a.v[k]) & mask.v[k]) | (BITS(b.v[k]) & ~mask.v[k]));)
	return r;
}

#if WIDTH > 1
#define COMPARED(expression) (expression)
#else
#define COMPARED(expression) (-(int64_t)(expression))
#endif
#define COMPARISON(name, operator) \
	INLINE i64x16 name(f64x16 a, f64x16 b) \
	{ \
		i64x16 r; \
\
		EACH(r.v[k] = COMPARED(a.v[k] operator b.v[k]);) \
		return r; \
	}
COMPARISON(f64_less, <)
COMPARISON(f64_less_equal, <=)
COMPARISON(f64_equal, ==)
#undef COMPARISON
#undef COMPARED

INLINE f64x16 f64_max(f64x16 a, f64x16 b)
{
#if defined(KERNEL_ISA_avx512)
	f64x16 r;

	EACH(r.v[k] = (vf64)_mm512_max_pd((__m512d)b.v[k], (__m512d)a.v[k]);) /* b > a ? b : a */
	return r;
#else
	return f64_select(f64_less(a, b), b, a);
#endif
}

INLINE f64x16 f64_min(f64x16 a, f64x16 b)
{
#if defined(KERNEL_ISA_avx512)
	f64x16 r;

	EACH(r.v[k] = (vf64)_mm512_min_pd((__m512d)b.v[k], (__m512d)a.v[k]);)
	return r;
#else
	return f64_select(f64_less(b, a), b, a);
#endif
}

#define BITWISE(name, operator) \
	INLINE i64x16 name(i64x16 a, i64x16 b) \
	{ \
		i64x16 r; \
\
		EACH(r.v[k] = a.v[k] operator b.v[k];) \
		return r; \
	}
BITWISE(i64_and, &)
BITWISE(i64_or, |)
#undef BITWISE

INLINE i64x16 i64_not(i64x16 a)
{
	i64x16 r;

	EACH(r.v[k] = ~a.v[k];)
	return r;
}

INLINE i64x16 i64_set(int64_t x)
{
	i64x16 r;

#if WIDTH > 1
	EACH(r.v[k] = x + (vi64){0};)
#else
	EACH(r.v[k] = x;)
#endif
	return r;
}

/* All ones in the lanes below count. */
INLINE i64x16 i64_lanes_below(unsigned count)
{
	static const int64_t ones[2 * LANES] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
	i64x16 r;

	memcpy(&r, ones + LANES - count, sizeof(r));
	return r;
}

INLINE f64x16 f64_zero_beyond(f64x16 v, unsigned count)
{
	return count == LANES ? v : f64_and(v, i64_lanes_below(count));
}

/* float32 to float64 and back, WIDTH of them (gcc 12 makes halves of __builtin_convertvector). */
INLINE vf64 vf64_from_f32(const float *p)
{
#if defined(KERNEL_ISA_avx512)
	return (vf64)_mm512_cvtps_pd(_mm256_loadu_ps(p));
#elif defined(KERNEL_ISA_avx2)
	return (vf64)_mm256_cvtps_pd(_mm_loadu_ps(p));
#elif WIDTH > 1
	return __builtin_convertvector(*(const vf32_any *)p, vf64);
#else
	return *p;
#endif
}

INLINE void vf64_to_f32(float *p, vf64 v)
{
#if defined(KERNEL_ISA_avx512)
	_mm256_storeu_ps(p, _mm512_cvtpd_ps((__m512d)v));
#elif defined(KERNEL_ISA_avx2)
	_mm_storeu_ps(p, _mm256_cvtpd_ps((__m256d)v));
#elif WIDTH > 1
	*(vf32_any *)p = __builtin_convertvector(v, vf32_any);
#else
	*p = (float)v;
#endif
}

/* --- memory: a part of a block goes through a full one, out of line ------------------------------------------------ */

INLINE f64x16 f64_load_whole(const double *p)
{
	f64x16 r;

	EACH(r.v[k] = *(const vf64_any *)(p + k * WIDTH);)
	return r;
}

INLINE f64x16 f64_load_f32_whole(const float *p)
{
	f64x16 r;

	EACH(r.v[k] = vf64_from_f32(p + k * WIDTH);)
	return r;
}

INLINE void f64_store_whole(double *p, f64x16 a)
{
	EACH(*(vf64_any *)(p + k * WIDTH) = a.v[k];)
}

INLINE void f64_store_f32_whole(float *p, f64x16 a)
{
	EACH(vf64_to_f32(p + k * WIDTH, a.v[k]);)
}

static __attribute__((noinline, unused)) void f64_load_part(f64x16 *to, const double *p, unsigned count)
{
	double padded[LANES] = {0};

	memcpy(padded, p, count * sizeof(*p));
	*to = f64_load_whole(padded);
}

static __attribute__((noinline, unused)) void f64_load_f32_part(f64x16 *to, const float *p, unsigned count)
{
	float padded[LANES] = {0};

	memcpy(padded, p, count * sizeof(*p));
	*to = f64_load_f32_whole(padded);
}

static __attribute__((noinline, unused)) void f64_store_part(double *p, const f64x16 *a, unsigned count)
{
	double padded[LANES];

	f64_store_whole(padded, *a);
	memcpy(p, padded, count * sizeof(*p));
}

static __attribute__((noinline, unused)) void f64_store_f32_part(float *p, const f64x16 *a, unsigned count)
{
	float padded[LANES];

	f64_store_f32_whole(padded, *a);
	memcpy(p, padded, count * sizeof(*p));
}

INLINE f64x16 f64_load(const double *p, unsigned count)
{
	f64x16 r;

	if (count == LANES)
		return f64_load_whole(p);
	f64_load_part(&r, p, count);
	return r;
}

INLINE f64x16 f64_load_f32(const float *p, unsigned count)
{
	f64x16 r;

	if (count == LANES)
		return f64_load_f32_whole(p);
	f64_load_f32_part(&r, p, count);
	return r;
}

INLINE void f64_store(double *p, f64x16 a, unsigned count)
{
	if (count == LANES)
		f64_store_whole(p, a);
	else
		f64_store_part(p, &a, count);
}

/* Each lane rounded to float32. */
INLINE void f64_store_f32(float *p, f64x16 a, unsigned count)
{
	if (count == LANES)
		f64_store_f32_whole(p, a);
	else
		f64_store_f32_part(p, &a, count);
}

/*
 * The same for a whole block past the caches, where the processor can; p is a multiple of 64 bytes. Other threads see it
 * after stream_end.
 */
INLINE void f64_stream_f32(float *p, f64x16 a)
{
#if defined(KERNEL_ISA_avx512)
	EACH(_mm256_stream_ps(p + k * WIDTH, _mm512_cvtpd_ps((__m512d)a.v[k]));)
#elif defined(KERNEL_ISA_avx2)
	EACH(_mm_stream_ps(p + k * WIDTH, _mm256_cvtpd_ps((__m256d)a.v[k]));)
#else
	f64_store_f32_whole(p, a);
#endif
}

INLINE void stream_end(void)
{
#if defined(KERNEL_ISA_avx512) || defined(KERNEL_ISA_avx2)
	_mm_sfence();
#endif
}

/* --- across lanes ------------------------------------------------------------------------------------------------ */

/* One tree for all: lane i + lane i+8, then i+4, i+2, i+1. */
INLINE double f64_sum(f64x16 a)
{
#define FOLD(half) EACH_##half(0, a.v[k] = a.v[k] + a.v[k + half];)
#if PIECES >= 16
	FOLD(8)
#endif
#if PIECES >= 8
	FOLD(4)
#endif
#if PIECES >= 4
	FOLD(2)
#endif
	FOLD(1)
#undef FOLD
#if WIDTH == 8
	typedef double four __attribute__((vector_size(32)));
	four quarter = __builtin_shufflevector(a.v[0], a.v[0], 0, 1, 2, 3) + __builtin_shufflevector(a.v[0], a.v[0], 4, 5, 6, 7);
#elif WIDTH == 4
	vf64 quarter = a.v[0];
#endif
#if WIDTH >= 4
	typedef double two __attribute__((vector_size(16)));
	two half = __builtin_shufflevector(quarter, quarter, 0, 1) + __builtin_shufflevector(quarter, quarter, 2, 3);
	return half[0] + half[1];
#elif WIDTH == 2
	return a.v[0][0] + a.v[0][1];
#else
	return a.v[0];
#endif
}

/* Whether any lane of a mask is set. */
INLINE int i64_any(i64x16 a)
{
	int64_t any = 0;

#define FOLD(half) EACH_##half(0, a.v[k] = a.v[k] | a.v[k + half];)
#if PIECES >= 16
	FOLD(8)
#endif
#if PIECES >= 8
	FOLD(4)
#endif
#if PIECES >= 4
	FOLD(2)
#endif
	FOLD(1)
#undef FOLD
#if WIDTH > 1
	for (int i = 0; i < WIDTH; i++)
		any |= a.v[0][i];
#else
	any = a.v[0];
#endif
	return any != 0;
}

#endif
