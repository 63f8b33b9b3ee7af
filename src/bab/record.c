/* record.c - see record.h. */
#include "bab/record.h"

#include <string.h>

enum { WORD = 8 };

static size_t padding(size_t n)
{
	return (WORD - n % WORD) % WORD;
}

/* FNV-1a over words in place of bytes. */
uint64_t bpg_record_sum(uint64_t sum, const void *data, size_t n)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < n; i += WORD) {
		uint64_t w = 0;
		memcpy(&w, p + i, BPG_MIN(n - i, (size_t)WORD));
		sum = (sum ^ w) * 1099511628211ull;
		sum ^= sum >> 29;
	}
	return sum;
}

void bpg_put(struct bpg_sink *s, const void *data, size_t n)
{
	static const char zeros[WORD];

	if (!n)
		return;
	s->sum = bpg_record_sum(s->sum, data, n);
	if (fwrite(data, 1, n, s->to) != n || fwrite(zeros, 1, padding(n), s->to) != padding(n))
		s->bad = true;
}

bool bpg_get(struct bpg_source *s, void *data, size_t n)
{
	char rest[WORD];
	size_t all = n + padding(n);

	if (!n)
		return !s->bad;
	if (!s->bad && (int64_t)all <= s->left && fread(data, 1, n, s->from) == n && fread(rest, 1, padding(n), s->from) == padding(n)) {
		s->left -= (int64_t)all;
		return true;
	}
	memset(data, 0, n);
	s->bad = true;
	return false;
}

bool bpg_get_room(struct bpg_source *s, int64_t count, size_t size)
{
	if (count < 0 || (count && (uint64_t)s->left / (uint64_t)count < size))
		s->bad = true;
	return !s->bad;
}
