/* SPDX-License-Identifier: MIT */
/*
 * The session's accounts of leased ring memory. One of three programs of a user never recorded an
 * event and has exited, but its end is not handled yet. When memory is short, its rings are charged
 * with the memory they hold, and idle memory is reclaimed. After its end the accounts have exactly
 * the memory of the others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../check.h"
#include "recorder/core/channels.h"
#include "recorder/core/instance.h"
#include "recorder/core/leases.h"
#include "recorder/core/memory.h"
#include "recorder/core/shares.h"
#include "recorder/session-state.h"
#include "ring/ring.h"

#define PROGRAMS 3
#define UID 4711

static struct session session = {.lock = PTHREAD_MUTEX_INITIALIZER,
		.memory.back = PTHREAD_COND_INITIALIZER,
		.memory.limit = 64u << 20};
static struct channel channel = {.name = (char[]){"hot"}, .rings = 2, .ring_size = 65536};

static struct instance *add_program(void)
{
	struct instance *instance = instance_allocate("program", "/bin/program", &channel, 1);
	struct instance_channel *rings;
	int fd;

	CHECK(instance);
	rings = &instance->channels[0];
	instance->account = UID;
	rings->geometry = (struct ring_geometry){.rings = channel.rings,
			.event_slots = 64,
			.size = channel.ring_size,
			.clock = RING_CLOCK_MONOTONIC,
			.flags = RING_LEASED};
	rings->memory = instance->memory = ring_memory_size(&rings->geometry);
	CHECK(shares_take(&session.memory.shares, UID, instance->memory));
	session.memory.used += instance->memory;
	CHECK(!ring_memory_create(&rings->geometry, &fd));
	CHECK(!ring_consumer_map(fd, &rings->geometry, &rings->rings));
	rings->ring_fd = fd;
	instance->next = session.instances.list;
	session.instances.list = instance;
	return instance;
}

static void free_program(struct instance *instance)
{
	struct instance_channel *rings = &instance->channels[0];

	ring_consumer_unmap(rings->rings);
	close(rings->ring_fd);
}

static void check_charged(uint64_t bytes)
{
	CHECK(session.memory.used == bytes);
	CHECK(shares_used(&session.memory.shares, UID) == bytes);
}

int main(void)
{
	struct instance *ended, *others[PROGRAMS - 1];
	uint64_t each, kept;

	shares_init(&session.memory.shares, session.memory.limit, 4, 0);
	for (int i = 0; i < PROGRAMS - 1; i++)
		others[i] = add_program();
	ended = add_program();
	each = ended->memory;
	kept = ring_memory_kept(&ended->channels[0].geometry);
	check_charged(PROGRAMS * each);

	memory_trim(&session, ended);
	CHECK(ended->trimmed && ended->memory < each);
	/* As much as one of the other programs can release. */
	pthread_mutex_lock(&session.lock);
	leases_reclaim(&session, UID, each / 2);
	pthread_mutex_unlock(&session.lock);
	CHECK(ended->memory < each && !ended->channels[0].revoked);
	check_charged(each + kept + ended->memory);

	memory_give_back(&session, ended);
	check_charged(each + kept);
	for (int i = 0; i < PROGRAMS - 1; i++)
		memory_give_back(&session, others[i]);
	check_charged(0);
	free_program(ended);
	for (int i = 0; i < PROGRAMS - 1; i++)
		free_program(others[i]);
	return 0;
}
