/* SPDX-License-Identifier: MIT */
/* The answer about locks: the walk through the trace, and the order of the tables. */
#include "analysis/locks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/locks-state.h"
#include "base/error.h"
#include "base/inside/search.h"

int locks_prepare(struct locks *locks, const struct locks_options *options, const char *dir,
		const struct analysis_listener *listener, struct error *error)
{
	static const struct text_list everything = {NULL, 0};
	const struct report_walk_options walk = {
			.verb = "read",
			.dir = dir,
			.patterns = &everything,
			.listener = *listener,
	};
	int ret = walk_prepare(&locks->walk, &walk, error);

	locks->options = options;
	locks->thread_keys.limit = LOCKS_THREADS_MAX;
	locks->created_keys.limit = LOCKS_THREADS_MAX;
	locks->start_keys.limit = LOCKS_STARTS_MAX;
	locks->pair_keys.limit = LOCKS_PAIRS_MAX;
	locks->place_keys.limit = LOCKS_PLACES_MAX;
	if (ret)
		return ret;
	if (!locks->symbols)
		locks->symbols = trace_symbols_start(
				options->debuginfod, &locks->walk.options.listener);
	return locks->symbols ? 0 : error_set_no_memory(error);
}

static void *locks_create_class(void *user, struct walk_class *walk, const struct ctf_item *item)
{
	(void)user;
	return locks_class_create(item, walk->view);
}

static int locks_read_releases(struct locks *locks)
{
	uint32_t count = ctf_reader_trace_count(locks->walk.reader);

	locks->releases = calloc((size_t)count + 1, 1);
	if (!locks->releases)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct ctf_trace *trace = ctf_reader_trace(locks->walk.reader, i);

		locks->releases[i] = locks_class_releases(trace);
		locks->described |= locks_class_is_described(trace);
	}
	return 0;
}

int locks_open(struct locks *locks, struct error *error)
{
	int ret = walk_open(&locks->walk, error);

	locks->walk.create_user_data = locks_create_class;
	locks->walk.free_user_data = free;
	locks->walk.user = locks;
	if (!ret &&
			(locks_read_releases(locks) ||
					gaps_read(&locks->gaps, locks->walk.options.dir)))
		ret = error_set_no_memory(error);
	return ret;
}

/* ---- reading ---- */

/* Finds the thread of the event. Returns 0 or -ENOMEM; LOCKS_NONE beyond the limit. */
static int locks_find_thread(struct locks *locks, struct locks_event *event, int64_t id)
{
	const struct locks_thread_key key = {id, event->process, event->trace};

	locks->threads = keys_add_item(&locks->thread_keys, locks->threads, sizeof(*locks->threads),
			&key, sizeof(key), &event->thread);
	if (event->thread == KEYS_NONE) {
		locks->not_followed++;
		return locks->thread_keys.no_memory ? -ENOMEM : 0;
	}
	locks->threads[event->thread].id = id;
	locks->threads[event->thread].process = event->process;
	locks->threads[event->thread].trace = event->trace;
	/* A new thread can have the number of a thread that has ended. */
	locks->threads[event->thread].has_exited = false;
	return 0;
}

/* A thread is named after its last request. */
static void locks_name_thread(struct locks *locks, const struct locks_event *event,
		const struct locks_class *class, const struct ctf_item *item)
{
	struct locks_thread *thread = &locks->threads[event->thread];
	size_t size = 0;
	const char *name = identity_thread_name(&class->identity, item, &size);

	if (!name)
		return;
	if (size >= sizeof(thread->name))
		size = sizeof(thread->name) - 1;
	memcpy(thread->name, name, size);
	thread->name[size] = '\0';
}

/* Sets the stack of the event. 0 or -ENOMEM. */
static int locks_find_stack(struct locks *locks, struct locks_event *event,
		const struct locks_class *class, const struct ctf_item *item)
{
	struct stack stack;

	event->stack = LOCKS_NONE;
	event->place = 0;
	if (!event_stack_read(&class->stack, item, &stack))
		return 0;
	stack.symbols = locks->symbols;
	event->place = stack.addresses[0];
	event->stack = stacks_add(&locks->stacks, &stack);
	return locks->stacks.no_memory ? -ENOMEM : 0;
}

/* While recording ends, some events may be recorded and others not. */
static bool locks_is_late(const struct locks *locks, int64_t ns)
{
	return locks->options->end_ns && ns > locks->options->end_ns;
}

int64_t locks_end_ns(const struct locks *locks)
{
	int64_t end_ns = locks->options->end_ns;

	return end_ns > locks->last_ns ? end_ns : locks->last_ns;
}

static int locks_take_item(
		struct locks *locks, const struct ctf_item *item, struct locks_class *class)
{
	struct locks_event event = {.trace = item->trace->index, .ns = item->ns};
	int64_t id;
	int ret;

	if (!class->operation || !item->timed || locks_is_late(locks, item->ns) ||
			!locks_class_read(class, item, &event))
		return 0;
	event.process = identity_process(&locks->identity, &class->identity, item);
	if (event.process == KEYS_NONE)
		return -ENOMEM;
	id = identity_thread(&class->identity, item);
	if (id < 0 && event.call)
		id = event_call_thread(event.call) | INT64_C(1) << 32;
	if (class->operation->action >= LOCKS_CREATE)
		return locks_note_thread(locks, &event, id);
	if (!locks->events++)
		locks->first_ns = item->ns;
	locks->last_ns = item->ns;
	if (id < 0) {
		locks->without_thread++;
		return 0;
	}
	ret = locks_find_thread(locks, &event, id);
	if (ret || event.thread == KEYS_NONE)
		return ret;
	if (class->phase == LOCKS_REQUEST)
		locks_name_thread(locks, &event, class, item);
	ret = locks_find_stack(locks, &event, class, item);
	return ret ? ret : locks_take(locks, class, &event);
}

static void locks_take_loss(
		struct locks *locks, const struct ctf_item *item, const struct walk_class *class)
{
	if (class)
		locks->lost_reported += walk_lost_count(item);
	else if (item->kind == CTF_ITEM_LOST_PACKETS)
		locks->lost_packets += item->count;
	else
		locks->lost += item->count;
}

int locks_read(struct locks *locks, struct error *error)
{
	struct walk_class *class;
	struct ctf_item item;
	int ret = trace_symbols_read(locks->symbols, locks->walk.options.dir);

	while (!ret && (ret = walk_next(&locks->walk, &item, &class)) > 0) {
		ret = 0;
		if (class && !class->lost)
			ret = locks_take_item(locks, &item, class->user_data);
		else
			locks_take_loss(locks, &item, class);
		if (ret)
			break;
	}
	if (!ret)
		ret = locks_find_deadlocks(locks);
	return ret ? error_set_kind(error, ERROR_FAILED, ret, NULL,
				     "cannot continue to read %s: %s", locks->walk.options.dir,
				     strerror(-ret))
		   : 0;
}

void locks_free(struct locks *locks)
{
	walk_close(&locks->walk);
	identity_free(&locks->identity);
	gaps_free(&locks->gaps);
	for (uint32_t i = 0; i < locks->row_keys.count; i++) {
		report_stats_free(&locks->rows[i].wait);
		report_stats_free(&locks->rows[i].hold);
	}
	keys_free(&locks->thread_keys);
	keys_free(&locks->start_keys);
	keys_free(&locks->created_keys);
	stacks_free(&locks->stacks);
	symbols_free(locks->symbols);
	keys_free(&locks->place_keys);
	keys_free(&locks->row_keys);
	keys_free(&locks->pair_keys);
	free(locks->threads);
	free(locks->starts);
	free(locks->created);
	free(locks->place_locks);
	free(locks->rows);
	free(locks->pairs);
	free(locks->all);
	free(locks->slots);
	free(locks->holds);
	free(locks->edges);
	free(locks->releases);
}

/* ---- names ---- */

const struct symbol *locks_variable(const struct locks *locks, const struct locks_row *row)
{
	const struct symbol *symbol;

	if (row->is_shared)
		return NULL;
	symbol = symbols_find_data(locks->symbols, row->trace, row->ns, row->address);
	return symbol->function ? symbol : NULL;
}

/* Joins pairs whose stacks have the same frames. 0 or -ENOMEM. */
static int locks_name_pairs(struct locks *locks)
{
	struct keys named = {.limit = 0};
	struct locks_pair *pairs = NULL;
	int ret = 0;

	for (uint32_t i = 0; !ret && i < locks->pair_keys.count; i++) {
		const struct locks_pair *pair = &locks->pairs[i];
		const uint32_t key[3] = {pair->row, stacks_named(&locks->stacks, pair->waiter),
				stacks_named(&locks->stacks, pair->holder)};
		struct locks_pair *joined;
		uint32_t number;

		pairs = keys_add_item(&named, pairs, sizeof(*pairs), key, sizeof(key), &number);
		if (number == KEYS_NONE) {
			ret = -ENOMEM;
			break;
		}
		joined = &pairs[number];
		joined->row = key[0];
		joined->waiter = key[1];
		joined->holder = key[2];
		joined->count += pair->count;
		joined->ns += pair->ns;
		joined->max_ns = pair->max_ns > joined->max_ns ? pair->max_ns : joined->max_ns;
	}
	free(locks->pairs);
	keys_free(&locks->pair_keys);
	locks->pairs = pairs;
	locks->pair_keys = named;
	return ret || locks->stacks.no_memory ? -ENOMEM : 0;
}

static int locks_set_error(const struct locks *locks, int ret, struct error *error)
{
	return ret ? error_set_kind(error, ERROR_FAILED, ret, NULL, "cannot report locks of %s: %s",
				     locks->walk.options.dir, strerror(-ret))
		   : 0;
}

int locks_resolve(struct locks *locks, struct error *error)
{
	int ret = locks_count_open(locks);

	error_clear(error);
	if (!ret)
		ret = locks_name_pairs(locks);
	return locks_set_error(locks, ret, error);
}

int locks_print(struct locks *locks, FILE *out, struct error *error)
{
	int ret = locks_resolve(locks, error);

	if (ret)
		return ret;
	ret = locks->json ? locks_print_json(locks, out) : locks_print_text(locks, out);
	return locks_set_error(locks, ret, error);
}

/* ---- the order ---- */

static int locks_compare_rows(const void *one, const void *other, void *user)
{
	const struct locks_row *rows = user;
	const uint32_t left = *(const uint32_t *)one, right = *(const uint32_t *)other;

	if (rows[left].waited_ns != rows[right].waited_ns)
		return rows[left].waited_ns > rows[right].waited_ns ? -1 : 1;
	if (rows[left].attempts != rows[right].attempts)
		return rows[left].attempts > rows[right].attempts ? -1 : 1;
	return left < right ? -1 : left > right;
}

uint32_t *locks_row_order(const struct locks *locks, bool has_owner, uint32_t *ret_count)
{
	uint32_t *order = malloc(((size_t)locks->row_keys.count + 1) * sizeof(*order));

	*ret_count = 0;
	for (uint32_t i = 0; order && i < locks->row_keys.count; i++) {
		const struct locks_row *row = &locks->rows[i];

		if (locks_has_owner(row->kind) == has_owner && (row->attempts || row->hold.count))
			order[(*ret_count)++] = i;
	}
	if (order && *ret_count)
		qsort_r(order, *ret_count, sizeof(*order), locks_compare_rows, locks->rows);
	return order;
}

static int locks_compare_pairs(const void *one, const void *other, void *user)
{
	const struct locks_pair *pairs = user;
	const struct locks_pair *left = &pairs[*(const uint32_t *)one];
	const struct locks_pair *right = &pairs[*(const uint32_t *)other];

	if (left->row != right->row)
		return left->row < right->row ? -1 : 1;
	if (left->ns != right->ns)
		return left->ns > right->ns ? -1 : 1;
	return left < right ? -1 : left > right;
}

uint32_t *locks_pair_order(const struct locks *locks)
{
	uint32_t *order = malloc(((size_t)locks->pair_keys.count + 1) * sizeof(*order));

	for (uint32_t i = 0; order && i < locks->pair_keys.count; i++)
		order[i] = i;
	if (order && locks->pair_keys.count)
		qsort_r(order, locks->pair_keys.count, sizeof(*order), locks_compare_pairs,
				locks->pairs);
	return order;
}

uint32_t locks_pairs_of(
		const struct locks *locks, const uint32_t *order, uint32_t row, uint32_t *ret_count)
{
	const struct locks_pair *pairs = locks->pairs;
	uint32_t count = locks->pair_keys.count;
	uint32_t first = (uint32_t)search_leading(i, count, pairs[order[i]].row < row);

	*ret_count = 0;
	while (first + *ret_count < count && pairs[order[first + *ret_count]].row == row)
		(*ret_count)++;
	return first;
}

static int locks_compare_waiting(const void *one, const void *other, void *user)
{
	const struct locks_thread *threads = user;
	const struct locks_thread *left = &threads[*(const uint32_t *)one];
	const struct locks_thread *right = &threads[*(const uint32_t *)other];
	int64_t left_ns = left->pending[left->depth - 1].ns;
	int64_t right_ns = right->pending[right->depth - 1].ns;

	if (left_ns != right_ns)
		return left_ns < right_ns ? -1 : 1;
	return left < right ? -1 : left > right;
}

uint32_t *locks_waiting_order(struct locks *locks, uint32_t *ret_count)
{
	uint32_t *order = malloc(((size_t)locks->thread_keys.count + 1) * sizeof(*order));

	*ret_count = 0;
	for (uint32_t i = 0; order && i < locks->thread_keys.count; i++)
		if (locks_is_waiting(locks, i))
			order[(*ret_count)++] = i;
	if (order && *ret_count)
		qsort_r(order, *ret_count, sizeof(*order), locks_compare_waiting, locks->threads);
	return order;
}
