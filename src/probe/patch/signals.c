/* SPDX-License-Identifier: MIT */
/*
 * Keeps the program's actions and masks of signals while side has handlers for traps. The program's
 * handler of SIGTRAP or SIGILL runs behind side's handler, and no thread and no handler blocks
 * these two: the kernel kills a program that meets a trap in that state. What the program has
 * requested is stored, is returned when it asks, and is given to the kernel when no probe is left.
 *
 * Wrappers of the C library's functions call this file. Without them, and for system calls that the
 * program makes itself, a handler or a mask is noticed when probes are set or removed, and by
 * patch_check().
 *
 * Actions change one at a time, with a lock. So an action that the program sets becomes either the
 * one behind side's handler or the kernel's, at whichever moment it is set. An action that is set
 * by a bare system call is found in what the kernel returns in exchange, and put back. Each thread
 * has a mask of its own. If a thread has requested to block these two signals, and side has
 * prevented that, it blocks them from its next call on.
 *
 * All of it may be called in signal handlers.
 */
#include "actions.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LAST_SIGNAL 64
#define FORMER 16 /* actions that a handler may still read while the program sets others */
#define SPINS 100
#define PAUSES 20000
#define PAUSE_NS 50000

/* The signals that the calling thread would block. As fast as a register, also in handlers. */
static __thread uint64_t wanted __attribute__((tls_model("initial-exec")));
/* The same for the handler of each signal. */
static struct {
	uint64_t mask, handler;
} wanted_by[LAST_SIGNAL + 1];

static uint64_t own_handler;
uint64_t patch_restorer_of_libc;
/* The program's actions of SIGTRAP and SIGILL. */
static struct patch_action actions[2][FORMER];
static unsigned int now[2];
static bool held;
static bool known; /* was held at least once */

static bool patch_signal_is_trap(int number)
{
	return number == SIGTRAP || number == SIGILL;
}

/* ---- the lock ---- */

static uint32_t lock;
static __thread bool inside __attribute__((tls_model("initial-exec")));

/*
 * Handlers of traps are the only ones that can interrupt a thread with the lock, because it may
 * meet a trap. If a handler of the program runs in this way, it finds `inside` set, and continues
 * without the lock.
 */
struct patch_section patch_signals_enter(void)
{
	const uint64_t all = ~PATCH_TRAP_SIGNALS;
	struct patch_section section = {0};

	if (inside)
		return section;
	patch_reading_pause();
	patch_system_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)&section.blocked,
			PATCH_MASK_BYTES, 0, 0);
	section.entered = inside = true;
	/*
	 * Acquire: what the last thread in the section did. Pairs with the release in
	 * patch_signals_leave(). A thread that holds it for more than a second has exited: it was a
	 * child of vfork().
	 */
	for (unsigned int i = 0;
			__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) && i < SPINS + PAUSES;
			i++) {
		const struct timespec pause = {.tv_nsec = PAUSE_NS};

		if (i < SPINS)
			__builtin_ia32_pause();
		else
			patch_system_call(SYS_nanosleep, (long)&pause, 0, 0, 0, 0, 0);
	}
	return section;
}

void patch_signals_leave(struct patch_section section)
{
	uint64_t open = ~PATCH_TRAP_SIGNALS & ~section.blocked;

	if (!section.entered)
		return;
	/* Release: all that was done. Pairs with the acquire in patch_signals_enter(). */
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
	inside = false;
	/* Only what was blocked here: a tracer may have changed the others. */
	patch_system_call(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&open, 0, PATCH_MASK_BYTES, 0, 0);
	patch_reading_forget();
}

void patch_signals_forked(void)
{
	lock = 0;
	inside = false;
	patch_faults_forked();
}

/* ---- the kernel's actions ---- */

static bool patch_signal_is_own_handler(const struct patch_action *action)
{
	return action->handler == own_handler;
}

/*
 * Replaces the kernel's action `from` by `to`. If a bare system call has set another action
 * meanwhile, the exchange returns it, and it is put back. Returns the action that the kernel has.
 */
static struct patch_action patch_signal_replace_action(
		int number, const struct patch_action *from, const struct patch_action *to)
{
	struct patch_action expected = *from, put = *to, found = *from;

	while (!patch_exchange_action(number, &put, &found) &&
			!patch_is_same_action(&found, &expected)) {
		expected = put;
		put = found;
	}
	return put;
}

void patch_signals_default(int number)
{
	const struct patch_action none = {.handler = (uint64_t)(uintptr_t)SIG_DFL};

	patch_exchange_action(number, &none, NULL);
}

/* ---- the program's actions ---- */

/* Called with the lock. Handlers read the action without it. */
static void patch_signal_set_user_action(int number, const struct patch_action *action)
{
	unsigned int which = number == SIGILL, at = (now[which] + 1) % FORMER;

	actions[which][at] = *action;
	/* Release: the action. Pairs with the acquire in patch_signal_get_user_action(). */
	__atomic_store_n(&now[which], at, __ATOMIC_RELEASE);
}

static const struct patch_action *patch_signal_get_user_action(int number)
{
	/* Acquire: the action. Pairs with the release in patch_signal_set_user_action(). */
	return &actions[number == SIGILL]
		       [__atomic_load_n(&now[number == SIGILL], __ATOMIC_ACQUIRE)];
}

/* In a sandbox: pass the program's requests to the kernel, and make no other calls. */
static bool is_forwarded;

void patch_signals_forward(bool pass)
{
	/* Relaxed: no signal is held on either side of the change. */
	__atomic_store_n(&is_forwarded, pass, __ATOMIC_RELAXED);
}

static bool patch_signal_are_forwarded(void)
{
	return __atomic_load_n(&is_forwarded, __ATOMIC_RELAXED);
}

static bool patch_signal_is_held(void)
{
	/*
	 * Relaxed: a thread that loads an old value notices it after its system call, or
	 * patch_unblock() finds it.
	 */
	return __atomic_load_n(&held, __ATOMIC_RELAXED);
}

struct sigaction patch_signals_behind(int number)
{
	struct patch_action real = {0};

	/*
	 * The signal was on its way when the program got the signals back; or the program itself
	 * has called side's handler, or set it again.
	 */
	if (!patch_signal_is_held() && !patch_exchange_action(number, NULL, &real) &&
			!patch_signal_is_own_handler(&real))
		return patch_action_as_libc(&real);
	return patch_action_as_libc(patch_signal_get_user_action(number));
}

/* Uses libc's sigaction(), which knows how handlers return. */
static int patch_signal_set_handler(
		int number, const struct sigaction *handler, const struct patch_action *seen)
{
	struct sigaction before = {0};
	struct patch_action set = {0};

	if (sigaction(number, handler, &before))
		return -errno;
	if (!patch_exchange_action(number, NULL, &set))
		patch_restorer_of_libc = set.restorer;
	/* A sanitizer's sigaction() has installed its own handler before it. */
	if (!patch_signal_is_own_handler(&set))
		patch_resume_never();
	set = patch_action_as_kernel(&before);
	set.flags = (uint32_t)before.sa_flags;
	memcpy(&set.restorer, &before.sa_restorer, sizeof(set.restorer));
	/* Set by a bare system call meanwhile. */
	if (!patch_signal_is_own_handler(&set) && !patch_is_same_action(&set, seen))
		patch_signal_set_user_action(number, &set);
	return 0;
}

static int patch_signal_install(int number, const struct sigaction *handler)
{
	struct patch_action real = {0};
	int ret = patch_exchange_action(number, NULL, &real);

	if (ret || patch_signal_is_own_handler(&real))
		return ret;
	patch_signal_set_user_action(number, &real);
	return patch_signal_set_handler(number, handler, &real);
}

int patch_signals_take(const struct sigaction *handler)
{
	struct patch_section section = patch_signals_enter();
	int ret;

	memcpy(&own_handler, &handler->sa_sigaction, sizeof(own_handler));
	known = true;
	ret = patch_signal_install(SIGTRAP, handler);
	if (!ret)
		ret = patch_signal_install(SIGILL, handler);
	/* Relaxed: see patch_signal_is_held(). */
	if (!ret)
		__atomic_store_n(&held, true, __ATOMIC_RELAXED);
	patch_signals_leave(section);
	return ret;
}

/* ---- masks ---- */

static uint64_t patch_signal_traps_of(const sigset_t *set)
{
	uint64_t mask;

	memcpy(&mask, set, sizeof(mask));
	return mask & PATCH_TRAP_SIGNALS;
}

static void patch_signal_change_mask(sigset_t *set, uint64_t remove, uint64_t add)
{
	uint64_t mask;

	memcpy(&mask, set, sizeof(mask));
	mask = (mask & ~remove) | add;
	memcpy(set, &mask, sizeof(mask));
}

/* Blocks what this thread has requested while side had the signals. */
static void patch_signal_block_as_wanted(void)
{
	uint64_t mask = wanted;

	if (!mask)
		return;
	patch_system_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&mask, 0, PATCH_MASK_BYTES, 0, 0);
	wanted = 0;
}

/*
 * Side has taken the signals while this thread blocked them; either this function or
 * patch_unblock() unblocks them.
 */
static void patch_signal_open_as_held(void)
{
	uint64_t mask = 0, traps = PATCH_TRAP_SIGNALS;

	patch_system_call(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&traps, (long)&mask,
			PATCH_MASK_BYTES, 0, 0);
	wanted |= mask & PATCH_TRAP_SIGNALS;
}

int patch_signals_mask(
		int how, const sigset_t *set, sigset_t *ret_before, patch_mask_function *real)
{
	uint64_t wanted_before, traps;
	sigset_t unblocked;
	int ret;

	if (patch_signal_are_forwarded())
		return real(how, set, ret_before);
	if (set)
		patch_reading_pause();
	if (!patch_signal_is_held())
		patch_signal_block_as_wanted();
	wanted_before = wanted;
	if (!set || !patch_signal_is_held()) {
		ret = real(how, set, ret_before);
		if (set && patch_signal_is_held())
			patch_signal_open_as_held();
	} else {
		unblocked = *set;
		traps = patch_signal_traps_of(set);
		if (how == SIG_UNBLOCK) {
			wanted &= ~traps;
		} else {
			wanted = how == SIG_SETMASK ? traps : wanted | traps;
			patch_signal_change_mask(&unblocked, PATCH_TRAP_SIGNALS, 0);
		}
		ret = real(how, &unblocked, ret_before);
		if (ret)
			wanted = wanted_before;
	}
	if (set)
		patch_reading_forget();
	if (!ret && ret_before)
		patch_signal_change_mask(ret_before, 0, wanted_before);
	return ret;
}

/* Stores what a handler would block. Called with the lock. */
static void patch_signal_block_in_handler(int number, uint64_t mask, uint64_t handler)
{
	wanted_by[number].mask = mask;
	wanted_by[number].handler = handler;
}

uint64_t patch_signals_unblockable(void)
{
	return patch_signal_is_held() ? PATCH_TRAP_SIGNALS : 0;
}

uint64_t patch_signals_wanted(int number, uint64_t handler)
{
	return wanted_by[number].handler == handler ? wanted_by[number].mask : 0;
}

void patch_signals_want(int number, uint64_t mask, uint64_t handler)
{
	patch_signal_block_in_handler(number, mask, handler);
}

static bool patch_signal_is_changeable(int number)
{
	return number != SIGKILL && number != SIGSTOP && !patch_signal_is_trap(number) &&
			!patch_faults_hold(number);
}

static bool patch_signal_blocks_faults(int number, const struct patch_action *action)
{
	return (action->mask & PATCH_FAULT_SIGNALS) && number != SIGSEGV && number != SIGBUS &&
			action->handler != (uint64_t)(uintptr_t)SIG_DFL &&
			action->handler != (uint64_t)(uintptr_t)SIG_IGN;
}

bool patch_signals_any_blocks_faults(void)
{
	for (int number = 1; number <= LAST_SIGNAL; number++) {
		struct patch_action real = {0};

		if (!patch_exchange_action(number, NULL, &real) &&
				patch_signal_blocks_faults(number, &real))
			return true;
	}
	return false;
}

/* Also changes handlers that were installed before. */
void patch_signals_open(void)
{
	struct patch_section section = patch_signals_enter();

	for (int number = 1; number <= LAST_SIGNAL; number++) {
		struct patch_action real = {0}, open;

		if (!patch_signal_is_changeable(number) ||
				patch_exchange_action(number, NULL, &real) ||
				!(real.mask & PATCH_TRAP_SIGNALS) ||
				real.handler == (uint64_t)(uintptr_t)SIG_DFL ||
				real.handler == (uint64_t)(uintptr_t)SIG_IGN)
			continue;
		patch_signal_block_in_handler(number, real.mask & PATCH_TRAP_SIGNALS, real.handler);
		open = real;
		open.mask &= ~PATCH_TRAP_SIGNALS;
		patch_signal_replace_action(number, &real, &open);
	}
	patch_faults_install();
	patch_signals_leave(section);
}

/* ---- giving back ---- */

static void patch_signal_uninstall(int number)
{
	struct patch_action real = {0};

	if (patch_exchange_action(number, NULL, &real))
		return;
	if (patch_signal_is_trap(number)) {
		if (patch_signal_is_own_handler(&real))
			patch_signal_replace_action(
					number, &real, patch_signal_get_user_action(number));
	} else if (wanted_by[number].mask && wanted_by[number].handler == real.handler) {
		struct patch_action full = real;

		full.mask |= wanted_by[number].mask;
		patch_signal_replace_action(number, &real, &full);
	}
	patch_signal_block_in_handler(number, 0, 0);
}

void patch_signals_give_back(void)
{
	struct patch_section section = patch_signals_enter();

	/* Relaxed: see patch_signal_is_held(). */
	__atomic_store_n(&held, false, __ATOMIC_RELAXED);
	for (int number = 1; number <= LAST_SIGNAL; number++) {
		if (patch_signal_is_trap(number) || patch_signal_is_changeable(number))
			patch_signal_uninstall(number);
	}
	patch_faults_install();
	patch_signals_leave(section);
}

/* ---- requests for actions ---- */

static bool patch_signal_is_own_libc_action(const struct sigaction *action)
{
	struct patch_action same = patch_action_as_kernel(action);

	return patch_signal_is_own_handler(&same);
}

/*
 * Answers a request for SIGTRAP or SIGILL. A program that has read side's handler by a bare system
 * call and sets it again means its own handler.
 */
static int patch_signal_act_managed(int number, const struct sigaction *action,
		struct sigaction *ret_before, patch_action_function *real)
{
	struct sigaction user_action = patch_action_as_libc(patch_signal_get_user_action(number));
	struct patch_action kept;
	int ret = 0;

	if (action && patch_signal_is_own_libc_action(action))
		action = &user_action;
	if (!patch_signal_is_held()) {
		ret = real(number, action, ret_before);
		if (!ret && ret_before && patch_signal_is_own_libc_action(ret_before))
			*ret_before = user_action;
		return ret;
	}
	if (action && action != &user_action) {
		kept = patch_action_as_kernel(action);
		patch_signal_set_user_action(number, &kept);
	}
	if (ret_before)
		*ret_before = user_action;
	return 0;
}

static int patch_signal_act_other(int number, const struct sigaction *action,
		struct sigaction *ret_before, patch_action_function *real)
{
	uint64_t wanted_before = wanted_by[number].mask;
	struct patch_action kept;
	struct sigaction unblocked;
	int ret;

	if (action) {
		kept = patch_action_as_kernel(action);
		if (patch_signal_blocks_faults(number, &kept))
			patch_reading_ask_always(true);
	}
	if (!action || !patch_signal_is_held()) {
		ret = real(number, action, ret_before);
	} else {
		unblocked = *action;
		patch_signal_change_mask(&unblocked.sa_mask, PATCH_TRAP_SIGNALS, 0);
		ret = real(number, &unblocked, ret_before);
		if (!ret)
			patch_signal_block_in_handler(
					number, kept.mask & PATCH_TRAP_SIGNALS, kept.handler);
	}
	if (!ret && ret_before)
		patch_signal_change_mask(&ret_before->sa_mask, 0, wanted_before);
	return ret;
}

bool patch_signals_are_taken(int number)
{
	return !patch_signal_are_forwarded() &&
			(patch_signal_is_trap(number) || patch_faults_hold(number));
}

int patch_signals_action(int number, const struct sigaction *action, struct sigaction *ret_before,
		patch_action_function *real)
{
	struct patch_section section;
	int ret;

	if (!known || patch_signal_are_forwarded() || inside || number < 1 || number > LAST_SIGNAL)
		return real(number, action, ret_before);
	section = patch_signals_enter();
	if (patch_faults_hold(number))
		ret = patch_faults_action(number, action, ret_before, real);
	else
		ret = patch_signal_is_trap(number)
				? patch_signal_act_managed(number, action, ret_before, real)
				: patch_signal_act_other(number, action, ret_before, real);
	patch_signals_leave(section);
	return ret;
}
