/* Replays the fuzzer's corpus, and bytes bent from it by a fixed sequence. */
#include "tests/fuzz/fuzz_api.c"
#include "tests/support/suite.h"

#include <dirent.h>
#include <stdio.h>

enum { MOST = 1 << 16, BENT = 4000 };

static const char folder[] = "tests/fuzz/corpus/api";

static size_t read_input(const char *name, uint8_t *data)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "rb");
	ck_assert_msg(file != NULL, "%s", path);
	size_t size = fread(data, 1, MOST, file);
	fclose(file);
	return size;
}

static uint32_t next(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* Changes, drops, doubles or inserts a few bytes. */
static size_t bend(uint8_t *data, size_t size, uint32_t *state)
{
	static const char pieces[] = "[]{},:\"0123456789-+.eE NaNnull\\u\xff\"shape\"\"data\"1e400";
	for (uint32_t n = 1 + next(state) % 4; n > 0 && size > 1; n--) {
		size_t at = 1 + next(state) % (size - 1), len = 1 + next(state) % 8;
		len = len > size - at ? size - at : len;
		switch (next(state) % 4) {
		case 0:
			data[at] = (uint8_t)pieces[next(state) % (sizeof pieces - 1)];
			break;
		case 1:
			memmove(data + at, data + at + len, size - at - len);
			size -= len;
			break;
		case 2:
			if (size + len <= MOST) {
				memmove(data + at + len, data + at, size - at);
				size += len;
			}
			break;
		default:
			data[at] ^= (uint8_t)(1u << next(state) % 8);
		}
	}
	return size;
}

START_TEST(corpus_and_what_bends_from_it)
{
	static uint8_t data[MOST], bent[MOST];
	DIR *directory = opendir(folder);
	ck_assert_ptr_nonnull(directory);
	uint32_t state = 2463534242u;
	int inputs = 0;
	for (struct dirent *entry; (entry = readdir(directory));) {
		if (entry->d_name[0] == '.')
			continue;
		size_t size = read_input(entry->d_name, data);
		LLVMFuzzerTestOneInput(data, size);
		for (int i = 0; i < BENT / 20; i++) {
			memcpy(bent, data, size);
			LLVMFuzzerTestOneInput(bent, bend(bent, size, &state));
		}
		inputs++;
	}
	closedir(directory);
	ck_assert_int_ge(inputs, 20);
}
END_TEST

TEST_MAIN(corpus_and_what_bends_from_it)
