/*
 * The text of a tensor: its numbers in nested lists.
 *
 * A large one is cut into spans that the pool's threads write at once, each into a slot of its own, and then move to where
 * they belong. The text does not depend on the cuts.
 */
#ifndef API_TENSOR_TEXT_H
#define API_TENSOR_TEXT_H

#include "core/arena.h"
#include "core/pool.h"
#include "core/tensor.h"
#include "json/json_number.h"

struct tensor_text {
	const struct nc_tensor *tensor;
	enum json_nonfinite mode;
	bool pretty;               /* a row a line, two spaces for each bracket open, `depth` more before them */
	unsigned depth;
};

/* Bytes that the text may take and that may be overwritten behind it; SIZE_MAX on overflow. */
size_t tensor_text_room(const struct tensor_text *text);

/*
 * Writes it to out, which has that room; returns its end. With JSON_NONFINITE_STOP, *bad is the first element that is
 * not finite, if any, and what was written is no whole text; else *bad is the number of elements. Memory to write spans in is
 * taken from the arena and given back; without any it is done by one thread. pool may be NULL.
 */
char *tensor_text_write(const struct tensor_text *text, struct nc_pool *pool, struct nc_arena *arena, char *out, size_t *bad);

#endif
