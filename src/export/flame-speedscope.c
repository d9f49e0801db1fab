/* SPDX-License-Identifier: MIT */
/*
 * JSON for speedscope: one sampled profile, or one for each process or thread. Calls in the order
 * of time are a profile of events for each thread.
 *
 * The schema is https://www.speedscope.app/file-format-schema.json.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/view-sink.h"
#include "export/export.h"
#include "export/flame-export.h"

/* JSON numbers are exact up to here. */
#define FLAME_SPEEDSCOPE_EXACT (UINT64_C(1) << 53)

static void flame_speedscope_text(struct view_out *out, const char *text)
{
	view_json_quoted(out, text, strlen(text));
}

static int flame_speedscope_frames(struct flame_export *export)
{
	const struct flame_tree *tree = &export->flame->tree;
	struct view_out *out = &export->out;
	int ret = 0;

	view_out_text(out, "\"shared\":{\"frames\":[");
	for (uint32_t i = 0; i < tree->frame_keys.count && !ret; i++) {
		const struct flame_frame *frame = &tree->frames[i];

		view_out_text(out, i ? ",\n{\"name\":" : "\n{\"name\":");
		flame_speedscope_text(out, frame->name);
		if (frame->file) {
			view_out_text(out, ",\"file\":");
			flame_speedscope_text(out, frame->file);
			view_out_text(out, ",\"line\":");
			view_out_unsigned(out, frame->line);
		}
		view_out_char(out, '}');
		ret = flame_export_continue(export);
	}
	view_out_text(out, "]}");
	return ret;
}

/* A profile has the nodes [begin, end) of the order. Its paths lack the outer `skip` levels. */
struct flame_speedscope_range {
	uint32_t begin, end, skip;
};

static int flame_speedscope_samples(
		struct flame_export *export, const struct flame_speedscope_range *range)
{
	const struct flame_tree *tree = &export->flame->tree;
	struct view_out *out = &export->out;
	uint32_t path[FLAME_DEPTH_MAX + 1];
	bool any = false;
	int ret = 0;

	view_out_text(out, ",\"samples\":[");
	for (uint32_t i = range->begin; i < range->end && !ret; i++) {
		const struct flame_node *node = &tree->nodes[export->order[i]];

		path[node->depth] = node->frame;
		if (!node->self)
			continue;
		view_out_text(out, any ? ",\n[" : "\n[");
		any = true;
		for (uint32_t depth = 1 + range->skip; depth <= node->depth; depth++) {
			if (depth > 1 + range->skip)
				view_out_char(out, ',');
			view_out_unsigned(out, path[depth]);
		}
		view_out_char(out, ']');
		ret = flame_export_continue(export);
	}
	view_out_char(out, ']');
	return ret;
}

static int flame_speedscope_weights(struct flame_export *export,
		const struct flame_speedscope_range *range, uint64_t *ret_total)
{
	const struct flame_tree *tree = &export->flame->tree;
	struct view_out *out = &export->out;
	bool any = false;
	int ret = 0;

	*ret_total = 0;
	view_out_text(out, ",\"weights\":[");
	for (uint32_t i = range->begin; i < range->end && !ret; i++) {
		uint64_t self = tree->nodes[export->order[i]].self;

		if (!self)
			continue;
		if (any)
			view_out_char(out, ',');
		any = true;
		view_out_unsigned(out, self);
		*ret_total += self;
		ret = flame_export_continue(export);
	}
	view_out_char(out, ']');
	return ret;
}

static int flame_speedscope_profile(struct flame_export *export, const char *name,
		const struct flame_speedscope_range *range)
{
	struct view_out *out = &export->out;
	const char *unit = flame_weight_unit(export->flame->weight);
	uint64_t total = 0;
	int ret;

	view_out_text(out, "{\"type\":\"sampled\",\"name\":");
	flame_speedscope_text(out, name);
	view_out_text(out, ",\"unit\":");
	flame_speedscope_text(out, strcmp(unit, "count") ? unit : "none");
	ret = flame_speedscope_samples(export, range);
	if (!ret)
		ret = flame_speedscope_weights(export, range, &total);
	view_out_text(out, ",\"startValue\":0,\"endValue\":");
	view_out_unsigned(out, total);
	view_out_char(out, '}');
	return ret;
}

/* A profile for each child of the root. */
static int flame_speedscope_groups(struct flame_export *export)
{
	const struct flame_tree *tree = &export->flame->tree;
	uint32_t count = flame_tree_count(tree), end;
	bool any = false;
	int ret = 0;

	for (uint32_t begin = 1; begin < count && !ret; begin = end) {
		uint32_t group = export->order[begin];
		bool is_others = group == FLAME_TREE_OTHERS;

		for (end = begin + 1; end < count && tree->nodes[export->order[end]].depth > 1;)
			end++;
		if (!tree->nodes[group].total)
			continue;
		if (any)
			view_out_text(&export->out, ",\n");
		any = true;
		ret = flame_speedscope_profile(export, flame_tree_frame_of(tree, group)->name,
				&(struct flame_speedscope_range){begin, end, !is_others});
	}
	return ret;
}

/* ---- calls in the order of time ---- */

struct flame_speedscope_call {
	uint64_t end; /* ns since the first call of the trace */
	uint32_t frame, depth;
};

/* The open calls of a thread, the outermost first. Each one ends at the latest with its caller. */
struct flame_speedscope_thread {
	struct flame_speedscope_call *open;
	uint32_t nr;
	uint64_t now;
	bool any;
};

static uint64_t flame_speedscope_end(const struct flame *flame, const struct calls_slice *slice)
{
	const uint64_t begin = (uint64_t)slice->begin_ns - (uint64_t)flame->slices.first_ns;

	/* A trace may contain any duration. */
	return begin < FLAME_SPEEDSCOPE_EXACT && slice->duration_ns < FLAME_SPEEDSCOPE_EXACT - begin
			? begin + slice->duration_ns
			: FLAME_SPEEDSCOPE_EXACT;
}

static void flame_speedscope_event(struct view_out *out, struct flame_speedscope_thread *thread,
		const char *type, uint32_t frame, uint64_t at)
{
	thread->now = at > thread->now ? at : thread->now;
	view_out_text(out, thread->any ? ",\n{\"type\":\"" : "\n{\"type\":\"");
	thread->any = true;
	view_out_text(out, type);
	view_out_text(out, "\",\"frame\":");
	view_out_unsigned(out, frame);
	view_out_text(out, ",\"at\":");
	view_out_unsigned(out, thread->now);
	view_out_char(out, '}');
}

/* Closes the calls that end before a call at this depth begins. */
static void flame_speedscope_close(struct view_out *out, struct flame_speedscope_thread *thread,
		uint32_t depth, uint64_t begin)
{
	while (thread->nr) {
		const struct flame_speedscope_call *top = &thread->open[thread->nr - 1];

		if (top->depth < depth && top->end >= begin)
			return;
		flame_speedscope_event(
				out, thread, "C", top->frame, top->end < begin ? top->end : begin);
		thread->nr--;
	}
}

static void flame_speedscope_open(struct view_out *out, struct flame_speedscope_thread *thread,
		const struct flame_speedscope_call *call, uint64_t begin)
{
	struct flame_speedscope_call *top = &thread->open[thread->nr];

	flame_speedscope_event(out, thread, "O", call->frame, begin);
	*top = *call;
	if (thread->nr && top->end > top[-1].end)
		top->end = top[-1].end;
	thread->nr++;
}

/* `open` has space for a call of each depth. */
static int flame_speedscope_calls(struct flame_export *export, size_t begin, size_t end,
		struct flame_speedscope_call *open)
{
	const struct flame_slices *slices = &export->flame->slices;
	struct flame_speedscope_thread thread = {.open = open};
	struct view_out *out = &export->out;
	int ret = 0;

	for (size_t i = begin; i < end && !ret; i++) {
		const struct calls_slice *slice = &slices->items[i];
		const struct flame_speedscope_call call = {
				.end = flame_speedscope_end(export->flame, slice),
				.frame = slice->function,
				.depth = slice->depth};
		uint64_t at = (uint64_t)slice->begin_ns - (uint64_t)slices->first_ns;

		at = at < FLAME_SPEEDSCOPE_EXACT ? at : FLAME_SPEEDSCOPE_EXACT;
		flame_speedscope_close(out, &thread, call.depth, at);
		if (thread.nr < CALLS_DEPTH_MAX)
			flame_speedscope_open(out, &thread, &call, at);
		ret = flame_export_continue(export);
	}
	flame_speedscope_close(out, &thread, 0, FLAME_SPEEDSCOPE_EXACT);
	return ret;
}

static uint64_t flame_speedscope_last(const struct flame *flame)
{
	uint64_t last = 0;

	for (size_t i = 0; i < flame->slices.nr; i++) {
		const uint64_t end = flame_speedscope_end(flame, &flame->slices.items[i]);

		last = end > last ? end : last;
	}
	return last;
}

static int flame_speedscope_threads(struct flame_export *export)
{
	const struct flame_slices *slices = &export->flame->slices;
	const uint64_t last = flame_speedscope_last(export->flame);
	struct flame_speedscope_call *open = calloc(CALLS_DEPTH_MAX, sizeof(*open));
	struct view_out *out = &export->out;
	char name[600];
	int ret = open ? 0 : -ENOMEM;

	for (size_t begin = 0, end; begin < slices->nr && !ret; begin = end) {
		for (end = begin + 1; end < slices->nr &&
				flame_slices_is_same_thread(
						&slices->items[begin], &slices->items[end]);
				end++)
			;
		flame_slice_name(export->flame, &slices->items[begin], name, sizeof(name));
		view_out_text(out,
				begin ? ",\n{\"type\":\"evented\",\"name\":"
				      : "{\"type\":\"evented\",\"name\":");
		flame_speedscope_text(out, name);
		view_out_text(out, ",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":");
		view_out_unsigned(out, last);
		view_out_text(out, ",\"events\":[");
		ret = flame_speedscope_calls(export, begin, end, open);
		view_out_text(out, "]}");
	}
	free(open);
	return ret;
}

int flame_export_speedscope(struct flame_export *export)
{
	const struct flame *flame = export->flame;
	const struct flame_speedscope_range all = {1, flame_tree_count(&flame->tree), 0};
	struct view_out *out = &export->out;
	int ret;

	view_out_text(out,
			"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
			"\"exporter\":\"side\",\"name\":");
	flame_speedscope_text(out, flame->walk.options.dir);
	view_out_text(out, ",\"activeProfileIndex\":0,\n");
	ret = flame_speedscope_frames(export);
	view_out_text(out, ",\n\"profiles\":[\n");
	if (!ret && flame->slices.nr)
		ret = flame_speedscope_threads(export);
	else if (!ret && flame->options->by != FLAME_BY_NOTHING)
		ret = flame_speedscope_groups(export);
	else if (!ret)
		ret = flame_speedscope_profile(export, flame_weight_name(flame->weight), &all);
	view_out_text(out, "]}\n");
	return ret;
}
