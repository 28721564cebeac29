#include "json_scan.h"

#include <math.h>

/* Beyond any exponent that matters, and far from where sums with digit counts could overflow. */
#define EXPONENT_LIMIT INT64_C(100000000000000000)

/* Appends a run of digits to the mantissa while there is room for it; *dropped counts those that found none. */
static const char *scan_digits(const char *p, const char *end, struct decimal *d, int64_t *dropped)
{
	const uint64_t full = UINT64_C(100000000000000000); /* 10^18: a mantissa of 19 digits */
	while (d->mantissa < full / 10000000 && end - p >= 8 && json_are_digits(p)) {
		d->mantissa = d->mantissa * 100000000 + json_eight_digits(p);
		p += 8;
	}
	for (; p < end && json_is_digit(*p); p++) {
		if (d->mantissa < full) {
			d->mantissa = d->mantissa * 10 + (uint64_t)(*p - '0');
		} else {
			d->truncated |= *p != '0';
			++*dropped;
		}
	}
	return p;
}

bool json_scan_number(const char *text, const char *end, struct decimal *d, const char **after)
{
	const char *p = text;
	int64_t dropped = 0, fraction = 0, exponent = 0;

	*d = (struct decimal){0};
	d->negative = p < end && *p == '-';
	p += d->negative;
	*after = p;
	if (p == end || !json_is_digit(*p))
		return false;
	d->digits = p;
	if (*p == '0')
		p++;
	else
		p = scan_digits(p, end, d, &dropped);
	if (p < end && *p == '.') {
		const char *first = ++p;
		p = scan_digits(p, end, d, &dropped);
		*after = p;
		if (p == first)
			return false;
		fraction = p - first;
	}
	d->digits_end = p;
	if (p < end && (*p == 'e' || *p == 'E')) {
		bool minus = ++p < end && *p == '-';
		p += p < end && (*p == '-' || *p == '+');
		*after = p;
		if (p == end || !json_is_digit(*p))
			return false;
		for (; p < end && json_is_digit(*p); p++)
			if (exponent < EXPONENT_LIMIT)
				exponent = exponent * 10 + (*p - '0');
		exponent = minus ? -exponent : exponent;
	}
	*after = p;
	d->digits_exponent = exponent - fraction;
	d->exponent = d->digits_exponent + dropped;
	return true;
}

enum json_number_status json_read_number(const char *text, const char *end, enum nc_dtype dtype, double *value,
                                         const char **after)
{
	struct decimal d;
	*value = 0;
	if (!json_scan_number(text, end, &d, after))
		return JSON_NUMBER_SYNTAX;
	double magnitude = decimal_round(&d, dtype);
	if (isinf(magnitude)) {
		*after = text;
		return JSON_NUMBER_RANGE;
	}
	*value = d.negative ? -magnitude : magnitude;
	return JSON_NUMBER_OK;
}

enum json_number_status json_read_element(const char *text, const char *end, enum nc_dtype dtype, void *out,
                                          size_t index, const char **after)
{
	double value;
	enum json_number_status status = json_read_number(text, end, dtype, &value, after);
	if (dtype == NC_FLOAT64)
		((double *)out)[index] = value;
	else
		((float *)out)[index] = (float)value;
	return status;
}

enum json_number_status json_read_step(const char *text, const char *end, enum nc_dtype dtype, void *out,
                                       size_t capacity, size_t *count, const char **after, bool *complete)
{
	*complete = false;
	text = json_skip_space(text, end);
	*after = text;
	if (*count == capacity)
		return text < end && (*text == '-' || json_is_digit(*text)) ? JSON_NUMBER_FULL : JSON_NUMBER_SYNTAX;
	enum json_number_status status = json_read_element(text, end, dtype, out, *count, after);
	if (status != JSON_NUMBER_OK)
		return status;
	++*count;
	*after = json_skip_space(*after, end);
	*complete = *after == end || **after != ',';
	*after += !*complete;
	return JSON_NUMBER_OK;
}
