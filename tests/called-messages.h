/* SPDX-License-Identifier: MIT */
/* Records the errors and notes that a command prints, among the calls of called.h. */
#ifndef TESTS_CALLED_MESSAGES_H
#define TESTS_CALLED_MESSAGES_H

#include "called.h"

#include "programs/common/command.h"
#include "base/error.h"

/* An empty hint is none. */
int message_error(enum command_status status, const char *hint, const char *format, ...)
{
	char text[1500];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	called("error %d %s [%s];", (int)status, text, hint && *hint ? hint : "-");
	return status;
}

int message_library_error(const struct error *error)
{
	return message_error(error->kind == ERROR_USAGE                   ? COMMAND_USAGE
					: error->kind == ERROR_PERMISSION ? COMMAND_NOT_PERMITTED
									  : COMMAND_FAILED,
			error->hint, "%s", error->text);
}

void message_note(const char *format, ...)
{
	char text[1500];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	called("note %s;", text);
}

#endif /* TESTS_CALLED_MESSAGES_H */
