/* The line written for each request, and for the daemon's own events: one write(2) each, so that lines never mix. */
#ifndef SERVER_LOG_H
#define SERVER_LOG_H

#include <stddef.h>
#include <stdint.h>

enum log_form { LOG_TEXT, LOG_JSON, LOG_NONE };

struct log_line {
	const char *method, *path;     /* as the client sent them; what is not printable is percent-encoded here */
	int status;                    /* 0: no answer was begun */
	size_t bytes_in, bytes_out;    /* of the bodies */
	uint64_t nanoseconds;          /* from the request's head to the end of its answer */
	const char *request_id;
	const char *trace_id;          /* of traceparent, or "" */
	const char *end;               /* "done", or how it ended early: "timeout", "aborted", "stopped" */
};

/* Chosen once, before any thread starts. "text", "json" or "none"; anything else counts as none. */
void log_open(const char *form);

/* Any thread; never fails loudly: a log that cannot be written is no reason to refuse an answer. */
void log_request(const struct log_line *line);

/* An event of the daemon itself, one sentence. */
void log_event(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
