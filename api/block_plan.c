/* What an answer of /block/grad will hold: limits first, then the arrays that core fills. */
#include "block_answer.h"

#include <string.h>

static double *room(struct call *call, size_t count)
{
	double *values = nc_arena_array(call->arena, count, sizeof *values);

	if (!values)
		fail_memory(call);
	return values;
}

/* What the answer may take as text, from the shapes of all that it will hold. */
static bool admit(struct call *call, struct writer *out, const struct block_request *r)
{
	size_t weights = 0, layers = r->by_layer ? r->depth : 1, n = 0, square[4];
	const struct nc_tensor *x = &r->x.tensor;
	unsigned rank = x->rank;

	for (size_t i = 0; i < r->core.sublayer_count; i++)
		for (int slot = 0; slot < NC_SLOT_COUNT; slot++)
			weights += r->core.sublayers[i].weight[slot].count > 0;
	if (__builtin_mul_overflow(weights, 2 * layers, &weights))
		return fail_memory(call);
	struct output *outputs = nc_arena_array(call->arena, weights + 2 * r->core.sublayer_count + 4, sizeof *outputs);

	if (!outputs)
		return fail_memory(call);
#define ADD(wanted, key, dtype, shape, rank)                                                                           \
	if (wanted)                                                                                                    \
	block_output(call, key, dtype, shape, rank, NULL, NULL, &outputs[n++])
	ADD(r->wanted[KEY_Y], "y", call->dtype, x->shape, rank);
	ADD(r->wanted[KEY_DX], "dx", call->dtype, x->shape, rank);
	for (size_t i = 0; i < r->core.sublayer_count && r->wanted[KEY_BRANCHES]; i++) {
		ADD(true, "branches", call->dtype, x->shape, rank);
		ADD(true, "branches", call->dtype, x->shape, rank);
	}
	if (r->wanted[KEY_JACOBIAN]) {
		memcpy(square, x->shape, rank * sizeof *square);
		memcpy(square + rank, x->shape, rank * sizeof *square);
		for (int part = 0; part < 1 + (r->core.placement != NC_PLACEMENT_POST); part++) {
			ADD(true, part ? "sublayer" : "total", call->dtype, square, 2 * rank);
			outputs[n - 1].group = "jacobian";
		}
	}
#undef ADD
	for (size_t layer = 0; layer < layers; layer++)
		for (size_t i = 0; i < r->core.sublayer_count; i++)
			for (int slot = 0; slot < NC_SLOT_COUNT; slot++) {
				if (!r->core.sublayers[i].weight[slot].count)
					continue;
				if (r->wanted[KEY_DPARAMS])
					block_slot_output(call, r, i, (enum nc_slot)slot, call->dtype, NULL, NULL,
					                  &outputs[n++]);
				if (r->wanted[KEY_PARAMS])
					block_slot_output(call, r, i, (enum nc_slot)slot, call->param_dtype, NULL, NULL,
					                  &outputs[n++]);
			}
	return outputs_admit(call, out, outputs, n);
}

/* Sizes of the weights that init will make, so that limits can be checked before. */
static void size_seeded(struct block_request *r)
{
	for (size_t i = 0; i < r->core.sublayer_count; i++) {
		struct nc_sublayer *s = &r->core.sublayers[i];
		size_t shape[2];

		for (int slot = 0; slot < NC_SLOT_COUNT && s->init.scheme != NC_SCHEME_NONE; slot++)
			if (nc_slot_required(s, (enum nc_slot)slot)) {
				nc_slot_shape(&r->core, s, (enum nc_slot)slot, shape);
				if (__builtin_mul_overflow(shape[0], shape[1], &s->weight[slot].count))
					s->weight[slot].count = (size_t)-1;
			}
	}
}

/* Fails unless the memory of one request holds the stack with its weights and gradients. */
static bool memory_admit(struct call *call, const struct block_request *r, const struct nc_block_call *core)
{
	const struct path at = {.key = "depth"};
	size_t work = nc_block_work_bytes(&r->core, core), left = nc_arena_left(call->arena);
	double numbers = 0, bytes;

	for (size_t i = 0; i < r->core.sublayer_count; i++)
		for (int slot = 0; slot < NC_SLOT_COUNT; slot++) {
			const struct nc_weight *w = &r->core.sublayers[i].weight[slot];

			numbers += (double)w->count * (double)r->depth * (w->value ? 0 : 1);
			numbers += r->wrt_params ? (double)w->count * (double)(r->by_layer ? r->depth : 1) : 0;
		}
	bytes = numbers * sizeof(double) + (double)work;
	return bytes < (double)left ||
	       fail(call, PROBLEM_limit_exceeded, &at, text_of_number(call, (double)left), text_of_number(call, bytes),
	            "a stack of this size needs %.0f bytes of work memory, and a request has %zu left: use fewer "
	            "layers, tokens or "
	            "features",
	            bytes, left);
}

/* Arrays for the gradients and deviations of every parameter. */
static bool place_parameters(struct call *call, struct block_request *r)
{
	size_t layers = r->by_layer ? r->depth : 1;

	for (size_t i = 0; i < r->core.sublayer_count; i++)
		for (int slot = 0; slot < NC_SLOT_COUNT; slot++) {
			struct nc_weight *w = &r->core.sublayers[i].weight[slot];

			if (!w->value)
				continue;
			w->gradient = room(call, w->count * layers);
			w->gradient_step = r->by_layer ? w->count : 0;
			w->deviation = r->verify ? room(call, layers) : NULL;
			if (!w->gradient || (r->verify && !w->deviation))
				return false;
		}
	return true;
}

/* count values rounded to a dtype's grid in place. */
static void round_all(enum nc_dtype dtype, double *values, size_t count)
{
	float rounded[256];

	for (size_t i = 0, part; i < count; i += part) {
		part = count - i < 256 ? count - i : 256;
		nc_dtype_convert(NC_FLOAT64, values + i, dtype, rounded, part);
		nc_dtype_convert(dtype, rounded, NC_FLOAT64, values + i, part);
	}
}

/* Weights as they are used and returned: on the grid of param_dtype. */
static void round_seeded(const struct call *call, struct block_request *r)
{
	for (size_t i = 0; i < r->core.sublayer_count && call->param_dtype != NC_FLOAT64; i++)
		for (int slot = 0; slot < NC_SLOT_COUNT; slot++) {
			const struct nc_weight *w = &r->core.sublayers[i].weight[slot];
			double *value = (double *)(uintptr_t)w->value;

			if (w->value && w->value_step)
				round_all(call->param_dtype, value, w->count * r->depth);
		}
}

/*
 * Fails where verification would run too long: a parameter that each layer has for itself is varied in every layer, and
 * all layers above run anew, so the work grows with the square of the depth.
 */
static bool verify_admit(struct call *call, const struct block_request *r)
{
	const struct path at = {.key = "verify"};
	const double most = 1e11, overhead = 2000; /* multiplications; of one sublayer, whatever its size */
	size_t rows = r->core.batch * r->core.length;
	double slots = 0, layer = 0, work;

	for (size_t i = 0; i < r->core.sublayer_count; i++) {
		const struct nc_sublayer *s = &r->core.sublayers[i];

		layer += overhead;
		for (int slot = 0; slot < NC_SLOT_COUNT; slot++) {
			slots += s->weight[slot].count > 0;
			layer += (double)s->weight[slot].count * (double)rows;
		}
		if (s->kind == NC_FUNCTION_ATTENTION)
			layer += 2 * (double)rows * (double)r->core.length *
			         (double)(s->attention.heads * s->attention.head_dim);
	}
	work = slots * layer * (double)r->depth * ((double)r->depth + 1);
	return !r->verify || !r->by_layer || !r->wrt_params || work < most ||
	       fail(call, PROBLEM_limit_exceeded, &at, text_of_number(call, most), text_of_number(call, work),
	            "to verify every layer's own parameters takes about %.0f multiplications, and at most %.0f are "
	            "made: use fewer "
	            "layers, or \"wrt\": [\"x\"]",
	            work, most);
}

static bool place_core(struct call *call, const struct block_request *r, struct block_answer *answer)
{
	struct nc_block_call *core = &answer->core;
	size_t count = r->x.tensor.count;

	core->x = r->x_values;
	core->dy = r->dy_values;
	core->y = room(call, count);
	if (!core->y)
		return false;
	if (r->wrt_x && (r->wanted[KEY_DX] || r->verify) && !(core->dx = room(call, count)))
		return false;
	core->deviation = r->verify && r->wrt_x ? &answer->deviation : NULL;
	if (r->wanted[KEY_BRANCHES]) {
		core->branches = nc_arena_array(call->arena, r->core.sublayer_count, sizeof *core->branches);
		if (!core->branches)
			return fail_memory(call);
		for (size_t i = 0; i < r->core.sublayer_count; i++)
			if (!(core->branches[i].dx_identity = room(call, count)) ||
			    !(core->branches[i].dx_sublayer = room(call, count)))
				return false;
	}
	if (r->wanted[KEY_JACOBIAN] &&
	    (!(core->jacobian = room(call, count * count)) ||
	     (r->core.placement != NC_PLACEMENT_POST && !(core->jacobian_sublayer = room(call, count * count)))))
		return false;
	if (r->wanted[KEY_TRACE] || r->wanted[KEY_FIRST_NONFINITE_LAYER]) {
		core->trace = nc_arena_array(call->arena, r->depth + 1, sizeof *core->trace);
		if (!core->trace)
			return fail_memory(call);
	}
	return true;
}

bool block_answer_plan(struct call *call, struct writer *out, struct block_request *r, struct block_answer *answer)
{
	enum nc_status status;

	*answer = (struct block_answer){.request = r};
	size_seeded(r);
	if (!verify_admit(call, r) || !admit(call, out, r) || !place_core(call, r, answer) ||
	    !memory_admit(call, r, &answer->core))
		return false;
	status = nc_block_init(&r->core, call->api->pool, call->arena);
	if (status != NC_OK)
		return fail_memory(call);
	round_seeded(call, r);
	return !(r->wanted[KEY_DPARAMS] || (r->wrt_params && r->verify)) || place_parameters(call, r);
}
