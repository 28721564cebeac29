/* Tensors of an answer, in the form that the request wants. */
#ifndef API_TENSOR_WRITE_H
#define API_TENSOR_WRITE_H

#include "call.h"
#include "json/json_number.h"

/*
 * One output of an endpoint. group: the object that it stands in ("stats"), or NULL for the answer itself; outputs of
 * one group follow each other.
 */
struct output {
	const char *group, *key;
	const struct path *under; /* where an output without a group stands in the answer, for errors; NULL: its root */
	const char *const *prelude;  /* key, string, key, string, …, NULL: members that open the group, or NULL */
	struct nc_tensor tensor;
	bool infinite_is_null;    /* an infinity is null (nested and flat) instead of an error, or a string in string mode */
};

/* An upper bound of the bytes that the tensor takes in the answer. SIZE_MAX on overflow. */
size_t tensor_text_max(const struct call *call, const struct nc_tensor *tensor);

/*
 * Fails (limit_exceeded) unless all outputs together, and each alone, are within the limits of elements and bytes; then
 * reserves that much in out. Called when the shapes are known, before anything is computed.
 */
bool outputs_admit(struct call *call, struct writer *out, const struct output *outputs, size_t count);

/* Writes one output with its key. false with the call's problem set: a NaN or infinity that must not be in the answer. */
bool output_write(struct call *call, struct writer *out, const struct output *output);

/* Writes the outputs in their order, each group as an object. */
bool outputs_write(struct call *call, struct writer *out, const struct output *outputs, size_t count);

/* A number that may be infinite or NaN: then "Infinity" or "NaN" in string mode, else null. */
void write_any_number(const struct call *call, struct writer *out, double value);

#endif
