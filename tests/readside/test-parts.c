/* SPDX-License-Identifier: MIT */
/*
 * The parts of readside with complete outputs: listings of events of all types in each format,
 * findings and differences with their limits, files and directories, options, and what one file may
 * contain.
 */
#include "programs/readside/check.h"
#include "programs/readside/form.h"
#include "programs/readside/diff.h"
#include "programs/readside/options.h"
/* The limits of one file are counted in static functions. */
#include "programs/readside/source.c"

#include "../check.h"

#define SIDE_STATIC_CHECK_DISABLE
#define main types_main
#include "types.c"
#undef main

#include <limits.h>
#include <malloc.h>

/* ---- outputs ---- */

static char *output;
static size_t output_size;

static FILE *begin_output(void)
{
	FILE *out = open_memstream(&output, &output_size);

	CHECK(out);
	return out;
}

/* Whether the output is this text. Clears it. */
static bool is_output(FILE *out, const char *expected)
{
	bool same;

	CHECK(!fclose(out));
	same = !strcmp(output, expected);
	if (!same)
		fprintf(stderr, "found:\n%s\nexpected:\n%s\n", output, expected);
	free(output);
	return same;
}

/* Replaces standard error. */
static FILE *messages;
static FILE *standard_error;

static void begin_messages(void)
{
	standard_error = stderr;
	messages = stderr = begin_output();
}

static bool is_messages(const char *expected)
{
	stderr = standard_error;
	return is_output(messages, expected);
}

/* ---- listings ---- */

static char *file_text(const char *directory, const char *name)
{
	char path[PATH_MAX], *text = calloc(1, 65536);
	FILE *file;

	CHECK(text);
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "r");
	CHECK(file);
	CHECK(fread(text, 1, 65535, file) < 65535);
	fclose(file);
	return text;
}

static struct readside_event event_of(
		const struct side_event_description *description, const char *path)
{
	return (struct readside_event){.path = path,
			.address = 0x1000,
			.description = description,
			.state = {.there = true,
					.readable = true,
					.version = 0,
					.description = 0x1000},
			.struct_size = sizeof(*description),
			.pointer_size = sizeof(void *)};
}

/* Two files; the second event of the first file has no state. */
static void list_all(struct readside_listing *listing)
{
	const struct side_event_description *all[] = {
			&scalars, &orders, &attributes, &compounds, &gathers, &hidden, &exported};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct readside_event event =
				event_of(all[i], i < 5 ? "one\nfile" : "lib.a(two.o)");

		event.state.there = i != 1;
		event.state.version = (uint32_t)i;
		listing_event(listing, &event);
	}
	listing_close(listing);
}

static void test_listings(const char *directory)
{
	static const char *const names[] = {
			"expected.json", "expected.text", "expected.s-expr", "expected.lines"};

	for (enum form_kind kind = FORM_JSON; kind <= FORM_EXACT; kind++) {
		char *expected = file_text(directory, names[kind]);
		FILE *out = begin_output();

		list_all(listing_open(out, kind));
		CHECK(is_output(out, expected));
		free(expected);
	}
	/* Without events. */
	for (enum form_kind kind = FORM_JSON; kind <= FORM_EXACT; kind++) {
		FILE *out = begin_output();

		listing_close(listing_open(out, kind));
		CHECK(is_output(out, kind == FORM_JSON ? "[]\n" : ""));
	}
}

static void test_scalars(void)
{
	static const struct {
		struct visit_value value;
		const char *text;
	} cases[] = {
			{{.kind = VISIT_BOOL, .lo = 0, .hi = 1}, "true"},
			{{.kind = VISIT_BOOL, .lo = 2}, "true"},
			{{.kind = VISIT_BOOL}, "false"},
			{{.kind = VISIT_UNSIGNED,
					 .size = 8,
					 .bits = 64,
					 .lo = 18446744073709551615u},
					"18446744073709551615"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		FILE *out = begin_output();

		form_scalar(out, &cases[i].value);
		CHECK(is_output(out, cases[i].text));
	}
}

/* ---- texts ---- */

static void test_texts(void)
{
	FILE *out = begin_output();
	const struct visit_node option = {.role = VISIT_ROLE_OPTION, .index = 7, .up = NULL};
	const struct visit_node field = {.role = VISIT_ROLE_FIELD, .name = "list"};
	const struct visit_node element = {.role = VISIT_ROLE_ELEMENT, .up = &field};
	const struct visit_node inner = {.role = VISIT_ROLE_FIELD, .name = "name", .up = &element};
	const struct visit_node length = {.role = VISIT_ROLE_LENGTH, .up = &inner};
	const struct visit_node selector = {.role = VISIT_ROLE_SELECTOR, .up = &field};
	const struct visit_node options = {.role = VISIT_ROLE_OPTION, .index = 7, .up = &field};
	const struct visit_node nameless = {.role = VISIT_ROLE_FIELD, .up = &field};
	char offset[64];

	/*
	 * Control characters of ASCII and of UTF-8; the first and the last one, and their
	 * neighbours. Bytes that are not UTF-8 are escaped as well.
	 */
	put_printable(out, "\x1f \x7e\x7f\x80\xc2\x7f\xc2\x80\xc2\x9f\xc2\xa0\xc3\x80\xc2", 16);
	putc('\n', out);
	put_at_field(out, "a\tb", "x\ny");
	put_at_field(out, "", "text");
	put_hint(out, "do\rit");
	put_json_text(out, "q\"\\\n");
	CHECK(is_output(out,
			"\\x1f \x7e\\x7f\\x80\\xc2\\x7f\\xc2\\x80\\xc2\\x9f\xc2\xa0\xc3\x80\\xc2\n"
			"field a\\x09b: x\\x0ay\ntext\nhint: do\\x0dit\n\"q\\\"\\\\\\u000a\""));
	CHECK(!strcmp(location_text(NULL, offset, sizeof(offset)), ""));
	CHECK(!strcmp(location_text(&length, offset, sizeof(offset)), "list[].name.length"));
	CHECK(!strcmp(location_text(&selector, offset, sizeof(offset)), "list.selector"));
	CHECK(!strcmp(location_text(&options, offset, sizeof(offset)), "list.option 7"));
	CHECK(!strcmp(location_text(&option, offset, sizeof(offset)), ".option 7"));
	CHECK(!strcmp(location_text(&nameless, offset, sizeof(offset)), "list."));
	/* Truncated at each size. */
	for (size_t size = 1; size <= 19; size++) {
		memset(offset, 'x', sizeof(offset));
		location_text(&length, offset, size);
		CHECK(strlen(offset) == size - 1 &&
				!strncmp(offset, "list[].name.length", size - 1) &&
				offset[size] == 'x');
	}
	begin_messages();
	message_error("first %d", 1);
	message_error_hint("second", "%s", "a\nb");
	message_error_hint(NULL, "third");
	message_verbose("nothing");
	output_set_verbose(true);
	message_verbose("fourth");
	output_set_verbose(false);
	CHECK(is_messages(
			"readside: first 1\nreadside: a\\x0ab\nhint: second\nreadside: third\nreadside: fourth\n"));
}

static void test_text_units(void)
{
	static const uint16_t euro[] = {0x20ac, 0};
	size_t size = 99;
	char *text = form_utf8(&(struct visit_text){(const unsigned char *)euro, 2,
					       SIDE_TYPE_BYTE_ORDER_HOST},
			&size);

	CHECK(size == 3 && !strcmp(text, "\xe2\x82\xac"));
	free(text);
	/* The block is large enough for the NUL: one byte less is a smaller block. */
	text = form_utf8(&(struct visit_text){(const unsigned char *)"24 letters and the NUL..", 1,
					 SIDE_TYPE_BYTE_ORDER_HOST},
			&size);
	CHECK(size == 24 && strlen(text) == 24 && malloc_usable_size(text) >= 25);
	free(text);
	CHECK(!form_utf8(&(struct visit_text){NULL, 1, SIDE_TYPE_BYTE_ORDER_HOST}, &size) && !size);
}

/* ---- lists of names ---- */

static char *copy_of(const char *text)
{
	char *copy = strdup(text);

	CHECK(copy);
	return copy;
}

static void test_names(void)
{
	static const char *const texts[] = {"b", "a", "b", "", "ab", "b"};
	static const uint32_t order[] = {3, 1, 4, 0, 2, 5};
	struct diff_names names;

	CHECK(names_start(&names, 6));
	for (size_t i = 0; i < 6; i++)
		names_add(&names, copy_of(texts[i]), strlen(texts[i]));
	CHECK(names.nr == 6);
	names_sort(&names);
	for (size_t i = 0; i < 6; i++)
		CHECK(names.names[i].index == order[i]);
	CHECK(names_find(&names, "b", 1)->index == 0 && names_find(&names, "a", 1)->index == 1 &&
			names_find(&names, "ab", 2)->index == 4);
	CHECK(names_find(&names, "", 0)->index == 3 && !names_find(&names, "c", 1) &&
			!names_find(&names, "aa", 2) && !names_find(&names, "bb", 2));
	for (unsigned int round = 0; round < 2; round++) {
		CHECK(names_pair(&names, "b", 1)->index == 0 &&
				names_pair(&names, "b", 1)->index == 2);
		CHECK(names_pair(&names, "a", 1)->index == 1 && !names_pair(&names, "a", 1));
		CHECK(names_pair(&names, "b", 1)->index == 5 && !names_pair(&names, "b", 1) &&
				!names_pair(&names, "c", 1));
		names_unpair(&names);
	}
	names_free(&names);
	CHECK(names_start(&names, 0) && !names.nr);
	names_add(&names, NULL, 5);
	CHECK(names.nr == 1 && !names.names[0].size && names_find(&names, "", 0) == names.names);
	names_free(&names);
}

/* ---- findings ---- */

static struct check *check_to(FILE *out, bool json)
{
	struct check *check = check_open(out, json, false);

	CHECK(check);
	return check;
}

/* An enumeration with this number of empty labels, which has a finding each. */
static const struct side_event_description *empty_labels(unsigned int nr)
{
	static struct side_enum_mapping mappings[128];
	static struct side_enum_mappings table;
	static struct side_event_field fields[1];
	static struct side_event_description event;

	for (unsigned int i = 0; i < nr; i++) {
		const struct side_enum_mapping mapping = side_enum_mapping_value("", i);

		mappings[i] = mapping;
	}
	side_ptr_set(table.mappings.elements, mappings);
	table.mappings.length = nr;
	/* Its field called enum. */
	fields[0] = *side_array_at(&compounds.fields, 8);
	side_ptr_set(fields[0].side_type.u.side_enum.mappings, &table);
	event = hidden;
	side_ptr_set(event.fields.elements, fields);
	event.fields.length = 1;
	return &event;
}

/*
 * The description of a wrong size and 50 empty labels have 100 findings, 51 empty labels have 101:
 * all but the first have the text of another one.
 */
static void test_findings(void)
{
	for (unsigned int nr = 100; nr <= 101; nr++) {
		FILE *out = begin_output();
		struct check *check = check_to(out, false);
		struct readside_event event = event_of(empty_labels(nr - 50), "file");
		unsigned int lines = 0;
		char last[128];

		event.struct_size += nr == 100;
		check_event(check, &event);
		CHECK(check_close(check) == READSIDE_DONE);
		fflush(out);
		for (const char *at = output; (at = strchr(at, '\n')); at++)
			lines++;
		snprintf(last, sizeof(last), "\n1 event, 0 errors, %u warnings\n", nr);
		/* A finding and its hint, and the line about those that are not printed. */
		CHECK(lines == 2 * 100 + (nr > 100) + 1);
		CHECK(strstr(output, last));
		CHECK(!strstr(output, "file: warning: other:hidden: more findings are counted, but not printed\n") ==
				(nr == 100));
		fclose(out);
		free(output);
	}
}

static void test_states(void)
{
	struct readside_event event = event_of(&hidden, "file");
	FILE *out = begin_output();
	struct check *check = check_to(out, false);
	const struct image_state good = event.state;

	check_event(check, &event);
	event.struct_size++;
	check_event(check, &event);
	event.struct_size--;
	event.path = "other";
	event.state.there = false;
	check_event(check, &event);
	event.state = good;
	event.state.readable = false;
	check_event(check, &event);
	event.state.version = 7;
	check_event(check, &event);
	event.state = good;
	event.state.description = 0x2000;
	check_event(check, &event);
	event.state = good;
	event.state.enabled = 1;
	check_event(check, &event);
	event.state = good;
	event.state.nr_callbacks = 1;
	event.path = "third";
	check_event(check, &event);
	check_report_call(check, &event, "f", "call");
	check_broken(check,
			&(struct broken){.path = "p",
					.kind = BROKEN_EVENT,
					.provider = "a",
					.event = "b",
					.sentence = "no",
					.hint = "yes"});
	CHECK(check_close(check) == READSIDE_FOUND);
	CHECK(is_output(out,
			"file: warning: other:hidden: the description has 113 bytes, not 112: it is newer, or damaged\n"
			"hint: set struct_size to the offset of its member end\n"
			"file: warning: other:hidden: another event of the file has the same name: a reader of a trace cannot tell them apart\n"
			"other: error: other:hidden: it has no state, so no tracer can enable it\n"
			"hint: give it a struct side_event_state_0\n"
			"other: error: other:hidden: its state cannot be read\n"
			"hint: point at a struct side_event_state_0\n"
			"other: error: other:hidden: its state has the unknown version 7\n"
			"hint: use a newer libside\n"
			"other: error: other:hidden: its state belongs to another description (at 0x2000, not 0x1000)\n"
			"hint: give each event a state of its own\n"
			"other: error: other:hidden: it is enabled although no tracer enabled it\n"
			"hint: its state must begin with zeros\n"
			"other: warning: other:hidden: another event of the file has the same name: a reader of a trace cannot tell them apart\n"
			"third: error: other:hidden: it is enabled although no tracer enabled it\n"
			"hint: its state must begin with zeros\n"
			"third: error: other:hidden: field f: call\n"
			"p: error: a:b: no\n"
			"hint: yes\n"
			"8 events, 8 errors, 3 warnings\n"));
}

/* The status, in both formats. */
static void test_check_status(void)
{
	struct readside_event event = event_of(&hidden, "file");
	FILE *out = begin_output();
	struct check *check = check_open(out, true, true);

	CHECK(check_close(check) == READSIDE_DONE);
	check = check_open(out, true, true);
	event.struct_size = 1;
	check_event(check, &event);
	CHECK(check_close(check) == READSIDE_FOUND);
	check = check_open(out, true, false);
	check_broken(check,
			&(struct broken){.path = "p\"",
					.kind = BROKEN_EVENT,
					.provider = "a",
					.event = "b",
					.sentence = "no"});
	CHECK(check_close(check) == READSIDE_FOUND);
	check = check_open(out, false, false);
	begin_messages();
	check_broken(check,
			&(struct broken){.path = "p", .kind = BROKEN_FOREIGN, .sentence = "no"});
	CHECK(is_messages("readside: cannot check p: no\n"));
	CHECK(check_close(check) == READSIDE_TROUBLE);
	CHECK(is_output(out,
			"{\"schema\":1,\"type\":\"summary\",\"events\":0,\"errors\":0,\"warnings\":0}\n"
			"{\"schema\":1,\"type\":\"problem\",\"severity\":\"warning\",\"source\":\"file\",\"event\":\"other:hidden\",\"field\":\"\","
			"\"text\":\"the description has 1 bytes, not 112: it is newer, or damaged\",\"hint\":\"set struct_size to the offset of its member end\"}\n"
			"{\"schema\":1,\"type\":\"summary\",\"events\":1,\"errors\":0,\"warnings\":1}\n"
			"{\"schema\":1,\"type\":\"problem\",\"severity\":\"error\",\"source\":\"p\\\"\",\"event\":\"a:b\",\"field\":\"\",\"text\":\"no\"}\n"
			"{\"schema\":1,\"type\":\"summary\",\"events\":0,\"errors\":1,\"warnings\":0}\n"
			"0 events, 0 errors, 0 warnings\n"));
}

/* ---- differences ---- */

static side_define_struct(struct_before, side_field_list(side_field_u8("a"), side_field_u8("b")));
static side_define_struct(struct_after,
		side_field_list(side_field_u8("b"), side_field_u16("a"), side_field_u8("c")));
static side_define_array(array_before, side_elem(side_type_u16()), 3);
static side_define_array(array_after, side_elem(side_type_s8()), 4);
static side_define_variant(variant_before, side_type_u8(),
		side_option_list(side_option(0, side_type_u8()),
				side_option_range(1, 5, side_type_string()),
				side_option(9, side_type_u8())));
static side_define_variant(variant_after, side_type_u16(),
		side_option_list(side_option_range(1, 4, side_type_string()),
				side_option(5, side_type_null()), side_option(0, side_type_s8()),
				side_option(9, side_type_u16()), side_option(10, side_type_u8())));
static side_define_enum(enum_before,
		side_enum_mapping_list(side_enum_mapping_value("red", 1),
				side_enum_mapping_value("red", 2),
				side_enum_mapping_range("green", 3, 4),
				side_enum_mapping_value("gone", 5)));
static side_define_enum(enum_after,
		side_enum_mapping_list(side_enum_mapping_value("new", 7),
				side_enum_mapping_range("green", 3, 5),
				side_enum_mapping_value("red", 2),
				side_enum_mapping_value("red", 1)));
static side_define_optional(optional_before, side_elem(side_type_u32()));
static side_define_optional(optional_after, side_elem(side_type_u64()));
static side_define_vla(vla_before, side_elem(side_type_u8()), side_length(side_type_u8()));

side_static_event(before, "diff", "one", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_struct("struct", struct_before),
				side_field_array("array", array_before),
				side_field_variant("variant", variant_before),
				side_field_enum("enum", &enum_before, side_elem(side_type_u8())),
				side_field_optional("optional", optional_before),
				side_field_float_binary64("f1"), side_field_float_binary32("f2"),
				side_field_float_binary32("f3"), side_field_u16("same"),
				side_field_s16("to_unsigned"), side_field_u16("to_signed"),
				side_field_u16("to_signed_wider"), side_field_u32("narrower"),
				side_field_u8("wider"), side_field_u8("text"),
				side_field_u8("maybe"), side_field_vla("list", vla_before),
				side_field_gather_unsigned_integer("gathered", 0, 4, 0, 5, DIRECT),
				side_field_gather_struct("gathered_struct", gathered_struct, 0, 32,
						POINTER)),
		side_attr_list(side_attr("k", side_attr_u8(1))));
side_static_event(after, "diff", "one", SIDE_LOGLEVEL_ERR,
		side_field_list(side_field_struct("struct", struct_after),
				side_field_array("array", array_after),
				side_field_variant("variant", variant_after),
				side_field_enum("enum", &enum_after, side_elem(side_type_u16())),
				side_field_optional("optional", optional_after),
				side_field_float_binary32("f1"), side_field_float_binary64("f2"),
				side_field_float_binary32("f3"), side_field_u16_be("same"),
				side_field_u32("to_unsigned"), side_field_s16("to_signed"),
				side_field_s32("to_signed_wider"), side_field_u16("narrower"),
				side_field_u16("wider"), side_field_string("text"),
				side_field_optional("maybe", optional_before),
				side_field_vla_visitor("list", nothing_visitor),
				side_field_gather_unsigned_integer("gathered", 0, 4, 0, 6, DIRECT),
				side_field_gather_struct(
						"gathered_struct", gathered_struct, 8, 32, DIRECT)),
		side_attr_list(side_attr("k", side_attr_u8(2))));

static void add_to(struct diff_side *side, const struct side_event_description *description)
{
	struct readside_event event = event_of(description, "file");

	CHECK(!diff_add(side, &event));
}

/* All differences of one event, then events that were added or removed. */
static void test_differences(void)
{
	struct diff_side old = {0}, new = {0};
	FILE *out = begin_output();

	add_to(&old, &before);
	add_to(&new, &after);
	CHECK(diff_show(out, false, &old, &new) == READSIDE_FOUND);
	CHECK(is_output(out,
			"diff:one: compatible: its log level was INFO, is ERR\n"
			"diff:one: compatible: the attributes have changed\n"
			"diff:one: compatible: field struct.a: was u8, is u16, which can hold all its values\n"
			"diff:one: compatible: field struct.c: the field is new\n"
			"diff:one: compatible: field struct: fields are in another order\n"
			"diff:one: not compatible: field array: had 3 elements, has 4\n"
			"diff:one: not compatible: field array[]: was u16, is s8, which cannot hold its largest values\n"
			"diff:one: compatible: field variant.selector: was u8, is u16, which can hold all its values\n"
			"diff:one: not compatible: field variant.option 0: was u8, is s8, which cannot hold its largest values\n"
			"diff:one: not compatible: field variant.option 1: the option of selectors 1 to 5 was removed or split\n"
			"diff:one: compatible: field variant.option 2: was u8, is u16, which can hold all its values\n"
			"diff:one: compatible: field variant: it has more options\n"
			"diff:one: not compatible: field enum: the label \"gone\" was removed\n"
			"diff:one: not compatible: field enum: the label \"green\" has other values\n"
			"diff:one: compatible: field enum: the label \"new\" is new\n"
			"diff:one: compatible: field enum: was u8, is u16, which can hold all its values\n"
			"diff:one: compatible: field optional: was u32, is u64, which can hold all its values\n"
			"diff:one: not compatible: field f1: was f64, is f32, which is less exact\n"
			"diff:one: compatible: field f2: was f32, is f64, which can hold all its values\n"
			"diff:one: not compatible: field to_unsigned: was s16, is u32, which has no negative numbers\n"
			"diff:one: not compatible: field to_signed: was u16, is s16, which cannot hold its largest values\n"
			"diff:one: compatible: field to_signed_wider: was u16, is s32, which can hold all its values\n"
			"diff:one: not compatible: field narrower: was u32, is u16, which is narrower\n"
			"diff:one: compatible: field wider: was u8, is u16, which can hold all its values\n"
			"diff:one: not compatible: field text: was u8, is string\n"
			"diff:one: not compatible: field maybe: was u8, is u32?: it can be absent\n"
			"diff:one: compatible: field list: the attributes have changed\n"
			"diff:one: compatible: field list[]: was u8, is u32, which can hold all its values\n"
			"diff:one: compatible: field gathered: was u32:5, is u32:6, which can hold all its values\n"
			"not compatible: 0 unchanged, 0 changed compatibly, 1 changed incompatibly, 0 added, 0 removed\n"));
	diff_free(&old);
	diff_free(&new);
	/* Sorted by name; those of one name keep their order. */
	old = new = (struct diff_side){0};
	add_to(&old, &scalars);
	add_to(&old, &hidden);
	add_to(&old, &before);
	add_to(&old, &before);
	add_to(&new, &compounds);
	add_to(&new, &before);
	add_to(&new, &hidden);
	out = begin_output();
	CHECK(diff_show(out, false, &old, &new) == READSIDE_FOUND);
	CHECK(is_output(out,
			"diff:one: not compatible: the event was removed\n"
			"types:compounds: compatible: the event is new\n"
			"types:scalars: not compatible: the event was removed\n"
			"not compatible: 2 unchanged, 0 changed compatibly, 0 changed incompatibly, 1 added, 2 removed\n"));
	out = begin_output();
	diff_free(&old);
	old = (struct diff_side){0};
	add_to(&old, &hidden);
	CHECK(diff_show(out, true, &old, &new) == READSIDE_DONE);
	CHECK(is_output(out,
			"{\"schema\":1,\"type\":\"change\",\"event\":\"diff:one\",\"field\":\"\",\"compatible\":true,\"text\":\"the event is new\"}\n"
			"{\"schema\":1,\"type\":\"change\",\"event\":\"types:compounds\",\"field\":\"\",\"compatible\":true,\"text\":\"the event is new\"}\n"
			"{\"schema\":1,\"type\":\"summary\",\"compatible\":true,\"unchanged\":1,\"changed\":0,\"incompatible\":0,\"added\":2,\"removed\":0}\n"));
	diff_free(&old);
	diff_free(&new);
}

/* ---- more types ---- */

static side_define_optional(inner_optional, side_elem(side_type_u8()));
static side_define_optional(outer_optional, side_elem(side_type_optional(inner_optional)));
side_static_event(nested, "more", "nested", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_optional("o", outer_optional)));

/* An optional type in an optional type has an element of its own. */
static void test_nested(void)
{
	FILE *out = begin_output();
	struct readside_listing *listing = listing_open(out, FORM_TEXT);
	struct readside_event event = event_of(&nested, "file");

	listing_event(listing, &event);
	listing_close(listing);
	CHECK(is_output(out,
			"file:\nevents:\n  version: 0\n  state-version: 0\n  provider: more\n  name: nested\n"
			"  loglevel: INFO\n  attributes: None\n  fields:\n   o:\n    type: OPTIONAL\n"
			"    element-type: OPTIONAL\n    element:\n     type: OPTIONAL\n"
			"     element-type: U8\n     attributes: None\n     integer-size: 1\n"
			"     len-bits: 0\n     signed: false\n     byte-order: little\n\n"));
}

#define LONG_LABEL                                                                                             \
	"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789" \
	"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"

static side_define_enum(labels_before,
		side_enum_mapping_list(side_enum_mapping_value(LONG_LABEL, 1),
				side_enum_mapping_value(LONG_LABEL "x", 2),
				side_enum_mapping_value("both", 3)));
static side_define_enum(labels_after,
		side_enum_mapping_list(side_enum_mapping_value("1st", 4),
				side_enum_mapping_value("both", 3)));
side_static_event(bits_before, "more", "bits", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_gather_unsigned_integer("a", 0, 4, 0, 0, DIRECT),
				side_field_gather_unsigned_integer("b", 0, 4, 0, 12, DIRECT),
				side_field_enum("e", &labels_before, side_elem(side_type_u8()))));
side_static_event(bits_after, "more", "bits", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_gather_unsigned_integer("a", 0, 4, 0, 20, DIRECT),
				side_field_gather_unsigned_integer("b", 0, 2, 0, 0, DIRECT),
				side_field_enum("e", &labels_after, side_elem(side_type_u8()))));

static const char bits_differ[] =
		"more:bits: not compatible: field a: was u32, is u32:20, which is narrower\n"
		"more:bits: compatible: field b: was u32:12, is u16, which can hold all its values\n"
		"more:bits: not compatible: field e: the label \"" LONG_LABEL "\" was removed\n"
		"more:bits: not compatible: field e: the label \"" LONG_LABEL "\" was removed\n"
		"more:bits: compatible: field e: the label \"1st\" is new\n";

/*
 * Bits compared with bytes, truncated labels, and events of one name: the limit of printed
 * differences counts for each event alone.
 */
static void test_more_differences(void)
{
	struct diff_side old = {0}, new = {0};
	char *expected = calloc(60, sizeof(bits_differ));
	FILE *out = begin_output();

	CHECK(expected);
	/* 50 events of 5 differences each exceed the limit of one event. */
	for (unsigned int i = 0; i < 50; i++) {
		add_to(&old, &bits_before);
		add_to(&new, &bits_after);
		strcat(expected, bits_differ);
	}
	strcat(expected,
			"not compatible: 0 unchanged, 0 changed compatibly, 50 changed incompatibly, 0 added, 0 removed\n");
	CHECK(diff_show(out, false, &old, &new) == READSIDE_FOUND);
	CHECK(is_output(out, expected));
	free(expected);
	diff_free(&old);
	diff_free(&new);
}

/* Names that occur twice are reported in their order. */
static void test_same_names(void)
{
	FILE *out = begin_output();
	struct check *check = check_to(out, false);
	struct readside_event one = event_of(&orders, "file"), other = event_of(&hidden, "file");

	for (unsigned int i = 0; i < 3; i++) {
		check_event(check, &one);
		check_event(check, &other);
	}
	CHECK(check_close(check) == READSIDE_DONE);
	CHECK(is_output(out,
			"file: warning: other:hidden: another event of the file has the same name: a reader of a trace cannot tell them apart\n"
			"file: warning: types:orders: another event of the file has the same name: a reader of a trace cannot tell them apart\n"
			"6 events, 0 errors, 2 warnings\n"));
}

/* 100 compatible differences are printed, and incompatible ones up to 200 of both. */
static void test_printed(void)
{
	static const struct {
		unsigned int compatible, incompatible, lines;
	} cases[] = {{100, 0, 100}, {101, 0, 100}, {101, 1, 101}, {100, 100, 200}, {100, 101, 200},
			{0, 201, 200}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		FILE *out = begin_output();
		struct diff diff = {.out = out, .event = "e"};
		unsigned int lines = 0;

		for (unsigned int k = 0; k < cases[i].compatible; k++)
			diff_report(&diff, VERDICT_COMPATIBLE, "", "%u", k);
		CHECK(diff.verdict == (cases[i].compatible ? VERDICT_COMPATIBLE : VERDICT_SAME));
		for (unsigned int k = 0; k < cases[i].incompatible; k++)
			diff_report(&diff, VERDICT_INCOMPATIBLE, "", "%u", k);
		if (cases[i].incompatible)
			diff_report(&diff, VERDICT_COMPATIBLE, "", "last");
		CHECK(diff.verdict ==
				(cases[i].incompatible ? VERDICT_INCOMPATIBLE
						       : VERDICT_COMPATIBLE));
		fflush(out);
		for (const char *at = output; (at = strchr(at, '\n')); at++)
			lines++;
		CHECK(lines == cases[i].lines);
		fclose(out);
		free(output);
	}
}

/* 50 Mi fields, labels and options of one event are compared. */
static void test_work(void)
{
	const uint64_t most = 50u << 20;
	const struct side_event_field *one = side_array_elements(&hidden.fields),
				      *two = side_array_elements(&orders.fields);

	for (unsigned int beyond = 0; beyond < 2; beyond++) {
		FILE *out = begin_output();
		struct diff diff = {.out = out, .event = "e", .work = most - 10 + beyond};

		diff_fields(&diff, "p", one, 0, two, 10);
		CHECK(diff.work == most + beyond);
		diff_fields(&diff, "q", one, 0, two, 1);
		diff_fields(&diff, "r", one, 0, two, 1);
		fflush(out);
		CHECK(!strncmp(output,
				beyond ? "e: not compatible: field p: the types are too large to compare\n"
				       : "e: compatible: field p.u16_le: the field is new\n",
				40));
		CHECK(!strstr(output, "q.") && !strstr(output, "field r"));
		CHECK((strstr(output, "field q: the types are too large to compare") != NULL) ==
				!beyond);
		fclose(out);
		free(output);
	}
}

/* ---- files of one listing ---- */

struct reading {
	unsigned int nr_events;
	int result;
	char broken[512];
	enum broken_kind kind;
};

static int count_event(void *opaque, struct readside_event *event)
{
	struct reading *reading = opaque;

	reading->nr_events++;
	visit_owned_free(event->owned);
	return reading->result;
}

static void note_broken(void *opaque, const struct broken *broken)
{
	struct reading *reading = opaque;

	reading->kind = broken->kind;
	snprintf(reading->broken, sizeof(reading->broken), "%s", broken->sentence);
}

static struct readside_source begin_source(const struct source_ops *ops, int *fd)
{
	struct readside_source source = {.ops = ops, .path = "self", .image_path = "self"};
	struct error error;

	*fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CHECK(*fd >= 0 && !image_open(*fd, true, &source.image, &error));
	return source;
}

/* The limits of one file: the last permitted number, and one more. */
static void test_source_limits(void)
{
	struct reading reading = {0};
	const struct source_ops ops = {
			.event = count_event, .broken = note_broken, .priv = &reading};
	struct visit_error error = {.what = "wrong"};
	int fd;
	struct readside_source source = begin_source(&ops, &fd);
	const uint64_t address = image_segments(source.image, &(size_t){0})[0].address;
	unsigned char bytes[4];

	source.reads = (20u << 20) - 1;
	CHECK(!readside_source_read_memory(&source, address, bytes, 4) &&
			!memcmp(bytes, "\177ELF", 4));
	CHECK(readside_source_read_memory(&source, address, bytes, 4) == -E2BIG &&
			source.reads == 20u << 20);
	source.reads = 0;
	source.nr_broken = 98;
	CHECK(!readside_source_report_broken_event(&source, 0, &error) &&
			reading.kind == BROKEN_EVENT && !strcmp(reading.broken, "wrong"));
	CHECK(readside_source_report_broken_event(&source, 0, &error) == -E2BIG &&
			reading.kind == BROKEN_FILE);
	CHECK(!strcmp(reading.broken, "too many of its parts are not readable"));
	source.nr_broken = 0;
	source.reads = 20u << 20;
	CHECK(readside_source_report_broken_event(&source, 0, &error) == -E2BIG &&
			reading.kind == BROKEN_FILE);
	image_close(source.image);
	close(fd);
}

/* The sizes of all events of this file fit exactly, and with one byte more. */
static void test_source_bytes(void)
{
	struct reading reading = {0};
	const struct source_ops ops = {
			.event = count_event, .broken = note_broken, .priv = &reading};

	uint64_t all = 0;
	unsigned int nr = 0;

	for (unsigned int round = 0; round < 3; round++) {
		int fd;
		struct readside_source source = begin_source(&ops, &fd);

		source.memory = (struct visit_memory){readside_source_read_memory, &source,
				image_byte_order(source.image)};
		source.bytes = round ? (64u << 20) - all + round - 1 : 0;
		reading = (struct reading){0};
		CHECK(readside_source_read_tables(&source) == (round == 2 ? -E2BIG : 0));
		if (!round) {
			all = source.bytes;
			nr = reading.nr_events;
		}
		CHECK(nr > 9 && reading.nr_events == nr);
		CHECK(!strcmp(reading.broken, round == 2 ? "it has too many events" : ""));
		/* An event is read once. */
		CHECK(round == 2 ||
				(!readside_source_read_tables(&source) && reading.nr_events == nr));
		addresses_free(&source.seen);
		image_close(source.image);
		close(fd);
	}
	/* A result of the caller other than 0 ends the reading. */
	reading = (struct reading){.result = -EPIPE};
	CHECK(source_read("/proc/self/exe", &ops) == -EPIPE && reading.nr_events == 1);
	reading = (struct reading){.result = -E2BIG};
	CHECK(!source_read("/proc/self/exe", &ops) && reading.nr_events == 1);
	reading = (struct reading){0};
	CHECK(!source_read("/proc/self/exe", &ops) && reading.nr_events == nr && !*reading.broken);
	CHECK(!source_read("/nothing/there", &ops) && reading.kind == BROKEN_FILE &&
			!strcmp(reading.broken, "No such file or directory"));
	CHECK(!source_read("/", &ops) && reading.kind == BROKEN_FILE &&
			!strcmp(reading.broken, "it is not a file"));
}

/* ---- selection of files ---- */

struct walked {
	char paths[2048];
	char broken[512];
	int result;
};

static void note_path(void *opaque, const struct broken *broken)
{
	struct walked *walked = opaque;

	if (broken->kind == BROKEN_FOREIGN)
		strcat(strcat(walked->paths, strrchr(broken->path, '/') + 1), " ");
	else
		snprintf(walked->broken, sizeof(walked->broken), "%s: %s", broken->path,
				broken->sentence);
}

static int note_image(void *opaque, struct image *image, const char *path)
{
	struct walked *walked = opaque;

	(void)image;
	strcat(strcat(walked->paths, strrchr(path, '/') + 1), " ");
	return walked->result;
}

static char work[] = "/tmp/readside-parts-XXXXXX";

static const char *in_work(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", work, name);
	return path;
}

/* Makes a file with the head of an ELF file; one that can be opened has no events. */
static void make_file(const char *name)
{
	FILE *file = fopen(in_work(name), "w");
	char bytes[64] = "\177ELF\2\1\1";

	CHECK(file);
	bytes[16] = 3;
	bytes[18] = 62;
	bytes[20] = 1;
	bytes[52] = 64;
	bytes[54] = 56;
	bytes[58] = 64;
	CHECK(fwrite(bytes, sizeof(bytes), 1, file) == 1);
	fclose(file);
}

static bool walks(struct readside_walk *walk, const char *name, const char *expected)
{
	struct walked *walked = walk->ops.priv;
	bool same;

	walked->paths[0] = walked->broken[0] = '\0';
	walk_forget(walk);
	CHECK(walk_path(walk, in_work(name)) == walked->result);
	same = !strcmp(walked->paths, expected);
	if (!same)
		fprintf(stderr, "found: %s(%s)\n", walked->paths, walked->broken);
	return same;
}

static int take_no_event(void *opaque, struct readside_event *event)
{
	(void)opaque;
	(void)event;
	abort();
}

static void test_walk(void)
{
	struct walked walked = {.paths = ""};
	struct readside_walk_options options = {.max_depth = UINT_MAX};
	struct readside_walk walk = {.options = &options,
			.ops = {take_no_event, note_path, note_image, NULL, &walked}};
	char name[1024] = "deep", line[128];

	CHECK(mkdtemp(work) && !mkdir(in_work("t"), 0700) && !mkdir(in_work("t/sub"), 0700) &&
			!mkdir(in_work("t/sub/sub"), 0700));
	make_file("outside");
	make_file("t/b");
	make_file("t/a");
	make_file("t/.h");
	make_file("t/sub/c");
	make_file("t/sub/sub/d");
	CHECK(!symlink("../outside", in_work("t/link")) && !symlink("a", in_work("t/again")) &&
			!symlink(".", in_work("t/loop")) && !symlink("nowhere", in_work("t/lost")));
	CHECK(walks(&walk, "t", "a b ") && walks(&walk, "t/", "a b ") &&
			walks(&walk, "t/link", "link "));
	options.all = true;
	CHECK(walks(&walk, "t", ".h a b "));
	options.all = false;
	options.links = true;
	CHECK(walks(&walk, "t", "a b link ") || walks(&walk, "t", "again b link "));
	options.recursive = true;
	CHECK(strstr(walked.paths, "link") && walks(&walk, "t/sub", "c d "));
	options.links = false;
	CHECK(walks(&walk, "t", "a b c d "));
	options.max_depth = 1;
	CHECK(walks(&walk, "t", "a b c "));
	options.max_depth = 2;
	CHECK(walks(&walk, "t", "a b c d "));
	options.max_depth = 0;
	CHECK(walks(&walk, "t", "a b "));
	options.max_depth = UINT_MAX;
	options.ignore = "[bs]*";
	CHECK(walks(&walk, "t", "a "));
	options.ignore = NULL;
	options.match = "[bd]";
	CHECK(walks(&walk, "t", "b d "));
	options.match = NULL;
	walked.result = -EPIPE;
	CHECK(walks(&walk, "t", "a "));
	walked.result = 0;
	CHECK(walks(&walk, "nothing", "") &&
			strstr(walked.broken, "nothing: No such file or directory"));
	begin_messages();
	output_set_verbose(true);
	options.links = true;
	walks(&walk, "t", "");
	output_set_verbose(false);
	fflush(messages);
	snprintf(line, sizeof(line), "skipped %s/t/lost: No such file or directory\n", work);
	CHECK(strstr(output, line));
	stderr = standard_error;
	fclose(messages);
	free(output);
	options.links = false;
	/* 128 levels of directories below the one that is named, and one more. */
	for (unsigned int i = 0; i <= 129; i++) {
		CHECK(!mkdir(in_work(name), 0700));
		if (i >= 127)
			sprintf(name + strlen(name), "/f%u", i), make_file(name),
					*strrchr(name, '/') = '\0';
		strcat(name, "/s");
	}
	CHECK(walks(&walk, "deep", "f127 f128 "));
	walk_free(&walk);
	snprintf(name, sizeof(name), "rm -r %s", work);
	CHECK(!system(name));
}

/* ---- options ---- */

static enum readside_step scan(struct readside_options *options, int argc, const char *const *argv)
{
	return options_scan(argc, (char **)(uintptr_t)argv, options);
}

static enum readside_step next_file(struct readside_options *options, int argc,
		const char *const *argv, const char **path)
{
	return options_next(argc, (char **)(uintptr_t)argv, options, path);
}

#define SCAN(options, ...)                                                                     \
	scan(options, sizeof((const char *const[]){"readside", __VA_ARGS__}) / sizeof(char *), \
			(const char *const[]){"readside", __VA_ARGS__, NULL})

static void test_options(void)
{
	const char *const argv[] = {"readside", "a", "-j", "-r", "--max-depth=4294967295", "-p",
			"p*", "-e", "x:y", "-o", "out", "b", "-a", "-l", "-d", "-i", "I", "-m", "M",
			"-f", "text", "--strict", "--check", "-v", "--", "-c", "d", NULL};
	const int argc = (int)(sizeof(argv) / sizeof(argv[0])) - 1;
	struct readside_options options;
	const char *path;

	CHECK(scan(&options, argc, argv) == STEP_FILE && options.mode == MODE_CHECK &&
			options.strict && options.verbose);
	CHECK(options.nr_outputs == 1 && !strcmp(options.outputs[0], "out") &&
			options.walk.max_depth == UINT_MAX);
	CHECK(next_file(&options, argc, argv, &path) == STEP_FILE && !strcmp(path, "a") &&
			options.form == FORM_JSON && !options.output);
	CHECK(next_file(&options, argc, argv, &path) == STEP_FILE && !strcmp(path, "b") &&
			options.form == FORM_EXACT);
	CHECK(options.walk.recursive && options.walk.max_depth == 4294967295 &&
			options.nr_providers == 1 && options.nr_patterns == 1);
	CHECK(!strcmp(options.output, "out") && !options.walk.all && !options.walk.links &&
			!options.walk.dynamic && !options.walk.ignore && !options.walk.match);
	CHECK(next_file(&options, argc, argv, &path) == STEP_FILE && !strcmp(path, "-c") &&
			options.form == FORM_TEXT);
	CHECK(options.walk.all && options.walk.links && options.walk.dynamic &&
			!strcmp(options.walk.ignore, "I") && !strcmp(options.walk.match, "M"));
	CHECK(next_file(&options, argc, argv, &path) == STEP_FILE && !strcmp(path, "d"));
	CHECK(next_file(&options, argc, argv, &path) == STEP_END);
	options_free(&options);
	/* Depths. */
	static const struct {
		const char *text;
		bool good;
		unsigned int depth;
	} depths[] = {{"0", true, 0}, {"9", true, 9}, {"12", true, 12}, {"4294967296", false, 0},
			{"18446744073709551616", false, 0}, {"+1", false, 0}, {" 1", false, 0},
			{"", false, 0}, {"1x", false, 0}, {":", false, 0}};
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		const char *const words[] = {"readside", "--max-depth", depths[i].text, "a", NULL};
		char expected[128] = "";

		CHECK(scan(&options, 4, words) == STEP_FILE);
		begin_messages();
		CHECK(next_file(&options, 4, words, &path) ==
				(depths[i].good ? STEP_FILE : STEP_USAGE));
		if (!depths[i].good)
			snprintf(expected, sizeof(expected),
					"readside: `%s` is not a depth\nhint: give a number, as in `--max-depth=3`\n",
					depths[i].text);
		CHECK(is_messages(expected));
		CHECK(options.walk.max_depth == (depths[i].good ? depths[i].depth : UINT_MAX));
	}
	begin_messages();
	CHECK(SCAN(&options, "-v") == STEP_USAGE);
	CHECK(SCAN(&options, "--diff", "a") == STEP_USAGE &&
			SCAN(&options, "--diff", "a", "b", "c") == STEP_USAGE &&
			SCAN(&options, "--diff", "a", "b") == STEP_FILE);
	CHECK(is_messages(
			"readside: missing operand: a file to read\nhint: name a file, as in `readside ./program`\n"
			"readside: --diff compares two files\nhint: `readside --diff OLD NEW`\n"
			"readside: --diff compares two files\nhint: `readside --diff OLD NEW`\n"));
	for (unsigned int i = 0; i < 3; i++) {
		static const char *const formats_of[] = {"json", "text", "s-expr"};
		const char *const words[] = {"readside", "-f", formats_of[i], "a", NULL};

		CHECK(scan(&options, 4, words) == STEP_FILE &&
				next_file(&options, 4, words, &path) == STEP_FILE &&
				options.form == i);
	}
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	test_listings(argv[1]);
	test_scalars();
	test_texts();
	test_text_units();
	test_names();
	test_findings();
	test_states();
	test_check_status();
	test_differences();
	test_nested();
	test_more_differences();
	test_same_names();
	test_printed();
	test_work();
	test_source_limits();
	test_source_bytes();
	test_walk();
	test_options();
	return 0;
}
