/* SPDX-License-Identifier: MIT */
/*
 * Implement `enable-event --pid` for sites that the kernel watches (kernel.h), in a session of the
 * daemon.
 */
#include "programs/common/ask.h"
#include "programs/common/command.h"
#include "enable.h"
#include "global.h"
#include "programs/common/message.h"

#include <json-c/json.h>
#include <string.h>
#include <unistd.h>

/* Contexts that a session requests for a channel apply to all events of the channel. */
static bool has_contexts(struct json_object *definition)
{
	struct json_object *channels = ask_list(definition, "channels");

	for (size_t i = 0; channels && i < json_object_array_length(channels); i++) {
		struct json_object *contexts =
				ask_list(json_object_array_get_idx(channels, i), "context");

		if (contexts && json_object_array_length(contexts))
			return true;
	}
	return false;
}

/* Whether the session already has a probe of that name for this process, at any location. */
static bool has_former(struct json_object *definition, pid_t pid, const char *name)
{
	struct json_object *probes = ask_list(definition, "probes");

	for (size_t i = 0; probes && i < json_object_array_length(probes); i++) {
		struct json_object *probe = json_object_array_get_idx(probes, i),
				   *events = ask_list(probe, "event");

		if (ask_number(probe, "pid") == (uint64_t)pid && events &&
				json_object_array_length(events) &&
				!strcmp(json_object_get_string(
							json_object_array_get_idx(events, 0)),
						name))
			return true;
	}
	return false;
}

/* Query the session before the probe is added to it. */
static int probe_enable_kernel_query_session(struct ask *ask, const char *session, pid_t pid,
		const char *name, bool *ret_contexts, bool *ret_former)
{
	struct json_object *answer, *sessions;
	int status = ask_call(ask, control_request("status", session), ASK_TIMEOUT_MS, &answer);

	if (status)
		return status;
	sessions = ask_list(answer, "sessions");
	for (size_t i = 0; sessions && i < json_object_array_length(sessions); i++) {
		struct json_object *one = json_object_array_get_idx(sessions, i), *definition;

		if (!json_object_object_get_ex(one, "definition", &definition))
			definition = one;
		*ret_contexts |= has_contexts(definition);
		*ret_former |= has_former(definition, pid, name);
	}
	json_object_put(answer);
	return COMMAND_DONE;
}

static const char *probe_enable_kernel_get_filter(const struct enabling *enabling)
{
	const struct option_uses *asked = &enabling->options->asked;

	for (size_t i = 0; i < asked->count && !enabling->filter; i++)
		if (!strcmp(asked->items[i].option->name, "filter"))
			return asked->items[i].text;
	return enabling->filter;
}

/*
 * Get the name of the table's first event, which is the probe's, and whether the kernel could watch
 * any of its sites.
 */
static int probe_enable_kernel_get_name(int table, char name[600], bool *ret_kernel)
{
	struct probe_table_event event;
	struct probe_table_view view;
	int status = probe_table_view_open(table, &view);

	*name = 0;
	if (status)
		return status;
	*ret_kernel = probe_kernel_has_sites(&view.table);
	if (probe_table_nr_events(&view.table)) {
		probe_table_event(&view.table, 0, &event);
		snprintf(name, 600, "%.250s:%.300s", event.provider, event.name);
	}
	probe_table_view_close(&view);
	return COMMAND_DONE;
}

/*
 * End the side-uprobes of a former probe with this name. It would occupy the sites, or be
 * considered part of the new probe, even if the new one is elsewhere and the kernel watches none of
 * its sites.
 */
static int end_former(const struct enabling *enabling, const struct ask *ask, const char *session,
		const char *name)
{
	char **args = NULL;
	int status;

	if (!*name || !probe_kernel_is_permitted())
		return COMMAND_DONE;
	status = probe_kernel_args(enabling->target.pid, NULL, 0, &args);
	if (!status && !probe_global_add(&args, "--end", name))
		status = message_error(COMMAND_FAILED, NULL, "out of memory");
	if (!status)
		status = probe_global_start(&args, session, ask->system);
	probe_global_free(args);
	return status;
}

int probe_enable_choose(struct enabling *enabling, struct ask *ask, const struct spec_options *spec,
		const char *session)
{
	bool contexts = false, former = false, kernel = false;
	char name[600];
	int status;

	enabling->kernel = (struct probe_kernel){.table = -1, .others = -1};
	if (!enabling->target.pid)
		return COMMAND_DONE;
	for (size_t i = 0; i < enabling->contexts.count; i++)
		contexts |= !resolve_is_context(enabling->contexts.items[i]);
	status = probe_enable_kernel_get_name(enabling->table, name, &kernel);
	if (!status)
		status = probe_enable_kernel_query_session(
				ask, session, enabling->target.pid, name, &contexts, &former);
	/* The side-uprobes of a probe that was just disabled may not have ended yet. */
	if (!status && (former || kernel))
		status = end_former(enabling, ask, session, name);
	if (!status)
		status = probe_kernel_choose(&enabling->target,
				probe_kernel_refusal(spec->no_uprobe, contexts,
						probe_enable_kernel_get_filter(enabling)),
				&enabling->table, NULL, 0, &enabling->kernel);
	return status;
}

int probe_enable_watch(struct enabling *enabling, const struct ask *ask, const char *session)
{
	char **args = NULL;
	int status;

	if (enabling->kernel.table < 0)
		return COMMAND_DONE;
	status = probe_kernel_args(enabling->target.pid, &enabling->kernel.table, 1, &args);
	if (!status)
		status = probe_global_start(&args, session, ask->system);
	probe_global_free(args);
	close(enabling->kernel.table);
	enabling->kernel.table = -1;
	return status;
}
