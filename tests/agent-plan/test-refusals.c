/* SPDX-License-Identifier: MIT */
/* Descriptions that cannot become plans, and the reported reasons. */
#include "tracers/agent/plan/plan.h"
#include "tracers/agent/plan/op.h"
#include "expect.h"

static void test_scalars(void)
{
	struct side_type type;

	expect_no_type(make_integer(SIDE_TYPE_U32, 3, 0, false, LE), -EINVAL,
			"1, 2, 4, 8 or 16 bytes");
	expect_no_type(make_integer(SIDE_TYPE_U32, 0, 0, false, LE), -EINVAL,
			"1, 2, 4, 8 or 16 bytes");
	expect_no_type(make_integer(SIDE_TYPE_U32, 4, 33, false, LE), -EINVAL, "bits");
	expect_no_type(make_integer(SIDE_TYPE_U32, 4, 0, false, 2), -EINVAL, "byte order");
	expect_no_type(make_bool(16, 0, LE), -EINVAL, "booleans");
	expect_no_type(make_bool(1, 9, LE), -EINVAL, "bits");
	type = make_float(4, LE);
	type.u.side_float.float_size = 10;
	expect_no_type(type, -EINVAL, "floats");
	type = make_string(1, LE);
	type.u.side_string.unit_size = 3;
	expect_no_type(type, -EINVAL, "units");
	expect_no_type(gather_integer(0, 4, 8, 0, false, LE, DIRECT), -EINVAL, "bits");
	expect_no_type(gather_integer(0, 4, 8, 25, false, LE, DIRECT), -EINVAL, "bits");
	expect_no_type(gather_integer(0, 16, 1, 0, false, LE, DIRECT), -EINVAL, "bits");
	expect_no_type(gather_integer(0, 4, 0, 0, false, LE, 2), -EINVAL, "access mode");
	expect_no_type(make_label(40), -EINVAL, "arguments only");
	expect_no_type(make_label(50), -EINVAL, "arguments only");
	expect_no_type(make_label(51), -EOPNOTSUPP, "newer");
	expect_no_type(make_label(65535), -EOPNOTSUPP, "newer");
}

static void test_compounds(void)
{
	struct side_type u8 = make_plain(1, false), type;
	struct side_type text = make_string(1, HOST);
	struct side_type gathered = gather_integer(0, 2, 0, 0, false, LE, DIRECT);
	unsigned int label;

	/* Pointers that are missing. */
	for (label = SIDE_TYPE_STRUCT; label <= SIDE_TYPE_ENUM_BITMAP; label++)
		expect_no_type(make_label(label), -EINVAL, "");
	expect_no_type(make_label(SIDE_TYPE_GATHER_STRUCT), -EINVAL, "missing");
	expect_no_type(make_label(SIDE_TYPE_GATHER_ARRAY), -EINVAL, "missing");
	expect_no_type(make_label(SIDE_TYPE_GATHER_VLA), -EINVAL, "missing");
	expect_no_type(make_label(SIDE_TYPE_GATHER_ENUM), -EINVAL, "gathered integer");
	/* Types at positions where they are not permitted. */
	expect_no_type(make_vla(u8, text), -EINVAL, "length must be an integer");
	expect_no_type(make_vla_visitor(u8, u8, NULL), -EINVAL, "visitor is missing");
	expect_no_type(make_variant(text, 0, NULL), -EINVAL, "selector must be an integer");
	expect_no_type(make_enum(text, 0, NULL), -EINVAL, "needs an integer");
	expect_no_type(make_bitmap(text, 0, NULL), -EINVAL, "bitmap");
	expect_no_type(make_bitmap(make_array(text, 1), 0, NULL), -EINVAL, "bitmap");
	expect_no_type(gather_array(u8, 1, 0, DIRECT), -EINVAL, "gather types");
	expect_no_type(gather_struct(make_members(1, &u8, NULL), 0, 1, DIRECT), -EINVAL,
			"gather types");
	type = gather_vla(gathered, 0, DIRECT, gathered);
	expect_no_type(gather_array(type, 1, 0, DIRECT), -EINVAL, "cannot be an element");
	expect_no_type(gather_vla(type, 0, DIRECT, gathered), -EINVAL, "cannot be an element");
	expect_no_type(gather_vla(gathered, 0, DIRECT, u8), -EINVAL, "gathered integer");
	expect_no_type(gather_enum(u8, 0, NULL), -EINVAL, "gathered integer");
	expect_no_type(gather_array(gather_array(gathered, UINT32_MAX, 0, DIRECT), 2, 0, DIRECT),
			-E2BIG, "too far apart");
}

/* Each gathered type checks its own mode and order. */
static void test_modes(void)
{
	struct side_type gathered = gather_integer(0, 2, 0, 0, false, LE, DIRECT), text;

	expect_no_type(gather_bool(0, 1, 0, 0, LE, 2), -EINVAL, "access mode");
	expect_no_type(gather_byte(0, 2), -EINVAL, "access mode");
	expect_no_type(gather_float(0, 4, LE, 2), -EINVAL, "access mode");
	expect_no_type(gather_string(0, 1, LE, 2), -EINVAL, "access mode");
	expect_no_type(gather_pointer(0, LE, 2), -EINVAL, "access mode");
	expect_no_type(gather_struct(make_members(1, &gathered, NULL), 0, 2, 2), -EINVAL,
			"access mode");
	expect_no_type(gather_array(gathered, 1, 0, 2), -EINVAL, "access mode");
	expect_no_type(gather_vla(gathered, 0, 2, gathered), -EINVAL, "access mode");
	expect_no_type(gather_vla(gathered, 0, DIRECT, gather_integer(0, 2, 0, 0, false, LE, 2)),
			-EINVAL, "access mode");
	expect_no_type(gather_bool(0, 1, 0, 0, 2, DIRECT), -EINVAL, "byte order");
	expect_no_type(gather_bool(0, 1, 7, 2, LE, DIRECT), -EINVAL, "bits");
	expect_no_type(gather_bool(0, 3, 0, 0, LE, DIRECT), -EINVAL, "booleans");
	expect_no_type(gather_float(0, 3, LE, DIRECT), -EINVAL, "floats");
	expect_no_type(gather_float(0, 4, 2, DIRECT), -EINVAL, "byte order");
	text = gather_string(0, 1, LE, DIRECT);
	text.u.side_gather.u.side_string.type.byte_order.v = 2;
	expect_no_type(text, -EINVAL, "byte order");
	text.u.side_gather.u.side_string.type.byte_order.v = LE;
	text.u.side_gather.u.side_string.type.unit_size = 8;
	expect_no_type(text, -EINVAL, "units");
	expect_no_type(make_float(4, 2), -EINVAL, "byte order");
	expect_no_type(make_bool(1, 0, 2), -EINVAL, "byte order");
	expect_no_type(make_string(1, 2), -EINVAL, "byte order");
	expect_no_type(make_label(SIDE_TYPE_STRUCT), -EINVAL, "its structure is missing");
	expect_no_type(make_label(SIDE_TYPE_ARRAY), -EINVAL, "its array is missing");
	expect_no_type(make_label(SIDE_TYPE_VLA), -EINVAL, "its VLA is missing");
	expect_no_type(make_label(SIDE_TYPE_VLA_VISITOR), -EINVAL, "its VLA is missing");
	expect_no_type(make_label(SIDE_TYPE_OPTIONAL), -EINVAL, "its optional is missing");
	expect_no_type(make_label(SIDE_TYPE_VARIANT), -EINVAL, "its variant is missing");
}

/* Returns the result of a plan at its limit, and with one more. */
static enum plan_kind kind_of(struct side_type type, int line)
{
	struct plan *plan = expect_plan(make_event(1, &type, NULL, 0), line);
	enum plan_kind kind = plan->kind;

	EXPECT(kind != PLAN_KIND_SCALAR || (plan->scalar_size && plan->scalar_label == type.type.v),
			"%u bytes, label %u", plan->scalar_size, plan->scalar_label);
	plan_free(plan);
	return kind;
}

static void test_kinds(void)
{
	struct side_type two[2] = {make_plain(4, false), make_plain(2, false)};
	struct side_type gathered = gather_byte(0, DIRECT),
			 length = gather_integer(8, 2, 0, 0, false, HOST, DIRECT);
	struct plan *plan;
	int line = __LINE__;

	EXPECT(kind_of(make_plain(16, true), line) == PLAN_KIND_SCALAR, "a number");
	EXPECT(kind_of(make_string(1, HOST), line) == PLAN_KIND_GP_ONLY, "a string");
	EXPECT(kind_of(make_label(SIDE_TYPE_DYNAMIC), line) == PLAN_KIND_ANY, "may call");
	EXPECT(kind_of(gather_array(gathered, 63, 0, DIRECT), line) == PLAN_KIND_GP_ONLY,
			"63 bytes");
	EXPECT(kind_of(gather_array(gathered, 64, 0, DIRECT), line) == PLAN_KIND_SPAN, "64 bytes");
	EXPECT(kind_of(gather_vla(gathered, 0, POINTER, length), line) == PLAN_KIND_SPAN, "a VLA");
	EXPECT(kind_of(gather_vla(gather_string(0, 1, HOST, POINTER), 0, POINTER, length), line) ==
					PLAN_KIND_GP_ONLY,
			"a VLA of strings");
	plan = expect_plan(make_event(2, two, NULL, 0), line);
	EXPECT(plan->kind == PLAN_KIND_GP_ONLY && plan_fixed_size(plan) == 6, "%zd",
			plan_fixed_size(plan));
	plan_free(plan);
	plan = expect_plan(make_event(1, two, NULL, SIDE_EVENT_FLAG_VARIADIC), line);
	EXPECT(plan->kind == PLAN_KIND_ANY && plan_fixed_size(plan) == -1, "variadic");
	plan_free(plan);
}

static void test_reasons(void)
{
	int line = __LINE__;

	EXPECT(!strcmp(plan_reason_text(PLAN_REASON_NONE), "none"), "none");
	EXPECT(!strcmp(plan_reason_text(PLAN_REASON_SELECTOR), "a selector does not fit 64 bits"),
			"selector");
	EXPECT(!strcmp(plan_reason_text((enum plan_reason)PLAN_REASON_COUNT), "unknown"),
			"unknown");
	for (int i = 0; i < PLAN_REASON_COUNT; i++)
		for (int j = 0; j < i; j++)
			EXPECT(strcmp(plan_reason_text((enum plan_reason)i),
					       plan_reason_text((enum plan_reason)j)) != 0,
					"%d and %d", i, j);
}

/*
 * The largest number of operations in a plan, and one more. A string in an array takes two: one for
 * the array, one for itself.
 */
static void test_most_operations(void)
{
	struct side_type text = make_string(1, HOST), *types;
	unsigned int nr = PLAN_OPS_MAX - 1, i;
	struct plan *plan;
	char error[200];
	int line = __LINE__, status;

	types = make_bytes((nr + 1) * sizeof(*types));
	for (i = 0; i <= nr; i++)
		types[i] = text;
	status = plan_compile(make_event(nr, types, NULL, 0), &plan, error, sizeof(error));
	EXPECT(!status, "%s", error);
	if (!status)
		plan_free(plan);
	status = plan_compile(make_event(nr + 1, types, NULL, 0), &plan, error, sizeof(error));
	EXPECT(status == -E2BIG && strstr(error, "there are too many types"), "%d: %s", status,
			error);
}

static void test_sizes(void)
{
	struct side_type type = make_plain(1, false), pair[2];
	struct side_type_struct *cycle = make_bytes(sizeof(*cycle));
	struct side_event_field *field = make_bytes(sizeof(*field));
	int i;

	for (i = 0; i < PLAN_DEPTH_MAX; i++)
		type = make_array(type, 1);
	plan_free(expect_plan(make_event(1, &type, NULL, 0), __LINE__));
	type = make_array(type, 1);
	expect_no_type(type, -E2BIG, "nested too deeply");
	/* A structure that contains itself, directly and gathered. */
	side_ptr_set(cycle->fields.elements, field);
	cycle->fields.length = 1;
	field->side_type = make_label(SIDE_TYPE_STRUCT);
	side_ptr_set(field->side_type.u.side_struct, cycle);
	expect_no_type(field->side_type, -E2BIG, "nested too deeply");
	field->side_type = gather_struct(cycle, 0, 8, DIRECT);
	expect_no_type(field->side_type, -E2BIG, "nested too deeply");
	field->side_type = gather_struct(cycle, 0, 8, POINTER);
	expect_no_type(field->side_type, -E2BIG, "nested too deeply");
	/* A small description that unfolds to 2^40 operations. */
	type = make_string(1, HOST);
	for (i = 0; i < 40; i++) {
		pair[0] = pair[1] = type;
		type = make_struct(2, pair, NULL);
	}
	expect_no_type(type, -E2BIG, "too many");
}

static void test_events(void)
{
	struct side_type types[2] = {make_plain(1, false), make_label(99)};
	static const char *const names[] = {"good", "bad"};
	struct side_event_description *event = make_event(2, types, names, 0);
	struct plan *plan;
	char small[20];
	int line = __LINE__;

	expect_no_plan(event, -EOPNOTSUPP,
			"cannot record event test:event, field \"bad\": its type is newer than "
			"this recorder");
	EXPECT(plan_compile(event, &plan, small, sizeof(small)) == -EOPNOTSUPP, "a short buffer");
	EXPECT(!strcmp(small, "cannot record event"), "%s", small);
	event = make_event(1, types, NULL, 0);
	event->version = 1;
	expect_no_plan(event, -EOPNOTSUPP, "version");
	event->version = 0;
	event->struct_size = 111;
	expect_no_plan(event, -EINVAL, "too short");
	/* Members that a newer producer appends do not matter. */
	event->struct_size = 200;
	event->nr_side_type_label = 60;
	plan_free(expect_plan(event, __LINE__));
	side_ptr_set(event->fields.elements, NULL);
	expect_no_plan(event, -EINVAL, "fields are missing");
}

/* Builds in the caller's memory. */
static void test_build(void)
{
	struct side_type types[3] = {make_plain(4, false), make_string(1, HOST),
			make_array(make_plain(2, false), 3)};
	struct side_event_description *event = make_event(3, types, NULL, 0);
	ssize_t size = plan_size(event, NULL, 0), k;
	struct plan *plan = NULL;
	int line = __LINE__;

	EXPECT(size > 0, "%zd", size);
	for (k = 0; k < size; k++) {
		void *memory = malloc((size_t)k + 1);
		int status = plan_build(event, memory, (size_t)k, &plan);

		EXPECT(status == -EINVAL || status == -E2BIG, "%d in %zd of %zd", status, k, size);
		free(memory);
	}
	{
		void *memory = malloc((size_t)size);

		EXPECT(plan_build(event, memory, (size_t)size, &plan) == 0, "not built");
		EXPECT((void *)plan == memory, "elsewhere");
		EXPECT(plan_fixed_size(plan) == -1, "fixed");
		plan_free(plan);
		free(memory);
	}
	plan_free(NULL);
	for (k = 0; k < PLAN_REASON_COUNT + 2; k++)
		EXPECT(plan_reason_text((enum plan_reason)k)[0], "%zd", k);
}

int main(void)
{
	test_scalars();
	test_compounds();
	test_modes();
	test_kinds();
	test_reasons();
	test_most_operations();
	test_sizes();
	test_events();
	test_build();
	return expect_end();
}
