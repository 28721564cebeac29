#include "norm_wide.h"

double nc_element(enum nc_dtype dtype, const void *data, size_t i)
{
	return dtype == NC_FLOAT64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

void nc_set_element(enum nc_dtype dtype, void *data, size_t i, double value)
{
	if (dtype == NC_FLOAT64)
		((double *)data)[i] = value;
	else
		((float *)data)[i] = (float)value;
}

double nc_gain_at(const struct nc_norm_spec *spec, struct nc_param gain, size_t i)
{
	if (!gain.count)
		return 1;
	double given = nc_element(gain.dtype, gain.data, gain.count == 1 ? 0 : i);
	return spec->gain_offset == 0 ? given : spec->gain_offset + given; /* 0 + -0 is not -0 */
}

static struct wide element(const struct wide_row *row, const void *data, size_t i)
{
	return wide_from(nc_element(row->spec->dtype, data, i));
}

static struct wide gain_at(const struct wide_row *row, size_t i)
{
	return wide_from(nc_gain_at(row->spec, row->gain, i));
}

static bool layer(const struct wide_row *row)
{
	return row->spec->kind == NC_LAYERNORM;
}

struct wide wide_row_x(const struct wide_row *row, size_t i)
{
	struct wide x = element(row, row->x, i), update;

	if (!row->update)
		return x;
	update = element(row, row->update, i);
	x = wide_add(wide_mul(wide_from(row->skip), x), wide_mul(wide_from(row->scale), update));
	return row->round_sum ? wide_from(wide_round(x, row->spec->dtype)) : x;
}

struct wide wide_row_centred(const struct wide_row *row, size_t i)
{
	struct wide x = wide_row_x(row, i);

	return layer(row) ? wide_sub(x, row->mean) : x;
}

bool wide_row_begin(struct wide_row *row)
{
	struct wide n = wide_from_count(row->n), epsilon = wide_from(row->spec->epsilon), sum = wide_from(0);

	for (size_t i = 0; layer(row) && i < row->n; i++)
		sum = wide_add(sum, wide_row_x(row, i));
	row->mean = wide_div(sum, n);

	sum = wide_from(0);
	for (size_t i = 0; i < row->n; i++) {
		struct wide c = wide_row_centred(row, i);

		sum = wide_add(sum, wide_mul(c, c));
	}
	row->m = wide_div(sum, n);

	row->s = wide_sqrt(row->m);
	row->curved = row->m.kind != WIDE_ZERO;
	switch (row->spec->placement) {
	case NC_INSIDE_SQRT:
		row->r = row->s = wide_sqrt(wide_add(row->m, epsilon));
		break;
	case NC_OUTSIDE_SQRT:
		row->r = wide_add(row->s, epsilon);
		break;
	case NC_CLAMP:
		row->r = row->s;
		if (wide_less_equal(row->s, epsilon)) {
			row->r = epsilon;
			row->curved = false;
		}
		break;
	}
	row->curvature = wide_div(wide_from(1), wide_mul(wide_mul(n, row->s), wide_mul(row->r, row->r)));
	return row->m.kind != WIDE_ZERO || epsilon.kind != WIDE_ZERO;
}

struct wide wide_row_xhat(const struct wide_row *row, size_t i)
{
	struct wide xhat = wide_div(wide_row_centred(row, i), row->r);

	return row->spec->xhat_dtype == NC_FLOAT64 ? xhat : wide_from(wide_round(xhat, row->spec->xhat_dtype));
}

struct wide wide_row_y(const struct wide_row *row, size_t i)
{
	struct wide g = gain_at(row, i), y;

	if (row->spec->xhat_dtype == NC_FLOAT64)
		y = wide_div(wide_mul(g, wide_row_centred(row, i)), row->r);
	else
		y = wide_mul(g, wide_row_xhat(row, i));
	if (!row->bias.count)
		return y;
	return wide_add(y, wide_from(nc_element(row->bias.dtype, row->bias.data, row->bias.count == 1 ? 0 : i)));
}

static struct wide projected(const struct wide_row *row, const struct wide_projection *p, size_t i)
{
	struct wide u = element(row, p->u, i);

	return p->gained ? wide_mul(gain_at(row, i), u) : u;
}

void wide_project_begin(const struct wide_row *row, struct wide_projection *p)
{
	struct wide sum = wide_from(0);

	p->mean = p->k = wide_from(0);
	if (layer(row)) {
		for (size_t i = 0; i < row->n; i++)
			sum = wide_add(sum, projected(row, p, i));
		p->mean = wide_div(sum, wide_from_count(row->n));
	}
	if (!row->curved)
		return;
	/* u − ū instead of u: the same sum, as Σ c = 0, but exactly 0 when u is constant. */
	sum = wide_from(0);
	for (size_t i = 0; i < row->n; i++) {
		struct wide u = projected(row, p, i);

		if (layer(row))
			u = wide_sub(u, p->mean);
		sum = wide_add(sum, wide_mul(u, wide_row_centred(row, i)));
	}
	p->k = wide_mul(sum, row->curvature);
}

struct wide wide_project_at(const struct wide_row *row, const struct wide_projection *p, size_t i)
{
	struct wide u = projected(row, p, i);

	if (layer(row))
		u = wide_sub(u, p->mean);
	u = wide_div(u, row->r);
	return row->curved ? wide_sub(u, wide_mul(wide_row_centred(row, i), p->k)) : u;
}

struct wide wide_row_jacobian(const struct wide_row *row, size_t i, size_t j)
{
	struct wide delta = wide_from(i == j), entry;

	if (layer(row))
		delta = wide_sub(delta, wide_div(wide_from(1), wide_from_count(row->n)));
	entry = wide_div(delta, row->r);
	if (row->curved) {
		struct wide product = wide_mul(wide_row_centred(row, i), wide_row_centred(row, j));

		entry = wide_sub(entry, wide_mul(product, row->curvature));
	}
	return wide_mul(gain_at(row, i), entry);
}

void wide_row_factors(const struct wide_row *row, size_t i, double *diagonal, double *left, double *right)
{
	struct wide g = gain_at(row, i), c = wide_row_centred(row, i), n = wide_from_count(row->n);
	struct wide over_r = wide_div(g, row->r);
	size_t last = nc_norm_rank(row->spec->kind) - 1;

	*diagonal = wide_round(over_r, NC_FLOAT64);
	if (layer(row)) {
		left[0] = wide_round(wide_div(over_r, n), NC_FLOAT64);
		right[0] = 1;
	}
	right[last] = wide_round(wide_div(c, row->r), NC_FLOAT64);
	left[last] = 0;
	if (row->curved)
		left[last] = wide_round(wide_div(wide_mul(over_r, c), wide_mul(n, row->s)), NC_FLOAT64);
}
