/* SPDX-License-Identifier: MIT */
/* The machine of explore.h: stacks, store buffers, states, and the search, for x86-64. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore.h"

#define STACK 65536  /* Enough for printf(). */
#define BELOW 2048   /* Stack bytes that are cleared: states must not depend on them. */
#define SLOTS 14     /* Of a store buffer. A full one makes the next store wait. */
#define STATE 16384  /* Bytes of a state, at most. */
#define REGISTERS 56 /* What machine_switch() leaves on a stack, with the return address. */

/* All of it is part of the state. */
struct thread {
	void *sp;                /* The stack pointer of a started thread, while it waits. */
	const volatile void *at; /* The address of the step for which it waits. */
	uint8_t what, mask, answer, stored;
	uint8_t size[SLOTS];
	volatile void *where[SLOTS];
	uint64_t value[SLOTS];
};

/* How a state was reached: to print the steps that lead to a failure. */
struct node {
	uint32_t before;
	uint8_t thread, answer, what;
	const volatile void *at;
};

/* A possible action in a state. */
struct action {
	uint8_t thread, answer;
};
#define ACTION_START 100
#define ACTION_EMPTY 101 /* Let the oldest store leave the buffer. */

static const struct machine_rules *rules;
static struct thread threads[THREADS];
static _Alignas(64) unsigned char stacks[THREADS][STACK];
static void *search_sp;
static enum machine_id current;
static struct machine_count count;

/* States from which to continue: one after the other, each followed by its size and its node. */
static unsigned char *waiting;
static size_t waiting_used, waiting_capacity;

/* Hashes of the states seen, and their nodes. */
static uint64_t *table;
static size_t table_size;
static struct node *nodes;
static uint32_t node_count, node_capacity, node_now;
static struct node node_next;

/* Returns whether no other thread can observe the next step of this thread. */
static bool local(const struct thread *thread)
{
	return thread->what == STEP_OWN || (thread->what == STEP_STORE && thread->stored < SLOTS);
}

/* ---- Stacks ---- */

/* Saves this stack at *save, and continues with the one at `to`. */
void machine_switch(void **save, void *to) __attribute__((visibility("hidden")));
__asm__(".text\n"
	".globl machine_switch\n"
	".hidden machine_switch\n"
	".type machine_switch, @function\n"
	"machine_switch:\n"
	"	pushq %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	pushq %r13\n"
	"	pushq %r14\n"
	"	pushq %r15\n"
	"	movq %rsp, (%rdi)\n"
	"	movq %rsi, %rsp\n"
	"	popq %r15\n"
	"	popq %r14\n"
	"	popq %r13\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	ret\n"
	".size machine_switch, . - machine_switch\n");

static void to_search(void)
{
	machine_switch(&threads[current].sp, search_sp);
}

static void resume(enum machine_id thread)
{
	unsigned char *sp = threads[thread].sp;

	current = thread;
	memset(sp - BELOW, 0, BELOW);
	machine_switch(&search_sp, sp);
}

void machine_exit(void)
{
	struct thread *thread = &threads[current];

	thread->what = STEP_NONE;
	thread->at = NULL;
	thread->mask = thread->answer = 0;
	to_search();
	abort();
}

static void run(void)
{
	rules->entry[current]();
	machine_exit();
}

static void start(enum machine_id id)
{
	unsigned char *top = stacks[id] + STACK;
	void (*entry)(void) = run;

	memset(top - BELOW, 0, BELOW);
	threads[id].sp = top - 8 - REGISTERS;
	/* The return address of the switch: the stack is then as after a call. */
	memcpy(top - 16, &entry, sizeof(entry));
	resume(id);
}

/* ---- What threads do ---- */

enum machine_id machine_current(void)
{
	return current;
}

enum machine_answer machine_step(enum machine_what what, const volatile void *at, uint8_t mask)
{
	struct thread *thread = &threads[current];

	thread->what = (uint8_t)what;
	thread->at = at;
	thread->mask = mask;
	/* A state with only one possible action, which is not kept. */
	if (mask == 1 << GO && local(thread))
		return GO;
	to_search();
	return (enum machine_answer)thread->answer;
}

uint64_t machine_read(const volatile void *at, size_t size)
{
	const struct thread *thread = &threads[current];
	uint64_t value = 0;

	for (unsigned int i = thread->stored; i-- > 0;) {
		if (thread->where[i] == at)
			return thread->value[i];
	}
	memcpy(&value, (const void *)(uintptr_t)at, size);
	return value;
}

void machine_write(volatile void *at, size_t size, uint64_t value)
{
	memcpy((void *)(uintptr_t)at, &value, size);
}

void machine_store(volatile void *at, size_t size, uint64_t value)
{
	struct thread *thread = &threads[current];

	if (thread->stored == SLOTS)
		abort();
	thread->where[thread->stored] = at;
	thread->size[thread->stored] = (uint8_t)size;
	thread->value[thread->stored++] = value;
}

void machine_wake(const volatile void *at)
{
	for (int id = 0; id < THREADS; id++) {
		struct thread *thread = &threads[id];

		if (thread->what != STEP_ASLEEP || thread->at != at)
			continue;
		thread->what = STEP_OWN;
		thread->mask = 1 << GO;
	}
}

static void empty_one(enum machine_id id)
{
	struct thread *thread = &threads[id];
	volatile void *at = thread->where[0];
	unsigned int left = --thread->stored;

	machine_write(at, thread->size[0], thread->value[0]);
	memmove(thread->where, thread->where + 1, left * sizeof(thread->where[0]));
	memmove(thread->size, thread->size + 1, left * sizeof(thread->size[0]));
	memmove(thread->value, thread->value + 1, left * sizeof(thread->value[0]));
	thread->where[left] = NULL;
	thread->size[left] = 0;
	thread->value[left] = 0;
	rules->emptied(id, at);
}

enum machine_what machine_where(enum machine_id thread)
{
	return (enum machine_what)threads[thread].what;
}

bool machine_drained(enum machine_id thread)
{
	return threads[thread].stored == 0;
}

void machine_notify(enum machine_id thread, uint8_t mask)
{
	threads[thread].mask |= mask;
}

/* ---- States ---- */

static size_t used_stack(enum machine_id id)
{
	return threads[id].what == STEP_NONE
			? 0
			: (size_t)(stacks[id] + STACK - (unsigned char *)threads[id].sp);
}

static size_t save(unsigned char *state)
{
	unsigned char *at = state;

	for (int id = 0; id < THREADS; id++) {
		if (threads[id].what == STEP_NONE)
			threads[id].sp = NULL;
	}
	memcpy(at, threads, sizeof(threads));
	at += sizeof(threads);
	for (const struct machine_range *range = rules->memory; range->size; range++) {
		memcpy(at, range->at, range->size);
		at += range->size;
	}
	for (int id = 0; id < THREADS; id++) {
		size_t size = used_stack((enum machine_id)id);

		if (size > STATE / 3)
			abort();
		memcpy(at, stacks[id] + STACK - size, size);
		at += size;
	}
	/* Full rounds of the hash. */
	memset(at, 0, 32);
	return (size_t)(at - state + 31) & ~(size_t)31;
}

static void restore(const unsigned char *state)
{
	memcpy(threads, state, sizeof(threads));
	state += sizeof(threads);
	for (const struct machine_range *range = rules->memory; range->size; range++) {
		memcpy(range->at, state, range->size);
		state += range->size;
	}
	for (int id = 0; id < THREADS; id++) {
		size_t size = used_stack((enum machine_id)id);

		memcpy(stacks[id] + STACK - size, state, size);
		state += size;
	}
	rules->restored();
}

static void *grown(void *memory, size_t size)
{
	memory = realloc(memory, size);
	if (!memory) {
		perror("explore");
		exit(1);
	}
	return memory;
}

static bool table_add(uint64_t hash)
{
	size_t slot = hash >> 20;

	for (;; slot++) {
		uint64_t *entry = &table[slot & (table_size - 1)];

		if (*entry == hash)
			return false;
		if (*entry)
			continue;
		*entry = hash;
		return true;
	}
}

static void table_grow(void)
{
	uint64_t *old = table;
	size_t old_size = table_size;

	table_size = old_size ? old_size * 4 : 1u << 16;
	table = calloc(table_size, sizeof(*table));
	if (!table) {
		perror("explore");
		exit(1);
	}
	for (size_t i = 0; i < old_size; i++) {
		if (old[i])
			table_add(old[i]);
	}
	free(old);
}

/*
 * Four independent sums: the latency of a multiplication exceeds the time until the next one can
 * begin.
 */
static uint64_t hash_of(const unsigned char *state, size_t size)
{
	uint64_t sums[4] = {size, 1, 2, 3}, word;

	for (size_t i = 0; i < size; i += 32) {
		for (size_t lane = 0; lane < 4; lane++) {
			memcpy(&word, state + i + lane * 8, 8);
			word = (sums[lane] ^ word) * UINT64_C(0x9E3779B97F4A7C15);
			sums[lane] = word ^ word >> 32;
		}
	}
	for (size_t lane = 1; lane < 4; lane++) {
		sums[0] = (sums[0] ^ sums[lane]) * UINT64_C(0xD6E8FEB86659FD93);
		sums[0] ^= sums[0] >> 32;
	}
	return sums[0] | 1;
}

static bool seen_before(const unsigned char *state, size_t size)
{
	if (node_count >= table_size / 2)
		table_grow();
	return !table_add(hash_of(state, size));
}

static void push(void)
{
	size_t size;

	if (waiting_capacity - waiting_used < STATE + 64) {
		waiting_capacity = waiting_capacity ? waiting_capacity * 2 : 1u << 22;
		waiting = grown(waiting, waiting_capacity);
	}
	size = save(waiting + waiting_used);
	if (seen_before(waiting + waiting_used, size))
		return;
	if (node_count == node_capacity) {
		node_capacity = node_capacity ? node_capacity * 2 : 1u << 16;
		nodes = grown(nodes, node_capacity * sizeof(*nodes));
	}
	node_next.before = node_now;
	nodes[node_count] = node_next;
	waiting_used += size;
	memcpy(waiting + waiting_used, &size, sizeof(size));
	memcpy(waiting + waiting_used + 8, &node_count, sizeof(node_count));
	waiting_used += 16;
	node_count++;
}

/* ---- The search ---- */

static bool can_go(const struct thread *thread)
{
	switch (thread->what) {
	case STEP_NONE: return false;
	case STEP_STORE: return thread->stored < SLOTS;
	case STEP_FENCE: return thread->stored == 0;
	default: return true;
	}
}

static unsigned int add_answers(struct action *actions, unsigned int n, enum machine_id id)
{
	for (unsigned int answer = 0; answer < ANSWERS; answer++) {
		if (threads[id].mask >> answer & 1)
			actions[n++] = (struct action){(uint8_t)id, (uint8_t)answer};
	}
	return n;
}

static unsigned int all_actions(struct action *actions)
{
	unsigned int n = 0;

	for (int id = 0; id < THREADS; id++) {
		if (local(&threads[id]))
			return add_answers(actions, 0, (enum machine_id)id);
	}
	for (int id = 0; id < THREADS; id++) {
		if (threads[id].stored)
			actions[n++] = (struct action){(uint8_t)id, ACTION_EMPTY};
		if (can_go(&threads[id]))
			n = add_answers(actions, n, (enum machine_id)id);
		else if (threads[id].what == STEP_NONE && rules->may_start((enum machine_id)id))
			actions[n++] = (struct action){(uint8_t)id, ACTION_START};
	}
	return n;
}

static void act(struct action action)
{
	struct thread *thread = &threads[action.thread];
	enum machine_id id = (enum machine_id)action.thread;

	count.steps++;
	node_next = (struct node){0, action.thread, action.answer, thread->what, thread->at};
	if (action.answer == ACTION_EMPTY) {
		node_next.at = thread->where[0];
		empty_one(id);
		return;
	}
	if (action.answer == ACTION_START) {
		start(id);
	} else {
		thread->answer = action.answer;
		thread->mask = 0;
		resume(id);
	}
}

struct machine_count machine_explore(const struct machine_rules *with)
{
	static unsigned char from[STATE];
	struct action actions[2 * (ANSWERS + 2)];

	rules = with;
	memset(threads, 0, sizeof(threads));
	memset(&count, 0, sizeof(count));
	waiting_used = 0;
	free(table);
	table = NULL;
	table_size = 0;
	table_grow();
	node_count = node_now = 0;
	node_next = (struct node){0};
	push();
	while (waiting_used) {
		unsigned int n;
		size_t size;

		waiting_used -= 16;
		memcpy(&size, waiting + waiting_used, sizeof(size));
		memcpy(&node_now, waiting + waiting_used + 8, sizeof(node_now));
		waiting_used -= size;
		memcpy(from, waiting + waiting_used, size);
		restore(from);
		n = all_actions(actions);
		if (n == 0) {
			rules->stuck();
			n = all_actions(actions);
			count.ends += n == 0;
			save(from);
		}
		for (unsigned int i = 0; i < n; i++) {
			if (i)
				restore(from);
			act(actions[i]);
			push();
		}
	}
	count.states = node_count;
	return count;
}

static void show_node(const struct node *node)
{
	static const char *const whats[] = {"", "load own", "store", "access", "fence", "wake up"};
	const char *side_name = node->thread == PRODUCER ? "producer" : "consumer";

	if (node->answer == ACTION_START)
		fprintf(stderr, "  %s starts\n", side_name);
	else if (node->answer == ACTION_EMPTY)
		fprintf(stderr, "  %s's store is out: %s\n", side_name, rules->name(node->at));
	else
		fprintf(stderr, "  %s: %s %s", side_name, whats[node->what], rules->name(node->at));
	if (node->answer < ANSWERS)
		fprintf(stderr, node->answer ? " (answer %u)\n" : "\n", node->answer);
}

void machine_fail(const char *condition, const char *format, ...)
{
	uint32_t way[1024];
	unsigned int n = 0;
	va_list values;

	fprintf(stderr, "found: ");
	va_start(values, format);
	vfprintf(stderr, format, values);
	va_end(values);
	fprintf(stderr, " (%s), after %u states\n", condition, node_count);
	if (getenv("EXPLORE_WAY")) {
		for (uint32_t at = node_now; at && n < 1024; at = nodes[at].before)
			way[n++] = at;
		while (n-- > 0)
			show_node(&nodes[way[n]]);
		show_node(&node_next);
	}
	fflush(NULL);
	_Exit(MACHINE_FOUND);
}
