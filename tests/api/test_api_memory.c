/* Memory runs out at every possible place: each time there is an answer, right or a clear error, and never a wrong one. */
#include "tests/support/api_client.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *method, *path, *body;
} requests[] = {
	{"POST", "/rmsnorm", "{\"x\":[[1,2,3],[4,5,6]],\"gain\":[1,2,3],\"dy\":[[1,0,1],[0,1,1]],\"jacobian\":\"dense\",\"normalized\":true,\"reference\":[[1,2,3],[4,5,6]]}"},
	{"POST", "/layernorm", "{\"x\":[[1,2],[3,4],[5,7]],\"axes\":[0],\"dtype\":\"bfloat16\",\"format\":\"base64\",\"bias\":[1,2,3],\"tangent\":[[1,2],[3,4],[5,7]],\"jacobian\":\"structured\"}"},
	{"POST", "/residual", "{\"x\":{\"shape\":[2],\"dtype\":\"float16\",\"base64\":\"ADwAQA==\"},\"update\":[1,1],\"dtype\":\"float32\",\"sublayer_jacobian\":[[1,2],[3,4]],\"dy\":[1,1],\"norm\":{\"kind\":\"rmsnorm\"},\"dnormed\":[1,2]}"},
	{"POST", "/rmsnorm", "{\"x\":[1,2],\"epsilom\":3}"},
	{"POST", "/rmsnorm", "{\"x\":[[1,2],[3]]}"},
	{"POST", "/rmsnorm", "{\"x\":[1,2],\"x\":[1]}"},
	{"POST", "/rmsnorm", "{\"x\":[1,2"},
	{"GET", "/version", NULL},
	{"GET", "/conventions", NULL},
	{"GET", "/nothing", NULL},
};

START_TEST(every_capacity_gives_an_answer)
{
	enum { STEP = 64 };
	struct client *client = client_open();

	for (size_t r = 0; r < sizeof requests / sizeof *requests; r++) {
		size_t len = requests[r].body ? strlen(requests[r].body) : 0;
		int status = client_call(client, requests[r].method, requests[r].path, requests[r].body, len);
		char *want = malloc(client->answer.body_len);
		size_t want_len = client->answer.body_len, refused = 0;
		memcpy(want, client->answer.body, want_len);

		/* What the request takes is learnt by trying: all but `left` bytes of the arena are taken beforehand. */
		for (size_t left = 0;; left += STEP) {
			struct api_request request = client->request;
			struct api_answer answer;
			request.method = requests[r].method;
			request.path = requests[r].path;
			request.body = requests[r].body;
			request.body_len = len;
			nc_arena_reset(client->arena, 1 << 20);
			nc_arena_alloc(client->arena, nc_arena_left(client->arena) - left);
			api_call(client->api, &request, &answer);
			if (answer.status == status && answer.body_len == want_len && memcmp(answer.body, want, want_len) == 0)
				break;
			ck_assert_msg(left < 1 << 20, "%s", requests[r].path);
			json_t *json = json_loadb(answer.body, answer.body_len, 0, NULL);
			ck_assert_msg(json != NULL, "%.*s", (int)answer.body_len, answer.body);
			ck_assert_str_eq(answer.content_type, "application/problem+json");
			if (answer.status == 503) {
				ck_assert_str_eq(json_string_value(json_object_get(json, "type")), "urn:normd:problem:out_of_memory");
				refused++;
			} else { /* the same error with less to say */
				ck_assert_int_eq(answer.status, status);
				ck_assert_int_ge(status, 400);
			}
			json_decref(json);
		}
		ck_assert_uint_gt(refused, 0);
		free(want);
	}
	client_close(client);
}
END_TEST

/* An arena that is used again and again gives the same, and holds no more than one request needs. */
START_TEST(a_request_leaves_nothing_behind)
{
	struct client *client = client_open();
	struct api_request request = client->request;
	struct api_answer answer;
	size_t first = 0;
	request.arena = client->arena;
	request.method = "POST";
	request.path = requests[0].path;
	request.body = requests[0].body;
	request.body_len = strlen(requests[0].body);
	for (int i = 0; i < 100; i++) {
		nc_arena_reset(client->arena, 1 << 20);
		size_t mark = nc_arena_mark(client->arena);
		api_call(client->api, &request, &answer);
		ck_assert_int_eq(answer.status, 200);
		size_t used = nc_arena_mark(client->arena) - mark;
		ck_assert(i == 0 || used == first);
		first = used;
	}
	client_close(client);
}
END_TEST

TEST_MAIN(every_capacity_gives_an_answer, a_request_leaves_nothing_behind)
