/*
 * Connections that end while their client may still be sending.
 *
 * When a socket is closed with bytes unread, the system resets the connection, and the client may lose the answer that
 * was on its way (a 413, say). So its reading goes on here for a short while, to nowhere, until the client closes.
 */
#ifndef SERVER_LINGER_H
#define SERVER_LINGER_H

struct lingering;

/* Starts its thread; NULL on failure. */
struct lingering *linger_create(void);

/* Ends its thread and closes what is left. */
void linger_destroy(struct lingering *lingering);

/* Takes over a copy of fd, which stays the caller's to close. Any thread. */
void linger_add(struct lingering *lingering, int fd);

#endif
