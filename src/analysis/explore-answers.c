/* SPDX-License-Identifier: MIT */
/* The answers of `side leaks`, `side locks` and `side flame` as rows. */
#include "analysis/explore-answers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/flame.h"
#include "analysis/leaks.h"
#include "analysis/locks.h"
#include "analysis/report-text.h"
#include "analysis/trace-symbols.h"
#include "base/error.h"

#define EXPLORE_PATH_FRAMES 8 /* functions of a stack in its row */

enum explore_row_kind {
	EXPLORE_ROW_TEXT, /* a line of the answer's summary */
	EXPLORE_ROW_STACK,
	EXPLORE_ROW_LEAK,
	EXPLORE_ROW_FREE,
	EXPLORE_ROW_DEADLOCK,
	EXPLORE_ROW_LOCK,
	EXPLORE_ROW_WAITER
};

struct explore_answer_row {
	enum explore_row_kind kind;
	uint32_t number; /* of the line, node, group, pair of frees, deadlock, lock or thread */
};

struct explore_answer_rows {
	bool is_open;
	struct explore_answer_row *items;
	size_t count, capacity;
	char **lines; /* of the summary */
};

struct explore_answers {
	const char *dirs[EXPLORE_ANSWERS];
	const char *filter;
	const struct analysis_listener *listener; /* NULL: no answer is being opened */
	struct analysis_listener forward;
	struct explore_answer_rows rows[EXPLORE_ANSWERS];
	/* Outlive the answers, because a confined process cannot start readers of debug files. */
	struct symbols *symbols[EXPLORE_ANSWERS];
	struct flame_options flame_options;
	struct flame *flame;
	struct leaks_options leaks_options;
	struct leaks leaks;
	struct locks_options locks_options;
	struct locks locks;
	uint32_t *pairs; /* the order of locks_pair_order() */
};

/* ---- begin and end ---- */

static void explore_answers_report(
		void *user, enum analysis_message kind, const char *hint, const char *text)
{
	const struct explore_answers *answers = user;

	if (answers->listener && answers->listener->report)
		answers->listener->report(answers->listener->user, kind, hint, text);
}

static void explore_answers_progress(void *user, uint64_t events)
{
	const struct explore_answers *answers = user;

	if (answers->listener && answers->listener->progress)
		answers->listener->progress(answers->listener->user, events);
}

static int explore_answers_new_flame(struct explore_answers *answers, struct error *error)
{
	answers->flame_options = (struct flame_options){
			.filter = answers->filter, .weight = FLAME_WEIGHT_COUNT};
	answers->flame = calloc(1, sizeof(*answers->flame));
	if (!answers->flame)
		return error_set_no_memory(error);
	answers->flame->symbols = answers->symbols[EXPLORE_ANSWER_STACKS];
	return flame_prepare(answers->flame, &answers->flame_options, "show",
			answers->dirs[EXPLORE_ANSWER_STACKS], &answers->forward, error);
}

static void explore_answers_free_flame(struct explore_answers *answers)
{
	if (!answers->flame)
		return;
	answers->flame->symbols = NULL;
	flame_free(answers->flame);
	free(answers->flame);
	answers->flame = NULL;
}

static void explore_answers_free_leaks(struct explore_answers *answers)
{
	answers->leaks.symbols = NULL;
	leaks_free(&answers->leaks);
	answers->leaks = (struct leaks){.symbols = NULL};
}

static void explore_answers_free_locks(struct explore_answers *answers)
{
	answers->locks.symbols = NULL;
	locks_free(&answers->locks);
	answers->locks = (struct locks){.symbols = NULL};
	free(answers->pairs);
	answers->pairs = NULL;
}

int explore_answers_create(const char *const dirs[EXPLORE_ANSWERS],
		struct explore_answers **ret_answers, struct error *error)
{
	struct explore_answers *answers = calloc(1, sizeof(*answers));

	*ret_answers = answers;
	if (!answers)
		return error_set_no_memory(error);
	answers->forward = (struct analysis_listener){
			explore_answers_report, explore_answers_progress, answers};
	for (size_t i = 0; i < EXPLORE_ANSWERS; i++) {
		answers->dirs[i] = dirs[i];
		answers->symbols[i] = trace_symbols_start(false, &answers->forward);
		if (!answers->symbols[i])
			return error_set_no_memory(error);
	}
	return 0;
}

static void explore_answers_free_rows(struct explore_answer_rows *rows)
{
	/* The first line owns the memory of all. */
	if (rows->lines)
		free(rows->lines[0]);
	free(rows->lines);
	free(rows->items);
	*rows = (struct explore_answer_rows){.is_open = false};
}

void explore_answers_free(struct explore_answers *answers)
{
	if (!answers)
		return;
	for (size_t i = 0; i < EXPLORE_ANSWERS; i++)
		explore_answers_free_rows(&answers->rows[i]);
	explore_answers_free_flame(answers);
	explore_answers_free_leaks(answers);
	explore_answers_free_locks(answers);
	for (size_t i = 0; i < EXPLORE_ANSWERS; i++)
		symbols_free(answers->symbols[i]);
	free(answers);
}

void explore_answers_set_filter(struct explore_answers *answers, const char *filter)
{
	answers->filter = filter;
	explore_answers_forget(answers, EXPLORE_ANSWER_STACKS, 0);
}

void explore_answers_forget(
		struct explore_answers *answers, enum explore_answer answer, int64_t end_ns)
{
	switch (answer) {
	case EXPLORE_ANSWER_STACKS: explore_answers_free_flame(answers); break;
	case EXPLORE_ANSWER_LEAKS: explore_answers_free_leaks(answers); break;
	case EXPLORE_ANSWER_LOCKS:
		explore_answers_free_locks(answers);
		answers->locks_options.end_ns = end_ns;
		break;
	}
	symbols_forget(answers->symbols[answer]);
	explore_answers_free_rows(&answers->rows[answer]);
}

/* ---- lists of rows ---- */

static int explore_answers_add(
		struct explore_answer_rows *rows, enum explore_row_kind kind, uint32_t number)
{
	if (rows->count == rows->capacity) {
		size_t capacity = rows->capacity ? 2 * rows->capacity : 64;
		struct explore_answer_row *items =
				reallocarray(rows->items, capacity, sizeof(*items));

		if (!items)
			return -ENOMEM;
		rows->items = items;
		rows->capacity = capacity;
	}
	rows->items[rows->count++] = (struct explore_answer_row){kind, number};
	return 0;
}

/* Makes rows of the lines of a text, and takes its memory. */
static int explore_answers_add_lines(struct explore_answer_rows *rows, struct view_out *text)
{
	uint32_t count = 0;
	int ret = 0;

	view_out_char(text, '\0');
	for (const char *at = text->begin; !text->failed && *at; at++)
		count += *at == '\n';
	rows->lines = text->failed ? NULL : calloc((size_t)count + 1, sizeof(*rows->lines));
	if (!rows->lines) {
		view_out_free(text);
		return -ENOMEM;
	}
	rows->lines[0] = text->begin;
	for (uint32_t i = 0; i < count && !ret; i++) {
		char *end = strchr(rows->lines[i], '\n');

		*end = '\0';
		rows->lines[i + 1] = end + 1;
		ret = explore_answers_add(rows, EXPLORE_ROW_TEXT, i);
	}
	return ret;
}

/* ---- stacks ---- */

static int explore_answers_compare_nodes(const void *one, const void *other, void *user)
{
	const struct explore_answer_row *left = one, *right = other;
	const struct flame_node *nodes = user;

	if (nodes[left->number].self != nodes[right->number].self)
		return nodes[left->number].self > nodes[right->number].self ? -1 : 1;
	return left->number < right->number ? -1 : left->number > right->number;
}

static void explore_answers_sum_stacks(const struct flame *flame, struct view_out *out)
{
	char number[FORMAT_NUMBER_MAX], other[FORMAT_NUMBER_MAX];

	if (flame->is_calls)
		view_out_format(out, "%s calls of functions by their callers\n",
				format_number(flame->events, number));
	else
		view_out_format(out, "%s by stack; %s without a stack\n",
				format_events(flame->events, number),
				format_number(flame->stackless, other));
	if (flame->lost)
		view_out_format(out, "Incomplete: %s lost\n", format_events(flame->lost, number));
}

static int explore_answers_add_stacks(struct explore_answer_rows *rows, const struct flame *flame)
{
	struct view_out text = {.begin = NULL};
	size_t first;
	int ret;

	explore_answers_sum_stacks(flame, &text);
	ret = explore_answers_add_lines(rows, &text);
	first = rows->count;
	for (uint32_t i = 0; i < flame_tree_count(&flame->tree) && !ret; i++)
		if (flame->tree.nodes[i].self)
			ret = explore_answers_add(rows, EXPLORE_ROW_STACK, i);
	if (!ret && rows->count > first)
		qsort_r(&rows->items[first], rows->count - first, sizeof(*rows->items),
				explore_answers_compare_nodes, flame->tree.nodes);
	return ret;
}

static int explore_answers_open_stacks(struct explore_answers *answers, struct error *error)
{
	struct explore_answer_rows *rows = &answers->rows[EXPLORE_ANSWER_STACKS];
	int ret = answers->flame ? 0 : explore_answers_new_flame(answers, error);

	if (!ret)
		ret = flame_open(answers->flame, error);
	if (!ret)
		ret = flame_read(answers->flame, error);
	/* No event has a stack: the answer has no rows. */
	if (ret == -ENODATA) {
		error_clear(error);
		return 0;
	}
	if (!ret && explore_answers_add_stacks(rows, answers->flame))
		ret = error_set_no_memory(error);
	return ret;
}

/* Innermost first. */
static void explore_answers_put_stack(
		const struct explore_answers *answers, uint32_t node, struct view_out *out)
{
	const struct flame_tree *tree = &answers->flame->tree;
	uint64_t whole = tree->nodes[FLAME_TREE_ROOT].total, self = tree->nodes[node].self;
	char number[FORMAT_NUMBER_MAX];

	view_out_format(out, "%13s %5.1f%% ", format_number(self, number),
			whole ? (double)self * 100 / (double)whole : 0);
	for (unsigned int i = 0; i < EXPLORE_PATH_FRAMES && tree->nodes[node].depth; i++) {
		const char *name = flame_tree_frame_of(tree, node)->name;

		view_out_text(out, i ? " < " : "");
		view_out_put(out, name, strlen(name));
		node = tree->nodes[node].parent;
	}
	if (tree->nodes[node].depth)
		view_out_text(out, " < …");
}

static void explore_answers_detail_stack(
		const struct explore_answers *answers, uint32_t node, struct view_out *out)
{
	const struct flame_tree *tree = &answers->flame->tree;

	for (; tree->nodes[node].depth; node = tree->nodes[node].parent) {
		const struct flame_frame *frame = flame_tree_frame_of(tree, node);

		view_out_format(out, "    %s", frame->name);
		if (frame->file)
			view_out_format(out, " (%s:%u)", frame->file, frame->line);
		else if (*frame->module)
			view_out_format(out, " (%s)", frame->module);
		view_out_char(out, '\n');
	}
}

/* ---- leaks ---- */

static int explore_answers_add_leaks(struct explore_answer_rows *rows, const struct leaks *leaks)
{
	struct view_out text = {.begin = NULL};
	int ret;

	if (!leaks->events && !leaks->hidden)
		return 0;
	leaks_print_summary(leaks, &text);
	ret = explore_answers_add_lines(rows, &text);
	for (uint32_t i = 0; i < leaks->group_count && !ret; i++)
		ret = explore_answers_add(rows, EXPLORE_ROW_LEAK, i);
	/* If events are missing, a second free can be correct. */
	for (uint32_t i = 0; i < leaks->free_keys.count && !ret && leaks_is_exact(leaks); i++)
		if (leaks->frees[i].count && leaks->frees[i].freed_by != LEAKS_STACK_NONE)
			ret = explore_answers_add(rows, EXPLORE_ROW_FREE, i);
	return ret;
}

static int explore_answers_open_leaks(struct explore_answers *answers, struct error *error)
{
	struct leaks *leaks = &answers->leaks;
	int ret;

	leaks->symbols = answers->symbols[EXPLORE_ANSWER_LEAKS];
	ret = leaks_prepare(leaks, &answers->leaks_options, answers->dirs[EXPLORE_ANSWER_LEAKS],
			&answers->forward, error);
	if (!ret)
		ret = leaks_open(leaks, error);
	if (!ret)
		ret = leaks_read(leaks, error);
	if (!ret)
		ret = leaks_resolve(leaks, error);
	if (!ret && explore_answers_add_leaks(&answers->rows[EXPLORE_ANSWER_LEAKS], leaks))
		ret = error_set_no_memory(error);
	return ret;
}

/* The innermost frame of the program. */
static void explore_answers_put_frame(
		const struct leaks *leaks, uint32_t named, struct view_out *out)
{
	uint32_t count;
	const uint32_t *frames = stacks_own_frames(&leaks->stacks, named, &count);

	if (count)
		stacks_print_frame(stacks_frame(&leaks->stacks, frames[0]), out);
	else
		view_out_text(out, "(other stacks)");
}

static void explore_answers_put_leak(
		const struct leaks *leaks, const struct leaks_site *site, struct view_out *out)
{
	char bytes[FORMAT_NUMBER_MAX], blocks[FORMAT_NUMBER_MAX];
	uint64_t whole = leaks->bytes_counted;

	view_out_format(out, "%15s %5.1f%% %13s ", format_number(site->bytes, bytes),
			whole ? (double)site->bytes * 100 / (double)whole : 0,
			format_number(site->blocks, blocks));
	explore_answers_put_frame(leaks, site->named, out);
}

static void explore_answers_put_free(
		struct leaks *leaks, const struct leaks_free *entry, struct view_out *out)
{
	char number[FORMAT_NUMBER_MAX];

	view_out_format(out, "%15s %6s %13s freed again by ", "-", "-",
			format_number(entry->count, number));
	explore_answers_put_frame(leaks, leaks_stack_named(leaks, entry->stack), out);
}

static void explore_answers_detail_free(
		struct leaks *leaks, const struct leaks_free *entry, struct view_out *out)
{
	const struct {
		const char *title;
		uint32_t stack;
	} parts[] = {{"freed again by", entry->stack}, {"freed before by", entry->freed_by},
			{"allocated by", entry->allocated_by}};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (parts[i].stack == LEAKS_STACK_NONE)
			continue;
		view_out_format(out, "  %s\n", parts[i].title);
		stacks_print_text(&leaks->stacks, leaks_stack_named(leaks, parts[i].stack), out,
				"    ", 0);
	}
}

/* ---- locks ---- */

static int explore_answers_add_waiters(struct explore_answer_rows *rows, struct locks *locks)
{
	uint32_t count, *order = locks_waiting_order(locks, &count);
	int ret = order ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < count && !ret; i++)
		ret = explore_answers_add(rows, EXPLORE_ROW_WAITER, order[i]);
	free(order);
	return ret;
}

static int explore_answers_add_locks(struct explore_answers *answers)
{
	struct explore_answer_rows *rows = &answers->rows[EXPLORE_ANSWER_LOCKS];
	struct locks *locks = &answers->locks;
	struct view_out text = {.begin = NULL};
	int ret;

	if (!locks->events)
		return 0;
	locks_print_summary(locks, &text);
	ret = explore_answers_add_lines(rows, &text);
	for (uint32_t i = 0; i < locks->nr_deadlocks && !ret; i++)
		ret = explore_answers_add(rows, EXPLORE_ROW_DEADLOCK, i);
	for (int has_owner = 1; has_owner >= 0 && !ret; has_owner--) {
		uint32_t count, *order = locks_row_order(locks, has_owner, &count);

		ret = order ? 0 : -ENOMEM;
		for (uint32_t i = 0; i < count && !ret; i++)
			ret = explore_answers_add(rows, EXPLORE_ROW_LOCK, order[i]);
		free(order);
	}
	if (!ret)
		ret = explore_answers_add_waiters(rows, locks);
	answers->pairs = locks_pair_order(locks);
	return answers->pairs ? ret : -ENOMEM;
}

static int explore_answers_open_locks(struct explore_answers *answers, struct error *error)
{
	struct locks *locks = &answers->locks;
	int ret;

	locks->symbols = answers->symbols[EXPLORE_ANSWER_LOCKS];
	ret = locks_prepare(locks, &answers->locks_options, answers->dirs[EXPLORE_ANSWER_LOCKS],
			&answers->forward, error);
	if (!ret)
		ret = locks_open(locks, error);
	if (!ret)
		ret = locks_read(locks, error);
	if (!ret)
		ret = locks_resolve(locks, error);
	if (!ret && explore_answers_add_locks(answers))
		ret = error_set_no_memory(error);
	return ret;
}

static void explore_answers_put_lock(struct locks *locks, uint32_t number, struct view_out *out)
{
	const struct locks_row *row = &locks->rows[number];
	char text[FORMAT_NUMBER_MAX], name[LOCKS_NAME_BYTES];

	view_out_format(out, "%9s%s ", text_duration((double)row->waited_ns, text),
			row->open ? "+" : " ");
	view_out_format(out, "%13s ", format_number(row->attempts, text));
	view_out_format(out, "%13s ", format_number(row->contended, text));
	view_out_format(out, "%9s ",
			row->wait.count ? text_duration((double)row->wait.most, text) : "-");
	locks_put_name(locks, row, name);
	view_out_put(out, name, strlen(name));
}

/* The first line of a deadlock or of a waiting thread is its row. Further lines are its stacks. */
static void explore_answers_put_part(struct locks *locks, const struct explore_answer_row *item,
		bool is_row, struct view_out *out)
{
	struct view_out text = {.begin = NULL};
	const char *end;

	if (item->kind == EXPLORE_ROW_DEADLOCK)
		locks_print_deadlock(locks, item->number, &text);
	else
		locks_print_waiter(locks, item->number, &text);
	end = text.failed ? NULL : memchr(text.begin, '\n', view_out_size(&text));
	if (end && is_row)
		view_out_put(out, text.begin, (size_t)(end - text.begin));
	else if (end)
		view_out_put(out, end + 1, (size_t)(text.at - end - 1));
	out->failed |= text.failed;
	view_out_free(&text);
}

/* ---- all answers ---- */

int explore_answers_open(struct explore_answers *answers, enum explore_answer answer,
		const struct analysis_listener *listener, struct error *error)
{
	static int (*const open[])(struct explore_answers * answers, struct error * error) = {
			[EXPLORE_ANSWER_STACKS] = explore_answers_open_stacks,
			[EXPLORE_ANSWER_LEAKS] = explore_answers_open_leaks,
			[EXPLORE_ANSWER_LOCKS] = explore_answers_open_locks,
	};
	int ret;

	if (answers->rows[answer].is_open)
		return 0;
	answers->listener = listener;
	ret = open[answer](answers, error);
	answers->listener = NULL;
	if (ret)
		explore_answers_free_rows(&answers->rows[answer]);
	answers->rows[answer].is_open = true;
	return ret;
}

bool explore_answers_is_open(const struct explore_answers *answers, enum explore_answer answer)
{
	return answers->rows[answer].is_open;
}

static const char *const explore_answers_titles[] = {
		[EXPLORE_ANSWER_STACKS] = "       EVENTS  SHARE STACK",
		[EXPLORE_ANSWER_LEAKS] = "          BYTES  SHARE        BLOCKS ALLOCATED BY",
		[EXPLORE_ANSWER_LOCKS] = "   WAITED       ATTEMPTS     CONTENDED       MAX LOCK",
};

const char *explore_answers_title(enum explore_answer answer)
{
	return explore_answers_titles[answer];
}

uint64_t explore_answers_row_count(
		const struct explore_answers *answers, enum explore_answer answer)
{
	return answers->rows[answer].count;
}

void explore_answers_row(struct explore_answers *answers, enum explore_answer answer, uint64_t row,
		struct view_out *out)
{
	const struct explore_answer_rows *rows = &answers->rows[answer];
	uint32_t number = rows->items[row].number;

	switch (rows->items[row].kind) {
	case EXPLORE_ROW_TEXT:
		view_out_put(out, rows->lines[number], strlen(rows->lines[number]));
		break;
	case EXPLORE_ROW_STACK: explore_answers_put_stack(answers, number, out); break;
	case EXPLORE_ROW_LEAK:
		explore_answers_put_leak(&answers->leaks, &answers->leaks.groups[number], out);
		break;
	case EXPLORE_ROW_FREE:
		explore_answers_put_free(&answers->leaks, &answers->leaks.frees[number], out);
		break;
	case EXPLORE_ROW_DEADLOCK:
	case EXPLORE_ROW_WAITER:
		explore_answers_put_part(&answers->locks, &rows->items[row], true, out);
		break;
	case EXPLORE_ROW_LOCK: explore_answers_put_lock(&answers->locks, number, out); break;
	}
}

void explore_answers_detail(struct explore_answers *answers, enum explore_answer answer,
		uint64_t row, struct view_out *out)
{
	const struct explore_answer_row *item = &answers->rows[answer].items[row];
	struct leaks *leaks = &answers->leaks;

	switch (item->kind) {
	case EXPLORE_ROW_TEXT: break;
	case EXPLORE_ROW_STACK: explore_answers_detail_stack(answers, item->number, out); break;
	case EXPLORE_ROW_LEAK:
		stacks_print_text(
				&leaks->stacks, leaks->groups[item->number].named, out, "    ", 0);
		break;
	case EXPLORE_ROW_FREE:
		explore_answers_detail_free(leaks, &leaks->frees[item->number], out);
		break;
	case EXPLORE_ROW_DEADLOCK:
	case EXPLORE_ROW_WAITER: explore_answers_put_part(&answers->locks, item, false, out); break;
	case EXPLORE_ROW_LOCK:
		locks_print_stacks(&answers->locks, item->number, answers->pairs, out);
		break;
	}
}
