/* Gains, biases and the sums of their gradients. */
#ifndef KERNELS_PARAMS_H
#define KERNELS_PARAMS_H

#include "core/norm_job.h"
#include "pairs.h"
#include "rounding.h"

/* The least magnitude but 0 (else an infinity) and the largest, by their bits: infinities and NaN are the largest. */
static void magnitudes(const float *x, size_t n, float *least, float *most)
{
	uint32_t infinity = 0x7f800000, low = infinity - 1, high = 0, bits;

	for (size_t i = 0; i < n; i++) {
		memcpy(&bits, x + i, sizeof(bits));
		bits &= 0x7fffffff;
		high = bits > high ? bits : high;
		low = bits - 1 < low ? bits - 1 : low; /* 0 is the largest then */
	}
	low++;
	memcpy(least, &low, sizeof(low));
	memcpy(most, &high, sizeof(high));
}

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

INLINE i64x16 sum_columns(enum nc_dtype dtype, struct rounding to, size_t params, const double *parts, size_t blocks, bool pairs,
                        size_t at, unsigned count, void *out)
{
	struct pair16 sum = {f64_set(0), f64_set(0)};
	i64x16 doubt = i64_set(0);

	for (size_t b = 0; b < blocks; b++) {
		const double *part = parts + b * (pairs ? 2 * params : params) + at;

		if (pairs)
			sum = pair16_add(sum, pair16_renormal(f64_load(part, count), f64_load(part + params, count)));
		else
			pair16_accumulate(&sum, (struct pair16){f64_load(part, count), f64_set(0)});
	}
	if (!pairs)
		sum = pair16_renormal(sum.high, sum.low);
	if (dtype == NC_FLOAT64) {
		f64_store((double *)out + at, sum.high, count);
		return doubt;
	}
	f64x16 odd = round_to_odd(sum.high, sum.low);
	f64_store_f32((float *)out + at, dtype == NC_FLOAT32 ? odd : f64_round(odd, to), count);
	if (dtype != NC_FLOAT32 && !pairs)
		doubt = f64_doubtful(f64_zero_beyond(sum.high, count), to, NORM_ERROR);
	return doubt;
}

/*
 * The sums of dgain or dbias (with low parts when `pairs`) over all blocks, block by block, for the parameters [from, to);
 * rounded once into out. Other than 0: a rounding to few bits may be decided by the errors of sums without low parts.
 */
static int sum_blocks(const struct norm_job *job, const double *parts, size_t blocks, bool pairs, size_t from, size_t to,
                       void *out)
{
	enum nc_dtype dtype = job->spec->dtype;
	struct rounding rounding = rounding_to(dtype);
	size_t params = job->period * job->features;
	i64x16 doubt = i64_set(0);

	for (; from + LANES <= to; from += LANES)
		doubt = i64_or(doubt, sum_columns(dtype, rounding, params, parts, blocks, pairs, from, LANES, out));
	if (from < to)
		doubt = i64_or(doubt, sum_columns(dtype, rounding, params, parts, blocks, pairs, from, (unsigned)(to - from), out));
	return i64_any(doubt);
}

#endif
