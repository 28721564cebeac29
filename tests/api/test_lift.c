/* The lift on its own: what becomes of numbers, what stays, and where faults are found. */
#include "api/call.h"
#include "api/json/json_lift.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct nc_arena *arena;
static struct api_request request;
static struct api api;
static char *body;

/* Lifts text as a request's body, in memory of exactly its length. */
static struct call lift(const char *text)
{
	if (!arena)
		arena = nc_arena_create((size_t)1 << 28);
	nc_arena_reset(arena, 0);
	free(body);
	size_t len = strlen(text);
	body = malloc(len ? len : 1);
	memcpy(body, text, len);
	request = (struct api_request){.body = body, .body_len = len, .request_id = "", .arena = arena};
	struct call call = {.api = &api, .request = &request, .arena = arena};
	call.lift.options = lift_peek(body, len);
	call.lift.options.max_elements = 1000;
	call.strings = call.lift.options.strings;
	lift_body(&call);
	return call;
}

static void expect_envelope(const char *text, const char *envelope)
{
	struct call call = lift(text);
	ck_assert_msg(!call.problem.set, "%s: %s", text, call.problem.detail);
	ck_assert_msg(call.lift.envelope_len == strlen(envelope) && memcmp(call.lift.envelope, envelope, strlen(envelope)) == 0,
	              "%s became %.*s", text, (int)call.lift.envelope_len, call.lift.envelope);
}

START_TEST(envelopes)
{
	expect_envelope("{\"x\":[1,2]}", "{\"x\":[0]}");
	expect_envelope(" { \"x\" : [ [1 , 2],[3,4] ] , \"e\":1e-5 } ", " { \"x\" : [0] , \"e\":[1] } ");
	expect_envelope("{\"a\":[],\"b\":[[],[]],\"c\":[{},{\"d\":[3]}]}", "{\"a\":[],\"b\":[[],[]],\"c\":[{},{\"d\":[0]}]}");
	expect_envelope("{\"wrt\":[\"x\",\"params\"],\"n\":null,\"t\":true}", "{\"wrt\":[\"x\",\"params\"],\"n\":null,\"t\":true}");
	expect_envelope("[\"a\",1,[2]]", "[\"a\",[0],[1]]");
	expect_envelope("5", "[0]");
	expect_envelope("{\"s\":\"[1,2]\\\"\",\"base64\":\"AAAA\"}", "{\"s\":\"[1,2]\\\"\",\"base64\":[0]}");
	expect_envelope("{\"x\":[1,[2]],\"y\":[[1,2],[3]]}", "{\"x\":[0],\"y\":[1]}");
	expect_envelope("{\"x\":[\"NaN\",1]}", "{\"x\":[\"NaN\",[0]]}");
	expect_envelope("{\"x\":[\"NaN\",1],\"nonfinite\":\"string\"}", "{\"x\":[0],\"nonfinite\":\"string\"}");
}
END_TEST

START_TEST(shapes_and_values)
{
	struct call call = lift("{\"x\":[[[1,2],[3,4],[5,6]]],\"e\":-2.5}");
	const struct lifted *x = &call.lift.values[0];
	ck_assert_uint_eq(call.lift.count, 2);
	ck_assert_uint_eq(x->tensor.rank, 3);
	ck_assert_uint_eq(x->tensor.shape[0], 1);
	ck_assert_uint_eq(x->tensor.shape[1], 3);
	ck_assert_uint_eq(x->tensor.shape[2], 2);
	ck_assert_uint_eq(x->tensor.count, 6);
	ck_assert_uint_eq((uintptr_t)x->tensor.data % 64, 0);
	for (size_t i = 0; i < 6; i++)
		ck_assert_double_eq(nc_tensor_get(&x->tensor, i), (double)i + 1);
	ck_assert_uint_eq(call.lift.values[1].tensor.rank, 0);
	ck_assert_double_eq(call.lift.values[1].number, -2.5);
	ck_assert_uint_eq(call.lift.elements, 7);

	call = lift("{\"x\":[[[[[[[[7]]]]]]]]}");
	ck_assert_int_eq(call.lift.values[0].fault, LIFT_FINE);
	ck_assert_uint_eq(call.lift.values[0].tensor.rank, 8);
}
END_TEST

START_TEST(dtypes_by_key)
{
	/* The fields that decide stand last, and once with an escape, which the quick scan does not see. */
	static const char *const texts[] = {
		"{\"x\":[0.1],\"gain\":[0.1],\"w_up\":[0.1],\"f\":{\"b_q\":{\"shape\":[1],\"data\":[0.1]}},\"dtype\":\"float32\",\"param_dtype\":\"bfloat16\"}",
		"{\"x\":[0.1],\"gain\":[0.1],\"w_up\":[0.1],\"f\":{\"b_q\":{\"shape\":[1],\"data\":[0.1]}},\"d\\u0074ype\":\"float32\",\"param_dtype\":\"bfloat16\"}",
	};
	const enum nc_dtype want[2][5] = {{NC_FLOAT32, NC_BFLOAT16, NC_BFLOAT16, NC_FLOAT64, NC_BFLOAT16},
	                                  {NC_FLOAT64, NC_BFLOAT16, NC_BFLOAT16, NC_FLOAT64, NC_BFLOAT16}};
	for (size_t t = 0; t < 2; t++) {
		struct call call = lift(texts[t]);
		ck_assert_uint_eq(call.lift.count, 5);
		for (size_t k = 0; k < 5; k++)
			ck_assert_int_eq(call.lift.values[k].tensor.dtype, want[t][k]);
		ck_assert_double_eq(nc_tensor_get(&lift_take(&call, 0, NC_FLOAT32)->tensor, 0), (double)0.1f);
		ck_assert_double_eq(nc_tensor_get(&lift_take(&call, 1, NC_BFLOAT16)->tensor, 0), 0.10009765625);
		ck_assert_double_eq(nc_tensor_get(&lift_take(&call, 0, NC_FLOAT64)->tensor, 0), 0.1);
		ck_assert_double_eq(nc_tensor_get(&lift_take(&call, 0, NC_FLOAT16)->tensor, 0), 0.0999755859375);
	}
	struct call call = lift("{\"epsilon\":0.1}");
	ck_assert_double_eq(lift_take(&call, 0, NC_FLOAT32)->number, (double)0.1f);
	ck_assert_double_eq(lift_take(&call, 0, NC_FLOAT64)->number, 0.1);
}
END_TEST

START_TEST(the_quick_scan)
{
	struct lift_options o;
#define PEEK(text) o = lift_peek(text, strlen(text))
	PEEK("{\"x\":[1],\"dtype\":\"float16\"}");
	ck_assert_int_eq(o.dtype, NC_FLOAT16);
	ck_assert_int_eq(o.param_dtype, NC_FLOAT16);
	PEEK("{\"x\":{\"dtype\":\"bfloat16\",\"base64\":\"AAAA\"}}");
	ck_assert_int_eq(o.dtype, NC_BFLOAT16);
	PEEK("{\"dtype\":\"float32\",\"x\":{\"dtype\":\"bfloat16\",\"base64\":\"AAAA\"}}");
	ck_assert_int_eq(o.dtype, NC_FLOAT32);
	PEEK("{\"update\":{\"dtype\":\"bfloat16\",\"base64\":\"AAAA\"},\"n\":{\"dtype\":\"float16\",\"nonfinite\":\"string\"}}");
	ck_assert_int_eq(o.dtype, NC_FLOAT64);
	ck_assert(!o.strings);
	PEEK("{\"a\":\"dtype\",\"b\":[\"}{\",{\"c\":{}}],\"nonfinite\" : \"string\"}");
	ck_assert(o.strings);
	PEEK("{\"a\":\"\\\"dtype\\\":\\\"float16\"}");
	ck_assert_int_eq(o.dtype, NC_FLOAT64);
	PEEK("\"");
	PEEK("{\"dtype\":\"");
	PEEK("{\"dtype\":");
	PEEK("");
#undef PEEK
}
END_TEST

static void expect_fault(const char *x, enum lift_fault fault, unsigned depth, size_t first, size_t second)
{
	char text[256];
	snprintf(text, sizeof text, "{\"x\":%s,\"y\":[9]}", x);
	struct call call = lift(text);
	ck_assert_msg(!call.problem.set, "%s: %s", text, call.problem.detail);
	ck_assert_uint_eq(call.lift.count, 2);
	const struct lifted *value = &call.lift.values[0];
	ck_assert_msg(value->fault == fault && value->depth == depth, "%s: fault %d, depth %u", x, value->fault, value->depth);
	if (depth > 0)
		ck_assert_uint_eq(value->at[0], first);
	if (depth > 1)
		ck_assert_uint_eq(value->at[1], second);
	ck_assert_int_eq(call.lift.values[1].fault, LIFT_FINE); /* what follows is lifted all the same */
}

START_TEST(faults)
{
	expect_fault("[[1,2],[3]]", LIFT_RAGGED, 1, 1, 0);
	expect_fault("[[1,2],[3,4,5]]", LIFT_RAGGED, 1, 1, 0);
	expect_fault("[[1,2],[]]", LIFT_RAGGED, 1, 1, 0);
	expect_fault("[[[1],[2]],[[3]]]", LIFT_RAGGED, 1, 1, 0);
	expect_fault("[[[1],[2]],[]]", LIFT_RAGGED, 1, 1, 0);
	expect_fault("[[[1],[2]],[[3],[4,5]]]", LIFT_RAGGED, 2, 1, 1);
	expect_fault("[[1],2]", LIFT_MIXED, 1, 1, 0);
	expect_fault("[1,[2]]", LIFT_MIXED, 1, 1, 0);
	expect_fault("[[1],[[2]]]", LIFT_MIXED, 2, 1, 0);
	expect_fault("[1,null]", LIFT_NOT_NUMBER, 1, 1, 0);
	expect_fault("[1,2,true]", LIFT_NOT_NUMBER, 1, 2, 0);
	expect_fault("[1,{\"a\":[2]}]", LIFT_NOT_NUMBER, 1, 1, 0);
	expect_fault("[1,\"2]\"]", LIFT_NOT_NUMBER, 1, 1, 0);
	expect_fault("[[1],null]", LIFT_NOT_NUMBER, 1, 1, 0);
	expect_fault("[1,\"NaN\"]", LIFT_NONFINITE, 1, 1, 0);
	expect_fault("[[1,2],[3,1e400]]", LIFT_RANGE, 2, 1, 1);
	expect_fault("1e400", LIFT_RANGE, 0, 0, 0);
	expect_fault("[[[[[[[[[1]]]]]]]]]", LIFT_RANK, 0, 0, 0);
}
END_TEST

START_TEST(the_limit_of_elements)
{
	char text[3000] = "{\"x\":[";
	for (int i = 0; i < 1000; i++)
		strcat(text, i ? ",1" : "1");
	strcat(text, "]}");
	struct call call = lift(text);
	ck_assert_int_eq(call.lift.values[0].fault, LIFT_FINE);
	ck_assert_uint_eq(call.lift.values[0].tensor.count, 1000);
	strcpy(text + strlen(text) - 2, ",1]}");
	call = lift(text);
	ck_assert_int_eq(call.lift.values[0].fault, LIFT_TOO_MANY);
	ck_assert_uint_eq(call.lift.values[0].at[0], 1000);
	strcpy(text + strlen(text) - 4, "],\"y\":[1]}");
	call = lift(text);
	ck_assert_int_eq(call.lift.values[1].fault, LIFT_TOO_MANY);
}
END_TEST

static void expect_syntax(const char *text, size_t offset, const char *word)
{
	struct call call = lift(text);
	ck_assert_msg(call.problem.set && call.problem.kind == PROBLEM_bad_json && call.problem.placed, "%s", text);
	ck_assert_msg(call.problem.offset == offset, "%s: offset %zu, %s", text, call.problem.offset, call.problem.detail);
	ck_assert_msg(strstr(call.problem.detail, word) != NULL, "%s: %s", text, call.problem.detail);
}

START_TEST(malformed_text)
{
	expect_syntax("", 0, "empty");
	expect_syntax(" \n", 2, "empty");
	expect_syntax("{", 1, "key");
	expect_syntax("{\"x\"", 4, "colon");
	expect_syntax("{\"x\":", 5, "value");
	expect_syntax("{\"x\":[", 6, "value");
	expect_syntax("{\"x\":[1", 7, "comma");
	expect_syntax("{\"x\":[1,", 8, "number");
	expect_syntax("{\"x\":[1,]}", 8, "number");
	expect_syntax("{\"x\":[,1]}", 6, "value");
	expect_syntax("{\"x\":[1 2]}", 8, "comma");
	expect_syntax("{\"x\":[1,2}", 9, "comma");
	expect_syntax("{\"x\":[[1],[2]", 13, "comma");
	expect_syntax("{\"x\":[[1],]}", 10, "array");
	expect_syntax("{\"x\":[[1] [2]]}", 10, "comma");
	expect_syntax("{\"x\":1]", 6, "comma");
	expect_syntax("{\"x\":1,}", 7, "key");
	expect_syntax("{x:1}", 1, "key");
	expect_syntax("{'x':1}", 1, "key");
	expect_syntax("{\"x\" 1}", 5, "colon");
	expect_syntax("{\"x\":tru}", 5, "value");
	expect_syntax("{\"x\":1} {}", 8, "end");
	expect_syntax("{\"x\":1}]", 7, "end");
	expect_syntax("]", 0, "value");
	expect_syntax("{\"x\":\"abc}", 5, "closed");
	expect_syntax("{\"x\":+1}", 5, "value");
	expect_syntax("{\"x\":.5}", 5, "value");
	expect_syntax("{\"x\":-}", 6, "number");
	expect_syntax("{\"x\":[-]}", 7, "number");
	expect_syntax("{\"x\":01}", 6, "comma");
	expect_syntax("{\"x\":[1.]}", 8, "number");
	expect_syntax("{\"x\":[1e]}", 8, "number");
	expect_syntax("{\"x\":[1,2]\xff}", 10, "0xff");
	expect_syntax("{\"x\":NaN}", 5, "nonfinite");
	expect_syntax("{\"x\":[1,NaN]}", 8, "nonfinite");
	expect_syntax("{\"x\":[NaN]}", 6, "nonfinite");
	expect_syntax("{\"x\":[1,-Infinity]}", 9, "nonfinite");
	expect_syntax("{\"x\":[-Infinity]}", 7, "nonfinite");
	expect_syntax("{\"x\":[[1,2],[3,Infinity]]}", 15, "nonfinite");
}
END_TEST

START_TEST(lines_and_columns)
{
	struct call call = lift("{\n  \"µ\": [1,\n  2 3]}");
	ck_assert_uint_eq(call.problem.line, 3);
	ck_assert_uint_eq(call.problem.column, 5);
	call = lift("{\"µ\" 1}"); /* two bytes, one column */
	ck_assert_uint_eq(call.problem.column, 6);
	ck_assert_uint_eq(call.problem.offset, 6);
}
END_TEST

START_TEST(depth)
{
	char text[400];
	for (int n = 1; n < 100; n++) {
		memset(text, '[', (size_t)n);
		strcpy(text + n, "\"\"");
		memset(text + n + 2, ']', (size_t)n);
		text[2 * n + 2] = 0;
		struct call call = lift(text);
		ck_assert_int_eq(call.problem.set, n > 64);
		if (n > 64) {
			ck_assert_int_eq(call.problem.kind, PROBLEM_too_deep);
			ck_assert_uint_eq(call.problem.offset, 64);
		}
		text[n] = text[n + 1] = '1'; /* the same with a number, which is lifted at once */
		call = lift(text);
		ck_assert_int_eq(call.problem.set, n > 64);
	}
}
END_TEST

START_TEST(positions_map_back)
{
	static const char text[] = "{\"x\":[1,2,3],\"e\":1e-10,\"s\":\"end\"}";
	struct call call = lift(text);
	for (size_t i = 0; i < call.lift.envelope_len; i++)
		if (call.lift.envelope[i] >= 'a') /* letters stand in both texts */
			ck_assert_int_eq(call.lift.envelope[i], text[lift_origin(&call.lift, i)]);
	ck_assert_uint_eq(lift_origin(&call.lift, 100000), strlen(text));
}
END_TEST

START_TEST(long_white_space_is_left_out)
{
	for (int length = 250; length < 262; length++) {
		char text[2000], want[2000];
		int kept = length < 256 ? length : 1;
		snprintf(text, sizeof text, "%*s{%*s\"a\"%*s:[1,%*s2],%*s\"b\" :true}%*s", length, " ", length, " ", length, " ", length, " ",
		         length, " ", length, " ");
		snprintf(want, sizeof want, "%*s{%*s\"a\"%*s:[0],%*s\"b\" :true}%*s", kept, " ", kept, " ", kept, " ", kept, " ", kept, " ");
		expect_envelope(text, want);
		struct call call = lift(text);
		const char *const marks[] = {"{", "\"a", "true", "}"};
		for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
			ck_assert_uint_eq(lift_origin(&call.lift, (size_t)(strstr(want, marks[i]) - want)), (size_t)(strstr(text, marks[i]) - text));
	}
}
END_TEST

START_TEST(base64_is_decoded)
{
	struct call call = lift("{\"x\":{\"base64\":\"+/8\\/\"},\"y\":{\"base64\":\"A\"},\"z\":{\"base64\":\"\"}}");
	ck_assert(call.lift.values[0].bytes);
	ck_assert_uint_eq(call.lift.values[0].tensor.count, 3);
	ck_assert_mem_eq(call.lift.values[0].tensor.data, "\xfb\xff\x3f", 3);
	ck_assert_int_eq(call.lift.values[1].fault, LIFT_BASE64);
	ck_assert_uint_eq(call.lift.values[2].tensor.count, 0);
}
END_TEST

START_TEST(nonfinite_strings)
{
	struct call call = lift("{\"x\":[[\"NaN\",1],[\"Infinity\", \"-Infinity\" ]],\"y\":[1,\"nan\"],\"nonfinite\":\"string\",\"dtype\":\"float16\"}");
	const struct nc_tensor *x = &call.lift.values[0].tensor;
	ck_assert_int_eq(call.lift.values[0].fault, LIFT_FINE);
	ck_assert(isnan(nc_tensor_get(x, 0)));
	ck_assert_double_eq(nc_tensor_get(x, 1), 1);
	ck_assert_double_eq(nc_tensor_get(x, 2), INFINITY);
	ck_assert_double_eq(nc_tensor_get(x, 3), -INFINITY);
	ck_assert_int_eq(call.lift.values[1].fault, LIFT_NOT_NUMBER);
}
END_TEST

TEST_MAIN(envelopes, shapes_and_values, dtypes_by_key, the_quick_scan, faults, the_limit_of_elements, malformed_text, lines_and_columns,
          depth, positions_map_back, long_white_space_is_left_out, base64_is_decoded, nonfinite_strings)
