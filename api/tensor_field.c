#include "tensor_field.h"

#include "fields.h"
#include "json/json_number.h"
#include "json/json_text.h"

#include <math.h>
#include <string.h>

#define EVERY_ELEMENT "every element of a tensor must be a number, or with \"nonfinite\": \"string\" one of \"NaN\", \"Infinity\", \"-Infinity\""

bool node_is_lifted(const json_t *node, size_t *k)
{
	if (!json_is_array(node) || json_array_size(node) != 1 || !json_is_integer(json_array_get(node, 0)))
		return false;
	*k = (size_t)json_integer_value(json_array_get(node, 0));
	return true;
}

bool node_is_tensor(const json_t *node)
{
	return json_is_object(node) &&
	       (json_object_get(node, "shape") || json_object_get(node, "data") || json_object_get(node, "base64"));
}

size_t shape_extent(const size_t *shape, unsigned rank)
{
	size_t extent = 1;
	for (unsigned i = 0; i < rank; i++)
		if (shape[i] && __builtin_mul_overflow(extent, shape[i], &extent))
			return (size_t)-1;
	return extent;
}

size_t shape_count(const size_t *shape, unsigned rank)
{
	size_t count = 1;
	for (unsigned i = 0; i < rank; i++)
		count *= shape[i];
	return count;
}

/* The number, word or string at `place`, cut to something that can be shown. */
static const char *literal_at(struct call *call, const char *place)
{
	enum { MOST = 44 };
	char text[MOST + 4];
	const char *end = call->lift.end, *at = place;

	if (*place == '"') { /* its text was checked by the lift */
		place++;
		at = json_string_end(place, end);
	} else {
		while (at < end && *at > ' ' && *at < 0x7f && !strchr(",]}", *at))
			at++;
	}
	size_t len = (size_t)(at - place);
	bool cut = len > MOST;
	if (cut)
		for (len = MOST; (place[len] & 0xc0) == 0x80; len--) /* between characters */
			;
	memcpy(text, place, len);
	memcpy(text + len, cut ? "..." : "", cut ? 4 : 1);
	return text_of_string(call, text);
}

/* A finite number that its dtype cannot hold; got: its JSON text. */
static bool range_fail(struct call *call, const struct path *path, enum nc_dtype dtype, const char *got)
{
	struct writer most = writer_start(call->arena, false);
	if (writer_reserve(&most, JSON_FLOAT64_MAX)) {
		most.at = dtype == NC_FLOAT64 ? json_write_float64(most.at, nc_dtype_max(dtype)) : json_write_float32(most.at, (float)nc_dtype_max(dtype));
		*most.at++ = 0;
	}
	writer_finish(&most);
	return fail(call, PROBLEM_out_of_range, path, most.base, got,
	            "the number is beyond the largest that %s can hold, %s: scale it down or choose a wider dtype", nc_dtype_name(dtype),
	            most.base ? most.base : "");
}

static bool limit_fail(struct call *call, const struct path *path, const char *got)
{
	size_t most = call->lift.options.max_elements;
	return fail(call, PROBLEM_limit_exceeded, path, text_of_number(call, (double)most), got,
	            "a request holds at most %zu numbers: send fewer, or start the server with a larger %s", most,
	            call_flag(call, "max_elements"));
}

/* Turns the fault of a lifted value into the call's problem. */
static bool fault_fail(struct call *call, const struct lifted *value, const struct path *path, enum nc_dtype dtype)
{
	struct path steps[NC_REQUEST_RANK];
	for (unsigned i = 0; i < value->depth; i++) {
		steps[i] = (struct path){.up = path, .index = value->at[i]};
		path = &steps[i];
	}
	switch (value->fault) {
	case LIFT_RAGGED:
		return fail(call, PROBLEM_ragged, path, text_of_number(call, (double)value->expected),
		            text_of_number(call, (double)value->got),
		            "all rows must have the same length: this one has %zu elements, those before it %zu", value->got,
		            value->expected);
	case LIFT_MIXED:
		return fail(call, PROBLEM_bad_tensor, path, *value->place == '[' ? "\"a number\"" : "\"an array\"",
		            *value->place == '[' ? "\"an array\"" : "\"a number\"",
		            "a tensor's elements must all lie equally deep: numbers and arrays stand side by side here");
	case LIFT_NONFINITE:
		return fail(call, PROBLEM_bad_tensor, path, "\"a number\"", literal_at(call, value->place),
		            "send \"nonfinite\": \"string\" to use NaN and infinities in tensors");
	case LIFT_RANGE:
		return range_fail(call, path, dtype, literal_at(call, value->place));
	case LIFT_RANK:
		return fail(call, PROBLEM_bad_tensor, path, text_of_number(call, NC_REQUEST_RANK), NULL,
		            "a tensor has at most %d axes: reshape it", NC_REQUEST_RANK);
	case LIFT_TOO_MANY:
		return limit_fail(call, path, NULL);
	case LIFT_BASE64:
		return fail(call, PROBLEM_bad_base64, path, NULL, NULL,
		            "the text must be base64 in the standard alphabet, padded with =, without line breaks");
	default:
		return fail(call, PROBLEM_bad_tensor, path, "\"a number\"",
		            *value->place == '{' ? "\"an object\"" : literal_at(call, value->place),
		            EVERY_ELEMENT);
	}
}

/* The first leaf of an array without a number at its front: a string, null, an object, or an empty array. */
static bool other_fail(struct call *call, json_t *node, const struct path *path)
{
	if (json_is_array(node)) {
		size_t n = json_array_size(node), k;
		if (n == 0)
			return fail(call, PROBLEM_bad_tensor, path, "\"at least one number\"", "[]",
			            "an array must hold at least one number: write a tensor without rows as {\"shape\":[0,4],\"data\":[]}");
		for (size_t i = 0; i < n; i++) {
			struct path step = {.up = path, .index = i};
			json_t *child = json_array_get(node, i);
			if (!node_is_lifted(child, &k))
				return other_fail(call, child, &step);
		}
		/* Only numbers and arrays of them: they differ in depth, or the row before them was empty. */
		return fail(call, PROBLEM_bad_tensor, path, NULL, NULL, "a tensor's elements must all lie equally deep");
	}
	const char *text = json_string_value(node);
	double value;
	if (text && lift_nonfinite(text, strlen(text), &value))
		return fail(call, PROBLEM_bad_tensor, path, "\"a number\"", node_text(call, node),
		            "send \"nonfinite\": \"string\" to use NaN and infinities in tensors");
	return fail(call, PROBLEM_bad_tensor, path, "\"a number\"", node_text(call, node), EVERY_ELEMENT);
}

/* A tensor of rank 0. */
static bool set_number(struct call *call, double value, enum nc_dtype dtype, struct tensor_field *out)
{
	out->tensor = (struct nc_tensor){.dtype = dtype, .count = 1, .data = nc_arena_alloc(call->arena, sizeof(double))};
	if (!out->tensor.data)
		return fail_memory(call);
	nc_tensor_set(&out->tensor, 0, value);
	out->given = true;
	out->form = FORM_NESTED;
	return true;
}

static bool read_shape(struct call *call, json_t *node, const struct path *path, struct nc_tensor *tensor)
{
	double values[NC_REQUEST_RANK];
	size_t rank;

	if (!integers_read(call, node, path, NC_REQUEST_RANK, values, &rank))
		return false;
	for (size_t i = 0; i < rank; i++) {
		struct path step = {.up = path, .index = i};
		if (values[i] < 0)
			return fail(call, PROBLEM_bad_value, &step, "\"an integer >= 0\"", text_of_number(call, values[i]),
			            "a size in shape must be 0 or more");
		tensor->shape[i] = (size_t)values[i];
	}
	tensor->rank = (unsigned)rank;
	if (shape_extent(tensor->shape, tensor->rank) > call->lift.options.max_elements)
		return limit_fail(call, path, text_of_shape(call, tensor->shape, tensor->rank));
	tensor->count = shape_count(tensor->shape, tensor->rank);
	return true;
}

/* {"shape": …, "data": […]}: the numbers were lifted as a list. */
static bool read_flat(struct call *call, json_t *data, const struct path *path, enum nc_dtype dtype, struct nc_tensor *tensor)
{
	struct path at = {.up = path, .key = "data"};
	size_t k, count = 0;

	tensor->dtype = dtype;
	if (node_is_lifted(data, &k)) {
		const struct lifted *value = lift_take(call, k, dtype);
		if (!value)
			return false;
		if (value->fault)
			return fault_fail(call, value, &at, dtype);
		if (value->tensor.rank != 1)
			return fail(call, PROBLEM_bad_tensor, &at, "\"one flat list of numbers\"", NULL,
			            "data must be one flat list of numbers in row-major order");
		tensor->data = value->tensor.data;
		count = value->tensor.count;
	} else if (json_is_array(data) && json_array_size(data) == 0) {
		tensor->data = nc_arena_alloc(call->arena, 0);
		if (!tensor->data)
			return fail_memory(call);
	} else {
		return json_is_array(data) ? other_fail(call, data, &at) : node_fail(call, data, &at, "one flat list of numbers");
	}
	if (count != tensor->count)
		return fail(call, PROBLEM_shape_mismatch, &at, text_of_number(call, (double)tensor->count), text_of_number(call, (double)count),
		            "data must hold as many numbers as shape says: %zu, not %zu", tensor->count, count);
	return true;
}

/* Storage of one dtype to that of another, rounded once; a finite element must stay finite. */
static bool convert(struct call *call, const struct path *path, const struct nc_tensor *from, struct nc_tensor *to)
{
	to->data = nc_arena_array(call->arena, to->count, nc_dtype_storage_bytes(to->dtype));
	if (!to->data)
		return fail_memory(call);
	if (nc_dtype_convert(from->dtype, from->data, to->dtype, to->data, to->count))
		return true;
	size_t i = 0;
	while (isinf(nc_tensor_get(from, i)) || !isinf(nc_tensor_get(to, i)))
		i++;
	struct path step = {.up = path, .index = i};
	return range_fail(call, &step, to->dtype, text_of_number(call, nc_tensor_get(from, i)));
}

/* {"shape": …, "dtype": …, "base64": "…"}: the bytes were decoded by the lift. */
static bool read_base64(struct call *call, json_t *object, const struct path *path, enum nc_dtype dtype, struct nc_tensor *tensor)
{
	struct path at = {.up = path, .key = "base64"}, dtype_at = {.up = path, .key = "dtype"};
	json_t *name = json_object_get(object, "dtype");
	enum nc_dtype wire = call->dtype;
	size_t k;

	if (name && (!json_is_string(name) || !nc_dtype_parse(json_string_value(name), &wire)))
		return dtype_fail(call, name, &dtype_at);
	json_t *text = json_object_get(object, "base64");
	if (!node_is_lifted(text, &k) || !call->lift.values[k].bytes)
		return node_fail(call, text, &at, "a base64 text");
	const struct lifted *value = &call->lift.values[k];
	if (value->fault)
		return fault_fail(call, value, &at, dtype);
	size_t bytes = nc_dtype_wire_bytes(wire);
	if (value->tensor.count != tensor->count * bytes)
		return fail(call, PROBLEM_length_mismatch, &at, text_of_number(call, (double)(tensor->count * bytes)),
		            text_of_number(call, (double)value->tensor.count), "shape and dtype need %zu bytes, base64 holds %zu",
		            tensor->count * bytes, value->tensor.count);
	call->lift.elements += tensor->count;
	if (call->lift.elements > call->lift.options.max_elements)
		return limit_fail(call, path, NULL);
	struct nc_tensor raw = *tensor;
	raw.dtype = wire;
	raw.data = value->tensor.data;
	if (bytes < nc_dtype_storage_bytes(wire)) {
		raw.data = nc_arena_array(call->arena, raw.count, nc_dtype_storage_bytes(wire));
		if (!raw.data)
			return fail_memory(call);
		nc_dtype_from_wire(wire, value->tensor.data, raw.count, raw.data);
	}
	for (size_t i = 0; i < raw.count && !call->strings; i++) {
		struct path step = {.up = &at, .index = i};
		if (!isfinite(nc_tensor_get(&raw, i)))
			return fail(call, PROBLEM_bad_tensor, &step, "\"a finite number\"", NULL,
			            "element %zu is NaN or infinite: send \"nonfinite\": \"string\" to use such values", i);
	}
	tensor->dtype = dtype;
	tensor->data = raw.data;
	return wire == dtype || convert(call, &at, &raw, tensor);
}

static bool read_object(struct call *call, json_t *object, const struct path *path, enum nc_dtype dtype, struct tensor_field *out)
{
	struct {
		json_t *shape, *data, *base64, *dtype;
	} given = {0};
#define AT(member) offsetof(__typeof__(given), member)
	static const struct field rows[] = {
		{ROW("shape", FIELD_NODE, AT(shape)), .required = true},
		{ROW("data", FIELD_NODE, AT(data))},
		{ROW("base64", FIELD_NODE, AT(base64))},
		{ROW("dtype", FIELD_NODE, AT(dtype))},
	};
#undef AT
	struct fields tables[] = {FIELDS(rows, &given)};
	struct path shape_at = {.up = path, .key = "shape"}, dtype_at = {.up = path, .key = "dtype"};

	if (!fields_read(call, object, path, "a tensor", tables, 1))
		return false;
	if (!given.data == !given.base64)
		return fail(call, given.data ? PROBLEM_conflicting_fields : PROBLEM_missing_field, path, NULL, NULL,
		            "a tensor has either data, a flat list of numbers, or base64");
	if (given.data && given.dtype)
		return fail(call, PROBLEM_conflicting_fields, &dtype_at, NULL, NULL,
		            "only a base64 tensor has a dtype of its own: set the request's dtype or param_dtype");
	if (!read_shape(call, given.shape, &shape_at, &out->tensor))
		return false;
	out->given = true;
	out->form = given.data ? FORM_FLAT : FORM_BASE64;
	return given.data ? read_flat(call, given.data, path, dtype, &out->tensor)
	                  : read_base64(call, object, path, dtype, &out->tensor);
}

bool tensor_read(struct call *call, json_t *node, const struct path *path, enum nc_dtype dtype, bool number,
                 struct tensor_field *out)
{
	size_t k;
	double nonfinite;
	const char *text = json_string_value(node);

	if (node_is_lifted(node, &k) && !call->lift.values[k].bytes) {
		const struct lifted *value = lift_take(call, k, dtype);
		if (!value)
			return false;
		if (value->fault)
			return fault_fail(call, value, path, dtype);
		if (value->tensor.rank) {
			*out = (struct tensor_field){.given = true, .form = FORM_NESTED, .tensor = value->tensor};
			return true;
		}
		if (number)
			return set_number(call, value->number, dtype, out);
		return fail(call, PROBLEM_bad_tensor, path, "\"a tensor\"", text_of_number(call, value->number),
		            "a tensor must have at least one axis: write a single number as [%s]", text_of_number(call, value->number));
	}
	if (number && call->strings && text && lift_nonfinite(text, strlen(text), &nonfinite))
		return set_number(call, nonfinite, dtype, out);
	if (json_is_object(node)) {
		if (!read_object(call, node, path, dtype, out))
			return false;
		if (out->tensor.rank || number)
			return true;
		return fail(call, PROBLEM_bad_tensor, path, "\"at least one axis\"", "[]", "a tensor must have at least one axis");
	}
	if (json_is_array(node))
		return other_fail(call, node, path);
	return node_fail(call, node, path, number ? "a tensor or a number" : "a tensor");
}

bool tensor_expect_shape(struct call *call, const struct tensor_field *field, const struct path *path,
                         const size_t *shape, unsigned rank, const char *of)
{
	const struct nc_tensor *t = &field->tensor;

	if (t->rank == rank && (rank == 0 || memcmp(t->shape, shape, rank * sizeof *shape) == 0))
		return true;
	const char *want = text_of_shape(call, shape, rank), *got = text_of_shape(call, t->shape, t->rank);
	return fail(call, PROBLEM_shape_mismatch, path, want, got, "the shape must be that of %s, %s, not %s", of, want ? want : "",
	            got ? got : "");
}

bool integers_read(struct call *call, json_t *node, const struct path *path, size_t most, double *values, size_t *count)
{
	size_t k;

	*count = 0;
	if (json_is_array(node) && json_array_size(node) == 0)
		return true;
	if (!node_is_lifted(node, &k))
		return json_is_array(node) ? other_fail(call, node, path) : node_fail(call, node, path, "a list of integers");
	const struct lifted *value = lift_take(call, k, NC_FLOAT64);
	if (!value)
		return false;
	if (value->fault)
		return fault_fail(call, value, path, NC_FLOAT64);
	if (value->bytes || value->tensor.rank != 1 || value->tensor.count > most)
		return fail(call, PROBLEM_bad_value, path, "\"a list of integers\"", NULL, "this must be a list of at most %zu integers", most);
	*count = value->tensor.count;
	for (size_t i = 0; i < *count; i++) {
		struct path step = {.up = path, .index = i};
		values[i] = ((const double *)value->tensor.data)[i];
		if (values[i] != trunc(values[i]) || fabs(values[i]) > 0x1p53)
			return fail(call, PROBLEM_bad_value, &step, "\"an integer\"", text_of_number(call, values[i]),
			            "this must be an integer between -2^53 and 2^53");
	}
	return true;
}
