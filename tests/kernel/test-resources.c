/* SPDX-License-Identifier: MIT */
/*
 * Resources of a recorder of kernel events that cannot start, or is closed: their number does not
 * grow with the number of recorders.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../resources.h"
#include "kernel-events/kernel-events.h"

#define ROUNDS 20

static void one_record(void)
{
	/* No pattern: the recorder is refused before it opens anything. */
	static const struct kernel_record_choice choice = {.pattern = "["};
	struct kernel_record_options options = {
			.choices = &choice, .nr_choices = 1, .directory = "/nonexistent/trace"};
	struct error error;
	struct kernel_record *record;

	assert_true(kernel_record_open(&options, &record, &error) < 0);
	assert_null(record);
}

static void test_refused(void **unused)
{
	struct resources before;

	(void)unused;
	one_record();
	before = resources_now();
	for (int i = 0; i < ROUNDS; i++)
		one_record();
	/* Do not compare mappings: the allocator may keep memory. */
	assert_int_equal(resources_now().descriptors, before.descriptors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
