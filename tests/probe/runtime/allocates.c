/* SPDX-License-Identifier: MIT */
/*
 * Executes a breakpoint 100 times and calls the allocator after each; a sanitizer reports that if
 * it considers this a signal handler.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS 100

/* A function for a breakpoint: there is no space for a jump. */
void tiny(void);
__asm__(".text\n"
	".globl tiny\n"
	".type tiny, @function\n"
	"tiny:\n"
	"	ret\n"
	".size tiny, 1\n"
	".globl after_tiny\n"
	".type after_tiny, @function\n"
	"after_tiny:\n"
	"	ret\n"
	".size after_tiny, 1\n");

int main(void)
{
	int called = 0;

	for (int i = 0; i < CALLS; i++) {
		char *volatile memory;

		tiny();
		memory = malloc(CALLS);
		if (!memory)
			return 3;
		memset(memory, i, CALLS);
		called += memory[CALLS - 1] == i;
		free(memory);
	}
	printf("%d\n", called);
	return 0;
}
