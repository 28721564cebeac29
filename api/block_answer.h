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

/* Writes the members of the answer but meta. */
bool block_answer_write(struct call *call, struct writer *out, struct block_answer *answer);

#endif
