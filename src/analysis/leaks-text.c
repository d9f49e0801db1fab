/* SPDX-License-Identifier: MIT */
/* The answer about leaks as text. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/leaks.h"
#include "analysis/report-table.h"
#include "analysis/report-text.h"

#define LEAKS_ROWS_SHOWN 20  /* rows of a table if the options have no number */
#define LEAKS_FRAMES_SHOWN 8 /* frames of a stack if the options have no number */

static const char *leaks_text_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* "12 blocks (1.5 KiB)" */
static const char *leaks_text_blocks(uint64_t blocks, uint64_t bytes, char text[128])
{
	char count[FORMAT_NUMBER_MAX], size[FORMAT_NUMBER_MAX];

	snprintf(text, 128, "%s block%s (%s)", format_number(blocks, count),
			leaks_text_plural(blocks), format_size(bytes, size));
	return text;
}

/* ---- frames ---- */

static void leaks_text_frame(const struct stack_frame *frame, char *text, size_t size)
{
	const char *slash = frame->module ? strrchr(frame->module, '/') : NULL;
	const char *module = slash ? slash + 1 : frame->module;
	const char *inlined = frame->is_inlined ? " [inlined]" : "";

	if (frame->function && frame->file)
		snprintf(text, size, "%s (%s:%u)%s", frame->function, frame->file, frame->line,
				inlined);
	else if (frame->function)
		snprintf(text, size, "%s+0x%" PRIx64 " (%s)%s", frame->function, frame->inside,
				module ? module : "?", inlined);
	else if (module)
		snprintf(text, size, "%s+0x%" PRIx64, module, frame->offset);
	else
		snprintf(text, size, "0x%" PRIx64, frame->address);
}

static void leaks_text_skip_columns(struct report_table *table)
{
	for (unsigned int column = 0; column + 1 < table->count; column++)
		table_put(table, "");
}

/* A row for each frame; the columns before the last one are filled in the first row only. */
static void leaks_text_stack(const struct leaks *leaks, struct report_table *table, uint32_t named)
{
	uint32_t shown = leaks->options->frames && leaks->options->frames < UINT32_MAX
			? (uint32_t)leaks->options->frames
			: LEAKS_FRAMES_SHOWN;
	uint32_t depth;
	const uint32_t *frames = stacks_own_frames(&leaks->stacks, named, &depth);
	char text[4096];

	if (!depth)
		table_put(table, "(other stacks)");
	for (uint32_t i = 0; i < depth && i < shown; i++) {
		if (i)
			leaks_text_skip_columns(table);
		leaks_text_frame(stacks_frame(&leaks->stacks, frames[i]), text, sizeof(text));
		table_put(table, text);
	}
	if (depth <= shown)
		return;
	leaks_text_skip_columns(table);
	table_format(table, "… and %u more frame%s", depth - shown,
			leaks_text_plural(depth - shown));
}

/* ---- the table of blocks ---- */

/* When the blocks were allocated: a column for each part of the recording. */
static void leaks_text_growth(struct report_table *table, const struct leaks_site *site)
{
	static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const plain[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
	const char *const *ramp = text_is_utf8() ? blocks : plain;
	char text[LEAKS_GROWTH * 4 + 3] = "|";
	uint64_t most = 1;

	for (unsigned int i = 0; i < LEAKS_GROWTH; i++)
		most = site->growth[i] > most ? site->growth[i] : most;
	for (unsigned int i = 0; i < LEAKS_GROWTH; i++) {
		double part = (double)site->growth[i] * 8 / (double)most;

		/* 1 to 8: the scaled value is below 8 before 1 is added. */
		strcat(text, ramp[site->growth[i] ? 1 + (unsigned int)(part * 0.9999) : 0]);
	}
	strcat(text, "|");
	table_put(table, text);
}

static void leaks_text_process(const struct leaks *leaks, struct report_table *table,
		const struct leaks_site *site)
{
	char name[512];

	identity_text(&leaks->identity, leaks->images[site->image].process, name, sizeof(name));
	table_put(table, site->is_shared ? "(several)" : name);
}

static void leaks_text_site(const struct leaks *leaks, struct report_table *table,
		const struct leaks_site *site)
{
	char number[FORMAT_NUMBER_MAX];

	table_put(table, format_size(site->bytes, number));
	table_format(table, "%.1f%%",
			leaks->bytes_counted
					? (double)site->bytes * 100 / (double)leaks->bytes_counted
					: 0.0);
	table_put(table, format_number(site->blocks, number));
	leaks_text_growth(table, site);
	if (table->count == 6)
		leaks_text_process(leaks, table, site);
	leaks_text_stack(leaks, table, site->named);
}

static void leaks_text_remainder(const struct leaks *leaks, struct view_out *out, uint32_t shown)
{
	uint32_t count = leaks->group_count;
	uint64_t blocks = 0, bytes = 0;
	char text[128];

	for (uint32_t i = shown; i < count; i++) {
		blocks += leaks->groups[i].blocks;
		bytes += leaks->groups[i].bytes;
	}
	if (shown < count)
		view_out_format(out, "… and %u more stack%s with %s\n", count - shown,
				leaks_text_plural(count - shown),
				leaks_text_blocks(blocks, bytes, text));
}

static uint32_t leaks_text_rows(const struct leaks *leaks, uint32_t count)
{
	uint64_t rows = leaks->options->rows ? leaks->options->rows : LEAKS_ROWS_SHOWN;

	return rows < count ? (uint32_t)rows : count;
}

static void leaks_text_sites(const struct leaks *leaks, struct view_out *out)
{
	static const struct table_column stack = {"ALLOCATED BY", false, VIEW_COLOUR_NAME};
	struct table_column columns[] = {
			{"BYTES", true, VIEW_COLOUR_NUMBER},
			{"SHARE", true, NULL},
			{"BLOCKS", true, VIEW_COLOUR_NUMBER},
			{"GROWTH", false, NULL},
			{"PROCESS", false, VIEW_COLOUR_PROCESS},
			stack,
	};
	struct report_table table = {columns, 6, leaks->colour, NULL, 0, 0, false};
	uint32_t shown = leaks_text_rows(leaks, leaks->group_count);

	if (leaks->image_keys.count < 2)
		columns[--table.count - 1] = stack;
	for (uint32_t i = 0; i < shown; i++)
		leaks_text_site(leaks, &table, &leaks->groups[i]);
	if (shown) {
		view_out_char(out, '\n');
		table_print(&table, out);
		leaks_text_remainder(leaks, out, shown);
	}
}

/* ---- double frees ---- */

static void leaks_text_free_part(struct leaks *leaks, struct report_table *table, uint64_t count,
		const char *what, uint32_t stack)
{
	char number[FORMAT_NUMBER_MAX];

	if (stack == LEAKS_STACK_NONE)
		return;
	table_put(table, count ? format_number(count, number) : "");
	table_put(table, what);
	leaks_text_stack(leaks, table, leaks_stack_named(leaks, stack));
}

static void leaks_text_double_frees(struct leaks *leaks, struct view_out *out)
{
	static const struct table_column columns[] = {
			{"COUNT", true, VIEW_COLOUR_NUMBER},
			{"", false, NULL},
			{"STACK", false, VIEW_COLOUR_NAME},
	};
	struct report_table table = {columns, 3, leaks->colour, NULL, 0, 0, false};
	uint32_t left = leaks_text_rows(leaks, UINT32_MAX);

	for (uint32_t i = 0; i < leaks->free_keys.count && left; i++) {
		const struct leaks_free *entry = &leaks->frees[i];

		if (!entry->count || entry->freed_by == LEAKS_STACK_NONE)
			continue;
		left--;
		leaks_text_free_part(leaks, &table, entry->count, "freed again by", entry->stack);
		leaks_text_free_part(leaks, &table, 0, "freed before by", entry->freed_by);
		leaks_text_free_part(leaks, &table, 0, "allocated by", entry->allocated_by);
	}
	table_print(&table, out);
}

static void leaks_text_print_frees(struct leaks *leaks, struct view_out *out)
{
	char number[FORMAT_NUMBER_MAX];

	if (leaks->double_frees && leaks_is_exact(leaks)) {
		view_out_format(out, "\n%s free%s of a block that was already freed\n",
				format_number(leaks->double_frees, number),
				leaks_text_plural(leaks->double_frees));
		leaks_text_double_frees(leaks, out);
	}
	if (!leaks->unknown_frees)
		return;
	view_out_format(out,
			"\n%s free%s of blocks whose allocation is not in the recording; `--json` lists them\n",
			format_number(leaks->unknown_frees, number),
			leaks_text_plural(leaks->unknown_frees));
}

/* ---- the summary ---- */

static void leaks_text_print_losses(const struct leaks *leaks, struct view_out *out)
{
	uint64_t events = leaks_lost(leaks), packets = leaks->lost_packets;
	char number[FORMAT_NUMBER_MAX];

	if (!events && !packets && !leaks->lost_bytes)
		return;
	view_out_format(out,
			"Approximate: some of these blocks may be freed, and other blocks may be missing.\n");
	if (events)
		view_out_format(out, "  %s event%s lost\n", format_number(events, number),
				events == 1 ? " was" : "s were");
	if (packets)
		view_out_format(out, "  %s packet%s missing\n", format_number(packets, number),
				packets == 1 ? " is" : "s are");
	if (leaks->lost_bytes)
		view_out_format(out, "  %s of events could not be written\n",
				format_size(leaks->lost_bytes, number));
}

static void leaks_text_doubts(const struct leaks *leaks, struct view_out *out)
{
	char doubt[LEAKS_DOUBT_SIZE], text[128];

	leaks_text_print_losses(leaks, out);
	for (unsigned int i = 0; i < LEAKS_DOUBTS; i++)
		if (leaks_doubt(leaks, i, doubt))
			view_out_format(out, "Incomplete: %s.\n", doubt);
	if (leaks->blocks_replaced)
		view_out_format(out, "Not counted: %s of programs that an exec replaced.\n",
				leaks_text_blocks(leaks->blocks_replaced, leaks->bytes_replaced,
						text));
}

void leaks_print_summary(const struct leaks *leaks, struct view_out *out)
{
	uint32_t processes = leaks->identity.keys.count;
	char text[128], number[FORMAT_NUMBER_MAX], size[FORMAT_NUMBER_MAX];

	view_out_format(out, "%s alive at the end, of %s allocation%s (%s) in %u process%s",
			leaks_text_blocks(leaks->blocks_alive, leaks->bytes_alive, text),
			format_number(leaks->allocations, number),
			leaks_text_plural(leaks->allocations),
			format_size(leaks->allocated_bytes, size), processes,
			processes == 1 ? "" : "es");
	view_out_format(out, "; peak %s\n", format_size(leaks->peak_bytes, size));
	if (leaks->options->older_ns)
		view_out_format(out, "%s of these %s at least %s old\n",
				leaks_text_blocks(
						leaks->blocks_counted, leaks->bytes_counted, text),
				leaks->blocks_counted == 1 ? "is" : "are",
				text_duration((double)leaks->options->older_ns, number));
	leaks_text_doubts(leaks, out);
}

int leaks_print_text(struct leaks *leaks, FILE *out)
{
	struct view_out text = {0};

	leaks_print_summary(leaks, &text);
	leaks_text_sites(leaks, &text);
	leaks_text_print_frees(leaks, &text);
	return view_out_end(&text, out, 0);
}
