#include "norm.h"

#include "kernels.h"
#include "norm_job.h"
#include "norm_wide.h"

#include <math.h>
#include <string.h>

/* One call and its state; a chunk is a run of whole rows, unless few long rows are cut by columns. */
struct run {
	const struct nc_norm_spec *spec;
	struct nc_norm_call *call;
	size_t chunk_rows;
	size_t bad_row;      /* the first row without a value, or SIZE_MAX */
	int any_slow;        /* the parameters' gradients need wide arithmetic */
	bool fast;           /* the kernels can hold the parameters */
	bool columns;        /* the kernels have done all rows by their columns */
	struct norm_job job; /* for the kernels; its `slow` marks the rows that they left alone */
};

/* Elements that are worth a chunk of their own; of a dense Jacobian. */
enum { CHUNK_ELEMENTS = 16384, JACOBIAN_ELEMENTS = 65536 };

/* Chunks of rows enough for every thread of most machines: below it, rows of several parts are cut by their columns. */
enum { ENOUGH_CHUNKS = 16 };

const char *nc_norm_accumulation(enum nc_dtype dtype)
{
	return dtype == NC_FLOAT64 ? "float64 compensated" : "float64";
}

static bool param_valid(struct nc_param param, size_t count)
{
	return !param.count || (param.data && (param.count == 1 || param.count == count));
}

static bool valid(const struct nc_norm_spec *spec, const struct nc_norm_call *call)
{
	size_t params, elements, square;

	if (!call->features || !call->period || call->rows % call->period)
		return false;
	if (__builtin_mul_overflow(call->period, call->features, &params) ||
	    __builtin_mul_overflow(call->rows, call->features, &elements))
		return false;
	if (call->jacobian && __builtin_mul_overflow(elements, call->features, &square))
		return false;
	if (!(isfinite(spec->epsilon) && spec->epsilon >= 0 && isfinite(spec->gain_offset)))
		return false;
	if (!param_valid(call->gain, params) || !param_valid(call->bias, params))
		return false;
	if (spec->kind == NC_RMSNORM && (call->bias.count || call->mean || call->variance))
		return false;
	if ((call->dx || call->dgain || call->dbias) && !call->dy)
		return false;
	if (call->jvp && !call->tangent)
		return false;
	if (!call->diagonal != !call->left || !call->diagonal != !call->right)
		return false;
	return !elements || call->x;
}

/* Element `index` of an array in the storage of dtype, as a pointer. */
static const void *at(enum nc_dtype dtype, const void *array, size_t index)
{
	return (const char *)array + index * nc_dtype_storage_bytes(dtype);
}

/* The part of a gain or bias that belongs to a row. */
static struct nc_param row_param(const struct nc_norm_call *call, struct nc_param param, size_t row)
{
	if (param.count > 1) {
		param.data = at(param.dtype, param.data, row % call->period * call->features);
		param.count = call->features;
	}
	return param;
}

static struct wide_row wide_row(const struct run *run, size_t row)
{
	const struct nc_norm_call *call = run->call;

	return (struct wide_row){
		.spec = run->spec,
		.n = call->features,
		.x = at(run->spec->dtype, call->x, row * call->features),
		.gain = row_param(call, call->gain, row),
		.bias = row_param(call, call->bias, row),
	};
}

/* Stats are never narrower than float32. */
static void set_stat(enum nc_dtype dtype, void *stats, size_t row, struct wide value)
{
	enum nc_dtype stored = dtype == NC_FLOAT64 ? NC_FLOAT64 : NC_FLOAT32;

	if (stats)
		nc_set_element(stored, stats, row, wide_round(value, stored));
}

static void note_bad_row(struct run *run, size_t row)
{
	size_t seen = __atomic_load_n(&run->bad_row, __ATOMIC_RELAXED);

	while (row < seen && !__atomic_compare_exchange_n(&run->bad_row, &seen, row, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* Every output of one row but the parameters' gradients and the Jacobians, in wide arithmetic. */
static void run_row(struct run *run, size_t row)
{
	const struct nc_norm_spec *spec = run->spec;
	const struct nc_norm_call *call = run->call;
	enum nc_dtype dtype = spec->dtype;
	size_t n = call->features, start = row * n;
	struct wide_row w = wide_row(run, row);

	if (!wide_row_begin(&w)) {
		note_bad_row(run, row);
		return;
	}
	set_stat(dtype, call->divisor, row, w.r);
	set_stat(dtype, call->mean, row, w.mean);
	set_stat(dtype, call->variance, row, w.m);

	for (size_t i = 0; i < n && call->xhat; i++)
		nc_set_element(dtype, call->xhat, start + i, wide_round(wide_row_xhat(&w, i), dtype));
	if (call->dx) {
		struct wide_projection p = {.u = at(dtype, call->dy, start), .gained = true};

		wide_project_begin(&w, &p);
		for (size_t i = 0; i < n; i++)
			nc_set_element(dtype, call->dx, start + i, wide_round(wide_project_at(&w, &p, i), dtype));
	}
	if (call->jvp) {
		struct wide_projection p = {.u = at(dtype, call->tangent, start)};

		wide_project_begin(&w, &p);
		for (size_t i = 0; i < n; i++) {
			struct wide g = wide_from(nc_gain_at(spec, w.gain, i));

			nc_set_element(dtype, call->jvp, start + i, wide_round(wide_mul(g, wide_project_at(&w, &p, i)), dtype));
		}
	}
	for (size_t i = 0; i < n && call->y; i++)
		nc_set_element(dtype, call->y, start + i, wide_round(wide_row_y(&w, i), dtype));
}

/* The job of the jvp, whose u is the tangent, from that of everything else. */
static struct norm_job jvp_job(const struct run *run)
{
	struct norm_job jvp = run->job;

	jvp.u = run->call->tangent;
	jvp.gained = false;
	jvp.projected = run->call->jvp;
	jvp.y = jvp.xhat = jvp.divisor = jvp.mean = jvp.variance = NULL;
	jvp.dgain = jvp.dbias = NULL;
	return jvp;
}

/* The rows of one chunk: those that the kernels can hold by them, then the others. */
static void run_chunk(void *context, size_t chunk)
{
	struct run *run = context;
	const struct nc_norm_call *call = run->call;
	size_t first = chunk * run->chunk_rows, end = first + run->chunk_rows;

	if (end > call->rows)
		end = call->rows;
	if (run->fast && !run->columns) {
		if (call->jvp) {
			struct norm_job jvp = jvp_job(run);

			norm_job_rows(&jvp, first, end);
		}
		norm_job_rows(&run->job, first, end);
	}
	for (size_t row = first; row < end; row++)
		if (!run->fast || run->job.slow[row]) {
			if (!run->fast || run->job.slow[row] == NORM_JOB_LEFT)
				__atomic_store_n(&run->any_slow, 1, __ATOMIC_RELAXED);
			run_row(run, row);
		}
}

/* Few long rows, by their columns; false: memory is out. */
static bool run_columns(struct run *run, struct nc_pool *pool, struct nc_arena *arena)
{
	size_t rows = run->call->rows;
	struct norm_job jvp = jvp_job(run);

	run->columns = true;
	return (!run->call->jvp || norm_job_columns(&jvp, rows, pool, arena)) && norm_job_columns(&run->job, rows, pool, arena);
}

/* Lines of a dense Jacobian that make a chunk, whose number depends on the shape alone. */
static size_t jacobian_lines(const struct nc_norm_call *call)
{
	return JACOBIAN_ELEMENTS / call->features + 1;
}

static size_t jacobian_chunks(const struct nc_norm_call *call)
{
	size_t lines = jacobian_lines(call);

	return call->features / lines + (call->features % lines != 0);
}

static void jacobian_chunk(void *context, size_t chunk)
{
	struct run *run = context;
	const struct nc_norm_call *call = run->call;
	enum nc_dtype dtype = run->spec->dtype;
	size_t n = call->features, lines = jacobian_lines(call), row = chunk / jacobian_chunks(call);
	size_t first = chunk % jacobian_chunks(call) * lines, end = n - first < lines ? n : first + lines;
	char *out = (char *)call->jacobian + (row * n + first) * n * nc_dtype_storage_bytes(dtype);

	if (run->fast && !kernels()->jacobian(&run->job, row, first, end, out))
		return;
	struct wide_row w = wide_row(run, row);

	wide_row_begin(&w);
	for (size_t i = first; i < end; i++)
		for (size_t j = 0; j < n; j++)
			nc_set_element(dtype, out, (i - first) * n + j, wide_round(wide_row_jacobian(&w, i, j), dtype));
}

/* The factors of the structured Jacobian are float64 whatever the dtype: the kernel takes x as float64. */
static void factors_chunk(void *context, size_t row)
{
	struct run *run = context;
	const struct nc_norm_call *call = run->call;
	size_t n = call->features, start = row * n, rank = nc_norm_rank(run->spec->kind);
	double *diagonal = call->diagonal + start, *left = call->left + start * rank, *right = call->right + start * rank;
	const void *x = at(run->spec->dtype, call->x, start);

	if (run->fast) {
		if (run->spec->dtype != NC_FLOAT64) {
			kernels()->convert(run->spec->dtype, x, NC_FLOAT64, diagonal, n);
			x = diagonal;
		}
		if (!kernels()->factors(&run->job, row, x, diagonal, left, right))
			return;
	}
	struct wide_row w = wide_row(run, row);

	wide_row_begin(&w);
	for (size_t i = 0; i < n; i++)
		wide_row_factors(&w, i, diagonal + i, left + i * rank, right + i * rank);
}

/* dgain = Σ dy ⊙ x̂ and dbias = Σ dy over the rows of each part, in wide arithmetic. */
static enum nc_status param_gradients(const struct run *run, struct nc_arena *arena)
{
	const struct nc_norm_call *call = run->call;
	enum nc_dtype dtype = run->spec->dtype;
	size_t n = call->features, count = n * call->period;
	struct wide *dgain = nc_arena_array(arena, count, sizeof(*dgain));
	struct wide *dbias = nc_arena_array(arena, count, sizeof(*dbias));

	if (!dgain || !dbias)
		return NC_NO_MEMORY;
	for (size_t i = 0; i < count; i++)
		dgain[i] = dbias[i] = wide_from(0);
	for (size_t row = 0; row < call->rows; row++) {
		struct wide_row w = wide_row(run, row);
		size_t part = row % call->period * n;

		if (call->dgain)
			wide_row_begin(&w);
		for (size_t i = 0; i < n; i++) {
			struct wide dy = wide_from(nc_element(dtype, call->dy, row * n + i));

			dbias[part + i] = wide_add(dbias[part + i], dy);
			if (call->dgain)
				dgain[part + i] = wide_add(dgain[part + i], wide_mul(dy, wide_row_xhat(&w, i)));
		}
	}
	for (size_t i = 0; i < count; i++) {
		if (call->dgain)
			nc_set_element(dtype, call->dgain, i, wide_round(dgain[i], dtype));
		if (call->dbias)
			nc_set_element(dtype, call->dbias, i, wide_round(dbias[i], dtype));
	}
	return NC_OK;
}

/* Fills run->job; run->fast stays false where the kernels cannot do it. */
static void prepare(struct run *run, struct nc_arena *arena)
{
	struct nc_norm_call *call = run->call;

	run->job = (struct norm_job){
		.spec = run->spec,
		.features = call->features,
		.period = call->period,
		.x = call->x,
		.gained = true,
		.projected = call->dx,
		.y = call->y,
		.xhat = call->xhat,
		.divisor = call->divisor,
		.mean = call->mean,
		.variance = call->variance,
	};
	if (call->dx || call->dgain || call->dbias)
		run->job.u = call->dy;
	run->fast = norm_job_prepare(&run->job, call->rows, call->gain, call->bias, call->dgain, call->dbias, arena);
}

/* Every row, then the Jacobians and the parameters' gradients. */
static enum nc_status run_all(struct run *run, struct nc_pool *pool, struct nc_arena *arena)
{
	struct nc_norm_call *call = run->call;
	size_t rows = call->rows, chunks = rows / run->chunk_rows + (rows % run->chunk_rows != 0);

	if (run->fast && chunks < ENOUGH_CHUNKS && norm_job_parts(call->features) > 1 && !run_columns(run, pool, arena))
		return NC_NO_MEMORY;
	nc_pool_run(pool, run_chunk, run, chunks);
	if (run->bad_row != SIZE_MAX) {
		call->bad_row = run->bad_row;
		return NC_NO_VALUE;
	}
	if (call->jacobian)
		nc_pool_run(pool, jacobian_chunk, run, rows * jacobian_chunks(call));
	if (call->diagonal)
		nc_pool_run(pool, factors_chunk, run, rows);
	if (!call->dgain && !call->dbias)
		return NC_OK;
	if (run->fast && !run->any_slow && norm_job_sum(&run->job, rows, call->dgain, call->dbias, pool))
		return NC_OK;
	return param_gradients(run, arena);
}

enum nc_status nc_norm(const struct nc_norm_spec *spec, struct nc_norm_call *call, struct nc_pool *pool,
                       struct nc_arena *arena)
{
	if (!valid(spec, call))
		return NC_INVALID;
	size_t mark = nc_arena_mark(arena), block = NORM_JOB_BLOCK * (call->dgain || call->dbias ? call->period : 1);
	struct run run = {.spec = spec, .call = call, .bad_row = SIZE_MAX};

	size_t bytes = call->rows * call->features * nc_dtype_storage_bytes(spec->dtype);
	void *y = call->y;

	/* A row may be done twice, and its x is needed again: y is not written over it before the end. */
	if (y && y == call->x && !(call->y = nc_arena_alloc(arena, bytes))) {
		call->y = y;
		return NC_NO_MEMORY;
	}
	run.chunk_rows = (CHUNK_ELEMENTS / call->features / block + 1) * block;
	prepare(&run, arena);
	enum nc_status status = run_all(&run, pool, arena);
	if (call->y != y) {
		if (bytes)
			memcpy(y, call->y, bytes);
		call->y = y;
	}
	nc_arena_rewind(arena, mark);
	return status;
}
