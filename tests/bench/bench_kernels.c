/*
 * The norms beside the copy of the same shape: bench_kernels [ISA]. GB/s counts each array once, in or out (the copy: one
 * in, one out); a share is the kernel's GB/s over the copy's, of the same run. Medians.
 */
#include "bench_kernels.h"

#include "core/block/matrix.h"
#include "core/normcore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_seconds(void (*run)(void *context), void *context)
{
	enum { ROUNDS = 25 };
	double times[ROUNDS], start = now();
	size_t calls = 1;

	run(context);
	for (;;) { /* enough calls that a round takes 4 ms */
		start = now();
		for (size_t i = 0; i < calls; i++)
			run(context);
		if (now() - start > 4e-3 || calls > 1u << 20)
			break;
		calls *= 2;
	}
	for (int round = 0; round < ROUNDS; round++) {
		start = now();
		for (size_t i = 0; i < calls; i++)
			run(context);
		times[round] = (now() - start) / (double)calls;
	}
	qsort(times, ROUNDS, sizeof(*times), by_size);
	return times[ROUNDS / 2];
}

/* --- copies ------------------------------------------------------------------------------------------------------ */

struct copy {
	struct nc_pool *pool;
	char *to;
	const char *from;
	size_t bytes, chunk;
};

static void copy_chunk(void *context, size_t i)
{
	const struct copy *c = context;
	size_t at = i * c->chunk, left = c->bytes - at;

	memcpy(c->to + at, c->from + at, left < c->chunk ? left : c->chunk);
}

static void copy(void *context)
{
	struct copy *c = context;

	nc_pool_run(c->pool, copy_chunk, c, (c->bytes + c->chunk - 1) / c->chunk);
}

/* --- norms ------------------------------------------------------------------------------------------------------- */

struct bench {
	struct nc_pool *pool;
	struct nc_arena *arena;
	struct nc_norm_spec spec;
	struct nc_norm_call call;
	struct nc_residual_call residual;
};

static void norm(void *context)
{
	struct bench *b = context;

	if (nc_norm(&b->spec, &b->call, b->pool, b->arena) != NC_OK)
		exit(1);
}

static void residual(void *context)
{
	struct bench *b = context;

	if (nc_residual(&b->residual, b->pool, b->arena) != NC_OK)
		exit(1);
}

/* The arrays of the largest shape, reused by all. */
struct arrays {
	char *x, *update, *dy, *y, *normed, *dx, *gain, *bias, *dgain, *dbias;
};

static char *filled(size_t bytes, enum nc_dtype dtype)
{
	size_t size = nc_dtype_storage_bytes(dtype);
	size_t page = (size_t)2 << 20, whole = (bytes + page - 1) / page * page;
	char *array = aligned_alloc(page, whole);
	unsigned long state = 1;

	if (!array)
		exit(1);
	madvise(array, whole, MADV_HUGEPAGE); /* as the daemon's memory */
	for (size_t i = 0; i < bytes / size; i++) {
		double sum = 0;

		for (int k = 0; k < 4; k++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			sum += (double)(state >> 40) * 0x1p-24 - 0.5;
		}
		if (size == 8)
			((double *)array)[i] = sum;
		else
			((float *)array)[i] = (float)sum;
	}
	return array;
}

static void line(const char *what, size_t rows, size_t n, unsigned threads, double seconds, double bytes, double copied)
{
	printf("%-26s %4zu x %-7zu %u thread%s %10.2f us %8.1f GB/s", what, rows, n, threads, threads > 1 ? "s" : " ",
	       1e6 * seconds, 1e-9 * bytes / seconds);
	if (copied > 0)
		printf("   %4.2f of the copy", bytes / seconds / copied);
	putchar('\n');
	fflush(stdout);
}

static void shape(enum nc_dtype dtype, size_t rows, size_t n, struct nc_pool *pool, unsigned threads, struct nc_arena *arena,
                  const struct arrays *a)
{
	size_t size = nc_dtype_storage_bytes(dtype);
	double all = (double)(rows * n * size), param = (double)(n * size), forward[2], backward, seconds;
	struct copy c = {pool, a->y, a->x, rows * n * size, 16384 * size};
	struct bench b = {.pool = pool, .arena = arena};
	char name[64];

	seconds = bench_seconds(copy, &c);
	double copied = 2 * all / seconds;
	printf("\n");
	snprintf(name, sizeof(name), "%s copy", nc_dtype_name(dtype));
	line(name, rows, n, threads, seconds, 2 * all, 0);
	for (int kind = 0; kind < 2; kind++) {
		const char *kinds[] = {"RMSNorm", "LayerNorm"};

		b.spec = (struct nc_norm_spec){.kind = (enum nc_norm_kind)kind, .epsilon = 1e-5, .dtype = dtype, .xhat_dtype = NC_FLOAT64};
		b.call = (struct nc_norm_call){.rows = rows, .features = n, .period = 1, .x = a->x, .y = a->y};
		b.call.gain = (struct nc_param){a->gain, dtype, n};
		if (kind)
			b.call.bias = (struct nc_param){a->bias, dtype, n};
		forward[kind] = bench_seconds(norm, &b);
		snprintf(name, sizeof(name), "%s forward", kinds[kind]);
		line(name, rows, n, threads, forward[kind], 2 * all + (1 + kind) * param, copied);

		b.call.y = NULL;
		b.call.dy = a->dy;
		b.call.dx = a->dx;
		b.call.dgain = a->dgain;
		b.call.dbias = kind ? a->dbias : NULL;
		snprintf(name, sizeof(name), "%s backward", kinds[kind]);
		backward = bench_seconds(norm, &b);
		line(name, rows, n, threads, backward, 3 * all + (2 + kind) * param, copied);
		if (kind && dtype == NC_FLOAT32 && onednn_seconds) {
			double peer = onednn_seconds(rows, n, threads, (float *)a->x, NULL);

			line("oneDNN LayerNorm forward", rows, n, threads, peer, 2 * all + 2 * param, copied);
			printf("LayerNorm forward is %.1f times as fast as oneDNN's, ", peer / forward[1]);
			peer = onednn_seconds(rows, n, threads, (float *)a->x, (float *)a->dy);
			printf("backward %.1f times\n", peer / backward);
			line("oneDNN LayerNorm backward", rows, n, threads, peer, 3 * all + 3 * param, copied);
		}
	}
	printf("RMSNorm takes %.0f %% less time than LayerNorm\n", 100 * (1 - forward[0] / forward[1]));

	b.residual = (struct nc_residual_call){.dtype = dtype, .skip_scale = 1, .update_scale = 1, .rows = rows, .features = n,
	                                       .x = a->x, .update = a->update, .y = a->y};
	line("residual", rows, n, threads, bench_seconds(residual, &b), 3 * all, copied);
	b.spec.kind = NC_RMSNORM;
	b.residual.norm = &b.spec;
	b.residual.gain = (struct nc_param){a->gain, dtype, n};
	b.residual.normed = a->normed;
	line("residual and RMSNorm fused", rows, n, threads, bench_seconds(residual, &b), 4 * all + param, copied);
}

/* memcpy within each level of the memory, on one thread. */
static void levels(char *to, const char *from)
{
	static const struct {
		const char *name;
		size_t bytes;
	} level[] = {{"L1", 16 << 10}, {"L2", 512 << 10}, {"L3", 8 << 20}, {"DRAM or a large L3", 64 << 20}};

	for (size_t i = 0; i < sizeof(level) / sizeof(*level); i++) {
		struct copy c = {NULL, to, from, level[i].bytes, level[i].bytes};
		double seconds = bench_seconds(copy, &c);

		printf("copy of %6zu KiB (%s): %.1f GB/s\n", level[i].bytes >> 10, level[i].name,
		       2e-9 * (double)level[i].bytes / seconds);
	}
}

/* --- the matrix product ------------------------------------------------------------------------------------------ */

/* Multiplications and additions of registers alone, as many chains as hide their latency: 2^20 rounds of 20 vectors. */
#define PEAK(isa, attribute, bytes) \
	attribute static void peak_##isa(void *sink) \
	{ \
		typedef double vector __attribute__((vector_size(bytes), may_alias)); \
		vector sum[10], one = {0}; \
\
		one += 1; \
		for (int i = 0; i < 10; i++) \
			sum[i] = one * i; \
		for (int round = 0; round < 1 << 20; round++) { \
			_Pragma("GCC unroll 10") for (int i = 0; i < 10; i++) { \
				sum[i] *= one; \
				sum[i] += one; \
				__asm__ volatile("" : "+x"(sum[i])); \
			} \
		} \
		for (int i = 1; i < 10; i++) \
			sum[0] += sum[i]; \
		*(double *)sink = sum[0][0]; \
	}
#ifdef __x86_64__
PEAK(sse2, , 16)
PEAK(avx2, __attribute__((target("avx2"))), 32)
PEAK(avx512, __attribute__((target("avx512f"))), 64)
#endif

static void product(void *context)
{
	nc_multiply(context, NULL);
}

static void matrix(double *a, double *b, double *c)
{
	enum { N = 768 };
	struct nc_product p = {.m = N, .n = N, .k = N, .a = a, .a_row = N, .a_col = 1, .b = b, .b_row = N, .b_col = 1,
	                       .c = c, .c_row = N, .c_col = 1};
	double rate = 2e-9 * N * N * N / bench_seconds(product, &p), peak = 0, sink;
	int lanes = 0;

#ifdef __x86_64__
	void (*const peaks[NC_ISA_COUNT])(void *) = {[NC_ISA_SSE2] = peak_sse2, [NC_ISA_AVX2] = peak_avx2, [NC_ISA_AVX512] = peak_avx512};
	static const int widths[NC_ISA_COUNT] = {[NC_ISA_SSE2] = 2, [NC_ISA_AVX2] = 4, [NC_ISA_AVX512] = 8};

	lanes = widths[nc_isa_current()];
	if (lanes)
		peak = 20e-9 * lanes * (1 << 20) / bench_seconds(peaks[nc_isa_current()], &sink);
#endif
	(void)sink;
	printf("\nmatrix product, float64, %d x %d x %d, 1 thread: %.1f GFLOP/s", N, N, N, rate);
	if (lanes)
		printf(", %.2f of what multiplications and additions alone reach (%.1f)", rate / peak, peak);
	putchar('\n');
}

int main(int argc, char **argv)
{
	enum { LONG = 1 << 20 };
	static const size_t shapes[][2] = {{1, 4096}, {64, 4096}, {2048, 4096}, {4096, 768}, {1, LONG}};
	size_t most = (size_t)2048 * 4096 * 8, params = LONG * 8;
	struct nc_arena *arena = nc_arena_create((size_t)1 << 30);

	if (!arena || (argc > 1 && !nc_isa_select(argv[1]))) {
		fprintf(stderr, "no such instruction set here\n");
		return 1;
	}
	printf("kernels: %s\n", nc_isa_name(nc_isa_current()));
	for (int d = 0; d < 2; d++) {
		enum nc_dtype dtype = d ? NC_FLOAT64 : NC_FLOAT32;
		struct arrays a = {filled(most, dtype), filled(most, dtype), filled(most, dtype), filled(most, dtype),
		                   filled(most, dtype), filled(most, dtype), filled(params, dtype), filled(params, dtype),
		                   filled(params, dtype), filled(params, dtype)};
		char *arrays[] = {a.x, a.update, a.dy, a.y, a.normed, a.dx, a.gain, a.bias, a.dgain, a.dbias};

		if (!d)
			levels(a.y, a.x);
		for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++)
			for (unsigned threads = 1; threads <= 2; threads++) {
				struct nc_pool *pool = nc_pool_create(threads);

				shape(dtype, shapes[s][0], shapes[s][1], pool, threads, arena, &a);
				nc_pool_destroy(pool);
			}
		if (d)
			matrix((double *)a.x, (double *)a.update, (double *)a.y);
		for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
			free(arrays[i]);
	}
	nc_arena_destroy(arena);
	return 0;
}
