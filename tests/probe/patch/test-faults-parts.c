/* SPDX-License-Identifier: MIT */
/*
 * Exact values of faults while their signals are side's: the kernel's actions, the actions that the
 * program sees, and what a fault does that belongs to a load, to a copy, to a displaced instruction
 * or to the program. The test includes the file, so that it can call its static functions, plays
 * the functions of other files, and compares with bare system calls.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "probe/patch/actions.h"

#include "../../check.h"

#define BIT(number) (UINT64_C(1) << ((number)-1))

/* ---- functions of other files ---- */

static struct {
	bool copied, moves, for_good, unaligned, blocks_faults;
	unsigned int copied_calls, moved_calls, for_good_calls, back_calls, asks_calls, wants;
	bool asks;
	uint64_t open, wanted, wanted_handler;
	int wanted_number, depth, sections;
	uint64_t want_mask, want_handler; /* of the last patch_signals_want() with a mask */
} fake;

static struct patch fake_probe;

static bool fake_copied(const siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	fake.copied_calls++;
	return fake.copied;
}

static bool fake_move(siginfo_t *info, void *context, struct patch_moved *moved)
{
	(void)info;
	(void)context;
	fake.moved_calls++;
	*moved = (struct patch_moved){.patch = fake.moves ? &fake_probe : NULL};
	return fake.moves;
}

static bool fake_for_good(const struct patch_moved *moved)
{
	CHECK(moved->patch == &fake_probe);
	fake.for_good_calls++;
	return fake.for_good;
}

static void fake_back(void *context, const struct patch_moved *moved)
{
	CHECK(context && moved->patch == &fake_probe);
	fake.back_calls++;
}

static bool fake_unaligned(void)
{
	return fake.unaligned;
}

static bool fake_blocks_faults(void)
{
	return fake.blocks_faults;
}

static void fake_ask_always(bool always)
{
	fake.asks = always;
	fake.asks_calls++;
}

static struct patch_section fake_enter(void)
{
	fake.depth++;
	fake.sections++;
	return (struct patch_section){.blocked = 77};
}

static void fake_leave(struct patch_section section)
{
	CHECK(section.blocked == 77);
	fake.depth--;
}

static uint64_t fake_open(void)
{
	return fake.open;
}

static uint64_t fake_wanted(int number, uint64_t handler)
{
	return number == fake.wanted_number && handler == fake.wanted_handler ? fake.wanted : 0;
}

static void fake_want(int number, uint64_t mask, uint64_t handler)
{
	CHECK(number == SIGSEGV || number == SIGBUS || number == SIGFPE);
	if (mask || handler) {
		fake.want_mask = mask;
		fake.want_handler = handler;
	}
	if (number == fake.wanted_number && !mask)
		fake.wanted = 0;
	fake.wants++;
}

/*
 * Before the exchange with this number another thread sets an action by a bare system call; 0:
 * never.
 */
static unsigned int nr_exchanges, bare_from, bare_until, failing_exchange;

static int hooked_exchange(
		int number, const struct patch_action *action, struct patch_action *before)
{
	nr_exchanges++;
	if (nr_exchanges == failing_exchange)
		return -EINVAL;
	if (nr_exchanges >= bare_from && nr_exchanges < bare_until) {
		const struct patch_action bare = {.handler = 0x1000 + nr_exchanges,
				.flags = PATCH_SA_RESTORER,
				.restorer = (uint64_t)(uintptr_t)patch_fault_returns};

		CHECK(!patch_exchange_action(number, &bare, NULL));
	}
	return patch_exchange_action(number, action, before);
}

#define patch_exchange_action hooked_exchange
#define patch_copied_fault fake_copied
#define patch_move_to_site fake_move
#define patch_move_for_good fake_for_good
#define patch_move_back fake_back
#define patch_hit_is_unaligned fake_unaligned
#define patch_signals_any_blocks_faults fake_blocks_faults
#define patch_reading_ask_always fake_ask_always
#define patch_signals_enter fake_enter
#define patch_signals_leave fake_leave
#define patch_signals_unblockable fake_open
#define patch_signals_wanted fake_wanted
#define patch_signals_want fake_want
#include "probe/patch/faults.c"
#undef patch_exchange_action

static void one(int number)
{
	(void)number;
}

static void other(int number)
{
	(void)number;
}

static uint64_t address_of(void (*handler)(int))
{
	return (uint64_t)(uintptr_t)handler;
}

static struct patch_action of_kernel(int number)
{
	struct patch_action action = {0};

	CHECK(!patch_exchange_action(number, NULL, &action));
	return action;
}

static void set_in_kernel(int number, uint64_t handler, uint64_t flags, uint64_t mask)
{
	const struct patch_action action = {.handler = handler,
			.flags = flags | PATCH_SA_RESTORER,
			.restorer = (uint64_t)(uintptr_t)patch_fault_returns,
			.mask = mask};

	CHECK(!patch_exchange_action(number, &action, NULL));
}

static struct sigaction action_of(void (*handler)(int), uint64_t mask, int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	memcpy(&action.sa_mask, &mask, sizeof(mask));
	return action;
}

static uint64_t mask_of(const sigset_t *set)
{
	uint64_t mask;

	memcpy(&mask, set, sizeof(mask));
	return mask;
}

static void begin(void)
{
	memset(&fake, 0, sizeof(fake));
	memset(actions, 0, sizeof(actions));
	memset(now, 0, sizeof(now));
	reasons = 0;
	owner = 0;
	patch_faults_generation = 100;
	for (unsigned int i = 0; i < NUMBERS; i++)
		set_in_kernel(numbers[i], 0, 0, 0);
}

/* ---- small functions ---- */

static void test_predicates(void)
{
	struct patch_action action = {.handler = (uint64_t)(uintptr_t)patch_fault_arrives};

	begin();
	CHECK(patch_fault_index(SIGSEGV) == 0 && patch_fault_index(SIGBUS) == 1 &&
			patch_fault_index(SIGFPE) == 2);
	for (int i = 1; i < 65; i++)
		CHECK(patch_fault_is_managed(i) == (i == SIGSEGV || i == SIGBUS || i == SIGFPE));
	CHECK(patch_fault_is_own_handler(&action) && patch_fault_is_function(action.handler));
	action.handler++;
	CHECK(!patch_fault_is_own_handler(&action) && patch_fault_is_function(2) &&
			!patch_fault_is_function(0) && !patch_fault_is_function(1));
	reasons = PATCH_FAULTS_COPIES;
	CHECK(patch_fault_is_held() && patch_faults_hold(SIGSEGV) && patch_faults_hold(SIGFPE) &&
			!patch_faults_hold(SIGTRAP));
	reasons = 0;
	CHECK(!patch_fault_is_held() && !patch_faults_hold(SIGSEGV));
	patch_fault_notify_readers();
	CHECK(patch_faults_generation == 101);
}

/* A handler may still read as many former actions as there are entries, minus one. */
static void test_user_actions(void)
{
	begin();
	for (unsigned int i = 1; i <= 2 * FORMER; i++) {
		const struct patch_action segv = {.handler = i, .mask = 7 * i},
					  bus = {.handler = 1000 + i}, fpe = {.handler = 2000 + i};
		const struct patch_action *before = patch_fault_get_user_action(SIGSEGV);
		uint64_t handler = before->handler;

		patch_fault_set_user_action(SIGSEGV, &segv);
		patch_fault_set_user_action(SIGBUS, &bus);
		patch_fault_set_user_action(SIGFPE, &fpe);
		CHECK(patch_fault_get_user_action(SIGSEGV)->handler == i &&
				patch_fault_get_user_action(SIGSEGV)->mask == 7 * i &&
				patch_fault_get_user_action(SIGBUS)->handler == 1000 + i &&
				patch_fault_get_user_action(SIGFPE)->handler == 2000 + i);
		CHECK(before->handler == handler && now[0] == i % FORMER && now[1] == now[0] &&
				now[2] == now[0]);
	}
}

static void test_with_ours(void)
{
	struct patch_action behind = {.handler = address_of(one),
					    .flags = (uint32_t)SA_RESETHAND | SA_NODEFER,
					    .restorer = 55,
					    .mask = BIT(SIGTRAP) | BIT(SIGHUP)},
			    result;

	begin();
	fake.open = BIT(SIGTRAP) | BIT(SIGILL);
	result = patch_fault_with_own_handler(&behind);
	CHECK(result.handler == (uint64_t)(uintptr_t)patch_fault_arrives && result.restorer == 55 &&
			result.mask == BIT(SIGHUP) && result.flags == (SA_NODEFER | SA_SIGINFO));
	behind.handler = (uint64_t)(uintptr_t)SIG_DFL;
	result = patch_fault_with_own_handler(&behind);
	CHECK(result.handler == (uint64_t)(uintptr_t)patch_fault_arrives && !result.mask &&
			result.restorer == (uint64_t)(uintptr_t)patch_fault_returns &&
			result.flags == (SA_SIGINFO | SA_ONSTACK | SA_RESTART | PATCH_SA_RESTORER));
	/* An ignored signal: unchanged. */
	behind.handler = (uint64_t)(uintptr_t)SIG_IGN;
	result = patch_fault_with_own_handler(&behind);
	CHECK(patch_is_same_action(&result, &behind));
}

/* ---- taken and given back ---- */

static void test_taken_and_returned(void)
{
	const uint64_t ours = (uint64_t)(uintptr_t)patch_fault_arrives;

	begin();
	set_in_kernel(SIGSEGV, address_of(one), SA_ONSTACK, BIT(SIGTRAP) | BIT(SIGHUP));
	signal(SIGBUS, SIG_IGN);
	fake.open = BIT(SIGTRAP);
	fake.wanted_number = SIGSEGV;
	fake.wanted_handler = address_of(one);
	fake.wanted = BIT(SIGILL);
	patch_faults_start(PATCH_FAULTS_COPIES);
	CHECK(fake.depth == 0 && fake.sections == 1 && reasons == PATCH_FAULTS_COPIES &&
			owner == getpid() && !fake.asks_calls && patch_faults_generation == 101);
	CHECK(of_kernel(SIGSEGV).handler == ours && of_kernel(SIGFPE).handler == ours &&
			of_kernel(SIGBUS).handler == (uint64_t)(uintptr_t)SIG_IGN);
	/* The mask that the program's handler wants; the stored mask is used up. */
	CHECK(patch_fault_get_user_action(SIGSEGV)->handler == address_of(one) &&
			patch_fault_get_user_action(SIGSEGV)->mask ==
					(BIT(SIGTRAP) | BIT(SIGHUP) | BIT(SIGILL)) &&
			!fake.wanted);
	CHECK(of_kernel(SIGSEGV).mask == (BIT(SIGHUP) | BIT(SIGILL)) &&
			of_kernel(SIGSEGV).flags == (SA_ONSTACK | SA_SIGINFO | PATCH_SA_RESTORER));
	CHECK(patch_fault_get_user_action(SIGBUS)->handler == (uint64_t)(uintptr_t)SIG_IGN &&
			!patch_fault_get_user_action(SIGFPE)->handler);
	/* For a second reason; then the first one ends, and the second one. */
	fake.blocks_faults = true;
	patch_faults_start(PATCH_FAULTS_LOADS);
	CHECK(reasons == (PATCH_FAULTS_LOADS | PATCH_FAULTS_COPIES) && fake.asks &&
			fake.asks_calls == 1 &&
			patch_fault_get_user_action(SIGSEGV)->handler == address_of(one));
	fake.blocks_faults = false;
	patch_faults_start(0);
	CHECK(!fake.asks && fake.asks_calls == 2 && patch_faults_generation == 103);
	patch_faults_end(PATCH_FAULTS_COPIES);
	CHECK(reasons == PATCH_FAULTS_LOADS && of_kernel(SIGSEGV).handler == ours &&
			!fake.want_handler && patch_faults_generation == 104 && fake.depth == 0);
	patch_faults_end(PATCH_FAULTS_LOADS);
	CHECK(!reasons && fake.depth == 0 && patch_faults_generation == 105);
	CHECK(of_kernel(SIGSEGV).handler == address_of(one) &&
			of_kernel(SIGSEGV).mask == (BIT(SIGHUP) | BIT(SIGILL)) &&
			of_kernel(SIGSEGV).flags == (SA_ONSTACK | PATCH_SA_RESTORER));
	CHECK(fake.want_mask == BIT(SIGTRAP) && fake.want_handler == address_of(one));
	CHECK(!of_kernel(SIGFPE).handler &&
			of_kernel(SIGBUS).handler == (uint64_t)(uintptr_t)SIG_IGN);
	/* Nothing is taken: there is nothing to end. */
	patch_faults_end(PATCH_FAULTS_LOADS);
	CHECK(patch_faults_generation == 105 && fake.depth == 0);
	patch_faults_renew();
	CHECK(of_kernel(SIGSEGV).handler == address_of(one));
	patch_faults_install();
	CHECK(of_kernel(SIGSEGV).handler == address_of(one));
}

/* Bare system calls of the program change actions meanwhile. */
static void test_bare(void)
{
	const uint64_t ours = (uint64_t)(uintptr_t)patch_fault_arrives;

	begin();
	patch_faults_start(PATCH_FAULTS_COPIES);
	set_in_kernel(SIGSEGV, address_of(other), 0, 0);
	/* An action that was set is not replaced until it is renewed. */
	patch_faults_install();
	CHECK(of_kernel(SIGSEGV).handler == address_of(other) && of_kernel(SIGBUS).handler == ours);
	patch_fault_uninstall(SIGSEGV);
	CHECK(of_kernel(SIGSEGV).handler == address_of(other) &&
			!patch_fault_get_user_action(SIGSEGV)->handler);
	patch_faults_renew();
	CHECK(of_kernel(SIGSEGV).handler == ours &&
			patch_fault_get_user_action(SIGSEGV)->handler == address_of(other) &&
			reasons == PATCH_FAULTS_COPIES);
	/* The other signals must stay unblocked: the kernel has that after the installation. */
	patch_fault_set_user_action(SIGBUS,
			&(struct patch_action){.handler = address_of(one), .mask = BIT(SIGTRAP)});
	patch_faults_install();
	CHECK(of_kernel(SIGBUS).mask == BIT(SIGTRAP));
	fake.open = BIT(SIGTRAP);
	patch_faults_install();
	CHECK(of_kernel(SIGBUS).mask == 0 && of_kernel(SIGBUS).handler == ours);
	/* In another process, until it detects that. */
	owner = getpid() + 1;
	set_in_kernel(SIGSEGV, address_of(one), 0, 0);
	patch_faults_renew();
	CHECK(of_kernel(SIGSEGV).handler == address_of(one) && owner == getpid() + 1);
	patch_faults_end(PATCH_FAULTS_COPIES);
	CHECK(reasons == PATCH_FAULTS_COPIES && of_kernel(SIGBUS).handler == ours &&
			fake.depth == 0);
	patch_faults_forked();
	CHECK(owner == getpid());
	patch_faults_end(PATCH_FAULTS_COPIES);
	CHECK(!reasons && of_kernel(SIGBUS).handler == address_of(one) &&
			of_kernel(SIGSEGV).handler == address_of(one));
}

/*
 * Another thread sets actions while side's is installed: an action that the exchange returns is the
 * program's too.
 */
static void test_concurrent_actions(void)
{
	const uint64_t ours = (uint64_t)(uintptr_t)patch_fault_arrives;

	begin();
	set_in_kernel(SIGSEGV, address_of(one), 0, 0);
	nr_exchanges = 0;
	bare_from = 2;
	bare_until = 4;
	patch_fault_install(SIGSEGV);
	CHECK(nr_exchanges == 4 && of_kernel(SIGSEGV).handler == ours &&
			patch_fault_get_user_action(SIGSEGV)->handler == 0x1003);
	/* Eight times at most. */
	begin();
	set_in_kernel(SIGSEGV, address_of(one), 0, 0);
	nr_exchanges = 0;
	bare_until = 100;
	patch_fault_install(SIGSEGV);
	CHECK(nr_exchanges == 1 + 8 && of_kernel(SIGSEGV).handler == ours &&
			patch_fault_get_user_action(SIGSEGV)->handler == 0x1008);
	bare_from = bare_until = 0;
	/* An action that cannot be read is not changed. */
	begin();
	set_in_kernel(SIGSEGV, address_of(one), 0, 0);
	nr_exchanges = 0;
	failing_exchange = 1;
	patch_fault_install(SIGSEGV);
	CHECK(nr_exchanges == 1 && of_kernel(SIGSEGV).handler == address_of(one) &&
			patch_fault_get_user_action(SIGSEGV)->handler == 0);
	set_in_kernel(SIGSEGV, ours, 0, 0);
	nr_exchanges = 0;
	patch_fault_uninstall(SIGSEGV);
	CHECK(nr_exchanges == 1 && of_kernel(SIGSEGV).handler == ours);
	reasons = PATCH_FAULTS_COPIES;
	nr_exchanges = 0;
	patch_faults_install();
	CHECK(nr_exchanges == 3 && of_kernel(SIGSEGV).flags == PATCH_SA_RESTORER);
	failing_exchange = 0;
	/* Not taken: nothing is installed. */
	reasons = 0;
	patch_faults_install();
	CHECK(of_kernel(SIGSEGV).flags == PATCH_SA_RESTORER);
	reasons = PATCH_FAULTS_COPIES;
	patch_faults_install();
	CHECK(of_kernel(SIGSEGV).flags & SA_SIGINFO);
	reasons = 0;
}

/* ---- requests of the program ---- */

static int real_result;
static unsigned int nr_real;
static uint64_t real_handler;
static struct sigaction real_before;

static int real_action(int number, const struct sigaction *action, struct sigaction *before)
{
	CHECK(number == SIGSEGV);
	nr_real++;
	real_handler = action ? address_of(action->sa_handler) : 0;
	if (before)
		*before = real_before;
	return real_result;
}

static void test_requests(void)
{
	const uint64_t ours = (uint64_t)(uintptr_t)patch_fault_arrives;
	struct sigaction wanted = action_of(one, BIT(SIGHUP) | BIT(SIGTRAP), SA_RESTART), before;

	begin();
	patch_faults_start(PATCH_FAULTS_COPIES);
	fake.open = BIT(SIGTRAP);
	nr_real = 0;
	patch_restorer_of_libc = 0;
	memset(&before, 0xff, sizeof(before));
	CHECK(!patch_faults_action(SIGSEGV, &wanted, &before, real_action) &&
			before.sa_handler == SIG_DFL && !mask_of(&before.sa_mask) &&
			patch_faults_generation == 102);
	CHECK(of_kernel(SIGSEGV).handler == ours && of_kernel(SIGSEGV).mask == BIT(SIGHUP) &&
			of_kernel(SIGSEGV).restorer == (uint64_t)(uintptr_t)patch_fault_returns &&
			of_kernel(SIGSEGV).flags == (SA_RESTART | SA_SIGINFO | PATCH_SA_RESTORER));
	patch_restorer_of_libc = (uint64_t)(uintptr_t)patch_fault_returns + 1;
	wanted = action_of(other, 0, SA_NODEFER);
	CHECK(!patch_faults_action(SIGSEGV, &wanted, &before, real_action) &&
			before.sa_handler == one &&
			mask_of(&before.sa_mask) == (BIT(SIGHUP) | BIT(SIGTRAP)) &&
			before.sa_flags & SA_RESTART);
	CHECK(of_kernel(SIGSEGV).restorer == (uint64_t)(uintptr_t)patch_fault_returns + 1 &&
			patch_faults_generation == 103);
	/* A query, and side's own handler: nothing changes. */
	CHECK(!patch_faults_action(SIGSEGV, NULL, &before, real_action) &&
			before.sa_handler == other);
	wanted = action_of(one, BIT(SIGHUP), 0);
	memcpy(&wanted.sa_handler, &ours, sizeof(ours));
	CHECK(!patch_faults_action(SIGSEGV, &wanted, NULL, real_action) &&
			patch_fault_get_user_action(SIGSEGV)->handler == address_of(other) &&
			of_kernel(SIGSEGV).mask == 0 && patch_faults_generation == 103);
	CHECK(!patch_faults_action(SIGSEGV, NULL, NULL, real_action) && !nr_real);
	/* In a child of vfork() the kernel answers, and its answer is never side's handler. */
	owner++;
	real_before = action_of(one, BIT(SIGINT), 0);
	CHECK(!patch_faults_action(SIGSEGV, &wanted, &before, real_action) && nr_real == 1 &&
			real_handler == address_of(other) && before.sa_handler == one &&
			mask_of(&before.sa_mask) == BIT(SIGINT));
	real_before = wanted;
	CHECK(!patch_faults_action(SIGSEGV, NULL, &before, real_action) && nr_real == 2 &&
			!real_handler && before.sa_handler == other && !mask_of(&before.sa_mask));
	CHECK(!patch_faults_action(SIGSEGV, NULL, NULL, real_action) && nr_real == 3);
	real_result = -1;
	CHECK(patch_faults_action(SIGSEGV, NULL, NULL, real_action) == -1);
	CHECK(patch_faults_action(SIGSEGV, NULL, &before, real_action) == -1 &&
			before.sa_handler == wanted.sa_handler);
	real_result = 0;
	CHECK(patch_fault_get_user_action(SIGSEGV)->handler == address_of(other) &&
			patch_faults_generation == 103);
	owner = getpid();
	patch_restorer_of_libc = 0;
	patch_faults_end(PATCH_FAULTS_COPIES);
}

/* ---- signals that arrive ---- */

/* A load that continues after itself, like those of hits. */
extern const char test_load[] __attribute__((visibility("hidden")));
extern const char test_behind_load[] __attribute__((visibility("hidden")));
__asm__(".text\n"
	"test_load:\n"
	"	nop\n"
	"test_behind_load:\n"
	"	nop\n"
	".pushsection patch_fixups, \"a\", @progbits\n"
	"	.long test_load - ., test_behind_load - .\n"
	".popsection\n");

static void test_loads(void)
{
	const uint64_t load = (uint64_t)(uintptr_t)test_load;
	siginfo_t info = {.si_code = SEGV_MAPERR};
	ucontext_t context = {.uc_flags = 0};
	greg_t *registers = context.uc_mcontext.gregs;

	begin();
	registers[REG_RIP] = (greg_t)load;
	CHECK(patch_fault_recover_load(SIGSEGV, &info, &context) &&
			registers[REG_RIP] == (greg_t)(uintptr_t)test_behind_load);
	CHECK(!patch_fault_recover_load(SIGSEGV, &info, &context));
	/* A signal that was sent. */
	registers[REG_RIP] = (greg_t)load;
	info.si_code = SI_USER;
	CHECK(!patch_fault_recover_load(SIGSEGV, &info, &context) &&
			registers[REG_RIP] == (greg_t)load);
	/* An access of a hit that is not aligned, while the program checks alignment. */
	registers[REG_RIP] = 5;
	for (unsigned int i = 0; i < 16; i++) {
		bool is_hit = i & 1, is_checked = i & 2, is_bus = i & 4, is_alignment = i & 8;

		fake.unaligned = is_hit;
		registers[REG_EFL] = (greg_t)(is_checked ? 0x40ed7 : 0xed7);
		info.si_code = is_alignment ? BUS_ADRALN : BUS_ADRERR;
		CHECK(patch_fault_recover_load(is_bus ? SIGBUS : SIGSEGV, &info, &context) ==
				(i == 15));
		CHECK(registers[REG_EFL] == (is_checked && i != 15 ? 0x40ed7 : 0xed7));
	}
	CHECK(registers[REG_RIP] == 5);
}

static void test_arrived(void)
{
	siginfo_t info = {.si_code = SEGV_MAPERR};
	ucontext_t context = {.uc_flags = 0};
	struct patch_moved moved = {.patch = &fake_probe};
	struct patch_action behind = {.handler = address_of(one)};

	begin();
	patch_faults_start(PATCH_FAULTS_COPIES);
	patch_fault_set_user_action(SIGSEGV, &behind);
	behind.handler = address_of(other);
	patch_fault_set_user_action(SIGFPE, &behind);
	/* A load: no other function is called. */
	context.uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)test_load;
	CHECK(patch_fault_behind(SIGSEGV, &info, &context, &moved) == 0 && !moved.patch &&
			!fake.copied_calls && !fake.moved_calls && patch_faults_generation == 101);
	/* A copy of a probe; such a jump is no arithmetic fault. */
	fake.copied = true;
	CHECK(patch_fault_behind(SIGSEGV, &info, &context, &moved) == 0 && fake.copied_calls == 1 &&
			!fake.moved_calls && patch_faults_generation == 102);
	CHECK(patch_fault_behind(SIGFPE, &info, &context, &moved) == address_of(other) &&
			fake.copied_calls == 1 && fake.moved_calls == 1);
	fake.copied = false;
	fake.moves = true;
	CHECK(patch_fault_behind(SIGSEGV, &info, &context, &moved) == address_of(one) &&
			moved.patch == &fake_probe && fake.moved_calls == 2 &&
			!fake.for_good_calls);
	CHECK(patch_fault_get_user_action(SIGSEGV)->handler == address_of(one));
	/* A handler for one signal (SA_RESETHAND): then the default, which the kernel has. */
	behind = (struct patch_action){.handler = address_of(one), .flags = (uint32_t)SA_RESETHAND};
	patch_fault_set_user_action(SIGSEGV, &behind);
	fake.moves = false;
	CHECK(patch_fault_behind(SIGSEGV, &info, &context, &moved) == address_of(one) &&
			patch_fault_get_user_action(SIGSEGV)->handler == 0 &&
			of_kernel(SIGSEGV).handler != 0);
	CHECK(patch_fault_behind(SIGSEGV, &info, &context, &moved) == 0 &&
			of_kernel(SIGSEGV).handler == 0);
	/* Ignored: signals that were sent are; a fault cannot be. */
	behind = (struct patch_action){.handler = (uint64_t)(uintptr_t)SIG_IGN};
	patch_fault_set_user_action(SIGBUS, &behind);
	fake.moved_calls = 0;
	info.si_code = SI_USER;
	CHECK(patch_fault_behind(SIGBUS, &info, &context, &moved) == 0 && !fake.moved_calls &&
			of_kernel(SIGBUS).handler != 0);
	info.si_code = BUS_ADRERR;
	CHECK(patch_fault_behind(SIGBUS, &info, &context, &moved) == 0 && fake.moved_calls == 1 &&
			of_kernel(SIGBUS).handler == 0);
	patch_faults_end(PATCH_FAULTS_COPIES);
}

static void test_default(void)
{
	siginfo_t info = {.si_code = SEGV_MAPERR}, got;
	ucontext_t context = {.uc_flags = 0};
	struct patch_moved moved = {.patch = &fake_probe};
	const struct timespec now_only = {0, 0};
	sigset_t set;

	begin();
	patch_faults_start(PATCH_FAULTS_COPIES);
	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	CHECK(!sigprocmask(SIG_BLOCK, &set, NULL));
	/* The site has the program's bytes: the thread continues there. */
	fake.for_good = true;
	patch_fault_do_default(SIGSEGV, &info, &context, &moved);
	CHECK(!moved.patch && fake.for_good_calls == 1 && !fake.back_calls &&
			of_kernel(SIGSEGV).handler == 0);
	fake.for_good = false;
	moved.patch = &fake_probe;
	patch_fault_do_default(SIGSEGV, &info, &context, &moved);
	CHECK(!moved.patch && fake.for_good_calls == 2 && fake.back_calls == 1);
	/* A child of vfork() does not change the parent's code. */
	owner++;
	moved.patch = &fake_probe;
	patch_fault_do_default(SIGSEGV, &info, &context, &moved);
	CHECK(!moved.patch && fake.for_good_calls == 2 && fake.back_calls == 2);
	owner = getpid();
	/* Nothing was moved. A fault is not sent. */
	patch_fault_do_default(SIGSEGV, &info, &context, &moved);
	CHECK(fake.for_good_calls == 2 && fake.back_calls == 2);
	CHECK(sigtimedwait(&set, &got, &now_only) == -1);
	/* A signal that was sent is sent again, with its data. */
	memset(&info, 0, sizeof(info));
	info.si_signo = SIGSEGV;
	info.si_code = SI_QUEUE;
	info.si_value.sival_int = 4711;
	patch_fault_do_default(SIGSEGV, &info, &context, &moved);
	CHECK(sigtimedwait(&set, &got, &now_only) == SIGSEGV && got.si_value.sival_int == 4711 &&
			got.si_code == SI_QUEUE);
	info.si_code = SI_USER;
	patch_fault_do_default(SIGSEGV, &info, &context, &moved);
	CHECK(sigtimedwait(&set, &got, &now_only) == SIGSEGV && got.si_code == SI_USER);
	CHECK(!sigprocmask(SIG_UNBLOCK, &set, NULL));
	patch_faults_end(PATCH_FAULTS_COPIES);
}

int main(void)
{
	test_predicates();
	test_user_actions();
	test_with_ours();
	test_taken_and_returned();
	test_bare();
	test_concurrent_actions();
	test_requests();
	test_loads();
	test_arrived();
	test_default();
	return 0;
}
