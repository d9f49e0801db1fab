/* SPDX-License-Identifier: MIT */
/*
 * Uses the signals of traps as programs may do, and calls a function in between that has a
 * breakpoint if the test has set one: the behaviour must be the same without it.
 *
 *	signals COUNT
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../check.h"

#ifdef __clang__
#define FUNCTION __attribute__((noinline, optnone))
#else
#define FUNCTION __attribute__((noinline, noclone, noipa))
#endif

FUNCTION long add(int a, long b);
FUNCTION long add(int a, long b)
{
	return a + b * 3;
}

static long calls;
static volatile sig_atomic_t trapped, illegal, used;

static void call(long count)
{
	for (long i = 0; i < count; i++, calls++)
		CHECK(add((int)calls, 1) == calls + 3);
}

static void on_trap(int number, siginfo_t *info, void *context)
{
	(void)context;
	CHECK(number == SIGTRAP && info->si_code <= 0);
	trapped++;
}

static void on_illegal(int number)
{
	(void)number;
	illegal++;
}

static void on_user(int number)
{
	sigset_t now;

	(void)number;
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	CHECK(sigismember(&now, SIGTERM) == 1);
	used++;
	call(1);
}

static void *blocked_thread(void *count)
{
	sigset_t all, now;

	sigfillset(&all);
	CHECK(!pthread_sigmask(SIG_SETMASK, &all, NULL));
	call(*(long *)count);
	CHECK(!pthread_sigmask(SIG_BLOCK, NULL, &now));
	CHECK(sigismember(&now, SIGTRAP) == 1 && sigismember(&now, SIGUSR1) == 1);
	return NULL;
}

static void masks(long count)
{
	sigset_t traps, before, now;
	pthread_t thread;

	sigemptyset(&traps);
	sigaddset(&traps, SIGTRAP);
	sigaddset(&traps, SIGILL);
	CHECK(!sigprocmask(SIG_BLOCK, &traps, &before));
	CHECK(!sigismember(&before, SIGTRAP));
	call(count);
	CHECK(!sigprocmask(SIG_UNBLOCK, &traps, &now));
	CHECK(sigismember(&now, SIGTRAP) == 1 && sigismember(&now, SIGILL) == 1);
	CHECK(!sigprocmask(SIG_SETMASK, &before, &now) && !sigismember(&now, SIGTRAP));
	CHECK(!pthread_create(&thread, NULL, blocked_thread, &count) &&
			!pthread_join(thread, NULL));
}

static void actions(long count)
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO}, before,
			 all = {.sa_handler = on_user};

	CHECK(!sigaction(SIGTRAP, &action, &before) && before.sa_handler == SIG_DFL);
	call(count);
	CHECK(!trapped);
	CHECK(!raise(SIGTRAP) && trapped == 1);
	CHECK(!sigaction(SIGTRAP, NULL, &before) && before.sa_sigaction == on_trap &&
			before.sa_flags & SA_SIGINFO);
	CHECK(signal(SIGTRAP, SIG_IGN) != SIG_ERR && signal(SIGILL, on_illegal) == SIG_DFL);
	call(count);
	CHECK(!raise(SIGTRAP) && trapped == 1);
	CHECK(!raise(SIGILL) && illegal == 1);
	CHECK(signal(SIGTRAP, SIG_DFL) == SIG_IGN);
	call(count);
	sigfillset(&all.sa_mask);
	CHECK(!sigaction(SIGUSR1, &all, NULL) && !raise(SIGUSR1) && used == 1);
	CHECK(!sigaction(SIGUSR1, NULL, &before) && sigismember(&before.sa_mask, SIGTRAP) == 1);
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 10;

	call(count);
	masks(count);
	actions(count);
	printf("%ld calls\n", calls);
	return 0;
}
