/* SPDX-License-Identifier: MIT */
/*
 * Static keys, as kernels have them: a nop of five bytes becomes a jump, and a nop again. SECTION:
 * the section of the table; FORM: 1, addresses; 2, distances of 32 bits.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#ifndef SECTION
#define SECTION "__jump_table"
#endif
#if FORM == 2
#define ENTRY ".long 1b - ., %l0 - .\n"
struct entry {
	int32_t code, target;
};
#else
#define ENTRY ".quad 1b, %l0\n"
struct entry {
	uint64_t code, target;
};
#endif
#define KEY(label)                                                                               \
	__asm__ goto("1: .byte 0x0f, 0x1f, 0x44, 0, 0\n.pushsection " SECTION ", \"aw\"\n" ENTRY \
		     ".popsection"                                                               \
			:                                                                        \
			:                                                                        \
			:                                                                        \
			: label)

/* The key is the first instruction. */
__attribute__((noinline, noclone)) int key_first(int x)
{
	KEY(on);
	return x + 1;
on:
	return x + 2;
}
/* It follows one short instruction. */
__attribute__((noinline, noclone)) int key_second(int x)
{
	__asm__ volatile("test %%eax, %%eax" ::: "cc");
	KEY(on);
	return x + 3;
on:
	return x + 4;
}
/* It is in a loop. */
__attribute__((noinline, noclone)) int key_loop(int x)
{
	for (int i = 0; i < 3; i++) {
		KEY(on);
		x += 10;
		continue;
	on:
		x += 100;
	}
	return x;
}
extern struct entry begin[] __asm__("keys_begin");
__asm__(".pushsection " SECTION ", \"aw\"\n.globl keys_begin\nkeys_begin:\n.popsection");

static void set(const struct entry *entry, int on)
{
#if FORM == 2
	uint8_t *code = (uint8_t *)&entry->code + entry->code;
	const uint8_t *target = (const uint8_t *)&entry->target + entry->target;
#else
	uint8_t *code = (uint8_t *)entry->code;
	const uint8_t *target = (const uint8_t *)entry->target;
#endif
	uint8_t bytes[5] = {0x0f, 0x1f, 0x44, 0, 0};
	int32_t away = (int32_t)(target - (code + 5));

	if (on) {
		bytes[0] = 0xe9;
		memcpy(bytes + 1, &away, 4);
	}
	memcpy(code, bytes, 5);
}
int main(int argc, char **argv)
{
	uintptr_t page = (uintptr_t)key_first & ~(uintptr_t)4095;
	int sum = 0;

	(void)argv;
	mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
	if (argc > 1) {
		puts("ready");
		fflush(stdout);
		getchar();
	}
	for (int i = 0; i < 10; i++) {
		for (const struct entry *entry = begin; entry < begin + COUNT; entry++)
			set(entry, i & 1);
		for (int k = 0; k < 7; k++)
			sum += key_first(k) + 7 * key_second(k) + 3 * key_loop(k);
	}
	printf("%d\n", sum);
	return 0;
}
