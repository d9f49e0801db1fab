/* SPDX-License-Identifier: MIT */
/*
 * Published changes, and threads that run code of side. The test includes the files, so that it
 * decides whether a directory is accepted, and sees each change of a mask.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "protocol/protocol.h"
#include "tracers/agent/core/control-changes.h"
#include "tracers/agent/core/control-state.h"
#include "tracers/agent/core/control.h"
#include "tracers/agent/core/own-threads.h"
#include "tracers/agent/core/rendezvous.h"
#include "probe/patch/patch.h"
#include "base/inside/raw.h"

static int place_result;

static int fake_check(const char *socket)
{
	assert_int_equal(socket[0] == '/' || !strchr(socket, '/'), 1);
	return place_result;
}

#define control_check_path fake_check
#include "tracers/agent/core/control-changes.c"

static char order[64];
static int begun, marker;

static void *fake_begin(void)
{
	strcat(order, "b");
	begun++;
	return &marker;
}

static void fake_end(void *before)
{
	assert_ptr_equal(before, &marker);
	strcat(order, "e");
	begun--;
}

static uint64_t own_threads[PATCH_NR_OWN];

#define patch_own_begin fake_begin
#define patch_own_end fake_end
#define patch_own_threads own_threads
#include "tracers/agent/core/own-threads.c"

/* As in the wrapper libraries. */
void side_wrap_own_libc(bool begins)
{
	strcat(order, begins ? "L" : "l");
}

void side_wrap_own_pthread(bool begins)
{
	strcat(order, begins ? "P" : "p");
}

/* ---- published changes ---- */

static char folders[2][32];

static void publish(int daemon, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/" WIRE_RUNTIME_SERIAL, folders[daemon]);
	unlink(path);
	if (text)
		assert_int_equal(symlink(text, path), 0);
}

static void make_socket(int daemon, bool exists)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/socket", folders[daemon]);
	unlink(path);
	if (exists)
		close(open(path, O_CREAT | O_WRONLY, 0600));
	strcpy(control.daemons[daemon], path);
}

static void test_changes(void **state)
{
	char text[CHANGES_TEXT_MAX + 1];

	(void)state;
	for (int i = 0; i < 2; i++) {
		strcpy(folders[i], "/tmp/side-changes-XXXXXX");
		assert_non_null(mkdtemp(folders[i]));
		make_socket(i, true);
		publish(i, i ? "two" : "one");
	}
	control.nr_daemons = 2;
	control_changes_applied(false);
	assert_int_equal(control_changes(), CONTROL_CHANGES_UNKNOWN);
	control_changes_asked();
	assert_int_equal(control_changes(), CONTROL_CHANGES_UNKNOWN);
	control_changes_applied(true);
	assert_int_equal(control_changes(), CONTROL_UNCHANGED);
	publish(1, "twp");
	assert_int_equal(control_changes(), CONTROL_CHANGED);
	publish(1, "two");
	assert_int_equal(control_changes(), CONTROL_UNCHANGED);
	publish(0, "onetwo");
	assert_int_equal(control_changes(), CONTROL_CHANGED);
	/* The terminator of each text is hashed, too. */
	publish(0, "onet");
	publish(1, "wo");
	assert_int_equal(control_changes(), CONTROL_CHANGED);
	control_changes_asked();
	control_changes_applied(true);
	assert_int_equal(control_changes(), CONTROL_UNCHANGED);
	publish(0, "one");
	publish(1, "two");
	control_changes_asked();
	control_changes_applied(true);
	/* The second directory is missing: its text is empty. One is enough. */
	publish(1, NULL);
	make_socket(1, false);
	assert_int_equal(control_changes(), CONTROL_CHANGED);
	control_changes_asked();
	control_changes_applied(true);
	assert_int_equal(control_changes(), CONTROL_UNCHANGED);
	control.nr_daemons = 1;
	assert_int_equal(control_changes(), CONTROL_CHANGED);
	control.nr_daemons = 2;
	/* A socket without the text: the state is unknown, and therefore another value. */
	make_socket(1, true);
	assert_int_equal(changes_published(), CHANGES_UNKNOWN);
	assert_int_equal(control_changes(), CONTROL_CHANGED);
	control_changes_asked();
	control_changes_applied(true);
	assert_int_equal(control_changes(), CONTROL_CHANGES_UNKNOWN);
	/* A text that is too long, and one of the greatest length. */
	memset(text, 't', sizeof(text));
	text[CHANGES_TEXT_MAX] = 0;
	publish(1, text);
	assert_int_equal(changes_published(), CHANGES_UNKNOWN);
	text[CHANGES_TEXT_MAX - 1] = 0;
	publish(1, text);
	assert_int_not_equal(changes_published(), CHANGES_UNKNOWN);
	/* No daemon at all. */
	publish(0, NULL);
	publish(1, NULL);
	make_socket(0, false);
	make_socket(1, false);
	assert_int_equal(changes_published(), CHANGES_UNKNOWN);
	publish(0, "one");
	assert_int_not_equal(changes_published(), CHANGES_UNKNOWN);
	/* A directory of another user has no daemon. */
	place_result = -EPERM;
	assert_int_equal(changes_published(), CHANGES_UNKNOWN);
	assert_int_equal(changes_read(control.daemons[0], text), 0);
	place_result = -ENOTDIR;
	assert_int_equal(changes_read(control.daemons[0], text), 0);
	place_result = -EIO;
	assert_int_equal(changes_read(control.daemons[0], text), 3);
	assert_memory_equal(text, "one", 3);
	place_result = 0;
	assert_int_equal(changes_read("relative", text), -EINVAL);
	/* A rendezvous socket publishes no changes. */
	assert_int_equal(agent_rendezvous_set("/door"), 0);
	assert_int_equal(changes_published(), CHANGES_UNKNOWN);
	assert_int_equal(agent_rendezvous_set(NULL), 0);
	assert_int_not_equal(changes_published(), CHANGES_UNKNOWN);
	publish(0, NULL);
	for (int i = 0; i < 2; i++) {
		make_socket(i, false);
		assert_int_equal(rmdir(folders[i]), 0);
	}
	control.nr_daemons = 0;
}

/* FNV-1a of 64 bits, with a separator after each text. */
static void test_hash(void **state)
{
	const uint64_t prime = UINT64_C(1099511628211);

	(void)state;
	assert_true(changes_mix(5, "", 0) == (5 ^ 0x100) * prime);
	/* The known value of "a" is the one before the separator. */
	assert_true(changes_mix(UINT64_C(14695981039346656037), "a", 1) ==
			(UINT64_C(0xaf63dc4c8601ec8c) ^ 0x100) * prime);
	assert_true(changes_mix(UINT64_C(14695981039346656037), "foobar", 6) ==
			(UINT64_C(0x85944171f73967e8) ^ 0x100) * prime);
}

/* ---- threads of side ---- */

static uint64_t mask_now(void)
{
	uint64_t mask = 0;

	assert_int_equal(raw_call(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, 8), 0);
	return mask;
}

static void test_own(void **state)
{
	const uint64_t before = mask_now();
	const uint64_t open = 1ull << (SIGTRAP - 1) | 1ull << (SIGILL - 1) | 1ull << (SIGSEGV - 1) |
			1ull << (SIGBUS - 1) | 1ull << 32;
	const uint64_t fixed = 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1);
	struct agent_own own, inner;
	uint64_t saved = 0, *word;

	(void)state;
	assert_int_equal(before & (1ull << (SIGUSR1 - 1)), 0);
	agent_own_begin(&own);
	assert_true(mask_now() == (before | (~open & ~fixed)));
	assert_string_equal(order, "LPb");
	assert_true(own.blocks && own.mask == before && own.before == &marker);
	agent_own_begin_start(&inner);
	assert_false(inner.blocks);
	assert_string_equal(order, "LPbLPb");
	agent_own_end(&inner);
	assert_string_equal(order, "LPbLPbelp");
	assert_true(mask_now() == (before | (~open & ~fixed)));
	agent_own_end(&own);
	assert_string_equal(order, "LPbLPbelpelp");
	assert_true(mask_now() == before);
	/* For injected code: a thread that it creates, or fails to create. */
	*order = 0;
	own_threads[PATCH_OWN_ATTACH] = 0;
	word = side_agent_own_begin(&saved);
	assert_ptr_equal(word, &own_threads[PATCH_OWN_ATTACH]);
	assert_true(saved == (uintptr_t)&marker);
	assert_string_equal(order, "LPb");
	*word = 77;
	side_agent_own_end(saved, 0);
	assert_int_equal(own_threads[PATCH_OWN_ATTACH], 77);
	assert_string_equal(order, "LPbelp");
	saved = 0;
	(void)side_agent_own_begin(&saved);
	side_agent_own_end(saved, EAGAIN);
	assert_int_equal(own_threads[PATCH_OWN_ATTACH], 0);
	*order = 0;
	own_threads[PATCH_OWN_ATTACH] = 78;
	own_threads[PATCH_OWN_CONTROL] = 79;
	side_agent_own_thread();
	assert_true(own_threads[PATCH_OWN_ATTACH] == 0 && own_threads[PATCH_OWN_CONTROL] == 79);
	assert_string_equal(order, "LPb");
	agent_own_control_begins();
	assert_true(own_threads[PATCH_OWN_CONTROL] == 0);
	assert_ptr_equal(agent_own_control(), &own_threads[PATCH_OWN_CONTROL]);
	agent_own_task_begins();
	assert_string_equal(order, "LPbLPbLPb");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_changes),
			cmocka_unit_test(test_hash),
			cmocka_unit_test(test_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
