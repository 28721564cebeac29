/* A tensor as a field of a request: nested, flat, base64, or a number where one may stand for it. */
#ifndef API_TENSOR_FIELD_H
#define API_TENSOR_FIELD_H

#include "call.h"

#include <jansson.h>

struct tensor_field {
	bool given;
	enum tensor_form form;     /* as it was sent */
	struct nc_tensor tensor;   /* rank 0: a number */
};

/*
 * Reads the node at `path` as a tensor of dtype. number: a bare number may stand for it. false with the call's problem
 * set. The data lie in the call's arena and are never written to.
 */
bool tensor_read(struct call *call, json_t *node, const struct path *path, enum nc_dtype dtype, bool number,
                 struct tensor_field *out);

/* Fails unless the tensor has exactly this shape; of: what has it, such as "x". */
bool tensor_expect_shape(struct call *call, const struct tensor_field *field, const struct path *path,
                         const size_t *shape, unsigned rank, const char *of);

/* Whether the node is the mark of a lifted value, and of which. */
bool node_is_lifted(const json_t *node, size_t *k);

/* Whether the object is a tensor (has shape, data or base64). */
bool node_is_tensor(const json_t *node);

/* A list of integers, such as axes: at most `most`, each within ±2^53. An empty one gives count 0. */
bool integers_read(struct call *call, json_t *node, const struct path *path, size_t most, double *values, size_t *count);

/* The product of shape with every 0 counted as 1; SIZE_MAX on overflow. Bounds the brackets of a nested text too. */
size_t shape_extent(const size_t *shape, unsigned rank);

/* The product of shape, which does not overflow when its extent did not. */
size_t shape_count(const size_t *shape, unsigned rank);

#endif
