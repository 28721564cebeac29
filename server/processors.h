/* How many threads are worth starting on this machine. */
#ifndef SERVER_PROCESSORS_H
#define SERVER_PROCESSORS_H

/* The processors that this process may use: CPU affinity and the control group's quota (rounded up), at least 1. */
unsigned processors_available(void);

#endif
