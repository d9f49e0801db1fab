/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_PATCH_PARTS_H
#define SIDE_PROBE_PATCH_PARTS_H

/* What the files of this room share. */

#include "probe/patch/call.h"
#include "probe/patch/gates.h"
#include "probe/patch/patch.h"

#include "probe/code/copy.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * The code of a probe, its trampoline, is one line of the cache, or four where the copy of what is displaced is long. All trampolines of an arena
 * are of the same size, by which they are aligned, and go by the same code to a handler: one of the heads at the arena's begin.
 */
#define PATCH_ARENA_BYTES 65536ULL /* aligned so, too */
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
#define RETURNS_GROW 1024    /* by so many, in the hit that needs more, up to RETURNS_MAX */
#define RETURN_CALL_BYTES 6 /* of a gate: the call of the function, behind which that returns to, */
#define RETURN_PUSHED_BYTES 11 /* and behind this its index is where its return address was */
#define THREADS_MAX 4096

/* SIGTRAP and SIGILL, of a mask as the kernel has it. */
#define PATCH_TRAP_SIGNALS (1ULL << 4 | 1ULL << 3)
/* SIGSEGV and SIGBUS, likewise. */
#define PATCH_FAULT_SIGNALS (1ULL << 10 | 1ULL << 6)

/*
 * What hits read of a probe, in one line of the cache, beside those of its neighbours: of thousands of places, most are
 * strangers to it. Relaxed stores, ordered by the barriers of patch_set() and patch_remove().
 */
struct patch_hot {
	patch_handler entry, exit;
	void *user;
	const struct patch_code *caller; /* that called it last */
	uint32_t generation;             /* of the setup that made it */
	uint32_t since;                  /* of the first one that it goes on with (PATCH_GOES_ON) */
	uint64_t address, copy;          /* of the site, at run time; of what is displaced */
	int32_t successor; /* away, in these structures: of the same place, goes on with its calls; 0: none does */
	bool follows; /* exits */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct patch_hot) == TRAMPOLINE_BYTES, "found by where the trampoline is");

/* One place, as long as it is mapped: threads may be in its code long after it was removed. */
struct patch {
	struct patch_hot *hot;
	struct probe_site site;
	unsigned int flags; /* that its code was made for */
	enum probe_method method;
	bool armed, leaves;
	bool gone;  /* nothing is mapped there any more */
	bool whole; /* was changed at once, the last time */
	uint64_t trampoline;
	uint64_t slot; /* the jump to the trampoline that the site reaches; 0: the trampoline itself */
	uint8_t map[PROBE_PIECES_MAX + 1];
	uint8_t bytes[PROBE_JUMP_BYTES]; /* what stands there while it is armed */
	struct patch *next;              /* of the same place */
	/*
	 * For unwinders: the site, and behind it each displaced instruction but the first, and what follows them; where in the trampoline the
	 * copies of the latter begin, 255 if there are fewer; and from where on a return address is pushed there, likewise.
	 */
	uint64_t locations[PROBE_PIECES_MAX + 1];
	uint8_t begins[PROBE_PIECES_MAX];
	uint8_t pushed;
};

/* What is known of a trampoline while nothing is set: enough to find it again. */
struct patch_past {
	uint64_t what; /* runtime of the site, and above it flags and method; 0: nobody's */
	uint64_t slot;
};
#define PATCH_PAST_BITS 48 /* of an address */
_Static_assert(sizeof(struct patch_past) == 16, "there are thousands");

/* What a jump's distance must be: bytes that are given, and others that are free. */
struct patch_distance {
	bool fixed[4];
	uint8_t value[4];
};

/* ---- maps.c ---- */

/* One mapping of the process. `remainder` is what its line in /proc/self/maps has behind the first three flags. */
struct patch_mapping {
	uint64_t start, end;
	bool readable, writable, executable;
	const char *remainder;
};

/* Calls the function with each mapping until it returns false. False: it did, or the mappings cannot be read. */
bool patch_maps_each(bool (*take)(const struct patch_mapping *mapping, void *user), void *user);

/* ---- write.c ---- */

#define PATCH_WRITABLE_MAX 32
struct patch_writer {
	int memory;    /* /proc/self/mem; -1: plain */
	uint64_t page; /* that is writable; 0: none */
	bool has_read_writable, knows_writable;
	unsigned int nr_writable;
	struct {
		uint64_t start, end;
	} writable[PATCH_WRITABLE_MAX]; /* code that the program itself has made so */
};

extern bool patch_writer_plain; /* never by way of /proc/self/mem */

void patch_writer_open(struct patch_writer *writer);
void patch_writer_close(struct patch_writer *writer);
int patch_write(struct patch_writer *writer, uint64_t address, const void *bytes, size_t size);
/* All at once for threads that execute them; -EXDEV if they lie where that is not possible, -EPERM, -ENOMEM. */
int patch_exchange(struct patch_writer *writer, uint64_t address, const void *bytes, size_t size);

/* ---- gaps.c ---- */

/* What is free may have changed since it was last looked at: others map memory, too. */
void patch_memory_scan(void);

/* ---- memory.c ---- */

/* What the trampolines of an arena have in common. */
struct patch_kind {
	unsigned int bytes; /* TRAMPOLINE_BYTES, TRAMPOLINE_BYTES_MAX */
	bool follows;       /* returns may be seen */
};

/* Memory of a trampoline near that address; 0: none. */
uint64_t patch_trampoline_memory(uint64_t near, struct patch_kind kind);
void patch_trampoline_return(uint64_t trampoline);
struct patch_kind patch_trampoline_kind(uint64_t trampoline);
/* The probe whose trampoline it is, and no other's ever, which knows what hits read of it. */
struct patch *patch_trampoline_probe(uint64_t trampoline);
struct patch_past *patch_trampoline_past(uint64_t trampoline);
/* Whether it is in an arena of trampolines. */
bool patch_is_trampoline(uint64_t address);
/* Whether it is in memory that was mapped here, but for arenas. */
bool patch_is_memory(uint64_t address);
/* Whether there was one when nothing was set the last time, with that address among its bytes. In signal handlers, too. */
bool patch_was_location(uint64_t address);
uint64_t patch_memory_bytes(void);
/* For the code and data of returns: anywhere. */
void *patch_memory_anywhere(size_t size, int protection);
/*
 * Addresses alone, all of them in reach of that one: none of it can be used before it is made accessible, and patch_memory_accessible()
 * counts it then. NULL: there is no such gap either.
 */
void *patch_memory_reserve(uint64_t address, size_t size);
void patch_memory_accessible(size_t size);
/* The same, at addresses of 31 bits. */
void *patch_memory_low(size_t size, int protection);
/* Whole pages of it are zeros again, and nobody's. */
void patch_memory_drop(void *memory, size_t size);
/* All probes are zeros: of threads that come to them late, nothing is wanted. `kept_code`: bytes of code that have changed. */
void patch_memory_quiesce(uint64_t kept_code);
/* Meanwhile: so many of these are not. */
void patch_memory_returned(uint64_t code);
/* The end of that: what was kept of each. */
void patch_memory_recall(void (*visit)(struct patch_past *past, uint64_t trampoline));

/* ---- slots.c ---- */

/* A place for a jump at which a jump from `site` with such a distance arrives, in reach of `trampoline`; 0: none. */
uint64_t patch_slot_memory(
		uint64_t site, uint64_t trampoline, const struct patch_distance *distance);
/* Once or several times. */
void patch_slot_return(uint64_t slot);
/* It is taken, as before the rest. */
void patch_slot_recall(uint64_t slot);

/* ---- places.c ---- */

int patch_locations_start(void);
/* Calls it with each. */
void patch_locations_each(void (*visit)(struct patch *probe));
/* The first probe for which `is` is true; NULL: none. Also for signal handlers, which may miss some while lists change. */
struct patch *patch_locations_find(bool (*is)(struct patch *probe, void *user), void *user);
/* There are none. */
void patch_locations_forget(void);
/* The list in which probes of that address are, maybe with others. */
struct patch **patch_location_list(uint64_t address);
/* How many bytes of its place it changes. */
unsigned int patch_bytes(const struct patch *probe);
/* Whether a probe that is set needs some of these bytes: has changed them, executes them elsewhere, or has them in its distance. */
bool patch_is_occupied(uint64_t from, unsigned int size);
/* Whether some probe that is set is one. */
bool patch_any_breakpoint(void);
/* Whether some is. */
bool patch_any_armed(void);
/* Whether what was written stands there still. Not when its file was unmapped: whatever is there now is left alone. */
bool patch_stands(struct patch *probe);
/* Where it does not: whether inner begins of instructions still trap, because others have changed only some of the bytes. */
bool patch_leaves_traps(const struct patch *probe);
/* Gives back what was made for places that are not mapped any more, if one of these is among them. */
void patch_release_gone(struct patch *const *probes, size_t count);

/* ---- callers.c ---- */

/* Code that is mapped from a file. */
struct patch_code {
	uint64_t start, size;
};

static inline bool patch_is_in(const struct patch_code *code, uint64_t address)
{
	/* Relaxed: what is mapped there now has been so for as long as somebody can call from there. */
	return address - __atomic_load_n(&code->start, __ATOMIC_RELAXED) <
			__atomic_load_n(&code->size, __ATOMIC_RELAXED);
}

/* That in which it is; NULL: in none. For hits, too. */
const struct patch_code *patch_caller(uint64_t address);
extern const struct patch_code patch_no_code;
/* What is mapped may have changed. */
void patch_callers_scan(void);
/* No call is watched any more. For hits, too. */
void patch_callers_end(void);
/* Gates exist from here on. */
void patch_callers_want(void);
bool patch_callers_wanted(void);

/* ---- frame-calls.c ---- */

/* Whether this code contains libgcc's unwinder and calls _Unwind_GetCFA() of it. One thread at a time. */
bool patch_calls_for_frames(uint64_t start, uint64_t end);

/* ---- pages.c ---- */

/*
 * Those of all places and pads that are as they are in their files are the files' again. How many bytes are not; and, unless it is NULL, how many
 * have been given back.
 */
uint64_t patch_pages_give_back(uint64_t *returned);

/* ---- x86-64-trampoline.c ---- */

/* Writes the code of a probe as it is in its trampoline, of that kind; -ERANGE, -E2BIG. */
int patch_trampoline_of(struct patch *probe, struct patch_kind kind, uint8_t *bytes);
/* The heads of an arena; `hot` is what hits read of what were its first trampoline. */
void patch_heads_write(uint8_t bytes[HEADS_BYTES], bool follows, const struct patch_hot *hot);
/* Where in a head that address stands. */
size_t patch_head_hot_at(void);
/* What unwinders read of a probe whose code was written. */
void patch_trampoline_locations(struct patch *probe);
/* The code of all watched calls: COMMON_BYTES to which all lead in the end, padding, the gates (gates.c). */
struct patch_return;
void patch_returns_write(uint8_t *bytes);
/*
 * For each byte of a trampoline, of a head, and of what all gates lead to, how far the stack pointer is from the begin of the frame, which is
 * behind the return address; or that the frame pointer says it, which is so far from it.
 */
const uint8_t *patch_trampoline_frames(bool follows);
const uint8_t *patch_head_frames(bool follows, unsigned int number);
const uint8_t *patch_returns_frames(void);
#define PATCH_BY_FRAME_POINTER 255
#define PATCH_FRAME_BYTES 224       /* from the frame pointer to the stack pointer at the site */
#define PATCH_PUSHED_BYTES 136      /* from there down to what the trampoline has pushed */
#define PATCH_RETURN_FRAME_BYTES 88 /* and to the place of the return address, at an exit */

/* ---- frames.c ---- */

/* An arena of trampolines: known to unwinders from now on, or as soon as one is there. */
void patch_frames_add(uint64_t start, uint64_t size, struct patch_kind kind,
		const struct patch *probes, const struct patch_hot *hot);
/* One of slots. */
void patch_frames_add_slots(uint64_t start, uint64_t size);
/* `count`: the maximum number of gates. */
void patch_frames_returns(uint64_t start, const struct patch_return *returns, uint32_t count);
/* The rules of the gates from `base` on as gates.c needs them; how many bytes. */
size_t patch_frames_gates(uint8_t rules[GATES_RULES_BYTES], uint64_t base,
		const struct patch_return *returns);
/*
 * The pad of a short jump: of which site, 0: of none any more. Negative: there is no room to say so. With the number that was
 * given for the same address before.
 */
int patch_frames_springboard(int number, uint64_t address, uint64_t site);
void patch_frames_register(void);

/* What has been said of one piece of code, from the first on; false: there are no more. It stays where it is. */
struct patch_frames {
	uint64_t start, length;
	/*
	 * A description, the entry that uses it, the end, for readers that take the begin of a frame for its caller's stack pointer, and ignore
	 * the rule for that register. No more than PATCH_FRAMES_BYTES.
	 */
	const uint8_t *plain;
	size_t plain_size;
};
#define PATCH_FRAMES_BYTES 384
#define PATCH_FRAMES_SPRINGBOARDS 1024
#define PATCH_FRAMES_MAX (5334 + PATCH_FRAMES_SPRINGBOARDS) /* five for each arena */
bool patch_frames_entry(unsigned int which, struct patch_frames *frames);
/* The same by an address in it, for the program's threads and in signal handlers: without a lock. */
struct patch_found {
	uint64_t start, end;
	const void *table; /* as in .eh_frame_hdr */
};
bool patch_frames_find(uint64_t address, struct patch_found *ret_found);

/* ---- gates-unwind.c ---- */

/* Unwinders know the gates from here on. -ENOTSUP: the linker changed this object's unwind data; else -errno. */
int patch_gates_publish(const struct patch_return *returns, uint32_t count);

/* ---- unwinders.c ---- */

void patch_unwinders_start(void);
/* Let each libgcc find our code, also one that was loaded since. True if libunwind was loaded. Asks the loader: see patch_find_unwinder(). */
bool patch_unwinders_scan(void);
/* libunwind, if the program has it, knows all that has been said. */
void patch_unwinders_notify(void);
/* Before a fork(), after it in the parent, and in the child, which has no other threads. */
void patch_unwinders_fork(void);
void patch_unwinders_fork_done(void);
void patch_unwinders_forked(void);
/* Of this piece the length has changed. */
void patch_unwinders_change(unsigned int which);

/* ---- debugger.c ---- */

/* Without a name: the code is in what belongs to a file, and that has one. */
void patch_debugger_add(const uint8_t *frames, size_t frames_size, const char *name, uint64_t start,
		uint64_t size);

/* ---- trap.c ---- */

int patch_trap_start(void);
/* A thread that meets a trap at `address` goes on at `target`. -ENOMEM. */
int patch_trap_add(uint64_t address, uint64_t target);
void patch_trap_remove(uint64_t address);
/* The program may have set a handler of its own since. */
void patch_trap_renew(void);
/* Nothing that is there now traps. */
void patch_trap_quiesce(void);
/* With all of that: the program has its signals again; false: a thread may still be on its way to us, and they stay ours. */
bool patch_trap_end(void);
extern uint64_t patch_traps;

/* ---- copied.c ---- */

/* Whether a jump in a copy of probed code led the thread to the fault. It then continues in the copy, with the program's bytes. */
bool patch_copied_fault(const siginfo_t *info, void *context);
/* The same for a trap at a byte of no probe; returns the address in the copy where the thread continues. */
bool patch_copied_trap(uint64_t at, uint64_t *ret_copy);
/* These probes were removed: restore the program's bytes in copies in executable memory of no file. */
void patch_copied_removed(struct patch *const *probes, size_t count);

/* ---- signals.c ---- */

/*
 * From here on our handler of SIGTRAP and SIGILL is the kernel's, what the program has stands behind it, and its functions are answered by
 * us. Once or several times: the program may have set its own since by a bare system call. Another handler of the program's blocks
 * neither of them. -errno.
 */
int patch_signals_take(const struct sigaction *handler);
void patch_signals_open(void);
/* The kernel has all that the program wants, and we answer for nothing any more. */
void patch_signals_give_back(void);
/* What the program wants of SIGTRAP or SIGILL, which is done with those that are not ours. For handlers. */
struct sigaction patch_signals_behind(int number);
void patch_signals_default(int number);
/* In a child of fork(), where the other threads are not. */
void patch_signals_forked(void);

/* ---- faults.c ---- */

/*
 * The signals of faults are ours from here on, for one reason or for both: loads in hits that may fault, until no thread is in a hit that has such
 * loads; and displaced instructions, while something is set (moved.c).
 */
#define PATCH_FAULTS_LOADS 1u
#define PATCH_FAULTS_COPIES 2u
void patch_faults_start(unsigned int reason);
void patch_faults_end(unsigned int reason);
/* Where it is: the program may have set handlers of its own since by bare system calls. */
void patch_faults_renew(void);
/* Another number, when what readers know of masks and actions is to be asked again. */
extern uint64_t patch_faults_generation;

/* ---- reading.c ---- */

/* The entry of a thread is another thread's from here on. */
void patch_reading_begins(unsigned int number);
/* The calling thread is about to change its mask, and has done so. */
void patch_reading_pauses(void);
void patch_reading_forgets(void);
/* Whether what is known of a mask is old at once. */
void patch_reading_asks_always(bool always);
/* How often a page was gone that had been there before. */
uint64_t patch_reading_faults(void);

/* ---- threads.c ---- */

struct patch_thread {
	pid_t tid;
	char state;                /* as in /proc; 0: it is gone; '?': cannot be read */
	bool traced, guarded;      /* by seccomp */
	uint64_t pending, blocked; /* its own signals */
};

/*
 * What is true of it now, in this order but for `guarded`; false: it is gone, or the kernel's own, which executes no code here. Where it
 * cannot be read: in no known state, traced, guarded, and all blocked.
 */
bool patch_thread_inspect(pid_t tid, struct patch_thread *thread);
/* Each that there is; when some end meanwhile, not all. False: it cannot be known, errno says why. */
bool patch_threads_each(void (*visit)(pid_t tid, void *data), void *data);
/*
 * Stops these, one at a time, for some microseconds, and calls `at_stop`, which may be NULL, in between: nothing but system calls. How
 * many were stopped on their way back from the kernel, before any signal that waits for them there.
 */
typedef void patch_at_stop(pid_t thread);
unsigned int patch_threads_stop(const pid_t *threads, unsigned int count, patch_at_stop *at_stop);

/* From now on, pass the program's requests on, without system calls of side; side handles no signal any more. */
void patch_signals_pass(bool pass);

/* ---- resume.c, x86-64-resume.S ---- */

void patch_resume_start(void);
/* Another handler calls side's, and must get control back. */
void patch_resume_never(void);
/* Whether handlers of traps can end without a system call, but for rare states of a thread. */
bool patch_resumes(void);
/* Which components of the processor's state patch_resume() restores; 0: the handler must return. */
uint64_t patch_resume_components(const void *context);
uint64_t patch_resume_flags(void);
/* End the handler: the thread continues as the context says. */
void patch_resume(const void *context, uint64_t components) __attribute__((noreturn));

/* ---- sandboxed.c ---- */

/* Whether a seccomp filter that was installed before the first breakpoint lets breakpoints work. */
bool patch_traps_return(void);

/* ---- arrived.c ---- */

/* Something that, once it is so of a thread, stays so. */
struct patch_proof {
	/* Without disturbing it. Guarded: see struct patch_thread. */
	enum patch_shown {
		PATCH_SO,
		PATCH_UNKNOWN, /* it runs just now */
		PATCH_NOT_SO,  /* nor will it be soon: nobody is stopped for that */
	} (*check)(pid_t tid, bool *guarded);
	/* One that never sleeps is stopped, see patch_threads_stop(); and what was seen of it then. */
	patch_at_stop *at_stop;
	bool (*was_so)(pid_t tid);
};

/* Whether it is certain of all threads but the calling one. */
bool patch_threads_prove(const struct patch_proof *proof);
/*
 * Where no byte traps any more, and all threads have passed a barrier since: whether it is certain that no thread has met
 * one before whose handler has not begun.
 */
bool patch_all_arrived(void);

/* ---- quiescence.c ---- */

/*
 * Where no jump leads to such an address any more, and all threads have passed a barrier since: whether it is certain that none stands there
 * or comes back to one.
 */
bool patch_all_quiesced(bool (*is_there)(uint64_t address));
/* Whether the calling thread's system calls are filtered. */
bool patch_is_guarded(void);

/* ---- springboards.c ---- */

/*
 * The pad of a probe by a short jump is its own from here on, and unwinders know it. `stands`: a jump is there already, maybe to another
 * trampoline of the same place. -ERANGE: other bytes are there than in the file.
 */
int patch_springboard_claim(const struct patch *probe, bool *stands);
/* Nothing was written there. */
void patch_springboard_drop(uint64_t address);
/* What is mapped there is gone. */
void patch_springboard_forget(uint64_t address);
/* Whether a byte there is a pad's, be it of a probe that was removed. */
bool patch_is_springboard(uint64_t address);
/*
 * Those of which no probe is set have the bytes of their files again, where it is certain that no thread is on its way through them. By
 * that writer, if one is open. How many others there are that should have.
 */
size_t patch_springboards_return(struct patch_writer *writer);
/* Whether there are any to give back. */
bool patch_springboards_remain(void);
/* Iterates over springboards, with the site whose short jump leads there; addresses are 0 for unused ones. False: no more. */
bool patch_springboard_at(size_t index, uint64_t *ret_address, uint64_t *ret_site);
/* Calls it with each whose page may be a copy; and those that are gone need not be told again. */
void patch_springboards_each(void (*visit)(uint64_t address));
void patch_springboards_settle(void);

/* ---- blocked.c ---- */

/* No thread blocks the signals of traps any more; false: one still does. */
bool patch_unblock(void);
/* The calling thread does not. */
void patch_unblock_self(void);

/* ---- gates.c ---- */

/* Memory for the code of returns in this object. No rights before patch_gates_start(). */
extern uint8_t patch_gates[GATES_BYTES] __attribute__((visibility("hidden")));

struct patch_gates {
	uint8_t *code; /* RETURNS_HEAD_BYTES, and the gates */
	struct patch_return *returns;
	uint32_t most; /* maximum number of gates; RETURNS_FIRST of them can be used */
};

int patch_gates_start(struct patch_gates *gates);
/* Called in hits. False: out of memory, now and later: do not use these gates. */
bool patch_gates_grow(uint32_t first, uint32_t count);

/* ---- hit.c ---- */

enum patch_return_state {
	PATCH_FREE, /* in the list of its thread */
	PATCH_OPEN, /* a call that has not returned */
	PATCH_TAIL, /* likewise, of a function that another watched one ends in: both have one slot */
	PATCH_LEFT,       /* returned in another thread; its own one takes it back when it looks */
	PATCH_STATES = 3, /* the bits of these; the others are flags of a call that is open */
	PATCH_KEPT = 4, /* can return more than once, so its gate is never used for another call */
	PATCH_ASIDE = 8, /* its slot has been overwritten; its gate is used again after many others */
};

struct patch_return {
	uint64_t address; /* of the caller; first, as the unwinder's data has it */
	uint64_t copy;    /* what its gate calls */
	uint64_t *slot;
	struct patch_hot *probe;
	/* A call begins with one store to both: it has no marks. */
	union {
		struct {
			uint32_t generation;
			union {
				uint32_t next; /* PATCH_FREE: in that list */
				/* Of a call: PATCH_ASIDE: how many its thread had set aside before, modulo 2^16; patch_hit_marks(). */
				struct {
					uint16_t aside, marks;
				};
			};
		};
		uint64_t begin;
	};
	uint16_t owner; /* the thread in whose list it is when it is free */
	uint8_t state;  /* enum patch_return_state */
	uint32_t under; /* PATCH_TAIL: of the call that it is the tail of */
	uint64_t call, began;
} __attribute__((aligned(64))); /* a call is a cache line */

/* Called by heads, with the hit, of which only the registers are there. */
void patch_enter(struct patch_hit *hit, struct patch_hot *probe);
/* Likewise, where returns may be seen. True: by the gate that is the return address now. */
bool patch_enter_followed(struct patch_hit *hit, struct patch_hot *probe);
/* Called by the code of returns, likewise, and with the place where its index stands: then where to go on. */
void patch_leave(struct patch_hit *hit, uint64_t *stack_slot);
int patch_hit_start(void);
/* Whether the calling thread is in a hit, which goes on without the alignment check from here on, and sets it again at its end. */
bool patch_hit_is_unaligned(void);
#define PATCH_ALIGNMENT_CHECK UINT64_C(0x40000) /* of the flags */
int patch_hit_follow(void);
/*
 * Whether the program copies parts of its stack away and back, which copies return addresses. It is noted when a file that does so is mapped, or
 * from what becomes of calls. It only grows.
 */
enum patch_copies {
	PATCH_COPIES_UNKNOWN,
	PATCH_COPIES_ONCE, /* each copy comes back once at most: a call can return that seemed abandoned */
	PATCH_COPIES_OFTEN, /* a call can return several times: none is watched any more */
};
void patch_hit_copies(enum patch_copies copies);
/* Of the calling thread's entry, which is below THREADS_MAX; negative: it has none. */
int patch_hit_number(void);
bool patch_hit_is_inside(const struct patch_hot *probe);
void patch_hit_stats(struct patch_stats *stats);

#endif /* SIDE_PROBE_PATCH_PARTS_H */
