#include "dtype.h"

#include "kernels.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "wire and memory order are both taken to be little-endian"
#endif

#include <math.h>
#include <string.h>

static const struct {
	const char *name;
	size_t wire_bytes;
	int mantissa_bits, min_exponent;
	double max_finite;
} dtypes[NC_DTYPE_COUNT] = {
#define DTYPE(NAME, text, wire_bytes, mantissa_bits, min_exponent, max_finite) \
	[NC_##NAME] = {text, wire_bytes, mantissa_bits, min_exponent, max_finite},
#include "dtype.def"
#undef DTYPE
};

const char *nc_dtype_name(enum nc_dtype dtype)
{
	return dtypes[dtype].name;
}

bool nc_dtype_parse(const char *name, enum nc_dtype *dtype)
{
	for (int d = 0; d < NC_DTYPE_COUNT; d++)
		if (strcmp(dtypes[d].name, name) == 0) {
			*dtype = (enum nc_dtype)d;
			return true;
		}
	return false;
}

size_t nc_dtype_wire_bytes(enum nc_dtype dtype)
{
	return dtypes[dtype].wire_bytes;
}

size_t nc_dtype_storage_bytes(enum nc_dtype dtype)
{
	return dtype == NC_FLOAT64 ? sizeof(double) : sizeof(float);
}

double nc_dtype_max(enum nc_dtype dtype)
{
	return dtypes[dtype].max_finite;
}

int nc_dtype_mantissa_bits(enum nc_dtype dtype)
{
	return dtypes[dtype].mantissa_bits;
}

int nc_dtype_min_exponent(enum nc_dtype dtype)
{
	return dtypes[dtype].min_exponent;
}

double nc_dtype_machine_epsilon(enum nc_dtype dtype)
{
	return dtype == NC_FLOAT64 ? 0x1p-52 : 0x1p-23;
}

double nc_dtype_round(enum nc_dtype dtype, double value)
{
	if (dtype == NC_FLOAT64)
		return value;
	if (dtype == NC_FLOAT32)
		return (float)value;
	if (value == 0 || isnan(value))
		return value;
	if (fabs(value) >= 2 * dtypes[dtype].max_finite)
		return copysign(INFINITY, value);
	/*
	 * Adding a number whose last bit weighs one unit of the target makes the addition itself round to that
	 * unit; 1.5 keeps the sum in one binade for either sign. Below min_exponent the unit stays: subnormals.
	 */
	int exponent = ilogb(value);
	if (exponent < dtypes[dtype].min_exponent)
		exponent = dtypes[dtype].min_exponent;
	double magic = ldexp(1.5, exponent - dtypes[dtype].mantissa_bits + 53);
	volatile double sum = value + magic;
	double rounded = sum - magic;
	if (fabs(rounded) > dtypes[dtype].max_finite)
		return copysign(INFINITY, value);
	return copysign(rounded, value);
}

bool nc_dtype_convert(enum nc_dtype from, const void *values, enum nc_dtype to, void *storage, size_t count)
{
	return !count || !kernels()->convert(from, values, to, storage, count);
}

void nc_dtype_from_wire(enum nc_dtype dtype, const void *wire, size_t count, void *storage)
{
	if (dtypes[dtype].wire_bytes == sizeof(uint16_t))
		kernels()->unpack_halves(dtype, wire, count, storage);
	else if (count)
		memcpy(storage, wire, count * dtypes[dtype].wire_bytes);
}

void nc_dtype_to_wire(enum nc_dtype dtype, const void *storage, size_t count, void *wire)
{
	if (dtypes[dtype].wire_bytes == sizeof(uint16_t))
		kernels()->pack_halves(dtype, storage, count, wire);
	else if (count)
		memcpy(wire, storage, count * dtypes[dtype].wire_bytes);
}
