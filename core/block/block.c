/* A stack of blocks: forward with a tape, backward with both branches and their norms apart. */
#include "stack.h"

#include "magnitude.h"

#include <math.h>

struct step stack_step(const struct stack *stack, size_t layer, size_t i)
{
	const struct nc_block *b = stack->block;

	return (struct step){.block = b,
	                     .sublayer = b->sublayers + i,
	                     .layer = layer,
	                     .rows = b->batch * b->length,
	                     .kernels = kernels(),
	                     .pool = stack->pool,
	                     .arena = stack->arena,
	                     .replaced = NC_SLOT_COUNT};
}

enum nc_status stack_note(const struct stack *stack, const struct step *step, enum nc_status status)
{
	if (status == NC_NO_VALUE) {
		stack->call->bad_layer = step->layer;
		stack->call->bad_sublayer = (size_t)(step->sublayer - step->block->sublayers);
		stack->call->bad_norm = step->bad_norm;
		stack->call->bad_row = step->bad_row;
	}
	return status;
}

/* --- what a call may ask for ------------------------------------------------------------------------------------- */

static bool valid_norm(const struct nc_block_norm *norm, size_t features)
{
	return norm->groups >= 1 && features % norm->groups == 0 && norm->spec.dtype == NC_FLOAT64 &&
	       norm->spec.epsilon >= 0 && isfinite(norm->spec.epsilon) && isfinite(norm->spec.gain_offset);
}

static bool valid_attention(const struct nc_attention *a)
{
	return a->heads >= 1 && a->kv_heads >= 1 && a->heads % a->kv_heads == 0 && a->head_dim >= 1 &&
	       isfinite(a->scale) && a->softcap >= 0 && isfinite(a->softcap) &&
	       (a->rope == NC_ROPE_NONE ||
	        (a->head_dim % 2 == 0 && a->theta > 0 && isfinite(a->theta) && isfinite(a->position))) &&
	       (!a->qk_norm || valid_norm(&a->norm, a->head_dim));
}

static bool valid_sublayer(const struct nc_block *b, const struct nc_sublayer *s)
{
	if ((unsigned)s->kind >= NC_FUNCTION_COUNT || (unsigned)s->activation >= NC_ACT_COUNT ||
	    (unsigned)s->init.scheme >= NC_SCHEME_COUNT)
		return false;
	if ((b->placement != NC_PLACEMENT_NONE && !valid_norm(&s->norm, b->width)) ||
	    (b->placement == NC_PLACEMENT_SANDWICH && !valid_norm(&s->norm_after, b->width)))
		return false;
	if ((s->kind == NC_FUNCTION_SCALE && !isfinite(s->factor)) || (s->kind == NC_FUNCTION_MLP && s->hidden == 0) ||
	    (s->kind == NC_FUNCTION_ATTENTION && !valid_attention(&s->attention)) ||
	    (s->kind == NC_FUNCTION_GIVEN && (b->depth > 1 || !s->given.output || !s->given.jacobian)))
		return false;
	for (int slot = 0; slot < NC_SLOT_COUNT; slot++) {
		const struct nc_weight *w = &s->weight[slot];
		size_t shape[2] = {1, 1};
		unsigned rank = nc_slot_shape(b, s, (enum nc_slot)slot, shape);

		if (!w->value && (w->gradient || w->deviation || nc_slot_required(s, (enum nc_slot)slot)))
			return false;
		if (w->deviation && !w->gradient)
			return false;
		if (w->value && (rank == 0 || !(w->count == size_times(shape[0], rank == 2 ? shape[1] : 1) ||
		                                (w->count == 1 && nc_slot_part((enum nc_slot)slot) != NC_PART_F))))
			return false;
	}
	return true;
}

static bool valid(const struct nc_block *b, const struct nc_block_call *call)
{
	if ((unsigned)b->placement >= NC_PLACEMENT_COUNT || !isfinite(b->skip_scale) || !isfinite(b->update_scale) ||
	    b->width < 1 || b->depth < 1 || b->depth > NC_MAX_DEPTH || b->sublayer_count < 1 || !call->x)
		return false;
	if ((call->branches && b->depth > 1) || (call->jacobian && b->batch > 1) ||
	    (call->jacobian_sublayer && (!call->jacobian || b->placement == NC_PLACEMENT_POST)) ||
	    (call->deviation && !call->dx))
		return false;
	for (size_t i = 0; i < b->sublayer_count; i++)
		if (!valid_sublayer(b, b->sublayers + i))
			return false;
	return true;
}

static bool wants_gradients(const struct nc_block *b)
{
	for (size_t i = 0; i < b->sublayer_count; i++)
		for (int slot = 0; slot < NC_SLOT_COUNT; slot++)
			if (b->sublayers[i].weight[slot].gradient)
				return true;
	return false;
}

/* --- forward ----------------------------------------------------------------------------------------------------- */

static enum nc_status forward(struct stack *stack)
{
	const struct nc_block *b = stack->block;
	const double *h = stack->call->x;

	stack->tapes = nc_arena_array(stack->arena, b->depth * b->sublayer_count, sizeof(*stack->tapes));
	if (!stack->tapes)
		return NC_NO_MEMORY;
	for (size_t layer = 0; layer < b->depth; layer++)
		for (size_t i = 0; i < b->sublayer_count; i++) {
			struct step step = stack_step(stack, layer, i);
			struct tape *tape = stack->tapes + layer * b->sublayer_count + i;
			double *memory = nc_arena_array(stack->arena, sublayer_tape(b, step.sublayer), sizeof(*memory));
			enum nc_status status;

			if (!memory)
				return NC_NO_MEMORY;
			tape->in = h;
			sublayer_lay_out(b, step.sublayer, memory, tape);
			status = stack_note(stack, &step, sublayer_forward(&step, tape));
			if (status != NC_OK)
				return status;
			h = tape->out;
		}
	return NC_OK;
}

/* --- backward ---------------------------------------------------------------------------------------------------- */

/* Gradients at one place of the stack, rows × width each. */
struct cotangents {
	double *whole; /* of h */
	double *identity, *branch;
	double *skip, *rest; /* with a trace: what passed this layer by its skips alone, and what did not */
	double *next;
};

static void clear_gradients(const struct nc_block *b)
{
	for (size_t i = 0; i < b->sublayer_count; i++)
		for (int slot = 0; slot < NC_SLOT_COUNT; slot++) {
			const struct nc_weight *w = &b->sublayers[i].weight[slot];

			if (w->gradient)
				memset(w->gradient, 0, w->count * (w->gradient_step ? b->depth : 1) * sizeof(double));
		}
}

/* skip ← skip through this sublayer's skip, rest ← the same + branch. The last sublayer comes first. */
static enum nc_status trace_sublayer(struct stack *stack, struct step *step, const struct tape *tape, bool last,
                                     struct cotangents *g)
{
	size_t count = stack->count;
	enum nc_status status;
	double *swap;

	if (last) {
		memcpy(g->skip, g->identity, count * sizeof(*g->skip));
		memcpy(g->rest, g->branch, count * sizeof(*g->rest));
		return NC_OK;
	}
	status = sublayer_skip(step, tape, 1, g->skip, g->next);
	if (status != NC_OK)
		return status;
	swap = g->skip;
	g->skip = g->next;
	g->next = swap;
	status = sublayer_skip(step, tape, 1, g->rest, g->next);
	if (status == NC_OK)
		step->kernels->combine(1, g->next, 1, g->branch, g->rest, count);
	return status;
}

static void trace_gradient(struct nc_trace *entry, const struct cotangents *g, size_t count, bool output)
{
	struct magnitude whole = nc_magnitude(g->whole, count);

	entry->grad_norm = whole.norm;
	entry->grad_rms = whole.rms;
	if (!output) {
		entry->identity_grad_norm = nc_magnitude(g->skip, count).norm;
		entry->sublayer_grad_norm = nc_magnitude(g->rest, count).norm;
	}
}

static void trace_activations(const struct stack *stack)
{
	const struct nc_block *b = stack->block;
	size_t last = b->depth * b->sublayer_count - 1;

	for (size_t layer = 0; layer <= b->depth; layer++) {
		const double *h =
		    layer < b->depth ? stack->tapes[layer * b->sublayer_count].in : stack->tapes[last].out;
		struct magnitude m = nc_magnitude(h, stack->count);

		stack->call->trace[layer].activation_rms = m.rms;
		stack->call->trace[layer].activation_max = m.max;
	}
}

static enum nc_status backward(struct stack *stack)
{
	const struct nc_block *b = stack->block;
	struct nc_block_call *call = stack->call;
	size_t count = stack->count;
	struct cotangents g;
	double **parts[] = {&g.whole, &g.identity, &g.branch, &g.skip, &g.rest, &g.next};

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		*parts[i] = nc_arena_array(stack->arena, count, sizeof(double));
		if (!*parts[i])
			return NC_NO_MEMORY;
	}
	memcpy(g.whole, stack->dy, count * sizeof(double));
	if (call->trace)
		trace_gradient(&call->trace[b->depth], &g, count, true);
	for (size_t layer = b->depth; layer-- > 0;) {
		for (size_t i = b->sublayer_count; i-- > 0;) {
			struct step step = stack_step(stack, layer, i);
			const struct tape *tape = stack->tapes + layer * b->sublayer_count + i;
			enum nc_status status;

			step.gradients = true;
			status = sublayer_backward(&step, tape, 1, g.whole, g.identity, g.branch);
			if (status == NC_OK && call->trace)
				status = trace_sublayer(stack, &step, tape, i + 1 == b->sublayer_count, &g);
			if (status != NC_OK)
				return stack_note(stack, &step, status);
			if (call->branches) {
				memcpy(call->branches[i].dx_identity, g.identity, count * sizeof(double));
				memcpy(call->branches[i].dx_sublayer, g.branch, count * sizeof(double));
			}
			step.kernels->combine(1, g.identity, 1, g.branch, g.whole, count);
		}
		if (call->trace)
			trace_gradient(&call->trace[layer], &g, count, false);
	}
	if (call->dx)
		memcpy(call->dx, g.whole, count * sizeof(double));
	return NC_OK;
}

/* --- the call ---------------------------------------------------------------------------------------------------- */

enum { SLACK = 1 << 20 }; /* what nc_norm takes, and the rounding of allocations */

size_t nc_block_work_bytes(const struct nc_block *block, const struct nc_block_call *call)
{
	size_t count = size_times(size_times(block->batch, block->length), block->width);
	size_t sweeps = call->jacobian ? jacobian_sweeps(block) : 1;
	size_t tapes = 0, work = 0, largest = 0, total;

	for (size_t i = 0; i < block->sublayer_count; i++) {
		const struct nc_sublayer *s = block->sublayers + i;
		size_t own = size_plus(size_plus(sublayer_tape(block, s), 2 * NC_ALIGN), sizeof(struct tape));
		size_t used = sublayer_work(block, s, sweeps);

		tapes = size_plus(tapes, own);
		work = used > work ? used : work;
		for (int slot = 0; slot < NC_SLOT_COUNT; slot++)
			largest = s->weight[slot].count > largest ? s->weight[slot].count : largest;
	}
	total = size_plus(size_times(tapes, block->depth), work);
	total = size_plus(total, size_times(size_plus(8, size_times(3, sweeps)), count));
	if (stack_verified(block, call))
		total = size_plus(total, size_plus(tapes, size_plus(size_times(4, largest), size_times(8, count))));
	/* nc_norm keeps sums of dgain and dbias in pieces of rows */
	total = size_plus(total, size_times(size_times(4, sweeps), count));
	return size_plus(size_times(total, sizeof(double)), SLACK);
}

enum nc_status nc_block_grad(const struct nc_block *block, struct nc_block_call *call, struct nc_pool *pool,
                             struct nc_arena *arena)
{
	struct stack stack = {.block = block, .call = call, .pool = pool, .arena = arena, .dy = call->dy};
	size_t mark = nc_arena_mark(arena);
	enum nc_status status;

	if (!valid(block, call))
		return NC_INVALID;
	stack.count = block->batch * block->length * block->width;
	status = forward(&stack);
	if (status != NC_OK)
		goto done;
	if (call->y)
		memcpy(call->y, stack.tapes[block->depth * block->sublayer_count - 1].out,
		       stack.count * sizeof(double));
	if (call->trace)
		trace_activations(&stack);
	if (!stack.dy) {
		double *ones = nc_arena_array(arena, stack.count, sizeof(double));

		status = NC_NO_MEMORY;
		if (!ones)
			goto done;
		for (size_t i = 0; i < stack.count; i++)
			ones[i] = 1;
		stack.dy = ones;
	}
	status = NC_OK;
	clear_gradients(block);
	if (call->dx || call->branches || call->trace || wants_gradients(block))
		status = backward(&stack);
	if (status == NC_OK && call->jacobian)
		status = stack_jacobian(&stack);
	if (status == NC_OK && stack_verified(block, call))
		status = stack_verify(&stack);
done:
	nc_arena_rewind(arena, mark);
	return status;
}
