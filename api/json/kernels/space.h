/* White space, of which a body may be full: 64 bytes at a time, or eight without vectors. */
#ifndef API_KERNELS_SPACE_H
#define API_KERNELS_SPACE_H

#include "api/json/json_scan.h"

#if defined(KERNEL_ISA_avx512)

#include <immintrin.h>

static const char *skip_space(const char *text, const char *end)
{
	/* By a byte's low half, the only white space there is with it; a byte of 128 and more finds 0. */
	const __m512i of_low_half = _mm512_broadcast_i32x4(_mm_setr_epi8(' ', 0, 0, 0, 0, 0, 0, 0, 0, '\t', '\n', 0, 0, '\r', 0, 0));
	for (;;) {
		size_t left = (size_t)(end - text);
		__mmask64 inside = left >= 64 ? ~UINT64_C(0) : _bzhi_u64(~UINT64_C(0), (unsigned)left);
		__m512i bytes = _mm512_maskz_loadu_epi8(inside, text);
		uint64_t other = ~_mm512_cmpeq_epi8_mask(_mm512_shuffle_epi8(of_low_half, bytes), bytes);
		if (other)
			return text + _tzcnt_u64(other); /* at the end: a byte that was not loaded is 0 */
		text += 64;
	}
}

#else

#if !defined(KERNEL_ISA_scalar)

#include "block64.h"

static inline const char *skip_blocks(const char *text, const char *end)
{
	for (; end - text >= 64; text += 64) {
		struct block block = load_block(text);
		uint64_t space = bytes_equal(&block, ' ');
		if (~space)
			space |= bytes_equal(&block, '\n') | bytes_equal(&block, '\t') | bytes_equal(&block, '\r');
		if (~space)
			return text + __builtin_ctzll(~space);
	}
	return text;
}

#else

static inline const char *skip_blocks(const char *text, const char *end)
{
	while (end - text >= 8 && json_eight_bytes(text) == UINT64_C(0x2020202020202020))
		text += 8;
	return text;
}

#endif

static const char *skip_space(const char *text, const char *end)
{
	text = skip_blocks(text, end);
	while (text < end && json_is_space(*text))
		text++;
	return text;
}

#endif

#endif
