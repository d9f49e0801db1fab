/* SPDX-License-Identifier: MIT */
/*
 * A library that loading.c loads and unloads; its constructor is the first to call the probed
 * function.
 */
__attribute__((visibility("default"))) int library_work(int number);

__attribute__((noinline)) int library_work(int number)
{
	__asm__ volatile("" : "+r"(number));
	return number * 2;
}

static __attribute__((constructor)) void begin(void)
{
	library_work(1000);
}
