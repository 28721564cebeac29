/*
 * C (+)= A·B by outer products of register tiles: a tile of TILE_ROWS × TILE_VECTORS vectors stays in registers while k
 * runs.
 *
 * Lanes run along n, broadcasts along m. Rows of B that are not contiguous, or end inside a tile, are packed into a
 * panel first; A is read where it lies. Each element is a plain ascending sum over k whatever the tile's shape.
 */
#ifndef KERNELS_MATMUL_H
#define KERNELS_MATMUL_H

#include "core/block/matrix.h"
#include "simd.h"

/* As many accumulators as the registers hold beside one row of B and a product. */
#if defined(KERNEL_ISA_avx512)
enum { TILE_ROWS = 8, TILE_VECTORS = 2 };
#elif defined(KERNEL_ISA_neon)
enum { TILE_ROWS = 4, TILE_VECTORS = 4 };
#else
enum { TILE_ROWS = 4, TILE_VECTORS = 2 };
#endif
enum {
	TILE_LANES = TILE_VECTORS * WIDTH,
	WIDE_VECTORS = 4, /* a single row needs that many independent sums to keep the adders busy */
	WIDE_LANES = WIDE_VECTORS * WIDTH,
	AHEAD = 16,        /* rows of B: a tile reads a strip of each, which no hardware prefetcher follows */
	PANEL_DEPTH = 256, /* k of a panel: it stays in the first cache */
};

struct tile {
	size_t k;
	const double *a;
	size_t a_row, a_col;
	const double *b;
	size_t b_row;
	double *c;
	size_t c_row;
	bool load;
};

INLINE vf64 broadcast(double x)
{
#if WIDTH > 1
	return x - (vf64){0};
#else
	return x;
#endif
}

/* rows × vectors · WIDTH elements of C; both are constants, so that every accumulator is a register. */
INLINE void tile_run(const int rows, const int vectors, const struct tile *t)
{
	vf64 sum[TILE_ROWS][WIDE_VECTORS];
	const double *a = t->a, *b = t->b;

#pragma GCC unroll 8
	for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
		for (int j = 0; j < vectors; j++)
			sum[i][j] = t->load ? (vf64) * (const vf64_any *)(t->c + (size_t)i * t->c_row + j * WIDTH)
			                    : broadcast(0);
	for (size_t l = t->k; l; l--) {
		vf64 row[WIDE_VECTORS];

#pragma GCC unroll 4
		for (int j = 0; j < vectors; j++) {
			row[j] = *(const vf64_any *)(b + j * WIDTH);
			if (j * WIDTH % 8 == 0)
				__builtin_prefetch(b + j * WIDTH + AHEAD * t->b_row);
		}
#pragma GCC unroll 8
		for (int i = 0; i < rows; i++) {
			vf64 factor = broadcast(a[(size_t)i * t->a_row]);

#pragma GCC unroll 4
			for (int j = 0; j < vectors; j++)
				sum[i][j] += factor * row[j];
		}
		a += t->a_col;
		b += t->b_row;
	}
#pragma GCC unroll 8
	for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
		for (int j = 0; j < vectors; j++)
			*(vf64_any *)(t->c + (size_t)i * t->c_row + j * WIDTH) = sum[i][j];
}

/* The largest constant shape that fits `rows`; returns the rows done. */
static int tile_step(size_t rows, int vectors, const struct tile *t)
{
	if (rows >= TILE_ROWS) {
		if (vectors == 1)
			tile_run(TILE_ROWS, 1, t);
		else
			tile_run(TILE_ROWS, TILE_VECTORS, t);
		return TILE_ROWS;
	}
#if defined(KERNEL_ISA_avx512)
	if (rows >= 4) {
		if (vectors == 1)
			tile_run(4, 1, t);
		else
			tile_run(4, TILE_VECTORS, t);
		return 4;
	}
#endif
	if (rows >= 2) {
		if (vectors == 1)
			tile_run(2, 1, t);
		else
			tile_run(2, TILE_VECTORS, t);
		return 2;
	}
	if (vectors == 1)
		tile_run(1, 1, t);
	else if (vectors == TILE_VECTORS)
		tile_run(1, TILE_VECTORS, t);
	else
		tile_run(1, WIDE_VECTORS, t);
	return 1;
}

/* Columns j … j+width of B, rows l … l+depth, to depth × lanes, padded with zeros. */
static void pack_panel(const struct nc_product *p, size_t l, size_t depth, size_t j, size_t width, size_t lanes,
                       double *panel)
{
	const double *b = p->b + l * p->b_row + j * p->b_col;

	if (width < lanes)
		memset(panel, 0, depth * lanes * sizeof(*panel));
	if (p->b_col == 1) {
		for (size_t i = 0; i < depth; i++)
			memcpy(panel + i * lanes, b + i * p->b_row, width * sizeof(*panel));
	} else if (width == TILE_LANES && lanes == TILE_LANES) {
		for (size_t i = 0; i < depth; i++)
#pragma GCC unroll 16
			for (size_t c = 0; c < TILE_LANES; c++)
				panel[i * TILE_LANES + c] = b[i * p->b_row + c * p->b_col];
	} else {
		for (size_t c = 0; c < width; c++)
			for (size_t i = 0; i < depth; i++)
				panel[i * lanes + c] = b[i * p->b_row + c * p->b_col];
	}
}

static void matmul(const struct nc_product *p)
{
	double panel[PANEL_DEPTH * WIDE_LANES] __attribute__((aligned(64)));
	double corner[TILE_ROWS * WIDE_LANES] __attribute__((aligned(64)));
	size_t l = 0;

	do {
		size_t depth = p->k - l < PANEL_DEPTH ? p->k - l : PANEL_DEPTH;
		struct tile t = {.k = depth, .a_row = p->a_row, .a_col = p->a_col, .load = p->accumulate || l > 0};

		for (size_t j = 0, width; j < p->n; j += width) {
			int vectors = p->n - j <= WIDTH ? 1 : TILE_VECTORS;
			size_t lanes;
			bool direct;

			if (p->m == 1 && p->b_col == 1 && p->n - j >= WIDE_LANES)
				vectors = WIDE_VECTORS;
			lanes = (size_t)vectors * WIDTH;
			width = p->n - j < lanes ? p->n - j : lanes;
			t.b = p->b + l * p->b_row + j * p->b_col;
			t.b_row = p->b_row;
			if (p->b_col != 1 || width < lanes) {
				pack_panel(p, l, depth, j, width, lanes, panel);
				t.b = panel;
				t.b_row = lanes;
			}
			direct = p->c_col == 1 && width == lanes;
			for (size_t i = 0, done; i < p->m; i += done) {
				double *c = p->c + i * p->c_row + j * p->c_col;
				size_t rows = p->m - i < TILE_ROWS ? p->m - i : TILE_ROWS;

				t.a = p->a + i * p->a_row + l * p->a_col;
				t.c = direct ? c : corner;
				t.c_row = direct ? p->c_row : lanes;
				for (size_t y = 0; direct && t.load && y < rows; y++)
					for (size_t x = 0; x < lanes; x += 8)
						__builtin_prefetch(c + (y + TILE_ROWS) * p->c_row + x, 1);
				if (!direct && t.load)
					for (size_t y = 0; y < rows; y++)
						for (size_t x = 0; x < lanes; x++)
							corner[y * lanes + x] =
							    x < width ? c[y * p->c_row + x * p->c_col] : 0;
				done = (size_t)tile_step(rows, vectors, &t);
				if (!direct)
					for (size_t x = 0; x < width; x++)
						for (size_t y = 0; y < done; y++)
							c[y * p->c_row + x * p->c_col] = corner[y * lanes + x];
			}
		}
		l += depth;
	} while (l < p->k);
}

#endif
