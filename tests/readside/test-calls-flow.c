/* SPDX-License-Identifier: MIT */
/*
 * How far a function is followed (calls-flow.c), and the verdict about the arguments of a call
 * (calls-compare.c).
 */
#include "programs/readside/calls.h"

#include "../failing-calls.h"
#include "../check.h"

#define SIDE_STATIC_CHECK_DISABLE
#include <side/trace.h>

#define CODE(name, text)                                                         \
	extern const uint8_t name[] __attribute__((visibility("hidden")));       \
	extern const uint8_t name##_end[] __attribute__((visibility("hidden"))); \
	__asm__(".pushsection .rodata\n" #name ":\n" text "\n" #name "_end:\n.popsection\n")

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };

#define BEGIN 0x100000
#define FRAME_GUESS (512 + 8192)

/* ---- functions ---- */

static struct followed {
	unsigned int nr;
	struct {
		uint64_t at, target;
		struct calls_value first, second, stack;
		bool blind;
	} calls[64];
	uint64_t entered;
	size_t budget;
} followed;

static void note_leaving(void *opaque, uint64_t at, const struct calls_step *step,
		const struct calls_state *state)
{
	struct followed *to = opaque;

	/* ret */
	if (step->length == 1)
		return;
	CHECK(to->nr < 64);
	to->calls[to->nr].at = at - BEGIN;
	to->calls[to->nr].target = step->target;
	to->calls[to->nr].first = state->registers[RAX];
	to->calls[to->nr].second = state->registers[RBX];
	to->calls[to->nr].stack = state->registers[RSP];
	to->calls[to->nr++].blind = state->blind;
}

static bool is_entered(void *opaque, uint64_t address)
{
	const struct followed *to = opaque;

	return to->entered && address == to->entered;
}

static int follow_with(const uint8_t *code, size_t size, size_t budget, uint64_t entered)
{
	const struct calls_flow_ops ops = {note_leaving, is_entered, &followed, &followed.budget};

	followed = (struct followed){.budget = budget, .entered = entered};
	return calls_follow(NULL, BEGIN, code, size, &ops);
}

#define FOLLOW(name) CHECK(!follow_with(name, (size_t)(name##_end - name), SIZE_MAX, 0))

static bool is_value(
		struct calls_value value, enum known_value kind, unsigned int mask, int64_t number)
{
	bool same = value.kind == kind && value.mask == mask && value.number == number;

	if (!same)
		fprintf(stderr, "found kind %u, mask 0x%x, number 0x%llx\n", value.kind, value.mask,
				(unsigned long long)value.number);
	return same;
}

#define IS(value, kind, mask, number) CHECK(is_value(value, kind, mask, number))

static void test_ways(void)
{
	/* Two paths meet: a value that both know is known. */
	CODE(backends, "movl $1, %eax\n movl $2, %ebx\n testl %ecx, %ecx\n je 1f\n movl $3, %eax\n 1: call . + 0x10000\n ret");
	FOLLOW(backends);
	CHECK(followed.nr == 1 && followed.calls[0].at == 19 &&
			followed.calls[0].target == BEGIN + 19 + 0x10000);
	IS(followed.calls[0].first, KNOWN_BYTES, 0xfe, 0);
	IS(followed.calls[0].second, KNOWN_BYTES, 0xff, 2);
	IS(followed.calls[0].stack, KNOWN_STACK, 0, 0);
	/*
	 * A loop: the second round changes the known values at its begin. Jumps within a function
	 * are not calls.
	 */
	CODE(loop, "movl $1, %eax\n 1: call . + 0x10000\n movl $5, %eax\n movl $6, %ebx\n jne 1b\n jmp 2f\n 2: jmp . + 0x20000");
	FOLLOW(loop);
	CHECK(followed.nr == 2 && followed.calls[0].at == 5 &&
			followed.calls[1].target == BEGIN + 24 + 0x20000);
	IS(followed.calls[0].first, KNOWN_BYTES, 0xfe, 0);
	IS(followed.calls[0].second, KNOWN_BYTES, 0, 0);
	IS(followed.calls[1].first, KNOWN_BYTES, 0xff, 5);
	/*
	 * A call of a function within this code, calls through memory, and a jump after the last
	 * byte.
	 */
	CODE(slots, "call *0x100(%rip)\n jmp *%rax");
	FOLLOW(slots);
	CHECK(followed.nr == 2 && followed.calls[1].at == 6 && !followed.calls[1].target);
	CODE(edges, "call 1f\n 1: nop\n je 2f\n je 1b\n nop\n 2:");
	FOLLOW(edges);
	CHECK(followed.nr == 2 && followed.calls[0].target == BEGIN + 5 &&
			followed.calls[1].at == 6 && followed.calls[1].target == BEGIN + 11);
	/* An invalid instruction: the path ends there. */
	CODE(hole, "movl $1, %eax\n .byte 0x06\n movl $2, %eax\n call . + 0x10000\n ret");
	FOLLOW(hole);
	CHECK(followed.nr == 1 && followed.calls[0].blind);
	IS(followed.calls[0].first, KNOWN_BYTES, 0xff, 2);
}

static void test_blind_ways(void)
{
	/*
	 * After a jump to an unknown address, no value is known, and the stack pointer is within
	 * the frame.
	 */
	CODE(table, "movl $1, %eax\n movl $2, %ebx\n subq $32, %rsp\n jmp *%rcx\n movl $3, %eax\n call . + 0x10000\n ret\n call . + 0x10000\n ret");
	const int64_t below = FRAME_GUESS + 32;

	FOLLOW(table);
	CHECK(followed.nr == 3 && !followed.calls[0].blind && followed.calls[1].blind &&
			followed.calls[1].at == 21);
	IS(followed.calls[0].stack, KNOWN_STACK, 0, -32);
	IS(followed.calls[1].first, KNOWN_BYTES, 0xff, 3);
	IS(followed.calls[1].second, KNOWN_BYTES, 0, 0);
	IS(followed.calls[1].stack, KNOWN_STACK, 0, 1024 - below);
	CHECK(followed.calls[2].at == 27 && followed.calls[2].blind);
	IS(followed.calls[2].first, KNOWN_BYTES, 0, 0);
	/* The known frame of one path is better than a guess. */
	CODE(joined, "subq $32, %rsp\n movl $1, %eax\n jmp *%rcx\n movl $3, %eax\n 1: call . + 0x10000\n ret");
	FOLLOW(joined);
	CHECK(followed.nr == 2);
	CODE(both, "testl %ecx, %ecx\n je 1f\n subq $32, %rsp\n movl $1, %eax\n jmp 2f\n 1: jmp *%rcx\n movl $3, %eax\n 2: call . + 0x10000\n ret");
	FOLLOW(both);
	CHECK(followed.nr == 2 && !followed.calls[1].blind);
	IS(followed.calls[1].stack, KNOWN_STACK, 0, -32);
	IS(followed.calls[1].first, KNOWN_BYTES, 0, 0);
	/* Another function jumps there. The begin of the function is entered by its callers. */
	CODE(inside, "movl $1, %eax\n movl $2, %ebx\n call . + 0x10000\n ret");
	CHECK(!follow_with(inside, (size_t)(inside_end - inside), SIZE_MAX, BEGIN + 5));
	CHECK(followed.nr == 1);
	IS(followed.calls[0].first, KNOWN_BYTES, 0, 0);
	IS(followed.calls[0].second, KNOWN_BYTES, 0xff, 2);
	CHECK(!follow_with(inside, (size_t)(inside_end - inside), SIZE_MAX, BEGIN));
	IS(followed.calls[0].first, KNOWN_BYTES, 0xff, 1);
}

/* ---- limits ---- */

/* Instructions of 15 bytes, and smaller ones up to the size; the last is a call. */
static uint8_t *long_code(size_t size)
{
	static const uint8_t nop[] = {
			0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x90};
	uint8_t *code = malloc(size);
	size_t at = 0;

	CHECK(code);
	for (; size - at >= sizeof(nop) + 5; at += sizeof(nop))
		memcpy(code + at, nop, sizeof(nop));
	memset(code + at, 0x90, size - at);
	memcpy(code + size - 5, "\xe8\0\0\x10\0", 5);
	return code;
}

static void test_size(void)
{
	uint8_t *code = long_code((1u << 20) + 1);
	const uint8_t ret[] = {0xc3};

	CHECK(follow_with(code, (1u << 20) + 1, SIZE_MAX, 0) == -E2BIG && !followed.nr);
	CHECK(!follow_with(code + 1, 1u << 20, SIZE_MAX, 0) && followed.nr == 1);
	CHECK(followed.calls[0].at == (1u << 20) - 5);
	CHECK(follow_with(ret, 0, SIZE_MAX, 0) == -E2BIG);
	CHECK(!follow_with(ret, 1, SIZE_MAX, 0) && !followed.nr);
	free(code);
}

/* subq $frame, %rsp; nr conditional jumps to the next instruction; a call; ret. */
static size_t code_of_frame(uint8_t *code, uint32_t frame, unsigned int nr)
{
	size_t size = 7;

	memcpy(code, "\x48\x81\xec", 3);
	memcpy(code + 3, &frame, sizeof(frame));
	for (unsigned int i = 0; i < nr; i++) {
		code[size++] = 0x75;
		code[size++] = 0;
	}
	memcpy(code + size, "\xe8\0\0\x10\0\xc3", 6);
	return size + 6;
}

static void test_frame(void)
{
	uint8_t code[1024];
	uint32_t most = (128u << 10) - FRAME_GUESS, exact;
	size_t state;

	CHECK(!follow_with(code, code_of_frame(code, most, 0), SIZE_MAX, 0));
	CHECK(followed.nr == 1 && followed.calls[0].stack.number == -(int64_t)most);
	CHECK(follow_with(code, code_of_frame(code, most + 1, 0), SIZE_MAX, 0) == -E2BIG &&
			!followed.nr);
	/* Memory: a state of 256 KiB for each of 256 locations where paths meet is 64 MiB. */
	state = 256u << 10;
	CHECK((state - sizeof(struct calls_state)) % 2 == 0);
	exact = (uint32_t)((state - sizeof(struct calls_state)) / 2 - 512 - FRAME_GUESS);
	CHECK(!follow_with(code, code_of_frame(code, exact, 255), SIZE_MAX, 0) && followed.nr == 1);
	CHECK(follow_with(code, code_of_frame(code, exact, 256), SIZE_MAX, 0) == -E2BIG &&
			!followed.nr);
}

/* Each instruction is a step, each state that arrives at a location is one step for 64 bytes. */
static void test_budget(void)
{
	CODE(steps, "movl $1, %eax\n je 1f\n nop\n 1: call . + 0x10000\n ret");
	const size_t size = (size_t)(steps_end - steps),
		     arrival = (sizeof(struct calls_state) + 2 * (FRAME_GUESS + 512)) / 64;
	/*
	 * The begin, and both paths to the call; five instructions, each followed once to learn the
	 * states and once to report.
	 */
	const size_t budget = 3 * arrival + 10;

	CHECK(!follow_with(steps, size, budget, 0) && followed.nr == 1 && !followed.budget);
	CHECK(follow_with(steps, size, budget - 1, 0) == -E2BIG);
	CHECK(follow_with(steps, size, 2 * arrival + 1, 0) == -E2BIG && !followed.nr);
	CHECK(follow_with(steps, size, arrival - 1, 0) == -E2BIG && followed.budget == arrival - 1);
	CHECK(follow_with(steps, size, arrival, 0) == -E2BIG && !followed.budget);
}

/* Each allocation fails in turn: this is reported, and nothing else. */
static void test_memory(void)
{
	CODE(memory, "je 1f\n nop\n 1: jmp *%rcx\n call . + 0x10000\n ret");
	unsigned int failures = 0;

	for (unsigned int call = 1;; call++) {
		int ret;

		failing_arm(call);
		ret = follow_with(memory, (size_t)(memory_end - memory), SIZE_MAX, 0);
		if (!failing_has_failed()) {
			CHECK(!ret && followed.nr == 2);
			break;
		}
		CHECK(ret == -ENOMEM && !followed.nr);
		failures++;
	}
	/*
	 * Marks, states, waiting locations; two states to work with; three locations; one blind
	 * state each for two of them, of which one is known.
	 */
	CHECK(failures == 9);
	failing_arm(1);
	CHECK(!calls_state_new(16, 16) && failing_has_failed());
}

/* ---- arguments ---- */

static side_define_struct(pair, side_field_list(side_field_s32("row"), side_field_s32("column")));
static side_define_array(three, side_elem(side_type_u16()), 3);
static side_define_vla(many, side_elem(side_type_struct(pair)), side_length(side_type_u8()));
static side_define_enum(color, side_enum_mapping_list(side_enum_mapping_value("red", 1)));
static side_define_enum_bitmap(
		flags, side_enum_bitmap_mapping_list(side_enum_bitmap_mapping_value("one", 1)));
static side_define_struct(level_8, side_field_list(side_field_u8("h")));
static side_define_struct(level_7, side_field_list(side_field_struct("g", level_8)));
static side_define_struct(level_6, side_field_list(side_field_struct("f", level_7)));
static side_define_struct(level_5, side_field_list(side_field_struct("e", level_6)));
static side_define_struct(level_4, side_field_list(side_field_struct("d", level_5)));
static side_define_struct(level_3, side_field_list(side_field_struct("c", level_4)));
static side_define_struct(level_2, side_field_list(side_field_struct("b", level_3)));
static side_define_struct(level_1, side_field_list(side_field_struct("a", level_2)));
side_static_event(simple, "p", "simple", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("a"), side_field_string("b")));
side_static_event(offset, "p", "place", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_struct("where", pair), side_field_u8("z")));
side_static_event(lists, "p", "lists", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_array("three", three), side_field_vla("many", many)));
side_static_event(labels, "p", "labels", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_enum("e", &color, side_elem(side_type_s16())),
				side_field_enum_bitmap("m", &flags, side_elem(side_type_u64())),
				side_field_dynamic("d"),
				side_field_gather_enum("g", color,
						side_elem(side_type_gather_unsigned_integer(0, 4, 0,
								0,
								SIDE_TYPE_GATHER_ACCESS_DIRECT)))));
side_static_event(deep, "p", "deep", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_struct("x", level_1)));

/*
 * Arguments in the frame of a state: a vector with the structure's layout, and its elements after
 * it.
 */
static struct calls_state *state;
static int64_t used;
static struct calls_problem problem;
static struct image *image; /* of this program, or NULL */

static void begin_arguments(void)
{
	free(state);
	state = calls_state_new(1 << 18, 0);
	CHECK(state);
	used = -(1 << 18);
}

static struct calls_value vector(unsigned int nr, int64_t *elements)
{
	struct calls_value at = {KNOWN_STACK, 0, used};

	*elements = used + (int64_t)sizeof(struct side_arg_vec);
	calls_store(state, used + (int64_t)offsetof(struct side_arg_vec, sav), 8,
			(struct calls_value){KNOWN_STACK, 0, *elements});
	calls_store(state, used + (int64_t)offsetof(struct side_arg_vec, len), 4,
			calls_constant(nr, 4));
	used = *elements + (int64_t)(nr * sizeof(struct side_arg));
	return at;
}

static void set_label(int64_t elements, unsigned int index, unsigned int label)
{
	calls_store(state, elements + (int64_t)(index * sizeof(struct side_arg)), 2,
			calls_constant(label, 2));
}

static void set_inside(int64_t elements, unsigned int index, struct calls_value inside)
{
	calls_store(state,
			elements +
					(int64_t)(index * sizeof(struct side_arg) +
							offsetof(struct side_arg, u)),
			8, inside);
}

static enum calls_verdict compare(
		const struct calls_value *arguments, const struct side_event_description *event)
{
	problem = (struct calls_problem){"", ""};
	return calls_compare(image, state, arguments, event, &problem);
}

static bool is_problem(const char *field, const char *text)
{
	bool same = !strcmp(problem.field, field) && !strcmp(problem.text, text);

	if (!same)
		fprintf(stderr, "found %s: %s\n", problem.field, problem.text);
	return same;
}

static void test_simple(void)
{
	struct calls_value arguments;
	int64_t at;

	begin_arguments();
	arguments = vector(2, &at);
	CHECK(compare(&arguments, &simple) == VERDICT_UNKNOWN);
	set_label(at, 0, SIDE_TYPE_U32);
	CHECK(compare(&arguments, &simple) == VERDICT_UNKNOWN);
	set_label(at, 1, SIDE_TYPE_STRING_UTF8);
	CHECK(compare(&arguments, &simple) == VERDICT_FITS);
	set_label(at, 1, SIDE_TYPE_S64);
	CHECK(compare(&arguments, &simple) == VERDICT_WRONG &&
			is_problem("b", "expected STRING_UTF8, found S64"));
	/* An unknown argument does not hide the next one. */
	calls_store(state, at, 1, calls_unknown);
	CHECK(compare(&arguments, &simple) == VERDICT_WRONG &&
			is_problem("b", "expected STRING_UTF8, found S64"));
	set_label(at, 1, SIDE_TYPE_STRING_UTF8);
	CHECK(compare(&arguments, &simple) == VERDICT_UNKNOWN && is_problem("", ""));
	arguments = vector(3, &at);
	CHECK(compare(&arguments, &simple) == VERDICT_WRONG &&
			is_problem("", "expected 2 arguments, as many as the event has fields, found 3"));
	calls_store(state, arguments.number + (int64_t)offsetof(struct side_arg_vec, len) + 3, 1,
			calls_unknown);
	CHECK(compare(&arguments, &simple) == VERDICT_UNKNOWN && is_problem("", ""));
	/* NULL is not the address of constants. */
	arguments = vector(2, &at);
	calls_store(state, arguments.number, 8, calls_constant(0, 8));
	CHECK(compare(&arguments, &simple) == VERDICT_UNKNOWN);
	CHECK(compare(&calls_unknown, &simple) == VERDICT_UNKNOWN);
}

static void test_inside(void)
{
	struct calls_value arguments, inside;
	int64_t at, members;

	begin_arguments();
	arguments = vector(2, &at);
	inside = vector(2, &members);
	set_label(at, 0, SIDE_TYPE_STRUCT);
	set_label(at, 1, SIDE_TYPE_U8);
	CHECK(compare(&arguments, &offset) == VERDICT_UNKNOWN);
	set_inside(at, 0, inside);
	set_label(members, 0, SIDE_TYPE_S32);
	set_label(members, 1, SIDE_TYPE_S32);
	CHECK(compare(&arguments, &offset) == VERDICT_FITS);
	set_label(members, 1, SIDE_TYPE_U8);
	CHECK(compare(&arguments, &offset) == VERDICT_WRONG &&
			is_problem("where.column", "expected S32, found U8"));
	set_inside(at, 0, vector(1, &members));
	CHECK(compare(&arguments, &offset) == VERDICT_WRONG &&
			is_problem("where",
					"expected 2 arguments, as many as the structure has fields, found 1"));
}

static void test_lists(void)
{
	struct calls_value arguments, pairs;
	int64_t at, elements, members;

	begin_arguments();
	arguments = vector(2, &at);
	set_label(at, 0, SIDE_TYPE_ARRAY);
	set_label(at, 1, SIDE_TYPE_VLA);
	set_inside(at, 0, vector(3, &elements));
	for (unsigned int i = 0; i < 3; i++)
		set_label(elements, i, SIDE_TYPE_U16);
	set_inside(at, 1, vector(0, &members));
	CHECK(compare(&arguments, &lists) == VERDICT_FITS);
	set_label(elements, 2, SIDE_TYPE_U8);
	CHECK(compare(&arguments, &lists) == VERDICT_WRONG &&
			is_problem("three[2]", "expected U16, found U8"));
	calls_store(state, elements + 2 * (int64_t)sizeof(struct side_arg), 2, calls_unknown);
	CHECK(compare(&arguments, &lists) == VERDICT_UNKNOWN);
	set_inside(at, 0, vector(4, &elements));
	CHECK(compare(&arguments, &lists) == VERDICT_WRONG &&
			is_problem("three", "expected an array of 3 elements, found one of 4"));
	calls_store(state, elements - 4, 1, calls_unknown);
	CHECK(compare(&arguments, &lists) == VERDICT_UNKNOWN);
	set_inside(at, 0, vector(3, &elements));
	for (unsigned int i = 0; i < 3; i++)
		set_label(elements, i, SIDE_TYPE_U16);
	pairs = vector(1025, &members);
	set_inside(at, 1, pairs);
	for (unsigned int i = 0; i < 1025; i++) {
		int64_t values;

		set_label(members, i, SIDE_TYPE_STRUCT);
		if (i >= 2)
			continue;
		set_inside(members, i, vector(2, &values));
		set_label(values, 0, SIDE_TYPE_S32);
		set_label(values, 1, i ? SIDE_TYPE_U32 : SIDE_TYPE_S32);
	}
	CHECK(compare(&arguments, &lists) == VERDICT_WRONG &&
			is_problem("many[1].column", "expected S32, found U32"));
	calls_forget(state, members + (int64_t)sizeof(struct side_arg) + 4,
			members + (int64_t)sizeof(struct side_arg) + 12);
	/* 1,024 elements are compared. */
	set_label(members, 1024, SIDE_TYPE_U8);
	CHECK(compare(&arguments, &lists) == VERDICT_UNKNOWN);
	set_label(members, 1023, SIDE_TYPE_U8);
	CHECK(compare(&arguments, &lists) == VERDICT_WRONG &&
			is_problem("many[1023]", "expected STRUCT, found U8"));
}

static void test_labels(void)
{
	struct calls_value arguments;
	int64_t at;

	begin_arguments();
	arguments = vector(4, &at);
	set_label(at, 0, SIDE_TYPE_S16);
	set_label(at, 1, SIDE_TYPE_U64);
	set_label(at, 2, SIDE_TYPE_DYNAMIC_INTEGER);
	set_label(at, 3, SIDE_TYPE_GATHER_INTEGER);
	CHECK(compare(&arguments, &labels) == VERDICT_FITS);
	set_label(at, 3, SIDE_TYPE_GATHER_ENUM);
	CHECK(compare(&arguments, &labels) == VERDICT_WRONG &&
			is_problem("g", "expected GATHER_INTEGER, found GATHER_ENUM"));
	set_label(at, 2, SIDE_TYPE_U8);
	CHECK(compare(&arguments, &labels) == VERDICT_WRONG &&
			is_problem("d", "expected DYNAMIC, found U8"));
	set_label(at, 1, SIDE_TYPE_ENUM_BITMAP);
	CHECK(compare(&arguments, &labels) == VERDICT_WRONG &&
			is_problem("m", "expected U64, found ENUM_BITMAP"));
	set_label(at, 0, SIDE_TYPE_ENUM);
	CHECK(compare(&arguments, &labels) == VERDICT_WRONG &&
			is_problem("e", "expected S16, found ENUM"));
}

extern const char __ehdr_start[] __attribute__((visibility("hidden")));

/* Arguments that are constants of the file. */
static void test_constants(void)
{
	static const struct side_arg good[] = {
			{.type = {SIDE_TYPE_U32}}, {.type = {SIDE_TYPE_STRING_UTF8}}};
	static const struct side_arg wrong[] = {
			{.type = {SIDE_TYPE_U32}}, {.type = {SIDE_TYPE_U16}}};
	const struct side_arg *const lists_of[] = {good, wrong};
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct error error;
	size_t nr;
	uint64_t base;

	CHECK(fd >= 0 && !image_open(fd, true, &image, &error));
	base = (uint64_t)(uintptr_t)__ehdr_start - image_segments(image, &nr)[0].address;
	for (unsigned int i = 0; i < 2; i++) {
		struct calls_value arguments;
		int64_t at;

		begin_arguments();
		arguments = vector(2, &at);
		calls_store(state, arguments.number, 8,
				calls_constant((uint64_t)(uintptr_t)lists_of[i] - base, 8));
		CHECK(compare(&arguments, &simple) == (i ? VERDICT_WRONG : VERDICT_FITS));
		CHECK(is_problem(i ? "b" : "", i ? "expected STRING_UTF8, found U16" : ""));
		/* The header of the file is at address 0, which is not an argument. */
		calls_store(state, arguments.number, 8, calls_constant(0, 8));
		CHECK(compare(&arguments, &simple) == VERDICT_UNKNOWN);
		calls_store(state, arguments.number, 8, calls_constant(UINT64_MAX - 64, 8));
		CHECK(compare(&arguments, &simple) == VERDICT_UNKNOWN);
	}
	image_close(image);
	image = NULL;
	close(fd);
}

/* Eight levels of structures are compared. The argument of the innermost level is wrong. */
static void test_depth(void)
{
	struct calls_value arguments;
	int64_t at, inner;

	for (unsigned int levels = 7; levels <= 8; levels++) {
		begin_arguments();
		arguments = vector(1, &at);
		for (unsigned int i = 0; i < levels; i++) {
			set_label(at, 0, SIDE_TYPE_STRUCT);
			set_inside(at, 0, vector(1, &inner));
			at = inner;
		}
		set_label(at, 0, SIDE_TYPE_U16);
		CHECK(compare(&arguments, &deep) == VERDICT_WRONG);
		CHECK(levels == 7 ? is_problem("x.a.b.c.d.e.f.g", "expected STRUCT, found U16")
				  : is_problem("x.a.b.c.d.e.f.g.h", "expected U8, found U16"));
	}
}

int main(void)
{
	test_ways();
	test_blind_ways();
	test_size();
	test_frame();
	test_budget();
	test_memory();
	test_simple();
	test_inside();
	test_lists();
	test_labels();
	test_constants();
	test_depth();
	free(state);
	return 0;
}
