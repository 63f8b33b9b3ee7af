/* The kernels for GPUs, compiled for the host, have the bits of the CPU's tasks for odd shapes, whatever the order in which threads of
 * a block run between two barriers and whenever a copy that is under way arrives. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "cuda/host.h"
#include "../graph/require.h"

/* The same shapes for each order, so that what is found can be found again. */
START_TEST(test_case)
{
	const struct gpu_case *c = &gpu_cases[_i];
	uint64_t hash[3];

	for (int order = 0; order < 3; order++) {
		struct bpg_rng rng;
		bpg_rng_seed(&rng, 30);
		bpg_host_order(order == 1, order == 2);
		hash[order] = BPG_HASH_START;
		for (int i = 0; i < 40; i++) {
			char why[256] = "";
			REQUIRE(c->run(&bpg_kernels_host, &rng, &hash[order], why), "%s, order %d, shape %d of seed 30: %s", c->name, order, i, why);
		}
	}
	ck_assert(hash[0] == hash[1] && hash[0] == hash[2]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gpu kernels on the host");
	TCase *t = tcase_create("host");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, test_case, 0, gpu_case_count);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
