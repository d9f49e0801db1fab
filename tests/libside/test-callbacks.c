/* SPDX-License-Identifier: MIT */
/* Registering and unregistering callbacks: results, order, arrays, the enabled word. */
#include "event.h"

#define ENABLED_SHARED ((uintptr_t)0xc0 << (sizeof(uintptr_t) * 8 - 8))

static char trail[64]; /* which callbacks ran, in order */

static void note(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	(void)desc;
	(void)args;
	(void)caller;
	strncat(trail, priv, sizeof(trail) - strlen(trail) - 1);
}

static void other(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	note(desc, args, priv, caller);
	strcat(trail, "'");
}

static void note_variadic(const struct side_event_description *desc,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *var,
		void *priv, void *caller)
{
	CHECK(var);
	note(desc, args, priv, caller);
}

static void expect_trail(struct test_event *event, const char *expected)
{
	struct side_arg_vec args = {.len = 0};

	trail[0] = '\0';
	side_call(&event->state.parent, &args);
	if (strcmp(trail, expected)) {
		fprintf(stderr, "callbacks ran as \"%s\", expected \"%s\"\n", trail, expected);
		abort();
	}
}

/* Every subset of four callbacks, by removal in every order: the array stays whole. */
static void test_removal_orders(void)
{
	static char names[4][2] = {"a", "b", "c", "d"};
	struct test_event event;
	int order[4], i, j;

	test_event_init(&event, "orders", 0);
	for (i = 0; i < 256; i++) {
		unsigned int seen = 0;

		for (j = 0; j < 4; j++) {
			order[j] = i >> (2 * j) & 3;
			seen |= 1U << order[j];
		}
		if (seen != 15)
			continue;
		for (j = 0; j < 4; j++)
			CHECK_EQUAL(side_tracer_callback_register(&event.desc, note, names[j], 0),
					SIDE_ERROR_OK);
		expect_trail(&event, "abcd");
		for (j = 0; j < 4; j++) {
			char expected[5] = "";
			int k, l;

			CHECK_EQUAL(event.state.nr_callbacks, 4 - j);
			CHECK_EQUAL(event.state.enabled, 1);
			CHECK_EQUAL(side_tracer_callback_unregister(
						    &event.desc, note, names[order[j]], 0),
					SIDE_ERROR_OK);
			for (k = 0; k < 4; k++) {
				for (l = 0; l <= j && order[l] != k; l++)
					;
				if (l > j)
					strcat(expected, names[k]);
			}
			expect_trail(&event, expected);
		}
		CHECK_EQUAL(event.state.nr_callbacks, 0);
		CHECK_EQUAL(event.state.enabled, 0);
	}
}

static void test_many(void)
{
	static char dot[] = ".";
	struct test_event event;
	uint64_t key;

	test_event_init(&event, "many", 0);
	for (key = 8; key < 1008; key++)
		CHECK_EQUAL(side_tracer_callback_register(&event.desc, note, dot, key),
				SIDE_ERROR_OK);
	CHECK_EQUAL(event.state.nr_callbacks, 1000);
	for (key = 8; key < 1008; key++)
		CHECK_EQUAL(side_tracer_callback_unregister_async(&event.desc, note, dot, key),
				SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_synchronize(), SIDE_ERROR_OK);
	expect_trail(&event, "");
}

/* A callback is identified by function, private pointer and key. */
static void test_identity(void)
{
	static char a[] = "a", b[] = "b";
	struct test_event event;

	test_event_init(&event, "identity", 0);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, note, a, 0), SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, note, a, 0), SIDE_ERROR_EXIST);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, note, a, 8), SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, note, a, 1015), SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, note, b, 0), SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, other, a, 0), SIDE_ERROR_OK);
	expect_trail(&event, "aaaba'");
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, other, b, 0), SIDE_ERROR_NOENT);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, note, a, 9), SIDE_ERROR_NOENT);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, note, a, 8), SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, note, a, 8), SIDE_ERROR_NOENT);
	expect_trail(&event, "aaba'");
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, note, a, 0), SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, note, b, 0), SIDE_ERROR_OK);
	expect_trail(&event, "aa'");
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, note, a, 1015), SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, other, a, 0), SIDE_ERROR_OK);
}

static void check_refused(struct side_event_description *desc, uint64_t key)
{
	CHECK_EQUAL(side_tracer_callback_register(desc, note, NULL, key), SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_tracer_callback_unregister(desc, note, NULL, key), SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_tracer_callback_unregister_async(desc, note, NULL, key), SIDE_ERROR_INVAL);
}

static void check_refused_variadic(struct side_event_description *desc, uint64_t key)
{
	CHECK_EQUAL(side_tracer_callback_variadic_register(desc, note_variadic, NULL, key),
			SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_tracer_callback_variadic_unregister(desc, note_variadic, NULL, key),
			SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_tracer_callback_variadic_unregister_async(desc, note_variadic, NULL, key),
			SIDE_ERROR_INVAL);
}

static void test_refusals(void)
{
	struct test_event event;
	uint64_t key;

	test_event_init(&event, "refused", 0);
	check_refused_variadic(&event.desc, 0);
	check_refused(NULL, 0);
	check_refused_variadic(NULL, 0);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, NULL, NULL, 0), SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, NULL, NULL, 0), SIDE_ERROR_INVAL);
	for (key = 1; key <= 7; key++)
		check_refused(&event.desc, key);

	test_event_init(&event, "refused", SIDE_EVENT_FLAG_VARIADIC);
	check_refused(&event.desc, 0);
	CHECK_EQUAL(side_tracer_callback_variadic_register(&event.desc, NULL, NULL, 0),
			SIDE_ERROR_INVAL);
	for (key = 1; key <= 7; key++)
		check_refused_variadic(&event.desc, key);

	/* An unknown version, a short structure, no state. */
	test_event_init(&event, "refused", 0);
	event.desc.version = 1;
	check_refused(&event.desc, 0);
	test_event_init(&event, "refused", 0);
	event.state.parent.version = 1;
	check_refused(&event.desc, 0);
	test_event_init(&event, "refused", 0);
	event.desc.struct_size = 111;
	check_refused(&event.desc, 0);
	test_event_init(&event, "refused", 0);
	side_ptr_set(event.desc.state, NULL);
	check_refused(&event.desc, 0);
	CHECK_EQUAL(event.state.enabled, 0);

	/* A longer structure is accepted: it may have new members. */
	test_event_init(&event, "accepted", 0);
	event.desc.struct_size = 200;
	event.desc.nr_side_type_label = 60;
	event.desc.flags = (uint64_t)1 << 40;
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, note, NULL, 0), SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, note, NULL, 0), SIDE_ERROR_OK);

	test_event_init(&event, "full", 0);
	event.state.nr_callbacks = UINT32_MAX;
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, note, NULL, 0), SIDE_ERROR_INVAL);
}

static void test_variadic(void)
{
	static char a[] = "a", b[] = "b";
	struct test_event event;

	test_event_init(&event, "variadic", SIDE_EVENT_FLAG_VARIADIC);
	CHECK_EQUAL(side_tracer_callback_variadic_register(&event.desc, note_variadic, a, 0),
			SIDE_ERROR_OK);
	trail[0] = '\0';
	test_event_emit_variadic(&event);
	CHECK(!strcmp(trail, "a"));
	CHECK_EQUAL(side_tracer_callback_variadic_register(&event.desc, note_variadic, b, 0),
			SIDE_ERROR_OK);
	trail[0] = '\0';
	test_event_emit_variadic(&event);
	CHECK(!strcmp(trail, "ab"));
	/* A function for the other kind of call. */
	expect_trail(&event, "");
	CHECK_EQUAL(side_tracer_callback_variadic_unregister(&event.desc, note_variadic, a, 0),
			SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_callback_variadic_unregister(&event.desc, note_variadic, b, 0),
			SIDE_ERROR_OK);
	CHECK_EQUAL(event.state.enabled, 0);
}

/* The library counts itself once; all other bits and counts belong to other tracers. */
static void test_enabled_word(void)
{
	static char a[] = "a", b[] = "b";
	struct test_event event;

	test_event_init(&event, "enabled", 0);
	event.state.enabled = ENABLED_SHARED | 5;
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, note, a, 0), SIDE_ERROR_OK);
	CHECK(event.state.enabled == (ENABLED_SHARED | 6));
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, note, b, 0), SIDE_ERROR_OK);
	CHECK(event.state.enabled == (ENABLED_SHARED | 6));
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, note, a, 0), SIDE_ERROR_OK);
	CHECK(event.state.enabled == (ENABLED_SHARED | 6));
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, note, b, 0), SIDE_ERROR_OK);
	CHECK(event.state.enabled == (ENABLED_SHARED | 5));
}

/* Try all functions that would register a callback with it. */
static void check_unknown(uint64_t key)
{
	struct test_event event, variadic;

	test_event_init(&event, "unknown", 0);
	test_event_init(&variadic, "unknown_variadic", SIDE_EVENT_FLAG_VARIADIC);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, note, NULL, key), SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_tracer_callback_variadic_register(
				    &variadic.desc, note_variadic, NULL, key),
			SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_tracer_callback_replace(&event.desc, note, NULL, other, NULL, key),
			SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, note, NULL, key),
			SIDE_ERROR_NOENT);
	CHECK_EQUAL(side_tracer_statedump_request(key), SIDE_ERROR_INVAL);
	CHECK(!side_tracer_statedump_request_try(key));
	CHECK_EQUAL(event.state.enabled, 0);
	CHECK_EQUAL(event.state.nr_callbacks, 0);
}

static void test_keys(void)
{
	uint64_t first, second;

	/* No key was returned. */
	check_unknown(8);
	check_unknown(UINT64_MAX);

	CHECK_EQUAL(side_tracer_request_key(NULL), SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_tracer_request_key(&first), SIDE_ERROR_OK);
	CHECK_EQUAL(side_tracer_request_key(&second), SIDE_ERROR_OK);
	CHECK_EQUAL(first, 8);
	CHECK_EQUAL(second, 9);
	check_unknown(10);
	check_unknown(77);
}

int main(void)
{
	test_keys();
	test_take_keys(1015);
	test_removal_orders();
	test_many();
	test_identity();
	test_refusals();
	test_variadic();
	test_enabled_word();
	return 0;
}
