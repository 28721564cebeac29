/* Norms: however the work is cut and wherever its outputs go, the bits are the same. */
#include "core/kernels.h"
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

/* A long row, which alone is cut by its columns, gives the bits that it gives among so many that they are not. */
START_TEST(cuts_change_no_bit)
{
	enum { ROWS = 272, FEATURES = 32790 };
	struct random random = {5};
	struct nc_pool *pool = nc_pool_create(3);
	struct nc_arena *room = nc_arena_create((size_t)1 << 31);

	for (int trial = 0; trial < 2 * NC_DTYPE_COUNT; trial++) {
		enum nc_dtype dtype = (enum nc_dtype)(trial % NC_DTYPE_COUNT);
		struct nc_norm_spec spec = {.kind = trial < NC_DTYPE_COUNT ? NC_RMSNORM : NC_LAYERNORM, .epsilon = 1e-5, .dtype = dtype,
		                            .xhat_dtype = trial % 3 ? NC_FLOAT64 : dtype};
		size_t size = nc_dtype_storage_bytes(dtype), row = FEATURES * size;
		char *x = malloc(ROWS * row), *dy = malloc(ROWS * row), *gain = malloc(row), *y = malloc(ROWS * row), *dx = malloc(ROWS * row);
		char *one_y = malloc(row), *one_dx = malloc(row), dgain[2][FEATURES * sizeof(double)];

		fill(&random, dtype, x, (size_t)ROWS * FEATURES);
		fill(&random, dtype, dy, (size_t)ROWS * FEATURES);
		fill(&random, dtype, gain, FEATURES);
		for (size_t i = 0; i < FEATURES; i++) { /* a row whose mean is large, and one that no kernel can hold */
			struct nc_tensor t = {.dtype = dtype, .data = x};

			nc_tensor_set(&t, i, nc_dtype_round(dtype, 1000 + nc_element(dtype, x, i)));
			nc_tensor_set(&t, FEATURES + i, nc_dtype_round(dtype, dtype == NC_FLOAT64 ? 1e200 * (double)i : (double)(i % 2)));
		}
		struct nc_norm_call call = {.rows = ROWS, .features = FEATURES, .period = 1, .x = x, .dy = dy, .y = y, .dx = dx,
		                            .gain = {gain, dtype, FEATURES}};
		ck_assert_int_eq(nc_norm(&spec, &call, pool, room), NC_OK);
		call.rows = 1;
		call.y = one_y;
		call.dx = one_dx;
		for (int at = 0; at < 4; at++) {
			call.x = x + (size_t)at * row;
			call.dy = dy + (size_t)at * row;
			ck_assert_int_eq(nc_norm(&spec, &call, pool, room), NC_OK);
			ck_assert_msg(!memcmp(one_y, y + (size_t)at * row, row), "y of row %d, %s", at, nc_dtype_name(dtype));
			ck_assert_msg(!memcmp(one_dx, dx + (size_t)at * row, row), "dx of row %d, %s", at, nc_dtype_name(dtype));
		}
		/* the parameters' gradients of two blocks of rows, cut and, with many rows of zeros behind, not */
		call.x = x;
		call.dy = dy;
		call.rows = 20;
		call.y = call.dx = NULL;
		call.dgain = dgain[0];
		ck_assert_int_eq(nc_norm(&spec, &call, pool, room), NC_OK);
		memset(dy + 20 * row, 0, (ROWS - 20) * row);
		call.rows = ROWS;
		call.dgain = dgain[1];
		ck_assert_int_eq(nc_norm(&spec, &call, pool, room), NC_OK);
		ck_assert_msg(!memcmp(dgain[0], dgain[1], row), "dgain, %s", nc_dtype_name(dtype));
		free(x);
		free(dy);
		free(gain);
		free(y);
		free(dx);
		free(one_y);
		free(one_dx);
	}
	nc_pool_destroy(pool);
	nc_arena_destroy(room);
}
END_TEST

/* Outputs that are written past the caches are the same as those of a few rows, which are not. */
START_TEST(large_outputs_change_no_bit)
{
	enum { ROWS = 1024, PIECE = 256, FEATURES = 4096 };
	size_t all = (size_t)ROWS * FEATURES, piece = (size_t)PIECE * FEATURES;
	float *x = aligned_alloc(64, all * sizeof(float)), *dy = aligned_alloc(64, all * sizeof(float)), gain[FEATURES];
	float *large = aligned_alloc(64, all * sizeof(float)), *small = aligned_alloc(64, piece * sizeof(float)), dgain[FEATURES];
	struct nc_arena *arena = nc_arena_create((size_t)1 << 28);
	struct random random = {4};

	for (size_t i = 0; i < all; i++) {
		x[i] = (float)random_below(&random, 1u << 24) * 0x1p-20f - 8;
		dy[i] = (float)random_below(&random, 1u << 24) * 0x1p-24f;
	}
	for (size_t i = 0; i < FEATURES; i++)
		gain[i] = (float)random_below(&random, 1u << 24) * 0x1p-23f;
	for (int isa = 0; isa < NC_ISA_COUNT; isa++) {
		if (!nc_isa_select(nc_isa_name((enum nc_isa)isa)))
			continue;
		for (int form = 0; form < 4; form++) { /* RMSNorm and LayerNorm, y and dx */
			struct nc_norm_spec spec = {.kind = (enum nc_norm_kind)(form % 2), .epsilon = 1e-6, .dtype = NC_FLOAT32,
			                            .xhat_dtype = NC_FLOAT64};
			struct nc_norm_call call = {.rows = ROWS, .features = FEATURES, .period = 1, .x = x,
			                            .gain = {gain, NC_FLOAT32, FEATURES}};
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

TEST_MAIN(cuts_change_no_bit, large_outputs_change_no_bit)
