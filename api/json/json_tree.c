#include "json_tree.h"

#include "../call.h"
#include "json_text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/*
 * jansson asks for its memory by two functions for the whole process. While a thread parses a request, they take it
 * from that request's arena, and freeing does nothing; any other use of jansson goes to the heap.
 */
static _Thread_local struct {
	struct nc_arena *arena;
	char *at, *end;
	bool failed;    /* jansson does not always report it as such */
	bool spilled;   /* memory of the arena was used */
} small;

/*
 * The latest small tree of each thread. Without its numbers a request is mostly the same text as the one before, and jansson
 * reads text byte by byte. Nothing changes a tree once it is parsed.
 */
enum { KEPT_TEXT = 512, KEPT_BYTES = 8192 };
static _Thread_local struct {
	json_t *root;   /* NULL: none */
	size_t len;
	char text[KEPT_TEXT];
	char memory[KEPT_BYTES] __attribute__((aligned(16)));
} kept;

static void *tree_alloc(size_t bytes)
{
	if (!small.arena)
		return malloc(bytes);
	bytes = (bytes + 15) & ~(size_t)15;
	if (bytes > (size_t)(small.end - small.at)) {
		size_t block = bytes > 4096 ? bytes : 4096;
		char *at = nc_arena_alloc(small.arena, block);
		if (!at) {
			small.failed = true;
			return NULL;
		}
		small.at = at;
		small.end = at + block;
		small.spilled = true;
	}
	void *memory = small.at;
	small.at += bytes;
	return memory;
}

static void tree_free(void *memory)
{
	if (!small.arena)
		free(memory);
}

void json_tree_setup(void)
{
	json_set_alloc_funcs(tree_alloc, tree_free);
	json_object_seed(0);
}

/* The key that ends at or before `offset` of the body: the start of its quotes. */
static const char *key_before(const struct lift *lift, size_t offset)
{
	const char *at = lift->text + offset;
	while (at > lift->text && (at == lift->end || *at != '"'))
		at--;
	while (--at > lift->text) {
		const char *back = at;
		while (back > lift->text && back[-1] == '\\')
			back--;
		if (*at == '"' && (at - back) % 2 == 0)
			return at;
	}
	return lift->text;
}

static bool explain(struct call *call, const json_error_t *error)
{
	enum { SHOWN = 40 };
	const struct lift *lift = &call->lift;
	enum json_error_code code = json_error_code(error);
	size_t offset = lift_origin(lift, error->position > 0 ? (size_t)error->position : 0);

	if (small.failed || code == json_error_out_of_memory)
		return fail_memory(call);
	if (code != json_error_duplicate_key)
		return fail_text(call, PROBLEM_bad_json, offset, "%s", error->text);
	const char *key = key_before(lift, offset);
	const char *close = json_string_end(key + 1, lift->end);
	size_t len = close ? (size_t)(close - key) + 1 : 0;
	if (len == 0 || len > SHOWN)
		return fail_text(call, PROBLEM_duplicate_key, (size_t)(key - lift->text), "a key stands twice in one object: leave one of them out");
	return fail_text(call, PROBLEM_duplicate_key, (size_t)(key - lift->text),
	                 "the key %.*s stands twice in one object: leave one of them out", (int)len, key);
}

static bool parse(struct call *call)
{
	const struct lift *lift = &call->lift;
	bool keep = lift->envelope_len <= KEPT_TEXT;
	json_error_t error;

	if (keep)
		kept.root = NULL;
	small.arena = call->arena;
	small.at = kept.memory;
	small.end = keep ? kept.memory + KEPT_BYTES : small.at;
	small.failed = small.spilled = false;
	call->root = json_loadb(lift->envelope, lift->envelope_len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	small.arena = NULL;
	if (!call->root || small.failed)
		return explain(call, &error);
	if (keep && !small.spilled) {
		memcpy(kept.text, lift->envelope, lift->envelope_len);
		kept.len = lift->envelope_len;
		kept.root = call->root;
	}
	return true;
}

bool json_tree_parse(struct call *call)
{
	const struct lift *lift = &call->lift;

	if (kept.root && kept.len == lift->envelope_len && memcmp(kept.text, lift->envelope, kept.len) == 0)
		call->root = kept.root;
	else if (!parse(call))
		return false;
	if (!json_is_object(call->root))
		return fail(call, PROBLEM_not_an_object, NULL, "\"an object\"", NULL,
		            "the body must be a JSON object, such as {\"x\":[3,4]}");
	return true;
}
