/* SPDX-License-Identifier: MIT */
/*
 * A machine with two threads, a store buffer each, and every order in which they can go on.
 *
 * A thread is C code on a stack of its own. Before each access to memory that matters it calls
 * machine_step(), which returns when the search has chosen it. Stores wait in the thread's buffer
 * (first in, first out, as on x86) until the search lets the oldest of them out, or until a fence or
 * a locked operation, which only goes on when the buffer is empty. Loads look into the thread's own
 * buffer first.
 *
 * The state is what the rules name as memory, the buffers, and the used part of both stacks. It is
 * put back to the same addresses, so pointers in it stay right. Each state is explored once, known by
 * a hash of 64 bits.
 *
 * A step that no other thread can notice (a load of what only this thread writes, a store into the
 * buffer, a choice of its own) commutes with all that others do, and no thread makes endlessly many
 * of them in a row: so where a thread is at such a step, only it goes on. This leaves out orders,
 * not outcomes.
 */
#ifndef TESTS_RING_EXPLORE_H
#define TESTS_RING_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum machine_id { PRODUCER, CONSUMER, THREADS };

enum machine_what {
	STEP_NONE,   /* The thread does not run. */
	STEP_OWN,    /* Nobody else can notice. */
	STEP_STORE,  /* Into the buffer. */
	STEP_SHARED, /* What others write, or can see. */
	STEP_FENCE,  /* Or a locked operation, or a system call: the buffer is empty. */
	STEP_ASLEEP, /* On a futex. */
};

/* What a thread is told when it goes on: bits of a mask are 1 << answer. */
enum machine_answer { GO, ANSWERS = 8 };

struct machine_range {
	void *at;
	size_t size;
};

struct machine_rules {
	const struct machine_range *memory; /* Ends with a size of 0. */
	void (*entry[THREADS])(void);       /* What a thread runs when it is started. */
	bool (*may_start)(enum machine_id thread);
	void (*restored)(void); /* The memory has been put back. */
	/* Nobody can go on but those asleep: a mask for machine_tell(), or nothing. */
	void (*stuck)(void);
	void (*emptied)(enum machine_id thread, const volatile void *at); /* A store came out. */
	const char *(*name)(const volatile void *at);
};

struct machine_count {
	uint64_t states, steps, ends;
};

/* Explore all of it, from the memory as it is. Ends the process if something is found. */
struct machine_count machine_explore(const struct machine_rules *rules);

/* ---- For the code that runs in a thread ---- */

enum machine_id machine_current(void);
/* Wait to be chosen; one of the answers in `mask`. */
enum machine_answer machine_step(enum machine_what what, const volatile void *at, uint8_t mask);
/* This thread as its own stores left the memory. */
uint64_t machine_read(const volatile void *at, size_t size);
/* A store into the buffer; only after STEP_STORE. */
void machine_store(volatile void *at, size_t size, uint64_t value);
/* Past the buffer; only after STEP_FENCE. */
void machine_write(volatile void *at, size_t size, uint64_t value);
/* End this thread here; its buffer drains. */
_Noreturn void machine_exit(void);
/* Those that sleep at this address go on. */
void machine_wake(const volatile void *at);

/* ---- For the rules and the properties ---- */

enum machine_what machine_where(enum machine_id thread);
bool machine_drained(enum machine_id thread);
/* Let a sleeping thread go on with one of these answers, too. */
void machine_tell(enum machine_id thread, uint8_t mask);

#define MACHINE_FOUND 3 /* Exit status: a property does not hold. */
_Noreturn void machine_fail(const char *condition, const char *format, ...)
		__attribute__((format(printf, 2, 3)));

/* A property. */
#define HOLDS(condition, ...)                                  \
	do {                                                   \
		if (!(condition))                              \
			machine_fail(#condition, __VA_ARGS__); \
	} while (0)

#endif /* TESTS_RING_EXPLORE_H */
