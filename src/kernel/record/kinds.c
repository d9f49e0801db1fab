/* SPDX-License-Identifier: MIT */
/* Which of the kernel's events are wanted: globs over the folders of tracefs. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>

#include "kernel/record/parts.h"

/* Groups whose events come and go with programs. */
static const char *const late_systems[] = {"user_events", "user_events_multi"};

/* ---- what was asked for ---- */

/* A text without a colon may name a system, as everywhere here, or an event, as users of other tracers write it. */
static int take_pattern(
		struct kernel_record *record, const char *text, struct kernel_record_error *error)
{
	struct pattern_error wrong;
	char sentence[256], event[PATTERN_TEXT_MAX + 1];
	bool exclude = *text == '!';

	if (pattern_parse(text, &record->patterns[record->nr_patterns], &wrong)) {
		pattern_error_text(sentence, sizeof(sentence), text, &wrong);
		return record_fail(error, -EINVAL, NULL, "%s", sentence);
	}
	record->nr_patterns++;
	if (strpbrk(text, ":@") ||
			snprintf(event, sizeof(event), "%s*:%s", exclude ? "!" : "",
					text + exclude) >= (int)sizeof(event))
		return 0;
	if (!pattern_parse(event, &record->patterns[record->nr_patterns], &wrong))
		record->nr_patterns++;
	return 0;
}

int kernel_kinds_take_choices(struct kernel_record *record, struct kernel_record_error *error)
{
	const struct kernel_record_options *options = &record->options;
	size_t i;
	int ret = 0;

	record->patterns = calloc(2 * options->nr_choices + 1, sizeof(*record->patterns));
	if (!record->patterns)
		return record_fail(error, -ENOMEM, NULL, "no memory");
	for (i = 0; i < options->nr_choices && !ret; i++)
		ret = take_pattern(record, options->choices[i].pattern, error);
	return ret;
}

/* The filter of the last choice that means this event. */
static const char *filter_of(
		const struct kernel_record *record, const char *system, const char *name)
{
	const char *filter = NULL;
	size_t i;

	for (i = 0; i < record->options.nr_choices; i++) {
		const struct kernel_record_choice *choice = &record->options.choices[i];
		char event[PATTERN_TEXT_MAX + 1];
		struct pattern pattern;
		struct pattern_error wrong;
		bool means;

		if (!choice->filter || pattern_parse(choice->pattern, &pattern, &wrong))
			continue;
		means = pattern_matches(&pattern, system, name, 0);
		if (!means && !strpbrk(choice->pattern, ":@") &&
				snprintf(event, sizeof(event), "*:%s", choice->pattern) <
						(int)sizeof(event) &&
				!pattern_parse(event, &pattern, &wrong))
			means = pattern_matches(&pattern, system, name, 0);
		if (means)
			filter = choice->filter;
	}
	return filter;
}

/* ---- one event ---- */

static void free_kind(struct kind *kind)
{
	while (kind->classes) {
		struct kind_class *next = kind->classes->next;

		ctf_arena_destroy(kind->classes->arena);
		free(kind->classes->key);
		free(kind->classes);
		kind->classes = next;
	}
	kernel_format_free(&kind->format);
	layout_free(&kind->layout);
	free(kind->received);
	free(kind->system);
	free(kind->name);
	free(kind);
}

void kernel_kinds_forget(struct kernel_record *record)
{
	while (record->kinds) {
		struct kind *next = record->kinds->next;

		record->by_id[record->kinds->id] = NULL;
		free_kind(record->kinds);
		record->kinds = next;
	}
	record->summary.kinds = 0;
}

void kernel_kinds_free(struct kernel_record *record)
{
	kernel_kinds_forget(record);
	free(record->by_id);
	free(record->patterns);
	record->by_id = NULL;
	record->patterns = NULL;
}

static bool is_known(const struct kernel_record *record, const char *system, const char *name)
{
	const struct kind *kind;

	for (kind = record->kinds; kind; kind = kind->next)
		if (!strcmp(kind->name, name) && !strcmp(kind->system, system))
			return true;
	return false;
}

static int read_format(
		struct kernel_record *record, struct kind *kind, struct kernel_record_error *error)
{
	char path[700], *text;
	ssize_t size;
	int ret;

	(void)snprintf(path, sizeof(path), "%s/events/%.255s/%.300s/format", record->tracefs,
			kind->system, kind->name);
	size = tracefs_read(path, &text);
	if (size < 0)
		return record_fail(error, (int)size, size == -EACCES ? "run it as root" : NULL,
				"cannot read %s: %s", path, strerror((int)-size));
	ret = kernel_format_parse(text, (size_t)size, &kind->format);
	free(text);
	if (ret)
		return record_fail(error, ret, NULL, "%s cannot be understood", path);
	kind->id = kind->format.id;
	return 0;
}

/* An event that was removed leaves its number to another one: the trace keeps both. */
static void link_kind(struct kernel_record *record, struct kind *kind)
{
	record->by_id[kind->id] = kind;
	kind->next = record->kinds;
	record->kinds = kind;
	record->summary.kinds++;
}

static int add_kind(struct kernel_record *record, const char *system, const char *name,
		struct kernel_record_error *error)
{
	struct kind *kind = calloc(1, sizeof(*kind));
	int ret = -ENOMEM;

	if (!kind)
		return record_fail(error, -ENOMEM, NULL, "no memory");
	kind->system = strdup(system);
	kind->name = strdup(name);
	kind->received = calloc(record->nr_cpus, sizeof(*kind->received));
	kind->filter = filter_of(record, system, name);
	if (kind->system && kind->name && kind->received)
		ret = read_format(record, kind, error);
	else
		record_fail(error, -ENOMEM, NULL, "no memory");
	/* Records may come as soon as it is switched on. */
	if (!ret)
		ret = record->way->add(record, kind, error);
	if (ret) {
		free_kind(kind);
		return ret;
	}
	link_kind(record, kind);
	return 0;
}

/* ---- looking ---- */

/* What has files `id` and `format` is an event; ftrace's own ones cannot be switched on. */
static int look_into(struct kernel_record *record, const char *system, bool late,
		struct kernel_record_error *error)
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
				is_known(record, system, entry->d_name))
			continue;
		ret = add_kind(record, system, entry->d_name, error);
		/* It may have gone just now. */
		if (ret == -ENOENT || ret == -ENODEV || late)
			ret = 0;
	}
	if (folder)
		closedir(folder);
	return ret;
}

static int look_everywhere(struct kernel_record *record, struct kernel_record_error *error)
{
	struct dirent *entry;
	char path[100];
	DIR *folder;
	int ret = 0;

	(void)snprintf(path, sizeof(path), "%s/events", record->tracefs);
	folder = opendir(path);
	if (!folder)
		return record_fail(error, -errno, "run it as root", "cannot read %s: %s", path,
				strerror(errno));
	while (!ret && (entry = readdir(folder))) {
		if (entry->d_name[0] != '.' && entry->d_type != DT_REG &&
				strcmp(entry->d_name, "ftrace") != 0)
			ret = look_into(record, entry->d_name, false, error);
	}
	closedir(folder);
	return ret;
}

/* May events come later that this pattern means? `*:name` means one that is there: else each slip would wait. */
static bool may_come(const struct pattern *pattern)
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
	for (i = 0; i < sizeof(late_systems) / sizeof(late_systems[0]); i++)
		if (pattern_matches(&one, late_systems[i], "x", 0))
			return true;
	return false;
}

int kernel_kinds_look(struct kernel_record *record, bool late, struct kernel_record_error *error)
{
	size_t i;
	int ret;

	if (late && !record->waits_for_late)
		return 0;
	if (late) {
		for (i = 0; i < sizeof(late_systems) / sizeof(late_systems[0]); i++)
			(void)look_into(record, late_systems[i], true, error);
		return 0;
	}
	ret = look_everywhere(record, error);
	for (i = 0; i < record->nr_patterns; i++)
		record->waits_for_late |=
				!record->patterns[i].exclude && may_come(&record->patterns[i]);
	/* `sched:swich` means nothing, `user_events:*` what programs will register. */
	if (ret || record->kinds || record->waits_for_late)
		return ret;
	return record_fail(error, -EINVAL,
			"`ls /sys/kernel/tracing/events/*` shows those that there are",
			"the kernel has no trace event that %s means",
			record->options.nr_choices == 1 ? record->options.choices[0].pattern
							: "any of the patterns");
}
