/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_PATCH_ACTIONS_H
#define SIDE_PROBE_PATCH_ACTIONS_H

/*
 * Actions of signals as the kernel has them, for signals.c and faults.c. One thread at a time
 * changes them.
 */

#include "parts.h"

#include <string.h>
#include <sys/syscall.h>

#define PATCH_MASK_BYTES 8
#define PATCH_SA_RESTORER 0x4000000 /* not in the C library's headers */

/* The kernel's struct sigaction. */
struct patch_action {
	uint64_t handler, flags, restorer, mask;
};

static inline int patch_exchange_action(
		int number, const struct patch_action *action, struct patch_action *ret_before)
{
	return (int)patch_system_call(SYS_rt_sigaction, number, (long)action, (long)ret_before,
			PATCH_MASK_BYTES, 0, 0);
}

static inline bool patch_is_same_action(
		const struct patch_action *one, const struct patch_action *other)
{
	return one->handler == other->handler && one->flags == other->flags &&
			one->restorer == other->restorer && one->mask == other->mask;
}

static inline struct sigaction patch_action_as_libc(const struct patch_action *action)
{
	struct sigaction result = {.sa_flags = (int)(uint32_t)action->flags};

	memcpy(&result.sa_handler, &action->handler, sizeof(action->handler));
	memcpy(&result.sa_mask, &action->mask, sizeof(action->mask));
	return result;
}

/* ---- signals.c ---- */

/* The function by which handlers return, as libc passes it to the kernel; 0: not known yet. */
extern uint64_t patch_restorer_of_libc;

static inline struct patch_action patch_action_as_kernel(const struct sigaction *action)
{
	struct patch_action result = {.flags = (uint32_t)action->sa_flags | PATCH_SA_RESTORER,
			.restorer = patch_restorer_of_libc};

	memcpy(&result.handler, &action->sa_handler, sizeof(result.handler));
	memcpy(&result.mask, &action->sa_mask, sizeof(result.mask));
	return result;
}

/*
 * The lock for changes of actions: patch_signals_enter() blocks all signals but those of traps, and
 * does nothing in a thread that has the lock.
 */
struct patch_section {
	uint64_t blocked;
	bool entered;
};
struct patch_section patch_signals_enter(void);
void patch_signals_leave(struct patch_section section);

/*
 * True if a handler of the program blocks signals of faults, other than the handlers of SIGSEGV and
 * SIGBUS.
 */
bool patch_signals_any_blocks_faults(void);
/* Called with the lock. Returns the signals of traps if no handler may block them now, else 0. */
uint64_t patch_signals_unblockable(void);
/*
 * The signals of traps that the program wants its handler of this signal to block, but that are not
 * in the kernel's action. patch_signals_want() sets them; `handler` identifies the action, and is 0
 * for none.
 */
uint64_t patch_signals_wanted(int number, uint64_t handler);
void patch_signals_want(int number, uint64_t mask, uint64_t handler);

/* ---- faults.c ---- */

/* True if faults.c manages the actions of this signal now. */
bool patch_faults_hold(int number);
/* Called with the lock. Installs the actions that follow from the present state. */
void patch_faults_install(void);
/* Like patch_signals_action(), for a signal that faults.c manages. Called with the lock. */
int patch_faults_action(int number, const struct sigaction *action, struct sigaction *ret_before,
		patch_action_function *real);
/* Called in the child of a fork(). */
void patch_faults_forked(void);

/* ---- x86-64-read.S ---- */

/*
 * The kernel's action of SIGSEGV, SIGBUS and SIGFPE. A fault of the loads in this file ends the
 * load; any other fault belongs to the program.
 */
void patch_fault_arrives(int number, siginfo_t *info, void *context);
void patch_fault_returns(void);

/*
 * A thread that gets a signal within a trampoline, while it is presented to the program as at the
 * site.
 */
struct patch_moved {
	uint64_t from, to;   /* the program counter in the trampoline, and at the site */
	uint64_t stack;      /* the stack pointer at the site, */
	int64_t away;        /* minus the one in the trampoline */
	struct patch *patch; /* NULL: the thread is not in a trampoline, and nothing is changed */
};

/*
 * Called by patch_fault_arrives(): returns the program's handler, which must handle the signal, or
 * 0. If the thread was moved, patch_move_back() must be called after the handler.
 */
uint64_t patch_fault_behind(
		int number, siginfo_t *info, void *context, struct patch_moved *ret_moved);

/* ---- moved.c ---- */

/* Changes the context and the siginfo_t. Returns false if the thread is not in a trampoline. */
bool patch_move_to_site(siginfo_t *info, void *context, struct patch_moved *ret_moved);
/* Called after the program's handler. */
void patch_move_back(void *context, const struct patch_moved *moved);
/*
 * Restores the program's instruction at the site, so that the thread continues there without a hit.
 * Returns whether it is restored.
 */
bool patch_move_for_good(const struct patch_moved *moved);

#endif /* SIDE_PROBE_PATCH_ACTIONS_H */
