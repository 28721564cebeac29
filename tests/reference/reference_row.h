/* The exact quantities of one row, in MPFR: what the references of norms and residuals share. */
#ifndef TESTS_REFERENCE_ROW_H
#define TESTS_REFERENCE_ROW_H

#include "norm_reference.h"

#define RN MPFR_RNDN

/* The exact quantities of one row. Of a value v, v_terms is the sum of the magnitudes that were added to get it. */
struct row {
	const struct nc_norm_spec *spec;
	size_t n;
	mpfr_t *x, *x_terms, *c, *c_terms, *u, *u_terms;
	mpfr_t mean, mean_terms, m, m_terms, s, r, r_terms, k, k_terms, value, terms, t;
	bool curved;
};

/* Sums of `count` parameters' gradients. */
struct sums {
	size_t count;
	mpfr_t *dgain, *dgain_terms, *dbias, *dbias_terms;
};

mpfr_t *new_array(size_t n);

void free_array(mpfr_t *array, size_t n);

void row_init(struct row *row, const struct nc_norm_spec *spec, size_t n);

void row_free(struct row *row);

double element(enum nc_dtype dtype, const void *data, size_t i);

double gain_at(const struct nc_norm_spec *spec, struct nc_param gain, size_t i);

/* mean, c, m, s, r from x and x_terms. */
void row_stats(struct row *row);

/* x̂_i as the gain multiplies it, into value and terms. */
void xhat_at(struct row *row, size_t i);

/* Takes u_i·g_i from an array (gain NULL: 1) and prepares P u: u becomes u − ū, k the factor of c. */
void row_project(struct row *row, const void *u, size_t start, const struct nc_param *gain);

/* (P u)_i times a factor, into value and terms. */
void projected_at(struct row *row, size_t i, double factor);

/* y_i into value and terms. */
void y_at(struct row *row, struct nc_param gain, struct nc_param bias, size_t i);

void judge_stats(struct row *row, struct judge *judge, const void *divisor, const void *mean, const void *variance,
                 size_t i);

/* Adds one row's dy ⊙ x̂ and dy to the parameters' gradients. */
void add_param_gradients(struct row *row, const void *dy, size_t start, mpfr_t *dgain, mpfr_t *dgain_terms,
                         mpfr_t *dbias, mpfr_t *dbias_terms);

void sums_init(struct sums *sums, size_t count);

void sums_finish(struct sums *sums, enum nc_dtype dtype, const void *dgain, const void *dbias, struct judge *judges);

void judge_value(struct judge *judges, enum reference_output output, const struct row *row, const void *data,
                 size_t i);

#endif
