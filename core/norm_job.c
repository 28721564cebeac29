#include "norm_job.h"

#include "kernels.h"
#include "norm_wide.h"

#include <math.h>

/* Parameters that are worth a chunk of their own. */
enum { CHUNK_PARAMS = 1024 };

/*
 * Bytes of an output from which on it is written past the caches: it would be gone from them before it is read, and a line
 * that is written whole need not be fetched first.
 */
enum { STREAM_BYTES = 16 << 20 };

static bool in_range(double magnitude)
{
	return magnitude == 0 || (magnitude >= NORM_JOB_LEAST && magnitude <= NORM_JOB_MOST);
}

/*
 * A gain or bias for the kernels: offset added; false when they cannot hold it, or memory is out. `narrow`: the kernel
 * takes float32 as it is, and `often` reads it so many times that a copy in float64 is worth its room.
 */
static bool prepare_param(struct norm_param *ready, struct nc_param param, double offset, size_t count, bool narrow, bool often,
                          struct nc_arena *arena)
{
	const struct kernels *k = kernels();

	*ready = (struct norm_param){0};
	if (!param.count)
		return true;
	if (param.dtype == NC_FLOAT64 && param.count == count && offset == 0) {
		ready->values = param.data;
		return !k->out_of_range(param.data, count);
	}
	bool as_given = narrow && param.dtype != NC_FLOAT64 && param.count == count && offset == 0;
	double *values = as_given && !often ? NULL : nc_arena_array(arena, count, sizeof(*values));

	ready->values = values;
	if (as_given) {
		ready->narrow = param.data;
		k->magnitudes(param.data, count, &ready->least, &ready->most);
		for (size_t i = 0; values && i < count; i++)
			values[i] = (double)ready->narrow[i];
		return isfinite(ready->most);
	}
	if (!values)
		return false;
	for (size_t i = 0; i < count; i++) {
		double given = nc_element(param.dtype, param.data, param.count == 1 ? 0 : i);

		values[i] = offset == 0 ? given : offset + given; /* 0 + -0 is not -0 */
	}
	return !k->out_of_range(values, count);
}

static size_t blocks_of(const struct norm_job *job, size_t rows)
{
	size_t block = NORM_JOB_BLOCK * job->period;

	return rows / block + (rows % block != 0);
}

bool norm_job_prepare(struct norm_job *job, size_t rows, struct nc_param gain, struct nc_param bias, bool dgain, bool dbias,
                      struct nc_arena *arena)
{
	const struct nc_norm_spec *spec = job->spec;
	size_t params = job->period * job->features;
	bool narrow = spec->dtype != NC_FLOAT64, often = job->u && rows > 4 * job->period;

	if (!in_range(spec->epsilon) || !prepare_param(&job->gain, gain, spec->gain_offset, params, narrow, often, arena) ||
	    !prepare_param(&job->bias, bias, 0, params, narrow, false, arena))
		return false;
	job->stream = rows * job->features * nc_dtype_storage_bytes(spec->dtype) >= STREAM_BYTES;
	job->slow = nc_arena_zero(arena, rows, 1);
	if (dgain)
		job->dgain = nc_arena_array(arena, blocks_of(job, rows), params * (norm_job_pairs(spec) ? 2 : 1) * sizeof(double));
	if (dbias)
		job->dbias = nc_arena_array(arena, blocks_of(job, rows), params * 2 * sizeof(double));
	return job->slow && (!dgain || job->dgain) && (!dbias || job->dbias);
}

void norm_job_rows(const struct norm_job *job, size_t first, size_t end)
{
	if (job->spec->dtype == NC_FLOAT64)
		kernels()->norm_pairs(job, first, end);
	else
		kernels()->norm_narrow(job, first, end);
}

struct sums {
	const struct norm_job *job;
	size_t blocks;
	void *dgain, *dbias;
	int doubt;
};

static void sum_chunk(void *context, size_t chunk)
{
	struct sums *sums = context;
	const struct norm_job *job = sums->job;
	size_t params = job->period * job->features, from = chunk * CHUNK_PARAMS;
	size_t to = params - from < CHUNK_PARAMS ? params : from + CHUNK_PARAMS;

	int doubt = 0;

	if (sums->dgain)
		doubt = kernels()->sum_blocks(job, job->dgain, sums->blocks, norm_job_pairs(job->spec), from, to, sums->dgain);
	if (sums->dbias)
		doubt |= kernels()->sum_blocks(job, job->dbias, sums->blocks, true, from, to, sums->dbias);
	if (doubt)
		__atomic_store_n(&sums->doubt, 1, __ATOMIC_RELAXED);
}

bool norm_job_sum(const struct norm_job *job, size_t rows, void *dgain, void *dbias, struct nc_pool *pool)
{
	struct sums sums = {job, blocks_of(job, rows), dgain, dbias, 0};
	size_t params = job->period * job->features;

	if (dgain || dbias)
		nc_pool_run(pool, sum_chunk, &sums, params / CHUNK_PARAMS + (params % CHUNK_PARAMS != 0));
	return !sums.doubt;
}
