/* One array of numbers, of any rank, to a tensor: the part of the lift that its time goes to. */
#ifndef API_JSON_LIFT_ARRAY_H
#define API_JSON_LIFT_ARRAY_H

#include "json_lift.h"

/* What stands at `at`, the first byte of an array. */
enum array_content {
	ARRAY_EMPTY,    /* nothing, down to the first closing bracket */
	ARRAY_NUMBERS,  /* its first leaf is a number */
	ARRAY_OTHER
};
enum array_content lift_look(const char *at, const char *end, bool strings, unsigned *rank);

/*
 * Reads the array at `text` of that rank (its brackets up to the first number) as numbers of dtype into value, whose
 * memory comes from the call's arena. At most `limit` elements. *after is set behind its closing bracket, also when
 * the value has a fault (it is then skipped by its brackets alone). false with the call's problem set: malformed, or no memory.
 */
bool lift_array(struct call *call, const char *text, unsigned rank, enum nc_dtype dtype, bool strings, size_t limit,
                struct lifted *value, const char **after);

/* Sets the call's problem for text at `at` that cannot stand there; wanted: "a comma or ]". */
bool lift_syntax(struct call *call, const char *at, const char *wanted);

#endif
