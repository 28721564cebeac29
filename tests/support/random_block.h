/* Blocks of every kind with random weights, for tests. */
#ifndef TESTS_RANDOM_BLOCK_H
#define TESTS_RANDOM_BLOCK_H

#include "core/block/block.h"

/* The same numbers for the same seed everywhere: xorshift64*. */
extern uint64_t dice_state;
uint64_t dice_bits(void);
size_t dice_below(size_t n);
double dice_normal(void);                     /* mean 0, variance 1 */
double *dice_numbers(size_t count, double scale); /* malloc'ed */

/*
 * A block of `sublayers` sublayers with placement and kind as told, everything else at random from dice_state; every
 * parameter that it can have is there or not at random, gains and biases as vectors or numbers. Weights are shared by
 * all layers. Gradients are allocated for all. Free with block_free.
 */
struct nc_block random_block(enum nc_placement placement, enum nc_function_kind kind, size_t depth, size_t sublayers);
void block_free(struct nc_block *block);

/* Allocates gradients for every weight that has a value: summed over layers, or each layer's own. */
void block_want_gradients(struct nc_block *block, bool by_layer);

#endif
