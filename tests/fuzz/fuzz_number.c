/*
 * Any bytes as a list of numbers: every instruction set stops at the same byte, with the same status and the same values, and
 * what is written of them reads back to the same bits.
 *
 * The first byte chooses the dtype; the rest is the text, which is copied so that reading past its end is seen.
 */
#include "api/json/json_number.h"
#include "core/isa.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int condition)
{
	if (!condition)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { CAPACITY = 4096 };
	static double first[CAPACITY], values[CAPACITY];
	static char out[CAPACITY * JSON_FLOAT64_MAX + 64];
	if (size < 1)
		return 0;
	enum nc_dtype dtype = (enum nc_dtype)(data[0] % NC_DTYPE_COUNT);
	size_t length = size - 1, capacity = data[0] & 4 ? CAPACITY : data[0] >> 3, bytes = nc_dtype_storage_bytes(dtype);
	char *text = malloc(length + !length);
	must(text != NULL);
	memcpy(text, data + 1, length);

	size_t first_count = 0, count, bad;
	const char *first_after = NULL, *after;
	enum json_number_status first_status = JSON_NUMBER_OK;
	for (int isa = 0, seen = 0; isa < NC_ISA_COUNT; isa++) {
		if (!nc_isa_select(nc_isa_name((enum nc_isa)isa)))
			continue;
		enum json_number_status status =
			json_read_list(text, text + length, dtype, seen ? values : first, capacity, &count, &after);
		if (!seen++)
			first_status = status, first_count = count, first_after = after;
		else
			must(status == first_status && count == first_count && after == first_after &&
			     memcmp(values, first, count * bytes) == 0);
		char *end = json_write_list(out, dtype, first, count, JSON_NONFINITE_STOP, &bad);
		must(bad == count);
		if (count) {
			must(json_read_list(out, end, dtype, values, CAPACITY, &count, &after) == JSON_NUMBER_OK);
			must(count == first_count && after == end && memcmp(values, first, count * bytes) == 0);
		}
	}
	nc_isa_select("auto");
	free(text);
	return 0;
}
