/* The golden blocks, without a socket: of every family, and of a real trained model where its checkpoint is there. */
#include "tests/support/api_client.h"
#include "tests/support/checkpoint.h"
#include "tests/support/suite.h"
#include "tests/support/vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int post(void *context, const char *path, const char *request, json_t **answer)
{
	struct client *client = context;
	int status = client_post(client, path, request);
	*answer = json_incref(client->json);
	return status;
}

static bool is_block(const json_t *one)
{
	return strcmp(json_string_value(json_object_get(one, "endpoint")), "/block/grad") == 0;
}

static void run(const char *file, int least)
{
	struct client *client = client_open();
	int failed, ran = vectors_run(file, is_block, post, client, &failed);
	ck_assert_int_ge(ran, least);
	ck_assert_int_eq(failed, 0);
	client_close(client);
}

START_TEST(blocks)
{
	run("tests/vectors/blocks.json", 29);
}
END_TEST

START_TEST(lessons)
{
	run("tests/vectors/lessons.json", 1);
}
END_TEST

static json_t *tensor_of(const struct checkpoint *c, enum checkpoint_tensor which, int layer)
{
	const float *values = checkpoint_layer(c, which, layer);
	json_t *rows = json_array();
	for (size_t i = 0; i < c->rows[which]; i++) {
		json_t *row = json_array();
		for (size_t j = 0; j < c->cols[which]; j++)
			json_array_append_new(row, json_real((double)values[i * c->cols[which] + j]));
		if (c->rows[which] == 1) {
			json_decref(rows);
			return row;
		}
		json_array_append_new(rows, row);
	}
	return rows;
}

/* Puts the layer's tensors where "@checkpoint" stands. */
static void fill(json_t *request, const struct checkpoint *c, int layer)
{
	static const struct {
		const char *key;
		enum checkpoint_tensor which;
	} names[] = {{"w_q", CHECKPOINT_W_Q},      {"w_k", CHECKPOINT_W_K},       {"w_v", CHECKPOINT_W_V},
	             {"w_o", CHECKPOINT_W_O},      {"w_gate", CHECKPOINT_W_GATE}, {"w_up", CHECKPOINT_W_UP},
	             {"w_down", CHECKPOINT_W_DOWN}};
	json_t *list = json_at(request, "block.sublayers"), *sublayer;
	size_t i;
	json_array_foreach(list, i, sublayer)
	{
		json_t *f = json_object_get(sublayer, "f");
		json_object_set_new(json_object_get(sublayer, "norm"), "gain",
		                    tensor_of(c, i ? CHECKPOINT_FFN_GAIN : CHECKPOINT_ATT_GAIN, layer));
		for (size_t k = 0; k < sizeof names / sizeof *names; k++)
			if (json_object_get(f, names[k].key))
				json_object_set_new(f, names[k].key, tensor_of(c, names[k].which, layer));
	}
}

START_TEST(stories)
{
	struct checkpoint checkpoint;
	if (!checkpoint_open(&checkpoint)) {
		printf("skipped: no checkpoint for stories.json\n");
		return;
	}
	struct client *client = client_open();
	json_t *cases = json_load_file("tests/vectors/stories.json", JSON_DECODE_INT_AS_REAL, NULL), *one, *want;
	const char *key;
	size_t i;
	ck_assert_uint_ge(json_array_size(cases), 3);
	json_array_foreach(cases, i, one)
	{
		json_t *request = json_object_get(one, "request");
		fill(request, &checkpoint, (int)json_number_value(json_at(one, "weights.layer")));
		char *text = json_dumps(request, JSON_REAL_PRECISION(17));
		ck_assert_int_eq(client_post(client, "/block/grad", text), 200);
		json_object_foreach(json_object_get(one, "expect"), key, want)
		{
			const char *why = vectors_compare(json_at(client->json, key), want,
			                                  json_number_value(json_object_get(one, "rtol")), 0, false);
			ck_assert_msg(why == NULL, "%s: %s: %s", json_string_value(json_object_get(one, "id")), key,
			              why);
		}
		free(text);
	}
	json_decref(cases);
	checkpoint_close(&checkpoint);
	client_close(client);
}
END_TEST

TEST_MAIN(blocks, lessons, stories)
