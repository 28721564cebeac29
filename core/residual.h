/*
 * Residual addition y = s·x + u·update with its gradients by branch, and the fused addition and norm.
 *
 * One call with optional outputs, as nc_norm_call. All arrays are in the storage of `dtype`; products and sums are
 * exact or compensated and rounded once.
 */
#ifndef NORMCORE_RESIDUAL_H
#define NORMCORE_RESIDUAL_H

#include "norm.h"
#include "public.h"

NC_PUBLIC_BEGIN

/* J_F: how the caller gives the sublayer's Jacobian, of size n = features. */
enum nc_jacobian_form { NC_JACOBIAN_NONE, NC_JACOBIAN_NUMBER, NC_JACOBIAN_DIAGONAL, NC_JACOBIAN_DENSE };

struct nc_residual_call {
	enum nc_dtype dtype;
	double skip_scale, update_scale;  /* s, u; finite */
	size_t rows, features;            /* x is rows × features */
	const void *x, *update;           /* rows × features */
	const void *dy;                   /* gradient of y, or NULL */

	enum nc_jacobian_form form;
	const void *sublayer_jacobian;    /* 1, n or n × n elements, by form */

	const struct nc_norm_spec *norm;  /* NULL: no fused norm; its dtype equals `dtype` */
	size_t period;                    /* of the norm, as in nc_norm_call; 0 counts as 1. A form that is not NUMBER needs 1 */
	struct nc_param gain, bias;       /* of the norm */
	bool round_sum;                   /* the norm sees y rounded to dtype; else the unrounded sum */
	const void *dnormed;              /* gradient of normed, or NULL; adds the norm's input gradient to dy (absent: 0) */

	void *y;                          /* rows × features */
	void *normed;                     /* rows × features: Norm(y) */
	void *divisor, *mean, *variance;  /* rows, as in nc_norm_call */
	void *dx;                         /* s·d, and + J_Fᵀ(u·d) when form is given; d = dy + the norm's input gradient */
	void *dupdate;                    /* u·d */
	void *dx_identity, *dx_sublayer;  /* s·d and J_Fᵀ(u·d), with a form only */
	void *dgain, *dbias;              /* period × features: gradients of the norm's parameters through dnormed */
	void *identity, *sublayer, *total;/* s·I, u·J_F and their sum in the given form, storage of dtype; total rounded once */

	size_t bad_row;                   /* with NC_NO_VALUE */
};

/* As nc_norm: every output that is not NULL. Every element keeps the promise of norm.h. */
enum nc_status nc_residual(struct nc_residual_call *call, struct nc_pool *pool, struct nc_arena *arena);

NC_PUBLIC_END

#endif
