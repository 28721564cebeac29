/* Tensors on their way through: forms, dtypes, rounding on entry, non-finite values, ranks, empty ones. */
#include "api/json/base64.h"
#include "core/dtype.h"
#include "tests/support/api_client.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the answer's value at path is this JSON. */
static void expect(struct client *client, const char *path, const char *json)
{
	json_t *want = json_loads(json, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL), *got = client_at(client, path);
	ck_assert_msg(want != NULL, "%s", json);
	if (!json_equal(got, want))
		ck_abort_msg("%s is %s, not %s (%s)", path, got ? json_dumps(got, JSON_ENCODE_ANY) : "absent", json, client_text(client, "detail"));
	json_decref(want);
}

static void post(struct client *client, const char *path, const char *body)
{
	int status = client_post(client, path, body);
	ck_assert_msg(status == 200, "%s: %d %s", body, status, client_text(client, "detail"));
}

/* The identity, so that what goes in comes out: x + 0. */
#define ECHO(x) "{\"x\":" x ",\"update\":" x ",\"update_scale\":0}"

START_TEST(answers_take_the_form_of_x)
{
	struct client *client = client_open();
	post(client, "/residual", "{\"x\":[[1,2],[3,4]],\"update\":{\"shape\":[2,2],\"data\":[1,1,1,1]}}");
	expect(client, "y", "[[2,3],[4,5]]");
	post(client, "/residual", "{\"x\":{\"shape\":[2,2],\"data\":[1,2,3,4]},\"update\":[[1,1],[1,1]],\"sublayer_jacobian\":2}");
	expect(client, "y", "{\"shape\":[2,2],\"data\":[2,3,4,5]}");
	expect(client, "jacobian.total", "{\"shape\":[],\"data\":[3]}");
	post(client, "/residual", "{\"x\":{\"shape\":[2],\"dtype\":\"float32\",\"base64\":\"AACAPwAAAEA=\"},\"update\":[0,1]}");
	expect(client, "y", "{\"shape\":[2],\"dtype\":\"float32\",\"base64\":\"AACAPwAAQEA=\"}");
	expect(client, "meta.dtype", "\"float32\"");
	post(client, "/rmsnorm", "{\"x\":[3,4],\"epsilon\":0,\"format\":\"flat\"}");
	ck_assert_uint_eq(json_array_size(client_at(client, "y.data")), 2);
	expect(client, "stats.rms.shape", "[]");
	post(client, "/rmsnorm", "{\"x\":{\"shape\":[2],\"data\":[3,4]},\"format\":\"nested\"}");
	ck_assert_uint_eq(json_array_size(client_at(client, "y")), 2);
	ck_assert(json_is_number(client_at(client, "stats.rms")));
	client_close(client);
}
END_TEST

START_TEST(every_rank)
{
	char body[400];
	struct client *client = client_open();
	for (int rank = 1; rank <= 8; rank++) {
		char x[64] = "";
		for (int i = 0; i < rank; i++)
			strcat(x, "[");
		strcat(x, "3,4");
		for (int i = 0; i < rank; i++)
			strcat(x, "]");
		snprintf(body, sizeof body, "{\"x\":%s,\"update\":%s,\"update_scale\":0}", x, x);
		post(client, "/residual", body);
		expect(client, "y", x);
		snprintf(body, sizeof body, "{\"x\":%s,\"jacobian\":\"dense\"}", x); /* rank 9 at most */
		post(client, "/rmsnorm", body);
		json_t *values = client_at(client, "jacobian.values");
		for (int i = 0; i < rank + 1; i++)
			values = json_array_get(values, 0);
		ck_assert(json_is_number(values));
	}
	client_close(client);
}
END_TEST

START_TEST(numbers_are_rounded_once_on_entry)
{
	struct client *client = client_open();
	/* Just above the midpoint of two float32 numbers: rounding to float64 first would make it a tie, then even. */
	post(client, "/residual", "{\"x\":[1.00000005960464477540],\"update\":[0],\"dtype\":\"float32\"}");
	expect(client, "y", "[1.0000001]");
	post(client, "/residual", "{\"dtype\":\"float32\",\"x\":[0.1,16777217,1e-45],\"update\":[0,0,0]}");
	ck_assert_ptr_nonnull(memmem(client->answer.body, client->answer.body_len, "\"y\":[0.1,16777216,1e-45]", 24));
	post(client, "/residual", "{\"x\":[1,257,0.1],\"update\":[0,0,0],\"dtype\":\"bfloat16\"}");
	expect(client, "y", "[1,256,0.100097656]");
	post(client, "/residual", "{\"x\":[2049,0.1,6e-8],\"update\":[0,0,0],\"dtype\":\"float16\"}");
	expect(client, "y", "[2048,0.099975586,5.9604645e-8]");
	/* param_dtype rounds gains only, and a number that stands for one. */
	post(client, "/rmsnorm", "{\"x\":[1],\"epsilon\":0,\"gain\":[0.1],\"param_dtype\":\"bfloat16\"}");
	expect(client, "y", "[0.10009765625]");
	post(client, "/rmsnorm", "{\"x\":[1],\"epsilon\":0,\"gain\":0.1,\"param_dtype\":\"bfloat16\"}");
	expect(client, "y", "[0.10009765625]");
	expect(client, "meta.gain", "{\"kind\":\"number\",\"offset\":0}");
	post(client, "/rmsnorm", "{\"x\":[1],\"epsilon\":0,\"gain\":{\"shape\":[1],\"data\":[0.1]},\"param_dtype\":\"bfloat16\"}");
	expect(client, "y", "[0.10009765625]");
	/* The key of the dtype spelled with an escape is the same key. */
	post(client, "/residual", "{\"d\\u0074ype\":\"bfloat16\",\"x\":[0.1],\"update\":[0]}");
	expect(client, "y", "[0.100097656]");
	/* epsilon and scales are not tensors. */
	post(client, "/residual", "{\"dtype\":\"bfloat16\",\"x\":[1],\"update\":[0],\"skip_scale\":0.1}");
	expect(client, "meta.skip_scale", "0.1");
	client_close(client);
}
END_TEST

START_TEST(numbers_in_and_out)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"-0", "-0.0"}, {"-0.0", "-0.0"}, {"0", "0"}, {"1e-400", "0"}, {"-1e-400", "-0.0"}, {"12345678901234567890", "12345678901234567000"},
		{"1e21", "1e+21"}, {"100000000000000000000", "100000000000000000000"}, {"0.00001", "0.00001"}, {"0.000001", "0.000001"},
		{"1E-7", "1e-7"}, {"5e-324", "5e-324"}, {"1.7976931348623157e308", "1.7976931348623157e+308"}, {"555557.5", "555557.5"},
		{"9e-07", "9e-7"}, {"0.96", "0.96"}, {"3.0", "3"}, {"9007199254740993", "9007199254740992"},
	};
	struct client *client = client_open();
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char body[200], want[80];
		snprintf(body, sizeof body, "{\"x\":[%s],\"update\":[-0.0]}", rows[i].in);
		post(client, "/residual", body);
		snprintf(want, sizeof want, "{\"y\":[%s],", rows[i].out);
		ck_assert_msg(memcmp(client->answer.body, want, strlen(want)) == 0, "%s: %.60s", rows[i].in, client->answer.body);
	}
	client_close(client);
}
END_TEST

START_TEST(base64_of_every_dtype)
{
	static const char *const names[] = {"float64", "float32", "bfloat16", "float16"};
	static const double values[] = {0, -0.0, 1, -1.5, 0.333251953125, 1024, 6.103515625e-05, 32768};
	enum { N = sizeof values / sizeof *values };
	struct client *client = client_open();
	for (int dtype = 0; dtype < 4; dtype++) {
		char text[200], body[600], answer[300];
		unsigned char wire[N * 8];
		double storage64[N];
		float storage32[N];
		for (int i = 0; i < N; i++) {
			storage64[i] = nc_dtype_round((enum nc_dtype)dtype, values[i]);
			storage32[i] = (float)storage64[i];
		}
		size_t bytes = N * nc_dtype_wire_bytes((enum nc_dtype)dtype);
		nc_dtype_to_wire((enum nc_dtype)dtype, dtype == NC_FLOAT64 ? (void *)storage64 : (void *)storage32, N, wire);
		*base64_encode(wire, bytes, text) = 0;
		snprintf(body, sizeof body, "{\"x\":{\"shape\":[8],\"dtype\":\"%s\",\"base64\":\"%s\"},\"update\":[-0.0,-0.0,0,0,0,0,0,0]}", names[dtype], text);
		post(client, "/residual", body);
		snprintf(answer, sizeof answer, "\"y\":{\"shape\":[8],\"dtype\":\"%s\",\"base64\":\"%s\"}", names[dtype], text);
		/* 0 + −0 is 0, −0 + −0 is −0. */
		ck_assert_msg(memmem(client->answer.body, client->answer.body_len, answer, strlen(answer)) != NULL, "%.300s", client->answer.body);
		expect(client, "meta.dtype", dtype == 0 ? "\"float64\"" : dtype == 1 ? "\"float32\"" : dtype == 2 ? "\"bfloat16\"" : "\"float16\"");
	}
	/* Another dtype than the request's is rounded to it; without one of its own it has the request's. */
	post(client, "/residual", "{\"dtype\":\"bfloat16\",\"x\":{\"shape\":[1],\"dtype\":\"float32\",\"base64\":\"zczMPQ==\"},\"update\":[0],\"format\":\"nested\"}");
	expect(client, "y", "[0.100097656]");
	post(client, "/residual", "{\"x\":[0],\"dtype\":\"float32\",\"update\":{\"shape\":[1],\"base64\":\"zczMPQ==\"}}");
	expect(client, "y", "[0.1]");
	/* Slashes may be escaped. */
	post(client, "/residual", "{\"x\":{\"shape\":[1],\"dtype\":\"float32\",\"base64\":\"\\/\\/9\\/Pw==\"},\"update\":[0],\"format\":\"nested\"}");
	expect(client, "y", "[0.99999994]");
	/* Stats of a narrow dtype are float32. */
	post(client, "/rmsnorm", "{\"x\":[1,2],\"dtype\":\"bfloat16\",\"format\":\"base64\"}");
	expect(client, "stats.rms.dtype", "\"float32\"");
	expect(client, "y.dtype", "\"bfloat16\"");
	/* A base64 x makes the dtype of the others, wherever it stands. */
	post(client, "/residual", "{\"update\":[0.1],\"x\":{\"shape\":[1],\"base64\":\"AAAAAA==\",\"dtype\":\"float32\"},\"format\":\"nested\"}");
	expect(client, "y", "[0.1]");
	expect(client, "meta.dtype", "\"float32\"");
	client_close(client);
}
END_TEST

START_TEST(nonfinite_values)
{
	struct client *client = client_open();
	post(client, "/residual", "{\"x\":[1,\"NaN\",\"Infinity\",\"-Infinity\"],\"update\":[1,1,1,1],\"nonfinite\":\"string\"}");
	expect(client, "y", "[2,\"NaN\",\"Infinity\",\"-Infinity\"]");
	post(client, "/residual", "{\"x\":[[\"NaN\",1]],\"update\":[[1,1]],\"nonfinite\":\"string\",\"format\":\"flat\"}");
	expect(client, "y.data", "[\"NaN\",2]");
	post(client, "/residual", "{\"x\":[1e308],\"update\":[1e308],\"nonfinite\":\"string\"}");
	expect(client, "y", "[\"Infinity\"]");
	post(client, "/residual", "{\"x\":{\"shape\":[2],\"dtype\":\"float32\",\"base64\":\"AADAfwAAgP8=\"},\"update\":[0,0],\"nonfinite\":\"string\",\"format\":\"nested\"}");
	expect(client, "y", "[\"NaN\",\"-Infinity\"]");
	post(client, "/residual", "{\"x\":[1e308],\"update\":[1e308],\"nonfinite\":\"string\",\"format\":\"base64\"}");
	expect(client, "y.base64", "\"AAAAAAAA8H8=\"");
	ck_assert_int_eq(client_post(client, "/residual", "{\"x\":[1,1e308],\"update\":[1,1e308],\"format\":\"base64\"}"), 422);
	ck_assert_str_eq(client_text(client, "errors.0.pointer"), "/y/1");
	ck_assert_int_eq(client_post(client, "/residual", "{\"x\":[[1,1],[1,1e308]],\"update\":[[1,1],[1,1e308]],\"format\":\"flat\"}"), 422);
	ck_assert_str_eq(client_text(client, "errors.0.pointer"), "/y/1/1");
	/* A number that stands for a tensor may be one too. */
	post(client, "/rmsnorm", "{\"x\":[3,4],\"gain\":\"Infinity\",\"nonfinite\":\"string\"}");
	expect(client, "y", "[\"Infinity\",\"Infinity\"]");
	/* A row with one spoils no other. */
	post(client, "/rmsnorm", "{\"x\":[[3,4],[\"NaN\",1],[3,4]],\"epsilon\":0,\"nonfinite\":\"string\"}");
	ck_assert(json_equal(client_at(client, "y.0"), client_at(client, "y.2")));
	expect(client, "y.1.1", "\"NaN\"");
	client_close(client);
}
END_TEST

START_TEST(a_variance_out_of_range)
{
	struct client *client = client_open();
	post(client, "/layernorm", "{\"x\":[1e300,-1e300]}");
	expect(client, "stats.variance", "null");
	expect(client, "stats.std", "1e300");
	expect(client, "y", "[1,-1]");
	post(client, "/layernorm", "{\"x\":[1e300,-1e300],\"nonfinite\":\"string\"}");
	expect(client, "stats.variance", "\"Infinity\"");
	post(client, "/layernorm", "{\"x\":[1e300,-1e300],\"format\":\"base64\"}");
	expect(client, "stats.variance.base64", "\"AAAAAAAA8H8=\"");
	post(client, "/layernorm", "{\"x\":[1e30,-1e30],\"dtype\":\"float32\"}");
	expect(client, "stats.variance", "null");
	expect(client, "y", "[1,-1]");
	client_close(client);
}
END_TEST

START_TEST(empty_tensors)
{
	struct client *client = client_open();
	post(client, "/layernorm", "{\"x\":{\"shape\":[0,2],\"data\":[]},\"dy\":{\"shape\":[0,2],\"data\":[]},\"jacobian\":\"structured\",\"tangent\":{\"shape\":[0,2],\"data\":[]}}");
	expect(client, "y", "{\"shape\":[0,2],\"data\":[]}");
	expect(client, "stats.std", "{\"shape\":[0],\"data\":[]}");
	expect(client, "dgain", "{\"shape\":[2],\"data\":[0,0]}");
	expect(client, "dbias", "{\"shape\":[2],\"data\":[0,0]}");
	expect(client, "jacobian.left", "{\"shape\":[0,2,2],\"data\":[]}");
	expect(client, "meta.rows", "0");
	post(client, "/rmsnorm", "{\"x\":{\"shape\":[2,0,3],\"data\":[]},\"format\":\"nested\"}");
	expect(client, "y", "[[],[]]");
	post(client, "/rmsnorm", "{\"x\":{\"shape\":[0,3],\"base64\":\"\"},\"reference\":{\"shape\":[0,3],\"data\":[]}}");
	expect(client, "y.base64", "\"\"");
	expect(client, "comparison.y", "{\"max_abs\":0,\"argmax\":null,\"max_rel\":0,\"max_ulp\":0,\"allclose\":true}");
	post(client, "/residual", "{\"x\":{\"shape\":[3,0],\"data\":[]},\"update\":{\"shape\":[3,0],\"data\":[]},\"dy\":{\"shape\":[3,0],\"data\":[]},\"sublayer_jacobian\":2}");
	expect(client, "dx", "{\"shape\":[3,0],\"data\":[]}");
	expect(client, "jacobian.total.data", "[3]");
	post(client, "/residual", "{\"x\":{\"shape\":[3,0],\"data\":[]},\"update\":{\"shape\":[3,0],\"data\":[]},\"sublayer_jacobian\":{\"shape\":[0],\"data\":[]}}");
	expect(client, "jacobian.total", "{\"shape\":[0],\"data\":[]}");
	client_close(client);
}
END_TEST

START_TEST(limits)
{
	struct api_config config = client_limits;
	char body[20000], *at = body;
	config.max_elements = 1000;
	config.max_jacobian = 100;
	config.max_answer = 100000;
	struct client *client = client_open_with(&config, NULL);
	at += sprintf(at, "{\"x\":[");
	for (int i = 0; i < 1000; i++)
		at += sprintf(at, "%d,", i);
	strcpy(at - 1, "]}");
	post(client, "/rmsnorm", body);
	strcpy(at - 1, ",7]}");
	ck_assert_int_eq(client_post(client, "/rmsnorm", body), 422);
	ck_assert_str_eq(client_text(client, "type"), "urn:normd:problem:limit_exceeded");
	ck_assert_str_eq(client_text(client, "errors.0.pointer"), "/x/1000");
	ck_assert_ptr_nonnull(strstr(client_text(client, "detail"), "--max-elements"));

	post(client, "/rmsnorm", "{\"x\":[1,2,3,4,5,6,7,8,9,10],\"jacobian\":\"dense\"}");
	ck_assert_int_eq(client_post(client, "/rmsnorm", "{\"x\":[1,2,3,4,5,6,7,8,9,10,11],\"jacobian\":\"dense\"}"), 422);
	ck_assert_str_eq(client_text(client, "errors.0.pointer"), "/jacobian");
	ck_assert_ptr_nonnull(strstr(client_text(client, "detail"), "structured"));
	ck_assert_ptr_nonnull(strstr(client_text(client, "detail"), "--max-jacobian"));
	post(client, "/rmsnorm", "{\"x\":[1,2,3,4,5,6,7,8,9,10,11],\"jacobian\":\"structured\"}");

	client->config.max_answer = 20000;
	struct client *small = client_open_with(&client->config, NULL);
	strcpy(at - 1, "]}");
	ck_assert_int_eq(client_post(small, "/rmsnorm", body), 422);
	ck_assert_ptr_nonnull(strstr(client_text(small, "detail"), "--max-answer"));
	at = stpcpy(at - 1, "],\"format\":\"base64\"}");
	post(small, "/rmsnorm", body);
	client_close(small);
	client_close(client);
}
END_TEST

/* At this size a dense Jacobian would be 2 GiB. */
START_TEST(a_structured_jacobian_of_many_features)
{
	enum { N = 16384 };
	char *body = malloc(N * 8 + 100), *at = body + sprintf(body, "{\"jacobian\":\"structured\",\"x\":[");
	for (int i = 0; i < N; i++)
		at += sprintf(at, "%d,", i % 97 - 48);
	strcpy(at - 1, "]}");
	struct client *client = client_open();
	post(client, "/layernorm", body);
	ck_assert_uint_eq(json_array_size(client_at(client, "jacobian.left")), N);
	ck_assert_uint_eq(json_array_size(client_at(client, "jacobian.left.0")), 2);
	strcpy(strstr(at - 1, "]}"), "]}");
	memcpy(body, "{\"jacobian\":\"dense\",     \"x\":[", 30);
	ck_assert_int_eq(client_post(client, "/layernorm", body), 422);
	free(body);
	client_close(client);
}
END_TEST

TEST_MAIN(answers_take_the_form_of_x, every_rank, numbers_are_rounded_once_on_entry, numbers_in_and_out, base64_of_every_dtype, nonfinite_values,
          a_variance_out_of_range, empty_tensors, limits, a_structured_jacobian_of_many_features)
