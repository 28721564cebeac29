/*
 * Decimal text to numbers and back: the codec on which nine tenths of a request's time go.
 *
 * Reading is correctly rounded straight to the dtype (never twice) for any number of digits; the grammar is JSON's,
 * strictly. Writing gives the shortest decimal that reads back to the same value (of all shortest, the nearest), in
 * float32 for every dtype under float64, in the form of ECMAScript's Number::toString, except that −0 is "-0.0".
 * Locale-free; any thread; no allocation.
 */
#ifndef API_JSON_NUMBER_H
#define API_JSON_NUMBER_H

#include "core/dtype.h"

enum json_number_status {
	JSON_NUMBER_OK,
	JSON_NUMBER_SYNTAX,   /* not a JSON number */
	JSON_NUMBER_RANGE,    /* a number that rounds to an infinity in the dtype */
	JSON_NUMBER_FULL      /* a list has more numbers than `capacity` */
};

/* Most bytes that one number takes, the comma after it counted. */
enum { JSON_FLOAT64_MAX = 26, JSON_FLOAT32_MAX = 24 };

/*
 * Reads one number that begins at text; never reads at or past end. *value is rounded to dtype. *after is set to the
 * first byte past the number, or on error to the byte at fault (RANGE: the number's first byte).
 */
enum json_number_status json_read_number(const char *text, const char *end, enum nc_dtype dtype, double *value,
                                         const char **after);

/*
 * Reads a list of numbers: white space, number, white space, then ',' and so on; text points behind the '['.
 * Stops at the first byte that is neither part of a number, of white space, nor a ',' between two numbers: with OK
 * and *after there when a complete number stands before it (the caller expects a ']'), with SYNTAX and *after at the
 * byte at fault when a number was to come there. Values go to out (the storage of dtype), *count is how many were stored;
 * with RANGE and SYNTAX it is the index of the number at fault; FULL: `capacity` numbers stored and another one begins at *after.
 */
enum json_number_status json_read_list(const char *text, const char *end, enum nc_dtype dtype, void *out,
                                       size_t capacity, size_t *count, const char **after);

/* The first ':', '{' or '}', which no list of numbers holds, or end; *commas is the number of commas before it. */
const char *json_count_commas(const char *text, const char *end, size_t *commas);

/* Writes one number, at most JSON_FLOAT64_MAX − 1 or JSON_FLOAT32_MAX − 1 bytes, no NUL; returns the end. value is finite. */
char *json_write_float64(char *out, double value);
char *json_write_float32(char *out, float value);

/* What becomes of NaN and infinities in a list. */
enum json_nonfinite { JSON_NONFINITE_STOP, JSON_NONFINITE_STRING, JSON_NONFINITE_NULL };

/*
 * Writes count numbers in the storage of dtype, joined by ',', without brackets. out has room for count times
 * JSON_FLOAT64_MAX (float64) or JSON_FLOAT32_MAX bytes, and 64 more that may be overwritten. STRING writes "NaN", "Infinity" or "-Infinity"
 * with quotes, NULL writes null; STOP ends before the first such element and sets *bad to its index (else *bad = count).
 */
char *json_write_list(char *out, enum nc_dtype dtype, const void *values, size_t count, enum json_nonfinite mode,
                      size_t *bad);

#endif
