/* Axes in any position and groups, against index arithmetic written the other way round. */
#include "core/layout.h"
#include "tests/reference/norm_cases.h"
#include "tests/support/suite.h"

#include <string.h>

static struct nc_layout layout_of(const size_t *shape, unsigned rank, const unsigned *axes, unsigned count, size_t groups)
{
	struct nc_layout layout;

	ck_assert_int_eq(nc_layout_init(&layout, shape, rank, axes, count, groups), NC_OK);
	return layout;
}

START_TEST(last_axis)
{
	struct nc_layout l = layout_of((size_t[]){2, 3, 4}, 3, (unsigned[]){2}, 1, 1);

	ck_assert_uint_eq(l.rows, 6);
	ck_assert_uint_eq(l.features, 4);
	ck_assert(l.contiguous && l.param_contiguous);
	ck_assert_uint_eq(l.stats_rank, 2);
	ck_assert_uint_eq(l.param_rank, 1);
}
END_TEST

START_TEST(axes_are_sorted)
{
	struct nc_layout l = layout_of((size_t[]){2, 3, 4}, 3, (unsigned[]){2, 0}, 2, 1);

	ck_assert_uint_eq(l.axes[0], 0);
	ck_assert_uint_eq(l.axes[1], 2);
	ck_assert_uint_eq(l.param_shape[0], 2);
	ck_assert_uint_eq(l.param_shape[1], 4);
	ck_assert_uint_eq(l.rows, 3);
	ck_assert(!l.contiguous);
}
END_TEST

START_TEST(groups_end_the_stats_shape)
{
	struct nc_layout l = layout_of((size_t[]){5, 8}, 2, (unsigned[]){1}, 1, 4);

	ck_assert_uint_eq(l.rows, 20);
	ck_assert_uint_eq(l.features, 2);
	ck_assert_uint_eq(l.stats_rank, 2);
	ck_assert_uint_eq(l.stats_shape[0], 5);
	ck_assert_uint_eq(l.stats_shape[1], 4);
	ck_assert(l.contiguous);
}
END_TEST

START_TEST(zero_rows)
{
	struct nc_layout l = layout_of((size_t[]){0, 4}, 2, (unsigned[]){1}, 1, 1);

	ck_assert_uint_eq(l.rows, 0);
	nc_layout_gather(&l, 4, NULL, NULL);
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
	struct nc_layout l;
	size_t shape[] = {2, 3, 4}, huge[] = {SIZE_MAX / 2, 4, 4}, empty[] = {2, 0};
	unsigned axes[] = {0, 1, 2, 3}, twice[] = {1, 1};

	ck_assert_int_eq(nc_layout_init(&l, shape, 0, axes, 1, 1), NC_INVALID);
	ck_assert_int_eq(nc_layout_init(&l, shape, 9, axes, 1, 1), NC_INVALID);
	ck_assert_int_eq(nc_layout_init(&l, shape, 3, axes, 0, 1), NC_INVALID);
	ck_assert_int_eq(nc_layout_init(&l, shape, 3, axes, 4, 1), NC_INVALID);
	ck_assert_int_eq(nc_layout_init(&l, shape, 3, axes + 3, 1, 1), NC_INVALID);
	ck_assert_int_eq(nc_layout_init(&l, shape, 3, twice, 2, 1), NC_INVALID);
	ck_assert_int_eq(nc_layout_init(&l, shape, 3, axes, 1, 0), NC_INVALID);
	ck_assert_int_eq(nc_layout_init(&l, shape, 3, axes + 2, 1, 3), NC_INVALID);
	ck_assert_int_eq(nc_layout_init(&l, huge, 3, axes + 2, 1, 1), NC_INVALID);
	ck_assert_int_eq(nc_layout_init(&l, huge, 3, axes, 1, 3), NC_INVALID);
	ck_assert_int_eq(nc_layout_init(&l, empty, 2, axes + 1, 1, 1), NC_INVALID);
}
END_TEST

/* For each element of x: its row and feature, from its own index. */
START_TEST(gather_and_scatter_follow_the_indices)
{
	struct random random = {7};

	for (int trial = 0; trial < 3000; trial++) {
		unsigned rank = 1 + (unsigned)random_below(&random, 5), axes[8], axis_count = 0;
		size_t shape[8], count = 1, groups = 1, index[8];
		double x[1024], rows[1024], back[1024];

		for (unsigned i = 0; i < rank; i++) {
			shape[i] = 1 + random_below(&random, 4);
			count *= shape[i];
			if (random_below(&random, 2) || (i + 1 == rank && !axis_count))
				axes[axis_count++] = i;
		}
		if (shape[axes[axis_count - 1]] == 4)
			groups = (size_t)1 << random_below(&random, 3);
		struct nc_layout l = layout_of(shape, rank, axes, axis_count, groups);
		for (size_t i = 0; i < count; i++)
			x[i] = (double)i;
		nc_layout_gather(&l, 8, x, rows);
		nc_layout_scatter(&l, 8, rows, back);
		ck_assert(!memcmp(x, back, count * sizeof(*x)));
		if (l.contiguous)
			ck_assert(!memcmp(x, rows, count * sizeof(*x)));

		for (size_t i = 0; i < count; i++) {
			size_t rest = i, row = 0, feature = 0, group = 0;

			for (unsigned a = rank; a-- > 0; rest /= shape[a])
				index[a] = rest % shape[a];
			for (unsigned a = 0, k = 0; a < rank; a++) {
				if (k < axis_count && axes[k] == a) {
					size_t extent = shape[a], at = index[a];

					if (++k == axis_count) {
						extent /= groups;
						group = at / extent;
						at %= extent;
					}
					feature = feature * extent + at;
				} else {
					row = row * shape[a] + index[a];
				}
			}
			row = row * groups + group;
			ck_assert(rows[row * l.features + feature] == (double)i);
		}
	}
}
END_TEST

START_TEST(parameters_go_to_groups_and_back)
{
	/* Axes of 2 × 4 in two groups of 2 × 2. */
	struct nc_layout l = layout_of((size_t[]){3, 2, 4}, 3, (unsigned[]){1, 2}, 2, 2);
	float gain[8] = {0, 1, 2, 3, 4, 5, 6, 7}, want[8] = {0, 1, 4, 5, 2, 3, 6, 7}, got[8], back[8];

	ck_assert(!l.param_contiguous && !l.contiguous);
	nc_layout_gather_param(&l, 4, gain, got);
	ck_assert(!memcmp(got, want, sizeof(want)));
	nc_layout_scatter_param(&l, 4, got, back);
	ck_assert(!memcmp(back, gain, sizeof(gain)));
}
END_TEST

TEST_MAIN(last_axis, axes_are_sorted, groups_end_the_stats_shape, zero_rows, what_makes_no_sense_is_refused,
          gather_and_scatter_follow_the_indices, parameters_go_to_groups_and_back)
