/* Checks of what the number writer writes, by other means than its own. */
#ifndef TESTS_SUPPORT_SHORTEST_CHECK_H
#define TESTS_SUPPORT_SHORTEST_CHECK_H

#include "core/dtype.h"

/*
 * Writes the values as a list and checks each number: that it reads back (by strtod or strtof), that no decimal with one digit less
 * does, that none of as many digits lies nearer and reads back too, and that its form is that of ECMAScript's Number::toString,
 * save "-0.0"; and that on every instruction set our writer gives this text, and our reader the values again. Returns -1, or the
 * index of the first at fault, told on stderr (0 for the list as a whole).
 *
 * values: finite, count up to SHORTEST_CHECK_MAX, double for NC_FLOAT64 and float else. quick, for many millions: of
 * float32 exact integers (float32_decimal.h) in place of the C library; of float64 our reader (checked elsewhere), and only one
 * in four is checked to be nearest.
 */
enum { SHORTEST_CHECK_MAX = 4096 };
long shortest_check(enum nc_dtype dtype, const void *values, size_t count, bool quick);

#endif
