/* SPDX-License-Identifier: MIT */
/*
 * Memory of the agent in a traced program: the number of mappings does not grow with the number of
 * sessions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../resources.h"
#include "tracers/agent/core/recovery.h"
#include "tracers/agent/core/session.h"

#define ROUNDS 50

static struct agent_session session;

static void one_session(void)
{
	static const char description[100000];

	agent_recovery_begin(&session);
	assert_non_null(session.recovery);
	for (int i = 0; i < 3; i++)
		agent_recovery_add(&session, description, sizeof(description));
	agent_recovery_end(&session);
	assert_null(session.recovery);
}

static void test_recovery(void **unused)
{
	struct resources before;

	(void)unused;
	one_session();
	before = resources_now();
	for (int i = 0; i < ROUNDS; i++)
		one_session();
	assert_true(resources_are_same(before, resources_now()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_recovery)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
