/* SPDX-License-Identifier: MIT */
/*
 * Lines of the console tracer: lengths around each growth, memory, errno, the lock, and lines that
 * cannot be written.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../resources.h"
#include "tracers/console/output.c"

#define PIECE 65536
#define LENGTH_MAX (5 * PIECE)

static char *expected, *got;

/* Appends the bytes in pieces of that size, and compares the line in the file. */
static void check_line(size_t length, size_t piece)
{
	int file = memfd_create("lines", MFD_CLOEXEC);
	struct console_line line;

	assert_true(file >= 0);
	console_line_begin(&line);
	for (size_t at = 0; at < length; at += piece)
		assert_int_equal(visit_buffer_append(&line.text, expected + at,
						 length - at < piece ? length - at : piece),
				0);
	errno = EDOM;
	console_line_end(&line, file);
	assert_int_equal(errno, EDOM);
	assert_int_equal(lock_word, 0);
	assert_int_equal(pread(file, got, LENGTH_MAX, 0), length);
	assert_memory_equal(got, expected, length);
	close(file);
}

static void test_lengths(void **unused)
{
	static const size_t lengths[] = {0, 1, 2047, 2048, 2049, PIECE - 1, PIECE, PIECE + 1,
			2 * PIECE, 2 * PIECE + 1, LENGTH_MAX};
	struct resources before;

	(void)unused;
	check_line(LENGTH_MAX, 1000);
	before = resources_now();
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		check_line(lengths[i], 1000);
		check_line(lengths[i], LENGTH_MAX);
	}
	assert_true(resources_are_same(before, resources_now()));
}

/* Incomplete and dropped lines are not written. */
static void test_dropped(void **unused)
{
	int file = memfd_create("lines", MFD_CLOEXEC);
	struct console_line line;
	struct resources before = resources_now();

	(void)unused;
	for (int i = 0; i < 2; i++) {
		console_line_begin(&line);
		assert_int_equal(visit_buffer_append(&line.text, expected, i ? PIECE : 10), 0);
		line.text.error = -ENOMEM;
		console_line_end(&line, file);
		console_line_begin(&line);
		assert_int_equal(visit_buffer_append(&line.text, expected, i ? PIECE : 10), 0);
		console_line_drop(&line);
	}
	assert_int_equal(lseek(file, 0, SEEK_END), 0);
	assert_true(resources_are_same(before, resources_now()));
	close(file);
}

static void put(int fd, const char *text)
{
	struct console_line line;

	console_line_begin(&line);
	assert_int_equal(visit_buffer_append(&line.text, text, strlen(text)), 0);
	console_line_end(&line, fd);
}

/* A signal handler of the owner writes without the lock, and does not release it. */
static void test_nested(void **unused)
{
	int file = memfd_create("lines", MFD_CLOEXEC);

	(void)unused;
	assert_true(console_output_lock());
	assert_int_equal(lock_word, gettid());
	assert_false(console_output_lock());
	put(file, "inner");
	assert_int_equal(lock_word, gettid());
	lock_word |= WAITED;
	assert_false(console_output_lock());
	put(file, "inner");
	assert_int_equal(lock_word, (uint32_t)gettid() | WAITED);
	console_output_unlock();
	assert_int_equal(lock_word, 0);
	assert_int_equal(lseek(file, 0, SEEK_END), 10);
	close(file);
	/* The lock of a thread that a child does not have. */
	lock_word = 1;
	console_output_unlock_in_child();
	assert_int_equal(lock_word, 0);
}

static void *put_one(void *fd)
{
	put(*(int *)fd, "x");
	return NULL;
}

/* The owner of the lock finds the waiting thread, which then writes. */
static void test_waits(void **unused)
{
	int file = memfd_create("lines", MFD_CLOEXEC);
	pthread_t thread;

	(void)unused;
	assert_true(console_output_lock());
	assert_int_equal(pthread_create(&thread, NULL, put_one, &file), 0);
	while (!(__atomic_load_n(&lock_word, __ATOMIC_ACQUIRE) & WAITED))
		usleep(100);
	assert_int_equal(lseek(file, 0, SEEK_END), 0);
	console_output_unlock();
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(lseek(file, 0, SEEK_END), 1);
	assert_int_equal(lock_word, 0);
	close(file);
}

/* If the pipe is full or the output fails, the remainder of the line is lost. */
static void test_outputs(void **unused)
{
	char text[PIECE * 2 + 1] = "";
	int ends[2];

	(void)unused;
	memset(text, 'x', sizeof(text) - 1);
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	put(ends[1], text);
	assert_int_equal(read(ends[0], got, LENGTH_MAX), PIECE);
	put(ends[1], "y");
	assert_int_equal(read(ends[0], got, LENGTH_MAX), 1);
	close(ends[0]);
	close(ends[1]);
	put(-1, "z");
	assert_int_equal(lock_word, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_lengths),
			cmocka_unit_test(test_dropped),
			cmocka_unit_test(test_nested),
			cmocka_unit_test(test_waits),
			cmocka_unit_test(test_outputs),
	};

	alarm(50);
	expected = malloc(LENGTH_MAX);
	got = malloc(LENGTH_MAX);
	if (!expected || !got)
		return 1;
	for (size_t i = 0; i < LENGTH_MAX; i++)
		expected[i] = (char)('a' + (i + i / 26) % 26);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
