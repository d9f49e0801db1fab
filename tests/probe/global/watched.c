/* SPDX-License-Identifier: MIT */
/*
 * Functions in which a probe can only be a breakpoint or a uprobe: a jump leads into their first
 * bytes, there is no space near them, and a punned jump would lead into the middle of the program.
 * They start with each instruction that the kernel emulates, and one that it does not emulate. The
 * program does not use SIDE.
 *
 *	watched		reads lines:
 *			`N`: calls each function N times
 *			`fork N`: the same in a child
 *			`start N`: the same in a child that executes the program again
 *			`exec N`: the same after it has executed itself
 *			and prints the numbers of calls
 *
 * With LIBRARY these are the functions of a library, and with USES_LIBRARY the program calls those,
 * too.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A word of 256 bytes, because the instructions clear the lower byte of its address. */
static uint8_t scratch[256] __attribute__((aligned(256)));
/* The program is so long that the distance in these bytes leads into it. */
static volatile uint8_t length[1u << 20] = {1};

#define FUNCTION(name, first, last)                                              \
	__asm__(".text\n.globl " name "\n.type " name ", @function\n" name ":\n" \
		".cfi_startproc\n" first                                         \
		"1: .byte 0xb0, 0, 0, 0\n" /* mov $0, %al; add %al, (%rax) */    \
		"dec %edi\njnz 1b\n.skip 300, 0x90\n" last "ret\n.cfi_endproc\n" \
		".size " name ", . - " name "\n")

FUNCTION("begins_push", "push %rbx\n", "pop %rbx\n");
FUNCTION("begins_push_high", "push %r12\n", "pop %r12\n");
FUNCTION("begins_nop", "nop\n", "");
FUNCTION("begins_jump", ".byte 0xeb, 0\n", "");
FUNCTION("begins_condition", ".byte 0x74, 0\n", "");
FUNCTION("begins_stepped", "xor %esi, %esi\n", "");

void begins_push(void);
void begins_push_high(void);
void begins_nop(void);
void begins_jump(void);
void begins_condition(void);
void begins_stepped(void);
int begins_plain(int64_t number);

#ifdef USES_LIBRARY
void library_call_all(int64_t times);
#endif

/* A function with space for a jump. */
__attribute__((noinline)) int begins_plain(int64_t number)
{
	return (int)number * 3 + length[number & 0xff];
}

static volatile int sink;

static void call(void (*function)(void), int64_t number)
{
	uint8_t *memory = scratch;
	int64_t rounds = 1, argument = number;

	__asm__ volatile("lea -256(%%rsp), %%rsp\ncall *%[function]\nlea 256(%%rsp), %%rsp"
			 : "+a"(memory), "+D"(rounds), "+d"(argument)
			 : [function] "r"(function)
			 : "rsi", "rcx", "r8", "r9", "r10", "r11", "memory", "cc");
}

#ifdef LIBRARY
#define call_all library_call_all
__attribute__((visibility("default"))) void library_call_all(int64_t times);
#else
static
#endif
void call_all(int64_t times)
{
	for (int64_t number = 0; number < times; number++) {
		call(begins_push, number);
		call(begins_push_high, number);
		call(begins_nop, number);
		call(begins_jump, number);
		call(begins_condition, number);
		call(begins_stepped, number);
		sink += begins_plain(number);
	}
#ifdef USES_LIBRARY
	library_call_all(times);
#endif
}

#ifndef LIBRARY
static void execute(const char *how, long times)
{
	char number[24];

	snprintf(number, sizeof(number), "%ld", times);
	execl("/proc/self/exe", "watched", how, number, (char *)NULL);
	_exit(1);
}

static void in_child(const char *word, long times)
{
	pid_t child = fork();

	if (!child && !strcmp(word, "start"))
		execute(word, times);
	if (!child) {
		call_all(times);
		exit(0);
	}
	(void)waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	char line[64], word[16];
	long times;

	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc == 3) {
		times = strtol(argv[2], NULL, 10);
		call_all(times);
		if (!strcmp(argv[1], "start"))
			return 0;
		printf("%ld\n", times);
	} else {
		printf("%d\n", (int)getpid());
	}
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%15s %ld", word, &times) == 2) {
			if (!strcmp(word, "exec"))
				execute(word, times);
			in_child(word, times);
		} else {
			times = strtol(line, NULL, 10);
			call_all(times);
		}
		printf("%ld\n", times);
	}
	return 0;
}
#endif
