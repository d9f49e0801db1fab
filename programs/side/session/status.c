/* SPDX-License-Identifier: MIT */
/* The verb `status`: prints the daemon's status of sessions, as text or as JSON. */
#include "status.h"

#include "programs/common/ask.h"
#include "programs/common/command.h"
#include "kernel-session.h"
#include "programs/common/message.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct style {
	const char *strong, *bad, *plain;
};

static const struct style no_style = {"", "", ""}, colors = {"\033[1m", "\033[1;31m", "\033[0m"};

/* ---- parts of a session ---- */

/* Prints strings, such as patterns and contexts, with blanks between them. */
static void status_print_strings(const char *before, struct json_object *strings)
{
	for (size_t i = 0; strings && i < json_object_array_length(strings); i++) {
		const char *string = json_object_get_string(json_object_array_get_idx(strings, i));
		char printable[1024];

		printf("%s%s", i ? " " : before,
				format_printable(string ? string : "", printable,
						sizeof(printable)));
	}
}

static void status_print_rule(struct json_object *rule)
{
	struct json_object *patterns = ask_list(rule, "event");
	const char *filter = ask_text(rule, "filter");
	char printable[4096];

	fputs("    ", stdout);
	if (patterns && json_object_array_length(patterns))
		status_print_strings("", patterns);
	else
		fputs("all events", stdout);
	if (*filter)
		printf("  if %s", format_printable(filter, printable, sizeof(printable)));
	status_print_strings("  with ", ask_list(rule, "event-context"));
	putchar('\n');
}

/* Finds the statistics of a channel by its name, and prints them. */
static void status_print_channel_stats(
		struct json_object *stats, const char *name, const struct style *style)
{
	for (size_t i = 0; stats && i < json_object_array_length(stats); i++) {
		struct json_object *channel = json_object_array_get_idx(stats, i);
		char events[FORMAT_NUMBER_MAX], bytes[FORMAT_NUMBER_MAX], lost[FORMAT_NUMBER_MAX];

		if (strcmp(ask_text(channel, "channel"), name) != 0)
			continue;
		printf("    recorded %s, %s",
				format_events(ask_number(channel, "recorded"), events),
				format_size(ask_number(channel, "bytes"), bytes));
		if (ask_number(channel, "lost"))
			printf("%s; lost %s%s", style->bad,
					format_number(ask_number(channel, "lost"), lost),
					style->plain);
		putchar('\n');
	}
}

static void status_print_channel(
		struct json_object *channel, struct json_object *stats, const struct style *style)
{
	struct json_object *rules = ask_list(channel, "rules");
	uint64_t size = ask_number(channel, "buffer-size");
	const char *mode = ask_text(channel, "mode");
	char text[FORMAT_NUMBER_MAX];

	printf("  %schannel %s%s  %s", style->strong, ask_text(channel, "channel"), style->plain,
			*mode ? mode : "discard");
	if (size)
		printf(", %s a %s", format_size(size, text),
				json_object_object_get_ex(channel, "per-thread", NULL) ? "thread"
										       : "CPU");
	status_print_strings(", with ", ask_list(channel, "context"));
	putchar('\n');
	status_print_channel_stats(stats, ask_text(channel, "channel"), style);
	if (!rules || !json_object_array_length(rules))
		puts("    no events");
	for (size_t i = 0; rules && i < json_object_array_length(rules); i++)
		status_print_rule(json_object_array_get_idx(rules, i));
}

static void status_print_tracks(struct json_object *tracks)
{
	static const char *const kinds[] = {"pid", "uid", "gid", "name", "cgroup", "container"};

	if (!tracks || !json_object_array_length(tracks))
		return;
	fputs("  of         ", stdout);
	for (size_t i = 0; i < json_object_array_length(tracks); i++) {
		struct json_object *track = json_object_array_get_idx(tracks, i);

		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			char text[512];

			if (!json_object_object_get_ex(track, kinds[k], NULL))
				continue;
			printf("%s%s%s %s", i ? ", " : "", ask_flag(track, "exclude") ? "not " : "",
					kinds[k],
					format_printable(ask_text(track, kinds[k]), text,
							sizeof(text)));
		}
	}
	putchar('\n');
}

static void status_print_definition(struct json_object *session, const struct style *style)
{
	struct json_object *definition = NULL, *channels, *stats = ask_list(session, "channels");

	if (!json_object_object_get_ex(session, "definition", &definition))
		return;
	status_print_tracks(ask_list(definition, "track"));
	channels = ask_list(definition, "channels");
	if (!channels || !json_object_array_length(channels))
		puts("  no channels: add events with `side enable-event`");
	for (size_t i = 0; channels && i < json_object_array_length(channels); i++)
		status_print_channel(json_object_array_get_idx(channels, i), stats, style);
}

/*
 * Prints the status of side-kernel. Its events are those of the whole machine, the same for all
 * sessions.
 */
static void status_print_kernel(
		struct ask *ask, struct json_object *session, const struct style *style)
{
	struct json_object *definition = NULL, *kernel_status;
	char lost[FORMAT_NUMBER_MAX], filtered[64] = "";
	uint64_t nr_lost;

	if (!json_object_object_get_ex(session, "definition", &definition) ||
			!kernel_session_has(definition))
		return;
	kernel_status = kernel_session_status(ask);
	nr_lost = ask_number(kernel_status, "lost");
	if (ask_number(kernel_status, "filtered"))
		(void)snprintf(filtered, sizeof(filtered), "; %" PRIu64 " with a kernel filter",
				ask_number(kernel_status, "filtered"));
	if (!kernel_status)
		printf("  kernel     %snot recorded: side-kernel does not run%s; `side start` starts it\n",
				style->bad, style->plain);
	else
		printf("  kernel     %" PRIu64 " of %" PRIu64 " events enabled, by %s%s%s%s%s%s\n",
				ask_number(kernel_status, "on"),
				ask_number(kernel_status, "events"),
				ask_text(kernel_status,
						ask_renamed(kernel_status, "method", "way")),
				filtered, nr_lost ? style->bad : "", nr_lost ? "; lost " : "",
				nr_lost ? format_number(nr_lost, lost) : "", style->plain);
	json_object_put(kernel_status);
}

/* Without a process of the session, the definition is the only source. */
static void status_print_session_probes(struct json_object *session, const struct style *style)
{
	struct json_object *probes = ask_list(session, "probes"), *definition = NULL;

	if (!probes && json_object_object_get_ex(session, "definition", &definition))
		probes = ask_list(definition, "probes");
	if (!probes || !json_object_array_length(probes))
		return;
	printf("  %sprobes%s\n", style->strong, style->plain);
	status_print_probes(probes, *style->bad);
}

static void status_print_processes(struct json_object *processes, const struct style *style)
{
	if (!processes || !json_object_array_length(processes))
		return;
	printf("\n  %s%-20s %8s  %-8s %-8s %8s %14s %12s %12s%s\n", style->strong, "PROCESS", "PID",
			"CONTROL", "JOINED", "CLASSES", "EVENTS", "BYTES", "LOST", style->plain);
	for (size_t i = 0; i < json_object_array_length(processes); i++) {
		struct json_object *process = json_object_array_get_idx(processes, i);
		char name[128], classes[FORMAT_NUMBER_MAX], events[FORMAT_NUMBER_MAX],
				bytes[FORMAT_NUMBER_MAX], lost[FORMAT_NUMBER_MAX];
		bool live = !json_object_object_get_ex(process, "live", NULL) ||
				ask_flag(process, "live");

		printf("  %-20s %8" PRIu64 "  %-8s %-8s %8s %14s %12s %s%12s%s%s\n",
				format_printable(ask_text(process, "name"), name, sizeof(name)),
				ask_number(process, "pid"), ask_text(process, "control"),
				ask_text(process, "joined-by"),
				format_number(ask_number(process, "events"), classes),
				format_number(ask_number(process, "recorded"), events),
				format_size(ask_number(process, "bytes"), bytes),
				ask_number(process, "lost") ? style->bad : "",
				format_number(ask_number(process, "lost"), lost),
				ask_number(process, "lost") ? style->plain : "",
				live ? "" : "  ended");
	}
}

/* Explains a running session in which no program and no kernel event is recorded. */
static void status_print_unjoined(struct json_object *answer, struct json_object *session)
{
	struct json_object *processes = ask_list(session, "processes"), *definition = NULL;
	const uint64_t programs = ask_number(answer, "programs");

	if (!processes || json_object_array_length(processes) || ask_number(session, "refused") ||
			ask_number(session, "untracked") ||
			strcmp(ask_text(session, "state"), "active") != 0 ||
			!json_object_object_get_ex(answer, "programs", NULL) ||
			(json_object_object_get_ex(session, "definition", &definition) &&
					kernel_session_has(definition)))
		return;
	if (programs)
		printf("\n  %" PRIu64
		       " program%s joined, but no event that the session records has happened\n",
				programs, programs == 1 ? " has" : "s have");
	else
		puts("\n  no running program has joined; programs that started before the daemon join with `side attach --daemon -p PID`");
}

/* Prints the programs that got no share of memory, connections or descriptions. */
static void status_print_refused(struct json_object *session, const struct style *style)
{
	struct json_object *waiting = ask_list(session, "waiting");
	uint64_t refused = ask_number(session, "refused");
	char text[FORMAT_NUMBER_MAX], name[128], reason[512];

	if (!refused)
		return;
	printf("\n  %sNOT RECORDED%s  %s program%s since the recorder started; those that still run try again\n",
			style->bad, style->plain, format_number(refused, text),
			refused == 1 ? "" : "s");
	for (size_t i = 0; waiting && i < json_object_array_length(waiting); i++) {
		struct json_object *one = json_object_array_get_idx(waiting, i);

		printf("  %-20s %8" PRIu64 "  user %" PRIu64 ": %s\n",
				format_printable(ask_text(one, "name"), name, sizeof(name)),
				ask_number(one, "pid"), ask_number(one, "uid"),
				format_printable(ask_text(one, "reason"), reason, sizeof(reason)));
	}
}

static void status_print_idle(struct json_object *session)
{
	uint64_t idle = ask_number(session, "idle");
	char text[FORMAT_NUMBER_MAX];

	if (idle)
		printf("\n  %s idle program%s no ring memory: it was reclaimed, and is allocated again at the next event\n",
				format_number(idle, text), idle == 1 ? " has" : "s have");
}

static void status_print_losses(struct json_object *losses, const struct style *style)
{
	if (!losses || !json_object_array_length(losses))
		return;
	printf("\n  %sLOST%s\n", style->strong, style->plain);
	for (size_t i = 0; i < json_object_array_length(losses); i++) {
		struct json_object *loss = json_object_array_get_idx(losses, i);
		char process[256], event[512], count[FORMAT_NUMBER_MAX];

		printf("  %12s  %s  %s (%s)\n", format_number(ask_number(loss, "count"), count),
				format_printable(ask_text(loss, "process"), process,
						sizeof(process)),
				*ask_text(loss, "event") ? format_printable(ask_text(loss, "event"),
									   event, sizeof(event))
							 : "events with unknown names",
				ask_text(loss, "reason"));
	}
}

/* Writes "15:04:05", with the date if that is not today. */
static const char *status_format_time(uint64_t ns, char text[32])
{
	time_t then = (time_t)(ns / 1000000000), now = time(NULL);
	struct tm there, here;

	localtime_r(&then, &there);
	localtime_r(&now, &here);
	strftime(text, 32,
			there.tm_yday == here.tm_yday && there.tm_year == here.tm_year
					? "%H:%M:%S"
					: "%Y-%m-%d %H:%M:%S",
			&there);
	return text;
}

/* Prints the users whose packets had no space in the spool. */
static void status_print_dropped_users(struct json_object *sending, const struct style *style)
{
	struct json_object *users = ask_list(sending, "dropped-users");
	size_t count = users ? json_object_array_length(users) : 0;
	char packets[FORMAT_NUMBER_MAX], events[FORMAT_NUMBER_MAX], name[32];

	for (size_t i = 0; i < count; i++) {
		struct json_object *user = json_object_array_get_idx(users, i);

		if (json_object_object_get_ex(user, "uid", NULL))
			snprintf(name, sizeof(name), "user %" PRIu64, ask_number(user, "uid"));
		else
			snprintf(name, sizeof(name), "other users");
		printf("             %slost for %s: %s packet%s, with %s event%s: the spool is full%s\n",
				style->bad, name,
				format_number(ask_number(user, "packets"), packets),
				ask_number(user, "packets") == 1 ? "" : "s",
				format_number(ask_number(user, "events"), events),
				ask_number(user, "events") == 1 ? "" : "s", style->plain);
	}
}

static void status_print_sending(struct json_object *session, const struct style *style)
{
	struct json_object *sending = NULL;
	char text[4200], packets[FORMAT_NUMBER_MAX], bytes[FORMAT_NUMBER_MAX], when[32];
	bool connected;
	uint64_t since, connections;

	if (!json_object_object_get_ex(session, "sending", &sending))
		return;
	connected = ask_flag(sending, "connected");
	since = ask_number(sending, "since");
	connections = ask_number(sending, "connections");
	printf("  sending    to %s\n             ",
			format_printable(ask_text(sending, "to"), text, sizeof(text)));
	if (since)
		printf("%s%s%s since %s", connected ? "" : style->bad,
				connected ? "connected" : "not connected", style->plain,
				status_format_time(since, when));
	else
		fputs("not connected yet", stdout);
	if (connections > 1)
		printf(", connection %" PRIu64, connections);
	if (*ask_text(sending, "why"))
		printf(": %s", format_printable(ask_text(sending, "why"), text, sizeof(text)));
	printf("\n             sent %s packet%s, %s",
			format_number(ask_number(sending, "packets"), packets),
			ask_number(sending, "packets") == 1 ? "" : "s",
			format_size(ask_number(sending, "bytes"), bytes));
	if (ask_number(sending, "events"))
		printf(", %s event%s", format_number(ask_number(sending, "events"), packets),
				ask_number(sending, "events") == 1 ? "" : "s");
	printf("; waiting %s packet%s, %s",
			format_number(ask_number(sending, "pending-packets"), packets),
			ask_number(sending, "pending-packets") == 1 ? "" : "s",
			format_size(ask_number(sending, "pending"), bytes));
	if (ask_number(sending, "dropped-packets"))
		printf("%s; lost %s packet%s, with %s", style->bad,
				format_number(ask_number(sending, "dropped-packets"), packets),
				ask_number(sending, "dropped-packets") == 1 ? "" : "s",
				format_number(ask_number(sending, "dropped-events"), bytes));
	if (ask_number(sending, "dropped-packets"))
		printf(" event%s%s", ask_number(sending, "dropped-events") == 1 ? "" : "s",
				style->plain);
	putchar('\n');
	status_print_dropped_users(sending, style);
}

static void status_print_full(struct ask *ask, struct json_object *answer,
		struct json_object *session, const struct style *style)
{
	const char *output = ask_text(session, "output"), *error = ask_text(session, "error");
	char text[4096], events[FORMAT_NUMBER_MAX], bytes[FORMAT_NUMBER_MAX],
			lost[FORMAT_NUMBER_MAX];

	printf("%ssession %s%s  %s\n", style->strong, ask_text(session, "name"), style->plain,
			ask_text(session, "state"));
	if (*error)
		printf("  %sreason%s     %s\n", style->bad, style->plain,
				format_printable(error, text, sizeof(text)));
	if (*output)
		printf("  traces     %s\n", format_printable(output, text, sizeof(text)));
	printf("  recorded   %s, %s%s%s%s%s\n",
			format_events(ask_number(session, "recorded"), events),
			format_size(ask_number(session, "bytes"), bytes),
			ask_number(session, "lost") ? style->bad : "",
			ask_number(session, "lost") ? "; lost " : "",
			ask_number(session, "lost")
					? format_number(ask_number(session, "lost"), lost)
					: "",
			ask_number(session, "lost") ? style->plain : "");
	if (ask_number(session, "overwritten"))
		printf("  overwritten %s of older events\n",
				format_size(ask_number(session, "overwritten"), bytes));
	if (ask_number(session, "snapshots"))
		printf("  snapshots  %s, with %s in all\n",
				format_number(ask_number(session, "snapshots"), bytes),
				format_events(ask_number(session, "snapshot-recorded"), events));
	if (ask_number(session, "restarts"))
		printf("  restarts   %" PRIu64 "\n", ask_number(session, "restarts"));
	if (ask_number(session, "missed-starts"))
		printf("  %slost%s       the start of %" PRIu64
		       " program%s: no recorder was running\n",
				style->bad, style->plain, ask_number(session, "missed-starts"),
				ask_number(session, "missed-starts") == 1 ? "" : "s");
	if (ask_number(session, "other-releases"))
		printf("  %srefused%s    %" PRIu64
		       " program%s with the agent of another release; restart %s\n",
				style->bad, style->plain, ask_number(session, "other-releases"),
				ask_number(session, "other-releases") == 1 ? "" : "s",
				ask_number(session, "other-releases") == 1 ? "it" : "them");
	status_print_sending(session, style);
	status_print_definition(session, style);
	status_print_kernel(ask, session, style);
	status_print_session_probes(session, style);
	status_print_processes(ask_list(session, "processes"), style);
	status_print_unjoined(answer, session);
	status_print_refused(session, style);
	status_print_idle(session);
	status_print_losses(ask_list(session, "losses"), style);
	ask_print_messages(session);
}

static void status_print_short(
		struct json_object *session, const char *current, const struct style *style)
{
	bool is_current = !strcmp(ask_text(session, "name"), current);
	char output[4096], events[FORMAT_NUMBER_MAX], bytes[FORMAT_NUMBER_MAX],
			lost[FORMAT_NUMBER_MAX];

	printf("%s %s%-20s%s %-10s %14s  %12s  %s%s%s%s\n", is_current ? "*" : " ", style->strong,
			ask_text(session, "name"), style->plain, ask_text(session, "state"),
			format_events(ask_number(session, "recorded"), events),
			format_size(ask_number(session, "bytes"), bytes),
			format_printable(ask_text(session, "output"), output, sizeof(output)),
			ask_number(session, "lost") ? "  lost " : "",
			ask_number(session, "lost") ? style->bad : "",
			ask_number(session, "lost")
					? format_number(ask_number(session, "lost"), lost)
					: "");
	fputs(ask_number(session, "lost") ? style->plain : "", stdout);
}

/* ---- the verb ---- */

static int status_print_json(struct json_object *session, const char *current)
{
	bool is_current = !strcmp(ask_text(session, "name"), current);

	ask_add(session, "current", json_object_new_boolean(is_current));
	return ask_is_cut_off() ? message_error(COMMAND_FAILED, NULL, "out of memory")
				: ask_print_json("session", session);
}

/*
 * Reports programs that do not see the daemon's directory and lost their rendezvous socket when the
 * daemon was restarted.
 */
static void status_print_closed_rendezvous(struct json_object *rendezvous_list)
{
	for (size_t i = 0; rendezvous_list && i < json_object_array_length(rendezvous_list); i++) {
		struct json_object *rendezvous = json_object_array_get_idx(rendezvous_list, i);
		uint64_t pid = ask_number(rendezvous, "pid");
		char hint[80];

		snprintf(hint, sizeof(hint),
				"`side attach --daemon -p %" PRIu64 "` creates another one", pid);
		message_note_hint(hint,
				"process %" PRIu64
				", and other programs in its mount namespace, cannot find this daemon: it cannot reopen the previous daemon's rendezvous socket %s (%s)",
				pid, ask_text(rendezvous, ask_renamed(rendezvous, "path", "door")),
				ask_text(rendezvous, "why"));
	}
}

int status_show(struct ask *ask, const char *name, bool json, bool color)
{
	const struct style *style = color ? &colors : &no_style;
	char current[ASK_NAME_MAX] = "";
	struct json_object *answer, *sessions;
	int status = ask_call(ask, control_request("status", name), ASK_TIMEOUT_MS, &answer);
	size_t count;

	if (status)
		return status;
	current_read(ask, current);
	sessions = ask_list(answer, "sessions");
	count = sessions ? json_object_array_length(sessions) : 0;
	if (!count && !json)
		message_note_hint("`side create` makes one", "there are no sessions");
	for (size_t i = 0; i < count && !status; i++) {
		struct json_object *session = json_object_array_get_idx(sessions, i);

		if (json)
			status = status_print_json(session, current);
		else if (name)
			status_print_full(ask, answer, session, style);
		else
			status_print_short(session, current, style);
	}
	status_print_closed_rendezvous(
			ask_list(answer, ask_renamed(answer, "closed-rendezvous", "closed-doors")));
	json_object_put(answer);
	return status;
}

int cmd_status(const struct parsed *parsed)
{
	const struct control_options *options = &parsed->options.control;
	const char *name = NULL;
	char buffer[ASK_NAME_MAX];
	struct ask ask;
	int status, printed;

	if (options->all && (parsed->operand_count || options->session))
		return message_error(COMMAND_USAGE, "leave one of them out",
				"cannot use `--all` with the name of a session");
	status = ask_connect_only(&ask, options->system);
	if (status)
		return status;
	if (!options->all &&
			(parsed->operand_count || options->session || current_read(&ask, buffer)))
		status = ask_which(&ask, parsed->operands[0], options->session, buffer, &name);
	if (!status)
		status = status_show(&ask, name, parsed->common.json,
				!parsed->common.json &&
						output_has_color(stdout, parsed->common.color));
	ask_close(&ask);
	printed = output_flush(stdout);
	return status ? status : printed;
}
