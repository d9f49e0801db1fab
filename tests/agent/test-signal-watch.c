/* SPDX-License-Identifier: MIT */
/*
 * Which arguments the agent's sigaction(), sigprocmask(), pthread_sigmask() and signal() pass on,
 * and which functions of the C library they call.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "probe/patch/patch.h"

#include "../check.h"

static struct {
	unsigned int actions, masks;
	int number, how;
	const struct sigaction *action;
	struct sigaction *before;
	struct sigaction copy;
	const sigset_t *set;
	sigset_t *set_before;
	void *next;
} seen;
static int fails, answer = 71;
static int number_behind; /* the agent handles this signal, too */

static int played_action(int number, const struct sigaction *action, struct sigaction *before,
		patch_action_function *next)
{
	seen.actions++;
	seen.number = number;
	seen.action = action;
	seen.before = before;
	if (action)
		seen.copy = *action;
	memcpy(&seen.next, &next, sizeof(next));
	if (before)
		before->sa_handler = SIG_IGN;
	if (fails)
		errno = fails;
	return fails ? -1 : answer;
}

static int played_mask(int how, const sigset_t *set, sigset_t *before, patch_mask_function *next)
{
	seen.masks++;
	seen.how = how;
	seen.set = set;
	seen.set_before = before;
	memcpy(&seen.next, &next, sizeof(next));
	return 72;
}

static bool played_behind(int number)
{
	return number == number_behind;
}

#define patch_signals_action played_action
#define patch_signals_mask played_mask
#define patch_signals_are_taken played_behind
#include "tracers/agent/core/signal-watch.c"

static void *real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static void forget(void)
{
	next_action = NULL;
	next_process_mask = next_thread_mask = NULL;
	next_signal = NULL;
}

static void test_actions(void)
{
	struct sigaction action = {.sa_handler = SIG_DFL}, before;

	CHECK(next_action && next_process_mask && next_thread_mask && next_signal);
	/* The second round: the constructor has not found the functions yet. */
	for (int round = 0; round < 2; round++) {
		CHECK(sigaction(SIGUSR1, &action, &before) == 71 && seen.number == SIGUSR1 &&
				seen.action == &action && seen.before == &before &&
				seen.next == real("sigaction"));
		forget();
	}
}

static void test_masks(void)
{
	sigset_t set, before;

	for (int round = 0; round < 2; round++) {
		CHECK(sigprocmask(SIG_UNBLOCK, &set, &before) == 72 && seen.how == SIG_UNBLOCK &&
				seen.set == &set && seen.set_before == &before &&
				seen.next == real("sigprocmask"));
		forget();
	}
	find_all();
	for (int round = 0; round < 2; round++) {
		CHECK(pthread_sigmask(SIG_BLOCK, &before, &set) == 72 && seen.how == SIG_BLOCK &&
				seen.set == &before && seen.set_before == &set &&
				seen.next == real("pthread_sigmask"));
		forget();
	}
	CHECK(seen.masks == 4);
}

static void handler(int number)
{
	(void)number;
}

static void test_signal(void)
{
	unsigned int before = seen.actions;

	/* Only the program uses the signal: signal() of the C library is called. */
	for (int round = 0; round < 2; round++) {
		forget();
		CHECK(signal(SIGUSR2, handler) == (round ? handler : SIG_DFL));
	}
	CHECK(signal(SIGUSR2, SIG_DFL) == handler && seen.actions == before);
	number_behind = SIGUSR2;
	errno = 0;
	CHECK(signal(SIGUSR2, SIG_ERR) == SIG_ERR && errno == EINVAL && seen.actions == before);
	CHECK(signal(SIGUSR1, SIG_DFL) == SIG_DFL && seen.actions == before);
}

/* The agent handles the signal, too: it is set by sigaction() with the flags of signal(). */
static void test_signal_behind(void)
{
	unsigned int before = seen.actions;

	number_behind = SIGUSR2;
	answer = 0;
	CHECK(signal(SIGUSR2, handler) == SIG_IGN && seen.actions == before + 1);
	CHECK(seen.number == SIGUSR2 && seen.copy.sa_handler == handler &&
			seen.copy.sa_flags == SA_RESTART && seen.before);
	for (int number = 1; number < 32; number++)
		CHECK(sigismember(&seen.copy.sa_mask, number) == (number == SIGUSR2));
	fails = EPERM;
	CHECK(signal(SIGUSR2, handler) == SIG_ERR && errno == EPERM && seen.actions == before + 2);
}

int main(void)
{
	test_actions();
	test_masks();
	test_signal();
	test_signal_behind();
	return 0;
}
