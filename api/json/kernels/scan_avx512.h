/*
 * AVX-512, first pass over a list's text: from 64 bytes at a time to the stream of its digits, nothing between them, and
 * for each number where its digits end in the stream (those of an exponent are not in it), how many of them stand behind a
 * point, whether an exponent follows, and whether it is odd: none by the grammar, which is left to the scalar reader.
 */
#ifndef API_KERNELS_SCAN_AVX512_H
#define API_KERNELS_SCAN_AVX512_H

#include "scan_bits.h"

#include <immintrin.h>
#include <stddef.h>

enum {
	CHUNK = 4096,                 /* bytes of text at a time: what is made of them stays in the first cache */
	CHUNK_NUMBERS = CHUNK / 2,    /* a number and its comma take two */
	FRONT = 32,                   /* digits are loaded 32 at a time, up to their last */
	DIGIT_END = 0x1fff, NUMBER_EXPONENT = 0x2000, NUMBER_ODD = 0x4000, NUMBER_NEGATIVE = 0x8000 /* parts of a digit_end */
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
enum { C_DIGIT = 1, C_ZERO = 2, C_POINT = 4, C_MINUS = 8, C_COMMA = 16, C_SPACE = 32, C_LETTER = 64, C_PLUS = 128 };

static const uint8_t byte_classes[128] __attribute__((aligned(64))) = {
	['0'] = C_DIGIT | C_ZERO, ['1'] = C_DIGIT, ['2'] = C_DIGIT, ['3'] = C_DIGIT, ['4'] = C_DIGIT, ['5'] = C_DIGIT,
	['6'] = C_DIGIT, ['7'] = C_DIGIT, ['8'] = C_DIGIT, ['9'] = C_DIGIT, ['.'] = C_POINT, ['-'] = C_MINUS,
	[','] = C_COMMA, [' '] = C_SPACE, ['\t'] = C_SPACE, ['\n'] = C_SPACE, ['\r'] = C_SPACE,
	['e'] = C_LETTER, ['E'] = C_LETTER, ['+'] = C_PLUS,
};

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

static inline struct byte_masks classify(__m512i bytes)
{
	const __m512i low = _mm512_load_si512(byte_classes), high = _mm512_load_si512(byte_classes + 64);
	__m512i classes = _mm512_permutex2var_epi8(low, _mm512_min_epu8(bytes, _mm512_set1_epi8(127)), high);
	return (struct byte_masks){
		.digit = _mm512_test_epi8_mask(classes, _mm512_set1_epi8(C_DIGIT)),
		.zero = _mm512_test_epi8_mask(classes, _mm512_set1_epi8(C_ZERO)),
		.point = _mm512_test_epi8_mask(classes, _mm512_set1_epi8(C_POINT)),
		.minus = _mm512_test_epi8_mask(classes, _mm512_set1_epi8(C_MINUS)),
		.comma = _mm512_test_epi8_mask(classes, _mm512_set1_epi8(C_COMMA)),
		.space = _mm512_test_epi8_mask(classes, _mm512_set1_epi8(C_SPACE)),
		.letter = _mm512_test_epi8_mask(classes, _mm512_set1_epi8(C_LETTER)),
		.plus = _mm512_test_epi8_mask(classes, _mm512_set1_epi8((char)C_PLUS)),
		.foreign = _mm512_testn_epi8_mask(classes, classes),
	};
}

/* Fills the chunk from text, at a place where a number is to come. */
static inline void scan_chunk(struct chunk *chunk, const char *text, const char *end)
{
	struct scan_carry carry = {.expected = 1};
	uint64_t open = 0, open_negative = 0; /* a number that began in the block before */
	size_t digit_count = FRONT, fraction_count = 0, numbers = 0;

	chunk->digit_end[0] = FRONT;
	chunk->fraction_end[0] = 0;
	chunk->complete = false;
	for (size_t at = 0; at < CHUNK && !chunk->complete; at += 64) {
		size_t left = (size_t)(end - text) - at; /* where it is less than 64 the loop ends: 0 is a foreign byte */
		__mmask64 inside = left >= 64 ? ~UINT64_C(0) : _bzhi_u64(~UINT64_C(0), (unsigned)left);
		__m512i bytes = _mm512_maskz_loadu_epi8(inside, text + at);
		__builtin_prefetch(text + at + CHUNK); /* by itself a processor stops at the end of each page */
		struct scan_bits bits;
		if (!scan_block(classify(bytes), &carry, &bits))
			break;
		uint64_t odd = marked_runs(~bits.ends, bits.fault, &carry.odd);
		chunk->complete = bits.last;

		/* Signs are known where numbers start: the first to end here may have started in a block before. */
		unsigned ended = (unsigned)__builtin_popcountll(bits.ends);
		uint64_t negative = _pext_u64(bits.minus, bits.start) << open | open_negative;
		open = open + (unsigned)__builtin_popcountll(bits.start) - ended;
		open_negative = open & negative >> ended;

		__m512i ends = _mm512_add_epi16(counts_below(bits.digit, bits.ends), _mm512_set1_epi16((short)digit_count));
		ends = _mm512_mask_add_epi16(ends, (__mmask32)negative, ends, _mm512_set1_epi16((short)NUMBER_NEGATIVE));
		ends = _mm512_mask_add_epi16(ends, (__mmask32)_pext_u64(odd, bits.ends), ends,
		                             _mm512_set1_epi16(NUMBER_ODD));
		ends = _mm512_mask_add_epi16(ends, (__mmask32)_pext_u64(bits.exponent, bits.ends), ends,
		                             _mm512_set1_epi16(NUMBER_EXPONENT));
		_mm512_storeu_si512(chunk->digit_end + numbers + 1, ends);
		_mm512_storeu_si512(chunk->fraction_end + numbers + 1,
		                    _mm512_add_epi16(counts_below(bits.fraction, bits.ends),
		                                     _mm512_set1_epi16((short)fraction_count)));
		_mm512_storeu_si512(chunk->text_end + numbers + 1,
		                    _mm512_add_epi16(places_of(bits.ends), _mm512_set1_epi16((short)at)));
		_mm512_storeu_si512(chunk->digits + digit_count,
		                    _mm512_maskz_compress_epi8(bits.digit, _mm512_sub_epi8(bytes, _mm512_set1_epi8('0'))));
		digit_count += (size_t)__builtin_popcountll(bits.digit);
		fraction_count += (size_t)__builtin_popcountll(bits.fraction);
		numbers += ended;
	}
	chunk->numbers = numbers;

	/* What is read beyond the last number is numbers without digits. */
	_mm_storeu_si128((__m128i *)(chunk->digit_end + numbers + 1), _mm_set1_epi16((short)digit_count));
	_mm_storeu_si128((__m128i *)(chunk->fraction_end + numbers + 1), _mm_set1_epi16((short)fraction_count));
}

#endif
