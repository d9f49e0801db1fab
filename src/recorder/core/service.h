/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_SERVICE_H
#define SIDE_RECORDER_CORE_SERVICE_H

/*
 * State that only a live session has (live.h). All of it belongs to the main thread, except `keep`
 * and members marked "(lock)".
 *
 * No functions: live.c creates it, and session.c frees it.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct session_track;

struct service {
	char *socket; /* path, while the socket exists */
	dev_t socket_device;
	ino_t socket_inode;
	bool any_user;
	bool is_owned; /* by a user other than that of the process (live.h: settled) */
	uid_t owner;
	bool active;
	bool boot;  /* programs create folders in the state directory themselves */
	pid_t only; /* the only process to scan for, by its mappings; 0: all */
	bool leave; /* at the end, leave the buffers of running programs to them */
	uint64_t next_check;
	char **useless; /* folders that cannot be adopted: reported once */
	size_t nr_useless;
	/* at the end, leave everything in the state directory (set before `stop`) */
	atomic_bool keep;
	uint64_t generation;
	uint64_t statedump; /* generation of the last request */
	struct session_track *track;
	uint32_t nr_track;
	uint64_t nr_untracked;
	bool over; /* set by session_finish() (lock) */
};

#endif
