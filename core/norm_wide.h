/*
 * The formulas of norm.h in wide arithmetic, one element at a time: any finite input, infinities and NaN.
 *
 * The kernels take the rows whose magnitudes they can hold; these functions take every other one.
 */
#ifndef NORMCORE_NORM_WIDE_H
#define NORMCORE_NORM_WIDE_H

#include "norm.h"
#include "wide.h"

/* One row: x, or skip·x + scale·update. */
struct wide_row {
	const struct nc_norm_spec *spec;
	size_t n;
	const void *x, *update;       /* n elements in the storage of spec->dtype; update NULL: x alone */
	double skip, scale;           /* used with update */
	bool round_sum;               /* the sum is rounded to spec->dtype */
	struct nc_param gain, bias;   /* of this row: count 0, 1 or n */

	struct wide mean, m, s, r;    /* set by wide_row_begin; s = √m, or r inside the root */
	bool curved;                  /* the term c_i c_j / (n s r²) is there */
	struct wide curvature;        /* 1 / (n s r²) */
};

/* P u with P = (I − [LayerNorm] 1/n) / r − c cᵀ/(n s r²): dx = P (g ⊙ dy), jvp = g ⊙ (P tangent). */
struct wide_projection {
	const void *u;                /* n elements in the storage of spec->dtype */
	bool gained;                  /* u is multiplied by the gain first */
	struct wide mean, k;          /* of u; Σ c (u − ū) / (n s r²) */
};

/* Element i of an array in the storage of dtype. */
double nc_element(enum nc_dtype dtype, const void *data, size_t i);
void nc_set_element(enum nc_dtype dtype, void *data, size_t i, double value);

/* The gain that multiplies element i, offset included and rounded to float64; 1 without one. */
double nc_gain_at(const struct nc_norm_spec *spec, struct nc_param gain, size_t i);

/* Computes mean, m, s, r from the inputs; false when m and epsilon are both exactly 0: no value. */
bool wide_row_begin(struct wide_row *row);

struct wide wide_row_x(const struct wide_row *row, size_t i);
struct wide wide_row_centred(const struct wide_row *row, size_t i);

/* What the gain multiplies: x̂, rounded to spec->xhat_dtype. */
struct wide wide_row_xhat(const struct wide_row *row, size_t i);
struct wide wide_row_y(const struct wide_row *row, size_t i);

/* Computes mean and k of a projection whose u and gained are set; then its elements. */
void wide_project_begin(const struct wide_row *row, struct wide_projection *p);
struct wide wide_project_at(const struct wide_row *row, const struct wide_projection *p, size_t i);

/* ∂y_i/∂x_j */
struct wide wide_row_jacobian(const struct wide_row *row, size_t i, size_t j);

/* The factors of the structured Jacobian at element i; left and right have nc_norm_rank elements. */
void wide_row_factors(const struct wide_row *row, size_t i, double *diagonal, double *left, double *right);

#endif
