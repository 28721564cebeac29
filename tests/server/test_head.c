/* Request heads: framing, keys, ids, traces, origins. */
#include "server/cors.h"
#include "server/head.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

/* A head of "Name: value" lines. */
static struct head head_of(const char *const *lines)
{
	struct head head = {0};
	static char names[16][64];
	for (int i = 0; *lines; lines++, i++) {
		const char *colon = strchr(*lines, ':');
		snprintf(names[i], sizeof names[i], "%.*s", (int)(colon - *lines), *lines);
		head_add(&head, names[i], colon + 2);
	}
	return head;
}

#define HEAD(...) head_of((const char *const[]){__VA_ARGS__, NULL})

START_TEST(test_framing)
{
	static const struct {
		const char *lines[5];
		bool http_1_1, fault;
	} cases[] = {
		{{"Host: a"}, true, false},
		{{"host: a", "content-LENGTH: 5"}, true, false},
		{{"Host: a", "Transfer-Encoding: chunked"}, true, false},
		{{"Host: a", "Transfer-Encoding: Chunked"}, true, false},
		{{"X: a"}, true, true},
		{{"X: a"}, false, false},
		{{"Host: a", "Host: a"}, true, true},
		{{"Host: a", "Content-Length: 5", "Content-Length: 5"}, true, true},
		{{"Host: a", "Content-Length: 5", "content-length: 6"}, true, true},
		{{"Host: a", "Content-Length: 5", "Transfer-Encoding: chunked"}, true, true},
		{{"Host: a", "Transfer-Encoding: chunked", "Transfer-Encoding: identity"}, true, true},
		{{"Host: a", "Transfer-Encoding: gzip, chunked"}, true, true},
		{{"Host: a", "Transfer-Encoding: identity"}, true, true},
		{{"Host: a", "Transfer-Encoding: xchunked"}, true, true},
		{{"Host: a", "Transfer-Encoding: chunked"}, false, true},
		{{"Host: a", "Transfer-Encoding : chunked"}, true, true},
		{{"Host: a", "Content-Length\t: 5"}, true, true},
		{{"Host: a", "X y: 5"}, true, true},
		{{"Host: a", ": 5"}, true, false},
		{{"Host: a", "Accept: x", "Accept: y"}, true, false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct head head = head_of(cases[i].lines);
		const char *fault = head_fault(&head, cases[i].http_1_1);
		ck_assert_msg(!fault == !cases[i].fault, "case %zu: %s", i, fault ? fault : "taken");
	}
}
END_TEST

START_TEST(test_keys)
{
	struct head head = HEAD("Authorization: Bearer s3cret");
	ck_assert(head_has_key(&head, "s3cret"));
	ck_assert(!head_has_key(&head, "s3cre"));
	ck_assert(!head_has_key(&head, "s3cret!"));
	ck_assert(!head_has_key(&head, "s3creT"));
	head = HEAD("Authorization: bearer  s3cret");
	ck_assert(head_has_key(&head, "s3cret"));
	head = HEAD("Authorization: Basic s3cret");
	ck_assert(!head_has_key(&head, "s3cret"));
	head = HEAD("x-api-key: s3cret");
	ck_assert(head_has_key(&head, "s3cret"));
	head = HEAD("Authorization: Bearer wrong", "X-API-Key: s3cret");
	ck_assert(head_has_key(&head, "s3cret"));
	head = HEAD("Accept: s3cret");
	ck_assert(!head_has_key(&head, "s3cret"));
}
END_TEST

START_TEST(test_ids)
{
	char id[140];
	struct head head = HEAD("X-Request-Id: a-b_c.9\"\\");
	ck_assert_str_eq(head_sane_id(&head), "a-b_c.9\"\\");
	head = HEAD("X-Request-Id: two words");
	ck_assert_ptr_null(head_sane_id(&head));
	head = HEAD("X-Request-Id: caf\xc3\xa9");
	ck_assert_ptr_null(head_sane_id(&head));
	head = HEAD("X-Request-Id: ");
	ck_assert_ptr_null(head_sane_id(&head));
	head = HEAD("Accept: x");
	ck_assert_ptr_null(head_sane_id(&head));
	memset(id, 'a', sizeof id);
	id[HEAD_ID_MAX] = '\0';
	head = (struct head){.request_id = id};
	ck_assert_ptr_nonnull(head_sane_id(&head));
	id[HEAD_ID_MAX] = 'a';
	id[HEAD_ID_MAX + 1] = '\0';
	ck_assert_ptr_null(head_sane_id(&head));
}
END_TEST

START_TEST(test_traces)
{
	static const struct {
		const char *parent, *trace;
	} cases[] = {
		{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "0af7651916cd43dd8448eb211c80319c"},
		{"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", "0af7651916cd43dd8448eb211c80319c"},
		{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x", ""},
		{"00-00000000000000000000000000000000-b7ad6b7169203331-01", ""},
		{"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", ""},
		{"00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01", ""},
		{"00-0af7651916cd43dd8448eb211c80319c", ""},
		{"", ""},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char trace[HEAD_TRACE_LENGTH + 1];
		struct head head = {.traceparent = cases[i].parent};
		head_trace_id(&head, trace);
		ck_assert_str_eq(trace, cases[i].trace);
	}
}
END_TEST

START_TEST(test_origins)
{
	const char *list = "http://a.example, https://b.example:8443";
	ck_assert_ptr_null(cors_answer("", "http://a.example"));
	ck_assert_ptr_null(cors_answer(list, NULL));
	ck_assert_str_eq(cors_answer("*", "http://x"), "*");
	ck_assert_str_eq(cors_answer(list, "http://a.example"), "http://a.example");
	ck_assert_str_eq(cors_answer(list, "https://b.example:8443"), "https://b.example:8443");
	ck_assert_str_eq(cors_answer("http://a,*", "http://x"), "http://x");
	static const char *const others[] = {"http://a.example.org", "http://a.exampl", "https://a.example", "null", "", "http://a.example,"};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		ck_assert_msg(!cors_answer(list, others[i]), "%s may call", others[i]);
	ck_assert(cors_varies(list) && !cors_varies("*") && !cors_varies(""));
}
END_TEST

TEST_MAIN(test_framing, test_keys, test_ids, test_traces, test_origins)
