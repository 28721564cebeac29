/* Threefry-2x64-20 as its authors describe it, one block at a time (Salmon et al., SC 2011). */
#ifndef TESTS_SLOW_THREEFRY_H
#define TESTS_SLOW_THREEFRY_H

#include <stddef.h>
#include <stdint.h>

void slow_threefry(const uint64_t key[2], const uint64_t counter[2], uint64_t out[2]);

/* Number `index` of a stream, as core/kernels/draw.h defines it, times 1: uniform in (−1, 1), or normal. */
double slow_uniform(uint64_t seed, uint64_t stream, size_t index);
long double slow_normal(uint64_t seed, uint64_t stream, size_t index);

#endif
