#include "norm_maker.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static unsigned short state[3];

void make_seed(unsigned short seed)
{
	state[0] = 0x330e;
	state[1] = seed;
	state[2] = 7;
}

double make_normal(void)
{
	double sum = -6;
	for (int i = 0; i < 12; i++)
		sum += erand48(state);
	return sum;
}

static const struct maker *m;

/* A result in the kernel's arithmetic. Sums and products of two floats in double round correctly to float. */
static double a(double value)
{
	return m->float32 ? (double)(float)value : value;
}

static double to_dtype(double value)
{
	return nc_dtype_round(m->dtype, value);
}

static bool by_steps(void)
{
	return m->h.cast == NC_CAST_STEPS || m->h.cast == NC_CAST_STEPS_DIVIDED;
}

/* What a step's result is stored as. */
static double s(double value)
{
	return by_steps() ? to_dtype(value) : a(value);
}

static double pairwise(const double *v, size_t n)
{
	return n == 1 ? v[0] : a(pairwise(v, n / 2) + pairwise(v + n / 2, n - n / 2));
}

static double sum_of(const double *v, size_t n)
{
	double lane[16] = {0}, sum = 0;
	if (m->order == 2)
		return pairwise(v, n);
	for (size_t i = 0; i < n; i++) {
		double *to = &lane[m->order ? i % 16 : 0];
		*to = a(*to + v[i]);
	}
	for (int i = 0; i < 16; i++)
		sum = a(sum + lane[i]);
	return sum;
}

/* --- one row ----------------------------------------------------------------------------------------------------- */

enum { ROW_MOST = 1 << 15 };

struct kernel_row {
	size_t n;
	double x[ROW_MOST], g[ROW_MOST], b[ROW_MOST], dy[ROW_MOST];
	double y[ROW_MOST], dx[ROW_MOST];
};

static struct kernel_row row;
static double work[ROW_MOST];

static double mean_of_row(void)
{
	return s(a(sum_of(row.x, row.n) / (double)row.n));
}

/* The sum of squares over what the form divides it by. */
static double statistic_of_row(double mean)
{
	bool centred = true;
	double over = (double)row.n;
	switch (m->h.form) {
	case NC_FORM_RMS:
	case NC_FORM_LAYER_BY_SQUARE:
		centred = false;
		break;
	case NC_FORM_LAYER:
	case NC_FORM_RMS_BY_VARIANCE:
		break;
	case NC_FORM_LAYER_SAMPLE:
	case NC_FORM_RMS_BY_SAMPLE:
		over = (double)row.n - 1;
		break;
	case NC_FORM_RMS_BY_SUM:
		centred = false;
		over = 1;
		break;
	case NC_FORM_LAYER_BY_SUM:
		over = 1;
		break;
	case NC_FORM_IDENTITY:
	case NC_FORM_CENTRED:
		return 1;
	default:
		ck_abort_msg("no kernel for form %d", m->h.form);
	}
	for (size_t j = 0; j < row.n; j++) {
		double c = centred ? s(row.x[j] - mean) : row.x[j];
		work[j] = s(c * c);
	}
	double sum = sum_of(work, row.n);
	if (m->h.placement == NC_PLACEMENT_SUM)
		sum = a(sum + a(m->h.value) * over / (double)row.n); /* ε is added to a sum of n squares */
	return s(a(sum / over));
}

static double root_of(double value)
{
	switch (m->h.root) {
	case NC_ROOT_ONCE:
		return s(sqrt(value));
	case NC_ROOT_MISSING:
		return value;
	case NC_ROOT_TWICE:
		return s(sqrt(s(sqrt(value))));
	default:
		ck_abort_msg("no kernel for root %d", m->h.root);
	}
}

static double divisor_of_row(double mean)
{
	double v = statistic_of_row(mean), e = a(m->h.value);
	if (m->h.form == NC_FORM_IDENTITY || m->h.form == NC_FORM_CENTRED)
		return 1;
	switch (m->h.placement) {
	case NC_PLACEMENT_SUM:
		return root_of(v);
	case NC_PLACEMENT_INSIDE:
		return root_of(s(v + e));
	case NC_PLACEMENT_OUTSIDE:
		return s(root_of(v) + e);
	case NC_PLACEMENT_CLAMP:
		return fmax(root_of(v), s(e));
	default:
		ck_abort_msg("no kernel for placement %d", m->h.placement);
	}
}

static bool centred_form(void)
{
	return m->h.form == NC_FORM_LAYER || m->h.form == NC_FORM_LAYER_SAMPLE || m->h.form == NC_FORM_LAYER_BY_SQUARE ||
	       m->h.form == NC_FORM_LAYER_BY_SUM || m->h.form == NC_FORM_CENTRED;
}

static double gain_by(double g)
{
	switch (m->h.gain) {
	case NC_GAIN_AS_GIVEN:
		return g;
	case NC_GAIN_PLUS_ONE:
		return s(1 + g);
	case NC_GAIN_NONE:
		return 1;
	case NC_GAIN_TWICE:
		return s(g * g);
	case NC_GAIN_PLUS_ONE_TWICE:
		return s(s(1 + g) * s(1 + g));
	case NC_GAIN_PLUS_ONE_ROUNDED:
		return to_dtype(1 + g);
	default:
		ck_abort_msg("no kernel for gain %d", m->h.gain);
	}
}

static void forward_row(void)
{
	double mean = mean_of_row(), divisor = divisor_of_row(mean);
	bool narrow_rsqrt = m->h.cast == NC_CAST_STEPS;
	/* one divides by a root, another multiplies by its inverse; stepwise code says rsqrt where ε stands inside */
	double inverse = s(1 / divisor);
	if (narrow_rsqrt && m->h.root == NC_ROOT_ONCE &&
	    (m->h.placement == NC_PLACEMENT_INSIDE || m->h.placement == NC_PLACEMENT_SUM) && m->h.form < NC_FORM_IDENTITY) {
		double v = statistic_of_row(mean);
		inverse = s(1 / sqrt(m->h.placement == NC_PLACEMENT_INSIDE ? s(v + a(m->h.value)) : v));
	}
	bool multiplies = m->h.cast == NC_CAST_STEPS || (m->h.cast != NC_CAST_STEPS_DIVIDED && m->order == 0);
	for (size_t j = 0; j < row.n; j++) {
		double c = centred_form() ? s(row.x[j] - mean) : row.x[j];
		double xhat = s(multiplies ? c * inverse : c / divisor);
		if (m->h.cast == NC_CAST_BEFORE)
			xhat = to_dtype(xhat);
		double y = m->h.gain == NC_GAIN_NONE ? xhat : s(xhat * gain_by(row.g[j]));
		if (m->h.gain == NC_GAIN_TWICE || m->h.gain == NC_GAIN_PLUS_ONE_TWICE)
			y = s(xhat * gain_by(row.g[j]));
		if (m->h.bias == NC_BIAS_AS_GIVEN)
			y = s(y + row.b[j]);
		if (m->h.skip == NC_SKIP_ADDED)
			y = s(y + row.x[j]);
		row.y[j] = to_dtype(y);
		if (m->h.cast == NC_CAST_PRINTED)
			row.y[j] = nearbyint(y * 1e4) / 1e4;
	}
}

/* dx in float64, as the calculus says for D = root(statistic, ε), with the mistake asked for. Root once only. */
static void backward_row(void)
{
	double n = (double)row.n, mean = 0, over = n, square = 0, sum_u = 0, sum_uc = 0;
	bool by_variance = m->h.form != NC_FORM_RMS && m->h.form != NC_FORM_LAYER_BY_SQUARE && m->h.form != NC_FORM_RMS_BY_SUM;
	for (size_t j = 0; j < row.n; j++)
		mean += row.x[j] / n;
	for (size_t j = 0; j < row.n; j++)
		square += by_variance ? (row.x[j] - mean) * (row.x[j] - mean) : row.x[j] * row.x[j];
	if (m->h.form == NC_FORM_LAYER_SAMPLE || m->h.form == NC_FORM_RMS_BY_SAMPLE)
		over = n - 1;
	if (m->h.form == NC_FORM_RMS_BY_SUM || m->h.form == NC_FORM_LAYER_BY_SUM)
		over = 1;
	double root = sqrt(square / over), divisor = 0, inner = 0;
	switch (m->h.placement) {
	case NC_PLACEMENT_INSIDE:
		inner = divisor = sqrt(square / over + m->h.value);
		break;
	case NC_PLACEMENT_SUM:
		inner = divisor = sqrt(square / over + m->h.value / n);
		break;
	case NC_PLACEMENT_OUTSIDE:
		inner = root;
		divisor = root + m->h.value;
		break;
	case NC_PLACEMENT_CLAMP:
		inner = root > m->h.value ? root : INFINITY;
		divisor = fmax(root, m->h.value);
		break;
	}
	for (size_t j = 0; j < row.n; j++) {
		double u = row.dy[j] * (m->h.backward == NC_BACKWARD_OUTSIDE ? 1 : gain_by(row.g[j]));
		work[j] = m->h.cast == NC_CAST_BEFORE ? to_dtype(u) : u;
		sum_u += work[j];
		sum_uc += work[j] * (row.x[j] - (centred_form() ? mean : 0));
	}
	bool no_mean = m->h.backward == NC_BACKWARD_NO_MEAN || m->h.backward == NC_BACKWARD_NEITHER;
	bool no_projection = m->h.backward == NC_BACKWARD_NO_PROJECTION || m->h.backward == NC_BACKWARD_NEITHER;
	double mean_u = centred_form() && !no_mean ? sum_u / n : 0;
	double k = no_projection ? 0 : sum_uc / (over * inner * divisor * divisor);
	if (m->h.backward == NC_BACKWARD_NOT_BY_N)
		k *= n;
	if (m->h.backward == NC_BACKWARD_SIGN)
		k = -k;
	if (m->h.backward == NC_BACKWARD_SQUARE)
		k *= divisor;
	ck_assert_msg(m->h.backward <= NC_BACKWARD_OUTSIDE, "no kernel for backward %d", m->h.backward);
	for (size_t j = 0; j < row.n; j++) {
		double dx = (work[j] - mean_u) / divisor - k * (row.x[j] - (by_variance ? mean : 0));
		if (m->h.backward == NC_BACKWARD_OUTSIDE)
			dx *= gain_by(row.g[j]);
		if (m->h.skip == NC_SKIP_ADDED)
			dx += row.dy[j];
		row.dx[j] = to_dtype(a(dx));
	}
}

/* --- all rows ---------------------------------------------------------------------------------------------------- */

static double memory[6][MAKER_MOST];
static struct made made;

static struct nc_tensor tensor(unsigned rank, const size_t *shape, double *memory_of)
{
	struct nc_tensor t = {.dtype = m->dtype, .rank = rank, .count = 1, .data = memory_of};
	for (unsigned i = 0; i < rank; i++) {
		t.shape[i] = shape[i];
		t.count *= shape[i];
	}
	ck_assert_uint_le(t.count, MAKER_MOST);
	return t;
}

/* The row of an element (its coordinates outside of the normalized axes, then the group) and its place in gain. */
static void locate(size_t at, size_t *in_row, size_t *param)
{
	size_t coordinate[NC_REQUEST_RANK];
	for (unsigned i = m->rank; i-- > 0;) {
		coordinate[i] = at % m->shape[i];
		at /= m->shape[i];
	}
	*in_row = *param = 0;
	for (unsigned i = 0; i < m->rank; i++) {
		bool inside = false;
		for (unsigned k = 0; k < m->normalized_count; k++)
			inside |= m->normalized[k] == i;
		if (!inside)
			*in_row = *in_row * m->shape[i] + coordinate[i];
	}
	if (m->groups > 1) {
		unsigned last = m->normalized[m->normalized_count - 1];
		*in_row = *in_row * m->groups + coordinate[last] / (m->shape[last] / m->groups);
	}
	for (unsigned k = 0; k < m->axis_count; k++)
		*param = *param * m->shape[m->axes[k]] + coordinate[m->axes[k]];
	if (m->along)
		*param = coordinate[m->normalized[0]];
}

static void fill(struct nc_tensor *t, double mean, double spread)
{
	for (size_t i = 0; i < t->count; i++)
		nc_tensor_set(t, i, to_dtype(mean + spread * make_normal()));
}

void make_again(void)
{
	static size_t offset[ROW_MOST], of[MAKER_MOST], param_of[MAKER_MOST];
	size_t rows = 0;
	for (size_t i = 0; i < made.x.count; i++) {
		locate(i, &of[i], &param_of[i]);
		rows = of[i] + 1 > rows ? of[i] + 1 : rows;
	}
	for (size_t r = 0; r < rows; r++) {
		row.n = 0;
		for (size_t i = 0; i < made.x.count; i++)
			if (of[i] == r) {
				ck_assert_uint_lt(row.n, ROW_MOST);
				offset[row.n] = i;
				row.x[row.n] = nc_tensor_get(&made.x, i);
				row.g[row.n] = m->has_gain ? nc_tensor_get(&made.gain, param_of[i]) : 1;
				row.b[row.n] = m->has_bias ? nc_tensor_get(&made.bias, param_of[i]) : 0;
				row.dy[row.n] = nc_tensor_get(&made.dy, i);
				row.n++;
			}
		forward_row();
		if (m->backward)
			backward_row();
		for (size_t j = 0; j < row.n; j++) {
			nc_tensor_set(&made.y, offset[j], row.y[j]);
			if (m->backward)
				nc_tensor_set(&made.dx, offset[j], row.dx[j]);
		}
	}
}

struct made *make_norm(const struct maker *maker)
{
	static struct maker used;
	used = *maker;
	if (!used.normalized_count) {
		used.normalized_count = used.axis_count;
		memcpy(used.normalized, used.axes, sizeof used.axes);
	}
	m = &used;
	make_seed(used.seed);
	size_t params[NC_REQUEST_RANK];
	for (unsigned k = 0; k < used.axis_count; k++)
		params[k] = used.shape[used.axes[k]];
	made = (struct made){
		.x = tensor(used.rank, used.shape, memory[0]), .y = tensor(used.rank, used.shape, memory[1]),
		.dy = tensor(used.rank, used.shape, memory[2]), .dx = tensor(used.rank, used.shape, memory[3]),
		.gain = tensor(used.axis_count, params, memory[4]), .bias = tensor(used.axis_count, params, memory[5]),
	};
	size_t inner = made.x.count / used.shape[0];
	for (size_t i = 0; i < made.x.count; i++) {
		double t = used.shape[0] > 1 ? (double)(i / inner) / (double)(used.shape[0] - 1) : 0;
		double size = used.low * pow(used.high / used.low, t);
		nc_tensor_set(&made.x, i, to_dtype(size * (make_normal() + used.centre)));
	}
	fill(&made.dy, 0, 1);
	fill(&made.gain, 0.8, 0.4);
	fill(&made.bias, 0.1, 0.5);
	make_again();
	made.call = (struct nc_diagnose_call){
		.x = &made.x, .y = &made.y, .gain = used.has_gain ? &made.gain : NULL, .bias = used.has_bias ? &made.bias : NULL,
		.axes = used.axes, .axis_count = used.axis_count, .convention = used.meant,
		.dy = used.backward ? &made.dy : NULL, .dx = used.backward ? &made.dx : NULL,
	};
	return &made;
}
