/* SPDX-License-Identifier: MIT */
/*
 * Forms of debug information that the installed compilers do not write: expressions, classes of
 * arguments, sizes, labels. An operation is written as CODE:REGISTER:SIZE:VALUE, with the numbers
 * of probe/table.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "debug-writer.h"
#include "probe/spec/expression.h"
#include "probe/spec/labels.h"
#include "probe/spec/members.h"
#include "probe/spec/numbers.h"

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

static struct dwarf dwarf;
static char shown[8192];

static void show_fetch(const struct fetch *fetch)
{
	for (uint32_t i = 0; i < fetch->nr_ops; i++)
		sprintf(shown + strlen(shown), " %u:%u:%u:%lld", fetch->ops[i].code,
				fetch->ops[i].reg, fetch->ops[i].size,
				(long long)fetch->ops[i].value);
}

static void show_located(const struct located *located)
{
	static const char *const kinds[] = {"memory", "value", "pieces", "pointer", "nowhere"};

	sprintf(shown, "%s", kinds[located->kind]);
	if (located->kind != LOCATED_PIECES)
		show_fetch(&located->fetch);
	for (uint32_t i = 0; located->kind == LOCATED_PIECES && i < located->nr_pieces; i++) {
		const struct located_piece *piece = &located->pieces[i];

		sprintf(shown + strlen(shown), "; %u+%u %s", piece->offset, piece->size,
				kinds[piece->kind]);
		show_fetch(&piece->fetch);
	}
}

static unsigned int differing;

static void expect(const char *what, const char *wanted)
{
	if (!strcmp(shown, wanted))
		return;
	print_message("%s | %s | %s\n", what, shown, wanted);
	differing++;
}

/* ---- types ---- */

static uint32_t base(const char *name, unsigned int encoding, uint64_t size)
{
	uint32_t offset = dwarf_entry(&dwarf, DW_TAG_base_type, false);

	dwarf_text(&dwarf, DW_AT_name, name);
	dwarf_number(&dwarf, DW_AT_encoding, encoding);
	dwarf_number(&dwarf, DW_AT_byte_size, size);
	return offset;
}

static uint32_t named(unsigned int tag, const char *name, uint64_t size)
{
	uint32_t offset = dwarf_entry(&dwarf, tag, true);

	dwarf_text(&dwarf, DW_AT_name, name);
	dwarf_number(&dwarf, DW_AT_byte_size, size);
	return offset;
}

static void member(const char *name, uint32_t type, uint64_t at)
{
	(void)dwarf_entry(&dwarf, DW_TAG_member, false);
	dwarf_text(&dwarf, DW_AT_name, name);
	dwarf_reference(&dwarf, DW_AT_type, type);
	dwarf_number(&dwarf, DW_AT_data_member_location, at);
}

static uint32_t structure(
		const char *name, uint64_t size, uint32_t first, uint32_t second, uint64_t at)
{
	uint32_t offset = named(DW_TAG_structure_type, name, size);

	member("a", first, 0);
	if (second)
		member("b", second, at);
	dwarf_end_children(&dwarf);
	return offset;
}

static uint32_t of(unsigned int tag, uint32_t type)
{
	uint32_t offset = dwarf_entry(&dwarf, tag, false);

	dwarf_reference(&dwarf, DW_AT_type, type);
	return offset;
}

static uint32_t of_with_children(unsigned int tag, uint32_t type)
{
	uint32_t offset = dwarf_entry(&dwarf, tag, true);

	dwarf_reference(&dwarf, DW_AT_type, type);
	return offset;
}

static uint32_t array(uint32_t type, uint64_t count)
{
	uint32_t offset = dwarf_entry(&dwarf, DW_TAG_array_type, true);

	dwarf_reference(&dwarf, DW_AT_type, type);
	(void)dwarf_entry(&dwarf, DW_TAG_subrange_type, false);
	dwarf_number(&dwarf, DW_AT_count, count);
	dwarf_end_children(&dwarf);
	return offset;
}

static struct {
	uint32_t s8, s16, s32, s64, s128, u8, u16, u32, u64, f16, f32, f64, f80, f128, c32, c64,
			c80, byte0, odd, pointer, flag;
} of_c;

static void begin(unsigned int language, const char *producer)
{
	dwarf_begin_unit(&dwarf, language, producer);
	of_c.s8 = base("signed char", DW_ATE_signed_char, 1);
	of_c.s16 = base("short", DW_ATE_signed, 2);
	of_c.s32 = base("int", DW_ATE_signed, 4);
	of_c.s64 = base("long", DW_ATE_signed, 8);
	of_c.s128 = base("__int128", DW_ATE_signed, 16);
	of_c.u8 = base("unsigned char", DW_ATE_unsigned_char, 1);
	of_c.u16 = base("unsigned short", DW_ATE_unsigned, 2);
	of_c.u32 = base("unsigned int", DW_ATE_unsigned, 4);
	of_c.u64 = base("unsigned long", DW_ATE_unsigned, 8);
	of_c.f16 = base("_Float16", DW_ATE_float, 2);
	of_c.f32 = base("float", DW_ATE_float, 4);
	of_c.f64 = base("double", DW_ATE_float, 8);
	of_c.f80 = base("long double", DW_ATE_float, 16);
	of_c.f128 = base("_Float128", DW_ATE_float, 16);
	of_c.c32 = base("complex float", DW_ATE_complex_float, 8);
	of_c.c64 = base("complex double", DW_ATE_complex_float, 16);
	of_c.c80 = base("complex long double", DW_ATE_complex_float, 32);
	of_c.odd = base("odd", DW_ATE_signed, 9);
	of_c.byte0 = base("nothing", DW_ATE_signed, 0);
	of_c.pointer = dwarf_entry(&dwarf, DW_TAG_pointer_type, false);
	of_c.flag = base("bool", DW_ATE_boolean, 1);
}

/* ---- expressions ---- */

struct expression_case {
	const char *name;
	uint8_t bytes[24];
	size_t size;
	const char *wanted;
};

#define BYTES(...) {__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static const struct expression_case expressions[] = {
		{"addr", BYTES(3, 0x78, 0x56, 0x34, 0x12, 0, 0, 0, 0), "0 4:0:0:305419896"},
		{"lit0", BYTES(0x30), "0 1:0:0:0"},
		{"lit31", BYTES(0x4f), "0 1:0:0:31"},
		{"const1u", BYTES(8, 0xff), "0 1:0:0:255"},
		{"const1s", BYTES(9, 0xff), "0 1:0:0:-1"},
		{"const2u", BYTES(10, 1, 0x80), "0 1:0:0:32769"},
		{"constu", BYTES(16, 0x80, 1), "0 1:0:0:128"},
		{"consts", BYTES(17, 0x7f), "0 1:0:0:-1"},
		{"reg0", BYTES(0x50), "0 value 2:0:0:0"},
		{"reg16", BYTES(0x60), "0 value 2:16:0:0"},
		{"reg17", BYTES(0x61), "0 value 3:0:0:0"},
		{"reg31", BYTES(0x6f), "0 value 3:14:0:0"},
		{"regx xmm15", BYTES(0x90, 32), "0 value 3:15:0:0"},
		{"regx 33", BYTES(0x90, 33), "-95 value"},
		{"regx 49", BYTES(0x90, 49), "-95 value"},
		{"breg5", BYTES(0x75, 8), "0 2:5:0:0 32:0:0:8"},
		{"breg6 negative", BYTES(0x76, 0x70), "0 2:6:0:0 32:0:0:-16"},
		{"bregx 16", BYTES(0x92, 16, 3), "0 2:16:0:0 32:0:0:3"},
		{"bregx 17", BYTES(0x92, 17, 3), "0 3:0:0:0 32:0:0:3"},
		{"sum of registers", BYTES(0x75, 1, 0x74, 2, 0x22),
				"0 2:5:0:0 32:0:0:1 33:4:0:0 32:0:0:2"},
		{"constant plus register", BYTES(0x37, 0x75, 0, 0x22), "0 2:5:0:0 32:0:0:7"},
		{"register plus constant", BYTES(0x75, 0, 0x37, 0x22), "0 2:5:0:0 32:0:0:7"},
		{"loaded plus register", BYTES(0x75, 0, 6, 0x74, 5, 0x22),
				"0 2:5:0:0 34:0:8:0 33:4:0:0 32:0:0:5"},
		{"register plus loaded", BYTES(0x75, 5, 0x74, 0, 6, 0x22),
				"0 2:4:0:0 34:0:8:0 33:5:0:0 32:0:0:5"},
		{"loaded plus loaded", BYTES(0x75, 0, 6, 0x74, 0, 6, 0x22),
				"0 2:5:0:0 34:0:8:0 38:0:0:0 2:4:0:0 34:0:8:0 39:0:1:0"},
		{"minus constant", BYTES(0x75, 0, 0x37, 0x1c), "0 2:5:0:0 32:0:0:-7"},
		{"minus register", BYTES(0x75, 0, 0x74, 0, 0x1c),
				"0 2:5:0:0 38:0:0:0 2:4:0:0 39:0:2:0"},
		{"shr constant", BYTES(0x75, 0, 0x37, 0x25), "0 2:5:0:0 35:0:7:0"},
		{"shr 0", BYTES(0x75, 0, 0x30, 0x25), "0 2:5:0:0 35:0:0:0"},
		{"convert 9 bytes", BYTES(0x75, 0, 0xa8, 0xfa, 0), "-95 unknown"},
		{"shr 63", BYTES(0x75, 0, 8, 63, 0x25), "0 2:5:0:0 35:0:63:0"},
		{"shr 64", BYTES(0x75, 0, 8, 64, 0x25), "0 2:5:0:0 38:0:0:0 1:0:0:64 39:0:10:0"},
		{"shr -1", BYTES(0x75, 0, 9, 0xff, 0x25), "0 2:5:0:0 38:0:0:0 1:0:0:-1 39:0:10:0"},
		{"shr register", BYTES(0x75, 0, 0x74, 0, 0x25),
				"0 2:5:0:0 38:0:0:0 2:4:0:0 39:0:10:0"},
		{"shl", BYTES(0x75, 0, 0x37, 0x24), "0 2:5:0:0 38:0:0:0 1:0:0:7 39:0:9:0"},
		{"shra", BYTES(0x75, 0, 0x37, 0x26), "0 2:5:0:0 38:0:0:0 1:0:0:7 39:0:11:0"},
		{"and", BYTES(0x75, 0, 0x37, 0x1a), "0 2:5:0:0 38:0:0:0 1:0:0:7 39:0:6:0"},
		{"div", BYTES(0x75, 0, 0x37, 0x1b), "0 2:5:0:0 38:0:0:0 1:0:0:7 39:0:4:0"},
		{"mod", BYTES(0x75, 0, 0x37, 0x1d), "0 2:5:0:0 38:0:0:0 1:0:0:7 39:0:5:0"},
		{"mul", BYTES(0x75, 0, 0x37, 0x1e), "0 2:5:0:0 38:0:0:0 1:0:0:7 39:0:3:0"},
		{"or", BYTES(0x75, 0, 0x37, 0x21), "0 2:5:0:0 38:0:0:0 1:0:0:7 39:0:7:0"},
		{"xor", BYTES(0x75, 0, 0x37, 0x27), "0 2:5:0:0 38:0:0:0 1:0:0:7 39:0:8:0"},
		{"eq", BYTES(0x75, 0, 0x37, 0x29), "0 2:5:0:0 38:0:0:0 1:0:0:7 39:0:12:0"},
		{"ge", BYTES(0x75, 0, 0x37, 0x2a), "0 2:5:0:0 38:0:0:0 1:0:0:7 39:0:17:0"},
		{"gt", BYTES(0x75, 0, 0x37, 0x2b), "0 2:5:0:0 38:0:0:0 1:0:0:7 39:0:16:0"},
		{"le", BYTES(0x75, 0, 0x37, 0x2c), "0 2:5:0:0 38:0:0:0 1:0:0:7 39:0:15:0"},
		{"lt", BYTES(0x75, 0, 0x37, 0x2d), "0 2:5:0:0 38:0:0:0 1:0:0:7 39:0:14:0"},
		{"ne", BYTES(0x75, 0, 0x37, 0x2e), "0 2:5:0:0 38:0:0:0 1:0:0:7 39:0:13:0"},
		{"not", BYTES(0x75, 0, 0x20), "0 2:5:0:0 38:0:0:0 1:0:0:-1 39:0:8:0"},
		{"neg", BYTES(0x75, 0, 0x1f), "0 1:0:0:0 38:0:0:0 2:5:0:0 39:0:2:0"},
		{"abs", BYTES(0x75, 0, 0x19),
				"0 2:5:0:0 38:0:0:0 2:5:0:0 38:0:0:0 1:0:0:63 39:0:11:0 39:0:8:0 38:0:0:0 2:5:0:0 38:0:0:0 1:0:0:63 39:0:11:0 39:0:2:0"},
		{"plus alone", BYTES(0x30, 0x22), "-22"},
		{"not alone", BYTES(0x20), "-22"},
		{"plus_uconst", BYTES(0x75, 1, 0x23, 9), "0 2:5:0:0 32:0:0:10"},
		{"plus_uconst alone", BYTES(0x23, 9), "-22"},
		{"deref", BYTES(0x75, 0, 6), "0 2:5:0:0 34:0:8:0"},
		{"deref alone", BYTES(6), "-22"},
		{"deref_size 1", BYTES(0x75, 0, 0x94, 1), "0 2:5:0:0 34:0:1:0"},
		{"deref_size 2", BYTES(0x75, 0, 0x94, 2), "0 2:5:0:0 34:0:2:0"},
		{"deref_size 3", BYTES(0x75, 0, 0x94, 3), "-22"},
		{"deref_size 4", BYTES(0x75, 0, 0x94, 4), "0 2:5:0:0 34:0:4:0"},
		{"deref_size 8", BYTES(0x75, 0, 0x94, 8), "0 2:5:0:0 34:0:8:0"},
		{"deref_size 0", BYTES(0x75, 0, 0x94, 0), "-22"},
		{"dup", BYTES(0x37, 0x12, 0x22), "0 1:0:0:14"},
		{"dup alone", BYTES(0x12), "-22"},
		{"over", BYTES(0x31, 0x32, 0x14), "0 1:0:0:1"},
		{"over of one", BYTES(0x31, 0x14), "-22"},
		{"pick", BYTES(0x31, 0x32, 0x33, 0x15, 2), "0 1:0:0:1"},
		{"pick too deep", BYTES(0x31, 0x32, 0x33, 0x15, 3), "-22"},
		{"swap", BYTES(0x31, 0x75, 0, 0x16), "0 1:0:0:1"},
		{"swap of one", BYTES(0x31, 0x16), "-22"},
		{"rot", BYTES(0x31, 0x32, 0x33, 0x17, 0x13, 0x13), "0 1:0:0:3"},
		{"rot second", BYTES(0x31, 0x32, 0x33, 0x17, 0x13), "0 1:0:0:1"},
		{"rot first", BYTES(0x31, 0x32, 0x33, 0x17), "0 1:0:0:2"},
		{"rot of two", BYTES(0x31, 0x32, 0x17), "-22"},
		{"drop", BYTES(0x31, 0x32, 0x13), "0 1:0:0:1"},
		{"drop last", BYTES(0x31, 0x13), "-22"},
		{"drop none", BYTES(0x13), "-22"},
		{"stack_value", BYTES(0x75, 0, 0x9f), "0 value 2:5:0:0"},
		{"nop", BYTES(0x31, 0x96), "0 1:0:0:1"},
		{"push_object_address", BYTES(0x97), "-95 unknown"},
		{"xderef", BYTES(0x31, 0x31, 0x18), "-95 unknown"},
		{"fbreg without function", BYTES(0x91, 0), "-95"},
		{"tls of none", BYTES(0x9b), "-22"},
		{"tls of a register", BYTES(0x75, 0, 0x9b), "-95 thread"},
		{"tls of a negative", BYTES(9, 0xff, 0x9b), "-95 thread"},
		{"convert s8", BYTES(0x75, 0, 0xa8, 0xf0, 0), "0 2:5:0:0 37:0:8:0"},
		{"convert s16", BYTES(0x75, 0, 0xa8, 0xf1, 0), "0 2:5:0:0 37:0:16:0"},
		{"convert s32", BYTES(0x75, 0, 0xa8, 0xf2, 0), "0 2:5:0:0 37:0:32:0"},
		{"convert s64", BYTES(0x75, 0, 0xa8, 0xf3, 0), "0 2:5:0:0"},
		{"convert s128", BYTES(0x75, 0, 0xa8, 0xf4, 0), "-95 unknown"},
		{"convert u8", BYTES(0x75, 0, 0xa8, 0xf5, 0), "0 2:5:0:0 36:0:8:0"},
		{"convert u32", BYTES(0x75, 0, 0xa8, 0xf6, 0), "0 2:5:0:0 36:0:32:0"},
		{"convert u64", BYTES(0x75, 0, 0xa8, 0xf7, 0), "0 2:5:0:0"},
		{"convert double", BYTES(0x75, 0, 0xa8, 0xf8, 0), "-95 unknown"},
		{"convert nothing", BYTES(0x75, 0, 0xa8, 0xf9, 0), "-95 unknown"},
		{"convert to an address", BYTES(0x75, 0, 0xa8, 0), "0 2:5:0:0"},
		{"convert without a value", BYTES(0xa8, 0xf2, 0), "-22"},
		{"entry value of rax", BYTES(0xa3, 1, 0x50), "-95 at entry: rax"},
		{"entry value", BYTES(0xa3, 1, 0x55), "-95 at entry: rdi"},
		{"entry value of xmm", BYTES(0xa3, 1, 0x61), "-95 at entry: another register"},
		{"entry value of a sum", BYTES(0xa3, 2, 0x75, 0), "-95 at entry: another register"},
		{"@entry value at the entry", BYTES(0xa3, 1, 0x55), "0 2:5:0:0"},
		{"@entry value plus", BYTES(0xa3, 1, 0x55, 0x23, 8), "0 2:5:0:0 32:0:0:8"},
		{"regval_type", BYTES(0xa5, 5, 0), "0 2:5:0:0"},
};

static void run_one(const struct expression_case *one, uint32_t variable, bool entry)
{
	struct locate_frame location = {.address = 0x1000, .entry = entry};
	Dwarf_Die die = dwarf_die(&dwarf, variable);
	struct expression_answer answer;
	Dwarf_Attribute attribute;
	struct fetch fetch = {.nr_ops = 0};
	Dwarf_Op *ops;
	size_t count;
	int ret;

	assert_non_null(dwarf_attr(&die, DW_AT_location, &attribute));
	assert_int_equal(dwarf_getlocation(&attribute, &ops, &count), 0);
	ret = expression_convert(&location, &attribute, ops, count, &fetch, &answer);
	sprintf(shown, "%d%s%s%s%s%s", ret, answer.is_value ? " value" : "",
			answer.thread_local ? " thread" : "",
			answer.entry_value ? " at entry: " : "",
			answer.entry_value ? answer.entry_value : "",
			answer.reason ? " unknown" : "");
	if (!ret)
		show_fetch(&fetch);
	expect(one->name, one->wanted);
}

static void test_expressions(void **unused)
{
	uint32_t variables[LENGTH(expressions)];

	(void)unused;
	differing = 0;
	begin(DW_LANG_C99, "test");
	for (size_t i = 0; i < LENGTH(expressions); i++) {
		uint8_t bytes[24];

		/* After an operation with a type, 0xf0 to 0xfa mean these types. */
		const uint32_t types[] = {of_c.s8, of_c.s16, of_c.s32, of_c.s64, of_c.s128, of_c.u8,
				of_c.u32, of_c.u64, of_c.f64, of_c.byte0, of_c.odd};

		memcpy(bytes, expressions[i].bytes, sizeof(bytes));
		for (size_t at = 0; at + 1 < expressions[i].size; at++)
			if (bytes[at] == 0xa8 && bytes[at + 1] >= 0xf0) {
				uint32_t type = types[bytes[at + 1] - 0xf0];

				bytes[at + 1] = (uint8_t)(0x80 | (type & 0x7f));
				bytes[at + 2] = (uint8_t)(type >> 7);
			}
		variables[i] = dwarf_entry(&dwarf, DW_TAG_variable, false);
		dwarf_expression(&dwarf, DW_AT_location, bytes, expressions[i].size);
	}
	dwarf_open(&dwarf);
	for (size_t i = 0; i < LENGTH(expressions); i++)
		run_one(&expressions[i], variables[i], *expressions[i].name == '@');
	dwarf_close(&dwarf);
	assert_int_equal(differing, 0);
}

/* At most 64 operations. */
static void test_long_expressions(void **unused)
{
	struct locate_frame location = {.address = 0x1000};
	struct expression_answer answer;
	static Dwarf_Op ops[66];
	struct fetch fetch;

	(void)unused;
	ops[0].atom = DW_OP_lit7;
	for (unsigned int i = 1; i < 66; i++)
		ops[i].atom = DW_OP_nop;
	assert_int_equal(expression_convert(&location, NULL, ops, 64, &fetch, &answer), 0);
	assert_int_equal(fetch.ops[0].value, 7);
	assert_int_equal(expression_convert(&location, NULL, ops, 65, &fetch, &answer), -ENOTSUP);
	/* At most 8 values on the stack. */
	for (unsigned int i = 1; i < 10; i++)
		ops[i].atom = DW_OP_dup;
	assert_int_equal(expression_convert(&location, NULL, ops, 8, &fetch, &answer), 0);
	assert_int_equal(expression_convert(&location, NULL, ops, 9, &fetch, &answer), -E2BIG);
	assert_int_equal(expression_convert(&location, NULL, ops, 0, &fetch, &answer), -EINVAL);
}

/* ---- arguments and results ---- */

#define TYPES_MAX 60

static struct {
	const char *name;
	uint32_t type, function, argument[3], giver, is_claimed;
} passed[TYPES_MAX];
static unsigned int nr_passed;

static void pass(const char *name, uint32_t type)
{
	assert_true(nr_passed < TYPES_MAX);
	passed[nr_passed].name = name;
	passed[nr_passed++].type = type;
}

static void show_argument(uint32_t function, uint32_t argument)
{
	Dwarf_Die outer = dwarf_die(&dwarf, function), inner = dwarf_die(&dwarf, argument);
	struct located located;
	int ret = locate_argument(&outer, &inner, &located);

	if (ret)
		sprintf(shown, "%d", ret);
	else
		show_located(&located);
}

/* f(TYPE, long, double): the location of the first argument, and the registers of the others. */
static void add_functions(void)
{
	for (unsigned int i = 0; i < nr_passed; i++) {
		const uint32_t types[] = {passed[i].type, of_c.s64, of_c.f64};

		passed[i].function = dwarf_entry(&dwarf, DW_TAG_subprogram, true);
		for (unsigned int k = 0; k < 3; k++)
			passed[i].argument[k] = of(DW_TAG_formal_parameter, types[k]);
		dwarf_end_children(&dwarf);
		/* TYPE f(long) */
		passed[i].giver = of_with_children(DW_TAG_subprogram, passed[i].type);
		passed[i].is_claimed = of(DW_TAG_formal_parameter, of_c.s64);
		dwarf_end_children(&dwarf);
	}
}

static const struct {
	const char *name, *wanted;
} passed_as[] = {
		{"long", "value 2:5:0:0 | value 2:4:0:0 | value 3:0:0:0 | value 2:5:0:0 | value 2:0:0:0"},
		{"double", "value 3:0:0:0 | value 2:5:0:0 | value 3:1:0:0 | value 2:5:0:0 | value 3:0:0:0"},
		{"float", "value 3:0:0:0 | value 2:5:0:0 | value 3:1:0:0 | value 2:5:0:0 | value 3:0:0:0"},
		{"half", "value 3:0:0:0 | value 2:5:0:0 | value 3:1:0:0 | value 2:5:0:0 | value 3:0:0:0"},
		{"int128", "pieces; 0+8 value 2:5:0:0; 8+8 value 2:4:0:0 | value 2:1:0:0 | value 3:0:0:0 | value 2:5:0:0 | pieces; 0+8 value 2:0:0:0; 8+8 value 2:1:0:0"},
		{"long double", "memory 2:7:0:0 32:0:0:8 | value 2:5:0:0 | value 3:0:0:0 | value 2:5:0:0 | none"},
		{"binary128", "pieces; 0+8 value 3:0:0:0; 8+8 value 3:0:0:8 | value 2:5:0:0 | value 3:1:0:0 | value 2:5:0:0 | pieces; 0+8 value 3:0:0:0; 8+8 value 3:0:0:8"},
		{"complex float",
				"value 3:0:0:0 | value 2:5:0:0 | value 3:1:0:0 | value 2:5:0:0 | value 3:0:0:0"},
		{"complex double",
				"pieces; 0+8 value 3:0:0:0; 8+8 value 3:1:0:0 | value 2:5:0:0 | value 3:2:0:0 | value 2:5:0:0 | pieces; 0+8 value 3:0:0:0; 8+8 value 3:1:0:0"},
		{"complex long double",
				"memory 2:7:0:0 32:0:0:8 | value 2:5:0:0 | value 3:0:0:0 | value 2:5:0:0 | none"},
		{"nothing", "value | value 2:5:0:0 | value 3:0:0:0 | value 2:5:0:0 | value"},
		{"pointer", "value 2:5:0:0 | value 2:4:0:0 | value 3:0:0:0 | value 2:5:0:0 | value 2:0:0:0"},
		{"typedef", "value 3:0:0:0 | value 2:5:0:0 | value 3:1:0:0 | value 2:5:0:0 | value 3:0:0:0"},
		{"const", "value 2:5:0:0 | value 2:4:0:0 | value 3:0:0:0 | value 2:5:0:0 | value 2:0:0:0"},
		{"int, int", "value 2:5:0:0 | value 2:4:0:0 | value 3:0:0:0 | value 2:5:0:0 | value 2:0:0:0"},
		{"long, long", "pieces; 0+8 value 2:5:0:0; 8+8 value 2:4:0:0 | value 2:1:0:0 | value 3:0:0:0 | value 2:5:0:0 | pieces; 0+8 value 2:0:0:0; 8+8 value 2:1:0:0"},
		{"long, double",
				"pieces; 0+8 value 2:5:0:0; 8+8 value 3:0:0:0 | value 2:4:0:0 | value 3:1:0:0 | value 2:5:0:0 | pieces; 0+8 value 2:0:0:0; 8+8 value 3:0:0:0"},
		{"double, long",
				"pieces; 0+8 value 3:0:0:0; 8+8 value 2:5:0:0 | value 2:4:0:0 | value 3:1:0:0 | value 2:5:0:0 | pieces; 0+8 value 3:0:0:0; 8+8 value 2:0:0:0"},
		{"double, double",
				"pieces; 0+8 value 3:0:0:0; 8+8 value 3:1:0:0 | value 2:5:0:0 | value 3:2:0:0 | value 2:5:0:0 | pieces; 0+8 value 3:0:0:0; 8+8 value 3:1:0:0"},
		{"float, float",
				"value 3:0:0:0 | value 2:5:0:0 | value 3:1:0:0 | value 2:5:0:0 | value 3:0:0:0"},
		{"float, int", "value 2:5:0:0 | value 2:4:0:0 | value 3:0:0:0 | value 2:5:0:0 | value 2:0:0:0"},
		{"int, float", "value 2:5:0:0 | value 2:4:0:0 | value 3:0:0:0 | value 2:5:0:0 | value 2:0:0:0"},
		{"packed 1", "memory 2:7:0:0 32:0:0:8 | value 2:5:0:0 | value 3:0:0:0 | value 2:4:0:0 | memory 2:0:0:0"},
		{"packed 4", "memory 2:7:0:0 32:0:0:8 | value 2:5:0:0 | value 3:0:0:0 | value 2:4:0:0 | memory 2:0:0:0"},
		{"not packed", "pieces; 0+8 value 2:5:0:0; 8+8 value 2:4:0:0 | value 2:1:0:0 | value 3:0:0:0 | value 2:5:0:0 | pieces; 0+8 value 2:0:0:0; 8+8 value 2:1:0:0"},
		{"packed int", "memory 2:7:0:0 32:0:0:8 | value 2:5:0:0 | value 3:0:0:0 | value 2:4:0:0 | memory 2:0:0:0"},
		{"int128 in it",
				"pieces; 0+8 value 2:5:0:0; 8+8 value 2:4:0:0 | value 2:1:0:0 | value 3:0:0:0 | value 2:5:0:0 | pieces; 0+8 value 2:0:0:0; 8+8 value 2:1:0:0"},
		{"int128 not aligned",
				"memory 2:7:0:0 32:0:0:8 | value 2:5:0:0 | value 3:0:0:0 | value 2:4:0:0 | memory 2:0:0:0"},
		{"long double in it",
				"memory 2:7:0:0 32:0:0:8 | value 2:5:0:0 | value 3:0:0:0 | value 2:5:0:0 | none"},
		{"binary128 in it",
				"pieces; 0+8 value 3:0:0:0; 8+8 value 3:0:0:8 | value 2:5:0:0 | value 3:1:0:0 | value 2:5:0:0 | pieces; 0+8 value 3:0:0:0; 8+8 value 3:0:0:8"},
		{"complex float in it",
				"value 3:0:0:0 | value 2:5:0:0 | value 3:1:0:0 | value 2:5:0:0 | value 3:0:0:0"},
		{"24 bytes", "memory 2:7:0:0 32:0:0:8 | value 2:5:0:0 | value 3:0:0:0 | value 2:4:0:0 | memory 2:0:0:0"},
		{"9 bytes", "pieces; 0+8 value 2:5:0:0; 8+1 value 2:4:0:0 | value 2:1:0:0 | value 3:0:0:0 | value 2:5:0:0 | pieces; 0+8 value 2:0:0:0; 8+1 value 2:1:0:0"},
		{"structure in it",
				"pieces; 0+8 value 3:0:0:0; 8+8 value 2:5:0:0 | value 2:4:0:0 | value 3:1:0:0 | value 2:5:0:0 | pieces; 0+8 value 3:0:0:0; 8+8 value 2:0:0:0"},
		{"array of float",
				"pieces; 0+8 value 3:0:0:0; 8+8 value 3:1:0:0 | value 2:5:0:0 | value 3:2:0:0 | value 2:5:0:0 | pieces; 0+8 value 3:0:0:0; 8+8 value 3:1:0:0"},
		{"array of int and float",
				"pieces; 0+8 value 3:0:0:0; 8+8 value 2:5:0:0 | value 2:4:0:0 | value 3:1:0:0 | value 2:5:0:0 | pieces; 0+8 value 3:0:0:0; 8+8 value 2:0:0:0"},
		{"array of arrays",
				"pieces; 0+8 value 2:5:0:0; 8+8 value 2:4:0:0 | value 2:1:0:0 | value 3:0:0:0 | value 2:5:0:0 | pieces; 0+8 value 2:0:0:0; 8+8 value 2:1:0:0"},
		{"union", "value 2:5:0:0 | value 2:4:0:0 | value 3:0:0:0 | value 2:5:0:0 | value 2:0:0:0"},
		{"union of float",
				"value 3:0:0:0 | value 2:5:0:0 | value 3:1:0:0 | value 2:5:0:0 | value 3:0:0:0"},
		{"vector of 16 bytes",
				"pieces; 0+8 value 3:0:0:0; 8+8 value 3:0:0:8 | value 2:5:0:0 | value 3:1:0:0 | value 2:5:0:0 | pieces; 0+8 value 3:0:0:0; 8+8 value 3:0:0:8"},
		{"vector in it",
				"pieces; 0+8 value 3:0:0:0; 8+8 value 3:0:0:8 | value 2:5:0:0 | value 3:1:0:0 | value 2:5:0:0 | pieces; 0+8 value 3:0:0:0; 8+8 value 3:0:0:8"},
		{"vector of 32 bytes", "-95 | -95 | -95 | -95 | none"},
		{"destructor", "memory 2:5:0:0 | value 2:4:0:0 | value 3:0:0:0 | value 2:4:0:0 | memory 2:0:0:0"},
		{"part 1", "memory 2:5:0:0 | value 2:4:0:0 | value 3:0:0:0 | value 2:4:0:0 | memory 2:0:0:0"},
		{"part 2", "memory 2:5:0:0 | value 2:4:0:0 | value 3:0:0:0 | value 2:4:0:0 | memory 2:0:0:0"},
		{"part 3", "memory 2:5:0:0 | value 2:4:0:0 | value 3:0:0:0 | value 2:4:0:0 | memory 2:0:0:0"},
		{"part 4", "value 2:5:0:0 | value 2:4:0:0 | value 3:0:0:0 | value 2:5:0:0 | value 2:0:0:0"},
		{"artificial destructor",
				"value 2:5:0:0 | value 2:4:0:0 | value 3:0:0:0 | value 2:5:0:0 | value 2:0:0:0"},
		{"defaulted destructor",
				"value 2:5:0:0 | value 2:4:0:0 | value 3:0:0:0 | value 2:5:0:0 | value 2:0:0:0"},
		{"constructor", "value 2:5:0:0 | value 2:4:0:0 | value 3:0:0:0 | value 2:5:0:0 | value 2:0:0:0"},
		{"virtual table",
				"memory 2:5:0:0 | value 2:4:0:0 | value 3:0:0:0 | value 2:4:0:0 | memory 2:0:0:0"},
		{"static member",
				"value 2:5:0:0 | value 2:4:0:0 | value 3:0:0:0 | value 2:5:0:0 | value 2:0:0:0"},
		{"by reference",
				"memory 2:5:0:0 | value 2:4:0:0 | value 3:0:0:0 | value 2:4:0:0 | memory 2:0:0:0"},
		{"by value", "value 2:5:0:0 | value 2:4:0:0 | value 3:0:0:0 | value 2:5:0:0 | value 2:0:0:0"},
		{"bits", "pieces; 0+8 value 3:0:0:0; 8+8 value 2:5:0:0 | value 2:4:0:0 | value 3:1:0:0 | value 2:5:0:0 | pieces; 0+8 value 3:0:0:0; 8+8 value 2:0:0:0"},
		{"no size", "-95 | -95 | -95 | -95 | none"},
};

static void test_conventions(void **unused)
{
	uint32_t part, inner;

	(void)unused;
	differing = nr_passed = 0;
	begin(DW_LANG_C99, "test");
	pass("long", of_c.s64);
	pass("double", of_c.f64);
	pass("float", of_c.f32);
	pass("half", of_c.f16);
	pass("int128", of_c.s128);
	pass("long double", of_c.f80);
	pass("binary128", of_c.f128);
	pass("complex float", of_c.c32);
	pass("complex double", of_c.c64);
	pass("complex long double", of_c.c80);
	pass("nothing", of_c.byte0);
	pass("pointer", of_c.pointer);
	pass("typedef", of(DW_TAG_typedef, of_c.f64));
	pass("const", of(DW_TAG_const_type, of_c.s64));
	pass("int, int", structure("ii", 8, of_c.s32, of_c.s32, 4));
	pass("long, long", structure("ll", 16, of_c.s64, of_c.s64, 8));
	pass("long, double", structure("ld", 16, of_c.s64, of_c.f64, 8));
	pass("double, long", structure("dl", 16, of_c.f64, of_c.s64, 8));
	pass("double, double", structure("dd", 16, of_c.f64, of_c.f64, 8));
	pass("float, float", structure("ff", 8, of_c.f32, of_c.f32, 4));
	pass("float, int", structure("fi", 8, of_c.f32, of_c.s32, 4));
	pass("int, float", structure("if", 8, of_c.s32, of_c.f32, 4));
	pass("packed 1", structure("p", 9, of_c.s8, of_c.s64, 1));
	pass("packed 4", structure("p", 12, of_c.s32, of_c.s64, 4));
	pass("not packed", structure("p", 16, of_c.s8, of_c.s64, 8));
	pass("packed int", structure("p", 5, of_c.s8, of_c.s32, 1));
	pass("int128 in it", structure("w", 16, of_c.s128, 0, 0));
	pass("int128 not aligned", structure("w", 24, of_c.s64, of_c.s128, 8));
	pass("long double in it", structure("e", 16, of_c.f80, 0, 0));
	pass("binary128 in it", structure("q", 16, of_c.f128, 0, 0));
	pass("complex float in it", structure("c", 8, of_c.c32, 0, 0));
	pass("24 bytes", structure("big", 24, of_c.s64, of_c.s64, 8));
	pass("9 bytes", structure("nine", 9, of_c.s64, of_c.s8, 8));
	part = structure("part", 8, of_c.f32, of_c.f32, 4);
	pass("structure in it", structure("outer", 16, part, of_c.s64, 8));
	pass("array of float", structure("af", 16, array(of_c.f32, 4), 0, 0));
	pass("array of int and float", structure("aif", 16, array(of_c.f32, 2), of_c.s32, 8));
	inner = array(array(of_c.s8, 4), 4);
	pass("array of arrays", structure("aa", 16, inner, 0, 0));
	part = named(DW_TAG_union_type, "u", 8);
	member("f", of_c.f64, 0);
	member("i", of_c.s32, 0);
	dwarf_end_children(&dwarf);
	pass("union", part);
	part = named(DW_TAG_union_type, "u", 8);
	member("f", of_c.f64, 0);
	member("g", of_c.f32, 0);
	dwarf_end_children(&dwarf);
	pass("union of float", part);
	part = dwarf_entry(&dwarf, DW_TAG_array_type, true);
	dwarf_reference(&dwarf, DW_AT_type, of_c.f32);
	dwarf_flag(&dwarf, DW_AT_GNU_vector);
	(void)dwarf_entry(&dwarf, DW_TAG_subrange_type, false);
	dwarf_number(&dwarf, DW_AT_upper_bound, 3);
	dwarf_end_children(&dwarf);
	pass("vector of 16 bytes", part);
	pass("vector in it", structure("v", 16, part, 0, 0));
	part = dwarf_entry(&dwarf, DW_TAG_array_type, true);
	dwarf_reference(&dwarf, DW_AT_type, of_c.f32);
	dwarf_flag(&dwarf, DW_AT_GNU_vector);
	(void)dwarf_entry(&dwarf, DW_TAG_subrange_type, false);
	dwarf_number(&dwarf, DW_AT_upper_bound, 7);
	dwarf_end_children(&dwarf);
	pass("vector of 32 bytes", part);
	/*
	 * Objects with a destructor, a generated destructor or a virtual table, and objects derived
	 * from these.
	 */
	for (unsigned int i = 0; i < 6; i++) {
		static const char *const names[] = {"destructor", "artificial destructor",
				"defaulted destructor", "constructor", "virtual table",
				"static member"};

		part = named(DW_TAG_class_type, "class", 8);
		member(i == 4 ? "_vptr.class" : "a", of_c.s64, 0);
		if (i == 5) {
			(void)dwarf_entry(&dwarf, DW_TAG_member, false);
			dwarf_text(&dwarf, DW_AT_name, "s");
			dwarf_reference(&dwarf, DW_AT_type, of_c.f64);
			dwarf_flag(&dwarf, DW_AT_external);
		} else if (i != 4) {
			(void)dwarf_entry(&dwarf, DW_TAG_subprogram, false);
			dwarf_text(&dwarf, DW_AT_name, i == 3 ? "class" : "~class");
			if (i == 1)
				dwarf_flag(&dwarf, DW_AT_artificial);
			if (i == 2)
				dwarf_number(&dwarf, DW_AT_defaulted, 1);
		}
		dwarf_end_children(&dwarf);
		pass(names[i], part);
		if (i)
			continue;
		/* Members of members: the third level still counts. */
		for (unsigned int depth = 1; depth <= 4; depth++) {
			static const char *const levels[] = {
					"", "part 1", "part 2", "part 3", "part 4"};

			part = structure("holder", 8, part, 0, 0);
			pass(levels[depth], part);
		}
	}
	for (unsigned int convention = 4; convention <= 5; convention++) {
		part = named(DW_TAG_class_type, "told", 8);
		dwarf_number(&dwarf, DW_AT_calling_convention, convention);
		member("a", of_c.s64, 0);
		dwarf_end_children(&dwarf);
		pass(convention == 4 ? "by reference" : "by value", part);
	}
	/*
	 * A bit field of a number of 8 bytes, whose first bit is in the second half of the number.
	 */
	part = named(DW_TAG_structure_type, "bits", 16);
	member("a", of_c.f64, 0);
	(void)dwarf_entry(&dwarf, DW_TAG_member, false);
	dwarf_reference(&dwarf, DW_AT_type, of_c.s32);
	dwarf_number(&dwarf, DW_AT_bit_size, 3);
	dwarf_number(&dwarf, DW_AT_data_bit_offset, 8 * 14);
	dwarf_end_children(&dwarf);
	pass("bits", part);
	pass("no size", dwarf_entry(&dwarf, DW_TAG_structure_type, false));
	add_functions();
	dwarf_open(&dwarf);
	assert_int_equal(nr_passed, LENGTH(passed_as));
	for (unsigned int i = 0; i < nr_passed; i++) {
		char all[5 * 400] = "";
		Dwarf_Die type;

		for (unsigned int k = 0; k < 3; k++) {
			show_argument(passed[i].function, passed[i].argument[k]);
			strcat(strcat(all, shown), " | ");
		}
		show_argument(passed[i].giver, passed[i].is_claimed);
		strcat(strcat(all, shown), " | ");
		type = dwarf_die(&dwarf, passed[i].type);
		if (type_plain(&type)) {
			struct located located;

			if (locate_result(&type, &located))
				show_located(&located);
			else
				strcpy(shown, "none");
		}
		strcat(all, shown);
		strcpy(shown, all);
		expect(passed[i].name,
				!strcmp(passed_as[i].name, passed[i].name) ? passed_as[i].wanted
									   : "?");
	}
	dwarf_close(&dwarf);
	assert_int_equal(differing, 0);
}

/*
 * After six integers and eight floating-point numbers, arguments are on the stack, aligned by their
 * type.
 */
static void test_stack(void **unused)
{
	uint32_t function, arguments[20], align;
	unsigned int count = 0;
	static const char *const wanted[] = {"value 2:5:0:0", "value 2:4:0:0", "value 2:1:0:0",
			"value 2:2:0:0", "value 2:8:0:0", "memory 2:7:0:0 32:0:0:8",
			"value 2:9:0:0", "memory 2:7:0:0 32:0:0:24", "memory 2:7:0:0 32:0:0:40",
			"value 3:0:0:0", "value 3:1:0:0", "value 3:2:0:0", "value 3:3:0:0",
			"value 3:4:0:0", "value 3:5:0:0", "value 3:6:0:0",
			"memory 2:7:0:0 32:0:0:56", "value 3:7:0:0", "memory 2:7:0:0 32:0:0:72",
			"memory 2:7:0:0 32:0:0:80"};

	(void)unused;
	differing = 0;
	begin(DW_LANG_C99, "test");
	align = structure("dd", 16, of_c.f64, of_c.f64, 8);
	function = dwarf_entry(&dwarf, DW_TAG_subprogram, true);
	for (unsigned int i = 0; i < 5; i++)
		arguments[count++] = of(DW_TAG_formal_parameter, of_c.s64);
	/* This argument needs two registers. The one that is free is for the next argument. */
	arguments[count++] = of(DW_TAG_formal_parameter, of_c.s128);
	arguments[count++] = of(DW_TAG_formal_parameter, of_c.s32);
	arguments[count++] = of(DW_TAG_formal_parameter, of_c.s8);
	arguments[count++] = of(DW_TAG_formal_parameter, of_c.f80);
	for (unsigned int i = 0; i < 7; i++)
		arguments[count++] = of(DW_TAG_formal_parameter, of_c.f32);
	arguments[count++] = of(DW_TAG_formal_parameter, align);
	arguments[count++] = of(DW_TAG_formal_parameter, of_c.f64);
	arguments[count++] = of(DW_TAG_formal_parameter, of_c.f64);
	arguments[count++] = of(DW_TAG_formal_parameter, of_c.s64);
	dwarf_end_children(&dwarf);
	dwarf_open(&dwarf);
	for (unsigned int i = 0; i < count; i++) {
		char name[16];

		show_argument(function, arguments[i]);
		sprintf(name, "argument %u", i);
		expect(name, wanted[i]);
	}
	dwarf_close(&dwarf);
	assert_int_equal(differing, 0);
}

/* ---- Rust ---- */

static const struct {
	const char *name, *wanted;
} passed_by_rust[] = {
		{"number", "value 2:5:0:0 | value 2:4:0:0 | value 2:5:0:0 | value 2:0:0:0"},
		{"slice", "pieces; 0+8 value 2:5:0:0; 8+8 value 2:4:0:0 | value 2:1:0:0 | value 2:5:0:0 | pieces; 0+8 value 2:0:0:0; 8+8 value 2:1:0:0"},
		{"two numbers of 4", "-95 | -95 | value 2:5:0:0 | none"},
		{"two with a point", "-95 | -95 | value 2:5:0:0 | none"},
		{"24 bytes", "memory 2:5:0:0 | value 2:4:0:0 | value 2:4:0:0 | memory 2:0:0:0"},
		{"one in one", "value 3:0:0:0 | value 2:5:0:0 | value 2:5:0:0 | value 3:0:0:0"},
		{"one and nothing",
				"value 2:5:0:0 | value 2:4:0:0 | value 2:5:0:0 | value 2:0:0:0"},
		{"nothing", "value | value 2:5:0:0 | value 2:5:0:0 | value"},
		{"variants", "-95 | -95 | value 2:5:0:0 | none"},
		{"array", "-95 | -95 | value 2:5:0:0 | none"},
		{"three", "-95 | -95 | value 2:5:0:0 | none"},
		{"9 wrappers", "value 2:5:0:0 | value 2:4:0:0 | value 2:5:0:0 | value 2:0:0:0"},
		{"10 wrappers", "-95 | -95 | value 2:5:0:0 | none"},
};

static void show_passed(unsigned int index)
{
	Dwarf_Die type = dwarf_die(&dwarf, passed[index].type);
	struct located located;
	char all[4 * 400];

	show_argument(passed[index].function, passed[index].argument[0]);
	strcpy(all, shown);
	show_argument(passed[index].function, passed[index].argument[1]);
	strcat(strcat(all, " | "), shown);
	show_argument(passed[index].giver, passed[index].is_claimed);
	strcat(strcat(all, " | "), shown);
	if (type_plain(&type) && locate_result(&type, &located))
		show_located(&located);
	else
		strcpy(shown, "none");
	strcat(strcat(all, " | "), shown);
	strcpy(shown, all);
}

static void test_rust(void **unused)
{
	uint32_t nothing, part;

	(void)unused;
	differing = nr_passed = 0;
	begin(DW_LANG_Rust, "rustc");
	nothing = named(DW_TAG_structure_type, "()", 0);
	dwarf_end_children(&dwarf);
	pass("number", of_c.s32);
	pass("slice", structure("&[u8]", 16, of_c.pointer, of_c.u64, 8));
	pass("two numbers of 4", structure("Pair", 8, of_c.s32, of_c.s32, 4));
	pass("two with a point", structure("Point", 16, of_c.f64, of_c.f64, 8));
	pass("24 bytes", structure("String", 24, of_c.u64, of_c.u64, 8));
	pass("one in one", structure("Meters", 8, of_c.f64, 0, 0));
	pass("one and nothing", structure("Phantom", 8, of_c.u64, nothing, 8));
	pass("nothing", nothing);
	part = named(DW_TAG_structure_type, "Option", 16);
	(void)dwarf_entry(&dwarf, DW_TAG_variant_part, false);
	dwarf_end_children(&dwarf);
	pass("variants", part);
	pass("array", array(of_c.u8, 8));
	pass("three", part = named(DW_TAG_structure_type, "Three", 16));
	member("a", of_c.u64, 0);
	member("b", of_c.u32, 8);
	member("c", of_c.u32, 12);
	dwarf_end_children(&dwarf);
	part = of_c.u64;
	for (unsigned int depth = 1; depth <= 10; depth++) {
		part = structure("Outer", 8, part, 0, 0);
		if (depth >= 9)
			pass(depth == 9 ? "9 wrappers" : "10 wrappers", part);
	}
	add_functions();
	dwarf_open(&dwarf);
	assert_int_equal(nr_passed, LENGTH(passed_by_rust));
	for (unsigned int i = 0; i < nr_passed; i++) {
		show_passed(i);
		expect(passed[i].name, passed_by_rust[i].wanted);
	}
	dwarf_close(&dwarf);
	assert_int_equal(differing, 0);
}

/* ---- arguments whose address is relative to the frame ---- */

static void test_frames(void **unused)
{
	static const uint8_t cfa[] = {DW_OP_call_frame_cfa}, rbp[] = {DW_OP_reg6},
			     rsp[] = {DW_OP_reg7}, sum[] = {DW_OP_reg6, DW_OP_nop};
	static const struct {
		const uint8_t *base;
		size_t size;
		uint8_t location[3];
		const char *wanted;
	} cases[] = {
			{cfa, 1, {DW_OP_fbreg, 24}, "memory 2:7:0:0 32:0:0:32"},
			{cfa, 1, {DW_OP_fbreg, 0}, "memory 2:7:0:0 32:0:0:8"},
			{cfa, 1, {DW_OP_fbreg, 0x7f}, "value 2:5:0:0"},
			{rbp, 1, {DW_OP_fbreg, 24}, "memory 2:7:0:0 32:0:0:16"},
			{rbp, 1, {DW_OP_fbreg, 16}, "memory 2:7:0:0 32:0:0:8"},
			{rbp, 1, {DW_OP_fbreg, 15}, "value 2:5:0:0"},
			{rsp, 1, {DW_OP_fbreg, 24}, "value 2:5:0:0"},
			{sum, 2, {DW_OP_fbreg, 24}, "value 2:5:0:0"},
			{cfa, 1, {DW_OP_breg6, 24}, "value 2:5:0:0"},
			{NULL, 0, {DW_OP_fbreg, 24}, "value 2:5:0:0"},
			/* The stored value is the address of the argument. */
			{cfa, 1, {DW_OP_fbreg, 24, DW_OP_deref}, "memory 2:5:0:0"},
			{cfa, 1, {DW_OP_fbreg, 24, DW_OP_nop}, "value 2:5:0:0"},
	};
	uint32_t functions[LENGTH(cases)], arguments[LENGTH(cases)], alone, other;

	(void)unused;
	differing = 0;
	begin(DW_LANG_C99, "test");
	for (size_t i = 0; i < LENGTH(cases); i++) {
		functions[i] = dwarf_entry(&dwarf, DW_TAG_subprogram, true);
		if (cases[i].base)
			dwarf_expression(&dwarf, DW_AT_frame_base, cases[i].base, cases[i].size);
		arguments[i] = of(DW_TAG_formal_parameter, of_c.s64);
		dwarf_expression(&dwarf, DW_AT_location, cases[i].location,
				cases[i].location[2] ? 3 : 2);
		dwarf_end_children(&dwarf);
	}
	alone = dwarf_entry(&dwarf, DW_TAG_subprogram, false);
	other = of(DW_TAG_variable, of_c.s64);
	dwarf_open(&dwarf);
	for (size_t i = 0; i < LENGTH(cases); i++) {
		char name[16];

		show_argument(functions[i], arguments[i]);
		sprintf(name, "frame %zu", i);
		expect(name, cases[i].wanted);
	}
	/* An argument of another function; a function without arguments. */
	show_argument(functions[9], other);
	expect("other", "-95");
	show_argument(alone, other);
	expect("alone", "-95");
	dwarf_close(&dwarf);
	assert_int_equal(differing, 0);
}

/* ---- sizes ---- */

static void expect_size(const char *what, uint32_t type, bool known, uint64_t wanted)
{
	Dwarf_Die die = dwarf_die(&dwarf, type);
	uint64_t size = 12345;
	bool ok = type_plain(&die) && type_size(&die, &size);

	if (ok != known || (ok && size != wanted))
		fail_msg("%s: %d %llu", what, ok, (unsigned long long)size);
}

static uint32_t bounds(
		uint32_t element, unsigned int count, const int64_t lower[], const int64_t upper[])
{
	uint32_t offset = of_with_children(DW_TAG_array_type, element);

	for (unsigned int i = 0; i < count; i++) {
		(void)dwarf_entry(&dwarf, DW_TAG_subrange_type, false);
		if (lower[i] != INT64_MIN)
			dwarf_negative(&dwarf, DW_AT_lower_bound, lower[i]);
		if (upper[i] != INT64_MIN)
			dwarf_negative(&dwarf, DW_AT_upper_bound, upper[i]);
	}
	dwarf_end_children(&dwarf);
	return offset;
}

static void test_sizes(void **unused)
{
	static const int64_t none = INT64_MIN;
	uint32_t types[64], deep[12], huge, big, nine, enumeration;
	struct type_dimension dimensions[TYPE_DIMENSIONS_MAX];
	Dwarf_Die die;

	(void)unused;
	for (unsigned int language = 0; language < 2; language++) {
		begin(language ? DW_LANG_Fortran90 : DW_LANG_C99, "test");
		types[0] = of_c.s32;
		for (unsigned int i = 1; i < 40; i++)
			types[i] = of(i % 5 == 0                     ? DW_TAG_typedef
							: i % 5 == 1 ? DW_TAG_const_type
							: i % 5 == 2 ? DW_TAG_volatile_type
							: i % 5 == 3 ? DW_TAG_restrict_type
								     : DW_TAG_atomic_type,
					types[i - 1]);
		types[40] = of(DW_TAG_pointer_type, of_c.s8);
		types[41] = of(DW_TAG_reference_type, of_c.s8);
		types[42] = of(DW_TAG_rvalue_reference_type, of_c.s8);
		types[43] = of(DW_TAG_ptr_to_member_type, of_c.s8);
		types[44] = of(DW_TAG_subroutine_type, of_c.s8);
		types[45] = of(DW_TAG_typedef, of_c.byte0);
		types[46] = bounds(of_c.s16, 1, (const int64_t[]){none}, (const int64_t[]){6});
		types[47] = bounds(of_c.s16, 1, (const int64_t[]){-3}, (const int64_t[]){3});
		types[48] = bounds(of_c.s16, 1, (const int64_t[]){4}, (const int64_t[]){4});
		types[49] = bounds(of_c.s16, 1, (const int64_t[]){4}, (const int64_t[]){3});
		types[50] = bounds(of_c.s16, 1, (const int64_t[]){0}, (const int64_t[]){none});
		types[51] = bounds(of_c.s32, 3, (const int64_t[]){0, 0, 2},
				(const int64_t[]){1, 2, 8});
		types[52] = bounds(of_c.s32, 0, NULL, NULL);
		types[53] = bounds(
				of_c.s8, 1, (const int64_t[]){0}, (const int64_t[]){INT32_MAX - 1});
		types[54] = bounds(of_c.s8, 1, (const int64_t[]){0}, (const int64_t[]){INT32_MAX});
		types[55] = bounds(of_c.s16, 1, (const int64_t[]){0},
				(const int64_t[]){INT32_MAX / 2});
		big = base("big", DW_ATE_signed, INT32_MAX - 1);
		huge = base("huge", DW_ATE_signed, INT32_MAX);
		nine = bounds(of_c.s8, 9, (const int64_t[9]){0},
				(const int64_t[9]){1, 1, 1, 1, 1, 1, 1, 1, 1});
		enumeration = of(DW_TAG_enumeration_type, of_c.u16);
		deep[0] = of_c.s8;
		for (unsigned int i = 1; i < 12; i++)
			deep[i] = array(deep[i - 1], 2);
		dwarf_open(&dwarf);
		/* A chain of up to 31 names leads to the type. */
		expect_size("31 names", types[31], true, 4);
		expect_size("32 names", types[32], false, 0);
		for (unsigned int i = 40; i < 44; i++)
			expect_size("pointer", types[i], true, 8);
		expect_size("function", types[44], false, 0);
		expect_size("nothing", types[45], true, 0);
		expect_size("[7]", types[46], true, language ? 12 : 14);
		expect_size("[-3:3]", types[47], true, 14);
		expect_size("[4:4]", types[48], true, 2);
		expect_size("[4:3]", types[49], true, 0);
		expect_size("[]", types[50], true, 0);
		expect_size("[2][3][7]", types[51], true, 4 * 2 * 3 * 7);
		expect_size("no dimension", types[52], false, 0);
		expect_size("2 GiB - 1", types[53], true, INT32_MAX);
		expect_size("2 GiB", types[54], true, 0);
		expect_size("2 GiB of short", types[55], false, 0);
		expect_size("big", big, true, INT32_MAX - 1);
		expect_size("huge", huge, false, 0);
		expect_size("9 dimensions", nine, true, 256);
		expect_size("enumeration", enumeration, true, 2);
		expect_size("8 arrays", deep[8], true, 256);
		expect_size("9 arrays", deep[9], false, 0);
		die = dwarf_die(&dwarf, types[51]);
		assert_int_equal(type_dimensions(&die, dimensions), 3);
		assert_int_equal(dimensions[2].lower, 2);
		assert_int_equal(dimensions[2].count, 7);
		die = dwarf_die(&dwarf, types[46]);
		assert_int_equal(type_dimensions(&die, dimensions), 1);
		assert_int_equal(dimensions[0].lower, language);
		dwarf_close(&dwarf);
	}
}

/* ---- forms of numbers ---- */

/*
 * The name of a type distinguishes numbers of the same size. Compiler options define `long double`.
 */
static void test_number_forms(void **unused)
{
	static const struct {
		const char *name;
		uint64_t size;
		enum number_form form, with_option;
	} names[] = {{"__bf16", 2, NUMBER_BFLOAT, NUMBER_BFLOAT},
			{"std::bfloat16_t", 2, NUMBER_BFLOAT, NUMBER_BFLOAT},
			{"_Float16", 2, NUMBER_HALF, NUMBER_HALF},
			{"float", 4, NUMBER_PLAIN, NUMBER_PLAIN},
			{"double", 8, NUMBER_PLAIN, NUMBER_PLAIN},
			{"_Float128", 16, NUMBER_QUAD, NUMBER_QUAD},
			{"real(kind=16)", 16, NUMBER_QUAD, NUMBER_QUAD},
			{"real(16)", 16, NUMBER_QUAD, NUMBER_QUAD},
			{"real*16", 16, NUMBER_QUAD, NUMBER_QUAD},
			{"quad precision", 16, NUMBER_QUAD, NUMBER_QUAD},
			{"real(kind=10)", 16, NUMBER_EXTENDED, NUMBER_EXTENDED},
			{"long double", 16, NUMBER_EXTENDED, NUMBER_QUAD},
			{"_Float64x", 16, NUMBER_EXTENDED, NUMBER_EXTENDED},
			{"strange", 12, NUMBER_UNKNOWN, NUMBER_UNKNOWN}};
	uint32_t types[LENGTH(names)];

	(void)unused;
	for (unsigned int option = 0; option < 2; option++) {
		begin(DW_LANG_C99, option ? "GNU C17 12 -mlong-double-128 -O2" : "GNU C17 12 -O2");
		for (size_t i = 0; i < LENGTH(names); i++)
			types[i] = base(names[i].name, DW_ATE_float, names[i].size);
		dwarf_open(&dwarf);
		for (size_t i = 0; i < LENGTH(names); i++) {
			Dwarf_Die type = dwarf_die(&dwarf, types[i]);

			if (number_form(&type) != (option ? names[i].with_option : names[i].form))
				fail_msg("%s: %d", names[i].name, (int)number_form(&type));
		}
		dwarf_close(&dwarf);
	}
}

/* ---- labels ---- */

static void enumerator(const char *name, bool is_signed, int64_t value)
{
	(void)dwarf_entry(&dwarf, DW_TAG_enumerator, false);
	dwarf_text(&dwarf, DW_AT_name, name);
	if (is_signed) {
		dwarf_attribute(&dwarf, DW_AT_const_value, DW_FORM_sdata);
		dwarf_put(&dwarf, (const uint8_t[]){(uint8_t)(value & 0x7f)}, 1);
	} else {
		dwarf_number(&dwarf, DW_AT_const_value, (uint64_t)value);
	}
}

static void test_labels(void **unused)
{
	uint32_t plain, empty, many, variants;
	char long_name[PROBE_TABLE_LABEL_MAX + 2], *text;
	Dwarf_Die die;

	(void)unused;
	begin(DW_LANG_C99, "test");
	plain = named(DW_TAG_enumeration_type, "e", 4);
	enumerator("A", true, -3);
	enumerator("B", false, 200);
	enumerator("", false, 1);
	enumerator("C=D", false, 2);
	enumerator("E,F", false, 3);
	memset(long_name, 'L', sizeof(long_name));
	long_name[PROBE_TABLE_LABEL_MAX + 1] = '\0';
	enumerator(long_name, false, 4);
	(void)dwarf_entry(&dwarf, DW_TAG_enumerator, false);
	dwarf_text(&dwarf, DW_AT_name, "without");
	long_name[PROBE_TABLE_LABEL_MAX] = '\0';
	enumerator(long_name, false, 5);
	dwarf_end_children(&dwarf);
	empty = named(DW_TAG_enumeration_type, "n", 4);
	dwarf_end_children(&dwarf);
	/* The labels that fit into 4095 bytes: "v=1," repeatedly, without the last comma. */
	many = named(DW_TAG_enumeration_type, "m", 4);
	for (unsigned int i = 0; i < 1020; i++)
		enumerator("v", true, 1);
	dwarf_end_children(&dwarf);
	variants = dwarf_entry(&dwarf, DW_TAG_variant_part, true);
	for (unsigned int i = 0; i < 3; i++) {
		(void)dwarf_entry(&dwarf, DW_TAG_variant, i < 2);
		dwarf_number(&dwarf, DW_AT_discr_value, 7 + i);
		if (i == 2)
			continue;
		(void)dwarf_entry(&dwarf, DW_TAG_member, false);
		dwarf_text(&dwarf, DW_AT_name, i ? "Two" : "One");
		dwarf_end_children(&dwarf);
	}
	dwarf_end_children(&dwarf);
	dwarf_open(&dwarf);
	die = dwarf_die(&dwarf, plain);
	text = item_labels(&die);
	assert_non_null(text);
	sprintf(shown, "A=-3,B=200,%s=5", long_name);
	assert_string_equal(text, shown);
	free(text);
	die = dwarf_die(&dwarf, empty);
	text = item_labels(&die);
	assert_string_equal(text, "");
	free(text);
	die = dwarf_die(&dwarf, many);
	text = item_labels(&die);
	assert_int_equal(strlen(text), 4 * 1020 - 1);
	free(text);
	die = dwarf_die(&dwarf, variants);
	text = item_labels(&die);
	assert_string_equal(text, "One=7,Two=8");
	free(text);
	dwarf_close(&dwarf);
}

/* ---- locations of variables ---- */

struct location_case {
	const char *name;
	uint8_t bytes[28];
	size_t size; /* 0: the variable has no location */
	const char *wanted;
};

static const struct location_case locations[] = {
		{"register", BYTES(0x55), "value 2:5:0:0"},
		{"memory", BYTES(0x75, 8), "memory 2:5:0:0 32:0:0:8"},
		{"stack value", BYTES(0x75, 8, 0x9f), "value 2:5:0:0 32:0:0:8"},
		{"two registers", BYTES(0x55, 0x93, 8, 0x54, 0x93, 8),
				"pieces; 0+8 value 2:5:0:0; 8+8 value 2:4:0:0"},
		{"a missing piece", BYTES(0x55, 0x93, 4, 0x93, 3, 0x54, 0x93, 1),
				"pieces; 0+4 value 2:5:0:0; 4+3 nowhere; 7+1 value 2:4:0:0"},
		{"memory and a register", BYTES(0x75, 8, 0x93, 4, 0x54, 0x93, 4),
				"pieces; 0+4 memory 2:5:0:0 32:0:0:8; 4+4 value 2:4:0:0"},
		{"bits", BYTES(0x55, 0x9d, 16, 0, 0x54, 0x9d, 32, 0),
				"pieces; 0+2 value 2:5:0:0; 2+4 value 2:4:0:0"},
		{"12 bits", BYTES(0x55, 0x9d, 12, 0),
				"-95 parts of `v` are in different locations, and do not consist of whole bytes | request its members"},
		{"bits at bit 1", BYTES(0x55, 0x9d, 16, 1),
				"-95 parts of `v` are in different locations, and do not consist of whole bytes | request its members"},
		{"constant in a piece", BYTES(0x9e, 4, 1, 2, 3, 4, 0x93, 4),
				"pieces; 0+4 value 1:0:0:67305985"},
		{"8 bytes in a piece", BYTES(0x9e, 8, 1, 0, 0, 0, 0, 0, 0, 0x80, 0x93, 8),
				"pieces; 0+8 value 1:0:0:-9223372036854775807"},
		{"9 bytes in a piece", BYTES(0x9e, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0x93, 9),
				"pieces; 0+9 nowhere"},
		{"unknown operation in a piece", BYTES(0x97, 0x93, 8, 0x54, 0x93, 8),
				"pieces; 0+8 nowhere; 8+8 value 2:4:0:0"},
		{"constant", BYTES(0x9e, 3, 1, 2, 3), "value 1:0:0:197121"},
		{"constant of 8 bytes", BYTES(0x9e, 8, 1, 0, 0, 0, 0, 0, 0, 0), "value 1:0:0:1"},
		{"constant of 9 bytes", BYTES(0x9e, 9, 1, 0, 0, 0, 0, 0, 0, 0, 2),
				"pieces; 0+8 value 1:0:0:1; 8+1 value 1:0:0:2"},
		{"constant of 0 bytes", BYTES(0x9e, 0),
				"-95 `v` is a constant that is too large for a probe | "},
		{"entry value", BYTES(0xa3, 1, 0x55, 0x9f),
				"-2 the compiler has optimized `v` out at this location; its value is only known from rdi at the entry of the function | record it at the entry: `--function` instead of `--probe`"},
		{"thread", BYTES(9, 0xff, 0x9b),
				"-95 `v` is thread-local, and its file does not contain its location | record an argument or local variable that was computed from it"},
		{"unknown operation", BYTES(0x97),
				"-95 a probe cannot compute the address of `v` at this location: its location uses an unknown operation | write it as TYPE:NAME:ADDR"},
		{"nothing on the stack", BYTES(0x96),
				"-95 a probe cannot compute the address of `v` at this location | write it as TYPE:NAME:ADDR"},
		{"no location", {0}, 0,
				"-2 the compiler has optimized `v` out at this location | probe another location, or compile with -O0 or -Og"},
};

static void show_variable(uint32_t variable)
{
	struct locate_frame location = {.address = 0x1000};
	Dwarf_Die die = dwarf_die(&dwarf, variable);
	struct error error = {.text = ""};
	static struct located located;
	int ret = locate_variable(&location, &die, &located, &error);

	if (ret)
		sprintf(shown, "%d %s | %s", ret, error.text, error.hint);
	else
		show_located(&located);
}

static void test_locations(void **unused)
{
	uint32_t variables[LENGTH(locations)], pieces[2], blocks[2], number, bytes;
	uint8_t block[129] = {7}, expression[17 * 3];

	(void)unused;
	differing = 0;
	begin(DW_LANG_C99, "test");
	for (size_t i = 0; i < LENGTH(locations); i++) {
		variables[i] = dwarf_entry(&dwarf, DW_TAG_variable, false);
		dwarf_text(&dwarf, DW_AT_name, "v");
		if (locations[i].size)
			dwarf_expression(&dwarf, DW_AT_location, locations[i].bytes,
					locations[i].size);
	}
	for (unsigned int i = 0; i < 17; i++)
		memcpy(expression + 3 * i, (const uint8_t[]){0x55, 0x93, 1}, 3);
	block[120] = 9;
	/* 16 pieces, and one more; constants of 128 bytes, which are 16 pieces, and of 129. */
	for (unsigned int i = 0; i < 2; i++) {
		pieces[i] = dwarf_entry(&dwarf, DW_TAG_variable, false);
		dwarf_text(&dwarf, DW_AT_name, "v");
		dwarf_expression(&dwarf, DW_AT_location, expression, 3 * (16 + i));
		blocks[i] = dwarf_entry(&dwarf, DW_TAG_variable, false);
		dwarf_text(&dwarf, DW_AT_name, "v");
		dwarf_expression(&dwarf, DW_AT_const_value, block, 128 + i);
	}
	number = dwarf_entry(&dwarf, DW_TAG_variable, false);
	dwarf_negative(&dwarf, DW_AT_const_value, -77);
	bytes = dwarf_entry(&dwarf, DW_TAG_variable, false);
	dwarf_expression(&dwarf, DW_AT_const_value, block, 2);
	dwarf_open(&dwarf);
	for (size_t i = 0; i < LENGTH(locations); i++) {
		show_variable(variables[i]);
		expect(locations[i].name, locations[i].wanted);
	}
	show_variable(pieces[0]);
	expect("16 pieces",
			"pieces; 0+1 value 2:5:0:0; 1+1 value 2:5:0:0; 2+1 value 2:5:0:0; 3+1 value 2:5:0:0; 4+1 value 2:5:0:0; 5+1 value 2:5:0:0; 6+1 value 2:5:0:0; 7+1 value 2:5:0:0; 8+1 value 2:5:0:0; 9+1 value 2:5:0:0; 10+1 value 2:5:0:0; 11+1 value 2:5:0:0; 12+1 value 2:5:0:0; 13+1 value 2:5:0:0; 14+1 value 2:5:0:0; 15+1 value 2:5:0:0");
	show_variable(pieces[1]);
	expect("17 pieces", "-7 `v` is in too many pieces | probe another location");
	show_variable(blocks[0]);
	assert_int_equal(strncmp(shown, "pieces; 0+8 value 1:0:0:7; 8+8 value 1:0:0:0; ", 46), 0);
	assert_non_null(strstr(shown, "; 120+8 value 1:0:0:9"));
	show_variable(blocks[1]);
	expect("129 bytes",
			"-2 the compiler has optimized `v` out at this location | probe another location, or compile with -O0 or -Og");
	show_variable(number);
	expect("number", "value 1:0:0:-77");
	show_variable(bytes);
	expect("bytes", "value 1:0:0:7");
	dwarf_close(&dwarf);
	assert_int_equal(differing, 0);
}

static void test_pieces(void **unused)
{
	static struct located located;
	struct fetch fetch = {.nr_ops = 0};

	(void)unused;
	assert_int_equal(locate_piece(&located, LOCATED_VALUE, INT32_MAX, &fetch), 0);
	assert_int_equal(locate_piece(&located, LOCATED_NOWHERE, 0, &fetch), 0);
	assert_int_equal(locate_piece(&located, LOCATED_VALUE, 1, &fetch), -E2BIG);
	assert_int_equal(located.nr_pieces, 2);
	assert_int_equal(located.kind, LOCATED_PIECES);
	assert_int_equal(located.pieces[1].offset, INT32_MAX);
}

/* ---- values of items ---- */

/* The item is at rdi, or (`is_value`) it is in rax. */
static struct item make_item(const struct locate_frame *location, uint32_t type, bool is_value)
{
	struct item item = {.location = location, .type = dwarf_die(&dwarf, type)};

	item.where.kind = is_value ? LOCATED_VALUE : LOCATED_MEMORY;
	assert_int_equal(fetch_op(&item.where.fetch, PROBE_FETCH_REGISTER, is_value ? 0 : 5, 0, 0),
			0);
	assert_true(type_plain(&item.type));
	return item;
}

static void show_values(uint32_t type, bool is_value, size_t capacity)
{
	static const struct locate_frame location = {.address = 0x1000};
	struct item item = make_item(&location, type, is_value);
	struct error error = {.text = ""};
	static struct value values[80];
	bool left_out = false;
	size_t count = 0;
	int ret = item_values(&item, values, capacity, &count, &left_out, &error);

	*shown = '\0';
	if (ret) {
		snprintf(shown, sizeof(shown), "%d %s | %s", ret, error.text, error.hint);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		sprintf(shown + strlen(shown), "%s%.32s %u:%u:%u%s", i ? "; " : "", values[i].name,
				values[i].type, values[i].size, values[i].limit,
				values[i].guarded ? " guarded" : "");
		if (values[i].type != PROBE_FIELD_STRUCT)
			show_fetch(&values[i].fetch);
	}
	if (left_out)
		strcat(shown, " ...");
}

static void expect_values(const char *name, uint32_t type, bool is_value, const char *wanted)
{
	show_values(type, is_value, 64);
	expect(name, wanted);
}

/* A structure with so many members that are outside of it, and one of its own. */
static uint32_t with_static_members(unsigned int count)
{
	uint32_t offset = named(DW_TAG_structure_type, "many", 4);

	for (unsigned int i = 0; i < count; i++) {
		(void)dwarf_entry(&dwarf, DW_TAG_member, false);
		dwarf_flag(&dwarf, DW_AT_external);
	}
	member("own", of_c.s32, 0);
	dwarf_end_children(&dwarf);
	return offset;
}

static void test_values(void **unused)
{
	uint32_t bfloat, quad, decimal, complex_int, u128, deep[7], many[2], pair, small;

	(void)unused;
	differing = 0;
	begin(DW_LANG_C99, "test");
	bfloat = base("__bf16", DW_ATE_float, 2);
	quad = base("__float128", DW_ATE_float, 16);
	decimal = base("_Decimal64", DW_ATE_decimal_float, 8);
	complex_int = base("complex int", DW_ATE_lo_user, 8);
	u128 = base("unsigned __int128", DW_ATE_unsigned, 16);
	pair = structure("pair", 12, of_c.s32, of_c.f64, 4);
	small = structure("small", 2, of_c.u8, of_c.s8, 1);
	deep[0] = structure("deep", 4, of_c.s32, 0, 0);
	for (unsigned int i = 1; i < 7; i++)
		deep[i] = structure("deep", 4, deep[i - 1], 0, 0);
	many[0] = with_static_members(999);
	many[1] = with_static_members(1000);
	dwarf_open(&dwarf);
	expect_values("signed char", of_c.s8, false, " 2:1:0 2:5:0:0 34:0:1:0");
	expect_values("short", of_c.s16, false, " 2:2:0 2:5:0:0 34:0:2:0");
	expect_values("int", of_c.s32, false, " 2:4:0 2:5:0:0 34:0:4:0");
	expect_values("long", of_c.s64, false, " 2:8:0 2:5:0:0 34:0:8:0");
	expect_values("unsigned char", of_c.u8, false, " 1:1:0 2:5:0:0 34:0:1:0");
	expect_values("unsigned short", of_c.u16, false, " 1:2:0 2:5:0:0 34:0:2:0");
	expect_values("unsigned int", of_c.u32, false, " 1:4:0 2:5:0:0 34:0:4:0");
	expect_values("unsigned long", of_c.u64, false, " 1:8:0 2:5:0:0 34:0:8:0");
	expect_values("__int128", of_c.s128, false,
			" 2:16:0 2:5:0:0 34:0:8:0 38:0:0:0 2:5:0:0 32:0:0:8 34:0:8:0 44:0:0:0");
	expect_values("unsigned __int128", u128, false,
			" 1:16:0 2:5:0:0 34:0:8:0 38:0:0:0 2:5:0:0 32:0:0:8 34:0:8:0 44:0:0:0");
	expect_values("bool", of_c.flag, false, " 4:1:0 2:5:0:0 34:0:1:0");
	expect_values("_Float16", of_c.f16, false, " 5:4:0 2:5:0:0 34:0:2:0 36:0:16:0 43:0:0:0");
	expect_values("__bf16", bfloat, false,
			" 5:4:0 2:5:0:0 34:0:2:0 36:0:16:0 38:0:0:0 1:0:0:16 39:0:9:0");
	expect_values("float", of_c.f32, false, " 5:4:0 2:5:0:0 34:0:4:0");
	expect_values("double", of_c.f64, false, " 5:8:0 2:5:0:0 34:0:8:0");
	expect_values("long double", of_c.f80, false, " 5:8:0 2:5:0:0 41:0:0:0");
	expect_values("_Float128", of_c.f128, false,
			" 5:16:0 2:5:0:0 34:0:8:0 38:0:0:0 2:5:0:0 32:0:0:8 34:0:8:0 44:0:0:0");
	expect_values("__float128", quad, false,
			" 5:16:0 2:5:0:0 34:0:8:0 38:0:0:0 2:5:0:0 32:0:0:8 34:0:8:0 44:0:0:0");
	expect_values("complex float", of_c.c32, false,
			" 9:2:0; real 5:4:0 2:5:0:0 34:0:4:0; imag 5:4:0 2:5:0:0 32:0:0:4 34:0:4:0");
	expect_values("complex double", of_c.c64, false,
			" 9:2:0; real 5:8:0 2:5:0:0 34:0:8:0; imag 5:8:0 2:5:0:0 32:0:0:8 34:0:8:0");
	expect_values("complex long double", of_c.c80, false,
			" 9:2:0; real 5:8:0 2:5:0:0 41:0:0:0; imag 5:8:0 2:5:0:0 32:0:0:16 41:0:0:0");
	expect_values("_Decimal64", decimal, false,
			"-95 it is a _Decimal64, a decimal floating-point number, which a field cannot hold | request its bytes, as in `bytes(x, 8)`");
	expect_values("complex int", complex_int, false,
			"-95 it is a complex int, a number of a format that a field cannot hold | request its bytes, as in `bytes(x, 8)`");
	expect_values("pointer", of_c.pointer, false, " 3:8:0 2:5:0:0 34:0:8:0");
	expect_values("pair", pair, false,
			" 9:2:0; a 2:4:0 2:5:0:0 34:0:4:0; b 5:8:0 2:5:0:0 32:0:0:4 34:0:8:0");
	expect_values("4 structures", deep[3], false,
			" 9:4:0; a 9:3:0; a 9:2:0; a 9:1:0; a 2:4:0 2:5:0:0 34:0:4:0");
	expect_values("5 structures", deep[4], false,
			" 9:4:0; a 9:3:0; a 9:2:0; a 9:1:0; a 7:1:4 2:5:0:0");
	expect_values("7 structures", deep[6], false,
			" 9:4:0; a 9:3:0; a 9:2:0; a 9:1:0; a 7:1:4 2:5:0:0");
	expect_values("999 others", many[0], false, " 9:1:0; own 2:4:0 2:5:0:0 34:0:4:0");
	expect_values("1000 others", many[1], false, " 7:1:4 2:5:0:0");
	expect_values("int in rax", of_c.s32, true, " 2:4:0 2:0:0:0");
	expect_values("short in rax", of_c.s16, true, " 2:2:0 2:0:0:0");
	expect_values("float in rax", of_c.f32, true, " 5:4:0 2:0:0:0");
	expect_values("half in rax", of_c.f16, true, " 5:4:0 2:0:0:0 36:0:16:0 43:0:0:0");
	expect_values("bf16 in rax", bfloat, true,
			" 5:4:0 2:0:0:0 36:0:16:0 38:0:0:0 1:0:0:16 39:0:9:0");
	expect_values("long double in rax", of_c.f80, true,
			"-95 it is a long double in an x87 register, which probes do not save | request it at another location");
	expect_values("__int128 in rax", of_c.s128, true,
			"-2 the compiler has optimized this part of it out at this location | probe another location, or compile with -O0 or -Og");
	expect_values("small in rax", small, true,
			" 9:2:0; a 1:1:0 2:0:0:0; b 2:1:0 2:0:0:0 35:0:8:0");
	expect_values("complex float in rax", of_c.c32, true,
			" 9:2:0; real 5:4:0 2:0:0:0; imag 5:4:0 2:0:0:0 35:0:32:0");
	expect_values("decimal in rax", decimal, true,
			"-95 it is a _Decimal64, a decimal floating-point number, which a field cannot hold | leave it out");
	expect_values("pair in rax", pair, true, " 9:1:0; a 2:4:0 2:0:0:0 ...");
	dwarf_close(&dwarf);
	assert_int_equal(differing, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_expressions),
			cmocka_unit_test(test_long_expressions),
			cmocka_unit_test(test_conventions),
			cmocka_unit_test(test_stack),
			cmocka_unit_test(test_rust),
			cmocka_unit_test(test_frames),
			cmocka_unit_test(test_sizes),
			cmocka_unit_test(test_number_forms),
			cmocka_unit_test(test_labels),
			cmocka_unit_test(test_locations),
			cmocka_unit_test(test_pieces),
			cmocka_unit_test(test_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
