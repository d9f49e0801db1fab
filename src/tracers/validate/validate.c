/* SPDX-License-Identifier: MIT */
/*
 * The validator: a tracer that records nothing, but checks descriptions and calls.
 *
 * It checks each description against the ABI when it is registered, and each call against the
 * description of its event, and prints mismatches to standard error. libside loads it if
 * SIDE_VALIDATE=1 is set. Nothing that the program passes is trusted: a description is read once,
 * without trusting its pointers (copy.h), and the memory of arguments is checked before it is read.
 * Functions (visitors) are called without a check.
 *
 * It is the guard of the process (<side/tracer-extensions.h>): events that cannot be read are
 * hidden from all tracers, and calls that lead to unreadable memory are passed to none.
 */
#include <errno.h>
#include <side/trace.h>
#include <side/tracer-extensions.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tracers/validate/copy.h"
#include "tracers/validate/memory.h"
#include "tracers/validate/report.h"
#include "abi/path.h"

static uint64_t validate_key;

/* ---- calls ---- */

/*
 * More elements than this in one call mean a wrong length; checking them all would take too long.
 */
#define PARTS_MAX (1u << 20)

/* For one call; further mismatches are reported once these are fixed. */
#define MISMATCHES_MAX 16u

struct validate_call {
	struct visit_error error;
	const struct side_event_description *desc;
	const void *caller;
	unsigned int mismatches;
	bool others; /* another tracer listens */
	/*
	 * The call may crash a tracer that trusts it: memory is unreadable, or the check did not
	 * reach the end. A top-level value of a wrong type is neither.
	 */
	bool deadly;
};

/*
 * Calls of this process that were passed to no tracer. The upper half is the process id, because a
 * child of fork() starts at 0.
 */
static uint64_t dropped;

static bool validate_is_readable(void *priv, const void *address, size_t size)
{
	(void)priv;
	return validate_memory_readable(address, size);
}

static bool validate_is_text(void *priv, const void *text, unsigned int unit_size)
{
	(void)priv;
	return validate_memory_text(text, unit_size);
}

/* True for a top-level value of a wrong type: every tracer detects that by its label. */
static bool validate_is_harmless(
		const struct visit_location *location, int code, const struct visit_error *error)
{
	unsigned int label =
			location->type ? side_enum_get(location->type->type) : _NR_SIDE_TYPE_LABEL;

	return code == -EINVAL && !location->depth && !location->dynamic &&
			label <= SIDE_TYPE_STRING_UTF32 && error->expected[0];
}

static void validate_report(struct validate_call *call, int code)
{
	validate_report_call(
			call->desc, call->caller, call->deadly && call->others, code, &call->error);
}

/* Report a mismatch. Returns 0 to check the remaining fields too, unless the values have no end. */
static int validate_report_wrong(void *priv, const struct visit_location *location, int code)
{
	struct validate_call *call = priv;

	if (code == -E2BIG || code == -ELOOP || ++call->mismatches >= MISMATCHES_MAX)
		return code;
	if (!validate_is_harmless(location, code, &call->error))
		call->deadly = true;
	validate_report(call, code);
	return 0;
}

static const struct visit_argument_ops ops = {
		.readable = validate_is_readable,
		.readable_text = validate_is_text,
		.wrong = validate_report_wrong,
		.parts_max = PARTS_MAX,
		.exact = true,
};

static void validate_count_dropped(void)
{
	uint64_t process = (uint64_t)(uint32_t)getpid() << 32, before, after;

	before = __atomic_load_n(&dropped, __ATOMIC_RELAXED);
	/* Relaxed: the number orders no other accesses. */
	do
		after = (before >> 32 << 32 == process ? before : process) + 1;
	while (!__atomic_compare_exchange_n(
			&dropped, &before, after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

/* Set the error for a variadic call of a non-variadic event, or the reverse. */
static int validate_wrong_function_type(struct validate_call *call, bool variadic)
{
	static const char *const names[] = {"side_event()", "side_event_variadic()"};
	struct visit_error *error = &call->error;

	(void)snprintf(error->what, sizeof(error->what), "%s",
			variadic ? "a variadic call of a non-variadic event"
				 : "a non-variadic call of a variadic event");
	(void)snprintf(error->hint, sizeof(error->hint), "call %s, or define the event as %s",
			names[!variadic], variadic ? "a variadic one" : "a non-variadic one");
	(void)snprintf(error->where, sizeof(error->where), "%.80s:%.80s",
			side_ptr_get(call->desc->provider_name),
			side_ptr_get(call->desc->event_name));
	(void)snprintf(error->expected, sizeof(error->expected), "%s", names[!variadic]);
	(void)snprintf(error->found, sizeof(error->found), "%s", names[variadic]);
	return -EINVAL;
}

/* Check a call. Returns true if it may be passed to other tracers. */
static bool validate_check_arguments(const struct validate_copy *copy,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *variadic,
		const void *caller, bool others)
{
	struct validate_call call = {.desc = copy->owned->desc, .caller = caller, .others = others};
	int ret;

	if (!!(call.desc->flags & SIDE_EVENT_FLAG_VARIADIC) != !!variadic)
		ret = validate_wrong_function_type(&call, variadic);
	else
		ret = visit_arguments(call.desc, args, variadic, &ops, &call, &call.error);
	if (ret) {
		call.deadly = true;
		validate_report(&call, ret);
	}
	if (call.deadly && others)
		validate_count_dropped();
	return !call.deadly;
}

/* Called only if no other tracer listens. */
static void validate_on_event(const struct side_event_description *desc,
		const struct side_arg_vec *args, void *priv, void *caller)
{
	(void)desc;
	(void)validate_check_arguments(priv, args, NULL, caller, false);
}

static void validate_on_variadic_event(const struct side_event_description *desc,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *variadic,
		void *priv, void *caller)
{
	(void)desc;
	(void)validate_check_arguments(priv, args, variadic, caller, false);
}

static bool validate_may_pass(const struct side_event_description *desc,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *variadic,
		void *priv, void *caller, bool others)
{
	(void)desc;
	return validate_check_arguments(priv, args, variadic, caller, others);
}

/* ---- descriptions ---- */

/* More events than this in one call of side_events_register() mean a wrong length. */
#define EVENTS_MAX (1u << 20)

/* For one description; further findings are reported once these are fixed. */
#define FINDINGS_MAX 32u

__attribute__((format(printf, 2, 3))) static void validate_set_error(
		struct visit_error *error, const char *format, ...)
{
	va_list args;

	memset(error, 0, sizeof(*error));
	va_start(args, format);
	visit_error_format(error, format, args);
	va_end(args);
}

/* Check the parts of a description that its copy does not contain. */
static int validate_check_state(
		const struct side_event_description *desc, struct visit_error *error)
{
	const struct side_event_state_0 *state = (const void *)side_ptr_get(desc->state);
	const struct side_event_description *owner;

	if (!state || (uintptr_t)state % _Alignof(struct side_event_state_0) ||
			!validate_memory_readable(state, sizeof(*state))) {
		validate_set_error(error,
				"the state is missing, misaligned or unreadable\n"
				"give the event a struct side_event_state_0");
		return -EFAULT;
	}
	if (state->parent.version != SIDE_EVENT_STATE_ABI_VERSION) {
		validate_set_error(error,
				"the state has version %u, only %d is known\nuse a newer libside",
				state->parent.version, SIDE_EVENT_STATE_ABI_VERSION);
		return -ENOTSUP;
	}
	owner = state->desc;
	if (owner != desc) {
		validate_set_error(error,
				"the state is that of another description, at %p\n"
				"give each event a state of its own",
				(const void *)owner);
		return -EINVAL;
	}
	if (!validate_memory_readable(state->callbacks, 2 * sizeof(void *))) {
		validate_set_error(error,
				"the state's list of callbacks is at %p\n"
				"let it begin with &side_empty_callback",
				(const void *)state->callbacks);
		return -EFAULT;
	}
	return 0;
}

struct findings {
	const struct side_event_description *desc;
	unsigned int nr;
};

static void validate_report_finding(void *priv, enum visit_severity severity,
		const struct visit_node *node, const struct visit_error *error)
{
	struct findings *findings = priv;

	(void)node;
	/* Remarks are for developers; a user cannot fix them. */
	if (severity != VISIT_REMARK && findings->nr++ < FINDINGS_MAX)
		validate_report_description(findings->desc,
				severity == VISIT_ERROR ? VALIDATE_WRONG : VALIDATE_DOUBTED,
				-EINVAL, error);
}

/*
 * Report a visitor without a function. Not part of the common lint, because descriptions in files
 * have no functions.
 */
static int validate_report_no_function(void *priv, const struct visit_node *node)
{
	const struct visit_node *field = node;
	struct visit_error error;

	if (side_enum_get(node->type->type) != SIDE_TYPE_VLA_VISITOR ||
			side_ptr_get(side_ptr_get(node->type->u.side_vla_visitor)->visitor))
		return 0;
	while (field->up)
		field = field->up;
	validate_set_error(&error,
			"the function of a VLA visitor is NULL\n"
			"set its member visitor");
	(void)snprintf(error.where, sizeof(error.where), "\nfield: \"%.60s\"", field->name);
	validate_report_finding(priv, VISIT_ERROR, node, &error);
	return 0;
}

/* Report findings that do not prevent reading the description. */
static void validate_report_findings(
		const struct side_event_description *desc, const struct validate_copy *copy)
{
	static const struct visit_description_ops functions = {
			.type_begin = validate_report_no_function};
	struct findings findings = {.desc = desc};
	struct visit_error error;

	visit_description_lint(
			copy->owned->desc, sizeof(void *), validate_report_finding, &findings);
	if (desc->struct_size != sizeof(*desc)) {
		validate_set_error(&error,
				"the description has %u bytes, not %zu: it is newer, or damaged\n"
				"set struct_size to the offset of its member end",
				desc->struct_size, sizeof(*desc));
		validate_report_finding(&findings, VISIT_WARNING, NULL, &error);
	}
	if (copy->nr_visitors)
		(void)visit_description(copy->owned->desc, &functions, &findings, NULL);
}

/*
 * True if a tracer that trusts the description could read unreadable memory. A walk that ended at
 * its budget may have passed it.
 */
static bool validate_is_deadly(int code)
{
	return code == -EFAULT || code == -E2BIG || code == -ELOOP;
}

/*
 * Returns the copy, or NULL if the event cannot be used; this is reported once, when tracers would
 * be notified.
 */
static const struct validate_copy *validate_usable_copy(
		const struct side_event_description *desc, bool is_reported, int *ret_status)
{
	const struct validate_copy *copy;
	struct visit_error error;

	*ret_status = validate_copy_get(desc, &copy, &error);
	if (!*ret_status)
		*ret_status = validate_check_state(desc, &error);
	if (!*ret_status)
		return copy;
	if (is_reported)
		validate_report_description(desc,
				validate_is_deadly(*ret_status) ? VALIDATE_HIDDEN : VALIDATE_UNUSED,
				*ret_status, &error);
	return NULL;
}

static bool validate_hide_unreadable(struct side_event_description **events, uint32_t nr_events,
		struct side_event_description *desc)
{
	const struct validate_copy *copy;
	struct visit_error error;
	int code;

	if (!desc) {
		if (nr_events <= EVENTS_MAX &&
				validate_memory_readable(events, nr_events * sizeof(*events)))
			return true;
		validate_set_error(&error,
				"the list of %u events at %p is not completely readable\npass the number of events that the list has",
				nr_events, (void *)events);
		validate_report_description(NULL, VALIDATE_HIDDEN, -EFAULT, &error);
		return false;
	}
	copy = validate_usable_copy(desc, true, &code);
	if (copy)
		validate_report_findings(desc, copy);
	return copy || !validate_is_deadly(code);
}

static void validate_insert_event(struct side_event_description *desc)
{
	int code;
	const struct validate_copy *copy = validate_usable_copy(desc, false, &code);
	void *priv = (void *)(uintptr_t)copy;

	if (!copy)
		return;
	if (copy->owned->desc->flags & SIDE_EVENT_FLAG_VARIADIC)
		(void)side_tracer_callback_variadic_register(
				desc, validate_on_variadic_event, priv, validate_key);
	else
		(void)side_tracer_callback_register(desc, validate_on_event, priv, validate_key);
}

/* libside itself drops the callbacks of removed events. */
static void validate_on_batch(enum side_tracer_notification notification,
		struct side_event_description **events, uint32_t nr_events, void *priv)
{
	uint32_t i;

	(void)priv;
	for (i = 0; i < nr_events; i++) {
		/* Linkers, programs and validate_hide_unreadable() may leave NULL entries. */
		if (events[i] && notification == SIDE_TRACER_NOTIFICATION_INSERT_EVENTS)
			validate_insert_event(events[i]);
	}
}

static __attribute__((constructor)) void validate_init(void)
{
	static const struct side_tracer_guard guard = {.call = validate_on_event,
			.call_variadic = validate_on_variadic_event,
			.passes = validate_may_pass,
			.shows = validate_hide_unreadable};

	side_tracer_bind();
	if (side_tracer_request_key(&validate_key) == SIDE_ERROR_OK &&
			side_tracer_guard(&guard) == SIDE_ERROR_OK)
		(void)side_tracer_event_notification_register(validate_on_batch, NULL);
}

/* Only reports: later calls of destructors and of running threads are still checked. */
static __attribute__((destructor)) void validate_exit(void)
{
	uint64_t nr = __atomic_load_n(&dropped, __ATOMIC_RELAXED);

	if (nr >> 32 == (uint32_t)getpid())
		validate_report_dropped((uint32_t)nr);
}
