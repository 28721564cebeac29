#include "epsilon_fit.h"

#include <math.h>
#include <stdlib.h>

static const struct evidence_stage sample = {16, 64};

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof *values, ascending);
	return values[count / 2];
}

/* ε that makes the divisor of row r equal to D; may be negative; NaN where the clamp does not hold. */
static double solve(const struct evidence *evidence, const struct nc_hypothesis *h, size_t r, double divisor)
{
	struct nc_hypothesis bare = *h;
	bare.value = 0;
	bare.placement = NC_PLACEMENT_INSIDE;
	double root = evidence_divisor(evidence, &bare, r, NULL);
	switch (h->placement) {
	case NC_PLACEMENT_OUTSIDE:
		return divisor - root;
	case NC_PLACEMENT_CLAMP:
		return divisor > root * (1 + 4 * evidence_noise(evidence, h)) ? divisor : NAN;
	default:
		switch (nc_hypothesis_root_times(h->root)) {
		case 0:
			return divisor - root;
		case 1:
			return (divisor - root) * (divisor + root);
		default:
			return (divisor * divisor - root * root) * (divisor * divisor + root * root);
		}
	}
}

double epsilon_estimate(const struct evidence *evidence, const struct nc_hypothesis *h)
{
	const struct evidence_layout *layout = &evidence->layout[h->layout];
	size_t features = evidence->diagnosis->layout[h->layout].features;
	size_t rows = evidence_stage_rows(evidence, h->layout, sample);
	size_t step = features > sample.elements ? (features + sample.elements - 1) / sample.elements : 1;
	double ratios[64], epsilons[16], coarse = ldexp(1, 2 - nc_dtype_mantissa_bits(evidence->dtype));
	size_t solved = 0;
	for (size_t i = 0; i < rows; i++) {
		size_t r = evidence_stage_row(evidence, h->layout, sample, i), count = 0;
		double centre = nc_hypothesis_form(h->form)->centred ? layout->row[r].mean : 0;
		for (size_t j = 0; j < features; j += step) {
			size_t offset = layout->row_offset[r] + layout->feature_offset[j];
			size_t param = layout->row_param[r] + layout->feature_param[j];
			double x = nc_tensor_get(evidence->x, offset), y = nc_tensor_get(evidence->y, offset);
			double a = (x - centre) * evidence->gain[h->gain][param];
			double ratio = (y - evidence->bias[h->bias][param] - (h->skip == NC_SKIP_ADDED ? x : 0)) / a;
			if (isfinite(ratio) && fabs(x - centre) > 1e-3 * layout->row[r].magnitude)
				ratios[count++] = ratio;
		}
		double factor = count ? median(ratios, count) : 0;
		double epsilon = factor > 0 ? solve(evidence, h, r, 1 / factor) : NAN;
		if (epsilon <= 0 && epsilon > -coarse / (factor * factor))
			epsilon = 1e-9;
		if (isfinite(epsilon))
			epsilons[solved++] = epsilon;
	}
	return 2 * solved > rows || (h->placement == NC_PLACEMENT_CLAMP && solved) ? median(epsilons, solved) : NAN;
}

/* value > 0 with `digits` significant digits. */
static double with_digits(double value, int digits)
{
	int exponent = 0; /* value·10^exponent has that many digits before the point */
	double least = 1, power = 1;
	for (int d = 1; d < digits; d++)
		least *= 10;
	while (exponent < 22 && value * power < least) {
		power *= 10;
		exponent++;
	}
	if (exponent == 22 || value >= least * 10)
		return value;
	return nearbyint(value * power) / power;
}

/* One element: y = rest + g·x̂ rounded to the dtype, and by how much x̂ and y may be off before their roundings. */
struct element {
	double y, g, rest, xhat_noise, y_noise;
};

/* Widens [low, high] to what x̂, rounded to the dtype first, may have been: three neighbours of the likeliest are tried. */
static bool bound_rounded(enum nc_dtype dtype, const struct element *e, double *low, double *high)
{
	double likeliest = evidence_round(dtype, (e->y - e->rest) / e->g), ulp = evidence_ulp(dtype, likeliest);
	bool any = false;
	for (int k = -1; k <= 1; k++) {
		double xhat = likeliest + k * ulp, raw = xhat * e->g + e->rest;
		if (evidence_round(dtype, raw - e->y_noise) > e->y || evidence_round(dtype, raw + e->y_noise) < e->y)
			continue;
		*low = any ? *low : xhat - 0.5 * ulp;
		*high = xhat + 0.5 * ulp;
		any = true;
	}
	return any;
}

/* The limits that row r sets to the factor 1/D. */
static void bound_factor(const struct evidence *evidence, const struct nc_hypothesis *h, size_t r, double *low, double *high)
{
	const struct evidence_layout *layout = &evidence->layout[h->layout];
	const struct evidence_row *row = &layout->row[r];
	enum nc_dtype dtype = evidence->dtype;
	size_t features = evidence->diagnosis->layout[h->layout].features;
	bool centred = nc_hypothesis_form(h->form)->centred;
	double centre = centred ? row->mean : 0, u = evidence_unit(evidence, h), noise = evidence_noise(evidence, h);
	double divisor = evidence_divisor(evidence, h, r, NULL);
	double absolute = centred ? u * (sqrt((double)features) * fabs(row->mean) + 2 * row->magnitude) / divisor : 0;
	double decimal = h->cast == NC_CAST_PRINTED ? evidence->half_decimal : 0;
	if (h->root == NC_ROOT_MISSING)
		noise *= 2;
	*low = 0;
	*high = INFINITY;
	for (size_t j = 0; j < features; j++) {
		size_t offset = layout->row_offset[r] + layout->feature_offset[j];
		size_t param = layout->row_param[r] + layout->feature_param[j];
		double x = nc_tensor_get(evidence->x, offset), c = x - centre, skip = h->skip == NC_SKIP_ADDED ? x : 0;
		struct element e = {.y = nc_tensor_get(evidence->y, offset), .g = evidence->gain[h->gain][param],
		                    .rest = evidence->bias[h->bias][param] + skip};
		if (c == 0 || e.g == 0 || !isfinite(e.y))
			continue;
		double scaled = e.y - e.rest, from, to;
		e.y_noise = 4 * u * (fabs(scaled) + fabs(e.rest) + fabs(skip)) + decimal;
		e.xhat_noise = noise * fabs(scaled / e.g) + 2 * u * fabs(x) / divisor + absolute;
		if (h->cast == NC_CAST_BEFORE) {
			if (!bound_rounded(dtype, &e, &from, &to))
				continue;
		} else {
			double half = 0.5 * evidence_ulp(dtype, e.y) + e.y_noise;
			from = (scaled - half) / e.g;
			to = (scaled + half) / e.g;
		}
		double least = fmin(from, to) - e.xhat_noise, most = fmax(from, to) + e.xhat_noise;
		*low = fmax(*low, c > 0 ? least / c : most / c);
		*high = fmin(*high, c > 0 ? most / c : least / c);
	}
}

double epsilon_refine(const struct evidence *evidence, const struct nc_hypothesis *h, size_t most_rows)
{
	struct evidence_stage stage = {most_rows, SIZE_MAX};
	double low = 0, high = INFINITY;
	for (size_t i = 0; i < evidence_stage_rows(evidence, h->layout, stage); i++) {
		size_t r = evidence_stage_row(evidence, h->layout, stage, i);
		double least, most;
		bound_factor(evidence, h, r, &least, &most);
		if (!(most > 0) || least > most)
			return with_digits(h->value, 3);
		double from = solve(evidence, h, r, 1 / most), to = least > 0 ? solve(evidence, h, r, 1 / least) : INFINITY;
		if (from > low) /* false for NaN */
			low = from;
		if (to < high)
			high = to;
	}
	if (!(low <= high) || !(high < INFINITY))
		return with_digits(h->value, 3);
	double middle = low + (high - low) / 2;
	for (int digits = 1; digits < 17; digits++) {
		double value = with_digits(middle, digits);
		if (value >= low && value <= high)
			return value;
	}
	return middle;
}
