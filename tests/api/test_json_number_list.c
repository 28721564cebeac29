/*
 * Lists: every instruction set against a plain reader written here (strtod in the C locale for the values, MPFR for what strtod
 * has no type for), on random lists of all forms of numbers, white space and faults, each ending at an unreadable page.
 */
#include "api/json/json_number.h"
#include "api/json/json_text.h"
#include "core/isa.h"
#include "tests/support/suite.h"

#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROOM = 1 << 18, NUMBERS = 1 << 14 };

static uint64_t state = 0x9e3779b97f4a7c15;

static uint64_t next(void)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return state * 0x2545f4914f6cdd1d;
}

static unsigned below(unsigned n)
{
	return (unsigned)((next() >> 32) * n >> 32);
}

/* ROOM bytes, behind them a page that may not be touched. */
static char *guarded(void)
{
	char *p = mmap(NULL, ROOM + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert(p != MAP_FAILED && mprotect(p + ROOM, 4096, PROT_NONE) == 0);
	return p;
}

static double nearest(const char *text, enum nc_dtype dtype)
{
	if (dtype == NC_FLOAT64)
		return strtod(text, NULL);
	if (dtype == NC_FLOAT32)
		return (double)strtof(text, NULL);
	mpfr_t x;
	bool half = dtype == NC_FLOAT16;
	mpfr_init2(x, half ? 11 : 8);
	mpfr_set_emin(half ? -23 : -132);
	mpfr_set_emax(half ? 16 : 128);
	int inexact = mpfr_strtofr(x, text, NULL, 10, MPFR_RNDN);
	mpfr_check_range(x, inexact, MPFR_RNDN);
	mpfr_subnormalize(x, inexact, MPFR_RNDN);
	double value = mpfr_get_d(x, MPFR_RNDN);
	mpfr_clear(x);
	mpfr_set_emin(mpfr_get_emin_min());
	mpfr_set_emax(mpfr_get_emax_max());
	return value;
}

static bool digit(const char *p, const char *end)
{
	return p < end && *p >= '0' && *p <= '9';
}

static bool space(const char *p, const char *end)
{
	return p < end && strchr(" \t\n\r", *p) && *p;
}

/* The grammar once more, as plainly as it goes: the end of the number, or NULL and *fault. */
static const char *plain_number(const char *p, const char *end, const char **fault)
{
	if (p < end && *p == '-')
		p++;
	if (!digit(p, end))
		goto bad;
	if (*p == '0')
		p++;
	else
		while (digit(p, end))
			p++;
	if (p < end && *p == '.') {
		p++;
		if (!digit(p, end))
			goto bad;
		while (digit(p, end))
			p++;
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		p++;
		if (p < end && (*p == '+' || *p == '-'))
			p++;
		if (!digit(p, end))
			goto bad;
		while (digit(p, end))
			p++;
	}
	return p;
bad:
	*fault = p;
	return NULL;
}

static enum json_number_status plain_list(const char *p, const char *end, enum nc_dtype dtype, double *out,
                                          size_t capacity, size_t *count, const char **after)
{
	static char token[ROOM];
	for (*count = 0;; p++) {
		while (space(p, end))
			p++;
		*after = p;
		if (*count == capacity)
			return digit(p, end) || (p < end && *p == '-') ? JSON_NUMBER_FULL : JSON_NUMBER_SYNTAX;
		const char *past = plain_number(p, end, after);
		if (!past)
			return JSON_NUMBER_SYNTAX;
		memcpy(token, p, (size_t)(past - p));
		token[past - p] = 0;
		double value = nearest(token, dtype);
		if (isinf(value))
			return JSON_NUMBER_RANGE;
		out[(*count)++] = value;
		for (p = past; space(p, end); p++)
			;
		*after = p;
		if (p == end || *p != ',')
			return JSON_NUMBER_OK;
	}
}

static char *put(char *p, const char *text)
{
	size_t n = strlen(text);
	memcpy(p, text, n);
	return p + n;
}

static char *put_digits(char *p, unsigned count)
{
	while (count--)
		*p++ = (char)('0' + below(10));
	return p;
}

static char *put_number(char *p, unsigned odds)
{
	static const char *const hard[] = {
		"0", "-0", "0.0", "-0.0", "1", "9007199254740993", "9007199254740992.5", "4503599627370497.5", "257", "257.0",
		"1.00390625", "-1.01171875", "1.0039062500000001", "2049", "65519", "65519.99999999999999", "0.00006103515624",
		"0.000000059604645", "16777217", "16777217.0", "16777219.00000000000001", "1.00000017881393432617187499",
		"18446744073709551615", "18446744073709551616", "9999999999999999999", "10000000000000000000",
		"0.000000000000000000001", "0.3", "1e23", "8.5e22", "1e-7", "2.2250738585072014e-308", "5e-324", "1e-400",
		"0.1234567890123456789012345", "123456789012345678", "0.000001234567890123456789", "1.7976931348623157e308",
		"3.4028235e38", "1.1754943508222875e-38", "7.006492321624085e-46", "123456.7890123456",
	};
	unsigned kind = below(16);
	if (kind == 0)
		return put(p, hard[below(sizeof hard / sizeof *hard)]);
	if (below(2))
		*p++ = '-';
	if (kind == 15 && below(2)) /* halfway between two doubles, of 17 digits */
		return p + sprintf(p, "%llu.5", (unsigned long long)(next() >> 12 | UINT64_C(1) << 52));
	if (below(3)) {
		*p++ = '0';
	} else {
		*p++ = (char)('1' + below(9));
		p = put_digits(p, below(odds > 4 ? 6 : 17));
	}
	if (kind < 13) {
		*p++ = '.';
		p = put_digits(p, 1 + below(kind < 4 ? 8 : kind < 8 ? 24 : 18));
	}
	if (below(odds) == 0) {
		*p++ = "eE"[below(2)];
		p = put(p, (const char *[]){"", "+", "-"}[below(3)]);
		p = put_digits(p, 1 + below(2));
	}
	if (below(odds * 200) == 0) {
		if (!memchr(p - 1, '.', 1))
			p = put_digits(p, below(900));
	}
	return p;
}

static char *put_space(char *p)
{
	for (unsigned n = below(20) ? below(3) : below(150); n; n--)
		*p++ = " \t\n\r"[below(4)];
	return p;
}

/* spaces: 0 none, 1 one behind each comma, 2 any. Ends with ']' or nothing. */
static char *put_list(char *p, unsigned count, unsigned spaces, unsigned odds)
{
	for (unsigned i = 0; i < count; i++) {
		if (i)
			*p++ = ',';
		if (spaces == 1 && i)
			*p++ = ' ';
		if (spaces == 2)
			p = put_space(p);
		p = put_number(p, odds);
		if (spaces == 2)
			p = put_space(p);
	}
	if (below(4))
		*p++ = ']';
	return p;
}

static double storage[2][NUMBERS];

static void compare(const char *text, const char *end, enum nc_dtype dtype, size_t capacity)
{
	static double expected[NUMBERS];
	size_t count, plain_count;
	const char *after, *plain_after;
	enum json_number_status plain = plain_list(text, end, dtype, expected, capacity, &plain_count, &plain_after);
	for (int isa = 0; isa < NC_ISA_COUNT; isa++) {
		if (!nc_isa_supported((enum nc_isa)isa) || !nc_isa_select(nc_isa_name((enum nc_isa)isa)))
			continue;
		memset(storage[0], 0xee, capacity * sizeof(double) + 8 * (capacity < NUMBERS));
		enum json_number_status status =
			json_read_list(text, end, dtype, storage[0], capacity, &count, &after);
		const char *name = nc_isa_name((enum nc_isa)isa);
		int shown = (int)(end - text < 300 ? end - text : 300);
		ck_assert_msg(status == plain && count == plain_count && after == plain_after,
		              "%s %s: status %d not %d, count %zu not %zu, stopped at %td not %td: %.*s", name,
		              nc_dtype_name(dtype), status, plain, count, plain_count, after - text, plain_after - text,
		              shown, text);
		for (size_t i = 0; i < count; i++) {
			double got = dtype == NC_FLOAT64 ? storage[0][i] : (double)((const float *)storage[0])[i];
			ck_assert_msg(memcmp(&got, &expected[i], sizeof got) == 0, "%s %s: number %zu is %a, not %a: %.*s",
			              name, nc_dtype_name(dtype), i, got, expected[i], shown, text);
		}
		const unsigned char *behind =
			(const unsigned char *)storage[0] + capacity * nc_dtype_storage_bytes(dtype);
		ck_assert_msg(capacity == NUMBERS || *behind == 0xee, "%s wrote past the capacity", name);
	}
	nc_isa_select("auto");
}

START_TEST(random_lists)
{
	static char list[ROOM];
	char *page = guarded();
	for (int round = 0; round < 6000; round++) {
		unsigned odds = (unsigned[]){2, 20, 1000}[below(3)];
		unsigned count = 1 + (round % 60 ? below(40) : below(3000));
		size_t length = (size_t)(put_list(list, count, below(3), odds) - list);
		ck_assert(length < ROOM);
		if (below(4) == 0) /* a fault, or what may be none, somewhere */
			list[below((unsigned)length)] = "0123456789.-+eE,, ]x\"\0\x80\xff"[below(24)];
		char *text = page + ROOM - length;
		memcpy(text, list, length);
		size_t capacity = below(8) ? NUMBERS : 1 + below(count + 2);
		compare(text, text + length, (enum nc_dtype)below(NC_DTYPE_COUNT), capacity);
	}
	munmap(page, ROOM + 4096);
}
END_TEST

START_TEST(every_fault_at_every_place)
{
	static const char whole[] = "1.5,-20.25, 0.125 ,3e5,-0,17,1.5E-07,2e+3,0.1,12345678,-9.75,6,5,4,3,2,1,0.5,1.25,-7.5, 8 , 9]";
	static const char bytes[] = "0159.-+eE, \t\n\rx]\"/:\x80\xff";
	char *page = guarded();
	size_t length = sizeof whole - 1;
	char *text = page + ROOM - length;
	for (size_t at = 0; at < length; at++)
		for (size_t b = 0; b < sizeof bytes; b++) {
			memcpy(text, whole, length);
			text[at] = bytes[b];
			compare(text, page + ROOM, NC_FLOAT64, NUMBERS);
			compare(text, text + at, NC_FLOAT32, NUMBERS); /* cut off there, while what follows goes on */
		}
	munmap(page, ROOM + 4096);
}
END_TEST

START_TEST(every_place_in_a_block)
{
	static char list[ROOM];
	char *page = guarded();
	for (unsigned shift = 0; shift < 130; shift++)
		for (int form = 0; form < 6; form++) {
			char *p = list;
			memset(p, ' ', shift);
			p += shift;
			static const char *const forms[] = {"1,", "-0.00123456789012345,", "1e5,", "12345678901234567890.5,", "-1.25E-07,", "3e+010 ,"};
			for (int i = 0; i < 4200 / (int)strlen(forms[form]); i++)
				p = put(p, forms[form]);
			p = put(p, "1]");
			size_t length = (size_t)(p - list);
			char *text = page + ROOM - length;
			memcpy(text, list, length);
			compare(text, page + ROOM, (enum nc_dtype)(shift % NC_DTYPE_COUNT == NC_FLOAT16 ? 0 : shift % 4), NUMBERS);
		}
	munmap(page, ROOM + 4096);
}
END_TEST

START_TEST(white_space_of_every_length)
{
	static const unsigned char others[] = {0, 8, 11, 12, 14, 31, 33, 0x29, 0x2a, 0x2d, 0x80, 0x85, 0xa0, 0x89, 0x8a, 0x8d, 0xff};
	char *page = guarded();
	for (int isa = 0; isa < NC_ISA_COUNT; isa++) {
		if (!nc_isa_supported((enum nc_isa)isa) || !nc_isa_select(nc_isa_name((enum nc_isa)isa)))
			continue;
		for (unsigned length = 0; length < 330; length++)
			for (unsigned behind = 0; behind < 70; behind++) { /* so every alignment, and every place in a block */
				char *end = page + ROOM, *text = end - behind - length;
				for (char *p = text; p < text + length; p++)
					*p = " \t\n\r"[length % 3 ? below(4) : 0];
				memset(text + length, ' ', behind);
				if (behind)
					text[length] = (char)others[below(sizeof others)];
				ck_assert_msg(json_skip_space(text, end) == text + length, "%s: %u and %u", nc_isa_name((enum nc_isa)isa), length, behind);
				ck_assert(json_skip_long_space(text, end) == text + length);
			}
	}
	nc_isa_select("auto");
	for (unsigned length = 0; length < 9000; length += length < 140 || length % 4096 > 4000 ? 1 : 61) {
		char *p = page;
		for (int i = 0; i < 4; i++) {
			memset(p, " \n\t\r"[i], length);
			p = put(p + length, (const char *[]){"1.5", ",", "-2e-7", i % 2 ? "," : "]"}[i]);
		}
		memmove(page + ROOM - (p - page), page, (size_t)(p - page));
		compare(page + ROOM - (p - page), page + ROOM, NC_FLOAT64, NUMBERS);
	}
	munmap(page, ROOM + 4096);
}
END_TEST

/* One number in so many has an exponent, of every length, with all forms of digits before it. */
START_TEST(exponents_among_plain_numbers)
{
	static char list[ROOM];
	char *page = guarded();
	for (int round = 0; round < 400; round++) {
		static const char *const leading[] = {"", "0", "00", "000", "0000000"};
		const enum nc_dtype dtype = round % 4 ? NC_FLOAT64 : (enum nc_dtype)below(NC_DTYPE_COUNT);
		const int span = dtype == NC_FLOAT16 ? 8 : 40; /* powers of ten, up to what the dtype holds */
		unsigned every = 1 + below(6);
		char *p = list;
		for (unsigned i = 0, count = 1000 + below(2000); i < count; i++) {
			uint64_t bits = next();
			double value;
			memcpy(&value, &bits, sizeof value);
			if (!isfinite(value) || dtype != NC_FLOAT64 || below(2))
				value = ldexp((double)(int64_t)bits, -63) * pow(10, (int)below((unsigned)span) - (dtype == NC_FLOAT16 ? 4 : 20));
			if (i)
				*p++ = ',';
			if (below(every)) {
				p += sprintf(p, "%.*f", (int)below(9), (double)(int64_t)bits * 0x1p-60);
				continue;
			}
			char number[64];
			sprintf(number, "%.*e", (int)below(round % 2 ? 18 : 9), value);
			char *mark = strchr(number, 'e');
			p += sprintf(p, "%.*s%c%s", (int)(mark - number), number, "eE"[below(2)], mark[1] == '-' ? "-" : below(2) ? "+" : "");
			p += sprintf(p, "%s%s%s", leading[below(every) ? 0 : below(5)], mark + 2, below(9) ? "" : " ");
		}
		*p++ = ']';
		size_t length = (size_t)(p - list);
		ck_assert(length < ROOM);
		memcpy(page + ROOM - length, list, length);
		compare(page + ROOM - length, page + ROOM, dtype, NUMBERS);
	}
	munmap(page, ROOM + 4096);
}
END_TEST

TEST_MAIN(random_lists, every_fault_at_every_place, every_place_in_a_block, white_space_of_every_length, exponents_among_plain_numbers)
