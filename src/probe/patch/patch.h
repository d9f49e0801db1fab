/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_PATCH_PATCH_H
#define SIDE_PROBE_PATCH_PATCH_H

/*
 * Probes in the running process itself: the bytes of sites become jumps to code that calls a handler, then does what
 * the displaced instructions did, while any number of threads execute all that. Nobody is stopped.
 *
 *	set.c           the protocol by which bytes change, for many sites at once
 *	trap.c          threads that come across a byte that is being changed
 *	copied.c        copies that the program makes of probed code
 *	signals.c       what the program does with the signals of traps
 *	blocked.c       threads that block these
 *	arrived.c       whether something is so of all threads; that all which have met a trap have come to its handler
 *	quiescence.c    whether no thread is at, or returns to, an instruction that is no longer reachable
 *	springboards.c  jumps in padding that short jumps lead to, and their removal
 *	sandboxed.c     whether a breakpoint is possible in a sandbox that was there before
 *	threads.c       the threads that there are, and one stopped for a moment
 *	gaps.c          where memory near code can be
 *	memory.c        that memory, and what belongs to it
 *	slots.c         places in it for single jumps
 *	write.c         writing to code
 *	places.c        what has a probe, or had one
 *	pages.c         pages of code that are the file's again
 *	x86-64-trampoline.c  the code of a probe, and of a return that is seen
 *	frames.c        what an unwinder must know of that code
 *	gates.c         the table of open calls, and the code for each
 *	gates-unwind.c  how every unwinder knows that code, whichever the program has
 *	x86-64-gates.S  its memory
 *	unwinders.c     the unwinders that the program has, and how each is told
 *	debugger.c      how debuggers are
 *	callers.c       whose calls may be seen returning
 *	reading.c       memory that may not be there, read in a hit
 *	x86-64-read.S   the loads of that, and the handler of their faults
 *	faults.c        what the program does with the signals of faults
 *	moved.c         signals within displaced instructions, as the program sees them
 *	hit.c           a hit: from that code to the handler, once at a time in each thread; returns
 *
 * Handlers and all that they call must be compiled for general registers only (-mgeneral-regs-only), for no others are
 * kept; they may be called in signal handlers, and must not wait, allocate or call what may have a probe: what
 * a handler hits itself is not seen (counted as a cut).
 */

#include "probe/site.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* In the order in which they are saved. */
struct patch_registers {
	uint64_t r15, r14, r13, r12, rbx; /* at entries with PATCH_ALL only */
	uint64_t rbp, r11, r10, r9, r8, rdi, rsi, rdx, rcx;
	uint64_t flags; /* as lahf (bits 8 to 15) and seto (bits 0 to 7) give them */
	uint64_t rax;
};

/* In the frame of the probe's code, in one piece with what that has saved. */
struct patch_hit {
	void *user;
	uint64_t address; /* of the site */
	uint64_t *stack; /* where the stack pointer stands; at the begin of a function: its return address */
	/*
	 * The same number at entry and exit of a call, 0 if its return is not seen. With a number: where it returns to, which
	 * does not stand on the stack meanwhile; and at the exit, how long it took by the processor's time stamp, without its
	 * entry handler.
	 */
	uint64_t call;
	uint64_t returns_to;
	uint64_t elapsed; /* see patch_clock() */
	uint64_t now;     /* at the exit: what was read of the time stamp */
	/*
	 * At the entry: a handler that reads the time stamp for itself leaves it there, as late as it can. That is when the call
	 * has begun, and it is not read once more.
	 */
	uint64_t *began;
	struct patch_registers registers;
};

typedef void (*patch_handler)(const struct patch_hit *hit);

/*
 * For a handler, memory that is its thread's alone until it returns, aligned by 64: stacks of programs may be small. A signal's hits
 * within it have none, for they are cut. NULL: there is none. What was in it is not kept.
 */
#define PATCH_SCRATCH_BYTES 1536
void *patch_hit_scratch(void);

/*
 * In a handler of a call with a number: bits of that call, all 0 before its entry handler. What the entry handler sets, the exit
 * handler sees. NULL: the call has none.
 */
#define PATCH_MARKS 16
uint16_t *patch_hit_marks(const struct patch_hit *hit, bool leaves);

struct patch;

enum patch_flags {
	PATCH_ALL = 1,  /* all general registers, not only those that a callee may change */
	PATCH_EXIT = 2, /* the site is the begin of a function, whose return is to be seen, too */
	PATCH_TRAP = 4, /* by a breakpoint, whatever the site says */
	/*
	 * Likewise, by a byte that is no instruction: where the kernel watches the place for somebody, or watches it in the parent, it
	 * would take a breakpoint for its own. It may stand there.
	 */
	PATCH_OVER = 8,
	/*
	 * Only what is needed to set it is made (-EALREADY: it is): so setting it takes no lock that another thread may have, as in the child of
	 * a fork.
	 */
	PATCH_READY = 16,
	/*
	 * Calls whose returns the probe would have seen that was removed from the place just before, with other flags: this one sees
	 * them.
	 */
	PATCH_GOES_ON = 32,
};

struct patch_setup {
	const struct probe_site *site; /* with its runtime address; is copied */
	patch_handler entry;           /* may be NULL */
	patch_handler exit;            /* with PATCH_EXIT: rax and rdx are what is returned */
	void *user;
	unsigned int flags;
	struct patch *patch;      /* result */
	enum probe_method method; /* result: a breakpoint, where nothing else was possible */
	int error;                /* result: 0 or -errno */
};

/*
 * Before all others, once. -ENOSYS: this kernel cannot notify all processors that code has changed.
 * `plain`: never by way of /proc/self/mem, as where that is forbidden.
 */
int patch_start(bool plain);

/* What hits say as elapsed is ticks of the time stamp, times `unit`, which is of 2^32; 2^32 until it is said. */
void patch_clock(uint64_t unit);

/*
 * Looks whether the program has a library that unwinds by now, and tells it of the code that was made. It asks the loader, whose lock
 * a thread may hold that waits for the caller's: so without any of these. All else in this room leaves the loader alone,
 * but the first patch_start() if this was never called.
 */
void patch_find_unwinder(void);

/*
 * Sets probes; returns how many could not be: -ESTALE in its setup if other bytes stand there than the site says, -EADDRINUSE if
 * these are a breakpoint or what the kernel makes of a nop that it watches, -EBUSY if
 * there is a probe already, or one beside it needs these bytes, -ERANGE if there is no room in reach, -EPERM if memory may not be written, -EDEADLK if a
 * thread blocks SIGTRAP, which would end it, -ESHUTDOWN if a filter of seccomp would end it at a breakpoint, -EOPNOTSUPP if returns are asked for where they cannot be seen.
 */
size_t patch_set(struct patch_setup *setups, size_t count);

/*
 * The bytes are again what they were, and when it returns, no thread is in a handler of these probes (but maybe the
 * caller), nor will be. Their code stays for threads that are still in it, and for the next probe at that place.
 * 0, or -errno if memory could not be written: then those probes are still there.
 */
int patch_remove(struct patch *const *probes, size_t count);

/*
 * From now on, hits of a probe that is set, or was not removed, say this to their handlers; those that have begun may still say the
 * former one until patch_settle().
 */
void patch_change_user(struct patch *probe, void *user);

/*
 * Gives back what is not needed while nothing is set: pages of code whose bytes are those of their files again, what was
 * known of probes, and the signals of traps, which the program has as it wants them. The code of probes stays (patch_figures). Whether
 * nothing is set; if something is, nothing is done.
 *
 * The signals stay ours where it is not certain that no thread is on its way to our handler (arrived.c); then it is tried again
 * the next time, and by patch_check().
 */
bool patch_quiesce(void);

/* Whether they are ours while nothing is set. Found by its name, likewise. */
extern uint64_t side_probe_traps __attribute__((visibility("default")));

/* How many pads of short jumps keep their jump without a probe, because a thread may be on its way there. Likewise. */
extern uint64_t side_probe_pads __attribute__((visibility("default")));

/* What is kept then, in memory; 0 while anything is set. Found by its name by whoever looks at the process from outside. */
extern uint64_t side_probe_kept __attribute__((visibility("default")));

/* The resident pages of this memory of the tracer count as kept, too. It is never unmapped. */
void patch_memory_count(const void *at, size_t size);

/*
 * Waits until no thread is in a handler of these probes that it was in when this was called (but maybe the caller), whether
 * they are set or not: what handlers could reach before may then go away.
 */
void patch_settle(struct patch *const *probes, size_t count);

/*
 * What a return address that stands on a stack says: the real one, if a return was to be seen there. In a hit, of the stack of
 * the thread that made it.
 */
uint64_t patch_return_address(uint64_t address);

/* The addresses that side puts in the slots of return addresses; both are 0 until it watches returns. */
struct patch_gate_range {
	uint64_t first, last;
};
extern struct patch_gate_range patch_gate_range;
/* At an exit: the slot that the return address was in. The slot contains a number of side until the exit handler returns. */
const uint64_t *patch_returning_slot(const struct patch_hit *hit);

/*
 * For whoever interposes sigaction(), sigprocmask() and pthread_sigmask(), with the C library's own function: what the program asks for seems to
 * hold, but the signals of traps arrive here first, and nobody blocks them; so do, while hits read memory, those of faults, which may be blocked.
 */
typedef int patch_action_function(
		int number, const struct sigaction *action, struct sigaction *before);
int patch_signals_action(int number, const struct sigaction *action, struct sigaction *before,
		patch_action_function *real);
/* Whether a handler of this signal may have to stand behind ours. */
bool patch_signals_stand_behind(int number);
typedef int patch_mask_function(int how, const sigset_t *set, sigset_t *before);
int patch_signals_mask(int how, const sigset_t *set, sigset_t *before, patch_mask_function *real);

/*
 * Where breakpoints are set, or hits read memory: whether what nobody interposes (system calls that the program makes itself) has taken the handler away, or blocks the
 * signal, is looked at and mended. From time to time; does not wait for others who set and remove.
 */
void patch_check(void);

/*
 * Libraries were loaded, or unloaded: what calls from them is known to be code of theirs from now on. As little as patch_set() does
 * it ask the loader, so its lock may be held.
 */
void patch_scan(void);

#define PATCH_ADDRESS_BITS 56 /* of what programs may have, at most: five levels of pages */

/*
 * Reading memory that may not be there, in a hit: directly, where it is certain that a fault can be caught and the page was there a moment ago. False:
 * it is not, or the memory is not there; then by a system call, and what that could read is known from then on.
 * `reading` is of the hit, NULL at first.
 */
struct patch_reading;
bool patch_read(void *to, uint64_t from, size_t size, struct patch_reading **reading);
/*
 * Up to `most` bytes of one page, up to a NUL: how many are before it, `most` without it; negative: as above. What is behind the NUL in `to` may
 * change up to `most`.
 */
long patch_read_text(char *to, uint64_t from, size_t most, struct patch_reading **reading);
/* All of it was just read, by a system call. */
void patch_read_so(uint64_t from, size_t size);

/*
 * Whether hits may read so. That takes the signals of faults: a program's handlers are called behind ours. With false, no hit that began before
 * reads any more, see patch_settle(). -ENOMEM.
 */
int patch_reads(bool wanted);

/* Whether the handler of breakpoints makes no system call, but for rare states of a thread. */
bool patch_traps_are_silent(void);

/*
 * Called before a sandbox in which handlers of side cannot return, and when entering it has failed. Without breakpoints: give the signals back
 * to the program. Then, or if the sandbox forbids the program to change signals, make no system call in its calls that concern them.
 */
enum patch_sandbox {
	PATCH_SANDBOX_NONE,
	PATCH_SANDBOX_NO_RETURN, /* breakpoints may be left, and the program may change signals */
	PATCH_SANDBOX_NO_SIGNALS, /* breakpoints may be left, and the program cannot change signals */
};
void patch_signals_sandbox(enum patch_sandbox sandbox);

/* In the child of a fork, whose parent's thread has set and removed nothing meanwhile: whoever was in patch_check() is not there. */
void patch_forked(void);

/* Why the return of a call is not seen. */
enum patch_unseen {
	PATCH_UNSEEN_FULL, /* too many calls are open */
	PATCH_UNSEEN_CALLER, /* it returns to code that may know its own return addresses, see callers.c */
	/*
	 * Neither is its begin: a process that uses the thread-local memory of another one has called it, or a thread whose thread-local memory is
	 * not the C library's just now.
	 */
	PATCH_UNSEEN_PROCESS,
	PATCH_UNSEEN_COPIED, /* the program copies its stack, see PATCH_COPIES_OFTEN */
};
#define PATCH_NR_UNSEEN 4

/* Called in hits, as handlers are. Each may be NULL. */
struct patch_hooks {
	/*
	 * After the entry handler; the hit is at the begin of the call. For PATCH_UNSEEN_PROCESS, instead of the entry handler: only
	 * the hit's user is known, and nothing of the thread's may be used.
	 */
	void (*unseen)(const struct patch_hit *hit, enum patch_unseen why);
	/* Whether the calling thread may make system calls; NULL: it may. */
	bool (*may_ask)(void);
	/*
	 * Whether the caller is the child of a vfork(): the thread whose thread-local memory it uses waits for it, so its
	 * hits are as that thread's. Called where that memory is the C library's. Without: it is not known.
	 */
	bool (*is_vforked)(void);
};

/* Takes effect now; in threads that are in a hit, with the next hit at the latest. */
void patch_hooks_set(const struct patch_hooks *wanted);

/*
 * A process that runs beside the calling thread, in its memory and on its thread-local memory (clone() with CLONE_VM alone): -1 before it
 * starts, then its number, or 0 if there is none after all. The stack identifies processes that are not announced.
 */
void patch_thread_shares(int pid);
/* The calling thread will not be able to make system calls: do now what its first hit needs. */
void patch_thread_begin(void);

/*
 * Until patch_own_end() the calling thread runs code of side: what it hits is neither seen nor counted. A signal handler of the program in between
 * is not seen either, so block signals. Costs nothing in other threads. Begins can nest.
 */
void *patch_own_begin(void);
void patch_own_end(void *before);

/*
 * Threads that side creates: pass the address of such a word to pthread_create(), which stores the thread's number there before the
 * thread begins. So hits before its function are not seen either. The thread calls patch_own_begin() and then clears the word, because
 * another thread may get the same number later.
 */
enum patch_own { PATCH_OWN_CONTROL, PATCH_OWN_ATTACH, PATCH_NR_OWN };
extern uint64_t patch_own_threads[PATCH_NR_OWN];

struct patch_stats {
	uint64_t cut; /* hits inside of handlers */
	uint64_t lost; /* hits of threads without a free entry, and of processes in the memory of a thread */
	uint64_t unseen; /* calls whose return could not be followed: too many at once, or from code of no file */
	uint64_t abandoned; /* calls that did not return: longjmp, exceptions, ends of threads; known late */
	/*
	 * Calls whose return is awaited. So of all calls that were to be seen returning: entries = exits + unseen + abandoned +
	 * open, when nobody is in one of them just now; a probe that is removed sees no exits any more, unless another one goes on with
	 * its calls.
	 */
	uint64_t open;
	uint64_t traps; /* of threads that met a byte that was being changed, and of breakpoints */
	uint64_t faults; /* of loads in hits: the page was taken away since it was read the last time */
	uint64_t bytes; /* of address space */
};

void patch_stats(struct patch_stats *stats);

#endif /* SIDE_PROBE_PATCH_PATCH_H */
