#include "diagnose_enter.h"

static bool cast_applies(const struct enter *enter, const struct nc_hypothesis *h, unsigned cast)
{
	enum nc_dtype dtype = enter->race->evidence->dtype;
	bool narrow = dtype == NC_BFLOAT16 || dtype == NC_FLOAT16;
	switch (cast) {
	case NC_CAST_BEFORE: /* before a gain of one it is what comes at the end anyway */
		return dtype != NC_FLOAT64 && (h->gain != NC_GAIN_NONE || h->bias != NC_BIAS_NONE);
	case NC_CAST_FLOAT32:
		return dtype == NC_FLOAT64;
	case NC_CAST_PRINTED:
		return enter->race->evidence->half_decimal > 0;
	case NC_CAST_STEPS:
	case NC_CAST_STEPS_DIVIDED:
		return narrow && h->layout == 0;
	default:
		return true;
	}
}

static bool enter_casts(const struct enter *enter, struct nc_hypothesis h)
{
	for (unsigned cast = 0; cast < NC_CAST_COUNT; cast++) {
		if (!(enter->casts >> cast & 1) || !cast_applies(enter, &h, cast))
			continue;
		h.cast = (unsigned char)cast;
		if (!race_enter(enter->race, &h))
			return false;
	}
	return true;
}

/* Gain, bias and skip; of dx the bias has no part. */
static bool enter_parameters(const struct enter *enter, struct nc_hypothesis h, bool of_dx)
{
	const struct evidence *evidence = enter->race->evidence;
	for (unsigned gain = 0; gain < NC_GAIN_COUNT; gain++)
		for (unsigned bias = 0; bias < NC_BIAS_COUNT; bias++)
			for (unsigned skip = 0; skip < NC_SKIP_COUNT; skip++) {
				if (!evidence->gain[gain] || !evidence->bias[bias] || (of_dx && bias != NC_BIAS_NONE) ||
				    (skip != NC_SKIP_NONE && h.layout > 0))
					continue;
				h.gain = (unsigned char)gain;
				h.bias = (unsigned char)bias;
				h.skip = (unsigned char)skip;
				if (!enter_casts(enter, h))
					return false;
			}
	return true;
}

/* ε of the table, each value once, then those beyond it. */
static bool enter_epsilons(const struct enter *enter, struct nc_hypothesis h, bool of_dx)
{
	enum nc_dtype dtype = enter->race->evidence->dtype;
	bool one = nc_hypothesis_form(h.form)->statistic == NC_ONE;
	for (unsigned e = 0; e < NC_EPSILON_COUNT + enter->value_count; e++) {
		bool beyond = e >= NC_EPSILON_COUNT, again = false;
		if (!beyond && (nc_hypothesis_epsilon_kind(e) == NC_EPSILON_IS_FITTED || !enter->table))
			continue;
		h.value = beyond ? enter->values[e - NC_EPSILON_COUNT] : nc_hypothesis_epsilon(e, dtype);
		h.epsilon = (unsigned char)(beyond ? NC_EPSILON_FITTED : e);
		for (unsigned before = 0; before < e && !beyond; before++)
			again |= nc_hypothesis_epsilon_kind(before) != NC_EPSILON_IS_FITTED &&
			         nc_hypothesis_epsilon(before, dtype) == h.value;
		if (again || (one && h.value != 0))
			continue;
		for (unsigned p = 0; p < NC_PLACEMENT_COUNT; p++) {
			/* an ε of 0 stands nowhere; without a root, outside is inside; on the sum, ε is another one inside */
			if ((h.value == 0 && p != NC_PLACEMENT_INSIDE) || (beyond && p == NC_PLACEMENT_SUM) ||
			    (h.root == NC_ROOT_MISSING && p == NC_PLACEMENT_OUTSIDE))
				continue;
			h.placement = (unsigned char)p;
			if (!enter_parameters(enter, h, of_dx))
				return false;
		}
	}
	return true;
}

static bool form_applies(const struct enter *enter, unsigned form, unsigned layout)
{
	const struct nc_form *f = nc_hypothesis_form(form);
	size_t features = enter->race->evidence->diagnosis->layout[layout].features;
	return (layout == 0 || f->elsewhere) && (f->statistic != NC_SAMPLE_VARIANCE || features > 1);
}

bool enter_forward(const struct enter *enter)
{
	const struct nc_diagnosis *diagnosis = enter->race->evidence->diagnosis;
	for (unsigned layout = 0; layout < diagnosis->layout_count; layout++)
		for (unsigned form = 0; form < NC_FORM_COUNT; form++)
			for (unsigned root = 0; root < NC_ROOT_COUNT; root++) {
				bool one = nc_hypothesis_form(form)->statistic == NC_ONE;
				if (!form_applies(enter, form, layout) || (root != NC_ROOT_ONCE && (layout > 0 || one)))
					continue;
				struct nc_hypothesis h = {.layout = (unsigned char)layout, .form = (unsigned char)form, .root = (unsigned char)root};
				if (!enter_epsilons(enter, h, false))
					return false;
			}
	return true;
}

bool enter_backward(const struct enter *enter, unsigned other, unsigned root)
{
	for (unsigned which = 0; which < (other ? 2 : 1); which++)
		for (unsigned form = 0; form < NC_FORM_COUNT; form++)
			for (unsigned backward = 0; backward < NC_BACKWARD_COUNT; backward++) {
				unsigned layout = which ? other : 0;
				const struct nc_backward *b = nc_hypothesis_backward(backward);
				const struct nc_form *f = nc_hypothesis_form(form);
				/* a mean or a projection that is not there cannot be missing */
				bool no_mean = !b->mean && !f->centred, no_projection = b->projection != NC_PROJECTION_ONE && f->statistic == NC_ONE;
				bool no_gain = b->outside && !enter->race->evidence->gain[NC_GAIN_AS_GIVEN];
				if (!form_applies(enter, form, layout) || no_mean || no_projection || no_gain)
					continue;
				struct nc_hypothesis h = {.layout = (unsigned char)layout, .form = (unsigned char)form,
				                          .root = (unsigned char)root, .backward = (unsigned char)backward};
				if (!enter_epsilons(enter, h, true))
					return false;
			}
	return true;
}
