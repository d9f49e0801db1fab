/* SPDX-License-Identifier: MIT */
/*
 * A hit: fields are fetched from registers and memory, become arguments, and the event is called. In any thread and in signal
 * handlers, on the program's stack, with general registers only: all that is called from here is compiled so
 * (tests/agent/test-registers.py), and where others listen, which are not, the rest is saved before.
 *
 * Nothing of libc is called. What strings and arrays are read into is one of a few blocks, taken by setting its bit, as in
 * record.c; most events need none.
 */
#include <string.h>

#include <side/tracer-extensions.h>

#include "agent/probes.h"
#include "wire/raw.h"

#include <sys/mman.h>

#define CELLS_FEW 10 /* fields whose arguments stand on the stack */
#define BLOCKS 32
#define CELLS_BYTES (PROBE_TABLE_FIELDS_MAX * sizeof(struct side_arg))
#define BLOCK_SIZE (CELLS_BYTES + PROBE_TABLE_PAYLOAD_MAX + PROBE_CALLS_BYTES)
#define ARMED_SHIFT (sizeof(uintptr_t) * 8 - 8)

uint64_t probe_hit_lost;

static char *blocks;
static uint32_t blocks_taken;
static struct side_tracer_functions quiet;

/* One hit of one event. */
struct moment {
	const struct patch_hit *hit;
	const struct probes_hook *hook;
	uint64_t unreadable; /* fields, as bits */
	char *scratch;
	void *calls_memory;
	uint32_t field;
	bool leaves;
};

/* What the recorder registers with libside needs no more: the first and the last of it. */
void probe_hit_start(void)
{
	if (!blocks)
		blocks = raw_mmap(NULL, BLOCKS * BLOCK_SIZE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	agent_record_functions(&quiet.begin, &quiet.end);
}

static int take_block(void)
{
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
	/* Release: our accesses come before the next owner's. Pairs with take_block(). */
	__atomic_fetch_and(&blocks_taken, ~(1u << index), __ATOMIC_RELEASE);
}

/* ---- registers ---- */

/* As DWARF counts them. */
static uint64_t register_value(const struct moment *moment, unsigned int reg)
{
	const struct patch_hit *hit = moment->hit;
	const struct patch_registers *registers = hit->registers;

	switch (reg) {
	case 0: return registers->rax;
	case 1: return registers->rdx;
	case 2: return registers->rcx;
	case 3: return registers->rbx;
	case 4: return registers->rsi;
	case 5: return registers->rdi;
	case 6: return registers->rbp;
	case 7: return (uintptr_t)hit->stack;
	case 8: return registers->r8;
	case 9: return registers->r9;
	case 10: return registers->r10;
	case 11: return registers->r11;
	case 12: return registers->r12;
	case 13: return registers->r13;
	case 14: return registers->r14;
	case 15: return registers->r15;
	case 16: return moment->leaves ? patch_return_address(hit->returns_to) : hit->site->runtime;
	default:
		/* lahf in the second byte, seto in the first: bit 11. */
		return (registers->flags >> 8 & 0xff) | (registers->flags & 1) << 11;
	}
}

/*
 * Nobody has changed it since the hit: that is what general registers only means. Stored by an instruction that the
 * compiler need not know of.
 */
static __attribute__((noinline)) uint64_t vector_value(unsigned int number, bool upper)
{
	_Alignas(16) uint64_t value[2] = {0, 0};

#define STORE(n) \
	case n: __asm__ volatile("movups %%xmm" #n ", %0" : "=m"(value)); break
	switch (number) {
		STORE(0);
		STORE(1);
		STORE(2);
		STORE(3);
		STORE(4);
		STORE(5);
		STORE(6);
		STORE(7);
		STORE(8);
		STORE(9);
		STORE(10);
		STORE(11);
		STORE(12);
		STORE(13);
		STORE(14);
		STORE(15);
	}
#undef STORE
	return value[upper];
}

/* ---- fetching ---- */

/* Nanoseconds for ticks of the processor's time stamp, times 2^32; 0: not known. */
static uint64_t ns_of_ticks;

void probe_hit_frequency(uint64_t ticks_per_second)
{
	/* Relaxed: a number only. */
	__atomic_store_n(&ns_of_ticks,
			ticks_per_second ? (UINT64_C(1000000000) << 32) / ticks_per_second : 0,
			__ATOMIC_RELAXED);
}

static uint64_t duration(const struct patch_hit *hit)
{
	return (uint64_t)((unsigned __int128)hit->ticks *
					__atomic_load_n(&ns_of_ticks, __ATOMIC_RELAXED) >>
			32);
}

static uint64_t extend(uint64_t value, unsigned int bits, bool is_signed)
{
	unsigned int rest = 64 - bits;

	return is_signed ? (uint64_t)((int64_t)(value << rest) >> rest) : value << rest >> rest;
}

static uint64_t load(struct moment *moment, uint64_t from, unsigned int size)
{
	uint64_t value = 0;

	if (!probe_read(&value, from, size, moment->hit->stack)) {
		moment->unreadable |= UINT64_C(1) << moment->field;
		return 0;
	}
	return value;
}

/* What stands at the stack pointer is ours where the return is seen. */
static uint64_t return_address(struct moment *moment)
{
	const struct patch_hit *hit = moment->hit;

	return patch_return_address(
			hit->call ? hit->returns_to : load(moment, (uintptr_t)hit->stack, 8));
}

static uint64_t begin_value(struct moment *moment, const struct probe_fetch_op *op)
{
	const struct patch_hit *hit = moment->hit;

	switch (op->code) {
	case PROBE_FETCH_CONSTANT: return (uint64_t)op->value;
	case PROBE_FETCH_VECTOR: return vector_value(op->reg, op->value == 8);
	case PROBE_FETCH_MODULE: return (uint64_t)op->value + moment->hook->bias;
	case PROBE_FETCH_SITE: return hit->site->runtime;
	case PROBE_FETCH_FUNCTION: return (uintptr_t)moment->hook->function;
	case PROBE_FETCH_CALL: return hit->call;
	case PROBE_FETCH_DURATION: return moment->leaves ? duration(hit) : 0;
	case PROBE_FETCH_RETURN: return return_address(moment);
	case PROBE_FETCH_UNREADABLE: return moment->unreadable;
	default: return 0;
	}
}

static uint64_t fetch(struct moment *moment, const struct probe_fetch *fetch)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < fetch->nr_ops; i++) {
		const struct probe_fetch_op *op = &fetch->ops[i];

		switch (op->code) {
		case PROBE_FETCH_REGISTER: value = register_value(moment, op->reg); break;
		case PROBE_FETCH_ADD: value += (uint64_t)op->value; break;
		case PROBE_FETCH_ADD_REGISTER:
			value += register_value(moment, op->reg) << op->size;
			break;
		case PROBE_FETCH_LOAD: value = load(moment, value, op->size); break;
		case PROBE_FETCH_SHIFT_RIGHT: value >>= op->size; break;
		case PROBE_FETCH_ZERO_EXTEND: value = extend(value, op->size, false); break;
		case PROBE_FETCH_SIGN_EXTEND: value = extend(value, op->size, true); break;
		default: value = begin_value(moment, op); break;
		}
		/* What cannot be read leads nowhere. */
		if (moment->unreadable >> moment->field & 1)
			return 0;
	}
	return value;
}

/* ---- arguments ---- */

static char *take_scratch(struct moment *moment, size_t size)
{
	char *room = moment->scratch;

	moment->scratch += (size + 7) & ~(size_t)7;
	return room;
}

static void mark_unreadable(struct moment *moment)
{
	moment->unreadable |= UINT64_C(1) << moment->field;
}

static void fill_string(struct moment *moment, const struct probe_table_field *field,
		uint64_t address, struct side_arg *cell)
{
	char *text = take_scratch(moment, field->limit + 1u);

	text[0] = 0;
	if (address == (uintptr_t)moment->hook->function) {
		/* Ours: in the table, which is there. */
		side_ptr_set(cell->u.side_static.string_value, moment->hook->function);
		return;
	}
	if (!probe_read_string(text, address, field->limit + 1u))
		mark_unreadable(moment);
	side_ptr_set(cell->u.side_static.string_value, text);
}

/* A count and what it counts, which the description says how to gather. */
static void fill_gathered(struct moment *moment, const struct probe_table_field *field,
		uint64_t address, struct side_arg *cell)
{
	uint64_t *room = (uint64_t *)(void *)take_scratch(
			moment, 8 + (size_t)field->size * field->limit);

	if (field->type == PROBE_FIELD_BACKTRACE)
		room[0] = probe_calls(room + 1, field->limit, moment->hit, moment->leaves,
				moment->calls_memory);
	else
		room[0] = probe_read(room + 1, address, field->limit, moment->hit->stack)
				? field->limit
				: 0;
	if (!room[0])
		mark_unreadable(moment);
	side_ptr_set(cell->u.side_static.side_vla_gather.ptr, room);
	side_ptr_set(cell->u.side_static.side_vla_gather.length_ptr, room);
}

static inline void fill_cell(struct moment *moment, const struct probes_field *named,
		const struct probe_fetch *how, struct side_arg *cell)
{
	const struct probe_table_field *field = &named->field;
	uint64_t value = how->nr_ops == 1 && how->ops->code == PROBE_FETCH_REGISTER
			? register_value(moment, how->ops->reg)
			: fetch(moment, how);

	cell->type.v = named->label;
	cell->flags = 0;
	switch (field->type) {
	case PROBE_FIELD_BOOL:
		cell->u.side_static.bool_value.side_bool8 = (value & 0xff) != 0;
		break;
	case PROBE_FIELD_STRING: fill_string(moment, field, value, cell); break;
	case PROBE_FIELD_BYTES:
	case PROBE_FIELD_BACKTRACE: fill_gathered(moment, field, value, cell); break;
	default:
		/* The lower bytes are the value of each size, of floats too. */
		cell->u.side_static.integer_value.side_u64 = value;
		break;
	}
}

/* ---- events ---- */

/*
 * Others than the recorder listen, or contexts are asked of the program: all that they may change is saved. Not the
 * protection keys, nor the tiles, which nobody but the program uses.
 */
#define SAVED_BYTES 4096
#define SAVED_PARTS UINT32_C(0xe7) /* x87, SSE, AVX, AVX-512 */

struct saved_call {
	const struct probes_event *event;
	const struct side_arg_vec *arguments;
	void *caller;
	void (*plain)(void);
};

static __attribute__((noinline)) void call_saved(const struct saved_call *call)
{
	_Alignas(64) unsigned char area[SAVED_BYTES];
	uint64_t *header = (uint64_t *)(void *)(area + 512);

	for (unsigned int i = 0; i < 8; i++)
		header[i] = 0;
	__asm__ volatile("xsave %0" : "=m"(area) : "a"(SAVED_PARTS), "d"(0) : "memory");
	if (call->plain)
		call->plain();
	else
		side_tracer_call(call->event->state, call->arguments, call->caller, NULL);
	__asm__ volatile("xrstor %0" : : "m"(area), "a"(SAVED_PARTS), "d"(0) : "memory");
}

void probe_hit_saved(void (*call)(void))
{
	const struct saved_call saved = {.plain = call};

	call_saved(&saved);
}

static __attribute__((always_inline)) inline void call_event(struct moment *moment,
		const struct probes_event *event, const struct probe_fetch *fetches,
		struct side_arg *cells)
{
	void *caller = (void *)(uintptr_t)moment->hit->site->runtime;
	struct side_arg_vec arguments;

	for (uint32_t i = 0; i < event->nr_fields; i++) {
		moment->field = i;
		fill_cell(moment, &event->fields[i], &fetches[i], &cells[i]);
	}
	side_ptr_set(arguments.sav, cells);
	arguments.len = event->nr_fields;
	if (!side_tracer_call(event->state, &arguments, caller, &quiet)) {
		const struct saved_call call = {event, &arguments, caller, NULL};

		call_saved(&call);
	}
}

static __attribute__((noinline)) void hit_large(struct moment *moment,
		const struct probes_event *event, const struct probe_fetch *fetches)
{
	int index = take_block();
	char *block;

	if (index < 0) {
		/* Relaxed: a figure. */
		__atomic_fetch_add(&probe_hit_lost, 1, __ATOMIC_RELAXED);
		return;
	}
	block = blocks + (size_t)index * BLOCK_SIZE;
	moment->scratch = block + CELLS_BYTES;
	moment->calls_memory = block + CELLS_BYTES + PROBE_TABLE_PAYLOAD_MAX;
	call_event(moment, event, fetches, (struct side_arg *)(void *)block);
	give_block(index);
}

static __attribute__((noinline)) void hit_few(struct moment *moment,
		const struct probes_event *event, const struct probe_fetch *fetches)
{
	struct side_arg cells[CELLS_FEW];

	call_event(moment, event, fetches, cells);
}

/* The program is only armed where nothing but the lowest bit of the highest byte is set. */
static inline bool is_wanted(const struct probes_event *event)
{
	return event &&
			__atomic_load_n(event->enabled, __ATOMIC_RELAXED) &
			~((uintptr_t)1 << ARMED_SHIFT);
}

static inline void hit_event(const struct patch_hit *hit, const struct probes_hook *hook,
		const struct probes_event *event, const struct probe_fetch *fetches, bool leaves)
{
	struct moment moment;

	moment.hit = hit;
	moment.hook = hook;
	moment.unreadable = 0;
	moment.scratch = NULL;
	moment.calls_memory = NULL;
	moment.leaves = leaves;
	if (__builtin_expect(event->nr_fields <= CELLS_FEW && !event->scratch, 1))
		hit_few(&moment, event, fetches);
	else
		hit_large(&moment, event, fetches);
}

/* Acquire: what is in the hooks. Pairs with the release in probes-places.c. */
#define each_hook(place, hook)                                                    \
	for ((hook) = __atomic_load_n(&(place)->hooks, __ATOMIC_ACQUIRE); (hook); \
			(hook) = __atomic_load_n(&(hook)->next, __ATOMIC_ACQUIRE))

void probe_hit_entry(const struct patch_hit *hit)
{
	const struct probes_place *place = hit->user;
	const struct probes_hook *hook;

	each_hook(place, hook) if (is_wanted(hook->entry))
			hit_event(hit, hook, hook->entry, hook->entry_fetches, false);
}

void probe_hit_exit(const struct patch_hit *hit)
{
	const struct probes_place *place = hit->user;
	const struct probes_hook *hook;

	each_hook(place, hook) if (is_wanted(hook->exit))
			hit_event(hit, hook, hook->exit, hook->exit_fetches, true);
}
