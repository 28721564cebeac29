/*
 * What is wrong with a request: the first error found, kept until the answer is written (RFC 9457; table: errors.def).
 */
#ifndef API_PROBLEM_H
#define API_PROBLEM_H

#include "json/json_write.h"

#include <stdbool.h>
#include <stddef.h>

struct call;

enum problem_kind {
#define PROBLEM(name, status, title) PROBLEM_##name,
#include "errors.def"
#undef PROBLEM
	PROBLEM_KIND_COUNT
};

/* A way down a JSON document: a list of steps that lives on the stack of those who walk it; NULL is the root. */
struct path {
	const struct path *up;
	const char *key;   /* a step into an object, or NULL: */
	size_t index;      /* a step into an array */
};

struct problem {
	bool set;
	enum problem_kind kind;
	const char *detail;          /* one sentence that says what to change; in the arena or static */
	const char *pointer;         /* JSON Pointer to the field at fault, or NULL */
	const char *expected, *got;  /* JSON texts, or NULL */
	bool placed;                 /* line, column and offset are known: malformed JSON */
	size_t line, column;         /* from 1; columns count characters */
	size_t offset;               /* bytes before the fault */
};

/*
 * Sets the call's problem unless one is set already, and returns false, so that `return fail(…)` ends a check.
 * path: NULL points at the whole document. expected, got: JSON texts in the arena or static, or NULL.
 */
bool fail(struct call *call, enum problem_kind kind, const struct path *path, const char *expected, const char *got,
          const char *format, ...) __attribute__((format(printf, 6, 7)));

/* As fail, for malformed text at byte `offset` of the body. */
bool fail_text(struct call *call, enum problem_kind kind, size_t offset, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* fail for an arena that is used up. */
bool fail_memory(struct call *call);

/* JSON texts in the call's arena for expected and got; NULL (left out of the answer) when memory is short. */
const char *text_of_shape(struct call *call, const size_t *shape, unsigned rank);
const char *text_of_string(struct call *call, const char *string);
const char *text_of_number(struct call *call, double value);

/* "/x/3/17"; "" for NULL. In the arena; NULL when memory is short. */
const char *path_pointer(struct nc_arena *arena, const struct path *path);

int problem_status(enum problem_kind kind);

/* The kind of that name; PROBLEM_internal when there is none. */
enum problem_kind problem_find(const char *name);

/* Writes the problem as application/problem+json. */
void problem_write(const struct problem *problem, const char *instance, struct writer *out);

/* A complete static body for the case that even the error does not fit into memory. */
extern const char problem_last_resort[];

#endif
