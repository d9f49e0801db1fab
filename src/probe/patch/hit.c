/* SPDX-License-Identifier: MIT */
/*
 * A hit, in the thread that made it. Compiled for general registers only, for no others are saved; calls nothing that
 * could have a probe, allocates nothing, and may run in a signal handler.
 *
 * Each thread that hits a probe has an entry in a table. While it is in a handler, the entry says of which probe, which
 * also keeps what the handler hits itself, or a signal that interrupts it, from being seen. Who removes a probe
 * takes its handlers away, passes a barrier in all threads, and waits until no entry says the probe:
 *
 *	thread                        who removes
 *	inside = probe                entry = NULL
 *	(compiler's barrier)          membarrier: a full barrier in each thread
 *	handler = entry               inside == probe? then wait
 *
 * so either the thread sees NULL or it is seen.
 *
 * A call whose return is to be seen gets an index; its return address becomes that of the code with that index (x86-64-trampoline.c),
 * which so knows what to do without knowing the thread, the stack or the order: longjmp, coroutines and stacks for
 * signals need nothing of their own. A call that never returns keeps its index until its place on the stack has
 * been overwritten, which is looked for whenever the number of those in use has doubled. Then it is set aside: its index is used again
 * only after many others were set aside.
 *
 * The reason are programs that copy parts of their stack away and back, as greenlet does for Python. A call in such a copy seems abandoned,
 * but returns later. The first one that does so, or a library that is known for it, ends the use of such indices in the process. Continuations are copied back
 * several times, so their calls return several times: in a process with a library that is known for it, calls are not watched any more, and those
 * that are open keep their indices.
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

#define BLOCK 64 /* returns that a thread takes at once */
#define NONE UINT32_MAX
#define PAGE 4096
#define HWCAP2_FSGSBASE 2u /* programs may execute rdfsbase */
#define SCAN_FIRST 256
#define TAIL_CALLS_MAX 64 /* at one place of the stack that are looked through */
/* Calls that were set aside after a call until its index is used again, in one thread; fewer if there are many threads. */
#define ASIDE_MAX 16384
#define ASIDE_SHARE 4 /* of all calls, for those of all threads */

#define STACKS 3 /* previous stacks of a thread, besides the current one */
#define STACK_GAP \
	65536 /* between two hits on the same stack, at most: else it may be another one */
#define SHARED_CHECK 256 /* hits after which a thread checks whether it still shares its memory */

/* Addresses at which this thread has hit probes. */
struct thread_stack {
	uint64_t start, size;
};

struct hit_thread {
	pid_t tid; /* 0: free */
	pid_t pid; /* A process with the same memory has an entry of its own. */
	struct patch_hot *inside;
	struct thread_stack stack; /* the current one */
	pid_t shares; /* A process that uses the same thread-local memory; -1: any may; 0: none. */
	uint32_t shared_hits;
	bool unaligned; /* The program has the alignment check set, and this hit has cleared it. */
	uint64_t cut, unseen, abandoned, calls;
	uint32_t set_aside;   /* how many calls it ever has, for the age of each */
	uint32_t aside;       /* that may be used again if there are no others */
	uint32_t free;        /* list of returns */
	uint32_t blocks;      /* list, by block_next */
	uint32_t owned, scan; /* how many returns it has, and with how many they are looked through */
	uint16_t number;
	uint16_t next_stack;
	struct thread_stack stacks[STACKS];
} __attribute__((aligned(64)));

static struct hit_thread *threads;
static char *scratch;       /* of each thread, by its number; NULL: there is no room for it */
static uint32_t nr_threads; /* that ever were in use */
static uint64_t lost, foreign;
static pid_t *process; /* of these threads; 0 in the memory of a forked child, for the kernel wipes it */

/* One pointer: there is always room for it, also in a program that is not linked with us. */
static __thread struct hit_thread *self __asm__("patch_thread_self")
		__attribute__((tls_model("initial-exec"), used));

static struct patch_return *returns;
static uint8_t *return_code;
static uint32_t most_returns; /* a multiple of RETURNS_GROW */
static uint32_t block_next[RETURNS_MAX / BLOCK];
static bool block_ready[RETURNS_MAX / BLOCK]; /* its gates and its returns can be used */
static uint32_t nr_blocks;
static uint64_t clock_unit = UINT64_C(1) << 32;
static uint8_t copies; /* enum patch_copies */
static struct patch_hooks hooks;
struct patch_gate_range patch_gate_range;

/* Like a barrier for this thread's own order; who removes makes it one for the processor. */
static inline void light_barrier(void)
{
	__asm__ volatile("" ::: "memory");
}

/* ---- thread-local memory ---- */

/*
 * A program may temporarily set another base of thread-local memory (FS): emulators, loaders of foreign libraries. A read of
 * `self` then gives any value, or a fault (faults.c), which reads as NULL. So a value counts as an entry only if it
 * points into the table, and nothing thread-local is written before the base is known to be the C library's.
 */
/* Behind the load 1 of operand 0, which is 0 after a fault. */
#define FIXED_AT_ZERO                                           \
	"2:\n"                                                  \
	"\t.pushsection patch_fixups, \"a\", @progbits\n"       \
	"\t.long 1b - ., 3f - .\n"                              \
	"\t.popsection\n"                                       \
	"\t.pushsection .text.patch_fixed, \"ax\", @progbits\n" \
	"3:\txorl %k0, %k0\n"                                   \
	"\tjmp 2b\n"                                            \
	"\t.popsection"

/* In a thread that runs code of side, `self` is this entry, which is not in the table: its hits are not seen. */
static struct hit_thread own;
uint64_t patch_own_threads[PATCH_NR_OWN];

static inline __attribute__((always_inline)) struct hit_thread *load_self(void)
{
	struct hit_thread *result;

	__asm__ volatile("movq patch_thread_self@gottpoff(%%rip), %0\n"
			 "1:\tmovq %%fs:(%0), %0\n" FIXED_AT_ZERO
			 : "=r"(result)
			 :
			 : "cc");
	return result;
}

static inline bool is_entry(const struct hit_thread *thread)
{
	return (uint64_t)thread - (uint64_t)threads < THREADS_MAX * sizeof(*thread);
}

/* The begin of a thread's control block, as the ABI and the C library have it. */
struct control_block {
	uint64_t self, vector, self_again, flags, parts, guard, pointer_guard;
};
_Static_assert(offsetof(struct control_block, guard) == 0x28, "where compilers read it");

static struct control_block secrets; /* the two that all threads share */
static bool has_fsgsbase;

/* 0: nothing is there. */
static uint64_t load_word(uint64_t address)
{
	uint64_t word = address;

	__asm__ volatile("1:\tmovq (%0), %0\n" FIXED_AT_ZERO : "+r"(word) : : "cc", "memory");
	return word;
}

static uint64_t patch_hit_load_word(uint64_t at)
{
	uint64_t word = at;

	__asm__ volatile("1:\tmovq %%fs:(%0), %0\n" FIXED_AT_ZERO : "+r"(word) : : "cc", "memory");
	return word;
}

static uint64_t base(void)
{
	uint64_t base;

	/* Without the instruction: the base according to the memory itself. */
	if (!has_fsgsbase)
		return patch_hit_load_word(offsetof(struct control_block, self));
	__asm__ volatile("rdfsbase %0" : "=r"(base));
	return base;
}

/* No system call, for a sandbox may refuse it. */
static __attribute__((noinline)) bool is_of_library(void)
{
	uint64_t at = base();

	return at && !(at % sizeof(uint64_t)) &&
			load_word(at + offsetof(struct control_block, self)) == at &&
			load_word(at + offsetof(struct control_block, self_again)) == at &&
			load_word(at + offsetof(struct control_block, guard)) == secrets.guard &&
			load_word(at + offsetof(struct control_block, pointer_guard)) ==
			secrets.pointer_guard;
}

static void know_library(void)
{
	has_fsgsbase = getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE;
	secrets.guard = patch_hit_load_word(offsetof(struct control_block, guard));
	secrets.pointer_guard = patch_hit_load_word(offsetof(struct control_block, pointer_guard));
}

/* ---- the alignment check ---- */

/*
 * The program may have set that flag when it calls a function. Reading it takes a tenth of a hit, so hits at begins and ends of functions
 * do not read it: an unaligned access faults, and the handler (faults.c) clears the flag for the remainder of the hit.
 */
bool patch_hit_is_unaligned(void)
{
	struct hit_thread *thread = load_self();

	if (!is_entry(thread) || !thread->inside)
		return false;
	thread->unaligned = true;
	return true;
}

static __attribute__((noinline)) void set_alignment_check(struct hit_thread *thread)
{
	thread->unaligned = false;
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | PATCH_ALIGNMENT_CHECK);
}

/* ---- threads ---- */

/* Whether this thread may make system calls. In a sandbox a call could end the program. */
static bool may_ask(void)
{
	/* Acquire: the function is there. Pairs with the release in patch_hooks_set(). */
	bool (*ask)(void) = __atomic_load_n(&hooks.may_ask, __ATOMIC_ACQUIRE);

	return !ask || ask();
}

static bool patch_hit_claim_thread(struct hit_thread *thread, pid_t owner, pid_t tid, pid_t pid)
{
	/* Acquire: what its last owner stored. Pairs with the release in count_foreign(). */
	if (!__atomic_compare_exchange_n(
			    &thread->tid, &owner, tid, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	if (!thread->scan) {
		thread->number = (uint16_t)(thread - threads);
		thread->calls = (uint64_t)thread->number << 48;
		thread->free = thread->blocks = NONE;
		thread->scan = SCAN_FIRST;
	}
	thread->inside = NULL;
	thread->unaligned = false;
	thread->pid = pid;
	thread->shares = 0;
	thread->stack = (struct thread_stack){0};
	for (unsigned int i = 0; i < STACKS; i++)
		thread->stacks[i] = (struct thread_stack){0};
	patch_reading_begins(thread->number);
	return true;
}

static pid_t this_thread(void)
{
	return (pid_t)patch_system_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

static pid_t this_process(void)
{
	return (pid_t)patch_system_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

/* Whether the thread of an entry has ended. False for a thread of another process: `pid` is the entry's. */
static bool patch_hit_has_ended(pid_t pid, pid_t tid)
{
	return patch_system_call(SYS_tgkill, pid, tid, 0, 0, 0, 0) == -ESRCH;
}

/* Ids of threads that must not make system calls: negative, so they never equal the id of an ended thread. */
static pid_t nameless(void)
{
	static pid_t last = -1;

	/* Relaxed: a number only. */
	return __atomic_sub_fetch(&last, 1, __ATOMIC_RELAXED);
}

/* Entries of threads that have ended are taken over, with what they own. */
static __attribute__((noinline)) struct hit_thread *find_entry(bool may_scan)
{
	pid_t tid = may_scan ? this_thread() : nameless(), pid = may_scan ? this_process() : 0;
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
		/* Relaxed: a number only. */
		count = __atomic_fetch_add(&nr_threads, 1, __ATOMIC_RELAXED);
		if (count >= THREADS_MAX) {
			__atomic_fetch_sub(&nr_threads, 1, __ATOMIC_RELAXED);
			return NULL;
		}
		if (patch_hit_claim_thread(&threads[count], 0, tid, pid))
			return &threads[count];
	}
}

static inline __attribute__((always_inline)) void enter_thread(
		struct hit_thread *thread, struct patch_hot *probe)
{
	/* Relaxed: ordered by the barrier of who removes, see above. */
	__atomic_store_n(&thread->inside, probe, __ATOMIC_RELAXED);
	light_barrier();
}

static inline __attribute__((always_inline)) void leave_thread(struct hit_thread *thread)
{
	light_barrier();
	/* Release: the handler is over. Pairs with the acquire in patch_hit_is_inside(). */
	__atomic_store_n(&thread->inside, NULL, __ATOMIC_RELEASE);
	if (__builtin_expect(thread->unaligned, 0))
		set_alignment_check(thread);
}

/* ---- stacks ---- */

/*
 * A child by clone(CLONE_VM) can run beside its parent on the same thread-local memory, so `self` is its parent's entry. The child
 * has only its stack for itself. So a hit on a stack that is new to this thread asks the kernel which thread it is. A stack that
 * the child has inside of the part that its parent's hits have been in is known where the C library's clone() was called
 * (patch_thread_shares()); then each hit asks.
 */
static inline bool is_on(const struct thread_stack *stack, uint64_t address)
{
	/* Plain loads, which need no instruction of their own. Only this thread uses the data; put_stack() orders the stores. */
	return address - stack->start < stack->size;
}

/* A signal handler, and a process that shares this entry, find no stack meanwhile. */
static void put_stack(struct thread_stack *to, const struct thread_stack *stack)
{
	uint64_t size = stack->size;

	/* Relaxed, in this order for what interrupts it. */
	__atomic_store_n(&to->size, 0, __ATOMIC_RELAXED);
	light_barrier();
	__atomic_store_n(&to->start, stack->start, __ATOMIC_RELAXED);
	light_barrier();
	__atomic_store_n(&to->size, size, __ATOMIC_RELAXED);
}

/* How far a hit at this address extends a stack nearby. */
static bool patch_hit_grow_thread(struct thread_stack *stack, uint64_t address)
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

/* Make that stack the current one, and keep the previous one. */
static void keep_stack(struct hit_thread *thread, uint64_t address)
{
	struct thread_stack old = thread->stack, stack = old;

	if (!patch_hit_grow_thread(&stack, address)) {
		unsigned int at = 0;

		while (at < STACKS && !is_on(&thread->stacks[at], address) &&
				!patch_hit_grow_thread(&thread->stacks[at], address))
			at++;
		if (at == STACKS) {
			at = thread->next_stack++ % STACKS;
			thread->stacks[at] = (struct thread_stack){
					address & ~(uint64_t)(PAGE - 1), PAGE};
		}
		stack = thread->stacks[at];
		put_stack(&thread->stacks[at], &old);
	}
	put_stack(&thread->stack, &stack);
}

/* A copy by fork() of the memory that the entries were in, of whose thread no handler of fork() has been called. */
static bool is_copied(void)
{
	return !__atomic_load_n(process, __ATOMIC_RELAXED);
}

static void after_copy(const struct hit_thread *thread)
{
	bool may_scan = may_ask();
	pid_t pid = may_scan ? this_process() : -1;

	for (uint32_t i = 0; i < nr_threads && i < THREADS_MAX; i++) {
		bool is_own = thread && &threads[i] == thread;

		threads[i].inside = is_own ? threads[i].inside : NULL;
		threads[i].tid = !is_own ? 0 : may_scan ? this_thread() : nameless();
		threads[i].pid = pid;
		threads[i].shares = 0;
	}
	/* A thread that the parent was creating is not here. */
	for (uint32_t i = 0; i < PATCH_NR_OWN; i++)
		patch_own_threads[i] = 0;
	__atomic_store_n(process, pid, __ATOMIC_RELAXED);
}

/* Whether the process that shared this thread's memory has ended. */
static bool patch_hit_is_alone(struct hit_thread *thread)
{
	pid_t shares = __atomic_load_n(&thread->shares, __ATOMIC_RELAXED);

	if (shares > 0 && thread->shared_hits++ % SHARED_CHECK == 0 && may_ask() &&
			patch_hit_has_ended(shares, shares))
		__atomic_store_n(&thread->shares, shares = 0, __ATOMIC_RELAXED);
	return !shares;
}

/* May the child use the entry meanwhile? Another process that shares it has the mark of the child, too. */
static bool is_vforked(struct hit_thread *thread)
{
	/* Acquire: the function is there. Pairs with the release in patch_hooks_set(). */
	bool (*ask)(void) = __atomic_load_n(&hooks.is_vforked, __ATOMIC_ACQUIRE);

	return ask && ask() && patch_hit_is_alone(thread);
}

/* Whether the entry belongs to this thread, which is on another stack than before. */
static __attribute__((noinline)) bool is_own(struct hit_thread *thread, uint64_t address)
{
	pid_t tid;

	if (patch_hit_is_alone(thread)) {
		for (unsigned int i = 0; i < STACKS; i++)
			if (is_on(&thread->stacks[i], address)) {
				keep_stack(thread, address);
				return true;
			}
	}
	/* In a sandbox the filter would have to permit the system call. */
	if (!may_ask())
		return true;
	tid = this_thread();
	if (tid != thread->tid && is_copied())
		after_copy(thread);
	/* Its stack is not kept: the program may use that for another process when the child has ended. */
	if (tid != thread->tid && is_vforked(thread))
		return true;
	if (tid != thread->tid) {
		__atomic_store_n(&thread->shares, this_process(), __ATOMIC_RELAXED);
		__atomic_store_n(&thread->stack.size, 0, __ATOMIC_RELAXED);
		return false;
	}
	if (patch_hit_is_alone(thread))
		keep_stack(thread, address);
	return true;
}

/* The thread's entry, if there is space for one. False: it belongs to another process, which may own this thread-local memory or not. */
static bool patch_hit_begin_thread(void)
{
	bool may_scan = may_ask();

	if (may_scan && is_copied())
		after_copy(NULL);
	if (may_scan && this_process() != __atomic_load_n(process, __ATOMIC_RELAXED))
		return false;
	self = find_entry(may_scan);
	return true;
}

/* ---- threads that run code of side ---- */

/* A thread that side has created, before its first instruction of side: in the C library, which starts it. */
static __attribute__((noinline)) bool begins_as_own(void)
{
	uint64_t at = base();

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
 * A hit of a process that uses its parent's thread-local memory, where nothing may be changed, or of a thread whose thread-local memory is
 * not the C library's: it is counted, under an entry of its own, so that the probe stays meanwhile.
 */
static void count_foreign(struct patch_hit *hit, struct patch_hot *probe)
{
	/* Acquire: the function is there. Pairs with the release in patch_hooks_set(). */
	void (*unseen)(const struct patch_hit *hit, enum patch_unseen why) =
			__atomic_load_n(&hooks.unseen, __ATOMIC_ACQUIRE);
	/* Not the entry that the thread has already, if any. */
	struct hit_thread *thread = find_entry(false);

	/* Relaxed: a statistics counter. */
	__atomic_fetch_add(&foreign, 1, __ATOMIC_RELAXED);
	if (!thread)
		return;
	enter_thread(thread, probe);
	/* Acquire: what it points to. Pairs with the release in patch_change_user(). */
	hit->user = __atomic_load_n(&probe->user, __ATOMIC_ACQUIRE);
	if (unseen)
		unseen(hit, PATCH_UNSEEN_PROCESS);
	leave_thread(thread);
	/* Release: the owner's stores before the entry is free. Pairs with the acquire in patch_hit_claim_thread(). */
	__atomic_store_n(&thread->tid, 0, __ATOMIC_RELEASE);
}

/* The first hit of a thread, one on another stack, one without a free entry, or one inside a handler. NULL: the hit is not seen. `probe`: that counts
   a hit of another process; NULL: none does. */
static __attribute__((noinline)) struct hit_thread *find_thread(
		struct patch_hit *hit, struct patch_hot *probe)
{
	uint64_t address = (uint64_t)hit;
	struct hit_thread *thread = load_self();

	if (is_entry(thread)) {
		if (!is_on(&thread->stack, address) && !is_own(thread, address)) {
			if (probe)
				count_foreign(hit, probe);
			return NULL;
		}
		if (!thread->inside)
			return thread;
		thread->cut++;
		return NULL;
	}
	if (thread == &own)
		return NULL;
	if (!is_of_library()) {
		if (probe)
			count_foreign(hit, probe);
		return NULL;
	}
	if (begins_as_own())
		return NULL;
	if (!patch_hit_begin_thread()) {
		if (probe)
			count_foreign(hit, probe);
		return NULL;
	}
	if (self)
		keep_stack(self, address);
	else
		/* Relaxed: a statistics counter. */
		__atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
	return self;
}

static inline bool is_at_once(const struct hit_thread *thread, const struct patch_hit *hit)
{
	return __builtin_expect(is_entry(thread), 1) && __builtin_expect(!thread->inside, 1) &&
			__builtin_expect(is_on(&thread->stack, (uint64_t)hit), 1);
}

void *patch_hit_scratch(void)
{
	const struct hit_thread *thread = load_self();

	return is_entry(thread) && scratch ? scratch + (size_t)thread->number * PATCH_SCRATCH_BYTES
					   : NULL;
}

int patch_hit_number(void)
{
	const struct hit_thread *thread = load_self();

	return is_entry(thread) ? thread->number : -1;
}

bool patch_hit_is_inside(const struct patch_hot *probe)
{
	uint32_t count = __atomic_load_n(&nr_threads, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < count && i < THREADS_MAX; i++) {
		/* Acquire: all that the handler did. Pairs with the release in leave_thread(). */
		if (&threads[i] != self &&
				__atomic_load_n(&threads[i].inside, __ATOMIC_ACQUIRE) == probe &&
				!patch_hit_has_ended(threads[i].pid, threads[i].tid))
			return true;
	}
	return false;
}

/* The only thread of a child has another number, and the others are not there. */
static void after_fork(void)
{
	after_copy(self);
}

int patch_hit_start(void)
{
	know_library();
	threads = patch_memory_anywhere(THREADS_MAX * sizeof(*threads), PROT_READ | PROT_WRITE);
	process = patch_memory_anywhere(PAGE, PROT_READ | PROT_WRITE);
	scratch = patch_memory_anywhere(
			(size_t)THREADS_MAX * PATCH_SCRATCH_BYTES, PROT_READ | PROT_WRITE);
	if (!threads || !process)
		return -ENOMEM;
	*process = getpid();
	/* A kernel too old for it: then a child of whom no handler of fork() is called takes its other stacks for foreign. */
	madvise(process, PAGE, MADV_WIPEONFORK);
	return -pthread_atfork(NULL, NULL, after_fork);
}

/* ---- returns ---- */

static uint64_t gate_of(uint32_t index)
{
	return (uint64_t)return_code + RETURNS_HEAD_BYTES + (uint64_t)index * RETURN_BYTES;
}

/* The index of which that is the return address: behind the gate's call, or the gate itself before it; else NONE. */
static uint32_t index_of(uint64_t address)
{
	uint64_t away = address - gate_of(0), index = away / RETURN_BYTES;

	if (address < gate_of(0) || index >= most_returns ||
			(away % RETURN_BYTES && away % RETURN_BYTES != RETURN_CALL_BYTES) ||
			/* Acquire: its return can be read. Pairs with the release in patch_hit_add_block(). */
			!__atomic_load_n(&block_ready[index / BLOCK], __ATOMIC_ACQUIRE))
		return NONE;
	return (uint32_t)index;
}

/* The value of a slot; 0: the memory of the stack is gone. False: the kernel refuses to read it, in a sandbox that is not known. */
static bool read_slot(const uint64_t *slot, uint64_t *ret_value)
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
 * Whether the call has not returned. A watched function that ends in a jump to another watched one leaves its gate there, which is
 * replaced by the other's: two open calls with one slot. The second one knows the first (PATCH_TAIL).
 */
static inline bool patch_hit_is_open(const struct patch_return *each)
{
	unsigned int state = each->state & PATCH_STATES;

	return state == PATCH_OPEN || state == PATCH_TAIL;
}

/*
 * The address where the call goes on after its exit: in the gate of the call that it is the tail of, or in the caller. Unwinders go to
 * the caller at once (`address`), because they know one frame for each slot.
 */
static uint64_t next_of(const struct patch_return *each)
{
	return (each->state & PATCH_STATES) == PATCH_TAIL ? gate_of(each->under) + RETURN_CALL_BYTES
							  : each->address;
}

/* Whether this value of its slot is its gate, or leads there by gates of tail calls. */
static bool patch_hit_leads_to(uint32_t index, uint64_t value)
{
	for (unsigned int i = 0; i < TAIL_CALLS_MAX; i++) {
		uint32_t other = index_of(value);

		if (other == index)
			return true;
		if (other == NONE || returns[other].slot != returns[index].slot ||
				!patch_hit_is_open(&returns[other]))
			return false;
		value = next_of(&returns[other]);
	}
	return true;
}

static bool is_overwritten(uint32_t index, uint64_t value)
{
	/* The index: it is just returning. */
	return value != index && !patch_hit_leads_to(index, value);
}

uint64_t patch_return_address(uint64_t address)
{
	uint32_t index = returns ? index_of(address) : NONE;

	return index == NONE ? address : returns[index].address;
}

static inline void patch_hit_release_gate(struct hit_thread *thread, uint32_t index)
{
	returns[index].state = PATCH_FREE;
	returns[index].next = thread->free;
	thread->free = index;
}

/* ---- copies of stacks ---- */

/* Calls that are open can return more than once from here on. */
static void keep_calls(void)
{
	/* Relaxed: those that begin meanwhile return once, as before. */
	uint32_t count = __atomic_load_n(&nr_blocks, __ATOMIC_RELAXED);

	for (uint32_t block = 0; block < count; block++) {
		/* Acquire: they can be read. Pairs with the release in patch_hit_add_block(). */
		if (!__atomic_load_n(&block_ready[block], __ATOMIC_ACQUIRE))
			continue;
		for (uint32_t i = block * BLOCK; i < (block + 1) * BLOCK; i++) {
			uint8_t state = __atomic_load_n(&returns[i].state, __ATOMIC_RELAXED);

			/* Relaxed: one that returns just now is given back. */
			if ((state & PATCH_STATES) == PATCH_OPEN ||
					(state & PATCH_STATES) == PATCH_TAIL)
				(void)__atomic_compare_exchange_n(&returns[i].state, &state,
						state | PATCH_KEPT, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED);
		}
	}
}

static enum patch_copies known_copies(void)
{
	/* Relaxed: what was not known a moment ago is known too late in any case. */
	return __atomic_load_n(&copies, __ATOMIC_RELAXED);
}

void patch_hit_copies(enum patch_copies wanted)
{
	uint8_t before = __atomic_load_n(&copies, __ATOMIC_RELAXED);

	do {
		if (before >= wanted)
			return;
		/* Relaxed: a number only. */
	} while (!__atomic_compare_exchange_n(&copies, &before, (uint8_t)wanted, false,
			__ATOMIC_RELAXED, __ATOMIC_RELAXED));
	if (wanted != PATCH_COPIES_OFTEN)
		return;
	patch_callers_end();
	keep_calls();
}

/* A call that seemed abandoned is open, or may be. It counts for the thread in whose list it was. */
static void is_back(const struct patch_return *each, bool is_copy)
{
	/* Relaxed: a statistics counter. */
	__atomic_fetch_sub(&threads[each->owner].abandoned, 1, __ATOMIC_RELAXED);
	if (is_copy)
		patch_hit_copies(PATCH_COPIES_ONCE);
}

/* The call is not an ordinary one. False: its index is not to be given back. */
static __attribute__((noinline)) bool closes(const struct hit_thread *thread,
		const struct patch_return *each, uint64_t *stack_slot)
{
	/* It has returned before, and its index has not been used since. */
	if (!patch_hit_is_open(each)) {
		patch_hit_copies(PATCH_COPIES_OFTEN);
		return false;
	}
	*stack_slot = next_of(each);
	if (each->state & PATCH_KEPT)
		return false;
	/*
	 * If it returns in another thread than its list's, that thread may have seen the slot a moment ago, after leave() had written the return
	 * address to it: such a call was never in a copy.
	 */
	if (each->state & PATCH_ASIDE)
		is_back(each, each->owner == thread->number);
	return true;
}

/* ---- ends of calls ---- */

/* Stacks may go on in other threads, and two of these must not have the same list. */
static inline __attribute__((always_inline)) void close_call(
		struct hit_thread *thread, struct patch_return *each, uint64_t *stack_slot)
{
	if (__builtin_expect(each->state != PATCH_OPEN, 0) && !closes(thread, each, stack_slot))
		return;
	if (__builtin_expect(each->owner == thread->number, 1)) {
		each->state = PATCH_FREE;
		each->next = thread->free;
		thread->free = (uint32_t)(each - returns);
	} else {
		/* Release: all that was done with it. Pairs with the acquire in find_abandoned(). */
		__atomic_store_n(&each->state, PATCH_LEFT, __ATOMIC_RELEASE);
	}
}

/* How many calls may be aside in a thread. */
static uint32_t aside_max(void)
{
	uint32_t count = __atomic_load_n(&nr_threads, __ATOMIC_RELAXED);
	uint32_t share = most_returns / ASIDE_SHARE / (count ? count : 1);

	return share < ASIDE_MAX ? share : ASIDE_MAX;
}

/* False: it has returned in another thread meanwhile. Relaxed: only this thread uses what it says. */
static bool patch_hit_set_state(struct patch_return *each, uint8_t from, unsigned int to)
{
	return __atomic_compare_exchange_n(&each->state, &from, (uint8_t)to, false,
			__ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* Whether it has been aside for long. One whose slot has its gate again has come back with a copy of the stack. */
static bool patch_hit_is_expired(
		struct hit_thread *thread, uint32_t index, uint8_t state, uint32_t most)
{
	struct patch_return *each = &returns[index];
	uint64_t value = 0;

	if (state & PATCH_KEPT || known_copies() != PATCH_COPIES_UNKNOWN)
		return false;
	if (!read_slot(each->slot, &value))
		return false;
	if (!is_overwritten(index, value)) {
		/* The index may be a number that the program has in this memory now: no copy, but not over either. */
		is_back(each, value != index);
		(void)patch_hit_set_state(each, state, state & ~(unsigned int)PATCH_ASIDE);
		return false;
	}
	/* Modulo 2^16: one that is that old can only be kept for longer. */
	return (uint16_t)(thread->set_aside - each->aside) >= most;
}

static void set_aside(struct hit_thread *thread, struct patch_return *each, uint8_t state)
{
	each->aside = (uint16_t)thread->set_aside++;
	if (!patch_hit_set_state(each, state, state | PATCH_ASIDE))
		return;
	/* Relaxed: a statistics counter, which is_back() changes in other threads. */
	__atomic_fetch_add(&thread->abandoned, 1, __ATOMIC_RELAXED);
}

static __attribute__((noinline)) void find_abandoned(struct hit_thread *thread, uint32_t most)
{
	bool may_scan = may_ask();
	uint32_t left = 0, aside = 0;
	uint64_t value = 0;

	for (uint32_t block = thread->blocks; block != NONE; block = block_next[block]) {
		for (uint32_t i = block * BLOCK; i < (block + 1) * BLOCK; i++) {
			/* Acquire: the other thread has done with it. Pairs with the release in close_call(). */
			uint8_t state = __atomic_load_n(&returns[i].state, __ATOMIC_ACQUIRE);

			if (state == PATCH_FREE)
				continue;
			if (state == PATCH_LEFT ||
					(state & PATCH_ASIDE && may_scan &&
							patch_hit_is_expired(
									thread, i, state, most))) {
				patch_hit_release_gate(thread, i);
				continue;
			}
			left++;
			if (may_scan && !(state & (PATCH_ASIDE | PATCH_KEPT)) &&
					known_copies() == PATCH_COPIES_UNKNOWN &&
					read_slot(returns[i].slot, &value) &&
					is_overwritten(i, value))
				set_aside(thread, &returns[i], state);
			aside += (returns[i].state & PATCH_ASIDE) != 0;
		}
	}
	thread->aside = known_copies() == PATCH_COPIES_UNKNOWN ? aside : 0;
	thread->scan = left * 2 > SCAN_FIRST ? left * 2 : SCAN_FIRST;
}

static void patch_hit_add_block(struct hit_thread *thread, uint32_t block)
{
	block_next[block] = thread->blocks;
	thread->blocks = block;
	thread->owned += BLOCK;
	for (uint32_t i = BLOCK; i-- > 0;) {
		returns[block * BLOCK + i].owner = thread->number;
		patch_hit_release_gate(thread, block * BLOCK + i);
	}
	/* Release: they are there. Pairs with the acquire in index_of() and open_calls(). */
	__atomic_store_n(&block_ready[block], true, __ATOMIC_RELEASE);
}

/* Free blocks: one, or RETURNS_GROW returns once those that are usable from the beginning are taken. */
static void take_blocks(struct hit_thread *thread)
{
	uint32_t first = __atomic_load_n(&nr_blocks, __ATOMIC_RELAXED), count;

	do {
		count = first < RETURNS_FIRST / BLOCK ? 1 : RETURNS_GROW / BLOCK;
		if (first + count > most_returns / BLOCK || (count > 1 && !may_ask()))
			return;
		/* Relaxed: a number only. */
	} while (!__atomic_compare_exchange_n(&nr_blocks, &first, first + count, false,
			__ATOMIC_RELAXED, __ATOMIC_RELAXED));
	if (count > 1 && !patch_gates_grow(first * BLOCK, count * BLOCK))
		return;
	for (uint32_t i = count; i-- > 0;)
		patch_hit_add_block(thread, first + i);
}

static __attribute__((noinline)) uint32_t more_returns(struct hit_thread *thread)
{
	if (thread->owned >= thread->scan)
		find_abandoned(thread, aside_max());
	if (thread->free == NONE)
		take_blocks(thread);
	/* There are no more indices, so none is kept aside. */
	if (thread->free == NONE && thread->aside)
		find_abandoned(thread, 0);
	return thread->free;
}

/*
 * The return of the call whose return address is at the stack pointer; `index` is the first free one. The caller is
 * there, or at the address of the call `under` it.
 */
static inline __attribute__((always_inline)) struct patch_return *follow(struct hit_thread *thread,
		struct patch_hot *probe, struct patch_hit *hit, uint32_t index, uint32_t under)
{
	struct patch_return *each = &returns[index];
	uint64_t *slot = hit->stack;

	thread->free = each->next;
	each->address = hit->returns_to = under == NONE ? *slot : returns[under].address;
	if (under != NONE)
		each->under = under;
	each->copy = probe->copy;
	each->slot = slot;
	each->probe = probe;
	each->begin = probe->generation;
	each->call = hit->call = ++thread->calls;
	each->began = 0;
	hit->began = &each->began;
	each->state = under == NONE ? PATCH_OPEN : PATCH_TAIL;
	/* What this code does must be known before anything can return to it: also a signal that comes now. */
	light_barrier();
	*slot = gate_of(index);
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
	/* The index is there until the exit handler has returned. */
	each = &returns[(uint32_t)*stack_slot];
	return (uint32_t)*stack_slot < most_returns && each->call == hit->call ? &each->marks
									       : NULL;
}

int patch_hit_follow(void)
{
	struct patch_gates gates;
	int ret = returns ? 0 : patch_gates_start(&gates);

	if (returns || ret)
		return ret;
	return_code = gates.code;
	returns = gates.returns;
	most_returns = gates.most;
	patch_gate_range.first = gate_of(0);
	patch_gate_range.last = gate_of(most_returns);
	patch_frames_returns((uint64_t)return_code, returns, most_returns);
	patch_callers_want();
	return 0;
}

/* ---- hits ---- */

static inline void patch_hit_record(struct patch_hit *hit, const struct patch_hot *probe)
{
	/* Acquire: what it points to. Pairs with the release in patch_change_user(). */
	hit->user = __atomic_load_n(&probe->user, __ATOMIC_ACQUIRE);
	hit->address = probe->address;
}

/* Keeps nothing but the thread and the return while the handler runs. */
static inline __attribute__((always_inline)) bool enter_as(struct patch_hit *hit,
		struct patch_hot *probe, struct hit_thread *thread, uint32_t index, uint32_t under)
{
	patch_handler handler = __atomic_load_n(&probe->entry, __ATOMIC_RELAXED);
	struct patch_return *followed = follow(thread, probe, hit, index, under);

	if (handler)
		handler(hit);
	/* What the handlers take is not the call's. */
	if (!followed->began)
		followed->began = __builtin_ia32_rdtsc();
	leave_thread(thread);
	return true;
}

/* As it was before; code that no file has knows its own return addresses (callers.c). */
static bool is_known_caller(struct patch_hot *probe, uint64_t returns_to)
{
	const struct patch_code *caller = patch_caller(returns_to);

	/* Relaxed: ranges stay where they are. */
	if (caller)
		__atomic_store_n(&probe->caller, caller, __ATOMIC_RELAXED);
	return caller != NULL;
}

/* The entry was seen; the return will not be. */
static void patch_hit_report_unseen(
		struct patch_hit *hit, struct hit_thread *thread, enum patch_unseen why)
{
	/* Acquire: the function is there. Pairs with the release in patch_hooks_set(). */
	void (*unseen)(const struct patch_hit *hit, enum patch_unseen why) =
			__atomic_load_n(&hooks.unseen, __ATOMIC_ACQUIRE);

	thread->unseen++;
	if (unseen)
		unseen(hit, why);
}

void patch_hooks_set(const struct patch_hooks *wanted)
{
	/*
	 * Release, all 3: the code of the functions, which is loaded. Pairs with the acquires in patch_hit_report_unseen(), may_ask() and
	 * is_vforked().
	 */
	__atomic_store_n(&hooks.unseen, wanted->unseen, __ATOMIC_RELEASE);
	__atomic_store_n(&hooks.may_ask, wanted->may_ask, __ATOMIC_RELEASE);
	__atomic_store_n(&hooks.is_vforked, wanted->is_vforked, __ATOMIC_RELEASE);
}

/*
 * None is free at once, or another one has called it than the last time, or it is the tail of a watched call. If the program copies its stack, a
 * call that is open already keeps its gate, which is its tail's, too.
 */
static __attribute__((noinline)) bool enter_with_more(
		struct patch_hit *hit, struct patch_hot *probe, struct hit_thread *thread)
{
	enum patch_unseen why = PATCH_UNSEEN_CALLER;
	uint32_t index = NONE, under = index_of(*hit->stack);
	patch_handler handler = __atomic_load_n(&probe->entry, __ATOMIC_RELAXED);

	if (known_copies() == PATCH_COPIES_OFTEN) {
		why = PATCH_UNSEEN_COPIED;
	} else if (under != NONE || is_known_caller(probe, *hit->stack)) {
		why = PATCH_UNSEEN_FULL;
		index = thread->free != NONE ? thread->free : more_returns(thread);
	}
	if (index != NONE)
		return enter_as(hit, probe, thread, index, under);
	hit->call = 0;
	if (handler)
		handler(hit);
	patch_hit_report_unseen(hit, thread, why);
	leave_thread(thread);
	return false;
}

/* What most hits do first; NULL: nothing more. Keeps nothing but the thread while the handler runs. */
static inline __attribute__((always_inline)) patch_handler begin(
		struct hit_thread *thread, struct patch_hit *hit, struct patch_hot *probe)
{
	patch_handler handler;

	enter_thread(thread, probe);
	handler = __atomic_load_n(&probe->entry, __ATOMIC_RELAXED);
	patch_hit_record(hit, probe);
	hit->stack = (uint64_t *)((char *)&hit->registers.rbp + PATCH_FRAME_BYTES);
	return handler;
}

static inline __attribute__((always_inline)) void enter(
		struct hit_thread *thread, struct patch_hit *hit, struct patch_hot *probe)
{
	patch_handler handler = begin(thread, hit, probe);

	hit->call = 0;
	if (handler)
		handler(hit);
	leave_thread(thread);
}

static __attribute__((noinline)) void enter_slowly(struct patch_hit *hit, struct patch_hot *probe)
{
	struct hit_thread *thread = find_thread(hit, probe);

	if (thread)
		enter(thread, hit, probe);
}

void patch_enter(struct patch_hit *hit, struct patch_hot *probe)
{
	struct hit_thread *thread = load_self();

	if (is_at_once(thread, hit))
		enter(thread, hit, probe);
	else
		enter_slowly(hit, probe);
}

static inline __attribute__((always_inline)) bool enter_followed(
		struct hit_thread *thread, struct patch_hit *hit, struct patch_hot *probe)
{
	uint32_t index;

	begin(thread, hit, probe);
	/* From here on what a signal hits takes none. */
	index = thread->free;
	/* Removed meanwhile. */
	if (__builtin_expect(!__atomic_load_n(&probe->follows, __ATOMIC_RELAXED), 0)) {
		leave_thread(thread);
		return false;
	}
	if (__builtin_expect(index == NONE, 0) ||
			__builtin_expect(!patch_is_in(__atomic_load_n(&probe->caller,
								      __ATOMIC_RELAXED),
							 *hit->stack),
					0))
		return enter_with_more(hit, probe, thread);
	return enter_as(hit, probe, thread, index, NONE);
}

static __attribute__((noinline)) bool enter_followed_slowly(
		struct patch_hit *hit, struct patch_hot *probe)
{
	struct hit_thread *thread = find_thread(hit, probe);

	return thread && enter_followed(thread, hit, probe);
}

bool patch_enter_followed(struct patch_hit *hit, struct patch_hot *probe)
{
	struct hit_thread *thread = load_self();

	return is_at_once(thread, hit) ? enter_followed(thread, hit, probe)
				       : enter_followed_slowly(hit, probe);
}

void patch_clock(uint64_t unit)
{
	/* Relaxed: a number only. */
	__atomic_store_n(&clock_unit, unit, __ATOMIC_RELAXED);
}

/*
 * The call began before the place was set anew, with other code or the same: the exit handler of whoever goes on with it. The thread is in
 * that one then.
 */
static __attribute__((noinline)) patch_handler goes_on(struct hit_thread *thread,
		const struct patch_return *each, struct patch_hot **probe)
{
	/* Relaxed: it belongs to the same place for good. */
	int32_t away = __atomic_load_n(&(*probe)->successor, __ATOMIC_RELAXED);
	patch_handler handler;

	*probe += away;
	if (away)
		enter_thread(thread, *probe);
	/* Acquire: since when. Pairs with the release in patch_set_prepare_probe(). */
	handler = __atomic_load_n(&(*probe)->exit, __ATOMIC_ACQUIRE);
	return (int32_t)(each->generation - __atomic_load_n(&(*probe)->since, __ATOMIC_RELAXED)) >=
					0
			? handler
			: NULL;
}

/* Keeps nothing but these while the handler runs. */
static inline __attribute__((always_inline)) void leave(struct hit_thread *thread,
		struct patch_hit *hit, uint64_t *stack_slot, struct patch_return *each)
{
	struct patch_hot *probe = each->probe;
	patch_handler handler;

	enter_thread(thread, probe);
	handler = __atomic_load_n(&probe->exit, __ATOMIC_RELAXED);
	if (__builtin_expect(!handler, 0) ||
			__builtin_expect(__atomic_load_n(&probe->generation, __ATOMIC_RELAXED) !=
							each->generation,
					0))
		handler = goes_on(thread, each, &probe);
	if (__builtin_expect(handler != NULL, 1)) {
		hit->now = __builtin_ia32_rdtsc();
		hit->elapsed = (uint64_t)((unsigned __int128)(hit->now - each->began) *
						__atomic_load_n(&clock_unit, __ATOMIC_RELAXED) >>
				32);
		patch_hit_record(hit, probe);
		hit->stack = each->slot + 1;
		hit->call = each->call;
		hit->returns_to = each->address;
		handler(hit);
	}
	/* What it says is right until a signal takes it: so before it is given back. */
	*stack_slot = each->address;
	light_barrier();
	close_call(thread, each, stack_slot);
	leave_thread(thread);
}

/* A signal inside of a handler, or no room: the call is found to be over later. */
static __attribute__((noinline)) void leave_slowly(
		struct patch_hit *hit, uint64_t *stack_slot, struct patch_return *each)
{
	struct hit_thread *thread = find_thread(hit, NULL);

	if (thread)
		leave(thread, hit, stack_slot, each);
	else
		*stack_slot = next_of(each);
}

void patch_leave(struct patch_hit *hit, uint64_t *stack_slot)
{
	struct patch_return *each = &returns[(uint32_t)*stack_slot];
	struct hit_thread *thread = load_self();

	if (is_at_once(thread, hit))
		leave(thread, hit, stack_slot, each);
	else
		leave_slowly(hit, stack_slot, each);
}

/* Calls that have not returned yet, or never will and nobody has noticed. */
static uint64_t open_calls(void)
{
	/* Relaxed, as those below: a figure. */
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

void patch_hit_stats(struct patch_stats *stats)
{
	for (uint32_t i = 0; i < nr_threads && i < THREADS_MAX; i++) {
		/* Relaxed: figures. */
		stats->cut += __atomic_load_n(&threads[i].cut, __ATOMIC_RELAXED);
		stats->unseen += __atomic_load_n(&threads[i].unseen, __ATOMIC_RELAXED);
		stats->abandoned += __atomic_load_n(&threads[i].abandoned, __ATOMIC_RELAXED);
	}
	stats->lost = __atomic_load_n(&lost, __ATOMIC_RELAXED) +
			__atomic_load_n(&foreign, __ATOMIC_RELAXED);
	stats->open = open_calls();
}
