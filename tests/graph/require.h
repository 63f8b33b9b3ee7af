/* require.h - an assertion for inner loops: Check's own one writes to a file each time it holds. */
#ifndef REQUIRE_H
#define REQUIRE_H

#include <check.h>

#define REQUIRE(condition, ...)                    \
	do {                                       \
		if (!(condition))                  \
			ck_abort_msg(__VA_ARGS__); \
	} while (0)

#endif
