#include "evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double evidence_unit(const struct evidence *evidence, const struct nc_hypothesis *h)
{
	bool wide = evidence->dtype == NC_FLOAT64 && h->cast != NC_CAST_FLOAT32 && h->cast != NC_CAST_PRINTED;
	return wide ? 0x1p-53 : 0x1p-24;
}

double evidence_noise(const struct evidence *evidence, const struct nc_hypothesis *h)
{
	return evidence_unit(evidence, h) * (sqrt((double)evidence->diagnosis->layout[h->layout].features) + 8);
}

/* --- row statistics ---------------------------------------------------------------------------------------------- */

/* Sums in eight lanes, so that the error grows with √(n/8). */
struct lanes {
	double lane[8];
};

static double lanes_total(const struct lanes *s)
{
	const double *l = s->lane;
	return ((l[0] + l[1]) + (l[2] + l[3])) + ((l[4] + l[5]) + (l[6] + l[7]));
}

static void measure_steps(const struct evidence *evidence, const struct evidence_layout *layout, size_t r, size_t n,
                          struct evidence_row *row)
{
	enum nc_dtype dtype = evidence->dtype;
	double square = 0, variance = 0, mean = evidence_round(dtype, row->mean);
	for (size_t j = 0; j < n; j++) {
		double x = nc_tensor_get(evidence->x, layout->row_offset[r] + layout->feature_offset[j]);
		double c = evidence_round(dtype, x - mean);
		square += evidence_round(dtype, x * x);
		variance += evidence_round(dtype, c * c);
	}
	row->step_mean = mean;
	row->step_square = square / (double)n;
	row->step_variance = variance / (double)n;
}

static void measure_row(const struct evidence *evidence, const struct evidence_layout *layout, size_t r, size_t n,
                        struct evidence_row *row)
{
	const struct nc_tensor *x = evidence->x;
	const uint32_t *feature = layout->feature_offset;
	size_t base = layout->row_offset[r];
	double largest = 0;
	struct lanes sum = {{0}}, size = {{0}};
	for (size_t j = 0; j < n; j++) {
		double v = fabs(nc_tensor_get(x, base + feature[j]));
		largest = v > largest ? v : largest;
	}
	/* Not below 2^-480: ε over its square stays finite. */
	int exponent = largest > 0 ? ilogb(largest) : 0;
	row->scale = ldexp(1, exponent < -480 ? -480 : exponent);
	double down = 1 / row->scale;
	for (size_t j = 0; j < n; j++) {
		double v = nc_tensor_get(x, base + feature[j]) * down;
		sum.lane[j % 8] += v;
		size.lane[j % 8] += fabs(v);
	}
	double mean = lanes_total(&sum) / (double)n;
	struct lanes square = {{0}}, deviation = {{0}}, centred = {{0}};
	for (size_t j = 0; j < n; j++) {
		double v = nc_tensor_get(x, base + feature[j]) * down, c = v - mean;
		square.lane[j % 8] += v * v;
		deviation.lane[j % 8] += c;
		centred.lane[j % 8] += c * c;
	}
	double shift = lanes_total(&deviation) / (double)n; /* what rounding left in the mean */
	row->mean = (mean + shift) * row->scale;
	row->magnitude = lanes_total(&size) / (double)n * row->scale;
	row->square = lanes_total(&square) / (double)n;
	row->variance = fmax(lanes_total(&centred) / (double)n - shift * shift, 0);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

struct measuring {
	struct evidence *evidence;
	double *sorted[NC_LAYOUTS]; /* work: the rows' mean squares */
};

static void measure_layout(void *context, size_t index)
{
	struct measuring *m = context;
	struct evidence *evidence = m->evidence;
	const struct nc_diagnose_axes *axes = &evidence->diagnosis->layout[index];
	struct evidence_layout *layout = &evidence->layout[index];
	bool narrow = evidence->dtype == NC_BFLOAT16 || evidence->dtype == NC_FLOAT16;
	double *m2 = m->sorted[index];
	for (size_t r = 0; r < axes->rows; r++) {
		struct evidence_row *row = &layout->row[r];
		measure_row(evidence, layout, r, axes->features, row);
		if (narrow && index == 0)
			measure_steps(evidence, layout, r, axes->features, row);
		m2[r] = sqrt(row->square) * row->scale;
		if (m2[r] < m2[layout->lowest])
			layout->lowest = r;
		if (m2[r] > m2[layout->highest])
			layout->highest = r;
	}
	qsort(m2, axes->rows, sizeof *m2, ascending);
	layout->distinct = 1;
	for (size_t r = 1; r < axes->rows; r++)
		layout->distinct += m2[r] != m2[r - 1];
}

/* --- gains, biases, printed decimals ----------------------------------------------------------------------------- */

static double gain_of(unsigned choice, double g, enum nc_dtype dtype)
{
	switch (choice) {
	case NC_GAIN_AS_GIVEN:
		return g;
	case NC_GAIN_PLUS_ONE:
		return 1 + g;
	case NC_GAIN_TWICE:
		return g * g;
	case NC_GAIN_PLUS_ONE_TWICE:
		return (1 + g) * (1 + g);
	case NC_GAIN_PLUS_ONE_ROUNDED:
		return evidence_round(dtype, 1 + g);
	default:
		return 1;
	}
}

/* The element of a parameter that may be one number. */
static double param_get(const struct nc_tensor *t, size_t i)
{
	return nc_tensor_get(t, t->rank ? i : 0);
}

static enum nc_status prepare_params(struct evidence *evidence, const struct nc_diagnose_call *call, struct nc_arena *arena)
{
	size_t count = evidence->param_count;
	for (unsigned g = 0; g < NC_GAIN_COUNT; g++) {
		bool narrow = call->gain && (call->gain->dtype == NC_BFLOAT16 || call->gain->dtype == NC_FLOAT16);
		if ((!call->gain && g != NC_GAIN_NONE) || (g == NC_GAIN_PLUS_ONE_ROUNDED && !narrow))
			continue;
		double *to = evidence->gain[g] = nc_arena_array(arena, count, sizeof *to);
		if (!to)
			return NC_NO_MEMORY;
		for (size_t i = 0; i < count; i++)
			to[i] = call->gain ? gain_of(g, param_get(call->gain, i), call->gain->dtype) : 1;
	}
	for (unsigned b = 0; b < NC_BIAS_COUNT; b++) {
		if (!call->bias && b != NC_BIAS_NONE)
			continue;
		double *to = evidence->bias[b] = nc_arena_array(arena, count, sizeof *to);
		if (!to)
			return NC_NO_MEMORY;
		for (size_t i = 0; i < count; i++)
			to[i] = b == NC_BIAS_AS_GIVEN ? param_get(call->bias, i) : 0;
	}
	return NC_OK;
}

static bool mostly_short(const struct nc_tensor *x)
{
	size_t count = 0;
	for (size_t i = 0; i < x->count; i++) {
		double v = nc_tensor_get(x, i);
		uint64_t bits;
		memcpy(&bits, &v, sizeof bits);
		count += bits << (64 - 41) == 0;
	}
	return 2 * count > x->count;
}

/* The unit of the last place of the mean magnitude of what is finite, some positive number at least. */
static double typical_unit(const struct nc_tensor *t)
{
	double sum = 0;
	for (size_t i = 0; i < t->count; i++) {
		double v = fabs(nc_tensor_get(t, i));
		sum += v < INFINITY ? v / (double)t->count : 0;
	}
	return ldexp(fmax(sum, 0x1p-900), -nc_dtype_mantissa_bits(t->dtype));
}

/* How many decimals a tensor's numbers have, where that is coarse against the dtype; else −1. */
static int printed_decimals(const struct nc_tensor *t)
{
	double unit = ldexp(1, -nc_dtype_mantissa_bits(t->dtype)), largest = 0, power = 100;
	for (size_t i = 0; i < t->count; i++) {
		double v = fabs(nc_tensor_get(t, i));
		if (!(v < INFINITY))
			return -1;
		largest = v > largest ? v : largest;
	}
	for (int k = 2; k <= 7; k++, power *= 10) {
		if (1 / power < 16 * unit * largest)
			return -1;
		size_t i = 0;
		while (i < t->count) {
			double v = nc_tensor_get(t, i), whole = nearbyint(v * power);
			if (fabs(v - whole / power) > unit * fabs(v))
				break;
			i++;
		}
		if (i == t->count)
			return k;
	}
	return -1;
}

int evidence_set_decimals(struct evidence *evidence, const struct nc_tensor *output)
{
	int decimals = printed_decimals(output);
	evidence->half_decimal = decimals < 0 ? 0 : 0.5;
	for (int k = 0; k < decimals; k++)
		evidence->half_decimal /= 10;
	return decimals;
}

enum nc_status evidence_prepare(struct evidence *evidence, const struct nc_diagnose_call *call,
                                struct nc_diagnosis *diagnosis, struct nc_pool *pool, struct nc_arena *arena)
{
	*evidence = (struct evidence){
		.dtype = call->x->dtype, .x = call->x, .y = call->y, .dy = call->dy, .dx = call->dx, .diagnosis = diagnosis,
	};
	enum nc_status status = evidence_layouts(evidence, call, arena);
	if (status == NC_OK)
		status = prepare_params(evidence, call, arena);
	if (status != NC_OK)
		return status;
	for (unsigned i = 0; i < diagnosis->layout_count; i++) {
		evidence->layout[i].row = nc_arena_zero(arena, diagnosis->layout[i].rows, sizeof(struct evidence_row));
		if (!evidence->layout[i].row)
			return NC_NO_MEMORY;
	}
	struct measuring measuring = {.evidence = evidence};
	size_t mark = nc_arena_mark(arena);
	for (unsigned i = 0; i < diagnosis->layout_count; i++) {
		measuring.sorted[i] = nc_arena_array(arena, diagnosis->layout[i].rows, sizeof(double));
		if (!measuring.sorted[i])
			return NC_NO_MEMORY;
	}
	nc_pool_run(pool, measure_layout, &measuring, diagnosis->layout_count);
	nc_arena_rewind(arena, mark);
	evidence->typical[0] = typical_unit(call->y);
	evidence->typical[1] = call->dx ? typical_unit(call->dx) : 0;
	evidence->short_numbers = mostly_short(evidence->x);
	diagnosis->decimals = evidence_set_decimals(evidence, call->y);
	return NC_OK;
}

/* --- divisors ---------------------------------------------------------------------------------------------------- */

/* The statistic over scale², and by what its sum of squares was divided. */
static double statistic(const struct evidence_row *row, enum nc_statistic which, double n, double *over)
{
	*over = n;
	switch (which) {
	case NC_MEAN_SQUARE:
		return row->square;
	case NC_VARIANCE:
		return row->variance;
	case NC_SAMPLE_VARIANCE:
		*over = n - 1;
		return row->variance * n / (n - 1);
	case NC_SUM_SQUARE:
		*over = 1;
		return row->square * n;
	case NC_SUM_CENTRED:
		*over = 1;
		return row->variance * n;
	default:
		return 0;
	}
}

double evidence_divisor(const struct evidence *evidence, const struct nc_hypothesis *h, size_t r, double *slope)
{
	const struct evidence_row *row = &evidence->layout[h->layout].row[r];
	enum nc_statistic which = nc_hypothesis_form(h->form)->statistic;
	double n = (double)evidence->diagnosis->layout[h->layout].features, over, ignored;
	if (!slope)
		slope = &ignored;
	*slope = 0;
	if (which == NC_ONE)
		return 1;
	double s = row->scale, m = statistic(row, which, n, &over), e = h->value;
	if (h->placement == NC_PLACEMENT_SUM)
		e /= n;
	bool inside = h->placement == NC_PLACEMENT_INSIDE || h->placement == NC_PLACEMENT_SUM;
	double inner = inside ? m + e / s / s : m; /* over s² */
	/* root: φ(s²·inner); slope = φ'·2/over, since ∂m/∂x_j = 2 c_j / over */
	double root = s * sqrt(inner), derivative;
	switch (nc_hypothesis_root_times(h->root)) {
	case 0:
		derivative = 2;
		root = s * s * inner;
		break;
	case 1:
		derivative = 1 / root;
		break;
	default:
		derivative = 0.5 / root;
		root = sqrt(root);
		derivative /= root;
	}
	*slope = root > 0 ? derivative / over : 0; /* every c_j is 0 then */
	if (inside)
		return root;
	if (h->placement == NC_PLACEMENT_OUTSIDE)
		return root + e;
	if (root > e)
		return root;
	*slope = 0; /* the clamp holds */
	return e;
}

/* --- stages ------------------------------------------------------------------------------------------------------ */

size_t evidence_stage_rows(const struct evidence *evidence, unsigned layout, struct evidence_stage stage)
{
	size_t rows = evidence->diagnosis->layout[layout].rows;
	return stage.rows < rows ? stage.rows : rows;
}

size_t evidence_stage_row(const struct evidence *evidence, unsigned layout, struct evidence_stage stage, size_t i)
{
	size_t rows = evidence->diagnosis->layout[layout].rows;
	if (stage.rows >= rows)
		return i;
	if (i < 2) /* where ε weighs most and least */
		return i ? evidence->layout[layout].highest : evidence->layout[layout].lowest;
	return (i - 2) * rows / (stage.rows - 2);
}
