/* The head of a request: the header fields that the server itself looks at, and what is wrong with them. */
#ifndef SERVER_HEAD_H
#define SERVER_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* HEAD_FIELD: name of the member, name of the header. */
#define HEAD_FIELDS(HEAD_FIELD)                                                                                        \
	HEAD_FIELD(host, "Host")                                                                                       \
	HEAD_FIELD(content_length, "Content-Length")                                                                   \
	HEAD_FIELD(transfer_encoding, "Transfer-Encoding")                                                             \
	HEAD_FIELD(content_type, "Content-Type")                                                                       \
	HEAD_FIELD(content_encoding, "Content-Encoding")                                                               \
	HEAD_FIELD(authorization, "Authorization")                                                                     \
	HEAD_FIELD(api_key, "X-API-Key")                                                                               \
	HEAD_FIELD(request_id, "X-Request-Id")                                                                         \
	HEAD_FIELD(traceparent, "traceparent")                                                                         \
	HEAD_FIELD(origin, "Origin")                                                                                   \
	HEAD_FIELD(preflight_method, "Access-Control-Request-Method")                                                  \
	HEAD_FIELD(preflight_private, "Access-Control-Request-Private-Network")

/* Values are borrowed from the HTTP library and live as long as its request; NULL when not sent, the first when sent twice. */
struct head {
#define HEAD_FIELD(member, name) const char *member;
	HEAD_FIELDS(HEAD_FIELD)
#undef HEAD_FIELD
	bool twice;      /* a second Host, Content-Length or Transfer-Encoding came */
	bool bad_name;   /* a name held what no name may hold, such as a space before the colon */
};

/* Takes in one header field. */
void head_add(struct head *head, const char *name, const char *value);

/*
 * NULL, or one sentence on why nobody can tell where this request's body ends or whom it is for: such requests are
 * answered 400 and their connection closed, since another server on the way may have read them otherwise (request smuggling).
 */
const char *head_fault(const struct head *head, bool http_1_1);

/* The body's length as told, 0 when there is none or it comes in chunks. Only after head_fault said NULL. */
size_t head_content_length(const struct head *head);

/* Whether the request brings the key, compared in constant time. */
bool head_has_key(const struct head *head, const char *key);

enum { HEAD_ID_MAX = 128, HEAD_TRACE_LENGTH = 32 };

/* The client's request id if it is sane (printable ASCII without spaces, at most HEAD_ID_MAX bytes), else NULL. */
const char *head_sane_id(const struct head *head);

/* The trace id of a well-formed traceparent, else "". */
void head_trace_id(const struct head *head, char trace[HEAD_TRACE_LENGTH + 1]);

/* An id of 16 hexadecimal digits, another for each count: the steps of splitmix64 from a random start. */
void head_make_id(uint64_t seed, uint64_t count, char id[HEAD_ID_MAX + 1]);

/* The path of a target in absolute form (http://host/path), which every server has to take; else url as it is. */
const char *head_path(const char *url);

/* The paths that orchestrators ask: answered without a key, while draining and beyond the limit of connections. */
bool head_is_health(const char *path);

#endif
