/* SPDX-License-Identifier: MIT */
/*
 * Limits and details of the visitors: parts of a description, the smallest encoded parts, paths of
 * errors, gathered memory, the application's visitors. The files with static functions are compiled
 * into this test.
 */
#include "abi/arguments.c"
#include "abi/path.c"

/* Both files have static functions with these names. */
#include "abi/arguments-dynamic.c"
#include "abi/arguments-gather.c"

#include <stdlib.h>

#include <side/trace.h>

#include "../check.h"

#define DIRECT SIDE_TYPE_GATHER_ACCESS_DIRECT
#define POINTER SIDE_TYPE_GATHER_ACCESS_POINTER

static void shell(struct side_event_description *desc, const struct side_event_field *fields,
		uint32_t nr)
{
	memset(desc, 0, sizeof(*desc));
	desc->struct_size = sizeof(*desc);
	side_ptr_set(desc->provider_name, "p");
	side_ptr_set(desc->event_name, "e");
	side_ptr_set(desc->fields.elements, fields);
	desc->fields.length = nr;
}

static void dynamic_field(struct side_event_field *field, const char *name)
{
	memset(field, 0, sizeof(*field));
	side_ptr_set(field->field_name, name);
	side_enum_set(field->side_type.type, SIDE_TYPE_DYNAMIC);
}

/* ---- the number of parts ---- */

/*
 * 512 structures of 1022 fields, and 512 fields: together 2^20 parts, because each type and each
 * field counts.
 */
static void number_of_parts(void)
{
	static struct side_event_field inner[1022], outer[1024];
	static struct side_type_struct structure;
	static const struct side_attr one[] = {side_attr("k", side_attr_u8(1))};
	struct side_event_description desc;
	struct visit_owned *owned;
	struct visit_error error;
	struct visit_buffer out;

	for (unsigned int i = 0; i < 1022; i++)
		dynamic_field(&inner[i], "i");
	side_ptr_set(structure.fields.elements, inner);
	structure.fields.length = 1022;
	for (unsigned int i = 0; i < 1024; i++) {
		dynamic_field(&outer[i], "o");
		if (i % 2)
			continue;
		side_enum_set(outer[i].side_type.type, SIDE_TYPE_STRUCT);
		side_ptr_set(outer[i].side_type.u.side_struct, &structure);
	}
	shell(&desc, outer, 1024);
	visit_buffer_heap(&out);
	CHECK(!visit_description_check(&desc, 0, &error));
	CHECK(!visit_description_encode(&desc, &out, &error));
	CHECK(!visit_description_decode(out.data, out.size, &owned, &error));
	visit_owned_free(owned);
	side_ptr_set(desc.attributes.elements, one);
	desc.attributes.length = 1;
	/* The last type is one too many. */
	CHECK(visit_description_check(&desc, 0, &error) == -E2BIG);
	CHECK(!strcmp(error.what, "the description has more than 1048576 parts"));
	CHECK(!strcmp(error.where, "p:e\nfield: \"o\""));
	out.size = 0;
	CHECK(visit_description_read(NULL, (uintptr_t)&desc, &out, &error) == -E2BIG && !out.size);
	CHECK(!strcmp(error.what, "the description has more than 1048576 parts"));
	CHECK(!strcmp(error.where, "p:e\nfield: \"o\""));
	/* The last field. */
	desc.attributes.length = 0;
	side_ptr_set(outer[1023].side_type.u.side_null.attributes.elements, one);
	side_enum_set(outer[1023].side_type.type, SIDE_TYPE_NULL);
	outer[1023].side_type.u.side_null.attributes.length = 1;
	CHECK(visit_description_check(&desc, 0, &error) == -E2BIG);
	CHECK(visit_description_read(NULL, (uintptr_t)&desc, &out, &error) == -E2BIG && !out.size);
	visit_buffer_free(&out);
}

static void put(struct visit_buffer *out, uint64_t number, unsigned int size)
{
	CHECK(!visit_buffer_append(out, &number, size)); /* a little-endian machine */
}

/* Returns the result for an event with this many encoded attributes of the smallest size. */
static int decode_attributes_of(uint32_t nr, struct visit_error *error)
{
	static const unsigned char smallest[10] = {1};
	struct visit_owned *owned;
	struct visit_buffer out;
	int ret;

	visit_buffer_heap(&out);
	CHECK(!visit_buffer_append(&out, "SDSC\1\0\0\0\0\0\0\0\1\0\0\0p\1\0\0\0e", 22));
	put(&out, 0, 8);
	put(&out, 51, 2);
	put(&out, 17, 2);
	put(&out, 6, 4);
	put(&out, nr, 4);
	for (uint32_t i = 0; i < nr; i++)
		CHECK(!visit_buffer_append(&out, smallest, sizeof(smallest)));
	put(&out, 0, 4);
	memcpy(out.data + 8, &(uint32_t){(uint32_t)out.size}, 4);
	ret = visit_description_decode(out.data, out.size, &owned, error);
	visit_owned_free(owned);
	visit_buffer_free(&out);
	return ret;
}

static void number_of_decoded_parts(void)
{
	struct visit_error error;

	CHECK(!decode_attributes_of(1 << 20, &error));
	CHECK(decode_attributes_of((1 << 20) + 1, &error) == -E2BIG);
	CHECK(!strcmp(error.what, "the description has more than 1048576 parts"));
	CHECK(!strcmp(error.where, "p:e"));
}

/* ---- the smallest encoded parts, as the last ones ---- */

#define MANY 200

static void encodes_and_decodes(
		const struct side_event_description *desc, size_t around, size_t each)
{
	struct visit_owned *owned;
	struct visit_error error;
	struct visit_buffer out, again;

	visit_buffer_heap(&out);
	visit_buffer_heap(&again);
	CHECK(!visit_description_encode(desc, &out, &error));
	CHECK(out.size == 46 + around + MANY * each);
	CHECK(!visit_description_decode(out.data, out.size, &owned, &error));
	CHECK(!visit_description_encode(owned->desc, &again, &error));
	CHECK(again.size == out.size && !memcmp(again.data, out.data, out.size));
	visit_owned_free(owned);
	visit_buffer_free(&out);
	visit_buffer_free(&again);
}

static void smallest_parts(void)
{
	static struct side_event_field fields[MANY], one;
	static struct {
		int64_t begin, end;
		struct side_type type;
	} SIDE_PACKED options[MANY];
	static struct side_enum_mapping mappings[MANY];
	static struct {
		struct side_type_raw_string key;
		struct side_attr_value value;
	} SIDE_PACKED attributes[MANY];
	static struct {
		side_array_t(const struct side_variant_option) options;
		struct side_type selector;
		side_array_t(const struct side_attr) attributes;
	} SIDE_PACKED variant;
	static struct side_enum_mappings table;
	static struct side_type element;
	struct side_event_description desc;

	for (unsigned int i = 0; i < MANY; i++) {
		dynamic_field(&fields[i], "");
		side_enum_set(options[i].type.type, SIDE_TYPE_DYNAMIC);
		side_ptr_set(mappings[i].label.p, "");
		mappings[i].label.unit_size = 1;
		attributes[i].key = mappings[i].label;
	}
	side_enum_set(element.type, SIDE_TYPE_U8);
	element.u.side_integer.integer_size = 1;
	shell(&desc, fields, MANY);
	encodes_and_decodes(&desc, 0, 6);
	dynamic_field(&one, "f");
	shell(&desc, &one, 1);
	/* Name, label, selector of 12 bytes, number of options, of attributes. */
	side_enum_set(one.side_type.type, SIDE_TYPE_VARIANT);
	side_ptr_set(one.side_type.u.side_variant,
			(const struct side_type_variant *)(void *)&variant);
	variant.selector = element;
	side_ptr_set(variant.options.elements, (const struct side_variant_option *)(void *)options);
	variant.options.length = MANY;
	encodes_and_decodes(&desc, 5 + 2 + 12 + 4 + 4, 18);
	memset(&one.side_type, 0, sizeof(one.side_type));
	side_enum_set(one.side_type.type, SIDE_TYPE_ENUM);
	side_ptr_set(one.side_type.u.side_enum.mappings, &table);
	side_ptr_set(one.side_type.u.side_enum.elem_type, &element);
	side_ptr_set(table.mappings.elements, mappings);
	table.mappings.length = MANY;
	encodes_and_decodes(&desc, 5 + 2 + 4 + 4 + 12, 22);
	memset(&one.side_type, 0, sizeof(one.side_type));
	side_enum_set(one.side_type.type, SIDE_TYPE_NULL);
	side_ptr_set(one.side_type.u.side_null.attributes.elements,
			(const struct side_attr *)(void *)attributes);
	one.side_type.u.side_null.attributes.length = MANY;
	encodes_and_decodes(&desc, 5 + 2 + 4, 10);
}

/* ---- names in the paths of errors of encoding ---- */

static void expect_path(struct side_event_description *desc, const char *provider,
		const char *event, const char *field)
{
	char wanted[256];
	struct visit_error error;
	struct visit_buffer out;

	visit_buffer_heap(&out);
	CHECK(visit_description_read(NULL, (uintptr_t)desc, &out, &error) == -ENOTSUP);
	snprintf(wanted, sizeof(wanted), "%s:%s\nfield: \"%s\"", provider, event, field);
	if (strcmp(error.where, wanted))
		fprintf(stderr, "%s, not %s\n", error.where, wanted);
	CHECK(!strcmp(error.where, wanted));
	CHECK(!strcmp(error.what, "the type label 77 is unknown"));
	visit_buffer_free(&out);
}

static void encoded_names(void)
{
	static const char long_name[] = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
	struct side_event_description desc;
	struct side_event_field field;
	char name[64], shortened[48];

	dynamic_field(&field, "f");
	side_enum_set(field.side_type.type, 77);
	shell(&desc, &field, 1);
	expect_path(&desc, "p", "e", "f");
	snprintf(shortened, sizeof(shortened), "%.47s", long_name);
	for (int size = 46; size <= 49; size++) {
		snprintf(name, sizeof(name), "%.*s", size, long_name);
		side_ptr_set(field.field_name, name);
		expect_path(&desc, "p", "e", size < 47 ? name : shortened);
	}
	side_ptr_set(desc.provider_name, name);
	side_ptr_set(field.field_name, "");
	expect_path(&desc, shortened, "e", "#0");
	side_ptr_set(desc.event_name, name);
	side_ptr_set(desc.provider_name, "");
	side_ptr_set(field.field_name, NULL);
	expect_path(&desc, "?", shortened, "#0");
}

static void encoded_numbers(void)
{
	static struct side_event_field fields[1235];
	struct side_event_description desc;
	struct visit_error error;
	struct visit_buffer out;
	char wanted[64];

	for (unsigned int i = 0; i < 1235; i++)
		dynamic_field(&fields[i], NULL);
	visit_buffer_heap(&out);
	for (unsigned int nr = 1; nr <= 1235; nr += nr < 12 ? 1 : 1223) {
		shell(&desc, fields, nr);
		side_enum_set(fields[nr - 1].side_type.type, 77);
		CHECK(visit_description_read(NULL, (uintptr_t)&desc, &out, &error) == -ENOTSUP);
		snprintf(wanted, sizeof(wanted), "p:e\nfield: \"#%u\"", nr - 1);
		CHECK(!strcmp(error.where, wanted) && !out.size);
		side_enum_set(fields[nr - 1].side_type.type, SIDE_TYPE_DYNAMIC);
	}
	visit_buffer_free(&out);
}

/* ---- paths ---- */

static void fail_at(struct visit_error *error, const struct visit_step *here, const char *format,
		...) __attribute__((format(printf, 3, 4)));
static void fail_at(
		struct visit_error *error, const struct visit_step *here, const char *format, ...)
{
	va_list args;

	memset(error, 'x', sizeof(*error));
	va_start(args, format);
	visit_error_format(error, format, args);
	va_end(args);
	if (here)
		abi_path_write_steps(here, error->where, sizeof(error->where));
}

static void paths(void)
{
	struct visit_step steps[40];
	struct visit_error error;
	char wanted[1024], text[1200];

	for (unsigned int i = 0; i < 40; i++)
		steps[i] = (struct visit_step){.up = i ? &steps[i - 1] : NULL,
				.kind = i ? VISIT_STEP_INDEX : VISIT_STEP_EVENT,
				.name = "p",
				.name2 = "e",
				.index = 100 + i};
	for (unsigned int depth = 23; depth < 28; depth++) {
		size_t used = (size_t)snprintf(wanted, sizeof(wanted), "p:e");

		for (unsigned int i = 1; i <= depth; i++) {
			/* 24 steps are written: the outermost 12, and the innermost 12. */
			if (i == 12 && depth + 1 > 24)
				used += (size_t)snprintf(
						wanted + used, sizeof(wanted) - used, "\n...");
			if (i < 12 || i > depth - 12)
				used += (size_t)snprintf(wanted + used, sizeof(wanted) - used,
						"\nindex: %u", 100 + i);
		}
		fail_at(&error, &steps[depth], "problem");
		CHECK(!strcmp(error.where, wanted));
	}
	/* The first line end separates problem and hint; further ones belong to the hint. */
	fail_at(&error, NULL, "one\ntwo");
	CHECK(!strcmp(error.what, "one") && !strcmp(error.hint, "two") && !error.where[0]);
	fail_at(&error, NULL, "%s\nhint", "a\nb");
	CHECK(!strcmp(error.what, "a\nb") && !strcmp(error.hint, "hint"));
	fail_at(&error, NULL, "%s", "a\nb");
	CHECK(!strcmp(error.what, "a\nb") && !error.hint[0]);
	CHECK(!error.expected[0] && !error.found[0]);
	/* In one line, with each size of the output. */
	snprintf(error.what, sizeof(error.what), "what");
	snprintf(error.hint, sizeof(error.hint), "hint");
	snprintf(error.where, sizeof(error.where), "p:e\nx\ny");
	CHECK(!strcmp(visit_error_problem(&error, text, sizeof(text)), "what (in p:e, x, y)"));
	CHECK(!strcmp(visit_error_sentence(&error, text, sizeof(text)),
			"what (in p:e, x, y); hint"));
	for (size_t size = 0; size <= 27; size++) {
		memset(text, '#', sizeof(text));
		visit_error_sentence(&error, text, size);
		CHECK(text[size] == '#' && (!size || memchr(text, 0, size)));
		memset(text, '#', sizeof(text));
		visit_error_problem(&error, text, size);
		CHECK(text[size] == '#' && (!size || memchr(text, 0, size)));
		/* A separator may take two bytes, so the last letter needs one more. */
		if (size == 21)
			CHECK(!strcmp(text, "what (in p:e, x, y)"));
		if (size == 20)
			CHECK(!strcmp(text, "what (in p:e, x, )"));
	}
	error.hint[0] = '\0';
	CHECK(!strcmp(visit_error_sentence(&error, text, sizeof(text)), "what (in p:e, x, y)"));
	error.where[0] = '\0';
	CHECK(!strcmp(visit_error_problem(&error, text, sizeof(text)), "what"));
	/* Errors keep errno, and the structure is optional. */
	errno = 4711;
	CHECK(visit_fail(&error, &steps[1], -EDOM, "%d", 5) == -EDOM && errno == 4711);
	CHECK(!strcmp(error.what, "5") && !strcmp(error.where, "p:e\nindex: 101"));
	CHECK(visit_fail(NULL, &steps[1], -EDOM, "%d", 5) == -EDOM);
	/* Each kind of step, also without names. */
	steps[0].name = steps[0].name2 = NULL;
	steps[1].kind = VISIT_STEP_FIELD;
	steps[1].name = NULL;
	steps[2].kind = VISIT_STEP_OPTION;
	steps[3].kind = VISIT_STEP_WORD;
	steps[3].name = "word";
	steps[4].kind = VISIT_STEP_FIELD;
	steps[4].name = "name";
	fail_at(&error, &steps[4], "problem");
	CHECK(!strcmp(error.where,
			"(null):(null)\nfield: \"(null)\"\noption: 102\nword\nfield: \"name\""));
	/* A path that does not fit is truncated. */
	memset(text, 'n', 200);
	text[200] = '\0';
	for (unsigned int i = 0; i < 24; i++) {
		steps[i].kind = VISIT_STEP_FIELD;
		steps[i].name = text;
	}
	fail_at(&error, &steps[23], "problem");
	CHECK(strlen(error.where) == sizeof(error.where) - 1);
	CHECK(!strncmp(error.where, "field: \"nnnnnnnnnn", 18));
	CHECK(strchr(error.where, '\n') - error.where == 69);
}

/* ---- gathered memory ---- */

static struct side_type gather_type(
		unsigned int label, unsigned int size, uint64_t offset, unsigned int mode)
{
	struct side_type type;

	memset(&type, 0, sizeof(type));
	side_enum_set(type.type, label);
	switch (label) {
	case SIDE_TYPE_GATHER_BOOL:
		type.u.side_gather.u.side_bool.type.bool_size = (uint16_t)size;
		type.u.side_gather.u.side_bool.offset = offset;
		side_enum_set(type.u.side_gather.u.side_bool.access_mode, mode);
		break;
	case SIDE_TYPE_GATHER_BYTE:
		type.u.side_gather.u.side_byte.offset = offset;
		side_enum_set(type.u.side_gather.u.side_byte.access_mode, mode);
		break;
	case SIDE_TYPE_GATHER_FLOAT:
		type.u.side_gather.u.side_float.type.float_size = (uint16_t)size;
		type.u.side_gather.u.side_float.offset = offset;
		side_enum_set(type.u.side_gather.u.side_float.access_mode, mode);
		break;
	case SIDE_TYPE_GATHER_STRING:
		type.u.side_gather.u.side_string.type.unit_size = (uint8_t)size;
		type.u.side_gather.u.side_string.offset = offset;
		side_enum_set(type.u.side_gather.u.side_string.access_mode, mode);
		break;
	case SIDE_TYPE_GATHER_STRUCT:
		type.u.side_gather.u.side_struct.size = size;
		type.u.side_gather.u.side_struct.offset = offset;
		side_enum_set(type.u.side_gather.u.side_struct.access_mode, mode);
		break;
	default:
		type.u.side_gather.u.side_integer.type.integer_size = (uint16_t)size;
		type.u.side_gather.u.side_integer.offset = offset;
		side_enum_set(type.u.side_gather.u.side_integer.access_mode, mode);
	}
	return type;
}

static struct side_type gather_array_of(const struct side_type *element, uint32_t length,
		uint64_t offset, unsigned int mode)
{
	struct side_type type;

	memset(&type, 0, sizeof(type));
	side_enum_set(type.type, SIDE_TYPE_GATHER_ARRAY);
	side_ptr_set(type.u.side_gather.u.side_array.type.elem_type, element);
	type.u.side_gather.u.side_array.type.length = length;
	type.u.side_gather.u.side_array.offset = offset;
	side_enum_set(type.u.side_gather.u.side_array.access_mode, mode);
	return type;
}

static struct {
	const void *pointer; /* points to itself */
	const void *null;
	char texts[12];   /* 16: "abc", "", "defgh" */
	uint16_t wide[3]; /* 28: "xy" */
} memory;

static void accesses(void)
{
	const void *at;

	CHECK(visit_gather_access(NULL, 8, DIRECT, &at) == -EFAULT);
	CHECK(visit_gather_access(NULL, 0, POINTER, &at) == -EFAULT);
	CHECK(!visit_gather_access(&memory, 8, DIRECT, &at) && at == &memory.null);
	CHECK(!visit_gather_access(&memory, 0, POINTER, &at) && at == &memory);
	CHECK(visit_gather_access(&memory, 8, POINTER, &at) == -EFAULT);
}

static void strides(void)
{
	static const struct {
		unsigned int label, size;
		size_t direct;
	} cases[] = {{SIDE_TYPE_GATHER_BOOL, 4, 4}, {SIDE_TYPE_GATHER_INTEGER, 2, 2},
			{SIDE_TYPE_GATHER_INTEGER, 16, 16}, {SIDE_TYPE_GATHER_POINTER, 4, 4},
			{SIDE_TYPE_GATHER_BYTE, 0, 1}, {SIDE_TYPE_GATHER_FLOAT, 2, 2},
			{SIDE_TYPE_GATHER_STRUCT, 77, 77}, {SIDE_TYPE_GATHER_STRING, 1, 4},
			{SIDE_TYPE_GATHER_STRING, 2, 6}};
	struct side_type type, inner, outer, enumeration;
	size_t stride;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		/* Only texts use the address of the text; other types read nothing. */
		const void *base = cases[i].label == SIDE_TYPE_GATHER_STRING ? &memory : NULL;

		type = gather_type(cases[i].label, cases[i].size, cases[i].size == 2 ? 28 : 16,
				DIRECT);
		CHECK(!visit_gather_stride(&type, base, &stride) && stride == cases[i].direct);
		enumeration = type;
		side_enum_set(enumeration.type, SIDE_TYPE_GATHER_ENUM);
		memset(&enumeration.u, 0, sizeof(enumeration.u));
		side_ptr_set(enumeration.u.side_gather.u.side_enum.elem_type, &type);
		CHECK(!visit_gather_stride(&enumeration, base, &stride) &&
				stride == cases[i].direct);
		if (base)
			CHECK(visit_gather_stride(&type, NULL, &stride) == -EFAULT);
		inner = gather_array_of(&type, 3, 0, DIRECT);
		if (!base)
			CHECK(!visit_gather_stride(&inner, base, &stride) &&
					stride == 3 * cases[i].direct);
		type = gather_type(cases[i].label, cases[i].size, 16, POINTER);
		CHECK(!visit_gather_stride(&type, NULL, &stride) && stride == sizeof(void *));
		CHECK(!visit_gather_stride(&inner, base, &stride) && stride == 3 * sizeof(void *));
		inner = gather_array_of(&type, 3, 0, POINTER);
		CHECK(!visit_gather_stride(&inner, NULL, &stride) && stride == sizeof(void *));
	}
	/* Three adjacent texts, in an array that begins at byte 16. */
	type = gather_type(SIDE_TYPE_GATHER_STRING, 1, 0, DIRECT);
	inner = gather_array_of(&type, 3, 16, DIRECT);
	CHECK(!visit_gather_stride(&inner, &memory, &stride) && stride == 11);
	inner = gather_array_of(&type, 2, 16, DIRECT);
	CHECK(!visit_gather_stride(&inner, &memory, &stride) && stride == 5);
	/* Arrays of two and one text in an array. */
	inner = gather_array_of(&type, 2, 0, DIRECT);
	outer = gather_array_of(&inner, 1, 16, DIRECT);
	CHECK(!visit_gather_stride(&outer, &memory, &stride) && stride == 5);
	inner = gather_array_of(&type, 1, 0, DIRECT);
	outer = gather_array_of(&inner, 3, 16, DIRECT);
	CHECK(!visit_gather_stride(&outer, &memory, &stride) && stride == 11);
	outer = gather_array_of(&inner, 0, 16, DIRECT);
	CHECK(!visit_gather_stride(&outer, NULL, &stride) && !stride);
	/* Elements that cannot be gathered have no size, also in an array. */
	type = gather_type(SIDE_TYPE_GATHER_VLA, 0, 0, DIRECT);
	stride = 4711;
	CHECK(visit_gather_stride(&type, &memory, &stride) == -EINVAL);
	inner = gather_array_of(&type, 1, 0, DIRECT);
	CHECK(visit_gather_stride(&inner, &memory, &stride) == -EINVAL);
	outer = gather_array_of(&inner, 1, 0, DIRECT);
	CHECK(visit_gather_stride(&outer, &memory, &stride) == -EINVAL && stride == 4711);
}

static void lengths(void)
{
	static const struct {
		unsigned int size, sign;
		uint64_t number;
		int ret;
	} cases[] = {{1, 0, 255, 0}, {4, 0, UINT32_MAX, 0}, {8, 0, UINT32_MAX, 0},
			{8, 0, (uint64_t)UINT32_MAX + 1, -EINVAL}, {8, 0, UINT64_MAX, -EINVAL},
			{1, 1, 127, 0}, {1, 1, 128, -EINVAL}, {4, 1, INT32_MAX, 0},
			{4, 1, UINT32_MAX, -EINVAL}, {3, 0, 1, -EINVAL}};
	struct side_type_vla vla;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct side_type type =
				gather_type(SIDE_TYPE_GATHER_INTEGER, cases[i].size, 0, DIRECT);
		uint32_t length = 4711;

		type.u.side_gather.u.side_integer.type.signedness = (uint8_t)cases[i].sign;
		side_ptr_set(vla.length_type, &type);
		CHECK(visit_gather_length(&vla, &cases[i].number, &length) == cases[i].ret);
		CHECK(length == (cases[i].ret ? 4711 : (uint32_t)cases[i].number));
		CHECK(visit_gather_length(&vla, NULL, &length) == -EFAULT);
	}
}

static void loads(void)
{
	static const unsigned int labels[] = {SIDE_TYPE_GATHER_BOOL, SIDE_TYPE_GATHER_INTEGER,
			SIDE_TYPE_GATHER_BYTE, SIDE_TYPE_GATHER_POINTER, SIDE_TYPE_GATHER_FLOAT,
			SIDE_TYPE_GATHER_STRING};
	struct visit_value value;

	for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++) {
		bool is_text = labels[i] == SIDE_TYPE_GATHER_STRING;
		struct side_type type = gather_type(labels[i], is_text ? 1 : 8, 8, POINTER);

		CHECK(visit_load_gather(&type, NULL, &value) == -EFAULT);
		/* A text may be NULL. */
		CHECK(visit_load_gather(&type, &memory, &value) == (is_text ? 0 : -EFAULT));
		CHECK(!is_text || (value.kind == VISIT_STRING && !value.text.at));
	}
	for (unsigned int label = 0; label < _NR_SIDE_TYPE_LABEL; label++) {
		struct side_type type = gather_type(label, 8, 0, DIRECT);

		if (!visit_label_is_gather(label))
			CHECK(visit_load_gather(&type, &memory, &value) == -EINVAL);
	}
}

/* ---- items of bitmaps ---- */

static void bitmap_items(void)
{
	struct side_arg items[2];
	struct side_type type;
	struct visit_bitmap bits = {&type, items, 2};
	struct side_enum_bitmap_mapping all = {.range_begin = 0, .range_end = 1000};

	memset(items, 0xff, sizeof(items));
	memset(&type, 0, sizeof(type));
	side_enum_set(type.type, SIDE_TYPE_U32);
	for (unsigned int size = 0; size <= 5; size++) {
		type.u.side_integer.integer_size = (uint16_t)size;
		CHECK(visit_bitmap_matches(&all, &bits) == (size == 1 || size == 2 || size == 4));
	}
	type.u.side_integer.integer_size = 4;
	type.u.side_integer.len_bits = 33;
	memset(items, 0xff, sizeof(items));
	CHECK(!visit_bitmap_matches(&all, &bits));
}

static void failed_accesses(void)
{
	struct visit_error error = {.what = "none"};
	const struct visit_argument_walk walk = {.error = &error};
	const struct visit_step step = {.kind = VISIT_STEP_FIELD, .name = "f"};

	CHECK(arguments_gather_fail(&walk, &step, -EFAULT) == -EFAULT);
	CHECK(!strcmp(error.what, "gathered memory is at a NULL pointer") &&
			!strcmp(error.where, "field: \"f\""));
	CHECK(arguments_gather_fail(&walk, &step, -EINVAL) == -EINVAL);
	CHECK(!strcmp(error.what, "a gathered value has an impossible size"));
}

/* ---- attributes without a name ---- */

static void nameless(void)
{
	static struct {
		struct side_type_raw_string key;
		struct side_attr_value value;
	} SIDE_PACKED attributes[3];
	struct visit_attributes all = {(const struct side_attr *)(void *)attributes, 3};

	for (unsigned int i = 0; i < 3; i++)
		attributes[i].key.unit_size = 1;
	side_ptr_set(attributes[1].key.p, "std.integer.base");
	side_enum_set(attributes[1].value.type, SIDE_ATTR_TYPE_U8);
	CHECK(!visit_attribute_find(all, "(null)"));
	side_ptr_set(attributes[2].key.p, "(null)");
	CHECK(visit_attribute_find(all, "(null)") == &all.attr[2]);
	for (unsigned int base = 0; base < 20; base++) {
		bool is_base = base == 2 || base == 8 || base == 10 || base == 16;

		attributes[1].value.u.integer_value.side_u8 = (uint8_t)base;
		CHECK(visit_attribute_base(all, 77) == (is_base ? base : 77));
	}
	/* No part of the previously found base is left. */
	attributes[1].value.u.integer_value.side_u8 = 8;
	CHECK(visit_attribute_base(all, 77) == 8);
	all.nr = 1;
	CHECK(visit_attribute_base(all, 77) == 77);
	all.nr = 3;
	side_enum_set(attributes[1].value.type, SIDE_ATTR_TYPE_S8);
	CHECK(visit_attribute_base(all, 77) == 8);
	side_enum_set(attributes[1].value.type, SIDE_ATTR_TYPE_BOOL);
	CHECK(visit_attribute_base(all, 77) == 77);
	side_enum_set(attributes[1].value.type, SIDE_ATTR_TYPE_S8);
	CHECK(visit_attribute_base(all, 77) == 8);
	side_enum_set(attributes[1].value.type, _NR_SIDE_ATTR_TYPE);
	CHECK(visit_attribute_base(all, 77) == 77);
	side_enum_set(attributes[1].value.type, SIDE_ATTR_TYPE_U128);
	attributes[1].value.u.integer_value.side_u64 = 8;
	CHECK(visit_attribute_base(all, 77) == 8);
	memcpy((char *)&attributes[1].value.u + 8, "\1", 1);
	CHECK(visit_attribute_base(all, 77) == 77);
}

/* ---- visitors of the application ---- */

static void writers(void)
{
	static const struct visit_argument_ops nothing;
	struct visit_error error = {.what = ""};
	uint32_t parts = 0;
	struct visit_argument_walk walk = {.ops = &nothing, .error = &error, .parts = &parts};
	struct side_type type;
	struct side_arg arg;
	struct visit_location inner = {.depth = 1};
	struct visit_step step = {.kind = VISIT_STEP_WORD, .name = "here"};
	struct element_writer elements = {.ctx = {.priv = &elements},
			.walk = &walk,
			.inner = &inner,
			.step = &step,
			.elem = &type,
			.nr = UINT32_MAX - 2};
	struct dynamic_writer dynamic = {
			.walk = &walk, .inner = &inner, .step = &step, .nr = UINT32_MAX - 2};
	struct side_tracer_visitor_ctx ctx = {.priv = &dynamic};

	memset(&type, 0, sizeof(type));
	memset(&arg, 0, sizeof(arg));
	CHECK(abi_arguments_write_element(&elements.ctx, &arg) == SIDE_VISITOR_STATUS_OK);
	CHECK(elements.nr == UINT32_MAX - 1 && !elements.ret);
	CHECK(abi_arguments_write_element(&elements.ctx, &arg) == SIDE_VISITOR_STATUS_ERROR);
	CHECK(elements.ret == -EINVAL &&
			!strcmp(error.what, "the visitor wrote too many elements"));
	CHECK(!strcmp(error.where, "here"));
	/* The first error stays. */
	elements.nr = 0;
	error.what[0] = '\0';
	CHECK(abi_arguments_write_element(&elements.ctx, NULL) == SIDE_VISITOR_STATUS_ERROR);
	CHECK(elements.ret == -EINVAL && !error.what[0] && !elements.nr);
	elements.ret = 0;
	CHECK(abi_arguments_write_element(&elements.ctx, NULL) == SIDE_VISITOR_STATUS_ERROR);
	CHECK(elements.ret == -EFAULT && !strcmp(error.what, "the visitor wrote a NULL element"));
	elements.ret = 0;
	side_enum_set(arg.type, SIDE_TYPE_U8);
	CHECK(abi_arguments_write_element(&elements.ctx, &arg) == SIDE_VISITOR_STATUS_ERROR);
	CHECK(elements.ret == -EINVAL && elements.nr == 1);
	CHECK(!strcmp(error.what,
			"the description has the type NULL (0), the argument has U8 (2)"));
	CHECK(!strcmp(error.where, "here\nindex: 0"));
	/* The same for dynamic values. */
	memset(&arg, 0, sizeof(arg));
	side_enum_set(arg.type, SIDE_TYPE_DYNAMIC_NULL);
	CHECK(arguments_dynamic_write_element(&ctx, &arg) == SIDE_VISITOR_STATUS_OK &&
			dynamic.nr == UINT32_MAX - 1);
	CHECK(arguments_dynamic_write_element(&ctx, &arg) == SIDE_VISITOR_STATUS_ERROR &&
			dynamic.ret == -EINVAL);
	CHECK(!strcmp(error.what, "the visitor wrote too many elements"));
	error.what[0] = '\0';
	CHECK(arguments_dynamic_write_element(&ctx, NULL) == SIDE_VISITOR_STATUS_ERROR &&
			dynamic.ret == -EINVAL);
	CHECK(!error.what[0] && dynamic.nr == UINT32_MAX - 1);
	dynamic.ret = 0;
	CHECK(arguments_dynamic_write_element(&ctx, NULL) == SIDE_VISITOR_STATUS_ERROR &&
			dynamic.ret == -EFAULT);
	CHECK(!strcmp(error.what, "the visitor wrote a NULL pointer"));
	CHECK(arguments_dynamic_finish_visitor(&dynamic, SIDE_VISITOR_STATUS_OK) == -EFAULT);
	dynamic.ret = 0;
	CHECK(arguments_dynamic_finish_visitor(&dynamic, SIDE_VISITOR_STATUS_OK) == 0);
	CHECK(arguments_dynamic_finish_visitor(&dynamic, SIDE_VISITOR_STATUS_ERROR) == -EINVAL);
	CHECK(!strcmp(error.what, "the visitor returned an error"));
	CHECK(!strcmp(error.expected, "SIDE_VISITOR_STATUS_OK"));
	CHECK(!strcmp(error.found, "SIDE_VISITOR_STATUS_ERROR"));
}

/* ---- levels, and lengths that do not fit ---- */

static void levels(void)
{
	static const struct visit_argument_ops nothing;
	struct visit_error error;
	struct visit_argument_walk walk = {.ops = &nothing, .error = &error};
	struct visit_location location = {.depth = 127, .index = 5}, inner;
	static struct side_type type;

	CHECK(!visit_walk_enter(&walk, &location, NULL, &type, &inner));
	CHECK(inner.depth == 128 && inner.index == 5 && inner.type == &type);
	CHECK(visit_walk_enter(&walk, &inner, NULL, &type, &location) == -ELOOP);
	CHECK(!strcmp(error.what, "values are nested more than 128 deep"));
}

static void list_lengths(void)
{
	static const struct {
		unsigned int label, size;
		uint32_t length;
		const char *expected;
	} cases[] = {{SIDE_TYPE_U8, 1, 255, NULL}, {SIDE_TYPE_U8, 1, 256, "at most 255 elements"},
			{SIDE_TYPE_U16, 2, 65535, NULL},
			{SIDE_TYPE_U16, 2, 65536, "at most 65535 elements"},
			{SIDE_TYPE_U32, 4, UINT32_MAX, NULL}, {SIDE_TYPE_U64, 8, UINT32_MAX, NULL}};
	struct visit_argument_ops ops = {.exact = true};
	struct visit_error error;
	struct visit_argument_walk walk = {.ops = &ops, .error = &error};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct side_type type;
		char problem[64], found[16];

		memset(&type, 0, sizeof(type));
		side_enum_set(type.type, cases[i].label);
		type.u.side_integer.integer_size = (uint16_t)cases[i].size;
		ops.exact = true;
		CHECK(visit_walk_length(&walk, NULL, &type, cases[i].length) ==
				(cases[i].expected ? -EINVAL : 0));
		if (!cases[i].expected)
			continue;
		snprintf(problem, sizeof(problem), "the length %u does not fit %s", cases[i].length,
				visit_label_name(cases[i].label));
		snprintf(found, sizeof(found), "%u", cases[i].length);
		CHECK(!strcmp(error.what, problem) && !strcmp(error.found, found));
		CHECK(!strcmp(error.expected, cases[i].expected));
		walk.error = NULL;
		CHECK(visit_walk_length(&walk, NULL, &type, cases[i].length) == -EINVAL);
		walk.error = &error;
		ops.exact = false;
		CHECK(!visit_walk_length(&walk, NULL, &type, cases[i].length));
	}
}

int main(void)
{
	memory.pointer = &memory;
	memcpy(memory.texts, "abc\0\0defgh", 11);
	memory.wide[0] = 'x';
	memory.wide[1] = 'y';
	number_of_parts();
	number_of_decoded_parts();
	smallest_parts();
	encoded_names();
	encoded_numbers();
	paths();
	accesses();
	strides();
	lengths();
	loads();
	bitmap_items();
	failed_accesses();
	nameless();
	writers();
	levels();
	list_lengths();
	return 0;
}
