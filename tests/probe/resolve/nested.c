/* SPDX-License-Identifier: MIT */
/* Calls with known numbers: in threads, recursive ones, and one that never returns. */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))
#define KEEP(n) __asm__ volatile("" : "+r"(n))

static jmp_buf back;

NOINLINE int leaf(int n)
{
	KEEP(n);
	return n + 1;
}

NOINLINE int fibonacci(int n)
{
	int sum = n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);

	KEEP(sum);
	return sum;
}

NOINLINE int leave(int n)
{
	KEEP(n);
	if (leaf(n))
		longjmp(back, 1);
	return n;
}

NOINLINE int around(int n)
{
	int got = leave(n);

	KEEP(got);
	return got;
}

NOINLINE int middle(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += leaf(i);
	KEEP(sum);
	return sum;
}

NOINLINE void *worker(void *count)
{
	for (int i = 0; i < 10; i++)
		*(int *)count += middle(5);
	return count;
}

NOINLINE int work(void)
{
	pthread_t threads[3];
	volatile int sum;
	int counts[3] = {0};

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, worker, &counts[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	sum = fibonacci(10) + middle(3);
	if (!setjmp(back))
		around(1);
	return sum;
}

int main(void)
{
	printf("%d\n", work());
	return 0;
}
