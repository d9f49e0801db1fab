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

static void check(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "wrong: %s\n", what);
	exit(1);
}

static void call(long count)
{
	for (long i = 0; i < count; i++, calls++)
		check(add((int)calls, 1) == calls + 3, "add");
}

static void on_trap(int number, siginfo_t *info, void *context)
{
	(void)context;
	check(number == SIGTRAP && info->si_code <= 0, "a signal that the program has not sent");
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
	check(sigismember(&now, SIGTERM) == 1, "a handler blocks what it wants to");
	used++;
	call(1);
}

static void *blocked_thread(void *count)
{
	sigset_t all, now;

	sigfillset(&all);
	check(!pthread_sigmask(SIG_SETMASK, &all, NULL), "pthread_sigmask");
	call(*(long *)count);
	check(!pthread_sigmask(SIG_BLOCK, NULL, &now), "pthread_sigmask");
	check(sigismember(&now, SIGTRAP) == 1 && sigismember(&now, SIGUSR1) == 1,
			"all are blocked");
	return NULL;
}

static void masks(long count)
{
	sigset_t traps, before, now;
	pthread_t thread;

	sigemptyset(&traps);
	sigaddset(&traps, SIGTRAP);
	sigaddset(&traps, SIGILL);
	check(!sigprocmask(SIG_BLOCK, &traps, &before), "sigprocmask");
	check(!sigismember(&before, SIGTRAP), "it was not blocked");
	call(count);
	check(!sigprocmask(SIG_UNBLOCK, &traps, &now), "sigprocmask");
	check(sigismember(&now, SIGTRAP) == 1 && sigismember(&now, SIGILL) == 1, "it was blocked");
	check(!sigprocmask(SIG_SETMASK, &before, &now) && !sigismember(&now, SIGTRAP),
			"it is not blocked any more");
	check(!pthread_create(&thread, NULL, blocked_thread, &count) && !pthread_join(thread, NULL),
			"a thread that blocks all");
}

static void actions(long count)
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO}, before,
			 all = {.sa_handler = on_user};

	check(!sigaction(SIGTRAP, &action, &before) && before.sa_handler == SIG_DFL, "sigaction");
	call(count);
	check(!trapped, "a trap that is not the program's");
	check(!raise(SIGTRAP) && trapped == 1, "its own signal");
	check(!sigaction(SIGTRAP, NULL, &before) && before.sa_sigaction == on_trap &&
					before.sa_flags & SA_SIGINFO,
			"its own handler");
	check(signal(SIGTRAP, SIG_IGN) != SIG_ERR && signal(SIGILL, on_illegal) == SIG_DFL,
			"signal");
	call(count);
	check(!raise(SIGTRAP) && trapped == 1, "an ignored signal");
	check(!raise(SIGILL) && illegal == 1, "its own handler of SIGILL");
	check(signal(SIGTRAP, SIG_DFL) == SIG_IGN, "what it was");
	call(count);
	sigfillset(&all.sa_mask);
	check(!sigaction(SIGUSR1, &all, NULL) && !raise(SIGUSR1) && used == 1, "a handler");
	check(!sigaction(SIGUSR1, NULL, &before) && sigismember(&before.sa_mask, SIGTRAP) == 1,
			"what it blocks");
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
