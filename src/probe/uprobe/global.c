/* SPDX-License-Identifier: MIT */
/* Chooses the backend, and delivers hits in the order of time. */
#include "base/clock.h"
#include "probe/uprobe/global.h"
#include "parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest time from the time of a hit until it is in the buffer. */
#define SETTLE_NS 2000000
#define HITS_MAX (1u << 20) /* that are kept in memory */

const char *global_backend_name(enum global_backend backend)
{
	static const char *const names[GLOBAL_NR_BACKENDS] = {
			"uprobe_multi", "perf_event", "tracefs"};

	return backend < GLOBAL_NR_BACKENDS ? names[backend] : "?";
}

/* ---- backends ---- */

static int global_try_backend(
		struct global *global, enum global_backend backend, struct error *error)
{
	switch (backend) {
	case GLOBAL_MULTI: return bpf_open(global, true, error);
	case GLOBAL_PERF: return bpf_open(global, false, error);
	default:
		return global->process ? error_set(error, -ENOTSUP, "",
							 "it cannot be limited to one process")
				       : perf_open(global, error);
	}
}

/* Tries all backends; the error names the reason of each. */
static int global_find_backend(struct global *global, int wanted, struct error *error)
{
	bool permission = false;
	char hint[ERROR_HINT_SIZE] = "";
	int ret = -ENOTSUP;

	for (int backend = 0; backend < GLOBAL_NR_BACKENDS; backend++) {
		size_t used = strlen(global->why);

		if (wanted >= 0 && wanted != backend)
			continue;
		ret = global_try_backend(global, (enum global_backend)backend, error);
		if (!ret) {
			global->backend = (enum global_backend)backend;
			return 0;
		}
		if (ret == -ENOMEM)
			return ret;
		permission |= error->kind == ERROR_PERMISSION;
		if (!*hint || error->kind == ERROR_PERMISSION)
			memcpy(hint, error->hint, sizeof(hint));
		(void)snprintf(global->why + used, sizeof(global->why) - used, "%s%s: %.300s",
				used ? "; " : "", global_backend_name((enum global_backend)backend),
				error->text);
	}
	return error_set_kind(error, permission ? ERROR_PERMISSION : ERROR_FAILED, ret, hint, "%s",
			global->why);
}

static uint32_t global_ring_size(uint32_t wanted)
{
	uint32_t size = 1u << 16;

	while (size < wanted && size < 1u << 30)
		size *= 2;
	return size;
}

int global_open(const struct global_options *options, struct global **ret_global,
		struct error *error)
{
	struct global *global = calloc(1, sizeof(*global));
	int ret;

	if (!global)
		return error_set_no_memory(error);
	global->filter = options->filter;
	global->process = options->process;
	global->ring_size = global_ring_size(
			options->ring_size ? options->ring_size : RING_SIZE_DEFAULT);
	global->pairs = global_pairs_new();
	ret = global->pairs ? sides_make(global, options, error) : error_set_no_memory(error);
	if (!ret)
		ret = replaced_open(global, error);
	if (!ret)
		ret = global_find_backend(global, options->backend, error);
	if (ret)
		global_close(global);
	else
		*ret_global = global;
	return ret;
}

bool global_may(struct error *error)
{
	return !bpf_try(true, error) || !bpf_try(false, error);
}

bool global_is_quick(void)
{
	struct error ignored;

	return !bpf_try(true, &ignored);
}

static void hits_free(struct hits *hits)
{
	for (size_t i = 0; i < hits->count; i++)
		free(hits->list[i]);
	free(hits->list);
}

void global_close(struct global *global)
{
	if (!global)
		return;
	bpf_close(global->bpf);
	perf_close(global->perf);
	hits_free(&global->hits);
	global_pairs_free(global->pairs);
	free(global->files);
	sides_free(global);
	free(global);
}

int global_watch(struct global *global, bool on, struct error *error)
{
	int ret = on && !global->on ? conflict_check(global, error) : 0;

	if (ret || on == global->on)
		return ret;
	ret = global->bpf ? bpf_watch(global, on, error) : perf_watch(global, on, error);
	global->on = on && !ret;
	return ret;
}

/* ---- queries ---- */

enum global_backend global_used(const struct global *global)
{
	return global->backend;
}

const char *global_why(const struct global *global)
{
	return global->why;
}

uint32_t global_nr_sides(const struct global *global)
{
	return global->nr_sides;
}

const struct global_side *global_side(const struct global *global, uint32_t number)
{
	return &global->sides[number];
}

uint32_t global_nr_tables(const struct global *global)
{
	return (uint32_t)global->tables.nr;
}

const struct probe_table *global_table(const struct global *global, uint32_t number)
{
	return &global->tables.tables[number];
}

int global_fd(const struct global *global)
{
	return global->bpf ? bpf_fd(global->bpf) : perf_fd(global->perf);
}

/* ---- hits ---- */

void hits_add(struct hits *hits, const void *record, size_t size)
{
	struct hit_record *copy;

	if (hits->count == hits->capacity) {
		size_t capacity = hits->capacity ? 2 * hits->capacity : 1024;
		void *list = capacity > HITS_MAX
				? NULL
				: realloc(hits->list, capacity * sizeof(*hits->list));

		if (!list) {
			hits->lost++;
			return;
		}
		hits->list = list;
		hits->capacity = capacity;
	}
	copy = malloc(size);
	if (!copy) {
		hits->lost++;
		return;
	}
	memcpy(copy, record, size);
	hits->list[hits->count++] = copy;
}

static int global_compare_time(const void *left, const void *right)
{
	const struct hit_record *const *a = left, *const *b = right;

	return ((*a)->time > (*b)->time) - ((*a)->time < (*b)->time);
}

static void global_deliver_hit(struct global *global, const struct hit_record *record,
		global_hit_fn *each, void *user)
{
	struct global_hit hit = {.side = &global->sides[record->side],
			.time = record->time,
			.cpu = record->cpu,
			.pid = (uint32_t)(record->pid_tgid >> 32),
			.tid = (uint32_t)record->pid_tgid,
			.unreadable = record->unreadable,
			.values = (const unsigned char *)(record + 1)};

	memcpy(hit.comm, record->comm, sizeof(hit.comm));
	hit.comm[sizeof(hit.comm) - 1] = 0;
	if (hit.side->paired)
		global_pairs_note(global->pairs, record, &hit);
	each(user, &hit);
}

void global_read(struct global *global, bool last, global_hit_fn *each, void *user,
		uint64_t *ret_lost)
{
	struct hits *hits = &global->hits;
	/* Before reading: all hits that are older than this are in the buffer. */
	uint64_t until = last ? UINT64_MAX : clock_monotonic_ns() - SETTLE_NS;
	size_t nr_delivered = 0;

	if (global->bpf)
		bpf_read(global->bpf, global);
	else
		perf_read(global->perf, global);
	if (hits->count > 1)
		qsort(hits->list, hits->count, sizeof(*hits->list), global_compare_time);
	while (nr_delivered < hits->count && hits->list[nr_delivered]->time < until) {
		global_deliver_hit(global, hits->list[nr_delivered], each, user);
		free(hits->list[nr_delivered++]);
	}
	hits->count -= nr_delivered;
	memmove(hits->list, hits->list + nr_delivered, hits->count * sizeof(*hits->list));
	*ret_lost = hits->lost + (global->bpf ? bpf_lost(global->bpf) : perf_lost(global->perf));
}
