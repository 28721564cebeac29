/*
 * Request schemas as tables: each row names a field, its type and where its value goes.
 *
 * fields_read walks one object of the request against one or several tables. What a table cannot say stays a node
 * (FIELD_NODE) for its owner to read. Values that are not given stay as their owner set them before.
 */
#ifndef API_FIELDS_H
#define API_FIELDS_H

#include "call.h"
#include "tensor_field.h"

#include <jansson.h>

enum field_type {
	FIELD_TENSOR,            /* struct tensor_field */
	FIELD_TENSOR_OR_NUMBER,  /* struct tensor_field, rank 0 for a number */
	FIELD_NUMBER,            /* double, finite */
	FIELD_NONNEGATIVE,       /* double, finite, >= 0 */
	FIELD_POSITIVE,          /* double, finite, > 0 */
	FIELD_COUNT,             /* size_t, 1 to `most` (0: no bound but 2^53) */
	FIELD_WHOLE,             /* size_t, 0 to `most` */
	FIELD_BOOL,              /* bool */
	FIELD_ENUM,              /* int: the index in `names` */
	FIELD_STRING,            /* const char * */
	FIELD_NODE,              /* json_t *: any value, read by the owner */
	FIELD_KNOWN              /* nothing: read before, by another way */
};

/* Which of the request's dtypes a tensor is rounded to. */
enum field_dtype { AS_DTYPE, AS_PARAM_DTYPE, AS_FLOAT64 };

struct field {
	const char *name;
	enum field_type type;
	size_t offset;               /* in the owner's struct */
	bool required;
	enum field_dtype dtype;      /* of tensors */
	const char *const *names;    /* FIELD_ENUM: what is allowed, ended by NULL */
	size_t most;                 /* FIELD_COUNT, FIELD_WHOLE */
};

/* The parts that every row states: {ROW("x", FIELD_TENSOR, offsetof(struct request, x)), .required = true} */
#define ROW(name_, type_, offset_) .name = (name_), .type = (type_), .offset = (offset_)

/* A table with the struct that its offsets lie in. */
struct fields {
	const struct field *rows;
	size_t count;
	void *out;
};
#define FIELDS(table, pointer) {(table), sizeof(table) / sizeof *(table), (pointer)}

/*
 * Reads the members of `object`, which stands at `path`, by the tables. `what` names the object in error texts
 * ("/rmsnorm", "a norm"). false with the call's problem set: unknown field (the nearest known one is named), wrong type, bad
 * value, missing field.
 */
bool fields_read(struct call *call, json_t *object, const struct path *path, const char *what,
                 const struct fields *tables, size_t table_count);

/* Reads one member by one row. */
bool field_read(struct call *call, json_t *node, const struct path *path, const struct field *row, void *out);

/* The fields of every computing endpoint, read before the others: dtype, param_dtype, format, nonfinite. */
bool fields_read_common(struct call *call);
extern const struct field fields_common[];
enum { FIELDS_COMMON_COUNT = 4 };

/* A number that is no tensor, as float64; finite. */
bool node_number(struct call *call, json_t *node, const struct path *path, double *value);

/* Fails with "what" as expected and the node's kind or value as got. */
bool node_fail(struct call *call, json_t *node, const struct path *path, const char *expected);

/* The text of a node for `got`: its value when short, else its kind. */
const char *node_text(struct call *call, json_t *node);

/* The index of text in names (ended by NULL), or -1. */
int names_find(const char *const *names, const char *text);

/* Fails for a node that names no dtype. */
bool dtype_fail(struct call *call, json_t *node, const struct path *path);

/* Fails for a text that is none of names, with the nearest one. */
bool names_fail(struct call *call, const struct path *path, const char *const *names, const char *text);

#endif
