/* What the files of the self-test share: each kernel's cases, and their means. */
#ifndef NORMCORE_SELFTEST_CASES_H
#define NORMCORE_SELFTEST_CASES_H

#include "selftest.h"

/* Long cases have two whole blocks of lanes and a rest. */
enum { LENGTH = 35 };

/* The same numbers in [−2, 2) every time, exact in a float; no two calls' seeds give the same ones. */
void selftest_fill(double *out, size_t count, uint64_t seed);

/* Notes whether a kernel's answer is the exact one; any number but 0 is true. */
void selftest_expect_int(struct selftest_trial *trial, int got, bool exact);

/* The cases of each kernel. */
#define KERNEL(result, name, arguments) void selftest_try_##name(const struct kernels *table, struct selftest_trial *trial);
#include "kernels.def"
#undef KERNEL

#endif
