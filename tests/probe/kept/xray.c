/* SPDX-License-Identifier: MIT */
/*
 * XRay: the program switches the sleds of its functions on and off, between calls and while another
 * thread calls.
 */
#include <pthread.h>
#include <stdio.h>

extern int __xray_patch(void), __xray_unpatch(void);
extern int __xray_set_handler(void (*handler)(int function, int kind));

#define NEVER __attribute__((xray_never_instrument, noinline))
#define ALWAYS __attribute__((xray_always_instrument, noinline))

static long seen;
static int end;

NEVER static void count(int function, int kind)
{
	(void)function;
	(void)kind;
	__atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED);
}
ALWAYS int xray_small(int x)
{
	__asm__ volatile("");
	return x + 1;
}
ALWAYS int xray_loop(int x)
{
	volatile int y = x;

	for (int i = 0; i < 3; i++)
		y += i;
	return xray_small(y);
}
ALWAYS int xray_busy(int x)
{
	__asm__ volatile("");
	return x ^ 1;
}
NEVER static void *call(void *unused)
{
	while (!__atomic_load_n(&end, __ATOMIC_RELAXED))
		if (xray_busy(6) != 7)
			return (void *)1;
	return unused;
}
NEVER int main(void)
{
	void *result = NULL;
	pthread_t thread;
	long sum = 0;

	__xray_set_handler(count);
	pthread_create(&thread, NULL, call, NULL);
	for (int i = 0; i < 20; i++) {
		(void)(i % 2 ? __xray_patch() : __xray_unpatch());
		for (int k = 0; k < 5; k++)
			sum += xray_loop(k);
	}
	__xray_unpatch();
	__atomic_store_n(&end, 1, __ATOMIC_RELAXED);
	pthread_join(thread, &result);
	printf("%ld %d %d\n", sum, __atomic_load_n(&seen, __ATOMIC_RELAXED) >= 200, result != NULL);
	return 0;
}
