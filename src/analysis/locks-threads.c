/* SPDX-License-Identifier: MIT */
/*
 * Decides which threads have ended.
 *
 * A call of pthread_exit() has the number of its thread. A thread that returns from its function has
 * no event. pthread_join() names the thread by its pthread_t, which other events do not have. So a
 * thread has ended if all threads with its function have been joined. The function of a thread is
 * in the outermost frame, apart from the frames of the C library that start threads.
 */
#include <errno.h>
#include <string.h>

#include "analysis/locks-state.h"
#include "symbolize/symbols.h"

/* Identifies a function of threads, or a pthread_t. */
struct locks_start_key {
	uint64_t value;
	uint32_t process, trace;
};

static int locks_note_create(struct locks *locks, const struct locks_event *event)
{
	const struct locks_start_key function = {event->start, event->process, event->trace};
	const struct locks_start_key thread = {event->object, event->process, event->trace};
	uint32_t start, number;

	locks->starts = keys_add_item(&locks->start_keys, locks->starts, sizeof(*locks->starts),
			&function, sizeof(function), &start);
	locks->created = keys_add_item(&locks->created_keys, locks->created,
			sizeof(*locks->created), &thread, sizeof(thread), &number);
	if (start != KEYS_NONE) {
		locks->starts[start].address = event->start;
		locks->starts[start].process = event->process;
		locks->starts[start].trace = event->trace;
		locks->starts[start].ns = event->ns;
		locks->starts[start].created++;
	}
	if (number != KEYS_NONE)
		locks->created[number] = start == KEYS_NONE ? 0 : start + 1;
	return locks->start_keys.no_memory || locks->created_keys.no_memory ? -ENOMEM : 0;
}

int locks_note_thread(struct locks *locks, const struct locks_event *event, int64_t id)
{
	const struct locks_thread_key key = {id, event->process, event->trace};
	uint32_t number;

	if (event->operation->action == LOCKS_CREATE)
		return event->has_object && event->start && !event->result
				? locks_note_create(locks, event)
				: 0;
	number = keys_find(&locks->thread_keys, &key, sizeof(key));
	if (number != KEYS_NONE)
		locks->threads[number].has_exited = true;
	return 0;
}

void locks_note_join(struct locks *locks, const struct locks_event *event)
{
	const struct locks_start_key thread = {event->object, event->process, event->trace};
	uint32_t number = keys_find(&locks->created_keys, &thread, sizeof(thread));

	if (number == KEYS_NONE || !locks->created[number])
		return;
	locks->starts[locks->created[number] - 1].joined++;
	/* A later thread can have the same pthread_t. */
	locks->created[number] = 0;
}

/* ---- at the end ---- */

/* The function of the thread with this stack; NULL: the stack does not reach it. */
static const struct stack_frame *locks_function_of_thread(struct locks *locks, uint32_t stack)
{
	uint32_t count, own, named = stacks_named(&locks->stacks, stack);
	const uint32_t *frames;

	(void)stacks_frames(&locks->stacks, named, &count);
	frames = stacks_own_frames(&locks->stacks, named, &own);
	if (own == count ||
			strcmp(stacks_frame(&locks->stacks, frames[own])->function,
					"start_thread") != 0)
		return NULL;
	return stacks_frame(&locks->stacks, frames[own - 1]);
}

static bool locks_is_function(
		struct locks *locks, struct locks_start *start, const struct stack_frame *frame)
{
	if (!start->symbol)
		start->symbol = symbols_find(
				locks->symbols, start->trace, start->ns, start->address, false);
	return start->symbol->module && frame->function &&
			start->symbol->offset == frame->offset - frame->inside &&
			strcmp(start->symbol->module, frame->module) == 0;
}

/* Lost events can be the begin of more threads. */
static bool locks_knows_all_threads(const struct locks *locks)
{
	return !locks->lost && !locks->lost_packets && !locks->lost_reported &&
			!locks->gaps.count && !locks->start_keys.refused &&
			!locks->created_keys.refused && !locks->walk.damaged;
}

bool locks_has_ended(struct locks *locks, uint32_t number, uint32_t stack)
{
	const struct locks_thread *thread = &locks->threads[number];
	const struct stack_frame *function;

	if (thread->has_exited)
		return true;
	if (stack == LOCKS_NONE || !locks->start_keys.count || !locks_knows_all_threads(locks))
		return false;
	function = locks_function_of_thread(locks, stack);
	for (uint32_t i = 0; function && i < locks->start_keys.count; i++) {
		struct locks_start *start = &locks->starts[i];

		if (start->process == thread->process && start->trace == thread->trace &&
				locks_is_function(locks, start, function))
			return start->created == start->joined;
	}
	return false;
}

bool locks_is_waiting(struct locks *locks, uint32_t number)
{
	const struct locks_thread *thread = &locks->threads[number];

	return thread->depth &&
			!locks_has_ended(locks, number, thread->pending[thread->depth - 1].stack);
}
