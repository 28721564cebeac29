#include "shortest_check.h"

#include "api/json/json_number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* |value| = digits 10^exponent, no zero at the end; 0 for the value 0. */
struct decimal_text {
	bool negative;
	uint64_t digits;
	int exponent;
};

/* Takes a number apart, up to a ',' or the end. */
static const char *parse(const char *p, const char *end, struct decimal_text *d)
{
	int fraction = 0, behind = 0;
	*d = (struct decimal_text){.negative = *p == '-'};
	for (p += d->negative; p < end && *p != ',' && *p != 'e'; p++) {
		if (*p == '.') {
			behind = 1;
		} else {
			d->digits = d->digits * 10 + (uint64_t)(*p - '0');
			d->exponent += d->digits > UINT64_C(100000000000000000);
			if (d->digits > UINT64_C(100000000000000000))
				d->digits /= 10; /* zeros behind an integer's digits */
			else
				fraction += behind;
		}
	}
	d->exponent -= fraction;
	if (p < end && *p == 'e') {
		char *after;
		d->exponent += (int)strtol(p + 1, &after, 10);
		p = after;
	}
	while (d->digits && d->digits % 10 == 0)
		d->digits /= 10, d->exponent++;
	return p;
}

/* Number::toString's four forms, word for word (ECMA-262, Number::toString, steps 5 to 10). */
static int format(char *out, const struct decimal_text *d)
{
	char digits[24], *p = out;
	if (d->digits == 0)
		return sprintf(out, d->negative ? "-0.0" : "0");
	int k = sprintf(digits, "%llu", (unsigned long long)d->digits), n = k + d->exponent;
	if (d->negative)
		*p++ = '-';
	if (k <= n && n <= 21)
		p += sprintf(p, "%s%.*s", digits, n - k, "000000000000000000000");
	else if (0 < n && n <= 21)
		p += sprintf(p, "%.*s.%s", n, digits, digits + n);
	else if (-6 < n && n <= 0)
		p += sprintf(p, "0.%.*s%s", -n, "000000", digits);
	else if (k == 1)
		p += sprintf(p, "%se%+d", digits, n - 1);
	else
		p += sprintf(p, "%.1s.%se%+d", digits, digits + 1, n - 1);
	return (int)(p - out);
}

static double read_text(const char *text, enum nc_dtype dtype, bool quick)
{
	if (!quick)
		return dtype == NC_FLOAT64 ? strtod(text, NULL) : (double)strtof(text, NULL);
	double value;
	const char *after;
	if (json_read_number(text, text + strlen(text), dtype, &value, &after) == JSON_NUMBER_RANGE)
		return INFINITY;
	return value;
}

static double read_digits(uint64_t digits, int exponent, enum nc_dtype dtype, bool quick)
{
	char text[40];
	sprintf(text, "%llue%d", (unsigned long long)digits, exponent);
	return read_text(text, dtype, quick);
}

static const char *fault_of(const char *token, size_t length, double value, enum nc_dtype dtype, bool quick, bool nearest_too)
{
	struct decimal_text d;
	char text[64];
	parse(token, token + length, &d);
	if ((size_t)format(text, &d) != length || memcmp(text, token, length))
		return "form";
	double magnitude = fabs(value);
	if (magnitude == 0)
		return d.digits || d.negative != !!signbit(value) ? "not zero" : NULL;
	if (d.negative != (value < 0) || read_digits(d.digits, d.exponent, dtype, quick) != magnitude)
		return "does not read back";
	if (d.digits >= 10 && (read_digits(d.digits / 10, d.exponent + 1, dtype, quick) == magnitude ||
	                       read_digits(d.digits / 10 + 1, d.exponent + 1, dtype, quick) == magnitude))
		return "not shortest";
	if (!nearest_too)
		return NULL;
	if (quick && dtype != NC_FLOAT64) {
		/* (2 digits ± 1) / 2, as doubles rounded from the decimal: strictly on one side, or all but a tie */
		double up = read_digits(d.digits * 10 + 5, d.exponent - 1, NC_FLOAT64, true);
		double down = read_digits(d.digits * 10 - 5, d.exponent - 1, NC_FLOAT64, true);
		bool up_reads = magnitude > up && read_digits(d.digits + 1, d.exponent, dtype, true) == magnitude;
		bool down_reads = magnitude < down && read_digits(d.digits - 1, d.exponent, dtype, true) == magnitude;
		return up_reads || down_reads ? "not nearest" : NULL;
	}
	struct decimal_text nearest;
	int count = snprintf(NULL, 0, "%llu", (unsigned long long)d.digits);
	int written = sprintf(text, "%.*e", count - 1, magnitude); /* correctly rounded in glibc */
	parse(text, text + written, &nearest);
	if ((nearest.digits != d.digits || nearest.exponent != d.exponent) && read_text(text, dtype, quick) == magnitude)
		return "not nearest";
	return NULL;
}

long shortest_check(enum nc_dtype dtype, const void *values, size_t count, bool quick)
{
	static _Thread_local char text[SHORTEST_CHECK_MAX * JSON_FLOAT64_MAX + 64];
	static _Thread_local double back[SHORTEST_CHECK_MAX];
	size_t bad, got;
	const char *after;
	char *end = json_write_list(text, dtype, values, count, JSON_NONFINITE_STOP, &bad);
	if (bad != count || json_read_list(text, end, dtype, back, count, &got, &after) || got != count || after != end) {
		fprintf(stderr, "the list as a whole does not read back\n");
		return 0;
	}
	if (memcmp(back, values, count * nc_dtype_storage_bytes(dtype))) {
		fprintf(stderr, "the list reads back to other values\n");
	}
	const char *p = text;
	for (size_t i = 0; i < count; i++) {
		const char *token = p;
		double value = dtype == NC_FLOAT64 ? ((const double *)values)[i] : (double)((const float *)values)[i];
		while (p < end && *p != ',')
			p++;
		const char *fault = fault_of(token, (size_t)(p - token), value, dtype, quick, !quick || dtype != NC_FLOAT64 || i % 4 == 0);
		if (!fault && memcmp((const char *)back + i * nc_dtype_storage_bytes(dtype),
		                     (const char *)values + i * nc_dtype_storage_bytes(dtype), nc_dtype_storage_bytes(dtype)))
			fault = "reads back to another value in a list";
		if (fault) {
			fprintf(stderr, "%a written as %.*s: %s\n", value, (int)(p - token), token, fault);
			return (long)i;
		}
		p++;
	}
	return -1;
}
