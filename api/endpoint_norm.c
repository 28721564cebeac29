/* POST /rmsnorm and POST /layernorm. */
#include "endpoints.h"

#include "comparison.h"
#include "norm_fields.h"
#include "norm_outputs.h"
#include "tensor_write.h"

#include <string.h>

enum jacobian { JACOBIAN_NONE, JACOBIAN_DENSE, JACOBIAN_STRUCTURED };

struct norm_request {
	struct norm_fields norm;
	struct tensor_field x, dy, tangent;
	json_t *jacobian, *reference;
	bool normalized;
	double rtol, atol;
};

static bool read_jacobian(struct call *call, json_t *node, enum jacobian *jacobian)
{
	static const char *const names[] = {"none", "dense", "structured", NULL};
	static const struct field row = {ROW("jacobian", FIELD_ENUM, 0), .names = names};
	const struct path at = {.key = "jacobian"};
	int value = JACOBIAN_NONE;

	if (json_is_boolean(node))
		value = json_is_true(node) ? JACOBIAN_DENSE : JACOBIAN_NONE;
	else if (node && !field_read(call, node, &at, &row, &value))
		return false;
	*jacobian = (enum jacobian)value;
	return true;
}

static bool read_request(struct call *call, enum nc_norm_kind kind, struct norm_request *r)
{
#define AT(member) offsetof(struct norm_request, member)
	static const struct field rows[] = {
		{ROW("x", FIELD_TENSOR, AT(x)), .required = true},
		{ROW("dy", FIELD_TENSOR, AT(dy))},
		{ROW("tangent", FIELD_TENSOR, AT(tangent))},
		{ROW("jacobian", FIELD_NODE, AT(jacobian))},
		{ROW("normalized", FIELD_BOOL, AT(normalized))},
		{ROW("reference", FIELD_NODE, AT(reference))},
		{ROW("rtol", FIELD_NONNEGATIVE, AT(rtol))},
		{ROW("atol", FIELD_NONNEGATIVE, AT(atol))},
	};
#undef AT
	const struct fields more[] = {FIELDS(rows, r), {fields_common, FIELDS_COMMON_COUNT, NULL}};
	const struct path dy_at = {.key = "dy"}, tangent_at = {.key = "tangent"};
	const struct nc_tensor *x = &r->x.tensor;

	*r = (struct norm_request){.rtol = 1e-5, .atol = 1e-8};
	if (!norm_fields_read(call, call->root, NULL, call->request->path, NORM_OF_ENDPOINT, kind, more, 2, &r->norm))
		return false;
	if (!call->form_given)
		call->form = r->x.form;
	return (!r->dy.given || tensor_expect_shape(call, &r->dy, &dy_at, x->shape, x->rank, "x")) &&
	       (!r->tangent.given || tensor_expect_shape(call, &r->tangent, &tangent_at, x->shape, x->rank, "x"));
}

/* The outputs that the request asks for, in the order of the answer. */
static bool plan_outputs(struct call *call, const struct norm_request *r, enum jacobian jacobian, struct norm_outputs *plan)
{
	static const char *const dense[] = {"form", "dense", "of", "y", "wrt", "x", NULL};
	static const char *const structured[] = {"form", "diagonal_minus_low_rank", NULL};
	const struct nc_layout *layout = &plan->layout;
	enum nc_norm_kind kind = r->norm.kind;

	norm_output(plan, NULL, "y", LIKE_X, offsetof(struct nc_norm_call, y));
	if (r->normalized)
		norm_output(plan, NULL, "normalized", LIKE_X, offsetof(struct nc_norm_call, xhat));
	norm_output_stats(plan, kind, offsetof(struct nc_norm_call, mean), offsetof(struct nc_norm_call, variance),
	                  offsetof(struct nc_norm_call, divisor));
	if (r->dy.given) {
		norm_output(plan, NULL, "dx", LIKE_X, offsetof(struct nc_norm_call, dx));
		norm_output(plan, NULL, "dgain", LIKE_PARAM, offsetof(struct nc_norm_call, dgain));
		if (kind == NC_LAYERNORM)
			norm_output(plan, NULL, "dbias", LIKE_PARAM, offsetof(struct nc_norm_call, dbias));
	}
	if (r->tangent.given)
		norm_output(plan, NULL, "jvp", LIKE_X, offsetof(struct nc_norm_call, jvp));
	if (jacobian == JACOBIAN_DENSE) {
		struct output *values = norm_output(plan, "jacobian", "values", BY_ROW, offsetof(struct nc_norm_call, jacobian));
		values->prelude = dense;
		norm_output_axis(values, layout->features);
		norm_output_axis(values, layout->features);
		size_t extent = shape_extent(values->tensor.shape, values->tensor.rank), most = call->api->config.max_jacobian;
		const struct path at = {.key = "jacobian"};
		if (extent > most)
			return fail(call, PROBLEM_limit_exceeded, &at, text_of_number(call, (double)most), text_of_number(call, (double)extent),
			            "a dense Jacobian holds at most %zu numbers: ask for \"jacobian\": \"structured\", which says the same in O(n), or "
			            "start the server with a larger %s",
			            most, call_flag(call, "max_jacobian"));
	}
	if (jacobian == JACOBIAN_STRUCTURED) {
		static const char *const keys[] = {"diagonal", "left", "right"};
		static const size_t parts[] = {
			offsetof(struct nc_norm_call, diagonal), offsetof(struct nc_norm_call, left), offsetof(struct nc_norm_call, right)};
		for (size_t i = 0; i < 3; i++) {
			struct output *part = norm_output(plan, "jacobian", keys[i], BY_ROW, parts[i]);
			part->tensor.dtype = NC_FLOAT64;
			part->prelude = i ? NULL : structured;
			norm_output_axis(part, layout->features);
			if (i)
				norm_output_axis(part, nc_norm_rank(kind));
		}
	}
	return true;
}

static bool answer_norm(struct call *call, struct writer *out, enum nc_norm_kind kind)
{
	const struct path x_at = {.key = "x"};
	struct norm_request r;
	struct norm_outputs plan;
	struct comparison comparison;
	enum jacobian jacobian;

	if (!read_request(call, kind, &r) || !read_jacobian(call, r.jacobian, &jacobian))
		return false;
	norm_outputs_start(&plan, call->dtype);
	if (!norm_layout(call, &r.norm, NULL, r.x.tensor.shape, r.x.tensor.rank, &plan.layout) ||
	    !plan_outputs(call, &r, jacobian, &plan) || !outputs_admit(call, out, plan.outputs, plan.count) ||
	    !comparison_read(call, r.reference, plan.outputs, plan.count, r.rtol, r.atol, &comparison))
		return false;

	struct nc_norm_spec spec = norm_spec(call, &r.norm);
	struct nc_norm_call core = {
		.rows = plan.layout.rows, .features = plan.layout.features, .period = plan.layout.groups};
	if (!norm_input(call, &plan.layout, &r.x, &core.x) || !norm_input(call, &plan.layout, &r.dy, &core.dy) ||
	    !norm_input(call, &plan.layout, &r.tangent, &core.tangent) ||
	    !norm_param(call, &plan.layout, &r.norm.gain, &core.gain) || !norm_param(call, &plan.layout, &r.norm.bias, &core.bias) ||
	    !norm_outputs_place(call, &plan, &core))
		return false;
	enum nc_status status = nc_norm(&spec, &core, call->api->pool, call->arena);
	if (status != NC_OK)
		return norm_fail(call, status, &plan.layout, core.bad_row, r.x.form, &x_at);
	norm_outputs_collect(&plan);
	comparison_run(&comparison);
	call_computed(call);

	write_open(out, '{');
	if (!outputs_write(call, out, plan.outputs, plan.count))
		return false;
	comparison_write(call, out, &comparison);
	write_key(out, "meta");
	norm_meta_write(call, out, &r.norm, &plan.layout);
	write_close(out, '}');
	return true;
}

bool endpoint_rmsnorm(struct call *call, struct writer *out)
{
	return answer_norm(call, out, NC_RMSNORM);
}

bool endpoint_layernorm(struct call *call, struct writer *out)
{
	return answer_norm(call, out, NC_LAYERNORM);
}
