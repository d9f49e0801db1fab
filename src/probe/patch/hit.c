/* SPDX-License-Identifier: MIT */
/*
 * Handles a hit in the thread that made it. Compiled for general registers only, because no others
 * are saved. Calls no function that may have a probe, allocates nothing, and may run in a signal
 * handler.
 *
 * Each thread that hits a probe has an entry in a table. While the thread is in a handler, the
 * entry contains the probe. This also suppresses hits of the handler itself, and of a signal that
 * interrupts it. A thread that removes a probe clears its handlers, passes a barrier in all
 * threads, and waits until no entry contains the probe:
 *
 *	hitting thread                 removing thread
 *	inside = probe                 entry = NULL
 *	(compiler's barrier)           membarrier: a full barrier in each thread
 *	handler = entry                inside == probe? then wait
 *
 * So either the hitting thread loads NULL, or the removing thread finds the probe in its entry.
 *
 * A call whose return is watched gets an index, and its return address is replaced by that of the
 * gate with that index (x86-64-trampoline.c). So the gate identifies the call without the thread,
 * the stack or the order of calls: longjmp, coroutines and signal stacks need no special handling.
 * A call that never returns keeps its index until its slot on the stack has been overwritten, which
 * is checked whenever the number of used indices has doubled. Then the call is set aside: its index
 * is used again only after many others were set aside.
 *
 * The reason are programs that copy parts of their stack away and back, as greenlet does for
 * Python. A call in such a copy seems abandoned, but returns later. The first call that does so, or
 * a library that is known for it, ends the reuse of such indices in the process. Continuations are
 * copied back several times, so their calls return several times. In a process with a library that
 * is known for that, no further calls are watched, and open calls keep their indices.
 */
#include "parts.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define BLOCK 64 /* returns that a thread takes at a time */
#define NONE UINT32_MAX
#define PAGE 4096
#define HWCAP2_FSGSBASE 2u /* programs may execute rdfsbase */
#define SCAN_FIRST 256
#define TAIL_CALLS_MAX 64 /* calls with the same slot that are followed */
/*
 * Number of calls that were set aside after a call until its index is used again, in one thread;
 * smaller if there are many threads.
 */
#define ASIDE_MAX 16384
#define ASIDE_SHARE 4 /* all threads together set aside at most this fraction of the calls */

#define STACKS 3 /* previous stacks of a thread, besides the current one */
/* Between two hits on the same stack, at most; beyond this, it may be another stack. */
#define STACK_GAP 65536
#define SHARED_CHECK 256 /* hits after which a thread checks whether it still shares its memory */

/* Addresses at which this thread has hit probes. */
struct thread_stack {
	uint64_t start, size;
};

struct hit_thread {
	pid_t tid; /* 0: unused */
	pid_t pid; /* a process with the same memory has an entry of its own */
	struct patch_hot *inside;
	struct thread_stack stack; /* the current one */
	pid_t shares; /* a process that uses the same thread-local memory; -1: any may; 0: none */
	uint32_t shared_hits;
	bool unaligned; /* the program has the alignment check set, and this hit has cleared it */
	uint64_t cut, unseen, abandoned, calls;
	uint32_t set_aside; /* number of calls that were ever set aside, for the age of each */
	uint32_t aside;     /* calls that may be used again if there are no others */
	uint32_t free_list; /* list of returns */
	uint32_t blocks;    /* list, by block_next */
	/* Number of its returns, and the number at which they are checked again. */
	uint32_t nr_owned, scan_at;
	uint16_t number;
	uint16_t next_stack;
	struct thread_stack stacks[STACKS];
} __attribute__((aligned(64)));

static struct hit_thread *threads;
static char *scratch;       /* of each thread, by its number; NULL: out of memory */
static uint32_t nr_threads; /* entries that were ever in use */
static uint64_t lost, foreign;
/* Of these threads; 0 in the memory of a forked child, because the kernel clears it. */
static pid_t *process;

/*
 * One pointer: the static TLS block always has space for it, also in a program that is not linked
 * with this library.
 */
static __thread struct hit_thread *self __asm__("patch_thread_self")
		__attribute__((tls_model("initial-exec"), used));

static struct patch_return *returns;
static uint8_t *return_code;
static uint32_t max_returns; /* a multiple of RETURNS_GROW */
static uint32_t block_next[RETURNS_MAX / BLOCK];
static bool block_ready[RETURNS_MAX / BLOCK]; /* its gates and its returns can be used */
static uint32_t nr_blocks;
static uint64_t clock_unit = UINT64_C(1) << 32;
static uint8_t copies; /* enum patch_copies */
static struct patch_hooks hooks;
struct patch_gate_range patch_gate_range;

/*
 * Orders this thread's accesses for the compiler; the removing thread's membarrier makes it a
 * barrier for the processor.
 */
static inline void patch_hit_compiler_barrier(void)
{
	__asm__ volatile("" ::: "memory");
}

/* ---- thread-local memory ---- */

/*
 * A program may temporarily set another base of thread-local memory (FS), as emulators and loaders
 * of foreign libraries do. A read of `self` then returns any value, or a fault (faults.c), which
 * reads as NULL. So a value counts as an entry only if it points into the table, and nothing
 * thread-local is written before the base is known to be the C library's.
 */
/* Follows load 1 of operand 0, which is 0 after a fault. */
#define FIXED_AT_ZERO                                           \
	"2:\n"                                                  \
	"\t.pushsection patch_fixups, \"a\", @progbits\n"       \
	"\t.long 1b - ., 3f - .\n"                              \
	"\t.popsection\n"                                       \
	"\t.pushsection .text.patch_fixed, \"ax\", @progbits\n" \
	"3:\txorl %k0, %k0\n"                                   \
	"\tjmp 2b\n"                                            \
	"\t.popsection"

/*
 * In a thread that runs code of side, `self` points to this entry, which is not in the table: its
 * hits are not recorded.
 */
static struct hit_thread own;
uint64_t patch_own_threads[PATCH_NR_OWN];

static inline __attribute__((always_inline)) struct hit_thread *patch_hit_load_self(void)
{
	struct hit_thread *result;

	__asm__ volatile("movq patch_thread_self@gottpoff(%%rip), %0\n"
			 "1:\tmovq %%fs:(%0), %0\n" FIXED_AT_ZERO
			 : "=r"(result)
			 :
			 : "cc");
	return result;
}

static inline bool patch_hit_is_entry(const struct hit_thread *thread)
{
	return (uint64_t)thread - (uint64_t)threads < THREADS_MAX * sizeof(*thread);
}

/* The begin of a thread's control block, as the ABI and the C library define it. */
struct control_block {
	uint64_t self, vector, self_again, flags, parts, guard, pointer_guard;
};
_Static_assert(offsetof(struct control_block, guard) == 0x28, "where compilers read it");

static struct control_block secrets; /* the two values that all threads share */
static bool has_fsgsbase;

/* Returns 0 if the load faults. */
static uint64_t patch_hit_load_absolute(uint64_t address)
{
	uint64_t word = address;

	__asm__ volatile("1:\tmovq (%0), %0\n" FIXED_AT_ZERO : "+r"(word) : : "cc", "memory");
	return word;
}

static uint64_t patch_hit_load_local(uint64_t at)
{
	uint64_t word = at;

	__asm__ volatile("1:\tmovq %%fs:(%0), %0\n" FIXED_AT_ZERO : "+r"(word) : : "cc", "memory");
	return word;
}

static uint64_t patch_hit_base(void)
{
	uint64_t base;

	/* Without the instruction: the base according to the memory itself. */
	if (!has_fsgsbase)
		return patch_hit_load_local(offsetof(struct control_block, self));
	__asm__ volatile("rdfsbase %0" : "=r"(base));
	return base;
}

/*
 * True if the thread-local memory is the C library's. Makes no system call, because a sandbox may
 * refuse it.
 */
static __attribute__((noinline)) bool patch_hit_is_of_library(void)
{
	uint64_t at = patch_hit_base();

	return at && !(at % sizeof(uint64_t)) &&
			patch_hit_load_absolute(at + offsetof(struct control_block, self)) == at &&
			patch_hit_load_absolute(at + offsetof(struct control_block, self_again)) ==
			at &&
			patch_hit_load_absolute(at + offsetof(struct control_block, guard)) ==
			secrets.guard &&
			patch_hit_load_absolute(
					at + offsetof(struct control_block, pointer_guard)) ==
			secrets.pointer_guard;
}

static void patch_hit_read_library(void)
{
	has_fsgsbase = getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE;
	secrets.guard = patch_hit_load_local(offsetof(struct control_block, guard));
	secrets.pointer_guard = patch_hit_load_local(offsetof(struct control_block, pointer_guard));
}

/* ---- the alignment check ---- */

/*
 * The program may have set that flag when it calls a function. Reading it takes a tenth of a hit,
 * so hits at begins and ends of functions do not read it. An unaligned access faults, and the
 * handler (faults.c) clears the flag until the end of the hit.
 */
bool patch_hit_is_unaligned(void)
{
	struct hit_thread *thread = patch_hit_load_self();

	if (!patch_hit_is_entry(thread) || !thread->inside)
		return false;
	thread->unaligned = true;
	return true;
}

static __attribute__((noinline)) void patch_hit_set_alignment_check(struct hit_thread *thread)
{
	thread->unaligned = false;
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | PATCH_ALIGNMENT_CHECK);
}

/* ---- threads ---- */

/* True if this thread may make system calls. In a sandbox a call could kill the program. */
static bool patch_hit_may_ask(void)
{
	/* Acquire: the function is loaded. Pairs with the release in patch_hooks_set(). */
	bool (*ask)(void) = __atomic_load_n(&hooks.may_ask, __ATOMIC_ACQUIRE);

	return !ask || ask();
}

static bool patch_hit_claim_thread(struct hit_thread *thread, pid_t owner, pid_t tid, pid_t pid)
{
	/*
	 * Acquire: what its last owner stored. Pairs with the release in patch_hit_count_foreign().
	 */
	if (!__atomic_compare_exchange_n(
			    &thread->tid, &owner, tid, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	if (!thread->scan_at) {
		thread->number = (uint16_t)(thread - threads);
		thread->calls = (uint64_t)thread->number << 48;
		thread->free_list = thread->blocks = NONE;
		thread->scan_at = SCAN_FIRST;
	}
	thread->inside = NULL;
	thread->unaligned = false;
	thread->pid = pid;
	thread->shares = 0;
	thread->stack = (struct thread_stack){0};
	for (unsigned int i = 0; i < STACKS; i++)
		thread->stacks[i] = (struct thread_stack){0};
	patch_reading_begin(thread->number);
	return true;
}

static pid_t patch_hit_this_thread(void)
{
	return (pid_t)patch_system_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

static pid_t patch_hit_this_process(void)
{
	return (pid_t)patch_system_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

/*
 * True if the thread of an entry has ended. False for a thread of another process: `pid` is the
 * entry's.
 */
static bool patch_hit_has_ended(pid_t pid, pid_t tid)
{
	return patch_system_call(SYS_tgkill, pid, tid, 0, 0, 0, 0) == -ESRCH;
}

/*
 * Returns an id for a thread that must not make system calls: negative, so it never equals the id
 * of an ended thread.
 */
static pid_t patch_hit_nameless(void)
{
	static pid_t last = -1;

	/* Relaxed: the value must only be unique. */
	return __atomic_sub_fetch(&last, 1, __ATOMIC_RELAXED);
}

/*
 * Finds a free entry, or one of a thread that has ended, with the returns that it owns. NULL: there
 * are too many threads.
 */
static __attribute__((noinline)) struct hit_thread *patch_hit_find_entry(bool may_scan)
{
	pid_t tid = may_scan ? patch_hit_this_thread() : patch_hit_nameless(),
	      pid = may_scan ? patch_hit_this_process() : 0;
	uint32_t count = __atomic_load_n(&nr_threads, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < count; i++) {
		/* Relaxed: patch_hit_claim_thread() orders. */
		pid_t owner = __atomic_load_n(&threads[i].tid, __ATOMIC_RELAXED);
		bool is_free = !owner || owner == tid ||
				(may_scan &&
						patch_hit_has_ended(
								__atomic_load_n(&threads[i].pid,
										__ATOMIC_RELAXED),
								owner));

		if (is_free && patch_hit_claim_thread(&threads[i], owner, tid, pid))
			return &threads[i];
	}
	for (;;) {
		/* Relaxed: the value must only be unique. */
		count = __atomic_fetch_add(&nr_threads, 1, __ATOMIC_RELAXED);
		if (count >= THREADS_MAX) {
			__atomic_fetch_sub(&nr_threads, 1, __ATOMIC_RELAXED);
			return NULL;
		}
		if (patch_hit_claim_thread(&threads[count], 0, tid, pid))
			return &threads[count];
	}
}

static inline __attribute__((always_inline)) void patch_hit_enter_thread(
		struct hit_thread *thread, struct patch_hot *probe)
{
	/* Relaxed: the barrier of the removing thread orders it, see above. */
	__atomic_store_n(&thread->inside, probe, __ATOMIC_RELAXED);
	patch_hit_compiler_barrier();
}

static inline __attribute__((always_inline)) void patch_hit_leave_thread(struct hit_thread *thread)
{
	patch_hit_compiler_barrier();
	/* Release: the handler is over. Pairs with the acquire in patch_hit_is_inside(). */
	__atomic_store_n(&thread->inside, NULL, __ATOMIC_RELEASE);
	if (__builtin_expect(thread->unaligned, 0))
		patch_hit_set_alignment_check(thread);
}

/* ---- stacks ---- */

/*
 * A child by clone(CLONE_VM) can run concurrently with its parent on the same thread-local memory,
 * so `self` is its parent's entry. The child has only its stack for itself. So a hit on a stack
 * that is new to this thread asks the kernel for the thread id. The stack of a child may be inside
 * of the range in which its parent has made hits. It is then known where the C library's clone() is
 * called (patch_thread_shares()), and each hit asks.
 */
static inline bool patch_hit_is_on_stack(const struct thread_stack *stack, uint64_t address)
{
	/*
	 * Plain loads, which need no instruction of their own. Only this thread uses the data;
	 * patch_hit_store_stack() orders the stores.
	 */
	return address - stack->start < stack->size;
}

/* A signal handler, and a process that shares this entry, find no stack meanwhile. */
static void patch_hit_store_stack(struct thread_stack *to, const struct thread_stack *stack)
{
	uint64_t size = stack->size;

	/* Relaxed, in this order for a handler that interrupts the thread. */
	__atomic_store_n(&to->size, 0, __ATOMIC_RELAXED);
	patch_hit_compiler_barrier();
	__atomic_store_n(&to->start, stack->start, __ATOMIC_RELAXED);
	patch_hit_compiler_barrier();
	__atomic_store_n(&to->size, size, __ATOMIC_RELAXED);
}

/* Extends a stack to this address if that is near. */
static bool patch_hit_grow_stack(struct thread_stack *stack, uint64_t address)
{
	uint64_t start = address & ~(uint64_t)(PAGE - 1), end = start + PAGE;

	if (!stack->size || start + STACK_GAP < stack->start ||
			start > stack->start + stack->size + STACK_GAP)
		return false;
	if (stack->start + stack->size > end)
		end = stack->start + stack->size;
	if (stack->start < start)
		start = stack->start;
	*stack = (struct thread_stack){start, end - start};
	return true;
}

/* Makes the stack at that address the current one, and keeps the previous one. */
static void patch_hit_keep_stack(struct hit_thread *thread, uint64_t address)
{
	struct thread_stack old = thread->stack, stack = old;

	if (!patch_hit_grow_stack(&stack, address)) {
		unsigned int at = 0;

		while (at < STACKS && !patch_hit_is_on_stack(&thread->stacks[at], address) &&
				!patch_hit_grow_stack(&thread->stacks[at], address))
			at++;
		if (at == STACKS) {
			at = thread->next_stack++ % STACKS;
			thread->stacks[at] = (struct thread_stack){
					address & ~(uint64_t)(PAGE - 1), PAGE};
		}
		stack = thread->stacks[at];
		patch_hit_store_stack(&thread->stacks[at], &old);
	}
	patch_hit_store_stack(&thread->stack, &stack);
}

/* True in a child of fork() whose fork() has not called handlers: its memory is a copy. */
static bool patch_hit_is_copied(void)
{
	return !__atomic_load_n(process, __ATOMIC_RELAXED);
}

static void patch_hit_after_copy(const struct hit_thread *thread)
{
	bool may_scan = patch_hit_may_ask();
	pid_t pid = may_scan ? patch_hit_this_process() : -1;

	for (uint32_t i = 0; i < nr_threads && i < THREADS_MAX; i++) {
		bool is_own = thread && &threads[i] == thread;

		threads[i].inside = is_own ? threads[i].inside : NULL;
		threads[i].tid = !is_own   ? 0
				: may_scan ? patch_hit_this_thread()
					   : patch_hit_nameless();
		threads[i].pid = pid;
		threads[i].shares = 0;
	}
	/* A thread that the parent was creating does not exist here. */
	for (uint32_t i = 0; i < PATCH_NR_OWN; i++)
		patch_own_threads[i] = 0;
	__atomic_store_n(process, pid, __ATOMIC_RELAXED);
}

/* True if no process shares this thread's memory, or that process has ended. */
static bool patch_hit_is_alone(struct hit_thread *thread)
{
	pid_t shares = __atomic_load_n(&thread->shares, __ATOMIC_RELAXED);

	if (shares > 0 && thread->shared_hits++ % SHARED_CHECK == 0 && patch_hit_may_ask() &&
			patch_hit_has_ended(shares, shares))
		__atomic_store_n(&thread->shares, shares = 0, __ATOMIC_RELAXED);
	return !shares;
}

/*
 * True if the caller is a vfork() child, which may use the entry while its parent waits. Another
 * process that shares the entry has the mark of such a child too.
 */
static bool patch_hit_is_vforked(struct hit_thread *thread)
{
	/* Acquire: the function is loaded. Pairs with the release in patch_hooks_set(). */
	bool (*ask)(void) = __atomic_load_n(&hooks.is_vforked, __ATOMIC_ACQUIRE);

	return ask && ask() && patch_hit_is_alone(thread);
}

/* True if the entry belongs to this thread, which is on another stack than before. */
static __attribute__((noinline)) bool patch_hit_is_own(struct hit_thread *thread, uint64_t address)
{
	pid_t tid;

	if (patch_hit_is_alone(thread)) {
		for (unsigned int i = 0; i < STACKS; i++)
			if (patch_hit_is_on_stack(&thread->stacks[i], address)) {
				patch_hit_keep_stack(thread, address);
				return true;
			}
	}
	/* In a sandbox the filter would have to permit the system call. */
	if (!patch_hit_may_ask())
		return true;
	tid = patch_hit_this_thread();
	if (tid != thread->tid && patch_hit_is_copied())
		patch_hit_after_copy(thread);
	/*
	 * Its stack is not kept: the program may use that for another process when the child has
	 * ended.
	 */
	if (tid != thread->tid && patch_hit_is_vforked(thread))
		return true;
	if (tid != thread->tid) {
		__atomic_store_n(&thread->shares, patch_hit_this_process(), __ATOMIC_RELAXED);
		__atomic_store_n(&thread->stack.size, 0, __ATOMIC_RELAXED);
		return false;
	}
	if (patch_hit_is_alone(thread))
		patch_hit_keep_stack(thread, address);
	return true;
}

/*
 * Sets `self`, to NULL if there is no free entry. False: the thread belongs to another process,
 * which may own this thread-local memory or not.
 */
static bool patch_hit_begin_thread(void)
{
	bool may_scan = patch_hit_may_ask();

	if (may_scan && patch_hit_is_copied())
		patch_hit_after_copy(NULL);
	if (may_scan && patch_hit_this_process() != __atomic_load_n(process, __ATOMIC_RELAXED))
		return false;
	self = patch_hit_find_entry(may_scan);
	return true;
}

/* ---- threads that run code of side ---- */

/*
 * Detects a thread that side has created, before its first instruction of side: in the C library,
 * which starts it.
 */
static __attribute__((noinline)) bool patch_hit_begins_as_own(void)
{
	uint64_t at = patch_hit_base();

	for (unsigned int i = 0; i < PATCH_NR_OWN; i++)
		/* Relaxed: the C library stores it before it creates the thread. */
		if (__atomic_load_n(&patch_own_threads[i], __ATOMIC_RELAXED) == at) {
			self = &own;
			return true;
		}
	return false;
}

void *patch_own_begin(void)
{
	void *before = self;

	self = &own;
	return before;
}

void patch_own_end(void *before)
{
	self = before;
}

bool patch_is_own(void)
{
	return self == &own;
}

void patch_thread_begin(void)
{
	if (!self && threads)
		(void)patch_hit_begin_thread();
}

void patch_thread_shares(int pid)
{
	if (self == &own || (!self && (!patch_hit_begin_thread() || !self)))
		return;
	__atomic_store_n(&self->shares, pid, __ATOMIC_RELAXED);
	/* Relaxed: the entry is this thread's own. */
	__atomic_store_n(&self->stack.size, 0, __ATOMIC_RELAXED);
}

/*
 * Counts a hit of a process that uses its parent's thread-local memory, where nothing may be
 * changed, or of a thread whose thread-local memory is not the C library's. An entry of its own
 * keeps the probe from being removed meanwhile.
 */
static void patch_hit_count_foreign(struct patch_hit *hit, struct patch_hot *probe)
{
	/* Acquire: the function is loaded. Pairs with the release in patch_hooks_set(). */
	void (*unseen)(const struct patch_hit *hit, enum patch_unseen why) =
			__atomic_load_n(&hooks.unseen, __ATOMIC_ACQUIRE);
	/* Not the entry that the thread may have already. */
	struct hit_thread *thread = patch_hit_find_entry(false);

	/* Relaxed: a statistics counter. */
	__atomic_fetch_add(&foreign, 1, __ATOMIC_RELAXED);
	if (!thread)
		return;
	patch_hit_enter_thread(thread, probe);
	/* Acquire: what it points to. Pairs with the release in patch_change_user(). */
	hit->user = __atomic_load_n(&probe->user, __ATOMIC_ACQUIRE);
	if (unseen)
		unseen(hit, PATCH_UNSEEN_PROCESS);
	patch_hit_leave_thread(thread);
	/*
	 * Release: the owner's stores before the entry is free. Pairs with the acquire in
	 * patch_hit_claim_thread().
	 */
	__atomic_store_n(&thread->tid, 0, __ATOMIC_RELEASE);
}

/*
 * The slow path of a hit: the first one of a thread, one on another stack, one of a thread without
 * an entry, or one inside of a handler. NULL: the hit is not recorded. `probe`: counts a hit of
 * another process; NULL: such a hit is not counted.
 */
static __attribute__((noinline)) struct hit_thread *patch_hit_find_thread(
		struct patch_hit *hit, struct patch_hot *probe)
{
	uint64_t address = (uint64_t)hit;
	struct hit_thread *thread = patch_hit_load_self();

	if (patch_hit_is_entry(thread)) {
		if (!patch_hit_is_on_stack(&thread->stack, address) &&
				!patch_hit_is_own(thread, address)) {
			if (probe)
				patch_hit_count_foreign(hit, probe);
			return NULL;
		}
		if (!thread->inside)
			return thread;
		thread->cut++;
		return NULL;
	}
	if (thread == &own)
		return NULL;
	if (!patch_hit_is_of_library()) {
		if (probe)
			patch_hit_count_foreign(hit, probe);
		return NULL;
	}
	if (patch_hit_begins_as_own())
		return NULL;
	if (!patch_hit_begin_thread()) {
		if (probe)
			patch_hit_count_foreign(hit, probe);
		return NULL;
	}
	if (self)
		patch_hit_keep_stack(self, address);
	else
		/* Relaxed: a statistics counter. */
		__atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
	return self;
}

static inline bool patch_hit_is_fast(const struct hit_thread *thread, const struct patch_hit *hit)
{
	return __builtin_expect(patch_hit_is_entry(thread), 1) &&
			__builtin_expect(!thread->inside, 1) &&
			__builtin_expect(patch_hit_is_on_stack(&thread->stack, (uint64_t)hit), 1);
}

void *patch_hit_scratch(void)
{
	const struct hit_thread *thread = patch_hit_load_self();

	return patch_hit_is_entry(thread) && scratch
			? scratch + (size_t)thread->number * PATCH_SCRATCH_BYTES
			: NULL;
}

int patch_hit_number(void)
{
	const struct hit_thread *thread = patch_hit_load_self();

	return patch_hit_is_entry(thread) ? thread->number : -1;
}

bool patch_hit_is_inside(const struct patch_hot *probe)
{
	uint32_t count = __atomic_load_n(&nr_threads, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < count && i < THREADS_MAX; i++) {
		/*
		 * Acquire: all that the handler did. Pairs with the release in
		 * patch_hit_leave_thread().
		 */
		if (&threads[i] != self &&
				__atomic_load_n(&threads[i].inside, __ATOMIC_ACQUIRE) == probe &&
				!patch_hit_has_ended(threads[i].pid, threads[i].tid))
			return true;
	}
	return false;
}

/* The only thread of the child has another id, and the other threads do not exist. */
static void patch_hit_after_fork(void)
{
	patch_hit_after_copy(self);
}

int patch_hit_start(void)
{
	patch_hit_read_library();
	threads = patch_memory_anywhere(THREADS_MAX * sizeof(*threads), PROT_READ | PROT_WRITE);
	process = patch_memory_anywhere(PAGE, PROT_READ | PROT_WRITE);
	scratch = patch_memory_anywhere(
			(size_t)THREADS_MAX * PATCH_SCRATCH_BYTES, PROT_READ | PROT_WRITE);
	if (!threads || !process)
		return -ENOMEM;
	*process = getpid();
	/*
	 * A kernel may not support it. If then fork() calls no handlers, the child takes its other
	 * stacks for those of another process.
	 */
	madvise(process, PAGE, MADV_WIPEONFORK);
	return -pthread_atfork(NULL, NULL, patch_hit_after_fork);
}

/* ---- returns ---- */

static uint64_t patch_hit_gate_of(uint32_t index)
{
	return (uint64_t)return_code + RETURNS_HEAD_BYTES + (uint64_t)index * RETURN_BYTES;
}

/*
 * Returns the index for a return address: that after the gate's call, or the gate itself before the
 * call; else NONE.
 */
static uint32_t patch_hit_index_of(uint64_t address)
{
	uint64_t away = address - patch_hit_gate_of(0), index = away / RETURN_BYTES;

	if (address < patch_hit_gate_of(0) || index >= max_returns ||
			(away % RETURN_BYTES && away % RETURN_BYTES != RETURN_CALL_BYTES) ||
			/*
			 * Acquire: its return can be read. Pairs with the release in
			 * patch_hit_add_block().
			 */
			!__atomic_load_n(&block_ready[index / BLOCK], __ATOMIC_ACQUIRE))
		return NONE;
	return (uint32_t)index;
}

/*
 * Reads a slot; *ret_value is 0 if the memory of the stack is unmapped. False: the kernel refuses
 * to read it, in a sandbox that side does not know.
 */
static bool patch_hit_read_slot(const uint64_t *slot, uint64_t *ret_value)
{
	struct iovec local = {ret_value, sizeof(*ret_value)},
		     remote = {(void *)(uintptr_t)slot, sizeof(*ret_value)};
	long got = patch_system_call(SYS_process_vm_readv,
			patch_system_call(SYS_getpid, 0, 0, 0, 0, 0, 0), (long)&local, 1,
			(long)&remote, 1, 0);

	if (got == -EFAULT)
		*ret_value = 0;
	return got == sizeof(*ret_value) || got == -EFAULT;
}

/*
 * True if the call has not returned. If a watched function ends in a jump to another watched one,
 * its gate is in the slot, and is replaced by the other's gate: two open calls share a slot. The
 * second one refers to the first (PATCH_TAIL).
 */
static inline bool patch_hit_is_open(const struct patch_return *each)
{
	unsigned int state = each->state & PATCH_STATES;

	return state == PATCH_OPEN || state == PATCH_TAIL;
}

/*
 * The address where the call continues after its exit: in the gate of the call that has jumped to
 * it, or in the caller. Unwinders continue in the caller (`address`), because they expect one frame
 * for each slot.
 */
static uint64_t patch_hit_next_of(const struct patch_return *each)
{
	return (each->state & PATCH_STATES) == PATCH_TAIL
			? patch_hit_gate_of(each->tail_of) + RETURN_CALL_BYTES
			: each->address;
}

/* True if this value of its slot is its gate, or leads there through gates of tail calls. */
static bool patch_hit_leads_to(uint32_t index, uint64_t value)
{
	for (unsigned int i = 0; i < TAIL_CALLS_MAX; i++) {
		uint32_t other = patch_hit_index_of(value);

		if (other == index)
			return true;
		if (other == NONE || returns[other].slot != returns[index].slot ||
				!patch_hit_is_open(&returns[other]))
			return false;
		value = patch_hit_next_of(&returns[other]);
	}
	return true;
}

static bool patch_hit_is_overwritten(uint32_t index, uint64_t value)
{
	/* The index itself: the call is returning now. */
	return value != index && !patch_hit_leads_to(index, value);
}

uint64_t patch_return_address(uint64_t address)
{
	uint32_t index = returns ? patch_hit_index_of(address) : NONE;

	return index == NONE ? address : returns[index].address;
}

static inline void patch_hit_release_gate(struct hit_thread *thread, uint32_t index)
{
	returns[index].state = PATCH_FREE;
	returns[index].next = thread->free_list;
	thread->free_list = index;
}

/* ---- copies of stacks ---- */

/* Marks all open calls: they can return more than once from here on. */
static void patch_hit_keep_calls(void)
{
	/* Relaxed: calls that begin meanwhile return once, as before. */
	uint32_t count = __atomic_load_n(&nr_blocks, __ATOMIC_RELAXED);

	for (uint32_t block = 0; block < count; block++) {
		/* Acquire: they can be read. Pairs with the release in patch_hit_add_block(). */
		if (!__atomic_load_n(&block_ready[block], __ATOMIC_ACQUIRE))
			continue;
		for (uint32_t i = block * BLOCK; i < (block + 1) * BLOCK; i++) {
			uint8_t state = __atomic_load_n(&returns[i].state, __ATOMIC_RELAXED);

			/* Relaxed: a call that returns at this moment is freed. */
			if ((state & PATCH_STATES) == PATCH_OPEN ||
					(state & PATCH_STATES) == PATCH_TAIL)
				(void)__atomic_compare_exchange_n(&returns[i].state, &state,
						state | PATCH_KEPT, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED);
		}
	}
}

static enum patch_copies patch_hit_known_copies(void)
{
	/* Relaxed: a copy that was made a moment ago is detected too late in any case. */
	return __atomic_load_n(&copies, __ATOMIC_RELAXED);
}

void patch_hit_copies(enum patch_copies wanted)
{
	uint8_t before = __atomic_load_n(&copies, __ATOMIC_RELAXED);

	do {
		if (before >= wanted)
			return;
		/* Relaxed: only the value matters. */
	} while (!__atomic_compare_exchange_n(&copies, &before, (uint8_t)wanted, false,
			__ATOMIC_RELAXED, __ATOMIC_RELAXED));
	if (wanted != PATCH_COPIES_OFTEN)
		return;
	patch_callers_end();
	patch_hit_keep_calls();
}

/*
 * A call that seemed abandoned is open, or may be. It counts for the thread whose list contained
 * it.
 */
static void patch_hit_is_back(const struct patch_return *each, bool is_copy)
{
	/* Relaxed: a statistics counter. */
	__atomic_fetch_sub(&threads[each->owner].abandoned, 1, __ATOMIC_RELAXED);
	if (is_copy)
		patch_hit_copies(PATCH_COPIES_ONCE);
}

/* Closes a call that is not an ordinary one. Returns false if its index must not be freed. */
static __attribute__((noinline)) bool patch_hit_close_special(const struct hit_thread *thread,
		const struct patch_return *each, uint64_t *stack_slot)
{
	/* It has returned before, and its index has not been used since. */
	if (!patch_hit_is_open(each)) {
		patch_hit_copies(PATCH_COPIES_OFTEN);
		return false;
	}
	*stack_slot = patch_hit_next_of(each);
	if (each->state & PATCH_KEPT)
		return false;
	/*
	 * If it returns in another thread than its owner, the owner may have read the slot a moment
	 * ago, after patch_hit_leave() had written the return address to it: such a call was never
	 * in a copy.
	 */
	if (each->state & PATCH_ASIDE)
		patch_hit_is_back(each, each->owner == thread->number);
	return true;
}

/* ---- ends of calls ---- */

/* Stacks may move to other threads. Only its owner may change a thread's list. */
static inline __attribute__((always_inline)) void patch_hit_close_call(
		struct hit_thread *thread, struct patch_return *each, uint64_t *stack_slot)
{
	if (__builtin_expect(each->state != PATCH_OPEN, 0) &&
			!patch_hit_close_special(thread, each, stack_slot))
		return;
	if (__builtin_expect(each->owner == thread->number, 1)) {
		each->state = PATCH_FREE;
		each->next = thread->free_list;
		thread->free_list = (uint32_t)(each - returns);
	} else {
		/*
		 * Release: all that was done with it. Pairs with the acquire in
		 * patch_hit_find_abandoned().
		 */
		__atomic_store_n(&each->state, PATCH_RETURNED, __ATOMIC_RELEASE);
	}
}

/* Maximum number of calls that are set aside in a thread. */
static uint32_t patch_hit_aside_max(void)
{
	uint32_t count = __atomic_load_n(&nr_threads, __ATOMIC_RELAXED);
	uint32_t share = max_returns / ASIDE_SHARE / (count ? count : 1);

	return share < ASIDE_MAX ? share : ASIDE_MAX;
}

/*
 * Returns false if the call has returned in another thread meanwhile. Relaxed: only this thread
 * uses the state that it stores.
 */
static bool patch_hit_set_state(struct patch_return *each, uint8_t from, unsigned int to)
{
	return __atomic_compare_exchange_n(&each->state, &from, (uint8_t)to, false,
			__ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/*
 * True if the call was set aside long ago. If its slot contains its gate again, it has come back
 * with a copy of the stack.
 */
static bool patch_hit_is_expired(
		struct hit_thread *thread, uint32_t index, uint8_t state, uint32_t min_age)
{
	struct patch_return *each = &returns[index];
	uint64_t value = 0;

	if (state & PATCH_KEPT || patch_hit_known_copies() != PATCH_COPIES_UNKNOWN)
		return false;
	if (!patch_hit_read_slot(each->slot, &value))
		return false;
	if (!patch_hit_is_overwritten(index, value)) {
		/*
		 * The program may have a number in this memory that equals the index: then it is no
		 * copy, but the call may be open.
		 */
		patch_hit_is_back(each, value != index);
		(void)patch_hit_set_state(each, state, state & ~(unsigned int)PATCH_ASIDE);
		return false;
	}
	/* Modulo 2^16: if a call is older than that, it may only be kept for longer. */
	return (uint16_t)(thread->set_aside - each->aside) >= min_age;
}

static void patch_hit_set_aside(struct hit_thread *thread, struct patch_return *each, uint8_t state)
{
	each->aside = (uint16_t)thread->set_aside++;
	if (!patch_hit_set_state(each, state, state | PATCH_ASIDE))
		return;
	/* Relaxed: a statistics counter, which patch_hit_is_back() changes in other threads. */
	__atomic_fetch_add(&thread->abandoned, 1, __ATOMIC_RELAXED);
}

static __attribute__((noinline)) void patch_hit_find_abandoned(
		struct hit_thread *thread, uint32_t min_age)
{
	bool may_scan = patch_hit_may_ask();
	uint32_t left = 0, aside = 0;
	uint64_t value = 0;

	for (uint32_t block = thread->blocks; block != NONE; block = block_next[block]) {
		for (uint32_t i = block * BLOCK; i < (block + 1) * BLOCK; i++) {
			/*
			 * Acquire: the other thread's accesses. Pairs with the release in
			 * patch_hit_close_call().
			 */
			uint8_t state = __atomic_load_n(&returns[i].state, __ATOMIC_ACQUIRE);

			if (state == PATCH_FREE)
				continue;
			if (state == PATCH_RETURNED ||
					(state & PATCH_ASIDE && may_scan &&
							patch_hit_is_expired(thread, i, state,
									min_age))) {
				patch_hit_release_gate(thread, i);
				continue;
			}
			left++;
			if (may_scan && !(state & (PATCH_ASIDE | PATCH_KEPT)) &&
					patch_hit_known_copies() == PATCH_COPIES_UNKNOWN &&
					patch_hit_read_slot(returns[i].slot, &value) &&
					patch_hit_is_overwritten(i, value))
				patch_hit_set_aside(thread, &returns[i], state);
			aside += (returns[i].state & PATCH_ASIDE) != 0;
		}
	}
	thread->aside = patch_hit_known_copies() == PATCH_COPIES_UNKNOWN ? aside : 0;
	thread->scan_at = left * 2 > SCAN_FIRST ? left * 2 : SCAN_FIRST;
}

static void patch_hit_add_block(struct hit_thread *thread, uint32_t block)
{
	block_next[block] = thread->blocks;
	thread->blocks = block;
	thread->nr_owned += BLOCK;
	for (uint32_t i = BLOCK; i-- > 0;) {
		returns[block * BLOCK + i].owner = thread->number;
		patch_hit_release_gate(thread, block * BLOCK + i);
	}
	/*
	 * Release: the returns of the block. Pairs with the acquire in patch_hit_index_of() and
	 * patch_hit_count_open().
	 */
	__atomic_store_n(&block_ready[block], true, __ATOMIC_RELEASE);
}

/*
 * Takes a free block. When the blocks that are usable from the beginning are used up, takes
 * RETURNS_GROW returns.
 */
static void patch_hit_take_blocks(struct hit_thread *thread)
{
	uint32_t first = __atomic_load_n(&nr_blocks, __ATOMIC_RELAXED), count;

	do {
		count = first < RETURNS_FIRST / BLOCK ? 1 : RETURNS_GROW / BLOCK;
		if (first + count > max_returns / BLOCK || (count > 1 && !patch_hit_may_ask()))
			return;
		/* Relaxed: the value must only be unique. */
	} while (!__atomic_compare_exchange_n(&nr_blocks, &first, first + count, false,
			__ATOMIC_RELAXED, __ATOMIC_RELAXED));
	if (count > 1 && !patch_gates_grow(first * BLOCK, count * BLOCK))
		return;
	for (uint32_t i = count; i-- > 0;)
		patch_hit_add_block(thread, first + i);
}

static __attribute__((noinline)) uint32_t patch_hit_more_returns(struct hit_thread *thread)
{
	if (thread->nr_owned >= thread->scan_at)
		patch_hit_find_abandoned(thread, patch_hit_aside_max());
	if (thread->free_list == NONE)
		patch_hit_take_blocks(thread);
	/* There are no more indices, so use those that are set aside. */
	if (thread->free_list == NONE && thread->aside)
		patch_hit_find_abandoned(thread, 0);
	return thread->free_list;
}

/*
 * Watches the return of the call whose return address is at the stack pointer; `index` is the first
 * free one. The return address is in that slot, or in the call `tail_of` it, which has jumped to
 * this function.
 */
static inline __attribute__((always_inline)) struct patch_return *patch_hit_follow_call(
		struct hit_thread *thread, struct patch_hot *probe, struct patch_hit *hit,
		uint32_t index, uint32_t tail_of)
{
	struct patch_return *each = &returns[index];
	uint64_t *slot = hit->stack;

	thread->free_list = each->next;
	each->address = hit->returns_to = tail_of == NONE ? *slot : returns[tail_of].address;
	if (tail_of != NONE)
		each->tail_of = tail_of;
	each->copy = probe->copy;
	each->slot = slot;
	each->probe = probe;
	each->begin = probe->generation;
	each->call = hit->call = ++thread->calls;
	each->began = 0;
	hit->began = &each->began;
	each->state = tail_of == NONE ? PATCH_OPEN : PATCH_TAIL;
	/*
	 * The gate's data must be complete before a return can use it, also if a signal arrives
	 * now.
	 */
	patch_hit_compiler_barrier();
	*slot = patch_hit_gate_of(index);
	return each;
}

const uint64_t *patch_returning_slot(const struct patch_hit *hit)
{
	return (const uint64_t *)(const void *)((const char *)&hit->registers.rbp +
			PATCH_RETURN_FRAME_BYTES);
}

uint16_t *patch_hit_marks(const struct patch_hit *hit, bool leaves)
{
	const uint64_t *stack_slot = patch_returning_slot(hit);
	struct patch_return *each;

	if (!hit->call)
		return NULL;
	if (!leaves)
		return &((struct patch_return *)(void *)((char *)hit->began -
					 offsetof(struct patch_return, began)))
					->marks;
	/* The slot contains the index until the exit handler has returned. */
	each = &returns[(uint32_t)*stack_slot];
	return (uint32_t)*stack_slot < max_returns && each->call == hit->call ? &each->marks : NULL;
}

int patch_hit_follow(void)
{
	struct patch_gates gates;
	int ret = returns ? 0 : patch_gates_start(&gates);

	if (returns || ret)
		return ret;
	return_code = gates.code;
	returns = gates.returns;
	max_returns = gates.max;
	patch_gate_range.first = patch_hit_gate_of(0);
	patch_gate_range.last = patch_hit_gate_of(max_returns);
	patch_frames_returns((uint64_t)return_code, returns, max_returns);
	patch_callers_want();
	return 0;
}

/* ---- hits ---- */

static inline void patch_hit_set_probe(struct patch_hit *hit, const struct patch_hot *probe)
{
	/* Acquire: what it points to. Pairs with the release in patch_change_user(). */
	hit->user = __atomic_load_n(&probe->user, __ATOMIC_ACQUIRE);
	hit->address = probe->address;
}

/* Keeps no other values in registers than the thread and the return while the handler runs. */
static inline __attribute__((always_inline)) bool patch_hit_enter_watched(struct patch_hit *hit,
		struct patch_hot *probe, struct hit_thread *thread, uint32_t index,
		uint32_t tail_of)
{
	patch_handler handler = __atomic_load_n(&probe->entry, __ATOMIC_RELAXED);
	struct patch_return *followed = patch_hit_follow_call(thread, probe, hit, index, tail_of);

	if (handler)
		handler(hit);
	/* The time that the handler takes is not part of the call. */
	if (!followed->began)
		followed->began = __builtin_ia32_rdtsc();
	patch_hit_leave_thread(thread);
	return true;
}

/*
 * Checks again whether the caller may be watched, and remembers its range. Code of no file may
 * search its own return addresses (callers.c).
 */
static bool patch_hit_is_known_caller(struct patch_hot *probe, uint64_t returns_to)
{
	const struct patch_code *caller = patch_caller(returns_to);

	/* Relaxed: ranges are never moved. */
	if (caller)
		__atomic_store_n(&probe->caller, caller, __ATOMIC_RELAXED);
	return caller != NULL;
}

/* The entry was recorded; the return will not be. */
static void patch_hit_report_unseen(
		struct patch_hit *hit, struct hit_thread *thread, enum patch_unseen why)
{
	/* Acquire: the function is loaded. Pairs with the release in patch_hooks_set(). */
	void (*unseen)(const struct patch_hit *hit, enum patch_unseen why) =
			__atomic_load_n(&hooks.unseen, __ATOMIC_ACQUIRE);

	thread->unseen++;
	if (unseen)
		unseen(hit, why);
}

void patch_hooks_set(const struct patch_hooks *wanted)
{
	/*
	 * Release, all 3: the code of the functions, which is loaded. Pairs with the acquires in
	 * patch_hit_report_unseen(), patch_hit_may_ask() and patch_hit_is_vforked().
	 */
	__atomic_store_n(&hooks.unseen, wanted->unseen, __ATOMIC_RELEASE);
	__atomic_store_n(&hooks.may_ask, wanted->may_ask, __ATOMIC_RELEASE);
	__atomic_store_n(&hooks.is_vforked, wanted->is_vforked, __ATOMIC_RELEASE);
}

/*
 * The slow path: the thread has no free return, or the caller is in another range than the last
 * one, or a watched function has jumped to this one. If the program copies its stack several times,
 * an open call keeps its gate, which is also that of its tail call.
 */
static __attribute__((noinline)) bool patch_hit_enter_watched_slowly(
		struct patch_hit *hit, struct patch_hot *probe, struct hit_thread *thread)
{
	enum patch_unseen why = PATCH_UNSEEN_CALLER;
	uint32_t index = NONE, tail_of = patch_hit_index_of(*hit->stack);
	patch_handler handler = __atomic_load_n(&probe->entry, __ATOMIC_RELAXED);

	if (patch_hit_known_copies() == PATCH_COPIES_OFTEN) {
		why = PATCH_UNSEEN_COPIED;
	} else if (tail_of != NONE || patch_hit_is_known_caller(probe, *hit->stack)) {
		why = PATCH_UNSEEN_FULL;
		index = thread->free_list != NONE ? thread->free_list
						  : patch_hit_more_returns(thread);
	}
	if (index != NONE)
		return patch_hit_enter_watched(hit, probe, thread, index, tail_of);
	hit->call = 0;
	if (handler)
		handler(hit);
	patch_hit_report_unseen(hit, thread, why);
	patch_hit_leave_thread(thread);
	return false;
}

/*
 * The common part of all hits. Returns the entry handler, NULL for none. Keeps no other value in a
 * register than the thread while the handler runs.
 */
static inline __attribute__((always_inline)) patch_handler patch_hit_begin(
		struct hit_thread *thread, struct patch_hit *hit, struct patch_hot *probe)
{
	patch_handler handler;

	patch_hit_enter_thread(thread, probe);
	handler = __atomic_load_n(&probe->entry, __ATOMIC_RELAXED);
	patch_hit_set_probe(hit, probe);
	hit->stack = (uint64_t *)((char *)&hit->registers.rbp + PATCH_FRAME_BYTES);
	return handler;
}

static inline __attribute__((always_inline)) void patch_hit_enter(
		struct hit_thread *thread, struct patch_hit *hit, struct patch_hot *probe)
{
	patch_handler handler = patch_hit_begin(thread, hit, probe);

	hit->call = 0;
	if (handler)
		handler(hit);
	patch_hit_leave_thread(thread);
}

static __attribute__((noinline)) void patch_hit_enter_slowly(
		struct patch_hit *hit, struct patch_hot *probe)
{
	struct hit_thread *thread = patch_hit_find_thread(hit, probe);

	if (thread)
		patch_hit_enter(thread, hit, probe);
}

void patch_enter(struct patch_hit *hit, struct patch_hot *probe)
{
	struct hit_thread *thread = patch_hit_load_self();

	if (patch_hit_is_fast(thread, hit))
		patch_hit_enter(thread, hit, probe);
	else
		patch_hit_enter_slowly(hit, probe);
}

static inline __attribute__((always_inline)) bool patch_hit_enter_followed(
		struct hit_thread *thread, struct patch_hit *hit, struct patch_hot *probe)
{
	uint32_t index;

	patch_hit_begin(thread, hit, probe);
	/* Loaded after `inside` is set: from here on, a hit in a signal handler takes no return. */
	index = thread->free_list;
	/* The probe was removed meanwhile. */
	if (__builtin_expect(!__atomic_load_n(&probe->follows, __ATOMIC_RELAXED), 0)) {
		patch_hit_leave_thread(thread);
		return false;
	}
	if (__builtin_expect(index == NONE, 0) ||
			__builtin_expect(!patch_is_in(__atomic_load_n(&probe->caller,
								      __ATOMIC_RELAXED),
							 *hit->stack),
					0))
		return patch_hit_enter_watched_slowly(hit, probe, thread);
	return patch_hit_enter_watched(hit, probe, thread, index, NONE);
}

static __attribute__((noinline)) bool patch_hit_enter_followed_slowly(
		struct patch_hit *hit, struct patch_hot *probe)
{
	struct hit_thread *thread = patch_hit_find_thread(hit, probe);

	return thread && patch_hit_enter_followed(thread, hit, probe);
}

bool patch_enter_followed(struct patch_hit *hit, struct patch_hot *probe)
{
	struct hit_thread *thread = patch_hit_load_self();

	return patch_hit_is_fast(thread, hit) ? patch_hit_enter_followed(thread, hit, probe)
					      : patch_hit_enter_followed_slowly(hit, probe);
}

void patch_clock(uint64_t unit)
{
	/* Relaxed: only the value matters. */
	__atomic_store_n(&clock_unit, unit, __ATOMIC_RELAXED);
}

/*
 * For a call that began before a probe was set again at the location: returns the exit handler of
 * the probe that has taken over the call, or NULL. The thread counts as inside of that probe then.
 */
static __attribute__((noinline)) patch_handler patch_hit_take_over(struct hit_thread *thread,
		const struct patch_return *each, struct patch_hot **probe)
{
	/* Relaxed: it belongs to the same location forever. */
	int32_t away = __atomic_load_n(&(*probe)->successor, __ATOMIC_RELAXED);
	patch_handler handler;

	*probe += away;
	if (away)
		patch_hit_enter_thread(thread, *probe);
	/* Acquire: `since`. Pairs with the release in patch_set_prepare(). */
	handler = __atomic_load_n(&(*probe)->exit, __ATOMIC_ACQUIRE);
	return (int32_t)(each->generation -
			       __atomic_load_n(&(*probe)->first_generation, __ATOMIC_RELAXED)) >= 0
			? handler
			: NULL;
}

/* Keeps no other values in registers than these while the handler runs. */
static inline __attribute__((always_inline)) void patch_hit_leave(struct hit_thread *thread,
		struct patch_hit *hit, uint64_t *stack_slot, struct patch_return *each)
{
	struct patch_hot *probe = each->probe;
	patch_handler handler;

	patch_hit_enter_thread(thread, probe);
	handler = __atomic_load_n(&probe->exit, __ATOMIC_RELAXED);
	if (__builtin_expect(!handler, 0) ||
			__builtin_expect(__atomic_load_n(&probe->generation, __ATOMIC_RELAXED) !=
							each->generation,
					0))
		handler = patch_hit_take_over(thread, each, &probe);
	if (__builtin_expect(handler != NULL, 1)) {
		hit->now = __builtin_ia32_rdtsc();
		hit->elapsed = (uint64_t)((unsigned __int128)(hit->now - each->began) *
						__atomic_load_n(&clock_unit, __ATOMIC_RELAXED) >>
				32);
		patch_hit_set_probe(hit, probe);
		hit->stack = each->slot + 1;
		hit->call = each->call;
		hit->returns_to = each->address;
		handler(hit);
	}
	/*
	 * The return is valid until a hit in a signal handler takes it, so read it before it is
	 * freed.
	 */
	*stack_slot = each->address;
	patch_hit_compiler_barrier();
	patch_hit_close_call(thread, each, stack_slot);
	patch_hit_leave_thread(thread);
}

/*
 * The slow path: a return inside of a handler, or of a thread without an entry. The call is found
 * to have ended later.
 */
static __attribute__((noinline)) void patch_hit_leave_slowly(
		struct patch_hit *hit, uint64_t *stack_slot, struct patch_return *each)
{
	struct hit_thread *thread = patch_hit_find_thread(hit, NULL);

	if (thread)
		patch_hit_leave(thread, hit, stack_slot, each);
	else
		*stack_slot = patch_hit_next_of(each);
}

void patch_leave(struct patch_hit *hit, uint64_t *stack_slot)
{
	struct patch_return *each = &returns[(uint32_t)*stack_slot];
	struct hit_thread *thread = patch_hit_load_self();

	if (patch_hit_is_fast(thread, hit))
		patch_hit_leave(thread, hit, stack_slot, each);
	else
		patch_hit_leave_slowly(hit, stack_slot, each);
}

/*
 * Counts calls that have not returned yet, including those that never will and are not yet known to
 * be abandoned.
 */
static uint64_t patch_hit_count_open(void)
{
	/* Relaxed, as those below: a statistics counter. */
	uint32_t count = __atomic_load_n(&nr_blocks, __ATOMIC_RELAXED);
	uint64_t open = 0;

	for (uint32_t block = 0; block < count; block++) {
		/* Acquire: they can be read. Pairs with the release in patch_hit_add_block(). */
		if (!__atomic_load_n(&block_ready[block], __ATOMIC_ACQUIRE))
			continue;
		for (uint32_t i = block * BLOCK; i < (block + 1) * BLOCK; i++)
			open += patch_hit_is_open(&returns[i]) && !(returns[i].state & PATCH_ASIDE);
	}
	return open;
}

void patch_hit_stats(struct patch_stats *ret_stats)
{
	for (uint32_t i = 0; i < nr_threads && i < THREADS_MAX; i++) {
		/* Relaxed: statistics counters. */
		ret_stats->cut += __atomic_load_n(&threads[i].cut, __ATOMIC_RELAXED);
		ret_stats->unseen += __atomic_load_n(&threads[i].unseen, __ATOMIC_RELAXED);
		ret_stats->abandoned += __atomic_load_n(&threads[i].abandoned, __ATOMIC_RELAXED);
	}
	ret_stats->lost = __atomic_load_n(&lost, __ATOMIC_RELAXED) +
			__atomic_load_n(&foreign, __ATOMIC_RELAXED);
	ret_stats->open = patch_hit_count_open();
}
