/* The ways a core call can end, as one list (status.def). */
#ifndef NORMCORE_STATUS_H
#define NORMCORE_STATUS_H

#include "public.h"

NC_PUBLIC_BEGIN

enum nc_status {
#define STATUS(name, text) NC_##name,
#include "status.def"
#undef STATUS
};

/* The English text of a status, never NULL, static. Any thread. */
const char *nc_status_text(enum nc_status status);

NC_PUBLIC_END

#endif
