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

/*
 * Whether two computations of one element may both keep the promise: a unit of the last place apart, or within what
 * their terms allow where they cancel. `terms` is a bound of S.
 */
static bool agree(enum nc_dtype dtype, double a, double b, double terms)
{
	double unit = ldexp(fmax(fabs(a), fabs(b)), 1 - nc_dtype_mantissa_bits(dtype));

	return a == b || fabs(a - b) <= unit || fabs(a - b) <= terms * (dtype == NC_FLOAT64 ? 0x1p-97 : 0x1p-44);
}

/* With s = 1 and update = 0 the fused norm is nc_norm, though each goes its own way to it. */
/* A long row is cut, at places that change nothing. */
START_TEST(long_rows_are_their_elements)
{
	enum { N = 100003 };
	static float x[N], update[N], dy[N], y[N], dx[N], dupdate[N];
	struct nc_pool *pool = nc_pool_create(3);
	struct nc_residual_call call = {.dtype = NC_FLOAT32, .skip_scale = 1, .update_scale = 0.5, .rows = 1, .features = N,
	                                .x = x, .update = update, .dy = dy, .y = y, .dx = dx, .dupdate = dupdate};

	setup();
	for (int i = 0; i < N; i++) {
		x[i] = (float)(i * 7919 % 1000003) * 0x1p-10f;
		update[i] = (float)(i % 4096) * 0x1p10f;
		dy[i] = (float)(i - N / 2);
	}
	ck_assert_int_eq(nc_residual(&call, pool, arena), NC_OK);
	for (int i = 0; i < N; i++) {
		ck_assert_msg(y[i] == (float)((double)x[i] + 0.5 * (double)update[i]), "y %d", i);
		ck_assert_msg(dx[i] == dy[i] && dupdate[i] == 0.5f * dy[i], "gradients %d", i);
	}
	nc_pool_destroy(pool);
}
END_TEST

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
			c.spec.xhat_dtype = NC_FLOAT64; /* a rounding in the middle turns a last bit into a unit */
			ck_assert_uint_le(bytes, sizeof(zeros));
			must(&call);
			ck_assert_int_eq(nc_norm(&c.spec, &c.call, NULL, arena), NC_OK);
			struct nc_tensor got[] = {{.dtype = c.spec.dtype, .data = normed}, {.dtype = c.spec.dtype, .data = dx}};
			struct nc_tensor want[] = {{.dtype = c.spec.dtype, .data = c.call.y}, {.dtype = c.spec.dtype, .data = c.call.dx}};

			struct nc_tensor sum = {.dtype = c.spec.dtype, .data = dgain}, want_sum = {.dtype = c.spec.dtype, .data = c.call.dgain};
			const void *given = c.call.dy, *gains = c.call.gain.data;
			struct nc_tensor dy = {.dtype = c.spec.dtype}, weight = {.dtype = c.call.gain.dtype};
			const void *values = c.call.x, *biases = c.call.bias.data;
			struct nc_tensor x = {.dtype = c.spec.dtype}, bias = {.dtype = c.call.bias.dtype};
			double n = (double)c.call.features, most = 0, most_x = 0, most_bias = 0, least_divisor = sqrt(c.spec.epsilon), gain = 0;

			memcpy(&dy.data, &given, sizeof(given));
			memcpy(&weight.data, &gains, sizeof(gains));
			memcpy(&x.data, &values, sizeof(values));
			memcpy(&bias.data, &biases, sizeof(biases));
			if (c.spec.placement != NC_INSIDE_SQRT)
				least_divisor = c.spec.epsilon;
			for (size_t i = 0; i < c.call.rows * c.call.features; i++)
				most = fmax(most, fabs(nc_tensor_get(&dy, i)));
			for (size_t i = 0; i < c.call.rows * c.call.features; i++)
				most_x = fmax(most_x, fabs(nc_tensor_get(&x, i)));
			for (size_t i = 0; i < c.call.bias.count; i++)
				most_bias = fmax(most_bias, fabs(nc_tensor_get(&bias, i)));
			for (size_t i = 0; i < c.call.gain.count; i++)
				gain = fmax(gain, fabs(nc_tensor_get(&weight, i)));
			gain = c.call.gain.count ? gain + fabs(c.spec.gain_offset) : 1;
			/* as numbers: −0 + 0 is 0; |x̂| <= √n, so no term of dx is above g dy (1 + 1/n + n) / r */
			for (size_t i = 0; i < c.call.rows * c.call.features; i++) {
				ck_assert(agree(c.spec.dtype, nc_tensor_get(&got[0], i), nc_tensor_get(&want[0], i),
				                2 * gain * most_x / least_divisor + most_bias));
				ck_assert(agree(c.spec.dtype, nc_tensor_get(&got[1], i), nc_tensor_get(&want[1], i),
				                gain * most * (2 + n) / least_divisor));
			}
			for (size_t i = 0; i < c.call.features; i++)
				ck_assert(agree(c.spec.dtype, nc_tensor_get(&sum, i), nc_tensor_get(&want_sum, i),
				                (double)c.call.rows * most * sqrt(n)));
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

TEST_MAIN(the_lesson, derivative_of_the_lesson, sum_rounded_or_not, long_rows_are_their_elements, fused_norm_is_the_norm, no_value,
          what_makes_no_sense_is_refused)
