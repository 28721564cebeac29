#include "json_selftest.h"

#include "base64.h"

#include <string.h>

/*
 * Numbers and their shortest decimals. The reader takes more: long digits, which lie just above halfway between
 * 1 and 1 + 2^-52, spaces, and exponents that a writer does not use.
 */
static const double numbers[] = {0.1, -0.0, 1, 1e-7, 1e21, 123456789.125, 5e-324, 1.7976931348623157e308, 0.3333333333333333,
                                 9007199254740992};
static const char text[] = "0.1,-0.0,1,1e-7,1e+21,123456789.125,5e-324,1.7976931348623157e+308,0.3333333333333333,"
                           "9007199254740992,";
static const float narrow_numbers[] = {0.1f, -0.0f, 16777216, 1e-45f, 3.4028235e38f, 0.33333334f, 1e21f};
static const char narrow_text[] = "0.1,-0.0,16777216,1e-45,3.4028235e+38,0.33333334,1e+21,";
static const char odd_text[] = " 1.00000000000000011102230246251565404236316680908203126 , -12E+2,\n0.5e-0,0.25 ]";
static const double odd_numbers[] = {1 + 0x1p-52, -1200, 0.5, 0.25};

enum { NUMBERS = sizeof numbers / sizeof *numbers, NARROW = sizeof narrow_numbers / sizeof *narrow_numbers };
enum { ODD = sizeof odd_numbers / sizeof *odd_numbers, MANY = 5, ROOM = 2048 };

static void expect_text(struct selftest_trial *trial, const char *got, const char *end, const char *exact)
{
	size_t length = (size_t)(end - got);

	trial->wrong |= length != strlen(exact) || memcmp(got, exact, length) != 0;
	selftest_keep(trial, got, length);
}

/* Whether the list that ends at a ']' or at end is read as `expected` numbers. */
static bool reads(const struct json_kernels *k, const char *from, const char *end, enum nc_dtype dtype, void *out,
                  size_t expected)
{
	const char *after;
	size_t count;

	return json_read_list_by(k, from, end, dtype, out, expected, &count, &after) == JSON_NUMBER_OK && count == expected &&
	       (after == end || *after == ']');
}

static void try_read_list(const struct json_kernels *k, struct selftest_trial *trial)
{
	char many[MANY * (sizeof text - 1) + 1];
	double out[MANY * NUMBERS];
	float out32[NARROW];

	for (size_t i = 0; i < MANY; i++)
		memcpy(many + i * (sizeof text - 1), text, sizeof text);
	many[MANY * (sizeof text - 1) - 1] = ']'; /* in place of the last comma */
	trial->wrong |= !reads(k, many, many + sizeof many - 1, NC_FLOAT64, out, MANY * NUMBERS);
	for (size_t i = 0; i < MANY && !trial->wrong; i++)
		selftest_expect(trial, out + i * NUMBERS, numbers, NUMBERS);
	trial->wrong |= !reads(k, odd_text, odd_text + sizeof odd_text - 1, NC_FLOAT64, out, ODD);
	if (!trial->wrong)
		selftest_expect(trial, out, odd_numbers, ODD);
	trial->wrong |= !reads(k, narrow_text, narrow_text + sizeof narrow_text - 2, NC_FLOAT32, out32, NARROW);
	if (!trial->wrong)
		selftest_expect_f32(trial, out32, narrow_numbers, NARROW);
}

static void try_write_float64(const struct json_kernels *k, struct selftest_trial *trial)
{
	char out[ROOM];
	size_t written = 0;
	char *end = k->write_float64(out, numbers, NUMBERS, &written);

	trial->wrong |= written != NUMBERS;
	if (!trial->wrong)
		expect_text(trial, out, end, text);
}

static void try_write_float32(const struct json_kernels *k, struct selftest_trial *trial)
{
	char out[ROOM];
	size_t written = 0;
	char *end = k->write_float32(out, narrow_numbers, NARROW, &written);

	trial->wrong |= written != NARROW;
	if (!trial->wrong)
		expect_text(trial, out, end, narrow_text);
}

static void try_count_commas(const struct json_kernels *k, struct selftest_trial *trial)
{
	char list[300];
	size_t commas = 0;

	memset(list, ',', sizeof list);
	list[0] = list[150] = '1';
	list[290] = '}';
	trial->wrong |= k->count_commas(list, list + sizeof list, &commas) != list + 290 || commas != 288;
	selftest_keep(trial, &commas, sizeof commas);
}

static void try_skip_space(const struct json_kernels *k, struct selftest_trial *trial)
{
	char space[200];

	for (size_t i = 0; i < sizeof space; i++)
		space[i] = " \n\t\r"[i % 4];
	space[190] = 0;
	for (size_t from = 0; from < 66; from++)
		trial->wrong |= k->skip_space(space + from, space + sizeof space) != space + 190 ||
		                k->skip_space(space + from, space + from + 65) != space + from + 65;
	selftest_keep(trial, space, sizeof space);
}

/* Bytes whose text goes through the alphabet three times. */
static void fill_base64(unsigned char plain[144], char letters[192])
{
	for (unsigned i = 0; i < 192; i += 4) {
		unsigned bits = (i & 63) << 18 | ((i + 1) & 63) << 12 | ((i + 2) & 63) << 6 | ((i + 3) & 63);
		for (unsigned j = 0; j < 3; j++)
			plain[i / 4 * 3 + j] = (unsigned char)(bits >> (16 - 8 * j));
		memcpy(letters + i, base64_alphabet + (i & 63), 4);
	}
}

static void try_decode_base64(const struct json_kernels *k, struct selftest_trial *trial)
{
	unsigned char plain[144], out[144] = {0};
	char letters[192];

	fill_base64(plain, letters);
	trial->wrong |= k->decode_base64(letters, sizeof letters, out) != letters + sizeof letters || memcmp(out, plain, sizeof plain) != 0;
	letters[70] = '=';
	trial->wrong |= k->decode_base64(letters, sizeof letters, out) != letters + 68;
	selftest_keep(trial, out, 51);
}

static void try_encode_base64(const struct json_kernels *k, struct selftest_trial *trial)
{
	unsigned char plain[144];
	char letters[192], out[192] = {0};

	fill_base64(plain, letters);
	trial->wrong |= k->encode_base64(plain, sizeof plain, out) != out + sizeof out || memcmp(out, letters, sizeof letters) != 0;
	selftest_keep(trial, out, sizeof out);
}

/* A kernel without its try_… does not compile. */
static const struct {
	const char *name;
	void (*run)(const struct json_kernels *table, struct selftest_trial *trial);
} tests[] = {
#define JSON_KERNEL(result, name, arguments) {#name, try_##name},
#include "kernels/json_kernels.def"
#undef JSON_KERNEL
};

size_t json_selftest_count(void)
{
	return sizeof tests / sizeof *tests;
}

const char *json_selftest_name(size_t i)
{
	return tests[i].name;
}

void json_selftest_run(size_t i, const struct json_kernels *table, struct selftest_trial *trial)
{
	trial->wrong = false;
	trial->used = 0;
	tests[i].run(table, trial);
}
