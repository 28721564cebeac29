/* The functions that answer (table: endpoints.def). */
#ifndef API_ENDPOINTS_H
#define API_ENDPOINTS_H

#include "call.h"

/*
 * Answers a call by writing one JSON value to out (or by setting call->page, for text that is static). false with the
 * call's problem set.
 */
typedef bool endpoint_fn(struct call *call, struct writer *out);

#define ENDPOINT(method, path, function) endpoint_fn function;
#include "endpoints.def"
#undef ENDPOINT

#endif
