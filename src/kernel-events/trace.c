/* SPDX-License-Identifier: MIT */
/*
 * Writes the trace: one stream for each CPU; each event is described before its first record.
 *
 * A record has the header of docs/spec/recording.md, the context (process, thread, name) and the
 * fields. Records of one CPU may be slightly out of order if one writer interrupted another: their
 * times are raised to that of the preceding record.
 */
#include <errno.h>
#include <stdio.h>

#include "kernel-events/parts.h"

#define PACKET_SIZE ((size_t)256 << 10)
#define COMPACT_IDS 30u
#define COMPACT_BITS 27
#define EXTENDED 31u
#define NAME_MAX_BYTES 700

static const uint32_t version[3] = {0, 1, 0};

void kernel_trace_problem(struct kernel_record *record, const char *text, const char *hint)
{
	if (*record->problem)
		return;
	(void)snprintf(record->problem, sizeof(record->problem), "%s", text);
	(void)snprintf(record->problem_hint, sizeof(record->problem_hint), "%s", hint);
}

/* ---- opening ---- */

static struct ctf_type *kernel_trace_context_type(struct ctf_arena *arena)
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

int kernel_trace_open(struct kernel_record *record, struct error *error)
{
	struct ctf_channel_config channel = {.name = "cpu", .placement = CTF_PER_CPU};
	struct ctf_writer_config config = {
			.dir = record->options.directory,
			.clock = record->options.parameters,
			.hostname = record->options.hostname,
			.domain = "kernel",
			.vpid = -1,
			.version = {version[0], version[1], version[2]},
			.format = record->options.format,
			.compression = record->options.compression,
			.channels = &channel,
			.nr_channels = 1,
	};

	record->cpus = calloc(record->nr_cpus, sizeof(*record->cpus));
	record->arena = ctf_arena_create();
	channel.context = record->arena ? kernel_trace_context_type(record->arena) : NULL;
	if (!record->cpus || !channel.context)
		return error_set_no_memory(error);
	return ctf_writer_create(&config, &record->writer, error);
}

/* ---- packets ---- */

static uint8_t *kernel_trace_write_header(struct record_cpu *cpu, uint32_t id, uint64_t ticks)
{
	struct byte_buffer *packet = &cpu->packet;
	uint32_t word;
	uint8_t *to;

	if (packet->size && id < COMPACT_IDS && ticks - cpu->last < (uint64_t)1 << COMPACT_BITS) {
		word = id | (uint32_t)(ticks & (((uint64_t)1 << COMPACT_BITS) - 1)) << 5;
		if (CTF_HOST_BIG_ENDIAN) /* Big-endian CTF fills bit fields from the top. */
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

static void kernel_trace_write_packet(
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
	struct error why = {.text = ""};
	int ret = 0;

	if (!cpu->stream)
		ret = ctf_writer_open_stream(record->writer, 0, number, begin, &cpu->stream, &why);
	if (!ret)
		ret = ctf_stream_append(cpu->stream, &span, &why);
	if (ret)
		kernel_trace_problem(record, why.text, why.hint);
	cpu->packet.size = 0;
	cpu->written = cpu->discarded;
	cpu->end = end;
}

static void kernel_trace_flush(struct kernel_record *record, uint32_t number)
{
	struct record_cpu *cpu = &record->cpus[number];

	if (cpu->packet.failed) {
		kernel_trace_problem(record, "records were lost: out of memory", "");
		cpu->packet.failed = false;
	}
	if (cpu->packet.size)
		kernel_trace_write_packet(record, number, cpu->begin, cpu->last);
}

static void kernel_trace_count_lost(struct kernel_record *record, uint32_t number, uint64_t count)
{
	kernel_trace_flush(record, number);
	record->cpus[number].discarded += count;
}

/* ---- describing ---- */

/* Get the provider from a tracepoint: PROVIDER of PROVIDER_L4K1:NAME. */
static const char *kernel_trace_provider(const char *tracepoint, char *to, size_t capacity)
{
	const char *end = strchr(tracepoint, ':');

	while (end > tracepoint && *end != '_')
		end--;
	(void)snprintf(to, capacity, "%.*s", end > tracepoint ? (int)(end - tracepoint) : 250,
			tracepoint);
	return to;
}

static int kernel_trace_describe(struct kernel_record *record, struct kernel_event *event)
{
	char full[NAME_MAX_BYTES], provider[300];
	struct error why = {.text = ""};
	int ret;

	/* The event's name is PROVIDER:NAME, from user_events:PROVIDER_L4K1:NAME. */
	if (event->has_carrier)
		(void)snprintf(full, sizeof(full), "%.255s:%.400s",
				kernel_trace_provider(event->name, provider, sizeof(provider)),
				strchr(event->name, ':') + 1);
	else
		(void)snprintf(full, sizeof(full), "%.255s:%.400s", event->system, event->name);
	ret = ctf_writer_add_event_json(record->writer, 0, record->next_id, full, event->level,
			event->context, event->fields, NULL, &why);
	if (ret)
		kernel_trace_problem(record, why.text, why.hint);
	else
		event->listener_data = (void *)(uintptr_t)record->next_id++;
	return ret;
}

/* ---- records ---- */

static void kernel_trace_append_context(
		struct byte_buffer *to, pid_t pid, pid_t tid, const char comm[COMM_SIZE])
{
	const int32_t numbers[2] = {pid, tid};

	bytes_put(to, numbers, sizeof(numbers));
	bytes_put(to, comm, strnlen(comm, COMM_SIZE - 1));
	bytes_put_zeros(to, 1);
}

static void kernel_trace_write_event(struct kernel_record *record, const struct kernel_event *event,
		const struct converted *converted)
{
	struct record_cpu *cpu = &record->cpus[converted->cpu];
	uint64_t ticks = converted->ticks;
	size_t before;

	if (cpu->packet.size > PACKET_SIZE)
		kernel_trace_flush(record, converted->cpu);
	if (!cpu->packet.size) {
		if (ticks < cpu->end)
			ticks = cpu->end;
		cpu->begin = cpu->last = ticks;
	}
	if (ticks < cpu->last)
		ticks = cpu->last;
	before = cpu->packet.size;
	kernel_trace_write_header(cpu, (uint32_t)(uintptr_t)event->listener_data, ticks);
	kernel_trace_append_context(&cpu->packet, converted->pid, converted->tid, converted->comm);
	bytes_put(&cpu->packet, converted->context->data, converted->context->size);
	bytes_put(&cpu->packet, converted->fields->data, converted->fields->size);
	if (cpu->packet.failed) {
		/* Half a record would make all later records unreadable. */
		cpu->packet.size = before;
		return;
	}
	cpu->last = ticks;
	record->summary.events++;
}

const struct kernel_sink sink_trace = {
		.describe = kernel_trace_describe,
		.put = kernel_trace_write_event,
		.discard = kernel_trace_count_lost,
		.flush = kernel_trace_flush,
};

/* ---- the end ---- */

/*
 * Count the records that are not in the trace, by CPU and event. The result is exact: the kernel
 * counts its attempts.
 */
static void kernel_trace_count_losses(struct kernel_record *record)
{
	const struct kernel_event_class *event_class;
	size_t nr = 0, capacity = 0;
	uint32_t i;

	for (i = 0; i < record->nr_cpus; i++) {
		uint64_t sum = 0;

		for (event_class = record->event_classes; event_class;
				event_class = event_class->next) {
			uint64_t lost = record->backend->lost(record, event_class, i);
			struct kernel_record_loss *losses;

			if (!lost)
				continue;
			sum += lost;
			if (nr == capacity) {
				capacity = capacity * 2 + 16;
				losses = realloc(record->losses, capacity * sizeof(*losses));
				if (!losses)
					break;
				record->losses = losses;
			}
			losses = &record->losses[nr++];
			*losses = (struct kernel_record_loss){
					.reason = "buffer full", .count = lost};
			(void)snprintf(losses->ring, sizeof(losses->ring), "cpu_%u", i);
			(void)snprintf(losses->event, sizeof(losses->event), "%.60s:%.90s",
					event_class->system, event_class->name);
		}
		record->summary.lost += sum;
		kernel_trace_flush(record, i);
		if (record->cpus[i].discarded < sum)
			record->cpus[i].discarded = sum;
	}
	record->summary.losses = record->losses;
	record->summary.nr_losses = nr;
}

static void kernel_trace_note_losses(struct kernel_record *record, uint64_t ticks)
{
	size_t nr = record->summary.nr_losses, i;
	struct ctf_lost *lost = calloc(nr + 1, sizeof(*lost));
	struct error why = {.text = ""};

	for (i = 0; lost && i < nr; i++)
		lost[i] = (struct ctf_lost){record->losses[i].ring, record->losses[i].event,
				record->losses[i].reason, record->losses[i].count};
	if (lost && nr && ctf_writer_lost(record->writer, ticks, lost, nr, &why))
		kernel_trace_problem(record, why.text, why.hint);
	free(lost);
}

void kernel_trace_end(struct kernel_record *record, uint64_t ticks, const struct ctf_clock *clock)
{
	struct error why = {.text = ""};
	uint32_t i;

	kernel_trace_count_losses(record);
	for (i = 0; i < record->nr_cpus; i++)
		if (record->cpus[i].discarded != record->cpus[i].written)
			kernel_trace_write_packet(record, i, ticks, ticks);
	kernel_trace_note_losses(record, ticks);
	/* If the final parameters cannot be written, the initial ones are good enough. */
	if (clock)
		ctf_writer_set_clock(record->writer, clock, &why);
	record->summary.bytes = ctf_writer_bytes(record->writer);
}

void kernel_trace_close(struct kernel_record *record)
{
	struct error why = {.text = ""};
	uint32_t i;

	if (record->writer && ctf_writer_close(record->writer, &why))
		kernel_trace_problem(record, why.text, why.hint);
	record->writer = NULL;
	for (i = 0; record->cpus && i < record->nr_cpus; i++)
		free(record->cpus[i].packet.data);
	free(record->cpus);
	ctf_arena_destroy(record->arena);
	record->cpus = NULL;
	record->arena = NULL;
}
