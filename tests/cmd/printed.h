/* SPDX-License-Identifier: MIT */
/*
 * Captures the standard output and standard error of the code under test as one text. Include after
 * cmocka.h.
 */
#ifndef TESTS_CMD_PRINTED_H
#define TESTS_CMD_PRINTED_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "programs/common/message.h"

static int printed_file = -1, printed_saved[2];
static struct common_options printed_options = {.color = COLOR_NEVER};

static inline void begin_output(void)
{
	output_start(&printed_options, NULL);
	printed_file = memfd_create("printed", MFD_CLOEXEC);
	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		printed_saved[i] = fcntl(1 + i, F_DUPFD_CLOEXEC, 10);
		assert_int_equal(dup2(printed_file, 1 + i), 1 + i);
	}
}

static inline const char *end_output(void)
{
	static char text[16384];
	ssize_t size;

	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(dup2(printed_saved[i], 1 + i), 1 + i);
		close(printed_saved[i]);
	}
	size = pread(printed_file, text, sizeof(text) - 1, 0);
	text[size > 0 ? size : 0] = '\0';
	close(printed_file);
	printed_file = -1;
	return text;
}

static inline void assert_output(const char *expected)
{
	assert_string_equal(end_output(), expected);
}

/* Teardown of a test: shows the captured output if the test failed. */
static inline int show_output(void **unused)
{
	(void)unused;
	if (printed_file >= 0)
		(void)fprintf(stderr, "%s\n", end_output());
	return 0;
}

#endif /* TESTS_CMD_PRINTED_H */
