/* Which hypotheses are tried: the product of the tables, without what has no effect. Internal. */
#ifndef NORMCORE_DIAGNOSE_ENTER_H
#define NORMCORE_DIAGNOSE_ENTER_H

#include "race.h"

struct enter {
	struct race *race;
	unsigned casts;                 /* bit c: cast c is tried, where it differs from the others */
	const double *values;           /* ε beyond the table's, entered as FITTED */
	unsigned value_count;
	bool table;                     /* the table's ε are tried */
};

/* Every hypothesis of y. false: the race is full. */
bool enter_forward(const struct enter *enter);

/* Every hypothesis of dx, over the declared axes and one more layout (0: no more). */
bool enter_backward(const struct enter *enter, unsigned layout, unsigned root);

#endif
