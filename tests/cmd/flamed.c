/* SPDX-License-Identifier: MIT */
/*
 * Allocates along known call paths: 20 times 100 bytes by main and 40 times by flame_outer(). With
 * an argument, flame_outer() is called until standard input ends.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

static void *volatile flame_sink;

__attribute__((noinline)) static void flame_inner(void)
{
	flame_sink = malloc(100);
	free(flame_sink);
	flame_sink = NULL;
}

__attribute__((noinline)) static void flame_outer(void)
{
	flame_inner();
	flame_inner();
	flame_sink = NULL; /* The compiler must not make a jump of the last call. */
}

static void flame_run(void)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};

	puts("ready");
	fflush(stdout);
	while (!poll(&input, 1, 1))
		flame_outer();
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) {
		flame_run();
		return 0;
	}
	for (int i = 0; i < 20; i++) {
		flame_outer();
		flame_inner();
	}
	flame_sink = malloc(5000);
	free(flame_sink);
	return 0;
}
