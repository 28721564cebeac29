#include "reference_row.h"

#include <math.h>

/* s·x + u·update into x and x_terms. */
static void set_sum(struct row *row, const struct nc_residual_call *call, size_t start)
{
	for (size_t i = 0; i < row->n; i++) {
		mpfr_set_d(row->x[i], element(call->dtype, call->x, start + i), RN);
		mpfr_mul_d(row->x[i], row->x[i], call->skip_scale, RN);
		mpfr_set_d(row->t, element(call->dtype, call->update, start + i), RN);
		mpfr_mul_d(row->t, row->t, call->update_scale, RN);
		mpfr_abs(row->x_terms[i], row->x[i], RN);
		mpfr_add(row->x[i], row->x[i], row->t, RN);
		mpfr_abs(row->t, row->t, RN);
		mpfr_add(row->x_terms[i], row->x_terms[i], row->t, RN);
	}
}

/* u·(J_Fᵀ d)_i into value and terms. */
static void sublayer_at(struct row *row, const struct nc_residual_call *call, mpfr_t *d, mpfr_t *d_terms, size_t i)
{
	bool dense = call->form == NC_JACOBIAN_DENSE;

	mpfr_set_zero(row->value, 1);
	mpfr_set_zero(row->terms, 1);
	for (size_t k = dense ? 0 : i; k < (dense ? row->n : i + 1); k++) {
		double j = element(call->dtype, call->sublayer_jacobian,
		                   dense ? k * row->n + i : call->form == NC_JACOBIAN_DIAGONAL ? i : 0);

		mpfr_mul_d(row->t, d[k], j, RN);
		mpfr_add(row->value, row->value, row->t, RN);
		mpfr_mul_d(row->t, d_terms[k], fabs(j), RN);
		mpfr_add(row->terms, row->terms, row->t, RN);
	}
	mpfr_mul_d(row->value, row->value, call->update_scale, RN);
	mpfr_mul_d(row->terms, row->terms, fabs(call->update_scale), RN);
}

static void judge_branches(struct row *row, const struct nc_residual_call *call, mpfr_t *d, mpfr_t *d_terms, size_t start,
                           struct judge *judges)
{
	for (size_t i = 0; i < row->n; i++) {
		mpfr_mul_d(row->value, d[i], call->update_scale, RN);
		mpfr_mul_d(row->terms, d_terms[i], fabs(call->update_scale), RN);
		if (call->dupdate)
			judge_value(judges, REFERENCE_BRANCH, row, call->dupdate, start + i);
		mpfr_set_zero(row->value, 1);
		mpfr_set_zero(row->terms, 1);
		if (call->form != NC_JACOBIAN_NONE)
			sublayer_at(row, call, d, d_terms, i);
		if (call->dx_sublayer)
			judge_value(judges, REFERENCE_BRANCH, row, call->dx_sublayer, start + i);
		mpfr_mul_d(row->t, d[i], call->skip_scale, RN);
		mpfr_add(row->value, row->value, row->t, RN);
		mpfr_mul_d(row->t, d_terms[i], fabs(call->skip_scale), RN);
		mpfr_add(row->terms, row->terms, row->t, RN);
		if (call->dx)
			judge_value(judges, REFERENCE_DX, row, call->dx, start + i);
		mpfr_mul_d(row->value, d[i], call->skip_scale, RN);
		mpfr_mul_d(row->terms, d_terms[i], fabs(call->skip_scale), RN);
		if (call->dx_identity)
			judge_value(judges, REFERENCE_BRANCH, row, call->dx_identity, start + i);
	}
}

static void judge_jacobians(struct row *row, const struct nc_residual_call *call, struct judge *judges)
{
	size_t n = row->n, count = call->form == NC_JACOBIAN_DENSE ? n * n : call->form == NC_JACOBIAN_DIAGONAL ? n : 1;

	for (size_t i = 0; i < count && call->total; i++) {
		bool diagonal = call->form != NC_JACOBIAN_DENSE || i / n == i % n;

		mpfr_set_d(row->value, call->update_scale, RN);
		mpfr_mul_d(row->value, row->value, element(call->dtype, call->sublayer_jacobian, i), RN);
		mpfr_abs(row->terms, row->value, RN);
		judge_value(judges, REFERENCE_SUM, row, call->sublayer, i);
		mpfr_add_d(row->value, row->value, diagonal ? call->skip_scale : 0, RN);
		mpfr_add_d(row->terms, row->terms, diagonal ? fabs(call->skip_scale) : 0, RN);
		judge_value(judges, REFERENCE_SUM, row, call->total, i);
		mpfr_set_d(row->value, diagonal ? call->skip_scale : 0, RN);
		mpfr_abs(row->terms, row->value, RN);
		judge_value(judges, REFERENCE_SUM, row, call->identity, i);
	}
}

void reference_residual(const struct nc_residual_call *call, struct judge *judges)
{
	struct nc_norm_spec plain = {.dtype = call->dtype, .xhat_dtype = NC_FLOAT64};
	size_t n = call->features;
	mpfr_t *d = new_array(n), *d_terms = new_array(n);
	struct row row;
	struct sums sums;

	row_init(&row, call->norm ? call->norm : &plain, n);
	sums_init(&sums, call->dgain || call->dbias ? n : 0);
	for (size_t k = 0; k < call->rows; k++) {
		size_t start = k * n;

		set_sum(&row, call, start);
		for (size_t i = 0; i < n; i++) {
			mpfr_set(row.value, row.x[i], RN);
			mpfr_set(row.terms, row.x_terms[i], RN);
			if (call->y)
				judge_value(judges, REFERENCE_SUM, &row, call->y, start + i);
			if (call->round_sum) {
				mpfr_set_d(row.x[i], judge_round(call->dtype, row.x[i]), RN);
				mpfr_abs(row.x_terms[i], row.x[i], RN);
			}
		}
		if (call->norm)
			row_stats(&row);
		judge_stats(&row, &judges[REFERENCE_STATS], call->divisor, call->mean, call->variance, k);
		for (size_t i = 0; i < n && call->normed; i++) {
			y_at(&row, call->gain, call->bias, i);
			judge_value(judges, REFERENCE_Y, &row, call->normed, start + i);
		}
		if (call->dnormed)
			row_project(&row, call->dnormed, start, &call->gain);
		for (size_t i = 0; i < n; i++) {
			mpfr_set_d(d[i], call->dy ? element(call->dtype, call->dy, start + i) : 0, RN);
			mpfr_abs(d_terms[i], d[i], RN);
			if (call->dnormed) {
				projected_at(&row, i, 1);
				mpfr_add(d[i], d[i], row.value, RN);
				mpfr_add(d_terms[i], d_terms[i], row.terms, RN);
			}
		}
		judge_branches(&row, call, d, d_terms, start, judges);
		if (sums.count)
			add_param_gradients(&row, call->dnormed, start, sums.dgain, sums.dgain_terms, sums.dbias, sums.dbias_terms);
	}
	sums_finish(&sums, call->dtype, call->dgain, call->dbias, judges);
	judge_jacobians(&row, call, judges);
	row_free(&row);
	free_array(d, n);
	free_array(d_terms, n);
}
