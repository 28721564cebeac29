/* A hypothesis as fields of /rmsnorm or /layernorm. */
#include "explain.h"

#include <math.h>

/* As a norm of the endpoints: D = factor⁻¹ · (the endpoint's divisor with epsilon). */
struct as_norm {
	const char *endpoint;
	double epsilon, factor;
	const char *placement;
};

/*
 * A sum of squares that is divided by k instead of n: √(n/k · m + ε) = √(n/k) · √(m + ε·k/n), and outside the root or
 * clamped √(n/k)·√m and ε = √(n/k) · (√m and ε·√(k/n)).
 */
static struct as_norm as_norm(const struct explain *explain, const struct nc_hypothesis *h)
{
	struct as_norm norm = {.epsilon = h->value, .factor = 1};
	double n = (double)explain->diagnosis->layout[h->layout].features, k = n;
	switch (nc_hypothesis_form(h->form)->statistic) {
	case NC_MEAN_SQUARE:
		norm.endpoint = nc_hypothesis_form(h->form)->centred ? NULL : "/rmsnorm";
		break;
	case NC_VARIANCE:
		norm.endpoint = nc_hypothesis_form(h->form)->centred ? "/layernorm" : NULL;
		break;
	case NC_SAMPLE_VARIANCE:
		norm.endpoint = nc_hypothesis_form(h->form)->centred ? "/layernorm" : NULL;
		k = n - 1;
		break;
	case NC_SUM_SQUARE:
		norm.endpoint = "/rmsnorm";
		k = 1;
		break;
	case NC_SUM_CENTRED:
		norm.endpoint = "/layernorm";
		k = 1;
		break;
	default:
		break;
	}
	norm.factor = sqrt(k / n);
	if (h->placement == NC_PLACEMENT_SUM)
		norm.epsilon /= n;
	bool inside = h->placement == NC_PLACEMENT_INSIDE || h->placement == NC_PLACEMENT_SUM;
	norm.placement = inside ? "inside_sqrt" : h->placement == NC_PLACEMENT_OUTSIDE ? "outside_sqrt" : "clamp";
	norm.epsilon *= inside ? k / n : norm.factor;
	return norm;
}

const char *explain_endpoint(const struct explain *explain, const struct nc_hypothesis *h)
{
	const struct nc_diagnose_axes *axes = &explain->diagnosis->layout[h->layout];
	struct as_norm norm = as_norm(explain, h);
	bool rms = !nc_hypothesis_form(h->form)->centred;
	bool plain_gain = h->gain == NC_GAIN_AS_GIVEN || h->gain == NC_GAIN_PLUS_ONE || h->gain == NC_GAIN_NONE;
	bool steps = h->cast == NC_CAST_STEPS || h->cast == NC_CAST_STEPS_DIVIDED;
	bool parameters = (h->gain != NC_GAIN_NONE || h->bias != NC_BIAS_NONE) && explain->elementwise;
	bool fits = axes->kind == NC_AXES_DECLARED || axes->kind == NC_AXES_GROUPS || axes->kind == NC_AXES_OTHER_ALONG;
	if (h->root != NC_ROOT_ONCE || h->skip != NC_SKIP_NONE || steps || !plain_gain || (rms && h->bias != NC_BIAS_NONE) ||
	    (norm.factor != 1 && h->gain != NC_GAIN_NONE) || (parameters && !fits))
		return NULL;
	return norm.endpoint;
}

static void write_setting(struct writer *out, const char *key, double value)
{
	write_key(out, key);
	write_number(out, value);
}

void explain_settings(struct writer *out, const struct explain *explain, const struct nc_hypothesis *h)
{
	const struct nc_diagnosis *d = explain->diagnosis;
	const struct nc_diagnose_axes *axes = &d->layout[h->layout];
	struct as_norm norm = as_norm(explain, h);
	enum nc_dtype dtype = h->cast == NC_CAST_FLOAT32 ? NC_FLOAT32 : d->given.dtype;

	write_open(out, '{');
	if (dtype != explain->sent_dtype) {
		write_key(out, "dtype");
		write_string(out, nc_dtype_name(dtype));
	}
	write_setting(out, "epsilon", norm.epsilon);
	if (h->value != 0) {
		write_key(out, "epsilon_placement");
		write_string(out, norm.placement);
	}
	if (d->given.gain && h->gain != NC_GAIN_NONE)
		write_setting(out, "gain_offset", h->gain == NC_GAIN_PLUS_ONE);
	else if (d->given.gain || norm.factor != 1)
		write_setting(out, "gain", norm.factor); /* in place of the one that was sent */
	if (d->given.bias && h->bias == NC_BIAS_NONE && nc_hypothesis_form(h->form)->centred)
		write_setting(out, "bias", 0);
	if (dtype != NC_FLOAT64 && h->gain != NC_GAIN_NONE) {
		write_key(out, "cast_before_gain");
		write_bool(out, h->cast == NC_CAST_BEFORE);
	}
	if (h->layout || axes->axis_count > 1 || axes->axes[0] != explain->rank - 1) {
		size_t list[NC_REQUEST_RANK];
		for (unsigned a = 0; a < axes->axis_count; a++)
			list[a] = axes->axes[a];
		write_key(out, "axes");
		write_sizes(out, list, axes->axis_count);
	}
	if (axes->groups > 1) {
		write_key(out, "groups");
		write_size(out, axes->groups);
	}
	write_close(out, '}');
}
