/* SPDX-License-Identifier: MIT */
/*
 * Emit a hit as an event with arguments, if record.c cannot write it as a record.
 *
 * This is necessary if another tracer has a callback, if there is a filter, or if the record has
 * too many bytes. Runs in any thread and in signal handlers, on the program's stack, with general
 * registers only: all functions called from here are compiled this way
 * (tests/probe/agent/test-registers.py). Callbacks of other tracers are not, so the other registers
 * are saved before.
 *
 * No function of libc is called. Texts and arrays of arguments are read into one of a few blocks. A
 * thread takes a block by setting its bit; most events need none.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <side/tracer-extensions.h>

#include "tracers/agent/probes/probes.h"
#include "tracers/agent/core/record.h"
#include "tracers/agent/core/recording.h"
#include "base/inside/raw.h"

#include <sys/mman.h>

#define BLOCKS 32
#define ARGS_BYTES (PROBE_TABLE_FIELDS_MAX * sizeof(struct side_arg))
#define BLOCK_SIZE (ARGS_BYTES + PROBE_TABLE_PAYLOAD_MAX + PROBE_CALLS_BYTES)
#define ARMED_SHIFT (sizeof(uintptr_t) * 8 - 8)

uint64_t probe_hit_lost;

static char *blocks;
static uint32_t blocks_taken;
static struct side_tracer_functions gp_only;

/* Callbacks in this range of the recorder use general registers only. */
void probe_hit_start(void)
{
	if (!blocks)
		blocks = raw_mmap(NULL, BLOCKS * BLOCK_SIZE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	agent_record_functions(&gp_only.begin, &gp_only.end);
	probe_fetch_start();
	probe_record_start();
}

static int probes_hit_allocate_block(void)
{
	/* Relaxed: the exchange below checks the value again. */
	uint32_t taken = __atomic_load_n(&blocks_taken, __ATOMIC_RELAXED);

	while (~taken && blocks) {
		int index = __builtin_ctz(~taken);

		/* Acquire: the last owner's accesses come before ours. Pairs with give_block(). */
		if (__atomic_compare_exchange_n(&blocks_taken, &taken, taken | 1u << index, true,
				    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return index;
	}
	return -1;
}

static void give_block(int index)
{
	/*
	 * Release: our accesses come before the next owner's. Pairs with
	 * probes_hit_allocate_block().
	 */
	__atomic_fetch_and(&blocks_taken, ~(1u << index), __ATOMIC_RELEASE);
}

/* ---- fields that have a length ---- */

static void mark_unreadable(struct probes_event_hit *event_hit)
{
	event_hit->unreadable |= UINT64_C(1) << event_hit->field;
}

/* Returns the limit of the field, or the length that its fetch has computed if that is less. */
static size_t length_of(
		const struct probes_event_hit *event_hit, const struct probe_table_field *field)
{
	return event_hit->length < field->limit ? (size_t)event_hit->length : field->limit;
}

void probe_hit_text(struct probes_event_hit *event_hit, const struct probe_table_field *field,
		uint64_t address, char *to)
{
	size_t length = length_of(event_hit, field);

	to[0] = 0;
	if (length && !probe_read_string(event_hit, to, address, length + 1))
		mark_unreadable(event_hit);
}

void *probe_hit_memory(struct probes_block *block)
{
	if (block->memory)
		return block->memory;
	block->index = probes_hit_allocate_block();
	if (block->index >= 0)
		block->memory = blocks + (size_t)block->index * BLOCK_SIZE;
	return block->memory;
}

void probe_hit_give_memory(struct probes_block *block)
{
	if (block->index >= 0)
		give_block(block->index);
}

/* The walk's window is too large for the stack, and is rarely needed. */
static uint64_t read_calls(
		struct probes_event_hit *event_hit, const struct probe_table_field *field, void *to)
{
	struct probes_block block = {.memory = event_hit->calls_memory, .index = -1};
	uint64_t count = probe_calls(to, field->limit, event_hit->hit, event_hit->layout->leaves,
			&block, event_hit->window);

	probe_hit_give_memory(&block);
	return count;
}

/* Returns the number of elements. */
uint64_t probe_hit_several(struct probes_event_hit *event_hit,
		const struct probe_table_field *field, uint64_t address, void *to)
{
	uint64_t count = length_of(event_hit, field);

	if (!count)
		return 0;
	if (field->type == PROBE_FIELD_BACKTRACE)
		count = read_calls(event_hit, field, to);
	else if (!probe_read_as_program(event_hit, to, address, count * field->size))
		count = 0;
	if (!count)
		mark_unreadable(event_hit);
	return count;
}

/* ---- arguments ---- */

static char *take_scratch(struct probes_event_hit *event_hit, size_t size)
{
	char *buffer = event_hit->scratch;

	event_hit->scratch += (size + 7) & ~(size_t)7;
	return buffer;
}

static void fill_string(struct probes_event_hit *event_hit, const struct probe_table_field *field,
		uint64_t address, struct side_arg *arg)
{
	char *text = take_scratch(event_hit, field->limit + 1u);

	/* The function's name is in the table, which stays mapped. */
	if (address == (uintptr_t)event_hit->details->function) {
		side_ptr_set(arg->u.side_static.string_value, event_hit->details->function);
		return;
	}
	probe_hit_text(event_hit, field, address, text);
	side_ptr_set(arg->u.side_static.string_value, text);
}

/* Fill a count and the elements; the description defines how to gather them. */
static void fill_gathered(struct probes_event_hit *event_hit, const struct probe_table_field *field,
		uint64_t address, struct side_arg *arg)
{
	uint64_t *buffer = (uint64_t *)(void *)take_scratch(
			event_hit, 8 + (size_t)field->size * field->limit);

	buffer[0] = probe_hit_several(event_hit, field, address, buffer + 1);
	side_ptr_set(arg->u.side_static.side_vla_gather.ptr, buffer);
	side_ptr_set(arg->u.side_static.side_vla_gather.length_ptr, buffer);
}

static void fill_struct(struct probes_event_hit *event_hit, const struct probes_field *named,
		struct side_arg *args, struct side_arg *arg)
{
	struct side_arg_vec *members =
			(struct side_arg_vec *)(void *)take_scratch(event_hit, sizeof(*members));

	side_ptr_set(members->sav, &args[named->first_member]);
	members->len = named->nr_members;
	side_ptr_set(arg->u.side_static.side_struct, members);
}

static inline void fill_value(struct probes_event_hit *event_hit, const struct probes_field *named,
		const struct probe_fetch *how, struct side_arg *args, struct side_arg *ret_arg)
{
	const struct probe_table_field *field = &named->field;
	uint64_t value = probe_fetch_value(event_hit, how);

	ret_arg->type.v = named->label;
	ret_arg->flags = 0;
	if (probe_field_is_array(field)) {
		fill_gathered(event_hit, field, value, ret_arg);
		return;
	}
	switch (field->type) {
	case PROBE_FIELD_BOOL:
		ret_arg->u.side_static.bool_value.side_bool8 = (value & 0xff) != 0;
		break;
	case PROBE_FIELD_STRING: fill_string(event_hit, field, value, ret_arg); break;
	case PROBE_FIELD_STRUCT: fill_struct(event_hit, named, args, ret_arg); break;
	default:
		/* For each size, the lower bytes are the value, also of floats. */
		ret_arg->u.side_static.integer_value.side_u64 = value;
		if (field->size > sizeof(value))
			ret_arg->u.side_static.integer_value
					.side_u128_split[SIDE_INTEGER128_SPLIT_HIGH] =
					event_hit->upper;
		break;
	}
}

/* The fetch determines whether the value can be read. */
static void probes_hit_fetch_optional(struct probes_event_hit *event_hit,
		const struct probes_field *named, const struct probe_fetch *how,
		struct side_arg *args)
{
	struct side_arg *arg = &args[named->arg];
	struct side_arg_optional *optional = (struct side_arg_optional *)(void *)take_scratch(
			event_hit, sizeof(*optional));

	fill_value(event_hit, named, how, args, &optional->side_static);
	optional->selector = event_hit->unreadable >> event_hit->field & 1 ? SIDE_OPTIONAL_DISABLED
									   : SIDE_OPTIONAL_ENABLED;
	arg->type.v = SIDE_TYPE_OPTIONAL;
	arg->flags = 0;
	side_ptr_set(arg->u.side_static.side_optional, optional);
}

static inline void probes_hit_fill_arg(struct probes_event_hit *event_hit,
		const struct probes_field *named, const struct probe_fetch *how,
		struct side_arg *args)
{
	if (named->field.guarded)
		probes_hit_fetch_optional(event_hit, named, how, args);
	else
		fill_value(event_hit, named, how, args, &args[named->arg]);
}

/* ---- events ---- */

/*
 * Another tracer has a callback, or a context is read from the program: save all state that they
 * may change. Not the protection keys or the tiles, which only the program uses.
 */
#define SAVED_BYTES 4096
#define SAVED_PARTS UINT32_C(0xe7) /* x87, SSE, AVX, AVX-512 */

struct saved_call {
	const struct probes_event *event;
	const struct side_arg_vec *arguments;
	void *caller;
	void (*plain)(void);
};

struct saved_area {
	_Alignas(64) unsigned char bytes[SAVED_BYTES];
};
_Static_assert(SAVED_BYTES + 64 <= BLOCK_SIZE, "an area is in a block");

static void call_with_area(const struct saved_call *call, struct saved_area *area)
{
	uint64_t *header = (uint64_t *)(void *)(area->bytes + 512);

	for (unsigned int i = 0; i < 8; i++)
		header[i] = 0;
	__asm__ volatile("xsave %0" : "=m"(*area) : "a"(SAVED_PARTS), "d"(0) : "memory");
	if (call->plain)
		call->plain();
	else
		side_tracer_call(call->event->state, call->arguments, call->caller, NULL);
	__asm__ volatile("xrstor %0" : : "m"(*area), "a"(SAVED_PARTS), "d"(0) : "memory");
}

static __attribute__((noinline)) void call_with_stack(const struct saved_call *call)
{
	struct saved_area area;

	call_with_area(call, &area);
}

/* The program's stack may be small: use it for the area only if no block is free. */
static __attribute__((noinline)) void call_saved(const struct saved_call *call)
{
	int index = probes_hit_allocate_block();
	uintptr_t block = (uintptr_t)blocks + (size_t)index * BLOCK_SIZE;

	if (index < 0) {
		call_with_stack(call);
		return;
	}
	call_with_area(call, (struct saved_area *)((block + 63) & ~(uintptr_t)63));
	give_block(index);
}

void probe_hit_saved(void (*call)(void))
{
	const struct saved_call saved = {.plain = call};

	call_saved(&saved);
}

static __attribute__((noinline)) void fill_args(
		struct probes_event_hit *event_hit, struct side_arg *args)
{
	const struct probes_event *event = event_hit->layout->event;
	const struct probe_fetch *fetches = probes_fetches(event_hit);

	for (uint32_t i = 0; i < event->nr_fields; i++) {
		event_hit->field = i;
		probes_hit_fill_arg(event_hit, &event->fields[i], &fetches[i], args);
	}
}

static __attribute__((noinline)) void call_others(const struct probes_event *event,
		const struct side_arg_vec *arguments, void *caller)
{
	const struct saved_call call = {event, arguments, caller, NULL};

	call_saved(&call);
}

/* Uses little of the stack while the event's callbacks run. */
static void call_event(struct probes_event_hit *event_hit, struct side_arg *args)
{
	void *caller = (void *)(uintptr_t)event_hit->hit->address;
	const struct probes_event *event = event_hit->layout->event;
	struct side_arg_vec arguments;

	fill_args(event_hit, args);
	side_ptr_set(arguments.sav, args);
	arguments.len = event->nr_top;
	if (!side_tracer_call(event->state, &arguments, caller, &gp_only))
		call_others(event, &arguments, caller);
}

static __attribute__((noinline)) void hit_large(struct probes_event_hit *event_hit)
{
	int index = probes_hit_allocate_block();
	char *block;

	if (index < 0) {
		/* Relaxed: a statistics counter. */
		__atomic_fetch_add(&probe_hit_lost, 1, __ATOMIC_RELAXED);
		if (event_hit->layout->event->unseen)
			__atomic_fetch_add(&event_hit->layout->event->unseen[PROBES_UNSEEN_MEMORY],
					1, __ATOMIC_RELAXED);
		probe_count_unseen(event_hit->layout->event);
		return;
	}
	block = blocks + (size_t)index * BLOCK_SIZE;
	event_hit->scratch = block + ARGS_BYTES;
	event_hit->calls_memory = block + ARGS_BYTES + PROBE_TABLE_PAYLOAD_MAX;
	call_event(event_hit, (struct side_arg *)(void *)block);
	give_block(index);
}

/* If only the lowest bit of the highest byte is set, the event is armed, but has no callback. */
static inline bool probes_hit_event_is_armed(const struct probes_event *event)
{
	return __atomic_load_n(event->enabled, __ATOMIC_RELAXED) & ~((uintptr_t)1 << ARMED_SHIFT);
}

static void hit_with(const struct patch_hit *hit, const struct probes_spec *spec,
		const struct probes_layout *layout, struct probes_scratch *scratch)
{
	struct probes_event_hit *event_hit = &scratch->event_hit;

	*event_hit = (struct probes_event_hit){.hit = hit,
			.layout = layout,
			.details = *probes_details_of(spec),
			.window = &scratch->window};
	if (layout->event->nr_fields <= PROBES_ARGS_FEW && !layout->event->scratch)
		call_event(event_hit, scratch->args);
	else
		hit_large(event_hit);
}

static __attribute__((noinline)) void hit_with_stack(const struct patch_hit *hit,
		const struct probes_spec *spec, const struct probes_layout *layout)
{
	struct probes_scratch scratch;

	hit_with(hit, spec, layout, &scratch);
}

void probe_hit_by_arguments(const struct patch_hit *hit, const struct probes_spec *spec,
		const struct probes_layout *layout)
{
	struct probes_scratch *scratch = patch_hit_scratch();

	if (!probes_hit_event_is_armed(layout->event))
		return;
	if (scratch)
		hit_with(hit, spec, layout, scratch);
	else
		hit_with_stack(hit, spec, layout);
}
