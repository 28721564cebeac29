/*
 * Arrays from one dtype to another, rounded once, and the 16 bits in which bfloat16 and float16 travel.
 *
 * Integer arithmetic that compilers make vectors of, or F16C, which rounds the same way (AVX512_BF16 does not: it takes
 * subnormals for 0). A NaN keeps its sign and the upper bits of its payload and becomes quiet where F16C makes it so.
 */
#ifndef KERNELS_CONVERT_H
#define KERNELS_CONVERT_H

#include "rounding.h"
#include "simd.h"

INLINE uint32_t float_bits(const float *p)
{
	uint32_t bits;

	memcpy(&bits, p, sizeof(bits));
	return bits;
}

INLINE float float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

INLINE uint32_t half_at(const void *halves, size_t i)
{
	uint16_t half;

	memcpy(&half, (const char *)halves + 2 * i, sizeof(half));
	return half;
}

INLINE void half_put(void *halves, size_t i, uint32_t bits)
{
	uint16_t half = (uint16_t)bits;

	memcpy((char *)halves + 2 * i, &half, sizeof(half));
}

/* --- one value: the bits of a float32 to 16 bits and back ----------------------------------------------------------- */

/* Half a unit added to the bits, ties to even, carries into the exponent and to infinity as rounding does. */
INLINE uint32_t bfloat16_from(uint32_t bits)
{
	uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, nan = bits >> 16 | 0x40;

	return (bits & INT32_MAX) > 0x7f800000 ? nan : rounded;
}

INLINE uint32_t bfloat16_to(uint32_t half)
{
	return half << 16;
}

INLINE uint32_t float16_from(uint32_t bits)
{
	uint32_t sign = bits >> 16 & 0x8000, size = bits & INT32_MAX;
	/* Below 2^-14 the unit is 2^-24, the last bit of 0.5: that addition rounds. */
	float sum = float_of(size) + 0.5f;
	uint32_t subnormal = float_bits(&sum) - 0x3f000000;
	uint32_t normal = (size + 0xfff + (size >> 13 & 1) - 0x38000000) >> 13, nan = 0x7e00 | (size >> 13 & 0x3ff);

	normal = size < 0x38800000 ? subnormal : size < 0x477ff000 ? normal : 0x7c00; /* from 65520: infinity */
	return sign | (size > 0x7f800000 ? nan : normal);
}

INLINE uint32_t float16_to(uint32_t half)
{
	uint32_t sign = (half & 0x8000) << 16, size = half & 0x7fff;
	float small = (float)(int32_t)size * 0x1p-24f;
	uint32_t normal = (size << 13) + 0x38000000, nan = 0x7fc00000 | size << 13;

	normal = size < 0x400 ? float_bits(&small) : size < 0x7c00 ? normal : 0x7f800000;
	return sign | (size > 0x7c00 ? nan : normal);
}

/* --- arrays --------------------------------------------------------------------------------------------------------- */

/* The statements for i = from, from + F16C_LANES, …: whole vectors; i is left at what remains. */
#if defined(KERNEL_ISA_avx512)
enum { F16C_LANES = 16 };
#define F16C_LOAD(p) _mm512_loadu_ps(p)
#define F16C_STORE(p, v) _mm512_storeu_ps(p, v)
#define F16C_FROM(v) _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define F16C_TO(v) _mm512_cvtph_ps(v)
#define F16C_LOAD_HALVES(p) _mm256_loadu_si256((const __m256i_u *)(p))
#define F16C_STORE_HALVES(p, v) _mm256_storeu_si256((__m256i_u *)(p), v)
#elif defined(KERNEL_ISA_avx2)
enum { F16C_LANES = 8 };
#define F16C_LOAD(p) _mm256_loadu_ps(p)
#define F16C_STORE(p, v) _mm256_storeu_ps(p, v)
#define F16C_FROM(v) _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define F16C_TO(v) _mm256_cvtph_ps(v)
#define F16C_LOAD_HALVES(p) _mm_loadu_si128((const __m128i_u *)(p))
#define F16C_STORE_HALVES(p, v) _mm_storeu_si128((__m128i_u *)(p), v)
#endif

/* The 16 bits of each value of x, rounded once; halves at any address. */
static void pack_halves(enum nc_dtype dtype, const float *x, size_t count, void *halves)
{
	size_t i = 0;

	if (dtype == NC_BFLOAT16) {
		for (; i < count; i++)
			half_put(halves, i, bfloat16_from(float_bits(x + i)));
		return;
	}
#ifdef F16C_FROM
	for (; i + F16C_LANES <= count; i += F16C_LANES)
		F16C_STORE_HALVES((char *)halves + 2 * i, F16C_FROM(F16C_LOAD(x + i)));
#endif
	for (; i < count; i++)
		half_put(halves, i, float16_from(float_bits(x + i)));
}

/* The values of 16 bits each, exact; halves at any address. */
static void unpack_halves(enum nc_dtype dtype, const void *halves, size_t count, float *out)
{
	size_t i = 0;

	if (dtype == NC_BFLOAT16) {
		for (; i < count; i++)
			out[i] = float_of(bfloat16_to(half_at(halves, i)));
		return;
	}
#ifdef F16C_TO
	for (; i + F16C_LANES <= count; i += F16C_LANES)
		F16C_STORE(out + i, F16C_TO(F16C_LOAD_HALVES((const char *)halves + 2 * i)));
#endif
	for (; i < count; i++)
		out[i] = float_of(float16_to(half_at(halves, i)));
}

/* Magnitudes from here on round to infinity: the largest value and half a unit. */
INLINE double convert_limit(enum nc_dtype to)
{
	return ldexp(2 - ldexp(1, -nc_dtype_mantissa_bits(to)), ilogb(nc_dtype_max(to)));
}

INLINE int convert_wide(enum nc_dtype dtype, const double *x, size_t n, float *out)
{
	struct rounding to = rounding_to(dtype);
	f64x16 limit = f64_set(convert_limit(dtype)), infinity = f64_set((double)INFINITY);
	i64x16 over = i64_set(0);

	ROW_BLOCKS(n, {
		f64x16 v = f64_load(x + i, count), size = f64_abs(v);

		over = i64_or(over, i64_and(f64_less_equal(limit, size), f64_less(size, infinity)));
		f64_store_f32(out + i, dtype == NC_FLOAT32 ? v : f64_select(f64_equal(v, v), f64_round(v, to), v), count);
	});
	return i64_any(over);
}

INLINE int convert_narrow(enum nc_dtype to, const float *x, size_t n, float *out)
{
	float least = (float)convert_limit(to);
	uint32_t limit = float_bits(&least), any = 0;
	size_t i = 0;

#ifdef F16C_FROM
	for (; to == NC_FLOAT16 && i + F16C_LANES <= n; i += F16C_LANES)
		F16C_STORE(out + i, F16C_TO(F16C_FROM(F16C_LOAD(x + i))));
#endif
	for (; i < n; i++) {
		uint32_t bits = float_bits(x + i);

		out[i] = float_of(to == NC_BFLOAT16 ? bfloat16_to(bfloat16_from(bits)) : float16_to(float16_from(bits)));
	}
	for (i = 0; i < n; i++) {
		uint32_t size = float_bits(x + i) & INT32_MAX;

		any |= (size >= limit) & (size < 0x7f800000);
	}
	return any != 0;
}

/*
 * Storage of one dtype to storage of another, each value rounded once; not in place. Other than 0: a finite value has
 * become an infinity.
 */
static int convert(enum nc_dtype from, const void *x, enum nc_dtype to, void *out, size_t n)
{
	if (from == to || (from != NC_FLOAT64 && to == NC_FLOAT32)) {
		memcpy(out, x, n * nc_dtype_storage_bytes(from));
		return 0;
	}
	if (to == NC_FLOAT64) {
		ROW_BLOCKS(n, { f64_store((double *)out + i, f64_load_f32((const float *)x + i, count), count); });
		return 0;
	}
	if (from != NC_FLOAT64)
		return to == NC_BFLOAT16 ? convert_narrow(NC_BFLOAT16, x, n, out) : convert_narrow(NC_FLOAT16, x, n, out);
	return to == NC_FLOAT32 ? convert_wide(NC_FLOAT32, x, n, out) : convert_wide(to, x, n, out);
}

#endif
