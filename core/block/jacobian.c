/*
 * The dense Jacobian of a stack: one reverse sweep for each element of y, many at once, over the one forward pass.
 *
 * The cotangent of a sweep is carried as g = p + k·e: e is the unit vector that it began with, k·e what passed through
 * skips alone. A sublayer turns p into s·p + J_Fᵀ…(u·g) and k into s·k, so that J − k·I is p, without a subtraction.
 * Post-norm has no such k; there p is the whole.
 */
#include "stack.h"

enum { NUMBERS_TOGETHER = 1 << 16 };

size_t jacobian_sweeps(const struct nc_block *block)
{
	size_t count = block->batch * block->length * block->width;
	size_t sweeps = count ? NUMBERS_TOGETHER / count : 1;

	sweeps = sweeps < count ? sweeps : count;
	return sweeps ? sweeps : 1;
}

struct sweep {
	size_t first, sweeps; /* rows of the Jacobian */
	double *p, *g, *identity, *branch;
};

/* Adds k to the element that each cotangent began with. */
static void add_unit(const struct stack *stack, const struct sweep *sweep, double k, double *g)
{
	for (size_t s = 0; s < sweep->sweeps; s++)
		g[s * stack->count + sweep->first + s] += k;
}

/* One sublayer backward: p and k as they leave it to p and k as they enter it. */
static enum nc_status sweep_sublayer(struct stack *stack, struct sweep *sweep, size_t layer, size_t i, double *k)
{
	const struct nc_block *b = stack->block;
	struct step step = stack_step(stack, layer, i);
	const struct tape *tape = stack->tapes + layer * b->sublayer_count + i;
	size_t count = sweep->sweeps * stack->count;
	bool whole = b->placement == NC_PLACEMENT_POST;
	enum nc_status status;

	memcpy(sweep->g, sweep->p, count * sizeof(double));
	if (!whole)
		add_unit(stack, sweep, *k, sweep->g);
	status = sublayer_backward(&step, tape, sweep->sweeps, sweep->g, sweep->identity, sweep->branch);
	if (status == NC_OK && !whole)
		status = sublayer_skip(&step, tape, sweep->sweeps, sweep->p, sweep->identity);
	if (status != NC_OK)
		return stack_note(stack, &step, status);
	step.kernels->combine(1, sweep->identity, 1, sweep->branch, sweep->p, count);
	*k = b->residual ? *k * b->skip_scale : 0;
	return NC_OK;
}

enum nc_status stack_jacobian(struct stack *stack)
{
	const struct nc_block *b = stack->block;
	struct nc_block_call *call = stack->call;
	size_t sweeps = jacobian_sweeps(b), mark = nc_arena_mark(stack->arena);
	bool post = b->placement == NC_PLACEMENT_POST;
	struct sweep sweep;
	double **parts[] = {&sweep.p, &sweep.g, &sweep.identity, &sweep.branch};

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		*parts[i] = nc_arena_array(stack->arena, sweeps * stack->count, sizeof(double));
		if (!*parts[i])
			return NC_NO_MEMORY;
	}
	call->identity = post ? 0 : 1;
	for (size_t n = 0; !post && n < b->depth * b->sublayer_count; n++)
		call->identity = b->residual ? call->identity * b->skip_scale : 0;
	for (sweep.first = 0; sweep.first < stack->count; sweep.first += sweeps) {
		double k = 1;

		sweep.sweeps = stack->count - sweep.first < sweeps ? stack->count - sweep.first : sweeps;
		memset(sweep.p, 0, sweep.sweeps * stack->count * sizeof(double));
		if (post)
			add_unit(stack, &sweep, 1, sweep.p);
		for (size_t layer = b->depth; layer-- > 0;)
			for (size_t i = b->sublayer_count; i-- > 0;) {
				enum nc_status status = sweep_sublayer(stack, &sweep, layer, i, &k);

				if (status != NC_OK)
					return status;
			}
		if (call->jacobian_sublayer)
			memcpy(call->jacobian_sublayer + sweep.first * stack->count, sweep.p,
			       sweep.sweeps * stack->count * sizeof(double));
		if (!post)
			add_unit(stack, &sweep, k, sweep.p);
		memcpy(call->jacobian + sweep.first * stack->count, sweep.p,
		       sweep.sweeps * stack->count * sizeof(double));
	}
	nc_arena_rewind(stack->arena, mark);
	return NC_OK;
}
