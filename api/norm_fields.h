/* A NORM of a request: the fields of section 2 that every norm takes, at an endpoint or nested in an object. */
#ifndef API_NORM_FIELDS_H
#define API_NORM_FIELDS_H

#include "fields.h"

#include "core/conventions.h"
#include "core/layout.h"
#include "core/norm.h"

enum norm_use {
	NORM_OF_ENDPOINT,  /* the object is the request: its path is NULL, kind is known, there is no field "kind" */
	NORM_WITH_AXES,    /* a nested object with "kind" */
	NORM_LAST_AXIS     /* the same without axes: always the last one */
};

struct norm_fields {
	enum nc_norm_kind kind;
	const struct nc_convention *convention;  /* or NULL */
	double epsilon;
	int placement;                           /* enum nc_epsilon_placement */
	double gain_offset;
	bool cast_before_gain;
	size_t groups;
	json_t *axes;                            /* or NULL */
	struct tensor_field gain, bias;          /* given or not, under whichever of their names */
	const char *gain_name, *bias_name;       /* the name that was sent */
};

/*
 * Reads `object` at `path`. kind: of the endpoint; else found in the object (there it may be left out beside a
 * convention). more: tables of the fields that stand beside the norm's own. dtype and param_dtype are the call's.
 */
bool norm_fields_read(struct call *call, json_t *object, const struct path *path, const char *what, enum norm_use use,
                      enum nc_norm_kind kind, const struct fields *more, size_t more_count, struct norm_fields *out);

/* The parts of it that other requests take too: gain and bias under their several names, and the convention. */
struct norm_params {
	struct tensor_field gain, gamma, weight, bias, beta;
};
enum { NORM_PARAMS_COUNT = 5 };
extern const struct field norm_params_rows[];   /* offsets in struct norm_params */

/* Sets gain and bias of out; two names of one of them at once are an error. */
bool norm_params_choose(struct call *call, const struct path *path, const struct norm_params *params, struct norm_fields *out);

/* The convention that the object names; unchanged where it names none. */
bool norm_convention_read(struct call *call, json_t *object, const struct path *path, const struct nc_convention **convention);

/* How x of this shape is normalized; checks axes, groups, and the shapes of gain and bias. */
bool norm_layout(struct call *call, const struct norm_fields *norm, const struct path *path, const size_t *shape,
                 unsigned rank, struct nc_layout *layout);

/* The parts of a core call. */
struct nc_norm_spec norm_spec(const struct call *call, const struct norm_fields *norm);
bool norm_param(struct call *call, const struct nc_layout *layout, const struct tensor_field *field, struct nc_param *param);

/* Fails for nc_norm's or nc_residual's status; row: its bad_row. x_path: where x stands. */
bool norm_fail(struct call *call, enum nc_status status, const struct nc_layout *layout, size_t row, enum tensor_form form,
               const struct path *x_path);

/* Writes the object `meta` of a norm. */
void norm_meta_write(struct call *call, struct writer *out, const struct norm_fields *norm, const struct nc_layout *layout);

/* "rmsnorm", "layernorm" */
extern const char *const norm_kind_names[];

#endif
