/*
 * A residual under way: residual.c cuts it into what the kernels can do; residual_wide.c does the rest, an element at a time in
 * wide arithmetic.
 */
#ifndef NORMCORE_RESIDUAL_RUN_H
#define NORMCORE_RESIDUAL_RUN_H

#include "norm_job.h"
#include "norm_wide.h"
#include "residual.h"

/* One thread's work memory: a group of rows, or one row in wide arithmetic. */
struct residual_slot {
	int taken;
	double *sum, *sum_low, *vjp, *vjp_low; /* group_rows × features; what the call has no use for is NULL */
	struct wide *d;                        /* features: the whole gradient of a row's sum */
};

struct residual_run {
	struct nc_residual_call *call;
	struct nc_norm_spec spec; /* call->norm, or a stand-in that only says the dtype */
	size_t chunk_rows, group_rows;
	size_t bad_row;           /* the first row without a value, or SIZE_MAX */
	int any_slow;             /* the parameters' gradients need wide arithmetic */
	bool fast;                /* the kernels can hold scales and parameters */
	bool gradients;           /* dx or one of its like is wanted */
	bool columns;             /* few long rows with a norm: cut by columns, the first slot holds them all */
	struct norm_job job;      /* its `slow` marks the rows that the kernels left alone, with a norm or without */
	void *rounded;            /* rows × features: the rounded sum, where call->round_sum, else call->y */
	struct residual_slot *slots; /* as many as threads */
	unsigned slot_count;
};

static inline const void *residual_at(enum nc_dtype dtype, const void *array, size_t index)
{
	return (const char *)array + index * nc_dtype_storage_bytes(dtype);
}

static inline size_t residual_period(const struct nc_residual_call *call)
{
	return call->period ? call->period : 1;
}

/* Every output of one row but the parameters' gradients; d is room for features of them. A row without a value is noted. */
void residual_row(struct residual_run *run, size_t row, struct wide *d);

/* dgain and dbias over all rows; memory from arena. */
enum nc_status residual_param_gradients(const struct residual_run *run, struct nc_arena *arena);

/* s·I, u·J_F and their sum, each in the form that was given. */
void residual_jacobians(const struct nc_residual_call *call);

#endif
