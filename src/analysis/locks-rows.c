/* SPDX-License-Identifier: MIT */
/*
 * The rows of the answer: durations of one lock, or of the locks that one caller used first.
 *
 * A lock that is initialised again by the same caller at the same address has the same row, so that
 * objects that come and go need few rows.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/locks-state.h"

struct locks_row_key {
	uint64_t address, place;
	uint32_t process, trace, kind, is_shared;
};

struct locks_place_key {
	uint64_t place;
	uint32_t process, trace, kind, unused;
};

/* Counts the lock among those of its caller. Returns whether it has a row of its own. */
static bool locks_has_own_row(struct locks *locks, const struct locks_event *event,
		enum locks_kind kind, const struct locks_row_key *key)
{
	const struct locks_place_key place = {event->place, event->process, event->trace, kind, 0};
	uint32_t number;

	if (keys_find(&locks->row_keys, key, sizeof(*key)) != KEYS_NONE)
		return true;
	if (kind == LOCKS_JOIN || locks->row_keys.count >= LOCKS_ROWS_MAX)
		return false;
	locks->place_locks = keys_add_item(&locks->place_keys, locks->place_locks,
			sizeof(*locks->place_locks), &place, sizeof(place), &number);
	return number == KEYS_NONE || locks->place_locks[number]++ < LOCKS_PER_PLACE;
}

uint32_t locks_row_of(struct locks *locks, const struct locks_event *event, enum locks_kind kind,
		uint64_t address, bool is_init)
{
	struct locks_row_key key = {address, event->place, event->process, event->trace, kind, 0};
	struct locks_row *row;
	uint32_t number;

	if (!locks_has_own_row(locks, event, kind, &key)) {
		key.is_shared = 1;
		key.address = event->place;
		/* A thread is joined once: a row for each caller would be one for each thread. */
		if (kind == LOCKS_JOIN)
			key.address = key.place = 0;
		/* The last resort: one row for all other locks of this kind. */
		if (locks->row_keys.count >= 2 * LOCKS_ROWS_MAX &&
				keys_find(&locks->row_keys, &key, sizeof(key)) == KEYS_NONE)
			key = (struct locks_row_key){.kind = kind, .is_shared = 1};
	}
	locks->rows = keys_add_item(&locks->row_keys, locks->rows, sizeof(*locks->rows), &key,
			sizeof(key), &number);
	if (number == KEYS_NONE)
		return LOCKS_NONE;
	row = &locks->rows[number];
	if (!row->nr_locks++) {
		row->kind = kind;
		row->process = event->process;
		row->trace = event->trace;
		row->address = key.address;
		row->ns = event->ns;
		row->is_shared = key.is_shared;
		row->is_initialised = is_init;
		row->place = event->stack;
	}
	return number;
}

/* ---- durations ---- */

static bool locks_is_uncertain(const struct locks *locks, const struct locks_row *row,
		int64_t begin_ns, int64_t ns)
{
	return locks->gaps.count && gaps_overlap(&locks->gaps, row->trace, begin_ns, ns);
}

static int locks_add_pair(
		struct locks *locks, uint32_t row, uint32_t waiter, uint32_t holder, uint64_t ns)
{
	const uint32_t key[3] = {row, waiter, holder};
	struct locks_pair *pair;
	uint32_t number;

	locks->pairs = keys_add_item(&locks->pair_keys, locks->pairs, sizeof(*locks->pairs), key,
			sizeof(key), &number);
	if (number == KEYS_NONE)
		return locks->pair_keys.no_memory ? -ENOMEM : 0;
	pair = &locks->pairs[number];
	pair->row = row;
	pair->waiter = waiter;
	pair->holder = holder;
	pair->count++;
	pair->ns += ns;
	pair->max_ns = ns > pair->max_ns ? ns : pair->max_ns;
	return 0;
}

int locks_add_wait(struct locks *locks, uint32_t number, const struct locks_pending *pending,
		int64_t ns, bool is_contended, uint32_t holder)
{
	struct locks_row *row = &locks->rows[number];
	uint64_t waited = ns > pending->ns ? (uint64_t)ns - (uint64_t)pending->ns : 0;

	row->attempts++;
	if (locks_is_uncertain(locks, row, pending->ns, ns)) {
		row->uncertain++;
		return 0;
	}
	row->attempt_ns += waited;
	if (!is_contended && waited < LOCKS_UNEXPLAINED_NS)
		return 0;
	row->waited_ns += waited;
	if (is_contended) {
		row->contended++;
		if (report_stats_add(&row->wait, waited))
			return -ENOMEM;
	} else {
		row->unexplained++;
		row->unexplained_ns += waited;
	}
	return locks_add_pair(locks, number, pending->stack, holder, waited);
}

int locks_add_hold(struct locks *locks, uint32_t number, int64_t begin_ns, int64_t ns)
{
	struct locks_row *row = &locks->rows[number];

	if (locks_is_uncertain(locks, row, begin_ns, ns)) {
		row->uncertain++;
		return 0;
	}
	return report_stats_add(&row->hold, ns > begin_ns ? (uint64_t)ns - (uint64_t)begin_ns : 0);
}
