/* SPDX-License-Identifier: MIT */
/*
 * The console tracer: preloaded or linked, it prints every event to standard output and errors of
 * events to standard error. It never stops the program.
 */
#include <side/trace.h>
#include <side/tracer-extensions.h>
#include <unistd.h>

#include "tracers/console/description.h"
#include "tracers/console/event.h"
#include "tracers/console/scalar.h"

#define DASHES "----------------------------------------------------------\n"

static uint64_t console_key;
static struct side_tracer_handle *console_handle;

static void console_on_event(const struct side_event_description *desc,
		const struct side_arg_vec *args, void *priv, void *caller_addr)
{
	(void)priv;
	(void)caller_addr;
	console_print_event(desc, args, NULL);
}

static void console_on_variadic_event(const struct side_event_description *desc,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *variadic,
		void *priv, void *caller_addr)
{
	(void)priv;
	(void)caller_addr;
	console_print_event(desc, args, variadic);
}

static void console_print_names(
		struct console_line *line, const struct side_event_description *desc)
{
	const char *provider = side_ptr_get(desc->provider_name);
	const char *event = side_ptr_get(desc->event_name);

	CONSOLE_PUT(line, "provider: ");
	console_put_name(line, provider ? provider : "(null)");
	CONSOLE_PUT(line, ", event: ");
	console_put_name(line, event ? event : "(null)");
	CONSOLE_PUT(line, "\n");
}

static void console_put_warnings(
		struct console_line *line, const struct side_event_description *desc)
{
	if (desc->struct_size !=
			side_offsetofend(struct side_event_description,
					side_event_description_orig_abi_last))
		visit_buffer_printf(&line->text,
				"Warning: the event description has %u bytes, the console tracer knows %zu\n",
				desc->struct_size,
				side_offsetofend(struct side_event_description,
						side_event_description_orig_abi_last));
	if (desc->nr_side_type_label > _NR_SIDE_TYPE_LABEL)
		visit_buffer_printf(&line->text,
				"Warning: the event may use %u type labels that the console tracer does not know\n",
				(unsigned int)desc->nr_side_type_label - _NR_SIDE_TYPE_LABEL);
	if (desc->nr_side_attr_type > _NR_SIDE_ATTR_TYPE)
		visit_buffer_printf(&line->text,
				"Warning: the event may use %u attribute types that the console tracer does not know\n",
				(unsigned int)desc->nr_side_attr_type - _NR_SIDE_ATTR_TYPE);
}

/*
 * Print and register one event. An event that cannot be parsed is reported and skipped; the others
 * of its batch are still registered.
 */
static void console_insert_event(struct console_line *line, struct side_event_description *desc)
{
	struct visit_error error;
	char sentence[1024];
	int ret;

	if (desc->version != SIDE_EVENT_DESCRIPTION_ABI_VERSION) {
		/* The other members may have another meaning in this version. */
		visit_buffer_printf(&line->text,
				"Error: an event description has version %u, the console tracer knows %u\n",
				desc->version, SIDE_EVENT_DESCRIPTION_ABI_VERSION);
		return;
	}
	console_print_names(line, desc);
	console_put_warnings(line, desc);
	if (visit_description_check(desc, 0, &error)) {
		visit_buffer_printf(&line->text, "Error: %s\n",
				visit_error_sentence(&error, sentence, sizeof(sentence)));
		return;
	}
	console_put_description(line, desc);
	if (desc->flags & SIDE_EVENT_FLAG_VARIADIC)
		ret = side_tracer_callback_variadic_register(
				desc, console_on_variadic_event, NULL, console_key);
	else
		ret = side_tracer_callback_register(desc, console_on_event, NULL, console_key);
	/* The event is already registered if two batches contain it. */
	if (ret != SIDE_ERROR_OK && ret != SIDE_ERROR_EXIST)
		visit_buffer_printf(&line->text, "Error: the event cannot be enabled (%d)\n", ret);
}

static void console_remove_event(struct console_line *line, struct side_event_description *desc)
{
	if (desc->version != SIDE_EVENT_DESCRIPTION_ABI_VERSION)
		return;
	console_print_names(line, desc);
	/* Fails for events that console_insert_event() did not register; that is harmless. */
	if (desc->flags & SIDE_EVENT_FLAG_VARIADIC)
		(void)side_tracer_callback_variadic_unregister(
				desc, console_on_variadic_event, NULL, console_key);
	else
		(void)side_tracer_callback_unregister(desc, console_on_event, NULL, console_key);
}

static void console_on_batch(enum side_tracer_notification notification,
		struct side_event_description **events, uint32_t nr_events, void *priv)
{
	bool is_insert = notification == SIDE_TRACER_NOTIFICATION_INSERT_EVENTS;
	struct console_line line;
	uint32_t i;

	(void)priv;
	console_line_begin(&line);
	CONSOLE_PUT(&line, DASHES "Tracer notified of events ");
	console_put_name(&line, is_insert ? "inserted\n" : "removed\n");
	for (i = 0; i < nr_events; i++) {
		/* Linkers and programs may leave NULL entries. */
		if (!events[i])
			continue;
		if (is_insert)
			console_insert_event(&line, events[i]);
		else
			console_remove_event(&line, events[i]);
	}
	CONSOLE_PUT(&line, DASHES);
	console_line_end(&line, STDOUT_FILENO);
}

__attribute__((constructor)) static void console_init(void)
{
	side_tracer_bind();
	if (side_tracer_request_key(&console_key) != SIDE_ERROR_OK)
		return;
	console_handle = side_tracer_event_notification_register(console_on_batch, NULL);
}

__attribute__((destructor)) static void console_exit(void)
{
	if (console_handle)
		side_tracer_event_notification_unregister(console_handle);
}
