/* `normd healthcheck`: asks a running daemon whether it is well, for containers that have no curl. */
#ifndef SERVER_HEALTHCHECK_H
#define SERVER_HEALTHCHECK_H

/* 0 when GET /healthz at the address that listen names (see --listen) is answered with 200 within 3 seconds, else 1. */
int healthcheck(const char *listen);

#endif
