/*
 * Norms as other people's kernels compute them, mistakes included: the data that /diagnose is tested with.
 *
 * Written apart from core: plain loops in which every operation is rounded to the arithmetic of the kernel.
 */
#ifndef TESTS_NORM_MAKER_H
#define TESTS_NORM_MAKER_H

#include "core/diagnose/diagnose.h"

enum { MAKER_MOST = 1 << 19 };

struct maker {
	struct nc_hypothesis h;      /* what the kernel does; its layout is ignored */
	enum nc_dtype dtype;
	bool float32;                /* arithmetic in float32, else in float64 */
	unsigned order;              /* of summation: 0 one after the other, 1 in sixteen lanes, 2 pairwise */
	unsigned rank;
	size_t shape[NC_REQUEST_RANK];
	unsigned axes[NC_REQUEST_RANK], axis_count;             /* declared: gain and bias have their shape */
	unsigned normalized[NC_REQUEST_RANK], normalized_count; /* what the kernel normalizes; none: the declared ones */
	size_t groups;               /* of the last of those; 0 and 1: none */
	bool along;                  /* gain and bias run along the (one) normalized axis instead of the (one) declared one */
	bool has_gain, has_bias, backward;
	double low, high;            /* magnitudes of the rows, geometrically spaced along the first axis */
	double centre;               /* mean of a row in units of its magnitude */
	unsigned short seed;
	const struct nc_convention *meant;
};

/* Tensors and the call made of them; static memory, overwritten by the next. */
struct made {
	struct nc_tensor x, y, gain, bias, dy, dx;
	struct nc_diagnose_call call;
};

/* Fails the test for a choice that it has no kernel for. */
struct made *make_norm(const struct maker *maker);

/* The latest norm's y and dx anew, from what its x, gain, bias and dy hold now. */
void make_again(void);

/* Normally distributed; the same numbers on every machine. */
double make_normal(void);
void make_seed(unsigned short seed);

#endif
