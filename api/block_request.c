/* The request of POST /block/grad but for its sublayers. */
#include "block_request.h"

#include <stdio.h>
#include <string.h>

static const char *const placement_names[] = {
#define PLACEMENT(NAME, text) text,
#include "core/block/placement.def"
#undef PLACEMENT
    NULL};

const double *block_values(struct call *call, const struct nc_tensor *tensor)
{
	double *values;

	if (tensor->dtype == NC_FLOAT64)
		return tensor->data;
	values = nc_arena_array(call->arena, tensor->count, sizeof *values);
	if (!values) {
		fail_memory(call);
		return NULL;
	}
	nc_dtype_convert(tensor->dtype, tensor->data, NC_FLOAT64, values, tensor->count);
	return values;
}

static bool read_top(struct call *call, struct block_request *r)
{
#define AT(member) offsetof(struct block_request, member)
	static const struct field rows[] = {
	    {ROW("x", FIELD_TENSOR, AT(x)), .required = true},
	    {ROW("dy", FIELD_TENSOR, AT(dy))},
	    {ROW("block", FIELD_NODE, AT(block_node)), .required = true},
	    {ROW("wrt", FIELD_NODE, AT(wrt_node))},
	    {ROW("jacobian", FIELD_NODE, AT(jacobian_node))},
	    {ROW("depth", FIELD_COUNT, AT(depth)), .most = NC_MAX_DEPTH},
	    {ROW("trace", FIELD_BOOL, AT(trace))},
	    {ROW("return", FIELD_NODE, AT(return_node))},
	    {ROW("return_params", FIELD_BOOL, AT(return_params))},
	    {ROW("verify", FIELD_BOOL, AT(verify))},
	};
	static const struct field block_rows[] = {
	    {ROW("placement", FIELD_ENUM, AT(placement)), .names = placement_names},
	    {ROW("residual", FIELD_BOOL, AT(residual))},
	    {ROW("skip_scale", FIELD_NUMBER, AT(skip_scale))},
	    {ROW("update_scale", FIELD_NUMBER, AT(update_scale))},
	    {ROW("sublayers", FIELD_NODE, AT(sublayers_node)), .required = true},
	};
#undef AT
	const struct fields tables[] = {FIELDS(rows, r), {fields_common, FIELDS_COMMON_COUNT, NULL}};
	const struct fields block_tables[] = {FIELDS(block_rows, r)};
	const struct path block_at = {.key = "block"};

	*r = (struct block_request){.depth = 1, .residual = true, .skip_scale = 1, .update_scale = 1};
	if (!fields_read(call, call->root, NULL, call->request->path, tables, 2))
		return false;
	if (!json_is_object(r->block_node))
		return node_fail(call, r->block_node, &block_at, "an object with sublayers");
	return fields_read(call, r->block_node, &block_at, "a block", block_tables, 1);
}

static bool read_jacobian(struct call *call, struct block_request *r)
{
	static const char *const names[] = {"none", "dense", NULL};
	static const struct field row = {ROW("jacobian", FIELD_ENUM, 0), .names = names};
	const struct path at = {.key = "jacobian"};
	const struct nc_tensor *x = &r->x.tensor;
	size_t most = call->api->config.max_jacobian;
	double numbers = (double)x->count * (double)x->count;
	int value = 0;

	if (json_is_boolean(r->jacobian_node))
		value = json_is_true(r->jacobian_node);
	else if (r->jacobian_node && !field_read(call, r->jacobian_node, &at, &row, &value))
		return false;
	r->jacobian = value;
	if (r->jacobian && x->rank > 2)
		return fail(call, PROBLEM_conflicting_fields, &at, NULL, NULL,
		            "a dense Jacobian is for an x of rank 1 or 2: send one sequence at a time");
	if (r->jacobian && numbers > (double)most)
		return fail(call, PROBLEM_limit_exceeded, &at, text_of_number(call, (double)most),
		            text_of_number(call, numbers),
		            "a dense Jacobian holds at most %zu numbers: send fewer tokens or features, or start the "
		            "server with a "
		            "larger %s",
		            most, call_flag(call, "max_jacobian"));
	return true;
}

/* x as B × T × d, and dy like it. */
static bool read_shapes(struct call *call, struct block_request *r)
{
	const struct path x_at = {.key = "x"}, dy_at = {.key = "dy"};
	const struct nc_tensor *x = &r->x.tensor;

	if (x->rank > 3)
		return fail(call, PROBLEM_shape_mismatch, &x_at, "\"[d], [T,d] or [B,T,d]\"",
		            text_of_shape(call, x->shape, x->rank),
		            "x has one axis (features), two (tokens) or three (a batch), not %u", x->rank);
	r->core.width = x->shape[x->rank - 1];
	r->core.length = x->rank > 1 ? x->shape[x->rank - 2] : 1;
	r->core.batch = x->rank > 2 ? x->shape[0] : 1;
	if (r->core.width == 0)
		return fail(call, PROBLEM_bad_value, &x_at, "\"at least one feature\"",
		            text_of_shape(call, x->shape, x->rank),
		            "the last axis of x has size 0: a block needs features");
	if (r->dy.given && !tensor_expect_shape(call, &r->dy, &dy_at, x->shape, x->rank, "x"))
		return false;
	r->x_values = block_values(call, x);
	r->dy_values = r->dy.given ? block_values(call, &r->dy.tensor) : NULL;
	return r->x_values && (!r->dy.given || r->dy_values);
}

static bool read_sublayers(struct call *call, struct block_request *r)
{
	const struct path block_at = {.key = "block"}, at = {.up = &block_at, .key = "sublayers"};
	size_t count = json_array_size(r->sublayers_node), k;

	if (!json_is_array(r->sublayers_node) || node_is_lifted(r->sublayers_node, &k))
		return node_fail(call, r->sublayers_node, &at, "a list of sublayers: [{\"norm\": …, \"f\": …}]");
	if (count == 0)
		return fail(call, PROBLEM_bad_value, &at, "\"at least one sublayer\"", "[]",
		            "a block has at least one sublayer");
	r->parts = nc_arena_zero(call->arena, count, sizeof *r->parts);
	r->core.sublayers = nc_arena_zero(call->arena, count, sizeof *r->core.sublayers);
	if (!r->parts || !r->core.sublayers)
		return fail_memory(call);
	r->core.sublayer_count = count;
	for (size_t i = 0; i < count; i++) {
		const struct path one = {.up = &at, .index = i};

		if (!block_sublayer_read(call, r, i, json_array_get(r->sublayers_node, i), &one))
			return false;
		r->seeded |= r->core.sublayers[i].init.scheme != NC_SCHEME_NONE;
	}
	r->by_layer = r->seeded && r->depth > 1;
	return true;
}

/* A list of names; sets found[i] for each. */
static bool read_names(struct call *call, json_t *node, const struct path *at, const char *const *names, bool *found)
{
	size_t k;

	if (!json_is_array(node) || node_is_lifted(node, &k))
		return node_fail(call, node, at, "a list of names");
	for (size_t i = 0; i < json_array_size(node); i++) {
		const struct path one = {.up = at, .index = i};
		const struct field row = {ROW("", FIELD_ENUM, 0), .names = names};
		int index;

		if (!field_read(call, json_array_get(node, i), &one, &row, &index))
			return false;
		found[index] = true;
	}
	return true;
}

static bool read_wrt(struct call *call, struct block_request *r)
{
	static const char *const names[] = {"x", "params", NULL};
	const struct path at = {.key = "wrt"};
	bool found[] = {true, !r->seeded};

	if (r->wrt_node) {
		found[0] = found[1] = false;
		if (!read_names(call, r->wrt_node, &at, names, found))
			return false;
	}
	r->wrt_x = found[0];
	r->wrt_params = found[1];
	return true;
}

static bool read_return(struct call *call, struct block_request *r)
{
	static const char *const names[] = {
#define BLOCK_KEY(NAME, text, how) text,
#include "block_keys.def"
#undef BLOCK_KEY
	    NULL};
	static const char *const hows[] = {
#define BLOCK_KEY(NAME, text, how) how,
#include "block_keys.def"
#undef BLOCK_KEY
	};
	const bool there[KEY_COUNT] = {
	    [KEY_Y] = true,
	    [KEY_DX] = r->wrt_x,
	    [KEY_DPARAMS] = r->wrt_params,
	    [KEY_BRANCHES] = r->wrt_x && r->depth == 1,
	    [KEY_JACOBIAN] = r->jacobian,
	    [KEY_TRACE] = r->trace,
	    [KEY_FIRST_NONFINITE_LAYER] = r->trace,
	    [KEY_VERIFY] = r->verify,
	    [KEY_PARAMS] = r->return_params,
	    [KEY_META] = true,
	};
	const struct path at = {.key = "return"};

	memcpy(r->wanted, there, sizeof there);
	if (!r->return_node)
		return true;
	memset(r->wanted, 0, sizeof r->wanted);
	if (!read_names(call, r->return_node, &at, names, r->wanted))
		return false;
	for (int key = 0; key < KEY_COUNT; key++)
		if (r->wanted[key] && !there[key])
			return fail(call, PROBLEM_conflicting_fields, &at, NULL, text_of_string(call, names[key]),
			            "to get \"%s\", ask for it: send %s", names[key], hows[key]);
	return true;
}

bool block_request_read(struct call *call, struct block_request *r)
{
	if (!read_top(call, r))
		return false;
	if (!call->form_given)
		call->form = r->x.form;
	if (r->trace && !json_object_get(call->root, "nonfinite"))
		call->strings = true; /* overflow is what a trace is for */
	if (!read_shapes(call, r))
		return false;
	r->core.placement = (enum nc_placement)r->placement;
	r->core.residual = r->residual;
	r->core.skip_scale = r->skip_scale;
	r->core.update_scale = r->update_scale;
	r->core.depth = r->depth;
	return read_sublayers(call, r) && read_jacobian(call, r) && read_wrt(call, r) && read_return(call, r);
}
