/*
 * A list's text by the bits of 64 of its bytes: where numbers begin and end, which digits stand behind a point, which
 * numbers are odd. Bit i of a word stands for byte i of the block. A run of ones to whose lowest bit one is added becomes zeros,
 * and the bit behind it one: so a mark travels from any place in a run to its end.
 */
#ifndef API_KERNELS_SCAN_BITS_H
#define API_KERNELS_SCAN_BITS_H

#include <stdbool.h>
#include <stdint.h>

/* The bytes of each class; letter: e and E; foreign: none that a list of numbers has. */
struct byte_masks {
	uint64_t digit, zero, point, minus, plus, letter, comma, space, foreign;
};

/* What one block leaves to the next: bits at place 0. At the start of a list: one number expected, all else 0. */
struct scan_carry {
	uint64_t expected, number, minus, point, fraction, whole, zero, odd;
	uint64_t letter, sign, exponent_digits, exponent;
};

struct scan_bits {
	uint64_t number;   /* bytes of numbers, odd ones included */
	uint64_t start;    /* their first bytes */
	uint64_t ends;     /* commas, and the byte that ends the list: one for each start */
	uint64_t minus;    /* among the starts, the minus signs */
	uint64_t digit;    /* but for those of exponents */
	uint64_t fraction; /* digits behind a point */
	uint64_t exponent; /* the ends of numbers with an exponent */
	uint64_t fault;    /* in, or right behind, numbers that are none */
	bool last;         /* the list ends in this block */
};

static inline uint64_t shift_in(uint64_t bits, uint64_t *carry)
{
	uint64_t shifted = bits << 1 | *carry;
	*carry = bits >> 63;
	return shifted;
}

/* The sum of disjoint or touching bits and runs; its overflow to *carry. */
static inline uint64_t add_runs(uint64_t bits, uint64_t runs, uint64_t *carry)
{
	uint64_t sum;
	*carry = (uint64_t)__builtin_add_overflow(bits, runs, &sum);
	return sum;
}

/* The places behind those runs that have a mark in them, or right behind them; *carry takes a mark to the next block. */
static inline uint64_t marked_runs(uint64_t runs, uint64_t marks, uint64_t *carry)
{
	marks |= *carry;
	return (add_runs(runs, marks & runs, carry) | marks) & ~runs;
}

/* Takes exponents out of digits and minus signs; returns faults, all but one: what stands before the letter. */
static inline uint64_t take_exponents(struct byte_masks *m, struct scan_carry *carry)
{
	uint64_t behind_letter = shift_in(m->letter, &carry->letter), signs = (m->minus | m->plus) & behind_letter;
	uint64_t first = (behind_letter & ~signs) | shift_in(signs, &carry->sign);
	uint64_t sum = add_runs(m->digit, first | carry->exponent_digits, &carry->exponent_digits);
	uint64_t fault = (first & ~m->digit) | (m->plus & ~behind_letter);
	m->digit &= sum;
	m->minus &= ~signs;
	return fault;
}

/* False where it is not a list of numbers, one between two commas: then nothing of the block counts. */
static inline bool scan_block(struct byte_masks m, struct scan_carry *carry, struct scan_bits *out)
{
	uint64_t ends = m.comma;
	out->last = m.foreign != 0;
	if (out->last) {
		uint64_t first = m.foreign & -m.foreign, before = first - 1;
		m.digit &= before, m.zero &= before, m.point &= before, m.minus &= before;
		m.space &= before, m.plus &= before, m.letter &= before, m.comma &= before;
		ends = m.comma | first;
	}

	/* The first byte that is no space behind each comma begins a number, and nothing else does. */
	uint64_t number = m.digit | m.point | m.minus | m.plus | m.letter;
	uint64_t start = number & ~shift_in(number, &carry->number);
	uint64_t behind_comma = m.comma << 1 | carry->expected;
	uint64_t expected = add_runs(behind_comma, m.space, &carry->expected) & ~m.space;
	carry->expected |= m.comma >> 63;

	uint64_t fault = 0;
	out->exponent = 0;
	if (m.plus | m.letter | carry->exponent) { /* the carry alone tells of an exponent that goes on */
		out->exponent = marked_runs(~ends, m.letter, &carry->exponent);
		fault = take_exponents(&m, carry);
		fault |= m.letter & ~(m.digit << 1 | carry->whole | carry->fraction);
	}

	uint64_t behind_point = shift_in(m.point, &carry->point), behind_minus = shift_in(m.minus, &carry->minus);
	uint64_t sum = add_runs(m.digit, behind_point | carry->fraction, &carry->fraction);
	uint64_t fraction = m.digit & ~sum, whole = m.digit & sum;
	uint64_t behind_whole = shift_in(whole, &carry->whole);
	uint64_t behind_zero = shift_in(m.zero & whole & ~behind_whole, &carry->zero);

	out->number = number;
	out->start = start;
	out->ends = ends;
	out->minus = m.minus & start;
	out->digit = m.digit;
	out->fraction = fraction;
	/* minus not in front; no digit behind minus or point; none before a point; a zero before whole digits */
	out->fault = fault | (m.minus & ~start) | ((behind_minus | behind_point) & ~m.digit) | (m.point & ~behind_whole) |
	             (behind_zero & whole);
	return expected == start;
}

#endif
