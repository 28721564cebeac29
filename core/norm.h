/*
 * RMSNorm and LayerNorm over contiguous rows: forward, vjp, jvp, Jacobians.
 *
 *     RMSNorm(x)_i   = g_i x_i / r                   m = mean(x²)
 *     LayerNorm(x)_i = g_i (x_i − μ) / r + b_i       m = σ², the population variance
 *     r = √(m+ε) inside_sqrt · √m + ε outside_sqrt · max(√m, ε) clamp          g = gain_offset + gain, 1 without a gain
 *     J_ij = g_i ((δ_ij − [LayerNorm] 1/n) / r − c_i c_j / (n s r²)),  c = x or x − μ, s = r inside, √m else
 *
 * Accuracy: a float64 element is within 0.51 ulp + 2^-98 S of the exact value, S the sum of the magnitudes of the
 * terms that its formula adds; a narrower one is the exact value rounded once but for fewer than one in 10^7.
 * The bits are the same on every instruction set, for every number of threads and whatever other rows there are.
 */
#ifndef NORMCORE_NORM_H
#define NORMCORE_NORM_H

#include "arena.h"
#include "dtype.h"
#include "pool.h"
#include "public.h"
#include "status.h"

NC_PUBLIC_BEGIN

enum nc_norm_kind { NC_RMSNORM, NC_LAYERNORM };
enum nc_epsilon_placement { NC_INSIDE_SQRT, NC_OUTSIDE_SQRT, NC_CLAMP };

struct nc_norm_spec {
	enum nc_norm_kind kind;
	enum nc_epsilon_placement placement;
	double epsilon;           /* finite, >= 0 */
	double gain_offset;       /* finite */
	enum nc_dtype dtype;      /* of x, dy, tangent and of every output but where said */
	enum nc_dtype xhat_dtype; /* x̂ is rounded to it before the gain multiplies; NC_FLOAT64: not rounded */
};

/* A gain or a bias: absent (count 0), one number (count 1) or period × features numbers. */
struct nc_param {
	const void *data;         /* count elements in the storage of dtype */
	enum nc_dtype dtype;
	size_t count;
};

/*
 * One computation: every output that is not NULL is computed. "dtype" below is spec.dtype, and an array is in that
 * dtype's storage. Nothing may alias but y and x. rows may be 0 (parameter gradients are then 0).
 */
struct nc_norm_call {
	size_t rows, features;    /* features >= 1 */
	size_t period;            /* G: row i uses part i mod G of gain and bias; 1 without groups; divides rows */
	const void *x;            /* rows × features, dtype */
	const void *dy;           /* the same, or NULL: needed by dx, dgain, dbias */
	const void *tangent;      /* the same, or NULL: needed by jvp */
	struct nc_param gain, bias; /* bias: LayerNorm only; a count of 1 with period·features 1 counts as elementwise, same value */

	void *y;                  /* rows × features, dtype */
	void *xhat;               /* rows × features, dtype: what the gain multiplies, rounded once to dtype */
	void *divisor;            /* rows, r; double for float64, else float (never narrower than float32) */
	void *mean, *variance;    /* rows, as divisor, LayerNorm only; a variance out of range is an infinity */
	void *dx;                 /* rows × features, dtype */
	void *dgain, *dbias;      /* period × features, dtype: set (not added to) to the sum over rows */
	void *jvp;                /* rows × features, dtype */
	void *jacobian;           /* rows × features × features, dtype: [i][j] = ∂y_i/∂x_j */
	double *diagonal;         /* rows × features:     J = diag(diagonal) − left·rightᵀ; all three or none */
	double *left, *right;     /* rows × features × k, k = 1 RMSNorm, 2 LayerNorm (see nc_norm_rank) */

	size_t bad_row;           /* set with NC_NO_VALUE: the first row whose m is exactly 0 while ε is 0 */
};

/* k of the structured Jacobian: 1 for RMSNorm, 2 for LayerNorm. */
static inline size_t nc_norm_rank(enum nc_norm_kind kind) { return kind == NC_LAYERNORM ? 2 : 1; }

/*
 * Computes what call asks for, on pool (NULL: on this thread), with work memory from arena (rewound before return).
 * NC_OK, NC_NO_VALUE (bad_row set, outputs undefined), NC_INVALID, NC_NO_MEMORY. Rows that hold NaN or infinities
 * follow IEEE arithmetic of the formula and spoil no other row.
 */
enum nc_status nc_norm(const struct nc_norm_spec *spec, struct nc_norm_call *call, struct nc_pool *pool,
                       struct nc_arena *arena);

/* "float64 compensated" for float64, "float64" for the others: what sums are accumulated in. Static text. */
const char *nc_norm_accumulation(enum nc_dtype dtype);

NC_PUBLIC_END

#endif
