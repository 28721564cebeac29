/*
 * One request's memory: a bump allocator over one reserved range of addresses.
 *
 * The range is reserved once and pages become real as they are first touched, so an allocation may be an upper
 * bound that is trimmed when the true size is known, and nothing is ever moved. A reset keeps up to a limit of
 * touched pages for the next request, because a page's first touch costs more than all that is done with it.
 * Pages are small in the first 2 MiB and huge beyond, where the system has them.
 * An arena belongs to one thread at a time.
 */
#ifndef NORMCORE_ARENA_H
#define NORMCORE_ARENA_H

#include "public.h"

#include <stddef.h>

NC_PUBLIC_BEGIN

enum { NC_ALIGN = 64 };

struct nc_arena;

/* Reserves capacity bytes of addresses (rounded up to whole huge pages). NULL when the system refuses. */
struct nc_arena *nc_arena_create(size_t capacity);

/* NULL is nothing to do. */
void nc_arena_destroy(struct nc_arena *arena);

/* bytes of uninitialized memory aligned to NC_ALIGN; NULL when the capacity is used up. 0 bytes give a valid pointer. */
void *nc_arena_alloc(struct nc_arena *arena, size_t bytes);

/* As nc_arena_alloc for count elements of size bytes, zeroed; NULL also when the product overflows. */
void *nc_arena_zero(struct nc_arena *arena, size_t count, size_t size);

/* As nc_arena_alloc for count elements of size bytes; NULL also when the product overflows. */
void *nc_arena_array(struct nc_arena *arena, size_t count, size_t size);

/* Gives back the end of the latest allocation: block keeps its first `bytes` bytes. No effect on an older block. */
void nc_arena_trim(struct nc_arena *arena, void *block, size_t bytes);

/* The place where the next allocation begins; nc_arena_rewind frees all that was allocated after it. */
size_t nc_arena_mark(const struct nc_arena *arena);
void nc_arena_rewind(struct nc_arena *arena, size_t mark);

/* Bytes that can still be allocated. */
size_t nc_arena_left(const struct nc_arena *arena);

/* Bytes that hold pages of the system, at most: what a reset may keep. */
size_t nc_arena_touched(const struct nc_arena *arena);

/* Frees everything; pages beyond the first `keep` bytes go back to the system. */
void nc_arena_reset(struct nc_arena *arena, size_t keep);

NC_PUBLIC_END

#endif
