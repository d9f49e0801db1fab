/* SPDX-License-Identifier: MIT */
/*
 * Exact values of callback arrays and of contexts. The files are included: the test decides which
 * grace periods have passed, whether memory is available, and what another thread does between two
 * steps.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libside/arrays.h"
#include "libside/keys.h"
#include "libside/rcu.h"
#include "libside/registry-lock.h"
#include "libside/report.h"

#include <side/context.h>
#include <side/endian.h>

#include "event.h"

/* ---- what the files call ---- */

static struct {
	uintptr_t now, last_elapsed, begun,
			passes; /* passes: grace periods up to this one have passed */
	uintptr_t gave_up, asked;
	unsigned int nr_begun, nr_gave_up, nr_started, nr_waits, nr_inits, nr_reports, nr_enters,
			nr_leaves, nr_begins, nr_failures;
	int depth; /* of the registry's lock */
	unsigned int nr_locks;
	bool is_started, is_finished, must_not_wait, is_inside, has_no_reader, stays;
	enum report_reason reported;
} fake;

static struct rcu_reader own_reader;

static uintptr_t fake_now(void)
{
	return fake.now;
}

static uintptr_t fake_last_passed(void)
{
	return fake.last_elapsed;
}

static bool fake_passed(uintptr_t grace)
{
	fake.asked = grace;
	return grace <= fake.passes;
}

static uintptr_t fake_begin(void)
{
	fake.nr_begun++;
	return fake.begun += RCU_STEP;
}

static void fake_give_up(uintptr_t grace)
{
	fake.nr_gave_up++;
	fake.gave_up = grace;
}

static void fake_start(void)
{
	CHECK_EQUAL(fake.depth, 1);
	fake.nr_started++;
}

static bool fake_is_started(void)
{
	return fake.is_started;
}

static void fake_synchronize(void)
{
	CHECK_EQUAL(fake.depth, 0);
	fake.nr_waits++;
}

static bool fake_inside(void)
{
	return fake.is_inside;
}

static struct rcu_reader *fake_enter(bool *outermost)
{
	fake.nr_enters++;
	*outermost = !fake.stays;
	return fake.has_no_reader ? NULL : &own_reader;
}

static void fake_leave(struct rcu_reader *reader)
{
	CHECK(reader == &own_reader);
	fake.nr_leaves++;
}

static void fake_sandbox_begins(void)
{
	fake.nr_begins++;
}

static void fake_sandbox_failed(void)
{
	fake.nr_failures++;
}

static void fake_lock(void)
{
	fake.depth++;
	fake.nr_locks++;
}

static void fake_unlock(void)
{
	fake.depth--;
}

static bool fake_is_finished(void)
{
	return fake.is_finished;
}

static bool fake_may_wait(void)
{
	return !fake.must_not_wait;
}

static void fake_init(void)
{
	fake.nr_inits++;
}

static bool fake_key_is_given(uint64_t key)
{
	return key < 100;
}

static void fake_report(enum report_reason reason)
{
	fake.nr_reports++;
	fake.reported = reason;
}

/* Allocated blocks that are not freed. */
static struct {
	int used;
	unsigned int nr_taken;
	size_t size;
	bool is_full;
} blocks;

static void *fake_take(size_t size)
{
	void *block;

	blocks.size = size;
	if (blocks.is_full)
		return NULL;
	block = calloc(1, size);
	CHECK(block);
	blocks.used++;
	blocks.nr_taken++;
	return block;
}

static void fake_give_back(void *block, size_t size)
{
	CHECK(size >= 2 * sizeof(void *));
	/* Poisons the block, so that later accesses are detected. */
	memset(block, 0xee, size);
	blocks.used--;
	free(block);
}

#define rcu_now fake_now
#define rcu_last_elapsed fake_last_passed
#define rcu_has_elapsed fake_passed
#define rcu_begin_grace_period fake_begin
#define rcu_free_exited fake_give_up
#define rcu_start fake_start
#define rcu_is_started fake_is_started
#define rcu_synchronize fake_synchronize
#define rcu_inside fake_inside
#define rcu_enter_slow fake_enter
#define rcu_leave fake_leave
#define rcu_sandbox_begins fake_sandbox_begins
#define rcu_sandbox_failed fake_sandbox_failed
#define registry_lock fake_lock
#define registry_unlock fake_unlock
#define registry_is_finished fake_is_finished
#define registry_may_wait fake_may_wait
#define side_init fake_init
#define key_is_allocated fake_key_is_given
#define report_once fake_report
#define arrays_take fake_take
#define arrays_give_back fake_give_back
#include "libside/callbacks.c"

static int nr_freed;
static bool has_no_memory;
static void (*on_copy)(void);

static void *context_calloc(size_t count, size_t size)
{
	return has_no_memory ? NULL : calloc(count, size);
}

static void context_free(void *block)
{
	nr_freed++;
	free(block);
}

/* Another thread acts while this one writes the names of its new entry. */
static void *context_copy(void *to, const void *from, size_t size)
{
	void (*acts)(void) = on_copy;

	on_copy = NULL;
	if (acts)
		acts();
	return memcpy(to, from, size);
}

#define calloc context_calloc
#define free context_free
#define memcpy context_copy
#define first_retired retired_contexts
#include "libside/context.c"
#undef calloc
#undef free
#undef memcpy
#undef first_retired

static void reset(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.begun = 1000 * RCU_STEP;
	fake.is_started = true;
	blocks.is_full = has_no_memory = false;
	blocks.nr_taken = 0;
	nr_freed = 0;
}

static void is_balanced(unsigned int locks)
{
	CHECK_EQUAL(fake.depth, 0);
	CHECK_EQUAL(fake.nr_locks, locks);
	fake.nr_locks = 0;
}

/* ---- callbacks ---- */

static void one_call(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	(void)desc;
	(void)args;
	(void)priv;
	(void)caller;
}

static void other_call(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	(void)args;
	one_call(desc, NULL, priv, caller);
}

static void one_variadic(const struct side_event_description *desc, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *var, void *priv, void *caller)
{
	(void)var;
	one_call(desc, args, priv, caller);
}

static void other_variadic(const struct side_event_description *desc,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *var,
		void *priv, void *caller)
{
	(void)args;
	one_variadic(desc, NULL, var, priv, caller);
}

static char marks[8];

static void test_same(void)
{
	const struct side_callback one = {
			.call = one_call, .call_variadic = one_variadic, .priv = marks, .key = 9};
	struct side_callback other = one;

	CHECK(callback_is_same(&one, &other));
	other.call = other_call;
	CHECK(!callback_is_same(&one, &other));
	other = one;
	other.call_variadic = other_variadic;
	CHECK(!callback_is_same(&one, &other));
	other = one;
	other.priv = marks + 1;
	CHECK(!callback_is_same(&one, &other));
	other = one;
	other.key = 10;
	CHECK(!callback_is_same(&one, &other));
}

static void test_new_array(void)
{
	struct callback_array *array;

	reset();
	array = callback_new_array(5);
	CHECK(array && blocks.size == sizeof(*array) + 6 * sizeof(struct side_callback));
	CHECK(array->size == blocks.size);
	arrays_give_back(array, array->size);
	blocks.is_full = true;
	CHECK(!callback_new_array(0) &&
			blocks.size == sizeof(*array) + sizeof(struct side_callback));
	CHECK(!callback_new_array(UINT32_MAX) &&
			blocks.size == sizeof(*array) + (sizeof(struct side_callback) << 32));
}

/* The same event gets one callback more, or all are removed. */
static void put(struct test_event *event, unsigned int mark)
{
	CHECK_EQUAL(side_tracer_callback_register(&event->desc, one_call, marks + mark, 9),
			SIDE_ERROR_OK);
}

static void take(struct test_event *event, unsigned int mark)
{
	CHECK_EQUAL(side_tracer_callback_unregister_async(&event->desc, one_call, marks + mark, 9),
			SIDE_ERROR_OK);
}

static void test_array(void)
{
	const struct side_callback *entries;
	struct test_event event;

	reset();
	test_event_init(&event, "array", 0);
	put(&event, 1);
	put(&event, 2);
	put(&event, 3);
	CHECK(fake.nr_inits == 3 && fake.nr_started == 3 && nr_enabled_events == 1);
	is_balanced(3);
	/* A refused call changes nothing. */
	entries = event.state.callbacks;
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, one_call, marks + 2, 9),
			SIDE_ERROR_EXIST);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, one_call, marks + 2, 100),
			SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_tracer_callback_replace(
				    &event.desc, one_call, marks + 2, other_call, marks + 2, 100),
			SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_tracer_callback_replace(
				    &event.desc, one_call, marks + 2, NULL, marks + 2, 9),
			SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_tracer_callback_variadic_replace(&event.desc, one_variadic, marks + 2,
				    other_variadic, marks + 2, 9),
			SIDE_ERROR_INVAL);
	is_balanced(1);
	CHECK_EQUAL(side_tracer_callback_replace(
				    &event.desc, one_call, marks + 4, other_call, marks + 4, 9),
			SIDE_ERROR_NOENT);
	CHECK_EQUAL(side_tracer_callback_replace(
				    &event.desc, one_call, marks + 2, one_call, marks + 3, 9),
			SIDE_ERROR_EXIST);
	blocks.is_full = true;
	CHECK_EQUAL(side_tracer_callback_replace(
				    &event.desc, one_call, marks + 2, other_call, marks + 4, 9),
			SIDE_ERROR_NOMEM);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, one_call, marks + 4, 9),
			SIDE_ERROR_NOMEM);
	CHECK_EQUAL(side_tracer_callback_unregister_async(&event.desc, one_call, marks + 2, 9),
			SIDE_ERROR_NOMEM);
	is_balanced(5);
	fake.is_finished = true;
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, one_call, marks + 4, 9),
			SIDE_ERROR_EXITING);
	CHECK_EQUAL(side_tracer_callback_replace(
				    &event.desc, one_call, marks + 2, other_call, marks + 4, 9),
			SIDE_ERROR_EXITING);
	CHECK_EQUAL(side_tracer_callback_unregister_async(&event.desc, one_call, marks + 2, 9),
			SIDE_ERROR_EXITING);
	is_balanced(3);
	fake.is_finished = blocks.is_full = false;
	CHECK(event.state.callbacks == entries && event.state.nr_callbacks == 3);
	/* In place. */
	CHECK_EQUAL(side_tracer_callback_replace(
				    &event.desc, one_call, marks + 2, other_call, marks + 4, 9),
			SIDE_ERROR_OK);
	is_balanced(1);
	CHECK(blocks.size == sizeof(struct callback_array) + 4 * sizeof(*entries));
	entries = event.state.callbacks;
	CHECK(event.state.nr_callbacks == 3 && event.state.enabled == 1 && nr_enabled_events == 1);
	CHECK(entries[0].call == one_call && entries[0].priv == marks + 1 && entries[0].key == 9);
	CHECK(entries[1].call == other_call && entries[1].priv == marks + 4 && entries[1].key == 9);
	CHECK(entries[2].call == one_call && entries[2].priv == marks + 3 && !entries[3].call);
	take(&event, 1);
	CHECK(blocks.size == sizeof(struct callback_array) + 3 * sizeof(*entries));
	take(&event, 3);
	CHECK(blocks.size == sizeof(struct callback_array) + 2 * sizeof(*entries));
	CHECK(event.state.nr_callbacks == 1 && event.state.callbacks[0].call == other_call &&
			!event.state.callbacks[1].call);
	/* Removing the last one needs no memory. */
	blocks.is_full = true;
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, other_call, marks + 4, 9),
			SIDE_ERROR_OK);
	CHECK(!event.state.nr_callbacks && !event.state.enabled && !nr_enabled_events);
	CHECK(event.state.callbacks == (const void *)side_empty_callback);
	CHECK_EQUAL(fake.nr_waits, 1);
	fake.last_elapsed = UINTPTR_MAX / 4;
	callbacks_reclaim();
	CHECK_EQUAL(blocks.used, 0);
}

static void test_variadic(void)
{
	struct test_event event;

	reset();
	test_event_init(&event, "variadic", SIDE_EVENT_FLAG_VARIADIC);
	CHECK_EQUAL(side_tracer_callback_variadic_register(&event.desc, one_variadic, marks + 1, 9),
			SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_callback_variadic_replace(&event.desc, one_variadic, marks + 1,
				    other_variadic, marks + 2, 9),
			SIDE_ERROR_OK);
	CHECK(event.state.nr_callbacks == 1 && !event.state.callbacks[0].call &&
			event.state.callbacks[0].call_variadic == other_variadic &&
			event.state.callbacks[0].priv == marks + 2);
	CHECK_EQUAL(side_tracer_callback_variadic_unregister_async(
				    &event.desc, one_variadic, marks + 1, 9),
			SIDE_ERROR_NOENT);
	CHECK_EQUAL(side_tracer_callback_variadic_unregister_async(
				    &event.desc, other_variadic, marks + 2, 9),
			SIDE_ERROR_OK);
	CHECK_EQUAL(fake.nr_waits, 0);
	CHECK_EQUAL(side_tracer_callback_variadic_unregister(
				    &event.desc, other_variadic, marks + 2, 9),
			SIDE_ERROR_NOENT);
	CHECK_EQUAL(fake.nr_waits, 0);
	fake.last_elapsed = UINTPTR_MAX / 4;
	callbacks_reclaim();
	CHECK_EQUAL(blocks.used, 0);
}

/* An array is freed if a grace period that began after its retirement has passed. */
static void test_reclaim(void)
{
	struct test_event event;

	reset();
	retired_since = 0;
	test_event_init(&event, "reclaim", 0);
	fake.now = 16;
	put(&event, 1);
	put(&event, 2); /* retires the first at 16 */
	fake.now = 32;
	put(&event, 3);
	fake.now = 48;
	put(&event, 4);
	CHECK_EQUAL(blocks.used, 4);
	fake.last_elapsed = 16;
	callbacks_reclaim();
	CHECK_EQUAL(blocks.used, 4);
	fake.last_elapsed = 17;
	callbacks_reclaim();
	CHECK(blocks.used == 3 && first_retired->retired_at == 32);
	fake.last_elapsed = 48;
	callbacks_reclaim();
	CHECK(blocks.used == 2 && first_retired->retired_at == 48 && !first_retired->next_retired);
	fake.last_elapsed = 49;
	callbacks_reclaim();
	CHECK(blocks.used == 1 && !first_retired && retired_end == &first_retired);
	fake.now = 64;
	take(&event, 1);
	CHECK(first_retired && first_retired->retired_at == 64 && retired_since == 4);
	/* Numbers wrap around. */
	fake.last_elapsed = (uintptr_t)-16;
	callbacks_reclaim();
	CHECK_EQUAL(blocks.used, 2);
	fake.last_elapsed = 80;
	callbacks_reclaim();
	CHECK(blocks.used == 1 && fake.nr_begun == 0);
	take(&event, 2);
	take(&event, 3);
	fake.last_elapsed = 0;
	take(&event, 4);
	CHECK_EQUAL(retired_since, 7);
	/* The 64th retirement begins a grace period, if any array is left to free. */
	while (retired_since < 62) {
		put(&event, 1);
		take(&event, 1);
	}
	put(&event, 1);
	take(&event, 1);
	CHECK(retired_since == 63 && fake.nr_begun == 0 && !grace_period);
	put(&event, 1);
	fake.last_elapsed = 1000;
	fake.now = 900;
	take(&event, 1);
	CHECK(retired_since == 64 && fake.nr_begun == 0 && blocks.used == 0);
	put(&event, 1);
	fake.now = 1000;
	take(&event, 1);
	CHECK(retired_since == 0 && fake.nr_begun == 1 && grace_period == fake.begun);
	CHECK_EQUAL(fake.nr_gave_up, 0);
	/* 64 more, and it has not passed: readers of exited threads are freed. */
	for (int i = 0; i < 64; i++) {
		CHECK_EQUAL(fake.nr_gave_up, 0);
		put(&event, 1);
		take(&event, 1);
	}
	CHECK(fake.nr_gave_up == 1 && fake.gave_up == grace_period && fake.nr_begun == 1);
	CHECK(retired_since == 0 && fake.asked == grace_period);
	/* The grace period passes: the next attempt begins another one. */
	fake.passes = grace_period;
	callbacks_reclaim();
	CHECK(!grace_period && fake.nr_begun == 1);
	for (int i = 0; i < 64; i++) {
		put(&event, 1);
		take(&event, 1);
	}
	CHECK(fake.nr_begun == 2 && grace_period == fake.begun && fake.nr_gave_up == 1);
	grace_period = 0;
	fake.last_elapsed = 2000;
	callbacks_reclaim();
	CHECK_EQUAL(blocks.used, 0);
	/* Each change frees all arrays that can be freed. */
	put(&event, 1);
	put(&event, 2);
	CHECK_EQUAL(blocks.used, 1);
	fake.now = 2000;
	put(&event, 3);
	CHECK_EQUAL(blocks.used, 2);
	fake.last_elapsed = 2001;
	fake.now = 2001;
	CHECK_EQUAL(side_tracer_callback_replace(
				    &event.desc, one_call, marks + 3, one_call, marks + 4, 9),
			SIDE_ERROR_OK);
	CHECK_EQUAL(blocks.used, 2);
	fake.last_elapsed = 2002;
	put(&event, 5);
	CHECK_EQUAL(blocks.used, 1);
	fake.last_elapsed = 3000;
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, one_call, marks + 5, 9),
			SIDE_ERROR_EXIST);
	CHECK_EQUAL(blocks.used, 1);
	take(&event, 1);
	take(&event, 2);
	take(&event, 4);
	take(&event, 5);
	CHECK_EQUAL(blocks.used, 0);
}

/* Events are dropped until none has callbacks: the following ones are not accessed. */
static void test_drop(void)
{
	struct side_event_description *events[5];
	struct test_event one, other, third, unknown;

	reset();
	test_event_init(&one, "one", 0);
	test_event_init(&other, "other", 0);
	test_event_init(&third, "third", 0);
	put(&one, 1);
	put(&one, 2);
	put(&third, 3);
	put(&third, 4);
	CHECK_EQUAL(nr_enabled_events, 2);
	events[0] = NULL;
	events[1] = &other.desc;
	events[2] = &one.desc;
	events[3] = &third.desc;
	test_event_init(&unknown, "unknown", 0);
	unknown.desc.version++;
	events[4] = &unknown.desc;
	fake.last_elapsed = 1;
	callbacks_drop(events, 3);
	CHECK(!one.state.nr_callbacks && !one.state.enabled && !other.state.enabled);
	CHECK(third.state.nr_callbacks == 2 && third.state.enabled == 1 && nr_enabled_events == 1);
	/* Reclaimed, except for the array of the third. */
	CHECK_EQUAL(blocks.used, 1);
	callbacks_drop(events, 5);
	CHECK(!third.state.nr_callbacks && !third.state.enabled && nr_enabled_events == 0);
	CHECK(blocks.used == 0 && fake.nr_reports == 0);
}

static void is_reported(struct test_event *event, enum report_reason reason)
{
	fake.nr_reports = 0;
	CHECK(!event_state(&event->desc));
	CHECK(fake.nr_reports == 1 && fake.reported == reason);
	test_event_init(event, "reported", 0);
}

static void test_descriptions(void)
{
	struct test_event event;

	reset();
	test_event_init(&event, "reported", 0);
	CHECK(event_state(&event.desc) == &event.state && !event_state(NULL));
	event.desc.struct_size = 112;
	CHECK(event_state(&event.desc) == &event.state);
	side_ptr_set(event.desc.state, NULL);
	CHECK(!event_state(&event.desc) && fake.nr_reports == 0);
	test_event_init(&event, "reported", 0);
	event.desc.version++;
	is_reported(&event, REPORT_DESCRIPTION_VERSION);
	event.desc.struct_size = 111;
	is_reported(&event, REPORT_DESCRIPTION_SIZE);
	event.state.parent.version++;
	is_reported(&event, REPORT_STATE_VERSION);
}

static void test_grace(void)
{
	reset();
	fake.is_started = false;
	CHECK(side_tracer_grace_begin() == 0 && fake.nr_begun == 0);
	fake.is_started = true;
	CHECK(side_tracer_grace_begin() == fake.begun && fake.nr_begun == 1);
	CHECK(side_tracer_grace_passed(0) && !fake.asked);
	fake.passes = 160;
	CHECK(side_tracer_grace_passed(160) && fake.nr_gave_up == 0);
	CHECK(!side_tracer_grace_passed(176) && fake.nr_gave_up == 1 && fake.gave_up == 176);
}

static void test_synchronize(void)
{
	reset();
	fake.must_not_wait = true;
	CHECK_EQUAL(side_tracer_synchronize(), SIDE_ERROR_INVAL);
	fake.must_not_wait = fake.is_started = false;
	CHECK_EQUAL(side_tracer_synchronize(), SIDE_ERROR_OK);
	is_balanced(0);
	CHECK_EQUAL(fake.nr_waits, 0);
	fake.is_started = true;
	grace_period = 32;
	CHECK_EQUAL(side_tracer_synchronize(), SIDE_ERROR_OK);
	is_balanced(1);
	CHECK(fake.nr_waits == 1 && fake.asked == 32);
	grace_period = 0;
}

static void test_sandboxes(void)
{
	reset();
	CHECK(!callbacks_in_sandbox());
	side_tracer_sandbox_begins();
	side_tracer_sandbox_begins();
	CHECK(callbacks_in_sandbox() && fake.nr_begins == 2);
	side_tracer_sandbox_failed();
	CHECK(callbacks_in_sandbox());
	side_tracer_sandbox_failed();
	CHECK(!callbacks_in_sandbox() && fake.nr_failures == 2);
	side_tracer_sandbox_failed();
	CHECK(!callbacks_in_sandbox() && fake.nr_failures == 3);
}

/* ---- contexts ---- */

static void test_names(void)
{
	char name[] = "?", text[80];

	for (int c = 1; c < 256; c++) {
		bool permitted = c < 128 &&
				strchr("0123456789abcdefghijklmnopqrstuvwxyz"
				       "ABCDEFGHIJKLMNOPQRSTUVWXYZ._-",
						c);

		*name = (char)c;
		CHECK_EQUAL(context_name_size(name), permitted);
	}
	CHECK(context_name_size(NULL) == 0 && context_name_size("") == 0);
	memset(text, 'n', sizeof(text));
	text[73] = '\0';
	CHECK_EQUAL(context_name_size(text), 73);
	text[73] = 'n';
	text[74] = '\0';
	/* One more than callers permit. */
	CHECK_EQUAL(context_name_size(text), 74);
	text[74] = 'n';
	text[75] = '\0';
	CHECK_EQUAL(context_name_size(text), 0);
}

static void get_name(struct side_context_value *value, void *priv)
{
	side_context_set_string(value, priv);
	errno = EDOM;
}

static void test_longest(void)
{
	struct side_context_handle *handle;
	char text[80];

	reset();
	memset(text, 'p', sizeof(text));
	text[40] = '\0';
	text[74] = '\0';
	/* 40 and 33 bytes. */
	CHECK(side_context_find(text, text + 41));
	CHECK_EQUAL(side_context_register(text, text + 41, get_name, marks, NULL), SIDE_ERROR_OK);
	CHECK_EQUAL(side_context_register(text, text + 41, get_name, marks, NULL),
			SIDE_ERROR_EXIST);
	text[74] = 'p';
	text[75] = '\0';
	CHECK(!side_context_find(text, text + 41));
	fake.nr_inits = 0;
	CHECK_EQUAL(side_context_register(text, text + 41, get_name, marks, &handle),
			SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_context_register("p", "q", NULL, marks, &handle), SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_context_register("p", "", get_name, marks, &handle), SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_context_register("", "q", get_name, marks, &handle), SIDE_ERROR_INVAL);
	CHECK_EQUAL(fake.nr_inits, 0);
}

/* The value that each function of the header writes, over a value with all bits set. */
static void test_values(void)
{
	struct side_context_value value;
	char bytes[18];

#define RESET() memset(&value, 0xff, sizeof(value))
	RESET();
	side_context_set_none(&value);
	CHECK(value.kind == SIDE_CONTEXT_NONE && value.reserved == UINT32_MAX);
	RESET();
	side_context_set_int64(&value, -77);
	CHECK(value.kind == SIDE_CONTEXT_INT64 && value.content.int64 == -77);
	RESET();
	side_context_set_uint64(&value, 78);
	CHECK(value.kind == SIDE_CONTEXT_UINT64 && value.content.uint64 == 78);
	RESET();
	side_context_set_double(&value, 0.25);
	CHECK(value.kind == SIDE_CONTEXT_DOUBLE && value.content.float64 == 0.25);
	RESET();
	side_context_set_string(&value, marks + 5);
	CHECK(value.kind == SIDE_CONTEXT_STRING && value.content.string == marks + 5);
	RESET();
	side_context_set_string(&value, NULL);
	CHECK(value.kind == SIDE_CONTEXT_NONE && !value.content.string);
	RESET();
	side_context_set_bool(&value, 0);
	CHECK(value.kind == SIDE_CONTEXT_BOOL && value.content.boolean == 0);
	RESET();
	side_context_set_bool(&value, -6);
	CHECK(value.kind == SIDE_CONTEXT_BOOL && value.content.boolean == 1);
#undef RESET
	for (int i = 0; i < 18; i++)
		bytes[i] = (char)(100 + i);
	side_bswap_128p(bytes + 1);
	CHECK(bytes[0] == 100 && bytes[17] == 117);
	for (int i = 1; i < 17; i++)
		CHECK(bytes[i] == 117 - i);
}

static struct side_context_place *other_place;

static void find_same(void)
{
	other_place = side_context_find("race", "same");
}

static void find_other(void)
{
	other_place = side_context_find("race", "other");
}

/* Another thread appends a place between this thread's search and its own attempt. */
static void test_races(void)
{
	struct side_context_place *slot;

	reset();
	on_copy = find_same;
	slot = side_context_find("race", "same");
	CHECK(slot && slot == other_place && side_context_find("race", "same") == slot);
	on_copy = find_other;
	slot = side_context_find("race", "mine");
	CHECK(slot && other_place && slot != other_place && other_place->next == slot);
	CHECK(side_context_find("race", "mine") == slot &&
			side_context_find("race", "other") == other_place);
	CHECK(!strcmp(slot->names, "race") && !strcmp(slot->names + 5, "mine"));
	on_copy = NULL;
}

static void test_register(void)
{
	struct side_context_handle *handle, *other = (void *)marks;
	struct side_context_place *slot = side_context_find("list", "one");
	struct side_context_value value = {.kind = 77};

	reset();
	has_no_memory = true;
	CHECK_EQUAL(side_context_register("list", "one", get_name, marks, &handle),
			SIDE_ERROR_NOMEM);
	has_no_memory = false;
	fake.is_finished = true;
	CHECK_EQUAL(side_context_register("list", "one", get_name, marks, &handle),
			SIDE_ERROR_EXITING);
	fake.is_finished = false;
	CHECK(nr_freed == 0 && !slot->provider);
	CHECK_EQUAL(side_context_register("list", "one", get_name, marks + 2, &handle),
			SIDE_ERROR_OK);
	CHECK(nr_freed == 0 && slot->provider == handle && handle->slot == slot);
	CHECK(fake.nr_inits == 3);
	CHECK_EQUAL(side_context_register("list", "one", get_name, marks, &other),
			SIDE_ERROR_EXIST);
	CHECK(nr_freed == 1 && !other && slot->provider == handle);
	/* Read in a section, and without one. */
	errno = E2BIG;
	fake.is_inside = true;
	side_context_read(slot, &value);
	CHECK(value.kind == SIDE_CONTEXT_STRING && value.content.string == marks + 2);
	CHECK(fake.nr_enters == 0 && fake.nr_leaves == 0 && errno == E2BIG);
	fake.is_inside = false;
	value.kind = 77;
	side_context_read(slot, &value);
	CHECK(value.kind == SIDE_CONTEXT_STRING && fake.nr_enters == 1 && fake.nr_leaves == 1 &&
			errno == E2BIG);
	fake.stays = true;
	side_context_read(slot, &value);
	CHECK(value.kind == SIDE_CONTEXT_STRING && fake.nr_enters == 2 && fake.nr_leaves == 1);
	fake.has_no_reader = true;
	side_context_read(slot, &value);
	CHECK(value.kind == SIDE_CONTEXT_NONE && fake.nr_enters == 3 && fake.nr_leaves == 1);
	value.kind = 77;
	side_context_read(NULL, &value);
	CHECK(value.kind == SIDE_CONTEXT_NONE && fake.nr_enters == 3);
	fake.has_no_reader = fake.stays = false;
	/* At the end of the process it stays in memory. */
	fake.is_finished = true;
	side_context_unregister(handle);
	CHECK(!slot->provider && nr_freed == 1 && fake.nr_waits == 0 && !retired_contexts);
	fake.is_finished = false;
	side_context_unregister(handle);
	side_context_unregister(NULL);
	CHECK(nr_freed == 1 && fake.nr_waits == 0);
	value.kind = 77;
	side_context_read(slot, &value);
	CHECK(value.kind == SIDE_CONTEXT_NONE && fake.nr_enters == 4 && fake.nr_leaves == 2);
	free(handle);
}

static struct side_context_handle *provide(const char *name)
{
	struct side_context_handle *handle = NULL;

	CHECK_EQUAL(side_context_register("list", name, get_name, marks, &handle), SIDE_ERROR_OK);
	CHECK(handle);
	return handle;
}

/* A registration is freed after all sections that can have found it. */
static void test_retired(void)
{
	struct side_context_handle *one = provide("one"), *other = provide("other"),
				   *third = provide("third");

	reset();
	fake.now = 160;
	fake.is_started = false;
	fake.must_not_wait = true;
	side_context_unregister(one);
	CHECK(nr_freed == 1 && fake.nr_waits == 0 && !retired_contexts);
	fake.is_started = true;
	fake.must_not_wait = false;
	side_context_unregister(other);
	CHECK(nr_freed == 2 && fake.nr_waits == 1 && !retired_contexts);
	one = provide("one");
	other = provide("other");
	fake.must_not_wait = true;
	fake.last_elapsed = 160;
	side_context_unregister(one);
	fake.now = 176;
	side_context_unregister(other);
	fake.now = 192;
	side_context_unregister(third);
	CHECK(nr_freed == 2 && fake.nr_waits == 1);
	CHECK(one->retired_at == 160 && other->retired_at == 176 && third->retired_at == 192);
	fake.last_elapsed = 177;
	one = provide("one");
	CHECK(nr_freed == 4 && retired_contexts == third && !third->next_retired);
	fake.last_elapsed = 193;
	fake.now = 193;
	side_context_unregister(one);
	CHECK(nr_freed == 5 && retired_contexts == one && !one->next_retired);
	/* Numbers wrap around. */
	one->retired_at = 16;
	fake.last_elapsed = (uintptr_t)-16;
	libside_context_free_retired();
	CHECK(nr_freed == 5 && retired_contexts == one);
	one->retired_at = (uintptr_t)-16;
	fake.last_elapsed = 16;
	libside_context_free_retired();
	CHECK(nr_freed == 6 && !retired_contexts);
}

/* The last entry, and one more. */
static void test_places(void)
{
	char name[16];

	reset();
	for (int i = 0; nr_taken < CONTEXTS_MAX; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		CHECK(side_context_find("many", name));
	}
	CHECK(side_context_find("many", name) == &slots[CONTEXTS_MAX - 1]);
	CHECK(!side_context_find("many", "one-more") && nr_taken == CONTEXTS_MAX);
	CHECK_EQUAL(side_context_register("many", "one-more", get_name, marks, NULL),
			SIDE_ERROR_NOMEM);
	CHECK_EQUAL(nr_freed, 0);
	CHECK_EQUAL(side_context_register("many", name, get_name, marks, NULL), SIDE_ERROR_OK);
}

int main(void)
{
	test_same();
	test_new_array();
	test_array();
	test_variadic();
	test_reclaim();
	test_drop();
	test_descriptions();
	test_grace();
	test_synchronize();
	test_sandboxes();
	test_names();
	test_longest();
	test_values();
	test_races();
	test_register();
	test_retired();
	test_places();
	return 0;
}
