/*
 * RMSNorm of three rows, forward and backward, by libnormcore.
 *
 *     cc rmsnorm.c $(pkg-config --cflags --libs normcore) -o rmsnorm
 */
#include <normcore.h>

#include <stdio.h>

enum { ROWS = 3, FEATURES = 4 };

static void print(const char *name, const float *values, size_t count)
{
	printf("%s", name);
	for (size_t i = 0; i < count; i++)
		printf(" %.9g", (double)values[i]);
	printf("\n");
}

int main(void)
{
	/* The last row's squares are beyond float32, its norm is not. */
	static const float x[ROWS * FEATURES] = {3, 4, -1, 2, 0.1f, -0.2f, 0.3f, 0.05f, 1e30f, -2e30f, 3e30f, 4e30f};
	static const float dy[ROWS * FEATURES] = {1, -1, 0.5f, 0, 0.25f, 1, -1, 0.5f, 1, 1, 1, -1};
	static const float gain[FEATURES] = {0.5f, 1.25f, -0.75f, 2};
	float y[ROWS * FEATURES], dx[ROWS * FEATURES], dgain[FEATURES], rms[ROWS];

	struct nc_norm_spec spec = {
		.kind = NC_RMSNORM,
		.placement = NC_INSIDE_SQRT,
		.epsilon = 1e-5,
		.dtype = NC_FLOAT32,
		.xhat_dtype = NC_FLOAT64, /* not rounded before the gain */
	};
	struct nc_norm_call call = {
		.rows = ROWS,
		.features = FEATURES,
		.period = 1, /* no groups */
		.x = x,
		.dy = dy,
		.gain = {gain, NC_FLOAT32, FEATURES},
		.y = y, /* what is NULL is not computed */
		.divisor = rms,
		.dx = dx,
		.dgain = dgain,
	};
	struct nc_pool *pool = nc_pool_create(2);
	struct nc_arena *arena = nc_arena_create((size_t)16 << 20);
	enum nc_status status = pool && arena ? nc_norm(&spec, &call, pool, arena) : NC_NO_MEMORY;

	if (status == NC_OK) {
		print("y", y, ROWS * FEATURES);
		print("rms", rms, ROWS);
		print("dx", dx, ROWS * FEATURES);
		print("dgain", dgain, FEATURES);
	} else {
		fprintf(stderr, "rmsnorm: %s\n", nc_status_text(status));
	}
	nc_arena_destroy(arena);
	nc_pool_destroy(pool);
	return status != NC_OK;
}
