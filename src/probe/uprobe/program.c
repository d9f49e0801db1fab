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
#define SAVED_AT(n) (-40 - 8 * (int)(n))
#define VALUES_AT ((int)sizeof(struct hit_record))
#define AT(member) ((int)offsetof(struct hit_record, member))

struct bpf_builder {
	struct bpf_assembly *a;
	const struct global_side *side;
	bool sleepable;
	uint32_t failures[4 * PROBE_TABLE_OPS_MAX]; /* jumps to the failure of the present field */
	uint32_t nr_failures, nr_saved;
	bool has_length; /* the length is at LENGTH_AT */
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

static int program_set_unsupported(
		const struct bpf_builder *builder, const char *name, const char *what)
{
	return error_set(builder->error, -ENOTSUP, "probe one program, without `--global`",
			"the kernel cannot read `%.128s`: %s", name, what);
}

/* ---- the filter ---- */

static void program_emit_leave(struct bpf_assembly *a)
{
	bpf_emit_constant(a, 0, 0);
	bpf_emit(a, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* Leaves the program unless register 0 is one of the numbers. */
static void program_emit_one_of(struct bpf_assembly *a, const uint32_t *numbers, uint32_t nr)
{
	uint32_t fits[GLOBAL_FILTER_MAX];

	for (uint32_t i = 0; i < nr; i++) {
		bpf_emit_constant(a, 1, numbers[i]);
		fits[i] = bpf_emit_jump_register(a, BPF_JEQ, 0, 1);
	}
	program_emit_leave(a);
	for (uint32_t i = 0; i < nr; i++)
		bpf_emit_target(a, fits[i]);
}

static void program_emit_pids(struct bpf_assembly *a, const struct global_filter *filter)
{
	bpf_emit_call(a, HELPER_PID_TGID);
	bpf_emit(a, BPF_ALU64 | BPF_RSH | BPF_K, 0, 0, 0, 32);
	program_emit_one_of(a, filter->pids, filter->nr_pids);
}

static void program_emit_uids(struct bpf_assembly *a, const struct global_filter *filter)
{
	bpf_emit_call(a, HELPER_UID_GID);
	bpf_emit(a, BPF_ALU64 | BPF_LSH | BPF_K, 0, 0, 0, 32);
	bpf_emit(a, BPF_ALU64 | BPF_RSH | BPF_K, 0, 0, 0, 32);
	program_emit_one_of(a, filter->uids, filter->nr_uids);
}

static void program_emit_cgroups(struct bpf_assembly *a, const struct global_filter *filter)
{
	uint32_t fits[GLOBAL_FILTER_MAX];

	bpf_emit_call(a, HELPER_CGROUP);
	for (uint32_t i = 0; i < filter->nr_cgroups; i++) {
		bpf_emit_constant(a, 1, (int64_t)filter->cgroups[i]);
		fits[i] = bpf_emit_jump_register(a, BPF_JEQ, 0, 1);
	}
	program_emit_leave(a);
	for (uint32_t i = 0; i < filter->nr_cgroups; i++)
		bpf_emit_target(a, fits[i]);
}

static void program_emit_comms(struct bpf_assembly *a, const struct global_filter *filter)
{
	uint32_t fits[GLOBAL_FILTER_MAX];

	bpf_emit_move(a, 1, 10);
	bpf_emit_add(a, 1, NAME_AT);
	bpf_emit_constant(a, 2, 16);
	bpf_emit_call(a, HELPER_COMM);
	bpf_emit_load(a, 8, 2, 10, NAME_AT);
	bpf_emit_load(a, 8, 3, 10, NAME_AT + 8);
	for (uint32_t i = 0; i < filter->nr_comms; i++) {
		int64_t words[2];
		uint32_t differs;

		memcpy(words, filter->comms[i], sizeof(words));
		bpf_emit_constant(a, 1, words[0]);
		differs = bpf_emit_jump_register(a, BPF_JNE, 2, 1);
		bpf_emit_constant(a, 1, words[1]);
		fits[i] = bpf_emit_jump_register(a, BPF_JEQ, 3, 1);
		bpf_emit_target(a, differs);
	}
	program_emit_leave(a);
	for (uint32_t i = 0; i < filter->nr_comms; i++)
		bpf_emit_target(a, fits[i]);
}

static void program_emit_filter(struct bpf_assembly *a, const struct global_filter *filter)
{
	if (filter->nr_pids)
		program_emit_pids(a, filter);
	if (filter->nr_uids)
		program_emit_uids(a, filter);
	if (filter->nr_cgroups)
		program_emit_cgroups(a, filter);
	if (filter->nr_comms)
		program_emit_comms(a, filter);
}

/* ---- the record ---- */

/* Reserves a record in the ring, or counts a lost one. */
static void program_emit_reserve(struct bpf_assembly *a, uint32_t size, int ring, int lost)
{
	uint32_t got, none;

	bpf_emit_map(a, 1, ring);
	bpf_emit_constant(a, 2, size);
	bpf_emit_constant(a, 3, 0);
	bpf_emit_call(a, HELPER_RESERVE);
	got = bpf_emit_jump(a, BPF_JNE, 0, 0);
	bpf_emit(a, BPF_ST | BPF_MEM | BPF_W, 10, 0, READ_AT, 0);
	bpf_emit_map(a, 1, lost);
	bpf_emit_move(a, 2, 10);
	bpf_emit_add(a, 2, READ_AT);
	bpf_emit_call(a, HELPER_LOOKUP);
	none = bpf_emit_jump(a, BPF_JEQ, 0, 0);
	bpf_emit_constant(a, 1, 1);
	/* Programs on other CPUs add to the same counter; only the sum matters. */
	bpf_emit(a, BPF_STX | BPF_ATOMIC | BPF_DW, 0, 1, 0, BPF_ADD);
	bpf_emit_target(a, none);
	program_emit_leave(a);
	bpf_emit_target(a, got);
	bpf_emit_move(a, 7, 0);
}

static void program_emit_head(struct bpf_assembly *a)
{
	bpf_emit_call(a, HELPER_TIME);
	bpf_emit_store(a, 8, 7, AT(time), 0);
	bpf_emit_move(a, 1, 6);
	bpf_emit_call(a, HELPER_COOKIE);
	bpf_emit_store(a, 4, 7, AT(side), 0);
	bpf_emit_call(a, HELPER_CPU);
	bpf_emit_store(a, 4, 7, AT(cpu), 0);
	bpf_emit_call(a, HELPER_PID_TGID);
	bpf_emit_store(a, 8, 7, AT(pid_tgid), 0);
	bpf_emit_call(a, HELPER_UID_GID);
	bpf_emit_store(a, 4, 7, AT(uid), 0);
	bpf_emit(a, BPF_ST | BPF_MEM | BPF_W, 7, 0, AT(reserved), 0);
	bpf_emit_move(a, 1, 7);
	bpf_emit_add(a, 1, AT(comm));
	bpf_emit_constant(a, 2, 16);
	bpf_emit_call(a, HELPER_COMM);
#if defined(__x86_64__)
	bpf_emit_load(a, 8, 0, 6, register_at[REGISTER_IP]);
	bpf_emit_store(a, 8, 7, AT(ip), 0);
	bpf_emit_load(a, 8, 0, 6, register_at[REGISTER_SP]);
	bpf_emit_store(a, 8, 7, AT(sp), 0);
#endif
	bpf_emit_constant(a, 9, 0);
}

/* ---- fields ---- */

static void program_emit_fail(struct bpf_builder *builder, uint8_t condition, unsigned int left)
{
	builder->failures[builder->nr_failures++] = bpf_emit_jump(builder->a, condition, left, 0);
}

/* Replaces the address in register 8 by the memory at that address. */
static void program_emit_read(struct bpf_builder *builder, unsigned int size)
{
	struct bpf_assembly *a = builder->a;

	bpf_emit(a, BPF_ST | BPF_MEM | BPF_DW, 10, 0, READ_AT, 0);
	bpf_emit_move(a, 1, 10);
	bpf_emit_add(a, 1, READ_AT);
	bpf_emit_constant(a, 2, size);
	bpf_emit_move(a, 3, 8);
	bpf_emit_call(a, builder->sleepable ? HELPER_COPY : HELPER_READ);
	program_emit_fail(builder, BPF_JNE, 0);
	bpf_emit_load(a, 8, 8, 10, READ_AT);
}

static int program_emit_register(struct bpf_builder *builder, const struct global_field *field,
		unsigned int to, unsigned int number)
{
	int offset = register_offset(number);

	if (offset < 0)
		return program_set_unsupported(
				builder, field->field.name, "it is in no general register");
	bpf_emit_load(builder->a, 8, to, 6, offset);
	return 0;
}

static void program_emit_shift(
		struct bpf_assembly *a, uint8_t operation, unsigned int to, unsigned int bits)
{
	if (bits)
		bpf_emit(a, (uint8_t)(BPF_ALU64 | operation | BPF_K), to, 0, 0, (int32_t)bits);
}

/* Combines the last saved value with register 8, and writes the result to register 8. */
static int program_emit_calculate(
		struct bpf_builder *builder, const struct global_field *field, unsigned int sum)
{
	static const uint8_t operations[] = {[PROBE_SUM_PLUS] = BPF_ADD,
			[PROBE_SUM_MINUS] = BPF_SUB,
			[PROBE_SUM_TIMES] = BPF_MUL,
			[PROBE_SUM_DIVIDE] = BPF_DIV,
			[PROBE_SUM_MODULO] = BPF_MOD,
			[PROBE_SUM_AND] = BPF_AND,
			[PROBE_SUM_OR] = BPF_OR,
			[PROBE_SUM_XOR] = BPF_XOR};
	struct bpf_assembly *a = builder->a;

	if (sum > PROBE_SUM_XOR)
		return program_set_unsupported(builder, field->field.name,
				"its computation needs an operation that the kernel does not have for probes");
	bpf_emit_load(a, 8, 1, 10, SAVED_AT(--builder->nr_saved));
	/* The kernel divides unsigned numbers only. */
	if (sum == PROBE_SUM_DIVIDE || sum == PROBE_SUM_MODULO) {
		program_emit_fail(builder, BPF_JSLT, 1);
		program_emit_fail(builder, BPF_JSLT, 8);
	}
	bpf_emit(a, (uint8_t)(BPF_ALU64 | operations[sum] | BPF_X), 1, 8, 0, 0);
	bpf_emit_move(a, 8, 1);
	return 0;
}

static int program_emit_op(struct bpf_builder *builder, const struct global_field *field,
		const struct probe_fetch_op *op)
{
	struct bpf_assembly *a = builder->a;
	const char *name = field->field.name;
	int ret = 0;

	switch (op->code) {
	case PROBE_FETCH_CONSTANT: bpf_emit_constant(a, 8, op->value); break;
	case PROBE_FETCH_REGISTER: return program_emit_register(builder, field, 8, op->reg);
	case PROBE_FETCH_MODULE:
		if (builder->side->exit)
			return program_set_unsupported(builder, name,
					"it is a global variable, and requested at the return");
#if defined(__x86_64__)
		bpf_emit_load(a, 8, 8, 6, register_at[REGISTER_IP]);
#endif
		bpf_emit_add(a, 8, op->value - (int64_t)builder->side->address);
		break;
	case PROBE_FETCH_SITE:
#if defined(__x86_64__)
		bpf_emit_load(a, 8, 8, 6, register_at[REGISTER_IP]);
#endif
		break;
	case PROBE_FETCH_RETURN:
		ret = program_emit_register(builder, field, 8, builder->side->exit ? 16 : 7);
		if (!builder->side->exit)
			program_emit_read(builder, 8);
		break;
	case PROBE_FETCH_ADD: bpf_emit_add(a, 8, op->value); break;
	case PROBE_FETCH_ADD_REGISTER:
		ret = program_emit_register(builder, field, 1, op->reg);
		program_emit_shift(a, BPF_LSH, 1, op->size);
		bpf_emit(a, BPF_ALU64 | BPF_ADD | BPF_X, 8, 1, 0, 0);
		break;
	case PROBE_FETCH_LOAD: program_emit_read(builder, op->size); break;
	case PROBE_FETCH_SHIFT_RIGHT: program_emit_shift(a, BPF_RSH, 8, op->size); break;
	case PROBE_FETCH_ZERO_EXTEND:
	case PROBE_FETCH_SIGN_EXTEND:
		program_emit_shift(a, BPF_LSH, 8, 64u - op->size);
		program_emit_shift(a, op->code == PROBE_FETCH_SIGN_EXTEND ? BPF_ARSH : BPF_RSH, 8,
				64u - op->size);
		break;
	case PROBE_FETCH_PUSH: bpf_emit_store(a, 8, 10, SAVED_AT(builder->nr_saved++), 8); break;
	case PROBE_FETCH_CALCULATE: return program_emit_calculate(builder, field, op->size);
	case PROBE_FETCH_LENGTH:
		bpf_emit_store(a, 8, 10, LENGTH_AT, 8);
		bpf_emit_constant(a, 8, 0);
		builder->has_length = true;
		break;
	case PROBE_FETCH_EXTENDED:
		return program_set_unsupported(builder, name, "it is a long double");
	case PROBE_FETCH_HALF:
		return program_set_unsupported(
				builder, name, "it is a floating-point number of 16 bits");
	case PROBE_FETCH_WIDE:
		return program_set_unsupported(builder, name, "it is a number of 16 bytes");
	case PROBE_FETCH_THREAD:
	case PROBE_FETCH_ERRNO:
	case PROBE_FETCH_BLOCK: return program_set_unsupported(builder, name, "it is thread-local");
	case PROBE_FETCH_VECTOR:
		return program_set_unsupported(builder, name, "it is in a vector register");
	case PROBE_FETCH_BACKTRACE:
		return program_set_unsupported(builder, name, "a call stack cannot be recorded");
	default: return program_set_unsupported(builder, name, "its type is unknown");
	}
	return ret;
}

static void program_emit_string_read(struct bpf_assembly *a, int at, uint32_t capacity)
{
	bpf_emit_move(a, 1, 7);
	bpf_emit_add(a, 1, at + 8);
	bpf_emit_constant(a, 2, capacity);
	bpf_emit_move(a, 3, 8);
	bpf_emit_call(a, HELPER_READ_TEXT);
}

/* Reads one byte at register 8 plus `offset`, which makes its page resident if possible. */
static void program_emit_touch(struct bpf_assembly *a, uint32_t offset)
{
	bpf_emit_move(a, 1, 10);
	bpf_emit_add(a, 1, READ_AT);
	bpf_emit_constant(a, 2, 1);
	bpf_emit_move(a, 3, 8);
	bpf_emit_add(a, 3, offset);
	bpf_emit_call(a, HELPER_COPY);
}

/* Reads a string. Register 0 becomes its length with the NUL. */
static void program_emit_string(struct bpf_builder *builder, int at, uint32_t capacity)
{
	struct bpf_assembly *a = builder->a;
	uint32_t done = 0;

	program_emit_string_read(a, at, capacity);
	if (builder->sleepable) {
		done = bpf_emit_jump(a, BPF_JSGT, 0, 0);
		bpf_emit(a, BPF_ST | BPF_MEM | BPF_DW, 10, 0, READ_AT, 0);
		program_emit_touch(a, 0);
		program_emit_fail(builder, BPF_JNE, 0);
		/* The remainder may be in another page, or the string may end before it. */
		program_emit_touch(a, capacity - 1);
		program_emit_string_read(a, at, capacity);
		bpf_emit_target(a, done);
	}
	program_emit_fail(builder, BPF_JSLE, 0);
}

/*
 * Sets the register to the number of elements, at most `limit`. Emitted before each use, so that
 * the verifier sees the bound.
 */
static void program_emit_count(struct bpf_builder *builder, unsigned int to, uint32_t limit)
{
	struct bpf_assembly *a = builder->a;
	uint32_t fits;

	if (!builder->has_length) {
		bpf_emit_constant(a, to, limit);
		return;
	}
	bpf_emit_load(a, 8, to, 10, LENGTH_AT);
	fits = bpf_emit_jump(a, BPF_JLE, to, (int32_t)limit);
	bpf_emit_constant(a, to, limit);
	bpf_emit_target(a, fits);
}

static void program_emit_array(
		struct bpf_builder *builder, int at, const struct probe_table_field *field)
{
	struct bpf_assembly *a = builder->a;

	bpf_emit_move(a, 1, 7);
	bpf_emit_add(a, 1, at + 8);
	program_emit_count(builder, 2, field->limit);
	bpf_emit(a, BPF_ALU64 | BPF_MUL | BPF_K, 2, 0, 0, field->size);
	bpf_emit_move(a, 3, 8);
	bpf_emit_call(a, builder->sleepable ? HELPER_COPY : HELPER_READ);
	program_emit_fail(builder, BPF_JNE, 0);
	program_emit_count(builder, 0, field->limit);
}

/* Reads a string with an explicit length: its bytes, and a NUL after them. */
static void program_emit_counted_string(
		struct bpf_builder *builder, int at, const struct probe_table_field *field)
{
	struct bpf_assembly *a = builder->a;

	program_emit_array(builder, at, field);
	bpf_emit_move(a, 1, 7);
	bpf_emit(a, BPF_ALU64 | BPF_ADD | BPF_X, 1, 0, 0, 0);
	bpf_emit(a, BPF_ST | BPF_MEM | BPF_B, 1, 0, at + 8, 0);
	bpf_emit_add(a, 0, 1);
}

static int program_emit_field(struct bpf_builder *builder, uint32_t index)
{
	const struct global_field *field = &builder->side->fields[index];
	struct bpf_assembly *a = builder->a;
	int at = VALUES_AT + (int)field->at, ret = 0;
	uint32_t done;

	builder->nr_failures = builder->nr_saved = 0;
	builder->has_length = false;
	bpf_emit_constant(a, 8, 0);
	for (uint32_t i = 0; i < field->fetch.nr_ops && !ret; i++)
		ret = program_emit_op(builder, field, &field->fetch.ops[i]);
	if (ret)
		return ret;
	if (field->field.type == PROBE_FIELD_STRING && builder->has_length)
		program_emit_counted_string(builder, at, &field->field);
	else if (field->field.type == PROBE_FIELD_STRING)
		program_emit_string(builder, at, field->capacity);
	else if (probe_field_is_array(&field->field))
		program_emit_array(builder, at, &field->field);
	bpf_emit_store(a, 8, 7, at, field->capacity ? 0 : 8);
	if (!builder->nr_failures)
		return 0;
	done = bpf_emit_jump(a, BPF_JA, 0, 0);
	for (uint32_t i = 0; i < builder->nr_failures; i++)
		bpf_emit_target(a, builder->failures[i]);
	bpf_emit_constant(a, 1, (int64_t)(UINT64_C(1) << index));
	bpf_emit(a, BPF_ALU64 | BPF_OR | BPF_X, 9, 1, 0, 0);
	bpf_emit(a, BPF_ST | BPF_MEM | BPF_DW, 7, 0, at, field->capacity ? -1 : 0);
	bpf_emit_target(a, done);
	return 0;
}

int program_make(struct bpf_assembly *assembly, const struct global_side *side,
		const struct global_filter *filter, int ring, int lost, bool sleepable,
		struct error *error)
{
	struct bpf_builder builder = {
			.a = assembly, .side = side, .sleepable = sleepable, .error = error};
	int ret = 0;

	assembly->nr = 0;
	assembly->overflow = false;
	bpf_emit_move(assembly, 6, 1);
	program_emit_filter(assembly, filter);
	program_emit_reserve(
			assembly, (uint32_t)sizeof(struct hit_record) + side->size, ring, lost);
	program_emit_head(assembly);
	for (uint32_t i = 0; i < side->nr_fields && !ret; i++)
		if (side->fields[i].source == GLOBAL_FETCHED)
			ret = program_emit_field(&builder, i);
	if (ret)
		return ret;
	bpf_emit_store(assembly, 8, 7, AT(unreadable), 9);
	bpf_emit_move(assembly, 1, 7);
	bpf_emit_constant(assembly, 2, 0);
	bpf_emit_call(assembly, HELPER_SUBMIT);
	program_emit_leave(assembly);
	return assembly->overflow ? -E2BIG : 0;
}
