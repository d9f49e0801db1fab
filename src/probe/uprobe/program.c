/* SPDX-License-Identifier: MIT */
/*
 * Compiles a side to a BPF program: checks the filter, reserves a record in the ring, and writes
 * it. All values have fixed positions in the record, so the verifier needs no proof of lengths.
 *
 * Registers: 6 the registers of the program that was hit, 7 the record, 8 the value that is being
 * fetched, 9 the fields that could not be read. Stack, from its end downwards: 16 bytes for a
 * thread's name, 8 for memory that is read, 8 for a length, and the saved values of a fetch.
 *
 * A program that may sleep also reads memory that is not resident, such as strings in the file of
 * the traced program.
 */
#include "parts.h"

#include <errno.h>
#include <string.h>

#define HELPER_TIME 5
#define HELPER_CPU 8
#define HELPER_PID_TGID 14
#define HELPER_UID_GID 15
#define HELPER_COMM 16
#define HELPER_CGROUP 80
#define HELPER_READ 112
#define HELPER_READ_TEXT 114
#define HELPER_RESERVE 131
#define HELPER_SUBMIT 132
#define HELPER_COPY 148
#define HELPER_COOKIE 174
#define HELPER_LOOKUP 1

#define NAME_AT (-16)
#define READ_AT (-24)
#define LENGTH_AT (-32)
#define ASIDE_AT(n) (-40 - 8 * (int)(n))
#define VALUES_AT ((int)sizeof(struct hit_record))
#define AT(member) ((int)offsetof(struct hit_record, member))

struct bpf_builder {
	struct bpf_assembly *a;
	const struct global_side *side;
	bool sleepable;
	uint32_t fails[4 * PROBE_TABLE_OPS_MAX]; /* jumps to the failure of the present field */
	uint32_t nr_fails, nr_aside;
	bool counted; /* the length is at LENGTH_AT */
	struct error *error;
};

/* ---- registers of the program ---- */

#if defined(__x86_64__)
/* Offsets in struct pt_regs, by DWARF numbers. */
static const int16_t register_at[] = {
		80, 96, 88, 40, 104, 112, 32, 152, 72, 64, 56, 48, 24, 16, 8, 0, 128};
#define REGISTER_IP 16
#define REGISTER_SP 7
#define REGISTER_FLAGS 49
#define FLAGS_AT 144
#endif

static int register_offset(unsigned int number)
{
#if defined(__x86_64__)
	if (number == REGISTER_FLAGS)
		return FLAGS_AT;
	if (number < sizeof(register_at) / sizeof(*register_at))
		return register_at[number];
#endif
	(void)number;
	return -1;
}

static int uprobe_program_set_unsupported(
		const struct bpf_builder *making, const char *name, const char *what)
{
	return error_set(making->error, -ENOTSUP, "probe one program, without `--global`",
			"`%.128s` cannot be had from the kernel: %s", name, what);
}

/* ---- the filter ---- */

static void put_leave(struct bpf_assembly *a)
{
	put_constant(a, 0, 0);
	put(a, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* Leaves the program unless register 0 is one of the numbers. */
static void put_one_of(struct bpf_assembly *a, const uint32_t *numbers, uint32_t nr)
{
	uint32_t fits[GLOBAL_FILTER_MAX];

	for (uint32_t i = 0; i < nr; i++) {
		put_constant(a, 1, numbers[i]);
		fits[i] = put_jump_register(a, BPF_JEQ, 0, 1);
	}
	put_leave(a);
	for (uint32_t i = 0; i < nr; i++)
		put_here(a, fits[i]);
}

static void put_pids(struct bpf_assembly *a, const struct global_filter *filter)
{
	put_call(a, HELPER_PID_TGID);
	put(a, BPF_ALU64 | BPF_RSH | BPF_K, 0, 0, 0, 32);
	put_one_of(a, filter->pids, filter->nr_pids);
}

static void put_uids(struct bpf_assembly *a, const struct global_filter *filter)
{
	put_call(a, HELPER_UID_GID);
	put(a, BPF_ALU64 | BPF_LSH | BPF_K, 0, 0, 0, 32);
	put(a, BPF_ALU64 | BPF_RSH | BPF_K, 0, 0, 0, 32);
	put_one_of(a, filter->uids, filter->nr_uids);
}

static void put_cgroups(struct bpf_assembly *a, const struct global_filter *filter)
{
	uint32_t fits[GLOBAL_FILTER_MAX];

	put_call(a, HELPER_CGROUP);
	for (uint32_t i = 0; i < filter->nr_cgroups; i++) {
		put_constant(a, 1, (int64_t)filter->cgroups[i]);
		fits[i] = put_jump_register(a, BPF_JEQ, 0, 1);
	}
	put_leave(a);
	for (uint32_t i = 0; i < filter->nr_cgroups; i++)
		put_here(a, fits[i]);
}

static void put_comms(struct bpf_assembly *a, const struct global_filter *filter)
{
	uint32_t fits[GLOBAL_FILTER_MAX];

	put_move(a, 1, 10);
	put_add(a, 1, NAME_AT);
	put_constant(a, 2, 16);
	put_call(a, HELPER_COMM);
	put_load(a, 8, 2, 10, NAME_AT);
	put_load(a, 8, 3, 10, NAME_AT + 8);
	for (uint32_t i = 0; i < filter->nr_comms; i++) {
		int64_t words[2];
		uint32_t differs;

		memcpy(words, filter->comms[i], sizeof(words));
		put_constant(a, 1, words[0]);
		differs = put_jump_register(a, BPF_JNE, 2, 1);
		put_constant(a, 1, words[1]);
		fits[i] = put_jump_register(a, BPF_JEQ, 3, 1);
		put_here(a, differs);
	}
	put_leave(a);
	for (uint32_t i = 0; i < filter->nr_comms; i++)
		put_here(a, fits[i]);
}

static void put_filter(struct bpf_assembly *a, const struct global_filter *filter)
{
	if (filter->nr_pids)
		put_pids(a, filter);
	if (filter->nr_uids)
		put_uids(a, filter);
	if (filter->nr_cgroups)
		put_cgroups(a, filter);
	if (filter->nr_comms)
		put_comms(a, filter);
}

/* ---- the record ---- */

/* Reserves a record in the ring, or counts a lost one. */
static void put_reserve(struct bpf_assembly *a, uint32_t size, int ring, int lost)
{
	uint32_t got, none;

	put_map(a, 1, ring);
	put_constant(a, 2, size);
	put_constant(a, 3, 0);
	put_call(a, HELPER_RESERVE);
	got = put_jump(a, BPF_JNE, 0, 0);
	put(a, BPF_ST | BPF_MEM | BPF_W, 10, 0, READ_AT, 0);
	put_map(a, 1, lost);
	put_move(a, 2, 10);
	put_add(a, 2, READ_AT);
	put_call(a, HELPER_LOOKUP);
	none = put_jump(a, BPF_JEQ, 0, 0);
	put_constant(a, 1, 1);
	/* Programs on other CPUs add to the same counter; only the sum matters. */
	put(a, BPF_STX | BPF_ATOMIC | BPF_DW, 0, 1, 0, BPF_ADD);
	put_here(a, none);
	put_leave(a);
	put_here(a, got);
	put_move(a, 7, 0);
}

static void uprobe_program_emit_head(struct bpf_assembly *a)
{
	put_call(a, HELPER_TIME);
	put_store(a, 8, 7, AT(time), 0);
	put_move(a, 1, 6);
	put_call(a, HELPER_COOKIE);
	put_store(a, 4, 7, AT(side), 0);
	put_call(a, HELPER_CPU);
	put_store(a, 4, 7, AT(cpu), 0);
	put_call(a, HELPER_PID_TGID);
	put_store(a, 8, 7, AT(pid_tgid), 0);
	put_call(a, HELPER_UID_GID);
	put_store(a, 4, 7, AT(uid), 0);
	put(a, BPF_ST | BPF_MEM | BPF_W, 7, 0, AT(reserved), 0);
	put_move(a, 1, 7);
	put_add(a, 1, AT(comm));
	put_constant(a, 2, 16);
	put_call(a, HELPER_COMM);
#if defined(__x86_64__)
	put_load(a, 8, 0, 6, register_at[REGISTER_IP]);
	put_store(a, 8, 7, AT(ip), 0);
	put_load(a, 8, 0, 6, register_at[REGISTER_SP]);
	put_store(a, 8, 7, AT(sp), 0);
#endif
	put_constant(a, 9, 0);
}

/* ---- fields ---- */

static void put_fail(struct bpf_builder *making, uint8_t condition, unsigned int left)
{
	making->fails[making->nr_fails++] = put_jump(making->a, condition, left, 0);
}

/* Replaces the address in register 8 by the memory at that address. */
static void put_read(struct bpf_builder *making, unsigned int size)
{
	struct bpf_assembly *a = making->a;

	put(a, BPF_ST | BPF_MEM | BPF_DW, 10, 0, READ_AT, 0);
	put_move(a, 1, 10);
	put_add(a, 1, READ_AT);
	put_constant(a, 2, size);
	put_move(a, 3, 8);
	put_call(a, making->sleepable ? HELPER_COPY : HELPER_READ);
	put_fail(making, BPF_JNE, 0);
	put_load(a, 8, 8, 10, READ_AT);
}

static int put_register(struct bpf_builder *making, const struct global_field *field,
		unsigned int to, unsigned int number)
{
	int offset = register_offset(number);

	if (offset < 0)
		return uprobe_program_set_unsupported(
				making, field->field.name, "it is in no general register");
	put_load(making->a, 8, to, 6, offset);
	return 0;
}

static void put_shift(struct bpf_assembly *a, uint8_t operation, unsigned int to, unsigned int bits)
{
	if (bits)
		put(a, (uint8_t)(BPF_ALU64 | operation | BPF_K), to, 0, 0, (int32_t)bits);
}

/* Combines the last saved value with register 8, and writes the result to register 8. */
static int put_calculate(
		struct bpf_builder *making, const struct global_field *field, unsigned int sum)
{
	static const uint8_t operations[] = {[PROBE_SUM_PLUS] = BPF_ADD,
			[PROBE_SUM_MINUS] = BPF_SUB,
			[PROBE_SUM_TIMES] = BPF_MUL,
			[PROBE_SUM_DIVIDE] = BPF_DIV,
			[PROBE_SUM_MODULO] = BPF_MOD,
			[PROBE_SUM_AND] = BPF_AND,
			[PROBE_SUM_OR] = BPF_OR,
			[PROBE_SUM_XOR] = BPF_XOR};
	struct bpf_assembly *a = making->a;

	if (sum > PROBE_SUM_XOR)
		return uprobe_program_set_unsupported(making, field->field.name,
				"it is calculated with what the kernel does not do for a probe");
	put_load(a, 8, 1, 10, ASIDE_AT(--making->nr_aside));
	/* The kernel divides unsigned numbers only. */
	if (sum == PROBE_SUM_DIVIDE || sum == PROBE_SUM_MODULO) {
		put_fail(making, BPF_JSLT, 1);
		put_fail(making, BPF_JSLT, 8);
	}
	put(a, (uint8_t)(BPF_ALU64 | operations[sum] | BPF_X), 1, 8, 0, 0);
	put_move(a, 8, 1);
	return 0;
}

static int uprobe_program_emit_op(struct bpf_builder *making, const struct global_field *field,
		const struct probe_fetch_op *op)
{
	struct bpf_assembly *a = making->a;
	const char *name = field->field.name;
	int ret = 0;

	switch (op->code) {
	case PROBE_FETCH_CONSTANT: put_constant(a, 8, op->value); break;
	case PROBE_FETCH_REGISTER: return put_register(making, field, 8, op->reg);
	case PROBE_FETCH_MODULE:
		if (making->side->exit)
			return uprobe_program_set_unsupported(
					making, name, "it is a variable of the file, at a return");
#if defined(__x86_64__)
		put_load(a, 8, 8, 6, register_at[REGISTER_IP]);
#endif
		put_add(a, 8, op->value - (int64_t)making->side->address);
		break;
	case PROBE_FETCH_SITE:
#if defined(__x86_64__)
		put_load(a, 8, 8, 6, register_at[REGISTER_IP]);
#endif
		break;
	case PROBE_FETCH_RETURN:
		ret = put_register(making, field, 8, making->side->exit ? 16 : 7);
		if (!making->side->exit)
			put_read(making, 8);
		break;
	case PROBE_FETCH_ADD: put_add(a, 8, op->value); break;
	case PROBE_FETCH_ADD_REGISTER:
		ret = put_register(making, field, 1, op->reg);
		put_shift(a, BPF_LSH, 1, op->size);
		put(a, BPF_ALU64 | BPF_ADD | BPF_X, 8, 1, 0, 0);
		break;
	case PROBE_FETCH_LOAD: put_read(making, op->size); break;
	case PROBE_FETCH_SHIFT_RIGHT: put_shift(a, BPF_RSH, 8, op->size); break;
	case PROBE_FETCH_ZERO_EXTEND:
	case PROBE_FETCH_SIGN_EXTEND:
		put_shift(a, BPF_LSH, 8, 64u - op->size);
		put_shift(a, op->code == PROBE_FETCH_SIGN_EXTEND ? BPF_ARSH : BPF_RSH, 8,
				64u - op->size);
		break;
	case PROBE_FETCH_PUSH: put_store(a, 8, 10, ASIDE_AT(making->nr_aside++), 8); break;
	case PROBE_FETCH_CALCULATE: return put_calculate(making, field, op->size);
	case PROBE_FETCH_LENGTH:
		put_store(a, 8, 10, LENGTH_AT, 8);
		put_constant(a, 8, 0);
		making->counted = true;
		break;
	case PROBE_FETCH_EXTENDED:
		return uprobe_program_set_unsupported(making, name, "it is a long double");
	case PROBE_FETCH_HALF:
		return uprobe_program_set_unsupported(
				making, name, "it is a floating-point number of 16 bits");
	case PROBE_FETCH_WIDE:
		return uprobe_program_set_unsupported(making, name, "it is a number of 16 bytes");
	case PROBE_FETCH_THREAD:
	case PROBE_FETCH_ERRNO:
	case PROBE_FETCH_BLOCK:
		return uprobe_program_set_unsupported(
				making, name, "it is another one in each thread");
	case PROBE_FETCH_VECTOR:
		return uprobe_program_set_unsupported(making, name, "it is in a vector register");
	case PROBE_FETCH_BACKTRACE:
		return uprobe_program_set_unsupported(
				making, name, "calls that led there are not recorded");
	default: return uprobe_program_set_unsupported(making, name, "it is of an unknown kind");
	}
	return ret;
}

static void put_text_read(struct bpf_assembly *a, int at, uint32_t capacity)
{
	put_move(a, 1, 7);
	put_add(a, 1, at + 8);
	put_constant(a, 2, capacity);
	put_move(a, 3, 8);
	put_call(a, HELPER_READ_TEXT);
}

/* Reads one byte at register 8 plus `behind`, which makes its page resident if possible. */
static void put_touch(struct bpf_assembly *a, uint32_t behind)
{
	put_move(a, 1, 10);
	put_add(a, 1, READ_AT);
	put_constant(a, 2, 1);
	put_move(a, 3, 8);
	put_add(a, 3, behind);
	put_call(a, HELPER_COPY);
}

/* Reads a string. Register 0 becomes its length with the NUL. */
static void uprobe_program_emit_text(struct bpf_builder *making, int at, uint32_t capacity)
{
	struct bpf_assembly *a = making->a;
	uint32_t done = 0;

	put_text_read(a, at, capacity);
	if (making->sleepable) {
		done = put_jump(a, BPF_JSGT, 0, 0);
		put(a, BPF_ST | BPF_MEM | BPF_DW, 10, 0, READ_AT, 0);
		put_touch(a, 0);
		put_fail(making, BPF_JNE, 0);
		/* The remainder may be in another page, or the string may end before it. */
		put_touch(a, capacity - 1);
		put_text_read(a, at, capacity);
		put_here(a, done);
	}
	put_fail(making, BPF_JSLE, 0);
}

/*
 * Sets the register to the number of elements, at most `limit`. Emitted before each use, so that
 * the verifier sees the bound.
 */
static void put_count(struct bpf_builder *making, unsigned int to, uint32_t limit)
{
	struct bpf_assembly *a = making->a;
	uint32_t fits;

	if (!making->counted) {
		put_constant(a, to, limit);
		return;
	}
	put_load(a, 8, to, 10, LENGTH_AT);
	fits = put_jump(a, BPF_JLE, to, (int32_t)limit);
	put_constant(a, to, limit);
	put_here(a, fits);
}

static void put_several(struct bpf_builder *making, int at, const struct probe_table_field *field)
{
	struct bpf_assembly *a = making->a;

	put_move(a, 1, 7);
	put_add(a, 1, at + 8);
	put_count(making, 2, field->limit);
	put(a, BPF_ALU64 | BPF_MUL | BPF_K, 2, 0, 0, field->size);
	put_move(a, 3, 8);
	put_call(a, making->sleepable ? HELPER_COPY : HELPER_READ);
	put_fail(making, BPF_JNE, 0);
	put_count(making, 0, field->limit);
}

/* Reads a string with an explicit length: its bytes, and a NUL after them. */
static void put_counted_text(
		struct bpf_builder *making, int at, const struct probe_table_field *field)
{
	struct bpf_assembly *a = making->a;

	put_several(making, at, field);
	put_move(a, 1, 7);
	put(a, BPF_ALU64 | BPF_ADD | BPF_X, 1, 0, 0, 0);
	put(a, BPF_ST | BPF_MEM | BPF_B, 1, 0, at + 8, 0);
	put_add(a, 0, 1);
}

static int uprobe_program_emit_field(struct bpf_builder *making, uint32_t index)
{
	const struct global_field *field = &making->side->fields[index];
	struct bpf_assembly *a = making->a;
	int at = VALUES_AT + (int)field->at, ret = 0;
	uint32_t done;

	making->nr_fails = making->nr_aside = 0;
	making->counted = false;
	put_constant(a, 8, 0);
	for (uint32_t i = 0; i < field->fetch.nr_ops && !ret; i++)
		ret = uprobe_program_emit_op(making, field, &field->fetch.ops[i]);
	if (ret)
		return ret;
	if (field->field.type == PROBE_FIELD_STRING && making->counted)
		put_counted_text(making, at, &field->field);
	else if (field->field.type == PROBE_FIELD_STRING)
		uprobe_program_emit_text(making, at, field->capacity);
	else if (probe_field_is_several(&field->field))
		put_several(making, at, &field->field);
	put_store(a, 8, 7, at, field->capacity ? 0 : 8);
	if (!making->nr_fails)
		return 0;
	done = put_jump(a, BPF_JA, 0, 0);
	for (uint32_t i = 0; i < making->nr_fails; i++)
		put_here(a, making->fails[i]);
	put_constant(a, 1, (int64_t)(UINT64_C(1) << index));
	put(a, BPF_ALU64 | BPF_OR | BPF_X, 9, 1, 0, 0);
	put(a, BPF_ST | BPF_MEM | BPF_DW, 7, 0, at, field->capacity ? -1 : 0);
	put_here(a, done);
	return 0;
}

int program_make(struct bpf_assembly *a, const struct global_side *side,
		const struct global_filter *filter, int ring, int lost, bool sleepable,
		struct error *error)
{
	struct bpf_builder making = {.a = a, .side = side, .sleepable = sleepable, .error = error};
	int ret = 0;

	a->nr = 0;
	a->overflow = false;
	put_move(a, 6, 1);
	put_filter(a, filter);
	put_reserve(a, (uint32_t)sizeof(struct hit_record) + side->size, ring, lost);
	uprobe_program_emit_head(a);
	for (uint32_t i = 0; i < side->nr_fields && !ret; i++)
		if (side->fields[i].source == GLOBAL_FETCHED)
			ret = uprobe_program_emit_field(&making, i);
	if (ret)
		return ret;
	put_store(a, 8, 7, AT(unreadable), 9);
	put_move(a, 1, 7);
	put_constant(a, 2, 0);
	put_call(a, HELPER_SUBMIT);
	put_leave(a);
	return a->overflow ? -E2BIG : 0;
}
