#include "selftest.h"

#include "block/activation.h"

#include <math.h>
#include <string.h>

/* Long cases have two whole blocks of lanes and a rest. */
enum { ROWS = 2, LENGTH = 35 };

void selftest_keep(struct selftest_trial *trial, const void *output, size_t bytes)
{
	if (bytes > sizeof trial->output - trial->used) {
		trial->wrong = true;
		return;
	}
	memcpy(trial->output + trial->used, output, bytes);
	trial->used += bytes;
}

void selftest_expect(struct selftest_trial *trial, const double *got, const double *exact, size_t count)
{
	for (size_t i = 0; i < count; i++)
		trial->wrong |= !(got[i] == exact[i]);
	selftest_keep(trial, got, count * sizeof *got);
}

void selftest_expect_f32(struct selftest_trial *trial, const float *got, const float *exact, size_t count)
{
	for (size_t i = 0; i < count; i++)
		trial->wrong |= !(got[i] == exact[i]);
	selftest_keep(trial, got, count * sizeof *got);
}

/* For functions that are not rounded correctly: within four units in the last place. */
static void expect_near(struct selftest_trial *trial, double got, double exact)
{
	trial->wrong |= !(fabs(got - exact) <= 0x1p-50 * fabs(exact));
}

static void expect_int(struct selftest_trial *trial, int got, bool exact)
{
	trial->wrong |= (got != 0) != exact;
}

/* The same numbers in [−2, 2) every time, exact in a float; no two calls' seeds give the same ones. */
static void fill(double *out, size_t count, uint64_t seed)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t z = (seed << 32) + i + 1;

		z *= 0x9e3779b97f4a7c15;
		z ^= z >> 29;
		z *= 0xbf58476d1ce4e5b9;
		out[i] = (double)(z >> 42) * 0x1p-20 - 2;
	}
}

/* --- norms: results that are short decimals or integers, which the compiler rounds ----------------------------------- */

typedef void norm_fn(const struct norm_job *job, size_t first, size_t end);

/*
 * RMSNorm of (1, 7): the mean square is 25, r = 5. With dy = (1, 0): dx = dy/r − x·⟨dy, x⟩/(2·r³) = (1/5 − 1/250, −7/250).
 * LayerNorm of (1, 1, 3, 3): μ = 2, σ² = 1; with dy = (1, 0, 0, 0): dx = dy − 1/4 + x̂/4.
 */
static const double rms_x[2] = {1, 7}, rms_dy[2] = {1, 0}, rms_r = 5, rms_y[2] = {0.2, 1.4}, rms_dx[2] = {0.196, -0.028};
static const double layer_x[4] = {1, 1, 3, 3}, layer_dy[4] = {1, 0, 0, 0}, layer_y[4] = {-1, -1, 1, 1};
static const double layer_dx[4] = {0.5, -0.5, 0, 0}, layer_mean = 2, layer_variance = 1;

static void norm_exact_f64(norm_fn *run, struct selftest_trial *trial)
{
	struct nc_norm_spec spec = {.kind = NC_RMSNORM, .dtype = NC_FLOAT64, .xhat_dtype = NC_FLOAT64};
	double y[4], dx[4], divisor, mean, variance;
	unsigned char slow = 0;
	struct norm_job job = {.spec = &spec, .features = 2, .period = 1, .x = rms_x, .u = rms_dy, .gained = true, .y = y,
	                       .divisor = &divisor, .projected = dx, .slow = &slow};

	run(&job, 0, 1);
	selftest_expect(trial, y, rms_y, 2);
	selftest_expect(trial, dx, rms_dx, 2);
	selftest_expect(trial, &divisor, &rms_r, 1);
	spec.kind = NC_LAYERNORM;
	job.features = 4, job.x = layer_x, job.u = layer_dy, job.mean = &mean, job.variance = &variance;
	run(&job, 0, 1);
	selftest_expect(trial, y, layer_y, 4);
	selftest_expect(trial, dx, layer_dx, 4);
	selftest_expect(trial, &mean, &layer_mean, 1);
	selftest_expect(trial, &variance, &layer_variance, 1);
	expect_int(trial, slow == NORM_JOB_LEFT, false);
}

static void to_f32(const double *from, float *to, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = (float)from[i];
}

static void norm_exact_f32(norm_fn *run, struct selftest_trial *trial)
{
	struct nc_norm_spec spec = {.kind = NC_RMSNORM, .dtype = NC_FLOAT32, .xhat_dtype = NC_FLOAT64};
	float x[4], dy[4], y[4], dx[4], divisor, mean, variance, exact[4];
	unsigned char slow = 0;
	struct norm_job job = {.spec = &spec, .features = 2, .period = 1, .x = x, .u = dy, .gained = true, .y = y,
	                       .divisor = &divisor, .projected = dx, .slow = &slow};

	to_f32(rms_x, x, 2);
	to_f32(rms_dy, dy, 2);
	run(&job, 0, 1);
	to_f32(rms_y, exact, 2);
	selftest_expect_f32(trial, y, exact, 2);
	to_f32(rms_dx, exact, 2);
	selftest_expect_f32(trial, dx, exact, 2);
	to_f32(&rms_r, exact, 1);
	selftest_expect_f32(trial, &divisor, exact, 1);

	spec.kind = NC_LAYERNORM;
	to_f32(layer_x, x, 4);
	to_f32(layer_dy, dy, 4);
	job.features = 4, job.mean = &mean, job.variance = &variance;
	run(&job, 0, 1);
	to_f32(layer_y, exact, 4);
	selftest_expect_f32(trial, y, exact, 4);
	to_f32(layer_dx, exact, 4);
	selftest_expect_f32(trial, dx, exact, 4);
	selftest_expect_f32(trial, &mean, (const float[]){2}, 1);
	selftest_expect_f32(trial, &variance, (const float[]){1}, 1);
	expect_int(trial, slow == NORM_JOB_LEFT, false);
}

/* Every output of both kinds in one dtype, with gain and bias, kept for the comparison. A double's place holds a float. */
static void norm_long(norm_fn *run, enum nc_dtype dtype, struct selftest_trial *trial)
{
	size_t size = nc_dtype_storage_bytes(dtype), all = ROWS * LENGTH * size;
	double x[ROWS * LENGTH], dy[ROWS * LENGTH], gain[LENGTH], bias[LENGTH];
	double y[ROWS * LENGTH], xhat[ROWS * LENGTH], dx[ROWS * LENGTH], divisor[ROWS], mean[ROWS], variance[ROWS];
	double dgain[2 * LENGTH], dbias[2 * LENGTH];
	unsigned char slow[ROWS] = {0};
	struct nc_norm_spec spec = {.epsilon = 1e-5, .dtype = dtype, .xhat_dtype = NC_FLOAT64};
	struct norm_job job = {.spec = &spec, .features = LENGTH, .period = 1, .gain.values = gain, .bias.values = bias, .x = x,
	                       .u = dy, .gained = true, .projected = dx, .y = y, .xhat = xhat, .divisor = divisor,
	                       .mean = mean, .variance = variance, .dgain = dgain, .dbias = dbias, .slow = slow};

	fill(x, ROWS * LENGTH, 1);
	fill(dy, ROWS * LENGTH, 2);
	fill(gain, LENGTH, 3);
	fill(bias, LENGTH, 4);
	if (dtype != NC_FLOAT64)
		for (size_t i = 0; i < ROWS * LENGTH; i++) { /* in place: a float's element i ends before a double's begins */
			float fx = (float)nc_dtype_round(dtype, x[i]), fdy = (float)nc_dtype_round(dtype, dy[i]);

			memcpy((char *)x + 4 * i, &fx, sizeof fx);
			memcpy((char *)dy + 4 * i, &fdy, sizeof fdy);
		}
	for (int kind = NC_RMSNORM; kind <= NC_LAYERNORM; kind++) {
		bool layer = kind == NC_LAYERNORM;

		spec.kind = (enum nc_norm_kind)kind;
		memset(dgain, 0, sizeof dgain);
		memset(dbias, 0, sizeof dbias);
		if (!layer)
			job.mean = job.variance = NULL, job.bias.values = NULL, job.dbias = NULL;
		else
			job.mean = mean, job.variance = variance, job.bias.values = bias, job.dbias = dbias;
		run(&job, 0, ROWS);
		selftest_keep(trial, y, all);
		selftest_keep(trial, xhat, all);
		selftest_keep(trial, dx, all);
		selftest_keep(trial, divisor, ROWS * size);
		selftest_keep(trial, dgain, sizeof dgain);
		selftest_keep(trial, dbias, sizeof dbias);
		if (layer) {
			selftest_keep(trial, mean, ROWS * size);
			selftest_keep(trial, variance, ROWS * size);
		}
		selftest_keep(trial, slow, sizeof slow);
	}
}

static void try_norm_narrow(const struct kernels *k, struct selftest_trial *trial)
{
	norm_exact_f32(k->norm_narrow, trial);
	norm_long(k->norm_narrow, NC_FLOAT32, trial);
	norm_long(k->norm_narrow, NC_BFLOAT16, trial);
	norm_long(k->norm_narrow, NC_FLOAT16, trial);
}

static void try_norm_pairs(const struct kernels *k, struct selftest_trial *trial)
{
	norm_exact_f64(k->norm_pairs, trial);
	norm_long(k->norm_pairs, NC_FLOAT64, trial);
}

/* 1 + 2^-24 is halfway between two floats: the low part 2^-80 decides for the upper one. */
static void try_sum_blocks(const struct kernels *k, struct selftest_trial *trial)
{
	struct nc_norm_spec spec = {.dtype = NC_FLOAT32};
	struct norm_job job = {.spec = &spec, .features = LENGTH, .period = 1};
	double parts[2][2][LENGTH]; /* [block][high, low] */
	float out[LENGTH], exact[LENGTH];

	for (size_t i = 0; i < LENGTH; i++) {
		parts[0][0][i] = 1, parts[0][1][i] = i % 2 ? 0x1p-80 : 0;
		parts[1][0][i] = 0x1p-24, parts[1][1][i] = 0;
		exact[i] = i % 2 ? 1 + 0x1p-23f : 1;
	}
	k->sum_blocks(&job, parts[0][0], 2, true, 0, LENGTH, out);
	selftest_expect_f32(trial, out, exact, LENGTH);
	k->sum_blocks(&job, parts[0][0], 4, false, 0, LENGTH, out);
	selftest_expect_f32(trial, out, exact, LENGTH);
}

/* --- residuals: sums beside halfway, rounded once -------------------------------------------------------------------- */

static void try_residual_sum(const struct kernels *k, struct selftest_trial *trial)
{
	static const double over = 0x1p-24 + 0x1p-50, over_f64 = 0x1p-53 + 0x1p-80;
	float a[LENGTH], b[LENGTH], out[LENGTH], exact[LENGTH];
	double a64[LENGTH], b64[LENGTH], out64[LENGTH], exact64[LENGTH], high[LENGTH], low[LENGTH];

	for (size_t i = 0; i < LENGTH; i++) { /* 1 + 2^-24 and 1 + 2^-23 + 2^-24 to even, then a little over halfway */
		a[i] = i % 2 ? 1 + 0x1p-23f : 1, b[i] = 1, exact[i] = i % 2 ? 1 + 0x1p-22f : 1;
		a64[i] = i % 2 ? 1 + 0x1p-52 : 1, b64[i] = 1, exact64[i] = i % 2 ? 1 + 0x1p-51 : 1;
	}
	expect_int(trial, k->residual_sum(NC_FLOAT32, 1, a, 0x1p-24, b, LENGTH, out, NULL, NULL), false);
	selftest_expect_f32(trial, out, exact, LENGTH);
	expect_int(trial, k->residual_sum(NC_FLOAT64, 1, a64, 0x1p-53, b64, LENGTH, out64, NULL, NULL), false);
	selftest_expect(trial, out64, exact64, LENGTH);
	for (size_t i = 0; i < LENGTH; i++)
		exact[i] = i % 2 ? 1 + 0x1p-22f : 1 + 0x1p-23f, exact64[i] = i % 2 ? 1 + 0x1p-51 : 1 + 0x1p-52;
	expect_int(trial, k->residual_sum(NC_FLOAT32, 1, a, over, b, LENGTH, out, NULL, NULL), false);
	selftest_expect_f32(trial, out, exact, LENGTH);
	expect_int(trial, k->residual_sum(NC_FLOAT64, 1, a64, over_f64, b64, LENGTH, out64, high, low), false);
	selftest_expect(trial, out64, exact64, LENGTH);
	selftest_keep(trial, high, sizeof high);
	selftest_keep(trial, low, sizeof low);
	fill(a64, LENGTH, 5);
	fill(b64, LENGTH, 6);
	expect_int(trial, k->residual_sum(NC_FLOAT64, 1, a64, 1, b64, LENGTH, out64, NULL, NULL), false);
	for (size_t i = 0; i < LENGTH; i++)
		exact64[i] = a64[i] + b64[i];
	selftest_expect(trial, out64, exact64, LENGTH);
	a64[LENGTH - 1] = INFINITY;
	expect_int(trial, k->residual_sum(NC_FLOAT64, 1, a64, 0.5, b64, LENGTH, out64, NULL, NULL), true);
}

static void try_residual_gather(const struct kernels *k, struct selftest_trial *trial)
{
	float a[LENGTH];
	double a64[LENGTH], high[LENGTH], low[LENGTH], exact_high[LENGTH], exact_low[LENGTH];

	for (size_t i = 0; i < LENGTH; i++) { /* 1 + (i + 1)·2^-60 is a pair */
		a[i] = (float)i, a64[i] = 1;
		high[i] = (double)(i + 1) * 0x1p-60, low[i] = 0;
		exact_high[i] = 1, exact_low[i] = high[i];
	}
	expect_int(trial, k->residual_gather(NC_FLOAT64, a64, LENGTH, high, low), false);
	selftest_expect(trial, high, exact_high, LENGTH);
	selftest_expect(trial, low, exact_low, LENGTH);
	expect_int(trial, k->residual_gather(NC_FLOAT32, a, LENGTH, high, NULL), false);
	for (size_t i = 0; i < LENGTH; i++)
		exact_high[i] = 1 + (double)i;
	selftest_expect(trial, high, exact_high, LENGTH);
}

static void try_residual_scale(const struct kernels *k, struct selftest_trial *trial)
{
	double high[LENGTH], low[LENGTH];
	float out[LENGTH], exact[LENGTH];

	for (size_t i = 0; i < LENGTH; i++) { /* halfway but for the low part */
		high[i] = 1 + 0x1p-24, low[i] = i % 2 ? 0x1p-80 : -0x1p-80;
		exact[i] = i % 2 ? 2 + 0x1p-22f : 2;
	}
	expect_int(trial, k->residual_scale(NC_FLOAT32, 2, high, low, LENGTH, out), false);
	selftest_expect_f32(trial, out, exact, LENGTH);
	fill(high, LENGTH, 7);
	expect_int(trial, k->residual_scale(NC_FLOAT32, 1, high, NULL, LENGTH, out), false);
	to_f32(high, exact, LENGTH);
	selftest_expect_f32(trial, out, exact, LENGTH);
}

/* --- what the norms ask of parameters -------------------------------------------------------------------------------- */

static void try_not_finite(const struct kernels *k, struct selftest_trial *trial)
{
	float x[LENGTH] = {0};

	for (size_t i = 0; i < LENGTH; i++) {
		x[i] = 0x1.fffffep+127f;
		expect_int(trial, k->not_finite(x, LENGTH), false);
		x[i] = i % 2 ? INFINITY : NAN;
		expect_int(trial, k->not_finite(x, LENGTH), true);
		x[i] = 0;
	}
}

static void try_out_of_range(const struct kernels *k, struct selftest_trial *trial)
{
	double x[LENGTH] = {0};

	for (size_t i = 0; i < LENGTH; i++) {
		x[i] = i % 2 ? -NORM_JOB_LEAST : NORM_JOB_MOST;
		expect_int(trial, k->out_of_range(x, LENGTH), false);
		x[i] = i % 2 ? -NORM_JOB_LEAST / 2 : NORM_JOB_MOST * 2;
		expect_int(trial, k->out_of_range(x, LENGTH), true);
		x[i] = 0;
	}
}

/* --- blocks ---------------------------------------------------------------------------------------------------------- */

/* Integers: every sum is exact in any order. */
static void try_matmul(const struct kernels *k, struct selftest_trial *trial)
{
	enum { M = 5, N = 19, K = 7 };
	double a[M * K], b[K * N], c[M * N], exact[M * N];
	struct nc_product product = {.m = M, .n = N, .k = K, .a = a, .a_row = K, .a_col = 1, .b = b, .b_row = N, .b_col = 1,
	                             .c = c, .c_row = N, .c_col = 1};

	for (int i = 0; i < M * K; i++)
		a[i] = i % 11 - 5;
	for (int i = 0; i < K * N; i++)
		b[i] = i % 13 - 6;
	for (int i = 0; i < M; i++)
		for (int j = 0; j < N; j++) {
			exact[i * N + j] = 0;
			for (int l = 0; l < K; l++)
				exact[i * N + j] += a[i * K + l] * b[l * N + j];
		}
	k->matmul(&product);
	selftest_expect(trial, c, exact, M * N);
	fill(a, M * K, 8);
	fill(b, K * N, 9);
	product.accumulate = true;
	k->matmul(&product);
	selftest_keep(trial, c, sizeof c);
}

/*
 * At 0 and at 40 (where 1 − Φ and e^-40 are below half a unit of 1) values and slopes are exact; at 1 they are known
 * to any number of digits: Φ(1), σ(1), tanh 1, and σ(2u) with u = √(2/π)·1.044715.
 */
static void try_activate(const struct kernels *k, struct selftest_trial *trial)
{
	static const struct {
		double at_0, slope_0, at_1, at_40;
	} exact[NC_ACT_COUNT] = {
		[NC_ACT_IDENTITY] = {0, 1, 1, 40},
		[NC_ACT_RELU] = {0, 0, 1, 40},
		[NC_ACT_GELU] = {0, 0.5, 0.841344746068542948585232545632, 40},
		[NC_ACT_GELU_TANH] = {0, 0.5, 0.841191990608276704781995777045, 40},
		[NC_ACT_SILU] = {0, 0.5, 0.731058578630004879251159241822, 40},
		[NC_ACT_TANH] = {0, 1, 0.761594155955764888119458282605, 1},
		[NC_ACT_SIGMOID] = {0.5, 0.25, 0.731058578630004879251159241822, 1},
	};
	double x[LENGTH], value[LENGTH], slope[LENGTH];

	fill(x, LENGTH, 10);
	x[0] = 0, x[17] = 40, x[LENGTH - 1] = 1;
	for (unsigned activation = 0; activation < NC_ACT_COUNT; activation++) {
		k->activate(activation, LENGTH, x, value, slope);
		trial->wrong |= !(value[0] == exact[activation].at_0 && slope[0] == exact[activation].slope_0);
		trial->wrong |= !(value[17] == exact[activation].at_40);
		expect_near(trial, value[LENGTH - 1], exact[activation].at_1);
		selftest_keep(trial, value, sizeof value);
		selftest_keep(trial, slope, sizeof slope);
	}
}

static void try_softmax(const struct kernels *k, struct selftest_trial *trial)
{
	double even[4] = {3, 3, 3, 3}, lone[2] = {0, -1000}, s[LENGTH];

	k->softmax(even, 4);
	selftest_expect(trial, even, (const double[]){0.25, 0.25, 0.25, 0.25}, 4);
	k->softmax(lone, 2); /* e^-1000 is 0 */
	selftest_expect(trial, lone, (const double[]){1, 0}, 2);
	fill(s, LENGTH, 11);
	k->softmax(s, LENGTH);
	selftest_keep(trial, s, sizeof s);
}

static void try_softmax_vjp(const struct kernels *k, struct selftest_trial *trial)
{
	static const double p[2] = {0.25, 0.75}, dp[2] = {1, 0}; /* ds = p (dp − 1/4) */
	double ds[LENGTH], weights[LENGTH], gradient[LENGTH];

	k->softmax_vjp(p, dp, ds, 2);
	selftest_expect(trial, ds, (const double[]){0.1875, -0.1875}, 2);
	fill(weights, LENGTH, 12);
	fill(gradient, LENGTH, 13);
	k->softmax_vjp(weights, gradient, ds, LENGTH);
	selftest_keep(trial, ds, sizeof ds);
}

/* Products and sums of 22-bit numbers: exact. */
static void try_combine(const struct kernels *k, struct selftest_trial *trial)
{
	double a[LENGTH], b[LENGTH], y[LENGTH], exact[LENGTH];

	fill(a, LENGTH, 14);
	fill(b, LENGTH, 15);
	k->combine(2, a, -0.5, b, y, LENGTH);
	for (size_t i = 0; i < LENGTH; i++)
		exact[i] = 2 * a[i] - 0.5 * b[i];
	selftest_expect(trial, y, exact, LENGTH);
	k->combine(2, NULL, -0.5, b, y, LENGTH);
	for (size_t i = 0; i < LENGTH; i++)
		exact[i] = -0.5 * b[i];
	selftest_expect(trial, y, exact, LENGTH);
}

static void try_multiply(const struct kernels *k, struct selftest_trial *trial)
{
	double a[LENGTH], b[LENGTH], y[LENGTH], exact[LENGTH];

	fill(a, LENGTH, 16);
	fill(b, LENGTH, 17);
	k->multiply(a, b, y, LENGTH);
	for (size_t i = 0; i < LENGTH; i++)
		exact[i] = a[i] * b[i];
	selftest_expect(trial, y, exact, LENGTH);
}

/*
 * The known answer of Threefry-2x64-20 for key 0 and counter 0 (Random123's kat_vectors), and the two uniform and two
 * normal numbers that draw.h makes of it: the first and the 17th.
 */
#define THREEFRY_W0 0xc2b6e3a8c2c69865u
#define THREEFRY_W1 0x6f81ed42f350084du

static void try_draw_uniform(const struct kernels *k, struct selftest_trial *trial)
{
	double out[LENGTH];

	k->draw_uniform(0, 0, 1, out, LENGTH);
	trial->wrong |= !(out[0] == (double)(THREEFRY_W0 >> 11) * 0x1p-52 - 1 + 0x1p-53);
	trial->wrong |= !(out[16] == (double)(THREEFRY_W1 >> 11) * 0x1p-52 - 1 + 0x1p-53);
	selftest_keep(trial, out, sizeof out);
}

static void try_draw_normal(const struct kernels *k, struct selftest_trial *trial)
{
	double out[LENGTH];

	k->draw_normal(0, 0, 1, out, LENGTH);
	expect_near(trial, out[0], -0.680003695002500029028613941132);
	expect_near(trial, out[16], 0.291345170665029221004864803141);
	selftest_keep(trial, out, sizeof out);
}

/* --- all of them ----------------------------------------------------------------------------------------------------- */

/* A kernel without its try_… does not compile. */
static const struct {
	const char *name;
	void (*run)(const struct kernels *table, struct selftest_trial *trial);
} tests[] = {
#define KERNEL(result, name, arguments) {#name, try_##name},
#include "kernels.def"
#undef KERNEL
};

size_t selftest_count(void)
{
	return sizeof tests / sizeof *tests;
}

const char *selftest_name(size_t i)
{
	return tests[i].name;
}

enum selftest_verdict selftest_judge(const struct selftest_trial *trial, const struct selftest_trial *scalar)
{
	if (trial->wrong)
		return SELFTEST_WRONG;
	return trial->used == scalar->used && memcmp(trial->output, scalar->output, trial->used) == 0 ? SELFTEST_PASSED
	                                                                                               : SELFTEST_DIFFERENT;
}

void selftest_run(size_t i, const struct kernels *table, struct selftest_trial *trial)
{
	trial->wrong = false;
	trial->used = 0;
	tests[i].run(table, trial);
}

const char *selftest_text(enum selftest_verdict verdict)
{
	static const char *const texts[] = {
		[SELFTEST_PASSED] = "passed",
		[SELFTEST_WRONG] = "an exact case came out otherwise",
		[SELFTEST_DIFFERENT] = "its bits are not those of the scalar kernel",
	};

	return texts[verdict];
}
