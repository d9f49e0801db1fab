/* SPDX-License-Identifier: MIT */
/* The turn: one thread at a time exchanges messages with the daemon, or changes sessions. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "tracers/agent/core/control-state.h"
#include "protocol/protocol.h"
#include "base/inside/raw.h"
#include "protocol/runtime.h"

#include <sys/mman.h>

struct control control;

bool control_wait(const uint32_t *word, uint32_t value, int operation, uint64_t until)
{
	uint64_t now = wire_deadline(0);
	struct timespec left;

	if (now >= until)
		return false;
	left.tv_sec = (time_t)((until - now) / 1000000000);
	left.tv_nsec = (long)((until - now) % 1000000000);
	raw_call(SYS_futex, word, operation, value, &left);
	return true;
}

/* ---- the turn ---- */

static bool try_turn(void)
{
	uint32_t seen = CONTROL_FREE;

	/* Acquire: what the last one did. Pairs with control_give_turn(). */
	return __atomic_compare_exchange_n(&control.turn, &seen, CONTROL_TAKEN, false,
			__ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

bool control_take_turn(unsigned int timeout_ms)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t deadline;

	if (try_turn())
		return true;
	if (!timeout_ms)
		return false;
	deadline = wire_deadline(timeout_ms);
	do {
		raw_call(SYS_nanosleep, &pause, NULL);
		if (try_turn())
			return true;
	} while (wire_deadline(0) < deadline);
	return false;
}

bool control_note(void)
{
	uint32_t seen = CONTROL_TAKEN;

	/* Relaxed: the note says no more than that there is one. */
	return __atomic_compare_exchange_n(&control.turn, &seen, CONTROL_TAKEN_AND_NOTED, false,
			       __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
			seen == CONTROL_TAKEN_AND_NOTED;
}

void control_give_turn(void)
{
	/* Release: what we did. Pairs with try_turn(). */
	if (__atomic_exchange_n(&control.turn, CONTROL_FREE, __ATOMIC_RELEASE) ==
			CONTROL_TAKEN_AND_NOTED)
		control.noted();
}

/* ---- for exchanges ---- */

struct control_memory *control_memory_map(void)
{
	return raw_mmap(NULL, sizeof(struct control_memory), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

void control_memory_unmap(struct control_memory *memory)
{
	if (memory)
		raw_munmap(memory, sizeof(*memory));
}

/* Its memory goes until it is used again. When that fails nothing is lost. */
void control_memory_trim(struct control_memory *memory)
{
	raw_call(SYS_madvise, memory, sizeof(*memory), MADV_DONTNEED);
}

int control_check_path(const char *socket)
{
	char directory[CONTROL_PATH_SIZE];
	const char *end = strrchr(socket, '/');

	if (!end || end == socket)
		return -EINVAL;
	memcpy(directory, socket, (size_t)(end - socket));
	directory[end - socket] = 0;
	return wire_runtime_check(directory);
}

bool agent_control_has_table(void)
{
	int me = (int)raw_call(SYS_gettid);

	/* Relaxed: each stores its own number, before it connects. */
	return !control.shares_table &&
			(me == __atomic_load_n(&control.thread, __ATOMIC_RELAXED) ||
					me == __atomic_load_n(&control.maker, __ATOMIC_RELAXED));
}
