/* SPDX-License-Identifier: MIT */
/*
 * Parts of plans with chosen values: blocks of short runs and their limits, sizes at their limit,
 * and memory that is released. The test includes the files, so that their calls can fail.
 */
#include <sys/mman.h>

static unsigned int nr_compiles, failing_compile, nr_mapped, nr_unmapped;
static int failing_map;

#define plan_compile_ops play_compile
#define mmap play_map
#define munmap play_unmap
static void *play_map(void *at, size_t size, int protection, int flags, int fd, off_t offset);
static int play_unmap(void *at, size_t size);
#include "tracers/agent/plan/plan.c"
#undef plan_compile_ops
#undef mmap
#undef munmap
#include "tracers/agent/plan/block.c"

#include "tracers/agent/plan/build.h"
#include "expect.h"

int plan_compile_ops(const struct side_event_description *description, struct plan_op *ops,
		uint32_t capacity, uint32_t *count, int64_t *fixed_size, char *error,
		size_t error_size);

int play_compile(const struct side_event_description *description, struct plan_op *ops,
		uint32_t capacity, uint32_t *count, int64_t *fixed_size, char *error,
		size_t error_size)
{
	if (++nr_compiles == failing_compile)
		return -EDOM;
	return plan_compile_ops(description, ops, capacity, count, fixed_size, error, error_size);
}

static void *play_map(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	if (failing_map)
		return MAP_FAILED;
	nr_mapped++;
	return mmap(at, size, protection, flags, fd, offset);
}

static int play_unmap(void *at, size_t size)
{
	nr_unmapped++;
	return munmap(at, size);
}

/* ---- memory ---- */

static void test_memory(void)
{
	struct side_type type = make_string(1, HOST);
	struct side_event_description *event = make_event(1, &type, NULL, 0);
	struct plan *plan = NULL;
	char error[64] = "old";
	int line = __LINE__, status;

	status = plan_compile(event, &plan, error, sizeof(error));
	EXPECT(!status && nr_compiles == 2 && nr_mapped == 1, "%d", status);
	plan_free(plan);
	EXPECT(nr_unmapped == 1, "%u", nr_unmapped);
	/* The second compilation sees another description. */
	plan = NULL;
	for (failing_compile = 1; failing_compile <= 2; failing_compile++) {
		nr_compiles = nr_mapped = nr_unmapped = 0;
		status = plan_compile(event, &plan, error, sizeof(error));
		EXPECT(status == -EDOM && !plan, "%d", status);
		EXPECT(nr_mapped == failing_compile - 1 && nr_unmapped == nr_mapped, "%u of %u",
				nr_unmapped, nr_mapped);
	}
	failing_compile = 0;
	failing_map = 1;
	status = plan_compile(event, &plan, error, sizeof(error));
	EXPECT(status == -ENOMEM && !plan && !error[0], "%d %s", status, error);
	status = plan_compile(event, &plan, NULL, 0);
	EXPECT(status == -ENOMEM && !plan, "%d", status);
	failing_map = 0;
}

/* Bytes behind the plan are not part of it, whatever their values are. */
static void test_memory_behind(void)
{
	static uint64_t memory[512];
	struct side_type types[2] = {make_string(1, HOST), make_string(1, HOST)};
	struct side_event_description *event = make_event(2, types, NULL, 0);
	ssize_t size = plan_size(event, NULL, 0);
	static const unsigned char codes[] = {PLAN_DYNAMIC, PLAN_VLA_VISITOR};
	struct plan *plan = NULL;
	int line = __LINE__;

	for (size_t i = 0; i < sizeof(codes); i++) {
		memset(memory, codes[i], sizeof(memory));
		EXPECT(size > 0 && size < 2048 && !plan_build(event, memory, (size_t)size, &plan),
				"%zd", size);
		EXPECT(plan->kind == PLAN_KIND_GP_ONLY, "%d with %u behind", plan->kind, codes[i]);
		/* The memory belongs to the caller. */
		nr_unmapped = 0;
		plan_free(plan);
		EXPECT(!nr_unmapped, "%u", nr_unmapped);
	}
}

/* ---- blocks ---- */

#define OPS_MAX 600

static union {
	struct plan_body body;
	unsigned char bytes[sizeof(struct plan_body) + (OPS_MAX + 1) * sizeof(struct plan_op)];
} made;
static struct scalar_run before[OPS_MAX];

static void begin_runs(void)
{
	memset(&made, 0, sizeof(made));
}

/* Adds `times` runs of `count` scalars of this size. */
static void add_runs(unsigned int times, unsigned int size, uint32_t count)
{
	while (times--) {
		uint32_t at = made.body.op_count++;

		made.body.ops[at] = (struct plan_op){
				.code = (uint8_t)(size ? PLAN_SCALAR_1 + __builtin_ctz(size)
						       : PLAN_SCALAR_0),
				.size = (uint8_t)size,
				.label = (uint16_t)(100 + at),
				.count = count,
				.skip = 1};
		before[at] = (struct scalar_run){made.body.ops[at].label, (uint8_t)size, count};
	}
}

static void end_runs(void)
{
	made.body.ops[made.body.op_count++] = (struct plan_op){.code = PLAN_END, .skip = 1};
	plan_block_runs(&made.body);
}

/*
 * Whether the block at `at` holds `runs` runs: each scalar has an entry, sorted by size, then by
 * position.
 */
static bool is_block(uint32_t at, uint32_t runs)
{
	static const uint8_t sizes[] = {8, 4, 2, 1, 16, 0};
	const struct plan_op *op = &made.body.ops[at];
	const struct plan_entry *entry = (const struct plan_entry *)(op + 1);
	uint32_t args = 0, bytes = 0;

	for (uint32_t i = 0; i < runs; i++) {
		args += before[at + i].count;
		bytes += before[at + i].count * before[at + i].size;
	}
	if (op->code != PLAN_BLOCK || op->count != args || op->bytes != bytes || op->skip != runs)
		return false;
	for (unsigned int group = 0; group < 6; group++) {
		uint32_t arg = 0, to = 0, nr = 0;

		for (uint32_t i = 0; i < runs; i++)
			for (uint32_t k = 0; k < before[at + i].count; k++, arg++) {
				if (before[at + i].size == sizes[group]) {
					if (entry->label != before[at + i].label ||
							entry->to != to || entry->arg != arg * 64)
						return false;
					entry++;
					nr++;
				}
				to += before[at + i].size;
			}
		if (op->groups[group] != nr)
			return false;
	}
	return true;
}

/* Whether the run is unchanged. */
static bool is_run(uint32_t at)
{
	return made.body.ops[at].code <= PLAN_SCALAR_16 &&
			made.body.ops[at].label == before[at].label &&
			made.body.ops[at].count == before[at].count;
}

#define CASE(...)        \
	begin_runs();    \
	line = __LINE__; \
	__VA_ARGS__ end_runs()

static void test_blocks(void)
{
	int line = __LINE__;

	EXPECT(ENTRIES_PER_OP == 5, "%zu", ENTRIES_PER_OP);
	CASE(add_runs(1, 4, 1););
	EXPECT(is_run(0), "one run");
	CASE(add_runs(2, 4, 1););
	EXPECT(is_block(0, 2), "two runs of one cell");
	/* Five entries fit into one operation. */
	CASE(add_runs(1, 4, 4); add_runs(1, 8, 1););
	EXPECT(is_block(0, 2), "five cells");
	CASE(add_runs(1, 4, 5); add_runs(1, 8, 1););
	EXPECT(is_run(0) && is_run(1), "six cells");
	CASE(add_runs(1, 4, 5); add_runs(1, 8, 1); add_runs(1, 2, 4););
	EXPECT(is_block(0, 3), "ten cells");
	CASE(add_runs(1, 4, 5); add_runs(1, 8, 1); add_runs(1, 2, 5););
	EXPECT(is_run(0) && is_run(1) && is_run(2), "eleven cells");
	/* Runs of all sizes, mixed. */
	CASE(add_runs(1, 16, 1); add_runs(1, 0, 2); add_runs(1, 1, 3); add_runs(1, 8, 1);
			add_runs(1, 2, 2); add_runs(1, 4, 1); add_runs(1, 8, 2);
			add_runs(1, 16, 2););
	EXPECT(is_block(0, 8), "all sizes");
	/* A block holds 256 runs at most. */
	CASE(add_runs(256, 2, 1););
	EXPECT(is_block(0, 256), "256 runs");
	CASE(add_runs(257, 2, 1););
	EXPECT(is_block(0, 256) && is_run(256), "257 runs");
	CASE(add_runs(258, 2, 1););
	EXPECT(is_block(0, 256) && is_block(256, 2), "258 runs");
	/*
	 * Long runs stay outside of blocks. Scalars after them within 4096 scalars belong to the
	 * same runs.
	 */
	CASE(add_runs(1, 1, 4096); add_runs(3, 2, 1););
	EXPECT(is_run(0) && is_block(1, 3), "4096 cells");
	CASE(add_runs(1, 1, 4097); add_runs(3, 2, 1););
	EXPECT(is_run(0) && is_block(1, 3), "4097 cells");
	CASE(add_runs(1, 1, 4095); add_runs(3, 2, 1););
	EXPECT(is_run(0) && is_run(1) && is_block(2, 2), "4095 cells");
	CASE(add_runs(1, 1, 4094); add_runs(4, 2, 1););
	EXPECT(is_run(0) && is_run(1) && is_run(2) && is_block(3, 2), "4094 cells");
	/* The same with 65535 bytes: 4095 scalars of 16 bytes are 65520. */
	CASE(add_runs(1, 16, 4095); add_runs(1, 8, 1); add_runs(2, 1, 1););
	EXPECT(is_run(0) && is_run(1) && is_block(2, 2), "65528 bytes");
	CASE(add_runs(1, 16, 4095); add_runs(1, 16, 1); add_runs(2, 1, 1););
	EXPECT(is_run(0) && is_block(1, 3), "65536 bytes");
	/* Another operation ends the runs. */
	CASE(add_runs(2, 4, 1); made.body.ops[made.body.op_count++] =
						(struct plan_op){.code = PLAN_STRING, .skip = 1};
			before[2] = (struct scalar_run){0}; add_runs(2, 2, 1););
	EXPECT(is_block(0, 2) && made.body.ops[2].code == PLAN_STRING && is_block(3, 2),
			"a string");
	CASE(add_runs(1, 4, 1); made.body.ops[made.body.op_count++] =
						(struct plan_op){.code = PLAN_ARRAY, .skip = 3};
			add_runs(4, 2, 1););
	/* A run inside an array is not joined with the runs after the array. */
	EXPECT(is_run(0) && made.body.ops[1].code == PLAN_ARRAY && is_run(2) && is_run(3) &&
					is_block(4, 2),
			"an array");
}

/* ---- sizes ---- */

static void test_sizes(void)
{
	int line = __LINE__;

	EXPECT(plan_size_sum(INT32_MAX - 1, 1) == INT32_MAX &&
					plan_size_sum(INT32_MAX, 0) == INT32_MAX,
			"sum");
	EXPECT(plan_size_sum(INT32_MAX, 1) == -1 && plan_size_sum(-1, 1) == -1 &&
					plan_size_sum(1, -1) == -1,
			"sum");
	EXPECT(plan_size_times(INT32_MAX, 1) == INT32_MAX &&
					plan_size_times(1, INT32_MAX) == INT32_MAX,
			"x 1");
	EXPECT(plan_size_times(1 << 30, 1) == 1 << 30 && plan_size_times(1 << 30, 2) == -1, "x 2");
	EXPECT(plan_size_times(3, INT32_MAX / 3) == INT32_MAX / 3 * 3, "x a third");
	EXPECT(plan_size_times(3, INT32_MAX / 3 + 1) == -1, "x more than a third");
	EXPECT(plan_size_times(0, UINT32_MAX) == 0 && plan_size_times(-1, 1) == -1 &&
					plan_size_times(-1, 0) == -1,
			"x nothing");
}

/* ---- elements ---- */

/* A list whose elements have the largest distance, and one byte more. */
static void test_distances(void)
{
	struct side_type byte = gather_byte(3, DIRECT), half, element;
	struct side_type length = gather_integer(0, 1, 0, 0, false, HOST, DIRECT);
	static const uint8_t memory[8] = {1, 9, 8, 7, 6, 5, 4, 3};
	struct side_arg arg = arg_gather_vla(memory, memory);

	element = gather_struct(make_members(1, &byte, NULL), 0, UINT32_MAX, DIRECT);
	expect_field(gather_vla(element, 0, DIRECT, length), arg, "01 07");
	half = gather_struct(make_members(1, &byte, NULL), 0, 1u << 31, DIRECT);
	element = gather_array(half, 2, 0, DIRECT);
	expect_no_type(gather_vla(element, 0, DIRECT, length), -E2BIG, "too far apart");
	/* Elements that are copied at once begin at their own offset. */
	expect_field(gather_vla(gather_byte(3, DIRECT), 1, DIRECT, length), arg, "01 06");
}

int main(void)
{
	test_memory();
	test_memory_behind();
	test_blocks();
	test_sizes();
	test_distances();
	return expect_end();
}
