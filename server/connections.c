#include "connections.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

enum { SLOWEST = 16 << 10 }; /* bytes a second */

struct connections {
	pthread_mutex_t lock;        /* of the list and of each entry's fd being open */
	struct connection *first;
	size_t limit;
	_Atomic size_t count;
	uint64_t timeout;
	_Atomic uint64_t latest;     /* no client may send after this */
};

struct connections *connections_create(size_t limit, uint64_t timeout)
{
	struct connections *connections = calloc(1, sizeof *connections);
	if (!connections)
		return NULL;
	pthread_mutex_init(&connections->lock, NULL);
	connections->limit = limit;
	connections->timeout = timeout;
	connections->latest = UINT64_MAX;
	return connections;
}

void connections_destroy(struct connections *connections)
{
	if (!connections)
		return;
	pthread_mutex_destroy(&connections->lock);
	free(connections);
}

struct connection *connections_add(struct connections *connections, int fd)
{
	struct connection *connection = calloc(1, sizeof *connection);
	if (!connection)
		return NULL;
	connection->fd = fd;
	connections_receive(connections, connection, connections_now(), 0);
	pthread_mutex_lock(&connections->lock);
	connection->surplus = ++connections->count > connections->limit;
	connection->next = connections->first;
	if (connection->next)
		connection->next->previous = connection;
	connections->first = connection;
	pthread_mutex_unlock(&connections->lock);
	return connection;
}

void connections_remove(struct connections *connections, struct connection *connection)
{
	pthread_mutex_lock(&connections->lock);
	connections->count--;
	if (connection->previous)
		connection->previous->next = connection->next;
	else
		connections->first = connection->next;
	if (connection->next)
		connection->next->previous = connection->previous;
	pthread_mutex_unlock(&connections->lock);
	free(connection);
}

size_t connections_count(struct connections *connections)
{
	return connections->count;
}

static void set_deadline(struct connection *connection, uint64_t deadline)
{
	atomic_store_explicit(&connection->deadline, deadline, memory_order_relaxed);
}

void connections_receive(struct connections *connections, struct connection *connection, uint64_t since, size_t bytes)
{
	uint64_t deadline = since + connections->timeout + (uint64_t)bytes * 1000 / SLOWEST;
	connection->sends = false;
	set_deadline(connection, deadline < connections->latest ? deadline : connections->latest);
}

void connections_hold(struct connection *connection)
{
	set_deadline(connection, UINT64_MAX);
}

void connections_send(struct connections *connections, struct connection *connection, size_t bytes)
{
	connection->sends = true;
	set_deadline(connection, connections_now() + connections->timeout + (uint64_t)bytes * 1000 / SLOWEST);
}

/*
 * Whether the client has closed and nothing of what it sent is left to read. Seen twice at the same deadline, by two
 * sweeps, since what was read may be on its way through libmicrohttpd: a client may well close its side and await the answer.
 */
static bool has_ended(struct connection *connection, uint64_t deadline)
{
	char byte;
	if (connection->sends || deadline == UINT64_MAX || recv(connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0)
		return false;
	bool again = connection->ended == deadline;
	connection->ended = deadline;
	return again;
}

void connections_sweep(struct connections *connections)
{
	uint64_t now = connections_now();
	pthread_mutex_lock(&connections->lock);
	for (struct connection *c = connections->first; c; c = c->next) {
		uint64_t deadline = c->deadline;
		bool late = deadline < now && !c->cut;
		if (late)
			c->cut = true;
		if (late || has_ended(c, deadline))
			shutdown(c->fd, SHUT_RDWR);
	}
	pthread_mutex_unlock(&connections->lock);
}

size_t connections_shut(struct connections *connections)
{
	pthread_mutex_lock(&connections->lock);
	for (struct connection *c = connections->first; c; c = c->next)
		shutdown(c->fd, SHUT_RDWR);
	pthread_mutex_unlock(&connections->lock);
	return connections->count;
}

void connections_hurry(struct connections *connections, uint64_t milliseconds)
{
	uint64_t latest = connections_now() + milliseconds;
	connections->latest = latest;
	pthread_mutex_lock(&connections->lock);
	for (struct connection *c = connections->first; c; c = c->next) {
		uint64_t deadline = c->deadline;
		/* one that moves meanwhile does so by the new rule */
		if (!c->sends && deadline > latest && deadline != UINT64_MAX)
			atomic_compare_exchange_strong(&c->deadline, &deadline, latest);
	}
	pthread_mutex_unlock(&connections->lock);
}

uint64_t connections_now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
	return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}
