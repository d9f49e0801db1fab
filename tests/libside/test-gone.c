/* SPDX-License-Identifier: MIT */
/*
 * A reader whose thread is gone is given up, but not if another thread has taken it meanwhile. The calls of rcu.c pass through a hook,
 * which is where that other thread comes.
 */
#include <sys/syscall.h>
#include <unistd.h>

static long hooked_call(long number, const long *words);

/* Numbers and pointers; those that a call leaves out are 0. */
#define syscall(...) CALL_OF_SIX(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define CALL_OF_SIX(number, a, b, c, d, e, f, ...)                                            \
	hooked_call(number,                                                                   \
			(const long[]){(long)(a), (long)(b), (long)(c), (long)(d), (long)(e), \
					(long)(f)})
#include "libside/rcu.c"
#undef syscall

#include "event.h"

enum { GONE = 4000001, NEXT = 4000002 };

static bool is_taken_over;

/* Between the question whether the thread lives and the lock: another waiter has given the reader up, and a new thread has it. */
static long hooked_call(long number, const long *words)
{
	if (number != SYS_tgkill || words[1] != GONE)
		return syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
	if (is_taken_over) {
		free_reader(&first_readers[0]);
		CHECK(take_ready_reader(NEXT) == &first_readers[0]);
		first_readers[0].epoch = 1;
	}
	errno = ESRCH;
	return -1;
}

int main(void)
{
	struct rcu_reader *reader = take_ready_reader(GONE);

	CHECK(reader == &first_readers[0]);
	/* Of a thread that is gone: free again, and its section is over. */
	reader->epoch = 1;
	CHECK(give_up_if_gone(reader));
	CHECK(!reader->tid && !reader->epoch && free_readers == reader);

	CHECK(take_ready_reader(GONE) == reader);
	is_taken_over = true;
	CHECK(give_up_if_gone(reader));
	CHECK_EQUAL(reader->tid, NEXT);
	CHECK_EQUAL(reader->epoch, 1);
	CHECK(!free_readers);
	return 0;
}
