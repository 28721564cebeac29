#include "arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#endif
#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
enum { RED_ZONE = NC_ALIGN }; /* an unreadable gap behind each block, so that an overrun is seen */
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) ((void)0)
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)0)
enum { RED_ZONE = 0 };
#endif

enum { HUGE_PAGE = 2 << 20, STEP = 16 << 20 };

struct nc_arena {
	char *base;
	size_t capacity;  /* bytes reserved, no access yet beyond `open` */
	size_t open;      /* bytes made readable and writable */
	size_t used;
	size_t last;      /* where the latest block begins; `used` when there is none */
	size_t peak;      /* the most that was used since the pages were last given back */
};

static size_t round_up(size_t bytes, size_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

struct nc_arena *nc_arena_create(size_t capacity)
{
	struct nc_arena *arena = calloc(1, sizeof *arena);
	if (!arena || capacity > SIZE_MAX / 2)
		goto fail;
	arena->capacity = round_up(capacity ? capacity : 1, HUGE_PAGE);

	/* Reserved without access, so that even a system that never overcommits grants it; begun on a huge page. */
	size_t mapped = arena->capacity + HUGE_PAGE;
	char *map = mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		goto fail;
	arena->base = (char *)round_up((uintptr_t)map, HUGE_PAGE);
	size_t before = (size_t)(arena->base - map);
	if (before)
		munmap(map, before);
	munmap(arena->base + arena->capacity, mapped - before - arena->capacity);
	/* Small pages first: most requests need no more, and a huge one each would be 2 GiB for a thousand that never end. */
	madvise(arena->base, HUGE_PAGE, MADV_NOHUGEPAGE);
	madvise(arena->base + HUGE_PAGE, arena->capacity - HUGE_PAGE, MADV_HUGEPAGE);
	return arena;
fail:
	free(arena);
	return NULL;
}

void nc_arena_destroy(struct nc_arena *arena)
{
	if (!arena)
		return;
	ASAN_UNPOISON_MEMORY_REGION(arena->base, arena->open);
	munmap(arena->base, arena->capacity);
	free(arena);
}

void *nc_arena_alloc(struct nc_arena *arena, size_t bytes)
{
	if (bytes > arena->capacity)
		return NULL;
	size_t begin = arena->used, end = begin + round_up(bytes, NC_ALIGN) + RED_ZONE;
	if (end > arena->capacity)
		return NULL;
	if (end > arena->open) {
		size_t open = round_up(end, STEP);
		if (open > arena->capacity)
			open = arena->capacity;
		if (mprotect(arena->base + arena->open, open - arena->open, PROT_READ | PROT_WRITE) != 0)
			return NULL;
		ASAN_POISON_MEMORY_REGION(arena->base + arena->open, open - arena->open);
		arena->open = open;
	}
	arena->last = begin;
	arena->used = end;
	if (end > arena->peak)
		arena->peak = end;
	ASAN_UNPOISON_MEMORY_REGION(arena->base + begin, bytes);
	return arena->base + begin;
}

void *nc_arena_array(struct nc_arena *arena, size_t count, size_t size)
{
	size_t bytes;
	return __builtin_mul_overflow(count, size, &bytes) ? NULL : nc_arena_alloc(arena, bytes);
}

void *nc_arena_zero(struct nc_arena *arena, size_t count, size_t size)
{
	void *block = nc_arena_array(arena, count, size);
	return block ? memset(block, 0, count * size) : NULL;
}

void nc_arena_trim(struct nc_arena *arena, void *block, size_t bytes)
{
	size_t begin = (size_t)((char *)block - arena->base), end = begin + round_up(bytes, NC_ALIGN) + RED_ZONE;
	if (begin != arena->last || end > arena->used)
		return;
	ASAN_POISON_MEMORY_REGION(arena->base + begin + bytes, arena->used - begin - bytes);
	arena->used = end;
}

size_t nc_arena_mark(const struct nc_arena *arena)
{
	return arena->used;
}

void nc_arena_rewind(struct nc_arena *arena, size_t mark)
{
	ASAN_POISON_MEMORY_REGION(arena->base + mark, arena->used - mark);
	arena->used = arena->last = mark;
}

size_t nc_arena_left(const struct nc_arena *arena)
{
	size_t left = arena->capacity - arena->used;
	return left > RED_ZONE ? left - RED_ZONE : 0;
}

size_t nc_arena_touched(const struct nc_arena *arena)
{
	return round_up(arena->peak, HUGE_PAGE);
}

void nc_arena_reset(struct nc_arena *arena, size_t keep)
{
	nc_arena_rewind(arena, 0);
	keep = round_up(keep, HUGE_PAGE);
	if (arena->peak > keep) {
		madvise(arena->base + keep, round_up(arena->peak, HUGE_PAGE) - keep, MADV_DONTNEED);
		arena->peak = keep;
	}
}
