/* SPDX-License-Identifier: MIT */
/*
 * `side view` without its command line: viewer [-j] [-c] [-a] [-n COUNT] [-t THREADS] [-e NAME] DIR
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/view.h"

static bool is_wanted(void *context, const char *event, int loglevel)
{
	const char *name = context;

	(void)loglevel;
	return strcmp(name, event) == 0;
}

int main(int argc, char **argv)
{
	struct view_options options = {0};
	int option, ret;

	while ((option = getopt(argc, argv, "jcan:e:t:")) != -1) {
		switch (option) {
		case 'j': options.json = true; break;
		case 'c': options.colour = true; break;
		case 'a': options.attributes = true; break;
		case 'n': options.limit = strtoull(optarg, NULL, 10); break;
		case 't': options.threads = (unsigned int)strtoul(optarg, NULL, 10); break;
		case 'e':
			options.wanted = is_wanted;
			options.wanted_context = optarg;
			break;
		default: return 2;
		}
	}
	if (optind + 1 != argc)
		return 2;
	options.dir = argv[optind];
	ret = view_run(&options);
	return ret == -EPIPE ? 128 + SIGPIPE : ret != 0;
}
