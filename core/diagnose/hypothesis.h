/*
 * A hypothesis of /diagnose: one choice from each table of hypotheses.def, which together say how y came from x.
 *
 *     y = bias + [skip x] + gain · cast((x − [centred] μ) / D),      D = root of (statistic and ε, by placement)
 */
#ifndef NORMCORE_HYPOTHESIS_H
#define NORMCORE_HYPOTHESIS_H

#include "../conventions.h"

enum nc_statistic {
	NC_MEAN_SQUARE,
	NC_VARIANCE,
	NC_SAMPLE_VARIANCE,
	NC_SUM_SQUARE,
	NC_SUM_CENTRED,
	NC_ONE,
	NC_STATISTIC_COUNT
};

enum nc_epsilon_kind { NC_EPSILON_IS_VALUE, NC_EPSILON_IS_COMPUTED, NC_EPSILON_IS_STORED, NC_EPSILON_IS_FITTED };

enum nc_projection { NC_PROJECTION_ZERO, NC_PROJECTION_ONE, NC_PROJECTION_N, NC_PROJECTION_MINUS };

/* The choices of each dimension, and how many there are: NC_FORM_RMS, …, NC_FORM_COUNT. */
enum {
#define FORM(NAME, ...) NC_FORM_##NAME,
#include "hypotheses.def"
	NC_FORM_COUNT
};
enum {
#define ROOT(NAME, ...) NC_ROOT_##NAME,
#include "hypotheses.def"
	NC_ROOT_COUNT
};
enum {
#define EPSILON(NAME, ...) NC_EPSILON_##NAME,
#include "hypotheses.def"
	NC_EPSILON_COUNT
};
enum {
#define PLACEMENT(NAME, ...) NC_PLACEMENT_##NAME,
#include "hypotheses.def"
	NC_PLACEMENT_COUNT
};
enum {
#define GAIN(NAME, ...) NC_GAIN_##NAME,
#include "hypotheses.def"
	NC_GAIN_COUNT
};
enum {
#define BIAS(NAME, ...) NC_BIAS_##NAME,
#include "hypotheses.def"
	NC_BIAS_COUNT
};
enum {
#define CAST(NAME, ...) NC_CAST_##NAME,
#include "hypotheses.def"
	NC_CAST_COUNT
};
enum {
#define SKIP(NAME, ...) NC_SKIP_##NAME,
#include "hypotheses.def"
	NC_SKIP_COUNT
};
enum {
#define AXES(NAME, ...) NC_AXES_##NAME,
#include "hypotheses.def"
	NC_AXES_COUNT
};
enum {
#define BACKWARD(NAME, ...) NC_BACKWARD_##NAME,
#include "hypotheses.def"
	NC_BACKWARD_COUNT
};

struct nc_hypothesis {
	unsigned char layout;     /* index into the diagnosis' layouts; 0 is the declared one */
	unsigned char form, root, epsilon, placement, gain, bias, cast, skip;
	unsigned char backward;   /* of dx only */
	double value;             /* ε as a number */
};

/* The dimensions in the order in which a sentence tells of them. */
enum nc_dimension {
	NC_BY_FORM,
	NC_BY_AXES,
	NC_BY_ROOT,
	NC_BY_EPSILON,
	NC_BY_PLACEMENT,
	NC_BY_GAIN,
	NC_BY_BIAS,
	NC_BY_CAST,
	NC_BY_SKIP,
	NC_BY_BACKWARD,
	NC_DIMENSION_COUNT
};

/* What a choice says of itself; "{dtype}" in a text stands for the dtype's name. Static. Dimensions without sentences have "". */
struct nc_choice {
	const char *name, *text, *fix;
	unsigned rarity;
};
const struct nc_choice *nc_hypothesis_choice(enum nc_dimension dimension, unsigned index);

/* The choice that a hypothesis makes in a dimension (of NC_BY_AXES the layout's index). */
unsigned nc_hypothesis_get(const struct nc_hypothesis *h, enum nc_dimension dimension);

struct nc_form {
	bool centred;
	enum nc_statistic statistic;
	bool elsewhere;
};
const struct nc_form *nc_hypothesis_form(unsigned form);

struct nc_backward {
	bool mean;
	enum nc_projection projection;
	int power;
	bool outside;
};
const struct nc_backward *nc_hypothesis_backward(unsigned backward);

unsigned nc_hypothesis_root_times(unsigned root);
bool nc_hypothesis_cast_neutral(unsigned cast);
enum nc_epsilon_kind nc_hypothesis_epsilon_kind(unsigned epsilon);

/* ε of a choice for a dtype (0 for FITTED). */
double nc_hypothesis_epsilon(unsigned epsilon, enum nc_dtype dtype);

/* What a request gave, as far as it decides which differences count. */
struct nc_given {
	enum nc_dtype dtype;
	bool gain, bias;
};

/* The hypothesis that a convention is, over the declared axes. Choices that have no effect are the tables' first or NONE. */
struct nc_hypothesis nc_hypothesis_of(const struct nc_convention *convention, const struct nc_given *given);

/* Bit d is set where a and b differ in dimension d: in ε by its value, in its placement where both have one. */
unsigned nc_hypothesis_difference(const struct nc_hypothesis *a, const struct nc_hypothesis *b);

/* As difference, without a cast that has no effect or is of the numbers sent: the steps that lead from h to the other. */
unsigned nc_hypothesis_steps(const struct nc_hypothesis *h, const struct nc_hypothesis *of);

/*
 * How far h is from another: 100 for each step, and the rarities of h's choices in those dimensions.
 */
unsigned nc_hypothesis_distance(const struct nc_hypothesis *h, const struct nc_hypothesis *of);

#endif
