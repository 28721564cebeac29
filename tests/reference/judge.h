/*
 * Holds a computed element against its exact value: the promise of core/norm.h.
 *
 * float64: |got − exact| <= 0.51 ulp + 2^-98 S. Narrower: got is a value within 2^-45 S of the exact one, rounded once,
 * and differs from the exact one rounded once (is "misrounded") in fewer than one of 10^7.
 */
#ifndef TESTS_JUDGE_H
#define TESTS_JUDGE_H

#include "core/dtype.h"

#include <stdio.h>

#include <mpfr.h> /* after stdio.h: mpfr_fprintf */

struct judge {
	size_t elements, failed;
	size_t plain, misrounded; /* those whose terms do not cancel, S <= 8 |exact|, and how many of them are misrounded */
	double worst; /* the largest error in ulp, beyond what S allows */
};

enum { REFERENCE_BITS = 256 };

/* Judges one element. exact is taken to REFERENCE_BITS; terms is S, or an infinity where nothing is promised. Prints the first few failures, named by `what`. */
void judge_element(struct judge *judge, const char *what, enum nc_dtype dtype, double got, mpfr_srcptr exact,
                   mpfr_srcptr terms);

/* exact rounded once to dtype. */
double judge_round(enum nc_dtype dtype, mpfr_srcptr exact);

void judge_merge(struct judge *into, const struct judge *from);

#endif
