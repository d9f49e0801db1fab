/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_PATCH_CALL_H
#define SIDE_PROBE_PATCH_CALL_H

/*
 * System calls without libc, whose functions may have probes, and whose syscall() changes the
 * program's errno. Returns the result or negative errno.
 */
static inline __attribute__((always_inline)) long patch_system_call(
		long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

#endif /* SIDE_PROBE_PATCH_CALL_H */
