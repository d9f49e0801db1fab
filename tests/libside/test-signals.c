/* SPDX-License-Identifier: MIT */
/*
 * Events in signal handlers: as a thread's first event, during registration and grace periods, on a
 * small alternate stack; errno and the interrupted code are unaffected.
 */
#include "event.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

static struct test_event event;
static int calls;

static void count(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	(void)desc;
	(void)args;
	(void)priv;
	(void)caller;
	__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
}

static void handler(int signal)
{
	(void)signal;
	errno = 1234;
	test_event_emit(&event);
	CHECK_EQUAL(errno, 1234);
}

/* The first event of a thread is in its signal handler, on a stack of its own. */
static void *first_event_in_handler(void *unused)
{
	static __thread char memory[16384];
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
	int i;

	(void)unused;
	CHECK(!sigaltstack(&stack, NULL));
	for (i = 0; i < 10; i++)
		CHECK(!pthread_kill(pthread_self(), SIGUSR1));
	stack.ss_flags = SS_DISABLE;
	CHECK(!sigaltstack(&stack, NULL));
	return NULL;
}

static void test_first_event(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	pthread_t thread;
	int i, before;

	CHECK(!sigaction(SIGUSR1, &action, NULL));
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, count, NULL, 0), 0);
	before = calls;
	for (i = 0; i < 100; i++) {
		CHECK(!pthread_create(&thread, NULL, first_event_in_handler, NULL));
		CHECK(!pthread_join(thread, NULL));
	}
	CHECK_EQUAL(calls - before, 1000);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, count, NULL, 0), 0);
}

/* A timer's signal interrupts the library at any instruction. */
static void test_everywhere(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	struct itimerval fast = {{0, 50}, {0, 50}}, off = {{0, 0}, {0, 0}};
	static int privs[3];
	int i, j, rounds = test_is_long() ? 200000 : 5000;

	CHECK(!sigaction(SIGALRM, &action, NULL));
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, count, NULL, 0), 0);
	calls = 0;
	CHECK(!setitimer(ITIMER_REAL, &fast, NULL));
	for (i = 0; i < rounds; i++) {
		for (j = 0; j < 3; j++)
			CHECK_EQUAL(side_tracer_callback_register(&event.desc, count, &privs[j], 0),
					0);
		test_event_emit(&event);
		for (j = 0; j < 3; j++)
			CHECK_EQUAL(side_tracer_callback_unregister(
						    &event.desc, count, &privs[j], 0),
					0);
	}
	CHECK(!setitimer(ITIMER_REAL, &off, NULL));
	CHECK(calls > 4 * rounds);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, count, NULL, 0), 0);
}

#ifndef __SANITIZE_ADDRESS__
static char painted[65536] __attribute__((aligned(16)));
static ucontext_t back;

static void emit_on_painted_stack(void)
{
	struct side_arg_vec args = {.len = 0};

	side_call(&event.state.parent, &args);
}

static size_t stack_used(void)
{
	ucontext_t there;
	size_t i;

	memset(painted, 0x5a, sizeof(painted));
	CHECK(!getcontext(&there));
	there.uc_stack.ss_sp = painted;
	there.uc_stack.ss_size = sizeof(painted);
	there.uc_link = &back;
	makecontext(&there, emit_on_painted_stack, 0);
	CHECK(!swapcontext(&back, &there));
	for (i = 0; i < sizeof(painted) && painted[i] == 0x5a; i++)
		;
	return sizeof(painted) - i;
}

static void *use_of_stack(void *unused)
{
	size_t first = stack_used(), usual = stack_used();

	(void)unused;
	/* The first event of a thread makes system calls; with the frames of this test. */
	printf("stack: first event of a thread %zu bytes, others %zu bytes\n", first, usual);
	CHECK(first < 2048);
	CHECK(usual < 512);
	return NULL;
}

static void test_stack(void)
{
	pthread_t thread;

	CHECK_EQUAL(side_tracer_callback_register(&event.desc, count, NULL, 0), 0);
	/* Functions of other libraries are bound now, not on the painted stack. */
	test_event_emit(&event);
	CHECK(!pthread_create(&thread, NULL, use_of_stack, NULL));
	CHECK(!pthread_join(thread, NULL));
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, count, NULL, 0), 0);
}
#endif

int main(void)
{
	test_event_init(&event, "event", 0);
	test_first_event();
	test_everywhere();
#ifndef __SANITIZE_ADDRESS__
	test_stack();
#endif
	return 0;
}
