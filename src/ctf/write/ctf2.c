/* SPDX-License-Identifier: MIT */
/*
 * Writes metadata in CTF 2: docs/spec/recording.md, section 9.
 *
 * It consists of fragments of JSON, each behind a byte 0x1E. The scopes that all events share are
 * trees like those of the events, and the same code prints them.
 */
#include <errno.h>
#include <inttypes.h>
#include <side/abi/type-description.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/write/ctf2-print.h"
#include "ctf/write/describe.h"
#include "ctf/write/writer.h"

#define FRAGMENT "\x1e"

/* ---- the scopes of all packets and records ---- */

static struct ctf_type *ctf2_write_print_number(struct ctf_arena *arena, unsigned int size,
		unsigned int align, const struct ctf_clock *clock)
{
	struct ctf_type *type = ctf_type_integer(arena, size, false);

	if (type) {
		type->align = align;
		type->clock = clock;
	}
	return type;
}

struct scope_member {
	const char *name;
	unsigned int size;
	enum ctf_role role;
};

static struct ctf_type *make_scope(
		struct ctf_arena *arena, const struct scope_member *members, uint32_t count)
{
	struct ctf_type *type = ctf_type_struct(arena, count);

	for (uint32_t i = 0; type && i < count; i++) {
		struct ctf_type *member = ctf2_write_print_number(arena, members[i].size, 8, NULL);

		if (!member)
			return NULL;
		ctf_member_set(&type->members[i], members[i].name, member, false);
		type->members[i].role = members[i].role;
	}
	return type;
}

static struct ctf_type *packet_header(struct ctf_arena *arena)
{
	static const struct scope_member members[] = {
			{"magic", 32, CTF_ROLE_MAGIC},
			{"uuid", 8, CTF_ROLE_UUID},
			{"stream_id", 32, CTF_ROLE_STREAM_ID},
			{"stream_instance_id", 64, CTF_ROLE_STREAM_INSTANCE_ID},
	};
	struct ctf_type *type = make_scope(arena, members, 4), *uuid;

	if (!type)
		return NULL;
	type->members[1].type->byte = true;
	uuid = ctf_type_array(arena, type->members[1].type, 16);
	type->members[1].type = uuid;
	return uuid ? type : NULL;
}

static struct ctf_type *packet_context(struct ctf_arena *arena, bool has_cpu)
{
	static const struct scope_member members[] = {
			{"timestamp_begin", 64, CTF_ROLE_TIMESTAMP_BEGIN},
			{"timestamp_end", 64, CTF_ROLE_TIMESTAMP_END},
			{"content_size", 64, CTF_ROLE_CONTENT_SIZE},
			{"packet_size", 64, CTF_ROLE_PACKET_SIZE},
			{"packet_seq_num", 64, CTF_ROLE_PACKET_SEQ_NUM},
			{"events_discarded", 64, CTF_ROLE_EVENTS_DISCARDED},
			{"cpu_id", 32, CTF_ROLE_CPU_ID},
	};

	return make_scope(arena, members, has_cpu ? 7 : 6);
}

/* Make { timestamp; id } or { id; timestamp } of a record; no id if id_size is 0. */
static struct ctf_type *record_form(struct ctf_arena *arena, const struct ctf_clock *clock,
		unsigned int time_size, unsigned int id_size)
{
	bool aligned = time_size == 64;
	unsigned int align = aligned ? 8 : 1, at = aligned ? 1 : 0;
	struct ctf_type *type = ctf_type_struct(arena, id_size ? 2 : 1);
	struct ctf_type *time = ctf2_write_print_number(arena, time_size, align, clock);
	struct ctf_type *id = ctf2_write_print_number(arena, id_size, align, NULL);

	if (!type || !time || !id)
		return NULL;
	ctf_member_set(&type->members[at], "timestamp", time, false);
	if (id_size) {
		ctf_member_set(&type->members[1 - at], "id", id, false);
		type->members[1 - at].role = CTF_ROLE_EVENT_ID;
	}
	return type;
}

/* Make the header of section 1: if two fields contain the event's id, the last one counts. */
static struct ctf_type *record_header(struct ctf_arena *arena, const struct ctf_clock *clock)
{
	static const struct ctf_label labels[] = {
			{"compact", 0, 29}, {"medium", 30, 30}, {"extended", 31, 31}};
	struct ctf_type *tag = ctf2_write_print_number(arena, 5, 1, NULL);
	struct ctf_type *id = tag ? ctf_type_enum(arena, tag, 3) : NULL;
	struct ctf_type *forms = ctf_type_variant(arena, 3, "id");
	struct ctf_type *type = ctf_type_struct(arena, 2);
	struct ctf_type *options[] = {
			record_form(arena, clock, 27, 0),
			record_form(arena, clock, 27, 16),
			record_form(arena, clock, 64, 32),
	};

	if (!id || !forms || !type)
		return NULL;
	for (unsigned int i = 0; i < 3; i++) {
		if (!options[i])
			return NULL;
		id->labels[i] = labels[i];
		ctf_member_set(&forms->members[i], labels[i].text, options[i], false);
	}
	type->align = 8;
	ctf_member_set(&type->members[0], "id", id, false);
	type->members[0].role = CTF_ROLE_EVENT_ID;
	ctf_member_set(&type->members[1], "v", forms, false);
	return type;
}

/* ---- fragments ---- */

/* The traced process chooses these texts, so they may be invalid UTF-8. */
static void ctf2_write_print_text(const char *text, struct ctf_arena *arena, FILE *out)
{
	const char *clean =
			ctf_describe_text(arena, text ? text : "", 1, SIDE_TYPE_BYTE_ORDER_HOST);

	ctf2_print_string(clean ? clean : "", out);
}

static int ctf2_write_print_scope(
		const char *key, const struct ctf_type *type, enum ctf_scope scope, FILE *out)
{
	if (!type)
		return 0;
	fprintf(out, ",\n \"%s-field-class\":", key);
	return ctf2_print_scope(type, scope, out);
}

static void print_preamble(const struct ctf_writer *writer, FILE *out)
{
	fputs(FRAGMENT "{\"type\":\"preamble\",\"version\":2,\"uuid\":[", out);
	for (unsigned int i = 0; i < 16; i++)
		fprintf(out, "%s%u", i ? "," : "", writer->uuid[i]);
	fputs("]}\n", out);
}

static int ctf2_write_print_trace(
		const struct ctf_writer *writer, struct ctf_arena *arena, FILE *out)
{
	const struct ctf_writer_config *config = &writer->config;
	struct ctf_type *header = packet_header(arena);
	int ret;

	if (!header)
		return -ENOMEM;
	fprintf(out,
			FRAGMENT "{\"type\":\"trace-class\",\"environment\":{"
				 "\"domain\":\"%s\",\"tracer_name\":\"side\","
				 "\"tracer_major\":%" PRIu32 ",\"tracer_minor\":%" PRIu32
				 ",\"tracer_patchlevel\":%" PRIu32
				 ",\"side_format\":1,\"side_string_encoding\":\"" CTF_STRING_NOTE
				 "\",\n \"hostname\":",
			config->domain, config->version[0], config->version[1], config->version[2]);
	ctf2_write_print_text(config->hostname, arena, out);
	if (config->vpid >= 0) { /* Else the trace is not of one process. */
		fputs(",\"procname\":", out);
		ctf2_write_print_text(config->procname, arena, out);
		fprintf(out, ",\"vpid\":%" PRId64 ",\"exe\":", config->vpid);
		ctf2_write_print_text(config->exe, arena, out);
		if (config->forked_from > 0)
			fprintf(out, ",\"forked_from\":%" PRId64, config->forked_from);
	}
	if (config->overwrites)
		fputs(",\"side_overwrites\":1", out);
	if (config->filters)
		fputs(",\"side_filters\":1", out);
	fputc('}', out);
	ret = ctf2_write_print_scope("packet-header", header, CTF_SCOPE_PACKET_HEADER, out);
	fputs("}\n", out);
	return ret;
}

static void ctf2_write_print_clock(
		const struct ctf_clock *clock, struct ctf_arena *arena, FILE *out)
{
	fputs(FRAGMENT "{\"type\":\"clock-class\",\"id\":", out);
	ctf2_write_print_text(clock->name, arena, out);
	fputs(",\"name\":", out);
	ctf2_write_print_text(clock->name, arena, out);
	if (clock->description) {
		fputs(",\"description\":", out);
		ctf2_write_print_text(clock->description, arena, out);
	}
	fprintf(out,
			",\"frequency\":%" PRIu64 ",\"precision\":%" PRIu64
			",\"origin\":\"unix-epoch\",\"offset-from-origin\":{\"seconds\":%" PRId64
			",\"cycles\":%" PRIu64 "}}\n",
			clock->frequency, clock->precision, clock->offset_s, clock->offset);
}

static int print_stream(const struct ctf_writer *writer, struct ctf_arena *arena, uint32_t id,
		const char *name, const struct ctf_type *context, const struct ctf_type *header,
		const struct ctf_type *common, FILE *out)
{
	int ret;

	if (!context || !header)
		return -ENOMEM;
	fprintf(out, FRAGMENT "{\"type\":\"data-stream-class\",\"id\":%" PRIu32 ",\"name\":", id);
	ctf2_write_print_text(name, arena, out);
	fputs(",\"default-clock-class-id\":", out);
	ctf2_write_print_text(writer->clock.name, arena, out);
	ret = ctf2_write_print_scope("packet-context", context, CTF_SCOPE_PACKET_CONTEXT, out);
	if (!ret)
		ret = ctf2_write_print_scope(
				"event-record-header", header, CTF_SCOPE_EVENT_HEADER, out);
	if (!ret)
		ret = ctf2_write_print_scope("event-record-common-context", common,
				CTF_SCOPE_STREAM_EVENT_CONTEXT, out);
	fputs("}\n", out);
	return ret;
}

static int ctf2_write_print_session(
		const struct ctf_writer *writer, struct ctf_arena *arena, FILE *out)
{
	const struct ctf_type *header = record_form(arena, &writer->clock, 64, 32);
	struct ctf_type *fields = ctf_type_struct(arena, 4);
	static const char *const names[] = {"_ring", "_event", "_reason", "_count"};
	const struct ctf_event_parts lost = {
			.channel = writer->nr_channels,
			.name = "side:lost",
			.side_loglevel = 4,
			.fields = fields,
	};
	char *text;
	size_t size;
	int ret = print_stream(writer, arena, writer->nr_channels, "side_session",
			packet_context(arena, false), header, NULL, out);

	for (unsigned int i = 0; !ret && i < 4; i++) {
		struct ctf_type *type = i < 3 ? ctf_type_string(arena)
					      : ctf2_write_print_number(arena, 64, 8, NULL);

		if (!fields || !type)
			return -ENOMEM;
		ctf_member_set(&fields->members[i], names[i], type, false);
	}
	if (!ret)
		ret = ctf2_event(&lost, &text, &size);
	if (!ret) {
		fputs(text, out);
		free(text);
	}
	return ret;
}

int ctf2_head(const struct ctf_writer *writer, char **text, size_t *ret_size)
{
	struct ctf_arena *arena = ctf_arena_create();
	FILE *out = arena ? open_memstream(text, ret_size) : NULL;
	int ret;

	if (!out) {
		ctf_arena_destroy(arena);
		return -ENOMEM;
	}
	print_preamble(writer, out);
	ret = ctf2_write_print_trace(writer, arena, out);
	ctf2_write_print_clock(&writer->clock, arena, out);
	for (uint32_t i = 0; !ret && i < writer->nr_channels; i++) {
		const struct ctf_channel *channel = &writer->channels[i];

		ret = print_stream(writer, arena, i, channel->name,
				packet_context(arena, channel->placement == CTF_PER_CPU),
				record_header(arena, &writer->clock), channel->context, out);
	}
	if (!ret)
		ret = ctf2_write_print_session(writer, arena, out);
	ret = ctf_arena_has_failed(arena) ? -ENOMEM : ret;
	ctf_arena_destroy(arena);
	if (ctf_text_end(out, text))
		return ret ? ret : -ENOMEM;
	if (ret)
		free(*text);
	return ret;
}

int ctf2_event(const struct ctf_event_parts *event, char **text, size_t *ret_size)
{
	static const char *const levels[] = {"emergency", "alert", "critical", "error", "warning",
			"notice", "info", "debug"};
	struct ctf_arena *arena = ctf_arena_create();
	FILE *out = arena ? open_memstream(text, ret_size) : NULL;
	int level = event->side_loglevel, ret;

	if (!out) {
		ctf_arena_destroy(arena);
		return -ENOMEM;
	}
	fprintf(out,
			FRAGMENT "{\"type\":\"event-record-class\",\"id\":%" PRIu32
				 ",\"data-stream-class-id\":%" PRIu32 ",\"name\":",
			event->id, event->channel);
	ctf2_write_print_text(event->name, arena, out);
	fputs(",\n \"attributes\":{", out);
	if (level >= 0 && level <= 7)
		fprintf(out, "\"babeltrace.org,2020\":{\"log-level\":\"%s\"}%s", levels[level],
				event->json ? "," : "");
	if (event->json)
		fprintf(out, "\n  \"" CTF2_NAMESPACE "\":{\"event\":%s}", event->json);
	fputc('}', out);
	ret = ctf2_write_print_scope(
			"specific-context", event->context, CTF_SCOPE_EVENT_CONTEXT, out);
	if (!ret)
		ret = ctf2_write_print_scope("payload", event->fields, CTF_SCOPE_EVENT_FIELDS, out);
	fputs("}\n", out);
	ret = ctf_arena_has_failed(arena) ? -ENOMEM : ret;
	ctf_arena_destroy(arena);
	if (ctf_text_end(out, text))
		return ret ? ret : -ENOMEM;
	if (ret)
		free(*text);
	return ret;
}
