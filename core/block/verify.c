/*
 * The analytic gradient against a central difference.
 *
 * For a parameter or input p and a fixed seeded direction v, with h = ∛ε · rms(p) (1 where that is 0):
 *
 *     measured = Σ dy·(y(p + h v) − y(p − h v))        expected = Σ gradient·((p + h v) − (p − h v))
 *     deviation = |measured − expected| / max(|measured|, |expected|, 2 ε^(2/3) Σ |dy·y|)
 *
 * The last bound is what a difference cannot see below: rounding disturbs measured by about ε Σ |dy·y|.
 */
#include "stack.h"

#include "magnitude.h"

#include <math.h>

enum { SEED = 1 };

/* Where a direction comes from: every slot of every layer has its own stream. */
static uint64_t stream_of(size_t layer, size_t sublayer, int slot)
{
	return (uint64_t)layer << 32 | (uint64_t)sublayer << 8 | (uint64_t)slot;
}

struct probe {
	struct stack *stack;
	double *upper, *lower;     /* p + h v, p − h v */
	double *y_upper, *y_lower; /* rows × width */
	double *h[2];              /* rows × width: activations in turn */
	double *memory;            /* the tape of any sublayer */
	double weight;             /* Σ |dy·y| */
};

bool stack_verified(const struct nc_block *block, const struct nc_block_call *call)
{
	for (size_t i = 0; i < block->sublayer_count; i++)
		for (int slot = 0; slot < NC_SLOT_COUNT; slot++)
			if (block->sublayers[i].weight[slot].deviation)
				return true;
	return call->deviation != NULL;
}

/* What is replaced: a slot of one sublayer, in one layer or (layer = depth) in all; NC_SLOT_COUNT: nothing but x. */
struct change {
	size_t layer, sublayer;
	int slot;
	const double *value;
};

/* y of the stack from layer `first` on, with a change. */
static enum nc_status run_from(struct probe *probe, size_t first, const double *h, const struct change *change,
                               double *y)
{
	struct stack *stack = probe->stack;
	const struct nc_block *b = stack->block;

	for (size_t layer = first; layer < b->depth; layer++)
		for (size_t i = 0; i < b->sublayer_count; i++) {
			struct step step = stack_step(stack, layer, i);
			const struct tape *known = stack->tapes + layer * b->sublayer_count + i;
			struct tape tape = {.in = h};
			enum nc_status status;

			step.origin = sublayer_input(&step, known);
			if (change->slot < NC_SLOT_COUNT && change->sublayer == i &&
			    (change->layer == layer || change->layer == b->depth)) {
				step.replaced = (enum nc_slot)change->slot;
				step.replacement = change->value;
			}
			sublayer_lay_out(b, step.sublayer, probe->memory, &tape);
			tape.out = h == probe->h[0] ? probe->h[1] : probe->h[0];
			status = stack_note(stack, &step, sublayer_forward(&step, &tape));
			if (status != NC_OK)
				return status;
			h = tape.out;
		}
	memcpy(y, h, stack->count * sizeof(*y));
	return NC_OK;
}

/* The deviation of one gradient: that of x, or of a slot. */
static enum nc_status probe_one(struct probe *probe, const struct change *where, const double *p,
                                const double *gradient, size_t count, double *deviation)
{
	struct stack *stack = probe->stack;
	const struct nc_block *b = stack->block;
	bool of_x = where->slot == NC_SLOT_COUNT;
	size_t first = of_x || where->layer == b->depth ? 0 : where->layer;
	double rms = nc_magnitude(p, count).rms;
	double step = NC_VERIFY_STEP * (rms > 0 && isfinite(rms) ? rms : 1);
	double measured = 0, expected = 0;
	struct change change = *where;
	enum nc_status status;

	kernels()->draw_normal(SEED, stream_of(where->layer, where->sublayer, where->slot), step, probe->lower, count);
	for (size_t i = 0; i < count; i++) {
		double v = probe->lower[i];

		probe->upper[i] = p[i] + v;
		probe->lower[i] = p[i] - v;
		expected += gradient[i] * (probe->upper[i] - probe->lower[i]);
	}
	for (int side = 0; side < 2; side++) {
		const double *h = stack->tapes[first * b->sublayer_count].in;

		change.value = side ? probe->lower : probe->upper;
		status =
		    run_from(probe, first, of_x ? change.value : h, &change, side ? probe->y_lower : probe->y_upper);
		if (status != NC_OK)
			return status;
	}
	for (size_t i = 0; i < stack->count; i++)
		measured += stack->dy[i] * (probe->y_upper[i] - probe->y_lower[i]);

	double unit = fmax(fmax(fabs(measured), fabs(expected)), 2 * NC_VERIFY_STEP * NC_VERIFY_STEP * probe->weight);

	*deviation = measured == expected ? 0 : fabs(measured - expected) / unit;
	return NC_OK;
}

static enum nc_status probe_weight(struct probe *probe, size_t sublayer, int slot)
{
	const struct nc_block *b = probe->stack->block;
	const struct nc_weight *w = &b->sublayers[sublayer].weight[slot];
	size_t layers = w->gradient_step ? b->depth : 1;

	for (size_t layer = 0; layer < layers; layer++) {
		struct change where = {w->gradient_step ? layer : b->depth, sublayer, slot, NULL};
		enum nc_status status =
		    probe_one(probe, &where, w->value + layer * w->value_step, w->gradient + layer * w->gradient_step,
		              w->count, &w->deviation[layer]);

		if (status != NC_OK)
			return status;
	}
	return NC_OK;
}

enum nc_status stack_verify(struct stack *stack)
{
	const struct nc_block *b = stack->block;
	const double *y = stack->tapes[b->depth * b->sublayer_count - 1].out;
	size_t mark = nc_arena_mark(stack->arena), largest = stack->count, tape = 0;
	struct probe probe = {.stack = stack};
	struct change of_x = {0, 0, NC_SLOT_COUNT, NULL};
	enum nc_status status = NC_NO_MEMORY;

	for (size_t i = 0; i < b->sublayer_count; i++) {
		size_t own = sublayer_tape(b, b->sublayers + i);

		tape = own > tape ? own : tape;
		for (int slot = 0; slot < NC_SLOT_COUNT; slot++)
			if (b->sublayers[i].weight[slot].count > largest)
				largest = b->sublayers[i].weight[slot].count;
	}
	probe.upper = nc_arena_array(stack->arena, largest, sizeof(double));
	probe.lower = nc_arena_array(stack->arena, largest, sizeof(double));
	probe.y_upper = nc_arena_array(stack->arena, stack->count, sizeof(double));
	probe.y_lower = nc_arena_array(stack->arena, stack->count, sizeof(double));
	probe.h[0] = nc_arena_array(stack->arena, stack->count, sizeof(double));
	probe.h[1] = nc_arena_array(stack->arena, stack->count, sizeof(double));
	probe.memory = nc_arena_array(stack->arena, tape, sizeof(double));
	if (!probe.upper || !probe.lower || !probe.y_upper || !probe.y_lower || !probe.h[0] || !probe.h[1] ||
	    !probe.memory)
		goto done;
	for (size_t i = 0; i < stack->count; i++)
		probe.weight += fabs(stack->dy[i] * y[i]);

	status = NC_OK;
	if (stack->call->deviation)
		status =
		    probe_one(&probe, &of_x, stack->call->x, stack->call->dx, stack->count, stack->call->deviation);
	for (size_t i = 0; i < b->sublayer_count; i++)
		for (int slot = 0; slot < NC_SLOT_COUNT; slot++)
			if (status == NC_OK && b->sublayers[i].weight[slot].deviation)
				status = probe_weight(&probe, i, slot);
done:
	nc_arena_rewind(stack->arena, mark);
	return status;
}
