/* SPDX-License-Identifier: MIT */
/*
 * The reader of an exited thread is freed, unless another thread has taken it meanwhile. A thread
 * whose signal handler has taken a reader keeps that reader. The calls of rcu.c pass through hooks,
 * in which the test acts as that other thread or as the handler.
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "libside/lock.h"

static long hooked_call(long number, const long *words);
static uintptr_t hooked_identity(void);

/* Numbers and pointers; arguments that a call leaves out are 0. */
#define syscall(...) CALL_OF_SIX(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define CALL_OF_SIX(number, a, b, c, d, e, f, ...)                                            \
	hooked_call(number,                                                                   \
			(const long[]){(long)(a), (long)(b), (long)(c), (long)(d), (long)(e), \
					(long)(f)})
#define thread_identity hooked_identity
#include "libside/rcu.c"
#undef thread_identity
#undef syscall

#include "event.h"

enum { GONE = 4000001, NEXT = 4000002, HANDLER = 4000003 };

static bool is_taken_over, has_handler;

/* A signal handler emits the first event of the thread. */
static void handle_signal(void)
{
	if (!has_handler)
		return;
	has_handler = false;
	rcu_self = rcu_take_ready_reader(HANDLER);
}

static uintptr_t hooked_identity(void)
{
	handle_signal();
	return thread_identity();
}

/*
 * Between the check whether the thread exists and the lock: another waiter has freed the reader,
 * and a new thread has taken it.
 */
static long hooked_call(long number, const long *words)
{
	if (number == SYS_rt_sigprocmask)
		handle_signal();
	if (number != SYS_tgkill || words[1] != GONE)
		return syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
	if (is_taken_over) {
		rcu_free_reader(&first_readers[0]);
		CHECK(rcu_take_ready_reader(NEXT) == &first_readers[0]);
		first_readers[0].epoch = 1;
	}
	errno = ESRCH;
	return -1;
}

static uint32_t nr_taken(void)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < first_chunk.used; i++)
		nr += first_readers[i].tid != 0;
	return nr;
}

/*
 * The handler runs before signals are blocked, or before a thread in a sandbox takes the lock. The
 * thread keeps the reader of the handler.
 */
static void test_handler(struct rcu_reader *(*attach)(void))
{
	uint32_t before = nr_taken();
	struct rcu_reader *reader;

	rcu_self = &no_reader;
	has_handler = true;
	reader = attach();
	CHECK(!has_handler && reader && reader == rcu_self);
	CHECK_EQUAL(reader->tid, HANDLER);
	CHECK_EQUAL(nr_taken(), before + 1);
	CHECK(!readers_lock.word);
	rcu_free_reader(reader);
	/* Without a handler. */
	rcu_self = &no_reader;
	reader = attach();
	CHECK(reader && reader == rcu_self && reader->tid != HANDLER);
	CHECK_EQUAL(nr_taken(), before + 1);
	rcu_free_reader(reader);
	rcu_self = &no_reader;
}

/*
 * No reader in a child of vfork(), which shares this memory, and in a handler that interrupted the
 * owner of the lock.
 */
static void test_no_reader(void)
{
	uint32_t before = nr_taken();

	owner_pid++;
	CHECK(!rcu_attach_reader() && rcu_self == &no_reader);
	owner_pid--;
	readers_lock.word = 1;
	CHECK(!rcu_attach_in_sandbox() && rcu_self == &no_reader);
	CHECK_EQUAL(readers_lock.word, 1);
	readers_lock.word = 0;
	CHECK_EQUAL(nr_taken(), before);
}

int main(void)
{
	struct rcu_reader *reader = rcu_take_ready_reader(GONE);

	owner_pid = getpid();

	CHECK(reader == &first_readers[0]);
	/* The reader of an exited thread: free again, and its section has ended. */
	reader->epoch = 1;
	CHECK(rcu_free_if_exited(reader));
	CHECK(!reader->tid && !reader->epoch && free_readers == reader);

	CHECK(rcu_take_ready_reader(GONE) == reader);
	is_taken_over = true;
	CHECK(rcu_free_if_exited(reader));
	CHECK_EQUAL(reader->tid, NEXT);
	CHECK_EQUAL(reader->epoch, 1);
	CHECK(!free_readers);
	test_handler(rcu_attach_reader);
	test_handler(rcu_attach_in_sandbox);
	test_no_reader();
	return 0;
}
