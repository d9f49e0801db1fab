/* SPDX-License-Identifier: MIT */
/* The patterns of kernel events that sessions request, from simulated answers of a daemon. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../counted-json.h"
#include "../failing-calls.h"
#include "../resources.h"

#include "programs/common/ask.h"
#include "sessions/client.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *answers[4]; /* of each call; NULL: it fails */
static char asked[200];        /* the sessions of all requests */
static unsigned int nr_calls, nr_open;
static bool connects;
static const char *socket_path;

static int fake_connect(struct ask *ask, bool system, struct error *error)
{
	(void)error;
	assert_false(system);
	memset(ask, 0, sizeof(*ask));
	nr_open += connects;
	return connects ? 0 : -1;
}

static void fake_close(struct ask *ask)
{
	(void)ask;
	nr_open--;
}

static int fake_call(struct control_client *client, struct json_object *request, int timeout,
		struct json_object **answer, struct error *error)
{
	const char *text = answers[nr_calls++];

	(void)client;
	(void)error;
	assert_string_equal(ask_text(request, "verb"), "status");
	(void)snprintf(asked + strlen(asked), sizeof(asked) - strlen(asked), "%s;",
			ask_text(request, "session"));
	assert_int_equal(timeout, 5000);
	*answer = text ? json_tokener_parse(text) : NULL;
	return text ? 0 : -1;
}

static const char *fake_path(const struct control_client *client)
{
	(void)client;
	return socket_path;
}

#define ask_connect_silently fake_connect
#define ask_close fake_close
#define control_call fake_call
#define control_path fake_path
#include "programs/side-kernel/wanted.c"

#define SESSIONS "{\"sessions\":[{\"name\":\"one\"},{\"name\":\"two\"}]}"

static void test_patterns(void **unused)
{
	static const char *const expected[][2] = {
			{"kernel::sched:*", NULL},
			{"kernel::irq:*", "a == 1"},
			{"kernel::irq:*", "a == 2"},
			{"kernel::irq:*", NULL},
			{"kernel::net:*", NULL},
	};
	struct side_kernel_selection wanted;
	size_t memory = 0;

	(void)unused;
	connects = true;
	nr_calls = 0;
	answers[0] = SESSIONS;
	answers[1] = "{\"sessions\":[{\"definition\":{\"channels\":["
		     "{\"rules\":[{\"event\":[\"kernel::sched:*\",\"!kernel::sched:x\",\"user:*\",\"kernel::sched:*\"]},"
		     "{\"event\":[\"kernel::irq:*\"],\"filter\":\"a == 1\"},{\"event\":[\"kernel::irq:*\"],\"filter\":\"a == 2\"}]},"
		     "{\"rules\":[{\"event\":[\"kernel::irq:*\"],\"filter\":\"a == 2\"},{\"event\":[\"kernel::irq:*\"]}]}]}}]}";
	answers[2] = "{\"sessions\":[{\"name\":\"none\"},{\"definition\":{\"channels\":[{\"rules\":[{\"event\":[\"kernel::net:*\"]}]}]}}]}";
	wanted_ask(&wanted);
	assert_true(wanted.is_reached);
	assert_int_equal(nr_calls, 3);
	assert_string_equal(asked, ";one;two;");
	assert_int_equal(nr_open, 0);
	for (size_t i = 0; i < wanted.nr; i++) {
		assert_true(i < sizeof(expected) / sizeof(expected[0]));
		assert_string_equal(wanted.choices[i].pattern, expected[i][0]);
		assert_int_equal(!wanted.choices[i].expression, !expected[i][1]);
		if (expected[i][1])
			assert_string_equal(wanted.choices[i].expression, expected[i][1]);
	}
	assert_int_equal(wanted.nr, sizeof(expected) / sizeof(expected[0]));
	wanted_free(&wanted);
	assert_int_equal(wanted.nr, 0);
	assert_null(wanted.choices);
	/* malloc() keeps some free blocks. A block that is lost each time is more. */
	for (int i = 0; i < 2100; i++) {
		memory = i == 1999 ? resources_memory() : memory;
		nr_calls = 0;
		*asked = '\0';
		wanted_ask(&wanted);
		wanted_free(&wanted);
	}
	assert_true(resources_memory() < memory + 1600);
}

static void test_failures(void **unused)
{
	struct side_kernel_selection wanted = {.is_reached = true};

	(void)unused;
	connects = false;
	wanted_ask(&wanted);
	assert_false(wanted.is_reached);
	assert_int_equal(wanted.nr, 0);
	connects = true;
	nr_calls = 0;
	answers[0] = NULL;
	wanted_ask(&wanted);
	assert_false(wanted.is_reached);
	assert_int_equal(nr_open, 0);
	/* If one session has ended in between, the patterns of the others stay. */
	nr_calls = 0;
	answers[0] = SESSIONS;
	answers[1] = NULL;
	answers[2] = "{\"sessions\":[{\"definition\":{\"channels\":[{\"rules\":[{\"event\":[\"kernel::net:*\"]}]}]}}]}";
	wanted_ask(&wanted);
	assert_true(wanted.is_reached);
	assert_int_equal(wanted.nr, 1);
	wanted_free(&wanted);
}

/* Without memory, a pattern or a filter is left out; without a filter the kernel records more. */
static void test_memory(void **unused)
{
	struct side_kernel_selection wanted;

	(void)unused;
	connects = true;
	for (unsigned int i = 0; i < 4; i++) {
		struct json_object *channel = json_tokener_parse(
				"{\"rules\":[{\"event\":[\"kernel::irq:*\"],\"filter\":\"a == 1\"}]}");
		struct json_object *other =
				json_tokener_parse("{\"rules\":[{\"event\":[\"kernel::net:*\"]}]}");

		wanted = (struct side_kernel_selection){.nr = 0};
		/* The list, the pattern, its filter. */
		failing_arm(i < 3 ? i + 1 : 0);
		side_kernel_spec_add_channel(&wanted, channel);
		assert_int_equal(failing_has_failed(), i < 3);
		assert_int_equal(wanted.nr, i >= 2);
		if (i >= 2)
			assert_int_equal(wanted.choices[0].expression != NULL, i == 3);
		side_kernel_spec_add_channel(&wanted, other);
		assert_int_equal(wanted.nr, i < 2 ? 1 : 2);
		wanted_free(&wanted);
		json_object_put(channel);
		json_object_put(other);
	}
}

static void test_place(void **unused)
{
	char found[16] = "";

	(void)unused;
	connects = false;
	assert_false(selection_socket_dir(found, sizeof(found)));
	connects = true;
	socket_path = "/a/b/c.sock";
	assert_true(selection_socket_dir(found, sizeof(found)));
	assert_string_equal(found, "/a/b");
	socket_path = "c.sock";
	assert_false(selection_socket_dir(found, sizeof(found)));
	assert_int_equal(nr_open, 0);
}

static int no_object_is_left(void **unused)
{
	(void)unused;
	return nr_objects;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_teardown(test_patterns, no_object_is_left),
			cmocka_unit_test_teardown(test_failures, no_object_is_left),
			cmocka_unit_test_teardown(test_memory, no_object_is_left),
			cmocka_unit_test_teardown(test_place, no_object_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
