/* SPDX-License-Identifier: MIT */
/* Converts the kinds of errors from and to words. */
#include "sessions/error.h"

#include <string.h>

static const char *const names[CONTROL_NR_KINDS] = {
		[ERROR_NONE] = "done",
		[ERROR_FAILED] = "failed",
		[ERROR_USAGE] = "usage",
		[ERROR_PERMISSION] = "permission",
		[ERROR_NOT_FOUND] = "not-found",
		[ERROR_BUSY] = "busy",
};

const char *control_kind_name(enum error_kind kind)
{
	return names[(int)kind < CONTROL_NR_KINDS ? kind : ERROR_FAILED];
}

enum error_kind control_kind_of(const char *word)
{
	int kind;

	for (kind = ERROR_FAILED; kind < CONTROL_NR_KINDS; kind++)
		if (!strcmp(names[kind], word))
			return (enum error_kind)kind;
	return ERROR_FAILED;
}
