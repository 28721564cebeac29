/* Every output of a norm or residual call, computed anew with MPFR from the formulas and held against what is there. */
#ifndef TESTS_NORM_REFERENCE_H
#define TESTS_NORM_REFERENCE_H

#include "core/norm.h"
#include "core/residual.h"
#include "judge.h"

/* The outputs that are told apart. */
enum reference_output {
	REFERENCE_Y,
	REFERENCE_STATS,
	REFERENCE_XHAT,
	REFERENCE_DX,
	REFERENCE_DGAIN,
	REFERENCE_DBIAS,
	REFERENCE_JVP,
	REFERENCE_JACOBIAN,
	REFERENCE_FACTORS,
	REFERENCE_SUM,      /* residual: y, and the Jacobians */
	REFERENCE_BRANCH,   /* residual: gradients by branch */
	REFERENCE_OUTPUTS
};

extern const char *const reference_names[REFERENCE_OUTPUTS];

/* Judges every output that call asks for, after nc_norm returned NC_OK, into judges[REFERENCE_OUTPUTS]. */
void reference_norm(const struct nc_norm_spec *spec, const struct nc_norm_call *call, struct judge *judges);

/* The same for a residual call. */
void reference_residual(const struct nc_residual_call *call, struct judge *judges);

#endif
