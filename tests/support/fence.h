/* Arrays that end at an unreadable page, so that one element too many is a crash. */
#ifndef TESTS_FENCE_H
#define TESTS_FENCE_H

#include <stddef.h>

/* count doubles, the last one just before the page; zeroed. Fails the running test when the system refuses. */
double *fence_open(size_t count);
void fence_close(double *array, size_t count);

#endif
