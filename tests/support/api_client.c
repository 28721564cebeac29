#include "api_client.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct api_setting settings[] = {
	{"max_body", "--max-body", "bytes", 1 << 26},
	{"max_elements", "--max-elements", "elements", 1 << 22},
	{"max_jacobian", "--max-jacobian", "elements", 1 << 20},
	{"max_answer", "--max-answer", "bytes", 1 << 28},
};

const struct api_config client_limits = {
	.max_body = 1 << 26,
	.max_elements = 1 << 22,
	.max_jacobian = 1 << 20,
	.max_answer = 1 << 28,
	.threads = 1,
	.settings = settings,
	.setting_count = sizeof settings / sizeof *settings,
};

struct client *client_open_with(const struct api_config *config, struct nc_pool *pool)
{
	struct client *client = calloc(1, sizeof *client);
	ck_assert_ptr_nonnull(client);
	client->config = *config;
	client->api = api_create(&client->config, pool);
	client->arena = nc_arena_create((size_t)1 << 30);
	ck_assert_ptr_nonnull(client->api);
	ck_assert_ptr_nonnull(client->arena);
	client->request.request_id = "test-id";
	return client;
}

struct client *client_open(void)
{
	return client_open_with(&client_limits, NULL);
}

void client_close(struct client *client)
{
	json_decref(client->json);
	nc_arena_destroy(client->arena);
	api_destroy(client->api);
	free(client);
}

int client_call(struct client *client, const char *method, const char *path, const char *body, size_t body_len)
{
	/* The body in memory of exactly its size, so that a sanitizer sees a read past its end. */
	char *copy = malloc(body_len ? body_len : 1);
	ck_assert_ptr_nonnull(copy);
	if (body_len)
		memcpy(copy, body, body_len);

	json_decref(client->json);
	nc_arena_reset(client->arena, (size_t)1 << 22);
	client->request.method = method;
	client->request.path = path;
	client->request.body = body_len ? copy : NULL;
	client->request.body_len = body_len;
	client->request.arena = client->arena;
	api_call(client->api, &client->request, &client->answer);
	free(copy);
	client->json = json_loadb(client->answer.body ? client->answer.body : "", client->answer.body_len,
	                          JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL | JSON_DECODE_ANY, NULL);
	return client->answer.status;
}

int client_post(struct client *client, const char *path, const char *body)
{
	return client_call(client, "POST", path, body, strlen(body));
}

int client_get(struct client *client, const char *path)
{
	return client_call(client, "GET", path, NULL, 0);
}

json_t *json_at(json_t *root, const char *path)
{
	char step[64];

	while (root && *path) {
		size_t len = strcspn(path, ".");
		ck_assert_uint_lt(len, sizeof step);
		memcpy(step, path, len);
		step[len] = 0;
		root = json_is_array(root) ? json_array_get(root, strtoul(step, NULL, 10)) : json_object_get(root, step);
		path += len + (path[len] == '.');
	}
	return root;
}

json_t *client_at(const struct client *client, const char *path)
{
	return json_at(client->json, path);
}

const char *client_text(const struct client *client, const char *path)
{
	const char *text = json_string_value(client_at(client, path));
	return text ? text : "";
}

double client_number(const struct client *client, const char *path)
{
	json_t *node = client_at(client, path);
	return json_is_number(node) ? json_number_value(node) : NAN;
}

const char *client_header(const struct client *client, const char *name)
{
	for (unsigned i = 0; i < client->answer.header_count; i++)
		if (strcasecmp(client->answer.headers[i].name, name) == 0)
			return client->answer.headers[i].value;
	return NULL;
}
