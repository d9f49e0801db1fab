/* SPDX-License-Identifier: MIT */
/* A peer that closes the line, at each point of an answer: the reader ends with an error, and does not wait or spin. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "send/send.h"
#include "send/sink.h"

#define ANSWER 16
#define SECONDS_MAX 60 /* a reader that never ends fails the test */

static const struct patience patience = {.stop_fd = -1};

static void test_closed(void **unused)
{
	static const char answer[ANSWER] = "0123456789abcde";

	(void)unused;
	for (size_t sent = 0; sent <= ANSWER; sent++) {
		char read[ANSWER] = "";
		int ends[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
		assert_int_equal(write(ends[1], answer, sent), sent);
		close(ends[1]);
		assert_int_equal(line_read(ends[0], read, ANSWER, -1, &patience),
				sent == ANSWER ? 0 : -ECONNRESET);
		assert_memory_equal(read, answer, sent);
		close(ends[0]);
	}
}

/* The peer closes before it reads our bytes, so the line is reset. */
static void test_reset(void **unused)
{
	char read[ANSWER];
	int ends[2];

	(void)unused;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(write(ends[0], "x", 1), 1);
	close(ends[1]);
	assert_int_equal(line_read(ends[0], read, ANSWER, -1, &patience), -ECONNRESET);
	close(ends[0]);
}

static void test_silent(void **unused)
{
	char read[ANSWER];
	int ends[2];

	(void)unused;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_int_equal(line_read(ends[0], read, ANSWER, 1, &patience), -ETIMEDOUT);
	close(ends[1]);
	close(ends[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_closed),
			cmocka_unit_test(test_reset),
			cmocka_unit_test(test_silent),
	};

	alarm(SECONDS_MAX);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
