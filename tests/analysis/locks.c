/* SPDX-License-Identifier: MIT */
/* Prints the answer about the locks of a trace, with the library only: locks DIRECTORY [--json] */
#include <stdio.h>
#include <string.h>

#include "analysis/locks.h"
#include "base/error.h"

int main(int argc, char **argv)
{
	const struct locks_options options = {.rows = 0};
	const struct analysis_listener listener = {.report = NULL};
	struct locks locks = {.json = argc == 3 && strcmp(argv[2], "--json") == 0};
	struct error error = {.code = 0};
	int ret;

	if (argc < 2)
		return 2;
	ret = locks_prepare(&locks, &options, argv[1], &listener, &error);
	if (!ret)
		ret = locks_open(&locks, &error);
	if (!ret)
		ret = locks_read(&locks, &error);
	if (!ret)
		ret = locks_print(&locks, stdout, &error);
	locks_free(&locks);
	if (ret)
		fprintf(stderr, "locks: %s\n", error.text);
	return ret ? 1 : 0;
}
