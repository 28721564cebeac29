#include "json_lift.h"

#include "base64.h"
#include "../call.h"
#include "json_lift_array.h"
#include "json_number.h"
#include "json_string.h"
#include "json_text.h"

/* What the grammar allows next. */
enum state { VALUE, VALUE_OR_CLOSE, KEY, KEY_OR_CLOSE, COLON, COMMA_OR_CLOSE, DONE };

static const char *const wanted[] = {
	[VALUE] = "a value", [VALUE_OR_CLOSE] = "a value or ]", [KEY] = "a key in double quotes",
	[KEY_OR_CLOSE] = "a key in double quotes or }", [COLON] = "a colon", [COMMA_OR_CLOSE] = "a comma or a closing bracket",
	[DONE] = "the end of the body",
};

struct level {
	bool object;
	const char *key;    /* the latest key, its bytes between the quotes */
	size_t key_len;
};

struct walker {
	struct call *call;
	struct lift *lift;
	struct writer envelope;
	const char *copied;   /* the body up to here is in the envelope */
	unsigned depth;
	struct level levels[LIFT_MAX_DEPTH + 1];
};

/* The dtype that the field at hand is likely to have; a flat tensor's numbers stand one object deeper than its key. */
static enum nc_dtype guess_dtype(const struct walker *w)
{
	static const char *const param_keys[] = {"gain", "gamma", "weight", "bias", "beta", "gain_q", "gain_k"};
	unsigned depth = w->depth;

	while (depth && !w->levels[depth].object)
		depth--;
	const struct level *level = &w->levels[depth];
	if (!depth || !level->key || json_is(level->key, level->key_len, "shape") || json_is(level->key, level->key_len, "axes"))
		return NC_FLOAT64;
	if (depth > 1 && json_is(level->key, level->key_len, "data"))
		level--;
	if (!level->key)
		return w->lift->options.dtype;
	for (size_t i = 0; i < sizeof param_keys / sizeof *param_keys; i++)
		if (json_is(level->key, level->key_len, param_keys[i]))
			return w->lift->options.param_dtype;
	if (level->key_len > 2 && level->key[1] == '_' && (level->key[0] == 'w' || level->key[0] == 'b'))
		return w->lift->options.param_dtype;
	return w->lift->options.dtype;
}

/* Room for one more value. */
static struct lifted *next_value(struct call *call)
{
	struct lift *lift = &call->lift;

	if (lift->count == LIFT_MAX_VALUES) {
		fail(call, PROBLEM_limit_exceeded, NULL, text_of_number(call, LIFT_MAX_VALUES), NULL,
		     "the body holds more than %d separate numbers and arrays: put numbers that belong together into one array",
		     LIFT_MAX_VALUES);
		return NULL;
	}
	if (lift->count == lift->capacity) {
		size_t capacity = lift->capacity ? 2 * lift->capacity : 16;
		struct lifted *values = nc_arena_array(call->arena, capacity, sizeof *values);
		if (!values) {
			fail_memory(call);
			return NULL;
		}
		if (lift->count)
			memcpy(values, lift->values, lift->count * sizeof *values);
		lift->values = values;
		lift->capacity = capacity;
	}
	struct lifted *value = &lift->values[lift->count];
	value->fault = LIFT_FINE;
	value->bytes = false;
	value->depth = 0;
	return value;
}

/* The envelope goes on with the body from `to`: what lies before is in it, or left out. */
static bool go_on_from(struct walker *w, const char *to)
{
	struct lift *lift = w->lift;
	struct writer *out = &w->envelope;

	if (lift->shift_count == lift->shift_capacity) {
		size_t capacity = lift->shift_capacity ? 2 * lift->shift_capacity : 16;
		struct lift_shift *shifts = nc_arena_array(w->call->arena, capacity, sizeof *shifts);
		if (!shifts)
			return fail_memory(w->call);
		if (lift->shift_count)
			memcpy(shifts, lift->shifts, lift->shift_count * sizeof *shifts);
		lift->shifts = shifts;
		lift->shift_capacity = capacity;
	}
	if (out->failed)
		return fail_memory(w->call);
	w->copied = to;
	lift->shifts[lift->shift_count++] = (struct lift_shift){
		.envelope = (size_t)(out->at - out->base),
		.shift = (size_t)(to - lift->text) - (size_t)(out->at - out->base),
	};
	return true;
}

/* Writes the mark of the value that stood from `from` to `to` in the body. */
static bool leave_mark(struct walker *w, const char *from, const char *to)
{
	struct writer *out = &w->envelope;

	write_raw(out, w->copied, (size_t)(from - w->copied));
	out->comma = false;
	write_sizes(out, &w->lift->count, 1);
	w->lift->count++;
	return go_on_from(w, to);
}

/* To the next token. What jansson need not read again, a byte at a time, is left out of the envelope. */
static bool skip_space(struct walker *w, const char **at)
{
	enum { LONG_SPACE = 256 };
	const char *from = *at;

	*at = json_skip_space(from, w->lift->end);
	if (*at - from < LONG_SPACE)
		return true;
	write_raw(&w->envelope, w->copied, (size_t)(from + 1 - w->copied));
	return go_on_from(w, *at);
}

static bool too_deep(struct walker *w, const char *at)
{
	return fail_text(w->call, PROBLEM_too_deep, (size_t)(at - w->lift->text), "the body is nested deeper than %d levels",
	                 LIFT_MAX_DEPTH);
}

/* Reads one number of rank 0 as dtype. */
static bool read_number(struct call *call, const char *at, enum nc_dtype dtype, struct lifted *value, const char **after)
{
	value->text = at;
	value->tensor = (struct nc_tensor){.dtype = dtype, .count = 1};
	switch (json_read_number(at, call->lift.end, dtype, &value->number, after)) {
	case JSON_NUMBER_OK:
		break;
	case JSON_NUMBER_RANGE:
		value->fault = LIFT_RANGE;
		value->place = at;
		/* The syntax is sound: its end is where no number goes on. */
		for (*after = at; *after < call->lift.end && strchr("+-.0123456789eE", **after) && **after; ++*after)
			;
		break;
	default:
		return lift_syntax(call, *after, "a number");
	}
	return true;
}

static bool walk_number(struct walker *w, const char **at)
{
	const char *from = *at;
	struct lifted *value = next_value(w->call);

	if (!value || !read_number(w->call, from, NC_FLOAT64, value, at))
		return false;
	w->lift->elements++;
	return leave_mark(w, from, *at);
}

static bool walk_array(struct walker *w, const char **at, unsigned rank)
{
	const char *from = *at;

	if (w->depth + rank > LIFT_MAX_DEPTH)
		return too_deep(w, from);
	size_t most = w->lift->options.max_elements, limit = most > w->lift->elements ? most - w->lift->elements : 0;
	struct lifted *value = next_value(w->call);
	if (!value || !lift_array(w->call, from, rank, guess_dtype(w), w->lift->options.strings, limit, value, at))
		return false;
	w->lift->elements += value->tensor.count;
	return leave_mark(w, from, *at);
}

/* The text of a "base64" key, from behind its opening quote to its closing one. */
static bool walk_base64(struct walker *w, const char *text, const char *close)
{
	size_t len = (size_t)(close - text);
	struct lifted *value = next_value(w->call);

	if (!value)
		return false;
	value->text = text - 1;
	value->bytes = true;
	size_t room = base64_decoded_max(len);
	unsigned char *data = nc_arena_alloc(w->call->arena, room);
	if (!data)
		return fail_memory(w->call);
	if (memchr(text, '\\', len)) { /* some programs write "\/" for a slash */
		char *plain = nc_arena_alloc(w->call->arena, len);
		if (!plain)
			return fail_memory(w->call);
		size_t n = 0;
		for (size_t i = 0; i < len; i++)
			if (text[i] != '\\' || i + 1 == len || text[i + 1] != '/')
				plain[n++] = text[i];
		text = plain;
		len = n;
	}
	value->tensor = (struct nc_tensor){.rank = 1, .data = data};
	if (!base64_decode(text, len, data, &value->tensor.count))
		value->fault = LIFT_BASE64;
	value->tensor.shape[0] = value->tensor.count;
	nc_arena_trim(w->call->arena, data, value->tensor.count);
	return leave_mark(w, value->text, close + 1);
}

/* A string from its opening quote; as a key, it is remembered. */
static bool walk_string(struct walker *w, const char **at, bool key)
{
	struct level *level = &w->levels[w->depth];
	const char *text = *at + 1, *close = json_string_end(text, w->lift->end);

	if (!close)
		return fail_text(w->call, PROBLEM_bad_json, (size_t)(*at - w->lift->text), "a string is not closed");
	*at = close + 1;
	if (!key && level->object && json_is(level->key, level->key_len, "base64"))
		return walk_base64(w, text, close);
	const char *what, *fault = json_string_fault(text, close, &what);
	if (fault)
		return fail_text(w->call, PROBLEM_bad_json, (size_t)(fault - w->lift->text), "%s", what);
	if (key) {
		level->key = text;
		level->key_len = (size_t)(close - text);
	}
	return true;
}

static bool walk_word(struct walker *w, const char **at, const char *want)
{
	static const char *const words[] = {"true", "false", "null"};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t len = strlen(words[i]);
		if ((size_t)(w->lift->end - *at) >= len && memcmp(*at, words[i], len) == 0) {
			*at += len;
			return true;
		}
	}
	return lift_syntax(w->call, *at, want);
}

/* Opens an array or object that stays in the envelope. */
static bool walk_open(struct walker *w, const char *at)
{
	if (w->depth == LIFT_MAX_DEPTH)
		return too_deep(w, at);
	w->levels[++w->depth] = (struct level){.object = *at == '{'};
	return true;
}

static bool walk_value(struct walker *w, const char **at, enum state *state)
{
	unsigned rank;
	enum state wants = *state;

	*state = COMMA_OR_CLOSE;
	if (json_starts_number(**at))
		return walk_number(w, at);
	if (**at == '"')
		return walk_string(w, at, false);
	if (**at == '[' && lift_look(*at, w->lift->end, w->lift->options.strings, &rank) == ARRAY_NUMBERS)
		return walk_array(w, at, rank);
	if (**at == '[' || **at == '{') {
		*state = **at == '[' ? VALUE_OR_CLOSE : KEY_OR_CLOSE;
		if (!walk_open(w, *at))
			return false;
		++*at;
		return true;
	}
	return walk_word(w, at, wanted[wants]);
}

/* One token from *at, which is not the end. */
static bool walk_token(struct walker *w, const char **at, enum state *state)
{
	bool object = w->levels[w->depth].object;
	char c = **at;

	if ((*state == VALUE_OR_CLOSE || *state == KEY_OR_CLOSE || *state == COMMA_OR_CLOSE) && c == (object ? '}' : ']')) {
		w->depth--;
		++*at;
		*state = COMMA_OR_CLOSE;
		return true;
	}
	switch (*state) {
	case VALUE:
	case VALUE_OR_CLOSE:
		return walk_value(w, at, state);
	case KEY:
	case KEY_OR_CLOSE:
		if (c != '"')
			break;
		*state = COLON;
		return walk_string(w, at, true);
	case COLON:
		if (c != ':')
			break;
		++*at;
		*state = VALUE;
		return true;
	case COMMA_OR_CLOSE:
		if (c != ',')
			break;
		++*at;
		*state = object ? KEY : VALUE;
		return true;
	case DONE:
		break;
	}
	return lift_syntax(w->call, *at, wanted[*state]);
}

bool lift_body(struct call *call)
{
	struct lift *lift = &call->lift;
	struct walker w; /* its levels are set as they are opened */
	w.call = call;
	w.lift = lift;
	w.envelope = writer_start(call->arena, false);
	w.copied = call->request->body;
	w.depth = 0;
	w.levels[0] = (struct level){0};
	enum state state = VALUE;

	lift->text = call->request->body;
	lift->end = lift->text + call->request->body_len;
	const char *at = lift->text;
	if (!skip_space(&w, &at))
		return false;
	if (at == lift->end)
		return fail_text(call, PROBLEM_bad_json, (size_t)(at - lift->text), "the body is empty: send a JSON object");
	while (at < lift->end) {
		if (!walk_token(&w, &at, &state) || !skip_space(&w, &at))
			return false;
		if (w.depth == 0 && state == COMMA_OR_CLOSE)
			state = DONE;
	}
	if (state != DONE)
		return lift_syntax(call, at, wanted[state]);
	write_raw(&w.envelope, w.copied, (size_t)(lift->end - w.copied));
	if (w.envelope.failed)
		return fail_memory(call);
	lift->envelope = w.envelope.base;
	lift->envelope_len = (size_t)(w.envelope.at - w.envelope.base);
	return true;
}

size_t lift_origin(const struct lift *lift, size_t position)
{
	size_t shift = 0;

	for (size_t i = 0; i < lift->shift_count && lift->shifts[i].envelope <= position; i++)
		shift = lift->shifts[i].shift;
	size_t len = (size_t)(lift->end - lift->text);
	return position + shift < len ? position + shift : len;
}

const struct lifted *lift_take(struct call *call, size_t k, enum nc_dtype dtype)
{
	struct lifted *value = &call->lift.values[k];
	const char *after;
	unsigned rank;
	bool retry = value->tensor.dtype != dtype;

	if (value->bytes)
		return value;
	if (value->tensor.rank == 0) {
		if (!retry)
			return value;
		value->fault = LIFT_FINE;
		if (!read_number(call, value->text, dtype, value, &after))
			return NULL;
		return value;
	}
	/* nonfinite may have been overlooked too: its key can be spelled with escapes, or its default differ. */
	if (call->strings != call->lift.options.strings && value->fault == LIFT_NONFINITE)
		retry = true;
	if (retry && (!value->fault || value->fault == LIFT_NONFINITE || value->fault == LIFT_RANGE)) {
		size_t limit = call->lift.options.max_elements;
		lift_look(value->text, call->lift.end, true, &rank);
		value->fault = LIFT_FINE;
		if (!lift_array(call, value->text, rank, dtype, call->strings, limit, value, &after))
			return NULL;
	}
	return value;
}
