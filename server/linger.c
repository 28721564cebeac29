#include "linger.h"
#include "connections.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 64, MILLISECONDS = 2000, MOST_BYTES = 256 << 20, PIECE = 1 << 20 };

struct lingering {
	pthread_mutex_t lock;          /* of fresh and fresh_count and ending */
	int fresh[MOST];               /* handed over, not yet seen by the thread */
	unsigned fresh_count;
	bool ending;
	int wake;                      /* an eventfd */
	pthread_t thread;

	struct pollfd polled[MOST + 1]; /* [0] is wake; the rest, and all below, is the thread's own */
	uint64_t deadline[MOST + 1];
	size_t left[MOST + 1];
	unsigned count;
};

static void drop(struct lingering *lingering, unsigned i)
{
	close(lingering->polled[i].fd);
	lingering->count--;
	lingering->polled[i] = lingering->polled[lingering->count];
	lingering->deadline[i] = lingering->deadline[lingering->count];
	lingering->left[i] = lingering->left[lingering->count];
}

/* Reads to nowhere (MSG_TRUNC on TCP copies nothing); whether there may be more to come. */
static bool discard(struct lingering *lingering, unsigned i, uint64_t now)
{
	if (lingering->polled[i].revents) {
		ssize_t n = recv(lingering->polled[i].fd, NULL, PIECE, MSG_TRUNC | MSG_DONTWAIT);
		if (n <= 0 || (size_t)n >= lingering->left[i])
			return false;
		lingering->left[i] -= (size_t)n;
	}
	return now < lingering->deadline[i];
}

/* Takes over what was handed over; false when the thread is to end. */
static bool take_fresh(struct lingering *lingering, uint64_t now)
{
	uint64_t counter;
	if (lingering->polled[0].revents && read(lingering->wake, &counter, sizeof counter) < 0)
		return true; /* nothing to read: another look will do */
	pthread_mutex_lock(&lingering->lock);
	bool ending = lingering->ending;
	while (lingering->fresh_count) {
		int fd = lingering->fresh[--lingering->fresh_count];
		if (lingering->count > MOST) {
			close(fd);
			continue;
		}
		lingering->polled[lingering->count] = (struct pollfd){.fd = fd, .events = POLLIN};
		lingering->deadline[lingering->count] = now + MILLISECONDS;
		lingering->left[lingering->count++] = MOST_BYTES;
	}
	pthread_mutex_unlock(&lingering->lock);
	return !ending;
}

static void *run(void *argument)
{
	struct lingering *lingering = argument;
	bool going_on = true;
	while (going_on) {
		poll(lingering->polled, lingering->count, lingering->count > 1 ? MILLISECONDS / 8 : -1);
		uint64_t now = connections_now();
		for (unsigned i = lingering->count - 1; i > 0; i--) {
			if (!discard(lingering, i, now))
				drop(lingering, i);
		}
		going_on = take_fresh(lingering, now);
	}
	while (lingering->count > 1)
		drop(lingering, lingering->count - 1);
	return NULL;
}

struct lingering *linger_create(void)
{
	struct lingering *lingering = calloc(1, sizeof *lingering);
	if (!lingering)
		return NULL;
	pthread_mutex_init(&lingering->lock, NULL);
	lingering->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	lingering->polled[0] = (struct pollfd){.fd = lingering->wake, .events = POLLIN};
	lingering->count = 1;
	if (lingering->wake >= 0 && pthread_create(&lingering->thread, NULL, run, lingering) == 0)
		return lingering;
	if (lingering->wake >= 0)
		close(lingering->wake);
	free(lingering);
	return NULL;
}

static void wake(struct lingering *lingering)
{
	if (write(lingering->wake, &(uint64_t){1}, sizeof(uint64_t)) < 0)
		return; /* its counter is full: it is awake */
}

void linger_destroy(struct lingering *lingering)
{
	if (!lingering)
		return;
	pthread_mutex_lock(&lingering->lock);
	lingering->ending = true;
	pthread_mutex_unlock(&lingering->lock);
	wake(lingering);
	pthread_join(lingering->thread, NULL);
	close(lingering->wake);
	pthread_mutex_destroy(&lingering->lock);
	free(lingering);
}

void linger_add(struct lingering *lingering, int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return;
	shutdown(copy, SHUT_WR);
	pthread_mutex_lock(&lingering->lock);
	bool taken = lingering->fresh_count < MOST;
	if (taken)
		lingering->fresh[lingering->fresh_count++] = copy;
	pthread_mutex_unlock(&lingering->lock);
	if (taken)
		wake(lingering);
	else
		close(copy);
}
