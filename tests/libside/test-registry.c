/* SPDX-License-Identifier: MIT */
/*
 * Batches and tracers: which notifications each tracer gets, when, also when lists change while
 * they are walked.
 */
#include "event.h"

#include <time.h>

/* The notifications of tracers about the batches of this test, "A+1 A+2 B-1" for example. */
static char log_text[4096];
static struct side_event_description *batch_arrays[8][2];
static struct test_event events[8];

static int batch_number(struct side_event_description **array)
{
	int i;

	for (i = 0; i < 8; i++) {
		if (array == batch_arrays[i])
			return i;
	}
	return -1;
}

struct tracer {
	const char *name;
	struct side_tracer_handle *handle;
	void (*extra)(struct tracer *tracer, enum side_tracer_notification notif, int batch);
};

static void notify(enum side_tracer_notification notif, struct side_event_description **array,
		uint32_t nr_events, void *priv)
{
	struct tracer *tracer = priv;
	int batch = batch_number(array);
	char word[16];

	if (batch < 0)
		return; /* the library's own events, or those of this program */
	CHECK_EQUAL(nr_events, 2);
	snprintf(word, sizeof(word), "%s%c%d ", tracer->name,
			notif == SIDE_TRACER_NOTIFICATION_INSERT_EVENTS ? '+' : '-', batch);
	strcat(log_text, word);
	if (tracer->extra)
		tracer->extra(tracer, notif, batch);
}

static void expect_log(const char *expected)
{
	if (strcmp(log_text, expected)) {
		fprintf(stderr, "reported \"%s\"\nexpected \"%s\"\n", log_text, expected);
		abort();
	}
	log_text[0] = '\0';
}

static struct side_events_register_handle *handles[8];

static void add_batch(int i)
{
	test_event_init(&events[i], "event", 0);
	batch_arrays[i][0] = NULL; /* readers must skip it */
	batch_arrays[i][1] = &events[i].desc;
	handles[i] = side_events_register(batch_arrays[i], 2);
	CHECK(handles[i]);
}

static void remove_batch(int i)
{
	side_events_unregister(handles[i]);
	handles[i] = NULL;
}

static void add_tracer(struct tracer *tracer)
{
	tracer->handle = side_tracer_event_notification_register(notify, tracer);
	CHECK(tracer->handle);
}

static void test_order(void)
{
	struct tracer a = {.name = "A"}, b = {.name = "B"};

	add_batch(0);
	add_tracer(&a);
	expect_log("A+0 ");
	add_batch(1);
	expect_log("A+1 ");
	add_tracer(&b);
	expect_log("B+0 B+1 ");
	add_batch(2);
	expect_log("A+2 B+2 ");
	remove_batch(1);
	expect_log("A-1 B-1 ");
	side_tracer_event_notification_unregister(a.handle);
	expect_log("A-0 A-2 ");
	remove_batch(0);
	expect_log("B-0 ");
	side_tracer_event_notification_unregister(b.handle);
	expect_log("B-2 ");
	remove_batch(2);
	expect_log("");
}

/* The library's own events are in the first batch that a tracer sees. */
static void first_batch(enum side_tracer_notification notif, struct side_event_description **array,
		uint32_t nr_events, void *priv)
{
	int *calls = priv;

	if (notif != SIDE_TRACER_NOTIFICATION_INSERT_EVENTS || (*calls)++)
		return;
	CHECK_EQUAL(nr_events, 2);
	CHECK(!strcmp(side_ptr_get(array[0]->provider_name), "side"));
	CHECK(!strcmp(side_ptr_get(array[0]->event_name), "statedump_begin"));
	CHECK(!strcmp(side_ptr_get(array[1]->event_name), "statedump_end"));
	CHECK_EQUAL(side_enum_get(array[0]->loglevel), SIDE_LOGLEVEL_INFO);
	CHECK_EQUAL(array[1]->fields.length, 1);
	CHECK(!strcmp(side_ptr_get(side_array_at(&array[1]->fields, 0)->field_name), "name"));
}

static void test_own_events(void)
{
	int calls = 0;
	struct side_tracer_handle *tracer =
			side_tracer_event_notification_register(first_batch, &calls);

	CHECK(tracer && calls);
	side_tracer_event_notification_unregister(tracer);
}

static void register_another(struct tracer *tracer, enum side_tracer_notification notif, int batch)
{
	(void)tracer;
	if (notif == SIDE_TRACER_NOTIFICATION_INSERT_EVENTS && batch == 0)
		add_batch(3);
}

/* As dlopen() in a notification: a batch is registered during notifications of others. */
static void test_register_in_notification(void)
{
	struct tracer a = {.name = "A", .extra = register_another}, b = {.name = "B"};

	add_tracer(&b);
	add_batch(0);
	expect_log("B+0 ");
	add_batch(1);
	expect_log("B+1 ");
	add_tracer(&a);
	/* Each tracer is notified of each batch once, in order. */
	expect_log("A+0 B+3 A+1 A+3 ");
	remove_batch(0);
	remove_batch(1);
	remove_batch(3);
	expect_log("B-0 A-0 B-1 A-1 B-3 A-3 ");
	side_tracer_event_notification_unregister(a.handle);
	side_tracer_event_notification_unregister(b.handle);
	expect_log("");
}

static void remove_next(struct tracer *tracer, enum side_tracer_notification notif, int batch)
{
	(void)tracer;
	if (batch == 0 && handles[1] && notif == SIDE_TRACER_NOTIFICATION_INSERT_EVENTS)
		remove_batch(1);
	if (batch == 2 && handles[3] && notif == SIDE_TRACER_NOTIFICATION_REMOVE_EVENTS)
		remove_batch(3);
}

static void test_unregister_in_notification(void)
{
	struct tracer a = {.name = "A", .extra = remove_next};

	add_batch(0);
	add_batch(1);
	add_batch(2);
	add_batch(3);
	add_tracer(&a);
	/* Batch 1 is removed before the tracer is notified of it. */
	expect_log("A+0 A+2 A+3 ");
	side_tracer_event_notification_unregister(a.handle);
	/* One notification of each. */
	expect_log("A-0 A-2 A-3 ");
	remove_batch(0);
	remove_batch(2);
	expect_log("");
}

static void leave(struct tracer *tracer, enum side_tracer_notification notif, int batch)
{
	if (notif == SIDE_TRACER_NOTIFICATION_INSERT_EVENTS && batch == 2)
		side_tracer_event_notification_unregister(tracer->handle);
}

static void test_tracer_leaves_in_notification(void)
{
	struct tracer a = {.name = "A", .extra = leave}, b = {.name = "B"};

	add_batch(0);
	add_tracer(&a);
	add_tracer(&b);
	expect_log("A+0 B+0 ");
	add_batch(2);
	expect_log("A+2 A-0 A-2 B+2 ");
	add_batch(3);
	expect_log("B+3 ");
	side_tracer_event_notification_unregister(b.handle);
	remove_batch(0);
	remove_batch(2);
	remove_batch(3);
	expect_log("B-0 B-2 B-3 ");
}

static void count(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	(void)desc;
	(void)args;
	(void)caller;
	++*(int *)priv;
}

/* Callbacks that a tracer leaves on a removed batch are dropped. */
static void test_dropped_callbacks(void)
{
	int calls = 0;

	add_batch(0);
	CHECK_EQUAL(side_tracer_callback_register(&events[0].desc, count, &calls, 0), 0);
	CHECK_EQUAL(side_tracer_callback_register(&events[0].desc, count, &calls, 8), 0);
	test_event_emit(&events[0]);
	CHECK_EQUAL(calls, 2);
	remove_batch(0);
	CHECK_EQUAL(events[0].state.enabled, 0);
	CHECK_EQUAL(events[0].state.nr_callbacks, 0);
	test_event_emit(&events[0]);
	CHECK_EQUAL(calls, 2);
}

static struct side_tracer_handle *twice;
static int twice_calls;

static void enable_all(enum side_tracer_notification notif, struct side_event_description **array,
		uint32_t nr_events, void *priv)
{
	int i;

	(void)nr_events;
	if (batch_number(array) < 0)
		return;
	for (i = 0; i < 2; i++) {
		if (!array[i])
			continue;
		if (notif == SIDE_TRACER_NOTIFICATION_INSERT_EVENTS)
			*(int *)priv += side_tracer_callback_register(
					array[i], count, &twice_calls, 0);
		else
			*(int *)priv += side_tracer_callback_unregister(
					array[i], count, &twice_calls, 0);
	}
}

/* The same description in two batches: an error for the second one, and no other effect. */
static void test_same_description_twice(void)
{
	int results = 0;

	twice = side_tracer_event_notification_register(enable_all, &results);
	add_batch(0);
	CHECK_EQUAL(results, 0);
	batch_arrays[1][0] = &events[0].desc;
	batch_arrays[1][1] = NULL;
	handles[1] = side_events_register(batch_arrays[1], 2);
	CHECK(handles[1]);
	CHECK_EQUAL(results, SIDE_ERROR_EXIST);
	test_event_emit(&events[0]);
	CHECK_EQUAL(twice_calls, 1);
	results = 0;
	remove_batch(1);
	CHECK_EQUAL(results, 0);
	remove_batch(0);
	CHECK_EQUAL(results, SIDE_ERROR_NOENT);
	side_tracer_event_notification_unregister(twice);
}

/* A version that the library does not know, in the middle of a batch. */
static void test_unknown_version(void)
{
	int results = 0;

	twice_calls = 0;
	test_event_init(&events[0], "known", 0);
	test_event_init(&events[1], "unknown", 0);
	events[1].desc.version = 1;
	batch_arrays[0][0] = &events[1].desc;
	batch_arrays[0][1] = &events[0].desc;
	twice = side_tracer_event_notification_register(enable_all, &results);
	handles[0] = side_events_register(batch_arrays[0], 2);
	CHECK(handles[0]);
	CHECK_EQUAL(results, SIDE_ERROR_INVAL);
	test_event_emit(&events[0]);
	test_event_emit(&events[1]);
	CHECK_EQUAL(twice_calls, 1);
	remove_batch(0);
	side_tracer_event_notification_unregister(twice);
	CHECK_EQUAL(events[0].state.enabled, 0);
}

static void test_nothing(void)
{
	struct side_events_register_handle *empty;

	side_events_unregister(NULL);
	side_tracer_event_notification_unregister(NULL);
	CHECK(!side_events_register(NULL, 1));
	CHECK(!side_tracer_event_notification_register(NULL, NULL));
	empty = side_events_register(NULL, 0);
	CHECK(empty);
	side_events_unregister(empty);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Without a tracer, the events are not accessed: these would crash. */
static void test_cost_without_tracer(void)
{
	struct side_event_description **array = (void *)(uintptr_t)16;
	uint64_t best = UINT64_MAX;
	int i;

	for (i = 0; i < 100; i++) {
		uint64_t start = now_ns(), time;
		struct side_events_register_handle *handle =
				side_events_register(array, 1000000000);

		side_events_unregister(handle);
		time = now_ns() - start;
		best = time < best ? time : best;
	}
	CHECK(best < 100000);
}

int main(void)
{
	test_take_keys(15);
	test_cost_without_tracer();
	test_nothing();
	test_own_events();
	test_order();
	test_register_in_notification();
	test_unregister_in_notification();
	test_tracer_leaves_in_notification();
	test_dropped_callbacks();
	test_same_description_twice();
	test_unknown_version();
	return 0;
}
