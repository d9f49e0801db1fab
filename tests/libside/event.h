/* SPDX-License-Identifier: MIT */
/* Events of the tests, written by hand according to the ABI, independent of the macros. */
#ifndef TESTS_LIBSIDE_EVENT_H
#define TESTS_LIBSIDE_EVENT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <side/trace.h>
#include <side/tracer-extensions.h>

#include "../check.h"

#define CHECK_EQUAL(actual, expected)                                                             \
	do {                                                                                      \
		long long actual_ = (long long)(actual), expected_ = (long long)(expected);       \
		if (actual_ != expected_) {                                                       \
			fprintf(stderr, "%s:%d: %s is %lld, expected %lld\n", __FILE__, __LINE__, \
					#actual, actual_, expected_);                             \
			abort();                                                                  \
		}                                                                                 \
	} while (0)

/* The exported object is an array of bytes. */
extern const char side_empty_callback[];

/*
 * The library refuses keys that it has not returned. From here on, the keys up to this one belong
 * to the test.
 */
static inline void test_take_keys(uint64_t last)
{
	uint64_t key = 0;

	while (key < last)
		CHECK_EQUAL(side_tracer_request_key(&key), SIDE_ERROR_OK);
}

struct test_event {
	struct side_event_description desc;
	struct side_event_state_0 state;
};

/* Not const, and not in an array: the ABI forbids both, so each event is created separately. */
static inline void test_event_init(struct test_event *event, const char *name, uint64_t flags)
{
	*event = (struct test_event){
			.desc =
					{
							.struct_size = sizeof(event->desc),
							.provider_name = SIDE_PTR_INIT("test"),
							.event_name = SIDE_PTR_INIT(name),
							.flags = flags,
							.nr_side_type_label = _NR_SIDE_TYPE_LABEL,
							.nr_side_attr_type = _NR_SIDE_ATTR_TYPE,
							.loglevel = SIDE_ENUM_INIT(
									SIDE_LOGLEVEL_INFO),
					},
			.state =
					{
							.callbacks = (const struct
									side_callback *)(const void
											*)
									side_empty_callback,
							.desc = &event->desc,
					},
	};
	side_ptr_set(event->desc.state, &event->state.parent);
}

static inline struct test_event *test_event_new(const char *name, uint64_t flags)
{
	struct test_event *event = malloc(sizeof(*event));

	CHECK(event);
	test_event_init(event, name, flags);
	return event;
}

/* Does the same as a call site. */
static inline void test_event_emit(struct test_event *event)
{
	struct side_arg_vec args = {.len = 0};

	if (__atomic_load_n(&event->state.enabled, __ATOMIC_RELAXED))
		side_call(&event->state.parent, &args);
}

static inline void test_event_emit_variadic(struct test_event *event)
{
	struct side_arg_vec args = {.len = 0};
	struct side_arg_dynamic_struct var = {.len = 0};

	if (__atomic_load_n(&event->state.enabled, __ATOMIC_RELAXED))
		side_call_variadic(&event->state.parent, &args, &var);
}

static inline int test_is_long(void)
{
	const char *value = getenv("SIDE_TEST_LONG");

	return value && !strcmp(value, "1");
}

#endif /* TESTS_LIBSIDE_EVENT_H */
