#include "wire.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

int wire_connect(int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	const struct timeval patience = {.tv_sec = 60};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	ck_assert_int_ge(fd, 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
		return fd;
	close(fd);
	return -1;
}

bool wire_send(int fd, const char *data, size_t length)
{
	while (length) {
		ssize_t n = send(fd, data, length, MSG_NOSIGNAL);
		if (n <= 0)
			return false;
		data += n;
		length -= (size_t)n;
	}
	return true;
}

bool wire_print(int fd, const char *format, ...)
{
	char *text;
	va_list arguments;
	va_start(arguments, format);
	int length = vasprintf(&text, format, arguments);
	va_end(arguments);
	ck_assert_int_ge(length, 0);
	bool sent = wire_send(fd, text, (size_t)length);
	free(text);
	return sent;
}

/* Reads up to the empty line, byte by byte so as not to read into the body; false when the connection ends before it. */
static bool read_head(int fd, struct reply *reply)
{
	size_t length = 0, room = 4096;
	reply->head = malloc(room + 1);
	for (;;) {
		if (length == room)
			reply->head = realloc(reply->head, (room *= 2) + 1);
		if (recv(fd, reply->head + length, 1, 0) != 1)
			return false;
		reply->head[++length] = '\0';
		if (length >= 4 && memcmp(reply->head + length - 4, "\r\n\r\n", 4) == 0)
			return sscanf(reply->head, "HTTP/1.%*d %d", &reply->status) == 1;
	}
}

struct reply wire_read(int fd, bool no_body)
{
	struct reply reply = {0};
	for (;;) {
		if (!read_head(fd, &reply)) {
			reply.status = 0;
			return reply;
		}
		if (reply.status != 100)
			break;
		reply.interim++;
		free(reply.head);
	}
	const char *length = reply_header(&reply, "Content-Length");
	size_t wanted = length && !no_body ? strtoull(length, NULL, 10) : 0;
	reply.body = calloc(1, wanted + 1);
	while (reply.body_len < wanted) {
		ssize_t n = recv(fd, reply.body + reply.body_len, wanted - reply.body_len, 0);
		if (n <= 0) {
			reply.status = 0;
			break;
		}
		reply.body_len += (size_t)n;
	}
	return reply;
}

bool wire_closed(int fd)
{
	struct pollfd polled = {.fd = fd, .events = POLLIN};
	char byte;
	return poll(&polled, 1, 2000) == 1 && recv(fd, &byte, 1, 0) <= 0;
}

struct reply wire_call(int fd, const char *method, const char *path, const char *headers, const char *body)
{
	char length[64] = "";
	if (body)
		snprintf(length, sizeof length, "Content-Length: %zu\r\n", strlen(body));
	wire_print(fd, "%s %s HTTP/1.1\r\nHost: localhost\r\n%s%s\r\n", method, path, headers, length);
	if (body)
		wire_send(fd, body, strlen(body));
	return wire_read(fd, strcmp(method, "HEAD") == 0);
}

struct reply wire_once(int port, const char *method, const char *path, const char *headers, const char *body)
{
	int fd = wire_connect(port);
	ck_assert_int_ge(fd, 0);
	struct reply reply = wire_call(fd, method, path, headers, body);
	close(fd);
	return reply;
}

const char *reply_header(const struct reply *reply, const char *name)
{
	static char values[8][512];
	static unsigned turn;
	size_t length = strlen(name);
	for (const char *line = reply->head; line && (line = strchr(line, '\n')); ) {
		line++;
		if (strncasecmp(line, name, length) != 0 || line[length] != ':')
			continue;
		line += length + 1;
		line += strspn(line, " ");
		char *value = values[turn++ % 8];
		snprintf(value, sizeof values[0], "%.*s", (int)strcspn(line, "\r"), line);
		return value;
	}
	return NULL;
}

void reply_free(struct reply *reply)
{
	free(reply->head);
	free(reply->body);
	*reply = (struct reply){0};
}
