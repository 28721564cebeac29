/* Norms and residuals: however the work is cut and wherever its outputs go, the bits are the same. */
#include "core/kernels.h"
#include "core/norm_job.h"
#include "core/norm_wide.h"
#include "tests/reference/norm_cases.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

/* Numbers of (-8, 8), rounded to the dtype. */
static void fill(struct random *random, enum nc_dtype dtype, void *data, size_t count)
{
	struct nc_tensor t = {.dtype = dtype, .data = data};

	for (size_t i = 0; i < count; i++)
		nc_tensor_set(&t, i, nc_dtype_round(dtype, (double)random_below(random, 1u << 24) * 0x1p-20 - 8));
}

enum { ROWS = 20, FEATURES = NORM_JOB_PART + 22, OUTPUTS = 8 };

/* Every output of a call and the marks of its rows, by whole rows or by columns; where a row has none, zeros stay. */
static void run(struct norm_job job, bool dgain, struct nc_pool *pool, struct nc_arena *arena, void *outputs[OUTPUTS])
{
	const struct nc_norm_spec *spec = job.spec;
	bool layer = spec->kind == NC_LAYERNORM;
	size_t size = nc_dtype_storage_bytes(spec->dtype), all = ROWS * FEATURES * size;

	for (int i = 0; i < OUTPUTS; i++)
		outputs[i] = nc_arena_zero(arena, 1, all);
	job.y = outputs[0];
	job.xhat = outputs[1];
	job.projected = outputs[2];
	job.divisor = outputs[3];
	job.mean = layer ? outputs[4] : NULL;
	struct nc_param gain = {job.gain.values, spec->dtype, FEATURES}, none = {0};
	ck_assert(norm_job_prepare(&job, ROWS, gain, none, dgain, dgain && layer, arena));
	if (pool)
		ck_assert(norm_job_columns(&job, ROWS, pool, arena));
	else
		norm_job_rows(&job, 0, ROWS);
	if (dgain)
		norm_job_sum(&job, ROWS, outputs[5], layer ? outputs[6] : NULL, NULL);
	memcpy(outputs[7], job.slow, ROWS);
}

/* Long rows by their columns, which threads share, give the bits and the marks that they give whole. */
START_TEST(columns_change_no_bit)
{
	struct nc_pool *pool = nc_pool_create(3);
	struct nc_arena *arena = nc_arena_create((size_t)1 << 30);
	struct random random = {5};

	for (int trial = 0; trial < 2 * NC_DTYPE_COUNT; trial++) {
		enum nc_dtype dtype = (enum nc_dtype)(trial % NC_DTYPE_COUNT);
		struct nc_norm_spec spec = {.kind = trial < NC_DTYPE_COUNT ? NC_RMSNORM : NC_LAYERNORM, .epsilon = 1e-5, .dtype = dtype,
		                            .xhat_dtype = trial % 3 ? NC_FLOAT64 : dtype};
		size_t mark = nc_arena_mark(arena), size = nc_dtype_storage_bytes(dtype), all = ROWS * FEATURES * size;
		struct nc_tensor x = {.dtype = dtype, .data = nc_arena_alloc(arena, all)};
		void *dy = nc_arena_alloc(arena, all), *gain = nc_arena_alloc(arena, FEATURES * size), *whole[OUTPUTS], *cut[OUTPUTS];

		fill(&random, dtype, x.data, ROWS * FEATURES);
		fill(&random, dtype, dy, ROWS * FEATURES);
		fill(&random, dtype, gain, FEATURES);
		for (size_t i = 0; i < FEATURES; i++) /* a mean that is large beside its deviation */
			nc_tensor_set(&x, i, nc_dtype_round(dtype, 1000 + nc_element(dtype, x.data, i)));
		if (dtype == NC_FLOAT64) /* a row that no kernel can hold */
			nc_tensor_set(&x, 2 * FEATURES - 1, 1e200);
		for (int backward = 0; backward < 2; backward++) {
			struct norm_job job = {.spec = &spec, .features = FEATURES, .period = 1, .x = x.data, .u = backward ? dy : NULL,
			                       .gained = true, .gain.values = gain};

			run(job, backward, NULL, arena, whole);
			run(job, backward, pool, arena, cut);
			for (int i = 0; i < OUTPUTS; i++)
				ck_assert_msg(!memcmp(whole[i], cut[i], all), "output %d of kind %d in %s", i, (int)spec.kind, nc_dtype_name(dtype));
		}
		nc_arena_rewind(arena, mark);
	}
	nc_pool_destroy(pool);
	nc_arena_destroy(arena);
}
END_TEST

/* The most chunks that the pool was asked for at once: the linker puts this in the place of nc_pool_run. */
static size_t most_chunks;
void __real_nc_pool_run(struct nc_pool *pool, nc_pool_fn *fn, void *context, size_t chunks);
void __wrap_nc_pool_run(struct nc_pool *pool, nc_pool_fn *fn, void *context, size_t chunks);

void __wrap_nc_pool_run(struct nc_pool *pool, nc_pool_fn *fn, void *context, size_t chunks)
{
	most_chunks = chunks > most_chunks ? chunks : most_chunks;
	__real_nc_pool_run(pool, fn, context, chunks);
}

enum { KINDS = 4 };

/* The chunks of RMSNorm forward and backward, with the parameters' gradients, of a residual and of both fused: one row. */
static void count_chunks(size_t n, size_t chunks[KINDS], struct nc_arena *arena)
{
	size_t mark = nc_arena_mark(arena);
	struct nc_norm_spec spec = {.kind = NC_RMSNORM, .epsilon = 1e-5, .dtype = NC_FLOAT32, .xhat_dtype = NC_FLOAT64};
	float *x = nc_arena_zero(arena, n, sizeof(*x)), *out = nc_arena_array(arena, n, sizeof(*out));
	float *dx = nc_arena_array(arena, n, sizeof(*dx)), *dgain = nc_arena_array(arena, n, sizeof(*dgain));
	struct nc_norm_call norm = {.rows = 1, .features = n, .period = 1, .x = x, .dy = x, .y = out, .dx = dx};
	struct nc_residual_call residual = {.dtype = NC_FLOAT32, .skip_scale = 1, .update_scale = 1, .rows = 1, .features = n,
	                                    .x = x, .update = x, .y = out};

	for (int i = 0; i < KINDS; i++) {
		most_chunks = 0;
		norm.dgain = i == 1 ? dgain : NULL;
		residual.norm = i == 3 ? &spec : NULL;
		residual.normed = i == 3 ? dx : NULL;
		ck_assert_int_eq(i >= 2 ? nc_residual(&residual, NULL, arena) : nc_norm(&spec, &norm, NULL, arena), NC_OK);
		chunks[i] = most_chunks;
	}
	nc_arena_rewind(arena, mark);
}

START_TEST(long_rows_are_shared_and_short_work_is_not)
{
	struct nc_arena *arena = nc_arena_create((size_t)1 << 28);
	size_t chunks[KINDS];

	count_chunks(8 * NORM_JOB_PART, chunks, arena);
	for (int i = 0; i < KINDS; i++)
		ck_assert_uint_ge(chunks[i], 8);
	count_chunks(4096, chunks, arena);
	for (int i = 0; i < KINDS; i++)
		ck_assert_uint_le(chunks[i], 1);
	nc_arena_destroy(arena);
}
END_TEST

/* The same of a residual and its norm: rows alone, which are cut, and among so many that they are not. */
START_TEST(columns_change_no_bit_of_a_residual)
{
	enum { BATCH = 6 };
	struct nc_pool *pool = nc_pool_create(3);
	struct nc_arena *arena = nc_arena_create((size_t)1 << 29);
	struct random random = {6};

	for (int trial = 0; trial < 2 * NC_DTYPE_COUNT; trial++) {
		enum nc_dtype dtype = (enum nc_dtype)(trial % NC_DTYPE_COUNT);
		struct nc_norm_spec spec = {.kind = trial < NC_DTYPE_COUNT ? NC_RMSNORM : NC_LAYERNORM, .epsilon = 1e-5, .dtype = dtype,
		                            .xhat_dtype = NC_FLOAT64};
		size_t mark = nc_arena_mark(arena), row = FEATURES * nc_dtype_storage_bytes(dtype);
		char *in[4], *out[4], *one[4];

		for (int i = 0; i < 4; i++) {
			in[i] = nc_arena_alloc(arena, BATCH * row);
			out[i] = nc_arena_alloc(arena, BATCH * row);
			one[i] = nc_arena_alloc(arena, row);
			fill(&random, dtype, in[i], (size_t)BATCH * FEATURES);
		}
		struct nc_residual_call call = {.dtype = dtype, .skip_scale = 1, .update_scale = trial % 3 ? 1 : 0.3, .rows = BATCH,
		                                .features = FEATURES, .norm = &spec, .x = in[0], .update = in[1], .dy = in[2],
		                                .dnormed = in[3], .y = out[0], .normed = out[1], .dx = out[2], .dupdate = out[3]};
		ck_assert_int_eq(nc_residual(&call, pool, arena), NC_OK);
		call.rows = 1;
		call.y = one[0];
		call.normed = one[1];
		call.dx = one[2];
		call.dupdate = one[3];
		for (size_t at = 0; at < BATCH * row; at += row) {
			call.x = in[0] + at;
			call.update = in[1] + at;
			call.dy = in[2] + at;
			call.dnormed = in[3] + at;
			ck_assert_int_eq(nc_residual(&call, pool, arena), NC_OK);
			for (int i = 0; i < 4; i++)
				ck_assert_msg(!memcmp(one[i], out[i] + at, row), "output %d of kind %d in %s", i, (int)spec.kind, nc_dtype_name(dtype));
		}
		nc_arena_rewind(arena, mark);
	}
	nc_pool_destroy(pool);
	nc_arena_destroy(arena);
}
END_TEST

/* Outputs that are written past the caches are the same as those of a few rows, which are not. */
START_TEST(large_outputs_change_no_bit)
{
	enum { MANY = 1024, PIECE = 256, WIDE = 4096 };
	size_t all = (size_t)MANY * WIDE, piece = (size_t)PIECE * WIDE;
	float *x = aligned_alloc(64, all * sizeof(float)), *dy = aligned_alloc(64, all * sizeof(float)), gain[WIDE];
	float *large = aligned_alloc(64, all * sizeof(float)), *small = aligned_alloc(64, piece * sizeof(float)), dgain[WIDE];
	struct nc_arena *arena = nc_arena_create((size_t)1 << 28);
	struct random random = {4};

	for (size_t i = 0; i < all; i++) {
		x[i] = (float)random_below(&random, 1u << 24) * 0x1p-20f - 8;
		dy[i] = (float)random_below(&random, 1u << 24) * 0x1p-24f;
	}
	for (size_t i = 0; i < WIDE; i++)
		gain[i] = (float)random_below(&random, 1u << 24) * 0x1p-23f;
	for (int isa = 0; isa < NC_ISA_COUNT; isa++) {
		if (!nc_isa_select(nc_isa_name((enum nc_isa)isa)))
			continue;
		for (int form = 0; form < 4; form++) { /* RMSNorm and LayerNorm, y and dx */
			struct nc_norm_spec spec = {.kind = (enum nc_norm_kind)(form % 2), .epsilon = 1e-6, .dtype = NC_FLOAT32,
			                            .xhat_dtype = NC_FLOAT64};
			struct nc_norm_call call = {.rows = MANY, .features = WIDE, .period = 1, .x = x,
			                            .gain = {gain, NC_FLOAT32, WIDE}};
			bool backward = form >= 2;

			call.dy = backward ? dy : NULL;
			*(backward ? &call.dx : &call.y) = large;
			call.dgain = backward ? dgain : NULL;
			ck_assert_int_eq(nc_norm(&spec, &call, NULL, arena), NC_OK);
			call.rows = PIECE;
			*(backward ? &call.dx : &call.y) = small;
			for (size_t at = 0; at < all; at += piece) {
				call.x = x + at;
				call.dy = backward ? dy + at : NULL;
				ck_assert_int_eq(nc_norm(&spec, &call, NULL, arena), NC_OK);
				ck_assert(!memcmp(large + at, small, piece * sizeof(float)));
			}
		}
	}
	nc_isa_select("auto");
	nc_arena_destroy(arena);
	free(x);
	free(dy);
	free(large);
	free(small);
}
END_TEST

TEST_MAIN(columns_change_no_bit, columns_change_no_bit_of_a_residual, long_rows_are_shared_and_short_work_is_not,
          large_outputs_change_no_bit)
