#include "daemon.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

double seconds_now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

const char *shared_file(const char *name)
{
	static char path[4096];
	const char *folder = getenv("NORMD_SHARED");
	snprintf(path, sizeof path, "%s/%s", folder ? folder : "../shared", name);
	return access(path, R_OK) == 0 ? path : NULL;
}

static void become_daemon(const char *const *flags, int out, int log)
{
	enum { MOST_FLAGS = 32 };
	const char *binary = getenv("NORMD"), *arguments[MOST_FLAGS + 4];
	int count = 0;
	arguments[count++] = binary ? binary : "build/normd";
	arguments[count++] = "--listen";
	arguments[count++] = "127.0.0.1:0";
	for (int i = 0; flags && flags[i] && i < MOST_FLAGS; i++)
		arguments[count++] = flags[i];
	arguments[count] = NULL;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that dies leaves nothing running */
	dup2(out, STDOUT_FILENO);
	dup2(log, STDERR_FILENO);
	execv(arguments[0], (char *const *)(uintptr_t)arguments);
	_exit(127);
}

void daemon_start(struct daemon *daemon, const char *const *flags)
{
	int out[2];
	char line[256];
	size_t length = 0;
	strcpy(daemon->log, "/tmp/normd-log-XXXXXX");
	int log = mkostemp(daemon->log, O_CLOEXEC | O_APPEND);
	ck_assert_int_ge(log, 0);
	ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
	daemon->pid = fork();
	ck_assert_int_ge(daemon->pid, 0);
	if (daemon->pid == 0)
		become_daemon(flags, out[1], log);
	close(out[1]);
	close(log);
	daemon->out = out[0];
	while (length < sizeof line - 1 && read(daemon->out, line + length, 1) == 1 && line[length] != '\n')
		length++;
	line[length] = '\0';
	const char *colon = strrchr(line, ':');
	ck_assert_msg(colon && sscanf(colon, ":%d", &daemon->port) == 1, "the daemon did not start: \"%s\", see %s", line,
	              daemon->log);
}

int daemon_wait(struct daemon *daemon)
{
	int status;
	ck_assert_int_eq(waitpid(daemon->pid, &status, 0), daemon->pid);
	close(daemon->out);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		char *log = daemon_log(daemon);
		size_t length = strlen(log);
		fprintf(stderr, "the daemon's last words: %s\n", length > 4000 ? log + length - 4000 : log);
		free(log);
	}
	unlink(daemon->log);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int daemon_stop(struct daemon *daemon, double *seconds)
{
	double begun = seconds_now();
	kill(daemon->pid, SIGTERM);
	int status = daemon_wait(daemon);
	if (seconds)
		*seconds = seconds_now() - begun;
	return status;
}

char *daemon_log(const struct daemon *daemon)
{
	FILE *file = fopen(daemon->log, "re");
	char *text = NULL;
	size_t length = 0, room = 0, n;
	ck_assert_ptr_nonnull(file);
	do {
		if (length + 4096 > room)
			text = realloc(text, (room = 2 * room + 8192) + 1);
		n = fread(text + length, 1, 4096, file);
		length += n;
	} while (n);
	text[length] = '\0';
	fclose(file);
	return text;
}

bool daemon_logs(const struct daemon *daemon, const char *text)
{
	double until = seconds_now() + 2;
	for (;;) {
		char *log = daemon_log(daemon);
		bool found = strstr(log, text);
		free(log);
		if (found || seconds_now() > until)
			return found;
		usleep(5000);
	}
}

size_t daemon_resident(const struct daemon *daemon)
{
	char path[64];
	size_t total = 0, resident = 0;
	snprintf(path, sizeof path, "/proc/%d/statm", (int)daemon->pid);
	FILE *file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%zu %zu", &total, &resident), 2);
	fclose(file);
	return resident * (size_t)sysconf(_SC_PAGESIZE);
}
