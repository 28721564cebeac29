#include "http.h"
#include "connections.h"
#include "cors.h"
#include "exchange.h"
#include "linger.h"
#include "priority.h"

#include <microhttpd.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	LARGE_BODY = 128 << 10,   /* bytes from which on a request is computed by the workers, not by the thread that read it */
	SURPLUS = 64,             /* connections beyond the limit that are still told so */
	CONNECTION_MEMORY = 16 << 10, /* for a head and a piece of a body: libmicrohttpd zeroes all of it after each request */
	SMALL_PAGES = 2 << 20,    /* bytes of an arena: beyond, the first touch of a page may take milliseconds */
	WARMED = 8 << 20,         /* bytes touched at a time, no more in case that the body never comes */
	SEND_BUFFER = 512 << 10,  /* of a socket: a poll thread passes an answer of megabytes on piece by piece */
	STOP_PATIENCE = 2000,     /* milliseconds that a client has for what it still sends when the daemon is to stop */
};

struct http {
	struct MHD_Daemon *daemon;
	const struct config *config;
	struct api *api;
	struct jobs *jobs;
	struct jobs *pages;               /* one thread that touches them: no body is to wait for another's computation */
	struct exchanges *exchanges;
	struct connections *connections;
	struct lingering *lingering;
	struct MHD_Response *exhausted;   /* when there is not even memory for a request */
	uint64_t id_seed;
	_Atomic size_t begun, ended;      /* requests */
	atomic_bool draining;
};

static const char queue_full[] = "as many large requests as --queue admits are under way; send this one again later";

static uint64_t nanoseconds(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static struct connection *connection_of(struct MHD_Connection *mhd)
{
	return MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static bool is_ready(struct http *http)
{
	return !http->draining && !jobs_full(http->jobs) &&
	       connections_count(http->connections) <= http->config->max_connections;
}

/* --- answers ----------------------------------------------------------------------------------------------------- */

static void add_cors(struct http *http, struct exchange *exchange, struct MHD_Response *response, int *status)
{
	const struct head *head = &exchange->head;
	if (cors_varies(http->config->cors_origin))
		MHD_add_response_header(response, "Vary", "Origin");
	const char *origin = cors_answer(http->config->cors_origin, head->origin);
	if (!origin)
		return;
	MHD_add_response_header(response, "Access-Control-Allow-Origin", origin);
	MHD_add_response_header(response, "Timing-Allow-Origin", origin);
	if (strcmp(exchange->request.method, "OPTIONS") != 0 || !head->preflight_method) {
		MHD_add_response_header(response, "Access-Control-Expose-Headers",
		                        "X-Request-Id, Server-Timing, Normd-Kernel, Retry-After, Inference-Header-Content-Length");
		return;
	}
	const char *allow = exchange_header(exchange, "Allow");
	if (!allow || *status >= 300)
		return;
	*status = 204;
	MHD_add_response_header(response, "Access-Control-Allow-Methods", allow);
	MHD_add_response_header(response, "Access-Control-Allow-Headers",
	                        "Content-Type, Authorization, X-API-Key, X-Request-Id, traceparent, "
	                        "Inference-Header-Content-Length");
	MHD_add_response_header(response, "Access-Control-Max-Age", "86400");
	if (head->preflight_private)
		MHD_add_response_header(response, "Access-Control-Allow-Private-Network", "true");
}

/* Queues the exchange's answer, whose body stays where it is until the request is completed. */
static enum MHD_Result send_answer(struct http *http, struct MHD_Connection *mhd, struct exchange *exchange)
{
	struct api_answer *answer = &exchange->answer;
	struct connection *connection = connection_of(mhd);
	struct MHD_Response *response = MHD_create_response_from_buffer(answer->body_len, (void *)(uintptr_t)answer->body,
	                                                                MHD_RESPMEM_PERSISTENT);
	if (!response)
		return MHD_NO;
	add_cors(http, exchange, response, &answer->status);
	if (answer->content_type && answer->status != MHD_HTTP_NO_CONTENT)
		MHD_add_response_header(response, "Content-Type", answer->content_type);
	MHD_add_response_header(response, "X-Request-Id", exchange->id);
	for (unsigned i = 0; i < answer->header_count; i++)
		MHD_add_response_header(response, answer->headers[i].name, answer->headers[i].value);
	if (answer->status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
	if (answer->status == MHD_HTTP_SERVICE_UNAVAILABLE && !exchange_header(exchange, "Retry-After"))
		MHD_add_response_header(response, "Retry-After", "1");
	if (exchange->close)
		MHD_add_response_header(response, "Connection", "close");
	if (connection)
		connections_send(http->connections, connection, answer->body_len);
	enum MHD_Result queued = MHD_queue_response(mhd, (unsigned)answer->status, response);
	MHD_destroy_response(response);
	return queued;
}

/* Fills the answer with a refusal; returns false. */
static bool deny(struct http *http, struct exchange *exchange, const char *name, const char *detail)
{
	api_refuse(http->api, &exchange->request, name, detail, &exchange->answer);
	return false;
}

static enum MHD_Result refuse(struct http *http, struct MHD_Connection *mhd, struct exchange *exchange, const char *name,
                              const char *detail)
{
	deny(http, exchange, name, detail);
	return send_answer(http, mhd, exchange);
}

/* --- a request's head -------------------------------------------------------------------------------------------- */

static enum MHD_Result take_value(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct exchange *exchange = context;
	if (kind == MHD_HEADER_KIND)
		head_add(&exchange->head, name, value);
	else if (value && strcmp(name, "pretty") == 0)
		exchange->request.pretty = strcmp(value, "1") == 0 || strcmp(value, "true") == 0;
	return MHD_YES;
}

static void read_head(struct http *http, struct MHD_Connection *mhd, struct exchange *exchange, const char *url,
                      const char *method, size_t number)
{
	struct head *head = &exchange->head;
	struct api_request *request = &exchange->request;
	MHD_get_connection_values(mhd, MHD_HEADER_KIND | MHD_GET_ARGUMENT_KIND, take_value, exchange);
	const char *id = head_sane_id(head);
	if (id)
		strcpy(exchange->id, id);
	else
		head_make_id(http->id_seed, number, exchange->id);
	head_trace_id(head, exchange->trace);
	request->method = method;
	request->path = head_path(url);
	request->content_type = head->content_type;
	request->content_encoding = head->content_encoding;
	request->request_id = exchange->id;
	request->arena = exchange->arena;
}

/* Makes room for the body: as much as it says that it has, or as much as is allowed when it comes in chunks. */
static bool make_room(struct http *http, struct exchange *exchange, size_t length)
{
	if (length >= LARGE_BODY && !(exchange->place = jobs_reserve(http->jobs)))
		return deny(http, exchange, "overloaded", queue_full);
	size_t touched = nc_arena_touched(exchange->arena);
	exchange->room = length ? length : http->config->max_body;
	exchange->warm = (touched > SMALL_PAGES ? touched : SMALL_PAGES) - nc_arena_mark(exchange->arena);
	exchange->body = nc_arena_alloc(exchange->arena, exchange->room);
	return exchange->body || deny(http, exchange, "out_of_memory", "there is no memory for this body; send it again later");
}

/* Whether the request may go on to its body, of so many bytes or 0; if not, its answer is filled. */
static bool admit(struct http *http, const struct connection *connection, struct exchange *exchange, size_t length)
{
	struct api_request *request = &exchange->request;
	const struct head *head = &exchange->head;
	if (head_is_health(request->path)) {
		api_set_ready(http->api, is_ready(http));
	} else {
		bool preflight = head->preflight_method && strcmp(request->method, "OPTIONS") == 0;
		exchange->close = http->draining || !connection || connection->surplus;
		if (http->draining)
			return deny(http, exchange, "draining", "this server is shutting down; send the request again, or to another");
		if (exchange->close)
			return deny(http, exchange, "overloaded",
			            "as many connections as --max-connections allows are open; try again later");
		if (*http->config->api_key && !preflight && !head_has_key(head, http->config->api_key))
			return deny(http, exchange, "unauthorized", "send the key that this server was started with, as "
			                                            "Authorization: Bearer KEY or X-API-Key: KEY");
	}
	request->body_len = length;
	bool admitted = api_admit(http->api, request, &exchange->answer);
	request->body_len = 0;
	return admitted && (!exchange->unread || make_room(http, exchange, length));
}

static enum MHD_Result begin(struct http *http, struct MHD_Connection *mhd, const char *url, const char *method,
                             const char *version, void **context)
{
	struct exchange *exchange = exchanges_take(http->exchanges);
	if (!exchange)
		return MHD_queue_response(mhd, MHD_HTTP_SERVICE_UNAVAILABLE, http->exhausted);
	*context = exchange;
	size_t number = ++http->begun;
	exchange->begun = nanoseconds();
	exchange->awaited = exchange->begun / 1000000;
	exchange->owner = http;
	exchange->connection = mhd;
	read_head(http, mhd, exchange, url, method, number);

	const char *fault = head_fault(&exchange->head, strcmp(version, "HTTP/1.0") != 0);
	size_t length = fault ? 0 : head_content_length(&exchange->head);
	exchange->unread = fault || exchange->head.transfer_encoding || length;
	if (fault)
		exchange->close = !deny(http, exchange, "bad_request", fault);
	else if (admit(http, connection_of(mhd), exchange, length))
		return MHD_YES;
	/* libmicrohttpd closes a connection that is answered here, so only a request with a body is: it need not be sent */
	if (exchange->unread)
		return send_answer(http, mhd, exchange);
	exchange->answered = true;
	return MHD_YES;
}

/* --- its body and its computation ---------------------------------------------------------------------------------- */

/* From here on the body is read to nowhere, since no answer can be given while it arrives. */
static void give_up_on(struct exchange *exchange, const char *refusal, const char *detail)
{
	exchange->refusal = refusal;
	exchange->detail = detail;
}

static struct exchange *exchange_of(struct job *job)
{
	return (struct exchange *)(void *)((char *)job - offsetof(struct exchange, job));
}

/* Hands the exchange to another thread, which resumes it. */
static void submit(struct jobs *jobs, struct MHD_Connection *mhd, struct exchange *exchange, void (*run)(struct job *job))
{
	struct connection *connection = connection_of(mhd);
	if (connection)
		connections_hold(connection);
	MHD_suspend_connection(mhd);
	exchange->job.run = run;
	jobs_submit(jobs, &exchange->job);
}

/* On a thread of its own: fresh pages for what is still to come, which would hold up a poll thread's other connections. */
static void warm_room(struct job *job)
{
	enum { PAGE = 4096 };
	struct exchange *exchange = exchange_of(job);
	struct http *http = exchange->owner;
	struct connection *connection = connection_of(exchange->connection);
	size_t left = exchange->room - exchange->warm, end = exchange->warm + (left < WARMED ? left : WARMED);
	for (; exchange->warm < end; exchange->warm += PAGE)
		exchange->body[exchange->warm] = 0;
	exchange->awaited = connections_now();
	if (connection)
		connections_receive(http->connections, connection, exchange->awaited, exchange->request.body_len);
	MHD_resume_connection(exchange->connection);
}

/* false: the connection is to be closed without an answer, since the body goes on and on. */
static bool receive(struct http *http, struct MHD_Connection *mhd, struct exchange *exchange, const char *data,
                    size_t length)
{
	struct connection *connection = connection_of(mhd);
	struct api_request *request = &exchange->request;
	if (!exchange->refusal && length > exchange->room - request->body_len)
		give_up_on(exchange, "body_too_large", "the body is larger than --max-body allows");
	if (!exchange->refusal && !exchange->place && request->body_len + length >= LARGE_BODY &&
	    !(exchange->place = jobs_reserve(http->jobs)))
		give_up_on(exchange, "overloaded", queue_full);
	if (exchange->refusal) {
		exchange->discarded += length;
	} else {
		memcpy(exchange->body + request->body_len, data, length);
		request->body_len += length;
	}
	if (connection)
		connections_receive(http->connections, connection, exchange->awaited,
		                    request->body_len + exchange->discarded);
	exchange->unread = exchange->discarded <= http->config->max_body;
	if (exchange->place && !exchange->refusal && request->body_len + CONNECTION_MEMORY > exchange->warm &&
	    exchange->warm < exchange->room)
		submit(http->pages, mhd, exchange, warm_room);
	return exchange->unread;
}

/* On a worker's thread. The exchange is not ours any more once the connection is resumed. */
static void run_job(struct job *job)
{
	struct exchange *exchange = exchange_of(job);
	struct http *http = exchange->owner;
	api_call(http->api, &exchange->request, &exchange->answer);
	exchange->answered = true;
	MHD_resume_connection(exchange->connection);
}

static enum MHD_Result complete(struct http *http, struct MHD_Connection *mhd, struct exchange *exchange)
{
	struct api_request *request = &exchange->request;
	exchange->unread = false;
	if (exchange->refusal)
		return refuse(http, mhd, exchange, exchange->refusal, exchange->detail);
	if (exchange->body) {
		nc_arena_trim(exchange->arena, exchange->body, request->body_len);
		request->body = exchange->body;
	}
	if (!exchange->place && api_may_be_long(http->api, request) && !(exchange->place = jobs_reserve(http->jobs)))
		return refuse(http, mhd, exchange, "overloaded", queue_full);
	if (!exchange->place) {
		api_call(http->api, request, &exchange->answer);
		return send_answer(http, mhd, exchange);
	}
	submit(http->jobs, mhd, exchange, run_job);
	return MHD_YES;
}

/* --- what libmicrohttpd calls ---------------------------------------------------------------------------------------- */

/* Called with a request's head, then with each piece of its body, then once it is complete, and again after a resume. */
static enum MHD_Result on_request(void *cls, struct MHD_Connection *mhd, const char *url, const char *method,
                                  const char *version, const char *upload, size_t *upload_length, void **context)
{
	struct http *http = cls;
	struct exchange *exchange = *context;
	if (!exchange)
		return begin(http, mhd, url, method, version, context);
	if (*upload_length) {
		bool going_on = receive(http, mhd, exchange, upload, *upload_length);
		*upload_length = 0;
		return going_on ? MHD_YES : MHD_NO;
	}
	if (exchange->answered)
		return send_answer(http, mhd, exchange);
	return complete(http, mhd, exchange);
}

static const char *end_of(const struct connection *connection, enum MHD_RequestTerminationCode reason)
{
	if (reason == MHD_REQUEST_TERMINATED_COMPLETED_OK)
		return "done";
	if (reason == MHD_REQUEST_TERMINATED_TIMEOUT_REACHED || (connection && connection->cut))
		return "timeout";
	return reason == MHD_REQUEST_TERMINATED_DAEMON_SHUTDOWN ? "stopped" : "aborted";
}

/* The answer has been sent, or never will be: the last that is heard of a request. */
static void on_completed(void *cls, struct MHD_Connection *mhd, void **context, enum MHD_RequestTerminationCode reason)
{
	struct http *http = cls;
	struct exchange *exchange = *context;
	struct connection *connection = connection_of(mhd);
	if (connection)
		connections_receive(http->connections, connection, connections_now(), 0);
	if (!exchange)
		return;
	*context = NULL;
	if (connection)
		connection->linger = exchange->unread;
	exchange_log(exchange, nanoseconds() - exchange->begun, end_of(connection, reason));
	if (exchange->place)
		jobs_release(http->jobs);
	exchanges_give(http->exchanges, exchange);
	http->ended++;
}

/* A request line has arrived. Its value becomes the request's context, which begin makes. */
static void *on_request_line(void *cls, const char *uri, struct MHD_Connection *mhd)
{
	struct http *http = cls;
	struct connection *connection = connection_of(mhd);
	(void)uri;
	if (connection)
		connections_receive(http->connections, connection, connections_now(), 0);
	return NULL;
}

static void on_connection(void *cls, struct MHD_Connection *mhd, void **context, enum MHD_ConnectionNotificationCode what)
{
	struct http *http = cls;
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		*context = connections_add(http->connections,
		                           MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
		return;
	}
	struct connection *connection = *context;
	if (!connection)
		return;
	if (connection->linger)
		linger_add(http->lingering, connection->fd);
	connections_remove(http->connections, connection);
	*context = NULL;
}

/* --- start and stop --------------------------------------------------------------------------------------------------- */

/* Whether the system grants a request its addresses, which limits set too high would ask too many of. */
static bool memory_suffices(struct http *http)
{
	struct exchange *exchange = exchanges_take(http->exchanges);
	if (exchange)
		exchanges_give(http->exchanges, exchange);
	return exchange;
}

static bool start_daemon(struct http *http)
{
	unsigned threads = (unsigned)http->config->poll_threads;
	unsigned limit = (unsigned)(http->config->max_connections + 2 * SURPLUS) * threads; /* any one thread may get them all */
	priority_prompt(); /* of the poll threads, which keep it; main, too, only accepts */
	http->daemon = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET,
		0, NULL, NULL, on_request, http, MHD_OPTION_NOTIFY_COMPLETED, on_completed, http, MHD_OPTION_NOTIFY_CONNECTION,
		on_connection, http, MHD_OPTION_URI_LOG_CALLBACK, on_request_line, http, MHD_OPTION_CONNECTION_LIMIT, limit,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)http->config->timeout, MHD_OPTION_THREAD_POOL_SIZE,
		threads > 1 ? threads : 0, MHD_OPTION_END);
	return http->daemon;
}

struct http *http_start(const struct config *config, struct api *api)
{
	static char exhausted[] = "{\"type\":\"urn:normd:problem:out_of_memory\",\"title\":\"The server is out of memory\","
				  "\"status\":503,\"detail\":\"There is no memory for this request; send it again later.\"}\n";
	struct http *http = calloc(1, sizeof *http);
	if (!http)
		return NULL;
	http->config = config;
	http->api = api;
	if (getrandom(&http->id_seed, sizeof http->id_seed, 0) != sizeof http->id_seed)
		http->id_seed = nanoseconds();
	http->jobs = jobs_create((unsigned)config->threads, config->queue);
	http->pages = jobs_create(1, 0);
	http->exchanges = exchanges_create(config_arena_bytes(config), config->keep_memory);
	http->connections = connections_create(config->max_connections, config->timeout * 1000);
	http->lingering = linger_create();
	http->exhausted = MHD_create_response_from_buffer(sizeof exhausted - 1, exhausted, MHD_RESPMEM_PERSISTENT);
	if (http->jobs && http->pages && http->exchanges && http->connections && http->lingering && http->exhausted &&
	    memory_suffices(http) &&
	    MHD_add_response_header(http->exhausted, "Content-Type", "application/problem+json") == MHD_YES &&
	    MHD_add_response_header(http->exhausted, "Retry-After", "1") == MHD_YES && start_daemon(http))
		return http;
	http_stop(http);
	return NULL;
}

void http_add(struct http *http, int fd)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof address;
	if (connections_count(http->connections) >= http->config->max_connections + SURPLUS ||
	    getpeername(fd, (struct sockaddr *)&address, &length) != 0) {
		close(fd);
		return;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){SEND_BUFFER}, sizeof(int));
	MHD_add_connection(http->daemon, fd, (const struct sockaddr *)&address, length); /* closes fd when it fails */
}

void http_sweep(struct http *http)
{
	connections_sweep(http->connections);
}

void http_drain(struct http *http)
{
	http->draining = true;
	connections_hurry(http->connections, STOP_PATIENCE);
}

size_t http_in_flight(const struct http *http)
{
	size_t ended = http->ended; /* looked at first, so that none is missed */
	return http->begun - ended;
}

bool http_hang_up(struct http *http)
{
	return connections_shut(http->connections) == 0;
}

void http_stop(struct http *http)
{
	if (!http)
		return;
	if (http->daemon)
		MHD_stop_daemon(http->daemon);
	if (http->exhausted)
		MHD_destroy_response(http->exhausted);
	linger_destroy(http->lingering);
	jobs_destroy(http->jobs);
	jobs_destroy(http->pages);
	connections_destroy(http->connections);
	exchanges_destroy(http->exchanges);
	free(http);
}
