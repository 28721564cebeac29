/*
 * Prints api/json/powers_of_ten.inc (make tables): for q from -342 to 324 the leading 128 bits of 10^q, rounded down, as high
 * and low half. By schoolbook arithmetic on big integers, thus exact: 10^q = 5^q 2^q, and only 5^q has a significand.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { WORDS = 32, FIRST = -342, LAST = 324 }; /* 5^342 has 795 bits */

struct big {
	uint32_t word[WORDS]; /* little end first */
};

static void multiply_by_5(struct big *a)
{
	uint64_t carry = 0;
	for (int i = 0; i < WORDS; i++) {
		carry += (uint64_t)a->word[i] * 5;
		a->word[i] = (uint32_t)carry;
		carry >>= 32;
	}
}

static void power_of_5(struct big *a, int exponent)
{
	memset(a, 0, sizeof *a);
	a->word[0] = 1;
	while (exponent--)
		multiply_by_5(a);
}

static int bit_length(const struct big *a)
{
	for (int i = WORDS * 32 - 1; i >= 0; i--)
		if (a->word[i / 32] >> (i % 32) & 1)
			return i + 1;
	return 0;
}

static int get_bit(const struct big *a, int i)
{
	return i < 0 ? 0 : (int)(a->word[i / 32] >> (i % 32) & 1);
}

static void shift_left_1(struct big *a)
{
	for (int i = WORDS - 1; i > 0; i--)
		a->word[i] = a->word[i] << 1 | a->word[i - 1] >> 31;
	a->word[0] <<= 1;
}

static int compare(const struct big *a, const struct big *b)
{
	for (int i = WORDS - 1; i >= 0; i--)
		if (a->word[i] != b->word[i])
			return a->word[i] < b->word[i] ? -1 : 1;
	return 0;
}

static void subtract(struct big *a, const struct big *b)
{
	int64_t borrow = 0;
	for (int i = 0; i < WORDS; i++) {
		borrow += (int64_t)a->word[i] - b->word[i];
		a->word[i] = (uint32_t)borrow;
		borrow >>= 32;
	}
}

int main(void)
{
	printf("/* Printed by api/json/tables/make_powers_of_ten.c (make tables): do not edit. */\n");
	for (int q = FIRST; q <= LAST; q++) {
		uint64_t half[2] = {0, 0};
		struct big p, r;
		power_of_5(&p, q < 0 ? -q : q);
		int bits = bit_length(&p);
		memset(&r, 0, sizeof r);
		r.word[(bits - 1) / 32] = UINT32_C(1) << ((bits - 1) % 32);
		for (int i = 0; i < 128; i++) {
			int bit;
			if (q >= 0) {
				bit = get_bit(&p, bits - 1 - i);
			} else { /* the next bit of 2^(bits - 1) / 5^-q */
				shift_left_1(&r);
				bit = compare(&r, &p) >= 0;
				if (bit)
					subtract(&r, &p);
			}
			half[i / 64] = half[i / 64] << 1 | (uint64_t)bit;
		}
		int last_in_line = (q - FIRST) % 2 == 1 || q == LAST;
		printf("{0x%016llxu, 0x%016llxu},%s", (unsigned long long)half[0], (unsigned long long)half[1],
		       last_in_line ? "\n" : " ");
	}
	return 0;
}
