/* SPDX-License-Identifier: MIT */
/*
 * Finds which records in the rings of a state directory a trace contains already, for a reader that
 * must not change either.
 *
 * A recorder that was killed between appending a packet and releasing the ring leaves the same
 * records in both. Adoption truncates the file; a mere reader skips the records: it compares the
 * packets after the length in the journal with the ring, byte by byte.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ctf/compress.h"
#include "ctf/ctf.h"
#include "recorder/core/channels.h"
#include "recorder/core/instance.h"
#include "recorder/core/session.h"
#include "recorder/recovery/journal-scan.h"
#include "recorder/storage/journal-format.h"
#include "recorder/storage/journal.h"
#include "recorder/storage/reported-losses.h"
#include "ring/ring.h"

/* Limits the packets that only count losses between two packets with records. */
#define PACKETS_MAX 64

/* Opens the stream's file, plain or compressed, and returns its name. */
static int journal_scan_open_stream(
		const char *trace, const char *channel, uint32_t ring, char *name, size_t capacity)
{
	static const char *const suffixes[] = {"", CTF_COMPRESSED_SUFFIX};
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < 2; i++) {
		char path[4096];

		snprintf(name, capacity, "%s_%u%s", channel, ring, suffixes[i]);
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", trace, name) < sizeof(path))
			fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	}
	return fd;
}

/*
 * Skips the records of packets from `at` on, as long as they are equal to the content of the ring.
 */
static void journal_scan_skip_written_packets(const struct instance_channel *of, uint32_t ring,
		int fd, const char *name, uint64_t at, struct instance_ring *each)
{
	const size_t header = of->geometry.placement == RING_PER_THREAD ? 80 : 84;
	struct ctf_packet packet = {.bytes = NULL};

	for (unsigned int i = 0; i < PACKETS_MAX && ctf_packet_read(fd, name, at, &packet) > 0;
			i++) {
		if (packet.size < header ||
				ring_consumer_skip(of->rings, ring, packet.bytes + header,
						packet.size - header, packet.end))
			break;
		if (packet.size > header)
			each->begin = packet.end;
		at = packet.next;
	}
	ctf_packet_free(&packet);
}

static void journal_scan_ring(const struct instance *instance, struct journal *journal,
		uint32_t channel, uint32_t ring, const char *trace, uint32_t serial)
{
	const struct instance_channel *of = &instance->channels[channel];
	struct instance_ring *each = &of->each[ring];
	char name[SESSION_CHANNEL_NAME_MAX + 32];
	struct journal_slot slot;
	unsigned char which;
	int fd;

	if (!journal_find_slot(journal, journal->first[channel] + ring,
			    ring_consumer_position(of->rings, ring), &slot, &which))
		return;
	each->discarded = each->discarded_before = slot.discarded;
	each->unwritten = slot.unwritten;
	each->begin = slot.end_timestamp;
	fd = trace ? journal_scan_open_stream(trace, of->channel->name, ring, name, sizeof(name))
		   : -1;
	if (fd < 0)
		return;
	journal_scan_skip_written_packets(
			of, ring, fd, name, slot.serial == serial ? slot.size : 0, each);
	close(fd);
}

/*
 * Returns the path of the current trace, or NULL if there is none. The path is not trusted: see
 * journal_scan_skip_written_packets().
 */
static char *present_trace(struct journal_head *head, const char *output)
{
	char *below = head->traces[head->serial & 1], *path;

	below[PATH_BYTES - 1] = 0;
	if (!head->serial || !*below || asprintf(&path, "%s/%s", output, below) < 0)
		return NULL;
	return path;
}

static void journal_scan_instance(struct instance *instance, struct journal *journal,
		struct journal_head *head, int folder, const char *output)
{
	char *trace = present_trace(head, output);

	for (uint32_t i = 0; i < instance->nr_channels; i++)
		for (uint32_t ring = 0; ring < instance->channels[i].geometry.rings; ring++)
			journal_scan_ring(instance, journal, i, ring, trace, head->serial);
	reported_losses_read_file(instance, folder);
	free(trace);
}

int journal_scan(struct instance *instance, int folder, const char *output)
{
	struct journal *journal = journal_allocate(instance);
	struct journal_head head;
	int ret = 0;

	if (!journal)
		return -ENOMEM;
	journal->fd = openat(folder, JOURNAL_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	/* Without a journal, all records in the rings are needed. */
	if (journal->fd >= 0 && !journal_read_head(journal, &head)) {
		if (head.done)
			ret = 1;
		else
			journal_scan_instance(instance, journal, &head, folder, output);
	}
	/* The journal was opened only for this scan; the instance does not keep it. */
	if (journal->fd >= 0)
		close(journal->fd);
	free(journal->which);
	free(journal);
	return ret;
}
