/* SPDX-License-Identifier: MIT */
/* Records calls as called.h does, for tests without cmocka. */
#ifndef TESTS_NOTED_H
#define TESTS_NOTED_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static char log_text[16384];

__attribute__((format(printf, 1, 2))) static inline void note(const char *format, ...)
{
	size_t used = strlen(log_text);
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(log_text + used, sizeof(log_text) - used, format, arguments);
	va_end(arguments);
}

/*
 * Returns whether exactly this text was noted since the last comparison. Prints both texts if not.
 */
static inline bool has_noted(const char *text)
{
	bool same = !strcmp(log_text, text);

	if (!same)
		fprintf(stderr, "%s\ninstead of\n%s\n", log_text, text);
	*log_text = '\0';
	return same;
}

#endif /* TESTS_NOTED_H */
