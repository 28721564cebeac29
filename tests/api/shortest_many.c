/*
 * The writer on more values than a test has time for: each reads back, is shortest, nearest and of the right form.
 *
 * shortest_many float32 [FIRST LAST]: every float32 whose bits are from FIRST to LAST (default: all 2^32).
 * shortest_many float64 COUNT [SEED]: so many random float64. Threads: as many as processors. Exit status 1 at the first fault.
 */
#include "tests/support/shortest_check.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum nc_dtype dtype;
static uint64_t next_value, last_value, seed; /* indices of values, taken batch by batch */
static bool failed;

static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static size_t fill(uint64_t from, uint64_t to, double *wide, float *narrow)
{
	size_t n = 0;
	for (uint64_t i = from; i < to; i++) {
		if (dtype == NC_FLOAT32) {
			uint32_t bits = (uint32_t)i;
			memcpy(&narrow[n], &bits, sizeof bits);
			n += isfinite(narrow[n]) != 0;
		} else {
			uint64_t bits = mix(seed + i);
			memcpy(&wide[n], &bits, sizeof bits);
			n += isfinite(wide[n]) != 0;
		}
	}
	return n;
}

static void *run(void *unused)
{
	double wide[SHORTEST_CHECK_MAX];
	float narrow[SHORTEST_CHECK_MAX];
	(void)unused;
	while (!__atomic_load_n(&failed, __ATOMIC_RELAXED)) {
		uint64_t from = __atomic_fetch_add(&next_value, SHORTEST_CHECK_MAX, __ATOMIC_RELAXED);
		if (from >= last_value)
			break;
		uint64_t to = last_value - from < SHORTEST_CHECK_MAX ? last_value : from + SHORTEST_CHECK_MAX;
		size_t n = fill(from, to, wide, narrow);
		if (n && shortest_check(dtype, dtype == NC_FLOAT32 ? (void *)narrow : (void *)wide, n, true) >= 0)
			__atomic_store_n(&failed, true, __ATOMIC_RELAXED);
		if (from >> 28 != to >> 28)
			fprintf(stderr, "%llu of %llu\n", (unsigned long long)to, (unsigned long long)last_value);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc < 2 || !nc_dtype_parse(argv[1], &dtype) || (dtype != NC_FLOAT32 && (dtype != NC_FLOAT64 || argc < 3))) {
		fprintf(stderr, "usage: %s float32 [FIRST LAST] | float64 COUNT [SEED]\n", argv[0]);
		return 2;
	}
	if (dtype == NC_FLOAT32) {
		next_value = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
		last_value = argc > 3 ? strtoull(argv[3], NULL, 0) + 1 : UINT64_C(1) << 32;
	} else {
		last_value = strtoull(argv[2], NULL, 0);
		seed = argc > 3 ? mix(strtoull(argv[3], NULL, 0)) : 0;
	}
	uint64_t count = last_value - next_value;
	enum { MOST = 64 };
	pthread_t threads[MOST];
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	int n = processors < 1 ? 1 : processors > MOST ? MOST : (int)processors, started = 0;
	for (int i = 0; i < n; i++)
		started += pthread_create(&threads[started], NULL, run, NULL) == 0;
	if (started == 0)
		run(NULL);
	for (int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	printf("%s: %llu values, %s\n", argv[1], (unsigned long long)count, failed ? "a fault" : "all well");
	return failed;
}
