/*
 * GET /selftest when a kernel is broken: the linker puts __wrap_json_kernels_of in the place of json_kernels_of
 * (tests/api/api.mk), so that one instruction set of this machine has a reader that is wrong in the last bit.
 */
#include "api/json/json_selftest.h"
#include "tests/support/api_client.h"
#include "tests/support/suite.h"

#include <string.h>

const struct json_kernels *__real_json_kernels_of(enum nc_isa isa);
const struct json_kernels *__wrap_json_kernels_of(enum nc_isa isa);

static enum nc_isa broken_isa;
static struct json_kernels broken;

static const char *wrong_read_list(const char *text, const char *end, enum nc_dtype dtype, void *out, size_t capacity,
                                   size_t *count, bool *complete)
{
	const char *after = __real_json_kernels_of(broken_isa)->read_list(text, end, dtype, out, capacity, count, complete);

	if (dtype == NC_FLOAT64 && *count > 0)
		((double *)out)[*count - 1] *= 1 + 0x1p-52;
	return after;
}

const struct json_kernels *__wrap_json_kernels_of(enum nc_isa isa)
{
	return broken.read_list && isa == broken_isa ? &broken : __real_json_kernels_of(isa);
}

START_TEST(a_broken_kernel_is_a_500_that_names_it)
{
	struct client *client = client_open();
	size_t named = 0;

	for (int isa = 0; isa < NC_ISA_COUNT; isa++)
		if (nc_isa_supported((enum nc_isa)isa))
			broken_isa = (enum nc_isa)isa;
	ck_assert_int_eq(client_get(client, "/selftest"), 200);
	broken = *__real_json_kernels_of(broken_isa);
	broken.read_list = wrong_read_list;
	ck_assert_int_eq(client_get(client, "/selftest"), 500);
	ck_assert(json_is_false(client_at(client, "passed")));
	json_t *tests = client_at(client, "tests");
	for (size_t i = 0; i < json_array_size(tests); i++) {
		json_t *test = json_array_get(tests, i), *failed = json_object_get(test, "failed");
		const char *name = json_string_value(json_object_get(test, "name"));

		if (json_array_size(failed) == 0)
			continue;
		ck_assert_str_eq(name, "read_list");
		ck_assert_uint_eq(json_array_size(failed), 1);
		json_t *fault = json_array_get(failed, 0);
		ck_assert_str_eq(json_string_value(json_object_get(fault, "kernel")), nc_isa_name(broken_isa));
		ck_assert_uint_gt(strlen(json_string_value(json_object_get(fault, "reason"))), 0);
		named++;
	}
	ck_assert_uint_eq(named, 1);
	broken.read_list = NULL;
	ck_assert_int_eq(client_get(client, "/selftest"), 200);
	client_close(client);
}
END_TEST

TEST_MAIN(a_broken_kernel_is_a_500_that_names_it)
