/* SPDX-License-Identifier: MIT */
/* The agent as a tracer of other copies of libside, which this test simulates. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <side/trace.h>

#include "abi/visit.h"
#include "tracers/agent/core/instances.h"

#define ATTRIBUTES_MAX 256 /* INSTANCES_ATTRIBUTES_MAX */

typedef void notify_function(enum side_tracer_notification notification,
		struct side_event_description **events, uint32_t nr_events, void *priv);

/* ---- the other copy ---- */

static struct {
	notify_function *notify;
	void *priv;
	side_tracer_callback_func call;
	side_tracer_callback_variadic_func call_variadic;
	void *call_priv[2];
	unsigned int nr_registered, nr_dumps, nr_sandboxes;
	bool refuses;
} other;

static int other_key(uint64_t *key)
{
	*key = 9;
	return SIDE_ERROR_OK;
}

static struct side_tracer_handle *other_notification(notify_function *notify, void *priv)
{
	other.notify = notify;
	other.priv = priv;
	return other.refuses ? NULL : (struct side_tracer_handle *)(void *)&other;
}

static int other_register(struct side_event_description *event, side_tracer_callback_func call,
		void *priv, uint64_t key)
{
	assert_int_equal(key, 9);
	assert_false(event->flags & SIDE_EVENT_FLAG_VARIADIC);
	other.call = call;
	other.call_priv[0] = priv;
	other.nr_registered++;
	return SIDE_ERROR_OK;
}

static int other_unregister(struct side_event_description *event, side_tracer_callback_func call,
		void *priv, uint64_t key)
{
	(void)event;
	assert_ptr_equal(call, other.call);
	assert_non_null(priv);
	assert_int_equal(key, 9);
	other.nr_registered--;
	return SIDE_ERROR_OK;
}

static int other_variadic_register(struct side_event_description *event,
		side_tracer_callback_variadic_func call, void *priv, uint64_t key)
{
	assert_int_equal(key, 9);
	assert_true(event->flags & SIDE_EVENT_FLAG_VARIADIC);
	other.call_variadic = call;
	other.call_priv[1] = priv;
	other.nr_registered++;
	return SIDE_ERROR_OK;
}

static int other_variadic_unregister(struct side_event_description *event,
		side_tracer_callback_variadic_func call, void *priv, uint64_t key)
{
	(void)event;
	assert_ptr_equal(call, other.call_variadic);
	assert_ptr_equal(priv, other.call_priv[1]);
	assert_int_equal(key, 9);
	other.nr_registered--;
	return SIDE_ERROR_OK;
}

static int other_statedump(uint64_t key)
{
	assert_int_equal(key, 9);
	other.nr_dumps++;
	return SIDE_ERROR_OK;
}

static void other_sandbox_begins(void)
{
	other.nr_sandboxes++;
}

static void other_sandbox_failed(void)
{
	other.nr_sandboxes--;
}

static int other_keys[AGENT_INSTANCES_MAX];
enum { beyond = AGENT_INSTANCES_MAX - 1 };

/* The first function identifies a copy, so each copy has its own. */
#define KEY(number)                                  \
	static int other_key_##number(uint64_t *key) \
	{                                            \
		other_keys[number]++;                \
		return other_key(key);               \
	}
/* clang-format off */
KEY(beyond)
KEY(0) KEY(1) KEY(2) KEY(3) KEY(4) KEY(5) KEY(6) KEY(7)
KEY(8) KEY(9) KEY(10) KEY(11) KEY(12) KEY(13) KEY(14)
		/* clang-format on */

		static const struct agent_instance_functions functions = {
				.request_key = other_key,
				.notification_register = other_notification,
				.callback_register = other_register,
				.callback_unregister = other_unregister,
				.variadic_register = other_variadic_register,
				.variadic_unregister = other_variadic_unregister,
				.statedump_request = other_statedump,
				.sandbox_begins = other_sandbox_begins,
				.sandbox_failed = other_sandbox_failed,
};

/* ---- its events ---- */

side_static_event(plain, "far", "plain", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u32("x")),
		side_attr_list(side_attr("a", side_attr_u32(5))));
side_static_event_variadic(variadic, "far", "variadic", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("x")));
side_static_event(own, "side", "own", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u32("x")));

static struct side_event_description unknown = {.version = 1};

/* The agent's description of an event, in libside's registry. */
struct search {
	const char *name;
	struct side_event_description *found;
	const struct side_attr *instance;
};

static void search_batch(struct side_event_description **events, uint32_t nr_events, void *user)
{
	struct search *search = user;

	for (uint32_t i = 0; i < nr_events; i++) {
		const struct side_attr *instance = events[i]
				? visit_attribute_find(visit_attributes_of(&events[i]->attributes),
						  "side.instance")
				: NULL;

		if (!instance || strcmp(side_ptr_get(events[i]->event_name), search->name) != 0)
			continue;
		search->found = events[i];
		search->instance = instance;
	}
}

static struct side_event_description *passed_on(const char *name)
{
	struct search search = {.name = name};

	assert_int_equal(side_tracer_each_batch(search_batch, &search), SIDE_ERROR_OK);
	if (search.instance)
		assert_string_equal(side_ptr_get(search.instance->value.u.string_value.p),
				"/far/libside.so");
	return search.found;
}

/* ---- calls ---- */

static struct {
	unsigned int nr;
	const struct side_event_description *event;
	const void *caller;
	uint32_t x;
	bool is_variadic;
} called;

static void called_plain(const struct side_event_description *event,
		const struct side_arg_vec *arguments, void *priv, void *caller)
{
	const struct side_arg *first = side_ptr_get(arguments->sav);

	(void)priv;
	called.nr++;
	called.event = event;
	called.caller = caller;
	called.x = first->u.side_static.integer_value.side_u32;
}

static void called_variadic(const struct side_event_description *event,
		const struct side_arg_vec *arguments, const struct side_arg_dynamic_struct *var,
		void *priv, void *caller)
{
	called.is_variadic = var != NULL;
	called_plain(event, arguments, priv, caller);
}

static void call_other(uint32_t x)
{
	struct side_arg argument = {.type = SIDE_ENUM_INIT(SIDE_TYPE_U32)};
	struct side_arg_vec arguments = {.len = 1};
	const struct side_arg_dynamic_struct none = {.len = 0};

	argument.u.side_static.integer_value.side_u32 = x;
	side_ptr_set(arguments.sav, &argument);
	other.call(&plain, &arguments, other.call_priv[0], &called);
	other.call_variadic(&variadic, &arguments, &none, other.call_priv[1], &other);
}

static struct side_event_description *batch[] = {&plain, NULL, &variadic, &own, &unknown};

static void test_calls(void **unused)
{
	struct side_event_description *event, *event_variadic;

	(void)unused;
	assert_false(agent_instance_is_known((const void *)(uintptr_t)other_key));
	assert_int_equal(agent_instance_add("/far/libside.so", &functions), 0);
	assert_true(agent_instance_is_known((const void *)(uintptr_t)other_key));
	assert_non_null(other.notify);
	other.notify(SIDE_TRACER_NOTIFICATION_INSERT_EVENTS, batch, 5, other.priv);
	assert_int_equal(other.nr_registered, 2);
	event = passed_on("plain");
	event_variadic = passed_on("variadic");
	assert_non_null(event);
	assert_non_null(event_variadic);
	assert_null(passed_on("own"));
	assert_int_equal(event->attributes.length, 2);
	assert_ptr_equal(side_ptr_get(event->fields.elements), side_ptr_get(plain.fields.elements));
	/* No tracer wants it. */
	call_other(1);
	assert_int_equal(called.nr, 0);
	assert_int_equal(side_tracer_callback_register(event, called_plain, NULL, 0), 0);
	assert_int_equal(side_tracer_callback_variadic_register(
					 event_variadic, called_variadic, NULL, 0),
			0);
	call_other(17);
	assert_int_equal(called.nr, 2);
	assert_true(called.is_variadic);
	assert_ptr_equal(called.event, event_variadic);
	assert_ptr_equal(called.caller, &other);
	assert_int_equal(called.x, 17);
	assert_int_equal(side_tracer_callback_variadic_unregister(
					 event_variadic, called_variadic, NULL, 0),
			0);
	call_other(18);
	assert_int_equal(called.nr, 3);
	assert_ptr_equal(called.event, event);
	assert_ptr_equal(called.caller, &called);
}

static void test_removal(void **unused)
{
	(void)unused;
	errno = E2BIG;
	other.notify(SIDE_TRACER_NOTIFICATION_REMOVE_EVENTS, &batch[1], 1, other.priv);
	assert_int_equal(other.nr_registered, 2);
	other.notify(SIDE_TRACER_NOTIFICATION_REMOVE_EVENTS, batch, 5, other.priv);
	assert_int_equal(other.nr_registered, 0);
	assert_int_equal(errno, E2BIG);
	assert_null(passed_on("plain"));
	assert_null(passed_on("variadic"));
	/* Its memory stays for a while: a call that has begun may still reach it. */
	call_other(1);
	other.notify(SIDE_TRACER_NOTIFICATION_INSERT_EVENTS, batch, 5, other.priv);
	assert_non_null(passed_on("plain"));
	other.notify(SIDE_TRACER_NOTIFICATION_REMOVE_EVENTS, batch, 5, other.priv);
	/* Nothing to pass on. */
	other.notify(SIDE_TRACER_NOTIFICATION_INSERT_EVENTS, &batch[3], 2, other.priv);
	other.notify(SIDE_TRACER_NOTIFICATION_INSERT_EVENTS, NULL, 0, other.priv);
	assert_int_equal(other.nr_registered, 0);
}

static void test_attributes(void **unused)
{
	static struct side_attr attributes[ATTRIBUTES_MAX + 1];
	static struct side_event_description *one[] = {&plain};
	const struct side_attr *before = side_ptr_get(plain.attributes.elements);

	(void)unused;
	for (int i = 0; i <= ATTRIBUTES_MAX; i++)
		memcpy(&attributes[i], before, sizeof(*before));
	side_ptr_set(plain.attributes.elements, attributes);
	for (uint32_t nr = ATTRIBUTES_MAX; nr <= ATTRIBUTES_MAX + 1; nr++) {
		plain.attributes.length = nr;
		other.notify(SIDE_TRACER_NOTIFICATION_INSERT_EVENTS, one, 1, other.priv);
		assert_int_equal(other.nr_registered, 1);
		if (nr == ATTRIBUTES_MAX)
			assert_int_equal(passed_on("plain")->attributes.length, nr + 1);
		else
			assert_null(passed_on("plain"));
		other.notify(SIDE_TRACER_NOTIFICATION_REMOVE_EVENTS, one, 1, other.priv);
	}
	side_ptr_set(plain.attributes.elements, before);
	plain.attributes.length = 1;
}

static void test_others(void **unused)
{
	(void)unused;
	agent_instances_dump();
	assert_int_equal(other.nr_dumps, 1);
	agent_instances_sandbox(true);
	agent_instances_sandbox(true);
	agent_instances_sandbox(false);
	assert_int_equal(other.nr_sandboxes, 1);
}

static void test_copies(void **unused)
{
	static int (*const keys[])(uint64_t *) = {other_key_0, other_key_1, other_key_2,
			other_key_3, other_key_4, other_key_5, other_key_6, other_key_7,
			other_key_8, other_key_9, other_key_10, other_key_11, other_key_12,
			other_key_13};
	struct agent_instance_functions more = functions;

	(void)unused;
	/* The first copy once more. */
	other.notify = NULL;
	assert_int_equal(agent_instance_add("again", &functions), 0);
	assert_null(other.notify);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		more.request_key = keys[i];
		assert_int_equal(agent_instance_add("more", &more), 0);
		assert_int_equal(other_keys[i], 1);
	}
	/* The last one refuses, and has no functions of this implementation. */
	other.refuses = true;
	more.request_key = other_key_14;
	more.sandbox_begins = more.sandbox_failed = NULL;
	assert_int_equal(agent_instance_add("last", &more), -EIO);
	more.request_key = other_key_beyond;
	other.notify = NULL;
	assert_int_equal(agent_instance_add("beyond", &more), -ENOSPC);
	assert_null(other.notify);
	agent_instances_sandbox(true);
	assert_int_equal(other.nr_sandboxes, 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_calls),
			cmocka_unit_test(test_removal),
			cmocka_unit_test(test_attributes),
			cmocka_unit_test(test_others),
			cmocka_unit_test(test_copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
