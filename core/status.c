#include "status.h"

#include <stddef.h>

const char *nc_status_text(enum nc_status status)
{
	static const char *const texts[] = {
#define STATUS(name, text) text,
#include "status.def"
#undef STATUS
	};
	size_t i = (size_t)status;
	return i < sizeof texts / sizeof *texts ? texts[i] : "unknown status";
}
