/*
 * The promise at the head of core/norm.h, held against MPFR on random calls of every kind: a sample of what
 * `make test-promise` runs on ten million elements. NORM_PROMISE=elements for another size.
 */
#include "tests/reference/norm_cases.h"
#include "tests/reference/norm_reference.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

static size_t wanted_elements(void)
{
	const char *text = getenv("NORM_PROMISE");

	return text ? (size_t)strtod(text, NULL) : 60000;
}

/* Random numbers; numbers whose sums and quotients are exact ties more often than chance has it; numbers at the edges. */
enum campaign { RANDOM, STRUCTURED, EXTREME, CAMPAIGNS };

static const char *const campaigns[CAMPAIGNS] = {"random", "structured", "extreme"};
static struct judge judges[NC_DTYPE_COUNT][CAMPAIGNS][REFERENCE_OUTPUTS];
static size_t no_value;

static void print_judges(enum campaign campaign)
{
	for (int dtype = 0; dtype < NC_DTYPE_COUNT; dtype++)
		for (int output = 0; output < REFERENCE_OUTPUTS; output++) {
			const struct judge *j = &judges[dtype][campaign][output];

			if (j->elements)
				printf("%-10s %-8s %-8s %9zu elements, worst %.6f ulp, %zu of %zu misrounded, broken %zu\n",
				       campaigns[campaign], nc_dtype_name((enum nc_dtype)dtype), reference_names[output], j->elements,
				       j->worst, j->misrounded, j->plain, j->failed);
		}
}

static size_t failures(enum campaign campaign)
{
	size_t failed = 0;

	for (int dtype = 0; dtype < NC_DTYPE_COUNT; dtype++)
		for (int output = 0; output < REFERENCE_OUTPUTS; output++)
			failed += judges[dtype][campaign][output].failed;
	return failed;
}

/* features: 0 for short rows of any length. */
static void run(enum campaign campaign, uint64_t seed, size_t elements, int features)
{
	struct nc_arena *arena = nc_arena_create((size_t)1 << 30);
	struct random random = {seed};
	size_t done = 0, reported = 0;

	for (size_t i = 0; done < elements; i++) {
		struct case_options options = {.elements = i % 16 ? 200 : 3000, .random = campaign == RANDOM,
		                               .extreme = campaign == EXTREME, .jacobian = i % 4 == 1 && !features, .dtype = -1,
		                               .features = features, .rows = features ? 1 : 0};

		if (i % 5 == 4) {
			struct residual_case c;

			residual_case_make(&c, &random, &options);
			enum nc_status status = nc_residual(&c.call, NULL, arena);
			ck_assert(status == NC_OK || status == NC_NO_VALUE);
			if (status == NC_OK)
				reference_residual(&c.call, judges[c.call.dtype][campaign]);
			done += 4 * c.call.rows * c.call.features;
			residual_case_free(&c);
		} else {
			struct norm_case c;

			norm_case_make(&c, &random, &options);
			enum nc_status status = nc_norm(&c.spec, &c.call, NULL, arena);
			ck_assert(status == NC_OK || status == NC_NO_VALUE);
			if (status == NC_OK)
				reference_norm(&c.spec, &c.call, judges[c.spec.dtype][campaign]);
			else
				no_value++;
			done += 4 * c.call.rows * c.call.features;
			if (failures(campaign) > reported) {
				char text[300];

				norm_case_describe(&c, text, sizeof(text));
				fprintf(stderr, "in case %zu: %s\n", i, text);
				reported = failures(campaign);
			}
			norm_case_free(&c);
		}
	}
	nc_arena_destroy(arena);
	print_judges(campaign);
}

START_TEST(random_values)
{
	size_t plain = 0, misrounded = 0;

	run(RANDOM, 1, wanted_elements(), 0);
	ck_assert_uint_eq(failures(RANDOM), 0);
	for (int dtype = 0; dtype < NC_DTYPE_COUNT; dtype++)
		for (int output = 0; output < REFERENCE_OUTPUTS && dtype != NC_FLOAT64; output++) {
			plain += judges[dtype][RANDOM][output].plain;
			misrounded += judges[dtype][RANDOM][output].misrounded;
		}
	ck_assert_msg((double)misrounded <= 1 + 1e-7 * (double)plain, "%zu of %zu are misrounded", misrounded, plain);
}
END_TEST

START_TEST(structured_values)
{
	run(STRUCTURED, 2, wanted_elements() / 4, 0);
	ck_assert_uint_eq(failures(STRUCTURED), 0);
}
END_TEST

START_TEST(extreme_values)
{
	run(EXTREME, 3, wanted_elements() / 4, 0);
	ck_assert_uint_eq(failures(EXTREME), 0);
}
END_TEST

/* Rows that are cut by their columns. */
START_TEST(long_rows)
{
	run(STRUCTURED, 4, 600000 + wanted_elements() / 4, 33000);
	run(EXTREME, 5, 300000 + wanted_elements() / 4, 66000);
	ck_assert_uint_eq(failures(STRUCTURED) + failures(EXTREME), 0);
}
END_TEST

TEST_MAIN(random_values, structured_values, extreme_values, long_rows)
