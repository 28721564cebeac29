/* The activations by name (table: activation.def). */
#ifndef NORMCORE_ACTIVATION_H
#define NORMCORE_ACTIVATION_H

#include "../public.h"

NC_PUBLIC_BEGIN

enum nc_activation {
#define ACTIVATION(NAME, text) NC_ACT_##NAME,
#include "activation.def"
#undef ACTIVATION
	NC_ACT_COUNT
};

/* "identity", "relu", "gelu", … */
const char *nc_activation_name(enum nc_activation activation);

NC_PUBLIC_END

#endif
