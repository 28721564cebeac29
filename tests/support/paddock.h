/*
 * Arrays that end at an unreadable page, with bytes before and after them that must not change: what a kernel reads
 * too far is a crash, what it writes too far is seen.
 */
#ifndef TESTS_PADDOCK_H
#define TESTS_PADDOCK_H

#include <stdbool.h>
#include <stddef.h>

struct paddock {
	char *base;
	size_t size;       /* of what can be touched, up to the page */
	char *array;       /* where the latest array lies */
	size_t bytes, gap; /* of it, and between its end and the page */
};

/* Room for arrays of up to `most` bytes. Fails the running test when the system refuses. */
void paddock_open(struct paddock *paddock, size_t most);
void paddock_close(struct paddock *paddock);

/* Places an array of `bytes` bytes that ends `gap` bytes before the page; all bytes of the paddock are set to a mark. */
void *paddock_place(struct paddock *paddock, size_t bytes, size_t gap);

/* Whether all bytes around the array still have the mark. */
bool paddock_intact(const struct paddock *paddock);

#endif
