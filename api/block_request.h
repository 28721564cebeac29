/* POST /block/grad: what a request says, read and checked. */
#ifndef API_BLOCK_REQUEST_H
#define API_BLOCK_REQUEST_H

#include "fields.h"
#include "norm_fields.h"

#include "core/block/block.h"

/* A norm of a sublayer, for its meta too. */
struct block_norm_fields {
	bool given;
	struct norm_fields fields;
	struct nc_layout layout;
};

/* One sublayer as it was sent; core's own description of it is in block_request.core. */
struct block_sublayer {
	struct block_norm_fields norm, norm_after, qk_norm;
	int kind, activation, rope_style;
	double factor, scale, softcap, theta, position;
	size_t hidden, heads, kv_heads, head_dim, window;
	bool gated, causal;
	json_t *norm_node, *norm_after_node, *f_node, *rope_node, *qk_node, *init_node;
	struct tensor_field output, jacobian;
	struct tensor_field weight[NC_SLOT_COUNT];
	int scheme;
	double std, gain;
	size_t seed;
};

/* The keys of an answer, in its order. */
enum block_key {
#define BLOCK_KEY(NAME, text, how) KEY_##NAME,
#include "block_keys.def"
#undef BLOCK_KEY
	KEY_COUNT
};

struct block_request {
	struct tensor_field x, dy;
	json_t *block_node, *wrt_node, *return_node, *jacobian_node, *sublayers_node;
	size_t depth;
	bool trace, return_params, verify, jacobian;
	int placement;
	bool residual;
	double skip_scale, update_scale;

	bool wrt_x, wrt_params;
	bool seeded;                  /* some F has its weights from init */
	bool by_layer;                /* dparams and params are lists by layer */
	bool wanted[KEY_COUNT];       /* what the answer holds */
	struct block_sublayer *parts; /* as many as core.sublayer_count */
	struct nc_block core;
	const double *dy_values; /* or NULL: ones */
	const double *x_values;
};

/* Reads and checks all of call->root. false with the call's problem set. */
bool block_request_read(struct call *call, struct block_request *r);

/* Reads one sublayer at `path` into r->parts[i] and r->core.sublayers[i]. */
bool block_sublayer_read(struct call *call, struct block_request *r, size_t i, json_t *node, const struct path *path);

/* A tensor's elements as float64: its own data where that is its dtype. NULL with the call's problem set. */
const double *block_values(struct call *call, const struct nc_tensor *tensor);

/* Writes the object meta. */
void block_meta_write(struct call *call, struct writer *out, const struct block_request *r);

#endif
