/* POST /residual. */
#include "endpoints.h"

#include "norm_fields.h"
#include "norm_outputs.h"
#include "tensor_write.h"

#include "core/residual.h"

#include <stdio.h>
#include <string.h>

struct residual_request {
	struct tensor_field x, update, dy, sublayer_jacobian, dnormed;
	double skip_scale, update_scale;
	json_t *norm_node;
	bool round_sum;
	struct norm_fields norm;          /* when norm_node is there */
	enum nc_jacobian_form form;
};

#define CORE(member) offsetof(struct nc_residual_call, member)

/* The form in which J_F was given, its size being that of x's last axis. */
static bool read_form(struct call *call, struct residual_request *r)
{
	const struct nc_tensor *x = &r->x.tensor, *jacobian = &r->sublayer_jacobian.tensor;
	size_t n = x->shape[x->rank - 1], square[] = {n, n};
	const struct path at = {.key = "sublayer_jacobian"};

	if (!r->sublayer_jacobian.given)
		return true;
	r->form = jacobian->rank == 0 ? NC_JACOBIAN_NUMBER : jacobian->rank == 1 ? NC_JACOBIAN_DIAGONAL : NC_JACOBIAN_DENSE;
	return r->form == NC_JACOBIAN_NUMBER ||
	       tensor_expect_shape(call, &r->sublayer_jacobian, &at, square, r->form == NC_JACOBIAN_DENSE ? 2 : 1,
	                           "the sublayer's Jacobian for x's last axis (n × n, or n for a diagonal)");
}

static bool read_request(struct call *call, struct residual_request *r)
{
#define AT(member) offsetof(struct residual_request, member)
	static const struct field rows[] = {
		{ROW("x", FIELD_TENSOR, AT(x)), .required = true},
		{ROW("update", FIELD_TENSOR, AT(update)), .required = true},
		{ROW("skip_scale", FIELD_NUMBER, AT(skip_scale))},
		{ROW("update_scale", FIELD_NUMBER, AT(update_scale))},
		{ROW("dy", FIELD_TENSOR, AT(dy))},
		{ROW("sublayer_jacobian", FIELD_TENSOR_OR_NUMBER, AT(sublayer_jacobian))},
		{ROW("norm", FIELD_NODE, AT(norm_node))},
		{ROW("dnormed", FIELD_TENSOR, AT(dnormed))},
		{ROW("round_sum", FIELD_BOOL, AT(round_sum))},
	};
#undef AT
	const struct fields tables[] = {FIELDS(rows, r), {fields_common, FIELDS_COMMON_COUNT, NULL}};
	const struct path update_at = {.key = "update"}, dy_at = {.key = "dy"}, norm_at = {.key = "norm"}, dnormed_at = {.key = "dnormed"};
	const struct nc_tensor *x = &r->x.tensor;

	*r = (struct residual_request){.skip_scale = 1, .update_scale = 1};
	if (!fields_read(call, call->root, NULL, "/residual", tables, 2))
		return false;
	if (!call->form_given)
		call->form = r->x.form;
	if (!tensor_expect_shape(call, &r->update, &update_at, x->shape, x->rank, "x") ||
	    (r->dy.given && !tensor_expect_shape(call, &r->dy, &dy_at, x->shape, x->rank, "x")) ||
	    (r->dnormed.given && !tensor_expect_shape(call, &r->dnormed, &dnormed_at, x->shape, x->rank, "x")) || !read_form(call, r))
		return false;
	if (r->norm_node)
		return norm_fields_read(call, r->norm_node, &norm_at, "a norm", NORM_WITH_AXES, NC_RMSNORM, NULL, 0, &r->norm);
	return !r->dnormed.given || fail(call, PROBLEM_missing_field, &norm_at, NULL, NULL, "dnormed needs the norm that it is a gradient of");
}

/* The rows of x: those of the norm where there is one, else those of the last axis. */
static bool choose_layout(struct call *call, const struct residual_request *r, struct nc_layout *layout)
{
	const struct path norm_at = {.key = "norm"}, axes_at = {.up = &norm_at, .key = "axes"};
	const struct nc_tensor *x = &r->x.tensor;
	unsigned last = x->rank - 1;

	if (r->norm_node) {
		if (!norm_layout(call, &r->norm, &norm_at, x->shape, x->rank, layout))
			return false;
		bool plain = layout->axis_count == 1 && layout->axes[0] == last && layout->groups == 1;
		return plain || r->form == NC_JACOBIAN_NONE || r->form == NC_JACOBIAN_NUMBER ||
		       fail(call, PROBLEM_conflicting_fields, &axes_at, NULL, NULL,
		            "beside a sublayer_jacobian of the last axis the norm must be over the last axis, without groups: send it as a "
		            "number, or the norm in a request of its own");
	}
	if (nc_layout_init(layout, x->shape, x->rank, &last, 1, 1) == NC_OK)
		return true;
	/* The last axis is empty: no rows, and nothing to add. */
	*layout = (struct nc_layout){.rank = x->rank, .groups = 1, .features = 1, .contiguous = true, .param_contiguous = true};
	memcpy(layout->shape, x->shape, x->rank * sizeof *x->shape);
	return true;
}

/* The outputs that the request asks for, in the order of the answer. */
static void plan_outputs(const struct residual_request *r, struct norm_outputs *plan)
{
	static const struct {
		const char *key;
		size_t core;
	} parts[] = {{"identity", CORE(identity)}, {"sublayer", CORE(sublayer)}, {"total", CORE(total)}};
	bool gradient = r->dy.given || r->dnormed.given;

	norm_output(plan, NULL, "y", LIKE_X, CORE(y));
	if (r->norm_node) {
		norm_output(plan, NULL, "normed", LIKE_X, CORE(normed));
		norm_output_stats(plan, r->norm.kind, CORE(mean), CORE(variance), CORE(divisor));
	}
	if (gradient) {
		norm_output(plan, NULL, "dx", LIKE_X, CORE(dx));
		norm_output(plan, NULL, "dupdate", LIKE_X, CORE(dupdate));
	}
	if (gradient && r->form != NC_JACOBIAN_NONE) {
		norm_output(plan, NULL, "dx_identity", LIKE_X, CORE(dx_identity));
		norm_output(plan, NULL, "dx_sublayer", LIKE_X, CORE(dx_sublayer));
	}
	if (r->dnormed.given) {
		norm_output(plan, NULL, "dgain", LIKE_PARAM, CORE(dgain));
		if (r->norm.kind == NC_LAYERNORM)
			norm_output(plan, NULL, "dbias", LIKE_PARAM, CORE(dbias));
	}
	for (size_t i = 0; i < 3 && r->form != NC_JACOBIAN_NONE; i++) {
		struct output *part = norm_output(plan, "jacobian", parts[i].key, BY_ROW, parts[i].core);
		part->tensor = r->sublayer_jacobian.tensor;
		part->tensor.data = NULL;
	}
}

static void write_meta(struct call *call, struct writer *out, const struct residual_request *r, const struct nc_layout *layout)
{
	const char *skip = r->skip_scale != 1 ? "skip_scale · " : "", *update = r->update_scale != 1 ? "update_scale · " : "";
	char formula[160];

	snprintf(formula, sizeof formula, "y = %sx + %supdate%s", skip, update,
	         !r->norm_node ? "" : r->round_sum ? ", normed = Norm(round(y))" : ", normed = Norm(y)");
	write_key(out, "meta");
	write_open(out, '{');
	write_key(out, "op");
	write_string(out, "residual");
	write_key(out, "formula");
	write_string(out, formula);
	write_key(out, "dtype");
	write_string(out, nc_dtype_name(call->dtype));
	write_key(out, "shape");
	write_sizes(out, layout->shape, layout->rank);
	write_key(out, "skip_scale");
	write_number(out, r->skip_scale);
	write_key(out, "update_scale");
	write_number(out, r->update_scale);
	write_key(out, "round_sum");
	write_bool(out, r->round_sum);
	write_key(out, "norm");
	if (r->norm_node)
		norm_meta_write(call, out, &r->norm, layout);
	else
		write_null(out);
	write_key(out, "version");
	write_string(out, NORMD_VERSION);
	write_close(out, '}');
}

bool endpoint_residual(struct call *call, struct writer *out)
{
	const struct path x_at = {.key = "x"};
	struct residual_request r;
	struct norm_outputs plan;

	if (!read_request(call, &r))
		return false;
	norm_outputs_start(&plan, call->dtype);
	if (!choose_layout(call, &r, &plan.layout))
		return false;
	plan_outputs(&r, &plan);
	if (!outputs_admit(call, out, plan.outputs, plan.count))
		return false;

	struct nc_norm_spec spec;
	struct nc_residual_call core = {
		.dtype = call->dtype,
		.skip_scale = r.skip_scale,
		.update_scale = r.update_scale,
		.rows = plan.layout.rows,
		.features = plan.layout.features,
		.period = plan.layout.groups,
		.form = r.form,
		.sublayer_jacobian = r.sublayer_jacobian.tensor.data,
		.round_sum = r.round_sum,
	};
	if (r.norm_node) {
		spec = norm_spec(call, &r.norm);
		core.norm = &spec;
		if (!norm_param(call, &plan.layout, &r.norm.gain, &core.gain) || !norm_param(call, &plan.layout, &r.norm.bias, &core.bias))
			return false;
	}
	if (!norm_input(call, &plan.layout, &r.x, &core.x) || !norm_input(call, &plan.layout, &r.update, &core.update) ||
	    !norm_input(call, &plan.layout, &r.dy, &core.dy) || !norm_input(call, &plan.layout, &r.dnormed, &core.dnormed) ||
	    !norm_outputs_place(call, &plan, &core))
		return false;
	if (r.form == NC_JACOBIAN_DIAGONAL || r.form == NC_JACOBIAN_DENSE)
		core.features = r.x.tensor.shape[r.x.tensor.rank - 1];
	if (core.features) { /* 0 with a Jacobian of no size: every output is empty */
		enum nc_status status = nc_residual(&core, call->api->pool, call->arena);
		if (status != NC_OK)
			return norm_fail(call, status, &plan.layout, core.bad_row, r.x.form, &x_at);
	}
	norm_outputs_collect(&plan);
	call_computed(call);

	write_open(out, '{');
	if (!outputs_write(call, out, plan.outputs, plan.count))
		return false;
	write_meta(call, out, &r, &plan.layout);
	write_close(out, '}');
	return true;
}
