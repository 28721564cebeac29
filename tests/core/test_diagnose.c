/* Every hypothesis of hypotheses.def is found again in data that an independent kernel made with it; noise is not. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/norm_maker.h"
#include "tests/support/suite.h"

static struct nc_arena *arena;
static struct nc_diagnosis found;

static const struct nc_diagnosis *diagnose(const struct nc_diagnose_call *call)
{
	if (!arena)
		arena = nc_arena_create((size_t)2 << 30);
	ck_assert_int_eq(nc_diagnose(call, &found, NULL, arena), NC_OK);
	return &found;
}

static const char *told(const struct nc_hypothesis *h)
{
	static char text[4][256];
	static unsigned next;
	char *to = text[next++ % 4];
	int n = snprintf(to, 256, "layout %d e=%g", h->layout, h->value);
	for (enum nc_dimension d = 0; d < NC_DIMENSION_COUNT; d++)
		if (d != NC_BY_AXES)
			n += snprintf(to + n, 256 - (size_t)n, " %s", nc_hypothesis_choice(d, nc_hypothesis_get(h, d))->name);
	return to;
}

/* The same function: ε by value (a fitted one to three digits); float32 arithmetic rounds x̂ to float32 anyway. */
static bool same(const struct nc_hypothesis *x, const struct nc_hypothesis *y, enum nc_dtype dtype)
{
	struct nc_hypothesis p = *x, q = *y;
	if (dtype == NC_FLOAT32 && p.cast + q.cast == NC_CAST_AFTER + NC_CAST_BEFORE)
		p.cast = q.cast;
	if (fabs(p.value - q.value) <= 1e-3 * q.value)
		p.value = q.value;
	p.layout = q.layout = 0;
	return nc_hypothesis_difference(&p, &q) == 0;
}

/* What the explanations may be told as: a cast that float32 hides, an ε that the dtype hides. */
static void assert_explained(const struct nc_finding *f, const struct nc_hypothesis *truth, enum nc_dtype dtype)
{
	ck_assert_msg(f->match && f->count > 0, "%s: no match for %s; nearest %s", nc_dtype_name(dtype), told(truth),
	              told(&f->explanation[0].hypothesis));
	for (unsigned i = 0; i < f->count; i++)
		if (f->explanation[i].tied && same(&f->explanation[i].hypothesis, truth, dtype))
			return;
	/* more ties than are told: then those told are as good, and say how many there are */
	ck_assert_msg(f->matching > NC_EXPLANATIONS, "%s: %s taken for %s (%zu match)", nc_dtype_name(dtype), told(truth),
	              told(&f->explanation[0].hypothesis), f->matching);
}

/* The usual norm, in the arithmetic that a dtype is computed in. */
static struct maker usual(enum nc_dtype dtype)
{
	bool half = dtype == NC_FLOAT16;
	return (struct maker){
		.h = {.form = NC_FORM_LAYER, .value = 1e-5, .placement = NC_PLACEMENT_INSIDE},
		.dtype = dtype, .float32 = dtype != NC_FLOAT64, .order = 1,
		.rank = 2, .shape = {12, 64}, .axes = {1}, .axis_count = 1, .has_gain = true, .has_bias = true,
		.low = half ? 2e-3 : 1e-6, .high = half ? 20 : 10, .centre = 0.5, .seed = 1,
	};
}

static unsigned *choice_of(struct nc_hypothesis *h, enum nc_dimension d, unsigned value)
{
	unsigned char *to = d == NC_BY_FORM      ? &h->form
	                    : d == NC_BY_ROOT      ? &h->root
	                    : d == NC_BY_PLACEMENT ? &h->placement
	                    : d == NC_BY_GAIN      ? &h->gain
	                    : d == NC_BY_BIAS      ? &h->bias
	                    : d == NC_BY_CAST      ? &h->cast
	                    : d == NC_BY_SKIP      ? &h->skip
	                                           : &h->backward;
	*to = (unsigned char)value;
	return NULL;
}

static const struct {
	enum nc_dimension dimension;
	unsigned count;
} dimensions[] = {
	{NC_BY_FORM, NC_FORM_COUNT}, {NC_BY_ROOT, NC_ROOT_COUNT}, {NC_BY_PLACEMENT, NC_PLACEMENT_COUNT},
	{NC_BY_GAIN, NC_GAIN_COUNT}, {NC_BY_BIAS, NC_BIAS_COUNT}, {NC_BY_CAST, NC_CAST_COUNT}, {NC_BY_SKIP, NC_SKIP_COUNT},
};
enum { DIMENSIONS = sizeof dimensions / sizeof *dimensions };

/* Choices that a dtype does not have, or that are another one in it. */
static bool exists(const struct maker *maker)
{
	bool narrow = maker->dtype == NC_BFLOAT16 || maker->dtype == NC_FLOAT16;
	bool steps = maker->h.cast == NC_CAST_STEPS || maker->h.cast == NC_CAST_STEPS_DIVIDED;
	bool one = maker->h.form == NC_FORM_IDENTITY || maker->h.form == NC_FORM_CENTRED;
	if (!narrow && (steps || maker->h.gain == NC_GAIN_PLUS_ONE_ROUNDED))
		return false;
	if ((maker->h.cast == NC_CAST_FLOAT32 || maker->h.cast == NC_CAST_PRINTED) && maker->dtype != NC_FLOAT64)
		return false;
	if (maker->h.cast == NC_CAST_BEFORE && maker->dtype == NC_FLOAT64)
		return false;
	return !one || (maker->h.root == NC_ROOT_ONCE && maker->h.value == 0);
}

static void try(struct maker maker)
{
	if (maker.h.form == NC_FORM_IDENTITY || maker.h.form == NC_FORM_CENTRED)
		maker.h.value = 0;
	if (!exists(&maker))
		return;
	maker.float32 |= maker.h.cast == NC_CAST_FLOAT32;
	if (maker.h.cast == NC_CAST_PRINTED)
		maker.shape[0] = 30; /* four decimals say little each */
	const struct nc_diagnosis *d = diagnose(&make_norm(&maker)->call);
	assert_explained(&d->forward, &maker.h, maker.dtype);
}

START_TEST(every_choice_of_every_dimension_is_found)
{
	for (int dtype = 0; dtype < NC_DTYPE_COUNT; dtype++)
		for (unsigned d = 0; d < DIMENSIONS; d++)
			for (unsigned c = 0; c < dimensions[d].count; c++) {
				struct maker maker = usual((enum nc_dtype)dtype);
				if (dtype == NC_FLOAT16 && dimensions[d].dimension != NC_BY_CAST)
					continue; /* as bfloat16 */
				bool layer = (c + (unsigned)dtype) % 2 || dimensions[d].dimension == NC_BY_BIAS;
				maker.h.form = layer ? NC_FORM_LAYER : NC_FORM_RMS;
				maker.has_bias = layer;
				maker.h.bias = layer ? NC_BIAS_AS_GIVEN : NC_BIAS_NONE;
				maker.order = (d + c) % 3;
				choice_of(&maker.h, dimensions[d].dimension, c);
				try(maker);
			}
}
END_TEST

START_TEST(every_epsilon_at_every_place_is_found)
{
	for (int dtype = 0; dtype < NC_DTYPE_COUNT; dtype++)
		for (unsigned e = 0; e < NC_EPSILON_COUNT; e++)
			for (unsigned p = 0; p < NC_PLACEMENT_COUNT; p++) {
				struct maker maker = usual((enum nc_dtype)dtype);
				maker.h.form = p % 2 ? NC_FORM_LAYER : NC_FORM_RMS;
				maker.has_bias = false;
				maker.h.bias = NC_BIAS_NONE;
				maker.h.value = nc_hypothesis_epsilon_kind(e) == NC_EPSILON_IS_FITTED
				                        ? 0.02 : nc_hypothesis_epsilon(e, maker.dtype);
				maker.h.placement = (unsigned char)p;
				if (nc_hypothesis_epsilon_kind(e) == NC_EPSILON_IS_FITTED && p == NC_PLACEMENT_SUM)
					continue; /* told as ε/n inside */
				if (p && ((e + p + (unsigned)dtype) % 2 || dtype == NC_FLOAT16))
					continue; /* the rest is as these */
				maker.order = p % 3;
				try(maker);
			}
}
END_TEST

/* Combinations, at random but the same each time. */
START_TEST(combinations_are_found)
{
	unsigned short state[3] = {1, 2, 3};
	for (int i = 0; i < 40; i++) {
		struct maker maker = usual((enum nc_dtype)(i % NC_DTYPE_COUNT));
		for (unsigned d = 0; d < DIMENSIONS; d++)
			if (erand48(state) < 0.5)
				choice_of(&maker.h, dimensions[d].dimension, (unsigned)(erand48(state) * dimensions[d].count));
		unsigned e = (unsigned)(erand48(state) * NC_EPSILON_FITTED);
		maker.h.value = nc_hypothesis_epsilon(e, maker.dtype);
		maker.order = (unsigned)i % 3;
		maker.seed = (unsigned short)(i + 10);
		if (maker.h.root == NC_ROOT_MISSING && maker.h.placement == NC_PLACEMENT_OUTSIDE)
			maker.h.placement = NC_PLACEMENT_INSIDE; /* the same without a root */
		if (maker.h.root != NC_ROOT_ONCE)
			maker.low = 1e-2; /* real rows: a divisor of 1e-12 leaves the range of float16 */
		if (maker.h.root != NC_ROOT_ONCE && maker.dtype == NC_FLOAT16)
			maker.high = 2;
		try(maker);
	}
}
END_TEST

START_TEST(other_axes_are_found)
{
	static const struct {
		unsigned kind, count, axes[3];
		size_t groups;
		bool along;
	} layouts[] = {
		{NC_AXES_OTHER, 1, {0}, 1, false},   {NC_AXES_OTHER, 1, {1}, 1, false},        {NC_AXES_SEVERAL, 3, {0, 1, 2}, 1, false},
		{NC_AXES_SEVERAL, 2, {1, 2}, 1, false}, {NC_AXES_SEVERAL, 2, {0, 1}, 1, false}, {NC_AXES_GROUPS, 1, {2}, 4, false},
		{NC_AXES_OTHER_ALONG, 1, {1}, 1, true}, {NC_AXES_DECLARED, 1, {2}, 1, false},
	};
	for (int dtype = NC_FLOAT32; dtype <= NC_BFLOAT16; dtype++)
		for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
			struct maker maker = usual((enum nc_dtype)dtype);
			maker.h.form = l % 2 ? NC_FORM_LAYER : NC_FORM_RMS;
			maker.rank = 3;
			maker.shape[0] = 5;
			maker.shape[1] = maker.shape[2] = 24;
			maker.axes[0] = 2;
			maker.normalized_count = layouts[l].count;
			memcpy(maker.normalized, layouts[l].axes, sizeof layouts[l].axes);
			maker.groups = layouts[l].groups;
			maker.along = layouts[l].along;
			const struct nc_diagnosis *d = diagnose(&make_norm(&maker)->call);
			assert_explained(&d->forward, &maker.h, maker.dtype);
			const struct nc_diagnose_axes *axes = &d->layout[d->forward.explanation[0].hypothesis.layout];
			ck_assert_uint_eq(axes->kind, layouts[l].kind);
			ck_assert_uint_eq(axes->groups, layouts[l].groups);
			ck_assert_uint_eq(axes->axis_count, layouts[l].count);
			ck_assert_mem_eq(axes->axes, layouts[l].axes, layouts[l].count * sizeof *axes->axes);
		}
}
END_TEST

START_TEST(every_backward_is_found)
{
	static const unsigned char forms[] = {NC_FORM_RMS, NC_FORM_LAYER, NC_FORM_LAYER_SAMPLE, NC_FORM_RMS_BY_VARIANCE};
	for (int dtype = 0; dtype < NC_DTYPE_COUNT; dtype++)
		for (unsigned b = 0; b < NC_BACKWARD_COUNT; b++)
			for (unsigned f = (b + (unsigned)dtype) % 4; f < sizeof forms; f += 4) {
				struct maker maker = usual((enum nc_dtype)dtype);
				maker.low = 2e-3;
				maker.h.form = forms[f];
				maker.h.backward = (unsigned char)b;
				maker.h.gain = b % 2 ? NC_GAIN_PLUS_ONE : NC_GAIN_AS_GIVEN;
				maker.h.cast = dtype != NC_FLOAT64 && f == 0 ? NC_CAST_BEFORE : NC_CAST_AFTER;
				maker.has_bias = f == 1;
				maker.h.bias = f == 1 ? NC_BIAS_AS_GIVEN : NC_BIAS_NONE;
				maker.h.skip = f == 2 ? NC_SKIP_ADDED : NC_SKIP_NONE;
				maker.backward = true;
				bool no_mean = !nc_hypothesis_backward(b)->mean && !nc_hypothesis_form(forms[f])->centred;
				if (no_mean)
					continue;
				const struct nc_diagnosis *d = diagnose(&make_norm(&maker)->call);
				struct nc_hypothesis forward = maker.h, backward = maker.h;
				forward.backward = NC_BACKWARD_FULL;
				backward.bias = NC_BIAS_NONE;
				assert_explained(&d->forward, &forward, maker.dtype);
				assert_explained(&d->backward, &backward, maker.dtype);
				if (b != NC_BACKWARD_FULL)
					ck_assert_uint_ge(d->backward.explanation[0].distance, 100);
				else
					ck_assert_uint_eq(d->backward.explanation[0].distance, 0);
			}
}
END_TEST

/* The gradient that the maker takes for right is that of its forward: by central differences of Σ dy·y. */
START_TEST(the_makers_gradient_is_the_derivative)
{
	static const unsigned char forms[] = {NC_FORM_RMS, NC_FORM_LAYER, NC_FORM_LAYER_SAMPLE, NC_FORM_RMS_BY_VARIANCE,
	                                      NC_FORM_RMS_BY_SAMPLE, NC_FORM_LAYER_BY_SQUARE, NC_FORM_RMS_BY_SUM, NC_FORM_LAYER_BY_SUM};
	for (unsigned f = 0; f < sizeof forms; f++)
		for (unsigned p = 0; p < NC_PLACEMENT_COUNT; p++)
			for (unsigned skip = 0; skip < NC_SKIP_COUNT; skip++) {
				struct maker maker = usual(NC_FLOAT64);
				maker.h.form = forms[f];
				maker.h.placement = (unsigned char)p;
				maker.h.skip = (unsigned char)skip;
				maker.h.value = 0.01;
				maker.shape[0] = 1;
				maker.shape[1] = 6;
				maker.low = maker.high = 0.5;
				maker.backward = true;
				struct made *made = make_norm(&maker);
				double dx[6], *x = made->x.data;
				const double *y = made->y.data, *dy = made->dy.data;
				memcpy(dx, made->dx.data, sizeof dx);
				for (int j = 0; j < 6; j++) {
					double at = x[j], difference = 0, step = 1e-5;
					for (int way = -1; way <= 1; way += 2) {
						x[j] = at + way * step;
						make_again();
						for (int i = 0; i < 6; i++)
							difference += way * dy[i] * y[i] / (2 * step);
					}
					x[j] = at;
					ck_assert_double_eq_tol(dx[j], difference, 1e-7 * (1 + fabs(difference)));
				}
			}
}
END_TEST

START_TEST(noise_is_explained_by_nothing)
{
	static const size_t shapes[][2] = {{4, 8}, {16, 1}, {20, 48}};
	for (int dtype = 0; dtype < NC_DTYPE_COUNT; dtype++)
		for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
			struct maker maker = usual((enum nc_dtype)dtype);
			maker.shape[0] = shapes[i][0];
			maker.shape[1] = shapes[i][1];
			maker.low = maker.high = 1;
			maker.backward = true;
			if (dtype == NC_FLOAT16 && i)
				continue;
			struct made *made = make_norm(&maker);
			for (size_t k = 0; k < made->y.count; k++) {
				nc_tensor_set(&made->y, k, nc_dtype_round(maker.dtype, make_normal()));
				nc_tensor_set(&made->dx, k, nc_dtype_round(maker.dtype, make_normal()));
			}
			const struct nc_diagnosis *d = diagnose(&made->call);
			ck_assert_msg(!d->forward.match, "noise of %s taken for %s", nc_dtype_name(maker.dtype),
			              told(&d->forward.explanation[0].hypothesis));
			ck_assert(!d->backward.match);
			ck_assert_uint_eq(d->forward.count, NC_EXPLANATIONS);
			ck_assert(d->forward.departure.pattern != NC_PATTERN_NONE);
			for (unsigned k = 0; k < d->forward.count; k++)
				ck_assert(!d->forward.explanation[k].tied && d->forward.explanation[k].outside > 0);
		}
}
END_TEST

/* 1e-6 where 1e-5 was meant, with a kernel's noise: told apart where the rows let ε weigh enough. */
START_TEST(a_wrong_epsilon_is_told_apart)
{
	for (int dtype = 0; dtype < NC_DTYPE_COUNT; dtype++)
		for (unsigned order = 0; order < 3; order++) {
			struct maker maker = usual((enum nc_dtype)dtype);
			maker.h.form = NC_FORM_RMS;
			maker.h.value = 1e-6;
			maker.h.bias = NC_BIAS_NONE;
			maker.has_bias = false;
			maker.order = order;
			maker.shape[0] = 16;
			maker.shape[1] = 1024;
			maker.low = 0.1;
			maker.high = 1;
			maker.meant = nc_convention_find("llama");
			const struct nc_diagnosis *d = diagnose(&make_norm(&maker)->call);
			ck_assert(d->forward.match);
			for (unsigned i = 0; i < d->forward.count; i++)
				ck_assert(!d->forward.explanation[i].tied || d->forward.explanation[i].hypothesis.value != 1e-5 ||
				          d->forward.explanation[i].hypothesis.placement != NC_PLACEMENT_INSIDE);
		}
}
END_TEST

/* The families as their reference code computes them, on rows like a first layer's embeddings. */
START_TEST(families_are_named)
{
	static const struct {
		const char *name;
		struct nc_hypothesis h;
		enum nc_dtype dtype;
		bool bias;
	} families[] = {
		{"llama", {.form = NC_FORM_RMS, .value = 1e-5, .bias = NC_BIAS_NONE, .cast = NC_CAST_BEFORE}, NC_BFLOAT16, false},
		{"llama1", {.form = NC_FORM_RMS, .value = 1e-6, .bias = NC_BIAS_NONE, .cast = NC_CAST_BEFORE}, NC_FLOAT16, false},
		{"gemma", {.form = NC_FORM_RMS, .value = 1e-6, .bias = NC_BIAS_NONE, .gain = NC_GAIN_PLUS_ONE}, NC_BFLOAT16, false},
		{"t5", {.form = NC_FORM_RMS, .value = 1e-6, .bias = NC_BIAS_NONE, .cast = NC_CAST_BEFORE}, NC_BFLOAT16, false},
		{"olmo2", {.form = NC_FORM_RMS, .value = 1e-6, .bias = NC_BIAS_NONE}, NC_BFLOAT16, false},
		{"gpt2", {.form = NC_FORM_LAYER, .value = 1e-5}, NC_FLOAT32, true},
		{"bert", {.form = NC_FORM_LAYER, .value = 1e-12}, NC_FLOAT32, true},
		{"torch_rms", {.form = NC_FORM_RMS, .value = 0x1p-23, .bias = NC_BIAS_NONE}, NC_FLOAT32, false},
		{"keras_layer", {.form = NC_FORM_LAYER, .value = 1e-3}, NC_FLOAT32, true},
		{"olmo", {.form = NC_FORM_LAYER, .value = 1e-5, .bias = NC_BIAS_NONE, .gain = NC_GAIN_NONE}, NC_FLOAT32, false},
	};
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		for (unsigned declared = i % 2; declared < 2; declared++) {
			struct maker maker = usual(families[i].dtype);
			maker.h = families[i].h;
			maker.has_bias = families[i].bias;
			maker.has_gain = families[i].h.gain != NC_GAIN_NONE;
			maker.shape[0] = 16;
			maker.shape[1] = 288;
			maker.low = families[i].h.value < 1e-7 ? 1e-5 : 3e-3;
			maker.high = 3;
			maker.order = 0;
			maker.meant = declared ? nc_convention_find(families[i].name) : NULL;
			const struct nc_diagnosis *d = diagnose(&make_norm(&maker)->call);
			const struct nc_explanation *best = &d->forward.explanation[0];
			ck_assert_msg(d->forward.match && best->convention, "%s taken for %s", families[i].name, told(&best->hypothesis));
			ck_assert_uint_eq(best->distance, 0);
			if (declared)
				ck_assert_str_eq(best->convention->name, families[i].name);
			struct nc_given given = {.dtype = maker.dtype, .gain = maker.has_gain, .bias = maker.has_bias};
			struct nc_hypothesis same_as = nc_hypothesis_of(best->convention, &given);
			struct nc_hypothesis truth = nc_hypothesis_of(nc_convention_find(families[i].name), &given);
			if (families[i].dtype != NC_FLOAT32) /* which hides where the cast falls */
				ck_assert_msg(nc_hypothesis_difference(&same_as, &truth) == 0, "%s taken for %s", families[i].name, best->convention->name);
			ck_assert(same_as.value == truth.value && same_as.gain == truth.gain && same_as.form == truth.form);
		}
}
END_TEST

START_TEST(tiny_and_degenerate_inputs_have_an_answer)
{
	static const size_t shapes[][2] = {{1, 1}, {1, 2}, {3, 1}, {2, 5}};
	for (int dtype = 0; dtype < NC_DTYPE_COUNT; dtype++)
		for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
			for (unsigned kind = ((unsigned)dtype + i) % 3; kind < 6; kind += 3) {
				struct maker maker = usual((enum nc_dtype)dtype);
				maker.shape[0] = shapes[i][0];
				maker.shape[1] = shapes[i][1];
				maker.low = maker.high = 1;
				maker.backward = true;
				struct made *made = make_norm(&maker);
				for (size_t k = 0; k < made->x.count; k++) {
					if (kind == 1 || kind == 2)
						nc_tensor_set(&made->x, k, kind == 1 ? 0 : 3); /* no size, no spread */
					if (kind == 3)
						nc_tensor_set(&made->y, k, k ? INFINITY : NAN);
					if (kind == 4)
						nc_tensor_set(&made->x, k, nc_dtype_max(maker.dtype));
					if (kind == 5)
						nc_tensor_set(&made->x, k, maker.dtype == NC_FLOAT64 ? 0x1p-1074 : maker.dtype == NC_FLOAT16 ? 0x1p-24 : 0x1p-133);
				}
				const struct nc_diagnosis *d = diagnose(&made->call);
				ck_assert_uint_gt(d->forward.count, 0);
				ck_assert_uint_gt(d->backward.count, 0);
				ck_assert(d->forward.match == d->forward.explanation[0].match);
			}
}
END_TEST

START_TEST(bad_arguments_are_refused)
{
	struct maker maker = usual(NC_FLOAT32);
	struct nc_diagnosis d;
	diagnose(&make_norm(&maker)->call);
	for (int i = 0; i < 8; i++) {
		struct made made = *make_norm(&maker);
		static const unsigned outside[] = {2}, twice[] = {1, 1};
		made.call.x = &made.x;
		made.call.y = &made.y;
		switch (i) {
		case 0: made.y.shape[0] = 11; break;
		case 1: made.y.dtype = NC_FLOAT64; break;
		case 2: made.call.axes = outside; break;
		case 3: made.call.axes = twice; made.call.axis_count = 2; break;
		case 4: made.call.axis_count = 0; break;
		case 5: made.gain.count = 3; made.call.gain = &made.gain; break;
		case 6: made.call.dy = &made.dy; break;
		case 7: made.x.count = 0; break;
		}
		ck_assert_int_eq(nc_diagnose(&made.call, &d, NULL, arena), NC_INVALID);
	}
}
END_TEST

START_TEST(threads_change_nothing)
{
	struct nc_pool *pool = nc_pool_create(3);
	for (int dtype = 0; dtype < NC_DTYPE_COUNT; dtype++) {
		struct maker maker = usual((enum nc_dtype)dtype);
		maker.backward = true;
		maker.h.value = 0.003; /* fitted */
		struct made *made = make_norm(&maker);
		const struct nc_diagnosis *alone = diagnose(&made->call);
		struct nc_diagnosis shared;
		ck_assert_int_eq(nc_diagnose(&made->call, &shared, pool, arena), NC_OK);
		for (int way = 0; way < 2; way++) {
			const struct nc_finding *a = way ? &alone->backward : &alone->forward, *b = way ? &shared.backward : &shared.forward;
			ck_assert_uint_eq(a->count, b->count);
			ck_assert_uint_eq(a->matching, b->matching);
			for (unsigned i = 0; i < a->count; i++) {
				ck_assert_int_eq(nc_hypothesis_difference(&a->explanation[i].hypothesis, &b->explanation[i].hypothesis), 0);
				ck_assert(a->explanation[i].hypothesis.value == b->explanation[i].hypothesis.value);
				ck_assert(a->explanation[i].comparison.max_ulp == b->explanation[i].comparison.max_ulp);
			}
		}
	}
	nc_pool_destroy(pool);
}
END_TEST

TEST_MAIN(every_choice_of_every_dimension_is_found, every_epsilon_at_every_place_is_found, combinations_are_found,
          other_axes_are_found, every_backward_is_found, the_makers_gradient_is_the_derivative, noise_is_explained_by_nothing,
          a_wrong_epsilon_is_told_apart, families_are_named, tiny_and_degenerate_inputs_have_an_answer,
          bad_arguments_are_refused, threads_change_nothing)
