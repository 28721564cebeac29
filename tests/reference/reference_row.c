#include "reference_row.h"

#include <math.h>
#include <stdlib.h>

const char *const reference_names[REFERENCE_OUTPUTS] = {
	[REFERENCE_Y] = "y",       [REFERENCE_STATS] = "stats",     [REFERENCE_XHAT] = "xhat",
	[REFERENCE_DX] = "dx",     [REFERENCE_DGAIN] = "dgain",     [REFERENCE_DBIAS] = "dbias",
	[REFERENCE_JVP] = "jvp",   [REFERENCE_JACOBIAN] = "jacobian", [REFERENCE_FACTORS] = "factors",
	[REFERENCE_SUM] = "sum",   [REFERENCE_BRANCH] = "branch",
};

mpfr_t *new_array(size_t n)
{
	mpfr_t *array = malloc((n ? n : 1) * sizeof(*array));

	for (size_t i = 0; i < n; i++)
		mpfr_init2(array[i], REFERENCE_BITS);
	return array;
}

void free_array(mpfr_t *array, size_t n)
{
	for (size_t i = 0; i < n; i++)
		mpfr_clear(array[i]);
	free(array);
}

void row_init(struct row *row, const struct nc_norm_spec *spec, size_t n)
{
	*row = (struct row){.spec = spec, .n = n};
	row->x = new_array(n);
	row->x_terms = new_array(n);
	row->c = new_array(n);
	row->c_terms = new_array(n);
	row->u = new_array(n);
	row->u_terms = new_array(n);
	mpfr_inits2(REFERENCE_BITS, row->mean, row->mean_terms, row->m, row->m_terms, row->s, row->r, row->r_terms, row->k,
	            row->k_terms, row->value, row->terms, row->t, (mpfr_ptr)0);
}

void row_free(struct row *row)
{
	free_array(row->x, row->n);
	free_array(row->x_terms, row->n);
	free_array(row->c, row->n);
	free_array(row->c_terms, row->n);
	free_array(row->u, row->n);
	free_array(row->u_terms, row->n);
	mpfr_clears(row->mean, row->mean_terms, row->m, row->m_terms, row->s, row->r, row->r_terms, row->k, row->k_terms,
	            row->value, row->terms, row->t, (mpfr_ptr)0);
}

double element(enum nc_dtype dtype, const void *data, size_t i)
{
	return dtype == NC_FLOAT64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

double gain_at(const struct nc_norm_spec *spec, struct nc_param gain, size_t i)
{
	if (!gain.count)
		return 1;
	return spec->gain_offset + element(gain.dtype, gain.data, gain.count == 1 ? 0 : i);
}

void row_stats(struct row *row)
{
	bool layer = row->spec->kind == NC_LAYERNORM;
	double epsilon = row->spec->epsilon;

	mpfr_set_zero(row->mean, 1);
	mpfr_set_zero(row->mean_terms, 1);
	for (size_t i = 0; i < row->n && layer; i++) {
		mpfr_add(row->mean, row->mean, row->x[i], RN);
		mpfr_add(row->mean_terms, row->mean_terms, row->x_terms[i], RN);
	}
	mpfr_div_ui(row->mean, row->mean, row->n, RN);
	mpfr_div_ui(row->mean_terms, row->mean_terms, row->n, RN);

	mpfr_set_zero(row->m, 1);
	mpfr_set_zero(row->m_terms, 1);
	for (size_t i = 0; i < row->n; i++) {
		mpfr_sub(row->c[i], row->x[i], row->mean, RN);
		mpfr_add(row->c_terms[i], row->x_terms[i], row->mean_terms, RN);
		mpfr_sqr(row->t, row->c[i], RN);
		mpfr_add(row->m, row->m, row->t, RN);
		mpfr_mul(row->t, row->c[i], row->c_terms[i], RN);
		mpfr_abs(row->t, row->t, RN);
		mpfr_add(row->m_terms, row->m_terms, row->t, RN);
	}
	mpfr_div_ui(row->m, row->m, row->n, RN);
	mpfr_div_ui(row->m_terms, row->m_terms, row->n, RN);

	mpfr_sqrt(row->s, row->m, RN);
	row->curved = !mpfr_zero_p(row->m);
	switch (row->spec->placement) {
	case NC_INSIDE_SQRT:
		mpfr_add_d(row->r, row->m, epsilon, RN);
		mpfr_sqrt(row->r, row->r, RN);
		mpfr_set(row->s, row->r, RN);
		break;
	case NC_OUTSIDE_SQRT:
		mpfr_add_d(row->r, row->s, epsilon, RN);
		break;
	case NC_CLAMP:
		mpfr_set(row->r, row->s, RN);
		if (mpfr_cmp_d(row->s, epsilon) <= 0) {
			mpfr_set_d(row->r, epsilon, RN);
			row->curved = false;
		}
		break;
	}
	mpfr_div(row->r_terms, row->m_terms, row->s, RN);
	if (!mpfr_number_p(row->r_terms))
		mpfr_set_zero(row->r_terms, 1);
	mpfr_add(row->r_terms, row->r_terms, row->r, RN);
}

void xhat_at(struct row *row, size_t i)
{
	mpfr_div(row->value, row->c[i], row->r, RN);
	mpfr_div(row->terms, row->c_terms[i], row->r, RN);
	if (row->spec->xhat_dtype != NC_FLOAT64) {
		double rounded = judge_round(row->spec->xhat_dtype, row->value), low, high;

		mpfr_mul_2si(row->t, row->terms, row->spec->dtype == NC_FLOAT64 ? -98 : -45, RN);
		mpfr_sub(row->value, row->value, row->t, RN);
		low = judge_round(row->spec->xhat_dtype, row->value);
		mpfr_mul_2si(row->t, row->t, 1, RN);
		mpfr_add(row->value, row->value, row->t, RN);
		high = judge_round(row->spec->xhat_dtype, row->value);
		mpfr_set_d(row->value, rounded, RN);
		mpfr_set_d(row->terms, fabs(rounded), RN);
		if (low != high) /* either is right, and what follows from it */
			mpfr_set_inf(row->terms, 1);
	}
}

void row_project(struct row *row, const void *u, size_t start, const struct nc_param *gain)
{
	bool layer = row->spec->kind == NC_LAYERNORM;

	mpfr_set_zero(row->value, 1);
	mpfr_set_zero(row->terms, 1);
	for (size_t i = 0; i < row->n; i++) {
		mpfr_set_d(row->u[i], element(row->spec->dtype, u, start + i), RN);
		if (gain)
			mpfr_mul_d(row->u[i], row->u[i], gain_at(row->spec, *gain, i), RN);
		mpfr_abs(row->u_terms[i], row->u[i], RN);
		mpfr_add(row->value, row->value, row->u[i], RN);
		mpfr_add(row->terms, row->terms, row->u_terms[i], RN);
	}
	mpfr_div_ui(row->value, row->value, row->n, RN);
	mpfr_div_ui(row->terms, row->terms, row->n, RN);
	for (size_t i = 0; i < row->n && layer; i++) {
		mpfr_sub(row->u[i], row->u[i], row->value, RN);
		mpfr_add(row->u_terms[i], row->u_terms[i], row->terms, RN);
	}

	mpfr_set_zero(row->k, 1);
	mpfr_set_zero(row->k_terms, 1);
	if (!row->curved)
		return;
	for (size_t i = 0; i < row->n; i++) {
		mpfr_mul(row->t, row->u[i], row->c[i], RN);
		mpfr_add(row->k, row->k, row->t, RN);
		mpfr_abs(row->t, row->c[i], RN);
		mpfr_mul(row->t, row->u_terms[i], row->t, RN);
		mpfr_add(row->k_terms, row->k_terms, row->t, RN);
	}
	mpfr_sqr(row->t, row->r, RN);
	mpfr_mul(row->t, row->t, row->s, RN);
	mpfr_mul_ui(row->t, row->t, row->n, RN);
	mpfr_div(row->k, row->k, row->t, RN);
	mpfr_div(row->k_terms, row->k_terms, row->t, RN);
}

void projected_at(struct row *row, size_t i, double factor)
{
	mpfr_div(row->value, row->u[i], row->r, RN);
	mpfr_mul(row->t, row->c[i], row->k, RN);
	mpfr_sub(row->value, row->value, row->t, RN);
	mpfr_mul_d(row->value, row->value, factor, RN);

	mpfr_div(row->terms, row->u_terms[i], row->r, RN);
	mpfr_mul(row->t, row->c[i], row->k_terms, RN);
	mpfr_abs(row->t, row->t, RN);
	mpfr_add(row->terms, row->terms, row->t, RN);
	mpfr_mul_d(row->terms, row->terms, fabs(factor), RN);
}

void y_at(struct row *row, struct nc_param gain, struct nc_param bias, size_t i)
{
	double g = gain_at(row->spec, gain, i);

	xhat_at(row, i);
	mpfr_mul_d(row->terms, row->terms, fabs(g), RN);
	if (row->spec->xhat_dtype == NC_FLOAT64) { /* one division at the end: ties stay ties */
		mpfr_mul_d(row->value, row->c[i], g, RN);
		mpfr_div(row->value, row->value, row->r, RN);
	} else {
		mpfr_mul_d(row->value, row->value, g, RN);
	}
	if (bias.count) {
		double b = element(bias.dtype, bias.data, bias.count == 1 ? 0 : i);

		mpfr_add_d(row->value, row->value, b, RN);
		mpfr_add_d(row->terms, row->terms, fabs(b), RN);
	}
}

void judge_stats(struct row *row, struct judge *judge, const void *divisor, const void *mean, const void *variance,
                 size_t i)
{
	enum nc_dtype dtype = row->spec->dtype == NC_FLOAT64 ? NC_FLOAT64 : NC_FLOAT32;

	if (divisor)
		judge_element(judge, "divisor", dtype, element(dtype, divisor, i), row->r, row->r_terms);
	if (mean)
		judge_element(judge, "mean", dtype, element(dtype, mean, i), row->mean, row->mean_terms);
	if (variance)
		judge_element(judge, "variance", dtype, element(dtype, variance, i), row->m, row->m_terms);
}

void add_param_gradients(struct row *row, const void *dy, size_t start, mpfr_t *dgain, mpfr_t *dgain_terms,
                         mpfr_t *dbias, mpfr_t *dbias_terms)
{
	for (size_t i = 0; i < row->n; i++) {
		double d = element(row->spec->dtype, dy, start + i);

		xhat_at(row, i);
		mpfr_mul_d(row->value, row->value, d, RN);
		mpfr_add(dgain[i], dgain[i], row->value, RN);
		mpfr_mul_d(row->terms, row->terms, fabs(d), RN);
		mpfr_add(dgain_terms[i], dgain_terms[i], row->terms, RN);
		mpfr_add_d(dbias[i], dbias[i], d, RN);
		mpfr_add_d(dbias_terms[i], dbias_terms[i], fabs(d), RN);
	}
}

void sums_init(struct sums *sums, size_t count)
{
	*sums = (struct sums){count, new_array(count), new_array(count), new_array(count), new_array(count)};
	for (size_t i = 0; i < count; i++) {
		mpfr_set_zero(sums->dgain[i], 1);
		mpfr_set_zero(sums->dgain_terms[i], 1);
		mpfr_set_zero(sums->dbias[i], 1);
		mpfr_set_zero(sums->dbias_terms[i], 1);
	}
}

void sums_finish(struct sums *sums, enum nc_dtype dtype, const void *dgain, const void *dbias, struct judge *judges)
{
	for (size_t i = 0; i < sums->count; i++) {
		if (dgain)
			judge_element(&judges[REFERENCE_DGAIN], "dgain", dtype, element(dtype, dgain, i), sums->dgain[i],
			              sums->dgain_terms[i]);
		if (dbias)
			judge_element(&judges[REFERENCE_DBIAS], "dbias", dtype, element(dtype, dbias, i), sums->dbias[i],
			              sums->dbias_terms[i]);
	}
	free_array(sums->dgain, sums->count);
	free_array(sums->dgain_terms, sums->count);
	free_array(sums->dbias, sums->count);
	free_array(sums->dbias_terms, sums->count);
}

void judge_value(struct judge *judges, enum reference_output output, const struct row *row, const void *data,
                 size_t i)
{
	enum nc_dtype dtype = row->spec->dtype;

	judge_element(&judges[output], reference_names[output], dtype, element(dtype, data, i), row->value, row->terms);
}
