/*
 * Which convention explains a norm's output: tries every hypothesis of hypotheses.def on x and y (and dy and dx).
 *
 * A hypothesis matches when every element of y lies between the two values that a kernel of that dtype may give: with
 * u = 2^-24 (2^-53 for float64) and n features, x̂ off by at most
 *
 *     u·((√n + 8)·|x̂| + 2|x|/D)        and LayerNorm's, whose mean is rounded too, by u·(√n·|μ| + 2·mean|x|)/D more,
 *
 * its first term then times 1 + |μ|/D, rounded where the hypothesis rounds it, then off by 2u of the terms that gain, bias
 * and skip add, then rounded to the dtype.
 */
#ifndef NORMCORE_DIAGNOSE_H
#define NORMCORE_DIAGNOSE_H

#include "../compare.h"
#include "hypothesis.h"
#include "../tensor.h"

enum { NC_EXPLANATIONS = 5, NC_LAYOUTS = 32 };

/* Axes that are normalized together. */
struct nc_diagnose_axes {
	unsigned kind;                    /* NC_AXES_DECLARED, … */
	unsigned axis_count;
	unsigned axes[NC_REQUEST_RANK];   /* ascending */
	size_t groups;                    /* of the last of them */
	size_t rows, features;
};

struct nc_diagnose_call {
	const struct nc_tensor *x, *y;            /* one shape of rank 1 to 8, one dtype, at least one element; x finite */
	const struct nc_tensor *gain, *bias;      /* NULL, one number (rank 0) or the shape of the axes; finite */
	const unsigned *axes;                     /* ascending, each below the rank */
	unsigned axis_count;
	const struct nc_convention *convention;   /* what y was meant to be, or NULL */
	const struct nc_tensor *dy, *dx;          /* shape and dtype of x, dy finite; both or neither */
};

struct nc_explanation {
	struct nc_hypothesis hypothesis;
	bool match;                               /* every element within the tolerance */
	const struct nc_convention *convention;   /* the one that it is, or NULL */
	unsigned distance;                        /* see nc_hypothesis_distance; of dx from the gradient of y's explanation */
	struct nc_comparison comparison;          /* of y with what the hypothesis gives; NaN equals NaN */
	size_t outside;                           /* elements beyond the tolerance */
	bool tied;                                /* as good as the first one, as far as the data can tell */
};

enum nc_pattern {
	NC_PATTERN_NONE,        /* nothing departs */
	NC_PATTERN_NONFINITE,   /* NaN or infinities where finite values belong, and nothing else */
	NC_PATTERN_ELEMENT,     /* one element */
	NC_PATTERN_ROW,         /* rows: all in one row */
	NC_PATTERN_COLUMN,      /* at one feature, in several rows */
	NC_PATTERN_COLUMNS,     /* at `features` features, the first and the last of them told, in most rows, at no others */
	NC_PATTERN_TAIL,        /* behind the last whole vector of `width` features */
	NC_PATTERN_FROM_ROW,    /* every row from `row` on, none before */
	NC_PATTERN_GROWING,     /* everywhere, larger with the row's index */
	NC_PATTERN_ROW_FACTOR,  /* each row by one factor of its own, at most `factor` from 1 */
	NC_PATTERN_EVERYWHERE,  /* more than half of all elements */
	NC_PATTERN_SCATTERED
};

struct nc_departure {
	enum nc_pattern pattern;
	size_t count, of;         /* elements beyond the tolerance, and all */
	size_t row, element;      /* of the first, row-major: row and feature in the first explanation's axes */
	size_t at;                /* the same as an index into x */
	double got, want;         /* y there, and what the first explanation gives */
	size_t features, first, last; /* COLUMNS */
	size_t width;             /* TAIL */
	double factor;            /* ROW_FACTOR: the largest deviation of a row's factor from 1 */
};

struct nc_finding {
	bool match;
	unsigned count;                           /* of explanations, best first, at most NC_EXPLANATIONS */
	struct nc_explanation explanation[NC_EXPLANATIONS];
	size_t matching;                          /* hypotheses that reproduce the output equally well, those told counted */
	size_t tried;
	double tolerance;                         /* u·(√n + 8) of the first explanation */
	struct nc_departure departure;            /* from the first explanation, pattern NONE with a match */
};

struct nc_diagnosis {
	struct nc_given given;
	unsigned layout_count;
	struct nc_diagnose_axes layout[NC_LAYOUTS];  /* [0]: the declared axes */
	struct nc_finding forward, backward;         /* backward.count 0 without dy and dx */
	int decimals;                                /* y seems printed with so many decimals; −1: it does not */
};

/*
 * Fills *diagnosis. The same for any number of threads. Work memory from arena, rewound before return; pool may be NULL.
 * NC_OK, NC_INVALID (an argument that breaks the above), NC_NO_MEMORY, NC_TOO_LARGE (2^32 elements).
 */
enum nc_status nc_diagnose(const struct nc_diagnose_call *call, struct nc_diagnosis *diagnosis, struct nc_pool *pool,
                           struct nc_arena *arena);

#endif
