/*
 * Norms and residuals: the same bits on every instruction set, for every number of threads and in every batch, with no
 * byte read or written beside the arrays. NORM_KERNELS_SEED=n for another run; the seed is printed.
 */
#include "core/kernels.h"
#include "tests/reference/norm_cases.h"
#include "tests/support/paddock.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARRAYS = 24, MOST_BYTES = 1 << 21 };

/* One array of a call: where the call points to it, and what stands for it here. */
struct array {
	const void **place;
	size_t bytes;
	bool output;
};

static struct paddock paddocks[MOST_ARRAYS];
static struct nc_arena *arena;
static uint64_t seed = 1;

static void setup(void)
{
	const char *text = getenv("NORM_KERNELS_SEED");

	if (arena)
		return;
	if (text)
		seed = strtoull(text, NULL, 0);
	printf("seed %llu\n", (unsigned long long)seed);
	arena = nc_arena_create((size_t)1 << 28);
	ck_assert_ptr_nonnull(arena);
	for (int i = 0; i < MOST_ARRAYS; i++)
		paddock_open(&paddocks[i], MOST_BYTES);
}

static size_t add(struct array *arrays, size_t count, const void *place, size_t bytes, bool output)
{
	const void **pointer = (const void **)(uintptr_t)place;

	if (!*pointer || !bytes)
		return count;
	arrays[count] = (struct array){pointer, bytes, output};
	return count + 1;
}

static size_t norm_arrays(struct norm_case *c, struct array *arrays)
{
	struct nc_norm_call *call = &c->call;
	size_t size = nc_dtype_storage_bytes(c->spec.dtype), all = call->rows * call->features * size, count = 0;
	size_t param = call->period * call->features * size, rank = nc_norm_rank(c->spec.kind);

	count = add(arrays, count, &call->x, all, false);
	count = add(arrays, count, &call->dy, all, false);
	count = add(arrays, count, &call->tangent, all, false);
	count = add(arrays, count, &call->gain.data, call->gain.count * nc_dtype_storage_bytes(call->gain.dtype), false);
	count = add(arrays, count, &call->bias.data, call->bias.count * nc_dtype_storage_bytes(call->bias.dtype), false);
	count = add(arrays, count, &call->y, all, true);
	count = add(arrays, count, &call->xhat, all, true);
	count = add(arrays, count, &call->divisor, call->rows * size, true);
	count = add(arrays, count, &call->mean, call->rows * size, true);
	count = add(arrays, count, &call->variance, call->rows * size, true);
	count = add(arrays, count, &call->dx, all, true);
	count = add(arrays, count, &call->dgain, param, true);
	count = add(arrays, count, &call->dbias, param, true);
	count = add(arrays, count, &call->jvp, all, true);
	count = add(arrays, count, &call->jacobian, all * call->features, true);
	count = add(arrays, count, &call->diagonal, call->rows * call->features * 8, true);
	count = add(arrays, count, &call->left, call->rows * call->features * rank * 8, true);
	return add(arrays, count, &call->right, call->rows * call->features * rank * 8, true);
}

static size_t residual_arrays(struct residual_case *c, struct array *arrays)
{
	struct nc_residual_call *call = &c->call;
	size_t size = nc_dtype_storage_bytes(call->dtype), n = call->features, all = call->rows * n * size, count = 0;
	size_t form = (call->form == NC_JACOBIAN_DENSE ? n * n : call->form == NC_JACOBIAN_DIAGONAL ? n : 1) * size;

	count = add(arrays, count, &call->x, all, false);
	count = add(arrays, count, &call->update, all, false);
	count = add(arrays, count, &call->dy, all, false);
	count = add(arrays, count, &call->dnormed, all, false);
	count = add(arrays, count, &call->gain.data, call->gain.count * nc_dtype_storage_bytes(call->gain.dtype), false);
	count = add(arrays, count, &call->bias.data, call->bias.count * nc_dtype_storage_bytes(call->bias.dtype), false);
	count = add(arrays, count, &call->sublayer_jacobian, form, false);
	count = add(arrays, count, &call->y, all, true);
	count = add(arrays, count, &call->dx, all, true);
	count = add(arrays, count, &call->dupdate, all, true);
	count = add(arrays, count, &call->normed, all, true);
	count = add(arrays, count, &call->divisor, call->rows * size, true);
	count = add(arrays, count, &call->mean, call->rows * size, true);
	count = add(arrays, count, &call->variance, call->rows * size, true);
	count = add(arrays, count, &call->dgain, n * size, true);
	count = add(arrays, count, &call->dbias, n * size, true);
	count = add(arrays, count, &call->dx_identity, all, true);
	count = add(arrays, count, &call->dx_sublayer, all, true);
	count = add(arrays, count, &call->identity, form, true);
	count = add(arrays, count, &call->sublayer, form, true);
	return add(arrays, count, &call->total, form, true);
}

/* Moves every array into its paddock, `shift` elements of some bytes away from the page; outputs hold the mark. */
static void fence(struct array *arrays, size_t count, size_t shift)
{
	for (size_t i = 0; i < count; i++) {
		const void *from = *arrays[i].place;
		void *to = paddock_place(&paddocks[i], arrays[i].bytes, (shift * 7 + i) % 16 * (shift != 0) * 8);

		if (!arrays[i].output)
			memcpy(to, from, arrays[i].bytes);
		*arrays[i].place = to;
	}
}

/* Sets outputs to the mark again. */
static void clear(const struct array *arrays, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (arrays[i].output)
			memset((void *)(uintptr_t)*arrays[i].place, 0xa5, arrays[i].bytes);
}

/* All outputs one after the other, malloc'ed. */
static char *gathered(const struct array *arrays, size_t count, size_t *total)
{
	*total = 0;
	for (size_t i = 0; i < count; i++)
		*total += arrays[i].output ? arrays[i].bytes : 0;
	char *all = malloc(*total + 1), *at = all;
	for (size_t i = 0; i < count; i++)
		if (arrays[i].output) {
			memcpy(at, *arrays[i].place, arrays[i].bytes);
			at += arrays[i].bytes;
		}
	return all;
}

static enum nc_status run_norm(void *c)
{
	struct norm_case *norm = c;

	return nc_norm(&norm->spec, &norm->call, NULL, arena);
}

static enum nc_status run_residual(void *c)
{
	struct residual_case *residual = c;

	return nc_residual(&residual->call, NULL, arena);
}

/* Runs a case on every instruction set and compares with the scalar table. */
static void compare(enum nc_status (*run)(void *), void *c, struct array *arrays, size_t count, size_t shift,
                    const char *what)
{
	char *want = NULL;
	size_t total = 0;
	enum nc_status first = NC_OK;

	fence(arrays, count, shift);
	for (int isa = 0; isa < NC_ISA_COUNT; isa++) {
		if (!nc_isa_select(nc_isa_name((enum nc_isa)isa)))
			continue;
		clear(arrays, count);
		enum nc_status status = run(c);
		for (size_t i = 0; i < count; i++)
			ck_assert_msg(paddock_intact(&paddocks[i]), "%s on %s: array %zu overrun", what,
			              nc_isa_name((enum nc_isa)isa), i);
		char *got = gathered(arrays, count, &total);
		if (!want) {
			want = got;
			first = status;
			continue;
		}
		ck_assert_int_eq(status, first);
		if (status == NC_OK && memcmp(got, want, total)) {
			size_t array = 0, at = 0;

			while (got[at] == want[at])
				at++;
			for (size_t i = 0; i < count; i++) {
				array = i;
				if (!arrays[i].output)
					continue;
				if (at < arrays[i].bytes)
					break;
				at -= arrays[i].bytes;
			}
			ck_abort_msg("%s on %s: array %zu differs at byte %zu of %zu", what, nc_isa_name((enum nc_isa)isa), array, at,
			             arrays[array].bytes);
		}
		free(got);
	}
	free(want);
	nc_isa_select("auto");
}

/* 1 to 70, then what lies around the sizes of blocks and chunks. */
static size_t length(size_t i)
{
	static const size_t edges[] = {95,  96,  97,   127,  128,  129,  255,  256,  257,  511,  512,
	                               513, 767, 1023, 1025, 2047, 2049, 4095, 4096, 4097, 4113, 8191, 8193,
	                               32768, 32769, 40001};

	return i < 70 ? i + 1 : i - 70 < sizeof(edges) / sizeof(*edges) ? edges[i - 70] : 0;
}

START_TEST(norms_on_every_instruction_set)
{
	setup();
	struct random random = {seed};

	for (size_t i = 0; length(i); i++)
		for (int trial = 0; trial < (i < 70 ? 12 : 4); trial++) {
			struct case_options options = {.elements = 4 * length(i), .extreme = trial % 4 == 3,
			                               .jacobian = length(i) <= 20 && trial % 3 == 0, .dtype = trial % NC_DTYPE_COUNT,
			                               .features = (int)length(i),
			                               .rows = 1 + (int)random_below(&random, i < 70 ? 40 : 3)};
			struct norm_case c;
			struct array arrays[MOST_ARRAYS];
			char text[300];

			norm_case_make(&c, &random, &options);
			norm_case_describe(&c, text, sizeof(text));
			compare(run_norm, &c, arrays, norm_arrays(&c, arrays), (size_t)trial, text);
			norm_case_free(&c);
		}
}
END_TEST

START_TEST(residuals_on_every_instruction_set)
{
	setup();
	struct random random = {seed + 1};

	for (size_t i = 0; length(i); i++)
		for (int trial = 0; trial < (i < 70 ? 8 : 4); trial++) {
			struct case_options options = {.elements = length(i), .extreme = trial % 4 == 3, .dtype = trial % NC_DTYPE_COUNT,
			                               .features = (int)length(i), .rows = 1 + (int)random_below(&random, i < 70 ? 20 : 2)};
			struct residual_case c;
			struct array arrays[MOST_ARRAYS];
			char text[100];

			residual_case_make(&c, &random, &options);
			snprintf(text, sizeof(text), "residual %s, %zu x %zu", nc_dtype_name(c.call.dtype), c.call.rows, c.call.features);
			compare(run_residual, &c, arrays, residual_arrays(&c, arrays), (size_t)trial, text);
			residual_case_free(&c);
		}
}
END_TEST

/* 1 to 8 threads give the bits of none. */
START_TEST(threads_change_no_bit)
{
	struct nc_pool *pools[8];
	setup();
	struct random random = {seed + 2};

	for (unsigned t = 0; t < 8; t++)
		pools[t] = nc_pool_create(t + 1);
	for (int trial = 0; trial < 32; trial++) {
		struct case_options options = {.elements = 60000, .dtype = trial % NC_DTYPE_COUNT, .features = trial % 3 ? 0 : 700,
		                               .rows = trial % 2 ? 0 : 200 + trial};

		if (trial >= 24) { /* cut by columns */
			options.features = 70001;
			options.rows = 1 + trial % 3;
		}
		struct norm_case c;
		struct array arrays[MOST_ARRAYS];
		size_t total;

		if (options.rows && !options.features)
			options.features = 1 + (int)random_below(&random, 300);
		norm_case_make(&c, &random, &options);
		c.spec.epsilon = 1e-5;
		size_t count = norm_arrays(&c, arrays);
		ck_assert_int_eq(nc_norm(&c.spec, &c.call, NULL, arena), NC_OK);
		char *want = gathered(arrays, count, &total);
		for (int t = 0; t < 8; t++) {
			clear(arrays, count);
			ck_assert_int_eq(nc_norm(&c.spec, &c.call, pools[t], arena), NC_OK);
			char *got = gathered(arrays, count, &total);
			ck_assert(!memcmp(got, want, total));
			free(got);
		}
		free(want);
		norm_case_free(&c);
	}
	for (int trial = 0; trial < 24; trial++) {
		struct case_options options = {.elements = 30000, .dtype = trial % NC_DTYPE_COUNT,
		                               .features = 1 + (int)random_below(&random, 300), .rows = 200 + trial};

		if (trial >= 16) { /* cut by columns */
			options.features = 70001;
			options.rows = 1 + trial % 3;
		}
		struct residual_case c;
		struct array arrays[MOST_ARRAYS];
		size_t total;

		residual_case_make(&c, &random, &options);
		c.norm.epsilon = 1e-5;
		size_t count = residual_arrays(&c, arrays);
		ck_assert_int_eq(nc_residual(&c.call, NULL, arena), NC_OK);
		char *want = gathered(arrays, count, &total);
		for (int t = 0; t < 8; t++) {
			clear(arrays, count);
			ck_assert_int_eq(nc_residual(&c.call, pools[t], arena), NC_OK);
			char *got = gathered(arrays, count, &total);
			ck_assert(!memcmp(got, want, total));
			free(got);
		}
		free(want);
		residual_case_free(&c);
	}
	for (unsigned t = 0; t < 8; t++)
		nc_pool_destroy(pools[t]);
}
END_TEST

/* A row alone gives the bits that it gives among others, wherever it stands. */
START_TEST(a_batch_changes_no_bit)
{
	setup();
	struct random random = {seed + 3};

	for (int trial = 0; trial < 120; trial++) {
		struct case_options options = {.elements = 300, .extreme = trial % 4 == 3, .dtype = trial % NC_DTYPE_COUNT,
		                               .features = 1 + (int)random_below(&random, 100), .rows = 6};
		struct norm_case c;

		norm_case_make(&c, &random, &options);
		c.spec.epsilon = c.spec.epsilon == 0 ? 1e-6 : c.spec.epsilon;
		ck_assert_int_eq(nc_norm(&c.spec, &c.call, NULL, arena), NC_OK);
		size_t n = c.call.features, part = c.call.period * n, bytes = part * nc_dtype_storage_bytes(c.spec.dtype);
		char *y = malloc(bytes), *dx = malloc(bytes), *jvp = malloc(bytes), *xhat = malloc(bytes);
		for (size_t i = 0; i < c.call.rows / c.call.period; i++) {
			struct nc_norm_call alone = c.call;

			alone.rows = c.call.period;
			alone.x = (const char *)c.call.x + i * bytes;
			alone.dy = (const char *)c.call.dy + i * bytes;
			alone.tangent = (const char *)c.call.tangent + i * bytes;
			alone.y = y;
			alone.dx = dx;
			alone.jvp = jvp;
			alone.xhat = xhat;
			alone.divisor = alone.mean = alone.variance = alone.dgain = alone.dbias = NULL;
			ck_assert_int_eq(nc_norm(&c.spec, &alone, NULL, arena), NC_OK);
			ck_assert(!memcmp(y, (char *)c.call.y + i * bytes, bytes));
			ck_assert(!memcmp(dx, (char *)c.call.dx + i * bytes, bytes));
			ck_assert(!memcmp(jvp, (char *)c.call.jvp + i * bytes, bytes));
			ck_assert(!memcmp(xhat, (char *)c.call.xhat + i * bytes, bytes));
		}
		free(y);
		free(dx);
		free(jvp);
		free(xhat);
		norm_case_free(&c);
	}
}
END_TEST

/* Integers only, so that the inputs are the same on every machine: no libm in them. */
static void plain_numbers(struct random *random, enum nc_dtype dtype, void *data, size_t count)
{
	struct nc_tensor t = {.dtype = dtype, .data = data};

	for (size_t i = 0; i < count; i++) {
		double value = (double)(int64_t)(random_bits(random) >> 10) * 0x1p-53 - 0.5;

		nc_tensor_set(&t, i, nc_dtype_round(dtype, ldexp(value, (int)random_below(random, 6))));
	}
}

/* One hash for every architecture: a sample of all outputs at every dtype, length 1 to 200. */
START_TEST(one_hash_everywhere)
{
	static const uint64_t pinned = 0xe0f696d3e483a98u;
	setup();
	struct random random = {99};
	uint64_t hash = 0xcbf29ce484222325u;

	for (int n = 1; n <= 200; n++) {
		struct case_options options = {.elements = 1, .dtype = n % NC_DTYPE_COUNT, .features = n, .rows = 20,
		                               .jacobian = n < 10};
		struct norm_case c;
		struct array arrays[MOST_ARRAYS];
		size_t total;

		norm_case_make(&c, &random, &options);
		c.spec.epsilon = 0x1p-17;
		c.spec.gain_offset = n % 3;
		size_t count = norm_arrays(&c, arrays);
		for (size_t i = 0; i < count; i++)
			if (!arrays[i].output) {
				enum nc_dtype dtype = arrays[i].place == &c.call.gain.data   ? c.call.gain.dtype
				                      : arrays[i].place == &c.call.bias.data ? c.call.bias.dtype
				                                                             : c.spec.dtype;

				plain_numbers(&random, dtype, (void *)(uintptr_t)*arrays[i].place, arrays[i].bytes / nc_dtype_storage_bytes(dtype));
			}
		ck_assert_int_eq(nc_norm(&c.spec, &c.call, NULL, arena), NC_OK);
		char *all = gathered(arrays, count, &total);
		for (size_t i = 0; i < total; i++)
			hash = (hash ^ (unsigned char)all[i]) * 0x100000001b3u;
		free(all);
		norm_case_free(&c);
	}
	ck_assert_msg(hash == pinned, "the hash is %#llx on %s", (unsigned long long)hash, nc_isa_name(nc_isa_current()));
}
END_TEST

TEST_MAIN(norms_on_every_instruction_set, residuals_on_every_instruction_set, threads_change_no_bit, a_batch_changes_no_bit,
          one_hash_everywhere)
