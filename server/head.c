#include "head.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void head_add(struct head *head, const char *name, const char *value)
{
	static const struct {
		size_t offset, length;
		const char *name;
	} fields[] = {
#define HEAD_FIELD(member, name) {offsetof(struct head, member), sizeof name - 1, name},
		HEAD_FIELDS(HEAD_FIELD)
#undef HEAD_FIELD
	};
	enum { FRAMING = 3 }; /* the first fields of the table decide where the request ends and whom it is for */

	size_t length = strlen(name);
	for (const char *c = name; *c; c++) {
		if (*c <= ' ' || *c >= 0x7f)
			head->bad_name = true;
	}
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		if (fields[i].length != length || strcasecmp(fields[i].name, name) != 0)
			continue;
		const char **member = (const char **)(void *)((char *)head + fields[i].offset);
		if (!*member)
			*member = value ? value : "";
		else if (i < FRAMING)
			head->twice = true;
		return;
	}
}

const char *head_fault(const struct head *head, bool http_1_1)
{
	if (head->bad_name || (head->content_length && !*head->content_length))
		return "a header field is malformed; send each as Name: value";
	if (head->twice)
		return "Host, Content-Length and Transfer-Encoding may each be sent once only";
	if (head->transfer_encoding && head->content_length)
		return "send either Content-Length or Transfer-Encoding: chunked, not both";
	if (head->transfer_encoding && (strcasecmp(head->transfer_encoding, "chunked") != 0 || !http_1_1))
		return "the only transfer encoding is chunked, in HTTP/1.1";
	if (http_1_1 && !head->host)
		return "HTTP/1.1 wants a Host header field";
	return NULL;
}

size_t head_content_length(const struct head *head)
{
	return head->content_length ? strtoull(head->content_length, NULL, 10) : 0;
}

/* Takes the same time whatever the first difference is; the length of the key is no secret. */
static bool same_key(const char *sent, const char *key)
{
	size_t length = strlen(key);
	if (strlen(sent) != length)
		return false;
	volatile unsigned char difference = 0;
	for (size_t i = 0; i < length; i++)
		difference |= (unsigned char)(sent[i] ^ key[i]);
	return difference == 0;
}

bool head_has_key(const struct head *head, const char *key)
{
	static const char bearer[] = "Bearer ";
	const char *authorization = head->authorization;
	if (authorization && strncasecmp(authorization, bearer, sizeof bearer - 1) == 0) {
		authorization += sizeof bearer - 1;
		if (same_key(authorization + strspn(authorization, " "), key))
			return true;
	}
	return head->api_key && same_key(head->api_key, key);
}

const char *head_sane_id(const struct head *head)
{
	const char *id = head->request_id;
	if (!id || !*id || strlen(id) > HEAD_ID_MAX)
		return NULL;
	for (const char *c = id; *c; c++) {
		if (*c <= ' ' || *c >= 0x7f)
			return NULL;
	}
	return id;
}

/* traceparent: 2 hex of version, 32 of trace id, 16 of parent id, 2 of flags, joined by '-' (W3C Trace Context). */
void head_trace_id(const struct head *head, char trace[HEAD_TRACE_LENGTH + 1])
{
	static const char hex[] = "0123456789abcdef";
	static const size_t widths[] = {2, HEAD_TRACE_LENGTH, 16, 2};
	const char *t = head->traceparent, *id = NULL;
	*trace = '\0';
	for (size_t i = 0; t && i < 4; i++) {
		if (strspn(t, hex) != widths[i])
			return;
		if (i == 1)
			id = t;
		t += widths[i];
		if (i < 3 && *t++ != '-')
			return;
	}
	if (!id || (*t && *t != '-') || strspn(id, "0") >= HEAD_TRACE_LENGTH)
		return;
	memcpy(trace, id, HEAD_TRACE_LENGTH);
	trace[HEAD_TRACE_LENGTH] = '\0';
}

void head_make_id(uint64_t seed, uint64_t count, char id[HEAD_ID_MAX + 1])
{
	uint64_t z = seed + 0x9e3779b97f4a7c15u * count;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	z ^= z >> 31;
	for (unsigned i = 0; i < 16; i++, z <<= 4)
		id[i] = "0123456789abcdef"[z >> 60];
	id[16] = '\0';
}

const char *head_path(const char *url)
{
	const char *authority = *url == '/' ? NULL : strstr(url, "://");
	if (!authority)
		return url;
	const char *path = strchr(authority + 3, '/');
	return path ? path : "/";
}

bool head_is_health(const char *path)
{
	static const char *const paths[] = {"/healthz", "/readyz", "/v2/health/live", "/v2/health/ready"};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		if (strcmp(path, paths[i]) == 0)
			return true;
	}
	return false;
}
