/* SPDX-License-Identifier: MIT */
/*
 * Open begins of pairs: a hash table from keys to stacks of begins.
 *
 * Memory is bounded. At most OPEN_MAX begins are open at a time; further begins are not followed.
 * At most DEPTH_MAX begins of one key are open; beyond that, the older half is discarded.
 */
#include "analysis/report-pair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/event-member.h"
#include "analysis/patterns.h"
#include "analysis/report-walk.h"
#include "base/error.h"
#include "base/inside/hash.h"
#include "analysis/where-path.h"

#define OPEN_MAX (1u << 19)
#define DEPTH_MAX 1024

/* In the high half of a key, above the process and the type of key. */
#define RULE_SHIFT 35 /* 6 bits */
#define TEXT_SHIFT 41

struct pair_slot {
	uint64_t high, low; /* the key with the rule */
	uint32_t depth;     /* 0: the slot is free */
	uint32_t capacity;  /* of `more` */
	struct pair_open last;
	struct pair_open *more; /* the earlier begins, the oldest first */
};

/* ---- making ---- */

static int report_pair_add_rule(
		struct report_pairs *pairs, const char *begin, const char *end, struct error *error)
{
	struct pair_rule *rule = &pairs->rules[pairs->rule_count];
	const char *one[] = {begin}, *other[] = {end};
	struct text_list begins = {one, 1}, ends = {other, 1};
	int ret = patterns_parse(&begins, &rule->begin, error);

	rule->begin_text = begin;
	rule->end_text = end;
	pairs->rule_count++;
	return ret ? ret : patterns_parse(&ends, &rule->end, error);
}

int pairs_create(struct report_pairs *pairs, const struct text_list *pairs_text, const char *key,
		bool across, struct error *error)
{
	int ret = 0;

	*pairs = (struct report_pairs){.across = across};
	if (pairs_text->count / 2 > PAIR_RULES_MAX)
		return error_set_kind(error, ERROR_USAGE, -E2BIG, "run `side report` several times",
				"`--pair` is given more than %u times", PAIR_RULES_MAX);
	for (size_t i = 0; !ret && i + 1 < pairs_text->count; i += 2)
		ret = report_pair_add_rule(
				pairs, pairs_text->items[i], pairs_text->items[i + 1], error);
	if (!ret && key) {
		ret = where_parse("key", key, &pairs->key, error);
		pairs->has_key = true;
	}
	return ret;
}

void pairs_free(struct report_pairs *pairs)
{
	for (unsigned int i = 0; i < pairs->rule_count; i++) {
		free(pairs->rules[i].begin);
		free(pairs->rules[i].end);
	}
	for (uint32_t i = 0; i < pairs->capacity; i++)
		free(pairs->slots[i].more);
	free(pairs->slots);
	where_free(&pairs->key);
}

/* An event of a probe with `--exit`, in a trace of side. */
static bool report_pair_is_probe_call(const struct ctf_item *item)
{
	const struct ctf_type *type = item->fields ? item->fields->type : NULL;

	return item->trace->is_side && type && type->member_count &&
			type->members[0].type->kind == CTF_INTEGER &&
			type->members[0].type->size == 64 &&
			where_same_name(type->members[0].name, "call");
}

/*
 * Whether all of these rules end with the return of a function, so that both events have the number
 * of a call.
 */
static bool are_returns(const struct report_pairs *pairs, uint64_t rules)
{
	static const char suffix[] = "_return";
	const size_t length = sizeof(suffix) - 1;

	for (; rules; rules &= rules - 1) {
		const char *end = pairs->rules[__builtin_ctzll(rules)].end_text;
		size_t size = strlen(end);

		if (size < length || strcmp(end + size - length, suffix) != 0)
			return false;
	}
	return true;
}

int pair_class_make(const struct report_pairs *pairs, struct pair_class *class,
		const struct ctf_item *item, const struct view_event *event,
		struct missing *missing)
{
	*class = (struct pair_class){0};
	for (unsigned int i = 0; i < pairs->rule_count; i++) {
		class->begins |= (uint64_t)walk_pattern_wants(pairs->rules[i].begin, 1,
						 item->event->name, item->event->loglevel)
				<< i;
		class->ends |= (uint64_t)walk_pattern_wants(pairs->rules[i].end, 1,
					       item->event->name, item->event->loglevel)
				<< i;
	}
	class->has_call = report_pair_is_probe_call(item) &&
			are_returns(pairs, class->begins | class->ends);
	if (!pairs->has_key || !(class->begins | class->ends))
		return 0;
	return missing_bind(missing, &pairs->key, item, event, &class->key);
}

void pair_class_free(struct pair_class *class)
{
	where_bound_free(class->key);
}

/* ---- keys ---- */

enum key_kind { KEY_PROCESS, KEY_THREAD, KEY_CALLS, KEY_INTEGER, KEY_DOUBLE, KEY_TEXT };

static struct pair_key report_pair_hash_key(enum key_kind kind, uint32_t process, uint64_t value)
{
	return (struct pair_key){(uint64_t)kind << 32 | process, value, true, false};
}

/* Equal numbers are the same key, whether signed or not, with a fraction or not. */
static struct pair_key key_of_value(const struct filter_value *value, uint32_t process)
{
	uint64_t bits;

	switch (value->kind) {
	case FILTER_INT: return report_pair_hash_key(KEY_INTEGER, process, value->u);
	case FILTER_DOUBLE:
		if (value->f >= -0x1p63 && value->f < 0x1p63 &&
				value->f == (double)(int64_t)value->f)
			return report_pair_hash_key(
					KEY_INTEGER, process, (uint64_t)(int64_t)value->f);
		memcpy(&bits, &value->f, sizeof(bits));
		return report_pair_hash_key(KEY_DOUBLE, process, bits);
	case FILTER_WIDE:
		return report_pair_hash_key(KEY_DOUBLE, process,
				value->u ^ value->high * UINT64_C(0x9e3779b97f4a7c15));
	case FILTER_STRING: {
		size_t size = value->size == FILTER_TERMINATED ? strlen(value->text) : value->size;
		struct pair_key key = report_pair_hash_key(
				KEY_TEXT, process, keys_hash(value->text, size));

		/* More bits, so that different texts have different keys in practice. */
		key.high |= (size * UINT64_C(0x9e3779b1) ^
					    hash_fnv1a_64(HASH_FNV1A_64_BEGIN, value->text, size))
				<< TEXT_SHIFT;
		return key;
	}
	default: return (struct pair_key){0};
	}
}

/*
 * The upper 16 bits of a call's number identify a thread of its process (probe/patch). 0: the
 * return is not recorded.
 */
static struct pair_key key_of_thread(const struct report_pairs *pairs,
		const struct pair_class *class, const struct ctf_item *item, uint32_t process,
		int64_t thread)
{
	const struct ctf_value *call =
			pairs->by_call && class->has_call ? walk_member_at(item->fields, 0) : NULL;
	struct pair_key key;

	if (thread >= 0)
		return report_pair_hash_key(KEY_THREAD, process, (uint64_t)thread);
	if (call && call->u)
		return report_pair_hash_key(KEY_CALLS, process, event_call_thread(call->u));
	key = report_pair_hash_key(KEY_PROCESS, process, 0);
	key.no_thread = true;
	return key;
}

struct pair_key pairs_key(const struct report_pairs *pairs, const struct pair_class *class,
		const struct ctf_item *item, uint32_t process, int64_t thread)
{
	struct filter_value value;

	if (!pairs->has_key)
		return key_of_thread(pairs, class, item, process, thread);
	if (!class->key || !where_evaluate(class->key, item, &value))
		return (struct pair_key){0};
	return key_of_value(&value, pairs->across ? UINT32_MAX : process);
}

/* ---- the table ---- */

static uint32_t home_of(const struct report_pairs *pairs, uint64_t high, uint64_t low)
{
	uint64_t hash = (high * UINT64_C(0xff51afd7ed558ccd) ^ low) * UINT64_C(0xc4ceb9fe1a85ec53);

	return (uint32_t)(hash >> 32) & (pairs->capacity - 1);
}

/* The slot of the key, or the free slot where it belongs. */
static struct pair_slot *report_pair_find_slot(
		const struct report_pairs *pairs, uint64_t high, uint64_t low)
{
	for (uint32_t at = home_of(pairs, high, low);; at = (at + 1) & (pairs->capacity - 1)) {
		struct pair_slot *slot = &pairs->slots[at];

		if (!slot->depth || (slot->high == high && slot->low == low))
			return slot;
	}
}

static uint64_t high_of(const struct pair_key *key, unsigned int rule)
{
	return key->high | (uint64_t)rule << RULE_SHIFT;
}

static int report_pair_grow_table(struct report_pairs *pairs)
{
	struct report_pairs old = *pairs;

	if (pairs->used * 2 < pairs->capacity)
		return 0;
	pairs->capacity = old.capacity ? old.capacity * 2 : 256;
	pairs->slots = calloc(pairs->capacity, sizeof(*pairs->slots));
	if (!pairs->slots) {
		*pairs = old;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < old.capacity; i++) {
		if (old.slots[i].depth)
			*report_pair_find_slot(pairs, old.slots[i].high, old.slots[i].low) =
					old.slots[i];
	}
	free(old.slots);
	return 0;
}

/* Frees the slot, and moves entries that were displaced by it. */
static void report_pair_remove_slot(struct report_pairs *pairs, struct pair_slot *slot)
{
	uint32_t mask = pairs->capacity - 1, hole = (uint32_t)(slot - pairs->slots);

	free(slot->more);
	*slot = (struct pair_slot){0};
	pairs->used--;
	for (uint32_t at = (hole + 1) & mask; pairs->slots[at].depth; at = (at + 1) & mask) {
		uint32_t home = home_of(pairs, pairs->slots[at].high, pairs->slots[at].low);

		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		pairs->slots[hole] = pairs->slots[at];
		pairs->slots[at] = (struct pair_slot){0};
		hole = at;
	}
}

/* Discards the older half of the open begins of a key. */
static void report_pair_drop_oldest(
		struct report_pairs *pairs, struct pair_rule *rule, struct pair_slot *slot)
{
	uint32_t half = slot->depth / 2, below = slot->depth - 1;

	memmove(slot->more, slot->more + half, (below - half) * sizeof(*slot->more));
	slot->depth -= half;
	pairs->open -= half;
	rule->unfinished += half;
	rule->not_kept += half;
}

static int report_pair_push_begin(struct pair_slot *slot, const struct pair_open *open)
{
	uint32_t below = slot->depth - 1;

	if (below == slot->capacity) {
		uint32_t capacity = slot->capacity ? slot->capacity * 2 : 4;
		struct pair_open *more = realloc(slot->more, capacity * sizeof(*more));

		if (!more)
			return -ENOMEM;
		slot->more = more;
		slot->capacity = capacity;
	}
	slot->more[below] = slot->last;
	slot->last = *open;
	slot->depth++;
	return 0;
}

int pairs_begin(struct report_pairs *pairs, unsigned int number, const struct pair_key *key,
		const struct pair_open *open)
{
	struct pair_rule *rule = &pairs->rules[number];
	uint64_t high = high_of(key, number);
	struct pair_slot *slot;

	if (!key->there) {
		rule->no_key++;
		return 0;
	}
	rule->no_thread += key->no_thread;
	if (report_pair_grow_table(pairs))
		return -ENOMEM;
	slot = report_pair_find_slot(pairs, high, key->low);
	if (slot->depth == DEPTH_MAX)
		report_pair_drop_oldest(pairs, rule, slot);
	if (pairs->open >= OPEN_MAX) {
		rule->unfinished++;
		rule->not_kept++;
		return 0;
	}
	pairs->open++;
	if (slot->depth)
		return report_pair_push_begin(slot, open);
	*slot = (struct pair_slot){.high = high, .low = key->low, .depth = 1, .last = *open};
	pairs->used++;
	return 0;
}

bool pairs_is_open(
		const struct report_pairs *pairs, unsigned int number, const struct pair_key *key)
{
	return key->there && pairs->capacity &&
			report_pair_find_slot(pairs, high_of(key, number), key->low)->depth;
}

bool pairs_top(const struct report_pairs *pairs, unsigned int number, const struct pair_key *key,
		struct pair_open *ret_open)
{
	if (!pairs_is_open(pairs, number, key))
		return false;
	*ret_open = report_pair_find_slot(pairs, high_of(key, number), key->low)->last;
	return true;
}

bool pairs_end(struct report_pairs *pairs, unsigned int number, const struct pair_key *key,
		struct pair_open *ret_open)
{
	struct pair_rule *rule = &pairs->rules[number];
	struct pair_slot *slot;

	if (!key->there) {
		rule->no_key++;
		return false;
	}
	rule->no_thread += key->no_thread;
	slot = pairs->capacity ? report_pair_find_slot(pairs, high_of(key, number), key->low)
			       : NULL;
	if (!slot || !slot->depth) {
		rule->unbegun++;
		return false;
	}
	*ret_open = slot->last;
	pairs->open--;
	if (slot->depth == 1) {
		report_pair_remove_slot(pairs, slot);
	} else {
		slot->last = slot->more[slot->depth - 2];
		slot->depth--;
	}
	return true;
}

void pairs_finish(struct report_pairs *pairs)
{
	for (uint32_t i = 0; i < pairs->capacity; i++) {
		unsigned int rule = pairs->slots[i].high >> RULE_SHIFT & (PAIR_RULES_MAX - 1);

		if (pairs->slots[i].depth)
			pairs->rules[rule].unfinished += pairs->slots[i].depth;
	}
}

uint64_t pair_duration(struct pair_rule *rule, int64_t begin, int64_t end)
{
	if (end >= begin)
		return (uint64_t)end - (uint64_t)begin;
	rule->negative++;
	return 0;
}
