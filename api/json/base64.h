/* The standard base64 alphabet (RFC 4648 section 4), padded, without line breaks. */
#ifndef API_BASE64_H
#define API_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The alphabet, and one more than the six bits of each character in it; 0 for every other byte. */
extern const char base64_alphabet[65];
extern const unsigned char base64_sextets[256];

/* The six bits of a character; above 63 when it is not of the alphabet. */
static inline uint32_t base64_bits(unsigned char c) { return base64_sextets[c] - 1u; }

/* Bytes that `len` characters decode to at most, and characters that `bytes` bytes encode to. */
static inline size_t base64_decoded_max(size_t len) { return len / 4 * 3; }
static inline size_t base64_encoded_len(size_t bytes) { return (bytes + 2) / 3 * 4; }

/* Decodes text of `len` characters into out, which has room for base64_decoded_max(len). false: not base64. */
bool base64_decode(const char *text, size_t len, unsigned char *out, size_t *out_len);

/* Encodes; returns the end of out, which has room for base64_encoded_len(bytes). No NUL. */
char *base64_encode(const void *data, size_t bytes, char *out);

#endif
