/* SPDX-License-Identifier: MIT */
/*
 * Receives the probe tables of a session, sets their probes, and removes them when the rules no
 * longer name them.
 *
 * Tables of an exchange are kept until its rules are applied. Then new tables get their events,
 * tables that the rules no longer name end, and each location's patch is set or removed as
 * requested. The memory of an ended table is freed when no thread can be in one of its hits. That
 * requires waiting, so it never happens where the caller must not wait.
 */
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include <side/tracer-extensions.h>

#include "tracers/agent/context/values.h"
#include "tracers/agent/probes/probes.h"
#include "protocol/protocol.h"
#include "ring/ring.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/mappings.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/objects.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/probes-part.h"
#include "tracers/agent/core/process.h"
#include "tracers/agent/core/rules.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/wait.h"
#include "base/inside/raw.h"

#include <sys/mman.h>

/* The tables of the current exchange. Only one exchange runs at a time, under the event lock. */
static struct {
	bool is_complete; /* all tables of the exchange have arrived */
	uint32_t nr;
	struct {
		uint64_t number, size;
		int fd;
	} tables[WIRE_TABLES_MAX];
} incoming;

const bool agent_has_probes = true;

static struct probes_table *ended; /* ended tables, whose specs are unlinked */
/* Of 1 ms, until no thread loads a library at the moment. Otherwise the probe for that stays. */
#define LOADER_TRIES 1000

static bool is_started;
static void (*libraries_changed)(void); /* NULL: no wrapper is active */
static void (*notify_libraries)(void);  /* set before the process has threads */
/* patches do not match the requests yet, because the caller could not wait */
static bool apply_due;
static int start_error;

/* ---- memory that stays when no probe is left ---- */

/*
 * Counts the writable segments of the library that contains the function @user as memory of the
 * tracer (side_probe_kept).
 */
static int probes_count_variables(struct dl_phdr_info *object, size_t size, void *user)
{
	uintptr_t function = (uintptr_t)user;
	bool is_libside = false;
	unsigned int i;

	(void)size;
	for (i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];

		is_libside |= segment->p_type == PT_LOAD &&
				function - object->dlpi_addr - segment->p_vaddr < segment->p_memsz;
	}
	/*
	 * The program itself has no name: if libside is linked into it, its variables are not the
	 * tracer's.
	 */
	if (!is_libside || !object->dlpi_name || !*object->dlpi_name)
		return is_libside;
	for (i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_W)
			patch_memory_count((const void *)(object->dlpi_addr + segment->p_vaddr),
					segment->p_memsz);
	}
	return 1;
}

void agent_probes_count_libside(void)
{
	void (*function)(void) = side_tracer_disarm;
	void *address;

	memcpy(&address, &function, sizeof(address));
	agent_objects_each(probes_count_variables, address);
}

/* ---- receive tables ---- */

void agent_probes_begin(void)
{
	while (incoming.nr)
		wire_close(incoming.tables[--incoming.nr].fd);
	incoming.is_complete = false;
}

int agent_probes_receive(uint64_t number, uint64_t size, int fd)
{
	if (incoming.nr == WIRE_TABLES_MAX) {
		wire_close(fd);
		return -EPROTO;
	}
	incoming.tables[incoming.nr].number = number;
	incoming.tables[incoming.nr].size = size;
	incoming.tables[incoming.nr++].fd = fd;
	return 0;
}

void agent_probes_received(void)
{
	incoming.is_complete = true;
}

void agent_probes_rescan(void)
{
	patch_find_unwinder();
}

void agent_probes_stop_scans(void)
{
	patch_stop_scans();
}

/* ---- one table ---- */

static int probes_table_map(struct probes_table *table, uint64_t declared_size, int fd)
{
	const char *reason;
	size_t size = 0;
	int ret = probe_table_check_memfd(fd, &size);

	if (!ret && size != declared_size)
		ret = -EPROTO;
	if (ret)
		return ret;
	/*
	 * Private, because the descriptor may be read-only. The file is sealed, so its contents
	 * never change.
	 */
	table->bytes = raw_mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd);
	if (!table->bytes)
		return -ENOMEM;
	table->size = size;
	ret = probe_table_open(&table->table, table->bytes, size, &reason);
	if (ret)
		agent_debug("cannot use a probe table: %s", reason);
	return ret;
}

/* Decodes each fetch once, not at each hit. */
static int probes_table_decode_fetches(struct probes_table *table)
{
	uint32_t nr = probe_table_nr_fetches(&table->table), i;

	table->fetches = agent_memory_take(&table->memory, (nr + 1) * sizeof(*table->fetches));
	if (!table->fetches)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		probe_table_fetch(&table->table, 0, i, &table->fetches[i]);
	return 0;
}

static int probes_table_fill(struct probes_table *table, uint64_t size, int fd)
{
	uint32_t nr;
	int ret = start_error ? start_error : probes_table_map(table, size, fd);

	if (ret)
		return ret;
	nr = probe_table_nr_probes(&table->table) + 1;
	table->details = agent_memory_take(
			&table->memory, nr * sizeof(struct probes_spec_details *));
	table->errors = agent_memory_take(&table->memory, nr * sizeof(*table->errors));
	ret = table->details && table->errors ? probes_table_decode_fetches(table) : -ENOMEM;
	return ret ? ret : probes_events_make(table);
}

/* Frees a table. Call it when no thread can use one of its specs any more. */
static void probes_table_free(struct probes_table *table)
{
	struct agent_memory memory;

	probes_events_free(table);
	if (table->bytes)
		raw_munmap((void *)(uintptr_t)table->bytes, table->size);
	agent_memory_free(&table->lines);
	memory = table->memory;
	agent_memory_free(&memory);
}

/* Allocates a table at the beginning of its own memory, with everything it needs after it. */
static struct probes_table *probes_table_new(uint64_t number)
{
	struct agent_memory memory = {0};
	struct probes_table *table = agent_memory_take(&memory, sizeof(*table));

	if (!table)
		return NULL;
	table->memory = memory;
	table->number = number;
	return table;
}

static void probes_table_end(struct probes_table *table)
{
	probes_locations_drop(table);
	table->next = ended;
	ended = table;
	apply_due = true;
}

/* ---- tables of a session ---- */

static struct probes_table *probes_find(const struct agent_session *session, uint64_t number)
{
	struct probes_table *table = session->tables;

	while (table && table->number != number)
		table = table->next;
	return table;
}

static bool probes_is_named(uint64_t number)
{
	uint32_t i;

	for (i = 0; i < incoming.nr; i++)
		if (incoming.tables[i].number == number)
			return true;
	return false;
}

static void probes_end_unnamed(struct agent_session *session)
{
	struct probes_table **at = &session->tables;

	while (*at) {
		struct probes_table *table = *at;

		if (probes_is_named(table->number)) {
			at = &table->next;
			continue;
		}
		*at = table->next;
		probes_table_end(table);
	}
}

/* ---- sandboxes ---- */

#define LOCK_TRIES 1000 /* of one millisecond */

/*
 * Limits the number of attempts: the thread may have been interrupted while it holds the lock
 * itself.
 */
static bool probes_lock_for_sandbox(void)
{
	struct timespec pause = {.tv_nsec = 1000000};

	for (unsigned int i = 0; i < LOCK_TRIES; i++) {
		if (side_tracer_trylock())
			return true;
		raw_call(SYS_nanosleep, &pause, 0L);
	}
	return false;
}

static enum context_hits hit_limit_before, hit_limit;

static enum patch_sandbox probes_sandbox_of(enum context_hits hits)
{
	if (hits == CONTEXT_HITS_ALL)
		return PATCH_SANDBOX_NONE;
	return hits == CONTEXT_HITS_WITHOUT_CHANGES ? PATCH_SANDBOX_NO_SIGNALS
						    : PATCH_SANDBOX_NO_RETURN;
}

/* Called in the thread that is about to enter a sandbox. */
static void probes_limit_hits(enum context_hits hits)
{
	struct agent_session *session;
	struct probes_table *table;

	/* In a forked child, this reads the new process id, which the following checks need. */
	(void)context_generation_now();
	/* A process that shares this memory enters the sandbox alone. */
	if (context_is_foreign())
		return;
	patch_thread_begin();
	if (hits == CONTEXT_HITS_AS_BEFORE)
		hits = hit_limit_before;
	else if (hits < hit_limit)
		hits = hit_limit;
	/* The handler of breakpoints must return, too. */
	if ((hits == CONTEXT_HITS_WITHOUT_RETURN || hits == CONTEXT_HITS_WITHOUT_CHANGES) &&
			!patch_traps_are_silent())
		hits = CONTEXT_HITS_WITHOUT_SIGNALS;
	hit_limit_before = hit_limit;
	if (hits == hit_limit || !probes_locations_any() || !probes_lock_for_sandbox())
		return;
	hit_limit = hits;
	probes_locations_limit(hits);
	(void)patch_permit_reads(hits == CONTEXT_HITS_ALL && probes_locations_read());
	patch_signals_sandbox(probes_sandbox_of(hits));
	agent_each_session(session)
		for (table = session->tables; table; table = table->next)
			table->reported = false;
	agent_probes_answer();
	side_tracer_unlock();
}

/* Counts unseen hits as losses before an event ends, and at the end of the process. */
static void probes_count_lost(struct probes_table *table)
{
	uint32_t i, nr = table->events && !table->error ? probe_table_nr_events(&table->table) : 0;

	for (i = 0; i < nr; i++)
		probe_count_unseen_locked(&table->events[i]);
}

void agent_probes_count(void)
{
	struct agent_session *session;
	struct probes_table *table;

	agent_each_session(session)
		for (table = session->tables; table; table = table->next)
			probes_count_lost(table);
}

static const struct patch_hooks hooks = {.unseen = probe_hit_unseen,
		.may_ask = context_may_ask,
		.is_vforked = probe_hit_is_vforked};

static void probes_start(void)
{
	if (!is_started) {
		is_started = true;
		probe_hit_start();
		patch_hooks_set(&hooks);
		context_memory_shared = patch_thread_shares;
		/* Release: the hooks. Pairs with the acquire in agent_vfork_begins(). */
		__atomic_store_n(&context_vfork_begins, patch_thread_begin, __ATOMIC_RELEASE);
		context_hits_limited = probes_limit_hits;
		start_error = patch_start(false);
	}
	if (!start_error)
		probes_loader_start();
}

/* Durations are measured with the TSC. The recorder has measured its frequency best. */
static void probes_start_clock(const struct agent_session *session)
{
	uint64_t frequency =
			session->config.clock == RING_CLOCK_TSC ? session->config.frequency : 0;

	/* Without a frequency, durations are 0. */
	if (frequency || !is_started)
		patch_clock(frequency ? (UINT64_C(1000000000) << 32) / frequency : 0);
	probes_start();
}

void agent_probes_note_missing(struct agent_session *session)
{
	for (uint32_t i = 0; incoming.is_complete && i < incoming.nr; i++)
		session->probes_due |= !probes_find(session, incoming.tables[i].number);
	agent_probes_begin();
}

void agent_probes_update(struct agent_session *session, bool may_wait)
{
	agent_probes_count();
	if (!incoming.is_complete) {
		agent_probes_begin();
		return;
	}
	probes_end_unnamed(session);
	if (!may_wait) {
		agent_probes_note_missing(session);
		apply_due |= session->tables != NULL;
		return;
	}
	session->probes_due = false;
	if (incoming.nr)
		probes_start_clock(session);
	for (uint32_t i = 0; i < incoming.nr; i++) {
		struct probes_table *table = probes_find(session, incoming.tables[i].number);

		/*
		 * If a table is sent again, the sender may be another recorder, which has no
		 * reports of it.
		 */
		if (table)
			table->reported = false;
		if (table)
			continue;
		table = probes_table_new(incoming.tables[i].number);
		if (!table)
			continue;
		/*
		 * Add the table before it has events: the session records events of its own tables
		 * only.
		 */
		table->next = session->tables;
		session->tables = table;
		table->error = incoming.tables[i].fd < 0
				? -EACCES
				: probes_table_fill(table, incoming.tables[i].size,
						  incoming.tables[i].fd);
		if (table->error)
			agent_debug("cannot use a probe table: error %d", -table->error);
	}
	agent_probes_begin();
}

void agent_probes_leave(struct agent_session *session)
{
	while (session->tables) {
		struct probes_table *table = session->tables;

		session->tables = table->next;
		probes_table_end(table);
	}
	agent_probes_forget_loaded(session);
}

/* ---- tables of all sessions ---- */

static bool probes_has_tables(void)
{
	struct agent_session *session;

	agent_each_session(session)
		if (session->tables)
			return true;
	return ended != NULL;
}

static void probes_free_ended(void)
{
	while (ended) {
		struct probes_table *table = ended;

		ended = table->next;
		probes_table_free(table);
	}
}

static bool probes_wants_calls(void)
{
	const struct probes_table *table;
	struct agent_session *session;

	agent_each_session(session)
		for (table = session->tables; table; table = table->next)
			if (table->wants_calls && !table->error)
				return true;
	return false;
}

/* Whether events other than probes have backtraces. */
static bool probes_has_backtraces(void)
{
	const struct agent_session *session;

	agent_each_session(session)
		if (agent_session_has_context(session, CONTEXT_BACKTRACE))
			return true;
	return false;
}

void agent_probes_prepare_backtraces(const struct agent_session *session)
{
	if (session->list_only || !agent_session_has_context(session, CONTEXT_BACKTRACE) ||
			agent_is_sandboxed())
		return;
	probe_hit_start();
	probe_calls_update(true);
	context_walk = probe_calls_of_event;
}

static void probes_find_locations(struct agent_session *session)
{
	struct probes_table *table;

	for (table = session->tables; table; table = table->next)
		if (!table->error && probes_locations_find(table))
			agent_debug("cannot read the mappings");
}

void agent_probes_answer(void)
{
	struct agent_session *session;
	struct probes_table *table;

	agent_each_session(session) {
		for (table = session->tables; table; table = table->next) {
			if (table->reported || session->gone || agent_is_sandboxed())
				continue;
			table->reported = !probes_answer(session, table);
		}
	}
}

/* No table is left. Returns false if a thread loads a library now: the probe for that stays. */
static bool probes_stop(void)
{
	/* Relaxed: stored with the event lock, which this thread has. */
	if (__atomic_load_n(&libraries_changed, __ATOMIC_RELAXED))
		return true;
	if (!probes_loader_stop())
		return false;
	/* Makes system calls that a sandbox may not expect. */
	if (!agent_is_sandboxed() && patch_quiesce())
		probes_locations_quiesce();
	return true;
}

void agent_probes_apply(void)
{
	bool traced = probes_has_backtraces(), is_needed = probes_has_tables() || traced;
	struct agent_session *session;

	apply_due = false;
	if (!is_needed && !probe_calls_is_used())
		return;
	/* Libraries that are loaded later need rows, too. */
	if (traced && !agent_is_sandboxed())
		probes_start();
	agent_each_session(session)
		probes_find_locations(session);
	agent_each_session(session)
		if (probes_loaded_report(session))
			probes_find_locations(session);
	probe_calls_update(probes_wants_calls() || traced);
	probes_locations_apply();
	/*
	 * No hit of a removed patch runs any more, so the fault handlers can go.
	 * patch_permit_reads() makes system calls that a sandbox may not expect.
	 */
	if (!agent_is_sandboxed())
		(void)patch_permit_reads(probes_locations_read());
	probe_calls_free_retired();
	probes_free_ended();
	/* The probe that stays does no harm: the next tables use it. */
	if (!probes_has_tables() && !traced)
		(void)probes_stop();
	agent_probes_answer();
}

bool agent_probes_due(void)
{
	struct agent_session *session;

	agent_each_session(session)
		if (session->probes_due)
			return true;
	return apply_due;
}

void agent_probes_check(void)
{
	/* Relaxed: a thread that starts the probes at this moment has checked them itself. */
	if (!__atomic_load_n(&is_started, __ATOMIC_RELAXED))
		return;
	patch_find_unwinder();
	patch_check();
}

void agent_probes_libraries_changed(void)
{
	int saved_errno = errno;
	void (*changed)(void);
	bool begun;

	/* Relaxed: as in update.c. */
	if (agent_is_sandboxed() ||
			atomic_load_explicit(&agent.process.is_exiting, memory_order_relaxed))
		return;
	patch_scan();
	side_tracer_lock();
	/* Events of a new library can follow at once, and libside need not notify the agent of it. */
	begun = agent_occasion_begins(0);
	agent_bases_changed();
	agent_probes_apply();
	agent_occasion_ends(begun);
	side_tracer_unlock();
	/* Acquire: pairs with the release in agent_probes_watch_libraries(). */
	changed = __atomic_load_n(&libraries_changed, __ATOMIC_ACQUIRE);
	if (changed)
		changed();
	if (notify_libraries)
		notify_libraries();
	errno = saved_errno;
}

void agent_probes_on_libraries(void (*notify)(void))
{
	notify_libraries = notify;
}

/* Returns false if a thread loads a library now, and the probe for that must go. */
static bool probes_watch_libraries(void (*changed)(void))
{
	bool is_done = true;

	side_tracer_lock();
	/* Release: what `changed` reads. Pairs with the acquire in agent_probes_libraries_changed(). */
	__atomic_store_n(&libraries_changed, changed, __ATOMIC_RELEASE);
	if (changed)
		probes_start();
	else if (is_started && !probes_has_tables() && !probes_has_backtraces())
		is_done = probes_stop();
	side_tracer_unlock();
	return is_done;
}

void agent_probes_watch_libraries(void (*changed)(void))
{
	const struct timespec pause = {.tv_nsec = 1000000};

	if (agent_is_sandboxed())
		return;
	agent_probes_rescan();
	for (unsigned int i = 0; !probes_watch_libraries(changed) && i < LOADER_TRIES; i++)
		raw_call(SYS_nanosleep, &pause, NULL);
}

void agent_probes_forked(void)
{
	struct agent_session *session;
	struct probes_table *table;
	bool apply = false, gone = false;

	/*
	 * First of all, because the parent's control thread may have been scanning, without a lock,
	 * when the process forked.
	 */
	patch_forked();
	probes_loader_forked();
	agent_probes_begin();
	agent_each_session(session) {
		gone |= session->gone;
		for (table = session->tables; table; table = table->next) {
			table->reported = false;
			apply |= !table->error && probes_locations_forked(table);
		}
	}
	/* Do not continue changes that another thread of the parent has begun. */
	if (apply && !gone && !agent_is_sandboxed())
		probes_locations_apply();
	agent_probes_answer();
}

bool agent_probes_has(const struct side_event_description *event)
{
	const struct agent_session *session;

	agent_each_session(session)
		if (session->tables && probes_events_has(session->tables, event))
			return true;
	return false;
}

bool agent_probes_is_for(
		const struct agent_session *session, const struct side_event_description *event)
{
	const struct agent_session *other;

	if (session->tables && probes_events_has(session->tables, event))
		return true;
	agent_each_session(other)
		if (other->tables && probes_events_has(other->tables, event))
			return false;
	return !ended || !probes_events_has(ended, event);
}
