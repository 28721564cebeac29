/* Deep stacks: seeded weights, traces against the slow reference, symmetries, the same bits everywhere, limits. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/block/block.h"
#include "core/block/init.h"
#include "core/isa.h"
#include "core/block/magnitude.h"
#include "tests/reference/slow_block.h"
#include "tests/support/random_block.h"
#include "tests/support/suite.h"

static struct nc_arena *arena;

static void prepare(void)
{
	arena = nc_arena_create((size_t)1 << 30);
	ck_assert_ptr_nonnull(arena);
}

/* A stack of one sublayer whose weights init makes. */
static struct nc_block seeded(enum nc_placement placement, enum nc_function_kind kind, size_t depth, size_t length,
                              size_t width, struct nc_init init)
{
	struct nc_block b = {.placement = placement,
	                     .residual = true,
	                     .skip_scale = 1,
	                     .update_scale = 1,
	                     .batch = 1,
	                     .length = length,
	                     .width = width,
	                     .depth = depth,
	                     .sublayer_count = 1,
	                     .sublayers = calloc(1, sizeof(struct nc_sublayer))};
	struct nc_sublayer *s = b.sublayers;
	s->norm = s->norm_after = s->attention.norm =
	    (struct nc_block_norm){{NC_RMSNORM, NC_INSIDE_SQRT, 1e-5, 0, NC_FLOAT64, NC_FLOAT64}, 1};
	s->kind = kind;
	s->activation = NC_ACT_TANH;
	s->hidden = 2 * width;
	s->attention.heads = s->attention.kv_heads = 2;
	s->attention.head_dim = width / 2;
	s->attention.causal = true;
	s->attention.scale = 1 / sqrt((double)width / 2);
	s->init = init;
	return b;
}

/* The gradient of Σ y with respect to the input of every layer, by the reference; depth + 1 × count. */
static long double *slow_gradients(const struct nc_block *b, const double *x)
{
	size_t count = b->batch * b->length * b->width;
	struct dual *states = malloc((b->depth + 1) * count * sizeof *states);
	struct dual *again = malloc((b->depth + 1) * count * sizeof *again);
	long double *gradients = calloc((b->depth + 1) * count, sizeof *gradients);
	double *h = calloc(count, sizeof *h), *unit = calloc(count, sizeof *unit);
	struct direction along = {.x = unit};

	slow_block(b, x, NULL, 0, states);
	for (size_t layer = 0; layer <= b->depth; layer++)
		for (size_t j = 0; j < count; j++) {
			for (size_t i = 0; i < count; i++)
				h[i] = (double)states[layer * count + i].v;
			unit[j] = 1;
			slow_block(b, h, &along, layer, again);
			unit[j] = 0;
			for (size_t i = 0; i < count; i++)
				gradients[layer * count + j] += again[b->depth * count + i].d;
		}
	free(states), free(again), free(h), free(unit);
	return gradients;
}

static double norm_of(const long double *x, size_t count)
{
	long double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += x[i] * x[i];
	return (double)sqrtl(sum);
}

static void expect_near(double got, double want, const char *what, size_t layer)
{
	ck_assert_msg(fabs(got - want) <= 1e-9 * fabs(want) + 1e-300, "%s of layer %zu: %.17g not %.17g", what, layer,
	              got, want);
}

/* Traces of 24 layers against the reference, relative to each number itself; returns the share of the gradient that is
 * left. */
static double check_trace(struct nc_block *b)
{
	size_t count = b->length * b->width;
	double *x = dice_numbers(count, 1), *y = calloc(count, sizeof *y), share;
	struct nc_trace *trace = calloc(b->depth + 1, sizeof *trace);
	struct nc_block_call call = {.x = x, .y = y, .trace = trace};
	struct dual *states = malloc((b->depth + 1) * count * sizeof *states);
	double k = b->residual ? pow(b->skip_scale, (double)b->sublayer_count) : 0;

	ck_assert_int_eq(nc_block_init(b, NULL, arena), NC_OK);
	ck_assert_int_eq(nc_block_grad(b, &call, NULL, arena), NC_OK);
	long double *gradients = slow_gradients(b, x), *rest = calloc(count, sizeof *rest);
	slow_block(b, x, NULL, 0, states);
	for (size_t layer = 0; layer <= b->depth; layer++) {
		const long double *g = gradients + layer * count;
		double square = 0, max = 0;
		for (size_t i = 0; i < count; i++) {
			double h = (double)states[layer * count + i].v;
			square += h * h;
			max = fmax(max, fabs(h));
		}
		expect_near(trace[layer].activation_rms, sqrt(square / (double)count), "activation_rms", layer);
		expect_near(trace[layer].activation_max, max, "activation_max", layer);
		expect_near(trace[layer].grad_norm, norm_of(g, count), "grad_norm", layer);
		expect_near(trace[layer].grad_rms, norm_of(g, count) / sqrt((double)count), "grad_rms", layer);
		if (layer == b->depth)
			break;
		for (size_t i = 0; i < count; i++)
			rest[i] = g[i] - k * g[count + i];
		expect_near(trace[layer].identity_grad_norm, k * norm_of(g + count, count), "identity_grad_norm",
		            layer);
		expect_near(trace[layer].sublayer_grad_norm, norm_of(rest, count), "sublayer_grad_norm", layer);
	}
	share = trace[0].grad_norm / trace[b->depth].grad_norm;
	free(x), free(y), free(trace), free(states), free(gradients), free(rest), free(b->sublayers);
	return share;
}

START_TEST(plain_tanh_loses_its_gradient_and_residual_keeps_it)
{
	prepare();
	struct nc_init small = {NC_SCHEME_XAVIER_NORMAL, 0, 0.25, 1};
	struct nc_block plain = seeded(NC_PLACEMENT_NONE, NC_FUNCTION_MLP, 24, 2, 6, small);
	struct nc_block residual = seeded(NC_PLACEMENT_NONE, NC_FUNCTION_MLP, 24, 2, 6, small);
	plain.residual = false;
	ck_assert_double_lt(check_trace(&plain), 1e-20);
	ck_assert_double_gt(check_trace(&residual), 0.5);
}
END_TEST

START_TEST(traces_of_other_stacks)
{
	prepare();
	for (int scheme = NC_SCHEME_NORMAL; scheme < NC_SCHEME_COUNT; scheme++)
		for (int kind = NC_FUNCTION_LINEAR; kind <= NC_FUNCTION_ATTENTION; kind++)
			for (int placement = 0; placement < NC_PLACEMENT_COUNT; placement++) {
				struct nc_init init = {(enum nc_scheme)scheme, 0.3, 0.5, 5};
				struct nc_block b =
				    seeded((enum nc_placement)placement, (enum nc_function_kind)kind, 3, 3, 4, init);
				if (placement == NC_PLACEMENT_POST) { /* its skip is no multiple of the identity */
					free(b.sublayers);
					continue;
				}
				b.skip_scale = 0.75;
				check_trace(&b);
			}
}
END_TEST

/* Post-norm: what the trace calls identity and sublayer is what branches says for a block of one sublayer. */
START_TEST(post_norm_traces_its_branches)
{
	prepare();
	struct nc_block b = random_block(NC_PLACEMENT_POST, NC_FUNCTION_MLP, 1, 1);
	size_t count = b.batch * b.length * b.width;
	double *x = dice_numbers(count, 1), *identity = calloc(count, sizeof *x), *sublayer = calloc(count, sizeof *x);
	struct nc_trace trace[2];
	struct nc_branch branch = {identity, sublayer};
	struct nc_block_call call = {.x = x, .trace = trace, .branches = &branch};
	ck_assert_int_eq(nc_block_grad(&b, &call, NULL, arena), NC_OK);
	ck_assert_double_eq(trace[0].identity_grad_norm, nc_magnitude(identity, count).norm);
	ck_assert_double_eq(trace[0].sublayer_grad_norm, nc_magnitude(sublayer, count).norm);
	free(x), free(identity), free(sublayer);
	block_free(&b);
}
END_TEST

/* --- the same bits ----------------------------------------------------------------------------------------------- */

static uint64_t hash(uint64_t h, const void *data, size_t bytes)
{
	const unsigned char *p = data;
	for (size_t i = 0; i < bytes; i++)
		h = (h ^ p[i]) * 1099511628211u;
	return h;
}

/* One hash over everything that a call can give, norms included or not. */
static uint64_t hash_of_run(struct nc_pool *pool, bool norms)
{
	enum nc_placement placement = norms ? NC_PLACEMENT_SANDWICH : NC_PLACEMENT_NONE;
	uint64_t h = 14695981039346656037u;
	dice_state = 42;
	for (int kind = 0; kind < NC_FUNCTION_COUNT; kind++) {
		struct nc_block b = random_block(placement, (enum nc_function_kind)kind, 1, 2);
		b.length = kind == NC_FUNCTION_GIVEN ? b.length : 33;
		for (size_t i = 0; i < 2 && !norms; i++) {
			b.sublayers[i].attention.qk_norm = false;
			for (int slot = NC_SLOT_QK_GAIN_Q; slot <= NC_SLOT_QK_BIAS_K; slot++) {
				struct nc_weight *w = &b.sublayers[i].weight[slot];
				free((void *)(uintptr_t)w->value), free(w->gradient), free(w->deviation);
				*w = (struct nc_weight){0};
			}
		}
		size_t count = b.batch * b.length * b.width;
		double *x = dice_numbers(count, 1), *y = calloc(count, sizeof *y), *dx = calloc(count, sizeof *dx);
		struct nc_block_call call = {.x = x, .y = y, .dx = dx};
		ck_assert_int_eq(nc_block_grad(&b, &call, pool, arena), NC_OK);
		h = hash(hash(h, y, count * sizeof *y), dx, count * sizeof *dx);
		for (size_t i = 0; i < b.sublayer_count; i++)
			for (int slot = 0; slot < NC_SLOT_COUNT; slot++)
				if (b.sublayers[i].weight[slot].value)
					h = hash(h, b.sublayers[i].weight[slot].gradient,
					         b.sublayers[i].weight[slot].count * sizeof *y);
		free(x), free(y), free(dx);
		block_free(&b);
	}
	for (int scheme = NC_SCHEME_NORMAL; scheme < NC_SCHEME_COUNT; scheme++) {
		struct nc_block b =
		    seeded(placement, NC_FUNCTION_MLP, 3, 40, 96, (struct nc_init){(enum nc_scheme)scheme, 0.02, 1, 9});
		double *x = dice_numbers(40 * 96, 1), *y = calloc(40 * 96, sizeof *y),
		       *dx = calloc(40 * 96, sizeof *dx);
		struct nc_block_call call = {.x = x, .y = y, .dx = dx};
		size_t mark = nc_arena_mark(arena);
		ck_assert_int_eq(nc_block_init(&b, pool, arena), NC_OK);
		ck_assert_int_eq(nc_block_grad(&b, &call, pool, arena), NC_OK);
		h = hash(hash(h, y, 40 * 96 * sizeof *y), dx, 40 * 96 * sizeof *dx);
		h = hash(h, b.sublayers[0].weight[NC_SLOT_W_UP].value,
		         3 * b.sublayers[0].weight[NC_SLOT_W_UP].count * sizeof *y);
		nc_arena_rewind(arena, mark);
		free(x), free(y), free(dx), free(b.sublayers);
	}
	return h;
}

START_TEST(bits_do_not_depend_on_threads_or_instructions)
{
	prepare();
	ck_assert(nc_isa_select("scalar"));
	uint64_t want = hash_of_run(NULL, true);
	/* the same on every architecture: only what changes the formulas, the order of a sum or the generator may
	 * change it */
	ck_assert_msg(hash_of_run(NULL, false) == 0xbbdb7d38cc047f06u, "the hash without norms is %#" PRIx64,
	              hash_of_run(NULL, false));
	for (int isa = 0; isa < NC_ISA_COUNT; isa++)
		if (nc_isa_supported((enum nc_isa)isa)) {
			ck_assert(nc_isa_select(nc_isa_name((enum nc_isa)isa)));
			ck_assert_msg(hash_of_run(NULL, true) == want, "%s has other bits",
			              nc_isa_name((enum nc_isa)isa));
		}
	for (unsigned threads = 1; threads <= 8; threads++) {
		struct nc_pool *pool = nc_pool_create(threads);
		ck_assert_msg(hash_of_run(pool, true) == want, "%u threads have other bits", threads);
		nc_pool_destroy(pool);
	}
}
END_TEST

/* --- symmetries of attention ------------------------------------------------------------------------------------- */

struct attention_run {
	struct nc_block b;
	size_t count;
	double *x, *dy, *y, *dx;
};

static struct attention_run attention(size_t heads, size_t kv_heads)
{
	struct attention_run r = {.b = random_block(NC_PLACEMENT_NONE, NC_FUNCTION_ATTENTION, 1, 1)};
	struct nc_attention *a = &r.b.sublayers[0].attention;
	block_free(&r.b);
	r.b = random_block(NC_PLACEMENT_NONE, NC_FUNCTION_ELEMENTWISE, 1, 1);
	a = &r.b.sublayers[0].attention;
	r.b.batch = 1, r.b.length = 11, r.b.width = 8, r.b.residual = false, r.b.update_scale = 1;
	r.b.sublayers[0].kind = NC_FUNCTION_ATTENTION;
	*a = (struct nc_attention){heads, kv_heads, 4, true, 0.5, 0, 0, NC_ROPE_NONE, 100, 0, false, a->norm};
	for (int slot = NC_SLOT_W_Q; slot <= NC_SLOT_B_O; slot++) {
		struct nc_weight *w = &r.b.sublayers[0].weight[slot];
		size_t shape[2] = {1, 1};
		unsigned rank = nc_slot_shape(&r.b, r.b.sublayers, (enum nc_slot)slot, shape);
		w->count = shape[0] * (rank == 2 ? shape[1] : 1);
		w->value = dice_numbers(w->count, 0.5);
	}
	block_want_gradients(&r.b, false);
	r.count = r.b.length * r.b.width;
	r.x = dice_numbers(r.count, 1), r.dy = dice_numbers(r.count, 1);
	r.y = calloc(r.count, sizeof(double)), r.dx = calloc(r.count, sizeof(double));
	return r;
}

static void attend(struct attention_run *r)
{
	struct nc_block_call call = {.x = r->x, .dy = r->dy, .y = r->y, .dx = r->dx};
	ck_assert_int_eq(nc_block_grad(&r->b, &call, NULL, arena), NC_OK);
}

static void attention_free(struct attention_run *r)
{
	free(r->x), free(r->dy), free(r->y), free(r->dx);
	block_free(&r->b);
}

START_TEST(nothing_comes_from_the_future)
{
	prepare();
	for (size_t window = 0; window < 4; window++) {
		struct attention_run r = attention(4, 2);
		size_t d = r.b.width, at = 5;
		r.b.sublayers[0].attention.window = window;
		memset(r.dy, 0, r.count * sizeof *r.dy);
		for (size_t i = 0; i < d; i++)
			r.dy[at * d + i] = 1;
		attend(&r);
		for (size_t t = 0; t < r.b.length; t++) {
			bool any = false;
			for (size_t i = 0; i < d; i++)
				any |= r.dx[t * d + i] != 0;
			ck_assert_int_eq(any, t <= at && (!window || at - t < window));
		}
		/* not even a NaN */
		double *clean = malloc(r.count * sizeof *clean);
		memcpy(clean, r.y, r.count * sizeof *clean);
		r.x[(at + 1) * d] = NAN;
		attend(&r);
		ck_assert(memcmp(clean, r.y, (at + 1) * d * sizeof *clean) == 0);
		ck_assert(isnan(r.y[(at + 1) * d]));
		free(clean);
		attention_free(&r);
	}
}
END_TEST

START_TEST(a_key_bias_without_rope_has_no_gradient)
{
	prepare();
	struct attention_run r = attention(4, 2);
	attend(&r);
	const struct nc_weight *bias = &r.b.sublayers[0].weight[NC_SLOT_B_K];
	for (size_t i = 0; i < bias->count; i++)
		ck_assert_double_lt(fabs(bias->gradient[i]), 1e-13);
	r.b.sublayers[0].attention.rope = NC_ROPE_HALF;
	attend(&r);
	ck_assert_double_gt(fabs(bias->gradient[0]), 1e-6);
	attention_free(&r);
}
END_TEST

/* Moves the last key head with its query heads to the front, in values or in gradients. */
static void rotate_heads(double *rows, size_t count, size_t block)
{
	double *last = malloc(block * sizeof *last);
	memcpy(last, rows + count - block, block * sizeof *last);
	memmove(rows + block, rows, (count - block) * sizeof *rows);
	memcpy(rows, last, block * sizeof *last);
	free(last);
}

START_TEST(permuted_heads_permute_the_answer)
{
	static const enum nc_slot slots[] = {NC_SLOT_W_Q, NC_SLOT_W_K, NC_SLOT_W_V,
	                                     NC_SLOT_B_Q, NC_SLOT_B_K, NC_SLOT_B_V};
	prepare();
	struct attention_run r = attention(6, 3);
	const struct nc_attention *a = &r.b.sublayers[0].attention;
	struct nc_weight *out = &r.b.sublayers[0].weight[NC_SLOT_W_O];
	size_t width = a->heads * a->head_dim, share = width / a->kv_heads;
	double *y = malloc(r.count * sizeof *y), *dx = malloc(r.count * sizeof *dx), *gradients[6];
	attend(&r);
	memcpy(y, r.y, r.count * sizeof *y), memcpy(dx, r.dx, r.count * sizeof *dx);
	for (size_t i = 0; i < 6; i++) {
		struct nc_weight *w = &r.b.sublayers[0].weight[slots[i]];
		gradients[i] = malloc(w->count * sizeof *y);
		memcpy(gradients[i], w->gradient, w->count * sizeof *y);
		rotate_heads((double *)(uintptr_t)w->value, w->count, w->count / a->kv_heads);
		rotate_heads(gradients[i], w->count, w->count / a->kv_heads);
	}
	for (size_t row = 0; row < r.b.width; row++)
		rotate_heads((double *)(uintptr_t)out->value + row * width, width, share);
	attend(&r);
	for (size_t i = 0; i < r.count; i++) {
		ck_assert_double_eq_tol(r.y[i], y[i], 1e-13);
		ck_assert_double_eq_tol(r.dx[i], dx[i], 1e-13);
	}
	for (size_t i = 0; i < 6; i++) {
		struct nc_weight *w = &r.b.sublayers[0].weight[slots[i]];
		for (size_t j = 0; j < w->count; j++)
			ck_assert_double_eq_tol(w->gradient[j], gradients[i][j], 1e-13);
		free(gradients[i]);
	}
	free(y), free(dx);
	attention_free(&r);
}
END_TEST

/* --- shared and own parameters, memory, overflow ----------------------------------------------------------------- */

START_TEST(gradients_by_layer_sum_to_the_shared_one)
{
	prepare();
	for (int kind = NC_FUNCTION_LINEAR; kind <= NC_FUNCTION_ATTENTION; kind++) {
		struct nc_block b = random_block(NC_PLACEMENT_PRE, (enum nc_function_kind)kind, 4, 2);
		size_t count = b.batch * b.length * b.width;
		double *x = dice_numbers(count, 1), *sums[2][NC_SLOT_COUNT] = {{NULL}};
		struct nc_block_call call = {.x = x};
		ck_assert_int_eq(nc_block_grad(&b, &call, NULL, arena), NC_OK);
		for (size_t i = 0; i < 2; i++)
			for (int slot = 0; slot < NC_SLOT_COUNT; slot++) {
				struct nc_weight *w = &b.sublayers[i].weight[slot];
				if (w->value) {
					sums[i][slot] = malloc(w->count * sizeof(double));
					memcpy(sums[i][slot], w->gradient, w->count * sizeof(double));
				}
			}
		block_want_gradients(&b, true);
		ck_assert_int_eq(nc_block_grad(&b, &call, NULL, arena), NC_OK);
		for (size_t i = 0; i < 2; i++)
			for (int slot = 0; slot < NC_SLOT_COUNT; slot++) {
				struct nc_weight *w = &b.sublayers[i].weight[slot];
				for (size_t j = 0; w->value && j < w->count; j++) {
					double sum = 0, size = 0;
					for (size_t layer = 0; layer < b.depth; layer++) {
						sum += w->gradient[layer * w->count + j];
						size += fabs(w->gradient[layer * w->count + j]);
					}
					ck_assert_double_eq_tol(sum, sums[i][slot][j], 1e-12 * (1 + size));
				}
				free(sums[i][slot]);
			}
		free(x);
		block_free(&b);
	}
}
END_TEST

/* The bound is enough, any less memory is an error and no crash, and it grows linearly with depth. */
START_TEST(memory_is_bounded_and_told)
{
	for (int kind = 0; kind < NC_FUNCTION_COUNT; kind++)
		for (int placement = 0; placement < NC_PLACEMENT_COUNT; placement++) {
			struct nc_block b =
			    random_block((enum nc_placement)placement, (enum nc_function_kind)kind, 1, 2);
			b.batch = 1;
			size_t count = b.length * b.width;
			double *x = dice_numbers(count, 1), *dx = calloc(count, sizeof *dx), deviation;
			double *jacobian = calloc(count * count, sizeof *jacobian);
			struct nc_trace trace[2];
			struct nc_block_call call = {
			    .x = x, .dx = dx, .jacobian = jacobian, .trace = trace, .deviation = &deviation};
			size_t enough = nc_block_work_bytes(&b, &call);
			arena = nc_arena_create(enough);
			ck_assert_int_eq(nc_block_grad(&b, &call, NULL, arena), NC_OK);
			for (size_t bytes = 0, step = 64; bytes < enough; bytes += step, step += step / 2) {
				size_t mark = nc_arena_mark(arena);
				enum nc_status status;
				ck_assert_ptr_nonnull(nc_arena_alloc(arena, nc_arena_left(arena) - bytes));
				status = nc_block_grad(&b, &call, NULL, arena);
				ck_assert(status == NC_OK || status == NC_NO_MEMORY);
				ck_assert(bytes > 4096 || status == NC_NO_MEMORY);
				nc_arena_rewind(arena, mark);
			}
			nc_arena_destroy(arena);
			free(x), free(dx), free(jacobian);
			block_free(&b);
		}
	struct nc_block b =
	    seeded(NC_PLACEMENT_PRE, NC_FUNCTION_MLP, 512, 8, 64, (struct nc_init){NC_SCHEME_NORMAL, 0.02, 1, 0});
	struct nc_block_call call = {0};
	size_t half = nc_block_work_bytes(&b, &call);
	b.depth = 1024;
	ck_assert_uint_lt(nc_block_work_bytes(&b, &call), 2 * half);
	b.sublayers[0].hidden = SIZE_MAX / 3;
	ck_assert_uint_eq(nc_block_work_bytes(&b, &call), SIZE_MAX);
	free(b.sublayers);
}
END_TEST

START_TEST(overflow_comes_out_as_it_is)
{
	prepare();
	struct nc_block b =
	    seeded(NC_PLACEMENT_NONE, NC_FUNCTION_LINEAR, 24, 1, 2, (struct nc_init){NC_SCHEME_NONE, 0, 1, 0});
	const double w[] = {0, 1e20, 1e20, 0}, x[] = {1, 2};
	struct nc_trace trace[25];
	struct nc_block_call call = {.x = x, .trace = trace};
	b.residual = false;
	b.sublayers[0].weight[NC_SLOT_W] = (struct nc_weight){.value = w, .count = 4};
	ck_assert_int_eq(nc_block_grad(&b, &call, NULL, arena), NC_OK);
	for (size_t layer = 0; layer <= 24; layer++) {
		/* the square of 10^300 is beyond float64, its norm is not; after 10^320 come infinities and 0·∞ */
		ck_assert_int_eq(isfinite(trace[layer].activation_max) != 0, layer <= 15);
		if (layer <= 15)
			ck_assert_double_eq_tol(trace[layer].activation_rms / (sqrt(2.5) * pow(1e20, (double)layer)), 1,
			                        1e-13);
		ck_assert_int_eq(isfinite(trace[layer].grad_norm) != 0, 24 - layer <= 15);
	}
	free(b.sublayers);
}
END_TEST

START_TEST(magnitudes_at_the_ends)
{
	const double tiny[] = {3 * 0x1p-1074, 4 * 0x1p-1074}, large[] = {3e300, -4e300}, most[] = {1.7e308, 1.7e308};
	const double odd[] = {1, INFINITY}, nan[] = {1, NAN, INFINITY};
	ck_assert_double_eq(nc_magnitude(tiny, 2).norm, 5 * 0x1p-1074);
	ck_assert_double_eq_tol(nc_magnitude(large, 2).norm, 5e300, 1e285);
	ck_assert(isinf(nc_magnitude(most, 2).norm));
	ck_assert_double_eq_tol(nc_magnitude(most, 2).rms, 1.7e308, 1e293);
	ck_assert(isinf(nc_magnitude(odd, 2).max) && isnan(nc_magnitude(nan, 3).max));
	ck_assert_double_eq(nc_magnitude(tiny, 0).norm, 0);
}
END_TEST

START_TEST(a_norm_without_a_value_is_named)
{
	prepare();
	struct nc_block b = random_block(NC_PLACEMENT_SANDWICH, NC_FUNCTION_SCALE, 3, 2);
	size_t count = b.batch * b.length * b.width;
	double *x = dice_numbers(count, 1);
	struct nc_block_call call = {.x = x};
	b.residual = true;
	for (size_t i = 0; i < 2; i++)
		b.sublayers[i].norm.groups = b.sublayers[i].norm_after.groups = 1;
	b.sublayers[1].factor = 0; /* F gives zeros, and the norm behind it has none to divide by */
	b.sublayers[1].norm_after.spec =
	    (struct nc_norm_spec){NC_RMSNORM, NC_INSIDE_SQRT, 0, 0, NC_FLOAT64, NC_FLOAT64};
	ck_assert_int_eq(nc_block_grad(&b, &call, NULL, arena), NC_NO_VALUE);
	ck_assert_uint_eq(call.bad_layer, 0);
	ck_assert_uint_eq(call.bad_sublayer, 1);
	ck_assert_str_eq(call.bad_norm, "norm_after");
	ck_assert_uint_eq(call.bad_row, 0);
	free(x);
	block_free(&b);
}
END_TEST

START_TEST(orthogonal_is_orthogonal)
{
	prepare();
	static const size_t shapes[][2] = {{1, 1}, {5, 5}, {3, 17}, {40, 9}, {100, 130}, {90, 70}};
	for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
		size_t rows = shapes[s][0], cols = shapes[s][1], few = rows < cols ? rows : cols,
		       many = rows + cols - few;
		double *w = calloc(rows * cols, sizeof *w);
		struct nc_init init = {NC_SCHEME_ORTHOGONAL, 0, 3, 7};
		ck_assert_int_eq(nc_init_matrix(&init, 2, 1, NC_SLOT_W_UP, rows, cols, w, NULL, arena), NC_OK);
		for (size_t i = 0; i < few; i++)
			for (size_t j = 0; j < few; j++) {
				double dot = 0;
				for (size_t l = 0; l < many; l++)
					dot += rows < cols ? w[i * cols + l] * w[j * cols + l]
					                   : w[l * cols + i] * w[l * cols + j];
				ck_assert_double_eq_tol(dot, i == j ? 9 : 0, 1e-13);
			}
		free(w);
	}
}
END_TEST

TEST_MAIN(plain_tanh_loses_its_gradient_and_residual_keeps_it, traces_of_other_stacks, post_norm_traces_its_branches,
          bits_do_not_depend_on_threads_or_instructions, nothing_comes_from_the_future,
          a_key_bias_without_rope_has_no_gradient, permuted_heads_permute_the_answer,
          gradients_by_layer_sum_to_the_shared_one, memory_is_bounded_and_told, overflow_comes_out_as_it_is,
          magnitudes_at_the_ends, a_norm_without_a_value_is_named, orthogonal_is_orthogonal)
