/*
 * Takes every number out of a JSON text in one strict pass, straight into typed memory.
 *
 * Each maximal array whose leaves are numbers becomes a tensor, each number that stands alone a tensor of rank 0, and
 * each string under the key "base64" a block of bytes. What remains, the envelope, is JSON again, with `[k]` in the
 * place of the k-th lifted value. It holds no other number, so the mark cannot be forged. An empty array stays; of a long
 * stretch of white space one byte does.
 *
 * Numbers are rounded once, from the text, to the dtype that their key suggests (guess_dtype); lift_take reads a value
 * anew in the rare case that its field has another one. A value that is no tensor (ragged, mixed, too many elements…) is
 * lifted with its fault, so that whoever takes it can name the field.
 */
#ifndef API_JSON_LIFT_H
#define API_JSON_LIFT_H

#include "core/arena.h"
#include "core/tensor.h"

#include <stdbool.h>

struct call;

enum { LIFT_MAX_DEPTH = 64, LIFT_MAX_VALUES = 65536 };

enum lift_fault {
	LIFT_FINE,
	LIFT_RAGGED,       /* the row at `at` has `got` elements, not `expected` */
	LIFT_MIXED,        /* the element at `at` is an array among numbers, or the reverse */
	LIFT_NOT_NUMBER,   /* the element at `at` is neither a number nor an array */
	LIFT_NONFINITE,    /* the element at `at` is one of the three strings while nonfinite is "error" */
	LIFT_RANGE,        /* the number at `at` rounds to an infinity */
	LIFT_RANK,         /* more than NC_REQUEST_RANK brackets */
	LIFT_TOO_MANY,     /* the element at `at` is one more than the limit allows */
	LIFT_BASE64        /* not base64 */
};

struct lifted {
	struct nc_tensor tensor;         /* the value; with bytes, count bytes at data */
	double number;                   /* of rank 0: its value, on the dtype's grid; tensor.data is not used */
	bool bytes;                      /* decoded base64 */
	const char *text;                /* where it begins in the body */
	enum lift_fault fault;
	unsigned depth;                  /* indices in at */
	size_t at[NC_REQUEST_RANK];      /* the place of the fault, from the value's root */
	const char *place;               /* the fault in the body */
	size_t expected, got;            /* LIFT_RAGGED */
};

/* How numbers are to be read: taken from the top-level fields, which may follow the tensors. */
struct lift_options {
	enum nc_dtype dtype, param_dtype;
	bool strings;                    /* "NaN", "Infinity", "-Infinity" are numbers in arrays */
	size_t max_elements;
};

/* A stretch of the envelope that comes from elsewhere in the body: positions from `envelope` on lie `shift` further. */
struct lift_shift {
	size_t envelope, shift;
};

struct lift {
	struct lift_options options;
	const char *text, *end;          /* the body */
	char *envelope;
	size_t envelope_len;
	struct lifted *values;
	size_t count, capacity;
	struct lift_shift *shifts;       /* ascending */
	size_t shift_count, shift_capacity;
	size_t elements;                 /* of all values so far */
};

/* A quick scan of the top-level keys for dtype, param_dtype, nonfinite and the dtype of a base64 x. Never fails. */
struct lift_options lift_peek(const char *text, size_t len);

/*
 * Lifts the call's body into call->lift, whose options are set. false with the call's problem set: malformed JSON,
 * nested too deep, out of memory.
 */
bool lift_body(struct call *call);

/* The byte of the body that byte `position` of the envelope comes from. */
size_t lift_origin(const struct lift *lift, size_t position);

/*
 * The k-th value as numbers of dtype, read from the text anew if it was lifted as another. NULL with the call's problem
 * set only when memory is short; the value may have a fault.
 */
const struct lifted *lift_take(struct call *call, size_t k, enum nc_dtype dtype);

/* Whether the string (its bytes between the quotes) is "NaN", "Infinity" or "-Infinity", and which. */
bool lift_nonfinite(const char *string, size_t len, double *value);

#endif
