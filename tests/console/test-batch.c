/* SPDX-License-Identifier: MIT */
/*
 * Descriptions that the console tracer cannot read: it reports each, and enables the others of the
 * batch.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "tracers/console/console.c"

side_static_event(ev_good, "p", "good", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u8("x")));
side_static_event(ev_other, "p", "other", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u8("x")));

/* Returns the output for a batch. */
static char *notified(enum side_tracer_notification notification,
		struct side_event_description **events, uint32_t nr)
{
	static char text[4096];
	int file = memfd_create("output", MFD_CLOEXEC), saved = dup(STDOUT_FILENO);
	ssize_t size;

	assert_true(file >= 0 && saved >= 0);
	assert_int_equal(dup2(file, STDOUT_FILENO), STDOUT_FILENO);
	console_on_batch(notification, events, nr, NULL);
	assert_int_equal(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
	size = pread(file, text, sizeof(text) - 1, 0);
	assert_true(size >= 0);
	text[size] = '\0';
	close(saved);
	close(file);
	return text;
}

static void test_versions(void **unused)
{
	struct side_event_description later = ev_good, larger = ev_good, damaged = ev_good;
	struct side_event_description *events[] = {&later, NULL, &damaged};
	char *text;

	(void)unused;
	later.version++;
	side_ptr_set(damaged.event_name, NULL);
	text = notified(SIDE_TRACER_NOTIFICATION_INSERT_EVENTS, events, 3);
	assert_non_null(strstr(text,
			"Error: an event description has version 1, the console tracer knows 0\n"));
	assert_null(strstr(text, "event: good"));
	assert_non_null(strstr(text, "provider: p, event: (null)\nError: "));
	assert_null(strstr(text, "fields"));
	/* One error, and no part of the description. */
	assert_null(strstr(strstr(text, "(null)\nError: ") + strlen("(null)\nError: "), "Error"));
	assert_string_equal(strchr(strstr(text, "(null)\nError: ") + strlen("(null)\n"), '\n'),
			"\n" DASHES);
	/* The other members of an unknown version are not read, also when the event is removed. */
	text = notified(SIDE_TRACER_NOTIFICATION_REMOVE_EVENTS, events, 1);
	assert_string_equal(text, DASHES "Tracer notified of events removed\n" DASHES);
	events[0] = &larger;
	larger.struct_size += 8;
	larger.nr_side_type_label = _NR_SIDE_TYPE_LABEL + 2;
	larger.nr_side_attr_type = _NR_SIDE_ATTR_TYPE + 3;
	text = notified(SIDE_TRACER_NOTIFICATION_INSERT_EVENTS, events, 1);
	assert_non_null(strstr(text, "Warning: the event description has "));
	assert_non_null(strstr(text,
			"Warning: the event may use 2 type labels that the console tracer does not know\n"));
	assert_non_null(strstr(text,
			"Warning: the event may use 3 attribute types that the console tracer does not know\n"));
	larger = ev_good;
	text = notified(SIDE_TRACER_NOTIFICATION_REMOVE_EVENTS, events, 1);
	assert_string_equal(text,
			DASHES
			"Tracer notified of events removed\nprovider: p, event: good\n" DASHES);
}

/*
 * A description that another batch contains is registered already. A description that cannot be
 * enabled is reported.
 */
static void test_twice(void **unused)
{
	struct side_event_description *events[] = {&ev_other}, without = ev_good,
				      *wrong[] = {&without};
	char *text;

	(void)unused;
	text = notified(SIDE_TRACER_NOTIFICATION_INSERT_EVENTS, events, 1);
	assert_non_null(strstr(text, "event: other\n"));
	assert_null(strstr(text, "Error"));
	assert_null(strstr(text, "Warning"));
	side_ptr_set(without.state, NULL);
	assert_non_null(strstr(
			notified(SIDE_TRACER_NOTIFICATION_INSERT_EVENTS, wrong, 1), "Error: "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_versions), cmocka_unit_test(test_twice)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
