/* POST /diagnose as a user meets it: ports of real models that went wrong, settings that reproduce, and what is refused. */
#include "tests/support/api_client.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define X "[[3,4,-1,2],[0.002,-0.001,0.003,0.0005]]"
#define GAIN "[0.5,-0.25,0.125,0.75]"

/* y of X and GAIN at an endpoint, as text. */
static char *output_of(struct client *client, const char *path, const char *fields)
{
	char body[1000];

	snprintf(body, sizeof(body), "{\"x\":" X ",\"gain\":" GAIN ",\"dtype\":\"float32\",%s}", fields);
	ck_assert_int_eq(client_post(client, path, body), 200);
	return json_dumps(client_at(client, "y"), JSON_REAL_PRECISION(9));
}

static void diagnose(struct client *client, const char *y, const char *more)
{
	char body[2000];

	snprintf(body, sizeof(body), "{\"x\":" X ",\"gain\":" GAIN ",\"dtype\":\"float32\",\"y\":%s%s}", y, more);
	ck_assert_msg(client_post(client, "/diagnose", body) == 200, "%s", client_text(client, "detail"));
}

START_TEST(a_port_that_forgot_one_plus_w)
{
	struct client *client = client_open();
	char *y = output_of(client, "/rmsnorm", "\"epsilon\":1e-6");

	diagnose(client, y, ",\"convention\":\"gemma\"");
	ck_assert(json_is_true(client_at(client, "match")));
	ck_assert_str_eq(client_text(client, "advice"), "To reach gemma, multiply by 1 + gain.");
	ck_assert(client_number(client, "explanations.0.settings.gain_offset") == 0);
	ck_assert(client_number(client, "explanations.0.settings.epsilon") == 1e-6);
	free(y);
	client_close(client);
}
END_TEST

/* The settings of an explanation, at its endpoint, give y again. */
static void assert_reproduced(struct client *client, json_t *explanation, const char *y)
{
	char *settings = json_dumps(json_object_get(explanation, "settings"), JSON_REAL_PRECISION(17));

	ck_assert_ptr_nonnull(settings);
	settings[strlen(settings) - 1] = 0; /* without the braces */
	char *again = output_of(client, json_string_value(json_object_get(explanation, "endpoint")), settings + 1);
	json_t *a = json_loads(y, 0, NULL), *b = json_loads(again, 0, NULL);
	for (size_t row = 0; row < 2; row++)
		for (size_t k = 0; k < 4; k++) {
			double want = json_number_value(json_array_get(json_array_get(a, row), k));
			double have = json_number_value(json_array_get(json_array_get(b, row), k));
			ck_assert_msg(fabs(want - have) <= 8 * 0x1p-23 * fabs(want), "%s: %.9g not %.9g", settings + 1, have, want);
		}
	json_decref(a);
	json_decref(b);
	free(settings);
	free(again);
}

/* Whatever explains y, the best of all and each that is tied with it: its settings give y again. */
START_TEST(settings_reproduce)
{
	static const struct {
		const char *path, *fields;
	} cases[] = {
		{"/rmsnorm", "\"convention\":\"llama\""},
		{"/rmsnorm", "\"convention\":\"gemma\""},
		{"/rmsnorm", "\"convention\":\"t5\""},
		{"/rmsnorm", "\"epsilon\":1e-3,\"epsilon_placement\":\"outside_sqrt\""},
		{"/rmsnorm", "\"epsilon\":0.01,\"epsilon_placement\":\"clamp\""},
		{"/rmsnorm", "\"epsilon\":0.00037"},
		{"/layernorm", "\"convention\":\"gpt2\""},
		{"/layernorm", "\"convention\":\"bert\""},
		{"/layernorm", "\"epsilon\":1e-3"},
		{"/layernorm", "\"epsilon\":1e-6,\"epsilon_placement\":\"outside_sqrt\""},
		{"/rmsnorm", "\"convention\":\"torch_rms\""},
		{"/rmsnorm", "\"groups\":2,\"epsilon\":1e-5"},
	};
	struct client *client = client_open();

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *y = output_of(client, cases[i].path, cases[i].fields);

		diagnose(client, y, "");
		ck_assert_msg(json_is_true(client_at(client, "match")), "%s %s", cases[i].path, cases[i].fields);
		ck_assert_str_eq(client_text(client, "explanations.0.endpoint"), cases[i].path);
		json_t *explanations = json_deep_copy(client_at(client, "explanations")), *explanation;
		size_t k;
		json_array_foreach(explanations, k, explanation)
			if (json_number_value(json_object_get(explanation, "outside")) == 0 &&
			    json_is_string(json_object_get(explanation, "endpoint")))
				assert_reproduced(client, explanation, y);
		json_decref(explanations);
		free(y);
	}
	client_close(client);
}
END_TEST

START_TEST(nothing_matches)
{
	struct client *client = client_open();
	char *y = output_of(client, "/layernorm", "\"epsilon\":1e-5");

	diagnose(client, "[[1,-2,3,0.25],[0.5,0.75,-4,2]]", "");
	ck_assert(json_is_false(client_at(client, "match")));
	ck_assert(json_is_object(client_at(client, "departure")));
	ck_assert(strlen(client_text(client, "departure.pattern")) > 0);

	char *last = strrchr(y, ','); /* one element spoiled */
	ck_assert_ptr_nonnull(last);
	char spoiled[500];
	snprintf(spoiled, sizeof(spoiled), "%.*s,0.5]]", (int)(last - y), y);
	diagnose(client, spoiled, "");
	ck_assert(json_is_false(client_at(client, "match")));
	ck_assert(client_number(client, "departure.row") == 1 && client_number(client, "departure.element") == 3);
	ck_assert(client_number(client, "departure.count") == 1);
	free(y);
	client_close(client);
}
END_TEST

START_TEST(what_is_refused)
{
	static const struct {
		const char *body, *pointer;
	} cases[] = {
		{"{\"x\":[1,2]}", "/y"},
		{"{\"x\":[1,2],\"y\":[1,2,3]}", "/y"},
		{"{\"x\":[1,2],\"y\":[1,2],\"dy\":[1,1]}", "/dx"},
		{"{\"x\":[1,2],\"y\":[1,2],\"epsilon\":1}", "/epsilon"},
		{"{\"x\":[1,2],\"y\":[1,2],\"convention\":\"gema\"}", "/convention"},
		{"{\"x\":[1,2],\"y\":[1,2],\"gain\":[1,2,3]}", "/gain"},
		{"{\"x\":[1,\"NaN\"],\"y\":[1,2],\"nonfinite\":\"string\"}", "/x/1"},
		{"{\"x\":{\"shape\":[0,4],\"data\":[]},\"y\":{\"shape\":[0,4],\"data\":[]}}", "/x"},
	};
	struct client *client = client_open();

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		ck_assert_msg(client_post(client, "/diagnose", cases[i].body) == 422, "%s", cases[i].body);
		ck_assert_str_eq(client_text(client, "errors.0.pointer"), cases[i].pointer);
	}
	client_close(client);
}
END_TEST

TEST_MAIN(a_port_that_forgot_one_plus_w, settings_reproduce, nothing_matches, what_is_refused)
