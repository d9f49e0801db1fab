/* SPDX-License-Identifier: MIT */
/*
 * Parts of plans: which operations are joined, which kind and method a plan chooses, limits of
 * pointers, booleans and lengths, and the reason of each refusal. (Written for little-endian
 * hosts.)
 */
#include "tracers/agent/plan/build.h"
#include "tracers/agent/plan/bytes.h"
#include "tracers/agent/plan/plan.h"
#include "tracers/agent/plan/op.h"
#include "expect.h"

#define DYNAMIC make_label(SIDE_TYPE_DYNAMIC)

/* ---- operations ---- */

/* Returns the number of operations of an event with these fields, including the last one. */
static unsigned int operations(uint32_t count, const struct side_type *types)
{
	ssize_t size = plan_size(make_event(count, types, NULL, 0), NULL, 0);

	return size < 0 ? 0
			: (unsigned int)(((size_t)size - sizeof(struct plan_body)) /
					  sizeof(struct plan_op));
}

static unsigned int kind(struct side_type type)
{
	struct plan *plan = expect_plan(make_event(1, &type, NULL, 0), __LINE__);
	unsigned int found = plan->kind;

	plan_free(plan);
	return found;
}

/* Two adjacent runs of bytes in one structure. */
static struct side_type two_runs(uint32_t first, uint32_t second)
{
	struct side_type runs[2] = {gather_array(gather_byte(0, DIRECT), first, 0, DIRECT),
			gather_array(gather_byte(0, DIRECT), second, first, DIRECT)};

	return gather_struct(make_members(2, runs, NULL), 0, 8, DIRECT);
}

/* Whether the operation after the first one is the only one, and can be extended. */
static void test_single(void)
{
	int line = __LINE__;

	for (uint32_t count = 4; count <= 6; count++) {
		for (uint32_t last = 3; last <= 5; last++) {
			const struct plan_builder builder = {.count = count, .last_at = last};

			EXPECT(plan_has_single(&builder, 3) == (count == 5 && last == 4),
					"%u operations, the last one is %u", count, last);
		}
	}
}

/* A vector must have as many arguments as the plan. */
static void test_span_vectors(void)
{
	static const char text[] =
			"the first run has sixty bytes, and the second one has four of th";
	struct side_type runs[2] = {make_plain(2, false), two_runs(60, 4)};
	struct plan *plan = expect_plan(make_event(2, runs, NULL, 0), __LINE__);
	struct side_arg arguments[3] = {ARG(SIDE_TYPE_U16, uint16_t, 0x1234),
			arg_pointer(SIDE_TYPE_GATHER_STRUCT, text),
			ARG(SIDE_TYPE_U16, uint16_t, 7)};
	struct plan_span span = {NULL, 0};
	struct side_arg_vec *vector;
	uint8_t buffer[16];
	int line = __LINE__;
	ssize_t size = plan_serialize_span(
			plan, make_vector(2, arguments), buffer, sizeof(buffer), &span);

	EXPECT(plan->kind == PLAN_KIND_SPAN, "kind %u", plan->kind);
	EXPECT(size == 2 && span.size == 64 && span.bytes == (const uint8_t *)text, "%zd", size);
	for (uint32_t nr = 1; nr <= 3; nr += 2) {
		size = plan_serialize_span(
				plan, make_vector(nr, arguments), buffer, sizeof(buffer), &span);
		EXPECT(size == -EINVAL, "%zd for %u arguments", size, nr);
	}
	vector = make_vector(2, arguments);
	side_ptr_set(vector->sav, NULL);
	size = plan_serialize_span(plan, vector, buffer, sizeof(buffer), &span);
	EXPECT(size == -EINVAL, "%zd without arguments", size);
	size = plan_serialize_span(plan, NULL, buffer, sizeof(buffer), &span);
	EXPECT(size == -EINVAL, "%zd without a vector", size);
	plan_free(plan);
}

static void test_joined(void)
{
	struct side_type u32 = make_plain(4, false), s32 = make_plain(4, true);
	struct side_type empty, members[3], many[200];
	static const uint8_t bytes[] = "0123456789";
	const uint32_t most = UINT32_MAX / 16;
	int line = __LINE__;

	EXPECT(operations(1, &u32) == 2, "one");
	EXPECT(operations(3, (struct side_type[]){u32, u32, u32}) == 2, "three of a kind");
	EXPECT(operations(3, (struct side_type[]){u32, s32, u32}) == 4, "two kinds");
	EXPECT(operations(3, (struct side_type[]){u32, make_plain(8, false), u32}) == 4,
			"two sizes");
	/* One operation copies at most this many bytes, unless one member is larger. */
	EXPECT(kind(two_runs(most - 1, 1)) == PLAN_KIND_SPAN, "joined");
	EXPECT(kind(two_runs(most, 1)) == PLAN_KIND_GP_ONLY, "too long");
	EXPECT(kind(two_runs(1, most)) == PLAN_KIND_GP_ONLY, "too long");
	/* An array of a structure is joined with its neighbour, too. */
	members[0] = gather_integer(0, 4, 0, 0, false, HOST, DIRECT);
	members[1] = gather_array(gather_integer(0, 4, 0, 0, false, HOST, DIRECT), 15, 4, DIRECT);
	EXPECT(kind(gather_struct(make_members(2, members, NULL), 0, 64, DIRECT)) == PLAN_KIND_SPAN,
			"64 bytes");
	/* An empty array does not change the operation before it. */
	empty = gather_array(gather_byte(0, DIRECT), 0, 4, DIRECT);
	members[1] = empty;
	members[2] = gather_byte(0, DIRECT);
	expect_field(gather_struct(make_members(3, members, NULL), 1, 8, DIRECT),
			arg_pointer(SIDE_TYPE_GATHER_STRUCT, bytes), "'1234' '1'");
	members[2] = gather_byte(4, DIRECT);
	expect_field(gather_struct(make_members(3, members, NULL), 1, 8, DIRECT),
			arg_pointer(SIDE_TYPE_GATHER_STRUCT, bytes), "'12345'");
	/* Replaced operations are not nested. */
	for (unsigned int i = 0; i < 200; i++)
		many[i] = gather_integer(0, 4, 0, 0, false, HOST, DIRECT);
	EXPECT(operations(200, many) == 201, "%u", operations(200, many));
	for (unsigned int i = 0; i < 200; i++)
		many[i] = empty;
	EXPECT(operations(1,
			       (struct side_type[]){gather_struct(
					       make_members(200, many, NULL), 0, 8, DIRECT)}) == 3,
			"200 empty arrays");
	for (unsigned int i = 0; i < 200; i++)
		many[i] = gather_struct(make_members(0, NULL, NULL), 0, 8, POINTER);
	EXPECT(operations(1,
			       (struct side_type[]){gather_struct(
					       make_members(200, many, NULL), 0, 8, DIRECT)}) == 2,
			"200 empty structures");
}

/* ---- methods ---- */

static void test_ways(void)
{
	struct side_type types[64];
	struct side_event_description *event;
	struct plan *plan;
	plan_step_func step = plan_step(PLAN_STRING);
	int line = __LINE__;

	for (unsigned int i = 0; i < 64; i++)
		types[i] = make_string(1, HOST);
	/* 64 operations including the last one, and 65. */
	for (uint32_t count = 63; count <= 64; count++) {
		event = make_event(count, types, NULL, 0);
		plan = expect_plan(event, __LINE__);
		EXPECT(plan->serialize == (count == 63 ? plan_serialize_plain : plan_serialize_any),
				"%u strings", count);
		plan_free(plan);
	}
	/*
	 * Strings are read in words, unless a tool that would report such reads watches the
	 * program.
	 */
	EXPECT(!plan_strings_by_byte, "by byte");
	plan_strings_by_byte = true;
	EXPECT((step != plan_step(PLAN_STRING)) == PLAN_STRING_WORDS, "the same step");
	expect_field(types[0], arg_pointer(SIDE_TYPE_STRING_UTF8, "by byte"), "'by byte' 00");
	EXPECT(plan_step(PLAN_STRING) && plan_step(PLAN_END) && plan_step(PLAN_SCALAR_0),
			"no step");
	plan_strings_by_byte = false;
}

/* ---- refused types ---- */

static struct side_type without_element(struct side_type type)
{
	const struct side_type *none = NULL;

	switch (type.type.v) {
	case SIDE_TYPE_ARRAY:
		side_ptr_set(((struct side_type_array *)(uintptr_t)side_ptr_get(type.u.side_array))
						->elem_type,
				none);
		break;
	case SIDE_TYPE_VLA:
		side_ptr_set(((struct side_type_vla *)(uintptr_t)side_ptr_get(type.u.side_vla))
						->elem_type,
				none);
		break;
	case SIDE_TYPE_OPTIONAL:
		side_ptr_set(((struct side_type_optional *)(uintptr_t)side_ptr_get(
					      type.u.side_optional))
						->elem_type,
				none);
		break;
	case SIDE_TYPE_GATHER_ARRAY:
		side_ptr_set(type.u.side_gather.u.side_array.type.elem_type, none);
		break;
	default: side_ptr_set(type.u.side_gather.u.side_vla.type.elem_type, none); break;
	}
	return type;
}

static void test_refused_types(void)
{
	struct side_type byte = gather_byte(0, DIRECT), u8 = make_plain(1, false);
	struct side_type length = gather_integer(0, 1, 0, 0, false, HOST, DIRECT), inner;
	struct side_event_description *event;
	struct plan *plan = NULL;
	const char *missing = "its element type is missing";
	int line = __LINE__;

	expect_no_type(without_element(make_array(u8, 2)), -EINVAL, missing);
	expect_no_type(without_element(make_vla(u8, u8)), -EINVAL, missing);
	expect_no_type(without_element(make_optional(u8)), -EINVAL, missing);
	for (unsigned int mode = DIRECT; mode <= POINTER; mode++) {
		expect_no_type(without_element(gather_array(byte, 2, 0, mode)), -EINVAL, missing);
		expect_no_type(without_element(gather_vla(byte, 0, mode, length)), -EINVAL,
				missing);
		expect_no_type(gather_array(u8, 2, 0, mode), -EINVAL,
				"gathered elements must be gather types");
		expect_no_type(gather_array(make_label(SIDE_TYPE_GATHER_BOOL - 1), 2, 0, mode),
				-EINVAL, "gathered elements must be gather types");
		expect_no_type(gather_array(make_label(SIDE_TYPE_GATHER_ENUM + 1), 2, 0, mode),
				-EINVAL, "gathered elements must be gather types");
		expect_no_type(gather_array(gather_vla(byte, 0, DIRECT, length), 2, 0, mode),
				-EINVAL, "a gathered VLA cannot be an element");
		expect_no_type(gather_array(gather_byte(0, 2), 2, 0, mode), -EINVAL,
				"its access mode is unknown");
	}
	expect_no_type(gather_array(byte, 2, 0, 2), -EINVAL, "its access mode is unknown");
	/* Elements 2^32 - 1 bytes apart, and one more. */
	inner = gather_struct(make_members(2,
					      (struct side_type[]){gather_byte(3, DIRECT),
							      gather_byte(0, DIRECT)},
					      NULL),
			0, UINT32_MAX, DIRECT);
	expect_field(gather_array(inner, 1, 0, DIRECT), arg_pointer(SIDE_TYPE_GATHER_ARRAY, "abcd"),
			"'da'");
	expect_no_type(gather_array(gather_array(gather_array(inner, 2, 0, DIRECT), 1, 0, DIRECT),
				       1, 0, DIRECT),
			-E2BIG, "its elements are too far apart");
	inner = gather_struct(make_members(1, &byte, NULL), 0, 3, DIRECT);
	event = make_event(1,
			(struct side_type[]){
					gather_vla(gather_array(inner, UINT32_MAX / 3, 0, DIRECT),
							1, DIRECT, length)},
			NULL, 0);
	EXPECT(plan_size(event, NULL, 0) > 0, "%zd", plan_size(event, NULL, 0));
	expect_no_type(gather_vla(gather_array(inner, UINT32_MAX / 3 + 1, 0, DIRECT), 1, DIRECT,
				       length),
			-E2BIG, "its elements are too far apart");
	/* The reason is written only if there is memory for it. */
	event = make_event(1, (struct side_type[]){make_label(4711)}, NULL, 0);
	EXPECT(plan_compile(event, &plan, NULL, 64) == -EOPNOTSUPP && !plan, "no memory");
	EXPECT(plan_size(event, NULL, 64) == -EOPNOTSUPP, "no memory");
}

/* ---- memory ---- */

static void test_memory(void)
{
	struct side_type byte = gather_byte(0, DIRECT), nested, members[2];
	struct side_type length = gather_integer(0, 1, 0, 0, false, HOST, DIRECT);
	static const uint8_t bytes[] = "\2abc";
	static const uint16_t swapped[] = {0x6900, 0xe900, 0};
	const void *pointer = swapped;
	struct {
		uint8_t count;
		char texts[15];
	} list = {2, "xxa\0bc\0d\0ef\0g"};

	/* All elements without a size have the same address. */
	nested = gather_struct(make_members(1, &byte, NULL), 1, 0, DIRECT);
	expect_field(gather_vla(nested, 0, DIRECT, length), arg_gather_vla(bytes, bytes),
			"02 'aa'");
	expect_field(gather_array(nested, 3, 0, DIRECT), arg_pointer(SIDE_TYPE_GATHER_ARRAY, bytes),
			"'aaa'");
	expect_field(gather_array(gather_array(nested, 2, 1, DIRECT), 2, 0, DIRECT),
			arg_pointer(SIDE_TYPE_GATHER_ARRAY, bytes), "'bbbb'");
	/* Both flags of a string are checked. */
	expect_field(gather_string(0, 2, BE, POINTER),
			arg_pointer(SIDE_TYPE_GATHER_STRING, &pointer), "'i' c3a9 00");
	/* Arrays of adjacent strings, each with an offset before its first string. */
	nested = gather_array(gather_string(2, 1, HOST, DIRECT), 2, 0, DIRECT);
	expect_field(gather_array(nested, 2, 1, DIRECT), arg_pointer(SIDE_TYPE_GATHER_ARRAY, &list),
			"'a'00 'bc'00 'd'00 'ef'00");
	expect_field(gather_vla(nested, 1, DIRECT, length), arg_gather_vla(&list, &list),
			"02 'a'00 'bc'00 'd'00 'ef'00");
	members[0] = gather_array(nested, 1, 1, DIRECT);
	members[1] = byte;
	expect_field(gather_struct(make_members(2, members, NULL), 0, 16, DIRECT),
			arg_pointer(SIDE_TYPE_GATHER_STRUCT, &list), "'a'00 'bc'00 02");
	/* A long copy as the last field: its pointer is needed. */
	expect_field_refusal(gather_array(byte, 64, 0, DIRECT),
			arg_pointer(SIDE_TYPE_GATHER_ARRAY, NULL), PLAN_REASON_NULL_POINTER);
	expect_field_refusal(gather_vla(byte, 0, DIRECT, length), arg_gather_vla(NULL, bytes),
			PLAN_REASON_NULL_POINTER);
	expect_field_refusal(gather_vla(byte, 0, DIRECT, length), arg_gather_vla(bytes, NULL),
			PLAN_REASON_NULL_POINTER);
}

/* ---- arguments ---- */

static void test_arguments(void)
{
	struct make_option option = {0, INT64_MAX, make_plain(1, false)};
	struct side_type u128 = make_variant(make_plain(16, false), 1, &option);
	struct side_type vla = make_vla(make_plain(1, false), make_plain(1, false));
	struct side_arg value = ARG(SIDE_TYPE_U8, uint8_t, 7);
	struct side_arg_vec *broken = make_vector(0, NULL);
	uint64_t wide[2] = {UINT64_C(1) << 63 | 5, 0};

	/* Without a sign, the upper half of a selector is zero. */
	expect_field(u128, arg_variant(arg_value(SIDE_TYPE_U128, wide, 16), value),
			"05 00 00 00 00 00 00 80");
	wide[1] = UINT64_MAX;
	expect_field_refusal(u128, arg_variant(arg_value(SIDE_TYPE_U128, wide, 16), value),
			PLAN_REASON_SELECTOR);
	/* A list of one element whose address is NULL. */
	broken->len = 1;
	side_ptr_set(broken->sav, (const struct side_arg *)NULL);
	expect_field_refusal(vla, arg_pointer(SIDE_TYPE_VLA, broken), PLAN_REASON_NULL_POINTER);
	expect_field_refusal(make_vla(make_string(1, HOST), make_plain(2, false)),
			arg_pointer(SIDE_TYPE_VLA, broken), PLAN_REASON_NULL_POINTER);
	expect_field_refusal(make_array(make_string(1, HOST), 1),
			arg_pointer(SIDE_TYPE_ARRAY, broken), PLAN_REASON_NULL_POINTER);
	/* A unit behind the last low surrogate ends the pair, and does not complete it. */
	expect_field(make_string(2, HOST),
			arg_pointer(SIDE_TYPE_STRING_UTF16, (uint16_t[]){0xd800, 0xdfff, 0}),
			"f0908fbf 00");
	expect_field(make_string(2, HOST),
			arg_pointer(SIDE_TYPE_STRING_UTF16, (uint16_t[]){0xd800, 0xe000, 0}),
			"eda080 ee8080 00");
	expect_field(make_string(2, HOST),
			arg_pointer(SIDE_TYPE_STRING_UTF16,
					(uint16_t[]){0xdbff, 0xdbff, 0xdc00, 0}),
			"edafbf f48fb080 00");
}

/* ---- dynamic values ---- */

static unsigned int nr_visits;

static enum side_visitor_status visit_nothing(
		const struct side_tracer_dynamic_struct_visitor_ctx *context, void *application)
{
	(void)context;
	(void)application;
	nr_visits++;
	return SIDE_VISITOR_STATUS_OK;
}

static struct side_arg pointer_of(
		unsigned int size, unsigned int bits, unsigned int order, const void *value)
{
	struct side_arg arg = dynamic_integer(size, bits, false, order, value);

	arg.type.v = SIDE_TYPE_DYNAMIC_POINTER;
	return arg;
}

#define POINTER_NODE "01000000 00 00 0d "
#define BOOL_NODE "01000000 00 00 01 "

static void test_pointers(void)
{
	static const char small[17] = "\1\2\3\4\5\6\7\x88", large[16] = "\1\0\0\0\0\0\0\0\1";
	static const char swapped[16] = "\0\0\0\0\0\0\0\0\x88\7\6\5\4\3\2\1";

	expect_field(DYNAMIC, pointer_of(4, 0, HOST, small), POINTER_NODE "0102030400000000");
	expect_field(DYNAMIC, pointer_of(4, 32, HOST, small), POINTER_NODE "0102030400000000");
	expect_field(DYNAMIC, pointer_of(8, 64, HOST, small), POINTER_NODE "0102030405060788");
	expect_field(DYNAMIC, pointer_of(8, 9, HOST, small), POINTER_NODE "0100000000000000");
	expect_field(DYNAMIC, pointer_of(16, 0, HOST, small), POINTER_NODE "0102030405060788");
	expect_field(DYNAMIC, pointer_of(16, 128, BE, swapped), POINTER_NODE "0102030405060788");
	expect_field_refusal(DYNAMIC, pointer_of(16, 0, HOST, large), PLAN_REASON_LENGTH);
	for (unsigned int size = 0; size <= 17; size++)
		if (size != 4 && size != 8 && size != 16)
			expect_field_refusal(DYNAMIC, pointer_of(size, 0, HOST, small),
					PLAN_REASON_ARGUMENT_LABEL);
	for (unsigned int size = 4; size <= 16; size *= 2)
		expect_field_refusal(DYNAMIC, pointer_of(size, size * 8 + 1, HOST, small),
				PLAN_REASON_ARGUMENT_LABEL);
}

static void test_bools(void)
{
	static const char zeros[8] = "", last[8] = "\0\0\0\0\0\0\0\x80";

	for (unsigned int size = 1; size <= 8; size *= 2) {
		expect_field(DYNAMIC, dynamic_bool(size, size * 8, HOST, zeros), BOOL_NODE "00");
		expect_field_refusal(DYNAMIC, dynamic_bool(size, size * 8 + 1, HOST, zeros),
				PLAN_REASON_ARGUMENT_LABEL);
		/* The last bit is used, unless the length excludes it. */
		expect_field(DYNAMIC, dynamic_bool(size, size * 8, HOST, last + 8 - size),
				size == 1 ? BOOL_NODE "80" : BOOL_NODE "01");
		expect_field(DYNAMIC, dynamic_bool(size, size * 8 - 1, HOST, last + 8 - size),
				BOOL_NODE "00");
		expect_field_refusal(DYNAMIC,
				dynamic_integer(size, size * 8 + 1, false, HOST, zeros),
				PLAN_REASON_ARGUMENT_LABEL);
	}
}

static void test_dynamic(void)
{
	struct side_attr list[3] = {make_attribute("s", SIDE_ATTR_TYPE_S32, "\2\0\0\0", 4),
			make_attribute("u", SIDE_ATTR_TYPE_U32, "\6\0\0\0", 4),
			make_attribute(NULL, SIDE_ATTR_TYPE_U8, "\3", 1)};
	struct side_attr wrong[2] = {make_attribute("x", 4711, "\6\0\0\0", 4),
			make_attribute("u", SIDE_ATTR_TYPE_U32, "\6\0\0\0", 4)};
	struct make_attributes all = {3, list}, some = {2, wrong};
	static struct side_arg_dynamic_struct broken;
	struct side_arg_dynamic_struct_visitor visitor = {0};
	struct side_arg visited = arg_pointer(SIDE_TYPE_DYNAMIC_STRUCT_VISITOR, &visitor);
	struct side_type type = DYNAMIC;
	struct plan *plan = expect_plan(make_event(1, &type, NULL, 0), __LINE__);
	uint8_t buffer[64];
	int line = __LINE__;

	/* Values of attributes have all their bits, and a missing key is an empty one. */
	expect_field(DYNAMIC, dynamic_scalar(SIDE_TYPE_DYNAMIC_NULL, all),
			"05000000 00 00 00 01 00 17 03000000 02 's'00 08 02000000 02 'u'00 04 06000000"
			" 02 00 02 03");
	/* The size of a unit is checked even if there is no string. */
	expect_field_refusal(DYNAMIC, dynamic_string(3, HOST, NULL), PLAN_REASON_ARGUMENT_LABEL);
	expect_field_refusal(DYNAMIC, dynamic_string(0, HOST, NULL), PLAN_REASON_ARGUMENT_LABEL);
	expect_field_refusal(DYNAMIC, dynamic_string(5, HOST, NULL), PLAN_REASON_ARGUMENT_LABEL);
	/* After a wrong attribute, nothing is written. */
	expect_field_refusal(DYNAMIC, dynamic_scalar(SIDE_TYPE_DYNAMIC_NULL, some),
			PLAN_REASON_ARGUMENT_LABEL);
	/* The address of the fields is NULL. */
	broken.len = 1;
	expect_field_refusal(DYNAMIC, arg_pointer(SIDE_TYPE_DYNAMIC_STRUCT, &broken),
			PLAN_REASON_NULL_POINTER);
	/* A visitor is called only if there is memory for its number of fields: 11 bytes. */
	side_ptr_set(visitor.visitor, visit_nothing);
	for (size_t capacity = 0; capacity <= 12; capacity++) {
		ssize_t size;

		nr_visits = 0;
		size = plan_serialize(plan, make_vector(1, &visited), NULL, buffer, capacity);
		EXPECT(size == (capacity < 11 ? -E2BIG : 11), "%zd", size);
		EXPECT(nr_visits == (capacity >= 11), "%u calls at %zu", nr_visits, capacity);
	}
	plan_free(plan);
}

int main(void)
{
	test_joined();
	test_single();
	test_span_vectors();
	test_ways();
	test_refused_types();
	test_memory();
	test_arguments();
	test_pointers();
	test_bools();
	test_dynamic();
	return expect_end();
}
