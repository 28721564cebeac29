#include "checkpoint.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool checkpoint_open(struct checkpoint *c)
{
	const char *shared = getenv("NORMD_SHARED");
	char path[4096];
	int32_t head[7];
	long size;

	memset(c, 0, sizeof *c);
	snprintf(path, sizeof path, "%s/data/stories260K.bin", shared ? shared : "../shared");
	FILE *file = fopen(path, "rb");
	if (!file)
		return false;
	bool good = fread(head, sizeof head, 1, file) == 1 && fseek(file, 0, SEEK_END) == 0 &&
	            (size = ftell(file)) > 0 && fseek(file, sizeof head, SEEK_SET) == 0;
	size_t count = good ? ((size_t)size - sizeof head) / sizeof *c->numbers : 0;
	c->numbers = malloc(count * sizeof *c->numbers + 1);
	good = good && c->numbers && fread(c->numbers, sizeof *c->numbers, count, file) == count;
	fclose(file);
	if (!good) {
		checkpoint_close(c);
		return false;
	}
	c->dim = head[0], c->hidden = head[1], c->layers = head[2], c->heads = head[3], c->kv_heads = head[4];
	c->vocab = head[5], c->length = head[6];

	size_t dim = (size_t)c->dim, hidden = (size_t)c->hidden, kv = dim / (size_t)c->heads * (size_t)c->kv_heads,
	       at = 0;
	const size_t shapes[CHECKPOINT_TENSORS][2] = {
	    {(size_t)c->vocab, dim}, {1, dim},      {dim, dim},   {kv, dim}, {kv, dim}, {dim, dim}, {1, dim},
	    {hidden, dim},           {dim, hidden}, {hidden, dim}};
	for (int i = 0; i < CHECKPOINT_TENSORS; i++) {
		c->rows[i] = shapes[i][0], c->cols[i] = shapes[i][1];
		c->tensor[i] = c->numbers + at;
		at += shapes[i][0] * shapes[i][1] * (i == CHECKPOINT_EMBEDDING ? 1 : (size_t)c->layers);
	}
	return true;
}

void checkpoint_close(struct checkpoint *c)
{
	free(c->numbers);
	c->numbers = NULL;
}

const float *checkpoint_layer(const struct checkpoint *c, enum checkpoint_tensor tensor, int layer)
{
	return c->tensor[tensor] + (size_t)layer * c->rows[tensor] * c->cols[tensor];
}
