/* SPDX-License-Identifier: MIT */
/*
 * Exact values of signals while traps are side's: the kernel's actions, the actions that the
 * program sees, masks of threads and of handlers, and what is released. The test includes the file,
 * so that it can call its static functions, and compares with bare system calls.
 */
#include <pthread.h>

#include "probe/patch/signals.c"

#include "../../check.h"

#define BIT(number) (UINT64_C(1) << ((number)-1))

static void own_handler_function(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
}

static void one(int number)
{
	(void)number;
}

static void other(int number)
{
	(void)number;
}

static struct patch_action of_kernel(int number)
{
	struct patch_action action = {0};

	CHECK(!patch_exchange_action(number, NULL, &action));
	return action;
}

static uint64_t mask_of_kernel(void)
{
	uint64_t mask = 0;

	CHECK(!patch_system_call(
			SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)&mask, PATCH_MASK_BYTES, 0, 0));
	return mask;
}

static sigset_t set_of(uint64_t mask)
{
	sigset_t set;

	sigemptyset(&set);
	memcpy(&set, &mask, sizeof(mask));
	return set;
}

static uint64_t mask_of(const sigset_t *set)
{
	uint64_t mask;

	memcpy(&mask, set, sizeof(mask));
	return mask;
}

static struct sigaction action_of(void (*handler)(int), uint64_t mask)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

	action.sa_mask = set_of(mask);
	return action;
}

static int refuse_mask(int how, const sigset_t *set, sigset_t *before)
{
	(void)how;
	(void)set;
	(void)before;
	return EINVAL;
}

static int refuse_action(int number, const struct sigaction *action, struct sigaction *before)
{
	(void)number;
	(void)action;
	(void)before;
	return -1;
}

static void take_signals(void)
{
	const struct sigaction action = {
			.sa_sigaction = own_handler_function, .sa_flags = SA_SIGINFO | SA_NODEFER};

	CHECK(!patch_signals_take(&action));
}

static void test_sections(void)
{
	struct patch_section section = patch_signals_enter(), inner;

	/* All signals but those of traps are blocked, once. */
	CHECK(section.entered && inside && lock &&
			mask_of_kernel() ==
					(~PATCH_TRAP_SIGNALS & ~(BIT(SIGKILL) | BIT(SIGSTOP)) &
							mask_of_kernel()));
	CHECK(mask_of_kernel() & BIT(SIGUSR1) && mask_of_kernel() & BIT(SIGSEGV) &&
			!(mask_of_kernel() & PATCH_TRAP_SIGNALS));
	inner = patch_signals_enter();
	CHECK(!inner.entered);
	patch_signals_leave(inner);
	CHECK(inside && lock && mask_of_kernel() & BIT(SIGUSR1));
	patch_signals_leave(section);
	CHECK(!inside && !lock && !mask_of_kernel());
	/* Signals that were blocked before remain blocked. */
	{
		sigset_t set = set_of(BIT(SIGHUP));

		CHECK(!pthread_sigmask(SIG_BLOCK, &set, NULL));
		section = patch_signals_enter();
		CHECK(section.blocked == BIT(SIGHUP));
		patch_signals_leave(section);
		CHECK(mask_of_kernel() == BIT(SIGHUP));
		CHECK(!pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	}
	/*
	 * A child of vfork() has exited within the section: after a second the next thread enters.
	 */
	section = patch_signals_enter();
	patch_signals_forked();
	CHECK(!lock && !inside);
	patch_signals_leave(section);
}

static void test_predicates(void)
{
	sigset_t set = set_of(BIT(SIGTRAP) | BIT(SIGHUP));
	struct patch_action action = {.handler = (uintptr_t)one, .mask = BIT(SIGSEGV)};

	CHECK(patch_signal_is_trap(SIGTRAP) && patch_signal_is_trap(SIGILL) &&
			!patch_signal_is_trap(SIGSEGV) && !patch_signal_is_trap(SIGBUS));
	CHECK(PATCH_TRAP_SIGNALS == (BIT(SIGTRAP) | BIT(SIGILL)) &&
			patch_signal_traps_of(&set) == BIT(SIGTRAP));
	patch_signal_change_mask(&set, PATCH_TRAP_SIGNALS, BIT(SIGILL));
	CHECK(mask_of(&set) == (BIT(SIGHUP) | BIT(SIGILL)));
	patch_signal_change_mask(&set, 0, BIT(SIGTRAP));
	CHECK(mask_of(&set) == (BIT(SIGHUP) | PATCH_TRAP_SIGNALS));
	CHECK(!patch_signal_is_changeable(SIGKILL) && !patch_signal_is_changeable(SIGSTOP) &&
			!patch_signal_is_changeable(SIGTRAP) &&
			!patch_signal_is_changeable(SIGILL) &&
			patch_signal_is_changeable(SIGUSR1) && patch_signal_is_changeable(SIGSEGV));
	CHECK(patch_signal_blocks_faults(SIGUSR1, &action) &&
			!patch_signal_blocks_faults(SIGSEGV, &action) &&
			!patch_signal_blocks_faults(SIGBUS, &action));
	action.mask = BIT(SIGBUS);
	CHECK(patch_signal_blocks_faults(SIGUSR1, &action));
	action.mask = BIT(SIGTRAP) | BIT(SIGFPE);
	CHECK(!patch_signal_blocks_faults(SIGUSR1, &action));
	action.mask = BIT(SIGBUS);
	action.handler = (uintptr_t)SIG_DFL;
	CHECK(!patch_signal_blocks_faults(SIGUSR1, &action));
	action.handler = (uintptr_t)SIG_IGN;
	CHECK(!patch_signal_blocks_faults(SIGUSR1, &action));
	CHECK(!patch_signals_any_blocks_faults());
}

/* The actions of SIGTRAP and SIGILL, of which a handler may still read an older one. */
static void test_user_actions(void)
{
	for (unsigned int i = 1; i <= 2 * FORMER; i++) {
		struct patch_action trap = {.handler = i}, ill = {.handler = 1000 + i};
		const struct patch_action *before = patch_signal_get_user_action(SIGTRAP);
		uint64_t handler = before->handler;

		patch_signal_set_user_action(SIGTRAP, &trap);
		patch_signal_set_user_action(SIGILL, &ill);
		CHECK(patch_signal_get_user_action(SIGTRAP)->handler == i &&
				patch_signal_get_user_action(SIGILL)->handler == 1000 + i &&
				before->handler == handler && now[0] < FORMER && now[1] == now[0]);
	}
	memset(actions, 0, sizeof(actions));
	now[0] = now[1] = 0;
}

static void test_replace(void)
{
	struct patch_action none = of_kernel(SIGUSR2), first = none, second = none, result;

	first.handler = (uintptr_t)one;
	first.flags = PATCH_SA_RESTORER;
	first.restorer = (uintptr_t)patch_fault_returns;
	second = first;
	second.handler = (uintptr_t)other;
	result = patch_signal_replace_action(SIGUSR2, &none, &first);
	CHECK(patch_is_same_action(&result, &first) && of_kernel(SIGUSR2).handler == first.handler);
	/* Another action was there: it is kept. */
	result = patch_signal_replace_action(SIGUSR2, &none, &second);
	CHECK(of_kernel(SIGUSR2).handler == first.handler && result.handler == first.handler);
	patch_signals_default(SIGUSR2);
	CHECK(!of_kernel(SIGUSR2).handler);
}

static void test_taken(void)
{
	struct sigaction mine = action_of(one, BIT(SIGHUP)), back, masked;
	struct patch_action ours;

	CHECK(!sigaction(SIGTRAP, &mine, NULL));
	CHECK(!known && !patch_signals_unblockable());
	take_signals();
	ours = of_kernel(SIGTRAP);
	CHECK(ours.handler == (uintptr_t)own_handler_function &&
			of_kernel(SIGILL).handler == ours.handler &&
			patch_signals_unblockable() == PATCH_TRAP_SIGNALS && known &&
			patch_restorer_of_libc == ours.restorer);
	CHECK(patch_signal_get_user_action(SIGTRAP)->handler == (uintptr_t)one &&
			patch_signal_get_user_action(SIGTRAP)->mask == BIT(SIGHUP) &&
			!patch_signal_get_user_action(SIGILL)->handler);
	CHECK(patch_signals_behind(SIGTRAP).sa_handler == one);
	/* Twice: the program's action is kept. */
	take_signals();
	CHECK(patch_signal_get_user_action(SIGTRAP)->handler == (uintptr_t)one);
	/* The program asks for the action, and sets another one. */
	mine = action_of(other, BIT(SIGINT));
	memset(&back, 0, sizeof(back));
	CHECK(!patch_signals_action(SIGTRAP, &mine, &back, sigaction) && back.sa_handler == one &&
			mask_of(&back.sa_mask) == BIT(SIGHUP));
	CHECK(of_kernel(SIGTRAP).handler == ours.handler &&
			patch_signal_get_user_action(SIGTRAP)->handler == (uintptr_t)other);
	CHECK(!patch_signals_action(SIGTRAP, NULL, &back, sigaction) && back.sa_handler == other &&
			mask_of(&back.sa_mask) == BIT(SIGINT));
	/* Side's handler, which was read from the kernel: the program's action is meant. */
	mine = action_of((void (*)(int))(uintptr_t)own_handler_function, 0);
	CHECK(patch_signal_is_own_libc_action(&mine) && !patch_signal_is_own_libc_action(&back));
	CHECK(!patch_signals_action(SIGTRAP, &mine, NULL, sigaction) &&
			patch_signal_get_user_action(SIGTRAP)->handler == (uintptr_t)other);
	CHECK(patch_signals_are_taken(SIGTRAP) && !patch_signals_are_taken(SIGUSR1));
	/*
	 * Other handlers do not block these two signals. The program sees masks that contain them.
	 */
	masked = action_of(one, BIT(SIGTRAP) | BIT(SIGUSR2));
	CHECK(!patch_signals_action(SIGUSR1, &masked, NULL, sigaction));
	CHECK(of_kernel(SIGUSR1).mask == BIT(SIGUSR2) &&
			patch_signals_wanted(SIGUSR1, (uintptr_t)one) == BIT(SIGTRAP) &&
			!patch_signals_wanted(SIGUSR1, (uintptr_t)other));
	CHECK(!patch_signals_action(SIGUSR1, NULL, &back, sigaction) &&
			mask_of(&back.sa_mask) == (BIT(SIGTRAP) | BIT(SIGUSR2)));
	CHECK(patch_signals_action(SIGUSR1, &masked, &back, refuse_action) == -1 &&
			patch_signals_wanted(SIGUSR1, (uintptr_t)one) == BIT(SIGTRAP));
	/* Invalid numbers are passed to the kernel. */
	CHECK(patch_signals_action(0, NULL, &back, refuse_action) == -1 &&
			patch_signals_action(LAST_SIGNAL + 1, NULL, &back, refuse_action) == -1);
	/* In a sandbox all requests are. */
	patch_signals_forward(true);
	CHECK(patch_signals_action(SIGTRAP, NULL, &back, refuse_action) == -1 &&
			!patch_signals_are_taken(SIGTRAP));
	patch_signals_forward(false);
	/* A handler that was installed before is changed too. */
	masked = action_of(other, PATCH_TRAP_SIGNALS | BIT(SIGHUP));
	CHECK(!sigaction(SIGUSR2, &masked, NULL));
	patch_signals_open();
	CHECK(of_kernel(SIGUSR2).mask == BIT(SIGHUP) &&
			patch_signals_wanted(SIGUSR2, (uintptr_t)other) == PATCH_TRAP_SIGNALS &&
			!patch_signals_wanted(SIGHUP, 0));
	/* All actions and masks are the program's again. */
	patch_signals_give_back();
	CHECK(!patch_signals_unblockable() && of_kernel(SIGTRAP).handler == (uintptr_t)other &&
			of_kernel(SIGTRAP).mask == BIT(SIGINT) && !of_kernel(SIGILL).handler);
	CHECK(of_kernel(SIGUSR1).mask == (BIT(SIGTRAP) | BIT(SIGUSR2)) &&
			of_kernel(SIGUSR2).mask == (PATCH_TRAP_SIGNALS | BIT(SIGHUP)) &&
			!patch_signals_wanted(SIGUSR1, (uintptr_t)one));
	/* A pending signal finds the current action of the program. */
	mine = action_of(one, 0);
	CHECK(!patch_signals_action(SIGTRAP, &mine, NULL, sigaction) &&
			of_kernel(SIGTRAP).handler == (uintptr_t)one &&
			patch_signals_behind(SIGTRAP).sa_handler == one);
	patch_signals_default(SIGTRAP);
	patch_signals_default(SIGUSR1);
	patch_signals_default(SIGUSR2);
}

static uint64_t reported(void)
{
	sigset_t before;

	CHECK(!patch_signals_mask(SIG_BLOCK, NULL, &before, pthread_sigmask));
	return mask_of(&before);
}

static void test_masks(void)
{
	sigset_t set, before;

	take_signals();
	set = set_of(BIT(SIGTRAP) | BIT(SIGUSR1));
	CHECK(!patch_signals_mask(SIG_BLOCK, &set, &before, pthread_sigmask) && !mask_of(&before));
	CHECK(mask_of_kernel() == BIT(SIGUSR1) && wanted == BIT(SIGTRAP) &&
			reported() == (BIT(SIGTRAP) | BIT(SIGUSR1)));
	set = set_of(BIT(SIGILL));
	CHECK(!patch_signals_mask(SIG_BLOCK, &set, &before, pthread_sigmask) &&
			wanted == PATCH_TRAP_SIGNALS &&
			mask_of(&before) == (BIT(SIGTRAP) | BIT(SIGUSR1)));
	set = set_of(BIT(SIGTRAP) | BIT(SIGUSR1));
	CHECK(!patch_signals_mask(SIG_UNBLOCK, &set, NULL, pthread_sigmask) &&
			wanted == BIT(SIGILL) && !mask_of_kernel());
	set = set_of(BIT(SIGTRAP) | BIT(SIGHUP));
	CHECK(!patch_signals_mask(SIG_SETMASK, &set, NULL, pthread_sigmask) &&
			wanted == BIT(SIGTRAP) && mask_of_kernel() == BIT(SIGHUP));
	/* A request that fails changes nothing. */
	set = set_of(BIT(SIGILL));
	CHECK(patch_signals_mask(SIG_SETMASK, &set, &before, refuse_mask) == EINVAL &&
			wanted == BIT(SIGTRAP));
	/* In a sandbox nothing is changed. */
	patch_signals_forward(true);
	set = set_of(BIT(SIGUSR2));
	CHECK(!patch_signals_mask(SIG_SETMASK, &set, &before, pthread_sigmask) &&
			mask_of(&before) == BIT(SIGHUP) && mask_of_kernel() == BIT(SIGUSR2) &&
			wanted == BIT(SIGTRAP));
	patch_signals_forward(false);
	/* When the signals are the program's again, the next request blocks what it asked for. */
	patch_signals_give_back();
	CHECK(reported() == (BIT(SIGTRAP) | BIT(SIGUSR2)) && !wanted &&
			mask_of_kernel() == (BIT(SIGTRAP) | BIT(SIGUSR2)));
	set = set_of(0);
	CHECK(!patch_signals_mask(SIG_SETMASK, &set, &before, pthread_sigmask) &&
			mask_of(&before) == (BIT(SIGTRAP) | BIT(SIGUSR2)) && !mask_of_kernel());
	/* The signals were taken while a thread blocked them. */
	set = set_of(BIT(SIGILL) | BIT(SIGHUP));
	CHECK(!pthread_sigmask(SIG_SETMASK, &set, NULL));
	patch_signal_open_as_held();
	CHECK(wanted == BIT(SIGILL) && mask_of_kernel() == BIT(SIGHUP));
	patch_signal_block_as_wanted();
	CHECK(!wanted && mask_of_kernel() == (BIT(SIGILL) | BIT(SIGHUP)));
	set = set_of(0);
	CHECK(!pthread_sigmask(SIG_SETMASK, &set, NULL));
}

int main(void)
{
	CHECK(!patch_locations_start());
	test_sections();
	test_predicates();
	test_user_actions();
	test_replace();
	test_taken();
	test_masks();
	return 0;
}
