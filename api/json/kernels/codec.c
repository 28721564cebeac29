/* The number codec's inner loops of one instruction set: this file is compiled once for each, with -DKERNEL_ISA=name. */
#include "json_kernels.h"
#include "base64_blocks.h"
#include "count.h"
#include "space.h"

#if defined(KERNEL_ISA_avx512)
#include "read_avx512.h"
#include "write_lanes.h"
#elif defined(KERNEL_ISA_scalar)
#include "read_plain.h"
#include "write_plain.h"
#elif defined(KERNEL_ISA_avx2)
#include "read_block64.h"
#include "write_lanes.h"
#else
#include "read_block64.h"
#include "write_plain.h"
#endif

#define PASTE(a, b) a##b
#define TABLE_NAME(isa) PASTE(json_kernels_, isa)

const struct json_kernels TABLE_NAME(KERNEL_ISA) = {
#define JSON_KERNEL(result, name, arguments) .name = name,
#include "json_kernels.def"
#undef JSON_KERNEL
};
