/* SPDX-License-Identifier: MIT */
/*
 * The table of open calls whose returns are watched, and a gate for each: the code at the address
 * that replaces its return address.
 *
 * Gates refer to the table by 32-bit distances, so it is in their reach. They are in this object,
 * where every unwinder finds their unwind data (gates-unwind.c). Table and gates are reserved
 * addresses at first, which neither count as memory nor are locked in it. RETURNS_FIRST of them are
 * made accessible at the beginning. A hit that needs more makes RETURNS_GROW more accessible, by
 * three system calls. These are whole pages, which belong to the thread that has taken their
 * indices. So no lock is needed, and a signal handler may do it.
 *
 * Runs in hits: uses general registers only, and calls nothing of libc.
 */
#include "parts.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/*
 * Wrappers recognize a call of a tracer by its return address, so the last call of a function must
 * not become a jump.
 */
#define NO_TAIL_CALL() __asm__ volatile("")

_Static_assert(RETURN_CALL_BYTES == 6 && RETURN_BYTES == RETURN_CALL_BYTES + 5 + 5, "its gate");
_Static_assert(RETURNS_MAX < INT32_MAX, "an index can be pushed");
_Static_assert(GATES_BYTES < INT32_MAX, "gates reach the common code");
_Static_assert(RETURNS_HEAD_BYTES < GATES_PAGE && RETURNS_HEAD_BYTES % COMMON_BYTES == 0 &&
				RETURNS_GROW * RETURN_BYTES % GATES_PAGE == 0 &&
				RETURNS_FIRST % RETURNS_GROW == 0 &&
				RETURNS_MAX % RETURNS_GROW == 0,
		"what grows is whole pages");

static uint8_t *const gates = patch_gates + GATES_PAGE; /* the first one, on a page of its own */
static struct patch_return *table;
static uint32_t max_gates;

static void patch_gates_write_u32(uint8_t *to, uint32_t word)
{
	__builtin_memcpy(to, &word, sizeof(word));
}

static void patch_gates_write(uint32_t first, uint32_t count)
{
	const uint8_t *common = gates - RETURNS_HEAD_BYTES;
	uint8_t *gate = gates + (size_t)first * RETURN_BYTES;

	for (uint32_t i = first; i < first + count; i++, gate += RETURN_BYTES) {
		gate[0] = 0xff; /* call *copy(%rip) */
		gate[1] = 0x15;
		patch_gates_write_u32(gate + 2,
				(uint32_t)((const uint8_t *)&table[i].copy -
						(gate + RETURN_CALL_BYTES)));
		gate[RETURN_CALL_BYTES] = 0x68; /* push $index */
		patch_gates_write_u32(gate + RETURN_CALL_BYTES + 1, i);
		gate[RETURN_PUSHED_BYTES] = 0xe9; /* jmp */
		patch_gates_write_u32(gate + RETURN_PUSHED_BYTES + 1,
				(uint32_t)(common - (gate + RETURN_BYTES)));
	}
}

static bool patch_gates_protect(const void *from, size_t size, int protection)
{
	return !patch_system_call(
			SYS_mprotect, (long)(uintptr_t)from, (long)size, protection, 0, 0, 0);
}

bool patch_gates_grow(uint32_t first, uint32_t count)
{
	uint8_t *from = gates + (size_t)first * RETURN_BYTES;
	size_t size = (size_t)count * RETURN_BYTES;

	if (!patch_gates_protect(&table[first], count * sizeof(*table), PROT_READ | PROT_WRITE) ||
			!patch_gates_protect(from, size, PROT_READ | PROT_WRITE))
		return false;
	patch_gates_write(first, count);
	if (!patch_gates_protect(from, size, PROT_READ | PROT_EXEC))
		return false;
	patch_memory_accessible(size + count * sizeof(*table));
	return true;
}

/* If address space is limited, leaves unused addresses to the program. */
static uint32_t patch_gates_wanted(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur != RLIM_INFINITY ? RETURNS_FIRST
									       : RETURNS_MAX;
}

_Static_assert(RETURNS_FIRST *(RETURN_BYTES + sizeof(struct patch_return)) <
				GATES_BYTES - GATES_PAGE,
		"the memory of all gates holds the first ones and their table");

/* If no other address space is in reach, the table uses that of the unused gates. */
static void patch_gates_reserve_table(void)
{
	max_gates = patch_gates_wanted();
	if (max_gates > RETURNS_FIRST)
		table = patch_memory_reserve((uintptr_t)patch_gates + GATES_BYTES / 2,
				max_gates * sizeof(*table));
	if (table)
		return;
	max_gates = RETURNS_FIRST;
	table = (struct patch_return *)(void *)(gates + (size_t)max_gates * RETURN_BYTES);
}

/*
 * Runs before the program can count or lock its memory, and before other constructors of this
 * object set probes.
 */
__attribute__((constructor(101))) static void patch_gates_reserve(void)
{
	if (table)
		return;
	/*
	 * Readable: LeakSanitizer reads all data of an object, and aborts the program where it
	 * cannot.
	 */
	(void)patch_system_call(SYS_mmap, (long)(uintptr_t)patch_gates, GATES_BYTES, PROT_READ,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	NO_TAIL_CALL();
}

int patch_gates_start(struct patch_gates *ret_gates)
{
	int ret;

	if (!table)
		patch_gates_reserve_table();
	ret = patch_gates_publish(table, max_gates);
	if (ret)
		return ret;
	if (!patch_gates_protect(patch_gates, GATES_PAGE, PROT_READ | PROT_WRITE))
		return -ENOMEM;
	patch_returns_write(gates - RETURNS_HEAD_BYTES);
	if (!patch_gates_protect(patch_gates, GATES_PAGE, PROT_READ | PROT_EXEC) ||
			!patch_gates_grow(0, RETURNS_FIRST))
		return -ENOMEM;
	patch_memory_accessible(GATES_PAGE);
	*ret_gates = (struct patch_gates){gates - RETURNS_HEAD_BYTES, table, max_gates};
	return 0;
}
