/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_PATCH_PATCH_H
#define SIDE_PROBE_PATCH_PATCH_H

/*
 * Probes in the running process: replaces the bytes of sites by jumps to code that calls a handler
 * and then executes the displaced instructions. Other threads run meanwhile; no thread is stopped
 * for it.
 *
 *	set.c           changes bytes, at many sites at once
 *	trap.c          handles threads that meet a byte that is being changed
 *	copied.c        restores the program's bytes in copies that it made of probed code
 *	signals.c       keeps the program's actions and masks of the signals of traps
 *	blocked.c       unblocks these signals in threads that block them
 *	arrived.c       proves that no thread is on its way to the trap handler
 *	quiescence.c    proves that no thread is at, or returns to, an unreachable instruction
 *	springboards.c  jumps in padding that short jumps lead to, and their removal
 *	sandboxed.c     checks whether breakpoints work under an installed seccomp filter
 *	threads.c       lists the threads, and stops one for a moment
 *	gaps.c          finds unmapped memory near code
 *	memory.c        maps that memory, and allocates trampolines in it
 *	slots.c         allocates single jumps in it
 *	write.c         writes to code
 *	maps.c          reads the mappings of the process
 *	installed.c     the probes that are set, and those that were
 *	pages.c         returns unchanged pages of code to their files
 *	x86-64-trampoline.c  the code of a probe, and of a watched return
 *	frames.c        describes that code to unwinders
 *	gates.c         the table of open calls, and the code for each
 *	gates-unwind.c  unwind data of that code, which every unwinder finds
 *	x86-64-gates.S  memory of that code
 *	unwinders.c     finds the program's unwinders, and registers the code with each
 *	debugger.c      registers the code with debuggers
 *	callers.c       decides for which callers a return may be watched
 *	frame-calls.c   finds code that asks an unwinder for frame addresses
 *	imports.c       replaces functions that loaded objects import
 *	stubs.c         redirects calls through imported addresses that code also takes
 *	taken.c         finds imported addresses that code takes other than to call them
 *	reading.c       reads memory that may be unmapped, in a hit
 *	x86-64-read.S   the loads of reading.c, and the handler of their faults
 *	faults.c        keeps the program's actions of the signals of faults
 *	moved.c         presents signals in displaced instructions as signals at the site
 *	resume.c        ends a trap handler without a system call
 *	x86-64-resume.S  the end of such a handler
 *	hit.c           calls the handler of a hit, never nested in one thread; follows returns
 *
 * Handlers and all that they call must be compiled with -mgeneral-regs-only, because the trampoline
 * saves no other registers. They may run in signal handlers. They must not wait, allocate or call a
 * function that may have a probe: a hit inside of a handler is not delivered (it is counted as a
 * cut).
 */

#include "probe/site.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* General registers, in the order in which the trampoline saves them. */
struct patch_registers {
	uint64_t r15, r14, r13, r12, rbx; /* at entries with PATCH_ALL only */
	uint64_t rbp, r11, r10, r9, r8, rdi, rsi, rdx, rcx;
	uint64_t flags; /* as lahf (bits 8 to 15) and seto (bits 0 to 7) return them */
	uint64_t rax;
};

/* A hit, in the stack frame of the trampoline; the saved registers are a part of it. */
struct patch_hit {
	void *user;
	uint64_t address; /* of the site */
	/*
	 * The stack pointer at the site; at the begin of a function, it points to the return
	 * address.
	 */
	uint64_t *stack;
	/*
	 * The same number at entry and exit of a call; 0 if its return is not watched. If it is not
	 * 0, the return address is in `returns_to`, because the slot on the stack contains another
	 * value. At the exit, `elapsed` is the time-stamp difference without the entry handler.
	 */
	uint64_t call;
	uint64_t returns_to;
	uint64_t elapsed; /* see patch_clock() */
	uint64_t now;     /* at the exit: the time stamp */
	/*
	 * At the entry: an entry handler that reads the time stamp stores it here, as late as
	 * possible. It is then the begin of the call, and the time stamp is not read again.
	 */
	uint64_t *began;
	struct patch_registers registers;
};

typedef void (*patch_handler)(const struct patch_hit *hit);

/*
 * For a handler: memory that only its thread uses until the handler returns, aligned to 64 bytes.
 * Stacks of programs may be small. The content is not kept. NULL: there is none. A hit in a signal
 * handler within a hit is cut, so it never needs the memory at the same time.
 */
#define PATCH_SCRATCH_BYTES 1536
void *patch_hit_scratch(void);

/*
 * In a handler of a call with a number: bits of that call, all 0 before its entry handler. Those
 * that the entry handler sets can be read by the exit handler, which sets `leaves`. NULL: the call
 * has none.
 */
#define PATCH_MARKS 16
uint16_t *patch_hit_marks(const struct patch_hit *hit, bool leaves);

struct patch;

enum patch_flags {
	PATCH_ALL = 1,  /* all general registers, not only those that a callee may change */
	PATCH_EXIT = 2, /* the site is the begin of a function, whose return is watched too */
	PATCH_TRAP = 4, /* use a breakpoint, whatever the method of the site */
	/*
	 * Like PATCH_TRAP, but with a byte that is an invalid instruction. Used if a uprobe of this
	 * process or of its parent is at the location: the kernel would take a breakpoint for its
	 * own. Its breakpoint may be there already.
	 */
	PATCH_OVER = 8,
	/*
	 * Only prepare the probe (-EALREADY: done). Setting it later then takes no lock that
	 * another thread may hold, as in the child of a fork().
	 */
	PATCH_PREPARE = 16,
	/*
	 * The probe takes over the open calls of the probe that was just removed from this location
	 * and had other flags: its exit handler gets their returns.
	 */
	PATCH_GOES_ON = 32,
};

struct patch_setup {
	const struct probe_site *site; /* with its runtime address; is copied */
	patch_handler entry;           /* may be NULL */
	patch_handler exit;            /* with PATCH_EXIT: rax and rdx are the return value */
	void *user;
	unsigned int flags;
	struct patch *patch;      /* result */
	enum probe_method method; /* result: PROBE_BREAKPOINT if no other method was possible */
	int error;                /* result: 0 or negative errno */
};

/*
 * Must be called once, before all other functions. `plain`: never write through /proc/self/mem,
 * because the system forbids it. Returns -ENOSYS if the kernel cannot synchronize the instruction
 * streams of all processors.
 */
int patch_start(bool plain);

/*
 * Sets the unit of patch_hit.elapsed: ticks of the time stamp are multiplied by `unit` / 2^32.
 * Before the first call, `unit` is 2^32.
 */
void patch_clock(uint64_t unit);

/*
 * Finds unwinding libraries that were loaded since the last call, and registers the generated code
 * with them. Calls the loader, so the caller must hold no lock that a thread with the loader's lock
 * may wait for. No other function of this module calls the loader, except the first patch_start()
 * if this was never called.
 */
void patch_find_unwinder(void);
/*
 * For a forked child in which dl_iterate_phdr() would wait for ever: no function of this module
 * calls it from now on. Unwinders that are loaded later are not found.
 */
void patch_stop_scans(void);

/*
 * Sets probes. Returns how many could not be set; `error` in their setups is one of:
 *
 *	-ESTALE      the bytes differ from those of the site
 *	-EADDRINUSE  there is a breakpoint, or the call that the kernel makes of a nop with a uprobe
 *	-EBUSY       there is a probe already, or a neighbouring probe needs these bytes
 *	-ERANGE      no memory is free in reach
 *	-EPERM       memory may not be written
 *	-EDEADLK     a thread blocks SIGTRAP, so a trap would kill the program
 *	-ESHUTDOWN   a seccomp filter would kill the program at a breakpoint
 *	-EOPNOTSUPP  returns of this site cannot be watched
 */
size_t patch_set(struct patch_setup *setups, size_t count);

/*
 * Removes probes and restores the bytes. When it returns, no thread but maybe the caller is in a
 * handler of these probes, and no handler is called any more. Trampolines stay: threads may still
 * execute them, and the next probe at that location uses them again. Returns 0, or negative errno
 * if memory could not be written; then those probes are still set.
 */
int patch_remove(struct patch *const *patches, size_t count);

/*
 * Changes patch_hit.user for the next hits of a probe that is set or was not yet removed. Hits that
 * have begun may still have the former value until patch_settle() returns.
 */
void patch_change_user(struct patch *patch, void *user);

/*
 * If no probe is set, releases what only set probes need: private copies of code pages whose bytes
 * equal their file again, data of probes, and the signal actions for traps, which become the
 * program's again. Trampolines stay (patch_stats()). Returns false, and does nothing, if a probe is
 * set.
 *
 * If a thread may still be on its way to side's handler (arrived.c), side keeps the signals, and
 * the next call or patch_check() tries again.
 */
bool patch_quiesce(void);

/*
 * 1 if side has the signals of traps while no probe is set. Read by name from outside, like
 * side_probe_kept.
 */
extern uint64_t side_probe_traps __attribute__((visibility("default")));

/*
 * Number of springboards that still contain a jump without a probe, because a thread may be on its
 * way there. Read by name from outside.
 */
extern uint64_t side_probe_pads __attribute__((visibility("default")));

/*
 * Bytes of memory that side keeps while no probe is set; 0 if one is set. Tools that inspect the
 * process from outside find it by its name.
 */
extern uint64_t side_probe_kept __attribute__((visibility("default")));

/*
 * Counts the resident pages of this memory of the tracer in side_probe_kept. The memory must never
 * be unmapped.
 */
void patch_memory_count(const void *at, size_t size);

/*
 * Waits until all threads but the caller have left the handlers of these probes that they were in
 * at the call. The probes may be set or not. Data that only those handlers could reach may be freed
 * then.
 */
void patch_settle(struct patch *const *patches, size_t count);

/*
 * Translates a return address that was read from a stack: returns the real one if a return was
 * watched there. In a hit, the stack must be that of the calling thread.
 */
uint64_t patch_return_address(uint64_t address);

/*
 * The addresses that side stores in place of return addresses; both are 0 until it watches returns.
 */
struct patch_gate_range {
	uint64_t first, last;
};
extern struct patch_gate_range patch_gate_range;
/*
 * At an exit: the slot that contained the return address. It contains a number of side until the
 * exit handler returns.
 */
const uint64_t *patch_returning_slot(const struct patch_hit *hit);

/*
 * For wrappers of sigaction(), sigprocmask() and pthread_sigmask(); `real` is the C library's
 * function. The program gets the results that it would get without side. But signals of traps
 * arrive at side first, and no thread blocks them. While hits read memory, signals of faults arrive
 * at side first too, but threads may block them.
 */
typedef int patch_action_function(
		int number, const struct sigaction *action, struct sigaction *ret_before);
int patch_signals_action(int number, const struct sigaction *action, struct sigaction *ret_before,
		patch_action_function *real);
/* True if side's handler of this signal may run before the program's. */
bool patch_signals_are_taken(int number);
typedef int patch_mask_function(int how, const sigset_t *set, sigset_t *ret_before);
int patch_signals_mask(
		int how, const sigset_t *set, sigset_t *ret_before, patch_mask_function *real);

/*
 * Checks, if breakpoints are set or hits read memory, whether the program has replaced the handlers
 * or blocked the signals by system calls that side does not wrap, and repairs that. Called from
 * time to time; does not wait for threads that set or remove probes.
 */
void patch_check(void);

/*
 * Called after libraries were loaded or unloaded: updates the ranges of code for which calls may be
 * watched. Does not call the loader, so the caller may hold its lock.
 */
void patch_scan(void);

#define PATCH_ADDRESS_BITS 56 /* of addresses of programs, at most: page tables of five levels */

/*
 * Reads memory that may be unmapped, in a hit. Loads directly if a fault would be caught and the
 * page was mapped a moment ago. False: a fault would not be caught, or the memory is unmapped. The
 * caller then uses a system call, and calls patch_note_read() with what it could read. `reading`
 * belongs to the hit and is NULL at first.
 */
struct patch_reading;
bool patch_read(void *to, uint64_t from, size_t size, struct patch_reading **reading);
/*
 * Reads up to `size` bytes of one page, up to a NUL. Returns the length without the NUL, `size` if
 * there is none, or a negative value in the cases in which patch_read() returns false. Bytes of
 * `to` after the NUL are undefined.
 */
long patch_read_text(char *to, uint64_t from, size_t size, struct patch_reading **reading);
/* Notes that a system call could just read all of this memory. */
void patch_note_read(uint64_t from, size_t size);

/*
 * Permits or forbids such reads in hits. With true, side takes the signals of faults and passes
 * those of the program on to its handlers. With false, no hit that began before may still read: the
 * caller has waited for them (patch_settle()). Returns 0 or -ENOMEM.
 */
int patch_permit_reads(bool wanted);

/* True if the handler of breakpoints makes no system call, except in rare states of a thread. */
bool patch_traps_are_silent(void);

/*
 * Called before the program enters a sandbox in which handlers of side cannot return, and with
 * PATCH_SANDBOX_NONE if entering has failed. If no breakpoint is set, the program gets its signals
 * back. After that, or with PATCH_SANDBOX_NO_SIGNALS, the wrappers of side make no system calls of
 * their own.
 */
enum patch_sandbox {
	PATCH_SANDBOX_NONE,
	PATCH_SANDBOX_NO_RETURN,  /* breakpoints may be left, and the program may change signals */
	PATCH_SANDBOX_NO_SIGNALS, /* the same, and the program cannot change signals */
};
void patch_signals_sandbox(enum patch_sandbox sandbox);

/*
 * Called in the child of a fork() if the parent's calling thread was not setting or removing
 * probes. Releases the lock of patch_check(), which another thread may have held.
 */
void patch_forked(void);

/* Reasons why a return cannot be watched. */
enum patch_unseen {
	PATCH_UNSEEN_FULL, /* too many calls are open */
	/* It returns to code that may search its own return addresses, see callers.c. */
	PATCH_UNSEEN_CALLER,
	/*
	 * The begin of the call is not recorded either: the caller is a process that uses the
	 * thread-local memory of another one, or a thread whose thread-local memory is not the C
	 * library's at this moment.
	 */
	PATCH_UNSEEN_PROCESS,
	PATCH_UNSEEN_COPIED, /* the program copies its stack, see PATCH_COPIES_OFTEN */
};
#define PATCH_NR_UNSEEN 4

/* Callbacks in hits; the rules of handlers apply. Each may be NULL. */
struct patch_hooks {
	/*
	 * Called after the entry handler, with the hit at the begin of the call. For
	 * PATCH_UNSEEN_PROCESS, called instead of the entry handler: only `user` of the hit is
	 * valid, and thread-local memory must not be used.
	 */
	void (*unseen)(const struct patch_hit *hit, enum patch_unseen why);
	/* True if the calling thread may make system calls; NULL: always. */
	bool (*may_ask)(void);
	/*
	 * True if the caller is the child of a vfork(). The thread whose thread-local memory it
	 * uses waits for it, so its hits are handled like that thread's. Called only where that
	 * memory is the C library's. NULL: unknown.
	 */
	bool (*is_vforked)(void);
};

/* Takes effect now; in threads that are in a hit, with the next hit at the latest. */
void patch_hooks_set(const struct patch_hooks *wanted);

/*
 * Announces a process that runs concurrently with the calling thread and uses its memory and
 * thread-local memory (clone() with CLONE_VM alone): -1 before it starts, then its pid, or 0 if it
 * could not be started. Processes that are not announced are detected by their stack.
 */
void patch_thread_shares(int pid);
/* Called before the calling thread loses the right to make system calls: prepares its first hit. */
void patch_thread_begin(void);

/*
 * Until patch_own_end(), the calling thread runs code of side: its hits are neither recorded nor
 * counted. Signal handlers of the program that run meanwhile are not recorded either, so callers
 * should block signals. No cost for other threads. Calls can nest.
 */
void *patch_own_begin(void);
void patch_own_end(void *before);
/* True between the two, for this thread. Any context. */
bool patch_is_own(void);

/*
 * For threads that side creates: pass the address of such a word to pthread_create(), which stores
 * the thread's id there before the thread begins. So hits before its start function are not
 * recorded either. The thread calls patch_own_begin() and then clears the word, because another
 * thread may get the same id later.
 */
enum patch_own { PATCH_OWN_CONTROL, PATCH_OWN_ATTACH, PATCH_NR_OWN };
extern uint64_t patch_own_threads[PATCH_NR_OWN];

struct patch_stats {
	uint64_t cut; /* hits inside of handlers */
	/* Hits of threads without an entry, and of processes in the memory of a thread. */
	uint64_t lost;
	uint64_t unseen; /* calls whose return could not be watched, see enum patch_unseen */
	/* Calls that did not return: longjmp, exceptions, ends of threads; detected late. */
	uint64_t abandoned;
	/*
	 * Calls whose return is awaited. For all calls whose return should be watched, entries =
	 * exits + unseen + abandoned + open while no thread is in a hit. A probe that is removed
	 * gets no more exits, unless another one takes over its calls.
	 */
	uint64_t open;
	uint64_t traps;  /* of threads that met a byte that was being changed, and of breakpoints */
	uint64_t faults; /* of loads in hits: the page was unmapped since the last read */
	uint64_t bytes;  /* of address space */
};

void patch_stats(struct patch_stats *ret_stats);

#endif /* SIDE_PROBE_PATCH_PATCH_H */
