#include "norm_job.h"

#include "kernels.h"
#include "norm_wide.h"

#include <math.h>

/* Parts of parameters' gradients that are worth a chunk of their own; chunks are of whole lines of the caches. */
enum { CHUNK_PARTS = 32768, CHUNK_MULTIPLE = 64 };

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

static int run_task(const struct norm_job *job, struct norm_task task)
{
	return job->spec->dtype == NC_FLOAT64 ? kernels()->norm_pairs(job, task) : kernels()->norm_narrow(job, task);
}

void norm_job_rows(const struct norm_job *job, size_t first, size_t end)
{
	run_task(job, (struct norm_task){.first = first, .end = end, .stage = NORM_ROWS});
}

/* A stage of all rows: a chunk is a part of the columns of the rows of a block, whose gradients' sums are one. */
struct columns {
	const struct norm_job *job;
	size_t rows;
	enum norm_stage stage;
};

static void columns_chunk(void *context, size_t chunk)
{
	const struct columns *c = context;
	size_t parts = norm_job_parts(c->job->features), block = NORM_JOB_BLOCK * c->job->period, first = chunk / parts * block;
	size_t end = c->rows - first < block ? c->rows : first + block;

	run_task(c->job, (struct norm_task){.first = first, .end = end, .stage = c->stage, .part = chunk % parts});
}

bool norm_job_columns(struct norm_job *job, size_t rows, struct nc_pool *pool, struct nc_arena *arena)
{
	size_t parts = norm_job_parts(job->features), chunks = blocks_of(job, rows) * parts;
	struct columns c = {.job = job, .rows = rows, .stage = NORM_SUMS};

	job->known = nc_arena_zero(arena, rows, NORM_JOB_KNOWN_BYTES);
	job->sums = nc_arena_array(arena, rows * parts, NORM_JOB_SUMS_BYTES);
	if (!job->known || !job->sums)
		return false;
	while (run_task(job, (struct norm_task){.end = rows, .stage = NORM_SETTLE}))
		nc_pool_run(pool, columns_chunk, &c, chunks);
	c.stage = NORM_OUTPUTS;
	nc_pool_run(pool, columns_chunk, &c, chunks);
	return true;
}

struct sums {
	const struct norm_job *job;
	size_t blocks, chunk;
	void *dgain, *dbias;
	int doubt;
};

static void sum_chunk(void *context, size_t chunk)
{
	struct sums *sums = context;
	const struct norm_job *job = sums->job;
	size_t params = job->period * job->features, from = chunk * sums->chunk;
	size_t to = params - from < sums->chunk ? params : from + sums->chunk;
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
	size_t params = job->period * job->features, blocks = blocks_of(job, rows);
	size_t chunk = (CHUNK_PARTS / (blocks + !blocks) / CHUNK_MULTIPLE + 1) * CHUNK_MULTIPLE;
	struct sums sums = {job, blocks, chunk, dgain, dbias, 0};

	if (dgain || dbias)
		nc_pool_run(pool, sum_chunk, &sums, params / chunk + (params % chunk != 0));
	return !sums.doubt;
}
