/*
 * The kernels of blocks: the same bits on every instruction set, no element read or written too many, and right.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/block/activation.h"
#include "core/kernels.h"
#include "tests/reference/slow_block.h"
#include "tests/reference/slow_threefry.h"
#include "tests/support/fence.h"
#include "tests/support/random_block.h"
#include "tests/support/suite.h"

enum { LONGEST = 70 };

/* The tables to test; [0] is scalar. */
static const struct kernels *tables[NC_ISA_COUNT];
static const char *names[NC_ISA_COUNT];
static int table_count;

static void prepare(void)
{
	table_count = 0;
	for (int isa = 0; isa < NC_ISA_COUNT; isa++)
		if (nc_isa_supported((enum nc_isa)isa)) {
			names[table_count] = nc_isa_name((enum nc_isa)isa);
			tables[table_count++] = kernels_of((enum nc_isa)isa);
		}
	ck_assert_int_ge(table_count, 1);
}

static void same_bits(const double *got, const double *want, size_t count, const char *isa, const char *what)
{
	for (size_t i = 0; i < count; i++)
		ck_assert_msg(memcmp(got + i, want + i, sizeof *got) == 0 || (isnan(got[i]) && isnan(want[i])),
		              "%s on %s, element %zu of %zu: %a not %a", what, isa, i, count, got[i], want[i]);
}

/* Everyday numbers, and the odd ones. */
static void fill(double *x, size_t count, double scale)
{
	static const double odd[] = {0,      -0.0,     1e-300,    -1e-310, 709, -745, 1e300,
	                             -1e300, INFINITY, -INFINITY, NAN,     64,  -64};
	for (size_t i = 0; i < count; i++)
		x[i] = dice_below(8) ? scale * dice_normal() : odd[dice_below(sizeof odd / sizeof *odd)];
}

START_TEST(rows_on_every_instruction_set)
{
	prepare();
	for (size_t n = 1; n <= LONGEST; n++) {
		double *a = fence_open(n), *b = fence_open(n), *want = fence_open(2 * n), *got = fence_open(2 * n);
		for (int t = 0; t < table_count; t++)
			for (int kind = 0; kind < NC_ACT_COUNT + 5; kind++) {
				double s = 0.75, u = -1.25;
				dice_state = n * 1000 + (size_t)kind + 1;
				fill(a, n, 3);
				fill(b, n, 3);
				for (int side = 0; side < 2; side++) {
					const struct kernels *k = tables[side ? t : 0];
					double *out = side ? got : want;
					memset(out, 0x5a, 2 * n * sizeof *out);
					if (kind < NC_ACT_COUNT) {
						k->activate((unsigned)kind, n, a, out, out + n);
					} else if (kind == NC_ACT_COUNT) {
						memcpy(out + n, a, n * sizeof *out);
						k->softmax(out + n, n);
					} else if (kind == NC_ACT_COUNT + 1) {
						k->softmax_vjp(a, b, out + n, n);
					} else if (kind == NC_ACT_COUNT + 2) {
						k->combine(s, a, u, b, out + n, n);
						k->combine(s, NULL, u, b, out, n);
					} else if (kind == NC_ACT_COUNT + 3) {
						k->multiply(a, b, out + n, n);
					} else {
						k->draw_uniform(n, 7, 0.5, out, n);
						k->draw_normal(n, 7, 0.5, out + n, n);
					}
				}
				same_bits(got, want, 2 * n, names[t],
				          kind < NC_ACT_COUNT ? nc_activation_name((enum nc_activation)kind)
				                              : "row kernel");
			}
		fence_close(a, n), fence_close(b, n), fence_close(want, 2 * n), fence_close(got, 2 * n);
	}
}
END_TEST

/* C as its definition says it: ascending over k, a product and a sum a step. */
static void plain_product(const struct nc_product *p, double *c)
{
	for (size_t i = 0; i < p->m; i++)
		for (size_t j = 0; j < p->n; j++) {
			double sum = p->accumulate ? c[i * p->c_row + j * p->c_col] : 0;
			for (size_t l = 0; l < p->k; l++)
				sum += p->a[i * p->a_row + l * p->a_col] * p->b[l * p->b_row + j * p->b_col];
			c[i * p->c_row + j * p->c_col] = sum;
		}
}

static void try_product(size_t m, size_t n, size_t k, unsigned layout, bool accumulate)
{
	size_t a_gap = dice_below(3), b_gap = dice_below(3), c_gap = dice_below(3);
	bool a_turned = layout & 1, b_turned = layout & 2, c_turned = layout & 4;
	size_t a_row = a_turned ? 1 : k + a_gap, a_col = a_turned ? m + a_gap : 1;
	size_t b_row = b_turned ? 1 : n + b_gap, b_col = b_turned ? k + b_gap : 1;
	size_t c_row = c_turned ? 1 : n + c_gap, c_col = c_turned ? m + c_gap : 1;
	size_t a_count = k && m ? (m - 1) * a_row + (k - 1) * a_col + 1 : 0;
	size_t b_count = k && n ? (k - 1) * b_row + (n - 1) * b_col + 1 : 0,
	       c_count = (m - 1) * c_row + (n - 1) * c_col + 1;
	double *a = fence_open(a_count), *b = fence_open(b_count), *start = fence_open(c_count);
	double *want = fence_open(c_count), *got = fence_open(c_count);
	struct nc_product p = {m, n, k, a, a_row, a_col, b, b_row, b_col, want, c_row, c_col, accumulate};

	for (size_t i = 0; i < a_count; i++)
		a[i] = dice_normal();
	for (size_t i = 0; i < b_count; i++)
		b[i] = dice_normal();
	for (size_t i = 0; i < c_count; i++)
		start[i] = dice_normal();
	memcpy(want, start, c_count * sizeof *want);
	plain_product(&p, want);
	p.c = got;
	for (int t = 0; t < table_count; t++) {
		memcpy(got, start, c_count * sizeof *got);
		tables[t]->matmul(&p);
		same_bits(got, want, c_count, names[t], "matmul");
	}
	memcpy(got, start, c_count * sizeof *got);
	nc_multiply(&p, NULL);
	same_bits(got, want, c_count, "any", "nc_multiply");
	fence_close(a, a_count), fence_close(b, b_count), fence_close(start, c_count), fence_close(want, c_count);
	fence_close(got, c_count);
}

START_TEST(products_are_plain_sums)
{
	prepare();
	for (size_t n = 1; n <= LONGEST; n++)
		for (unsigned layout = 0; layout < 8; layout++) {
			try_product(1 + dice_below(20), n, dice_below(40), layout, n % 2);
			try_product(n, 1 + dice_below(40), dice_below(40), layout, n % 2 == 0);
		}
	for (unsigned layout = 0; layout < 8; layout++)
		for (size_t k = 255; k <= 513; k += 129)
			try_product(1 + dice_below(40), 1 + dice_below(90), k, layout, k % 2);
}
END_TEST

START_TEST(products_shared_by_threads)
{
	prepare();
	for (unsigned threads = 1; threads <= 8; threads++) {
		struct nc_pool *pool = nc_pool_create(threads);
		size_t m = 190, n = 210, k = 60;
		double *a = dice_numbers(m * k, 1), *b = dice_numbers(k * n, 1), *want = calloc(m * n, sizeof *want);
		double *got = calloc(m * n, sizeof *got);
		struct nc_product p = {m, n, k, a, k, 1, b, 1, k, want, n, 1, false};
		plain_product(&p, want);
		p.c = got;
		nc_multiply(&p, pool);
		same_bits(got, want, m * n, "any", "nc_multiply over threads");
		free(a), free(b), free(want), free(got);
		nc_pool_destroy(pool);
	}
}
END_TEST

/* Distance in units of the last place of the right value; of the smallest normal number below that. */
static double ulps(double got, long double want)
{
	int exponent;
	frexpl(want, &exponent);
	return (double)(fabsl(got - want) / ldexpl(1, (exponent < -1021 ? -1021 : exponent) - 53));
}

/*
 * Every activation within a few units of the last place over the whole line, and its slope within a few of the larger
 * of the two terms that it is the sum of: where they cancel nothing better is asked.
 */
START_TEST(activations_are_right)
{
	prepare();
	for (int kind = 0; kind < NC_ACT_COUNT; kind++)
		for (double x = -45; x <= 45; x += 0.00173) {
			double value, slope, at = x == 0 ? 0 : x;
			struct dual want = slow_activation((enum nc_activation)kind, (struct dual){at, 1});
			kernels()->activate((unsigned)kind, 1, &at, &value, &slope);
			double allowed = 8;
			if (kind == NC_ACT_GELU_TANH) /* an error of its argument, thousands, is magnified by e^ */
				allowed += 8 + 4 * fabs(at * at * at) * 0.08;
			if (fabsl(want.v) < 1e-300L) /* the factor of x is subnormal, and x multiplies its rounding */
				allowed += fabs(at);
			ck_assert_msg(ulps(value, want.v) <= allowed, "%s(%a): %a not %La",
			              nc_activation_name((enum nc_activation)kind), at, value, want.v);
			long double larger = fabsl(want.d) + fabsl(at != 0 ? want.v / at : 0);
			int exponent;
			frexpl(larger, &exponent);
			ck_assert_msg(fabsl(slope - want.d) <=
			                  4 * allowed * ldexpl(1, (exponent < -1021 ? -1021 : exponent) - 53),
			              "%s'(%a): %a not %La", nc_activation_name((enum nc_activation)kind), at, slope,
			              want.d);
		}
	/* 1 + erf has no digit left at −8, and −1e300 must not become NaN */
	double value, slope, minus8 = -8, huge[] = {-1e300, 1e300};
	kernels()->activate(NC_ACT_GELU, 1, &minus8, &value, &slope);
	ck_assert_double_eq_tol(value, -4.976768459417428e-15, 2e-30);
	for (int kind = 0; kind < NC_ACT_COUNT; kind++)
		for (int i = 0; i < 2; i++) {
			kernels()->activate((unsigned)kind, 1, &huge[i], &value, &slope);
			ck_assert_msg(isfinite(value) && isfinite(slope), "%s(%g)",
			              nc_activation_name((enum nc_activation)kind), huge[i]);
		}
}
END_TEST

START_TEST(softmax_is_right)
{
	prepare();
	for (size_t n = 1; n <= 200; n++) {
		double s[200], p[200], dp[200], ds[200], shift = n % 3 == 0 ? 700 : 0;
		long double sum = 0, along = 0;
		for (size_t i = 0; i < n; i++) {
			s[i] = p[i] = 3 * dice_normal() + shift;
			dp[i] = dice_normal();
		}
		kernels()->softmax(p, n);
		for (size_t i = 0; i < n; i++)
			sum += expl((long double)s[i] - shift);
		for (size_t i = 0; i < n; i++) {
			ck_assert_double_le(ulps(p[i], expl((long double)s[i] - shift) / sum), 4 + (double)n);
			along += (long double)p[i] * dp[i];
		}
		kernels()->softmax_vjp(p, dp, ds, n);
		for (size_t i = 0; i < n; i++)
			ck_assert_double_eq_tol(ds[i], (double)(p[i] * (dp[i] - along)),
			                        (4 + (double)n) * DBL_EPSILON * p[i] * 4);
	}
}
END_TEST

START_TEST(threefry_is_the_published_one)
{
	static const uint64_t known[3][6] = {
	    {0, 0, 0, 0, 0xc2b6e3a8c2c69865u, 0x6f81ed42f350084du},
	    {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0xe02cb7c4d95d277au, 0xd06633d0893b8b68u},
	    {0x243f6a8885a308d3u, 0x13198a2e03707344u, 0xa4093822299f31d0u, 0x082efa98ec4e6c89u, 0x263c7d30bb0f0af1u,
	     0x56be8361d3311526u}};
	for (int i = 0; i < 3; i++) {
		uint64_t out[2];
		slow_threefry(known[i] + 2, known[i], out);
		ck_assert_uint_eq(out[0], known[i][4]);
		ck_assert_uint_eq(out[1], known[i][5]);
	}
}
END_TEST

START_TEST(draws_are_what_they_say)
{
	enum { COUNT = 100000 };
	double *u = calloc(COUNT, sizeof *u), *z = calloc(COUNT, sizeof *z), mean = 0, square = 0, fourth = 0;
	prepare();
	for (uint64_t seed = 0; seed < 3; seed++) {
		uint64_t stream = seed << 40 | 11;
		kernels()->draw_uniform(seed * 0x9e3779b97f4a7c15u, stream, 1, u, COUNT);
		kernels()->draw_normal(seed * 0x9e3779b97f4a7c15u, stream, 1, z, COUNT);
		for (size_t i = 0; i < 5000; i++) {
			ck_assert_double_eq(u[i], slow_uniform(seed * 0x9e3779b97f4a7c15u, stream, i));
			ck_assert_double_lt(fabs(u[i]), 1);
			/* 3.5 ulp each of log and sine, the latter of the quarter turn's 1 */
			ck_assert_double_eq_tol(z[i], (double)slow_normal(seed * 0x9e3779b97f4a7c15u, stream, i),
			                        40 * DBL_EPSILON);
		}
		for (size_t i = 0; i < COUNT; i++)
			mean += z[i] / (3.0 * COUNT), square += z[i] * z[i] / (3.0 * COUNT),
			    fourth += pow(z[i], 4) / (3.0 * COUNT);
	}
	/* five standard errors of 300,000 draws */
	ck_assert_double_lt(fabs(mean), 5 / sqrt(3.0 * COUNT));
	ck_assert_double_lt(fabs(square - 1), 5 * sqrt(2 / (3.0 * COUNT)));
	ck_assert_double_lt(fabs(fourth - 3), 5 * sqrt(96 / (3.0 * COUNT)));
	free(u), free(z);
}
END_TEST

TEST_MAIN(rows_on_every_instruction_set, products_are_plain_sums, products_shared_by_threads, activations_are_right,
          softmax_is_right, threefry_is_the_published_one, draws_are_what_they_say)
