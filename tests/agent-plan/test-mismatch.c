/* SPDX-License-Identifier: MIT */
/*
 * Arguments that do not match the description. The test flips bits of labels, lengths and values,
 * swaps scalars, and clears pointers. Every pointer that is not NULL is readable, so the plan must
 * not read or write outside, and must return a size, -E2BIG or -EINVAL. Run this under the
 * sanitizers.
 */
#include "expect.h"

static uint64_t state;

static uint32_t draw(uint32_t limit)
{
	state = state * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)((state >> 33) % limit);
}

/*
 * Every pointer in every scalar points here. Each word is NULL or a pointer to another word, and
 * all gathered data is aligned, so any word can be used as a pointer. Zeros follow.
 */
#define PLACE_SIZE 65536
#define PLACE_BEHIND (1 << 20)
static uint8_t *location;

static void fill_place(void)
{
	size_t i;

	for (i = 0; i + 8 <= PLACE_SIZE; i += 8) {
		uint64_t word = draw(3) ? (uintptr_t)location + 8 * draw(PLACE_SIZE / 8) : 0;

		memcpy(location + i, &word, 8);
	}
}

static enum side_visitor_status visit_elements(
		const struct side_tracer_visitor_ctx *context, void *app_context);
static enum side_visitor_status visit_fields(
		const struct side_tracer_dynamic_struct_visitor_ctx *context, void *app_context);

static struct side_arg random_argument(unsigned int depth);

/* The label and the value do not match. */
static struct side_arg random_scalar(void)
{
	uint8_t value[32];
	unsigned int i;

	for (i = 0; i < 32; i++)
		value[i] = (uint8_t)draw(256);
	return arg_value(draw(21), value, 32);
}

static struct side_arg random_dynamic(unsigned int depth)
{
	static const char *const names[] = {"a", NULL, "ccc"};
	struct side_arg args[3], arg;
	uint32_t count = draw(4), i;
	uint8_t value[32];

	for (i = 0; i < 32; i++)
		value[i] = (uint8_t)draw(256);
	for (i = 0; i < count; i++)
		args[i] = random_argument(depth + 1);
	switch (draw(8)) {
	case 0: return dynamic_vla(count, args, NO_ATTRIBUTES);
	case 1: return dynamic_struct(count, names, args, NO_ATTRIBUTES);
	case 2: return dynamic_vla_visitor(visit_elements, location + 8 * draw(8), NO_ATTRIBUTES);
	case 3: return dynamic_struct_visitor(visit_fields, location + 8 * draw(8), NO_ATTRIBUTES);
	case 4: return dynamic_integer(draw(2) ? 4 : draw(20), draw(40), draw(2), draw(3), value);
	case 5: return dynamic_string(draw(5), draw(2), draw(2) ? location + 8 * draw(100) : NULL);
	case 6: arg = dynamic_float(2, draw(2), value); break;
	default: arg = dynamic_bool(1, draw(9), draw(2), value); break;
	}
	arg.u.side_dynamic.side_float.type.float_size = (uint16_t)draw(18);
	arg.type.v = SIDE_TYPE_DYNAMIC_NULL + draw(7);
	/* The address of a string is behind the members that other types use, so set it. */
	if (arg.type.v == SIDE_TYPE_DYNAMIC_STRING)
		return dynamic_string(1, 0, location);
	return arg;
}

static struct side_arg random_argument(unsigned int depth)
{
	static const unsigned int with_pointer[] = {SIDE_TYPE_STRING_UTF8, SIDE_TYPE_STRING_UTF16,
			SIDE_TYPE_STRING_UTF32, SIDE_TYPE_GATHER_BOOL, SIDE_TYPE_GATHER_INTEGER,
			SIDE_TYPE_GATHER_BYTE, SIDE_TYPE_GATHER_POINTER, SIDE_TYPE_GATHER_FLOAT,
			SIDE_TYPE_GATHER_STRING, SIDE_TYPE_GATHER_STRUCT, SIDE_TYPE_GATHER_ARRAY};
	static const unsigned int with_vector[] = {
			SIDE_TYPE_STRUCT, SIDE_TYPE_ARRAY, SIDE_TYPE_VLA};
	struct side_arg args[4], arg;
	uint32_t count = draw(5), i;

	if (depth > 4)
		return random_scalar();
	switch (draw(9)) {
	case 0:
	case 1:
		for (i = 0; i < count; i++)
			args[i] = random_argument(depth + 1);
		return arg_vector(with_vector[draw(3)], count, args);
	case 2: return arg_optional(random_argument(depth + 1), (uint8_t)draw(3));
	case 3: return arg_variant(random_scalar(), random_argument(depth + 1));
	case 4: return arg_vla_visitor(location + 8 * draw(8));
	case 5: return random_dynamic(depth);
	case 6:
		return arg_gather_vla(draw(9) ? location : NULL,
				draw(9) ? location + 8 * draw(64) : NULL);
	case 7:
		return arg_pointer(
				with_pointer[draw(11)], draw(9) ? location + 8 * draw(64) : NULL);
	default: arg = random_scalar(); break;
	}
	if (arg.type.v >= SIDE_TYPE_STRING_UTF8)
		arg = arg_pointer(arg.type.v, draw(9) ? location + 8 * draw(64) : NULL);
	return arg;
}

static unsigned int visits;

static enum side_visitor_status visit_elements(
		const struct side_tracer_visitor_ctx *context, void *app_context)
{
	uint32_t count = draw(4);

	(void)app_context;
	if (++visits > 100)
		return SIDE_VISITOR_STATUS_OK;
	for (; count; count--) {
		struct side_arg arg = random_argument(3);

		if (context->write_elem(context, draw(50) ? &arg : NULL) !=
						SIDE_VISITOR_STATUS_OK &&
				draw(3))
			return SIDE_VISITOR_STATUS_ERROR;
	}
	return draw(20) ? SIDE_VISITOR_STATUS_OK : SIDE_VISITOR_STATUS_ERROR;
}

static enum side_visitor_status visit_fields(
		const struct side_tracer_dynamic_struct_visitor_ctx *context, void *app_context)
{
	uint32_t count = draw(4);

	(void)app_context;
	if (++visits > 100)
		return SIDE_VISITOR_STATUS_OK;
	for (; count; count--) {
		struct side_arg_dynamic_field field = {.elem = random_argument(3)};

		side_ptr_set(field.field_name, draw(4) ? "name" : NULL);
		if (context->write_field(context, draw(50) ? &field : NULL) !=
						SIDE_VISITOR_STATUS_OK &&
				draw(3))
			return SIDE_VISITOR_STATUS_ERROR;
	}
	return SIDE_VISITOR_STATUS_OK;
}

/* ---- descriptions ---- */

static struct side_type random_gather(unsigned int depth)
{
	struct side_type types[3];
	unsigned int count = draw(4), i, size = 1u << draw(4), mode = !draw(4);
	uint64_t offset = draw(100);

	switch (draw(depth > 3 ? 6 : 10)) {
	case 0:
		return gather_integer(offset & ~7ULL, size, draw(3), 1 + draw(size * 8 - 3),
				draw(2), draw(2), mode);
	case 1: return gather_integer(offset & ~7ULL, size, 0, 0, draw(2), draw(2), mode);
	case 2: return gather_bool(offset & ~7ULL, size, 0, draw(8), draw(2), mode);
	case 3: return gather_byte(offset & ~7ULL, mode);
	case 4: return gather_float(offset & ~7ULL, size == 1 ? 2 : size, draw(2), mode);
	case 5: return gather_string(offset & ~7ULL, 1u << draw(3), draw(2), mode);
	case 6:
	case 7:
		for (i = 0; i < count; i++)
			types[i] = random_gather(depth + 1);
		return gather_struct(make_members(count, types, NULL), offset & ~7ULL, 8 * draw(8),
				mode);
	default: return gather_array(random_gather(depth + 2), draw(4), offset & ~7ULL, mode);
	}
}

static struct side_type random_type(unsigned int depth)
{
	struct make_option options[3];
	struct side_type types[4];
	unsigned int count = draw(4), i, size = 1u << draw(4);

	switch (draw(depth > 4 ? 8 : 17)) {
	case 0:
		return make_integer(integer_label(size, false), size, 1 + draw(size * 8), false,
				draw(2));
	case 1: return make_integer(integer_label(size, true), size, 0, true, draw(2));
	case 2: return make_plain(16, draw(2));
	case 3: return make_bool(size, draw(8), draw(2));
	case 4: return make_float(size == 1 ? 16 : size, draw(2));
	case 5: return make_string(1u << draw(3), draw(2));
	case 6: return make_label(SIDE_TYPE_DYNAMIC);
	case 7: return make_label(draw(2) ? SIDE_TYPE_NULL : SIDE_TYPE_BYTE);
	case 8:
	case 9:
		for (i = 0; i < count; i++)
			types[i] = random_type(depth + 1);
		return make_struct(count, types, NULL);
	case 10: return make_array(random_type(depth + 1), draw(4));
	case 11: return make_vla(random_type(depth + 1), make_plain(size, false));
	case 12:
		return make_vla_visitor(
				random_type(depth + 1), make_plain(size, false), visit_elements);
	case 13: return make_optional(random_type(depth + 1));
	case 14:
		for (i = 0; i < 3; i++) {
			options[i].begin = (int64_t)draw(300) - 150;
			options[i].end = options[i].begin + draw(100);
			options[i].type = random_type(depth + 1);
		}
		return make_variant(make_plain(size, draw(2)), 3, options);
	case 15: return random_gather(depth);
	default:
		return gather_vla(random_gather(5), 8 * draw(8), !draw(4),
				gather_integer(8 * draw(8), size, 0, 0, false, LE, !draw(4)));
	}
}

/* ---- arguments that match, to be changed afterwards ---- */

static struct side_arg matching_argument(const struct side_type *type)
{
	struct side_arg args[4], arg = random_scalar();
	const struct side_type_struct *members;
	const struct side_type *element;
	unsigned int label = type->type.v;
	uint32_t i, count;

	arg.type.v = (uint16_t)label;
	switch (label) {
	case SIDE_TYPE_STRUCT:
		members = side_ptr_get(type->u.side_struct);
		count = members->fields.length;
		for (i = 0; i < count; i++)
			args[i] = matching_argument(
					&side_array_elements(&members->fields)[i].side_type);
		return arg_vector(label, count, args);
	case SIDE_TYPE_ARRAY:
	case SIDE_TYPE_VLA:
		element = label == SIDE_TYPE_ARRAY
				? side_ptr_get(side_ptr_get(type->u.side_array)->elem_type)
				: side_ptr_get(side_ptr_get(type->u.side_vla)->elem_type);
		count = label == SIDE_TYPE_ARRAY ? side_ptr_get(type->u.side_array)->length
						 : draw(4);
		for (i = 0; i < count; i++)
			args[i] = matching_argument(element);
		return arg_vector(label, count, args);
	case SIDE_TYPE_OPTIONAL:
		element = side_ptr_get(side_ptr_get(type->u.side_optional)->elem_type);
		return arg_optional(matching_argument(element), (uint8_t)draw(3));
	case SIDE_TYPE_VARIANT:
		element = &side_array_elements(
				&side_ptr_get(type->u.side_variant)->options)[draw(3)]
					   .side_type;
		arg = random_scalar();
		arg.type.v = side_ptr_get(type->u.side_variant)->selector.type.v;
		return arg_variant(arg, matching_argument(element));
	case SIDE_TYPE_VLA_VISITOR: return arg_vla_visitor(NULL);
	case SIDE_TYPE_DYNAMIC: return random_dynamic(1);
	case SIDE_TYPE_GATHER_VLA:
		return arg_gather_vla(location + 8 * draw(64), location + 8 * draw(64));
	default:
		if (label >= SIDE_TYPE_STRING_UTF8)
			return arg_pointer(label, draw(9) ? location + 8 * draw(64) : NULL);
		return arg;
	}
}

static int outcomes[2 + PLAN_REASON_COUNT];

static void run(const struct plan *plan, const struct side_arg_vec *vector,
		const struct side_arg_dynamic_struct *variadic)
{
	size_t capacity = draw(4) ? draw(200) : 4000;
	uint8_t *buffer = malloc(capacity);
	enum plan_reason reason = PLAN_REASON_NONE;
	ssize_t size;
	int line = __LINE__;

	visits = 0;
	size = plan_serialize_reason(plan, vector, variadic, buffer, capacity, &reason);
	EXPECT(size <= (ssize_t)capacity, "%zd of %zu", size, capacity);
	EXPECT(size >= 0 || size == -EINVAL || size == -E2BIG, "%zd", size);
	EXPECT((size < 0) == (reason != PLAN_REASON_NONE), "%zd, %d", size, reason);
	EXPECT((size == -E2BIG) == (reason == PLAN_REASON_TOO_BIG), "%zd, %d", size, reason);
	outcomes[size >= 0 ? 0 : 1 + (int)reason]++;
	free(buffer);
}

static void one(void)
{
	static const char *const names[] = {"a", "b", "c", "d"};
	struct side_type types[6];
	struct side_arg args[6];
	struct side_event_description *event;
	struct side_arg_dynamic_struct *variadic;
	struct side_arg_vec *vector;
	struct plan *plan = NULL;
	uint32_t count = draw(6), i, round;
	uint64_t flags = draw(4) ? 0 : SIDE_EVENT_FLAG_VARIADIC;

	fill_place();
	for (i = 0; i < count; i++)
		types[i] = random_type(0);
	event = make_event(count, types, NULL, flags);
	if (plan_compile(event, &plan, NULL, 0)) /* a bool of 16 bytes, for example */
		return;
	for (round = 0; round < 20; round++) {
		for (i = 0; i < count; i++)
			args[i] = matching_argument(&types[i]);
		/*
		 * In some rounds everything matches; in others one or two arguments, or their
		 * number, do not.
		 */
		if (count && round % 4 == 1)
			args[draw(count)] = random_argument(0);
		if (count && round % 4 == 2)
			args[draw(count)].type.v =
					(uint16_t)(draw(3) ? draw(21) : 51 + draw(65000));
		vector = make_vector(count, args);
		if (round % 8 == 3)
			vector->len = draw(count + 1);
		if (round % 8 == 7)
			side_ptr_set(vector->sav, NULL);
		for (i = 0; i < 4 && i < count; i++)
			args[i] = random_dynamic(1);
		variadic = make_dynamic_struct(i, names, args, NO_ATTRIBUTES);
		run(plan, draw(40) ? vector : NULL, draw(10) ? variadic : NULL);
	}
	plan_free(plan);
}

int main(int argc, char **argv)
{
	int rounds = getenv("SIDE_TEST_LONG") ? 300000 : 1500, i;
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	int line = __LINE__;

	location = calloc(1, PLACE_SIZE + PLACE_BEHIND);
	for (i = 0; i < rounds && !expect_failures; i++) {
		state = seed + (uint64_t)i;
		one();
		make_reset();
	}
	if (expect_failures)
		fprintf(stderr, "seed %llu\n", (unsigned long long)(seed + (uint64_t)i - 1));
	for (i = 0; i < 2 + PLAN_REASON_COUNT; i++)
		if (outcomes[i])
			printf("%7d %s\n", outcomes[i],
					i ? plan_reason_text((enum plan_reason)(i - 1))
					  : "written");
	/* The test checks something only if it accepts many records and refuses many. */
	EXPECT(outcomes[0] > rounds, "few records are written");
	EXPECT(outcomes[1 + PLAN_REASON_ARGUMENT_LABEL] > rounds, "few labels differ");
	EXPECT(outcomes[1 + PLAN_REASON_NULL_POINTER] > rounds / 10, "few pointers are NULL");
	EXPECT(outcomes[1 + PLAN_REASON_ARGUMENT_COUNT] > rounds / 10, "few counts differ");
	free(location);
	return expect_end();
}
