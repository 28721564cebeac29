#include "diagnose.h"

#include "departure.h"
#include "diagnose_enter.h"
#include "epsilon_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Contradicted candidates that each search hands on, and room for those of all searches. */
enum { RUNNERS_UP = 8, FINALISTS = 64, ROOM = 1 << 18 };

enum { MEANT_MOST = 64 };

struct search {
	const struct nc_diagnose_call *call;
	struct nc_diagnosis *diagnosis;
	struct evidence evidence;
	struct race race;
	struct race_candidate *finalists;
	size_t finalist_count;
	struct nc_finding *finding;
	const struct nc_tensor *output;   /* y or dx */
	struct nc_pool *pool;
	struct nc_arena *arena;
	struct nc_hypothesis meant[MEANT_MOST];             /* the declared convention, or all of them */
	const struct nc_convention *meant_as[MEANT_MOST];
	unsigned meant_count;
};

/*
 * The searches, each only where those before found nothing: an explanation that allows for less precision would
 * always hold beside one that needs none, and a fitted ε beside a known one.
 */
static const unsigned cast_sets[] = {
	1u << NC_CAST_AFTER | 1u << NC_CAST_BEFORE | 1u << NC_CAST_STEPS | 1u << NC_CAST_STEPS_DIVIDED,
	1u << NC_CAST_FLOAT32,
	1u << NC_CAST_PRINTED,
};
enum { CAST_SETS = sizeof cast_sets / sizeof *cast_sets };

/* --- cost -------------------------------------------------------------------------------------------------------- */

/* The nearest of the conventions that y may be meant to be. */
static unsigned distance_to_convention(const struct search *search, const struct nc_hypothesis *h, const struct nc_convention **nearest)
{
	unsigned least = UINT32_MAX;
	for (unsigned i = 0; i < search->meant_count; i++) {
		unsigned distance = nc_hypothesis_distance(h, &search->meant[i]);
		if (distance < least) {
			least = distance;
			if (nearest)
				*nearest = search->meant_as[i];
		}
	}
	return least;
}

static unsigned forward_cost(const void *context, const struct nc_hypothesis *h)
{
	return distance_to_convention(context, h, NULL) * 16 + nc_hypothesis_choice(NC_BY_CAST, h->cast)->rarity;
}

/* What a hypothesis of dx is the gradient of, with the choices that leave no mark on dx taken from `like`. */
static struct nc_hypothesis forward_of(const struct nc_hypothesis *h, const struct nc_hypothesis *like)
{
	struct nc_hypothesis forward = *h;
	forward.bias = like->bias;
	forward.cast = like->cast;
	forward.backward = NC_BACKWARD_FULL;
	return forward;
}

/* Steps from the gradient of what explains y: of the nearest of those that explain it equally well. */
static unsigned backward_cost(const void *context, const struct nc_hypothesis *h)
{
	const struct search *search = context;
	const struct nc_finding *y = &search->diagnosis->forward;
	unsigned least = UINT32_MAX;
	for (unsigned i = 0; i < y->count; i++) {
		const struct nc_hypothesis *of = &y->explanation[i].hypothesis;
		if (i > 0 && !y->explanation[i].tied)
			continue;
		struct nc_hypothesis forward = forward_of(h, of);
		unsigned cost = 16 * nc_hypothesis_distance(&forward, of) + i;
		least = cost < least ? cost : least;
	}
	if (h->backward != NC_BACKWARD_FULL)
		least += 16 * (100 + nc_hypothesis_choice(NC_BY_BACKWARD, h->backward)->rarity);
	return least + nc_hypothesis_choice(NC_BY_CAST, h->cast)->rarity;
}

/* --- what the races leave ---------------------------------------------------------------------------------------- */

/*
 * The deviation that the roundings of a row's sum alone may cause, in squared units of the last place summed over the data:
 * they differ from row to row and average out, unless the squares of x are short numbers, whose ties all round one way
 * (and x̂ may be rounded twice).
 */
static double hidden_square(const struct search *search, const struct nc_hypothesis *h)
{
	const struct evidence *evidence = &search->evidence;
	double units = ldexp(evidence_noise(evidence, h), nc_dtype_mantissa_bits(evidence->dtype));
	double independent = evidence->short_numbers ? 0.5 : (double)evidence->layout[h->layout].distinct;
	return (double)search->output->count * units * fmax(units, 1) / independent;
}

static bool same_divisor(const struct nc_hypothesis *a, const struct nc_hypothesis *b)
{
	return a->layout == b->layout && a->form == b->form && a->root == b->root && a->value == b->value &&
	       a->placement == b->placement;
}

/*
 * Whether another candidate, none of which the tolerance contradicts, speaks against c: by deviating far less than c, in units
 * of the last place, than a sum's roundings hide; or, with the same divisor, by giving the very bits far more often.
 */
static bool outdone(const struct search *search, const struct race_candidate *c, size_t inside)
{
	const struct race_candidate *other = search->race.candidate;
	for (size_t i = 0; i < inside; i++)
		if (c->fit.square > 4 * other[i].fit.square + 8 + hidden_square(search, &c->h) ||
		    (c->fit.differing > 4 * other[i].fit.differing + 8 && same_divisor(&c->h, &other[i].h)))
			return true;
	return false;
}

/* Brings those of the first `inside` candidates that the data cannot tell apart to the front, in their order. */
static size_t settle_ties(struct search *search, size_t inside)
{
	struct race_candidate *c = search->race.candidate;
	size_t tied = 0;
	for (size_t i = 0; i < inside; i++)
		c[i].tied = !outdone(search, &c[i], inside);
	for (size_t i = 0; i < inside; i++)
		if (c[i].tied) {
			struct race_candidate keep = c[i];
			memmove(&c[tied + 1], &c[tied], (i - tied) * sizeof *c);
			c[tied++] = keep;
		}
	return tied ? tied : inside; /* never: the one of least square, and of those of least differing, stays */
}

static int by_closeness(const void *a, const void *b)
{
	const struct race_candidate *p = a, *q = b;
	/* in sixteenths of the data, then of a doubling: of those about as near the simplest comes first */
	size_t p_out = 16 * p->fit.outside / p->fit.seen, q_out = 16 * q->fit.outside / q->fit.seen;
	double p_far = floor(16 * p->fit.nearness), q_far = floor(16 * q->fit.nearness);
	if (p_out != q_out)
		return p_out < q_out ? -1 : 1;
	if (p_far != q_far)
		return p_far < q_far ? -1 : 1;
	if (p->cost != q->cost)
		return p->cost < q->cost ? -1 : 1;
	return p->order < q->order ? -1 : 1;
}

/* The convention that h is: the one that y was meant to be, or else any. */
static const struct nc_convention *convention_of(const struct search *search, const struct nc_hypothesis *h)
{
	const struct nc_convention *c = NULL;
	if (distance_to_convention(search, h, &c) == 0)
		return c;
	for (size_t i = 0; (c = nc_convention_at(i)); i++) {
		struct nc_hypothesis of = nc_hypothesis_of(c, &search->diagnosis->given);
		if (nc_hypothesis_distance(h, &of) == 0)
			return c;
	}
	return NULL;
}

/* Traces a candidate over all of the data and compares the output with what it predicts. */
static enum nc_status explain(struct search *search, const struct race_candidate *c, bool first,
                              struct nc_explanation *explanation)
{
	struct nc_tensor want = *search->output;
	size_t count = want.count, mark = nc_arena_mark(search->arena);
	struct evidence_trace trace = {
		.predicted = nc_arena_array(search->arena, count, sizeof(double)),
		.outside = nc_arena_array(search->arena, count, 1),
	};
	want.data = nc_arena_array(search->arena, count, nc_dtype_storage_bytes(want.dtype));
	if (!trace.predicted || !trace.outside || !want.data)
		return NC_NO_MEMORY;
	struct evidence_fit fit;
	search->race.weigh(&search->evidence, &c->h, (struct evidence_stage){SIZE_MAX, SIZE_MAX}, &fit, &trace);
	for (size_t i = 0; i < count; i++)
		nc_tensor_set(&want, i, trace.predicted[i]);
	bool of_dx = search->output == search->call->dx;
	struct nc_hypothesis forward = c->h;
	if (of_dx) { /* dx shows neither bias nor cast: the convention's own are granted */
		forward.cast = NC_CAST_PRINTED;
		forward.bias = search->diagnosis->given.bias && nc_hypothesis_form(c->h.form)->centred ? NC_BIAS_AS_GIVEN : NC_BIAS_NONE;
	}
	*explanation = (struct nc_explanation){
		.hypothesis = c->h,
		.match = fit.outside == 0,
		.convention = convention_of(search, &forward),
		.distance = c->cost / 16,
		.comparison = nc_compare(search->output, &want, 1e-5, 1e-8),
		.outside = fit.outside,
	};
	enum nc_status status = NC_OK;
	if (first && fit.outside)
		status = departure_describe(&search->evidence, &c->h, search->output, &trace, &search->finding->departure, search->arena);
	nc_arena_rewind(search->arena, mark);
	return status;
}

static enum nc_status conclude(struct search *search, size_t inside, size_t count)
{
	struct nc_finding *finding = search->finding;
	size_t tied = inside ? settle_ties(search, inside) : 0;
	finding->match = tied > 0;
	finding->matching = tied;
	finding->count = (unsigned)(count < NC_EXPLANATIONS ? count : NC_EXPLANATIONS);
	if (count)
		finding->tolerance = evidence_noise(&search->evidence, &search->race.candidate[0].h);
	for (unsigned i = 0; i < finding->count; i++) {
		enum nc_status status = explain(search, &search->race.candidate[i], i == 0, &finding->explanation[i]);
		if (status != NC_OK)
			return status;
		finding->explanation[i].tied = i < tied;
	}
	return NC_OK;
}

/* --- the searches ------------------------------------------------------------------------------------------------ */

struct fitting {
	struct search *search;
	size_t chunk, rows;
};

static void estimate_chunk(void *context, size_t index)
{
	const struct fitting *fitting = context;
	struct race *race = &fitting->search->race;
	for (size_t i = index * fitting->chunk; i < (index + 1) * fitting->chunk && i < race->count; i++)
		race->candidate[i].h.value = epsilon_estimate(race->evidence, &race->candidate[i].h);
}

static void refine_one(void *context, size_t index)
{
	const struct fitting *fitting = context;
	struct race_candidate *c = &fitting->search->race.candidate[index];
	c->h.value = epsilon_refine(&fitting->search->evidence, &c->h, fitting->rows);
}

/* Whether the data hold enough digits that a fitted number is no accident. */
static bool worth_fitting(const struct search *search)
{
	double noise = evidence_noise(&search->evidence, &(struct nc_hypothesis){.cast = NC_CAST_FLOAT32});
	double bits = fmin(nc_dtype_mantissa_bits(search->evidence.dtype), -log2(noise));
	return search->output->count > 1 && bits * (double)search->output->count >= 64;
}

/* A fitted ε counts when it is positive, none of the table's and, where one row alone speaks for it, not far larger than those. */
static bool plausible(const struct search *search, const struct nc_hypothesis *h)
{
	for (unsigned e = 0; e < NC_EPSILON_COUNT; e++)
		if (h->value == nc_hypothesis_epsilon(e, search->evidence.dtype))
			return false;
	return h->value > 0 && h->value < 0x1p300 && (search->evidence.layout[h->layout].distinct > 1 || h->value <= 0.1);
}

static void drop_implausible(struct search *search)
{
	struct race *race = &search->race;
	size_t kept = 0;
	for (size_t i = 0; i < race->count; i++)
		if (plausible(search, &race->candidate[i].h))
			race->candidate[kept++] = race->candidate[i];
	race->count = kept;
}

/* Enters every shape over the declared axes with ε as the data have it. */
static bool enter_fitted(struct search *search, struct enter *enter)
{
	static const double any = 1;
	enter->table = false;
	enter->values = &any;
	enter->value_count = 1;
	struct nc_diagnosis *diagnosis = search->diagnosis;
	unsigned layouts = diagnosis->layout_count;
	diagnosis->layout_count = 1;
	bool entered = enter_forward(enter);
	diagnosis->layout_count = layouts;
	struct fitting fitting = {.search = search, .chunk = 16};
	nc_pool_run(search->pool, estimate_chunk, &fitting, (search->race.count + 15) / 16);
	drop_implausible(search);
	return entered;
}

/* The first `most` candidates with the ε that so many rows allow. */
static void refine(struct search *search, size_t rows, size_t most)
{
	struct race *race = &search->race;
	race->count = race->count < most ? race->count : most;
	struct fitting fitting = {.search = search, .rows = rows};
	nc_pool_run(search->pool, refine_one, &fitting, race->count);
	drop_implausible(search);
}

/* Runs the race; what it leaves goes to the finalists unless something matches all of the data: *inside of them. */
static void run(struct search *search, bool fitted, size_t *inside)
{
	struct race *race = &search->race;
	search->finding->tried += race->count;
	*inside = race_run(race, fitted ? 12 * RUNNERS_UP : RUNNERS_UP);
	if (fitted) {
		refine(search, 16, 12 * RUNNERS_UP);
		race_weigh(race, (struct evidence_stage){16, 1024}, race->count);
		race_sort(race, race->count);
		refine(search, SIZE_MAX, 2 * RUNNERS_UP);
		*inside = race->count;
	}
	if (*inside) {
		race_finish(race, race->count);
		*inside = race_sort(race, race->count);
	}
	if (*inside)
		return;
	size_t kept = race->count < RUNNERS_UP ? race->count : RUNNERS_UP;
	kept = kept < FINALISTS - search->finalist_count ? kept : FINALISTS - search->finalist_count;
	memcpy(search->finalists + search->finalist_count, race->candidate, kept * sizeof *race->candidate);
	search->finalist_count += kept;
	race->count = 0;
}

static bool same_but_precision(const struct nc_hypothesis *a, const struct nc_hypothesis *b)
{
	struct nc_hypothesis c = *a;
	if (nc_hypothesis_cast_neutral(a->cast) || nc_hypothesis_cast_neutral(b->cast))
		c.cast = b->cast;
	return nc_hypothesis_difference(&c, b) == 0;
}

/* Nothing matches: the nearest of all that the searches left. */
static enum nc_status conclude_nearest(struct search *search)
{
	struct race *race = &search->race;
	race->count = search->finalist_count;
	memcpy(race->candidate, search->finalists, race->count * sizeof *race->candidate);
	race_finish(race, race->count);
	qsort(race->candidate, race->count, sizeof *race->candidate, by_closeness);
	size_t kept = 0;
	for (size_t i = 0; i < race->count; i++) { /* one that allows for less precision says the same again */
		size_t like = 0;
		while (like < kept && !same_but_precision(&race->candidate[like].h, &race->candidate[i].h))
			like++;
		if (like == kept)
			race->candidate[kept++] = race->candidate[i];
	}
	race->count = kept;
	return conclude(search, 0, race->count);
}

static void begin(struct search *search, struct nc_finding *finding, const struct nc_tensor *output, race_weigh_fn *weigh, race_cost_fn *cost)
{
	search->finding = finding;
	search->output = output;
	search->finalist_count = 0;
	search->race = (struct race){
		.evidence = &search->evidence, .weigh = weigh, .cost = cost, .context = search, .pool = search->pool,
		.candidate = search->race.candidate, .capacity = ROOM,
	};
}

static enum nc_status find_forward(struct search *search)
{
	begin(search, &search->diagnosis->forward, search->call->y, evidence_forward, forward_cost);
	for (unsigned fitted = 0; fitted < 2; fitted++)
		for (unsigned set = 0; set < CAST_SETS; set++) {
			struct enter enter = {.race = &search->race, .casts = cast_sets[set], .table = true};
			size_t inside;
			if (fitted && !worth_fitting(search))
				continue;
			if (!(fitted ? enter_fitted(search, &enter) : enter_forward(&enter)))
				return NC_TOO_LARGE;
			run(search, fitted, &inside);
			if (inside)
				return conclude(search, inside, search->race.count);
		}
	return conclude_nearest(search);
}

static enum nc_status find_backward(struct search *search)
{
	const struct nc_finding *y = &search->diagnosis->forward;
	const struct nc_hypothesis *of = &y->explanation[0].hypothesis;
	struct enter enter = {.race = &search->race, .table = true};
	if (of->epsilon == NC_EPSILON_FITTED) {
		enter.values = &of->value;
		enter.value_count = 1;
	}
	enum nc_status status = evidence_prepare_backward(&search->evidence, of->layout, search->arena);
	if (status != NC_OK)
		return status;
	begin(search, &search->diagnosis->backward, search->call->dx, evidence_backward, backward_cost);
	evidence_set_decimals(&search->evidence, search->call->dx);
	for (unsigned set = 0; set < CAST_SETS; set++) {
		size_t inside;
		enter.casts = cast_sets[set] & ~(1u << NC_CAST_STEPS | 1u << NC_CAST_STEPS_DIVIDED);
		if (!enter_backward(&enter, of->layout, of->root))
			return NC_TOO_LARGE;
		run(search, false, &inside);
		if (inside)
			return conclude(search, inside, search->race.count);
	}
	return conclude_nearest(search);
}

static void list_meant(struct search *search)
{
	const struct nc_convention *c;
	for (size_t i = 0; (c = nc_convention_at(i)) && search->meant_count < MEANT_MOST; i++)
		if (!search->call->convention || c == search->call->convention) {
			search->meant[search->meant_count] = nc_hypothesis_of(c, &search->diagnosis->given);
			search->meant_as[search->meant_count++] = c;
		}
}

static bool valid(const struct nc_diagnose_call *call)
{
	const struct nc_tensor *x = call->x, *same[] = {call->y, call->dy, call->dx};
	if (!x || !call->y || x->rank < 1 || x->rank > NC_REQUEST_RANK || x->count == 0 || !call->dy != !call->dx ||
	    call->axis_count < 1 || call->axis_count > x->rank)
		return false;
	for (size_t i = 0; i < sizeof same / sizeof *same; i++)
		if (same[i] && (same[i]->rank != x->rank || same[i]->dtype != x->dtype ||
		                memcmp(same[i]->shape, x->shape, x->rank * sizeof *x->shape) != 0))
			return false;
	size_t features = 1;
	for (unsigned a = 0; a < call->axis_count; a++) {
		if (call->axes[a] >= x->rank || (a > 0 && call->axes[a] <= call->axes[a - 1]))
			return false;
		features *= x->shape[call->axes[a]];
	}
	const struct nc_tensor *params[] = {call->gain, call->bias};
	for (size_t i = 0; i < sizeof params / sizeof *params; i++)
		if (params[i] && params[i]->rank && params[i]->count != features)
			return false;
	return true;
}

enum nc_status nc_diagnose(const struct nc_diagnose_call *call, struct nc_diagnosis *diagnosis, struct nc_pool *pool,
                           struct nc_arena *arena)
{
	if (!valid(call))
		return NC_INVALID;
	if (call->x->count > UINT32_MAX)
		return NC_TOO_LARGE;
	size_t mark = nc_arena_mark(arena);
	*diagnosis = (struct nc_diagnosis){
		.given = {.dtype = call->x->dtype, .gain = call->gain, .bias = call->bias},
	};
	struct search search = {.call = call, .diagnosis = diagnosis, .pool = pool, .arena = arena};
	list_meant(&search);
	search.race.candidate = nc_arena_array(arena, ROOM, sizeof *search.race.candidate);
	search.finalists = nc_arena_array(arena, FINALISTS, sizeof *search.finalists);
	enum nc_status status = NC_NO_MEMORY;
	if (search.race.candidate && search.finalists)
		status = evidence_prepare(&search.evidence, call, diagnosis, pool, arena);
	if (status == NC_OK)
		status = find_forward(&search);
	if (status == NC_OK && call->dx)
		status = find_backward(&search);
	nc_arena_rewind(arena, mark);
	return status;
}
