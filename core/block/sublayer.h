/* One sublayer with its norms and its residual: what block.c runs layer by layer. Internal to core. */
#ifndef NORMCORE_SUBLAYER_H
#define NORMCORE_SUBLAYER_H

#include "function.h"

/* What one sublayer of one layer leaves for the backward pass; rows × width each but inner. */
struct tape {
	const double *in; /* h as it enters: the tape of the sublayer before owns it, or the caller */
	double *out;      /* h as it leaves */
	double *normed;   /* pre, sandwich: Norm(in), the input of F */
	double *update;   /* sandwich: F's output; post: s·in + u·F(in) */
	double *inner;    /* F's own */
};

/* Numbers that the tape of a sublayer holds. */
size_t sublayer_tape(const struct nc_block *block, const struct nc_sublayer *sublayer);

/* Numbers of arena that its forward and its backward pass take beside the tape. */
size_t sublayer_work(const struct nc_block *block, const struct nc_sublayer *sublayer, size_t sweeps);

/* Cuts `memory` (sublayer_tape numbers) into the parts of a tape; `in` is left alone. */
void sublayer_lay_out(const struct nc_block *block, const struct nc_sublayer *sublayer, double *memory,
                      struct tape *tape);

/* tape->in → tape->out. */
enum nc_status sublayer_forward(struct step *step, const struct tape *tape);

/* The input of F. */
const double *sublayer_input(const struct step *step, const struct tape *tape);

/*
 * g, the gradient of out (sweeps × rows × width), to the gradient of in by branch: identity (the skip; zeros without a
 * residual) and branch (through F). Either is sweeps × rows × width and overlaps nothing.
 */
enum nc_status sublayer_backward(struct step *step, const struct tape *tape, size_t sweeps, const double *g,
                                 double *identity, double *branch);

/* The identity branch alone. */
enum nc_status sublayer_skip(struct step *step, const struct tape *tape, size_t sweeps, const double *g,
                             double *identity);

#endif
