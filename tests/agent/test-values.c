/* SPDX-License-Identifier: MIT */
/*
 * Values at probes and in contexts: what a fetch computes, how fields become steps, runs of an
 * answer, lines of /proc, the code of the loader. The test includes the files, so that it can call
 * their static functions with chosen numbers.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "tracers/agent/context/context.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/rendezvous.h"
#include "tracers/agent/core/rules.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/probes/probes.h"
#include "base/inside/raw.h"
#include "protocol/protocol.h"

/* ---- how the answers are sent ---- */

static struct {
	int connected;
	int sent[4];
	unsigned int nr_sent, nr_closed, nr_mapped, nr_unmapped;
	int closed;
	struct wire_probed messages[4];
	struct wire_probe_run runs[4][3];
	uint32_t nr_runs[4];
	bool no_memory;
} answers;

static int fake_connect(const struct agent_session *session, uint64_t deadline)
{
	(void)session;
	(void)deadline;
	return answers.connected;
}

static ssize_t fake_encode(void *message, size_t size, const struct wire_probed *probed)
{
	unsigned int n = answers.nr_sent;

	(void)message;
	assert_int_equal(size, WIRE_MESSAGE_MAX);
	assert_true(n < 4);
	answers.messages[n] = *probed;
	answers.nr_runs[n] = probed->nr_runs;
	for (uint32_t i = 0; i < probed->nr_runs && i < 3; i++)
		answers.runs[n][i] = probed->runs[i];
	return 5;
}

static int fake_send(int socket, const void *message, size_t size, const int *fds, size_t nr,
		uint64_t deadline)
{
	(void)message;
	(void)deadline;
	assert_true(socket == answers.connected && size == 5 && !fds && !nr);
	return answers.sent[answers.nr_sent++];
}

static void fake_close(int fd)
{
	answers.closed = fd;
	answers.nr_closed++;
}

static void *fake_mmap(void *at, size_t size, int protection, int flags, int fd)
{
	if (answers.no_memory)
		return NULL;
	assert_int_equal(size,
			WIRE_MESSAGE_MAX + WIRE_PROBED_RUNS_MAX * sizeof(struct wire_probe_run));
	answers.nr_mapped++;
	return raw_mmap(at, size, protection, flags, fd);
}

static int fake_munmap(void *at, size_t size)
{
	answers.nr_unmapped++;
	return raw_munmap(at, size);
}

static void fake_statistics(struct patch_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	stats->cut = 11;
	stats->lost = 12;
	stats->unseen = 13;
	stats->abandoned = 14;
	stats->traps = 15;
	stats->bytes = 16;
}

#define agent_session_connect fake_connect
#define wire_encode_probed fake_encode
#define wire_send fake_send
#define wire_close fake_close
#define raw_mmap fake_mmap
#define raw_munmap fake_munmap
#define patch_stats(stats) fake_statistics(stats)
#include "tracers/agent/probes/results.c"
#undef raw_mmap
#undef raw_munmap
#undef wire_send
#undef wire_close
#undef patch_stats

#include "tracers/agent/probes/fetch.c"
#include "tracers/agent/probes/steps.c"

#define version cgroup_version
#define lines cgroup_lines
#define paths cgroup_paths
#include "tracers/agent/context/cgroup.c"
#undef version
#undef lines
#undef probes_result_worst_run
#undef paths
#include "tracers/agent/context/sources.c"

static int set_result;
static unsigned int nr_set, nr_removed;
static int remove_result;
static struct patch_setup set_request;
static struct probe_site set_site;

static size_t fake_set(struct patch_setup *setups, size_t count)
{
	assert_int_equal(count, 1);
	nr_set++;
	set_request = *setups;
	set_site = *setups->site;
	setups->error = set_result;
	setups->patch = set_result ? NULL : (struct patch *)&set_site;
	return set_result ? 1 : 0;
}

static int fake_remove(struct patch *const *probes, size_t count)
{
	assert_true(count == 1 && *probes == (struct patch *)&set_site);
	nr_removed++;
	return remove_result;
}

static unsigned int nr_saved;

static void fake_saved(void (*function)(void))
{
	assert_true(function == agent_probes_libraries_changed);
	nr_saved++;
}

#define patch_set fake_set
#define patch_remove fake_remove
#define probe_hit_saved fake_saved
#include "tracers/agent/probes/loader.c"
#undef patch_set
#undef patch_remove
#undef probe_hit_saved

/* ---- fetches ---- */

static struct patch_hit hit;
static struct probes_layout layout;
static struct probes_spec_details details;
static uint64_t stack[4];

static uint64_t fetch_of(
		const struct probe_fetch_op *ops, uint32_t nr, struct probes_event_hit *event_hit)
{
	const struct probe_fetch fetch = {ops, nr};

	*event_hit = (struct probes_event_hit){
			.hit = &hit, .layout = &layout, .details = &details, .field = 3};
	return probe_fetch_value(event_hit, &fetch);
}

#define FETCH(...)                                                             \
	fetch_of((const struct probe_fetch_op[]){__VA_ARGS__},                 \
			sizeof((const struct probe_fetch_op[]){__VA_ARGS__}) / \
					sizeof(struct probe_fetch_op),         \
			&event_hit)
#define CONSTANT(number)                                                 \
	{                                                                \
		.code = PROBE_FETCH_CONSTANT, .value = (int64_t)(number) \
	}

static void test_registers(void **state)
{
	struct probes_event_hit event_hit;
	uint64_t *registers[] = {&hit.registers.rax, &hit.registers.rdx, &hit.registers.rcx,
			&hit.registers.rbx, &hit.registers.rsi, &hit.registers.rdi,
			&hit.registers.rbp, NULL, &hit.registers.r8, &hit.registers.r9,
			&hit.registers.r10, &hit.registers.r11, &hit.registers.r12,
			&hit.registers.r13, &hit.registers.r14, &hit.registers.r15};

	(void)state;
	for (uint8_t i = 0; i < 16; i++)
		if (registers[i])
			*registers[i] = 0x1000u + i;
	hit.stack = stack;
	hit.address = 0x2001;
	hit.returns_to = 0x3001;
	hit.call = 0x77;
	hit.elapsed = 0x88;
	hit.registers.flags = 0xd701;
	for (uint8_t i = 0; i < 16; i++) {
		assert_int_equal(FETCH({.code = PROBE_FETCH_REGISTER, .reg = i}),
				registers[i] ? 0x1000u + i : (uintptr_t)stack);
		assert_int_equal(probe_fetch_offset(i, false),
				registers[i] ? (int)((char *)registers[i] - (char *)&hit)
					     : (int)offsetof(struct patch_hit, stack));
	}
	assert_int_equal(probe_fetch_offset(16, false), offsetof(struct patch_hit, address));
	assert_int_equal(probe_fetch_offset(16, true), -1);
	assert_int_equal(probe_fetch_offset(15, true), offsetof(struct patch_hit, registers.r15));
	assert_int_equal(probe_fetch_offset(17, false), -1);
	assert_int_equal(probe_fetch_offset(49, false), -1);
	assert_int_equal(FETCH({.code = PROBE_FETCH_REGISTER, .reg = 16}), 0x2001);
	assert_int_equal(FETCH({.code = PROBE_FETCH_REGISTER, .reg = 49}), 0xd7 | 0x800);
	hit.registers.flags = 0xd700;
	assert_int_equal(FETCH({.code = PROBE_FETCH_REGISTER, .reg = 49}), 0xd7);
	assert_int_equal(FETCH({.code = PROBE_FETCH_DURATION}), 0);
	layout.leaves = true;
	assert_int_equal(FETCH({.code = PROBE_FETCH_REGISTER, .reg = 16}), 0x3001);
	assert_int_equal(FETCH({.code = PROBE_FETCH_DURATION}), 0x88);
	layout.leaves = false;
	details.bias = 0x10000;
	details.function = "name";
	assert_int_equal(FETCH({.code = PROBE_FETCH_MODULE, .value = 7}), 0x10007);
	assert_int_equal(FETCH({.code = PROBE_FETCH_SITE}), 0x2001);
	assert_int_equal(FETCH({.code = PROBE_FETCH_FUNCTION}), (uintptr_t)details.function);
	assert_int_equal(FETCH({.code = PROBE_FETCH_CALL}), 0x77);
	assert_int_equal(FETCH({.code = PROBE_FETCH_RETURN}), 0x3001);
	stack[0] = 0x4001;
	hit.call = 0;
	assert_int_equal(FETCH({.code = PROBE_FETCH_RETURN}), 0x4001);
	probe_fetch_start();
	assert_int_equal(FETCH({.code = PROBE_FETCH_ERRNO}), (uintptr_t)&errno);
	assert_int_equal(FETCH({.code = PROBE_FETCH_THREAD, .value = 5}),
			(uintptr_t)__builtin_thread_pointer() + 5);
	assert_int_equal(FETCH({.code = PROBE_FETCH_BACKTRACE}), 0);
}

static void test_operations(void **state)
{
	struct probes_event_hit event_hit;
	static const uint64_t memory[2] = {0xf1f2f3f4f5f6f7f8, 0x3fff};

	(void)state;
	assert_int_equal(FETCH(CONSTANT(5), {.code = PROBE_FETCH_ADD, .value = -7}), (uint64_t)-2);
	hit.registers.rax = 3;
	assert_int_equal(
			FETCH(CONSTANT(5), {.code = PROBE_FETCH_ADD_REGISTER, .reg = 0, .size = 4}),
			53);
	assert_int_equal(FETCH(CONSTANT(0xff00), {.code = PROBE_FETCH_SHIFT_RIGHT, .size = 4}),
			0xff0);
	assert_int_equal(
			FETCH(CONSTANT(0x1f5), {.code = PROBE_FETCH_ZERO_EXTEND, .size = 8}), 0xf5);
	assert_int_equal(FETCH(CONSTANT(0x1f5), {.code = PROBE_FETCH_SIGN_EXTEND, .size = 8}),
			(uint64_t)-11);
	assert_int_equal(FETCH(CONSTANT(-1), {.code = PROBE_FETCH_ZERO_EXTEND, .size = 64}),
			UINT64_MAX);
	for (unsigned int size = 1; size <= 8; size *= 2)
		assert_int_equal(FETCH(CONSTANT((uintptr_t)memory),
						 {.code = PROBE_FETCH_LOAD, .size = (uint8_t)size}),
				size == 8 ? memory[0]
					  : memory[0] & ((UINT64_C(1) << 8 * size) - 1));
	assert_int_equal(event_hit.unreadable, 0);
	/* A missing value is 0, and ends the fetch; the field is marked. */
	assert_int_equal(
			FETCH(CONSTANT(64), {.code = PROBE_FETCH_LOAD, .size = 8}, CONSTANT(9)), 0);
	assert_int_equal(event_hit.unreadable, 8);
	assert_int_equal(FETCH(CONSTANT(5), {.code = PROBE_FETCH_LENGTH}), 0);
	assert_int_equal(event_hit.length, 5);
	assert_int_equal(FETCH(CONSTANT(5)), 5);
	assert_true(event_hit.length == UINT64_MAX && event_hit.upper == 0);
	assert_int_equal(FETCH(CONSTANT(5), {.code = PROBE_FETCH_PUSH}, CONSTANT(6),
					 {.code = PROBE_FETCH_WIDE}),
			5);
	assert_int_equal(event_hit.upper, 6);
	assert_int_equal(FETCH(CONSTANT(6), {.code = PROBE_FETCH_WIDE}), 0);
	assert_int_equal(
			FETCH(CONSTANT(6), {.code = PROBE_FETCH_CALCULATE, .size = PROBE_SUM_PLUS}),
			0);
	assert_int_equal(FETCH(CONSTANT(6), {.code = PROBE_FETCH_PUSH}, CONSTANT(7),
					 {.code = PROBE_FETCH_PUSH}, CONSTANT(8),
					 {.code = PROBE_FETCH_PUSH}, CONSTANT(9),
					 {.code = PROBE_FETCH_PUSH}, CONSTANT(2),
					 {.code = PROBE_FETCH_CALCULATE, .size = PROBE_SUM_MINUS},
					 {.code = PROBE_FETCH_CALCULATE, .size = PROBE_SUM_MINUS},
					 {.code = PROBE_FETCH_CALCULATE, .size = PROBE_SUM_MINUS},
					 {.code = PROBE_FETCH_CALCULATE, .size = PROBE_SUM_MINUS}),
			6 - (7 - (8 - (9 - 2))));
	assert_int_equal(FETCH(CONSTANT((uintptr_t)memory), {.code = PROBE_FETCH_EXTENDED}),
			probes_fetch_to_double(memory[0], 0x3fff));
	assert_int_equal(FETCH(CONSTANT(0xc000), {.code = PROBE_FETCH_HALF}), 0xc0000000);
	assert_int_equal(FETCH(CONSTANT(0), {.code = PROBE_FETCH_BLOCK}), 0);
	assert_int_equal(event_hit.unreadable, 8);
	assert_int_equal(FETCH(CONSTANT(1000000), {.code = PROBE_FETCH_BLOCK}), 0);
	assert_int_equal(event_hit.unreadable, 8);
}

static void test_sums(void **state)
{
	const uint64_t minus = (uint64_t)-5;
	static const struct {
		unsigned int sum;
		uint64_t left, right, result;
	} rows[] = {
			{PROBE_SUM_PLUS, 7, 5, 12},
			{PROBE_SUM_MINUS, 7, 5, 2},
			{PROBE_SUM_TIMES, 7, 5, 35},
			{PROBE_SUM_DIVIDE, (uint64_t)-17, 5, (uint64_t)-3},
			{PROBE_SUM_DIVIDE, 7, 0, 0},
			{PROBE_SUM_DIVIDE, 7, (uint64_t)-1, (uint64_t)-7},
			{PROBE_SUM_DIVIDE, UINT64_C(1) << 63, (uint64_t)-1, UINT64_C(1) << 63},
			{PROBE_SUM_DIVIDE, 8, 1, 8},
			{PROBE_SUM_MODULO, 17, 5, 2},
			{PROBE_SUM_MODULO, 17, 0, 0},
			{PROBE_SUM_AND, 12, 10, 8},
			{PROBE_SUM_OR, 12, 10, 14},
			{PROBE_SUM_XOR, 12, 10, 6},
			{PROBE_SUM_LEFT, 3, 63, UINT64_C(1) << 63},
			{PROBE_SUM_LEFT, 3, 64, 0},
			{PROBE_SUM_RIGHT, UINT64_MAX, 63, 1},
			{PROBE_SUM_RIGHT, UINT64_MAX, 64, 0},
			{PROBE_SUM_RIGHT_SIGNED, (uint64_t)-9, 1, (uint64_t)-5},
			{PROBE_SUM_RIGHT_SIGNED, (uint64_t)-9, 63, UINT64_MAX},
			{PROBE_SUM_RIGHT_SIGNED, (uint64_t)-9, 64, UINT64_MAX},
			{PROBE_SUM_RIGHT_SIGNED, 9, 64, 0},
			{PROBE_SUM_RIGHT_SIGNED, (uint64_t)-9, UINT64_MAX, UINT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(probes_fetch_calculate(rows[i].sum, rows[i].left, rows[i].right),
				rows[i].result);
	for (unsigned int sum = PROBE_SUM_EQUAL; sum <= PROBE_SUM_GREATER_EQUAL; sum++) {
		static const char *const results[] = {"010", "101", "100", "110", "001", "011"};
		char result[4] = {(char)('0' + probes_fetch_calculate(sum, minus, 5)),
				(char)('0' + probes_fetch_calculate(sum, 5, 5)),
				(char)('0' + probes_fetch_calculate(sum, 5, minus))};

		assert_string_equal(result, results[sum - PROBE_SUM_EQUAL]);
	}
	assert_int_equal(probes_fetch_calculate(0, 7, 5), 0);
	assert_int_equal(probes_fetch_calculate(PROBE_SUM_GREATER_EQUAL + 1, 7, 5), 0);
}

static uint64_t bits_of_long(long double number)
{
	unsigned char bytes[16] = {0};
	uint64_t bits, head = 0;

	memcpy(bytes, &number, 10);
	memcpy(&bits, bytes, 8);
	memcpy(&head, bytes + 8, 2);
	return probes_fetch_to_double(bits, head);
}

/* Compared with the conversions of the compiler. */
static void test_floats(void **state)
{
	static const long double numbers[] = {0.0L, -0.0L, 1.0L, -1.5L, 0.1L, 3.3e300L, 1.7e308L,
			1.8e308L, -1e400L, 2.3e-308L, 1e-308L, -1e-310L, 5e-324L, 4.94e-324L,
			2.47e-324L, 2.4e-324L, 1e-4000L, 1.0L + 0x1p-53L, 1.0L + 0x3p-53L,
			1.0L + 0x1p-53L + 0x1p-63L, 2.0L - 0x1p-60L, 0x1p-1022L - 0x1p-1075L,
			0x1p-1022L - 0x1p-1076L, 0x1p-1074L, 0x1.8p-1074L, 0x1p-1075L, 0x1.8p-1075L,
			0x1.fffffffffffff8p1023L, 0x1p1024L};
	static const union {
		uint32_t bits;
		float value;
	} one = {.value = 1.0f};

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		double number = (double)numbers[i];
		uint64_t bits;

		memcpy(&bits, &number, 8);
		assert_int_equal(bits_of_long(numbers[i]), bits);
	}
	assert_int_equal(probes_fetch_to_double(UINT64_C(1) << 63, 0x7fff), UINT64_C(0x7ff) << 52);
	assert_int_equal(probes_fetch_to_double(UINT64_C(1) << 63, 0xffff), UINT64_C(0xfff) << 52);
	assert_int_equal(probes_fetch_to_double(UINT64_C(3) << 62, 0x7fff), UINT64_C(0xfff) << 51);
	for (uint32_t half = 0; half < 0x10000; half++) {
		uint32_t exponent = half >> 10 & 31, fraction = half & 1023, bits;
		float value = ldexpf((float)(fraction + (exponent ? 1024 : 0)),
				(int)(exponent ? exponent : 1) - 25);

		if (half >> 15)
			value = -value;
		memcpy(&bits, &value, 4);
		if (exponent == 31)
			bits = (half >> 15) << 31 | 0xffu << 23 | fraction << 13;
		assert_int_equal(probes_fetch_half_to_float(half), bits);
	}
	assert_int_equal(probes_fetch_half_to_float(0x3c00), one.bits);
	assert_int_equal(probes_fetch_round_off(5, 1), 2);
	assert_int_equal(probes_fetch_round_off(7, 1), 4);
	assert_int_equal(probes_fetch_round_off(0x17, 4), 1);
	assert_int_equal(probes_fetch_round_off(0x18, 4), 2);
	assert_int_equal(probes_fetch_round_off(0x19, 4), 2);
	assert_int_equal(probes_fetch_round_off(0x28, 4), 2);
}

#define IN_VECTOR(n)                                                        \
	__asm__ volatile("movups %0, %%xmm" #n : : "m"(wanted) : "xmm" #n); \
	lower = probes_fetch_vector_value(n, false);                        \
	__asm__ volatile("movups %0, %%xmm" #n : : "m"(wanted) : "xmm" #n); \
	upper = probes_fetch_vector_value(n, true);                         \
	__asm__ volatile("xorps %%xmm" #n ", %%xmm" #n : : : "xmm" #n);     \
	wanted[0] += 3;                                                     \
	wanted[1] += 5;                                                     \
	assert_int_equal(lower, wanted[0] - 3);                             \
	assert_int_equal(upper, wanted[1] - 5);

static void test_vectors(void **state)
{
	uint64_t wanted[2] = {0x1122334455667788, 0x99aabbccddeeff00}, lower, upper;

	(void)state;
	/* Not 0: this test is compiled with vector registers, so the compiler uses it. */
	IN_VECTOR(1)
	IN_VECTOR(2)
	IN_VECTOR(3)
	IN_VECTOR(4)
	IN_VECTOR(5)
	IN_VECTOR(6)
	IN_VECTOR(7)
	IN_VECTOR(8)
	IN_VECTOR(9)
	IN_VECTOR(10)
	IN_VECTOR(11)
	IN_VECTOR(12)
	IN_VECTOR(13)
	IN_VECTOR(14)
	IN_VECTOR(15)
	assert_int_equal(probes_fetch_vector_value(16, false), 0);
	assert_int_equal(probes_fetch_vector_value(16, true), 0);
}

/* ---- steps ---- */

static const struct probe_fetch_op reg8_op = {.code = PROBE_FETCH_REGISTER, .reg = 0},
				   reg9_op = {.code = PROBE_FETCH_REGISTER, .reg = 9},
				   load_ops[] = {{.code = PROBE_FETCH_REGISTER},
						   {.code = PROBE_FETCH_LOAD, .size = 8}},
				   top_ops[] = {{.code = PROBE_FETCH_REGISTER,
								.reg = PROBE_STACK_POINTER},
						   {.code = PROBE_FETCH_LOAD, .size = 8}},
				   name_op = {.code = PROBE_FETCH_FUNCTION},
				   site_op = {.code = PROBE_FETCH_SITE},
				   call_op = {.code = PROBE_FETCH_CALL},
				   time_op = {.code = PROBE_FETCH_DURATION},
				   block_op = {.code = PROBE_FETCH_BLOCK},
				   long_op = {.code = PROBE_FETCH_EXTENDED},
				   number_op = {.code = PROBE_FETCH_CONSTANT};

static void test_one_step(void **state)
{
	static const struct {
		struct probe_table_field field;
		struct probe_fetch fetch;
		struct probes_step entry, leave;
		size_t bytes;
		bool reads;
	} rows[] = {
			{{.type = PROBE_FIELD_UNSIGNED, .size = 4}, {&reg9_op, 1},
					{PROBES_STEP_PLAIN, 4,
							offsetof(struct patch_hit, registers.r9)},
					{PROBES_STEP_PLAIN, 4,
							offsetof(struct patch_hit, registers.r9)},
					4, false},
			{{.type = PROBE_FIELD_HEX, .size = 8}, {&site_op, 1},
					{PROBES_STEP_PLAIN, 8, offsetof(struct patch_hit, address)},
					{PROBES_STEP_PLAIN, 8, offsetof(struct patch_hit, address)},
					8, false},
			{{.type = PROBE_FIELD_HEX, .size = 8}, {&call_op, 1},
					{PROBES_STEP_PLAIN, 8, offsetof(struct patch_hit, call)},
					{PROBES_STEP_PLAIN, 8, offsetof(struct patch_hit, call)}, 8,
					false},
			{{.type = PROBE_FIELD_UNSIGNED, .size = 8}, {&time_op, 1},
					{PROBES_STEP_VALUE, 8, 0},
					{PROBES_STEP_PLAIN, 8, offsetof(struct patch_hit, elapsed)},
					8, false},
			{{.type = PROBE_FIELD_UNSIGNED, .size = 8}, {&number_op, 1},
					{PROBES_STEP_VALUE, 8, 0}, {PROBES_STEP_VALUE, 8, 0}, 8,
					false},
			{{.type = PROBE_FIELD_UNSIGNED, .size = 2}, {load_ops, 2},
					{PROBES_STEP_VALUE, 2, 0}, {PROBES_STEP_VALUE, 2, 0}, 2,
					true},
			{{.type = PROBE_FIELD_HEX, .size = 8}, {top_ops, 2},
					{PROBES_STEP_TOP, 8, 0}, {PROBES_STEP_VALUE, 8, 0}, 8,
					true},
			{{.type = PROBE_FIELD_HEX, .size = 8, .guarded = true}, {top_ops, 2},
					{PROBES_STEP_VALUE, 8, 1}, {PROBES_STEP_VALUE, 8, 1}, 9,
					true},
			{{.type = PROBE_FIELD_UNSIGNED, .size = 4}, {top_ops, 2},
					{PROBES_STEP_VALUE, 4, 0}, {PROBES_STEP_VALUE, 4, 0}, 4,
					true},
			{{.type = PROBE_FIELD_HEX, .size = 8}, {load_ops, 2},
					{PROBES_STEP_VALUE, 8, 0}, {PROBES_STEP_VALUE, 8, 0}, 8,
					true},
			{{.type = PROBE_FIELD_FLOAT, .size = 8}, {&long_op, 1},
					{PROBES_STEP_VALUE, 8, 0}, {PROBES_STEP_VALUE, 8, 0}, 8,
					true},
			{{.type = PROBE_FIELD_HEX, .size = 8}, {&block_op, 1},
					{PROBES_STEP_VALUE, 8, 0}, {PROBES_STEP_VALUE, 8, 0}, 8,
					true},
			{{.type = PROBE_FIELD_UNSIGNED, .size = 8, .guarded = true}, {&reg8_op, 1},
					{PROBES_STEP_VALUE, 8, 1}, {PROBES_STEP_VALUE, 8, 1}, 9,
					false},
			{{.type = PROBE_FIELD_UNSIGNED, .size = 16}, {&reg8_op, 1},
					{PROBES_STEP_WIDE, 0, 0}, {PROBES_STEP_WIDE, 0, 0}, 16,
					false},
			{{.type = PROBE_FIELD_BOOL, .size = 1}, {&reg8_op, 1},
					{PROBES_STEP_BOOL, 0, 0}, {PROBES_STEP_BOOL, 0, 0}, 1,
					false},
			{{.type = PROBE_FIELD_STRING, .size = 1, .limit = 70}, {&name_op, 1},
					{PROBES_STEP_NAME, 0, 0}, {PROBES_STEP_NAME, 0, 0}, 0,
					false},
			{{.type = PROBE_FIELD_STRING, .size = 1, .limit = 70, .guarded = true},
					{&name_op, 1}, {PROBES_STEP_STRING, 0, 1},
					{PROBES_STEP_STRING, 0, 1}, 72, true},
			{{.type = PROBE_FIELD_STRING, .size = 1, .limit = 70}, {&reg8_op, 1},
					{PROBES_STEP_STRING, 0, 0}, {PROBES_STEP_STRING, 0, 0}, 71,
					true},
			{{.type = PROBE_FIELD_BYTES, .size = 1, .limit = 70}, {&reg8_op, 1},
					{PROBES_STEP_GATHERED, 0, 0}, {PROBES_STEP_GATHERED, 0, 0},
					78, true},
			{{.type = PROBE_FIELD_SIGNED, .size = 4, .limit = 70}, {&reg8_op, 1},
					{PROBES_STEP_GATHERED, 0, 0}, {PROBES_STEP_GATHERED, 0, 0},
					288, true},
			{{.type = PROBE_FIELD_STRUCT, .size = 1}, {NULL, 0},
					{PROBES_STEP_NOTHING, 0, 0}, {PROBES_STEP_NOTHING, 0, 0}, 0,
					false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (int leaves = 0; leaves < 2; leaves++) {
			const struct probes_step *wanted = leaves ? &rows[i].leave : &rows[i].entry;
			struct probes_step step = {0};

			assert_int_equal(make_step(leaves, &step, &rows[i].field, &rows[i].fetch),
					rows[i].bytes);
			assert_int_equal(step.kind, wanted->kind);
			assert_int_equal(step.size, wanted->size);
			assert_int_equal(step.from, wanted->from);
			assert_int_equal(is_read(&step, &rows[i].fetch), rows[i].reads);
		}
}

static const struct probes_layout *variants(struct probes_table *table, struct probes_event *event,
		const struct probe_fetch *fetches, const char *types)
{
	static struct probes_field fields[8];
	struct probes_spec_details one = {.entry_fetches = fetches, .exit_fetches = fetches};

	memset(fields, 0, sizeof(fields));
	*event = (struct probes_event){.nr_fields = (uint32_t)strlen(types),
			.fields = fields,
			.state = (const void *)types};
	for (uint32_t i = 0; types[i]; i++) {
		fields[i].field = (struct probe_table_field){
				.type = PROBE_FIELD_UNSIGNED, .size = (uint8_t)(types[i] - '0')};
		if (types[i] == 'n')
			fields[i].field = (struct probe_table_field){
					.type = PROBE_FIELD_STRING, .size = 1, .limit = 9};
	}
	return probes_steps_make(table, event, &one, false);
}

static void test_ways(void **state)
{
	static const struct probe_fetch_op rdi = {.code = PROBE_FETCH_REGISTER, .reg = 5},
					   rsi = {.code = PROBE_FETCH_REGISTER, .reg = 4};
	const struct probe_fetch rax = {&reg8_op, 1}, r9 = {&reg9_op, 1}, name = {&name_op, 1},
				 call = {&call_op, 1}, site = {&site_op, 1};
	const struct probe_fetch registers[] = {rax, r9, rax, r9, rax, r9, rax},
				 named[] = {name, rax, r9, rax, r9, rax},
				 next[] = {{&rsi, 1}, {&rdi, 1}}, mixed[] = {site, name, call},
				 loads[] = {{load_ops, 2}},
				 freed[] = {{&rdi, 1}, {top_ops, 2}, rax};
	const uint16_t at_rax = offsetof(struct patch_hit, registers.rax),
		       at_r9 = offsetof(struct patch_hit, registers.r9);
	struct probes_table table = {0};
	struct probes_event event;
	const struct probes_layout *made = variants(&table, &event, registers, "");

	(void)state;
	assert_int_equal(made->piece, 0);
	assert_int_equal(made->most, 8);
	assert_false(made->named);
	assert_ptr_equal(made->event, &event);
	assert_ptr_equal(made->state, event.state);
	assert_false(made->leaves);
	assert_ptr_equal(event.entry, made);
	made = variants(&table, &event, registers, "4");
	assert_int_equal(made->piece, 4);
	assert_int_equal(made->from, at_rax);
	assert_int_equal(made->second, 0);
	assert_int_equal(made->nr_words, 0);
	assert_int_equal(made->nr_plain, 1);
	assert_int_equal(made->most, 12);
	made = variants(&table, &event, registers, "88");
	assert_int_equal(made->piece, 16);
	assert_int_equal(made->from, at_rax);
	assert_int_equal(made->second, at_r9);
	assert_int_equal(made->nr_words, 2);
	made = variants(&table, &event, next, "88");
	assert_int_equal(made->piece, 16);
	assert_int_equal(made->from, offsetof(struct patch_hit, registers.rsi));
	assert_int_equal(made->second,
			offsetof(struct patch_hit, registers.rdi) == made->from + 8u
					? 0
					: offsetof(struct patch_hit, registers.rdi));
	assert_false(made->second_is_top);
	made = variants(&table, &event, freed, "88");
	assert_int_equal(made->piece, 16);
	assert_int_equal(made->from, offsetof(struct patch_hit, registers.rdi));
	assert_true(made->second_is_top);
	made = variants(&table, &event, freed, "888");
	assert_int_equal(made->piece, PROBES_NO_PIECE);
	assert_false(made->second_is_top);
	made = variants(&table, &event, freed, "48");
	assert_int_equal(made->piece, PROBES_NO_PIECE);
	made = variants(&table, &event, registers, "84");
	assert_int_equal(made->piece, PROBES_NO_PIECE);
	assert_int_equal(made->nr_words, 1);
	assert_int_equal(made->nr_plain, 2);
	made = variants(&table, &event, registers, "888");
	assert_int_equal(made->piece, PROBES_NO_PIECE);
	assert_int_equal(made->nr_words, 3);
	assert_int_equal(made->nr_steps, 3);
	assert_int_equal(made->nr_names, 0);
	made = variants(&table, &event, named, "n8888");
	assert_true(made->named);
	assert_int_equal(made->nr_behind, 4);
	assert_int_equal(made->words[0], at_rax);
	assert_int_equal(made->words[1], at_r9);
	assert_int_equal(made->words[3], at_r9);
	assert_int_equal(made->nr_names, 1);
	assert_int_equal(made->nr_plain, 0);
	assert_int_equal(made->most, 8 + 32);
	assert_int_equal(made->piece, PROBES_NO_PIECE);
	made = variants(&table, &event, named, "n88888");
	assert_false(made->named);
	assert_int_equal(made->nr_behind, 0);
	made = variants(&table, &event, named, "n84");
	assert_false(made->named);
	made = variants(&table, &event, named, "n");
	assert_true(made->named);
	assert_int_equal(made->nr_behind, 0);
	made = variants(&table, &event, mixed, "8n8");
	assert_false(made->named);
	assert_int_equal(made->nr_plain, 1);
	assert_int_equal(made->nr_words, 1);
	assert_false(event.wants_reads);
	made = variants(&table, &event, loads, "8");
	assert_int_equal(made->piece, PROBES_NO_PIECE);
	assert_true(event.wants_reads);
	/* The same steps again are the same object; other ones are not. */
	{
		struct probes_spec_details one = {.entry_fetches = loads, .exit_fetches = loads};
		size_t used = table.memory.used;

		assert_ptr_equal(probes_steps_make(&table, &event, &one, false), made);
		assert_int_equal(table.memory.used, used);
		assert_ptr_not_equal(probes_steps_make(&table, &event, &one, true), made);
		assert_true(event.exit->leaves);
		one.entry_fetches = registers;
		assert_ptr_not_equal(probes_steps_make(&table, &event, &one, false), made);
		/* No memory. */
		table.memory.used = AGENT_RULES_MAX;
		one.entry_fetches = loads;
		assert_null(probes_steps_make(&table, &event, &one, false));
	}
	agent_memory_free(&table.memory);
	agent_memory_trim();
}

/* ---- answers ---- */

static void test_states(void **state)
{
	struct probes_location location = {.method = PROBE_PUNNED},
			       other = {.method = PROBE_BREAKPOINT}, bad = {.error = -EBUSY},
			       idle = {0}, watched = {.watched = true, .error = -EIO};
	struct probes_spec_details one = {.location = &location}, two = {.location = &bad},
				   three = {.location = &other};
	struct probes_spec_details *all[] = {&one};
	int errors[] = {0};
	const struct probes_table table = {.details = all, .errors = errors};
	struct wire_probe_run run;

	(void)state;
	assert_int_equal(probes_result_probe_state(&bad), WIRE_PROBE_REFUSED);
	assert_int_equal(probes_result_probe_state(&idle), WIRE_PROBE_RESTS);
	assert_int_equal(probes_result_probe_state(&watched), WIRE_PROBE_UPROBE);
	location.patch = other.patch = (void *)&location;
	assert_int_equal(probes_result_probe_state(&location), PROBE_PUNNED);
	run = probes_result_worst_run(&table, 0);
	assert_true(run.first == 0 && run.count == 1 && run.maps == 1 &&
			run.state == PROBE_PUNNED && run.error == 0);
	one.next_same = &two;
	two.next_same = &three;
	run = probes_result_worst_run(&table, 0);
	assert_true(run.maps == 3 && run.state == WIRE_PROBE_REFUSED && run.error == EBUSY);
	errors[0] = -ENOEXEC;
	run = probes_result_worst_run(&table, 0);
	assert_true(run.maps == 0 && run.count == 1 && run.state == WIRE_PROBE_REFUSED &&
			run.error == ENOEXEC);
}

#define MANY (3 * WIRE_PROBED_RUNS_MAX)

static void test_answer(void **state)
{
	static struct probes_spec_details *all[MANY];
	static int errors[MANY];
	static struct agent_session session = {.token = 77};
	struct probes_table table = {.number = 9, .details = all, .errors = errors};

	(void)state;
	table.table.parts[5].count = 4; /* probes */
	errors[1] = errors[2] = -EBUSY;
	errors[3] = -EIO;
	probe_hit_lost = 100;
	memset(&answers, 0, sizeof(answers));
	answers.connected = 60;
	assert_int_equal(probe_table_nr_probes(&table.table), 4);
	assert_int_equal(probes_answer(&session, &table), 0);
	assert_int_equal(answers.nr_sent, 1);
	assert_int_equal(answers.nr_closed, 1);
	assert_int_equal(answers.closed, 60);
	assert_true(answers.nr_mapped == 1 && answers.nr_unmapped == 1);
	assert_true(answers.messages[0].token == 77 && answers.messages[0].table == 9 &&
			answers.messages[0].nr_probes == 4);
	assert_true(answers.messages[0].cut == 11 && answers.messages[0].lost == 112 &&
			answers.messages[0].unseen == 13);
	assert_true(answers.messages[0].abandoned == 14 && answers.messages[0].traps == 15 &&
			answers.messages[0].code_bytes == 16);
	assert_true(answers.messages[0].last && answers.messages[0].sequence == 0 &&
			answers.nr_runs[0] == 3);
	assert_true(answers.runs[0][0].first == 0 && answers.runs[0][0].count == 1);
	assert_true(answers.runs[0][1].first == 1 && answers.runs[0][1].count == 2 &&
			answers.runs[0][1].error == EBUSY);
	assert_true(answers.runs[0][2].first == 3 && answers.runs[0][2].count == 1 &&
			answers.runs[0][2].error == EIO);
	/* As many runs as fit one message, and one more. */
	for (uint32_t i = 0; i < MANY; i++)
		errors[i] = -1 - (int)(i & 1);
	table.table.parts[5].count = WIRE_PROBED_RUNS_MAX;
	memset(&answers, 0, sizeof(answers));
	assert_int_equal(probes_answer(&session, &table), 0);
	assert_int_equal(answers.nr_sent, 1);
	assert_true(answers.nr_runs[0] == WIRE_PROBED_RUNS_MAX && answers.messages[0].last);
	table.table.parts[5].count++;
	memset(&answers, 0, sizeof(answers));
	assert_int_equal(probes_answer(&session, &table), 0);
	assert_int_equal(answers.nr_sent, 2);
	assert_true(answers.nr_runs[0] == WIRE_PROBED_RUNS_MAX && !answers.messages[0].last);
	assert_true(answers.nr_runs[1] == 1 && answers.messages[1].last &&
			answers.messages[1].sequence == 1);
	assert_true(answers.runs[1][0].first == WIRE_PROBED_RUNS_MAX);
	memset(&answers, 0, sizeof(answers));
	answers.sent[0] = -EPIPE;
	assert_int_equal(probes_answer(&session, &table), -EPIPE);
	assert_int_equal(answers.nr_sent, 1);
	assert_true(answers.nr_closed == 1 && answers.nr_unmapped == 1);
	memset(&answers, 0, sizeof(answers));
	answers.connected = -ENOENT;
	assert_int_equal(probes_answer(&session, &table), -ENOENT);
	assert_true(answers.nr_sent == 0 && answers.nr_unmapped == 1);
	/* A table with an error has no probes. */
	memset(&answers, 0, sizeof(answers));
	table.error = -ENOMEM;
	assert_int_equal(probes_answer(&session, &table), 0);
	assert_true(answers.messages[0].error == ENOMEM && answers.messages[0].nr_probes == 0 &&
			answers.nr_runs[0] == 0);
	memset(&answers, 0, sizeof(answers));
	answers.no_memory = true;
	assert_int_equal(probes_answer(&session, &table), -ENOMEM);
	assert_int_equal(answers.nr_closed, 0);
	probe_hit_lost = 0;
}

/* ---- contexts ---- */

static void is_path(const char *text, const char *wanted)
{
	size_t size = 99;
	const char *path = context_cgroup_find_path(text, text + strlen(text), &size);

	if (!wanted) {
		assert_null(path);
		return;
	}
	assert_non_null(path);
	assert_int_equal(size, strlen(wanted));
	assert_memory_equal(path, wanted, size);
}

static void test_cgroup(void **state)
{
	char path[64];
	uint8_t written[8];

	(void)state;
	is_path("", NULL);
	is_path("0::/one", NULL);
	is_path("0::/one\n", "/one");
	is_path("5:cpu:/cpu\n0::/one\n1:name=systemd:/two\n", "/one");
	is_path("5:cpu:/cpu\n1:name=systemd:/two\n6:x:/x\n", "/two");
	is_path("5:cpu:/cpu\n6:memory:/x\n", "/cpu");
	is_path("nothing\n6:memory:/a:b\n", "/a:b");
	is_path("7:nothing\n", NULL);
	is_path("0::\n", "");
	is_path("0::/one\n0::/cut", "/one");
	strcpy(path, "/p");
	assert_null(copy_path(path, written, written + 2));
	assert_ptr_equal(copy_path(path, written, written + 3), written + 3);
	assert_memory_equal(written, "/p", 3);
	strcpy(cgroup_paths[cgroup_version & 1].text, "/old");
	context_cgroup_changed();
	assert_int_equal(next_check, 0);
	writing = 1;
	next_check = 5;
	context_cgroup_forked();
	assert_int_equal(writing, 0);
	assert_int_equal(next_check, 0);
}

static void test_sources(void **state)
{
	char text[64], link[] = "/tmp/side-agent-values-XXXXXX", name[16] = "", target[32];
	int fd = mkstemp(link);
	static const struct {
		const char *target;
		uint64_t number;
	} rows[] = {{"mnt:[4026531840]", 4026531840}, {"12/task/34", 34}, {"12/task/", 0},
			{"x]", 0}, {"9", 9}, {"a-10]", 10}};

	(void)state;
	assert_true(fd >= 0 && write(fd, "0123456789", 10) == 10);
	assert_int_equal(context_sources_file(link, text, 4), 4);
	assert_memory_equal(text, "0123", 4);
	assert_int_equal(context_sources_file(link, text, 64), 10);
	assert_int_equal(context_sources_file("/nowhere", text, 64), -ENOENT);
	assert_int_equal(context_sources_file("/tmp", text, 64), -EISDIR);
	close(fd);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		unlink(link);
		assert_int_equal(symlink(rows[i].target, link), 0);
		assert_int_equal(link_number(link), rows[i].number);
	}
	unlink(link);
	assert_int_equal(link_number(link), 0);
	assert_int_equal(context_sources_pid(), getpid());
	assert_int_equal(context_sources_tid(), getpid());
	strcpy(target, "0123456789abcdefgh");
	assert_int_equal(prctl(PR_SET_NAME, target), 0);
	memset(name, 'x', 16);
	own_name(name);
	assert_string_equal(name, "0123456789abcde");
	/* The name that a thread has read is used with the same stamp only. */
	procname_store(5, "abcdefgh1234567");
	assert_false(procname_take(6, name));
	assert_string_equal(name, "0123456789abcde");
	assert_true(procname_take(5, name));
	assert_string_equal(name, "abcdefgh1234567");
	procname_keep(7, "other\0\0\0\0\0\0\0\0\0\0");
	assert_true(procname_take(7, name));
	assert_string_equal(name, "other");
	procname.stamp = 0;
	procname_keep(8, "third\0\0\0\0\0\0\0\0\0\0");
	assert_false(procname_take(8, name));
	assert_int_equal(procname.stamp, 0);
	context_sources_start(9);
	assert_true(procname_take(9, name));
	assert_string_equal(name, "0123456789abcde");
}

static void test_ids(void **state)
{
	uint32_t ids[3] = {1, 2, 3};

	(void)state;
	assert_false(read_ids(SYS_getresuid, ids));
	assert_true(ids[0] == getuid() && ids[1] == geteuid());
	/*
	 * A call that fails: the ids have no meaning; only in another namespace may they get one.
	 */
	assert_false(read_ids(-1, ids));
	assert_true(ids[0] == 65534 && ids[1] == 65534 && ids[2] == 65534);
	context_users_changed();
	assert_true(read_ids(-1, ids));
	assert_false(read_ids(SYS_getresuid, ids));
	assert_true(ids[0] == getuid() && ids[1] == geteuid());
}

/* ---- the loader ---- */

static void test_loader(void **state)
{
	uint8_t code[5] = {0xc3};
	uint64_t brk = (uint64_t)_r_debug.r_brk;
	int before = (int)_r_debug.r_state;
	struct patch_hit nothing = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(paddings) / sizeof(paddings[0]); i++) {
		memcpy(code + 1, paddings[i], 4);
		assert_true(is_lone_return(code));
		code[0] = 0xc2;
		assert_false(is_lone_return(code));
		code[0] = 0xc3;
		code[4] ^= 1;
		assert_false(is_lone_return(code));
	}
	_r_debug.r_brk = 0;
	probes_loader_start();
	_r_debug.r_brk = (uintptr_t)code;
	probes_loader_start();
	assert_int_equal(nr_set, 0);
	probes_loader_stop();
	assert_int_equal(nr_removed, 0);
	memcpy(code + 1, paddings[0], 4);
	set_result = -EBUSY;
	probes_loader_start();
	assert_int_equal(nr_set, 1);
	assert_null(probe);
	set_result = 0;
	probes_loader_start();
	assert_int_equal(nr_set, 2);
	assert_true(set_site.runtime == (uintptr_t)code && set_site.address == (uintptr_t)code);
	assert_true(set_site.method == PROBE_PADDING && set_site.displaced == 1 &&
			set_site.patched == 5 && set_site.ends);
	assert_true(set_site.nr_pieces == 1 && set_site.pieces[0].length == 1 &&
			set_site.nr_bytes == 5);
	assert_memory_equal(set_site.bytes, code, 5);
	assert_true(set_request.entry == loader_list_changed && !set_request.exit &&
			!set_request.flags);
	/* Once is enough. */
	probes_loader_start();
	assert_int_equal(nr_set, 2);
	_r_debug.r_state = RT_ADD;
	loader_list_changed(&nothing);
	assert_int_equal(nr_saved, 0);
	_r_debug.r_state = RT_CONSISTENT;
	loader_list_changed(&nothing);
	assert_int_equal(nr_saved, 1);
	remove_result = -EBUSY;
	probes_loader_stop();
	assert_int_equal(nr_removed, 1);
	assert_non_null(probe);
	remove_result = 0;
	/* A thread is in the handler; not in a child, in which that thread does not exist. */
	nr_inside = 1;
	assert_false(probes_loader_stop());
	assert_int_equal(nr_removed, 1);
	probes_loader_forked();
	assert_true(probes_loader_stop());
	assert_int_equal(nr_removed, 2);
	assert_null(probe);
	is_stopping = true;
	loader_list_changed(&nothing);
	assert_int_equal(nr_saved, 1);
	assert_int_equal(nr_inside, 0);
	probes_loader_stop();
	assert_int_equal(nr_removed, 2);
	_r_debug.r_brk = brk;
	_r_debug.r_state = before;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_registers),
			cmocka_unit_test(test_operations),
			cmocka_unit_test(test_sums),
			cmocka_unit_test(test_floats),
			cmocka_unit_test(test_vectors),
			cmocka_unit_test(test_one_step),
			cmocka_unit_test(test_ways),
			cmocka_unit_test(test_states),
			cmocka_unit_test(test_answer),
			cmocka_unit_test(test_cgroup),
			cmocka_unit_test(test_sources),
			cmocka_unit_test(test_ids),
			cmocka_unit_test(test_loader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
