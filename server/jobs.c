#include "jobs.h"
#include "priority.h"

#include <pthread.h>
#include <stdlib.h>

struct jobs {
	pthread_mutex_t lock;
	pthread_cond_t arrived;
	struct job *first, **last;   /* waiting */
	size_t places, taken;
	bool ending;
	unsigned threads;
	pthread_t thread[];
};

static void *work(void *argument)
{
	struct jobs *jobs = argument;
	priority_yielding();
	pthread_mutex_lock(&jobs->lock);
	for (;;) {
		while (!jobs->first && !jobs->ending)
			pthread_cond_wait(&jobs->arrived, &jobs->lock);
		struct job *job = jobs->first;
		if (!job)
			break;
		jobs->first = job->next;
		if (!jobs->first)
			jobs->last = &jobs->first;
		pthread_mutex_unlock(&jobs->lock);
		job->run(job);
		pthread_mutex_lock(&jobs->lock);
	}
	pthread_mutex_unlock(&jobs->lock);
	return NULL;
}

struct jobs *jobs_create(unsigned threads, size_t places)
{
	struct jobs *jobs = calloc(1, sizeof *jobs + threads * sizeof *jobs->thread);
	if (!jobs)
		return NULL;
	pthread_mutex_init(&jobs->lock, NULL);
	pthread_cond_init(&jobs->arrived, NULL);
	jobs->last = &jobs->first;
	jobs->places = places;
	while (jobs->threads < threads && pthread_create(&jobs->thread[jobs->threads], NULL, work, jobs) == 0)
		jobs->threads++;
	if (jobs->threads == threads)
		return jobs;
	jobs_destroy(jobs);
	return NULL;
}

void jobs_destroy(struct jobs *jobs)
{
	if (!jobs)
		return;
	pthread_mutex_lock(&jobs->lock);
	jobs->ending = true;
	pthread_cond_broadcast(&jobs->arrived);
	pthread_mutex_unlock(&jobs->lock);
	for (unsigned i = 0; i < jobs->threads; i++)
		pthread_join(jobs->thread[i], NULL);
	pthread_cond_destroy(&jobs->arrived);
	pthread_mutex_destroy(&jobs->lock);
	free(jobs);
}

bool jobs_reserve(struct jobs *jobs)
{
	pthread_mutex_lock(&jobs->lock);
	bool free_place = jobs->taken < jobs->places;
	jobs->taken += free_place;
	pthread_mutex_unlock(&jobs->lock);
	return free_place;
}

void jobs_release(struct jobs *jobs)
{
	pthread_mutex_lock(&jobs->lock);
	jobs->taken--;
	pthread_mutex_unlock(&jobs->lock);
}

bool jobs_full(struct jobs *jobs)
{
	pthread_mutex_lock(&jobs->lock);
	bool full = jobs->taken >= jobs->places;
	pthread_mutex_unlock(&jobs->lock);
	return full;
}

void jobs_submit(struct jobs *jobs, struct job *job)
{
	job->next = NULL;
	pthread_mutex_lock(&jobs->lock);
	*jobs->last = job;
	jobs->last = &job->next;
	pthread_cond_signal(&jobs->arrived);
	pthread_mutex_unlock(&jobs->lock);
}
