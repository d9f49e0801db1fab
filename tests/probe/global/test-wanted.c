/* SPDX-License-Identifier: MIT */
/*
 * Checks whether a session still has an event of side-uprobes, the lock of the recorder of an
 * event, and the line through two times.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "../../resources.h"
#include "../../counted-json.h"

#include "programs/common/ask.h"
#include "sessions/client.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "ring/ring.h"

static const char *answer_text;
static unsigned int nr_open;
static bool connects = true;
static char socket_path[64];

static int fake_connect(struct ask *ask, bool system, struct error *error)
{
	(void)error;
	assert_true(system);
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
	(void)client;
	(void)request;
	(void)error;
	(void)timeout;
	*answer = answer_text ? json_tokener_parse(answer_text) : NULL;
	return answer_text ? 0 : -1;
}

static const char *fake_path(const struct control_client *client)
{
	(void)client;
	return socket_path;
}

static struct ring_clock_sample next_sample;
static int sample_error;

static int fake_sample(enum ring_clock clock, struct ring_clock_sample *sample)
{
	(void)clock;
	*sample = next_sample;
	return sample_error;
}

static enum ring_clock fake_choose(void)
{
	return RING_CLOCK_MONOTONIC + 1;
}

static unsigned int nr_sleeps;
static bool is_impatient; /* does not really sleep */

#define ask_connect_silently fake_connect
#define ask_close fake_close
#define control_call fake_call
#define control_path fake_path
#define ring_clock_sample(...) fake_sample(__VA_ARGS__)
#define ring_clock_choose fake_choose
#define usleep(us) (nr_sleeps++, is_impatient ? 0 : usleep(us))
#include "programs/side-uprobes/wanted.c"
#undef usleep
#define now clock_now
#define before clock_before
#include "programs/replay/clock.c"
#undef now
#undef before

static bool wanted(const char *event, pid_t process)
{
	bool found = wanted_by_session("s", true, event, process);

	assert_int_equal(nr_open, 0);
	return found;
}

static void test_rules(void **unused)
{
	size_t memory = 0;

	(void)unused;
	answer_text = "{\"sessions\":[{\"definition\":{\"channels\":[{\"rules\":[{\"event\":[\"a:b\",\"!a:c*\"]}]},{\"rules\":["
		      "{\"event\":[\"d:*\",\"!d:e\"]}]}]}}]}";
	/* malloc() keeps some free blocks. A leak in each round would use more. */
	for (int i = 0; i < 2100; i++) {
		memory = i == 1999 ? resources_memory() : memory;
		assert_true(wanted("a:b", 0));
	}
	assert_true(resources_memory() < memory + 1600);
	assert_false(wanted("a:c", 0));
	assert_false(wanted("b:b", 0));
	assert_true(wanted("d:d", 0));
	assert_false(wanted("d:e", 0));
	assert_false(wanted("d", 0));
	/* Without a definition, the event of any session. */
	answer_text = "{\"sessions\":[{\"channels\":[{\"rules\":[{\"event\":[\"a:b\"]}]}]},{\"channels\":[]}]}";
	assert_true(wanted("a:b", 0));
	answer_text = "{\"sessions\":[{\"channels\":[]},{\"channels\":[{\"rules\":[{\"event\":[\"a:b\"]}]}]}]}";
	assert_true(wanted("a:b", 0));
	/* A rule without patterns requests all events. */
	answer_text = "{\"sessions\":[{\"channels\":[{\"rules\":[{}]}]}]}";
	assert_true(wanted("x:y", 0));
	answer_text = "{\"sessions\":[]}";
	assert_false(wanted("a:b", 0));
	answer_text = NULL;
	assert_false(wanted("a:b", 0));
	connects = false;
	assert_false(wanted("a:b", 0));
	connects = true;
}

static void test_probes(void **unused)
{
	(void)unused;
	answer_text = "{\"sessions\":[{\"definition\":{\"channels\":[{\"rules\":[{\"event\":[\"a:b\"]}]}],"
		      "\"probes\":[{\"pid\":5,\"event\":[\"p:1\",\"p:2\"]},{\"pid\":6,\"event\":[\"p:3\"]}]}}]}";
	assert_true(wanted("p:1", 5));
	assert_true(wanted("p:2", 5));
	assert_false(wanted("p:3", 5));
	assert_true(wanted("p:3", 6));
	assert_false(wanted("p:1", 7));
	/* Rules do not request probes, and probes do not request events of rules. */
	assert_false(wanted("a:b", 5));
	assert_false(wanted("p:1", 0));
}

/* The first recorder ends when another one starts, which then holds the lock. */
static void test_turns(void **unused)
{
	char folder[] = "/tmp/side-wanted-XXXXXX", file[64], other_file[64], byte;
	struct resources before;
	int ready[2], others[16], status;
	pid_t pid;

	(void)unused;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(socket_path, sizeof(socket_path), "%s/control.sock", folder);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		if (!wanted_take_turn("s", true, "a:b/c", 5) || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	before = resources_now();
	(void)snprintf(file, sizeof(file), "%s/uprobes-s-a:b_c-5", folder);
	assert_int_equal(access(file, F_OK), 0);
	/* The recorder continues if another event, process or session starts one. */
	assert_true(wanted_take_turn("s", true, "a:b/c", 0));
	assert_true(wanted_take_turn("t", true, "a:b/c", 5));
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	assert_true(wanted_take_turn("s", true, "a:b/c", 5));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	/* Without a lock there is nothing to wait for. */
	nr_sleeps = 0;
	/* Only the three locks are open. */
	assert_int_equal(resources_now().descriptors, before.descriptors + 3);
	connects = false;
	assert_false(wanted_take_turn("s", true, "a:b", 5));
	connects = true;
	(void)snprintf(socket_path, sizeof(socket_path), "control.sock");
	assert_false(wanted_take_turn("s", true, "a:b", 5));
	(void)snprintf(socket_path, sizeof(socket_path), "%s/none/control.sock", folder);
	assert_false(wanted_take_turn("s", true, "a:b", 5));
	assert_int_equal(nr_open, 0);
	assert_int_equal(nr_sleeps, 0);
	/*
	 * A holder that does not end: after 500 attempts the recorder stops waiting for its lock.
	 */
	(void)snprintf(socket_path, sizeof(socket_path), "%s/control.sock", folder);
	pid = fork();
	if (!pid) {
		(void)signal(SIGTERM, SIG_IGN);
		if (!wanted_take_turn("u", true, "a:b", 0) || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	is_impatient = true;
	assert_false(wanted_take_turn("u", true, "a:b", 0));
	is_impatient = false;
	assert_int_equal(nr_sleeps, 500);
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(resources_now().descriptors, before.descriptors + 3);
	(void)snprintf(other_file, sizeof(other_file), "%s/uprobes-u-a:b", folder);
	assert_int_equal(unlink(other_file), 0);
	/* Without standard input, the descriptor of the holder's process is 0. */
	pid = fork();
	if (!pid) {
		if (!wanted_take_turn("v", true, "a:b", 0) || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	{
		int fd = uprobes_open_lock("v", true, "a:b", 0), input = dup(STDIN_FILENO);

		assert_int_equal(uprobes_lock_holder(fd), pid);
		close(STDIN_FILENO);
		assert_false(uprobes_end_lock_holder(fd, getppid()));
		assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
		assert_true(uprobes_end_lock_holder(fd, pid));
		assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
		/* A lock that no process holds. */
		assert_int_equal(uprobes_lock_holder(fd), 0);
		close(fd);
		assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
		close(input);
	}
	(void)snprintf(other_file, sizeof(other_file), "%s/uprobes-v-a:b", folder);
	assert_int_equal(unlink(other_file), 0);
	/* The end of a turn closes the last lock. The others are closed with the pipe. */
	wanted_end_turn();
	assert_int_equal(resources_now().descriptors, before.descriptors + 2);
	/* A second end closes nothing: the number may belong to another file. */
	for (int i = 0; i < 16; i++)
		others[i] = dup(ready[0]);
	wanted_end_turn();
	for (int i = 0; i < 16; i++)
		assert_int_equal(close(others[i]), 0);
	assert_int_equal(resources_now().descriptors, before.descriptors + 2);
	/* The lock may be descriptor 0. */
	{
		int input = dup(STDIN_FILENO);

		turn_fd = STDIN_FILENO;
		wanted_end_turn();
		assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
		assert_true(turn_fd < 0);
		assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
		close(input);
	}
	assert_int_equal(close_range((unsigned int)ready[0], ~0U, 0), 0);
	unlink(file);
	(void)snprintf(file, sizeof(file), "%s/uprobes-s-a:b_c", folder);
	assert_int_equal(unlink(file), 0);
	(void)snprintf(file, sizeof(file), "%s/uprobes-t-a:b_c-5", folder);
	assert_int_equal(unlink(file), 0);
	rmdir(folder);
}

static void sample(uint64_t ticks, int64_t monotonic_ns)
{
	next_sample = (struct ring_clock_sample){.ticks = ticks, .monotonic_ns = monotonic_ns};
	clock_check();
}

static void test_clock(void **unused)
{
	(void)unused;
	/* One sample is not enough for a line. */
	sample(1000, 100);
	assert_int_equal(clock_ticks(77), 77);
	/* Two ticks a nanosecond, before, between and after the two samples. */
	sample(3000, 1100);
	assert_int_equal(clock_ticks(100), 1000);
	assert_int_equal(clock_ticks(600), 2000);
	assert_int_equal(clock_ticks(1100), 3000);
	assert_int_equal(clock_ticks(2100), 5000);
	assert_int_equal(clock_ticks(50), 900);
	/* A failed sample changes nothing. */
	sample_error = -1;
	sample(9000, 1200);
	sample_error = 0;
	assert_int_equal(clock_ticks(1100), 3000);
	/*
	 * After half a second the line still begins at the first sample. After a further sample it
	 * begins at that one.
	 */
	sample(1000 + 3000, 100 + 500000000);
	assert_int_equal(clock_before.ticks, 1000);
	assert_int_equal(middle.ticks, 1000);
	sample(5000, 100 + 500000001);
	assert_int_equal(clock_before.ticks, 1000);
	assert_int_equal(middle.ticks, 5000);
	sample(6000, 100 + 2 * INT64_C(500000001) + 1);
	assert_int_equal(clock_before.ticks, 5000);
	assert_int_equal(middle.ticks, 6000);
	kind = RING_CLOCK_MONOTONIC;
	assert_int_equal(clock_ticks(77), 77);
}

static int no_object_is_left(void **unused)
{
	(void)unused;
	return nr_objects;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_teardown(test_rules, no_object_is_left),
			cmocka_unit_test_teardown(test_probes, no_object_is_left),
			cmocka_unit_test_teardown(test_turns, no_object_is_left),
			cmocka_unit_test_teardown(test_clock, no_object_is_left),
	};

	alarm(50);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
