/* Settings: defaults, the environment's twins, flags, and what is refused. */
#include "server/config.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char error[CONFIG_ERROR_MAX];

/* Reads flags on top of env (NULL ends each); whether they were taken. */
static bool read_all(struct config *config, const char *const *flags, const char *const *env)
{
	const char *argv[16] = {"normd"};
	int argc = 1;
	for (; *flags; flags++)
		argv[argc++] = *flags;
	*error = '\0';
	return config_read(config, argc, argv, env, error);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NONE ((const char *const[]){NULL})

START_TEST(test_defaults)
{
	struct config config;
	ck_assert(read_all(&config, NONE, NONE));
	ck_assert_str_eq(config.listen, "127.0.0.1:8080");
	ck_assert_uint_eq(config.max_body, 64u << 20);
	ck_assert_str_eq(config.cors_origin, "");
	ck_assert(!config.banner && !config.help && !config.version);
	config_free(&config);
}
END_TEST

START_TEST(test_flags_win_over_the_environment)
{
	struct config config;
	const char *const *env = LIST("NORMD_MAX_BODY=1M", "NORMD_LISTEN=0.0.0.0:9", "NORMD_TIMEOUT=7s", "NORMD_BANNER=true", "NORMD_MAX_BODYX=1");
	ck_assert(read_all(&config, LIST("--max-body", "2GiB", "--queue=3"), env));
	ck_assert_uint_eq(config.max_body, (size_t)2 << 30);
	ck_assert_uint_eq(config.queue, 3);
	ck_assert_uint_eq(config.timeout, 7);
	ck_assert_str_eq(config.listen, "0.0.0.0:9");
	ck_assert(config.banner);
	config_free(&config);
}
END_TEST

START_TEST(test_sizes)
{
	static const struct {
		const char *text;
		size_t bytes;
	} good[] = {{"1", 1}, {"10B", 10}, {"3K", 3072}, {"3KiB", 3072}, {"64MiB", 64u << 20}, {"5M", 5u << 20}, {"1G", 1u << 30}, {"1GiB", 1u << 30}};
	static const char *const bad[] = {"", "-1", "+1", " 1", "1 MiB", "1KB", "1.5M", "0x10", "M", "99999999999999999999", "18446744073709551615G", "0", "2048G"};
	struct config config;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		ck_assert_msg(read_all(&config, LIST("--max-body", good[i].text), NONE), "%s: %s", good[i].text, error);
		ck_assert_uint_eq(config.max_body, good[i].bytes);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		ck_assert_msg(!read_all(&config, LIST("--max-body", bad[i]), NONE), "\"%s\" was taken", bad[i]);
		ck_assert_msg(strstr(error, "--max-body"), "the error names no flag: %s", error);
	}
}
END_TEST

START_TEST(test_refusals_name_their_source)
{
	static const struct {
		const char *flags[3], *env[2], *named;
	} cases[] = {
		{{"--nonsense"}, {NULL}, "--nonsense"},
		{{"serve"}, {NULL}, "serve"},
		{{"--queue"}, {NULL}, "--queue"},
		{{"--queue", "many"}, {NULL}, "--queue"},
		{{"--queue", "1K"}, {NULL}, "--queue"},
		{{"--queue", "0"}, {NULL}, "--queue"},
		{{"--log", "xml"}, {NULL}, "--log"},
		{{"--log", "tex"}, {NULL}, "--log"},
		{{"--banner=maybe"}, {NULL}, "--banner"},
		{{NULL}, {"NORMD_TIMEOUT=soon"}, "NORMD_TIMEOUT"},
		{{"--api-key-file", "/nonexistent/key"}, {NULL}, "--api-key-file"},
		{{"--api-key-file", "/dev/null"}, {NULL}, "--api-key-file"},
	};
	struct config config;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		ck_assert_msg(!read_all(&config, cases[i].flags, cases[i].env), "case %zu was taken", i);
		ck_assert_msg(strstr(error, cases[i].named), "case %zu: \"%s\" does not name %s", i, error, cases[i].named);
		config_free(&config);
	}
}
END_TEST

START_TEST(test_origins_add_up)
{
	struct config config;
	ck_assert(read_all(&config, LIST("--cors-origin", "http://a", "--cors-origin=http://b", "--cors-origin", "http://c"),
	                   LIST("NORMD_CORS_ORIGIN=http://z")));
	ck_assert_str_eq(config.cors_origin, "http://a,http://b,http://c");
	config_free(&config);
	ck_assert(read_all(&config, NONE, LIST("NORMD_CORS_ORIGIN=http://z")));
	ck_assert_str_eq(config.cors_origin, "http://z");
	config_free(&config);
}
END_TEST

START_TEST(test_key_from_a_file)
{
	char path[] = "/tmp/normd-key-XXXXXX";
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "s3cret \nnot this\n", 17), 17);
	close(fd);
	struct config config;
	ck_assert_msg(read_all(&config, NONE, LIST("NORMD_API_KEY=")), "%s", error);
	config_free(&config);
	ck_assert_msg(read_all(&config, LIST("--api-key-file", path), NONE), "%s", error);
	ck_assert_str_eq(config.api_key, "s3cret");
	config_free(&config);
	ck_assert(!read_all(&config, LIST("--api-key-file", path, "--api-key", "other"), NONE));
	config_free(&config);
	unlink(path);
}
END_TEST

START_TEST(test_settings_and_help_tell_of_every_row)
{
	struct config config;
	struct api_setting settings[CONFIG_ROWS];
	ck_assert(read_all(&config, LIST("--max-jacobian", "77"), NONE));
	size_t count = config_settings(&config, settings);
	bool found = false;
	for (size_t i = 0; i < count; i++) {
		ck_assert(settings[i].name && settings[i].flag && *settings[i].unit);
		found |= strcmp(settings[i].flag, "--max-jacobian") == 0 && settings[i].value == 77;
	}
	ck_assert(found);
	char *help = NULL;
	size_t length;
	FILE *out = open_memstream(&help, &length);
	config_help(out);
	fclose(out);
#define SETTING(field, kind, flag, standard, least, most, unit, argument, text) ck_assert_msg(strstr(help, flag " ") || strstr(help, flag "\n"), "%s", flag);
#include "server/config.def"
#undef SETTING
	ck_assert(strstr(help, "NORMD_MAX_BODY, default 64MiB"));
	free(help);
	config_free(&config);
}
END_TEST

TEST_MAIN(test_defaults, test_flags_win_over_the_environment, test_sizes, test_refusals_name_their_source, test_origins_add_up,
          test_key_from_a_file, test_settings_and_help_tell_of_every_row)
