/*
 * The list reader for SSE2, AVX2 and NEON. First pass: 4 KiB of text to the places where numbers start and end and their
 * points stand (scan_bits.h). Second pass: each number without a branch on its digits, which are loaded backwards from point
 * and end and joined eight at a time. Odd numbers and those of many digits go to the scalar reader.
 */
#ifndef API_KERNELS_READ_BLOCK64_H
#define API_KERNELS_READ_BLOCK64_H

#include "api/decimal_fast.h"
#include "api/json_scan.h"
#include "block64.h"

enum {
	CHUNK = 4096,
	CHUNK_NUMBERS = CHUNK / 2,
	FRONT = 32,         /* bytes up to a number's end that are loaded with it */
	NUMBER_ODD = 0x8000 /* in an end */
};

struct chunk {
	uint16_t start[CHUNK_NUMBERS + 64], end[CHUNK_NUMBERS + 64]; /* of number i, as offsets in the chunk's text */
	size_t numbers;
	size_t last_end;        /* of the last number's comma, or, when complete, of the byte that ends the list */
	bool complete;
	char front[FRONT + 64]; /* a copy of the chunk's first bytes, with room in front to load from */
};

static inline struct block load_rest(const char *text, size_t left)
{
	char copy[64] = {0};
	memcpy(copy, text, left);
	return load_block(copy);
}

/* The place of the lowest one bit; any place where there is none. */
static inline size_t lowest(uint64_t bits)
{
#ifdef __BMI__
	return _tzcnt_u64(bits);
#else
	return (size_t)__builtin_ctzll(bits | UINT64_C(1) << 63);
#endif
}

/* The places of all one bits of each; four at a time, and what is stored beyond the last counts for nothing. */
static inline void store_places(uint16_t *out_a, uint64_t a, uint16_t *out_b, uint64_t b, size_t at)
{
	for (size_t i = 0; a | b; i += 4)
		for (size_t j = 0; j < 4; j++) {
			out_a[i + j] = (uint16_t)(at + lowest(a));
			out_b[i + j] = (uint16_t)(at + lowest(b));
			a &= a - 1;
			b &= b - 1;
		}
}

static inline void scan_chunk(struct chunk *chunk, const char *text, const char *end)
{
	struct scan_carry carry = {.expected = 1};
	uint64_t carry_number = 0;
	size_t starts = 0, ends = 0;

	chunk->numbers = 0;
	chunk->complete = false;
	for (size_t at = 0; at < CHUNK && !chunk->complete; at += 64) {
		size_t left = (size_t)(end - text) - at; /* where it is less than 64 the loop ends: 0 is a foreign byte */
		struct block block = left >= 64 ? load_block(text + at) : load_rest(text + at, left);
		struct scan_bits bits;
		if (!scan_block(classify(&block), &carry, &bits))
			break;
		uint64_t end_bits = shift_in(bits.number, &carry_number) & ~bits.number;
		uint64_t odd = marked_runs(bits.number, bits.fault, &carry.odd);
		store_places(chunk->start + starts, bits.start, chunk->end + ends, end_bits, at);
		for (uint64_t rest = odd; rest; rest &= rest - 1)
			chunk->end[ends + (size_t)__builtin_popcountll(end_bits & ((rest & -rest) - 1))] |= NUMBER_ODD;
		starts += (size_t)__builtin_popcountll(bits.start);
		ends += (size_t)__builtin_popcountll(end_bits);
		if (bits.ends) {
			chunk->numbers += (size_t)__builtin_popcountll(bits.ends);
			chunk->last_end = at + 63 - (size_t)__builtin_clzll(bits.ends);
		}
		chunk->complete = bits.last;
	}
}

/* The last f bytes of 32, f from 0 to 32: at [f]. */
static const uint8_t last_bytes[64] = {
	[32] = 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
};

/* 24 digits, eight by eight. */
struct digits_24 {
	uint64_t first, second, third;
};

/* The last f of the 24 digits before end, the others zero; loads 32 bytes. */
static inline struct digits_24 load_digits(const char *end, size_t f)
{
#ifdef __AVX2__
	__m256i digits = _mm256_sub_epi8(load_bytes(end - 32), all_bytes('0'));
	digits = _mm256_and_si256(digits, load_bytes(last_bytes + f));
	__m256i fours = _mm256_madd_epi16(_mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x010a)), _mm256_set1_epi32(0x00010064));
	__m256i eights = _mm256_madd_epi16(_mm256_packus_epi32(fours, fours), _mm256_set1_epi32(0x00012710));
	uint64_t high = (uint64_t)_mm_cvtsi128_si64(_mm256_castsi256_si128(eights));
	uint64_t low = (uint64_t)_mm_cvtsi128_si64(_mm256_extracti128_si256(eights, 1));
	return (struct digits_24){high >> 32, (uint32_t)low, low >> 32};
#else
	uint64_t part[3];
	for (size_t i = 0; i < 3; i++) {
		uint64_t mask;
		memcpy(&mask, last_bytes + f + 8 + 8 * i, sizeof mask);
		part[i] = json_join_digits((json_eight_bytes(end - 24 + 8 * i) ^ UINT64_C(0x3030303030303030)) & mask);
	}
	return (struct digits_24){part[0], part[1], part[2]};
#endif
}

/* Integers by the digits behind the point that they stand in front of: 10^f, 0 where only 0 can stand there. */
static const uint64_t integer_powers[33] = {
	1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000, 1000000000000,
	10000000000000, 100000000000000, 1000000000000000, 10000000000000000, 100000000000000000, 1000000000000000000,
};
static const double exact_powers[23] = {
	1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

/* One number; false where that is a matter for the scalar reader. */
static inline bool convert(const struct chunk *chunk, const char *text, size_t i, enum nc_dtype dtype, double *value)
{
	size_t start = chunk->start[i], length = chunk->end[i] - start; /* more than FRONT when odd */
	if (length > FRONT)
		return false;
	const char *first = (chunk->end[i] <= 64 ? chunk->front + FRONT : text) + start;
	bool negative = *first == '-';
	/* The point, or the place behind the number. */
	size_t point = lowest((uint64_t)mask_32_equal(first + length - FRONT, '.') >> (FRONT - length) | UINT64_C(1) << length);
	size_t f = length - point - (point < length), whole_digits = point - negative;
	if (whole_digits > 8 || f > 24)
		return false;
	uint64_t whole = json_eight_bytes(first + point - 8) ^ UINT64_C(0x3030303030303030);
	whole = json_join_digits(whole & ~UINT64_C(0) << (64 - 8 * whole_digits));
	struct digits_24 digits = load_digits(first + length, f);
	bool fits = whole_digits + f <= 19 || (whole == 0 && digits.first <= 999 && f <= 22);
	uint64_t m = whole * integer_powers[f] + (digits.first * 100000000 + digits.second) * 100000000 + digits.third;
	if (!fits)
		return false;
	double magnitude;
	if (m <= UINT64_C(1) << 53)
		magnitude = (double)(int64_t)m / exact_powers[f];
	else if (!decimal_fast_float64(m, -(int)f, &magnitude))
		return false;
	if (dtype != NC_FLOAT64 && m && !narrow_from_float64(magnitude, dtype, &magnitude))
		return false;
	*value = double_of_bits(double_bits(magnitude) | (uint64_t)negative << 63);
	return true;
}

/* The first `count` numbers of the chunk to out[base] and on; returns how many of them: all before the first error. */
static inline size_t convert_chunk(const struct chunk *chunk, const char *text, enum nc_dtype dtype, void *out,
                                   size_t base, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		double value;
		if (!convert(chunk, text, i, dtype, &value)) {
			const char *after, *end = text + (chunk->end[i] & ~NUMBER_ODD);
			if (json_read_element(text + chunk->start[i], end, dtype, out, base + i, &after) != JSON_NUMBER_OK ||
			    after != end)
				return i;
		} else if (dtype == NC_FLOAT64) {
			((double *)out)[base + i] = value;
		} else {
			((float *)out)[base + i] = (float)value;
		}
	}
	return count;
}

static inline const char *read_list_of(const char *text, const char *end, enum nc_dtype dtype, void *out,
                                       size_t capacity, size_t *count, bool *complete)
{
	struct chunk chunk;
	memset(chunk.front, 0, sizeof chunk.front);
	*complete = false;
	for (;;) {
		size_t left = (size_t)(end - text), room = capacity - *count;
		scan_chunk(&chunk, text, end);
		memcpy(chunk.front + FRONT, text, left < 64 ? left : 64);
		size_t wanted = chunk.numbers < room ? chunk.numbers : room;
		size_t done = convert_chunk(&chunk, text, dtype, out, *count, wanted);
		*count += done;
		if (done < chunk.numbers)
			return text + chunk.start[done];
		if (done == 0)
			return text;
		*complete = chunk.complete;
		text += chunk.last_end + !chunk.complete;
		if (chunk.complete)
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
