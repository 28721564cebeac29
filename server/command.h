/* `normd call` and `normd diagnose`: one request without a socket, for scripts. */
#ifndef SERVER_COMMAND_H
#define SERVER_COMMAND_H

#include "config.h"

/* How many words of argv (behind argv[0]) belong to a command; 0 when argv names none. */
int command_words(int argc, char **argv);

/*
 * Answers `call PATH [FILE]` or `diagnose FILE`: the body of FILE ("-": standard input) as POST, or GET without a FILE. words:
 * what command_words counted. Prints the answer and returns 0, or 1 when it is an error; 2 with a line on standard error when
 * the command makes no sense or FILE cannot be read.
 */
int command_run(const struct config *config, int words, char **argv);

#endif
