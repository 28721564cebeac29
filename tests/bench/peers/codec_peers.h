/* Number readers and writers of others, each in C++; a null pointer (weak) where its library is not installed. */
#ifndef TESTS_BENCH_PEERS_CODEC_PEERS_H
#define TESTS_BENCH_PEERS_CODEC_PEERS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * text "[…]" of `length` bytes with 64 more behind it; count values as double and as float; wide: float64. A reader fills
 * `read` (double or float), a writer `out`. Returns something that is not 0, or 0 where it failed.
 */
typedef double codec_peer(const char *text, size_t length, const double *values, const float *narrow, size_t count,
                          int wide, void *read, char *out);

__attribute__((weak)) codec_peer read_peer_simdjson, read_peer_from_chars, read_peer_rapidjson, write_peer_to_chars,
	write_peer_rapidjson;

#ifdef __cplusplus
}
#endif

#endif
