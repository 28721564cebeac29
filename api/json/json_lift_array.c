#include "json_lift_array.h"

#include "../call.h"
#include "json_array_reader.h"
#include "json_number.h"
#include "json_string.h"
#include "json_text.h"

#include <math.h>

enum array_content lift_look(const char *at, const char *end, bool strings, unsigned *rank)
{
	*rank = 0;
	while (at < end && *at == '[') {
		at = json_skip_space(at + 1, end);
		++*rank;
	}
	if (at == end)
		return ARRAY_OTHER;
	if (*at == ']')
		return ARRAY_EMPTY;
	if (json_starts_number(*at))
		return ARRAY_NUMBERS;
	if (strings && *at == '"') {
		size_t most = sizeof "-Infinity\""; /* no further: the string may be long, and looked at once a level */
		const char *close = json_string_end(at + 1, (size_t)(end - at) > most ? at + most : end);
		double value;
		if (close && lift_nonfinite(at + 1, (size_t)(close - at - 1), &value))
			return ARRAY_NUMBERS;
	}
	return ARRAY_OTHER;
}

bool lift_nonfinite(const char *string, size_t len, double *value)
{
	if (json_is(string, len, "NaN"))
		*value = NAN;
	else if (json_is(string, len, "Infinity"))
		*value = INFINITY;
	else if (json_is(string, len, "-Infinity"))
		*value = -INFINITY;
	else
		return false;
	return true;
}

/* Whether a word that programs write for a non-finite number stands at `at`. */
static bool is_bare_nonfinite(const char *at, const char *end)
{
	static const char *const words[] = {"NaN", "nan", "Infinity", "inf", "Inf"};
	if (at < end && *at == '-')
		at++;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if ((size_t)(end - at) >= strlen(words[i]) && memcmp(at, words[i], strlen(words[i])) == 0)
			return true;
	return false;
}

bool lift_syntax(struct call *call, const char *at, const char *wanted)
{
	const char *text = call->lift.text, *end = call->lift.end;
	size_t offset = (size_t)(at - text);

	if (at >= end)
		return fail_text(call, PROBLEM_bad_json, offset, "the body ends where %s should stand", wanted);
	/* A reader may stop at the letter behind a sign. */
	if (is_bare_nonfinite(at, end) || (at > text && at[-1] == '-' && is_bare_nonfinite(at - 1, end)))
		return fail_text(call, PROBLEM_bad_json, offset,
		                 "JSON has no NaN or Infinity: send \"nonfinite\": \"string\" and write them as the strings \"NaN\", "
		                 "\"Infinity\" and \"-Infinity\", or leave them out");
	unsigned char c = (unsigned char)*at;
	if (c > ' ' && c < 0x7f)
		return fail_text(call, PROBLEM_bad_json, offset, "'%c' stands where %s should", c, wanted);
	return fail_text(call, PROBLEM_bad_json, offset, "byte 0x%02x stands where %s should", c, wanted);
}

/* The closing quote of the string at `at`, NULL with the call's problem set when it has none or is unsound. */
static const char *close_string(struct call *call, const char *at)
{
	const struct lift *lift = &call->lift;
	const char *close = json_string_end(at + 1, lift->end), *what, *fault;

	if (!close)
		fail_text(call, PROBLEM_bad_json, (size_t)(at - lift->text), "a string is not closed");
	else if ((fault = json_string_fault(at + 1, close, &what)))
		fail_text(call, PROBLEM_bad_json, (size_t)(fault - lift->text), "%s", what);
	else
		return close;
	return NULL;
}

/* Behind the bracket that closes the one at `at`, strings respected. */
static bool skip_array(struct call *call, const char *at, const char **after)
{
	const char *end = call->lift.end;
	unsigned depth = 0;

	for (; at < end; at++) {
		if (*at == '"') {
			at = close_string(call, at);
			if (!at)
				return false;
		} else if (*at == '[' || *at == '{') {
			depth++;
		} else if ((*at == ']' || *at == '}') && --depth == 0) {
			*after = at + 1;
			return true;
		}
	}
	return fail_text(call, PROBLEM_bad_json, (size_t)(end - call->lift.text), "the body ends within an array");
}

/* lift_syntax, but a part only stops. */
static bool malformed(const struct array_reader *r, const char *at, const char *wanted)
{
	return r->part ? false : lift_syntax(r->call, at, wanted);
}

static void set_fault(struct array_reader *r, enum lift_fault fault, unsigned depth, const char *place)
{
	r->value->place = place;
	r->value->fault = fault;
	r->value->depth = depth;
	memcpy(r->value->at, r->len, depth * sizeof *r->len);
}

/* An element of the innermost level that json_read_list stopped at: one of the three strings, or a fault. */
static bool read_other(struct array_reader *r, const char **at)
{
	const char *end = r->call->lift.end;
	double value;

	if (**at == '"') {
		const char *close = r->part ? json_string_end(*at + 1, r->end) : close_string(r->call, *at);
		if (!close)
			return false;
		if (close >= r->end) { /* the comma before r->end stands in the string */
			r->end = end;
			r->more = false;
		}
		bool known = lift_nonfinite(*at + 1, (size_t)(close - *at - 1), &value);
		if (!known || !r->strings) {
			set_fault(r, known ? LIFT_NONFINITE : LIFT_NOT_NUMBER, r->level, *at);
			return true;
		}
		if (r->count == r->limit) {
			set_fault(r, LIFT_TOO_MANY, r->level, *at);
			return true;
		}
		if (r->count == r->capacity)
			return r->part ? false : fail_memory(r->call);
		if (r->dtype == NC_FLOAT64)
			((double *)r->value->tensor.data)[r->count] = value;
		else
			((float *)r->value->tensor.data)[r->count] = (float)value;
		r->count++;
		r->len[r->level - 1]++;
		*at = close + 1;
		return true;
	}
	if (**at == '[')
		set_fault(r, LIFT_MIXED, r->level, *at);
	else if (**at == '{' || **at == 't' || **at == 'f' || (**at == 'n' && end - *at >= 4 && !memcmp(*at, "null", 4)))
		set_fault(r, LIFT_NOT_NUMBER, r->level, *at);
	else
		return malformed(r, *at, "a number");
	return true;
}

/* The elements of an innermost list from where one is to come: *at goes to its ']', or to r->end (or anywhere, with a fault). */
static bool read_leaves(struct array_reader *r, const char **at)
{
	size_t bytes = nc_dtype_storage_bytes(r->dtype), *len = &r->len[r->level - 1];

	if (*len == 0 && *at < r->end && **at == ']')
		return true;
	for (;;) {
		size_t n = 0;
		enum json_number_status status = json_read_list(*at, r->end, r->dtype, (char *)r->value->tensor.data + r->count * bytes,
		                                                r->capacity - r->count, &n, at);
		r->count += n;
		*len += n;
		if (status == JSON_NUMBER_RANGE) {
			set_fault(r, LIFT_RANGE, r->level, *at);
			return true;
		}
		if (status == JSON_NUMBER_FULL) {
			if (r->count < r->limit)
				return r->part ? false : fail_memory(r->call);
			set_fault(r, LIFT_TOO_MANY, r->level, *at);
			return true;
		}
		if (status == JSON_NUMBER_SYNTAX) {
			if (*at == r->end)
				return r->more || malformed(r, *at, "a number");
			if (!read_other(r, at))
				return false;
			if (r->value->fault)
				return true;
			*at = json_skip_space(*at, r->end);
		}
		if (*at == r->end)
			return malformed(r, *at, "a comma or ]");
		if (**at == ']')
			return true;
		if (**at != ',')
			return malformed(r, *at, "a comma or ]");
		*at = json_skip_space(*at + 1, r->end);
		if (*at < r->end && **at == ']')
			return malformed(r, *at, "a number");
	}
}

/* Closes levels from *at, a ']', until another row begins or all are closed; the shape is learnt or compared. */
static bool close_levels(struct array_reader *r, const char **at)
{
	for (;;) {
		unsigned i = r->level - 1;
		if (!r->known[i]) {
			if (r->part) { /* the elements of this level before the part are counted elsewhere */
				r->closing = true;
				return false;
			}
			r->known[i] = true;
			r->value->tensor.shape[i] = r->len[i];
		} else if (r->value->tensor.shape[i] != r->len[i]) {
			r->value->expected = r->value->tensor.shape[i];
			r->value->got = r->len[i];
			set_fault(r, LIFT_RAGGED, i, *at);
			return true;
		}
		++*at;
		r->level--;
		if (r->level == 0)
			return true;
		r->len[r->level - 1]++;
		*at = json_skip_space(*at, r->end);
		if (*at < r->end && **at == ',') {
			*at = json_skip_space(*at + 1, r->end);
			return true;
		}
		if (*at == r->end || **at != ']')
			return malformed(r, *at, "a comma or ]");
	}
}

/* Opens the levels down to the innermost one. */
static bool open_levels(struct array_reader *r, const char **at)
{
	while (r->level < r->rank) {
		if (*at == r->end)
			return r->more || malformed(r, *at, "an array");
		if (**at == ']' && r->len[r->level - 1] == 0)
			return true; /* an empty row: close_levels finds it ragged */
		if (**at != '[') {
			bool leaf = json_starts_number(**at) || **at == '"';
			if (!leaf && !(**at == '{' || **at == 't' || **at == 'f' || **at == 'n'))
				return malformed(r, *at, "an array");
			set_fault(r, leaf ? LIFT_MIXED : LIFT_NOT_NUMBER, r->level, *at);
			return true;
		}
		r->len[r->level++] = 0;
		*at = json_skip_space(*at + 1, r->end);
	}
	return true;
}

bool array_read(struct array_reader *r, const char **at)
{
	const struct lifted *value = r->value;

	*at = json_skip_space(*at, r->end);
	do {
		if (!r->closing) {
			if (!open_levels(r, at))
				return false;
			if (!value->fault && r->level == r->rank && !read_leaves(r, at))
				return false;
			if (value->fault || *at == r->end)
				return true;
		}
		r->closing = false;
		if (!close_levels(r, at))
			return false;
	} while (!value->fault && r->level);
	return true;
}

const char *array_cut(const struct array_reader *r, const char *at)
{
	const char *end = r->call->lift.end;
	if ((size_t)(end - at) <= ARRAY_PART)
		return end;
	const char *comma = memchr(at + ARRAY_PART, ',', (size_t)(end - at) - ARRAY_PART);
	return comma ? comma + 1 : end;
}

bool lift_array(struct call *call, const char *text, unsigned rank, enum nc_dtype dtype, bool strings, size_t limit,
                struct lifted *value, const char **after)
{
	const char *at = text, *end = call->lift.end;
	size_t bytes = nc_dtype_storage_bytes(dtype);
	struct array_reader r = {.call = call, .value = value, .dtype = dtype, .strings = strings, .end = end, .limit = limit, .rank = rank};

	value->text = text;
	value->tensor.dtype = dtype;
	value->tensor.rank = rank;
	if (rank > NC_REQUEST_RANK) {
		value->fault = LIFT_RANK;
		value->place = text;
		return skip_array(call, text, after);
	}
	/* An upper bound, trimmed below: a number and its comma take two bytes at least. */
	r.capacity = (size_t)(end - at) / 2;
	if (r.capacity > limit)
		r.capacity = limit;
	if (r.capacity > nc_arena_left(call->arena) / bytes)
		r.capacity = nc_arena_left(call->arena) / bytes;
	value->tensor.data = nc_arena_alloc(call->arena, r.capacity * bytes);
	if (!value->tensor.data)
		return fail_memory(call);
	bool split = nc_pool_threads(call->api->pool) > 1;
	for (;;) {
		if (split) {
			r.end = array_cut(&r, at);
			r.more = r.end < end;
		}
		if (!array_read(&r, &at))
			return false;
		if (value->fault || r.level == 0)
			break;
		at = array_read_split(&r, at);
	}
	nc_arena_trim(call->arena, value->tensor.data, r.count * bytes);
	value->tensor.count = r.count;
	if (value->fault)
		return skip_array(call, text, after);
	*after = at;
	return true;
}
