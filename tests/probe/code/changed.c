/* SPDX-License-Identifier: MIT */
/*
 * A program that changes one of its functions, prints that it did, and waits for a signal or for
 * the end of its input.
 */
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int site_changed(void);

int main(void)
{
	uintptr_t address = (uintptr_t)&site_changed, page = address & ~(uintptr_t)4095;
	char byte;

	if (mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC))
		return 1;
	*((volatile uint8_t *)address + 1) = 10;
	printf("%d\n", site_changed());
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
