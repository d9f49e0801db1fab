/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_LOG_LIMITS_H
#define SIDE_RECORDER_CORE_LOG_LIMITS_H

/*
 * Limits of a log: how many lines each user and process can cause in a minute. Suppressed lines are
 * counted for each user.
 *
 * The owner of the log has an entry of its own, and so have the first users that cause a line in
 * that minute. All other users share one entry, so the number of lines is bounded for any number of
 * users.
 *
 * Has no lock: the caller serializes the calls.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Messages about programs in a minute: the first limit holds if all are of one user, the others if
 * not.
 */
#define LIMIT_LINES 640
#define LIMIT_LINES_OF_OWNER 60
#define LIMIT_LINES_OF_USER 24
#define LIMIT_LINES_OF_PROCESS 12

#define LINES_NS UINT64_C(60000000000)
#define LINES_USERS 24
#define LINES_PROCESSES 256
#define LINES_OTHERS ((uid_t)-1) /* represents all users without an entry */

struct lines_user {
	uid_t uid;
	uint32_t nr; /* lines in this minute */
	uint64_t suppressed;
};

struct log_line_budget {
	uint64_t until; /* end of this minute */
	uid_t owner;
	uint32_t of_owner, of_user, of_process; /* limits */
	struct lines_user users[LINES_USERS];   /* first the owner, last LINES_OTHERS */
	uint32_t nr_users;                      /* users with an entry, without the last one */
	/* hashed by process id; a collision replaces the older entry */
	struct {
		pid_t pid;
		uint32_t nr;
	} processes[LINES_PROCESSES];
};

void lines_init(struct log_line_budget *lines, uid_t owner, uint32_t of_owner, uint32_t of_user,
		uint32_t of_process);
/*
 * Counts a line. Returns false if the line must be suppressed. `pid` 0: the line is about no
 * process.
 */
bool lines_take(struct log_line_budget *lines, uint64_t now, uid_t uid, pid_t pid);
/*
 * Call it before lines_take() until it returns false. At the end of a minute it returns each user
 * with suppressed lines, and their number. lines_end() ends the minute now.
 */
bool lines_suppressed(struct log_line_budget *lines, uint64_t now, uid_t *ret_uid,
		uint64_t *ret_suppressed);
void lines_end(struct log_line_budget *lines);
/* Formats a sentence about the suppressed lines; it fits in LINES_TEXT bytes. */
#define LINES_TEXT 160
void lines_describe(char text[LINES_TEXT], uid_t uid, uint64_t suppressed);

#endif
