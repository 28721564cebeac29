/* Orthonormal rows from arbitrary ones. */
#ifndef NORMCORE_ORTHOGONAL_H
#define NORMCORE_ORTHOGONAL_H

#include "../arena.h"
#include "../pool.h"
#include "../status.h"

/*
 * Makes the `vectors` rows of q (vectors × length, vectors <= length, linearly independent) orthonormal in place,
 * spanning what they spanned: row i stays in the span of rows 0 … i. NC_OK, NC_NO_MEMORY. The same bits everywhere.
 */
enum nc_status nc_orthonormalize(double *q, size_t vectors, size_t length, struct nc_pool *pool,
                                 struct nc_arena *arena);

#endif
