/* SPDX-License-Identifier: MIT */
/*
 * started ROUNDS [leave]: calls cook() ROUNDS times, in the process itself or, with leave, in a
 * child that starts when its parent has exited.
 */
#include <stdlib.h>
#include <unistd.h>

int cook(int number);

__attribute__((noinline)) int cook(int number)
{
	__asm__ volatile("");
	return number + 1;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1, done = 0, begun[2], ended[2];

	if (argc > 2) {
		char byte = 0;

		if (pipe(begun) || pipe(ended))
			return 1;
		if (fork())
			return read(begun[0], &byte, 1) == 1 ? 7 : 1;
		if (write(begun[1], &byte, 1) != 1)
			return 1;
		/*
		 * The exit of the parent closes its end of the pipe. The recorder has a second to
		 * detect that this process still runs.
		 */
		close(ended[1]);
		if (read(ended[0], &byte, 1))
			return 1;
		sleep(1);
	}
	for (int i = 0; i < rounds; i++)
		done = cook(done);
	return done != rounds;
}
