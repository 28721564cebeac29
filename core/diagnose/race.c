#include "race.h"

#include <math.h>
#include <stdlib.h>

bool race_enter(struct race *race, const struct nc_hypothesis *h)
{
	if (race->count == race->capacity)
		return false;
	race->candidate[race->count++] = (struct race_candidate){.h = *h, .order = (unsigned)race->entered++};
	return true;
}

/* Those that nothing contradicts by simplicity, then the others by score. */
static int by_merit(const void *a, const void *b)
{
	const struct race_candidate *p = a, *q = b;
	bool p_out = p->fit.outside > 0, q_out = q->fit.outside > 0;
	if (p_out != q_out)
		return p_out ? 1 : -1;
	if (!p_out && p->cost != q->cost)
		return p->cost < q->cost ? -1 : 1;
	if (p_out && p->fit.score != q->fit.score)
		return p->fit.score < q->fit.score ? -1 : 1;
	return p->order < q->order ? -1 : 1;
}

size_t race_sort(struct race *race, size_t count)
{
	qsort(race->candidate, count, sizeof *race->candidate, by_merit);
	size_t inside = 0;
	while (inside < count && race->candidate[inside].fit.outside == 0)
		inside++;
	return inside;
}

struct heat {
	struct race *race;
	struct evidence_stage stage;
	size_t count, chunk;
};

static void weigh_chunk(void *context, size_t index)
{
	const struct heat *heat = context;
	size_t end = (index + 1) * heat->chunk;
	for (size_t i = index * heat->chunk; i < end && i < heat->count; i++) {
		struct race_candidate *c = &heat->race->candidate[i];
		heat->race->weigh(heat->race->evidence, &c->h, heat->stage, &c->fit, NULL);
	}
}

static void weigh_all(struct race *race, struct evidence_stage stage, size_t count, size_t chunk)
{
	struct heat heat = {.race = race, .stage = stage, .count = count, .chunk = chunk};
	nc_pool_run(race->pool, weigh_chunk, &heat, (count + chunk - 1) / chunk);
}

/* The samples, and how many contradicted candidates and how many others go on from each. */
static const struct {
	struct evidence_stage stage;
	size_t worst, best;
} heats[] = {
	{{4, 6}, 3000, 10000},
	{{4, 24}, 800, 4000},
	{{8, 48}, 160, 2000},
	{{16, 128}, 64, 1000},
	{{16, 1024}, 32, 500},
};

void race_weigh(struct race *race, struct evidence_stage stage, size_t count)
{
	weigh_all(race, stage, count, 1);
}

/* Elements of the declared axes that a stage takes. */
static size_t stage_size(const struct race *race, struct evidence_stage stage)
{
	const struct nc_diagnose_axes *axes = &race->evidence->diagnosis->layout[0];
	size_t rows = stage.rows < axes->rows ? stage.rows : axes->rows;
	return rows * (stage.elements < axes->features ? stage.elements : axes->features);
}

static void price(const struct race *race, struct race_candidate *c)
{
	c->cost = race->cost(race->context, &c->h);
}

size_t race_run(struct race *race, size_t keep)
{
	size_t inside = 0, last = sizeof heats / sizeof *heats - 1;
	for (size_t i = 0; i <= last; i++) {
		if (i < last && stage_size(race, heats[i].stage) >= stage_size(race, heats[i + 1].stage))
			continue; /* the next one sees no more */
		weigh_all(race, heats[i].stage, race->count, 32);
		for (size_t k = 0; k < race->count; k++)
			if (race->candidate[k].fit.outside == 0)
				price(race, &race->candidate[k]);
		inside = race_sort(race, race->count);
		size_t best = inside < heats[i].best ? inside : heats[i].best, worst = race->count - inside;
		size_t most = i == last ? keep : heats[i].worst;
		worst = worst < most ? worst : most;
		for (size_t k = 0; k < worst; k++)
			race->candidate[best + k] = race->candidate[inside + k];
		race->count = best + worst;
		inside = best;
		for (size_t k = best; k < race->count; k++)
			price(race, &race->candidate[k]);
	}
	return inside;
}

/* Whether a and b give the same for every element, to a thousandth of what a kernel's roundings hide. */
static bool same_prediction(const struct race *race, const struct nc_hypothesis *a, const struct nc_hypothesis *b)
{
	const struct evidence *evidence = race->evidence;
	const struct nc_form *fa = nc_hypothesis_form(a->form), *fb = nc_hypothesis_form(b->form);
	bool steps = a->cast == NC_CAST_STEPS || a->cast == NC_CAST_STEPS_DIVIDED;
	if (steps || a->layout != b->layout || fa->centred != fb->centred || a->gain != b->gain || a->bias != b->bias ||
	    a->cast != b->cast || a->skip != b->skip || a->backward != b->backward)
		return false;
	double noise = evidence_noise(evidence, a) * 1e-3;
	for (size_t r = 0; r < evidence->diagnosis->layout[a->layout].rows; r++) {
		double slope_a, slope_b, da = evidence_divisor(evidence, a, r, &slope_a), db = evidence_divisor(evidence, b, r, &slope_b);
		if (!(fabs(da - db) <= noise * fabs(da)))
			return false;
		if (race->weigh == evidence_backward &&
		    (fa->statistic != fb->statistic || !(fabs(slope_a - slope_b) <= noise * fabs(slope_a))))
			return false;
	}
	return true;
}

void race_finish(struct race *race, size_t count)
{
	/* Those of their own to the front, the others behind, each with the index of its like. */
	struct evidence_stage all = {SIZE_MAX, SIZE_MAX};
	size_t own = 0;
	for (size_t i = 0; i < count; i++) {
		size_t like = 0;
		while (like < own && !same_prediction(race, &race->candidate[like].h, &race->candidate[i].h))
			like++;
		race->candidate[i].fit.seen = like; /* the fit is about to be replaced */
		if (like == own) {
			struct race_candidate swap = race->candidate[own];
			race->candidate[own] = race->candidate[i];
			race->candidate[i] = swap;
			own++;
		}
	}
	weigh_all(race, all, own, 1);
	for (size_t i = own; i < count; i++)
		race->candidate[i].fit = race->candidate[race->candidate[i].fit.seen].fit;
}
