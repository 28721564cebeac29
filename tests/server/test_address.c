/* Addresses: what --listen takes, how they are shown, where to reach them. */
#include "server/address.h"
#include "tests/support/suite.h"

#include <unistd.h>

START_TEST(test_read_and_write)
{
	static const struct {
		const char *text, *shown, *reached;
	} good[] = {
		{"127.0.0.1:8080", "127.0.0.1:8080", "127.0.0.1:8080"},
		{"0.0.0.0:80", "0.0.0.0:80", "127.0.0.1:80"},
		{":81", "0.0.0.0:81", "127.0.0.1:81"},
		{"[::1]:8080", "[::1]:8080", "[::1]:8080"},
		{"[::]:0", "[::]:0", "[::1]:0"},
		{"localhost:1", "127.0.0.1:1", "127.0.0.1:1"},
	};
	static const char *const bad[] = {"", "8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:-1", "127.0.0.1:65536",
	                                  "127.0.0.1:999999", "::1:8080", "[::1]", "[zz]:1", "256.0.0.1:1", "no host:1"};
	struct address address;
	char text[ADDRESS_TEXT_MAX];
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		ck_assert_msg(address_read(good[i].text, &address), "%s", good[i].text);
		address_write(&address, text);
		ck_assert_str_eq(text, good[i].shown);
		address_reach(&address);
		address_write(&address, text);
		ck_assert_str_eq(text, good[i].reached);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(!address_read(bad[i], &address), "\"%s\" was taken", bad[i]);
}
END_TEST

START_TEST(test_listen_tells_the_free_port)
{
	struct address address, second;
	char text[ADDRESS_TEXT_MAX];
	ck_assert(address_read("127.0.0.1:0", &address));
	int fd = address_listen(&address);
	ck_assert_int_ge(fd, 0);
	address_write(&address, text);
	ck_assert_str_ne(text, "127.0.0.1:0");
	second = address;
	ck_assert_int_lt(address_listen(&second), 0); /* taken */
	close(fd);
}
END_TEST

TEST_MAIN(test_read_and_write, test_listen_tells_the_free_port)
