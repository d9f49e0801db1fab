/* SPDX-License-Identifier: MIT */
/* The answer about locks as text: deadlocks, tables, and the stacks of waiting and holding threads. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/locks-state.h"
#include "analysis/report-table.h"
#include "analysis/report-text.h"
#include "base/format.h"

#define LOCKS_FRAMES_SHOWN 8 /* of each stack */
#define LOCKS_STACKS_SHOWN 3 /* pairs of stacks of each row */
#define LOCKS_ROWS_SHOWN 10  /* of each table if `--rows` is not given */

struct locks_text {
	struct locks *locks;
	struct view_out out;
	bool any;
};

static void locks_begin_section(struct locks_text *text)
{
	if (text->any)
		view_out_char(&text->out, '\n');
	text->any = true;
}

static uint32_t locks_shown(const struct locks *locks, uint32_t count)
{
	uint64_t rows = locks->options->rows ? locks->options->rows : LOCKS_ROWS_SHOWN;

	return rows < count ? (uint32_t)rows : count;
}

static void locks_print_remainder(struct locks_text *text, uint32_t shown, uint32_t count)
{
	if (shown < count)
		view_out_format(&text->out, "… and %u more (see them all with `--rows %u`)\n",
				count - shown, count);
}

static const char *locks_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* ---- names ---- */

/* The function of the innermost frame of a stack, or its address. */
static void locks_put_function(struct locks *locks, uint32_t stack, char *name, size_t size)
{
	uint32_t count, named = stacks_named(&locks->stacks, stack);
	const uint32_t *frames = stacks_frames(&locks->stacks, named, &count);
	const struct stack_frame *frame = count ? stacks_frame(&locks->stacks, frames[0]) : NULL;

	if (!frame)
		snprintf(name, size, "unknown code");
	else if (frame->function)
		format_printable(frame->function, name, size);
	else
		snprintf(name, size, "0x%" PRIx64, frame->address);
}

/* A variable, or the address and who used it first. */
static void locks_put_row(struct locks *locks, const struct locks_row *row, char *name, size_t size)
{
	const struct symbol *variable = locks_variable(locks, row);
	char function[LOCKS_NAME_BYTES / 2], number[FORMAT_NUMBER_MAX];

	locks_put_function(locks, row->place, function, sizeof(function));
	if (row->kind == LOCKS_JOIN)
		snprintf(name, size, "threads joined");
	else if (row->is_shared)
		snprintf(name, size, "%s of %s", format_number(row->nr_locks, number), function);
	else if (variable && variable->inside)
		snprintf(name, size, "%s+0x%" PRIx64,
				format_printable(variable->function, function, sizeof(function)),
				variable->inside);
	else if (variable)
		format_printable(variable->function, name, size);
	else
		snprintf(name, size, "0x%" PRIx64 " (%s %s)", row->address,
				row->is_initialised ? "made by" : "used by", function);
}

void locks_put_name(struct locks *locks, const struct locks_row *row, char name[LOCKS_NAME_BYTES])
{
	size_t used = 0;

	if (row->kind != LOCKS_JOIN)
		used = (size_t)snprintf(name, LOCKS_NAME_BYTES, "%s ", locks_kind_name(row->kind));
	locks_put_row(locks, row, name + used, LOCKS_NAME_BYTES - used);
}

static void locks_put_thread(const struct locks_thread *thread, char *name, size_t size)
{
	char printable[64];

	/* A number that was made from the number of a call is no thread id. */
	if (thread->id >= INT64_C(1) << 32)
		snprintf(name, size, "thread #%" PRId64, thread->id - (INT64_C(1) << 32));
	else if (*thread->name)
		snprintf(name, size, "thread %" PRId64 " (%s)", thread->id,
				format_printable(thread->name, printable, sizeof(printable)));
	else
		snprintf(name, size, "thread %" PRId64, thread->id);
}

/* `named` is a number of stacks_named(). */
static void locks_print_stack(struct locks_text *text, const char *title, uint32_t named)
{
	uint32_t count;
	const uint32_t *frames = stacks_own_frames(&text->locks->stacks, named, &count);

	if (!count)
		view_out_format(&text->out, "    %-8s  unknown code\n", title);
	for (uint32_t i = 0; i < count && i < LOCKS_FRAMES_SHOWN; i++) {
		view_out_format(&text->out, "    %-8s  ", i ? "" : title);
		stacks_print_frame(stacks_frame(&text->locks->stacks, frames[i]), &text->out);
		view_out_char(&text->out, '\n');
	}
	if (count > LOCKS_FRAMES_SHOWN)
		view_out_format(&text->out, "    %-8s  … and %u more\n", "",
				count - LOCKS_FRAMES_SHOWN);
}

static void locks_print_time(struct locks_text *text, const char *title, int64_t ns)
{
	view_out_format(&text->out, "%s", title);
	walk_put_time(&text->out, ns, false);
}

/* ---- the overview ---- */

/* The name of the only process, or the number of processes. */
static void locks_put_processes(const struct locks *locks, char *name, size_t size)
{
	if (locks->identity.keys.count == 1)
		identity_text(&locks->identity, 0, name, size);
	else
		snprintf(name, size, "%u processes", locks->identity.keys.count);
}

static void locks_print_overview(struct locks_text *text)
{
	struct locks *locks = text->locks;
	char number[FORMAT_NUMBER_MAX], processes[512], duration[FORMAT_NUMBER_MAX];
	uint64_t owned_ns = 0, others_ns = 0;

	for (uint32_t i = 0; i < locks->row_keys.count; i++)
		*(locks_has_owner(locks->rows[i].kind) ? &owned_ns : &others_ns) +=
				locks->rows[i].waited_ns;
	locks_begin_section(text);
	locks_put_processes(locks, processes, sizeof(processes));
	view_out_format(&text->out, "%s: %s of %u thread%s", processes,
			format_events(locks->events, number), locks->thread_keys.count,
			locks_plural(locks->thread_keys.count));
	/* Without an event, the first time is not known. */
	if (locks->events)
		view_out_format(&text->out, " in %s",
				text_duration((double)(locks_end_ns(locks) - locks->first_ns),
						duration));
	view_out_char(&text->out, '\n');
	view_out_format(&text->out, "  waited     %s for locks, ",
			text_duration((double)owned_ns, duration));
	view_out_format(&text->out, "%s for conditions, semaphores, barriers and threads\n",
			text_duration((double)others_ns, duration));
}

static void locks_print_notes(struct locks_text *text)
{
	struct locks *locks = text->locks;
	uint64_t uncertain = 0, open = 0;
	char number[FORMAT_NUMBER_MAX], other[FORMAT_NUMBER_MAX];

	for (uint32_t i = 0; i < locks->row_keys.count; i++) {
		uncertain += locks->rows[i].uncertain;
		open += locks->rows[i].open;
	}
	if (open)
		view_out_format(&text->out,
				"  open       %s wait%s not ended; %s in WAITED until the end, marked with +\n",
				format_number(open, number), open == 1 ? " has" : "s have",
				open == 1 ? "it counts" : "they count");
	if (locks->lost_packets)
		view_out_format(&text->out, "  incomplete %s packet%s lost\n",
				format_number(locks->lost_packets, number),
				locks->lost_packets == 1 ? " is" : "s are");
	if (locks->lost || uncertain)
		view_out_format(&text->out,
				"  incomplete %s lost; %s duration%s not counted, because the end may be among the lost events\n",
				format_events(locks->lost, number), format_number(uncertain, other),
				uncertain == 1 ? " is" : "s are");
	if (locks->uncertain_deadlocks)
		view_out_format(&text->out,
				"  incomplete %s waiting threads that may be a deadlock, or may have lost a release\n",
				locks->uncertain_deadlocks == 1 ? "a cycle of" : "cycles of");
	if (locks->without_thread)
		view_out_format(&text->out,
				"  incomplete %s without a thread; record with `--context vtid`\n",
				format_events(locks->without_thread, number));
	if (locks->not_followed)
		view_out_format(&text->out, "  incomplete %s beyond the limits of this analysis\n",
				format_events(locks->not_followed, number));
}

/* ---- deadlocks ---- */

static void locks_print_edge(struct locks_text *text, const struct locks_edge *edge)
{
	struct locks *locks = text->locks;
	const struct locks_hold *hold = &locks->holds[edge->hold];
	const struct locks_lock *lock = &locks->all[hold->lock];
	const struct locks_thread *thread = &locks->threads[edge->thread];
	const struct locks_pending *pending = &thread->pending[thread->depth - 1];
	char waiter[128], holder[128], name[LOCKS_NAME_BYTES];

	locks_put_thread(thread, waiter, sizeof(waiter));
	locks_put_thread(&locks->threads[hold->thread], holder, sizeof(holder));
	locks_put_row(locks, &locks->rows[lock->row], name, sizeof(name));
	view_out_format(&text->out, "  %s waits for %s %s, held by %s\n", waiter,
			locks_kind_name(lock->kind), name,
			hold->thread == edge->thread ? "itself" : holder);
	locks_print_time(text, "    since ", pending->ns);
	locks_print_time(text, ", held since ", hold->ns);
	view_out_format(&text->out, "\n");
	locks_print_stack(text, "waits at", stacks_named(&locks->stacks, pending->stack));
	locks_print_stack(text, "taken at", stacks_named(&locks->stacks, hold->stack));
}

static void locks_print_cycle(struct locks_text *text, const struct locks_deadlock *deadlock)
{
	struct locks *locks = text->locks;
	const struct locks_edge *edges = &locks->edges[deadlock->first];
	char process[512];

	identity_text(&locks->identity, locks->threads[edges->thread].process, process,
			sizeof(process));
	view_out_format(&text->out, "%sDEADLOCK%s of %u thread%s of %s\n",
			locks->colour ? VIEW_COLOUR_LOST : "", locks->colour ? VIEW_COLOUR_END : "",
			deadlock->count, locks_plural(deadlock->count), process);
	for (uint32_t at = 0; at < deadlock->count; at++)
		locks_print_edge(text, &edges[at]);
}

static void locks_print_deadlocks(struct locks_text *text)
{
	for (uint32_t i = 0; i < text->locks->nr_deadlocks; i++) {
		locks_begin_section(text);
		locks_print_cycle(text, &text->locks->deadlocks[i]);
	}
}

/* ---- tables ---- */

static void locks_put_stats(struct report_table *table, const struct stats *stats)
{
	static const uint32_t thousandths[] = {50000, 99000};
	char duration[FORMAT_NUMBER_MAX];

	for (unsigned int i = 0; i < 2; i++)
		table_put(table,
				stats->count ? text_duration((double)report_stats_percentile(
									     stats, thousandths[i]),
							       duration)
					     : "-");
	table_put(table, stats->count ? text_duration((double)stats->most, duration) : "-");
}

static void locks_put_row_fields(struct locks *locks, struct report_table *table,
		const struct locks_row *row, bool has_owner)
{
	char name[LOCKS_NAME_BYTES], number[FORMAT_NUMBER_MAX], process[512];

	locks_put_row(locks, row, name, sizeof(name));
	table_put(table, name);
	table_put(table, locks_kind_name(row->kind));
	table_format(table, "%s%s", text_duration((double)row->waited_ns, number),
			row->open ? "+" : "");
	table_put(table, format_number(row->attempts, number));
	table_format(table, "%.1f%%",
			row->attempts ? (double)row->contended * 100 / (double)row->attempts : 0.0);
	locks_put_stats(table, &row->wait);
	if (has_owner)
		locks_put_stats(table, &row->hold);
	identity_text(&locks->identity, row->process, process, sizeof(process));
	table_put(table, process);
}

static void locks_print_rows(
		struct locks_text *text, const uint32_t *order, uint32_t count, bool has_owner)
{
	static const struct table_column owned[] = {
			{"LOCK", false, VIEW_COLOUR_NAME},
			{"KIND", false, NULL},
			{"WAITED", true, VIEW_COLOUR_NUMBER},
			{"ATTEMPTS", true, NULL},
			{"CONTENDED", true, NULL},
			{"WAIT P50", true, NULL},
			{"P99", true, NULL},
			{"MAX", true, NULL},
			{"HOLD P50", true, NULL},
			{"P99", true, NULL},
			{"MAX", true, NULL},
			{"PROCESS", false, VIEW_COLOUR_PROCESS},
	};
	static const struct table_column others[] = {
			{"WAITED FOR", false, VIEW_COLOUR_NAME},
			{"KIND", false, NULL},
			{"WAITED", true, VIEW_COLOUR_NUMBER},
			{"ATTEMPTS", true, NULL},
			{"WAITING", true, NULL},
			{"WAIT P50", true, NULL},
			{"P99", true, NULL},
			{"MAX", true, NULL},
			{"PROCESS", false, VIEW_COLOUR_PROCESS},
	};
	struct report_table table = {has_owner ? owned : others, has_owner ? 12 : 9,
			text->locks->colour, NULL, 0, 0, false};
	uint32_t shown = locks_shown(text->locks, count);

	if (!count)
		return;
	locks_begin_section(text);
	for (uint32_t i = 0; i < shown; i++)
		locks_put_row_fields(text->locks, &table, &text->locks->rows[order[i]], has_owner);
	table_print(&table, &text->out);
	locks_print_remainder(text, shown, count);
}

/* ---- stacks ---- */

static void locks_print_pair(struct locks_text *text, const struct locks_pair *pair)
{
	const struct locks_row *row = &text->locks->rows[pair->row];
	char number[FORMAT_NUMBER_MAX], duration[FORMAT_NUMBER_MAX], longest[FORMAT_NUMBER_MAX];

	view_out_format(&text->out, "  %s in %s wait%s, at most %s\n",
			text_duration((double)pair->ns, duration),
			format_number(pair->count, number), locks_plural(pair->count),
			text_duration((double)pair->max_ns, longest));
	locks_print_stack(text, "waits at", pair->waiter);
	if (pair->holder != LOCKS_NONE)
		locks_print_stack(text, locks_has_owner(row->kind) ? "held by" : "woken by",
				pair->holder);
}

/* The stacks of a row: `order` are the pairs of all rows, by row. */
static void locks_print_pairs_of(struct locks_text *text, uint32_t row, const uint32_t *order)
{
	struct locks *locks = text->locks;
	uint32_t count, first = locks_pairs_of(locks, order, row, &count);
	char name[LOCKS_NAME_BYTES];

	if (!count)
		return;
	locks_begin_section(text);
	locks_put_name(locks, &locks->rows[row], name);
	view_out_format(&text->out, "%s\n", name);
	for (uint32_t i = 0; i < count && i < LOCKS_STACKS_SHOWN; i++)
		locks_print_pair(text, &locks->pairs[order[first + i]]);
	if (count > LOCKS_STACKS_SHOWN)
		view_out_format(&text->out, "  … and %u more pairs of stacks (all with `--json`)\n",
				count - LOCKS_STACKS_SHOWN);
}

/* ---- waiting threads ---- */

/* Prints the thread for which this thread waits. */
static void locks_put_holder(struct locks *locks, const struct locks_thread *thread, char *name)
{
	uint32_t hold = locks_obstacle_of(locks, thread, &thread->pending[thread->depth - 1]);
	char holder[128];

	if (hold == LOCKS_NONE) {
		snprintf(name, LOCKS_NAME_BYTES, "-");
		return;
	}
	locks_put_thread(&locks->threads[locks->holds[hold].thread], holder, sizeof(holder));
	snprintf(name, LOCKS_NAME_BYTES, "%s%s", holder,
			locks_has_ended(locks, locks->holds[hold].thread, locks->holds[hold].stack)
					? ", which has ended"
					: "");
}

/* Prints the lock that a thread waits for, as in the table of locks, or its address. */
static void locks_put_object(struct locks *locks, const struct locks_thread *thread, char *name)
{
	const struct locks_row *row = locks_awaited_row(locks, thread);

	if (row && !row->is_shared)
		locks_put_row(locks, row, name, LOCKS_NAME_BYTES);
	else
		snprintf(name, LOCKS_NAME_BYTES, "0x%" PRIx64,
				thread->pending[thread->depth - 1].address);
}

static int locks_print_waiting(struct locks_text *text)
{
	static const struct table_column columns[] = {
			{"WAITING AT THE END", false, VIEW_COLOUR_NAME},
			{"CALL", false, NULL},
			{"OBJECT", false, NULL},
			{"FOR", true, VIEW_COLOUR_NUMBER},
			{"IN", false, NULL},
			{"HELD BY", false, NULL},
	};
	struct locks *locks = text->locks;
	struct report_table table = {columns, 6, locks->colour, NULL, 0, 0, false};
	uint32_t count, shown, *order = locks_waiting_order(locks, &count);
	char name[LOCKS_NAME_BYTES], duration[FORMAT_NUMBER_MAX];

	if (!order)
		return -ENOMEM;
	shown = locks_shown(locks, count);
	if (count)
		locks_begin_section(text);
	for (uint32_t i = 0; i < shown; i++) {
		const struct locks_thread *thread = &locks->threads[order[i]];
		const struct locks_pending *pending = &thread->pending[thread->depth - 1];

		locks_put_thread(thread, name, sizeof(name));
		table_put(&table, name);
		table_put(&table, pending->operation->function);
		locks_put_object(locks, thread, name);
		table_put(&table, name);
		table_put(&table,
				text_duration((double)(locks_end_ns(locks) - pending->ns),
						duration));
		locks_put_function(locks, pending->stack, name, sizeof(name));
		table_put(&table, name);
		locks_put_holder(locks, thread, name);
		table_put(&table, name);
	}
	if (count)
		table_print(&table, &text->out);
	locks_print_remainder(text, shown, count);
	free(order);
	return 0;
}

/* ---- the whole ---- */

static void locks_print_tables(struct locks_text *text, const uint32_t *owned, uint32_t nr_owned,
		const uint32_t *others, uint32_t nr_others, const uint32_t *pairs)
{
	struct locks *locks = text->locks;

	locks_print_rows(text, owned, nr_owned, true);
	for (uint32_t i = 0; i < locks_shown(locks, nr_owned); i++)
		locks_print_pairs_of(text, owned[i], pairs);
	locks_print_rows(text, others, nr_others, false);
	for (uint32_t i = 0; i < locks_shown(locks, nr_others); i++)
		locks_print_pairs_of(text, others[i], pairs);
}

int locks_print_text(struct locks *locks, FILE *out)
{
	struct locks_text text = {.locks = locks};
	uint32_t nr_owned, nr_others;
	uint32_t *owned = locks_row_order(locks, true, &nr_owned);
	uint32_t *others = locks_row_order(locks, false, &nr_others);
	uint32_t *pairs = locks_pair_order(locks);
	int ret = owned && others && pairs ? 0 : -ENOMEM;

	if (!ret) {
		locks_print_overview(&text);
		locks_print_notes(&text);
		locks_print_deadlocks(&text);
		locks_print_tables(&text, owned, nr_owned, others, nr_others, pairs);
		ret = locks_print_waiting(&text);
	}
	free(owned);
	free(others);
	free(pairs);
	return view_out_end(&text.out, out, ret);
}

/* ---- parts ---- */

void locks_print_summary(struct locks *locks, struct view_out *out)
{
	struct locks_text text = {.locks = locks, .out = *out};

	locks_print_overview(&text);
	locks_print_notes(&text);
	*out = text.out;
}

void locks_print_stacks(
		struct locks *locks, uint32_t row, const uint32_t *order, struct view_out *out)
{
	struct locks_text text = {.locks = locks, .out = *out};
	uint32_t count, first = locks_pairs_of(locks, order, row, &count);

	for (uint32_t i = 0; i < count; i++)
		locks_print_pair(&text, &locks->pairs[order[first + i]]);
	*out = text.out;
}

void locks_print_deadlock(struct locks *locks, uint32_t number, struct view_out *out)
{
	struct locks_text text = {.locks = locks, .out = *out};

	locks_print_cycle(&text, &locks->deadlocks[number]);
	*out = text.out;
}

void locks_print_waiter(struct locks *locks, uint32_t number, struct view_out *out)
{
	struct locks_text text = {.locks = locks, .out = *out};
	const struct locks_thread *thread = &locks->threads[number];
	const struct locks_pending *pending = &thread->pending[thread->depth - 1];
	char waiter[128], object[LOCKS_NAME_BYTES], holder[LOCKS_NAME_BYTES];
	char duration[FORMAT_NUMBER_MAX];

	locks_put_thread(thread, waiter, sizeof(waiter));
	locks_put_object(locks, thread, object);
	locks_put_holder(locks, thread, holder);
	view_out_format(&text.out, "WAITING %s in %s for %s, for %s", waiter,
			pending->operation->function, object,
			text_duration((double)(locks_end_ns(locks) - pending->ns), duration));
	if (strcmp(holder, "-") != 0)
		view_out_format(&text.out, ", held by %s", holder);
	view_out_char(&text.out, '\n');
	locks_print_stack(&text, "waits at", stacks_named(&locks->stacks, pending->stack));
	*out = text.out;
}
