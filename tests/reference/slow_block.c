#include "slow_block.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct dual dual;

static dual con(long double v)
{
	return (dual){v, 0};
}
static dual add(dual a, dual b)
{
	return (dual){a.v + b.v, a.d + b.d};
}
static dual sub(dual a, dual b)
{
	return (dual){a.v - b.v, a.d - b.d};
}
static dual mul(dual a, dual b)
{
	return (dual){a.v * b.v, a.d * b.v + a.v * b.d};
}
static dual divide(dual a, dual b)
{
	return (dual){a.v / b.v, (a.d - a.v / b.v * b.d) / b.v};
}
static dual root(dual a)
{
	long double r = sqrtl(a.v);
	return (dual){r, a.d == 0 ? 0 : a.d / (2 * r)};
}
static dual expd(dual a)
{
	return (dual){expl(a.v), expl(a.v) * a.d};
}
static dual tanhd(dual a)
{
	long double c = coshl(a.v);
	return (dual){tanhl(a.v), a.d / (c * c)};
}

struct dual slow_activation(enum nc_activation activation, struct dual x)
{
	static const long double pi = 3.14159265358979323846264338327950288L;
	switch (activation) {
	case NC_ACT_RELU:
		return x.v > 0 ? x : con(0);
	case NC_ACT_GELU: {
		long double area = erfcl(-x.v / sqrtl(2)) / 2, bell = expl(-x.v * x.v / 2) / sqrtl(2 * pi);
		return (dual){x.v * area, (area + x.v * bell) * x.d};
	}
	case NC_ACT_GELU_TANH: { /* (1 + tanh u)/2 = 1/(1 + e^(−2u)) */
		dual cube = mul(x, mul(x, x));
		dual u = mul(con(sqrtl(2 / pi)), add(x, mul(con(0.044715L), cube)));
		return divide(x, add(con(1), expd(mul(con(-2), u))));
	}
	case NC_ACT_SILU:
		return divide(x, add(con(1), expd(mul(con(-1), x))));
	case NC_ACT_TANH:
		return tanhd(x);
	case NC_ACT_SIGMOID:
		return divide(con(1), add(con(1), expd(mul(con(-1), x))));
	default:
		return x;
	}
}

struct run {
	const struct nc_block *block;
	const struct direction *along;
	const struct nc_sublayer *s;
	size_t layer;
};

static dual weight(const struct run *r, enum nc_slot slot, size_t i)
{
	const struct nc_weight *w = &r->s->weight[slot];
	dual value = con(w->value[r->layer * w->value_step + i]);
	const struct direction *a = r->along;
	if (a && a->weight && a->slot == slot && r->s == r->block->sublayers + a->sublayer &&
	    (a->layer == r->layer || a->layer == r->block->depth))
		value.d = a->weight[(a->layer == r->layer ? 0 : r->layer * a->weight_step) + i];
	return value;
}

static dual optional(const struct run *r, enum nc_slot slot, size_t i, long double otherwise)
{
	const struct nc_weight *w = &r->s->weight[slot];
	return w->value ? weight(r, slot, w->count == 1 ? 0 : i) : con(otherwise);
}

static void norm(const struct run *r, const struct nc_block_norm *n, enum nc_slot gain, enum nc_slot bias, size_t rows,
                 size_t features, dual *x)
{
	size_t own = features / n->groups;
	for (size_t row = 0; row < rows * n->groups; row++, x += own) {
		dual mean = con(0), m = con(0), divisor;
		for (size_t i = 0; i < own && n->spec.kind == NC_LAYERNORM; i++)
			mean = add(mean, divide(x[i], con(own)));
		for (size_t i = 0; i < own; i++)
			m = add(m, divide(mul(sub(x[i], mean), sub(x[i], mean)), con(own)));
		if (n->spec.placement == NC_INSIDE_SQRT)
			divisor = root(add(m, con(n->spec.epsilon)));
		else if (n->spec.placement == NC_OUTSIDE_SQRT)
			divisor = add(root(m), con(n->spec.epsilon));
		else
			divisor = sqrtl(m.v) > n->spec.epsilon ? root(m) : con(n->spec.epsilon);
		for (size_t i = 0; i < own; i++) {
			size_t at = row % n->groups * own + i;
			dual g =
			    r->s->weight[gain].value ? add(con(n->spec.gain_offset), optional(r, gain, at, 1)) : con(1);
			dual xhat = divide(sub(x[i], mean), divisor);
			if (n->spec.xhat_dtype != NC_FLOAT64)
				xhat.v = nc_dtype_round(n->spec.xhat_dtype, (double)xhat.v);
			x[i] = mul(g, xhat);
			if (n->spec.kind == NC_LAYERNORM)
				x[i] = add(x[i], optional(r, bias, at, 0));
		}
	}
}

static dual *linear(const struct run *r, enum nc_slot w, enum nc_slot b, size_t rows, size_t in, size_t out,
                    const dual *x)
{
	dual *y = malloc((rows * out + 1) * sizeof *y);
	for (size_t t = 0; t < rows; t++)
		for (size_t o = 0; o < out; o++) {
			dual sum = optional(r, b, o, 0);
			for (size_t i = 0; i < in; i++)
				sum = add(sum, mul(weight(r, w, o * in + i), x[t * in + i]));
			y[t * out + o] = sum;
		}
	return y;
}

static void rope(const struct nc_attention *a, size_t rows, size_t length, size_t heads, dual *x)
{
	size_t half = a->head_dim / 2;
	for (size_t row = 0; row < rows; row++)
		for (size_t head = 0; head < heads; head++)
			for (size_t i = 0; i < half; i++) {
				long double angle =
				    ((long double)a->position + row % length) * powl(a->theta, -2.0L * i / a->head_dim);
				dual *h = x + (row * heads + head) * a->head_dim;
				dual *p = h + (a->rope == NC_ROPE_HALF ? i : 2 * i);
				dual *q = h + (a->rope == NC_ROPE_HALF ? i + half : 2 * i + 1);
				dual was = *p, c = con(cosl(angle)), s = con(sinl(angle));
				*p = sub(mul(was, c), mul(*q, s));
				*q = add(mul(was, s), mul(*q, c));
			}
}

static bool sees(const struct nc_attention *a, size_t t, size_t u)
{
	size_t apart = t > u ? t - u : u - t;
	if (a->causal && u > t)
		return false;
	return !a->window || apart < a->window;
}

static dual *attention(const struct run *r, const dual *x)
{
	const struct nc_block *b = r->block;
	const struct nc_attention *a = &r->s->attention;
	size_t rows = b->batch * b->length, d = b->width, hd = a->head_dim, H = a->heads, K = a->kv_heads;
	dual *q = linear(r, NC_SLOT_W_Q, NC_SLOT_B_Q, rows, d, H * hd, x);
	dual *k = linear(r, NC_SLOT_W_K, NC_SLOT_B_K, rows, d, K * hd, x);
	dual *v = linear(r, NC_SLOT_W_V, NC_SLOT_B_V, rows, d, K * hd, x);
	dual *o = malloc((rows * H * hd + 1) * sizeof *o), *e = malloc((b->length + 1) * sizeof *e), *y;
	if (a->qk_norm) {
		norm(r, &a->norm, NC_SLOT_QK_GAIN_Q, NC_SLOT_QK_BIAS_Q, rows * H, hd, q);
		norm(r, &a->norm, NC_SLOT_QK_GAIN_K, NC_SLOT_QK_BIAS_K, rows * K, hd, k);
	}
	if (a->rope != NC_ROPE_NONE) {
		rope(a, rows, b->length, H, q);
		rope(a, rows, b->length, K, k);
	}
	for (size_t row = 0; row < rows; row++)
		for (size_t j = 0; j < H; j++) {
			size_t t = row % b->length, start = row - t, g = j * K / H;
			long double top = -INFINITY;
			dual sum = con(0);
			for (size_t u = 0; u < b->length; u++) {
				e[u] = con(0);
				if (!sees(a, t, u))
					continue;
				for (size_t i = 0; i < hd; i++)
					e[u] = add(e[u],
					           mul(q[(row * H + j) * hd + i], k[((start + u) * K + g) * hd + i]));
				e[u] = mul(e[u], con(a->scale));
				if (a->softcap > 0)
					e[u] = mul(con(a->softcap), tanhd(divide(e[u], con(a->softcap))));
				top = e[u].v > top ? e[u].v : top;
			}
			for (size_t u = 0; u < b->length; u++)
				if (sees(a, t, u))
					sum = add(sum, e[u] = expd(sub(e[u], con(top))));
			for (size_t i = 0; i < hd; i++) {
				dual value = con(0);
				for (size_t u = 0; u < b->length; u++)
					if (sees(a, t, u))
						value = add(value,
						            mul(divide(e[u], sum), v[((start + u) * K + g) * hd + i]));
				o[(row * H + j) * hd + i] = value;
			}
		}
	y = linear(r, NC_SLOT_W_O, NC_SLOT_B_O, rows, H * hd, d, o);
	free(q), free(k), free(v), free(o), free(e);
	return y;
}

static dual *mlp(const struct run *r, const dual *x)
{
	size_t rows = r->block->batch * r->block->length, d = r->block->width, h = r->s->hidden;
	dual *up = linear(r, NC_SLOT_W_UP, NC_SLOT_B_UP, rows, d, h, x);
	dual *gate = r->s->gated ? linear(r, NC_SLOT_W_GATE, NC_SLOT_B_GATE, rows, d, h, x) : NULL, *y;
	for (size_t i = 0; i < rows * h; i++)
		up[i] = gate ? mul(slow_activation(r->s->activation, gate[i]), up[i])
		             : slow_activation(r->s->activation, up[i]);
	y = linear(r, NC_SLOT_W_DOWN, NC_SLOT_B_DOWN, rows, h, d, up);
	free(up), free(gate);
	return y;
}

static dual *function(const struct run *r, const dual *x)
{
	size_t d = r->block->width, rows = r->block->batch * r->block->length;
	dual *y;
	switch (r->s->kind) {
	case NC_FUNCTION_LINEAR:
		return linear(r, NC_SLOT_W, NC_SLOT_B, rows, d, d, x);
	case NC_FUNCTION_MLP:
		return mlp(r, x);
	case NC_FUNCTION_ATTENTION:
		return attention(r, x);
	default:
		break;
	}
	y = malloc((rows * d + 1) * sizeof *y);
	for (size_t i = 0; i < rows * d; i++) {
		const struct nc_given *g = &r->s->given;
		if (r->s->kind == NC_FUNCTION_SCALE) {
			y[i] = mul(con(r->s->factor), x[i]);
		} else if (r->s->kind == NC_FUNCTION_ELEMENTWISE) {
			y[i] = slow_activation(r->s->activation, x[i]);
		} else {
			y[i] = (dual){g->output[i], 0};
			for (size_t j = 0; j < d; j++)
				y[i].d +=
				    (g->diagonal ? (i % d == j ? g->jacobian[j] : 0) : g->jacobian[i % d * d + j]) *
				    x[i / d * d + j].d;
		}
	}
	return y;
}

static void sublayer(const struct run *r, dual *h)
{
	const struct nc_block *b = r->block;
	size_t rows = b->batch * b->length, count = rows * b->width;
	dual *x = malloc((count + 1) * sizeof *x), *f;
	memcpy(x, h, count * sizeof *x);
	if (b->placement == NC_PLACEMENT_PRE || b->placement == NC_PLACEMENT_SANDWICH)
		norm(r, &r->s->norm, NC_SLOT_NORM_GAIN, NC_SLOT_NORM_BIAS, rows, b->width, x);
	f = function(r, x);
	if (b->placement == NC_PLACEMENT_SANDWICH)
		norm(r, &r->s->norm_after, NC_SLOT_AFTER_GAIN, NC_SLOT_AFTER_BIAS, rows, b->width, f);
	for (size_t i = 0; i < count; i++)
		h[i] = add(b->residual ? mul(con(b->skip_scale), h[i]) : con(0), mul(con(b->update_scale), f[i]));
	if (b->placement == NC_PLACEMENT_POST)
		norm(r, &r->s->norm, NC_SLOT_NORM_GAIN, NC_SLOT_NORM_BIAS, rows, b->width, h);
	free(x), free(f);
}

void slow_block(const struct nc_block *block, const double *x, const struct direction *along, size_t first,
                struct dual *states)
{
	size_t count = block->batch * block->length * block->width;
	dual *h = states + first * count;
	for (size_t i = 0; i < count; i++)
		h[i] = (dual){x[i], along && along->x ? along->x[i] : 0};
	for (size_t layer = first; layer < block->depth; layer++, h += count) {
		memcpy(h + count, h, count * sizeof *h);
		for (size_t i = 0; i < block->sublayer_count; i++) {
			struct run r = {block, along, block->sublayers + i, layer};
			sublayer(&r, h + count);
		}
	}
}
