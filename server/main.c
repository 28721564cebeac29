/* normd: reads its settings, starts its parts, accepts connections, and ends in order when told to. */
#include "address.h"
#include "command.h"
#include "config.h"
#include "connections.h"
#include "healthcheck.h"
#include "http.h"
#include "log.h"
#include "priority.h"
#include "processors.h"

#include "core/isa.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

extern char **environ;

enum { FEW_POLL_THREADS = 4, TICK = 1000 /* milliseconds */, OWN_FILES = 128 };

/* The parts that run, in the order in which they are started. */
struct daemon {
	struct config config;
	struct api_setting settings[CONFIG_ROWS];
	struct address address;
	int listening, signals;
	uint64_t swept;      /* when clients were last looked at, in milliseconds */
	struct nc_pool *pool;
	struct api *api;
	struct http *http;
};

static int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int fail(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	fputs("normd: ", stderr);
	vfprintf(stderr, format, arguments);
	fputs("\n", stderr);
	va_end(arguments);
	return 2;
}

static void print_version(void)
{
#ifdef __clang__
	const char *compiler = "clang " __clang_version__;
#else
	const char *compiler = "gcc " __VERSION__;
#endif
	printf("normd %s (%s, kernel %s)\n", NORMD_VERSION, compiler, nc_isa_name(nc_isa_current()));
}

/* As many file descriptors as the system lets us have; fewer connections where that is not enough. */
static void fit_connections(struct config *config)
{
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	if (files.rlim_max == RLIM_INFINITY || files.rlim_max >= config->max_connections + OWN_FILES)
		return;
	size_t fitting = files.rlim_max > 2 * OWN_FILES ? files.rlim_max - OWN_FILES : OWN_FILES;
	if (fitting >= config->max_connections)
		return;
	log_event("--max-connections is %zu instead of %zu: the system grants %llu files", fitting, config->max_connections,
	          (unsigned long long)files.rlim_max);
	config->max_connections = fitting;
}

/* Threads keep the priority of the one that starts them: the pool is to yield to the threads that answer small requests. */
static void *start_pool(void *argument)
{
	struct daemon *daemon = argument;
	priority_yielding();
	daemon->pool = nc_pool_create((unsigned)daemon->config.threads);
	return NULL;
}

static bool start(struct daemon *daemon)
{
	struct config *config = &daemon->config;
	pthread_t starter;
	if (pthread_create(&starter, NULL, start_pool, daemon) != 0)
		return false;
	pthread_join(starter, NULL);
	struct api_config limits = {
		.max_body = config->max_body,
		.max_elements = config->max_elements,
		.max_jacobian = config->max_jacobian,
		.max_answer = config->max_answer,
		.threads = (unsigned)config->threads,
		.settings = daemon->settings,
		.setting_count = config_settings(config, daemon->settings),
	};
	daemon->api = daemon->pool ? api_create(&limits, daemon->pool) : NULL;
	daemon->http = daemon->api ? http_start(config, daemon->api) : NULL;
	return daemon->http;
}

static void stop(struct daemon *daemon)
{
	http_stop(daemon->http);
	api_destroy(daemon->api);
	nc_pool_destroy(daemon->pool);
	close(daemon->listening);
	close(daemon->signals);
	config_free(&daemon->config);
}

/* true when a signal to end has come. */
static bool told_to_end(int signals, int wait)
{
	struct pollfd polled = {.fd = signals, .events = POLLIN};
	struct signalfd_siginfo info;
	return poll(&polled, 1, wait) > 0 && read(signals, &info, sizeof info) == sizeof info;
}

/* Accepts what waits; false when the system has no more files for us, so that there is no use in asking again at once. */
static bool accept_waiting(struct daemon *daemon)
{
	for (int i = 0; i < SOMAXCONN; i++) { /* no more than can wait: there are other things to look after */
		int fd = accept4(daemon->listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0)
			http_add(daemon->http, fd);
		else if (errno != EINTR && errno != ECONNABORTED)
			return errno == EAGAIN;
	}
	return true;
}

/* Lets the slow be cut off when `interval` milliseconds have passed since it was last done. */
static void sweep(struct daemon *daemon, uint64_t interval)
{
	uint64_t now = connections_now();
	if (now - daemon->swept < interval)
		return;
	daemon->swept = now;
	http_sweep(daemon->http);
}

static void serve(struct daemon *daemon)
{
	struct pollfd polled[] = {{.fd = daemon->signals, .events = POLLIN}, {.fd = daemon->listening, .events = POLLIN}};
	bool files_left = true;
	for (;;) {
		int ready = poll(polled, files_left ? 2 : 1, TICK);
		if (ready > 0 && polled[0].revents)
			return;
		if (ready == 0)
			files_left = true;
		else if (ready > 0 && polled[1].revents)
			files_left = accept_waiting(daemon);
		sweep(daemon, TICK);
	}
}

/* Answers what is under way, then closes every connection. A second signal ends it at once. */
static void drain(struct daemon *daemon)
{
	enum { GLANCE = 5, PATIENCE = 5000 }; /* milliseconds */
	told_to_end(daemon->signals, 0);
	accept_waiting(daemon); /* who has come already is told; who comes later is refused, and may go elsewhere */
	close(daemon->listening);
	daemon->listening = -1;
	http_drain(daemon->http);
	log_event("stopping: %zu requests under way", http_in_flight(daemon->http));
	while (http_in_flight(daemon->http)) {
		if (told_to_end(daemon->signals, GLANCE))
			_exit(EXIT_FAILURE);
		sweep(daemon, TICK / 4);
	}
	for (int waited = 0; !http_hang_up(daemon->http) && waited < PATIENCE; waited += GLANCE) {
		if (told_to_end(daemon->signals, GLANCE))
			_exit(EXIT_FAILURE);
	}
}

static void greet(const struct daemon *daemon)
{
	char text[ADDRESS_TEXT_MAX];
	address_write(&daemon->address, text);
	printf("normd %s listens on http://%s\n", NORMD_VERSION, text);
	if (daemon->config.banner) {
		struct address reach = daemon->address;
		address_reach(&reach);
		address_write(&reach, text);
		printf("kernel %s, %zu threads; try:\n\n  curl %s/rmsnorm -d '{\"x\":[3,4]}'\n\n", nc_isa_name(nc_isa_current()),
		       daemon->config.threads, text);
	}
	fflush(stdout);
}

static int run(struct daemon *daemon)
{
	struct config *config = &daemon->config;
	sigset_t ending;
	sigemptyset(&ending);
	sigaddset(&ending, SIGTERM);
	sigaddset(&ending, SIGINT);
	pthread_sigmask(SIG_BLOCK, &ending, NULL); /* before any thread starts: they inherit it */
	signal(SIGPIPE, SIG_IGN);

	unsigned processors = processors_available();
	if (!config->threads)
		config->threads = processors;
	if (!config->poll_threads)
		config->poll_threads = processors < FEW_POLL_THREADS ? processors : FEW_POLL_THREADS;
	fit_connections(config);

	daemon->signals = signalfd(-1, &ending, SFD_CLOEXEC);
	daemon->listening = address_listen(&daemon->address);
	if (daemon->listening < 0)
		return fail("--listen %s: %s", config->listen, strerror(errno));
	if (daemon->signals < 0 || !start(daemon)) {
		stop(daemon);
		return fail("the system does not grant the threads or the memory; lower --threads, --max-elements, --max-body or --max-answer");
	}
	greet(daemon);
	serve(daemon);
	drain(daemon);
	stop(daemon);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	static struct daemon daemon;
	struct config *config = &daemon.config;
	char error[CONFIG_ERROR_MAX];
	bool health = argc > 1 && strcmp(argv[1], "healthcheck") == 0;
	int words = health ? 1 : command_words(argc, argv);

	if (!config_read(config, argc - words, (const char *const *)argv + words, (const char *const *)environ, error))
		return fail("%s", error);
	if (!nc_isa_select(config->isa))
		return fail("--isa: \"%s\" is no instruction set that this build has and this processor runs", config->isa);
	log_open(config->log);
	if (config->help) {
		config_help(stdout);
		return EXIT_SUCCESS;
	}
	if (config->version) {
		print_version();
		return EXIT_SUCCESS;
	}
	if (words && !health)
		return command_run(config, words, argv);
	if (!address_read(config->listen, &daemon.address))
		return fail("--listen: \"%s\" is not HOST:PORT, [IPV6]:PORT or :PORT", config->listen);
	if (health)
		return healthcheck(config->listen);
	return run(&daemon);
}
