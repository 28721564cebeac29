/* The shortest decimal that reads back to a float: the exact, scalar half of the number writer. */
#ifndef API_SHORTEST_H
#define API_SHORTEST_H

#include <stdbool.h>
#include <stdint.h>

/* value = digits 10^exponent; digits may end in zeros, and are at most 17 (9 for a float32). */
struct shortest {
	uint64_t digits;
	int exponent;
};

/* Of a finite value > 0, given as its IEEE bits. */
struct shortest shortest_float64(uint64_t bits);
struct shortest shortest_float32(uint32_t bits);

#endif
