/* SPDX-License-Identifier: MIT */
/*
 * CHECK counts the conditions and those that are false, and continues: a test that ended at the
 * first one would leave threads in code with probes. The test prints both numbers at its end.
 */
#ifndef TESTS_PROBE_PATCH_COUNTED_CHECK_H
#define TESTS_PROBE_PATCH_COUNTED_CHECK_H

#include <stdbool.h>
#include <stdio.h>

#define CHECK(condition) check((condition), #condition, __LINE__)

static unsigned int wrong, checks;

static void check(bool condition, const char *text, int line)
{
	checks++;
	if (condition)
		return;
	wrong++;
	printf("line %d: not so: %s\n", line, text);
}

#endif /* TESTS_PROBE_PATCH_COUNTED_CHECK_H */
