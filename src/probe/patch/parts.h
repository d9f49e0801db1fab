/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_PATCH_PARTS_H
#define SIDE_PROBE_PATCH_PARTS_H

/* Declarations that the files of this directory share. */

#include "probe/patch/call.h"
#include "probe/patch/gates-size.h"
#include "probe/patch/patch.h"

#include "probe/code/copy.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * A trampoline, the code of a probe, occupies one cache line, or four if the copy of the displaced
 * instructions is long. All trampolines of an arena have the same size and alignment. They reach a
 * handler through common code at the begin of the arena: one of the heads.
 */
#define PATCH_ARENA_BYTES 65536ULL /* also the alignment */
#define TRAMPOLINE_BYTES 64
#define TRAMPOLINE_BYTES_MAX 256
#define HEAD_BYTES 256
/* The number of a head is the set of its additional tasks. */
#define PATCH_HEAD_ALL 1u    /* saves all general registers */
#define PATCH_HEAD_INSIDE 2u /* clears flags that may be set inside of a function */
#define PATCH_HEADS 4
#define HEADS_BYTES (PATCH_HEADS * HEAD_BYTES)
#define SLOT_BYTES PROBE_JUMP_BYTES
#define RETURNS_FIRST 131072 /* open calls whose returns can be watched without growing */
/* Number of gates that a hit adds if it needs more, up to RETURNS_MAX. */
#define RETURNS_GROW 1024
#define RETURN_CALL_BYTES 6 /* of a gate: the call instruction, whose return address is after it, */
#define RETURN_PUSHED_BYTES 11 /* and after this one, its index is where the return address was */
#define THREADS_MAX 4096

/* SIGTRAP and SIGILL, as bits of the kernel's signal masks. */
#define PATCH_TRAP_SIGNALS (1ULL << 4 | 1ULL << 3)
/* SIGSEGV and SIGBUS, likewise. */
#define PATCH_FAULT_SIGNALS (1ULL << 10 | 1ULL << 6)

/*
 * The data of a probe that hits read: one cache line, apart from the data that they do not read, so
 * that thousands of probes use few lines. Written by relaxed stores, which the barriers of
 * patch_set() and patch_remove() order.
 */
struct patch_hot {
	patch_handler entry, exit;
	void *user;
	const struct patch_code *caller; /* the range that the last call came from */
	uint32_t generation;             /* of the setup that made it */
	/* Generation of the first probe whose open calls it has taken over (PATCH_GOES_ON) */
	uint32_t first_generation;
	/* Of the site, at run time; of the displaced instructions. */
	uint64_t address, copy;
	/*
	 * Distance, in these structures, to the probe of the same location that takes over its
	 * calls; 0: none.
	 */
	int32_t successor;
	bool follows; /* exits are watched */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct patch_hot) == TRAMPOLINE_BYTES, "its index is the trampoline's");

/*
 * A probe at one location. Exists while the location is mapped, because threads may execute its
 * code long after it was removed.
 */
struct patch {
	struct patch_hot *hot;
	struct probe_site site;
	unsigned int flags; /* that its code was made for */
	enum probe_method method;
	bool armed, is_removing;
	bool is_unmapped; /* the location is not mapped any more */
	bool is_whole;    /* was written by one store, the last time */
	uint64_t trampoline;
	/*
	 * The jump to the trampoline that the site reaches; 0: none, the site reaches the
	 * trampoline.
	 */
	uint64_t slot;
	uint8_t map[PROBE_PIECES_MAX + 1];
	uint8_t bytes[PROBE_JUMP_BYTES]; /* bytes at the site while it is armed */
	struct patch *next;              /* of the same list */
	/*
	 * For unwinders. `locations`: the site, each displaced instruction but the first, and the
	 * address after them. `begins`: where the copies of the latter begin in the trampoline, 255
	 * if there are fewer. `pushed`: where in the trampoline a return address is on the stack,
	 * 255 if nowhere.
	 */
	uint64_t locations[PROBE_PIECES_MAX + 1];
	uint8_t begins[PROBE_PIECES_MAX];
	uint8_t pushed;
};

/* What is kept of a trampoline while no probe is set: enough to find it again. */
struct patch_past {
	uint64_t packed; /* runtime address of the site, and above it flags and method; 0: unused */
	uint64_t slot;
};
#define PATCH_PAST_BITS 48 /* of an address */
_Static_assert(sizeof(struct patch_past) == 16, "small, because there are thousands");

/*
 * Constraints on the distance of a jump: bytes with `fixed` must have `value`, the others are free.
 */
struct patch_distance {
	bool fixed[4];
	uint8_t value[4];
};

/* ---- maps.c ---- */

/*
 * One mapping of the process. `remainder` is its line in /proc/self/maps after the first three
 * flags.
 */
struct patch_mapping {
	uint64_t start, end;
	bool readable, writable, executable;
	const char *remainder;
};

/*
 * Calls `take` with each mapping until it returns false. Returns false if it did, or if the
 * mappings cannot be read.
 */
bool patch_maps_each(bool (*take)(const struct patch_mapping *mapping, void *user), void *user);

/* ---- write.c ---- */

#define PATCH_WRITABLE_MAX 32
struct patch_writer {
	int memory;    /* /proc/self/mem; -1: not used */
	uint64_t page; /* that is writable now; 0: none */
	bool has_read_writable, knows_writable;
	unsigned int nr_writable;
	struct {
		uint64_t start, end;
	} writable[PATCH_WRITABLE_MAX]; /* code that the program itself has made writable */
};

extern bool patch_writer_plain; /* never write through /proc/self/mem */

void patch_writer_open(struct patch_writer *writer);
void patch_writer_close(struct patch_writer *writer);
int patch_write(struct patch_writer *writer, uint64_t address, const void *bytes, size_t size);
/*
 * Writes all bytes by one store. Returns -EXDEV if they do not lie in one word of 16 bytes, -EPERM
 * or -ENOMEM.
 */
int patch_exchange(struct patch_writer *writer, uint64_t address, const void *bytes, size_t size);

/* ---- set.c ---- */

/*
 * For other files that write to code: no thread sets or removes probes meanwhile. After the second
 * call, all processors execute what was written.
 */
void patch_lock_code(void);
void patch_unlock_code(void);

/* ---- gaps.c ---- */

/* Forgets the known gaps: the program may have mapped memory in them. */
void patch_memory_scan(void);

/* ---- memory.c ---- */

/* Properties that all trampolines of an arena share. */
struct patch_kind {
	unsigned int bytes; /* TRAMPOLINE_BYTES, TRAMPOLINE_BYTES_MAX */
	bool follows;       /* returns may be watched */
};

/* Allocates a trampoline near that address; 0: out of memory in reach. */
uint64_t patch_trampoline_memory(uint64_t near, struct patch_kind kind);
void patch_trampoline_return(uint64_t trampoline);
struct patch_kind patch_trampoline_kind(uint64_t trampoline);
/* The struct patch that belongs to this trampoline, always the same; its member `hot` is set. */
struct patch *patch_trampoline_patch(uint64_t trampoline);
struct patch_past *patch_trampoline_past(uint64_t trampoline);
/* True if the address is in an arena of trampolines. */
bool patch_is_trampoline(uint64_t address);
/* True if the address is in memory that this module has mapped, except arenas. */
bool patch_is_memory(uint64_t address);
/*
 * True if a probe was set when all were removed the last time, and this address was among its
 * bytes. Also for signal handlers.
 */
bool patch_was_location(uint64_t address);
uint64_t patch_memory_bytes(void);
/* Maps memory at any address, for the code and data of returns. */
void *patch_memory_anywhere(size_t size, int protection);
/*
 * Reserves addresses that all are in reach of `address`. The caller makes parts of it accessible
 * and counts them with patch_memory_accessible(). NULL: no gap is large enough.
 */
void *patch_memory_reserve(uint64_t address, size_t size);
void patch_memory_accessible(size_t size);
/* Like patch_memory_anywhere(), at addresses below 2^31. */
void *patch_memory_low(size_t size, int protection);
/* Zeroes whole pages of it and releases their memory. */
void patch_memory_drop(void *memory, size_t size);
/*
 * Zeroes all probes, so that threads that arrive late in a trampoline find no handler. `kept_code`:
 * bytes of code pages that differ from their files.
 */
void patch_memory_quiesce(uint64_t kept_code);
/* Subtracts bytes of code that were returned to their files while no probe is set. */
void patch_memory_returned(uint64_t code);
/* Ends that state: calls `visit` with what was kept of each probe. */
void patch_memory_recall(void (*visit)(struct patch_past *past, uint64_t trampoline));

/* ---- slots.c ---- */

/*
 * Allocates a slot for a jump: a jump at `site` with such a distance reaches it, and it reaches
 * `trampoline`. 0: none.
 */
uint64_t patch_slot_memory(
		uint64_t site, uint64_t trampoline, const struct patch_distance *distance);
/* May be called several times for one slot. */
void patch_slot_return(uint64_t slot);
/* Marks the slot as allocated, as before patch_memory_quiesce(). */
void patch_slot_recall(uint64_t slot);

/* ---- installed.c ---- */

int patch_locations_start(void);
/* Calls `visit` with each probe, set or not. */
void patch_locations_each(void (*visit)(struct patch *patch));
/*
 * Returns the first probe for which `is` is true, or NULL. Also for signal handlers, which may miss
 * some while lists change.
 */
struct patch *patch_locations_find(bool (*is)(struct patch *patch, void *user), void *user);
/* Removes all probes from the lists. */
void patch_locations_forget(void);
/* The list that contains the probes of that address, and maybe others. */
struct patch **patch_location_list(uint64_t address);
/* Number of bytes that the probe changes at its site. */
unsigned int patch_bytes(const struct patch *patch);
/*
 * True if a probe that is set needs some of these bytes: it has changed them, executes them
 * elsewhere, or has them in the distance of its jump.
 */
bool patch_is_occupied(uint64_t from, unsigned int size);
/* True if a probe is set by a breakpoint. */
bool patch_any_breakpoint(void);
/* True if a probe is set. */
bool patch_any_armed(void);
/*
 * True if the bytes at the site are still those that the probe has written. False if the file was
 * unmapped; other code at that address must not be changed.
 */
bool patch_is_intact(struct patch *patch);
/* For a probe whose bytes were changed: true if some of the inner instruction begins still trap. */
bool patch_leaves_traps(const struct patch *patch);
/*
 * If one of these probes is at a location that is not mapped any more, frees what was made for all
 * such locations.
 */
void patch_release_gone(struct patch *const *patches, size_t count);

/* ---- callers.c ---- */

/* A range of code that is mapped from a file. */
struct patch_code {
	uint64_t start, size;
};

static inline bool patch_is_in(const struct patch_code *code, uint64_t address)
{
	/* Relaxed: the mapping has been there for longer than a thread can call from it. */
	return address - __atomic_load_n(&code->start, __ATOMIC_RELAXED) <
			__atomic_load_n(&code->size, __ATOMIC_RELAXED);
}

/* Returns the range that contains the address, or NULL. Also for hits. */
const struct patch_code *patch_caller(uint64_t address);
extern const struct patch_code patch_no_code;
/* Reads the mappings again. */
void patch_callers_scan(void);
/* No further call is watched. Also for hits. */
void patch_callers_end(void);
/* Called when gates exist: the ranges are needed. */
void patch_callers_want(void);
bool patch_callers_wanted(void);

/* ---- frame-calls.c ---- */

/*
 * True if this code contains libgcc's unwinder and calls its _Unwind_GetCFA(). Only one thread may
 * call it at a time.
 */
bool patch_calls_for_frames(uint64_t start, uint64_t end);

/* ---- pages.c ---- */

/*
 * Returns private copies of pages that contain probed locations or springboards to their files if
 * their bytes are equal. Returns the number of bytes that differ. If `ret_returned` is not NULL,
 * stores the number of bytes that were returned to files.
 */
uint64_t patch_pages_give_back(uint64_t *ret_returned);

/* ---- x86-64-trampoline.c ---- */

/* Generates the code of a probe for its trampoline, of that kind. Returns 0, -ERANGE or -E2BIG. */
int patch_trampoline_generate(struct patch *patch, struct patch_kind kind, uint8_t *bytes);
/*
 * Generates the heads of an arena; `hot` is the patch_hot that its first trampoline would have if
 * it began at the arena.
 */
void patch_heads_write(uint8_t bytes[HEADS_BYTES], bool follows, const struct patch_hot *hot);
/* Offset in a head of the address of `hot`. */
size_t patch_head_hot_at(void);
/* Fills in what unwinders read of a probe whose code was generated. */
void patch_trampoline_locations(struct patch *patch);
/*
 * Generates the code of all watched calls: COMMON_BYTES, to which all gates lead in the end, and
 * padding; the gates follow (gates.c).
 */
struct patch_return;
void patch_returns_write(uint8_t *bytes);
/*
 * For each byte of a trampoline, a head and the common code of the gates: the distance from the
 * stack pointer to the begin of the frame, which is after the return address.
 * PATCH_BY_FRAME_POINTER: the frame pointer must be used, at the distance PATCH_FRAME_BYTES.
 */
const uint8_t *patch_trampoline_frames(bool follows);
const uint8_t *patch_head_frames(bool follows, unsigned int number);
const uint8_t *patch_returns_frames(void);
#define PATCH_BY_FRAME_POINTER 255
#define PATCH_FRAME_BYTES 224       /* from the frame pointer to the stack pointer at the site */
#define PATCH_PUSHED_BYTES 136      /* from there down to what the trampoline has pushed */
#define PATCH_RETURN_FRAME_BYTES 88 /* and to the slot of the return address, at an exit */

/* ---- frames.c ---- */

/* Describes an arena of trampolines to unwinders, now or as soon as one is loaded. */
void patch_frames_add(uint64_t start, uint64_t size, struct patch_kind kind,
		const struct patch *patches, const struct patch_hot *hot);
/* The same for an arena of slots. */
void patch_frames_add_slots(uint64_t start, uint64_t size);
/* The same for the gates. `count`: the maximum number of gates. */
void patch_frames_returns(uint64_t start, const struct patch_return *returns, uint32_t count);
/* Generates the unwind rules of the gates from `base` on, for gates.c. Returns their size. */
size_t patch_frames_gates(uint8_t rules[GATES_RULES_BYTES], uint64_t base,
		const struct patch_return *returns);
/*
 * Describes a springboard to unwinders, with the site whose short jump leads there; `site` 0: it
 * has none any more. `number` is what was returned for the same address before. Returns the number,
 * or a negative value if the table is full.
 */
int patch_frames_springboard(int number, uint64_t address, uint64_t site);
void patch_frames_register(void);

/*
 * One registered piece of code, by its index. The data it points to never moves. False: the index
 * is too large.
 */
struct patch_frames {
	uint64_t start, length;
	/*
	 * Unwind data with a CIE, a FDE and an end mark, at most PATCH_FRAMES_BYTES. It is for
	 * readers that take the begin of a frame for the caller's stack pointer, and ignore the
	 * rule for that register.
	 */
	const uint8_t *plain;
	size_t plain_size;
};
#define PATCH_FRAMES_BYTES 384
#define PATCH_FRAMES_SPRINGBOARDS 1024
#define PATCH_FRAMES_MAX (5334 + PATCH_FRAMES_SPRINGBOARDS) /* five for each arena */
bool patch_frames_entry(unsigned int which, struct patch_frames *ret_frames);
/*
 * Finds the piece of code by an address in it. For all threads and signal handlers; takes no lock.
 */
struct patch_found {
	uint64_t start, end;
	const void *table; /* as in .eh_frame_hdr */
};
bool patch_frames_find(uint64_t address, struct patch_found *ret_found);

/* ---- gates-unwind.c ---- */

/*
 * Makes unwinders find the gates. Returns 0, -ENOTSUP if the linker has changed this object's
 * unwind data, or another negative errno.
 */
int patch_gates_publish(const struct patch_return *returns, uint32_t count);

/* ---- unwinders.c ---- */

void patch_unwinders_start(void);
/*
 * Makes each libgcc find the generated code, including those that were loaded since the last call.
 * Returns true if libunwind was loaded since. Calls the loader: see patch_find_unwinder().
 */
bool patch_unwinders_scan(void);
/* Registers all code that was added with libunwind, if the program has loaded it. */
void patch_unwinders_notify(void);
/* Called before a fork(), after it in the parent, and in the child, which has no other threads. */
void patch_unwinders_fork(void);
void patch_unwinders_fork_done(void);
void patch_unwinders_forked(void);
/* The length of this piece has changed. */
void patch_unwinders_change(unsigned int which);

/* ---- debugger.c ---- */

/* NULL as a name: the code belongs to a file, which has symbols. */
void patch_debugger_add(const uint8_t *frames, size_t frames_size, const char *name, uint64_t start,
		uint64_t size);

/* ---- trap.c ---- */

int patch_trap_start(void);
/* Makes a thread that traps at `address` continue at `target`. Returns 0 or -ENOMEM. */
int patch_trap_add(uint64_t address, uint64_t target);
void patch_trap_remove(uint64_t address);
/* Takes the signals again: the program may have set a handler of its own since. */
void patch_trap_renew(void);
/* Empties the table: no byte traps any more. */
void patch_trap_quiesce(void);
/*
 * After patch_trap_quiesce(): gives the signals back to the program. Returns false, and keeps the
 * signals, if a thread may still be on its way to the handler.
 */
bool patch_trap_end(void);
extern uint64_t patch_traps;

/* ---- copied.c ---- */

/*
 * Checks whether a jump in a copy of probed code led the thread to the fault. If so, restores the
 * program's bytes in the copy, makes the thread continue there, and returns true.
 */
bool patch_copied_fault(const siginfo_t *info, void *context);
/*
 * The same for a trap at a byte without a probe; *ret_copy is the address in the copy where the
 * thread continues.
 */
bool patch_copied_trap(uint64_t at, uint64_t *ret_copy);
/*
 * Called after probes were removed: restores the program's bytes in copies of their locations that
 * are in executable memory of no file.
 */
void patch_copied_removed(struct patch *const *patches, size_t count);

/* ---- signals.c ---- */

/*
 * Makes this handler the kernel's action of SIGTRAP and SIGILL. The wrappers then answer the
 * program's requests; its action runs behind this handler, and no handler of the program blocks
 * these signals. Called again because the program may have set an action by a bare system call.
 * Returns 0 or negative errno.
 */
int patch_signals_take(const struct sigaction *handler);
void patch_signals_open(void);
/* Gives the program's actions and masks to the kernel; the wrappers then forward requests. */
void patch_signals_give_back(void);
/*
 * The program's action of SIGTRAP or SIGILL, for signals that are not caused by probes. Called in
 * signal handlers.
 */
struct sigaction patch_signals_behind(int number);
void patch_signals_default(int number);
/* Called in the child of a fork(), which has no other threads. */
void patch_signals_forked(void);

/* ---- faults.c ---- */

/*
 * Takes the signals of faults, for one or both reasons. PATCH_FAULTS_LOADS: loads in hits may
 * fault; ends when no thread is in a hit with such loads. PATCH_FAULTS_COPIES: displaced
 * instructions may fault; ends when no probe is set (moved.c).
 */
#define PATCH_FAULTS_LOADS 1u
#define PATCH_FAULTS_COPIES 2u
void patch_faults_start(unsigned int reason);
void patch_faults_end(unsigned int reason);
/* Takes them again if they are taken: the program may have set an action by a bare system call. */
void patch_faults_renew(void);
/* Changes when readers must read masks and actions from the kernel again. */
extern uint64_t patch_faults_generation;

/* ---- reading.c ---- */

/* Another thread uses this entry now. */
void patch_reading_begin(unsigned int number);
/* Called before and after the calling thread changes its signal mask. */
void patch_reading_pause(void);
void patch_reading_forget(void);
/* If true, readers trust no earlier reading of a mask. */
void patch_reading_ask_always(bool always);
/* Number of loads that faulted although the page had been there before. */
uint64_t patch_reading_faults(void);

/* ---- threads.c ---- */

struct patch_thread {
	pid_t tid;
	char state;                /* as in /proc; 0: it has exited; '?': cannot be read */
	bool traced, guarded;      /* by seccomp */
	uint64_t pending, blocked; /* its own signals */
};

/*
 * Reads the state of a thread. The members are read in this order, except `guarded`. False: it has
 * exited, or it is a kernel thread, which executes no code of the program. If it cannot be read:
 * state '?', traced, guarded, and all signals blocked.
 */
bool patch_thread_inspect(pid_t tid, struct patch_thread *ret_thread);
/*
 * Calls `visit` with each thread; some may be skipped if others exit meanwhile. False: the threads
 * cannot be listed, see errno.
 */
bool patch_threads_each(void (*visit)(pid_t tid, void *data), void *data);
/*
 * Stops these threads, one at a time, for some microseconds each, and calls `at_stop` while each is
 * stopped. `at_stop` may be NULL, and may only make system calls. Returns how many were stopped on
 * their way out of the kernel, before they took up a pending signal.
 */
typedef void patch_at_stop(pid_t thread);
unsigned int patch_threads_stop(const pid_t *threads, unsigned int count, patch_at_stop *at_stop);

/*
 * True: forward the program's requests to the kernel, and make no other system calls; side then
 * handles no signal any more.
 */
void patch_signals_forward(bool pass);

/* ---- resume.c, x86-64-resume.S ---- */

void patch_resume_start(void);
/* Called when another handler calls side's handler, which must then return to it. */
void patch_resume_never(void);
/* True if handlers of traps can end without a system call, except in rare states of a thread. */
bool patch_resumes(void);
/*
 * The components of the processor's state that patch_resume() must restore; 0: the handler must
 * return.
 */
uint64_t patch_resume_components(const void *context);
uint64_t patch_resume_flags(void);
/* Ends the handler: the thread continues as the context describes. */
void patch_resume(const void *context, uint64_t components) __attribute__((noreturn));

/* ---- sandboxed.c ---- */

/*
 * True if breakpoints work under the seccomp filter that was installed before the first breakpoint,
 * if any.
 */
bool patch_traps_return(void);

/* ---- arrived.c ---- */

/* A property of threads that is stable: once true of a thread, it remains true. */
struct patch_proof {
	/*
	 * Checks the thread without disturbing it. Sets *guarded if a seccomp filter applies to it.
	 */
	enum patch_verdict {
		PATCH_PROVED,
		PATCH_UNPROVED,  /* it is running */
		PATCH_DISPROVED, /* and will not be soon, so it is not worth stopping the thread */
	} (*check)(pid_t tid, bool *guarded);
	/*
	 * A thread that never sleeps is stopped: `at_stop` runs meanwhile, see
	 * patch_threads_stop(), and `was_proved` returns what it has found.
	 */
	patch_at_stop *at_stop;
	bool (*was_proved)(pid_t tid);
};

/* True if the property is proved of all threads but the calling one. */
bool patch_threads_prove(const struct patch_proof *proof);
/*
 * Must be called after all traps were removed and all threads have passed a barrier. True if it is
 * proved that no thread has met a trap whose handler has not begun yet.
 */
bool patch_all_arrived(void);

/* ---- quiescence.c ---- */

/*
 * Must be called when no jump leads to such an address any more and all threads have passed a
 * barrier. True if it is proved that no thread is at such an address or returns to one.
 */
bool patch_all_quiesced(bool (*is_there)(uint64_t address));
/* True if a seccomp filter applies to the calling thread. */
bool patch_is_guarded(void);

/* ---- springboards.c ---- */

/*
 * Claims the springboard of a probe by a short jump, and describes it to unwinders. *ret_is_written
 * is set if a jump is there already; it may lead to another trampoline of the same location.
 * Returns 0, or -ERANGE if the bytes differ from those of the file.
 */
int patch_springboard_claim(const struct patch *patch, bool *ret_is_written);
/* Undoes the claim: nothing was written there. */
void patch_springboard_drop(uint64_t address);
/* Forgets a springboard whose memory was unmapped. */
void patch_springboard_forget(uint64_t address);
/* True if the byte at this address belongs to a springboard, also of a probe that was removed. */
bool patch_is_springboard(uint64_t address);
/*
 * Restores the padding of springboards whose probe is not set, if it is proved that no thread is on
 * its way through them. Uses `writer` if it is not NULL. Returns how many springboards without a
 * probe are left.
 */
size_t patch_springboards_return(struct patch_writer *writer);
/* True if there are springboards without a probe. */
bool patch_springboards_remain(void);
/*
 * Iterates over springboards, with the site whose short jump leads there; both are 0 for unused
 * entries. False: the index is too large.
 */
bool patch_springboard_at(size_t index, uint64_t *ret_address, uint64_t *ret_site);
/*
 * Calls `visit` with each springboard whose page may be a private copy. patch_springboards_settle()
 * removes those that are padding again from this list.
 */
void patch_springboards_each(void (*visit)(uint64_t address));
void patch_springboards_settle(void);

/* ---- blocked.c ---- */

/* Unblocks the signals of traps in all threads. False: a thread still blocks them. */
bool patch_unblock(void);
/* Unblocks them in the calling thread. */
void patch_unblock_self(void);

/* ---- gates.c ---- */

/* Memory for the code of returns in this object. Inaccessible before patch_gates_start(). */
extern uint8_t patch_gates[GATES_BYTES] __attribute__((visibility("hidden")));

struct patch_gates {
	uint8_t *code; /* RETURNS_HEAD_BYTES, and the gates */
	struct patch_return *returns;
	uint32_t max; /* maximum number of gates; RETURNS_FIRST of them can be used */
};

int patch_gates_start(struct patch_gates *ret_gates);
/*
 * Makes more gates usable. Called in hits. False: out of memory, now and later: do not use these
 * gates.
 */
bool patch_gates_grow(uint32_t first, uint32_t count);

/* ---- hit.c ---- */

enum patch_return_state {
	PATCH_FREE, /* in the list of its thread */
	PATCH_OPEN, /* a call that has not returned */
	/*
	 * The same, for a function that a watched function has jumped to: both calls share a slot.
	 */
	PATCH_TAIL,
	/* Has returned in another thread; its own thread puts it on its list later. */
	PATCH_RETURNED,
	PATCH_STATES = 3, /* mask of these; the others are flags of an open call */
	PATCH_KEPT = 4,  /* can return more than once, so its gate is never used for another call */
	PATCH_ASIDE = 8, /* its slot was overwritten; its gate is used again after many others */
};

struct patch_return {
	uint64_t address; /* of the caller; must be first, the unwind data refers to it */
	uint64_t copy;    /* address that its gate calls */
	uint64_t *slot;
	struct patch_hot *probe;
	/* A call begins with one store to both, which clears the marks. */
	union {
		struct {
			uint32_t generation;
			union {
				uint32_t next; /* PATCH_FREE: the next one of the list */
				/*
				 * Open: `aside` is how many calls its thread had set aside before,
				 * modulo 2^16 (PATCH_ASIDE); `marks`: patch_hit_marks().
				 */
				struct {
					uint16_t aside, marks;
				};
			};
		};
		uint64_t begin;
	};
	uint16_t owner;   /* the thread whose list contains it when it is free */
	uint8_t state;    /* enum patch_return_state */
	uint32_t tail_of; /* PATCH_TAIL: index of the call that has jumped to this function */
	uint64_t call, began;
} __attribute__((aligned(64))); /* one cache line a call */

/* Called by heads, with a hit of which only the registers are set. */
void patch_enter(struct patch_hit *hit, struct patch_hot *probe);
/*
 * The same for probes whose returns may be watched. True: the return address was replaced by a
 * gate's.
 */
bool patch_enter_followed(struct patch_hit *hit, struct patch_hot *probe);
/*
 * Called by the code of returns, with such a hit, and with the slot that contains the index. Stores
 * there where the thread continues.
 */
void patch_leave(struct patch_hit *hit, uint64_t *stack_slot);
int patch_hit_start(void);
/*
 * True if the calling thread is in a hit. The hit continues without the alignment check, and sets
 * it again at its end.
 */
bool patch_hit_is_unaligned(void);
#define PATCH_ALIGNMENT_CHECK UINT64_C(0x40000) /* a bit of the flags register */
int patch_hit_follow(void);
/*
 * Notes that the program copies parts of its stack away and back, and return addresses with them.
 * Known when a file that does so is mapped, or from the behaviour of calls. The value only grows.
 */
enum patch_copies {
	PATCH_COPIES_UNKNOWN,
	/* Each copy is used once at most: a call that seemed abandoned can return. */
	PATCH_COPIES_ONCE,
	PATCH_COPIES_OFTEN, /* a call can return several times: no further call is watched */
};
void patch_hit_copies(enum patch_copies copies);
/* Index of the calling thread's entry, below THREADS_MAX; negative: it has none. */
int patch_hit_number(void);
bool patch_hit_is_inside(const struct patch_hot *probe);
void patch_hit_stats(struct patch_stats *ret_stats);

#endif /* SIDE_PROBE_PATCH_PARTS_H */
