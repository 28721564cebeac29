#include "float32_decimal.h"

#include <stdbool.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

/* An exact number, (high 2^64 + low) 2^exponent, the highest bit of high set. */
struct wide {
	u128 high;
	uint64_t low;
	int exponent;
};

/* 5^n, n up to 55 */
static u128 power_of_5(int n)
{
	u128 power = 1, square = 5;
	for (; n; n >>= 1, square *= square)
		if (n & 1)
			power *= square;
	return power;
}

/* factor power 2^exponent, both > 0 */
static struct wide multiply(uint64_t factor, u128 power, int exponent)
{
	u128 low = (u128)factor * (uint64_t)power;
	struct wide w = {(u128)factor * (uint64_t)(power >> 64) + (low >> 64), (uint64_t)low, exponent};
	if (w.high >> 64 == 0) {
		w.high = w.high << 64 | w.low;
		w.low = 0;
		w.exponent -= 64;
	}
	if (w.high >> 64 == 0) {
		w.high <<= 64;
		w.exponent -= 64;
	}
	int zeros = __builtin_clzll((uint64_t)(w.high >> 64));
	if (zeros) {
		w.high = w.high << zeros | w.low >> (64 - zeros);
		w.low <<= zeros;
		w.exponent -= zeros;
	}
	return w;
}

/* The sign of digits 10^ten - m 2^two; five is 5^|ten|. */
static int compare(uint64_t digits, int ten, u128 five, uint64_t m, int two)
{
	struct wide a = multiply(digits, ten > 0 ? five : 1, ten), b = multiply(m, ten > 0 ? 1 : five, two);
	if (a.exponent != b.exponent)
		return a.exponent < b.exponent ? -1 : 1;
	if (a.high != b.high)
		return a.high < b.high ? -1 : 1;
	return (a.low > b.low) - (a.low < b.low);
}

const char *float32_decimal_fault(float value, uint64_t digits, int exponent)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	uint64_t fraction = bits & 0x7fffff;
	int biased = (int)(bits >> 23), two = (biased ? biased : 1) - 152; /* all below in quarters of a unit in the last place */
	uint64_t middle = 4 * (biased ? fraction | 0x800000 : fraction);
	uint64_t lower = middle - (fraction == 0 && biased > 1 ? 1 : 2), upper = middle + 2;
	int open = fraction & 1; /* an odd value's bounds round to its neighbours */

	if (exponent < -54 || exponent > 54)
		return "does not read back";
	u128 five = power_of_5(exponent < 0 ? -exponent : exponent);
	if (compare(digits, exponent, five, lower, two) < open || compare(digits, exponent, five, upper, two) > -open)
		return "does not read back";

	if (digits >= 10) {
		int ten = exponent + 1;
		u128 more = power_of_5(ten < 0 ? -ten : ten);
		if (compare(digits / 10, ten, more, lower, two) >= open || compare(digits / 10 + 1, ten, more, upper, two) <= -open)
			return "not shortest";
	}

	/* The value lies beyond the middle of this decimal and one beside it, or just there, and that one is even. */
	int odd = digits & 1;
	if (compare(2 * digits + 1, exponent, five, middle, two + 1) < odd && compare(digits + 1, exponent, five, upper, two) <= -open)
		return "not nearest";
	if (compare(2 * digits - 1, exponent, five, middle, two + 1) > -odd && digits > 1 &&
	    compare(digits - 1, exponent, five, lower, two) >= open)
		return "not nearest";
	return NULL;
}
