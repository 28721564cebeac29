#include "problem.h"

#include "call.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	int status;
	const char *title;
} kinds[] = {
#define PROBLEM(name, status, title) {#name, status, title},
#include "errors.def"
#undef PROBLEM
};

const char problem_last_resort[] =
	"{\"type\":\"urn:normd:problem:out_of_memory\",\"title\":\"The memory of one request is used up\",\"status\":503,"
	"\"detail\":\"Send a smaller request, or start the server with more memory.\"}";

int problem_status(enum problem_kind kind)
{
	return kinds[kind].status;
}

enum problem_kind problem_find(const char *name)
{
	for (size_t i = 0; i < PROBLEM_KIND_COUNT; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return (enum problem_kind)i;
	return PROBLEM_internal;
}

/* Formats into the arena; NULL when memory is short. */
__attribute__((format(printf, 2, 0)))
static const char *format_text(struct nc_arena *arena, const char *format, va_list arguments)
{
	char fixed[512];
	va_list again;
	va_copy(again, arguments);
	int len = vsnprintf(fixed, sizeof fixed, format, again);
	va_end(again);
	if (len < 0)
		return NULL;
	char *text = nc_arena_alloc(arena, (size_t)len + 1);
	if (!text)
		return NULL;
	if ((size_t)len < sizeof fixed)
		memcpy(text, fixed, (size_t)len + 1);
	else
		vsnprintf(text, (size_t)len + 1, format, arguments);
	return text;
}

bool fail(struct call *call, enum problem_kind kind, const struct path *path, const char *expected, const char *got,
          const char *format, ...)
{
	if (call->problem.set)
		return false;
	va_list arguments;
	va_start(arguments, format);
	call->problem = (struct problem){
		.set = true,
		.kind = kind,
		.detail = format_text(call->arena, format, arguments),
		.pointer = path_pointer(call->arena, path),
		.expected = expected,
		.got = got,
	};
	va_end(arguments);
	return false;
}

bool fail_text(struct call *call, enum problem_kind kind, size_t offset, const char *format, ...)
{
	if (call->problem.set)
		return false;
	const char *text = call->request->body;
	size_t line = 1, column = 1;
	for (size_t i = 0; i < offset; i++) {
		if (text[i] == '\n') {
			line++;
			column = 1;
		} else if (((unsigned char)text[i] & 0xc0) != 0x80) {
			column++;
		}
	}
	va_list arguments;
	va_start(arguments, format);
	call->problem = (struct problem){
		.set = true,
		.kind = kind,
		.detail = format_text(call->arena, format, arguments),
		.placed = true,
		.line = line,
		.column = column,
		.offset = offset,
	};
	va_end(arguments);
	return false;
}

bool fail_memory(struct call *call)
{
	if (!call->problem.set)
		call->problem = (struct problem){
			.set = true,
			.kind = PROBLEM_out_of_memory,
			.detail = "Send a smaller request, or start the server with more memory.",
		};
	return false;
}

static const char *finish_text(struct writer *out)
{
	write_raw(out, "", 1);
	writer_finish(out);
	return out->failed ? NULL : out->base;
}

const char *text_of_shape(struct call *call, const size_t *shape, unsigned rank)
{
	struct writer out = writer_start(call->arena, false);
	write_sizes(&out, shape, rank);
	return finish_text(&out);
}

const char *text_of_string(struct call *call, const char *string)
{
	struct writer out = writer_start(call->arena, false);
	write_string(&out, string);
	return finish_text(&out);
}

const char *text_of_number(struct call *call, double value)
{
	struct writer out = writer_start(call->arena, false);
	write_number(&out, value);
	return finish_text(&out);
}

static void write_steps(struct writer *out, const struct path *path)
{
	if (!path)
		return;
	write_steps(out, path->up);
	write_raw(out, "/", 1);
	if (!path->key) {
		out->comma = false;
		write_size(out, path->index);
		return;
	}
	for (const char *c = path->key; *c; c++) {
		if (*c == '~')
			write_raw(out, "~0", 2);
		else if (*c == '/')
			write_raw(out, "~1", 2);
		else
			write_raw(out, c, 1);
	}
}

const char *path_pointer(struct nc_arena *arena, const struct path *path)
{
	struct writer out = writer_start(arena, false);
	write_steps(&out, path);
	return finish_text(&out);
}

void problem_write(const struct problem *problem, const char *instance, struct writer *out)
{
	const char *detail = problem->detail ? problem->detail : kinds[problem->kind].title;

	write_open(out, '{');
	write_key(out, "type");
	write_before_value(out);
	write_raw(out, "\"urn:normd:problem:", 19);
	write_raw(out, kinds[problem->kind].name, strlen(kinds[problem->kind].name));
	write_raw(out, "\"", 1);
	write_key(out, "title");
	write_string(out, kinds[problem->kind].title);
	write_key(out, "status");
	write_size(out, (size_t)kinds[problem->kind].status);
	write_key(out, "detail");
	write_string(out, detail);
	write_key(out, "instance");
	write_string(out, instance);
	if (problem->placed) {
		write_key(out, "line");
		write_size(out, problem->line);
		write_key(out, "column");
		write_size(out, problem->column);
		write_key(out, "offset");
		write_size(out, problem->offset);
	} else if (problem->pointer && (kinds[problem->kind].status == 400 || kinds[problem->kind].status == 422)) {
		write_key(out, "errors");
		write_open(out, '[');
		write_open(out, '{');
		write_key(out, "pointer");
		write_string(out, problem->pointer);
		write_key(out, "detail");
		write_string(out, detail);
		if (problem->expected) {
			write_key(out, "expected");
			write_json(out, problem->expected);
		}
		if (problem->got) {
			write_key(out, "got");
			write_json(out, problem->got);
		}
		write_close(out, '}');
		write_close(out, ']');
	}
	write_close(out, '}');
}
