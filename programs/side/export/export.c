/* SPDX-License-Identifier: MIT */
/* The verb `export`: its command line, its file, and the way through the trace. */
#include "programs/side/export/export.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "programs/side/cli/confine.h"
#include "programs/common/message.h"
#include "programs/side/analysis/select.h"
#include "analysis/view.h"
#include "base/nearest/nearest.h"

#define FLUSH_SIZE (1u << 20)

/* ---- the file ---- */

int export_flush(struct export *export)
{
	const char *at = export->out.begin;

	while (at < export->out.at) {
		ssize_t done = write(export->fd, at, (size_t)(export->out.at - at));

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			export->write_error = done < 0 ? -errno : -EIO;
			return export->write_error;
		}
		at += done;
	}
	export->out.at = export->out.begin;
	return export->out.failed ? -ENOMEM : 0;
}

static int export_print_cannot_write(const struct export *export, int error)
{
	/* Whoever read the other end had enough (`| head`): the usual end, no message. */
	if (error == -EPIPE)
		return COMMAND_SIGNAL + SIGPIPE;
	return message_error(COMMAND_FAILED,
			error == -ENOSPC ? "free some space there, or write to another directory"
					 : NULL,
			"cannot write %s: %s", export->path, strerror(-error));
}

static bool is_binary(const struct export_options *options)
{
	return options->format == EXPORT_PERFETTO;
}

/* A file that is written as a whole: another process gives it its name. */
static int open_partial(struct export *export)
{
	int ret;

	if (asprintf(&export->partial, "%s.partial", export->path) < 0) {
		export->partial = NULL;
		return export_print_cannot_write(export, -ENOMEM);
	}
	export->fd = open(export->partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (export->fd < 0)
		return export_print_cannot_write(export, -errno);
	ret = keeper_start(&export->keeper, export->partial, export->path);
	if (!ret)
		return COMMAND_DONE;
	unlink(export->partial);
	return export_print_cannot_write(export, ret);
}

static int export_open_output(struct export *export)
{
	const char *path = export->options->output;
	struct stat stat_of;

	export->fd = STDOUT_FILENO;
	export->path = "to standard output";
	if (!path || !strcmp(path, "-")) {
		if (is_binary(export->options) && isatty(STDOUT_FILENO))
			return message_error(COMMAND_USAGE, "add `-o FILE`",
					"a Perfetto trace is not for the terminal");
		return COMMAND_DONE;
	}
	export->path = path;
	/* A pipe, a device: written as it is. */
	if (!stat(path, &stat_of) && !S_ISREG(stat_of.st_mode)) {
		export->fd = open(path, O_WRONLY | O_CLOEXEC);
	} else {
		return open_partial(export);
	}
	return export->fd < 0 ? export_print_cannot_write(export, -errno) : COMMAND_DONE;
}

/* The file gets its name, or is removed. */
static int export_close_output(struct export *export, bool good)
{
	int error = 0;

	int renamed;

	if (export->fd > STDERR_FILENO && close(export->fd))
		error = -errno;
	renamed = keeper_end(&export->keeper, good && !error);
	error = error ? error : renamed;
	free(export->partial);
	return good && error ? export_print_cannot_write(export, error) : COMMAND_DONE;
}

/* ---- classes of events ---- */

static void export_free_class(void *own)
{
	struct export_class *class = own;

	pair_class_free(&class->pair);
	if (class->format && class->ops->free_class)
		class->ops->free_class(class->format);
	free(class);
}

static void *export_create_class(void *user, struct walk_class *walk, const struct ctf_item *item)
{
	struct export *export = user;
	struct export_class *class = calloc(1, sizeof(*class));

	if (!class)
		return NULL;
	class->ops = export->ops;
	if (pair_class_make(&export->pairs, &class->pair, item, walk->view, NULL)) {
		export_free_class(class);
		return NULL;
	}
	return class;
}

/* ---- slices ---- */

/* Which lanes are taken in a rule and a process. */
struct export_lanes {
	bool *busy;
	uint32_t capacity;
	uint32_t first; /* No free one is before this. */
};

static struct export_lanes *lanes_of(struct export *export, unsigned int rule, uint32_t process)
{
	uint32_t key[2] = {rule, process}, known = export->lane_keys.count, number;
	struct export_lanes *grown;

	number = keys_add(&export->lane_keys, key, sizeof(key));
	if (number == KEYS_NONE)
		return NULL;
	if (number == known) {
		grown = realloc(export->lanes, ((size_t)known + 1) * sizeof(*grown));
		if (!grown)
			return NULL;
		export->lanes = grown;
		grown[known] = (struct export_lanes){0};
	}
	return &export->lanes[number];
}

static int take_lane(struct export_lanes *lanes, uint32_t *lane)
{
	while (lanes->first < lanes->capacity && lanes->busy[lanes->first])
		lanes->first++;
	if (lanes->first == lanes->capacity) {
		uint32_t capacity = lanes->capacity ? lanes->capacity * 2 : 8;
		bool *grown = realloc(lanes->busy, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		memset(grown + lanes->capacity, 0, (capacity - lanes->capacity) * sizeof(*grown));
		lanes->busy = grown;
		lanes->capacity = capacity;
	}
	*lane = lanes->first;
	lanes->busy[*lane] = true;
	return 0;
}

static int begin_slice(struct export *export, const struct ctf_item *item, struct walk_class *class,
		struct export_slice *slice, const struct pair_key *key)
{
	struct export_class *own = class->own;
	/* Names live as long as the trace is open. */
	struct pair_open open = {.ns = item->ns,
			.number = (uintptr_t)item->event->name,
			.process = own->process,
			.thread = own->thread};
	struct pair_open above;
	struct export_lanes *lanes;
	int ret = 0;

	if (export->pairs.has_key && pairs_top(&export->pairs, slice->rule, key, &above)) {
		/* Inside another one of the same key. */
		open.scope = above.scope;
		open.process = above.process;
	} else if (export->pairs.has_key && key->there) {
		lanes = lanes_of(export, slice->rule, own->process);
		ret = lanes ? take_lane(lanes, &open.scope) : -ENOMEM;
	}
	if (!ret)
		ret = pairs_begin(&export->pairs, slice->rule, key, &open);
	slice->end = false;
	slice->name = item->event->name;
	slice->lane = open.scope;
	slice->process = open.process;
	slice->thread = own->thread;
	return ret ? ret : export->ops->event(export, item, class, slice);
}

static int end_slice(struct export *export, const struct ctf_item *item, struct walk_class *class,
		struct export_slice *slice, const struct pair_key *key,
		const struct pair_open *open)
{
	struct export_lanes *lanes;

	if (export->pairs.has_key && !pairs_is_open(&export->pairs, slice->rule, key)) {
		lanes = lanes_of(export, slice->rule, open->process);
		if (!lanes)
			return -ENOMEM;
		lanes->busy[open->scope] = false;
		if (open->scope < lanes->first)
			lanes->first = open->scope;
	}
	slice->end = true;
	slice->name = (const char *)(uintptr_t)open->number;
	slice->lane = open->scope;
	slice->process = open->process;
	slice->thread = open->thread;
	return export->ops->event(export, item, class, slice);
}

/* 1: the event is the begin or end of slices; 0: it is not. */
static int take_slices(struct export *export, const struct ctf_item *item, struct walk_class *class)
{
	struct export_class *own = class->own;
	uint64_t rules = own->pair.begins | own->pair.ends;
	struct pair_key key =
			pairs_key(&export->pairs, &own->pair, item, own->process, own->thread);
	int ret = 0, any = 0;

	for (; rules && !ret; rules &= rules - 1) {
		unsigned int rule = (unsigned int)__builtin_ctzll(rules);
		struct export_slice slice = {.rule = rule,
				.nested = export->pairs.rule_count == 1 && !export->pairs.has_key};
		struct pair_open open;

		if (own->pair.ends >> rule & 1 && pairs_end(&export->pairs, rule, &key, &open)) {
			ret = end_slice(export, item, class, &slice, &key, &open);
			any = 1;
		}
		if (!ret && own->pair.begins >> rule & 1 && key.there) {
			ret = begin_slice(export, item, class, &slice, &key);
			any = 1;
		}
	}
	return ret ? ret : any;
}

/* ---- the way through the trace ---- */

static int export_write_item(
		struct export *export, const struct ctf_item *item, struct walk_class *class)
{
	struct export_class *own;
	int ret = 0;

	if (!class || class->lost) {
		if (class && !walk_lost_is_bytes(item))
			export->lost += walk_lost_count(item);
		if (identity_of_trace(&export->identity, item->trace) == KEYS_NONE)
			return -ENOMEM;
		return export->ops->loss ? export->ops->loss(export, item, class) : 0;
	}
	own = class->own;
	own->process = identity_process(&export->identity, &own->identity, item);
	if (own->process == KEYS_NONE)
		return -ENOMEM;
	own->thread = identity_thread(&own->identity, item);
	if (own->pair.begins | own->pair.ends)
		ret = take_slices(export, item, class);
	return ret ? (ret < 0 ? ret : 0) : export->ops->event(export, item, class, NULL);
}

static int export_write_all(struct export *export)
{
	struct walk_class *class;
	struct ctf_item item;
	int ret = export->ops->start ? export->ops->start(export) : 0;

	while (!ret && (ret = walk_next(&export->walk, &item, &class)) > 0) {
		ret = export_write_item(export, &item, class);
		if (!ret && view_out_size(&export->out) >= FLUSH_SIZE)
			ret = export_flush(export);
	}
	if (!ret && export->ops->finish)
		ret = export->ops->finish(export);
	return ret ? ret : export_flush(export);
}

static void free_export(struct export *export)
{
	if (export->ops->free)
		export->ops->free(export);
	walk_close(&export->walk);
	identity_free(&export->identity);
	pairs_free(&export->pairs);
	for (uint32_t i = 0; i < export->lane_keys.count; i++)
		free(export->lanes[i].busy);
	free(export->lanes);
	keys_free(&export->lane_keys);
	view_out_free(&export->out);
}

static bool lacks_threads(const struct report_pairs *pairs)
{
	for (unsigned int i = 0; i < pairs->rule_count; i++) {
		if (pairs->rules[i].no_thread)
			return true;
	}
	return false;
}

/* For tables. It is removed again if it remains empty. */
static int export_make_directory(struct export *export)
{
	int ret;

	if (mkdir(export->path, CTF_DIRECTORY_MODE))
		return errno == EEXIST ? COMMAND_DONE : export_print_cannot_write(export, -errno);
	ret = keeper_start(&export->keeper, export->path, NULL);
	if (!ret)
		return COMMAND_DONE;
	rmdir(export->path);
	return export_print_cannot_write(export, ret);
}

static int export_items(
		const struct export_options *options, const char *dir, const struct export_ops *ops)
{
	struct export export = {.options = options, .ops = ops, .fd = -1, .keeper = {.socket = -1}};
	struct report_walk_options walk = {.verb = "export",
			.dir = dir,
			.patterns = &options->patterns,
			.where = options->filter,
			.times = options->times};
	char number[FORMAT_NUMBER_MAX];
	int status = pairs_create(&export.pairs, &options->pairs, options->key, options->across);
	int ret;

	if (!status)
		status = walk_prepare(&export.walk, &walk);
	export.path = options->output;
	if (!status)
		status = ops == &export_tables ? export_make_directory(&export)
					       : export_open_output(&export);
	confine(dir, ops == &export_tables ? options->output : NULL);
	if (!status)
		status = walk_open(&export.walk);
	if (!status) {
		export.walk.own_create = export_create_class;
		export.walk.own_free = export_free_class;
		export.walk.user = &export;
		ret = export_write_all(&export);
		if (ret && export.write_error)
			status = export_print_cannot_write(&export, export.write_error);
		else if (ret)
			status = message_error(COMMAND_FAILED, NULL,
					"cannot go on exporting %s: %s", dir, strerror(-ret));
		else if (export.lost && !ops->loss)
			message_note("%s event%s lost while recording",
					format_number(export.lost, number),
					export.lost == 1 ? " was" : "s were");
		if (!status && !export.walk.events)
			walk_note_nothing(&export.walk);
		if (!status && lacks_threads(&export.pairs))
			message_note("%s", PAIRS_NO_THREAD);
	}
	ret = export_close_output(&export, !status);
	status = status ? status : ret;
	if (!status && export.walk.damaged)
		status = COMMAND_FAILED;
	free_export(&export);
	return status;
}

/* ---- JSON lines: what the view prints ---- */

struct export_json_lines {
	struct pattern *patterns;
	size_t count;
};

static bool export_event_is_selected(void *context, const char *name, int loglevel)
{
	const struct export_json_lines *lines = context;

	return walk_pattern_wants(lines->patterns, lines->count, name, loglevel);
}

static void export_print_message(enum view_message kind, const char *hint, const char *sentence)
{
	if (kind == VIEW_NOTE)
		message_note("%s", sentence);
	else
		message_error(COMMAND_FAILED, hint, "%s", sentence);
}

static void note_nothing(void *context, const struct ctf_reader *reader)
{
	const struct export *export = context;

	command_nothing_fits(reader,
			&(const struct report_walk_options){.verb = "export",
					.dir = export->dir,
					.patterns = &export->options->patterns,
					.times = export->options->times},
			export->options->filter);
}

static int export_lines(const struct export_options *options, const char *dir)
{
	struct export export = {.options = options, .dir = dir, .fd = -1, .keeper = {.socket = -1}};
	struct export_json_lines lines = {.count = options->patterns.count};
	struct view_options view = {.dir = dir,
			.verb = "export",
			.json = true,
			.report = export_print_message,
			.nothing = note_nothing,
			.nothing_context = &export};
	struct where where = {0};
	int status = command_select(&options->patterns, &lines.patterns), closed;

	if (!status && options->filter) {
		status = where_parse("filter", options->filter, &where);
		view.where = &where;
	}
	if (!status)
		status = view_times_read(&options->times, &view.from, &view.to);
	if (!status)
		status = walk_check(&(struct report_walk_options){.verb = "export", .dir = dir});
	if (!status)
		status = export_open_output(&export);
	if (!status) {
		if (lines.count)
			view.wanted = export_event_is_selected;
		view.wanted_context = &lines;
		view.out = export.fd == STDOUT_FILENO ? stdout : fdopen(export.fd, "w");
		status = view.out ? cmd_view_run(&view)
				  : export_print_cannot_write(&export, -errno);
		if (view.out && view.out != stdout) {
			if (fclose(view.out) && !status)
				status = export_print_cannot_write(&export, -errno);
			export.fd = STDOUT_FILENO; /* It is closed. */
		}
	}
	/* What could be read of a damaged trace is kept. */
	closed = export_close_output(&export, status == COMMAND_DONE || status == COMMAND_FAILED);
	where_free(&where);
	free(lines.patterns);
	return status ? status : closed;
}

/* ---- the command line ---- */

static int export_check_options(const struct export_options *options)
{
	bool drawn = options->format == EXPORT_PERFETTO || options->format == EXPORT_CHROME;

	if (options->pairs.count && !drawn)
		return message_error(COMMAND_USAGE, "use `--format perfetto` or `--format chrome`",
				"`--pair` makes slices, and this format has none");
	if ((options->key || options->across) && !options->pairs.count)
		return message_error(COMMAND_USAGE, "add `--pair BEGIN END`",
				"`--%s` has no effect without `--pair`",
				options->key ? "key" : "across");
	if (options->across && !options->key)
		return message_error(COMMAND_USAGE, "add `--key EXPRESSION`",
				"`--across` has no effect without `--key`");
	return COMMAND_DONE;
}

/* Whether the name is that of a directory: tables go there. */
static bool is_directory(const char *path)
{
	size_t size = path ? strlen(path) : 0;
	struct stat stat_of;

	return size &&
			(path[size - 1] == '/' ||
					(!stat(path, &stat_of) && S_ISDIR(stat_of.st_mode)));
}

/* `--to FORMAT` of earlier releases: a format is no time. False: it may be a time. */
static bool take_former_format(struct export_options *options)
{
	for (int i = 0; options->times.to && command_export_formats[i]; i++) {
		if (strcmp(options->times.to, command_export_formats[i]) != 0)
			continue;
		options->format = i;
		options->times.to = NULL;
		return true;
	}
	return false;
}

/* What looks like a misspelled format gets that hint. */
static int check_former_format(const struct export_options *options)
{
	char meant[NEAREST_TEXT_SIZE];
	struct nearest nearest;

	if (!options->times.to || strpbrk(options->times.to, "0123456789:"))
		return COMMAND_DONE;
	nearest_begin(&nearest, options->times.to);
	for (size_t i = 0; command_export_formats[i]; i++)
		nearest_offer(&nearest, command_export_formats[i]);
	return message_error(COMMAND_USAGE,
			nearest_text(&nearest, "--format ", meant, sizeof(meant))
					? meant
					: "`--format` is perfetto, chrome, csv, jsonl, ctf1 or ctf2",
			"`--to %.128s` is not a time", options->times.to);
}

static int export_as(const struct export_options *options, const char *dir)
{
	switch ((enum export_format)options->format) {
	case EXPORT_PERFETTO: return export_items(options, dir, &export_perfetto);
	case EXPORT_CHROME: return export_items(options, dir, &export_chrome);
	case EXPORT_CSV:
		return export_items(options, dir,
				is_directory(options->output) ? &export_tables : &export_csv);
	case EXPORT_JSONL: return export_lines(options, dir);
	case EXPORT_CTF1:
	case EXPORT_CTF2: return export_ctf(options, dir);
	}
	return COMMAND_USAGE;
}

int cmd_export(const struct parsed *parsed)
{
	struct export_options options = parsed->options.export;
	int status = take_former_format(&options) ? COMMAND_DONE : check_former_format(&options);

	if (!status)
		status = export_check_options(&options);
	return status ? status : export_as(&options, parsed->operands[0]);
}

/* ---- names ---- */

int64_t export_pid(const struct export *export, uint32_t process)
{
	const struct identity_process *own = &export->identity.processes[process];

	/* The first one with this number keeps it: containers have processes of the same number. */
	return own->pid < 0 || own->repeated ? EXPORT_MADE_UP + (int64_t)process : own->pid;
}

int64_t export_tid(const struct ctf_item *item, int64_t thread)
{
	if (thread >= 0)
		return thread;
	return EXPORT_MADE_UP + (item->stream->cpu < 0 ? 999999 : item->stream->cpu);
}

void export_process_name(const struct export *export, uint32_t process, char *text, size_t size)
{
	const struct identity_process *own = &export->identity.processes[process];
	const char *name = own->name ? own->name : own->hostname ? own->hostname : "?";

	snprintf(text, size, "%s", name);
	if (export_pid(export, process) >= EXPORT_MADE_UP && own->pid >= 0)
		snprintf(text, size, "%s:%" PRId64 " on %s", name, own->pid,
				own->hostname ? own->hostname : "?");
}
