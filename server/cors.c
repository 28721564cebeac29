#include "cors.h"

#include <string.h>
#include <strings.h>

bool cors_varies(const char *allowed)
{
	return *allowed && strcmp(allowed, "*") != 0;
}

const char *cors_answer(const char *allowed, const char *origin)
{
	if (!origin || !*allowed)
		return NULL;
	if (strcmp(allowed, "*") == 0)
		return "*";
	size_t length = strlen(origin);
	for (const char *entry = allowed;;) {
		entry += strspn(entry, " ,");
		size_t n = strcspn(entry, " ,");
		if (n == 0)
			return NULL;
		if (n == 1 && *entry == '*')
			return origin;
		if (n == length && strncasecmp(entry, origin, n) == 0)
			return origin;
		entry += n;
	}
}
