/*
 * The list writer for AVX-512 and AVX2: the shortest decimals of eight or four floats at once (lanes64.h), and their text.
 *
 * As Schubfach (shortest.c), with c 2^q = V 10^k taken in fixed point and one product for V alone: the half width H of the
 * rounding interval is 2^(q - 1) 10^-k, so V - t and V + (10 - t), t = V mod 10, the multiples of ten beside V, lie in it
 * if t <= H or 10 - t <= H; else the integer next to V is the answer. All are known to some units of the last place: a lane whose
 * comparison falls within that error is written by the scalar writer, which is exact.
 */
#ifndef API_KERNELS_WRITE_LANES_H
#define API_KERNELS_WRITE_LANES_H

#include "api/json/json_put.h"
#include "api/json/powers_of_ten.h"
#include "lanes64.h"

#include <math.h>
#include <string.h>

/* A decimal in each lane: digits as bytes 0 to 9 from the first (never 0, unless the value is), where the point stands behind it. */
struct decimals {
	lanes first, second, last; /* eight digits, eight (float64 only), and one in the lowest byte */
	lanes count;               /* digits up to the last that is not 0 */
	lanes point;               /* digits in front of the point, negative: zeros behind it */
	lane_mask unsure;
};

/* k, and 10^-k. */
struct scale {
	lanes k;
	lanes power;            /* its place in powers_of_ten, in 64-bit words */
	lanes shift;            /* 2^q 10^-k = power 2^(shift - 127), 0 to 3 */
};

enum { K_BIAS = 400, LOG_BIAS = 2000 }; /* so that what is shifted down is not negative */

/* Of 2^(exponent - bias). */
static inline struct scale scale_of(lanes exponent, lane_mask lower_closer, int bias)
{
	lanes product = multiply(exponent, all(1262611)) + (((uint64_t)K_BIAS << 22) - (uint64_t)bias * 1262611);
	lanes biased = (product - where(lower_closer, all(524031))) >> 22; /* k + K_BIAS */
	lanes log = (((uint64_t)LOG_BIAS << 19) + (uint64_t)K_BIAS * 1741647 - multiply(biased, all(1741647))) >> 19;
	return (struct scale){
		.k = biased - K_BIAS,
		.power = (uint64_t)2 * (K_BIAS - POWER_OF_TEN_MIN) - (biased << 1),
		.shift = exponent + log - ((uint64_t)bias + LOG_BIAS),
	};
}

static inline lanes power_high(lanes place)
{
	return look_up(&powers_of_ten[0].high, place);
}

static inline lanes power_low(lanes place)
{
	return look_up(&powers_of_ten[0].low, place);
}

/* Where to go from V: to a multiple of ten or to any integer, to the next one up or to that below. */
struct choice {
	lane_mask tens, up, unsure;
};

/*
 * t = V mod 10, fraction = V mod 1, each too small by less than four units of 2^-places, and half = H by less than one. What
 * decides are the signs of four differences, so taken that each is right but where it is one of the units from 0 to 4.
 */
static inline struct choice choose(lanes t, lanes fraction, lanes half, lane_mask lower_closer, int places)
{
	const lanes one = all(UINT64_C(1) << places), ten = all(UINT64_C(10) << places);
	lanes down = either(lower_closer, half >> 1, half);
	lanes in_down = down - t, beyond_up = ten - t - half;
	lanes to_middle = (one >> 1) - fraction, one_in_down = down - fraction;
	lane_mask tens = negative(~in_down | beyond_up);
	lanes up = to_middle | where(lower_closer, one_in_down);
	return (struct choice){
		.tens = tens,
		.up = negative(either(tens, beyond_up, up)),
		.unsure = any_below_8(in_down, beyond_up, to_middle, one_in_down),
	};
}

/* tens or n, as was chosen. */
static inline lanes apply(struct choice choice, lanes n, lanes tens)
{
	return either(choice.tens, tens, n) + where(choice.up, either(choice.tens, all(10), all(1)));
}

/* The bits of finite floats, without sign. */
static inline struct decimals decimals_float32(lanes bits)
{
	lanes fraction = bits & 0x7fffff, exponent = bits >> 23;
	lane_mask subnormal = is_zero(exponent);
	lane_mask lower_closer = is_zero(fraction) & less(all(1), exponent);
	lanes c = (fraction | 0x800000) - where(subnormal, all(0x800000));
	struct scale scale = scale_of(exponent + where(subnormal, all(1)), lower_closer, 150);

	/* V in units of 2^-31, from the power's upper half in two pieces: too small by less than two units. */
	lanes high = power_high(scale.power), shifted = c << scale.shift;
	lanes v = multiply(shifted, high >> 32) + (multiply(shifted, high) >> 32);
	lanes n = v >> 31, fraction_of_v = v & 0x7fffffff, tens = times_10(tenth(n));
	struct choice choice = choose((n - tens) << 31 | fraction_of_v, fraction_of_v, high >> (33 - scale.shift), lower_closer, 31);
	n = apply(choice, n, tens);

	/* Nine digits, of which the first may still be zeros. */
	lane_mask fewer = less(n, all(100000000));
	n = either(fewer, times_10(n), n);
	lanes first = tenth(n), last = n - times_10(first);
	first = split_digits(first);
	lanes zeros = leading_zeros(first);
	first = first >> (zeros << 3);
	return (struct decimals){
		.first = first,
		.last = last,
		.count = either(is_zero(last), significant(first), all(9)),
		.point = scale.k + 9 - zeros - where(fewer, all(1)),
		.unsure = choice.unsure,
	};
}

static inline struct decimals decimals_float64(lanes bits)
{
	const uint64_t ten_8 = 100000000;
	lanes fraction = bits & ((UINT64_C(1) << 52) - 1), exponent = bits >> 52;
	lane_mask is_power = is_zero(fraction), value_is_0 = is_zero(bits);
	lane_mask lower_closer = is_power & less(all(1), exponent);
	struct scale scale = scale_of(exponent, lower_closer, 1075);
	struct product v = multiply_53(fraction, power_high(scale.power), power_low(scale.power), scale.shift);

	lanes upper = over_10_8(v.whole), lower = v.whole - multiply(upper, all(ten_8));
	lane_mask carry = less(all(ten_8 - 1), lower);
	upper = upper + where(carry, all(1));
	lower = lower - where(carry, all(ten_8));

	lanes tens = times_10(tenth(lower));
	struct choice choice = choose((lower - tens) << PLACES | v.rest, v.rest, v.half, lower_closer, PLACES);
	lower = apply(choice, lower, tens);
	carry = less(all(ten_8 - 1), lower);
	upper = upper + where(carry, all(1));
	lower = lower - where(carry, all(ten_8));

	/* 16 digits, or 17: then the last of each part moves on. */
	lane_mask more = less(all(ten_8 - 1), upper);
	lanes upper_tenth = tenth(upper), lower_tenth = tenth(lower);
	lanes moved = multiply(upper - times_10(upper_tenth), all(10000000));
	lanes last = where(more, lower - times_10(lower_tenth));
	lanes first = split_digits(either(more, upper_tenth, upper));
	lanes second = split_digits(either(more, lower_tenth + moved, lower));
	lanes count = either(is_zero(second), significant(first), 8 + significant(second));
	return (struct decimals){
		.first = either(value_is_0, all(0), first),
		.second = either(value_is_0, all(0), second),
		.last = either(value_is_0, all(0), last),
		.count = either(is_zero(last), count, all(17)),
		.point = scale.k + 16 + where(more, all(1)),
		.unsure = (choice.unsure | (is_zero(exponent) & ~is_power)) & ~value_is_0,
	};
}

/*
 * Where each byte of a number comes from, by the place of the point, -5 to 21, for a record of DIGITS digits, the point, and a
 * zero: 0.000ddd, ddd.ddd or ddd000.
 */
#define ZERO(digits) ((digits) + 1)
#define DIGIT(digits, i) ((i) < (digits) ? (i) : ZERO(digits))
#define SOURCE(digits, p, j)                                                                                           \
	((p) > 0 ? (j) < (p) ? DIGIT(digits, j) : (j) == (p) ? (digits) : DIGIT(digits, (j) - 1)                       \
	         : (j) == 1 ? (digits) : (j) < 2 - (p) ? ZERO(digits) : DIGIT(digits, (j) - 2 + (p)))
#define SOURCE_4(digits, p, j) SOURCE(digits, p, j), SOURCE(digits, p, j + 1), SOURCE(digits, p, j + 2), SOURCE(digits, p, j + 3)
#define SOURCE_16(digits, p, j)                                                                                        \
	SOURCE_4(digits, p, j), SOURCE_4(digits, p, j + 4), SOURCE_4(digits, p, j + 8), SOURCE_4(digits, p, j + 12)
#define SOURCES(digits, p) {SOURCE_16(digits, p, 0), SOURCE_16(digits, p, 16)}
#define ALL_SOURCES(digits)                                                                                            \
	{SOURCES(digits, -5), SOURCES(digits, -4), SOURCES(digits, -3), SOURCES(digits, -2), SOURCES(digits, -1),      \
	 SOURCES(digits, 0), SOURCES(digits, 1), SOURCES(digits, 2), SOURCES(digits, 3), SOURCES(digits, 4),           \
	 SOURCES(digits, 5), SOURCES(digits, 6), SOURCES(digits, 7), SOURCES(digits, 8), SOURCES(digits, 9),           \
	 SOURCES(digits, 10), SOURCES(digits, 11), SOURCES(digits, 12), SOURCES(digits, 13), SOURCES(digits, 14),      \
	 SOURCES(digits, 15), SOURCES(digits, 16), SOURCES(digits, 17), SOURCES(digits, 18), SOURCES(digits, 19),      \
	 SOURCES(digits, 20), SOURCES(digits, 21)}

enum { POINT_MIN = -5, POINT_MAX = 21 };

static const uint8_t sources_float32[POINT_MAX - POINT_MIN + 1][32] __attribute__((aligned(32))) = ALL_SOURCES(9);
static const uint8_t sources_float64[POINT_MAX - POINT_MIN + 1][32] __attribute__((aligned(32))) = ALL_SOURCES(17);

/*
 * Numbers on their way into the text, many at a time, so that the processor has several groups of lanes to work on at once. A
 * record is what a number's text is made of: its digits, '.' and '0'.
 */
enum {
	BATCH = 64,
	AHEAD = 1536 /* bytes by which memory is asked for before its use: by itself a processor stops at the end of each page */
};

struct place {
	uint8_t row;                 /* of sources */
	uint8_t sign, tail_at, next; /* from the number's start: where the digits begin, where the tail, where the next number */
	uint8_t unused[4];
};

struct batch {
	__m128i record[BATCH];      /* its first 16 bytes, in the order of record_of */
	uint64_t last[BATCH + 1];   /* of float64 the rest of it; is loaded two by two */
	struct place place[BATCH];
	uint64_t tail[BATCH];       /* what stands behind the digits: exponent and comma */
};

/* Pairs of lanes lie beside each other in registers: of a group's records first the even ones, then the odd ones. */
static inline size_t record_of(size_t i)
{
	return i / LANES * LANES + i % 2 * (LANES / 2) + i % LANES / 2;
}

/* What is behind the digits where it is more than a comma, of which *length becomes the length: an exponent, or .0 of -0.0. */
static __attribute__((noinline)) lanes rare_tail(lanes exponent, lane_mask exponential, lanes *length)
{
	/* hundreds, tens, ones and comma in four bytes, of which the leading zeros are shifted out */
	lane_mask below_0 = negative(exponent);
	lanes size = either(below_0, -exponent, exponent), tens = tenth(size), hundreds = tenth(tens);
	lanes text = (hundreds | (tens - times_10(hundreds)) << 8 | (size - times_10(tens)) << 16) + ('0' | '0' << 8 | '0' << 16 | ',' << 24);
	lanes drop = where(is_zero(hundreds), all(1)) + where(is_zero(tens), all(1));
	text = text >> (drop << 3) << 16 | either(below_0, all('e' | '-' << 8), all('e' | '+' << 8));
	*length = either(exponential, 6 - drop, all(3));
	return either(exponential, text, all('.' | '0' << 8 | ',' << 16));
}

/* sign: 0 or 1. */
static inline void lay_out(struct batch *batch, size_t at, const struct decimals *d, lanes sign, lane_mask value_is_0)
{
	lanes point = either(value_is_0, all(1), d->point), count = either(value_is_0, all(1), d->count);
	lanes tail = all(','), tail_length = all(1);
	lane_mask exponential = negative((point - (uint64_t)POINT_MIN) | (POINT_MAX - point));
	lane_mask rare = exponential | (value_is_0 & ~is_zero(sign));
	if (__builtin_expect(any(rare), 0)) {
		lanes length;
		tail = either(rare, rare_tail(point - 1, exponential, &length), tail);
		tail_length = either(rare, length, tail_length);
		point = either(exponential, all(1), point);
	}
	lanes length = either(less(point, count), count + 1, point); /* no zeros behind the point, all of them before it */
	length = either(less(point, all(1)), count + 2 - point, length);
	lanes tail_at = sign + length, next = tail_at + tail_length;
	store_lanes(batch->place + at, (point - (uint64_t)POINT_MIN) | sign << 8 | tail_at << 16 | next << 24);
	store_lanes(batch->tail + at, tail);
}

static inline void store_records(struct batch *batch, size_t at, lanes first, lanes second)
{
	store_lanes(batch->record + at, pair_first(first, second));
	store_lanes(batch->record + at + LANES / 2, pair_second(first, second));
}

/* LANES values; false where one of them is for the scalar writer, or not finite. */
static inline bool add_float32(struct batch *batch, size_t at, const void *values)
{
	lanes bits = load_float32(values), sign = bits >> 31;
	bits = bits & 0x7fffffff;
	struct decimals d = decimals_float32(bits);
	lay_out(batch, at, &d, sign, is_zero(bits));
	store_records(batch, at, d.first | UINT64_C(0x3030303030303030), d.last | ('0' | '.' << 8 | '0' << 16));
	return !any(d.unsure | less(all(0x7f7fffff), bits));
}

static inline bool add_float64(struct batch *batch, size_t at, const void *values)
{
	lanes bits = load_lanes(values), sign = bits >> 63;
	bits = bits & INT64_MAX;
	struct decimals d = decimals_float64(bits);
	lay_out(batch, at, &d, sign, is_zero(bits));
	store_records(batch, at, d.first | UINT64_C(0x3030303030303030), d.second | UINT64_C(0x3030303030303030));
	store_lanes(batch->last + at, d.last | ('0' | '.' << 8 | '0' << 16));
	return !any(d.unsure | less(all((UINT64_C(0x7ff) << 52) - 1), bits));
}

static inline char *put_number(char *out, const struct batch *batch, size_t i, const __m128i *record, bool wide)
{
	const struct place *place = &batch->place[i];
	__m256i text = wide ? pick_of_32(record, &batch->last[i], sources_float64[place->row])
	                    : pick_of_16(record, sources_float32[place->row]);
	*out = '-';
	_mm256_storeu_si256((__m256i *)(out + place->sign), text);
	memcpy(out + place->tail_at, &batch->tail[i], sizeof batch->tail[i]);
	return out + place->next;
}

/*
 * Batches of what the lanes can do, and in between, group by group, what they cannot; ends at the first value that is not
 * finite.
 */
static inline __attribute__((always_inline)) char *write_list(char *out, const void *values, bool wide, size_t count, size_t *written)
{
	const size_t size = wide ? sizeof(double) : sizeof(float);
	struct batch batch;
	size_t i = 0;

	while (i < count) {
		size_t n = 0, used = 0;
		bool fast = true;
		while (n < BATCH && i + n < count) {
			uint64_t copy[LANES] = {0};
			const char *from = (const char *)values + (i + n) * size;
			__builtin_prefetch(from + AHEAD);
			for (size_t line = 0; line < LANES * 16; line += 64) /* of the text, about */
				__builtin_prefetch(out + n * 16 + AHEAD + line, 1);
			used = LANES;
			if (count - i - n < LANES) {
				used = count - i - n;
				from = memcpy(copy, from, used * size);
			}
			fast = wide ? add_float64(&batch, n, from) : add_float32(&batch, n, from);
			if (!fast)
				break;
			n += used;
		}
		size_t j = 0;
		for (; j + LANES <= n; j += LANES)
			for (size_t lane = 0; lane < LANES; lane++) /* a known number of times, and the places of records known too */
				out = put_number(out, &batch, j + lane, batch.record + j + record_of(lane), wide);
		for (; j < n; j++)
			out = put_number(out, &batch, j, batch.record + record_of(j), wide);
		i += n;
		for (size_t end = i + used; !fast && i < end; i++) {
			double value = wide ? ((const double *)values)[i] : (double)((const float *)values)[i];
			if (!isfinite(value)) {
				*written = i;
				return out;
			}
			out = wide ? json_put_float64(out, value) : json_put_float32(out, (float)value);
			*out++ = ',';
		}
	}
	*written = count;
	return out;
}

static char *write_float32(char *out, const float *values, size_t count, size_t *written)
{
	return write_list(out, values, false, count, written);
}

static char *write_float64(char *out, const double *values, size_t count, size_t *written)
{
	return write_list(out, values, true, count, written);
}

#endif
