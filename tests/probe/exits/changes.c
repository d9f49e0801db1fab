/* SPDX-License-Identifier: MIT */
/*
 * Calls the functions of changes.S, and others with similar frames whose returns can be watched:
 * with arguments on the stack, with a frame pointer, with an aligned stack, and with pointers to
 * their frames.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TIMES 3
#define KEPT __attribute__((noipa))

int call_by_frame(void), call_by_lea(void), call_by_copy(void), call_by_sum(void),
		call_in_label(void), call_in_called(void), call_in_tail(void), call_in_chain(void),
		call_by_pointer(void);

KEPT int kept_arguments(int a, int b, int c, int d, int e, int f, int g, int h)
{
	return a + b + c + d + e + f + 10 * g + 100 * h;
}

KEPT int kept_tail(int a, int b, int c, int d, int e, int f, int g, int h)
{
	return kept_arguments(h, g, f, e, d, c, b, a);
}

KEPT __attribute__((optimize("no-omit-frame-pointer"))) int kept_frame(
		int a, int b, int c, int d, int e, int f, int g)
{
	volatile char some[32];

	memset((char *)some, g, sizeof(some));
	return a + b + c + d + e + f + some[g];
}

KEPT int kept_aligned(int a, int b, int c, int d, int e, int f, int g)
{
	_Alignas(64) volatile char some[128];

	memset((char *)some, g, sizeof(some));
	return a + b + c + d + e + f + some[g];
}

KEPT int kept_variable(int count, ...)
{
	va_list list;
	int sum = 0;

	va_start(list, count);
	while (count--)
		sum += va_arg(list, int);
	va_end(list);
	return sum;
}

KEPT void kept_pointer(int *to)
{
	int some[16] = {1, 2, 3};

	__asm__ volatile("" : : "r"(some) : "memory");
	*to += some[2];
}

int main(void)
{
	int sum = 0;

	for (int i = 0; i < TIMES; i++) {
		printf("%x %x %x %x %x %x %x %x %x\n", call_by_frame(), call_by_lea(),
				call_by_copy(), call_by_sum(), call_in_label(), call_in_called(),
				call_in_tail(), call_in_chain(), call_by_pointer());
		sum += kept_tail(1, 2, 3, 4, 5, 6, 7, 8) + kept_frame(1, 2, 3, 4, 5, 6, 7) +
				kept_aligned(1, 2, 3, 4, 5, 6, 7) +
				kept_variable(8, 1, 2, 3, 4, 5, 6, 7, 8);
		kept_pointer(&sum);
	}
	printf("%d\n", sum);
	return 0;
}
