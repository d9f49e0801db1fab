/* SPDX-License-Identifier: MIT */
/*
 * Items in several pieces, and pointers that the compiler has removed: the operations of each
 * fetch, and each refusal. The test writes the debug information.
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
#include "probe/spec/item-steps.h"

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

static struct dwarf dwarf;
static char shown[4096];

static void show_item(int ret, const struct item *item, const struct error *error)
{
	static const char *const kinds[] = {"memory", "value", "pieces", "pointer", "nowhere"};

	if (ret) {
		snprintf(shown, sizeof(shown), "%d %s | %s", ret, error->text, error->hint);
		return;
	}
	sprintf(shown, "%s at %llu:", kinds[item->where.kind], (unsigned long long)item->at);
	for (uint32_t i = 0; item->where.kind != LOCATED_PIECES && i < item->where.fetch.nr_ops;
			i++)
		sprintf(shown + strlen(shown), " %u:%u:%u:%lld", item->where.fetch.ops[i].code,
				item->where.fetch.ops[i].reg, item->where.fetch.ops[i].size,
				(long long)item->where.fetch.ops[i].value);
}

/* ---- loads ---- */

struct load_case {
	const char *name;
	struct {
		enum located_kind kind;
		unsigned int size;
	} pieces[4]; /* piece i: of register i + 1, plus 100 if it is memory */
	unsigned int at, size;
	const char *wanted;
};

#define NOT_KEPT \
	"-2 the compiler has optimized this part of it out at this location | probe another location, or compile with -O0 or -Og"

static const struct load_case loads[] = {
		{"one piece", {{LOCATED_VALUE, 8}}, 0, 8, "value at 0: 2:1:0:0"},
		{"its upper half", {{LOCATED_VALUE, 8}}, 4, 4, "value at 0: 2:1:0:0 35:0:32:0"},
		{"beyond it", {{LOCATED_VALUE, 8}}, 5, 4, NOT_KEPT},
		{"behind it", {{LOCATED_VALUE, 8}}, 8, 1, NOT_KEPT},
		{"the second one", {{LOCATED_VALUE, 4}, {LOCATED_VALUE, 4}}, 4, 4,
				"value at 0: 2:2:0:0"},
		{"memory", {{LOCATED_VALUE, 4}, {LOCATED_MEMORY, 8}}, 4, 8,
				"value at 0: 2:2:0:0 32:0:0:100 34:0:8:0"},
		{"memory, from its byte 2 on", {{LOCATED_VALUE, 4}, {LOCATED_MEMORY, 8}}, 6, 2,
				"value at 0: 2:2:0:0 32:0:0:102 34:0:2:0"},
		/* Zero-extended; the second one is moved left by 32 bits, and both are combined. */
		{"two registers", {{LOCATED_VALUE, 4}, {LOCATED_VALUE, 4}}, 0, 8,
				"value at 0: 2:1:0:0 36:0:32:0 38:0:0:0 2:2:0:0 36:0:32:0 38:0:0:0 1:0:0:32 39:0:9:0 39:0:7:0"},
		{"a register and memory", {{LOCATED_VALUE, 4}, {LOCATED_MEMORY, 4}}, 0, 8,
				"value at 0: 2:1:0:0 36:0:32:0 38:0:0:0 2:2:0:0 32:0:0:100 34:0:4:0 36:0:32:0 38:0:0:0 1:0:0:32 39:0:9:0 39:0:7:0"},
		{"three, from byte 1 on",
				{{LOCATED_VALUE, 2}, {LOCATED_VALUE, 1}, {LOCATED_VALUE, 8}}, 1, 4,
				"value at 0: 2:1:0:0 35:0:8:0 36:0:8:0 38:0:0:0 2:2:0:0 36:0:8:0 38:0:0:0 1:0:0:8 39:0:9:0 39:0:7:0 38:0:0:0 2:3:0:0 36:0:16:0 38:0:0:0 1:0:0:16 39:0:9:0 39:0:7:0"},
		{"a missing part", {{LOCATED_VALUE, 4}, {LOCATED_NOWHERE, 4}}, 0, 8, NOT_KEPT},
		{"beside a missing part", {{LOCATED_NOWHERE, 4}, {LOCATED_VALUE, 4}}, 4, 4,
				"value at 0: 2:2:0:0"},
		{"a missing end", {{LOCATED_VALUE, 4}, {LOCATED_VALUE, 3}}, 0, 8, NOT_KEPT},
		{"3 bytes of memory", {{LOCATED_VALUE, 1}, {LOCATED_MEMORY, 3}}, 0, 4,
				"-95 its bytes are in several pieces | write it as TYPE:NAME:ADDR"},
};

static struct item make_pieces(const struct load_case *each)
{
	struct item item = {.at = each->at};

	for (unsigned int i = 0; i < LENGTH(each->pieces) && each->pieces[i].size; i++) {
		struct fetch fetch = {.nr_ops = 0};

		assert_int_equal(fetch_op(&fetch, PROBE_FETCH_REGISTER, i + 1, 0, 0), 0);
		if (each->pieces[i].kind == LOCATED_MEMORY)
			assert_int_equal(fetch_add(&fetch, 100), 0);
		assert_int_equal(locate_piece(&item.where, each->pieces[i].kind,
						 each->pieces[i].size, &fetch),
				0);
	}
	return item;
}

static void test_pieces(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < LENGTH(loads); i++) {
		struct error error = {.text = ""};
		struct item item = make_pieces(&loads[i]);
		int ret = item_load(&item, loads[i].size, &error);

		show_item(ret, &item, &error);
		if (strcmp(shown, loads[i].wanted) != 0)
			fail_msg("%s: %s instead of %s", loads[i].name, shown, loads[i].wanted);
	}
}

#define TOO_LONG "-7 reading it takes too many steps | "

/* Makes a fetch with so many operations. */
static void fill(struct fetch *fetch, unsigned int count)
{
	while (fetch->nr_ops < count)
		assert_int_equal(fetch_op(fetch, PROBE_FETCH_LOAD, 0, 8, 0), 0);
}

/* Loads that end with the last operation for which there is space, and with one more. */
static void test_long_fetches(void **unused)
{
	(void)unused;
	for (unsigned int more = 0; more < 2; more++) {
		struct error error = {.text = ""};
		struct item memory = {.where.kind = LOCATED_MEMORY},
			    value = {.where.kind = LOCATED_VALUE, .at = 2};
		struct item piece = make_pieces(&loads[0]), joined = make_pieces(&loads[7]),
			    left = make_pieces(&loads[7]);
		const char *wanted = more ? TOO_LONG : "";

		fill(&memory.where.fetch, PROBE_TABLE_OPS_MAX - 1 + more);
		show_item(item_load(&memory, 4, &error), &memory, &error);
		assert_string_equal(more ? shown : "", wanted);
		assert_int_equal(memory.where.fetch.nr_ops, PROBE_TABLE_OPS_MAX);
		fill(&value.where.fetch, PROBE_TABLE_OPS_MAX - 1 + more);
		show_item(item_load(&value, 4, &error), &value, &error);
		assert_string_equal(more ? shown : "", wanted);
		assert_int_equal(value.where.fetch.nr_ops, PROBE_TABLE_OPS_MAX);
		/* A part of a piece, which is shifted. */
		piece.at = 4;
		fill(&piece.where.pieces[0].fetch, PROBE_TABLE_OPS_MAX - 1 + more);
		show_item(item_load(&piece, 4, &error), &piece, &error);
		assert_string_equal(more ? shown : "", wanted);
		/*
		 * In addition to the operations of the first one, the second one and their
		 * combination take 8.
		 */
		fill(&left.where.pieces[0].fetch, 24 + more);
		show_item(item_load(&left, 8, &error), &left, &error);
		assert_string_equal(more ? shown : "", wanted);
		assert_true(more || left.where.fetch.nr_ops == PROBE_TABLE_OPS_MAX);
		fill(&joined.where.pieces[1].fetch, 24 + more);
		show_item(item_load(&joined, 8, &error), &joined, &error);
		assert_string_equal(more ? shown : "", wanted);
		assert_true(more || joined.where.fetch.nr_ops == PROBE_TABLE_OPS_MAX);
	}
}

/* ---- pointers that the compiler has removed ---- */

static uint32_t type_int, type_pointer;

static uint32_t variable(const char *name, uint32_t type, const uint8_t *bytes, size_t size)
{
	uint32_t offset = dwarf_entry(&dwarf, DW_TAG_variable, false);

	dwarf_text(&dwarf, DW_AT_name, name);
	dwarf_reference(&dwarf, DW_AT_type, type);
	if (size)
		dwarf_expression(&dwarf, DW_AT_location, bytes, size);
	return offset;
}

/* The expression of a pointer: a signed number in the fewest bytes. */
static size_t pointer_bytes(uint8_t bytes[5 + 10], uint32_t target, int offset)
{
	size_t size = 5;

	bytes[0] = DW_OP_implicit_pointer;
	memcpy(bytes + 1, &target, 4);
	for (; offset < -64 || offset >= 64; offset >>= 7)
		bytes[size++] = (uint8_t)(offset & 0x7f) | 0x80;
	bytes[size++] = (uint8_t)offset & 0x7f;
	return size;
}

static uint32_t pointer_to(uint32_t target, int offset)
{
	uint8_t bytes[5 + 10];
	size_t size = pointer_bytes(bytes, target, offset);

	return variable("p", type_pointer, bytes, size);
}

/* The same in a list whose first entries are for other addresses, or have another target. */
static uint32_t listed_pointer_to(uint32_t target, int offset)
{
	uint32_t entry = variable("p", type_pointer, NULL, 0);
	uint8_t bytes[5 + 10];
	size_t size;

	dwarf_list(&dwarf, DW_AT_location);
	size = pointer_bytes(bytes, target + 1, offset);
	dwarf_list_entry(&dwarf, 0x100, 0x1000, bytes, (uint16_t)size);
	size = pointer_bytes(bytes, target, offset + 1);
	dwarf_list_entry(&dwarf, 0xffe, 0x1000, bytes, (uint16_t)size);
	size = pointer_bytes(bytes, target, offset);
	dwarf_list_entry(&dwarf, 0x1000, 0x1001, bytes, (uint16_t)size);
	dwarf_end_list(&dwarf);
	return entry;
}

static void follow(uint32_t pointer)
{
	static const struct locate_frame location = {.address = 0x1000};
	struct item item = {.location = &location, .is_count = false};
	Dwarf_Die die = dwarf_die(&dwarf, pointer);
	struct error error = {.text = ""};
	int ret = locate_variable(&location, &die, &item.where, &error);

	if (!ret) {
		assert_int_equal(item.where.kind, LOCATED_POINTER);
		assert_true(type_of(&die, &item.type));
		item.at = 77;
		ret = item_dereference(&item, &error);
		if (!ret)
			assert_int_equal(dwarf_dieoffset(&item.type), type_int);
	}
	show_item(ret, &item, &error);
}

#define BESIDE "-95 it points next to a variable that the compiler keeps in registers | "

static void test_removed_pointers(void **unused)
{
	static const uint8_t of_register[] = {0x55}, of_memory[] = {0x75, 8};
	uint8_t longest[3 + 31];
	uint32_t in_register, in_memory, nowhere, full[2], to_register[3], to_memory[2], to_nowhere,
			to_full[4], to_pointer[2], to_none, far[4][2];
	static const int distances[] = {-64, -65, 64, -70000};

	(void)unused;
	memset(longest, 0x06, sizeof(longest));
	longest[0] = 0x75;
	longest[1] = 0;
	dwarf_begin_unit(&dwarf, DW_LANG_C99, "test");
	type_int = dwarf_entry(&dwarf, DW_TAG_base_type, false);
	dwarf_text(&dwarf, DW_AT_name, "int");
	dwarf_number(&dwarf, DW_AT_encoding, DW_ATE_signed);
	dwarf_number(&dwarf, DW_AT_byte_size, 4);
	type_pointer = dwarf_entry(&dwarf, DW_TAG_pointer_type, false);
	dwarf_reference(&dwarf, DW_AT_type, type_int);
	in_register = variable("r", type_int, of_register, sizeof(of_register));
	in_memory = variable("m", type_int, of_memory, sizeof(of_memory));
	nowhere = variable("n", type_int, NULL, 0);
	/* The address takes 31 and 32 operations. */
	full[0] = variable("f", type_int, longest, 2 + 30);
	full[1] = variable("g", type_int, longest, 2 + 31);
	for (int i = 0; i < 3; i++)
		to_register[i] = pointer_to(in_register, i == 0 ? 0 : i == 1 ? 3 : -1);
	for (int i = 0; i < 2; i++) {
		to_memory[i] = pointer_to(in_memory, i ? -8 : 12);
		to_full[i] = pointer_to(full[i], 0);
		to_full[2 + i] = pointer_to(full[i], 1);
	}
	to_nowhere = pointer_to(nowhere, 0);
	to_pointer[0] = pointer_to(to_register[1], 0);
	to_pointer[1] = pointer_to(to_register[1], 1);
	to_none = pointer_to(0xffff, 0);
	for (size_t i = 0; i < LENGTH(far); i++) {
		far[i][0] = pointer_to(in_memory, distances[i]);
		far[i][1] = listed_pointer_to(in_memory, distances[i]);
	}
	dwarf_open(&dwarf);
	follow(to_register[0]);
	assert_string_equal(shown, "value at 0: 2:5:0:0");
	follow(to_register[1]);
	assert_string_equal(shown, "value at 3: 2:5:0:0");
	follow(to_register[2]);
	assert_string_equal(shown, BESIDE);
	follow(to_memory[0]);
	assert_string_equal(shown, "memory at 0: 2:5:0:0 32:0:0:20");
	follow(to_memory[1]);
	assert_string_equal(shown, "memory at 0: 2:5:0:0 32:0:0:0");
	for (size_t i = 0; i < 2 * LENGTH(far); i++) {
		char wanted[64];

		(void)snprintf(wanted, sizeof(wanted), "memory at 0: 2:5:0:0 32:0:0:%d",
				distances[i / 2] + 8);
		follow(far[i / 2][i % 2]);
		assert_string_equal(shown, wanted);
	}
	follow(to_nowhere);
	assert_string_equal(shown,
			"-2 the compiler has optimized `n` out at this location | probe another location, or compile with -O0 or -Og");
	follow(to_full[0]);
	assert_int_equal(strncmp(shown, "memory at 0: 2:5:0:0 34", 23), 0);
	follow(to_full[1]);
	assert_int_equal(strncmp(shown, "memory at 0: 2:5:0:0 34", 23), 0);
	follow(to_full[2]);
	assert_non_null(strstr(shown, " 34:0:8:0 32:0:0:1"));
	follow(to_full[3]);
	assert_string_equal(shown, TOO_LONG);
	follow(to_pointer[0]);
	assert_string_equal(shown, "pointer at 0:");
	follow(to_pointer[1]);
	assert_string_equal(shown, BESIDE);
	follow(to_none);
	assert_string_equal(shown,
			"-2 the compiler has optimized `p` out at this location | probe another location, or compile with -O0 or -Og");
	dwarf_close(&dwarf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces),
			cmocka_unit_test(test_long_fetches),
			cmocka_unit_test(test_removed_pointers)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
