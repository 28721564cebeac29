/* The daemon's settings: the table config.def, read from defaults, then the environment, then flags. */
#ifndef SERVER_CONFIG_H
#define SERVER_CONFIG_H

#include "api/api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define CONFIG_TEXT const char *
#define CONFIG_COUNT size_t
#define CONFIG_BYTES size_t
#define CONFIG_SECONDS size_t
#define CONFIG_SWITCH bool

struct config {
#define SETTING(field, kind, flag, standard, least, most, unit, argument, help) CONFIG_##kind field;
#include "config.def"
#undef SETTING
	bool help, version;  /* --help, --version were given */
	char *joined, *key;  /* what config_read allocated: a repeated --cors-origin, a key read from its file */
};

enum { CONFIG_ERROR_MAX = 512 };

enum {
#define SETTING(field, kind, flag, standard, least, most, unit, argument, help) CONFIG_ROW_##field,
#include "config.def"
#undef SETTING
	CONFIG_ROWS
};

/*
 * Fills config from the defaults, env (NAME=value strings, NULL-terminated) and argv[1..argc-1]. Texts stay owned by
 * env and argv, but for a repeated --cors-origin and a key read from its file: those are allocated (config_free).
 * false: error is one sentence that names the flag or variable at fault.
 */
bool config_read(struct config *config, int argc, const char *const *argv, const char *const *env,
                 char error[CONFIG_ERROR_MAX]);

/* Frees what config_read allocated. */
void config_free(struct config *config);

/* The numeric settings as /version lists them; returns how many were written, at most CONFIG_ROWS. */
size_t config_settings(const struct config *config, struct api_setting settings[CONFIG_ROWS]);

/* Addresses for one request: its body, its numbers read and computed, its answer. They cost nothing until touched. */
size_t config_arena_bytes(const struct config *config);

/* Writes the list of flags, grown from the table. */
void config_help(FILE *out);

#endif
