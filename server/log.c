#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 2048, PATH_SHOWN = 512 };

static enum log_form log_form = LOG_TEXT;

void log_open(const char *form)
{
	log_form = strcmp(form, "text") == 0 ? LOG_TEXT : strcmp(form, "json") == 0 ? LOG_JSON : LOG_NONE;
}

/* Percent-encodes what could break a line, a JSON string or a terminal; cuts at the size of out. */
static const char *printable(const char *text, char *out, size_t size)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t n = 0;
	for (const unsigned char *c = (const unsigned char *)text; *c && n + 4 <= size; c++) {
		if (*c > ' ' && *c < 0x7f && *c != '"' && *c != '\\') {
			out[n++] = (char)*c;
		} else {
			out[n++] = '%';
			out[n++] = hex[*c >> 4];
			out[n++] = hex[*c & 15];
		}
	}
	out[n] = '\0';
	return out;
}

static const char *now(char text[40])
{
	struct timespec time;
	struct tm utc;
	clock_gettime(CLOCK_REALTIME, &time);
	gmtime_r(&time.tv_sec, &utc);
	size_t n = strftime(text, 40, "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(text + n, 40 - n, ".%03ldZ", time.tv_nsec / 1000000);
	return text;
}

static void write_line(const char *line, int length)
{
	if (length >= LINE_MAX_BYTES)
		length = LINE_MAX_BYTES - 1;
	if (length > 0 && write(STDERR_FILENO, line, (size_t)length) < 0)
		return; /* nowhere to tell of it */
}

void log_request(const struct log_line *line)
{
	char out[LINE_MAX_BYTES], time[40], method[32], path[PATH_SHOWN], id[160];
	if (log_form == LOG_NONE)
		return;
	now(time);
	printable(line->method, method, sizeof method);
	printable(line->path, path, sizeof path);
	printable(line->request_id, id, sizeof id);
	uint64_t us = line->nanoseconds / 1000;
	const char *form = log_form == LOG_JSON
		? "{\"time\":\"%s\",\"status\":%d,\"method\":\"%s\",\"path\":\"%s\",\"bytes_in\":%zu,\"bytes_out\":%zu,"
		  "\"ms\":%llu.%03u,\"request_id\":\"%s\",\"trace_id\":\"%s\",\"end\":\"%s\"}\n"
		: "%s %d %s %s in=%zu out=%zu ms=%llu.%03u id=%s trace=%s %s\n";
	/* both forms above take the same arguments in the same order */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	write_line(out, snprintf(out, sizeof out, form, time, line->status, method, path, line->bytes_in,
	                         line->bytes_out, (unsigned long long)(us / 1000), (unsigned)(us % 1000), id,
	                         *line->trace_id || log_form == LOG_JSON ? line->trace_id : "-", line->end));
#pragma GCC diagnostic pop
}

void log_event(const char *format, ...)
{
	char out[LINE_MAX_BYTES], time[40], sentence[1024], safe[1600];
	if (log_form == LOG_NONE)
		return;
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(sentence, sizeof sentence, format, arguments);
	va_end(arguments);
	now(time);
	if (log_form == LOG_TEXT) {
		write_line(out, snprintf(out, sizeof out, "%s normd: %s\n", time, sentence));
		return;
	}
	size_t n = 0;
	for (const char *c = sentence; *c && n + 2 < sizeof safe; c++) {
		if (*c == '"' || *c == '\\')
			safe[n++] = '\\';
		safe[n++] = (unsigned char)*c < ' ' ? ' ' : *c;
	}
	safe[n] = '\0';
	write_line(out, snprintf(out, sizeof out, "{\"time\":\"%s\",\"event\":\"%s\"}\n", time, safe));
}
