/* SPDX-License-Identifier: MIT */
/* Loaded and unloaded by loading.c; its constructor is the first to call what is probed. */
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
