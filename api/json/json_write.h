/*
 * Writes JSON into a buffer in the arena. Commas and indentation come of themselves.
 *
 * The buffer grows by moving, so whoever knows an upper bound reserves it first. When memory runs out `failed` is set,
 * and everything after it is dropped.
 */
#ifndef API_JSON_WRITE_H
#define API_JSON_WRITE_H

#include "core/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct writer {
	struct nc_arena *arena;
	char *base, *at, *end;   /* text is base..at, room is at..end */
	bool pretty;             /* two spaces a level, one member a line */
	bool comma;              /* a value stands before the next one */
	bool after_key;
	bool failed;
	unsigned depth;
};

/* An empty text; nothing is allocated until the first byte or reservation. */
struct writer writer_start(struct nc_arena *arena, bool pretty);

/* Makes room for `bytes` more bytes; false (and failed) when there is no memory. */
bool writer_grow(struct writer *out, size_t bytes);
static inline bool writer_reserve(struct writer *out, size_t bytes)
{
	return !out->failed && (bytes <= (size_t)(out->end - out->at) || writer_grow(out, bytes));
}

/* Gives the unused end of the buffer back to the arena. */
void writer_finish(struct writer *out);

/* open: '{' or '['; close: '}' or ']'. */
void write_open(struct writer *out, char open);
void write_close(struct writer *out, char close);

void write_key_n(struct writer *out, const char *key, size_t len);      /* nothing in it that needs an escape */
void write_name(struct writer *out, const char *name);                  /* a string, nothing in it that needs an escape */
void write_string_n(struct writer *out, const char *text, size_t len);  /* UTF-8 */
static inline void write_key(struct writer *out, const char *key) { write_key_n(out, key, strlen(key)); }
static inline void write_string(struct writer *out, const char *text) { write_string_n(out, text, strlen(text)); }
void write_number(struct writer *out, double value);           /* finite: shortest; else null */
void write_size(struct writer *out, size_t value);
void write_bool(struct writer *out, bool value);
void write_null(struct writer *out);
void write_json(struct writer *out, const char *json);         /* a value that is JSON text already */
void write_sizes(struct writer *out, const size_t *values, size_t count);  /* [2,3] on one line */

/* The comma, line break and indentation that belong before a value; write_* call it themselves. */
void write_before_value(struct writer *out);

/* Bytes as they are, within a value. */
void write_raw(struct writer *out, const char *bytes, size_t len);
void write_number_raw(struct writer *out, double value);                /* finite */
void write_size_raw(struct writer *out, size_t value);
static inline void write_raw_text(struct writer *out, const char *text) { write_raw(out, text, strlen(text)); }

#endif
