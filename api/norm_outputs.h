/*
 * The tensors of a norm's answer between the caller's shape and core's rows: where each output of a core call goes, and
 * its way back when the normalized axes are not the last ones.
 */
#ifndef API_NORM_OUTPUTS_H
#define API_NORM_OUTPUTS_H

#include "norm_fields.h"
#include "tensor_write.h"

enum output_place {
	LIKE_X,      /* the shape of x */
	LIKE_PARAM,  /* the shape of the normalized axes */
	BY_ROW       /* the shape of the stats, and what norm_output_axis appends */
};

enum { MOST_OUTPUTS = 20 };

struct norm_outputs {
	struct nc_layout layout;
	enum nc_dtype dtype;
	size_t count;
	struct output outputs[MOST_OUTPUTS];
	enum output_place place[MOST_OUTPUTS];
	size_t core[MOST_OUTPUTS];   /* the offset of its pointer in the core call */
	void *rows[MOST_OUTPUTS];    /* where core writes it: the output's own data, or rows to be scattered */
};

/* Layout is set by norm_layout afterwards. */
void norm_outputs_start(struct norm_outputs *plan, enum nc_dtype dtype);

/* Appends an output of the request's dtype. core: offsetof its pointer in the core call's struct. */
struct output *norm_output(struct norm_outputs *plan, const char *group, const char *key, enum output_place place, size_t core);

/* Appends an axis to a BY_ROW output. */
void norm_output_axis(struct output *output, size_t size);

/* Appends the group "stats": rms, or mean, variance, std. */
void norm_output_stats(struct norm_outputs *plan, enum nc_norm_kind kind, size_t mean, size_t variance, size_t divisor);

/* Allocates every output and stores its address into the core call. */
bool norm_outputs_place(struct call *call, struct norm_outputs *plan, void *core);

/* Brings the computed rows into the outputs' shapes. */
void norm_outputs_collect(struct norm_outputs *plan);

/* A tensor of x's shape as rows for core: as it lies where that serves. NULL when the field is not given. */
bool norm_input(struct call *call, const struct nc_layout *layout, const struct tensor_field *field, const void **rows);

#endif
