/* SPDX-License-Identifier: MIT */
/*
 * The data that a core dump must hold, so that `side recover` finds a recording in it;
 * protocol/recovery.h has the layout.
 *
 * There is one writer (with libside's event lock, or the only thread of a child). Readers see only
 * a dump, which is the state at one moment, so only the order of the stores matters.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tracers/agent/core/recovery.h"
#include "protocol/recovery.h"
#include "ring/ring.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/session.h"
#include "base/inside/raw.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#define CHUNK_SIZE ((size_t)64 << 10)

static uint64_t agent_recovery_address(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

static void *agent_recovery_map(size_t size)
{
	return raw_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static void copy_string(char *to, size_t size, const char *from)
{
	size_t length = strlen(from);

	length = length < size ? length : size - 1;
	memcpy(to, from, length);
	to[length] = 0;
}

static size_t names_size(const struct agent_channel *channel)
{
	size_t size = 0;
	uint32_t i;

	for (i = 0; i < channel->nr_contexts; i++)
		size += strlen(channel->contexts[i].name) + 1;
	return size;
}

static size_t head_size(const struct agent_session *session)
{
	size_t size = sizeof(struct recovery_head);
	uint32_t i;

	for (i = 0; i < session->nr_channels; i++)
		size += sizeof(struct recovery_channel) + names_size(&session->channels[i]);
	return size;
}

/* The distance to the rings' copy for core dumps in units; 0 if there is none within reach. */
static int32_t find_copy(const struct ring_producer *producer)
{
	uint64_t copy = agent_recovery_address(ring_producer_dumped(producer));
	int64_t distance = (int64_t)(copy - agent_recovery_address(ring_producer_base(producer)));

	distance /= RECOVERY_COPY_UNIT;
	return copy && distance == (int32_t)distance ? (int32_t)distance : 0;
}

/* `names`: where the names of its contexts go. Returns the byte behind. */
static char *fill_channel(
		struct recovery_channel *to, const struct agent_channel *channel, char *names)
{
	char *at = names;
	uint32_t i;

	for (i = 0; i < channel->nr_contexts; i++)
		at = stpcpy(at, channel->contexts[i].name) + 1;
	*to = (struct recovery_channel){
			.index = channel->index,
			.nr_contexts = channel->nr_contexts,
			.rings = channel->producer ? agent_recovery_address(ring_producer_base(
								     channel->producer))
						   : 0,
			.ring_memory = channel->ring_memory,
			.copy = channel->producer ? find_copy(channel->producer) : 0,
			.contexts = agent_recovery_address(names),
			.contexts_size = (uint32_t)(at - names),
	};
	copy_string(to->name, sizeof(to->name), channel->name);
	return at;
}

static void fill_names(struct recovery_head *head)
{
	char *names = agent_recovery_map((size_t)2 * AGENT_NAME_SIZE);

	if (!names)
		return;
	agent_process_names(names, names + AGENT_NAME_SIZE);
	copy_string(head->procname, sizeof(head->procname), names);
	copy_string(head->exe, sizeof(head->exe), names + AGENT_NAME_SIZE);
	raw_munmap(names, (size_t)2 * AGENT_NAME_SIZE);
}

static void fill_head(struct recovery_head *head, const struct agent_session *session)
{
	struct recovery_channel *channels = (struct recovery_channel *)(head + 1);
	char *names = (char *)(channels + session->nr_channels);
	uint32_t i;

	head->version = RECOVERY_VERSION;
	head->head_size = sizeof(*head);
	head->self = agent_recovery_address(head);
	head->pid = (uint32_t)raw_call(SYS_getpid);
	head->parent = (uint32_t)raw_call(SYS_getppid);
	head->token = session->token;
	head->instance = session->config.instance;
	head->clock = session->config.clock;
	head->frequency = session->config.frequency;
	head->offset_s = session->config.offset_s;
	head->offset = session->config.offset;
	head->nr_channels = session->nr_channels;
	head->channel_size = sizeof(*channels);
	head->channels = agent_recovery_address(channels);
	head->word_size = sizeof(void *);
	copy_string(head->session, sizeof(head->session), session->path);
	fill_names(head);
	for (i = 0; i < session->nr_channels; i++)
		names = fill_channel(&channels[i], &session->channels[i], names);
	memcpy(head->magic, RECOVERY_MAGIC, sizeof(head->magic));
}

static void drop_chunks(struct agent_session *session)
{
	struct recovery_chunk *chunk =
			(struct recovery_chunk *)(uintptr_t)session->recovery->first_chunk;

	session->recovery->first_chunk = 0;
	session->last_chunk = NULL;
	while (chunk) {
		struct recovery_chunk *next = (struct recovery_chunk *)(uintptr_t)chunk->next;

		raw_munmap(chunk, sizeof(*chunk) + (size_t)chunk->size);
		chunk = next;
	}
}

/* The rings are there. In a forked child what the parent had left is filled in anew. */
void agent_recovery_begin(struct agent_session *session)
{
	size_t size = head_size(session);

	if (!session->recovery) {
		session->recovery = agent_recovery_map(size);
		if (!session->recovery)
			return;
		session->recovery->size = size;
	}
	drop_chunks(session);
	fill_head(session->recovery, session);
	/*
	 * Release: everything that the flag declares valid. Pairs with a reader of the memory: a
	 * dump sees the stores in the order of the process.
	 */
	__atomic_store_n(&session->recovery->valid, 1, __ATOMIC_RELEASE);
}

static struct recovery_chunk *agent_recovery_add_chunk(struct agent_session *session, size_t size)
{
	struct recovery_chunk *chunk;

	size += sizeof(*chunk);
	if (size < CHUNK_SIZE)
		size = CHUNK_SIZE;
	chunk = agent_recovery_map(size);
	if (!chunk)
		return NULL;
	chunk->magic = RECOVERY_CHUNK_MAGIC;
	chunk->size = size - sizeof(*chunk);
	/*
	 * Release: the chunk's header before the pointer to it. Pairs with a reader of the memory.
	 */
	__atomic_store_n(session->last_chunk ? &session->last_chunk->next
					     : &session->recovery->first_chunk,
			agent_recovery_address(chunk), __ATOMIC_RELEASE);
	session->last_chunk = chunk;
	return chunk;
}

/* Whole descriptions, before the first of their events is recorded. */
void agent_recovery_add(struct agent_session *session, const void *stream, size_t size)
{
	struct recovery_chunk *chunk = session->last_chunk;

	if (!session->recovery || !size)
		return;
	if (!chunk || chunk->size - chunk->used < size)
		chunk = agent_recovery_add_chunk(session, size);
	if (!chunk)
		return;
	memcpy((char *)(chunk + 1) + chunk->used, stream, size);
	/* Release: the bytes before their count. Pairs with a reader of the memory. */
	__atomic_store_n(&chunk->used, chunk->used + size, __ATOMIC_RELEASE);
}

void agent_recovery_void(struct agent_session *session)
{
	/* Relaxed: from here on, a dump contains nothing valid. */
	if (session->recovery)
		__atomic_store_n(&session->recovery->valid, 0, __ATOMIC_RELAXED);
}

void agent_recovery_end(struct agent_session *session)
{
	if (!session->recovery)
		return;
	agent_recovery_void(session);
	drop_chunks(session);
	raw_munmap(session->recovery, (size_t)session->recovery->size);
	session->recovery = NULL;
}
