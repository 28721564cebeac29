/*
 * Residual blocks and deep stacks of them, forward and backward, in float64.
 *
 * A stack is `depth` layers of one block; a block is a list of sublayers that run in order, with s = skip_scale and
 * u = update_scale (without a residual the s·h term is gone):
 *
 *     pre       h ← s·h + u·F(Norm(h))                 dh = s·g + J_Normᵀ J_Fᵀ (u·g)
 *     post      h ← Norm(s·h + u·F(h))                 dh = s·n + J_Fᵀ (u·n),  n = J_Normᵀ g
 *     none      h ← s·h + u·F(h)                       dh = s·g + J_Fᵀ (u·g)
 *     sandwich  h ← s·h + u·NormAfter(F(Norm(h)))      dh = s·g + J_Normᵀ J_Fᵀ J_Afterᵀ (u·g)
 *
 * The first term of dh is the identity branch, the second the sublayer branch. Every gradient is exact (reverse mode,
 * adjoints written by hand); the bits are the same on every instruction set and for every number of threads.
 */
#ifndef NORMCORE_BLOCK_H
#define NORMCORE_BLOCK_H

#include "activation.h"
#include "../norm.h"
#include "../public.h"

#include <stdint.h>

NC_PUBLIC_BEGIN

enum nc_placement {
#define PLACEMENT(NAME, text) NC_PLACEMENT_##NAME,
#include "placement.def"
#undef PLACEMENT
	NC_PLACEMENT_COUNT
};

enum nc_function_kind {
#define FUNCTION(NAME, text, table) NC_FUNCTION_##NAME,
#include "function.def"
#undef FUNCTION
	NC_FUNCTION_COUNT
};

enum nc_slot {
#define SLOT(NAME, PART, text) NC_SLOT_##NAME,
#include "slot.def"
#undef SLOT
	NC_SLOT_COUNT
};

enum nc_scheme {
	NC_SCHEME_NONE, /* weights are given */
#define SCHEME(NAME, text) NC_SCHEME_##NAME,
#include "scheme.def"
#undef SCHEME
	NC_SCHEME_COUNT
};

enum nc_part { NC_PART_NORM, NC_PART_NORM_AFTER, NC_PART_F, NC_PART_QK_NORM };
enum nc_rope { NC_ROPE_NONE, NC_ROPE_INTERLEAVED, NC_ROPE_HALF };

/* Names as a request writes them; static. nc_scheme_name(NC_SCHEME_NONE) is "none". */
const char *nc_placement_name(enum nc_placement placement);
const char *nc_function_name(enum nc_function_kind kind);
const char *nc_scheme_name(enum nc_scheme scheme);
const char *nc_slot_name(enum nc_slot slot); /* within its part: "gain", "w_q", … */
enum nc_part nc_slot_part(enum nc_slot slot);

enum { NC_MAX_DEPTH = 1024 };

/* One parameter of a sublayer, with what is wanted of it. A matrix is rows = outputs, row-major. */
struct nc_weight {
	const double *value;  /* count numbers a layer; NULL: absent */
	size_t count;         /* as nc_slot_shape says, or 1 for a gain or bias of a norm: one number for all */
	size_t value_step;    /* from layer to layer: 0 where all layers share one, else count */
	double *gradient;     /* count numbers a layer, set by the call; NULL: not wanted */
	size_t gradient_step; /* 0: summed over the layers; else count: each layer's part by itself */
	double *deviation;    /* 1 number (gradient_step 0) or depth numbers; NULL: not to be verified; needs gradient */
};

/* A norm over the last axis. Its spec's dtype is float64; xhat_dtype is the rounding of cast_before_gain. */
struct nc_block_norm {
	struct nc_norm_spec spec;
	size_t groups; /* divides the features; 1 for none */
};

struct nc_attention {
	size_t heads, kv_heads, head_dim; /* kv_heads divides heads */
	bool causal;
	double scale;           /* of q·k */
	double softcap;         /* c of c·tanh(score/c); 0: none */
	size_t window;          /* w: query t sees keys t-w < u; 0: none */
	enum nc_rope rope;      /* not none: head_dim is even */
	double theta, position; /* of RoPE: angle (position + t)·theta^(-2i/head_dim) */
	bool qk_norm;
	struct nc_block_norm norm; /* of q and k, over head_dim */
};

/* F(h) = output + J·(h − h0), h0 the input that the call itself computes. */
struct nc_given {
	const double *output;   /* rows × width */
	const double *jacobian; /* width × width, or width: its diagonal */
	bool diagonal;
};

struct nc_init {
	enum nc_scheme scheme;
	double std, gain; /* std: scheme normal only */
	uint64_t seed;
};

struct nc_sublayer {
	struct nc_block_norm norm;       /* pre, post, sandwich */
	struct nc_block_norm norm_after; /* sandwich */
	enum nc_function_kind kind;
	double factor;                 /* scale */
	enum nc_activation activation; /* elementwise, mlp */
	size_t hidden;                 /* mlp */
	bool gated;                    /* mlp: has w_gate */
	struct nc_attention attention;
	struct nc_given given;
	struct nc_init init;
	struct nc_weight weight[NC_SLOT_COUNT];
};

struct nc_block {
	enum nc_placement placement;
	bool residual;
	double skip_scale, update_scale;
	size_t batch, length, width; /* B, T, d >= 1: x is B × T × d, rows = B·T */
	size_t depth;                /* 1 to NC_MAX_DEPTH */
	size_t sublayer_count;       /* >= 1 */
	struct nc_sublayer *sublayers;
};

/* What arrives at one layer's input (index 0 … depth-1), or at the output (index depth). */
struct nc_trace {
	double activation_rms, activation_max; /* of h; max of the magnitudes */
	double grad_norm, grad_rms;            /* of the gradient of Σ dy·y with respect to h */
	double identity_grad_norm; /* of the part that passed the layer by its skips alone; unset at depth */
	double sublayer_grad_norm; /* of the rest */
};

struct nc_branch {
	double *dx_identity, *dx_sublayer; /* rows × width each, of one sublayer's input; their sum is its gradient */
};

/* Every output that is not NULL is computed; gradients of parameters are asked for in nc_weight. */
struct nc_block_call {
	const double *x;  /* rows × width */
	const double *dy; /* rows × width; NULL: ones */

	double *y, *dx;             /* rows × width */
	struct nc_branch *branches; /* sublayer_count; depth 1 only */
	double *jacobian;           /* [t·d+i][u·d+j] = ∂y_ti/∂x_uj; rows·width squared; batch 1 */
	double *jacobian_sublayer;  /* jacobian − identity·I, not by subtraction; not for post; needs jacobian */
	double identity;        /* set with jacobian: s to the power of depth·sublayer_count, 0 without a residual */
	struct nc_trace *trace; /* depth + 1 */
	double *deviation;      /* 1 number: as nc_weight's, for x; needs dx */

	size_t bad_layer, bad_sublayer; /* set with NC_NO_VALUE: the norm that has no value, */
	const char *bad_norm;           /* its name ("norm", "norm_after", "qk_norm"), */
	size_t bad_row;                 /* and the row of its input (of its groups or heads, where it has them) */
};

/* h of verification, relative to rms(p): the cube root of 2^-52. */
#define NC_VERIFY_STEP 0x1.965fea53d6e3dp-18

/* The shape of a slot of that sublayer: rank 1 or 2 (shape[0] outputs), or 0 where this sublayer cannot have it. */
unsigned nc_slot_shape(const struct nc_block *block, const struct nc_sublayer *sublayer, enum nc_slot slot,
                       size_t shape[2]);

/* Whether F cannot do without that slot. */
bool nc_slot_required(const struct nc_sublayer *sublayer, enum nc_slot slot);

/* Bytes of arena that nc_block_grad takes at most; SIZE_MAX where they cannot be counted in a size_t. */
size_t nc_block_work_bytes(const struct nc_block *block, const struct nc_block_call *call);

/*
 * Computes what call and the weights ask for, on pool (NULL: on this thread), with work memory from arena (rewound
 * before return). NC_OK, NC_INVALID, NC_NO_MEMORY, NC_NO_VALUE (a norm's mean square is exactly 0 while epsilon is 0).
 * Overflow is no error: infinities and NaN come out as IEEE arithmetic has them.
 */
enum nc_status nc_block_grad(const struct nc_block *block, struct nc_block_call *call, struct nc_pool *pool,
                             struct nc_arena *arena);

/*
 * Fills the weights of every sublayer whose init has a scheme: value is allocated from arena (kept), depth × count
 * numbers, each layer its own. The generator and what is drawn from it: init.c. NC_OK, NC_NO_MEMORY, NC_INVALID.
 */
enum nc_status nc_block_init(struct nc_block *block, struct nc_pool *pool, struct nc_arena *arena);

NC_PUBLIC_END

#endif
