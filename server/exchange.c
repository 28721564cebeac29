#include "exchange.h"
#include "log.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { FLOOR = 2 << 20, MOST_IDLE = 64 };

struct exchanges {
	pthread_mutex_t lock;
	struct exchange *idle;      /* the latest first */
	size_t idle_count;
	size_t kept, keep;          /* bytes: held by the idle ones, and the most that they may hold */
	size_t arena_bytes;
};

struct exchanges *exchanges_create(size_t arena_bytes, size_t keep)
{
	struct exchanges *exchanges = calloc(1, sizeof *exchanges);
	if (!exchanges)
		return NULL;
	pthread_mutex_init(&exchanges->lock, NULL);
	exchanges->arena_bytes = arena_bytes;
	exchanges->keep = keep;
	return exchanges;
}

static void destroy(struct exchange *exchange)
{
	nc_arena_destroy(exchange->arena);
	free(exchange);
}

void exchanges_destroy(struct exchanges *exchanges)
{
	if (!exchanges)
		return;
	while (exchanges->idle) {
		struct exchange *exchange = exchanges->idle;
		exchanges->idle = exchange->next;
		destroy(exchange);
	}
	pthread_mutex_destroy(&exchanges->lock);
	free(exchanges);
}

struct exchange *exchanges_take(struct exchanges *exchanges)
{
	pthread_mutex_lock(&exchanges->lock);
	struct exchange *exchange = exchanges->idle;
	if (exchange) {
		exchanges->idle = exchange->next;
		exchanges->idle_count--;
		exchanges->kept -= exchange->kept;
	}
	pthread_mutex_unlock(&exchanges->lock);
	if (!exchange) {
		exchange = calloc(1, sizeof *exchange);
		if (!exchange)
			return NULL;
		exchange->arena = nc_arena_create(exchanges->arena_bytes);
		if (!exchange->arena) {
			free(exchange);
			return NULL;
		}
	}
	const size_t fresh = offsetof(struct exchange, request);
	memset((char *)exchange + fresh, 0, sizeof *exchange - fresh);
	return exchange;
}

/* Its arena emptied; the lock is held. */
static void push_idle(struct exchanges *exchanges, struct exchange *exchange)
{
	exchange->next = exchanges->idle;
	exchanges->idle = exchange;
}

void exchanges_give(struct exchanges *exchanges, struct exchange *exchange)
{
	size_t touched = nc_arena_touched(exchange->arena);

	pthread_mutex_lock(&exchanges->lock);
	bool surplus = exchanges->idle_count >= MOST_IDLE;
	size_t left = exchanges->keep > exchanges->kept ? exchanges->keep - exchanges->kept : 0;
	exchange->kept = left < FLOOR ? FLOOR : left;
	if (exchange->kept > touched)
		exchange->kept = touched;
	bool keeps_all = exchange->kept == touched;
	if (!surplus) {
		exchanges->kept += exchange->kept;
		exchanges->idle_count++;
		if (keeps_all) {
			nc_arena_reset(exchange->arena, touched);
			push_idle(exchanges, exchange);
		}
	}
	pthread_mutex_unlock(&exchanges->lock);

	if (surplus) {
		destroy(exchange);
	} else if (!keeps_all) {
		nc_arena_reset(exchange->arena, exchange->kept); /* hands pages back, so not under the lock */
		pthread_mutex_lock(&exchanges->lock);
		push_idle(exchanges, exchange);
		pthread_mutex_unlock(&exchanges->lock);
	}
}

const char *exchange_header(const struct exchange *exchange, const char *name)
{
	const struct api_answer *answer = &exchange->answer;
	for (unsigned i = 0; i < answer->header_count; i++) {
		if (strcmp(answer->headers[i].name, name) == 0)
			return answer->headers[i].value;
	}
	return NULL;
}

void exchange_log(const struct exchange *exchange, uint64_t nanoseconds, const char *end)
{
	bool head_only = strcmp(exchange->request.method, "HEAD") == 0;
	log_request(&(struct log_line){
		.method = exchange->request.method,
		.path = exchange->request.path,
		.status = exchange->answer.status,
		.bytes_in = exchange->request.body_len + exchange->discarded,
		.bytes_out = head_only ? 0 : exchange->answer.body_len,
		.nanoseconds = nanoseconds,
		.request_id = exchange->id,
		.trace_id = exchange->trace,
		.end = end,
	});
}
