/*
 * Threads that share the work of one call.
 *
 * Work is cut into numbered chunks by its shape alone, never by the number of threads, so that the bits of a
 * result do not depend on it. The caller takes part; several callers may run at once; a call with one chunk runs
 * inline and takes no lock. Idle threads are parked.
 */
#ifndef NORMCORE_POOL_H
#define NORMCORE_POOL_H

#include "public.h"

#include <stddef.h>

NC_PUBLIC_BEGIN

struct nc_pool;

/* Handles one chunk. Must not call nc_pool_run on the same pool. */
typedef void nc_pool_fn(void *context, size_t chunk);

/* A pool in which `threads` threads work, the caller of nc_pool_run counted: threads - 1 are started. NULL on failure. */
struct nc_pool *nc_pool_create(unsigned threads);

/* Stops and joins the threads. No nc_pool_run may be in progress. NULL is nothing to do. */
void nc_pool_destroy(struct nc_pool *pool);

/* fn(context, i) for every i below chunks, in any order, each once; returns when all are done. pool NULL: inline. */
void nc_pool_run(struct nc_pool *pool, nc_pool_fn *fn, void *context, size_t chunks);

/* Threads that may work at once, the caller counted; 1 for NULL. */
unsigned nc_pool_threads(const struct nc_pool *pool);

NC_PUBLIC_END

#endif
