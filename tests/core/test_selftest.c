/* The self-test passes on every instruction set, and fails for a kernel that is broken: idle, or off by one bit. */
#include "core/selftest.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

static enum selftest_verdict verdict_on(size_t i, const struct kernels *table)
{
	struct selftest_trial trial, scalar;

	selftest_run(i, table, &trial);
	selftest_run(i, kernels_of(NC_ISA_SCALAR), &scalar);
	return selftest_judge(&trial, &scalar);
}

START_TEST(every_instruction_set_passes)
{
	for (int isa = 0; isa < NC_ISA_COUNT; isa++) {
		const struct kernels *table = kernels_of((enum nc_isa)isa);

		for (size_t i = 0; table && i < selftest_count(); i++) {
			enum selftest_verdict verdict = verdict_on(i, table);

			ck_assert_msg(verdict == SELFTEST_PASSED, "%s on %s: %s", selftest_name(i), nc_isa_name((enum nc_isa)isa),
			              selftest_text(verdict));
		}
	}
}
END_TEST

/* Of every kernel one that does nothing. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wpedantic"
#define KERNEL(result, name, arguments)                                                                               \
	static result idle_##name arguments                                                                            \
	{                                                                                                              \
		return (result)0;                                                                                      \
	}
#include "core/kernels.def"
#undef KERNEL
#pragma GCC diagnostic pop

START_TEST(an_idle_kernel_is_found)
{
	const struct kernels *good = kernels();
	size_t i = 0;

#define KERNEL(result, name, arguments)                                                                               \
	{                                                                                                              \
		struct kernels broken = *good;                                                                         \
		broken.name = idle_##name;                                                                             \
		ck_assert_str_eq(selftest_name(i), #name);                                                             \
		ck_assert_msg(verdict_on(i, &broken) != SELFTEST_PASSED, "an idle " #name);                            \
		i++;                                                                                                   \
	}
#include "core/kernels.def"
#undef KERNEL
	ck_assert_uint_eq(i, selftest_count());
}
END_TEST

static size_t index_of(const char *name)
{
	for (size_t i = 0; i < selftest_count(); i++)
		if (strcmp(selftest_name(i), name) == 0)
			return i;
	ck_abort_msg("no kernel %s", name);
}

/* Right where the result is exact, but the last bit of the 20th number of a long row is another. */
static void off_softmax(double *s, size_t count)
{
	kernels()->softmax(s, count);
	if (count > 19)
		s[19] = nextafter(s[19], 1);
}

static int off_norm(const struct norm_job *job, struct norm_task task)
{
	int wanted = kernels()->norm_narrow(job, task);

	if (job->features > 19)
		((float *)job->projected)[19] = nextafterf(((float *)job->projected)[19], 1);
	return wanted;
}

static int off_norm_y(const struct norm_job *job, struct norm_task task)
{
	int wanted = kernels()->norm_pairs(job, task);

	((double *)job->y)[0] = nextafter(((double *)job->y)[0], 1);
	return wanted;
}

START_TEST(one_bit_is_found)
{
	struct kernels broken = *kernels();

	broken.softmax = off_softmax;
	broken.norm_narrow = off_norm;
	broken.norm_pairs = off_norm_y;
	ck_assert_int_eq(verdict_on(index_of("softmax"), &broken), SELFTEST_DIFFERENT);
	ck_assert_int_eq(verdict_on(index_of("norm_narrow"), &broken), SELFTEST_DIFFERENT);
	ck_assert_int_eq(verdict_on(index_of("norm_pairs"), &broken), SELFTEST_WRONG);
	ck_assert_int_eq(verdict_on(index_of("multiply"), &broken), SELFTEST_PASSED);
}
END_TEST

TEST_MAIN(every_instruction_set_passes, an_idle_kernel_is_found, one_bit_is_found)
