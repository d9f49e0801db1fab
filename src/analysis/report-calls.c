/* SPDX-License-Identifier: MIT */
/* Function calls, made of entries and returns. */
#include "analysis/report-calls.h"

#include "analysis/tree-order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct report_call_frame {
	uint64_t call;
	int64_t ns;
	uint64_t inner_ns;     /* time of its callees … */
	uint64_t inner_cpu_ns; /* … and their known processor time */
	uint64_t cpu_ns;       /* processor time of the thread at the entry, or CALLS_CPU_UNKNOWN */
	/* Time of recursive calls below this call; counts only if this call has no return. */
	uint64_t again_ns;
	uint32_t function, branch;
	uint32_t outer; /* the next outer frame of the same function; KEYS_NONE: none */
};

/* The open calls of a thread, the outermost first. */
struct calls_thread {
	struct report_call_frame *frames;
	uint32_t depth, capacity;
	uint32_t trace;
	uint32_t process, part; /* `part` is the upper part of the numbers of its calls */
	int64_t id;             /* -1: not recorded */
	int64_t last_ns;
};

/* What a record contains about a call. */
struct calls_record {
	uint64_t call, duration;
	int64_t ns;
	uint64_t cpu_ns; /* CALLS_CPU_UNKNOWN: not recorded */
	bool has_result;
	int64_t result;
};

/* ---- what an event is ---- */

/* The function of an event without a field for it: the name of the probe. */
static uint32_t add_name(struct report_calls *calls, const char *event, bool is_return)
{
	static const char suffix[] = "_return";
	const char *colon = strchr(event, ':'), *name = colon ? colon + 1 : event;
	size_t size = strlen(name), cut = sizeof(suffix) - 1;
	uint32_t number;

	if (is_return && size > cut && !strcmp(name + size - cut, suffix))
		size -= cut;
	calls->stats = keys_add_item(&calls->functions, calls->stats, sizeof(*calls->stats), name,
			size, &number);
	return number;
}

/* The kernel's counter of the thread's processor time, as a context. */
static void report_calls_find_cpu(struct calls_class *class, const struct ctf_item *item)
{
	static const char name[] = "perf_thread_task_clock";

	if (!event_member_find(&class->cpu, EVENT_CONTEXT, item, name))
		(void)event_member_find(&class->cpu, EVENT_COMMON_CONTEXT, item, name);
}

bool calls_are_described(const struct ctf_trace *trace)
{
	for (uint32_t i = 0; i < ctf_trace_event_count(trace); i++)
		if (event_member_is_described(ctf_trace_event(trace, i), "call"))
			return true;
	return false;
}

/* A class with the field `call` is an entry; with `duration`, too, it is a return. */
static void know(struct report_calls *calls, struct calls_class *class, const struct ctf_item *item)
{
	class->known = true;
	if (!event_member_find(&class->call, EVENT_FIELDS, item, "call"))
		return;
	class->kind = event_member_find(&class->duration, EVENT_FIELDS, item, "duration")
			? CALLS_RETURN
			: CALLS_ENTRY;
	if (!event_member_find(&class->function, EVENT_FIELDS, item, "function"))
		class->name = add_name(calls, item->event->name, class->kind == CALLS_RETURN);
	if (calls->detailed || calls->with_cpu)
		report_calls_find_cpu(class, item);
	if (calls->detailed)
		(void)event_member_find(&class->result, EVENT_FIELDS, item, "return_value");
}

static uint32_t report_calls_get_function(struct report_calls *calls,
		const struct calls_class *class, const struct ctf_item *item)
{
	const struct ctf_value *text;
	uint32_t number;

	if (!event_member_exists(&class->function))
		return class->name;
	text = event_member_value(&class->function, item);
	if (!text || !text->is_text)
		return KEYS_NONE;
	calls->stats = keys_add_item(&calls->functions, calls->stats, sizeof(*calls->stats),
			text->text, text->size, &number);
	return number;
}

/* Reads the parts of the record that only details need. */
static void report_calls_read_detail(const struct calls_class *class, const struct ctf_item *item,
		struct calls_record *record)
{
	uint64_t result;

	if (event_member_exists(&class->cpu) &&
			!event_member_number(&class->cpu, item, &record->cpu_ns))
		record->cpu_ns = CALLS_CPU_UNKNOWN;
	record->has_result = event_member_number(&class->result, item, &result);
	if (record->has_result)
		record->result = (int64_t)result;
}

/* ---- threads and branches ---- */

/*
 * The upper 16 bits of a call's number are the number of its thread (probe/patch/hit.c). So it
 * distinguishes threads even if the context vtid was not recorded.
 */
static struct calls_thread *thread_of(struct report_calls *calls, uint32_t trace, uint32_t process,
		int64_t thread, uint64_t call)
{
	struct {
		int64_t thread;
		uint32_t process, part;
	} key = {thread, process, event_call_thread(call)};
	uint32_t number;

	calls->threads = keys_add_item(&calls->thread_keys, calls->threads, sizeof(*calls->threads),
			&key, sizeof(key), &number);
	if (number == KEYS_NONE)
		return NULL;
	calls->threads[number].trace = trace;
	calls->threads[number].process = process;
	calls->threads[number].part = key.part;
	calls->threads[number].id = thread;
	return &calls->threads[number];
}

/* KEYS_NONE: the table is full. */
static uint32_t branch_of(struct report_calls *calls, uint32_t parent, uint32_t function)
{
	uint32_t key[3] = {parent, function, calls->root}, number;
	struct calls_branch *branch;

	calls->branch_keys.limit = CALLS_BRANCHES_MAX;
	calls->branches = keys_add_item(&calls->branch_keys, calls->branches,
			sizeof(*calls->branches), key, sizeof(key), &number);
	if (number == KEYS_NONE)
		return KEYS_NONE;
	branch = &calls->branches[number];
	branch->parent = parent;
	branch->function = function;
	branch->root = calls->root;
	branch->depth = parent == KEYS_NONE ? 0 : calls->branches[parent].depth + 1;
	return number;
}

/* ---- calls ---- */

static void add_time(struct calls_stats *stats, uint64_t duration, uint64_t self)
{
	if (!stats->timed || duration < stats->min_ns)
		stats->min_ns = duration;
	if (duration > stats->max_ns)
		stats->max_ns = duration;
	stats->timed++;
	stats->sum_ns += duration;
	stats->self_ns += self;
}

/* Adds the time of calls that `outer` contains; KEYS_NONE: no open call of the function does. */
static void report_calls_add_total(struct report_calls *calls, struct calls_thread *thread,
		uint32_t function, uint32_t outer, uint64_t ns)
{
	if (outer == KEYS_NONE)
		calls->stats[function].total_ns += ns;
	else
		thread->frames[outer].again_ns += ns;
}

/* `record` is the return, and `frame` the call; NULL: its entry is not known. 0 or -ENOMEM. */
static int report_calls_add_detail(struct report_calls *calls, uint32_t function, uint64_t duration,
		uint64_t self, const struct report_call_frame *frame,
		const struct calls_record *record)
{
	struct calls_detail *detail = calls->stats[function].detail;
	int ret;

	if (!detail)
		return 0;
	ret = calls->with_selves ? report_stats_add(&detail->selves, self)
				 : report_stats_add(&detail->durations, duration);
	if (record->has_result)
		calls_detail_add_result(detail, record->result);
	if (frame && frame->outer == KEYS_NONE)
		calls_detail_add_cpu(detail, duration, frame->cpu_ns, record->cpu_ns);
	return ret;
}

/*
 * Divides the time of a branch without its callees into time with and without a processor. The
 * counters of the kernel differ a little from the clock of the trace: limit each part to the whole.
 */
static void report_calls_add_cpu(struct report_calls *calls, struct calls_thread *thread,
		uint64_t duration, uint64_t self, const struct calls_record *record)
{
	const struct report_call_frame *frame = &thread->frames[thread->depth];
	uint64_t cpu, own;

	if (frame->cpu_ns == CALLS_CPU_UNKNOWN || record->cpu_ns == CALLS_CPU_UNKNOWN ||
			record->cpu_ns < frame->cpu_ns ||
			(calls->has_clock &&
					gaps_overlap(calls->gaps, calls->clock_trace, frame->ns,
							record->ns)))
		return;
	cpu = record->cpu_ns - frame->cpu_ns;
	cpu = cpu < duration ? cpu : duration;
	own = cpu > frame->inner_cpu_ns ? cpu - frame->inner_cpu_ns : 0;
	own = own < self ? own : self;
	if (frame->branch != KEYS_NONE) {
		calls->branches[frame->branch].on_cpu_ns += own;
		calls->branches[frame->branch].off_cpu_ns += self - own;
	}
	if (thread->depth)
		thread->frames[thread->depth - 1].inner_cpu_ns += cpu;
}

/* The depth of the call is the number of calls that are still open. 0 or -ENOMEM. */
static int report_calls_give_slice(const struct report_calls *calls,
		const struct calls_thread *thread, uint32_t function, int64_t begin_ns,
		uint64_t duration)
{
	const struct calls_slice slice = {.begin_ns = begin_ns,
			.duration_ns = duration,
			.thread = thread->id,
			.process = thread->process,
			.part = thread->part,
			.function = function,
			.depth = thread->depth};

	return calls->end ? calls->end(calls->end_user, &slice) : 0;
}

static int close_top(struct report_calls *calls, struct calls_thread *thread,
		const struct calls_record *record)
{
	const struct report_call_frame *frame = &thread->frames[--thread->depth];
	uint64_t duration = record->duration;
	uint64_t self = duration > frame->inner_ns ? duration - frame->inner_ns : 0;
	int ret;

	add_time(&calls->stats[frame->function], duration, self);
	report_calls_add_total(calls, thread, frame->function, frame->outer, duration);
	if (frame->branch != KEYS_NONE) {
		add_time(&calls->branches[frame->branch].stats, duration, self);
		calls->branches[frame->branch].stats.total_ns += duration;
	}
	if (thread->depth)
		thread->frames[thread->depth - 1].inner_ns += duration;
	report_calls_add_cpu(calls, thread, duration, self, record);
	ret = report_calls_give_slice(calls, thread, frame->function, frame->ns, duration);
	return ret ? ret
		   : report_calls_add_detail(calls, frame->function, duration, self, frame, record);
}

static void report_calls_count_untimed(struct calls_stats *stats, bool is_lost)
{
	if (is_lost)
		stats->lost++;
	else
		stats->unfinished++;
}

/*
 * Ends calls without a return. No record shows when longjmp() or an exception left such a call, and
 * later calls have no other caller in the trace. So the call has no duration, and its caller
 * counts the time of its callees as the time of its own callees.
 */
static void report_calls_leave_frames(
		struct report_calls *calls, struct calls_thread *thread, uint32_t depth, int64_t ns)
{
	while (thread->depth > depth) {
		const struct report_call_frame *frame = &thread->frames[--thread->depth];
		bool is_lost = gaps_overlap(calls->gaps, thread->trace, frame->ns, ns);

		report_calls_count_untimed(&calls->stats[frame->function], is_lost);
		if (frame->branch != KEYS_NONE)
			report_calls_count_untimed(&calls->branches[frame->branch].stats, is_lost);
		report_calls_add_total(
				calls, thread, frame->function, frame->outer, frame->again_ns);
		if (thread->depth) {
			thread->frames[thread->depth - 1].inner_ns += frame->inner_ns;
			thread->frames[thread->depth - 1].inner_cpu_ns += frame->inner_cpu_ns;
		}
	}
}

/* The innermost open call of a function; KEYS_NONE: none. */
static uint32_t report_calls_find_open(const struct calls_thread *thread, uint32_t function)
{
	for (uint32_t i = thread->depth; i-- > 0;) {
		if (thread->frames[i].function == function)
			return i;
	}
	return KEYS_NONE;
}

static int report_calls_push_frame(
		struct calls_thread *thread, const struct report_call_frame *frame)
{
	if (thread->depth == thread->capacity) {
		uint32_t capacity = thread->capacity ? thread->capacity * 2 : 64;
		struct report_call_frame *frames =
				realloc(thread->frames, capacity * sizeof(*frames));

		if (!frames)
			return -ENOMEM;
		thread->frames = frames;
		thread->capacity = capacity;
	}
	thread->frames[thread->depth++] = *frame;
	return 0;
}

static int report_calls_enter_function(struct report_calls *calls, struct calls_thread *thread,
		uint32_t function, const struct calls_record *record)
{
	const struct report_call_frame *top =
			thread->depth ? &thread->frames[thread->depth - 1] : NULL;
	struct report_call_frame frame = {.call = record->call,
			.ns = record->ns,
			.cpu_ns = record->cpu_ns,
			.function = function,
			.branch = KEYS_NONE};

	calls->stats[function].calls++;
	if (!calls->without_branches && (!top || top->branch != KEYS_NONE))
		frame.branch = branch_of(calls, top ? top->branch : KEYS_NONE, function);
	if (frame.branch != KEYS_NONE)
		calls->branches[frame.branch].stats.calls++;
	/* The return of this function cannot be recorded, so only the number of calls is known. */
	if (!record->call)
		return 0;
	if (thread->depth == CALLS_DEPTH_MAX) {
		calls->too_deep++;
		return 0;
	}
	frame.outer = report_calls_find_open(thread, function);
	return report_calls_push_frame(thread, &frame);
}

static int take_return(struct report_calls *calls, struct calls_thread *thread, uint32_t function,
		const struct calls_record *record)
{
	uint32_t depth = thread->depth;
	int ret;

	while (depth && thread->frames[depth - 1].call != record->call)
		depth--;
	if (depth) {
		report_calls_leave_frames(calls, thread, depth, record->ns);
		return close_top(calls, thread, record);
	}
	/* At the greatest depth, this is the return of a call that `too_deep` counts. */
	if (thread->depth < CALLS_DEPTH_MAX) {
		calls->unbegun++;
		calls->stats[function].calls++;
	}
	add_time(&calls->stats[function], record->duration, record->duration);
	report_calls_add_total(calls, thread, function, report_calls_find_open(thread, function),
			record->duration);
	if (thread->depth)
		thread->frames[thread->depth - 1].inner_ns += record->duration;
	ret = report_calls_give_slice(calls, thread, function,
			record->ns - (int64_t)record->duration, record->duration);
	/* The callees of the call before the begin of the trace are not known. */
	if (ret || calls->with_selves)
		return ret;
	return report_calls_add_detail(
			calls, function, record->duration, record->duration, NULL, record);
}

/* Makes the details of a function at its first event. 0 or -ENOMEM. */
static int report_calls_need_detail(struct report_calls *calls, uint32_t function)
{
	struct calls_stats *stats = &calls->stats[function];

	if (!calls->detailed || stats->detail)
		return 0;
	if (calls->nr_details == CALLS_DETAILS_MAX) {
		calls->undetailed++;
		return 0;
	}
	stats->detail = calls_detail_create(calls_name(calls, function));
	calls->nr_details += stats->detail != NULL;
	return stats->detail ? 0 : -ENOMEM;
}

int calls_take(struct report_calls *calls, struct calls_class *class, const struct ctf_item *item,
		uint32_t process, int64_t thread_id)
{
	struct calls_record record = {.ns = item->ns,
			.cpu_ns = calls->has_clock ? calls->clock_ns : CALLS_CPU_UNKNOWN};
	struct calls_thread *thread;
	uint32_t function;

	if (!class->known)
		know(calls, class, item);
	if (class->kind == CALLS_NONE || !event_member_number(&class->call, item, &record.call))
		return 0;
	function = report_calls_get_function(calls, class, item);
	thread = thread_of(calls, item->trace->index, process, thread_id, record.call);
	if (function == KEYS_NONE || !thread || report_calls_need_detail(calls, function))
		return -ENOMEM;
	thread->last_ns = item->ns;
	report_calls_read_detail(class, item, &record);
	if (class->kind == CALLS_ENTRY)
		return report_calls_enter_function(calls, thread, function, &record);
	if (event_member_number(&class->duration, item, &record.duration))
		return take_return(calls, thread, function, &record);
	return 0;
}

void calls_finish(struct report_calls *calls)
{
	for (uint32_t i = 0; i < calls->thread_keys.count; i++)
		report_calls_leave_frames(calls, &calls->threads[i], 0, calls->threads[i].last_ns);
}

void calls_free(struct report_calls *calls)
{
	for (uint32_t i = 0; i < calls->thread_keys.count; i++)
		free(calls->threads[i].frames);
	for (uint32_t i = 0; i < calls->functions.count; i++)
		calls_detail_free(calls->stats[i].detail);
	free(calls->threads);
	free(calls->stats);
	free(calls->branches);
	keys_free(&calls->functions);
	keys_free(&calls->branch_keys);
	keys_free(&calls->thread_keys);
}

/* ---- the order ---- */

const char *calls_name(const struct report_calls *calls, uint32_t function)
{
	return (const char *)calls->functions.entries[function].bytes;
}

static int report_calls_compare_totals(const struct report_calls *calls,
		const struct calls_stats *left, uint32_t left_function,
		const struct calls_stats *right, uint32_t right_function)
{
	if (left->total_ns != right->total_ns)
		return left->total_ns > right->total_ns ? -1 : 1;
	if (left->calls != right->calls)
		return left->calls > right->calls ? -1 : 1;
	return strcmp(calls_name(calls, left_function), calls_name(calls, right_function));
}

static int by_total(const void *one, const void *other, void *user)
{
	const struct report_calls *calls = user;
	uint32_t left = *(const uint32_t *)one, right = *(const uint32_t *)other;

	return report_calls_compare_totals(
			calls, &calls->stats[left], left, &calls->stats[right], right);
}

static int report_calls_compare_self(const void *one, const void *other, void *user)
{
	const struct report_calls *calls = user;
	uint64_t left = calls->stats[*(const uint32_t *)one].self_ns;
	uint64_t right = calls->stats[*(const uint32_t *)other].self_ns;

	if (left != right)
		return left > right ? -1 : 1;
	return by_total(one, other, user);
}

static uint32_t *report_calls_sort(const struct report_calls *calls,
		int (*compare)(const void *one, const void *other, void *user))
{
	uint32_t count = calls->functions.count, *order = malloc((count + 1) * sizeof(*order));

	for (uint32_t i = 0; order && i < count; i++)
		order[i] = i;
	if (order)
		qsort_r(order, count, sizeof(*order), compare, (void *)(uintptr_t)calls);
	return order;
}

uint32_t *calls_function_order(const struct report_calls *calls)
{
	return report_calls_sort(calls, by_total);
}

uint32_t *calls_self_order(const struct report_calls *calls)
{
	return report_calls_sort(calls, report_calls_compare_self);
}

static uint32_t report_calls_parent(const void *tree, uint32_t branch)
{
	const struct report_calls *calls = tree;

	return calls->branches[branch].parent;
}

static int report_calls_compare_branches(const void *tree, uint32_t branch, uint32_t other)
{
	const struct report_calls *calls = tree;
	const struct calls_branch *left = &calls->branches[branch];
	const struct calls_branch *right = &calls->branches[other];

	return report_calls_compare_totals(
			calls, &left->stats, left->function, &right->stats, right->function);
}

uint32_t *calls_branch_order(const struct report_calls *calls)
{
	const struct tree_order order = {
			.tree = calls,
			.count = calls->branch_keys.count,
			.parent = report_calls_parent,
			.compare = report_calls_compare_branches,
	};

	return tree_order_make(&order);
}
