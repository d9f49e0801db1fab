/* SPDX-License-Identifier: MIT */
/*
 * Which libraries the agent reports to a session that makes tables of probes for them, and in which
 * messages. The test includes the file. It provides the mapped libraries and the answers of the
 * session.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "protocol/protocol.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/library-files.h"
#include "tracers/agent/core/mappings.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/probes-part.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/wait.h"
#include "tracers/agent/probes/probes.h"

/* ---- what the file calls ---- */

#define MANY 400

static struct {
	struct base_library libraries[MANY];
	uint32_t nr;
	uint32_t more_at_scan; /* libraries that are loaded between counting and scanning */
	uint64_t known_base;   /* of a library that a table describes */
	unsigned int scans, failing_scan, takes, failing_take;
	size_t held; /* bytes of pages */
	bool is_stalled;
	int answer;
	/* what the session got */
	unsigned int messages, updates;
	uint32_t in_message[16];
	char last[4200];
} played;

static int play_each(void (*each)(void *user, const struct base_library *library), void *user)
{
	uint32_t nr = played.nr;

	if (++played.scans == played.failing_scan)
		return -EIO;
	if (played.scans % 2 == 0)
		nr += played.more_at_scan;
	for (uint32_t i = 0; i < nr; i++)
		each(user, &played.libraries[i]);
	return 0;
}

static bool play_know(const struct probes_table *tables, const struct base_library *library)
{
	(void)tables;
	return played.known_base && library->base == played.known_base;
}

static void *play_take(size_t size)
{
	if (++played.takes == played.failing_take)
		return NULL;
	played.held += size;
	return calloc(1, size);
}

static void play_give(void *pages, size_t size)
{
	assert_non_null(pages);
	assert_true(played.held >= size);
	played.held -= size;
	free(pages);
}

/* Each path has its NUL, and they fill the given size. */
static int play_exchange(
		struct agent_session *session, const char *paths, uint32_t nr, uint32_t size)
{
	uint32_t used = 0;

	(void)session;
	assert_in_range(nr, 1, WIRE_LOADED_MAX);
	for (uint32_t i = 0; i < nr; i++) {
		assert_true(paths[used] == '/');
		assert_true(strlen(paths + used) <= WIRE_LOADED_PATH_MAX);
		strcpy(played.last, paths + used);
		used += (uint32_t)strlen(paths + used) + 1;
	}
	assert_int_equal(used, size);
	assert_true(played.messages < sizeof(played.in_message) / sizeof(*played.in_message));
	played.in_message[played.messages++] = nr;
	return played.answer;
}

static bool play_stalled(const char *path)
{
	(void)path;
	return played.is_stalled;
}

static void play_update(struct agent_session *session, bool may_wait)
{
	(void)session;
	assert_true(may_wait);
	played.updates++;
}

#define base_each play_each
#define probes_locations_know play_know
#define agent_pages_take play_take
#define agent_pages_give play_give
#define agent_exchange_loaded play_exchange
#define agent_is_stalled play_stalled
#define agent_probes_update play_update
#include "tracers/agent/probes/loaded.c"

/* ---- tests ---- */

static struct agent_session session_of_test;

static int begin(void **state)
{
	(void)state;
	memset(&played, 0, sizeof(played));
	memset(&session_of_test, 0, sizeof(session_of_test));
	session_of_test.config.flags = WIRE_CONFIG_LOADS;
	return 0;
}

static int end(void **state)
{
	(void)state;
	agent_probes_forget_loaded(&session_of_test);
	assert_null(session_of_test.loaded);
	assert_int_equal(played.held, 0);
	return 0;
}

/* The text must stay. */
static struct base_library *add_library(const char *path)
{
	struct base_library *library = &played.libraries[played.nr++];

	*library = (struct base_library){.path = path,
			.path_size = (uint32_t)strlen(path),
			.base = 0x1000u * played.nr,
			.device = 1,
			.inode = played.nr};
	return library;
}

/* Reports; returns the number of messages of this report. */
static unsigned int report(bool has_new)
{
	unsigned int before = played.messages;

	assert_int_equal(probes_loaded_report(&session_of_test), has_new);
	return played.messages - before;
}

static void test_once(void **state)
{
	struct base_library *library;

	(void)state;
	add_library("/lib/one.so");
	library = add_library("/lib/two.so");
	assert_int_equal(report(true), 1);
	assert_int_equal(played.in_message[0], 2);
	assert_int_equal(played.updates, 1);
	/* Known ones are not reported again. */
	assert_int_equal(report(false), 0);
	/* A new library, and another file at a known address. */
	add_library("/lib/three.so");
	library->inode = 77;
	assert_int_equal(report(true), 1);
	assert_int_equal(played.in_message[1], 2);
	library->device = 2;
	assert_int_equal(report(true), 1);
	assert_int_equal(played.in_message[2], 1);
	assert_string_equal(played.last, "/lib/two.so");
	library->base = 0x770000;
	assert_int_equal(report(true), 1);
	/* It was unmapped, and is mapped again at the same address. */
	played.nr = 1;
	assert_int_equal(report(false), 0);
	played.nr = 3;
	assert_int_equal(report(true), 1);
	assert_int_equal(played.in_message[4], 2);
}

static void test_left_out(void **state)
{
	static char long_path[WIRE_LOADED_PATH_MAX + 2];

	(void)state;
	add_library("/lib/deleted.so")->deleted = true;
	add_library("");
	add_library("[vdso]");
	memset(long_path, 'x', sizeof(long_path) - 1);
	*long_path = '/';
	add_library(long_path);
	assert_int_equal(report(false), 0);
	/* A library of which the session has a table needs no other. */
	played.known_base = add_library("/lib/known.so")->base;
	assert_int_equal(report(false), 0);
	/* The longest path. */
	add_library(long_path)->path_size = WIRE_LOADED_PATH_MAX;
	assert_int_equal(report(true), 1);
	assert_int_equal(strlen(played.last), WIRE_LOADED_PATH_MAX);
}

/* A message has 64 paths and 32 KiB at most. Each library is in one of the messages. */
static void test_several_messages(void **state)
{
	static char paths[MANY][16], long_path[WIRE_LOADED_PATH_MAX + 1];

	(void)state;
	for (unsigned int i = 0; i < 2 * WIRE_LOADED_MAX + 1; i++) {
		(void)snprintf(paths[i], sizeof(paths[i]), "/lib/%u.so", i);
		add_library(paths[i]);
	}
	assert_int_equal(report(true), 3);
	assert_int_equal(played.in_message[0], WIRE_LOADED_MAX);
	assert_int_equal(played.in_message[1], WIRE_LOADED_MAX);
	assert_int_equal(played.in_message[2], 1);
	assert_int_equal(played.updates, 3);
	/* Exactly a full message. */
	for (unsigned int i = 0; i < WIRE_LOADED_MAX; i++)
		add_library(paths[i]);
	assert_int_equal(report(true), 1);
	/* 8 of the longest paths fill the 32 KiB. */
	memset(long_path, 'x', sizeof(long_path) - 1);
	*long_path = '/';
	for (unsigned int i = 0; i < 9; i++)
		add_library(long_path);
	assert_int_equal(report(true), 2);
	assert_int_equal(played.in_message[4], PATHS_BYTES / (WIRE_LOADED_PATH_MAX + 1));
	assert_int_equal(played.in_message[5], 1);
}

static void test_no_session(void **state)
{
	(void)state;
	add_library("/lib/one.so");
	session_of_test.config.flags = 0;
	assert_int_equal(report(false), 0);
	session_of_test.config.flags = WIRE_CONFIG_LOADS;
	session_of_test.gone = true;
	assert_int_equal(report(false), 0);
	session_of_test.gone = false;
	played.is_stalled = true;
	assert_int_equal(report(false), 0);
	assert_int_equal(played.takes, 0);
	played.is_stalled = false;
	assert_int_equal(report(true), 1);
}

/* The session has no table for the library, or does not answer: it is not asked again. */
static void test_answers(void **state)
{
	(void)state;
	add_library("/lib/one.so");
	played.answer = -EALREADY;
	assert_int_equal(report(false), 1);
	assert_int_equal(played.updates, 0);
	add_library("/lib/two.so");
	played.answer = -ETIMEDOUT;
	assert_int_equal(report(false), 1);
	assert_int_equal(played.in_message[1], 1);
	played.answer = 0;
	assert_int_equal(report(false), 0);
}

/* Without memory or /proc, nothing is reported now. A later report has all of it. */
static void test_failures(void **state)
{
	(void)state;
	add_library("/lib/one.so");
	for (unsigned int i = 1; i <= 2; i++) {
		played.takes = 0;
		played.failing_take = i;
		assert_int_equal(report(false), 0);
	}
	played.failing_take = 0;
	for (unsigned int i = 1; i <= 2; i++) {
		played.scans = 0;
		played.failing_scan = i;
		assert_int_equal(report(false), 0);
	}
	played.failing_scan = 0;
	played.scans = 0;
	assert_int_equal(report(true), 1);
}

/* Another thread loads a library between the two scans: the next report has it. */
static void test_loaded_meanwhile(void **state)
{
	(void)state;
	add_library("/lib/one.so");
	add_library("/lib/two.so");
	played.nr = 1;
	played.more_at_scan = 1;
	assert_int_equal(report(true), 1);
	assert_int_equal(played.in_message[0], 1);
	played.more_at_scan = 0;
	played.nr = 2;
	assert_int_equal(report(true), 1);
	assert_string_equal(played.last, "/lib/two.so");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
			cmocka_unit_test_setup_teardown(test_once, begin, end),
			cmocka_unit_test_setup_teardown(test_left_out, begin, end),
			cmocka_unit_test_setup_teardown(test_several_messages, begin, end),
			cmocka_unit_test_setup_teardown(test_no_session, begin, end),
			cmocka_unit_test_setup_teardown(test_answers, begin, end),
			cmocka_unit_test_setup_teardown(test_failures, begin, end),
			cmocka_unit_test_setup_teardown(test_loaded_meanwhile, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
