#include "decimal.h"
#include "powers_of_ten.h"

#include <string.h>

/*
 * Digits that can matter: 767 tell any double from the midpoint beside it, those behind only that there are some.
 * 5^(308 + 768) and a number of 768 digits times 2^1075 both fit the words.
 */
enum { MAX_DIGITS = 768, WORDS = 64 };

struct big {
	uint64_t word[WORDS]; /* little end first */
	int used;
};

static void multiply_add(struct big *a, uint64_t factor, uint64_t summand)
{
	u128 carry = summand;
	for (int i = 0; i < a->used; i++) {
		carry += (u128)a->word[i] * factor;
		a->word[i] = (uint64_t)carry;
		carry >>= 64;
	}
	if (carry)
		a->word[a->used++] = (uint64_t)carry;
}

static void multiply_power_of_5(struct big *a, int64_t exponent)
{
	const uint64_t five_27 = UINT64_C(7450580596923828125);
	for (; exponent >= 27; exponent -= 27)
		multiply_add(a, five_27, 0);
	for (; exponent > 0; exponent--)
		multiply_add(a, 5, 0);
}

static void shift_left(struct big *a, int64_t count)
{
	int words = (int)(count / 64), bits = (int)(count % 64);
	memmove(a->word + words, a->word, (size_t)a->used * sizeof *a->word);
	memset(a->word, 0, (size_t)words * sizeof *a->word);
	a->used += words;
	if (bits)
		multiply_add(a, UINT64_C(1) << bits, 0);
}

static int compare(const struct big *a, const struct big *b)
{
	if (a->used != b->used)
		return a->used < b->used ? -1 : 1;
	for (int i = a->used - 1; i >= 0; i--)
		if (a->word[i] != b->word[i])
			return a->word[i] < b->word[i] ? -1 : 1;
	return 0;
}

int decimal_compare(const struct decimal *d, uint64_t halves, int binary_exponent)
{
	struct big left = {.used = 0}, right = {.word = {halves}, .used = 1};
	int64_t exponent = d->digits_exponent;
	int count = 0;
	bool more = false;
	for (const char *p = d->digits; p < d->digits_end; p++) {
		if (*p == '.')
			continue;
		if (count < MAX_DIGITS) {
			multiply_add(&left, 10, (uint64_t)(*p - '0'));
			count += left.used > 0;
		} else {
			more |= *p != '0';
			exponent++;
		}
	}
	/* left 10^exponent against right 2^binary_exponent, each brought to an integer */
	int64_t twos = exponent - binary_exponent;
	multiply_power_of_5(exponent > 0 ? &left : &right, exponent > 0 ? exponent : -exponent);
	shift_left(twos > 0 ? &left : &right, twos > 0 ? twos : -twos);
	int order = compare(&left, &right);
	return order == 0 && more ? 1 : order;
}
