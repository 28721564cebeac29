/*
 * The HTTP side of the daemon: libmicrohttpd's threads, and the way of a request through them to the api and back.
 *
 * Lifetimes and locks are told in threads.md.
 */
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H

#include "api/api.h"
#include "config.h"

#include <stdbool.h>

struct http;

/* Starts the threads; config (its numbers final, none 0 but where 0 has a meaning) and api are used, not owned. NULL on failure. */
struct http *http_start(const struct config *config, struct api *api);

/* Serves a connected socket, which is ours from now on whatever happens. One thread. */
void http_add(struct http *http, int fd);

/* Cuts off the clients that are too slow; to be called about once a second. */
void http_sweep(struct http *http);

/* From now on new requests are refused with 503, those under way are finished; new connections need not be added. */
void http_drain(struct http *http);

/* Requests under way. */
size_t http_in_flight(const struct http *http);

/* Shuts down every connection, after a drain with nothing in flight; false while some are still open. */
bool http_hang_up(struct http *http);

/* Frees everything. Only once nobody is connected: libmicrohttpd (0.9.75) may crash when told to stop amid a bad request. */
void http_stop(struct http *http);

#endif
