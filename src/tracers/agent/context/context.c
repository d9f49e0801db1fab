/* SPDX-License-Identifier: MIT */
/* Sets of contexts: building, writing, single values. */
#include "tracers/agent/context/text.h"
#include "tracers/agent/context/context.h"

#include <errno.h>
#include <sched.h>

#include <side/context.h>

#include "base/inside/hash.h"
#include "tracers/agent/context/values.h"
#include "ring/ring.h"

#define SETS_KNOWN 256 /* different sets that get a block; further ones have none */
#define NO_ID UINT64_MAX
#define APPLICATIONS_NESTED 2 /* functions of application contexts within one another */

/* ---- items ---- */

/* The group of values that the context is made of; 0: it is read for each event. */
static uint32_t agent_context_value_group(uint8_t kind)
{
	switch (kind) {
	case CONTEXT_VPID:
	case CONTEXT_VTID: return CONTEXT_GROUP(IDS);
	case CONTEXT_TID: return CONTEXT_GROUP(TID);
	case CONTEXT_PROCNAME: return CONTEXT_GROUP(PROCNAME);
	case CONTEXT_THREAD_NAME: return CONTEXT_GROUP(THREAD_NAME);
	case CONTEXT_UID:
	case CONTEXT_EUID:
	case CONTEXT_SUID: return CONTEXT_GROUP(UIDS);
	case CONTEXT_GID:
	case CONTEXT_EGID:
	case CONTEXT_SGID: return CONTEXT_GROUP(GIDS);
	}
	if (kind >= CONTEXT_CGROUP_NS && kind <= CONTEXT_UTS_NS)
		return 1u << (CONTEXT_GROUP_NAMESPACES + kind - CONTEXT_CGROUP_NS);
	return 0;
}

/* A cached value, as bytes or as text. */
struct context_span {
	const void *at;
	size_t size;
};

static struct context_span cached(uint8_t kind, const struct context_values *values)
{
	switch (kind) {
	case CONTEXT_VPID: return (struct context_span){&values->vpid, 4};
	case CONTEXT_VTID: return (struct context_span){&values->vtid, 4};
	case CONTEXT_TID: return (struct context_span){&values->tid, 4};
	case CONTEXT_PROCNAME:
		return (struct context_span){values->procname,
				text_size(values->procname, CONTEXT_COMM_SIZE - 1) + 1};
	case CONTEXT_THREAD_NAME:
		return (struct context_span){values->thread_name,
				text_size(values->thread_name, CONTEXT_COMM_SIZE - 1) + 1};
	case CONTEXT_UID:
	case CONTEXT_EUID:
	case CONTEXT_SUID: return (struct context_span){&values->uids[kind - CONTEXT_UID], 4};
	case CONTEXT_GID:
	case CONTEXT_EGID:
	case CONTEXT_SGID: return (struct context_span){&values->gids[kind - CONTEXT_GID], 4};
	}
	return (struct context_span){&values->namespaces[kind - CONTEXT_CGROUP_NS], 8};
}

static size_t cached_max(uint8_t kind)
{
	if (kind == CONTEXT_PROCNAME || kind == CONTEXT_THREAD_NAME)
		return CONTEXT_COMM_SIZE;
	return kind >= CONTEXT_CGROUP_NS ? 8 : 4;
}

/* ---- backtraces ---- */

__thread const struct context_origin *context_origin;
context_walk_function *context_walk;

/* What writing one takes at most: the number, the way to an aligned address, and the addresses. */
static size_t backtrace_bytes(uint32_t depth)
{
	return 1 + (sizeof(uint64_t) - 1) + depth * sizeof(uint64_t);
}

/* NULL: it may not fit. */
static uint8_t *backtrace_write(const struct context_item *item, uint8_t *to, const uint8_t *end)
{
	const struct context_origin *origin = context_origin;
	uint64_t *addresses = (uint64_t *)(((uintptr_t)to + sizeof(uint64_t)) &
			~(uintptr_t)(sizeof(uint64_t) - 1));
	uint32_t nr = 0;
	uint32_t i;

	if ((size_t)(end - to) < backtrace_bytes(item->counter))
		return NULL;
	if (context_walk && origin)
		nr = context_walk(origin, addresses, item->counter);
	*to++ = (uint8_t)nr;
	/* The record has no gap: each address moves down by less than its size, or not at all. */
	for (i = 0; i < nr; i++, to += sizeof(uint64_t)) {
		uint64_t address = addresses[i];

		memcpy(to, &address, sizeof(address));
	}
	return to;
}

/* ---- building ---- */

static uint64_t known_sets[SETS_KNOWN]; /* hashes of what is in them */
static uint32_t nr_known_sets;

/* Hash the names, each with the zero byte at its end. */
static uint64_t hash_names(const struct context_spec *specs, size_t nr_specs)
{
	uint64_t hash = HASH_FNV1A_64_BEGIN;
	size_t i;

	for (i = 0; i < nr_specs; i++)
		hash = hash_fnv1a_64_step(hash_fnv1a_64_text(hash, specs[i].name), 0);
	return hash;
}

/* The number of sets of these contexts, from 1; 0: there are too many. */
static uint32_t agent_context_set_number(const struct context_spec *specs, size_t nr_specs)
{
	uint64_t hash = hash_names(specs, nr_specs);
	uint32_t i;

	for (i = 0; i < nr_known_sets; i++)
		if (known_sets[i] == hash)
			return i + 1;
	if (nr_known_sets == SETS_KNOWN)
		return 0;
	known_sets[nr_known_sets++] = hash;
	return nr_known_sets;
}

static bool spec_is_sound(const struct context_spec *spec)
{
	if ((unsigned int)spec->kind >= CONTEXT_KINDS || spec->name[CONTEXT_NAME_MAX])
		return false;
	if (spec->kind == CONTEXT_BACKTRACE)
		return spec->depth && spec->depth <= CONTEXT_BACKTRACE_MAX;
	return spec->kind != CONTEXT_APP ||
			(spec->provider_at && spec->provider_size &&
					spec->provider_at + spec->provider_size < spec->label_at &&
					spec->label_at < CONTEXT_NAME_MAX);
}

static const void *agent_context_find_field(const struct context_spec *spec)
{
	char provider[CONTEXT_NAME_MAX + 1];

	memcpy(provider, spec->name + spec->provider_at, spec->provider_size);
	provider[spec->provider_size] = 0;
	return side_context_find(provider, spec->name + spec->label_at);
}

static void item_build(const struct context_spec *spec, struct context_item *item)
{
	int number;

	*item = (struct context_item){.kind = (uint8_t)spec->kind};
	if (spec->kind == CONTEXT_CGROUP) {
		/* So that there is one when a signal handler interrupts the first look. */
		(void)context_cgroup_poll();
	} else if (spec->kind == CONTEXT_APP) {
		item->handle = agent_context_find_field(spec);
	} else if (spec->kind == CONTEXT_PERF && !context_perf_is_hardware(spec)) {
		item->software = 1;
		item->counter = (uint32_t)spec->perf_config;
	} else if (spec->kind == CONTEXT_PERF) {
		number = context_counter_number(spec);
		item->counter = number < 0 ? CONTEXT_COUNTERS_MAX : (uint32_t)number;
	} else if (spec->kind == CONTEXT_BACKTRACE) {
		item->counter = spec->depth;
	}
}

ssize_t context_set_size(const struct context_spec *specs, size_t nr_specs)
{
	size_t i;

	if (nr_specs > CONTEXT_SET_MAX)
		return -E2BIG;
	for (i = 0; i < nr_specs; i++)
		if (!spec_is_sound(&specs[i]))
			return -EINVAL;
	return (ssize_t)(sizeof(struct context_set) + nr_specs * sizeof(struct context_item));
}

/* Whether the set may have a block, and how it is found. */
static void choose_block(struct context_set *set, uint32_t number, size_t bytes)
{
	set->id = NO_ID;
	if (!number || bytes > CONTEXT_BLOCK_BYTES || set->nr_computed > CONTEXT_COMPUTED) {
		set->is_light = false;
		return;
	}
	set->block_id = (uint64_t)number << 32;
	set->block_at = number % CONTEXT_BLOCKS * (uint32_t)sizeof(struct context_block);
	if (!set->nr_computed)
		set->id = set->block_id;
}

int context_set_build(const struct context_spec *specs, size_t nr_specs, void *memory,
		size_t memory_size, struct context_set **ret_set)
{
	struct context_set *set = memory;
	ssize_t size = context_set_size(specs, nr_specs);
	size_t bytes = 0;
	size_t i;
	int ret;

	if (size < 0)
		return (int)size;
	if ((size_t)size > memory_size)
		return -ENOSPC;
	ret = context_values_start();
	if (ret)
		return ret;
	memset(set, 0, (size_t)size);
	for (i = 0; i < nr_specs; i++) {
		item_build(&specs[i], &set->items[i]);
		if (context_perf_is_hardware(&specs[i]))
			set->needs |= CONTEXT_GROUP(COUNTERS);
		if (agent_context_value_group(set->items[i].kind)) {
			set->needs |= agent_context_value_group(set->items[i].kind);
			bytes += cached_max(set->items[i].kind);
		} else {
			set->items[set->nr_computed++].computed = (uint16_t)i;
		}
		if (specs[i].kind == CONTEXT_BACKTRACE)
			set->backtrace_bytes = (uint16_t)backtrace_bytes(specs[i].depth);
	}
	set->nr_items = (uint16_t)nr_specs;
	set->is_light = true;
	for (i = 0; i < set->nr_computed; i++) {
		uint8_t kind = set->items[set->items[i].computed].kind;

		set->is_light &= kind == CONTEXT_IP || kind == CONTEXT_CPU_ID ||
				kind == CONTEXT_BACKTRACE;
	}
	choose_block(set, agent_context_set_number(specs, nr_specs), bytes);
	context_values_need(set->needs);
	*ret_set = set;
	return 0;
}

/* ---- writing what is made each time ---- */

static uint8_t *agent_context_append(uint8_t *to, const uint8_t *end, const void *from, size_t size)
{
	if (!to || (size_t)(end - to) < size)
		return NULL;
	text_copy(to, from, size);
	return to + size;
}

static uint8_t *agent_context_append_text(uint8_t *to, const uint8_t *end, const char *text)
{
	while (to < end) {
		char byte = *text++;

		*to++ = (uint8_t)byte;
		if (!byte)
			return to;
	}
	return NULL;
}

/* A function that emits would come back here without end, so it finds no values there. */
static void application_read(const void *handle, struct side_context_value *ret_value)
{
	struct context_thread *thread = &context_thread;

	*ret_value = (struct side_context_value){.kind = SIDE_CONTEXT_NONE};
	if (thread->applications >= APPLICATIONS_NESTED)
		return;
	thread->applications++;
	/* Compiler fence: the count before the application's function, which may emit. */
	atomic_signal_fence(memory_order_seq_cst);
	side_context_read(handle, ret_value);
	/* Compiler fence: the application's function before the count. */
	atomic_signal_fence(memory_order_seq_cst);
	thread->applications--;
}

static uint8_t *put_application(const void *handle, uint8_t *to, const uint8_t *end)
{
	struct side_context_value value;
	uint8_t tag = CONTEXT_TAG_NONE;
	uint8_t truth;

	application_read(handle, &value);
	if (value.kind == SIDE_CONTEXT_STRING && !value.content.string)
		value.kind = SIDE_CONTEXT_NONE;
	if (value.kind <= SIDE_CONTEXT_BOOL)
		tag = (uint8_t)value.kind;
	to = agent_context_append(to, end, &tag, 1);
	if (!to)
		return NULL;
	switch (tag) {
	case CONTEXT_TAG_INT64:
	case CONTEXT_TAG_UINT64:
	case CONTEXT_TAG_FLOAT64: return agent_context_append(to, end, &value.content, 8);
	case CONTEXT_TAG_STRING:
		return agent_context_append_text(
				to, end, value.content.string ? value.content.string : "");
	case CONTEXT_TAG_BOOLEAN:
		truth = value.content.boolean != 0;
		return agent_context_append(to, end, &truth, 1);
	}
	return to;
}

_Static_assert((int)SIDE_CONTEXT_NONE == CONTEXT_TAG_NONE &&
				(int)SIDE_CONTEXT_INT64 == CONTEXT_TAG_INT64 &&
				(int)SIDE_CONTEXT_UINT64 == CONTEXT_TAG_UINT64 &&
				(int)SIDE_CONTEXT_DOUBLE == CONTEXT_TAG_FLOAT64 &&
				(int)SIDE_CONTEXT_STRING == CONTEXT_TAG_STRING &&
				(int)SIDE_CONTEXT_BOOL == CONTEXT_TAG_BOOLEAN,
		"a kind is its tag");

static inline uint32_t processor(void)
{
	int32_t cpu = ring_thread_cpu();

	return (uint32_t)(__builtin_expect(cpu >= 0, 1) ? cpu : sched_getcpu());
}

static uint64_t counter(const struct context_item *item)
{
	return item->software ? context_counter_software(item->counter)
			      : context_counter_hardware(item->counter);
}

static uint8_t *put_computed(const struct context_item *item, uint8_t *to, const uint8_t *end,
		const void *caller)
{
	uint64_t number;
	uint32_t cpu;

	switch (item->kind) {
	case CONTEXT_CPU_ID: cpu = processor(); return agent_context_append(to, end, &cpu, 4);
	case CONTEXT_IP:
		number = (uintptr_t)caller;
		return agent_context_append(to, end, &number, 8);
	case CONTEXT_PERF: number = counter(item); return agent_context_append(to, end, &number, 8);
	case CONTEXT_CGROUP: return context_cgroup_write(to, end);
	case CONTEXT_BACKTRACE: return backtrace_write(item, to, end);
	}
	return put_application(item->handle, to, end);
}

/* ---- writing a set ---- */

static struct context_block *agent_context_get_block(const struct context_set *set)
{
	return (struct context_block *)(void *)((char *)context_blocks + set->block_at);
}

/* The thread's bytes for the set, if they are right and stay as they are while they are copied. */
static bool block_take(const struct context_set *set, struct context_block *ret_copy)
{
	const struct context_block *block = agent_context_get_block(set);
	uint64_t stamp = set->block_id |
			__atomic_load_n(&context_process.generation, __ATOMIC_RELAXED);

	if (block->stamp != stamp)
		return false;
	/*
	 * Compiler fence, acquire: the stamp before the bytes, which a signal handler may rewrite.
	 */
	atomic_signal_fence(memory_order_acquire);
	*ret_copy = *block;
	/* Compiler fence, acquire: the bytes before the stamp is loaded again. */
	atomic_signal_fence(memory_order_acquire);
	return block->stamp == stamp;
}

/*
 * Make the bytes, and cache them if they are valid and this is no handler that has interrupted the
 * same function.
 */
static __attribute__((noinline)) void block_make(const struct context_set *set,
		struct context_block *copy, struct context_values *values)
{
	struct context_block *block = agent_context_get_block(set);
	struct context_thread *thread = &context_thread;
	uint32_t generation = context_values_get(set->needs, values);
	unsigned int nr_splits = 0;
	unsigned int i;

	copy->size = 0;
	memset(copy->splits, 0, sizeof(copy->splits));
	for (i = 0; i < set->nr_items; i++) {
		uint8_t kind = set->items[i].kind;
		struct context_span span;

		if (!agent_context_value_group(kind)) {
			copy->splits[nr_splits++] = (uint8_t)copy->size;
			continue;
		}
		span = cached(kind, values);
		text_copy(copy->bytes + copy->size, span.at, span.size);
		copy->size += span.size;
	}
	if (!generation || thread->busy)
		return;
	thread->busy = true;
	block->stamp = 0;
	/*
	 * Compiler fence: the cleared stamp before the bytes change, because a signal handler can
	 * emit.
	 */
	atomic_signal_fence(memory_order_seq_cst);
	block->size = copy->size;
	memcpy(block->splits, copy->splits, sizeof(block->splits));
	memcpy(block->bytes, copy->bytes, sizeof(block->bytes));
	/* Compiler fence: the bytes before their stamp. */
	atomic_signal_fence(memory_order_seq_cst);
	block->stamp = set->block_id | generation;
	/*
	 * Compiler fence: the stamp before `busy` is cleared. Then a signal handler may rewrite the
	 * bytes.
	 */
	atomic_signal_fence(memory_order_seq_cst);
	thread->busy = false;
}

/* The bytes of the block, and between them what is made each time. */
static uint8_t *compose(const struct context_set *set, const struct context_block *block,
		uint8_t *to, const uint8_t *end, const void *caller)
{
	unsigned int at = 0;
	unsigned int i;

	for (i = 0; i < set->nr_computed && to; i++) {
		to = agent_context_append(to, end, block->bytes + at, block->splits[i] - at);
		at = block->splits[i];
		if (to)
			to = put_computed(&set->items[set->items[i].computed], to, end, caller);
	}
	return agent_context_append(to, end, block->bytes + at, block->size - at);
}

/* Sets that are too large for a block. */
static __attribute__((noinline)) uint8_t *write_each(const struct context_set *set, uint8_t *to,
		const uint8_t *end, const void *caller, struct context_values *values)
{
	unsigned int i;

	if (set->needs)
		(void)context_values_get(set->needs, values);
	for (i = 0; i < set->nr_items && to; i++) {
		const struct context_item *item = &set->items[i];
		struct context_span span;

		if (agent_context_value_group(item->kind)) {
			span = cached(item->kind, values);
			to = agent_context_append(to, end, span.at, span.size);
		} else {
			to = put_computed(item, to, end, caller);
		}
	}
	return to;
}

/* Copies of the thread's block and values. */
struct copies {
	struct context_block block;
	struct context_values values;
};

static uint8_t *write_by(const struct context_set *set, uint8_t *to, const uint8_t *end,
		const void *caller, struct copies *copies)
{
	if (!set->block_id)
		return write_each(set, to, end, caller, &copies->values);
	if (!block_take(set, &copies->block))
		block_make(set, &copies->block, &copies->values);
	return compose(set, &copies->block, to, end, caller);
}

static __attribute__((noinline)) uint8_t *write_by_stack(
		const struct context_set *set, uint8_t *to, const uint8_t *end, const void *caller)
{
	struct copies copies;

	return write_by(set, to, end, caller, &copies);
}

/*
 * The stack of a program may be small: the copies are at the end of the caller's buffer, if there
 * is room.
 */
static uint8_t *write_by_end(
		const struct context_set *set, uint8_t *to, const uint8_t *end, const void *caller)
{
	uintptr_t at = ((uintptr_t)end - sizeof(struct copies)) & ~(_Alignof(struct copies) - 1);
	uint8_t *behind = NULL;

	if (end - to >= (ptrdiff_t)(sizeof(struct copies) + 2 * CONTEXT_BLOCK_BYTES))
		behind = write_by(set, to, (const uint8_t *)at, caller, (struct copies *)at);
	return behind ? behind : write_by_stack(set, to, end, caller);
}

__attribute__((noinline)) void context_renew(const struct context_set *set)
{
	int saved_errno = errno;

	if (set->needs)
		context_values_renew(set->needs);
	errno = saved_errno;
}

static __attribute__((noinline)) uint8_t *write_any(
		const struct context_set *set, uint8_t *to, const uint8_t *end, const void *caller)
{
	int saved_errno = errno;

	to = write_by_end(set, to, end, caller);
	errno = saved_errno;
	return to;
}

/* What a set of a block, of cpu_id and of ip takes at most, with what is copied too much. */
#define LIGHT_BYTES (CONTEXT_BLOCK_BYTES + 8 * CONTEXT_COMPUTED + 32)

/* Like compose(), straight from the block, which is looked at again at the end. */
static inline uint8_t *write_light(const struct context_set *set, const struct context_block *block,
		uint8_t *to, const uint8_t *end, const void *caller)
{
	const uint64_t ip = (uintptr_t)caller;
	unsigned int size, at = 0;
	unsigned int i;

	for (i = 0;; i++) {
		size = (i < set->nr_computed ? block->splits[i] : (unsigned int)block->size) - at;
		if (size > 32)
			text_copy(to, block->bytes + at, size);
		else if (size)
			memcpy(to, block->bytes + at, 32);
		to += size;
		at += size;
		if (i == set->nr_computed)
			return to;
		if (set->items[set->items[i].computed].kind == CONTEXT_IP) {
			memcpy(to, &ip, sizeof(ip));
			to += sizeof(ip);
		} else if (set->items[set->items[i].computed].kind == CONTEXT_BACKTRACE) {
			to = backtrace_write(&set->items[set->items[i].computed], to, end);
		} else {
			uint32_t cpu = processor();

			memcpy(to, &cpu, sizeof(cpu));
			to += sizeof(cpu);
		}
	}
}

__attribute__((noinline)) uint8_t *context_write_slow(
		const struct context_set *set, uint8_t *to, const uint8_t *end, const void *caller)
{
	const struct context_block *block = agent_context_get_block(set);
	/*
	 * Relaxed: the bytes belong to this thread. A change that it does not see yet counts as
	 * later.
	 */
	uint64_t stamp = set->block_id |
			__atomic_load_n(&context_process.generation, __ATOMIC_RELAXED);

	if (set->is_light && block->stamp == stamp &&
			end - to >= LIGHT_BYTES + set->backtrace_bytes) {
		uint8_t *behind;

		/*
		 * Compiler fence, acquire: the stamp before the bytes, which a signal handler may
		 * rewrite.
		 */
		atomic_signal_fence(memory_order_acquire);
		behind = write_light(set, block, to, end, caller);
		/* Compiler fence, acquire: the bytes before the stamp is loaded again. */
		atomic_signal_fence(memory_order_acquire);
		if (block->stamp == stamp)
			return behind;
	}
	return write_any(set, to, end, caller);
}

/* ---- single values ---- */

static __attribute__((noinline)) bool load_application(
		const void *handle, struct filter_value *ret_value)
{
	struct side_context_value found;

	application_read(handle, &found);
	switch (found.kind) {
	case SIDE_CONTEXT_INT64: filter_value_signed(ret_value, found.content.int64); return true;
	case SIDE_CONTEXT_UINT64:
		filter_value_unsigned(ret_value, found.content.uint64);
		return true;
	case SIDE_CONTEXT_BOOL:
		filter_value_unsigned(ret_value, found.content.boolean != 0);
		return true;
	case SIDE_CONTEXT_DOUBLE:
		*ret_value = (struct filter_value){
				.kind = FILTER_DOUBLE, .f = found.content.float64};
		return true;
	case SIDE_CONTEXT_STRING:
		if (!found.content.string)
			break;
		filter_value_text(ret_value, found.content.string, FILTER_TERMINATED);
		return true;
	}
	return false;
}

/* `copied`: the values do not stay. */
static void load_from(uint8_t kind, const struct context_values *values, bool copied,
		struct filter_value *ret_value)
{
	struct context_thread *thread = &context_thread;
	struct context_span span = cached(kind, values);
	char *scratch;
	uint64_t number;
	uint32_t small;

	if (kind == CONTEXT_PROCNAME || kind == CONTEXT_THREAD_NAME) {
		if (copied) {
			scratch = thread->scratch[kind == CONTEXT_THREAD_NAME];
			text_copy(scratch, span.at, span.size);
			span.at = scratch;
		}
		filter_value_text(ret_value, span.at, FILTER_TERMINATED);
		return;
	}
	if (span.size == sizeof(small)) {
		memcpy(&small, span.at, sizeof(small));
		number = small;
	} else {
		memcpy(&number, span.at, sizeof(number));
	}
	filter_value_unsigned(ret_value, number);
}

/* Apart, because the copy takes much of the stack. */
static __attribute__((noinline)) void load_anew(uint8_t kind, struct filter_value *ret_value)
{
	struct context_values buffer;
	const struct context_values *values =
			context_values_find(agent_context_value_group(kind), &buffer);

	load_from(kind, values, values == &buffer, ret_value);
}

static void load_cached(uint8_t kind, struct filter_value *ret_value)
{
	const struct context_values *values = context_values_known(agent_context_value_group(kind));

	if (values)
		load_from(kind, values, false, ret_value);
	else
		load_anew(kind, ret_value);
}

static bool load_item(
		const struct context_item *item, const void *caller, struct filter_value *ret_value)
{
	int saved_errno = errno;
	bool found = true;

	*ret_value = (struct filter_value){.kind = FILTER_NONE};
	if (agent_context_value_group(item->kind)) {
		load_cached(item->kind, ret_value);
	} else if (item->kind == CONTEXT_APP) {
		found = load_application(item->handle, ret_value);
	} else if (item->kind == CONTEXT_CPU_ID) {
		filter_value_unsigned(ret_value, processor());
	} else if (item->kind == CONTEXT_IP) {
		filter_value_unsigned(ret_value, (uintptr_t)caller);
	} else if (item->kind == CONTEXT_CGROUP) {
		filter_value_text(ret_value, context_cgroup_poll(), FILTER_TERMINATED);
	} else if (item->kind == CONTEXT_BACKTRACE) {
		found = false; /* It is a list. The recorder refuses such filters. */
	} else {
		filter_value_unsigned(ret_value, counter(item));
		found = ret_value->u != UINT64_MAX;
	}
	errno = saved_errno;
	return found;
}

bool context_set_load(const struct context_set *set, size_t index, const void *caller,
		struct filter_value *ret_value)
{
	return index < set->nr_items && load_item(&set->items[index], caller, ret_value);
}

bool context_load(
		const struct context_spec *spec, const void *caller, struct filter_value *ret_value)
{
	struct context_item item;

	/* A new hardware counter would change what all threads count: only sets have these. */
	if (!spec_is_sound(spec) || context_perf_is_hardware(spec) || context_values_start())
		return false;
	item_build(spec, &item);
	return load_item(&item, caller, ret_value);
}
