#include "judge.h"

#include <math.h>

/* Exponent of the last place's unit for a value of this magnitude. */
static long unit_exponent(enum nc_dtype dtype, mpfr_srcptr value)
{
	long least = nc_dtype_min_exponent(dtype), exponent = mpfr_zero_p(value) ? least : mpfr_get_exp(value) - 1;

	return (exponent > least ? exponent : least) - nc_dtype_mantissa_bits(dtype) + 1;
}

double judge_round(enum nc_dtype dtype, mpfr_srcptr exact)
{
	mpfr_t scaled;
	long unit = unit_exponent(dtype, exact);
	double sign = mpfr_signbit(exact) ? -1 : 1, rounded;

	if (!mpfr_number_p(exact))
		return mpfr_get_d(exact, MPFR_RNDN);
	mpfr_init2(scaled, REFERENCE_BITS);
	mpfr_mul_2si(scaled, exact, -unit, MPFR_RNDN);
	mpfr_rint(scaled, scaled, MPFR_RNDN);
	mpfr_mul_2si(scaled, scaled, unit, MPFR_RNDN);
	rounded = fabs(mpfr_get_d(scaled, MPFR_RNDN));
	mpfr_clear(scaled);
	return sign * (rounded > nc_dtype_max(dtype) ? (double)INFINITY : rounded);
}

void judge_element(struct judge *judge, const char *what, enum nc_dtype dtype, double got, mpfr_srcptr exact,
                   mpfr_srcptr terms)
{
	mpfr_t error, allowed, edge;
	double want = judge_round(dtype, exact);
	bool good, plain = mpfr_zero_p(terms) || (mpfr_regular_p(terms) && mpfr_regular_p(exact) && mpfr_get_exp(terms) <= mpfr_get_exp(exact) + 3);

	judge->elements++;
	if (!mpfr_number_p(terms)) /* no one value is the right one */
		return;
	judge->plain += plain;
	if (got == want)
		judge->worst = fmax(judge->worst, 0.5);
	if (got == want || (isnan(got) && isnan(want)))
		return;
	judge->misrounded += plain;
	if (isnan(got) || isnan(want)) {
		good = false;
	} else {
		mpfr_inits2(REFERENCE_BITS, error, allowed, edge, (mpfr_ptr)0);
		mpfr_mul_2si(allowed, terms, dtype == NC_FLOAT64 ? -98 : -45, MPFR_RNDU);
		if (dtype == NC_FLOAT64 && isfinite(got)) {
			mpfr_sub_d(error, exact, got, MPFR_RNDN);
			mpfr_abs(error, error, MPFR_RNDN);
			mpfr_sub(error, error, allowed, MPFR_RNDN);
			mpfr_mul_2si(error, error, -unit_exponent(dtype, exact), MPFR_RNDN);
			judge->worst = fmax(judge->worst, mpfr_get_d(error, MPFR_RNDU));
			good = mpfr_cmp_d(error, 0.51) <= 0;
		} else {
			double low, high;

			mpfr_sub(edge, exact, allowed, MPFR_RNDD);
			low = judge_round(dtype, edge);
			mpfr_add(edge, exact, allowed, MPFR_RNDU);
			high = judge_round(dtype, edge);
			good = low <= got && got <= high;
		}
		mpfr_clears(error, allowed, edge, (mpfr_ptr)0);
	}
	if (!good && judge->failed++ < 3)
		mpfr_fprintf(stderr, "%s, %s: got %a (%.17g), exact %.25Rg, S %.3Rg\n", what, nc_dtype_name(dtype), got, got, exact,
		             terms);
}

void judge_merge(struct judge *into, const struct judge *from)
{
	into->elements += from->elements;
	into->plain += from->plain;
	into->misrounded += from->misrounded;
	into->failed += from->failed;
	into->worst = fmax(into->worst, from->worst);
}
