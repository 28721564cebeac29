#include "matrix.h"

#include "../kernels.h"

/* Below that many multiplications a second thread costs more than it saves. */
enum { SHARED_WORK = 1 << 19, LEAST_ROWS = 32, LEAST_COLUMNS = 64 };

struct cut {
	const struct kernels *kernels;
	struct nc_product whole;
	size_t rows, columns, across; /* of one piece; pieces along n */
};

static void multiply_piece(void *context, size_t chunk)
{
	const struct cut *cut = context;
	struct nc_product p = cut->whole;
	size_t i = chunk / cut->across * cut->rows, j = chunk % cut->across * cut->columns;

	p.m = p.m - i < cut->rows ? p.m - i : cut->rows;
	p.n = p.n - j < cut->columns ? p.n - j : cut->columns;
	p.a += i * p.a_row;
	p.b += j * p.b_col;
	p.c += i * p.c_row + j * p.c_col;
	cut->kernels->matmul(&p);
}

/* Cᵀ = Bᵀ·Aᵀ. */
static struct nc_product transposed(const struct nc_product *p)
{
	return (struct nc_product){.m = p->n,
	                           .n = p->m,
	                           .k = p->k,
	                           .a = p->b,
	                           .a_row = p->b_col,
	                           .a_col = p->b_row,
	                           .b = p->a,
	                           .b_row = p->a_col,
	                           .b_col = p->a_row,
	                           .c = p->c,
	                           .c_row = p->c_col,
	                           .c_col = p->c_row,
	                           .accumulate = p->accumulate};
}

static size_t divide_up(size_t a, size_t b)
{
	return a / b + (a % b != 0);
}

void nc_multiply(const struct nc_product *product, struct nc_pool *pool)
{
	/* Lanes run along n: where neither B nor Aᵀ has contiguous rows, the smaller one is packed. */
	bool turn = product->b_col != 1 && (product->a_row == 1 || product->m < product->n);
	struct cut cut = {.kernels = kernels(), .whole = turn ? transposed(product) : *product};
	const struct nc_product *p = &cut.whole;
	size_t threads = nc_pool_threads(pool);
	double work = (double)p->m * (double)p->n * (double)p->k;

	if (p->m == 0 || p->n == 0)
		return;
	if (threads == 1 || work < SHARED_WORK) {
		cut.kernels->matmul(p);
		return;
	}
	cut.rows = divide_up(divide_up(p->m, 4 * threads), 8) * 8;
	if (cut.rows < LEAST_ROWS)
		cut.rows = LEAST_ROWS;
	size_t down = divide_up(p->m, cut.rows);
	cut.across = divide_up(2 * threads, down);
	if (cut.across > divide_up(p->n, LEAST_COLUMNS))
		cut.across = divide_up(p->n, LEAST_COLUMNS);
	cut.columns = divide_up(divide_up(p->n, cut.across), 16) * 16;
	cut.across = divide_up(p->n, cut.columns);
	nc_pool_run(pool, multiply_piece, &cut, down * cut.across);
}
