/* SPDX-License-Identifier: MIT */
/* What one event, or one loss, adds to the tables of a report. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report.h"
#include "analysis/where-path.h"

/* ---- events over time ---- */

/* If an event is beyond the last bin, pairs of bins are joined until it is not. */
void timeline_add(struct timeline *timeline, int64_t ns)
{
	uint64_t since;

	if (!timeline->started) {
		timeline->started = true;
		timeline->begin = ns;
	}
	since = ns > timeline->begin ? (uint64_t)ns - (uint64_t)timeline->begin : 0;
	while (since >> timeline->shift >= TIMELINE_BINS) {
		for (unsigned int i = 0; i < TIMELINE_BINS / 2; i++)
			timeline->bins[i] = timeline->bins[2 * i] + timeline->bins[2 * i + 1];
		memset(timeline->bins + TIMELINE_BINS / 2, 0, sizeof(timeline->bins) / 2);
		timeline->used = (timeline->used + 1) / 2;
		timeline->shift++;
	}
	timeline->bins[since >> timeline->shift]++;
	if (since >> timeline->shift >= timeline->used)
		timeline->used = (uint32_t)(since >> timeline->shift) + 1;
}

/* ---- groups ---- */

/* The first byte of a group's key. */
enum group_kind {
	GROUP_EVENT = 'e',
	GROUP_PROCESS = 'p',
	GROUP_THREAD = 't',
	GROUP_CPU = 'c',
	GROUP_SIGNED = 's',
	GROUP_UNSIGNED = 'u',
	GROUP_HEXADECIMAL = 'h',
	/* `process` is the index of its trace, `high` the type of the address. */
	GROUP_ADDRESS = 'a',
	GROUP_STACK = 'k', /* `number` is that of stacks_named() */
	/* An integer of 128 bits, with the upper half in `high`; `process` is 1 if it is signed. */
	GROUP_WIDE = 'w',
	GROUP_DOUBLE = 'f',
	GROUP_TEXT = 'x',
};

struct group_key {
	char kind;
	uint32_t process;
	uint64_t number, high;
} __attribute__((packed));

static uint32_t add_group(struct report *report, const void *key, size_t size)
{
	uint32_t count = report->groups.count, group;

	report->group_times = keys_add_item(&report->groups, report->group_times,
			sizeof(*report->group_times), key, size, &group);
	if (group == count)
		report->group_times[group] = report->last_ns;
	return group == KEYS_NONE ? GROUP_OTHERS : group;
}

static uint32_t group_of_key(struct report *report, char kind, uint32_t process, uint64_t number)
{
	struct group_key key = {kind, process, number, 0};

	return add_group(report, &key, sizeof(key));
}

uint32_t report_group_of_stack(struct report *report, uint32_t named)
{
	return group_of_key(report, GROUP_STACK, 0, named);
}

static uint32_t group_of_text(struct report *report, const char *text, size_t size)
{
	char key[1 + 1024];

	if (size > sizeof(key) - 1)
		size = sizeof(key) - 1;
	key[0] = GROUP_TEXT;
	memcpy(key + 1, text, size);
	return add_group(report, key, size + 1);
}

static uint32_t group_of_address(struct report *report, const struct where_form *form,
		const struct ctf_item *item, uint64_t number)
{
	struct group_key key = {GROUP_ADDRESS, item->trace->index, number, form->address};

	report->any_address_group = true;
	return add_group(report, &key, sizeof(key));
}

static uint32_t group_of_value(struct report *report, const struct filter_value *value,
		const struct where_form *form, const struct ctf_item *item)
{
	struct group_key key = {GROUP_WIDE, !value->is_unsigned, value->u, 0};
	const char *label;
	uint32_t at = 0;
	size_t size;

	switch (value->kind) {
	case FILTER_INT:
		label = value->labels ? where_label(NULL, value, &at, &size) : NULL;
		if (label)
			return group_of_text(report, label, size);
		if (form->address)
			return group_of_address(report, form, item, value->u);
		if (form->base == 16 && value->is_unsigned)
			return group_of_key(report, GROUP_HEXADECIMAL, 0, value->u);
		return group_of_key(report,
				value->is_unsigned || value->s >= 0 ? GROUP_UNSIGNED : GROUP_SIGNED,
				0, value->u);
	case FILTER_WIDE: key.high = value->high; return add_group(report, &key, sizeof(key));
	case FILTER_DOUBLE:
		memcpy(&key.number, &value->f, sizeof(key.number));
		key.kind = GROUP_DOUBLE;
		key.process = 0;
		return add_group(report, &key, sizeof(key));
	case FILTER_STRING:
		return group_of_text(report, value->text,
				value->size == FILTER_TERMINATED ? strlen(value->text)
								 : value->size);
	default: return GROUP_NONE;
	}
}

static uint32_t report_count_find_group(struct report *report, const struct report_class *class,
		const struct ctf_item *item, uint32_t process, int64_t thread)
{
	struct filter_value value;

	switch (report->by) {
	case BY_NOTHING: return GROUP_NONE;
	case BY_EVENT: return group_of_key(report, GROUP_EVENT, 0, class->name);
	case BY_PROCESS: return group_of_key(report, GROUP_PROCESS, process, 0);
	case BY_THREAD:
		return thread < 0 ? GROUP_NONE
				  : group_of_key(report, GROUP_THREAD, process, (uint64_t)thread);
	case BY_CPU:
		return item->stream->cpu < 0
				? GROUP_NONE
				: group_of_key(report, GROUP_CPU, 0, (uint64_t)item->stream->cpu);
	case BY_CALLER:
	case BY_STACK: return report_stack_group(report, class, item);
	case BY_VALUE:
		if (!class->by || !where_evaluate(class->by, item, &value))
			return GROUP_NONE;
		return group_of_value(report, &value, &class->by_form, item);
	}
	return GROUP_NONE;
}

static struct visit_value wide_number(const struct group_key *key)
{
	return (struct visit_value){.kind = key->process ? VISIT_SIGNED : VISIT_UNSIGNED,
			.size = 16,
			.bits = 128,
			.lo = key->number,
			.hi = key->high};
}

static const struct symbol *symbol_of_group(
		const struct report *report, uint32_t group, const struct group_key *key)
{
	const struct address address = {(enum address_kind)key->high, key->process,
			report->group_times[group], key->number};

	return address_symbol(report->symbols, &address);
}

static size_t double_digits(const struct group_key *key, char digits[VISIT_FLOAT_DIGITS_MAX])
{
	struct visit_value number = {.kind = VISIT_FLOAT, .size = 8, .bits = 64};

	memcpy(number.bytes, &key->number, 8);
	return view_real_digits(&number, digits);
}

static void put_group_stack(
		const struct report *report, const struct group_key *key, char *text, size_t size)
{
	struct view_out out = {.begin = NULL};

	report_stack_text(report, (uint32_t)key->number, &out);
	view_out_char(&out, '\0');
	snprintf(text, size, "%s", out.failed ? "" : out.begin);
	view_out_free(&out);
}

void report_group_text(const struct report *report, uint32_t group, char *text, size_t size)
{
	const struct keys_entry *entry;
	struct group_key key;
	char identity[256], digits[VISIT_DIGITS_MAX];

	if (group >= report->groups.count) {
		snprintf(text, size, "%s", group == GROUP_OTHERS ? "(others)" : "-");
		return;
	}
	entry = &report->groups.entries[group];
	if (*entry->bytes == GROUP_TEXT) {
		snprintf(text, size, "%s", (const char *)entry->bytes + 1);
		return;
	}
	memcpy(&key, entry->bytes, sizeof(key));
	switch (key.kind) {
	case GROUP_EVENT:
		snprintf(text, size, "%s", (const char *)report->names.entries[key.number].bytes);
		break;
	case GROUP_PROCESS: identity_text(&report->identity, key.process, text, size); break;
	case GROUP_THREAD:
		identity_text(&report->identity, key.process, identity, sizeof(identity));
		snprintf(text, size, "%s thread %" PRIu64, identity, key.number);
		break;
	case GROUP_CPU: snprintf(text, size, "cpu%" PRIu64, key.number); break;
	case GROUP_SIGNED: snprintf(text, size, "%" PRId64, (int64_t)key.number); break;
	case GROUP_UNSIGNED: snprintf(text, size, "%" PRIu64, key.number); break;
	case GROUP_STACK: put_group_stack(report, &key, text, size); break;
	case GROUP_ADDRESS:
		if (report_symbol_text(symbol_of_group(report, group, &key), text, size))
			break;
		__attribute__((fallthrough));
	case GROUP_HEXADECIMAL: snprintf(text, size, "0x%" PRIx64, key.number); break;
	case GROUP_WIDE: {
		struct visit_value number = wide_number(&key);

		visit_value_digits(&number, 10, false, digits);
		snprintf(text, size, "%s", digits);
		break;
	}
	default: double_digits(&key, digits); snprintf(text, size, "%s", digits);
	}
}

static void put_group_symbol(const struct symbol *symbol, struct view_out *out)
{
	struct view_sink sink = {.ops = &view_json_ops, .out = out};

	if (!symbol->module)
		return;
	view_out_text(out, ",\"by_symbol\":");
	(void)trace_symbol_json(&sink, symbol);
}

void report_group_json(const struct report *report, uint32_t group, struct view_out *out)
{
	const struct keys_entry *entry;
	struct group_key key = {0};
	char text[1200];

	if (group >= report->groups.count) {
		view_out_text(out, "null");
		if (group == GROUP_OTHERS)
			view_out_text(out, ",\"others\":true");
		return;
	}
	entry = &report->groups.entries[group];
	if (*entry->bytes != GROUP_TEXT)
		memcpy(&key, entry->bytes, sizeof(key));
	if (key.kind == GROUP_STACK) {
		report_stack_json(report, (uint32_t)key.number, out);
		return;
	}
	report_group_text(report, group, text, sizeof(text));
	if (*entry->bytes == GROUP_TEXT)
		view_json_quoted(out, (const char *)entry->bytes + 1, entry->size - 1);
	else if (key.kind == GROUP_CPU || key.kind == GROUP_HEXADECIMAL ||
			key.kind == GROUP_ADDRESS)
		view_out_unsigned(out, key.number);
	else if (key.kind == GROUP_SIGNED || key.kind == GROUP_UNSIGNED ||
			(key.kind == GROUP_DOUBLE && !strpbrk(text, "ni")))
		view_out_put(out, text, strlen(text));
	else
		view_json_quoted(out, text, strlen(text));
	if (key.kind == GROUP_ADDRESS)
		put_group_symbol(symbol_of_group(report, group, &key), out);
}

/* ---- what an event adds ---- */

static int take_row(struct report *report, struct report_class *own, const struct ctf_item *item,
		uint32_t group)
{
	struct report_row *row;

	if (!own->has_row || own->row_group != group) {
		uint32_t key[2] = {own->name, group};

		report->rows = keys_add_item(&report->row_keys, report->rows, sizeof(*report->rows),
				key, sizeof(key), &own->row);
		if (own->row == KEYS_NONE)
			return -ENOMEM;
		own->has_row = true;
		own->row_group = group;
		report->rows[own->row].name = own->name;
		report->rows[own->row].group = group;
	}
	row = &report->rows[own->row];
	row->count++;
	if (item->timed) {
		if (!row->timed)
			row->first_ns = item->ns;
		row->timed = true;
		row->last_ns = item->ns;
	}
	return 0;
}

static struct stats *report_count_get_stats(
		struct keys *keys, struct report_stats **items, uint32_t which, uint32_t group)
{
	uint32_t key[2] = {which, group}, number;

	*items = keys_add_item(keys, *items, sizeof(**items), key, sizeof(key), &number);
	if (number == KEYS_NONE)
		return NULL;
	(*items)[number].which = which;
	(*items)[number].group = group;
	return &(*items)[number].stats;
}

static int take_histograms(struct report *report, const struct report_class *own,
		const struct ctf_item *item, uint32_t group)
{
	for (uint32_t i = 0; i < report->histogram_count; i++) {
		struct filter_value value;
		struct stats *stats;
		int ret = 0;

		if (!own->histograms[i] || !where_evaluate(own->histograms[i], item, &value))
			continue;
		if (value.kind != FILTER_INT && value.kind != FILTER_DOUBLE) {
			report->not_numbers[i]++;
			continue;
		}
		stats = report_count_get_stats(
				&report->histogram_keys, &report->histogram_stats, i, group);
		if (!stats)
			return -ENOMEM;
		if (value.kind == FILTER_DOUBLE)
			ret = report_stats_add_real(stats, value.f);
		else if (value.is_unsigned)
			ret = report_stats_add(stats, value.u);
		else
			ret = report_stats_add_signed(stats, value.s);
		if (ret)
			return ret;
	}
	return 0;
}

uint32_t report_scope(struct keys *scopes, uint32_t process, int64_t thread)
{
	struct {
		int64_t thread;
		uint64_t process;
	} key = {thread, process};

	return keys_add(scopes, &key, sizeof(key));
}

static int end_pair(struct report *report, unsigned int rule, const struct pair_open *begin,
		const struct pair_open *end)
{
	uint64_t duration = pair_duration(&report->pairs.rules[rule], begin->ns, end->ns);
	struct stats *stats = report_count_get_stats(
			&report->pair_keys, &report->pair_stats, rule, begin->group);
	struct report_slow slow = {duration, report->events, *begin, end->ns, end->scope,
			end->number, end->process, end->thread, end->cpu};

	if (!stats || report_stats_add(stats, duration))
		return -ENOMEM;
	/* With a key, the end still belongs to this begin. */
	if (!report->pairs.has_key)
		report->pairs.rules[rule].across_loss +=
				gaps_overlap(&report->gaps, begin->trace, begin->ns, end->ns) ||
				gaps_overlap(&report->gaps, end->trace, begin->ns, end->ns);
	return report_slow_add(report, rule, &slow);
}

static int report_count_pair_events(struct report *report, const struct report_class *own,
		const struct ctf_item *item, const struct pair_open *here)
{
	uint64_t rules = own->pair.begins | own->pair.ends;
	struct pair_key key;
	int ret = 0;

	if (!item->timed)
		return 0;
	key = pairs_key(&report->pairs, &own->pair, item, here->process, here->thread);
	while (rules && !ret) {
		unsigned int rule = (unsigned int)__builtin_ctzll(rules);
		struct pair_open begin;

		rules &= rules - 1;
		if (own->pair.ends >> rule & 1 && pairs_end(&report->pairs, rule, &key, &begin))
			ret = end_pair(report, rule, &begin, here);
		if (!ret && own->pair.begins >> rule & 1)
			ret = pairs_begin(&report->pairs, rule, &key, here);
	}
	return ret;
}

/* The number of events of the thread, this one included. */
static int take_scope(struct report *report, struct pair_open *here)
{
	uint32_t known = report->scopes.count;

	here->scope = report_scope(&report->scopes, here->process, here->thread);
	if (here->scope == KEYS_NONE)
		return -ENOMEM;
	if (here->scope == known && !(known & (known - 1))) {
		uint64_t *grown = realloc(report->scope_events,
				(known ? (size_t)known * 2 : 1) * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		report->scope_events = grown;
	}
	if (here->scope == known)
		report->scope_events[known] = 0;
	here->number = ++report->scope_events[here->scope];
	return 0;
}

static struct report_process *report_count_get_process(struct report *report, uint32_t number)
{
	if (number >= report->process_capacity) {
		uint32_t capacity = number < 8 ? 16 : number * 2;
		struct report_process *grown =
				realloc(report->processes, capacity * sizeof(*report->processes));

		if (!grown)
			return NULL;
		memset(grown + report->process_capacity, 0,
				(capacity - report->process_capacity) * sizeof(*grown));
		report->processes = grown;
		report->process_capacity = capacity;
	}
	return &report->processes[number];
}

int report_take(struct report *report, const struct ctf_item *item, struct walk_class *class)
{
	struct report_class *own = class->user_data;
	struct pair_open here = {.ns = item->ns,
			.cpu = (int32_t)item->stream->cpu,
			.trace = item->trace->index};
	struct report_process *process;
	int ret = 0;

	here.process = identity_process(&report->identity, &own->identity, item);
	process = here.process == KEYS_NONE ? NULL : report_count_get_process(report, here.process);
	if (!process)
		return -ENOMEM;
	process->events++;
	report->events++;
	if (item->timed) {
		if (!report->timeline.started)
			report->first_ns = item->ns;
		report->last_ns = item->ns;
		timeline_add(&report->timeline, item->ns);
	} else {
		report->untimed++;
	}
	here.thread = identity_thread(&own->identity, item);
	here.group = report_count_find_group(report, own, item, here.process, here.thread);
	ret = take_row(report, own, item, here.group);
	if (!ret && report->histogram_count)
		ret = take_histograms(report, own, item, here.group);
	if (!ret && report->options->around)
		ret = take_scope(report, &here);
	if (!ret && (own->pair.begins | own->pair.ends))
		ret = report_count_pair_events(report, own, item, &here);
	if (!ret && (report->options->calls || report->options->tree))
		ret = calls_take(&report->calls, &own->calls, item, here.process, here.thread);
	if (!ret && report->options->callers)
		ret = report_take_caller(report, own, item, here.process);
	if (!ret && report->observer.event)
		ret = report->observer.event(
				report->observer.user, own, item, here.process, here.thread);
	return ret;
}

/* ---- what a loss adds ---- */

static int report_count_add_loss(struct report *report, const struct report_loss *loss,
		size_t ring_size, size_t event_size, size_t reason_size)
{
	char key[4 + 1 + 3 * 512];
	size_t size = 5;
	uint32_t number;
	const char *parts[] = {loss->ring, loss->event, loss->reason};
	size_t sizes[] = {ring_size, event_size, reason_size};
	const char *bytes;

	memcpy(key, &loss->process, 4);
	key[4] = loss->packets;
	for (unsigned int i = 0; i < 3; i++) {
		if (sizes[i] > 511)
			sizes[i] = 511;
		memcpy(key + size, parts[i], sizes[i]);
		size += sizes[i];
		key[size++] = '\0';
	}
	report->loss_items = keys_add_item(&report->loss_keys, report->loss_items,
			sizeof(*report->loss_items), key, size, &number);
	if (number == KEYS_NONE)
		return -ENOMEM;
	bytes = (const char *)report->loss_keys.entries[number].bytes + 5;
	report->loss_items[number].ring = bytes;
	report->loss_items[number].event = bytes + sizes[0] + 1;
	report->loss_items[number].reason = bytes + sizes[0] + sizes[1] + 2;
	report->loss_items[number].process = loss->process;
	report->loss_items[number].packets = loss->packets;
	report->loss_items[number].bytes = loss->bytes;
	report->loss_items[number].count += loss->count;
	return 0;
}

int report_take_loss(
		struct report *report, const struct ctf_item *item, const struct walk_class *class)
{
	struct report_loss loss = {.process = identity_of_trace(&report->identity, item->trace)};
	struct report_process *process = loss.process == KEYS_NONE
			? NULL
			: report_count_get_process(report, loss.process);
	size_t ring, event, reason;
	int ret;

	if (!process)
		return -ENOMEM;
	if (class) {
		loss.ring = walk_lost_text(item, "ring", &ring);
		loss.event = walk_lost_text(item, "event", &event);
		loss.reason = walk_lost_text(item, "reason", &reason);
		loss.count = walk_lost_count(item);
		loss.bytes = walk_lost_is_bytes(item);
		if (loss.bytes)
			report->lost_bytes += loss.count;
		else
			process->lost += loss.count;
	} else {
		loss.ring = item->stream->name;
		ring = strlen(loss.ring);
		loss.event = loss.reason = "";
		event = reason = 0;
		loss.count = item->count;
		loss.packets = item->kind == CTF_ITEM_LOST_PACKETS;
		if (loss.packets)
			report->lost_packets += loss.count;
		else
			process->counted += loss.count;
	}
	ret = report_count_add_loss(report, &loss, ring, event, reason);
	if (!ret && report->observer.loss)
		ret = report->observer.loss(report->observer.user, class, item, loss.process);
	return ret;
}

uint64_t report_process_lost(const struct report_process *process)
{
	return process->lost > process->counted ? process->lost : process->counted;
}

uint64_t report_lost(const struct report *report)
{
	uint64_t lost = 0;

	for (uint32_t i = 0; i < report->process_capacity; i++)
		lost += report_process_lost(&report->processes[i]);
	return lost;
}
