/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_BOOT_H
#define SIDE_TRACERS_AGENT_CORE_BOOT_H

/*
 * Sessions of a static configuration, which nobody serves yet (boot.c), and the files that such a
 * process leaves for a later recorder (boot-place.c). Private to the two.
 */
#include "tracers/agent/core/agent.h"
#include "protocol/boot.h"

#define BOOT_PROCNAME_MAX 64

/* What stands in a process's folder, as docs/spec/recording.md, section 12, has it. */
struct boot_facts {
	const struct agent_session *session;
	const char *procname; /* clean: part of a file's name */
	const char *exe;
	uint64_t begin; /* ticks */
};

/* Geometry of a channel's rings. */
struct ring_geometry boot_geometry(const struct boot_channel *channel, uint32_t clock);

/* Only what is harmless in a file's name: `to` has BOOT_PROCNAME_MAX + 1 bytes. */
void boot_clean_name(char *to, const char *name);

/*
 * The folder of this process in the session's place, complete: its rings are in ring_fds. The folder's
 * name goes into session->boot_folder. 0 or a negative errno, when nothing is left of it.
 */
int boot_state_dir_make(struct agent_session *session, const struct boot_config *config,
		const struct boot_facts *facts, int *ring_fds);

/* Append to the descriptions in the folder. -EAGAIN: a recorder has it. -ENOENT: there is none. */
int boot_state_dir_describe(const struct agent_session *session, const struct boot_config *config,
		const void *stream, size_t size);

/* What was read stays beside the sessions, for whoever adopts them. Does its best. */
void boot_state_dir_store_config(const struct boot_config *config, const char *text, size_t size);

#endif
