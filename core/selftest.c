#include "selftest_cases.h"

#include "block/activation.h"

#include <math.h>
#include <string.h>

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

void selftest_expect_int(struct selftest_trial *trial, int got, bool exact)
{
	trial->wrong |= (got != 0) != exact;
}

void selftest_fill(double *out, size_t count, uint64_t seed)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t z = (seed << 32) + i + 1;

		z *= 0x9e3779b97f4a7c15;
		z ^= z >> 29;
		z *= 0xbf58476d1ce4e5b9;
		out[i] = (double)(z >> 42) * 0x1p-20 - 2;
	}
}

/* --- conversions ----------------------------------------------------------------------------------------------------- */

/* Halfway between two values goes to the even one, a hair beyond away from it; so for subnormals, and infinity at the end. */
static const struct {
	enum nc_dtype dtype;
	double x;
	float exact;
} rounded[] = {
	{NC_FLOAT32, 1 + 0x1p-24, 1},
	{NC_FLOAT32, 1 + 0x1p-24 + 0x1p-52, 1 + 0x1p-23f},
	{NC_FLOAT32, 0x1.8p-149, 0x1p-148f},
	{NC_BFLOAT16, 1 + 0x1p-8, 1},
	{NC_BFLOAT16, 1 + 0x1p-8 + 0x1p-52, 1 + 0x1p-7f}, /* by way of float32 it would be 1 */
	{NC_BFLOAT16, -0x1.8p-133, -0x1p-132f},
	{NC_FLOAT16, 1 + 0x1p-11, 1},
	{NC_FLOAT16, 1 + 0x1p-11 + 0x1p-52, 1 + 0x1p-10f},
	{NC_FLOAT16, -0x1.8p-24, -0x1p-23f},
	{NC_FLOAT16, 65519, 65504},
	{NC_FLOAT16, 65520, INFINITY},
};

void selftest_try_convert(const struct kernels *k, struct selftest_trial *trial)
{
	double wide[LENGTH], back[LENGTH];
	float out[LENGTH], exact[LENGTH], narrow[LENGTH];

	for (size_t c = 0; c < sizeof rounded / sizeof *rounded; c++) {
		for (size_t i = 0; i < LENGTH; i++)
			wide[i] = rounded[c].x, exact[i] = rounded[c].exact;
		selftest_expect_int(trial, k->convert(NC_FLOAT64, wide, rounded[c].dtype, out, LENGTH), isinf(rounded[c].exact));
		selftest_expect_f32(trial, out, exact, LENGTH);
	}
	selftest_fill(wide, LENGTH, 18);
	selftest_expect_int(trial, k->convert(NC_FLOAT64, wide, NC_FLOAT32, narrow, LENGTH), false);
	selftest_expect_int(trial, k->convert(NC_FLOAT32, narrow, NC_FLOAT64, back, LENGTH), false);
	selftest_expect(trial, back, wide, LENGTH);
	for (int dtype = NC_BFLOAT16; dtype <= NC_FLOAT16; dtype++) {
		k->convert(NC_FLOAT64, wide, (enum nc_dtype)dtype, exact, LENGTH);
		k->convert(NC_FLOAT32, narrow, (enum nc_dtype)dtype, out, LENGTH);
		selftest_expect_f32(trial, out, exact, LENGTH);
	}
}

/* What the standard and the definition of bfloat16 say of 1.5, the least subnormal, the largest value and infinity. */
static const struct {
	enum nc_dtype dtype;
	float value;
	uint16_t bits;
} sixteen[] = {
	{NC_BFLOAT16, -1.5f, 0xbfc0},          {NC_BFLOAT16, 0x1p-133f, 0x0001}, {NC_BFLOAT16, 0x1.fep127f, 0x7f7f},
	{NC_BFLOAT16, (float)INFINITY, 0x7f80}, {NC_FLOAT16, -1.5f, 0xbe00},      {NC_FLOAT16, 0x1p-24f, 0x0001},
	{NC_FLOAT16, 65504, 0x7bff},           {NC_FLOAT16, (float)INFINITY, 0x7c00},
};

void selftest_try_pack_halves(const struct kernels *k, struct selftest_trial *trial)
{
	float x[LENGTH];
	uint16_t halves[LENGTH];

	for (size_t c = 0; c < sizeof sixteen / sizeof *sixteen; c++) {
		for (size_t i = 0; i < LENGTH; i++)
			x[i] = sixteen[c].value;
		k->pack_halves(sixteen[c].dtype, x, LENGTH, halves);
		for (size_t i = 0; i < LENGTH; i++)
			selftest_expect_int(trial, halves[i] == sixteen[c].bits, true);
	}
	selftest_keep(trial, halves, sizeof halves);
}

void selftest_try_unpack_halves(const struct kernels *k, struct selftest_trial *trial)
{
	float out[LENGTH], exact[LENGTH];
	uint16_t halves[LENGTH];

	for (size_t c = 0; c < sizeof sixteen / sizeof *sixteen; c++) {
		for (size_t i = 0; i < LENGTH; i++)
			halves[i] = sixteen[c].bits, exact[i] = sixteen[c].value;
		k->unpack_halves(sixteen[c].dtype, halves, LENGTH, out);
		selftest_expect_f32(trial, out, exact, LENGTH);
	}
}

/* --- blocks ---------------------------------------------------------------------------------------------------------- */

/* Integers: every sum is exact in any order. */
void selftest_try_matmul(const struct kernels *k, struct selftest_trial *trial)
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
	selftest_fill(a, M * K, 8);
	selftest_fill(b, K * N, 9);
	product.accumulate = true;
	k->matmul(&product);
	selftest_keep(trial, c, sizeof c);
}

/*
 * At 0 and at 40 (where 1 − Φ and e^-40 are below half a unit of 1) values and slopes are exact; at 1 they are known
 * to any number of digits: Φ(1), σ(1), tanh 1, and σ(2u) with u = √(2/π)·1.044715.
 */
void selftest_try_activate(const struct kernels *k, struct selftest_trial *trial)
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

	selftest_fill(x, LENGTH, 10);
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

void selftest_try_softmax(const struct kernels *k, struct selftest_trial *trial)
{
	double even[4] = {3, 3, 3, 3}, lone[2] = {0, -1000}, s[LENGTH];

	k->softmax(even, 4);
	selftest_expect(trial, even, (const double[]){0.25, 0.25, 0.25, 0.25}, 4);
	k->softmax(lone, 2); /* e^-1000 is 0 */
	selftest_expect(trial, lone, (const double[]){1, 0}, 2);
	selftest_fill(s, LENGTH, 11);
	k->softmax(s, LENGTH);
	selftest_keep(trial, s, sizeof s);
}

void selftest_try_softmax_vjp(const struct kernels *k, struct selftest_trial *trial)
{
	static const double p[2] = {0.25, 0.75}, dp[2] = {1, 0}; /* ds = p (dp − 1/4) */
	double ds[LENGTH], weights[LENGTH], gradient[LENGTH];

	k->softmax_vjp(p, dp, ds, 2);
	selftest_expect(trial, ds, (const double[]){0.1875, -0.1875}, 2);
	selftest_fill(weights, LENGTH, 12);
	selftest_fill(gradient, LENGTH, 13);
	k->softmax_vjp(weights, gradient, ds, LENGTH);
	selftest_keep(trial, ds, sizeof ds);
}

/* Products and sums of 22-bit numbers: exact. */
void selftest_try_combine(const struct kernels *k, struct selftest_trial *trial)
{
	double a[LENGTH], b[LENGTH], y[LENGTH], exact[LENGTH];

	selftest_fill(a, LENGTH, 14);
	selftest_fill(b, LENGTH, 15);
	k->combine(2, a, -0.5, b, y, LENGTH);
	for (size_t i = 0; i < LENGTH; i++)
		exact[i] = 2 * a[i] - 0.5 * b[i];
	selftest_expect(trial, y, exact, LENGTH);
	k->combine(2, NULL, -0.5, b, y, LENGTH);
	for (size_t i = 0; i < LENGTH; i++)
		exact[i] = -0.5 * b[i];
	selftest_expect(trial, y, exact, LENGTH);
}

void selftest_try_multiply(const struct kernels *k, struct selftest_trial *trial)
{
	double a[LENGTH], b[LENGTH], y[LENGTH], exact[LENGTH];

	selftest_fill(a, LENGTH, 16);
	selftest_fill(b, LENGTH, 17);
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

void selftest_try_draw_uniform(const struct kernels *k, struct selftest_trial *trial)
{
	double out[LENGTH];

	k->draw_uniform(0, 0, 1, out, LENGTH);
	trial->wrong |= !(out[0] == (double)(THREEFRY_W0 >> 11) * 0x1p-52 - 1 + 0x1p-53);
	trial->wrong |= !(out[16] == (double)(THREEFRY_W1 >> 11) * 0x1p-52 - 1 + 0x1p-53);
	selftest_keep(trial, out, sizeof out);
}

void selftest_try_draw_normal(const struct kernels *k, struct selftest_trial *trial)
{
	double out[LENGTH];

	k->draw_normal(0, 0, 1, out, LENGTH);
	expect_near(trial, out[0], -0.680003695002500029028613941132);
	expect_near(trial, out[16], 0.291345170665029221004864803141);
	selftest_keep(trial, out, sizeof out);
}

/* --- all of them ----------------------------------------------------------------------------------------------------- */

/* A kernel without its selftest_try_… does not link. */
static const struct {
	const char *name;
	void (*run)(const struct kernels *table, struct selftest_trial *trial);
} tests[] = {
#define KERNEL(result, name, arguments) {#name, selftest_try_##name},
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
