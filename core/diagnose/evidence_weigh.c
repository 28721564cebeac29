/* One hypothesis against the data, element by element: what it predicts, and between what limits a kernel may land. */
#include "evidence.h"

#include <math.h>
#include <string.h>

/* A number that a kernel computes, and the limits within which its roundings leave it. */
struct span {
	double low, at, high;
};

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static struct span exactly(double value)
{
	return (struct span){value, value, value};
}

static struct span widened(struct span s, double by)
{
	return (struct span){s.low - by, s.at, s.high + by};
}

static struct span rounded(enum nc_dtype dtype, struct span s)
{
	double at = evidence_round(dtype, s.at);
	if (s.low == s.at && s.high == s.at)
		return exactly(at);
	return (struct span){evidence_round(dtype, s.low), at, evidence_round(dtype, s.high)};
}

static struct span ordered(double a, double at, double b)
{
	return a <= b ? (struct span){a, at, b} : (struct span){b, at, a};
}

static struct span scaled(struct span s, double by)
{
	return ordered(s.low * by, s.at * by, s.high * by);
}

static struct span shifted(struct span s, double by)
{
	return (struct span){s.low + by, s.at + by, s.high + by};
}

/* log2(value) for value >= 1, straight between powers of two: exact arithmetic, the same on every machine. 64 at most. */
static double logarithm(double value)
{
	if (!(value < 0x1p64))
		return 64;
	int64_t bits;
	memcpy(&bits, &value, sizeof bits);
	return (double)(bits - ((int64_t)1023 << 52)) * 0x1p-52;
}

/* What one hypothesis needs for every element. */
struct weighing {
	const struct evidence *evidence;
	const struct nc_hypothesis *h;
	const struct evidence_layout *layout;
	const struct nc_tensor *output;  /* y or dx */
	double typical, vague;           /* the unit of the last place of a number of its usual size; a sixteenth of that size */
	const double *gain, *bias;
	enum nc_dtype dtype;
	double unit, noise;              /* u and u·(√n + 8) */
	double terms;                    /* relative error of what the last steps add and multiply */
	struct evidence_fit *fit;
	const struct evidence_trace *trace;
};

/* Books one element: raw is the prediction before the last rounding. */
static void book(const struct weighing *w, size_t offset, struct span raw)
{
	struct evidence_fit *fit = w->fit;
	double got = nc_tensor_get(w->output, offset), want = evidence_round(w->dtype, raw.at);
	bool inside = got == want || (isnan(got) && isnan(want));
	fit->seen++;
	if (!inside) {
		if (w->h->cast == NC_CAST_PRINTED) /* rounding to decimals is no rounding to the dtype's grid */
			raw = widened(raw, w->evidence->half_decimal);
		double half = larger(raw.high - raw.at, raw.at - raw.low);
		double ulp = evidence_ulp(w->dtype, want), away = fabs(got - want), units = away / ulp;
		inside = got >= evidence_round(w->dtype, raw.low) && got <= evidence_round(w->dtype, raw.high);
		fit->differing++;
		fit->outside += !inside;
		fit->blind += inside && !(half <= w->vague);
		fit->score += logarithm(1 + away / (half + 0.5 * larger(ulp, evidence_ulp(w->dtype, got))));
		fit->nearness += logarithm(1 + away / w->typical);
		fit->square += units < 0x1p32 ? units * units : 0x1p64;
	}
	if (w->trace && w->trace->predicted)
		w->trace->predicted[offset] = want;
	if (w->trace && w->trace->outside)
		w->trace->outside[offset] = !inside;
}

/* y = gain · x̂ + bias [+ x], with x̂ in its span and u of each term for the roundings on the way. */
static struct span finish(const struct weighing *w, struct span xhat, double g, double b, double skip)
{
	struct span y = shifted(shifted(scaled(xhat, g), b), skip);
	return widened(y, w->terms * (fabs(xhat.at * g) + fabs(b) + fabs(skip)));
}

static void forward_row(const struct weighing *w, size_t r, size_t step)
{
	const struct evidence *evidence = w->evidence;
	const struct nc_hypothesis *h = w->h;
	const struct evidence_layout *layout = w->layout;
	const struct evidence_row *row = &layout->row[r];
	const struct nc_form *form = nc_hypothesis_form(h->form);
	size_t features = evidence->diagnosis->layout[h->layout].features;
	double divisor = evidence_divisor(evidence, h, r, NULL), size = fabs(divisor), centre = form->centred ? row->mean : 0;
	double relative = w->noise * (h->root == NC_ROOT_MISSING ? 2 : 1);
	if (form->statistic == NC_VARIANCE || form->statistic == NC_SAMPLE_VARIANCE || form->statistic == NC_SUM_CENTRED)
		relative *= 1 + fabs(row->mean) / size;
	double absolute = form->centred ? w->unit * (sqrt((double)features) * fabs(row->mean) + 2 * row->magnitude) / size : 0;
	double elementwise = 2 * w->unit / size;
	bool before = h->cast == NC_CAST_BEFORE, added = h->skip == NC_SKIP_ADDED;
	for (size_t j = 0; j < features; j += step) {
		size_t offset = layout->row_offset[r] + layout->feature_offset[j];
		size_t param = layout->row_param[r] + layout->feature_param[j];
		double x = nc_tensor_get(evidence->x, offset), at = (x - centre) / divisor;
		struct span xhat = widened(exactly(at), relative * fabs(at) + elementwise * fabs(x) + absolute);
		if (before)
			xhat = rounded(w->dtype, xhat);
		book(w, offset, finish(w, xhat, w->gain[param], w->bias[param], added ? x : 0));
	}
}

/* --- every step rounded ------------------------------------------------------------------------------------------ */

static struct span square_root(struct span s)
{
	return (struct span){sqrt(s.low), sqrt(s.at), sqrt(s.high)};
}

/* D, or with STEPS 1/D, as code gives it that rounds every step to the dtype. */
static struct span step_divisor(const struct weighing *w, size_t r)
{
	const struct evidence_row *row = &w->layout->row[r];
	const struct nc_hypothesis *h = w->h;
	enum nc_dtype dtype = w->dtype;
	double n = (double)w->evidence->diagnosis->layout[h->layout].features;
	double m = 0;
	switch (nc_hypothesis_form(h->form)->statistic) {
	case NC_MEAN_SQUARE:
		m = row->step_square;
		break;
	case NC_VARIANCE:
		m = row->step_variance;
		break;
	case NC_SAMPLE_VARIANCE:
		m = row->step_variance * n / (n - 1);
		break;
	case NC_SUM_SQUARE:
		m = row->step_square * n;
		break;
	case NC_SUM_CENTRED:
		m = row->step_variance * n;
		break;
	default:
		return exactly(1);
	}
	double e = h->placement == NC_PLACEMENT_SUM ? h->value / n : h->value;
	bool inside = h->placement == NC_PLACEMENT_INSIDE || h->placement == NC_PLACEMENT_SUM;
	struct span d = rounded(dtype, widened(exactly(m), 2 * w->noise * m));
	if (inside)
		d = rounded(dtype, shifted(d, e));
	unsigned times = nc_hypothesis_root_times(h->root);
	bool inverse = h->cast == NC_CAST_STEPS && inside;
	for (unsigned t = 0; t < times; t++) {
		d = square_root(d);
		if (!inverse || t + 1 < times) /* rsqrt is one step */
			d = rounded(dtype, d);
	}
	if (h->placement == NC_PLACEMENT_OUTSIDE)
		d = rounded(dtype, shifted(d, e));
	if (h->placement == NC_PLACEMENT_CLAMP) {
		double least = evidence_round(dtype, e);
		d = (struct span){fmax(d.low, least), fmax(d.at, least), fmax(d.high, least)};
	}
	if (h->cast != NC_CAST_STEPS)
		return d;
	struct span f = {1 / d.high, 1 / d.at, 1 / d.low};
	return rounded(dtype, widened(f, 2 * w->unit * f.at));
}

static void forward_row_by_steps(const struct weighing *w, size_t r, size_t step)
{
	const struct evidence *evidence = w->evidence;
	const struct nc_hypothesis *h = w->h;
	const struct evidence_layout *layout = w->layout;
	size_t features = evidence->diagnosis->layout[h->layout].features;
	struct span d = step_divisor(w, r);
	bool centred = nc_hypothesis_form(h->form)->centred, inverse = h->cast == NC_CAST_STEPS;
	double centre = centred ? layout->row[r].step_mean : 0;
	for (size_t j = 0; j < features; j += step) {
		size_t offset = layout->row_offset[r] + layout->feature_offset[j];
		size_t param = layout->row_param[r] + layout->feature_param[j];
		double x = nc_tensor_get(evidence->x, offset), c = evidence_round(w->dtype, x - centre);
		struct span xhat = inverse ? scaled(d, c) : ordered(c / d.high, c / d.at, c / d.low);
		struct span y = rounded(w->dtype, xhat);
		if (h->gain != NC_GAIN_NONE)
			y = rounded(w->dtype, scaled(y, w->gain[param]));
		if (h->bias != NC_BIAS_NONE)
			y = rounded(w->dtype, shifted(y, w->bias[param]));
		book(w, offset, h->skip == NC_SKIP_ADDED ? shifted(y, x) : y);
	}
}

/* --- backward ---------------------------------------------------------------------------------------------------- */

static const struct evidence_gradient *sums_of(const struct weighing *w, unsigned gain, size_t r)
{
	const struct nc_hypothesis *h = w->h;
	size_t rows = w->evidence->diagnosis->layout[h->layout].rows;
	unsigned early = h->cast == NC_CAST_BEFORE;
	return &w->evidence->gradient[h->layout != 0][((size_t)gain * 2 + early) * rows + r];
}

/* With u = g·dy, b what the forward divides and c the statistic's: dx = [skip dy] + (u − ū)/D − slope·c·Σ u b / D². */
static void backward_row(const struct weighing *w, size_t r, size_t step)
{
	const struct evidence *evidence = w->evidence;
	const struct nc_hypothesis *h = w->h;
	const struct evidence_layout *layout = w->layout;
	const struct evidence_row *row = &layout->row[r];
	const struct nc_form *form = nc_hypothesis_form(h->form);
	const struct nc_backward *backward = nc_hypothesis_backward(h->backward);
	size_t features = evidence->diagnosis->layout[h->layout].features;
	double n = (double)features, slope, divisor = evidence_divisor(evidence, h, r, &slope);
	const struct evidence_gradient *sum = sums_of(w, backward->outside ? NC_GAIN_NONE : h->gain, r);
	bool by_variance = form->statistic == NC_VARIANCE || form->statistic == NC_SAMPLE_VARIANCE || form->statistic == NC_SUM_CENTRED;
	bool mean = form->centred && backward->mean;
	double centre = by_variance ? row->mean : 0;
	double projection = slope / divisor / divisor;
	switch (backward->projection) {
	case NC_PROJECTION_ZERO:
		projection = 0;
		break;
	case NC_PROJECTION_ONE:
		break;
	case NC_PROJECTION_N:
		projection *= n;
		break;
	case NC_PROJECTION_MINUS:
		projection = -projection;
		break;
	}
	if (backward->power)
		projection *= divisor;
	double along = projection * (form->centred ? sum->uc : sum->ux);
	double along_size = fabs(projection) * (form->centred ? sum->abs_uc : sum->abs_ux);
	double mean_u = mean ? sum->u / n : 0, mean_size = mean ? sum->abs_u / n : 0;
	bool early = h->cast == NC_CAST_BEFORE;
	for (size_t j = 0; j < features; j += step) {
		size_t offset = layout->row_offset[r] + layout->feature_offset[j];
		size_t param = layout->row_param[r] + layout->feature_param[j];
		double x = nc_tensor_get(evidence->x, offset), dy = nc_tensor_get(evidence->dy, offset), g = w->gain[param];
		double u = backward->outside ? dy : g * dy, c = x - centre, skip = h->skip == NC_SKIP_ADDED ? dy : 0;
		if (early)
			u = evidence_round(w->dtype, u);
		double at = (u - mean_u) / divisor - along * c;
		double size = (fabs(u) + mean_size) / divisor + along_size * (fabs(c) + (by_variance ? row->magnitude : 0));
		if (backward->outside) {
			at *= g;
			size *= fabs(g);
		}
		book(w, offset, widened(exactly(at + skip), w->noise * size + w->terms * (fabs(at) + fabs(skip))));
	}
}

/* --- the three, over a stage ------------------------------------------------------------------------------------- */

typedef void row_fn(const struct weighing *w, size_t r, size_t step);

static void weigh(struct weighing *w, row_fn *row, struct evidence_stage stage)
{
	const struct evidence *evidence = w->evidence;
	const struct nc_hypothesis *h = w->h;
	size_t features = evidence->diagnosis->layout[h->layout].features;
	w->layout = &evidence->layout[h->layout];
	w->gain = evidence->gain[h->gain];
	w->bias = evidence->bias[h->bias];
	w->dtype = evidence->dtype;
	w->unit = evidence_unit(evidence, h);
	w->vague = ldexp(w->typical, nc_dtype_mantissa_bits(w->dtype) - 4);
	w->noise = evidence_noise(evidence, h);
	w->terms = w->unit * (w->dtype == NC_FLOAT64 && w->unit > 0x1p-53 ? 4 : 2); /* float32's inputs and output are rounded too */
	*w->fit = (struct evidence_fit){0};
	size_t rows = evidence_stage_rows(evidence, h->layout, stage);
	size_t step = stage.elements < features ? features / stage.elements : 1;
	for (size_t i = 0; i < rows; i++)
		row(w, evidence_stage_row(evidence, h->layout, stage, i), step);
	if (2 * w->fit->blind > w->fit->seen)
		w->fit->outside += w->fit->blind;
	w->fit->score /= (double)w->fit->seen;
	w->fit->nearness /= (double)w->fit->seen;
}

void evidence_forward(const struct evidence *evidence, const struct nc_hypothesis *h, struct evidence_stage stage,
                      struct evidence_fit *fit, const struct evidence_trace *trace)
{
	bool steps = h->cast == NC_CAST_STEPS || h->cast == NC_CAST_STEPS_DIVIDED;
	struct weighing w = {.evidence = evidence, .h = h, .fit = fit, .trace = trace, .output = evidence->y, .typical = evidence->typical[0]};
	weigh(&w, steps ? forward_row_by_steps : forward_row, stage);
}

void evidence_backward(const struct evidence *evidence, const struct nc_hypothesis *h, struct evidence_stage stage,
                       struct evidence_fit *fit, const struct evidence_trace *trace)
{
	struct weighing w = {.evidence = evidence, .h = h, .fit = fit, .trace = trace, .output = evidence->dx, .typical = evidence->typical[1]};
	weigh(&w, backward_row, stage);
}

enum nc_status evidence_prepare_backward(struct evidence *evidence, unsigned other, struct nc_arena *arena)
{
	const struct nc_tensor *x = evidence->x;
	for (unsigned which = 0; which < (other ? 2 : 1); which++) {
		unsigned l = which ? other : 0;
		const struct evidence_layout *layout = &evidence->layout[l];
		size_t rows = evidence->diagnosis->layout[l].rows, features = evidence->diagnosis->layout[l].features;
		struct evidence_gradient *to = nc_arena_zero(arena, rows * 2 * NC_GAIN_COUNT, sizeof *to);
		if (!to)
			return NC_NO_MEMORY;
		evidence->gradient[which] = to;
		for (unsigned g = 0; g < NC_GAIN_COUNT; g++)
			for (unsigned early = 0; early < 2 && evidence->gain[g]; early++)
				for (size_t r = 0; r < rows; r++) {
					struct evidence_gradient sum = {0};
					for (size_t j = 0; j < features; j++) {
						size_t offset = layout->row_offset[r] + layout->feature_offset[j];
						double gain = evidence->gain[g][layout->row_param[r] + layout->feature_param[j]];
						double u = gain * nc_tensor_get(evidence->dy, offset), v = nc_tensor_get(x, offset);
						double c = v - layout->row[r].mean;
						if (early)
							u = evidence_round(evidence->dtype, u);
						sum.u += u;
						sum.ux += u * v;
						sum.uc += u * c;
						sum.abs_u += fabs(u);
						sum.abs_ux += fabs(u * v);
						sum.abs_uc += fabs(u * c);
					}
					to[((size_t)g * 2 + early) * rows + r] = sum;
				}
	}
	evidence->gradient_layout = other;
	return NC_OK;
}
