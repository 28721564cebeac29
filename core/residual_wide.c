#include "residual_run.h"

/* The part of a gain or bias that belongs to a row. */
static struct nc_param row_param(const struct nc_residual_call *call, struct nc_param param, size_t row)
{
	if (param.count > 1) {
		param.data = residual_at(param.dtype, param.data, row % residual_period(call) * call->features);
		param.count = call->features;
	}
	return param;
}

static struct wide_row sum_row(const struct residual_run *run, size_t row)
{
	const struct nc_residual_call *call = run->call;
	size_t start = row * call->features;

	return (struct wide_row){
		.spec = &run->spec,
		.n = call->features,
		.x = residual_at(call->dtype, call->x, start),
		.update = residual_at(call->dtype, call->update, start),
		.skip = call->skip_scale,
		.scale = call->update_scale,
		.round_sum = call->round_sum,
		.gain = row_param(call, call->gain, row),
		.bias = row_param(call, call->bias, row),
	};
}

static void set(enum nc_dtype dtype, void *data, size_t i, struct wide value)
{
	if (data)
		nc_set_element(dtype, data, i, wide_round(value, dtype));
}

/* Element i of u · J_Fᵀ d for one row. */
static struct wide through_sublayer(const struct nc_residual_call *call, const struct wide *d, size_t i)
{
	const void *jacobian = call->sublayer_jacobian;
	struct wide sum = wide_from(0), scale = wide_from(call->update_scale);
	size_t n = call->features;

	switch (call->form) {
	case NC_JACOBIAN_NONE:
		break;
	case NC_JACOBIAN_NUMBER:
		sum = wide_mul(d[i], wide_from(nc_element(call->dtype, jacobian, 0)));
		break;
	case NC_JACOBIAN_DIAGONAL:
		sum = wide_mul(d[i], wide_from(nc_element(call->dtype, jacobian, i)));
		break;
	case NC_JACOBIAN_DENSE:
		for (size_t k = 0; k < n; k++)
			sum = wide_add(sum, wide_mul(d[k], wide_from(nc_element(call->dtype, jacobian, k * n + i))));
		break;
	}
	return wide_mul(scale, sum);
}

/* The gradients of one row, from d, the whole gradient of its sum. */
static void run_gradients(const struct residual_run *run, size_t start, const struct wide *d)
{
	const struct nc_residual_call *call = run->call;
	struct wide skip = wide_from(call->skip_scale), scale = wide_from(call->update_scale);

	for (size_t i = 0; i < call->features; i++) {
		struct wide identity = wide_mul(skip, d[i]), dx = identity;

		set(call->dtype, call->dupdate, start + i, wide_mul(scale, d[i]));
		if (call->form != NC_JACOBIAN_NONE && (call->dx || call->dx_sublayer)) {
			struct wide sublayer = through_sublayer(call, d, i);

			set(call->dtype, call->dx_sublayer, start + i, sublayer);
			dx = wide_add(dx, sublayer);
		}
		set(call->dtype, call->dx_identity, start + i, identity);
		set(call->dtype, call->dx, start + i, dx);
	}
}

void residual_row(struct residual_run *run, size_t row, struct wide *d)
{
	struct nc_residual_call *call = run->call;
	enum nc_dtype dtype = call->dtype, stat = dtype == NC_FLOAT64 ? NC_FLOAT64 : NC_FLOAT32;
	size_t n = call->features, start = row * n;
	struct wide_row w = sum_row(run, row);
	struct wide_projection p = {.gained = true};

	if (call->y) {
		struct wide_row unrounded = w;

		unrounded.round_sum = false;
		for (size_t i = 0; i < n; i++)
			set(dtype, call->y, start + i, wide_row_x(&unrounded, i));
	}
	if (call->norm) {
		if (!wide_row_begin(&w)) {
			size_t seen = __atomic_load_n(&run->bad_row, __ATOMIC_RELAXED);

			while (row < seen && !__atomic_compare_exchange_n(&run->bad_row, &seen, row, true, __ATOMIC_RELAXED,
			                                                  __ATOMIC_RELAXED))
				;
			return;
		}
		set(stat, call->divisor, row, w.r);
		set(stat, call->mean, row, w.mean);
		set(stat, call->variance, row, w.m);
		for (size_t i = 0; i < n && call->normed; i++)
			set(dtype, call->normed, start + i, wide_row_y(&w, i));
	}
	if (!run->gradients)
		return;
	if (call->dnormed) {
		p.u = residual_at(dtype, call->dnormed, start);
		wide_project_begin(&w, &p);
	}
	for (size_t i = 0; i < n; i++) {
		d[i] = call->dy ? wide_from(nc_element(dtype, call->dy, start + i)) : wide_from(0);
		if (call->dnormed)
			d[i] = wide_add(d[i], wide_project_at(&w, &p, i));
	}
	run_gradients(run, start, d);
}

enum nc_status residual_param_gradients(const struct residual_run *run, struct nc_arena *arena)
{
	const struct nc_residual_call *call = run->call;
	size_t n = call->features, count = n * residual_period(call);
	struct wide *dgain = nc_arena_array(arena, count, sizeof(*dgain)), *dbias = nc_arena_array(arena, count, sizeof(*dbias));

	if (!dgain || !dbias)
		return NC_NO_MEMORY;
	for (size_t i = 0; i < count; i++)
		dgain[i] = dbias[i] = wide_from(0);
	for (size_t row = 0; row < call->rows; row++) {
		struct wide_row w = sum_row(run, row);
		size_t part = row % residual_period(call) * n;

		wide_row_begin(&w);
		for (size_t i = 0; i < n; i++) {
			struct wide dy = wide_from(nc_element(call->dtype, call->dnormed, row * n + i));

			dbias[part + i] = wide_add(dbias[part + i], dy);
			dgain[part + i] = wide_add(dgain[part + i], wide_mul(dy, wide_row_xhat(&w, i)));
		}
	}
	for (size_t i = 0; i < count; i++) {
		set(call->dtype, call->dgain, i, dgain[i]);
		set(call->dtype, call->dbias, i, dbias[i]);
	}
	return NC_OK;
}

void residual_jacobians(const struct nc_residual_call *call)
{
	size_t n = call->features, count = call->form == NC_JACOBIAN_NUMBER ? 1 : n;

	if (call->form == NC_JACOBIAN_NONE || !(call->identity || call->sublayer || call->total))
		return;
	if (call->form == NC_JACOBIAN_DENSE)
		count = n * n;
	for (size_t i = 0; i < count; i++) {
		bool diagonal = call->form != NC_JACOBIAN_DENSE || i / n == i % n;
		struct wide identity = wide_from(diagonal ? call->skip_scale : 0);
		struct wide factor = wide_from(nc_element(call->dtype, call->sublayer_jacobian, i));
		struct wide sublayer = wide_mul(wide_from(call->update_scale), factor);

		set(call->dtype, call->identity, i, identity);
		set(call->dtype, call->sublayer, i, sublayer);
		set(call->dtype, call->total, i, wide_add(identity, sublayer));
	}
}
