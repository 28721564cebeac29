/* Golden cases from tests/vectors: who answers them is the caller's business (the api itself, or a daemon over HTTP). */
#ifndef TESTS_VECTORS_H
#define TESTS_VECTORS_H

#include <jansson.h>
#include <stdbool.h>

/* Posts a request (JSON text) to path; returns the status and in *answer a new reference to the answer, or NULL. */
typedef int vectors_post(void *context, const char *path, const char *request, json_t **answer);

/* Whether a case is to be run; NULL runs all. */
typedef bool vectors_filter(const json_t *one);

/* Runs every case of a file that the filter lets pass, printing what fails. Returns how many ran; *failed how many failed. */
int vectors_run(const char *file, vectors_filter *filter, vectors_post *post, void *context, int *failed);

/*
 * Compares one value with what is expected; NULL when it agrees, else a static text that says where not. narrow: got's numbers are
 * rounded to float32 first.
 */
const char *vectors_compare(json_t *got, json_t *want, double rtol, double atol, bool narrow);

#endif
