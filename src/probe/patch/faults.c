/* SPDX-License-Identifier: MIT */
/*
 * Handles faults of loads that may fault (reading.c) and of displaced instructions (moved.c):
 * SIGSEGV, SIGBUS and SIGFPE arrive here first while such loads are possible or probes are set. A
 * fault of these loads ends the load; any other fault belongs to the program, which must see the
 * same as without side:
 *
 *	kernel's action                  program's action
 *	side's handler, all else as      a handler, with flags and mask: called by a jump, with the
 *	the program has set it           kernel's arguments, on the stack that the kernel chose. So
 *	                                 blocked signals and the stack are as without side
 *	side's handler                   the default: it is restored, and the instruction faults
 *	                                 again, a displaced one at its own address. A signal that
 *	                                 was sent is sent again
 *	ignored                          ignored: no handler of side, because executed programs
 *	                                 inherit this
 *
 * SA_RESETHAND is implemented here, because faults of side's loads must not reset the program's
 * handler. In a thread that blocks the signal, side's handler does not protect loads: reading.c
 * checks that, in each hit as long as a handler of the program blocks it.
 *
 * The signals are given back when no hit reads memory any more. No thread is on its way to side's
 * handler then: a thread whose load has faulted is in a hit, and those hits have ended. A fault of
 * the program may arrive at either handler, because both do the same.
 *
 * A child of vfork() shares these variables, but has actions of its own: its requests go to the
 * kernel.
 */
#include "actions.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define NUMBERS 3
#define FORMER 16 /* actions that a handler may still read while the program sets others */
#define TRIES 8

_Static_assert(offsetof(ucontext_t, uc_mcontext.gregs) + REG_RIP * sizeof(greg_t) == 168,
		"x86-64-read.S");
_Static_assert(offsetof(siginfo_t, si_code) == 8, "x86-64-read.S");
_Static_assert(sizeof(struct patch_moved) <= 48 && offsetof(struct patch_moved, patch) == 32,
		"x86-64-read.S");

static const int numbers[NUMBERS] = {SIGSEGV, SIGBUS, SIGFPE};

/* The program's actions of these signals. */
static struct patch_action actions[NUMBERS][FORMER];
static unsigned int now[NUMBERS];
static unsigned int reasons; /* PATCH_FAULTS_…; 0: the signals are not taken */
static pid_t owner;

uint64_t patch_faults_generation;

static unsigned int patch_fault_index(int number)
{
	return number == SIGSEGV ? 0 : number == SIGBUS ? 1 : 2;
}

static bool patch_fault_is_managed(int number)
{
	return number == SIGSEGV || number == SIGBUS || number == SIGFPE;
}

static uint64_t patch_fault_own_handler(void)
{
	return (uint64_t)(uintptr_t)patch_fault_arrives;
}

static bool patch_fault_is_own_handler(const struct patch_action *action)
{
	return action->handler == patch_fault_own_handler();
}

static bool patch_fault_is_function(uint64_t handler)
{
	return handler != (uint64_t)(uintptr_t)SIG_DFL && handler != (uint64_t)(uintptr_t)SIG_IGN;
}

static bool patch_fault_is_held(void)
{
	/*
	 * Relaxed: a thread that loads an old value makes a system call, and the kernel has the
	 * true action.
	 */
	return __atomic_load_n(&reasons, __ATOMIC_RELAXED) != 0;
}

/* Makes all readers read masks and actions again. */
static void patch_fault_notify_readers(void)
{
	/* Relaxed: a thread sees its own change; other threads read them again soon in any case. */
	__atomic_fetch_add(&patch_faults_generation, 1, __ATOMIC_RELAXED);
}

/* Called with the lock. Handlers read the action without it. */
static void patch_fault_set_user_action(int number, const struct patch_action *action)
{
	unsigned int at = (now[patch_fault_index(number)] + 1) % FORMER;

	actions[patch_fault_index(number)][at] = *action;
	/* Release: the action. Pairs with the acquire in patch_fault_get_user_action(). */
	__atomic_store_n(&now[patch_fault_index(number)], at, __ATOMIC_RELEASE);
}

static struct patch_action *patch_fault_get_user_action(int number)
{
	/* Acquire: the action. Pairs with the release in patch_fault_set_user_action(). */
	return &actions[patch_fault_index(number)]
		       [__atomic_load_n(&now[patch_fault_index(number)], __ATOMIC_ACQUIRE)];
}

/* ---- the kernel's actions ---- */

static struct patch_action patch_fault_with_own_handler(const struct patch_action *behind)
{
	struct patch_action result = {
			.handler = patch_fault_own_handler(),
			.flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | PATCH_SA_RESTORER,
			.restorer = (uint64_t)(uintptr_t)patch_fault_returns,
	};

	if (behind->handler == (uint64_t)(uintptr_t)SIG_IGN)
		return *behind;
	if (patch_fault_is_function(behind->handler)) {
		result.flags = (behind->flags & ~(uint64_t)(uint32_t)SA_RESETHAND) | SA_SIGINFO;
		result.restorer = behind->restorer;
		result.mask = behind->mask & ~patch_signals_unblockable();
	}
	return result;
}

static void patch_fault_update(int number)
{
	struct patch_action put = patch_fault_with_own_handler(patch_fault_get_user_action(number));

	patch_exchange_action(number, &put, NULL);
}

/*
 * If a bare system call sets another action at this moment, the exchange returns it, and it becomes
 * the program's action.
 */
static void patch_fault_install(int number)
{
	struct patch_action seen = {0}, put, found = {0};

	if (patch_exchange_action(number, NULL, &seen))
		return;
	for (unsigned int i = 0; i < TRIES && !patch_fault_is_own_handler(&seen); i++) {
		seen.mask |= patch_signals_wanted(number, seen.handler);
		patch_signals_want(number, 0, 0);
		patch_fault_set_user_action(number, &seen);
		put = patch_fault_with_own_handler(&seen);
		if (patch_exchange_action(number, &put, &found) || found.handler == seen.handler)
			return;
		seen = found;
	}
}

static void patch_fault_uninstall(int number)
{
	const struct patch_action *behind = patch_fault_get_user_action(number);
	struct patch_action seen = {0}, put = *behind;

	/* The program has set another one by a bare system call. */
	if (patch_exchange_action(number, NULL, &seen) || !patch_fault_is_own_handler(&seen))
		return;
	if (patch_fault_is_function(put.handler)) {
		put.mask &= ~patch_signals_unblockable();
		patch_signals_want(number, behind->mask & ~put.mask, put.handler);
	}
	patch_exchange_action(number, &put, NULL);
}

bool patch_faults_hold(int number)
{
	return patch_fault_is_held() && patch_fault_is_managed(number);
}

void patch_faults_install(void)
{
	if (!patch_fault_is_held())
		return;
	for (unsigned int i = 0; i < NUMBERS; i++) {
		struct patch_action seen = {0};

		if (!patch_exchange_action(numbers[i], NULL, &seen) &&
				patch_fault_is_own_handler(&seen))
			patch_fault_update(numbers[i]);
	}
}

void patch_faults_start(unsigned int reason)
{
	struct patch_section section = patch_signals_enter();

	owner = getpid();
	for (unsigned int i = 0; i < NUMBERS; i++)
		patch_fault_install(numbers[i]);
	/* Relaxed: see patch_fault_is_held(). */
	__atomic_store_n(&reasons, reasons | reason, __ATOMIC_RELAXED);
	if (reasons & PATCH_FAULTS_LOADS)
		patch_reading_ask_always(patch_signals_any_blocks_faults());
	patch_signals_leave(section);
	patch_fault_notify_readers();
}

void patch_faults_end(unsigned int reason)
{
	struct patch_section section = patch_signals_enter();

	if (patch_fault_is_held() && owner == getpid()) {
		/* Relaxed: see patch_fault_is_held(). */
		__atomic_store_n(&reasons, reasons & ~reason, __ATOMIC_RELAXED);
		patch_fault_notify_readers();
		for (unsigned int i = 0; !reasons && i < NUMBERS; i++)
			patch_fault_uninstall(numbers[i]);
	}
	patch_signals_leave(section);
}

void patch_faults_renew(void)
{
	if (patch_fault_is_held() && owner == getpid())
		patch_faults_start(0);
}

void patch_faults_forked(void)
{
	owner = getpid();
}

/* ---- requests of the program ---- */

int patch_faults_action(int number, const struct sigaction *action, struct sigaction *ret_before,
		patch_action_function *real)
{
	const struct sigaction user_action =
			patch_action_as_libc(patch_fault_get_user_action(number));
	struct patch_action kept;
	int ret = 0;

	if (action) {
		kept = patch_action_as_kernel(action);
		/*
		 * A program that has read side's handler by a bare system call and sets it again
		 * means its own handler.
		 */
		if (patch_fault_is_own_handler(&kept))
			action = &user_action;
	}
	if (patch_system_call(SYS_getpid, 0, 0, 0, 0, 0, 0) != owner) {
		ret = real(number, action, ret_before);
		if (ret || !ret_before)
			return ret;
		kept = patch_action_as_kernel(ret_before);
		if (patch_fault_is_own_handler(&kept))
			*ret_before = user_action;
		return 0;
	}
	if (action && action != &user_action) {
		if (!kept.restorer)
			kept.restorer = (uint64_t)(uintptr_t)patch_fault_returns;
		patch_fault_set_user_action(number, &kept);
		patch_fault_notify_readers();
		patch_fault_update(number);
	}
	if (ret_before)
		*ret_before = user_action;
	return 0;
}

/* ---- signals that arrive ---- */

/*
 * Executes the kernel's default action: lets the instruction fault again, with all registers
 * unchanged. A child of vfork() must not change the parent's code.
 */
static void patch_fault_do_default(
		int number, const siginfo_t *info, void *context, struct patch_moved *moved)
{
	const struct patch_action none = {.handler = (uint64_t)(uintptr_t)SIG_DFL};

	if (moved->patch &&
			(patch_system_call(SYS_getpid, 0, 0, 0, 0, 0, 0) != owner ||
					!patch_move_for_good(moved)))
		patch_move_back(context, moved);
	moved->patch = NULL;
	patch_exchange_action(number, &none, NULL);
	/* Sent by a process: the signal is blocked until this handler returns. */
	if (info->si_code <= 0)
		patch_system_call(SYS_rt_tgsigqueueinfo,
				patch_system_call(SYS_getpid, 0, 0, 0, 0, 0, 0),
				patch_system_call(SYS_gettid, 0, 0, 0, 0, 0, 0), number, (long)info,
				0, 0);
}

/*
 * Loads of thread-local memory (hit.c), and the address where each continues after a fault;
 * relative to the words themselves.
 */
extern const int32_t __start_patch_fixups[] __attribute__((visibility("hidden")));
extern const int32_t __stop_patch_fixups[] __attribute__((visibility("hidden")));

/*
 * Returns true if a load of a hit has faulted, and makes it continue. Reads nothing thread-local
 * before that is known.
 */
static bool patch_fault_recover_load(int number, const siginfo_t *info, ucontext_t *user)
{
	greg_t *registers = user->uc_mcontext.gregs;

	if (info->si_code <= 0)
		return false;
	for (const int32_t *each = __start_patch_fixups; each < __stop_patch_fixups; each += 2) {
		uint64_t load = (uint64_t)each + (uint64_t)(int64_t)each[0],
			 behind = (uint64_t)&each[1] + (uint64_t)(int64_t)each[1];

		if ((uint64_t)registers[REG_RIP] != load)
			continue;
		registers[REG_RIP] = (greg_t)behind;
		return true;
	}
	if (number != SIGBUS || info->si_code != BUS_ADRALN ||
			!(registers[REG_EFL] & (greg_t)PATCH_ALIGNMENT_CHECK) ||
			!patch_hit_is_unaligned())
		return false;
	registers[REG_EFL] &= ~(greg_t)PATCH_ALIGNMENT_CHECK;
	return true;
}

uint64_t patch_fault_behind(
		int number, siginfo_t *info, void *context, struct patch_moved *ret_moved)
{
	struct patch_action *behind = patch_fault_get_user_action(number);
	/* Relaxed: it changes only to the default, below. */
	uint64_t handler = __atomic_load_n(&behind->handler, __ATOMIC_RELAXED);
	bool once = (behind->flags & (uint32_t)SA_RESETHAND) != 0;

	ret_moved->patch = NULL;
	if (patch_fault_recover_load(number, info, context))
		return 0;
	/* The program's handler may block the signal, and may end by longjmp(). */
	patch_fault_notify_readers();
	if (number != SIGFPE && patch_copied_fault(info, context))
		return 0;
	if (handler == (uint64_t)(uintptr_t)SIG_IGN && info->si_code <= 0)
		return 0;
	patch_move_to_site(info, context, ret_moved);
	/* Relaxed: of two threads that arrive at the same time, the first one gets the handler. */
	if (patch_fault_is_function(handler) &&
			(!once ||
					__atomic_compare_exchange_n(&behind->handler, &handler,
							(uint64_t)(uintptr_t)SIG_DFL, false,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED)))
		return handler;
	patch_fault_do_default(number, info, context, ret_moved);
	return 0;
}
