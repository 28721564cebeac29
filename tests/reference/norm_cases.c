#include "norm_cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t random_bits(struct random *random)
{
	uint64_t z = random->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

size_t random_below(struct random *random, size_t n)
{
	return (size_t)(random_bits(random) % n);
}

static double random_unit(struct random *random)
{
	return (double)(random_bits(random) >> 11) * 0x1p-53;
}

double random_normal(struct random *random)
{
	double radius = sqrt(-2 * log(random_unit(random) + 0x1p-60));

	return radius * cos(6.283185307179586 * random_unit(random));
}

static bool one_in(struct random *random, size_t n)
{
	return random_below(random, n) == 0;
}

/* A value of the dtype near `value`, kept finite. */
static double fitted(enum nc_dtype dtype, double value)
{
	double max = nc_dtype_max(dtype);

	return nc_dtype_round(dtype, fmax(-max, fmin(max, value)));
}

static double value_of(struct random *random, enum nc_dtype dtype, enum values values, double common)
{
	double normal = random_normal(random);
	int least = nc_dtype_min_exponent(dtype), range = dtype == NC_FLOAT16 ? 10 : dtype == NC_FLOAT64 ? 60 : 30;

	switch (values) {
	case VALUES_NORMAL:
		return normal;
	case VALUES_OFFSET:
		return common * 1000 + normal;
	case VALUES_SPREAD:
		return ldexp(normal, (int)random_below(random, 2 * (size_t)range) - range);
	case VALUES_INTEGERS:
		return (double)random_below(random, 17) - 8;
	case VALUES_CONSTANT:
		return common;
	case VALUES_SPARSE:
		return one_in(random, 4) ? normal : copysign(0, normal);
	case VALUES_HUGE:
		return nc_dtype_max(dtype) * (2 * random_unit(random) - 1);
	case VALUES_TINY:
		return ldexp(normal, least - (int)random_below(random, (size_t)nc_dtype_mantissa_bits(dtype)));
	case VALUES_ANY:
	case VALUES_COUNT:
		break;
	}
	return ldexp(normal, least - 20 + (int)random_below(random, (size_t)(-2 * least + 16)));
}

void random_fill(struct random *random, enum nc_dtype dtype, enum values values, void *data, size_t count)
{
	double common = random_normal(random);

	for (size_t i = 0; i < count; i++) {
		double value = fitted(dtype, value_of(random, dtype, values, common));

		if (dtype == NC_FLOAT64)
			((double *)data)[i] = value;
		else
			((float *)data)[i] = (float)value;
	}
}

static enum values random_values(struct random *random, const struct case_options *options)
{
	if (one_in(random, 2))
		return VALUES_NORMAL;
	return (enum values)random_below(random, options->extreme ? VALUES_COUNT : options->random ? VALUES_RANDOM : VALUES_TAME);
}

static double random_epsilon(struct random *random, const struct case_options *options)
{
	static const double tame[] = {1e-5, 1e-6, 1e-12, 0x1p-23, 0, 0.3, 2};
	static const double wild[] = {0, 5e-324, 1e-320, 1e-300, 1e-40, 1e40, 1e300, 1.7e308};

	if (options->random && one_in(random, 4))
		return fabs(random_normal(random));
	if (options->extreme && one_in(random, 2))
		return wild[random_below(random, sizeof(wild) / sizeof(*wild))];
	return tame[random_below(random, sizeof(tame) / sizeof(*tame))];
}

/* Hands out arrays from one block; with no block it only counts. */
struct layout {
	char *block;
	size_t used;
};

static void *take(struct layout *layout, size_t bytes)
{
	void *at = layout->block ? layout->block + layout->used : NULL;

	layout->used += (bytes + 63) / 64 * 64 + 64;
	return at;
}

static void place_arrays(struct norm_case *c, struct layout *layout, bool jacobian)
{
	struct nc_norm_call *call = &c->call;
	bool layer = c->spec.kind == NC_LAYERNORM;
	size_t bytes = nc_dtype_storage_bytes(c->spec.dtype), stat = bytes, count = call->rows * call->features;
	size_t params = call->period * call->features, rank = nc_norm_rank(c->spec.kind);

	call->x = take(layout, count * bytes);
	call->dy = take(layout, count * bytes);
	call->tangent = take(layout, count * bytes);
	call->gain.data = take(layout, params * 8);
	call->bias.data = take(layout, params * 8);
	call->y = take(layout, count * bytes);
	call->xhat = take(layout, count * bytes);
	call->divisor = take(layout, call->rows * stat);
	call->mean = layer ? take(layout, call->rows * stat) : NULL;
	call->variance = layer ? take(layout, call->rows * stat) : NULL;
	call->dx = take(layout, count * bytes);
	call->dgain = take(layout, params * bytes);
	call->dbias = take(layout, params * bytes);
	call->jvp = take(layout, count * bytes);
	if (jacobian) {
		call->jacobian = take(layout, count * call->features * bytes);
		call->diagonal = take(layout, count * 8);
		call->left = take(layout, count * rank * 8);
		call->right = take(layout, count * rank * 8);
	}
}

static void random_spec(struct nc_norm_spec *spec, struct random *random, const struct case_options *options)
{
	*spec = (struct nc_norm_spec){
		.kind = one_in(random, 2) ? NC_RMSNORM : NC_LAYERNORM,
		.placement = one_in(random, 2) ? NC_INSIDE_SQRT : (enum nc_epsilon_placement)random_below(random, 3),
		.epsilon = random_epsilon(random, options),
		.gain_offset = one_in(random, 2) ? 0 : one_in(random, 2) ? 1 : random_normal(random),
		.dtype = (enum nc_dtype)(options->dtype >= 0 ? (size_t)options->dtype : random_below(random, NC_DTYPE_COUNT)),
		.xhat_dtype = NC_FLOAT64,
	};
	if (one_in(random, 4))
		spec->xhat_dtype = spec->dtype;
}

/* A param_dtype, a count of 0, 1 or `count`, and the values. */
static void random_param(struct random *random, const struct case_options *options, enum nc_dtype dtype,
                         struct nc_param *param, size_t count)
{
	param->dtype = one_in(random, 2) ? dtype : (enum nc_dtype)random_below(random, NC_DTYPE_COUNT);
	param->count = one_in(random, 4) ? 0 : one_in(random, 5) ? 1 : count;
	random_fill(random, param->dtype, random_values(random, options), (void *)(uintptr_t)param->data, param->count);
}

void norm_case_make(struct norm_case *c, struct random *random, const struct case_options *options)
{
	static const size_t periods[] = {1, 1, 1, 2, 3};
	struct layout layout = {NULL, 0};
	struct nc_norm_call *call = &c->call;

	memset(c, 0, sizeof(*c));
	random_spec(&c->spec, random, options);
	call->period = periods[random_below(random, sizeof(periods) / sizeof(*periods))];
	size_t most = options->jacobian ? 20 : options->elements;
	call->features = options->features ? (size_t)options->features
	                 : one_in(random, 8) ? 1 + random_below(random, 3)
	                                     : 1 + random_below(random, most);
	call->rows = options->rows ? (size_t)options->rows : options->elements / call->features + 1;
	if (options->jacobian && call->rows > 3)
		call->rows = 3;
	call->rows = (call->rows + call->period - 1) / call->period * call->period;

	place_arrays(c, &layout, options->jacobian);
	c->bytes = layout.used;
	c->block = aligned_alloc(64, c->bytes);
	memset(c->block, 0xa5, c->bytes);
	layout = (struct layout){c->block, 0};
	place_arrays(c, &layout, options->jacobian);

	/* Each row has its own kind of values, so that tame and extreme rows stand side by side. */
	size_t n = call->features, bytes = nc_dtype_storage_bytes(c->spec.dtype);
	enum values values[3] = {random_values(random, options), random_values(random, options),
	                         random_values(random, options)};
	for (size_t row = 0; row < call->rows; row++) {
		const void *arrays[3] = {call->x, call->dy, call->tangent};

		for (int a = 0; a < 3; a++) {
			enum values kind = one_in(random, 8) ? random_values(random, options) : values[a];

			random_fill(random, c->spec.dtype, kind, (char *)(uintptr_t)arrays[a] + row * n * bytes, n);
		}
	}
	random_param(random, options, c->spec.dtype, &call->gain, call->period * n);
	random_param(random, options, c->spec.dtype, &call->bias, call->period * n);
	if (c->spec.kind == NC_RMSNORM)
		call->bias.count = 0;
}

void norm_case_free(struct norm_case *c)
{
	free(c->block);
}

void norm_case_describe(const struct norm_case *c, char *text, size_t size)
{
	static const char *const placements[] = {"inside", "outside", "clamp"};
	const struct nc_norm_call *call = &c->call;

	snprintf(text, size, "%s %s epsilon %g %s, gain %zu %s + %g, bias %zu, cast %s, %zu x %zu, period %zu",
	         c->spec.kind == NC_LAYERNORM ? "layernorm" : "rmsnorm", nc_dtype_name(c->spec.dtype), c->spec.epsilon,
	         placements[c->spec.placement], call->gain.count, nc_dtype_name(call->gain.dtype), c->spec.gain_offset,
	         call->bias.count, nc_dtype_name(c->spec.xhat_dtype), call->rows, call->features, call->period);
}

static void place_residual(struct residual_case *c, struct layout *layout)
{
	struct nc_residual_call *call = &c->call;
	size_t bytes = nc_dtype_storage_bytes(call->dtype), n = call->features, row = n * bytes, all = call->rows * row;
	size_t form = call->form == NC_JACOBIAN_DENSE ? n * n : n;
	bool norm = call->norm, layer = norm && c->norm.kind == NC_LAYERNORM, jacobian = call->form != NC_JACOBIAN_NONE;

	call->x = take(layout, all);
	call->update = take(layout, all);
	call->dy = take(layout, all);
	call->dnormed = norm ? take(layout, all) : NULL;
	call->gain.data = take(layout, n * 8);
	call->bias.data = take(layout, n * 8);
	call->sublayer_jacobian = take(layout, form * bytes);
	call->y = take(layout, all);
	call->dx = take(layout, all);
	call->dupdate = take(layout, all);
	call->normed = norm ? take(layout, all) : NULL;
	call->divisor = norm ? take(layout, call->rows * bytes) : NULL;
	call->mean = layer ? take(layout, call->rows * bytes) : NULL;
	call->variance = layer ? take(layout, call->rows * bytes) : NULL;
	call->dgain = norm ? take(layout, row) : NULL;
	call->dbias = norm ? take(layout, row) : NULL;
	call->dx_identity = jacobian ? take(layout, all) : NULL;
	call->dx_sublayer = jacobian ? take(layout, all) : NULL;
	call->identity = jacobian ? take(layout, form * bytes) : NULL;
	call->sublayer = jacobian ? take(layout, form * bytes) : NULL;
	call->total = jacobian ? take(layout, form * bytes) : NULL;
}

void residual_case_make(struct residual_case *c, struct random *random, const struct case_options *options)
{
	static const double scales[] = {1, 1, 1, 0.5, -2, 0.1, 0};
	struct layout layout = {NULL, 0};
	struct nc_residual_call *call = &c->call;
	enum { SCALES = sizeof(scales) / sizeof(*scales) };

	memset(c, 0, sizeof(*c));
	random_spec(&c->norm, random, options);
	call->dtype = c->norm.dtype;
	call->norm = one_in(random, 4) ? NULL : &c->norm;
	call->round_sum = one_in(random, 4);
	call->skip_scale = scales[random_below(random, SCALES)];
	call->update_scale = scales[random_below(random, SCALES)];
	call->form = one_in(random, 2) ? NC_JACOBIAN_NONE : (enum nc_jacobian_form)random_below(random, 4);
	call->features = options->features ? (size_t)options->features : 1 + random_below(random, options->elements);
	if (call->form == NC_JACOBIAN_DENSE && call->features > 40)
		call->features = 1 + random_below(random, 40);
	call->rows = options->rows ? (size_t)options->rows : options->elements / call->features + 1;

	place_residual(c, &layout);
	c->block = aligned_alloc(64, layout.used);
	memset(c->block, 0xa5, layout.used);
	layout = (struct layout){c->block, 0};
	place_residual(c, &layout);

	size_t count = call->rows * call->features, form = call->features;
	if (call->form == NC_JACOBIAN_DENSE)
		form *= call->features;
	const void *arrays[] = {call->x, call->update, call->dy, call->dnormed};
	for (int a = 0; a < 4; a++)
		if (arrays[a])
			random_fill(random, call->dtype, random_values(random, options), (void *)(uintptr_t)arrays[a], count);
	random_fill(random, call->dtype, random_values(random, options), (void *)(uintptr_t)call->sublayer_jacobian,
	            form);
	random_param(random, options, call->dtype, &call->gain, call->features);
	random_param(random, options, call->dtype, &call->bias, call->features);
	if (!call->norm || c->norm.kind == NC_RMSNORM)
		call->bias.count = 0;
}

void residual_case_free(struct residual_case *c)
{
	free(c->block);
}
