#include "priority.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	/*
	 * Beside another program's endless loop on each processor large requests get a thirtieth; under SCHED_IDLE it is a
	 * three hundredth. At 10 they would get a tenth, but small requests would now and then wait for the next tick: since
	 * Linux 6.6 a thread that wakes is passed over as long as it is a little ahead of its share.
	 */
	NICE = 15,
	SLICE = 100000, /* nanoseconds, the shortest that Linux grants (since 6.12; ignored before) */
};

/* struct sched_attr of sched_setattr(2), which glibc 2.36 does not declare. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

void priority_yielding(void)
{
	pthread_setschedparam(pthread_self(), SCHED_BATCH, &(struct sched_param){0});
	setpriority(PRIO_PROCESS, (id_t)gettid(), NICE); /* on Linux a thread has a priority of its own */
}

void priority_prompt(void)
{
	struct attributes attributes = {.size = sizeof attributes, .policy = SCHED_OTHER, .runtime = SLICE};
	attributes.nice = getpriority(PRIO_PROCESS, (id_t)gettid());
	syscall(SYS_sched_setattr, 0, &attributes, 0);
}
