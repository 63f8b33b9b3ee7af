/* memory.c - checked allocation: no size is believed before it is multiplied. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

void *bpg_calloc(size_t count, size_t size)
{
	if (size && count > PTRDIFF_MAX / size)
		return NULL;
	/* A count of 0 must not look like a failure. */
	return calloc(count ? count : 1, size ? size : 1);
}

bool bpg_grow(void *array, int64_t *room, int64_t need, size_t size)
{
	if (need <= *room)
		return true;
	int64_t more = *room > INT64_MAX / 2 ? need : BPG_MAX(need, 2 * *room);
	more = BPG_MAX(more, 8);
	if (!size || (uint64_t)more > PTRDIFF_MAX / size)
		return false;
	void *old, *new;
	memcpy(&old, array, sizeof old); /* `array` is the address of a pointer of any type */
	new = realloc(old, (size_t)more * size);
	if (!new)
		return false;
	memcpy(array, &new, sizeof new);
	*room = more;
	return true;
}
