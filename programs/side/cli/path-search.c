/* SPDX-License-Identifier: MIT */
/* Finds out whether a program exists, by its path or in PATH. */
#include "path-search.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_DEFAULT "/bin:/usr/bin" /* default of the C library if PATH is not set */

bool path_has_program(const char *name)
{
	const char *list = getenv("PATH"), *end;
	char path[PATH_MAX];

	if (strchr(name, '/'))
		return !access(name, X_OK);
	for (list = list ? list : PATH_DEFAULT;; list = end + 1) {
		end = strchrnul(list, ':');
		if (snprintf(path, sizeof(path), "%.*s%s%s", (int)(end - list), list,
				    end > list ? "/" : "", name) < (int)sizeof(path) &&
				!access(path, X_OK))
			return true;
		if (!*end)
			return false;
	}
}
