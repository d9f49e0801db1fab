/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_FOUND_H
#define SIDE_RECORDER_STORAGE_FOUND_H

/*
 * The content of the file "instance" in a folder of buffers, and the names of the other files in
 * it.
 *
 * Callers: buffers, which writes it, and recovery. Any thread: the functions keep no state, so no
 * lock is needed.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ctf/ctf.h"
#include "recorder/core/channels.h"
#include "recorder/core/session.h"
#include "ring/ring.h"

struct instance;

#define FOUND_FILE "instance"
#define FOUND_FIRST_LINE "side-buffers 1"
#define FOUND_EVENTS "events"
#define FOUND_LIMIT (1u << 20)

struct recovery_facts {
	char *procname, *exe, *trace;
	char hostname[65];
	uint32_t pid, parent, number;
	enum ring_clock clock_kind;
	struct ctf_clock clock;
	uint64_t begin;
	struct channel channels[SESSION_CHANNELS_MAX];
	uint32_t nr_channels;
	bool has_process, has_clock;

	bool by_agent; /* created by the process itself, before a recorder ran */

	/* Only in a state directory: */
	bool has_peer;
	char boot[40];
	pid_t peer;
	uint64_t start; /* session_process_start() */
	uint64_t token;
	uint32_t uid, gid, control, control_signal;
	bool takes_probes;
	uint32_t family; /* see struct instance */
	uint64_t family_started;
};

/*
 * Reads the file. Returns 0, or a negative errno with a sentence in *error. Call found_free() in
 * any case.
 */
int found_read(int folder, struct recovery_facts *found, struct error *error);
void found_free(struct recovery_facts *found);
/*
 * Creates an instance with channels of its own, which move from `found` to it. NULL: out of memory.
 */
struct instance *found_instance(struct recovery_facts *found);
void found_ring_file(const char *channel, char name[SESSION_CHANNEL_NAME_MAX + 16]);

#endif
