#include "paddock.h"

#include <check.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MARK = 0xa5, MARGIN = 256 };

void paddock_open(struct paddock *paddock, size_t most)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (most + 2 * MARGIN + page - 1) / page * page;
	char *base = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(base, MAP_FAILED);
	ck_assert_int_eq(mprotect(base + size, page, PROT_NONE), 0);
	*paddock = (struct paddock){.base = base, .size = size};
}

void paddock_close(struct paddock *paddock)
{
	munmap(paddock->base, paddock->size + (size_t)sysconf(_SC_PAGESIZE));
}

void *paddock_place(struct paddock *paddock, size_t bytes, size_t gap)
{
	ck_assert_uint_le(bytes + gap + MARGIN, paddock->size);
	paddock->bytes = bytes;
	paddock->gap = gap;
	paddock->array = paddock->base + paddock->size - gap - bytes;
	memset(paddock->array - MARGIN, MARK, MARGIN + bytes + gap);
	return paddock->array;
}

bool paddock_intact(const struct paddock *paddock)
{
	const unsigned char *before = (const unsigned char *)paddock->array - MARGIN;
	const unsigned char *after = (const unsigned char *)paddock->array + paddock->bytes;

	for (size_t i = 0; i < MARGIN; i++)
		if (before[i] != MARK)
			return false;
	for (size_t i = 0; i < paddock->gap; i++)
		if (after[i] != MARK)
			return false;
	return true;
}
