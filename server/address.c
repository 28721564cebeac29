#include "address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool address_read(const char *text, struct address *address)
{
	char host[256];
	const char *colon = strrchr(text, ':');
	if (!colon || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1) || strlen(colon + 1) > 5)
		return false;
	size_t length = (size_t)(colon - text);
	bool bracketed = length >= 2 && text[0] == '[' && text[length - 1] == ']';
	if (bracketed)
		text++, length -= 2;
	if (length >= sizeof host || (!bracketed && memchr(text, ':', length)))
		return false;
	memcpy(host, text, length);
	host[length] = '\0';

	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *found;
	hints.ai_family = bracketed ? AF_INET6 : AF_INET;
	if (getaddrinfo(length ? host : NULL, colon + 1, &hints, &found) != 0)
		return false;
	memcpy(&address->socket, found->ai_addr, found->ai_addrlen);
	address->length = found->ai_addrlen;
	freeaddrinfo(found);
	return strtol(colon + 1, NULL, 10) <= 65535;
}

void address_write(const struct address *address, char text[ADDRESS_TEXT_MAX])
{
	char host[INET6_ADDRSTRLEN] = "";
	if (address->socket.ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&address->socket;
		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host);
		snprintf(text, ADDRESS_TEXT_MAX, "[%s]:%u", host, ntohs(in6->sin6_port));
	} else {
		const struct sockaddr_in *in = (const struct sockaddr_in *)&address->socket;
		inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
		snprintf(text, ADDRESS_TEXT_MAX, "%s:%u", host, ntohs(in->sin_port));
	}
}

void address_reach(struct address *address)
{
	if (address->socket.ss_family == AF_INET6) {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&address->socket;
		if (IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr))
			in6->sin6_addr = in6addr_loopback;
	} else {
		struct sockaddr_in *in = (struct sockaddr_in *)&address->socket;
		if (in->sin_addr.s_addr == htonl(INADDR_ANY))
			in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	}
}

int address_listen(struct address *address)
{
	int fd = socket(address->socket.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	int one = 1;
	address->length = sizeof address->socket;
	socklen_t length = address->socket.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
	    bind(fd, (const struct sockaddr *)&address->socket, length) == 0 && listen(fd, SOMAXCONN) == 0 &&
	    getsockname(fd, (struct sockaddr *)&address->socket, &address->length) == 0)
		return fd;
	int cause = errno;
	close(fd);
	errno = cause;
	return -1;
}
