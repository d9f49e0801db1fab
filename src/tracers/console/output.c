/* SPDX-License-Identifier: MIT */
/*
 * Writes whole lines under a lock, because a write of more than PIPE_BUF bytes to a pipe may be
 * split.
 *
 * The lock is a word with the owner's thread id:
 *
 *       0             free
 *       tid           held
 *       tid | WAITED  held, and other threads sleep on it
 *
 * A signal handler that emits an event while its thread holds the lock finds its own id and writes
 * without the lock. Its line may then appear inside a long line of the same thread, but nothing
 * blocks. The write is a direct system call, so that a cancelled thread cannot exit with the lock.
 * A child of fork() releases the lock.
 */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracers/console/output.h"

/*
 * The wrappers recognize a tracer's call by its return address, so the last call of a function must
 * not be a jump.
 */
#define NO_TAIL_CALL() __asm__ volatile("")

#define WAITED 0x80000000u

static uint32_t lock_word;

static void console_output_unlock_in_child(void)
{
	/* The child has only this thread. Relaxed: no other thread can read the word. */
	__atomic_store_n(&lock_word, 0, __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void console_output_install_fork_handler(void)
{
	pthread_atfork(NULL, NULL, console_output_unlock_in_child);
}

/* Acquire the lock. Returns true if the caller must release it. */
static bool console_output_lock(void)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid), seen = 0;
	struct timespec timeout = {.tv_sec = 1};

	/*
	 * Acquire: the writes of the previous owner are complete. Pairs with the release in
	 * console_output_unlock().
	 */
	if (__atomic_compare_exchange_n(
			    &lock_word, &seen, tid, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return true;
	for (;;) {
		if ((seen & ~WAITED) == tid)
			return false;
		if (!seen) {
			/*
			 * Other threads may still sleep: keep their flag in the word. Acquire: the
			 * writes of the previous owner are complete. Pairs with the release in
			 * console_output_unlock().
			 */
			if (__atomic_compare_exchange_n(&lock_word, &seen, tid | WAITED, false,
					    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
				return true;
			continue;
		}
		if (!(seen & WAITED) &&
				!__atomic_compare_exchange_n(&lock_word, &seen, seen | WAITED,
						false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		syscall(SYS_futex, &lock_word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, seen | WAITED,
				&timeout, NULL, 0);
		/* Relaxed: the exchange above checks the value again. */
		seen = __atomic_load_n(&lock_word, __ATOMIC_RELAXED);
	}
}

static void console_output_unlock(void)
{
	/* Release: pairs with the acquires in console_output_lock(). */
	if (__atomic_exchange_n(&lock_word, 0, __ATOMIC_RELEASE) & WAITED)
		syscall(SYS_futex, &lock_word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
}

static void console_output_write_all(int fd, const unsigned char *bytes, size_t size)
{
	while (size) {
		ssize_t written = syscall(SYS_write, fd, bytes, size);

		if (written > 0) {
			bytes += written;
			size -= (size_t)written;
		} else if (written < 0 && errno == EAGAIN) {
			struct pollfd ready = {.fd = fd, .events = POLLOUT};

			/* If a non-blocking output accepts nothing for a second, drop the line. */
			if (poll(&ready, 1, 1000) == 0)
				return;
		} else if (!(written < 0 && errno == EINTR)) {
			return;
		}
	}
}

static int console_output_grow_line(struct visit_buffer *text, size_t capacity)
{
	struct console_line *line = (struct console_line *)(void *)text;
	size_t size = (capacity + 65535) & ~(size_t)65535;
	void *data;

	if (text->data == line->memory) {
		data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (data != MAP_FAILED)
			memcpy(data, text->data, text->size);
	} else {
		data = mremap(text->data, text->capacity, size, MREMAP_MAYMOVE);
	}
	if (data == MAP_FAILED)
		return -ENOMEM;
	text->data = data;
	text->capacity = size;
	return 0;
}

void console_line_begin(struct console_line *line)
{
	visit_buffer_fixed(&line->text, line->memory, sizeof(line->memory));
	line->text.grow = console_output_grow_line;
}

void console_line_drop(struct console_line *line)
{
	if (line->text.data != line->memory)
		munmap(line->text.data, line->text.capacity);
	NO_TAIL_CALL();
}

void console_line_end(struct console_line *line, int fd)
{
	int saved = errno;

	if (!line->text.error && line->text.size) {
		bool locked = console_output_lock();

		console_output_write_all(fd, line->text.data, line->text.size);
		if (locked)
			console_output_unlock();
	}
	console_line_drop(line);
	errno = saved;
}
