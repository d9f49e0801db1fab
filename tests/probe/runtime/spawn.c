/* SPDX-License-Identifier: MIT */
/*
 * Starts programs by posix_spawn() and system(), beside threads that never pause. Prints how often
 * work() was called: spawn ROUNDS
 */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "busy.h"

extern char **environ;

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 10;
	char *words[] = {"true", NULL};
	int status, pid;

	busy_begin();
	while (rounds--) {
		if (posix_spawnp(&pid, "true", NULL, NULL, words, environ) ||
				waitpid(pid, &status, 0) != pid || status)
			return 1;
		if (system("true"))
			return 2;
	}
	busy_end();
	printf("%ld\n", calls);
	return 0;
}
