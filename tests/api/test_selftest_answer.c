/* GET /selftest names every kernel and every instruction set of this machine; the codec's tests find a broken kernel. */
#include "api/json/json_selftest.h"
#include "tests/support/api_client.h"
#include "tests/support/suite.h"

#include <string.h>

static const char *const kernels_there_are[] = {
#define KERNEL(result, name, arguments) #name,
#include "core/kernels.def"
#undef KERNEL
#define JSON_KERNEL(result, name, arguments) #name,
#include "api/json/kernels/json_kernels.def"
#undef JSON_KERNEL
};

START_TEST(every_kernel_passes_on_every_instruction_set)
{
	struct client *client = client_open();
	size_t isas = 0;

	for (int isa = 0; isa < NC_ISA_COUNT; isa++)
		isas += nc_isa_supported((enum nc_isa)isa);
	ck_assert_int_eq(client_get(client, "/selftest"), 200);
	ck_assert(json_is_true(client_at(client, "passed")));
	ck_assert_str_eq(client_text(client, "kernel"), nc_isa_name(nc_isa_current()));
	ck_assert_double_gt(client_number(client, "milliseconds"), 0);
	json_t *tests = client_at(client, "tests");
	ck_assert_uint_eq(json_array_size(tests), sizeof kernels_there_are / sizeof *kernels_there_are);
	for (size_t i = 0; i < json_array_size(tests); i++) {
		json_t *test = json_array_get(tests, i);

		ck_assert_str_eq(json_string_value(json_object_get(test, "name")), kernels_there_are[i]);
		ck_assert_uint_eq(json_array_size(json_object_get(test, "passed")), isas);
		ck_assert_uint_eq(json_array_size(json_object_get(test, "failed")), 0);
	}
	client_close(client);
}
END_TEST

/* Of every kernel one that does nothing. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define JSON_KERNEL(result, name, arguments)                                                                          \
	static result idle_##name arguments                                                                            \
	{                                                                                                              \
		return NULL;                                                                                           \
	}
#include "api/json/kernels/json_kernels.def"
#undef JSON_KERNEL
#pragma GCC diagnostic pop

/* A reader that gives up at once is no broken one: the scalar step behind it reads on. So this one reads wrongly. */
static const char *hasty_read_list(const char *text, const char *end, enum nc_dtype dtype, void *out, size_t capacity,
                                   size_t *count, bool *complete)
{
	const char *after = json_kernels_of(NC_ISA_SCALAR)->read_list(text, end, dtype, out, capacity, count, complete);

	if (dtype == NC_FLOAT64 && *count > 0)
		((double *)out)[*count - 1] *= 1 + 0x1p-52;
	return after;
}

static enum selftest_verdict verdict_on(size_t i, const struct json_kernels *table)
{
	struct selftest_trial trial, scalar;

	json_selftest_run(i, table, &trial);
	json_selftest_run(i, json_kernels_of(NC_ISA_SCALAR), &scalar);
	return selftest_judge(&trial, &scalar);
}

START_TEST(a_broken_kernel_is_found)
{
	size_t i = 0;

#define JSON_KERNEL(result, name, arguments)                                                                          \
	{                                                                                                              \
		struct json_kernels broken = *json_kernels_of(NC_ISA_SCALAR);                            \
		broken.name = idle_##name;                                                                             \
		if (strcmp(#name, "read_list") == 0)                                                                   \
			broken.read_list = hasty_read_list;                                                            \
		ck_assert_str_eq(json_selftest_name(i), #name);                                                        \
		ck_assert_int_eq(verdict_on(i, json_kernels_of(NC_ISA_SCALAR)), SELFTEST_PASSED);                      \
		ck_assert_msg(verdict_on(i, &broken) != SELFTEST_PASSED, "a broken " #name);                         \
		i++;                                                                                                   \
	}
#include "api/json/kernels/json_kernels.def"
#undef JSON_KERNEL
	ck_assert_uint_eq(i, json_selftest_count());
}
END_TEST

TEST_MAIN(every_kernel_passes_on_every_instruction_set, a_broken_kernel_is_found)
