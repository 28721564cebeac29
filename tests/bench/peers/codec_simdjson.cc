#include "codec_peers.h"

#include <simdjson.h>

extern "C" double read_peer_simdjson(const char *text, size_t length, const double *, const float *, size_t, int wide,
                                     void *read, char *)
{
	static simdjson::ondemand::parser parser;
	simdjson::ondemand::document document;
	simdjson::ondemand::array list;
	if (parser.iterate(text, length, length + simdjson::SIMDJSON_PADDING).get(document) || document.get_array().get(list))
		return 0;
	size_t i = 0;
	for (auto element : list) {
		double value;
		if (element.get_double().get(value))
			return 0;
		if (wide)
			static_cast<double *>(read)[i++] = value;
		else
			static_cast<float *>(read)[i++] = static_cast<float>(value);
	}
	return static_cast<double>(i);
}
