/* Whether the text of a JSON string is sound. */
#ifndef API_JSON_STRING_H
#define API_JSON_STRING_H

/*
 * Checks the bytes at..close between a string's quotes: UTF-8, no control characters, escapes of the grammar, surrogates in
 * pairs, no \u0000. NULL when sound; else the byte at fault, and in *what a sentence.
 */
const char *json_string_fault(const char *at, const char *close, const char **what);

#endif
