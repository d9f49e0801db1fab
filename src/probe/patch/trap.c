/* SPDX-License-Identifier: MIT */
/*
 * Handles threads that meet a trap: the first byte of a site that is being changed, the begin of an
 * instruction inside of it where a thread was interrupted before, or a breakpoint. They continue in
 * the trampoline.
 *
 * Signal handlers read the table. Entries are only added, and a larger table replaces a smaller
 * one, of which only the first page remains, with its size. The table is emptied when no probe is
 * set. If a thread arrives with a trap after that, its byte is the program's again, and the thread
 * executes that. This is done only at addresses that had probes: if another trap of the program
 * vanishes, the program handles the signal.
 */
#include "actions.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define FIRST_SIZE 1024
#define PAGE 4096
#define TRAP_BYTE 0xcc
#define LONG_FORM 0xcd

struct trap_entry {
	uint64_t address; /* 0: unused; stored last */
	uint64_t target;
};

struct trap_table {
	size_t size, used; /* a power of two */
	struct trap_entry entries[];
};

static struct trap_table *table;
static unsigned int nr_quiescences;
uint64_t patch_traps;

static size_t patch_trap_hash_slot(const struct trap_table *in, uint64_t address)
{
	return (size_t)(address * 0x9e3779b97f4a7c15u >> 20) & (in->size - 1);
}

static uint64_t patch_trap_find_in_table(const struct trap_table *in, uint64_t address)
{
	for (size_t i = patch_trap_hash_slot(in, address);; i = (i + 1) & (in->size - 1)) {
		/* Acquire: the target. Pairs with the release in patch_trap_insert(). */
		uint64_t have = __atomic_load_n(&in->entries[i].address, __ATOMIC_ACQUIRE);

		if (have == address)
			return __atomic_load_n(&in->entries[i].target, __ATOMIC_RELAXED);
		if (!have)
			return 0;
	}
}

static uint64_t patch_trap_find_target(uint64_t address)
{
	const struct trap_table *in = NULL, *last;
	uint64_t target = 0;

	do {
		last = in;
		/* Acquire: the entries. Pairs with the release in patch_trap_grow_table(). */
		in = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
		if (in && in != last)
			target = patch_trap_find_in_table(in, address);
		/* A table that was replaced meanwhile has lost its entries. */
	} while (!target && in != last);
	return target;
}

static void patch_trap_insert(struct trap_table *in, uint64_t address, uint64_t target)
{
	size_t i = patch_trap_hash_slot(in, address);

	while (in->entries[i].address && in->entries[i].address != address)
		i = (i + 1) & (in->size - 1);
	/* Relaxed: either target is correct, because all trampolines of a location do the same. */
	__atomic_store_n(&in->entries[i].target, target, __ATOMIC_RELAXED);
	in->used += !in->entries[i].address;
	/* Release: the target. Pairs with the acquire in patch_trap_find_target(). */
	__atomic_store_n(&in->entries[i].address, address, __ATOMIC_RELEASE);
}

/*
 * Releases the pages after the first one. The last page contains only entries, and belongs to the
 * table as a whole.
 */
static void patch_trap_drop_entries(struct trap_table *of)
{
	size_t bytes = sizeof(*of) + of->size * sizeof(struct trap_entry);

	patch_memory_drop(of->entries, (bytes + PAGE - 1) / PAGE * PAGE - sizeof(*of));
}

static int patch_trap_grow_table(void)
{
	size_t size = table ? table->size * 2 : FIRST_SIZE;
	struct trap_table *smaller = table,
			  *larger = patch_memory_anywhere(
					  sizeof(*larger) + size * sizeof(struct trap_entry),
					  PROT_READ | PROT_WRITE);

	if (!larger)
		return -ENOMEM;
	larger->size = size;
	for (size_t i = 0; table && i < table->size; i++) {
		if (table->entries[i].address)
			patch_trap_insert(larger, table->entries[i].address,
					table->entries[i].target);
	}
	/* Release: the entries. Pairs with the acquire in patch_trap_find_target(). */
	__atomic_store_n(&table, larger, __ATOMIC_RELEASE);
	/* A handler may be searching it, and then finds nothing. */
	if (smaller)
		patch_trap_drop_entries(smaller);
	return 0;
}

void patch_trap_quiesce(void)
{
	if (!table)
		return;
	/*
	 * Clears the entries of the first page. Relaxed: a concurrent search may find them or not,
	 * and either is correct.
	 */
	for (size_t i = 0; i < table->size && i * sizeof(struct trap_entry) < PAGE; i++) {
		__atomic_store_n(&table->entries[i].address, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&table->entries[i].target, 0, __ATOMIC_RELAXED);
	}
	patch_trap_drop_entries(table);
	table->used = 0;
	/* Relaxed: the value is only compared. */
	__atomic_fetch_add(&nr_quiescences, 1, __ATOMIC_RELAXED);
}

/*
 * True if the thread has trapped at an address of a probe that is not set any more: the thread then
 * executes the program's bytes there. Only once for an address, because a trap that repeats is the
 * program's own.
 */
static __attribute__((noinline)) bool patch_trap_is_over(int number, int code, uint64_t at)
{
	static __thread struct {
		uint64_t at;
		unsigned int quiescence;
	} last __attribute__((tls_model("initial-exec")));
	unsigned int quiescence = __atomic_load_n(&nr_quiescences, __ATOMIC_RELAXED);
	const uint8_t *there = (const uint8_t *)(uintptr_t)at;

	if (!quiescence || !patch_was_location(at) ||
			(last.at == at && last.quiescence == quiescence))
		return false;
	/* Not for a single step, nor for the long form of a breakpoint. */
	if (number == SIGTRAP &&
			(code != SI_KERNEL || *there == TRAP_BYTE ||
					(there[-1] == LONG_FORM && there[0] == 3)))
		return false;
	last.at = at;
	last.quiescence = quiescence;
	return true;
}

int patch_trap_add(uint64_t address, uint64_t target)
{
	if ((!table || table->used >= table->size / 2) && patch_trap_grow_table())
		return -ENOMEM;
	patch_trap_insert(table, address, target);
	return 0;
}

void patch_trap_remove(uint64_t address)
{
	for (size_t i = table ? patch_trap_hash_slot(table, address) : 0;
			table && table->entries[i].address; i = (i + 1) & (table->size - 1)) {
		if (table->entries[i].address == address)
			/* Relaxed: no thread executes that address. */
			__atomic_store_n(&table->entries[i].target, 0, __ATOMIC_RELAXED);
	}
}

static bool patch_trap_is_default(const struct sigaction *behind, const siginfo_t *info)
{
	/* The kernel does not ignore a signal that it sends for an instruction. */
	return behind->sa_handler == SIG_DFL ||
			(behind->sa_handler == SIG_IGN && info->si_code > 0);
}

/*
 * Runs the program's action. A jump leads to the program's handler, so that its backtrace has no
 * frame of side: no code may follow its call.
 */
static __attribute__((noinline)) void patch_trap_run_user_action(
		int number, siginfo_t *info, void *context)
{
	const struct sigaction behind = patch_signals_behind(number);

	if (patch_trap_is_default(&behind, info)) {
		patch_signals_default(number);
		if (info->si_code <= 0 || number == SIGTRAP)
			raise(number);
	} else if (behind.sa_handler != SIG_IGN && behind.sa_flags & SA_SIGINFO) {
		behind.sa_sigaction(number, info, context);
	} else if (behind.sa_handler != SIG_IGN) {
		behind.sa_handler(number);
	}
}

/* Returns false, and does nothing, if the thread is not in a trampoline. */
static __attribute__((noinline)) bool patch_trap_pass_on_moved(
		int number, siginfo_t *info, void *context)
{
	const struct sigaction behind = patch_signals_behind(number);
	struct patch_moved moved;

	if (!patch_move_to_site(info, context, &moved))
		return false;
	if (patch_trap_is_default(&behind, info) && patch_move_for_good(&moved))
		moved.patch = NULL;
	patch_trap_run_user_action(number, info, context);
	if (moved.patch)
		patch_move_back(context, &moved);
	return true;
}

/* Handles the signal as without probes. */
static __attribute__((noinline)) void patch_trap_pass_on(int number, siginfo_t *info, void *context)
{
	if (!patch_trap_pass_on_moved(number, info, context))
		patch_trap_run_user_action(number, info, context);
}

/*
 * True if the signal was sent for an instruction that traps; false if a process has sent it, and
 * for a single step or a hardware watchpoint after one.
 */
static bool patch_trap_is_of_instruction(int number, int code)
{
	return code > 0 && (number != SIGTRAP || code == SI_KERNEL || code == TRAP_BRKPT);
}

/*
 * The kernel clears the direction flag for a handler, but not the alignment check, with which the C
 * library does not work. Sigreturn restores both.
 */
static inline void patch_trap_clear_alignment_check(void)
{
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~PATCH_ALIGNMENT_CHECK);
}

/*
 * Returns the address where the thread continues after a trap of side; 0: the trap is the
 * program's.
 */
static __attribute__((noinline, no_stack_protector)) uint64_t patch_trap_target_of(
		int number, const siginfo_t *info, uint64_t at)
{
	uint64_t target;

	if (!patch_trap_is_of_instruction(number, info->si_code))
		return 0;
	target = patch_trap_find_target(at);
	if (!target && patch_trap_is_over(number, info->si_code, at)) {
		/* A new probe may be there by now: look up again after the byte was read. */
		target = patch_trap_find_target(at);
		target = target ? target : at;
	}
	return target || patch_copied_trap(at, &target) ? target : 0;
}

/*
 * True if the kernel has called this function: then the context follows its return address. If
 * another handler calls it (sanitizers, or one that the program has installed by a bare system
 * call), it must return to that handler.
 */
#define TRAP_IS_DIRECT(context) \
	((const void *)(context) == (const char *)__builtin_frame_address(0) + 16)

/*
 * Reads no thread-local memory, which may be the program's own (hit.c), before it knows that the
 * trap is the program's. Passes no address of a local variable to patch_trap_pass_on(), so that the
 * compiler makes that call a jump.
 */
static __attribute__((no_stack_protector)) void patch_trap_handle(
		int number, siginfo_t *info, void *context)
{
	ucontext_t *user = context;
	uint64_t target, components;

	if (user->uc_mcontext.gregs[REG_EFL] & (greg_t)PATCH_ALIGNMENT_CHECK)
		patch_trap_clear_alignment_check();
	target = patch_trap_target_of(number, info,
			(uint64_t)user->uc_mcontext.gregs[REG_RIP] - (number == SIGTRAP));
	if (!target) {
		patch_trap_pass_on(number, info, context);
		return;
	}
	/* Relaxed: a statistics counter. */
	__atomic_fetch_add(&patch_traps, 1, __ATOMIC_RELAXED);
	user->uc_mcontext.gregs[REG_RIP] = (greg_t)target;
	/* A sandbox may forbid the system call by which handlers return. */
	components = TRAP_IS_DIRECT(context) ? patch_resume_components(user) : 0;
	if (components)
		patch_resume(user, components);
}

static bool is_taken; /* the signals are taken */

int patch_trap_start(void)
{
	const struct sigaction action = {.sa_sigaction = patch_trap_handle,
			.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER};

	is_taken = true;
	patch_resume_start();
	return patch_signals_take(&action);
}

void patch_trap_renew(void)
{
	patch_trap_start();
	patch_signals_open();
}

bool patch_trap_end(void)
{
	if (is_taken && patch_all_arrived()) {
		patch_signals_give_back();
		is_taken = false;
	}
	return !is_taken;
}
