/* Whether a decimal is the one to write for a float32, by integers alone: exact, and quick enough for all of them. */
#ifndef TESTS_SUPPORT_FLOAT32_DECIMAL_H
#define TESTS_SUPPORT_FLOAT32_DECIMAL_H

#include <stdint.h>

/*
 * value > 0 and finite; digits > 0 without zeros at the end, below 10^10. NULL when digits 10^exponent rounds to value, no decimal
 * with a digit less does, and none of as many digits that does lies nearer, or as near with an even last digit; else
 * what is wrong.
 */
const char *float32_decimal_fault(float value, uint64_t digits, int exponent);

#endif
