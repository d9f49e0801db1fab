/* SPDX-License-Identifier: MIT */
/*
 * Makes a page: one thread walks the trace for the report, and at the same time one for each other
 * answer.
 */
#include "export/html/html.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/leaks.h"
#include "analysis/locks.h"
#include "analysis/report.h"
#include "analysis/view-sink.h"
#include "base/error.h"
#include "export/html/html-lines.h"
#include "export/html/html-page.h"
#include "export/html/html-timeline.h"
#include "export/html/html-tree.h"

/* The lines of an answer, or of the report. A thread makes the lines of each answer. */
struct html_answer {
	struct html *html;
	int (*read)(struct html *html, FILE *stream, struct error *error);
	char *text;
	size_t size;
	struct error error;
	int ret;
	bool is_wanted, has_thread;
	pthread_t thread;
};

enum html_answer_id { HTML_LEAKS, HTML_LOCKS, HTML_ANSWERS };

struct html {
	struct report_options options; /* the options of the user, and the tables of a page */
	const char *dir, *version;
	struct report report;
	struct html_timeline timeline;
	struct stacks stacks;
	struct stack stack; /* of the last event with a stack */
	uint32_t stack_number;
	uint64_t *stack_counts; /* events of each stack of `stacks` */
	uint32_t stack_capacity;
	uint64_t stack_events, refused_stacks;

	struct leaks_options leaks_options;
	struct locks_options locks_options;
	struct leaks leaks;
	struct locks locks;
	bool has_answers; /* `leaks` and `locks` are prepared */
	struct html_answer answers[HTML_ANSWERS];
	uint32_t nr_names; /* names of the report that were searched for events of answers */

	struct html_lines lines;
	struct view_out chart;
};

bool html_is_available(void)
{
	return html_page_head_size != 0;
}

const struct report *html_report(const struct html *html)
{
	return &html->report;
}

/* ---- answers ---- */

static int html_read_leaks(struct html *html, FILE *stream, struct error *error)
{
	int ret = leaks_open(&html->leaks, error);

	if (!ret)
		ret = leaks_read(&html->leaks, error);
	return ret || !html->leaks.events ? ret : leaks_print(&html->leaks, stream, error);
}

static int html_read_locks(struct html *html, FILE *stream, struct error *error)
{
	int ret = locks_open(&html->locks, error);

	if (!ret)
		ret = locks_read(&html->locks, error);
	return ret || !html->locks.events ? ret : locks_print(&html->locks, stream, error);
}

static void *html_run_answer(void *argument)
{
	struct html_answer *answer = argument;
	FILE *stream = open_memstream(&answer->text, &answer->size);

	if (!stream) {
		answer->ret = error_set_no_memory(&answer->error);
		return NULL;
	}
	answer->ret = answer->read(answer->html, stream, &answer->error);
	if (fclose(stream) && !answer->ret)
		answer->ret = error_set_no_memory(&answer->error);
	return NULL;
}

static void html_start_answer(struct html_answer *answer)
{
	if (answer->is_wanted)
		return;
	answer->is_wanted = true;
	answer->has_thread = !pthread_create(&answer->thread, NULL, html_run_answer, answer);
}

/* Adds the lines, unless `ret` is an earlier error. Returns the first error. */
static int html_end_answer(struct html_answer *answer, int ret, struct error *error)
{
	if (answer->has_thread)
		pthread_join(answer->thread, NULL);
	else if (answer->is_wanted && !ret)
		html_run_answer(answer);
	if (!ret && answer->ret)
		*error = answer->error;
	if (!ret && !answer->ret && answer->text)
		html_lines_add(&answer->html->lines, answer->text, answer->size);
	free(answer->text);
	answer->text = NULL;
	return ret ? ret : answer->ret;
}

/* Starts the answers that use an event, by its provider or by the function of a probe. */
static void html_start_answers_of(struct html *html, const char *name)
{
	static const struct {
		const char *begin;
		bool is_function;
		enum html_answer_id answer;
	} rules[] = {{"libc:malloc", false, HTML_LEAKS}, {"malloc", true, HTML_LEAKS},
			{"calloc", true, HTML_LEAKS}, {"realloc", true, HTML_LEAKS},
			{"free", true, HTML_LEAKS}, {"pthread:", false, HTML_LOCKS},
			{"pthread_", true, HTML_LOCKS}, {"sem_", true, HTML_LOCKS}};
	const char *colon = strchr(name, ':'), *function = colon ? colon + 1 : name;

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		const char *text = rules[i].is_function ? function : name;

		if (!strncmp(text, rules[i].begin, strlen(rules[i].begin)))
			html_start_answer(&html->answers[rules[i].answer]);
	}
}

/* Starts an answer at its first event, because most traces have no such event. */
static void html_start_answers(struct html *html)
{
	const struct keys *names = &html->report.names;

	for (; html->nr_names < names->count; html->nr_names++)
		if (html->has_answers)
			html_start_answers_of(
					html, (const char *)names->entries[html->nr_names].bytes);
}

/* ---- the walk of the report ---- */

/* Consecutive events often have the same stack. */
static uint32_t html_number_stack(struct html *html, const struct stack *stack)
{
	size_t size = stack->count * sizeof(*stack->addresses);

	if (html->stack_events && stack->trace == html->stack.trace &&
			stack->count == html->stack.count &&
			stack->is_exact == html->stack.is_exact &&
			!memcmp(stack->addresses, html->stack.addresses, size))
		return html->stack_number;
	html->stack.trace = stack->trace;
	html->stack.count = stack->count;
	html->stack.is_exact = stack->is_exact;
	memcpy(html->stack.addresses, stack->addresses, size);
	html->stack_number = stacks_add(&html->stacks, stack);
	return html->stack_number;
}

/* Makes space for the count of a stack. 0 or -ENOMEM. */
static int html_reserve_stack(struct html *html, uint32_t number)
{
	uint32_t capacity = number < 64 ? 128 : number * 2;
	uint64_t *grown;

	if (number < html->stack_capacity)
		return 0;
	grown = realloc(html->stack_counts, capacity * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + html->stack_capacity, 0, (capacity - html->stack_capacity) * sizeof(*grown));
	html->stack_counts = grown;
	html->stack_capacity = capacity;
	return 0;
}

static int html_count_stack(
		struct html *html, const struct report_class *class, const struct ctf_item *item)
{
	struct stack stack;
	uint32_t number;

	if (!event_stack_read(&class->stack, item, &stack))
		return 0;
	stack.symbols = html->report.symbols;
	number = html_number_stack(html, &stack);
	html->stack_events++;
	if (number == STACK_NONE) {
		html->refused_stacks++;
		return html->stacks.no_memory ? -ENOMEM : 0;
	}
	if (html_reserve_stack(html, number))
		return -ENOMEM;
	html->stack_counts[number]++;
	return 0;
}

static int html_take_event(void *user, const struct report_class *class,
		const struct ctf_item *item, uint32_t process, int64_t thread)
{
	struct html *html = user;
	const struct html_thread_key key = {.process = process, .id = thread};
	size_t size = 0;
	const char *name = identity_thread_name(&class->identity, item, &size);
	int ret = html_count_stack(html, class, item);

	html_start_answers(html);
	if (ret || !item->timed)
		return ret;
	return html_timeline_add(&html->timeline, &key, item->ns, name, name ? size : 0);
}

static int html_take_call(void *user, const struct calls_slice *call)
{
	struct html *html = user;
	const struct html_thread_key key = {.process = call->process,
			.part = call->thread < 0 ? call->part : 0,
			.id = call->thread};
	struct html_slice slice = {.begin_ns = call->begin_ns,
			.duration_ns = call->duration_ns,
			.thread = html_timeline_thread(&html->timeline, &key),
			.function = call->function,
			.depth = call->depth};

	if (slice.thread != KEYS_NONE)
		return html_timeline_add_slice(&html->timeline, &slice);
	html->timeline.all_slices++;
	return html->timeline.thread_keys.no_memory ? -ENOMEM : 0;
}

/* Only losses that the packets counted: records of losses repeat them, without a time. */
static int html_take_loss(void *user, const struct walk_class *class, const struct ctf_item *item,
		uint32_t process)
{
	struct html *html = user;
	const struct html_loss loss = {.process = process,
			.begin_ns = item->begin_ns < item->ns ? item->begin_ns : item->ns,
			.end_ns = item->ns,
			.count = item->count,
			.is_packets = item->kind == CTF_ITEM_LOST_PACKETS};

	if (!class && item->timed)
		html_timeline_add_loss(&html->timeline, &loss);
	return 0;
}

/* ---- preparing ---- */

/* Leaks and locks need the whole trace: a part of the events would give wrong answers. */
static bool html_is_restricted(const struct report_options *options)
{
	return options->patterns.count || options->filter || view_times_is_set(&options->times);
}

/* The answers report no damage: the report reads the same files and reports it. */
static int html_prepare_answers(struct html *html, struct error *error)
{
	const struct analysis_listener quiet = {.progress = NULL};
	int ret;

	html->has_answers = true;
	html->leaks_options = (struct leaks_options){
			.rows = 1000, .debuginfod = html->options.debuginfod};
	html->locks_options = (struct locks_options){
			.stacks = 20, .debuginfod = html->options.debuginfod};
	html->leaks.json = html->locks.json = true;
	html->answers[HTML_LEAKS] = (struct html_answer){.html = html, .read = html_read_leaks};
	html->answers[HTML_LOCKS] = (struct html_answer){.html = html, .read = html_read_locks};
	ret = leaks_prepare(&html->leaks, &html->leaks_options, html->dir, &quiet, error);
	if (!ret)
		ret = locks_prepare(&html->locks, &html->locks_options, html->dir, &quiet, error);
	return ret;
}

int html_prepare(struct html **ret_html, const struct report_options *options, const char *dir,
		const char *version, const struct analysis_listener *listener, struct error *error)
{
	struct html *html = calloc(1, sizeof(*html));
	int ret;

	*ret_html = html;
	if (!html)
		return error_set_no_memory(error);
	html->options = *options;
	html->options.counts = html->options.losses = html->options.calls = true;
	/* The tree of the charts replaces that of the report, whose size has no limit. */
	html->options.tree = false;
	html->options.rows = 0;
	if (!html->options.callers || html->options.callers == REPORT_CALLERS_DEFAULT)
		html->options.callers = HTML_CALLERS;
	html->dir = dir;
	html->version = version;
	html->report.json = true;
	html->report.for_page = true;
	html->report.observer = (struct report_observer){
			.event = html_take_event, .loss = html_take_loss, .user = html};
	html->report.calls.detailed = true;
	html->report.calls.end = html_take_call;
	html->report.calls.end_user = html;
	ret = report_prepare(&html->report, &html->options, dir, listener, error);
	if (!ret && !html_is_restricted(options))
		ret = html_prepare_answers(html, error);
	return ret;
}

void html_free(struct html *html)
{
	if (!html)
		return;
	report_free(&html->report);
	if (html->has_answers) {
		leaks_free(&html->leaks);
		locks_free(&html->locks);
	}
	html_timeline_free(&html->timeline);
	stacks_free(&html->stacks);
	free(html->stack_counts);
	html_lines_free(&html->lines);
	view_out_free(&html->chart);
	free(html);
}

/* ---- lines of reports ---- */

static int html_read_report(struct html *html, FILE *stream, struct error *error)
{
	int ret = report_open(&html->report, error);

	if (!ret)
		ret = report_read(&html->report, error);
	return ret ? ret : report_print(&html->report, stream, error);
}

static int html_add_lines(struct html *html, struct error *error)
{
	struct html_answer report = {.html = html, .read = html_read_report, .is_wanted = true};
	int ret = html_end_answer(&report, 0, error);

	for (int i = 0; i < HTML_ANSWERS; i++)
		ret = html_end_answer(&html->answers[i], ret, error);
	html_lines_add_omitted(&html->lines);
	return ret;
}

/* ---- data of charts ---- */

static void html_put_process(const void *user, uint32_t process, char *text, size_t size)
{
	const struct html *html = user;

	identity_text(&html->report.identity, process, text, size);
}

static void html_put_number(struct view_out *out, const char *name, uint64_t number)
{
	view_out_text(out, ",\"");
	view_out_text(out, name);
	view_out_text(out, "\":");
	view_out_unsigned(out, number);
}

/*
 * Writes the names of the functions of the slices, and changes the slices to the numbers of these
 * names. All functions beyond the limit have the number 0.
 */
static int html_put_functions(struct html *html, struct view_out *out)
{
	const struct report_calls *calls = &html->report.calls;
	uint32_t *numbers = calloc((size_t)calls->functions.count + 1, sizeof(*numbers));
	size_t size = 0;
	uint32_t count = 1;

	if (!numbers)
		return -ENOMEM;
	view_out_text(out, ",\"functions\":[\"(other functions)\"");
	for (uint32_t i = 0; i < html->timeline.nr_slices; i++) {
		struct html_slice *slice = &html->timeline.slices[i];
		const char *name = calls_name(calls, slice->function);

		if (!numbers[slice->function] && size < HTML_FUNCTIONS_SIZE_MAX) {
			size_t length = strnlen(name, HTML_FUNCTION_SIZE - 1);

			view_out_char(out, ',');
			view_json_quoted(out, name, length);
			numbers[slice->function] = count++;
			/* A byte can become six bytes: "\u003c". */
			size += html_escaped_size(name, length) + 3;
		}
		slice->function = numbers[slice->function];
	}
	view_out_char(out, ']');
	free(numbers);
	return 0;
}

#define HTML_BUCKETS_NAME_SIZE 100

/* Writes the distributions of durations: function, then pairs of a power of two and a count. */
static int html_put_buckets(struct html *html, struct view_out *out)
{
	const struct report_calls *calls = &html->report.calls;
	uint32_t *order = calls_function_order(calls), count = 0;

	view_out_text(out, ",\"buckets\":[");
	for (uint32_t i = 0; order && i < calls->functions.count; i++) {
		const struct calls_stats *stats = &calls->stats[order[i]];
		const char *name = calls_name(calls, order[i]);
		uint64_t powers[STATS_POWERS];

		if (count == HTML_BUCKETS_FUNCTIONS)
			break;
		if (!stats->detail || !stats->detail->durations.count)
			continue;
		report_stats_powers(&stats->detail->durations, powers);
		view_out_text(out, count++ ? ",\n[" : "[");
		view_json_quoted(out, name, strnlen(name, HTML_BUCKETS_NAME_SIZE));
		for (unsigned int power = 0; power < STATS_POWERS; power++) {
			if (!powers[power])
				continue;
			view_out_char(out, ',');
			view_out_unsigned(out, power);
			view_out_char(out, ',');
			view_out_unsigned(out, powers[power]);
		}
		view_out_char(out, ']');
	}
	view_out_char(out, ']');
	free(order);
	return order ? 0 : -ENOMEM;
}

static int html_put_stack_tree(struct html *html, struct view_out *out)
{
	struct html_tree tree = {0};
	int ret = 0;

	for (uint32_t i = 0; i < html->stack_capacity && !ret; i++)
		if (html->stack_counts[i])
			ret = html_tree_add_stack(&tree, &html->stacks,
					stacks_named(&html->stacks, i), html->stack_counts[i]);
	if (!ret && html->refused_stacks)
		ret = html_tree_add_stack(&tree, &html->stacks, STACK_NONE, html->refused_stacks);
	html_tree_finish(&tree);
	if (!ret)
		ret = html_tree_print(&tree, "events", "events", out, HTML_TREE_SIZE_MAX);
	html_tree_free(&tree);
	return ret;
}

static int html_put_call_tree(struct html *html, struct view_out *out)
{
	struct html_tree tree = {0};
	int ret = html_tree_of_calls(&tree, &html->report.calls);

	if (!ret)
		ret = html_tree_print(&tree, "calls", "ns", out, HTML_TREE_SIZE_MAX);
	html_tree_free(&tree);
	return ret;
}

static int html_put_trees(struct html *html, struct view_out *out)
{
	bool has_calls = html->report.calls.branch_keys.count;
	int ret = 0;

	view_out_text(out, ",\"trees\":[");
	if (has_calls)
		ret = html_put_call_tree(html, out);
	if (!ret && html->stack_events) {
		if (has_calls)
			view_out_text(out, ",\n");
		ret = html_put_stack_tree(html, out);
	}
	view_out_char(out, ']');
	return ret;
}

static int html_make_chart(struct html *html)
{
	struct view_out *out = &html->chart;
	int ret;

	view_out_text(out, "{\"version\":");
	view_json_quoted(out, html->version, strlen(html->version));
	html_put_number(out, "restricted", !html->has_answers);
	html_put_number(out, "stack_events", html->stack_events);
	html_put_number(out, "refused_stacks", html->refused_stacks);
	ret = html_put_functions(html, out);
	if (ret)
		return ret;
	view_out_char(out, ',');
	ret = html_timeline_print(
			&html->timeline, out, HTML_TIMELINE_SIZE_MAX, html_put_process, html);
	if (!ret)
		ret = html_put_buckets(html, out);
	if (!ret)
		ret = html_put_trees(html, out);
	view_out_char(out, '}');
	return !ret && (out->failed || html->lines.out.failed) ? -ENOMEM : ret;
}

/* ---- the file ---- */

static void html_write_page(struct html *html, FILE *out, const struct view_out *chart)
{
	fwrite(html_page_head, 1, html_page_head_size, out);
	fwrite(html->lines.out.begin, 1, view_out_size(&html->lines.out), out);
	fwrite(html_page_middle, 1, html_page_middle_size, out);
	fwrite(chart->begin, 1, view_out_size(chart), out);
	fwrite(html_page_tail, 1, html_page_tail_size, out);
}

int html_write(struct html *html, FILE *out, struct error *error)
{
	struct view_out escaped = {0};
	int ret;

	error_clear(error);
	ret = html_add_lines(html, error);
	if (ret)
		return ret;
	ret = html_make_chart(html);
	if (!ret)
		html_put_escaped(&escaped, html->chart.begin, view_out_size(&html->chart));
	if (!ret && escaped.failed)
		ret = -ENOMEM;
	if (!ret)
		html_write_page(html, out, &escaped);
	view_out_free(&escaped);
	return ret ? error_set_kind(error, ERROR_FAILED, ret, NULL, "cannot make a page of %s: %s",
				     html->dir, strerror(-ret))
		   : 0;
}
