/* SPDX-License-Identifier: MIT */
/* `enable-event --pid`: places that the kernel watches (probe-kernel.h), in a session of the daemon. */
#include "ask.h"
#include "command.h"
#include "probe-enable.h"
#include "probe-global.h"
#include "say.h"

#include <json-c/json.h>
#include <string.h>
#include <unistd.h>

static bool has_contexts(struct json_object *session)
{
	struct json_object *definition, *channels;

	if (!json_object_object_get_ex(session, "definition", &definition))
		definition = session;
	channels = ask_list(definition, "channels");
	for (size_t i = 0; channels && i < json_object_array_length(channels); i++) {
		struct json_object *contexts =
				ask_list(json_object_array_get_idx(channels, i), "context");

		if (contexts && json_object_array_length(contexts))
			return true;
	}
	return false;
}

/* Of a channel's all its events get. */
static int look_at_contexts(struct ask *ask, const char *session, bool *contexts)
{
	struct json_object *answer, *sessions;
	int status = ask_call(ask, control_request("status", session), ASK_PATIENCE_MS, &answer);

	if (status)
		return status;
	sessions = ask_list(answer, "sessions");
	for (size_t i = 0; sessions && i < json_object_array_length(sessions); i++)
		*contexts |= has_contexts(json_object_array_get_idx(sessions, i));
	json_object_put(answer);
	return COMMAND_DONE;
}

static const char *filter_of(const struct enabling *enabling)
{
	const struct option_uses *asked = &enabling->options->asked;

	for (size_t i = 0; i < asked->count && !enabling->filter; i++)
		if (!strcmp(asked->items[i].option->name, "filter"))
			return asked->items[i].text;
	return enabling->filter;
}

/* One that watches for a former probe of that name would be in the way, or find itself wanted again. */
static int end_former(const struct enabling *enabling, const struct ask *ask, const char *session)
{
	char **words = NULL, name[600] = "";
	struct probe_table_event event;
	struct probe_seen seen;
	int status = probe_see(enabling->table, &seen);
	bool none;

	if (status)
		return status;
	none = !probe_kernel_any(&seen.table) || !probe_table_nr_events(&seen.table);
	if (!none) {
		probe_table_event(&seen.table, 0, &event);
		snprintf(name, sizeof(name), "%.250s:%.300s", event.provider, event.name);
	}
	probe_unsee(&seen);
	if (none)
		return COMMAND_DONE;
	status = probe_kernel_words(enabling->target.pid, NULL, 0, &words);
	if (!status && !probe_global_add(&words, "--end", name))
		status = say_error(COMMAND_FAILED, NULL, "there is no memory");
	if (!status)
		status = probe_global_start(&words, session, ask->system);
	probe_global_free(words);
	return status;
}

int probe_enable_choose(struct enabling *enabling, struct ask *ask, const struct probe_wish *wish,
		const char *session)
{
	bool contexts = false;
	int status = COMMAND_DONE;

	enabling->kernel = (struct probe_kernel){.table = -1, .others = -1};
	if (!enabling->target.pid)
		return COMMAND_DONE;
	status = end_former(enabling, ask, session);
	for (size_t i = 0; i < enabling->contexts.count; i++)
		contexts |= !resolve_is_context(enabling->contexts.items[i]);
	if (!status && !contexts)
		status = look_at_contexts(ask, session, &contexts);
	if (!status)
		status = probe_kernel_choose(&enabling->target,
				probe_kernel_not(wish->no_uprobe, contexts, filter_of(enabling)),
				&enabling->table, &enabling->kernel);
	return status;
}

int probe_enable_watch(struct enabling *enabling, const struct ask *ask, const char *session)
{
	char **words = NULL;
	int status;

	if (enabling->kernel.table < 0)
		return COMMAND_DONE;
	status = probe_kernel_words(enabling->target.pid, &enabling->kernel.table, 1, &words);
	if (!status)
		status = probe_global_start(&words, session, ask->system);
	probe_global_free(words);
	close(enabling->kernel.table);
	enabling->kernel.table = -1;
	return status;
}
