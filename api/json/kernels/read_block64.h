/*
 * The list reader for SSE2, AVX2 and NEON. First pass: 4 KiB of text to the places where numbers start and end. Second pass: each
 * number without a branch on its digits: they are loaded up to the last, those in front of the point once more from a byte
 * earlier, and joined two by two; in a chunk that has exponents, these are taken off before. Whatever is not -?digits(.digits)?
 * then, or too long, goes to the scalar reader.
 */
#ifndef API_KERNELS_READ_BLOCK64_H
#define API_KERNELS_READ_BLOCK64_H

#include "api/json/decimal_fast.h"
#include "api/json/json_scan.h"
#include "block64.h"
#include "scan_bits.h"

enum {
	CHUNK = 4096,
	CHUNK_NUMBERS = CHUNK / 2,
	LONGEST = 32, /* a number's text, read from one byte earlier */
	FRONT = 40    /* room for that in front of a chunk's first bytes */
};

struct chunk {
	uint16_t start[CHUNK_NUMBERS + 64], end[CHUNK_NUMBERS + 64]; /* of number i, as offsets in the chunk's text */
	size_t numbers;
	size_t last_end;        /* of the last number's comma, or, when complete, of the byte that ends the list */
	bool complete;
	bool exponents;         /* there is an e or E in it */
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
	uint64_t carry_number = 0, carry_expected = 1;
	size_t starts = 0, ends = 0;

	chunk->numbers = 0;
	chunk->complete = chunk->exponents = false;
	for (size_t at = 0; at < CHUNK && !chunk->complete; at += 64) {
		size_t left = (size_t)(end - text) - at; /* where it is less than 64 the loop ends: 0 is a foreign byte */
		__builtin_prefetch(text + at + CHUNK); /* by itself a processor stops at the end of each page */
		struct block block = left >= 64 ? load_block(text + at) : load_rest(text + at, left);
		uint64_t comma = bytes_equal(&block, ','), commas = comma, space = 0;
		uint64_t number = bytes_within(&block, '+', '9') & ~comma, rest = ~(number | comma);
		if (rest) {
			space = bytes_equal(&block, ' ');
			if (rest & ~space) {
				space |= bytes_equal(&block, '\n') | bytes_equal(&block, '\t') | bytes_equal(&block, '\r');
				uint64_t letters = bytes_equal(&block, 'e') | bytes_equal(&block, 'E');
				number |= letters;
				chunk->exponents |= letters != 0;
			}
			rest &= ~(space | number);
			if (rest) { /* a foreign byte ends the list */
				uint64_t before = (rest & -rest) - 1;
				number &= before, space &= before, comma &= before;
				commas = comma | (rest & -rest);
			}
		}
		/* The first byte that is no space behind each comma begins a number, and nothing else does. */
		uint64_t behind_number = shift_in(number, &carry_number);
		uint64_t start = number & ~behind_number, stop = behind_number & ~number;
		uint64_t behind_comma = comma << 1 | carry_expected;
		uint64_t expected = add_runs(behind_comma, space, &carry_expected) & ~space;
		carry_expected |= comma >> 63;
		if (expected != start)
			break;
		store_places(chunk->start + starts, start, chunk->end + ends, stop, at);
		starts += (size_t)__builtin_popcountll(start);
		ends += (size_t)__builtin_popcountll(stop);
		if (commas) {
			chunk->numbers += (size_t)__builtin_popcountll(commas);
			chunk->last_end = at + 63 - (size_t)__builtin_clzll(commas);
		}
		chunk->complete = rest != 0;
	}
}

/* The last n bytes of 32, n from 0 to 32: at [n]. */
static const uint8_t last_bytes[64] __attribute__((aligned(64))) = {
	[32] = 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
};

/*
 * The integer that the digits make which end at `end`: `digits` of them, the last `fraction` behind a point (32: there is
 * none). False when it is 10^19 or more, or other bytes are among them. Loads 17 bytes up to the end for at most 16 digits.
 */
#ifdef __AVX2__

static inline bool join_16(const char *end, size_t digits, size_t fraction, uint64_t *m)
{
	__m128i behind = _mm_loadu_si128((const __m128i *)(last_bytes + 16 + fraction));
	__m128i v = _mm_blendv_epi8(_mm_loadu_si128((const __m128i *)(end - 17)), _mm_loadu_si128((const __m128i *)(end - 16)), behind);
	v = _mm_and_si128(_mm_xor_si128(v, _mm_set1_epi8('0')), _mm_loadu_si128((const __m128i *)(last_bytes + 16 + digits)));
	__m128i above_9 = _mm_subs_epu8(v, _mm_set1_epi8(9));
	__m128i fours = _mm_madd_epi16(_mm_maddubs_epi16(v, _mm_set1_epi16(0x010a)), _mm_set1_epi32(0x00010064));
	__m128i eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours), _mm_set1_epi32(0x00012710));
	uint64_t halves = (uint64_t)_mm_cvtsi128_si64(eights);
	*m = (uint32_t)halves * UINT64_C(100000000) + (halves >> 32);
	return _mm_testz_si128(above_9, above_9);
}

static inline bool join_32(const char *end, size_t digits, size_t fraction, uint64_t *m)
{
	__m256i v = _mm256_blendv_epi8(load_bytes(end - 33), load_bytes(end - 32), load_bytes(last_bytes + fraction));
	v = _mm256_and_si256(_mm256_xor_si256(v, all_bytes('0')), load_bytes(last_bytes + digits));
	__m256i above_9 = _mm256_subs_epu8(v, all_bytes(9));
	__m256i fours = _mm256_madd_epi16(_mm256_maddubs_epi16(v, _mm256_set1_epi16(0x010a)), _mm256_set1_epi32(0x00010064));
	__m256i eights = _mm256_madd_epi16(_mm256_packus_epi32(fours, fours), _mm256_set1_epi32(0x00012710));
	uint64_t high = (uint64_t)_mm_cvtsi128_si64(_mm256_castsi256_si128(eights));
	uint64_t low = (uint64_t)_mm_cvtsi128_si64(_mm256_extracti128_si256(eights, 1));
	*m = ((high >> 32) * 100000000 + (uint32_t)low) * 100000000 + (low >> 32);
	return _mm256_testz_si256(above_9, above_9) && (uint32_t)high == 0 && high >> 32 <= 999;
}

#else

/* Eight of the digits, `behind` bytes in front of the end; *bad gets a bit where one is none. */
static inline uint64_t join_8(const char *end, size_t behind, size_t digits, size_t fraction, uint64_t *bad)
{
	const char *p = end - 8 - behind;
	const uint8_t *masks = last_bytes + 24 - behind;
	uint64_t select = json_eight_bytes((const char *)masks + fraction), keep = json_eight_bytes((const char *)masks + digits);
	uint64_t v = (json_eight_bytes(p - 1) & ~select) | (json_eight_bytes(p) & select);
	v = (v ^ UINT64_C(0x3030303030303030)) & keep;
	*bad |= (v | (v + UINT64_C(0x7676767676767676))) & UINT64_C(0x8080808080808080);
	return json_join_digits(v);
}

static inline bool join_16(const char *end, size_t digits, size_t fraction, uint64_t *m)
{
	uint64_t bad = 0;
	*m = join_8(end, 8, digits, fraction, &bad) * 100000000;
	*m += join_8(end, 0, digits, fraction, &bad);
	return bad == 0;
}

static inline bool join_32(const char *end, size_t digits, size_t fraction, uint64_t *m)
{
	uint64_t bad = 0, low;
	uint64_t high = join_8(end, 16, digits, fraction, &bad);
	*m = high * UINT64_C(10000000000000000);
	bool digits_only = join_16(end, digits, fraction, &low);
	*m += low;
	return digits_only && bad == 0 && high <= 999 && digits <= 24;
}

#endif

static const double exact_powers[23] = {
	1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

/*
 * |value| = m / 10^f in the dtype, where that needs no more than this. Of long numbers about half have m below 2^53, nothing to
 * branch on, and one product decides nearly all.
 */
static inline bool divide(uint64_t m, size_t f, bool is_long, enum nc_dtype dtype, double *magnitude)
{
	const bool divides = m <= UINT64_C(1) << 53;
	if ((divides && !is_long) || m == 0 || !decimal_fast_float64(m, -(int)f, magnitude)) {
		if (!divides)
			return false;
		*magnitude = (double)(int64_t)m / exact_powers[f];
	}
	if (dtype == NC_FLOAT32) /* far from its ends, so that the conversion to float needs nothing but that it is no tie */
		return (double_bits(*magnitude) & 0x1fffffff) != 0x10000000;
	return dtype == NC_FLOAT64 || m == 0 || narrow_from_float64(*magnitude, dtype, magnitude);
}

/* |value| = m 10^q in the dtype, where one product decides it. */
static inline bool scale(uint64_t m, int q, enum nc_dtype dtype, double *magnitude)
{
	*magnitude = 0;
	return m == 0 || (q >= POWER_OF_TEN_MIN && q <= POWER_OF_TEN_MAX && decimal_fast_float64(m, q, magnitude) &&
	                  narrow_from_float64(*magnitude, dtype, magnitude));
}

/* Where the letter stands in a number of which this is the end, if it is one of the last 16 bytes; else the number's length. */
static inline size_t find_letter(const char *end, size_t length)
{
	size_t looked_at = length < 16 ? length : 16;
	uint32_t letters = (mask_16_equal(end - 16, 'e') | mask_16_equal(end - 16, 'E')) >> (16 - looked_at);
	return letters ? length - looked_at + (size_t)__builtin_ctz(letters) : length;
}

/* What stands behind the letter: a sign or none, and one to four digits; false otherwise. */
static inline bool join_exponent(const char *p, const char *end, int *exponent)
{
	bool minus = p < end && *p == '-';
	int sum = 0;
	p += p < end && (*p == '-' || *p == '+');
	if (p == end || end - p > 4)
		return false;
	for (; p < end; p++) {
		if (!json_is_digit(*p))
			return false;
		sum = sum * 10 + (*p - '0');
	}
	*exponent = minus ? -sum : sum;
	return true;
}

/* One number; false where that is a matter for the scalar reader. */
static inline bool convert(const struct chunk *chunk, const char *text, size_t i, enum nc_dtype dtype, double *value)
{
	size_t start = chunk->start[i], length = chunk->end[i] - start;
	if (length > LONGEST)
		return false;
	const char *first = (chunk->end[i] <= 64 ? chunk->front + FRONT : text) + start, *end = first + length;
	/* Not by a comparison: gcc makes it a set of one byte of the register where the last quotient was, and waits for that. */
	uint64_t negative = ((uint64_t)((unsigned char)*first ^ '-') - 1) >> 63;
	size_t letter = chunk->exponents ? find_letter(end, length) : length;
	const bool scaled = letter < length;
	int exponent = 0;
	if (scaled) {
		if (!join_exponent(first + letter + 1, end, &exponent))
			return false;
		length = letter;
		end = first + length;
	}
	uint64_t m;
	bool good;
	size_t point, fraction; /* the point's place, or that behind the number; fraction 32 for none */
	const bool is_long = length > 16;
	if (!is_long) {
		point = lowest((uint64_t)mask_16_equal(end - 16, '.') >> (16 - length) | UINT64_C(1) << length);
		fraction = point < length ? length - point - 1 : 16;
		good = join_16(end, length - negative - (point < length), fraction, &m);
	} else {
		point = lowest((uint64_t)mask_32_equal(end - 32, '.') >> (32 - length) | UINT64_C(1) << length);
		fraction = point < length ? length - point - 1 : 32;
		good = join_32(end, length - negative - (point < length), fraction, &m);
	}
	size_t f = point < length ? fraction : 0, whole = point - negative;
	good &= whole == 1 || (whole > 1 && first[negative] != '0');
	good &= fraction > 0;
	if (!good || !(scaled ? scale(m, exponent - (int)f, dtype, value) : f <= 22 && divide(m, f, is_long, dtype, value)))
		return false;
	*value = double_of_bits(double_bits(*value) | negative << 63);
	return true;
}

/* The first `count` numbers of the chunk to out[base] and on; returns how many of them: all before the first error. */
static inline size_t convert_chunk(const struct chunk *chunk, const char *text, enum nc_dtype dtype, void *out,
                                   size_t base, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		double value;
		if (!convert(chunk, text, i, dtype, &value)) {
			const char *after, *end = text + chunk->end[i];
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
