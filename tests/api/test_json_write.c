/* The writer: commas, indentation, escapes, growth, and what it does without memory. */
#include "api/json/json_write.h"
#include "tests/support/suite.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void fill(struct writer *out)
{
	write_open(out, '{');
	write_key(out, "empty");
	write_open(out, '{');
	write_close(out, '}');
	write_key(out, "list");
	write_open(out, '[');
	write_number(out, 1.5);
	write_size(out, 18446744073709551615u);
	write_bool(out, true);
	write_null(out);
	write_number(out, NAN);
	write_close(out, ']');
	write_key(out, "sizes");
	write_sizes(out, (const size_t[]){2, 0, 3}, 3);
	write_key(out, "text");
	write_string(out, "a\"b\\c\n\x01 µ");
	write_close(out, '}');
}

START_TEST(compact)
{
	struct nc_arena *arena = nc_arena_create(1 << 20);
	struct writer out = writer_start(arena, false);
	fill(&out);
	static const char want[] = "{\"empty\":{},\"list\":[1.5,18446744073709551615,true,null,null],\"sizes\":[2,0,3],"
	                           "\"text\":\"a\\\"b\\\\c\\u000a\\u0001 µ\"}";
	ck_assert_uint_eq((size_t)(out.at - out.base), sizeof want - 1);
	ck_assert_mem_eq(out.base, want, sizeof want - 1);
	nc_arena_destroy(arena);
}
END_TEST

START_TEST(pretty)
{
	struct nc_arena *arena = nc_arena_create(1 << 20);
	struct writer out = writer_start(arena, true);
	fill(&out);
	static const char want[] = "{\n  \"empty\": {},\n  \"list\": [\n    1.5,\n    18446744073709551615,\n    true,\n    null,\n    null\n  ],\n"
	                           "  \"sizes\": [2,0,3],\n  \"text\": \"a\\\"b\\\\c\\u000a\\u0001 µ\"\n}";
	ck_assert_uint_eq((size_t)(out.at - out.base), sizeof want - 1);
	ck_assert_mem_eq(out.base, want, sizeof want - 1);
	nc_arena_destroy(arena);
}
END_TEST

START_TEST(grows_and_keeps_its_text)
{
	struct nc_arena *arena = nc_arena_create(1 << 24);
	struct writer out = writer_start(arena, false);
	write_open(&out, '[');
	for (size_t i = 0; i < 100000; i++)
		write_size(&out, i);
	write_close(&out, ']');
	writer_finish(&out);
	ck_assert(!out.failed);
	json_t *list = json_loadb(out.base, (size_t)(out.at - out.base), 0, NULL);
	ck_assert_uint_eq(json_array_size(list), 100000);
	for (size_t i = 0; i < 100000; i++)
		ck_assert_int_eq(json_integer_value(json_array_get(list, i)), (json_int_t)i);
	json_decref(list);
	nc_arena_destroy(arena);
}
END_TEST

START_TEST(without_memory_it_fails_and_stays_safe)
{
	struct nc_arena *arena = nc_arena_create(1 << 20);
	nc_arena_alloc(arena, nc_arena_left(arena));
	struct writer out = writer_start(arena, true);
	fill(&out);
	ck_assert(out.failed);
	ck_assert(!writer_reserve(&out, (size_t)-1));
	writer_finish(&out);
	nc_arena_destroy(arena);
}
END_TEST

TEST_MAIN(compact, pretty, grows_and_keeps_its_text, without_memory_it_fails_and_stays_safe)
