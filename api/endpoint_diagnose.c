/* POST /diagnose: which convention explains the caller's own numbers. */
#include "endpoints.h"

#include "explain.h"
#include "norm_fields.h"
#include "tensor_write.h"

#include <math.h>
#include <string.h>

struct diagnose_request {
	struct norm_fields norm;      /* gain, bias, axes */
	struct norm_params params;
	struct tensor_field x, y, dy, dx;
	struct nc_layout layout;
	const struct nc_convention *convention;
};

static bool read_request(struct call *call, struct diagnose_request *r)
{
#define AT(member) offsetof(struct diagnose_request, member)
	static const struct field rows[] = {
		{ROW("x", FIELD_TENSOR, AT(x)), .required = true},
		{ROW("y", FIELD_TENSOR, AT(y)), .required = true},
		{ROW("dy", FIELD_TENSOR, AT(dy))},
		{ROW("dx", FIELD_TENSOR, AT(dx))},
		{ROW("axes", FIELD_NODE, AT(norm.axes))},
		{ROW("convention", FIELD_KNOWN, 0)},
	};
#undef AT
	*r = (struct diagnose_request){.norm = {.kind = NC_LAYERNORM, .groups = 1}};
	const struct fields tables[] = {
		FIELDS(rows, r), {norm_params_rows, NORM_PARAMS_COUNT, &r->params}, {fields_common, FIELDS_COMMON_COUNT, NULL}};
	return fields_read(call, call->root, NULL, "/diagnose", tables, 3) &&
	       norm_params_choose(call, NULL, &r->params, &r->norm) &&
	       norm_convention_read(call, call->root, NULL, &r->convention);
}

/* Fails for the first element that is not finite. */
static bool expect_finite(struct call *call, const struct tensor_field *field, const char *key)
{
	const struct nc_tensor *t = &field->tensor;
	if (!field->given)
		return true;
	for (size_t i = 0; i < t->count; i++) {
		if (isfinite(nc_tensor_get(t, i)))
			continue;
		struct path steps[NC_REQUEST_RANK + 1] = {{.key = key}};
		size_t rest = i;
		unsigned axes = field->form == FORM_NESTED ? t->rank : 0;
		for (unsigned a = axes; a-- > 0; rest /= t->shape[a])
			steps[a + 1] = (struct path){.up = &steps[a], .index = rest % t->shape[a]};
		return fail(call, PROBLEM_bad_value, &steps[axes], "\"a finite number\"", NULL,
		            "element %zu of %s is NaN or infinite: only y and dx may be, for nothing can be told from such an input", i, key);
	}
	return true;
}

static bool check_request(struct call *call, struct diagnose_request *r)
{
	const struct nc_tensor *x = &r->x.tensor;
	const struct {
		const char *key;
		const struct tensor_field *field;
	} like_x[] = {{"y", &r->y}, {"dy", &r->dy}, {"dx", &r->dx}}, finite[] = {
		{"x", &r->x}, {"dy", &r->dy}, {r->norm.gain_name, &r->norm.gain}, {r->norm.bias_name, &r->norm.bias}};
	const struct path x_at = {.key = "x"};

	for (size_t i = 0; i < sizeof like_x / sizeof *like_x; i++) {
		const struct path at = {.key = like_x[i].key};
		if (like_x[i].field->given && !tensor_expect_shape(call, like_x[i].field, &at, x->shape, x->rank, "x"))
			return false;
	}
	if (r->dy.given != r->dx.given) {
		const struct path at = {.key = r->dy.given ? "dx" : "dy"};
		return fail(call, PROBLEM_missing_field, &at, NULL, NULL, "%s alone tells nothing: send dy, the gradient that came in, and dx, what your "
		            "backward made of it", r->dy.given ? "dy" : "dx");
	}
	if (x->count == 0)
		return fail(call, PROBLEM_bad_value, &x_at, "\"at least one element\"", text_of_shape(call, x->shape, x->rank),
		            "x has no elements: there is nothing to diagnose");
	if (!norm_layout(call, &r->norm, NULL, x->shape, x->rank, &r->layout))
		return false;
	for (size_t i = 0; i < sizeof finite / sizeof *finite; i++)
		if (!expect_finite(call, finite[i].field, finite[i].key))
			return false;
	return true;
}

/* --- numbers of a narrower dtype than they were sent as ---------------------------------------------------------- */

static bool holds(const struct nc_tensor *t, enum nc_dtype dtype)
{
	for (size_t i = 0; i < t->count; i++) {
		double v = nc_tensor_get(t, i);
		if (nc_dtype_round(dtype, v) != v && !isnan(v))
			return false;
	}
	return true;
}

/* A copy in a narrower dtype that holds its numbers; what does not fit stays as it is. */
static bool narrowed(struct call *call, const struct nc_tensor **t, enum nc_dtype dtype, struct nc_tensor *copy)
{
	if (!*t || !holds(*t, dtype))
		return true;
	*copy = **t;
	copy->dtype = dtype;
	copy->data = nc_arena_array(call->arena, copy->count, nc_dtype_storage_bytes(dtype));
	if (!copy->data)
		return fail_memory(call);
	nc_dtype_convert((*t)->dtype, (*t)->data, dtype, copy->data, copy->count);
	*t = copy;
	return true;
}

static bool run(struct call *call, const struct nc_diagnose_call *core, struct nc_diagnosis *diagnosis)
{
	enum nc_status status = nc_diagnose(core, diagnosis, call->api->pool, call->arena);
	if (status == NC_NO_MEMORY)
		return fail_memory(call);
	if (status != NC_OK)
		return fail(call, status == NC_TOO_LARGE ? PROBLEM_limit_exceeded : PROBLEM_internal, NULL, NULL, NULL, "%s", nc_status_text(status));
	return true;
}

/*
 * Numbers that a narrow dtype holds exactly are often sent without saying so. Where they have no explanation as they are, each
 * narrower dtype that holds x and y (and dy and dx) is tried; *diagnosis stays as it is unless one explains them.
 */
static bool run_narrower(struct call *call, const struct nc_diagnose_call *core, struct nc_diagnosis *diagnosis)
{
	static const enum nc_dtype narrower[] = {NC_BFLOAT16, NC_FLOAT16, NC_FLOAT32};
	int bits = nc_dtype_mantissa_bits(core->x->dtype);
	size_t mark = nc_arena_mark(call->arena);
	for (size_t i = 0; i < sizeof narrower / sizeof *narrower && !diagnosis->forward.match; i++) {
		enum nc_dtype dtype = narrower[i];
		if (nc_dtype_mantissa_bits(dtype) >= bits || !holds(core->x, dtype) || !holds(core->y, dtype) ||
		    (core->dx && (!holds(core->dy, dtype) || !holds(core->dx, dtype))))
			continue;
		struct nc_diagnose_call as = *core;
		struct nc_tensor copies[6];
		struct nc_diagnosis found;
		if (!narrowed(call, &as.x, dtype, &copies[0]) || !narrowed(call, &as.y, dtype, &copies[1]) ||
		    !narrowed(call, &as.gain, dtype, &copies[2]) || !narrowed(call, &as.bias, dtype, &copies[3]) ||
		    !narrowed(call, &as.dy, dtype, &copies[4]) || !narrowed(call, &as.dx, dtype, &copies[5]) || !run(call, &as, &found))
			return false;
		if (found.forward.match)
			*diagnosis = found;
		nc_arena_rewind(call->arena, mark);
	}
	return true;
}

/* --- the answer -------------------------------------------------------------------------------------------------- */

static void write_text(struct writer *out, const char *key, const char *text)
{
	write_key(out, key);
	if (text)
		write_string(out, text);
	else
		write_null(out);
}

/* The explanation that the i-th is to be told apart from: the best one, and the best one from the next. */
static const char *apart_of(struct call *call, const struct explain *explain, const struct nc_finding *finding, unsigned i)
{
	unsigned other = i ? 0 : 1;
	if (!finding->explanation[i].tied || other >= finding->count || !finding->explanation[other].tied)
		return NULL;
	return explain_apart(call->arena, explain, &finding->explanation[i].hypothesis, &finding->explanation[other].hypothesis);
}

static void write_explanation(struct call *call, struct writer *out, const struct explain *explain, const struct nc_finding *finding, unsigned i)
{
	const struct nc_explanation *e = &finding->explanation[i];
	const char *endpoint = explain->of_dx && e->hypothesis.backward != NC_BACKWARD_FULL ? NULL : explain_endpoint(explain, &e->hypothesis);

	write_open(out, '{');
	write_text(out, "what", explain_what(call->arena, explain, &e->hypothesis));
	write_text(out, "endpoint", endpoint);
	write_key(out, "settings");
	if (endpoint)
		explain_settings(out, explain, &e->hypothesis);
	else
		write_null(out);
	write_text(out, "convention", e->convention ? e->convention->name : NULL);
	write_key(out, "max_ulp");
	write_any_number(call, out, e->comparison.max_ulp);
	write_key(out, "max_rel");
	write_any_number(call, out, e->comparison.max_rel);
	write_key(out, "outside");
	write_size(out, e->outside);
	size_t tied[NC_EXPLANATIONS], count = 0;
	for (unsigned k = 0; k < finding->count; k++)
		if (k != i && e->tied && finding->explanation[k].tied)
			tied[count++] = k;
	write_key(out, "tied_with");
	write_sizes(out, tied, count);
	write_text(out, "told_apart_by", apart_of(call, explain, finding, i));
	write_close(out, '}');
}

static void write_departure(struct call *call, struct writer *out, const struct explain *explain, const struct nc_finding *finding)
{
	const struct nc_departure *d = &finding->departure;
	size_t index[NC_REQUEST_RANK], rest = d->at;

	write_key(out, "departure");
	if (finding->match || d->pattern == NC_PATTERN_NONE) {
		write_null(out);
		return;
	}
	for (unsigned a = explain->rank; a-- > 0; rest /= explain->shape[a])
		index[a] = rest % explain->shape[a];
	write_open(out, '{');
	write_text(out, "what", explain_departure(call->arena, explain, finding));
	write_text(out, "pattern", explain_pattern(d->pattern));
	write_key(out, "row");
	write_size(out, d->row);
	write_key(out, "element");
	write_size(out, d->element);
	write_key(out, "index");
	write_sizes(out, index, explain->rank);
	write_key(out, "got");
	write_any_number(call, out, d->got);
	write_key(out, "expected");
	write_any_number(call, out, d->want);
	write_key(out, "count");
	write_size(out, d->count);
	write_key(out, "of");
	write_size(out, d->of);
	if (d->pattern == NC_PATTERN_TAIL) {
		write_key(out, "width");
		write_size(out, d->width);
	}
	write_close(out, '}');
}

static void write_tolerance(struct writer *out, const struct explain *explain, const struct nc_finding *finding)
{
	static const char *const forward =
		"each element lies where a kernel may round it to: x̂ off by u·((√n + 8)·|x̂|·(1 + |μ|/D) + 2·|x|/D + (√n·|μ| + 2·mean|x|)/D), "
		"the terms with μ for a norm that centres x only, then 2·u of each term that gain, bias and skip add, then the dtype's own rounding";
	static const char *const backward =
		"each element lies where a kernel may round it to: off by u·(√n + 8) of the magnitudes that its formula adds, then the dtype's own rounding";
	double n = (double)explain->diagnosis->layout[finding->explanation[0].hypothesis.layout].features;

	write_key(out, "tolerance");
	write_open(out, '{');
	write_text(out, "formula", explain->of_dx ? backward : forward);
	write_key(out, "u");
	write_number(out, finding->tolerance / (sqrt(n) + 8));
	write_key(out, "n");
	write_number(out, n);
	write_key(out, "value");
	write_number(out, finding->tolerance);
	write_close(out, '}');
}

static void write_finding(struct call *call, struct writer *out, const struct explain *explain, const struct nc_finding *finding)
{
	write_key(out, "match");
	write_bool(out, finding->match);
	write_key(out, "explanations");
	write_open(out, '[');
	for (unsigned i = 0; i < finding->count; i++)
		write_explanation(call, out, explain, finding, i);
	write_close(out, ']');
	write_text(out, "advice", explain_advice(call->arena, explain, finding));
	write_departure(call, out, explain, finding);
	write_tolerance(out, explain, finding);
	write_key(out, "tried");
	write_size(out, finding->tried);
	write_key(out, "matching");
	write_size(out, finding->matching);
}

static void write_meta(struct call *call, struct writer *out, const struct diagnose_request *r, const struct nc_diagnosis *diagnosis)
{
	const struct nc_tensor *x = &r->x.tensor;
	size_t axes[NC_REQUEST_RANK];

	for (unsigned a = 0; a < r->layout.axis_count; a++)
		axes[a] = r->layout.axes[a];
	write_key(out, "meta");
	write_open(out, '{');
	write_text(out, "op", "diagnose");
	write_text(out, "dtype", nc_dtype_name(call->dtype));
	write_text(out, "param_dtype", nc_dtype_name(call->param_dtype));
	write_text(out, "read_as", nc_dtype_name(diagnosis->given.dtype));
	write_key(out, "shape");
	write_sizes(out, x->shape, x->rank);
	write_key(out, "axes");
	write_sizes(out, axes, r->layout.axis_count);
	write_key(out, "features");
	write_size(out, r->layout.features);
	write_key(out, "rows");
	write_size(out, r->layout.rows);
	write_text(out, "convention", r->convention ? r->convention->name : NULL);
	write_text(out, "version", NORMD_VERSION);
	write_close(out, '}');
}

bool endpoint_diagnose(struct call *call, struct writer *out)
{
	struct diagnose_request r;
	struct nc_diagnosis *diagnosis = nc_arena_alloc(call->arena, sizeof *diagnosis);

	if (!diagnosis)
		return fail_memory(call);
	if (!read_request(call, &r) || !check_request(call, &r))
		return false;
	const struct nc_diagnose_call core = {
		.x = &r.x.tensor, .y = &r.y.tensor,
		.gain = r.norm.gain.given ? &r.norm.gain.tensor : NULL, .bias = r.norm.bias.given ? &r.norm.bias.tensor : NULL,
		.axes = r.layout.axes, .axis_count = r.layout.axis_count, .convention = r.convention,
		.dy = r.dy.given ? &r.dy.tensor : NULL, .dx = r.dx.given ? &r.dx.tensor : NULL,
	};
	if (!run(call, &core, diagnosis) || !run_narrower(call, &core, diagnosis))
		return false;
	call_computed(call);

	struct explain explain = {
		.diagnosis = diagnosis, .convention = r.convention, .rank = r.x.tensor.rank, .shape = r.x.tensor.shape,
		.sent_dtype = call->dtype,
		.elementwise = (r.norm.gain.given && r.norm.gain.tensor.rank) || (r.norm.bias.given && r.norm.bias.tensor.rank),
	};
	write_open(out, '{');
	write_finding(call, out, &explain, &diagnosis->forward);
	if (diagnosis->backward.count) {
		explain.of_dx = true;
		write_key(out, "backward");
		write_open(out, '{');
		write_finding(call, out, &explain, &diagnosis->backward);
		write_close(out, '}');
	}
	write_meta(call, out, &r, diagnosis);
	write_close(out, '}');
	return true;
}
