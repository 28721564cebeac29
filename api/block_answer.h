/* The tensors of an answer of /block/grad: planned, handed to core, and written in the same order. */
#ifndef API_BLOCK_ANSWER_H
#define API_BLOCK_ANSWER_H

#include "block_request.h"
#include "tensor_write.h"

struct block_answer {
	struct block_request *request;
	struct nc_block_call core;
	double deviation;         /* of x */
	double *total, *sublayer; /* the Jacobian */
};

/* Plans every output, checks the limits and reserves the text's room; then makes the weights that come from a seed. */
bool block_answer_plan(struct call *call, struct writer *out, struct block_request *r, struct block_answer *answer);

/* An output that holds the values rounded once to dtype; values NULL: its shape alone. at: where it stands. */
bool block_output(struct call *call, const char *key, enum nc_dtype dtype, const size_t *shape, unsigned rank,
                  const double *values, const struct path *at, struct output *output);

/* The output of a parameter, shaped as it was sent. */
bool block_slot_output(struct call *call, const struct block_request *r, size_t sublayer, enum nc_slot slot,
                       enum nc_dtype dtype, const double *values, const struct path *at, struct output *output);

/* Writes the members of the answer but meta. */
bool block_answer_write(struct call *call, struct writer *out, struct block_answer *answer);

#endif
