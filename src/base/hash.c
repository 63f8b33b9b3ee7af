/* hash.c - FNV-1a. For tables and for fingerprints of plans and bounds, not against an adversary. */
#include "base/base.h"

#include <string.h>

uint64_t bpg_hash(uint64_t h, const void *data, size_t n)
{
	const unsigned char *p = data;
	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 1099511628211ull;
	return h;
}

/* With the terminator, so that "ab","c" and "a","bc" differ. */
uint64_t bpg_hash_str(uint64_t h, const char *s)
{
	return bpg_hash(h, s, strlen(s) + 1);
}

uint64_t bpg_unique(void)
{
	static _Atomic uint64_t last;

	return ++last;
}
