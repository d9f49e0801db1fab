/* SPDX-License-Identifier: MIT */
/*
 * Converts the options of channels, in the order of the command line, to the channels of a session.
 *
 * An option belongs to the --channel before it; options before the first one make the channel
 * `ring`. -e adds a pattern to a rule; --filter and --event-context complete the rule, and the next
 * -e begins another one. A filter before the first -e of a channel applies to all rules of the
 * channel.
 */
#include "programs/common/command.h"
#include "programs/common/message.h"
#include "analysis/where.h"
#include "programs/side/analysis/library-messages.h"

#include "recorder/core/session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct channel_args {
	const char **items;
	size_t count;
};

struct rule_arguments {
	struct channel_args patterns;
	struct channel_args contexts;
	const char *filter;
	char *joined_filter; /* conjunction of the channel's filter and of `filter` */
	bool is_complete;    /* the next -e begins another rule */
};

struct channel_arguments {
	struct session_channel channel;
	struct channel_args contexts;
	const char *filter; /* for all rules */
	struct rule_arguments *rules;
	size_t count;
	struct session_rule *session_rules;
	bool has_timeout;
};

struct channel_list {
	struct channel_arguments *channels;
	size_t count;
	bool symbols; /* add the rule for the agent's events to the first channel */
	struct session_channel *session_channels;
	bool has_symbols_channel; /* the last of session_channels */
};

static int channel_options_report_no_memory(void)
{
	message_error(COMMAND_FAILED, NULL, "cannot read the options: out of memory");
	return COMMAND_FAILED;
}

static int channel_options_add_arg(struct channel_args *args, const char *text)
{
	const char **items = realloc(args->items, (args->count + 1) * sizeof(*items));

	if (!items)
		return channel_options_report_no_memory();
	items[args->count++] = text;
	args->items = items;
	return COMMAND_DONE;
}

static int channel_options_add(struct channel_list *list, const char *name)
{
	struct channel_arguments *channels;

	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->channels[i].channel.name, name) != 0)
			continue;
		message_error(COMMAND_USAGE,
				"options before the first `--channel` define the channel " SESSION_CHANNEL_NAME
				"; each name can be used once",
				"there are two channels called `%s`", name);
		return COMMAND_USAGE;
	}
	channels = realloc(list->channels, (list->count + 1) * sizeof(*channels));
	if (!channels)
		return channel_options_report_no_memory();
	list->channels = channels;
	channels[list->count++] = (struct channel_arguments){.channel = {.name = name}};
	return COMMAND_DONE;
}

static struct rule_arguments *channel_options_last_rule(struct channel_arguments *channel)
{
	return channel->count ? &channel->rules[channel->count - 1] : NULL;
}

static int channel_options_add_pattern(struct channel_arguments *channel, const char *text)
{
	struct rule_arguments *rule = channel_options_last_rule(channel);

	if (!rule || rule->is_complete) {
		struct rule_arguments *rules =
				realloc(channel->rules, (channel->count + 1) * sizeof(*rules));

		if (!rules)
			return channel_options_report_no_memory();
		channel->rules = rules;
		rule = &rules[channel->count++];
		*rule = (struct rule_arguments){.filter = NULL};
	}
	return channel_options_add_arg(&rule->patterns, text);
}

static int channel_options_set_filter(struct channel_arguments *channel, const char *text)
{
	struct rule_arguments *rule = channel_options_last_rule(channel);
	const char **filter = rule ? &rule->filter : &channel->filter;

	if (*filter)
		return message_error(COMMAND_USAGE, "join them with `&&`",
				"cannot use two filters for the same events: `--filter %.128s` and `--filter %.128s`",
				*filter, text);
	*filter = text;
	if (rule)
		rule->is_complete = true;
	return COMMAND_DONE;
}

static int channel_options_add_event_context(struct channel_arguments *channel, const char *text)
{
	struct rule_arguments *rule = channel_options_last_rule(channel);

	if (!rule)
		return message_error(COMMAND_USAGE,
				"write it after the `-e` that it belongs to, or use `--context`",
				"there is no `-e` before `--event-context %.128s`", text);
	rule->is_complete = true;
	return channel_options_add_arg(&rule->contexts, text);
}

static int channel_options_set_threads(
		struct channel_arguments *channel, const struct option_use *use)
{
	channel->channel.per_thread = true;
	if (!use->text)
		return COMMAND_DONE;
	if (!use->number || use->number > SESSION_THREADS_MAX)
		return message_error(COMMAND_USAGE, NULL,
				"`--per-thread=%s`: the number of threads is between 1 and %d",
				use->text, SESSION_THREADS_MAX);
	channel->channel.threads_max = (uint32_t)use->number;
	return COMMAND_DONE;
}

static int channel_options_set_timeout(
		struct channel_arguments *channel, const struct option_use *use)
{
	uint64_t us = use->number / 1000;

	if (!us || us > SESSION_BLOCK_MAX_US)
		return message_error(COMMAND_USAGE, NULL,
				"`--block-timeout %s` is not between 1us and 60min", use->text);
	channel->channel.block_timeout_us = (uint32_t)us;
	channel->has_timeout = true;
	return COMMAND_DONE;
}

static int channel_options_parse(struct channel_list *list, const struct option_use *use)
{
	const char *name = use->option->name;
	struct channel_arguments *channel;
	int status;

	if (!strcmp(name, "channel"))
		return channel_options_add(list, use->text);
	if (!list->count) {
		status = channel_options_add(list, SESSION_CHANNEL_NAME);
		if (status)
			return status;
	}
	channel = &list->channels[list->count - 1];
	if (!strcmp(name, "event"))
		return channel_options_add_pattern(channel, use->text);
	if (!strcmp(name, "filter"))
		return channel_options_set_filter(channel, use->text);
	if (!strcmp(name, "context"))
		return channel_options_add_arg(&channel->contexts, use->text);
	if (!strcmp(name, "event-context"))
		return channel_options_add_event_context(channel, use->text);
	if (!strcmp(name, "mode"))
		channel->channel.mode = (enum session_channel_mode)use->choice;
	else if (!strcmp(name, "buffer-size"))
		channel->channel.ring_size = use->number;
	else if (!strcmp(name, "per-thread"))
		return channel_options_set_threads(channel, use);
	else if (!strcmp(name, "block-timeout"))
		return channel_options_set_timeout(channel, use);
	return COMMAND_DONE;
}

/* ---- conversion to the structs of a session ---- */

/*
 * Both filters must be true. Each was parsed alone before, so that an error message shows the text
 * of the user.
 */
static int channel_options_join_filters(struct rule_arguments *rule, const char *channel_filter)
{
	size_t size;

	if (!rule->filter) {
		rule->filter = channel_filter;
		return COMMAND_DONE;
	}
	if (!channel_filter)
		return COMMAND_DONE;
	size = strlen(rule->filter) + strlen(channel_filter) + 16;
	rule->joined_filter = malloc(size);
	if (!rule->joined_filter)
		return channel_options_report_no_memory();
	snprintf(rule->joined_filter, size, "(%s) && (%s)", channel_filter, rule->filter);
	return COMMAND_DONE;
}

static int channel_options_make_rules(struct channel_arguments *channel, bool symbols)
{
	size_t count = channel->count ? channel->count : 1;

	channel->session_rules = calloc(count + symbols, sizeof(*channel->session_rules));
	if (!channel->session_rules)
		return channel_options_report_no_memory();
	channel->channel.rules = channel->session_rules;
	channel->channel.nr_rules = count + symbols;
	if (symbols)
		channel->session_rules[count] = session_symbols_rule;
	if (!channel->count)
		channel->session_rules[0].filter = channel->filter;
	for (size_t i = 0; i < channel->count; i++) {
		struct rule_arguments *rule = &channel->rules[i];
		int status = channel_options_join_filters(rule, channel->filter);

		if (status)
			return status;
		channel->session_rules[i] = (struct session_rule){
				.patterns = rule->patterns.items,
				.nr_patterns = rule->patterns.count,
				.filter = rule->joined_filter ? rule->joined_filter : rule->filter,
				.contexts = rule->contexts.items,
				.nr_contexts = rule->contexts.count,
		};
	}
	return COMMAND_DONE;
}

static int channel_options_make(struct channel_list *list)
{
	/* Also for channel_list_add_symbols(), and for the channel of the kernel's events. */
	list->session_channels = calloc(list->count + 3, sizeof(*list->session_channels));
	if (!list->session_channels)
		return channel_options_report_no_memory();
	if (list->symbols && !list->count && channel_options_add(list, SESSION_CHANNEL_NAME))
		return COMMAND_FAILED;
	for (size_t i = 0; i < list->count; i++) {
		struct channel_arguments *channel = &list->channels[i];
		int status = channel_options_make_rules(channel, list->symbols && !i);

		if (status)
			return status;
		channel->channel.contexts = channel->contexts.items;
		channel->channel.nr_contexts = channel->contexts.count;
		if (channel->has_timeout && channel->channel.mode != SESSION_BLOCK)
			return message_error(COMMAND_USAGE, "write `--mode block`, or leave it out",
					"`--block-timeout` has no effect in the channel `%s`: its mode is not block",
					channel->channel.name);
		list->session_channels[i] = channel->channel;
	}
	return COMMAND_DONE;
}

static int channel_options_check_patterns(const struct channel_args *args)
{
	const struct text_list list = {.items = args->items, .count = args->count};
	struct pattern *patterns;
	int status = command_select(&list, &patterns);

	free(patterns);
	return status;
}

static int channel_options_check_filter(const char *text)
{
	struct where where;
	int status;

	if (!text)
		return COMMAND_DONE;
	status = command_parse_where("filter", text, &where);
	if (!status)
		where_free(&where);
	return status;
}

/*
 * Checks patterns and filters in the form in which the user wrote them, so that a message shows the
 * position of the error.
 */
static int channel_options_check_texts(const struct channel_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct channel_arguments *channel = &list->channels[i];
		int status = channel_options_check_filter(channel->filter);

		for (size_t k = 0; k < channel->count && !status; k++) {
			const struct rule_arguments *rule = &channel->rules[k];

			status = channel_options_check_patterns(&rule->patterns);
			if (!status)
				status = channel_options_check_filter(rule->filter);
		}
		if (status)
			return status;
	}
	return COMMAND_DONE;
}

int command_channels(const struct option_uses *uses, bool symbols, struct channel_list **ret_list)
{
	struct channel_list *list = calloc(1, sizeof(*list));
	int status = COMMAND_DONE;

	*ret_list = list;
	if (!list)
		return channel_options_report_no_memory();
	list->symbols = symbols;
	for (size_t i = 0; i < uses->count && !status; i++)
		status = channel_options_parse(list, &uses->items[i]);
	if (!status)
		status = channel_options_check_texts(list);
	if (!status)
		status = channel_options_make(list);
	return status;
}

void channel_list_add_symbols(struct channel_list *list)
{
	list->session_channels[list->count] = session_symbols_channel;
	list->has_symbols_channel = true;
}

const struct session_channel *channel_list_items(const struct channel_list *list, size_t *ret_count)
{
	*ret_count = list->count + list->has_symbols_channel;
	return list->session_channels;
}

void channel_list_free(struct channel_list *list)
{
	if (!list)
		return;
	for (size_t i = 0; i < list->count; i++) {
		struct channel_arguments *channel = &list->channels[i];

		for (size_t k = 0; k < channel->count; k++) {
			free(channel->rules[k].patterns.items);
			free(channel->rules[k].contexts.items);
			free(channel->rules[k].joined_filter);
		}
		free(channel->rules);
		free(channel->contexts.items);
		free(channel->session_rules);
	}
	free(list->channels);
	free(list->session_channels);
	free(list);
}
