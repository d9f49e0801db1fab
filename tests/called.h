/* SPDX-License-Identifier: MIT */
/*
 * Records the calls of the code under test, in order: each function that the test replaces calls
 * called(), and the test compares the text.
 */
#ifndef TESTS_CALLED_H
#define TESTS_CALLED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char calls[8192];

__attribute__((format(printf, 1, 2))) static inline void called(const char *format, ...)
{
	va_list arguments;
	size_t used = strlen(calls);

	va_start(arguments, format);
	(void)vsnprintf(calls + used, sizeof(calls) - used, format, arguments);
	va_end(arguments);
}

/* Compares all calls since the last comparison, and forgets them. */
static inline void assert_called(const char *text)
{
	assert_string_equal(calls, text);
	*calls = '\0';
}

#endif /* TESTS_CALLED_H */
