/* What block.c asks of each operation that a sublayer is made of. Internal to core. */
#ifndef NORMCORE_FUNCTION_H
#define NORMCORE_FUNCTION_H

#include "block.h"
#include "../kernels.h"

#include <string.h>

/* One sublayer of one layer, while it is computed. */
struct step {
	const struct nc_block *block;
	const struct nc_sublayer *sublayer;
	size_t layer;
	size_t rows;    /* batch · length */
	bool gradients; /* backward adds to the gradients that the weights have */
	const struct kernels *kernels;
	struct nc_pool *pool;
	struct nc_arena *arena;

	/* Verification: this slot (of every layer that the caller runs) has another value. */
	enum nc_slot replaced; /* NC_SLOT_COUNT: none */
	const double *replacement;
	const double *origin; /* of given: h0, NULL where h is h0 */

	size_t bad_row; /* with NC_NO_VALUE */
	const char *bad_norm;
};

/*
 * tape: what forward leaves for backward, in numbers. work: numbers of arena that either takes, rewound before return.
 * Forward: y = F(x), both rows × width. Backward: dx = J_Fᵀ dy for `sweeps` cotangents of rows × width at once, and
 * parameter gradients += where step->gradients (sweeps is then 1). No argument overlaps another.
 */
struct function {
	size_t (*tape)(const struct nc_block *block, const struct nc_sublayer *sublayer);
	size_t (*work)(const struct nc_block *block, const struct nc_sublayer *sublayer, size_t sweeps);
	enum nc_status (*forward)(struct step *step, const double *x, double *y, double *tape);
	enum nc_status (*backward)(struct step *step, const double *x, const double *tape, size_t sweeps,
	                           const double *dy, double *dx);
};

#define FUNCTION(NAME, text, table) extern const struct function table;
#include "function.def"
#undef FUNCTION

/* The value of a slot in this step; NULL where the sublayer has none. */
static inline const double *step_value(const struct step *step, enum nc_slot slot)
{
	const struct nc_weight *w = &step->sublayer->weight[slot];

	if (slot == step->replaced)
		return step->replacement;
	return w->value ? w->value + step->layer * w->value_step : NULL;
}

/* Where the gradient of a slot is added up in this step; NULL where it is not wanted. */
static inline double *step_gradient(const struct step *step, enum nc_slot slot)
{
	const struct nc_weight *w = &step->sublayer->weight[slot];

	return step->gradients && w->gradient ? w->gradient + step->layer * w->gradient_step : NULL;
}

/* a·b and a + b, SIZE_MAX where they overflow. */
static inline size_t size_times(size_t a, size_t b)
{
	size_t r;

	return __builtin_mul_overflow(a, b, &r) ? SIZE_MAX : r;
}

static inline size_t size_plus(size_t a, size_t b)
{
	size_t r;

	return __builtin_add_overflow(a, b, &r) ? SIZE_MAX : r;
}

/* --- parts that several functions share -------------------------------------------------------------------------- */

/* y = x·wᵀ + b: x rows × in, y rows × out, w in slot `w` (out × in), b in slot `b` (absent: none). */
void nc_linear_forward(const struct step *step, size_t rows, size_t in, size_t out, enum nc_slot w, enum nc_slot b,
                       const double *x, double *y);

/*
 * dw += dyᵀ·x and db += Σ dy where wanted; dx = dy·w, or += with `add`. dy is sweeps · rows × out.
 */
void nc_linear_backward(const struct step *step, size_t rows, size_t in, size_t out, enum nc_slot w, enum nc_slot b,
                        const double *x, size_t sweeps, const double *dy, double *dx, bool add);

/* y = Norm(x) over the last axis of rows × features; `name` is that of the norm in errors. y may be x. */
enum nc_status nc_normalize_forward(struct step *step, const struct nc_block_norm *norm, const char *name, size_t rows,
                                    size_t features, enum nc_slot gain, enum nc_slot bias, const double *x, double *y);

/* dx = J_Normᵀ dy at x for `sweeps` cotangents; dgain += and dbias += where wanted. */
enum nc_status nc_normalize_backward(struct step *step, const struct nc_block_norm *norm, const char *name, size_t rows,
                                     size_t features, enum nc_slot gain, enum nc_slot bias, const double *x,
                                     size_t sweeps, const double *dy, double *dx);

/* Numbers of arena that nc_normalize_backward takes. */
size_t nc_normalize_work(size_t rows, size_t features, size_t sweeps);

/* Turns the pairs of each head by their angles in place (RoPE), or back with `inverse`, which is its adjoint. */
struct rotation {
	size_t length, half; /* T, head_dim/2 */
	enum nc_rope style;
	const double *cosine, *sine; /* T × half */
};
void nc_rotation_table(const struct nc_attention *attention, size_t length, double *cosine, double *sine);
void nc_rotate(const struct rotation *rotation, size_t rows, size_t heads, bool inverse, double *x);

/* The activation of count numbers over the pool: value and slope may each be NULL. */
void nc_activate(const struct step *step, enum nc_activation activation, size_t count, const double *x, double *value,
                 double *slope);

#endif
