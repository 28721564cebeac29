/*
 * AVX-512, the list writer: the shortest decimals of eight floats at once, and their text.
 *
 * As Schubfach (shortest.c), with c 2^q = V 10^k taken in fixed point and one product for V alone: the half width H of the
 * rounding interval is 2^(q - 1) 10^-k, so V - t and V + (10 - t), t = V mod 10, the multiples of ten beside V, lie in it
 * if t <= H or 10 - t <= H; else the integer next to V is the answer. All are known to some units of the last place: a lane whose
 * comparison falls within that error is written by the scalar writer, which is exact.
 */
#ifndef API_KERNELS_WRITE_AVX512_H
#define API_KERNELS_WRITE_AVX512_H

#include "api/json/json_put.h"
#include "api/json/powers_of_ten.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

/* Eight decimals: digits as bytes 0 to 9 from the first (never 0, unless the value is), where the point stands behind it. */
struct decimals {
	__m512i first, second, last; /* eight digits, eight (float64 only), and one in the lowest byte */
	__m512i count;               /* digits up to the last that is not 0 */
	__m512i point;               /* digits in front of the point, negative: zeros behind it */
	__mmask8 unsure;
};

/* What the two types have in common: exponents and how V is compared. */
struct scale {
	__m512i k;
	__m512i high, low;  /* of the power of ten 10^-k */
	__m512i shift;      /* 2^q 10^-k = power 2^shift, 0 to 3 */
};

static inline struct scale scale_of(__m512i q, __mmask8 lower_closer)
{
	__m512i k = _mm512_mul_epi32(q, _mm512_set1_epi64(1262611));
	k = _mm512_mask_sub_epi64(k, lower_closer, k, _mm512_set1_epi64(524031));
	k = _mm512_srai_epi64(k, 22);
	__m512i minus_k = _mm512_sub_epi64(_mm512_setzero_si512(), k);
	__m512i index = _mm512_slli_epi64(_mm512_sub_epi64(minus_k, _mm512_set1_epi64(POWER_OF_TEN_MIN)), 1);
	__m512i log = _mm512_srai_epi64(_mm512_mul_epi32(minus_k, _mm512_set1_epi64(1741647)), 19);
	return (struct scale){
		.k = k,
		.high = _mm512_i64gather_epi64(index, &powers_of_ten[0].high, 8),
		.low = _mm512_i64gather_epi64(index, &powers_of_ten[0].low, 8),
		.shift = _mm512_add_epi64(q, log),
	};
}

/*
 * Where to go from V = integer + t's fraction: up to the next multiple of ten (tens and up), down to it (tens alone), to the next
 * integer (up alone) or down to the integer.
 */
struct choice {
	__mmask8 tens, up, unsure;
};

/*
 * t = V mod 10, fraction = V mod 1, half = H, quarter the same down to the lower bound where that is closer, each in units of
 * 2^-places and rounded down, t by less than `error` units in all.
 */
static inline struct choice choose(__m512i t, __m512i fraction, __m512i half, __m512i quarter, __mmask8 lower_closer,
                                   int places, int error)
{
	const __m512i zero = _mm512_setzero_si512(), margin = _mm512_set1_epi64(error);
	__m512i down = _mm512_mask_mov_epi64(half, lower_closer, quarter);
	__m512i in_down = _mm512_sub_epi64(down, t), one_in_down = _mm512_sub_epi64(down, fraction);
	__m512i in_up = _mm512_add_epi64(_mm512_sub_epi64(half, _mm512_set1_epi64(INT64_C(10) << places)), t);
	__m512i beyond = _mm512_sub_epi64(fraction, _mm512_set1_epi64(INT64_C(1) << (places - 1)));

	/* Truly in_down lies within (-error, 1) of what it is here, in_up and beyond within (0, error + 1): nearest to 0 counts. */
	__m512i nearest = _mm512_min_epu64(_mm512_add_epi64(in_up, margin), _mm512_add_epi64(beyond, margin));
	nearest = _mm512_min_epu64(nearest, in_down);
	nearest = _mm512_mask_min_epu64(nearest, lower_closer, nearest, one_in_down);

	/* All in vectors, since masks go back and forth through general registers. */
	__mmask8 tens = _mm512_cmpgt_epi64_mask(_mm512_max_epi64(in_down, in_up), zero);
	__m512i up = _mm512_mask_max_epi64(beyond, lower_closer, beyond, _mm512_sub_epi64(zero, one_in_down));
	up = _mm512_mask_mov_epi64(up, tens, in_up);
	return (struct choice){
		tens,
		_mm512_cmpgt_epi64_mask(up, zero),
		_mm512_cmple_epu64_mask(nearest, margin),
	};
}

/* n / 10, n < 2^32 */
static inline __m512i tenth(__m512i n)
{
	return _mm512_srli_epi64(_mm512_mul_epu32(n, _mm512_set1_epi64(0xcccccccd)), 35);
}

static inline __m512i times_10(__m512i n)
{
	return _mm512_mul_epu32(n, _mm512_set1_epi64(10));
}

/* The eight digits of n < 10^8 as bytes, the first one lowest: halves, again and again. */
static inline __m512i split_digits(__m512i n)
{
	__m512i high = _mm512_srli_epi64(_mm512_mul_epu32(n, _mm512_set1_epi64(3518437209)), 45); /* n / 10^4 */
	__m512i low = _mm512_sub_epi64(n, _mm512_mul_epu32(high, _mm512_set1_epi64(10000)));
	n = _mm512_or_si512(high, _mm512_slli_epi64(low, 32));
	high = _mm512_srli_epi16(_mm512_mulhi_epu16(n, _mm512_set1_epi16(5243)), 3); /* n / 100 */
	low = _mm512_add_epi16(n, _mm512_maddubs_epi16(high, _mm512_set1_epi16(-100 & 255))); /* high fits a byte */
	n = _mm512_or_si512(high, _mm512_slli_epi32(low, 16));
	high = _mm512_mulhi_epu16(n, _mm512_set1_epi16(6554)); /* n / 10 */
	low = _mm512_add_epi16(n, _mm512_maddubs_epi16(high, _mm512_set1_epi16(-10 & 255)));
	return _mm512_or_si512(high, _mm512_slli_epi16(low, 8));
}

/* Digits up to the last that is not 0, of eight with the first one lowest. */
static inline __m512i significant(__m512i digits)
{
	return _mm512_srli_epi64(_mm512_sub_epi64(_mm512_set1_epi64(71), _mm512_lzcnt_epi64(digits)), 3);
}

/* The bits of finite floats, without sign. */
static inline struct decimals decimals_float32(__m512i bits)
{
	const __m512i one = _mm512_set1_epi64(1);
	__m512i fraction = _mm512_and_si512(bits, _mm512_set1_epi64(0x7fffff)), exponent = _mm512_srli_epi64(bits, 23);
	__mmask8 normal = _mm512_test_epi64_mask(exponent, exponent);
	__mmask8 lower_closer = _mm512_cmpgt_epi64_mask(exponent, one) & _mm512_testn_epi64_mask(fraction, fraction);
	__m512i c = _mm512_mask_or_epi64(fraction, normal, fraction, _mm512_set1_epi64(0x800000));
	__m512i q = _mm512_sub_epi64(_mm512_max_epi64(exponent, one), _mm512_set1_epi64(150));
	struct scale scale = scale_of(q, lower_closer);

	/* V in units of 2^-31, from the power's upper half in two pieces: too small by less than two units. */
	__m512i shifted = _mm512_sllv_epi64(c, scale.shift);
	__m512i v = _mm512_mul_epu32(shifted, _mm512_srli_epi64(scale.high, 32));
	v = _mm512_add_epi64(v, _mm512_srli_epi64(_mm512_mul_epu32(shifted, scale.high), 32));
	__m512i half = _mm512_srlv_epi64(scale.high, _mm512_sub_epi64(_mm512_set1_epi64(33), scale.shift));
	__m512i whole = _mm512_srli_epi64(v, 31), tens = tenth(whole);
	__m512i t = _mm512_sub_epi64(v, _mm512_slli_epi64(times_10(tens), 31));
	struct choice choice = choose(t, _mm512_and_si512(v, _mm512_set1_epi64(0x7fffffff)), half,
	                              _mm512_srli_epi64(half, 1), lower_closer, 31, 2);
	__m512i n = _mm512_mask_mov_epi64(whole, choice.tens, times_10(tens));
	n = _mm512_mask_add_epi64(n, choice.up, n, _mm512_mask_mov_epi64(one, choice.tens, _mm512_set1_epi64(10)));

	/* Nine digits, of which the first may still be zeros. */
	__mmask8 less = _mm512_cmplt_epu64_mask(n, _mm512_set1_epi64(100000000));
	n = _mm512_mask_mov_epi64(n, less, times_10(n));
	__m512i first = tenth(n), last = _mm512_sub_epi64(n, times_10(first));
	first = split_digits(first);
	__m512i lowest = _mm512_and_si512(first, _mm512_sub_epi64(_mm512_setzero_si512(), first));
	__m512i zeros = _mm512_sub_epi64(_mm512_set1_epi64(63), _mm512_lzcnt_epi64(lowest)); /* in bits, and then in bytes */
	zeros = _mm512_andnot_si512(_mm512_set1_epi64(7), zeros);
	first = _mm512_srlv_epi64(first, zeros);
	__m512i point = _mm512_sub_epi64(_mm512_add_epi64(scale.k, _mm512_set1_epi64(9)), _mm512_srli_epi64(zeros, 3));
	return (struct decimals){
		.first = first,
		.last = last,
		.count = _mm512_mask_mov_epi64(significant(first), _mm512_test_epi64_mask(last, last), _mm512_set1_epi64(9)),
		.point = _mm512_mask_sub_epi64(point, less, point, one),
		.unsure = choice.unsure,
	};
}

static inline struct decimals decimals_float64(__m512i bits)
{
	const __m512i one = _mm512_set1_epi64(1), ten_8 = _mm512_set1_epi64(100000000);
	const __m512i low_52 = _mm512_set1_epi64((INT64_C(1) << 52) - 1), zero = _mm512_setzero_si512();
	__m512i fraction = _mm512_and_si512(bits, low_52), exponent = _mm512_srli_epi64(bits, 52);
	__mmask8 no_fraction = _mm512_testn_epi64_mask(fraction, fraction);
	__mmask8 lower_closer = _mm512_cmpgt_epi64_mask(exponent, one) & no_fraction;
	__mmask8 subnormal = _mm512_testn_epi64_mask(exponent, exponent) & (__mmask8)~no_fraction;
	struct scale scale = scale_of(_mm512_sub_epi64(exponent, _mm512_set1_epi64(1075)), lower_closer);

	/*
	 * The power times 2^shift in two parts of 52 bits, 4 before the point. V = (2^52 + fraction) power = s + rest 2^-48;
	 * what is left out of power and product is less than three units.
	 */
	__m512i high = _mm512_srlv_epi64(scale.high, _mm512_sub_epi64(_mm512_set1_epi64(15), scale.shift));
	__m512i low = _mm512_shrdv_epi64(scale.low, scale.high, _mm512_sub_epi64(_mm512_set1_epi64(27), scale.shift));
	low = _mm512_and_si512(low, low_52);
	__m512i rest = _mm512_madd52lo_epu64(_mm512_madd52hi_epu64(low, fraction, low), fraction, high);
	__m512i s = _mm512_slli_epi64(_mm512_madd52hi_epu64(high, fraction, high), 4);
	s = _mm512_add_epi64(s, _mm512_srli_epi64(rest, 48));
	rest = _mm512_and_si512(rest, _mm512_set1_epi64((INT64_C(1) << 48) - 1));

	/* s = upper 10^8 + lower; the product is never above the quotient, and by at most one below it */
	__m512i upper = _mm512_cvttpd_epu64(_mm512_mul_pd(_mm512_cvtepu64_pd(s), _mm512_set1_pd(0x1.5798ee2308c38p-27)));
	__m512i lower = _mm512_sub_epi64(s, _mm512_mul_epu32(upper, ten_8));
	__mmask8 carry = _mm512_cmpge_epu64_mask(lower, ten_8);
	upper = _mm512_mask_add_epi64(upper, carry, upper, one);
	lower = _mm512_mask_sub_epi64(lower, carry, lower, ten_8);

	__m512i tens = times_10(tenth(lower));
	__m512i t = _mm512_or_si512(_mm512_slli_epi64(_mm512_sub_epi64(lower, tens), 48), rest);
	struct choice choice = choose(t, rest, _mm512_srli_epi64(high, 1), _mm512_srli_epi64(high, 2), lower_closer, 48, 3);
	lower = _mm512_mask_mov_epi64(lower, choice.tens, tens);
	lower = _mm512_mask_add_epi64(lower, choice.up, lower, _mm512_mask_mov_epi64(one, choice.tens, _mm512_set1_epi64(10)));
	carry = _mm512_cmpge_epu64_mask(lower, ten_8);
	upper = _mm512_mask_add_epi64(upper, carry, upper, one);
	lower = _mm512_mask_sub_epi64(lower, carry, lower, ten_8);

	/* 16 digits, or 17: then the last of each part moves on */
	__mmask8 more = _mm512_cmpge_epu64_mask(upper, ten_8);
	__m512i upper_tenth = tenth(upper), lower_tenth = tenth(lower);
	__m512i moved = _mm512_sub_epi64(upper, times_10(upper_tenth));
	__m512i last = _mm512_maskz_sub_epi64(more, lower, times_10(lower_tenth));
	upper = _mm512_mask_mov_epi64(upper, more, upper_tenth);
	lower = _mm512_mask_add_epi64(lower, more, lower_tenth, _mm512_mul_epu32(moved, _mm512_set1_epi64(10000000)));

	__mmask8 is_zero = _mm512_testn_epi64_mask(bits, bits);
	struct decimals d = {
		.first = _mm512_mask_mov_epi64(split_digits(upper), is_zero, zero),
		.second = _mm512_mask_mov_epi64(split_digits(lower), is_zero, zero),
		.last = _mm512_mask_mov_epi64(last, is_zero, zero),
		.point = _mm512_add_epi64(scale.k, _mm512_set1_epi64(16)),
		.unsure = (choice.unsure | subnormal) & (__mmask8)~is_zero,
	};
	d.point = _mm512_mask_add_epi64(d.point, more, d.point, one);
	d.count = significant(d.first);
	d.count = _mm512_mask_add_epi64(d.count, _mm512_test_epi64_mask(d.second, d.second), significant(d.second),
	                                _mm512_set1_epi64(8));
	d.count = _mm512_mask_mov_epi64(d.count, _mm512_test_epi64_mask(d.last, d.last), _mm512_set1_epi64(17));
	return d;
}

/*
 * Where each byte of a number comes from, by the place of the point, -5 to 21, for a record of DIGITS digits, the point, and a
 * zero: 0.000ddd, ddd.ddd or ddd000.
 */
#define ZERO(digits) ((digits) + 1)
#define DIGIT(digits, i) ((i) < (digits) ? (i) : ZERO(digits))
#define SOURCE(digits, p, j)                                                                                           \
	((p) > 0 ? (j) < (p) ? DIGIT(digits, j) : (j) == (p) ? (digits) : DIGIT(digits, (j) - 1)                       \
	         : (j) == 1 ? (digits) : (j) < 2 - (p) ? ZERO(digits) : DIGIT(digits, (j) - 2 + (p)))
#define SOURCE_4(digits, p, j) SOURCE(digits, p, j), SOURCE(digits, p, j + 1), SOURCE(digits, p, j + 2), SOURCE(digits, p, j + 3)
#define SOURCE_16(digits, p, j)                                                                                        \
	SOURCE_4(digits, p, j), SOURCE_4(digits, p, j + 4), SOURCE_4(digits, p, j + 8), SOURCE_4(digits, p, j + 12)
#define SOURCES(digits, p) {SOURCE_16(digits, p, 0), SOURCE_16(digits, p, 16)}
#define ALL_SOURCES(digits)                                                                                            \
	{SOURCES(digits, -5), SOURCES(digits, -4), SOURCES(digits, -3), SOURCES(digits, -2), SOURCES(digits, -1),      \
	 SOURCES(digits, 0), SOURCES(digits, 1), SOURCES(digits, 2), SOURCES(digits, 3), SOURCES(digits, 4),           \
	 SOURCES(digits, 5), SOURCES(digits, 6), SOURCES(digits, 7), SOURCES(digits, 8), SOURCES(digits, 9),           \
	 SOURCES(digits, 10), SOURCES(digits, 11), SOURCES(digits, 12), SOURCES(digits, 13), SOURCES(digits, 14),      \
	 SOURCES(digits, 15), SOURCES(digits, 16), SOURCES(digits, 17), SOURCES(digits, 18), SOURCES(digits, 19),      \
	 SOURCES(digits, 20), SOURCES(digits, 21)}

enum { POINT_MIN = -5, POINT_MAX = 21 };

static const uint8_t sources_float32[POINT_MAX - POINT_MIN + 1][32] __attribute__((aligned(32))) = ALL_SOURCES(9);
static const uint8_t sources_float64[POINT_MAX - POINT_MIN + 1][32] __attribute__((aligned(32))) = ALL_SOURCES(17);

/*
 * Numbers on their way into the text, many at a time, so that the processor has several groups of eight to work on at once. A
 * record: the digits, '.' and '0'.
 */
enum { BATCH = 64 };

struct place {
	uint8_t row;                 /* of sources */
	uint8_t sign, tail_at, next; /* from the number's start: where the digits begin, where the tail, where the next number */
	uint8_t unused[4];
};

struct batch {
	union {
		__m512i vector[BATCH / 2];
		__m256i wide[BATCH];
		__m128i narrow[BATCH];
	} records;
	struct place place[BATCH];
	uint64_t tail[BATCH]; /* what stands behind the digits: exponent and comma */
};

static inline void lay_out(struct batch *batch, size_t at, const struct decimals *d, __mmask8 negative, __mmask8 is_zero)
{
	const __m512i one = _mm512_set1_epi64(1);
	__m512i point = _mm512_mask_mov_epi64(d->point, is_zero, one), count = _mm512_mask_mov_epi64(d->count, is_zero, one);
	__mmask8 exponential = _mm512_cmplt_epi64_mask(point, _mm512_set1_epi64(POINT_MIN)) |
	                       _mm512_cmpgt_epi64_mask(point, _mm512_set1_epi64(POINT_MAX));
	__m512i tail = _mm512_set1_epi64(','), tail_length = one;
	if (negative & is_zero) {
		tail = _mm512_mask_mov_epi64(tail, negative & is_zero, _mm512_set1_epi64('.' | '0' << 8 | ',' << 16));
		tail_length = _mm512_mask_mov_epi64(tail_length, negative & is_zero, _mm512_set1_epi64(3));
	}
	if (exponential) {
		/* hundreds, tens, ones and comma in four bytes, of which the leading zeros are shifted out */
		__m512i exponent = _mm512_sub_epi64(point, one), size = _mm512_abs_epi64(exponent);
		__m512i tens = tenth(size), hundreds = tenth(tens);
		__m512i text = _mm512_or_si512(_mm512_sub_epi64(tens, times_10(hundreds)),
		                               _mm512_slli_epi64(_mm512_sub_epi64(size, times_10(tens)), 8));
		text = _mm512_or_si512(_mm512_slli_epi64(text, 8), hundreds);
		text = _mm512_add_epi64(text, _mm512_set1_epi64('0' | '0' << 8 | '0' << 16 | ',' << 24));
		__m512i drop = _mm512_maskz_mov_epi64(_mm512_testn_epi64_mask(hundreds, hundreds), one);
		drop = _mm512_mask_add_epi64(drop, _mm512_testn_epi64_mask(tens, tens), drop, one);
		text = _mm512_srlv_epi64(text, _mm512_slli_epi64(drop, 3));
		__m512i e = _mm512_mask_mov_epi64(_mm512_set1_epi64('e' | '+' << 8), _mm512_movepi64_mask(exponent),
		                                  _mm512_set1_epi64('e' | '-' << 8));
		text = _mm512_or_si512(_mm512_slli_epi64(text, 16), e);
		tail = _mm512_mask_mov_epi64(tail, exponential, text);
		tail_length = _mm512_mask_sub_epi64(tail_length, exponential, _mm512_set1_epi64(6), drop);
		point = _mm512_mask_mov_epi64(point, exponential, one);
	}
	__m512i sign = _mm512_maskz_mov_epi64(negative, one);
	__m512i length = _mm512_max_epi64(point, count); /* no zeros behind the point, all of them before it */
	length = _mm512_mask_add_epi64(length, _mm512_cmpgt_epi64_mask(count, point), length, one);
	__mmask8 small = _mm512_cmple_epi64_mask(point, _mm512_setzero_si512());
	length = _mm512_mask_sub_epi64(length, small, _mm512_add_epi64(count, _mm512_set1_epi64(2)), point);
	__m512i tail_at = _mm512_add_epi64(sign, length);
	__m512i row = _mm512_sub_epi64(point, _mm512_set1_epi64(POINT_MIN)), next = _mm512_add_epi64(tail_at, tail_length);
	__m512i low = _mm512_or_si512(row, _mm512_slli_epi64(sign, 8));
	__m512i high = _mm512_or_si512(_mm512_slli_epi64(tail_at, 16), _mm512_slli_epi64(next, 24));
	_mm512_storeu_si512(batch->place + at, _mm512_or_si512(low, high));
	_mm512_storeu_si512(batch->tail + at, tail);
}

static inline char *put_number(char *out, const struct batch *batch, size_t i, __m256i text)
{
	const struct place *place = &batch->place[i];
	*out = '-';
	_mm256_storeu_si256((__m256i *)(out + place->sign), text);
	memcpy(out + place->tail_at, &batch->tail[i], sizeof batch->tail[i]);
	return out + place->next;
}

/* Eight values or fewer; false where one of them is for the scalar writer, or not finite. */
static inline bool add_float32(struct batch *batch, size_t at, const float *values, __mmask8 used)
{
	__m256i bits = _mm256_maskz_loadu_epi32(used, values);
	__mmask8 negative = _mm256_movepi32_mask(bits);
	bits = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
	__mmask8 infinite = _mm256_cmpge_epu32_mask(bits, _mm256_set1_epi32(0x7f800000));
	struct decimals d = decimals_float32(_mm512_cvtepu32_epi64(bits));
	lay_out(batch, at, &d, negative, _mm256_testn_epi32_mask(bits, bits));
	__m512i first = _mm512_or_si512(d.first, _mm512_set1_epi8('0'));
	__m512i rest = _mm512_or_si512(d.last, _mm512_set1_epi64('0' | '.' << 8 | '0' << 16));
	__m512i *records = batch->records.vector + at / 4;
	records[0] = _mm512_permutex2var_epi64(first, _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0), rest);
	records[1] = _mm512_permutex2var_epi64(first, _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4), rest);
	return !(infinite | (d.unsure & used));
}

static inline bool add_float64(struct batch *batch, size_t at, const double *values, __mmask8 used)
{
	__m512i bits = _mm512_maskz_loadu_epi64(used, values);
	__mmask8 negative = _mm512_movepi64_mask(bits);
	bits = _mm512_and_si512(bits, _mm512_set1_epi64(INT64_MAX));
	__mmask8 infinite = _mm512_cmpge_epu64_mask(bits, _mm512_set1_epi64(INT64_C(0x7ff) << 52));
	struct decimals d = decimals_float64(bits);
	lay_out(batch, at, &d, negative, _mm512_testn_epi64_mask(bits, bits));
	__m512i first = _mm512_or_si512(d.first, _mm512_set1_epi8('0'));
	__m512i second = _mm512_or_si512(d.second, _mm512_set1_epi8('0'));
	__m512i rest = _mm512_or_si512(d.last, _mm512_set1_epi64('0' | '.' << 8 | '0' << 16));
	__m512i even = _mm512_unpacklo_epi64(first, second), odd = _mm512_unpackhi_epi64(first, second);
	const __m512i twos = _mm512_set_epi64(9, 8, 9, 8, 1, 0, 1, 0), step = _mm512_set1_epi64(2);
	__m512i places = twos, rests = _mm512_set_epi64(1, 1, 1, 1, 0, 0, 0, 0);
	for (int i = 0; i < 4; i++) {
		__m512i digits = _mm512_permutex2var_epi64(even, places, odd);
		batch->records.vector[at / 2 + (size_t)i] = _mm512_mask_permutexvar_epi64(digits, 0xcc, rests, rest);
		places = _mm512_add_epi64(places, step);
		rests = _mm512_add_epi64(rests, step);
	}
	return !(infinite | (d.unsure & used));
}

/*
 * The frame of both types: batches of what the lanes can do, and in between, eight by eight, what they cannot; ends at the
 * first value that is not finite.
 */
#define WRITE_LIST(add, put_text, put_scalar)                                                                          	struct batch batch;                                                                                            	size_t i = 0;                                                                                                  	while (i < count) {                                                                                            		size_t n = 0, lanes = 0;                                                                               		bool fast = true;                                                                                      		while (n < BATCH && i + n < count) {                                                                   			lanes = count - i - n < 8 ? count - i - n : 8;                                                 			fast = add(&batch, n, values + i + n, (__mmask8)((1u << lanes) - 1));                          			if (!fast)                                                                                     				break;                                                                                 			n += lanes;                                                                                    		}                                                                                                      		for (size_t j = 0; j < n; j++)                                                                         			out = put_number(out, &batch, j, put_text(&batch, j));                                         		i += n;                                                                                                		for (size_t end = i + lanes; !fast && i < end; i++) {                                                  			if (!isfinite(values[i])) {                                                                    				*written = i;                                                                          				return out;                                                                            			}                                                                                              			out = put_scalar(out, values[i]);                                                              			*out++ = ',';                                                                                  		}                                                                                                      	}                                                                                                              	*written = count;                                                                                              	return out;

static inline __m256i text_float32(const struct batch *batch, size_t i)
{
	__m256i source = _mm256_load_si256((const __m256i *)sources_float32[batch->place[i].row]);
	return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(batch->records.narrow[i]), source);
}

static inline __m256i text_float64(const struct batch *batch, size_t i)
{
	__m256i source = _mm256_load_si256((const __m256i *)sources_float64[batch->place[i].row]);
	return _mm256_permutexvar_epi8(source, batch->records.wide[i]);
}

static char *write_float32(char *out, const float *values, size_t count, size_t *written)
{
	WRITE_LIST(add_float32, text_float32, json_put_float32)
}

static char *write_float64(char *out, const double *values, size_t count, size_t *written)
{
	WRITE_LIST(add_float64, text_float64, json_put_float64)
}

#undef WRITE_LIST

#endif
