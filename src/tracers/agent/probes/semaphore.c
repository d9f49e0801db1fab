/* SPDX-License-Identifier: MIT */
/*
 * Change semaphores of markers: 16-bit counters in the program's memory, which count the tracers
 * that use the marker.
 *
 * Other tracers and the program change them too, so each change must be atomic. The library that
 * contains a semaphore may be unmapped meanwhile, so a change must be able to fail. The kernel has
 * one operation that is both, for 32-bit futex words. An addition to one half of the word does not
 * carry into the other.
 */
#include <linux/futex.h>
#include <sys/uio.h>

#include <stdbool.h>
#include <stdint.h>

#include "tracers/agent/probes/probes.h"
#include "base/inside/raw.h"

#define HALF_BITS 16

/* Add `operand`, or with SHIFTED a power of two, to the word. Wakes no thread. */
#define SHIFTED (FUTEX_OP_ADD | FUTEX_OP_OPARG_SHIFT)

static bool probes_semaphore_atomic_add(uint64_t word, unsigned int how, int operand)
{
	/* The operation needs an address of waiters. */
	static uint32_t no_waiters;
	/*
	 * The operation also compares, and may then wake threads that wait at the word; no thread
	 * does.
	 */
	unsigned int operation = (how & 0xf) << 28 | (unsigned int)FUTEX_OP_CMP_LT << 24 |
			((unsigned int)operand & 0xfff) << 12 | 0x800;

	return raw_call(SYS_futex, &no_waiters, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0L, 0L, word,
			       operation) >= 0;
}

static bool probes_semaphore_is_zero(uint64_t address)
{
	uint16_t value = 0;
	struct iovec local = {.iov_base = &value, .iov_len = sizeof(value)};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = sizeof(value)};

	return raw_call(SYS_process_vm_readv, raw_call(SYS_getpid), &local, 1L, &remote, 1L, 0L) !=
			(long)sizeof(value) ||
			!value;
}

/*
 * -2^16 is the sum of 2^16 to 2^31. Add the lowest first, so that the counter is not 0 in between.
 */
static bool lower_upper(uint64_t word)
{
	bool done = true;

	for (int bit = HALF_BITS; bit < 32; bit++)
		done = probes_semaphore_atomic_add(word, SHIFTED, bit) && done;
	return done;
}

bool probe_semaphore_change(uint64_t address, bool raise)
{
	uint64_t word = address & ~UINT64_C(3);

	if (address & 1)
		return false;
	/* The program has reset the counter to 0: subtracting would borrow from the other half. */
	if (!raise && probes_semaphore_is_zero(address))
		return false;
	if (address == word)
		return probes_semaphore_atomic_add(word, FUTEX_OP_ADD, raise ? 1 : -1);
	return raise ? probes_semaphore_atomic_add(word, SHIFTED, HALF_BITS) : lower_upper(word);
}
