/* Addresses as --listen names them. */
#ifndef SERVER_ADDRESS_H
#define SERVER_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

struct address {
	struct sockaddr_storage socket;
	socklen_t length;
};

enum { ADDRESS_TEXT_MAX = 72 };

/* Reads HOST:PORT, [V6]:PORT or :PORT (every address of the machine); false when it is none of these or unknown. */
bool address_read(const char *text, struct address *address);

/* "127.0.0.1:8080" or "[::1]:8080". */
void address_write(const struct address *address, char text[ADDRESS_TEXT_MAX]);

/* Turns the address that listens everywhere (0.0.0.0, ::) into the loopback one of its family: where to ask. */
void address_reach(struct address *address);

/* A listening, non-blocking socket there, whose true address (a free port for port 0) is written back; -1 with errno. */
int address_listen(struct address *address);

#endif
