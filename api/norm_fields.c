#include "norm_fields.h"

#include "nearest.h"

#include <stdio.h>
#include <string.h>

const char *const norm_kind_names[] = {[NC_RMSNORM] = "rmsnorm", [NC_LAYERNORM] = "layernorm", [NC_LAYERNORM + 1] = NULL};
static const char *const placement_names[] = {
	[NC_INSIDE_SQRT] = "inside_sqrt", [NC_OUTSIDE_SQRT] = "outside_sqrt", [NC_CLAMP] = "clamp", [NC_CLAMP + 1] = NULL};

/* What the tables fill before it is checked as a whole. */
struct raw {
	struct norm_fields *norm;
	json_t *epsilon;
	struct norm_params params;
};

bool norm_convention_read(struct call *call, json_t *object, const struct path *path, const struct nc_convention **convention)
{
	json_t *node = json_object_get(object, "convention");
	const struct path at = {.up = path, .key = "convention"};
	const char *names[64];
	size_t n = 0;

	if (!node)
		return true;
	if (!json_is_string(node))
		return node_fail(call, node, &at, "the name of a convention");
	*convention = nc_convention_find(json_string_value(node));
	if (*convention)
		return true;
	for (const struct nc_convention *c; n + 1 < sizeof names / sizeof *names && (c = nc_convention_at(n)); n++)
		names[n] = c->name;
	names[n] = NULL;
	return names_fail(call, &at, names, json_string_value(node));
}

/* The kind that the object or its convention states. */
static bool find_kind(struct call *call, json_t *object, const struct path *path, enum norm_use use, struct norm_fields *norm)
{
	const struct path kind_at = {.up = path, .key = "kind"}, convention_at = {.up = path, .key = "convention"};
	json_t *node = use == NORM_OF_ENDPOINT ? NULL : json_object_get(object, "kind");

	if (node) {
		static const struct field row = {ROW("kind", FIELD_ENUM, 0), .names = norm_kind_names};
		int kind;
		if (!field_read(call, node, &kind_at, &row, &kind))
			return false;
		norm->kind = (enum nc_norm_kind)kind;
	} else if (use != NORM_OF_ENDPOINT) {
		if (!norm->convention)
			return fail(call, PROBLEM_missing_field, &kind_at, "[\"rmsnorm\",\"layernorm\"]", NULL,
			            "a norm needs its kind, \"rmsnorm\" or \"layernorm\", or a convention");
		norm->kind = norm->convention->kind;
	}
	if (norm->convention && norm->convention->kind != norm->kind)
		return fail(call, PROBLEM_conflicting_fields, &convention_at, text_of_string(call, norm_kind_names[norm->kind]),
		            text_of_string(call, norm_kind_names[norm->convention->kind]), "%s is a convention of %s, not of %s",
		            norm->convention->name, norm_kind_names[norm->convention->kind], norm_kind_names[norm->kind]);
	return true;
}

#define AT(member) offsetof(struct norm_params, member)
const struct field norm_params_rows[NORM_PARAMS_COUNT] = {
	{ROW("gain", FIELD_TENSOR_OR_NUMBER, AT(gain)), .dtype = AS_PARAM_DTYPE},
	{ROW("gamma", FIELD_TENSOR_OR_NUMBER, AT(gamma)), .dtype = AS_PARAM_DTYPE},
	{ROW("weight", FIELD_TENSOR_OR_NUMBER, AT(weight)), .dtype = AS_PARAM_DTYPE},
	{ROW("bias", FIELD_TENSOR_OR_NUMBER, AT(bias)), .dtype = AS_PARAM_DTYPE},
	{ROW("beta", FIELD_TENSOR_OR_NUMBER, AT(beta)), .dtype = AS_PARAM_DTYPE},
};
#undef AT

/* Exactly one of the names, or none, may be given. */
static bool choose(struct call *call, const struct path *path, const char *const *names, const struct tensor_field *const *fields,
                   size_t count, struct tensor_field *out, const char **name)
{
	for (size_t i = 0; i < count; i++) {
		if (!fields[i]->given)
			continue;
		if (out->given) {
			const struct path at = {.up = path, .key = names[i]};
			return fail(call, PROBLEM_conflicting_fields, &at, NULL, NULL, "%s and %s are names of the same field: send one of them",
			            *name, names[i]);
		}
		*out = *fields[i];
		*name = names[i];
	}
	return true;
}

bool norm_params_choose(struct call *call, const struct path *path, const struct norm_params *params, struct norm_fields *out)
{
	static const char *const gain_names[] = {"gain", "gamma", "weight"}, *const bias_names[] = {"bias", "beta"};
	const struct tensor_field *gains[] = {&params->gain, &params->gamma, &params->weight}, *biases[] = {&params->bias, &params->beta};

	return choose(call, path, gain_names, gains, 3, &out->gain, &out->gain_name) &&
	       choose(call, path, bias_names, biases, 2, &out->bias, &out->bias_name);
}

static bool read_epsilon(struct call *call, json_t *node, const struct path *path, double *epsilon)
{
	static const struct field row = {ROW("epsilon", FIELD_NONNEGATIVE, 0)};
	const struct path at = {.up = path, .key = "epsilon"};

	if (!json_is_string(node))
		return field_read(call, node, &at, &row, epsilon);
	if (strcmp(json_string_value(node), "machine") != 0)
		return node_fail(call, node, &at, "a number, 0 or more, or \"machine\"");
	*epsilon = nc_dtype_machine_epsilon(call->dtype);
	return true;
}

static bool read_raw(struct call *call, json_t *object, const struct path *path, const char *what, enum norm_use use,
                     const struct fields *more, size_t more_count, struct raw *raw)
{
#define AT(member) offsetof(struct norm_fields, member)
#define RAW(member) offsetof(struct raw, member)
	static const struct field rows[] = {
		{ROW("epsilon_placement", FIELD_ENUM, AT(placement)), .names = placement_names},
		{ROW("gain_offset", FIELD_NUMBER, AT(gain_offset))},
		{ROW("cast_before_gain", FIELD_BOOL, AT(cast_before_gain))},
		{ROW("groups", FIELD_COUNT, AT(groups))},
		{ROW("convention", FIELD_KNOWN, 0)},
	};
	static const struct field raw_rows[] = {
		{ROW("epsilon", FIELD_NODE, RAW(epsilon))},
	};
	static const struct field axes_rows[] = {{ROW("axes", FIELD_NODE, AT(axes))}};
	static const struct field kind_rows[] = {{ROW("kind", FIELD_KNOWN, 0)}};
#undef AT
#undef RAW
	enum { MOST = 8 };
	struct fields tables[MOST] = {
		FIELDS(rows, raw->norm), FIELDS(raw_rows, raw), {norm_params_rows, NORM_PARAMS_COUNT, &raw->params}};
	size_t n = 3;

	if (use != NORM_LAST_AXIS)
		tables[n++] = (struct fields)FIELDS(axes_rows, raw->norm);
	if (use != NORM_OF_ENDPOINT)
		tables[n++] = (struct fields)FIELDS(kind_rows, NULL);
	for (size_t i = 0; i < more_count && n < MOST; i++)
		tables[n++] = more[i];
	return fields_read(call, object, path, what, tables, n);
}

bool norm_fields_read(struct call *call, json_t *object, const struct path *path, const char *what, enum norm_use use,
                      enum nc_norm_kind kind, const struct fields *more, size_t more_count, struct norm_fields *out)
{
	struct raw raw = {.norm = out};

	*out = (struct norm_fields){.kind = kind, .epsilon = 1e-5, .groups = 1};
	if (!json_is_object(object))
		return node_fail(call, object, path, "a norm: an object with kind");
	if (!norm_convention_read(call, object, path, &out->convention) || !find_kind(call, object, path, use, out))
		return false;
	if (out->convention) {
		out->epsilon = out->convention->machine ? nc_dtype_machine_epsilon(call->dtype) : out->convention->epsilon;
		out->gain_offset = out->convention->gain_offset;
		out->cast_before_gain = out->convention->cast_before_gain;
	}
	if (!read_raw(call, object, path, what, use, more, more_count, &raw))
		return false;
	if (raw.epsilon && !read_epsilon(call, raw.epsilon, path, &out->epsilon))
		return false;
	if (!norm_params_choose(call, path, &raw.params, out))
		return false;
	if (out->kind == NC_RMSNORM && out->bias.given) {
		const struct path at = {.up = path, .key = out->bias_name};
		return fail(call, PROBLEM_unknown_field, &at, NULL, NULL, "an RMSNorm has no %s: leave it out, or use a LayerNorm", out->bias_name);
	}
	return true;
}

static bool read_axes(struct call *call, json_t *node, const struct path *path, unsigned rank, unsigned *axes, size_t *count)
{
	double values[NC_REQUEST_RANK];

	if (!node) {
		axes[0] = rank - 1;
		*count = 1;
		return true;
	}
	if (!integers_read(call, node, path, NC_REQUEST_RANK, values, count))
		return false;
	if (*count == 0)
		return fail(call, PROBLEM_bad_value, path, "\"at least one axis\"", "[]", "axes must name at least one axis, such as [-1]");
	for (size_t i = 0; i < *count; i++) {
		const struct path at = {.up = path, .index = i};
		double axis = values[i] < 0 ? values[i] + rank : values[i];
		if (axis < 0 || axis >= rank)
			return fail(call, PROBLEM_bad_value, &at, NULL, text_of_number(call, values[i]), "x has %u axes: an axis lies from %d to %d", rank,
			            -(int)rank, (int)rank - 1);
		axes[i] = (unsigned)axis;
		for (size_t j = 0; j < i; j++)
			if (axes[j] == axes[i])
				return fail(call, PROBLEM_bad_value, &at, NULL, text_of_number(call, values[i]), "axis %u is named twice", axes[i]);
	}
	return true;
}

bool norm_layout(struct call *call, const struct norm_fields *norm, const struct path *path, const size_t *shape, unsigned rank,
                 struct nc_layout *layout)
{
	const struct path axes_at = {.up = path, .key = "axes"}, groups_at = {.up = path, .key = "groups"};
	const struct path gain_at = {.up = path, .key = norm->gain_name}, bias_at = {.up = path, .key = norm->bias_name};
	const struct path x_at = {.key = "x"};
	unsigned axes[NC_REQUEST_RANK], last = 0;
	size_t count;

	if (!read_axes(call, norm->axes, &axes_at, rank, axes, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (shape[axes[i]] == 0)
			return fail(call, PROBLEM_bad_value, &x_at, "\"at least one feature\"", text_of_shape(call, shape, rank),
			            "axis %u is normalized and has size 0: there is nothing to normalize", axes[i]);
		if (axes[i] > last)
			last = axes[i];
	}
	if (shape[last] % norm->groups)
		return fail(call, PROBLEM_bad_value, &groups_at, NULL, text_of_number(call, (double)norm->groups),
		            "groups must divide the size of axis %u, which is %zu", last, shape[last]);
	enum nc_status status = nc_layout_init(layout, shape, rank, axes, (unsigned)count, norm->groups);
	if (status != NC_OK)
		return fail(call, PROBLEM_internal, NULL, NULL, NULL, "%s", nc_status_text(status));
	const char *of = norm->axes ? "the normalized axes" : "x's last axis";
	return (!norm->gain.given || norm->gain.tensor.rank == 0 ||
	        tensor_expect_shape(call, &norm->gain, &gain_at, layout->param_shape, layout->param_rank, of)) &&
	       (!norm->bias.given || norm->bias.tensor.rank == 0 ||
	        tensor_expect_shape(call, &norm->bias, &bias_at, layout->param_shape, layout->param_rank, of));
}

struct nc_norm_spec norm_spec(const struct call *call, const struct norm_fields *norm)
{
	return (struct nc_norm_spec){
		.kind = norm->kind,
		.placement = (enum nc_epsilon_placement)norm->placement,
		.epsilon = norm->epsilon,
		.gain_offset = norm->gain_offset,
		.dtype = call->dtype,
		.xhat_dtype = norm->cast_before_gain ? call->dtype : NC_FLOAT64,
	};
}

bool norm_param(struct call *call, const struct nc_layout *layout, const struct tensor_field *field, struct nc_param *param)
{
	const struct nc_tensor *t = &field->tensor;

	*param = (struct nc_param){.dtype = call->param_dtype};
	if (!field->given)
		return true;
	param->data = t->data;
	param->count = t->count;
	if (t->rank == 0 || layout->param_contiguous)
		return true;
	size_t bytes = nc_dtype_storage_bytes(t->dtype);
	void *rows = nc_arena_array(call->arena, t->count, bytes);
	if (!rows)
		return fail_memory(call);
	nc_layout_gather_param(layout, bytes, t->data, rows);
	param->data = rows;
	return true;
}

/* Whether x's normalized axes are its last ones, so that a row has a place in the nested text. */
static bool rows_lead(const struct nc_layout *layout)
{
	for (unsigned i = 0; i < layout->axis_count; i++)
		if (layout->axes[i] != layout->rank - layout->axis_count + i)
			return false;
	return true;
}

bool norm_fail(struct call *call, enum nc_status status, const struct nc_layout *layout, size_t row, enum tensor_form form,
               const struct path *x_path)
{
	size_t index[NC_MAX_RANK], rest = row;
	struct path steps[NC_MAX_RANK];
	const struct path *at = x_path;

	if (status == NC_NO_MEMORY)
		return fail_memory(call);
	if (status != NC_NO_VALUE)
		return fail(call, PROBLEM_internal, NULL, NULL, NULL, "%s", nc_status_text(status));
	for (unsigned i = layout->stats_rank; i-- > 0; rest /= layout->stats_shape[i])
		index[i] = rest % layout->stats_shape[i];
	unsigned leading = layout->rank - layout->axis_count;
	for (unsigned i = 0; i < leading && form == FORM_NESTED && rows_lead(layout); i++) {
		steps[i] = (struct path){.up = at, .index = index[i]};
		at = &steps[i];
	}
	const char *got = text_of_shape(call, index, layout->stats_rank);
	return fail(call, PROBLEM_no_value, at, "\"a row whose mean square (LayerNorm: variance) is not 0, or an epsilon above 0\"", got,
	            "row %s has no value, its mean square (LayerNorm: variance) is exactly 0 and so is epsilon: set an epsilon above 0",
	            layout->stats_rank == 1 ? text_of_number(call, (double)row) : layout->stats_rank && got ? got : "0");
}
