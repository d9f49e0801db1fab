/* SPDX-License-Identifier: MIT */
/*
 * Parts of the visitors with chosen values: nested encodings at their limit, descriptions that do
 * not fit, values of each kind over memory with other content, and errors of single arguments.
 * (Written for little-endian hosts.)
 */
#include <errno.h>
#include <stdarg.h>

#include "abi/lint.h"
#include "abi/visit.h"
#include "../check.h"
#include "../agent-plan/make.h"

static const char *const one_name[] = {"f"};

static struct side_event_description *event_of(struct side_type type)
{
	return make_event(1, &type, one_name, 0);
}

/* ---- nested types, encoded ---- */

static void put(struct visit_buffer *out, uint64_t number, unsigned int size)
{
	CHECK(!visit_buffer_append(out, &number, size));
}

static void put_name(struct visit_buffer *out, const char *name, uint32_t size)
{
	put(out, size, 4);
	CHECK(!visit_buffer_append(out, name, size));
}

static void begin_encoded(struct visit_buffer *out, const char *provider, uint32_t provider_size,
		const char *event, uint32_t event_size)
{
	visit_buffer_heap(out);
	CHECK(!visit_buffer_append(out, "SDSC\1\0\0\0\0\0\0\0", 12));
	put_name(out, provider, provider_size);
	put_name(out, event, event_size);
	put(out, 0, 8); /* flags */
	put(out, _NR_SIDE_TYPE_LABEL, 2);
	put(out, _NR_SIDE_ATTR_TYPE, 2);
	put(out, 6, 4); /* log level */
	put(out, 0, 4); /* attributes */
	put(out, 1, 4); /* fields */
	put_name(out, "f", 1);
}

static void put_u8(struct visit_buffer *out)
{
	put(out, SIDE_TYPE_U8, 2);
	put(out, 1, 2); /* bytes */
	put(out, 0, 8); /* bits, sign, byte order, attributes */
}

static void put_nested(struct visit_buffer *out, unsigned int label, unsigned int levels)
{
	for (unsigned int i = 0; i < levels; i++) {
		put(out, label, 2);
		switch (label) {
		case SIDE_TYPE_ARRAY: put(out, 3, 4); break;
		case SIDE_TYPE_VLA: put_u8(out); break;
		case SIDE_TYPE_STRUCT:
			put(out, 1, 4);
			put_name(out, "m", 1);
			break;
		case SIDE_TYPE_VARIANT:
			put_u8(out);
			put(out, 1, 4);
			put(out, 5, 8);
			put(out, 7, 8);
			break;
		default: break;
		}
	}
	put(out, SIDE_TYPE_BYTE, 2);
	for (unsigned int i = 0; i <= levels; i++)
		put(out, 0, 4); /* attributes of each, from the innermost one on */
}

static int decode(struct visit_buffer *out, struct visit_owned **owned, struct visit_error *error)
{
	memcpy(out->data + 8, &(uint32_t){(uint32_t)out->size}, 4);
	return visit_description_decode(out->data, out->size, owned, error);
}

/* 128 levels are the limit: 127 around the innermost type. */
static void nested_types(void)
{
	static const unsigned int labels[] = {SIDE_TYPE_OPTIONAL, SIDE_TYPE_ARRAY, SIDE_TYPE_VLA,
			SIDE_TYPE_STRUCT, SIDE_TYPE_VARIANT};

	for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++) {
		struct visit_buffer out, again;
		struct visit_owned *owned;
		struct visit_error error;
		struct side_event_description *more;

		begin_encoded(&out, "p", 1, "e", 1);
		put_nested(&out, labels[i], 127);
		CHECK(!decode(&out, &owned, &error));
		/* The same, read from memory without a previous check. */
		visit_buffer_heap(&again);
		CHECK(!visit_description_read(NULL, (uintptr_t)owned->desc, &again, &error));
		CHECK(again.size == out.size && !memcmp(again.data, out.data, out.size));
		again.size = 0;
		more = event_of(make_optional(
				side_array_elements(&owned->desc->fields)->side_type));
		CHECK(visit_description_read(NULL, (uintptr_t)more, &again, &error) == -ELOOP);
		CHECK(!strcmp(error.what, "types are nested more than 128 deep"));
		CHECK(!strcmp(error.hint, "a type must not contain itself") && !again.size);
		CHECK(visit_description_check(more, 0, &error) == -ELOOP);
		visit_buffer_free(&again);
		visit_owned_free(owned);
		visit_buffer_free(&out);
		/* The decoder refuses it itself: the check after it has a hint. */
		begin_encoded(&out, "p", 1, "e", 1);
		put_nested(&out, labels[i], 128);
		CHECK(decode(&out, &owned, &error) == -ELOOP && !owned);
		CHECK(!strcmp(error.what, "types are nested more than 128 deep") && !error.hint[0]);
		visit_buffer_free(&out);
	}
}

/* A wrong name is the first error, whatever follows it. */
static void wrong_names(void)
{
	struct visit_owned *owned;
	struct visit_error error;
	struct visit_buffer out;

	for (unsigned int which = 0; which < 2; which++) {
		begin_encoded(&out, which ? "p" : "p\0q", which ? 1 : 3, which ? "e\0" : "e",
				which ? 2 : 1);
		put_nested(&out, SIDE_TYPE_OPTIONAL, 1);
		CHECK(decode(&out, &owned, &error) == -EINVAL && !owned);
		CHECK(!strcmp(error.what, "a string holds a terminator") && !error.where[0]);
		visit_buffer_free(&out);
	}
}

/* ---- descriptions in the memory of another process ---- */

static struct {
	struct side_event_description desc;
	struct side_event_field fields[2];
	char provider[300], event[8], name[4];
	uint16_t wide[4];
} foreign __attribute__((aligned(256)));

static int read_foreign(void *priv, uint64_t address, void *to, size_t size)
{
	uint64_t begin = (uintptr_t)&foreign;

	CHECK(priv == &foreign);
	if (address < begin || address + size > begin + sizeof(foreign))
		return -EFAULT;
	memcpy(to, (const void *)(uintptr_t)address, size);
	return 0;
}

/* Each buffer that is too small is reported, at whatever byte the description exceeds it. */
static void small_buffers(void)
{
	const struct visit_memory memory = {
			.read = read_foreign, .priv = &foreign, .byte_order = HOST};
	unsigned char bytes[512];
	struct visit_error error;
	struct visit_buffer out;
	size_t size;

	memcpy(&foreign.desc, event_of(make_label(SIDE_TYPE_BYTE)), sizeof(foreign.desc));
	memset(foreign.provider, 'p', sizeof(foreign.provider) - 1);
	strcpy(foreign.event, "e");
	strcpy(foreign.name, "f");
	side_ptr_set(foreign.desc.provider_name, foreign.provider);
	side_ptr_set(foreign.desc.event_name, foreign.event);
	side_ptr_set(foreign.desc.fields.elements, foreign.fields);
	foreign.fields[0].side_type = make_label(SIDE_TYPE_BYTE);
	side_ptr_set(foreign.fields[0].field_name, foreign.name);
	visit_buffer_fixed(&out, bytes, sizeof(bytes));
	CHECK(!visit_description_read(&memory, (uintptr_t)&foreign.desc, &out, &error));
	size = out.size;
	CHECK(size == 12 + 4 + 299 + 4 + 1 + 8 + 2 + 2 + 4 + 4 + 4 + 5 + 6);
	for (size_t capacity = 0; capacity <= size; capacity++) {
		visit_buffer_fixed(&out, bytes, capacity);
		error.what[0] = '\0';
		if (visit_description_read(&memory, (uintptr_t)&foreign.desc, &out, &error) !=
				(capacity < size ? -ENOMEM : 0)) {
			fprintf(stderr, "%zu of %zu bytes\n", capacity, size);
			abort();
		}
		if (capacity < size)
			CHECK(!strcmp(error.what, "out of memory for the description") &&
					!out.size);
	}
	/* The event itself is truncated. */
	visit_buffer_fixed(&out, bytes, sizeof(bytes));
	CHECK(visit_description_read(&memory, (uintptr_t)&foreign + sizeof(foreign) - 8, &out,
			      &error) == -EFAULT);
	CHECK(strstr(error.what, "cannot be read"));
}

static struct {
	struct side_event_description desc;
	uint64_t size; /* of the provider's name, which is at this address */
} longest;

#define LONGEST_AT (UINT64_C(1) << 60)

static int read_longest(void *priv, uint64_t address, void *to, size_t size)
{
	(void)priv;
	if (address < LONGEST_AT) {
		memcpy(to, (const void *)(uintptr_t)address, size);
		return 0;
	}
	memset(to, 'p', size);
	if (address + size > LONGEST_AT + longest.size)
		((char *)to)[LONGEST_AT + longest.size - address] = '\0';
	return 0;
}

/*
 * 16 MiB are the limit: 45 bytes and the name. The last two do not even leave space for the
 * terminator of the name.
 */
static void longest_descriptions(void)
{
	static const uint64_t rests[] = {45, 44, 17, 16, 15};
	const struct visit_memory memory = {.read = read_longest, .byte_order = HOST};
	char letter[256] __attribute__((aligned(256))) = "e";
	struct visit_error error;
	struct visit_buffer out;

	memcpy(&longest.desc, make_event(0, NULL, NULL, 0), sizeof(longest.desc));
	side_ptr_set(longest.desc.provider_name, (const char *)(uintptr_t)LONGEST_AT);
	side_ptr_set(longest.desc.event_name, (const char *)letter);
	visit_buffer_heap(&out);
	for (size_t i = 0; i < sizeof(rests) / sizeof(*rests); i++) {
		longest.size = VISIT_ENCODED_MAX - rests[i];
		out.size = 0;
		if (!i) {
			CHECK(!visit_description_read(
					&memory, (uintptr_t)&longest.desc, &out, &error));
			CHECK(out.size == VISIT_ENCODED_MAX);
			continue;
		}
		CHECK(visit_description_read(&memory, (uintptr_t)&longest.desc, &out, &error) ==
				-E2BIG);
		CHECK(!strcmp(error.what, "the description has more than 16777216 bytes"));
		CHECK(!out.size);
	}
	visit_buffer_free(&out);
}

static void wrong_option(void)
{
	const struct make_option options[2] = {
			{1, 2, make_label(SIDE_TYPE_NULL)}, {3, 4, make_label(77)}};
	struct side_event_description *event =
			event_of(make_variant(make_plain(1, false), 2, options));
	struct visit_error error;
	struct visit_buffer out;

	visit_buffer_heap(&out);
	CHECK(visit_description_read(NULL, (uintptr_t)event, &out, &error) == -ENOTSUP);
	CHECK(!strcmp(error.what, "the type label 77 is unknown"));
	CHECK(!strcmp(error.where, "test:event\nfield: \"f\"\noption: 1"));
	event = event_of(make_variant(make_label(77), 2, options));
	CHECK(visit_description_read(NULL, (uintptr_t)event, &out, &error) == -ENOTSUP);
	CHECK(!strcmp(error.where, "test:event\nfield: \"f\"\nselector"));
	visit_buffer_free(&out);
}

/* ---- values ---- */

static struct visit_value value;

static bool is_value(unsigned int kind, unsigned int size, unsigned int bits)
{
	return value.kind == kind && value.size == size && value.bits == bits;
}

static bool is_number(unsigned int kind, unsigned int size, uint64_t hi, uint64_t lo)
{
	return is_value(kind, size, 8 * size) && value.hi == hi && value.lo == lo;
}

static int load_attribute(struct side_attr attribute)
{
	memset(&value, 0xee, sizeof(value));
	return visit_load_attribute(&attribute.value, &value);
}

static void attributes(void)
{
	static const char bytes[16] = "\1\2\3\4\5\6\7\x88\x9\xa\xb\xc\xd\xe\xf\x90";
	const uint64_t low = 0x8807060504030201, high = 0x900f0e0d0c0b0a09;
	static const uint16_t wide[] = {'w', 0};

	for (unsigned int i = 0; i < 5; i++) {
		unsigned int size = 1u << i;
		uint64_t lo = size < 8 ? low & ((UINT64_C(1) << 8 * size) - 1) : low;
		uint64_t hi = size == 16 ? high : 0;

		CHECK(!load_attribute(make_attribute("k", SIDE_ATTR_TYPE_U8 + i, bytes, size)));
		CHECK(is_number(VISIT_UNSIGNED, size, hi, lo));
		CHECK(!load_attribute(make_attribute("k", SIDE_ATTR_TYPE_S8 + i, bytes, size)));
		CHECK(is_number(VISIT_SIGNED, size, size == 8 ? UINT64_MAX : hi, lo));
		CHECK(!load_attribute(make_attribute(
				"k", SIDE_ATTR_TYPE_S8 + i, bytes + 16 - size, size)));
		CHECK(value.hi >> 63 && (size == 16 || value.hi == UINT64_MAX));
	}
	for (unsigned int i = 0; i < 4; i++) {
		unsigned int size = 2u << i;

		CHECK(!load_attribute(make_attribute(
				"k", SIDE_ATTR_TYPE_FLOAT_BINARY16 + i, bytes, size)));
		CHECK(is_value(VISIT_FLOAT, size, 8 * size) && !memcmp(value.bytes, bytes, size));
	}
	CHECK(!load_attribute(make_attribute("k", SIDE_ATTR_TYPE_NULL, bytes, 16)));
	CHECK(is_number(VISIT_NULL, 0, 0, 0));
	CHECK(!load_attribute(make_attribute("k", SIDE_ATTR_TYPE_BOOL, bytes + 1, 1)));
	CHECK(is_number(VISIT_BOOL, 1, 0, 2));
	CHECK(!load_attribute(make_text_attribute("k", wide, 2)));
	CHECK(is_value(VISIT_STRING, 2, 16) && value.text.at == (const void *)wide);
	CHECK(value.text.unit_size == 2 && value.text.byte_order == HOST);
	CHECK(!load_attribute(make_text_attribute("k", "text", 1)) && is_value(VISIT_STRING, 1, 8));
	CHECK(load_attribute(make_attribute("k", _NR_SIDE_ATTR_TYPE, bytes, 1)) == -EINVAL);
	CHECK(load_attribute(make_attribute("k", 4711, bytes, 1)) == -EINVAL);
}

static int load_dynamic(struct side_arg arg)
{
	memset(&value, 0xee, sizeof(value));
	return visit_load_dynamic(&arg, &value);
}

static void dynamic_values(void)
{
	static const char bytes[32] = "\1\2\3\4\5\6\7\x88";
	struct side_arg arg;

	CHECK(!load_dynamic(dynamic_scalar(SIDE_TYPE_DYNAMIC_NULL, NO_ATTRIBUTES)));
	CHECK(is_number(VISIT_NULL, 0, 0, 0));
	for (unsigned int size = 0; size <= 9; size++) {
		bool is_size = size == 1 || size == 2 || size == 4 || size == 8;

		CHECK(load_dynamic(dynamic_bool(size, 0, BE, bytes)) == (is_size ? 0 : -EINVAL));
		CHECK(!is_size || is_value(VISIT_BOOL, size, 8 * size));
		CHECK(load_dynamic(dynamic_integer(size, 0, false, LE, bytes)) ==
				(is_size ? 0 : -EINVAL));
		CHECK(!is_size || is_value(VISIT_UNSIGNED, size, 8 * size));
		CHECK(!is_size || !memcmp(&value.lo, bytes, size));
		CHECK(load_dynamic(dynamic_string((uint8_t)size, BE, "text")) ==
				(size == 1 || size == 2 || size == 4 ? 0 : -EINVAL));
		if (size == 1 || size == 2 || size == 4) {
			CHECK(is_value(VISIT_STRING, size, 8 * size));
			CHECK(value.text.unit_size == size && value.text.byte_order == BE);
		}
		CHECK(load_dynamic(dynamic_float(size, LE, bytes)) ==
				(size == 2 || size == 4 || size == 8 ? 0 : -EINVAL));
	}
	CHECK(!load_dynamic(dynamic_pointer(0x1234, HOST)) &&
			is_number(VISIT_POINTER, sizeof(void *), 0, 0x1234));
	CHECK(!load_dynamic(dynamic_byte(0xa7)) && is_number(VISIT_BYTE, 1, 0, 0xa7));
	arg = arg_value(SIDE_TYPE_DYNAMIC_STRUCT, NULL, 0);
	CHECK(load_dynamic(arg) == -EINVAL);
}

static void stack_values(void)
{
	struct side_type type = make_label(SIDE_TYPE_NULL);
	struct side_arg arg = arg_value(SIDE_TYPE_NULL, NULL, 0);
	int64_t number;

	memset(&value, 0xee, sizeof(value));
	CHECK(!visit_load_argument(&type, &arg, &value) && is_number(VISIT_NULL, 0, 0, 0));
	type = make_label(SIDE_TYPE_STRUCT);
	CHECK(visit_load_argument(&type, &arg, &value) == -EINVAL);
	/* As 64 bits with a sign. */
	value = (struct visit_value){.kind = VISIT_SIGNED, .lo = 5};
	CHECK(visit_value_s64(&value, &number) && number == 5);
	value.lo = (uint64_t)-6;
	CHECK(!visit_value_s64(&value, &number));
	value.hi = UINT64_MAX;
	CHECK(visit_value_s64(&value, &number) && number == -6);
	value.lo = 6;
	CHECK(!visit_value_s64(&value, &number));
	value.kind = VISIT_UNSIGNED;
	CHECK(!visit_value_s64(&value, &number));
	value.hi = 0;
	CHECK(visit_value_s64(&value, &number) && number == 6);
}

static void labels(void)
{
	struct side_enum_mapping mapping = {.range_begin = -5, .range_end = 7};

	for (int64_t number = -8; number <= 10; number++) {
		value = (struct visit_value){.kind = VISIT_SIGNED,
				.lo = (uint64_t)number,
				.hi = number < 0 ? UINT64_MAX : 0};
		CHECK(visit_enum_matches(&mapping, &value) == (number >= -5 && number <= 7));
	}
	value.hi = 1;
	value.lo = 6;
	CHECK(!visit_enum_matches(&mapping, &value));
}

/* A missing text is the same in all units. */
static void missing_texts(void)
{
	char text[8];

	for (unsigned int unit = 1; unit <= 4; unit *= 2) {
		struct visit_text missing = {.unit_size = (uint8_t)unit};
		unsigned char out[VISIT_TEXT_UNIT_MAX];
		size_t used = 0;

		while (visit_text_next(&missing, out) == 1 && used < sizeof(text))
			text[used++] = (char)*out;
		CHECK(used == 6 && !memcmp(text, "(null)", 6));
		memset(text, '#', sizeof(text));
		CHECK(visit_text_utf8(NULL, unit, HOST, text, 4) == 6);
		CHECK(!memcmp(text, "(nul####", 8));
	}
}

/* ---- arguments ---- */

static char order[256];
static struct visit_error wrong;

static int note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int note(const char *format, ...)
{
	size_t used = strlen(order);
	va_list list;

	va_start(list, format);
	vsnprintf(order + used, sizeof(order) - used, format, list);
	va_end(list);
	return 0;
}

static int element_begins(void *priv, const struct visit_location *location)
{
	(void)priv;
	return note("[%u%s", location->index, location->name ? location->name : "");
}

static int field_begins(void *priv, const struct visit_location *location)
{
	(void)priv;
	return note("%u%s:", location->index, location->name);
}

static int enum_begins(void *priv, const struct visit_location *location,
		struct visit_attributes of_mappings)
{
	(void)priv;
	(void)location;
	return note("enum%u ", of_mappings.nr);
}

static int enum_ends(void *priv, const struct visit_location *location,
		const struct side_enum_mappings *mappings, const struct visit_value *number)
{
	(void)priv;
	(void)location;
	return note(" end%u=%u", side_array_length(&mappings->mappings), (unsigned int)number->lo);
}

static int is_there(void *priv, const struct visit_location *location,
		const struct visit_value *number, struct visit_attributes of_type)
{
	(void)priv;
	(void)location;
	(void)of_type;
	return note("%u", (unsigned int)number->lo);
}

static int walk(struct side_type type, struct side_arg arg)
{
	static const struct visit_argument_ops ops = {.element_begin = element_begins,
			.field_begin = field_begins,
			.enum_begin = enum_begins,
			.enum_end = enum_ends,
			.value = is_there};

	order[0] = '\0';
	return visit_arguments(event_of(type), make_vector(1, &arg), NULL, &ops, NULL, &wrong);
}

static bool is_wrong(const char *what, const char *where)
{
	bool is = !strcmp(wrong.what, what) && !strcmp(wrong.where, where);

	if (!is)
		fprintf(stderr, "%s: %s\n", wrong.where, wrong.what);
	return is;
}

#define FIELD "test:event\nfield: \"f\""
#define NO_ATTRIBUTE "attribute 0 has no key, an unknown type or unit size"

static enum side_visitor_status visit_nothing(
		const struct side_tracer_visitor_ctx *context, void *application)
{
	(void)context;
	(void)application;
	return SIDE_VISITOR_STATUS_OK;
}

static void arguments(void)
{
	static const struct make_mapping mappings[2] = {{1, 1, "one"}, {2, 3, "more"}};
	static const uint8_t bytes[] = {9, 3};
	struct side_arg two[2] = {ARG(SIDE_TYPE_U8, uint8_t, 5), ARG(SIDE_TYPE_U8, uint8_t, 6)};
	struct side_type u8 = make_plain(1, false), dynamic = make_label(SIDE_TYPE_DYNAMIC);

	CHECK(!walk(make_array(u8, 2), arg_vector(SIDE_TYPE_ARRAY, 2, two)));
	CHECK(!strcmp(order, "0f:[05[16"));
	CHECK(walk(make_array(u8, 3), arg_vector(SIDE_TYPE_ARRAY, 2, two)) == -EINVAL);
	CHECK(is_wrong("the described array has 3 elements, the argument has 2", FIELD));
	CHECK(!strcmp(wrong.expected, "3 elements") && !strcmp(wrong.found, "2"));
	CHECK(walk(make_array(u8, 1), arg_vector(SIDE_TYPE_ARRAY, 2, two)) == -EINVAL);
	CHECK(is_wrong("the described array has 1 element, the argument has 2", FIELD));
	CHECK(!walk(gather_enum(gather_integer(1, 1, 0, 0, false, HOST, DIRECT), 2, mappings),
			arg_pointer(SIDE_TYPE_GATHER_INTEGER, bytes)));
	CHECK(!strcmp(order, "0f:enum0 3 end2=3"));
	CHECK(!walk(make_enum(u8, 2, mappings), two[0]));
	CHECK(!strcmp(order, "0f:enum0 5 end2=5"));
	/* Visitors whose address is NULL. */
	CHECK(!walk(dynamic, dynamic_vla_visitor(visit_nothing, NULL, NO_ATTRIBUTES)));
	CHECK(walk(dynamic, dynamic_vla_visitor(NULL, NULL, NO_ATTRIBUTES)) == -EFAULT);
	CHECK(is_wrong("the visitor is NULL", FIELD "\ndynamic"));
	CHECK(walk(dynamic, dynamic_struct_visitor(NULL, NULL, NO_ATTRIBUTES)) == -EFAULT);
	CHECK(is_wrong("the visitor is NULL", FIELD "\ndynamic"));
	CHECK(walk(dynamic, arg_pointer(SIDE_TYPE_DYNAMIC_VLA_VISITOR, NULL)) == -EFAULT);
	CHECK(is_wrong("the visitor is NULL", FIELD "\ndynamic"));
	CHECK(walk(dynamic, arg_pointer(SIDE_TYPE_DYNAMIC_STRUCT_VISITOR, NULL)) == -EFAULT);
	CHECK(is_wrong("the visitor is NULL", FIELD "\ndynamic"));
}

/*
 * Walks a value with one attribute: its key, the units of the key, its type, the units of its text.
 */
static int walk_attribute(
		const char *key, unsigned int key_unit, unsigned int type, unsigned int text_unit)
{
	struct side_type_raw_string name = {.unit_size = (uint8_t)key_unit},
				    text = {.unit_size = (uint8_t)text_unit};
	struct side_attr attribute;

	side_ptr_set(name.p, key);
	side_ptr_set(text.p, "text");
	make_attribute_at(&attribute, &name, type, &text, sizeof(text));
	return walk(make_label(SIDE_TYPE_DYNAMIC),
			dynamic_scalar(SIDE_TYPE_DYNAMIC_NULL,
					(struct make_attributes){1, &attribute}));
}

/* Each part is checked, whether the others are right or not. */
static void wrong_attributes(void)
{
	static const unsigned int units[] = {0, 1, 2, 3, 4, 5, 8};

	CHECK(walk_attribute(NULL, 1, SIDE_ATTR_TYPE_STRING, 1) == -EINVAL);
	CHECK(is_wrong(NO_ATTRIBUTE, FIELD "\ndynamic"));
	CHECK(walk_attribute(NULL, 1, SIDE_ATTR_TYPE_U8, 0) == -EINVAL);
	CHECK(!walk_attribute("k", 1, _NR_SIDE_ATTR_TYPE - 1, 1));
	CHECK(walk_attribute("k", 1, _NR_SIDE_ATTR_TYPE, 1) == -EINVAL);
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		bool is_unit = units[i] == 1 || units[i] == 2 || units[i] == 4;

		CHECK(walk_attribute("k\0\0\0\0\0\0", units[i], SIDE_ATTR_TYPE_STRING, 1) ==
				(is_unit ? 0 : -EINVAL));
		CHECK(walk_attribute("k", 1, SIDE_ATTR_TYPE_STRING, units[i]) ==
				(is_unit ? 0 : -EINVAL));
		CHECK(walk_attribute("k\0\0\0\0\0\0", units[i], SIDE_ATTR_TYPE_U8, 0) ==
				(is_unit ? 0 : -EINVAL));
	}
}

/* ---- walks over descriptions, findings, JSON ---- */

static int note_role(void *priv, const struct visit_node *node)
{
	(void)priv;
	return note("%u%s%u ", (unsigned int)node->role, node->name ? node->name : "", node->index);
}

static void roles(void)
{
	static const struct visit_description_ops ops = {.type_begin = note_role};
	static const char *const names[] = {"a", "b"};
	struct side_type u8 = make_plain(1, false), two[2] = {u8, u8};
	struct side_type structure = make_struct(2, two, names);
	struct make_option option = {1, 2, structure};

	order[0] = '\0';
	CHECK(!visit_description(event_of(make_vla(structure, u8)), &ops, NULL, &wrong));
	CHECK(!strcmp(order, "0f0 20 10 0a0 0b1 "));
	order[0] = '\0';
	CHECK(!visit_description(event_of(make_variant(u8, 1, &option)), &ops, NULL, &wrong));
	CHECK(!strcmp(order, "0f0 30 40 0a0 0b1 "));
}

static void find(void *priv, enum visit_severity severity, const struct visit_node *node,
		const struct visit_error *error)
{
	(void)priv;
	note("%u%s %s|", (unsigned int)severity,
			!node                        ? "-"
					: node->name ? node->name
						     : "",
			error->what);
}

static bool finds(struct side_type type, const char *wanted)
{
	order[0] = '\0';
	visit_description_lint(event_of(type), 8, find, NULL);
	if (strcmp(order, wanted) != 0)
		fprintf(stderr, "%s\n", order);
	return !strcmp(order, wanted);
}

static struct side_type far_member(uint64_t offset)
{
	struct side_type member = gather_integer(offset, 2, 0, 0, false, HOST, DIRECT);

	return gather_struct(make_members(1, &member, one_name), 0, 8, DIRECT);
}

static void findings(void)
{
	static const struct make_mapping one = {1, 1, "one"};
	const uint64_t most = LINT_OFFSET_MAX;

	CHECK(finds(gather_integer(most, 2, 0, 0, false, HOST, DIRECT), ""));
	CHECK(finds(gather_integer(most + 1, 2, 0, 0, false, HOST, DIRECT),
			"2f the offset 0x100000001 is too large|"));
	/* An enumeration is found once: its integer has the offset. */
	CHECK(finds(gather_enum(gather_integer(most + 1, 2, 0, 0, false, HOST, DIRECT), 1, &one),
			"2 the offset 0x100000001 is too large|"));
	CHECK(finds(far_member(6), ""));
	CHECK(finds(far_member(7),
			"1f its member f ends at byte 9, after the 8 bytes of the structure|"));
	CHECK(finds(far_member(most),
			"1f its member f ends at byte 4294967298, after the 8 bytes of the structure|"));
	CHECK(finds(far_member(most + 1), "2f the offset 0x100000001 is too large|"));
	/* A label and its meaning. */
	CHECK(finds(make_integer(SIDE_TYPE_U32, 4, 0, false, HOST), ""));
	CHECK(finds(make_integer(SIDE_TYPE_U32, 2, 0, false, HOST),
			"2f 2 bytes are not the size of U32|"));
	CHECK(finds(make_integer(SIDE_TYPE_U32, 4, 0, true, HOST),
			"2f the signedness is not that of U32|"));
}

static bool prints(struct side_event_description *event, const char *part)
{
	struct visit_buffer out;
	bool found;

	visit_buffer_heap(&out);
	CHECK(!visit_description_json(event, &out, &wrong) && !visit_buffer_append(&out, "", 1));
	found = strstr((const char *)out.data, part);
	if (!found)
		fprintf(stderr, "%s\n", (const char *)out.data);
	visit_buffer_free(&out);
	return found;
}

#define JSON_INTEGER(type, size)                \
	"{\"type\":\"" type "\",\"size\":" size \
	",\"len_bits\":0,\"signed\":false,\"byte_order\":\"le\",\"attributes\":[]}"

static void json(void)
{
	struct side_type byte = gather_byte(3, DIRECT);
	struct side_event_description *event = event_of(byte);
	static uint16_t wide[301];
	char expected[512];
	struct side_attr attribute = make_text_attribute("k", wide, 2);

	CHECK(prints(event_of(make_vla_visitor(
				     make_plain(2, false), make_plain(1, false), visit_nothing)),
			"\"type\":\"vla_visitor\",\"length\":" JSON_INTEGER(
					"u8", "1") ",\"element\":" JSON_INTEGER("u16", "2")));
	CHECK(prints(event_of(gather_struct(make_members(1, &byte, one_name), 5, 16, DIRECT)),
			"\"size\":16,\"fields\":[{\"name\":\"f\",\"type\":{\"type\":\"gather_byte\""));
	/* Texts of 256 bytes, and of more. */
	side_ptr_set(event->attributes.elements, (const struct side_attr *)&attribute);
	event->attributes.length = 1;
	for (size_t size = 255; size <= 300; size += size == 257 ? 43 : 1) {
		int used = snprintf(expected, sizeof(expected),
				"{\"key\":\"k\",\"type\":\"string\",\"value\":\"");

		for (size_t i = 0; i < size; i++)
			expected[used++] = (char)(wide[i] = (uint16_t)('a' + i % 26));
		wide[size] = 0;
		strcpy(expected + used, "\",\"value_encoding\":\"utf16le\"}");
		CHECK(prints(event, expected));
	}
}

int main(void)
{
	nested_types();
	wrong_names();
	small_buffers();
	longest_descriptions();
	wrong_option();
	attributes();
	dynamic_values();
	stack_values();
	labels();
	missing_texts();
	arguments();
	wrong_attributes();
	roles();
	findings();
	json();
	make_reset();
	return 0;
}
