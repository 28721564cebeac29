/*
 * A real model through the daemon: all token embeddings of stories260K, normalized with the gains of every layer,
 * beside an independent computation in long double.
 */
#include "tests/support/daemon.h"
#include "tests/support/suite.h"
#include "tests/support/wire.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double epsilon = 1e-5;

struct model {
	int dim, hidden, layers, heads, kv_heads, vocab, seq_len;
	float *weights;          /* owned */
	const float *embedding;  /* vocab × dim */
	const float *gains[2];   /* before attention, before the mlp: layers × dim */
};

static bool model_read(struct model *model, const char *path)
{
	FILE *file = fopen(path, "rb");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fread(model, sizeof(int), 7, file), 7);
	fseek(file, 0, SEEK_END);
	size_t count = ((size_t)ftell(file) - 7 * sizeof(int)) / sizeof(float);
	fseek(file, 7 * sizeof(int), SEEK_SET);
	model->weights = malloc(count * sizeof(float));
	ck_assert_uint_eq(fread(model->weights, sizeof(float), count, file), count);
	fclose(file);
	size_t dim = (size_t)model->dim, layers = (size_t)model->layers, kv = dim / (size_t)model->heads * (size_t)model->kv_heads;
	model->embedding = model->weights;
	model->gains[0] = model->embedding + (size_t)model->vocab * dim;
	/* w_q, w_k, w_v, w_o stand between the two */
	model->gains[1] = model->gains[0] + layers * dim + layers * dim * (2 * dim + 2 * kv);
	ck_assert_uint_le((size_t)(model->gains[1] - model->weights) + layers * dim, count);
	return true;
}

static const char base64_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The text of `bytes` bytes; the caller frees it. */
static char *base64_of(const void *data, size_t bytes)
{
	const unsigned char *in = data;
	char *text = malloc((bytes + 2) / 3 * 4 + 1), *out = text;
	for (size_t i = 0; i < bytes; i += 3) {
		unsigned n = (unsigned)in[i] << 16 | (i + 1 < bytes ? (unsigned)in[i + 1] << 8 : 0) | (i + 2 < bytes ? in[i + 2] : 0);
		for (int k = 0; k < 4; k++)
			*out++ = i + (size_t)k > bytes ? '=' : base64_letters[n >> (18 - 6 * k) & 63];
	}
	*out = '\0';
	return text;
}

static size_t base64_read(const char *text, unsigned char *out)
{
	size_t n = 0;
	unsigned bits = 0, have = 0;
	for (; *text && *text != '='; text++) {
		bits = bits << 6 | (unsigned)(strchr(base64_letters, *text) - base64_letters);
		if ((have += 6) >= 8)
			out[n++] = (unsigned char)(bits >> (have -= 8));
	}
	return n;
}

/* Sends x and a gain in text or in base64 and reads y and rms back. */
static void ask(int fd, const struct model *model, const float *gain, bool binary, const char *more, float *y, float *rms)
{
	size_t rows = (size_t)model->vocab, dim = (size_t)model->dim, length;
	char *body = NULL;
	FILE *out = open_memstream(&body, &length);
	fprintf(out, "{\"epsilon\":%.17g,\"dtype\":\"float32\"%s,", epsilon, more);
	if (binary) {
		char *x64 = base64_of(model->embedding, rows * dim * sizeof(float)), *gain64 = base64_of(gain, dim * sizeof(float));
		fprintf(out, "\"x\":{\"shape\":[%zu,%zu],\"base64\":\"%s\"},\"gain\":{\"shape\":[%zu],\"base64\":\"%s\"}}", rows, dim, x64, dim, gain64);
		free(x64);
		free(gain64);
	} else {
		for (size_t r = 0; r < rows; r++) {
			fprintf(out, r ? ",[" : "\"x\":[[");
			for (size_t i = 0; i < dim; i++)
				fprintf(out, "%s%.9g", i ? "," : "", (double)model->embedding[r * dim + i]);
			fprintf(out, "]");
		}
		fprintf(out, "],\"gain\":[");
		for (size_t i = 0; i < dim; i++)
			fprintf(out, "%s%.9g", i ? "," : "", (double)gain[i]);
		fprintf(out, "]}");
	}
	fclose(out);
	struct reply reply = wire_call(fd, "POST", "/rmsnorm", "", body);
	ck_assert_msg(reply.status == 200, "%d: %.300s", reply.status, reply.body);
	json_t *answer = json_loadb(reply.body, reply.body_len, JSON_DECODE_INT_AS_REAL, NULL);
	json_t *all = json_object_get(answer, "y"), *divisors = json_object_get(json_object_get(answer, "stats"), "rms");
	if (binary) {
		ck_assert_uint_eq(base64_read(json_string_value(json_object_get(all, "base64")), (unsigned char *)y), rows * dim * sizeof(float));
		ck_assert_uint_eq(base64_read(json_string_value(json_object_get(divisors, "base64")), (unsigned char *)rms), rows * sizeof(float));
	} else {
		ck_assert_uint_eq(json_array_size(all), rows);
		for (size_t r = 0; r < rows; r++) {
			ck_assert_uint_eq(json_array_size(json_array_get(all, r)), dim);
			for (size_t i = 0; i < dim; i++)
				y[r * dim + i] = (float)json_real_value(json_array_get(json_array_get(all, r), i));
			rms[r] = (float)json_real_value(json_array_get(divisors, r));
		}
	}
	json_decref(answer);
	reply_free(&reply);
	free(body);
}

/* How many of y and rms differ from the exact values, rounded once (x̂ too, where it is cast before the gain). */
static size_t count_wrong(const struct model *model, const float *gain, bool cast, const float *y, const float *rms)
{
	size_t rows = (size_t)model->vocab, dim = (size_t)model->dim, wrong = 0;
	for (size_t r = 0; r < rows; r++) {
		const float *x = model->embedding + r * dim;
		long double sum = 0;
		for (size_t i = 0; i < dim; i++)
			sum += (long double)x[i] * (long double)x[i];
		long double divisor = sqrtl(sum / (long double)dim + (long double)epsilon);
		wrong += rms[r] != (float)divisor;
		for (size_t i = 0; i < dim; i++) {
			long double xhat = (long double)x[i] / divisor;
			float expected = (float)((long double)gain[i] * (cast ? (long double)(float)xhat : xhat));
			wrong += y[r * dim + i] != expected;
		}
	}
	return wrong;
}

START_TEST(test_embeddings_with_every_gain)
{
	const char *path = shared_file("data/stories260K.bin");
	if (!path) {
		puts("skipped: the model file is not here");
		return;
	}
	struct model model;
	struct daemon daemon;
	ck_assert(model_read(&model, path));
	ck_assert_int_eq(model.vocab, 512);
	ck_assert_int_eq(model.dim, 64);
	ck_assert_int_eq(model.layers, 5);
	size_t rows = (size_t)model.vocab, dim = (size_t)model.dim, wrong = 0, total = 0;
	float *y = malloc(rows * dim * sizeof *y), *rms = malloc(rows * sizeof *rms);
	daemon_start(&daemon, NULL);
	int fd = wire_connect(daemon.port);
	for (int layer = 0; layer < model.layers; layer++) {
		for (int which = 0; which < 2; which++) {
			const float *gain = model.gains[which] + (size_t)layer * dim;
			for (int form = 0; form < 4; form++) {
				bool binary = form & 1, cast = form & 2;
				ask(fd, &model, gain, binary, cast ? ",\"convention\":\"llama\"" : "", y, rms);
				wrong += count_wrong(&model, gain, cast, y, rms);
				total += rows * dim + rows;
			}
		}
	}
	printf("%zu of %zu values differ from the exact ones rounded once\n", wrong, total);
	ck_assert_uint_le(wrong, 1); /* fewer than one in ten million is promised */
	close(fd);
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
	free(y);
	free(rms);
	free(model.weights);
}
END_TEST

TEST_MAIN(test_embeddings_with_every_gain)
