/* SPDX-License-Identifier: MIT */
/*
 * Checks and parses the channels in the options before anything starts, so that a mistake is an
 * error of the command line.
 *
 * Each process checks the filter of a rule against its own events. The user needs to know whether a
 * filter can match at all. So the recorder checks each described event against the rules of its
 * channel. At the end it reports each rule whose filter was valid for none of its events.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/visit.h"
#include "base/error.h"
#include "filter/filter.h"
#include "protocol/context.h"
#include "protocol/pattern.h"
#include "protocol/protocol.h"
#include "recorder/core/channels.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/session-state.h"
#include "ring/ring.h"

static const char *const symbols_patterns[] = {"side:library_*", "side:statedump_*"};
const struct session_rule session_symbols_rule = {.patterns = symbols_patterns, .nr_patterns = 2};
/* About 1,000 libraries at once: such an event has about 250 bytes. */
const struct session_channel session_symbols_channel = {.name = "libraries",
		.ring_size = (uint64_t)256 << 10,
		.rules = &session_symbols_rule,
		.nr_rules = 1};

static const struct session_rule everything;
static const struct session_channel standard = {.name = SESSION_CHANNEL_NAME};

/* ---- contexts ---- */

void context_list_free(struct context_list *list)
{
	free(list->names);
	free(list->specs);
	*list = (struct context_list){0};
}

/* Joins the names of the specs, each with a terminating zero. */
static bool join_names(struct context_list *list)
{
	char *at;
	uint32_t i;

	for (i = 0; i < list->nr; i++)
		list->size += strlen(list->specs[i].name) + 1;
	list->names = at = malloc(list->size + 1);
	for (i = 0; at && i < list->nr; i++)
		at = stpcpy(at, list->specs[i].name) + 1;
	return list->names;
}

static bool has_context(const struct context_list *list, const struct context_spec *spec)
{
	uint32_t i;

	for (i = 0; i < list->nr; i++)
		if (context_same(&list->specs[i], spec))
			return true;
	return false;
}

/* Fails if this machine does not support one of the contexts. */
static int check_contexts(const struct context_list *list, const char *text, struct error *error)
{
	struct context_error why;
	uint32_t i;

	for (i = 0; i < list->nr; i++) {
		const char *found;

		if (context_check(&list->specs[i], &why))
			continue;
		found = strstr(text, list->specs[i].name);
		error_set_kind(error, ERROR_USAGE, -EOPNOTSUPP, why.hint, "%s", why.text);
		error_set_position(error, text, 0, found ? (unsigned int)(found - text) + 1 : 1);
		return -EOPNOTSUPP;
	}
	return 0;
}

/* Each text is a list separated by commas, as the user wrote it. */
static int take_contexts(
		struct context_list *list, const char *const *texts, size_t nr, struct error *error)
{
	struct context_spec found[WIRE_CONTEXTS_MAX];
	size_t i;
	int k;

	list->specs = calloc(WIRE_CONTEXTS_MAX, sizeof(*list->specs));
	if (!list->specs)
		return error_set_no_memory(error);
	for (i = 0; i < nr; i++) {
		struct context_error where = {0};
		int count = context_parse_list(texts[i], found, WIRE_CONTEXTS_MAX, &where);
		int ret;

		if (count < 0) {
			error_set_kind(error, ERROR_USAGE, -EINVAL,
					*where.hint ? where.hint
						    : "`side help contexts` lists them",
					"contexts, column %u: %s", where.column, where.text);
			error_set_position(error, texts[i], 0, where.column);
			return -EINVAL;
		}
		for (k = 0; k < count; k++) {
			if (has_context(list, &found[k]))
				continue;
			if (list->nr == WIRE_CONTEXTS_MAX)
				return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
						"there are more than %d contexts for one event",
						WIRE_CONTEXTS_MAX);
			list->specs[list->nr++] = found[k];
		}
		ret = check_contexts(list, texts[i], error);
		if (ret)
			return ret;
	}
	if (!join_names(list))
		return error_set_no_memory(error);
	return 0;
}

/* Parses names that come from a socket or a file. */
int context_list_read(struct context_list *ret_list, const char *names, uint32_t nr, size_t size)
{
	struct context_error error;

	*ret_list = (struct context_list){0};
	if (nr > WIRE_CONTEXTS_MAX || !wire_strings_valid(names, nr, size))
		return -EPROTO;
	ret_list->specs = calloc(nr + 1, sizeof(*ret_list->specs));
	if (!ret_list->specs)
		return -ENOMEM;
	for (; ret_list->nr < nr; ret_list->nr++) {
		if (context_parse(names, &ret_list->specs[ret_list->nr], &error)) {
			context_list_free(ret_list);
			return -EINVAL;
		}
		names += strlen(names) + 1;
	}
	if (join_names(ret_list))
		return 0;
	context_list_free(ret_list);
	return -ENOMEM;
}

/* ---- rules ---- */

static int take_patterns(struct rule *rule, const struct session_rule *options, struct error *error)
{
	size_t size = 0, i;
	char *at;

	if (options->nr_patterns > WIRE_PATTERNS_MAX)
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"%zu patterns are more than %d", options->nr_patterns,
				WIRE_PATTERNS_MAX);
	rule->parsed = calloc(PATTERN_KERNEL_MAX * options->nr_patterns + 1, sizeof(*rule->parsed));
	if (!rule->parsed)
		return error_set_no_memory(error);
	for (i = 0; i < options->nr_patterns; i++) {
		const char *text = options->patterns[i];
		struct pattern *next = &rule->parsed[rule->nr_parsed];
		struct pattern_error where;
		int count = pattern_is_kernel(text) ? pattern_parse_kernel(text, next, &where)
				: pattern_parse(text, next, &where) ? -EINVAL
								    : 1;

		if (count < 0) {
			char sentence[ERROR_TEXT_SIZE];

			pattern_error_text(sentence, sizeof(sentence), text, &where);
			return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL, "%s", sentence);
		}
		rule->nr_parsed += (uint32_t)count;
		size += strlen(options->patterns[i]) + 1;
	}
	if (size > LIMIT_RULE_TEXT)
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"the patterns together are longer than 32 KiB");
	rule->patterns = at = malloc(size + 1);
	if (!at)
		return error_set_no_memory(error);
	for (i = 0; i < options->nr_patterns; i++)
		at = stpcpy(at, options->patterns[i]) + 1;
	rule->nr_patterns = (uint32_t)options->nr_patterns;
	return 0;
}

static int fail_filter(struct error *error, const char *filter, unsigned int column,
		const char *what, const char *hint)
{
	if (column)
		error_set_kind(error, ERROR_USAGE, -EINVAL, hint, "filter, column %u: %s", column,
				what);
	else
		error_set_kind(error, ERROR_USAGE, -EINVAL, hint, "filter: %s", what);
	error_set_position(error, filter, 0, column);
	return -EINVAL;
}

struct filter_check {
	const char *filter;
	struct error *error;
};

/* The column of a context's name in the filter; 0: not found. */
static unsigned int filter_column(const char *filter, const char *name)
{
	const char *found = strstr(filter, strncmp(name, "app:", 4) ? name : name + 4);

	return found ? (unsigned int)(found - filter) + 1 : 0;
}

/* Callback of the filter's parser: fails if the context does not exist, or not on this machine. */
static int check_filter_context(void *user, const char *name)
{
	struct filter_check *check = user;
	struct context_error where;
	struct context_spec spec;
	char text[768];

	if (context_parse(name, &spec, &where))
		snprintf(text, sizeof(text), "cannot record the context %s: %s", name, where.text);
	else if (spec.type == CONTEXT_ADDRESSES)
		return fail_filter(check->error, check->filter, filter_column(check->filter, name),
				"a filter cannot compare the context backtrace, which is a list of addresses",
				"`$ctx.ip` is the address of the code that emits the event");
	else if (context_check(&spec, &where))
		return 0;
	else
		snprintf(text, sizeof(text), "%s", where.text);
	return fail_filter(check->error, check->filter, filter_column(check->filter, name), text,
			*where.hint ? where.hint : "`side help contexts` lists them");
}

static int record_channel_set_filter(struct rule *rule, const char *filter, struct error *error)
{
	struct filter_check check = {.filter = filter, .error = error};
	struct filter_error where = {0};
	int ret;

	if (!filter)
		return 0;
	rule->filter = strdup(filter);
	if (!rule->filter)
		return error_set_no_memory(error);
	ret = filter_parse(filter, &rule->program, &rule->program_size, &where);
	if (ret == -ENOMEM)
		return error_set_no_memory(error);
	if (ret)
		return fail_filter(error, filter, where.column, where.text,
				*where.hint ? where.hint
					    : "`side help filters` describes the syntax");
	return filter_each_context(rule->program, rule->program_size, check_filter_context, &check);
}

static int record_channel_set_rule(
		struct rule *rule, const struct session_rule *options, struct error *error)
{
	int ret = take_patterns(rule, options, error);

	if (!ret)
		ret = record_channel_set_filter(rule, options->filter, error);
	_Static_assert(WIRE_CONTEXTS_MAX * (CONTEXT_NAME_MAX + 1) <= LIMIT_RULE_TEXT / 2,
			"the names of all contexts fit");
	if (!ret)
		ret = take_contexts(
				&rule->contexts, options->contexts, options->nr_contexts, error);
	return ret;
}

/* ---- channels ---- */

bool channel_is_name(const char *name)
{
	static const char allowed[] =
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

	return *name && *name != '-' && strlen(name) <= SESSION_CHANNEL_NAME_MAX &&
			strspn(name, allowed) == strlen(name);
}

static enum ring_mode record_channel_ring_mode(enum session_channel_mode mode)
{
	switch (mode) {
	case SESSION_DISCARD: break;
	case SESSION_OVERWRITE: return RING_MODE_OVERWRITE;
	case SESSION_BLOCK: return RING_MODE_BLOCK;
	}
	return RING_MODE_DISCARD;
}

static uint64_t power_of_two_below(uint64_t value)
{
	return value ? 1ull << (63 - __builtin_clzll(value)) : 0;
}

static int record_channel_set_size(struct session *session, struct channel *channel,
		uint64_t wanted, struct error *error)
{
	struct ring_geometry geometry;
	uint64_t size = SESSION_RING_SUM_DEFAULT / channel->rings;

	if (size > SESSION_RING_MAX_DEFAULT)
		size = SESSION_RING_MAX_DEFAULT;
	size = power_of_two_below(wanted ? wanted : size);
	if (size < SESSION_RING_MIN && !wanted)
		size = SESSION_RING_MIN;
	geometry = (struct ring_geometry){
			.rings = channel->rings,
			.event_slots = EVENT_SLOTS,
			.size = size,
			.mode = channel->mode,
			.clock = session->clock.kind,
			.placement = channel->placement,
			.block_timeout_us = channel->block_timeout_us,
	};
	if (size < SESSION_RING_MIN || !ring_memory_size(&geometry))
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"a ring of %llu bytes (--buffer-size) is not between 64 KiB and 4 GiB",
				(unsigned long long)wanted);
	channel->ring_size = size;
	return 0;
}

static int record_channel_set_rings(struct session *session, struct channel *channel,
		const struct session_channel *options, struct error *error)
{
	channel->mode = record_channel_ring_mode(options->mode);
	channel->placement = options->per_thread ? RING_PER_THREAD : RING_PER_CPU;
	channel->rings = ring_possible_cpus();
	if (options->per_thread)
		channel->rings = options->threads_max ? options->threads_max
						      : SESSION_THREADS_DEFAULT;
	if (channel->rings > SESSION_THREADS_MAX && options->per_thread)
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"%u threads are more than %d", channel->rings, SESSION_THREADS_MAX);
	if (options->block_timeout_us > SESSION_BLOCK_MAX_US)
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"a program cannot wait for more than an hour");
	if (channel->mode == RING_MODE_BLOCK)
		channel->block_timeout_us = options->block_timeout_us ? options->block_timeout_us
								      : SESSION_BLOCK_DEFAULT_US;
	if (session->mode == SESSION_LIST)
		return 0;
	return record_channel_set_size(session, channel, options->ring_size, error);
}

static int record_channel_set_options(struct session *session, struct channel *channel,
		const struct session_channel *options, struct error *error)
{
	/* A live session gets all its rules explicitly. */
	bool all = !options->nr_rules && !session->service;
	const struct session_rule *rules = all ? &everything : options->rules;
	size_t nr = all ? 1 : options->nr_rules, i;
	int ret;

	if (!options->name || !channel_is_name(options->name))
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"\"%s\" is not a valid name of a channel: a name has at most %d letters, digits, \"_\" and \"-\"",
				options->name ? options->name : "", SESSION_CHANNEL_NAME_MAX);
	if (nr > WIRE_RULES_MAX)
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"the channel %s has more than %d rules", options->name,
				WIRE_RULES_MAX);
	channel->name = strdup(options->name);
	channel->rules = calloc(nr + 1, sizeof(*channel->rules));
	if (!channel->name || !channel->rules)
		return error_set_no_memory(error);
	ret = record_channel_set_rings(session, channel, options, error);
	if (!ret)
		ret = take_contexts(
				&channel->contexts, options->contexts, options->nr_contexts, error);
	for (i = 0; i < nr && !ret; i++) {
		channel->nr_rules++;
		ret = record_channel_set_rule(&channel->rules[i], &rules[i], error);
	}
	return ret;
}

static bool record_channel_name_is_used(
		const struct session *session, uint32_t nr, const char *name)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		if (session->channels[i].name && !strcmp(session->channels[i].name, name))
			return true;
	return false;
}

static int record_channel_check_names(const struct session *session, struct error *error)
{
	uint32_t i;

	for (i = 0; i < session->nr_channels; i++) {
		const char *name = session->channels[i].name;

		if (name && record_channel_name_is_used(session, i, name))
			return error_set_kind(error, ERROR_USAGE, -EEXIST, NULL,
					"two channels are called \"%s\"", name);
	}
	return 0;
}

int channels_take(
		struct session *session, const struct session_options *options, struct error *error)
{
	const struct session_channel *channels =
			options->nr_channels ? options->channels : &standard;
	size_t nr = options->nr_channels ? options->nr_channels : 1, i;
	int ret = 0;

	if (nr > SESSION_CHANNELS_MAX)
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"%zu channels are more than %d", nr, SESSION_CHANNELS_MAX);
	session->channels = calloc(SESSION_CHANNELS_MAX, sizeof(*session->channels));
	if (!session->channels)
		return error_set_no_memory(error);
	for (i = 0; i < nr && !ret; i++) {
		session->nr_channels++;
		session->nr_all_channels++;
		ret = record_channel_set_options(
				session, &session->channels[i], &channels[i], error);
	}
	return ret ? ret : record_channel_check_names(session, error);
}

static bool record_channel_has_name(const struct channel *channel, const char *name)
{
	return channel->name && !strcmp(channel->name, name);
}

static bool are_same_contexts(const struct context_list *one, const struct context_list *other)
{
	return one->nr == other->nr && one->size == other->size && one->names && other->names &&
			!memcmp(one->names, other->names, one->size);
}

/*
 * Compares two versions of a channel. Rings and records with this layout exist already, so only
 * rules can change.
 */
static int check_change(const struct channel *wanted, const struct channel *now, const char *name,
		struct error *error)
{
	if (wanted->mode != now->mode || wanted->placement != now->placement ||
			wanted->rings != now->rings || wanted->ring_size != now->ring_size ||
			wanted->block_timeout_us != now->block_timeout_us)
		return error_set_kind(error, ERROR_USAGE, -EBUSY, NULL,
				"cannot change the mode or size of the channel %s: the session was started",
				name);
	if (!are_same_contexts(&wanted->contexts, &now->contexts))
		return error_set_kind(error, ERROR_USAGE, -EBUSY,
				"`side enable-event --context` adds contexts to single events",
				"cannot change the contexts of the channel %s: the session was started",
				name);
	return 0;
}

/* A requested change of one of the session's channels. */
struct channel_change {
	struct channel wanted;
	struct channel *now; /* NULL: unused entry */
};

/* `changes` has one entry for each channel of the session. */
static int record_channel_prepare_change(struct session *session, struct channel_change *changes,
		const struct session_channel *options, struct error *error)
{
	const char *name = options->name ? options->name : "";
	uint32_t i = 0;
	int ret;

	while (i < session->nr_channels && !record_channel_has_name(&session->channels[i], name))
		i++;
	if (i == session->nr_channels)
		return error_set_kind(error, ERROR_USAGE, -ENOENT, NULL,
				"cannot add the channel %s: the session was started", name);
	if (changes[i].now)
		return error_set_kind(error, ERROR_USAGE, -EEXIST, NULL,
				"two channels are called \"%s\"", name);
	changes[i].now = &session->channels[i];
	ret = record_channel_set_options(session, &changes[i].wanted, options, error);
	return ret ? ret : check_change(&changes[i].wanted, changes[i].now, name, error);
}

static void swap_rules(struct channel *one, struct channel *other)
{
	struct rule *rules = one->rules;
	uint32_t nr = one->nr_rules;

	one->rules = other->rules;
	one->nr_rules = other->nr_rules;
	other->rules = rules;
	other->nr_rules = nr;
}

int channels_change(struct session *session, const struct session_channel *channels, size_t nr,
		struct error *error)
{
	struct channel_change *changes = calloc(session->nr_channels + 1, sizeof(*changes));
	uint32_t i;
	size_t k;
	int ret = 0;

	if (!changes)
		return error_set_no_memory(error);
	for (k = 0; k < nr && !ret; k++)
		ret = record_channel_prepare_change(session, changes, &channels[k], error);
	for (i = 0; i < session->nr_channels && !ret; i++)
		if (changes[i].now)
			swap_rules(changes[i].now, &changes[i].wanted);
	/* Frees the old rules, or after an error the new ones. */
	for (i = 0; i < session->nr_channels; i++)
		channel_free(&changes[i].wanted);
	free(changes);
	return ret;
}

/* Adds a channel after the others. No trace contains it: it only counts events. */
int channels_add_counter(struct session *session, const struct session_rule *rule,
		uint32_t *ret_index, struct error *error)
{
	char name[SESSION_CHANNEL_NAME_MAX];
	const struct session_channel options = {
			.name = name, .ring_size = SESSION_RING_MIN, .rules = rule, .nr_rules = 1};
	uint32_t i = session->nr_all_channels;

	if (i == SESSION_CHANNELS_MAX)
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"there are more than %d channels, including those for `--snapshot-on`",
				SESSION_CHANNELS_MAX);
	session->nr_all_channels++;
	session->channels[i].counts = true;
	*ret_index = i;
	/* A name that no user is expected to choose. */
	snprintf(name, sizeof(name), "_counter-%u", i);
	return record_channel_set_options(session, &session->channels[i], &options, error);
}

static void rule_free(struct rule *rule)
{
	free(rule->patterns);
	free(rule->parsed);
	context_list_free(&rule->contexts);
	free(rule->filter);
	free(rule->program);
	free(rule->missing);
}

void channel_free(struct channel *channel)
{
	uint32_t i;

	for (i = 0; i < channel->nr_rules; i++)
		rule_free(&channel->rules[i]);
	free(channel->rules);
	free(channel->name);
	context_list_free(&channel->contexts);
}

/* ---- rules and described events ---- */

static bool rule_wants(const struct rule *rule, const struct side_event_description *event)
{
	return !rule->nr_patterns ||
			pattern_set_wants(rule->parsed, rule->nr_parsed,
					side_ptr_get(event->provider_name),
					side_ptr_get(event->event_name),
					(unsigned int)side_enum_get(event->loglevel));
}

bool channel_wants(const struct channel *channel, const struct side_event_description *event)
{
	uint32_t i;

	for (i = 0; i < channel->nr_rules; i++)
		if (rule_wants(&channel->rules[i], event))
			return true;
	return false;
}

/* Contexts were checked when the filter was parsed, so any index is correct. */
static int any_context(void *user, const char *name)
{
	(void)user;
	(void)name;
	return 0;
}

static void rule_meet(struct rule *rule, const struct side_event_description *event)
{
	const struct filter_names names = {.resolve = any_context};
	struct filter_error error = {0};
	ssize_t size;

	if (!rule->program || rule->met || !rule_wants(rule, event))
		return;
	size = filter_link_size(rule->program, rule->program_size, event, &names, &error);
	if (size >= 0)
		rule->met = true;
	else if (!rule->missing &&
			asprintf(&rule->missing, "%s%s%s", error.text, *error.hint ? "\n" : "",
					error.hint) < 0)
		rule->missing = NULL;
}

void channel_meet(struct channel *channel, const struct side_event_description *event)
{
	uint32_t i;

	for (i = 0; i < channel->nr_rules; i++)
		rule_meet(&channel->rules[i], event);
}

/*
 * A process does not describe events that none of its rules can match, so the reason can be
 * unknown.
 */
static void report_filter(struct session *session, const struct rule *rule)
{
	if (!rule->program || rule->met)
		return;
	if (rule->missing)
		report(session, false, "cannot apply the filter `%s` to any of its events: %s",
				rule->filter, rule->missing);
	else
		report(session, false,
				"cannot apply the filter `%s` to any of its events: there was no event, or none that has the fields of the filter",
				rule->filter);
}

void channels_report(struct session *session)
{
	uint32_t i, k;

	if (!session->instances.list)
		return;
	for (i = 0; i < session->nr_all_channels; i++)
		for (k = 0; k < session->channels[i].nr_rules; k++)
			report_filter(session, &session->channels[i].rules[k]);
}

bool channels_any_overwrites(const struct session *session)
{
	uint32_t i;

	for (i = 0; i < session->nr_channels; i++)
		if (channel_overwrites(&session->channels[i]))
			return true;
	return false;
}
