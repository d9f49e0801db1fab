/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_PATCH_ACTIONS_H
#define SIDE_PROBE_PATCH_ACTIONS_H

/* What the kernel does with a signal, as signals.c and faults.c know it: actions, one at a time. */

#include "parts.h"

#include <string.h>
#include <sys/syscall.h>

#define PATCH_MASK_BYTES 8
#define PATCH_SA_RESTORER 0x4000000 /* which libc's header has not */

/* As the kernel has it. */
struct patch_action {
	uint64_t handler, flags, restorer, mask;
};

static inline int patch_exchange_action(
		int number, const struct patch_action *action, struct patch_action *before)
{
	return (int)patch_system_call(SYS_rt_sigaction, number, (long)action, (long)before,
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

/* How handlers return, as libc says it; 0: not known yet. */
extern uint64_t patch_restorer_of_libc;

static inline struct patch_action patch_action_as_kernel(const struct sigaction *action)
{
	struct patch_action result = {.flags = (uint32_t)action->sa_flags | PATCH_SA_RESTORER,
			.restorer = patch_restorer_of_libc};

	memcpy(&result.handler, &action->sa_handler, sizeof(result.handler));
	memcpy(&result.mask, &action->sa_mask, sizeof(result.mask));
	return result;
}

/* One thread at a time changes actions. */
struct patch_section {
	uint64_t blocked;
	bool entered;
};
struct patch_section patch_signals_enter(void);
void patch_signals_leave(struct patch_section section);

/* Whether some handler of the program's blocks signals of faults, but those of these. */
bool patch_signals_any_blocks_faults(void);
/* With that: those of traps that no handler may block now. */
uint64_t patch_signals_open_ones(void);
/*
 * What the handler of a signal would block of these, which its action in the kernel does not say; and that this is so from here on,
 * 0: it is not.
 */
uint64_t patch_signals_wanted(int number, uint64_t handler);
void patch_signals_want(int number, uint64_t mask, uint64_t handler);

/* ---- faults.c ---- */

/* Whether actions of this signal are its business now. */
bool patch_faults_hold(int number);
/* With the lock: the kernel has what follows from all that is known now. */
void patch_faults_install(void);
/* As patch_signals_action(), with the lock, of a signal that it holds. */
int patch_faults_action(int number, const struct sigaction *action, struct sigaction *before,
		patch_action_function *real);
/* A child of fork(): another process. */
void patch_faults_forked(void);

/* ---- x86-64-read.S ---- */

/* The action of SIGSEGV, SIGBUS and SIGFPE: a fault of the loads there ends these, any other one is the program's. */
void patch_fault_arrives(int number, siginfo_t *info, void *context);
void patch_fault_returns(void);

/* A thread that has met a signal within the code of a probe, for the program at the site. */
struct patch_moved {
	uint64_t from, to;   /* the program counter */
	uint64_t stack;      /* the stack pointer there, */
	int64_t away;        /* and how far that is from the one that the thread has */
	struct patch *probe; /* NULL: the thread is elsewhere, and nothing changes */
};

/*
 * Called from there: the program's handler that must handle the signal; 0: none. If the thread was moved, patch_move_back() is
 * called after the handler.
 */
uint64_t patch_fault_behind(int number, siginfo_t *info, void *context, struct patch_moved *moved);

/* ---- moved.c ---- */

/* Changes the context and the siginfo_t. False: the thread is not in the code of a probe. */
bool patch_move_to_site(siginfo_t *info, void *context, struct patch_moved *moved);
/* Behind the program's handler. */
void patch_move_back(void *context, const struct patch_moved *moved);
/* Whether the instruction at the site is the program's again, so that the thread can go on there without a hit. */
bool patch_move_for_good(const struct patch_moved *moved);

#endif /* SIDE_PROBE_PATCH_ACTIONS_H */
