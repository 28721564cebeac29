#include "fence.h"

#include <check.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t pages_of(size_t count)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	return (count * sizeof(double) + page - 1) / page * page;
}

double *fence_open(size_t count)
{
	size_t bytes = pages_of(count), page = (size_t)sysconf(_SC_PAGESIZE);
	char *base = mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert(base != MAP_FAILED);
	ck_assert_int_eq(mprotect(base + bytes, page, PROT_NONE), 0);
	return (double *)(void *)(base + bytes) - count;
}

void fence_close(double *array, size_t count)
{
	size_t bytes = pages_of(count);
	munmap((char *)(array + count) - bytes, bytes + (size_t)sysconf(_SC_PAGESIZE));
}
