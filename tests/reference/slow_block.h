/*
 * A stack of blocks computed anew, slowly: long double dual numbers, one scalar at a time, the formulas as the contract
 * states them. Shares no code with core; knows only the description in core/block/block.h.
 */
#ifndef TESTS_SLOW_BLOCK_H
#define TESTS_SLOW_BLOCK_H

#include "core/block/block.h"

/* A value and its derivative along one direction. */
struct dual {
	long double v, d;
};

/* A direction: zero but for the arrays that are set. */
struct direction {
	const double *x; /* rows × width */
	size_t sublayer; /* of the slot below */
	enum nc_slot slot;
	const double *weight; /* as nc_weight.value of that slot, with its step from layer to layer */
	size_t weight_step;
	size_t layer; /* only this layer's use of it, or depth: every layer's */
};

/*
 * h after every layer: states has (depth + 1) × rows × width duals, the first of them x. When `only` is below depth the
 * stack begins there instead, and x is that layer's input.
 */
void slow_block(const struct nc_block *block, const double *x, const struct direction *along, size_t first,
                struct dual *states);

/* An activation with its derivative. */
struct dual slow_activation(enum nc_activation activation, struct dual x);

#endif
