/* /rmsnorm and /layernorm as a user sees them: conventions, meta, what can be asked for, and faults met in the field. */
#include "core/conventions.h"
#include "tests/support/api_client.h"
#include "tests/support/suite.h"
#include "tests/support/vectors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct client *client;

static void open_client(void)
{
	client = client_open();
}

static void post(const char *path, const char *body)
{
	int status = client_post(client, path, body);
	ck_assert_msg(status == 200, "%s %s: %d %s", path, body, status, client_text(client, "detail"));
}

/* The answer's value at path is this JSON, numbers within rtol of the largest. */
static void near(const char *path, const char *json, double rtol)
{
	json_t *want = json_loads(json, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL);
	ck_assert_msg(want != NULL, "%s", json);
	const char *why = vectors_compare(client_at(client, path), want, rtol, 0, strcmp(client_text(client, "meta.dtype"), "float64") != 0);
	ck_assert_msg(!why, "%s: %s", path, why);
	json_decref(want);
}

static void same(const char *path, const char *json)
{
	json_t *want = json_loads(json, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL), *got = client_at(client, path);
	ck_assert_msg(want != NULL, "%s", json);
	if (!json_equal(want, got))
		ck_abort_msg("%s is %s, not %s", path, got ? json_dumps(got, JSON_ENCODE_ANY) : "absent", json);
	json_decref(want);
}

/* Two requests with the same y, stats and gradients. */
static void alike(const char *path, const char *one, const char *other)
{
	static const char *const parts[] = {"y", "stats", "dx", "dgain", "dbias"};
	post(path, one);
	json_t *first = json_incref(client->json);
	post(path, other);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		json_t *a = json_at(first, parts[i]), *b = client_at(client, parts[i]);
		ck_assert_msg(a == b || json_equal(a, b), "%s and %s: %s", one, other, parts[i]);
	}
	json_decref(first);
}

START_TEST(meta_says_everything)
{
	open_client();
	post("/rmsnorm", "{\"x\":[[1,2,3,4]],\"gain\":[1,2,3,4],\"convention\":\"gemma\",\"dtype\":\"bfloat16\",\"param_dtype\":\"float32\",\"groups\":2}");
	same("meta", "{\"op\":\"rmsnorm\",\"formula\":\"y = (1 + gain) · x / √(mean(x²) + ε)\",\"dtype\":\"bfloat16\",\"param_dtype\":\"float32\","
	             "\"accumulation\":\"float64\",\"shape\":[1,4],\"axes\":[1],\"features\":2,\"rows\":2,\"groups\":2,\"epsilon\":1e-6,"
	             "\"epsilon_placement\":\"inside_sqrt\",\"gain\":{\"kind\":\"elementwise\",\"offset\":1},\"bias\":\"none\","
	             "\"cast_before_gain\":false,\"convention\":\"gemma\",\"version\":\"" NORMD_VERSION "\"}");
	post("/layernorm", "{\"x\":[[[1,2],[3,5]]],\"axes\":[-1,1],\"beta\":0.5,\"epsilon\":0.001,\"epsilon_placement\":\"clamp\"}");
	same("meta", "{\"op\":\"layernorm\",\"formula\":\"y = (x − mean(x)) / max(√var(x), ε) + bias\",\"dtype\":\"float64\",\"param_dtype\":\"float64\","
	             "\"accumulation\":\"float64 compensated\",\"shape\":[1,2,2],\"axes\":[1,2],\"features\":4,\"rows\":1,\"groups\":1,\"epsilon\":1e-3,"
	             "\"epsilon_placement\":\"clamp\",\"gain\":{\"kind\":\"fixed_one\",\"offset\":0},\"bias\":\"number\",\"variance\":\"population\","
	             "\"cast_before_gain\":false,\"convention\":null,\"version\":\"" NORMD_VERSION "\"}");
	post("/rmsnorm", "{\"x\":[1,2],\"weight\":2,\"convention\":\"llama\",\"dtype\":\"float16\",\"epsilon_placement\":\"outside_sqrt\"}");
	same("meta.formula", "\"y = gain · round(x / (√mean(x²) + ε))\"");
	same("meta.gain", "{\"kind\":\"number\",\"offset\":0}");
	client_close(client);
}
END_TEST

/* GET /conventions lists the table, and a convention is the same as its fields written out. */
START_TEST(conventions)
{
	char body[400];
	const struct nc_convention *c;
	size_t n = 0;
	open_client();
	ck_assert_int_eq(client_get(client, "/conventions"), 200);
	json_t *list = json_incref(client_at(client, "conventions"));
	for (; (c = nc_convention_at(n)); n++) {
		json_t *entry = json_array_get(list, n);
		bool layer = c->kind == NC_LAYERNORM;
		const char *path = layer ? "/layernorm" : "/rmsnorm";
		char epsilon[40], spelled[400];
		ck_assert_str_eq(json_string_value(json_object_get(entry, "name")), c->name);
		ck_assert_str_eq(json_string_value(json_object_get(entry, "kind")), path + 1);
		ck_assert_int_eq(json_is_true(json_object_get(entry, "bias")), c->bias);
		if (c->machine)
			strcpy(epsilon, "\"machine\"");
		else
			snprintf(epsilon, sizeof epsilon, "%.17g", c->epsilon);
		for (int dtype = 0; dtype < 2; dtype++) {
			snprintf(body, sizeof body, "{\"x\":[0.01,-0.02,0.005,0.5],\"weight\":[1,0.5,2,-1],\"dy\":[1,0,2,1],\"dtype\":\"%s\",\"convention\":\"%s\"}",
			         dtype ? "bfloat16" : "float64", c->name);
			snprintf(spelled, sizeof spelled,
			         "{\"x\":[0.01,-0.02,0.005,0.5],\"weight\":[1,0.5,2,-1],\"dy\":[1,0,2,1],\"dtype\":\"%s\",\"epsilon\":%s,\"gain_offset\":%g,\"cast_before_gain\":%s}",
			         dtype ? "bfloat16" : "float64", epsilon, c->gain_offset, c->cast_before_gain ? "true" : "false");
			alike(path, body, spelled);
		}
	}
	ck_assert_uint_eq(json_array_size(list), n);
	ck_assert_uint_eq(n, 17);
	json_decref(list);
	client_close(client);
}
END_TEST

START_TEST(fields_beside_a_convention_win)
{
	open_client();
	alike("/rmsnorm", "{\"x\":[0.001,0.002],\"convention\":\"llama1\",\"epsilon\":1e-3}", "{\"x\":[0.001,0.002],\"epsilon\":1e-3}");
	alike("/rmsnorm", "{\"x\":[1,2],\"convention\":\"gemma\",\"gain\":[3,4],\"gain_offset\":0}", "{\"x\":[1,2],\"epsilon\":1e-6,\"gain\":[3,4]}");
	alike("/rmsnorm", "{\"x\":[1,5],\"convention\":\"llama\",\"gain\":[1.5,1.5],\"cast_before_gain\":false,\"dtype\":\"bfloat16\"}",
	      "{\"x\":[1,5],\"gain\":[1.5,1.5],\"dtype\":\"bfloat16\"}");
	alike("/rmsnorm", "{\"x\":[1,2],\"convention\":\"lesson\",\"gain\":[3,4]}", "{\"x\":[1,2],\"gain\":[3,4]}");
	/* Used without a gain the gain is one, whatever the offset. */
	alike("/rmsnorm", "{\"x\":[1,2],\"convention\":\"gemma\",\"dy\":[1,0]}", "{\"x\":[1,2],\"epsilon\":1e-6,\"dy\":[1,0]}");
	alike("/layernorm", "{\"x\":[1,2],\"convention\":\"olmo\",\"bias\":1}", "{\"x\":[1,2],\"bias\":1}");
	client_close(client);
}
END_TEST

START_TEST(names_of_gain_and_bias)
{
	open_client();
	alike("/rmsnorm", "{\"x\":[1,2],\"gain\":[3,4]}", "{\"x\":[1,2],\"gamma\":[3,4]}");
	alike("/rmsnorm", "{\"x\":[1,2],\"gain\":[3,4]}", "{\"x\":[1,2],\"weight\":[3,4]}");
	alike("/layernorm", "{\"x\":[1,2],\"bias\":[3,4]}", "{\"x\":[1,2],\"beta\":[3,4]}");
	alike("/rmsnorm", "{\"x\":[1,2],\"gain\":[3,3],\"dy\":[1,2]}", "{\"x\":[1,2],\"gain\":3,\"dy\":[1,2]}");
	alike("/layernorm", "{\"x\":[1,2],\"bias\":[3,3],\"dy\":[1,2]}", "{\"x\":[1,2],\"bias\":3,\"dy\":[1,2]}");
	client_close(client);
}
END_TEST

START_TEST(machine_epsilon)
{
	open_client();
	post("/rmsnorm", "{\"x\":[1],\"epsilon\":\"machine\"}");
	same("meta.epsilon", "2.220446049250313e-16");
	post("/rmsnorm", "{\"x\":[1],\"epsilon\":\"machine\",\"dtype\":\"float32\"}");
	same("meta.epsilon", "1.1920928955078125e-7");
	post("/rmsnorm", "{\"x\":[1],\"convention\":\"torch_rms\",\"dtype\":\"bfloat16\"}");
	same("meta.epsilon", "1.1920928955078125e-7");
	post("/rmsnorm", "{\"x\":[1],\"epsilon\":0}");
	same("meta.epsilon", "0");
	client_close(client);
}
END_TEST

/* Every row of the table of faults that people met in real code, as far as these endpoints go. */
START_TEST(faults_from_the_field)
{
	open_client();
	post("/rmsnorm", "{\"x\":[0.001,-0.001],\"epsilon\":1e-6}");
	near("y", "[0.707106781187,-0.707106781187]", 1e-11);
	post("/rmsnorm", "{\"x\":[0.001,-0.001],\"epsilon\":1e-6,\"epsilon_placement\":\"outside_sqrt\"}");
	near("y", "[0.999000999001,-0.999000999001]", 1e-11);
	post("/rmsnorm", "{\"x\":[0.001,-0.001],\"epsilon\":1e-6,\"epsilon_placement\":\"clamp\"}");
	near("y", "[1,-1]", 1e-15);

	post("/rmsnorm", "{\"x\":[0.002,-0.001]}");
	near("y.0", "0.5656854249", 1e-9);
	post("/rmsnorm", "{\"x\":[0.002,-0.001],\"epsilon\":1e-6}");
	near("y.0", "1.069044968", 1e-9);
	post("/rmsnorm", "{\"x\":[0.002,-0.001],\"epsilon\":\"machine\",\"dtype\":\"float32\"}");
	near("y.0", "1.23579062", 1e-7);

	post("/rmsnorm", "{\"x\":[3,4],\"gain\":[0.5,-0.25],\"epsilon\":1e-6}");
	near("y", "[0.424264051741,-0.282842701161]", 1e-11);
	post("/rmsnorm", "{\"x\":[3,4],\"gain\":[0.5,-0.25],\"epsilon\":1e-6,\"gain_offset\":1}");
	near("y", "[1.27279215522,0.848528103483]", 1e-11);

	/* 1 + w is formed in float64: 16.8125 and 1.00390625 are no bfloat16 numbers. */
	post("/rmsnorm", "{\"x\":[[256,256]],\"gain\":[15.8125,0.00390625],\"gain_offset\":1,\"epsilon\":0,\"dtype\":\"float32\",\"param_dtype\":\"bfloat16\"}");
	near("y", "[[16.8125,1.00390625]]", 0);

	post("/rmsnorm", "{\"x\":[0.001,0.002,0.001],\"epsilon\":1e-5}");
	near("y", "[0.288675134595,0.577350269190,0.288675134595]", 1e-11);

	post("/rmsnorm", "{\"x\":[1,5],\"gain\":[1.5,1.5],\"epsilon\":0,\"dtype\":\"bfloat16\",\"cast_before_gain\":true}");
	near("y", "[0.416015625,2.09375]", 0);
	post("/rmsnorm", "{\"x\":[1,5],\"gain\":[1.5,1.5],\"epsilon\":0,\"dtype\":\"bfloat16\"}");
	near("y", "[0.416015625,2.078125]", 0);

	post("/layernorm", "{\"x\":[1,0,0,0],\"epsilon\":1e-5}");
	near("y", "[1.73200462139,-0.577334873798,-0.577334873798,-0.577334873798]", 1e-11);
	post("/rmsnorm", "{\"x\":[0,1,2,3,4,5,6,7,8,9],\"epsilon\":1e-6}");
	near("y.1", "0.18731715903", 1e-10);

	post("/layernorm", "{\"x\":[[1,2],[3,4]]}");
	near("y", "[[-0.9999800006,0.9999800006],[-0.9999800006,0.9999800006]]", 1e-10);
	post("/layernorm", "{\"x\":[[1,2],[3,4]],\"axes\":[0,1]}");
	near("y", "[[-1.34163541997,-0.447211806656],[0.447211806656,1.34163541997]]", 1e-11);

	post("/rmsnorm", "{\"x\":[1,2,3,4,10,20,30,40],\"epsilon\":0,\"groups\":2}");
	near("y.0", "0.36514837167", 1e-11);
	near("y.4", "0.36514837167", 1e-11);
	post("/rmsnorm", "{\"x\":[1,2,3,4,10,20,30,40],\"epsilon\":0}");
	near("y.0", "0.0513834995539", 1e-11);

	post("/rmsnorm", "{\"x\":[[3,4],[6,-8]],\"dy\":[[1,2],[1,-1]],\"epsilon\":1e-6}");
	near("dgain", "[1.69705623242,3.39411244787]", 1e-11);
	post("/layernorm", "{\"x\":[1,2,3,4],\"gain\":[2,1,1,1],\"dy\":[1,0,0,0]}");
	near("dx", "[0.536660607786,-0.715536744051,-0.178886869262,0.357763005527]", 1e-11);

	/* A gradient that is zero by nature is exactly zero. */
	post("/layernorm", "{\"x\":[1,2.5,-3,0.1,7],\"dy\":[3,3,3,3,3]}");
	same("dx", "[0,0,0,0,0]");

	post("/rmsnorm", "{\"x\":[3,4],\"jacobian\":true}");
	near("jacobian.values", "[[0.181019345035,-0.135764339071],[-0.135764339071,0.101823480577]]", 1e-11);
	post("/rmsnorm", "{\"x\":[3,4],\"jacobian\":\"dense\",\"gain\":[2,1]}");
	near("jacobian.values.0.1", "-0.271528678142", 1e-11);
	near("jacobian.values.1.0", "-0.135764339071", 1e-11);
	client_close(client);
}
END_TEST

START_TEST(partial_sums_are_merged_right)
{
	enum { N = 4096 };
	static char body[N * 16 + 100];
	char *at = body + sprintf(body, "{\"x\":[");
	for (int i = 0; i < N; i++)
		at += sprintf(at, "%s7e9,", i % 2 ? "-" : "");
	strcpy(at - 1, "]}");
	open_client();
	post("/layernorm", body);
	for (size_t i = 0; i < N; i++)
		ck_assert_double_eq(json_number_value(json_array_get(client_at(client, "y"), i)), i % 2 ? -1 : 1);
	client_close(client);
}
END_TEST

START_TEST(axes_anywhere)
{
	open_client();
	post("/rmsnorm", "{\"x\":[[1,10],[2,20],[3,30]],\"axes\":[0],\"gain\":[1,2,3],\"dy\":[[1,0],[0,1],[1,1]],\"normalized\":true}");
	json_t *first = json_incref(client->json);
	post("/rmsnorm", "{\"x\":[[1,2,3],[10,20,30]],\"gain\":[1,2,3],\"dy\":[[1,0,1],[0,1,1]],\"normalized\":true}");
	static const char *const parts[] = {"y", "dx", "normalized"};
	for (size_t p = 0; p < 3; p++)
		for (size_t i = 0; i < 3; i++)
			for (size_t j = 0; j < 2; j++) {
				json_t *a = json_array_get(json_array_get(json_object_get(first, parts[p]), i), j);
				json_t *b = json_array_get(json_array_get(client_at(client, parts[p]), j), i);
				ck_assert(json_equal(a, b));
			}
	ck_assert(json_equal(json_object_get(first, "dgain"), client_at(client, "dgain")));
	ck_assert(json_equal(json_object_get(first, "stats"), client_at(client, "stats")));
	json_decref(first);

	/* The shapes: dgain that of the axes in ascending order, stats that of the rest. */
	char body[700] = "{\"x\":[", row[] = "[[1,2,3,4],[2,3,4,5],[5,6,7,9]]";
	sprintf(body, "{\"x\":[%s,%s],\"dy\":[%s,%s],\"axes\":[2,1]}", row, row, row, row);
	post("/layernorm", body);
	ck_assert_uint_eq(json_array_size(client_at(client, "dgain")), 3);
	ck_assert_uint_eq(json_array_size(client_at(client, "dgain.0")), 4);
	ck_assert_uint_eq(json_array_size(client_at(client, "stats.mean")), 2);
	same("meta.axes", "[1,2]");
	sprintf(body, "{\"x\":[%s,%s],\"dy\":[%s,%s],\"axes\":[0,-1],\"groups\":2,\"jacobian\":true}", row, row, row, row);
	post("/layernorm", body);
	ck_assert_uint_eq(json_array_size(client_at(client, "dgain")), 2);
	ck_assert_uint_eq(json_array_size(client_at(client, "dgain.0")), 4);
	ck_assert_uint_eq(json_array_size(client_at(client, "stats.mean")), 3);
	ck_assert_uint_eq(json_array_size(client_at(client, "stats.mean.0")), 2);
	ck_assert_uint_eq(json_array_size(client_at(client, "jacobian.values.0.0")), 4); /* 2 · 4 / 2 features */
	same("meta.features", "4");
	same("meta.rows", "6");
	client_close(client);
}
END_TEST

/* dx = Jᵀ dy, jvp = J t, both forms of the Jacobian agree, row by row. */
START_TEST(gradients_and_jacobians_agree)
{
	static const char *const paths[] = {"/rmsnorm", "/layernorm"}, *const placements[] = {"inside_sqrt", "outside_sqrt", "clamp"};
	static const double dy[] = {1, -2, 0.5, 3}, tangent[] = {0.25, 1, -1, 2};
	open_client();
	for (int k = 0; k < 6; k++) {
		char body[400], structured[400];
		snprintf(body, sizeof body,
		         "{\"x\":[[1,2,-3,0.5],[0.1,0,0.2,0.3]],\"gain\":[1,2,0.5,-1],\"epsilon\":0.15,\"epsilon_placement\":\"%s\",\"jacobian\":\"dense\","
		         "\"dy\":[[1,-2,0.5,3],[1,-2,0.5,3]],\"tangent\":[[0.25,1,-1,2],[0.25,1,-1,2]]}", placements[k / 2]);
		snprintf(structured, sizeof structured, "{\"x\":[[1,2,-3,0.5],[0.1,0,0.2,0.3]],\"gain\":[1,2,0.5,-1],\"epsilon\":0.15,\"epsilon_placement\":\"%s\",\"jacobian\":\"structured\"}",
		         placements[k / 2]);
		post(paths[k % 2], body);
		json_t *first = json_incref(client->json);
		post(paths[k % 2], structured);
		ck_assert_str_eq(client_text(client, "jacobian.form"), "diagonal_minus_low_rank");
		for (int row = 0; row < 2; row++) {
			double dx[4] = {0}, jvp[4] = {0};
			for (int i = 0; i < 4; i++)
				for (int j = 0; j < 4; j++) {
					char at[60];
					snprintf(at, sizeof at, "jacobian.values.%d.%d.%d", row, i, j);
					double dense = json_number_value(json_at(first, at)), product = 0;
					dx[j] += dense * dy[i];
					jvp[i] += dense * tangent[j];
					for (int r = 0; r < 1 + k % 2; r++) {
						char left[60], right[60];
						snprintf(left, sizeof left, "jacobian.left.%d.%d.%d", row, i, r);
						snprintf(right, sizeof right, "jacobian.right.%d.%d.%d", row, j, r);
						product += client_number(client, left) * client_number(client, right);
					}
					snprintf(at, sizeof at, "jacobian.diagonal.%d.%d", row, i);
					double diagonal = i == j ? client_number(client, at) : 0;
					ck_assert_double_eq_tol(diagonal - product, dense, 1e-14 * (fabs(diagonal) + fabs(product) + 1e-3));
				}
			for (int i = 0; i < 4; i++) {
				char at[40];
				snprintf(at, sizeof at, "dx.%d.%d", row, i);
				ck_assert_double_eq_tol(json_number_value(json_at(first, at)), dx[i], 1e-13);
				snprintf(at, sizeof at, "jvp.%d.%d", row, i);
				ck_assert_double_eq_tol(json_number_value(json_at(first, at)), jvp[i], 1e-13);
			}
		}
		json_decref(first);
	}
	client_close(client);
}
END_TEST

START_TEST(laws)
{
	open_client();
	/* LayerNorm does not see a shift: J·1 = 0. */
	post("/layernorm", "{\"x\":[1,2.5,-3,0.1],\"gain\":[2,1,0.5,3],\"tangent\":[1,1,1,1]}");
	same("jvp", "[0,0,0,0]");
	/* RMSNorm with gain one: J·x = ε·x/rms³, and J is symmetric. */
	post("/rmsnorm", "{\"x\":[1,2.5,-3,0.1],\"tangent\":[1,2.5,-3,0.1],\"jacobian\":true,\"epsilon\":0.01}");
	double rms = client_number(client, "stats.rms"), x[] = {1, 2.5, -3, 0.1};
	for (int i = 0; i < 4; i++) {
		char a[40], b[40];
		snprintf(a, sizeof a, "jvp.%d", i);
		ck_assert_double_eq_tol(client_number(client, a), 0.01 * x[i] / (rms * rms * rms), 1e-17);
		for (int j = 0; j < 4; j++) {
			snprintf(a, sizeof a, "jacobian.values.%d.%d", i, j);
			snprintf(b, sizeof b, "jacobian.values.%d.%d", j, i);
			ck_assert_double_eq(client_number(client, a), client_number(client, b));
		}
	}
	client_close(client);
}
END_TEST

START_TEST(what_was_asked_for_and_no_more)
{
	open_client();
	post("/layernorm", "{\"x\":[1,2]}");
	ck_assert_uint_eq(json_object_size(client->json), 3); /* y, stats, meta */
	post("/layernorm", "{\"x\":[1,2],\"jacobian\":\"none\",\"normalized\":false}");
	ck_assert_uint_eq(json_object_size(client->json), 3);
	post("/layernorm", "{\"x\":[1,2],\"jacobian\":false}");
	ck_assert_uint_eq(json_object_size(client->json), 3);
	post("/layernorm", "{\"x\":[[1,2],[3,5]],\"dy\":[[1,0],[0,1]]}"); /* also without a gain or bias, or with numbers */
	ck_assert_uint_eq(json_array_size(client_at(client, "dgain")), 2);
	same("dbias", "[1,1]");
	post("/layernorm", "{\"x\":[[1,2],[3,5]],\"dy\":[[1,0],[0,1]],\"gain\":2,\"bias\":1}");
	ck_assert_uint_eq(json_array_size(client_at(client, "dgain")), 2);
	post("/rmsnorm", "{\"x\":[1,2],\"dy\":[1,0]}");
	ck_assert_ptr_null(client_at(client, "dbias"));
	client_close(client);
}
END_TEST

START_TEST(comparison)
{
	open_client();
	post("/rmsnorm", "{\"x\":[[3,4],[4,3]],\"epsilon\":0,\"dtype\":\"float32\",\"reference\":[[0.8485281,1.1313709],[1.1313709,0.9]]}");
	same("comparison.y.argmax", "[1,1]");
	ck_assert_double_eq_tol(client_number(client, "comparison.y.max_abs"), 0.0514719, 1e-6);
	ck_assert_double_eq_tol(client_number(client, "comparison.y.max_rel"), 0.0514719 / 0.9, 1e-6);
	ck_assert_double_eq_tol(client_number(client, "comparison.y.max_ulp"), 0.0514719 * 0x1p24, 1e2);
	same("comparison.y.allclose", "false");
	post("/rmsnorm", "{\"x\":[[3,4],[4,3]],\"epsilon\":0,\"reference\":{\"shape\":[2,2],\"data\":[0.85,1.13,1.13,0.85]},\"rtol\":0.01}");
	same("comparison.y.allclose", "true");
	post("/layernorm", "{\"x\":[1,2],\"dy\":[1,0],\"reference\":{\"dx\":[0,0],\"dbias\":[1,0]}}");
	ck_assert_uint_eq(json_object_size(client_at(client, "comparison")), 2);
	same("comparison.dbias.max_abs", "0");
	same("comparison.dx.max_rel", "null"); /* the reference is 0 */
	post("/layernorm", "{\"x\":[1,2],\"reference\":[0,0],\"nonfinite\":\"string\"}");
	same("comparison.y.max_rel", "\"Infinity\"");
	client_close(client);
}
END_TEST

TEST_MAIN(meta_says_everything, conventions, fields_beside_a_convention_win, names_of_gain_and_bias, machine_epsilon, faults_from_the_field,
          partial_sums_are_merged_right, axes_anywhere, gradients_and_jacobians_agree, laws, what_was_asked_for_and_no_more, comparison)
