/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_LOG_LIMITS_H
#define SIDE_RECORDER_CORE_LOG_LIMITS_H

/*
 * Shares of a log: how many lines users and processes can cause within a minute. What is suppressed is counted for each user.
 *
 * The owner of the log has an entry of its own, as have the first users that cause a line in that minute. All further users share one entry, so
 * the number of lines is bounded for any number of users.
 *
 * Not locked: the caller does that.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Messages about programs within a minute, if they are all of one user; else: */
#define LIMIT_LINES 640
#define LIMIT_LINES_OF_OWNER 60
#define LIMIT_LINES_OF_USER 24
#define LIMIT_LINES_OF_PROCESS 12

#define LINES_NS UINT64_C(60000000000)
#define LINES_USERS 24
#define LINES_PROCESSES 256
#define LINES_OTHERS ((uid_t)-1) /* all users that have no entry */

struct lines_user {
	uid_t uid;
	uint32_t nr; /* lines in this minute */
	uint64_t suppressed;
};

struct log_line_budget {
	uint64_t until; /* the end of this minute */
	uid_t owner;
	uint32_t of_owner, of_user, of_process; /* limits */
	struct lines_user users[LINES_USERS];   /* first the owner, last LINES_OTHERS */
	uint32_t nr_users;                      /* that have an entry, without the last one */
	struct {
		pid_t pid;
		uint32_t nr;
	} processes[LINES_PROCESSES]; /* by process id; of two with one index the later one */
};

void lines_init(struct log_line_budget *lines, uid_t owner, uint32_t of_owner, uint32_t of_user,
		uint32_t of_process);
/* False: suppressed. Without a process if pid is 0. */
bool lines_take(struct log_line_budget *lines, uint64_t now, uid_t uid, pid_t pid);
/*
 * Call before lines_take() until it returns false: at the end of a minute, each user with suppressed lines and their number. lines_end()
 * ends the minute now.
 */
bool lines_suppressed(struct log_line_budget *lines, uint64_t now, uid_t *ret_uid,
		uint64_t *ret_suppressed);
void lines_end(struct log_line_budget *lines);
/* The sentence about them. LINES_TEXT bytes are enough. */
#define LINES_TEXT 160
void lines_describe(char text[LINES_TEXT], uid_t uid, uint64_t suppressed);

#endif
