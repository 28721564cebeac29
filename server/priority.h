/* Which threads go first where processors are scarce. Threads keep what the one that starts them has. */
#ifndef SERVER_PRIORITY_H
#define SERVER_PRIORITY_H

/* The calling thread goes behind those that answer small requests, but does not starve behind other programs. */
void priority_yielding(void);

/* The calling thread has little to do at a time and is to do it at once. */
void priority_prompt(void);

#endif
