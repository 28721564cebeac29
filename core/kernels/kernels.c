/* The table of one instruction set: this file is compiled once for each, with its flags and -DKERNEL_ISA=name. */
#include "core/kernels.h"

#include "simd.h"
#include "activation.h"
#include "convert.h"
#include "draw.h"
#include "jacobian.h"
#include "matmul.h"
#include "norm_narrow.h"
#include "norm_pairs.h"
#include "params.h"
#include "residual.h"
#include "softmax.h"

#define PASTE(a, b) a##b
#define TABLE_NAME(isa) PASTE(kernels_, isa)

extern const struct kernels TABLE_NAME(KERNEL_ISA);

const struct kernels TABLE_NAME(KERNEL_ISA) = {
#define KERNEL(result, name, arguments) .name = name,
#include "core/kernels.def"
#undef KERNEL
};
