/* SPDX-License-Identifier: MIT */
/*
 * What the program does with signals once there are handlers of ours for traps. A handler of the program's for SIGTRAP or SIGILL
 * stands behind ours, and no thread and no handler blocks these two: the kernel ends a program that meets a trap in that state.
 * What the program has asked for is kept, and is what it is told when it asks.
 *
 * Whoever interposes the C library's functions comes here; without that, and for system calls that the program makes itself, a handler or a
 * mask is noticed when probes are set or removed, and by patch_check().
 *
 * All of it may be called in signal handlers.
 */
#include "parts.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MASK_BYTES 8
#define OURS (1ULL << (SIGTRAP - 1) | 1ULL << (SIGILL - 1))
#define LAST_SIGNAL 64
#define FORMER 16 /* actions that a handler may still read while the program sets others */

/* As the kernel has it. */
struct kernel_action {
	uint64_t handler, flags, restorer, mask;
};

/* Of the calling thread: what it would block. As quickly reached as a register, also in handlers. */
static __thread uint64_t wanted __attribute__((tls_model("initial-exec")));
/* Of each signal's handler, likewise. */
static uint64_t wanted_by[LAST_SIGNAL + 1];

/* What the program wants of SIGTRAP and SIGILL. */
static struct sigaction actions[2][FORMER];
static unsigned int next[2], now[2];
static bool held;

static bool is_ours(int number)
{
	return number == SIGTRAP || number == SIGILL;
}

/* ---- what stands behind ours ---- */

const struct sigaction *patch_signals_behind(int number)
{
	/* Acquire: the action. Pairs with the release in put_behind(). */
	return &actions[number == SIGILL]
		       [__atomic_load_n(&now[number == SIGILL], __ATOMIC_ACQUIRE)];
}

void patch_signals_put_behind(int number, const struct sigaction *action)
{
	unsigned int which = number == SIGILL;
	/* Relaxed: only that each has one of its own. */
	unsigned int at = __atomic_fetch_add(&next[which], 1, __ATOMIC_RELAXED) % FORMER;

	actions[which][at] = *action;
	/* Release: the action. Pairs with the acquire in patch_signals_behind(). */
	__atomic_store_n(&now[which], at, __ATOMIC_RELEASE);
}

/* Not by way of libc, where the program may be told something else. */
void patch_signals_real(int number, struct sigaction *action)
{
	struct kernel_action real = {0};

	memset(action, 0, sizeof(*action));
	if (syscall(SYS_rt_sigaction, number, NULL, &real, MASK_BYTES))
		return;
	action->sa_flags = (int)real.flags;
	action->sa_handler = (void (*)(int))real.handler;
	memcpy(&action->sa_mask, &real.mask, sizeof(real.mask));
}

void patch_signals_default(int number)
{
	const struct kernel_action none = {.handler = (uint64_t)SIG_DFL};

	syscall(SYS_rt_sigaction, number, &none, NULL, MASK_BYTES);
}

/* ---- masks ---- */

void patch_signals_hold(void)
{
	/* Relaxed: who sees it late is found by patch_unblock(). */
	__atomic_store_n(&held, true, __ATOMIC_RELAXED);
}

static bool holds(void)
{
	return __atomic_load_n(&held, __ATOMIC_RELAXED);
}

static uint64_t ours_of(const sigset_t *set)
{
	uint64_t mask;

	memcpy(&mask, set, sizeof(mask));
	return mask & OURS;
}

static void change(sigset_t *set, uint64_t remove, uint64_t add)
{
	uint64_t mask;

	memcpy(&mask, set, sizeof(mask));
	mask = (mask & ~remove) | add;
	memcpy(set, &mask, sizeof(mask));
}

int patch_signals_mask(int how, const sigset_t *set, sigset_t *before, patch_mask_function *real)
{
	uint64_t was = wanted, ours;
	sigset_t open;
	int ret;

	if (!set || !holds()) {
		ret = real(how, set, before);
	} else {
		open = *set;
		ours = ours_of(set);
		if (how == SIG_UNBLOCK) {
			wanted &= ~ours;
		} else {
			wanted = how == SIG_SETMASK ? ours : wanted | ours;
			change(&open, OURS, 0);
		}
		ret = real(how, &open, before);
		if (ret)
			wanted = was;
	}
	if (!ret && before)
		change(before, 0, was);
	return ret;
}

/* Handlers that were there before. One that changes just then is found the next time. */
void patch_signals_open(void)
{
	for (int number = 1; number <= LAST_SIGNAL; number++) {
		struct kernel_action action = {0};
		uint64_t ours;

		if (number == SIGKILL || number == SIGSTOP || is_ours(number) ||
				syscall(SYS_rt_sigaction, number, NULL, &action, MASK_BYTES))
			continue;
		ours = action.mask & OURS;
		if (!ours || action.handler == (uint64_t)SIG_DFL ||
				action.handler == (uint64_t)SIG_IGN)
			continue;
		/* Relaxed: told to whoever asks for the handler, no more. */
		__atomic_store_n(&wanted_by[number], ours, __ATOMIC_RELAXED);
		action.mask &= ~OURS;
		syscall(SYS_rt_sigaction, number, &action, NULL, MASK_BYTES);
	}
}

/* ---- actions ---- */

static int act_behind(int number, const struct sigaction *action, struct sigaction *before)
{
	struct sigaction said = *patch_signals_behind(number);

	if (action)
		patch_signals_put_behind(number, action);
	if (before)
		*before = said;
	return 0;
}

int patch_signals_action(int number, const struct sigaction *action, struct sigaction *before,
		patch_action_function *real)
{
	struct sigaction open;
	uint64_t was, ours;
	int ret;

	if (!holds() || number < 1 || number > LAST_SIGNAL ||
			(action && patch_trap_is_ours(action)))
		return real(number, action, before);
	if (is_ours(number))
		return act_behind(number, action, before);
	was = __atomic_load_n(&wanted_by[number], __ATOMIC_RELAXED);
	if (!action) {
		ret = real(number, NULL, before);
	} else {
		open = *action;
		ours = ours_of(&open.sa_mask);
		change(&open.sa_mask, OURS, 0);
		ret = real(number, &open, before);
		if (!ret)
			__atomic_store_n(&wanted_by[number], ours, __ATOMIC_RELAXED);
	}
	if (!ret && before)
		change(&before->sa_mask, 0, was);
	return ret;
}
