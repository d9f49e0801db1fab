/* SPDX-License-Identifier: MIT */
/*
 * Markers as <sys/sdt.h> of SystemTap makes them, written by hand: a nop, and a note with its
 * address and operands.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* In a section that moves with the program, so that readers can compute the distance. */
__asm__(".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
	".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"
	".size _.stapsdt.base, 1\n.popsection\n");

/* As they are adjacent: in one word of 32 bits, and across two. */
volatile uint16_t before_semaphore __attribute__((section(".probes"), used));
volatile uint16_t marker_semaphore __attribute__((section(".probes"), used));
volatile uint16_t behind_semaphore __attribute__((section(".probes"), used));
volatile int64_t marker_number = -77;
volatile int64_t marker_sum;

#define MARKER(name, semaphore, operands, ...)                                                    \
	__asm__ volatile("990: nop\n"                                                             \
			 ".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n"                  \
			 ".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign " \
			 "4\n"                                                                    \
			 "993: .8byte 990b, _.stapsdt.base, " semaphore "\n"                      \
			 ".asciz \"marks\"\n.asciz \"" name "\"\n.asciz \"" operands "\"\n"       \
			 "994: .balign 4\n.popsection\n" ::__VA_ARGS__)

__attribute__((noinline)) void mark(int32_t number, uint8_t small, int64_t *array, int64_t index)
{
	MARKER("first", "0", "-4@%0 1@%1 8@$-5", "r"(number), "q"(small));
	/* As far apart as in real code. */
	marker_sum += array[0] + index;
	marker_sum -= array[1] * index;
	MARKER("second", "marker_semaphore", "-8@(%0,%1,8) -8@8(%0) -8@marker_number(%%rip)",
			"r"(array), "r"(index));
}

__attribute__((noinline)) void mark_again(uint32_t number)
{
	MARKER("first", "0", "4@%0 1@$7 8@$3", "r"(number));
	marker_sum += number;
	MARKER("behind", "behind_semaphore", "4@%0", "r"(number));
}

int main(int argc, char **argv)
{
	int64_t array[4] = {100, -200, 300, -400};
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
	int letter = 0;

	if (argc > 2) {
		puts("ready");
		fflush(stdout);
		letter = getchar();
	}
	for (long i = 0; i < rounds && letter != EOF; i++) {
		mark(-(int32_t)i - 1, 200, array, 3);
		mark_again(4000000000u);
	}
	if (argc > 2) {
		printf("done %u\n", marker_semaphore);
		fflush(stdout);
		while (letter != EOF)
			letter = getchar();
	}
	return 0;
}
