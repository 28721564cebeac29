/*
 * What the norm kernels are told of one call: pointers to whole arrays, of which they do the rows [first, end).
 *
 * Two kernels share it. norm_narrow computes in float64 and takes float32, bfloat16 and float16 (stored as float);
 * norm_pairs computes in pairs of float64 and takes float64. A row whose magnitudes the kernel cannot hold, that is not
 * finite or that has no value is marked NORM_JOB_LEFT in `slow` and left alone; so is one that was marked so before. A row of
 * which an output lies so near to halfway between two values that the kernel's own errors could decide its rounding is
 * done, and marked NORM_JOB_DOUBTFUL.
 */
#ifndef NORMCORE_NORM_JOB_H
#define NORMCORE_NORM_JOB_H

#include "norm.h"

/*
 * Magnitudes that norm_pairs takes: no product of the formulas leaves the range in which Dekker's products are exact.
 * Parameters of either kernel keep to it too.
 */
#define NORM_JOB_LEAST 0x1p-100
#define NORM_JOB_MOST 0x1p+100

/* A gain or bias made ready: offset added. */
struct norm_param {
	const double *values; /* period × features; or */
	const float *narrow;  /* those as given, where norm_narrow can take them so; both NULL: absent */
	float least, most;    /* of narrow: the magnitudes but 0; `least` an infinity when all are 0 */
};

struct norm_job {
	const struct nc_norm_spec *spec;
	size_t features, period;
	struct norm_param gain, bias;

	const void *x; /* rows × features in the storage of spec->dtype, as every array below but where said */

	/*
	 * For a residual: unrounded sums that stand for x (then NULL), and room for the unrounded vjp in place of
	 * `projected`, rows × features doubles whose first row is row `base`. norm_pairs has the low parts too.
	 */
	const double *sum, *sum_low;
	double *vjp, *vjp_low;
	size_t base;

	const void *u;   /* dy or tangent, or NULL */
	bool gained;     /* the vjp: u is dy; else the jvp: u is the tangent */
	void *projected; /* dx or jvp */

	void *y, *xhat, *divisor, *mean, *variance; /* each may be NULL */

	/*
	 * Sums over each `block` of period·NORM_JOB_BLOCK rows, which starts at a multiple of that: period × features
	 * doubles a block. Low parts, as many, follow each block's of dbias, and of dgain where norm_job_pairs.
	 */
	double *dgain, *dbias;

	bool stream;         /* y and `projected` are too large to be found in a cache afterwards */
	unsigned char *slow; /* rows */

	/* Of rows that are done by parts of their columns, in a form of the kernel's own: */
	void *known; /* rows × NORM_JOB_KNOWN_BYTES: what is known of each row, zero at first */
	void *sums;  /* rows × norm_job_parts × NORM_JOB_SUMS_BYTES: the sums of each part */
};

/* Columns whose sums are taken by themselves, so that they may be taken by any thread; a multiple of every kernel's own chunks. */
enum { NORM_JOB_PART = 32768, NORM_JOB_KNOWN_BYTES = 256, NORM_JOB_SUMS_BYTES = 128 };

static inline size_t norm_job_parts(size_t features)
{
	return (features - 1) / NORM_JOB_PART + 1;
}

static inline size_t norm_job_part_end(size_t features, size_t part)
{
	size_t from = part * NORM_JOB_PART;

	return features - from < NORM_JOB_PART ? features : from + NORM_JOB_PART;
}

/*
 * What a kernel is to do for the rows [first, end): all of it; or, by parts, SETTLE as long as it returns other than 0, each time
 * followed by SUMS of each part, then OUTPUTS of each part: there in whole blocks, whose rows add to the same sums.
 */
enum norm_stage { NORM_ROWS, NORM_SETTLE, NORM_SUMS, NORM_OUTPUTS };

struct norm_task {
	size_t first, end;
	enum norm_stage stage;
	size_t part;
};

/* Whether products dy x̂ have so few bits, or are wanted so exactly, that low parts of their sums are kept. */
static inline bool norm_job_pairs(const struct nc_norm_spec *spec)
{
	return spec->dtype == NC_FLOAT64 || spec->xhat_dtype != NC_FLOAT64;
}

enum { NORM_JOB_BLOCK = 16, NORM_JOB_LEFT = 1, NORM_JOB_DOUBTFUL = 2 };

/*
 * Fills gain, bias, slow (all 0), and dgain and dbias where asked, of a job whose spec, features and period are set;
 * memory from arena. false: the kernels cannot hold epsilon or the parameters, or memory is out; wide arithmetic can.
 */
bool norm_job_prepare(struct norm_job *job, size_t rows, struct nc_param gain, struct nc_param bias, bool dgain, bool dbias,
                      struct nc_arena *arena);

/* The rows [first, end), by the kernel for the job's dtype. */
void norm_job_rows(const struct norm_job *job, size_t first, size_t end);

/* The same for all rows by parts of their columns, which the pool shares; false: memory is out, and nothing is done. */
bool norm_job_columns(struct norm_job *job, size_t rows, struct nc_pool *pool, struct nc_arena *arena);

/*
 * Sums the blocks of all rows into dgain and dbias (period × features of spec->dtype; each may be NULL), rounded once. false:
 * a rounding is doubtful, and wide arithmetic is to do it.
 */
bool norm_job_sum(const struct norm_job *job, size_t rows, void *dgain, void *dbias, struct nc_pool *pool);

#endif
