/*
 * The kernels of one instruction set (list: kernels.def), as a table of functions.
 *
 * Every table gives the same bits; kernels() is the one in use (isa.h). No kernel allocates, locks or keeps state.
 */
#ifndef NORMCORE_KERNELS_H
#define NORMCORE_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "isa.h"
#include "block/matrix.h"
#include "norm_job.h"

struct kernels {
#define KERNEL(result, name, arguments) result(*name) arguments;
#include "kernels.def"
#undef KERNEL
};

/* The table in use; never NULL. Any thread. */
const struct kernels *kernels(void);

/* The table of one instruction set, NULL unless nc_isa_supported. */
const struct kernels *kernels_of(enum nc_isa isa);

#endif
