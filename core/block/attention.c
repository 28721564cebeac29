/*
 * Grouped-query attention: project, qk_norm, RoPE, scores, softcap, mask, softmax, values, output.
 *
 *     q = rope(norm(x·w_qᵀ + b_q))    k likewise    v = x·w_vᵀ + b_v
 *     score_tu = scale · q_t·k_u      capped = c·tanh(score/c)
 *     p_t = softmax over the keys that t sees      o_t = Σ_u p_tu v_u      y = o·w_oᵀ + b_o
 *
 * Sums run over the visible keys alone, so that nothing leaks from a masked position, not even a NaN.
 */
#include "function.h"

#include "matrix.h"

enum { ROWS_TOGETHER = 8 };

struct shape {
	size_t batch, length, width, rows; /* B, T, d, B·T */
	size_t heads, kv_heads, head;      /* H, K, head_dim */
	size_t q_width, kv_width;          /* H·head, K·head */
};

/* Offsets are into one allocation; q and k as they enter the scores, raw ones before qk_norm. */
struct attention_tape {
	double *q, *k, *v, *o; /* rows × q_width, kv_width, kv_width, q_width */
	double *p;             /* B × H × T × T, 0 where masked */
	double *slope;         /* the same, with a softcap: tanh' at score/c */
	double *q_raw, *k_raw; /* with qk_norm */
	double *cosine, *sine; /* with RoPE: T × head/2 */
};

static struct shape shape_of(const struct nc_block *block, const struct nc_sublayer *sublayer)
{
	const struct nc_attention *a = &sublayer->attention;

	return (struct shape){.batch = block->batch,
	                      .length = block->length,
	                      .width = block->width,
	                      .rows = size_times(block->batch, block->length),
	                      .heads = a->heads,
	                      .kv_heads = a->kv_heads,
	                      .head = a->head_dim,
	                      .q_width = size_times(a->heads, a->head_dim),
	                      .kv_width = size_times(a->kv_heads, a->head_dim)};
}

static double *take(double **next, size_t *total, size_t count)
{
	double *part = *next;

	*total = size_plus(*total, count);
	if (part)
		*next = part + count;
	return part;
}

/* Cuts the tape into its parts; with a NULL tape only counts its numbers. */
static size_t lay_out(const struct nc_block *block, const struct nc_sublayer *sublayer, double *tape,
                      struct attention_tape *parts)
{
	const struct nc_attention *a = &sublayer->attention;
	struct shape s = shape_of(block, sublayer);
	size_t q = size_times(s.rows, s.q_width), kv = size_times(s.rows, s.kv_width);
	size_t scores = size_times(size_times(s.rows, s.heads), s.length), total = 0;
	size_t turns = a->rope == NC_ROPE_NONE ? 0 : size_times(s.length, s.head / 2);

	parts->q = take(&tape, &total, q);
	parts->k = take(&tape, &total, kv);
	parts->v = take(&tape, &total, kv);
	parts->o = take(&tape, &total, q);
	parts->p = take(&tape, &total, scores);
	parts->slope = take(&tape, &total, a->softcap > 0 ? scores : 0);
	parts->q_raw = take(&tape, &total, a->qk_norm ? q : 0);
	parts->k_raw = take(&tape, &total, a->qk_norm ? kv : 0);
	parts->cosine = take(&tape, &total, turns);
	parts->sine = take(&tape, &total, turns);
	return total;
}

static size_t attention_tape(const struct nc_block *block, const struct nc_sublayer *sublayer)
{
	struct attention_tape parts;

	return lay_out(block, sublayer, NULL, &parts);
}

static size_t attention_work(const struct nc_block *block, const struct nc_sublayer *sublayer, size_t sweeps)
{
	struct shape s = shape_of(block, sublayer);
	size_t widths = size_plus(size_times(2, s.q_width), size_times(2, s.kv_width));
	size_t scores = size_times(size_times(s.batch, s.kv_heads), size_times(s.length, s.length));
	size_t norm = sublayer->attention.qk_norm
	                  ? size_plus(size_times(s.rows, s.q_width),
	                              nc_normalize_work(size_times(s.rows, s.heads), s.head, sweeps))
	                  : 0;

	return size_plus(size_times(sweeps, size_plus(size_times(s.rows, widths), size_plus(scores, norm))), norm);
}

/* --- who sees whom ----------------------------------------------------------------------------------------------- */

struct range {
	size_t first, end;
};

/* The keys that query t sees. */
static struct range keys_of(const struct nc_attention *a, size_t length, size_t t)
{
	size_t end = a->causal ? t + 1 : length;

	if (!a->window)
		return (struct range){0, end};
	if (end - t > a->window)
		end = t + a->window;
	return (struct range){t >= a->window ? t - a->window + 1 : 0, end};
}

/* The queries that see key u. */
static struct range queries_of(const struct nc_attention *a, size_t length, size_t u)
{
	size_t first = a->causal ? u : 0, end = length;

	if (!a->window)
		return (struct range){first, end};
	if (end - u > a->window)
		end = u + a->window;
	if (!a->causal && u >= a->window)
		first = u - a->window + 1;
	return (struct range){first, end};
}

typedef struct range range_of(const struct nc_attention *a, size_t length, size_t i);

/*
 * c_i += Σ_l a_il b_l over the l in the range of row i, ascending; c is T × head. The ranges move up with i, so that
 * several rows share the middle of theirs, which is one product.
 */
static void weighted_rows(const struct step *step, range_of *visible, const double *a, size_t a_row, size_t a_col,
                          const double *b, size_t b_row, double *c, size_t c_row)
{
	const struct nc_attention *attention = &step->sublayer->attention;
	size_t length = step->block->length;
	struct nc_product p = {.m = 1,
	                       .n = attention->head_dim,
	                       .a_row = a_row,
	                       .a_col = a_col,
	                       .b_row = b_row,
	                       .b_col = 1,
	                       .c_row = c_row,
	                       .c_col = 1,
	                       .accumulate = true};

	for (size_t i = 0; i < length; i += ROWS_TOGETHER) {
		size_t rows = length - i < ROWS_TOGETHER ? length - i : ROWS_TOGETHER;
		struct range shared = {visible(attention, length, i + rows - 1).first,
		                       visible(attention, length, i).end};
		struct range parts[3];

		for (int part = 0; part < 3; part++) {
			size_t step_rows = part == 1 && shared.first < shared.end ? rows : 1;

			for (size_t r = 0; r < rows; r += step_rows) {
				struct range own = visible(attention, length, i + r);

				parts[0] = (struct range){own.first, shared.first < own.end ? shared.first : own.end};
				parts[1] =
				    (struct range){parts[0].end, shared.end > parts[0].end ? shared.end : parts[0].end};
				parts[2] = (struct range){parts[1].end, own.end};
				if (parts[part].first >= parts[part].end)
					continue;
				p.m = step_rows;
				p.k = parts[part].end - parts[part].first;
				p.a = a + (i + r) * a_row + parts[part].first * a_col;
				p.b = b + parts[part].first * b_row;
				p.c = c + (i + r) * c_row;
				step->kernels->matmul(&p);
			}
		}
	}
}

/* --- one group of heads ------------------------------------------------------------------------------------------ */

struct heads_job {
	struct step *step;
	struct shape shape;
	struct attention_tape tape;
	double *work;       /* backward: T × T for each chunk */
	const double *dout; /* backward: sweeps × rows × q_width */
	double *dq, *dk, *dv;
};

/* score_tu = scale · q_t·k_u for one head, all of them: what is masked is never read. */
static void all_scores(const struct heads_job *job, const double *q, size_t q_row, const double *k, size_t k_row,
                       double *score)
{
	size_t length = job->shape.length;
	struct nc_product product = {.m = length,
	                             .n = length,
	                             .k = job->shape.head,
	                             .a = q,
	                             .a_row = q_row,
	                             .a_col = 1,
	                             .b = k,
	                             .b_row = 1,
	                             .b_col = k_row,
	                             .c = score,
	                             .c_row = length,
	                             .c_col = 1};

	nc_multiply(&product, NULL);
}

/* Chunk b·K + g: the query heads of key head g in sequence b. */
static void heads_forward(void *context, size_t chunk)
{
	struct heads_job *job = context;
	const struct shape *s = &job->shape;
	const struct kernels *kernels = job->step->kernels;
	const struct nc_attention *a = &job->step->sublayer->attention;
	size_t length = s->length, squared = length * length, share = s->heads / s->kv_heads;
	size_t b = chunk / s->kv_heads, g = chunk % s->kv_heads, row = b * length;
	const double *k = job->tape.k + row * s->kv_width + g * s->head;
	const double *v = job->tape.v + row * s->kv_width + g * s->head;

	for (size_t j = g * share; j < (g + 1) * share; j++) {
		const double *q = job->tape.q + row * s->q_width + j * s->head;
		double *o = job->tape.o + row * s->q_width + j * s->head;
		double *p = job->tape.p + (b * s->heads + j) * squared;

		all_scores(job, q, s->q_width, k, s->kv_width, p);
		kernels->combine(0, NULL, a->scale, p, p, squared);
		if (a->softcap > 0) {
			double *slope = job->tape.slope + (b * s->heads + j) * squared;

			for (size_t i = 0; i < squared; i++)
				p[i] /= a->softcap;
			kernels->activate(NC_ACT_TANH, squared, p, p, slope);
			kernels->combine(0, NULL, a->softcap, p, p, squared);
		}
		for (size_t t = 0; t < length; t++) {
			struct range seen = keys_of(a, length, t);
			double *line = p + t * length;

			memset(line, 0, seen.first * sizeof(*line));
			memset(line + seen.end, 0, (length - seen.end) * sizeof(*line));
			kernels->softmax(line + seen.first, seen.end - seen.first);
			memset(o + t * s->q_width, 0, s->head * sizeof(*o));
		}
		weighted_rows(job->step, keys_of, p, length, 1, v, s->kv_width, o, s->q_width);
	}
}

/* Chunk (sweep·B + b)·K + g; dk, dv and dq are zero before. */
static void heads_backward(void *context, size_t chunk)
{
	struct heads_job *job = context;
	const struct shape *s = &job->shape;
	const struct kernels *kernels = job->step->kernels;
	const struct nc_attention *a = &job->step->sublayer->attention;
	size_t length = s->length, squared = length * length, share = s->heads / s->kv_heads;
	size_t g = chunk % s->kv_heads, b = chunk / s->kv_heads % s->batch;
	size_t row = b * length, out_row = chunk / s->kv_heads * length;
	const double *k = job->tape.k + row * s->kv_width + g * s->head;
	const double *v = job->tape.v + row * s->kv_width + g * s->head;
	double *dk = job->dk + out_row * s->kv_width + g * s->head;
	double *dv = job->dv + out_row * s->kv_width + g * s->head;
	double *ds = job->work + chunk * squared;

	for (size_t j = g * share; j < (g + 1) * share; j++) {
		const double *q = job->tape.q + row * s->q_width + j * s->head;
		const double *p = job->tape.p + (b * s->heads + j) * squared;
		const double *slope = job->tape.slope + (b * s->heads + j) * squared;
		const double *dout = job->dout + out_row * s->q_width + j * s->head;
		double *dq = job->dq + out_row * s->q_width + j * s->head;

		/* o_t = Σ_u p_tu v_u */
		weighted_rows(job->step, queries_of, p, 1, length, dout, s->q_width, dv, s->kv_width);
		all_scores(job, dout, s->q_width, v, s->kv_width, ds);
		for (size_t t = 0; t < length; t++) {
			struct range seen = keys_of(a, length, t);
			size_t first = t * length + seen.first, count = seen.end - seen.first;

			/* p_t = softmax(capped_t), capped = c·tanh(score/c), score = scale · q_t·k_u */
			kernels->softmax_vjp(p + first, ds + first, ds + first, count);
			if (a->softcap > 0)
				kernels->multiply(ds + first, slope + first, ds + first, count);
			kernels->combine(0, NULL, a->scale, ds + first, ds + first, count);
		}
		weighted_rows(job->step, keys_of, ds, length, 1, k, s->kv_width, dq, s->q_width);
		weighted_rows(job->step, queries_of, ds, 1, length, q, s->q_width, dk, s->kv_width);
	}
}

/* --- the whole --------------------------------------------------------------------------------------------------- */

static enum nc_status attention_forward(struct step *step, const double *x, double *y, double *tape)
{
	const struct nc_attention *a = &step->sublayer->attention;
	struct heads_job job = {.step = step, .shape = shape_of(step->block, step->sublayer)};
	const struct shape *s = &job.shape;
	struct attention_tape *t = &job.tape;
	enum nc_status status;

	lay_out(step->block, step->sublayer, tape, t);
	nc_linear_forward(step, s->rows, s->width, s->q_width, NC_SLOT_W_Q, NC_SLOT_B_Q, x,
	                  a->qk_norm ? t->q_raw : t->q);
	nc_linear_forward(step, s->rows, s->width, s->kv_width, NC_SLOT_W_K, NC_SLOT_B_K, x,
	                  a->qk_norm ? t->k_raw : t->k);
	nc_linear_forward(step, s->rows, s->width, s->kv_width, NC_SLOT_W_V, NC_SLOT_B_V, x, t->v);
	if (a->qk_norm) {
		status = nc_normalize_forward(step, &a->norm, "qk_norm", s->rows * s->heads, s->head, NC_SLOT_QK_GAIN_Q,
		                              NC_SLOT_QK_BIAS_Q, t->q_raw, t->q);
		if (status == NC_OK)
			status = nc_normalize_forward(step, &a->norm, "qk_norm", s->rows * s->kv_heads, s->head,
			                              NC_SLOT_QK_GAIN_K, NC_SLOT_QK_BIAS_K, t->k_raw, t->k);
		if (status != NC_OK)
			return status;
	}
	if (a->rope != NC_ROPE_NONE) {
		struct rotation rotation = {s->length, s->head / 2, a->rope, t->cosine, t->sine};

		nc_rotation_table(a, s->length, t->cosine, t->sine);
		nc_rotate(&rotation, s->rows, s->heads, false, t->q);
		nc_rotate(&rotation, s->rows, s->kv_heads, false, t->k);
	}
	nc_pool_run(step->pool, heads_forward, &job, s->batch * s->kv_heads);
	nc_linear_forward(step, s->rows, s->q_width, s->width, NC_SLOT_W_O, NC_SLOT_B_O, t->o, y);
	return NC_OK;
}

/* The adjoint of one of q and k up to its projection: d, of what enters the scores, becomes that of the raw one. */
static enum nc_status unrotate(struct step *step, const struct heads_job *job, size_t heads, enum nc_slot gain,
                               enum nc_slot bias, const double *raw, size_t sweeps, double *d)
{
	const struct nc_attention *a = &step->sublayer->attention;
	const struct shape *s = &job->shape;
	size_t count = sweeps * s->rows * heads * s->head, mark = nc_arena_mark(step->arena);
	enum nc_status status;

	if (a->rope != NC_ROPE_NONE) { /* q = rope(normed) */
		struct rotation rotation = {s->length, s->head / 2, a->rope, job->tape.cosine, job->tape.sine};

		nc_rotate(&rotation, sweeps * s->rows, heads, true, d);
	}
	if (!a->qk_norm)
		return NC_OK;
	/* normed = norm(raw) */
	double *dnormed = nc_arena_array(step->arena, count, sizeof(*dnormed));

	if (!dnormed)
		return NC_NO_MEMORY;
	memcpy(dnormed, d, count * sizeof(*d));
	status = nc_normalize_backward(step, &a->norm, "qk_norm", s->rows * heads, s->head, gain, bias, raw, sweeps,
	                               dnormed, d);
	nc_arena_rewind(step->arena, mark);
	return status;
}

static enum nc_status attention_backward(struct step *step, const double *x, const double *tape, size_t sweeps,
                                         const double *dy, double *dx)
{
	struct heads_job job = {.step = step, .shape = shape_of(step->block, step->sublayer)};
	const struct shape *s = &job.shape;
	size_t rows = sweeps * s->rows, mark = nc_arena_mark(step->arena);
	size_t chunks = sweeps * s->batch * s->kv_heads;
	double *dout = nc_arena_array(step->arena, rows * s->q_width, sizeof(*dout));
	enum nc_status status = NC_NO_MEMORY;

	lay_out(step->block, step->sublayer, (double *)(uintptr_t)tape, &job.tape);
	job.dout = dout;
	job.dq = nc_arena_zero(step->arena, rows * s->q_width, sizeof(double));
	job.dk = nc_arena_zero(step->arena, rows * s->kv_width, sizeof(double));
	job.dv = nc_arena_zero(step->arena, rows * s->kv_width, sizeof(double));
	job.work = nc_arena_array(step->arena, chunks * s->length, s->length * sizeof(double));
	if (!dout || !job.dq || !job.dk || !job.dv || !job.work)
		goto done;

	/* y = o·w_oᵀ + b_o */
	nc_linear_backward(step, s->rows, s->q_width, s->width, NC_SLOT_W_O, NC_SLOT_B_O, job.tape.o, sweeps, dy, dout,
	                   false);
	nc_pool_run(step->pool, heads_backward, &job, chunks);
	status = unrotate(step, &job, s->heads, NC_SLOT_QK_GAIN_Q, NC_SLOT_QK_BIAS_Q, job.tape.q_raw, sweeps, job.dq);
	if (status == NC_OK)
		status = unrotate(step, &job, s->kv_heads, NC_SLOT_QK_GAIN_K, NC_SLOT_QK_BIAS_K, job.tape.k_raw, sweeps,
		                  job.dk);
	if (status != NC_OK)
		goto done;
	/* q_raw = x·w_qᵀ + b_q, k_raw and v likewise */
	nc_linear_backward(step, s->rows, s->width, s->q_width, NC_SLOT_W_Q, NC_SLOT_B_Q, x, sweeps, job.dq, dx, false);
	nc_linear_backward(step, s->rows, s->width, s->kv_width, NC_SLOT_W_K, NC_SLOT_B_K, x, sweeps, job.dk, dx, true);
	nc_linear_backward(step, s->rows, s->width, s->kv_width, NC_SLOT_W_V, NC_SLOT_B_V, x, sweeps, job.dv, dx, true);
done:
	nc_arena_rewind(step->arena, mark);
	return status;
}

const struct function nc_function_attention = {attention_tape, attention_work, attention_forward, attention_backward};
