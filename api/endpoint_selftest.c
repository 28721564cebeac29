/*
 * GET /selftest: every kernel on every instruction set that runs here, and what each gave. 200 when all passed, 500
 * otherwise: answers of this process are not to be trusted. It takes about a millisecond, no memory, and keeps no state.
 */
#include "endpoints.h"

#include "json/json_selftest.h"

#include <time.h>

static double milliseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

typedef void run_fn(size_t i, enum nc_isa isa, struct selftest_trial *trial);

static void run_core(size_t i, enum nc_isa isa, struct selftest_trial *trial)
{
	selftest_run(i, kernels_of(isa), trial);
}

static void run_json(size_t i, enum nc_isa isa, struct selftest_trial *trial)
{
	json_selftest_run(i, json_kernels_of(isa), trial);
}

/* {"name", "passed": [instruction sets], "failed": [{"kernel", "reason"}]}; whether none failed. */
static bool write_kernel(struct writer *out, const char *name, run_fn *run, size_t i)
{
	enum selftest_verdict verdicts[NC_ISA_COUNT];
	struct selftest_trial scalar, trial;
	bool passed = true;

	run(i, NC_ISA_SCALAR, &scalar);
	write_open(out, '{');
	write_key(out, "name");
	write_string(out, name);
	write_key(out, "passed");
	write_open(out, '[');
	for (int isa = 0; isa < NC_ISA_COUNT; isa++)
		if (nc_isa_supported((enum nc_isa)isa)) {
			if (isa != NC_ISA_SCALAR)
				run(i, (enum nc_isa)isa, &trial);
			verdicts[isa] = selftest_judge(isa == NC_ISA_SCALAR ? &scalar : &trial, &scalar);
			if (verdicts[isa] == SELFTEST_PASSED)
				write_string(out, nc_isa_name((enum nc_isa)isa));
			else
				passed = false;
		}
	write_close(out, ']');
	write_key(out, "failed");
	write_open(out, '[');
	for (int isa = 0; isa < NC_ISA_COUNT; isa++)
		if (nc_isa_supported((enum nc_isa)isa) && verdicts[isa] != SELFTEST_PASSED) {
			write_open(out, '{');
			write_key(out, "kernel");
			write_string(out, nc_isa_name((enum nc_isa)isa));
			write_key(out, "reason");
			write_string(out, selftest_text(verdicts[isa]));
			write_close(out, '}');
		}
	write_close(out, ']');
	write_close(out, '}');
	return passed;
}

bool endpoint_selftest(struct call *call, struct writer *out)
{
	double start = milliseconds();
	bool passed = true;

	write_open(out, '{');
	write_key(out, "kernel");
	write_string(out, nc_isa_name(nc_isa_current()));
	write_key(out, "tests");
	write_open(out, '[');
	for (size_t i = 0; i < selftest_count(); i++)
		passed &= write_kernel(out, selftest_name(i), run_core, i);
	for (size_t i = 0; i < json_selftest_count(); i++)
		passed &= write_kernel(out, json_selftest_name(i), run_json, i);
	write_close(out, ']');
	write_key(out, "passed");
	write_bool(out, passed);
	write_key(out, "milliseconds");
	write_number(out, milliseconds() - start);
	write_close(out, '}');
	call->status = passed ? 200 : 500;
	return true;
}
