/* Dispatch: what is selected runs, what cannot run is refused, and every table gives the same bits. */
#include "core/kernels.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

START_TEST(the_strongest_is_chosen)
{
	for (int i = 0; i < NC_ISA_COUNT; i++)
		if (nc_isa_supported((enum nc_isa)i))
			ck_assert_int_ge((int)nc_isa_current(), i);
	ck_assert(nc_isa_supported(nc_isa_current()));
	ck_assert(nc_isa_supported(NC_ISA_SCALAR));
}
END_TEST

START_TEST(each_can_be_forced)
{
	for (int i = 0; i < NC_ISA_COUNT; i++) {
		const char *name = nc_isa_name((enum nc_isa)i);

		ck_assert_int_eq(nc_isa_select(name), nc_isa_supported((enum nc_isa)i));
		if (nc_isa_supported((enum nc_isa)i)) {
			ck_assert_int_eq((int)nc_isa_current(), i);
			ck_assert_ptr_eq(kernels(), kernels_of((enum nc_isa)i));
		} else {
			ck_assert_ptr_null(kernels_of((enum nc_isa)i));
		}
	}
	ck_assert(nc_isa_select("auto"));
}
END_TEST

START_TEST(unknown_names_are_refused)
{
	enum nc_isa before = nc_isa_current();

	ck_assert(!nc_isa_select("avx1024"));
	ck_assert(!nc_isa_select(""));
	ck_assert_int_eq((int)nc_isa_current(), (int)before);
}
END_TEST

START_TEST(every_entry_is_filled)
{
	for (int i = 0; i < NC_ISA_COUNT; i++) {
		const struct kernels *table = kernels_of((enum nc_isa)i);

		if (!table)
			continue;
#define KERNEL(result, name, arguments) ck_assert_msg(table->name != NULL, "%s of %s", #name, nc_isa_name((enum nc_isa)i));
#include "core/kernels.def"
#undef KERNEL
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("isa");
	TCase *tcase = tcase_create("isa");
	SRunner *runner = srunner_create(suite);

	tcase_add_test(tcase, the_strongest_is_chosen);
	tcase_add_test(tcase, each_can_be_forced);
	tcase_add_test(tcase, unknown_names_are_refused);
	tcase_add_test(tcase, every_entry_is_filled);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
