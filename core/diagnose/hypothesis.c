#include "hypothesis.h"

#include <limits.h>

static const struct nc_choice form_choices[] = {
#define FORM(NAME, centred, statistic, elsewhere, rarity, text, fix) {#NAME, text, fix, rarity},
#include "hypotheses.def"
};
static const struct nc_choice root_choices[] = {
#define ROOT(NAME, times, rarity, text, fix) {#NAME, text, fix, rarity},
#include "hypotheses.def"
};
static const struct nc_choice epsilon_choices[] = {
#define EPSILON(NAME, kind, value, rarity) {#NAME, "", "", rarity},
#include "hypotheses.def"
};
static const struct nc_choice placement_choices[] = {
#define PLACEMENT(NAME, rarity, text, fix) {#NAME, text, fix, rarity},
#include "hypotheses.def"
};
static const struct nc_choice gain_choices[] = {
#define GAIN(NAME, rarity, text, fix) {#NAME, text, fix, rarity},
#include "hypotheses.def"
};
static const struct nc_choice bias_choices[] = {
#define BIAS(NAME, rarity, text, fix) {#NAME, text, fix, rarity},
#include "hypotheses.def"
};
static const struct nc_choice cast_choices[] = {
#define CAST(NAME, neutral, rarity, text, fix) {#NAME, text, fix, rarity},
#include "hypotheses.def"
};
static const struct nc_choice skip_choices[] = {
#define SKIP(NAME, rarity, text, fix) {#NAME, text, fix, rarity},
#include "hypotheses.def"
};
static const struct nc_choice axes_choices[] = {
#define AXES(NAME, rarity) {#NAME, "", "", rarity},
#include "hypotheses.def"
};
static const struct nc_choice backward_choices[] = {
#define BACKWARD(NAME, mean, projection, power, outside, rarity, text, fix) {#NAME, text, fix, rarity},
#include "hypotheses.def"
};

static const struct nc_choice *const choices[NC_DIMENSION_COUNT] = {
	[NC_BY_FORM] = form_choices,   [NC_BY_AXES] = axes_choices,           [NC_BY_ROOT] = root_choices,
	[NC_BY_EPSILON] = epsilon_choices, [NC_BY_PLACEMENT] = placement_choices, [NC_BY_GAIN] = gain_choices,
	[NC_BY_BIAS] = bias_choices,   [NC_BY_CAST] = cast_choices,           [NC_BY_SKIP] = skip_choices,
	[NC_BY_BACKWARD] = backward_choices,
};

static const struct nc_form forms[] = {
#define FORM(NAME, centred, statistic, elsewhere, rarity, text, fix) {centred, NC_##statistic, elsewhere},
#include "hypotheses.def"
};

static const struct nc_backward backwards[] = {
#define BACKWARD(NAME, mean, projection, power, outside, rarity, text, fix) {mean, NC_PROJECTION_##projection, power, outside},
#include "hypotheses.def"
};

static const struct {
	enum nc_epsilon_kind kind;
	double value;
} epsilons[] = {
#define EPSILON(NAME, kind, value, rarity) {NC_EPSILON_IS_##kind, value},
#include "hypotheses.def"
};

static const unsigned root_times[] = {
#define ROOT(NAME, times, rarity, text, fix) times,
#include "hypotheses.def"
};

static const bool cast_neutral[] = {
#define CAST(NAME, neutral, rarity, text, fix) neutral,
#include "hypotheses.def"
};

const struct nc_choice *nc_hypothesis_choice(enum nc_dimension dimension, unsigned index)
{
	return &choices[dimension][index];
}

unsigned nc_hypothesis_get(const struct nc_hypothesis *h, enum nc_dimension dimension)
{
	const unsigned char of[NC_DIMENSION_COUNT] = {
		[NC_BY_FORM] = h->form,           [NC_BY_AXES] = h->layout, [NC_BY_ROOT] = h->root, [NC_BY_EPSILON] = h->epsilon,
		[NC_BY_PLACEMENT] = h->placement, [NC_BY_GAIN] = h->gain,   [NC_BY_BIAS] = h->bias, [NC_BY_CAST] = h->cast,
		[NC_BY_SKIP] = h->skip,           [NC_BY_BACKWARD] = h->backward,
	};
	return of[dimension];
}

const struct nc_form *nc_hypothesis_form(unsigned form)
{
	return &forms[form];
}

const struct nc_backward *nc_hypothesis_backward(unsigned backward)
{
	return &backwards[backward];
}

unsigned nc_hypothesis_root_times(unsigned root)
{
	return root_times[root];
}

bool nc_hypothesis_cast_neutral(unsigned cast)
{
	return cast_neutral[cast];
}

enum nc_epsilon_kind nc_hypothesis_epsilon_kind(unsigned epsilon)
{
	return epsilons[epsilon].kind;
}

double nc_hypothesis_epsilon(unsigned epsilon, enum nc_dtype dtype)
{
	switch (epsilons[epsilon].kind) {
	case NC_EPSILON_IS_COMPUTED:
		return nc_dtype_machine_epsilon(dtype);
	case NC_EPSILON_IS_STORED:
		return 2.0 / (double)(1ull << nc_dtype_mantissa_bits(dtype));
	default:
		return epsilons[epsilon].value;
	}
}

struct nc_hypothesis nc_hypothesis_of(const struct nc_convention *convention, const struct nc_given *given)
{
	struct nc_hypothesis h = {
		.form = convention->kind == NC_LAYERNORM ? NC_FORM_LAYER : NC_FORM_RMS,
		.root = NC_ROOT_ONCE,
		.placement = NC_PLACEMENT_INSIDE,
		.value = convention->machine ? nc_dtype_machine_epsilon(given->dtype) : convention->epsilon,
		.gain = !given->gain || !convention->weight ? NC_GAIN_NONE
		        : convention->gain_offset == 1      ? NC_GAIN_PLUS_ONE
		                                            : NC_GAIN_AS_GIVEN,
		.bias = given->bias && convention->bias ? NC_BIAS_AS_GIVEN : NC_BIAS_NONE,
		.cast = convention->cast_before_gain ? NC_CAST_BEFORE : NC_CAST_AFTER,
	};
	/* A cast before a gain of one is none; float64 is not cast. */
	if (given->dtype == NC_FLOAT64 || h.gain == NC_GAIN_NONE)
		h.cast = NC_CAST_AFTER;
	for (unsigned e = 0; e < NC_EPSILON_COUNT; e++)
		if (nc_hypothesis_epsilon(e, given->dtype) == h.value && epsilons[e].kind != NC_EPSILON_IS_FITTED) {
			h.epsilon = (unsigned char)e;
			break;
		}
	return h;
}

unsigned nc_hypothesis_difference(const struct nc_hypothesis *a, const struct nc_hypothesis *b)
{
	return (unsigned)(a->form != b->form) << NC_BY_FORM | (unsigned)(a->layout != b->layout) << NC_BY_AXES |
	       (unsigned)(a->root != b->root) << NC_BY_ROOT | (unsigned)(a->value != b->value) << NC_BY_EPSILON |
	       (unsigned)(a->placement != b->placement && a->value != 0 && b->value != 0) << NC_BY_PLACEMENT |
	       (unsigned)(a->gain != b->gain) << NC_BY_GAIN | (unsigned)(a->bias != b->bias) << NC_BY_BIAS |
	       (unsigned)(a->cast != b->cast) << NC_BY_CAST | (unsigned)(a->skip != b->skip) << NC_BY_SKIP |
	       (unsigned)(a->backward != b->backward) << NC_BY_BACKWARD;
}

unsigned nc_hypothesis_steps(const struct nc_hypothesis *h, const struct nc_hypothesis *of)
{
	unsigned different = nc_hypothesis_difference(h, of);
	if (nc_hypothesis_cast_neutral(h->cast) || h->gain == NC_GAIN_NONE)
		different &= ~(1u << NC_BY_CAST);
	return different;
}

unsigned nc_hypothesis_distance(const struct nc_hypothesis *h, const struct nc_hypothesis *of)
{
	unsigned different = nc_hypothesis_steps(h, of), distance = 0;
	for (enum nc_dimension d = 0; different >> d; d++)
		if (different >> d & 1) /* of a layout only that it is not the declared one */
			distance += 100 + (d == NC_BY_AXES ? h->layout > 0 : nc_hypothesis_choice(d, nc_hypothesis_get(h, d))->rarity);
	return distance;
}
