#include "codec_peers.h"

#include <charconv>

extern "C" double read_peer_from_chars(const char *text, size_t length, const double *, const float *, size_t count,
                                       int wide, void *read, char *)
{
	const char *p = text + 1, *end = text + length;
	for (size_t i = 0; i < count; i++) {
		std::from_chars_result r = wide ? std::from_chars(p, end, static_cast<double *>(read)[i])
		                                : std::from_chars(p, end, static_cast<float *>(read)[i]);
		if (r.ec != std::errc())
			return 0;
		p = r.ptr + 1;
	}
	return 1;
}

extern "C" double write_peer_to_chars(const char *, size_t, const double *values, const float *narrow, size_t count,
                                      int wide, void *, char *out)
{
	char *p = out;
	for (size_t i = 0; i < count; i++) {
		p = wide ? std::to_chars(p, p + 32, values[i]).ptr : std::to_chars(p, p + 32, narrow[i]).ptr;
		*p++ = ',';
	}
	return static_cast<double>(p - out);
}
