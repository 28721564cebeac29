/* The multilayer perceptron of a transformer: down(act(up·x)), or gated: down(act(gate·x) ⊙ up·x). */
#include "function.h"

/* All rows × hidden: a = what down multiplies, slope = act' at its argument; gated also up and act(gate). */
struct mlp_tape {
	double *inner, *slope, *up, *gate;
};

static struct mlp_tape tape_parts(const struct step *step, const double *tape)
{
	size_t count = step->rows * step->sublayer->hidden;
	double *t = (double *)(uintptr_t)tape;

	return (struct mlp_tape){t, t + count, t + 2 * count, t + 3 * count};
}

static size_t mlp_tape(const struct nc_block *block, const struct nc_sublayer *sublayer)
{
	size_t rows = size_times(block->batch, block->length);

	return size_times(size_times(rows, sublayer->hidden), sublayer->gated ? 4 : 2);
}

static size_t mlp_work(const struct nc_block *block, const struct nc_sublayer *sublayer, size_t sweeps)
{
	size_t rows = size_times(size_times(block->batch, block->length), sweeps);

	return size_times(size_times(rows, sublayer->hidden), sublayer->gated ? 2 : 1);
}

static enum nc_status mlp_forward(struct step *step, const double *x, double *y, double *tape)
{
	const struct nc_sublayer *f = step->sublayer;
	size_t d = step->block->width, h = f->hidden, count = step->rows * h;
	struct mlp_tape t = tape_parts(step, tape);

	if (f->gated) {
		nc_linear_forward(step, step->rows, d, h, NC_SLOT_W_UP, NC_SLOT_B_UP, x, t.up);
		nc_linear_forward(step, step->rows, d, h, NC_SLOT_W_GATE, NC_SLOT_B_GATE, x, t.gate);
		nc_activate(step, f->activation, count, t.gate, t.gate, t.slope);
		step->kernels->multiply(t.gate, t.up, t.inner, count);
	} else {
		nc_linear_forward(step, step->rows, d, h, NC_SLOT_W_UP, NC_SLOT_B_UP, x, t.inner);
		nc_activate(step, f->activation, count, t.inner, t.inner, t.slope);
	}
	nc_linear_forward(step, step->rows, h, d, NC_SLOT_W_DOWN, NC_SLOT_B_DOWN, t.inner, y);
	return NC_OK;
}

static enum nc_status mlp_backward(struct step *step, const double *x, const double *tape, size_t sweeps,
                                   const double *dy, double *dx)
{
	const struct nc_sublayer *f = step->sublayer;
	size_t d = step->block->width, h = f->hidden, count = step->rows * h, mark = nc_arena_mark(step->arena);
	struct mlp_tape t = tape_parts(step, tape);
	double *dinner = nc_arena_array(step->arena, sweeps * count, sizeof(*dinner));
	double *dgate = f->gated ? nc_arena_array(step->arena, sweeps * count, sizeof(*dgate)) : NULL;

	if (!dinner || (f->gated && !dgate)) {
		nc_arena_rewind(step->arena, mark);
		return NC_NO_MEMORY;
	}
	/* y = down·inner + b */
	nc_linear_backward(step, step->rows, h, d, NC_SLOT_W_DOWN, NC_SLOT_B_DOWN, t.inner, sweeps, dy, dinner, false);
	for (size_t s = 0; s < sweeps; s++) {
		double *di = dinner + s * count;

		if (f->gated) { /* inner = act(gate) ⊙ up */
			double *dg = dgate + s * count;

			step->kernels->multiply(di, t.up, dg, count);
			step->kernels->multiply(dg, t.slope, dg, count);
			step->kernels->multiply(di, t.gate, di, count);
		} else { /* inner = act(up) */
			step->kernels->multiply(di, t.slope, di, count);
		}
	}
	/* up = w_up·x + b, gate = w_gate·x + b */
	nc_linear_backward(step, step->rows, d, h, NC_SLOT_W_UP, NC_SLOT_B_UP, x, sweeps, dinner, dx, false);
	if (f->gated)
		nc_linear_backward(step, step->rows, d, h, NC_SLOT_W_GATE, NC_SLOT_B_GATE, x, sweeps, dgate, dx, true);
	nc_arena_rewind(step->arena, mark);
	return NC_OK;
}

const struct function nc_function_mlp = {mlp_tape, mlp_work, mlp_forward, mlp_backward};
