/* SPDX-License-Identifier: MIT */
/*
 * The callbacks that a call reaches, by its key, the shared bits and the event class. Linked with
 * the objects of the library, except for the function that calls the kernel, which is below.
 */
#include "event.h"

#include "libside/kernel.h"

#include <sys/wait.h>
#include <unistd.h>

#define SHIFT (sizeof(uintptr_t) * 8 - 8)
#define USER_EVENTS ((uintptr_t)0x80 << SHIFT)
#define PTRACE ((uintptr_t)0x40 << SHIFT)

static unsigned int kernel_writes;
static const struct side_event_state_0 *kernel_state;
static const struct side_arg_vec *kernel_args;
static const struct side_arg_dynamic_struct *kernel_var;
static void *kernel_caller;

void side_kernel_write(const struct side_event_state_0 *state, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *var, void *caller)
{
	kernel_writes++;
	kernel_state = state;
	kernel_args = args;
	kernel_var = var;
	kernel_caller = caller;
}

static unsigned int calls[16];
static void *last_caller;

static void count(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	CHECK(args);
	CHECK(!strcmp(side_ptr_get(desc->provider_name), "test"));
	calls[(uintptr_t)priv]++;
	last_caller = caller;
}

static void count_variadic(const struct side_event_description *desc,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *var,
		void *priv, void *caller)
{
	CHECK(var);
	count(desc, args, priv, caller);
}

#define PRIV(n) ((void *)(uintptr_t)(n))

static void expect_calls(unsigned int zero, unsigned int eight, unsigned int nine)
{
	CHECK_EQUAL(calls[0], zero);
	CHECK_EQUAL(calls[8], eight);
	CHECK_EQUAL(calls[9], nine);
	memset(calls, 0, sizeof(calls));
}

/* Call key K reaches callback key C when K == 0 or C == 0 or K == C. */
static void test_keys(void)
{
	struct side_arg_vec args = {.len = 0};
	struct test_event event;
	uint64_t key;

	test_event_init(&event, "keys", 0);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, count, PRIV(0), 0), 0);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, count, PRIV(8), 8), 0);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, count, PRIV(9), 9), 0);
	side_call(&event.state.parent, &args);
	expect_calls(1, 1, 1);
	key = 0;
	side_statedump_call(&event.state.parent, &args, &key);
	expect_calls(1, 1, 1);
	key = 8;
	side_statedump_call(&event.state.parent, &args, &key);
	expect_calls(1, 1, 0);
	key = 9;
	side_statedump_call(&event.state.parent, &args, &key);
	expect_calls(1, 0, 1);
	key = 10;
	side_statedump_call(&event.state.parent, &args, &key);
	expect_calls(1, 0, 0);
	for (key = 0; key < 10; key++)
		(void)side_tracer_callback_unregister(&event.desc, count, PRIV(key), key);
	CHECK_EQUAL(event.state.enabled, 0);
}

static void test_keys_variadic(void)
{
	struct side_arg_vec args = {.len = 0};
	struct side_arg_dynamic_struct var = {.len = 0};
	struct test_event event;
	uint64_t key = 9;

	test_event_init(&event, "keys", SIDE_EVENT_FLAG_VARIADIC);
	CHECK_EQUAL(side_tracer_callback_variadic_register(&event.desc, count_variadic, PRIV(8), 8),
			0);
	CHECK_EQUAL(side_tracer_callback_variadic_register(&event.desc, count_variadic, PRIV(9), 9),
			0);
	side_call_variadic(&event.state.parent, &args, &var);
	expect_calls(0, 1, 1);
	side_statedump_call_variadic(&event.state.parent, &args, &var, &key);
	expect_calls(0, 0, 1);
	/* Calls of the other kind reach no callback. */
	side_call(&event.state.parent, &args);
	side_statedump_call(&event.state.parent, &args, &key);
	expect_calls(0, 0, 0);
	CHECK_EQUAL(side_tracer_callback_variadic_unregister(
				    &event.desc, count_variadic, PRIV(8), 8),
			0);
	CHECK_EQUAL(side_tracer_callback_variadic_unregister(
				    &event.desc, count_variadic, PRIV(9), 9),
			0);
}

static void test_caller(void)
{
	struct side_arg_vec args = {.len = 0};
	struct test_event event;

	test_event_init(&event, "caller", 0);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, count, PRIV(0), 0), 0);
	side_call(&event.state.parent, &args);
	/* An address in this function: behind its beginning, not far. */
	CHECK((uintptr_t)last_caller - (uintptr_t)test_caller < 4096);
	/* A disabled event has no callback, and that is no error. */
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, count, PRIV(0), 0), 0);
	side_call(&event.state.parent, &args);
	CHECK_EQUAL(calls[0], 1);
	calls[0] = 0;
}

static void test_kernel_bit(void)
{
	struct side_arg_vec args = {.len = 0};
	struct side_arg_dynamic_struct var = {.len = 0};
	struct test_event event;
	uint64_t key;

	test_event_init(&event, "kernel", 0);
	event.state.enabled = USER_EVENTS;
	side_call(&event.state.parent, &args);
	CHECK_EQUAL(kernel_writes, 1);
	CHECK(kernel_state == &event.state && kernel_args == &args && !kernel_var);
	CHECK((uintptr_t)kernel_caller - (uintptr_t)test_kernel_bit < 4096);
	for (key = 0; key < 10; key++)
		side_statedump_call(&event.state.parent, &args, &key);
	CHECK_EQUAL(kernel_writes, 3); /* the keys 0 and 1 */
	side_call_variadic(&event.state.parent, &args, &var);
	CHECK_EQUAL(kernel_writes, 3); /* the wrong function */
	event.desc.flags = SIDE_EVENT_FLAG_VARIADIC;
	side_call_variadic(&event.state.parent, &args, &var);
	CHECK_EQUAL(kernel_writes, 4);
	CHECK(kernel_var == &var);
	event.state.enabled = PTRACE;
	side_call_variadic(&event.state.parent, &args, &var);
	CHECK_EQUAL(kernel_writes, 4);
}

/* With a callback: both the kernel and the callback are called. */
static void test_kernel_and_callback(void)
{
	struct side_arg_vec args = {.len = 0};
	struct test_event event;

	test_event_init(&event, "both", 0);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, count, PRIV(0), 0), 0);
	__atomic_or_fetch(&event.state.enabled, USER_EVENTS | PTRACE, __ATOMIC_RELAXED);
	kernel_writes = 0;
	side_call(&event.state.parent, &args);
	CHECK_EQUAL(kernel_writes, 1);
	expect_calls(1, 0, 0);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, count, PRIV(0), 0), 0);
	CHECK(event.state.enabled == (USER_EVENTS | PTRACE));
}

static void test_wrong_calls(void)
{
	struct side_arg_vec args = {.len = 0};
	struct side_arg_dynamic_struct var = {.len = 0};
	struct test_event event;
	uint64_t key = 0;

	test_event_init(&event, "wrong", 0);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, count, PRIV(0), 0), 0);
	side_call(NULL, &args);
	side_call(&event.state.parent, NULL);
	side_call_variadic(NULL, &args, &var);
	side_call_variadic(&event.state.parent, &args, NULL);
	side_call_variadic(&event.state.parent, &args, &var);
	side_statedump_call(NULL, &args, &key);
	side_statedump_call(&event.state.parent, NULL, &key);
	side_statedump_call(&event.state.parent, &args, NULL);
	side_statedump_call_variadic(&event.state.parent, &args, NULL, &key);
	side_statedump_call_variadic(&event.state.parent, &args, &var, &key);
	event.state.parent.version = 7;
	side_call(&event.state.parent, &args);
	side_call_variadic(&event.state.parent, &args, &var);
	side_statedump_call(&event.state.parent, &args, &key);
	expect_calls(0, 0, 0);
	event.state.parent.version = 0;
	side_call(&event.state.parent, &args);
	expect_calls(1, 0, 0);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, count, PRIV(0), 0), 0);
}

/* In a process of its own: the output on stderr with and without SIDE_DEBUG. */
static void expect_reports(const char *program, const char *debug, int problems, int hints)
{
	char text[4096];
	ssize_t size;
	size_t used = 0;
	int ends[2], status, nr_problems = 0, nr_hints = 0, lines = 0;
	pid_t child;

	CHECK(!pipe(ends));
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		if (debug)
			setenv("SIDE_DEBUG", debug, 1);
		else
			unsetenv("SIDE_DEBUG");
		dup2(ends[1], STDERR_FILENO);
		execl(program, program, "wrong-calls", (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	while ((size = read(ends[0], text + used, sizeof(text) - used - 1)) > 0)
		used += (size_t)size;
	text[used] = '\0';
	close(ends[0]);
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		CHECK(strchr(line, '\n') != NULL);
		nr_problems += !strncmp(line, "side: ", 6);
		nr_hints += !strncmp(line, "hint: ", 6);
		lines++;
	}
	if (nr_problems != problems || nr_hints != hints)
		fprintf(stderr, "reports:\n%s", text);
	CHECK_EQUAL(nr_problems, problems);
	CHECK_EQUAL(nr_hints, hints);
	CHECK_EQUAL(lines, problems + hints);
}

int main(int argc, char **argv)
{
	test_take_keys(15);
	if (argc > 1) {
		test_wrong_calls();
		test_wrong_calls();
		return 0;
	}
	test_keys();
	test_keys_variadic();
	test_caller();
	test_kernel_bit();
	test_kernel_and_callback();
	test_wrong_calls();
	/*
	 * NULL, wrong function, unknown version: each is reported once; the last two with a hint.
	 */
	expect_reports(argv[0], "1", 3, 2);
	expect_reports(argv[0], NULL, 0, 0);
	expect_reports(argv[0], "0", 0, 0);
	return 0;
}
