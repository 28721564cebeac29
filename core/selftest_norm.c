#include "selftest_cases.h"

#include <math.h>
#include <string.h>

enum { ROWS = 2 };

/* --- norms: results that are short decimals or integers, which the compiler rounds ----------------------------------- */

typedef int norm_fn(const struct norm_job *job, struct norm_task task);

static void by_rows(norm_fn *run, const struct norm_job *job, size_t rows)
{
	run(job, (struct norm_task){.end = rows});
}

/* As norm_job_columns does long rows. */
static void by_columns(norm_fn *run, struct norm_job job, size_t rows)
{
	_Alignas(8) unsigned char known[ROWS * NORM_JOB_KNOWN_BYTES] = {0}, sums[ROWS * NORM_JOB_SUMS_BYTES];

	job.known = known;
	job.sums = sums;
	while (run(&job, (struct norm_task){.end = rows, .stage = NORM_SETTLE}))
		run(&job, (struct norm_task){.end = rows, .stage = NORM_SUMS});
	run(&job, (struct norm_task){.end = rows, .stage = NORM_OUTPUTS});
}

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

	by_rows(run, &job, 1);
	selftest_expect(trial, y, rms_y, 2);
	selftest_expect(trial, dx, rms_dx, 2);
	selftest_expect(trial, &divisor, &rms_r, 1);
	spec.kind = NC_LAYERNORM;
	job.features = 4, job.x = layer_x, job.u = layer_dy, job.mean = &mean, job.variance = &variance;
	by_columns(run, job, 1);
	selftest_expect(trial, y, layer_y, 4);
	selftest_expect(trial, dx, layer_dx, 4);
	selftest_expect(trial, &mean, &layer_mean, 1);
	selftest_expect(trial, &variance, &layer_variance, 1);
	selftest_expect_int(trial, slow == NORM_JOB_LEFT, false);
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
	by_rows(run, &job, 1);
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
	by_columns(run, job, 1);
	to_f32(layer_y, exact, 4);
	selftest_expect_f32(trial, y, exact, 4);
	to_f32(layer_dx, exact, 4);
	selftest_expect_f32(trial, dx, exact, 4);
	selftest_expect_f32(trial, &mean, (const float[]){2}, 1);
	selftest_expect_f32(trial, &variance, (const float[]){1}, 1);
	selftest_expect_int(trial, slow == NORM_JOB_LEFT, false);
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

	selftest_fill(x, ROWS * LENGTH, 1);
	selftest_fill(dy, ROWS * LENGTH, 2);
	selftest_fill(gain, LENGTH, 3);
	selftest_fill(bias, LENGTH, 4);
	if (dtype != NC_FLOAT64)
		for (size_t i = 0; i < ROWS * LENGTH; i++) { /* in place: a float's element i ends before a double's begins */
			float fx = (float)nc_dtype_round(dtype, x[i]), fdy = (float)nc_dtype_round(dtype, dy[i]);

			memcpy((char *)x + 4 * i, &fx, sizeof fx);
			memcpy((char *)dy + 4 * i, &fdy, sizeof fdy);
		}
	for (int way = 0; way < 4; way++) {
		bool layer = way % 2, columns = way / 2;

		spec.kind = layer ? NC_LAYERNORM : NC_RMSNORM;
		memset(dgain, 0, sizeof dgain);
		memset(dbias, 0, sizeof dbias);
		if (!layer)
			job.mean = job.variance = NULL, job.bias.values = NULL, job.dbias = NULL;
		else
			job.mean = mean, job.variance = variance, job.bias.values = bias, job.dbias = dbias;
		if (columns)
			by_columns(run, job, ROWS);
		else
			by_rows(run, &job, ROWS);
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

void selftest_try_norm_narrow(const struct kernels *k, struct selftest_trial *trial)
{
	norm_exact_f32(k->norm_narrow, trial);
	norm_long(k->norm_narrow, NC_FLOAT32, trial);
	norm_long(k->norm_narrow, NC_BFLOAT16, trial);
	norm_long(k->norm_narrow, NC_FLOAT16, trial);
}

void selftest_try_norm_pairs(const struct kernels *k, struct selftest_trial *trial)
{
	norm_exact_f64(k->norm_pairs, trial);
	norm_long(k->norm_pairs, NC_FLOAT64, trial);
}

/* RMSNorm of (1, 7): r = 5, J = I/5 − x xᵀ/250. */
void selftest_try_jacobian(const struct kernels *k, struct selftest_trial *trial)
{
	static const double exact[4] = {0.196, -0.028, -0.028, 0.004};
	struct nc_norm_spec spec = {.kind = NC_RMSNORM, .dtype = NC_FLOAT64, .xhat_dtype = NC_FLOAT64};
	struct norm_job job = {.spec = &spec, .features = 2, .period = 1, .x = rms_x};
	double lines[LENGTH * LENGTH], x[LENGTH];
	float narrow[LENGTH * LENGTH], narrow_x[LENGTH];

	selftest_expect_int(trial, k->jacobian(&job, 0, 0, 2, lines), false);
	selftest_expect(trial, lines, exact, 4);
	spec.kind = NC_LAYERNORM, spec.epsilon = 1e-5, job.features = LENGTH, job.x = x;
	selftest_fill(x, LENGTH, 18);
	to_f32(x, narrow_x, LENGTH);
	selftest_expect_int(trial, k->jacobian(&job, 0, 30, LENGTH, lines), false);
	selftest_keep(trial, lines, (LENGTH - 30) * LENGTH * sizeof *lines);
	spec.dtype = NC_FLOAT32, job.x = narrow_x;
	selftest_expect_int(trial, k->jacobian(&job, 0, 30, LENGTH, narrow), false);
	selftest_keep(trial, narrow, (LENGTH - 30) * LENGTH * sizeof *narrow);
}

/* J = diag(0.2) − left·rightᵀ for x = (1, 7), r = s = 5. */
void selftest_try_factors(const struct kernels *k, struct selftest_trial *trial)
{
	struct nc_norm_spec spec = {.kind = NC_RMSNORM, .dtype = NC_FLOAT64, .xhat_dtype = NC_FLOAT64};
	struct norm_job job = {.spec = &spec, .features = 2, .period = 1};
	double x[LENGTH], diagonal[LENGTH], left[2 * LENGTH], right[2 * LENGTH];

	selftest_expect_int(trial, k->factors(&job, 0, rms_x, diagonal, left, right), false);
	selftest_expect(trial, diagonal, (const double[]){0.2, 0.2}, 2);
	selftest_expect(trial, left, (const double[]){0.02, 0.14}, 2);
	selftest_expect(trial, right, (const double[]){0.2, 1.4}, 2);
	spec.kind = NC_LAYERNORM, spec.epsilon = 1e-5, job.features = LENGTH;
	selftest_fill(x, LENGTH, 19);
	selftest_expect_int(trial, k->factors(&job, 0, x, x, left, right), false);
	selftest_keep(trial, x, sizeof x);
	selftest_keep(trial, left, sizeof left);
	selftest_keep(trial, right, sizeof right);
}

/* 1 + 2^-24 is halfway between two floats: the low part 2^-80 decides for the upper one. */
void selftest_try_sum_blocks(const struct kernels *k, struct selftest_trial *trial)
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

void selftest_try_residual_sum(const struct kernels *k, struct selftest_trial *trial)
{
	static const double over = 0x1p-24 + 0x1p-50, over_f64 = 0x1p-53 + 0x1p-80;
	float a[LENGTH], b[LENGTH], out[LENGTH], exact[LENGTH];
	double a64[LENGTH], b64[LENGTH], out64[LENGTH], exact64[LENGTH], high[LENGTH], low[LENGTH];

	for (size_t i = 0; i < LENGTH; i++) { /* 1 + 2^-24 and 1 + 2^-23 + 2^-24 to even, then a little over halfway */
		a[i] = i % 2 ? 1 + 0x1p-23f : 1, b[i] = 1, exact[i] = i % 2 ? 1 + 0x1p-22f : 1;
		a64[i] = i % 2 ? 1 + 0x1p-52 : 1, b64[i] = 1, exact64[i] = i % 2 ? 1 + 0x1p-51 : 1;
	}
	selftest_expect_int(trial, k->residual_sum(NC_FLOAT32, 1, a, 0x1p-24, b, LENGTH, out, NULL, NULL), false);
	selftest_expect_f32(trial, out, exact, LENGTH);
	selftest_expect_int(trial, k->residual_sum(NC_FLOAT64, 1, a64, 0x1p-53, b64, LENGTH, out64, NULL, NULL), false);
	selftest_expect(trial, out64, exact64, LENGTH);
	for (size_t i = 0; i < LENGTH; i++)
		exact[i] = i % 2 ? 1 + 0x1p-22f : 1 + 0x1p-23f, exact64[i] = i % 2 ? 1 + 0x1p-51 : 1 + 0x1p-52;
	selftest_expect_int(trial, k->residual_sum(NC_FLOAT32, 1, a, over, b, LENGTH, out, NULL, NULL), false);
	selftest_expect_f32(trial, out, exact, LENGTH);
	selftest_expect_int(trial, k->residual_sum(NC_FLOAT64, 1, a64, over_f64, b64, LENGTH, out64, high, low), false);
	selftest_expect(trial, out64, exact64, LENGTH);
	selftest_keep(trial, high, sizeof high);
	selftest_keep(trial, low, sizeof low);
	selftest_fill(a64, LENGTH, 5);
	selftest_fill(b64, LENGTH, 6);
	selftest_expect_int(trial, k->residual_sum(NC_FLOAT64, 1, a64, 1, b64, LENGTH, out64, NULL, NULL), false);
	for (size_t i = 0; i < LENGTH; i++)
		exact64[i] = a64[i] + b64[i];
	selftest_expect(trial, out64, exact64, LENGTH);
	a64[LENGTH - 1] = INFINITY;
	selftest_expect_int(trial, k->residual_sum(NC_FLOAT64, 1, a64, 0.5, b64, LENGTH, out64, NULL, NULL), true);
}

void selftest_try_residual_gather(const struct kernels *k, struct selftest_trial *trial)
{
	float a[LENGTH];
	double a64[LENGTH], high[LENGTH], low[LENGTH], exact_high[LENGTH], exact_low[LENGTH];

	for (size_t i = 0; i < LENGTH; i++) { /* 1 + (i + 1)·2^-60 is a pair */
		a[i] = (float)i, a64[i] = 1;
		high[i] = (double)(i + 1) * 0x1p-60, low[i] = 0;
		exact_high[i] = 1, exact_low[i] = high[i];
	}
	selftest_expect_int(trial, k->residual_gather(NC_FLOAT64, a64, LENGTH, high, low), false);
	selftest_expect(trial, high, exact_high, LENGTH);
	selftest_expect(trial, low, exact_low, LENGTH);
	selftest_expect_int(trial, k->residual_gather(NC_FLOAT32, a, LENGTH, high, NULL), false);
	for (size_t i = 0; i < LENGTH; i++)
		exact_high[i] = 1 + (double)i;
	selftest_expect(trial, high, exact_high, LENGTH);
}

void selftest_try_residual_scale(const struct kernels *k, struct selftest_trial *trial)
{
	double high[LENGTH], low[LENGTH];
	float out[LENGTH], exact[LENGTH];

	for (size_t i = 0; i < LENGTH; i++) { /* halfway but for the low part */
		high[i] = 1 + 0x1p-24, low[i] = i % 2 ? 0x1p-80 : -0x1p-80;
		exact[i] = i % 2 ? 2 + 0x1p-22f : 2;
	}
	selftest_expect_int(trial, k->residual_scale(NC_FLOAT32, 2, high, low, LENGTH, out), false);
	selftest_expect_f32(trial, out, exact, LENGTH);
	selftest_fill(high, LENGTH, 7);
	selftest_expect_int(trial, k->residual_scale(NC_FLOAT32, 1, high, NULL, LENGTH, out), false);
	to_f32(high, exact, LENGTH);
	selftest_expect_f32(trial, out, exact, LENGTH);
}

/* --- what the norms ask of parameters -------------------------------------------------------------------------------- */

void selftest_try_magnitudes(const struct kernels *k, struct selftest_trial *trial)
{
	float x[LENGTH] = {0}, range[2], exact[2];

	k->magnitudes(x, LENGTH, &range[0], &range[1]);
	selftest_expect_f32(trial, range, (const float[]){INFINITY, 0}, 2);
	for (size_t i = 0; i < LENGTH; i++) {
		x[i] = i % 2 ? -0x1p-149f * (float)(LENGTH - i) : (float)(i + 1);
		exact[0] = i ? 0x1p-149f * (float)(LENGTH - (i - 1 + i % 2)) : 1;
		exact[1] = (float)(i + 1 - i % 2);
		k->magnitudes(x, LENGTH, &range[0], &range[1]);
		selftest_expect_f32(trial, range, exact, 2);
	}
	x[LENGTH / 2] = INFINITY;
	k->magnitudes(x, LENGTH, &range[0], &range[1]);
	selftest_expect_f32(trial, &range[1], &x[LENGTH / 2], 1);
}

void selftest_try_out_of_range(const struct kernels *k, struct selftest_trial *trial)
{
	double x[LENGTH] = {0};

	for (size_t i = 0; i < LENGTH; i++) {
		x[i] = i % 2 ? -NORM_JOB_LEAST : NORM_JOB_MOST;
		selftest_expect_int(trial, k->out_of_range(x, LENGTH), false);
		x[i] = i % 2 ? -NORM_JOB_LEAST / 2 : NORM_JOB_MOST * 2;
		selftest_expect_int(trial, k->out_of_range(x, LENGTH), true);
		x[i] = 0;
	}
}
