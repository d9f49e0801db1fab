/* SPDX-License-Identifier: MIT */
/*
 * The guard of a process: calls and events that it refuses reach no callback, not the kernel, and
 * no tracer's list of events.
 */
#include "event.h"

#include <side/kernel.h>

#define KERNEL_BIT ((uintptr_t)0x80 << (sizeof(uintptr_t) * 8 - 8))

static bool is_passed; /* the result of the guard */
static unsigned int nr_asked, nr_alone, nr_other, nr_kernel;
static bool was_variadic, had_others;
static void *asked_with;
static struct test_event *hidden;

static void own(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	(void)desc;
	(void)args;
	(void)priv;
	(void)caller;
	nr_alone++;
}

static void own_variadic(const struct side_event_description *desc, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *var, void *priv, void *caller)
{
	(void)var;
	own(desc, args, priv, caller);
}

static void other(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	(void)desc;
	(void)args;
	(void)priv;
	(void)caller;
	/* The guard is asked before any other callback is called. */
	CHECK(nr_asked == 1);
	nr_other++;
}

static void other_variadic(const struct side_event_description *desc,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *var,
		void *priv, void *caller)
{
	(void)var;
	other(desc, args, priv, caller);
}

static void kernel(const struct side_event_state_0 *state, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *var, void *caller)
{
	(void)state;
	(void)args;
	(void)var;
	(void)caller;
	CHECK(nr_asked == 1);
	nr_kernel++;
}

static bool passes(const struct side_event_description *desc, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *var, void *priv, void *caller, bool others)
{
	CHECK(desc && args && caller);
	nr_asked++;
	was_variadic = var != NULL;
	had_others = others;
	asked_with = priv;
	return is_passed;
}

static bool shows(struct side_event_description **events, uint32_t nr_events,
		struct side_event_description *desc)
{
	if (!desc)
		return nr_events < 1000;
	CHECK(events && nr_events);
	return !hidden || desc != &hidden->desc;
}

static const struct side_tracer_guard guard = {
		.call = own, .call_variadic = own_variadic, .passes = passes, .shows = shows};

/*
 * Makes one call and checks its receivers: the guard, the guard alone, the other tracer, the
 * kernel.
 */
static void expect(struct test_event *event, bool variadic, const char *seen)
{
	struct side_arg_vec args = {.len = 0};
	struct side_arg_dynamic_struct var = {.len = 0};
	char have[16];

	nr_asked = nr_alone = nr_other = nr_kernel = 0;
	if (variadic)
		side_call_variadic(&event->state.parent, &args, &var);
	else
		side_call(&event->state.parent, &args);
	(void)snprintf(have, sizeof(have), "%u%u%u%u", nr_asked, nr_alone, nr_other, nr_kernel);
	if (strcmp(have, seen)) {
		fprintf(stderr, "%s: asked, alone, other, kernel: %s, expected %s\n",
				side_ptr_get(event->desc.event_name), have, seen);
		abort();
	}
}

/* No other receiver: its callback is called, or it is asked on the slow path. */
static void expect_alone(struct test_event *event)
{
	struct side_arg_vec args = {.len = 0};

	nr_asked = nr_alone = nr_other = nr_kernel = 0;
	had_others = false;
	side_call(&event->state.parent, &args);
	CHECK(nr_asked + nr_alone == 1 && !had_others && !nr_other && !nr_kernel);
}

static void test_calls(uint64_t key)
{
	struct test_event event, unknown;
	static int priv;

	test_event_init(&event, "event", 0);
	test_event_init(&unknown, "unknown", 0);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, own, &priv, key), SIDE_ERROR_OK);
	expect_alone(&event);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, other, NULL, key), SIDE_ERROR_OK);
	is_passed = true;
	expect(&event, false, "1010");
	CHECK(had_others && !was_variadic && asked_with == &priv);
	is_passed = false;
	expect(&event, false, "1000");
	/* A call of the other kind, which reaches no callback anyway. */
	expect(&event, true, "1000");
	CHECK(was_variadic);
	/* An event that the guard does not know. */
	CHECK_EQUAL(side_tracer_callback_register(&unknown.desc, other, NULL, key), SIDE_ERROR_OK);
	nr_asked = 1;
	test_event_emit(&unknown);
	CHECK_EQUAL(nr_other, 1);
	/* The kernel counts as a receiver, too. */
	(void)__atomic_fetch_or(&event.state.enabled, KERNEL_BIT, __ATOMIC_RELAXED);
	side_kernel_hook(kernel);
	expect(&event, false, "1000");
	is_passed = true;
	expect(&event, false, "1011");
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, other, NULL, key), SIDE_ERROR_OK);
	expect(&event, false, "1001");
	CHECK(had_others);
	is_passed = false;
	expect(&event, false, "1000");
	side_kernel_hook(NULL);
	(void)__atomic_fetch_and(&event.state.enabled, ~KERNEL_BIT, __ATOMIC_RELAXED);
	expect_alone(&event);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, own, &priv, key), SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_callback_unregister(&unknown.desc, other, NULL, key),
			SIDE_ERROR_OK);
}

static void test_variadic_calls(uint64_t key)
{
	struct test_event event;

	test_event_init(&event, "variadic", SIDE_EVENT_FLAG_VARIADIC);
	CHECK_EQUAL(side_tracer_callback_variadic_register(&event.desc, other_variadic, NULL, key),
			SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_callback_variadic_register(&event.desc, own_variadic, NULL, key),
			SIDE_ERROR_OK);
	is_passed = true;
	/* The guard is registered second, and is asked first. */
	expect(&event, true, "1010");
	is_passed = false;
	expect(&event, true, "1000");
	expect(&event, false, "1000");
	CHECK(!was_variadic);
	CHECK_EQUAL(side_tracer_callback_variadic_unregister(&event.desc, own_variadic, NULL, key),
			SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_callback_variadic_unregister(
				    &event.desc, other_variadic, NULL, key),
			SIDE_ERROR_OK);
}

/* A state dump has a key, and the guard is asked about it whatever its own key is. */
static void test_statedump(uint64_t key)
{
	struct side_arg_vec args = {.len = 0};
	struct test_event event;
	uint64_t others;

	CHECK_EQUAL(side_tracer_request_key(&others), SIDE_ERROR_OK);
	test_event_init(&event, "dump", 0);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, own, NULL, key), SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, other, NULL, others), SIDE_ERROR_OK);
	is_passed = false;
	nr_asked = nr_other = 0;
	side_statedump_call(&event.state.parent, &args, &others);
	CHECK(nr_asked == 1 && nr_other == 0);
	is_passed = true;
	nr_asked = 0;
	side_statedump_call(&event.state.parent, &args, &others);
	CHECK(nr_asked == 1 && nr_other == 1);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, own, NULL, key), SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, other, NULL, others),
			SIDE_ERROR_OK);
}

/*
 * For tracers that emit events themselves: a range of functions outside of the guard's forces the
 * slow path.
 */
static void test_tracer_call(uint64_t key)
{
	const struct side_tracer_functions only = {(uintptr_t)other, (uintptr_t)other + 1};
	struct side_arg_vec args = {.len = 0};
	struct test_event event;

	test_event_init(&event, "made", 0);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, own, NULL, key), SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, other, NULL, key), SIDE_ERROR_OK);
	is_passed = false;
	nr_asked = nr_other = 0;
	CHECK(!side_tracer_call(&event.state.parent, &args, &event, &only));
	CHECK(nr_asked == 0 && nr_other == 0);
	CHECK(side_tracer_call(&event.state.parent, &args, &event, NULL));
	CHECK(nr_asked == 1 && nr_other == 0);
	is_passed = true;
	nr_asked = 0;
	CHECK(side_tracer_call(&event.state.parent, &args, &event, NULL));
	CHECK(nr_asked == 1 && nr_other == 1);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, own, NULL, key), SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, other, NULL, key), SIDE_ERROR_OK);
}

/* ---- events ---- */

static uint32_t nr_inserted, nr_removed, nr_events_seen;
static bool saw_hidden;

static void on_batch(enum side_tracer_notification notification,
		struct side_event_description **events, uint32_t nr_events, void *priv)
{
	uint32_t i;

	(void)priv;
	if (notification == SIDE_TRACER_NOTIFICATION_INSERT_EVENTS)
		nr_inserted++;
	else
		nr_removed++;
	for (i = 0; i < nr_events; i++) {
		nr_events_seen += events[i] != NULL;
		saw_hidden |= hidden && events[i] == &hidden->desc;
	}
}

static void count_batch(struct side_event_description **events, uint32_t nr_events, void *user)
{
	(void)user;
	on_batch(SIDE_TRACER_NOTIFICATION_INSERT_EVENTS, events, nr_events, NULL);
}

static void test_events(struct side_events_register_handle *before)
{
	struct test_event *one = test_event_new("one", 0), *two = test_event_new("two", 0);
	struct side_event_description *events[] = {&one->desc, NULL, &hidden->desc, &two->desc};
	struct side_events_register_handle *batch, *huge;
	struct side_tracer_handle *tracer;

	tracer = side_tracer_event_notification_register(on_batch, NULL);
	CHECK(tracer && nr_inserted);
	nr_inserted = nr_events_seen = 0;
	batch = side_events_register(events, 4);
	CHECK(batch && nr_inserted == 1 && nr_events_seen == 2);
	/* Too many to be checked. */
	huge = side_events_register(events, 1000);
	CHECK(huge && nr_events_seen == 2);
	nr_events_seen = 0;
	CHECK_EQUAL(side_tracer_each_batch(count_batch, NULL), SIDE_ERROR_OK);
	CHECK(nr_events_seen >= 2);
	nr_events_seen = 0;
	side_events_unregister(huge);
	side_events_unregister(batch);
	side_events_unregister(before);
	CHECK(nr_removed == 3 && nr_events_seen == 2);
	CHECK(!saw_hidden);
	/* The array of the program is unchanged. */
	CHECK(events[2] == &hidden->desc);
	side_tracer_event_notification_unregister(tracer);
	free(one);
	free(two);
}

int main(void)
{
	struct side_tracer_guard half = guard;
	struct side_event_description *events[1];
	struct side_events_register_handle *before;
	uint64_t key;

	hidden = test_event_new("hidden", 0);
	/* The batch is registered before the guard. */
	events[0] = &hidden->desc;
	before = side_events_register(events, 1);
	CHECK(before);
	half.shows = NULL;
	CHECK_EQUAL(side_tracer_guard(NULL), SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_tracer_guard(&half), SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_tracer_guard(&guard), SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_guard(&guard), SIDE_ERROR_EXIST);
	CHECK_EQUAL(side_tracer_request_key(&key), SIDE_ERROR_OK);
	test_calls(key);
	test_variadic_calls(key);
	test_statedump(key);
	test_tracer_call(key);
	test_events(before);
	free(hidden);
	return 0;
}
