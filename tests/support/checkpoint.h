/*
 * The trained model that the golden cases of stories.json are made of (Llama architecture, the format of llama2.c):
 * ../shared/data/stories260K.bin from the project's root, or below $NORMD_SHARED.
 */
#ifndef TESTS_CHECKPOINT_H
#define TESTS_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>

enum checkpoint_tensor {
	CHECKPOINT_EMBEDDING, /* vocab × dim */
	CHECKPOINT_ATT_GAIN,  /* of each layer: dim */
	CHECKPOINT_W_Q,
	CHECKPOINT_W_K,
	CHECKPOINT_W_V,
	CHECKPOINT_W_O,
	CHECKPOINT_FFN_GAIN,
	CHECKPOINT_W_GATE,
	CHECKPOINT_W_DOWN,
	CHECKPOINT_W_UP,
	CHECKPOINT_TENSORS
};

struct checkpoint {
	int dim, hidden, layers, heads, kv_heads, vocab, length;
	float *numbers;                                            /* malloc'ed */
	const float *tensor[CHECKPOINT_TENSORS];                   /* of layer 0 */
	size_t rows[CHECKPOINT_TENSORS], cols[CHECKPOINT_TENSORS]; /* of one layer */
};

/* false when the file is not there. */
bool checkpoint_open(struct checkpoint *checkpoint);
void checkpoint_close(struct checkpoint *checkpoint);

/* The rows × cols numbers of one layer. */
const float *checkpoint_layer(const struct checkpoint *checkpoint, enum checkpoint_tensor tensor, int layer);

#endif
