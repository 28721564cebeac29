/* oneDNN's LayerNorm (2.x) on the arrays of bench_kernels: training forward, and backward with dgain and dbias. */
#include "tests/bench/bench_kernels.h"

#include <oneapi/dnnl/dnnl.h>

#include <stdlib.h>

extern void omp_set_num_threads(int threads) __attribute__((weak));

struct layer {
	dnnl_primitive_t primitive;
	dnnl_stream_t stream;
	dnnl_exec_arg_t args[10];
	int count;
};

static void must(dnnl_status_t status)
{
	if (status != dnnl_success)
		abort();
}

static void run(void *context)
{
	struct layer *layer = context;

	must(dnnl_primitive_execute(layer->primitive, layer->stream, layer->count, layer->args));
	must(dnnl_stream_wait(layer->stream));
}

/* An argument of rows × columns floats; data NULL: memory of oneDNN's own. */
static void argument(struct layer *layer, dnnl_engine_t engine, int which, const dnnl_memory_desc_t *shape, const float *data)
{
	dnnl_memory_t memory;

	must(dnnl_memory_create(&memory, shape, engine, data ? (void *)(size_t)data : DNNL_MEMORY_ALLOCATE));
	layer->args[layer->count++] = (dnnl_exec_arg_t){which, memory};
}

double onednn_seconds(size_t rows, size_t n, unsigned threads, const float *x, const float *dy)
{
	dnnl_dims_t dims = {(dnnl_dim_t)rows, (dnnl_dim_t)n}, stat_dims = {(dnnl_dim_t)rows}, param_dims = {2, (dnnl_dim_t)n};
	dnnl_memory_desc_t data, stats, params;
	dnnl_engine_t engine;
	dnnl_layer_normalization_desc_t desc;
	dnnl_primitive_desc_t forward_desc, backward_desc;
	struct layer forward = {.count = 0}, backward = {.count = 0};

	if (omp_set_num_threads)
		omp_set_num_threads((int)threads);
	must(dnnl_engine_create(&engine, dnnl_cpu, 0));
	must(dnnl_stream_create(&forward.stream, engine, dnnl_stream_default_flags));
	backward.stream = forward.stream;
	must(dnnl_memory_desc_init_by_tag(&data, 2, dims, dnnl_f32, dnnl_ab));
	must(dnnl_memory_desc_init_by_tag(&stats, 1, stat_dims, dnnl_f32, dnnl_a));
	must(dnnl_memory_desc_init_by_tag(&params, 2, param_dims, dnnl_f32, dnnl_ab));

	must(dnnl_layer_normalization_forward_desc_init(&desc, dnnl_forward_training, &data, &stats, 1e-5f, dnnl_use_scaleshift));
	must(dnnl_primitive_desc_create(&forward_desc, &desc, NULL, engine, NULL));
	must(dnnl_primitive_create(&forward.primitive, forward_desc));
	argument(&forward, engine, DNNL_ARG_SRC, &data, x);
	argument(&forward, engine, DNNL_ARG_DST, &data, NULL);
	argument(&forward, engine, DNNL_ARG_MEAN, &stats, NULL);
	argument(&forward, engine, DNNL_ARG_VARIANCE, &stats, NULL);
	argument(&forward, engine, DNNL_ARG_SCALE_SHIFT, &params, NULL);
	if (!dy)
		return bench_seconds(run, &forward);
	run(&forward);

	must(dnnl_layer_normalization_backward_desc_init(&desc, dnnl_backward, &data, &data, &stats, 1e-5f, dnnl_use_scaleshift));
	must(dnnl_primitive_desc_create(&backward_desc, &desc, NULL, engine, forward_desc));
	must(dnnl_primitive_create(&backward.primitive, backward_desc));
	argument(&backward, engine, DNNL_ARG_SRC, &data, x);
	argument(&backward, engine, DNNL_ARG_DIFF_DST, &data, dy);
	backward.args[backward.count++] = forward.args[2];
	backward.args[backward.count++] = forward.args[3];
	backward.args[backward.count++] = forward.args[4];
	argument(&backward, engine, DNNL_ARG_DIFF_SRC, &data, NULL);
	argument(&backward, engine, DNNL_ARG_DIFF_SCALE_SHIFT, &params, NULL);
	return bench_seconds(run, &backward);
}
