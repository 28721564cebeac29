#include "healthcheck.h"
#include "address.h"

#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

int healthcheck(const char *listen)
{
	static const char request[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
	static const char well[] = "HTTP/1.1 200 ";
	const struct timeval patience = {.tv_sec = 3};
	struct address address;
	char answer[sizeof well] = "";
	size_t length = 0;

	if (!address_read(listen, &address))
		return 1;
	address_reach(&address);
	int fd = socket(address.socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	if (connect(fd, (const struct sockaddr *)&address.socket, address.length) == 0 &&
	    send(fd, request, sizeof request - 1, MSG_NOSIGNAL) == sizeof request - 1) {
		ssize_t n;
		while (length < sizeof well - 1 && (n = recv(fd, answer + length, sizeof well - 1 - length, 0)) > 0)
			length += (size_t)n;
	}
	close(fd);
	if (length == sizeof well - 1 && memcmp(answer, well, length) == 0)
		return 0;
	char text[ADDRESS_TEXT_MAX];
	address_write(&address, text);
	fprintf(stderr, "normd healthcheck: no 200 from http://%s/healthz\n", text);
	return 1;
}
