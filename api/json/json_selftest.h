/* The codec's kernels as core/selftest.h tests those of core: exact texts and numbers, and the scalar table's bytes. */
#ifndef API_JSON_SELFTEST_H
#define API_JSON_SELFTEST_H

#include "kernels/json_kernels.h"
#include "core/selftest.h"

/* Kernels of json_kernels.def in its order, and the name of each. */
size_t json_selftest_count(void);
const char *json_selftest_name(size_t i);

/* Fills *trial with what kernel i of a table gives. */
void json_selftest_run(size_t i, const struct json_kernels *table, struct selftest_trial *trial);

#endif
