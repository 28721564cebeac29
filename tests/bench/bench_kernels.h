/* What bench_kernels and its peers share. */
#ifndef BENCH_KERNELS_H
#define BENCH_KERNELS_H

#include <stddef.h>

/* Median seconds of one call of run(context), over some tenths of a second. */
double bench_seconds(void (*run)(void *context), void *context);

/* oneDNN's LayerNorm of rows × n float32, forward (dy NULL) or backward with dgain and dbias; 0: it has none. */
double onednn_seconds(size_t rows, size_t n, unsigned threads, const float *x, const float *dy) __attribute__((weak));

#endif
