/* SPDX-License-Identifier: MIT */
/*
 * What the recorder reads from the kernel: `format` files and EventHeader records. First unchanged,
 * with the known results; then with random changes: they are accepted or refused, and nothing else
 * happens. As a test it runs a number of rounds; with libFuzzer (-DFUZZ_TARGET) without an end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel-events/eventheader.h"
#include "kernel-events/layout.h"
#include "../random.h"

static void require(bool good, const char *what)
{
	if (good)
		return;
	(void)fprintf(stderr, "not so: %s\n", what);
	abort();
}

/* ---- one of each class ---- */

static bool take_format(const char *text, size_t size, const uint8_t *record, size_t record_size)
{
	struct ctf_arena *arena = ctf_arena_create();
	struct byte_buffer to = {.data = NULL};
	struct layout layout = {.steps = NULL};
	struct format format;
	struct ctf_type *type;
	bool good = arena && !kernel_format_parse(text, size, &format);

	if (good) {
		require(!layout_make(&format, true, arena, &layout, &type), "there is memory");
		require(type->kind == CTF_STRUCT, "fields are a structure");
		layout_run(&layout, record, record_size, &to);
		require(!to.failed, "a record is converted");
	}
	free(to.data);
	layout_free(&layout);
	kernel_format_free(&format);
	ctf_arena_destroy(arena);
	return good;
}

static bool take_header(const uint8_t *record, size_t size)
{
	struct ctf_arena *arena = ctf_arena_create();
	struct byte_buffer to = {.data = NULL};
	struct eventheader_class class;
	struct eventheader header;
	bool good = arena && !eventheader_split(record, size, &header) &&
			!eventheader_parse(&header, arena, &class) &&
			!eventheader_convert(&class, &header, &to);

	require(!to.failed && to.size < 2 * EVENTHEADER_BYTES_MAX, "what comes out is bounded");
	free(to.data);
	ctf_arena_destroy(arena);
	return good;
}

#ifdef FUZZ_TARGET
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && *data & 1)
		(void)take_header(data + 1, size - 1);
	else if (size)
		(void)take_format((const char *)data + 1, size - 1, data, size);
	return 0;
}
#else

static const char format_text[] =
		"name: sched_switch\nID: 310\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
		"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
		"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
		"\tfield:__data_loc char[] name;\toffset:40;\tsize:4;\tsigned:0;\n"
		"\tfield:__rel_loc u32[] list;\toffset:44;\tsize:4;\tsigned:0;\n"
		"\tfield:unsigned long args[6];\toffset:48;\tsize:48;\tsigned:0;\n"
		"\tfield:const void * where;\toffset:96;\tsize:8;\tsigned:0;\n"
		"\tfield:struct f64 load;\toffset:104;\tsize:8;\tsigned:0;\n"
		"\tfield:bool on;\toffset:112;\tsize:1;\tsigned:0;\n"
		"\tfield:u8 mode;\toffset:113;\tsize:1;\tsigned:0;\n"
		"\tfield:u32 flags;\toffset:116;\tsize:4;\tsigned:0;\n"
		"\tfield:struct timespec when;\toffset:120;\tsize:16;\tsigned:0;\n\n"
		"print fmt: \"%s %s\", __print_symbolic(REC->mode, { 0, \"NONE\" }, { 0x2U, "
		"\"SOME\" }), "
		"__print_flags(REC->flags, \"|\", { 1, \"A\" }, { (1 << 3), \"B\" }), "
		"__print_flags(REC->prev_state & 7, \"|\", { 1, \"S\" })\n";

/* One record of all encodings and formats, as another implementation of EventHeader reads it. */
static const char header_text[] =
		"07000000341200051000028041435449564954594944414354495600f20001006d796576656e743b"
		"617474723d763b3b616c007538000273380082026865783136008303733332008402753634000570"
		"7472008503626f6f6c380082076633320084086636340085086931323800067a3800077a31360008"
		"7a333200096338000a62696e000d6a736f6e008a0e6f70746e756c6c008d026f7074736574008d02"
		"746167676564008481341263617272002403007661727200c3027661727230004373747273004773"
		"74008103610004696e00810164656570000763000273747300c1027800027900077374733000c102"
		"7800027900076970340084116572726e6f00840474696d650085067575696400860fc8fdefbe90ee"
		"fefff0debc9a7856341278563412ff7f0000010000c03f00000000000002c0010000000000000002"
		"0000000000000068c3a96c6c6f006100e90000006100000000f60100000000000500636f756e7404"
		"000102030407007b2261223a317d00000400d6ffffff050000000100000002000000030000000200"
		"ffff05000000020078007979000b0000007a00090200016f6e65000274776f0000007f0000010200"
		"000000f153650000000000112233445566778899aabbccddeeff";

/* ---- unchanged input ---- */

static const struct format_field *field(const struct format *format, const char *name)
{
	uint32_t i;

	for (i = 0; i < format->nr_fields; i++)
		if (!strcmp(format->fields[i].name, name))
			return &format->fields[i];
	require(false, name);
	return NULL;
}

static void check_format(void)
{
	struct format format;
	const struct format_field *f;

	require(!kernel_format_parse(format_text, sizeof(format_text) - 1, &format),
			"the format is good");
	require(format.id == 310 && !strcmp(format.name, "sched_switch"), "its name and number");
	require(format.nr_fields == 12 && !format.event_header,
			"its fields, without the common ones");
	f = field(&format, "prev_comm");
	require(f->kind == FORMAT_TEXT && f->count == 16, "a text of fixed size");
	f = field(&format, "prev_pid");
	require(f->kind == FORMAT_INTEGER && f->is_signed && f->unit == 4,
			"a type that is not known");
	require(!field(&format, "prev_state")->nr_labels, "flags of an expression are no names");
	f = field(&format, "name");
	require(f->kind == FORMAT_LOCATION && f->element == FORMAT_TEXT && !f->relative,
			"a text elsewhere");
	f = field(&format, "list");
	require(f->element == FORMAT_INTEGER && f->unit == 4 && f->relative, "numbers elsewhere");
	f = field(&format, "args");
	require(f->kind == FORMAT_INTEGER && f->count == 6 && f->unit == 8, "an array");
	require(field(&format, "where")->kind == FORMAT_POINTER, "a pointer");
	require(field(&format, "load")->kind == FORMAT_FLOAT, "a float");
	require(field(&format, "on")->kind == FORMAT_BOOL, "a boolean");
	f = field(&format, "mode");
	require(f->nr_labels == 2 && f->labels[1].value == 2 && !strcmp(f->labels[1].text, "SOME"),
			"labels");
	require(!field(&format, "flags")->nr_labels, "labels with expressions are left out");
	f = field(&format, "when");
	require(f->kind == FORMAT_BYTES && f->count == 16, "a structure that is not known");
	kernel_format_free(&format);
}

/* Arrays whose element size contradicts their type name. */
static const char array_text[] = "name: arrays\nID: 311\nformat:\n"
				 "\tfield:u32 fits[4];\toffset:8;\tsize:16;\tsigned:0;\n"
				 "\tfield:u32 half[4];\toffset:24;\tsize:8;\tsigned:0;\n"
				 "\tfield:u16 twice[2];\toffset:32;\tsize:8;\tsigned:0;\n"
				 "\tfield:f64 single[3];\toffset:40;\tsize:12;\tsigned:0;\n"
				 "\tfield:u32 odd[2];\toffset:52;\tsize:6;\tsigned:0;\n"
				 "\tfield:u32 uneven[4];\toffset:58;\tsize:6;\tsigned:0;\n"
				 "\tfield:u32 unknown[N];\toffset:64;\tsize:8;\tsigned:0;\n"
				 "\nprint fmt: \"\"\n";

static void check_arrays(void)
{
	static const struct {
		const char *name;
		enum format_kind kind;
		uint32_t unit, count;
	} expected[] = {
			{"fits", FORMAT_INTEGER, 4, 4},
			{"half", FORMAT_INTEGER, 2, 4},
			{"twice", FORMAT_INTEGER, 4, 2},
			{"single", FORMAT_INTEGER, 4, 3},
			{"odd", FORMAT_BYTES, 1, 6},
			{"uneven", FORMAT_BYTES, 1, 6},
			{"unknown", FORMAT_INTEGER, 4, 2},
	};
	struct format format;
	size_t i;

	require(!kernel_format_parse(array_text, sizeof(array_text) - 1, &format),
			"the format of arrays is good");
	for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		const struct format_field *f = field(&format, expected[i].name);

		require(f->kind == expected[i].kind && f->unit == expected[i].unit &&
						f->count == expected[i].count,
				expected[i].name);
	}
	kernel_format_free(&format);
}

static size_t from_hex(const char *text, uint8_t *to)
{
	size_t i, size = strlen(text) / 2;
	unsigned int byte;

	for (i = 0; i < size && sscanf(text + 2 * i, "%2x", &byte) == 1; i++)
		to[i] = (uint8_t)byte;
	return i;
}

/* ---- changed input ---- */

static void damage(uint8_t *data, size_t *size, const char *special)
{
	uint64_t changes = 1 + draw(4);

	while (changes--)
		data[draw(*size)] = draw(3) ? (uint8_t)draw(256)
					    : (uint8_t)special[draw(strlen(special))];
	if (!draw(8))
		*size = draw(*size);
}

int main(void)
{
	long rounds = getenv("SIDE_TEST_LONG") ? 300000 : 3000, i, headers = 0, formats = 0;
	uint8_t good[sizeof(header_text) / 2 + 1], changed[sizeof(format_text)], *exact;
	size_t good_size = from_hex(header_text, good), size;

	check_format();
	check_arrays();
	require(take_header(good, good_size), "the record is good");
	for (i = 0; i < rounds; i++) {
		/* In memory of exactly this size, so that sanitizers detect a read beyond it. */
		memcpy(changed, good, good_size);
		size = good_size;
		damage(changed, &size, "\1\2\3\7\x0d\x40\x21\x81");
		exact = malloc(size + 1);
		require(exact, "there is memory");
		memcpy(exact, changed, size);
		headers += take_header(exact, size);
		free(exact);
		memcpy(changed, format_text, sizeof(format_text));
		size = sizeof(format_text) - 1;
		damage(changed, &size, "0123456789;[]*_{}\", \n\t");
		exact = malloc(size + 1);
		require(exact, "there is memory");
		memcpy(exact, changed, size);
		formats += take_format((const char *)exact, size, good, draw(good_size));
		free(exact);
	}
	(void)printf("%ld rounds: %ld records and %ld formats taken\n", rounds, headers, formats);
	return headers && formats && headers < rounds && formats < rounds ? 0 : 1;
}
#endif
