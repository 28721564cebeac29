/*
 * Bytes in, bytes out: the whole of normd without a socket.
 *
 * The server, the command line, the tests and the fuzzers all call api_call. An answer's body lies in the request's
 * arena (or is static) and lives until that arena is reset.
 */
#ifndef API_API_H
#define API_API_H

#include "core/arena.h"
#include "core/pool.h"

#include <stdbool.h>

struct api;

/* A limit or setting in force, as GET /version and error texts tell of it. */
struct api_setting {
	const char *name;   /* "max_body" */
	const char *flag;   /* "--max-body" */
	const char *unit;   /* "bytes", "elements", … */
	double value;
};

struct api_config {
	size_t max_body;      /* bytes of a request's body */
	size_t max_elements;  /* numbers in one request, and in any one tensor of an answer */
	size_t max_jacobian;  /* numbers of a dense Jacobian */
	size_t max_answer;    /* bytes of an answer */
	unsigned threads;     /* shown by /version */
	const struct api_setting *settings; /* all that /version lists, owned by the caller, lives as long as the api */
	size_t setting_count;
};

enum { API_MAX_HEADERS = 8 };

struct api_header {
	const char *name, *value;
};

struct api_request {
	const char *method;          /* "GET", "HEAD", "POST", "OPTIONS", … */
	const char *path;            /* decoded, without the query */
	bool pretty;                 /* ?pretty=1 */
	const char *content_type;    /* or NULL */
	const char *content_encoding;/* or NULL */
	const char *request_id;      /* goes into `instance` of errors; never NULL */
	const char *body;            /* may be NULL when body_len is 0 */
	size_t body_len;
	struct nc_arena *arena;      /* all memory of this request */
};

struct api_answer {
	int status;
	const char *content_type;
	const char *body;            /* in the arena or static; of a HEAD the same as of a GET: the server leaves it out */
	size_t body_len;
	struct api_header headers[API_MAX_HEADERS];  /* beyond Content-Type: Allow, Normd-Kernel, Server-Timing, Retry-After */
	unsigned header_count;
};

/* NULL when out of memory. pool (may be NULL) is used, not owned. */
struct api *api_create(const struct api_config *config, struct nc_pool *pool);
void api_destroy(struct api *api);

/* Whether GET /readyz says 200 or 503. Any thread. */
void api_set_ready(struct api *api, bool ready);

/*
 * Looks at a request before its body arrives: method, path, content type and encoding, and body_len as told by
 * Content-Length (0 when unknown). false: the answer (404, 405, 413, 415) is final and the body need not be read.
 */
bool api_admit(struct api *api, const struct api_request *request, struct api_answer *answer);

/*
 * Whether the answer may take long although the body is short, judged at a glance (a deep block, a dense Jacobian): the
 * server then computes it where it does not hold up others. Only for an admitted request; its body is complete.
 */
bool api_may_be_long(const struct api *api, const struct api_request *request);

/* Answers a request whose body is complete (it makes api_admit's checks too). Always fills the answer. Any thread. */
void api_call(struct api *api, const struct api_request *request, struct api_answer *answer);

/*
 * Fills an error answer as API section 9 has it, for what the server itself refuses: name is one of errors.def
 * ("bad_request", "unauthorized", "body_too_large", "draining", …), detail one sentence.
 */
void api_refuse(struct api *api, const struct api_request *request, const char *name, const char *detail,
                struct api_answer *answer);

#endif
