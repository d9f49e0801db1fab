/* SPDX-License-Identifier: MIT */
/*
 * Prints field classes as CTF 2 (JSON): docs/spec/recording.md, section 9.
 *
 * The names are those of the tree, in event scopes without the leading underscore that TSDL needs.
 * Every class describes the same bytes as its TSDL form.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json-writer.h"
#include "ctf/write/ctf2-print.h"
#include "ctf/write/describe.h"

/* A structure that encloses the current position, the innermost first. */
struct print_level {
	const struct print_level *up;
	const struct ctf_type *type;
	uint32_t at; /* The member that is being printed. */
};

struct printer {
	FILE *out;
	enum ctf_scope scope;
	int failed;
};

static void ctf2_print_type(struct printer *p, const struct print_level *level,
		const struct ctf_type *type, const struct ctf_member *member);

/* ---- texts ---- */

static void ctf2_print_bytes(const char *text, size_t size, FILE *out)
{
	struct json_writer json = {.write = json_write_to_file, .user = out};

	json_write_string(&json, text, size);
}

void ctf2_print_string(const char *text, FILE *out)
{
	ctf2_print_bytes(text, strlen(text), out);
}

/* In event scopes TSDL puts an underscore before every name of a field. */
static bool is_event_scope(enum ctf_scope scope)
{
	return scope >= CTF_SCOPE_STREAM_EVENT_CONTEXT;
}

static const char *plain_name(enum ctf_scope scope, const char *name)
{
	return is_event_scope(scope) && *name == '_' ? name + 1 : name;
}

/* ---- numbers ---- */

static const char *role_name(enum ctf_role role)
{
	switch (role) {
	case CTF_ROLE_MAGIC: return "packet-magic-number";
	case CTF_ROLE_UUID: return "metadata-stream-uuid";
	case CTF_ROLE_STREAM_ID: return "data-stream-class-id";
	case CTF_ROLE_STREAM_INSTANCE_ID: return "data-stream-id";
	case CTF_ROLE_TIMESTAMP_BEGIN: return "default-clock-timestamp";
	case CTF_ROLE_TIMESTAMP_END: return "packet-end-default-clock-timestamp";
	case CTF_ROLE_CONTENT_SIZE: return "packet-content-length";
	case CTF_ROLE_PACKET_SIZE: return "packet-total-length";
	case CTF_ROLE_PACKET_SEQ_NUM: return "packet-sequence-number";
	case CTF_ROLE_EVENTS_DISCARDED: return "discarded-event-record-counter-snapshot";
	case CTF_ROLE_EVENT_ID: return "event-record-class-id";
	case CTF_ROLE_CPU_ID:
	case CTF_ROLE_NONE: break;
	}
	return NULL;
}

static void print_role(const struct printer *p, const struct ctf_type *type,
		const struct ctf_member *member)
{
	const char *role = member && !is_event_scope(p->scope) ? role_name(member->role) : NULL;

	if (!role && type->clock && p->scope == CTF_SCOPE_EVENT_HEADER)
		role = "default-clock-timestamp";
	if (role)
		fprintf(p->out, ",\"roles\":[\"%s\"]", role);
}

static void print_fixed(const struct printer *p, const struct ctf_type *type, const char *class)
{
	fprintf(p->out, "{\"type\":\"fixed-length-%s\",\"length\":%u,\"byte-order\":\"%s-endian\"",
			class, type->size, type->big_endian ? "big" : "little");
	if (type->align != 1)
		fprintf(p->out, ",\"alignment\":%" PRIu32, type->align);
	if (type->reversed)
		fprintf(p->out, ",\"bit-order\":\"%s\"",
				type->big_endian ? "first-to-last" : "last-to-first");
}

static void print_range(const struct printer *p, bool is_signed, uint64_t begin, uint64_t end)
{
	if (is_signed)
		fprintf(p->out, "[%" PRId64 ",%" PRId64 "]", (int64_t)begin, (int64_t)end);
	else
		fprintf(p->out, "[%" PRIu64 ",%" PRIu64 "]", begin, end);
}

struct sorted_label {
	const struct ctf_label *label;
	uint32_t index;
};

static int compare_labels(const void *a, const void *b)
{
	const struct sorted_label *left = a, *right = b;
	int order = strcmp(left->label->text, right->label->text);

	if (order)
		return order;
	return left->index < right->index ? -1 : left->index > right->index;
}

/* {"label":[[1,2],[5,5]]}: a label must be unique, so equal ones are merged. */
static void print_labels(struct printer *p, const char *key, const struct ctf_type *type)
{
	struct sorted_label *sorted = malloc(type->label_count * sizeof(*sorted));

	if (!sorted) {
		p->failed = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < type->label_count; i++)
		sorted[i] = (struct sorted_label){&type->labels[i], i};
	qsort(sorted, type->label_count, sizeof(*sorted), compare_labels);
	fprintf(p->out, ",\"%s\":{", key);
	for (uint32_t i = 0; i < type->label_count; i++) {
		const struct ctf_label *label = sorted[i].label;
		bool again = i && strcmp(label->text, sorted[i - 1].label->text) == 0;

		if (!again) {
			fputs(i ? "]," : "", p->out);
			ctf2_print_string(label->text, p->out);
			fputs(":[", p->out);
		} else {
			fputc(',', p->out);
		}
		print_range(p, type->is_signed && !type->bitmap, label->begin, label->end);
	}
	fputs("]}", p->out);
	free(sorted);
}

static void ctf2_print_integer(
		struct printer *p, const struct ctf_type *type, const struct ctf_member *member)
{
	if (type->boolean || (type->bitmap && type->label_count)) {
		print_fixed(p, type, type->boolean ? "boolean" : "bit-map");
		if (type->bitmap)
			print_labels(p, "flags", type);
		fputc('}', p->out);
		return;
	}
	if (type->leb128)
		fprintf(p->out, "{\"type\":\"variable-length-%s-integer\"",
				type->is_signed ? "signed" : "unsigned");
	else
		print_fixed(p, type, type->is_signed ? "signed-integer" : "unsigned-integer");
	if (type->base != 10)
		fprintf(p->out, ",\"preferred-display-base\":%u", type->base);
	if (type->kind == CTF_ENUM && type->label_count)
		print_labels(p, "mappings", type);
	if (!type->is_signed)
		print_role(p, type, member);
	fputc('}', p->out);
}

/* ---- locations ---- */

static const char *const scope_names[CTF_SCOPE_COUNT] = {
		[CTF_SCOPE_PACKET_HEADER] = "packet-header",
		[CTF_SCOPE_PACKET_CONTEXT] = "packet-context",
		[CTF_SCOPE_EVENT_HEADER] = "event-record-header",
		[CTF_SCOPE_STREAM_EVENT_CONTEXT] = "event-record-common-context",
		[CTF_SCOPE_EVENT_CONTEXT] = "event-record-specific-context",
		[CTF_SCOPE_EVENT_FIELDS] = "event-record-payload",
};

/* Search backwards from the current position: a referenced field is usually just before it. */
static const struct ctf_member *ctf2_print_find_member(
		const struct print_level *level, const char *name, size_t size)
{
	for (uint32_t i = level->at; i-- > 0;) {
		const struct ctf_member *member = &level->type->members[i];

		if (strncmp(member->name, name, size) == 0 && !member->name[size])
			return member;
	}
	return NULL;
}

/* Print a.b.c of TSDL; without the underscores in event scopes. */
static void ctf2_print_path(const struct printer *p, const char *path, enum ctf_scope scope)
{
	const char *comma = "";

	while (*path) {
		size_t size = strcspn(path, ".");
		bool strip = is_event_scope(scope) && *path == '_';

		fputs(comma, p->out);
		ctf2_print_bytes(path + strip, size - strip, p->out);
		comma = ",";
		path += size + (path[size] == '.');
	}
}

static void print_location(struct printer *p, const struct print_level *level,
		const struct ctf_type *type, const char *key)
{
	const struct ctf_location *location = type->location;
	const char *name = type->reference;
	unsigned int up = 0;

	fprintf(p->out, ",\"%s-field-location\":{", key);
	if (location) {
		enum ctf_scope scope =
				location->origin < 0 ? p->scope : (enum ctf_scope)location->origin;

		if (location->origin >= 0)
			fprintf(p->out, "\"origin\":\"%s\",", scope_names[location->origin]);
		fputs("\"path\":[", p->out);
		for (uint32_t i = 0; i < location->count; i++) {
			fputs(i ? "," : "", p->out);
			if (location->path[i])
				ctf2_print_string(plain_name(scope, location->path[i]), p->out);
			else
				fputs("null", p->out);
		}
		fputs("]}", p->out);
		return;
	}
	if (!name) {
		p->failed = -EINVAL;
		return;
	}
	for (; level; level = level->up, up++) {
		if (ctf2_print_find_member(level, name, strcspn(name, ".")))
			break;
	}
	for (enum ctf_scope scope = 0; !level && scope < CTF_SCOPE_COUNT; scope++) {
		size_t size = strlen(ctf_scope_prefixes[scope]);

		if (strncmp(name, ctf_scope_prefixes[scope], size) == 0) {
			fprintf(p->out, "\"origin\":\"%s\",\"path\":[", scope_names[scope]);
			ctf2_print_path(p, name + size, scope);
			fputs("]}", p->out);
			return;
		}
	}
	if (!level)
		p->failed = -EINVAL;
	fputs("\"path\":[", p->out);
	while (up--)
		fputs("null,", p->out);
	ctf2_print_path(p, name, p->scope);
	fputs("]}", p->out);
}

/* ---- compounds ---- */

static void print_struct(
		struct printer *p, const struct print_level *level, const struct ctf_type *type)
{
	struct print_level inner = {level, type, 0};

	fputs("{\"type\":\"structure\"", p->out);
	if (type->align != 1)
		fprintf(p->out, ",\"minimum-alignment\":%" PRIu32, type->align);
	fputs(",\"member-classes\":[", p->out);
	for (uint32_t i = 0; i < type->member_count; i++) {
		const struct ctf_member *member = &type->members[i];

		fputs(i ? ",{\"name\":" : "{\"name\":", p->out);
		ctf2_print_string(plain_name(p->scope, member->name), p->out);
		fputs(",\"field-class\":", p->out);
		inner.at = i;
		ctf2_print_type(p, &inner, member->type, member);
		if (member->hidden)
			fputs(",\"attributes\":{\"babeltrace.org,2020\":{\"is-key-only\":true}}",
					p->out);
		fputc('}', p->out);
	}
	fputs("]}", p->out);
}

static void print_encoding(const struct printer *p, const struct ctf_type *type)
{
	static const char *const encodings[] = {
			"utf-8", "utf-16le", "utf-16be", "utf-32le", "utf-32be"};

	if (type->encoding)
		fprintf(p->out, ",\"encoding\":\"%s\"", encodings[type->encoding]);
}

static void print_array(struct printer *p, const struct print_level *level,
		const struct ctf_type *type, const struct ctf_member *member)
{
	const struct ctf_type *element = type->element;
	bool bytes = element->byte && element->size == 8 && element->align <= 8;
	bool text = element->text && element->size == 8 && element->align <= 8;

	fprintf(p->out, "{\"type\":\"%s-length-%s\"",
			type->kind == CTF_ARRAY ? "static" : "dynamic",
			text                    ? "string"
					: bytes ? "blob"
						: "array");
	if (type->kind == CTF_ARRAY)
		fprintf(p->out, ",\"length\":%" PRIu64, type->length);
	else
		print_location(p, level, type, "length");
	if (text) {
		print_encoding(p, type);
	} else if (bytes) {
		if (type->media_type) {
			fputs(",\"media-type\":", p->out);
			ctf2_print_string(type->media_type, p->out);
		}
		print_role(p, type, member);
	} else {
		if (type->align > element->align)
			fprintf(p->out, ",\"minimum-alignment\":%" PRIu32, type->align);
		fputs(",\"element-field-class\":", p->out);
		ctf2_print_type(p, level, element, NULL);
	}
	fputc('}', p->out);
}

struct ctf2_print_option_name {
	const char *name;
	uint32_t index;
};

static int ctf2_print_compare_names(const void *a, const void *b)
{
	return strcmp(((const struct ctf2_print_option_name *)a)->name,
			((const struct ctf2_print_option_name *)b)->name);
}

static int compare_ranges(const void *a, const void *b)
{
	const struct ctf_option_range *left = a, *right = b;

	if (left->option != right->option)
		return left->option < right->option ? -1 : 1;
	return left->begin < right->begin ? -1 : left->begin > right->begin;
}

/* The option that each label of the tag selects, sorted by option. NULL: out of memory. */
static struct ctf_option_range *tag_ranges(
		const struct ctf_type *type, const struct ctf_type *tag, uint32_t *ret_count)
{
	struct ctf_option_range *ranges = calloc((size_t)tag->label_count + 1, sizeof(*ranges));
	struct ctf2_print_option_name *names =
			calloc((size_t)type->member_count + 1, sizeof(*names));

	*ret_count = 0;
	for (uint32_t i = 0; names && i < type->member_count; i++)
		names[i] = (struct ctf2_print_option_name){type->members[i].name, i};
	if (names)
		qsort(names, type->member_count, sizeof(*names), ctf2_print_compare_names);
	for (uint32_t i = 0; names && ranges && i < tag->label_count; i++) {
		const struct ctf_label *label = &tag->labels[i];
		const struct ctf2_print_option_name key = {label->text, 0}, *found;

		found = bsearch(&key, names, type->member_count, sizeof(*names),
				ctf2_print_compare_names);
		if (found)
			ranges[(*ret_count)++] = (struct ctf_option_range){
					label->begin, label->end, found->index};
	}
	if (!names) {
		free(ranges);
		return NULL;
	}
	free(names);
	return ranges;
}

/* Print the ranges of one option, from *at on, and advance *at behind them. */
static void print_option_ranges(struct printer *p, bool is_signed,
		const struct ctf_option_range *ranges, uint32_t count, uint32_t option,
		uint32_t *at)
{
	uint32_t printed = 0;

	while (*at < count && ranges[*at].option < option)
		(*at)++;
	fputs("\"selector-field-ranges\":[", p->out);
	for (; *at < count && ranges[*at].option == option; (*at)++) {
		fputs(printed++ ? "," : "", p->out);
		print_range(p, is_signed, ranges[*at].begin, ranges[*at].end);
	}
	fputc(']', p->out);
	if (!printed) /* The option could never be selected, and readers refuse an empty list. */
		p->failed = p->failed ? p->failed : -EINVAL;
}

static void ctf2_print_options(struct printer *p, const struct print_level *level,
		const struct ctf_type *type, bool is_signed, const struct ctf_option_range *ranges,
		uint32_t count)
{
	uint32_t at = 0;

	if (type->optional) {
		fputc(',', p->out);
		print_option_ranges(p, is_signed, ranges, count, 1, &at);
		fputs(",\"field-class\":", p->out);
		ctf2_print_type(p, level, type->members[1].type, &type->members[1]);
		fputc('}', p->out);
		return;
	}
	fputs(",\"options\":[", p->out);
	for (uint32_t i = 0; i < type->member_count; i++) {
		fputs(i ? ",{\"name\":" : "{\"name\":", p->out);
		ctf2_print_string(
				plain_name(CTF_SCOPE_EVENT_FIELDS, type->members[i].name), p->out);
		fputs(",\"field-class\":", p->out);
		ctf2_print_type(p, level, type->members[i].type, &type->members[i]);
		fputc(',', p->out);
		print_option_ranges(p, is_signed, ranges, count, i, &at);
		fputc('}', p->out);
	}
	fputs("]}", p->out);
}

/* A variant that was read contains the ranges of its tag; a new one needs the tag member before
   it. */
static void ctf2_print_variant(
		struct printer *p, const struct print_level *level, const struct ctf_type *type)
{
	const struct ctf_member *member;
	struct ctf_option_range *ranges = NULL;
	uint32_t count = type->range_count;
	bool is_signed = type->tag_signed;

	if (count) {
		ranges = malloc(count * sizeof(*ranges));
		if (ranges)
			memcpy(ranges, type->ranges, count * sizeof(*ranges));
	} else {
		member = level && type->reference ? ctf2_print_find_member(level, type->reference,
								    strlen(type->reference))
						  : NULL;
		if (!member) {
			p->failed = -EINVAL;
			return;
		}
		is_signed = member->type->is_signed;
		ranges = tag_ranges(type, member->type, &count);
	}
	if (!ranges) {
		p->failed = -ENOMEM;
		return;
	}
	qsort(ranges, count, sizeof(*ranges), compare_ranges);
	fprintf(p->out, "{\"type\":\"%s\"", type->optional ? "optional" : "variant");
	print_location(p, level, type, "selector");
	ctf2_print_options(p, level, type, is_signed, ranges, count);
	free(ranges);
}

static void ctf2_print_type(struct printer *p, const struct print_level *level,
		const struct ctf_type *type, const struct ctf_member *member)
{
	switch (type->kind) {
	case CTF_INTEGER:
	case CTF_ENUM: ctf2_print_integer(p, type, member); break;
	case CTF_FLOAT:
		print_fixed(p, type, "floating-point-number");
		fputc('}', p->out);
		break;
	case CTF_STRING:
		fputs("{\"type\":\"null-terminated-string\"", p->out);
		print_encoding(p, type);
		fputc('}', p->out);
		break;
	case CTF_STRUCT: print_struct(p, level, type); break;
	case CTF_VARIANT: ctf2_print_variant(p, level, type); break;
	case CTF_ARRAY:
	case CTF_SEQUENCE: print_array(p, level, type, member); break;
	}
}

int ctf2_print_scope(const struct ctf_type *type, enum ctf_scope scope, FILE *out)
{
	struct printer p = {.out = out, .scope = scope};

	ctf2_print_type(&p, NULL, type, NULL);
	return p.failed ? p.failed : ferror(out) ? -ENOMEM : 0;
}
