#include "slow_threefry.h"

#include <math.h>

void slow_threefry(const uint64_t key[2], const uint64_t counter[2], uint64_t out[2])
{
	static const unsigned rotations[8] = {16, 42, 12, 31, 16, 32, 24, 21};
	const uint64_t keys[3] = {key[0], key[1], 0x1BD11BDAA9FC1A22u ^ key[0] ^ key[1]};
	uint64_t a = counter[0] + keys[0], b = counter[1] + keys[1];

	for (unsigned round = 0; round < 20; round++) {
		unsigned r = rotations[round % 8];
		a += b;
		b = (b << r | b >> (64 - r)) ^ a;
		if (round % 4 == 3) {
			unsigned n = round / 4 + 1;
			a += keys[n % 3];
			b += keys[(n + 1) % 3] + n;
		}
	}
	out[0] = a, out[1] = b;
}

static void words_of(uint64_t seed, uint64_t stream, size_t index, uint64_t out[2])
{
	const uint64_t key[2] = {seed, 0}, counter[2] = {16 * (index / 32) + index % 16, stream};
	slow_threefry(key, counter, out);
}

double slow_uniform(uint64_t seed, uint64_t stream, size_t index)
{
	uint64_t w[2];
	words_of(seed, stream, index, w);
	return (double)(w[index % 32 / 16] >> 11) * 0x1p-52 + (0x1p-53 - 1);
}

long double slow_normal(uint64_t seed, uint64_t stream, size_t index)
{
	static const long double pi = 3.14159265358979323846264338327950288L;
	uint64_t w[2];
	words_of(seed, stream, index, w);
	double u = (double)(w[0] >> 11) * 0x1p-53 + 0x1p-54;
	long double v = (long double)(w[1] >> 11) * 0x1p-53L, radius = sqrtl(-2 * logl(u));
	return radius * (index % 32 < 16 ? cosl(2 * pi * v) : sinl(2 * pi * v));
}
