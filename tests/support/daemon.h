/* Starts the real daemon ($NORMD, else build/normd) on a free port of 127.0.0.1, and ends it. */
#ifndef TESTS_DAEMON_H
#define TESTS_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct daemon {
	pid_t pid;
	int port;
	int out;               /* its standard output, behind the line that tells the port */
	char log[64];          /* path of the file that takes its standard error; removed by daemon_stop */
};

/* flags: NULL-terminated, or NULL for none. Fails the test when the daemon does not start. */
void daemon_start(struct daemon *daemon, const char *const *flags);

/* Sends SIGTERM and waits; returns the exit status, -1 if it died of a signal. *seconds (or NULL): how long it took. */
int daemon_stop(struct daemon *daemon, double *seconds);

/* As daemon_stop, after the signal was sent. */
int daemon_wait(struct daemon *daemon);

/* The log so far, NUL-terminated; the caller frees it. */
char *daemon_log(const struct daemon *daemon);

/* Whether text comes to stand in the log within two seconds. */
bool daemon_logs(const struct daemon *daemon, const char *text);

/* Bytes of memory that the process has resident now. */
size_t daemon_resident(const struct daemon *daemon);

/* Seconds on the monotonic clock. */
double seconds_now(void);

/* The path of a file of the shared folder ($NORMD_SHARED, else ../shared); NULL when it cannot be read. Static. */
const char *shared_file(const char *name);

#endif
