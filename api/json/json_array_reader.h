/*
 * The machine that reads one array of numbers: json_lift_array.c runs it over a whole array, json_lift_split.c over its parts,
 * many at once.
 */
#ifndef API_JSON_ARRAY_READER_H
#define API_JSON_ARRAY_READER_H

#include "json_lift.h"

struct array_reader {
	struct call *call;
	struct lifted *value;          /* its shape is learnt here, its faults are told here */
	enum nc_dtype dtype;
	bool strings;
	bool part;                     /* reads a part: stops without a word before all that is not simply the next number or row */
	const char *end;               /* reads no further */
	bool more;                     /* the body goes on behind end, which stands behind a comma */
	size_t limit;                  /* elements that the limit allows */
	size_t capacity;               /* elements that there is memory for */
	size_t count;
	unsigned rank;
	unsigned level;                /* brackets open */
	bool closing;                  /* a ']' comes next: a part stopped before it */
	size_t len[NC_REQUEST_RANK];   /* elements complete at each level */
	bool known[NC_REQUEST_RANK];   /* the level's shape is known, by its first row */
};

/*
 * Reads on from *at until the array is closed (level 0), value has a fault, or *at is r->end with more to come. false:
 * malformed or no memory, the call's problem set; of a part: it stopped, and only if r->closing is its state sound.
 */
bool array_read(struct array_reader *r, const char **at);

/* From where on an array is read in parts: where it is not closed after so many bytes. */
enum { ARRAY_PART = 64 << 10 };

/* The place behind the first comma ARRAY_PART bytes on, or the body's end. */
const char *array_cut(const struct array_reader *r, const char *at);

/*
 * Reads on from `at`, where r paused, in parts that the pool's threads share, and leaves r as array_read would have.
 * Returns where array_read has to go on: maybe at `at` itself. It never fails: a part with anything out of the ordinary in
 * it is left to array_read.
 */
const char *array_read_split(struct array_reader *r, const char *at);

#endif
