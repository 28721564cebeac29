/* Random norm and residual calls: every dtype, placement, parameter form and shape, from tame to extreme values. */
#ifndef TESTS_NORM_CASES_H
#define TESTS_NORM_CASES_H

#include "core/norm.h"
#include "core/residual.h"
#include "core/tensor.h"

/* A small generator (SplitMix64): the same seed gives the same cases everywhere. */
struct random {
	uint64_t state;
};

uint64_t random_bits(struct random *random);
size_t random_below(struct random *random, size_t n);
double random_normal(struct random *random);

enum values {
	VALUES_NORMAL,
	VALUES_OFFSET,   /* a common offset much larger than the spread */
	VALUES_SPREAD,   /* exponents over a wide range */
	VALUES_RANDOM,   /* how many of the kinds above there are: no ties but by chance */
	VALUES_INTEGERS = VALUES_RANDOM, /* small ones: exact sums, exact ties */
	VALUES_CONSTANT,
	VALUES_SPARSE,   /* mostly zeros of either sign */
	VALUES_TAME,     /* how many of the kinds above there are; those below are extreme */
	VALUES_HUGE = VALUES_TAME,
	VALUES_TINY,     /* subnormals and their neighbours */
	VALUES_ANY,      /* any finite bit pattern */
	VALUES_COUNT
};

/* Fills count elements in the storage of dtype, each finite and on its grid. */
void random_fill(struct random *random, enum nc_dtype dtype, enum values values, void *data, size_t count);

struct norm_case {
	struct nc_norm_spec spec;
	struct nc_norm_call call;
	size_t bytes;   /* of the block that holds all arrays */
	void *block;
};

struct case_options {
	size_t elements;   /* about how many of x */
	bool random;       /* nothing but random values and unround parameters */
	bool extreme;      /* extreme values, parameters and epsilons too */
	bool jacobian;     /* ask for the dense Jacobian (features stay small) and the factors */
	int dtype;         /* -1: any */
	int rows, features; /* 0: any */
};

/* Makes one; every output that the spec knows is asked for. norm_case_free releases it. */
void norm_case_make(struct norm_case *c, struct random *random, const struct case_options *options);
void norm_case_free(struct norm_case *c);

/* One printed line that says what the case is. */
void norm_case_describe(const struct norm_case *c, char *text, size_t size);

struct residual_case {
	struct nc_residual_call call;
	struct nc_norm_spec norm;
	void *block;
};

void residual_case_make(struct residual_case *c, struct random *random, const struct case_options *options);
void residual_case_free(struct residual_case *c);

#endif
