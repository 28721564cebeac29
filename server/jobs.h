/*
 * The large requests: a bounded number of places, and the threads that compute what has arrived.
 *
 * A place is reserved before the body is read, so that the memory of large bodies is bounded, and given back when the
 * answer is gone. The threads run at a lower priority, so that the threads that answer small requests go first.
 */
#ifndef SERVER_JOBS_H
#define SERVER_JOBS_H

#include <stdbool.h>
#include <stddef.h>

struct jobs;

/* Lies in its owner's memory from jobs_submit until run was called with it. */
struct job {
	struct job *next;
	void (*run)(struct job *job);
};

/* Starts the threads; NULL on failure. */
struct jobs *jobs_create(unsigned threads, size_t places);

/* Ends and joins the threads. Every submitted job must have been run. */
void jobs_destroy(struct jobs *jobs);

/* Takes a place; false when all are taken. Any thread, as are the functions below. */
bool jobs_reserve(struct jobs *jobs);
void jobs_release(struct jobs *jobs);
bool jobs_full(struct jobs *jobs);

/* Hands a job with a place to the threads: first come, first served. */
void jobs_submit(struct jobs *jobs, struct job *job);

#endif
