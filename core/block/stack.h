/* A stack after its forward pass, as the backward passes share it. Internal to core. */
#ifndef NORMCORE_STACK_H
#define NORMCORE_STACK_H

#include "sublayer.h"

struct stack {
	const struct nc_block *block;
	struct nc_block_call *call;
	struct nc_pool *pool;
	struct nc_arena *arena;
	size_t count;       /* rows · width */
	const double *dy;   /* rows × width, never NULL */
	struct tape *tapes; /* depth × sublayer_count, in the order they ran */
};

/* The step of sublayer i of a layer, without gradients. */
struct step stack_step(const struct stack *stack, size_t layer, size_t i);

/* Passes status on, and with NC_NO_VALUE notes in the call where it happened. */
enum nc_status stack_note(const struct stack *stack, const struct step *step, enum nc_status status);

/* Cotangents that one sweep of the Jacobian carries together. */
size_t jacobian_sweeps(const struct nc_block *block);

/* Fills call->jacobian, jacobian_sublayer and identity by reverse sweeps over the tapes. */
enum nc_status stack_jacobian(struct stack *stack);

/* Fills the deviations that the weights and the call ask for; gradients and dx are complete. */
enum nc_status stack_verify(struct stack *stack);

/* Whether any weight, or the call for x, is to be verified. */
bool stack_verified(const struct nc_block *block, const struct nc_block_call *call);

#endif
