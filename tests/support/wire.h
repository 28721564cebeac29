/* A small HTTP client on a bare socket, which sends exactly what it is told: the tests' counterpart of the daemon. */
#ifndef TESTS_WIRE_H
#define TESTS_WIRE_H

#include <stdbool.h>
#include <stddef.h>

struct reply {
	int status;            /* 0: the connection ended, or nothing came for a long time */
	char *head, *body;     /* both NUL-terminated; freed by reply_free */
	size_t body_len;
	int interim;           /* how many "100 Continue" came before */
};

/* A connected socket that gives up after 60 silent seconds. */
int wire_connect(int port);

/* Sends all of it, or ends quietly when the other side has closed; whether all went. */
bool wire_send(int fd, const char *data, size_t length);
bool wire_print(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reads one answer; `no_body` for the answer to a HEAD. Never reads into the next answer. */
struct reply wire_read(int fd, bool no_body);

/* Whether the other side has closed, waiting for it for at most two seconds. Bytes that still come count as no. */
bool wire_closed(int fd);

/*
 * One request on a connection: headers are lines that each end in \r\n, or "". Content-Length is added when body is
 * not NULL.
 */
struct reply wire_call(int fd, const char *method, const char *path, const char *headers, const char *body);

/* The same on a connection of its own. */
struct reply wire_once(int port, const char *method, const char *path, const char *headers, const char *body);

/* The value of a header of the answer, copied into one of a few static buffers; NULL when it is not there. */
const char *reply_header(const struct reply *reply, const char *name);

void reply_free(struct reply *reply);

#endif
