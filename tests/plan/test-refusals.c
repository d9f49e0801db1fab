/* SPDX-License-Identifier: MIT */
/*
 * Descriptions that cannot become plans, and what is said about them.
 */
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
	/* Types in a wrong place. */
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
	/* What a newer producer appends does not matter. */
	event->struct_size = 200;
	event->nr_side_type_label = 60;
	plan_free(expect_plan(event, __LINE__));
	side_ptr_set(event->fields.elements, NULL);
	expect_no_plan(event, -EINVAL, "fields are missing");
}

/* In the caller's memory. */
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
	test_sizes();
	test_events();
	test_build();
	return expect_end();
}
