/* SPDX-License-Identifier: MIT */
/*
 * Linked filters, operation by operation and move by move. The items file has lines "= EXPRESSION",
 * each followed by the operations that the expression is linked to, or the reason why it never
 * matches. With another argument, the test prints them instead of comparing.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "filter/link.h"
#include "sample.h"

#define DIRECT SIDE_TYPE_GATHER_ACCESS_DIRECT
#define POINTER SIDE_TYPE_GATHER_ACCESS_POINTER

/* ---- an event with the types that the sample lacks ---- */

static enum side_visitor_status visit_nothing(
		const struct side_tracer_visitor_ctx *tracer, int *count)
{
	(void)tracer;
	(void)count;
	return SIDE_VISITOR_STATUS_OK;
}

static side_define_struct(
		pair, side_field_list(side_field_u16("left"), side_field_string("right")));
static side_define_array(three_pairs, side_elem(side_type_struct(pair)), 3);
static side_define_array(five_words, side_elem(side_type_u16()), 5);
static side_define_array(four_texts, side_elem(side_type_string()), 4);
static side_define_vla(vla_of_s8, side_elem(side_type_s8()), side_length(side_type_u32()));
static side_define_vla(vla_of_texts, side_elem(side_type_string()), side_length(side_type_u32()));
side_define_static_vla_visitor(visited_pairs, side_elem(side_type_struct(pair)),
		side_length(side_type_u32()), visit_nothing, int);
static side_define_optional(maybe_pair, side_elem(side_type_struct(pair)));
static side_define_enum(levels,
		side_enum_mapping_list(side_enum_mapping_range("low", -9, -2),
				side_enum_mapping_value("low", 7),
				side_enum_mapping_range("wrong", 5, 4),
				side_enum_mapping_value("wrong", 3),
				side_enum_mapping_range("high", 100, 255),
				side_enum_mapping_range("huge", 256, 70000),
				side_enum_mapping_range("all", INT64_MIN, INT64_MAX)));
static side_define_enum_bitmap(bits,
		side_enum_bitmap_mapping_list(side_enum_bitmap_mapping_range("one", 1, 3),
				side_enum_bitmap_mapping_range("wrong", 6, 5),
				side_enum_bitmap_mapping_range("wrong", 4, 4),
				side_enum_bitmap_mapping_range("one", 9, 11)));
static side_define_variant(choice, side_type_s32(),
		side_option_list(side_option_range(-4, -2, side_type_struct(pair)),
				side_option(6, side_type_u8()),
				side_option_range(8, 9, side_type_array(three_pairs))));
static side_define_variant(no_choice, side_type_u16(), side_option_list());
static side_define_struct(in_memory,
		side_field_list(side_field_gather_signed_integer("number", 6, 4, 3, 20, DIRECT),
				side_field_gather_string("text", 16, POINTER)));
static side_define_struct(memory,
		side_field_list(side_field_gather_bool("truth", 3, 2, 5, 7, DIRECT),
				side_field_gather_bool("far_truth", 4, 4, 0, 0, POINTER),
				side_field_gather_byte("byte", 9, DIRECT),
				side_field_gather_byte("far_byte", 10, POINTER),
				side_field_gather_float("half", 12, 8, DIRECT),
				side_field_gather_float("far_half", 14, 4, POINTER),
				side_field_gather_float_be("foreign_half", 15, 4, DIRECT),
				side_field_gather_unsigned_integer("number", 17, 4, 5, 9, DIRECT),
				side_field_gather_signed_integer(
						"far_number", 18, 2, 0, 0, POINTER),
				side_field_gather_unsigned_integer_be(
						"foreign", 19, 8, 0, 0, DIRECT),
				side_field_gather_pointer("address", 21, DIRECT),
				side_field_gather_pointer("far_address", 22, POINTER),
				side_field_gather_string("text", 23, DIRECT),
				side_field_gather_string("far_text", 24, POINTER),
				side_field_gather_string16("text16", 25, DIRECT),
				side_field_gather_string32_be("text32", 26, POINTER),
				side_field_gather_enum("level", levels,
						side_elem(side_type_gather_signed_integer(
								27, 2, 0, 0, DIRECT))),
				side_field_gather_enum("far_level", levels,
						side_elem(side_type_gather_unsigned_integer(
								28, 1, 0, 0, POINTER))),
				side_field_gather_struct("inner", in_memory, 29, 40, DIRECT),
				side_field_gather_struct("far_inner", in_memory, 30, 40, POINTER),
				side_field_gather_array("inners",
						side_elem(side_type_gather_struct(
								in_memory, 2, 44, DIRECT)),
						7, 31, DIRECT),
				side_field_gather_array("far_inners",
						side_elem(side_type_gather_struct(
								in_memory, 3, 44, POINTER)),
						6, 32, POINTER)));

#define LENGTH_OF(offset, size) \
	side_length(side_type_gather_unsigned_integer(offset, size, 0, 0, DIRECT))
#define BOOLS side_elem(side_type_gather_bool(1, 2, 0, 0, DIRECT))
#define FAR_BOOLS side_elem(side_type_gather_bool(1, 2, 0, 0, POINTER))
#define BYTES side_elem(side_type_gather_byte(0, DIRECT))
#define FLOATS side_elem(side_type_gather_float(5, 8, DIRECT))
#define TEXTS side_elem(side_type_gather_string(6, DIRECT))
#define FAR_TEXTS side_elem(side_type_gather_string(7, POINTER))
#define TEXTS16 side_elem(side_type_gather_string16(8, DIRECT))
#define LEVELS                           \
	side_elem(side_type_gather_enum( \
			levels, side_elem(side_type_gather_unsigned_integer(4, 8, 0, 0, DIRECT))))
#define ADDRESSES side_elem(side_type_gather_pointer(2, DIRECT))
#define ROWS                                                                                    \
	side_elem(side_type_gather_array(                                                       \
			side_elem(side_type_gather_unsigned_integer(1, 4, 0, 0, DIRECT)), 3, 2, \
			DIRECT))
#define FAR_ROWS side_elem(side_type_gather_array(BYTES, 3, 2, POINTER))
#define TEXT_ROWS side_elem(side_type_gather_array(TEXTS, 5, 9, DIRECT))
#define TEXT_TABLES side_elem(side_type_gather_array(TEXT_ROWS, 4, 10, DIRECT))

side_static_event(wide, "shop", "wide", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_null("nil"), side_field_bool("truth"),
				side_field_byte("byte"), side_field_u8("u8"), side_field_s8("s8"),
				side_field_u16("u16"), side_field_s16("s16"), side_field_u32("u32"),
				side_field_s32("s32"), side_field_u64("u64"), side_field_s64("s64"),
				side_field_u16_be("foreign"), side_field_pointer("address"),
				side_field_float_binary32("single"),
				side_field_float_binary64("double"),
				side_field_float_binary64_be("foreign_double"),
				side_field_string("text"), side_field_string16("text16"),
				side_field_string32_be("text32"), side_field_u128("u128"),
				side_field_struct("pair", pair),
				side_field_array("pairs", three_pairs),
				side_field_vla("numbers", vla_of_s8),
				side_field_vla("texts", vla_of_texts),
				side_field_vla_visitor("visited", visited_pairs),
				side_field_optional("maybe", maybe_pair),
				side_field_variant("choice", choice),
				side_field_variant("no_choice", no_choice),
				side_field_enum("level", &levels, side_elem(side_type_u8())),
				side_field_enum("level8", &levels, side_elem(side_type_s8())),
				side_field_enum("level32", &levels, side_elem(side_type_s32())),
				side_field_enum("level64", &levels, side_elem(side_type_u64())),
				side_field_enum_bitmap("bits", &bits, side_elem(side_type_u32())),
				side_field_enum_bitmap("bits_array", &bits,
						side_elem(side_type_array(five_words))),
				side_field_enum_bitmap("bits_texts", &bits,
						side_elem(side_type_array(four_texts))),
				side_field_enum_bitmap("bits_vla", &bits,
						side_elem(side_type_vla(vla_of_s8))),
				side_field_dynamic("anything"),
				side_field_gather_struct("memory", memory, 77, 88, DIRECT),
				side_field_gather_struct("far_memory", memory, 78, 88, POINTER),
				side_field_gather_unsigned_integer("number", 5, 2, 3, 11, POINTER),
				side_field_gather_enum("gathered_level", levels,
						side_elem(side_type_gather_signed_integer(
								13, 4, 0, 0, DIRECT))),
				side_field_gather_array("bools", BOOLS, 5, 41, DIRECT),
				side_field_gather_array("far_bools", FAR_BOOLS, 5, 42, POINTER),
				side_field_gather_array("bytes", BYTES, 5, 43, DIRECT),
				side_field_gather_array("floats", FLOATS, 5, 44, DIRECT),
				side_field_gather_array("gathered_texts", TEXTS, 5, 45, DIRECT),
				side_field_gather_array("far_texts", FAR_TEXTS, 5, 46, DIRECT),
				side_field_gather_array("texts16", TEXTS16, 5, 47, DIRECT),
				side_field_gather_array("levels", LEVELS, 5, 48, DIRECT),
				side_field_gather_array("addresses", ADDRESSES, 5, 49, DIRECT),
				side_field_gather_array("rows", ROWS, 5, 50, DIRECT),
				side_field_gather_array("far_rows", FAR_ROWS, 5, 51, DIRECT),
				side_field_gather_array("text_tables", TEXT_TABLES, 3, 52, POINTER),
				side_field_gather_vla(
						"bool_vla", BOOLS, 61, DIRECT, LENGTH_OF(71, 2)),
				side_field_gather_vla(
						"text_vla", TEXTS, 62, POINTER, LENGTH_OF(72, 4)),
				side_field_gather_vla("table_vla", TEXT_TABLES, 63, DIRECT,
						LENGTH_OF(73, 8)),
				side_field_gather_vla(
						"row_vla", ROWS, 64, POINTER, LENGTH_OF(74, 1))));

/* ---- a linked filter as text ---- */

static FILE *out;

static void print_text(const struct filter_body *body, uint64_t offset, uint32_t size)
{
	const char *text = filter_at(body, offset);

	CHECK(!text[size]);
	fprintf(out, " \"%.*s\"@%" PRIu64, (int)size, text, offset);
}

static void print_field(const char *name, int64_t value)
{
	if (value)
		fprintf(out, " %s %" PRId64, name, value);
}

static void print_move(const struct filter_body *body, const struct filter_move *move)
{
	const struct filter_range *range;
	bool has_ranges = move->code == FILTER_LEAF_BITMAP || move->flags & FILTER_LABELS;

	CHECK(!move->padding);
	fprintf(out, "   move %u", move->code);
	print_field("size", move->size);
	print_field("bits", move->bits);
	print_field("shift", move->shift);
	print_field("flags", move->flags);
	print_field("item", move->item);
	print_field("label", move->label);
	print_field("index", move->index);
	print_field("count", move->count);
	print_field("skip", move->skip);
	if (move->label == SIDE_TYPE_VLA_VISITOR)
		fprintf(out, " visitor %d", move->visitor != NULL);
	else if (move->code == FILTER_MOVE_NAME)
		print_text(body, move->offset, move->count);
	else
		print_field("at", move->begin);
	if (!has_ranges) {
		print_field("to", move->end);
		fputc('\n', out);
		return;
	}
	range = filter_at(body, move->ranges);
	fprintf(out, " ranges@%" PRIu64, move->ranges);
	for (uint32_t i = 0; i < move->count; i++)
		fprintf(out, " %" PRId64 "..%" PRId64, (int64_t)range[i].begin,
				(int64_t)range[i].end);
	fputc('\n', out);
}

/* The moves from one on, to a leaf or to all options of a variant. */
static void print_moves(const struct filter_body *body, const struct filter_move *move)
{
	for (;; move++) {
		unsigned int code = move->code;

		print_move(body, move);
		if (code == FILTER_MOVE_DYNAMIC || code == FILTER_MOVE_VARIADIC) {
			for (uint32_t i = 1; i <= move->count; i++)
				print_move(body, move + i);
			return;
		}
		if (code == FILTER_MOVE_MEMORY_VLA) {
			print_move(body, ++move);
		} else if (code == FILTER_MOVE_VARIANT) {
			print_move(body, ++move);
			for (move++; move->code == FILTER_MOVE_OPTION; move += move->skip) {
				print_move(body, move);
				print_moves(body, move + 1);
			}
			CHECK(move->code == FILTER_MOVE_NOTHING);
			print_move(body, move);
			return;
		} else if (code >= FILTER_LEAF_INTEGER || code == FILTER_MOVE_NOTHING) {
			return;
		}
	}
}

static bool ends(unsigned int code)
{
	return code == FILTER_OP_ACCEPT || code == FILTER_OP_REJECT || code == FILTER_OP_RETURN;
}

static void print_constant(const struct filter_op *op)
{
	fprintf(out, " kind %u unsigned %d value %" PRIu64, op->kind, op->is_unsigned, op->value);
}

static void print_op(const struct filter_body *body, const struct filter_op *op)
{
	fprintf(out, "  op %u", op->code);
	print_field("inner", op->inner);
	print_field("goal", op->goal);
	print_field("negated", op->negated);
	print_field("yes", op->yes);
	print_field("no", op->no);
	switch (op->code) {
	case FILTER_OP_RANGE_1:
	case FILTER_OP_RANGE_2:
	case FILTER_OP_RANGE_4:
	case FILTER_OP_RANGE_8:
		fprintf(out, " label %u mask %" PRIx64 " low %" PRIx64 " span %" PRIx64 " cell %zu",
				op->label, op->mask, op->low, op->span,
				op->arg / sizeof(struct side_arg));
		CHECK(op->arg % sizeof(struct side_arg) == 0);
		break;
	case FILTER_OP_LOAD_COMPARE: print_constant(op); __attribute__((fallthrough));
	case FILTER_OP_LOAD:
	case FILTER_OP_LOAD_TEST:
		if (op->goal == FILTER_GOAL_TEXT)
			print_text(body, op->text, op->size);
		fprintf(out, " glob %d argument %d moves@%u\n", op->is_glob, (int)op->arg_index,
				op->moves);
		print_moves(body, filter_at(body, op->moves));
		return;
	case FILTER_OP_CONSTANT: print_constant(op); break;
	case FILTER_OP_TEXT:
		print_text(body, op->text, op->size);
		fprintf(out, " glob %d", op->is_glob);
		break;
	case FILTER_OP_CONTEXT: fprintf(out, " context %d", op->index); break;
	default: break;
	}
	fputc('\n', out);
}

static void print_body(const struct filter_body *body)
{
	uint32_t last = body->begin; /* the last operation that a jump leads to */

	fprintf(out, " arguments %u begin %u bound %d\n", body->nr_arguments, body->begin,
			body->is_bound);
	for (uint32_t i = 0;; i++) {
		const struct filter_op *op = &body->ops[i];
		uint32_t most = op->yes > op->no ? op->yes : op->no;

		CHECK(op->yes % sizeof(*op) == 0 && op->no % sizeof(*op) == 0);
		print_op(body, op);
		if (i + most / sizeof(*op) > last)
			last = i + (uint32_t)(most / sizeof(*op));
		if (ends(op->code) && i >= last)
			return;
	}
}

static void print_filter(const char *text, const struct side_event_description *description)
{
	struct filter_error error = {.column = 0};
	struct filter *filter;
	size_t size;
	ssize_t need;
	void *program, *space;
	int ret;

	if (filter_parse(text, &program, &size, &error)) {
		fprintf(out, " refused at %u: %s\n", error.column, error.text);
		return;
	}
	need = filter_link_size(program, size, description, &sample_names, &error);
	space = calloc(1, need > 0 ? (size_t)need : 1 << 16);
	ret = filter_link(program, size, description, &sample_names, space,
			need > 0 ? (size_t)need : 1 << 16, &filter, &error);
	if (ret) {
		CHECK(ret == (int)need && !filter);
		fprintf(out, " never: %d at %u: %s", ret, error.column, error.text);
		fprintf(out, *error.hint ? " (%s)\n" : "\n", error.hint);
	} else {
		CHECK(need > 8 && (void *)filter == space);
		fprintf(out, " size %zd", need);
		print_body(space);
		CHECK(filter_link(program, size, description, &sample_names, space,
				      (size_t)need - 8, &filter, &error) == -ENOSPC);
		CHECK(!filter && !strcmp(error.text, "the memory for the filter is too small"));
	}
	free(space);
	free(program);
}

/* ---- the items ---- */

static char *items, *printed;

static char *read_items(const char *path)
{
	FILE *file = fopen(path, "re");
	size_t size = 0, capacity = 4 << 20;
	char *text = calloc(1, capacity);

	CHECK(file && text);
	size = fread(text, 1, capacity - 1, file);
	CHECK(size && feof(file));
	(void)fclose(file);
	return text;
}

/* Expressions after a "!" are those of the sample event. */
static void print_all(const struct side_event_description *sample, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *variadic, void *priv, void *caller)
{
	char *copy = strdup(items), *remainder = NULL;
	size_t size;

	(void)args;
	(void)variadic;
	(void)priv;
	(void)caller;
	out = open_memstream(&printed, &size);
	CHECK(copy && out);
	for (char *line = strtok_r(copy, "\n", &remainder); line;
			line = strtok_r(NULL, "\n", &remainder)) {
		if (strncmp(line, "= ", 2) && strncmp(line, "! ", 2))
			continue;
		fprintf(out, "%s\n", line);
		print_filter(line + 2, *line == '!' ? sample : &wide);
	}
	(void)fclose(out);
	free(copy);
}

static int compare(void)
{
	const char *line = items;
	size_t at = 0;

	while (items[at] && items[at] == printed[at]) {
		if (items[at++] == '\n')
			line = items + at;
	}
	if (items[at] == printed[at])
		return 0;
	(void)fprintf(stderr, "expected: %.*s\ngot:      %s\n", (int)strcspn(line, "\n"), line,
			printed + (line - items));
	return 1;
}

int main(int argc, char **argv)
{
	int ret;

	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ || sizeof(void *) != 8)
		return 77; /* The items have offsets. */
	CHECK(argc == 2 || argc == 3);
	items = read_items(argv[1]);
	sample_fire(print_all, NULL);
	if (argc == 3)
		(void)fputs(printed, stdout);
	ret = argc == 2 && compare();
	free(printed);
	free(items);
	return ret;
}
