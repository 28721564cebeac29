#include "tensor_text.h"

#include <string.h>

enum {
	SLACK = 64,            /* json_write_list may overwrite so much behind its text */
	SLOT = 64 << 10,       /* bytes that a span may take */
	WAVE = 32,             /* spans written before they are moved */
	FEW = 16 << 10         /* numbers that one thread writes as fast as many */
};

/* The lists to write: the shape up to its first axis of size 0, since there is nothing in what lies within. */
struct lists {
	const struct tensor_text *text;
	unsigned rank;
	size_t row;    /* elements of an innermost list */
	size_t rows;   /* innermost lists */
};

static struct lists lists_of(const struct tensor_text *text)
{
	const struct nc_tensor *t = text->tensor;
	struct lists lists = {.text = text, .row = 1, .rows = 1};

	while (lists.rank < t->rank && lists.row) {
		lists.rows *= lists.row;
		lists.row = t->shape[lists.rank++];
	}
	return lists;
}

/* --- brackets -------------------------------------------------------------------------------------------------------- */

static char *break_line(const struct lists *lists, char *at, unsigned brackets)
{
	size_t indent = 2 * (size_t)(lists->text->depth + brackets);
	if (!lists->text->pretty)
		return at;
	*at = '\n';
	memset(at + 1, ' ', indent);
	return at + 1 + indent;
}

/* Opens the lists within `brackets` open ones, the innermost one last. */
static char *open_lists(const struct lists *lists, char *at, unsigned brackets)
{
	while (brackets < lists->rank) {
		*at++ = '[';
		if (++brackets < lists->rank)
			at = break_line(lists, at, brackets);
	}
	return at;
}

/* Closes lists until only `brackets` are open. */
static char *close_lists(const struct lists *lists, char *at, unsigned brackets)
{
	for (unsigned open = lists->rank; open > brackets; open--) {
		if (open < lists->rank)
			at = break_line(lists, at, open - 1);
		*at++ = ']';
	}
	return at;
}

/* What stands before row i: the end of the one before it and its own beginning. */
static char *begin_row(const struct lists *lists, char *at, size_t i)
{
	unsigned brackets = 0;

	if (i) {
		brackets = lists->rank - 1;
		for (; i % lists->text->tensor->shape[brackets - 1] == 0; brackets--)
			i /= lists->text->tensor->shape[brackets - 1];
		at = close_lists(lists, at, brackets);
		*at++ = ',';
		at = break_line(lists, at, brackets);
	}
	return open_lists(lists, at, brackets);
}

/* --- spans ----------------------------------------------------------------------------------------------------------- */

/* Elements from `from` up to `to`, with the brackets and commas before each. *bad is one of them, or `to`. */
static char *write_span(const struct lists *lists, char *at, size_t from, size_t to, size_t *bad)
{
	const struct nc_tensor *t = lists->text->tensor;
	size_t bytes = nc_dtype_storage_bytes(t->dtype), stopped;

	for (size_t next; from < to; from = next) {
		size_t column = from % lists->row;
		if (column)
			*at++ = ',';
		else
			at = begin_row(lists, at, from / lists->row);
		next = from - column + lists->row < to ? from - column + lists->row : to;
		at = json_write_list(at, t->dtype, (const char *)t->data + from * bytes, next - from, lists->text->mode, &stopped);
		if (stopped < next - from && lists->text->mode == JSON_NONFINITE_STOP) {
			*bad = from + stopped;
			return at;
		}
	}
	*bad = to;
	return at;
}

/* Rows without elements. */
static char *write_empty_rows(const struct lists *lists, char *at)
{
	for (size_t i = 0; i < lists->rows; i++)
		at = begin_row(lists, at, i);
	return at;
}

/* Bytes before and behind a row, at most: it may close and open every list. */
static size_t row_bytes(const struct lists *lists)
{
	size_t line = lists->text->pretty ? 1 + 2 * (size_t)(lists->text->depth + lists->rank) : 0;
	return lists->rank * (2 + 2 * line) + 1 + line;
}

static size_t number_bytes(const struct lists *lists)
{
	return lists->text->tensor->dtype == NC_FLOAT64 ? JSON_FLOAT64_MAX : JSON_FLOAT32_MAX;
}

/*
 * Of the lists on axis i there are shape[0] … shape[i-1]; each has two brackets, a comma, and where it is pretty a line for
 * each bracket.
 */
size_t tensor_text_room(const struct tensor_text *text)
{
	struct lists lists = lists_of(text);
	size_t count = 1, room, brackets;

	if (__builtin_mul_overflow(text->tensor->count, number_bytes(&lists), &room) || __builtin_add_overflow(room, SLACK, &room))
		return (size_t)-1;
	for (unsigned i = 0; i < lists.rank; i++) {
		size_t each = text->pretty ? 5 + 4 * (size_t)(text->depth + i + 1) : 3;
		if (__builtin_mul_overflow(count, each, &brackets) || __builtin_add_overflow(room, brackets, &room) ||
		    __builtin_mul_overflow(count, text->tensor->shape[i], &count))
			return (size_t)-1;
	}
	return room;
}

/* --- many threads ---------------------------------------------------------------------------------------------------- */

struct span {
	size_t bytes, bad;
	char *slot, *place;   /* where it was written, where it belongs */
};

struct spans {
	const struct lists *lists;
	size_t each;                  /* elements of a span */
	size_t from, written, moved;  /* spans to write, begun at element `from`, and then to move */
	struct span waves[2][WAVE], *write, *move;
};

static void work_on_span(void *context, size_t i)
{
	struct spans *spans = context;

	if (i >= spans->written) {
		const struct span *span = &spans->move[i - spans->written];
		memcpy(span->place, span->slot, span->bytes);
		return;
	}
	struct span *span = &spans->write[i];
	size_t from = spans->from + i * spans->each, count = spans->lists->text->tensor->count;
	size_t to = count - from > spans->each ? from + spans->each : count;
	span->bytes = (size_t)(write_span(spans->lists, span->slot, from, to, &span->bad) - span->slot);
	if (span->bad == to)
		span->bad = count;
}

/* A wave of spans is moved while the next one is written. */
static char *write_spans(const struct lists *lists, struct nc_pool *pool, char *slots, char *out, size_t *bad)
{
	size_t count = lists->text->tensor->count;
	size_t element = number_bytes(lists) + (row_bytes(lists) + lists->row - 1) / lists->row;
	struct spans spans = {.lists = lists, .each = (SLOT - SLACK - row_bytes(lists)) / element};

	for (size_t i = 0; i < 2 * WAVE; i++)
		spans.waves[i / WAVE][i % WAVE].slot = slots + i * SLOT;
	spans.write = spans.waves[0];
	spans.move = spans.waves[1];
	for (*bad = count; spans.from < count || spans.moved;) {
		size_t left = (count - spans.from + spans.each - 1) / spans.each;
		spans.written = left < WAVE ? left : WAVE;
		nc_pool_run(pool, work_on_span, &spans, spans.written + spans.moved);
		for (size_t i = 0; i < spans.written; i++) {
			struct span *span = &spans.write[i];
			if (span->bad < count) {
				*bad = span->bad;
				return out;
			}
			span->place = out;
			out += span->bytes;
		}
		spans.from = left <= WAVE ? count : spans.from + WAVE * spans.each;
		spans.moved = spans.written;
		struct span *swap = spans.write;
		spans.write = spans.move;
		spans.move = swap;
	}
	return out;
}

char *tensor_text_write(const struct tensor_text *text, struct nc_pool *pool, struct nc_arena *arena, char *out, size_t *bad)
{
	size_t count = text->tensor->count, mark = nc_arena_mark(arena);
	struct lists lists = lists_of(text);

	if (lists.row == 0) {
		*bad = count;
		return close_lists(&lists, write_empty_rows(&lists, out), 0);
	}
	char *slots = count > FEW && nc_pool_threads(pool) > 1 ? nc_arena_alloc(arena, 2 * WAVE * SLOT) : NULL;
	out = slots ? write_spans(&lists, pool, slots, out, bad) : write_span(&lists, out, 0, count, bad);
	nc_arena_rewind(arena, mark);
	return close_lists(&lists, out, 0);
}
