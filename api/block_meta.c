/* The object meta of /block/grad: every setting that was used, that of every norm with it. */
#include "block_request.h"

#include <string.h>

static const char *const formulas[] = {
    [NC_PLACEMENT_PRE] = "F(Norm(h))",
    [NC_PLACEMENT_POST] = "F(h)",
    [NC_PLACEMENT_NONE] = "F(h)",
    [NC_PLACEMENT_SANDWICH] = "NormAfter(F(Norm(h)))",
};

/* h ← skip_scale · h + F(Norm(h)) */
static void write_formula(struct writer *out, const struct nc_block *b)
{
	char text[128] = "h ← ";
	bool post = b->placement == NC_PLACEMENT_POST;

	strcat(text, post ? "Norm(" : "");
	if (b->residual)
		strcat(text, b->skip_scale != 1 ? "skip_scale · h + " : "h + ");
	strcat(text, b->update_scale != 1 ? "update_scale · " : "");
	strcat(text, formulas[b->placement]);
	strcat(text, post ? ")" : "");
	write_key(out, "formula");
	write_string(out, text);
}

static void write_text(struct writer *out, const char *key, const char *text)
{
	write_key(out, key);
	write_string(out, text);
}

static void write_real(struct writer *out, const char *key, double value)
{
	write_key(out, key);
	write_number(out, value);
}

static void write_count(struct writer *out, const char *key, size_t value)
{
	write_key(out, key);
	write_size(out, value);
}

static void write_norm(struct call *call, struct writer *out, const char *key, const struct block_norm_fields *norm)
{
	write_key(out, key);
	if (norm->given)
		norm_meta_write(call, out, &norm->fields, &norm->layout);
	else
		write_null(out);
}

static void write_attention(struct call *call, struct writer *out, const struct block_sublayer *s,
                            const struct nc_attention *a)
{
	write_count(out, "heads", a->heads);
	write_count(out, "kv_heads", a->kv_heads);
	write_count(out, "head_dim", a->head_dim);
	write_key(out, "causal");
	write_bool(out, a->causal);
	write_real(out, "scale", a->scale);
	write_key(out, "softcap");
	if (a->softcap > 0)
		write_number(out, a->softcap);
	else
		write_null(out);
	write_key(out, "window");
	if (a->window)
		write_size(out, a->window);
	else
		write_null(out);
	write_key(out, "rope");
	if (a->rope == NC_ROPE_NONE) {
		write_null(out);
	} else {
		write_open(out, '{');
		write_text(out, "style", a->rope == NC_ROPE_HALF ? "half" : "interleaved");
		write_real(out, "theta", a->theta);
		write_real(out, "position", a->position);
		write_close(out, '}');
	}
	write_norm(call, out, "qk_norm", &s->qk_norm);
}

static void write_f(struct call *call, struct writer *out, const struct block_sublayer *s,
                    const struct nc_sublayer *core)
{
	write_key(out, "f");
	write_open(out, '{');
	write_text(out, "kind", nc_function_name(core->kind));
	if (core->kind == NC_FUNCTION_SCALE)
		write_real(out, "factor", core->factor);
	if (core->kind == NC_FUNCTION_ELEMENTWISE || core->kind == NC_FUNCTION_MLP)
		write_text(out, "activation", nc_activation_name(core->activation));
	if (core->kind == NC_FUNCTION_MLP) {
		write_count(out, "hidden", core->hidden);
		write_key(out, "gated");
		write_bool(out, core->gated);
	}
	if (core->kind == NC_FUNCTION_ATTENTION)
		write_attention(call, out, s, &core->attention);
	if (core->init.scheme != NC_SCHEME_NONE) {
		write_key(out, "init");
		write_open(out, '{');
		write_text(out, "scheme", nc_scheme_name(core->init.scheme));
		if (core->init.scheme == NC_SCHEME_NORMAL)
			write_real(out, "std", core->init.std);
		write_real(out, "gain", core->init.gain);
		write_count(out, "seed", s->seed);
		write_text(out, "generator", "threefry2x64-20");
		write_close(out, '}');
	}
	write_close(out, '}');
}

void block_meta_write(struct call *call, struct writer *out, const struct block_request *r)
{
	const struct nc_block *b = &r->core;

	write_key(out, "meta");
	write_open(out, '{');
	write_text(out, "op", "block_grad");
	write_formula(out, b);
	write_text(out, "dtype", nc_dtype_name(call->dtype));
	write_text(out, "param_dtype", nc_dtype_name(call->param_dtype));
	write_text(out, "accumulation", "float64");
	write_key(out, "shape");
	write_sizes(out, r->x.tensor.shape, r->x.tensor.rank);
	write_text(out, "placement", nc_placement_name(b->placement));
	write_key(out, "residual");
	write_bool(out, b->residual);
	write_real(out, "skip_scale", b->skip_scale);
	write_real(out, "update_scale", b->update_scale);
	write_count(out, "depth", b->depth);
	write_text(out, "dy", r->dy.given ? "given" : "ones");
	write_key(out, "wrt");
	write_open(out, '[');
	if (r->wrt_x)
		write_string(out, "x");
	if (r->wrt_params)
		write_string(out, "params");
	write_close(out, ']');
	write_key(out, "sublayers");
	write_open(out, '[');
	for (size_t i = 0; i < b->sublayer_count; i++) {
		write_open(out, '{');
		write_norm(call, out, "norm", &r->parts[i].norm);
		if (r->parts[i].norm_after.given)
			write_norm(call, out, "norm_after", &r->parts[i].norm_after);
		write_f(call, out, &r->parts[i], &b->sublayers[i]);
		write_close(out, '}');
	}
	write_close(out, ']');
	write_text(out, "version", NORMD_VERSION);
	write_close(out, '}');
}
