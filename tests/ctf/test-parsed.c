/* SPDX-License-Identifier: MIT */
/*
 * The result of parsing metadata: for each case of parsed.cases the error, or all classes with all
 * their properties. The expected text is in exact.parsed. Then each allocation fails in turn.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../failing-calls.h"
#include "ctf/read/stream.h"
#include "ctf/type.h"
#include "scratch.h"

static char scratch[64];

/* ---- classes as text ---- */

/* Returns the text without control characters. */
static const char *clean(const char *from)
{
	static char cleaned[4][1024];
	static unsigned int next;
	char *to = cleaned[next++ % 4];
	size_t used = 0;

	for (; *from; from++)
		used += (size_t)snprintf(to + used, sizeof(cleaned[0]) - used,
				(unsigned char)*from < ' ' || (unsigned char)*from > '~' ? "\\x%02x"
											 : "%c",
				(unsigned char)*from);
	to[used] = '\0';
	return to;
}

static void print_number(FILE *out, const char *name, uint64_t number)
{
	if (number)
		fprintf(out, " %s=%" PRIu64, name, number);
}

static void print_text(FILE *out, const char *name, const char *text)
{
	if (text)
		fprintf(out, " %s=\"%s\"", name, clean(text));
}

static void print_type(FILE *out, const struct ctf_type *type, unsigned int indent);

static void print_parts(FILE *out, const struct ctf_type *type, unsigned int indent)
{
	for (uint32_t i = 0; i < type->label_count; i++)
		fprintf(out, "%*slabel \"%s\" %" PRId64 " to %" PRId64 "\n", (int)indent, "",
				clean(type->labels[i].text), (int64_t)type->labels[i].begin,
				(int64_t)type->labels[i].end);
	for (uint32_t i = 0; i < type->range_count; i++)
		fprintf(out, "%*srange %" PRId64 " to %" PRId64 " option %u\n", (int)indent, "",
				(int64_t)type->ranges[i].begin, (int64_t)type->ranges[i].end,
				type->ranges[i].option);
	for (const struct ctf_guard *guard = type->guards; guard; guard = guard->next)
		fprintf(out, "%*sguard %d\n", (int)indent, "", guard->slot);
	for (uint32_t i = 0; i < type->member_count; i++) {
		const struct ctf_member *member = &type->members[i];

		fprintf(out, "%*s\"%s\"%s", (int)indent, "", member->name,
				member->hidden ? " hidden" : "");
		print_number(out, "role", member->role);
		print_number(out, "slot", (uint64_t)(member->slot + 1));
		print_type(out, member->type, indent);
	}
	if (type->element) {
		fprintf(out, "%*selement", (int)indent, "");
		print_type(out, type->element, indent);
	}
}

static void print_type(FILE *out, const struct ctf_type *type, unsigned int indent)
{
	static const char *const kinds[] = {"integer", "float", "enum", "string", "struct", "array",
			"sequence", "variant"};

	fprintf(out, " %s align=%u depth=%u", kinds[type->kind], type->align, type->depth);
	print_number(out, "least", type->min_bits);
	print_number(out, "fast", type->fast);
	print_number(out, "size", type->size);
	print_number(out, "base", type->base);
	fprintf(out, "%s%s%s%s%s%s%s%s%s", type->is_signed ? " signed" : "",
			type->big_endian ? " big" : "", type->text ? " text" : "",
			type->boolean ? " boolean" : "", type->bitmap ? " bitmap" : "",
			type->byte ? " byte" : "", type->leb128 ? " leb128" : "",
			type->reversed ? " reversed" : "", type->optional ? " optional" : "");
	print_text(out, "clock", type->clock ? type->clock->name : NULL);
	print_number(out, "encoding", type->encoding);
	print_text(out, "media", type->media_type);
	print_number(out, "length", type->length);
	print_text(out, "reference", type->reference);
	print_number(out, "slot", (uint64_t)(type->slot + 1));
	fputs(type->tag_signed ? " tag_signed\n" : "\n", out);
	print_parts(out, type, indent + 1);
}

static void print_scope(FILE *out, const char *name, const struct ctf_type *type)
{
	if (!type)
		return;
	fprintf(out, "  %s", name);
	print_type(out, type, 3);
}

static void print_stream(FILE *out, const struct ctf_stream_class *stream)
{
	fprintf(out, " stream %" PRIu64 "%s", stream->id, stream->direct ? " direct" : "");
	print_text(out, "clock", stream->clock ? stream->clock->name : NULL);
	fputs("\n", out);
	print_scope(out, "packet", stream->packet_context);
	print_scope(out, "header", stream->event_header);
	print_scope(out, "common", stream->event_context);
	for (uint32_t i = 0; i < stream->event_count; i++) {
		const struct ctf_event_class *event = stream->events[i];

		fprintf(out, " event %" PRIu64 " of %" PRIu64 " number %u level %d", event->id,
				event->stream_id, event->index, event->loglevel);
		print_text(out, "name", event->name);
		print_text(out, "side", event->side_event);
		fputs("\n", out);
		print_scope(out, "context", event->context);
		print_scope(out, "fields", event->fields);
	}
}

static void print_trace(FILE *out, const struct ctf_trace_classes *classes)
{
	const struct ctf_trace *trace = &classes->trace;

	fprintf(out, " trace%s%s%s%s%s%s%s vpid=%" PRId64 " slots=%u whole=%zu",
			classes->has_trace ? " known" : "", classes->has_uuid ? " uuid" : "",
			classes->has_byte_order ? " order" : "", trace->big_endian ? " big" : "",
			trace->is_side ? " side" : "", classes->is_whole ? " complete" : "",
			classes->is_ctf2 ? " ctf2" : "", trace->vpid, classes->slot_count,
			classes->good_size);
	print_text(out, "host", trace->hostname);
	print_text(out, "proc", trace->procname);
	print_text(out, "clock", trace->clock ? trace->clock->name : NULL);
	for (unsigned int i = 0; classes->has_uuid && i < 16; i++)
		fprintf(out, "%s%02x", i ? "" : " ", trace->uuid[i]);
	fputs("\n", out);
	for (uint32_t i = 0; i < trace->environment_count; i++)
		fprintf(out, " env %s %s %" PRId64 "\n", trace->environment[i].key,
				trace->environment[i].text ? trace->environment[i].text
							   : "(number)",
				trace->environment[i].number);
	for (uint32_t i = 0; i < classes->clock_count; i++) {
		const struct ctf_clock *clock = classes->clocks[i];

		fprintf(out,
				" clock \"%s\" \"%s\" freq=%" PRIu64 " precision=%" PRIu64
				" %" PRId64 "+%" PRIu64 "%s",
				clock->name, clock->uuid, clock->frequency, clock->precision,
				clock->offset_s, clock->offset, clock->absolute ? " absolute" : "");
		print_text(out, "description", clock->description);
		fputs("\n", out);
	}
	print_scope(out, "header", classes->packet_header);
	for (uint32_t i = 0; i < classes->stream_count; i++)
		print_stream(out, classes->streams[i]);
}

static int parse_and_print(FILE *out)
{
	int fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret;
	struct ctf_trace_classes *classes;
	struct error error = {.text = ""};

	ret = ctf_metadata_read(fd, scratch, &classes, &error);
	close(fd);
	fprintf(out, "%s\n", ret ? error.text : "accepted");
	if (classes && classes->has_trace)
		print_trace(out, classes);
	ctf_metadata_free(classes);
	return ret;
}

/* ---- cases ---- */

static char text[1 << 16];
static size_t text_size;

/* Adds a part of a case: names after @ stand for texts, @ alone for the byte between fragments. */
static void add(const char *part)
{
	static const struct {
		const char *name, *text;
	} names[] = {{"@u8", "{\"type\":\"fixed-length-unsigned-integer\",\"length\":8,\"byte-order\":\"little-endian\"}"},
			{"@trace", "trace { major = 1; minor = 8; byte_order = le; };"},
			{"@", "\x1e"}, {"\\n", "\n"}, {"\\xff", "\xff"}};

	while (*part) {
		size_t i = 0;

		while (i < 5 && strncmp(part, names[i].name, strlen(names[i].name)) != 0)
			i++;
		/* JSON has escapes of its own. */
		if (i == 5 || (i == 3 && text[0] == 0x1e)) {
			text[text_size++] = *part++;
			continue;
		}
		part += strlen(names[i].name);
		memcpy(text + text_size, names[i].text, strlen(names[i].text));
		text_size += strlen(names[i].text);
	}
}

#define NAMES                                                                                \
	"clock { name = c; }; env { two = 2; text = \"t\"; minus = -1; };\n"                 \
	"typealias integer { size = 8; } := u8; typealias integer { size = 16; } := u16;"    \
	"typealias integer { size = 8; signed = true; } := s8;"                              \
	"typealias integer { size = 64; } := unsigned long int; typealias string := text *;" \
	"typealias string := pointer; clock { name = d; };\n"

static void make_text(char kind, const char *content)
{
	text_size = 0;
	if (kind == 'F')
		add("@trace " NAMES
		    "stream { event.context := struct { u8 n; }; };\nevent { name = e; fields := struct { ");
	else if (kind == 'J')
		add("@{\"type\":\"preamble\",\"version\":2}\n@{\"type\":\"data-stream-class\"}\n@{\"type\":\"event-record-class\",\"payload-field-class\":{\"type\":\"structure\",\"member-classes\":[{\"name\":\"f\",\"field-class\":");
	else if (kind == 'S')
		add("@{\"type\":\"preamble\",\"version\":2}\n@{\"type\":\"clock-class\",\"id\":\"c\",\"frequency\":5}\n@{\"type\":\"data-stream-class\",");
	add(content);
	if (kind == 'F')
		add(" }; };");
	else if (kind == 'J')
		add("}]}}");
	else if (kind == 'S')
		add("}");
	text[text_size] = '\0';
	scratch_write(scratch, "metadata", text, text_size);
}

static char *cases;
static const char *expected_path;

static void test_cases(void **state)
{
	char *found, *remainder = cases, *line;
	unsigned char *expected;
	size_t size;
	FILE *out = open_memstream(&found, &size);

	(void)state;
	while ((line = strsep(&remainder, "\n"))) {
		if (!*line || *line == '#')
			continue;
		make_text(*line, line + 2);
		fprintf(out, "%s\n", line);
		parse_and_print(out);
	}
	fclose(out);
	expected = scratch_read("/", expected_path, &size);
	assert_string_equal(found, (char *)expected);
	free(expected);
	free(found);
}

/* ---- depth ---- */

static bool is_accepted(
		char kind, const char *begin, const char *each, unsigned int count, const char *end)
{
	static char content[1 << 16];
	size_t used = strlen(begin);
	char *printed;
	size_t size;
	bool accepted;
	FILE *out = open_memstream(&printed, &size);

	memcpy(content, begin, used);
	for (unsigned int i = 0; i < count; i++, used += strlen(each))
		memcpy(content + used, each, strlen(each));
	memcpy(content + used, end, strlen(end));
	used += strlen(end);
	/* Close the brace that each part opened. */
	for (unsigned int i = 0; kind == 'T' && !strncmp(each, "struct", 6) && i < count; i++)
		used += (size_t)snprintf(content + used, sizeof(content) - used, "}%s;",
				i + 1 < count ? " a" : "");
	for (unsigned int i = 0; kind == 'J' && i < count; i++)
		content[used++] = '}';
	content[used] = '\0';
	make_text(kind, content);
	accepted = !parse_and_print(out);
	fclose(out);
	if (!accepted)
		assert_true(strstr(printed, "types are nested too deep") ||
				strstr(printed, "field classes are nested deeper than 512"));
	free(printed);
	return accepted;
}

static void test_depths(void **state)
{
	static const char begin[] = "typealias integer { size = 8; } := u8; @trace typealias u8";
	static const char array[] =
			"{\"type\":\"static-length-array\",\"length\":1,\"element-field-class\":";

	(void)state;
	/* Dimensions alone, and in the structure of the fields. */
	assert_true(is_accepted('T', begin, "[1]", 512, " := t;"));
	assert_false(is_accepted('T', begin, "[1]", 513, " := t;"));
	assert_true(is_accepted('F', "u8 x", "[1]", 510, ";"));
	assert_false(is_accepted('F', "u8 x", "[1]", 511, ";"));
	/* Structures, the innermost of which is empty. */
	assert_true(is_accepted('T', "@trace ", "struct s { ", 512, ""));
	assert_false(is_accepted('T', "@trace ", "struct s { ", 513, ""));
	assert_true(is_accepted('J', "", array, 510, "@u8"));
	assert_false(is_accepted('J', "", array, 511, "@u8"));
}

/* ---- calls that fail ---- */

static void parse_with_failures(void)
{
	unsigned int number;
	char *whole, *found;
	size_t size;
	FILE *out = open_memstream(&whole, &size);

	assert_int_equal(parse_and_print(out), 0);
	fclose(out);
	for (number = 1;; number++) {
		int ret;

		out = open_memstream(&found, &size);
		failing_arm(number);
		ret = parse_and_print(out);
		fclose(out);
		if (!failing_has_failed())
			break;
		if (ret) {
			assert_int_equal(ret, strstr("pread fstat", failing_name) ? -EIO : -ENOMEM);
			assert_non_null(strstr(found,
					ret == -EIO ? "the metadata cannot be read: Input/output error"
						    : "emory"));
		} else {
			assert_string_equal(found, whole);
		}
		free(found);
	}
	assert_true(number > 5);
	assert_string_equal(found, whole);
	free(found);
	free(whole);
}

static void test_failures(void **state)
{
	static const char *const fields[] = {"u8 a, b[2], c[a]; u16 d[2][3];",
			"enum : u8 { a, b, c, d, e, f, g, h, i, j } t; variant <t> { u8 a; string b; struct { u8 n; u8 x[n]; } c; } v;",
			"struct inner { u8 a; u8 b; u8 c; u8 d; u8 e; u8 f; u8 g; u8 h; u8 i; } x; struct inner y; typedef u8 z; z q;",
			"struct { u8 len; } s; u8 x[s.len]; integer { size = 8; map = clock.c.value; } y;"};

	(void)state;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		char large[8192];
		size_t used = (size_t)snprintf(large, sizeof(large), "%s", fields[i]);

		/* Enough for several blocks of memory. */
		for (unsigned int k = 0; k < 60; k++)
			used += (size_t)snprintf(large + used, sizeof(large) - used,
					" struct { u16 m; string n[m]; } m%u;", k);
		make_text('F', large);
		parse_with_failures();
	}
	make_text('J', "{\"type\":\"structure\",\"member-classes\":[{\"name\":\"t\",\"field-class\":@u8},{\"name\":\"v\",\"field-class\":{\"type\":\"variant\",\"selector-field-location\":{\"path\":[\"t\"]},\"options\":[{\"name\":\"a\",\"field-class\":@u8,\"selector-field-ranges\":[[0,3],[7,7]]}]}}]}");
	parse_with_failures();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_cases),
			cmocka_unit_test(test_depths),
			cmocka_unit_test(test_failures),
	};
	size_t size;
	int ret;

	if (argc != 3 || CTF_HOST_BIG_ENDIAN)
		return argc == 3 ? 77 : 1;
	expected_path = argv[2];
	cases = (char *)scratch_read("/", argv[1], &size);
	scratch_make(scratch);
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	scratch_delete(scratch);
	free(cases);
	return ret;
}
