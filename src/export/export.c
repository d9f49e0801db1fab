/* SPDX-License-Identifier: MIT */
/* An export from the first step to the last one: the walk through the trace, slices, names. */
#include "export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/format.h"
#include "base/io.h"
#include "analysis/trace-symbols.h"

#define FLUSH_SIZE (1u << 20)

/* ---- output ---- */

int export_flush(struct export *export)
{
	int ret = io_write_all(export->fd, export->out.begin,
			(size_t)(export->out.at - export->out.begin));

	if (ret) {
		export->write_error = ret;
		return ret;
	}
	export->out.at = export->out.begin;
	return export->out.failed ? -ENOMEM : 0;
}

struct view_sink export_sink(struct export *export, struct view_out *out,
		const struct walk_class *class, const struct ctf_item *item)
{
	return (struct view_sink){
			.ops = &view_json_ops,
			.out = out,
			.symbols = export->symbols,
			.addresses = &export->addresses,
			.trace = item->trace->index,
			.ns = item->ns,
			.ip = class && class->view ? class->view->ip : ADDRESS_NONE,
	};
}

int export_set_write_error(struct error *error, int code, const char *path)
{
	return error_set_kind(error, ERROR_FAILED, code,
			code == -ENOSPC ? "free some space there, or write to another directory"
					: NULL,
			"cannot write %s: %s", path, strerror(-code));
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

static bool export_wants(void *context, const char *event, int loglevel)
{
	const struct report_walk *walk = &((const struct export *)context)->walk;

	return !walk->options.patterns->count ||
			walk_pattern_wants(walk->patterns, walk->options.patterns->count, event,
					loglevel);
}

static void *export_create_class(void *user, struct walk_class *walk, const struct ctf_item *item)
{
	struct export *export = user;
	struct export_class *class = calloc(1, sizeof(*class));

	if (!class)
		return NULL;
	class->ops = export->ops;
	view_tree_know(&class->tree, &(const struct view_tree_wanted){export_wants, export}, item);
	if (pair_class_make(&export->pairs, &class->pair, item, walk->view, NULL)) {
		export_free_class(class);
		return NULL;
	}
	return class;
}

/* ---- slices ---- */

/* The lanes in use, for a rule and a process. */
struct export_lanes {
	bool *busy;
	uint32_t capacity;
	uint32_t first; /* no earlier lane is free */
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

static int take_lane(struct export_lanes *lanes, uint32_t *ret_lane)
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
	*ret_lane = lanes->first;
	lanes->busy[*ret_lane] = true;
	return 0;
}

static int begin_slice(struct export *export, const struct ctf_item *item, struct walk_class *class,
		struct export_slice *slice, const struct pair_key *key)
{
	struct export_class *own = class->user_data;
	/* Names live as long as the trace is open. */
	struct pair_open open = {.ns = item->ns,
			.number = (uintptr_t)item->event->name,
			.process = own->process,
			.thread = own->thread};
	struct pair_open above;
	struct export_lanes *lanes;
	int ret = 0;

	if (export->pairs.has_key && pairs_top(&export->pairs, slice->rule, key, &above)) {
		/* It nests in another pair with the same key. */
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

/* 1: the event is the begin or end of slices. 0: it is not. */
static int take_slices(struct export *export, const struct ctf_item *item, struct walk_class *class)
{
	struct export_class *own = class->user_data;
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
	own = class->user_data;
	own->process = identity_process(&export->identity, &own->identity, item);
	if (own->process == KEYS_NONE)
		return -ENOMEM;
	own->thread = identity_thread(&own->identity, item);
	if (own->pair.begins | own->pair.ends)
		ret = take_slices(export, item, class);
	if (!ret)
		ret = export_calls_take(export, item, class);
	return ret ? (ret < 0 ? ret : 0) : export->ops->event(export, item, class, NULL);
}

static int export_write_all(struct export *export)
{
	struct walk_class *class;
	struct ctf_item item;
	int ret = export->ops->start ? export->ops->start(export) : 0;

	if (!ret)
		ret = export_calls_start(export);
	while (!ret && (ret = walk_next(&export->walk, &item, &class)) > 0) {
		ret = export_write_item(export, &item, class);
		if (!ret && view_out_size(&export->out) >= FLUSH_SIZE)
			ret = export_flush(export);
	}
	if (!ret)
		ret = export_calls_finish(export);
	if (!ret && export->ops->finish)
		ret = export->ops->finish(export);
	return ret ? ret : export_flush(export);
}

bool export_is_directory(const char *path)
{
	size_t size = path ? strlen(path) : 0;
	struct stat stat_of;

	return size &&
			(path[size - 1] == '/' ||
					(!stat(path, &stat_of) && S_ISDIR(stat_of.st_mode)));
}

static const struct export_ops *export_find_format(const struct export_options *options)
{
	switch ((enum export_format)options->format) {
	case EXPORT_PERFETTO: return &export_perfetto;
	case EXPORT_CHROME: return &export_chrome;
	case EXPORT_CSV: return export_is_directory(options->output) ? &export_tables : &export_csv;
	case EXPORT_JSONL:
	case EXPORT_CTF1:
	case EXPORT_CTF2:
	case EXPORT_FOLDED:
	case EXPORT_SPEEDSCOPE:
	case EXPORT_PPROF:
	case EXPORT_SVG: break;
	}
	return NULL;
}

/* The process that reads debug files must start before confine(). */
static int export_start_symbols(struct export *export, struct error *error)
{
	if (!export->options->symbols)
		return 0;
	export->symbols = trace_symbols_start(
			export->options->debuginfod, &export->walk.options.listener);
	return export->symbols ? 0 : error_set_no_memory(error);
}

int export_prepare(struct export *export, const struct export_options *options, const char *dir,
		const struct analysis_listener *listener, struct error *error)
{
	struct report_walk_options walk = {.verb = "export",
			.dir = dir,
			.patterns = &options->patterns,
			.where = options->filter,
			.times = options->times,
			.listener = *listener};
	int ret;

	*export = (struct export){.options = options, .ops = export_find_format(options), .fd = -1};
	if (!export->ops)
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"the format is not one that export_write() writes");
	ret = pairs_create(&export->pairs, &options->pairs, options->key, options->across, error);
	if (!ret)
		ret = walk_prepare(&export->walk, &walk, error);
	return ret ? ret : export_start_symbols(export, error);
}

/* Reports losses that the format cannot express. */
static void export_note_lost(const struct export *export)
{
	const struct analysis_listener *listener = &export->walk.options.listener;
	char number[FORMAT_NUMBER_MAX], text[FORMAT_NUMBER_MAX + 64];

	if (!export->lost || export->ops->loss || !listener->report)
		return;
	snprintf(text, sizeof(text), "%s event%s lost while recording",
			format_number(export->lost, number), export->lost == 1 ? " was" : "s were");
	listener->report(listener->user, ANALYSIS_NOTE, NULL, text);
}

int export_write(struct export *export, int fd, const char *path, struct error *error)
{
	const char *dir = export->walk.options.dir;
	int ret = walk_open(&export->walk, error);

	if (!ret && export->symbols && trace_symbols_read(export->symbols, dir))
		ret = error_set_no_memory(error);
	if (ret)
		return ret;
	export->walk.sink.symbols = export->symbols;
	export->walk.sink.addresses = &export->addresses;
	export->fd = fd;
	export->path = path;
	export->walk.create_user_data = export_create_class;
	export->walk.free_user_data = export_free_class;
	export->walk.user = export;
	ret = export_write_all(export);
	if (ret && export->write_error)
		return export_set_write_error(error, export->write_error, export->path);
	if (ret)
		return error_set_kind(error, ERROR_FAILED, ret, NULL,
				"cannot continue to export %s: %s", dir, strerror(-ret));
	export_note_lost(export);
	return 0;
}

void export_free(struct export *export)
{
	if (export->ops && export->ops->free)
		export->ops->free(export);
	walk_close(&export->walk);
	export_calls_free(export->calls);
	identity_free(&export->identity);
	pairs_free(&export->pairs);
	for (uint32_t i = 0; i < export->lane_keys.count; i++)
		free(export->lanes[i].busy);
	free(export->lanes);
	keys_free(&export->lane_keys);
	view_out_free(&export->out);
	view_out_free(&export->addresses);
	symbols_free(export->symbols);
}

bool export_lacks_threads(const struct export *export)
{
	const struct report_pairs *pairs = &export->pairs;

	for (unsigned int i = 0; i < pairs->rule_count; i++) {
		if (pairs->rules[i].no_thread)
			return true;
	}
	return false;
}

/* ---- names ---- */

int64_t export_pid(const struct export *export, uint32_t process)
{
	const struct identity_process *own = &export->identity.processes[process];

	/*
	 * The first process with this number keeps it: containers can have processes with the same
	 * number.
	 */
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
