/*
 * Calls the api without a socket, as a test wants it: one request, its status, its answer as JSON.
 *
 * A client owns its api and its arena; each call resets the arena and frees the answer before.
 */
#ifndef TESTS_API_CLIENT_H
#define TESTS_API_CLIENT_H

#include "api/api.h"

#include <jansson.h>

struct client {
	struct api_config config;
	struct api *api;
	struct nc_arena *arena;
	struct api_request request;   /* what the next call sends besides method, path and body */
	struct api_answer answer;
	json_t *json;                 /* the answer's body, or NULL when it is not JSON */
};

/* Roomy limits, no pool. Fails the running test when out of memory. */
struct client *client_open(void);
void client_close(struct client *client);

/* The same with limits of the caller's. */
struct client *client_open_with(const struct api_config *config, struct nc_pool *pool);

/* The limits that client_open takes. */
extern const struct api_config client_limits;

/* Makes a call; returns the status. */
int client_call(struct client *client, const char *method, const char *path, const char *body, size_t body_len);
int client_post(struct client *client, const char *path, const char *body);
int client_get(struct client *client, const char *path);

/* The value at a dotted path of the answer ("stats.rms", "errors.0.pointer"), or NULL. */
json_t *client_at(const struct client *client, const char *path);

/* The string there, "" when there is none. */
const char *client_text(const struct client *client, const char *path);

/* The number there, NaN when there is none. index steps into (nested) arrays: client_number(c, "y.0.1"). */
double client_number(const struct client *client, const char *path);

/* The value of an answer's header, or NULL. */
const char *client_header(const struct client *client, const char *name);

/* The value at a dotted path below root, or NULL. */
json_t *json_at(json_t *root, const char *path);

#endif
