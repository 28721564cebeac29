#include "fields.h"

#include "nearest.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 60 }; /* bytes of a user's string in a sentence */

/* Bytes of text to show: all of it, or less, cut between characters. */
static int shown(const char *text)
{
	size_t len = strlen(text);
	if (len <= SHOWN)
		return (int)len;
	len = SHOWN;
	while (len && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	return (int)len;
}

const char *node_text(struct call *call, json_t *node)
{
	char text[SHOWN + 4];
	size_t k;

	switch (json_typeof(node)) {
	case JSON_TRUE:
		return "true";
	case JSON_FALSE:
		return "false";
	case JSON_NULL:
		return "null";
	case JSON_OBJECT:
		return "\"an object\"";
	case JSON_STRING:
		snprintf(text, sizeof text, "%.*s%s", shown(json_string_value(node)), json_string_value(node),
		         strlen(json_string_value(node)) > SHOWN ? "..." : "");
		return text_of_string(call, text);
	default:
		if (node_is_lifted(node, &k)) {
			const struct lifted *value = &call->lift.values[k];
			if (value->bytes)
				return "\"a string\"";
			if (value->tensor.rank == 0 && !value->fault)
				return text_of_number(call, value->number);
		}
		return "\"an array\"";
	}
}

bool node_fail(struct call *call, json_t *node, const struct path *path, const char *expected)
{
	if (json_is_null(node))
		return fail(call, PROBLEM_bad_value, path, text_of_string(call, expected), "null",
		            "this must be %s: leave the field out instead of sending null", expected);
	return fail(call, PROBLEM_bad_value, path, text_of_string(call, expected), node_text(call, node), "this must be %s", expected);
}

int names_find(const char *const *names, const char *text)
{
	for (int i = 0; names[i]; i++)
		if (strcmp(names[i], text) == 0)
			return i;
	return -1;
}

/* ["a","b"] */
static const char *names_text(struct call *call, const char *const *names)
{
	struct writer out = writer_start(call->arena, false);
	write_open(&out, '[');
	for (int i = 0; names[i]; i++)
		write_string(&out, names[i]);
	write_close(&out, ']');
	write_raw(&out, "", 1);
	writer_finish(&out);
	return out.failed ? NULL : out.base;
}

/* a, b or c */
static const char *names_sentence(struct call *call, const char *const *names)
{
	struct writer out = writer_start(call->arena, false);
	for (int i = 0; names[i]; i++) {
		if (i)
			write_raw(&out, names[i + 1] ? ", " : " or ", names[i + 1] ? 2 : 4);
		out.comma = false;
		write_string(&out, names[i]);
	}
	write_raw(&out, "", 1);
	writer_finish(&out);
	return out.failed ? "one of the known names" : out.base;
}

bool names_fail(struct call *call, const struct path *path, const char *const *names, const char *text)
{
	const char *nearest = NULL;
	unsigned least = 0;

	for (int i = 0; names[i]; i++) {
		unsigned d = edit_distance(text, names[i]);
		if (!nearest || d < least) {
			nearest = names[i];
			least = d;
		}
	}
	if (nearest && is_near(text, least))
		return fail(call, PROBLEM_bad_value, path, names_text(call, names), text_of_string(call, text),
		            "there is no \"%.*s\" here: did you mean \"%s\"?", shown(text), text, nearest);
	return fail(call, PROBLEM_bad_value, path, names_text(call, names), text_of_string(call, text), "this must be %s, not \"%.*s\"",
	            names_sentence(call, names), shown(text), text);
}

bool node_number(struct call *call, json_t *node, const struct path *path, double *value)
{
	struct tensor_field field = {0};
	size_t k;

	if (!node_is_lifted(node, &k) || call->lift.values[k].bytes || call->lift.values[k].tensor.rank)
		return node_fail(call, node, path, "a number");
	if (!tensor_read(call, node, path, NC_FLOAT64, true, &field))
		return false;
	*value = nc_tensor_get(&field.tensor, 0);
	return true;
}

static bool read_integer(struct call *call, json_t *node, const struct path *path, const struct field *row, size_t *out)
{
	double value, least = row->type == FIELD_COUNT ? 1 : 0, most = row->most ? (double)row->most : 0x1p53;
	char range[80];

	if (!node_number(call, node, path, &value))
		return false;
	if (value != trunc(value) || value < least || value > most) {
		if (row->most)
			snprintf(range, sizeof range, "an integer from %d to %zu", (int)least, row->most);
		else
			snprintf(range, sizeof range, "an integer, %d or more", (int)least);
		return node_fail(call, node, path, range);
	}
	*out = (size_t)value;
	return true;
}

static bool read_double(struct call *call, json_t *node, const struct path *path, enum field_type type, double *out)
{
	double value;

	if (!node_number(call, node, path, &value))
		return false;
	if (type == FIELD_NONNEGATIVE && value < 0)
		return node_fail(call, node, path, "a number, 0 or more");
	if (type == FIELD_POSITIVE && !(value > 0))
		return node_fail(call, node, path, "a number above 0");
	*out = value;
	return true;
}

bool field_read(struct call *call, json_t *node, const struct path *path, const struct field *row, void *out)
{
	void *to = out ? (char *)out + row->offset : NULL; /* FIELD_KNOWN has no place */
	const char *text = json_string_value(node);

	switch (row->type) {
	case FIELD_TENSOR:
	case FIELD_TENSOR_OR_NUMBER: {
		enum nc_dtype dtype = row->dtype == AS_DTYPE ? call->dtype : row->dtype == AS_PARAM_DTYPE ? call->param_dtype : NC_FLOAT64;
		return tensor_read(call, node, path, dtype, row->type == FIELD_TENSOR_OR_NUMBER, to);
	}
	case FIELD_NUMBER:
	case FIELD_NONNEGATIVE:
	case FIELD_POSITIVE:
		return read_double(call, node, path, row->type, to);
	case FIELD_COUNT:
	case FIELD_WHOLE:
		return read_integer(call, node, path, row, to);
	case FIELD_BOOL:
		if (!json_is_boolean(node))
			return node_fail(call, node, path, "true or false");
		*(bool *)to = json_is_true(node);
		return true;
	case FIELD_ENUM:
		if (!text)
			return node_fail(call, node, path, names_sentence(call, row->names));
		*(int *)to = names_find(row->names, text);
		return *(int *)to >= 0 || names_fail(call, path, row->names, text);
	case FIELD_STRING:
		if (!text)
			return node_fail(call, node, path, "a string");
		*(const char **)to = text;
		return true;
	case FIELD_NODE:
		*(json_t **)to = node;
		return true;
	case FIELD_KNOWN:
		return true;
	}
	return true;
}

static bool unknown_field(struct call *call, const struct path *at, const char *what, const struct fields *tables, size_t table_count)
{
	const char *nearest = NULL;
	unsigned least = 0;

	for (size_t t = 0; t < table_count; t++)
		for (size_t i = 0; i < tables[t].count; i++) {
			unsigned d = edit_distance(at->key, tables[t].rows[i].name);
			if (!nearest || d < least) {
				nearest = tables[t].rows[i].name;
				least = d;
			}
		}
	if (!nearest)
		return fail(call, PROBLEM_unknown_field, at, NULL, NULL, "%s has no field \"%.*s\"", what, shown(at->key), at->key);
	return fail(call, PROBLEM_unknown_field, at, text_of_string(call, nearest), text_of_string(call, at->key),
	            is_near(at->key, least) ? "%s has no field \"%.*s\": did you mean \"%s\"?" : "%s has no field \"%.*s\"; the nearest one is \"%s\"",
	            what, shown(at->key), at->key, nearest);
}

bool fields_read(struct call *call, json_t *object, const struct path *path, const char *what,
                 const struct fields *tables, size_t table_count)
{
	const char *key;
	json_t *node;

	json_object_foreach(object, key, node) {
		struct path at = {.up = path, .key = key};
		const struct field *row = NULL;
		void *out = NULL;
		for (size_t t = 0; t < table_count && !row; t++)
			for (size_t i = 0; i < tables[t].count && !row; i++)
				if (*tables[t].rows[i].name == *key && strcmp(tables[t].rows[i].name, key) == 0) {
					row = &tables[t].rows[i];
					out = tables[t].out;
				}
		if (!row)
			return unknown_field(call, &at, what, tables, table_count);
		if (!field_read(call, node, &at, row, out))
			return false;
	}
	for (size_t t = 0; t < table_count; t++)
		for (size_t i = 0; i < tables[t].count; i++) {
			const struct field *row = &tables[t].rows[i];
			if (!row->required || json_object_get(object, row->name))
				continue;
			struct path at = {.up = path, .key = row->name};
			return fail(call, PROBLEM_missing_field, &at, NULL, NULL, "%s needs the field \"%s\"", what, row->name);
		}
	return true;
}

static const char *const dtype_names[] = {
#define DTYPE(NAME, text, wire_bytes, mantissa_bits, min_exponent, max_finite) text,
#include "core/dtype.def"
#undef DTYPE
	NULL};
static const char *const form_names[] = {
	[FORM_NESTED] = "nested", [FORM_FLAT] = "flat", [FORM_BASE64] = "base64", [FORM_BASE64 + 1] = NULL};
static const char *const nonfinite_names[] = {"error", "string", NULL};

bool dtype_fail(struct call *call, json_t *node, const struct path *path)
{
	if (!json_is_string(node))
		return node_fail(call, node, path, names_sentence(call, dtype_names));
	return names_fail(call, path, dtype_names, json_string_value(node));
}

const struct field fields_common[FIELDS_COMMON_COUNT] = {
	{ROW("dtype", FIELD_KNOWN, 0)}, {ROW("param_dtype", FIELD_KNOWN, 0)}, {ROW("format", FIELD_KNOWN, 0)}, {ROW("nonfinite", FIELD_KNOWN, 0)}};

bool fields_read_common(struct call *call)
{
	const char *const *names[FIELDS_COMMON_COUNT] = {dtype_names, dtype_names, form_names, nonfinite_names};
	int values[FIELDS_COMMON_COUNT] = {-1, -1, -1, -1};
	const json_t *x = NULL;
	const char *key;
	json_t *node;

	json_object_foreach(call->root, key, node) { /* of few members: to look for each of the fields would take longer */
		if (strcmp(key, "x") == 0)
			x = node;
		for (size_t i = 0; i < FIELDS_COMMON_COUNT; i++) {
			const struct field row = {ROW(fields_common[i].name, FIELD_ENUM, 0), .names = names[i]};
			const struct path at = {.key = row.name};
			if (strcmp(key, row.name) == 0 && !field_read(call, node, &at, &row, &values[i]))
				return false;
		}
	}
	/* A base64 x brings its dtype along. */
	if (values[0] < 0 && json_object_get(x, "base64") && json_is_string(json_object_get(x, "dtype")))
		values[0] = names_find(dtype_names, json_string_value(json_object_get(x, "dtype")));
	call->dtype = values[0] < 0 ? NC_FLOAT64 : (enum nc_dtype)values[0];
	call->param_dtype = values[1] < 0 ? call->dtype : (enum nc_dtype)values[1];
	call->form_given = values[2] >= 0;
	call->form = call->form_given ? (enum tensor_form)values[2] : FORM_NESTED;
	call->strings = values[3] == 1;
	return true;
}
