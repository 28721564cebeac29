/*
 * bench_block: whole residual blocks, forward and backward, medians of many runs on one thread and on the pool.
 *
 * llama: T 64, width 256, 8 heads, gated mlp of 688, RMSNorm, RoPE, every parameter's gradient, float64.
 * trace: 128 seeded layers, width 64, T 8, gated mlp of 128, the weights made anew each time.
 * product: one 256 × 256 × 256 matrix product, beside the peak of a chain of multiplications and additions.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/block/block.h"
#include "core/isa.h"
#include "core/kernels.h"

enum { RUNS = 41 };

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *times)
{
	qsort(times, RUNS, sizeof *times, ascending);
	return times[RUNS / 2];
}

static double *numbers(size_t count, double scale, uint64_t stream)
{
	double *x = malloc(count * sizeof *x);
	kernels()->draw_normal(1, stream, scale, x, count);
	return x;
}

static void weight(struct nc_block *b, size_t i, enum nc_slot slot)
{
	size_t shape[2] = {1, 1};
	unsigned rank = nc_slot_shape(b, b->sublayers + i, slot, shape);
	struct nc_weight *w = &b->sublayers[i].weight[slot];
	w->count = shape[0] * (rank == 2 ? shape[1] : 1);
	w->value = numbers(w->count, rank == 2 ? 1 / sqrt((double)shape[1]) : 1, 100 * i + slot);
	w->gradient = calloc(w->count, sizeof(double));
}

static const struct nc_block_norm rms = {{NC_RMSNORM, NC_INSIDE_SQRT, 1e-5, 0, NC_FLOAT64, NC_FLOAT64}, 1};

static double llama(struct nc_pool *pool, struct nc_arena *arena)
{
	static struct nc_sublayer sublayers[2];
	static struct nc_block b = {NC_PLACEMENT_PRE, true, 1, 1, 1, 64, 256, 1, 2, sublayers};
	static double *x, *dy, *y, *dx, times[RUNS];
	if (!x) {
		sublayers[0].norm = sublayers[1].norm = rms;
		sublayers[0].kind = NC_FUNCTION_ATTENTION;
		sublayers[0].attention =
		    (struct nc_attention){8, 8, 32, true, 1 / sqrt(32), 0, 0, NC_ROPE_HALF, 10000, 0, false, rms};
		sublayers[1].kind = NC_FUNCTION_MLP;
		sublayers[1].activation = NC_ACT_SILU;
		sublayers[1].hidden = 688;
		sublayers[1].gated = true;
		for (size_t i = 0; i < 2; i++)
			for (int slot = 0; slot < NC_SLOT_COUNT; slot++)
				if (slot == NC_SLOT_NORM_GAIN || nc_slot_required(sublayers + i, (enum nc_slot)slot))
					weight(&b, i, (enum nc_slot)slot);
		x = numbers(64 * 256, 1, 1), dy = numbers(64 * 256, 1, 2);
		y = calloc(64 * 256, sizeof *y), dx = calloc(64 * 256, sizeof *dx);
	}
	struct nc_block_call call = {.x = x, .dy = dy, .y = y, .dx = dx};
	for (int i = -3; i < RUNS; i++) {
		double start = now();
		if (nc_block_grad(&b, &call, pool, arena) != NC_OK)
			exit(1);
		if (i >= 0)
			times[i] = now() - start;
	}
	return median(times);
}

static double trace(struct nc_pool *pool, struct nc_arena *arena)
{
	static double times[RUNS];
	struct nc_sublayer mlp = {.norm = rms,
	                          .kind = NC_FUNCTION_MLP,
	                          .activation = NC_ACT_SILU,
	                          .hidden = 128,
	                          .gated = true,
	                          .init = {NC_SCHEME_NORMAL, 0.02, 1, 0}};
	struct nc_block b = {NC_PLACEMENT_PRE, true, 1, 1, 1, 8, 64, 128, 1, &mlp};
	struct nc_trace *layers = calloc(129, sizeof *layers);
	double *x = numbers(8 * 64, 1, 1);
	for (int i = -3; i < RUNS; i++) {
		struct nc_block_call call = {.x = x, .trace = layers};
		size_t mark = nc_arena_mark(arena);
		double start = now();
		if (nc_block_init(&b, pool, arena) != NC_OK || nc_block_grad(&b, &call, pool, arena) != NC_OK)
			exit(1);
		if (i >= 0)
			times[i] = now() - start;
		nc_arena_rewind(arena, mark);
	}
	free(x), free(layers);
	return median(times);
}

/* 10^9 operations a second of the kernel's product. */
static double product(void)
{
	static double times[RUNS];
	size_t n = 256;
	double *a = numbers(n * n, 1, 1), *b = numbers(n * n, 1, 2), *c = calloc(n * n, sizeof *c);
	struct nc_product p = {n, n, n, a, n, 1, b, n, 1, c, n, 1, false};
	for (int i = -3; i < RUNS; i++) {
		double start = now();
		kernels()->matmul(&p);
		if (i >= 0)
			times[i] = now() - start;
	}
	free(a), free(b), free(c);
	return 2e-6 * (double)(n * n * n) / median(times);
}

/* Eight chains each of multiplications and additions in registers, no memory: what a core can do without fusing them. */
#ifdef __x86_64__
#define CHAINS(m, s) "vmulpd %%zmm31, %%zmm" #m ", %%zmm" #m "\n\tvaddpd %%zmm31, %%zmm" #s ", %%zmm" #s "\n\t"
__attribute__((target("avx512f"))) static double peak_avx512(void)
{
	static double times[RUNS];
	enum { STEPS = 200000 };
	for (int i = -3; i < RUNS; i++) {
		double start = now();
		__asm__ volatile("vzeroall\n\tvpxorq %%zmm31, %%zmm31, %%zmm31" ::: "xmm31");
		for (int step = 0; step < STEPS; step++)
			__asm__ volatile(CHAINS(0, 8) CHAINS(1, 9) CHAINS(2, 10) CHAINS(3, 11) CHAINS(4, 12) CHAINS(5, 13) CHAINS(6, 14)
		                                 CHAINS(7, 15)::: "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
			                 "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
		if (i >= 0)
			times[i] = now() - start;
	}
	return 1e-6 * 16 * 8 * STEPS / median(times);
}
#undef CHAINS
#endif

int main(int argc, char **argv)
{
	unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 2;
	struct nc_pool *pool = nc_pool_create(threads);
	struct nc_arena *arena = nc_arena_create((size_t)1 << 31);
	const char *isa = getenv("NORMD_ISA");
	if (!pool || !arena || (isa && !nc_isa_select(isa)))
		return 1;
	printf("kernel %s, medians of %d runs\n", nc_isa_name(nc_isa_current()), RUNS);
	printf("%-58s %8s %8u threads\n", "", "1 thread", threads);
	printf("%-58s %8.2f %8.2f ms\n", "llama block T 64, width 256, mlp 688, forward and backward",
	       llama(NULL, arena), llama(pool, arena));
	printf("%-58s %8.2f %8.2f ms\n", "trace of 128 seeded layers, width 64, T 8, mlp 128", trace(NULL, arena),
	       trace(pool, arena));
	printf("%-58s %8.1f GFLOP/s", "product 256 x 256 x 256", product());
#ifdef __x86_64__
	if (nc_isa_current() == NC_ISA_AVX512)
		printf(", the core's peak without FMA %.1f", peak_avx512());
#endif
	printf("\n");
	nc_pool_destroy(pool);
	nc_arena_destroy(arena);
	return 0;
}
