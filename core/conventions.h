/* The named conventions of real models and libraries (table: conventions.def). */
#ifndef NORMCORE_CONVENTIONS_H
#define NORMCORE_CONVENTIONS_H

#include "norm.h"
#include "public.h"

NC_PUBLIC_BEGIN

struct nc_convention {
	const char *name;
	enum nc_norm_kind kind;
	double epsilon;         /* inside the root; meaningless when machine */
	bool machine;           /* epsilon is nc_dtype_machine_epsilon of the request's dtype */
	double gain_offset;
	bool weight, bias;      /* has one, unless the request leaves it out */
	bool cast_before_gain;
	const char *description;
};

/* The i-th convention in the table's order, or NULL past the end. */
const struct nc_convention *nc_convention_at(size_t i);

/* The convention of that name, or NULL. */
const struct nc_convention *nc_convention_find(const char *name);

NC_PUBLIC_END

#endif
