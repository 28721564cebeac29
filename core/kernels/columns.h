/* Loops over the columns of a row, a block of 16 at a time. */
#ifndef KERNELS_COLUMNS_H
#define KERNELS_COLUMNS_H

#include <stddef.h>

enum { LANES = 16 };

/* The statements for i = from, from + 16, … below to: whole blocks with a constant `count` of 16, then what is left. */
#define COLUMN_BLOCKS(from, to, ...) \
	do { \
		size_t i = (from); \
		for (; i + LANES <= (to); i += LANES) { \
			enum { count = LANES }; \
			__VA_ARGS__ \
		} \
		if (i < (to)) { \
			const unsigned count = (unsigned)((to)-i); \
			__VA_ARGS__ \
		} \
	} while (0)
#define ROW_BLOCKS(n, ...) COLUMN_BLOCKS(0, n, __VA_ARGS__)

/*
 * The statements for i = from, from + 16, …: pairs of whole blocks for two banks of sums, whose chains run beside each
 * other, then what is left, in the second bank. `bank` is a constant, and so is `count` in whole blocks.
 */
#define BANKED_BLOCKS(from, to, ...) \
	do { \
		size_t i = (from); \
		for (; i + 2 * LANES <= (to); i += LANES) { \
			{ \
				enum { bank = 0, count = LANES }; \
				__VA_ARGS__ \
			} \
			i += LANES; \
			{ \
				enum { bank = 1, count = LANES }; \
				__VA_ARGS__ \
			} \
		} \
		for (; i < (to); i += LANES) { \
			enum { bank = 1 }; \
			const unsigned count = (to)-i < LANES ? (unsigned)((to)-i) : LANES; \
			__VA_ARGS__ \
		} \
	} while (0)

#endif
