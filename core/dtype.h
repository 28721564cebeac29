/* Element types: their names, sizes and the one rounding from float64 to each (table: dtype.def). */
#ifndef NORMCORE_DTYPE_H
#define NORMCORE_DTYPE_H

#include "public.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

NC_PUBLIC_BEGIN

enum nc_dtype {
#define DTYPE(NAME, text, wire_bytes, mantissa_bits, min_exponent, max_finite) NC_##NAME,
#include "dtype.def"
#undef DTYPE
	NC_DTYPE_COUNT
};

/* "float64", "float32", "bfloat16", "float16". */
const char *nc_dtype_name(enum nc_dtype dtype);

/* Finds a dtype by its name; false when there is none of that name. */
bool nc_dtype_parse(const char *name, enum nc_dtype *dtype);

/* Bytes of one element on the wire (base64, binary): 8, 4, 2, 2. */
size_t nc_dtype_wire_bytes(enum nc_dtype dtype);

/* Bytes of one element in memory: 8 for float64 (double), 4 for the others (float). */
size_t nc_dtype_storage_bytes(enum nc_dtype dtype);

/* Largest finite value. */
double nc_dtype_max(enum nc_dtype dtype);

/* Bits of the significand, the implicit one counted: 53, 24, 8, 11. */
int nc_dtype_mantissa_bits(enum nc_dtype dtype);

/* Exponent of the smallest normal value, 2^exponent. */
int nc_dtype_min_exponent(enum nc_dtype dtype);

/* The epsilon of "machine": 2^-52 for float64, 2^-23 for every other (they are computed in float32 elsewhere). */
double nc_dtype_machine_epsilon(enum nc_dtype dtype);

/*
 * value rounded once to dtype, to nearest, ties to even, subnormals included. A finite value beyond the largest
 * one by half a unit or more gives an infinity; NaN and infinities stay.
 */
double nc_dtype_round(enum nc_dtype dtype, double value);

/*
 * count values in the storage of one dtype to that of another, each rounded as by nc_dtype_round. false: a finite value
 * has become an infinity. Buffers must not overlap.
 */
bool nc_dtype_convert(enum nc_dtype from, const void *values, enum nc_dtype to, void *storage, size_t count);

/*
 * Wire bytes (little-endian IEEE, count elements, any alignment) to storage and back; what does not lie on the dtype's
 * grid is rounded to it. Buffers must not overlap.
 */
void nc_dtype_from_wire(enum nc_dtype dtype, const void *wire, size_t count, void *storage);
void nc_dtype_to_wire(enum nc_dtype dtype, const void *storage, size_t count, void *wire);

NC_PUBLIC_END

#endif
