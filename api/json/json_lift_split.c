/*
 * One array read by many threads.
 *
 * The text is cut behind commas, into parts of fixed size. In a rectangular array the number behind a comma has as many
 * numbers before it as there are commas, so that counting them (many times faster than reading numbers) tells where each
 * part's numbers go, and at which place of a row of known length it begins. Then all parts are read at once, each by the
 * machine that reads a whole array, and put together in their order as long as one follows from the other. What is not so
 * simple, every fault among it, is read again from the last sound place by one thread: so it is found and told as ever.
 *
 * It goes in waves, each four times as long as the one before: the text is still in the caches when it is read, and little is
 * counted in vain behind an array's end.
 */
#include "json_array_reader.h"

#include "../call.h"
#include "json_number.h"
#include "json_text.h"

#include <string.h>

enum { FIRST_WAVE = 4, GROWTH = 4, LONGEST_WAVE = 64 };

struct part {
	const char *from, *to;
	size_t commas;
	bool last;                     /* the array ends before `to`, or soon behind it */
	const char *at;                /* where it stopped */
	bool whole;                    /* there was nothing but numbers in it, up to `to` */
	struct lifted value;
	struct array_reader reader;
	size_t begin, begin_len[NC_REQUEST_RANK];  /* the state in which it was begun */
	unsigned begin_level;
};

struct wave {
	const struct array_reader *whole;
	struct part parts[LONGEST_WAVE];
};

static void count_part(void *context, size_t i)
{
	struct part *part = &((struct wave *)context)->parts[i];
	const char *to = json_count_commas(part->from, part->to, &part->commas);

	part->last |= to < part->to;
	part->to = to;
}

/* The outermost level whose shape is known, as is that of all within it. */
static unsigned known_from(const struct array_reader *r)
{
	unsigned level = r->rank;
	while (level && r->known[level - 1])
		level--;
	return level;
}

/* Sets a part's reader to where element `count` of the array is to come. */
static void set_up(const struct array_reader *whole, struct part *part, size_t count)
{
	struct array_reader *r = &part->reader;
	size_t rest = count;
	unsigned brackets = 0;

	*r = *whole;
	r->part = true;
	r->end = part->to;
	r->more = true;
	r->value = &part->value;
	r->count = count;
	r->limit = r->capacity = count + part->commas + part->last;
	part->value.fault = LIFT_FINE;
	part->value.tensor = whole->value->tensor;
	unsigned known = known_from(whole);
	for (unsigned i = r->rank; i-- > 0;) {
		r->len[i] = i < known ? 0 : rest % r->value->tensor.shape[i];
		rest = i < known ? 0 : rest / r->value->tensor.shape[i];
	}
	for (const char *at = part->from; (at = json_skip_space(at, part->to)) < part->to && *at == '['; at++)
		brackets++;
	r->level = brackets < r->rank ? r->rank - brackets : 0;
	part->begin = count;
	part->begin_level = r->level;
	memcpy(part->begin_len, r->len, sizeof r->len);
}

static void read_part(void *context, size_t i)
{
	struct part *part = &((struct wave *)context)->parts[i];

	part->at = part->from;
	part->whole = part->begin_level && array_read(&part->reader, &part->at) && !part->value.fault && part->reader.level;
}

/* Whether the part begins in the state in which the array was left before it. */
static bool follows(const struct array_reader *r, const struct part *part)
{
	unsigned known = known_from(r);

	if (part->begin != r->count || part->begin_level != r->level || r->level < known)
		return false;
	for (unsigned i = known; i < r->level; i++)
		if (part->begin_len[i] != r->len[i])
			return false;
	return true;
}

static void append(struct array_reader *r, const struct part *part)
{
	unsigned known = known_from(r);

	for (unsigned i = 0; i < r->rank; i++)
		r->len[i] = i < known ? r->len[i] + part->reader.len[i] : part->reader.len[i];
	r->level = part->reader.level;
	r->count = part->reader.count;
	r->closing = part->reader.closing;
}

/* Cuts a wave of at most `most` parts from `at`, counts, and sets the parts up; returns how many there are. */
static size_t plan(struct wave *wave, const char *at, size_t most)
{
	const struct array_reader *r = wave->whole;
	const char *end = r->call->lift.end;
	size_t parts = 0, count = r->count, fitting = 0;

	for (; parts < most && at < end; parts++) {
		struct part *part = &wave->parts[parts];
		part->from = at;
		part->to = at = array_cut(r, at);
		part->last = at == end;
	}
	nc_pool_run(r->call->api->pool, count_part, wave, parts);
	while (fitting < parts) {
		struct part *part = &wave->parts[fitting];
		if (part->commas + part->last > r->capacity - count)
			break;
		set_up(r, part, count);
		count += part->commas;
		fitting++;
		if (part->last)
			break;
	}
	return fitting;
}

const char *array_read_split(struct array_reader *r, const char *at)
{
	struct wave wave = {.whole = r};

	for (size_t most = FIRST_WAVE;; most = most * GROWTH < LONGEST_WAVE ? most * GROWTH : LONGEST_WAVE) {
		size_t parts = plan(&wave, at, most);
		if (!parts)
			return at;
		nc_pool_run(r->call->api->pool, read_part, &wave, parts);
		for (size_t i = 0; i < parts; i++) {
			const struct part *part = &wave.parts[i];
			if (!follows(r, part) || (!part->whole && !part->reader.closing))
				return at;
			append(r, part);
			at = part->at;
			if (!part->whole || part->last)
				return at;
		}
	}
}
