/* SPDX-License-Identifier: MIT */
/* Counts the time that threads have no processor. */
#include "analysis/switches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/ctf.h"

void switches_class_find(struct switches_class *class, const struct ctf_item *item)
{
	*class = (struct switches_class){0};
	if (strcmp(item->event->name, "sched:sched_switch") != 0)
		return;
	class->is_switch = event_member_find(&class->previous, EVENT_FIELDS, item, "prev_pid") &&
			event_member_find(&class->next, EVENT_FIELDS, item, "next_pid");
}

/* NULL beyond the limit, or out of memory. */
static struct switches_thread *switches_add_thread(struct switches *switches, uint64_t number)
{
	int32_t key = (int32_t)number;
	uint32_t found;

	switches->thread_keys.limit = SWITCHES_THREADS_MAX;
	switches->threads = keys_add_item(&switches->thread_keys, switches->threads,
			sizeof(*switches->threads), &key, sizeof(key), &found);
	return found == KEYS_NONE ? NULL : &switches->threads[found];
}

static void switches_begin_off(
		struct switches *switches, struct switches_thread *thread, int64_t ns)
{
	if (thread->is_off && !thread->is_broken) {
		thread->is_broken = true;
		switches->broken++;
	}
	thread->is_off = true;
	thread->since_ns = ns;
}

static void switches_end_off(struct switches_thread *thread, int64_t ns)
{
	if (thread->is_off && ns > thread->since_ns)
		thread->off_ns += (uint64_t)ns - (uint64_t)thread->since_ns;
	thread->is_off = thread->is_broken = false;
}

int switches_take(struct switches *switches, const struct switches_class *class,
		const struct ctf_item *item)
{
	struct switches_thread *thread;
	uint64_t previous, next;

	if (!item->timed || !event_member_number(&class->previous, item, &previous) ||
			!event_member_number(&class->next, item, &next))
		return 0;
	switches->has_begun = true;
	switches->trace = item->trace->index;
	/* Thread 0 of each CPU is its idle task. */
	thread = previous ? switches_add_thread(switches, previous) : NULL;
	if (thread)
		switches_begin_off(switches, thread, item->ns);
	thread = next ? switches_add_thread(switches, next) : NULL;
	if (thread)
		switches_end_off(thread, item->ns);
	return switches->thread_keys.no_memory ? -ENOMEM : 0;
}

bool switches_clock(const struct switches *switches, int64_t thread, int64_t ns, uint64_t *ret_ns)
{
	int32_t key = (int32_t)thread;
	uint32_t number = keys_find(&switches->thread_keys, &key, sizeof(key));
	const struct switches_thread *found;
	uint64_t off_ns;

	if (number == KEYS_NONE || ns < 0)
		return false;
	found = &switches->threads[number];
	off_ns = found->off_ns;
	if (found->is_off && ns > found->since_ns)
		off_ns += (uint64_t)ns - (uint64_t)found->since_ns;
	*ret_ns = (uint64_t)ns - off_ns;
	return !found->is_broken;
}

void switches_free(struct switches *switches)
{
	keys_free(&switches->thread_keys);
	free(switches->threads);
}
