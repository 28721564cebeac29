#include "processors.h"

#include <sched.h>
#include <stdio.h>

/* The processors' worth of time that the control group grants: "max 100000" or "150000 100000"; 0 when there is no limit. */
static double cgroup_processors(void)
{
	double quota = 0, period = 0;
	FILE *f = fopen("/sys/fs/cgroup/cpu.max", "re");
	if (f) {
		long q, p;
		if (fscanf(f, "%ld %ld", &q, &p) == 2) /* "max" does not match %ld */
			quota = (double)q, period = (double)p;
		fclose(f);
	} else { /* version 1 */
		long q, p;
		f = fopen("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "re");
		if (f && fscanf(f, "%ld", &q) == 1)
			quota = (double)q;
		if (f)
			fclose(f);
		f = fopen("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "re");
		if (f && fscanf(f, "%ld", &p) == 1)
			period = (double)p;
		if (f)
			fclose(f);
	}
	return quota > 0 && period > 0 ? quota / period : 0;
}

unsigned processors_available(void)
{
	cpu_set_t set;
	unsigned threads = sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
	double granted = cgroup_processors();
	unsigned quota = (unsigned)granted + (granted > (unsigned)granted);
	if (quota && quota < threads)
		threads = quota;
	return threads ? threads : 1;
}
