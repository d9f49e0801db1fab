/* SPDX-License-Identifier: MIT */
/*
 * Kernel records that become arguments of events: the types, each value, truncated records, and the
 * memory of arguments.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../resources.h"

#include <side/builder.h>

static unsigned int nr_fields, failing_field;

static int counted_add_field(struct side_builder *builder, struct side_builder_type *into,
		const char *name, struct side_builder_type *type)
{
	nr_fields++;
	return nr_fields == failing_field ? SIDE_ERROR_NOMEM
					  : side_builder_add_field(builder, into, name, type);
}

#define side_builder_add_field counted_add_field
#include "programs/side-kernel/values.c"
#undef side_builder_add_field
#include "ctf/ctf.h"
#include "kernel-events/bytes.h"
#include "kernel-events/eventheader.h"
#include "kernel-events/format.h"
#include "kernel-events/layout.h"
#include "abi/visit.h"

#define FIELD(type, offset, size, is_signed) \
	"\tfield:" type ";\toffset:" #offset ";\tsize:" #size ";\tsigned:" #is_signed ";\n"

static const char format_text[] = "name: e\nID: 7\nformat:\n" FIELD("u8 mode", 8, 1, 0) FIELD(
		"u8 bits", 9, 1, 0) FIELD("short s", 10, 2, 1) FIELD("void *p", 16, 8,
		0) FIELD("f64 d", 24, 8, 1) FIELD("bool b", 32, 1, 0) FIELD("char text[4]", 33, 4,
		0) FIELD("u16 list[2]", 38, 4, 0) FIELD("struct x raw", 42, 3,
		0) FIELD("__data_loc char[] name", 48, 4, 0) FIELD("__data_loc u32[] far", 52, 4,
		0) "print fmt: __print_symbolic(REC->mode, {1, \"ONE\"}, {2, \"TWO\"}), "
		   "__print_flags(REC->bits, \"|\", {4, \"FOUR\"})\n";

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ORDER "le"
#else
#define ORDER "be"
#endif
#define RECORD 72

/* The description without the common part. */
static const char fields[] =
		"\"fields\":["
		"{\"name\":\"mode\",\"type\":{\"type\":\"enum\",\"mappings\":[{\"begin\":1,\"end\":1,\"label\":\"ONE\"},{\"begin\":2,\"end\":2,\"label\":\"TWO\"}],\"element\":{\"type\":\"u8\",\"size\":1,\"len_bits\":0,\"signed\":false,\"byte_order\":\"" ORDER
		"\",\"attributes\":[]},\"attributes\":[]}},"
		"{\"name\":\"bits\",\"type\":{\"type\":\"enum_bitmap\",\"mappings\":[{\"begin\":2,\"end\":2,\"label\":\"FOUR\"}],\"element\":{\"type\":\"u8\",\"size\":1,\"len_bits\":0,\"signed\":false,\"byte_order\":\"" ORDER
		"\",\"attributes\":[]},\"attributes\":[]}},"
		"{\"name\":\"s\",\"type\":{\"type\":\"s16\",\"size\":2,\"len_bits\":0,\"signed\":true,\"byte_order\":\"" ORDER
		"\",\"attributes\":[]}},"
		"{\"name\":\"p\",\"type\":{\"type\":\"u64\",\"size\":8,\"len_bits\":0,\"signed\":false,\"byte_order\":\"" ORDER
		"\",\"attributes\":[{\"key\":\"std.integer.base\",\"type\":\"u8\",\"value\":16}]}},"
		"{\"name\":\"d\",\"type\":{\"type\":\"float_binary64\",\"size\":8,\"byte_order\":\"" ORDER
		"\",\"attributes\":[]}},"
		"{\"name\":\"b\",\"type\":{\"type\":\"bool\",\"size\":1,\"len_bits\":0,\"byte_order\":\"" ORDER
		"\",\"attributes\":[]}},"
		"{\"name\":\"text\",\"type\":{\"type\":\"string_utf8\",\"unit_size\":1,\"byte_order\":\"" ORDER
		"\",\"attributes\":[]}},"
		"{\"name\":\"list\",\"type\":{\"type\":\"gather_array\",\"offset\":0,\"access_mode\":\"direct\",\"length\":2,\"element\":{\"type\":\"gather_integer\",\"offset\":0,\"access_mode\":\"direct\",\"offset_bits\":0,\"size\":2,\"len_bits\":0,\"signed\":false,\"byte_order\":\"" ORDER
		"\",\"attributes\":[]},\"attributes\":[]}},"
		"{\"name\":\"raw\",\"type\":{\"type\":\"gather_array\",\"offset\":0,\"access_mode\":\"direct\",\"length\":3,\"element\":{\"type\":\"gather_byte\",\"offset\":0,\"access_mode\":\"direct\",\"attributes\":[]},\"attributes\":[]}},"
		"{\"name\":\"name\",\"type\":{\"type\":\"string_utf8\",\"unit_size\":1,\"byte_order\":\"" ORDER
		"\",\"attributes\":[]}},"
		"{\"name\":\"far\",\"type\":{\"type\":\"gather_vla\",\"offset\":4,\"access_mode\":\"direct\",\"length\":{\"type\":\"gather_integer\",\"offset\":0,\"access_mode\":\"direct\",\"offset_bits\":0,\"size\":4,\"len_bits\":0,\"signed\":false,\"byte_order\":\"" ORDER
		"\",\"attributes\":[]},\"element\":{\"type\":\"gather_integer\",\"offset\":0,\"access_mode\":\"direct\",\"offset_bits\":0,\"size\":4,\"len_bits\":0,\"signed\":false,\"byte_order\":\"" ORDER
		"\",\"attributes\":[]},\"attributes\":[]}}]}";

static const uint8_t record[RECORD] = {[8] = 2,
		5,
		0xfe,
		0xff,
		[16] = 8,
		7,
		6,
		5,
		4,
		3,
		2,
		1,
		[30] = 0xf8,
		0x3f,
		1,
		'f',
		'u',
		'l',
		'l',
		[38] = 1,
		2,
		3,
		4,
		9,
		8,
		7,
		[48] = 56,
		0,
		4,
		0,
		60,
		0,
		8,
		0,
		'a',
		'b',
		0,
		'x',
		1,
		0,
		0,
		0,
		2,
		0,
		0,
		0x80};

static struct ctf_arena *arena;
static struct ctf_type *type;
static struct byte_buffer made;

static void make(void)
{
	struct format format;
	struct layout layout;

	arena = ctf_arena_create();
	assert_non_null(arena);
	assert_int_equal(kernel_format_parse(format_text, sizeof(format_text) - 1, &format), 0);
	assert_int_equal(layout_make(&format, false, arena, &layout, &type), 0);
	layout_run(&layout, record, sizeof(record), &made);
	layout_free(&layout);
	kernel_format_free(&format);
}

static void test_types(void **unused)
{
	struct side_builder *builder = side_builder_create("k", "e", SIDE_LOGLEVEL_INFO, 0);
	struct visit_buffer buffer;
	struct visit_error error;
	const char *found;

	(void)unused;
	assert_non_null(builder);
	assert_int_equal(values_count(type), 11);
	assert_int_equal(values_count(NULL), 0);
	assert_int_equal(values_add_fields(builder, NULL), 0);
	assert_int_equal(values_add_fields(builder, type), 0);
	assert_int_equal(side_builder_finish(builder), SIDE_ERROR_OK);
	visit_buffer_heap(&buffer);
	assert_int_equal(visit_description_json(side_builder_description(builder), &buffer, &error),
			0);
	assert_int_equal(visit_buffer_append(&buffer, "", 1), 0);
	found = strstr((char *)buffer.data, "\"fields\":");
	assert_non_null(found);
	assert_string_equal(found, fields);
	visit_buffer_free(&buffer);
	side_builder_destroy(builder);
}

static const void *pointer(const struct side_arg *argument)
{
	return side_ptr_get(argument->u.side_static.string_value);
}

static void test_values(void **unused)
{
	struct side_arg arguments[11];
	struct scratch scratch = {.used = 0};
	const struct kernel_payload bytes = {made.data, made.size};
	double real = 1.5, got;

	(void)unused;
	memset(arguments, 0x55, sizeof(arguments));
	assert_true(values_take(&scratch, type, bytes, arguments));
	for (size_t i = 0; i < 11; i++)
		assert_int_equal(arguments[i].flags, 0);
	assert_int_equal(arguments[0].type.v, SIDE_TYPE_U8);
	assert_int_equal(arguments[0].u.side_static.integer_value.side_u8, 2);
	assert_int_equal(arguments[1].u.side_static.integer_value.side_u8, 5);
	assert_int_equal(arguments[2].type.v, SIDE_TYPE_S16);
	assert_int_equal(arguments[2].u.side_static.integer_value.side_s16, -2);
	assert_int_equal(arguments[3].type.v, SIDE_TYPE_U64);
	assert_true(arguments[3].u.side_static.integer_value.side_u64 ==
			UINT64_C(0x0102030405060708));
	assert_int_equal(arguments[4].type.v, SIDE_TYPE_FLOAT_BINARY64);
	memcpy(&got, &arguments[4].u.side_static.float_value, sizeof(got));
	assert_memory_equal(&got, &real, sizeof(got));
	assert_int_equal(arguments[5].type.v, SIDE_TYPE_BOOL);
	assert_int_equal(arguments[5].u.side_static.bool_value.side_bool8, 1);
	/* A text that fills its array still gets a terminating NUL. */
	assert_int_equal(arguments[6].type.v, SIDE_TYPE_STRING_UTF8);
	assert_string_equal((const char *)pointer(&arguments[6]), "full");
	assert_int_equal(arguments[7].type.v, SIDE_TYPE_GATHER_ARRAY);
	assert_memory_equal(side_ptr_get(arguments[7].u.side_static.side_array_gather_ptr),
			"\1\2\3\4", 4);
	assert_int_equal(arguments[8].type.v, SIDE_TYPE_GATHER_ARRAY);
	assert_memory_equal(side_ptr_get(arguments[8].u.side_static.side_array_gather_ptr),
			"\x9\x8\7", 3);
	assert_int_equal(arguments[9].type.v, SIDE_TYPE_STRING_UTF8);
	assert_string_equal((const char *)pointer(&arguments[9]), "ab");
	/* The length comes before the elements. */
	assert_int_equal(arguments[10].type.v, SIDE_TYPE_GATHER_VLA);
	assert_memory_equal(side_ptr_get(arguments[10].u.side_static.side_vla_gather.ptr),
			"\2\0\0\0\1\0\0\0\2\0\0\x80", 12);
	assert_ptr_equal(side_ptr_get(arguments[10].u.side_static.side_vla_gather.ptr),
			side_ptr_get(arguments[10].u.side_static.side_vla_gather.length_ptr));
	/* Records that are truncated at each byte. */
	for (size_t size = 0; size < made.size; size++) {
		uint8_t *less = malloc(size + !size);

		assert_non_null(less);
		memcpy(less, made.data, size);
		assert_false(values_take(
				&scratch, type, (struct kernel_payload){less, size}, arguments));
		free(less);
	}
	scratch_free(&scratch);
	assert_true(values_take(&scratch, NULL, bytes, arguments));
}

/* ---- texts, options, lists and structures ---- */

static const char metadata[] = "ev\0"
			       "a\0\x47"   /* texts, counted */
			       "b\0\x8d\1" /* an option of an unsigned number: some, and none */
			       "c\0\x8d\1"
			       "d\0\xcd\2"     /* options of signed numbers, counted */
			       "e\0\xa1\2\2\0" /* two structures */
			       "f\0\2"
			       "g\0\7"
			       "h\0\x83\7"   /* a truth value of two bytes */
			       "i\0\x0d"     /* bytes, counted */
			       "j\0\x8d\7"   /* an option of a truth value */
			       "k\0\x84\x08" /* floats of four and eight bytes */
			       "l\0\x85\x08"
			       "m\0\x4d" /* lists of bytes, counted */
			       "n\0\x85\2"
			       "o\0\x84\2"
			       "q\0\x82\2";

static const char payload[] = "\2\0one\0two\0"
			      "\1\0\5"
			      "\0\0"
			      "\3\0\1\0\xfe\0\0\2\0\3\0"
			      "\6six\0\7\0"
			      "\1\0"
			      "\3\0xyz"
			      "\1\0\1"
			      "\0\0\xc0\x3f"
			      "\0\0\0\0\0\0\4\x40"
			      "\2\0\1\0p\2\0qr"
			      "\xfd\xff\xff\xff\xff\xff\xff\xff"
			      "\xfc\xff\xff\xff"
			      "\xfb";

static char shown[2000];

static void show(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void show(const char *format, ...)
{
	size_t used = strlen(shown);
	va_list list;

	va_start(list, format);
	(void)vsnprintf(shown + used, sizeof(shown) - used, format, list);
	va_end(list);
}

static int type_begin(void *priv, const struct visit_node *node)
{
	(void)priv;
	show("%s%s%s(", node->name ? node->name : "", node->name ? ":" : "",
			visit_label_name(side_enum_get(node->type->type)));
	return 0;
}

static int type_end(void *priv, const struct visit_node *node)
{
	(void)priv;
	(void)node;
	show(")");
	return 0;
}

static int show_value(void *priv, const struct visit_location *state_dir,
		const struct visit_value *value, struct visit_attributes attributes)
{
	char digits[VISIT_FLOAT_DIGITS_MAX];

	(void)priv;
	(void)state_dir;
	(void)attributes;
	if (value->kind == VISIT_STRING)
		show("\"%s\" ", (const char *)value->text.at);
	else if (value->kind == VISIT_FLOAT)
		show("%s ", (visit_value_float_digits(value, 3, digits), digits));
	else
		show("%lld ", (long long)value->lo);
	return 0;
}

static int show_begin(void *priv, const struct visit_location *state_dir,
		struct visit_attributes attributes, uint32_t nr)
{
	(void)priv;
	(void)state_dir;
	(void)attributes;
	show("%u{", nr);
	return 0;
}

static int show_end(void *priv, const struct visit_location *state_dir, uint32_t nr)
{
	(void)priv;
	(void)state_dir;
	(void)nr;
	show("} ");
	return 0;
}

static int show_option(void *priv, const struct visit_location *state_dir,
		struct visit_attributes attributes, bool present)
{
	(void)priv;
	(void)state_dir;
	(void)attributes;
	show("%s", present ? "some " : "none ");
	return 0;
}

static void test_compounds(void **unused)
{
	static const struct visit_description_ops types = {
			.type_begin = type_begin, .type_end = type_end};
	static const struct visit_argument_ops values = {.value = show_value,
			.struct_begin = show_begin,
			.struct_end = show_end,
			.array_begin = show_begin,
			.array_end = show_end,
			.optional_begin = show_option};
	const struct eventheader header = {.metadata = (const uint8_t *)metadata,
			.metadata_size = sizeof(metadata) - 1,
			.payload = (const uint8_t *)payload,
			.payload_size = sizeof(payload) - 1};
	struct side_builder *builder = side_builder_create("k", "e", SIDE_LOGLEVEL_INFO, 0);
	struct ctf_arena *own = ctf_arena_create();
	struct eventheader_class class;
	struct byte_buffer to = {.data = NULL};
	struct scratch scratch = {.used = 0};
	struct side_arg arguments[14];
	const struct side_arg_vec vector = {.sav = SIDE_PTR_INIT(arguments), .len = 14};

	(void)unused;
	assert_true(builder && own);
	assert_int_equal(eventheader_parse(&header, own, &class), 0);
	assert_int_equal(eventheader_convert(&class, &header, &to), 0);
	assert_int_equal(values_count(class.type), 14);
	assert_int_equal(values_add_fields(builder, class.type), 0);
	assert_int_equal(side_builder_finish(builder), SIDE_ERROR_OK);
	assert_int_equal(visit_description(side_builder_description(builder), &types, NULL, NULL),
			0);
	assert_string_equal(shown,
			"a:VLA(U32()STRING_UTF8())b:OPTIONAL(U64())c:OPTIONAL(U64())d:VLA(U32()OPTIONAL(S64()))"
			"e:ARRAY(STRUCT(f:U8()g:STRING_UTF8()))h:ENUM(U16())i:GATHER_VLA(GATHER_INTEGER()GATHER_BYTE())"
			"j:OPTIONAL(BOOL())k:FLOAT_BINARY32()l:FLOAT_BINARY64()"
			"m:VLA(U32()GATHER_VLA(GATHER_INTEGER()GATHER_BYTE()))n:S64()o:S32()q:S8()");
	*shown = '\0';
	memset(arguments, 0x55, sizeof(arguments));
	assert_true(values_take(&scratch, class.type, (struct kernel_payload){to.data, to.size},
			arguments));
	assert_int_equal(visit_arguments(side_builder_description(builder), &vector, NULL, &values,
					 NULL, NULL),
			0);
	assert_string_equal(shown,
			"2{\"one\" \"two\" } some 5 none 3{some -2 none some 3 } 2{2{6 \"six\" } 2{7 \"\" } } 1 "
			"3{120 121 122 } some 1 1.5 2.5 2{1{112 } 2{113 114 } } -3 -4 -5 ");
	for (size_t size = 0; size < to.size; size++) {
		uint8_t *less = malloc(size + !size);

		assert_non_null(less);
		memcpy(less, to.data, size);
		assert_false(values_take(&scratch, class.type, (struct kernel_payload){less, size},
				arguments));
		free(less);
	}
	/* More elements than the reader allocates memory for. */
	{
		struct value_reader reader = {.scratch = &scratch};
		const struct ctf_type *none = ctf_type_struct(own, 0);
		const uint64_t most = SCRATCH_MAX / sizeof(struct side_arg);

		assert_null(side_kernel_value_read_elements(&reader, none, most + 1));
		assert_null(side_kernel_value_make_vector(&reader, NULL, 3));
	}
	/* The record has the first element, but not the second. */
	{
		static const uint8_t one_text[] = "a";
		const struct ctf_type text = {.kind = CTF_STRING};
		struct value_reader reader = {.scratch = &scratch,
				.at = one_text,
				.end = one_text + sizeof(one_text)};

		assert_null(side_kernel_value_read_elements(&reader, &text, 2));
		reader.at = one_text;
		assert_non_null(side_kernel_value_read_elements(&reader, &text, 1));
	}
	/* Arrays of numbers are gathered. */
	{
		static const struct {
			enum ctf_kind kind;
			bool is_number;
		} event_classes[] = {{CTF_INTEGER, true}, {CTF_FLOAT, true}, {CTF_ENUM, true},
				{CTF_STRING, false}, {CTF_STRUCT, false}, {CTF_ARRAY, false}};

		for (size_t i = 0; i < sizeof(event_classes) / sizeof(event_classes[0]); i++) {
			const struct ctf_type kind = {.kind = event_classes[i].kind};

			assert_int_equal(side_kernel_value_is_number(&kind),
					event_classes[i].is_number);
		}
	}
	/* A sequence needs the length before it. */
	{
		const struct ctf_type sequence = {
				.kind = CTF_SEQUENCE, .element = class.type->members[0].type};

		assert_null(side_kernel_value_list_type(builder, &sequence, NULL));
	}
	/* No memory for the second field. */
	{
		struct side_builder *other = side_builder_create("k", "e", SIDE_LOGLEVEL_INFO, 0);

		assert_non_null(other);
		nr_fields = 0;
		failing_field = 2;
		assert_int_equal(values_add_fields(other, class.type), -EINVAL);
		assert_int_equal(nr_fields, 2);
		failing_field = 0;
		side_builder_destroy(other);
	}
	scratch_free(&scratch);
	free(to.data);
	side_builder_destroy(builder);
	ctf_arena_destroy(own);
}

static void test_memory(void **unused)
{
	struct scratch scratch = {.used = 0};
	unsigned char *one, *other;

	(void)unused;
	one = scratch_take(&scratch, 1);
	other = scratch_take(&scratch, 16);
	assert_ptr_equal(other, one + 16);
	assert_ptr_equal(scratch_take(&scratch, 17), one + 32);
	assert_ptr_equal(scratch_take(&scratch, BLOCK_SIZE - 64), one + 64);
	assert_int_equal(scratch.used, BLOCK_SIZE);
	/* The next block. Larger blocks have their own size, up to a limit. */
	other = scratch_take(&scratch, 1);
	assert_true(other && scratch.blocks->next && scratch.used == 16);
	memset(scratch_take(&scratch, BLOCK_SIZE + 16), 1, BLOCK_SIZE + 16);
	assert_int_equal(scratch.blocks->capacity, BLOCK_SIZE + 16);
	assert_non_null(scratch_take(&scratch, SCRATCH_MAX));
	assert_null(scratch_take(&scratch, SCRATCH_MAX + 1));
	/* Only the first block is kept. */
	scratch_reset(&scratch);
	assert_ptr_equal(scratch_take(&scratch, 1), one);
	assert_null(scratch.blocks->next);
	scratch_free(&scratch);
	assert_null(scratch.blocks);
	/* All blocks are released. */
	for (int i = 0; i < 20; i++) {
		const size_t before = resources_memory();

		assert_non_null(scratch_take(&scratch, BLOCK_SIZE));
		assert_non_null(scratch_take(&scratch, BLOCK_SIZE + 32));
		assert_non_null(scratch_take(&scratch, 2 * BLOCK_SIZE));
		scratch_free(&scratch);
		assert_int_equal(resources_memory(), before);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_types),
			cmocka_unit_test(test_values),
			cmocka_unit_test(test_compounds),
			cmocka_unit_test(test_memory),
	};
	int failed;

	make();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	free(made.data);
	ctf_arena_destroy(arena);
	return failed;
}
