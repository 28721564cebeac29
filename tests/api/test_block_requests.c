/* POST /block/grad: what a request may say, what is refused and how, and seeded stacks computed anew by the reference.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/isa.h"
#include "tests/reference/slow_block.h"
#include "tests/support/api_client.h"
#include "tests/support/suite.h"

static struct client *client;

static int post(const char *body)
{
	return client_post(client, "/block/grad", body);
}

/* The body must be refused with this status, pointer, and words in its detail. */
static void refused(const char *body, int status, const char *pointer, const char *words)
{
	int got = post(body);
	ck_assert_msg(got == status && strcmp(client_text(client, "errors.0.pointer"), pointer) == 0 &&
	                  strstr(client_text(client, "detail"), words),
	              "%s\n%d %s: %s\nnot %d %s: …%s…", body, got, client_text(client, "errors.0.pointer"),
	              client_text(client, "detail"), status, pointer, words);
}

/* The same for one F: at its path below /block/sublayers/0/f. */
static void f_refused(const char *f, const char *pointer, const char *words)
{
	char body[2000], at[200];
	snprintf(body, sizeof body,
	         "{\"x\":[[1,2,3,4],[5,6,7,9]],\"block\":{\"placement\":\"none\",\"sublayers\":[{\"f\":%s}]}}", f);
	snprintf(at, sizeof at, "/block/sublayers/0/f%s", pointer);
	refused(body, 422, at, words);
}

#define LINEAR2 "{\"kind\":\"linear\",\"w\":[[1,2],[3,4]]}"
#define NORM "\"norm\":{\"kind\":\"rmsnorm\"}"

START_TEST(refusals_of_the_block)
{
	client = client_open();
	refused("{\"x\":[1,2]}", 422, "/block", "needs the field");
	refused("{\"x\":[1,2],\"block\":[1]}", 422, "/block", "object");
	refused("{\"x\":[1,2],\"block\":{}}", 422, "/block/sublayers", "needs");
	refused("{\"x\":[1,2],\"block\":{\"sublayers\":[]}}", 422, "/block/sublayers", "at least one");
	refused("{\"x\":[1,2],\"block\":{\"sublayers\":[1]}}", 422, "/block/sublayers", "list");
	refused("{\"x\":[1,2],\"block\":{\"sublayers\":[[]]}}", 422, "/block/sublayers/0", "object");
	refused("{\"x\":[1,2],\"block\":{\"placement\":\"prenorm\",\"sublayers\":[{\"f\":" LINEAR2 "}]}}", 422,
	        "/block/placement", "\"pre\"");
	refused("{\"x\":[1,2],\"block\":{\"sublayers\":[{\"f\":" LINEAR2 "}]}}", 422, "/block/sublayers/0/norm",
	        "placement \"pre\"");
	refused("{\"x\":[1,2],\"block\":{\"placement\":\"none\",\"sublayers\":[{" NORM ",\"f\":" LINEAR2 "}]}}", 422,
	        "/block/sublayers/0/norm", "no use");
	refused("{\"x\":[1,2],\"block\":{\"sublayers\":[{" NORM ",\"norm_after\":{\"kind\":\"rmsnorm\"},\"f\":" LINEAR2
	        "}]}}",
	        422, "/block/sublayers/0/norm_after", "no use");
	refused("{\"x\":[1,2],\"block\":{\"placement\":\"sandwich\",\"sublayers\":[{" NORM ",\"f\":" LINEAR2 "}]}}",
	        422, "/block/sublayers/0/norm_after", "needs");
	refused("{\"x\":[1,2],\"block\":{\"sublayers\":[{\"norm\":{\"kind\":\"rmsnorm\",\"axes\":[-1]},\"f\":" LINEAR2
	        "}]}}",
	        422, "/block/sublayers/0/norm/axes", "no field");
	refused("{\"x\":[1,2],\"block\":{\"sublayers\":[{\"norm\":{\"kind\":\"rmsnorm\",\"gain\":[1]},\"f\":" LINEAR2
	        "}]}}",
	        422, "/block/sublayers/0/norm/gain", "shape");
	refused("{\"x\":[1,2],\"block\":{\"sublayers\":[{\"norm\":{\"kind\":\"rmsnorm\",\"bias\":0},\"f\":" LINEAR2
	        "}]}}",
	        422, "/block/sublayers/0/norm/bias", "no bias");
	refused("{\"x\":[1,2],\"block\":{\"sublayers\":[{\"norm\":{\"kind\":\"rmsnorm\",\"groups\":3},\"f\":" LINEAR2
	        "}]}}",
	        422, "/block/sublayers/0/norm/groups", "divide");
	refused("{\"x\":[1,2],\"block\":{\"sublayers\":[{" NORM "}]}}", 422, "/block/sublayers/0/f", "needs");
	refused("{\"x\":[1,2],\"block\":{\"sublayers\":[{" NORM ",\"f\":" LINEAR2 ",\"norm_befor\":1}]}}", 422,
	        "/block/sublayers/0/norm_befor", "no field");
	refused("{\"x\":[0,0],\"block\":{\"sublayers\":[{\"norm\":{\"kind\":\"rmsnorm\",\"epsilon\":0},\"f\":" LINEAR2
	        "}]}}",
	        422, "/block/sublayers/0/norm", "layer 0");
	client_close(client);
}
END_TEST

START_TEST(refusals_of_the_request)
{
	client = client_open();
#define BLOCK "\"block\":{\"placement\":\"none\",\"sublayers\":[{\"f\":{\"kind\":\"scale\",\"factor\":2}}]}"
	refused("{\"x\":[[[[1]]]]," BLOCK "}", 422, "/x", "one axis");
	refused("{\"x\":{\"shape\":[2,0],\"data\":[]}," BLOCK "}", 422, "/x", "size 0");
	refused("{\"x\":[1,2],\"dy\":[[1,2]]," BLOCK "}", 422, "/dy", "that of x");
	refused("{\"x\":[1,2],\"depth\":1025," BLOCK "}", 422, "/depth", "1024");
	refused("{\"x\":[1,2],\"depth\":0," BLOCK "}", 422, "/depth", "1 to 1024");
	refused("{\"x\":[1,2],\"wrt\":[\"w\"]," BLOCK "}", 422, "/wrt/0", "\"x\"");
	refused("{\"x\":[1,2],\"wrt\":\"x\"," BLOCK "}", 422, "/wrt", "list");
	refused("{\"x\":[1,2],\"return\":[\"trace\"]," BLOCK "}", 422, "/return", "\"trace\": true");
	refused("{\"x\":[1,2],\"return\":[\"dX\"]," BLOCK "}", 422, "/return/0", "\"dx\"");
	refused("{\"x\":[1,2],\"wrt\":[\"params\"],\"return\":[\"dx\"]," BLOCK "}", 422, "/return", "\"wrt\"");
	refused("{\"x\":[1,2],\"depth\":2,\"return\":[\"branches\"]," BLOCK "}", 422, "/return", "depth of 1");
	refused("{\"x\":[1,2],\"jacobian\":\"structured\"," BLOCK "}", 422, "/jacobian", "dense");
	refused("{\"x\":[[[1,2]]],\"jacobian\":\"dense\"," BLOCK "}", 422, "/jacobian", "rank 1 or 2");
	client->config.max_jacobian = 8;
	struct client *small = client_open_with(&client->config, NULL), *roomy = client;
	client = small;
	refused("{\"x\":[[1,2],[3,4]],\"jacobian\":true," BLOCK "}", 422, "/jacobian", "at most 8 numbers");
	ck_assert_int_eq(post("{\"x\":[1,2],\"jacobian\":true," BLOCK "}"), 200);
	client_close(small);
	client = roomy;
	refused("{\"x\":[1e308,1],\"block\":{\"placement\":\"none\",\"sublayers\":[{\"f\":{\"kind\":\"scale\","
	        "\"factor\":2}}]}}",
	        422, "/y/0", "Infinity");
	client_close(client);
}
END_TEST

START_TEST(refusals_of_each_f)
{
	client = client_open();
	f_refused("3", "", "object");
	f_refused("{}", "/kind", "needs its kind");
	f_refused("{\"kind\":\"attn\"}", "/kind", "attention");
	f_refused("{\"kind\":\"scale\"}", "/factor", "needs");
	f_refused("{\"kind\":\"scale\",\"factor\":[1]}", "/factor", "a number");
	f_refused("{\"kind\":\"elementwise\",\"activation\":\"swish\"}", "/activation", "silu");
	f_refused("{\"kind\":\"linear\"}", "/w", "init");
	f_refused("{\"kind\":\"linear\",\"w\":[[1,2],[3,4]]}", "/w", "outputs × inputs");
	f_refused("{\"kind\":\"linear\",\"w\":[[1,2],[3,4]],\"init\":{\"scheme\":\"normal\"}}", "/w",
	          "either init or w");
	f_refused("{\"kind\":\"linear\",\"weight\":[[1]]}", "/weight", "no field");
	f_refused("{\"kind\":\"linear\",\"init\":{}}", "/init/scheme", "needs");
	f_refused("{\"kind\":\"linear\",\"init\":{\"scheme\":\"he\"}}", "/init/scheme", "kaiming_normal");
	f_refused("{\"kind\":\"linear\",\"init\":{\"scheme\":\"orthogonal\",\"std\":1}}", "/init/std",
	          "only the scheme normal");
	f_refused("{\"kind\":\"linear\",\"init\":{\"scheme\":\"normal\",\"seed\":1.5}}", "/init/seed", "integer");
	f_refused("{\"kind\":\"mlp\",\"activation\":\"relu\"}", "/w_up", "needs");
	f_refused("{\"kind\":\"mlp\",\"activation\":\"relu\",\"w_up\":[1,2,3,4]}", "/w_up", "matrix");
	f_refused("{\"kind\":\"mlp\",\"activation\":\"relu\",\"w_up\":[[1,2,3,4]]}", "/w_down", "needs");
	f_refused("{\"kind\":\"mlp\",\"activation\":\"relu\",\"w_up\":[[1,2,3,4]],\"w_down\":[[1,2]]}", "/w_down",
	          "[4,1]");
	f_refused("{\"kind\":\"mlp\",\"activation\":\"relu\",\"w_up\":[[1,2,3,4]],\"w_down\":[[1],[2],[3],[4]],\"b_"
	          "gate\":[1]}",
	          "/b_gate", "w_gate");
	f_refused(
	    "{\"kind\":\"mlp\",\"activation\":\"relu\",\"w_up\":[[1,2,3,4]],\"w_down\":[[1],[2],[3],[4]],\"hidden\":2}",
	    "/hidden", "hidden is 1");
	f_refused("{\"kind\":\"mlp\",\"activation\":\"relu\",\"init\":{\"scheme\":\"normal\"}}", "/hidden", "size");
	f_refused("{\"kind\":\"attention\",\"init\":{\"scheme\":\"normal\"}}", "/heads", "needs");
	f_refused("{\"kind\":\"attention\",\"heads\":3,\"init\":{\"scheme\":\"normal\"}}", "/heads", "divide");
	f_refused("{\"kind\":\"attention\",\"heads\":4,\"kv_heads\":3,\"init\":{\"scheme\":\"normal\"}}", "/kv_heads",
	          "divide");
	f_refused("{\"kind\":\"attention\",\"heads\":4,\"rope\":{},\"init\":{\"scheme\":\"normal\"}}", "/rope", "odd");
	f_refused("{\"kind\":\"attention\",\"heads\":2,\"rope\":{\"style\":\"neox\"},\"init\":{\"scheme\":\"normal\"}}",
	          "/rope/style", "half");
	f_refused("{\"kind\":\"attention\",\"heads\":2,\"window\":0,\"init\":{\"scheme\":\"normal\"}}", "/window",
	          "1 or more");
	f_refused("{\"kind\":\"attention\",\"heads\":2,\"softcap\":0,\"init\":{\"scheme\":\"normal\"}}", "/softcap",
	          "above 0");
	f_refused("{\"kind\":\"attention\",\"heads\":2,\"w_q\":[[1,2,3,4],[1,2,3,4],[1,2,3,4]]}", "/w_q",
	          "multiple of 2 heads");
	f_refused("{\"kind\":\"attention\",\"heads\":2,\"w_q\":[[1,2,3,4],[1,2,3,4]],\"w_k\":[[1,2,3,4]]}", "/w_k",
	          "[2,4]");
	f_refused("{\"kind\":\"attention\",\"heads\":2,\"init\":{\"scheme\":\"normal\"},\"qk_norm\":{\"kind\":"
	          "\"rmsnorm\",\"gain\":1}}",
	          "/qk_norm/gain", "gain_q");
	f_refused("{\"kind\":\"attention\",\"heads\":2,\"init\":{\"scheme\":\"normal\"},\"qk_norm\":{\"kind\":"
	          "\"rmsnorm\",\"gain_k\":[1]}}",
	          "/qk_norm/gain_k", "head_dim");
	f_refused("{\"kind\":\"attention\",\"heads\":2,\"init\":{\"scheme\":\"normal\"},\"qk_norm\":{\"kind\":"
	          "\"rmsnorm\",\"bias_k\":1}}",
	          "/qk_norm/bias_k", "no bias");
	f_refused("{\"kind\":\"given\",\"output\":[1,2]}", "/jacobian", "needs");
	f_refused("{\"kind\":\"given\",\"output\":[1,2],\"jacobian\":[1,2,3,4]}", "/output", "that of x");
	f_refused("{\"kind\":\"given\",\"output\":[[1,2,3,4],[1,2,3,4]],\"jacobian\":[1,2,3]}", "/jacobian", "[4]");
	refused("{\"x\":[1],\"depth\":2,\"block\":{\"placement\":\"none\",\"sublayers\":[{\"f\":{\"kind\":\"given\","
	        "\"output\":[1],"
	        "\"jacobian\":[1]}}]}}",
	        422, "/depth", "depth 1");
	client_close(client);
}
END_TEST

START_TEST(sizes_beyond_memory_are_refused_before_work)
{
	client = client_open();
	const char *const sizes[] = {"1000000", "1000000000000", "9007199254740992"};
	for (size_t i = 0; i < 3; i++) {
		char body[400];
		snprintf(body, sizeof body,
		         "{\"x\":[1,2],\"depth\":1024,\"block\":{\"placement\":\"none\",\"sublayers\":[{\"f\":{"
		         "\"kind\":\"mlp\",\"activation\":"
		         "\"relu\",\"hidden\":%s,\"init\":{\"scheme\":\"normal\"}}}]},\"return\":[\"y\"]}",
		         sizes[i]);
		refused(body, 422, "/depth", "work memory");
	}
	refused("{\"x\":[[1,2]],\"depth\":1024,\"wrt\":[\"x\",\"params\"],\"verify\":true,\"block\":{\"placement\":"
	        "\"none\",\"sublayers\":[{\"f\":"
	        "{\"kind\":\"mlp\",\"activation\":\"relu\",\"hidden\":20000,\"init\":{\"scheme\":\"normal\"}}}]},"
	        "\"return\":[\"verify\"]}",
	        422, "/verify", "fewer layers");
	client_close(client);
}
END_TEST

START_TEST(answers_say_what_was_used)
{
	client = client_open();
	ck_assert_int_eq(post("{\"x\":[1,2],\"block\":{\"skip_scale\":0.5,\"sublayers\":[{\"norm\":{\"convention\":"
	                      "\"llama\",\"gamma\":2},"
	                      "\"f\":{\"kind\":\"elementwise\",\"activation\":\"relu\"}}]}}"),
	                 200);
	ck_assert_str_eq(client_text(client, "meta.op"), "block_grad");
	ck_assert_str_eq(client_text(client, "meta.formula"), "h ← skip_scale · h + F(Norm(h))");
	ck_assert_str_eq(client_text(client, "meta.dy"), "ones");
	ck_assert_str_eq(client_text(client, "meta.sublayers.0.norm.convention"), "llama");
	ck_assert_str_eq(client_text(client, "meta.sublayers.0.norm.gain.kind"), "number");
	ck_assert_str_eq(client_text(client, "meta.wrt.1"), "params");
	/* sent as gamma, a number: answered as gain, a number */
	ck_assert(json_is_number(client_at(client, "dparams.0.norm.gain")));
	ck_assert_ptr_null(client_at(client, "dparams.0.norm.gamma"));
	ck_assert_ptr_null(client_at(client, "dparams.0.f"));
	ck_assert_double_eq(client_number(client, "branches.0.dx_identity.0"), 0.5);

	ck_assert_int_eq(post("{\"x\":[[1,2]],\"dy\":[[1,0]],\"wrt\":[\"params\"],\"block\":{\"placement\":\"post\","
	                      "\"residual\":false,"
	                      "\"sublayers\":[{" NORM ",\"f\":" LINEAR2 "}]},\"return\":[\"dparams\",\"meta\"]}"),
	                 200);
	ck_assert_uint_eq(json_object_size(client->json), 2);
	ck_assert_str_eq(client_text(client, "meta.formula"), "h ← Norm(F(h))");
	ck_assert_str_eq(client_text(client, "meta.dy"), "given");
	ck_assert_uint_eq(json_object_size(client_at(client, "dparams.0")), 1);

	/* post-norm has no part that is a multiple of the identity */
	ck_assert_int_eq(post("{\"x\":[[1,2]],\"jacobian\":true,\"block\":{\"placement\":\"post\",\"sublayers\":[{" NORM
	                      ",\"f\":" LINEAR2 "}]},\"return\":[\"jacobian\"]}"),
	                 200);
	ck_assert(json_is_null(client_at(client, "jacobian.identity")));
	ck_assert_ptr_null(client_at(client, "jacobian.sublayer"));
	ck_assert_ptr_nonnull(client_at(client, "jacobian.total.0.1.0.1"));

	/* an empty batch: a stack of nothing */
	ck_assert_int_eq(
	    post("{\"x\":{\"shape\":[0,2],\"data\":[]},\"block\":{\"sublayers\":[{" NORM ",\"f\":" LINEAR2 "}]}}"),
	    200);
	ck_assert_double_eq(client_number(client, "dparams.0.f.w.data.3"), 0);
	client_close(client);
}
END_TEST

START_TEST(depth_shares_or_has_its_own)
{
	client = client_open();
	/* y = 4x after two layers of 2x: the factor's place is w, its gradient 2·w·x summed over both layers */
	ck_assert_int_eq(
	    post("{\"x\":[3],\"depth\":2,\"block\":{\"placement\":\"none\",\"residual\":false,\"sublayers\":[{\"f\":"
	         "{\"kind\":\"linear\",\"w\":[[2]]}}]}}"),
	    200);
	ck_assert_double_eq(client_number(client, "y.0"), 12);
	ck_assert_double_eq(client_number(client, "dparams.0.f.w.0.0"), 12);
	ck_assert_ptr_null(client_at(client, "branches"));

	static const char seeded[] =
	    "{\"x\":[[3,1]],\"depth\":3,%s\"block\":{\"sublayers\":[{\"norm\":{\"kind\":\"layernorm\","
	    "\"gain\":[1,2]},\"f\":"
	    "{\"kind\":\"linear\",\"init\":{\"scheme\":\"xavier_uniform\",\"seed\":4}}}]}}";
	char body[600];
	snprintf(body, sizeof body, seeded, "");
	ck_assert_int_eq(post(body), 200);
	ck_assert_ptr_null(client_at(client, "dparams"));
	ck_assert_ptr_null(client_at(client, "params"));
	snprintf(body, sizeof body, seeded, "\"wrt\":[\"x\",\"params\"],\"return_params\":true,\"verify\":true,");
	ck_assert_int_eq(post(body), 200);
	ck_assert_uint_eq(json_array_size(client_at(client, "dparams")), 3);
	ck_assert_uint_eq(json_array_size(client_at(client, "params")), 3);
	ck_assert_ptr_nonnull(client_at(client, "dparams.2.0.f.w.1.1"));
	ck_assert_ptr_nonnull(client_at(client, "dparams.2.0.norm.gain.1"));
	ck_assert_double_ne(client_number(client, "params.0.0.f.w.0.0"), client_number(client, "params.1.0.f.w.0.0"));
	ck_assert_double_lt(client_number(client, "verify.params.2.0.f.w"), 1e-6);
	ck_assert_double_lt(client_number(client, "verify.x"), 1e-6);
	ck_assert_double_eq_tol(client_number(client, "verify.step"), cbrt(0x1p-52), 1e-20);
	client_close(client);
}
END_TEST

START_TEST(traces_show_overflow)
{
	client = client_open();
	static const char format[] = "{\"x\":[[1,2]],\"depth\":40,\"trace\":true,%s\"block\":{\"placement\":\"none\","
	                             "\"residual\":false,\"sublayers\":[{"
	                             "\"f\":{\"kind\":\"scale\",\"factor\":%s}}]}}";
	char body[600];
	snprintf(body, sizeof body, format, "", "1e10");
	ck_assert_int_eq(post(body), 200);
	ck_assert_double_eq(client_number(client, "first_nonfinite_layer"), 31);
	ck_assert_str_eq(client_text(client, "trace.40.activation_max"), "Infinity");
	ck_assert_str_eq(client_text(client, "y.0.1"), "Infinity");
	ck_assert_double_eq_tol(client_number(client, "trace.30.activation_max"), 2e300, 1e286);
	ck_assert(json_is_null(client_at(client, "trace.40.identity_grad_norm")));
	ck_assert_double_eq(client_number(client, "trace.39.identity_grad_norm"), 0);
	snprintf(body, sizeof body, format, "\"nonfinite\":\"error\",\"return\":[\"trace\"],", "1e10");
	ck_assert_int_eq(post(body), 422);
	ck_assert_str_eq(client_text(client, "errors.0.pointer"), "/trace/0/grad_norm");
	/* finite activations, a gradient that overflows on its way down: named where it happens first */
	snprintf(body, sizeof body, format, "\"dy\":[[1e200,1]],", "1e3");
	ck_assert_int_eq(post(body), 200);
	ck_assert_double_eq(client_number(client, "first_nonfinite_layer"), 3);
	/* a vanished gradient is a number */
	snprintf(body, sizeof body, format, "\"return\":[\"trace\"],", "1e-8");
	ck_assert_int_eq(post(body), 200);
	ck_assert_double_eq_tol(client_number(client, "trace.0.grad_norm") / 1e-320 / sqrt(2), 1, 1e-3);
	ck_assert_uint_eq(json_object_size(client->json), 1);
	client_close(client);
}
END_TEST

/* --- seeded stacks computed anew --------------------------------------------------------------------------------- */

/* Appends the numbers of a (nested) value. */
static void flatten(json_t *value, double *out, size_t *count)
{
	for (size_t i = 0; i < json_array_size(value); i++)
		flatten(json_array_get(value, i), out, count);
	if (json_is_number(value))
		out[(*count)++] = json_number_value(value);
}

static const enum nc_slot seeded_slots[2][4] = {{NC_SLOT_W_Q, NC_SLOT_W_K, NC_SLOT_W_V, NC_SLOT_W_O},
                                                {NC_SLOT_W_UP, NC_SLOT_W_GATE, NC_SLOT_W_DOWN, NC_SLOT_W_DOWN}};

/* The weights that the answer returned, into a block of the same make. */
static void take_params(struct nc_block *b)
{
	char path[80];
	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < 4; k++) {
			enum nc_slot slot = seeded_slots[i][k];
			double *value = calloc(1 << 16, sizeof *value);
			size_t count = 0;
			for (size_t layer = 0; layer < b->depth; layer++) {
				snprintf(path, sizeof path, "params.%zu.%zu.f.%s", layer, i, nc_slot_name(slot));
				flatten(client_at(client, path), value, &count);
			}
			free((void *)(uintptr_t)b->sublayers[i].weight[slot].value);
			b->sublayers[i].weight[slot] = (struct nc_weight){
			    .value = value, .count = count / b->depth, .value_step = count / b->depth};
		}
}

/* ⟨gradient, v⟩ of the answer's numbers at path against the reference along v. */
static void check_along(const struct nc_block *b, const double *x, const char *path, struct direction *along, size_t n)
{
	size_t count = b->length * b->width, got_count = 0;
	struct dual *states = calloc((b->depth + 1) * count, sizeof *states);
	double *got = calloc(1 << 16, sizeof *got), *v = calloc(n, sizeof *v);
	long double want = 0, mine = 0, size = 0;
	flatten(client_at(client, path), got, &got_count);
	ck_assert_msg(got_count == n, "%s has %zu numbers", path, got_count);
	for (size_t i = 0; i < n; i++)
		v[i] = cos(1 + 3.0 * (double)i);
	if (along->slot == NC_SLOT_COUNT)
		along->x = v;
	else
		along->weight = v;
	slow_block(b, x, along, 0, states);
	for (size_t i = 0; i < count; i++)
		want += states[b->depth * count + i].d;
	for (size_t i = 0; i < n; i++) {
		mine += (long double)got[i] * v[i];
		size += fabsl((long double)got[i] * v[i]);
	}
	ck_assert_msg(fabsl(mine - want) <= 1e-11L * size, "%s: %.17Lg not %.17Lg", path, mine, want);
	free(states), free(got), free(v);
}

START_TEST(seeded_stacks_are_computed_anew)
{
	static const char *const schemes[] = {"normal", "xavier_normal", "xavier_uniform", "kaiming_normal",
	                                      "orthogonal"};
	static const double x[] = {0.5, -1, 2, 0.25, 1, 1.5, -0.75, 0.125, -2, 0.5, 1, -1};
	char body[1500], path[80];
	client = client_open();
	for (size_t scheme = 0; scheme < 5; scheme++) {
		struct nc_sublayer sublayers[2] = {{.kind = NC_FUNCTION_ATTENTION}, {.kind = NC_FUNCTION_MLP}};
		struct nc_block b = {NC_PLACEMENT_PRE, true, 0.75, 0.5, 1, 3, 4, 3, 2, sublayers};
		for (size_t i = 0; i < 2; i++)
			sublayers[i].norm =
			    (struct nc_block_norm){{NC_RMSNORM, NC_INSIDE_SQRT, 1e-6, 0, NC_FLOAT64, NC_FLOAT64}, 1};
		sublayers[0].attention = (struct nc_attention){
		    2, 1, 2, true, 1 / sqrt(2), 0, 0, NC_ROPE_INTERLEAVED, 10000, 2, false, sublayers[0].norm};
		sublayers[1].activation = NC_ACT_GELU;
		sublayers[1].hidden = 5;
		sublayers[1].gated = true;
		snprintf(
		    body, sizeof body,
		    "{\"x\":[[0.5,-1,2,0.25],[1,1.5,-0.75,0.125],[-2,0.5,1,-1]],\"depth\":3,\"wrt\":[\"x\",\"params\"],"
		    "\"return_params\":true,\"block\":{\"skip_scale\":0.75,\"update_scale\":0.5,\"sublayers\":[{"
		    "\"norm\":{\"convention\":"
		    "\"t5\"},\"f\":{\"kind\":\"attention\",\"heads\":2,\"kv_heads\":1,\"rope\":{\"position\":2},"
		    "\"init\":{\"scheme\":\"%s\","
		    "\"seed\":12}}},{\"norm\":{\"convention\":\"t5\"},\"f\":{\"kind\":\"mlp\",\"activation\":\"gelu\","
		    "\"hidden\":5,\"gated\":true,"
		    "\"init\":{\"scheme\":\"%s\",\"seed\":12,\"gain\":2}}}]}}",
		    schemes[scheme], schemes[scheme]);
		ck_assert_int_eq(post(body), 200);
		take_params(&b);
		check_along(&b, x, "dx", &(struct direction){.slot = NC_SLOT_COUNT}, 12);
		for (size_t layer = 0; layer < 3; layer++)
			for (size_t i = 0; i < 2; i++)
				for (size_t k = 0; k < 4; k++) {
					enum nc_slot slot = seeded_slots[i][k];
					snprintf(path, sizeof path, "dparams.%zu.%zu.f.%s", layer, i,
					         nc_slot_name(slot));
					check_along(&b, x, path,
					            &(struct direction){.sublayer = i, .slot = slot, .layer = layer},
					            sublayers[i].weight[slot].count);
				}
		for (size_t i = 0; i < 2; i++)
			for (int slot = 0; slot < NC_SLOT_COUNT; slot++)
				free((void *)(uintptr_t)sublayers[i].weight[slot].value);
	}
	client_close(client);
}
END_TEST

/* --- forms and dtypes -------------------------------------------------------------------------------------------- */

START_TEST(narrow_dtypes_round_once)
{
	static const char format[] =
	    "{\"x\":[[0.5,-1.25]],%s\"return_params\":true,\"wrt\":[\"x\",\"params\"],\"block\":{\"sublayers\":[{" NORM
	    ",\"f\":{\"kind\":\"linear\",\"init\":{\"scheme\":\"normal\",\"std\":1,\"seed\":3}}}]}}";
	const struct {
		const char *fields;
		enum nc_dtype dtype, param;
	} cases[] = {{"\"dtype\":\"float32\",", NC_FLOAT32, NC_FLOAT32},
	             {"\"dtype\":\"bfloat16\",\"param_dtype\":\"float32\",", NC_BFLOAT16, NC_FLOAT32},
	             {"\"param_dtype\":\"float16\",", NC_FLOAT64, NC_FLOAT16}};
	char body[1000], given[1000];
	client = client_open();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		double y[2], w[4], dw[4];
		size_t n = 0;
		snprintf(body, sizeof body, format, cases[i].fields);
		ck_assert_int_eq(post(body), 200);
		flatten(client_at(client, "params.0.f.w"), w, &n);
		for (size_t j = 0; j < 4; j++) {
			float narrow = (float)w[j];
			double stored = cases[i].param == NC_FLOAT64 ? w[j] : (double)narrow;
			ck_assert_double_eq(nc_dtype_round(cases[i].param, stored), stored);
			w[j] = stored;
		}
		y[0] = client_number(client, "y.0.0"), y[1] = client_number(client, "y.0.1");
		n = 0;
		flatten(client_at(client, "dparams.0.f.w"), dw, &n);
		/* the same weights given in float64: the narrow answer is that one rounded */
		snprintf(given, sizeof given,
		         "{\"x\":[[0.5,-1.25]],\"block\":{\"sublayers\":[{" NORM
		         ",\"f\":{\"kind\":\"linear\",\"w\":[[%.17g,%.17g],[%.17g,%.17g]]}}]}}",
		         w[0], w[1], w[2], w[3]);
		ck_assert_int_eq(post(given), 200);
		for (size_t j = 0; j < 2; j++) {
			char path[20];
			snprintf(path, sizeof path, "y.0.%zu", j);
			double wide = nc_dtype_round(cases[i].dtype, client_number(client, path));
			ck_assert_double_eq(cases[i].dtype == NC_FLOAT64 ? y[j] : (double)(float)y[j], wide);
		}
		for (size_t j = 0; j < 4; j++) {
			char path[40];
			snprintf(path, sizeof path, "dparams.0.f.w.%zu.%zu", j / 2, j % 2);
			double wide = nc_dtype_round(cases[i].dtype, client_number(client, path));
			ck_assert_double_eq(cases[i].dtype == NC_FLOAT64 ? dw[j] : (double)(float)dw[j], wide);
		}
	}
	client_close(client);
}
END_TEST

START_TEST(forms_follow_x)
{
	client = client_open();
	ck_assert_int_eq(
	    post("{\"x\":{\"shape\":[1,2],\"data\":[1,2]},\"block\":{\"sublayers\":[{" NORM ",\"f\":" LINEAR2 "}]}}"),
	    200);
	ck_assert_ptr_nonnull(client_at(client, "dparams.0.f.w.shape.1"));
	ck_assert_ptr_nonnull(client_at(client, "branches.0.dx_sublayer.data.1"));
	ck_assert_int_eq(post("{\"x\":[[1,2]],\"format\":\"base64\",\"jacobian\":true,\"block\":{\"sublayers\":[{" NORM
	                      ",\"f\":" LINEAR2 "}]}}"),
	                 200);
	ck_assert_str_eq(client_text(client, "jacobian.total.dtype"), "float64");
	ck_assert_double_eq(client_number(client, "jacobian.identity"), 1);
	client_close(client);
}
END_TEST

START_TEST(bytes_do_not_depend_on_the_machine)
{
	const char *body = "{\"x\":[[1,2,0.5,-1],[0.25,1,2,3]],\"depth\":5,\"trace\":true,\"verify\":true,\"jacobian\":"
	                   "true,\"wrt\":[\"x\",\"params\"],"
	                   "\"return_params\":true,\"block\":{\"placement\":\"sandwich\",\"sublayers\":[{" NORM
	                   ",\"norm_after\":{\"kind\":\"layernorm\"},\"f\":{\"kind\":\"attention\",\"heads\":2,"
	                   "\"softcap\":3,\"rope\":{},\"init\":"
	                   "{\"scheme\":\"orthogonal\",\"seed\":1}}},{" NORM
	                   ",\"norm_after\":{\"kind\":\"rmsnorm\"},\"f\":{\"kind\":\"mlp\","
	                   "\"activation\":\"gelu\",\"hidden\":9,\"init\":{\"scheme\":\"kaiming_normal\"}}}]}}";
	char *first = NULL;
	size_t len = 0;
	for (int isa = 0; isa < NC_ISA_COUNT; isa++)
		for (unsigned threads = 1; threads <= 3 && nc_isa_supported((enum nc_isa)isa); threads++) {
			ck_assert(nc_isa_select(nc_isa_name((enum nc_isa)isa)));
			struct nc_pool *pool = nc_pool_create(threads);
			client = client_open_with(&client_limits, pool);
			ck_assert_int_eq(post(body), 200);
			if (!first) {
				first = malloc(client->answer.body_len);
				len = client->answer.body_len;
				memcpy(first, client->answer.body, len);
			}
			ck_assert_msg(len == client->answer.body_len && memcmp(first, client->answer.body, len) == 0,
			              "%s with %u threads answers other bytes", nc_isa_name((enum nc_isa)isa), threads);
			client_close(client);
			nc_pool_destroy(pool);
		}
	free(first);
}
END_TEST

TEST_MAIN(refusals_of_the_block, refusals_of_the_request, refusals_of_each_f,
          sizes_beyond_memory_are_refused_before_work, answers_say_what_was_used, depth_shares_or_has_its_own,
          traces_show_overflow, seeded_stacks_are_computed_anew, narrow_dtypes_round_once, forms_follow_x,
          bytes_do_not_depend_on_the_machine)
