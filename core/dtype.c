#include "dtype.h"

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

static uint16_t bfloat16_bits(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	return (uint16_t)(bits >> 16);
}

static float bfloat16_value(uint16_t half)
{
	uint32_t bits = (uint32_t)half << 16;
	float value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

/* Exact: the value lies on float16's grid. A NaN keeps its payload's upper bits. */
static uint16_t float16_bits(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
	if (magnitude > 0x7f800000)
		return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x1ff));
	if (magnitude == 0x7f800000)
		return (uint16_t)(sign | 0x7c00);
	if (magnitude < 0x38800000) /* below 2^-14: a multiple of 2^-24 */
		return (uint16_t)(sign | (uint32_t)(fabsf(value) * 0x1p24f));
	return (uint16_t)(sign | ((magnitude - 0x38000000) >> 13));
}

static float float16_value(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = half & 0x7fff;
	if (magnitude < 0x400)
		return (sign ? -1.0f : 1.0f) * ((float)magnitude * 0x1p-24f);
	uint32_t bits = sign | (magnitude >= 0x7c00 ? 0x7f800000 | (magnitude & 0x3ff) << 13
	                                            : (magnitude << 13) + 0x38000000);
	float value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

void nc_dtype_from_wire(enum nc_dtype dtype, const void *wire, size_t count, void *storage)
{
	const unsigned char *from = wire;
	float *to = storage;
	if (dtype == NC_FLOAT64 || dtype == NC_FLOAT32) {
		if (count)
			memcpy(storage, wire, count * dtypes[dtype].wire_bytes);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		uint16_t half = (uint16_t)(from[2 * i] | from[2 * i + 1] << 8);
		to[i] = dtype == NC_BFLOAT16 ? bfloat16_value(half) : float16_value(half);
	}
}

void nc_dtype_to_wire(enum nc_dtype dtype, const void *storage, size_t count, void *wire)
{
	const float *from = storage;
	unsigned char *to = wire;
	if (dtype == NC_FLOAT64 || dtype == NC_FLOAT32) {
		if (count)
			memcpy(wire, storage, count * dtypes[dtype].wire_bytes);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		uint16_t half = dtype == NC_BFLOAT16 ? bfloat16_bits(from[i]) : float16_bits(from[i]);
		to[2 * i] = (unsigned char)half;
		to[2 * i + 1] = (unsigned char)(half >> 8);
	}
}
