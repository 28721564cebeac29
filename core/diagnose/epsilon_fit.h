/* ε from the data, where no usual one explains them. Internal. */
#ifndef NORMCORE_EPSILON_FIT_H
#define NORMCORE_EPSILON_FIT_H

#include "evidence.h"

/*
 * The ε with which h, as it stands but for ε, comes nearest to a sample of y: D of each row from the median of
 * (y − bias − skip) / (gain · (x − μ)), ε of each row in closed form, and the median of those; of a
 * negative one that the dtype's roundings may account for a very small one. NaN when there is none.
 */
double epsilon_estimate(const struct evidence *evidence, const struct nc_hypothesis *h);

/*
 * The ε that y allows, by so many rows (SIZE_MAX: all): each element bounds D of its row, each row ε, and of what all allow the number of fewest
 * digits is taken. Where nothing is allowed, h's own ε to three digits.
 */
double epsilon_refine(const struct evidence *evidence, const struct nc_hypothesis *h, size_t rows);

#endif
