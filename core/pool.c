#include "pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

/*
 * One call of nc_pool_run: it lives on its caller's stack and is in the list while it has chunks that nobody took.
 * `next` is taken from without the lock; `helpers` counts the threads that may still touch it and is guarded by it.
 */
struct job {
	nc_pool_fn *fn;
	void *context;
	size_t chunks;
	atomic_size_t next;
	unsigned helpers;
	struct job *after;
};

struct nc_pool {
	pthread_mutex_t lock;     /* guards everything below; held for a few instructions, never while a chunk runs */
	pthread_cond_t work;      /* a job was listed, or the end has come */
	pthread_cond_t left;      /* a helper left its job */
	struct job *jobs;
	unsigned idle;            /* threads parked on `work` */
	bool stop;
	unsigned threads;         /* the caller counted */
	unsigned started;
	pthread_t thread[];
};

static void run_chunks(struct job *job)
{
	size_t i;
	while ((i = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed)) < job->chunks)
		job->fn(job->context, i);
}

static bool open_for_help(struct job *job)
{
	return atomic_load_explicit(&job->next, memory_order_relaxed) < job->chunks;
}

static void unlist(struct nc_pool *pool, struct job *job)
{
	for (struct job **link = &pool->jobs; *link; link = &(*link)->after)
		if (*link == job) {
			*link = job->after;
			return;
		}
}

static void *work(void *argument)
{
	struct nc_pool *pool = argument;
	pthread_mutex_lock(&pool->lock);
	while (!pool->stop) {
		struct job *job = pool->jobs;
		if (!job) {
			pool->idle++;
			pthread_cond_wait(&pool->work, &pool->lock);
			pool->idle--;
			continue;
		}
		if (!open_for_help(job)) { /* all taken: its caller only waits for the helpers that are in it */
			unlist(pool, job);
			continue;
		}
		job->helpers++;
		pthread_mutex_unlock(&pool->lock);
		run_chunks(job);
		pthread_mutex_lock(&pool->lock);
		if (--job->helpers == 0)
			pthread_cond_broadcast(&pool->left);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

struct nc_pool *nc_pool_create(unsigned threads)
{
	if (threads < 1)
		threads = 1;
	struct nc_pool *pool = calloc(1, sizeof *pool + (threads - 1) * sizeof *pool->thread);
	if (!pool)
		return NULL;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, NULL);
	pthread_cond_init(&pool->left, NULL);
	pool->threads = threads;
	for (; pool->started < threads - 1; pool->started++)
		if (pthread_create(&pool->thread[pool->started], NULL, work, pool) != 0) {
			nc_pool_destroy(pool);
			return NULL;
		}
	return pool;
}

void nc_pool_destroy(struct nc_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->started; i++)
		pthread_join(pool->thread[i], NULL);
	pthread_cond_destroy(&pool->left);
	pthread_cond_destroy(&pool->work);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

void nc_pool_run(struct nc_pool *pool, nc_pool_fn *fn, void *context, size_t chunks)
{
	if (!pool || pool->threads == 1 || chunks <= 1) {
		for (size_t i = 0; i < chunks; i++)
			fn(context, i);
		return;
	}
	struct job job = {.fn = fn, .context = context, .chunks = chunks};
	pthread_mutex_lock(&pool->lock);
	struct job **end = &pool->jobs; /* first come, first helped */
	while (*end)
		end = &(*end)->after;
	*end = &job;
	size_t wanted = chunks - 1 < pool->idle ? chunks - 1 : pool->idle;
	for (size_t i = 0; i < wanted; i++)
		pthread_cond_signal(&pool->work);
	pthread_mutex_unlock(&pool->lock);

	run_chunks(&job);

	pthread_mutex_lock(&pool->lock);
	unlist(pool, &job);
	while (job.helpers)
		pthread_cond_wait(&pool->left, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}

unsigned nc_pool_threads(const struct nc_pool *pool)
{
	return pool ? pool->threads : 1;
}
