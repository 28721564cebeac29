/* Which instruction set the kernels use: chosen once at start-up, the same bits on all of them (table: isa.def). */
#ifndef NORMCORE_ISA_H
#define NORMCORE_ISA_H

#include "public.h"

#include <stdbool.h>

NC_PUBLIC_BEGIN

enum nc_isa {
#define ISA(NAME, text) NC_ISA_##NAME,
#include "isa.def"
#undef ISA
	NC_ISA_COUNT
};

/* "scalar", "sse2", "avx2", "avx512", "neon". */
const char *nc_isa_name(enum nc_isa isa);

/* Whether this build has the kernels and this processor and system run them (CPUID and XCR0). */
bool nc_isa_supported(enum nc_isa isa);

/* The one in use: the strongest supported, unless nc_isa_select said otherwise. Any thread. */
enum nc_isa nc_isa_current(void);

/* Forces one by name ("auto": the strongest); false when the name is unknown or cannot run here. Before any thread starts. */
bool nc_isa_select(const char *name);

NC_PUBLIC_END

#endif
