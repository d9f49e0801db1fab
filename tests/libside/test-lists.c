/* SPDX-License-Identifier: MIT */
/*
 * The lists of batches and tracers while notifications change them, forks during a notification,
 * and the end of the registry. The files are included. A batch is identified by its number of
 * events, and the test compares the text of all notifications.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libside/armed.h"
#include "libside/batches.h"
#include "libside/callbacks.h"
#include "libside/guard.h"
#include "libside/lock.h"
#include "libside/rcu.h"
#include "libside/statedump-events.h"

#include "event.h"

static char noted[4096];

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	size_t used = strlen(noted);
	va_list list;

	va_start(list, format);
	(void)vsnprintf(noted + used, sizeof(noted) - used, format, list);
	va_end(list);
}

static void is_noted(const char *expected)
{
	if (strcmp(noted, expected))
		fprintf(stderr, "noted \"%s\", expected \"%s\"\n", noted, expected);
	CHECK(!strcmp(noted, expected));
	*noted = '\0';
}

/* ---- what the file calls ---- */

static unsigned int nr_inits, nr_freed, nr_waits;
static int used;
static bool has_no_memory, is_inside, is_held;
static void (*on_calloc)(void);

static void fake_drop(struct side_event_description **dropped, uint32_t nr_events)
{
	(void)dropped;
	note("drop%u ", nr_events);
}

static void fake_comes(struct side_event_description **come, uint32_t nr_events)
{
	(void)come;
	note("come%u ", nr_events);
}

static void fake_goes(struct side_event_description **gone, uint32_t nr_events)
{
	(void)gone;
	note("go%u ", nr_events);
}

static void fake_finish(void)
{
	note("finish ");
}

static int fake_synchronize(void)
{
	nr_waits++;
	return SIDE_ERROR_OK;
}

static bool fake_inside(void)
{
	return is_inside;
}

static void fake_init(void)
{
	nr_inits++;
}

static bool fake_acquire_for(struct owned_lock *lock, int sleeps_of_1ms)
{
	CHECK_EQUAL(sleeps_of_1ms, 100);
	return !is_held && owned_lock_acquire_for(lock, sleeps_of_1ms);
}

static void *fake_calloc(size_t count, size_t size)
{
	void (*acts)(void) = on_calloc;

	if (has_no_memory)
		return NULL;
	on_calloc = NULL;
	if (acts)
		acts();
	used++;
	return calloc(count, size);
}

static void *fake_malloc(size_t size)
{
	return fake_calloc(1, size);
}

static void fake_free(void *block)
{
	nr_freed++;
	used -= block != NULL;
	free(block);
}

#define callbacks_drop fake_drop
#define armed_batch_comes fake_comes
#define armed_batch_goes fake_goes
#define rcu_finish fake_finish
#define side_tracer_synchronize fake_synchronize
#define rcu_inside fake_inside
#define side_init fake_init
#define owned_lock_acquire_for fake_acquire_for
#define calloc fake_calloc
#define malloc fake_malloc
#define free fake_free
#include "libside/batches.c"
#include "libside/registry-lock.c"

#include "libside/guard.c"
#include "libside/registry.c"
#undef calloc
#undef malloc
#undef free
#undef side_tracer_synchronize

static void is_free(void)
{
	CHECK(!lock.depth && !lock.lock.word && !gate.depth && !gate.lock.word && !tracer_walks);
}

/* ---- batches and tracers of the test ---- */

static struct side_event_description *described[40];
static struct side_events_register_handle *batches[40];
static struct side_tracer_handle *tracers[3];

static void come(uint32_t nr)
{
	batches[nr] = side_events_register(described, nr);
	CHECK(batches[nr] && batches[nr]->shown.nr_events == nr);
}

static void go(uint32_t nr)
{
	side_events_unregister(batches[nr]);
}

/* The action of a tracer at one notification, executed once. */
static struct {
	unsigned int tracer;
	uint32_t batch;
	enum side_tracer_notification at;
	void (*acts)(void);
} act;

static void notified(enum side_tracer_notification at, struct side_event_description **of,
		uint32_t nr_events, void *priv)
{
	unsigned int tracer = *(const char *)priv == 'a' ? 0 : *(const char *)priv == 'b' ? 1 : 2;

	(void)of;
	/* The gate is open, so that a fork can pass. */
	CHECK(lock.depth && lock.lock.word && !gate.depth && !gate.lock.word);
	if (nr_events != STATEDUMP_NR_EVENTS)
		note("%s%c%u ", (const char *)priv,
				at == SIDE_TRACER_NOTIFICATION_INSERT_EVENTS ? '+' : '-',
				nr_events);
	if (act.acts && act.tracer == tracer && act.batch == nr_events && act.at == at) {
		void (*acts)(void) = act.acts;

		act.acts = NULL;
		acts();
	}
}

static void trace(unsigned int tracer)
{
	static char names[3][2] = {"a", "b", "c"};

	tracers[tracer] = side_tracer_event_notification_register(notified, names[tracer]);
}

static void untrace(unsigned int tracer)
{
	side_tracer_event_notification_unregister(tracers[tracer]);
}

static void on_insert(unsigned int tracer, uint32_t batch, void (*acts)(void))
{
	act.tracer = tracer;
	act.batch = batch;
	act.at = SIDE_TRACER_NOTIFICATION_INSERT_EVENTS;
	act.acts = acts;
}

static void on_remove(unsigned int tracer, uint32_t batch, void (*acts)(void))
{
	on_insert(tracer, batch, acts);
	act.at = SIDE_TRACER_NOTIFICATION_REMOVE_EVENTS;
}

static void go_11(void)
{
	go(11);
}

static void go_last(void)
{
	side_events_unregister(last_batch);
}

static void go_12(void)
{
	go(12);
}

static void come_14(void)
{
	come(14);
}

static void untrace_a(void)
{
	untrace(0);
}

static void untrace_b(void)
{
	untrace(1);
}

static void trace_c(void)
{
	trace(2);
}

static void come_all(void)
{
	come(11);
	come(12);
	come(13);
	is_free();
	*noted = '\0';
}

/* Removes all remaining objects, and checks that everything is freed. */
static void go_all(void)
{
	for (uint32_t i = 11; i < 15; i++)
		go(i);
	is_free();
	CHECK(first_batch == last_batch && first_batch == &batches_first_block.batches[0]);
	CHECK(!first_tracer && !last_tracer && used == 0 && !act.acts);
	*noted = '\0';
	memset(batches, 0, sizeof(batches));
}

static void test_order(void)
{
	nr_inits = 0;
	come(11);
	CHECK_EQUAL(nr_inits, 1);
	is_noted("come11 ");
	trace(0);
	trace(1);
	CHECK(nr_inits == 3 && tracers[0]->next == tracers[1] &&
			tracers[1]->previous == tracers[0]);
	is_noted("a+11 b+11 ");
	come(12);
	is_noted("come12 a+12 b+12 ");
	CHECK(batches[12]->previous == batches[11] && batches[11]->next == batches[12] &&
			last_batch == batches[12] && !batches[12]->next);
	CHECK(batches_after(batches[11]->number) == batches[12] && batches_after(0) == first_batch);
	CHECK(!batches_after(batches[12]->number));
	go(11);
	is_noted("a-11 b-11 drop11 go11 ");
	CHECK(first_batch->next == batches[12] && batches[12]->previous == first_batch);
	nr_freed = nr_waits = 0;
	untrace(0);
	is_noted("a-12 ");
	CHECK(nr_freed == 1 && nr_waits == 1 && first_tracer == tracers[1] &&
			!tracers[1]->previous);
	untrace(1);
	is_noted("b-12 ");
	CHECK(nr_freed == 2 && nr_waits == 2);
	batches[11] = NULL;
	go_all();
}

/* A tracer removes the batch of the notification: the following ones are still inserted. */
static void test_insert(void)
{
	come_all();
	on_insert(0, 11, go_11);
	trace(0);
	is_noted("a+11 a-11 drop11 go11 a+12 a+13 ");
	batches[11] = NULL;
	untrace(0);
	go_all();
	/* The next one. */
	come_all();
	on_insert(0, 11, go_12);
	trace(0);
	is_noted("a+11 drop12 go12 a+13 ");
	batches[12] = NULL;
	untrace(0);
	go_all();
	/* It registers another tracer, and that call inserts the remaining ones. */
	come_all();
	on_insert(0, 11, come_14);
	trace(0);
	is_noted("a+11 come14 a+12 a+13 a+14 ");
	untrace(0);
	is_noted("a-11 a-12 a-13 a-14 ");
	go_all();
	/* It unregisters: nothing more is inserted. */
	come_all();
	trace(0);
	*noted = '\0';
	trace(1);
	*noted = '\0';
	on_insert(0, 14, untrace_a);
	nr_freed = 0;
	come(14);
	is_noted("come14 a+14 a-11 a-12 a-13 a-14 b+14 ");
	CHECK(nr_freed == 1 && first_tracer == tracers[1]);
	untrace(1);
	go_all();
}

static void test_remove(void)
{
	/* A batch is removed while the tracer unregisters: one notification of its end. */
	come_all();
	trace(0);
	*noted = '\0';
	on_remove(0, 11, go_11);
	untrace(0);
	is_noted("a-11 drop11 go11 a-12 a-13 ");
	batches[11] = NULL;
	go_all();
	come_all();
	trace(0);
	*noted = '\0';
	on_remove(0, 11, go_12);
	untrace(0);
	is_noted("a-11 a-12 drop12 go12 a-13 ");
	batches[12] = NULL;
	go_all();
	/* It unregisters twice. */
	come_all();
	trace(0);
	*noted = '\0';
	nr_freed = nr_waits = 0;
	on_remove(0, 12, untrace_a);
	untrace(0);
	is_noted("a-11 a-12 a-13 ");
	CHECK(nr_freed == 1 && nr_waits == 1);
	go_all();
	/* A batch is removed twice. */
	come_all();
	trace(0);
	*noted = '\0';
	on_remove(0, 12, go_12);
	go(12);
	is_noted("a-12 drop12 go12 ");
	batches[12] = NULL;
	/*
	 * Another tracer unregisters before it is notified of the removal: it is notified once, and
	 * stays in the list until the end.
	 */
	trace(1);
	*noted = '\0';
	nr_freed = 0;
	on_remove(0, 13, untrace_b);
	go(13);
	is_noted("a-13 b-11 b-13 drop13 go13 ");
	CHECK(nr_freed == 1 && first_tracer == tracers[0] && last_tracer == tracers[0]);
	batches[13] = NULL;
	untrace(0);
	go_all();
}

/* A tracer without a notification of a batch is not notified of its end. */
static void test_unknown(void)
{
	trace(0);
	trace(1);
	on_insert(0, 11, go_last);
	CHECK(side_events_register(described, 11));
	is_noted("come11 a+11 a-11 drop11 go11 ");
	batches[11] = NULL;
	come(12);
	is_noted("come12 a+12 b+12 ");
	on_remove(0, 12, trace_c);
	go(12);
	/* A tracer that registers meanwhile is notified of both. */
	is_noted("a-12 c+12 b-12 c-12 drop12 go12 ");
	batches[12] = NULL;
	CHECK(last_tracer == tracers[2] && tracers[2]->previous == tracers[1]);
	come(13);
	is_noted("come13 a+13 b+13 c+13 ");
	/* The first tracer has been notified: it unregisters without a second notification. */
	on_remove(1, 13, untrace_a);
	go(13);
	is_noted("a-13 b-13 c-13 drop13 go13 ");
	batches[13] = NULL;
	trace(0);
	untrace(0);
	CHECK(first_tracer == tracers[1]);
	trace(0);
	CHECK(last_tracer == tracers[0]);
	untrace(0);
	/* From the middle of the list. */
	trace(0);
	untrace(2);
	CHECK(tracers[1]->next == tracers[0] && tracers[0]->previous == tracers[1]);
	untrace(0);
	untrace(1);
	go_all();
}

static void visit(struct side_event_description **visited, uint32_t nr_events, void *user)
{
	(void)visited;
	CHECK(user == described && lock.depth == 1);
	if (nr_events != STATEDUMP_NR_EVENTS)
		note("%u ", nr_events);
	if (act.acts && act.batch == nr_events) {
		void (*acts)(void) = act.acts;

		act.acts = NULL;
		acts();
	}
}

static void visit_during(void)
{
	CHECK_EQUAL(lock.depth, 1);
	lock.depth = 0;
	lock.depth = 1;
	batches_each(visit, described);
}

static void test_each(void)
{
	come_all();
	CHECK_EQUAL(side_tracer_each_batch(NULL, NULL), SIDE_ERROR_INVAL);
	is_free();
	CHECK_EQUAL(side_tracer_each_batch(visit, described), SIDE_ERROR_OK);
	is_noted("11 12 13 ");
	is_free();
	on_insert(0, 11, go_11);
	CHECK_EQUAL(side_tracer_each_batch(visit, described), SIDE_ERROR_OK);
	is_noted("11 drop11 go11 12 13 ");
	on_insert(0, 12, go_11);
	batches[11] = NULL;
	CHECK_EQUAL(side_tracer_each_batch(visit, described), SIDE_ERROR_OK);
	is_noted("12 13 ");
	/* Without a tracer that is unregistering. */
	trace(0);
	*noted = '\0';
	on_remove(0, 13, visit_during);
	go(13);
	is_noted("a-13 12 drop13 go13 ");
	batches[13] = NULL;
	untrace(0);
	go_all();
}

/* ---- refusals ---- */

static void finish_now(void)
{
	__atomic_store_n(&finished, true, __ATOMIC_RELAXED);
}

static void go_15(void)
{
	go(15);
}

static struct side_events_register_handle redirected;

static struct side_events_register_handle *redirect(
		struct side_event_description **redirected_events, uint32_t nr_events)
{
	CHECK(redirected_events == described && nr_events == 21);
	return &redirected;
}

static void test_refusals(void)
{
	static char name[] = "a";
	struct side_events_register_handle *more[BATCHES_IN_BLOCK];
	uint32_t nr = 0;

	registry_redirect = redirect;
	nr_inits = 0;
	CHECK(side_events_register(described, 21) == &redirected && nr_inits == 0);
	registry_redirect = NULL;
	CHECK(!side_events_register(NULL, 1));
	CHECK(!side_tracer_event_notification_register(NULL, NULL));
	side_events_unregister(NULL);
	side_tracer_event_notification_unregister(NULL);
	is_free();
	has_no_memory = true;
	CHECK(!side_tracer_event_notification_register(notified, name));
	has_no_memory = false;
	on_calloc = finish_now;
	nr_freed = 0;
	CHECK(!side_tracer_event_notification_register(notified, name) && nr_freed == 1);
	CHECK(!side_tracer_event_notification_register(notified, name) && nr_freed == 1);
	CHECK(!side_events_register(described, 1));
	finished = false;
	is_free();
	/* An empty batch needs no events. */
	batches[0] = side_events_register(NULL, 0);
	CHECK(batches[0]);
	go(0);
	batches[0] = NULL;
	/*
	 * The block is full: without memory for another block, at the end of the library meanwhile,
	 * and with a slot that has become free.
	 */
	come(15);
	while (batches_have_slot())
		more[nr++] = side_events_register(described, 30);
	has_no_memory = true;
	CHECK(!side_events_register(described, 31) && nr_freed == 1);
	has_no_memory = false;
	on_calloc = finish_now;
	CHECK(!side_events_register(described, 31) && nr_freed == 2);
	finished = false;
	is_free();
	on_calloc = go_15;
	come(16);
	CHECK(nr_freed == 3 && batches[16] == batches[15]);
	is_free();
	come(17);
	/* The new block is kept. */
	CHECK(nr_freed == 3 && used == 1);
	used = 0;
	while (nr)
		side_events_unregister(more[--nr]);
	go(16);
	go(17);
	CHECK_EQUAL(nr_freed, 3);
	go_all();
}

/* ---- the guard ---- */

static struct side_event_description hidden, visible;
static uint32_t hides_batch; /* the batch that the guard hides completely */

static bool guard_test_shows(struct side_event_description **of, uint32_t nr_events,
		struct side_event_description *desc)
{
	CHECK(of == described && (!desc || desc == &hidden || desc == &visible));
	return desc ? desc != &hidden : nr_events != hides_batch;
}

static bool is_copy_of(const struct side_events_register_handle *batch, uint32_t nr)
{
	struct side_event_description **events = batch->shown.events;

	return batch->own == events && events != described && batch->shown.nr_events == nr &&
			!events[0] && events[1] == &visible;
}

static void test_guard(void)
{
	const struct side_tracer_guard guard = {.shows = guard_test_shows};

	come_all();
	nr_freed = 0;
	described[0] = &hidden;
	described[1] = &visible;
	guard_of_process = &guard;
	come(14);
	CHECK(is_copy_of(batches[14], 14) && used == 1);
	is_noted("come14 ");
	/* The library's memory is freed with the batch. */
	go(14);
	CHECK(nr_freed == 1 && used == 0 && !batches[14]->own);
	/* Batches that were registered before. */
	batches[12]->leaving = true;
	batches[13]->own = described;
	first_batch->own = described;
	guard_hide_batches();
	CHECK(is_copy_of(batches[11], 11) && used == 1);
	CHECK(batches[12]->shown.nr_events == 12 && !batches[12]->own);
	CHECK(batches[13]->shown.nr_events == 13 && batches[13]->own == described &&
			batches[13]->shown.events == described);
	batches[12]->leaving = false;
	batches[13]->own = NULL;
	/* Neither a batch without a hidden event nor one that is hidden completely needs a list. */
	batches[11]->leaving = true;
	described[0] = &visible;
	hides_batch = 13;
	guard_hide_batches();
	CHECK(batches[12]->shown.nr_events == 12 && !batches[12]->own &&
			batches[12]->shown.events == described);
	CHECK(batches[13]->shown.nr_events == 0 && !batches[13]->own && used == 1);
	batches[13]->shown.nr_events = 13;
	batches[11]->leaving = false;
	first_batch->own = NULL;
	guard_of_process = NULL;
	described[0] = described[1] = NULL;
	batches[14] = NULL;
	nr_freed = 0;
	go_all();
	CHECK_EQUAL(nr_freed, 1);
}

/* ---- locks ---- */

static void test_locks(void)
{
	CHECK(registry_may_wait() && registry_is_free() && !registry_is_mine());
	is_inside = true;
	CHECK(!registry_may_wait());
	is_inside = false;
	nr_inits = 0;
	side_tracer_lock();
	CHECK(nr_inits == 1 && lock.depth == 1 && gate.depth == 1);
	CHECK(!registry_may_wait() && !registry_is_free() && registry_is_mine());
	/* Notifications under two locks: the gate is as deep as before. */
	registry_lock();
	trace(0);
	come(11);
	is_noted("come11 a+11 ");
	CHECK(lock.depth == 2 && gate.depth == 2);
	registry_unlock();
	side_tracer_unlock();
	is_free();
	untrace(0);
	go_all();
}

static void test_forks(void)
{
	registry_lock_for_fork();
	CHECK(lock.depth == 1 && gate.depth == 1 && !fork_has_gate_only);
	registry_unlock_in_parent();
	is_free();
	registry_lock_for_fork();
	hook_is_due = true;
	registry_unlock_in_child(registry_continue_notifications);
	is_free();
	CHECK(!hook_is_due && !pending_notifications);
	/* A notification runs in another thread. */
	is_held = true;
	lock = (struct owned_lock){.lock = {1}, .depth = 3, .owner = 5};
	registry_lock_for_fork();
	CHECK(fork_has_gate_only && gate.depth == 1 && lock.depth == 3);
	registry_unlock_in_parent();
	CHECK(!fork_has_gate_only && !gate.depth && !gate.lock.word && lock.depth == 3);
	registry_lock_for_fork();
	registry_unlock_in_child(registry_continue_notifications);
	CHECK(!fork_has_gate_only && pending_notifications == registry_continue_notifications &&
			!lock.owner);
	is_free();
	is_held = false;
	pending_notifications = NULL;
}

/* In the child: does the work of the notification's thread. */
static void test_cut_off(void)
{
	come_all();
	trace(0);
	trace(1);
	trace(2);
	*noted = '\0';
	/*
	 * The second tracer has been notified of the removal; the third does not know the last
	 * batch.
	 */
	batches[12]->leaving = true;
	batches[12]->notified = tracers[1];
	tracers[2]->known = batches[12]->number;
	pending_notifications = registry_continue_notifications;
	/* The loops of that thread. */
	tracer_walks = 2;
	registry_lock();
	is_noted("c-12 drop12 go12 c+13 ");
	CHECK(!pending_notifications && lock.depth == 1 && gate.depth == 1 && !tracer_walks);
	registry_unlock();
	batches[12] = NULL;
	/* A tracer that was unregistering is not notified any more. */
	nr_freed = 0;
	tracers[1]->leaving = true;
	batches[11]->leaving = true;
	batches[11]->notified = tracers[0];
	pending_notifications = registry_continue_notifications;
	registry_lock();
	is_noted("c-11 drop11 go11 ");
	registry_unlock();
	CHECK(nr_freed == 1 && tracers[0]->next == tracers[2]);
	batches[11] = NULL;
	/* A tracer unregisters in one of these notifications. */
	tracers[0]->known = tracers[2]->known = first_batch->number;
	on_insert(0, 13, untrace_a);
	pending_notifications = registry_continue_notifications;
	registry_lock();
	is_noted("a+13 a-13 c+13 ");
	registry_unlock();
	CHECK(nr_freed == 2 && first_tracer == tracers[2]);
	is_free();
	untrace(2);
	go_all();
}

/* ---- the end: last, because nothing can be registered afterwards ---- */

static void test_finish(void)
{
	come_all();
	trace(0);
	trace(1);
	*noted = '\0';
	on_remove(0, 12, go_12);
	CHECK(registry_finish());
	is_noted("drop2 go2 a-11 b-11 drop11 go11 a-12 b-12 drop12 go12 a-13 b-13 drop13 go13 "
		 "finish ");
	CHECK(registry_is_finished() && !first_batch && !last_batch);
	is_free();
	CHECK(!registry_finish());
	is_free();
	is_noted("");
	nr_freed = 0;
	untrace(0);
	go(13);
	is_free();
	CHECK(nr_freed == 0 && !registry_first_leaving_batch() && !registry_first_staying_batch());
	/* The list begins again with the first batch after all were removed. */
	finished = false;
	come(11);
	CHECK(first_batch == batches[11] && last_batch == batches[11] && !batches[11]->previous);
	is_noted("come11 a+11 b+11 ");
	untrace(0);
	untrace(1);
	CHECK(nr_freed == 2);
	go(11);
	CHECK(!first_batch && !last_batch);
}

int main(void)
{
	test_order();
	test_insert();
	test_remove();
	test_unknown();
	test_each();
	test_refusals();
	test_guard();
	test_locks();
	test_forks();
	test_cut_off();
	test_finish();
	return 0;
}
