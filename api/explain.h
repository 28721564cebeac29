/* What /diagnose found, in sentences and in settings for /rmsnorm and /layernorm. */
#ifndef API_EXPLAIN_H
#define API_EXPLAIN_H

#include "call.h"

#include "core/diagnose/diagnose.h"

/* Everything that a sentence may need. */
struct explain {
	const struct nc_diagnosis *diagnosis;
	const struct nc_convention *convention;  /* declared, or NULL */
	unsigned rank;                           /* of x */
	const size_t *shape;
	enum nc_dtype sent_dtype;                /* of the request; diagnosis->given.dtype is the one it was read as */
	bool elementwise;                        /* gain or bias has an element for each feature */
	bool of_dx;
};

/* One sentence that says what a hypothesis does. In the arena; NULL when memory is short. */
const char *explain_what(struct nc_arena *arena, const struct explain *explain, const struct nc_hypothesis *h);

/* What input would tell two hypotheses apart. */
const char *explain_apart(struct nc_arena *arena, const struct explain *explain, const struct nc_hypothesis *a,
                          const struct nc_hypothesis *b);

/* What to change in order to reach the convention, or where to look. */
const char *explain_advice(struct nc_arena *arena, const struct explain *explain, const struct nc_finding *finding);

/* Where the first explanation is left, and the pattern. */
const char *explain_departure(struct nc_arena *arena, const struct explain *explain, const struct nc_finding *finding);

/* "tail", "row", … */
const char *explain_pattern(enum nc_pattern pattern);

/* The endpoint that gives what the hypothesis does, "/rmsnorm" or "/layernorm", or NULL. */
const char *explain_endpoint(const struct explain *explain, const struct nc_hypothesis *h);

/* Writes the fields with which that endpoint gives it. */
void explain_settings(struct writer *out, const struct explain *explain, const struct nc_hypothesis *h);

#endif
