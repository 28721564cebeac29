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

static struct judge judges[NC_DTYPE_COUNT][2][REFERENCE_OUTPUTS];
static size_t no_value;

static void print_judges(bool extreme)
{
	for (int dtype = 0; dtype < NC_DTYPE_COUNT; dtype++)
		for (int output = 0; output < REFERENCE_OUTPUTS; output++) {
			const struct judge *j = &judges[dtype][extreme][output];

			if (j->elements)
				printf("%-8s %-8s %-9s %10zu elements, worst %.6f ulp, %zu of %zu misrounded, broken %zu\n",
				       extreme ? "extreme" : "tame", nc_dtype_name((enum nc_dtype)dtype), reference_names[output],
				       j->elements, j->worst, j->misrounded, j->plain, j->failed);
		}
}

static size_t failures(bool extreme)
{
	size_t failed = 0;

	for (int dtype = 0; dtype < NC_DTYPE_COUNT; dtype++)
		for (int output = 0; output < REFERENCE_OUTPUTS; output++)
			failed += judges[dtype][extreme][output].failed;
	return failed;
}

static void run(bool extreme, uint64_t seed, size_t elements)
{
	struct nc_arena *arena = nc_arena_create((size_t)1 << 30);
	struct random random = {seed};
	size_t done = 0, reported = 0;

	for (size_t i = 0; done < elements; i++) {
		struct case_options options = {.elements = i % 16 ? 200 : 3000, .extreme = extreme, .jacobian = i % 4 == 1, .dtype = -1};

		if (i % 5 == 4) {
			struct residual_case c;

			residual_case_make(&c, &random, &options);
			enum nc_status status = nc_residual(&c.call, NULL, arena);
			ck_assert(status == NC_OK || status == NC_NO_VALUE);
			if (status == NC_OK)
				reference_residual(&c.call, judges[c.call.dtype][extreme]);
			done += 4 * c.call.rows * c.call.features;
			residual_case_free(&c);
		} else {
			struct norm_case c;

			norm_case_make(&c, &random, &options);
			enum nc_status status = nc_norm(&c.spec, &c.call, NULL, arena);
			ck_assert(status == NC_OK || status == NC_NO_VALUE);
			if (status == NC_OK)
				reference_norm(&c.spec, &c.call, judges[c.spec.dtype][extreme]);
			else
				no_value++;
			done += 4 * c.call.rows * c.call.features;
			if (failures(extreme) > reported) {
				char text[300];

				norm_case_describe(&c, text, sizeof(text));
				fprintf(stderr, "in case %zu: %s\n", i, text);
				reported = failures(extreme);
			}
			norm_case_free(&c);
		}
	}
	nc_arena_destroy(arena);
	print_judges(extreme);
}

START_TEST(tame_values)
{
	run(false, 1, wanted_elements());
	ck_assert_uint_eq(failures(false), 0);
}
END_TEST

START_TEST(extreme_values)
{
	run(true, 2, wanted_elements());
	ck_assert_uint_eq(failures(true), 0);
}
END_TEST

TEST_MAIN(tame_values, extreme_values)
