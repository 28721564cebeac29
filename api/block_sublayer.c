/* One sublayer of a request: its norms, and the F of each kind by a table of its fields. */
#include "block_request.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_names[] = {
#define FUNCTION(NAME, text, table) text,
#include "core/block/function.def"
#undef FUNCTION
    NULL};
static const char *const activation_names[] = {
#define ACTIVATION(NAME, text) text,
#include "core/block/activation.def"
#undef ACTIVATION
    NULL};
static const char *const scheme_names[] = {
#define SCHEME(NAME, text) text,
#include "core/block/scheme.def"
#undef SCHEME
    NULL};

#define AT(member) offsetof(struct block_sublayer, member)
#define WEIGHT(NAME, text)                                                                                             \
	{                                                                                                              \
		ROW(text, FIELD_TENSOR, AT(weight[NC_SLOT_##NAME])), .dtype = AS_PARAM_DTYPE                           \
	}
static const struct field kind_rows[] = {{ROW("kind", FIELD_KNOWN, 0)}};
static const struct field scale_rows[] = {{ROW("factor", FIELD_NUMBER, AT(factor)), .required = true}};
static const struct field elementwise_rows[] = {
    {ROW("activation", FIELD_ENUM, AT(activation)), .required = true, .names = activation_names}};
static const struct field linear_rows[] = {WEIGHT(W, "w"), WEIGHT(B, "b"), {ROW("init", FIELD_NODE, AT(init_node))}};
static const struct field mlp_rows[] = {
    {ROW("activation", FIELD_ENUM, AT(activation)), .required = true, .names = activation_names},
    WEIGHT(W_UP, "w_up"),
    WEIGHT(W_GATE, "w_gate"),
    WEIGHT(W_DOWN, "w_down"),
    WEIGHT(B_UP, "b_up"),
    WEIGHT(B_GATE, "b_gate"),
    WEIGHT(B_DOWN, "b_down"),
    {ROW("hidden", FIELD_COUNT, AT(hidden))},
    {ROW("gated", FIELD_BOOL, AT(gated))},
    {ROW("init", FIELD_NODE, AT(init_node))},
};
static const struct field attention_rows[] = {
    {ROW("heads", FIELD_COUNT, AT(heads)), .required = true},
    {ROW("kv_heads", FIELD_COUNT, AT(kv_heads))},
    {ROW("head_dim", FIELD_COUNT, AT(head_dim))},
    {ROW("causal", FIELD_BOOL, AT(causal))},
    {ROW("scale", FIELD_NUMBER, AT(scale))},
    {ROW("softcap", FIELD_POSITIVE, AT(softcap))},
    {ROW("window", FIELD_COUNT, AT(window))},
    {ROW("rope", FIELD_NODE, AT(rope_node))},
    {ROW("qk_norm", FIELD_NODE, AT(qk_node))},
    WEIGHT(W_Q, "w_q"),
    WEIGHT(W_K, "w_k"),
    WEIGHT(W_V, "w_v"),
    WEIGHT(W_O, "w_o"),
    WEIGHT(B_Q, "b_q"),
    WEIGHT(B_K, "b_k"),
    WEIGHT(B_V, "b_v"),
    WEIGHT(B_O, "b_o"),
    {ROW("init", FIELD_NODE, AT(init_node))},
};
static const struct field given_rows[] = {
    {ROW("output", FIELD_TENSOR, AT(output)), .required = true},
    {ROW("jacobian", FIELD_TENSOR, AT(jacobian)), .required = true},
};
static const struct {
	const struct field *rows;
	size_t count;
} kinds[] = {
#define KIND(NAME, rows) [NC_FUNCTION_##NAME] = {rows, sizeof rows / sizeof *rows}
    KIND(SCALE, scale_rows), KIND(ELEMENTWISE, elementwise_rows), KIND(LINEAR, linear_rows),
    KIND(MLP, mlp_rows),     KIND(ATTENTION, attention_rows),     KIND(GIVEN, given_rows),
#undef KIND
};

static bool read_init(struct call *call, struct block_sublayer *s, const struct path *up, struct nc_init *init)
{
	static const struct field rows[] = {
	    {ROW("scheme", FIELD_ENUM, AT(scheme)), .required = true, .names = scheme_names},
	    {ROW("std", FIELD_NONNEGATIVE, AT(std))},
	    {ROW("gain", FIELD_NUMBER, AT(gain))},
	    {ROW("seed", FIELD_WHOLE, AT(seed))},
	};
	const struct fields tables[] = {FIELDS(rows, s)};
	const struct path at = {.up = up, .key = "init"}, std_at = {.up = &at, .key = "std"};

	if (!s->init_node)
		return true;
	s->std = 0.02;
	s->gain = 1;
	if (!json_is_object(s->init_node))
		return node_fail(call, s->init_node, &at, "an object with a scheme");
	if (!fields_read(call, s->init_node, &at, "init", tables, 1))
		return false;
	init->scheme = (enum nc_scheme)(s->scheme + 1); /* 0 is none */
	if (init->scheme != NC_SCHEME_NORMAL && json_object_get(s->init_node, "std"))
		return fail(call, PROBLEM_conflicting_fields, &std_at, NULL, NULL,
		            "only the scheme normal has a std: the others follow from the sizes, times gain");
	init->std = s->std;
	init->gain = s->gain;
	init->seed = s->seed;
	for (int slot = 0; slot < NC_SLOT_COUNT; slot++) {
		const struct path weight_at = {.up = up, .key = nc_slot_name((enum nc_slot)slot)};

		if (nc_slot_part((enum nc_slot)slot) == NC_PART_F && s->weight[slot].given)
			return fail(call, PROBLEM_conflicting_fields, &weight_at, NULL, NULL,
			            "init makes all weights of this F: send either init or %s",
			            nc_slot_name((enum nc_slot)slot));
	}
	return true;
}

/* --- sizes ------------------------------------------------------------------------------------------------------- */

/* The rows of a matrix that was sent, from which a size follows. */
static bool rows_of(struct call *call, const struct block_sublayer *s, const struct path *up, enum nc_slot slot,
                    size_t *rows)
{
	const struct tensor_field *w = &s->weight[slot];
	const struct path at = {.up = up, .key = nc_slot_name(slot)};

	if (!w->given)
		return fail(call, PROBLEM_missing_field, &at, NULL, NULL,
		            "this F needs the field \"%s\", or init to make all of its weights from a seed",
		            nc_slot_name(slot));
	if (w->tensor.rank != 2)
		return fail(call, PROBLEM_shape_mismatch, &at, "\"[outputs,inputs]\"",
		            text_of_shape(call, w->tensor.shape, w->tensor.rank), "%s is a matrix with rows = outputs",
		            nc_slot_name(slot));
	*rows = w->tensor.shape[0];
	return true;
}

/* A size that may be sent beside the weights must be what they say. */
static bool same_size(struct call *call, const struct path *up, const char *key, size_t sent, size_t size)
{
	const struct path at = {.up = up, .key = key};

	return !sent || sent == size ||
	       fail(call, PROBLEM_conflicting_fields, &at, text_of_number(call, (double)size),
	            text_of_number(call, (double)sent), "the weights say that %s is %zu: leave the field out", key,
	            size);
}

static bool mlp_sizes(struct call *call, struct block_sublayer *s, const struct path *up, struct nc_sublayer *core)
{
	const struct path hidden_at = {.up = up, .key = "hidden"}, up_at = {.up = up, .key = "w_up"},
	                  gated_at = {.up = up, .key = "gated"};

	core->hidden = s->hidden;
	core->gated = s->init_node ? s->gated : s->weight[NC_SLOT_W_GATE].given;
	if (s->init_node)
		return s->hidden || fail(call, PROBLEM_missing_field, &hidden_at, NULL, NULL,
		                         "an mlp with init needs its size: send \"hidden\"");
	if (s->gated && !core->gated)
		return fail(call, PROBLEM_conflicting_fields, &gated_at, NULL, NULL, "a gated mlp needs w_gate");
	if (!rows_of(call, s, up, NC_SLOT_W_UP, &core->hidden))
		return false;
	if (core->hidden == 0)
		return fail(call, PROBLEM_shape_mismatch, &up_at, NULL, NULL,
		            "an mlp needs at least one hidden feature");
	return same_size(call, up, "hidden", s->hidden, core->hidden);
}

static bool attention_sizes(struct call *call, struct block_sublayer *s, const struct path *up, size_t width,
                            struct nc_attention *a)
{
	const struct path heads_at = {.up = up, .key = "heads"}, kv_at = {.up = up, .key = "kv_heads"},
	                  q_at = {.up = up, .key = "w_q"};
	size_t rows = 0;

	a->heads = s->heads;
	a->kv_heads = s->kv_heads ? s->kv_heads : s->heads;
	if (a->heads % a->kv_heads)
		return fail(call, PROBLEM_bad_value, &kv_at, NULL, text_of_number(call, (double)a->kv_heads),
		            "kv_heads must divide heads, which is %zu", a->heads);
	if (s->init_node) {
		if (!s->head_dim && width % a->heads)
			return fail(call, PROBLEM_bad_value, &heads_at, NULL, text_of_number(call, (double)a->heads),
			            "heads must divide the features of x, %zu: or send head_dim", width);
		a->head_dim = s->head_dim ? s->head_dim : width / a->heads;
		return true;
	}
	if (!rows_of(call, s, up, NC_SLOT_W_Q, &rows))
		return false;
	if (rows == 0 || rows % a->heads)
		return fail(call, PROBLEM_shape_mismatch, &q_at, NULL, text_of_number(call, (double)rows),
		            "w_q must have heads · head_dim rows: %zu is not a multiple of %zu heads", rows, a->heads);
	a->head_dim = rows / a->heads;
	return same_size(call, up, "head_dim", s->head_dim, a->head_dim);
}

/* --- attention --------------------------------------------------------------------------------------------------- */

static bool read_rope(struct call *call, struct block_sublayer *s, const struct path *up, struct nc_attention *a)
{
	static const char *const styles[] = {"interleaved", "half", NULL};
	static const struct field rows[] = {
	    {ROW("style", FIELD_ENUM, AT(rope_style)), .names = styles},
	    {ROW("theta", FIELD_POSITIVE, AT(theta))},
	    {ROW("position", FIELD_NUMBER, AT(position))},
	};
	const struct fields tables[] = {FIELDS(rows, s)};
	const struct path at = {.up = up, .key = "rope"};

	if (!s->rope_node)
		return true;
	s->theta = 10000;
	if (!json_is_object(s->rope_node))
		return node_fail(call, s->rope_node, &at, "an object such as {\"style\": \"half\"}");
	if (!fields_read(call, s->rope_node, &at, "rope", tables, 1))
		return false;
	if (a->head_dim % 2)
		return fail(call, PROBLEM_conflicting_fields, &at, NULL, text_of_number(call, (double)a->head_dim),
		            "RoPE turns pairs: head_dim is %zu, which is odd", a->head_dim);
	a->rope = s->rope_style ? NC_ROPE_HALF : NC_ROPE_INTERLEAVED;
	a->theta = s->theta;
	a->position = s->position;
	return true;
}

/* The spec of a norm that core computes in float64. */
static struct nc_block_norm core_norm(const struct call *call, const struct norm_fields *norm)
{
	struct nc_block_norm n = {norm_spec(call, norm), norm->groups};

	n.spec.dtype = NC_FLOAT64;
	return n;
}

static bool read_qk_norm(struct call *call, struct block_sublayer *s, const struct path *up, struct nc_block *block,
                         struct nc_attention *a)
{
	static const enum nc_slot slots[] = {NC_SLOT_QK_GAIN_Q, NC_SLOT_QK_GAIN_K, NC_SLOT_QK_BIAS_Q,
	                                     NC_SLOT_QK_BIAS_K};
	static const struct field rows[] = {
#define PARAMETER(NAME, text) {ROW(text, FIELD_TENSOR_OR_NUMBER, AT(weight[NC_SLOT_##NAME])), .dtype = AS_PARAM_DTYPE}
	    PARAMETER(QK_GAIN_Q, "gain_q"),
	    PARAMETER(QK_GAIN_K, "gain_k"),
	    PARAMETER(QK_BIAS_Q, "bias_q"),
	    PARAMETER(QK_BIAS_K, "bias_k"),
	};
	const struct fields more[] = {FIELDS(rows, s)};
	const struct path at = {.up = up, .key = "qk_norm"};
	struct norm_fields *norm = &s->qk_norm.fields;
	size_t shape[] = {block->batch * block->length, a->heads, a->head_dim};

	if (!s->qk_node)
		return true;
	if (!norm_fields_read(call, s->qk_node, &at, "a qk_norm", NORM_LAST_AXIS, NC_RMSNORM, more, 1, norm))
		return false;
	if (norm->gain.given || norm->bias.given) {
		const char *name = norm->gain.given ? norm->gain_name : norm->bias_name;
		const struct path name_at = {.up = &at, .key = name};

		return fail(call, PROBLEM_unknown_field, &name_at, NULL, NULL,
		            "a qk_norm has gain_q and gain_k (a LayerNorm also bias_q and bias_k), not %s", name);
	}
	for (size_t i = 0; i < 4; i++) {
		const struct tensor_field *w = &s->weight[slots[i]];
		const struct path slot_at = {.up = &at, .key = nc_slot_name(slots[i])};

		if (i >= 2 && w->given && norm->kind == NC_RMSNORM)
			return fail(call, PROBLEM_unknown_field, &slot_at, NULL, NULL,
			            "an RMSNorm has no bias: leave it out, or use a LayerNorm");
		if (w->given && w->tensor.rank && !tensor_expect_shape(call, w, &slot_at, &shape[2], 1, "head_dim"))
			return false;
	}
	norm->gain = s->weight[NC_SLOT_QK_GAIN_Q]; /* for its meta */
	norm->bias = s->weight[NC_SLOT_QK_BIAS_Q];
	s->qk_norm.given = a->qk_norm = true;
	a->norm = core_norm(call, norm);
	return norm_layout(call, norm, &at, shape, 3, &s->qk_norm.layout);
}

static bool read_attention(struct call *call, struct block_request *r, struct block_sublayer *s, const struct path *up,
                           struct nc_attention *a)
{
	if (!attention_sizes(call, s, up, r->core.width, a))
		return false;
	a->causal = s->causal;
	a->scale = json_object_get(s->f_node, "scale") ? s->scale : 1 / sqrt((double)a->head_dim);
	a->softcap = s->softcap;
	a->window = s->window;
	return read_rope(call, s, up, a) && read_qk_norm(call, s, up, &r->core, a);
}

/* --- F ----------------------------------------------------------------------------------------------------------- */

static bool read_given(struct call *call, struct block_request *r, struct block_sublayer *s, const struct path *up,
                       struct nc_given *given)
{
	const struct nc_tensor *x = &r->x.tensor;
	const struct path output_at = {.up = up, .key = "output"}, jacobian_at = {.up = up, .key = "jacobian"},
	                  depth_at = {.key = "depth"};
	size_t square[] = {r->core.width, r->core.width};

	if (r->depth > 1)
		return fail(call, PROBLEM_conflicting_fields, &depth_at, "1", text_of_number(call, (double)r->depth),
		            "a given F is linearized at one input: it works at depth 1 only");
	given->diagonal = s->jacobian.tensor.rank == 1;
	if (!tensor_expect_shape(call, &s->output, &output_at, x->shape, x->rank, "x") ||
	    !tensor_expect_shape(call, &s->jacobian, &jacobian_at, square, given->diagonal ? 1 : 2,
	                         "d × d, or d for a diagonal, d the features of x"))
		return false;
	given->output = block_values(call, &s->output.tensor);
	given->jacobian = block_values(call, &s->jacobian.tensor);
	return given->output && given->jacobian;
}

/* Shapes of the weights, and their values to core. */
static bool take_weights(struct call *call, struct block_request *r, struct block_sublayer *s, const struct path *up,
                         struct nc_sublayer *core)
{
	for (int slot = 0; slot < NC_SLOT_COUNT; slot++) {
		const struct tensor_field *w = &s->weight[slot];
		const struct path at = {.up = up, .key = nc_slot_name((enum nc_slot)slot)};
		size_t shape[2];
		unsigned rank = nc_slot_shape(&r->core, core, (enum nc_slot)slot, shape);

		if (!w->given && !s->init_node && nc_slot_required(core, (enum nc_slot)slot))
			return fail(call, PROBLEM_missing_field, &at, NULL, NULL,
			            "this F needs the field \"%s\", or init to make all of its weights from a seed",
			            nc_slot_name((enum nc_slot)slot));
		if (!w->given)
			continue;
		if (rank == 0)
			return fail(call, PROBLEM_conflicting_fields, &at, NULL, NULL, "%s needs w_gate beside it",
			            nc_slot_name((enum nc_slot)slot));
		if (w->tensor.rank &&
		    !tensor_expect_shape(call, w, &at, shape, rank, rank == 2 ? "outputs × inputs" : "its outputs"))
			return false;
		core->weight[slot].value = block_values(call, &w->tensor);
		core->weight[slot].count = w->tensor.count;
		if (!core->weight[slot].value)
			return false;
	}
	return true;
}

static bool read_f(struct call *call, struct block_request *r, struct block_sublayer *s, const struct path *up,
                   struct nc_sublayer *core)
{
	static const struct field kind_row = {ROW("kind", FIELD_ENUM, AT(kind)), .required = true, .names = kind_names};
	const struct path at = {.up = up, .key = "f"}, kind_at = {.up = &at, .key = "kind"};
	json_t *kind;

	if (!json_is_object(s->f_node))
		return node_fail(call, s->f_node, &at, "an object with a kind");
	kind = json_object_get(s->f_node, "kind");
	if (!kind)
		return fail(call, PROBLEM_missing_field, &kind_at, NULL, NULL,
		            "f needs its kind: scale, elementwise, linear, mlp, attention or given");
	if (!field_read(call, kind, &kind_at, &kind_row, s))
		return false;
	const struct fields tables[] = {{kinds[s->kind].rows, kinds[s->kind].count, s}, FIELDS(kind_rows, s)};
	char what[48];

	snprintf(what, sizeof what, "an f of kind %s", kind_names[s->kind]);
	s->causal = true;
	if (!fields_read(call, s->f_node, &at, what, tables, 2) || !read_init(call, s, &at, &core->init))
		return false;
	core->kind = (enum nc_function_kind)s->kind;
	core->factor = s->factor;
	core->activation = (enum nc_activation)s->activation;
	if ((core->kind == NC_FUNCTION_MLP && !mlp_sizes(call, s, &at, core)) ||
	    (core->kind == NC_FUNCTION_ATTENTION && !read_attention(call, r, s, &at, &core->attention)) ||
	    (core->kind == NC_FUNCTION_GIVEN && !read_given(call, r, s, &at, &core->given)))
		return false;
	return take_weights(call, r, s, &at, core);
}

/* --- norms ------------------------------------------------------------------------------------------------------- */

static bool read_norm(struct call *call, struct block_request *r, json_t *node, const struct path *up, const char *key,
                      bool needed, struct block_norm_fields *norm, struct nc_block_norm *core)
{
	const struct path at = {.up = up, .key = key};
	const char *placement = nc_placement_name(r->core.placement);

	if (!node)
		return !needed || fail(call, PROBLEM_missing_field, &at, NULL, NULL,
		                       "placement \"%s\" needs %s in every sublayer", placement, key);
	if (!needed)
		return fail(call, PROBLEM_conflicting_fields, &at, NULL, NULL,
		            "placement \"%s\" has no use for %s: leave it out", placement, key);
	if (!norm_fields_read(call, node, &at, "a norm", NORM_LAST_AXIS, NC_RMSNORM, NULL, 0, &norm->fields) ||
	    !norm_layout(call, &norm->fields, &at, r->x.tensor.shape, r->x.tensor.rank, &norm->layout))
		return false;
	norm->given = true;
	*core = core_norm(call, &norm->fields);
	return true;
}

bool block_sublayer_read(struct call *call, struct block_request *r, size_t i, json_t *node, const struct path *path)
{
	static const struct field rows[] = {
	    {ROW("norm", FIELD_NODE, AT(norm_node))},
	    {ROW("norm_after", FIELD_NODE, AT(norm_after_node))},
	    {ROW("f", FIELD_NODE, AT(f_node)), .required = true},
	};
	struct block_sublayer *s = &r->parts[i];
	struct nc_sublayer *core = &r->core.sublayers[i];
	const struct fields tables[] = {FIELDS(rows, s)};

	core->norm.groups = core->norm_after.groups = core->attention.norm.groups = 1;
	if (!json_is_object(node))
		return node_fail(call, node, path, "an object with norm and f");
	if (!fields_read(call, node, path, "a sublayer", tables, 1) ||
	    !read_norm(call, r, s->norm_node, path, "norm", r->core.placement != NC_PLACEMENT_NONE, &s->norm,
	               &core->norm) ||
	    !read_norm(call, r, s->norm_after_node, path, "norm_after", r->core.placement == NC_PLACEMENT_SANDWICH,
	               &s->norm_after, &core->norm_after))
		return false;
	s->weight[NC_SLOT_NORM_GAIN] = s->norm.fields.gain;
	s->weight[NC_SLOT_NORM_BIAS] = s->norm.fields.bias;
	s->weight[NC_SLOT_AFTER_GAIN] = s->norm_after.fields.gain;
	s->weight[NC_SLOT_AFTER_BIAS] = s->norm_after.fields.bias;
	return read_f(call, r, s, path, core);
}
