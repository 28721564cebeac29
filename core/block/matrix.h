/*
 * The matrix product of blocks: C = A·B or C += A·B in float64.
 *
 * Every element accumulates over k in ascending order, one multiplication and one addition a step, so its bits depend
 * neither on the instruction set, nor on how the product is cut up, nor on what other elements there are.
 */
#ifndef NORMCORE_MATRIX_H
#define NORMCORE_MATRIX_H

#include "../pool.h"

#include <stdbool.h>
#include <stddef.h>

/* Strides count elements; a transposed matrix is one with its strides exchanged. C overlaps neither A nor B. */
struct nc_product {
	size_t m, n, k; /* C is m × n, A m × k, B k × n; any may be 0 */
	const double *a;
	size_t a_row, a_col; /* A[i][l] = a[i·a_row + l·a_col] */
	const double *b;
	size_t b_row, b_col; /* B[l][j] = b[l·b_row + j·b_col] */
	double *c;
	size_t c_row, c_col; /* C[i][j] = c[i·c_row + j·c_col] */
	bool accumulate;     /* start from C instead of 0 */
};

/* Computes the product on pool (NULL: on this thread), cut by tiles of C where it is large enough to share. */
void nc_multiply(const struct nc_product *product, struct nc_pool *pool);

#endif
