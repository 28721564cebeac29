/* Residual additions: cases from the field, branches that sum, what is refused. Accuracy: test_norm_promise.c. */
#include "tests/reference/norm_cases.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

static struct nc_arena *arena;

static void setup(void)
{
	if (!arena)
		arena = nc_arena_create((size_t)1 << 28);
	ck_assert_ptr_nonnull(arena);
}

static void must(struct nc_residual_call *call)
{
	setup();
	ck_assert_int_eq(nc_residual(call, NULL, arena), NC_OK);
}

START_TEST(the_lesson)
{
	double x[] = {1, 3}, update[] = {.5, -.5}, y[2];
	struct nc_residual_call call = {.dtype = NC_FLOAT64, .skip_scale = 1, .update_scale = 1, .rows = 1, .features = 2,
	                                .x = x, .update = update, .y = y};

	must(&call);
	ck_assert(y[0] == 1.5 && y[1] == 2.5);
}
END_TEST

START_TEST(derivative_of_the_lesson)
{
	double one = 1, update = .25, f = -.2, dx, identity, sublayer, total, skip, branch;
	struct nc_residual_call call = {.dtype = NC_FLOAT64, .skip_scale = 1, .update_scale = 1, .rows = 1, .features = 1,
	                                .x = &one, .update = &update, .dy = &one, .form = NC_JACOBIAN_NUMBER,
	                                .sublayer_jacobian = &f, .dx = &dx, .dx_identity = &skip, .dx_sublayer = &branch,
	                                .identity = &identity, .sublayer = &sublayer, .total = &total};

	must(&call);
	ck_assert(total == .8 && identity == 1 && sublayer == -.2 && dx == .8 && skip == 1 && branch == -.2);
}
END_TEST

START_TEST(sum_rounded_or_not)
{
	float x[] = {1, 0}, update[] = {256, 96}, y[2], normed[2];
	struct nc_norm_spec norm = {.kind = NC_RMSNORM, .dtype = NC_BFLOAT16, .xhat_dtype = NC_FLOAT64};
	struct nc_residual_call call = {.dtype = NC_BFLOAT16, .skip_scale = 1, .update_scale = 1, .rows = 1, .features = 2,
	                                .x = x, .update = update, .norm = &norm, .y = y, .normed = normed};

	must(&call);
	ck_assert(y[0] == 256 && y[1] == 96 && normed[0] == 1.328125f && normed[1] == 0.494140625f);
	call.round_sum = true;
	must(&call);
	ck_assert(y[0] == 256 && y[1] == 96 && normed[0] == 1.3203125f && normed[1] == 0.49609375f);
}
END_TEST

/* With s = 1 and update = 0 the fused norm is nc_norm. */
START_TEST(fused_norm_is_the_norm)
{
	struct random random = {21};

	for (int trial = 0; trial < 200; trial++) {
		struct case_options options = {.elements = 200, .dtype = -1};
		struct norm_case c;

		norm_case_make(&c, &random, &options);
		if (c.call.period == 1) {
			size_t bytes = c.call.rows * c.call.features * nc_dtype_storage_bytes(c.spec.dtype);
			char zeros[16384] = {0}, normed[16384], dx[16384], dgain[4096];
			struct nc_residual_call call = {
				.dtype = c.spec.dtype, .skip_scale = 1, .update_scale = 1, .rows = c.call.rows,
				.features = c.call.features, .x = c.call.x, .update = zeros, .norm = &c.spec, .gain = c.call.gain,
				.bias = c.call.bias, .dnormed = c.call.dy, .normed = normed, .dx = dx, .dgain = dgain};

			c.spec.epsilon = 1e-5;
			ck_assert_uint_le(bytes, sizeof(zeros));
			must(&call);
			ck_assert_int_eq(nc_norm(&c.spec, &c.call, NULL, arena), NC_OK);
			struct nc_tensor got[] = {{.dtype = c.spec.dtype, .data = normed}, {.dtype = c.spec.dtype, .data = dx}};
			struct nc_tensor want[] = {{.dtype = c.spec.dtype, .data = c.call.y}, {.dtype = c.spec.dtype, .data = c.call.dx}};

			for (size_t i = 0; i < c.call.rows * c.call.features; i++) /* as numbers: −0 + 0 is 0 */
				for (int k = 0; k < 2; k++)
					ck_assert(nc_tensor_get(&got[k], i) == nc_tensor_get(&want[k], i));
			ck_assert(!memcmp(dgain, c.call.dgain, c.call.features * nc_dtype_storage_bytes(c.spec.dtype)));
		}
		norm_case_free(&c);
	}
}
END_TEST

START_TEST(no_value)
{
	double x[] = {1, 2, 3, 4, 5, 6}, update[] = {1, 1, -3, -4, -5, -6}, y[6];
	struct nc_norm_spec norm = {.kind = NC_RMSNORM, .dtype = NC_FLOAT64, .xhat_dtype = NC_FLOAT64};
	struct nc_residual_call call = {.dtype = NC_FLOAT64, .skip_scale = 1, .update_scale = 1, .rows = 3, .features = 2,
	                                .x = x, .update = update, .norm = &norm, .y = y, .normed = y};
	double other[6];

	setup();
	call.normed = other;
	ck_assert_int_eq(nc_residual(&call, NULL, arena), NC_NO_VALUE);
	ck_assert_uint_eq(call.bad_row, 1);
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
	double x[4] = {1, 2, 3, 4}, y[4];
	struct nc_norm_spec norm = {.kind = NC_RMSNORM, .dtype = NC_FLOAT64, .xhat_dtype = NC_FLOAT64};
	struct nc_residual_call fine = {.dtype = NC_FLOAT64, .skip_scale = 1, .update_scale = 1, .rows = 2, .features = 2,
	                                .x = x, .update = x, .norm = &norm, .y = y}, call;

	setup();
	must(&fine);
#define REFUSED(change) \
	do { \
		call = fine; \
		change; \
		ck_assert_int_eq(nc_residual(&call, NULL, arena), NC_INVALID); \
	} while (0)
	REFUSED(call.features = 0);
	REFUSED(call.rows = SIZE_MAX);
	REFUSED(call.x = NULL);
	REFUSED(call.update = NULL);
	REFUSED(call.skip_scale = INFINITY);
	REFUSED(call.update_scale = NAN);
	REFUSED(call.dx = y);
	REFUSED(call.dgain = y);
	REFUSED(call.form = NC_JACOBIAN_NUMBER);
	REFUSED(call.total = y);
	REFUSED(call.dtype = NC_FLOAT32);
	REFUSED((call.norm = NULL, call.normed = y));
	REFUSED((call.norm = NULL, call.dnormed = x));
	REFUSED((call.gain = (struct nc_param){x, NC_FLOAT64, 3}));
	REFUSED((call.bias = (struct nc_param){x, NC_FLOAT64, 2}));
#undef REFUSED
}
END_TEST

TEST_MAIN(the_lesson, derivative_of_the_lesson, sum_rounded_or_not, fused_norm_is_the_norm, no_value,
          what_makes_no_sense_is_refused)
