#include "explain.h"

#include "text.h"

#include <math.h>
#include <string.h>

static const char *dtype_of(const struct explain *explain)
{
	return nc_dtype_name(explain->diagnosis->given.dtype);
}

/* --- what -------------------------------------------------------------------------------------------------------- */

static void add_axes(struct text *text, const struct explain *explain, const struct nc_diagnose_axes *axes)
{
	if (axes->groups > 1) {
		text_add_size(text, axes->groups);
		text_add(text, " groups of ");
		text_add_size(text, axes->features);
		text_add(text, " of ");
	}
	if (axes->axis_count == explain->rank && explain->rank > 1) {
		text_add(text, "all axes");
		return;
	}
	if (axes->axis_count == 1 && axes->axes[0] == explain->rank - 1) {
		text_add(text, "the last axis");
		return;
	}
	text_add(text, axes->axis_count == 1 ? "axis " : "axes ");
	for (unsigned a = 0; a < axes->axis_count; a++) {
		text_add(text, a == 0 ? "" : a + 1 == axes->axis_count ? " and " : ", ");
		text_add_size(text, axes->axes[a]);
	}
	if (axes->kind == NC_AXES_OTHER_ALONG)
		text_add(text, " with gain and bias along it");
}

static void add_epsilon(struct text *text, const struct explain *explain, const struct nc_hypothesis *h)
{
	enum nc_dtype dtype = explain->diagnosis->given.dtype;
	if (h->value == 0) {
		text_add(text, "without ε");
		return;
	}
	text_add(text, "ε = ");
	text_add_small(text, h->value);
	if (nc_hypothesis_epsilon_kind(h->epsilon) == NC_EPSILON_IS_COMPUTED) {
		text_add(text, " (the machine epsilon of ");
		text_add(text, dtype == NC_FLOAT64 ? "float64)" : "float32)");
	}
	if (nc_hypothesis_epsilon_kind(h->epsilon) == NC_EPSILON_IS_STORED) {
		text_add(text, " (the machine epsilon of ");
		text_add(text, dtype_of(explain));
		text_add(text, ")");
	}
	if (nc_hypothesis_epsilon_kind(h->epsilon) == NC_EPSILON_IS_FITTED)
		text_add(text, " (fitted to your numbers)");
	text_add(text, " ");
	text_add(text, nc_hypothesis_choice(NC_BY_PLACEMENT, h->placement)->text);
}

/* Whether where the roundings fall is worth a word. */
static bool cast_is_told(const struct explain *explain, const struct nc_hypothesis *h)
{
	if (h->cast == NC_CAST_AFTER)
		return !explain->of_dx && explain->diagnosis->given.dtype != NC_FLOAT64 && h->gain != NC_GAIN_NONE;
	return !explain->of_dx || nc_hypothesis_cast_neutral(h->cast);
}

static void add_choice(struct text *text, const struct explain *explain, enum nc_dimension dimension, const struct nc_hypothesis *h)
{
	const char *part = nc_hypothesis_choice(dimension, nc_hypothesis_get(h, dimension))->text;
	if (!*part)
		return;
	text_add(text, ", ");
	text_add_for(text, part, dtype_of(explain));
}

/* The conventions that a hypothesis is, "llama or mistral". */
static void add_conventions(struct text *text, const struct explain *explain, const struct nc_hypothesis *h)
{
	const struct nc_convention *c;
	unsigned named = 0;
	for (size_t i = 0; (c = nc_convention_at(i)); i++) {
		struct nc_hypothesis of = nc_hypothesis_of(c, &explain->diagnosis->given);
		if (nc_hypothesis_distance(h, &of))
			continue;
		text_add(text, named++ ? " or " : ": ");
		text_add(text, c->name);
	}
}

const char *explain_what(struct nc_arena *arena, const struct explain *explain, const struct nc_hypothesis *h)
{
	struct text text = {.len = 0};
	const struct nc_diagnosis *d = explain->diagnosis;
	if (explain->of_dx) {
		text_add(&text, nc_hypothesis_choice(NC_BY_BACKWARD, h->backward)->text);
		text_add(&text, "; the forward: ");
	}
	text_add(&text, nc_hypothesis_choice(NC_BY_FORM, h->form)->text);
	text_add(&text, ", over ");
	add_axes(&text, explain, &d->layout[h->layout]);
	if (h->layout) {
		text_add(&text, " instead of ");
		add_axes(&text, explain, &d->layout[0]);
	}
	if (nc_hypothesis_form(h->form)->statistic != NC_ONE) {
		text_add(&text, ", ");
		add_epsilon(&text, explain, h);
	}
	add_choice(&text, explain, NC_BY_ROOT, h);
	if (d->given.gain)
		add_choice(&text, explain, NC_BY_GAIN, h);
	if (d->given.bias && !explain->of_dx)
		add_choice(&text, explain, NC_BY_BIAS, h);
	if (cast_is_told(explain, h))
		add_choice(&text, explain, NC_BY_CAST, h);
	if (explain->of_dx && h->cast == NC_CAST_BEFORE)
		text_add_for(&text, ", gain · dy rounded to {dtype} first", dtype_of(explain));
	if (h->cast == NC_CAST_PRINTED && d->decimals > 0) {
		text_add(&text, " (");
		text_add_size(&text, (size_t)d->decimals);
		text_add(&text, ")");
	}
	add_choice(&text, explain, NC_BY_SKIP, h);
	if (!explain->of_dx)
		add_conventions(&text, explain, h);
	text_add(&text, ".");
	return text_keep(arena, &text);
}

/* --- what tells two apart ---------------------------------------------------------------------------------------- */

static bool same_centre(unsigned a, unsigned b)
{
	const struct nc_form *fa = nc_hypothesis_form(a), *fb = nc_hypothesis_form(b);
	bool sample = fa->statistic == NC_SAMPLE_VARIANCE || fb->statistic == NC_SAMPLE_VARIANCE;
	return fa->centred == fb->centred && sample;
}

const char *explain_apart(struct nc_arena *arena, const struct explain *explain, const struct nc_hypothesis *a,
                          const struct nc_hypothesis *b)
{
	static const char *const inputs[NC_DIMENSION_COUNT] = {
		[NC_BY_FORM] = "rows whose mean is far from 0",
		[NC_BY_AXES] = "an x whose axes have different lengths and whose rows have different sizes",
		[NC_BY_ROOT] = "rows whose mean square is far from 1",
		[NC_BY_GAIN] = "a gain whose elements differ from 0, from 1 and from each other",
		[NC_BY_BIAS] = "a bias whose elements are not 0",
		[NC_BY_SKIP] = "an x that is not small against y",
		[NC_BY_BACKWARD] = "a dy whose mean is not 0 and that is not orthogonal to x",
	};
	struct text text = {.len = 0};
	unsigned different = nc_hypothesis_difference(a, b);
	bool narrow = explain->diagnosis->given.dtype == NC_BFLOAT16 || explain->diagnosis->given.dtype == NC_FLOAT16;
	for (enum nc_dimension d = 0; d < NC_DIMENSION_COUNT; d++) {
		if (!(different >> d & 1) || (d == NC_BY_PLACEMENT && different >> NC_BY_EPSILON & 1))
			continue;
		text_add_listed(&text, ", or ", d == NC_BY_FORM && same_centre(a->form, b->form) ? "rows of fewer features, where n and n − 1 differ more"
		                                : d == NC_BY_CAST && narrow ? "more elements, and a gain whose elements are no powers of two"
		                                : d == NC_BY_CAST           ? "the same in bfloat16, where one rounding more is larger than a kernel's own"
		                                : inputs[d]                 ? inputs[d]
		                                                            : "a row of elements near ");
		if (d != NC_BY_EPSILON && d != NC_BY_PLACEMENT)
			continue;
		/* inside the root ε weighs against squares, outside against the row's size */
		double size = 0;
		const struct nc_hypothesis *both[] = {a, b};
		for (unsigned i = 0; i < 2; i++) {
			bool squares = both[i]->placement == NC_PLACEMENT_INSIDE || both[i]->placement == NC_PLACEMENT_SUM;
			size = fmax(size, squares ? sqrt(both[i]->value) : both[i]->value);
		}
		double power = 1;
		for (double ten = 10; 1 / ten > size * 0.99 && ten < 1e18; ten *= 10)
			power = 1 / ten;
		text_add_small(&text, power);
		text_add(&text, ", where ε weighs as much as they do");
	}
	if (!text.len)
		return NULL;
	text_add(&text, ".");
	return text_keep(arena, &text);
}

/* --- advice ------------------------------------------------------------------------------------------------------ */

static const struct nc_convention *target_of(const struct explain *explain, const struct nc_hypothesis *h)
{
	const struct nc_convention *c, *nearest = explain->convention;
	unsigned least = UINT32_MAX;
	for (size_t i = 0; !explain->convention && (c = nc_convention_at(i)); i++) {
		struct nc_hypothesis of = nc_hypothesis_of(c, &explain->diagnosis->given);
		unsigned distance = nc_hypothesis_distance(h, &of);
		if (distance < least) {
			least = distance;
			nearest = c;
		}
	}
	return nearest;
}

static void add_fix(struct text *text, const struct explain *explain, enum nc_dimension dimension, const struct nc_hypothesis *target)
{
	const char *fix = nc_hypothesis_choice(dimension, nc_hypothesis_get(target, dimension))->fix;
	text_add(text, text->len ? "; " : "");
	switch (dimension) {
	case NC_BY_EPSILON:
		text_add(text, "use ε = ");
		text_add_small(text, target->value);
		text_add(text, " inside the square root");
		break;
	case NC_BY_AXES:
		text_add(text, "normalize over ");
		add_axes(text, explain, &explain->diagnosis->layout[0]);
		break;
	default:
		text_add_for(text, fix, dtype_of(explain));
	}
}

/* What leads from h to the target, dimension by dimension. */
static void add_fixes(struct text *text, const struct explain *explain, unsigned different, const struct nc_hypothesis *target)
{
	if (different >> NC_BY_EPSILON & 1) /* which says the placement too */
		different &= ~(1u << NC_BY_PLACEMENT);
	for (enum nc_dimension d = 0; d < NC_DIMENSION_COUNT; d++)
		if (different >> d & 1)
			add_fix(text, explain, d, target);
}

static const char *const patterns[][2] = {
	[NC_PATTERN_NONE] = {"none", ""},
	[NC_PATTERN_NONFINITE] = {"nonfinite", "look for a division by zero, a square that overflows, or memory that was never written"},
	[NC_PATTERN_ELEMENT] = {"element", "look for a write to the wrong place or a race"},
	[NC_PATTERN_ROW] = {"row", "look at how that row differs: its index at a block's edge, its size, a write of another thread"},
	[NC_PATTERN_COLUMN] = {"column", "look at the gain and bias of that feature and at the index with which they are read"},
	[NC_PATTERN_COLUMNS] = {"columns", "look at the part of the loop, of the gain and of the bias that belongs to these features"},
	[NC_PATTERN_TAIL] = {"tail", "look at the loop over what is left behind the last whole vector"},
	[NC_PATTERN_FROM_ROW] = {"from_row", "look at the stride between rows, at the number of rows launched, and at what is reused from one row to the next"},
	[NC_PATTERN_GROWING] = {"growing", "look for something carried from one row to the next: an accumulator that is not reset, a stride that drifts"},
	[NC_PATTERN_ROW_FACTOR] = {"row_factor", "look for an approximate reciprocal square root without a Newton step, or a sum of squares in too low a precision"},
	[NC_PATTERN_EVERYWHERE] = {"everywhere", "look at the whole formula, or at whether x, gain and y belong together"},
	[NC_PATTERN_SCATTERED] = {"scattered", "look for a race, for stale memory, or for an input that was changed on the way"},
};

const char *explain_pattern(enum nc_pattern pattern)
{
	return patterns[pattern][0];
}

const char *explain_advice(struct nc_arena *arena, const struct explain *explain, const struct nc_finding *finding)
{
	struct text text = {.len = 0};
	const struct nc_explanation *best = &finding->explanation[0];
	const char *output = explain->of_dx ? "dx" : "y";
	if (!finding->match) {
		text_add(&text, patterns[finding->departure.pattern][1]);
		text.bytes[0] = (char)(text.bytes[0] - 'a' + 'A');
		text_add(&text, ".");
		return text_keep(arena, &text);
	}
	struct nc_hypothesis target;
	const char *name;
	unsigned different;
	if (explain->of_dx) { /* towards the gradient of what explains y */
		target = explain->diagnosis->forward.explanation[0].hypothesis;
		name = "the gradient of y";
		different = best->distance ? nc_hypothesis_steps(&best->hypothesis, &target) : 0;
		different &= ~(1u << NC_BY_BIAS | 1u << NC_BY_CAST);
	} else {
		const struct nc_convention *convention = target_of(explain, &best->hypothesis);
		target = nc_hypothesis_of(convention, &explain->diagnosis->given);
		name = best->distance ? convention->name : best->convention->name;
		different = nc_hypothesis_steps(&best->hypothesis, &target);
	}
	if (explain->of_dx && different >> NC_BY_BACKWARD & 1) {
		text_add(&text, nc_hypothesis_choice(NC_BY_BACKWARD, best->hypothesis.backward)->fix);
		different &= ~(1u << NC_BY_BACKWARD);
	}
	add_fixes(&text, explain, different, &target);
	struct text whole = {.len = 0};
	if (!text.len) {
		text_add(&whole, output);
		text_add(&whole, " is ");
		text_add(&whole, name);
		text_add(&whole, ": there is nothing to change");
		if (finding->matching > 1)
			text_add(&whole, ", as far as these data can tell");
	} else {
		text.bytes[text.len] = 0;
		text_add(&whole, "To reach ");
		text_add(&whole, name);
		text_add(&whole, ", ");
		text_add(&whole, text.bytes);
	}
	text_add(&whole, ".");
	return text_keep(arena, &whole);
}

const char *explain_departure(struct nc_arena *arena, const struct explain *explain, const struct nc_finding *finding)
{
	const struct nc_departure *d = &finding->departure;
	struct text text = {.len = 0};
	text_add_size(&text, d->count);
	text_add(&text, " of ");
	text_add_size(&text, d->of);
	text_add(&text, explain->of_dx ? " elements of dx depart" : " elements of y depart");
	switch (d->pattern) {
	case NC_PATTERN_NONFINITE:
		text_add(&text, ": NaN or infinities where finite values belong");
		break;
	case NC_PATTERN_ROW:
		text_add(&text, ", all in row ");
		text_add_size(&text, d->row);
		break;
	case NC_PATTERN_COLUMN:
		text_add(&text, ", all at feature ");
		text_add_size(&text, d->element);
		break;
	case NC_PATTERN_COLUMNS:
		text_add(&text, ", all at the same ");
		text_add_size(&text, d->features);
		text_add(&text, " features, from ");
		text_add_size(&text, d->first);
		text_add(&text, " to ");
		text_add_size(&text, d->last);
		break;
	case NC_PATTERN_TAIL:
		text_add(&text, ", all behind the last whole vector of ");
		text_add_size(&text, d->width);
		text_add(&text, " features");
		break;
	case NC_PATTERN_FROM_ROW:
		text_add(&text, ", in every row from ");
		text_add_size(&text, d->row);
		text_add(&text, " on");
		break;
	case NC_PATTERN_GROWING:
		text_add(&text, ", the more the larger the row's index");
		break;
	case NC_PATTERN_ROW_FACTOR: {
		double power = 1;
		while (d->factor * power < 100 && power < 1e18)
			power *= 10;
		text_add(&text, ": each row is the prediction times a factor of its own, off by up to ");
		text_add_number(&text, nearbyint(d->factor * power) / power);
		break;
	}
	case NC_PATTERN_EVERYWHERE:
		text_add(&text, ", everywhere");
		break;
	case NC_PATTERN_SCATTERED:
		text_add(&text, ", scattered");
		break;
	default:
		break;
	}
	text_add(&text, "; the first is element ");
	text_add_size(&text, d->element);
	text_add(&text, " of row ");
	text_add_size(&text, d->row);
	text_add(&text, ": ");
	text_add_number(&text, d->got);
	text_add(&text, ", where the nearest explanation gives ");
	text_add_number(&text, d->want);
	text_add(&text, ".");
	return text_keep(arena, &text);
}
