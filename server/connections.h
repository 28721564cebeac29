/* The open connections, each with the time at which its client counts as too slow. */
#ifndef SERVER_CONNECTIONS_H
#define SERVER_CONNECTIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct connection {
	struct connection *next, *previous;
	int fd;
	bool surplus;                 /* came beyond the limit: is answered 503 */
	bool linger;                  /* ends while its client may still be sending: see linger.h */
	atomic_bool busy;             /* a request has begun to arrive and its answer has not been sent */
	atomic_bool cut;              /* was too slow */
	_Atomic uint64_t deadline;    /* milliseconds on the monotonic clock; UINT64_MAX: waits for us, not for its client */
};

struct connections;

/* limit: how many are served; timeout in milliseconds. NULL when memory is short. */
struct connections *connections_create(size_t limit, uint64_t timeout);

/* Every connection must have been removed. */
void connections_destroy(struct connections *connections);

/* Any thread. NULL when memory is short. */
struct connection *connections_add(struct connections *connections, int fd);

/* Before fd is closed: afterwards its number may belong to another. */
void connections_remove(struct connections *connections, struct connection *connection);

size_t connections_count(struct connections *connections);

/*
 * The client has until since + timeout, and a second more for each 16 KiB of the `bytes` that it has sent or is to
 * take: a client that trickles is cut off, a slow line is not.
 */
void connections_wait(struct connections *connections, struct connection *connection, uint64_t since, size_t bytes);

/* From now on the client waits for us. */
void connections_hold(struct connection *connection);

/* Shuts down those that are past their time; returns how many of them were busy. */
size_t connections_sweep(struct connections *connections);

/* From now on the timeout is at most this, for requests under way too: the daemon is to stop. */
void connections_hurry(struct connections *connections, uint64_t timeout);

/* Milliseconds on the monotonic clock, a few of them coarse. */
uint64_t connections_now(void);

#endif
