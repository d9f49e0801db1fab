/* SPDX-License-Identifier: MIT */
/*
 * A machine with two threads, a store buffer each, and a search through every order in which they
 * can continue.
 *
 * A thread is C code on a stack of its own. Before each access to shared memory it calls
 * machine_step(), which returns when the search has chosen the thread. Stores stay in the thread's
 * buffer (first in, first out, as on x86) until the search lets the oldest one out. A fence or a
 * locked operation waits until the buffer is empty. Loads search the thread's own buffer first.
 *
 * The state consists of the memory in the rules, the buffers, and the used part of both stacks. It
 * is restored to the same addresses, so pointers in it stay valid. Each state is explored once,
 * identified by a hash of 64 bits.
 *
 * A step that no other thread can observe (a load of memory that only this thread writes, a store
 * into the buffer, a choice of its own) commutes with all steps of other threads, and no thread
 * executes infinitely many of them in a row. So only the thread at such a step continues. This
 * leaves out orders, not outcomes.
 */
#ifndef TESTS_RING_EXPLORE_H
#define TESTS_RING_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum machine_id { PRODUCER, CONSUMER, THREADS };

enum machine_what {
	STEP_NONE,   /* The thread does not run. */
	STEP_OWN,    /* No other thread can observe the step. */
	STEP_STORE,  /* Into the buffer. */
	STEP_SHARED, /* Memory that other threads write, or read. */
	STEP_FENCE,  /* Or a locked operation, or a system call: the buffer is empty. */
	STEP_ASLEEP, /* Sleeps on a futex. */
};

/* The answer that a thread receives when it continues; bits of a mask are 1 << answer. */
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
	/* Only sleeping threads remain: returns a mask for machine_notify(), or nothing. */
	void (*stuck)(void);
	/* A store has left the buffer. */
	void (*emptied)(enum machine_id thread, const volatile void *at);
	const char *(*name)(const volatile void *at);
};

struct machine_count {
	uint64_t states, steps, ends;
};

/* Explores everything, from the present memory. Ends the process if it finds a failure. */
struct machine_count machine_explore(const struct machine_rules *rules);

/* ---- For the code that runs in a thread ---- */

enum machine_id machine_current(void);
/* Waits to be chosen. Returns one of the answers in `mask`. */
enum machine_answer machine_step(enum machine_what what, const volatile void *at, uint8_t mask);
/* Reads the memory as this thread sees it, with its own buffered stores. */
uint64_t machine_read(const volatile void *at, size_t size);
/* Puts a store into the buffer; only after STEP_STORE. */
void machine_store(volatile void *at, size_t size, uint64_t value);
/* Writes past the buffer; only after STEP_FENCE. */
void machine_write(volatile void *at, size_t size, uint64_t value);
/* Ends this thread; its buffer drains. */
_Noreturn void machine_exit(void);
/* Wakes the threads that sleep at this address. */
void machine_wake(const volatile void *at);

/* ---- For the rules and the properties ---- */

enum machine_what machine_where(enum machine_id thread);
bool machine_drained(enum machine_id thread);
/* Also permits one of these answers for a sleeping thread. */
void machine_notify(enum machine_id thread, uint8_t mask);

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
