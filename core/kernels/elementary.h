/*
 * exp, log, tanh, erfc and sin/cos over 16 virtual lanes: SLEEF's `cinz` functions, which give the same bits in every
 * one of these variants (none uses a fused multiply-add).
 */
#ifndef KERNELS_ELEMENTARY_H
#define KERNELS_ELEMENTARY_H

#include "simd.h"

#include <sleef.h>

#if defined(KERNEL_ISA_avx512)
#define SLEEF(function, ulp) Sleef_cinz_##function##d8_##ulp##avx512fnofma
typedef __m512d sleef_vector;
typedef Sleef___m512d_2 sleef_pair;
#elif defined(KERNEL_ISA_avx2)
#define SLEEF(function, ulp) Sleef_cinz_##function##d4_##ulp##avx
typedef __m256d sleef_vector;
typedef Sleef___m256d_2 sleef_pair;
#elif defined(KERNEL_ISA_sse2)
#define SLEEF(function, ulp) Sleef_cinz_##function##d2_##ulp##sse2
typedef __m128d sleef_vector;
typedef Sleef___m128d_2 sleef_pair;
#elif defined(KERNEL_ISA_neon)
#define SLEEF(function, ulp) Sleef_cinz_##function##d2_##ulp##advsimdnofma
typedef float64x2_t sleef_vector;
typedef Sleef_float64x2_t_2 sleef_pair;
#else
#define SLEEF(function, ulp) Sleef_cinz_##function##d1_##ulp##purec
typedef double sleef_vector;
typedef Sleef_double_2 sleef_pair;
#endif

#define ELEMENTARY(name, function, ulp)                                                                                \
	INLINE f64x16 name(f64x16 a)                                                                                   \
	{                                                                                                              \
		f64x16 r;                                                                                              \
                                                                                                                       \
		EACH(r.v[k] = (vf64)SLEEF(function, ulp)((sleef_vector)a.v[k]);)                                       \
		return r;                                                                                              \
	}
ELEMENTARY(f64_exp, exp, u10)
ELEMENTARY(f64_tanh, tanh, u10)
ELEMENTARY(f64_erfc, erfc, u15)
ELEMENTARY(f64_log_u35, log, u35)
#undef ELEMENTARY

/* sin(π a) and cos(π a), to 3.5 ulp. */
INLINE void f64_sincospi_u35(f64x16 a, f64x16 *sine, f64x16 *cosine)
{
	EACH(sleef_pair pair = SLEEF(sincospi, u35)((sleef_vector)a.v[k]); sine->v[k] = (vf64)pair.x;
	     cosine->v[k] = (vf64)pair.y;)
}

/* Correctly rounded everywhere, as IEEE 754 asks. */
INLINE f64x16 f64_sqrt(f64x16 a)
{
	f64x16 r;

#if defined(KERNEL_ISA_avx512)
	EACH(r.v[k] = (vf64)_mm512_sqrt_pd((__m512d)a.v[k]);)
#elif defined(KERNEL_ISA_avx2)
	EACH(r.v[k] = (vf64)_mm256_sqrt_pd((__m256d)a.v[k]);)
#elif defined(KERNEL_ISA_sse2)
	EACH(r.v[k] = (vf64)_mm_sqrt_pd((__m128d)a.v[k]);)
#elif defined(KERNEL_ISA_neon)
	EACH(r.v[k] = (vf64)vsqrtq_f64((float64x2_t)a.v[k]);)
#else
	EACH(r.v[k] = sqrt(a.v[k]);)
#endif
	return r;
}

#endif
