/* /residual as a user sees it: scales, branches, Jacobians in each form, the fused norm. */
#include "tests/support/api_client.h"
#include "tests/support/suite.h"
#include "tests/support/vectors.h"

#include <stdio.h>
#include <string.h>

static struct client *client;

static void post(const char *body)
{
	int status = client_post(client, "/residual", body);
	ck_assert_msg(status == 200, "%s: %d %s", body, status, client_text(client, "detail"));
}

static void near(const char *path, const char *json, double rtol)
{
	json_t *want = json_loads(json, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL);
	const char *why = vectors_compare(client_at(client, path), want, rtol, 0, strcmp(client_text(client, "meta.dtype"), "float64") != 0);
	ck_assert_msg(want && !why, "%s: %s", path, why);
	json_decref(want);
}

START_TEST(addition)
{
	client = client_open();
	post("{\"x\":[1,3],\"update\":[0.5,-0.5]}");
	near("y", "[1.5,2.5]", 0);
	ck_assert_uint_eq(json_object_size(client->json), 2);
	ck_assert_str_eq(client_text(client, "meta.formula"), "y = x + update");
	ck_assert(json_is_null(client_at(client, "meta.norm")));
	post("{\"x\":[1,3],\"update\":[0.5,-0.5],\"skip_scale\":2,\"update_scale\":-4,\"dy\":[1,10]}");
	near("y", "[0,8]", 0);
	near("dx", "[2,20]", 0);
	near("dupdate", "[-4,-40]", 0);
	ck_assert_str_eq(client_text(client, "meta.formula"), "y = skip_scale · x + update_scale · update");
	ck_assert_double_eq(client_number(client, "meta.skip_scale"), 2);
	client_close(client);
}
END_TEST

START_TEST(both_branches)
{
	client = client_open();
	post("{\"x\":[1],\"update\":[0.25],\"sublayer_jacobian\":-0.2,\"dy\":[1]}");
	near("jacobian.total", "0.8", 0);
	near("dx", "[0.8]", 0);
	near("dx_identity", "[1]", 0);
	near("dx_sublayer", "[-0.2]", 0);
	/* The same map as a number, a diagonal and a matrix. */
	static const char *const forms[] = {"3", "[3,3]", "[[3,0],[0,3]]"};
	static const char *const totals[] = {"8", "[8,8]", "[[8,0],[0,8]]"}, *const identities[] = {"2", "[2,2]", "[[2,0],[0,2]]"};
	for (int i = 0; i < 3; i++) {
		char body[300] = "{\"x\":[[1,2],[3,4]],\"update\":[[0,0],[0,0]],\"skip_scale\":2,\"update_scale\":2,\"dy\":[[1,-1],[0,5]],\"sublayer_jacobian\":";
		strcat(strcat(body, forms[i]), "}");
		post(body);
		near("jacobian.total", totals[i], 0);
		near("jacobian.identity", identities[i], 0);
		near("dx", "[[8,-8],[0,40]]", 0);
		near("dx_sublayer", "[[6,-6],[0,30]]", 0);
	}
	/* J_Fᵀ, not J_F. */
	post("{\"x\":[1,2],\"update\":[0,0],\"dy\":[1,0],\"sublayer_jacobian\":[[1,2],[3,4]]}");
	near("dx_sublayer", "[1,2]", 0);
	/* Without a gradient only the Jacobian. */
	post("{\"x\":[1,2],\"update\":[0,0],\"sublayer_jacobian\":[1,2]}");
	ck_assert_uint_eq(json_object_size(client->json), 3);
	client_close(client);
}
END_TEST

START_TEST(fused_norm)
{
	client = client_open();
	post("{\"x\":[1,1],\"update\":[2,3],\"norm\":{\"kind\":\"rmsnorm\",\"epsilon\":1e-5}}");
	near("y", "[3,4]", 0);
	near("normed", "[0.8485277980128058,1.1313703973504077]", 5e-16);
	near("stats.rms", "3.535535320146017", 5e-16);
	ck_assert_str_eq(client_text(client, "meta.norm.op"), "rmsnorm");
	ck_assert_uint_eq(json_object_size(client->json), 4);

	post("{\"x\":[1,0],\"update\":[256,96],\"dtype\":\"bfloat16\",\"norm\":{\"kind\":\"rmsnorm\",\"epsilon\":0}}");
	near("normed", "[1.328125,0.494140625]", 0);
	post("{\"x\":[1,0],\"update\":[256,96],\"dtype\":\"bfloat16\",\"norm\":{\"kind\":\"rmsnorm\",\"epsilon\":0},\"round_sum\":true}");
	near("normed", "[1.3203125,0.49609375]", 0);
	ck_assert(json_is_true(client_at(client, "meta.round_sum")));

	/* The kind comes from the convention. */
	post("{\"x\":[1,2],\"update\":[0,0],\"norm\":{\"convention\":\"bert\",\"gain\":[1,2],\"bias\":0.5},\"dnormed\":[1,1]}");
	ck_assert_str_eq(client_text(client, "meta.norm.op"), "layernorm");
	ck_assert_str_eq(client_text(client, "meta.norm.convention"), "bert");
	near("dbias", "[1,1]", 0);
	ck_assert_ptr_nonnull(client_at(client, "stats.variance"));
	client_close(client);
}
END_TEST

/* What arrives through the norm is what /rmsnorm says about y. */
START_TEST(gradient_through_the_norm)
{
	client = client_open();
	ck_assert_int_eq(client_post(client, "/rmsnorm", "{\"x\":[[3,4],[1,-2]],\"gain\":[2,0.5],\"dy\":[[1,2],[3,4]]}"), 200);
	json_t *norm = json_incref(client->json);
	post("{\"x\":[[2,4],[1,0]],\"update\":[[1,0],[0,-2]],\"norm\":{\"kind\":\"rmsnorm\",\"gain\":[2,0.5]},\"dnormed\":[[1,2],[3,4]]}");
	ck_assert(json_equal(client_at(client, "dx"), json_object_get(norm, "dx")));
	ck_assert(json_equal(client_at(client, "dgain"), json_object_get(norm, "dgain")));
	ck_assert(json_equal(client_at(client, "normed"), json_object_get(norm, "y")));
	json_decref(norm);
	client_close(client);
}
END_TEST

/* Axes and groups of the fused norm: y and normed agree with the norm alone. */
START_TEST(norm_over_other_axes)
{
	static const char *const norms[] = {"\"axes\":[0],\"gain\":[1,2]", "\"axes\":[0,1]", "\"groups\":2,\"gain\":[1,2,3,4]", "\"axes\":[1,0],\"groups\":2"};
	client = client_open();
	for (size_t i = 0; i < sizeof norms / sizeof *norms; i++) {
		char body[400];
		snprintf(body, sizeof body, "{\"x\":[[1,2,3,4],[5,6,-7,9]],\"dy\":[[1,0,1,2],[0,1,0,3]],%s}", norms[i]);
		ck_assert_int_eq(client_post(client, "/layernorm", body), 200);
		json_t *norm = json_incref(client->json);
		snprintf(body, sizeof body,
		         "{\"x\":[[1,2,3,4],[5,6,-7,9]],\"update\":[[0,0,0,0],[0,0,0,0]],\"dnormed\":[[1,0,1,2],[0,1,0,3]],\"norm\":{\"kind\":\"layernorm\",%s}}", norms[i]);
		post(body);
		ck_assert(json_equal(client_at(client, "normed"), json_object_get(norm, "y")));
		ck_assert(json_equal(client_at(client, "stats"), json_object_get(norm, "stats")));
		ck_assert(json_equal(client_at(client, "dx"), json_object_get(norm, "dx")));
		ck_assert(json_equal(client_at(client, "dgain"), json_object_get(norm, "dgain")));
		ck_assert(json_equal(client_at(client, "dbias"), json_object_get(norm, "dbias")));
		json_decref(norm);
	}
	client_close(client);
}
END_TEST

TEST_MAIN(addition, both_branches, fused_norm, gradient_through_the_norm, norm_over_other_axes)
