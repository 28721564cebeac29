#include "vectors.h"

#include "api_client.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double largest(json_t *value)
{
	double most = 0;
	for (size_t i = 0; i < json_array_size(value); i++) {
		double here = largest(json_array_get(value, i));
		most = here > most ? here : most;
	}
	return json_is_number(value) ? fabs(json_number_value(value)) : most;
}

static bool agrees(json_t *got, json_t *want, double tolerance, bool narrow, char *why, size_t room)
{
	if (json_is_array(want)) {
		if (!json_is_array(got) || json_array_size(got) != json_array_size(want)) {
			snprintf(why, room, "another shape");
			return false;
		}
		for (size_t i = 0; i < json_array_size(want); i++)
			if (!agrees(json_array_get(got, i), json_array_get(want, i), tolerance, narrow, why, room))
				return false;
		return true;
	}
	if (json_is_null(want)) {
		snprintf(why, room, "not null");
		return json_is_null(got);
	}
	if (!json_is_number(got) || !json_is_number(want)) {
		snprintf(why, room, "not a number");
		return false;
	}
	double a = json_number_value(got), b = json_number_value(want);
	if (narrow)
		a = (double)(float)a;
	snprintf(why, room, "%.17g is not %.17g, tolerance %.3g", a, b, tolerance);
	return fabs(a - b) <= tolerance;
}

const char *vectors_compare(json_t *got, json_t *want, double rtol, double atol, bool narrow)
{
	static char why[200];
	double tolerance = fmax(fmax(rtol * largest(want), atol), 5e-324);

	if (!got)
		return "missing";
	return agrees(got, want, tolerance, narrow, why, sizeof why) ? NULL : why;
}

static bool run_case(json_t *one, vectors_post *post, void *context)
{
	const char *id = json_string_value(json_object_get(one, "id")), *key;
	json_t *request = json_object_get(one, "request"), *answer = NULL, *want;
	const char *dtype = json_string_value(json_object_get(request, "dtype"));
	char *text = json_dumps(request, JSON_REAL_PRECISION(17));
	bool good = true;

	int status = post(context, json_string_value(json_object_get(one, "endpoint")), text, &answer);
	if (status != 200) {
		printf("%s: status %d %s\n", id, status, answer ? json_string_value(json_object_get(answer, "detail")) : "");
		good = false;
	}
	json_object_foreach(json_object_get(one, "expect"), key, want) {
		if (status != 200)
			break;
		const char *why = vectors_compare(json_at(answer, key), want, json_number_value(json_object_get(one, "rtol")),
		                                  json_number_value(json_object_get(json_object_get(one, "atol"), key)),
		                                  dtype && strcmp(dtype, "float64") != 0);
		if (why) {
			printf("%s: %s: %s\n", id, key, why);
			good = false;
		}
	}
	free(text);
	json_decref(answer);
	return good;
}

int vectors_run(const char *file, vectors_filter *filter, vectors_post *post, void *context, int *failed)
{
	json_error_t error;
	json_t *cases = json_load_file(file, JSON_DECODE_INT_AS_REAL, &error), *one;
	int ran = 0;
	size_t i;

	*failed = 0;
	if (!cases) {
		printf("%s: %s\n", file, error.text);
		*failed = 1;
		return 0;
	}
	json_array_foreach(cases, i, one) {
		if (filter && !filter(one))
			continue;
		ran++;
		*failed += !run_case(one, post, context);
	}
	json_decref(cases);
	return ran;
}
