#include "codec_peers.h"

#include <rapidjson/reader.h>
#include <rapidjson/writer.h>
#include <rapidjson/stringbuffer.h>

namespace {

struct Handler : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Handler> {
	void *out;
	size_t count;
	bool wide;

	bool Double(double value)
	{
		if (wide)
			static_cast<double *>(out)[count++] = value;
		else
			static_cast<float *>(out)[count++] = static_cast<float>(value);
		return true;
	}
	bool Int(int value) { return Double(value); }
	bool Uint(unsigned value) { return Double(value); }
	bool Int64(int64_t value) { return Double(static_cast<double>(value)); }
	bool Uint64(uint64_t value) { return Double(static_cast<double>(value)); }
};

} // namespace

extern "C" double read_peer_rapidjson(const char *text, size_t, const double *, const float *, size_t, int wide, void *read,
                                      char *)
{
	Handler handler;
	handler.out = read;
	handler.count = 0;
	handler.wide = wide != 0;
	rapidjson::StringStream stream(text);
	rapidjson::Reader reader;
	reader.Parse<rapidjson::kParseFullPrecisionFlag>(stream, handler);
	return static_cast<double>(handler.count);
}

extern "C" double write_peer_rapidjson(const char *, size_t, const double *values, const float *, size_t count, int, void *,
                                       char *)
{
	rapidjson::StringBuffer buffer(nullptr, count * 26 + 16);
	rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
	writer.StartArray();
	for (size_t i = 0; i < count; i++)
		writer.Double(values[i]);
	writer.EndArray();
	return static_cast<double>(buffer.GetSize());
}
