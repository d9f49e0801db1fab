/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_BOOT_DIRECTORY_H
#define SIDE_TRACERS_AGENT_CORE_BOOT_DIRECTORY_H

/*
 * The files that a process of a static configuration leaves for a later recorder.
 *
 * Caller: boot.c, in the constructor, with libside's event lock, or as the only thread of a forked
 * child.
 */
#include <stddef.h>
#include <stdint.h>

#include "protocol/boot.h"
#include "ring/ring.h"

struct agent_session;

#define BOOT_PROCNAME_MAX 64

/* Contents of a process's folder (docs/spec/recording.md, section 12). */
struct boot_facts {
	const struct agent_session *session;
	const char *procname; /* clean: part of a file's name */
	const char *exe;
	uint64_t begin; /* ticks */
};

/* Geometry of a channel's rings. */
struct ring_geometry boot_geometry(const struct boot_channel *channel, uint32_t clock);

/* Keep only characters that are harmless in a file's name: `to` has BOOT_PROCNAME_MAX + 1 bytes. */
void boot_clean_name(char *to, const char *name);

/*
 * Make the folder of this process in the session's state directory, complete: its rings are in
 * ring_fds, the folder's name in session->boot_folder. 0 or a negative errno, when nothing is left
 * of it.
 */
int boot_state_dir_make(struct agent_session *session, const struct boot_config *config,
		const struct boot_facts *facts, int *ret_ring_fds);

/* Append to the descriptions in the folder. -EAGAIN: a recorder has it. -ENOENT: there is none. */
int boot_state_dir_describe(const struct agent_session *session, const struct boot_config *config,
		const void *stream, size_t size);

/*
 * Store the configuration beside the sessions, for the recorder that adopts them. An error is
 * ignored.
 */
void boot_state_dir_store_config(const struct boot_config *config, const char *text, size_t size);

#endif
