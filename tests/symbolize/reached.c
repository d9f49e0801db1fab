/* SPDX-License-Identifier: MIT */
/* A function that two others call, three times and once: without instrumentation, for probes. */
#include <stdio.h>

int before(int number);
int reached(int number);
int often(int number);
int once(int number);

/*
 * The function before reached() ends where it begins: an address that is one byte too low is in
 * another function.
 */
__attribute__((noinline, aligned(1))) int before(int number)
{
	return number + 1;
}

__attribute__((noinline, aligned(1))) int reached(int number)
{
	return number * 2;
}

__attribute__((noinline)) int often(int number)
{
	return reached(number) + before(number);
}

__attribute__((noinline)) int once(int number)
{
	return reached(number) + 1;
}

int main(void)
{
	int sum = 0;

	for (int i = 0; i < 3; i++)
		sum += often(i);
	sum += once(sum);
	printf("%d\n", sum);
	return 0;
}
