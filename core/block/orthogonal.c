/*
 * Classical Gram–Schmidt, every projection made twice (Giraud, Langou, Rozložník: "twice is enough"), in blocks of rows
 * so that nearly all of it is matrix products.
 */
#include "orthogonal.h"

#include "matrix.h"

#include <math.h>

enum { BLOCK = 32 };

/* rows −= (rows·qᵀ)·q for `known` orthonormal rows q; coefficients: count × known. */
static void project_out(double *rows, size_t count, const double *q, size_t known, size_t length, double *coefficients,
                        struct nc_pool *pool)
{
	struct nc_product along = {.m = count,
	                           .n = known,
	                           .k = length,
	                           .a = rows,
	                           .a_row = length,
	                           .a_col = 1,
	                           .b = q,
	                           .b_row = 1,
	                           .b_col = length,
	                           .c = coefficients,
	                           .c_row = known,
	                           .c_col = 1};
	struct nc_product away = {.m = count,
	                          .n = length,
	                          .k = known,
	                          .a = coefficients,
	                          .a_row = known,
	                          .a_col = 1,
	                          .b = q,
	                          .b_row = length,
	                          .b_col = 1,
	                          .c = rows,
	                          .c_row = length,
	                          .c_col = 1,
	                          .accumulate = true};

	nc_multiply(&along, pool);
	for (size_t i = 0; i < count * known; i++)
		coefficients[i] = -coefficients[i];
	nc_multiply(&away, pool);
}

static void normalize(double *row, size_t length)
{
	double square;
	struct nc_product dot = {.m = 1,
	                         .n = 1,
	                         .k = length,
	                         .a = row,
	                         .a_col = 1,
	                         .b = row,
	                         .b_row = 1,
	                         .c = &square,
	                         .c_row = 1,
	                         .c_col = 1};

	nc_multiply(&dot, NULL);
	for (size_t i = 0; i < length; i++)
		row[i] /= sqrt(square);
}

enum nc_status nc_orthonormalize(double *q, size_t vectors, size_t length, struct nc_pool *pool, struct nc_arena *arena)
{
	size_t mark = nc_arena_mark(arena), block = vectors < BLOCK ? vectors : BLOCK;
	double *coefficients = nc_arena_array(arena, block * vectors, sizeof(*coefficients));

	if (!coefficients)
		return NC_NO_MEMORY;
	for (size_t first = 0; first < vectors; first += block) {
		size_t count = vectors - first < block ? vectors - first : block;
		double *rows = q + first * length;

		for (int pass = 0; pass < 2; pass++) {
			if (first)
				project_out(rows, count, q, first, length, coefficients, pool);
			for (size_t i = 0; i < count; i++) {
				double *row = rows + i * length;

				for (int again = 0; again < 2 && i; again++)
					project_out(row, 1, rows, i, length, coefficients, NULL);
				normalize(row, length);
			}
		}
	}
	nc_arena_rewind(arena, mark);
	return NC_OK;
}
