/* SPDX-License-Identifier: MIT */
/*
 * The validator: a tracer that records nothing. It compares each description with the ABI when it is
 * registered, and each call with the description of its event, and says on standard error what
 * does not fit. libside loads it when SIDE_VALIDATE=1 stands in the environment.
 *
 * Nothing that the program gives is trusted: a description is read as if it were foreign memory, once
 * (copy.h), and what arguments point to is asked of the kernel before it is read.
 * Functions (visitors) are called as they are.
 */
#include <errno.h>
#include <side/trace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "validate/copy.h"
#include "validate/memory.h"
#include "validate/report.h"

static uint64_t validate_key;

/* ---- calls ---- */

/* More elements than this in one call are a length gone wrong; nobody waits for their end. */
#define PARTS_MAX (1u << 20)

/* Of one call; the rest follows when these are mended. */
#define MISMATCHES_MAX 16u

struct call {
	struct visit_error error;
	const struct side_event_description *desc;
	const void *caller;
	unsigned int mismatches;
};

static bool is_readable(void *priv, const void *address, size_t size)
{
	(void)priv;
	return validate_memory_readable(address, size);
}

static bool is_text(void *priv, const void *text, unsigned int unit_size)
{
	(void)priv;
	return validate_memory_text(text, unit_size);
}

/* The fields behind a wrong one are compared, too, unless it has no end. */
static int tell_wrong(void *priv, const struct visit_place *place, int code)
{
	struct call *call = priv;

	(void)place;
	if (code == -E2BIG || code == -ELOOP || ++call->mismatches >= MISMATCHES_MAX)
		return code;
	validate_report_call(call->desc, call->caller, code, &call->error);
	return 0;
}

static const struct visit_argument_ops ops = {
		.readable = is_readable,
		.readable_text = is_text,
		.wrong = tell_wrong,
		.parts_max = PARTS_MAX,
		.exact = true,
};

static void check_call(const struct validate_copy *copy, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *variadic, const void *caller)
{
	struct call call;
	int ret;

	call.desc = copy->owned->desc;
	call.caller = caller;
	call.mismatches = 0;
	ret = visit_arguments(call.desc, args, variadic, &ops, &call, &call.error);
	if (ret)
		validate_report_call(call.desc, caller, ret, &call.error);
}

static void on_event(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	(void)desc;
	check_call(priv, args, NULL, caller);
}

static void on_variadic_event(const struct side_event_description *desc,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *variadic,
		void *priv, void *caller)
{
	(void)desc;
	check_call(priv, args, variadic, caller);
}

/* ---- descriptions ---- */

/* The names are those of the copy: those of the description may have gone. */
static int check_state(const struct side_event_description *desc,
		const struct side_event_description *copy, struct visit_error *error)
{
	const void *state = side_ptr_get(desc->state);

	if (state && !((uintptr_t)state % _Alignof(struct side_event_state_0)) &&
			validate_memory_readable(state, sizeof(struct side_event_state_0)))
		return 0;
	memset(error, 0, sizeof(*error));
	(void)snprintf(error->what, sizeof(error->what),
			"the state is missing, misaligned or unreadable");
	(void)snprintf(error->where, sizeof(error->where), "%.80s:%.80s",
			side_ptr_get(copy->provider_name), side_ptr_get(copy->event_name));
	return -EFAULT;
}

static const struct validate_copy *usable_copy(const struct side_event_description *desc)
{
	const struct validate_copy *copy;
	struct visit_error error;
	int ret = validate_copy_get(desc, &copy, &error);

	if (!ret)
		ret = check_state(desc, copy->owned->desc, &error);
	if (ret) {
		validate_report_description(desc, false, ret, &error);
		return NULL;
	}
	/* What readers put up with, too. */
	ret = visit_description_check(copy->owned->desc, VISIT_CHECK_STRICT, &error);
	if (ret)
		validate_report_description(desc, true, ret, &error);
	return copy;
}

static void insert_event(struct side_event_description *desc)
{
	const struct validate_copy *copy = usable_copy(desc);
	void *priv = (void *)(uintptr_t)copy;

	if (!copy)
		return;
	if (copy->owned->desc->flags & SIDE_EVENT_FLAG_VARIADIC)
		(void)side_tracer_callback_variadic_register(
				desc, on_variadic_event, priv, validate_key);
	else
		(void)side_tracer_callback_register(desc, on_event, priv, validate_key);
}

/* What goes is dropped by libside. */
static void on_batch(enum side_tracer_notification notification,
		struct side_event_description **events, uint32_t nr_events, void *priv)
{
	uint32_t i;

	(void)priv;
	for (i = 0; i < nr_events; i++) {
		/* Linkers and programs may leave holes. */
		if (events[i] && notification == SIDE_TRACER_NOTIFICATION_INSERT_EVENTS)
			insert_event(events[i]);
	}
}

/* No destructor: calls of destructors and of threads that go on are compared, too. */
__attribute__((constructor)) static void validate_init(void)
{
	if (side_tracer_request_key(&validate_key) == SIDE_ERROR_OK)
		(void)side_tracer_event_notification_register(on_batch, NULL);
}
