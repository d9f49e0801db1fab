/* SPDX-License-Identifier: MIT */
/*
 * Finds out whether the kernel restarts the sections of this thread.
 *
 * The C library registers its area of each thread with the kernel, but only after the thread has
 * begun to run. Until then cpu_id in that area is the value that an earlier thread on the same
 * stack has left, and the kernel restarts nothing. The area alone does not show the difference.
 * Therefore a thread begins with an area of this library, in thread-local memory that the C library
 * initializes before the thread starts: cpu_id is negative there, and the first publication calls
 * ring_rseq_obtain().
 *
 *	state		area of the sections	cpu_id		who changes it
 *	unknown		ours			negative	ring_rseq_obtain(): to known or loan
 *	known		the C library's         the kernel's    stays; if the area loses its
 *			registration, cpu_id becomes
 *							negative, and ring_rseq_obtain() starts again at unknown
 *	loan		ours			the kernel's	ring_rseq_return(): to unknown
 *
 * Loan: a thread without an area registers ours for one publication and then unregisters it,
 * because the C library's own registration fails if there is another one. A signal handler in
 * between finds the same state and publishes. A signal handler that interrupts a change of state
 * finishes that change itself, and the interrupted call finds the result. In a sandbox that may
 * forbid the call, the C library's area is assumed to be registered: a C library that cannot
 * register a thread there ends the process. A handler that leaves by longjmp() leaves the loan: the
 * area exists as long as its thread. A child of fork() inherits state and registration alike; a
 * killed thread leaves nothing.
 */
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring/doorbell.h"
#include "ring/rseq.h"
#include "ring/section.h"

#if RING_HAS_SECTION

#ifndef AT_RSEQ_FEATURE_SIZE
#define AT_RSEQ_FEATURE_SIZE 27
#define AT_RSEQ_ALIGN 28
#endif

#define RSEQ_UNREGISTER 1
#define RSEQ_SIGNATURE 0x53053053u
#define RSEQ_BYTES \
	32 /* The size of the first version of the structure, which each kernel accepts. */

_Static_assert(offsetof(struct ring_thread, away) == RING_THREAD_AWAY, "away");
_Static_assert(offsetof(struct ring_thread, away) == RSEQ_BYTES, "the area is whole");

__thread struct ring_thread ring_thread __attribute__((tls_model("initial-exec"))) = {.cpu_id = -1};

/* The C library's registration (glibc 2.35 and later), if there is one. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

static uint32_t ring_rseq_length; /* The size with which the C library registers; 0: unknown. */
static bool ring_rseq_simulated;  /* A tool, not the kernel, updates the C library's area. */
static int ring_rseq_sandbox; /* 1: each filter of a sandbox permits the call; 0, -1: it may not. */

bool ring_rseq_usable(void)
{
	return &__rseq_size && &__rseq_offset && __rseq_size != 0;
}

/* Not with syscall() of the C library, which the program may replace, and which sets errno. */
static long ring_rseq_call(void *area, uint32_t length, int flags, uint32_t signature)
{
	long ret = SYS_rseq;

	__asm__ volatile("movl %[signature], %%r10d\n\t"
			 "syscall"
			 : "+a"(ret)
			 : "D"(area), "S"((unsigned long)length),
			 "d"((long)flags), [signature] "r"(signature)
			 : "rcx", "r10", "r11", "memory");
	return ret;
}

static char *ring_rseq_libc(void)
{
	return (char *)__builtin_thread_pointer() + __rseq_offset;
}

/*
 * Whether the kernel uses the C library's area of this thread. An attempt to unregister it with a
 * wrong signature fails with EPERM if it is registered, and with another error if it is not.
 */
static bool ring_rseq_is_at(uint32_t length)
{
	return ring_rseq_call(ring_rseq_libc(), length, RSEQ_UNREGISTER, ~RSEQ_SIGNATURE) == -EPERM;
}

static bool ring_rseq_is_libcs(void)
{
	uint32_t length = __atomic_load_n(&ring_rseq_length, __ATOMIC_RELAXED);

	/*
	 * If the size is unknown, the area that this thread has is assumed to be the C library's.
	 */
	return !length || ring_rseq_is_at(length);
}

static void ring_rseq_use_libcs(struct ring_thread *thread)
{
	/* Relaxed, as in ring_rseq_obtain(): only this thread and its handlers use it. */
	__atomic_store_n(&thread->away, (uint64_t)(ring_rseq_libc() - (char *)thread),
			__ATOMIC_RELAXED);
}

/* Relaxed: a thread of a sandbox was created after the store, or made it. */
static bool ring_rseq_may_call(void)
{
	return ring_calls_permitted() || __atomic_load_n(&ring_rseq_sandbox, __ATOMIC_RELAXED) > 0;
}

void ring_sandbox_begins(bool permits_rseq)
{
	int known = __atomic_load_n(&ring_rseq_sandbox, __ATOMIC_RELAXED);

	__atomic_store_n(&ring_rseq_sandbox, permits_rseq && known >= 0 ? 1 : -1, __ATOMIC_RELAXED);
}

bool ring_rseq_obtain(bool *ret_loan)
{
	struct ring_thread *thread = &ring_thread;
	long ret;

	*ret_loan = false;
	/* Relaxed: the flag is set before the first producer exists. */
	if (__atomic_load_n(&ring_rseq_simulated, __ATOMIC_RELAXED) || !ring_rseq_may_call()) {
		ring_rseq_use_libcs(thread);
		return ring_rseq_cpu() >= 0;
	}
	__atomic_store_n(&thread->away, 0, __ATOMIC_RELAXED);
	ret = ring_rseq_call(thread, RSEQ_BYTES, 0, RSEQ_SIGNATURE);
	if (!ret)
		*ret_loan = true;
	else if (ret == -EINVAL && ring_rseq_is_libcs())
		ring_rseq_use_libcs(thread);
	return ring_rseq_cpu() >= 0;
}

void ring_rseq_return(void)
{
	ring_rseq_call(&ring_thread, RSEQ_BYTES, RSEQ_UNREGISTER, RSEQ_SIGNATURE);
}

static void ring_rseq_find_length(void)
{
	unsigned long size = getauxval(AT_RSEQ_FEATURE_SIZE), align = getauxval(AT_RSEQ_ALIGN);
	const uint32_t lengths[] = {RSEQ_BYTES, __rseq_size,
			align ? (uint32_t)((size + align - 1) / align * align) : RSEQ_BYTES,
			2 * RSEQ_BYTES};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		if (ring_rseq_is_at(lengths[i]))
			__atomic_store_n(&ring_rseq_length, lengths[i], __ATOMIC_RELAXED);
}

void ring_rseq_prepare(void)
{
	bool loan;

	if (ring_rseq_cpu() >= 0 || !ring_calls_permitted())
		return;
	/*
	 * A tool without the call (valgrind), in which the words of the C library exist
	 * (bench/instructions-rseq.c).
	 */
	if (ring_rseq_call(NULL, 0, 0, 0) == -ENOSYS && !prctl(PR_GET_SECCOMP))
		__atomic_store_n(&ring_rseq_simulated, true, __ATOMIC_RELAXED);
	else
		ring_rseq_find_length();
	if (ring_rseq_obtain(&loan) && loan)
		ring_rseq_return();
}

int32_t ring_thread_cpu(void)
{
	int32_t cpu = ring_rseq_cpu();
	bool loan;

	if (__builtin_expect(cpu >= 0, 1) || !ring_rseq_usable() || !ring_rseq_obtain(&loan))
		return cpu;
	cpu = ring_rseq_cpu();
	if (loan)
		ring_rseq_return();
	return cpu;
}

#else

bool ring_rseq_usable(void)
{
	return false;
}

void ring_sandbox_begins(bool permits_rseq)
{
	(void)permits_rseq;
}

int32_t ring_thread_cpu(void)
{
	return -1;
}

#endif
