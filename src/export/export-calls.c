/* SPDX-License-Identifier: MIT */
/*
 * Calls of functions as slices, which nest in the track of their thread.
 *
 * The ends of slices are in the order of their begins in each thread, also if a call has no return:
 * longjmp() or an exception left it, the program was killed, or the return was lost. Such a slice
 * ends with the call around it, or with the last event of its thread. A return without an entry
 * becomes a slice of its own, from the last event of the thread on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/event-member.h"
#include "export/export.h"

#define EXPORT_CALLS_THREADS_MAX 65536 /* threads with calls */
#define EXPORT_CALLS_DEPTH_MAX 16384   /* open calls of one thread … */
#define EXPORT_CALLS_OPEN_MAX 262144   /* … and of all threads */

struct export_frame {
	uint64_t call;
	const char *name;
};

struct export_thread {
	struct export_frame *frames; /* the open calls, the outermost first */
	uint32_t depth, capacity;
	uint32_t process, part;
	int64_t thread; /* -1: not recorded */
	int64_t last_ns;
};

struct export_calls {
	struct keys thread_keys;
	struct export_thread *threads;
	struct keys names;
	uint64_t open;
};

static struct export_slice export_calls_slice(const struct export_thread *thread, const char *name)
{
	return (struct export_slice){.call = true,
			.nested = true,
			.name = name,
			.process = thread->process,
			.thread = thread->thread,
			.part = thread->part};
}

/* NULL: out of memory. */
static const char *export_calls_name(struct export *export, const struct ctf_item *item,
		const struct view_tree_class *tree)
{
	struct keys *names = &export->calls->names;
	size_t size;
	const char *name = view_tree_function(tree, item, &size);
	uint32_t number = keys_add(names, name, size);

	return number == KEYS_NONE ? NULL : (const char *)names->entries[number].bytes;
}

/* *ret_thread is NULL if there are too many threads. 0 or -ENOMEM. */
static int export_calls_find_thread(struct export *export, const struct export_class *own,
		const struct ctf_item *item, uint64_t call, struct export_thread **ret_thread)
{
	/* The kernel's probes have the thread in their fields. */
	int64_t id = own->thread < 0 ? view_tree_thread(&own->tree, item) : own->thread;
	struct export_calls *calls = export->calls;
	struct {
		int64_t thread;
		uint32_t process, part;
	} key = {id, own->process, id < 0 ? event_call_thread(call) : 0};
	uint32_t number;

	calls->threads = keys_add_item(&calls->thread_keys, calls->threads, sizeof(*calls->threads),
			&key, sizeof(key), &number);
	*ret_thread = NULL;
	if (number == KEYS_NONE)
		return calls->thread_keys.no_memory ? -ENOMEM : 0;
	*ret_thread = &calls->threads[number];
	(*ret_thread)->process = key.process;
	(*ret_thread)->thread = key.thread;
	(*ret_thread)->part = key.part;
	return 0;
}

/* 1: the thread has room for a call. 0: too many calls are open. -ENOMEM. */
static int export_calls_grow(struct export_calls *calls, struct export_thread *thread)
{
	uint32_t capacity = thread->capacity ? thread->capacity * 2 : 16;
	struct export_frame *frames;

	if (thread->depth == EXPORT_CALLS_DEPTH_MAX || calls->open == EXPORT_CALLS_OPEN_MAX)
		return 0;
	if (thread->depth < thread->capacity)
		return 1;
	frames = realloc(thread->frames, capacity * sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	thread->frames = frames;
	thread->capacity = capacity;
	return 1;
}

static int export_calls_enter(struct export *export, const struct ctf_item *item,
		struct walk_class *class, struct export_thread *thread, uint64_t call,
		const char *name)
{
	struct export_slice slice = export_calls_slice(thread, name);
	/* Without a number, the return of the call cannot be recorded. */
	int ret = call ? export_calls_grow(export->calls, thread) : 0;

	if (ret < 0)
		return ret;
	if (!ret)
		return export->ops->event(export, item, class, NULL);
	thread->frames[thread->depth++] = (struct export_frame){call, name};
	export->calls->open++;
	return export->ops->event(export, item, class, &slice);
}

/* The innermost call ends without a return. */
static int export_calls_leave(struct export *export, struct export_thread *thread, int64_t ns)
{
	struct export_slice slice =
			export_calls_slice(thread, thread->frames[--thread->depth].name);

	export->calls->open--;
	slice.end = slice.unmatched = true;
	return export->ops->leave(export, &slice, ns);
}

/* A slice for a return whose entry is not in the trace. */
static int export_calls_lone_return(struct export *export, const struct ctf_item *item,
		struct walk_class *class, struct export_thread *thread, const char *name,
		uint64_t duration)
{
	struct export_slice slice = export_calls_slice(thread, name);
	struct ctf_item begin = *item;
	int ret;

	if (__builtin_sub_overflow(item->ns, duration, &begin.ns) || begin.ns < thread->last_ns)
		begin.ns = thread->last_ns ? thread->last_ns : item->ns;
	slice.unmatched = true;
	ret = export->ops->event(export, &begin, class, &slice);
	if (ret)
		return ret;
	slice.unmatched = false;
	slice.end = true;
	return export->ops->leave(export, &slice, item->ns);
}

static int export_calls_return(struct export *export, const struct ctf_item *item,
		struct walk_class *class, struct export_thread *thread,
		const struct view_tree_record *record, const char *name)
{
	uint32_t depth = thread->depth;
	struct export_slice slice;
	int ret = 0;

	while (depth && thread->frames[depth - 1].call != record->call)
		depth--;
	if (!depth)
		return export_calls_lone_return(
				export, item, class, thread, name, record->duration);
	while (!ret && thread->depth > depth)
		ret = export_calls_leave(export, thread, item->ns);
	if (ret)
		return ret;
	slice = export_calls_slice(thread, thread->frames[--thread->depth].name);
	slice.end = true;
	export->calls->open--;
	return export->ops->event(export, item, class, &slice);
}

int export_calls_take(struct export *export, const struct ctf_item *item, struct walk_class *class)
{
	const struct export_class *own = class->user_data;
	struct view_tree_record record = {.call = 0};
	struct export_thread *thread;
	const char *name;
	int ret;

	if (!export->calls || own->tree.kind == VIEW_TREE_OTHER ||
			!view_tree_read(&own->tree, item, &record))
		return 0;
	ret = export_calls_find_thread(export, own, item, record.call, &thread);
	if (ret || !thread)
		return ret;
	name = export_calls_name(export, item, &own->tree);
	if (!name)
		return -ENOMEM;
	ret = record.is_return ? export_calls_return(export, item, class, thread, &record, name)
			       : export_calls_enter(export, item, class, thread, record.call, name);
	thread->last_ns = item->ns;
	return ret ? ret : 1;
}

int export_calls_start(struct export *export)
{
	if (!export->ops->leave)
		return 0;
	export->calls = calloc(1, sizeof(*export->calls));
	if (!export->calls)
		return -ENOMEM;
	export->calls->thread_keys.limit = EXPORT_CALLS_THREADS_MAX;
	return 0;
}

int export_calls_finish(struct export *export)
{
	int ret = 0;

	for (uint32_t i = 0; export->calls && i < export->calls->thread_keys.count; i++) {
		struct export_thread *thread = &export->calls->threads[i];

		while (!ret && thread->depth)
			ret = export_calls_leave(export, thread, thread->last_ns);
	}
	return ret;
}

void export_calls_free(struct export_calls *calls)
{
	if (!calls)
		return;
	for (uint32_t i = 0; i < calls->thread_keys.count; i++)
		free(calls->threads[i].frames);
	free(calls->threads);
	keys_free(&calls->thread_keys);
	keys_free(&calls->names);
	free(calls);
}
