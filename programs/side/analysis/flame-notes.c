/* SPDX-License-Identifier: MIT */
/* Notes about the limits of a flame graph: losses, events without a stack, tables that are full. */
#include "programs/side/analysis/flame-notes.h"

#include <inttypes.h>

#include "analysis/flame.h"
#include "analysis/report-text.h"
#include "base/format.h"
#include "programs/common/message.h"

static void flame_notes_print_calls(const struct flame *flame)
{
	char number[FORMAT_NUMBER_MAX];

	if (flame->calls.branch_keys.refused)
		message_note("only the first %u call paths are kept apart: further ones are `(others)`",
				CALLS_BRANCHES_MAX);
	if (flame->calls.unbegun)
		message_note("calls whose entry is not in the trace: %s; they are `(others)`",
				format_number(flame->calls.unbegun, number));
	if (flame->unfinished && flame->weight != FLAME_WEIGHT_COUNT)
		message_note("calls without a return: %s; they have no time",
				format_number(flame->unfinished, number));
	if (flame->unknown_cpu_ns)
		message_note("%s of calls are left out: their processor time is unknown",
				text_duration((double)flame->unknown_cpu_ns, number));
}

static void flame_notes_print_limits(const struct flame *flame)
{
	char number[FORMAT_NUMBER_MAX];

	if (flame->stacks.refused || flame->site_keys.refused)
		message_note("stacks beyond the limit of %u are `(others)`", FLAME_SITES_MAX);
	if (flame->group_keys.refused)
		message_note("only the first %u processes or threads are kept apart",
				FLAME_GROUPS_MAX);
	if (flame->tree.node_keys.refused || flame->tree.frame_keys.refused)
		message_note("call paths beyond the limit of %u are `(others)`", FLAME_NODES_MAX);
	if (flame->slices.is_full)
		message_note("calls are not in the order of time, but weights of call paths: the trace has more than %s calls",
				format_number(FLAME_SLICES_MAX, number));
	if (flame->tree.too_deep)
		message_note("functions deeper than %u count for their caller", FLAME_DEPTH_MAX);
	if (flame->wait_keys.refused)
		message_note("waits of threads beyond the limit of %u are left out: %s",
				FLAME_WAITS_MAX, format_number(flame->wait_keys.refused, number));
}

void flame_notes_print(const struct flame *flame)
{
	char number[FORMAT_NUMBER_MAX];

	if (!flame->tree.nodes[FLAME_TREE_ROOT].total)
		message_note("no call path has a weight: each one is 0 by %s",
				flame_weight_name(flame->weight));
	if (flame->lost)
		message_note("events were lost while recording: %s; weights are too small",
				format_number(flame->lost, number));
	if (flame->stackless && !flame->is_calls)
		message_note("events without a known stack: %s; they are `(others)`",
				format_number(flame->stackless, number));
	if (flame->unfinished && !flame->is_calls)
		message_note("waits without an end: %s; they are left out",
				format_number(flame->unfinished, number));
	if (flame->is_calls)
		flame_notes_print_calls(flame);
	flame_notes_print_limits(flame);
}
