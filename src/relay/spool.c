/* SPDX-License-Identifier: MIT */
/* Shares of a spool: chooses the user whose packets are dropped if it is full. */
#include "relay/spool.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define OTHERS (SEND_SPOOL_USERS - 1)

uint64_t spool_floor(uint64_t limit)
{
	return limit / SEND_SPOOL_USERS;
}

/* The recorder writes the file after the trace has been made, so it may not be there yet. */
static void find_user(struct follow_trace *trace)
{
	char path[4096], text[16];
	unsigned long uid;
	ssize_t size;
	char *end;
	int fd;

	if (trace->has_user ||
			(size_t)snprintf(path, sizeof(path), "%s/" CTF_USER_FILE, trace->path) >=
					sizeof(path))
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[size > 0 ? size : 0] = 0;
	uid = strtoul(text, &end, 10);
	trace->has_user = end != text && *end == '\n' && uid <= UINT32_MAX;
	trace->user = (uid_t)uid;
}

static uint32_t relay_spool_get_entry(struct spool *spool, const struct follow_trace *trace)
{
	uint32_t i, unused = OTHERS;

	if (!trace->has_user)
		return OTHERS;
	for (i = 0; i < OTHERS; i++) {
		if (spool->entries[i].is_used && spool->entries[i].uid == trace->user)
			return i;
		if (!spool->entries[i].is_used && unused == OTHERS)
			unused = i;
	}
	if (unused != OTHERS)
		spool->entries[unused] = (struct spool_entry){.uid = trace->user, .is_used = true};
	return unused;
}

bool spool_is_full(struct spool *spool, struct follow *follow, uint64_t limit)
{
	uint64_t all = 0;
	uint32_t i;

	for (i = 0; i < SEND_SPOOL_USERS; i++)
		spool->entries[i].pending = 0;
	for (struct follow_trace *trace = follow->traces; trace; trace = trace->next) {
		uint64_t pending = follow_pending_of(trace);

		if (!pending)
			continue;
		find_user(trace);
		trace->entry = relay_spool_get_entry(spool, trace);
		spool->entries[trace->entry].pending += pending;
		all += pending;
	}
	for (i = 0; i < OTHERS; i++)
		spool->entries[i].is_used &= spool->entries[i].pending != 0;
	return all > limit;
}

struct spool_entry *spool_choose(struct spool *spool, uint64_t limit)
{
	struct spool_entry *largest = NULL;
	uint32_t i;

	for (i = 0; i < SEND_SPOOL_USERS; i++) {
		struct spool_entry *entry = &spool->entries[i];

		if (!entry->is_tried && entry->pending > spool_floor(limit) &&
				(!largest || entry->pending > largest->pending))
			largest = entry;
	}
	return largest;
}

bool spool_has(const struct spool *spool, const struct spool_entry *entry,
		const struct follow_trace *trace)
{
	return entry == &spool->entries[trace->entry];
}

void spool_note(const struct follow_trace *trace, uint64_t events, uint64_t bytes,
		struct send_status *status)
{
	uint32_t i = OTHERS;

	if (trace->has_user)
		for (i = 0; i < status->nr_dropped_users &&
				status->dropped_users[i].uid != trace->user;
				i++)
			;
	if (i < OTHERS && i == status->nr_dropped_users)
		status->dropped_users[status->nr_dropped_users++].uid = trace->user;
	if (i > OTHERS)
		i = OTHERS;
	status->dropped_users[i].packets++;
	status->dropped_users[i].events += events;
	status->dropped_users[i].bytes += bytes;
}
