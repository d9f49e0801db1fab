/* SPDX-License-Identifier: MIT */
/*
 * JSON for speedscope: one sampled profile, or one for each process or thread.
 *
 * The schema is https://www.speedscope.app/file-format-schema.json.
 */
#include <string.h>

#include "analysis/view-sink.h"
#include "export/export.h"
#include "export/flame-export.h"

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
	if (!ret && flame->options->by != FLAME_BY_NOTHING)
		ret = flame_speedscope_groups(export);
	else if (!ret)
		ret = flame_speedscope_profile(export, flame_weight_name(flame->weight), &all);
	view_out_text(out, "]}\n");
	return ret;
}
