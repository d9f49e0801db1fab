/* SPDX-License-Identifier: MIT */
/* The answer about leaks as JSON: docs/spec/report-json.md. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/leaks.h"
#include "analysis/view-sink.h"

static void leaks_json_begin(struct view_out *out, const char *type)
{
	view_out_format(out, "{\"schema\":%d,\"type\":\"%s\"", LEAKS_JSON_SCHEMA, type);
}

static void leaks_json_number(struct view_out *out, const char *name, uint64_t number)
{
	view_out_format(out, ",\"%s\":%" PRIu64, name, number);
}

static void leaks_json_end(struct view_out *out)
{
	view_out_text(out, "}\n");
}

static void leaks_json_text(struct view_out *out, const char *name, const char *text)
{
	view_out_format(out, ",\"%s\":", name);
	view_json_quoted(out, text, strlen(text));
}

static void leaks_json_process(struct leaks *leaks, struct view_out *out, uint32_t image)
{
	const struct identity_process *process =
			&leaks->identity.processes[leaks->images[image].process];

	if (process->hostname)
		leaks_json_text(out, "hostname", process->hostname);
	if (process->name)
		leaks_json_text(out, "procname", process->name);
	if (process->pid >= 0)
		view_out_format(out, ",\"vpid\":%" PRId64, process->pid);
}

/* An array of frames, innermost first. */
static void leaks_json_stack(
		struct leaks *leaks, struct view_out *out, const char *name, uint32_t named)
{
	view_out_format(out, ",\"%s\":", name);
	stacks_print_json(&leaks->stacks, named, out);
}

static void leaks_json_summary(struct leaks *leaks, struct view_out *out)
{
	leaks_json_begin(out, "leaks");
	leaks_json_text(out, "dir", leaks->walk.options.dir);
	leaks_json_number(out, "processes", leaks->identity.keys.count);
	leaks_json_number(out, "allocations", leaks->allocations);
	leaks_json_number(out, "allocated_bytes", leaks->allocated_bytes);
	leaks_json_number(out, "frees", leaks->nr_frees);
	leaks_json_number(out, "failed", leaks->failed);
	leaks_json_number(out, "peak_bytes", leaks->peak_bytes);
	leaks_json_number(out, "blocks_alive", leaks->blocks_alive);
	leaks_json_number(out, "bytes_alive", leaks->bytes_alive);
	leaks_json_number(out, "older_ns", leaks->options->older_ns);
	leaks_json_number(out, "blocks", leaks->blocks_counted);
	leaks_json_number(out, "bytes", leaks->bytes_counted);
	leaks_json_number(out, "blocks_replaced", leaks->blocks_replaced);
	leaks_json_number(out, "bytes_replaced", leaks->bytes_replaced);
	leaks_json_number(out, "double_frees", leaks->double_frees);
	leaks_json_number(out, "unknown_frees", leaks->unknown_frees);
	leaks_json_number(out, "untracked", leaks->untracked);
	leaks_json_number(out, "hidden", leaks->hidden);
	leaks_json_number(out, "lost", leaks_lost(leaks));
	leaks_json_number(out, "lost_packets", leaks->lost_packets);
	leaks_json_number(out, "lost_bytes", leaks->lost_bytes);
	view_out_format(out, ",\"exact\":%s", leaks_is_exact(leaks) ? "true" : "false");
	leaks_json_end(out);
}

static void leaks_json_images(struct leaks *leaks, struct view_out *out)
{
	for (uint32_t i = 0; i < leaks->image_keys.count; i++) {
		const struct leaks_image *image = &leaks->images[i];

		leaks_json_begin(out, "leaks_process");
		leaks_json_process(leaks, out, i);
		if (image->parent >= 0)
			view_out_format(out, ",\"forked_from\":%" PRId64, image->parent);
		leaks_json_number(out, "allocations", image->allocations);
		leaks_json_number(out, "allocated_bytes", image->allocated_bytes);
		leaks_json_number(out, "blocks", image->blocks);
		leaks_json_number(out, "bytes", image->bytes);
		leaks_json_number(out, "unknown_frees", image->unknown_frees);
		view_out_format(out, ",\"replaced\":%s", image->replaced ? "true" : "false");
		leaks_json_end(out);
	}
}

static void leaks_json_site(
		struct leaks *leaks, struct view_out *out, const struct leaks_site *site)
{
	leaks_json_begin(out, "leak");
	if (site->is_shared)
		view_out_text(out, ",\"shared\":true");
	else
		leaks_json_process(leaks, out, site->image);
	leaks_json_number(out, "blocks", site->blocks);
	leaks_json_number(out, "bytes", site->bytes);
	leaks_json_number(out, "allocations", site->allocations);
	leaks_json_number(out, "allocated_bytes", site->allocated_bytes);
	view_out_format(out, ",\"oldest_ns\":%" PRId64 ",\"newest_ns\":%" PRId64, site->oldest_ns,
			site->newest_ns);
	view_out_text(out, ",\"growth\":[");
	for (unsigned int part = 0; part < LEAKS_GROWTH; part++)
		view_out_format(out, "%s%" PRIu64, part ? "," : "", site->growth[part]);
	view_out_char(out, ']');
	leaks_json_stack(leaks, out, "stack", site->named);
	leaks_json_end(out);
}

static void leaks_json_sites(struct leaks *leaks, struct view_out *out)
{
	uint32_t count = leaks->group_count;

	if (leaks->options->rows && leaks->options->rows < count)
		count = (uint32_t)leaks->options->rows;
	for (uint32_t i = 0; i < count; i++)
		leaks_json_site(leaks, out, &leaks->groups[i]);
}

/* If something is missing, a free that looks wrong can be right. */
static void leaks_json_frees(struct leaks *leaks, struct view_out *out)
{
	if (!leaks_is_exact(leaks))
		return;
	for (uint32_t i = 0; i < leaks->free_keys.count; i++) {
		const struct leaks_free *entry = &leaks->frees[i];
		bool twice = entry->freed_by != LEAKS_STACK_NONE;

		if (!entry->count)
			continue;
		leaks_json_begin(out, twice ? "double_free" : "unknown_free");
		leaks_json_process(leaks, out, entry->image);
		leaks_json_number(out, "count", entry->count);
		leaks_json_stack(leaks, out, "stack", leaks_stack_named(leaks, entry->stack));
		if (twice)
			leaks_json_stack(leaks, out, "freed_by",
					leaks_stack_named(leaks, entry->freed_by));
		if (entry->allocated_by != LEAKS_STACK_NONE)
			leaks_json_stack(leaks, out, "allocated_by",
					leaks_stack_named(leaks, entry->allocated_by));
		leaks_json_end(out);
	}
}

int leaks_print_json(struct leaks *leaks, FILE *out)
{
	struct view_out text = {0};

	leaks_json_summary(leaks, &text);
	leaks_json_images(leaks, &text);
	leaks_json_sites(leaks, &text);
	leaks_json_frees(leaks, &text);
	return view_out_end(&text, out, 0);
}
