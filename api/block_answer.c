#include "block_answer.h"

#include <math.h>
#include <string.h>

/* --- parameters, as the request nested them ---------------------------------------------------------------------- */

/* Does something with one parameter of one layer; at is its parent's path in the answer. */
typedef bool slot_fn(struct call *call, struct writer *out, struct block_answer *answer, size_t sublayer,
                     enum nc_slot slot, size_t layer, const struct path *at);

static bool has_value(const struct block_request *r, size_t sublayer, enum nc_slot slot)
{
	return r->core.sublayers[sublayer].weight[slot].value != NULL;
}

/* One sublayer as an object: {"norm": {…}, "f": {…, "qk_norm": {…}}, "norm_after": {…}}. */
static bool write_sublayer(struct call *call, struct writer *out, struct block_answer *answer, size_t sublayer,
                           size_t layer, slot_fn *write, const struct path *up)
{
	static const char *const keys[] = {[NC_PART_NORM] = "norm",
	                                   [NC_PART_NORM_AFTER] = "norm_after",
	                                   [NC_PART_F] = "f",
	                                   [NC_PART_QK_NORM] = "qk_norm"};
	const struct path f_at = {.up = up, .key = "f"};
	struct path at = {0};
	unsigned open = 0; /* objects that are open */
	int part = -1;

	write_open(out, '{');
	for (int slot = 0; slot < NC_SLOT_COUNT; slot++) {
		int own = nc_slot_part((enum nc_slot)slot);

		if (!has_value(answer->request, sublayer, (enum nc_slot)slot))
			continue;
		if (own != part) {
			bool inner = own == NC_PART_QK_NORM; /* stands in f */

			for (; open > (inner && part == NC_PART_F); open--)
				write_close(out, '}');
			if (inner && open == 0) {
				write_key(out, "f");
				write_open(out, '{');
				open++;
			}
			write_key(out, keys[own]);
			write_open(out, '{');
			open++;
			at = (struct path){.up = inner ? &f_at : up, .key = keys[own]};
			part = own;
		}
		if (!write(call, out, answer, sublayer, (enum nc_slot)slot, layer, &at))
			return false;
	}
	for (; open; open--)
		write_close(out, '}');
	write_close(out, '}');
	return true;
}

/* The list of sublayers under `key`, or the list by layer of such lists. */
static bool write_parameters(struct call *call, struct writer *out, struct block_answer *answer, const char *key,
                             slot_fn *write, const struct path *up)
{
	const struct block_request *r = answer->request;
	size_t layers = r->by_layer ? r->depth : 1;
	const struct path root = {.up = up, .key = key};

	write_key(out, key);
	if (r->by_layer)
		write_open(out, '[');
	for (size_t layer = 0; layer < layers; layer++) {
		const struct path layer_at = {.up = &root, .index = layer};

		write_open(out, '[');
		for (size_t i = 0; i < r->core.sublayer_count; i++) {
			const struct path at = {.up = r->by_layer ? &layer_at : &root, .index = i};

			if (!write_sublayer(call, out, answer, i, layer, write, &at))
				return false;
		}
		write_close(out, ']');
	}
	if (r->by_layer)
		write_close(out, ']');
	return true;
}

bool block_output(struct call *call, const char *key, enum nc_dtype dtype, const size_t *shape, unsigned rank,
                  const double *values, const struct path *at, struct output *output)
{
	struct nc_tensor *t = &output->tensor;

	*output = (struct output){.key = key, .under = at, .tensor = {.dtype = dtype, .rank = rank}};
	memcpy(t->shape, shape, rank * sizeof *shape);
	t->count = shape_count(shape, rank);
	if (!values)
		return true;
	if (dtype == NC_FLOAT64) {
		t->data = (void *)(uintptr_t)values;
		return true;
	}
	t->data = nc_arena_array(call->arena, t->count, nc_dtype_storage_bytes(dtype));
	if (!t->data)
		return fail_memory(call);
	nc_dtype_convert(NC_FLOAT64, values, dtype, t->data, t->count);
	return true;
}

bool block_slot_output(struct call *call, const struct block_request *r, size_t sublayer, enum nc_slot slot,
                       enum nc_dtype dtype, const double *values, const struct path *at, struct output *output)
{
	const struct nc_sublayer *s = &r->core.sublayers[sublayer];
	const struct tensor_field *sent = &r->parts[sublayer].weight[slot];
	size_t shape[2];
	unsigned rank = nc_slot_shape(&r->core, s, slot, shape);

	if (sent->given && sent->tensor.rank == 0)
		rank = 0; /* one number for all */
	return block_output(call, nc_slot_name(slot), dtype, shape, rank, values, at, output);
}

static bool write_gradient(struct call *call, struct writer *out, struct block_answer *answer, size_t sublayer,
                           enum nc_slot slot, size_t layer, const struct path *at)
{
	const struct nc_weight *w = &answer->request->core.sublayers[sublayer].weight[slot];
	struct output output;

	return block_slot_output(call, answer->request, sublayer, slot, call->dtype,
	                         w->gradient + layer * w->gradient_step, at, &output) &&
	       output_write(call, out, &output);
}

static bool write_value(struct call *call, struct writer *out, struct block_answer *answer, size_t sublayer,
                        enum nc_slot slot, size_t layer, const struct path *at)
{
	const struct nc_weight *w = &answer->request->core.sublayers[sublayer].weight[slot];
	struct output output;

	return block_slot_output(call, answer->request, sublayer, slot, call->param_dtype,
	                         w->value + layer * w->value_step, at, &output) &&
	       output_write(call, out, &output);
}

/* A number of the answer that follows the rule for NaN and infinities. */
static bool write_figure(struct call *call, struct writer *out, const char *key, double value, const struct path *up)
{
	const struct path at = {.up = up, .key = key};
	const char *name = isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";

	if (!isfinite(value) && !call->strings)
		return fail(call, PROBLEM_not_finite, &at, "\"a finite number\"", text_of_string(call, name),
		            "this number of the answer would be %s: send \"nonfinite\": \"string\" to get it", name);
	write_key(out, key);
	write_any_number(call, out, value);
	return true;
}

static bool write_deviation(struct call *call, struct writer *out, struct block_answer *answer, size_t sublayer,
                            enum nc_slot slot, size_t layer, const struct path *at)
{
	const struct nc_weight *w = &answer->request->core.sublayers[sublayer].weight[slot];

	return write_figure(call, out, nc_slot_name(slot), w->deviation[layer], at);
}

/* --- writing ----------------------------------------------------------------------------------------------------- */

static bool write_like(struct call *call, struct writer *out, const struct block_answer *answer, const char *key,
                       const double *values, const struct path *at)
{
	const struct nc_tensor *x = &answer->request->x.tensor;
	struct output output;

	return block_output(call, key, call->dtype, x->shape, x->rank, values, at, &output) &&
	       output_write(call, out, &output);
}

static bool write_branches(struct call *call, struct writer *out, const struct block_answer *answer)
{
	const struct path root = {.key = "branches"};

	write_key(out, "branches");
	write_open(out, '[');
	for (size_t i = 0; i < answer->request->core.sublayer_count; i++) {
		const struct path at = {.up = &root, .index = i};
		const struct nc_branch *branch = &answer->core.branches[i];

		write_open(out, '{');
		if (!write_like(call, out, answer, "dx_identity", branch->dx_identity, &at) ||
		    !write_like(call, out, answer, "dx_sublayer", branch->dx_sublayer, &at))
			return false;
		write_close(out, '}');
	}
	write_close(out, ']');
	return true;
}

static bool write_jacobian(struct call *call, struct writer *out, const struct block_answer *answer)
{
	const struct nc_tensor *x = &answer->request->x.tensor;
	const struct path at = {.key = "jacobian"};
	size_t shape[4];
	struct output output;

	memcpy(shape, x->shape, x->rank * sizeof *shape);
	memcpy(shape + x->rank, x->shape, x->rank * sizeof *shape);
	write_key(out, "jacobian");
	write_open(out, '{');
	if (!block_output(call, "total", call->dtype, shape, 2 * x->rank, answer->core.jacobian, &at, &output) ||
	    !output_write(call, out, &output))
		return false;
	if (answer->core.jacobian_sublayer) {
		if (!write_figure(call, out, "identity", answer->core.identity, &at) ||
		    !block_output(call, "sublayer", call->dtype, shape, 2 * x->rank, answer->core.jacobian_sublayer,
		                  &at, &output) ||
		    !output_write(call, out, &output))
			return false;
	} else {
		write_key(out, "identity");
		write_null(out);
	}
	write_close(out, '}');
	return true;
}

static bool write_trace(struct call *call, struct writer *out, const struct block_answer *answer)
{
	const struct path root = {.key = "trace"};
	size_t depth = answer->request->depth;

	write_key(out, "trace");
	write_open(out, '[');
	for (size_t layer = 0; layer <= depth; layer++) {
		const struct nc_trace *t = &answer->core.trace[layer];
		const struct path at = {.up = &root, .index = layer};

		write_open(out, '{');
		write_key(out, "index");
		write_size(out, layer);
		if (!write_figure(call, out, "activation_rms", t->activation_rms, &at) ||
		    !write_figure(call, out, "activation_max", t->activation_max, &at) ||
		    !write_figure(call, out, "grad_norm", t->grad_norm, &at) ||
		    !write_figure(call, out, "grad_rms", t->grad_rms, &at))
			return false;
		if (layer == depth) {
			write_key(out, "identity_grad_norm");
			write_null(out);
			write_key(out, "sublayer_grad_norm");
			write_null(out);
		} else if (!write_figure(call, out, "identity_grad_norm", t->identity_grad_norm, &at) ||
		           !write_figure(call, out, "sublayer_grad_norm", t->sublayer_grad_norm, &at)) {
			return false;
		}
		write_close(out, '}');
	}
	write_close(out, ']');
	return true;
}

/* The first layer, in the order of computing: the activations upwards, then the gradients downwards. */
static void write_first_nonfinite(struct writer *out, const struct block_answer *answer)
{
	const struct nc_trace *trace = answer->core.trace;
	size_t depth = answer->request->depth;

	write_key(out, "first_nonfinite_layer");
	for (size_t layer = 0; layer <= depth; layer++)
		if (!isfinite(trace[layer].activation_max)) {
			write_size(out, layer);
			return;
		}
	for (size_t layer = depth + 1; layer-- > 0;)
		if (!isfinite(trace[layer].grad_rms)) {
			write_size(out, layer);
			return;
		}
	write_null(out);
}

static bool write_verify(struct call *call, struct writer *out, struct block_answer *answer)
{
	const struct path at = {.key = "verify"};
	const struct block_request *r = answer->request;

	write_key(out, "verify");
	write_open(out, '{');
	write_key(out, "step");
	write_number(out, NC_VERIFY_STEP);
	if (r->wrt_x && !write_figure(call, out, "x", answer->deviation, &at))
		return false;
	if (r->wrt_params && !write_parameters(call, out, answer, "params", write_deviation, &at))
		return false;
	write_close(out, '}');
	return true;
}

bool block_answer_write(struct call *call, struct writer *out, struct block_answer *answer)
{
	const bool *wanted = answer->request->wanted;

	if ((wanted[KEY_Y] && !write_like(call, out, answer, "y", answer->core.y, NULL)) ||
	    (wanted[KEY_DX] && !write_like(call, out, answer, "dx", answer->core.dx, NULL)) ||
	    (wanted[KEY_DPARAMS] && !write_parameters(call, out, answer, "dparams", write_gradient, NULL)) ||
	    (wanted[KEY_BRANCHES] && !write_branches(call, out, answer)) ||
	    (wanted[KEY_JACOBIAN] && !write_jacobian(call, out, answer)) ||
	    (wanted[KEY_TRACE] && !write_trace(call, out, answer)))
		return false;
	if (wanted[KEY_FIRST_NONFINITE_LAYER])
		write_first_nonfinite(out, answer);
	return (!wanted[KEY_VERIFY] || write_verify(call, out, answer)) &&
	       (!wanted[KEY_PARAMS] || write_parameters(call, out, answer, "params", write_value, NULL));
}
