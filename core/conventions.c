#include "conventions.h"

#include <string.h>

static const struct nc_convention conventions[] = {
#define CONVENTION(name, kind, epsilon, machine, gain_offset, weight, bias, cast_before_gain, description) \
	{#name, NC_##kind, epsilon, machine, gain_offset, weight, bias, cast_before_gain, description},
#include "conventions.def"
#undef CONVENTION
};

const struct nc_convention *nc_convention_at(size_t i)
{
	return i < sizeof conventions / sizeof *conventions ? &conventions[i] : NULL;
}

const struct nc_convention *nc_convention_find(const char *name)
{
	const struct nc_convention *c;
	for (size_t i = 0; (c = nc_convention_at(i)); i++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}
