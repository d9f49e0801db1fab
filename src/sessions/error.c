/* SPDX-License-Identifier: MIT */
/* Fills in errors, and converts their kinds from and to words. */
#include "sessions/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const names[CONTROL_NR_KINDS] = {
		[CONTROL_DONE] = "done",
		[CONTROL_FAILED] = "failed",
		[CONTROL_USAGE] = "usage",
		[CONTROL_PERMISSION] = "permission",
		[CONTROL_NOT_FOUND] = "not-found",
		[CONTROL_BUSY] = "busy",
};

const char *control_kind_name(enum control_kind kind)
{
	return names[kind < CONTROL_NR_KINDS ? kind : CONTROL_FAILED];
}

enum control_kind control_kind_of(const char *word)
{
	int kind;

	for (kind = CONTROL_FAILED; kind < CONTROL_NR_KINDS; kind++)
		if (!strcmp(names[kind], word))
			return (enum control_kind)kind;
	return CONTROL_FAILED;
}

int control_fail(struct control_error *error, enum control_kind kind, int code, const char *hint,
		const char *format, ...)
{
	va_list arguments;

	*error = (struct control_error){.kind = kind, .code = code};
	snprintf(error->hint, sizeof(error->hint), "%s", hint ? hint : "");
	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	return code;
}

int control_no_memory(struct control_error *error)
{
	return control_fail(error, CONTROL_FAILED, -ENOMEM, NULL, "out of memory");
}
