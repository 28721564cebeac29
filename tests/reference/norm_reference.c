#include "reference_row.h"

#include <math.h>

static void row_set_x(struct row *row, enum nc_dtype dtype, const void *x, size_t start)
{
	for (size_t i = 0; i < row->n; i++) {
		mpfr_set_d(row->x[i], element(dtype, x, start + i), RN);
		mpfr_abs(row->x_terms[i], row->x[i], RN);
	}
	row_stats(row);
}

/* ∂y_i/∂x_j into value and terms. */
static void jacobian_at(struct row *row, struct nc_param gain, size_t i, size_t j)
{
	double g = gain_at(row->spec, gain, i);

	mpfr_set_ui(row->value, i == j, RN);
	mpfr_set_ui(row->terms, i == j, RN);
	if (row->spec->kind == NC_LAYERNORM) {
		mpfr_set_ui(row->t, 1, RN);
		mpfr_div_ui(row->t, row->t, row->n, RN);
		mpfr_sub(row->value, row->value, row->t, RN);
		mpfr_add(row->terms, row->terms, row->t, RN);
	}
	mpfr_div(row->value, row->value, row->r, RN);
	mpfr_div(row->terms, row->terms, row->r, RN);
	if (row->curved) {
		mpfr_mul(row->t, row->c[i], row->c[j], RN);
		mpfr_div(row->t, row->t, row->r, RN);
		mpfr_div(row->t, row->t, row->r, RN);
		mpfr_div(row->t, row->t, row->s, RN);
		mpfr_div_ui(row->t, row->t, row->n, RN);
		mpfr_sub(row->value, row->value, row->t, RN);
		mpfr_abs(row->t, row->t, RN);
		mpfr_add(row->terms, row->terms, row->t, RN);
	}
	mpfr_mul_d(row->value, row->value, g, RN);
	mpfr_mul_d(row->terms, row->terms, fabs(g), RN);
}

/* The structured Jacobian's factors at element i, whose place in the arrays is `at`. */
static void judge_factors(struct row *row, struct judge *judge, struct nc_param gain, const struct nc_norm_call *call,
                          size_t i, size_t at)
{
	size_t rank = nc_norm_rank(row->spec->kind), last = rank * at + rank - 1;
	double g = gain_at(row->spec, gain, i);

	mpfr_set_d(row->value, g, RN);
	mpfr_div(row->value, row->value, row->r, RN);
	mpfr_abs(row->terms, row->value, RN);
	judge_element(judge, "diagonal", NC_FLOAT64, call->diagonal[at], row->value, row->terms);
	mpfr_div_ui(row->value, row->value, row->n, RN);
	if (rank == 2) {
		judge_element(judge, "left[0]", NC_FLOAT64, call->left[2 * at], row->value, row->terms);
		mpfr_set_ui(row->t, 1, RN);
		judge_element(judge, "right[0]", NC_FLOAT64, call->right[2 * at], row->t, row->t);
	}
	mpfr_mul(row->value, row->value, row->c[i], RN);
	mpfr_div(row->value, row->value, row->s, RN);
	mpfr_mul(row->terms, row->terms, row->c_terms[i], RN);
	mpfr_div(row->terms, row->terms, row->s, RN);
	mpfr_div_ui(row->terms, row->terms, row->n, RN);
	if (!row->curved) {
		mpfr_set_zero(row->value, 1);
		mpfr_set_zero(row->terms, 1);
	}
	judge_element(judge, "left", NC_FLOAT64, call->left[last], row->value, row->terms);
	mpfr_div(row->value, row->c[i], row->r, RN);
	mpfr_div(row->terms, row->c_terms[i], row->r, RN);
	judge_element(judge, "right", NC_FLOAT64, call->right[last], row->value, row->terms);
}

static struct nc_param row_param(struct nc_param param, size_t part, size_t n)
{
	if (param.count > 1) {
		param.data = (const char *)param.data + part * n * nc_dtype_storage_bytes(param.dtype);
		param.count = n;
	}
	return param;
}

void reference_norm(const struct nc_norm_spec *spec, const struct nc_norm_call *call, struct judge *judges)
{
	size_t n = call->features;
	struct row row;
	struct sums sums;

	row_init(&row, spec, n);
	sums_init(&sums, call->dgain || call->dbias ? n * call->period : 0);
	for (size_t k = 0; k < call->rows; k++) {
		size_t part = k % call->period, start = k * n;
		struct nc_param gain = row_param(call->gain, part, n), bias = row_param(call->bias, part, n);

		row_set_x(&row, spec->dtype, call->x, start);
		judge_stats(&row, &judges[REFERENCE_STATS], call->divisor, call->mean, call->variance, k);
		for (size_t i = 0; i < n && call->y; i++) {
			y_at(&row, gain, bias, i);
			judge_value(judges, REFERENCE_Y, &row, call->y, start + i);
		}
		for (size_t i = 0; i < n && call->xhat; i++) {
			xhat_at(&row, i);
			judge_value(judges, REFERENCE_XHAT, &row, call->xhat, start + i);
		}
		if (call->dx)
			row_project(&row, call->dy, start, &gain);
		for (size_t i = 0; i < n && call->dx; i++) {
			projected_at(&row, i, 1);
			judge_value(judges, REFERENCE_DX, &row, call->dx, start + i);
		}
		if (call->jvp)
			row_project(&row, call->tangent, start, NULL);
		for (size_t i = 0; i < n && call->jvp; i++) {
			projected_at(&row, i, gain_at(spec, gain, i));
			judge_value(judges, REFERENCE_JVP, &row, call->jvp, start + i);
		}
		for (size_t i = 0; i < n && call->jacobian; i++)
			for (size_t j = 0; j < n; j++) {
				jacobian_at(&row, gain, i, j);
				judge_value(judges, REFERENCE_JACOBIAN, &row, call->jacobian, (start + i) * n + j);
			}
		for (size_t i = 0; i < n && call->diagonal; i++)
			judge_factors(&row, &judges[REFERENCE_FACTORS], gain, call, i, start + i);
		if (sums.count)
			add_param_gradients(&row, call->dy, start, sums.dgain + part * n, sums.dgain_terms + part * n,
			                    sums.dbias + part * n, sums.dbias_terms + part * n);
	}
	sums_finish(&sums, spec->dtype, call->dgain, call->dbias, judges);
	row_free(&row);
}
