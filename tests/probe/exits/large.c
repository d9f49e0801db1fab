/* SPDX-License-Identifier: MIT */
/*
 * A function of several pages calls a watched function from each of them, after the mapping of its
 * file was divided: pages of code that were written to are separate mappings.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#define PAGE 4096
#define GAP __asm__ volatile(".fill 9000, 1, 0x90")

__attribute__((noinline)) int watched(int x)
{
	volatile int y = x;

	return y + 1;
}

/* Makes the page in its middle private to the process. */
static int divide(void *address)
{
	volatile uint8_t *page = (uint8_t *)((uintptr_t)address & ~(uintptr_t)(PAGE - 1));

	if (mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC))
		return 1;
	page[0] = page[0];
	return mprotect((void *)page, PAGE, PROT_READ | PROT_EXEC);
}

int main(void)
{
	int sum = watched(0);

	GAP;
	sum += watched(sum);
here:
	GAP;
	if (divide(&&here) || !dlopen("libm.so.6", RTLD_NOW))
		return 1;
	sum += watched(sum);
	GAP;
	sum += watched(sum);
	GAP;
	sum += watched(sum);
	printf("%d\n", sum);
	return 0;
}
