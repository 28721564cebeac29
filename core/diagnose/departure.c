#include "departure.h"

#include <math.h>
#include <stdlib.h>

/* The departures counted by row and by feature. */
struct census {
	const struct evidence *evidence;
	const struct nc_hypothesis *h;
	const struct nc_tensor *output;
	const struct evidence_trace *trace;
	size_t rows, features;
	size_t *by_row, *by_feature;
	double *size;             /* rows: mean relative deviation */
	size_t row_count, feature_count;     /* how many have any */
	size_t first_feature, last_feature, first_row; /* of those that have any */
	size_t nonfinite;
};

static size_t offset_of(const struct census *c, size_t r, size_t j)
{
	const struct evidence_layout *layout = &c->evidence->layout[c->h->layout];
	return layout->row_offset[r] + layout->feature_offset[j];
}

static void count_all(struct census *c, struct nc_departure *d)
{
	d->at = SIZE_MAX;
	for (size_t r = 0; r < c->rows; r++) {
		double away = 0, whole = 0;
		for (size_t j = 0; j < c->features; j++) {
			size_t at = offset_of(c, r, j);
			double got = nc_tensor_get(c->output, at), want = c->trace->predicted[at];
			if (isfinite(got)) {
				away += fabs(got - want);
				whole += fabs(want);
			}
			if (!c->trace->outside[at])
				continue;
			d->count++;
			c->by_row[r]++;
			c->by_feature[j]++;
			c->nonfinite += !isfinite(got);
			if (at < d->at) {
				d->at = at;
				d->row = r;
				d->element = j;
				d->got = got;
				d->want = want;
			}
		}
		c->size[r] = whole > 0 ? away / whole : 0;
	}
	for (size_t r = c->rows; r-- > 0;)
		if (c->by_row[r]) {
			c->row_count++;
			c->first_row = r;
		}
	for (size_t j = c->features; j-- > 0;)
		if (c->by_feature[j]) {
			if (c->feature_count++ == 0)
				c->last_feature = j;
			c->first_feature = j;
		}
}

/* All departures behind the last whole vector: the widest vector whose tail begins no later than they do. */
static bool is_tail(const struct census *c, struct nc_departure *d)
{
	static const size_t widths[] = {4, 8, 16, 32, 64, 128, 256, 512, 1024};
	size_t begin = 0;
	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
		size_t w = widths[i], tail = c->features / w * w;
		if (tail == 0 || tail == c->features || tail > c->first_feature || tail <= begin)
			continue;
		begin = tail;
		d->width = w;
	}
	return begin > 0 && 2 * c->row_count > c->rows && 2 * d->count >= (c->features - begin) * c->row_count;
}

/* Some features, at most half of them, that all depart in most rows: a loop that ends early, a part of the gain. */
static bool is_columns(const struct census *c, struct nc_departure *d)
{
	if (c->rows < 2 || 2 * c->feature_count > c->features)
		return false;
	for (size_t j = 0; j < c->features; j++)
		if (c->by_feature[j] && 2 * c->by_feature[j] <= c->rows)
			return false;
	d->features = c->feature_count;
	d->first = c->first_feature;
	d->last = c->last_feature;
	return true;
}

/* Each row is the prediction times a factor near one: as from an approximate root, or sums of low precision. */
static bool is_row_factor(const struct census *c, struct nc_departure *d)
{
	enum nc_dtype dtype = c->evidence->dtype;
	double fine = 4 * ldexp(1, -nc_dtype_mantissa_bits(dtype)) + 4 * evidence_unit(c->evidence, c->h);
	if (c->features < 4 || c->h->bias != NC_BIAS_NONE || c->h->skip != NC_SKIP_NONE)
		return false;
	for (size_t r = 0; r < c->rows; r++) {
		double along = 0, whole = 0;
		for (size_t j = 0; j < c->features; j++) {
			size_t at = offset_of(c, r, j);
			along += nc_tensor_get(c->output, at) * c->trace->predicted[at];
			whole += c->trace->predicted[at] * c->trace->predicted[at];
		}
		double factor = along / whole;
		if (whole == 0)
			continue;
		if (!(fabs(factor - 1) < 0.02))
			return false;
		for (size_t j = 0; j < c->features; j++) {
			size_t at = offset_of(c, r, j);
			double want = factor * c->trace->predicted[at];
			if (!(fabs(nc_tensor_get(c->output, at) - want) <= fine * fabs(want)))
				return false;
		}
		d->factor = fmax(d->factor, fabs(factor - 1));
	}
	return d->factor > 0;
}

static bool is_from_row(const struct census *c)
{
	if (c->first_row == 0 || c->rows - c->first_row < 2)
		return false;
	for (size_t r = c->first_row; r < c->rows; r++)
		if (2 * c->by_row[r] < c->features)
			return false;
	return true;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The median deviation rises from each quarter of the rows to the next, to at least four times the first. */
static bool is_growing(const struct census *c)
{
	if (c->rows < 8)
		return false;
	double before = 0, first = 0;
	for (size_t q = 0; q < 4; q++) {
		size_t from = q * c->rows / 4, count = (q + 1) * c->rows / 4 - from;
		qsort(c->size + from, count, sizeof *c->size, ascending);
		double middle = c->size[from + count / 2];
		if (q > 0 && !(middle > 1.2 * before))
			return false;
		before = middle;
		first = q ? first : middle;
	}
	return before > 4 * first;
}

static enum nc_pattern pattern_of(const struct census *c, struct nc_departure *d)
{
	if (d->count == 0)
		return NC_PATTERN_NONE;
	if (c->nonfinite == d->count)
		return NC_PATTERN_NONFINITE;
	if (d->count == 1)
		return NC_PATTERN_ELEMENT;
	if (is_row_factor(c, d))
		return NC_PATTERN_ROW_FACTOR;
	if (c->row_count == 1 && c->rows > 1)
		return NC_PATTERN_ROW;
	if (is_tail(c, d))
		return NC_PATTERN_TAIL;
	if (c->feature_count == 1 && c->features > 1)
		return NC_PATTERN_COLUMN;
	if (is_columns(c, d))
		return NC_PATTERN_COLUMNS;
	if (is_from_row(c))
		return NC_PATTERN_FROM_ROW;
	if (is_growing(c))
		return NC_PATTERN_GROWING;
	return 2 * d->count > d->of ? NC_PATTERN_EVERYWHERE : NC_PATTERN_SCATTERED;
}

enum nc_status departure_describe(const struct evidence *evidence, const struct nc_hypothesis *h,
                                  const struct nc_tensor *output, const struct evidence_trace *trace,
                                  struct nc_departure *departure, struct nc_arena *arena)
{
	const struct nc_diagnose_axes *axes = &evidence->diagnosis->layout[h->layout];
	struct census census = {
		.evidence = evidence, .h = h, .output = output, .trace = trace, .rows = axes->rows, .features = axes->features,
		.by_row = nc_arena_zero(arena, axes->rows, sizeof(size_t)),
		.by_feature = nc_arena_zero(arena, axes->features, sizeof(size_t)),
		.size = nc_arena_zero(arena, axes->rows, sizeof(double)),
	};
	if (!census.by_row || !census.by_feature || !census.size)
		return NC_NO_MEMORY;
	*departure = (struct nc_departure){.of = output->count};
	count_all(&census, departure);
	departure->pattern = pattern_of(&census, departure);
	return NC_OK;
}
