/* Seeded weights. The generator and its streams are told in init.c. */
#ifndef NORMCORE_INIT_H
#define NORMCORE_INIT_H

#include "block.h"

/*
 * One rows × cols matrix (rows = outputs) of a scheme, from the stream of (layer, sublayer, slot). orthogonal works on
 * pool (or NULL) with memory from arena (rewound). NC_OK, NC_NO_MEMORY.
 */
enum nc_status nc_init_matrix(const struct nc_init *init, size_t layer, size_t sublayer, enum nc_slot slot, size_t rows,
                              size_t cols, double *out, struct nc_pool *pool, struct nc_arena *arena);

#endif
