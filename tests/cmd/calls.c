/* SPDX-License-Identifier: MIT */
/* Calls functions, the last of which waits for the end of the input. */
#include <unistd.h>

int leaf(int n);
int hold(int n);
int outer(int n);

__attribute__((noinline)) int leaf(int n)
{
	__asm__ volatile("" ::: "memory");
	return n + 1;
}

__attribute__((noinline)) int hold(int n)
{
	char byte;

	while (read(0, &byte, 1) > 0)
		n++;
	return n;
}

__attribute__((noinline)) int outer(int n)
{
	int sum = leaf(n) + leaf(n + 1);

	return hold(sum) + 1;
}

int main(void)
{
	return outer(7) & 1;
}
