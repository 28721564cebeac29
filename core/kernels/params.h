/* Gains, biases and the sums of their gradients. */
#ifndef KERNELS_PARAMS_H
#define KERNELS_PARAMS_H

#include "core/norm_job.h"
#include "pairs.h"
#include "rounding.h"

/* Whether any value is an infinity or NaN. */
static int not_finite(const float *x, size_t count)
{
	uint32_t bits, any = 0;

	for (size_t i = 0; i < count; i++) {
		memcpy(&bits, x + i, sizeof(bits));
		any |= (bits & 0x7fffffff) >= 0x7f800000;
	}
	return any != 0;
}

static int not_finite_f64(const double *x, size_t count)
{
	int64_t bits, any = 0;

	for (size_t i = 0; i < count; i++) {
		memcpy(&bits, x + i, sizeof(bits));
		any |= (bits & INT64_MAX) >= 0x7ff0000000000000;
	}
	return any != 0;
}

/* Whether any value other than 0 has a magnitude outside NORM_JOB_LEAST … NORM_JOB_MOST. */
static int out_of_range(const double *x, size_t count)
{
	double least = NORM_JOB_LEAST, most = NORM_JOB_MOST;
	int64_t low, high, bits, any = 0;

	memcpy(&low, &least, sizeof(low));
	memcpy(&high, &most, sizeof(high));
	for (size_t i = 0; i < count; i++) {
		memcpy(&bits, x + i, sizeof(bits));
		bits &= INT64_MAX;
		any |= (bits > high) | ((bits < low) & (bits != 0));
	}
	return any != 0;
}

/*
 * high + low made ready for one rounding to fewer bits: when low is not 0 the last bit of high is made odd, on low's
 * side (Boldo and Melquiond 2008).
 */
INLINE f64x16 round_to_odd(f64x16 high, f64x16 low)
{
	i64x16 exact = f64_equal(low, f64_set(0));
	f64x16 r;

	EACH(vi64 bits = BITS(high.v[k]); vi64 even = (bits & 1) - 1; vi64 step = ((bits ^ BITS(low.v[k])) >> 63) | 1;
	     r.v[k] = UNBITS(bits + (step & even & ~exact.v[k]));)
	return r;
}

INLINE void sum_columns(const struct norm_job *job, const double *parts, size_t blocks, bool pairs, size_t at, unsigned count,
                        void *out)
{
	enum nc_dtype dtype = job->spec->dtype;
	size_t params = job->period * job->features, stride = pairs ? 2 * params : params;
	struct pair16 sum = {f64_set(0), f64_set(0)};

	for (size_t b = 0; b < blocks; b++) {
		const double *part = parts + b * stride + at;

		if (pairs)
			sum = pair16_add(sum, pair16_renormal(f64_load(part, count), f64_load(part + params, count)));
		else
			sum = pair16_add(sum, (struct pair16){f64_load(part, count), f64_set(0)});
	}
	if (dtype == NC_FLOAT64)
		f64_store((double *)out + at, sum.high, count);
	else
		f64_store_f32((float *)out + at, f64_round(round_to_odd(sum.high, sum.low), rounding_to(dtype)), count);
}

/*
 * The sums of dgain or dbias (with low parts when `pairs`) over all blocks, block by block, for the parameters [from, to);
 * rounded once into out.
 */
static void sum_blocks(const struct norm_job *job, const double *parts, size_t blocks, bool pairs, size_t from, size_t to,
                       void *out)
{
	for (; from + LANES <= to; from += LANES)
		sum_columns(job, parts, blocks, pairs, from, LANES, out);
	if (from < to)
		sum_columns(job, parts, blocks, pairs, from, (unsigned)(to - from), out);
}

#endif
