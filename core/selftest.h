/*
 * Whether the kernels of this machine compute what they should: each one of kernels.def, on one instruction set, against
 * exact cases that are built in and against the scalar table by memcmp. Small fixed sizes, no allocation, no state: any
 * thread, at any time, beside whatever runs. Internal to the project; what is a table of kernels elsewhere
 * (api/json/kernels) tests itself by the same means.
 */
#ifndef NORMCORE_SELFTEST_H
#define NORMCORE_SELFTEST_H

#include "kernels.h"

enum selftest_verdict {
	SELFTEST_PASSED,
	SELFTEST_WRONG,     /* an exact case came out otherwise */
	SELFTEST_DIFFERENT  /* the bits are not those of the scalar kernel */
};

/* "passed", and what each failure means, in words; static. */
const char *selftest_text(enum selftest_verdict verdict);

/* What one kernel gave in all its cases. */
struct selftest_trial {
	bool wrong;               /* an exact case missed, or more output than there is room for */
	size_t used;
	unsigned char output[32768];
};

/* Keeps `bytes` of output for the comparison with the scalar kernel. */
void selftest_keep(struct selftest_trial *trial, const void *output, size_t bytes);

/* Notes whether count numbers equal (==) the exact ones. */
void selftest_expect(struct selftest_trial *trial, const double *got, const double *exact, size_t count);
void selftest_expect_f32(struct selftest_trial *trial, const float *got, const float *exact, size_t count);

/* The verdict on a kernel that gave `trial` where the scalar one gave `scalar` (which may be the same). */
enum selftest_verdict selftest_judge(const struct selftest_trial *trial, const struct selftest_trial *scalar);

/* Kernels of kernels.def in its order, and the name of each. */
size_t selftest_count(void);
const char *selftest_name(size_t i);

/* Fills *trial with what kernel i of a table gives. */
void selftest_run(size_t i, const struct kernels *table, struct selftest_trial *trial);

#endif
