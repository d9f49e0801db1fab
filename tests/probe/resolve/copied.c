/* SPDX-License-Identifier: MIT */
/*
 * Functions that the compiler copies and splits, with known numbers of calls. main() calls each
 * function as often as the first argument states, and through a pointer TIMES times. If there is a
 * second argument, the program first waits for a line. Compiles as C and as C++.
 */
#include <stdio.h>
#include <stdlib.h>

#define TIMES 3

volatile int sink;

#ifdef __cplusplus
namespace copied
{
#endif

/*
 * The loop of main() always passes the same factor, so it calls scale.constprop.0. The pointer
 * leads to scale itself.
 */
__attribute__((noinline)) int scale(int value, int factor)
{
	for (int i = 0; i < factor; i++)
		value += sink + i;
	return value - 1000;
}

struct two {
	int a, b;
};

/* Only a copy exists, which receives the member instead of the pointer. */
static __attribute__((noinline)) int first(const struct two *two, int unused)
{
	(void)unused;
	return two->a + sink;
}

/* The start is inlined in callers, which call the piece check.part.0. */
int check(int value)
{
	if (value < 0)
		return -1;
	for (int i = 0; i < value; i++) {
		sink = sink + printf("%s", "");
		sink = sink + (puts("a") > 9 ? puts("b") : 0);
		sink = sink + printf("%s", "");
		sink = sink + (puts("a") > 9 ? puts("b") : 0);
		sink = sink + printf("%s", "");
		sink = sink + (puts("a") > 9 ? puts("b") : 0);
	}
	return sink;
}

int callers(int value)
{
	return check(value) + check(value - 1);
}

#ifdef __cplusplus
}
using namespace copied;
#endif

int (*volatile led)(int value, int factor) = scale;

int (*volatile checked)(int value) = check;

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 5, sum = 0;
	struct two two = {count, 2};

	if (argc > 2) {
		puts("w");
		fflush(stdout);
		(void)getchar();
	}
	for (int i = 0; i < count; i++)
		sum += scale(i, 3);
	for (int i = 0; i < TIMES; i++)
		sum += led(i, 2) + checked(-1);
	for (int i = 0; i < count; i++)
		sum += first(&two, i);
	for (int i = 0; i < count; i++)
		sum += callers(i);
	return sum == 123456;
}
