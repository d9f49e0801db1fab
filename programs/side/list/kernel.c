/* SPDX-License-Identifier: MIT */
/* The verb `kernel`: prints the events that programs pass to the kernel, and their listeners. */
#include "programs/common/command.h"
#include "kernel-table.h"
#include "programs/side/processes/running.h"
#include "programs/common/message.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const paths[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

struct kernel_view {
	const char *tracefs; /* NULL: not readable */
	size_t nr_events;
	bool unreadable; /* there are programs whose memory we may not read */
};

/* ---- state in the kernel ---- */

/* Returns what is missing, and the hint. NULL if nothing is. */
static const char *side_kernel_view_find_missing(struct kernel_view *view, const char **ret_hint)
{
	char path[128];
	size_t i;
	int error = ENOENT;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/user_events_status", paths[i]);
		if (!access(path, R_OK)) {
			view->tracefs = paths[i];
			return NULL;
		}
		if (errno == EACCES || errno == EPERM)
			error = EACCES;
	}
	if (error == EACCES) {
		*ret_hint = "run it as root";
		return "no permission to read kernel events";
	}
	(void)snprintf(path, sizeof(path), "%s/events", paths[0]);
	if (access(path, F_OK)) {
		*ret_hint = "`mount -t tracefs none /sys/kernel/tracing`\na container needs it mounted into it";
		return "tracefs is not mounted";
	}
	*ret_hint = "use Linux 6.4 or later with CONFIG_USER_EVENTS";
	return "the kernel has no user_events";
}

static void side_kernel_view_append_name(char *names, size_t capacity, const char *name)
{
	size_t size = strlen(names);

	if (!strstr(names, name))
		(void)snprintf(names + size, capacity - size, "%s%s", size ? " " : "", name);
}

/*
 * Adds listeners such as "ftrace perf" from user_events_status. An event with several formats has
 * numbers after its name there.
 */
static void side_kernel_view_add_status(const struct kernel_view *view,
		const struct side_kernel_event_0 *event, char *names, size_t capacity)
{
	char path[128], line[600], *remainder, *listener;
	size_t length = strlen(event->tracepoint);
	FILE *status;

	(void)snprintf(path, sizeof(path), "%s/user_events_status", view->tracefs);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status)) {
		char *used = strstr(line, " # Used by ");

		if (!used || strncmp(line, event->tracepoint, length) != 0 ||
				line[length] != (event->multi_format ? '.' : ' '))
			continue;
		for (listener = strtok_r(used + strlen(" # Used by "), " \n", &remainder); listener;
				listener = strtok_r(NULL, " \n", &remainder))
			side_kernel_view_append_name(names, capacity, listener);
	}
	if (status)
		(void)fclose(status);
}

/* Adds the instances of ftrace in which the event is enabled. */
static void side_kernel_view_add_instances(const struct kernel_view *view,
		const struct side_kernel_event_0 *event, char *names, size_t capacity)
{
	char pattern[512], path[600], name[128], byte;
	glob_t found;
	size_t i;

	(void)snprintf(pattern, sizeof(pattern), "%s/instances/*", view->tracefs);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (i = 0; i < found.gl_pathc; i++) {
		int fd;

		(void)snprintf(path, sizeof(path), "%.200s/events/user_events/%.270s/enable",
				found.gl_pathv[i], event->tracepoint);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		(void)snprintf(name, sizeof(name), "instance:%.100s",
				strrchr(found.gl_pathv[i], '/') + 1);
		if (read(fd, &byte, 1) == 1 && byte == '1')
			side_kernel_view_append_name(names, capacity, name);
		(void)close(fd);
	}
	globfree(&found);
}

/* ---- output ---- */

static const char *side_kernel_view_state_name(const struct side_kernel_event_0 *event)
{
	if (event->state != SIDE_KERNEL_EVENT_REGISTERED)
		return "refused";
	return event->eventheader ? "eventheader" : "native";
}

static void side_kernel_view_print_json(pid_t pid, const struct side_kernel_event_0 *event,
		const char *tracepoint, const char *listeners)
{
	char name[RUNNING_NAME_MAX];

	printf("{\"schema\":%d,\"type\":\"kernel_event\",\"event\":", OUTPUT_JSON_SCHEMA);
	print_json_string(stdout, event->name);
	fputs(",\"tracepoint\":", stdout);
	print_json_string(stdout, tracepoint);
	printf(",\"state\":\"%s\",\"pid\":%ld,\"program\":", side_kernel_view_state_name(event),
			(long)pid);
	print_json_string(stdout, running_name(pid, name));
	printf(",\"written\":%" PRIu64 ",\"cut\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"listeners\":",
			event->written, event->cut, event->lost);
	print_json_string(stdout, listeners);
	fputs(",\"reason\":", stdout);
	print_json_string(stdout, event->reason);
	puts("}");
}

static void side_kernel_view_print_text(pid_t pid, const struct side_kernel_event_0 *event,
		const char *tracepoint, const char *listeners)
{
	char name[RUNNING_NAME_MAX], shown[512], names[512];

	printf("%-24s %-11s %-36s %s %ld: %" PRIu64 " written",
			format_printable(event->name, shown, sizeof(shown)),
			side_kernel_view_state_name(event), tracepoint, running_name(pid, name),
			(long)pid, event->written);
	if (event->cut)
		printf(" (%" PRIu64 " shortened)", event->cut);
	if (event->lost)
		printf(", %" PRIu64 " lost", event->lost);
	if (event->state == SIDE_KERNEL_EVENT_REFUSED)
		printf("; %s", format_printable(event->reason, names, sizeof(names)));
	else
		printf("; %s%s", *listeners ? "listeners: " : "no listener", listeners);
	putchar('\n');
}

static void side_kernel_view_show_event(
		void *user, pid_t pid, const struct side_kernel_event_0 *event)
{
	struct kernel_view *view = user;
	char listeners[512] = "", tracepoint[320] = "-", printable[300];

	if (event->state == SIDE_KERNEL_EVENT_REGISTERED)
		(void)snprintf(tracepoint, sizeof(tracepoint), "user_events%s:%s%s",
				event->multi_format ? "_multi" : "",
				format_printable(event->tracepoint, printable, sizeof(printable)),
				event->multi_format ? ".*" : "");
	if (view->tracefs && event->state == SIDE_KERNEL_EVENT_REGISTERED) {
		side_kernel_view_add_status(view, event, listeners, sizeof(listeners));
		side_kernel_view_add_instances(view, event, listeners, sizeof(listeners));
	}
	view->nr_events++;
	if (output_is_json())
		side_kernel_view_print_json(pid, event, tracepoint, listeners);
	else
		side_kernel_view_print_text(pid, event, tracepoint, listeners);
}

static void side_kernel_view_show_problem(
		void *user, pid_t pid, const char *problem, const char *hint)
{
	char name[RUNNING_NAME_MAX], text[512], hint_text[512];

	(void)user;
	message_note_hint(format_printable(hint, hint_text, sizeof(hint_text)),
			"%s (%ld) writes no events to the kernel: %s", running_name(pid, name),
			(long)pid, format_printable(problem, text, sizeof(text)));
}

static int side_kernel_view_scan_tracers(struct kernel_view *view)
{
	const struct kernel_table_reader reader = {.event = side_kernel_view_show_event,
			.problem = side_kernel_view_show_problem,
			.user = view};
	size_t count, i;
	pid_t *pids;
	int found = running_find(&pids, &count);

	if (found)
		return message_search_error(found);
	for (i = 0; i < count; i++) {
		int ret = kernel_table_read(pids[i], &reader);

		view->unreadable |= ret == -EPERM || ret == -EACCES;
	}
	free(pids);
	if (view->unreadable)
		message_note_hint("run as root to see all", "some programs cannot be inspected");
	return COMMAND_DONE;
}

int cmd_kernel(const struct parsed *parsed)
{
	struct kernel_view view = {0};
	const char *hint = NULL, *missing;
	int status;

	if (strcmp(parsed->operands[0], "status") != 0)
		return command_unknown_word(parsed->verb, parsed->operands[0],
				(const char *const[]){"status", NULL},
				"did you mean `side kernel status`?");
	missing = side_kernel_view_find_missing(&view, &hint);
	status = side_kernel_view_scan_tracers(&view);
	if (!status && missing)
		return message_error(strncmp(missing, "no permission", 13) ? COMMAND_FAILED
									   : COMMAND_NOT_PERMITTED,
				hint, "%s", missing);
	if (!status && !view.nr_events)
		message_note_hint("start one with SIDE_USER_EVENTS=all",
				"no program writes events to the kernel");
	return status ? status : output_flush(stdout);
}
