/*
 * Conversions between dtypes: the same bits on every instruction set, no element read or written too many, and each value
 * rounded once, as core/dtype.c rounds it alone (tests/core/test_dtype.c has that against MPFR).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/kernels.h"
#include "tests/support/paddock.h"
#include "tests/support/suite.h"

enum { LONGEST = 70, MANY = 1 << 16, SPREAD = 1 << 18 };

static uint64_t dice = 1;

static uint64_t dice_bits(void)
{
	dice += 0x9e3779b97f4a7c15;
	uint64_t z = (dice ^ dice >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static double double_of(uint64_t bits)
{
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static float float_of(uint32_t bits)
{
	float value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

/*
 * Numbers of every kind: a value of a dtype, halfway to the next one, a hair beside that; around the ends of the normal
 * and the subnormal range; any bits at all, NaN among them.
 */
static double draw(void)
{
	enum nc_dtype grid = (enum nc_dtype)(1 + dice_bits() % (NC_DTYPE_COUNT - 1));
	int bits = nc_dtype_mantissa_bits(grid), least = nc_dtype_min_exponent(grid), most = ilogb(nc_dtype_max(grid));
	uint64_t kind = dice_bits() % 16;

	if (kind == 0)
		return double_of(dice_bits());
	if (kind == 1)
		return (double)float_of((uint32_t)dice_bits());
	if (kind == 2)
		return (dice_bits() & 1 ? -1 : 1) * (double[]){0, INFINITY, NAN, 0x1p-1074}[dice_bits() % 4];
	int exponent = kind < 6 ? least - (int)(dice_bits() % 14) : kind < 8 ? most + (int)(dice_bits() % 2)
	                                                                    : (int)(dice_bits() % 40) - 20;
	if (exponent < least - bits)
		exponent = least - bits;
	double unit = ldexp(1, (exponent < least ? least : exponent) - bits + 1);
	double value = unit * floor(ldexp(1 + (double)(dice_bits() >> 12) * 0x1p-52, exponent) / unit);
	double to[] = {0, 0.5, 0.5, 0.25};
	value += unit * to[dice_bits() % 4];
	if (dice_bits() % 2)
		value = nextafter(value, dice_bits() % 2 ? INFINITY : 0);
	return dice_bits() & 1 ? -value : value;
}

/* The storage of a dtype as float64, whatever it is. */
static double stored(enum nc_dtype dtype, const void *x, size_t i)
{
	return dtype == NC_FLOAT64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

/* Whether an array holds each x rounded once, and whether it overflows is what the kernel said. */
static void right(enum nc_dtype from, const void *x, enum nc_dtype to, const void *got, size_t count, int over)
{
	bool lost = false;

	for (size_t i = 0; i < count; i++) {
		double value = stored(from, x, i), want = nc_dtype_round(to, value), have = stored(to, got, i);

		lost |= isinf(want) && !isinf(value);
		ck_assert_msg((want == have && !signbit(want) == !signbit(have)) || (isnan(want) && isnan(have)),
		              "%s to %s: %a is %a, not %a", nc_dtype_name(from), nc_dtype_name(to), value, have, want);
	}
	ck_assert_int_eq(over != 0, lost);
}

/* Fills `count` of a dtype's storage: values of the dtype, or for `wild` any that its memory can hold. */
static void fill(enum nc_dtype dtype, void *x, size_t count, bool wild)
{
	for (size_t i = 0; i < count; i++) {
		double value = draw();

		if (dtype == NC_FLOAT64)
			((double *)x)[i] = value;
		else
			((float *)x)[i] = (float)(wild ? value : nc_dtype_round(dtype, value));
	}
}

static struct paddock in, out;

static void one_conversion(enum nc_dtype from, enum nc_dtype to, size_t count, size_t gap)
{
	size_t bytes = count * nc_dtype_storage_bytes(from), out_bytes = count * nc_dtype_storage_bytes(to);
	void *x = paddock_place(&in, bytes, gap * nc_dtype_storage_bytes(from));
	double want[LONGEST];
	int over = 0;

	fill(from, x, count, false);
	for (int isa = 0; isa < NC_ISA_COUNT; isa++) {
		const struct kernels *k = kernels_of((enum nc_isa)isa);
		void *got;

		if (!k)
			continue;
		got = paddock_place(&out, out_bytes, gap * nc_dtype_storage_bytes(to));
		int said = k->convert(from, x, to, got, count);
		ck_assert(paddock_intact(&out) && paddock_intact(&in));
		if (isa == 0) {
			right(from, x, to, got, count, said);
			memcpy(want, got, out_bytes);
			over = said;
		}
		ck_assert_int_eq(said != 0, over != 0);
		ck_assert_msg(!memcmp(got, want, out_bytes), "%s to %s, %zu values, on %s", nc_dtype_name(from), nc_dtype_name(to),
		              count, nc_isa_name((enum nc_isa)isa));
	}
}

START_TEST(conversions_on_every_instruction_set)
{
	paddock_open(&in, 1024);
	paddock_open(&out, 1024);
	for (size_t count = 0; count <= LONGEST; count++)
		for (size_t gap = 0; gap < 17; gap++)
			for (int from = 0; from < NC_DTYPE_COUNT; from++)
				for (int to = 0; to < NC_DTYPE_COUNT; to++)
					one_conversion((enum nc_dtype)from, (enum nc_dtype)to, count, gap);
	paddock_close(&in);
	paddock_close(&out);
}
END_TEST

static void one_pack(enum nc_dtype dtype, size_t count, size_t gap)
{
	float *x = paddock_place(&in, count * sizeof *x, gap * sizeof *x), back[LONGEST], want_back[LONGEST];
	uint16_t want[LONGEST];

	fill(dtype, x, count, true);
	for (int isa = 0; isa < NC_ISA_COUNT; isa++) {
		const struct kernels *k = kernels_of((enum nc_isa)isa);
		void *halves;

		if (!k)
			continue;
		halves = paddock_place(&out, 2 * count, gap); /* at odd addresses too */
		k->pack_halves(dtype, x, count, halves);
		ck_assert(paddock_intact(&out) && paddock_intact(&in));
		if (isa == 0)
			memcpy(want, halves, 2 * count);
		ck_assert_msg(!memcmp(halves, want, 2 * count), "%zu values to %s on %s", count, nc_dtype_name(dtype),
		              nc_isa_name((enum nc_isa)isa));
		k->unpack_halves(dtype, halves, count, back);
		if (isa == 0) {
			memcpy(want_back, back, count * sizeof *back);
			for (size_t i = 0; i < count; i++) {
				double value = nc_dtype_round(dtype, (double)x[i]);

				ck_assert((value == (double)back[i] && !signbit(value) == !signbit(back[i])) ||
				          (isnan(value) && isnan(back[i])));
			}
		}
		ck_assert_msg(!memcmp(back, want_back, count * sizeof *back), "%zu values of %s on %s", count, nc_dtype_name(dtype),
		              nc_isa_name((enum nc_isa)isa));
	}
}

static void one_unpack(enum nc_dtype dtype, size_t count, size_t gap)
{
	unsigned char *halves = paddock_place(&in, 2 * count, gap);
	float want[LONGEST];

	for (size_t i = 0; i < 2 * count; i++)
		halves[i] = (unsigned char)dice_bits();
	for (int isa = 0; isa < NC_ISA_COUNT; isa++) {
		const struct kernels *k = kernels_of((enum nc_isa)isa);
		float *got;

		if (!k)
			continue;
		got = paddock_place(&out, count * sizeof *got, gap * sizeof *got);
		k->unpack_halves(dtype, halves, count, got);
		ck_assert(paddock_intact(&out) && paddock_intact(&in));
		if (isa == 0)
			memcpy(want, got, count * sizeof *got);
		ck_assert_msg(!memcmp(got, want, count * sizeof *got), "%zu values of %s on %s", count, nc_dtype_name(dtype),
		              nc_isa_name((enum nc_isa)isa));
	}
}

START_TEST(sixteen_bits_on_every_instruction_set)
{
	paddock_open(&in, 1024);
	paddock_open(&out, 1024);
	for (size_t count = 0; count <= LONGEST; count++)
		for (size_t gap = 0; gap < 17; gap++)
			for (int dtype = NC_BFLOAT16; dtype <= NC_FLOAT16; dtype++) {
				one_pack((enum nc_dtype)dtype, count, gap);
				one_unpack((enum nc_dtype)dtype, count, gap);
			}
	paddock_close(&in);
	paddock_close(&out);
}
END_TEST

/* What 16 bits mean, by the definition: (−1)^s · 2^e · 1.m, or 0.m at the least e. */
static double meaning(enum nc_dtype dtype, unsigned bits)
{
	int fraction = nc_dtype_mantissa_bits(dtype) - 1, least = nc_dtype_min_exponent(dtype);
	unsigned m = bits & ((1u << fraction) - 1), e = (bits & 0x7fff) >> fraction, top = 0x7fffu >> fraction;
	double size = e == top ? m ? NAN : INFINITY : e ? ldexp(m + (1u << fraction), (int)e - 1 + least - fraction)
	                                               : ldexp(m, least - fraction);

	return bits & 0x8000 ? -size : size;
}

/* All 65536, each way, on every instruction set: right by the definition, the same bits, and back again. */
START_TEST(every_sixteen_bits)
{
	uint16_t *bits = calloc(MANY, sizeof *bits), *back = calloc(MANY, sizeof *back), *first = calloc(MANY, sizeof *first);
	float *value = calloc(MANY, sizeof *value), *want = calloc(MANY, sizeof *want);

	for (unsigned b = 0; b < MANY; b++)
		bits[b] = (uint16_t)b;
	for (int d = NC_BFLOAT16; d <= NC_FLOAT16; d++) {
		enum nc_dtype dtype = (enum nc_dtype)d;

		for (int isa = 0; isa < NC_ISA_COUNT; isa++) {
			const struct kernels *k = kernels_of((enum nc_isa)isa);

			if (!k)
				continue;
			k->unpack_halves(dtype, bits, MANY, isa ? value : want);
			k->pack_halves(dtype, want, MANY, isa ? back : first);
			if (isa) {
				ck_assert(!memcmp(value, want, MANY * sizeof *value) && !memcmp(back, first, MANY * sizeof *back));
				continue;
			}
			for (unsigned b = 0; b < MANY; b++) {
				double m = meaning(dtype, b);

				ck_assert((m == (double)want[b] && !signbit(m) == !signbit(want[b])) || (isnan(m) && isnan(want[b])));
				ck_assert(first[b] == b || isnan(m)); /* a NaN that signals becomes quiet */
				ck_assert(!isnan(m) || (first[b] | (dtype == NC_FLOAT16 ? 0x200 : 0x40)) == (b | (dtype == NC_FLOAT16 ? 0x200 : 0x40)));
			}
		}
	}
	free(bits), free(back), free(first), free(value), free(want);
}
END_TEST

/* Many numbers of every kind, each from float64 and from float32; and halfway between all neighbours of 16 bits. */
START_TEST(rounded_once)
{
	double *x = calloc(SPREAD, sizeof *x);
	float *narrow = calloc(SPREAD, sizeof *narrow), *want = calloc(SPREAD, sizeof *want), *got = calloc(SPREAD, sizeof *got);

	for (int to = NC_FLOAT32; to <= NC_FLOAT16; to++)
		for (int round = 0; round < 4; round++) {
			for (size_t i = 0; i < SPREAD; i++) {
				unsigned b = (unsigned)i & 0xfffe;
				double low = meaning((enum nc_dtype)to, b), high = meaning((enum nc_dtype)to, b + 1);
				double half = round == 2 ? low / 2 + high / 2 : nextafter(low / 2 + high / 2, i & MANY ? INFINITY : -INFINITY);

				x[i] = to == NC_FLOAT32 || round < 2 ? draw() : half;
			}
			for (size_t i = 0; i < SPREAD; i++)
				narrow[i] = (float)x[i];
			for (int source = NC_FLOAT64; source <= NC_FLOAT32; source++)
				for (int isa = 0, over = 0; isa < NC_ISA_COUNT; isa++) {
					const struct kernels *k = kernels_of((enum nc_isa)isa);
					const void *from = source == NC_FLOAT64 ? (const void *)x : narrow;

					if (!k)
						continue;
					int said = k->convert((enum nc_dtype)source, from, (enum nc_dtype)to, isa ? got : want, SPREAD);
					if (isa == 0) {
						right((enum nc_dtype)source, from, (enum nc_dtype)to, want, SPREAD, said);
						over = said;
						continue;
					}
					ck_assert_int_eq(said != 0, over != 0);
					ck_assert(!memcmp(got, want, SPREAD * sizeof *got));
				}
		}
	free(x), free(narrow), free(want), free(got);
}
END_TEST

TEST_MAIN(conversions_on_every_instruction_set, sixteen_bits_on_every_instruction_set, every_sixteen_bits, rounded_once)
