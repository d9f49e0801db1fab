/* SPDX-License-Identifier: MIT */
/*
 * Recovers recordings from the memory of traced programs. The agent keeps a record in memory of its
 * own (protocol/recovery.h) with the addresses of rings and descriptions. This part searches for it
 * at the beginning of each writable page. A dump is not trusted: all its data is checked, and
 * recovery uses at most as much memory as the rings that it really contains.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "ctf/ctf.h"
#include "protocol/protocol.h"
#include "recorder/core/channels.h"
#include "recorder/core/clock.h"
#include "recorder/core/event-classes.h"
#include "recorder/core/instance.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/recovery/core-dump.h"
#include "recorder/recovery/recovered.h"
#include "recorder/session-state.h"
#include "recorder/storage/instance-free.h"
#include "ring/ring.h"
#include "base/inside/search.h"

#define PAGE 4096u
#define SCAN_BYTES (1u << 20)
#define LIMIT_RECORDS 64 /* recordings in one program */
#define LIMIT_CHUNKS 65536

/* ---- memory ---- */

static const struct segment *core_dump_find_segment(const struct core *core, uint64_t address)
{
	size_t low = search_leading(i, core->nr_segments, core->segments[i].address <= address);

	if (!low || address - core->segments[low - 1].address >= core->segments[low - 1].size)
		return NULL;
	return &core->segments[low - 1];
}

/* A mapping can consist of several consecutive segments. */
int core_read(void *user, uint64_t address, void *to, size_t size)
{
	struct core *core = user;

	if (core->read)
		return core->read(core, address, to, size);
	while (size) {
		const struct segment *segment = core_dump_find_segment(core, address);
		uint64_t inside;
		size_t part;
		int ret;

		if (!segment)
			return -ENODATA;
		inside = address - segment->address;
		part = segment->size - inside < size ? (size_t)(segment->size - inside) : size;
		ret = io_read_exactly_at(core->fd, to, part, segment->offset + inside);
		if (ret)
			return ret;
		to = (char *)to + part;
		size -= part;
		address += part;
	}
	return 0;
}

/* ---- one recording ---- */

static bool core_dump_is_printable(const char *text, size_t size)
{
	return memchr(text, 0, size);
}

/* Returns NULL, or the reason why the head is invalid. */
static const char *check_head(const struct recovery_head *head, uint64_t address)
{
	if (head->self != address)
		return ""; /* a copy of a head, or other bytes */
	if (head->version != RECOVERY_VERSION || head->head_size != sizeof(*head) ||
			head->channel_size != sizeof(struct recovery_channel))
		return "it has another version";
	if (head->valid != 1)
		return "it was being changed";
	if (head->clock > RING_CLOCK_MONOTONIC || !head->nr_channels ||
			head->nr_channels > SESSION_CHANNELS_MAX ||
			head->frequency > UINT64_C(1000000000000) ||
			(head->frequency && head->offset >= head->frequency) ||
			!core_dump_is_printable(head->procname, sizeof(head->procname)) ||
			!core_dump_is_printable(head->exe, sizeof(head->exe)))
		return "it is damaged";
	return NULL;
}

static int read_contexts(struct core *core, const struct recovery_channel *from,
		struct context_list *ret_list)
{
	char *names;
	int ret;

	if (from->contexts_size > WIRE_EVENT_CONTEXTS_BYTES_MAX)
		return -EPROTO;
	names = malloc(from->contexts_size + 1);
	if (!names)
		return -ENOMEM;
	ret = from->contexts_size ? core_read(core, from->contexts, names, from->contexts_size) : 0;
	if (!ret)
		ret = context_list_read(ret_list, names, from->nr_contexts, from->contexts_size);
	free(names);
	return ret;
}

static int core_dump_read_channel(struct core *core, struct instance *instance, uint32_t index,
		uint64_t address, struct error *error)
{
	struct channel *own = &instance->own_channels[index];
	struct recovery_channel from;
	int ret = core_read(core, address + index * sizeof(from), &from, sizeof(from));

	/* The message of each failure that sets no other one. */
	error_set(error, -EPROTO, NULL, "the list of its channels is damaged");
	if (ret || !core_dump_is_printable(from.name, sizeof(from.name)) ||
			!channel_is_name(from.name))
		return ret ? ret : -EPROTO;
	own->name = strdup(from.name);
	if (!own->name)
		return -ENOMEM;
	ret = read_contexts(core, &from, &own->contexts);
	if (ret)
		return ret;
	return core->take_rings(core, instance, index, &from, error);
}

static int core_dump_read_chunk(struct core *core, struct recovered *recovered, uint64_t address,
		const struct recovery_chunk *chunk)
{
	struct class_stream stream = {0};
	char *bytes = malloc(chunk->used + 1);
	int ret = bytes ? core_read(core, address + sizeof(*chunk), bytes, chunk->used) : -ENOMEM;

	if (!ret)
		ret = class_stream_feed(&stream, bytes, chunk->used, recover_class, recovered);
	class_stream_free(&stream);
	free(bytes);
	return ret;
}

static int read_events(struct core *core, struct instance *instance, uint64_t address)
{
	struct recovered recovered = {.session = core->session, .instance = instance};
	uint64_t total = 0;
	unsigned int nr;

	for (nr = 0; address && nr < LIMIT_CHUNKS; nr++) {
		struct recovery_chunk chunk;
		int ret = core_read(core, address, &chunk, sizeof(chunk));

		if (ret)
			return ret;
		if (chunk.magic != RECOVERY_CHUNK_MAGIC || chunk.used > chunk.size ||
				chunk.used > LIMIT_INSTANCE_DESCRIPTIONS - total)
			return -EPROTO;
		total += chunk.used;
		ret = core_dump_read_chunk(core, &recovered, address, &chunk);
		if (ret)
			return ret;
		address = chunk.next;
	}
	return address ? -EPROTO : 0;
}

static struct instance *core_dump_make_instance(struct core *core, const struct recovery_head *head)
{
	struct channel *channels = calloc(head->nr_channels, sizeof(*channels));
	struct instance *instance = channels
			? instance_allocate(head->procname, head->exe, channels, head->nr_channels)
			: NULL;

	if (!instance) {
		free(channels);
		return NULL;
	}
	instance->own_channels = channels;
	if (!instance->nr_channels || !instance->procname || !instance->exe) {
		instance_free(core->session, instance);
		return NULL;
	}
	instance->pid = head->pid;
	instance->peer = (pid_t)head->pid;
	instance->parent = head->parent;
	instance->number = head->instance % LIMIT_INSTANCES;
	return instance;
}

static void core_dump_calibrate_clock(struct core *core, const struct recovery_head *head)
{
	struct ring_clock_calibration calibration = {
			.frequency = head->frequency ? head->frequency : 1000000000,
			.offset_s = head->offset_s,
			.offset = head->offset,
	};

	if (!head->frequency)
		report(core->session, false,
				"%s does not describe its clock: times count its ticks as nanoseconds",
				core->path);
	session_fill_clock(&core->session->clock.first, &calibration);
	strcpy(core->session->hostname, "unknown");
}

int core_take(struct core *core, struct instance *instance, const struct recovery_head *head,
		struct error *error)
{
	(void)error;
	core_dump_calibrate_clock(core, head);
	recover_add(core->session, instance);
	return 0;
}

static int core_dump_read_record(
		struct core *core, const struct recovery_head *head, struct error *error)
{
	struct instance *instance = core_dump_make_instance(core, head);
	uint32_t i;
	int ret = 0;

	if (!instance)
		return -ENOMEM;
	for (i = 0; i < head->nr_channels && !ret; i++)
		ret = core_dump_read_channel(core, instance, i, head->channels, error);
	if (!ret) {
		ret = read_events(core, instance, head->first_chunk);
		if (ret)
			error_set(error, ret, NULL, "the descriptions of its events are damaged");
	}
	if (!ret)
		ret = core->take(core, instance, head, error);
	if (ret)
		instance_free(core->session, instance);
	return ret;
}

/* ---- the dump ---- */

void core_add_record(struct core *core, uint64_t address, const unsigned char *bytes)
{
	struct error error;
	struct recovery_head head;
	const char *wrong;

	if (memcmp(bytes, RECOVERY_MAGIC, sizeof(head.magic)) != 0 ||
			core->nr_records >= LIMIT_RECORDS)
		return;
	if (core_read(core, address, &head, sizeof(head)))
		return;
	wrong = check_head(&head, address);
	if ((wrong && !*wrong) || (core->wants && !core->wants(core, &head)))
		return;
	core->nr_records++;
	error_set_no_memory(&error);
	if (wrong)
		error_set(&error, -EINVAL, NULL, "%s", wrong);
	else if (!core_dump_read_record(core, &head, &error))
		return;
	report(core->session, true, "a recording in %s cannot be recovered: %s", core->path,
			error.text);
	report_failure(core->session, EINVAL);
}

static int scan_segment(struct core *core, const struct segment *segment, unsigned char *bytes)
{
	uint64_t at;

	if (!segment->writable || segment->address % PAGE)
		return 0;
	for (at = 0; at < segment->size; at += SCAN_BYTES) {
		uint64_t left = segment->size - at;
		size_t size = left < SCAN_BYTES ? (size_t)left : SCAN_BYTES, page;
		int ret = io_read_exactly_at(core->fd, bytes, size, segment->offset + at);

		if (ret)
			return ret;
		for (page = 0; page + sizeof(struct recovery_head) <= size; page += PAGE)
			core_add_record(core, segment->address + at + page, bytes + page);
	}
	return 0;
}

int core_scan(struct core *core)
{
	unsigned char *bytes = malloc(SCAN_BYTES);
	size_t i;
	int ret = bytes ? 0 : -ENOMEM;

	for (i = 0; i < core->nr_segments && !ret; i++)
		ret = scan_segment(core, &core->segments[i], bytes);
	free(bytes);
	return ret;
}
