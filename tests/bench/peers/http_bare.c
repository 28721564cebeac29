/*
 * The least that an HTTP server on libmicrohttpd can do: reads a body to its end and answers with as many bytes as
 * it had, or LEAST if that is more. What a daemon costs beyond this is its own. libmicrohttpd has its defaults.
 *
 * http_bare PORT THREADS [LEAST]
 */
#include <arpa/inet.h>
#include <microhttpd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 64 << 20 };

static char *answer;
static size_t least;

/* The context is the number of bytes that have arrived, plus one. */
static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *upload, size_t *upload_length, void **context)
{
	(void)cls, (void)url, (void)method, (void)version, (void)upload;
	uintptr_t seen = (uintptr_t)*context;
	if (!seen || *upload_length) {
		*context = (void *)((seen ? seen : 1) + *upload_length);
		*upload_length = 0;
		return MHD_YES;
	}
	size_t length = seen - 1 < MOST ? seen - 1 : MOST;
	if (length < least)
		length = least;
	struct MHD_Response *response = MHD_create_response_from_buffer(length, answer, MHD_RESPMEM_PERSISTENT);
	MHD_add_response_header(response, "Content-Type", "application/json");
	enum MHD_Result queued = MHD_queue_response(connection, MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return queued;
}

int main(int argc, char **argv)
{
	if (argc < 3 || !(answer = malloc(MOST)))
		return 2;
	memset(answer, ' ', MOST);
	least = argc > 3 ? (size_t)atoi(argv[3]) % MOST : 0;
	unsigned threads = (unsigned)atoi(argv[2]);
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1]))};
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (!MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_TURBO, 0, NULL, NULL, on_request, NULL, MHD_OPTION_SOCK_ADDR,
	                      &address, MHD_OPTION_THREAD_POOL_SIZE, threads > 1 ? threads : 0, MHD_OPTION_END))
		return 1;
	for (;;)
		pause();
}
