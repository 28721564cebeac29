/*
 * One request and its answer, with all their memory: kept after use and taken again, the latest first, because its
 * pages are still warm.
 */
#ifndef SERVER_EXCHANGE_H
#define SERVER_EXCHANGE_H

#include "api/api.h"
#include "head.h"
#include "jobs.h"

#include <stdint.h>

struct exchange {
	struct exchange *next;           /* among the idle ones */
	size_t kept;                     /* bytes of pages that an idle one holds */
	struct nc_arena *arena;

	/* All below is zeroed when the exchange is taken. */
	struct api_request request;
	struct api_answer answer;
	struct head head;
	char id[HEAD_ID_MAX + 1];        /* of the request: the client's or ours */
	char trace[HEAD_TRACE_LENGTH + 1];
	uint64_t begun;                  /* nanoseconds on the monotonic clock */

	char *body;                      /* room for `room` bytes, `request.body_len` of them arrived */
	size_t room;
	size_t warm;                     /* bytes of it whose pages are there already */
	uint64_t awaited;                /* since when its client is waited for: milliseconds on the monotonic clock */
	size_t discarded;                /* bytes of a body that is no longer wanted */
	const char *refusal, *detail;    /* what to answer once the unwanted body is over: a name of errors.def and its sentence */

	struct job job;                  /* while the workers have it */
	void *owner, *connection;        /* whose it is, for the worker that hands it back */
	bool place;                      /* holds a place among the large ones */
	bool answered;                   /* the worker has filled the answer */
	bool close;                      /* the connection ends with this answer */
	bool unread;                     /* a body that nobody will read may still be on its way */
};

struct exchanges;

/* Each request may use arena_bytes of addresses; idle ones hold at most `keep` bytes, and two MiB each for a few. */
struct exchanges *exchanges_create(size_t arena_bytes, size_t keep);

/* Every exchange must have been given back. */
void exchanges_destroy(struct exchanges *exchanges);

/* NULL when memory is short. Any thread. */
struct exchange *exchanges_take(struct exchanges *exchanges);
void exchanges_give(struct exchanges *exchanges, struct exchange *exchange);

/* The value of a header of its answer, or NULL. */
const char *exchange_header(const struct exchange *exchange, const char *name);

/* The line of the log that tells of it: its end as log.h has it, and how long it took. */
void exchange_log(const struct exchange *exchange, uint64_t nanoseconds, const char *end);

#endif
