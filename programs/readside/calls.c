/* SPDX-License-Identifier: MIT */
/* Finds the calls of events in a program or library of x86-64, and reports the wrong ones. */
#include "calls.h"

#include "check.h"
#include "probe/code/code.h"
#include "symbolize/symbols.h"
#include "base/inside/search.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Limits for files that are made to take long: they are not read completely. */
#define CODE_MAX (512u << 20)
#define JUMPS_MAX (4u << 20)
#define REPORTED_MAX 1000
#define STEPS_MAX (64u << 20)
#define SEGMENTS_MAX 64

/* Every second function is for variadic events. */
static const char *const entries[] = {"side_call", "side_call_variadic", "side_statedump_call",
		"side_statedump_call_variadic"};
#define NR_ENTRIES (sizeof(entries) / sizeof(entries[0]))
#define SLOTS_MAX 16

/* A jump or call from a function to an address outside of it. */
struct jump {
	uint64_t to, at;
	size_t from; /* index of the function */
};

/* A function of libside, or the slot that contains its address. */
struct calls_entry_point {
	uint64_t address;
	bool variadic;
};

/* The first argument that a caller passes to a function. */
struct binding {
	uint64_t to;
	uint64_t event;
	uint64_t at;
	const struct code_function *from;
};

/* A call of an event, by the function for its class (variadic or not) or by the other one. */
struct calls_candidate {
	const struct code_function *function; /* the function in which the call was written */
	/* or an element of of_any_event[], by the called function */
	const struct readside_event *event;
	const struct code_function *caller; /* the function that calls libside */
	/* where the call was written, and where libside is called */
	uint64_t at, site;
};

static const struct readside_event of_any_event[2];

struct calls_check {
	struct check *check;
	struct image *image;
	const char *path;
	const struct readside_event **events; /* sorted by the address of their state */
	size_t nr_events;
	size_t budget;
	struct code_file *code;
	const struct code_function *functions;
	size_t nr_functions;
	struct calls_entry_point slots[SLOTS_MAX], targets[NR_ENTRIES];
	size_t nr_slots, nr_targets;
	struct jump *jumps;
	size_t nr_jumps, jumps_capacity;
	size_t *sites; /* indexes of functions with calls of events */
	size_t nr_sites, sites_capacity;
	struct binding *binding;
	size_t nr_bindings, bindings_capacity;
	struct calls_candidate *right, *mismatched;
	size_t nr_right, right_capacity, nr_mismatched, mismatched_capacity;
	struct symbols *symbols;
	uint32_t process; /* number of this file among those of the symbols */
	const struct code_function *current;
	uint8_t *bytes;
	size_t seen, fit, wrong;
};

static void *calls_grow_array(void *array, size_t used, size_t *capacity, size_t size)
{
	size_t more = *capacity ? *capacity * 2 : 64;
	void *grown;

	if (used < *capacity)
		return array;
	grown = reallocarray(array, more, size);
	if (grown)
		*capacity = more;
	else
		message_out_of_memory();
	return grown;
}

/* ---- functions of libside ---- */

static void calls_find_entries(struct calls_check *calls)
{
	struct image_symbol symbol;

	for (size_t i = 0; i < NR_ENTRIES; i++) {
		for (size_t k = 0; calls->nr_slots < SLOTS_MAX &&
				image_find_slot(calls->image, entries[i], k,
						&calls->slots[calls->nr_slots].address);
				k++)
			calls->slots[calls->nr_slots++].variadic = i % 2;
		if (image_find_symbol(calls->image, entries[i], true, &symbol) && symbol.address)
			calls->targets[calls->nr_targets++] =
					(struct calls_entry_point){symbol.address, i % 2};
	}
}

/* Returns the entry at the address, or NULL. */
static const struct calls_entry_point *calls_entry_at(
		const struct calls_entry_point *list, size_t nr, uint64_t address)
{
	for (size_t i = 0; i < nr; i++)
		if (list[i].address == address)
			return &list[i];
	return NULL;
}

/* Returns the entry to which a stub of the linker (PLT) at this address jumps, or NULL. */
static const struct calls_entry_point *calls_entry_behind(
		const struct calls_check *calls, uint64_t address)
{
	static const uint8_t mark[] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint8_t bytes[16];
	size_t at = 0;
	int32_t distance;

	if (image_read(calls->image, address, bytes, sizeof(bytes)))
		return NULL;
	if (!memcmp(bytes, mark, sizeof(mark)))
		at += sizeof(mark);
	if (bytes[at] == 0xf2)
		at++;
	if (bytes[at] != 0xff || bytes[at + 1] != 0x25)
		return NULL;
	memcpy(&distance, bytes + at + 2, sizeof(distance));
	return calls_entry_at(calls->slots, calls->nr_slots,
			address + at + 6 + (uint64_t)(int64_t)distance);
}

/* Returns the function of libside that is called, or NULL. */
static const struct calls_entry_point *calls_find_entry(
		const struct calls_check *calls, const struct calls_step *step)
{
	const struct calls_entry_point *entry;

	if (step->slot)
		return calls_entry_at(calls->slots, calls->nr_slots, step->slot);
	if (!step->target)
		return NULL;
	entry = calls_entry_at(calls->targets, calls->nr_targets, step->target);
	return entry || !calls->nr_slots ? entry : calls_entry_behind(calls, step->target);
}

/* ---- scanning the code ---- */

static const uint8_t *calls_read_function(
		struct calls_check *calls, const struct code_function *function)
{
	free(calls->bytes);
	calls->bytes = function->size && function->size <= CODE_MAX ? malloc(function->size) : NULL;
	if (!calls->bytes && function->size && function->size <= CODE_MAX)
		message_out_of_memory();
	if (!calls->bytes ||
			image_read(calls->image, function->address, calls->bytes, function->size))
		return NULL;
	return calls->bytes;
}

static int calls_note_jump(
		struct calls_check *calls, size_t from, uint64_t at, const struct calls_step *step)
{
	struct jump *grown;

	if (calls->nr_jumps >= JUMPS_MAX)
		return -E2BIG;
	grown = calls_grow_array(
			calls->jumps, calls->nr_jumps, &calls->jumps_capacity, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	calls->jumps = grown;
	calls->jumps[calls->nr_jumps++] = (struct jump){step->target, at, from};
	return 0;
}

static int calls_check_function(struct calls_check *calls, size_t index)
{
	const struct code_function *function = &calls->functions[index];
	const uint8_t *bytes = calls_read_function(calls, function);
	bool has = false;
	struct calls_step step;

	for (size_t at = 0; bytes && at < function->size; at += step.length ? step.length : 1) {
		calls_step(bytes + at, function->size - at, function->address + at, NULL,
				calls->image, &step);
		if (step.goes == GOES_NOT || step.goes == GOES_ON || (!step.target && !step.slot))
			continue;
		if (step.target - function->address < function->size && step.goes != GOES_CALL)
			continue;
		/* The jump in a stub of the linker is not a call. */
		if (step.goes == GOES_AWAY && !((function->address + at) & 11))
			continue;
		if (calls_find_entry(calls, &step)) {
			calls->seen++;
			has = true;
		} else if (step.target &&
				calls_note_jump(calls, index, function->address + at, &step)) {
			return -E2BIG;
		}
	}
	if (has) {
		size_t *grown = calls_grow_array(calls->sites, calls->nr_sites,
				&calls->sites_capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		calls->sites = grown;
		calls->sites[calls->nr_sites++] = index;
	}
	return 0;
}

static int calls_compare_jumps(const void *one, const void *other)
{
	const struct jump *a = one, *b = other;

	return a->to < b->to ? -1 : a->to > b->to;
}

/* Returns the index of the first jump to that address or a higher one. */
static size_t calls_find_first_jump(const struct calls_check *calls, uint64_t to)
{
	return search_leading(i, calls->nr_jumps, calls->jumps[i].to < to);
}

static int calls_check_all_functions(struct calls_check *calls)
{
	uint64_t all = 0;

	for (size_t i = 0; i < calls->nr_functions; i++) {
		int ret;

		all += calls->functions[i].size;
		ret = all > CODE_MAX ? -E2BIG : calls_check_function(calls, i);
		if (ret)
			return ret;
	}
	if (calls->nr_jumps)
		qsort(calls->jumps, calls->nr_jumps, sizeof(*calls->jumps), calls_compare_jumps);
	return 0;
}

static bool calls_is_entered(void *opaque, uint64_t address)
{
	const struct calls_check *calls = opaque;
	size_t i = calls_find_first_jump(calls, address);

	return i < calls->nr_jumps && calls->jumps[i].to == address;
}

static void calls_walk_function(struct calls_check *calls, size_t index,
		void (*leaves)(void *, uint64_t, const struct calls_step *,
				const struct calls_state *))
{
	const struct calls_flow_ops ops = {leaves, calls_is_entered, calls, &calls->budget};
	const uint8_t *bytes;

	calls->current = &calls->functions[index];
	bytes = calls_read_function(calls, calls->current);
	if (bytes &&
			calls_follow(calls->image, calls->current->address, bytes,
					calls->current->size, &ops) == -ENOMEM)
		message_out_of_memory();
}

/* ---- the event that a caller passes ---- */

/* True if a function with calls of events begins at the address. */
static bool calls_has_sites(const struct calls_check *calls, uint64_t address)
{
	size_t low = search_leading(
			i, calls->nr_sites, calls->functions[calls->sites[i]].address < address);

	return low < calls->nr_sites && calls->functions[calls->sites[low]].address == address;
}

static void calls_add_wrapper(void *opaque, uint64_t at, const struct calls_step *step,
		const struct calls_state *state)
{
	struct calls_check *calls = opaque;
	const struct calls_value *first = &state->registers[CALLS_RDI];
	struct binding *grown;

	if (!step->target || !calls_is_constant(first, 8) || !calls_has_sites(calls, step->target))
		return;
	for (size_t i = 0; i < calls->nr_bindings; i++)
		if (calls->binding[i].to == step->target &&
				calls->binding[i].event == (uint64_t)first->number)
			return;
	grown = calls->nr_bindings < JUMPS_MAX
			? calls_grow_array(calls->binding, calls->nr_bindings,
					  &calls->bindings_capacity, sizeof(*grown))
			: NULL;
	if (!grown)
		return;
	calls->binding = grown;
	calls->binding[calls->nr_bindings++] =
			(struct binding){step->target, (uint64_t)first->number, at, calls->current};
}

static int calls_compare_sizes(const void *one, const void *other)
{
	size_t a = *(const size_t *)one, b = *(const size_t *)other;

	return a < b ? -1 : a > b;
}

/* Find the callers of functions with calls of events: they pass the event to a wrapper. */
static int calls_find_wrappers(struct calls_check *calls)
{
	size_t *callers = NULL, nr = 0, capacity = 0;

	for (size_t i = 0; i < calls->nr_sites; i++) {
		uint64_t address = calls->functions[calls->sites[i]].address;

		for (size_t k = calls_find_first_jump(calls, address);
				k < calls->nr_jumps && calls->jumps[k].to == address; k++) {
			size_t *grown = calls_grow_array(callers, nr, &capacity, sizeof(*grown));

			if (!grown) {
				free(callers);
				return -ENOMEM;
			}
			callers = grown;
			callers[nr++] = calls->jumps[k].from;
		}
	}
	if (nr)
		qsort(callers, nr, sizeof(*callers), calls_compare_sizes);
	for (size_t i = 0; i < nr; i++)
		if (!i || callers[i] != callers[i - 1])
			calls_walk_function(calls, callers[i], calls_add_wrapper);
	free(callers);
	return 0;
}

/* ---- reporting ---- */

/*
 * The process that reads debug files must start before this one is confined. In it, each file with
 * calls has a process number of its own.
 */
static struct symbols *prepared;
static uint32_t nr_processes;

void check_calls_prepare(void)
{
	if (!prepared)
		prepared = symbols_create(&(struct symbols_options){0});
}

void check_calls_finish(void)
{
	symbols_free(prepared);
	prepared = NULL;
}

static struct symbols *calls_symbols_of(struct calls_check *calls)
{
	size_t nr;
	const struct image_segment *segments = image_segments(calls->image, &nr);
	struct symbols_library library = {
			.base = nr ? segments[0].address : 0,
			.size = INT64_MAX,
	};
	char *path;

	if (calls->symbols)
		return calls->symbols;
	check_calls_prepare();
	calls->symbols = prepared;
	calls->process = nr_processes++;
	path = calls->symbols ? realpath(calls->path, NULL) : NULL;
	library.path = path;
	if (path)
		symbols_load(calls->symbols, calls->process, 0, &library);
	free(path);
	return calls->symbols;
}

/* Format a location: "main+0x1f (order.c:12)". */
static void calls_format_location(struct calls_check *calls, const struct code_function *function,
		uint64_t at, char *text, size_t size)
{
	struct symbols *symbols = calls_symbols_of(calls);
	const struct symbol *symbol =
			symbols ? symbols_find(symbols, calls->process, 0, at, false) : NULL;
	const char *name = symbol && symbol->function ? symbol->function
						      : code_name(calls->code, function, 0);
	uint64_t inside = at - function->address;

	if (name && symbol && symbol->file)
		snprintf(text, size, "%s+0x%" PRIx64 " (%s:%u)", name, inside, symbol->file,
				symbol->line);
	else if (name)
		snprintf(text, size, "%s+0x%" PRIx64, name, inside);
	else
		snprintf(text, size, "0x%" PRIx64, at);
}

static int calls_compare_states(const void *one, const void *other)
{
	const struct readside_event *a = *(const struct readside_event *const *)one,
				    *b = *(const struct readside_event *const *)other;

	return a->state.address < b->state.address ? -1 : a->state.address > b->state.address;
}

static void calls_note_candidate(struct calls_candidate **list, size_t *nr, size_t *capacity,
		const struct calls_candidate *kind)
{
	struct calls_candidate *grown = *nr < JUMPS_MAX
			? calls_grow_array(*list, *nr, capacity, sizeof(*grown))
			: NULL;

	if (!grown)
		return;
	*list = grown;
	grown[(*nr)++] = *kind;
}

static const struct readside_event *calls_find_event(
		const struct calls_check *calls, uint64_t state)
{
	const struct readside_event wanted = {.state.address = state};
	const struct readside_event *key = &wanted, **found;

	found = bsearch(&key, calls->events, calls->nr_events,
			sizeof(const struct readside_event *), calls_compare_states);
	return found && state ? *found : NULL;
}

static void calls_report(struct calls_check *calls, const struct code_function *function,
		uint64_t at, const struct readside_event *event,
		const struct calls_problem *problem)
{
	char location[512], text[1200];

	if (calls->wrong >= REPORTED_MAX)
		return;
	calls_format_location(calls, function, at, location, sizeof(location));
	snprintf(text, sizeof(text), "the call at %s does not match: %s", location, problem->text);
	check_report_call(calls->check, event, problem->field, text);
}

/* `function`, `at`: where the call was written; `site`: where `entry` of libside is called. */
static enum calls_verdict calls_check_call_site(struct calls_check *calls,
		const struct code_function *function, uint64_t at, uint64_t event_state,
		const struct calls_state *state, uint64_t site,
		const struct calls_entry_point *entry)
{
	const struct readside_event *event = calls_find_event(calls, event_state);
	struct calls_candidate kind = {.function = function,
			.event = event,
			.caller = calls->current,
			.at = at,
			.site = site};
	struct calls_problem problem = {0};
	enum calls_verdict verdict;
	bool variadic;

	if (!event)
		return VERDICT_UNKNOWN;
	variadic = event->description->flags & SIDE_EVENT_FLAG_VARIADIC;
	if (variadic != entry->variadic) {
		calls_note_candidate(&calls->mismatched, &calls->nr_mismatched,
				&calls->mismatched_capacity, &kind);
		return VERDICT_UNKNOWN;
	}
	calls_note_candidate(&calls->right, &calls->nr_right, &calls->right_capacity, &kind);
	verdict = calls_compare(calls->image, state, &state->registers[CALLS_RSI],
			event->description, &problem);
	if (verdict == VERDICT_WRONG)
		calls_report(calls, function, at, event, &problem);
	return verdict;
}

/* ---- calls by the function for the other class ---- */

static int calls_compare_candidates(const void *one, const void *other)
{
	const struct calls_candidate *a = one, *b = other;

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	return a->event < b->event ? -1 : a->event > b->event;
}

static int calls_compare_candidate_sites(const void *one, const void *other)
{
	const struct calls_candidate *a = one, *b = other;

	return a->site < b->site ? -1 : a->site > b->site;
}

static bool calls_is_called_right(const struct calls_check *calls,
		const struct code_function *function, const struct readside_event *event)
{
	const struct calls_candidate wanted = {.function = function, .event = event};

	return calls->nr_right &&
			bsearch(&wanted, calls->right, calls->nr_right, sizeof(*calls->right),
					calls_compare_candidates);
}

/*
 * Report calls of a variadic event by a function for non-variadic ones, and the reverse. Runs at
 * the end: if the same function also makes the matching call, for this event or for any event of
 * that class, it may be a language binding, which selects one of the two calls by the event.
 */
static void calls_report_mismatched(struct calls_check *calls)
{
	struct calls_problem problem = {0};
	uint64_t last = 0;

	if (!calls->nr_mismatched)
		return;
	if (calls->nr_right)
		qsort(calls->right, calls->nr_right, sizeof(*calls->right),
				calls_compare_candidates);
	qsort(calls->mismatched, calls->nr_mismatched, sizeof(*calls->mismatched),
			calls_compare_candidate_sites);
	for (size_t i = 0; i < calls->nr_mismatched; i++) {
		const struct calls_candidate *kind = &calls->mismatched[i];
		bool variadic = kind->event->description->flags & SIDE_EVENT_FLAG_VARIADIC;

		if (kind->site == last ||
				calls_is_called_right(calls, kind->function, kind->event) ||
				calls_is_called_right(calls, kind->caller, &of_any_event[variadic]))
			continue;
		/* Report a function that handles several events once. */
		last = kind->site;
		snprintf(problem.text, sizeof(problem.text),
				"expected %s, as the event is %svariadic",
				variadic ? "side_event_variadic()" : "side_event()",
				variadic ? "" : "not ");
		calls_report(calls, kind->function, kind->at, kind->event, &problem);
		calls->wrong++;
	}
}

/*
 * True for functions that the headers of libside generate around a call of an event: report their
 * caller instead.
 */
static bool calls_is_wrapper(const char *name)
{
	return name && (!strncmp(name, "side_emit_", 10) || !strncmp(name, "_ZN7libside4emit", 16));
}

static enum calls_verdict calls_check_known(struct calls_check *calls, uint64_t at,
		const struct calls_state *state, const struct calls_entry_point *entry)
{
	const struct code_function *function = calls->current;
	uint64_t event = (uint64_t)state->registers[CALLS_RDI].number, site = at;
	size_t i = calls_find_first_jump(calls, function->address);

	if (i < calls->nr_jumps && calls->jumps[i].to == function->address &&
			calls_is_wrapper(code_name(calls->code, function, 0))) {
		function = &calls->functions[calls->jumps[i].from];
		at = calls->jumps[i].at;
	}
	return calls_check_call_site(calls, function, at, event, state, site, entry);
}

static void calls_note_call(void *opaque, uint64_t at, const struct calls_step *step,
		const struct calls_state *state)
{
	struct calls_check *calls = opaque;
	const struct calls_value *first = &state->registers[CALLS_RDI];
	enum calls_verdict verdict = VERDICT_UNKNOWN;
	const struct calls_entry_point *entry = calls_find_entry(calls, step);
	size_t before = calls->nr_mismatched;

	if (!entry)
		return;
	if (calls_is_constant(first, 8)) {
		verdict = calls_check_known(calls, at, state, entry);
	} else if (first->kind == KNOWN_FIRST) {
		for (size_t i = 0; i < calls->nr_bindings && verdict != VERDICT_WRONG; i++)
			if (calls->binding[i].to == calls->current->address)
				verdict = calls_check_call_site(calls, calls->binding[i].from,
						calls->binding[i].at, calls->binding[i].event,
						state, at, entry);
	} else {
		calls_note_candidate(&calls->right, &calls->nr_right, &calls->right_capacity,
				&(struct calls_candidate){.function = calls->current,
						.event = &of_any_event[entry->variadic]});
	}
	/* Count each call once. */
	if (verdict == VERDICT_WRONG)
		calls->nr_mismatched = before;
	else if (calls->nr_mismatched > before)
		verdict = VERDICT_UNKNOWN;
	calls->fit += verdict == VERDICT_FITS;
	calls->wrong += verdict == VERDICT_WRONG;
}

static void calls_check_all(struct calls_check *calls)
{
	calls->nr_functions = code_functions(calls->code, &calls->functions);
	calls_find_entries(calls);
	if ((!calls->nr_slots && !calls->nr_targets) || calls_check_all_functions(calls) ||
			calls_find_wrappers(calls))
		return;
	for (size_t i = 0; i < calls->nr_sites; i++)
		calls_walk_function(calls, calls->sites[i], calls_note_call);
	calls_report_mismatched(calls);
	message_verbose("%s: of %zu call%s of events, %zu match%s, %zu do%s not, %zu cannot be checked",
			calls->path, calls->seen, calls->seen == 1 ? "" : "s", calls->fit,
			calls->fit == 1 ? "es" : "", calls->wrong, calls->wrong == 1 ? "es" : "",
			calls->seen - calls->fit - calls->wrong);
}

void check_calls(struct check *check, struct image *image, const char *path,
		const struct readside_event *events, size_t nr)
{
	struct calls_check calls = {
			.check = check, .image = image, .path = path, .budget = STEPS_MAX};
	struct error error;
	size_t nr_segments;
	int ret;

	image_segments(image, &nr_segments);
	if (!nr || image_machine(image) != EM_X86_64 || image_pointer_size(image) != 8 ||
			image_is_object(image) || nr_segments > SEGMENTS_MAX)
		return;
	ret = code_open(path, &calls.code, &error);
	if (ret == -ENOMEM)
		message_out_of_memory();
	if (ret)
		return;
	calls.events = reallocarray(NULL, nr, sizeof(*calls.events));
	for (size_t i = 0; calls.events && i < nr; i++)
		calls.events[calls.nr_events++] = &events[i];
	if (!calls.events) {
		message_out_of_memory();
	} else {
		qsort(calls.events, nr, sizeof(*calls.events), calls_compare_states);
		calls_check_all(&calls);
	}
	code_close(calls.code);
	free(calls.events);
	free(calls.bytes);
	free(calls.jumps);
	free(calls.sites);
	free(calls.binding);
	free(calls.right);
	free(calls.mismatched);
}
