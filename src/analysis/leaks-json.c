/* SPDX-License-Identifier: MIT */
/* The answer about leaks as JSON: docs/spec/report-json.md. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/json-line.h"
#include "analysis/leaks.h"
#include "analysis/view-sink.h"

/* An array of frames, innermost first. */
static void leaks_json_stack(
		struct leaks *leaks, struct view_out *out, const char *name, uint32_t named)
{
	json_line_member(out, name);
	stacks_print_json(&leaks->stacks, named, out);
}

static void leaks_json_doubts(const struct leaks *leaks, struct view_out *out)
{
	char text[LEAKS_DOUBT_SIZE];
	bool first = true;

	json_line_member(out, "incomplete");
	view_out_char(out, '[');
	for (unsigned int i = 0; i < LEAKS_DOUBTS; i++) {
		if (!leaks_doubt(leaks, i, text))
			continue;
		if (!first)
			view_out_char(out, ',');
		view_json_quoted(out, text, strlen(text));
		first = false;
	}
	view_out_char(out, ']');
}

static void leaks_json_summary(struct leaks *leaks, struct view_out *out)
{
	json_line_begin(out, "leaks");
	json_line_text(out, "dir", leaks->walk.options.dir);
	json_line_number(out, "processes", leaks->identity.keys.count);
	json_line_number(out, "allocations", leaks->allocations);
	json_line_number(out, "allocated_bytes", leaks->allocated_bytes);
	json_line_number(out, "frees", leaks->nr_frees);
	json_line_number(out, "failed", leaks->failed);
	json_line_number(out, "peak_bytes", leaks->peak_bytes);
	json_line_number(out, "blocks_alive", leaks->blocks_alive);
	json_line_number(out, "bytes_alive", leaks->bytes_alive);
	json_line_number(out, "mappings", leaks->mappings_alive);
	json_line_number(out, "older_ns", leaks->options->older_ns);
	json_line_number(out, "blocks", leaks->blocks_counted);
	json_line_number(out, "bytes", leaks->bytes_counted);
	json_line_number(out, "blocks_replaced", leaks->blocks_replaced);
	json_line_number(out, "bytes_replaced", leaks->bytes_replaced);
	json_line_number(out, "double_frees", leaks->double_frees);
	json_line_number(out, "unknown_frees", leaks->unknown_frees);
	json_line_number(out, "untracked", leaks->untracked);
	json_line_number(out, "hidden", leaks->hidden);
	json_line_number(out, "lost", leaks_lost(leaks));
	json_line_number(out, "lost_packets", leaks->lost_packets);
	json_line_number(out, "lost_bytes", leaks->lost_bytes);
	json_line_bool(out, "exact", leaks_is_exact(leaks));
	leaks_json_doubts(leaks, out);
	json_line_end(out);
}

static void leaks_json_images(struct leaks *leaks, struct view_out *out, FILE *stream)
{
	for (uint32_t i = 0; i < leaks->image_keys.count; i++) {
		const struct leaks_image *image = &leaks->images[i];

		json_line_begin(out, "leaks_process");
		json_line_process(out, &leaks->identity, leaks->images[i].process);
		if (image->parent >= 0)
			json_line_signed(out, "forked_from", image->parent);
		json_line_number(out, "allocations", image->allocations);
		json_line_number(out, "allocated_bytes", image->allocated_bytes);
		json_line_number(out, "blocks", image->blocks);
		json_line_number(out, "bytes", image->bytes);
		json_line_number(out, "unknown_frees", image->unknown_frees);
		json_line_bool(out, "replaced", image->replaced);
		json_line_end(out);
		view_out_pass(out, stream);
	}
}

static void leaks_json_site(
		struct leaks *leaks, struct view_out *out, const struct leaks_site *site)
{
	json_line_begin(out, "leak");
	if (site->is_shared)
		json_line_bool(out, "shared", true);
	else
		json_line_process(out, &leaks->identity, leaks->images[site->image].process);
	json_line_number(out, "blocks", site->blocks);
	json_line_number(out, "bytes", site->bytes);
	json_line_number(out, "allocations", site->allocations);
	json_line_number(out, "allocated_bytes", site->allocated_bytes);
	json_line_signed(out, "oldest_ns", site->oldest_ns);
	json_line_signed(out, "newest_ns", site->newest_ns);
	json_line_member(out, "growth");
	view_out_char(out, '[');
	for (unsigned int part = 0; part < LEAKS_GROWTH; part++)
		view_out_format(out, "%s%" PRIu64, part ? "," : "", site->growth[part]);
	view_out_char(out, ']');
	leaks_json_stack(leaks, out, "stack", site->named);
	json_line_end(out);
}

static void leaks_json_sites(struct leaks *leaks, struct view_out *out, FILE *stream)
{
	uint32_t count = leaks->group_count;

	if (leaks->options->rows && leaks->options->rows < count)
		count = (uint32_t)leaks->options->rows;
	for (uint32_t i = 0; i < count; i++) {
		leaks_json_site(leaks, out, &leaks->groups[i]);
		view_out_pass(out, stream);
	}
}

/* If something is missing, a free that looks wrong can be right. */
static void leaks_json_frees(struct leaks *leaks, struct view_out *out, FILE *stream)
{
	if (!leaks_is_exact(leaks))
		return;
	for (uint32_t i = 0; i < leaks->free_keys.count; i++) {
		const struct leaks_free *entry = &leaks->frees[i];
		bool twice = entry->freed_by != LEAKS_STACK_NONE;

		if (!entry->count)
			continue;
		json_line_begin(out, twice ? "double_free" : "unknown_free");
		json_line_process(out, &leaks->identity, leaks->images[entry->image].process);
		json_line_number(out, "count", entry->count);
		leaks_json_stack(leaks, out, "stack", leaks_stack_named(leaks, entry->stack));
		if (twice)
			leaks_json_stack(leaks, out, "freed_by",
					leaks_stack_named(leaks, entry->freed_by));
		if (entry->allocated_by != LEAKS_STACK_NONE)
			leaks_json_stack(leaks, out, "allocated_by",
					leaks_stack_named(leaks, entry->allocated_by));
		json_line_end(out);
		view_out_pass(out, stream);
	}
}

int leaks_print_json(struct leaks *leaks, FILE *out)
{
	struct view_out text = {0};

	leaks_json_summary(leaks, &text);
	leaks_json_images(leaks, &text, out);
	leaks_json_sites(leaks, &text, out);
	leaks_json_frees(leaks, &text, out);
	return view_out_end(&text, out, 0);
}
