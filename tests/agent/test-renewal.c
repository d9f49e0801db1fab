/* SPDX-License-Identifier: MIT */
/*
 * Changed rules and tables of probes: which events keep their ids, what is released, which tables
 * begin and end, and how a sandbox limits probes. The test includes the files, and notes their
 * calls in order.
 */
#include <errno.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <cmocka.h>

#include <side/tracer-extensions.h>

#include "noted.h"

#include "ring/ring.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/batch.h"
#include "tracers/agent/core/event.h"
#include "tracers/agent/core/leases.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/objects.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/probes-part.h"
#include "tracers/agent/core/process.h"
#include "tracers/agent/core/recycled-ids.h"
#include "tracers/agent/core/renew.h"
#include "tracers/agent/core/replaced.h"
#include "tracers/agent/core/rules.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/context/text.h"
#include "tracers/agent/context/values.h"
#include "tracers/agent/probes/probes.h"
#include "probe/patch/patch.h"
#include "base/inside/raw.h"
#include "protocol/protocol.h"

/* ---- batches ---- */

#define EVENTS 4

static struct made {
	_Alignas(64) unsigned char bytes[sizeof(struct agent_batch) +
			EVENTS * sizeof(struct agent_event)];
} made[6];
static struct side_event_description *keys[3];
static int build_results[3], introduce_result;
static unsigned int nr_built, nr_batches, nr_freed, nr_replaced, nr_registered;
static struct agent_batch *introduced;

static struct agent_batch *batch_of(unsigned int i)
{
	return (struct agent_batch *)(void *)made[i].bytes;
}

static int fake_build(struct agent_session *session, struct side_event_description **events,
		uint32_t nr, struct agent_batch **batch)
{
	unsigned int i = nr_built++;

	assert_true(session && nr == 7 && events == &keys[i]);
	*batch = build_results[i] ? NULL : batch_of(i);
	return build_results[i] > 0 ? 0 : build_results[i];
}

static void fake_each(void (*callback)(struct side_event_description **events, uint32_t nr_events,
				      void *user),
		void *user)
{
	for (unsigned int i = 0; i < nr_batches; i++)
		callback(&keys[i], 7, user);
}

static void fake_free(struct agent_batch *batch)
{
	for (; batch; batch = batch->next)
		nr_freed++;
}

static struct agent_batch *fake_find(
		struct agent_session *session, struct side_event_description **key)
{
	struct agent_batch *batch = session->batches;

	while (batch && batch->key != key)
		batch = batch->next;
	return batch;
}

static int fake_introduce(struct agent_session *session, struct agent_batch *batches)
{
	assert_false(session->incomplete);
	introduced = batches;
	note("introduce");
	return introduce_result;
}

static void fake_replace(struct agent_event *before, struct agent_event *event)
{
	assert_true(before->registered);
	before->registered = false;
	event->registered = true;
	nr_replaced++;
}

static void fake_register(struct agent_event *event)
{
	event->registered = event->id != 99;
	nr_registered++;
}

static void fake_unregister(struct agent_event *event)
{
	if (event->registered)
		note_number("unregister", (long)event->id);
	event->registered = false;
}

static void fake_put(struct agent_recycled_ids *spares, struct agent_hash hash, uint32_t id)
{
	assert_non_null(spares);
	assert_int_equal(hash.low, id + 1000);
	note_number("spare", (long)id);
}

static struct agent_session sessions[2];
static unsigned int nr_sessions = 1;

static struct agent_session *fake_after(const struct agent_session *session)
{
	unsigned int i = session ? (unsigned int)(session - sessions) + 1 : 0;

	return i < nr_sessions ? &sessions[i] : NULL;
}

/* ---- leases ---- */

static bool has_lock = true, leaves[2];
static int synchronize_result;

static bool fake_leave(struct ring_producer *producer)
{
	note_number("leave", *(const int *)(const void *)producer);
	return leaves[*(const int *)(const void *)producer];
}

static int fake_synchronize(void)
{
	note("synchronize");
	return synchronize_result;
}

#define agent_batch_build fake_build
#define agent_batches_free fake_free
#define agent_batch_find fake_find
#define agent_batches_introduce fake_introduce
#define agent_batch_redirect(batch) ((void)(batch), note("redirect"))
#define agent_event_replace fake_replace
#define agent_event_register fake_register
#define agent_event_unregister fake_unregister
#define agent_recycled_ids_put fake_put
#define agent_generation_apply(of, one) ((of)->generation = (one))
#define agent_generation_over(one) ((void)(one), note("over"))
#define agent_batches_trim() note("rest")
#define agent_session_after fake_after
#define side_tracer_each_batch fake_each
#define side_tracer_trylock() (has_lock)
#define side_tracer_lock() note("lock")
#define side_tracer_unlock() note("unlock")
#define side_tracer_synchronize fake_synchronize
#define ring_producer_leave fake_leave
#define ring_producer_left(producer) note_number("left", *(const int *)(const void *)(producer))
#include "tracers/agent/core/renew.c"
#include "tracers/agent/core/leases.c"

static struct agent_channel channel;

static struct agent_batch *make_batch(unsigned int i, unsigned int key, uint32_t nr, uint32_t first)
{
	struct agent_batch *batch = batch_of(i);

	memset(&made[i], 0, sizeof(made[i]));
	batch->key = &keys[key];
	batch->nr_events = nr;
	for (uint32_t k = 0; k < nr; k++) {
		batch->events[k].id = first + k;
		batch->events[k].hash.low = first + k + 1000;
		batch->events[k].position = 2 * k + 1;
		batch->events[k].channel = &channel;
	}
	return batch;
}

static void test_keep(void **state)
{
	struct context_spec pid, tid;
	struct context_error error;
	struct agent_batch *old = make_batch(3, 0, 3, 10), *batch = make_batch(0, 0, 4, 20);

	(void)state;
	assert_int_equal(context_parse("vpid", &pid, &error), 0);
	assert_int_equal(context_parse("vtid", &tid, &error), 0);
	for (int i = 0; i < 3; i++) {
		old->events[i].recorded = old->events[i].refused = old->events[i].large = true;
		old->events[i].nr_extra = 1;
		old->events[i].extra = &pid;
	}
	/* The same location and contexts; other contexts; no such location; the last location. */
	batch->events[0].nr_extra = batch->events[1].nr_extra = batch->events[3].nr_extra = 1;
	batch->events[0].extra = batch->events[3].extra = &pid;
	batch->events[1].extra = &tid;
	batch->events[2].position = 4;
	batch->events[3].position = 5;
	keep_all(old, batch);
	assert_true(batch->events[0].id == 10 && batch->events[0].hash.low == 1010 &&
			batch->events[0].recorded && batch->events[0].refused &&
			batch->events[0].large && batch->events[0].before == &old->events[0]);
	assert_true(batch->events[1].id == 21 && !batch->events[1].recorded &&
			batch->events[1].large && batch->events[1].before == &old->events[1]);
	assert_true(batch->events[2].id == 22 && !batch->events[2].before &&
			!batch->events[2].large);
	assert_true(batch->events[3].id == 12 && batch->events[3].recorded);
	assert_true(!old->events[0].recorded && old->events[1].recorded &&
			!old->events[2].recorded);
	batch->events[1].nr_extra = 0;
	assert_false(same_layout(&old->events[1], &batch->events[1]));
}

static void test_renew(void **state)
{
	struct agent_session *session = &sessions[0];
	struct agent_generation old = {0}, new = {0};

	(void)state;
	memset(sessions, 0, sizeof(sessions));
	*calls = '\0';
	session->generation = &old;
	session->incomplete = true;
	session->batches = make_batch(3, 0, 3, 10);
	for (int i = 0; i < 3; i++)
		session->batches->events[i].recorded = session->batches->events[i].registered =
				true;
	make_batch(0, 0, 2, 20);
	make_batch(1, 1, 2, 30);
	batch_of(1)->events[0].recorded = true;
	nr_built = nr_replaced = nr_registered = 0;
	nr_batches = 2;
	introduce_result = -EPIPE;
	assert_int_equal(agent_batches_renew(session, &new), -EPIPE);
	assert_true(introduced == batch_of(1) && batch_of(1)->next == batch_of(0) &&
			session->batches == batch_of(1) && session->generation == &new);
	/* Two are the same events as before, one is new, one has ended: its id can be reused. */
	are_calls("introduce redirect redirect unregister(12) spare(12) over");
	assert_true(nr_replaced == 2 && nr_registered == 1 && old.batches == batch_of(3));
	assert_true(!batch_of(0)->events[0].before && !session->incomplete);
	introduce_result = 0;
	/*
	 * The same rules again; an event that cannot be registered; a batch without wanted events.
	 */
	nr_built = nr_registered = nr_replaced = 0;
	make_batch(4, 0, 1, 99);
	memcpy(&made[0], &made[4], sizeof(made[0]));
	batch_of(0)->events[0].recorded = true;
	session->batches = NULL;
	build_results[1] = 1;
	assert_int_equal(agent_batches_renew(session, &new), 0);
	are_calls("introduce redirect rest");
	assert_true(nr_registered == 1 && session->batches == batch_of(0));
	build_results[1] = 0;
	/* A session that only lists has no callbacks. */
	nr_built = nr_registered = 0;
	session->list_only = true;
	assert_int_equal(agent_batches_renew(session, &new), 0);
	assert_int_equal(nr_registered, 0);
	session->list_only = false;
	/* Without memory nothing changes, including the events of the session. */
	*calls = '\0';
	nr_built = nr_freed = 0;
	nr_batches = 3;
	build_results[1] = -ENOMEM;
	session->batches = make_batch(3, 0, 3, 10);
	session->generation = &old;
	session->incomplete = true;
	make_batch(0, 0, 2, 20);
	assert_int_equal(agent_batches_renew(session, &new), -ENOMEM);
	are_calls("");
	assert_true(nr_built == 2 && nr_freed == 1 && session->generation == &old &&
			session->batches == batch_of(3) && session->incomplete);
	nr_built = 0;
	{
		struct agent_batch *built = batch_of(5);

		assert_int_equal(build_all(session, &new, &built), -ENOMEM);
		assert_null(built);
	}
	build_results[1] = 0;
	/* The end of a session. */
	batch_of(3)->events[1].registered = true;
	agent_batches_leave(session);
	are_calls("unregister(11) over");
	assert_true(!session->batches && old.batches == batch_of(3) && old.left == session);
}

static void test_leases(void **state)
{
	static struct agent_channel channels[3];
	static int numbers[] = {0, 1};

	(void)state;
	memset(sessions, 0, sizeof(sessions));
	sessions[0].channels = channels;
	sessions[0].nr_channels = 2;
	channels[0].producer = channels[2].producer = (void *)&numbers[0];
	channels[1].producer = NULL;
	sessions[1].channels = &channels[2];
	sessions[1].nr_channels = 1;
	nr_sessions = 2;
	*calls = '\0';
	has_lock = false;
	agent_leases_check();
	are_calls("");
	has_lock = true;
	agent_leases_check();
	are_calls("leave(0) leave(0) unlock");
	channels[0].producer = (void *)&numbers[1];
	leaves[1] = true;
	agent_leases_check();
	are_calls("leave(1) leave(0) unlock synchronize lock left(1) left(0) unlock");
	synchronize_result = SIDE_ERROR_INVAL;
	agent_leases_check();
	are_calls("leave(1) leave(0) unlock synchronize");
	synchronize_result = 0;
	nr_sessions = 1;
}

/* ---- tables of probes ---- */

static int closed[300], nr_closed, check_result, open_result, events_result, start_result,
		nr_sleeps, answer_result, find_result;
static size_t table_size = 4096;
static bool no_memory, is_sandboxed, any_places, traps_are_silent = true, reads, rests, is_foreign,
						 forked_any;
static uint64_t clock_seen;
static unsigned int nr_tables_freed;

static void fake_close(int fd)
{
	if (fd >= 0)
		closed[nr_closed++] = fd;
}

static int fake_memfd(int fd, size_t *size)
{
	assert_int_equal(fd, 44);
	*size = table_size;
	return check_result;
}

static int nr_mapped, nr_unmapped;

static void *fake_mmap(void *at, size_t size, int protection, int flags, int fd)
{
	if (fd < 0)
		return raw_mmap(at, size, protection, flags, fd);
	assert_true(!at && size == 4096 && protection == PROT_READ && flags == MAP_PRIVATE);
	if (no_memory)
		return NULL;
	nr_mapped++;
	return raw_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static int fake_munmap(void *at, size_t size)
{
	nr_unmapped++;
	return raw_munmap(at, size);
}

static int fake_open(struct probe_table *table, const void *bytes, size_t size, const char **reason)
{
	assert_true(bytes && size == 4096);
	memset(table, 0, sizeof(*table));
	*reason = "no";
	return open_result;
}

static long fake_call(long number)
{
	assert_int_equal(number, SYS_nanosleep);
	nr_sleeps++;
	return 0;
}

#define wire_close fake_close
#define raw_mmap fake_mmap
#define raw_munmap fake_munmap
#undef raw_call
#define raw_call(number, time, ...) ((void)(time), fake_call(number))
#define probe_table_check_memfd fake_memfd
#define probe_table_open fake_open
#define probes_events_make(table) ((void)(table), events_result)
#define probes_events_free(table) ((void)(table), nr_tables_freed++)
#define probes_events_has(table, event) ((const void *)(table)->details == (const void *)(event))
#define probes_locations_drop(table) note_number("drop", (long)(table)->number)
#define probes_locations_find(table) (note_number("find", (long)(table)->number), find_result)
#define probes_locations_any() (any_places)
#define probes_locations_limit(hits) note_number("limit", (long)(hits))
#define probes_locations_read() (reads)
#define probes_locations_apply() note("apply")
#define probes_locations_quiesce() note("places-rest")
#define probes_locations_forked(table) (note_number("forked", (long)(table)->number), forked_any)
#define probe_calls_update(wanted) note_number("calls", wanted)
#define probe_calls_free_retired() note("retired")
#define probes_loader_start() note("loader")
#define probes_loader_stop() (note("loader-stop"), true)
#define probes_loader_forked() (void)0
#define probes_answer(session, table) (note_number("answer", (long)(table)->number), answer_result)
#define probe_hit_start() note("hit-start")
#define probe_count_unseen_locked(event) ((void)(event), note("unseen"))
#define patch_hooks_set(hooks) ((void)(hooks), note("hooks"))
#define patch_start(nothing) (note_number("start", nothing), start_result)
#define patch_clock(number) (void)(clock_seen = (number))
#define patch_permit_reads(wanted) (note_number("reads", wanted), 0)
#define patch_quiesce() (note("patch-rest"), rests)
#define patch_check() note("check")
#define patch_forked() note("patch-forked")
#define patch_scan() note("look")
#define patch_find_unwinder() note("unwinder")
#define patch_traps_are_silent() (traps_are_silent)
#define patch_signals_sandbox(how) note_number("signals", (long)(how))
#define patch_thread_begin() note("thread")
#define context_is_foreign() (is_foreign)
#define context_generation_now() 0
#define agent_is_sandboxed() (is_sandboxed)
#undef patch_memory_count
#define patch_memory_count(at, size) note_number("count", (long)(size))

static int (*walked_by)(struct dl_phdr_info *object, size_t size, void *user);
static void *walked_for;

static void walk_objects(
		int (*callback)(struct dl_phdr_info *object, size_t size, void *user), void *user)
{
	note("walk");
	walked_by = callback;
	walked_for = user;
}

#define agent_objects_each walk_objects
#include "tracers/agent/probes/probes.c"

static void test_libside(void **state)
{
	static char code[4096];
	const ElfW(Phdr) parts[] = {
			{.p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = 0x100, .p_memsz = 0x10},
			{.p_type = PT_LOAD,
					.p_flags = PF_R | PF_W,
					.p_vaddr = 0x200,
					.p_memsz = 0x33},
			{.p_type = PT_NOTE, .p_flags = PF_W, .p_vaddr = 0x300, .p_memsz = 0x44},
			{.p_type = PT_LOAD, .p_flags = PF_W, .p_vaddr = 0x400, .p_memsz = 0x55}};
	struct dl_phdr_info object = {.dlpi_addr = (uintptr_t)code,
			.dlpi_name = "libside.so.0",
			.dlpi_phdr = parts,
			.dlpi_phnum = 4};

	(void)state;
	*calls = '\0';
	assert_int_equal(probes_count_variables(&object, sizeof(object), code + 0xff), 0);
	assert_int_equal(probes_count_variables(&object, sizeof(object), code + 0x110), 0);
	assert_int_equal(probes_count_variables(&object, sizeof(object), code + 0x300), 0);
	are_calls("");
	assert_int_equal(probes_count_variables(&object, sizeof(object), code + 0x10f), 1);
	are_calls("count(51) count(85)");
	object.dlpi_name = "";
	assert_int_equal(probes_count_variables(&object, sizeof(object), code + 0x100), 1);
	object.dlpi_name = NULL;
	assert_int_equal(probes_count_variables(&object, sizeof(object), code + 0x100), 1);
	are_calls("");
	/* The library that has this function is libside. */
	agent_probes_count_libside();
	are_calls("walk");
	assert_true(walked_by == probes_count_variables);
	assert_memory_equal(&walked_for, &(void (*)(void)){side_tracer_disarm}, sizeof(walked_for));
	agent_probes_rescan();
	are_calls("unwinder");
}

static void test_incoming(void **state)
{
	(void)state;
	agent_probes_begin();
	nr_closed = 0;
	for (int i = 0; i < WIRE_TABLES_MAX; i++)
		assert_int_equal(agent_probes_receive((uint64_t)i + 1, 5, i), 0);
	assert_int_equal(agent_probes_receive(1, 5, 299), -EPROTO);
	assert_true(nr_closed == 1 && closed[0] == 299);
	assert_true(probes_is_named(1) && probes_is_named(WIRE_TABLES_MAX) &&
			!probes_is_named(WIRE_TABLES_MAX + 1));
	agent_probes_received();
	assert_true(incoming.is_complete);
	agent_probes_begin();
	assert_true(nr_closed == 1 + WIRE_TABLES_MAX && !incoming.is_complete && !incoming.nr);
}

static void update(bool may_wait)
{
	*calls = '\0';
	agent_probes_update(&sessions[0], may_wait);
}

static void brings(uint64_t number, int fd)
{
	assert_int_equal(agent_probes_receive(number, 4096, fd), 0);
	agent_probes_received();
}

static void test_update(void **state)
{
	struct agent_session *session = &sessions[0];

	(void)state;
	memset(sessions, 0, sizeof(sessions));
	nr_closed = 0;
	is_started = apply_due = false;
	/* If the session sends nothing about tables, the tables stay. */
	assert_int_equal(agent_probes_receive(5, 4096, 44), 0);
	update(true);
	are_calls("");
	assert_true(nr_closed == 1 && !session->tables && !agent_probes_due());
	session->config.clock = RING_CLOCK_TSC;
	session->config.frequency = 2000000000;
	brings(5, 44);
	update(true);
	are_calls("hit-start hooks start(0) loader");
	assert_int_equal(clock_seen, UINT64_C(1) << 31);
	assert_true(session->tables && session->tables->number == 5 && !session->tables->error &&
			session->tables->size == 4096 && nr_mapped == 1 && nr_closed == 2);
	assert_ptr_equal(probes_find(session, 5), session->tables);
	assert_null(probes_find(session, 6));
	/* The same again, and a table that the session may not send. */
	session->tables->reported = true;
	session->config.clock = RING_CLOCK_MONOTONIC;
	brings(5, 45);
	brings(6, -1);
	update(true);
	are_calls("loader");
	assert_int_equal(clock_seen, UINT64_C(1) << 31);
	assert_true(!probes_find(session, 5)->reported &&
			probes_find(session, 6)->error == -EACCES && nr_mapped == 1 &&
			nr_closed == 3);
	/* If the update must not wait, new tables are due. */
	brings(6, 46);
	update(false);
	are_calls("drop(5)");
	assert_true(!session->probes_due && apply_due && agent_probes_due() &&
			session->tables->number == 6 && ended && ended->number == 5);
	apply_due = false;
	brings(6, 46);
	brings(7, 47);
	update(false);
	assert_true(session->probes_due && apply_due && !probes_find(session, 7));
	apply_due = false;
	assert_true(agent_probes_due());
	agent_probes_received();
	update(true);
	are_calls("drop(6)");
	assert_true(!session->probes_due && !session->tables && apply_due);
	/* A forked child: tables are due that it does not have, if the answer is complete. */
	brings(8, -1);
	update(true);
	brings(8, 49);
	*calls = '\0';
	agent_probes_note_missing(session);
	assert_true(!session->probes_due && !incoming.nr);
	assert_int_equal(agent_probes_receive(9, 4096, 50), 0);
	agent_probes_note_missing(session);
	assert_true(!session->probes_due && !incoming.nr);
	brings(8, 51);
	brings(9, 52);
	agent_probes_note_missing(session);
	are_calls("");
	assert_true(session->probes_due && agent_probes_due() && !incoming.nr &&
			!probes_find(session, 9) && probes_find(session, 8));
	agent_probes_received();
	update(true);
	are_calls("drop(8)");
	assert_true(!session->probes_due && !session->tables);
	/* Ended tables are released. */
	*calls = '\0';
	nr_tables_freed = 0;
	rests = true;
	agent_probes_apply();
	are_calls("calls(0) apply reads(0) retired loader-stop patch-rest places-rest");
	assert_true(nr_tables_freed == 3 && nr_unmapped == 1 && !ended && !apply_due);
	agent_probes_apply();
	are_calls("");
}

static int fill(int error)
{
	struct agent_session *session = &sessions[0];
	int ret;

	memset(sessions, 0, sizeof(sessions));
	start_error = error;
	brings(5, 44);
	update(true);
	ret = session->tables->error;
	agent_probes_leave(session);
	assert_null(session->tables);
	agent_probes_apply();
	assert_int_equal(nr_mapped, nr_unmapped);
	start_error = 0;
	return ret;
}

static void test_tables_fail(void **state)
{
	(void)state;
	nr_mapped = nr_unmapped = 0;
	assert_int_equal(fill(0), 0);
	assert_int_equal(nr_mapped, 1);
	assert_int_equal(fill(-EPERM), -EPERM);
	assert_null(strstr(calls, "loader "));
	assert_int_equal(nr_mapped, 1);
	check_result = -EPROTO;
	assert_int_equal(fill(0), -EPROTO);
	check_result = 0;
	table_size = 8192;
	assert_int_equal(fill(0), -EPROTO);
	assert_int_equal(nr_mapped, 1);
	table_size = 4096;
	no_memory = true;
	assert_int_equal(fill(0), -ENOMEM);
	no_memory = false;
	open_result = -EINVAL;
	assert_int_equal(fill(0), -EINVAL);
	open_result = 0;
	events_result = -ENOSPC;
	assert_int_equal(fill(0), -ENOSPC);
	events_result = 0;
	assert_true(nr_mapped == 3 && nr_unmapped == 3);
}

static void test_apply(void **state)
{
	struct probes_table one = {.number = 1, .wants_calls = true},
			    two = {.number = 2, .error = -EIO, .wants_calls = true};
	const struct side_event_description *mine = (const void *)&one, *other = (const void *)&two;

	(void)state;
	memset(sessions, 0, sizeof(sessions));
	*calls = '\0';
	nr_sessions = 2;
	sessions[1].tables = &two;
	two.next = &one;
	one.reported = two.reported = true;
	reads = true;
	agent_probes_apply();
	are_calls("find(1) calls(1) apply reads(1) retired");
	one.reported = false;
	one.wants_calls = false;
	agent_probes_apply();
	are_calls("find(1) calls(0) apply reads(1) retired answer(1)");
	assert_true(one.reported);
	one.reported = false;
	answer_result = -EPIPE;
	agent_probes_apply();
	assert_false(one.reported);
	*calls = '\0';
	is_sandboxed = true;
	agent_probes_apply();
	are_calls("find(1) calls(0) apply retired");
	is_sandboxed = false;
	sessions[1].gone = true;
	agent_probes_answer();
	are_calls("");
	sessions[1].gone = false;
	agent_probes_libraries_changed();
	are_calls("look lock find(1) calls(0) apply reads(1) retired answer(1) unlock");
	is_sandboxed = true;
	agent_probes_libraries_changed();
	is_sandboxed = false;
	atomic_store(&agent.process.is_exiting, true);
	agent_probes_libraries_changed();
	atomic_store(&agent.process.is_exiting, false);
	are_calls("");
	is_started = false;
	agent_probes_check();
	are_calls("");
	is_started = true;
	agent_probes_check();
	are_calls("unwinder check");
	/* A forked child. */
	answer_result = 0;
	one.reported = two.reported = true;
	agent_probes_forked();
	are_calls("patch-forked forked(1) answer(2) answer(1)");
	forked_any = true;
	one.reported = two.reported = true;
	agent_probes_forked();
	are_calls("patch-forked forked(1) apply answer(2) answer(1)");
	sessions[0].gone = true;
	agent_probes_forked();
	are_calls("patch-forked forked(1) answer(2) answer(1)");
	sessions[0].gone = false;
	is_sandboxed = true;
	agent_probes_forked();
	are_calls("patch-forked forked(1)");
	is_sandboxed = false;
	/* Which event a probe belongs to. */
	one.details = (void *)&one;
	two.next = NULL;
	two.details = (void *)&two;
	sessions[0].tables = &one;
	assert_true(agent_probes_has(mine) && agent_probes_has(other) && !agent_probes_has(NULL));
	assert_true(agent_probes_is_for(&sessions[0], mine) &&
			!agent_probes_is_for(&sessions[0], other));
	assert_true(agent_probes_is_for(&sessions[1], other));
	assert_true(agent_probes_is_for(&sessions[0], (const void *)sessions));
	sessions[0].tables = NULL;
	ended = &one;
	assert_false(agent_probes_is_for(&sessions[0], mine));
	assert_true(agent_probes_is_for(&sessions[0], (const void *)sessions));
	ended = NULL;
	nr_sessions = 1;
	reads = false;
}

static void limit(enum context_hits hits)
{
	*calls = '\0';
	probes_limit_hits(hits);
}

static void test_sandboxes(void **state)
{
	struct probes_table one = {.number = 1, .reported = true, .error = -1};

	(void)state;
	memset(sessions, 0, sizeof(sessions));
	sessions[0].tables = &one;
	hit_limit_before = hit_limit = CONTEXT_HITS_ALL;
	is_foreign = true;
	limit(CONTEXT_HITS_WITHOUT_CHANGES);
	are_calls("");
	is_foreign = false;
	limit(CONTEXT_HITS_ALL);
	are_calls("thread");
	any_places = false;
	limit(CONTEXT_HITS_WITHOUT_CHANGES);
	are_calls("thread");
	any_places = true;
	has_lock = false;
	nr_sleeps = 0;
	limit(CONTEXT_HITS_WITHOUT_CHANGES);
	assert_true(nr_sleeps == 1000 && hit_limit == CONTEXT_HITS_ALL);
	has_lock = true;
	limit(CONTEXT_HITS_WITHOUT_CHANGES);
	assert_true(hit_limit == CONTEXT_HITS_WITHOUT_CHANGES && one.reported && nr_sleeps == 1000);
	assert_string_equal(strstr(calls, "reads"), "reads(0) signals(2) answer(1) unlock");
	/* The limit only grows, unless it is reset. */
	limit(CONTEXT_HITS_WITHOUT_CHANGES);
	are_calls("thread");
	hit_limit_before = CONTEXT_HITS_ALL;
	reads = true;
	limit(CONTEXT_HITS_AS_BEFORE);
	assert_int_equal(hit_limit, CONTEXT_HITS_ALL);
	assert_string_equal(strstr(calls, "reads"), "reads(1) signals(0) answer(1) unlock");
	reads = false;
	traps_are_silent = false;
	limit(CONTEXT_HITS_WITHOUT_RETURN);
	assert_int_equal(hit_limit, CONTEXT_HITS_WITHOUT_SIGNALS);
	traps_are_silent = true;
	assert_int_equal(probes_sandbox_of(CONTEXT_HITS_ALL), PATCH_SANDBOX_NONE);
	assert_int_equal(probes_sandbox_of(CONTEXT_HITS_WITHOUT_CHANGES), PATCH_SANDBOX_NO_SIGNALS);
	assert_int_equal(probes_sandbox_of(CONTEXT_HITS_WITHOUT_SIGNALS), PATCH_SANDBOX_NO_RETURN);
	/* Losses are counted for the events of each table that is in use. */
	*calls = '\0';
	agent_probes_count();
	are_calls("");
	one.error = 0;
	agent_probes_count();
	are_calls("");
	sessions[0].tables = NULL;
}

/* ---- texts ---- */

static void test_texts(void **state)
{
	char to[8] = "zzzzzzz";
	const char *text = "abcabc";

	(void)state;
	assert_true(text_size("abc", 10) == 3 && text_size("abc", 3) == 3 &&
			text_size("abc", 2) == 2 && text_size("", 5) == 0 &&
			text_size("a", 0) == 0);
	assert_true(text_is("abc", "abd", 2) && !text_is("abc", "abd", 3) && text_is("", "x", 0));
	text_copy(to, "abc", 3);
	assert_string_equal(to, "abczzzz");
	assert_ptr_equal(text_find(text, text + 6, 'c'), text + 2);
	assert_ptr_equal(text_find(text, text + 6, 'a'), text);
	assert_null(text_find(text, text + 2, 'c'));
	assert_null(text_find(text, text, 'a'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_keep),
			cmocka_unit_test(test_renew),
			cmocka_unit_test(test_leases),
			cmocka_unit_test(test_libside),
			cmocka_unit_test(test_incoming),
			cmocka_unit_test(test_update),
			cmocka_unit_test(test_tables_fail),
			cmocka_unit_test(test_apply),
			cmocka_unit_test(test_sandboxes),
			cmocka_unit_test(test_texts),
	};
	int ret = cmocka_run_group_tests(tests, NULL, NULL);

	agent_memory_trim();
	return ret;
}
