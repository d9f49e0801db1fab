/* SPDX-License-Identifier: MIT */
/*
 * Records the calls of the agent, in order: each function that the test replaces notes its call,
 * and the test compares the text.
 */
#ifndef TESTS_AGENT_NOTED_H
#define TESTS_AGENT_NOTED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char calls[4096];

static inline void note(const char *text)
{
	if (strlen(calls) < sizeof(calls) - 128)
		strcat(strcat(calls, *calls ? " " : ""), text);
}

static inline void note_number(const char *text, long number)
{
	char line[128];

	snprintf(line, sizeof(line), "%.100s(%ld)", text, number);
	note(line);
}

/* Compares all calls since the last comparison. */
static inline void are_calls(const char *wanted)
{
	assert_string_equal(calls, wanted);
	*calls = '\0';
}

#endif /* TESTS_AGENT_NOTED_H */
