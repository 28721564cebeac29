#include "pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

/*
 * Waking a parked thread takes tens of microseconds on a virtual machine, and jobs come in quick succession: so who has
 * nothing to do looks out for so long before it parks.
 */
enum { LOOK_OUT = 50000 /* nanoseconds */, LOOKS = 32 /* between two looks at the clock */ };

/*
 * One call of nc_pool_run: it lives on its caller's stack and is in the list while it has chunks that nobody took.
 * Chunks are taken without the lock, by the caller from the first on, by its helpers from the last: so that in a second pass over
 * the same rows each thread finds much of what it left in its own cache. `taken` counts both; `helpers` counts the threads that
 * may still touch the job and is changed under the lock.
 */
struct job {
	nc_pool_fn *fn;
	void *context;
	size_t chunks;
	atomic_size_t taken, back;
	atomic_uint helpers;
	struct job *after;
};

struct nc_pool {
	pthread_mutex_t lock;     /* guards everything below; held for a few instructions, never while a chunk runs */
	pthread_cond_t work;      /* a job was listed, or the end has come */
	pthread_cond_t left;      /* a helper left its job */
	_Atomic(struct job *) jobs;
	unsigned idle;            /* threads parked on `work` */
	unsigned looking;         /* threads that look out for jobs */
	bool stop;
	unsigned threads;         /* the caller counted */
	unsigned started;
	pthread_t thread[];
};

static bool take(struct job *job)
{
	return atomic_fetch_add_explicit(&job->taken, 1, memory_order_relaxed) < job->chunks;
}

static void run_own(struct job *job)
{
	for (size_t i = 0; take(job); i++)
		job->fn(job->context, i);
}

static void help(struct job *job)
{
	while (take(job))
		job->fn(job->context, job->chunks - 1 - atomic_fetch_add_explicit(&job->back, 1, memory_order_relaxed));
}

static bool open_for_help(struct job *job)
{
	return atomic_load_explicit(&job->taken, memory_order_relaxed) < job->chunks;
}

static void unlist(struct nc_pool *pool, struct job *job)
{
	struct job *before = pool->jobs;
	if (before == job) {
		pool->jobs = job->after;
		return;
	}
	while (before && before->after != job)
		before = before->after;
	if (before)
		before->after = job->after;
}

static void enlist(struct nc_pool *pool, struct job *job)
{
	struct job *last = pool->jobs; /* first come, first helped */
	while (last && last->after)
		last = last->after;
	if (last)
		last->after = job;
	else
		pool->jobs = job;
}

static long long nanoseconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void rest(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Whether a job was listed within LOOK_OUT. */
static bool look_for_job(struct nc_pool *pool)
{
	long long until = nanoseconds() + LOOK_OUT;
	do {
		for (int i = 0; i < LOOKS; i++) {
			if (atomic_load_explicit(&pool->jobs, memory_order_relaxed))
				return true;
			rest();
		}
	} while (nanoseconds() < until);
	return false;
}

/* Whether all helpers left the job within LOOK_OUT. */
static bool look_for_end(struct job *job)
{
	long long until = nanoseconds() + LOOK_OUT;
	do {
		for (int i = 0; i < LOOKS; i++) {
			if (atomic_load_explicit(&job->helpers, memory_order_acquire) == 0)
				return true;
			rest();
		}
	} while (nanoseconds() < until);
	return false;
}

static void *work(void *argument)
{
	struct nc_pool *pool = argument;
	pthread_mutex_lock(&pool->lock);
	while (!pool->stop) {
		struct job *job = pool->jobs;
		if (!job) {
			pool->looking++;
			pthread_mutex_unlock(&pool->lock);
			bool seen = look_for_job(pool);
			pthread_mutex_lock(&pool->lock);
			pool->looking--;
			if (seen || pool->jobs || pool->stop)
				continue;
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
		help(job);
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
	enlist(pool, &job);
	size_t wanted = chunks - 1 > pool->looking ? chunks - 1 - pool->looking : 0;
	if (wanted > pool->idle)
		wanted = pool->idle;
	for (size_t i = 0; i < wanted; i++)
		pthread_cond_signal(&pool->work);
	pthread_mutex_unlock(&pool->lock);

	run_own(&job);

	pthread_mutex_lock(&pool->lock);
	unlist(pool, &job);
	pthread_mutex_unlock(&pool->lock);
	if (look_for_end(&job))
		return;
	pthread_mutex_lock(&pool->lock);
	while (job.helpers)
		pthread_cond_wait(&pool->left, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}

unsigned nc_pool_threads(const struct nc_pool *pool)
{
	return pool ? pool->threads : 1;
}
