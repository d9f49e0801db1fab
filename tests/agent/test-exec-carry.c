/* SPDX-License-Identifier: MIT */
/*
 * The environment of the programs that an attached program starts: the variables of the recording
 * are added, and the others stay. The test includes exec-preload.c, and plays the C library's exec.
 */
#include <errno.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/vfork.h"

static bool is_sandboxed;
static __thread int vforked;

#define agent_is_sandboxed() is_sandboxed
#define agent_vforked vforked
#include "tracers/agent/core/exec-preload.c" /* NOLINT(bugprone-suspicious-include): plays exec */
#undef agent_vforked
#undef agent_is_sandboxed

static char got[65536];
static int refusals;
static char own_socket[64];

/* Notes the environment, one variable in each line. */
static int played_exec(const char *path, char *const args[], char *const environment[])
{
	(void)path;
	(void)args;
	*got = '\0';
	for (; environment && *environment; environment++)
		strcat(strcat(got, *environment), "\n");
	errno = refusals-- > 0 ? E2BIG : ENOENT;
	return -1;
}

static int played_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		const posix_spawnattr_t *attributes, char *const args[], char *const environment[])
{
	(void)pid;
	(void)actions;
	(void)attributes;
	(void)played_exec(path, args, environment);
	return errno;
}

static const char *run(char *const environment[])
{
	errno = EIO;
	if (!exec_is_carried(environment)) {
		assert_int_equal(errno, EIO);
		return "unchanged";
	}
	assert_int_equal(errno, EIO);
	assert_int_equal(exec_restored(played_exec, "/x", NULL, environment), -1);
	assert_int_equal(errno, ENOENT);
	return got;
}

static void carry(void)
{
	assert_int_equal(exec_carry("/lib/agent.so:more", strlen("/lib/agent.so"), own_socket), 0);
}

static const char *expect(const char *before, const char *after)
{
	static char text[1024];

	(void)snprintf(text, sizeof(text), "%sSIDE_AGENT_SOCKET=%s%s", before, own_socket, after);
	return text;
}

#define VERIFY "verify_asan_link_order=0"

static void test_variables(void **state)
{
	char one[] = "A=1", preload[] = "LD_PRELOAD=/b.so", sanitizer[] = "ASAN_OPTIONS=x=1",
	     kept[] = "ASAN_OPTIONS=verify_asan_link_order=1",
	     empty[] = "LD_PRELOAD=", socket[] = "SIDE_AGENT_SOCKET=/s", passed[128],
	     agent[] = "LD_PRELOAD=/lib/agent.so";
	char *const none[] = {NULL}, *const plain[] = {one, NULL},
		    *const all[] = {preload, one, socket, sanitizer, NULL},
		    *const other[] = {kept, empty, NULL}, *const same[] = {passed, NULL},
		    *const known[] = {agent, one, NULL};

	(void)state;
	assert_string_equal(run(plain), "unchanged");
	carry();
	assert_string_equal(run(NULL), "unchanged");
	assert_string_equal(run(none),
			expect("LD_PRELOAD=/lib/agent.so\n",
					"\n"
					"ASAN_OPTIONS=" VERIFY "\n"));
	assert_string_equal(run(plain),
			expect("A=1\nLD_PRELOAD=/lib/agent.so\n",
					"\n"
					"ASAN_OPTIONS=" VERIFY "\n"));
	assert_string_equal(run(all),
			expect("A=1\nLD_PRELOAD=/lib/agent.so:/b.so\n",
					":/s\n"
					"ASAN_OPTIONS=" VERIFY ":x=1\n"));
	assert_string_equal(run(other),
			expect("ASAN_OPTIONS=verify_asan_link_order=1\n"
			       "LD_PRELOAD=/lib/agent.so\n",
					"\n"));
	assert_string_equal(run(known),
			expect("LD_PRELOAD=/lib/agent.so\nA=1\n",
					"\n"
					"ASAN_OPTIONS=" VERIFY "\n"));
	(void)snprintf(passed, sizeof(passed), "SIDE_AGENT_SOCKET=/o:%s", own_socket);
	assert_string_equal(run(same), "unchanged");
	/* The program's own environment is the same as before. */
	assert_string_equal(preload, "LD_PRELOAD=/b.so");
	assert_ptr_equal(all[2], socket);
	exec_carry_end("/other");
	assert_string_not_equal(run(plain), "unchanged");
	exec_carry_end(own_socket);
	assert_string_equal(run(plain), "unchanged");
	carry();
	exec_carry_end(NULL);
	assert_string_equal(run(plain), "unchanged");
}

/* The child of a vfork(), a sandbox, an environment that is too large for the call, posix_spawn(). */
static void test_calls(void **state)
{
	char one[] = "A=1", large[5000], *const plain[] = {one, NULL}, *many[600];

	(void)state;
	carry();
	vforked = 1;
	assert_non_null(strstr(run(plain), "LD_PRELOAD=/lib/agent.so\n"));
	/* The copy would not fit the stack. */
	for (size_t i = 0; i < 599; i++)
		many[i] = one;
	many[599] = NULL;
	assert_null(strstr(run(many), "LD_PRELOAD"));
	vforked = 0;
	assert_non_null(strstr(run(many), "LD_PRELOAD=/lib/agent.so\n"));
	refusals = 1;
	assert_string_equal(run(plain), "A=1\n");
	refusals = 1;
	assert_int_equal(exec_spawn_restored(played_spawn, NULL, "/x", NULL, NULL, NULL, plain),
			ENOENT);
	assert_string_equal(got, "A=1\n");
	assert_int_equal(exec_spawn_restored(played_spawn, NULL, "/x", NULL, NULL, NULL, plain),
			ENOENT);
	assert_non_null(strstr(got, "LD_PRELOAD=/lib/agent.so\n"));
	is_sandboxed = true;
	assert_non_null(strstr(run(plain), "LD_PRELOAD=/lib/agent.so\n"));
	is_sandboxed = false;
	memset(large, '/', sizeof(large));
	large[sizeof(large) - 1] = '\0';
	assert_int_equal(exec_carry(large, strlen(large), "/s"), -ENAMETOOLONG);
	assert_int_equal(exec_carry("/l", 2, large), -ENAMETOOLONG);
	exec_carry_end(NULL);
}

/* The call of the program fails with its own error. */
static void test_unreadable(void **state)
{
	char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *const bad[] = {page, NULL};

	(void)state;
	assert_ptr_not_equal(page, MAP_FAILED);
	carry();
	assert_string_equal(run((char *const *)(void *)page), "unchanged");
	assert_string_equal(run(bad), "unchanged");
	exec_carry_end(NULL);
	munmap(page, 4096);
}

/* The recorder has ended without a request to the process. */
static void test_ended(void **state)
{
	char one[] = "A=1", *const plain[] = {one, NULL};

	(void)state;
	carry();
	assert_string_not_equal(run(plain), "unchanged");
	unlink(own_socket);
	assert_string_equal(run(plain), "unchanged");
	exec_carry_end(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_variables),
			cmocka_unit_test(test_calls),
			cmocka_unit_test(test_unreadable),
			cmocka_unit_test(test_ended),
	};
	int file;

	strcpy(own_socket, "/tmp/side-carry-XXXXXX");
	file = mkstemp(own_socket);
	if (file < 0)
		return 1;
	close(file);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
