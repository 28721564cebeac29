/* The grammar of a JSON number, and the scalar list reader that the fast ones fall back on. */
#ifndef API_JSON_SCAN_H
#define API_JSON_SCAN_H

#include "decimal.h"
#include "json_number.h"
#include "json_text.h"

#include <string.h>

static inline bool json_is_digit(char c)
{
	return (unsigned char)(c - '0') <= 9;
}

/* Eight bytes, the first one lowest. */
static inline uint64_t json_eight_bytes(const char *p)
{
	uint64_t bytes;
	memcpy(&bytes, p, sizeof bytes);
	return bytes;
}

static inline bool json_are_digits(const char *p)
{
	const uint64_t bytes = json_eight_bytes(p), high = UINT64_C(0xf0f0f0f0f0f0f0f0);
	return ((bytes & high) | ((bytes + UINT64_C(0x0606060606060606)) & high) >> 4) == UINT64_C(0x3333333333333333);
}

/* The number that eight digit values (not characters) make, the first one lowest: pairs, fours, eight. */
static inline uint64_t json_join_digits(uint64_t digits)
{
	const uint64_t mask = UINT64_C(0x000000ff000000ff);
	digits = digits * 10 + (digits >> 8);
	return ((digits & mask) * (100 + (UINT64_C(1000000) << 32)) + (digits >> 16 & mask) * (1 + (UINT64_C(10000) << 32))) >> 32;
}

static inline uint64_t json_eight_digits(const char *p)
{
	return json_join_digits(json_eight_bytes(p) - UINT64_C(0x3030303030303030));
}

/* Scans one number; false when there is none, *after then at the byte at fault (or end), else past the number. */
bool json_scan_number(const char *text, const char *end, struct decimal *d, const char **after);

/* One number of a list to out[index]. Status and *after as json_read_number's. */
enum json_number_status json_read_element(const char *text, const char *end, enum nc_dtype dtype, void *out,
                                          size_t index, const char **after);

/*
 * One number of a list, from text where it is to come to out[*count], and what stands behind it. *complete: the list ends
 * at *after; else, with OK, the next number is to come there.
 */
enum json_number_status json_read_step(const char *text, const char *end, enum nc_dtype dtype, void *out,
                                       size_t capacity, size_t *count, const char **after, bool *complete);

#endif
