/* SPDX-License-Identifier: MIT */
/*
 * BPF programs in an interpreter of this test: which hits they record, and each byte of a record.
 * The test simulates the kernel's helpers, with resident memory, memory that a sleeping read makes
 * resident, and missing memory.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

#include "../../check.h"
#include "probe/uprobe/global.h"
#include "probe/uprobe/parts.h"

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

/* ---- the machine ---- */

#define RING 71
#define LOST 72
#define USER UINT64_C(0x700000000000)
#define PAGE 4096u
#define PID UINT64_C(0xfffffff1)
#define TID UINT64_C(0x1234)
#define UID UINT64_C(0xfffffff2)
#define GID UINT64_C(0x5678)
#define CGROUP UINT64_C(0x123456789ab)

enum state { PRESENT, ABSENT, MISSING };

static struct {
	uint64_t registers[11];
	unsigned char stack[512], gap[64], record[4096];
	bool is_stored[4096];        /* bytes of the record that an instruction has written */
	unsigned int nr_texts;       /* reads of strings */
	struct user_regs_struct hit; /* the registers of the program that was hit */
	size_t reserved;
	bool is_full, has_no_counter, is_submitted, is_sleepable;
	uint64_t lost;
	unsigned char memory[4 * PAGE];
	enum state states[4]; /* of pages */
	char comm[16];
} machine;

static void *at(uint64_t address, size_t size, bool writes)
{
	const struct {
		void *begin;
		size_t size;
		bool is_written;
	} areas[] = {{machine.stack, sizeof(machine.stack), true},
			{machine.record, machine.reserved, true},
			{&machine.lost, sizeof(machine.lost), true},
			{&machine.hit, sizeof(machine.hit), false}};

	for (size_t i = 0; i < LENGTH(areas); i++) {
		uint64_t begin = (uint64_t)(uintptr_t)areas[i].begin;

		if (address >= begin && address - begin <= areas[i].size &&
				size <= areas[i].size - (address - begin) &&
				(areas[i].is_written || !writes))
			return (char *)areas[i].begin + (address - begin);
	}
	fprintf(stderr, "access to %zu bytes at %#llx\n", size, (unsigned long long)address);
	abort();
}

/*
 * Returns whether the bytes can be read. If the call may sleep, it makes an absent page resident.
 */
static bool is_there(uint64_t address, size_t size, bool sleeps)
{
	for (uint64_t i = 0; i < size; i++) {
		uint64_t page = (address + i - USER) / PAGE;

		if (address + i < USER || page >= 4 || machine.states[page] == MISSING)
			return false;
		if (machine.states[page] == ABSENT && !sleeps)
			return false;
		machine.states[page] = PRESENT;
	}
	return true;
}

static uint64_t read_memory(uint64_t to, uint64_t size, uint64_t from, bool sleeps)
{
	void *location = at(to, size, true);

	memset(location, 0, size);
	if (!is_there(from, size, sleeps))
		return (uint64_t)-EFAULT;
	memcpy(location, machine.memory + (from - USER), size);
	return 0;
}

static uint64_t read_text(uint64_t to, uint64_t size, uint64_t from)
{
	char *location = at(to, size, true);

	machine.nr_texts++;

	for (uint64_t i = 0; i < size; i++) {
		if (!is_there(from + i, 1, false)) {
			memset(location, 0, size);
			return (uint64_t)-EFAULT;
		}
		location[i] = (char)machine.memory[from + i - USER];
		if (!location[i])
			return i + 1;
	}
	location[size - 1] = '\0';
	return size;
}

static uint64_t reserve(uint64_t map, uint64_t size, uint64_t flags)
{
	CHECK(map == RING && !flags && !machine.reserved && size <= sizeof(machine.record));
	if (machine.is_full)
		return 0;
	memset(machine.record, 0xee, sizeof(machine.record));
	machine.reserved = size;
	return (uint64_t)(uintptr_t)machine.record;
}

static uint64_t find_element(uint64_t map, uint64_t key)
{
	CHECK(map == LOST && *(uint32_t *)at(key, 4, false) == 0);
	return machine.has_no_counter ? 0 : (uint64_t)(uintptr_t)&machine.lost;
}

static uint64_t call(int helper)
{
	const uint64_t *r = machine.registers;

	switch (helper) {
	case 1: return find_element(r[1], r[2]);
	case 5: return 0x1111222233334444;
	case 8: return 0x77;
	case 14: return PID << 32 | TID;
	case 15: return GID << 32 | UID;
	case 16:
		CHECK(r[2] == 16);
		memcpy(at(r[1], 16, true), machine.comm, 16);
		return 0;
	case 80: return CGROUP;
	case 112: return read_memory(r[1], r[2], r[3], false);
	case 114: return read_text(r[1], r[2], r[3]);
	case 131: return reserve(r[1], r[2], r[3]);
	case 132:
		CHECK(r[1] == (uint64_t)(uintptr_t)machine.record && !r[2] &&
				!machine.is_submitted);
		machine.is_submitted = true;
		return 0;
	case 148: CHECK(machine.is_sleepable); return read_memory(r[1], r[2], r[3], true);
	case 174: CHECK(r[1] == (uint64_t)(uintptr_t)&machine.hit); return 0x5051;
	default: abort();
	}
}

static uint64_t calculated(uint8_t operation, uint64_t left, uint64_t right)
{
	switch (operation) {
	case BPF_ADD: return left + right;
	case BPF_SUB: return left - right;
	case BPF_MUL: return left * right;
	case BPF_DIV: return right ? left / right : 0;
	case BPF_MOD: return right ? left % right : left;
	case BPF_AND: return left & right;
	case BPF_OR: return left | right;
	case BPF_XOR: return left ^ right;
	case BPF_LSH: CHECK(right < 64); return left << right;
	case BPF_RSH: CHECK(right < 64); return left >> right;
	case BPF_ARSH: CHECK(right < 64); return (uint64_t)((int64_t)left >> right);
	case BPF_MOV: return right;
	default: abort();
	}
}

static bool jumps(uint8_t condition, uint64_t left, uint64_t right)
{
	switch (condition) {
	case BPF_JA: return true;
	case BPF_JEQ: return left == right;
	case BPF_JNE: return left != right;
	case BPF_JLE: return left <= right;
	case BPF_JSLT: return (int64_t)left < (int64_t)right;
	case BPF_JSLE: return (int64_t)left <= (int64_t)right;
	case BPF_JSGT: return (int64_t)left > (int64_t)right;
	default: abort();
	}
}

/* The kernel refuses instructions with a value in a part that they do not use. */
static void check_unused(const struct bpf_insn *code)
{
	uint8_t operation = code->code & 0xf0;
	bool is_register = (code->code & BPF_X) != 0;

	switch (BPF_CLASS(code->code)) {
	case BPF_ALU64: CHECK(!code->off && (is_register ? !code->imm : !code->src_reg)); break;
	case BPF_LD:
		CHECK(!code->off && !code[1].dst_reg && !code[1].src_reg && !code[1].off);
		break;
	case BPF_ST: CHECK(!code->src_reg); break;
	case BPF_LDX: CHECK(!code->imm); break;
	case BPF_STX: CHECK(!code->imm || BPF_MODE(code->code) == BPF_ATOMIC); break;
	default:
		CHECK(BPF_CLASS(code->code) == BPF_JMP &&
				(is_register ? !code->imm : !code->src_reg));
		CHECK((operation != BPF_CALL && operation != BPF_EXIT) ||
				(!code->dst_reg && !code->off));
		CHECK((operation != BPF_JA && operation != BPF_EXIT) ||
				(!code->dst_reg && !code->imm));
		break;
	}
}

/* Checks that no byte of a record is written twice. */
static void note_store(uint64_t address, size_t size)
{
	uint64_t begin = (uint64_t)(uintptr_t)machine.record;

	for (uint64_t i = address - begin;
			address >= begin && i < machine.reserved && i < address - begin + size;
			i++) {
		CHECK(!machine.is_stored[i]);
		machine.is_stored[i] = true;
	}
}

static void access_memory(const struct bpf_insn *code, uint64_t *r)
{
	static const size_t sizes[] = {
			[BPF_B >> 3] = 1, [BPF_H >> 3] = 2, [BPF_W >> 3] = 4, [BPF_DW >> 3] = 8};
	size_t size = sizes[BPF_SIZE(code->code) >> 3];
	uint64_t value = BPF_CLASS(code->code) == BPF_ST ? (uint64_t)(int64_t)code->imm
							 : r[code->src_reg];

	if (BPF_CLASS(code->code) == BPF_LDX) {
		CHECK(BPF_MODE(code->code) == BPF_MEM);
		value = 0;
		memcpy(&value, at(r[code->src_reg] + (uint64_t)(int64_t)code->off, size, false),
				size);
		r[code->dst_reg] = value;
		return;
	}
	if (BPF_MODE(code->code) == BPF_ATOMIC) {
		CHECK(size == 8 && code->imm == BPF_ADD && BPF_CLASS(code->code) == BPF_STX);
		*(uint64_t *)at(r[code->dst_reg] + (uint64_t)(int64_t)code->off, 8, true) += value;
		return;
	}
	CHECK(BPF_MODE(code->code) == BPF_MEM);
	note_store(r[code->dst_reg] + (uint64_t)(int64_t)code->off, size);
	memcpy(at(r[code->dst_reg] + (uint64_t)(int64_t)code->off, size, true), &value, size);
}

static void run(const struct bpf_assembly *a)
{
	uint64_t *r = machine.registers;
	const struct bpf_insn *code = a->code;

	memset(r, 0xdd, sizeof(machine.registers));
	memset(machine.stack, 0xdd, sizeof(machine.stack));
	r[1] = (uint64_t)(uintptr_t)&machine.hit;
	r[10] = (uint64_t)(uintptr_t)(machine.stack + sizeof(machine.stack));
	memset(machine.is_stored, 0, sizeof(machine.is_stored));
	machine.reserved = machine.nr_texts = 0;
	machine.is_submitted = false;
	for (;; code++) {
		bool is_register = (code->code & BPF_X) != 0;
		uint64_t right = is_register ? r[code->src_reg] : (uint64_t)(int64_t)code->imm;
		uint8_t operation = code->code & 0xf0;

		CHECK(code >= a->code && code < a->code + a->nr && code->dst_reg <= 10);
		check_unused(code);
		switch (BPF_CLASS(code->code)) {
		case BPF_ALU64:
			CHECK(code->dst_reg != 10);
			r[code->dst_reg] = calculated(operation, r[code->dst_reg], right);
			break;
		case BPF_LD:
			CHECK(code->code == (BPF_LD | BPF_DW | BPF_IMM) && !code[1].code);
			CHECK(!code->src_reg || code->src_reg == BPF_PSEUDO_MAP_FD);
			r[code->dst_reg] =
					(uint32_t)code->imm | (uint64_t)(uint32_t)code[1].imm << 32;
			code++;
			break;
		case BPF_LDX:
		case BPF_ST:
		case BPF_STX: access_memory(code, r); break;
		case BPF_JMP:
			if (operation == BPF_EXIT) {
				CHECK(!r[0] && (!machine.reserved || machine.is_submitted));
				return;
			}
			if (operation == BPF_CALL) {
				r[0] = call(code->imm);
				memset(r + 1, 0xdd, 5 * sizeof(*r));
			} else if (jumps(operation, r[code->dst_reg], right)) {
				CHECK(code->off >= 0);
				code += code->off;
			}
			break;
		default: abort();
		}
	}
}

/* ---- sides ---- */

static struct bpf_assembly assembly;
static struct global_filter filter;
static struct error error;
static struct global_field fields[64];
static struct global_side side;

static void begin(void)
{
	memset(&filter, 0, sizeof(filter));
	memset(fields, 0, sizeof(fields));
	memset(&side, 0, sizeof(side));
	memset(&machine, 0, sizeof(machine));
	memset(&error, 0, sizeof(error));
	side.fields = fields;
	side.address = 0x1234;
	for (size_t i = 0; i < sizeof(machine.hit); i++)
		((unsigned char *)&machine.hit)[i] = (unsigned char)(i + 1);
	for (size_t i = 0; i < sizeof(machine.memory); i++)
		machine.memory[i] = (unsigned char)(i % 251 + 1);
	machine.hit.rsp = USER + 32;
	memcpy(machine.comm, "thread\0name!\0\0\0", 16);
	machine.states[1] = ABSENT;
	machine.states[3] = MISSING;
}

static int make(void)
{
	return program_make(&assembly, &side, &filter, RING, LOST, machine.is_sleepable, &error);
}

static void make_and_run(void)
{
	CHECK(!make() && !assembly.overflow);
	run(&assembly);
}

static void add_field(uint8_t type, uint8_t size, uint16_t limit, uint32_t capacity,
		const struct probe_fetch_op *ops, uint32_t nr)
{
	struct global_field *field = &fields[side.nr_fields++];

	*field = (struct global_field){
			.field = {.name = "some", .type = type, .size = size, .limit = limit},
			.source = GLOBAL_FETCHED,
			.at = side.size,
			.capacity = capacity,
			.fetch = {.ops = ops, .nr_ops = nr}};
	side.size += 8 + capacity;
}

static const struct hit_record *record(void)
{
	CHECK(machine.is_submitted && machine.reserved == sizeof(struct hit_record) + side.size);
	return (const struct hit_record *)(const void *)machine.record;
}

static uint64_t value_of(uint32_t index)
{
	uint64_t value;

	memcpy(&value, (const char *)(record() + 1) + fields[index].at, 8);
	return value;
}

static const unsigned char *bytes_of(uint32_t index)
{
	return (const unsigned char *)(record() + 1) + fields[index].at + 8;
}

/* ---- heads, filters ---- */

static void heads(void)
{
	static const struct probe_fetch_op seven = {.code = PROBE_FETCH_CONSTANT, .value = 7};
	uint32_t before;

	begin();
	make_and_run();
	CHECK(record()->time == 0x1111222233334444 && record()->side == 0x5051 &&
			record()->cpu == 0x77);
	CHECK(record()->pid_tgid == (PID << 32 | TID) && record()->uid == UID &&
			!record()->reserved);
	CHECK(!memcmp(record()->comm, machine.comm, 16) && record()->ip == machine.hit.rip);
	CHECK(record()->sp == machine.hit.rsp && !record()->unreadable && !machine.lost);
	/* A constant takes 3 instructions. */
	before = assembly.nr;
	add_field(PROBE_FIELD_UNSIGNED, 8, 0, 0, &seven, 1);
	make_and_run();
	CHECK(assembly.nr == before + 3 && value_of(0) == 7);
	side.nr_fields = side.size = 0;
	/* A program is made in place of the last one. */
	assembly.nr = ASSEMBLY_MAX;
	assembly.overflow = true;
	make_and_run();
	CHECK(record()->time == 0x1111222233334444);
	/* No space: a loss is counted, or nothing happens. */
	machine.is_full = true;
	make_and_run();
	CHECK(!machine.is_submitted && machine.lost == 1);
	run(&assembly);
	CHECK(machine.lost == 2);
	machine.has_no_counter = true;
	run(&assembly);
	CHECK(machine.lost == 2 && !machine.is_submitted);
}

static bool passes(void)
{
	CHECK(!make());
	run(&assembly);
	CHECK(machine.is_submitted == (machine.reserved != 0) && !machine.lost);
	return machine.is_submitted;
}

static void filters(void)
{
	begin();
	for (uint32_t nr = 1; nr <= GLOBAL_FILTER_MAX; nr += nr < 3 ? 1 : 61) {
		for (uint32_t i = 0; i < nr; i++) {
			for (uint32_t k = 0; k < nr; k++) {
				filter.pids[k] = (uint32_t)(k == i ? PID : PID + k + 1);
				filter.uids[k] = (uint32_t)(k == i ? UID : UID + k + 1);
				filter.cgroups[k] = k == i ? CGROUP
							   : CGROUP + ((k + UINT64_C(1)) << 32);
				memcpy(filter.comms[k], machine.comm, 16);
				filter.comms[k][k % 2 ? 3 : 11] ^= (char)(k != i);
			}
			filter.nr_pids = filter.nr_uids = filter.nr_cgroups = filter.nr_comms = nr;
			CHECK(passes());
			/* One element of each list must match. */
			filter.pids[i] ^= 0x80000000;
			CHECK(!passes());
			filter.nr_pids = 0;
			CHECK(passes());
			filter.uids[i]--;
			CHECK(!passes());
			filter.nr_uids = 0;
			CHECK(passes());
			filter.cgroups[i] -= UINT64_C(1) << 32;
			CHECK(!passes());
			filter.nr_cgroups = 0;
			CHECK(passes());
			filter.comms[i][0]++;
			CHECK(!passes());
			filter.comms[i][0]--;
			filter.comms[i][15]++;
			CHECK(!passes());
			filter.nr_comms = 0;
			CHECK(passes());
		}
	}
	/* Elements after the last one do not count. */
	for (unsigned int i = 0; i < 2; i++) {
		filter.pids[i] = (uint32_t)(PID + 1 - i);
		filter.uids[i] = (uint32_t)(UID + 1 - i);
		filter.cgroups[i] = CGROUP + 1 - i;
		memcpy(filter.comms[i], machine.comm, 16);
		filter.comms[i][0] ^= (char)!i;
	}
	for (uint32_t nr = 1; nr <= 2; nr++) {
		uint32_t *const numbers_of[] = {&filter.nr_pids, &filter.nr_uids,
				&filter.nr_cgroups, &filter.nr_comms};

		for (size_t i = 0; i < LENGTH(numbers_of); i++) {
			*numbers_of[i] = nr;
			CHECK(passes() == (nr == 2));
			*numbers_of[i] = 0;
		}
	}
	/* A thread id does not match as a process, nor a group id as a user. */
	filter.nr_pids = 1;
	filter.pids[0] = TID;
	CHECK(!passes());
	filter.nr_pids = 0;
	filter.nr_uids = 1;
	filter.uids[0] = GID;
	CHECK(!passes());
}

/* ---- numbers ---- */

#define OPS(...)              \
	.ops = {__VA_ARGS__}, \
	.nr = sizeof((struct probe_fetch_op[]){__VA_ARGS__}) / sizeof(struct probe_fetch_op)
#define CONSTANT(number)                                                 \
	{                                                                \
		.code = PROBE_FETCH_CONSTANT, .value = (int64_t)(number) \
	}
#define OF_SIZE(kind, bits)                                \
	{                                                  \
		.code = PROBE_FETCH_##kind, .size = (bits) \
	}
#define SUM(left, kind, right) \
	OPS(CONSTANT(left), OF_SIZE(PUSH, 0), CONSTANT(right), OF_SIZE(CALCULATE, PROBE_SUM_##kind))

static const struct {
	struct probe_fetch_op ops[8];
	uint32_t nr;
	uint64_t wanted;
	bool is_unreadable, exit;
} numbers[] = {
		{OPS(CONSTANT(-5)), .wanted = (uint64_t)-5},
		{OPS(CONSTANT(0x123456789ab)), .wanted = 0x123456789ab},
		{.nr = 0, .wanted = 0},
		{OPS(CONSTANT(7), {.code = PROBE_FETCH_ADD, .value = -9}), .wanted = (uint64_t)-2},
		{OPS(CONSTANT(7), {.code = PROBE_FETCH_ADD, .value = INT64_C(1) << 40}),
				.wanted = (UINT64_C(1) << 40) + 7},
		{OPS(CONSTANT(USER + 3), OF_SIZE(LOAD, 1)), .wanted = 0x04},
		{OPS(CONSTANT(USER + 3), OF_SIZE(LOAD, 2)), .wanted = 0x0504},
		{OPS(CONSTANT(USER + 3), OF_SIZE(LOAD, 4)), .wanted = 0x07060504},
		{OPS(CONSTANT(USER + 3), OF_SIZE(LOAD, 8)), .wanted = 0x0b0a090807060504},
		{OPS(CONSTANT(USER - 1), OF_SIZE(LOAD, 1)), .is_unreadable = true},
		{OPS(CONSTANT(USER + 3 * PAGE - 1), OF_SIZE(LOAD, 1)), .wanted = 0xf0},
		{OPS(CONSTANT(USER + 3 * PAGE - 1), OF_SIZE(LOAD, 2)), .is_unreadable = true},
		{OPS(CONSTANT(0), OF_SIZE(LOAD, 8), CONSTANT(3)), .is_unreadable = true},
		{OPS(CONSTANT(0x8877665544332211), OF_SIZE(SHIFT_RIGHT, 0)),
				.wanted = 0x8877665544332211},
		{OPS(CONSTANT(0x8877665544332211), OF_SIZE(SHIFT_RIGHT, 8)),
				.wanted = 0x0088776655443322},
		{OPS(CONSTANT(0x8877665544332211), OF_SIZE(SHIFT_RIGHT, 63)), .wanted = 1},
		{OPS(CONSTANT(0x8877665544332291), OF_SIZE(ZERO_EXTEND, 8)), .wanted = 0x91},
		{OPS(CONSTANT(0x8877665544332291), OF_SIZE(ZERO_EXTEND, 64)),
				.wanted = 0x8877665544332291},
		{OPS(CONSTANT(0x8877665544332291), OF_SIZE(SIGN_EXTEND, 8)),
				.wanted = 0xffffffffffffff91},
		{OPS(CONSTANT(0x8877665544332291), OF_SIZE(SIGN_EXTEND, 7)), .wanted = 0x11},
		{OPS(CONSTANT(0x8877665544332291), OF_SIZE(SIGN_EXTEND, 64)),
				.wanted = 0x8877665544332291},
		{SUM(77, PLUS, 5), .wanted = 82},
		{SUM(77, MINUS, 5), .wanted = 72},
		{SUM(5, MINUS, 77), .wanted = (uint64_t)-72},
		{SUM(77, TIMES, 5), .wanted = 385},
		{SUM(77, DIVIDE, 5), .wanted = 15},
		{SUM(0, DIVIDE, 5), .wanted = 0},
		{SUM(77, MODULO, 5), .wanted = 2},
		{SUM(77, AND, 21), .wanted = 5},
		{SUM(77, OR, 18), .wanted = 95},
		{SUM(77, XOR, 21), .wanted = 88},
		{SUM(-1, DIVIDE, 5), .is_unreadable = true},
		{SUM(77, DIVIDE, -1), .is_unreadable = true},
		{SUM(-1, MODULO, 5), .is_unreadable = true},
		{SUM(77, MODULO, -1), .is_unreadable = true},
		{SUM(-1, TIMES, 5), .wanted = (uint64_t)-5},
		/* (2 - (3 - (5 - 11))) */
		{OPS(CONSTANT(2), OF_SIZE(PUSH, 0), CONSTANT(3), OF_SIZE(PUSH, 0), CONSTANT(-6),
				 OF_SIZE(CALCULATE, PROBE_SUM_MINUS),
				 OF_SIZE(CALCULATE, PROBE_SUM_MINUS)),
				.wanted = (uint64_t)-7},
		{OPS({.code = PROBE_FETCH_RETURN}), .wanted = 0x2827262524232221},
};

static void check_number(
		const struct probe_fetch_op *ops, uint32_t nr, uint64_t wanted, bool is_unreadable)
{
	static const struct probe_fetch_op seven = CONSTANT(7), address = CONSTANT(16),
					   load = OF_SIZE(LOAD, 8);
	struct probe_fetch_op fails[] = {address, load};

	side.nr_fields = side.size = 0;
	add_field(PROBE_FIELD_UNSIGNED, 8, 0, 0, &seven, 1);
	add_field(PROBE_FIELD_UNSIGNED, 8, 0, 0, ops, nr);
	add_field(PROBE_FIELD_UNSIGNED, 8, 0, 0, fails, 2);
	add_field(PROBE_FIELD_UNSIGNED, 8, 0, 0, &seven, 1);
	/* The kernel does not fetch this one. */
	fields[3].source = GLOBAL_CONSTANT;
	make_and_run();
	CHECK(value_of(0) == 7 && value_of(2) == 0 && value_of(3) == 0xeeeeeeeeeeeeeeee);
	if (value_of(1) != (is_unreadable ? 0 : wanted))
		fprintf(stderr, "%#llx, not %#llx\n", (unsigned long long)value_of(1),
				(unsigned long long)wanted);
	CHECK(value_of(1) == (is_unreadable ? 0 : wanted));
	CHECK(record()->unreadable == (is_unreadable ? 6 : 4));
}

static void all_numbers(void)
{
	const struct probe_fetch_op absent[] = {CONSTANT(USER + PAGE + 5), OF_SIZE(LOAD, 2)};

	for (size_t i = 0; i < LENGTH(numbers); i++) {
		begin();
		check_number(numbers[i].ops, numbers[i].nr, numbers[i].wanted,
				numbers[i].is_unreadable);
		machine.is_sleepable = true;
		check_number(numbers[i].ops, numbers[i].nr, numbers[i].wanted,
				numbers[i].is_unreadable);
	}
	/* Memory that is not mapped yet. */
	begin();
	check_number(absent, 2, 0, true);
	machine.is_sleepable = true;
	check_number(absent, 2, 0x5756, false);
}

static void registers(void)
{
	static const size_t locations[] = {offsetof(struct user_regs_struct, rax),
			offsetof(struct user_regs_struct, rdx),
			offsetof(struct user_regs_struct, rcx),
			offsetof(struct user_regs_struct, rbx),
			offsetof(struct user_regs_struct, rsi),
			offsetof(struct user_regs_struct, rdi),
			offsetof(struct user_regs_struct, rbp),
			offsetof(struct user_regs_struct, rsp),
			offsetof(struct user_regs_struct, r8),
			offsetof(struct user_regs_struct, r9),
			offsetof(struct user_regs_struct, r10),
			offsetof(struct user_regs_struct, r11),
			offsetof(struct user_regs_struct, r12),
			offsetof(struct user_regs_struct, r13),
			offsetof(struct user_regs_struct, r14),
			offsetof(struct user_regs_struct, r15),
			offsetof(struct user_regs_struct, rip)};
	struct probe_fetch_op ops[2];

	begin();
	for (unsigned int i = 0; i <= LENGTH(locations); i++) {
		size_t location = i < LENGTH(locations) ? locations[i]
							: offsetof(struct user_regs_struct, eflags);
		uint64_t value;

		memcpy(&value, (char *)&machine.hit + location, 8);
		ops[0] = (struct probe_fetch_op){.code = PROBE_FETCH_REGISTER,
				.reg = (uint8_t)(i < LENGTH(locations) ? i : 49)};
		check_number(ops, 1, value, false);
		for (unsigned int bits = 0; bits < 4; bits += 3) {
			ops[1] = ops[0];
			ops[1].code = PROBE_FETCH_ADD_REGISTER;
			ops[1].size = (uint8_t)bits;
			check_number(ops, 2, value + (value << bits), false);
		}
	}
	ops[0] = (struct probe_fetch_op){.code = PROBE_FETCH_SITE};
	check_number(ops, 1, machine.hit.rip, false);
	ops[0] = (struct probe_fetch_op){.code = PROBE_FETCH_MODULE, .value = 0x5000};
	check_number(ops, 1, machine.hit.rip + 0x5000 - 0x1234, false);
	ops[0] = (struct probe_fetch_op){.code = PROBE_FETCH_RETURN};
	side.exit = true;
	check_number(ops, 1, machine.hit.rip, false);
}

/* ---- refusals ---- */

static void refuse(struct probe_fetch_op op, const char *why)
{
	const struct probe_fetch_op ops[] = {CONSTANT(1), OF_SIZE(PUSH, 0), op};
	char wanted[256];

	side.nr_fields = side.size = 0;
	add_field(PROBE_FIELD_UNSIGNED, 8, 0, 0, ops, 3);
	memset(&error, 0, sizeof(error));
	CHECK(make() == -ENOTSUP);
	snprintf(wanted, sizeof(wanted), "the kernel cannot read `some`: %s", why);
	CHECK(!strcmp(error.text, wanted) &&
			!strcmp(error.hint, "probe one program, without `--global`"));
}

static void refusals(void)
{
	static const struct {
		uint8_t code;
		const char *why;
	} cases[] = {{PROBE_FETCH_EXTENDED, "it is a long double"},
			{PROBE_FETCH_HALF, "it is a floating-point number of 16 bits"},
			{PROBE_FETCH_WIDE, "it is a number of 16 bytes"},
			{PROBE_FETCH_THREAD, "it is thread-local"},
			{PROBE_FETCH_ERRNO, "it is thread-local"},
			{PROBE_FETCH_BLOCK, "it is thread-local"},
			{PROBE_FETCH_VECTOR, "it is in a vector register"},
			{PROBE_FETCH_BACKTRACE, "a call stack cannot be recorded"},
			{0, "its type is unknown"}, {PROBE_FETCH_CALL, "its type is unknown"}};

	begin();
	for (size_t i = 0; i < LENGTH(cases); i++)
		refuse((struct probe_fetch_op){.code = cases[i].code}, cases[i].why);
	for (unsigned int number = 17; number <= 50; number += number == 17 ? 31 : 2) {
		refuse((struct probe_fetch_op){.code = PROBE_FETCH_REGISTER,
				       .reg = (uint8_t)number},
				"it is in no general register");
		refuse((struct probe_fetch_op){.code = PROBE_FETCH_ADD_REGISTER,
				       .reg = (uint8_t)number},
				"it is in no general register");
	}
	refuse((struct probe_fetch_op)OF_SIZE(CALCULATE, PROBE_SUM_XOR + 1),
			"its computation needs an operation that the kernel does not have for probes");
	side.exit = true;
	refuse((struct probe_fetch_op){.code = PROBE_FETCH_MODULE},
			"it is a global variable, and requested at the return");
}

/* A program has at most 8192 instructions. */
static void too_many(void)
{
	struct probe_fetch_op ops[PROBE_TABLE_OPS_MAX];

	begin();
	for (unsigned int i = 0; i < PROBE_TABLE_OPS_MAX; i++)
		ops[i] = (struct probe_fetch_op)OF_SIZE(LOAD, 8);
	for (unsigned int i = 0; i < 25; i++)
		add_field(PROBE_FIELD_UNSIGNED, 8, 0, 0, ops, PROBE_TABLE_OPS_MAX);
	CHECK(!make() && !assembly.overflow);
	while (side.nr_fields < 40)
		add_field(PROBE_FIELD_UNSIGNED, 8, 0, 0, ops, PROBE_TABLE_OPS_MAX);
	CHECK(make() == -E2BIG);
}

/* ---- strings and bytes ---- */

static void put_at(uint64_t address, const char *text)
{
	memcpy(machine.memory + (address - USER), text, strlen(text) + 1);
}

/* Checks a string of up to 16 bytes with its NUL; NULL: it cannot be read. */
static void check_text(uint64_t address, const char *wanted)
{
	const struct probe_fetch_op op = CONSTANT(address);

	side.nr_fields = side.size = 0;
	add_field(PROBE_FIELD_UNSIGNED, 8, 0, 0, &op, 1);
	add_field(PROBE_FIELD_STRING, 1, 15, 16, &op, 1);
	add_field(PROBE_FIELD_UNSIGNED, 8, 0, 0, &op, 1);
	make_and_run();
	CHECK(value_of(0) == address && value_of(2) == address);
	if (wanted) {
		CHECK(value_of(1) == strlen(wanted) + 1 &&
				!strcmp((const char *)bytes_of(1), wanted));
		CHECK(!record()->unreadable);
	} else {
		CHECK(value_of(1) == UINT64_MAX && record()->unreadable == 2);
	}
}

static void texts(void)
{
	for (unsigned int sleeps = 0; sleeps < 2; sleeps++) {
		begin();
		machine.is_sleepable = sleeps;
		put_at(USER + 100, "text");
		put_at(USER + 200, "");
		put_at(USER + 300, "0123456789abcde");
		put_at(USER + 400, "0123456789abcdef");
		put_at(USER + PAGE - 3, "crossing");
		put_at(USER + PAGE + 100, "absent");
		put_at(USER + 3 * PAGE - 4, "end");
		check_text(USER + 100, "text");
		CHECK(machine.nr_texts == 1);
		check_text(USER + 200, "");
		check_text(USER + 300, "0123456789abcde");
		check_text(USER + 400, "0123456789abcde");
		check_text(USER + 3 * PAGE - 4, "end");
		check_text(USER + 3 * PAGE, NULL);
		check_text(USER + 3 * PAGE - 3, "nd");
		machine.memory[3 * PAGE - 1] = 'x';
		check_text(USER + 3 * PAGE - 3, NULL);
		machine.states[2] = ABSENT;
		machine.memory[3 * PAGE - 1] = '\0';
		check_text(USER + 3 * PAGE - 3, sleeps ? "nd" : NULL);
		CHECK(machine.nr_texts == (sleeps ? 2 : 1));
		machine.states[2] = ABSENT;
		check_text(USER + 3 * PAGE - 1, sleeps ? "" : NULL);
		check_text(USER + PAGE - 3, sleeps ? "crossing" : NULL);
		machine.states[1] = ABSENT;
		check_text(USER + PAGE + 100, sleeps ? "absent" : NULL);
		CHECK(machine.states[1] == (sleeps ? PRESENT : ABSENT));
	}
	/* The bytes up to the last one that fits are read at once, and none after it. */
	begin();
	machine.is_sleepable = true;
	memset(machine.memory + PAGE - 15, 'y', 40);
	machine.states[0] = ABSENT;
	check_text(USER + PAGE - 15, "yyyyyyyyyyyyyyy");
	begin();
	machine.is_sleepable = true;
	machine.states[0] = ABSENT;
	put_at(USER + PAGE - 16, "0123456789abcde");
	check_text(USER + PAGE - 16, "0123456789abcde");
	CHECK(machine.states[1] == ABSENT);
}

/* At most 3 elements of 4 bytes. `length`: -1 for the maximum. */
static void check_several(uint64_t address, int64_t length, uint64_t wanted, bool is_unreadable)
{
	const struct probe_fetch_op ops[] = {CONSTANT(length), OF_SIZE(LENGTH, 0),
			{.code = PROBE_FETCH_ADD, .value = (int64_t)address}};

	side.nr_fields = side.size = 0;
	add_field(PROBE_FIELD_UNSIGNED, 8, 0, 0, ops, 1);
	add_field(PROBE_FIELD_UNSIGNED, 4, 3, 12, length < 0 ? ops + 2 : ops, length < 0 ? 1 : 3);
	add_field(PROBE_FIELD_UNSIGNED, 8, 0, 0, ops, 1);
	make_and_run();
	CHECK(value_of(0) == (uint64_t)length && value_of(2) == (uint64_t)length);
	CHECK(value_of(1) == (is_unreadable ? UINT64_MAX : wanted));
	CHECK(record()->unreadable == (is_unreadable ? 2 : 0));
	if (is_unreadable)
		return;
	CHECK(!memcmp(bytes_of(1), machine.memory + (address - USER), 4 * wanted));
	for (uint64_t i = 4 * wanted; i < 12; i++)
		CHECK(bytes_of(1)[i] == 0xee);
}

/* Up to 5 characters and a NUL. */
static void check_counted_text(uint64_t address, int64_t length, const char *wanted)
{
	const struct probe_fetch_op ops[] = {CONSTANT(length), OF_SIZE(LENGTH, 0),
			{.code = PROBE_FETCH_ADD, .value = (int64_t)address}};

	side.nr_fields = side.size = 0;
	add_field(PROBE_FIELD_STRING, 1, 5, 8, ops, 3);
	add_field(PROBE_FIELD_STRING, 1, 5, 8, ops, 3);
	make_and_run();
	if (!wanted) {
		CHECK(value_of(1) == UINT64_MAX && record()->unreadable == 3);
		return;
	}
	CHECK(value_of(1) == strlen(wanted) + 1 && !strcmp((const char *)bytes_of(1), wanted));
	CHECK(bytes_of(1)[strlen(wanted) + 1] == 0xee && !record()->unreadable);
}

static void several(void)
{
	const struct probe_fetch_op counted[] = {
			CONSTANT(2), OF_SIZE(LENGTH, 0), CONSTANT(USER + 9)};

	for (unsigned int sleeps = 0; sleeps < 2; sleeps++) {
		begin();
		machine.is_sleepable = sleeps;
		check_several(USER + 40, -1, 3, false);
		for (int64_t length = 0; length <= 5; length++)
			check_several(USER + 40, length, length < 3 ? (uint64_t)length : 3, false);
		check_several(USER + 40, INT64_MAX, 3, false);
		check_several(USER + 3 * PAGE - 12, 3, 3, false);
		check_several(USER + 3 * PAGE - 11, 3, 0, true);
		check_several(USER + 3 * PAGE - 11, 2, 2, false);
		check_several(USER + 3 * PAGE, 0, 0, false);
		check_several(USER + PAGE, 3, 3, !sleeps);
		put_at(USER + 500, "abcdefgh");
		check_counted_text(USER + 500, 0, "");
		check_counted_text(USER + 500, 1, "a");
		check_counted_text(USER + 500, 5, "abcde");
		check_counted_text(USER + 500, 6, "abcde");
		check_counted_text(USER + 3 * PAGE - 3, 4, NULL);
	}
	/* A length counts for its own field only. */
	side.nr_fields = side.size = 0;
	add_field(PROBE_FIELD_BYTES, 1, 5, 8, counted, 3);
	add_field(PROBE_FIELD_BYTES, 1, 5, 8, counted + 2, 1);
	make_and_run();
	CHECK(value_of(0) == 2 && bytes_of(0)[2] == 0xee && value_of(1) == 5);
	CHECK(!memcmp(bytes_of(1), machine.memory + 9, 5) && bytes_of(1)[5] == 0xee);
}

int main(void)
{
	heads();
	filters();
	all_numbers();
	registers();
	refusals();
	too_many();
	texts();
	several();
	return 0;
}
