/*
 * The open connections, and how long each may still keep us waiting.
 *
 * libmicrohttpd's own timeout sees only pauses, so a client that trickles would hold a connection for good; and its edge-triggered
 * polling misses the end of a connection that comes together with the last bytes. Both are mended here, by a sweep.
 */
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
	atomic_bool cut;              /* was too slow */
	atomic_bool sends;            /* its client has nothing more to send: the answer is on its way */
	_Atomic uint64_t deadline;    /* milliseconds on the monotonic clock; UINT64_MAX: waits for us, not for its client */
	uint64_t ended;               /* the sweep's: the deadline at which the client was seen to have closed */
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
 * What a connection waits for from now on. Receiving (or idle): its client has the timeout from `since`, and a second more for
 * each 16 KiB of the `bytes` that have come. Held: for us. Sending: its client has the timeout, and a second for each 16
 * KiB of the answer.
 */
void connections_receive(struct connections *connections, struct connection *connection, uint64_t since, size_t bytes);
void connections_hold(struct connection *connection);
void connections_send(struct connections *connections, struct connection *connection, size_t bytes);

/* Shuts down those that are past their time, or whose client has closed. About once a second, at most four times; one thread. */
void connections_sweep(struct connections *connections);

/* From now on clients have this much time for all that they still send: the daemon is to stop. */
void connections_hurry(struct connections *connections, uint64_t milliseconds);

/* Shuts all of them down; how many have not been removed yet. */
size_t connections_shut(struct connections *connections);

/* Milliseconds on the monotonic clock, a few of them coarse. */
uint64_t connections_now(void);

#endif
