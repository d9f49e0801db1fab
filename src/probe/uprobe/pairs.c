/* SPDX-License-Identifier: MIT */
/*
 * Matches returns with calls: a stack of open calls for each thread, identified by the stack
 * pointer. At the entry of a function the stack pointer is the address of its return address; at
 * the return it is 8 bytes above. Calls that never returned (longjmp) have a lower stack pointer
 * than a later return, and are dropped then.
 */
#include "parts.h"

#include <stdlib.h>

#define BUCKETS 1024
#define CALLS_MAX (1u << 20) /* open calls of all threads */

struct open_call {
	struct open_call *below;
	uint64_t sp, number, time;
	uint32_t table;
	uint64_t address;
};

struct uprobe_thread {
	struct uprobe_thread *next;
	uint32_t tid;
	struct open_call *top;
};

struct uprobe_pairs {
	struct uprobe_thread *buckets[BUCKETS];
	uint64_t last;
	uint32_t open;
};

struct uprobe_pairs *global_pairs_new(void)
{
	return calloc(1, sizeof(struct uprobe_pairs));
}

static void uprobe_pair_pop_call(struct uprobe_pairs *pairs, struct uprobe_thread *thread)
{
	struct open_call *call = thread->top;

	thread->top = call->below;
	free(call);
	pairs->open--;
}

void global_pairs_free(struct uprobe_pairs *pairs)
{
	if (!pairs)
		return;
	for (unsigned int i = 0; i < BUCKETS; i++) {
		while (pairs->buckets[i]) {
			struct uprobe_thread *thread = pairs->buckets[i];

			pairs->buckets[i] = thread->next;
			while (thread->top)
				uprobe_pair_pop_call(pairs, thread);
			free(thread);
		}
	}
	free(pairs);
}

/* Returns the link of the thread; the link is NULL if the thread has no open calls. */
static struct uprobe_thread **uprobe_pair_find_thread(struct uprobe_pairs *pairs, uint32_t tid)
{
	struct uprobe_thread **at = &pairs->buckets[tid % BUCKETS];

	while (*at && (*at)->tid != tid)
		at = &(*at)->next;
	return at;
}

static bool uprobe_pair_is_same(const struct open_call *call, const struct global_side *side)
{
	return call->address == side->address && call->table == side->table;
}

static void pairs_note_entry(
		struct uprobe_pairs *pairs, const struct hit_record *record, struct global_hit *hit)
{
	struct uprobe_thread **at = uprobe_pair_find_thread(pairs, hit->tid);
	struct open_call *call = calloc(1, sizeof(*call));

	hit->call = ++pairs->last;
	if (!*at && call) {
		*at = calloc(1, sizeof(**at));
		if (*at)
			(*at)->tid = hit->tid;
	}
	if (!call || !*at || pairs->open >= CALLS_MAX) {
		free(call);
		return;
	}
	*call = (struct open_call){.below = (*at)->top,
			.sp = record->sp,
			.number = hit->call,
			.time = record->time,
			.table = hit->side->table,
			.address = hit->side->address};
	(*at)->top = call;
	pairs->open++;
}

static void pairs_note_exit(
		struct uprobe_pairs *pairs, const struct hit_record *record, struct global_hit *hit)
{
	struct uprobe_thread **at = uprobe_pair_find_thread(pairs, hit->tid), *thread = *at;
	struct open_call **found;

	if (!thread)
		return;
	/*
	 * Calls above the found one have ended without a return. Calls on another stack (of a
	 * signal) may be among them.
	 */
	found = &thread->top;
	while (*found &&
			!((*found)->sp + 8 == record->sp && uprobe_pair_is_same(*found, hit->side)))
		found = &(*found)->below;
	if (*found) {
		struct open_call *call = *found;

		hit->call = call->number;
		hit->duration = record->time - call->time;
		while (thread->top != call)
			uprobe_pair_pop_call(pairs, thread);
		uprobe_pair_pop_call(pairs, thread);
	}
	if (!thread->top) {
		*at = thread->next;
		free(thread);
	}
}

void global_pairs_note(
		struct uprobe_pairs *pairs, const struct hit_record *record, struct global_hit *hit)
{
	if (hit->side->exit)
		pairs_note_exit(pairs, record, hit);
	else
		pairs_note_entry(pairs, record, hit);
}
