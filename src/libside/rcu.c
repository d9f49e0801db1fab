/* SPDX-License-Identifier: MIT */
/* Implements read-copy-update: the readers of threads, and grace periods (rcu.h). */
#include "rcu.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/environment/environment.h"
#include "lock.h"

enum {
	FIRST_READERS = 63,
	READERS_IN_SANDBOX = 1023,
	SPINS = 200, /* checks of a reader before the first sleep */
	LONGEST_SLEEP_US = 1000,
	SLEEPS_A_LIVENESS_CHECK = 64,
};

/* Readers are in chunks. The first is static, the others are mapped and never unmapped. */
struct reader_chunk {
	struct reader_chunk *next;
	uint32_t capacity;
	uint32_t used; /* readers that were ever used */
	struct rcu_reader *readers;
};

static struct rcu_reader first_readers[FIRST_READERS];
static struct reader_chunk first_chunk = {.capacity = FIRST_READERS, .readers = first_readers};

static struct rcu_reader no_reader = {.epoch = RCU_NO_READER};

struct side_tracer_sections rcu_shared = {.gp = RCU_SLOW | RCU_ALWAYS};
static uintptr_t last_elapsed;
__thread struct rcu_reader *rcu_self = &no_reader;

/* The id of a reader whose thread could not make a system call: it is never treated as exited. */
#define UNKNOWN_THREAD UINT32_MAX
#define TRIES_WITHOUT_CALLS 10000

/* Number of sandboxes: new threads may be in one, where no system call is allowed. */
static uint32_t sandboxes;

/*
 * Protects the lists below. Held for a moment, with all signals blocked (in a sandbox with none).
 * Reset in a forked child.
 */
static struct futex_lock readers_lock;
static struct reader_chunk *last_chunk = &first_chunk;
static struct rcu_reader *free_readers;
static pid_t owner_pid;

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

static void full_fence(void)
{
#ifdef __SANITIZE_THREAD__
	/*
	 * Full fence: ThreadSanitizer does not support fences. This operation orders as much as a
	 * fence.
	 */
	static uintptr_t anything;

	(void)__atomic_add_fetch(&anything, 1, __ATOMIC_SEQ_CST);
#else
	/* Full fence: each caller names its partner. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

static bool rcu_reader_thread_has_exited(uint32_t tid)
{
	int saved_errno = errno;
	bool gone = tid != UNKNOWN_THREAD && syscall(SYS_tgkill, getpid(), tid, 0) == -1 &&
			errno == ESRCH;

	errno = saved_errno;
	return gone;
}

static void rcu_free_reader(struct rcu_reader *reader)
{
	/*
	 * A thread that ended inside a section (pthread_exit in a callback) leaves its epoch.
	 * Acquire: the end of its last section. Pairs with the release in section_leave(). Release:
	 * pairs with the acquire in rcu_reader_is_older(). Without an epoch there is no store,
	 * because a waiter must still see the release of the last section.
	 */
	if (__atomic_load_n(&reader->epoch, __ATOMIC_ACQUIRE))
		__atomic_store_n(&reader->epoch, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&reader->tid, 0, __ATOMIC_RELAXED);
	reader->next_free = free_readers;
	free_readers = reader;
}

/*
 * Free the readers of exited threads. The caller has no reader, so a reader with its id is reused.
 */
static uint32_t rcu_sweep_readers(uint32_t my_tid, uint32_t *ret_total)
{
	struct reader_chunk *chunk;
	uint32_t i, freed = 0;

	*ret_total = 0;
	for (chunk = &first_chunk; chunk; chunk = chunk->next) {
		*ret_total += chunk->used;
		for (i = 0; i < chunk->used; i++) {
			struct rcu_reader *reader = &chunk->readers[i];

			if (!reader->tid ||
					(reader->tid != my_tid &&
							!rcu_reader_thread_has_exited(reader->tid)))
				continue;
			rcu_free_reader(reader);
			freed++;
		}
	}
	return freed;
}

static void rcu_reader_add_chunk(uint32_t capacity)
{
	size_t readers_size = capacity * sizeof(struct rcu_reader);
	struct reader_chunk *chunk;
	int saved_errno = errno;
	char *memory;

	memory = mmap(NULL, readers_size + sizeof(*chunk), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	errno = saved_errno;
	if (memory == MAP_FAILED)
		return;
	chunk = (struct reader_chunk *)(void *)(memory + readers_size);
	chunk->capacity = capacity;
	chunk->readers = (struct rcu_reader *)(void *)memory;
	/*
	 * Release: the chunk before the pointer to it. Pairs with the acquire in rcu_has_elapsed().
	 */
	__atomic_store_n(&last_chunk->next, chunk, __ATOMIC_RELEASE);
	last_chunk = chunk;
}

/* Take a reader that needs no allocation, or return NULL. */
static struct rcu_reader *rcu_take_ready_reader(uint32_t my_tid)
{
	struct rcu_reader *reader = free_readers;

	if (reader) {
		free_readers = reader->next_free;
	} else if (last_chunk->used < last_chunk->capacity) {
		reader = &last_chunk->readers[last_chunk->used];
		/*
		 * Release: pairs with the acquire in rcu_has_elapsed(), which must see our epoch.
		 */
		__atomic_store_n(&last_chunk->used, last_chunk->used + 1, __ATOMIC_RELEASE);
	} else {
		return NULL;
	}
	__atomic_store_n(&reader->tid, my_tid, __ATOMIC_RELAXED);
	return reader;
}

static struct rcu_reader *rcu_take_reader(uint32_t my_tid)
{
	uint32_t total;

	if (!free_readers && last_chunk->used == last_chunk->capacity &&
			rcu_sweep_readers(my_tid, &total) < total / 2)
		rcu_reader_add_chunk(total * 2);
	return rcu_take_ready_reader(my_tid);
}

/*
 * Take the reader of an exited thread whose thread pointer this thread has now, because a check
 * whether that thread exists is not possible. The lock excludes other threads; a signal handler
 * that interrupts this function cannot take the lock.
 */
static struct rcu_reader *rcu_inherit_reader(uintptr_t identity)
{
	struct reader_chunk *chunk;
	uint32_t i;

	for (chunk = &first_chunk; chunk; chunk = chunk->next) {
		for (i = 0; i < chunk->used; i++) {
			struct rcu_reader *reader = &chunk->readers[i];

			if (reader->tid != UNKNOWN_THREAD || reader->identity != identity)
				continue;
			/* Acquire: as in rcu_free_reader(). Release: as in rcu_free_reader(). */
			if (__atomic_load_n(&reader->epoch, __ATOMIC_ACQUIRE))
				__atomic_store_n(&reader->epoch, 0, __ATOMIC_RELEASE);
			return reader;
		}
	}
	return NULL;
}

/*
 * In a sandbox: make no system call, and leave the signals unblocked. The event is not recorded in
 * a signal handler that interrupted this function, and if the lock is held for long.
 */
static struct rcu_reader *rcu_attach_in_sandbox(void)
{
	uintptr_t identity = thread_identity();
	struct rcu_reader *reader;
	unsigned int tries;

	for (tries = 0; tries < TRIES_WITHOUT_CALLS && !futex_trylock(&readers_lock); tries++)
		;
	if (tries == TRIES_WITHOUT_CALLS)
		return NULL;
	/* A signal handler may have attached a reader before the lock was taken. */
	reader = rcu_self;
	if (reader == &no_reader) {
		reader = rcu_inherit_reader(identity);
		if (!reader)
			reader = rcu_take_ready_reader(UNKNOWN_THREAD);
		if (reader) {
			reader->identity = identity;
			rcu_self = reader;
		}
	}
	futex_unlock(&readers_lock);
	return reader;
}

/*
 * A mask of all signals except those of instructions, because a thread that runs into a breakpoint
 * with them blocked is killed, and those that the C library uses itself, like pthread_sigmask().
 * Built without sigfillset() and pthread_sigmask(): they use vector registers, which a probe hit
 * has not saved.
 */
struct mask {
	unsigned long words[8 / sizeof(unsigned long)];
};

static void rcu_mask_signals(const struct mask *mask, struct mask *before)
{
	(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, mask, before, sizeof(*mask));
}

static const struct mask *rcu_fill_mask(struct mask *all)
{
	static const unsigned int not_these[] = {SIGTRAP, SIGILL, 32, 33};
	const unsigned int bits = 8 * sizeof(unsigned long);
	size_t i;

	for (i = 0; i < sizeof(all->words) / sizeof(all->words[0]); i++)
		all->words[i] = ~0ul;
	for (i = 0; i < sizeof(not_these) / sizeof(not_these[0]); i++)
		all->words[(not_these[i] - 1) / bits] &= ~(1ul << ((not_these[i] - 1) % bits));
	return all;
}

/*
 * Give the calling thread a reader. Signals are blocked, so that a signal handler that emits the
 * first event of its thread does not find the lock held by the code it interrupted.
 */
static struct rcu_reader *rcu_attach_reader(void)
{
	struct rcu_reader *reader = NULL;
	int saved_errno = errno;
	struct mask all, before;

	/* Relaxed: a thread of a sandbox was created after the store, or made it. */
	if (__atomic_load_n(&sandboxes, __ATOMIC_RELAXED))
		return rcu_attach_in_sandbox();
	rcu_mask_signals(rcu_fill_mask(&all), &before);
	/* A child of vfork or clone shares this memory and must not change it. */
	if (rcu_self == &no_reader && getpid() == owner_pid) {
		futex_lock(&readers_lock);
		reader = rcu_take_reader((uint32_t)syscall(SYS_gettid));
		futex_unlock(&readers_lock);
		if (reader)
			rcu_self = reader;
	} else if (rcu_self != &no_reader) {
		reader = rcu_self;
	}
	rcu_mask_signals(&before, NULL);
	errno = saved_errno;
	return reader;
}

void rcu_sandbox_begins(void)
{
	int saved_errno = errno;
	struct mask all, before;

	/* Relaxed: only checks whether the library runs. */
	if (!(__atomic_load_n(&rcu_shared.gp, __ATOMIC_RELAXED) & RCU_READY))
		return;
	if (rcu_self == &no_reader)
		(void)rcu_attach_reader();
	rcu_mask_signals(rcu_fill_mask(&all), &before);
	futex_lock(&readers_lock);
	/*
	 * Prepare readers for later threads, because threads inside the sandbox cannot allocate
	 * them.
	 */
	if (last_chunk->capacity - last_chunk->used < READERS_IN_SANDBOX / 2)
		rcu_reader_add_chunk(READERS_IN_SANDBOX);
	futex_unlock(&readers_lock);
	__atomic_add_fetch(&sandboxes, 1, __ATOMIC_RELAXED);
	rcu_mask_signals(&before, NULL);
	errno = saved_errno;
}

void rcu_sandbox_failed(void)
{
	uint32_t seen = __atomic_load_n(&sandboxes, __ATOMIC_RELAXED);

	/* 0: the sandbox began before the library ran. */
	while (seen &&
			!__atomic_compare_exchange_n(&sandboxes, &seen, seen - 1, true,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

struct rcu_reader *rcu_enter_slow(bool *ret_outermost)
{
	struct rcu_reader *reader = rcu_self;
	/* Acquire: owner_pid. Pairs with the release in rcu_start(). */
	uintptr_t gp = __atomic_load_n(&rcu_shared.gp, __ATOMIC_ACQUIRE);

	*ret_outermost = false;
	if (!(gp & RCU_READY))
		return NULL;
	if (reader == &no_reader) {
		reader = rcu_attach_reader();
		if (!reader)
			return NULL;
	}
	/* Relaxed: only this thread writes its epoch. */
	if (__atomic_load_n(&reader->epoch, __ATOMIC_RELAXED))
		return reader;
	*ret_outermost = true;
	/*
	 * Sequentially consistent, both: the epoch before the loads of the
	 * section. Pairs with the fence in rcu_all_threads_barrier().
	 */
	__atomic_store_n(&reader->epoch, gp, __ATOMIC_SEQ_CST);
	full_fence();
	return reader;
}

static int rcu_membarrier(int command)
{
	int saved_errno = errno;
	int result = (int)syscall(SYS_membarrier, command, 0, 0);

	if (result < 0)
		result = -errno;
	errno = saved_errno;
	return result;
}

static void rcu_sleep_us(long us)
{
	struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
	int saved_errno = errno;

	/* The system call: clock_nanosleep() of the C library is a cancellation point. */
	(void)syscall(SYS_nanosleep, &time, NULL);
	errno = saved_errno;
}

#if defined(__x86_64__) && defined(__LP64__)
/*
 * Find the distance of rcu_self from the thread pointer. The loader resolves a TLS descriptor to a
 * function and its argument. If the variable is at a fixed distance from the thread pointer, the
 * argument is that distance. Otherwise it is a pointer, which never equals a distance between two
 * addresses in these regions. In a program (not a library) the linker stores the distance itself in
 * place of the descriptor's address.
 */
static void rcu_find_self_distance(void)
{
	intptr_t distance = (char *)&rcu_self - (char *)__builtin_thread_pointer();
	const intptr_t *descriptor;

	__asm__("lea rcu_self@tlsdesc(%%rip), %%rax" : "=a"(descriptor));
	if ((intptr_t)descriptor == distance || descriptor[1] == distance)
		__atomic_store_n(&rcu_shared.self_distance, distance, __ATOMIC_RELAXED);
}
#else
static void rcu_find_self_distance(void) {}
#endif

void rcu_start(void)
{
	const char *choice;
	uintptr_t gp = RCU_SLOW | RCU_ALWAYS;
	uintptr_t first = RCU_STEP | RCU_READY | RCU_ALWAYS;

	/* Relaxed: the exchange below checks the value again. */
	if (__atomic_load_n(&rcu_shared.gp, __ATOMIC_RELAXED) != gp)
		return;
	owner_pid = getpid();
	rcu_find_self_distance();
	choice = environment_get("SIDE_RCU");
	if ((choice && !strcmp(choice, "fence")) ||
			rcu_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) < 0)
		first |= RCU_FENCE | RCU_SLOW;
	/* Release: owner_pid first. Pairs with the acquire in rcu_enter_slow(). */
	(void)__atomic_compare_exchange_n(
			&rcu_shared.gp, &gp, first, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void rcu_finish(void)
{
	/*
	 * Relaxed: sections that begin at this moment find empty arrays or old ones, both complete.
	 */
	(void)__atomic_or_fetch(&rcu_shared.gp, (uintptr_t)RCU_SLOW, __ATOMIC_RELAXED);
	(void)__atomic_and_fetch(&rcu_shared.gp, ~(uintptr_t)RCU_READY, __ATOMIC_RELAXED);
}

/*
 * Make every thread execute a full barrier between the beginning and the end of this call.
 *
 * After its registration, membarrier fails only if a seccomp filter was installed. Then readers are
 * switched to the slow path, which fences. A sleep lets the stores of readers that had read the old
 * flags leave the store buffer, which takes microseconds at most. RCU_FENCE is set last: it tells
 * other writers that this is done.
 */
static void rcu_all_threads_barrier(void)
{
	/*
	 * Full fence: unpublishing before the loads of the epochs. Pairs with the fence in
	 * rcu_enter_slow().
	 */
	full_fence();
	if (__atomic_load_n(&rcu_shared.gp, __ATOMIC_RELAXED) & RCU_FENCE)
		return;
	if (rcu_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0)
		return;
	if (rcu_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
			rcu_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0)
		return;
	/*
	 * Sequentially consistent, both: readers use fences before other writers rely on them.
	 * Pairs with the fence in rcu_enter_slow().
	 */
	(void)__atomic_or_fetch(&rcu_shared.gp, (uintptr_t)RCU_SLOW, __ATOMIC_SEQ_CST);
	rcu_sleep_us(50000);
	(void)__atomic_or_fetch(&rcu_shared.gp, (uintptr_t)RCU_FENCE, __ATOMIC_SEQ_CST);
}

uintptr_t rcu_begin_grace_period(void)
{
	/*
	 * Sequentially consistent: unpublishing before the new epoch, and that before the loads of
	 * the epochs. Pairs with the fence in rcu_enter_slow().
	 */
	uintptr_t gp = __atomic_add_fetch(&rcu_shared.gp, RCU_STEP, __ATOMIC_SEQ_CST);

	rcu_all_threads_barrier();
	return gp & ~(uintptr_t)RCU_FLAGS;
}

/* Whether this reader delays the grace period. */
static bool rcu_reader_is_older(const struct rcu_reader *reader, uintptr_t grace_period)
{
	/*
	 * Acquire: the reads of its sections. Pairs with the releases in section_enter() and
	 * section_leave().
	 */
	uintptr_t epoch = __atomic_load_n(&reader->epoch, __ATOMIC_ACQUIRE);

	return epoch != 0 && (intptr_t)(epoch - grace_period) < 0;
}

static void rcu_note_elapsed(uintptr_t grace_period)
{
	/* Relaxed: the exchange below checks the value again. */
	uintptr_t seen = __atomic_load_n(&last_elapsed, __ATOMIC_RELAXED);

	/*
	 * Acquire and release: the ends of the readers' sections before the number. Pairs with the
	 * acquire in rcu_last_elapsed().
	 */
	while ((intptr_t)(seen - grace_period) < 0 &&
			!__atomic_compare_exchange_n(&last_elapsed, &seen, grace_period, false,
					__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
}

bool rcu_has_elapsed(uintptr_t grace_period)
{
	struct reader_chunk *chunk;
	uint32_t i, used;

	/*
	 * Acquire, both: the chunk and its readers. Pairs with the releases in
	 * rcu_reader_add_chunk() and rcu_take_ready_reader().
	 */
	for (chunk = &first_chunk; chunk; chunk = __atomic_load_n(&chunk->next, __ATOMIC_ACQUIRE)) {
		used = __atomic_load_n(&chunk->used, __ATOMIC_ACQUIRE);
		for (i = 0; i < used; i++) {
			if (rcu_reader_is_older(&chunk->readers[i], grace_period))
				return false;
		}
	}
	rcu_note_elapsed(grace_period);
	return true;
}

/*
 * Free a reader whose thread ended inside a section (pthread_exit in a callback), so that it delays
 * nothing.
 */
static bool rcu_free_if_exited(struct rcu_reader *reader)
{
	uint32_t tid = __atomic_load_n(&reader->tid, __ATOMIC_RELAXED);
	struct mask all, before;

	if (!tid || !rcu_reader_thread_has_exited(tid))
		return false;
	rcu_mask_signals(rcu_fill_mask(&all), &before);
	futex_lock(&readers_lock);
	/* Another thread may have freed it, and a new thread may have taken it. */
	if (reader->tid == tid)
		rcu_free_reader(reader);
	futex_unlock(&readers_lock);
	rcu_mask_signals(&before, NULL);
	return true;
}

void rcu_free_exited(uintptr_t grace_period)
{
	struct reader_chunk *chunk;
	uint32_t i, used;

	/* Acquire, both: as in rcu_has_elapsed(). */
	for (chunk = &first_chunk; chunk; chunk = __atomic_load_n(&chunk->next, __ATOMIC_ACQUIRE)) {
		used = __atomic_load_n(&chunk->used, __ATOMIC_ACQUIRE);
		for (i = 0; i < used; i++) {
			if (rcu_reader_is_older(&chunk->readers[i], grace_period))
				(void)rcu_free_if_exited(&chunk->readers[i]);
		}
	}
}

/* Poll with growing pauses: readers wake no thread, because that would make each event slower. */
static void rcu_wait_for_reader(struct rcu_reader *reader, uintptr_t grace_period)
{
	unsigned int spins, sleeps;
	long pause_us = 10;

	for (spins = 0; spins < SPINS; spins++) {
		if (!rcu_reader_is_older(reader, grace_period))
			return;
#if defined(__x86_64__) || defined(__i386__)
		__builtin_ia32_pause();
#endif
	}
	for (sleeps = 1; rcu_reader_is_older(reader, grace_period); sleeps++) {
		rcu_sleep_us(pause_us);
		if (pause_us < LONGEST_SLEEP_US)
			pause_us *= 2;
		if (sleeps % SLEEPS_A_LIVENESS_CHECK == 0 && rcu_free_if_exited(reader))
			return;
	}
}

void rcu_synchronize(void)
{
	struct reader_chunk *chunk;
	uintptr_t grace_period;
	uint32_t i, used;

	grace_period = rcu_begin_grace_period();
	/* Acquire, both: as in rcu_has_elapsed(). */
	for (chunk = &first_chunk; chunk; chunk = __atomic_load_n(&chunk->next, __ATOMIC_ACQUIRE)) {
		used = __atomic_load_n(&chunk->used, __ATOMIC_ACQUIRE);
		for (i = 0; i < used; i++)
			rcu_wait_for_reader(&chunk->readers[i], grace_period);
	}
	rcu_note_elapsed(grace_period);
}

uintptr_t rcu_now(void)
{
	/*
	 * Full fence: the unpublishing before the epoch. Pairs with the access in
	 * rcu_begin_grace_period().
	 */
	full_fence();
	return __atomic_load_n(&rcu_shared.gp, __ATOMIC_RELAXED);
}

uintptr_t rcu_last_elapsed(void)
{
	/*
	 * Acquire: the ends of the readers' sections. Pairs with the release in rcu_note_elapsed().
	 */
	return __atomic_load_n(&last_elapsed, __ATOMIC_ACQUIRE);
}

void rcu_after_fork_in_child(void)
{
	struct reader_chunk *chunk;
	uint32_t i;

	readers_lock.word = 0;
	free_readers = NULL;
	last_chunk = &first_chunk;
	for (chunk = &first_chunk; chunk; chunk = chunk->next) {
		last_chunk = chunk;
		for (i = 0; i < chunk->used; i++) {
			if (&chunk->readers[i] != rcu_self)
				rcu_free_reader(&chunk->readers[i]);
		}
	}
	if (rcu_self != &no_reader)
		rcu_self->tid = (uint32_t)syscall(SYS_gettid);
	owner_pid = getpid();
}
