/* SPDX-License-Identifier: MIT */
/*
 * Limits of libside: application contexts, requests of state dumps, and findings about
 * descriptions.
 */
#include "driver.h"

#include <errno.h>
#include <stdio.h>

#include <side/builder.h>
#include <side/context.h>
#include <side/trace.h>
#include <side/tracer-extensions.h>

#include "abi/visit.h"

#define HOST SIDE_TYPE_BYTE_ORDER_HOST

/* ---- application contexts ---- */

static void get_nothing(struct side_context_value *value, void *priv)
{
	(void)priv;
	(void)value;
}

/* The length of the provider and the name together. */
static int register_context(size_t provider, size_t name)
{
	struct side_context_handle *handle = NULL;
	int ret = side_context_register(limit_text('p', provider), limit_text('n', name),
			get_nothing, NULL, &handle);

	assert_true(!ret == (handle != NULL));
	side_context_unregister(handle);
	return ret;
}

static int context_name(uint64_t count)
{
	return register_context(1, count - 1);
}

static int context_provider(uint64_t count)
{
	return register_context(count - 1, 1);
}

static int context_half(uint64_t count)
{
	return register_context(count / 2, count - count / 2);
}

static int context_found(uint64_t count)
{
	return side_context_find("p", limit_text('f', count - 1)) ? 0 : SIDE_ERROR_INVAL;
}

static void test_contexts(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(context_name, 73, SIDE_ERROR_INVAL, ""),
			LIMIT_CASE(context_provider, 73, SIDE_ERROR_INVAL, ""),
			LIMIT_CASE(context_half, 73, SIDE_ERROR_INVAL, ""),
			LIMIT_CASE(context_found, 73, SIDE_ERROR_INVAL, ""),
	};

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
}

/* Names are never removed: the test above has added four. */
static void test_number_of_contexts(void **state)
{
	struct side_context_handle *handle = NULL;
	unsigned int count = 4;
	char name[16];

	(void)state;
	for (; count < 1024; count++) {
		snprintf(name, sizeof(name), "c%u", count);
		assert_non_null(side_context_find("many", name));
	}
	assert_null(side_context_find("many", "c1024"));
	assert_int_equal(side_context_register("many", "c1024", get_nothing, NULL, &handle),
			SIDE_ERROR_NOMEM);
	assert_null(handle);
	assert_int_equal(side_context_register("many", "c1023", get_nothing, NULL, &handle),
			SIDE_ERROR_OK);
	side_context_unregister(handle);
}

/* ---- state dumps ---- */

static unsigned int dumps;

static void dump(void *key)
{
	(void)key;
	dumps++;
}

static void test_requests(void **state)
{
	struct side_statedump_request_handle *handle = side_statedump_request_notification_register(
			"limits", dump, SIDE_STATEDUMP_MODE_POLLING);
	uint64_t first = 0, key;

	(void)state;
	assert_non_null(handle);
	/* The request of the registration was served, or waits. */
	assert_int_equal(side_statedump_run_pending_requests(handle), SIDE_ERROR_OK);
	dumps = 0;
	for (unsigned int i = 0; i < 1025; i++) {
		assert_int_equal(side_tracer_request_key(&key), SIDE_ERROR_OK);
		first = i ? first : key;
		assert_int_equal(side_tracer_statedump_request(key),
				i < 1024 ? SIDE_ERROR_OK : SIDE_ERROR_NOMEM);
	}
	/* A request that already waits needs no further space. */
	assert_int_equal(side_tracer_statedump_request(first), SIDE_ERROR_OK);
	assert_int_equal(side_statedump_run_pending_requests(handle), SIDE_ERROR_OK);
	assert_int_equal(dumps, 1024);
	side_statedump_request_notification_unregister(handle);
}

/* ---- descriptions ---- */

static char finding[512];
static unsigned int findings;

static void find(void *priv, enum visit_severity severity, const struct visit_node *node,
		const struct visit_error *error)
{
	(void)priv;
	(void)node;
	if (severity != VISIT_ERROR)
		return;
	findings++;
	snprintf(finding, sizeof(finding), "%s", error->what);
}

/* The errors of the description that the builder has made. */
static int lint(struct side_builder *builder)
{
	findings = 0;
	if (side_builder_finish(builder) != SIDE_ERROR_OK)
		fail_msg("%s", side_builder_error(builder));
	visit_description_lint(side_builder_description(builder), sizeof(void *), find, NULL);
	assert_int_equal(side_builder_destroy(builder), SIDE_ERROR_OK);
	if (findings)
		limit_problem = finding;
	return findings ? -EINVAL : 0;
}

static struct side_builder *begin(void)
{
	struct side_builder *builder =
			side_builder_create("limits", "event", SIDE_LOGLEVEL_INFO, 0);

	assert_non_null(builder);
	return builder;
}

static int event_fields(uint64_t count)
{
	struct side_builder *builder = begin();
	char name[16];

	for (uint64_t i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "f%u", (unsigned int)i);
		side_builder_add_field(builder, NULL, name, side_builder_bool(builder));
	}
	return lint(builder);
}

static int array_elements(uint64_t count)
{
	struct side_builder *builder = begin();

	side_builder_add_field(builder, NULL, "f",
			side_builder_array(builder, side_builder_bool(builder), (uint32_t)count));
	return lint(builder);
}

static int gathered_elements(uint64_t count)
{
	struct side_builder *builder = begin();
	struct side_builder_type *byte =
			side_builder_gather_byte(builder, 0, SIDE_TYPE_GATHER_ACCESS_DIRECT);

	side_builder_add_field(builder, NULL, "f",
			side_builder_gather_array(builder, byte, (uint32_t)count, 0,
					SIDE_TYPE_GATHER_ACCESS_DIRECT));
	return lint(builder);
}

static int gathered_offset(uint64_t count)
{
	struct side_builder *builder = begin();

	side_builder_add_field(builder, NULL, "f",
			side_builder_gather_byte(builder, count, SIDE_TYPE_GATHER_ACCESS_DIRECT));
	return lint(builder);
}

/* Nested optional values. The field is the outermost level. */
static int built_levels(uint64_t count)
{
	struct side_builder *builder = begin();
	struct side_builder_type *type = side_builder_null(builder);
	int ret;

	for (uint64_t i = 1; i < count; i++)
		type = side_builder_optional(builder, type);
	side_builder_add_field(builder, NULL, "f", type);
	ret = side_builder_finish(builder);
	if (ret)
		limit_problem = strstr(side_builder_error(builder), "types are nested") ? "nested"
											: "";
	else
		assert_int_equal(
				visit_description_check(side_builder_description(builder), 0, NULL),
				0);
	side_builder_destroy(builder);
	return ret;
}

/* `count` fields of this type. */
static void put_fields(struct side_builder *builder, struct side_builder_type *into,
		struct side_builder_type *type, uint64_t count)
{
	char name[16];

	for (uint64_t i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "f%u", (unsigned int)i);
		side_builder_add_field(builder, into, name, type);
	}
}

/*
 * Each type counts as often as it is used: structures with 1,022 structures of 1,023 fields, and
 * single fields.
 */
static int built_parts(uint64_t count)
{
	struct side_builder *builder = begin();
	struct side_builder_type *byte = side_builder_bool(builder);
	struct side_builder_type *inner = side_builder_struct(builder);
	struct side_builder_type *outer = side_builder_struct(builder);
	int ret;

	put_fields(builder, inner, byte, 1023);
	put_fields(builder, outer, inner, 1022);
	side_builder_add_field(builder, NULL, "s", outer);
	put_fields(builder, NULL, byte, count - (2 + 1022 * 1024));
	ret = side_builder_finish(builder);
	if (ret)
		limit_problem = strstr(side_builder_error(builder), "more than 1048576 parts")
				? "parts"
				: "";
	side_builder_destroy(builder);
	return ret;
}

static void test_descriptions(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(event_fields, 1024, -EINVAL,
					"it has 1025 fields, which is too many"),
			LIMIT_CASE(array_elements, 65536, -EINVAL,
					"the array has 65537 elements, which is too many"),
			LIMIT_CASE(gathered_elements, 1 << 24, -EINVAL,
					"the array has 16777217 elements, which is too many"),
			LIMIT_CASE(gathered_offset, UINT64_C(1) << 32, -EINVAL,
					"the offset 0x100000001 is too large"),
			LIMIT_CASE(built_levels, 128, SIDE_ERROR_INVAL, "nested"),
			LIMIT_CASE(built_parts, 1048576, SIDE_ERROR_INVAL, "parts"),
	};

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
}

/* ---- nested types, as a hostile program describes them ---- */

#define LEVELS 129

static struct side_event_description desc;

/* `count` nested structures. The innermost one is empty. */
static void nest(unsigned int count)
{
	static struct side_type_struct levels[LEVELS];
	static struct side_event_field fields[LEVELS];

	memset(&desc, 0, sizeof(desc));
	memset(levels, 0, sizeof(levels));
	memset(fields, 0, sizeof(fields));
	for (unsigned int i = 0; i < count; i++) {
		side_ptr_set(fields[i].field_name, "f");
		side_enum_set(fields[i].side_type.type, SIDE_TYPE_STRUCT);
		side_ptr_set(fields[i].side_type.u.side_struct, &levels[i]);
		if (i + 1 < count) {
			side_ptr_set(levels[i].fields.elements, &fields[i + 1]);
			levels[i].fields.length = 1;
		}
	}
	desc.struct_size = sizeof(desc);
	side_ptr_set(desc.provider_name, "limits");
	side_ptr_set(desc.event_name, "event");
	side_ptr_set(desc.fields.elements, fields);
	desc.fields.length = 1;
}

static struct visit_error error;

static int keep(int ret)
{
	if (ret)
		limit_problem = strtok(error.what, "\n");
	return ret;
}

static int checked_levels(uint64_t count)
{
	nest((unsigned int)count);
	return keep(visit_description_check(&desc, 0, &error));
}

static int encoded_levels(uint64_t count)
{
	struct visit_buffer out;
	int ret;

	nest((unsigned int)count);
	visit_buffer_heap(&out);
	ret = keep(visit_description_encode(&desc, &out, &error));
	visit_buffer_free(&out);
	return ret;
}

/* The levels of a message. The last of 128 types becomes a structure with one more level. */
static int decoded_levels(uint64_t count)
{
	struct visit_owned *owned;
	struct visit_buffer out;
	int ret;

	nest((unsigned int)count);
	visit_buffer_heap(&out);
	assert_int_equal(visit_description_encode(&desc, &out, &error), 0);
	ret = keep(visit_description_decode(out.data, out.size, &owned, &error));
	if (!ret)
		visit_owned_free(owned);
	visit_buffer_free(&out);
	return ret;
}

static void test_levels(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(checked_levels, 128, -ELOOP,
					"types are nested more than 128 deep"),
			LIMIT_CASE(encoded_levels, 128, -ELOOP,
					"types are nested more than 128 deep"),
	};

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
	assert_int_equal(decoded_levels(128), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_contexts),
			cmocka_unit_test(test_number_of_contexts),
			cmocka_unit_test(test_requests),
			cmocka_unit_test(test_descriptions),
			cmocka_unit_test(test_levels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
