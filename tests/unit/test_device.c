/* What a worker has of its device: room holds its content while a task needs it, tables are made once for each content, and those longest
 * unused go when there is no room for more. The device is the host. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "rt/device.h"

enum { KEEP = 1 << 20 };

static int made;

/* A table of *arg bytes, each the low byte of that number. */
static bool make(const void *arg, struct bpg_table *t)
{
	int64_t n = *(const int64_t *)arg;

	made++;
	t->part[0] = malloc((size_t)n);
	t->bytes[0] = (size_t)n;
	memset(t->part[0], (int)(n & 0xff), (size_t)n);
	return true;
}

static const unsigned char *table(struct bpg_device *d, int64_t n)
{
	const struct bpg_table *t = bpg_device_table(d, &n, sizeof n, make, &n);

	ck_assert_ptr_nonnull(t);
	return t->part[0];
}

/* Was it there? It is now. */
static bool kept(struct bpg_device *d, int64_t n)
{
	int before = made;

	table(d, n);
	return made == before;
}

START_TEST(test_tables)
{
	struct bpg_device *d = bpg_device_new(NULL, &bpg_kernels_host, KEEP);

	made = 0;
	bpg_device_begin(d, NULL);
	const unsigned char *first = table(d, 1000);
	ck_assert(first == table(d, 1000) && made == 1);
	ck_assert(first[0] == (1000 & 0xff) && first[999] == (1000 & 0xff));
	/* More than is kept in all, task by task. */
	for (int64_t i = 0; i < 200; i++) {
		bpg_device_begin(d, NULL);
		const unsigned char *x = table(d, 100000 + i);
		ck_assert(x[0] == ((100000 + i) & 0xff) && x[99999] == x[0]);
	}
	ck_assert_int_eq(made, 201);
	bpg_device_begin(d, NULL);
	ck_assert(kept(d, 100199) && kept(d, 100198));
	bpg_device_begin(d, NULL);
	ck_assert(!kept(d, 1000) && !kept(d, 100000));
	/* What one task asks for stays until it ends, even where it is more than is kept. */
	bpg_device_begin(d, NULL);
	const unsigned char *held[30];
	for (int64_t i = 0; i < 30; i++)
		held[i] = table(d, 200000 + i);
	for (int64_t i = 0; i < 30; i++)
		ck_assert(held[i] == table(d, 200000 + i) && held[i][200000 - 1] == ((200000 + i) & 0xff));
	bpg_device_free(d);
}
END_TEST

/* Tasks that need much room and send much, then little, then more: each has its own bytes, aligned. */
START_TEST(test_room)
{
	static const size_t sizes[] = { 1, 5 << 20, 3, 300, 1 << 20, 7 << 20, 16, 0, 2 << 20 };
	struct bpg_device *d = bpg_device_new(NULL, &bpg_kernels_host, KEEP);
	unsigned char *from = malloc(8 << 20), *at[BPG_LEN(sizes)];

	for (int task = 0; task < 5; task++) {
		bpg_device_begin(d, NULL);
		for (size_t i = 0; i < BPG_LEN(sizes); i++) {
			memset(from, task * 16 + (int)i, sizes[i]);
			at[i] = task % 2 && i % 2 ? memset(bpg_device_room(d, sizes[i]), task * 16 + (int)i, sizes[i]) : bpg_device_send(d, from, sizes[i]);
			ck_assert((uintptr_t)at[i] % 16 == 0);
		}
		for (size_t i = 0; i < BPG_LEN(sizes); i++)
			for (size_t b = 0; b < sizes[i]; b += sizes[i] > 4096 ? 4095 : 1)
				ck_assert_int_eq(at[i][b], task * 16 + (int)i);
	}
	free(from);
	bpg_device_free(d);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("device");
	TCase *t = tcase_create("host");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_tables);
	tcase_add_test(t, test_room);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
