/* SPDX-License-Identifier: MIT */
/*
 * Finds patterns and filters of a session that fit no event of the connected programs.
 *
 * Reads the events from the memory of these programs, without stopping them. Skips a program that
 * cannot be read; if none can be read, reports nothing.
 */
#include "unmatched-rules.h"

#include "programs/common/ask.h"
#include "programs/common/command.h"
#include "programs/side/processes/filter-fit.h"
#include "programs/side/processes/descriptions.h"
#include "programs/side/processes/process.h"
#include "programs/side/processes/running.h"
#include "programs/common/message.h"
#include "request.h"
#include "programs/side/processes/unmatched.h"
#include "wrapped-programs.h"

#include "protocol/pattern.h"
#include "recorder/core/session.h"

#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A machine has hundreds of programs, and the first ones suffice to find a misspelled name. */
#define PROGRAMS_MAX 32
#define LIBSIDE_PROVIDER "side" /* its events begin and end state dumps */

struct unmatched_search {
	const char *session;
	struct json_object *patterns;   /* array of texts; NULL: all events */
	const char *filter;             /* "": none */
	size_t nr_programs;             /* programs read */
	char program[RUNNING_NAME_MAX]; /* the first program */
	char **names;                   /* provider:event, of all programs */
	size_t nr_names, names_capacity;
	struct pattern *parsed;
	bool *is_matched; /* for each pattern */
	size_t nr_parsed;
	struct filter_fit fit;
};

static const char *unmatched_search_pattern(const struct unmatched_search *search, size_t index)
{
	return json_object_get_string(json_object_array_get_idx(search->patterns, index));
}

/* False if there is nothing to search for, or out of memory. */
static bool unmatched_search_begin(struct unmatched_search *search)
{
	size_t count = search->patterns ? json_object_array_length(search->patterns) : 0;
	struct pattern_error error;

	search->parsed = calloc(count + 1, sizeof(*search->parsed));
	search->is_matched = calloc(count + 1, sizeof(*search->is_matched));
	if (!search->parsed || !search->is_matched)
		return false;
	for (size_t i = 0; i < count; i++) {
		const char *text = unmatched_search_pattern(search, i);

		/* Kernel events are in no program. */
		if (pattern_is_kernel(text) || pattern_parse(text, &search->parsed[i], &error))
			return false;
		search->is_matched[i] = search->parsed[i].exclude;
	}
	search->nr_parsed = count;
	if (*search->filter)
		return filter_fit_begin(&search->fit, search->filter);
	return count > 0;
}

static void unmatched_search_end(struct unmatched_search *search)
{
	for (size_t i = 0; i < search->nr_names; i++)
		free(search->names[i]);
	free(search->names);
	free(search->parsed);
	free(search->is_matched);
	filter_fit_end(&search->fit);
}

static void unmatched_search_keep(
		struct unmatched_search *search, const char *provider, const char *event)
{
	char *name;

	if (!strcmp(provider, LIBSIDE_PROVIDER))
		return;
	if (search->nr_names == search->names_capacity) {
		size_t capacity = search->names_capacity ? search->names_capacity * 2 : 64;
		char **names = reallocarray(search->names, capacity, sizeof(*names));

		if (!names)
			return;
		search->names = names;
		search->names_capacity = capacity;
	}
	if (asprintf(&name, "%s:%s", provider, event) >= 0)
		search->names[search->nr_names++] = name;
}

static void unmatched_search_event(
		struct unmatched_search *search, const struct side_event_description *event)
{
	const char *provider = side_ptr_get(event->provider_name);
	const char *name = side_ptr_get(event->event_name);
	const unsigned int level = side_enum_get(event->loglevel);

	unmatched_search_keep(search, provider, name);
	for (size_t i = 0; i < search->nr_parsed; i++)
		search->is_matched[i] |= pattern_matches(&search->parsed[i], provider, name, level);
	if (search->fit.program && strcmp(provider, LIBSIDE_PROVIDER) != 0 &&
			(!search->nr_parsed ||
					pattern_set_wants(search->parsed, search->nr_parsed,
							provider, name, level)))
		filter_fit_event(&search->fit, event);
}

/* True if each pattern has matched an event, and the filter fits one. */
static bool unmatched_search_is_over(const struct unmatched_search *search)
{
	for (size_t i = 0; i < search->nr_parsed; i++)
		if (!search->is_matched[i])
			return false;
	return !search->fit.program || search->fit.fits;
}

static void unmatched_search_program(struct unmatched_search *search, pid_t pid)
{
	struct listing listing = {.is_silent = true};

	if (process_list(&listing, pid, false) == COMMAND_DONE) {
		if (!search->nr_programs++)
			running_name(pid, search->program);
		for (size_t i = 0; i < listing.nr_events; i++)
			unmatched_search_event(search, listing.events[i].description);
	}
	listing_free(&listing);
}

static void unmatched_search_programs(
		struct unmatched_search *search, struct json_object *processes)
{
	const size_t count = processes ? json_object_array_length(processes) : 0;

	for (size_t i = 0; i < count && search->nr_programs < PROGRAMS_MAX; i++) {
		uint64_t pid = ask_number(json_object_array_get_idx(processes, i), "pid");

		if (pid && pid <= INT_MAX)
			unmatched_search_program(search, (pid_t)pid);
		if (unmatched_search_is_over(search))
			return;
	}
}

/* ---- wrappers ---- */

/* True if the pattern selects events of the wrapper, which are in no other library. */
static bool unmatched_is_wrapper(const char *pattern, const char *wrapper)
{
	const size_t size = strlen(wrapper);

	return !strncmp(pattern, wrapper, size) && (pattern[size] == ':' || !pattern[size]);
}

static bool unmatched_names_wrapper(const struct unmatched_search *search, const char *wrapper)
{
	for (size_t i = 0; i < search->nr_parsed; i++)
		if (unmatched_is_wrapper(unmatched_search_pattern(search, i), wrapper))
			return true;
	return false;
}

static void unmatched_print_wrapper(
		const struct unmatched_search *search, const char *pattern, const char *wrapper)
{
	char *top = session_library("side-preload"), *hint = NULL;

	if (top &&
			asprintf(&hint, "LD_PRELOAD='%s/$LIB/libside-agent.so:%s/$LIB/libside-wrap-%s.so' PROGRAM starts a program with it",
					top, top, wrapper) < 0)
		hint = NULL;
	message_note_hint(hint ? hint : "reinstall side: `side doctor` lists what is missing",
			"session %s: no event matches `%s` yet: no program that side can read has loaded the wrapper `%s`",
			search->session, pattern, wrapper);
	free(hint);
	free(top);
}

/* Explains the patterns of a wrapper that no program has loaded. */
static void unmatched_explain_wrapper(
		struct unmatched_search *search, const char *wrapper, bool is_explained)
{
	for (size_t i = 0; i < search->nr_parsed; i++) {
		const char *pattern = unmatched_search_pattern(search, i);

		if (search->is_matched[i] || !unmatched_is_wrapper(pattern, wrapper))
			continue;
		if (!is_explained)
			unmatched_print_wrapper(search, pattern, wrapper);
		search->is_matched[i] = true;
	}
}

static bool unmatched_is_active(const struct unmatched_search *search, struct json_object *sessions)
{
	const size_t count = sessions ? json_object_array_length(sessions) : 0;

	for (size_t i = 0; i < count; i++) {
		struct json_object *one = json_object_array_get_idx(sessions, i);

		if (!strcmp(ask_text(one, "name"), search->session))
			return !strcmp(ask_text(one, "state"), "active");
	}
	return false;
}

/* Reports the programs of a wrapper that a pattern names, also if there are none. */
static void unmatched_report_wrapper(struct unmatched_search *search, enum wrapped_library library,
		struct json_object *processes, bool is_active)
{
	const char *wrapper = wrapped_name(library);
	struct wrapped_programs programs = {0};
	char hint[ASK_NAME_MAX + 32];

	if (is_active) {
		programs = wrapped_programs_report(search->session, library, processes);
		if (!programs.nr_active)
			unmatched_explain_wrapper(search, wrapper, programs.nr_refusals != 0);
		return;
	}
	if (!processes || !json_object_array_length(processes)) {
		unmatched_explain_wrapper(search, wrapper, false);
		return;
	}
	snprintf(hint, sizeof(hint), "`side start %s` loads it into programs", search->session);
	message_note_hint(hint,
			"session %s: the wrapper `%s` is not loaded yet: the session is not started",
			search->session, wrapper);
	unmatched_explain_wrapper(search, wrapper, true);
}

static void unmatched_report_wrappers(struct unmatched_search *search, struct json_object *answer)
{
	const bool is_active = unmatched_is_active(search, ask_list(answer, "sessions"));

	for (enum wrapped_library i = 0; i < WRAPPED_NR; i++)
		if (unmatched_names_wrapper(search, wrapped_name(i)))
			unmatched_report_wrapper(
					search, i, ask_list(answer, "processes"), is_active);
}

/* ---- output ---- */

static void unmatched_search_print(const struct unmatched_search *search)
{
	char owner[RUNNING_NAME_MAX + 64], printable[RUNNING_NAME_MAX * 4],
			reason[UNMATCHED_TEXT_SIZE], hint[UNMATCHED_TEXT_SIZE];
	bool is_matched = true;

	if (search->nr_programs == 1)
		snprintf(owner, sizeof(owner), "%.100s",
				format_printable(search->program, printable, sizeof(printable)));
	else
		snprintf(owner, sizeof(owner), "the group of %zu programs that have joined",
				search->nr_programs);
	for (size_t i = 0; i < search->nr_parsed; i++) {
		if (search->is_matched[i])
			continue;
		is_matched = false;
		unmatched_explain(&(const struct unmatched){.pattern = unmatched_search_pattern(
									    search, i),
						  .option = "",
						  .names = (const char *const *)search->names,
						  .nr_names = search->nr_names,
						  .owner = owner,
						  .noun = "event"},
				reason, hint);
		message_note_hint(hint, "session %s: no event matches `%s` yet: %s",
				search->session, unmatched_search_pattern(search, i), reason);
	}
	if (is_matched && search->fit.program && !search->fit.fits && search->fit.nr_events)
		message_note_hint(search->fit.hint,
				"session %s: the filter `%s` cannot be applied to any event yet: %s",
				search->session, search->filter, search->fit.reason);
}

static int unmatched_search_run(
		struct unmatched_search *search, struct ask *ask, const struct parsed *parsed)
{
	char name[ASK_NAME_MAX];
	struct json_object *request = NULL, *answer = NULL;
	int status = ask_which(ask, NULL, parsed->options.control.session, name, &search->session);

	if (!status)
		status = session_request(parsed, search->session, &request);
	if (status)
		return status;
	search->patterns = ask_list(request, "event");
	search->filter = ask_text(request, "filter");
	if (unmatched_search_begin(search) &&
			!ask_call(ask, control_request("list", NULL), ASK_TIMEOUT_MS, &answer)) {
		unmatched_search_programs(search, ask_list(answer, "processes"));
		if (parsed->verb->id == VERB_ENABLE_EVENT)
			unmatched_report_wrappers(search, answer);
		if (search->nr_programs && !unmatched_search_is_over(search))
			unmatched_search_print(search);
	}
	json_object_put(answer);
	json_object_put(request);
	return status;
}

/* ---- sessions that start ---- */

static void unmatched_add_rule(struct json_object *rule, bool named[WRAPPED_NR])
{
	struct json_object *patterns = ask_list(rule, "event");
	const size_t count = patterns ? json_object_array_length(patterns) : 0;

	for (size_t i = 0; i < count; i++) {
		const char *pattern =
				json_object_get_string(json_object_array_get_idx(patterns, i));

		for (enum wrapped_library k = 0; k < WRAPPED_NR; k++)
			named[k] |= pattern && unmatched_is_wrapper(pattern, wrapped_name(k));
	}
}

/* The wrappers whose events the rules of the session name. */
static void unmatched_read_definition(struct json_object *session, bool named[WRAPPED_NR])
{
	struct json_object *definition = NULL, *channels;

	if (!session || !json_object_object_get_ex(session, "definition", &definition))
		return;
	channels = ask_list(definition, "channels");
	for (size_t i = 0; channels && i < json_object_array_length(channels); i++) {
		struct json_object *rules =
				ask_list(json_object_array_get_idx(channels, i), "rules");

		for (size_t k = 0; rules && k < json_object_array_length(rules); k++)
			unmatched_add_rule(json_object_array_get_idx(rules, k), named);
	}
}

static void unmatched_report_start(struct ask *ask, const char *session)
{
	struct json_object *answer = NULL, *sessions;
	bool named[WRAPPED_NR] = {0};

	if (ask_call(ask, control_request("list", session), ASK_TIMEOUT_MS, &answer))
		return;
	sessions = ask_list(answer, "sessions");
	if (sessions && json_object_array_length(sessions))
		unmatched_read_definition(json_object_array_get_idx(sessions, 0), named);
	json_object_put(answer);
	if ((!named[WRAPPED_LIBC] && !named[WRAPPED_PTHREAD]) ||
			ask_call(ask, control_request("list", NULL), ASK_TIMEOUT_MS, &answer))
		return;
	for (enum wrapped_library i = 0; i < WRAPPED_NR; i++)
		if (named[i])
			(void)wrapped_programs_report(session, i, ask_list(answer, "processes"));
	json_object_put(answer);
}

static int unmatched_start(struct ask *ask, const struct parsed *parsed)
{
	const char *session;
	char name[ASK_NAME_MAX];
	int status = ask_which(ask, parsed->operand_count ? parsed->operands[0] : NULL,
			parsed->options.control.session, name, &session);

	if (!status)
		unmatched_report_start(ask, session);
	return status;
}

int session_unmatched(const struct parsed *parsed)
{
	struct unmatched_search search = {.filter = ""};
	struct ask ask;

	if (ask_connect_silently(&ask, parsed->options.control.system, NULL))
		return COMMAND_DONE;
	if (parsed->verb->id == VERB_START)
		(void)unmatched_start(&ask, parsed);
	else
		(void)unmatched_search_run(&search, &ask, parsed);
	unmatched_search_end(&search);
	ask_close(&ask);
	return COMMAND_DONE;
}
