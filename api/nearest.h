/* The nearest known name to one that was mistyped. */
#ifndef API_NEAREST_H
#define API_NEAREST_H

#include <stddef.h>

/*
 * Edit distance: insertions, deletions, replacements and swaps of neighbours, letter case and '-' for '_' for free;
 * one more where the first letters differ, which are seldom mistyped;
 * an abbreviation (two letters or more that b begins with) is near; what is more than 63 bytes counts as far (99).
 */
unsigned edit_distance(const char *a, const char *b);

/* Whether a name at that distance is near enough to be suggested. */
int is_near(const char *name, unsigned distance);

#endif
