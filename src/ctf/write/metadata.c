/* SPDX-License-Identifier: MIT */
/* Writes metadata in CTF 1.8 (TSDL): docs/spec/recording.md, sections 1 and 6. */
#include <errno.h>
#include <inttypes.h>
#include <side/abi/type-description.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/write/describe.h"
#include "ctf/tsdl.h"
#include "ctf/write/tsdl-print.h"
#include "ctf/write/writer.h"

/* The traced process chooses these texts: escape control characters and replace invalid UTF-8. */
static void tsdl_write_print_text(const char *text, struct ctf_arena *arena, FILE *out)
{
	const char *clean =
			ctf_describe_text(arena, text ? text : "", 1, SIDE_TYPE_BYTE_ORDER_HOST);

	ctf_tsdl_print_string(clean ? clean : "", out);
}

static void print_typealiases(FILE *out)
{
	static const unsigned int sizes[] = {8, 16, 32, 64};

	for (unsigned int i = 0; i < 8; i++)
		fprintf(out, "typealias integer { size = %u; align = 8; signed = %s; } := %c%u;\n",
				sizes[i / 2], i % 2 ? "true" : "false", i % 2 ? 's' : 'u',
				sizes[i / 2]);
	fputc('\n', out);
}

static void tsdl_write_print_trace(const struct ctf_writer *writer, FILE *out)
{
	const unsigned char *u = writer->uuid;

	fputs("trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"", out);
	for (unsigned int i = 0; i < 16; i++)
		fprintf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
	fprintf(out,
			"\";\n"
			"\tbyte_order = %s;\n"
			"\tpacket.header := struct {\n"
			"\t\tu32 magic;\n"
			"\t\tu8 uuid[16];\n"
			"\t\tu32 stream_id;\n"
			"\t\tu64 stream_instance_id;\n"
			"\t};\n"
			"};\n\n",
			CTF_HOST_BIG_ENDIAN ? "be" : "le");
}

static void print_env(const struct ctf_writer *writer, struct ctf_arena *arena, FILE *out)
{
	const struct ctf_writer_config *config = &writer->config;

	fprintf(out,
			"env {\n"
			"\tdomain = \"%s\";\n"
			"\ttracer_name = \"side\";\n"
			"\ttracer_major = %" PRIu32 ";\n"
			"\ttracer_minor = %" PRIu32 ";\n"
			"\ttracer_patchlevel = %" PRIu32 ";\n"
			"\tside_format = 1;\n"
			"\tside_string_encoding = \"" CTF_STRING_NOTE "\";\n",
			config->domain, config->version[0], config->version[1], config->version[2]);
	fputs("\thostname = ", out);
	tsdl_write_print_text(config->hostname, arena, out);
	if (config->vpid >= 0) { /* Else the trace is not of one process. */
		fputs(";\n\tprocname = ", out);
		tsdl_write_print_text(config->procname, arena, out);
		fprintf(out, ";\n\tvpid = %" PRId64 ";\n\texe = ", config->vpid);
		tsdl_write_print_text(config->exe, arena, out);
		if (config->forked_from > 0)
			fprintf(out, ";\n\tforked_from = %" PRId64, config->forked_from);
	}
	if (config->overwrites)
		fputs(";\n\tside_overwrites = 1", out);
	if (config->filters)
		fputs(";\n\tside_filters = 1", out);
	fputs(";\n};\n\n", out);
}

static void tsdl_write_print_clock(
		const struct ctf_clock *clock, struct ctf_arena *arena, FILE *out)
{
	fprintf(out, "clock {\n\tname = \"%s\";\n", clock->name);
	if (clock->description) {
		fputs("\tdescription = ", out);
		tsdl_write_print_text(clock->description, arena, out);
		fputs(";\n", out);
	}
	fprintf(out,
			"\tfreq = %" PRIu64 ";\n"
			"\tprecision = %" PRIu64 ";\n"
			"\toffset_s = %" PRId64 ";\n"
			"\toffset = %" PRIu64 ";\n"
			"\tabsolute = true;\n"
			"};\n\n",
			clock->frequency, clock->precision, clock->offset_s, clock->offset);
	fprintf(out,
			"typealias integer { size = 64; align = 8; signed = false; map = clock.%s.value; } := tick64;\n"
			"typealias integer { size = 27; align = 1; signed = false; map = "
			"clock.%s.value; } := tick27;\n\n",
			clock->name, clock->name);
}

/* Print `name := struct {…};`, nothing for NULL. */
static int tsdl_write_print_scope(const char *name, const struct ctf_type *type, FILE *out)
{
	int ret;

	if (!type)
		return 0;
	fprintf(out, "\t%s := ", name);
	ret = ctf_type_print_tsdl(type, out);
	fputs(";\n", out);
	return ret;
}

static const char packet_context[] = "\tpacket.context := struct {\n"
				     "\t\ttick64 timestamp_begin;\n"
				     "\t\ttick64 timestamp_end;\n"
				     "\t\tu64 content_size;\n"
				     "\t\tu64 packet_size;\n"
				     "\t\tu64 packet_seq_num;\n"
				     "\t\tu64 events_discarded;\n";

static int tsdl_write_print_channel(const struct ctf_channel *channel, uint32_t id, FILE *out)
{
	int ret;

	fprintf(out,
			"stream {\n"
			"\tid = %" PRIu32 ";\n"
			"%s"
			"%s"
			"\t};\n"
			"\tevent.header := struct {\n"
			"\t\tenum : integer { size = 5; align = 1; signed = false; } "
			"{ compact = 0 ... 29, medium = 30, extended = 31 } id;\n"
			"\t\tvariant <id> {\n"
			"\t\t\tstruct { tick27 timestamp; } compact;\n"
			"\t\t\tstruct { tick27 timestamp; integer { size = 16; align = 1; signed = "
			"false; } id; } medium;\n"
			"\t\t\tstruct { u32 id; tick64 timestamp; } extended;\n"
			"\t\t} v;\n"
			"\t} align(8);\n",
			id, packet_context,
			channel->placement == CTF_PER_CPU ? "\t\tu32 cpu_id;\n" : "");
	ret = tsdl_write_print_scope("event.context", channel->context, out);
	fputs("};\n\n", out);
	return ret;
}

static void tsdl_write_print_session(uint32_t id, FILE *out)
{
	fprintf(out,
			"/* Written by the recorder, not by the program. */\n"
			"stream {\n"
			"\tid = %" PRIu32 ";\n"
			"%s"
			"\t};\n"
			"\tevent.header := struct { u32 id; tick64 timestamp; };\n"
			"};\n\n"
			"event {\n"
			"\tname = \"side:lost\";\n"
			"\tid = 0;\n"
			"\tstream_id = %" PRIu32 ";\n"
			"\tloglevel = 4;\n"
			"\tfields := struct { string _ring; string _event; string _reason; u64 _count; };\n"
			"};\n\n",
			id, packet_context, id);
}

int ctf_tsdl_head(const struct ctf_writer *writer, char **text, size_t *ret_size)
{
	struct ctf_arena *arena = ctf_arena_create();
	FILE *out = arena ? open_memstream(text, ret_size) : NULL;
	int ret = 0;

	if (!out) {
		ctf_arena_destroy(arena);
		return -ENOMEM;
	}
	fputs("/* CTF 1.8 */\n\n", out);
	print_typealiases(out);
	tsdl_write_print_trace(writer, out);
	print_env(writer, arena, out);
	tsdl_write_print_clock(&writer->clock, arena, out);
	for (uint32_t i = 0; i < writer->nr_channels && !ret; i++)
		ret = writer->channels[i].late
				? 0
				: tsdl_write_print_channel(&writer->channels[i], i, out);
	tsdl_write_print_session(writer->nr_channels, out);
	ret = ctf_arena_has_failed(arena) ? -ENOMEM : ret;
	ctf_arena_destroy(arena);
	if (ctf_text_end(out, text))
		return -ENOMEM;
	if (ret)
		free(*text);
	return ret ? -ENOMEM : 0;
}

/* ---- variants and sequences in contexts ---- */

static bool has_kind(const struct ctf_type *type, enum ctf_kind kind)
{
	for (uint32_t i = 0; type && i < type->member_count; i++) {
		if (type->members[i].type->kind == kind)
			return true;
	}
	return false;
}

bool ctf_tsdl_is_late(const struct ctf_channel *channel)
{
	return has_kind(channel->context, CTF_VARIANT);
}

int ctf_tsdl_channel(
		const struct ctf_channel *channel, uint32_t id, char **ret_text, size_t *ret_size)
{
	FILE *out = open_memstream(ret_text, ret_size);
	int ret;

	if (!out)
		return -ENOMEM;
	ret = tsdl_write_print_channel(channel, id, out);
	if (ctf_text_end(out, ret_text))
		return -ENOMEM;
	if (ret)
		free(*ret_text);
	return ret ? -ENOMEM : 0;
}

/* The names that Babeltrace shows must differ, too. */
static bool name_is_taken(const struct ctf_type *fields, const char *name)
{
	for (uint32_t i = 0; i < fields->member_count; i++) {
		const char *other = fields->members[i].name;

		if (strcmp(other + (*other == '_'), name) == 0)
			return true;
	}
	return false;
}

/*
 * Babeltrace 2.0.4 does not find the tags of variants and the lengths of sequences in `context`,
 * and aborts. Such contexts become the first field, which side's reader moves back: its name has no leading underscore.
 */
static struct ctf_type *with_context(struct ctf_arena *arena, const struct ctf_type *context,
		const struct ctf_type *fields)
{
	struct ctf_type *both = ctf_type_struct(arena, fields->member_count + 1);
	struct ctf_type *copy = ctf_type_struct(arena, 0);
	char *name = ctf_arena_alloc(arena, sizeof(CTF_CONTEXT_FIELD) + 12, 1);

	if (!both || !copy || !name)
		return NULL;
	strcpy(name, CTF_CONTEXT_FIELD);
	for (uint32_t i = 2; name_is_taken(fields, name); i++)
		sprintf(name, CTF_CONTEXT_FIELD "_%" PRIu32, i);
	*copy = *context;
	ctf_member_set(&both->members[0], name, copy, false);
	memcpy(both->members + 1, fields->members, fields->member_count * sizeof(*fields->members));
	return both;
}

static int print_scopes(const struct ctf_event_parts *event, struct ctf_arena *arena, FILE *out)
{
	const struct ctf_type *fields = event->fields;
	int ret = 0;

	if (!has_kind(event->context, CTF_VARIANT) && !has_kind(event->context, CTF_SEQUENCE))
		ret = tsdl_write_print_scope("context", event->context, out);
	else
		fields = with_context(arena, event->context, fields);
	return ret || !fields ? -ENOMEM : tsdl_write_print_scope("fields", fields, out);
}

/* ---- events ---- */

/* The comment must not contain its end mark: JSON allows "\/" for "/". */
static void print_json_comment(const char *json, FILE *out)
{
	bool escaped = false;

	fputs("\t/* side.event ", out);
	for (const char *c = json; *c; c++) {
		if (*c == '/' && !escaped)
			fputc('\\', out);
		fputc(*c, out);
		escaped = *c == '\\' && !escaped;
	}
	fputs(" */\n", out);
}

int ctf_tsdl_event(const struct ctf_event_parts *event, char **text, size_t *ret_size)
{
	struct ctf_arena *arena = ctf_arena_create();
	FILE *out = arena ? open_memstream(text, ret_size) : NULL;
	int level = event->side_loglevel, ret;

	if (!out) {
		ctf_arena_destroy(arena);
		return -ENOMEM;
	}
	fputs("event {\n", out);
	if (event->json)
		print_json_comment(event->json, out);
	fputs("\tname = ", out);
	tsdl_write_print_text(event->name, arena, out);
	fprintf(out, ";\n\tid = %" PRIu32 ";\n\tstream_id = %" PRIu32 ";\n", event->id,
			event->channel);
	if (level >= 0 && level <= 7)
		fprintf(out, "\tloglevel = %d;\n", level == 7 ? 14 : level);
	ret = print_scopes(event, arena, out);
	fputs("};\n\n", out);
	ret = ctf_arena_has_failed(arena) ? -ENOMEM : ret;
	ctf_arena_destroy(arena);
	if (ctf_text_end(out, text))
		return -ENOMEM;
	if (ret)
		free(*text);
	return ret ? -ENOMEM : 0;
}
