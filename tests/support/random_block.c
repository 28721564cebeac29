#include "random_block.h"

#include <math.h>
#include <stdlib.h>

uint64_t dice_state = 88172645463325252u;

uint64_t dice_bits(void)
{
	dice_state ^= dice_state >> 12;
	dice_state ^= dice_state << 25;
	dice_state ^= dice_state >> 27;
	return dice_state * 2685821657736338717u;
}

size_t dice_below(size_t n)
{
	return (size_t)(dice_bits() >> 11) % n;
}

double dice_normal(void)
{
	double sum = 0;
	for (int i = 0; i < 12; i++)
		sum += (double)(dice_bits() >> 11) * 0x1p-53;
	return sum - 6;
}

double *dice_numbers(size_t count, double scale)
{
	double *p = malloc((count + 1) * sizeof *p);
	for (size_t i = 0; i < count; i++)
		p[i] = scale * dice_normal();
	return p;
}

static struct nc_block_norm random_norm(size_t features)
{
	static const double epsilons[] = {1e-5, 1e-6, 1e-3, 0.5};
	struct nc_block_norm n = {.groups = features % 2 == 0 && dice_below(3) == 0 ? 2 : 1};
	n.spec.kind = dice_below(2) ? NC_LAYERNORM : NC_RMSNORM;
	n.spec.placement = (enum nc_epsilon_placement)dice_below(3);
	n.spec.epsilon = epsilons[dice_below(4)];
	n.spec.gain_offset = (double)dice_below(2);
	n.spec.dtype = n.spec.xhat_dtype = NC_FLOAT64;
	return n;
}

static void random_attention(struct nc_attention *a)
{
	a->kv_heads = 1 + dice_below(3);
	a->heads = a->kv_heads * (1 + dice_below(3));
	a->head_dim = 3 + dice_below(8);
	a->causal = dice_below(2);
	a->scale = 1 / sqrt((double)a->head_dim) * (0.5 + (double)dice_below(3));
	a->softcap = dice_below(2) ? 2 : 0;
	a->window = dice_below(2) ? 1 + dice_below(9) : 0;
	a->rope = a->head_dim % 2 ? NC_ROPE_NONE : (enum nc_rope)dice_below(3);
	a->theta = 100;
	a->position = (double)dice_below(20);
	a->qk_norm = dice_below(2);
	a->norm = random_norm(a->head_dim);
}

struct nc_block random_block(enum nc_placement placement, enum nc_function_kind kind, size_t depth, size_t sublayers)
{
	struct nc_block b = {.placement = placement,
	                     .residual = dice_below(4) > 0,
	                     .skip_scale = dice_below(2) ? 1 : 0.75,
	                     .update_scale = dice_below(2) ? 1 : 0.5,
	                     .batch = 1 + dice_below(2),
	                     .length = 1 + dice_below(19),
	                     .width = 4 + dice_below(20),
	                     .depth = depth,
	                     .sublayer_count = sublayers,
	                     .sublayers = calloc(sublayers, sizeof(struct nc_sublayer))};
	size_t rows = b.batch * b.length;
	for (size_t i = 0; i < sublayers; i++) {
		struct nc_sublayer *s = b.sublayers + i;
		s->norm = random_norm(b.width);
		s->norm_after = random_norm(b.width);
		s->kind = kind;
		s->factor = dice_normal();
		s->activation = (enum nc_activation)dice_below(NC_ACT_COUNT);
		s->hidden = 1 + dice_below(24);
		s->gated = dice_below(2);
		random_attention(&s->attention);
		s->given.diagonal = dice_below(2);
		s->given.output = dice_numbers(rows * b.width, 1);
		s->given.jacobian = dice_numbers(b.width * (s->given.diagonal ? 1 : b.width), 0.5);
		for (int slot = 0; slot < NC_SLOT_COUNT; slot++) {
			struct nc_weight *w = &s->weight[slot];
			size_t shape[2] = {1, 1};
			unsigned rank = nc_slot_shape(&b, s, (enum nc_slot)slot, shape);
			if (!rank || (!nc_slot_required(s, (enum nc_slot)slot) && dice_below(4) == 0))
				continue;
			w->count = shape[0] * (rank == 2 ? shape[1] : 1);
			if (nc_slot_part((enum nc_slot)slot) != NC_PART_F && dice_below(4) == 0)
				w->count = 1;
			w->value = dice_numbers(w->count, rank == 2 ? 1 / sqrt((double)shape[1]) : 0.7);
		}
	}
	block_want_gradients(&b, false);
	return b;
}

void block_want_gradients(struct nc_block *b, bool by_layer)
{
	for (size_t i = 0; i < b->sublayer_count; i++)
		for (int slot = 0; slot < NC_SLOT_COUNT; slot++) {
			struct nc_weight *w = &b->sublayers[i].weight[slot];
			if (!w->value)
				continue;
			free(w->gradient);
			free(w->deviation);
			w->gradient = calloc(w->count * (by_layer ? b->depth : 1) + 1, sizeof(double));
			w->deviation = calloc(b->depth, sizeof(double));
			w->gradient_step = by_layer ? w->count : 0;
		}
}

void block_free(struct nc_block *b)
{
	for (size_t i = 0; i < b->sublayer_count; i++) {
		struct nc_sublayer *s = b->sublayers + i;
		for (int slot = 0; slot < NC_SLOT_COUNT; slot++) {
			if (s->init.scheme == NC_SCHEME_NONE)
				free((void *)(uintptr_t)s->weight[slot].value);
			free(s->weight[slot].gradient);
			free(s->weight[slot].deviation);
		}
		free((void *)(uintptr_t)s->given.output);
		free((void *)(uintptr_t)s->given.jacobian);
	}
	free(b->sublayers);
}
