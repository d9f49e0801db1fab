/* SPDX-License-Identifier: MIT */
#ifndef TESTS_AGENT_PLAN_EXPECT_H
#define TESTS_AGENT_PLAN_EXPECT_H

/*
 * Expectations about plans: exact bytes, at every capacity, and reasons of refusals.
 */
#include <errno.h>

#include "tracers/agent/plan/plan.h"
#include "make.h"

static int expect_failures;

#define EXPECT(condition, ...)                                                           \
	do {                                                                             \
		if (!(condition)) {                                                      \
			fprintf(stderr, "%s:%d: %s: ", __BASE_FILE__, line, #condition); \
			fprintf(stderr, __VA_ARGS__);                                    \
			fputc('\n', stderr);                                             \
			expect_failures++;                                               \
		}                                                                        \
	} while (0)

struct expect_bytes {
	size_t size;
	uint8_t bytes[4096];
};

/* Parses "2a 00, 'text'": hexadecimal bytes, separated by spaces and commas, and quoted ASCII. */
static MAKE_UNUSED void parse_bytes(const char *text, struct expect_bytes *bytes)
{
	bytes->size = 0;
	while (*text) {
		if (*text == ' ' || *text == ',') {
			text++;
		} else if (*text == '\'') {
			for (text++; *text != '\''; text++)
				bytes->bytes[bytes->size++] = (uint8_t)*text;
			text++;
		} else {
			char digits[3] = {text[0], text[1], 0};

			bytes->bytes[bytes->size++] = (uint8_t)strtoul(digits, NULL, 16);
			text += 2;
		}
	}
}

static MAKE_UNUSED void print_bytes(const char *what, const uint8_t *bytes, ssize_t size)
{
	ssize_t i;

	fprintf(stderr, "  %s (%zd):", what, size);
	for (i = 0; i < size; i++)
		fprintf(stderr, " %02x", bytes[i]);
	fputc('\n', stderr);
}

static MAKE_UNUSED struct plan *expect_plan(const struct side_event_description *event, int line)
{
	char error[512] = "";
	struct plan *plan = NULL;
	int status = plan_compile(event, &plan, error, sizeof(error));

	EXPECT(status == 0, "%s (%d)", error, status);
	if (status)
		exit(1);
	return plan;
}

/*
 * Records into a buffer of exactly this size, so that the address sanitizer and the canaries detect
 * each write outside.
 */
static MAKE_UNUSED void expect_at(const struct plan *plan, const struct side_arg_vec *vector,
		const struct side_arg_dynamic_struct *variadic, const struct expect_bytes *expected,
		size_t capacity, int line)
{
	uint8_t *buffer = malloc(capacity + 16);
	enum plan_reason reason = PLAN_REASON_NONE;
	ssize_t size;
	size_t i;

	memset(buffer, 0x5a, capacity + 16);
	size = plan_serialize_reason(plan, vector, variadic, buffer, capacity, &reason);
	for (i = capacity; i < capacity + 16; i++)
		EXPECT(buffer[i] == 0x5a, "byte %zu beyond %zu written", i, capacity);
	if (capacity < expected->size) {
		EXPECT(size == -E2BIG && reason == PLAN_REASON_TOO_BIG, "%zd, %d at %zu", size,
				reason, capacity);
	} else {
		EXPECT(size == (ssize_t)expected->size, "%zd instead of %zu (%s)", size,
				expected->size, plan_reason_text(reason));
		EXPECT(size < 0 || !memcmp(buffer, expected->bytes, expected->size),
				"other bytes at %zu", capacity);
		if (size >= 0 && memcmp(buffer, expected->bytes, expected->size)) {
			print_bytes("got", buffer, size);
			print_bytes("expected", expected->bytes, (ssize_t)expected->size);
		}
	}
	free(buffer);
}

static unsigned int nr_scalar_plans, expect_spans; /* how many plans had these kinds */

/* Writes the bytes as the recorder copies them from the arguments, by the kind of the plan. */
static MAKE_UNUSED void expect_parts_at(const struct plan *plan, const struct side_arg_vec *vector,
		const struct expect_bytes *expected, int line)
{
	uint8_t *head = malloc(sizeof(expected->bytes));
	struct plan_span span = {NULL, 0};
	const struct side_arg *arg;
	ssize_t size;

	if (plan->kind == PLAN_KIND_SCALAR) {
		arg = side_ptr_get(vector->sav);
		EXPECT(arg->type.v == plan->scalar_label && expected->size == plan->scalar_size,
				"a cell of %u bytes", plan->scalar_size);
		EXPECT(!memcmp(&arg->u, expected->bytes, expected->size), "other bytes in it");
		nr_scalar_plans++;
	}
	if (plan->kind == PLAN_KIND_SPAN) {
		size = plan_serialize_span(plan, vector, head, sizeof(expected->bytes), &span);
		EXPECT(size >= 0 && (size_t)size + span.size == expected->size,
				"%zd and %zu instead of %zu", size, span.size, expected->size);
		EXPECT(size < 0 || !memcmp(head, expected->bytes, (size_t)size), "another head");
		EXPECT(size < 0 || !span.size ||
						!memcmp(span.bytes, expected->bytes + size,
								span.size),
				"another span");
		if (size > 0)
			EXPECT(plan_serialize_span(plan, vector, head, (size_t)size - 1, &span) ==
							-E2BIG,
					"fits %zd bytes", size - 1);
		expect_spans++;
	}
	free(head);
}

static MAKE_UNUSED void expect_record_at(int line, const struct side_event_description *event,
		const struct side_arg_vec *vector, const struct side_arg_dynamic_struct *variadic,
		const char *text)
{
	struct plan *plan = expect_plan(event, line);
	struct expect_bytes expected;
	ssize_t fixed = plan_fixed_size(plan);
	size_t capacity;

	parse_bytes(text, &expected);
	EXPECT(fixed == -1 || fixed == (ssize_t)expected.size, "fixed size %zd, record %zu", fixed,
			expected.size);
	for (capacity = 0; capacity <= expected.size + 9; capacity++)
		expect_at(plan, vector, variadic, &expected, capacity, line);
	expect_at(plan, vector, variadic, &expected, sizeof(expected.bytes), line);
	expect_parts_at(plan, vector, &expected, line);
	plan_free(plan);
}

/* Expects the bytes of an event of one field. */
static MAKE_UNUSED void expect_field_at(
		int line, struct side_type type, struct side_arg arg, const char *text)
{
	struct side_event_description *event = make_event(1, &type, NULL, 0);

	expect_record_at(line, event, make_vector(1, &arg), NULL, text);
}

/*
 * Expects the same value between two others: the neighbours of a field decide how a plan records
 * it.
 */
static MAKE_UNUSED void expect_everywhere_at(
		int line, struct side_type type, struct side_arg arg, const char *text)
{
	struct side_type types[3] = {make_plain(2, false), type, make_string(1, HOST)};
	struct side_arg args[3] = {ARG(SIDE_TYPE_U16, uint16_t, 0x2211), arg,
			arg_pointer(SIDE_TYPE_STRING_UTF8, "end")};
	struct side_event_description *event = make_event(3, types, NULL, 0);
	char longer[8192];

	expect_field_at(line, type, arg, text);
	snprintf(longer, sizeof(longer), "11 22 %s 'end' 00", text);
	expect_record_at(line, event, make_vector(3, args), NULL, longer);
	/* In an array, where another interpreter runs the operations of the element. */
	args[0] = args[2] = arg;
	expect_field_at(line, make_array(type, 1), arg_vector(SIDE_TYPE_ARRAY, 1, &arg), text);
	args[1] = arg;
	snprintf(longer, sizeof(longer), "%s %s %s", text, text, text);
	expect_field_at(line, make_array(type, 3), arg_vector(SIDE_TYPE_ARRAY, 3, args), longer);
}

static MAKE_UNUSED void expect_refusal_at(int line, const struct side_event_description *event,
		const struct side_arg_vec *vector, const struct side_arg_dynamic_struct *variadic,
		enum plan_reason expected)
{
	struct plan *plan = expect_plan(event, line);
	enum plan_reason reason = PLAN_REASON_NONE;
	uint8_t *buffer = malloc(4096);
	ssize_t size;

	size = plan_serialize_reason(plan, vector, variadic, buffer, 4096, &reason);
	EXPECT(size == -EINVAL && reason == expected, "%zd: %s instead of %s", size,
			plan_reason_text(reason), plan_reason_text(expected));
	size = plan_serialize(plan, vector, variadic, buffer, 4096);
	EXPECT(size == -EINVAL, "%zd without a reason", size);
	if (plan->kind == PLAN_KIND_SPAN) {
		size = plan_serialize_span(plan, vector, buffer, 4096, &(struct plan_span){0});
		EXPECT(size == -EINVAL, "%zd from the span", size);
	}
	free(buffer);
	plan_free(plan);
}

static MAKE_UNUSED void expect_field_refusal_at(
		int line, struct side_type type, struct side_arg arg, enum plan_reason expected)
{
	struct side_event_description *event = make_event(1, &type, NULL, 0);

	expect_refusal_at(line, event, make_vector(1, &arg), NULL, expected);
}

static MAKE_UNUSED void expect_no_plan_at(int line, const struct side_event_description *event,
		int expected, const char *sentence)
{
	char error[512] = "";
	struct plan *plan = NULL;
	int status = plan_compile(event, &plan, error, sizeof(error));

	EXPECT(status == expected, "%d instead of %d (%s)", status, expected, error);
	EXPECT(strstr(error, sentence), "'%s' is not about '%s'", error, sentence);
	EXPECT(plan_size(event, NULL, 0) == expected, "plan_size() differs");
	if (!status)
		plan_free(plan);
}

static MAKE_UNUSED void expect_no_type_at(
		int line, struct side_type type, int expected, const char *sentence)
{
	expect_no_plan_at(line, make_event(1, &type, NULL, 0), expected, sentence);
}

#define expect_record(...) expect_record_at(__LINE__, __VA_ARGS__)
#define expect_field(...) expect_field_at(__LINE__, __VA_ARGS__)
#define expect_everywhere(...) expect_everywhere_at(__LINE__, __VA_ARGS__)
#define expect_refusal(...) expect_refusal_at(__LINE__, __VA_ARGS__)
#define expect_field_refusal(...) expect_field_refusal_at(__LINE__, __VA_ARGS__)
#define expect_no_plan(...) expect_no_plan_at(__LINE__, __VA_ARGS__)
#define expect_no_type(...) expect_no_type_at(__LINE__, __VA_ARGS__)

static MAKE_UNUSED int expect_end(void)
{
	make_reset();
	return expect_failures != 0;
}

#endif /* TESTS_AGENT_PLAN_EXPECT_H */
