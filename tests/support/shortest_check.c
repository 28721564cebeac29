#include "shortest_check.h"

#include "api/json/kernels/json_kernels.h"
#include "float32_decimal.h"

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

static char *put(char *out, const char *from, int count)
{
	memcpy(out, from, (size_t)count);
	return out + count;
}

/* The decimal digits of n, which end at `end`: where they begin. */
static char *put_digits(char *end, uint64_t n)
{
	do
		*--end = (char)('0' + n % 10);
	while (n /= 10);
	return end;
}

/* Number::toString's forms, word for word (ECMA-262, Number::toString, steps 5 to 10). */
static int format(char *out, const struct decimal_text *d)
{
	static const char zeros[] = "000000000000000000000";
	char text[24], *const end = text + sizeof text, *digits = put_digits(end, d->digits), *p = out;
	int k = (int)(end - digits), n = k + d->exponent;
	if (d->digits == 0)
		return (int)((d->negative ? put(out, "-0.0", 4) : put(out, "0", 1)) - out);
	if (d->negative)
		*p++ = '-';
	if (k <= n && n <= 21) {
		p = put(put(p, digits, k), zeros, n - k);
	} else if (0 < n && n <= 21) {
		p = put(put(put(p, digits, n), ".", 1), digits + n, k - n);
	} else if (-6 < n && n <= 0) {
		p = put(put(put(p, "0.", 2), zeros, -n), digits, k);
	} else {
		p = put(p, digits, 1);
		if (k > 1)
			p = put(put(p, ".", 1), digits + 1, k - 1);
		p = put(p, n > 0 ? "e+" : "e-", 2);
		digits = put_digits(end, (uint64_t)(n > 0 ? n - 1 : 1 - n));
		p = put(p, digits, (int)(end - digits));
	}
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
	if (d.negative != (value < 0))
		return "another sign";
	if (quick && dtype != NC_FLOAT64)
		return float32_decimal_fault((float)magnitude, d.digits, d.exponent);
	if (read_digits(d.digits, d.exponent, dtype, quick) != magnitude)
		return "does not read back";
	if (d.digits >= 10 && (read_digits(d.digits / 10, d.exponent + 1, dtype, quick) == magnitude ||
	                       read_digits(d.digits / 10 + 1, d.exponent + 1, dtype, quick) == magnitude))
		return "not shortest";
	if (!nearest_too)
		return NULL;
	struct decimal_text nearest;
	int count = snprintf(NULL, 0, "%llu", (unsigned long long)d.digits);
	int written = sprintf(text, "%.*e", count - 1, magnitude); /* correctly rounded in glibc */
	parse(text, text + written, &nearest);
	if ((nearest.digits != d.digits || nearest.exponent != d.exponent) && read_text(text, dtype, quick) == magnitude)
		return "not nearest";
	return NULL;
}

/* Whether each instruction set writes the same text, and reads it as the same values. */
static bool same_on_all(enum nc_dtype dtype, const void *values, size_t count, const char *text, const char *end)
{
	static _Thread_local char written[SHORTEST_CHECK_MAX * JSON_FLOAT64_MAX + 64];
	static _Thread_local double back[SHORTEST_CHECK_MAX];
	for (int isa = 0; isa < NC_ISA_COUNT; isa++) {
		if (!nc_isa_supported((enum nc_isa)isa))
			continue;
		const struct json_kernels *kernels = json_kernels_of((enum nc_isa)isa);
		size_t done, got;
		const char *after;
		char *last = dtype == NC_FLOAT64 ? kernels->write_float64(written, values, count, &done)
		                                 : kernels->write_float32(written, values, count, &done);
		if (done != count || last - written != end - text + 1 || memcmp(written, text, (size_t)(end - text))) {
			fprintf(stderr, "%s writes another text\n", nc_isa_name((enum nc_isa)isa));
			return false;
		}
		if (json_read_list_by(kernels, text, end, dtype, back, count, &got, &after) || got != count || after != end ||
		    memcmp(back, values, count * nc_dtype_storage_bytes(dtype))) {
			fprintf(stderr, "%s reads other values\n", nc_isa_name((enum nc_isa)isa));
			return false;
		}
	}
	return true;
}

long shortest_check(enum nc_dtype dtype, const void *values, size_t count, bool quick)
{
	static _Thread_local char text[SHORTEST_CHECK_MAX * JSON_FLOAT64_MAX + 64];
	size_t bad;
	char *end = json_write_list(text, dtype, values, count, JSON_NONFINITE_STOP, &bad);
	bool same = bad == count && same_on_all(dtype, values, count, text, end);
	const char *p = text;
	for (size_t i = 0; i < count; i++) {
		const char *token = p;
		double value = dtype == NC_FLOAT64 ? ((const double *)values)[i] : (double)((const float *)values)[i];
		while (p < end && *p != ',')
			p++;
		const char *fault = fault_of(token, (size_t)(p - token), value, dtype, quick, !quick || dtype != NC_FLOAT64 || i % 4 == 0);
		if (fault) {
			fprintf(stderr, "%a written as %.*s: %s\n", value, (int)(p - token), token, fault);
			return (long)i;
		}
		p++;
	}
	return same ? -1 : 0;
}
