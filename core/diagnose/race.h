/*
 * Many hypotheses raced on ever larger parts of the data: a few elements rule out most of them. Internal.
 */
#ifndef NORMCORE_RACE_H
#define NORMCORE_RACE_H

#include "evidence.h"

typedef void race_weigh_fn(const struct evidence *evidence, const struct nc_hypothesis *h, struct evidence_stage stage,
                           struct evidence_fit *fit, const struct evidence_trace *trace);

/* How a hypothesis is priced: simpler ones are told first among those that the data cannot tell apart. */
typedef unsigned race_cost_fn(const void *context, const struct nc_hypothesis *h);

struct race_candidate {
	struct nc_hypothesis h;
	unsigned cost;            /* the less, the simpler; known once a sample has left the candidate in the race */
	unsigned order;           /* where it was entered: settles what cost and score leave open */
	struct evidence_fit fit;
	bool tied;                /* for the caller */
};

struct race {
	const struct evidence *evidence;
	race_weigh_fn *weigh;
	race_cost_fn *cost;
	const void *context;      /* of cost */
	struct nc_pool *pool;
	struct race_candidate *candidate;
	size_t count, capacity, entered;
};

/* Enters a hypothesis; false when full. */
bool race_enter(struct race *race, const struct nc_hypothesis *h);

/*
 * Leaves the best `keep` candidates that the sample contradicts, best first, after all that it does not, simplest
 * first. Returns how many of the latter there are. Their fits are those of the last sample.
 */
size_t race_run(struct race *race, size_t keep);

/* Weighs the first `count` candidates on a part of the data. */
void race_weigh(struct race *race, struct evidence_stage stage, size_t count);

/* Weighs the first `count` candidates on all of the data. What predicts the same as an earlier one takes its fit. */
void race_finish(struct race *race, size_t count);

/* Sorts the first `count` candidates as race_run does. */
size_t race_sort(struct race *race, size_t count);

#endif
