/* SPDX-License-Identifier: MIT */
/* Parses the file "instance" of a folder of buffers, without trust in its content. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/ctf.h"
#include "protocol/context.h"
#include "protocol/protocol.h"
#include "recorder/core/channels.h"
#include "recorder/core/facts.h"
#include "recorder/core/instance.h"
#include "recorder/core/session.h"
#include "recorder/storage/found.h"

void found_ring_file(const char *channel, char name[SESSION_CHANNEL_NAME_MAX + 16])
{
	snprintf(name, SESSION_CHANNEL_NAME_MAX + 16, "%s.rings", channel);
}

void found_free(struct recovery_facts *found)
{
	uint32_t i;

	free(found->procname);
	free(found->exe);
	free(found->trace);
	for (i = 0; i < found->nr_channels; i++)
		channel_free(&found->channels[i]);
}

static bool found_copy_text(char **to, const char *value)
{
	if (*to)
		return false;
	*to = strdup(value);
	return *to;
}

/* Two channels with the same name would share one file. */
static bool found_parse_channel(struct recovery_facts *found, const char *name)
{
	struct channel *channel;
	uint32_t i;

	if (found->nr_channels == SESSION_CHANNELS_MAX || !channel_is_name(name))
		return false;
	for (i = 0; i < found->nr_channels; i++)
		if (!strcmp(found->channels[i].name, name))
			return false;
	channel = &found->channels[found->nr_channels++];
	channel->name = strdup(name);
	channel->contexts.specs = calloc(WIRE_CONTEXTS_MAX, sizeof(*channel->contexts.specs));
	return channel->name && channel->contexts.specs;
}

static bool found_parse_context(struct recovery_facts *found, const char *name)
{
	struct context_list *list;
	struct context_error error;

	if (!found->nr_channels)
		return false;
	list = &found->channels[found->nr_channels - 1].contexts;
	return list->nr < WIRE_CONTEXTS_MAX &&
			!context_parse(name, &list->specs[list->nr], &error) && ++list->nr;
}

static bool take_peer(struct recovery_facts *found, const char *value)
{
	unsigned int peer;

	if (found->has_peer ||
			sscanf(value, "%39s %u %" SCNu64 " %" SCNu64 " %u %u %u %u", found->boot,
					&peer, &found->start, &found->token, &found->uid,
					&found->gid, &found->control, &found->control_signal) != 8)
		return false;
	found->peer = (pid_t)peer;
	found->has_peer = found->peer > 0;
	return found->has_peer;
}

static bool take_numbers(
		struct recovery_facts *found, const char *word, const char *value, bool *ret_is_own)
{
	*ret_is_own = true;
	if (!strcmp(word, "clock")) {
		if (found->has_clock)
			return false;
		found->has_clock = facts_take_clock(value, &found->clock_kind, &found->clock);
		return found->has_clock;
	}
	if (!strcmp(word, "process")) {
		found->has_process = sscanf(value, "%u %u %u", &found->pid, &found->parent,
						     &found->number) == 3;
		return found->has_process && found->number < LIMIT_INSTANCES;
	}
	if (!strcmp(word, "begin"))
		return sscanf(value, "%" SCNu64, &found->begin) == 1;
	if (!strcmp(word, "peer"))
		return take_peer(found, value);
	if (!strcmp(word, "probes")) {
		found->takes_probes = sscanf(value, "%u %" SCNu64, &found->family,
						      &found->family_started) == 2;
		return found->takes_probes;
	}
	*ret_is_own = false;
	return false;
}

static bool found_parse_line(void *user, const char *word, char *value)
{
	struct recovery_facts *found = user;
	bool mine, taken = take_numbers(found, word, value, &mine);

	if (mine)
		return taken;
	if (!facts_unescape(value))
		return false;
	if (!strcmp(word, "procname"))
		return found_copy_text(&found->procname, value);
	if (!strcmp(word, "exe"))
		return found_copy_text(&found->exe, value);
	if (!strcmp(word, "trace"))
		return found_copy_text(&found->trace, value);
	if (!strcmp(word, "maker")) {
		found->by_agent = !strcmp(value, "agent");
		return found->by_agent;
	}
	if (!strcmp(word, "hostname")) {
		snprintf(found->hostname, sizeof(found->hostname), "%s", value);
		return true;
	}
	if (!strcmp(word, "channel"))
		return found_parse_channel(found, value);
	return !strcmp(word, "context") && found_parse_context(found, value);
}

static bool is_complete(const struct recovery_facts *found)
{
	return found->has_clock && found->has_process && found->procname && found->exe &&
			found->trace && found->nr_channels;
}

int found_read(int folder, struct recovery_facts *found, struct error *error)
{
	char *text = NULL;
	size_t size = 0;
	int ret = facts_read_file(folder, FOUND_FILE, FOUND_LIMIT, &text, &size);

	if (!text)
		ret = ret ? ret : -ENOMEM;
	if (ret)
		return error_set(error, ret, NULL, FOUND_FILE ": %s", strerror(-ret));
	errno = 0;
	if (!facts_parse(text, size, FOUND_FIRST_LINE, found_parse_line, found) ||
			!is_complete(found)) {
		ret = errno == ENOMEM ? -ENOMEM : -EINVAL;
		error_set(error, ret, NULL, FOUND_FILE ": %s",
				ret == -ENOMEM ? "out of memory"
					       : "it is not a file of `side record`");
	}
	free(text);
	return ret;
}

struct instance *found_instance(struct recovery_facts *found)
{
	struct channel *channels = calloc(found->nr_channels, sizeof(*channels));
	struct instance *instance;

	if (!channels)
		return NULL;
	memcpy(channels, found->channels, found->nr_channels * sizeof(*channels));
	instance = instance_allocate(found->procname, found->exe, channels, found->nr_channels);
	if (!instance || !instance->nr_channels) {
		free(channels);
		free(instance);
		return NULL;
	}
	instance->own_channels = channels;
	found->nr_channels = 0;
	instance->pid = found->pid;
	instance->peer = found->has_peer ? found->peer : (pid_t)found->pid;
	instance->parent = found->parent;
	instance->number = found->number;
	instance->begin_ticks = found->begin;
	return instance;
}
