/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_SERVICE_H
#define SIDE_RECORDER_CORE_SERVICE_H

/*
 * What a session without a command has in addition (live.h). All of it is the main thread's, except members with "(lock)" and `keep`.
 *
 * No functions: live.c makes and frees it.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct session_track;

struct service {
	char *socket; /* while it exists */
	dev_t socket_device;
	ino_t socket_inode;
	bool any_user;
	bool is_owned; /* by a user other than that of the process (live.h: settled) */
	uid_t owner;
	bool active;
	bool boot;  /* programs make folders in the state directory by themselves */
	pid_t only; /* the only process that is scanned, by what it has mapped; 0: all */
	bool leave; /* to programs that live, what they have */
	uint64_t next_check;
	char **useless; /* folders that cannot be taken over: reported once */
	size_t nr_useless;
	atomic_bool keep; /* everything stays in the state directory at the end (set before `stop`) */
	uint64_t generation;
	uint64_t statedump; /* generation of the last request */
	struct session_track *track;
	uint32_t nr_track;
	uint64_t nr_untracked;
	bool over; /* session_finish() (lock) */
};

#endif
