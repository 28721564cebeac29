/*
 * Lanes of 64 bits for the list writer: eight with AVX-512, four with AVX2. How the two differ is known here alone; beside
 * operators these functions are all that the writer does with lanes. Comparisons take lanes as signed.
 */
#ifndef API_KERNELS_LANES64_H
#define API_KERNELS_LANES64_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(KERNEL_ISA_avx512)

enum { LANES = 8 };
typedef __m512i whole;
typedef __mmask8 lane_mask;
#define OF_WHOLE(operation) _mm512_##operation

#else

enum { LANES = 4 };
typedef __m256i whole;
typedef __m256i lane_mask; /* all bits of a lane, or none */
#define OF_WHOLE(operation) _mm256_##operation

#endif

typedef uint64_t lanes __attribute__((vector_size(8 * LANES)));

static inline lanes all(uint64_t value)
{
	return (lanes){0} + value;
}

/* The product of the lower 32 bits of each. */
static inline lanes multiply(lanes a, lanes b)
{
	return (lanes)OF_WHOLE(mul_epu32)((whole)a, (whole)b);
}

/* n / 10, n < 2^32 */
static inline lanes tenth(lanes n)
{
	return multiply(n, all(0xcccccccd)) >> 35;
}

static inline lanes times_10(lanes n)
{
	return multiply(n, all(10));
}

/* The eight digits of n < 10^8 as bytes, the first one lowest: halves, again and again. */
static inline lanes split_digits(lanes n)
{
	lanes high = multiply(n, all(3518437209)) >> 45; /* n / 10^4 */
	whole fours = (whole)(high | (n - multiply(high, all(10000))) << 32);
	whole hundreds = OF_WHOLE(srli_epi16)(OF_WHOLE(mulhi_epu16)(fours, OF_WHOLE(set1_epi16)(5243)), 3); /* fits a byte */
	whole rest = OF_WHOLE(add_epi16)(fours, OF_WHOLE(maddubs_epi16)(hundreds, OF_WHOLE(set1_epi16)(-100 & 255)));
	whole pairs = hundreds | OF_WHOLE(slli_epi32)(rest, 16);
	whole tens = OF_WHOLE(mulhi_epu16)(pairs, OF_WHOLE(set1_epi16)(6554));
	rest = OF_WHOLE(add_epi16)(pairs, OF_WHOLE(maddubs_epi16)(tens, OF_WHOLE(set1_epi16)(-10 & 255)));
	return (lanes)(tens | OF_WHOLE(slli_epi16)(rest, 8));
}

/* Of each pair of lanes the first ones of both, and the second ones of both: what lies beside each other in 128 bits. */
static inline lanes pair_first(lanes a, lanes b)
{
	return (lanes)OF_WHOLE(unpacklo_epi64)((whole)a, (whole)b);
}

static inline lanes pair_second(lanes a, lanes b)
{
	return (lanes)OF_WHOLE(unpackhi_epi64)((whole)a, (whole)b);
}

static inline __m256i pick_of_16(const __m128i *record, const uint8_t *source)
{
	return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_load_si128(record)), _mm256_load_si256((const __m256i *)source));
}

/*
 * (2^52 + fraction) power 2^(shift - 127), shift from 0 to 3, power's highest bit set and the product below 10^17: whole + rest
 * 2^-PLACES, too small by less than four units of that. half: the half of power 2^(shift - 127), by less than one.
 */
struct product {
	lanes whole, rest, half;
};

#if defined(KERNEL_ISA_avx512)

enum { PLACES = 48 };

static inline lanes load_float32(const float *values)
{
	return (lanes)_mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)values));
}

static inline lanes load_lanes(const void *from)
{
	return (lanes)_mm512_loadu_si512(from);
}

static inline void store_lanes(void *to, lanes a)
{
	_mm512_storeu_si512(to, (whole)a);
}

/* 32 bytes, each the one of a record that `source` tells: of 16 bytes, or of 16 and at `last` 8 more. */
static inline __m256i pick_of_32(const __m128i *record, const uint64_t *last, const uint8_t *source)
{
	__m256i both = _mm256_castsi128_si256(_mm_load_si128(record));
	both = _mm256_inserti128_si256(both, _mm_loadu_si128((const __m128i *)last), 1);
	return _mm256_permutexvar_epi8(_mm256_load_si256((const __m256i *)source), both);
}

static inline lanes look_up(const uint64_t *table, lanes index)
{
	return (lanes)_mm512_i64gather_epi64((whole)index, table, 8);
}

static inline lane_mask less(lanes a, lanes b)
{
	return _mm512_cmplt_epi64_mask((whole)a, (whole)b);
}

static inline lane_mask negative(lanes a)
{
	return _mm512_movepi64_mask((whole)a);
}

static inline lane_mask is_zero(lanes a)
{
	return _mm512_testn_epi64_mask((whole)a, (whole)a);
}

static inline bool any(lane_mask mask)
{
	return mask != 0;
}

/* Lanes of a where the mask is set, else of b. */
static inline lanes either(lane_mask mask, lanes a, lanes b)
{
	return (lanes)_mm512_mask_mov_epi64((whole)b, mask, (whole)a);
}

/* b where the mask is set, else 0. */
static inline lanes where(lane_mask mask, lanes b)
{
	return (lanes)_mm512_maskz_mov_epi64(mask, (whole)b);
}

/* Whether any of four, taken as unsigned, is below 8. */
static inline lane_mask any_below_8(lanes a, lanes b, lanes c, lanes d)
{
	whole least = _mm512_min_epu64(_mm512_min_epu64((whole)a, (whole)b), _mm512_min_epu64((whole)c, (whole)d));
	return _mm512_cmplt_epu64_mask(least, (whole)all(8));
}

/* Of digits as bytes, the first one lowest: how many there are up to the last that is not 0; not all are 0. */
static inline lanes significant(lanes digits)
{
	return (71 - (lanes)_mm512_lzcnt_epi64((whole)digits)) >> 3;
}

/* How many are 0 before the first that is not. */
static inline lanes leading_zeros(lanes digits)
{
	return (63 - (lanes)_mm512_lzcnt_epi64((whole)(digits & -digits))) >> 3;
}

/* n / 10^8 or one less, n < 2^57 */
static inline lanes over_10_8(lanes n)
{
	return (lanes)_mm512_cvttpd_epu64(_mm512_mul_pd(_mm512_cvtepu64_pd((whole)n), _mm512_set1_pd(0x1.5798ee2308c38p-27)));
}

/* The power times 2^shift in two parts of 52 bits, 4 before the point. */
static inline struct product multiply_53(lanes fraction, lanes high, lanes low, lanes shift)
{
	const lanes low_52 = all((UINT64_C(1) << 52) - 1);
	lanes upper = high >> (15 - shift);
	lanes lower = (lanes)_mm512_shrdv_epi64((whole)low, (whole)high, (whole)(27 - shift)) & low_52;
	whole rest = _mm512_madd52hi_epu64((whole)lower, (whole)fraction, (whole)lower);
	rest = _mm512_madd52lo_epu64(rest, (whole)fraction, (whole)upper);
	lanes sum = (lanes)_mm512_madd52hi_epu64((whole)upper, (whole)fraction, (whole)upper) << 4;
	return (struct product){
		.whole = sum + ((lanes)rest >> 48),
		.rest = (lanes)rest & ((UINT64_C(1) << 48) - 1),
		.half = upper >> 1,
	};
}

#else

enum { PLACES = 31 };

static inline lanes load_float32(const float *values)
{
	return (lanes)_mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)values));
}

static inline lanes load_lanes(const void *from)
{
	return (lanes)_mm256_loadu_si256(from);
}

static inline void store_lanes(void *to, lanes a)
{
	_mm256_storeu_si256(to, (whole)a);
}

static inline __m256i pick_of_32(const __m128i *record, const uint64_t *last, const uint8_t *source)
{
	__m256i from = _mm256_load_si256((const __m256i *)source); /* a shuffle gives 0 for a place with the highest bit */
	__m256i low = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_load_si128(record)), _mm256_add_epi8(from, _mm256_set1_epi8(112)));
	__m256i high = _mm256_shuffle_epi8(_mm256_set1_epi64x((long long)*last), _mm256_sub_epi8(from, _mm256_set1_epi8(16)));
	return low | high;
}

static inline lanes look_up(const uint64_t *table, lanes index)
{
	return (lanes)_mm256_i64gather_epi64((const long long *)table, (whole)index, 8);
}

static inline lane_mask less(lanes a, lanes b)
{
	return _mm256_cmpgt_epi64((whole)b, (whole)a);
}

static inline lane_mask negative(lanes a)
{
	return less(a, all(0));
}

static inline lane_mask is_zero(lanes a)
{
	return _mm256_cmpeq_epi64((whole)a, (whole)all(0));
}

static inline bool any(lane_mask mask)
{
	return !_mm256_testz_si256(mask, mask);
}

static inline lanes either(lane_mask mask, lanes a, lanes b)
{
	return (lanes)_mm256_blendv_epi8((whole)b, (whole)a, mask);
}

static inline lanes where(lane_mask mask, lanes b)
{
	return (lanes)mask & b;
}

static inline lane_mask any_below_8(lanes a, lanes b, lanes c, lanes d)
{
	return is_zero(a >> 3) | is_zero(b >> 3) | is_zero(c >> 3) | is_zero(d >> 3);
}

static inline lanes leading_zeros(lanes digits)
{
	lanes zeros = (lanes)_mm256_cmpeq_epi8((whole)digits, (whole)all(0));
	lanes to_first = (zeros ^ (zeros + 1)) & UINT64_C(0x0101010101010101);
	return (lanes)_mm256_sad_epu8((whole)to_first, (whole)all(0)) - 1;
}

static inline lanes significant(lanes digits)
{
	const whole backwards = _mm256_broadcastsi128_si256(_mm_set_epi8(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
	return 8 - leading_zeros((lanes)_mm256_shuffle_epi8((whole)digits, backwards));
}

/* 2^52 + i has i for its last bits: so n / 256 becomes a double, and the quotient, less 1/2, an integer. */
static inline lanes over_10_8(lanes n)
{
	const __m256d two_52 = _mm256_set1_pd(0x1p52);
	__m256d less = _mm256_sub_pd((__m256d)(n >> 8 | (lanes)two_52), two_52);
	__m256d quotient = _mm256_fmadd_pd(less, _mm256_set1_pd(0x1.5798ee2308c38p-19), _mm256_set1_pd(0x1p52 - 0.5));
	return (lanes)quotient ^ (lanes)two_52;
}

/* By 32 bits, of which those whose product would be the fifth of the last place are left out. */
static inline struct product multiply_53(lanes fraction, lanes high, lanes low, lanes shift)
{
	const lanes low_32 = all(UINT32_MAX);
	lanes c = (fraction | UINT64_C(1) << 52) << shift, c_high = c >> 32, power = high >> 32;
	lanes first = multiply(c, power) + (multiply(c, high) >> 32);
	lanes second = (first & low_32) + multiply(c_high, high) + (multiply(c_high, low >> 32) >> 32);
	lanes sum = multiply(c_high, power) + (first >> 32); /* in 2, as second is in 2^-31 */
	return (struct product){
		.whole = (sum << 1) + (second >> 31),
		.rest = second & (UINT32_MAX >> 1),
		.half = high >> (33 - shift),
	};
}

#endif

#endif
