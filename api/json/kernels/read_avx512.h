/*
 * AVX-512, second pass of the list reader: eight numbers at once, from the stream of digits (scan_avx512.h) to floats.
 *
 * A number is m / 10^f, m an integer, f the digits behind its point. Below 2^53 m is a double, as is 10^f up to f = 22, so that
 * one division rounds right; above, the remainder of the division tells the rest of the quotient, and where that rounds one way
 * within its own error the sum is right. With an exponent, one product with the power of ten decides. What is not decided so
 * is odd, and goes to the scalar reader.
 */
#ifndef API_KERNELS_READ_AVX512_H
#define API_KERNELS_READ_AVX512_H

#include "api/json/decimal_fast.h"
#include "api/json/json_scan.h"
#include "scan_avx512.h"

enum { EXACT_POWERS = 23 };

/* The powers of ten that are doubles, padded for sixteen-entry look-ups, and their reciprocals. */
static const double power_table[24] __attribute__((aligned(64))) = {
	1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22, 1,
};
static const double reciprocal_table[24] __attribute__((aligned(64))) = {
	1e-0,  1e-1,  1e-2,  1e-3,  1e-4,  1e-5,  1e-6,  1e-7,  1e-8,  1e-9,  1e-10, 1e-11,
	1e-12, 1e-13, 1e-14, 1e-15, 1e-16, 1e-17, 1e-18, 1e-19, 1e-20, 1e-21, 1e-22, 1,
};

/* Eight numbers on their way: |value| rounded to double, those of which that is not sure, those that are exactly it. */
struct eight {
	__m512d value;
	__m512i m;     /* the integers their digits make, but for those with more than fit */
	__mmask8 odd, exact, overlong;
};

static inline __m512i load_four(const uint8_t *digits, const uint16_t *ends, int step)
{
	__m512i z = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(digits + ends[0] - 16)));
	z = _mm512_inserti32x4(z, _mm_loadu_si128((const __m128i *)(digits + ends[step] - 16)), 1);
	z = _mm512_inserti32x4(z, _mm_loadu_si128((const __m128i *)(digits + ends[2 * step] - 16)), 2);
	return _mm512_inserti32x4(z, _mm_loadu_si128((const __m128i *)(digits + ends[3 * step] - 16)), 3);
}

static inline __m512i load_two(const uint8_t *digits, const uint16_t *ends)
{
	__m512i z = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(digits + ends[0] - 32)));
	return _mm512_inserti64x4(z, _mm256_loadu_si256((const __m256i *)(digits + ends[1] - 32)), 1);
}

/* Digits to numbers of four digits, one in each 32-bit lane. */
static inline __m512i fours(__m512i digits)
{
	__m512i pairs = _mm512_maddubs_epi16(digits, _mm512_set1_epi16(0x010a));
	return _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x00010064));
}

/* Of a and b, lane by lane of 128 bits, to numbers of eight digits in 32-bit lanes, a's two and then b's. */
static inline __m512i eights(__m512i a, __m512i b)
{
	return _mm512_madd_epi16(_mm512_packus_epi32(a, b), _mm512_set1_epi32(0x00012710));
}

/* Numbers of at most 16 digits. */
static inline struct eight convert_16(const uint8_t *digits, const uint16_t *ends, __m128i counts, __m128i fractions)
{
	__m128i masks = _mm_sllv_epi16(_mm_set1_epi16(-1), _mm_sub_epi16(_mm_set1_epi16(16), counts));
	masks = _mm_shuffle_epi8(masks, _mm_set_epi8(15, 14, 11, 10, 7, 6, 3, 2, 13, 12, 9, 8, 5, 4, 1, 0));
	__m512i even = load_four(digits, ends, 2), odd = load_four(digits, ends + 1, 2);
	even = _mm512_maskz_mov_epi8((__mmask64)_mm_cvtsi128_si64(masks), even);
	odd = _mm512_maskz_mov_epi8((__mmask64)_mm_extract_epi64(masks, 1), odd);
	__m512i halves = eights(fours(even), fours(odd)); /* in each 64-bit lane the high half first */
	__m512i m = _mm512_add_epi64(_mm512_mul_epu32(halves, _mm512_set1_epi64(100000000)), _mm512_srli_epi64(halves, 32));
	__m512i index = _mm512_cvtepu16_epi64(fractions);
	__m512d power = _mm512_permutex2var_pd(_mm512_load_pd(power_table), index, _mm512_load_pd(power_table + 8));
	return (struct eight){
		.value = _mm512_div_pd(_mm512_cvtepu64_pd(m), power),
		.m = m,
		.odd = _mm512_cmpgt_epu64_mask(m, _mm512_set1_epi64(INT64_C(1) << 53)),
		.exact = _mm_testn_epi16_mask(fractions, fractions),
	};
}

/* Numbers of at most 24 digits, of which those before the last 19 are zero. */
static inline struct eight convert_24(const uint8_t *digits, const uint16_t *ends, __m128i counts, __m128i fractions)
{
	__m256i shifts = _mm256_sub_epi32(_mm256_set1_epi32(32), _mm256_cvtepu16_epi32(counts));
	union {
		__m256i vector;
		uint64_t of_two[4];
	} masks = {_mm256_sllv_epi32(_mm256_set1_epi32(-1), shifts)};
	__m512i z[4];
	for (int i = 0; i < 4; i++)
		z[i] = fours(_mm512_maskz_mov_epi8(masks.of_two[i], load_two(digits, ends + 2 * i)));
	/* 64-bit lanes of a: first 16 digits of 0, of 2, last of 0, of 2, first of 1, of 3, last of 1, of 3; b: of 4 to 7. */
	__m512i a = eights(z[0], z[1]), b = eights(z[2], z[3]);
	__m512i first = _mm512_permutex2var_epi64(a, _mm512_set_epi64(13, 9, 12, 8, 5, 1, 4, 0), b);
	__m512i last = _mm512_permutex2var_epi64(a, _mm512_set_epi64(15, 11, 14, 10, 7, 3, 6, 2), b);
	const __m512i ten_8 = _mm512_set1_epi64(100000000);
	__m512i top = _mm512_ror_epi64(first, 32); /* digits 8 to 15 of 32, unless there are earlier ones */
	__mmask8 overlong = _mm512_cmpgt_epu64_mask(top, _mm512_set1_epi64(999)), odd = overlong;
	__m512i m = _mm512_mullo_epi64(_mm512_add_epi64(_mm512_mul_epu32(top, ten_8),
	                                                _mm512_and_si512(last, _mm512_set1_epi64(0xffffffff))), ten_8);
	m = _mm512_add_epi64(m, _mm512_srli_epi64(last, 32));

	__m256i index = _mm256_cvtepu16_epi32(fractions);
	__mmask8 large = _mm256_cmpge_epu32_mask(index, _mm256_set1_epi32(EXACT_POWERS));
	odd |= large;
	index = _mm256_maskz_mov_epi32((__mmask8)~large, index);
	__m512d power = _mm512_i32gather_pd(index, power_table, 8), reciprocal = _mm512_i32gather_pd(index, reciprocal_table, 8);

	/* m = high + low; quotient and rest: high / power = quotient + remainder / power, remainder exact */
	__m512d high = _mm512_cvtepu64_pd(m);
	__m512d low = _mm512_cvtepi64_pd(_mm512_sub_epi64(m, _mm512_cvtpd_epu64(high)));
	__m512d quotient = _mm512_div_pd(high, power);
	__m512d remainder = _mm512_fnmadd_pd(quotient, power, high);
	__m512d rest = _mm512_mul_pd(_mm512_add_pd(remainder, low), reciprocal);
	__m512d below = _mm512_fmadd_pd(rest, _mm512_set1_pd(1 - 0x1p-48), quotient);
	__m512d above = _mm512_fmadd_pd(rest, _mm512_set1_pd(1 + 0x1p-48), quotient);
	__mmask8 small = _mm512_cmple_epu64_mask(m, _mm512_set1_epi64(INT64_C(1) << 53));
	odd |= (__mmask8)(_mm512_cmp_pd_mask(below, above, _CMP_NEQ_OQ) & ~small);
	return (struct eight){
		.value = _mm512_mask_mov_pd(below, small, quotient),
		.m = m,
		.odd = odd,
		.exact = _mm_testn_epi16_mask(fractions, fractions) & small,
		.overlong = overlong,
	};
}

/*
 * From the nearest double to a narrower dtype: the nearest of that, unless the double lies halfway between two of them, which the
 * decimal need not. Subnormals and overflows, of float16 alone here, are left to the scalar reader.
 */
static inline struct eight narrow(struct eight e, enum nc_dtype dtype)
{
	const int drop = dtype == NC_FLOAT32 ? 29 : dtype == NC_BFLOAT16 ? 45 : 42;
	__m512i bits = _mm512_castpd_si512(e.value), half = _mm512_set1_epi64(INT64_C(1) << (drop - 1));
	__m512i rest = _mm512_and_si512(bits, _mm512_set1_epi64((INT64_C(1) << drop) - 1));
	e.odd |= (__mmask8)(_mm512_cmpeq_epi64_mask(rest, half) & ~e.exact);
	if (dtype == NC_FLOAT32)
		return e;
	__m512i even = _mm512_and_si512(_mm512_srli_epi64(bits, (unsigned)drop), _mm512_set1_epi64(1));
	bits = _mm512_add_epi64(_mm512_add_epi64(bits, _mm512_set1_epi64((INT64_C(1) << (drop - 1)) - 1)), even);
	__m512d rounded = _mm512_castsi512_pd(_mm512_srli_epi64(bits, (unsigned)drop));
	rounded = _mm512_castsi512_pd(_mm512_slli_epi64(_mm512_castpd_si512(rounded), (unsigned)drop));
	if (dtype == NC_FLOAT16) {
		e.odd |= _mm512_cmp_pd_mask(rounded, _mm512_set1_pd(65504), _CMP_GT_OQ);
		e.odd |= (__mmask8)(_mm512_cmp_pd_mask(e.value, _mm512_set1_pd(0x1p-14), _CMP_LT_OQ) &
		                    _mm512_cmp_pd_mask(e.value, _mm512_setzero_pd(), _CMP_NEQ_OQ));
	}
	e.value = rounded;
	return e;
}

/* Where number i of the chunk's text begins. */
static inline const char *number_text(const struct chunk *chunk, const char *text, size_t i)
{
	const char *p = i ? text + chunk->text_end[i] + 1 : text;
	return json_skip_space(p, text + chunk->text_end[i + 1]);
}

/* Reads one odd number; false when it is an error, or more of an expression than a number. */
static bool read_odd(const struct chunk *chunk, const char *text, size_t i, enum nc_dtype dtype, void *out, size_t index)
{
	const char *after, *separator = text + chunk->text_end[i + 1];
	if (json_read_element(number_text(chunk, text, i), separator, dtype, out, index, &after) != JSON_NUMBER_OK)
		return false;
	return json_skip_space(after, separator) == separator;
}

/* The exponent that ends before the separator, up to four digits of it; false where there are more. */
static inline bool exponent_before(const char *separator, int *exponent)
{
	static const int weights[4] = {1, 10, 100, 1000};
	const char *p = separator - 1;
	int sum = 0, n = 0;
	while (json_is_space(*p))
		p--;
	for (; json_is_digit(*p); p--) { /* as far as its letter: the grammar is known to be met */
		if (n == 4)
			return false;
		sum += (*p - '0') * weights[n++];
	}
	*exponent = *p == '-' ? -sum : sum;
	return true;
}

/* m 10^(exponent - fraction) to out[index]; false where one product does not decide it, or the exponent is too long. */
static inline bool store_with_exponent(uint64_t m, int fraction, const char *separator, uint64_t negative, enum nc_dtype dtype,
                                       void *out, size_t index)
{
	int exponent;
	double value = 0;
	if (!exponent_before(separator, &exponent))
		return false;
	exponent -= fraction;
	if (m) {
		if (exponent < POWER_OF_TEN_MIN || exponent > POWER_OF_TEN_MAX || !decimal_fast_float64(m, exponent, &value) ||
		    !narrow_from_float64(value, dtype, &value))
			return false;
	}
	value = double_of_bits(double_bits(value) | negative << 63);
	if (dtype == NC_FLOAT64)
		((double *)out)[index] = value;
	else
		((float *)out)[index] = (float)value;
	return true;
}

/* The first `count` numbers of the chunk to out[base] and on; returns how many of them: all before the first error. */
static inline size_t convert_chunk(const struct chunk *chunk, const char *text, enum nc_dtype dtype, void *out,
                                   size_t base, size_t count)
{
	for (size_t i = 0; i < count; i += 8) {
		__m128i ends = _mm_loadu_si128((const __m128i *)(chunk->digit_end + i + 1));
		__m128i before = _mm_loadu_si128((const __m128i *)(chunk->digit_end + i));
		__m128i fractions = _mm_sub_epi16(_mm_loadu_si128((const __m128i *)(chunk->fraction_end + i + 1)),
		                                  _mm_loadu_si128((const __m128i *)(chunk->fraction_end + i)));
		__mmask8 negative = _mm_movepi16_mask(ends);
		__mmask8 odd = _mm_test_epi16_mask(ends, _mm_set1_epi16(NUMBER_ODD));
		__mmask8 exponent = _mm_test_epi16_mask(ends, _mm_set1_epi16(NUMBER_EXPONENT)) & (__mmask8)~odd;
		const __m128i end_bits = _mm_set1_epi16(DIGIT_END);
		union {
			__m128i vector;
			uint16_t of[8];
		} place = {_mm_and_si128(ends, end_bits)};
		__m128i counts = _mm_sub_epi16(place.vector, _mm_and_si128(before, end_bits));

		__mmask8 wide = _mm_cmpgt_epu16_mask(counts, _mm_set1_epi16(16)) & (__mmask8)~odd;
		struct eight e;
		if (wide == 0)
			e = convert_16(chunk->digits, place.of, counts, fractions);
		if (wide || (e.odd & (__mmask8)~(odd | exponent))) {
			odd |= _mm_cmpgt_epu16_mask(counts, _mm_set1_epi16(24));
			e = convert_24(chunk->digits, place.of, counts, fractions);
		}
		if (dtype != NC_FLOAT64)
			e = narrow(e, dtype);
		exponent &= (__mmask8)~(odd | e.overlong);
		odd |= e.odd & (__mmask8)~exponent;

		size_t left = count - i;
		__mmask8 lanes = left >= 8 ? 0xff : (__mmask8)((1u << left) - 1);
		__m512d value = _mm512_mask_xor_pd(e.value, negative, e.value, _mm512_set1_pd(-0.0));
		if (dtype == NC_FLOAT64)
			_mm512_mask_storeu_pd((double *)out + base + i, lanes, value);
		else
			_mm256_mask_storeu_ps((float *)out + base + i, lanes, _mm512_cvtpd_ps(value));
		if (exponent & lanes) {
			uint64_t m[8];
			_mm512_storeu_si512(m, e.m);
			for (unsigned rest = exponent & lanes; rest; rest &= rest - 1) {
				unsigned j = (unsigned)__builtin_ctz(rest);
				int fraction = (uint16_t)(chunk->fraction_end[i + j + 1] - chunk->fraction_end[i + j]);
				if (!store_with_exponent(m[j], fraction, text + chunk->text_end[i + j + 1], negative >> j & 1, dtype, out,
				                         base + i + j))
					odd |= (__mmask8)(1u << j);
			}
		}
		for (unsigned rest = odd & lanes; rest; rest &= rest - 1) {
			size_t j = i + (size_t)__builtin_ctz(rest);
			if (!read_odd(chunk, text, j, dtype, out, base + j))
				return j;
		}
	}
	return count;
}

static inline const char *read_list_of(const char *text, const char *end, enum nc_dtype dtype, void *out,
                                       size_t capacity, size_t *count, bool *complete)
{
	struct chunk chunk;
	*complete = false;
	for (;;) {
		scan_chunk(&chunk, text, end);
		size_t room = capacity - *count, wanted = chunk.numbers < room ? chunk.numbers : room;
		size_t done = convert_chunk(&chunk, text, dtype, out, *count, wanted);
		*count += done;
		if (chunk.complete && done == chunk.numbers) {
			*complete = true;
			return text + chunk.text_end[done];
		}
		if (done)
			text += chunk.text_end[done] + 1;
		if (done == 0 || done < chunk.numbers)
			return text;
	}
}

static const char *read_list(const char *text, const char *end, enum nc_dtype dtype, void *out, size_t capacity,
                             size_t *count, bool *complete)
{
	switch (dtype) {
	case NC_FLOAT64:
		return read_list_of(text, end, NC_FLOAT64, out, capacity, count, complete);
	case NC_FLOAT32:
		return read_list_of(text, end, NC_FLOAT32, out, capacity, count, complete);
	case NC_BFLOAT16:
		return read_list_of(text, end, NC_BFLOAT16, out, capacity, count, complete);
	default:
		return read_list_of(text, end, NC_FLOAT16, out, capacity, count, complete);
	}
}

#endif
