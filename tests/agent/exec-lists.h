/* SPDX-License-Identifier: MIT */
/* Functions of exec-watch.c, for tests of files that only need their addresses. */
#ifndef TESTS_AGENT_EXEC_LISTS_H
#define TESTS_AGENT_EXEC_LISTS_H

#include <stdlib.h>

#include "tracers/agent/core/exec-preload.h"

int exec_list(const char *path, const char *first, ...)
{
	(void)path;
	(void)first;
	abort();
}

int exec_list_searching(const char *name, const char *first, ...)
{
	return exec_list(name, first);
}

int exec_list_with(const char *path, const char *first, ...)
{
	return exec_list(path, first);
}

#endif /* TESTS_AGENT_EXEC_LISTS_H */
