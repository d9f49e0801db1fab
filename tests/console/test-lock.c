/* SPDX-License-Identifier: MIT */
/* The lock and the writes of the console tracer, with replaced system calls and exchanges. */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../called.h"
#include "tracers/console/output.h"

#define TID 77
#define OTHER 55

static uint32_t lock_word;

/* ---- replaced functions ---- */

static unsigned int nr_exchanges,
		changed_at; /* the word changes before the exchange with this number; 0: never */
static uint32_t changed_to, freed_to; /* freed_to: the value of the word after a wait */

static bool played_exchange(uint32_t *word, uint32_t *seen, uint32_t value)
{
	nr_exchanges++;
	assert_true(nr_exchanges < 20);
	if (nr_exchanges == changed_at)
		*word = changed_to;
	if (*word == *seen) {
		*word = value;
		return true;
	}
	*seen = *word;
	return false;
}

struct played_write {
	ssize_t result;
	int error;
};

static const struct played_write *writes; /* results, in order */
static const unsigned char *sent;

static long played_syscall(long number, ...)
{
	va_list list;
	long ret = 0;

	va_start(list, number);
	if (number == SYS_gettid) {
		ret = TID;
	} else if (number == SYS_futex) {
		uint32_t *word = va_arg(list, uint32_t *);
		int operation = va_arg(list, int);
		uint32_t value = va_arg(list, uint32_t);
		const struct timespec *timeout = va_arg(list, struct timespec *);
		const uint32_t *other = va_arg(list, uint32_t *);

		assert_ptr_equal(word, &lock_word);
		assert_null(other);
		called("futex %d %#x", operation, value);
		if (timeout)
			called(" %ld.%ld", (long)timeout->tv_sec, timeout->tv_nsec);
		called(" %d;", va_arg(list, int));
		if (timeout)
			*word = freed_to;
	} else if (number == SYS_write) {
		int fd = va_arg(list, int);
		const unsigned char *bytes = va_arg(list, const unsigned char *);

		called("write %d %td %zu;", fd, bytes - sent, va_arg(list, size_t));
		errno = writes->error;
		ret = (writes++)->result;
	} else {
		fail();
	}
	va_end(list);
	return ret;
}

static int poll_result;

static int played_poll(struct pollfd *files, nfds_t nr, int timeout_ms)
{
	called("poll %d %d %lu %d;", files->fd, files->events, (unsigned long)nr, timeout_ms);
	return poll_result;
}

static bool no_memory;

static void *played_mmap(void *at, size_t size, int rights, int flags, int fd, off_t offset)
{
	return no_memory ? MAP_FAILED : mmap(at, size, rights, flags, fd, offset);
}

static void *played_mremap(void *at, size_t size, size_t new_size, int flags)
{
	return no_memory ? MAP_FAILED : mremap(at, size, new_size, flags);
}

/* The memory orders are those of the code: tests/house compares them with its comments. */
#define __atomic_compare_exchange_n(word, seen, value, weak, success, failure) \
	played_exchange(word, seen, value)
#define syscall played_syscall
#define poll(files, nr, timeout_ms) played_poll(files, nr, timeout_ms)
#define mmap played_mmap
#define mremap played_mremap
#include "tracers/console/output.c"
#undef syscall
#undef poll
#undef mmap
#undef mremap

/* ---- the lock ---- */

static void begin(uint32_t word)
{
	lock_word = word;
	nr_exchanges = changed_at = 0;
	freed_to = 0;
}

static void test_lock(void **unused)
{
	(void)unused;
	begin(0);
	assert_true(console_output_lock());
	assert_int_equal(lock_word, TID);
	assert_false(console_output_lock());
	assert_called("");
	console_output_unlock();
	assert_int_equal(lock_word, 0);
	assert_called("");
	/* A thread that has waited keeps the flag, for others that may wait. */
	begin(OTHER);
	assert_true(console_output_lock());
	assert_int_equal(lock_word, TID | WAITED);
	assert_called("futex 128 0x80000037 1.0 0;");
	assert_false(console_output_lock());
	console_output_unlock();
	assert_int_equal(lock_word, 0);
	assert_called("futex 129 0x1 0;");
	begin(OTHER | WAITED);
	assert_true(console_output_lock());
	assert_int_equal(nr_exchanges, 2);
	assert_called("futex 128 0x80000037 1.0 0;");
	/* Another thread was faster. */
	begin(OTHER);
	freed_to = OTHER + 1;
	changed_at = 4;
	changed_to = 0;
	assert_true(console_output_lock());
	assert_int_equal(lock_word, TID | WAITED);
	assert_called("futex 128 0x80000037 1.0 0;futex 128 0x80000038 1.0 0;");
}

/* The owner changes between a load of the word and the exchange. */
static void test_changes(void **unused)
{
	(void)unused;
	/* Free by then: no wait. */
	begin(OTHER);
	changed_at = 2;
	changed_to = 0;
	assert_true(console_output_lock());
	assert_int_equal(lock_word, TID | WAITED);
	assert_int_equal(nr_exchanges, 3);
	assert_called("");
	/* Locked again by then. */
	begin(OTHER);
	changed_at = 2;
	changed_to = OTHER + 2;
	assert_true(console_output_lock());
	assert_int_equal(lock_word, TID | WAITED);
	assert_called("futex 128 0x80000039 1.0 0;");
	/* Free after a wait, and immediately locked by another thread. */
	begin(OTHER | WAITED);
	changed_at = 2;
	changed_to = OTHER + 3;
	assert_true(console_output_lock());
	assert_int_equal(lock_word, TID | WAITED);
	assert_called("futex 128 0x80000037 1.0 0;futex 128 0x8000003a 1.0 0;");
}

/* A child has no other thread that could release the lock. The parent keeps its lock. */
static void test_fork(void **unused)
{
	pid_t child;
	int status;

	(void)unused;
	lock_word = OTHER;
	child = fork();
	if (!child)
		_exit(lock_word == 0 ? 7 : 8);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_int_equal(lock_word, OTHER);
	lock_word = 0;
}

/* ---- writes ---- */

static void check_writes(const struct played_write *results, const char *expected)
{
	writes = results;
	console_output_write_all(9, sent, 10);
	assert_called(expected);
}

static void test_writes(void **unused)
{
	(void)unused;
	sent = (const unsigned char *)"0123456789";
	check_writes((struct played_write[]){{10, EIO}}, "write 9 0 10;");
	check_writes((struct played_write[]){{1, EAGAIN}, {2, EINTR}, {7, 0}},
			"write 9 0 10;write 9 1 9;write 9 3 7;");
	check_writes((struct played_write[]){{-1, EINTR}, {4, 0}, {-1, EINTR}, {6, 0}},
			"write 9 0 10;write 9 0 10;write 9 4 6;write 9 4 6;");
	poll_result = 1;
	check_writes((struct played_write[]){{3, 0}, {-1, EAGAIN}, {7, 0}},
			"write 9 0 10;write 9 3 7;poll 9 4 1 1000;write 9 3 7;");
	poll_result = -1;
	check_writes((struct played_write[]){{-1, EAGAIN}, {10, 0}},
			"write 9 0 10;poll 9 4 1 1000;write 9 0 10;");
	/* The remainder is lost if the reader does not read, and after other errors. */
	poll_result = 0;
	check_writes((struct played_write[]){{3, 0}, {-1, EAGAIN}},
			"write 9 0 10;write 9 3 7;poll 9 4 1 1000;");
	check_writes((struct played_write[]){{3, 0}, {-1, EPIPE}}, "write 9 0 10;write 9 3 7;");
	/* A write of no bytes sets no error: errno is from an earlier call. */
	check_writes((struct played_write[]){{0, EAGAIN}}, "write 9 0 10;");
	check_writes((struct played_write[]){{0, EINTR}}, "write 9 0 10;");
}

/* ---- memory ---- */

static void test_growth(void **unused)
{
	struct console_line grown;
	unsigned char *data;

	(void)unused;
	console_line_begin(&grown);
	assert_int_equal(grown.text.capacity, 2048);
	assert_int_equal(visit_buffer_append(&grown.text, "abc", 3), 0);
	no_memory = true;
	assert_int_equal(console_output_grow_line(&grown.text, 3000), -ENOMEM);
	assert_ptr_equal(grown.text.data, grown.memory);
	assert_int_equal(grown.text.capacity, 2048);
	no_memory = false;
	assert_int_equal(console_output_grow_line(&grown.text, 65536), 0);
	assert_int_equal(grown.text.capacity, 65536);
	assert_memory_equal(grown.text.data, "abc", 3);
	data = grown.text.data;
	no_memory = true;
	assert_int_equal(console_output_grow_line(&grown.text, 65537), -ENOMEM);
	assert_ptr_equal(grown.text.data, data);
	assert_int_equal(grown.text.capacity, 65536);
	no_memory = false;
	assert_int_equal(console_output_grow_line(&grown.text, 65537), 0);
	assert_int_equal(grown.text.capacity, 131072);
	assert_memory_equal(grown.text.data, "abc", 3);
	console_line_drop(&grown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_lock),
			cmocka_unit_test(test_changes),
			cmocka_unit_test(test_fork),
			cmocka_unit_test(test_writes),
			cmocka_unit_test(test_growth),
	};

	alarm(20);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
