/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_UNRECORDED_FILES_H
#define SIDE_RECORDER_UNRECORDED_FILES_H

/*
 * Program files that cannot be recorded: each is reported once in a recording, however often it
 * runs.
 *
 * Callers: connections, the end of the recording, and `side run`. Main thread, without the session's
 * lock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct session;

#define UNRECORDED_FILES_MAX 512

/* Hashes of users and files; the oldest one is replaced. Main thread only. */
struct session_unrecorded_files {
	uint64_t hashes[UNRECORDED_FILES_MAX];
	size_t nr;
};

/* Returns the reason as text if the file itself is the reason, not a limit of the process. */
const char *unrecorded_files_reason(uint32_t reason);
/* The reason otherwise: a limit of the process, or an error in it. */
const char *unrecorded_process_reason(uint32_t reason);
/* True for reasons that the program which starts the file reports. */
bool unrecorded_files_is_started(uint32_t reason);
/* True if this user's file was not noted before. */
bool unrecorded_files_note(struct session_unrecorded_files *files, uid_t uid, const char *file);
/* Reports the command itself, if it cannot be recorded and that was not reported before. */
void unrecorded_files_report_command(struct session *session);

#endif
