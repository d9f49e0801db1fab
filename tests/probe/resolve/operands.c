/* SPDX-License-Identifier: MIT */
/*
 * A marker whose operands are at another register or address at each location, for
 * test-operands.py. Each hit prints the values, in the form in which the test expects them.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

__asm__(".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
	".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"
	".size _.stapsdt.base, 1\n.popsection\n");

#define MARKER(operands, ...)                                                                     \
	__asm__ volatile("990: nop\nnopl 0(%%rax,%%rax,1)\n"                                      \
			 ".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n"                  \
			 ".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign " \
			 "4\n"                                                                    \
			 "993: .8byte 990b, _.stapsdt.base, 0\n"                                  \
			 ".asciz \"shop\"\n.asciz \"sold\"\n.asciz \"" operands "\"\n"            \
			 "994: .balign 4\n.popsection\n" ::__VA_ARGS__                            \
			 : "memory")

const char *volatile shop_text = "of a variable";
volatile int32_t shop_number = -30;

static void print(const char *text, int number)
{
	printf("%s %d\n", text, number);
	fflush(stdout);
}

__attribute__((noinline)) static void in_registers(const char *text, int32_t number, long length)
{
	MARKER("8@%0 -4@%k1 8@%2", "D"(text), "S"(number), "d"(length));
	print(text, number);
}

__attribute__((noinline)) static void in_others(int32_t number, long length, const char *text)
{
	MARKER("8@%0 -4@%k1 8@%2", "b"(text), "a"(number), "c"(length));
	print(text, number);
}

__attribute__((noinline)) static void in_memory(const char *text, int32_t number, uint64_t length)
{
	struct {
		const char *texts[3];
		int32_t numbers[3];
		uint64_t length;
	} local = {.texts = {"", "", text}, .numbers = {0, number, 0}, .length = length};

	/* An index register, a distance, and a negative distance. */
	MARKER("8@(%0,%1,8) -4@28(%0) 8@-16(%2)", "r"(&local), "r"(2L), "r"(&local.length + 2),
			"m"(local));
	print(text, number);
}

__attribute__((noinline)) static void in_variables(void)
{
	MARKER("8@shop_text(%%rip) -4@shop_number(%%rip) 4@$5", "m"(shop_text));
	print(shop_text, shop_number);
}

/* Fewer operands, and an invalid pointer. */
__attribute__((noinline)) static void of_others(const char *text)
{
	MARKER("8@%0", "r"(text));
	print("(unreadable)", 0);
}

int main(void)
{
	in_registers("in registers", -10, 2);
	in_others(-2000000000, 9, "in other registers");
	in_memory("in memory", 77, 4);
	in_variables();
	of_others((const char *)16);
	return 0;
}
