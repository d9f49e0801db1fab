/* SPDX-License-Identifier: MIT */
/*
 * The trace: one stream a CPU, each event described before its first record.
 *
 * A record is the header of docs/spec/recording.md, the context (process, thread, name) and the fields. Records of one
 * CPU may come a little out of order, where one interrupted another: their times are moved up to the one before.
 */
#include <errno.h>
#include <stdio.h>

#include "kernel/record/parts.h"

#define PACKET_SIZE ((size_t)256 << 10)
#define COMPACT_IDS 30u
#define COMPACT_BITS 27
#define EXTENDED 31u
#define CLASSES_MAX 4096 /* of one tracepoint: who makes a description for each record gets bytes */
#define LEVEL_INFO 6
#define NAME_MAX_BYTES 700

static const uint32_t version[3] = {0, 1, 0};

void kernel_trace_problem(struct kernel_record *record, const char *text)
{
	if (!*record->problem)
		(void)snprintf(record->problem, sizeof(record->problem), "%s", text);
}

/* ---- opening ---- */

static struct ctf_type *context_type(struct ctf_arena *arena)
{
	struct ctf_type *type = ctf_type_struct(arena, 3), *pid, *tid, *comm;

	pid = ctf_type_integer(arena, 32, true);
	tid = ctf_type_integer(arena, 32, true);
	comm = ctf_type_string(arena);
	if (!type || !pid || !tid || !comm)
		return NULL;
	ctf_member_set(&type->members[0], "_pid", pid, false);
	ctf_member_set(&type->members[1], "_tid", tid, false);
	ctf_member_set(&type->members[2], "_comm", comm, false);
	return type;
}

int kernel_trace_open(struct kernel_record *record, struct kernel_record_error *error)
{
	struct ctf_channel_config channel = {.name = "cpu", .placement = CTF_PER_CPU};
	struct ctf_writer_config config = {
			.dir = record->options.directory,
			.clock = record->options.figures,
			.hostname = record->options.hostname,
			.domain = "kernel",
			.vpid = -1,
			.version = {version[0], version[1], version[2]},
			.format = record->options.format,
			.compression = record->options.compression,
			.channels = &channel,
			.nr_channels = 1,
	};
	struct ctf_error why = {""};
	int ret = -ENOMEM;

	record->cpus = calloc(record->nr_cpus, sizeof(*record->cpus));
	record->arena = ctf_arena_create();
	channel.context = record->arena ? context_type(record->arena) : NULL;
	if (!record->cpus || !channel.context)
		return record_fail(error, -ENOMEM, NULL, "no memory");
	ret = ctf_writer_create(&config, &record->writer, &why);
	return ret ? record_fail(error, ret, NULL, "%s", why.text) : 0;
}

/* ---- packets ---- */

static uint8_t *put_header(struct record_cpu *cpu, uint32_t id, uint64_t ticks)
{
	struct bytes *packet = &cpu->packet;
	uint32_t word;
	uint8_t *to;

	if (packet->size && id < COMPACT_IDS && ticks - cpu->last < (uint64_t)1 << COMPACT_BITS) {
		word = id | (uint32_t)(ticks & (((uint64_t)1 << COMPACT_BITS) - 1)) << 5;
		if (CTF_HOST_BIG_ENDIAN) /* Bits are filled from the top there. */
			word = id << COMPACT_BITS | (word >> 5);
		to = bytes_grow(packet, sizeof(word));
		return to ? memcpy(to, &word, sizeof(word)) : NULL;
	}
	to = bytes_grow(packet, 1 + sizeof(id) + sizeof(ticks));
	if (!to)
		return NULL;
	*to = CTF_HOST_BIG_ENDIAN ? EXTENDED << 3 : EXTENDED;
	memcpy(to + 1, &id, sizeof(id));
	memcpy(to + 1 + sizeof(id), &ticks, sizeof(ticks));
	return to;
}

static void write_packet(
		struct kernel_record *record, uint32_t number, uint64_t begin, uint64_t end)
{
	struct record_cpu *cpu = &record->cpus[number];
	struct ctf_span span = {
			.records = cpu->packet.data,
			.size = cpu->packet.size,
			.timestamp_begin = begin,
			.timestamp_end = end,
			.events_discarded = cpu->discarded,
	};
	struct ctf_error why = {""};
	int ret = 0;

	if (!cpu->stream)
		ret = ctf_writer_open_stream(record->writer, 0, number, begin, &cpu->stream, &why);
	if (!ret)
		ret = ctf_stream_append(cpu->stream, &span, &why);
	if (ret)
		kernel_trace_problem(record, why.text);
	cpu->packet.size = 0;
	cpu->written = cpu->discarded;
	cpu->end = end;
}

void kernel_trace_flush(struct kernel_record *record, uint32_t number)
{
	struct record_cpu *cpu = &record->cpus[number];

	if (cpu->packet.failed) {
		kernel_trace_problem(record, "records were left out: there was no memory");
		cpu->packet.failed = false;
	}
	if (cpu->packet.size)
		write_packet(record, number, cpu->begin, cpu->last);
}

void kernel_trace_discard(struct kernel_record *record, uint32_t number, uint64_t count)
{
	kernel_trace_flush(record, number);
	record->cpus[number].discarded += count;
}

/* ---- describing ---- */

static int describe(struct kernel_record *record, uint32_t *id, const char *system,
		const char *name, int level, const struct ctf_type *context,
		const struct ctf_type *fields)
{
	char full[NAME_MAX_BYTES];
	struct ctf_error why = {""};
	int ret;

	(void)snprintf(full, sizeof(full), "%.255s:%.400s", system, name);
	*id = record->next_id;
	ret = ctf_writer_add_event_json(
			record->writer, 0, *id, full, level, context, fields, NULL, &why);
	if (ret)
		kernel_trace_problem(record, why.text);
	else
		record->next_id++;
	return ret;
}

static int describe_kind(struct kernel_record *record, struct kind *kind)
{
	struct ctf_arena *arena = ctf_arena_create();
	struct ctf_type *type;
	int ret = arena ? layout_make(&kind->format, kind->format.event_header, arena,
					  &kind->layout, &type)
			: -ENOMEM;

	if (!ret)
		ret = describe(record, &kind->ctf_id, kind->system, kind->name, -1, NULL, type);
	else
		kernel_trace_problem(record, "an event cannot be described: there is no memory");
	ctf_arena_destroy(arena);
	kind->described = !ret;
	return ret;
}

/* ---- EventHeader ---- */

/* CRITICAL to VERBOSE as log levels of ours. */
static int loglevel(uint8_t level)
{
	static const int levels[] = {LEVEL_INFO, 2, 3, 4, 6, 7};

	return level < sizeof(levels) / sizeof(levels[0]) ? levels[level] : 7;
}

/* What stands beside the fields, if anything does: the numbers of the header, and the activity. */
static bool has_numbers(const struct eventheader *header)
{
	return header->id || header->version || header->tag || header->opcode;
}

static struct ctf_type *bytes_type(struct ctf_arena *arena)
{
	struct ctf_type *byte = ctf_type_integer(arena, 8, false);

	if (!byte)
		return NULL;
	byte->base = 16;
	byte->byte = true;
	return ctf_type_array(arena, byte, 16);
}

static struct ctf_type *header_context(struct ctf_arena *arena, const struct eventheader *header)
{
	static const char *const names[] = {
			"_event_id", "_event_version", "_event_tag", "_event_opcode"};
	static const unsigned int bits[] = {16, 8, 16, 8};
	struct ctf_type *type = ctf_type_struct(arena, 6), *member;
	uint32_t count = 0, i;

	if (!type)
		return NULL;
	for (i = 0; has_numbers(header) && i < 4; i++) {
		member = ctf_type_integer(arena, bits[i], false);
		if (!member)
			return NULL;
		ctf_member_set(&type->members[count++], names[i], member, false);
	}
	for (i = 0; i < header->activity_size / 16; i++) {
		member = bytes_type(arena);
		if (!member)
			return NULL;
		ctf_member_set(&type->members[count++], i ? "_related_activity" : "_activity",
				member, false);
	}
	type->member_count = count;
	return type;
}

static void put_header_context(struct bytes *to, const struct eventheader *header)
{
	if (has_numbers(header)) {
		bytes_put(to, &header->id, sizeof(header->id));
		bytes_put(to, &header->version, sizeof(header->version));
		bytes_put(to, &header->tag, sizeof(header->tag));
		bytes_put(to, &header->opcode, sizeof(header->opcode));
	}
	bytes_put(to, header->activity, header->activity_size);
}

static uint64_t hash(const uint8_t *bytes, size_t size, uint64_t seed)
{
	uint64_t value = seed ^ 0xcbf29ce484222325;

	while (size--)
		value = (value ^ *bytes++) * 0x100000001b3;
	return value;
}

static struct kind_class *find_class(const struct kind *kind, const struct eventheader *header,
		const uint8_t shape[3], uint64_t sum)
{
	struct kind_class *class;

	for (class = kind->classes; class; class = class->next)
		if (class->hash == sum && class->key_size == header->metadata_size + 3 &&
				!memcmp(class->key, shape, 3) &&
				!memcmp(class->key + 3, header->metadata, header->metadata_size))
			return class;
	return NULL;
}

/* PROVIDER of PROVIDER_L4K1. */
static const char *provider_of(const char *tracepoint, char *to, size_t room)
{
	const char *end = strrchr(tracepoint, '_');

	(void)snprintf(to, room, "%.*s", end ? (int)(end - tracepoint) : (int)strlen(tracepoint),
			tracepoint);
	return to;
}

static struct kind_class *make_class(struct kind *kind, const struct eventheader *header,
		const uint8_t shape[3], uint64_t sum)
{
	struct kind_class *class = calloc(1, sizeof(*class));

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
	if (eventheader_describe(header, class->arena, &class->class)) {
		ctf_arena_destroy(class->arena);
		class->arena = NULL;
	}
	class->next = kind->classes;
	kind->classes = class;
	kind->nr_classes++;
	return class;
}

/*
 * The class of a record and its fields, converted: it is described when a record has fitted for the first time, so that
 * what readers have to reckon with is bounded by what was really there. NULL: it cannot be decoded.
 */
static struct kind_class *decode(struct kernel_record *record, struct kind *kind,
		const struct eventheader *header, struct bytes *fields)
{
	const uint8_t shape[3] = {
			has_numbers(header), (uint8_t)(header->activity_size / 16), header->level};
	uint64_t sum = hash(header->metadata, header->metadata_size,
			shape[0] | shape[1] << 8 | shape[2] << 16);
	struct kind_class *class = find_class(kind, header, shape, sum);
	struct ctf_type *context = NULL;
	char provider[300];

	if (!class && kind->nr_classes < CLASSES_MAX)
		class = make_class(kind, header, shape, sum);
	if (!class || !class->arena || eventheader_convert(&class->class, header, fields))
		return NULL;
	if (class->id)
		return class;
	if (has_numbers(header) || header->activity) {
		context = header_context(class->arena, header);
		if (!context)
			return NULL;
	}
	if (describe(record, &class->id, provider_of(kind->name, provider, sizeof(provider)),
			    class->class.name, loglevel(header->level), context,
			    class->class.type)) {
		ctf_arena_destroy(class->arena);
		class->arena = NULL;
		class->id = 0;
		return NULL;
	}
	return class;
}

/* ---- records ---- */

static void put_context(struct bytes *to, pid_t pid, pid_t tid, const char comm[COMM_SIZE])
{
	const int32_t numbers[2] = {pid, tid};

	bytes_put(to, numbers, sizeof(numbers));
	bytes_put(to, comm, strnlen(comm, COMM_SIZE - 1));
	bytes_put_zeros(to, 1);
}

void kernel_trace_put(struct kernel_record *record, uint32_t number, uint64_t ticks, pid_t pid,
		pid_t tid, const char comm[COMM_SIZE], const uint8_t *data, size_t size)
{
	struct record_cpu *cpu;
	struct bytes fields = {.data = NULL};
	struct eventheader header;
	struct kind_class *class = NULL;
	struct kind *kind;
	uint16_t id;
	size_t before;

	if (number >= record->nr_cpus || size < FORMAT_COMMON_SIZE)
		return;
	memcpy(&id, data, sizeof(id));
	kind = record->by_id[id];
	if (!kind)
		return;
	cpu = &record->cpus[number];
	kind->received[number]++;
	if (kind->format.event_header &&
			!eventheader_split(data + FORMAT_COMMON_SIZE, size - FORMAT_COMMON_SIZE,
					&header))
		class = decode(record, kind, &header, &fields);
	record->summary.plain += kind->format.event_header && !class;
	if (!class && !kind->described && describe_kind(record, kind)) {
		free(fields.data);
		return;
	}
	if (cpu->packet.size > PACKET_SIZE)
		kernel_trace_flush(record, number);
	if (!cpu->packet.size) {
		if (ticks < cpu->end)
			ticks = cpu->end;
		cpu->begin = cpu->last = ticks;
	}
	if (ticks < cpu->last)
		ticks = cpu->last;
	before = cpu->packet.size;
	put_header(cpu, class ? class->id : kind->ctf_id, ticks);
	put_context(&cpu->packet, pid, tid, comm);
	if (class) {
		put_header_context(&cpu->packet, &header);
		bytes_put(&cpu->packet, fields.data, fields.size);
	} else {
		layout_run(&kind->layout, data, size, &cpu->packet);
	}
	free(fields.data);
	if (cpu->packet.failed || fields.failed) {
		cpu->packet.size = before; /* Half a record would make the rest unreadable. */
		return;
	}
	cpu->last = ticks;
	record->summary.events++;
}

/* ---- the end ---- */

/* What is not in the trace, by CPU and event: exactly, because the kernel has counted its attempts. */
static void count_losses(struct kernel_record *record)
{
	const struct kind *kind;
	size_t nr = 0, room = 0;
	uint32_t i;

	for (i = 0; i < record->nr_cpus; i++) {
		uint64_t sum = 0;

		for (kind = record->kinds; kind; kind = kind->next) {
			uint64_t lost = record->way->lost(record, kind, i);
			struct kernel_record_loss *losses;

			if (!lost)
				continue;
			sum += lost;
			if (nr == room) {
				room = room * 2 + 16;
				losses = realloc(record->losses, room * sizeof(*losses));
				if (!losses)
					break;
				record->losses = losses;
			}
			losses = &record->losses[nr++];
			*losses = (struct kernel_record_loss){
					.reason = "buffer full", .count = lost};
			(void)snprintf(losses->ring, sizeof(losses->ring), "cpu_%u", i);
			(void)snprintf(losses->event, sizeof(losses->event), "%.60s:%.90s",
					kind->system, kind->name);
		}
		record->summary.lost += sum;
		kernel_trace_flush(record, i);
		if (record->cpus[i].discarded < sum)
			record->cpus[i].discarded = sum;
	}
	record->summary.losses = record->losses;
	record->summary.nr_losses = nr;
}

static void note_losses(struct kernel_record *record, uint64_t ticks)
{
	size_t nr = record->summary.nr_losses, i;
	struct ctf_lost *lost = calloc(nr + 1, sizeof(*lost));
	struct ctf_error why = {""};

	for (i = 0; lost && i < nr; i++)
		lost[i] = (struct ctf_lost){record->losses[i].ring, record->losses[i].event,
				record->losses[i].reason, record->losses[i].count};
	if (lost && nr && ctf_writer_lost(record->writer, ticks, lost, nr, &why))
		kernel_trace_problem(record, why.text);
	free(lost);
}

void kernel_trace_end(struct kernel_record *record, uint64_t ticks, const struct ctf_clock *clock)
{
	struct ctf_error why = {""};
	uint32_t i;

	count_losses(record);
	for (i = 0; i < record->nr_cpus; i++)
		if (record->cpus[i].discarded != record->cpus[i].written)
			write_packet(record, i, ticks, ticks);
	note_losses(record, ticks);
	/* The first figures are good enough when the better ones find no room. */
	if (clock)
		ctf_writer_set_clock(record->writer, clock, &why);
	record->summary.bytes = ctf_writer_bytes(record->writer);
}

void kernel_trace_close(struct kernel_record *record)
{
	struct ctf_error why = {""};
	uint32_t i;

	if (record->writer && ctf_writer_close(record->writer, &why))
		kernel_trace_problem(record, why.text);
	record->writer = NULL;
	for (i = 0; record->cpus && i < record->nr_cpus; i++)
		free(record->cpus[i].packet.data);
	free(record->cpus);
	ctf_arena_destroy(record->arena);
	record->cpus = NULL;
	record->arena = NULL;
}
