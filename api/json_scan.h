/* The grammar of a JSON number, and the scalar list reader that the fast ones fall back on. */
#ifndef API_JSON_SCAN_H
#define API_JSON_SCAN_H

#include "decimal.h"
#include "json_number.h"

static inline bool json_is_digit(char c)
{
	return (unsigned char)(c - '0') <= 9;
}

static inline bool json_is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
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
