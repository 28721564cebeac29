/* Which web origins may call (--cors-origin). */
#ifndef SERVER_CORS_H
#define SERVER_CORS_H

#include <stdbool.h>

/*
 * The value of Access-Control-Allow-Origin for a request from `origin` (NULL: none sent), where `allowed` is the
 * setting, "" or "*" or origins joined by commas. NULL: that origin may not call. Static, or `origin` itself.
 */
const char *cors_answer(const char *allowed, const char *origin);

/* Whether answers depend on the request's Origin, so that caches must be told (Vary). */
bool cors_varies(const char *allowed);

#endif
