/* base64 against RFC 4648's own examples, against itself at every length, and what it must refuse. */
#include "api/json/base64.h"
#include "core/isa.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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

/* A byte at a time, as the standard's section 4 says it; SIZE_MAX where it is not base64. */
static size_t plain_decode(const unsigned char *text, size_t len, unsigned char *out)
{
	size_t n = 0;
	if (len % 4)
		return SIZE_MAX;
	for (size_t i = 0; i < len; i += 4) {
		uint32_t bits = 0;
		int padding = 0;
		for (size_t j = i; j < i + 4; j++) {
			const char *letter = text[j] ? strchr(base64_alphabet, text[j]) : NULL;
			bool pad = text[j] == '=' && i + 4 == len && j >= i + 2;
			if ((!letter && !pad) || (letter && padding))
				return SIZE_MAX;
			padding += pad;
			bits = bits << 6 | (letter ? (uint32_t)(letter - base64_alphabet) : 0);
		}
		if (bits & ((1u << 8 * padding) - 1))
			return SIZE_MAX;
		for (int j = 0; j < 3 - padding; j++)
			out[n++] = (unsigned char)(bits >> (16 - 8 * j));
	}
	return n;
}

/* A page, and behind it one that may not be touched. */
static unsigned char *guarded(void)
{
	unsigned char *p = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert(p != MAP_FAILED && mprotect(p + 4096, 4096, PROT_NONE) == 0);
	return p;
}

/* Every instruction set, text and bytes each ending at an unreadable page: every length, and every byte at every place. */
START_TEST(instruction_sets_agree)
{
	unsigned char *text_page = guarded(), *plain_page = guarded(), want[512];
	size_t n;
	srand(9);
	for (int isa = 0; isa < NC_ISA_COUNT; isa++) {
		if (!nc_isa_supported((enum nc_isa)isa) || !nc_isa_select(nc_isa_name((enum nc_isa)isa)))
			continue;
		for (size_t length = 0; length <= 300; length++) {
			unsigned char *plain = plain_page + 4096 - length, *text = text_page + 4096 - base64_encoded_len(length);
			for (size_t i = 0; i < length; i++)
				plain[i] = want[i] = (unsigned char)rand();
			ck_assert_ptr_eq(base64_encode(plain, length, (char *)text), text_page + 4096);
			unsigned char back[512];
			ck_assert(plain_decode(text, base64_encoded_len(length), back) == length && memcmp(back, want, length) == 0);
			memset(plain_page, 0xee, 4096);
			unsigned char *out = plain_page + 4096 - base64_decoded_max(base64_encoded_len(length));
			ck_assert(base64_decode((char *)text, base64_encoded_len(length), out, &n) && n == length);
			ck_assert(memcmp(out, want, length) == 0);
		}
		enum { LENGTH = 208 };
		unsigned char *text = text_page + 4096 - LENGTH, *out = plain_page + 4096 - LENGTH / 4 * 3;
		for (size_t at = 0; at < LENGTH; at++)
			for (int byte = 0; byte < 256; byte++) {
				for (size_t i = 0; i < LENGTH; i++)
					text[i] = (unsigned char)base64_alphabet[(7 * i + at) % 64];
				text[at] = (unsigned char)byte;
				size_t expected = plain_decode(text, LENGTH, want);
				ck_assert_msg(base64_decode((char *)text, LENGTH, out, &n) == (expected != SIZE_MAX), "%s: byte %d at %zu",
				              nc_isa_name((enum nc_isa)isa), byte, at);
				ck_assert(expected == SIZE_MAX || (n == expected && memcmp(out, want, n) == 0));
			}
	}
	nc_isa_select("auto");
	munmap(text_page, 2 * 4096);
	munmap(plain_page, 2 * 4096);
}
END_TEST

TEST_MAIN(rfc_examples, every_length_comes_back, what_is_not_base64, instruction_sets_agree)
