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
	_Atomic uint64_t timeout;
};

struct connections *connections_create(size_t limit, uint64_t timeout)
{
	struct connections *connections = calloc(1, sizeof *connections);
	if (!connections)
		return NULL;
	pthread_mutex_init(&connections->lock, NULL);
	connections->limit = limit;
	connections->timeout = timeout;
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
	connections_wait(connections, connection, connections_now(), 0);
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

void connections_wait(struct connections *connections, struct connection *connection, uint64_t since, size_t bytes)
{
	uint64_t deadline = since + connections->timeout + (uint64_t)bytes * 1000 / SLOWEST;
	atomic_store_explicit(&connection->deadline, deadline, memory_order_relaxed);
}

void connections_hold(struct connection *connection)
{
	atomic_store_explicit(&connection->deadline, UINT64_MAX, memory_order_relaxed);
}

size_t connections_sweep(struct connections *connections)
{
	uint64_t now = connections_now();
	size_t busy = 0;
	pthread_mutex_lock(&connections->lock);
	for (struct connection *c = connections->first; c; c = c->next) {
		if (c->deadline >= now || c->cut)
			continue;
		busy += c->busy;
		c->cut = true;
		shutdown(c->fd, SHUT_RDWR);
	}
	pthread_mutex_unlock(&connections->lock);
	return busy;
}

void connections_hurry(struct connections *connections, uint64_t timeout)
{
	uint64_t latest = connections_now() + timeout;
	pthread_mutex_lock(&connections->lock);
	if (timeout < connections->timeout)
		connections->timeout = timeout;
	for (struct connection *c = connections->first; c; c = c->next) {
		uint64_t deadline = c->deadline;
		/* it may be moved meanwhile, by the new timeout or to "never": then it needs no change */
		if (deadline > latest && deadline != UINT64_MAX)
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
