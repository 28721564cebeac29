/* Norms: cases from the field, what has no value, rows that are not finite, and the laws that gradients obey. */
#include "tests/reference/norm_cases.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct nc_arena *arena;

static void setup(void)
{
	if (!arena)
		arena = nc_arena_create((size_t)1 << 28);
	ck_assert_ptr_nonnull(arena);
}

static struct nc_norm_spec spec_of(enum nc_norm_kind kind, double epsilon)
{
	return (struct nc_norm_spec){.kind = kind, .epsilon = epsilon, .dtype = NC_FLOAT64, .xhat_dtype = NC_FLOAT64};
}

static void near(const double *got, const double *want, size_t n, double rtol)
{
	for (size_t i = 0; i < n; i++)
		ck_assert_msg(fabs(got[i] - want[i]) <= rtol * fabs(want[i]), "[%zu]: %.17g, not %.17g", i, got[i], want[i]);
}

static struct nc_norm_call rows_of(size_t rows, size_t n, const void *x, void *y)
{
	return (struct nc_norm_call){.rows = rows, .features = n, .period = 1, .x = x, .y = y};
}

static void must(const struct nc_norm_spec *spec, struct nc_norm_call *call)
{
	setup();
	ck_assert_int_eq(nc_norm(spec, call, NULL, arena), NC_OK);
}

START_TEST(epsilon_placements)
{
	static const double want[] = {0.707106781186547, 0.999000999000999, 1};

	for (int p = 0; p < 3; p++) {
		double x[] = {.001, -.001}, y[2];
		struct nc_norm_spec spec = spec_of(NC_RMSNORM, 1e-6);
		struct nc_norm_call call = rows_of(1, 2, x, y);

		spec.placement = (enum nc_epsilon_placement)p;
		must(&spec, &call);
		near(y, (double[]){want[p], -want[p]}, 2, 1e-14);
	}
}
END_TEST

START_TEST(gain_offsets)
{
	double x[] = {3, 4}, w[] = {.5, -.25}, y[2];
	struct nc_norm_spec spec = spec_of(NC_RMSNORM, 1e-6);
	struct nc_norm_call call = rows_of(1, 2, x, y);

	call.gain = (struct nc_param){w, NC_FLOAT64, 2};
	must(&spec, &call);
	near(y, (double[]){0.424264051741, -0.282842701161}, 2, 1e-11);
	spec.gain_offset = 1;
	must(&spec, &call);
	near(y, (double[]){1.27279215522, 0.848528103483}, 2, 1e-11);
	call.gain.count = 0;
	must(&spec, &call);
	near(y, (double[]){0.848528103483, 1.131370804644}, 2, 1e-11);
}
END_TEST

START_TEST(round_first_or_multiply_first)
{
	float x[] = {1, 5}, gain[] = {1.5f, 1.5f}, y[2];
	struct nc_norm_spec spec = spec_of(NC_RMSNORM, 0);
	struct nc_norm_call call = rows_of(1, 2, x, y);

	spec.dtype = spec.xhat_dtype = NC_BFLOAT16;
	call.gain = (struct nc_param){gain, NC_BFLOAT16, 2};
	must(&spec, &call);
	ck_assert(y[0] == 0.416015625f && y[1] == 2.09375f);
	spec.xhat_dtype = NC_FLOAT64;
	must(&spec, &call);
	ck_assert(y[0] == 0.416015625f && y[1] == 2.078125f);
}
END_TEST

START_TEST(gradients_of_the_field)
{
	double x[] = {3, 4, 6, -8}, dy[] = {1, 2, 1, -1}, dgain[2];
	struct nc_norm_spec rms = spec_of(NC_RMSNORM, 1e-6), layer = spec_of(NC_LAYERNORM, 1e-5);
	struct nc_norm_call call = rows_of(2, 2, x, NULL);

	call.dy = dy;
	call.dgain = dgain;
	must(&rms, &call);
	near(dgain, (double[]){1.69705623242, 3.39411244787}, 2, 1e-11);

	double v[] = {1, 2, 3, 4}, gain[] = {2, 1, 1, 1}, e1[] = {1, 0, 0, 0}, dx[4];
	call = rows_of(1, 4, v, NULL);
	call.gain = (struct nc_param){gain, NC_FLOAT64, 4};
	call.dy = e1;
	call.dx = dx;
	must(&layer, &call);
	near(dx, (double[]){0.536660607786, -0.715536744051, -0.178886869262, 0.357763005527}, 4, 1e-11);
}
END_TEST

START_TEST(jacobian_of_the_field)
{
	double x[] = {3, 4}, j[4];
	struct nc_norm_spec spec = spec_of(NC_RMSNORM, 1e-5);
	struct nc_norm_call call = rows_of(1, 2, x, NULL);

	call.jacobian = j;
	must(&spec, &call);
	near(j, (double[]){0.181019345035, -0.135764339071, -0.135764339071, 0.101823480577}, 4, 1e-10);

	/* Rows are outputs: a gain on y_0 scales the first row. */
	double gain[] = {2, 1};
	call.gain = (struct nc_param){gain, NC_FLOAT64, 2};
	must(&spec, &call);
	near(j, (double[]){0.36203869007, -0.271528678142, -0.135764339071, 0.101823480577}, 4, 1e-10);
}
END_TEST

START_TEST(a_gradient_that_is_zero_by_nature)
{
	struct random random = {3};

	for (size_t n = 1; n <= 300; n += 1 + n / 8)
		for (int dtype = 0; dtype < NC_DTYPE_COUNT; dtype++) {
			double x[301], dy[301], dx[301];
			struct nc_norm_spec spec = spec_of(NC_LAYERNORM, 1e-5);
			struct nc_norm_call call = rows_of(1, n, x, NULL);

			spec.dtype = (enum nc_dtype)dtype;
			random_fill(&random, spec.dtype, VALUES_NORMAL, x, n);
			random_fill(&random, spec.dtype, VALUES_CONSTANT, dy, n);
			call.dy = dy;
			call.dx = dx;
			must(&spec, &call);
			struct nc_tensor t = {.dtype = spec.dtype, .data = dx};
			for (size_t i = 0; i < n; i++)
				ck_assert_msg(nc_tensor_get(&t, i) == 0, "n %zu %s [%zu]: %g", n, nc_dtype_name(spec.dtype), i,
				              nc_tensor_get(&t, i));
		}
}
END_TEST

START_TEST(alternating_large_values)
{
	static double x[4096], y[4096];
	struct nc_norm_spec spec = spec_of(NC_LAYERNORM, 1e-5);
	struct nc_norm_call call = rows_of(1, 4096, x, y);

	for (int i = 0; i < 4096; i++)
		x[i] = i % 2 ? -7e9 : 7e9;
	must(&spec, &call);
	for (int i = 0; i < 4096; i++)
		ck_assert(y[i] == (i % 2 ? -1 : 1));
}
END_TEST

START_TEST(mixed_range)
{
	double x[] = {1e300, 1e10, -1e-10, 1e-300, -1e300, 3}, y[6], mean, variance, std;
	struct nc_norm_spec spec = spec_of(NC_LAYERNORM, 1e-5);
	struct nc_norm_call call = rows_of(1, 6, x, y);

	call.mean = &mean;
	call.variance = &variance;
	call.divisor = &std;
	must(&spec, &call);
	ck_assert(mean == 0.5);
	ck_assert(isinf(variance));
	near(&std, (double[]){5.773502691896258e+299}, 1, 1e-15);
	near(y, (double[]){1.7320508075688772, 1.7320508074822745e-290}, 2, 1e-15);
}
END_TEST

/* The first row without a value is named, whatever stands around it; a tiny mean square is a value. */
/*
 * Where r is all but ε = 1e-6, whose double is 10⁻⁶ to some 2^-54, numbers of few bits over r are all but halfway between two
 * float32: only more than a double tells on which side.
 */
START_TEST(near_ties_of_a_decimal_epsilon)
{
	enum { N = 4096 };
	static float x[N], xhat[N], y[N];
	struct nc_norm_spec spec = {.kind = NC_RMSNORM, .epsilon = 1e-6, .placement = NC_OUTSIDE_SQRT, .dtype = NC_FLOAT32,
	                            .xhat_dtype = NC_FLOAT64};
	struct nc_norm_call call = rows_of(1, N, x, y);

	call.xhat = xhat;
	for (int i = 0; i < N; i++)
		x[i] = (float)(i + 1) * 0x1p-149f; /* so that the root is 2^-100 of ε */
	must(&spec, &call);
	for (int i = 0; i < N; i++) {
		float want = (float)((long double)x[i] / (long double)spec.epsilon);

		ck_assert_msg(xhat[i] == want && y[i] == want, "[%d]: %a and %a, not %a", i, (double)xhat[i], (double)y[i], (double)want);
	}
}
END_TEST

START_TEST(no_value)
{
	static double x[40][40], y[40][40];
	setup();

	for (int kind = 0; kind < 2; kind++)
		for (int placement = 0; placement < 3; placement++)
			for (int dtype = 0; dtype < NC_DTYPE_COUNT; dtype++) {
				struct nc_norm_spec spec = spec_of((enum nc_norm_kind)kind, 0);
				float *narrow = (float *)x;
				size_t n = 40, wanted = 17;

				spec.placement = (enum nc_epsilon_placement)placement;
				spec.dtype = (enum nc_dtype)dtype;
				for (size_t i = 0; i < n * n; i++) {
					bool zero = i / n == wanted || i / n == 30;
					double value = zero ? (kind ? 0.1 : 0) : i % 2 ? 1 : 3;

					if (dtype == NC_FLOAT64)
						x[i / n][i % n] = value;
					else
						narrow[i] = (float)nc_dtype_round(spec.dtype, value);
				}
				struct nc_norm_call call = rows_of(n, n, x, y);
				ck_assert_int_eq(nc_norm(&spec, &call, NULL, arena), NC_NO_VALUE);
				ck_assert_uint_eq(call.bad_row, wanted);
				spec.epsilon = 1e-300;
				ck_assert_int_eq(nc_norm(&spec, &call, NULL, arena), NC_OK);
			}
	double tiny[] = {5e-324, 0};
	struct nc_norm_spec spec = spec_of(NC_RMSNORM, 0);
	struct nc_norm_call call = rows_of(1, 2, tiny, y);
	ck_assert_int_eq(nc_norm(&spec, &call, NULL, arena), NC_OK);
	near(y[0], (double[]){1.4142135623730951}, 1, 1e-15);
}
END_TEST

/* A row with a NaN or an infinity changes no bit of the others. */
START_TEST(rows_that_are_not_finite_spoil_no_other)
{
	static const double bad[] = {NAN, INFINITY, -INFINITY};
	struct random random = {11};
	setup();

	for (int trial = 0; trial < 60; trial++) {
		struct case_options options = {.elements = 100, .rows = 3, .features = 1 + trial, .dtype = -1};
		struct norm_case clean, dirty;
		struct random again = random;

		norm_case_make(&clean, &random, &options);
		norm_case_make(&dirty, &again, &options);
		if (clean.call.period == 1) {
			size_t n = clean.call.features, bytes = nc_dtype_storage_bytes(clean.spec.dtype);
			struct nc_tensor x = {.dtype = dirty.spec.dtype, .data = (void *)(uintptr_t)dirty.call.x};

			clean.spec.epsilon = dirty.spec.epsilon = 1e-5;
			nc_tensor_set(&x, n + n / 2, bad[trial % 3]);
			must(&clean.spec, &clean.call);
			must(&dirty.spec, &dirty.call);
			const char *a = clean.call.y, *b = dirty.call.y, *c = clean.call.dx, *d = dirty.call.dx;
			for (size_t row = 0; row < 3; row += 2) {
				ck_assert(!memcmp(a + row * n * bytes, b + row * n * bytes, n * bytes));
				ck_assert(!memcmp(c + row * n * bytes, d + row * n * bytes, n * bytes));
			}
			struct nc_tensor y = {.dtype = dirty.spec.dtype, .data = dirty.call.y};
			ck_assert(isnan(nc_tensor_get(&y, n + n / 2)));
		}
		norm_case_free(&clean);
		norm_case_free(&dirty);
	}
}
END_TEST

START_TEST(y_may_be_x)
{
	struct random random = {12};

	for (int trial = 0; trial < 100; trial++) {
		struct case_options options = {.elements = 300, .dtype = -1};
		struct norm_case c;

		norm_case_make(&c, &random, &options);
		c.spec.epsilon = 1e-5;
		must(&c.spec, &c.call);
		size_t bytes = c.call.rows * c.call.features * nc_dtype_storage_bytes(c.spec.dtype);
		void *apart = c.call.y, *dx = malloc(bytes);
		memcpy(dx, c.call.dx, bytes);
		c.call.y = (void *)(uintptr_t)c.call.x;
		must(&c.spec, &c.call);
		ck_assert(!memcmp(c.call.y, apart, bytes));
		ck_assert(!memcmp(c.call.dx, dx, bytes));
		free(dx);
		norm_case_free(&c);
	}
}
END_TEST

START_TEST(no_rows)
{
	double dgain[2] = {7, 7}, dbias[2] = {7, 7};
	struct nc_norm_spec spec = spec_of(NC_LAYERNORM, 0);
	struct nc_norm_call call = rows_of(0, 2, NULL, NULL);

	call.dy = dgain;
	call.dgain = dgain;
	call.dbias = dbias;
	must(&spec, &call);
	ck_assert(dgain[0] == 0 && dgain[1] == 0 && dbias[0] == 0 && dbias[1] == 0);
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
	double x[2] = {1, 2}, y[2];
	struct nc_norm_spec good = spec_of(NC_RMSNORM, 0), spec;
	struct nc_norm_call fine = rows_of(1, 2, x, y), call;
	setup();

#define REFUSED(change) \
	do { \
		spec = good; \
		call = fine; \
		change; \
		ck_assert_int_eq(nc_norm(&spec, &call, NULL, arena), NC_INVALID); \
	} while (0)
	REFUSED(call.features = 0);
	REFUSED(call.period = 0);
	REFUSED(call.period = 2);
	REFUSED(call.x = NULL);
	REFUSED(call.rows = SIZE_MAX);
	REFUSED(spec.epsilon = -1);
	REFUSED(spec.epsilon = NAN);
	REFUSED(spec.epsilon = INFINITY);
	REFUSED(spec.gain_offset = NAN);
	REFUSED((call.gain = (struct nc_param){x, NC_FLOAT64, 3}));
	REFUSED((call.gain = (struct nc_param){NULL, NC_FLOAT64, 2}));
	REFUSED((call.bias = (struct nc_param){x, NC_FLOAT64, 2}));
	REFUSED(call.mean = y);
	REFUSED(call.dx = y);
	REFUSED(call.dgain = y);
	REFUSED(call.jvp = y);
	REFUSED(call.left = y);
#undef REFUSED
}
END_TEST

/* ⟨v, J u⟩ = ⟨Jᵀ v, u⟩, and the dense Jacobian times u is jvp; LayerNorm's J·1 = 0; RMSNorm's J·x = ε x / rms³. */
START_TEST(laws)
{
	struct random random = {13};

	for (int trial = 0; trial < 200; trial++) {
		struct case_options options = {.elements = 30, .jacobian = true, .dtype = NC_FLOAT64};
		struct norm_case c;

		norm_case_make(&c, &random, &options);
		c.spec.epsilon = 0.01;
		must(&c.spec, &c.call);
		size_t n = c.call.features;
		for (size_t row = 0; row < c.call.rows; row++) {
			const double *u = (const double *)c.call.tangent + row * n, *v = (const double *)c.call.dy + row * n;
			const double *ju = (double *)c.call.jvp + row * n, *jv = (double *)c.call.dx + row * n;
			const double *j = (double *)c.call.jacobian + row * n * n;
			double left = 0, right = 0, size = 0, gain = c.call.gain.count ? 0 : 1, most_u = 0, most_v = 0;

			/* What the promise allows where the terms of an entry, g (1 + 1/n + c c / (n s r)) / r, cancel. */
			struct nc_tensor gains = {.dtype = c.call.gain.dtype, .data = (void *)(uintptr_t)c.call.gain.data};
			for (size_t i = 0; i < c.call.gain.count; i++)
				gain = fmax(gain, fabs(nc_tensor_get(&gains, i)) + fabs(c.spec.gain_offset));
			for (size_t i = 0; i < n; i++) {
				most_u = fmax(most_u, fabs(u[i]));
				most_v = fmax(most_v, fabs(v[i]));
			}
			double entry = 0x1p-97 * gain * (double)(2 + n) / ((double *)c.call.divisor)[row], all = (double)n;

			for (size_t i = 0; i < n; i++) {
				double product = 0, ones = 0, magnitude = 0;

				left += v[i] * ju[i];
				right += jv[i] * u[i];
				for (size_t k = 0; k < n; k++) {
					product += j[i * n + k] * u[k];
					ones += j[i * n + k];
					magnitude += fabs(j[i * n + k]) * (1 + fabs(u[k]));
					size += fabs(v[i] * j[i * n + k] * u[k]);
				}
				ck_assert(fabs(product - ju[i]) <= 1e-14 * magnitude + all * entry * most_u + 1e-30);
				if (c.spec.kind == NC_LAYERNORM)
					ck_assert(fabs(ones) <= 1e-14 * magnitude + all * entry + 1e-30);
			}
			ck_assert_msg(fabs(left - right) <= 1e-14 * size + all * all * entry * most_u * most_v + 1e-30, "n %zu: %g, %g, %g", n, left, right, size);
		}
		norm_case_free(&c);
	}

	double x[] = {3, 4, -2}, jvp[3], rms, epsilon = 0.5;
	struct nc_norm_spec spec = spec_of(NC_RMSNORM, epsilon);
	struct nc_norm_call call = rows_of(1, 3, x, NULL);
	call.tangent = x;
	call.jvp = jvp;
	call.divisor = &rms;
	must(&spec, &call);
	for (int i = 0; i < 3; i++)
		ck_assert(fabs(jvp[i] - epsilon * x[i] / (rms * rms * rms)) <= 4e-16 * fabs(jvp[i]));
}
END_TEST

/* diag(diagonal) − left·rightᵀ is the dense Jacobian. */
START_TEST(structured_is_dense)
{
	struct random random = {14};

	for (int trial = 0; trial < 200; trial++) {
		struct case_options options = {.elements = 30, .jacobian = true, .dtype = NC_FLOAT64};
		struct norm_case c;

		norm_case_make(&c, &random, &options);
		c.spec.epsilon = 0.01;
		must(&c.spec, &c.call);
		size_t n = c.call.features, rank = nc_norm_rank(c.spec.kind);
		for (size_t i = 0; i < c.call.rows * n; i++)
			for (size_t j = 0; j < n; j++) {
				const double *left = c.call.left + i * rank, *right = c.call.right + (i / n * n + j) * rank;
				double product = 0, size = fabs(c.call.diagonal[i]);

				for (size_t k = 0; k < rank; k++) {
					product += left[k] * right[k];
					size += fabs(left[k] * right[k]);
				}
				double entry = (i % n == j ? c.call.diagonal[i] : 0) - product;
				ck_assert(fabs(entry - ((double *)c.call.jacobian)[i * n + j]) <= 1e-14 * size + 1e-300);
			}
		norm_case_free(&c);
	}
}
END_TEST

TEST_MAIN(epsilon_placements, near_ties_of_a_decimal_epsilon, gain_offsets, round_first_or_multiply_first,
          gradients_of_the_field, jacobian_of_the_field, a_gradient_that_is_zero_by_nature, alternating_large_values,
          mixed_range, no_value, rows_that_are_not_finite_spoil_no_other, y_may_be_x, no_rows,
          what_makes_no_sense_is_refused, laws, structured_is_dense)
