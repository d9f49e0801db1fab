/* SPDX-License-Identifier: MIT */
/*
 * Functions with the symbols that Rust gives them, in both of its mangling schemes; compiled as C,
 * so that no Rust compiler is needed.
 */
#include <stdio.h>

#define FUNCTION __attribute__((noinline, noipa))

/* server::net::handle::<u32>, <server::Pool as core::ops::drop::Drop>::drop, server::old::handle */
FUNCTION int handle(int number) __asm__("_RINvNtCs1_6server3net6handlemEB4_");
FUNCTION int drop(int number) __asm__(
		"_RNvXCs1_6serverNtB2_4PoolNtNtNtCs2_4core3ops4drop4Drop4drop");
FUNCTION int old(int number) __asm__("_ZN6server3old6handle17h0123456789abcdefE");

int handle(int number)
{
	return number * 100003 + 1;
}

int drop(int number)
{
	return number * 100003 + 2;
}

int old(int number)
{
	return number * 100003 + 3;
}

int main(void)
{
	printf("%d\n", handle(1) + drop(2) + old(3));
	return 0;
}
