/* One request on its way through the api: what every part of it shares. Internal to api/. */
#ifndef API_CALL_H
#define API_CALL_H

#include "api.h"
#include "json/json_lift.h"
#include "problem.h"

#include <stdatomic.h>

/* How tensors are written in an answer. */
enum tensor_form { FORM_NESTED, FORM_FLAT, FORM_BASE64 };

struct api {
	struct api_config config;
	struct nc_pool *pool;
	atomic_bool ready;
};

struct call {
	struct api *api;
	const struct api_request *request;
	struct nc_arena *arena;
	struct problem problem;

	struct lift lift;                     /* the numbers of the body */
	struct json_t *root;                  /* the rest of it: an object */
	enum nc_dtype dtype, param_dtype;     /* the request's, read before any other field */
	bool form_given;                      /* the request asks for a form */
	enum tensor_form form;                /* of the answer's tensors: that of x unless form_given */
	bool strings;                         /* nonfinite is "string" */

	const char *allow;                    /* methods of the path */
	int status;                           /* of the answer, 200 unless the endpoint says otherwise */
	const char *content_type;
	const char *page;                     /* a static body instead of what was written, or NULL */
	size_t page_len;
	double parse_end, compute_end;        /* seconds on the monotonic clock, for Server-Timing */
};

/* A limit's flag as the user knows it ("--max-elements"), for error texts; name is "max_elements". */
const char *call_flag(const struct call *call, const char *name);

/* Marks the end of the computation for Server-Timing; the rest of the call's time counts as printing. */
void call_computed(struct call *call);

#endif
