/*
 * AVX-512, first pass over a list's text: from 64 bytes at a time to the stream of its digits, nothing between them, and
 * for each number where its digits end in the stream, how many of them stand behind a point, and whether it is odd:
 * anything but -?digits(.digits)?, which is left to the scalar reader.
 */
#ifndef API_KERNELS_SCAN_AVX512_H
#define API_KERNELS_SCAN_AVX512_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	CHUNK = 4096,                 /* bytes of text at a time: what is made of them stays in the first cache */
	CHUNK_NUMBERS = CHUNK / 2,    /* a number and its comma take two */
	FRONT = 32,                   /* digits are loaded 32 at a time, up to their last */
	DIGIT_END = 0x1fff, NUMBER_ODD = 0x4000, NUMBER_NEGATIVE = 0x8000 /* parts of a digit_end */
};

struct chunk {
	uint8_t digits[FRONT + CHUNK + 64];        /* values 0 to 9 */
	/* Of number i, at [i + 1], all cumulative; room for the vectors that are stored beyond the last. */
	uint16_t digit_end[CHUNK_NUMBERS + 72];    /* offset in digits, and flags */
	uint16_t fraction_end[CHUNK_NUMBERS + 72]; /* digits behind points so far */
	uint16_t text_end[CHUNK_NUMBERS + 72];     /* offset of the separator in the chunk's text */
	size_t numbers;
	bool complete;                             /* text_end of the last number is the list's end */
};

/* Classes of bytes; of none: not part of a list of numbers. */
enum { C_DIGIT = 1, C_ZERO = 2, C_POINT = 4, C_MINUS = 8, C_COMMA = 16, C_SPACE = 32, C_OTHER = 64 };

static const uint8_t byte_classes[128] __attribute__((aligned(64))) = {
	['0'] = C_DIGIT | C_ZERO, ['1'] = C_DIGIT, ['2'] = C_DIGIT, ['3'] = C_DIGIT, ['4'] = C_DIGIT, ['5'] = C_DIGIT,
	['6'] = C_DIGIT, ['7'] = C_DIGIT, ['8'] = C_DIGIT, ['9'] = C_DIGIT, ['.'] = C_POINT, ['-'] = C_MINUS,
	[','] = C_COMMA, [' '] = C_SPACE, ['\t'] = C_SPACE, ['\n'] = C_SPACE, ['\r'] = C_SPACE,
	['e'] = C_OTHER, ['E'] = C_OTHER, ['+'] = C_OTHER,
};

/* What one block of 64 bytes leaves to the next: bits at place 0. */
struct carry {
	uint64_t expected, number, minus, point, fraction, whole, zero, odd, open, negative;
};

static inline uint64_t shift_in(uint64_t bits, uint64_t *carry)
{
	uint64_t shifted = bits << 1 | *carry;
	*carry = bits >> 63;
	return shifted;
}

/* The places of the 32 lowest one bits, as 16-bit numbers. */
static inline __m512i places_of(uint64_t bits)
{
	const __m512i iota = _mm512_set_epi8(63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44,
	                                     43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24,
	                                     23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2,
	                                     1, 0);
	return _mm512_cvtepu8_epi16(_mm512_castsi512_si256(_mm512_maskz_compress_epi8(bits, iota)));
}

/* How many of the bits of `counted` stand below each one bit of `ends`, for up to 32. */
static inline __m512i counts_below(uint64_t counted, uint64_t ends)
{
	const __m512i iota = _mm512_set_epi16(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12,
	                                      11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
	return _mm512_sub_epi16(places_of(_pext_u64(ends, counted | ends)), iota);
}

/*
 * Fills the chunk from text, at a place where a number is to come. Below, bit i of a word stands for byte i of the
 * block; a run of ones to whose lowest bit one is added becomes zeros, and the bit behind it one.
 */
static inline void scan_chunk(struct chunk *chunk, const char *text, const char *end)
{
	const __m512i classes_low = _mm512_load_si512(byte_classes), classes_high = _mm512_load_si512(byte_classes + 64);
	struct carry carry = {.expected = 1};
	size_t digit_count = FRONT, fraction_count = 0, numbers = 0;

	chunk->digit_end[0] = FRONT;
	chunk->fraction_end[0] = 0;
	chunk->complete = false;
	for (size_t at = 0; at < CHUNK && !chunk->complete; at += 64) {
		size_t left = (size_t)(end - text) - at; /* 64 or more, or the loop ends here */
		__mmask64 inside = left >= 64 ? ~UINT64_C(0) : _bzhi_u64(~UINT64_C(0), (unsigned)left);
		__m512i bytes = _mm512_maskz_loadu_epi8(inside, text + at);
		__m512i classes = _mm512_permutex2var_epi8(classes_low, _mm512_min_epu8(bytes, _mm512_set1_epi8(127)),
		                                           classes_high);
		uint64_t digit = _mm512_test_epi8_mask(classes, _mm512_set1_epi8(C_DIGIT));
		uint64_t zero = _mm512_test_epi8_mask(classes, _mm512_set1_epi8(C_ZERO));
		uint64_t point = _mm512_test_epi8_mask(classes, _mm512_set1_epi8(C_POINT));
		uint64_t minus = _mm512_test_epi8_mask(classes, _mm512_set1_epi8(C_MINUS));
		uint64_t comma = _mm512_test_epi8_mask(classes, _mm512_set1_epi8(C_COMMA));
		uint64_t space = _mm512_test_epi8_mask(classes, _mm512_set1_epi8(C_SPACE));
		uint64_t other = _mm512_test_epi8_mask(classes, _mm512_set1_epi8(C_OTHER));
		uint64_t foreign = _mm512_testn_epi8_mask(classes, classes);
		uint64_t ends = comma;
		if (foreign) { /* the end of the list, or of the text: bytes of no class */
			uint64_t first = foreign & -foreign, before = first - 1;
			digit &= before, zero &= before, point &= before, minus &= before;
			space &= before, other &= before, comma &= before;
			ends = comma | first;
			chunk->complete = true;
		}

		/* One number between two commas: the first byte that is no space behind each begins one, and nothing else does. */
		uint64_t in_number = digit | point | minus | other;
		uint64_t start = in_number & ~shift_in(in_number, &carry.number);
		uint64_t behind_comma = comma << 1 | carry.expected, expected;
		carry.expected = comma >> 63 | (uint64_t)__builtin_add_overflow(behind_comma, space, &expected);
		if ((expected & ~space) != start) {
			chunk->complete = false;
			break;
		}

		/* The digits behind a point, and the whole ones. */
		uint64_t behind_point = shift_in(point, &carry.point), behind_minus = shift_in(minus, &carry.minus), sum;
		carry.fraction = (uint64_t)__builtin_add_overflow(digit, behind_point | carry.fraction, &sum);
		uint64_t fraction = digit & ~sum, whole = digit & sum;
		uint64_t behind_whole = shift_in(whole, &carry.whole);

		/* Odd: minus not in front; no digit behind minus or point; no whole digit before a point; 0 in front of one. */
		uint64_t fault = other | (minus & ~start) | ((behind_minus | behind_point) & ~digit) | (point & ~behind_whole) |
		                 (shift_in(zero & whole & ~behind_whole, &carry.zero) & whole) | carry.odd;
		uint64_t run = in_number | space, odd;
		carry.odd = (uint64_t)__builtin_add_overflow(run, fault & run, &odd);
		odd = (odd | fault) & ~run;

		/* Signs are known where numbers start: the first to end here may have started in a block before. */
		unsigned ended = (unsigned)__builtin_popcountll(ends);
		uint64_t negative = _pext_u64(minus, start) << carry.open | carry.negative;
		carry.open = carry.open + (unsigned)__builtin_popcountll(start) - ended;
		carry.negative = carry.open & negative >> ended;

		__m512i digit_ends = _mm512_add_epi16(counts_below(digit, ends), _mm512_set1_epi16((short)digit_count));
		digit_ends = _mm512_mask_add_epi16(digit_ends, (__mmask32)negative, digit_ends,
		                                   _mm512_set1_epi16((short)NUMBER_NEGATIVE));
		digit_ends = _mm512_mask_add_epi16(digit_ends, (__mmask32)_pext_u64(odd, ends), digit_ends,
		                                   _mm512_set1_epi16(NUMBER_ODD));
		_mm512_storeu_si512(chunk->digit_end + numbers + 1, digit_ends);
		_mm512_storeu_si512(chunk->fraction_end + numbers + 1,
		                    _mm512_add_epi16(counts_below(fraction, ends), _mm512_set1_epi16((short)fraction_count)));
		_mm512_storeu_si512(chunk->text_end + numbers + 1,
		                    _mm512_add_epi16(places_of(ends), _mm512_set1_epi16((short)at)));
		_mm512_storeu_si512(chunk->digits + digit_count,
		                    _mm512_maskz_compress_epi8(digit, _mm512_sub_epi8(bytes, _mm512_set1_epi8('0'))));
		digit_count += (size_t)__builtin_popcountll(digit);
		fraction_count += (size_t)__builtin_popcountll(fraction);
		numbers += ended;
	}
	chunk->numbers = numbers;

	/* What is read beyond the last number is numbers without digits. */
	_mm_storeu_si128((__m128i *)(chunk->digit_end + numbers + 1), _mm_set1_epi16((short)digit_count));
	_mm_storeu_si128((__m128i *)(chunk->fraction_end + numbers + 1), _mm_set1_epi16((short)fraction_count));
}

#endif
