/* SPDX-License-Identifier: MIT */
/*
 * A library whose relocation waits for the test: the loader calls the resolver of an indirect
 * function, and then stores the result in a table that it has not made read-only yet.
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "imports-library.h"

typedef pid_t imports_function(void);

static long call_kernel(long number, long fd, void *byte)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(fd), "S"(byte), "d"(1L)
			 : "rcx", "r11", "memory");
	return result;
}

static pid_t call_parent(void)
{
	return getppid();
}

/* Calls no function of another library, because imports may not be bound yet. */
static imports_function *resolve_parent(void)
{
	char byte = 0;

	call_kernel(SYS_write, IMPORTS_LIBRARY_BEGUN_LIBRARY, &byte);
	call_kernel(SYS_read, IMPORTS_LIBRARY_GO, &byte);
	return call_parent;
}

static pid_t find_parent(void) __attribute__((ifunc("resolve_parent")));

pid_t imports_library_call(void)
{
	return find_parent();
}
