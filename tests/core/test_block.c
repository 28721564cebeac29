/* Blocks of every placement and kind against the slow reference: y, both branches, every gradient, Jacobian, verify. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/block/block.h"
#include "tests/reference/slow_block.h"
#include "tests/support/random_block.h"
#include "tests/support/suite.h"

static struct nc_arena *arena;
static struct nc_pool *pool;

static void prepare(void)
{
	arena = nc_arena_create((size_t)1 << 30);
	pool = nc_pool_create(2);
}

/* Everything that a call can give, in malloc'ed arrays. */
struct answer {
	struct nc_block_call call;
	double *x, *dy, deviation;
	size_t count;
};

static struct answer ask(struct nc_block *b, bool jacobian)
{
	struct answer a = {.count = b->batch * b->length * b->width};
	a.x = dice_numbers(a.count, 1);
	a.dy = dice_numbers(a.count, 1);
	a.call = (struct nc_block_call){.x = a.x, .dy = a.dy};
	a.call.y = calloc(a.count, sizeof(double));
	a.call.dx = calloc(a.count, sizeof(double));
	if (b->depth == 1) {
		a.call.branches = calloc(b->sublayer_count, sizeof *a.call.branches);
		for (size_t i = 0; i < b->sublayer_count; i++) {
			a.call.branches[i].dx_identity = calloc(a.count, sizeof(double));
			a.call.branches[i].dx_sublayer = calloc(a.count, sizeof(double));
		}
	}
	if (jacobian && b->batch == 1) {
		a.call.jacobian = calloc(a.count * a.count, sizeof(double));
		if (b->placement != NC_PLACEMENT_POST)
			a.call.jacobian_sublayer = calloc(a.count * a.count, sizeof(double));
	}
	a.call.trace = calloc(b->depth + 1, sizeof *a.call.trace);
	a.call.deviation = &a.deviation;
	return a;
}

static void answer_free(struct answer *a, const struct nc_block *b)
{
	for (size_t i = 0; a->call.branches && i < b->sublayer_count; i++) {
		free(a->call.branches[i].dx_identity);
		free(a->call.branches[i].dx_sublayer);
	}
	free(a->x), free(a->dy), free(a->call.y), free(a->call.dx), free(a->call.branches), free(a->call.jacobian);
	free(a->call.jacobian_sublayer), free(a->call.trace);
}

static void run(const struct nc_block *b, struct answer *a)
{
	size_t before = nc_arena_mark(arena);
	a->call.deviation = &a->deviation;
	ck_assert_int_eq(nc_block_grad(b, &a->call, pool, arena), NC_OK);
	ck_assert_uint_eq(nc_arena_mark(arena), before);
}

static long double dot(const double *a, const double *b, size_t count)
{
	long double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += (long double)a[i] * b[i];
	return sum;
}

static double largest(const double *a, size_t count)
{
	double max = 0;
	for (size_t i = 0; i < count; i++)
		max = fmax(max, fabs(a[i]));
	return max;
}

static double sum_of_magnitudes(const double *a, size_t count)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += fabs(a[i]);
	return sum;
}

/* Roundings of a block: sums of n terms, a few of them in a row, and norms that magnify what comes before them. */
static double tolerance(const struct nc_block *b)
{
	size_t n = b->width + b->length + 32;
	return 256 * (double)(n * b->depth * b->sublayer_count) * 0x1p-53;
}

/* The derivative of Σ dy·y along a direction, by the reference. */
static long double slope(const struct nc_block *b, const struct answer *a, const struct direction *along,
                         struct dual *states, long double *size)
{
	long double sum = 0;
	*size = 0;
	slow_block(b, a->x, along, 0, states);
	for (size_t i = 0; i < a->count; i++) {
		sum += a->dy[i] * states[b->depth * a->count + i].d;
		*size += fabsl(a->dy[i] * states[b->depth * a->count + i].d);
	}
	return sum;
}

static void expect_close(long double got, long double want, long double size, double tol, const char *what)
{
	ck_assert_msg(fabsl(got - want) <= tol * (size + fabsl(want)) + 1e-300L, "%s: %.17Lg not %.17Lg (size %Lg)",
	              what, got, want, size);
}

/* ⟨gradient, v⟩ = ⟨dy, J v⟩ for x and every parameter, along random v. */
static void check_gradients(const struct nc_block *b, const struct answer *a)
{
	struct dual *states = malloc((b->depth + 1) * a->count * sizeof *states);
	double *v = dice_numbers(a->count, 1), tol = tolerance(b);
	struct direction along = {.x = v};
	long double size, want = slope(b, a, &along, states, &size);

	for (size_t i = 0; i < a->count; i++)
		ck_assert_double_eq_tol(a->call.y[i], (double)states[b->depth * a->count + i].v,
		                        tol * (1 + fabs(largest(a->call.y, a->count))));
	/* Σ|dy|: two features under LayerNorm, or a key's bias, have gradients that are differences of such terms */
	expect_close(dot(a->call.dx, v, a->count), want, size + sum_of_magnitudes(a->dy, a->count), tol, "dx");
	free(v);
	for (size_t i = 0; i < b->sublayer_count; i++)
		for (int slot = 0; slot < NC_SLOT_COUNT; slot++) {
			const struct nc_weight *w = &b->sublayers[i].weight[slot];
			if (!w->value)
				continue;
			v = dice_numbers(w->count, 1);
			along = (struct direction){
			    .sublayer = i, .slot = (enum nc_slot)slot, .weight = v, .layer = b->depth};
			want = slope(b, a, &along, states, &size);
			expect_close(dot(w->gradient, v, w->count), want, size + sum_of_magnitudes(a->dy, a->count),
			             tol, nc_slot_name((enum nc_slot)slot));
			free(v);
		}
	free(states);
}

static void check_branches(const struct nc_block *b, const struct answer *a)
{
	for (size_t i = 0; a->call.branches && i < a->count; i++) {
		double sum = a->call.branches[0].dx_identity[i] + a->call.branches[0].dx_sublayer[i];
		ck_assert(memcmp(&sum, &a->call.dx[i], sizeof sum) == 0);
	}
	if (!a->call.branches || b->placement == NC_PLACEMENT_POST)
		return;
	for (size_t i = 0; i < a->count; i++)
		ck_assert_double_eq(a->call.branches[b->sublayer_count - 1].dx_identity[i],
		                    b->residual ? b->skip_scale * a->dy[i] : 0);
}

/* Column c of the Jacobian is the reference's J e_c; dy·J is dx; sublayer + identity is the total. */
static void check_jacobian(const struct nc_block *b, const struct answer *a)
{
	struct dual *states = malloc((b->depth + 1) * a->count * sizeof *states);
	double *unit = calloc(a->count, sizeof *unit), tol = tolerance(b);
	double k = b->placement == NC_PLACEMENT_POST || !b->residual
	               ? 0
	               : pow(b->skip_scale, (double)(b->depth * b->sublayer_count));
	double top = largest(a->call.jacobian, a->count * a->count);

	ck_assert_double_eq_tol(a->call.identity, k, 1e-15);
	for (size_t c = 0; c < a->count; c += 1 + dice_below(3)) {
		struct direction along = {.x = unit};
		unit[c] = 1;
		slow_block(b, a->x, &along, 0, states);
		unit[c] = 0;
		for (size_t r = 0; r < a->count; r++)
			ck_assert_double_eq_tol(a->call.jacobian[r * a->count + c],
			                        (double)states[b->depth * a->count + r].d, tol * (1 + top));
	}
	for (size_t c = 0; c < a->count; c++) {
		long double sum = 0;
		for (size_t r = 0; r < a->count; r++)
			sum += (long double)a->dy[r] * a->call.jacobian[r * a->count + c];
		ck_assert_double_eq_tol((double)sum, a->call.dx[c], tol * (double)a->count * (1 + top));
	}
	for (size_t i = 0; a->call.jacobian_sublayer && i < a->count * a->count; i++)
		ck_assert_double_eq(a->call.jacobian[i],
		                    a->call.jacobian_sublayer[i] + (i % (a->count + 1) ? 0 : a->call.identity));
	free(states), free(unit);
}

static bool smooth(const struct nc_block *b)
{
	for (size_t i = 0; i < b->sublayer_count; i++)
		if (b->sublayers[i].activation == NC_ACT_RELU || b->sublayers[i].norm.spec.placement == NC_CLAMP ||
		    b->sublayers[i].norm_after.spec.placement == NC_CLAMP ||
		    b->sublayers[i].attention.norm.spec.placement == NC_CLAMP || b->width < 6 ||
		    b->sublayers[i].attention.head_dim < 6)
			return false;
	return true;
}

/* Central differences agree to a few ε^(2/3), where nothing has a kink. */
static void check_verification(const struct nc_block *b, const struct answer *a)
{
	if (!smooth(b))
		return;
	ck_assert_msg(a->deviation < 1e-5, "x: %g", a->deviation);
	for (size_t i = 0; i < b->sublayer_count; i++)
		for (int slot = 0; slot < NC_SLOT_COUNT; slot++) {
			const struct nc_weight *w = &b->sublayers[i].weight[slot];
			if (w->value)
				ck_assert_msg(w->deviation[0] < 1e-4, "%s: %g", nc_slot_name((enum nc_slot)slot),
				              w->deviation[0]);
		}
}

START_TEST(every_placement_and_kind)
{
	prepare();
	int rounds = getenv("ROUNDS") ? atoi(getenv("ROUNDS")) : 4;
	for (int round = 0; round < rounds; round++)
		for (int placement = 0; placement < NC_PLACEMENT_COUNT; placement++)
			for (int kind = 0; kind < NC_FUNCTION_COUNT; kind++) {
				size_t depth = kind == NC_FUNCTION_GIVEN ? 1 : 1 + dice_below(2);
				struct nc_block b = random_block((enum nc_placement)placement,
				                                 (enum nc_function_kind)kind, depth, 1 + dice_below(2));
				struct answer a = ask(&b, round % 3 == 0);
				run(&b, &a);
				check_gradients(&b, &a);
				check_branches(&b, &a);
				check_verification(&b, &a);
				if (a.call.jacobian)
					check_jacobian(&b, &a);
				answer_free(&a, &b);
				block_free(&b);
			}
}
END_TEST

TEST_MAIN(every_placement_and_kind)
