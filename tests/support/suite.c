#include "suite.h"

#include <stdlib.h>
#include <string.h>

int suite_run(const char *file, const TTest *const *tests, int count)
{
	const char *slash = strrchr(file, '/');
	Suite *suite = suite_create(slash ? slash + 1 : file);
	TCase *group = tcase_create("all");
	tcase_set_timeout(group, 0); /* the runner has a limit; a slow machine is no failure */
	for (int i = 0; i < count; i++)
		_tcase_add_test(group, tests[i], 0, 0, 0, 1);
	suite_add_tcase(suite, group);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
