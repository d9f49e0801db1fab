/* SPDX-License-Identifier: MIT */
/*
 * Exact values of readers, grace periods, and of the choice of the libraries that libside loads.
 * The files are included: the test decides what system calls, the dynamic loader and the
 * environment return.
 */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/inside/loaded-symbol.h"
#include "libside/lock.h"

/* ---- system calls ---- */

static long hooked_call(long number, const long *words);
static void *hooked_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);

static const char *hooked_variable(const char *name);
static bool hooked_on(const char *name);

/* Numbers and pointers; arguments that a call leaves out are 0. */
#define syscall(...) CALL_OF_SIX(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define CALL_OF_SIX(number, a, b, c, d, e, f, ...)                                            \
	hooked_call(number,                                                                   \
			(const long[]){(long)(a), (long)(b), (long)(c), (long)(d), (long)(e), \
					(long)(f)})
#define mmap hooked_mmap
static int locked; /* whether the lock of the list of readers is held */

static void hooked_lock(struct futex_lock *lock)
{
	futex_lock(lock);
	locked++;
}

static bool hooked_trylock(struct futex_lock *lock)
{
	bool is_taken = futex_trylock(lock);

	locked += is_taken;
	return is_taken;
}

static void hooked_unlock(struct futex_lock *lock)
{
	if (locked-- != 1)
		abort();
	futex_unlock(lock);
}

#define futex_lock(lock) hooked_lock(lock)
#define futex_trylock(lock) hooked_trylock(lock)
#define futex_unlock(lock) hooked_unlock(lock)
/*
 * A missing fence has an effect only on another processor, and rarely: so the test counts fences.
 */
static unsigned int nr_fences;
#define __atomic_thread_fence(order) (CHECK_FENCE(order), (void)nr_fences++)
#define CHECK_FENCE(order) ((order) == __ATOMIC_SEQ_CST ? (void)0 : abort())
#define environment_get hooked_variable
#define environment_is_on hooked_on
#include "libside/rcu.c"
#undef syscall
#undef mmap
#undef __atomic_thread_fence
#undef futex_lock
#undef futex_trylock
#undef futex_unlock

#include "event.h"

enum { MINE = 1000, GONE = 4000001, ALIVE = 4000002 };

static struct {
	int barriers[4]; /* results of rcu_membarrier(), in turn */
	unsigned int nr_barriers, nr_sleeps, nr_masks, nr_questions;
	long commands[4], slept_us[256];
	void (*acts)(void); /* while it sleeps */
	unsigned int acts_at;
	uint64_t mask;
	bool no_memory;
	size_t mapped;
	unsigned int nr_mapped;
	bool is_locked;               /* the list of readers, at the last mapping */
	void (*on_mask)(bool blocks); /* before signals are blocked or unblocked */
} calls;

static long hooked_sleep(const struct timespec *time)
{
	CHECK(calls.nr_sleeps < 256);
	calls.slept_us[calls.nr_sleeps++] = time->tv_sec * 1000000 + time->tv_nsec / 1000;
	if (calls.acts && calls.nr_sleeps == calls.acts_at)
		calls.acts();
	errno = EINTR;
	return -1;
}

static long hooked_call(long number, const long *words)
{
	int ret;

	switch (number) {
	case SYS_gettid: return MINE;
	case SYS_nanosleep: return hooked_sleep((const struct timespec *)words[0]);
	case SYS_membarrier:
		CHECK(calls.nr_barriers < 4 && !words[1] && !words[2]);
		calls.commands[calls.nr_barriers] = words[0];
		ret = calls.barriers[calls.nr_barriers++];
		errno = ret ? ret : errno;
		return ret ? -1 : 0;
	case SYS_tgkill:
		CHECK(words[0] == getpid() && !words[2]);
		calls.nr_questions++;
		errno = words[1] == GONE ? ESRCH : EPERM;
		return -1;
	case SYS_rt_sigprocmask:
		calls.nr_masks++;
		if (calls.on_mask)
			calls.on_mask(words[2]);
		CHECK(words[0] == SIG_SETMASK && words[3] == 8);
		if (words[2]) {
			memcpy(&calls.mask, (const void *)words[1], 8);
			memset((void *)words[2], 0x55, 8);
		} else {
			CHECK(*(const uint64_t *)words[1] == UINT64_C(0x5555555555555555));
		}
		return 0;
	default: abort();
	}
}

static void *hooked_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	CHECK(!at && protection == (PROT_READ | PROT_WRITE) &&
			flags == (MAP_PRIVATE | MAP_ANONYMOUS) && fd == -1 && !offset);
	errno = ENOMEM;
	if (calls.no_memory)
		return MAP_FAILED;
	calls.mapped = size;
	calls.nr_mapped++;
	calls.is_locked = readers_lock.word;
	return mmap(at, size, protection, flags, fd, offset);
}

/* Resets all readers to their initial state. */
static void reset(void)
{
	while (first_chunk.next) {
		struct reader_chunk *chunk = first_chunk.next;

		first_chunk.next = chunk->next;
		CHECK(!munmap(chunk->readers,
				chunk->capacity * sizeof(struct rcu_reader) + sizeof(*chunk)));
	}
	memset(first_readers, 0, sizeof(first_readers));
	first_chunk = (struct reader_chunk){.capacity = FIRST_READERS, .readers = first_readers};
	last_chunk = &first_chunk;
	free_readers = NULL;
	rcu_self = &no_reader;
	rcu_shared.gp = RCU_STEP | RCU_READY | RCU_ALWAYS;
	last_elapsed = 0;
	sandboxes = 0;
	owner_pid = getpid();
	memset(&calls, 0, sizeof(calls));
	CHECK(!readers_lock.word);
}

/* So many readers of threads, of which the first ones are gone. */
static void use_readers(uint32_t nr, uint32_t nr_gone)
{
	for (uint32_t i = 0; i < nr; i++)
		CHECK(rcu_take_ready_reader(i < nr_gone ? GONE : ALIVE));
}

/* ---- readers ---- */

static void test_gone(void)
{
	reset();
	errno = E2BIG;
	CHECK(rcu_reader_thread_has_exited(GONE) && !rcu_reader_thread_has_exited(ALIVE) &&
			errno == E2BIG);
	CHECK_EQUAL(calls.nr_questions, 2);
	CHECK(!rcu_reader_thread_has_exited(UNKNOWN_THREAD));
	CHECK_EQUAL(calls.nr_questions, 2);
}

static void test_sweep(void)
{
	uint32_t total = 0;

	reset();
	use_readers(7, 2);
	first_readers[3].tid = 0;
	first_readers[4].tid = UNKNOWN_THREAD;
	first_readers[6].tid = MINE;
	first_readers[6].epoch = 99;
	CHECK_EQUAL(rcu_sweep_readers(MINE, &total), 3);
	CHECK_EQUAL(total, 7);
	CHECK(!first_readers[0].tid && !first_readers[1].tid && !first_readers[6].tid);
	CHECK(!first_readers[6].epoch && first_readers[2].tid == ALIVE &&
			first_readers[4].tid == UNKNOWN_THREAD);
	/* The reader that was freed last is taken first. */
	CHECK(rcu_take_ready_reader(5) == &first_readers[6] && first_readers[6].tid == 5);
	CHECK(rcu_take_ready_reader(5) == &first_readers[1] &&
			rcu_take_ready_reader(5) == first_readers);
	CHECK(rcu_take_ready_reader(5) == &first_readers[7]);
	/* A reader that was never taken has no thread, whatever is in its memory. */
	first_readers[8].tid = GONE;
	CHECK_EQUAL(rcu_sweep_readers(MINE, &total), 0);
	CHECK(total == 8 && first_readers[8].tid == GONE);
}

/* A chunk is added if less than half of the readers could be freed. */
static void test_chunks(void)
{
	struct rcu_reader *reader;

	reset();
	use_readers(FIRST_READERS, 31);
	CHECK(!rcu_take_ready_reader(5));
	CHECK(rcu_take_reader(5) && !calls.nr_mapped);
	reset();
	use_readers(FIRST_READERS, 30);
	CHECK(rcu_take_reader(5));
	CHECK_EQUAL(calls.nr_mapped, 1);
	CHECK_EQUAL(calls.mapped, 126 * sizeof(struct rcu_reader) + sizeof(struct reader_chunk));
	CHECK(last_chunk == first_chunk.next && last_chunk->capacity == 126 && !last_chunk->used);
	for (int i = 1; i < 30; i++)
		CHECK(rcu_take_reader(5));
	CHECK(!last_chunk->used);
	reader = rcu_take_reader(5);
	CHECK(reader == &last_chunk->readers[0] && last_chunk->used == 1);
	CHECK(!((uintptr_t)reader & 63));
	/* Out of memory. */
	reset();
	use_readers(FIRST_READERS, 0);
	calls.no_memory = true;
	errno = E2BIG;
	CHECK(!rcu_take_reader(5) && errno == E2BIG && last_chunk == &first_chunk);
	calls.no_memory = false;
	CHECK(rcu_take_reader(5) && last_chunk->used == 1 && errno == E2BIG);
}

static void test_inherit(void)
{
	reset();
	use_readers(3, 0);
	first_readers[1].identity = 77;
	CHECK(!rcu_inherit_reader(77));
	first_readers[1].tid = UNKNOWN_THREAD;
	first_readers[1].epoch = 5;
	CHECK(!rcu_inherit_reader(78) && first_readers[1].epoch == 5);
	CHECK(rcu_inherit_reader(77) == &first_readers[1] && !first_readers[1].epoch);
	first_readers[3].tid = UNKNOWN_THREAD;
	first_readers[3].identity = 79;
	CHECK(!rcu_inherit_reader(79));
	first_readers[0].tid = UNKNOWN_THREAD;
	first_readers[0].identity = 80;
	CHECK(rcu_inherit_reader(80) == &first_readers[0]);
}

static void test_attach(void)
{
	struct rcu_reader *reader;

	reset();
	errno = E2BIG;
	reader = rcu_attach_reader();
	CHECK(reader == first_readers && rcu_self == reader && reader->tid == MINE);
	CHECK(errno == E2BIG && !readers_lock.word && calls.nr_masks == 2);
	/* All but SIGTRAP, SIGILL and the signals 32 and 33. */
	CHECK(calls.mask == ~(1ull << 4 | 1ull << 3 | 1ull << 31 | 1ull << 32));
	/* In a sandbox that forbids the call. */
	rcu_self = &no_reader;
	sandboxes = 1;
	reader = rcu_attach_reader();
	CHECK(reader == &first_readers[1] && rcu_self == reader && reader->tid == UNKNOWN_THREAD);
	CHECK(reader->identity == thread_identity() && calls.nr_masks == 2 && !readers_lock.word);
	rcu_self = &no_reader;
	CHECK(rcu_attach_reader() == reader && first_chunk.used == 2);
	/* Another thread holds the lock for a long time. */
	rcu_self = &no_reader;
	readers_lock.word = 1;
	CHECK(!rcu_attach_reader() && rcu_self == &no_reader && readers_lock.word == 1);
	readers_lock.word = 0;
	/* A handler has taken a reader first. */
	rcu_self = &first_readers[5];
	CHECK(rcu_attach_reader() == &first_readers[5] && first_chunk.used == 2);
	sandboxes = 0;
	CHECK(rcu_attach_reader() == &first_readers[5] && first_chunk.used == 2);
	/* A child of vfork(). */
	rcu_self = &no_reader;
	owner_pid = 1;
	CHECK(!rcu_attach_reader() && rcu_self == &no_reader && first_chunk.used == 2);
	owner_pid = getpid();
	CHECK(calls.nr_masks == 6 && !readers_lock.word);
	/* No reader is free. */
	first_readers[0].tid = ALIVE;
	use_readers(FIRST_READERS - 2, 0);
	calls.no_memory = true;
	rcu_self = &no_reader;
	CHECK(!rcu_attach_reader() && rcu_self == &no_reader && !readers_lock.word);
	sandboxes = 1;
	first_readers[1].identity = 0;
	CHECK(!rcu_attach_reader() && rcu_self == &no_reader && !readers_lock.word);
	reset();
}

static void test_sandbox(void)
{
	reset();
	rcu_shared.gp = RCU_SLOW | RCU_ALWAYS;
	rcu_sandbox_begins();
	CHECK(!sandboxes && rcu_self == &no_reader && !calls.nr_masks);
	rcu_sandbox_failed();
	CHECK_EQUAL(sandboxes, 0);
	rcu_shared.gp = RCU_STEP | RCU_READY | RCU_ALWAYS;
	errno = E2BIG;
	rcu_sandbox_begins();
	CHECK(sandboxes == 1 && rcu_self == first_readers && errno == E2BIG);
	CHECK(last_chunk->capacity == 1023 && calls.nr_mapped == 1 && !readers_lock.word);
	CHECK(calls.is_locked && calls.nr_masks == 4);
	/* 511 readers are enough. */
	last_chunk->used = 1023 - 511;
	rcu_sandbox_begins();
	CHECK(sandboxes == 2 && calls.nr_mapped == 1);
	last_chunk->used++;
	rcu_sandbox_begins();
	CHECK(sandboxes == 3 && calls.nr_mapped == 2);
	rcu_sandbox_failed();
	CHECK_EQUAL(sandboxes, 2);
	reset();
}

static void test_enter(void)
{
	struct rcu_reader *reader;
	bool outermost = true;

	reset();
	nr_fences = 0;
	rcu_shared.gp = RCU_STEP | RCU_ALWAYS;
	CHECK(!rcu_enter_slow(&outermost) && !outermost && rcu_self == &no_reader);
	rcu_shared.gp = 5 * RCU_STEP | RCU_READY | RCU_ALWAYS;
	reader = rcu_enter_slow(&outermost);
	CHECK(reader == first_readers && outermost &&
			reader->epoch == (5 * RCU_STEP | RCU_READY | RCU_ALWAYS));
	CHECK_EQUAL(nr_fences, 1);
	CHECK(rcu_inside() && rcu_enter_slow(&outermost) == reader && !outermost);
	rcu_shared.gp += RCU_STEP;
	CHECK(rcu_enter_slow(&outermost) == reader && !outermost &&
			reader->epoch == (5 * RCU_STEP | RCU_READY | RCU_ALWAYS));
	rcu_leave(reader);
	CHECK(!reader->epoch && !rcu_inside());
	use_readers(FIRST_READERS - 1, 0);
	reader->tid = ALIVE;
	rcu_self = &no_reader;
	calls.no_memory = true;
	CHECK(!rcu_enter_slow(&outermost) && !outermost && !rcu_inside());
	reset();
}

/* ---- begin and end ---- */

static const char *variables[8]; /* in the order of names[] */
static const char *const names[] = {"SIDE_RCU", "SIDE_RUNTIME", "XDG_RUNTIME_DIR", "SIDE_LIB_DIR",
		"SIDE_CONTROL", "SIDE_USER_EVENTS", "SIDE_VALIDATE", "SIDE_BOOT"};
static bool is_debug;

static const char *hooked_variable(const char *name)
{
	for (int i = 0; i < 8; i++)
		if (!strcmp(name, names[i]))
			return variables[i];
	abort();
}

static bool hooked_on(const char *name)
{
	if (!strcmp(name, "SIDE_DEBUG"))
		return is_debug;
	return hooked_variable(name) && strcmp(hooked_variable(name), "0") != 0;
}

static uintptr_t start(const char *choice, int barrier)
{
	reset();
	rcu_shared.gp = RCU_SLOW | RCU_ALWAYS;
	owner_pid = 0;
	variables[0] = choice;
	calls.barriers[0] = barrier;
	CHECK(!rcu_is_started());
	rcu_start();
	CHECK(owner_pid == getpid() && rcu_is_started());
	return rcu_shared.gp;
}

static void test_start(void)
{
	CHECK(start(NULL, 0) == (RCU_STEP | RCU_READY | RCU_ALWAYS));
	CHECK(calls.nr_barriers == 1 &&
			calls.commands[0] == MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
	owner_pid = 0;
	rcu_start();
	CHECK(!owner_pid && calls.nr_barriers == 1);
	CHECK(start("membarrier", 0) == (RCU_STEP | RCU_READY | RCU_ALWAYS));
	CHECK(start("fence", 0) == (RCU_STEP | RCU_READY | RCU_ALWAYS | RCU_FENCE | RCU_SLOW));
	CHECK(calls.nr_barriers == 0);
	errno = E2BIG;
	CHECK(start(NULL, ENOSYS) == (RCU_STEP | RCU_READY | RCU_ALWAYS | RCU_FENCE | RCU_SLOW));
	CHECK(errno == E2BIG);
	variables[0] = NULL;
	rcu_finish();
	CHECK(rcu_shared.gp == (RCU_STEP | RCU_ALWAYS | RCU_FENCE | RCU_SLOW));
	reset();
	rcu_finish();
	CHECK(rcu_shared.gp == (RCU_STEP | RCU_ALWAYS | RCU_SLOW) && rcu_is_started());
#if defined(__x86_64__) && defined(__LP64__)
	rcu_shared.self_distance = 0;
	rcu_find_self_distance();
	CHECK(!rcu_shared.self_distance ||
			rcu_shared.self_distance ==
					(char *)&rcu_self - (char *)__builtin_thread_pointer());
#endif
	calls.barriers[0] = EPERM;
	errno = E2BIG;
	CHECK(rcu_membarrier(5) == -EPERM && errno == E2BIG && rcu_membarrier(6) == 0);
	CHECK(calls.commands[0] == 5 && calls.commands[1] == 6);
	reset();
}

/* ---- grace periods ---- */

static uintptr_t barrier(int first, int second, int third, uintptr_t more)
{
	reset();
	rcu_shared.gp |= more;
	nr_fences = 0;
	calls.barriers[0] = first;
	calls.barriers[1] = second;
	calls.barriers[2] = third;
	rcu_all_threads_barrier();
	CHECK_EQUAL(nr_fences, 1);
	return rcu_shared.gp & RCU_FLAGS;
}

/*
 * A filter that was installed later forbids the call: registers once more, then lets readers fence,
 * after 50 ms.
 */
static void test_barrier(void)
{
	CHECK(barrier(0, 0, 0, 0) == (RCU_READY | RCU_ALWAYS) && calls.nr_barriers == 1);
	CHECK(calls.commands[0] == MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	CHECK(barrier(EPERM, 0, 0, 0) == (RCU_READY | RCU_ALWAYS) && calls.nr_barriers == 3);
	CHECK(calls.commands[1] == MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED &&
			calls.commands[2] == MEMBARRIER_CMD_PRIVATE_EXPEDITED && !calls.nr_sleeps);
	CHECK(barrier(EPERM, EPERM, 0, 0) == RCU_FLAGS && calls.nr_barriers == 2);
	CHECK(calls.nr_sleeps == 1 && calls.slept_us[0] == 50000);
	CHECK(barrier(EPERM, 0, EPERM, 0) == RCU_FLAGS && calls.nr_barriers == 3 &&
			calls.nr_sleeps == 1);
	CHECK(barrier(EPERM, 0, 0, RCU_FENCE | RCU_SLOW) == RCU_FLAGS && !calls.nr_barriers);
	reset();
	rcu_shared.gp = 7 * RCU_STEP | RCU_READY | RCU_ALWAYS;
	CHECK(rcu_begin_grace_period() == 8 * RCU_STEP &&
			rcu_shared.gp == (8 * RCU_STEP | RCU_READY | RCU_ALWAYS));
	nr_fences = 0;
	CHECK(rcu_now() == rcu_shared.gp && nr_fences == 1);
}

static void test_passed(void)
{
	struct rcu_reader *last;
	const uintptr_t grace = 8 * RCU_STEP;

	reset();
	use_readers(FIRST_READERS, 0);
	CHECK((last = rcu_take_reader(MINE)) == &last_chunk->readers[0]);
	CHECK(rcu_has_elapsed(grace) && rcu_last_elapsed() == grace);
	CHECK(rcu_has_elapsed(grace - RCU_STEP) && rcu_last_elapsed() == grace);
	last->epoch = grace - 1;
	CHECK(!rcu_has_elapsed(grace) && !rcu_has_elapsed(grace + RCU_STEP) &&
			rcu_last_elapsed() == grace);
	last->epoch = grace;
	CHECK(rcu_has_elapsed(grace) && !rcu_has_elapsed(grace + RCU_STEP));
	last->epoch = 0;
	first_readers[FIRST_READERS - 1].epoch = grace;
	CHECK(!rcu_has_elapsed(grace + 1));
	first_readers[FIRST_READERS - 1].epoch = 0;
	CHECK(rcu_has_elapsed(grace + RCU_STEP) && rcu_last_elapsed() == grace + RCU_STEP);
	/* Numbers wrap around. */
	last->epoch = 16;
	CHECK(rcu_reader_is_older(last, 17) && !rcu_reader_is_older(last, 16) &&
			!rcu_reader_is_older(last, (uintptr_t)-32));
	last_elapsed = (uintptr_t)-16;
	rcu_note_elapsed(16);
	CHECK(rcu_last_elapsed() == 16);
	/* A grace period frees only readers that delay it and whose threads have exited. */
	reset();
	use_readers(3, 2);
	first_readers[0].epoch = grace;
	first_readers[1].epoch = first_readers[2].epoch = grace - 1;
	rcu_free_exited(grace);
	CHECK(first_readers[0].tid == GONE && !first_readers[1].tid && !first_readers[1].epoch);
	CHECK(first_readers[2].tid == ALIVE && first_readers[2].epoch == grace - 1);
	CHECK(!rcu_free_if_exited(&first_readers[1]) && !rcu_free_if_exited(&first_readers[2]));
	CHECK(!readers_lock.word && calls.nr_masks == 2);
}

static void leave_section(void)
{
	first_readers[0].epoch = 0;
}

static void end_thread(void)
{
	first_readers[0].tid = GONE;
}

/* Another thread frees the reader before this one has the lock, and a new thread takes it. */
static void take_again(bool blocks)
{
	if (!blocks)
		return;
	rcu_free_reader(&first_readers[0]);
	CHECK(rcu_take_ready_reader(ALIVE) == &first_readers[0]);
	first_readers[0].epoch = 77;
}

static void is_locked(bool blocks)
{
	CHECK(blocks || !readers_lock.word);
}

static void test_give_up(void)
{
	reset();
	use_readers(2, 1);
	calls.on_mask = take_again;
	CHECK(rcu_free_if_exited(&first_readers[0]) && calls.nr_masks == 2);
	CHECK(first_readers[0].tid == ALIVE && first_readers[0].epoch == 77 && !free_readers);
	CHECK(!readers_lock.word);
	calls.on_mask = is_locked;
	first_readers[0].tid = GONE;
	CHECK(rcu_free_if_exited(&first_readers[0]) && !first_readers[0].tid && free_readers);
	/* The reader behind the last one delays nothing. */
	first_readers[2].tid = GONE;
	first_readers[2].epoch = 5;
	rcu_free_exited(6);
	CHECK(first_readers[2].tid == GONE && rcu_has_elapsed(6));
	first_readers[1].tid = GONE;
	first_readers[1].epoch = 5;
	first_readers[0].tid = ALIVE;
	first_readers[0].epoch = 5;
	rcu_free_exited(6);
	CHECK(!first_readers[1].tid && first_readers[0].tid == ALIVE);
	reset();
}

/* The pauses grow up to 1.28 ms. After each 64th, the library checks whether the thread exists. */
static void test_wait(void)
{
	const long growing[] = {10, 20, 40, 80, 160, 320, 640, 1280, 1280};

	reset();
	use_readers(2, 0);
	rcu_wait_for_reader(&first_readers[0], 16);
	CHECK_EQUAL(calls.nr_sleeps, 0);
	first_readers[0].epoch = 15;
	calls.acts = leave_section;
	calls.acts_at = 9;
	errno = E2BIG;
	rcu_wait_for_reader(&first_readers[0], 16);
	CHECK(calls.nr_sleeps == 9 && !calls.nr_questions && errno == E2BIG);
	for (int i = 0; i < 9; i++)
		CHECK_EQUAL(calls.slept_us[i], growing[i]);
	first_readers[0].epoch = 15;
	calls.nr_sleeps = 0;
	calls.acts = end_thread;
	calls.acts_at = 64;
	rcu_wait_for_reader(&first_readers[0], 16);
	CHECK(calls.nr_sleeps == 64 && calls.nr_questions == 1 && !first_readers[0].tid);
	/* After the 65th it is asked 63 sleeps later. */
	reset();
	use_readers(2, 0);
	first_readers[0].epoch = 15;
	calls.acts = end_thread;
	calls.acts_at = 65;
	rcu_wait_for_reader(&first_readers[0], 16);
	CHECK(calls.nr_sleeps == 128 && calls.nr_questions == 2);
}

static void test_synchronize(void)
{
	reset();
	use_readers(FIRST_READERS, 0);
	first_readers[0].epoch = 1;
	calls.acts = leave_section;
	calls.acts_at = 2;
	rcu_synchronize();
	CHECK(calls.nr_sleeps == 2 && rcu_last_elapsed() == 2 * RCU_STEP && calls.nr_barriers == 1);
	reset();
	use_readers(FIRST_READERS, 0);
	CHECK(rcu_take_reader(MINE) == &last_chunk->readers[0]);
	last_chunk->readers[0].epoch = 2 * RCU_STEP;
	rcu_synchronize();
	CHECK(calls.nr_sleeps == 0 && rcu_last_elapsed() == 2 * RCU_STEP);
}

static void test_fork(void)
{
	struct rcu_reader *other;

	reset();
	use_readers(FIRST_READERS, 0);
	CHECK((other = rcu_take_reader(MINE)) == &last_chunk->readers[0]);
	rcu_self = &first_readers[5];
	rcu_self->epoch = other->epoch = first_readers[4].epoch = 99;
	readers_lock.word = 1;
	owner_pid = 0;
	/* The parent was changing these lists. */
	last_chunk = NULL;
	free_readers = (struct rcu_reader *)(uintptr_t)16;
	rcu_after_fork_in_child();
	CHECK(!readers_lock.word && last_chunk == first_chunk.next && owner_pid == getpid());
	CHECK(rcu_self->tid == MINE && rcu_self->epoch == 99);
	CHECK(!other->tid && !other->epoch && !first_readers[4].epoch && !first_readers[0].tid);
	for (unsigned int i = 0; i < FIRST_READERS; i++)
		CHECK(rcu_take_ready_reader(5) != rcu_self);
	CHECK(rcu_take_ready_reader(5) == &last_chunk->readers[1] && !free_readers);
	rcu_self = &no_reader;
	no_reader.tid = 0;
	rcu_after_fork_in_child();
	CHECK(!no_reader.tid);
	reset();
}

/* ---- what is loaded ---- */

static char done[2 * PATH_MAX], printed[512];
static const char *present, *self_name = "/lib/side/libside.so.0", *error_text;
static unsigned long user_id = 1000;
static bool is_secure, is_replaced_by_copy, is_missing;
static int loaded;

static void note(const char *text)
{
	strcat(strcat(done, *done ? " " : ""), text);
}

static int fake_access(const char *path, int mode)
{
	CHECK(mode == F_OK);
	note(path);
	errno = ENOENT;
	return present && !strcmp(path, present) ? 0 : -1;
}

static unsigned long fake_auxval(unsigned long type)
{
	CHECK(type == AT_EUID || type == AT_SECURE);
	return type == AT_EUID ? user_id : is_secure;
}

static void *fake_open(const char *path, int flags)
{
	CHECK(flags == (RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE));
	note(path);
	errno = EACCES;
	return is_missing ? NULL : &loaded;
}

static int begin_kernel(const char *text)
{
	note("kernel");
	note(text);
	return 33;
}

static bool has_begin = true;

/*
 * The lists of the loader: a C library in the first namespace, the agent in the second one. Each
 * exports one function, with the older hash table.
 */
static const char library_names[] =
		"\0libc.so.6\0libside-agent.so\0__register_atfork\0side_agent_note_copy";
static ElfW(Sym) library_symbols[2][2] = {
		{{0}, {.st_name = 28, .st_info = STT_FUNC, .st_shndx = 1}},
		{{0}, {.st_name = 46, .st_info = STT_FUNC, .st_shndx = 1}},
};
static uint32_t library_hash[] = {1, 2};
static ElfW(Dyn) library_dynamic[2][5];
static struct link_map libraries[2];
static struct loaded_namespace namespaces[2];

static void note_loaded_copy(const char *library, void (*init)(void))
{
	CHECK(library == self_name && init == side_init);
	note("copy");
}

static int watch_forks(
		void (*prepare)(void), void (*parent)(void), void (*child)(void), void *owner)
{
	CHECK(prepare && parent && child && !owner);
	note("forks");
	return 0;
}

static void make_library(int i, ElfW(Addr) name)
{
	const ElfW(Dyn) dynamic[] = {
			{DT_STRTAB, {.d_ptr = (ElfW(Addr))library_names}},
			{DT_SYMTAB, {.d_ptr = (ElfW(Addr))library_symbols[i]}},
			{DT_HASH, {.d_ptr = (ElfW(Addr))library_hash}},
			{DT_SONAME, {.d_val = name}},
			{DT_NULL, {0}},
	};

	memcpy(library_dynamic[i], dynamic, sizeof(dynamic));
	libraries[i].l_ld = library_dynamic[i];
}

/* `agent`: there is one. `apart`: the C library of the first namespace is another one. */
static void make_namespaces(bool agent, bool apart)
{
	make_library(0, 1);
	make_library(1, 11);
	library_symbols[0][1].st_value = apart ? (ElfW(Addr))watch_forks : (ElfW(Addr)) & loaded;
	library_symbols[1][1].st_value = (ElfW(Addr))note_loaded_copy;
	namespaces[0].debug.r_version = 2;
	namespaces[0].debug.r_map = &libraries[0];
	namespaces[0].next = agent ? &namespaces[1] : NULL;
	namespaces[1].debug.r_version = 1;
	namespaces[1].debug.r_map = &libraries[1];
}

static void *fake_open_in_namespace(Lmid_t space, const char *path, int flags)
{
	CHECK(space == LM_ID_BASE && flags == (RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE));
	note("first");
	note(path);
	return &loaded;
}

static void *fake_symbol(void *handle, const char *name)
{
	int (*function)(const char *) = begin_kernel;
	void *address;

	memcpy(&address, &function, sizeof(address));
	if (!strcmp(name, "_r_debug")) {
		CHECK(handle == RTLD_DEFAULT);
		return &namespaces[0];
	}
	if (!strcmp(name, "__register_atfork")) {
		CHECK(handle == RTLD_DEFAULT);
		return &loaded;
	}
	CHECK(handle == &loaded && !strcmp(name, "side_kernel_begin"));
	return has_begin ? address : NULL;
}

static const char *fake_error(void)
{
	const char *text = error_text;

	note("error");
	return text;
}

static int fake_address(const void *address, Dl_info *info)
{
	(void)address;
	info->dli_fname = self_name;
	return self_name != NULL;
}

static int fake_print(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int fake_print(int fd, const char *format, ...)
{
	va_list list;

	CHECK(fd == 2);
	va_start(list, format);
	vsnprintf(printed, sizeof(printed), format, list);
	va_end(list);
	return 0;
}

static bool fake_decide(void)
{
	note("decide");
	return is_replaced_by_copy;
}

#define access fake_access
#define getauxval fake_auxval
#define dlopen fake_open
#define dlmopen fake_open_in_namespace
#define dlsym fake_symbol
#define dlerror fake_error
#define dladdr fake_address
#define dprintf fake_print
#define copies_decide fake_decide
#define side_init() note("init")
#include "libside/export.h"
#undef LIBRARY_BEGIN
#define LIBRARY_BEGIN unused
#include "libside/loader.c"
#undef access

static bool finds_daemon(const char *wanted)
{
	bool found;

	*done = '\0';
	found = loader_finds_daemon();
	if (strcmp(done, wanted))
		fprintf(stderr, "looked at \"%s\", expected \"%s\"\n", done, wanted);
	CHECK(!strcmp(done, wanted));
	return found;
}

/* Returns whether a file in that directory is requested. */
static bool asks(const char *directory)
{
	*done = '\0';
	CHECK(!loader_path_exists(directory, ""));
	return *done;
}

static void test_daemon(void)
{
	char longest[PATH_MAX + 1];

	user_id = 1000;
	CHECK(!finds_daemon(
			"/run/side/agents.sock /run/user/1000/side/agents.sock /tmp/side-1000/agents.sock"));
	present = "/tmp/side-1000/agents.sock";
	CHECK(finds_daemon(
			"/run/side/agents.sock /run/user/1000/side/agents.sock /tmp/side-1000/agents.sock"));
	present = "/run/user/1000/side/agents.sock";
	CHECK(finds_daemon("/run/side/agents.sock /run/user/1000/side/agents.sock"));
	variables[2] = "relative";
	CHECK(finds_daemon("/run/side/agents.sock /run/user/1000/side/agents.sock"));
	variables[2] = "/user";
	CHECK(!finds_daemon("/run/side/agents.sock /user/side/agents.sock"));
	present = "/user/side/agents.sock";
	CHECK(finds_daemon("/run/side/agents.sock /user/side/agents.sock"));
	user_id = 0;
	CHECK(!finds_daemon("/run/side/agents.sock"));
	present = "/run/side/agents.sock";
	CHECK(finds_daemon("/run/side/agents.sock"));
	/* An absolute directory in the environment is the only one that is searched. */
	variables[1] = "";
	CHECK(finds_daemon("/run/side/agents.sock"));
	variables[1] = "relative";
	CHECK(!finds_daemon(""));
	variables[1] = "/own";
	CHECK(!finds_daemon("/own/agents.sock"));
	present = "/own/agents.sock";
	CHECK(finds_daemon("/own/agents.sock"));
	variables[1] = variables[2] = present = NULL;
	/* The longest path, and one more byte. */
	memset(longest, 'd', sizeof(longest));
	longest[PATH_MAX - 1 - strlen("/agents.sock")] = '\0';
	CHECK(asks(longest));
	longest[PATH_MAX - 1 - strlen("/agents.sock")] = 'd';
	longest[PATH_MAX - strlen("/agents.sock")] = '\0';
	CHECK(!asks(longest));
}

static void test_longest(void)
{
	static char text[PATH_MAX];
	char path[PATH_MAX];

	memset(text, 'd', sizeof(text));
	text[PATH_MAX - 1 - strlen("/libside-agent.so")] = '\0';
	variables[3] = text;
	CHECK(loader_choose_path(AGENT, path, sizeof(path)) == path &&
			strlen(path) == PATH_MAX - 1);
	text[PATH_MAX - 1 - strlen("/libside-agent.so")] = 'd';
	text[PATH_MAX - strlen("/libside-agent.so")] = '\0';
	CHECK(!loader_choose_path(AGENT, path, sizeof(path)));
	variables[3] = "";
	CHECK(loader_choose_path(AGENT, path, sizeof(path)) == path &&
			!strcmp(path, "/lib/side/libside-agent.so"));
	variables[3] = NULL;
	self_name = "libside.so.0";
	CHECK(loader_choose_path(KERNEL, path, sizeof(path)) == path &&
			!strcmp(path, "libside-kernel.so"));
	self_name = NULL;
	CHECK(!loader_choose_path(KERNEL, path, sizeof(path)));
	self_name = "/lib/side/libside.so.0";
}

static void is_done(const char *wanted)
{
	if (strcmp(done, wanted))
		fprintf(stderr, "did \"%s\", expected \"%s\"\n", done, wanted);
	CHECK(!strcmp(done, wanted));
	*done = *printed = '\0';
}

static void test_load(void)
{
	*done = *printed = '\0';
	variables[3] = "/dir";
	CHECK(loader_load_library("one.so") == &loaded);
	is_done("error /dir/one.so");
	is_missing = true;
	error_text = "no such file";
	CHECK(!loader_load_library("one.so") && !*printed);
	is_done("error /dir/one.so error");
	is_debug = true;
	CHECK(!loader_load_library("one.so"));
	CHECK(!strcmp(printed,
			"side: one.so cannot be loaded: no such file (is SIDE_LIB_DIR right?)\n"));
	is_done("error /dir/one.so error");
	error_text = NULL;
	CHECK(!loader_load_library("one.so") && !*printed);
	is_done("error /dir/one.so error");
	self_name = NULL;
	variables[3] = NULL;
	CHECK(!loader_load_library("one.so") && !*printed);
	is_done("error");
	self_name = "/lib/side/libside.so.0";
	is_debug = is_missing = false;
	variables[3] = "/dir";
	/* The agent, unless it is preloaded. */
	make_namespaces(false, false);
	loader_load_agent();
	is_done("error /dir/libside-agent.so");
	make_namespaces(true, false);
	loader_load_agent();
	is_done("copy");
	/* The list of an older version ends with the first namespace. */
	namespaces[0].debug.r_version = 1;
	loader_load_agent();
	is_done("error /dir/libside-agent.so");
	make_namespaces(false, true);
	loader_watch_forks();
	is_done("forks");
	loader_load_agent();
	is_done("error first /dir/libside-agent.so");
	make_namespaces(false, false);
	loader_watch_forks();
	is_done("");
}

static void test_kernel(void)
{
	CHECK_EQUAL(side_kernel_start(NULL), SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_kernel_start(""), SIDE_ERROR_INVAL);
	is_done("");
	CHECK_EQUAL(side_kernel_start("all"), 33);
	is_done("init error /dir/libside-kernel.so kernel all");
	has_begin = false;
	CHECK_EQUAL(side_kernel_start("all"), SIDE_ERROR_NOENT);
	has_begin = true;
	is_missing = true;
	*done = '\0';
	CHECK_EQUAL(side_kernel_start("all"), SIDE_ERROR_NOENT);
	is_done("init error /dir/libside-kernel.so error");
	is_missing = false;
}

static void test_run(void)
{
	user_id = 0;
	errno = E2BIG;
	loader_run();
	CHECK_EQUAL(errno, E2BIG);
	is_done("decide init /run/side/agents.sock error");
	make_namespaces(true, false);
	loader_run();
	is_done("decide init /run/side/agents.sock copy error");
	make_namespaces(false, false);
	present = "/run/side/agents.sock";
	loader_run();
	CHECK_EQUAL(errno, E2BIG);
	is_done("decide init /run/side/agents.sock error /dir/libside-agent.so error");
	variables[7] = "1";
	loader_run();
	is_done("decide init error /dir/libside-agent.so error");
	variables[4] = "on";
	loader_run();
	is_done("decide init error /dir/libside-agent.so error");
	variables[4] = "off";
	variables[5] = "a,b";
	variables[6] = "1";
	errno = E2BIG;
	loader_run();
	CHECK_EQUAL(errno, E2BIG);
	is_done("decide init error /dir/libside-validate.so.0 init error /dir/libside-kernel.so kernel a,b");
	is_missing = true;
	variables[5] = "0";
	loader_run();
	CHECK(!strcmp(printed,
			"side: cannot validate calls: libside-validate.so.0 cannot be loaded\n"
			"hint: SIDE_DEBUG=1 prints the reason\n"));
	is_done("decide init error /dir/libside-validate.so.0 error");
	is_missing = false;
	/* Not with more privileges than the caller, and not if another copy is in use. */
	is_secure = true;
	loader_run();
	is_done("decide");
	is_secure = false;
	is_replaced_by_copy = true;
	loader_run();
	is_done("decide");
	is_replaced_by_copy = false;
}

int main(void)
{
	test_gone();
	test_sweep();
	test_chunks();
	test_inherit();
	test_attach();
	test_sandbox();
	test_enter();
	test_start();
	test_barrier();
	test_passed();
	test_give_up();
	test_wait();
	test_synchronize();
	test_fork();
	test_daemon();
	test_longest();
	test_load();
	test_kernel();
	test_run();
	return 0;
}
