/* text.c - names from files, made fit for a message. */
#include "base/base.h"

#include <string.h>

#define LONGEST 120

const char *bpg_printable(const char *s, char buf[128])
{
	if (!s)
		s = "";
	size_t n = strnlen(s, LONGEST + 1);
	bool cut = n > LONGEST;
	if (cut) {
		n = LONGEST - 3;
		while (n && ((unsigned char)s[n] & 0xc0) == 0x80) /* never in the middle of a UTF-8 character */
			n--;
	}
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		buf[i] = (char)(c < 0x20 || c == 0x7f ? '?' : c);
	}
	strcpy(buf + n, cut ? "..." : "");
	return buf;
}
