/* Names and shapes of what a block is made of. */
#include "block.h"

static const char *const placements[] = {
#define PLACEMENT(NAME, text) text,
#include "placement.def"
#undef PLACEMENT
};

static const char *const functions[] = {
#define FUNCTION(NAME, text, table) text,
#include "function.def"
#undef FUNCTION
};

static const char *const activations[] = {
#define ACTIVATION(NAME, text) text,
#include "activation.def"
#undef ACTIVATION
};

static const char *const schemes[] = {
    "none",
#define SCHEME(NAME, text) text,
#include "scheme.def"
#undef SCHEME
};

static const struct {
	const char *text;
	enum nc_part part;
} slots[] = {
#define SLOT(NAME, PART, text) {text, NC_PART_##PART},
#include "slot.def"
#undef SLOT
};

const char *nc_placement_name(enum nc_placement placement)
{
	return placements[placement];
}

const char *nc_function_name(enum nc_function_kind kind)
{
	return functions[kind];
}

const char *nc_activation_name(enum nc_activation activation)
{
	return activations[activation];
}

const char *nc_scheme_name(enum nc_scheme scheme)
{
	return schemes[scheme];
}

const char *nc_slot_name(enum nc_slot slot)
{
	return slots[slot].text;
}

enum nc_part nc_slot_part(enum nc_slot slot)
{
	return slots[slot].part;
}

/* Which kind of F a slot of it belongs to. */
static enum nc_function_kind owner(enum nc_slot slot)
{
	if (slot <= NC_SLOT_B)
		return NC_FUNCTION_LINEAR;
	return slot <= NC_SLOT_B_DOWN ? NC_FUNCTION_MLP : NC_FUNCTION_ATTENTION;
}

static bool present(const struct nc_block *block, const struct nc_sublayer *s, enum nc_slot slot)
{
	bool has_norm = block->placement != NC_PLACEMENT_NONE, has_after = block->placement == NC_PLACEMENT_SANDWICH;

	switch (slot) {
	case NC_SLOT_NORM_GAIN:
		return has_norm;
	case NC_SLOT_NORM_BIAS:
		return has_norm && s->norm.spec.kind == NC_LAYERNORM;
	case NC_SLOT_AFTER_GAIN:
		return has_after;
	case NC_SLOT_AFTER_BIAS:
		return has_after && s->norm_after.spec.kind == NC_LAYERNORM;
	case NC_SLOT_QK_GAIN_Q:
	case NC_SLOT_QK_GAIN_K:
		return s->kind == NC_FUNCTION_ATTENTION && s->attention.qk_norm;
	case NC_SLOT_QK_BIAS_Q:
	case NC_SLOT_QK_BIAS_K:
		return s->kind == NC_FUNCTION_ATTENTION && s->attention.qk_norm &&
		       s->attention.norm.spec.kind == NC_LAYERNORM;
	case NC_SLOT_W_GATE:
	case NC_SLOT_B_GATE:
		return s->kind == NC_FUNCTION_MLP && s->gated;
	default:
		return s->kind == owner(slot);
	}
}

unsigned nc_slot_shape(const struct nc_block *block, const struct nc_sublayer *s, enum nc_slot slot, size_t shape[2])
{
	size_t d = block->width, h = s->hidden, hd = s->attention.head_dim;
	size_t q = s->attention.heads * hd, kv = s->attention.kv_heads * hd;
	const struct {
		size_t out, in; /* in 0: a vector */
	} shapes[NC_SLOT_COUNT] = {
	    [NC_SLOT_NORM_GAIN] = {d, 0},  [NC_SLOT_NORM_BIAS] = {d, 0},  [NC_SLOT_AFTER_GAIN] = {d, 0},
	    [NC_SLOT_AFTER_BIAS] = {d, 0}, [NC_SLOT_W] = {d, d},          [NC_SLOT_B] = {d, 0},
	    [NC_SLOT_W_UP] = {h, d},       [NC_SLOT_W_GATE] = {h, d},     [NC_SLOT_W_DOWN] = {d, h},
	    [NC_SLOT_B_UP] = {h, 0},       [NC_SLOT_B_GATE] = {h, 0},     [NC_SLOT_B_DOWN] = {d, 0},
	    [NC_SLOT_W_Q] = {q, d},        [NC_SLOT_W_K] = {kv, d},       [NC_SLOT_W_V] = {kv, d},
	    [NC_SLOT_W_O] = {d, q},        [NC_SLOT_B_Q] = {q, 0},        [NC_SLOT_B_K] = {kv, 0},
	    [NC_SLOT_B_V] = {kv, 0},       [NC_SLOT_B_O] = {d, 0},        [NC_SLOT_QK_GAIN_Q] = {hd, 0},
	    [NC_SLOT_QK_GAIN_K] = {hd, 0}, [NC_SLOT_QK_BIAS_Q] = {hd, 0}, [NC_SLOT_QK_BIAS_K] = {hd, 0},
	};

	if (!present(block, s, slot))
		return 0;
	shape[0] = shapes[slot].out;
	shape[1] = shapes[slot].in;
	return shape[1] ? 2 : 1;
}

bool nc_slot_required(const struct nc_sublayer *s, enum nc_slot slot)
{
	switch (slot) {
	case NC_SLOT_W:
		return s->kind == NC_FUNCTION_LINEAR;
	case NC_SLOT_W_UP:
	case NC_SLOT_W_DOWN:
		return s->kind == NC_FUNCTION_MLP;
	case NC_SLOT_W_GATE:
		return s->kind == NC_FUNCTION_MLP && s->gated;
	case NC_SLOT_W_Q:
	case NC_SLOT_W_K:
	case NC_SLOT_W_V:
	case NC_SLOT_W_O:
		return s->kind == NC_FUNCTION_ATTENTION;
	default:
		return false;
	}
}
