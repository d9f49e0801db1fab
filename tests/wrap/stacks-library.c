/* SPDX-License-Identifier: MIT */
/* Loaded by stacks.c: calls back from code without frame pointers. */
__attribute__((visibility("default"))) void stacks_of_library(
		const char *name, void (*call)(const char *));

static __attribute__((noinline)) int stacks_within(
		const char *name, void (*call)(const char *), volatile int *number)
{
	volatile char used[72];

	used[*number & 7] = 1;
	call(name);
	return used[*number & 7] + *number;
}

void stacks_of_library(const char *name, void (*call)(const char *))
{
	volatile int number = 3;

	number += stacks_within(name, call, &number);
}
