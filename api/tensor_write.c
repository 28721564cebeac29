#include "tensor_write.h"

#include "json/base64.h"
#include "tensor_field.h"
#include "tensor_text.h"

#include <math.h>
#include <string.h>

/* The numbers of an output as the answer's form has them: in nested lists, or in one. */
static struct tensor_text text_of(const struct call *call, const struct nc_tensor *tensor, struct nc_tensor *flat)
{
	if (call->form == FORM_FLAT) {
		*flat = *tensor;
		flat->rank = 1;
		flat->shape[0] = tensor->count;
		tensor = flat;
	}
	return (struct tensor_text){.tensor = tensor, .pretty = call->request->pretty, .depth = 3};
}

size_t tensor_text_max(const struct call *call, const struct nc_tensor *t)
{
	size_t bytes, extra = 128 + 24 * (size_t)t->rank;
	struct nc_tensor flat;

	if (call->form == FORM_BASE64)
		return __builtin_mul_overflow(t->count, nc_dtype_wire_bytes(t->dtype), &bytes) || bytes > (size_t)-1 / 2
		               ? (size_t)-1
		               : base64_encoded_len(bytes) + extra;
	struct tensor_text text = text_of(call, t, &flat);
	return __builtin_add_overflow(tensor_text_room(&text), extra, &bytes) ? (size_t)-1 : bytes;
}

bool outputs_admit(struct call *call, struct writer *out, const struct output *outputs, size_t count)
{
	const struct api_config *limits = &call->api->config;
	size_t total = 4096; /* meta and the small parts */

	for (size_t i = 0; i < count; i++) {
		const struct path group = {.key = outputs[i].group};
		const struct path at = {.up = outputs[i].group ? &group : outputs[i].under, .key = outputs[i].key};
		const struct nc_tensor *t = &outputs[i].tensor;
		size_t extent = shape_extent(t->shape, t->rank);
		bool jacobian = outputs[i].group && strcmp(outputs[i].group, "jacobian") == 0; /* has a limit of its own */
		if (extent > limits->max_elements && !jacobian)
			return fail(call, PROBLEM_limit_exceeded, &at, text_of_number(call, (double)limits->max_elements),
			            text_of_number(call, (double)extent),
			            "an output holds at most %zu numbers: ask for less, or start the server with a larger %s",
			            limits->max_elements, call_flag(call, "max_elements"));
		if (__builtin_add_overflow(total, tensor_text_max(call, t), &total))
			total = (size_t)-1;
	}
	if (total > limits->max_answer)
		return fail(call, PROBLEM_limit_exceeded, NULL, text_of_number(call, (double)limits->max_answer),
		            text_of_number(call, (double)total),
		            "the answer could take more than %zu bytes: ask for less, use \"format\": \"base64\" or a narrower dtype, or "
		            "start the server with a larger %s",
		            limits->max_answer, call_flag(call, "max_answer"));
	return writer_reserve(out, total) || fail_memory(call);
}

static size_t first_nonfinite(const struct nc_tensor *t)
{
	size_t i = 0;
	while (i < t->count && isfinite(nc_tensor_get(t, i)))
		i++;
	return i;
}

static bool nonfinite_fail(struct call *call, const struct output *output, size_t element)
{
	const struct nc_tensor *t = &output->tensor;
	struct path steps[NC_MAX_RANK], group = {.key = output->group},
	            key = {.up = output->group ? &group : output->under, .key = output->key};
	size_t index[NC_MAX_RANK], rest = element;
	const struct path *at = &key;

	for (unsigned i = t->rank; i-- > 0; rest /= t->shape[i])
		index[i] = rest % t->shape[i];
	for (unsigned i = 0; i < t->rank; i++) {
		steps[i] = (struct path){.up = at, .index = index[i]};
		at = &steps[i];
	}
	double value = nc_tensor_get(t, element);
	const char *name = isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity", *pointer = path_pointer(call->arena, at);
	return fail(call, PROBLEM_not_finite, at, "\"a finite number\"", text_of_string(call, name),
	            "the answer's %s would be %s: send \"nonfinite\": \"string\" to get it, or scale the input", pointer ? pointer : "value",
	            name);
}

static bool write_base64(struct call *call, struct writer *out, const struct nc_tensor *t)
{
	size_t bytes = t->count * nc_dtype_wire_bytes(t->dtype);
	const void *wire = t->data;
	size_t mark = nc_arena_mark(call->arena);

	write_key(out, "dtype");
	write_string(out, nc_dtype_name(t->dtype));
	write_key(out, "base64");
	write_before_value(out);
	if (!writer_reserve(out, base64_encoded_len(bytes) + 2))
		return fail_memory(call);
	if (nc_dtype_wire_bytes(t->dtype) != nc_dtype_storage_bytes(t->dtype)) {
		void *packed = nc_arena_alloc(call->arena, bytes);
		if (!packed)
			return fail_memory(call);
		nc_dtype_to_wire(t->dtype, t->data, t->count, packed);
		wire = packed;
	}
	*out->at++ = '"';
	out->at = base64_encode(wire, bytes, out->at);
	*out->at++ = '"';
	if (wire != t->data)
		nc_arena_rewind(call->arena, mark);
	return true;
}

static bool write_lists(struct call *call, struct writer *out, const struct tensor_text *text, size_t *bad)
{
	write_before_value(out);
	if (!writer_reserve(out, tensor_text_room(text)))
		return fail_memory(call);
	out->at = tensor_text_write(text, call->api->pool, call->arena, out->at, bad);
	return true;
}

bool output_write(struct call *call, struct writer *out, const struct output *output)
{
	const struct nc_tensor *t = &output->tensor;
	struct nc_tensor flat;
	struct tensor_text text = text_of(call, t, &flat);
	size_t bad = t->count;

	text.mode = call->strings ? JSON_NONFINITE_STRING : output->infinite_is_null ? JSON_NONFINITE_NULL : JSON_NONFINITE_STOP;
	text.depth = out->depth;
	write_key(out, output->key);
	if (call->form == FORM_NESTED) {
		if (!write_lists(call, out, &text, &bad))
			return false;
		return bad == t->count || nonfinite_fail(call, output, bad);
	}
	write_open(out, '{');
	write_key(out, "shape");
	write_sizes(out, t->shape, t->rank);
	if (call->form == FORM_FLAT) {
		write_key(out, "data");
		if (!write_lists(call, out, &text, &bad))
			return false;
	} else {
		if (text.mode == JSON_NONFINITE_STOP)
			bad = first_nonfinite(t);
		if (bad == t->count && !write_base64(call, out, t))
			return false;
	}
	write_close(out, '}');
	return bad == t->count || nonfinite_fail(call, output, bad);
}

bool outputs_write(struct call *call, struct writer *out, const struct output *outputs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *group = outputs[i].group, *before = i ? outputs[i - 1].group : NULL;
		if (group && group != before) {
			write_key(out, group);
			write_open(out, '{');
			for (const char *const *text = outputs[i].prelude; text && *text; text += 2) {
				write_key(out, text[0]);
				write_string(out, text[1]);
			}
		}
		if (!output_write(call, out, &outputs[i]))
			return false;
		if (group && (i + 1 == count || outputs[i + 1].group != group))
			write_close(out, '}');
	}
	return true;
}

void write_any_number(const struct call *call, struct writer *out, double value)
{
	if (isfinite(value) || !call->strings)
		write_number(out, value);
	else
		write_string(out, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
}
