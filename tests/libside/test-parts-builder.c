/* SPDX-License-Identifier: MIT */
/*
 * The builder when memory is missing, and at its limits. The file is included: each request for
 * memory needs a chunk of its own, so that each of them can fail.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <side/builder.h>

#include "event.h"

static unsigned int nr_requests, fails_at;
static int used; /* blocks that are not freed */
static bool has_own_chunks;

static void *counted_malloc(size_t size)
{
	if (++nr_requests == fails_at)
		return NULL;
	used++;
	/* Memory from malloc() is not zero. */
	return memset(malloc(size), 0xee, size);
}

static void *counted_calloc(size_t count, size_t size)
{
	if (++nr_requests == fails_at)
		return NULL;
	used++;
	return calloc(count, size);
}

static void counted_free(void *block)
{
	used -= block != NULL;
	free(block);
}

static void *clear(void *memory, int byte, size_t size);

#define malloc counted_malloc
#define calloc counted_calloc
#define free counted_free
#define memset clear
#include "libside/builder.c"
#undef malloc
#undef calloc
#undef free
#undef memset

static struct side_builder *now;

/* The last step of a request: the chunk has no free bytes left. */
static void *clear(void *memory, int byte, size_t size)
{
	if (has_own_chunks && now && now->chunks)
		now->chunks->used = now->chunks->size;
	return memset(memory, byte, size);
}

static enum side_visitor_status no_visit(
		const struct side_tracer_visitor_ctx *context, void *application)
{
	(void)context;
	(void)application;
	return SIDE_VISITOR_STATUS_OK;
}

#define HOST SIDE_TYPE_BYTE_ORDER_HOST
#define DIRECT SIDE_TYPE_GATHER_ACCESS_DIRECT

static void add_gather(struct side_builder *b)
{
	struct side_builder_type *structure = side_builder_struct(b), *integer, *labels;

	integer = side_builder_gather_integer(b, 8, 4, 1, 3, 20, HOST, DIRECT);
	side_builder_add_field(b, structure, "integer", integer);
	side_builder_add_field(b, structure, "bool",
			side_builder_gather_bool(b, 1, 1, 0, 0, HOST, DIRECT));
	side_builder_add_field(b, NULL, "gather_struct",
			side_builder_gather_struct(b, structure, 16, 24, DIRECT));
	side_builder_add_field(b, NULL, "gather_array",
			side_builder_gather_array(
					b, side_builder_gather_byte(b, 0, DIRECT), 5, 7, DIRECT));
	side_builder_add_field(b, NULL, "gather_vla",
			side_builder_gather_vla(b, side_builder_gather_float(b, 0, 8, HOST, DIRECT),
					side_builder_gather_integer(b, 4, 2, 0, 0, 0, HOST, DIRECT),
					9, DIRECT));
	labels = side_builder_gather_enum(
			b, side_builder_gather_integer(b, 2, 4, 1, 0, 0, HOST, DIRECT));
	side_builder_add_label(b, labels, "one", 1, 1);
	side_builder_add_field(b, NULL, "gather_enum", labels);
	side_builder_add_field(
			b, NULL, "gather_pointer", side_builder_gather_pointer(b, 3, HOST, DIRECT));
	side_builder_add_field(b, NULL, "gather_string",
			side_builder_gather_string(b, 6, 1, HOST, DIRECT));
}

static void add_attributes(struct side_builder *b)
{
	static const double number = 0.5;

	side_builder_attr_null(b, NULL, "null");
	side_builder_attr_bool(b, NULL, "bool", 1);
	side_builder_attr_unsigned(b, NULL, "unsigned", 4, 7);
	side_builder_attr_signed(b, NULL, "signed", 8, -7);
	side_builder_attr_u128(b, NULL, "u128", 1, 2);
	side_builder_attr_s128(b, NULL, "s128", -1, 2);
	side_builder_attr_float(b, NULL, "float", 8, &number);
	side_builder_attr_string(b, NULL, "string", "text");
	side_builder_attr_text(b, NULL, "text", u"wide", 2, HOST);
}

/* Adds each kind of type, label and attribute. */
static void add_all(struct side_builder *b)
{
	struct side_builder_type *inner = side_builder_struct(b), *labels, *bits, *variant;

	side_builder_add_field(b, inner, "bool", side_builder_bool(b));
	side_builder_add_field(b, inner, "pointer", side_builder_pointer(b, HOST));
	side_builder_attr_bool(b, inner, "inner", 1);
	side_builder_add_field(b, NULL, "struct", inner);
	side_builder_add_field(b, NULL, "array",
			side_builder_array(b, side_builder_integer(b, 2, 0, HOST), 3));
	side_builder_add_field(b, NULL, "vla",
			side_builder_vla(b, side_builder_byte(b),
					side_builder_integer(b, 1, 0, HOST)));
	side_builder_add_field(b, NULL, "visitor",
			side_builder_vla_visitor(b, side_builder_null(b),
					side_builder_integer(b, 4, 0, HOST), no_visit));
	side_builder_add_field(b, NULL, "optional",
			side_builder_optional(b, side_builder_float(b, 4, HOST)));
	labels = side_builder_enum(b, side_builder_integer(b, 4, 1, HOST));
	side_builder_add_label(b, labels, "negative", -5, -1);
	side_builder_add_label(b, labels, "zero", 0, 0);
	side_builder_add_field(b, NULL, "enum", labels);
	bits = side_builder_enum_bitmap(b, side_builder_integer(b, 1, 0, HOST));
	side_builder_add_bit_label(b, bits, "low", 0, 3);
	side_builder_add_field(b, NULL, "bitmap", bits);
	variant = side_builder_variant(b, side_builder_integer(b, 4, 0, HOST));
	side_builder_add_option(b, variant, 0, 9, side_builder_string(b, 1, HOST));
	side_builder_add_option(b, variant, 10, 19, side_builder_dynamic(b));
	side_builder_add_field(b, NULL, "variant", variant);
	add_gather(b);
	add_attributes(b);
}

/* Each request fails in turn: the error is reported, and all memory is freed. */
static void test_no_memory(void)
{
	unsigned int nr_failed = 0;
	struct side_builder *b;
	int result;

	has_own_chunks = true;
	for (fails_at = 1;; fails_at++) {
		nr_requests = 0;
		now = NULL;
		b = side_builder_create("provider", "event", SIDE_LOGLEVEL_INFO, 0);
		if (!b) {
			CHECK(nr_requests >= fails_at && used == 0);
			nr_failed++;
			continue;
		}
		now = b;
		add_all(b);
		result = side_builder_finish(b);
		if (result == SIDE_ERROR_OK)
			break;
		CHECK_EQUAL(result, SIDE_ERROR_NOMEM);
		CHECK(!strcmp(side_builder_error(b), "out of memory for the description"));
		CHECK(nr_requests >= fails_at && !side_builder_description(b));
		CHECK_EQUAL(side_builder_register(b), SIDE_ERROR_NOMEM);
		CHECK_EQUAL(side_builder_destroy(b), SIDE_ERROR_OK);
		CHECK_EQUAL(used, 0);
		nr_failed++;
	}
	CHECK(nr_failed > 80 && nr_requests < fails_at && fails_at == nr_failed + 1);
	CHECK(side_builder_description(b) && used == (int)nr_requests);
	CHECK_EQUAL(side_builder_destroy(b), SIDE_ERROR_OK);
	CHECK_EQUAL(used, 0);
	now = NULL;
	fails_at = 0;
	has_own_chunks = false;
}

static void is_error(struct side_builder *b, const char *expected)
{
	if (strcmp(side_builder_error(b), expected))
		fprintf(stderr, "\"%s\", expected \"%s\"\n", side_builder_error(b), expected);
	CHECK(!strcmp(side_builder_error(b), expected));
	CHECK_EQUAL(side_builder_destroy(b), SIDE_ERROR_OK);
}

/* Wraps a type in this kind of type. */
static struct side_builder_type *wrap(
		struct side_builder *b, unsigned int kind, struct side_builder_type *type)
{
	struct side_builder_type *outer, *integer = side_builder_integer(b, 1, 0, HOST);

	switch (kind) {
	case 0: return side_builder_optional(b, type);
	case 1: return side_builder_array(b, type, 1);
	case 2: return side_builder_vla(b, type, integer);
	case 3: return side_builder_vla_visitor(b, type, integer, no_visit);
	case 4:
		outer = side_builder_struct(b);
		side_builder_add_field(b, outer, "f", type);
		return outer;
	default:
		outer = side_builder_variant(b, integer);
		side_builder_add_option(b, outer, 1, 1, type);
		return outer;
	}
}

/* The maximum depth, and one type more, with each kind of type around. */
static void test_depth(void)
{
	for (unsigned int kind = 0; kind < 6; kind++) {
		for (unsigned int depth = 127; depth < 130; depth++) {
			struct side_builder *b =
					side_builder_create("deep", "event", SIDE_LOGLEVEL_INFO, 0);
			struct side_builder_type *type = side_builder_null(b);

			for (unsigned int i = 1; i < depth; i++)
				type = wrap(b, kind, type);
			side_builder_add_field(b, NULL, "top", type);
			CHECK_EQUAL(side_builder_finish(b),
					depth <= 128 ? SIDE_ERROR_OK : SIDE_ERROR_INVAL);
			CHECK(depth <= 128 ||
					strstr(side_builder_error(b),
							"types are nested more than 128 deep"));
			CHECK_EQUAL(side_builder_destroy(b), SIDE_ERROR_OK);
		}
	}
}

/* A path that is too long is cut off. */
static void test_paths(void)
{
	struct side_builder *b = side_builder_create("p", "e", SIDE_LOGLEVEL_INFO, 0);
	struct side_builder_type *type = side_builder_integer(b, 3, 0, HOST), *outer;
	char name[61], expected[512] = "p:e", path[300];

	memset(name, 'n', sizeof(name) - 1);
	name[60] = '\0';
	for (int i = 0; i < 6; i++) {
		outer = side_builder_struct(b);
		side_builder_add_field(b, outer, name, type);
		type = outer;
	}
	side_builder_add_field(b, NULL, "top", type);
	CHECK_EQUAL(side_builder_finish(b), SIDE_ERROR_INVAL);
	strcpy(path, "field \"top\"");
	for (int i = 0; i < 4; i++) {
		size_t at = strlen(path);

		snprintf(path + at, sizeof(path) - at, ", field \"%s\"", name);
	}
	snprintf(expected, sizeof(expected), "p:e, %.299s", path);
	CHECK(!strncmp(side_builder_error(b), expected, 280));
	CHECK(!strcmp(side_builder_error(b) + 5 + 299, ": an integer cannot have 3 bytes"));
	CHECK_EQUAL(side_builder_destroy(b), SIDE_ERROR_OK);
	b = side_builder_create("p", "e", SIDE_LOGLEVEL_INFO, 0);
	outer = side_builder_variant(b, side_builder_integer(b, 4, 0, HOST));
	side_builder_add_option(b, outer, 0, 1, side_builder_null(b));
	side_builder_add_option(b, outer, 2, 3, side_builder_integer(b, 3, 0, HOST));
	side_builder_add_field(b, NULL, "v", outer);
	CHECK_EQUAL(side_builder_finish(b), SIDE_ERROR_INVAL);
	is_error(b, "p:e, field \"v\", option 1: an integer cannot have 3 bytes");
}

/* The first error is kept. */
static void test_errors(void)
{
	struct side_builder *b = side_builder_create("p", "e", SIDE_LOGLEVEL_INFO, 0),
			    *other = side_builder_create("p", "o", SIDE_LOGLEVEL_INFO, 0);

	CHECK_EQUAL(builder_fail(b, SIDE_ERROR_EXIST, "first %d", 1), SIDE_ERROR_EXIST);
	CHECK_EQUAL(builder_fail(b, SIDE_ERROR_INVAL, "second"), SIDE_ERROR_EXIST);
	CHECK_EQUAL(builder_no_memory(b), SIDE_ERROR_EXIST);
	is_error(b, "first 1");
	b = side_builder_create("p", "e", SIDE_LOGLEVEL_INFO, 0);
	side_builder_add_field(b, side_builder_struct(other), "f", side_builder_null(b));
	is_error(b, "a type of another builder cannot be used");
	b = side_builder_create("p", "e", SIDE_LOGLEVEL_INFO, 0);
	CHECK_EQUAL(side_builder_add_label(b, side_builder_enum_bitmap(b, side_builder_byte(b)),
				    "x", 1, 2),
			SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_builder_destroy(b), SIDE_ERROR_OK);
	b = side_builder_create("p", "e", SIDE_LOGLEVEL_INFO, 0);
	CHECK_EQUAL(side_builder_add_bit_label(
				    b, side_builder_enum(b, side_builder_byte(b)), "x", 1, 2),
			SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_builder_destroy(b), SIDE_ERROR_OK);
	b = side_builder_create("p", "e", SIDE_LOGLEVEL_INFO, 0);
	CHECK_EQUAL(side_builder_add_field(b, side_builder_null(b), "x", side_builder_null(b)),
			SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_builder_destroy(b), SIDE_ERROR_OK);
	CHECK_EQUAL(side_builder_attr_float(NULL, NULL, "x", 4, ""), SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_builder_destroy(other), SIDE_ERROR_OK);
	CHECK(!strcmp(side_builder_error(NULL), "the builder is NULL: out of memory"));
	CHECK_EQUAL(used, 0);
}

/* ---- memory of the caller ---- */

static void *is_allocated[64];
static unsigned int nr_given;

static void *give(void *user, size_t size)
{
	CHECK(user == is_allocated);
	if (nr_given + 1 == fails_at || nr_given == 64)
		return NULL;
	is_allocated[nr_given] = memset(malloc(size), 0xee, size);
	return is_allocated[nr_given++];
}

static void free_given(void)
{
	while (nr_given)
		free(is_allocated[--nr_given]);
}

static void test_given(void)
{
	struct side_event_description *desc;
	struct side_builder *b;

	CHECK(!side_tracer_builder_create("p", "e", SIDE_LOGLEVEL_INFO, 0, NULL, is_allocated));
	fails_at = 1;
	CHECK(!side_tracer_builder_create("p", "e", SIDE_LOGLEVEL_INFO, 0, give, is_allocated));
	fails_at = 2;
	CHECK(!side_tracer_builder_create("p", "e", SIDE_LOGLEVEL_INFO, 0, give, is_allocated));
	CHECK(nr_given == 1);
	free_given();
	fails_at = 0;
	b = side_tracer_builder_create("left", "right", SIDE_LOGLEVEL_ERR, SIDE_EVENT_FLAG_VARIADIC,
			give, is_allocated);
	CHECK(b && b == is_allocated[0] && nr_given == 2);
	side_builder_add_field(b, NULL, "x", side_builder_bool(b));
	CHECK(!side_builder_description(b) && !side_builder_state(b) && !side_builder_enabled(b));
	CHECK_EQUAL(side_builder_finish(b), SIDE_ERROR_OK);
	desc = side_builder_description(b);
	CHECK(!strcmp(side_ptr_get(desc->provider_name), "left") &&
			!strcmp(side_ptr_get(desc->event_name), "right"));
	CHECK(desc->version == SIDE_EVENT_DESCRIPTION_ABI_VERSION && desc->struct_size == 112 &&
			desc->loglevel.v == SIDE_LOGLEVEL_ERR &&
			desc->flags == SIDE_EVENT_FLAG_VARIADIC);
	CHECK(side_builder_state(b)->version == SIDE_EVENT_STATE_ABI_VERSION);
	CHECK_EQUAL(side_builder_unregister(b), SIDE_ERROR_OK);
	CHECK_EQUAL(side_builder_register(b), SIDE_ERROR_OK);
	CHECK_EQUAL(side_builder_register(b), SIDE_ERROR_EXIST);
	CHECK(b->handle && b->was_registered);
	CHECK_EQUAL(side_builder_destroy(b), SIDE_ERROR_OK);
	CHECK(!b->handle && used == 0 && nr_given == 2);
	free_given();
	CHECK_EQUAL(side_builder_unregister(NULL), SIDE_ERROR_INVAL);
}

/* Requests of one size: the first chunk is small, and a larger request has a chunk of its own. */
static void test_chunks(void)
{
	struct side_builder *b = side_builder_create("p", "e", SIDE_LOGLEVEL_INFO, 0);
	unsigned char *one, *other;
	size_t begin;

	CHECK(b->chunks && b->chunks->size == 992 && b->chunks->used == 32);
	one = builder_take(b, 17);
	other = builder_take(b, 16);
	CHECK(other == one + 32 && b->chunks->used == 80 && !((uintptr_t)one & 15));
	begin = 992 - 80;
	CHECK((one = builder_take(b, begin)) == other + 16 && b->chunks->used == 992);
	CHECK(!one[0] && !one[begin - 1]);
	CHECK(builder_take(b, 1) && b->chunks->size == 4000 && b->chunks->used == 16);
	CHECK(builder_take(b, 4000) && b->chunks->size == 4000 && b->chunks->used == 4000);
	CHECK(builder_take(b, 4001) && b->chunks->size == 4016 && b->chunks->used == 4016);
	CHECK(used == 5);
	CHECK_EQUAL(side_builder_destroy(b), SIDE_ERROR_OK);
	CHECK_EQUAL(used, 0);
}

static void test_append(void)
{
	struct side_builder *b = side_builder_create("p", "e", SIDE_LOGLEVEL_INFO, 0);
	struct builder_list list = {.nr = 0};
	uint32_t capacity = 4;

	for (uint32_t i = 0; i < 100; i++) {
		uint64_t *item = builder_append_item(b, &list, sizeof(*item));

		CHECK(item && !*item && list.nr == i + 1);
		*item = i + 1;
		if (i == capacity)
			capacity *= 2;
		CHECK_EQUAL(list.capacity, capacity);
	}
	for (uint32_t i = 0; i < 100; i++)
		CHECK(((uint64_t *)list.items)[i] == i + 1);
	/* The maximum number of parts, and more. */
	list.nr = list.capacity = PARTS_MAX;
	CHECK(builder_append_item(b, &list, 0) && list.capacity == 2 * PARTS_MAX);
	list.nr = list.capacity = PARTS_MAX + 1;
	CHECK(!builder_append_item(b, &list, 0));
	is_error(b, "out of memory for the description");
}

int main(void)
{
	test_no_memory();
	test_depth();
	test_paths();
	test_errors();
	test_given();
	test_chunks();
	test_append();
	return 0;
}
