/* SPDX-License-Identifier: MIT */
/*
 * The validator: a tracer that records nothing. It compares each description with the ABI when it is
 * registered, and each call with the description of its event, and says on standard error what
 * does not fit. libside loads it when SIDE_VALIDATE=1 stands in the environment.
 *
 * Nothing that the program gives is trusted: a description is read as if it were foreign memory first
 * (visit/encode-memory.c), and what arguments point to is asked of the kernel before it is read.
 * Functions (visitors) are called as they are.
 */
#include <errno.h>
#include <side/trace.h>
#include <stdlib.h>
#include <string.h>

#include "validate/memory.h"
#include "validate/report.h"

static uint64_t validate_key;
static struct side_tracer_handle *validate_handle;

/* ---- calls ---- */

/* More elements than this in one call are a length gone wrong; nobody waits for their end. */
#define ELEMENTS_MAX (1u << 20)

struct call {
	struct visit_error error;
	uint32_t nr_elements;
};

/* What an operation has to say has no path: the event is better than nothing. */
static void fail(struct visit_error *error, const struct side_event_description *desc,
		const char *field, const char *what)
{
	memset(error, 0, sizeof(*error));
	(void)snprintf(error->what, sizeof(error->what), "%s", what);
	(void)snprintf(error->where, sizeof(error->where),
			field ? "%.80s:%.80s\nfield: \"%.60s\"" : "%.80s:%.80s",
			side_ptr_get(desc->provider_name), side_ptr_get(desc->event_name), field);
}

static int count_element(void *priv, const struct visit_place *place)
{
	struct call *call = priv;

	if (call->nr_elements++ < ELEMENTS_MAX)
		return 0;
	fail(&call->error, place->desc, place->name,
			"more than 1048576 elements: is the length right?");
	return -E2BIG;
}

static bool is_readable(void *priv, const void *address, size_t size)
{
	(void)priv;
	return validate_memory_readable(address, size);
}

/* Strings are what a value() may read further than it was asked for. */
static int check_value(void *priv, const struct visit_place *place, const struct visit_value *value,
		struct visit_attributes attributes)
{
	struct call *call = priv;

	(void)attributes;
	if (value->kind != VISIT_STRING || !value->text.at ||
			validate_memory_text(value->text.at, value->text.unit_size))
		return 0;
	fail(&call->error, place->desc, place->name, "the string cannot be read up to its end");
	return -EFAULT;
}

static const struct visit_argument_ops ops = {
		.value = check_value,
		.element_begin = count_element,
		.readable = is_readable,
};

static void check_call(const struct side_event_description *desc, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *variadic, const void *caller)
{
	struct call call;
	int ret;

	call.nr_elements = 0;
	ret = visit_arguments(desc, args, variadic, &ops, &call, &call.error);
	if (ret)
		validate_report_call(desc, caller, ret, &call.error);
}

static void on_event(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	(void)priv;
	check_call(desc, args, NULL, caller);
}

static void on_variadic_event(const struct side_event_description *desc,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *variadic,
		void *priv, void *caller)
{
	(void)priv;
	check_call(desc, args, variadic, caller);
}

/* ---- descriptions ---- */

/* Through the kernel, as a consumer reads another process. */
static int check_foreign(const struct side_event_description *desc, struct visit_error *error)
{
	static const struct visit_memory memory = {
			.read = validate_memory_read, .byte_order = SIDE_TYPE_BYTE_ORDER_HOST};
	struct visit_owned *owned;
	struct visit_buffer bytes;
	int ret;

	visit_buffer_heap(&bytes);
	ret = visit_description_read(&memory, (uintptr_t)desc, &bytes, error);
	if (!ret) {
		ret = visit_description_decode(bytes.data, bytes.size, &owned, error);
		if (!ret)
			visit_owned_free(owned);
	}
	visit_buffer_free(&bytes);
	return ret;
}

static int check_state(const struct side_event_description *desc, struct visit_error *error)
{
	const void *state = side_ptr_get(desc->state);

	if (!state || (uintptr_t)state % _Alignof(struct side_event_state_0) ||
			!validate_memory_readable(state, sizeof(struct side_event_state_0))) {
		fail(error, desc, NULL, "the state is missing, misaligned or unreadable");
		return -EFAULT;
	}
	return 0;
}

static bool description_is_usable(const struct side_event_description *desc)
{
	struct visit_error error;
	int ret = check_foreign(desc, &error);

	if (!ret)
		ret = check_state(desc, &error);
	if (ret) {
		validate_report_description(desc, false, ret, &error);
		return false;
	}
	/* It is all there, so it may be read as it is: what readers put up with, too. */
	ret = visit_description_check(desc, VISIT_CHECK_STRICT, &error);
	if (ret)
		validate_report_description(desc, true, ret, &error);
	return true;
}

static void insert_event(struct side_event_description *desc)
{
	if (!description_is_usable(desc))
		return;
	if (desc->flags & SIDE_EVENT_FLAG_VARIADIC)
		(void)side_tracer_callback_variadic_register(
				desc, on_variadic_event, NULL, validate_key);
	else
		(void)side_tracer_callback_register(desc, on_event, NULL, validate_key);
}

/* Fails for what insert_event() did not register, and that is all right. */
static void remove_event(struct side_event_description *desc)
{
	if (!validate_memory_readable(desc, sizeof(*desc)))
		return;
	if (desc->flags & SIDE_EVENT_FLAG_VARIADIC)
		(void)side_tracer_callback_variadic_unregister(
				desc, on_variadic_event, NULL, validate_key);
	else
		(void)side_tracer_callback_unregister(desc, on_event, NULL, validate_key);
}

static void on_batch(enum side_tracer_notification notification,
		struct side_event_description **events, uint32_t nr_events, void *priv)
{
	uint32_t i;

	(void)priv;
	for (i = 0; i < nr_events; i++) {
		/* Linkers and programs may leave holes. */
		if (!events[i])
			continue;
		if (notification == SIDE_TRACER_NOTIFICATION_INSERT_EVENTS)
			insert_event(events[i]);
		else
			remove_event(events[i]);
	}
}

__attribute__((constructor)) static void validate_init(void)
{
	if (side_tracer_request_key(&validate_key) != SIDE_ERROR_OK)
		return;
	validate_handle = side_tracer_event_notification_register(on_batch, NULL);
}

__attribute__((destructor)) static void validate_exit(void)
{
	if (validate_handle)
		side_tracer_event_notification_unregister(validate_handle);
}
