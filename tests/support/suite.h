/* TEST_MAIN(test, …): main() of a Check program that runs these tests as one suite named after its file. */
#ifndef TESTS_SUITE_H
#define TESTS_SUITE_H

#include <check.h>

/* Runs the tests and returns the program's exit status. CK_FORK=no in the environment keeps them in one process. */
int suite_run(const char *file, const TTest *const *tests, int count);

#define TEST_MAIN(...)                                                             \
	int main(void)                                                             \
	{                                                                          \
		const TTest *const tests[] = {__VA_ARGS__};                        \
		return suite_run(__FILE__, tests, sizeof tests / sizeof *tests);   \
	}

#endif
