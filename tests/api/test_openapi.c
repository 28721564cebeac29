/* openapi.json: every endpoint is there, every example works as it stands and gives the answer that is shown. */
#include "tests/support/api_client.h"
#include "tests/support/suite.h"

#include <string.h>

static const struct {
	const char *method, *path;
} endpoints[] = {
#define ENDPOINT(method, path, function) {#method, path},
#include "api/endpoints.def"
#undef ENDPOINT
};

static json_t *document(struct client *client)
{
	ck_assert_int_eq(client_get(client, "/openapi.json"), 200);
	ck_assert_str_eq(client->answer.content_type, "application/json");
	ck_assert_ptr_nonnull(client->json);
	return json_incref(client->json);
}

START_TEST(paths_are_the_endpoints)
{
	struct client *client = client_open();
	json_t *doc = document(client), *paths = json_object_get(doc, "paths");
	ck_assert_str_eq(json_string_value(json_object_get(doc, "openapi")), "3.1.0");
	ck_assert_uint_eq(json_object_size(paths), sizeof endpoints / sizeof *endpoints);
	for (size_t i = 0; i < sizeof endpoints / sizeof *endpoints; i++) {
		json_t *path = json_object_get(paths, endpoints[i].path);
		ck_assert_msg(path != NULL, "%s is not in openapi.json", endpoints[i].path);
		ck_assert_ptr_nonnull(json_object_get(path, strcmp(endpoints[i].method, "GET") == 0 ? "get" : "post"));
	}
	json_decref(doc);
	client_close(client);
}
END_TEST

/* The version may move on; all else is a function of the request. */
static void drop_version(json_t *value)
{
	const char *key;
	json_t *member;
	size_t i;
	json_object_del(value, "version");
	json_object_foreach(value, key, member)
		drop_version(member);
	json_array_foreach(value, i, member)
		drop_version(member);
}

static void run_examples(struct client *client, const char *path, json_t *operation)
{
	json_t *content = json_at(operation, "requestBody.content");
	json_t *examples = json_object_get(json_object_get(content, "application/json"), "examples"), *example;
	json_t *answers = json_object_get(json_object_get(json_at(operation, "responses.200.content"), "application/json"), "examples");
	const char *name;

	ck_assert_msg(json_object_size(examples) > 0, "%s has no example", path);
	json_object_foreach(examples, name, example) {
		char *text = json_dumps(json_object_get(example, "value"), 0);
		json_t *shown = json_object_get(json_object_get(answers, name), "value");
		ck_assert_msg(client_post(client, path, text) == 200, "%s, %s: %s", path, name, client_text(client, "detail"));
		ck_assert_msg(shown != NULL, "%s, %s: the answer is not shown", path, name);
		drop_version(client->json);
		drop_version(shown);
		if (!json_equal(client->json, shown)) {
			char *got = json_dumps(client->json, 0);
			ck_abort_msg("%s, %s: the answer is %s", path, name, got);
		}
		free(text);
	}
}

START_TEST(examples_work_as_they_stand)
{
	struct client *client = client_open();
	json_t *doc = document(client), *path;
	const char *name;
	json_object_foreach(json_object_get(doc, "paths"), name, path) {
		json_t *post = json_object_get(path, "post");
		if (post)
			run_examples(client, name, post);
		else
			ck_assert_int_eq(client_get(client, name), 200);
	}
	json_decref(doc);
	client_close(client);
}
END_TEST

/* Every reference leads somewhere. */
static void follow(json_t *doc, json_t *value)
{
	const char *key, *ref = json_string_value(json_object_get(value, "$ref"));
	json_t *member;
	size_t i;
	if (ref) {
		char dotted[200];
		ck_assert_int_eq(strncmp(ref, "#/", 2), 0);
		ck_assert_uint_lt(strlen(ref), sizeof dotted);
		strcpy(dotted, ref + 2);
		for (char *c = dotted; *c; c++)
			*c = *c == '/' ? '.' : *c;
		ck_assert_msg(json_at(doc, dotted) != NULL, "%s leads nowhere", ref);
	}
	json_object_foreach(value, key, member)
		follow(doc, member);
	json_array_foreach(value, i, member)
		follow(doc, member);
}

START_TEST(references_lead_somewhere)
{
	struct client *client = client_open();
	json_t *doc = document(client);
	follow(doc, doc);
	json_decref(doc);
	client_close(client);
}
END_TEST

TEST_MAIN(paths_are_the_endpoints, examples_work_as_they_stand, references_lead_somewhere)
