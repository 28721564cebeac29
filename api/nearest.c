#include "nearest.h"

#include <string.h>
#include <strings.h>

enum { MOST = 63, FAR = 99 };

static char fold(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return c == '-' ? '_' : c;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned edit_distance(const char *a, const char *b)
{
	size_t m = strlen(a), n = strlen(b);
	unsigned char rows[3][MOST + 1];
	unsigned char *before = rows[0], *above = rows[1], *here = rows[2];

	if (m > MOST || n > MOST)
		return FAR;
	if (m > 1 && m < n && strncasecmp(a, b, m) == 0)
		return 1 + (unsigned)(n - m) / 8;
	for (size_t j = 0; j <= n; j++)
		above[j] = (unsigned char)j;
	for (size_t i = 1; i <= m; i++) {
		here[0] = (unsigned char)i;
		for (size_t j = 1; j <= n; j++) {
			char x = fold(a[i - 1]), y = fold(b[j - 1]);
			unsigned d = least(least(above[j], here[j - 1]) + 1u, above[j - 1] + (x != y));
			if (i > 1 && j > 1 && x == fold(b[j - 2]) && fold(a[i - 2]) == y)
				d = least(d, before[j - 2] + 1u);
			here[j] = (unsigned char)d;
		}
		unsigned char *oldest = before;
		before = above;
		above = here;
		here = oldest;
	}
	return above[n] + (m && n && fold(a[0]) != fold(b[0]));
}

int is_near(const char *name, unsigned distance)
{
	size_t len = strlen(name);
	return distance < FAR && distance <= (len < 3 ? 1 : len < 6 ? 2 : len / 3) && distance < len;
}
