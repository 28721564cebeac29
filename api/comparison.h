/* The field `reference` and what it brings: how far the outputs are from the caller's own. */
#ifndef API_COMPARISON_H
#define API_COMPARISON_H

#include "tensor_field.h"
#include "tensor_write.h"

#include "core/compare.h"

enum { COMPARED = 4 };  /* y, dx, dgain, dbias */

struct comparison {
	double rtol, atol;
	size_t count;
	struct {
		const struct output *output;
		struct tensor_field want;
		struct nc_comparison result;
	} parts[COMPARED];
};

/* Reads `reference`, a tensor for y or an object by output; each must be among the outputs and have its shape. node may be NULL. */
bool comparison_read(struct call *call, json_t *node, const struct output *outputs, size_t count, double rtol, double atol,
                     struct comparison *comparison);

/* Compares the outputs, once they are computed. */
void comparison_run(struct comparison *comparison);

/* Writes the member `comparison`, or nothing where there is none. */
void comparison_write(struct call *call, struct writer *out, const struct comparison *comparison);

#endif
