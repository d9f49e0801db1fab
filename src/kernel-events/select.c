/* SPDX-License-Identifier: MIT */
/* Finds the kernel's events that the choices match: globs over the directories of tracefs. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>

#include "kernel-events/kernel-events.h"
#include "kernel-events/parts.h"

/* Systems whose events programs register and remove. */
static const char *const dynamic_systems[] = {"user_events", "user_events_multi"};

/* ---- choices ---- */

static int kernel_select_add_pattern(
		struct kernel_record *record, const char *text, struct error *error)
{
	struct pattern_error wrong;
	char sentence[ERROR_TEXT_SIZE];
	int count = pattern_parse_kernel(text, &record->patterns[record->nr_patterns], &wrong);

	if (count < 0) {
		pattern_error_text(sentence, sizeof(sentence), text, &wrong);
		return error_set(error, -EINVAL, NULL, "%s", sentence);
	}
	record->nr_patterns += (size_t)count;
	return 0;
}

int kernel_classes_take_choices(struct kernel_record *record, struct error *error)
{
	const struct kernel_record_options *options = &record->options;
	size_t i;
	int ret = 0;

	free(record->patterns);
	record->nr_patterns = 0;
	record->patterns = calloc(
			PATTERN_KERNEL_MAX * options->nr_choices + 1, sizeof(*record->patterns));
	if (!record->patterns)
		return error_set_no_memory(error);
	for (i = 0; i < options->nr_choices && !ret; i++)
		ret = kernel_select_add_pattern(record, options->choices[i].pattern, error);
	return ret;
}

/* Returns the filter of the last choice that matches this event, or NULL. */
static const char *kernel_select_choose_filter(
		const struct kernel_record *record, const char *system, const char *name)
{
	const char *filter = NULL;
	size_t i;

	for (i = 0; i < record->options.nr_choices; i++) {
		const struct kernel_record_choice *choice = &record->options.choices[i];
		struct pattern patterns[PATTERN_KERNEL_MAX];
		struct pattern_error wrong;
		int count;

		if (!choice->filter)
			continue;
		count = pattern_parse_kernel(choice->pattern, patterns, &wrong);
		while (count-- > 0)
			if (pattern_matches(&patterns[count], system, name, 0))
				filter = choice->filter;
	}
	return filter;
}

/* ---- one event ---- */

static void kernel_select_free_class(
		struct kernel_record *record, struct kernel_event_class *event_class)
{
	while (event_class->classes) {
		struct event_class_variant *next = event_class->classes->next;

		if (event_class->classes->described && record->sink->gone)
			record->sink->gone(record, &event_class->classes->event);
		ctf_arena_destroy(event_class->classes->arena);
		free(event_class->classes->key);
		free(event_class->classes);
		event_class->classes = next;
	}
	if (event_class->described && record->sink->gone)
		record->sink->gone(record, &event_class->event);
	kernel_filter_drop(event_class);
	kernel_format_free(&event_class->format);
	layout_free(&event_class->layout);
	ctf_arena_destroy(event_class->arena);
	free(event_class->received);
	free(event_class->reported);
	free(event_class->system);
	free(event_class->name);
	free(event_class);
}

void kernel_classes_forget(struct kernel_record *record)
{
	while (record->event_classes) {
		struct kernel_event_class *next = record->event_classes->next;

		record->by_id[record->event_classes->id] = NULL;
		kernel_select_free_class(record, record->event_classes);
		record->event_classes = next;
	}
	record->summary.event_classes = 0;
}

void kernel_classes_free(struct kernel_record *record)
{
	kernel_classes_forget(record);
	free(record->by_id);
	free(record->patterns);
	record->by_id = NULL;
	record->patterns = NULL;
}

static bool kernel_select_has_class(
		const struct kernel_record *record, const char *system, const char *name)
{
	const struct kernel_event_class *event_class;

	for (event_class = record->event_classes; event_class; event_class = event_class->next)
		if (!strcmp(event_class->name, name) && !strcmp(event_class->system, system))
			return true;
	return false;
}

static int kernel_select_read_format(struct kernel_record *record,
		struct kernel_event_class *event_class, struct error *error)
{
	char path[700], *text;
	ssize_t size;
	int ret;

	(void)snprintf(path, sizeof(path), "%s/events/%.255s/%.300s/format", record->tracefs,
			event_class->system, event_class->name);
	size = tracefs_read(path, &text);
	if (size < 0)
		return error_set(error, (int)size, size == -EACCES ? "run it as root" : NULL,
				"cannot read %s: %s", path, strerror((int)-size));
	ret = kernel_format_parse(text, (size_t)size, &event_class->format);
	free(text);
	if (ret == -ENOMEM)
		return error_set_no_memory(error);
	if (ret)
		return error_set(error, ret, NULL, "cannot parse %s", path);
	event_class->id = event_class->format.id;
	return 0;
}

/*
 * The kernel may give a new event the id of a removed one. Then the id leads to the new class; the
 * old one stays in the trace.
 */
static void kernel_select_link_class(
		struct kernel_record *record, struct kernel_event_class *event_class)
{
	record->by_id[event_class->id] = event_class;
	event_class->next = record->event_classes;
	record->event_classes = event_class;
	record->summary.event_classes++;
}

static int kernel_select_add_class(struct kernel_record *record, const char *system,
		const char *name, struct error *error)
{
	struct kernel_event_class *event_class = calloc(1, sizeof(*event_class));
	int ret = -ENOMEM;

	if (!event_class)
		return error_set_no_memory(error);
	event_class->system = strdup(system);
	event_class->name = strdup(name);
	event_class->received = calloc(record->nr_cpus, sizeof(*event_class->received));
	event_class->reported = calloc(record->nr_cpus, sizeof(*event_class->reported));
	event_class->filter = kernel_select_choose_filter(record, system, name);
	if (event_class->system && event_class->name && event_class->received &&
			event_class->reported)
		ret = kernel_select_read_format(record, event_class, error);
	else
		error_set_no_memory(error);
	if (!ret && record->sink->chooses)
		ret = kernel_describe_class(record, event_class);
	/* Enabled last: records may arrive immediately. */
	if (!ret && (!record->sink->chooses || record->enables_found))
		ret = record->backend->add(record, event_class, error);
	event_class->on = !ret && record->enables_found;
	if (ret) {
		kernel_select_free_class(record, event_class);
		return ret;
	}
	kernel_select_link_class(record, event_class);
	return 0;
}

/* ---- scanning ---- */

/* Adds the events of one system that the patterns select: each subdirectory is an event. */
static int kernel_select_scan_system(
		struct kernel_record *record, const char *system, bool late, struct error *error)
{
	struct dirent *entry;
	char path[400];
	DIR *folder;
	int ret = 0;

	(void)snprintf(path, sizeof(path), "%s/events/%.255s", record->tracefs, system);
	folder = opendir(path);
	while (folder && !ret && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.' || entry->d_type == DT_REG ||
				!pattern_set_wants(record->patterns, record->nr_patterns, system,
						entry->d_name, 0) ||
				kernel_select_has_class(record, system, entry->d_name))
			continue;
		ret = kernel_select_add_class(record, system, entry->d_name, error);
		/*
		 * Ignore an event that was removed meanwhile. Failures of dynamic events, and of
		 * events that are only listed, are no errors either.
		 */
		if (ret == -ENOENT || ret == -ENODEV || late ||
				(record->sink->chooses && !record->enables_found))
			ret = 0;
	}
	if (folder)
		closedir(folder);
	return ret;
}

static int kernel_select_scan_all_systems(struct kernel_record *record, struct error *error)
{
	struct dirent *entry;
	char path[100];
	DIR *folder;
	int ret = 0;

	(void)snprintf(path, sizeof(path), "%s/events", record->tracefs);
	folder = opendir(path);
	if (!folder)
		return error_set(error, -errno, "run it as root", "cannot read %s: %s", path,
				strerror(errno));
	while (!ret && (entry = readdir(folder))) {
		/* The events of the system "ftrace" cannot be enabled. */
		if (entry->d_name[0] != '.' && entry->d_type != DT_REG &&
				strcmp(entry->d_name, "ftrace") != 0)
			ret = kernel_select_scan_system(record, entry->d_name, false, error);
	}
	closedir(folder);
	return ret;
}

/*
 * True if the pattern may match events that programs register later. `*:name` does not: otherwise
 * each misspelled name would wait for an event instead of being reported.
 */
static bool kernel_select_may_appear(const struct pattern *pattern)
{
	const char *colon = strchr(pattern->glob, ':');
	char system[PATTERN_TEXT_MAX + 3];
	struct pattern one;
	struct pattern_error wrong;
	size_t i;

	if (!colon || (!strncmp(pattern->glob, "*:", 2) && strcmp(pattern->glob, "*:*") != 0))
		return false;
	(void)snprintf(system, sizeof(system), "%.*s", (int)(colon - pattern->glob), pattern->glob);
	if (pattern_parse(system, &one, &wrong))
		return true;
	for (i = 0; i < sizeof(dynamic_systems) / sizeof(dynamic_systems[0]); i++)
		if (pattern_matches(&one, dynamic_systems[i], "x", 0))
			return true;
	return false;
}

static int kernel_select_scan_tracefs(const char *tracefs, const struct pattern *patterns,
		size_t nr, kernel_record_name *each, void *user)
{
	struct dirent *system, *event;
	char path[400];
	DIR *systems, *folder;
	int ret = 0;

	(void)snprintf(path, sizeof(path), "%s/events", tracefs);
	systems = opendir(path);
	while (systems && !ret && (system = readdir(systems))) {
		if (system->d_name[0] == '.' || system->d_type == DT_REG ||
				!strcmp(system->d_name, "ftrace"))
			continue;
		(void)snprintf(path, sizeof(path), "%s/events/%.255s", tracefs, system->d_name);
		folder = opendir(path);
		while (folder && !ret && (event = readdir(folder)))
			if (event->d_name[0] != '.' && event->d_type != DT_REG &&
					pattern_set_wants(patterns, nr, system->d_name,
							event->d_name, 0))
				ret = each(user, system->d_name, event->d_name);
		if (folder)
			closedir(folder);
	}
	if (systems)
		closedir(systems);
	return ret;
}

static int kernel_select_stop_at_first(void *user, const char *system, const char *name)
{
	(void)user;
	(void)system;
	(void)name;
	return 1;
}

int kernel_record_each(const char *const *texts, size_t nr, kernel_record_name *each, void *user,
		struct error *error)
{
	struct kernel_record *record = calloc(1, sizeof(*record));
	struct kernel_record_choice *choices = calloc(nr + 1, sizeof(*choices));
	int ret;
	size_t i;

	if (!record || !choices) {
		free(record);
		free(choices);
		return error_set_no_memory(error);
	}
	for (i = 0; i < nr; i++)
		choices[i].pattern = texts[i];
	ret = tracefs_find(record->tracefs, sizeof(record->tracefs), error);
	if (!ret) {
		record->options.choices = choices;
		record->options.nr_choices = nr;
		ret = kernel_classes_take_choices(record, error);
	}
	if (!ret)
		ret = kernel_select_scan_tracefs(
				record->tracefs, record->patterns, record->nr_patterns, each, user);
	free(choices);
	free(record ? record->patterns : NULL);
	free(record);
	return ret;
}

bool kernel_classes_know(const struct kernel_record *record, const char *text)
{
	struct pattern patterns[PATTERN_KERNEL_MAX];
	struct pattern_error wrong;
	int count = pattern_parse_kernel(text, patterns, &wrong), i;

	if (count < 0)
		return false;
	for (i = 0; i < count; i++)
		if (kernel_select_may_appear(&patterns[i]))
			return true;
	return kernel_select_scan_tracefs(record->tracefs, patterns, (size_t)count,
			kernel_select_stop_at_first, NULL);
}

/*
 * Free the event classes whose event has been removed: another event may get the name or the
 * number.
 */
static void kernel_select_drop_removed(struct kernel_record *record)
{
	struct kernel_event_class **at = &record->event_classes, *event_class;

	while ((event_class = *at)) {
		char path[700], *text = NULL;
		size_t i;
		bool late = false, there = true;

		for (i = 0; i < sizeof(dynamic_systems) / sizeof(dynamic_systems[0]); i++)
			late |= !strcmp(event_class->system, dynamic_systems[i]);
		if (late && !event_class->on) {
			(void)snprintf(path, sizeof(path), "%s/events/%.255s/%.300s/id",
					record->tracefs, event_class->system, event_class->name);
			there = tracefs_read(path, &text) > 0 &&
					strtoul(text, NULL, 10) == event_class->id;
			free(text);
		}
		if (there) {
			at = &event_class->next;
			continue;
		}
		*at = event_class->next;
		if (record->by_id[event_class->id] == event_class)
			record->by_id[event_class->id] = NULL;
		kernel_select_free_class(record, event_class);
	}
}

/*
 * True if a choice is the name of a system call instead of an event, as strace and lttng accept it.
 */
static bool kernel_select_is_system_call(const struct kernel_record *record)
{
	char call[128];

	for (size_t i = 0; i < record->options.nr_choices; i++) {
		const char *name = record->options.choices[i].pattern;

		(void)snprintf(call, sizeof(call), "syscalls:sys_enter_%.100s", name);
		if (!strpbrk(name, ":*!") && kernel_classes_know(record, call))
			return true;
	}
	return false;
}

int kernel_classes_scan(struct kernel_record *record, bool late, struct error *error)
{
	size_t i;
	int ret;

	if (late && !record->waits_for_dynamic)
		return 0;
	/* No choices select no events here; an empty list of patterns would select all. */
	if (record->sink->chooses && !record->nr_patterns)
		return 0;
	if (record->sink->chooses)
		kernel_select_drop_removed(record);
	if (late) {
		for (i = 0; i < sizeof(dynamic_systems) / sizeof(dynamic_systems[0]); i++)
			(void)kernel_select_scan_system(record, dynamic_systems[i], true, error);
		return 0;
	}
	record->waits_for_dynamic = false;
	ret = kernel_select_scan_all_systems(record, error);
	for (i = 0; i < record->nr_patterns; i++)
		record->waits_for_dynamic |= !record->patterns[i].exclude &&
				kernel_select_may_appear(&record->patterns[i]);
	/*
	 * `sched:swich` matches nothing: an error. `user_events:*` matches events that programs
	 * will register.
	 */
	if (ret || record->event_classes || record->waits_for_dynamic ||
			(record->sink->chooses && !record->enables_found))
		return ret;
	return error_set(error, -EINVAL,
			kernel_select_is_system_call(record)
					? "use `--syscall NAME` for a system call"
					: "`side list -k` lists the kernel's trace events",
			"no kernel trace event matches %s",
			record->options.nr_choices == 1 ? record->options.choices[0].pattern
							: "any of the patterns");
}
