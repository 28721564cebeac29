#include "residual_run.h"

#include "kernels.h"

#include <math.h>

/* Elements that are worth a chunk; that a slot holds. */
enum { CHUNK_ELEMENTS = 16384, GROUP_ELEMENTS = 8192 };

/* Long rows that are so few that they are cut by columns: the unrounded sums of all of them are in memory at once. */
enum { FEW_ROWS = 4 };

static bool param_valid(struct nc_param param, size_t n)
{
	return !param.count || (param.data && (param.count == 1 || param.count == n));
}

static bool valid(const struct nc_residual_call *call)
{
	const struct nc_norm_spec *norm = call->norm;
	size_t elements, square, params, parts = call->period ? call->period : 1;

	if (!call->features || call->rows % parts || __builtin_mul_overflow(parts, call->features, &params) ||
	    __builtin_mul_overflow(call->rows, call->features, &elements))
		return false;
	if (!isfinite(call->skip_scale) || !isfinite(call->update_scale))
		return false;
	if (elements && (!call->x || !call->update))
		return false;
	if (call->form != NC_JACOBIAN_NONE && !call->sublayer_jacobian)
		return false;
	if (call->form == NC_JACOBIAN_DENSE && __builtin_mul_overflow(call->features, call->features, &square))
		return false;
	if (call->form == NC_JACOBIAN_NONE &&
	    (call->dx_identity || call->dx_sublayer || call->identity || call->sublayer || call->total))
		return false;
	if ((call->dx || call->dupdate || call->dx_identity || call->dx_sublayer) && !call->dy && !call->dnormed)
		return false;
	if ((call->dgain || call->dbias) && !call->dnormed)
		return false;
	if (!norm)
		return !call->dnormed && !call->normed && !call->divisor && !call->mean && !call->variance;
	if (norm->dtype != call->dtype || !(isfinite(norm->epsilon) && norm->epsilon >= 0) || !isfinite(norm->gain_offset))
		return false;
	if (norm->kind == NC_RMSNORM && (call->bias.count || call->mean || call->variance))
		return false;
	return param_valid(call->gain, params) && param_valid(call->bias, params);
}

/* Columns [from, to) of one row, whose slot begins with row `base`. */
struct piece {
	size_t row, base, from, to;
};

static size_t piece_start(const struct residual_run *run, const struct piece *p)
{
	return p->row * run->call->features + p->from;
}

/* Its place in an array of a slot, where there is one. */
static double *piece_of(const struct residual_run *run, const struct piece *p, double *slot)
{
	return slot ? slot + (p->row - p->base) * run->call->features + p->from : NULL;
}

/* Element `index` of an array of the call's, which may be absent. */
static void *moved(const struct nc_residual_call *call, const void *array, size_t index)
{
	return array ? (void *)(uintptr_t)residual_at(call->dtype, array, index) : NULL;
}

/* Threads may mark a row for its different pieces at once. */
static void mark(struct residual_run *run, size_t row, unsigned char how)
{
	__atomic_store_n(&run->job.slow[row], how, __ATOMIC_RELAXED);
}

static bool marked(const struct residual_run *run, size_t row)
{
	return __atomic_load_n(&run->job.slow[row], __ATOMIC_RELAXED);
}

/* The sums: rounded into y, unrounded into the slot for a norm. */
static void sum_piece(struct residual_run *run, const struct residual_slot *slot, struct piece p)
{
	const struct nc_residual_call *call = run->call;
	size_t start = piece_start(run, &p);
	double *high = piece_of(run, &p, slot->sum), *low = piece_of(run, &p, slot->sum_low);
	void *rounded = moved(call, run->rounded, start);

	if ((rounded || high) &&
	    kernels()->residual_sum(call->dtype, call->skip_scale, residual_at(call->dtype, call->x, start), call->update_scale,
	                            residual_at(call->dtype, call->update, start), p.to - p.from, rounded, high, low))
		mark(run, p.row, NORM_JOB_LEFT);
}

/* s·d or u·d, when it is wanted; what is not certain to be right is left to wide arithmetic. */
static void scale_piece(struct residual_run *run, const struct residual_slot *slot, double scale, const struct piece *p, void *out)
{
	const struct nc_residual_call *call = run->call;
	double *vjp = piece_of(run, p, slot->vjp), *low = piece_of(run, p, slot->vjp_low);
	void *place = moved(call, out, piece_start(run, p));
	size_t n = p->to - p->from;
	int doubt;

	if (!place)
		return;
	if (vjp)
		doubt = kernels()->residual_scale(call->dtype, scale, vjp, low, n, place);
	else
		doubt = kernels()->residual_sum(call->dtype, scale, residual_at(call->dtype, call->dy, piece_start(run, p)), 0, NULL, n, place, NULL,
		                                NULL);
	if (doubt && !marked(run, p->row))
		mark(run, p->row, NORM_JOB_DOUBTFUL);
}

static void gradient_piece(struct residual_run *run, const struct residual_slot *slot, struct piece p)
{
	const struct nc_residual_call *call = run->call;
	double *vjp = piece_of(run, &p, slot->vjp);

	if (marked(run, p.row))
		return;
	if (vjp && call->dy &&
	    kernels()->residual_gather(call->dtype, residual_at(call->dtype, call->dy, piece_start(run, &p)), p.to - p.from, vjp,
	                               piece_of(run, &p, slot->vjp_low)))
		mark(run, p.row, NORM_JOB_DOUBTFUL);
	scale_piece(run, slot, call->skip_scale, &p, call->dx);
	scale_piece(run, slot, call->update_scale, &p, call->dupdate);
}

/* The norm's job for the rows of a slot, which begins with row `base`. */
static struct norm_job slot_job(const struct residual_run *run, const struct residual_slot *slot, size_t base)
{
	struct norm_job job = run->job;

	job.sum = slot->sum;
	job.sum_low = slot->sum_low;
	job.vjp = slot->vjp;
	job.vjp_low = slot->vjp_low;
	job.base = base;
	return job;
}

static void run_group(struct residual_run *run, const struct residual_slot *slot, size_t first, size_t end)
{
	size_t n = run->call->features;

	for (size_t row = first; row < end; row++)
		sum_piece(run, slot, (struct piece){row, first, 0, n});
	if (run->call->norm) {
		struct norm_job job = slot_job(run, slot, first);

		norm_job_rows(&job, first, end);
	}
	for (size_t row = first; row < end && run->gradients; row++)
		gradient_piece(run, slot, (struct piece){row, first, 0, n});
}

/* A part of the columns of one row, all of which are in the first slot. */
static struct piece part_of(const struct residual_run *run, size_t chunk)
{
	size_t n = run->call->features, parts = norm_job_parts(n), part = chunk % parts;

	return (struct piece){chunk / parts, 0, part * NORM_JOB_PART, norm_job_part_end(n, part)};
}

static void sum_part(void *context, size_t chunk)
{
	struct residual_run *run = context;

	sum_piece(run, run->slots, part_of(run, chunk));
}

static void gradient_part(void *context, size_t chunk)
{
	struct residual_run *run = context;

	gradient_piece(run, run->slots, part_of(run, chunk));
}

/* What run_group does, of all rows by their columns; false: memory is out. */
static bool run_columns(struct residual_run *run, struct nc_pool *pool, struct nc_arena *arena)
{
	size_t rows = run->call->rows, chunks = rows * norm_job_parts(run->call->features);
	struct norm_job job = slot_job(run, run->slots, 0);

	nc_pool_run(pool, sum_part, run, chunks);
	if (!norm_job_columns(&job, rows, pool, arena))
		return false;
	if (run->gradients)
		nc_pool_run(pool, gradient_part, run, chunks);
	return true;
}

static struct residual_slot *take_slot(struct residual_run *run)
{
	for (unsigned i = 0;; i = (i + 1) % run->slot_count)
		if (!__atomic_exchange_n(&run->slots[i].taken, 1, __ATOMIC_ACQUIRE))
			return &run->slots[i];
}

static void run_chunk(void *context, size_t chunk)
{
	struct residual_run *run = context;
	size_t first = chunk * run->chunk_rows, end = first + run->chunk_rows;
	struct residual_slot *slot = take_slot(run);

	if (end > run->call->rows)
		end = run->call->rows;
	for (size_t row = first; row < end && run->fast && !run->columns; row += run->group_rows)
		run_group(run, slot, row, end - row < run->group_rows ? end : row + run->group_rows);
	for (size_t row = first; row < end; row++)
		if (!run->fast || run->job.slow[row]) {
			if (!run->fast || run->job.slow[row] == NORM_JOB_LEFT)
				__atomic_store_n(&run->any_slow, 1, __ATOMIC_RELAXED);
			residual_row(run, row, slot->d);
		}
	__atomic_store_n(&slot->taken, 0, __ATOMIC_RELEASE);
}

static bool scale_fits(double scale)
{
	return scale == 0 || (fabs(scale) >= NORM_JOB_LEAST && fabs(scale) <= NORM_JOB_MOST);
}

/* Sets run->fast where the kernels can do it, and what they need. */
static void prepare(struct residual_run *run, struct nc_arena *arena)
{
	const struct nc_residual_call *call = run->call;

	run->job = (struct norm_job){
		.spec = &run->spec,
		.features = call->features,
		.period = residual_period(call),
		.x = call->round_sum ? run->rounded : NULL,
		.gained = true,
		.u = run->gradients || call->dgain || call->dbias ? call->dnormed : NULL,
		.y = call->normed,
		.divisor = call->divisor,
		.mean = call->mean,
		.variance = call->variance,
	};
	if (!scale_fits(call->skip_scale) || !scale_fits(call->update_scale) || (call->form != NC_JACOBIAN_NONE && run->gradients))
		return;
	if (call->norm) {
		run->fast = norm_job_prepare(&run->job, call->rows, call->gain, call->bias, call->dgain, call->dbias, arena);
	} else {
		run->job.slow = nc_arena_zero(arena, call->rows, 1);
		run->fast = run->job.slow;
	}
}

static enum nc_status make_slots(struct residual_run *run, struct nc_arena *arena)
{
	const struct nc_residual_call *call = run->call;
	size_t n = call->features, count;
	bool pairs = call->dtype == NC_FLOAT64, sum = run->fast && call->norm && !call->round_sum;
	bool vjp = run->fast && run->gradients && call->dnormed;

	if (__builtin_mul_overflow(run->group_rows, n, &count))
		return NC_NO_MEMORY;
	run->slots = nc_arena_zero(arena, run->slot_count, sizeof(*run->slots));
	for (unsigned i = 0; run->slots && i < run->slot_count; i++) {
		struct residual_slot *slot = &run->slots[i];
		double **wanted[] = {sum ? &slot->sum : NULL, sum && pairs ? &slot->sum_low : NULL, vjp ? &slot->vjp : NULL,
		                     vjp && pairs ? &slot->vjp_low : NULL};

		for (int k = 0; k < 4 && (i == 0 || !run->columns); k++)
			if (wanted[k] && !(*wanted[k] = nc_arena_array(arena, count, sizeof(double))))
				return NC_NO_MEMORY;
		if (run->gradients && !(slot->d = nc_arena_array(arena, n, sizeof(*slot->d))))
			return NC_NO_MEMORY;
	}
	return run->slots ? NC_OK : NC_NO_MEMORY;
}

static enum nc_status run_all(struct residual_run *run, struct nc_pool *pool, struct nc_arena *arena)
{
	struct nc_residual_call *call = run->call;
	enum nc_status status;

	run->rounded = call->y;
	if (call->norm && call->round_sum && !call->y &&
	    !(run->rounded = nc_arena_array(arena, call->rows * call->features, nc_dtype_storage_bytes(call->dtype))))
		return NC_NO_MEMORY;
	prepare(run, arena);
	run->columns = run->fast && call->norm && call->rows <= FEW_ROWS && norm_job_parts(call->features) > 1;
	if (run->columns)
		run->group_rows = call->rows;
	status = make_slots(run, arena);
	if (status)
		return status;
	if (run->columns && !run_columns(run, pool, arena))
		return NC_NO_MEMORY;
	nc_pool_run(pool, run_chunk, run, call->rows / run->chunk_rows + (call->rows % run->chunk_rows != 0));
	if (run->bad_row != SIZE_MAX) {
		call->bad_row = run->bad_row;
		return NC_NO_VALUE;
	}
	residual_jacobians(call);
	if (!call->dgain && !call->dbias)
		return NC_OK;
	if (run->fast && !run->any_slow && norm_job_sum(&run->job, call->rows, call->dgain, call->dbias, pool))
		return NC_OK;
	return residual_param_gradients(run, arena);
}

/* Without a norm and J_F a row is nothing but its elements: long rows are done as rows of GROUP_ELEMENTS and a rest. */
static enum nc_status run_elements(const struct nc_residual_call *call, struct nc_pool *pool, struct nc_arena *arena)
{
	size_t count = call->rows * call->features, whole = count / GROUP_ELEMENTS * GROUP_ELEMENTS;
	struct nc_residual_call part = *call, rest = *call;
	enum nc_status status;

	part.rows = count / GROUP_ELEMENTS;
	part.features = GROUP_ELEMENTS;
	status = nc_residual(&part, pool, arena);
	if (status || whole == count)
		return status;
	rest.rows = 1;
	rest.features = count - whole;
	rest.x = moved(call, call->x, whole);
	rest.update = moved(call, call->update, whole);
	rest.dy = moved(call, call->dy, whole);
	rest.y = moved(call, call->y, whole);
	rest.dx = moved(call, call->dx, whole);
	rest.dupdate = moved(call, call->dupdate, whole);
	return nc_residual(&rest, NULL, arena);
}

enum nc_status nc_residual(struct nc_residual_call *call, struct nc_pool *pool, struct nc_arena *arena)
{
	if (!valid(call))
		return NC_INVALID;
	if (!call->norm && call->form == NC_JACOBIAN_NONE && call->features > GROUP_ELEMENTS)
		return run_elements(call, pool, arena);

	size_t mark = nc_arena_mark(arena), block = call->dgain || call->dbias ? NORM_JOB_BLOCK * residual_period(call) : 1;
	struct residual_run run = {
		.call = call,
		.spec = call->norm ? *call->norm : (struct nc_norm_spec){.dtype = call->dtype},
		.chunk_rows = (CHUNK_ELEMENTS / call->features / block + 1) * block,
		.group_rows = GROUP_ELEMENTS / call->features + 1,
		.bad_row = SIZE_MAX,
		.gradients = call->dx || call->dupdate || call->dx_identity || call->dx_sublayer,
		.slot_count = nc_pool_threads(pool),
	};
	enum nc_status status = run_all(&run, pool, arena);

	nc_arena_rewind(arena, mark);
	return status;
}
