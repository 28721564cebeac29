/*
 * The data of a diagnosis, prepared so that one hypothesis is weighed in a few nanoseconds an element. Internal.
 *
 * Everything is float64; row statistics are scaled by a power of two, so that no square overflows.
 */
#ifndef NORMCORE_EVIDENCE_H
#define NORMCORE_EVIDENCE_H

#include "diagnose.h"
#include "evidence_round.h"

#include <stdint.h>

/* One row under one layout. square and variance are of x / scale. */
struct evidence_row {
	double scale;            /* a power of two near max |x| */
	double mean, magnitude;  /* of x and |x| */
	double square, variance; /* mean of squares; population */
	/* the same when every step is rounded to the dtype, unscaled; narrow dtypes and the declared axes only */
	double step_mean, step_square, step_variance;
};

/* x[row_offset[r] + feature_offset[j]] meets gain[row_param[r] + feature_param[j]]. */
struct evidence_layout {
	uint32_t *row_offset, *row_param;
	uint32_t *feature_offset, *feature_param;
	struct evidence_row *row;
	size_t lowest, highest;  /* rows of least and largest mean square */
	size_t distinct;         /* different mean squares among the rows */
};

/* Sums of one row for the gradient: u = gain · dy. */
struct evidence_gradient {
	double u, ux, uc;             /* Σu, Σu x, Σu (x − μ) */
	double abs_u, abs_ux, abs_uc; /* of magnitudes */
};

struct evidence {
	enum nc_dtype dtype;
	const struct nc_tensor *x, *y, *dy, *dx;
	struct nc_diagnosis *diagnosis;         /* its layouts */
	struct evidence_layout layout[NC_LAYOUTS];
	bool short_numbers;                     /* most of x has 12 significant bits or fewer: its squares are exact in float32 */
	size_t param_count;
	double *gain[NC_GAIN_COUNT];            /* param_count each; NULL: not to be tried */
	double *bias[NC_BIAS_COUNT];
	double typical[2];                      /* the unit of the last place of mean |y| and of mean |dx| */
	double half_decimal;                    /* half a unit of the last printed decimal; 0: not printed */
	struct evidence_gradient *gradient[2];  /* of layout [0] and of gradient_layout: [gain][cast][row] */
	unsigned gradient_layout;
};

/* A part of the data: so many rows, evenly spread, the extreme ones among them, and so many elements of each. */
struct evidence_stage {
	size_t rows, elements;
};

/* How a hypothesis fares on a part of the data. */
struct evidence_fit {
	size_t seen, outside, differing;  /* elements; beyond the tolerance; not the very bits predicted */
	size_t blind;                     /* so uncertain that they tell nothing: counted as outside when they are most of all */
	double score;                     /* mean of log2(1 + deviation / tolerance) */
	double nearness;                  /* mean of log2(1 + deviation in ulp of the output's mean magnitude) */
	double square;                    /* sum of squared deviations in ulp */
};

/* What weighing may leave behind for each element (either may be NULL), by its index in x. */
struct evidence_trace {
	double *predicted;        /* rounded to the dtype */
	unsigned char *outside;
};

/* Prepares layouts, row statistics, gains and biases. Memory stays in the arena. */
enum nc_status evidence_prepare(struct evidence *evidence, const struct nc_diagnose_call *call,
                                struct nc_diagnosis *diagnosis, struct nc_pool *pool, struct nc_arena *arena);

/* The layouts of a request: fills diagnosis->layout and the offsets. */
enum nc_status evidence_layouts(struct evidence *evidence, const struct nc_diagnose_call *call, struct nc_arena *arena);

/* The sums that evidence_backward needs, for the declared layout and one more. */
enum nc_status evidence_prepare_backward(struct evidence *evidence, unsigned layout, struct nc_arena *arena);

/* Looks for the decimals with which an output was printed: sets half_decimal and returns them, or −1. */
int evidence_set_decimals(struct evidence *evidence, const struct nc_tensor *output);

/* Weigh one hypothesis; trace may be NULL. Any thread. */
void evidence_forward(const struct evidence *evidence, const struct nc_hypothesis *h, struct evidence_stage stage,
                      struct evidence_fit *fit, const struct evidence_trace *trace);
void evidence_backward(const struct evidence *evidence, const struct nc_hypothesis *h, struct evidence_stage stage,
                       struct evidence_fit *fit, const struct evidence_trace *trace);

/* The i-th of the rows of a stage, and how many there are. */
size_t evidence_stage_rows(const struct evidence *evidence, unsigned layout, struct evidence_stage stage);
size_t evidence_stage_row(const struct evidence *evidence, unsigned layout, struct evidence_stage stage, size_t i);

/* D of a row, and *slope: ∂D/∂x_j over c_j of the statistic. slope may be NULL. */
double evidence_divisor(const struct evidence *evidence, const struct nc_hypothesis *h, size_t row, double *slope);

/* u of the arithmetic, and the relative error u·(√n + 8) that a row's divisor may have. */
double evidence_unit(const struct evidence *evidence, const struct nc_hypothesis *h);
double evidence_noise(const struct evidence *evidence, const struct nc_hypothesis *h);

#endif
