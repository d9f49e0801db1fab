/* SPDX-License-Identifier: MIT */
/*
 * Converts a record of the kernel to CTF: the fields one after the other, in the form that the
 * event's types describe.
 *
 * The sink gets each event once, before its first record, and then its records.
 */
#include <errno.h>
#include <stdio.h>

#include "base/inside/hash.h"
#include "kernel-events/parts.h"

/*
 * variants of one tracepoint: limits a program that writes another description in each record,
 * whose further records are stored as bytes
 */
#define CLASSES_MAX 4096
#define LEVEL_INFO 6

/* ---- events that tracefs describes ---- */

int kernel_describe_class(struct kernel_record *record, struct kernel_event_class *event_class)
{
	struct ctf_arena *arena = ctf_arena_create();
	struct ctf_type *type = NULL;
	int ret = arena ? layout_make(&event_class->format, event_class->format.event_header, arena,
					  &event_class->layout, &type)
			: -ENOMEM;

	event_class->event = (struct kernel_event){.system = event_class->system,
			.name = event_class->name,
			.level = -1,
			.fields = type};
	if (!ret)
		ret = record->sink->describe(record, &event_class->event);
	else
		kernel_trace_problem(record, "cannot describe an event: out of memory", "");
	event_class->described = !ret;
	if (ret || !record->sink->chooses) {
		ctf_arena_destroy(arena);
		arena = NULL;
	}
	event_class->arena = arena;
	return ret;
}

/* ---- EventHeader ---- */

/* Convert an EventHeader level, CRITICAL to VERBOSE, to a log level of side. */
static int kernel_convert_loglevel(uint8_t level)
{
	static const int levels[] = {LEVEL_INFO, 2, 3, 4, 6, 7};

	return level < sizeof(levels) / sizeof(levels[0]) ? levels[level] : 7;
}

/* True if the record needs a context for the numbers of its header: id, version, tag, opcode. */
static bool kernel_convert_has_numbers(const struct eventheader *header)
{
	return header->id || header->version || header->tag || header->opcode;
}

static struct ctf_type *kernel_convert_bytes_type(struct ctf_arena *arena)
{
	struct ctf_type *byte = ctf_type_integer(arena, 8, false);

	if (!byte)
		return NULL;
	byte->base = 16;
	byte->byte = true;
	return ctf_type_array(arena, byte, 16);
}

static struct ctf_type *kernel_convert_context_type(
		struct ctf_arena *arena, const struct eventheader *header)
{
	static const char *const names[] = {
			"_event_id", "_event_version", "_event_tag", "_event_opcode"};
	static const unsigned int bits[] = {16, 8, 16, 8};
	struct ctf_type *type = ctf_type_struct(arena, 6), *member;
	uint32_t count = 0, i;

	if (!type)
		return NULL;
	for (i = 0; kernel_convert_has_numbers(header) && i < 4; i++) {
		member = ctf_type_integer(arena, bits[i], false);
		if (!member)
			return NULL;
		ctf_member_set(&type->members[count++], names[i], member, false);
	}
	for (i = 0; i < header->activity_size / 16; i++) {
		member = kernel_convert_bytes_type(arena);
		if (!member)
			return NULL;
		ctf_member_set(&type->members[count++], i ? "_related_activity" : "_activity",
				member, false);
	}
	type->member_count = count;
	return type;
}

static void kernel_convert_append_context(struct byte_buffer *to, const struct eventheader *header)
{
	if (kernel_convert_has_numbers(header)) {
		bytes_put(to, &header->id, sizeof(header->id));
		bytes_put(to, &header->version, sizeof(header->version));
		bytes_put(to, &header->tag, sizeof(header->tag));
		bytes_put(to, &header->opcode, sizeof(header->opcode));
	}
	bytes_put(to, header->activity, header->activity_size);
}

static struct event_class_variant *kernel_convert_find_class(
		const struct kernel_event_class *event_class, const struct eventheader *header,
		const uint8_t shape[3], uint64_t sum)
{
	struct event_class_variant *class;

	for (class = event_class->classes; class; class = class->next)
		if (class->hash == sum && class->key_size == header->metadata_size + 3 &&
				!memcmp(class->key, shape, 3) &&
				!memcmp(class->key + 3, header->metadata, header->metadata_size))
			return class;
	return NULL;
}

static struct event_class_variant *kernel_convert_make_class(struct kernel_event_class *event_class,
		const struct eventheader *header, const uint8_t shape[3], uint64_t sum)
{
	struct event_class_variant *class = calloc(1, sizeof(*class));

	if (!class)
		return NULL;
	class->hash = sum;
	class->key_size = header->metadata_size + 3;
	class->key = malloc(class->key_size);
	class->arena = ctf_arena_create();
	if (!class->key || !class->arena) {
		free(class->key);
		ctf_arena_destroy(class->arena);
		free(class);
		return NULL;
	}
	memcpy(class->key, shape, 3);
	memcpy(class->key + 3, header->metadata, header->metadata_size);
	if (eventheader_parse(header, class->arena, &class->class)) {
		ctf_arena_destroy(class->arena);
		class->arena = NULL;
	}
	class->next = event_class->classes;
	event_class->classes = class;
	event_class->nr_classes++;
	return class;
}

static int kernel_convert_describe_class(struct kernel_record *record,
		const struct kernel_event_class *event_class, struct event_class_variant *class,
		const struct eventheader *header)
{
	struct kernel_event *event = &class->event;
	size_t size = strlen(event_class->name) + strlen(class->class.name) + 2;
	char *name = ctf_arena_alloc(class->arena, size, 1);

	if (!name)
		return -ENOMEM;
	(void)snprintf(name, size, "%s:%s", event_class->name, class->class.name);
	*event = (struct kernel_event){
			.system = event_class->system,
			.name = name,
			.level = kernel_convert_loglevel(header->level),
			.fields = class->class.type,
			.has_carrier = true,
	};
	if (kernel_convert_has_numbers(header) || header->activity) {
		event->context = kernel_convert_context_type(class->arena, header);
		if (!event->context)
			return -ENOMEM;
	}
	return record->sink->describe(record, event);
}

/*
 * Find or add the variant of a record, and convert its fields. A variant is described at its first
 * record that can be decoded, so the readers' work is bounded by the records in the trace. Returns
 * NULL if the record cannot be decoded.
 */
static struct event_class_variant *kernel_convert_decode(struct kernel_record *record,
		struct kernel_event_class *event_class, const struct eventheader *header)
{
	const uint8_t shape[3] = {
			(uint8_t)(kernel_convert_has_numbers(header) | header->is_swapped << 1),
			(uint8_t)(header->activity_size / 16), header->level};
	uint64_t sum = hash_fnv1a_64(
			HASH_FNV1A_64_BEGIN ^ (uint64_t)(shape[0] | shape[1] << 8 | shape[2] << 16),
			header->metadata, header->metadata_size);
	struct event_class_variant *class =
			kernel_convert_find_class(event_class, header, shape, sum);

	if (!class && event_class->nr_classes < CLASSES_MAX)
		class = kernel_convert_make_class(event_class, header, shape, sum);
	if (!class || !class->arena || eventheader_convert(&class->class, header, &record->fields))
		return NULL;
	if (!class->described &&
			kernel_convert_describe_class(record, event_class, class, header)) {
		ctf_arena_destroy(class->arena);
		class->arena = NULL;
		return NULL;
	}
	class->described = true;
	return class;
}

/* ---- records ---- */

void kernel_put(struct kernel_record *record, uint32_t cpu, uint64_t ticks, pid_t pid, pid_t tid,
		const char comm[COMM_SIZE], const uint8_t *data, size_t size)
{
	const struct converted converted = {.cpu = cpu,
			.ticks = ticks,
			.pid = pid,
			.tid = tid,
			.comm = comm,
			.context = &record->context,
			.fields = &record->fields};
	struct eventheader header;
	struct event_class_variant *class = NULL;
	struct kernel_event_class *event_class;
	uint16_t id;

	if (cpu >= record->nr_cpus || size < FORMAT_COMMON_SIZE)
		return;
	memcpy(&id, data, sizeof(id));
	event_class = record->by_id[id];
	if (!event_class)
		return;
	event_class->received[cpu]++;
	record->context.size = record->fields.size = 0;
	if (event_class->format.event_header &&
			!eventheader_split(data + FORMAT_COMMON_SIZE, size - FORMAT_COMMON_SIZE,
					&header))
		class = kernel_convert_decode(record, event_class, &header);
	record->summary.plain += event_class->format.event_header && !class;
	if (!class && !event_class->described && kernel_describe_class(record, event_class))
		return;
	if (class)
		kernel_convert_append_context(&record->context, &header);
	else
		layout_run(&event_class->layout, data, size, &record->fields);
	if (!record->fields.failed && !record->context.failed) {
		record->sink->put(record, class ? &class->event : &event_class->event, &converted);
		return;
	}
	kernel_trace_problem(record, "records were lost: out of memory", "");
	record->fields.failed = record->context.failed = false;
}
