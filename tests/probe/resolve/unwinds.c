/* SPDX-License-Identifier: MIT */
/* Walks its own stack with libunwind. */
#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <stdio.h>

#define FRAMES_MAX 64

__attribute__((noinline, noipa)) int walk(void)
{
	unw_context_t context;
	unw_cursor_t cursor;
	int frames = 0;

	unw_getcontext(&context);
	unw_init_local(&cursor, &context);
	do {
		unw_word_t offset;
		char name[64] = "";

		(void)unw_get_proc_name(&cursor, name, sizeof(name), &offset);
		printf("%s ", *name ? name : "?");
	} while (unw_step(&cursor) > 0 && ++frames < FRAMES_MAX);
	puts("end");
	return frames;
}

__attribute__((noinline, noipa)) int inner(int n)
{
	return walk() + n;
}

__attribute__((noinline, noipa)) int outer(int n)
{
	return inner(n) + 1;
}

int main(void)
{
	return outer(0) <= 0;
}
