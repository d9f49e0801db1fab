/* SPDX-License-Identifier: MIT */
/* Gets channels and adds rules for a request that changes a definition (definition-edit.h). */
#include "sessions/definition-edit.h"
#include "sessions/definition-memory.h"
#include "sessions/json.h"

#include <errno.h>
#include <string.h>

int change_get_channel_name(struct definition_edit *change, const char **ret_name)
{
	*ret_name = SESSION_CHANNEL_NAME;
	return json_text(change->request, "channel", ret_name, change->error);
}

int change_get_channel(struct definition_edit *change, struct definition_channel **ret_channel)
{
	const char *name;
	int ret = change_get_channel_name(change, &name);

	if (ret)
		return ret;
	*ret_channel = definition_find_channel(change->definition, name);
	if (*ret_channel)
		return 0;
	return error_set_kind(change->error, ERROR_NOT_FOUND, -ENOENT,
			"`side status` shows the channels of a session",
			"the session %s has no channel \"%.80s\"", change->definition->name, name);
}

int change_add_rule(struct definition_edit *change, struct definition_channel *channel)
{
	struct definition_rule *rule = definition_add_rule(channel);
	const char *filter = NULL;
	int ret;

	if (!rule)
		return error_set_no_memory(change->error);
	ret = json_get_strings(change->request, "event", &rule->patterns, change->error);
	if (!ret)
		ret = json_get_strings(
				change->request, "event-context", &rule->contexts, change->error);
	if (!ret)
		ret = json_text(change->request, "filter", &filter, change->error);
	if (!ret && filter) {
		rule->filter = strdup(filter);
		if (!rule->filter)
			ret = error_set_no_memory(change->error);
	}
	return ret;
}

int change_enable_rule(struct definition_edit *change, struct definition_channel **ret_channel)
{
	const char *name;
	int ret = change_get_channel_name(change, &name);

	if (ret)
		return ret;
	*ret_channel = definition_find_channel(change->definition, name);
	if (!*ret_channel && change->fixed && change->definition->nr_channels)
		return change_get_channel(change, ret_channel);
	if (!*ret_channel)
		*ret_channel = definition_add_channel(change->definition, name);
	return *ret_channel ? change_add_rule(change, *ret_channel)
			    : error_set_no_memory(change->error);
}
