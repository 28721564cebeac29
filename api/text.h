/* Sentences made of parts, in the arena. */
#ifndef API_TEXT_H
#define API_TEXT_H

#include "core/arena.h"

#include <stdbool.h>
#include <stddef.h>

enum { TEXT_MOST = 1600 };

/* Grows up to TEXT_MOST bytes; what does not fit is dropped whole. */
struct text {
	char bytes[TEXT_MOST];
	size_t len;
};

/* Appends; every "{dtype}" in part becomes dtype (which may be NULL when there is none). */
void text_add(struct text *text, const char *part);
void text_add_for(struct text *text, const char *part, const char *dtype);
void text_add_number(struct text *text, double value);
void text_add_small(struct text *text, double value);   /* 1e-6 instead of 0.000001 */
void text_add_size(struct text *text, size_t value);

/* Appends `separator` where something stands already, then part. */
void text_add_listed(struct text *text, const char *separator, const char *part);

/* A copy in the arena; NULL when memory is short. */
const char *text_keep(struct nc_arena *arena, const struct text *text);

#endif
