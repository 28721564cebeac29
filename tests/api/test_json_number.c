/* The number codec by cases: grammar, rounding of every dtype, the form of what is written. */
#include "api/json/json_number.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

static void expect(const char *text, enum nc_dtype dtype, enum json_number_status status, double value, size_t used)
{
	double got = -1;
	const char *after = NULL;
	ck_assert_msg(json_read_number(text, text + strlen(text), dtype, &got, &after) == status, "%s", text);
	ck_assert_msg((size_t)(after - text) == used, "%s: stopped at %td", text, after - text);
	if (status == JSON_NUMBER_OK)
		ck_assert_msg(got == value && !signbit(got) == !signbit(value), "%s: %a, not %a", text, got, value);
}

START_TEST(grammar)
{
	static const struct {
		const char *text;
		enum json_number_status status;
		double value;
		size_t used;
	} cases[] = {
		{"0", JSON_NUMBER_OK, 0, 1}, {"-0", JSON_NUMBER_OK, -0.0, 2}, {"1.5", JSON_NUMBER_OK, 1.5, 3},
		{"-12e2", JSON_NUMBER_OK, -1200, 5}, {"1E+2,", JSON_NUMBER_OK, 100, 4}, {"1e-2]", JSON_NUMBER_OK, .01, 4},
		{"01", JSON_NUMBER_OK, 0, 1}, {"-0.0", JSON_NUMBER_OK, -0.0, 4}, {"1 2", JSON_NUMBER_OK, 1, 1},
		{"", JSON_NUMBER_SYNTAX, 0, 0}, {"-", JSON_NUMBER_SYNTAX, 0, 1}, {"+1", JSON_NUMBER_SYNTAX, 0, 0},
		{".5", JSON_NUMBER_SYNTAX, 0, 0}, {"-.5", JSON_NUMBER_SYNTAX, 0, 1}, {"1.", JSON_NUMBER_SYNTAX, 0, 2},
		{"1.e2", JSON_NUMBER_SYNTAX, 0, 2}, {"1e", JSON_NUMBER_SYNTAX, 0, 2}, {"1e+", JSON_NUMBER_SYNTAX, 0, 3},
		{"1e+-2", JSON_NUMBER_SYNTAX, 0, 3}, {"NaN", JSON_NUMBER_SYNTAX, 0, 0}, {"--1", JSON_NUMBER_SYNTAX, 0, 1},
		{"1e400", JSON_NUMBER_RANGE, 0, 0}, {"-1e400", JSON_NUMBER_RANGE, 0, 0}, {"1e-400", JSON_NUMBER_OK, 0, 6},
		{"-1e-400", JSON_NUMBER_OK, -0.0, 7}, {"0e999999999999999999999", JSON_NUMBER_OK, 0, 23},
		{"1e-999999999999999999999", JSON_NUMBER_OK, 0, 24}, {"1e999999999999999999999", JSON_NUMBER_RANGE, 0, 0},
		{"12345678901234567890", JSON_NUMBER_OK, 12345678901234567890., 20},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		expect(cases[i].text, NC_FLOAT64, cases[i].status, cases[i].value, cases[i].used);
}
END_TEST

static void writes(double value, const char *text64, const char *text32)
{
	char out[JSON_FLOAT64_MAX] = {0};
	*json_write_float64(out, value) = 0;
	ck_assert_str_eq(out, text64);
	*json_write_float32(out, (float)value) = 0;
	ck_assert_str_eq(out, text32);
}

START_TEST(form)
{
	writes(0, "0", "0");
	writes(-0.0, "-0.0", "-0.0");
	writes(1, "1", "1");
	writes(-1.5, "-1.5", "-1.5");
	writes(100, "100", "100");
	writes(.1, "0.1", "0.1");
	writes(.00001, "0.00001", "0.00001");
	writes(.000001, "0.000001", "0.000001");
	writes(1e-7, "1e-7", "1e-7");
	writes(1.25e-7, "1.25e-7", "1.25e-7");
	writes(1e20, "100000000000000000000", "100000000000000000000");
	writes(1e21, "1e+21", "1e+21");
	writes(123456789012345680000., "123456789012345680000", "123456790000000000000");
	writes(555557.5, "555557.5", "555557.5");
	writes(-1.2345678901234567e-6, "-0.0000012345678901234567", "-0.0000012345679");
	writes(9007199254740993., "9007199254740992", "9007199000000000");
}
END_TEST

TEST_MAIN(grammar, form)
