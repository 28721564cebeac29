/* base64 against RFC 4648's own examples, against itself at every length, and what it must refuse. */
#include "api/json/base64.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *plain, *text;
} examples[] = {
	{"", ""},         {"f", "Zg=="},         {"fo", "Zm8="},         {"foo", "Zm9v"},
	{"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}, {"\xfb\xff\xbf", "+/+/"},
};

START_TEST(rfc_examples)
{
	for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
		char text[16];
		unsigned char plain[16];
		size_t len;
		char *end = base64_encode(examples[i].plain, strlen(examples[i].plain), text);
		ck_assert_uint_eq((size_t)(end - text), strlen(examples[i].text));
		ck_assert_mem_eq(text, examples[i].text, strlen(examples[i].text));
		ck_assert(base64_decode(examples[i].text, strlen(examples[i].text), plain, &len));
		ck_assert_uint_eq(len, strlen(examples[i].plain));
		ck_assert_mem_eq(plain, examples[i].plain, len);
	}
}
END_TEST

START_TEST(every_length_comes_back)
{
	unsigned char plain[200], back[210];
	char text[300];
	size_t len;
	srand(7);
	for (size_t n = 0; n <= sizeof plain; n++) {
		for (size_t i = 0; i < n; i++)
			plain[i] = (unsigned char)rand();
		char *end = base64_encode(plain, n, text);
		ck_assert_uint_eq((size_t)(end - text), base64_encoded_len(n));
		ck_assert_uint_le(n, base64_decoded_max((size_t)(end - text)));
		ck_assert(base64_decode(text, (size_t)(end - text), back, &len));
		ck_assert_uint_eq(len, n);
		ck_assert(n == 0 || memcmp(plain, back, n) == 0);
	}
}
END_TEST

START_TEST(what_is_not_base64)
{
	static const char *const bad[] = {"A", "AA", "AAA", "AA=A", "A===", "====", "AAAA=", "AA-_", "AA A", "AAA\n", "Zh==", "Zm9=",
	                                  "AAAAAA=A", "\xc3\xa4--", "=AAA"};
	unsigned char out[16];
	size_t len;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(!base64_decode(bad[i], strlen(bad[i]), out, &len), "%s", bad[i]);
}
END_TEST

TEST_MAIN(rfc_examples, every_length_comes_back, what_is_not_base64)
