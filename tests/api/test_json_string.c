/* Strings that are sound, and the first byte at fault of those that are not. */
#include "api/json/json_string.h"
#include "tests/support/suite.h"

#include <stddef.h>
#include <string.h>

START_TEST(sound)
{
	static const char *const texts[] = {"", "abc", "\\\"\\\\\\/\\b\\f\\n\\r\\t", "\\u00e4\\uABCD", "\\ud83d\\ude00", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
	                                    "\xf4\x8f\xbf\xbf", "\x7f"};
	const char *what;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		ck_assert_msg(json_string_fault(texts[i], texts[i] + strlen(texts[i]), &what) == NULL, "%s", texts[i]);
}
END_TEST

START_TEST(unsound)
{
	static const struct {
		const char *text;
		size_t fault;
		const char *word;
	} rows[] = {
		{"a\nb", 1, "control"},      {"\x1f", 0, "control"},      {"ab\\q", 2, "escape"},     {"a\\u12g4", 1, "hexadecimal"},
		{"\\u12", 0, "hexadecimal"}, {"\\u0000", 0, "u0000"},     {"\\ud800", 0, "surrogate"}, {"\\ud800\\u0041", 0, "surrogate"},
		{"\\ude00", 0, "surrogate"}, {"x\xff", 1, "UTF-8"},       {"x\xc3", 1, "UTF-8"},       {"\xc0\x80", 0, "UTF-8"},
		{"\xed\xa0\x80", 0, "UTF-8"}, {"\xf4\x90\x80\x80", 0, "UTF-8"}, {"\xe2\x82", 0, "UTF-8"}, {"\xe2\x28\xa1", 0, "UTF-8"},
		{"\x80", 0, "UTF-8"},        {"\\ud83d\\ud83d", 0, "surrogate"}, {"\xf0\x9f\x98", 0, "UTF-8"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *what = "", *text = rows[i].text, *fault = json_string_fault(text, text + strlen(text), &what);
		ck_assert_msg(fault == text + rows[i].fault, "row %zu", i);
		ck_assert_msg(strstr(what, rows[i].word) != NULL, "row %zu: %s", i, what);
	}
}
END_TEST

TEST_MAIN(sound, unsound)
