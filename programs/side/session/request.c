/* SPDX-License-Identifier: MIT */
/*
 * Converts a command line to a request to the daemon.
 *
 * An option becomes a member with its own name. Some options of lttng have another form in the
 * protocol: exclusions and log levels become parts of patterns, and lists with commas become
 * arrays.
 */
#include "request.h"

#include "programs/common/ask.h"
#include "programs/common/command.h"
#include "programs/common/message.h"

#include "relay/send.h"
#include "recorder/core/session.h"
#include "protocol/pattern.h"

#include <errno.h>
#include <grp.h>
#include <json-c/json.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- options ---- */

static bool session_request_is_number(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

/* The protocol identifies users and groups by number. */
static int session_request_add_owner(
		struct json_object *request, const char *name, const char *text)
{
	bool user = !strcmp(name, "uid");
	const struct passwd *password = NULL;
	const struct group *group = NULL;
	char number[24];

	if (session_request_is_number(text)) {
		ask_add_text(request, name, text);
		return COMMAND_DONE;
	}
	if (user)
		password = getpwnam(text);
	else
		group = getgrnam(text);
	if (!password && !group)
		return message_error(COMMAND_USAGE,
				user ? "`getent passwd` lists them" : "`getent group` lists them",
				"there is no %s `%.128s`", user ? "user" : "group", text);
	snprintf(number, sizeof(number), "%lu",
			user ? (unsigned long)password->pw_uid : (unsigned long)group->gr_gid);
	ask_add_text(request, name, number);
	return COMMAND_DONE;
}

static int session_request_add_pid(struct json_object *request, const char *name, const char *text)
{
	if (!session_request_is_number(text))
		return message_error(COMMAND_USAGE, "use `side track --name` for names",
				"`--pid %.128s` is not the number of a process", text);
	ask_add_text(request, name, text);
	return COMMAND_DONE;
}

/* Calls `add` for each element of a comma-separated list. */
static int session_request_add_list_items(struct json_object *request, const char *name,
		const char *text, int (*add)(struct json_object *, const char *, const char *))
{
	int status = COMMAND_DONE;

	while (!status) {
		size_t length = strcspn(text, ",");
		char *item = strndup(text, length);

		if (!item)
			return message_error(COMMAND_FAILED, NULL, "out of memory");
		if (*item)
			status = add(request, name, item);
		free(item);
		text += length;
		if (!*text++)
			break;
	}
	return status;
}

/* The member of the protocol for an option. */
static const char *session_request_option_member(const struct option *option)
{
	static const char *const others[][2] = {{"rotate-every", "rotate-time"},
			{"keep-size", "retain-size"}, {"keep-age", "retain-age"},
			{"keep-count", "retain-chunks"}, {"snapshot-on", "trigger"}};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (!strcmp(option->name, others[i][0]))
			return others[i][1];
	}
	return option->name;
}

static int session_request_add_option_list(
		struct json_object *request, const struct option_use *use)
{
	const char *name = session_request_option_member(use->option);

	if (!strcmp(name, "uid") || !strcmp(name, "gid"))
		return session_request_add_list_items(
				request, name, use->text, session_request_add_owner);
	if (!strcmp(name, "pid"))
		return session_request_add_list_items(
				request, name, use->text, session_request_add_pid);
	ask_add_text(request, name, use->text);
	return COMMAND_DONE;
}

/* Makes the path absolute, because the daemon has another working directory. */
static int session_request_add_path(struct json_object *request, const char *name, const char *text)
{
	char directory[PATH_MAX], path[2 * PATH_MAX + 2];

	if (*text == '/') {
		snprintf(path, sizeof(path), "%s", text);
	} else {
		if (!getcwd(directory, sizeof(directory)))
			return message_error(COMMAND_FAILED, NULL,
					"cannot find the directory %s: %s", text, strerror(errno));
		snprintf(path, sizeof(path), "%s/%s", directory, text);
	}
	ask_add(request, name, json_object_new_string(path));
	return COMMAND_DONE;
}

/* Adds a URL unchanged, and a path in absolute form. */
static int session_request_add_url(struct json_object *request, const char *text)
{
	struct error error;

	if (url_check(text, NULL, &error))
		return message_library_error(&error);
	if (!strcmp(text, "-"))
		return message_error(COMMAND_USAGE, "write to a FIFO",
				"cannot write to standard output: the daemon writes the trace, and does not have your standard output");
	if (!strstr(text, "://"))
		return session_request_add_path(request, "to", text);
	ask_add(request, "to", json_object_new_string(text));
	return COMMAND_DONE;
}

static struct json_object *session_request_default_value(const struct option_use *use)
{
	return strcmp(use->option->name, "compress")
			? json_object_new_boolean(true)
			: json_object_new_int(SESSION_COMPRESS_DEFAULT);
}

static int session_request_add_option(struct json_object *request, const struct option_use *use)
{
	const struct option *option = use->option;
	struct json_object *value = NULL;

	switch (option->kind) {
	case OPTION_FLAG: value = json_object_new_boolean(true); break;
	case OPTION_TEXT:
		if (!strcmp(option->name, "output"))
			return session_request_add_path(request, option->name, use->text);
		if (!strcmp(option->name, "to"))
			return session_request_add_url(request, use->text);
		value = json_object_new_string(use->text);
		break;
	case OPTION_LIST: return session_request_add_option_list(request, use);
	case OPTION_CHOICE: value = json_object_new_string(option->choices[use->choice]); break;
	case OPTION_SIZE:
	case OPTION_NUMBER:
	case OPTION_TIME:
		if (!use->text)
			value = session_request_default_value(use);
		else if (use->number > INT64_MAX)
			return message_error(COMMAND_USAGE, NULL, "`--%s %.64s` is too large",
					option->name, use->text);
		else
			value = json_object_new_int64((int64_t)use->number);
		break;
	}
	ask_add(request, session_request_option_member(option), value);
	return COMMAND_DONE;
}

/* ---- patterns ---- */

struct levels {
	const char *sign; /* separates pattern and level; NULL: no level */
	const char *level;
	const struct control_options *options;
};

static int session_request_find_levels(
		const struct control_options *options, struct levels *ret_levels)
{
	*ret_levels = (struct levels){NULL, NULL, options};
	if (options->loglevel && options->loglevel_only)
		return message_error(COMMAND_USAGE, "leave one of them out",
				"`--loglevel` and `--loglevel-only` contradict each other");
	if (options->loglevel)
		*ret_levels = (struct levels){"@", options->loglevel, options};
	else if (options->loglevel_only)
		*ret_levels = (struct levels){"@=", options->loglevel_only, options};
	return COMMAND_DONE;
}

static bool session_request_has_level(const char *pattern)
{
	for (const char *at = strchr(pattern, '@'); at; at = strchr(at + 1, '@')) {
		if (at == pattern || at[-1] != '\\')
			return true;
	}
	return false;
}

/* Marks the pattern as one for kernel events by its prefix. */
static int session_request_add_kernel_pattern(struct json_object *request, const char *text,
		const struct control_options *options)
{
	static const char *const ends[] = {"syscalls:sys_enter_", "syscalls:sys_exit_"};
	const char *sign = *text == '!' ? "!" : "";
	char pattern[PATTERN_TEXT_MAX + 1];
	int most = (int)sizeof(pattern), size = 0;

	text += *text == '!';
	if (pattern_is_kernel(text))
		text += sizeof(PATTERN_KERNEL) - 1;
	for (size_t i = 0; i < (options->syscall ? 2 : 1) && size < most; i++) {
		size = snprintf(pattern, sizeof(pattern), "%s" PATTERN_KERNEL "%s%s", sign,
				options->syscall ? ends[i] : "", text);
		if (size < most)
			ask_add_text(request, "event", pattern);
	}
	return size < most ? COMMAND_DONE
			   : message_error(COMMAND_USAGE, NULL, "the pattern `%.128s…` is too long",
					     text);
}

static int session_request_add_pattern(
		struct json_object *request, const char *text, const struct levels *levels)
{
	char pattern[PATTERN_TEXT_MAX + 64];

	if (levels->options->kernel)
		return session_request_add_kernel_pattern(request, text, levels->options);

	if (levels->sign && *text != '!' && session_request_has_level(text))
		return message_error(COMMAND_USAGE, "leave one of them out",
				"cannot use `--loglevel` with `%.128s`: the pattern has a log level",
				text);
	if (snprintf(pattern, sizeof(pattern), "%s%s%s", text,
			    levels->sign && *text != '!' ? levels->sign : "",
			    levels->sign && *text != '!' ? levels->level : "") >=
			(int)sizeof(pattern))
		return message_error(
				COMMAND_USAGE, NULL, "the pattern `%.128s…` is too long", text);
	ask_add_text(request, "event", pattern);
	return COMMAND_DONE;
}

static int session_request_add_patterns(
		struct json_object *request, const char *text, const struct levels *levels)
{
	int status = COMMAND_DONE;

	while (*text && !status) {
		size_t length = pattern_list_first(text);
		char *pattern = strndup(text, length);

		if (!pattern)
			return message_error(COMMAND_FAILED, NULL, "out of memory");
		if (*pattern)
			status = session_request_add_pattern(request, pattern, levels);
		free(pattern);
		text += length + (text[length] == ',');
	}
	return status;
}

static int session_request_add_exclusions(
		struct json_object *request, const struct control_options *options)
{
	const struct levels none = {NULL, NULL, options};
	int status = COMMAND_DONE;

	for (size_t i = 0; i < options->exclude.count && !status; i++) {
		const char *text = options->exclude.items[i];
		char pattern[PATTERN_TEXT_MAX + 8];

		if (snprintf(pattern, sizeof(pattern), "%s%s", *text == '!' ? "" : "!", text) >=
				(int)sizeof(pattern))
			return message_error(COMMAND_USAGE, NULL,
					"the pattern `%.128s…` is too long", text);
		status = session_request_add_pattern(request, pattern, &none);
	}
	return status;
}

static int session_request_check_kernel(const struct parsed *parsed)
{
	const struct control_options *options = &parsed->options.control;

	if (!options->kernel)
		return options->syscall || options->kernel_buffer || options->kernel_backend
				? message_error(COMMAND_USAGE, "write `--kernel`, too",
						  "cannot use `--syscall`, `--kernel-buffer` or `--kernel-method` without `--kernel`")
				: COMMAND_DONE;
	if (options->userspace)
		return message_error(COMMAND_USAGE, "write two commands",
				"cannot use `--kernel` with `--userspace`: they select different events");
	if (options->pid || options->exe || options->probes.count || options->global.on)
		return message_error(COMMAND_USAGE,
				"create the probe with `perf probe`, then enable it as `probe:NAME`",
				"side cannot set probes in the kernel");
	if (options->loglevel || options->loglevel_only)
		return message_error(
				COMMAND_USAGE, "leave it out", "kernel events have no log levels");
	if (options->contexts.count)
		return message_error(COMMAND_USAGE,
				"kernel events have the fields pid, tid and comm",
				"cannot record `--context %.64s` with kernel events: its value would be that of the program side-kernel",
				options->contexts.items[0]);
	if (!options->all && !parsed->operand_count)
		return message_error(COMMAND_USAGE,
				"`side list -k` lists them\n`--all` records thousands, which slow the machine down",
				"missing operand: the kernel events to record");
	return COMMAND_DONE;
}

static int session_request_add_events(struct json_object *request, const struct parsed *parsed)
{
	const struct control_options *options = &parsed->options.control;
	struct levels levels;
	int status = session_request_find_levels(options, &levels);

	if (!status)
		status = session_request_check_kernel(parsed);

	if (!status && options->all && parsed->operand_count)
		return message_error(COMMAND_USAGE, "leave one of them out",
				"cannot use `--all` with the pattern `%.128s`",
				parsed->operands[0]);
	if (!status && parsed->verb->id == VERB_DISABLE_EVENT && !options->all &&
			!parsed->operand_count)
		return message_error(COMMAND_USAGE, "name events, or write `--all`",
				"missing operand: the events to disable");
	for (int i = 0; i < parsed->operand_count && !status; i++)
		status = session_request_add_patterns(request, parsed->operands[i], &levels);
	if (!status && !parsed->operand_count && (levels.sign || options->kernel))
		status = session_request_add_pattern(request, "*", &levels);
	if (!status)
		status = session_request_add_exclusions(request, options);
	for (size_t i = 0; i < options->contexts.count && !status; i++)
		ask_add_text(request, "event-context", options->contexts.items[i]);
	return status;
}

static int session_request_add_contexts(struct json_object *request, const struct parsed *parsed)
{
	const struct control_options *options = &parsed->options.control;

	if (!parsed->operand_count && !options->contexts.count)
		return message_error(COMMAND_USAGE, "`side help contexts` lists them",
				"missing operand: the contexts to add");
	for (int i = 0; i < parsed->operand_count; i++)
		ask_add_text(request, "context", parsed->operands[i]);
	for (size_t i = 0; i < options->contexts.count; i++)
		ask_add_text(request, "context", options->contexts.items[i]);
	return COMMAND_DONE;
}

/* ---- the whole request ---- */

int session_request_nr_names(const struct parsed *parsed)
{
	switch (parsed->verb->id) {
	case VERB_ENABLE_EVENT:
	case VERB_DISABLE_EVENT:
	case VERB_ENABLE_CHANNEL:
	case VERB_DISABLE_CHANNEL:
	case VERB_ADD_CONTEXT: return 0;
	default: return 1;
	}
}

static int session_request_check_tracking(struct json_object *request, const struct parsed *parsed)
{
	static const char *const targets[] = {
			"pid", "uid", "gid", "name", "cgroup", "container", "all"};

	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		if (json_object_object_get_ex(request, targets[i], NULL))
			return COMMAND_DONE;
	}
	if (ask_is_cut_off())
		return COMMAND_DONE;
	return message_error(COMMAND_USAGE,
			"write `--pid`, `--uid`, `--gid`, `--name`, `--cgroup`, `--container` or `--all`",
			"missing option: the processes to %s", parsed->verb->name);
}

static int session_request_add_operands(struct json_object *request, const struct parsed *parsed)
{
	switch (parsed->verb->id) {
	case VERB_ENABLE_EVENT:
	case VERB_DISABLE_EVENT: return session_request_add_events(request, parsed);
	case VERB_ADD_CONTEXT: return session_request_add_contexts(request, parsed);
	case VERB_ENABLE_CHANNEL:
	case VERB_DISABLE_CHANNEL:
		ask_add(request, "channel", json_object_new_string(parsed->operands[0]));
		return COMMAND_DONE;
	case VERB_TRACK:
	case VERB_UNTRACK: return session_request_check_tracking(request, parsed);
	default: return COMMAND_DONE;
	}
}

/* With a process, `disable-event` means the probes of that process. */
static bool session_request_is_probe(const struct parsed *parsed)
{
	return parsed->verb->id == VERB_DISABLE_EVENT && parsed->options.control.pid;
}

static int session_request_add_probes(struct json_object *request, const struct parsed *parsed)
{
	const struct control_options *options = &parsed->options.control;

	ask_add(request, "pid", json_object_new_int64((int64_t)options->pid));
	for (int i = 0; i < parsed->operand_count; i++)
		ask_add_text(request, "event", parsed->operands[i]);
	if (parsed->operand_count || options->all)
		return COMMAND_DONE;
	return message_error(COMMAND_USAGE, "name events, or write `--all`",
			"missing operand: the events to disable");
}

int session_request(
		const struct parsed *parsed, const char *session, struct json_object **ret_request)
{
	const struct option_uses *asked = &parsed->options.control.asked;
	int status = COMMAND_DONE;

	*ret_request = control_request(
			session_request_is_probe(parsed) ? "disable-probe" : parsed->verb->name,
			session);
	if (!*ret_request)
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	for (size_t i = 0; i < asked->count && !status; i++)
		status = session_request_add_option(*ret_request, &asked->items[i]);
	if (!status)
		status = session_request_is_probe(parsed)
				? session_request_add_probes(*ret_request, parsed)
				: session_request_add_operands(*ret_request, parsed);
	if (status) {
		json_object_put(*ret_request);
		*ret_request = NULL;
	}
	return status;
}
