/* Which threads of the daemon go first: those of large requests behind the others, but so that they go on on a busy machine. */
#include "tests/support/daemon.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 3, POLL_THREADS = 2, NICE = 15, PROMPT = 100000 /* nanoseconds */ };

/* struct sched_attr of sched_getattr(2), which glibc 2.36 does not declare. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t slice, deadline, period;
};

struct census {
	int yielding, first, prompt, other;
};

/* Threads of the process by how they are scheduled; nice: of the process that started it. */
static struct census take_census(pid_t pid, int nice)
{
	struct census census = {0};
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	DIR *tasks = opendir(path);
	ck_assert_ptr_nonnull(tasks);
	for (struct dirent *task; (task = readdir(tasks));) {
		struct attributes thread;
		pid_t id = (pid_t)atoi(task->d_name);
		if (id <= 0 || syscall(SYS_sched_getattr, id, &thread, sizeof thread, 0) != 0)
			continue;
		bool prompt = thread.slice == PROMPT;
		if (thread.policy == SCHED_OTHER && thread.nice == nice) {
			census.first++;
			census.prompt += prompt;
		} else if (thread.policy == SCHED_BATCH && thread.nice == (nice > NICE ? nice : NICE) && !prompt) {
			census.yielding++;
		} else { /* such as SCHED_IDLE, under which two endless loops of others let a request of milliseconds take seconds */
			census.other++;
		}
	}
	closedir(tasks);
	return census;
}

START_TEST(test_large_requests_yield_but_do_not_starve)
{
	enum { YIELDING = THREADS + (THREADS - 1) + 1 }; /* workers, pool, the one of pages */
	struct daemon daemon;
	struct attributes own;
	struct census census = {0};
	ck_assert_int_eq(syscall(SYS_sched_getattr, 0, &own, sizeof own, 0), 0);
	daemon_start(&daemon, (const char *const[]){"--threads=3", "--poll-threads=2", NULL});
	double begun = seconds_now();
	do { /* each of them says so itself, once it runs */
		usleep(1000);
		census = take_census(daemon.pid, own.nice);
	} while (census.yielding < YIELDING && seconds_now() - begun < 20);
	ck_assert_int_eq(census.yielding, YIELDING);
	ck_assert_int_eq(census.other, 0);
	ck_assert_int_ge(census.first, POLL_THREADS + 2); /* main, the lingering one; a sanitizer's own */
	if (own.slice) /* the system tells of slices */
		ck_assert_int_ge(census.prompt, POLL_THREADS);
	ck_assert_int_eq(daemon_stop(&daemon, NULL), 0);
}
END_TEST

TEST_MAIN(test_large_requests_yield_but_do_not_starve)
