/* The scalar number writer where there is room: up to 32 bytes from out on may be overwritten, the number is shorter. */
#ifndef API_JSON_PUT_H
#define API_JSON_PUT_H

/* value finite; returns the end of what was written, no NUL. */
char *json_put_float64(char *out, double value);
char *json_put_float32(char *out, float value);

#endif
