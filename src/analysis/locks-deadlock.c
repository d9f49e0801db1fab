/* SPDX-License-Identifier: MIT */
/*
 * Deadlocks: cycles of threads of which each waits, without a time limit, for a lock that the next
 * one holds.
 *
 * At the end of the trace each thread is where its last event says: it cannot continue before the
 * next one releases its lock. So a cycle is a deadlock even if recording ended earlier in some
 * threads than in others. Lost events are the exception: the release may be among them.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/locks-state.h"

enum locks_colour { LOCKS_UNSEEN, LOCKS_ON_PATH, LOCKS_DONE };

/* A thread of the path that is being searched, and the hold that is followed next. */
struct locks_step {
	uint32_t thread;
	uint32_t hold;
};

struct locks_search {
	struct locks *locks;
	uint8_t *colours; /* of threads: enum locks_colour */
	struct locks_step *path;
	uint32_t depth;
};

/* The lock that the thread waits for without a time limit, or LOCKS_NONE. */
static uint32_t locks_awaited(const struct locks *locks, uint32_t number)
{
	const struct locks_thread *thread = &locks->threads[number];
	const struct locks_event event = {.process = thread->process, .trace = thread->trace};
	const struct locks_pending *pending;

	if (!thread->depth)
		return LOCKS_NONE;
	pending = &thread->pending[thread->depth - 1];
	if (!locks_has_owner(pending->operation->kind) || pending->operation->is_timed)
		return LOCKS_NONE;
	return locks_find(locks, &event, pending->operation->kind, pending->address);
}

/* The first hold from `hold` on that keeps the thread from its lock, or LOCKS_NONE. */
static uint32_t locks_obstacle(const struct locks *locks, uint32_t number, uint32_t hold)
{
	const struct locks_thread *thread = &locks->threads[number];
	bool is_read = thread->pending[thread->depth - 1].operation->is_read;

	while (hold != LOCKS_NONE && is_read && !locks->holds[hold].is_write)
		hold = locks->holds[hold].next;
	return hold;
}

static bool locks_enter(struct locks_search *search, uint32_t thread)
{
	uint32_t lock = locks_awaited(search->locks, thread);

	if (lock == LOCKS_NONE) {
		search->colours[thread] = LOCKS_DONE;
		return false;
	}
	search->colours[thread] = LOCKS_ON_PATH;
	search->path[search->depth++] = (struct locks_step){thread,
			locks_obstacle(search->locks, thread, search->locks->all[lock].first_hold)};
	return true;
}

/*
 * A thread that waits for its own lock: a recursive mutex is locked at once, but the trace can end
 * before the result.
 */
static bool locks_lasts(const struct locks *locks, const struct locks_thread *thread)
{
	int64_t begin_ns = thread->pending[thread->depth - 1].ns;

	return locks_end_ns(locks) - LOCKS_SELF_NS >= begin_ns;
}

static bool locks_is_certain(
		const struct locks *locks, const struct locks_edge *edges, uint32_t count)
{
	const struct locks_thread *thread = &locks->threads[edges[0].thread];
	int64_t begin_ns = INT64_MAX;

	for (uint32_t i = 0; i < count; i++) {
		const struct locks_hold *hold = &locks->holds[edges[i].hold];

		begin_ns = hold->ns < begin_ns ? hold->ns : begin_ns;
	}
	/* The times of these losses are not known. */
	if (!locks->gaps.count)
		return !locks->lost_reported;
	return !gaps_overlap(&locks->gaps, thread->trace, begin_ns, INT64_MAX);
}

/* Adds the cycle that ends with the last step of the path. */
static int locks_add_deadlock(struct locks_search *search, uint32_t begin)
{
	struct locks *locks = search->locks;
	uint32_t count = search->depth - begin;
	struct locks_edge *edges;

	if (locks->nr_deadlocks == LOCKS_DEADLOCKS_MAX)
		return 0;
	edges = realloc(locks->edges, ((size_t)locks->nr_edges + count) * sizeof(*edges));
	if (!edges)
		return -ENOMEM;
	locks->edges = edges;
	edges += locks->nr_edges;
	for (uint32_t i = 0; i < count; i++)
		edges[i] = (struct locks_edge){
				search->path[begin + i].thread, search->path[begin + i].hold};
	if (count == 1 && !locks_lasts(locks, &locks->threads[edges->thread]))
		return 0;
	if (!locks_is_certain(locks, edges, count)) {
		locks->uncertain_deadlocks++;
		return 0;
	}
	locks->deadlocks[locks->nr_deadlocks++] = (struct locks_deadlock){locks->nr_edges, count};
	locks->nr_edges += count;
	return 0;
}

/* Follows the last step of the path once. */
static int locks_step(struct locks_search *search)
{
	struct locks *locks = search->locks;
	struct locks_step *step = &search->path[search->depth - 1];
	uint32_t next, begin = search->depth;
	int ret = 0;

	if (step->hold == LOCKS_NONE) {
		search->colours[step->thread] = LOCKS_DONE;
		search->depth--;
		return 0;
	}
	next = locks->holds[step->hold].thread;
	if (search->colours[next] == LOCKS_UNSEEN) {
		/* The path continues here when it is back. */
		(void)locks_enter(search, next);
		return 0;
	}
	if (search->colours[next] == LOCKS_ON_PATH) {
		while (search->path[begin - 1].thread != next)
			begin--;
		ret = locks_add_deadlock(search, begin - 1);
	}
	step->hold = locks_obstacle(locks, step->thread, locks->holds[step->hold].next);
	return ret;
}

int locks_find_deadlocks(struct locks *locks)
{
	uint32_t count = locks->thread_keys.count;
	struct locks_search search = {
			.locks = locks,
			.colours = calloc((size_t)count + 1, 1),
			.path = calloc((size_t)count + 1, sizeof(*search.path)),
	};
	int ret = search.colours && search.path ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < count && !ret; i++) {
		if (search.colours[i] == LOCKS_UNSEEN)
			(void)locks_enter(&search, i);
		while (!ret && search.depth)
			ret = locks_step(&search);
	}
	free(search.colours);
	free(search.path);
	return ret;
}
